//! Tokens with which programs ask for people who have an account: `Authorization: Bearer bathyscope_…`.
//!
//! A token has 256 random bits and is kept only as SHA-256. It may do what its owner chose, but never more than the account may now,
//! and nothing while that is disabled; it manages nobody's access ([`super::access::InPerson`]). Each request looks it up, so a change
//! counts at once; streams end because whoever changes an account or revokes a token ends them here.
//!
//! When one was last used is kept in memory and written once a minute by [`ApiTokens::sweep`], because a GET must not change the
//! database (P04).

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{ApiTokenRecord, ApiTokenUse, NewApiToken, Role, Store, StoreError, TokenHash};
use serde::{Deserialize, Serialize};
use tokio_util::sync::CancellationToken;

use super::session::{CameBy, Secret, Session, SessionError, Sessions, TOKEN_BYTES, secret_after};

/// What every token begins with, so that it is known where it lies about.
pub(super) const TOKEN_PREFIX: &str = "bathyscope_";
/// How long a token lives if nothing is said.
pub const TOKEN_DAYS: u32 = 90;
/// The longest that one lives.
pub const MOST_TOKEN_DAYS: u32 = 366;
/// The longest name of one, in bytes.
const TOKEN_NAME_BYTES: usize = 64;
const DAY_NS: i64 = 24 * 3600 * 1_000_000_000;

/// A token in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiTokenItem {
    /// By which it is revoked; it is of no use for anything else.
    pub id: String,
    /// Whose it is.
    pub owner: String,
    /// What its owner calls it.
    pub name: String,
    /// What it may do now: never more than its owner.
    pub role: Role,
    /// Whether its owner's account is enabled: else it is of no use.
    pub enabled: bool,
    /// When it was made, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
    /// From when on it is of no use, likewise.
    pub expires_unix_ns: i64,
    /// When it was last used, likewise, to a minute; none if it never was.
    pub last_used_unix_ns: Option<i64>,
}

impl From<ApiTokenRecord> for ApiTokenItem {
    fn from(record: ApiTokenRecord) -> Self {
        let ApiTokenRecord { hash, owner, name, role, enabled, created_unix_ns, expires_unix_ns, last_used_unix_ns } =
            record;
        let (id, name) = (hash.short(), bathyscope_capture::shown(&name));
        Self { id, owner, name, role, enabled, created_unix_ns, expires_unix_ns, last_used_unix_ns }
    }
}

/// What somebody wants a token for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedToken {
    /// What it is called.
    pub name: String,
    /// What it may do at most; what its owner may if nothing is said.
    #[serde(default)]
    pub role: Option<Role>,
    /// How many days it lives; 90 if nothing is said.
    #[serde(default)]
    pub days: Option<u32>,
}

