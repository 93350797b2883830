//! Passwords: what they must be, and what is kept of them.
//!
//! What is kept is argon2id as a PHC string, which has its parameters and salt in it. One hash takes 19 MiB and some tens of
//! milliseconds of a CPU, so at most [`AT_ONCE`] are computed at a time, on threads that nothing else waits for: the host that the
//! console runs on has other work. Where there is nothing to compare with, a hash is computed all the same, so that how long it takes
//! tells nothing (P06).

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use argon2::{
    Algorithm, Argon2, Params, PasswordHasher as _, PasswordVerifier as _, Version, password_hash::phc::PasswordHash,
};
use bathyscope_store::KeptPassword;
use tokio::sync::Semaphore;

/// The least number of characters.
pub const LEAST_CHARS: usize = 12;
/// The largest number of characters.
pub const MOST_CHARS: usize = 256;
/// Hashes that are computed at a time.
const AT_ONCE: usize = 2;
/// How long one waits for its turn.
const PATIENCE: Duration = Duration::from_secs(10);
const MEMORY_KIB: u32 = 19 * 1024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
const SALT_BYTES: usize = 16;
/// What is compared with where there is no password: a hash, with today's parameters, of what nobody knows.
const NOBODYS: &str =
    "$argon2id$v=19$m=19456,t=2,p=1$1yHtqcvPVgTNrJvzaWl2cw$0CH5pF1ZQvC2gq4mUEGgOy5oTHaRhqXEzQb0n2kDk8I";

/// Why no password was computed with.
#[derive(Debug, thiserror::Error)]
pub enum PasswordError {
    /// Others wait too.
    #[error("too many people log in at the same time")]
    Busy,
    /// The kernel gave no randomness.
    #[error("no random bytes for a salt")]
    Random(#[source] getrandom::Error),
    /// It cannot be computed.
    #[error("a password cannot be hashed: {0}")]
    Hash(String),
}

/// Why a password is not taken, in words; none if it is.
pub fn refusal(password: &str, name: &str) -> Option<String> {
    match password.chars().count() {
        0..LEAST_CHARS => Some(format!("it has fewer than {LEAST_CHARS} characters")),
        _ if password.trim().is_empty() => Some("it has nothing but blanks".to_owned()),
        LEAST_CHARS..=MOST_CHARS if password.trim().eq_ignore_ascii_case(name) => Some("it is the name".to_owned()),
        LEAST_CHARS..=MOST_CHARS => None,
        _ => Some(format!("it has more than {MOST_CHARS} characters")),
    }
}

/// Computes what is kept of passwords. Cheap to clone; all clones take turns.
#[derive(Clone, Debug)]
pub(crate) struct Passwords {
    turns: Arc<Semaphore>,
    patience: Duration,
    computed: Arc<AtomicU64>,
}

impl Default for Passwords {
    fn default() -> Self {
        Self { turns: Arc::new(Semaphore::new(AT_ONCE)), patience: PATIENCE, computed: Arc::default() }
    }
}

impl Passwords {
    /// What is kept of a password.
    ///
    /// # Errors
    /// If it is nobody's turn for long, there is no randomness, or it cannot be computed.
    pub(crate) async fn keep(&self, password: String) -> Result<KeptPassword, PasswordError> {
        let mut salt = [0_u8; SALT_BYTES];
        getrandom::fill(&mut salt).map_err(PasswordError::Random)?;
        self.compute(move || {
            let params = Params::new(MEMORY_KIB, PASSES, LANES, None).map_err(failed)?;
            let hash = Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
                .hash_password_with_salt(password.as_bytes(), &salt)
                .map_err(failed)?;
            Ok(KeptPassword(hash.to_string()))
        })
        .await
    }

