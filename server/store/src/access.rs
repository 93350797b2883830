//! Who may come in: roles, hashes of tokens, sessions, and the audit log's entries.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::LoginGroups;

/// What a person may do; each role includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Reads captures.
    Viewer,
    /// Also makes captures, and changes, stops and deletes the own ones.
    Operator,
    /// Also changes, stops and deletes the captures of others.
    Admin,
}

impl Role {
    /// The name that is kept and shown: `viewer`, `operator` or `admin`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Viewer => "viewer",
            Self::Operator => "operator",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text does not name a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a role is viewer, operator or admin")]
pub struct ParseRoleError;

impl FromStr for Role {
    type Err = ParseRoleError;

    fn from_str(text: &str) -> Result<Self, ParseRoleError> {
        let all = [Self::Viewer, Self::Operator, Self::Admin];
        all.into_iter().find(|role| role.as_str() == text).ok_or(ParseRoleError)
    }
}

/// The SHA-256 of a token. The store never sees the token itself: whoever reads the database cannot log in with it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenHash([u8; 32]);

impl TokenHash {
    /// The hash of a token of at least 128 random bits; no salt, because such a token cannot be guessed from its hash.
    pub fn of(token: &[u8]) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Names what has this hash in lists: the first 8 bytes in base sixteen, which are of no use for anything else.
    pub fn short(&self) -> String {
        self.0.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
    }

    pub(crate) const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Debug for TokenHash {
    /// Only the first bytes: enough to tell two apart in a log, of no use for anything else.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, ..] = self.0;
        write!(f, "TokenHash({a:02x}{b:02x}{c:02x}…)")
    }
}

/// A session to be kept. Seconds are of the caller's session clock, see [`crate::Store::begin_session_epoch`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewSession {
    /// The hash of the cookie's value.
    pub hash: TokenHash,
    /// What its owner may do.
    pub role: Role,
    /// The name that captures and the audit log carry for its owner, at most 64 bytes.
    pub user: String,
    /// When it was made.
    pub created_s: u64,
    /// When it ends however often it is used.
    pub expires_s: u64,
    /// After how many seconds without use it ends.
    pub idle_limit_s: u64,
}

/// A session that is neither expired nor idle for too long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    /// The hash of the cookie's value.
    pub hash: TokenHash,
    /// What its owner may do.
    pub role: Role,
    /// Its owner's name.
    pub user: String,
    /// When it was made.
    pub created_s: u64,
    /// When it was last used, as [`crate::Store::touch_session`] was told.
    pub last_used_s: u64,
    /// When it ends however often it is used.
    pub expires_s: u64,
    /// After how many seconds without use it ends.
    pub idle_limit_s: u64,
    /// The groups that a provider said of its owner at the login, with the provider's issuer; none if there are none, or where
    /// sessions are listed.
    pub groups: Option<(String, LoginGroups)>,
}

/// A token that lets somebody in once. Seconds are of the caller's session clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoginToken {
    /// The hash of the token.
    pub hash: TokenHash,
    /// The name that captures and the audit log carry for whoever uses it, at most 64 bytes.
    pub user: String,
    /// What its user may do.
    pub role: Role,
    /// Until when it can be used.
    pub expires_s: u64,
    /// When the session ends that it begins, however often that is used.
    pub session_expires_s: u64,
}

/// Something that a person did, for the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditEntry {
    /// When, nanoseconds since 1970 by the wall clock: a label, never compared.
    pub time_unix_ns: i64,
    /// Who: the session's user name.
    pub user: String,
    /// As what.
    pub role: Role,
    /// What was done, such as `capture.start`.
    pub action: String,
    /// To what, such as a capture's id; may be empty.
    pub object: String,
    /// More, such as the spec's hash or why it was refused; may be empty. At most 4 KiB are kept.
    pub detail: String,
}

/// An entry of the audit log with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRecord {
    /// Counts up from 1 without gaps.
    pub number: u64,
    /// The entry.
    pub entry: AuditEntry,
}