/// Why a token could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TokenError {
    /// It is not as it must be.
    #[error("{0}")]
    Refused(String),
    /// The kernel gave no randomness.
    #[error(transparent)]
    Secret(#[from] SessionError),
    /// The store failed, or refused it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// All tokens. Cheap to clone.
#[derive(Clone, Debug)]
pub struct ApiTokens {
    store: Store,
    sessions: Sessions,
    live: Arc<Mutex<LiveTokens>>,
    stop: CancellationToken,
}

#[derive(Debug, Default)]
struct LiveTokens {
    /// Of tokens that were used, cancelled when they are of no use any more.
    used: HashMap<TokenHash, UsedToken>,
    /// Uses that are not written yet.
    uses: HashMap<TokenHash, i64>,
}

#[derive(Debug)]
struct UsedToken {
    owner: String,
    expires_unix_ns: i64,
    ended: CancellationToken,
}

impl ApiTokens {
    /// The tokens that `store` keeps. What asks by them ends when `stop` is cancelled.
    pub(super) fn new(store: Store, sessions: Sessions, stop: &CancellationToken) -> Self {
        Self { store, sessions, live: Arc::default(), stop: stop.clone() }
    }

    /// Makes a token of `owner`, who may do what `may` says; gives its text, for the one who asked, and what it is.
    ///
    /// # Errors
    /// If it is refused, or the store's.
    pub(super) async fn make(
        &self,
        (owner, may): (&str, Role),
        asked: AskedToken,
    ) -> Result<(Secret, ApiTokenItem), TokenError> {
        let refused = |why: String| Err(TokenError::Refused(why));
        let AskedToken { name, role, days } = asked;
        let (name, role, days) = (name.trim().to_owned(), role.unwrap_or(may), days.unwrap_or(TOKEN_DAYS));
        if !(1..=TOKEN_NAME_BYTES).contains(&name.len()) || bathyscope_capture::shown(&name) != name {
            return refused(format!("its name has 1 to {TOKEN_NAME_BYTES} bytes that can be seen"));
        }
        if !(1..=MOST_TOKEN_DAYS).contains(&days) {
            return refused(format!("it lives for 1 to {MOST_TOKEN_DAYS} days, not {days}"));
        }
        if role > may {
            return refused(format!("{owner} is {may}, so it cannot be {role}"));
        }
        let (secret, hash) = secret_after(TOKEN_PREFIX)?;
        let created_unix_ns = wall_unix_ns();
        let expires_unix_ns = created_unix_ns.saturating_add(i64::from(days).saturating_mul(DAY_NS));
        let new = NewApiToken { hash, owner: owner.to_owned(), name, role, created_unix_ns, expires_unix_ns };
        self.store.add_api_token(new).await?;
        let made = self.store.api_token(hash, created_unix_ns).await?;
        match made {
            Some(record) => Ok((secret, record.into())),
            None => refused("it was revoked at once".to_owned()),
        }
    }

    /// Who asks by this token, which is used now; none if it is unknown, has expired or was revoked, or its owner's account is
    /// disabled.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn find(&self, token: &str) -> Result<Option<Session>, StoreError> {
        // What no token looks like is not looked up.
        let is_token = token.strip_prefix(TOKEN_PREFIX).is_some_and(|bits| bits.len() == TOKEN_BYTES * 2);
        if !is_token {
            return Ok(None);
        }
        let (hash, now) = (TokenHash::of(token.as_bytes()), wall_unix_ns());
        let usable = async || Ok::<_, StoreError>(self.store.api_token(hash, now).await?.filter(|token| token.enabled));
        let Some(mut record) = usable().await? else { return Ok(None) };
        let (ended, is_new) = self.used(&record, now);
        if is_new {
            // Whoever changed the account since it was looked at did not know that the token is used.
            match usable().await? {
                Some(again) => record = again,
                None => return Ok(None),
            }
        }
        let lasts_s = u64::try_from(record.expires_unix_ns.saturating_sub(now) / 1_000_000_000).unwrap_or(0);
        // A token has no login, so no groups of one either.
        let who = (record.owner, record.role, None);
        Ok(Some(self.sessions.without_cookie((hash, CameBy::Token), who, (lasts_s, &ended))))
    }

    /// Notes that a token is used; what is cancelled when it is of no use any more, and whether nobody knew that it is used.
    fn used(&self, record: &ApiTokenRecord, now: i64) -> (CancellationToken, bool) {
        self.locked(|live| {
            let last = live.uses.entry(record.hash).or_insert(now);
            *last = (*last).max(now);
            let is_new = !live.used.contains_key(&record.hash);
            let fresh = || UsedToken {
                owner: record.owner.clone(),
                expires_unix_ns: record.expires_unix_ns,
                ended: self.stop.child_token(),
            };
            (live.used.entry(record.hash).or_insert_with(fresh).ended.clone(), is_new)
        })
    }

    /// The tokens of `owner`, or all, that have not expired; the one that was made last first.
    ///
    /// # Errors
    /// The store's.
    pub async fn list(&self, owner: Option<&str>) -> Result<Vec<ApiTokenItem>, StoreError> {
        let mut records = self.store.api_tokens(owner, wall_unix_ns()).await?;
        self.locked(|live| {
            for record in &mut records {
                // What is not written yet.
                record.last_used_unix_ns = record.last_used_unix_ns.max(live.uses.get(&record.hash).copied());
            }
        });
        Ok(records.into_iter().map(ApiTokenItem::from).collect())
    }

    /// Revokes the token with this id if it is `owner`'s, or whosever it is if that is none: its next request is refused and its
    /// streams end. Gives what it was; none if there is no such one.
    ///
    /// # Errors
    /// The store's.
    pub(super) async fn revoke(&self, id: &str, owner: Option<&str>) -> Result<Option<ApiTokenItem>, StoreError> {
        let all = self.store.api_tokens(owner, wall_unix_ns()).await?;
        let Some(record) = all.into_iter().find(|record| record.hash.short() == id) else { return Ok(None) };
        let revoked = self.store.revoke_api_token(record.hash).await?;
        self.end(|hash, _used| *hash == record.hash);
        Ok(revoked.then(|| record.into()))
    }

    /// Ends what is open by tokens of an account that was changed. Those that are of use still come again.
    pub(super) fn end_of_owner(&self, owner: &str) {
        self.end(|_hash, used| used.owner.eq_ignore_ascii_case(owner));
    }

    fn end(&self, which: impl Fn(&TokenHash, &UsedToken) -> bool) {
        self.locked(|live| {
            for (_hash, used) in live.used.extract_if(|hash, used| which(hash, used)) {
                used.ended.cancel();
            }
        });
    }

    /// Writes uses that are not written yet and removes tokens that have expired.
    ///
    /// # Errors
    /// The store's.
    pub async fn sweep(&self) -> Result<(), StoreError> {
        let now = wall_unix_ns();
        let uses = self.locked(|live| std::mem::take(&mut live.uses));
        if !uses.is_empty() {
            let uses = uses.into_iter().map(|(hash, last_used_unix_ns)| ApiTokenUse { hash, last_used_unix_ns });
            self.store.note_api_token_uses(uses.collect()).await?;
        }
        self.end(|_hash, used| used.expires_unix_ns <= now);
        self.store.purge_api_tokens(now).await?;
        Ok(())
    }

    fn locked<T>(&self, with: impl FnOnce(&mut LiveTokens) -> T) -> T {
        with(&mut self.live.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
