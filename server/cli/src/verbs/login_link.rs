//! `login-link`: another link that logs in once.

use std::{io::Write as _, process::ExitCode, time::Duration};

use bathyscope_console::{
    control,
    http::{LOGIN_LINK_S, SESSION_S},
};
use bathyscope_store::Role;
use clap::{Args, ValueEnum};

use crate::{Failure, Outcome, config::DataArgs};

/// What `login-link` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
The link works once, within an hour. The session that it begins ends after 12 hours without use, and in any case when the \
time of --for is over, counted from now. Captures belong to the name that it carries. For the name of an account it logs in as \
that account, with no higher role than the account has, and not at all while that is disabled. `bathyscope sessions list` shows \
links and sessions, `bathyscope sessions end` ends them.")]
pub struct LoginLinkArgs {
    /// What the link's user may do
    #[arg(long, value_enum, default_value_t = RoleArg::Admin)]
    pub role: RoleArg,
    /// Name of the link's user: letters, digits and . _ - @ [default: the role's name]
    #[arg(long, value_name = "NAME", value_parser = user_name)]
    pub user: Option<String>,
    /// How long what it lets in lasts at most, from now on: 30m, 8h, 7d [default and most: 7d]
    #[arg(long = "for", value_name = "TIME", value_parser = lasting)]
    pub lasts: Option<Duration>,
    /// Where the running console keeps its captures.
    #[command(flatten)]
    pub data: DataArgs,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// What a person may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// Read captures
    Viewer,
    /// Also start, stop and delete own captures
    Operator,
    /// Everything
    Admin,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::Viewer => Self::Viewer,
            RoleArg::Operator => Self::Operator,
            RoleArg::Admin => Self::Admin,
        }
    }
}

fn user_name(text: &str) -> Result<String, String> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'@');
    if (1..=64).contains(&text.len()) && text.bytes().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("a name is 1 to 64 letters, digits and . _ - @".to_owned())
    }
}

/// A time from a minute to that of a session.
fn lasting(text: &str) -> Result<Duration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.parse::<u64>().ok());
    let time = match days {
        Some(days) => Duration::from_secs(days.saturating_mul(24 * 3600)),
        None => super::range::duration(text)?,
    };
    if (60..=SESSION_S).contains(&time.as_secs()) { Ok(time) } else { Err("from 1m to 7d are possible".to_owned()) }
}

/// Prints the link.
///
/// # Errors
/// If no console runs on that directory, or the account of the name is disabled.
#[expect(clippy::print_stderr, reason = "a note beside the link, which scripts read from standard output")]
pub fn run(args: LoginLinkArgs) -> Outcome {
    let role = Role::from(args.role);
    let user = args.user.unwrap_or_else(|| role.as_str().to_owned());
    let lasts_s = args.lasts.map_or(SESSION_S, |time| time.as_secs());
    let (url, given) = control::login_link(&args.data.directory()?, &user, role, lasts_s)?;
    if given != role {
        eprintln!("{user} has an account as {given}: the link logs in as that.");
    }
    let role = given;
    let line = if args.json {
        let expires_in_s = LOGIN_LINK_S.min(lasts_s);
        let link = serde_json::json!({
            "url": url, "user": user, "role": role, "expires_in_s": expires_in_s, "session_expires_in_s": lasts_s,
        });
        link.to_string()
    } else {
        url
    };
    writeln!(std::io::stdout(), "{line}").map_err(|error| Failure::because("printing the link", error))?;
    Ok(ExitCode::SUCCESS)
}
