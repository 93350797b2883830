//! `tokens`: tokens with which programs ask for somebody who has an account, at a terminal: listed, made and revoked.

use std::fmt::Write as _;

use bathyscope_capture::visible;
use bathyscope_console::{
    control::{TerminalPeople, TerminalPeopleAnswer},
    http::{ApiTokenItem, AskedToken, MOST_TOKEN_DAYS, TOKEN_DAYS},
};
use bathyscope_link::clock::wall_unix_ns;
use clap::{Args, Subcommand};

use super::{
    login_link::RoleArg,
    people::{PeopleCommon, done, json_line, other_answer, seconds},
    print_all,
};
use crate::Outcome;

const EXAMPLES: &str = "\
Examples:
  bathyscope tokens make --user alice --name 'nightly captures' --role operator --days 30
  bathyscope tokens list
  bathyscope tokens revoke 0f1e2d3c4b5a6978

A program sends it with each request: `Authorization: Bearer bathyscope_…`. It may do what its role allows, never more than its \
owner may at that time, and manages nobody's access. It is printed once.";

/// What `tokens` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TokensArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: TokensVerb,
}

/// What can be done with tokens.
#[derive(Clone, Debug, Subcommand)]
pub enum TokensVerb {
    /// List the tokens that have not expired
    List {
        /// Only those of this account
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Make a token and print it, which cannot be done again
    Make {
        /// For whom: the name of an account
        #[arg(long, value_name = "NAME")]
        user: String,
        /// What it is called
        #[arg(long, value_name = "TEXT")]
        name: String,
        /// What it may do at most [default: what its owner may]
        #[arg(long, value_enum)]
        role: Option<RoleArg>,
        /// Days until it expires
        #[arg(long, value_name = "DAYS", default_value_t = TOKEN_DAYS, value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_TOKEN_DAYS)))]
        days: u32,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
    /// Revoke tokens: what asks by them is refused, and what is open ends
    Revoke {
        /// Which, as `list` names them
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,
        /// How it is printed, and where.
        #[command(flatten)]
        common: PeopleCommon,
    },
}

/// Does it.
///
/// # Errors
/// Why it was not done.
pub fn run(args: TokensArgs) -> Outcome {
    match args.verb {
        TokensVerb::List { user, common } => match done(TerminalPeople::Tokens { user }, &common)? {
            TerminalPeopleAnswer::Tokens(items) => {
                print_all(&if common.json { json_line(&items)? } else { listed(&items) })
            }
            _other => Err(other_answer()),
        },
        TokensVerb::Make { user, name, role, days, common } => {
            let asked = AskedToken { name, role: role.map(Into::into), days: Some(days) };
            match done(TerminalPeople::MakeToken { user, asked }, &common)? {
                TerminalPeopleAnswer::Token(item, token) if common.json => {
                    print_all(&json_line(&serde_json::json!({ "token": token, "item": item }))?)
                }
                TerminalPeopleAnswer::Token(_item, token) => print_all(&format!("{token}\n")),
                _other => Err(other_answer()),
            }
        }
        TokensVerb::Revoke { ids, common } => revoke(ids, &common),
    }
}

fn revoke(ids: Vec<String>, common: &PeopleCommon) -> Outcome {
    let TerminalPeopleAnswer::Revoked(revoked) = done(TerminalPeople::RevokeTokens { ids }, common)? else {
        return Err(other_answer());
    };
    if common.json {
        return print_all(&json_line(&revoked)?);
    }
    let mut out = String::new();
    for token in revoked {
        // Writing to a String cannot fail.
        let _infallible = writeln!(out, "{}  {} of {}  revoked", token.id, visible(token.name.as_bytes()), token.owner);
    }
    print_all(&out)
}

fn listed(items: &[ApiTokenItem]) -> String {
    if items.is_empty() {
        return "There is no token.\n".to_owned();
    }
    items.iter().map(line).collect()
}

fn line(token: &ApiTokenItem) -> String {
    let now = wall_unix_ns();
    let used = token
        .last_used_unix_ns
        .map_or_else(|| "never used".to_owned(), |used| format!("last used {} ago", seconds(now.saturating_sub(used))));
    let state = if token.enabled { "" } else { "  of no use while the account is disabled" };
    format!(
        "{}  {:8}  {}  expires in {}  {used}  {}{state}\n",
        token.id,
        token.role,
        visible(token.owner.as_bytes()),
        seconds(token.expires_unix_ns.saturating_sub(now)),
        visible(token.name.as_bytes())
    )
}
