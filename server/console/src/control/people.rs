//! Accounts and tokens, at the terminal: through the console that runs, or in its database where none does.

use std::path::Path;

use bathyscope_link::words;
use bathyscope_store::{Role, Store};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{ControlAnswer, ControlConnection, Request, Tracing, connection::another_answer};
use crate::{
    Failure,
    http::{
        ApiTokenItem, AskedToken, Doer, PasswordInvitation, People, PeopleError, PersonChange, PersonItem,
        SessionClock, Sessions,
    },
};

/// What can be done with accounts and tokens.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TerminalPeople {
    /// All accounts.
    List,
    /// Makes an account.
    Add {
        /// The name.
        name: String,
        /// What its owner may do.
        role: Role,
    },
    /// Changes an account's role, disables or enables it.
    Change {
        /// The name.
        name: String,
        /// To what.
        change: PersonChange,
    },
    /// Takes an account's password.
    Reset {
        /// The name.
        name: String,
    },
    /// Removes an account.
    Remove {
        /// The name.
        name: String,
    },
    /// Tokens of somebody, or of all.
    Tokens {
        /// Whose.
        user: Option<String>,
    },
    /// Makes a token.
    MakeToken {
        /// For whom.
        user: String,
        /// What it is.
        asked: AskedToken,
    },
    /// Revokes tokens.
    RevokeTokens {
        /// Their ids.
        ids: Vec<String>,
    },
}

/// A link by which somebody chooses a password, once.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLink {
    /// The address of its page; none where no console runs, and so nobody knows how it is reached.
    pub url: Option<String>,
    /// What stands behind the console's address.
    pub path: String,
    /// From when on it is of no use, nanoseconds since 1970 by the wall clock.
    pub expires_unix_ns: i64,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminalPeopleAnswer {
    /// Accounts.
    People(Vec<PersonItem>),
    /// An account as it is now, and the link by which its owner chooses a password, if one was made.
    Person(PersonItem, Option<KnownLink>),
    /// The name of an account that was removed.
    Removed(String),
    /// Tokens.
    Tokens(Vec<ApiTokenItem>),
    /// A token that was made, and its text.
    Token(ApiTokenItem, String),
    /// Tokens that were revoked.
    Revoked(Vec<ApiTokenItem>),
}

/// Does it, as whoever may use the terminal. Links begin with `origin`, if that is known.
///
/// # Errors
/// Why it was not done.
pub async fn people_at_terminal(
    people: &People,
    change: TerminalPeople,
    origin: Option<&str>,
) -> Result<TerminalPeopleAnswer, PeopleError> {
    let by = Doer::TERMINAL;
    let link = |PasswordInvitation { path, expires_unix_ns }| {
        Some(KnownLink { url: origin.map(|origin| format!("{origin}{path}")), path, expires_unix_ns })
    };
    let person = async |name: &str, link| match people.one(name).await? {
        Some(person) => Ok(TerminalPeopleAnswer::Person(person, link)),
        None => Err(PeopleError::NoAccount(name.to_owned())),
    };
    match change {
        TerminalPeople::List => Ok(TerminalPeopleAnswer::People(people.list().await?)),
        TerminalPeople::Add { name, role } => person(&name, link(people.add(&name, role, by).await?)).await,
        TerminalPeople::Change { name, change } => {
            Ok(TerminalPeopleAnswer::Person(people.change(&name, change, by).await?, None))
        }
        TerminalPeople::Reset { name } => person(&name, link(people.reset(&name, by).await?)).await,
        TerminalPeople::Remove { name } => Ok(TerminalPeopleAnswer::Removed(people.remove(&name, by).await?)),
        TerminalPeople::Tokens { user } => {
            if let Some(name) = &user
                && people.one(name).await?.is_none()
            {
                return Err(PeopleError::NoAccount(name.to_owned()));
            }
            Ok(TerminalPeopleAnswer::Tokens(people.tokens().list(user.as_deref()).await?))
        }
        TerminalPeople::MakeToken { user, asked } => {
            let (secret, item) = people.make_token(&user, asked, by).await?;
            Ok(TerminalPeopleAnswer::Token(item, secret.reveal().to_owned()))
        }
        TerminalPeople::RevokeTokens { ids } => {
            let mut revoked = Vec::new();
            for id in ids {
                let no_token = || PeopleError::Refused(format!("there is no token {}", bathyscope_capture::shown(&id)));
                revoked.push(people.revoke_token(&id, None, by).await?.ok_or_else(no_token)?);
            }
            Ok(TerminalPeopleAnswer::Revoked(revoked))
        }
    }
}

/// The same in a database that no console has open.
///
/// # Errors
/// As [`people_at_terminal`].
pub async fn people_without_console(
    store: &Store,
    change: TerminalPeople,
) -> Result<TerminalPeopleAnswer, PeopleError> {
    let stop = CancellationToken::new();
    let sessions = Sessions::open(store.clone(), SessionClock::Boot, &stop).await?;
    people_at_terminal(&People::new(store.clone(), sessions, &stop), change, None).await
}

impl Tracing {
    pub(super) async fn change_people(&self, change: TerminalPeople) -> ControlAnswer {
        match people_at_terminal(&self.people, change, Some(&self.sharing.origin)).await {
            Ok(answer) => ControlAnswer::People { answer: Box::new(answer) },
            Err(error) => ControlAnswer::Failed { why: words(&error) },
        }
    }
}

/// Has the console that runs on `dir` do something with accounts or tokens; none if no console runs there.
///
/// # Errors
/// Why it was not done.
pub fn change_people(dir: &Path, change: TerminalPeople) -> Result<Option<TerminalPeopleAnswer>, Failure> {
    const DOING: &str = "managing accounts";
    let Some(connection) = ControlConnection::open(dir)? else { return Ok(None) };
    match connection.answered(DOING, &Request::People { change: Box::new(change) })? {
        ControlAnswer::People { answer } => Ok(Some(*answer)),
        _other => Err(another_answer(DOING)),
    }
}
