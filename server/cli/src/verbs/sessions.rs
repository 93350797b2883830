//! `sessions`: who can come in to the running console, and ending that.

use std::{fmt::Write as _, process::ExitCode};

use bathyscope_capture::visible;
use bathyscope_console::{control, http::AccessList};
use clap::{Args, Subcommand};

use super::{print_all, text};
use crate::{Failure, Outcome, config::DataArgs};

/// What `sessions` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
A console must run on the data directory, and only its user and root may ask. Admins see the same on the page People.")]
pub struct SessionsArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: SessionsVerb,
}

/// What can be done with sessions.
#[derive(Clone, Debug, Subcommand)]
pub enum SessionsVerb {
    /// List sessions and login links that were not used yet
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where the running console keeps its captures.
        #[command(flatten)]
        data: DataArgs,
    },
    /// End sessions, with their streams, or make unused links worthless
    #[command(group = clap::ArgGroup::new("which").required(true).args(["ids", "user", "all"]))]
    End {
        /// Which, as `list` names them
        #[arg(value_name = "ID")]
        ids: Vec<String>,
        /// All sessions and links of a user
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// All sessions and links
        #[arg(long)]
        all: bool,
        /// Where the running console keeps its captures.
        #[command(flatten)]
        data: DataArgs,
    },
}

/// Does it.
///
/// # Errors
/// If no console runs there, or there is no such session.
pub fn run(args: SessionsArgs) -> Outcome {
    match args.verb {
        SessionsVerb::List { json, data } => {
            let access = control::access(&data.directory()?)?;
            print_all(&if json { json_line(&access)? } else { listed(&access) })
        }
        SessionsVerb::End { ids, user, all, data } => {
            let dir = data.directory()?;
            let ids = if ids.is_empty() { matching(&control::access(&dir)?, user.as_deref(), all)? } else { ids };
            let mut out = String::new();
            for id in ids {
                let user = control::end_access(&dir, &id)?;
                // Writing to a String cannot fail.
                let _infallible = writeln!(out, "{id}  {}  ended", visible(user.as_bytes()));
            }
            print_all(&out)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// The ids of a user's, or of all.
fn matching(access: &AccessList, user: Option<&str>, all: bool) -> Result<Vec<String>, Failure> {
    let wanted = |name: &str| all || user == Some(name);
    let sessions = access.sessions.iter().filter(|one| wanted(&one.user)).map(|one| one.id.clone());
    let links = access.links.iter().filter(|one| wanted(&one.user)).map(|one| one.id.clone());
    let ids: Vec<String> = sessions.chain(links).collect();
    if ids.is_empty() {
        let whose = user.map_or_else(String::new, |user| format!(" of {}", visible(user.as_bytes())));
        return Err(Failure::new(format!("there is no session and no unused link{whose}")));
    }
    Ok(ids)
}

fn json_line(access: &AccessList) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(access).map_err(|error| Failure::because("printing sessions", error))?;
    Ok(text + "\n")
}

fn listed(access: &AccessList) -> String {
    let mut out = String::new();
    for one in &access.sessions {
        let _infallible = writeln!(
            out,
            "{}  session  {:8}  {}  began {} ago, last used {} ago, ends in {}",
            one.id,
            one.role,
            visible(one.user.as_bytes()),
            text::span(one.age_s),
            text::span(one.unused_s),
            text::span(one.ends_in_s)
        );
    }
    for one in &access.links {
        let _infallible = writeln!(
            out,
            "{}  link     {:8}  {}  not used, ends in {}, its session in {}",
            one.id,
            one.role,
            visible(one.user.as_bytes()),
            text::span(one.ends_in_s),
            text::span(one.session_ends_in_s)
        );
    }
    if out.is_empty() {
        out.push_str("Nobody is logged in, and there is no unused link.\n");
    }
    out
}
