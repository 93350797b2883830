//! Who is logged in: one-time login tokens, session cookies, and their end.
//!
//! Both are 256 random bits, kept only as SHA-256. Time is the seconds since boot ([`SessionClock`]), which nobody can
//! set and which goes on while the machine sleeps; the store forgets all sessions when the boot is another one. So a
//! restart of the console keeps people logged in, a reboot does not.
//!
//! When a session was last used is kept in memory and written once a minute by [`Sessions::keep`], because a GET must
//! not change the database (P04). After a crash at most that minute of use is forgotten.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{
    BegunSession, EndedSession, IdentityLogin, IdentityOutcome, IdentityRefusal, KeptPassword, LoginGroups, LoginToken,
    NewSession, Role, Store, StoreError, TokenHash,
};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::sign_in::OidcPerson;
use crate::hex::hex;

/// How long a session lasts at most, however often it is used.
pub const SESSION_S: u64 = 7 * 24 * 3600;
/// How long a session lasts without use.
const IDLE_S: u64 = 12 * 3600;
/// How long a login link can be used.
pub const LOGIN_LINK_S: u64 = 3600;
/// How often uses are written and ended sessions removed.
const KEEP_EVERY: Duration = Duration::from_secs(60);
/// The random bytes of a token.
pub(super) const TOKEN_BYTES: usize = 32;

/// Tells the seconds of sessions.
#[derive(Clone, Debug)]
pub enum SessionClock {
    /// Seconds since boot, sleep included.
    Boot,
    /// Seconds that a test sets, of a boot that it names.
    Manual {
        /// Now.
        seconds: Arc<AtomicU64>,
        /// Which boot.
        epoch: String,
    },
}

impl SessionClock {
    /// Now.
    pub fn now_s(&self) -> u64 {
        match self {
            Self::Boot => {
                let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
                u64::try_from(now.tv_sec).unwrap_or(0)
            }
            Self::Manual { seconds, .. } => seconds.load(Ordering::Relaxed),
        }
    }

    /// Names the origin of the seconds: this boot.
    pub fn epoch(&self) -> String {
        match self {
            // Where it cannot be read, every start is an epoch of its own and everybody logs in again.
            Self::Boot => std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
                .map_or_else(|_unreadable| format!("start {}", self.now_s()), |id| id.trim().to_owned()),
            Self::Manual { epoch, .. } => epoch.clone(),
        }
    }
}

/// By what somebody asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CameBy {
    /// The cookie of a session that a login has begun.
    Cookie,
    /// A token for programs. It manages nobody's access.
    Token,
    /// The header of a proxy in front, which knows who it is.
    Proxy,
}

/// Why a session ended before its time, other than by its owner's logout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionEnd {
    /// The account was disabled.
    Disabled,
    /// The account was removed.
    Removed,
    /// The account's role is another one now.
    Role,
    /// The account's password is another one now, or has to be chosen again.
    Password,
    /// An account was made for the name.
    Account,
    /// Somebody ended it in a list of sessions.
    ByHand,
    /// The proxy in front says that it is somebody else.
    OtherPerson,
    /// A new login at the provider says that they are not in a group any more that the session had.
    Groups,
}

impl SessionEnd {
    /// What its owner is told, as a sentence.
    pub fn words(self) -> &'static str {
        match self {
            Self::Disabled => "Your account was disabled. Ask an admin of this console.",
            Self::Removed => "Your account was removed. Ask an admin of this console.",
            Self::Role => "The role of your account was changed. Log in again.",
            Self::Password => "The password of your account was changed. Log in with the new one.",
            Self::Account => "There is an account of your name now. Log in with its password.",
            Self::ByHand => "Your session was ended in the list of sessions. Log in again.",
            Self::Groups => "Your groups at the provider are others now. Log in again.",
            Self::OtherPerson => "The proxy in front of this console has logged somebody else in.",
        }
    }
}

/// A session as handlers see it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Session {
    inner: Arc<SharedSession>,
}

#[derive(Debug)]
struct SharedSession {
    hash: TokenHash,
    by: CameBy,
    user: String,
    role: Role,
    groups: Option<LoginGroups>,
    expires_s: u64,
    idle_limit_s: u64,
    last_used_s: AtomicU64,
    written_s: AtomicU64,
    ended: CancellationToken,
    clock: SessionClock,
}

