//! `people`: accounts, at a terminal: listed, made, changed and removed, by the console that runs or in its database.

use bathyscope_capture::visible;
use bathyscope_console::{
    control::{KnownLink, TerminalPeople, TerminalPeopleAnswer, change_people, people_without_console},
    http::{PersonChange, PersonItem},
};
use bathyscope_link::clock::wall_unix_ns;
use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;

use super::{login_link::RoleArg, open, print_all, text};
use crate::{Failure, Outcome, config::DataArgs, launch::Workplace};

const EXAMPLES: &str = "\
Examples:
  bathyscope people add alice --role admin
  bathyscope people list
  bathyscope people role alice operator
  bathyscope people disable alice

An account has a name, a role, and a password that only its owner knows: `add` and `reset` print a link by which the person \
chooses one, once, within three days. All of it works while a console runs, too, and counts at once. A login link for the name of \
an account (`login-link --user`) logs in as that account; one for another name always works, so nobody is locked out for good.";

/// What `people` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PeopleArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: PeopleVerb,
}

/// What can be done with accounts.
#[derive(Clone, Debug, Subcommand)]
pub enum PeopleVerb {
    /// List accounts with their role, state, last login, sessions and tokens
    List {
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Make an account, and print a link by which the person chooses a password
    Add {
        /// Name: letters, digits and . _ - @
        #[arg(value_name = "NAME")]
        name: String,
        /// What they may do
        #[arg(long, value_enum, default_value_t = RoleArg::Viewer)]
        role: RoleArg,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Change what somebody may do; their sessions end
    Role {
        /// Whose
        #[arg(value_name = "NAME")]
        name: String,
        /// To what
        #[arg(value_name = "ROLE", value_enum)]
        role: RoleArg,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Let nobody in by an account: its sessions end, its tokens are of no use
    Disable {
        /// Whose
        #[arg(value_name = "NAME")]
        name: String,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Let somebody in again
    Enable {
        /// Whose
        #[arg(value_name = "NAME")]
        name: String,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Take somebody's password, and print a link by which they choose another; their sessions end
    Reset {
        /// Whose
        #[arg(value_name = "NAME")]
        name: String,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Let the next who has an account's name at the OpenID Connect provider be its owner, or forget who it is there
    Provider {
        /// Whose
        #[arg(value_name = "NAME")]
        name: String,
        /// What is meant
        #[arg(value_name = "WHAT", value_enum)]
        what: ProviderArg,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Remove an account with its sessions, links and tokens; what the person has made stays, by the name
    Remove {
        /// Whose
        #[arg(value_name = "NAME")]
        name: String,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
}

/// What becomes of an account's login by the provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ProviderArg {
    /// The next who has the account's name there is its owner.
    Allow,
    /// It is nobody there any more; its sessions end.
    Forget,
}

/// What all verbs of accounts, tokens, rights and webhooks take.
#[derive(Clone, Debug, Args)]
pub struct PeopleCommon {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Where the console keeps its captures.
    #[command(flatten)]
    pub data: DataArgs,
}

/// Does it.
///
/// # Errors
/// Why it was not done.
pub fn run(args: PeopleArgs) -> Outcome {
    let (change, common) = match args.verb {
        PeopleVerb::List { common } => (TerminalPeople::List, common),
        PeopleVerb::Add { name, role, common } => (TerminalPeople::Add { name, role: role.into() }, common),
        PeopleVerb::Role { name, role, common } => {
            let change = PersonChange { role: Some(role.into()), ..PersonChange::default() };
            (TerminalPeople::Change { name, change }, common)
        }
        PeopleVerb::Disable { name, common } => (disabled(name, true), common),
        PeopleVerb::Enable { name, common } => (disabled(name, false), common),
        PeopleVerb::Provider { name, what, common } => {
            let provider_login = Some(what == ProviderArg::Allow);
            (
                TerminalPeople::Change { name, change: PersonChange { provider_login, ..PersonChange::default() } },
                common,
            )
        }
        PeopleVerb::Reset { name, common } => (TerminalPeople::Reset { name }, common),
        PeopleVerb::Remove { name, common } => (TerminalPeople::Remove { name }, common),
    };
    let json = common.json;
    match done(change, &common)? {
        TerminalPeopleAnswer::People(items) => print_all(&if json { json_line(&items)? } else { listed(&items) }),
        TerminalPeopleAnswer::Person(person, link) => print_all(&if json {
            json_line(&PersonLine { person: &person, link: link.as_ref() })?
        } else {
            told(&person, link.as_ref())
        }),
        TerminalPeopleAnswer::Removed(name) if json => print_all(&json_line(&serde_json::json!({ "removed": name }))?),
        TerminalPeopleAnswer::Removed(name) => print_all(&format!("{name}  removed, with its sessions and tokens\n")),
        _other => Err(other_answer()),
    }
}

fn disabled(name: String, disabled: bool) -> TerminalPeople {
    TerminalPeople::Change { name, change: PersonChange { disabled: Some(disabled), ..PersonChange::default() } }
}

/// Has it done: by the console that runs there, or here.
pub(super) fn done(change: TerminalPeople, common: &PeopleCommon) -> Result<TerminalPeopleAnswer, Failure> {
    let dir = common.data.directory()?;
    // While this process has its rights: the console answers who connected, and not its own user.
    if let Some(answer) = change_people(&dir, change.clone())? {
        return Ok(answer);
    }
    // An account may be made before the first start.
    if !matches!(change, TerminalPeople::Add { .. }) {
        open::has_database(&dir)?;
    }
    open::changing(&Workplace::make(Some(&dir))?, async |store| {
        let done = people_without_console(store, change).await;
        done.map_err(|error| Failure::because("managing accounts", error))
    })
}

pub(super) fn other_answer() -> Failure {
    Failure::new("managing accounts: the console answered something else")
}

pub(super) fn json_line(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::because("printing JSON", error))?;
    Ok(text + "\n")
}

/// How long ago, or until, by the wall clock.
pub(super) fn seconds(ns: i64) -> String {
    text::span(u64::try_from(ns / 1_000_000_000).unwrap_or(0))
}

/// An account, and its link if one was made.
#[derive(Serialize)]
struct PersonLine<'a> {
    person: &'a PersonItem,
    link: Option<&'a KnownLink>,
}

fn listed(items: &[PersonItem]) -> String {
    if items.is_empty() {
        return "There is no account. `bathyscope people add NAME --role admin` makes one.\n".to_owned();
    }
    items.iter().map(|person| line(person) + "\n").collect()
}

fn line(person: &PersonItem) -> String {
    let now = wall_unix_ns();
    let provider = person.identity.as_ref();
    let state = match (person.disabled_unix_ns, person.has_password, provider) {
        (Some(since), ..) => format!("disabled for {}", seconds(now.saturating_sub(since))),
        (None, false, Some(provider)) if provider.is_bound => format!("by {}", visible(provider.issuer.as_bytes())),
        (None, _, Some(provider)) if !provider.is_bound => {
            format!("waits for a login by {}", visible(provider.issuer.as_bytes()))
        }
        (None, true, _) => "enabled".to_owned(),
        (None, false, _) => "no password yet".to_owned(),
    };
    let login = person.last_login_unix_ns.map_or_else(
        || "never logged in".to_owned(),
        |login| format!("last login {} ago", seconds(now.saturating_sub(login))),
    );
    format!(
        "{}  {:8}  {state}  {login}  {} sessions, {} tokens",
        visible(person.name.as_bytes()),
        person.role,
        person.sessions,
        person.tokens
    )
}

fn told(person: &PersonItem, link: Option<&KnownLink>) -> String {
    let Some(link) = link else { return line(person) + "\n" };
    let lasts = seconds(link.expires_unix_ns.saturating_sub(wall_unix_ns()));
    let where_to = match &link.url {
        Some(url) => url.clone(),
        None => format!("{}\n(behind the address of the console, which does not run now)", link.path),
    };
    format!(
        "{}\nGive {} this link to choose a password, once, within {lasts}:\n{where_to}\n",
        line(person),
        person.name
    )
}
