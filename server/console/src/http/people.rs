//! People who have an account: made, changed and removed by admins, logged in by name and password.
//!
//! A name is written in captures, notes and the audit log, so it is that of one person: an account's name is nobody else's, however it
//! is spelt, and a login link for it logs in as the account. No admin knows a password: who has none chooses one by a link that works
//! once. Whatever changes what an account may do ends its sessions and what is open by its tokens.

use std::{sync::Arc, time::Duration};

use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{
    AccountChange, AccountChanged, AccountRecord, AccountSummary, IdentityRecord, KeptPassword, NewAccount,
    PasswordLink, Role, Store, StoreError, TokenHash,
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::{
    proxied::ProxiedPeople,
    session::{CameBy, Secret, Session, SessionEnd, SessionError, Sessions, TOKEN_BYTES, new_secret},
    tokens::{ApiTokenItem, ApiTokens, AskedToken, TokenError},
};
use crate::{
    audit::audit,
    library::TERMINAL,
    passwords::{self, PasswordError, Passwords},
};

/// How long a link to choose a password can be used.
pub const PASSWORD_LINK_DAYS: u32 = 3;
const PASSWORD_LINK_NS: i64 = PASSWORD_LINK_DAYS as i64 * 24 * 3600 * 1_000_000_000;
/// How often uses of tokens are written.
const KEEP_EVERY: Duration = Duration::from_secs(60);
/// The longest name.
const NAME_BYTES: usize = 64;
/// Names of no person: what is done at a terminal has the first, and links without a name of somebody have the others.
const NOBODYS_NAMES: [&str; 4] = [TERMINAL, "viewer", "operator", "admin"];

/// An account in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonItem {
    /// The name.
    pub name: String,
    /// What they may do.
    pub role: Role,
    /// Since when nobody comes in by it, nanoseconds since 1970 by the wall clock; none while it is enabled.
    pub disabled_unix_ns: Option<i64>,
    /// Whether a password was chosen.
    pub has_password: bool,
    /// From when on the link to choose one is of no use, likewise; none if there is no such link.
    pub link_expires_unix_ns: Option<i64>,
    /// When it was made, likewise.
    pub created_unix_ns: i64,
    /// When somebody last logged in by it, likewise.
    pub last_login_unix_ns: Option<i64>,
    /// Sessions that have not ended.
    pub sessions: u64,
    /// Tokens that have not expired.
    pub tokens: u64,
    /// Who it is at an OpenID Connect provider; none if nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<PersonIdentity>,
}

/// Who an account is at a provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PersonIdentity {
    /// The provider.
    pub issuer: String,
    /// Whether it is somebody there already; else the next who logs in there by the account's name will be.
    pub is_bound: bool,
    /// Whether the account was made at the first login, and its role is that of the groups at each one.
    pub made_at_login: bool,
}

impl From<IdentityRecord> for PersonIdentity {
    fn from(IdentityRecord { issuer, subject, made_at_login, .. }: IdentityRecord) -> Self {
        Self { issuer, is_bound: subject.is_some(), made_at_login }
    }
}

impl From<AccountSummary> for PersonItem {
    fn from(AccountSummary { account, sessions, tokens, identity }: AccountSummary) -> Self {
        let AccountRecord { name, role, disabled_unix_ns, created_unix_ns, last_login_unix_ns, .. } = account;
        Self {
            name,
            role,
            disabled_unix_ns,
            has_password: account.password.is_some(),
            link_expires_unix_ns: account.link_expires_unix_ns,
            created_unix_ns,
            last_login_unix_ns,
            sessions,
            tokens,
            identity: identity.map(PersonIdentity::from),
        }
    }
}

/// What of an account is changed by others than its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PersonChange {
    /// What they may do from now on.
    #[serde(default)]
    pub role: Option<Role>,
    /// Whether nobody comes in by it from now on.
    #[serde(default)]
    pub disabled: Option<bool>,
    /// Whether the next who has the account's name at the OpenID Connect provider is taken for its owner; `false` forgets who it is
    /// there.
    #[serde(default)]
    pub provider_login: Option<bool>,
}