impl Session {
    /// Whoever can read the database at a terminal; no cookie and no token names it.
    pub(super) fn of_terminal() -> Self {
        let inner = SharedSession {
            hash: TokenHash::of(&[]),
            by: CameBy::Token,
            user: crate::library::TERMINAL.to_owned(),
            role: Role::Admin,
            groups: None,
            expires_s: u64::MAX,
            idle_limit_s: u64::MAX,
            last_used_s: AtomicU64::new(0),
            written_s: AtomicU64::new(0),
            ended: CancellationToken::new(),
            clock: SessionClock::Boot,
        };
        Self { inner: Arc::new(inner) }
    }

    /// The name that captures and the audit log carry.
    pub fn user(&self) -> &str {
        &self.inner.user
    }

    /// By which lists name it.
    pub(super) fn id(&self) -> String {
        self.inner.hash.short()
    }

    /// What its owner may do.
    pub fn role(&self) -> Role {
        self.inner.role
    }

    /// Groups that its owner is in by whoever logged them in elsewhere; none if nobody says so, and by a token.
    pub fn groups(&self) -> Option<&LoginGroups> {
        self.inner.groups.as_ref()
    }

    /// By what its owner asks.
    pub fn by(&self) -> CameBy {
        self.inner.by
    }

    /// By which the store knows it.
    pub(super) fn hash(&self) -> TokenHash {
        self.inner.hash
    }

    /// Cancelled when the session ends: by logout, by time, or with the console.
    pub fn ended(&self) -> &CancellationToken {
        &self.inner.ended
    }

    /// Waits until the session ends, by whatever means.
    pub async fn over(&self) {
        let left_s = self.inner.expires_s.saturating_sub(self.inner.clock.now_s());
        // An end by time comes on time although nobody may be there to look.
        let expired = tokio::time::sleep(Duration::from_secs(left_s));
        tokio::select! {
            () = self.inner.ended.cancelled() => {}
            () = expired => {}
        }
    }

    /// Whether it has not ended, by whatever means.
    pub(super) fn is_live(&self) -> bool {
        !self.inner.ended.is_cancelled() && !self.is_over(self.inner.clock.now_s())
    }

    /// Whether both are one session.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.inner.hash == other.inner.hash
    }

    fn is_over(&self, now_s: u64) -> bool {
        let idle_s = now_s.saturating_sub(self.inner.last_used_s.load(Ordering::Relaxed));
        now_s >= self.inner.expires_s || idle_s >= self.inner.idle_limit_s
    }
}

/// A secret to hand out once.
pub struct Secret(String);

impl Secret {
    /// The secret's text, for the one who gets it; it must not be logged.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(…)")
    }
}

/// What came of a login at the provider.
#[derive(Debug)]
pub(super) enum IdentityEntry {
    /// A session has begun.
    Begun {
        /// What its cookie holds.
        secret: Secret,
        /// The session.
        session: Session,
        /// Whether an account was made.
        made: bool,
        /// Whether an account of before was bound to this person.
        linked: bool,
        /// Whether other sessions of the name ended, as what it may do is another thing now.
        changed: bool,
    },
    /// None has.
    Refused(IdentityRefusal),
}

/// Who can come in.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AccessList {
    /// Sessions that have not ended.
    pub sessions: Vec<SessionItem>,
    /// Login links that were not used yet.
    pub links: Vec<LinkItem>,
}

/// A session in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionItem {
    /// By which it is ended; it is of no use for anything else.
    pub id: String,
    /// Whose it is.
    pub user: String,
    /// What it may do.
    pub role: Role,
    /// Seconds since the login.
    pub age_s: u64,
    /// Seconds since it was used last.
    pub unused_s: u64,
    /// Seconds until it ends if it is not used.
    pub ends_in_s: u64,
}

/// A login link in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LinkItem {
    /// By which it is ended; it does not log in.
    pub id: String,
    /// For whom it is.
    pub user: String,
    /// What that user may do.
    pub role: Role,
    /// Seconds until it cannot be used any more.
    pub ends_in_s: u64,
    /// Seconds until the session ends that it begins.
    pub session_ends_in_s: u64,
}

/// Why a session could not be made or looked up.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The kernel gave no randomness.
    #[error("no random bytes for a token")]
    Random(#[source] getrandom::Error),
    /// The store failed.
    #[error("keeping sessions failed")]
    Store(#[from] StoreError),
    /// Nobody comes in by the account of this name.
    #[error("the account {name} is disabled: enable it first, or make a link for another name")]
    Disabled {
        /// The name.
        name: String,
    },
}

/// All sessions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sessions {
    store: Store,
    clock: SessionClock,
    live: Arc<Mutex<Live>>,
    all_ended: CancellationToken,
    /// The provider whose groups count; none if people do not log in by one.
    issuer: Option<Arc<str>>,
}

