//! As whom programs are started for captures. Whoever starts the agent decides; the console cannot widen it.

mod users;

use std::{fmt, str::FromStr};

use bathyscope_protocol::{AgentError, AgentErrorKind};

pub(crate) use users::User;

use crate::{error::failed, needs::Need};

/// The most users that may be listed.
const MAX_USERS: usize = 64;
/// The word for commands that are switched off.
const OFF: &str = "off";
/// The word for commands as any user.
const AS_ROOT: &str = "as-root";
/// The word for commands of whoever sits at a terminal; of the agent's own command line only.
const CALLER: &str = "caller";

/// As whom commands run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum CommandRights {
    /// No command runs.
    #[default]
    Off,
    /// As these users and no other, by number; never 0. As the first where none is asked for.
    Users(Vec<u32>),
    /// As any user; as root where none is asked for.
    AsRoot,
    /// As whoever started the agent at a terminal would run it: with the same descriptors, terminal, process group,
    /// groups, environment and rights. Never for a console.
    Caller,
}

/// Users that cannot be chosen for commands.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseCommandRightsError {
    /// There is none of this name.
    #[error("there is no user `{}`; write off, as-root, or comma-separated names as `getent passwd` lists them", bathyscope_capture::visible(.0.as_bytes()))]
    NoSuchUser(String),
    /// Root is among the users.
    #[error("`{}` is root; commands run as root only with as-root", bathyscope_capture::visible(.0.as_bytes()))]
    Root(String),
    /// There are too many.
    #[error("there are more than {MAX_USERS} users")]
    TooMany,
}

impl FromStr for CommandRights {
    type Err = ParseCommandRightsError;

    fn from_str(text: &str) -> Result<Self, ParseCommandRightsError> {
        match text {
            OFF => return Ok(Self::Off),
            AS_ROOT => return Ok(Self::AsRoot),
            CALLER => return Ok(Self::Caller),
            _ => {}
        }
        let mut users = Vec::new();
        for name in text.split(',').map(str::trim) {
            let user = User::find(name).ok_or_else(|| ParseCommandRightsError::NoSuchUser(name.to_owned()))?;
            if user.uid == 0 {
                return Err(ParseCommandRightsError::Root(name.to_owned()));
            }
            if !users.contains(&user.uid) {
                users.push(user.uid);
            }
        }
        if users.len() > MAX_USERS { Err(ParseCommandRightsError::TooMany) } else { Ok(Self::Users(users)) }
    }
}

impl fmt::Display for CommandRights {
    /// As it is read again: users as numbers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Off => f.write_str(OFF),
            Self::AsRoot => f.write_str(AS_ROOT),
            Self::Caller => f.write_str(CALLER),
            Self::Users(users) => {
                let numbers: Vec<String> = users.iter().map(u32::to_string).collect();
                f.write_str(&numbers.join(","))
            }
        }
    }
}

impl CommandRights {
    /// The users that commands may run as, by name where they have one; none for off, and for all.
    pub fn names(&self) -> Vec<String> {
        match self {
            Self::Users(users) => users.iter().map(|uid| user_name(*uid)).collect(),
            Self::Off | Self::AsRoot | Self::Caller => Vec::new(),
        }
    }

    /// What the user is called that a command runs as for which `wanted` was chosen, or nobody; none if it may not run.
    pub(crate) fn runs_as(&self, wanted: Option<&str>) -> Option<String> {
        match self.user(wanted).ok()? {
            Some(user) => Some(visible_name(&user)),
            None => Some(user_name(rustix::process::getuid().as_raw())),
        }
    }