/// A link by which somebody chooses a password, once.
pub struct PasswordInvitation {
    /// The path of its page, with the token in the fragment, which browsers do not send.
    pub path: String,
    /// From when on it is of no use, nanoseconds since 1970 by the wall clock.
    pub expires_unix_ns: i64,
}

impl std::fmt::Debug for PasswordInvitation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordInvitation(…)")
    }
}

/// Who does something: name and role, for the audit log, and whether they sit at a terminal of this host.
#[derive(Clone, Copy, Debug)]
pub struct Doer<'a> {
    /// The name.
    pub user: &'a str,
    /// As what.
    pub role: Role,
    /// At a terminal the last admin can be removed: `bathyscope login-link` logs in all the same.
    pub at_terminal: bool,
}

impl Doer<'static> {
    /// Whoever may use the control socket or the database.
    pub const TERMINAL: Self = Doer { user: TERMINAL, role: Role::Admin, at_terminal: true };
}

impl<'a> From<&'a Session> for Doer<'a> {
    fn from(session: &'a Session) -> Self {
        Doer { user: session.user(), role: session.role(), at_terminal: false }
    }
}

/// Why something of an account could not be done.
#[derive(Debug, thiserror::Error)]
pub enum PeopleError {
    /// There is no account of this name.
    #[error("there is no account {}", bathyscope_capture::shown(.0))]
    NoAccount(String),
    /// It is not as it must be.
    #[error("{0}")]
    Refused(String),
    /// It cannot be done as things are.
    #[error("{0}")]
    Conflict(String),
    /// The old password is another one.
    #[error("the old password is wrong")]
    WrongPassword,
    /// A link that cannot be used, for whatever reason.
    #[error("it is not complete, was used, has expired, or its account is disabled")]
    NoLink,
    /// A password could not be computed with.
    #[error(transparent)]
    Password(#[from] PasswordError),
    /// The kernel gave no randomness.
    #[error(transparent)]
    Secret(#[from] SessionError),
    /// A token could not be made.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// The store failed, or refused it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why a text is nobody's name here; none if it may be one.
pub fn name_refusal(name: &str) -> Option<&'static str> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'@');
    let begins = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if !begins || name.len() > NAME_BYTES || !name.bytes().all(plain) {
        return Some("a name is 1 to 64 letters, digits and . _ - @, and begins with a letter or digit");
    }
    let is_nobodys = NOBODYS_NAMES.iter().any(|nobody| nobody.eq_ignore_ascii_case(name));
    is_nobodys
        .then_some("the names viewer, operator, admin and terminal are of nobody: links and the terminal have them")
}

/// All accounts. Cheap to clone.
#[derive(Clone, Debug)]
pub struct People {
    store: Store,
    sessions: Sessions,
    tokens: ApiTokens,
    proxied: ProxiedPeople,
    passwords: Passwords,
    /// The issuer of the provider by which people log in; none if by none.
    provider: Option<Arc<str>>,
    stop: CancellationToken,
}

impl People {
    /// The accounts that `store` keeps, whose sessions are among `sessions`. What is open by tokens ends when `stop` is cancelled.
    pub fn new(store: Store, sessions: Sessions, stop: &CancellationToken) -> Self {
        let tokens = ApiTokens::new(store.clone(), sessions.clone(), stop);
        let proxied = ProxiedPeople::new(store.clone(), sessions.clone(), stop);
        Self { store, sessions, tokens, proxied, passwords: Passwords::default(), provider: None, stop: stop.clone() }
    }

    /// The same where people log in by the provider of this issuer.
    #[must_use]
    pub fn with_provider(self, issuer: Option<&str>) -> Self {
        Self { provider: issuer.map(Arc::from), ..self }
    }

    /// Those whom a proxy in front has logged in.
    pub(super) fn proxied(&self) -> &ProxiedPeople {
        &self.proxied
    }

    /// How many hashes of passwords were computed since the console was started: one for each password that somebody sends, whether
    /// there is something to compare it with or not.
    pub fn hashes_computed(&self) -> u64 {
        self.passwords.computed()
    }

    /// Tokens of theirs for programs.
    pub fn tokens(&self) -> &ApiTokens {
        &self.tokens
    }

    /// Whether there is any account.
    ///
    /// # Errors
    /// The store's.
    pub async fn are_there(&self) -> Result<bool, StoreError> {
        self.store.has_accounts().await
    }

    /// All of them, by name.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self) -> Result<Vec<PersonItem>, StoreError> {
        let all = self.store.accounts(self.sessions.now_s(), wall_unix_ns()).await?;
        Ok(all.into_iter().map(PersonItem::from).collect())
    }

    /// The one of this name.
    ///
    /// # Errors
    /// The store's.
    pub async fn one(&self, name: &str) -> Result<Option<PersonItem>, StoreError> {
        Ok(self.list().await?.into_iter().find(|person| person.name.eq_ignore_ascii_case(name)))
    }

    /// Makes an account, and a link by which its owner chooses a password.
    ///
    /// # Errors
    /// If the name is not as it must be, or taken.
    pub async fn add(&self, name: &str, role: Role, by: Doer<'_>) -> Result<PasswordInvitation, PeopleError> {
        if let Some(why) = name_refusal(name) {
            return Err(PeopleError::Refused(why.to_owned()));
        }
        let (invitation, link) = invitation(name)?;
        let new = NewAccount { name: name.to_owned(), role, created_unix_ns: wall_unix_ns(), link };
        let changed = self.store.add_account(new).await?;
        self.end(&changed, SessionEnd::Account);
        self.note(by, "person.add", (name, &format!("as {role}"))).await;
        Ok(invitation)
    }

    /// Changes what an account may do.
    ///
    /// # Errors
    /// If there is none, or it is the last admin's and who asks is not at a terminal.
    pub async fn change(&self, name: &str, change: PersonChange, by: Doer<'_>) -> Result<PersonItem, PeopleError> {
        if let Some(role) = change.role {
            let changed = self.apply(name, AccountChange::Role(role), by).await?;
            self.end(&changed, SessionEnd::Role);
            self.note(by, "person.role", (&changed.account.name, &format!("is {role} now"))).await;
        }
        match change.disabled {
            Some(true) => {
                let changed = self.apply(name, AccountChange::Disable { now_unix_ns: wall_unix_ns() }, by).await?;
                self.end(&changed, SessionEnd::Disabled);
                self.note(by, "person.disable", (&changed.account.name, "")).await;
            }
            Some(false) => {
                let changed = self.apply(name, AccountChange::Enable, by).await?;
                self.note(by, "person.enable", (&changed.account.name, "")).await;
            }
            None => {}
        }
        match change.provider_login {
            Some(true) => self.allow_provider(name, by).await?,
            Some(false) => self.forget_provider(name, by).await?,
            None => {}
        }
        self.one(name).await?.ok_or_else(|| PeopleError::NoAccount(name.to_owned()))
    }

    async fn allow_provider(&self, name: &str, by: Doer<'_>) -> Result<(), PeopleError> {
        let no_account = || PeopleError::NoAccount(name.to_owned());
        let Some(issuer) = &self.provider else {
            let why = "people do not log in by a provider here: the console has to run with --oidc-issuer".to_owned();
            return Err(PeopleError::Conflict(why));
        };
        let allowed = self.store.allow_identity(name, issuer, wall_unix_ns()).await?.ok_or_else(no_account)?;
        self.note(by, "person.provider", (&allowed.account, &format!("may be bound to somebody at {issuer}"))).await;
        Ok(())
    }

    async fn forget_provider(&self, name: &str, by: Doer<'_>) -> Result<(), PeopleError> {
        let Some(changed) = self.store.forget_identity(name).await? else {
            let why = format!("{} is nobody at a provider", bathyscope_capture::shown(name));
            return Err(PeopleError::Conflict(why));
        };
        self.end(&changed, SessionEnd::Role);
        self.note(by, "person.provider", (&changed.account.name, "is bound to nobody any more")).await;
        Ok(())
    }

    /// Ends what is open by tokens of an account whose role is another one, as its owner has logged in.
    pub(super) fn role_has_changed(&self, name: &str) {
        self.tokens.end_of_owner(name);
        self.proxied.end(name);
    }

    /// Takes an account's password, and gives a link by which its owner chooses another.
    ///
    /// # Errors
    /// If there is none, or it is disabled.
    pub async fn reset(&self, name: &str, by: Doer<'_>) -> Result<PasswordInvitation, PeopleError> {
        let account = self.store.account(name).await?.ok_or_else(|| PeopleError::NoAccount(name.to_owned()))?;
        if !account.is_enabled() {
            let why = format!("the account {} is disabled: enable it first", account.name);
            return Err(PeopleError::Conflict(why));
        }
        let (invitation, link) = invitation(&account.name)?;
        let changed = self.apply(name, AccountChange::Reset(link), by).await?;
        self.end(&changed, SessionEnd::Password);
        self.note(by, "person.reset", (&changed.account.name, "a link to choose a password was made")).await;
        Ok(invitation)
    }

    /// Removes an account, with its sessions, links and tokens. What its owner has made stays, by the name.
    ///
    /// # Errors
    /// If there is none, or it is the last admin's and who asks is not at a terminal.
    pub async fn remove(&self, name: &str, by: Doer<'_>) -> Result<String, PeopleError> {
        let changed = self.apply(name, AccountChange::Remove, by).await?;
        self.end(&changed, SessionEnd::Removed);
        self.note(by, "person.remove", (&changed.account.name, "")).await;
        Ok(changed.account.name)
    }

    /// The account whose link to choose a password has this token; none if it cannot be used. Changes nothing.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn of_link(&self, token: &str) -> Result<Option<String>, StoreError> {
        // What no token looks like is not looked up.
        if token.len() != TOKEN_BYTES * 2 {
            return Ok(None);
        }
        let found = self.store.account_of_link(TokenHash::of(token.as_bytes()), wall_unix_ns()).await?;
        Ok(found.map(|account| account.name))
    }