/// Whose a session is: the name, what they may do, and groups that they are in elsewhere.
type Whose = (String, Role, Option<LoginGroups>);

#[derive(Debug, Default)]
struct Live {
    sessions: HashMap<TokenHash, Session>,
    /// Sessions that were ended here, until they would have expired: one that is being looked up meanwhile must not
    /// come back, and whoever had it is told why.
    ended: HashMap<TokenHash, EndedHere>,
}

#[derive(Clone, Copy, Debug)]
struct EndedHere {
    expires_s: u64,
    why: Option<SessionEnd>,
}

impl Sessions {
    /// The sessions that `store` keeps. They all end when `stop` is cancelled.
    ///
    /// # Errors
    /// The store's.
    pub async fn open(store: Store, clock: SessionClock, stop: &CancellationToken) -> Result<Self, SessionError> {
        store.begin_session_epoch(&clock.epoch()).await?;
        store.purge_sessions(clock.now_s()).await?;
        Ok(Self { store, clock, live: Arc::default(), all_ended: stop.child_token(), issuer: None })
    }

    /// The same where people log in by this provider: what another one said of groups counts no more.
    #[must_use]
    pub fn with_issuer(self, issuer: Option<&str>) -> Self {
        Self { issuer: issuer.map(Arc::from), ..self }
    }

    /// No sessions, and none can be found: of a process at a terminal, which only reads.
    pub(super) fn none(store: Store, stop: &CancellationToken) -> Self {
        Self { store, clock: SessionClock::Boot, live: Arc::default(), all_ended: stop.child_token(), issuer: None }
    }

    /// Makes a token that logs in once, as `user` with `role`.
    ///
    /// # Errors
    /// The store's, if there is no randomness, or if the name is that of an account that is disabled.
    pub async fn login_token(&self, user: &str, role: Role) -> Result<Secret, SessionError> {
        Ok(self.login_token_for(user, role, SESSION_S).await?.0)
    }

    /// As [`Sessions::login_token`]; what the token lets in ends `lasts_s` from now, at most [`SESSION_S`], however it is
    /// used. The token itself can be used for [`LOGIN_LINK_S`] at most. For the name of an account it logs in as that, with no
    /// higher role: tells which one.
    ///
    /// # Errors
    /// As [`Sessions::login_token`].
    pub async fn login_token_for(&self, user: &str, role: Role, lasts_s: u64) -> Result<(Secret, Role), SessionError> {
        let (user, role) = match self.store.account(user).await? {
            Some(account) if !account.is_enabled() => return Err(SessionError::Disabled { name: account.name }),
            Some(account) => (account.name, role.min(account.role)),
            None => (user.to_owned(), role),
        };
        let (secret, hash) = new_secret()?;
        let now_s = self.clock.now_s();
        let session_expires_s = now_s.saturating_add(lasts_s.min(SESSION_S));
        let expires_s = now_s.saturating_add(LOGIN_LINK_S).min(session_expires_s);
        self.store.add_login_token(LoginToken { hash, user, role, expires_s, session_expires_s }).await?;
        Ok((secret, role))
    }