    /// Whether a password is the one that `kept` is of; never if there is none, which takes as long.
    ///
    /// # Errors
    /// As [`Passwords::keep`].
    pub(crate) async fn fits(&self, password: String, kept: Option<KeptPassword>) -> Result<bool, PasswordError> {
        self.compute(move || {
            let hash = kept.as_ref().map_or(NOBODYS, |kept| kept.0.as_str());
            let hash = PasswordHash::new(hash).map_err(failed)?;
            // Compared in constant time.
            let fits = Argon2::default().verify_password(password.as_bytes(), &hash).is_ok();
            Ok(fits && kept.is_some())
        })
        .await
    }

    /// How many hashes were computed.
    pub(crate) fn computed(&self) -> u64 {
        self.computed.load(Ordering::Relaxed)
    }

    /// Runs `work` when it is its turn, on a thread of its own.
    async fn compute<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, PasswordError> + Send + 'static,
    ) -> Result<T, PasswordError> {
        let waiting = tokio::time::timeout(self.patience, Arc::clone(&self.turns).acquire_owned());
        let Ok(Ok(turn)) = waiting.await else { return Err(PasswordError::Busy) };
        self.computed.fetch_add(1, Ordering::Relaxed);
        let computed = tokio::task::spawn_blocking(move || {
            // Until it is done, also where nobody waits for it any more.
            let _turn = turn;
            work()
        });
        computed.await.map_err(|error| PasswordError::Hash(error.to_string()))?
    }
}

fn failed(error: impl std::fmt::Display) -> PasswordError {
    PasswordError::Hash(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_bounded_in_characters_and_is_not_the_name() {
        for (password, name, taken) in [
            ("", "alice", false),
            ("elevenchars", "alice", false),
            ("twelve chars", "alice", true),
            // In characters, not in bytes.
            ("éééééééééééé", "alice", true),
            ("ééééééééééé", "alice", false),
            ("alice@example.org", "alice@example.org", false),
            (" Alice@Example.org ", "alice@example.org", false),
            ("aaaaaaaaaaaa", "alice", true),
            ("            ", "alice", false),
            (&"ü".repeat(256), "alice", true),
            (&"x".repeat(257), "alice", false),
        ] {
            assert_eq!(refusal(password, name).is_none(), taken, "{password:.20}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn only_the_password_itself_fits_what_is_kept_of_it() {
        let passwords = Passwords::default();
        let kept = passwords.keep("correct horse".to_owned()).await.unwrap();
        let again = passwords.keep("correct horse".to_owned()).await.unwrap();
        assert_ne!(kept, again, "each has a salt of its own");
        assert!(kept.0.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{}", kept.0);
        let fits = async |password: &str, kept: Option<&KeptPassword>| {
            passwords.fits(password.to_owned(), kept.cloned()).await.unwrap()
        };
        assert!(fits("correct horse", Some(&kept)).await && fits("correct horse", Some(&again)).await);
        for wrong in ["correct horse ", "Correct horse", "", &"x".repeat(5000)] {
            assert!(!fits(wrong, Some(&kept)).await, "{wrong:.20}");
        }
        assert!(!fits("correct horse", None).await && !fits("", None).await);
        // What is compared with instead costs the same.
        let params = |hash: &str| hash.split('$').nth(3).map(str::to_owned);
        assert_eq!(params(NOBODYS), params(&kept.0));
        assert_eq!(NOBODYS.len(), kept.0.len());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn p06_hashes_wait_for_their_turn_and_not_for_ever() {
        let passwords = Passwords { patience: Duration::from_millis(20), ..Passwords::default() };
        let held: Vec<_> = (0..AT_ONCE).map(|_| Arc::clone(&passwords.turns).try_acquire_owned().unwrap()).collect();
        assert!(matches!(passwords.keep("x".to_owned()).await, Err(PasswordError::Busy)));
        drop(held);
        assert!(passwords.keep("x".to_owned()).await.is_ok());
        assert_eq!(passwords.turns.available_permits(), AT_ONCE, "turns are given back");
    }
}