    /// Has the owner of a link choose a password; gives the name. The link is used up if the password is taken.
    ///
    /// # Errors
    /// If the link cannot be used, or the password is not taken.
    pub(super) async fn choose(&self, token: &str, password: String) -> Result<String, PeopleError> {
        let name = self.of_link(token).await?.ok_or(PeopleError::NoLink)?;
        taken(&password, &name)?;
        let kept = self.passwords.keep(password).await?;
        let link = TokenHash::of(token.as_bytes());
        let changed = self.store.choose_password(link, kept, wall_unix_ns()).await?.ok_or(PeopleError::NoLink)?;
        self.end(&changed, SessionEnd::Password);
        let AccountRecord { name, role, .. } = changed.account;
        self.note(Doer { user: &name, role, at_terminal: false }, "person.password", (&name, "chosen by a link")).await;
        Ok(name)
    }

    /// What is kept of the password of the enabled account of this name, if it is `password`. That takes as long if there is no such
    /// account, it is disabled, or it has no password.
    ///
    /// # Errors
    /// If the password could not be computed with, or the store's.
    pub(super) async fn verified(
        &self,
        name: &str,
        password: String,
    ) -> Result<Option<(String, KeptPassword)>, PeopleError> {
        let account = self.store.account(name).await?.filter(AccountRecord::is_enabled);
        let known = account.and_then(|account| Some((account.name, account.password?)));
        let kept = known.as_ref().map(|(_name, kept)| kept.clone());
        Ok(if self.passwords.fits(password, kept).await? { known } else { None })
    }