    /// The sessions that have not ended, the one that was used last first, and the links that were not used yet.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self) -> Result<AccessList, SessionError> {
        let now_s = self.clock.now_s();
        let mut sessions = self.store.sessions(now_s).await?;
        for session in &mut sessions {
            // What is not written yet.
            let live = self.locked(|live| live.sessions.get(&session.hash).cloned());
            let used_s = live.map_or(0, |live| live.inner.last_used_s.load(Ordering::Relaxed));
            session.last_used_s = session.last_used_s.max(used_s);
        }
        sessions.sort_by_key(|session| std::cmp::Reverse(session.last_used_s));
        let session = |session: bathyscope_store::Session| SessionItem {
            id: session.hash.short(),
            user: session.user,
            role: session.role,
            age_s: now_s.saturating_sub(session.created_s),
            unused_s: now_s.saturating_sub(session.last_used_s),
            ends_in_s: session
                .expires_s
                .min(session.last_used_s.saturating_add(session.idle_limit_s))
                .saturating_sub(now_s),
        };
        let link = |token: LoginToken| LinkItem {
            id: token.hash.short(),
            user: token.user,
            role: token.role,
            ends_in_s: token.expires_s.saturating_sub(now_s),
            session_ends_in_s: token.session_expires_s.saturating_sub(now_s),
        };
        let links = self.store.login_tokens(now_s).await?.into_iter().map(link).collect();
        let sessions = sessions.into_iter().map(session).collect();
        Ok(AccessList { sessions, links })
    }

    /// Ends the session with this id: its cookie is worth nothing any more and its streams end. Gives whose it was; none
    /// if there is no such one.
    ///
    /// # Errors
    /// The store's.
    pub async fn end(&self, id: &str) -> Result<Option<String>, SessionError> {
        let all = self.store.sessions(self.clock.now_s()).await?;
        let Some(stored) = all.into_iter().find(|session| session.hash.short() == id) else { return Ok(None) };
        self.forget(&self.adopt(&stored), Some(SessionEnd::ByHand));
        self.store.delete_session(stored.hash).await?;
        Ok(Some(stored.user))
    }

    /// Makes the unused link with this id worthless. Gives for whom it was; none if there is no such one.
    ///
    /// # Errors
    /// The store's.
    pub async fn end_link(&self, id: &str) -> Result<Option<String>, SessionError> {
        let all = self.store.login_tokens(self.clock.now_s()).await?;
        let Some(token) = all.into_iter().find(|token| token.hash.short() == id) else { return Ok(None) };
        Ok(self.store.delete_login_token(token.hash).await?.then_some(token.user))
    }

    /// Whether a login token can be used now. Changes nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn is_login_token(&self, token: &str) -> Result<bool, SessionError> {
        // What no token looks like is not looked up.
        if token.len() != TOKEN_BYTES * 2 {
            return Ok(false);
        }
        Ok(self.store.has_login_token(TokenHash::of(token.as_bytes()), self.clock.now_s()).await?)
    }

    /// Uses up a login token and begins a session; none if the token is unknown, used or too old, or the account of its name is
    /// disabled: which of them is not told. `replaces` is the session that the browser had, which ends.
    ///
    /// # Errors
    /// The store's, or if there is no randomness.
    pub async fn login(
        &self,
        token: &str,
        replaces: Option<&Session>,
    ) -> Result<Option<(Secret, Session)>, SessionError> {
        let hash = TokenHash::of(token.as_bytes());
        let Some(token) = self.store.redeem_login_token(hash, self.clock.now_s()).await? else {
            return Ok(None);
        };
        self.begin((&token.user, token.role), token.session_expires_s, (None, replaces)).await
    }

    /// Begins a session of an account whose password was told, if `password` is still what is kept of it and the account is
    /// enabled. `replaces` is the session that the browser had, which ends.
    ///
    /// # Errors
    /// As [`Sessions::login`].
    pub async fn login_by_password(
        &self,
        name: &str,
        password: KeptPassword,
        replaces: Option<&Session>,
    ) -> Result<Option<(Secret, Session)>, SessionError> {
        let expires_s = self.clock.now_s().saturating_add(SESSION_S);
        self.begin((name, Role::Admin), expires_s, (Some(password), replaces)).await
    }

    /// Begins a session, with no higher role than that of the account of this name.
    async fn begin(
        &self,
        (user, role): (&str, Role),
        expires_s: u64,
        (password, replaces): (Option<KeptPassword>, Option<&Session>),
    ) -> Result<Option<(Secret, Session)>, SessionError> {
        let now_s = self.clock.now_s();
        let (secret, hash) = new_secret()?;
        let (user, idle_limit_s) = (user.to_owned(), IDLE_S);
        let new = NewSession { hash, role, user, created_s: now_s, expires_s, idle_limit_s };
        let begun = self.store.begin_session(new, password, wall_unix_ns()).await?;
        let Some(begun) = begun else { return Ok(None) };
        let opened = self.opened(hash, (begun, None), (expires_s, now_s), replaces).await?;
        Ok(opened.map(|session| (secret, session)))
    }

    /// Begins a session for somebody who has logged in at the provider, if the account that is theirs lets them in; tells why not.
    ///
    /// # Errors
    /// As [`Sessions::login`].
    pub(super) async fn login_by_identity(
        &self,
        issuer: &str,
        OidcPerson { subject, name, role, groups }: OidcPerson,
        replaces: Option<&Session>,
    ) -> Result<IdentityEntry, SessionError> {
        let now_s = self.clock.now_s();
        let expires_s = now_s.saturating_add(SESSION_S);
        let (secret, hash) = new_secret()?;
        let user = name.clone();
        let new = NewSession { hash, role: Role::Viewer, user, created_s: now_s, expires_s, idle_limit_s: IDLE_S };
        let (issuer, now_unix_ns) = (issuer.to_owned(), wall_unix_ns());
        let said = groups.clone();
        let login = IdentityLogin { issuer, subject, name, role, groups: said, session: new, now_unix_ns };
        match self.store.log_in_by_identity(login).await? {
            IdentityOutcome::Refused(refusal) => Ok(IdentityEntry::Refused(refusal)),
            IdentityOutcome::Begun { session, ended, left_groups, made, linked } => {
                self.end_all(&ended, if made { SessionEnd::Account } else { SessionEnd::Role });
                self.end_all(&left_groups, SessionEnd::Groups);
                let (name, changed) = (session.user.clone(), !ended.is_empty());
                let opened = self.opened(hash, (session, Some(groups)), (expires_s, now_s), replaces).await?;
                Ok(opened.map_or(IdentityEntry::Refused(IdentityRefusal::Disabled { name }), |session| {
                    IdentityEntry::Begun { secret, session, made, linked, changed }
                }))
            }
        }
    }

    /// A session that the store keeps now, in place of the one that the browser had; none if it has ended meanwhile.
    async fn opened(
        &self,
        hash: TokenHash,
        (BegunSession { user, role }, groups): (BegunSession, Option<LoginGroups>),
        (expires_s, now_s): (u64, u64),
        replaces: Option<&Session>,
    ) -> Result<Option<Session>, SessionError> {
        let session = self.live_session(
            (hash, CameBy::Cookie),
            (user, role, groups),
            (expires_s, IDLE_S, now_s),
            &self.all_ended,
        );
        let ended = self.locked(|live| {
            // A change of the account may have been faster.
            let ended = live.ended.contains_key(&hash);
            if !ended {
                live.sessions.insert(hash, session.clone());
            }
            ended
        });
        if ended {
            return Ok(None);
        }
        if let Some(old) = replaces {
            self.logout(old).await?;
        }
        Ok(Some(session))
    }

    /// Somebody who asks without a session of this console, for `lasts_s` more seconds, until `ended`.
    pub(super) fn without_cookie(
        &self,
        (hash, by): (TokenHash, CameBy),
        whose: Whose,
        (lasts_s, ended): (u64, &CancellationToken),
    ) -> Session {
        let now_s = self.clock.now_s();
        self.live_session((hash, by), whose, (now_s.saturating_add(lasts_s), u64::MAX, now_s), ended)
    }

    /// Ends sessions that the store has forgotten: their cookies are worth nothing any more and their streams end.
    pub(crate) fn end_all(&self, sessions: &[EndedSession], why: SessionEnd) {
        for EndedSession { hash, expires_s } in sessions {
            let session = self.locked(|live| {
                live.ended.insert(*hash, EndedHere { expires_s: *expires_s, why: Some(why) });
                live.sessions.remove(hash)
            });
            if let Some(session) = session {
                session.inner.ended.cancel();
            }
        }
    }

    /// Why the session of this cookie ended; none if it has not, or its owner knows.
    pub(super) fn why_ended(&self, cookie: &str) -> Option<SessionEnd> {
        let hash = TokenHash::of(cookie.as_bytes());
        self.locked(|live| live.ended.get(&hash).and_then(|ended| ended.why))
    }

    /// Now, by the clock of sessions.
    pub(crate) fn now_s(&self) -> u64 {
        self.clock.now_s()
    }

    /// The session with this cookie, if it has not ended; notes that it was used.
    ///
    /// # Errors
    /// The store's.
    pub async fn find(&self, cookie: &str) -> Result<Option<Session>, SessionError> {
        if cookie.len() != TOKEN_BYTES * 2 {
            return Ok(None);
        }
        let hash = TokenHash::of(cookie.as_bytes());
        let now_s = self.clock.now_s();
        let known = self.locked(|live| live.sessions.get(&hash).cloned());
        let session = match known {
            Some(session) => session,
            None => match self.store.session(hash, now_s).await? {
                Some(stored) => self.adopt(&stored),
                None => return Ok(None),
            },
        };
        if !session.is_live() {
            return Ok(None);
        }
        session.inner.last_used_s.fetch_max(now_s, Ordering::Relaxed);
        Ok(Some(session))
    }

    /// Ends a session: its cookie is worth nothing any more and its streams end.
    ///
    /// # Errors
    /// The store's; the session has ended in this process all the same.
    pub async fn logout(&self, session: &Session) -> Result<(), SessionError> {
        self.end_of(session, None).await
    }

    /// As [`Sessions::logout`], for a reason that its owner is told.
    ///
    /// # Errors
    /// As [`Sessions::logout`].
    pub(super) async fn end_of(&self, session: &Session, why: Option<SessionEnd>) -> Result<(), SessionError> {
        self.forget(session, why);
        self.store.delete_session(session.inner.hash).await?;
        Ok(())
    }

    /// Writes uses and removes ended sessions, once a minute, until the console stops.
    pub async fn keep(self) {
        loop {
            tokio::select! {
                () = self.all_ended.cancelled() => return,
                () = tokio::time::sleep(KEEP_EVERY) => {}
            }
            if let Err(error) = self.sweep().await {
                tracing::warn!(%error, "uses of sessions could not be written");
            }
        }
    }

    /// Writes uses that are not written yet and removes ended sessions.
    ///
    /// # Errors
    /// The store's.
    pub async fn sweep(&self) -> Result<(), SessionError> {
        let now_s = self.clock.now_s();
        let all: Vec<Session> = self.locked(|live| {
            live.ended.retain(|_hash, ended| ended.expires_s > now_s);
            live.sessions.values().cloned().collect()
        });
        for session in all {
            if session.is_over(now_s) {
                self.forget(&session, None);
                continue;
            }
            let used_s = session.inner.last_used_s.load(Ordering::Relaxed);
            if used_s > session.inner.written_s.load(Ordering::Relaxed) {
                self.store.touch_session(session.inner.hash, used_s).await?;
                session.inner.written_s.store(used_s, Ordering::Relaxed);
            }
        }
        self.store.purge_sessions(now_s).await?;
        Ok(())
    }

    fn forget(&self, session: &Session, why: Option<SessionEnd>) {
        self.locked(|live| {
            live.sessions.remove(&session.inner.hash);
            live.ended.insert(session.inner.hash, EndedHere { expires_s: session.inner.expires_s, why });
        });
        session.inner.ended.cancel();
    }

    /// Puts a session from the store beside the live ones, unless it has ended or another request was faster.
    fn adopt(&self, stored: &bathyscope_store::Session) -> Session {
        let times = (stored.expires_s, stored.idle_limit_s, stored.last_used_s);
        let is_of_provider = |(issuer, _): &&(String, LoginGroups)| self.issuer.as_deref() == Some(issuer);
        let groups = stored.groups.as_ref().filter(is_of_provider).map(|(_, groups)| groups.clone());
        let whose = (stored.user.clone(), stored.role, groups);
        let session = self.live_session((stored.hash, CameBy::Cookie), whose, times, &self.all_ended);
        self.locked(|live| {
            if live.ended.contains_key(&stored.hash) {
                session.inner.ended.cancel();
                return session;
            }
            live.sessions.entry(stored.hash).or_insert(session).clone()
        })
    }

    fn live_session(
        &self,
        (hash, by): (TokenHash, CameBy),
        (user, role, groups): Whose,
        (expires_s, idle_limit_s, used_s): (u64, u64, u64),
        until: &CancellationToken,
    ) -> Session {
        let (last_used_s, written_s) = (AtomicU64::new(used_s), AtomicU64::new(used_s));
        let (ended, clock) = (until.child_token(), self.clock.clone());
        let inner = SharedSession {
            hash,
            by,
            user,
            role,
            groups,
            expires_s,
            idle_limit_s,
            last_used_s,
            written_s,
            ended,
            clock,
        };
        Session { inner: Arc::new(inner) }
    }

    fn locked<T>(&self, with: impl FnOnce(&mut Live) -> T) -> T {
        with(&mut self.live.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A new token, and what is kept of it.
///
/// # Errors
/// If there is no randomness.
pub(crate) fn new_secret() -> Result<(Secret, TokenHash), SessionError> {
    secret_after("")
}

/// A new token that begins with `prefix`, and what is kept of it.
///
/// # Errors
/// If there is no randomness.
pub(super) fn secret_after(prefix: &str) -> Result<(Secret, TokenHash), SessionError> {
    let mut random = [0_u8; TOKEN_BYTES];
    getrandom::fill(&mut random).map_err(SessionError::Random)?;
    let text = format!("{prefix}{}", hex(&random));
    let hash = TokenHash::of(text.as_bytes());
    Ok((Secret(text), hash))
}