    /// The user that a command runs as, if `wanted` may be; none for the caller.
    pub(crate) fn user(&self, wanted: Option<&str>) -> Result<Option<User>, AgentError> {
        let allowed = match self {
            Self::Off => {
                let remedy = "Whoever starts Bathyscope can allow them with `serve --commands NAME`. A program that runs \
                    already can be chosen by its process id.";
                return Err(failed(AgentErrorKind::Denied, DOING, "commands are switched off here", remedy));
            }
            Self::Users(users) => Some(users.as_slice()),
            Self::AsRoot | Self::Caller => None,
        };
        let user = match (wanted, allowed.and_then(<[u32]>::first)) {
            (Some(name), _) => find(name)?,
            (None, Some(first)) => find(&first.to_string())?,
            (None, None) if *self == Self::Caller => return Ok(None),
            (None, None) => find("0")?,
        };
        if allowed.is_some_and(|allowed| user.uid == 0 || !allowed.contains(&user.uid)) {
            let why = format!("commands may not run as `{}` here", visible_name(&user));
            let remedy = format!(
                "They may run as {}. Whoever starts Bathyscope decides that with --commands.",
                self.names().join(", ")
            );
            return Err(failed(AgentErrorKind::Denied, DOING, why, remedy));
        }
        let own = rustix::process::geteuid();
        if !own.is_root() && user.uid != own.as_raw() {
            let remedy = format!("{} Or leave the user out.", Need::Users.remedy());
            return Err(failed(AgentErrorKind::Denied, DOING, "the agent may not change users", remedy));
        }
        Ok(Some(user))
    }
}

const DOING: &str = "starting the command";

fn visible_name(user: &User) -> String {
    bathyscope_capture::visible(user.name.as_bytes())
}

/// What a user is called; its number where it has no name.
pub fn user_name(uid: u32) -> String {
    User::of_uid(uid).map_or_else(|| uid.to_string(), |user| visible_name(&user))
}

/// Whether the system's user database has an account of this number.
pub fn has_account(uid: u32) -> bool {
    User::has_account(uid)
}

/// A user of the system.
pub(crate) fn find(name: &str) -> Result<User, AgentError> {
    let doing = format!("looking for the user `{}`", bathyscope_capture::visible(name.as_bytes()));
    User::find(name).ok_or_else(|| {
        failed(AgentErrorKind::NotFound, doing, "there is no such user", "Choose one that `getent passwd` lists.")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p51_rights_are_read_and_written_alike() {
        for text in ["off", "as-root", "caller", "54321", "54321,54322"] {
            assert_eq!(text.parse::<CommandRights>().unwrap().to_string(), text);
        }
        assert_eq!("54321, 54321".parse(), Ok(CommandRights::Users(vec![54_321])));
        let refused = |text: &str| text.parse::<CommandRights>().unwrap_err();
        for root in ["root", "0", "54321,root"] {
            assert!(matches!(refused(root), ParseCommandRightsError::Root(_)), "{root}");
        }
        for unknown in ["", "no-such-user-here", "54321,", "4294967295", "as root", "Off"] {
            assert!(matches!(refused(unknown), ParseCommandRightsError::NoSuchUser(_)), "{unknown}");
        }
        let many: Vec<String> = (50_000..50_100).map(|uid| uid.to_string()).collect();
        assert_eq!(refused(&many.join(",")), ParseCommandRightsError::TooMany);
    }

    #[test]
    fn p51_only_the_users_that_were_allowed_run_commands() {
        let users = CommandRights::Users(vec![54_321, 54_322]);
        let kind =
            |rights: &CommandRights, user| rights.user(user).map(|user| user.map(|user| user.uid)).map_err(|e| e.kind);
        let denied = Err(AgentErrorKind::Denied);
        assert_eq!(kind(&CommandRights::Off, None), denied);
        assert_eq!(kind(&CommandRights::Off, Some("54321")), denied);
        for other in ["root", "0", "54320", "nobody"] {
            assert_eq!(kind(&users, Some(other)), denied, "{other}");
        }
        assert_eq!(kind(&users, Some("no-such-user-here")), Err(AgentErrorKind::NotFound));
        assert_eq!(kind(&CommandRights::Caller, None), Ok(None));
        // A list that was not read from text has no other effect.
        assert_eq!(kind(&CommandRights::Users(vec![0]), None), denied);
        assert_eq!(kind(&CommandRights::Users(vec![]), Some("root")), denied);
        if rustix::process::geteuid().is_root() {
            assert_eq!(kind(&users, None), Ok(Some(54_321)));
            assert_eq!(kind(&users, Some("54322")), Ok(Some(54_322)));
            assert_eq!(kind(&CommandRights::AsRoot, None), Ok(Some(0)));
        }
    }
}