    /// Changes the password of whoever asks. Their other sessions end.
    ///
    /// # Errors
    /// If they have no account with a password, the old one is wrong, or the new one is not taken.
    pub(super) async fn change_own(&self, who: &Session, old: String, new: String) -> Result<(), PeopleError> {
        taken(&new, who.user())?;
        if old == new {
            return Err(PeopleError::Refused("it is the password that it was".to_owned()));
        }
        let Some((name, old)) = self.verified(who.user(), old).await? else { return Err(PeopleError::WrongPassword) };
        let new = self.passwords.keep(new).await?;
        let keep = (who.by() == CameBy::Cookie).then(|| who.hash());
        let change = AccountChange::Password { old, new, now_unix_ns: wall_unix_ns(), keep };
        let changed = self.store.change_account(&name, change, false).await?.ok_or(PeopleError::WrongPassword)?;
        self.end(&changed, SessionEnd::Password);
        self.note(who.into(), "person.password", (&name, "changed")).await;
        Ok(())
    }

    /// Makes a token for a program of the account of this name.
    ///
    /// # Errors
    /// If there is no such account that is enabled, or the token is refused.
    pub async fn make_token(
        &self,
        owner: &str,
        asked: AskedToken,
        by: Doer<'_>,
    ) -> Result<(Secret, ApiTokenItem), PeopleError> {
        let Some(account) = self.store.account(owner).await? else {
            let why = "tokens are of people who have an account: an admin makes one on the page People".to_owned();
            return Err(if by.at_terminal {
                PeopleError::NoAccount(owner.to_owned())
            } else {
                PeopleError::Conflict(why)
            });
        };
        // Somebody who has come by a link for less may not get more by a token.
        let may = account.role.min(by.role);
        let (secret, made) = self.tokens.make((&account.name, may), asked).await?;
        let detail = format!("“{}” as {} for {}", made.name, made.role, made.owner);
        self.note(by, "token.make", (&made.id, &detail)).await;
        Ok((secret, made))
    }

    /// Revokes a token if it is `owner`'s, or whosever it is if that is none.
    ///
    /// # Errors
    /// The store's.
    pub async fn revoke_token(
        &self,
        id: &str,
        owner: Option<&str>,
        by: Doer<'_>,
    ) -> Result<Option<ApiTokenItem>, StoreError> {
        let Some(revoked) = self.tokens.revoke(id, owner).await? else { return Ok(None) };
        self.note(by, "token.revoke", (&revoked.id, &format!("“{}” of {}", revoked.name, revoked.owner))).await;
        Ok(Some(revoked))
    }

    /// Writes uses of tokens and removes those that have expired, once a minute, until the console stops.
    pub async fn keep(self) {
        loop {
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(KEEP_EVERY) => {}
            }
            if let Err(error) = self.tokens.sweep().await {
                tracing::warn!(%error, "uses of tokens could not be written");
            }
        }
    }

    async fn apply(&self, name: &str, change: AccountChange, by: Doer<'_>) -> Result<AccountChanged, PeopleError> {
        let changed = self.store.change_account(name, change, !by.at_terminal).await?;
        changed.ok_or_else(|| PeopleError::NoAccount(name.to_owned()))
    }

    /// Ends here what a change has ended.
    fn end(&self, changed: &AccountChanged, why: SessionEnd) {
        self.sessions.end_all(&changed.ended, why);
        if why != SessionEnd::Password {
            self.tokens.end_of_owner(&changed.account.name);
            self.proxied.end(&changed.account.name);
        }
    }

    async fn note(&self, by: Doer<'_>, action: &str, (object, detail): (&str, &str)) {
        audit(&self.store, (by.user, by.role), action, (object, detail)).await;
    }
}

fn taken(password: &str, name: &str) -> Result<(), PeopleError> {
    match passwords::refusal(password, name) {
        Some(why) => Err(PeopleError::Refused(format!("the password is not taken: {why}"))),
        None => Ok(()),
    }
}

/// A link to choose a password for `name`, and what is kept of it.
fn invitation(name: &str) -> Result<(PasswordInvitation, PasswordLink), SessionError> {
    let (secret, hash) = new_secret()?;
    let expires_unix_ns = wall_unix_ns().saturating_add(PASSWORD_LINK_NS);
    let path = format!("/password#name={name}&token={}", secret.reveal());
    Ok((PasswordInvitation { path, expires_unix_ns }, PasswordLink { hash, expires_unix_ns }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_short_plain_and_somebodys() {
        for name in ["a", "alice", "Alice.B-c_d", "bob@example.org", "7", &"x".repeat(63), &"x".repeat(64)] {
            assert_eq!(name_refusal(name), None, "{name}");
        }
        let long = "x".repeat(65);
        for name in [
            "",
            " ",
            ".",
            "..",
            "../",
            "-a",
            "@a",
            "_a",
            "a b",
            "a/b",
            "a\\b",
            "a\nb",
            "a\0",
            "\u{202e}a",
            "a\u{200b}",
            "ä",
            "<b>",
            "\"><img src=x onerror=1>",
            "a%2f",
            "admin",
            "ADMIN",
            "viewer",
            "operator",
            "Terminal",
            &long,
            &"x".repeat(4096),
        ] {
            assert!(name_refusal(name).is_some(), "{name}");
        }
    }
}
