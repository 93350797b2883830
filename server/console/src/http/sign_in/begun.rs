//! What a browser keeps while somebody logs in at the provider: a cookie with one secret, the time when it is over, and the page that was
//! wanted. State, nonce and the verifier of PKCE follow from the secret, so that the console keeps nothing of logins that are begun and
//! nobody can fill its memory with them.
//!
//! The cookie is as strict as the session's: what comes back from the provider is a page of this console, which posts what it was given.

use sha2::{Digest as _, Sha256};

use openidconnect::url::form_urlencoded;

use super::super::session::{SessionError, new_secret};
use crate::hex::hex;

/// How long somebody may take at the provider.
const LASTS_S: u64 = 600;
/// The longest address of a page that is kept over it: a cookie has room for 4096 bytes.
pub(super) const MAX_NEXT_BYTES: usize = 1024;

/// A login that was begun.
#[derive(Debug)]
pub(super) struct BegunLogin {
    secret: String,
    expires_s: u64,
    /// The page that was wanted; empty for the start page.
    pub(super) next: String,
}

impl BegunLogin {
    /// Begins one now, by the seconds of sessions.
    pub(super) fn new(next: &str, now_s: u64) -> Result<Self, SessionError> {
        let (secret, _hash) = new_secret()?;
        let expires_s = now_s.saturating_add(LASTS_S);
        Ok(Self { secret: secret.reveal().to_owned(), expires_s, next: next.to_owned() })
    }

    /// What stands in the cookie.
    pub(super) fn to_cookie(&self) -> String {
        let next: String = form_urlencoded::byte_serialize(self.next.as_bytes()).collect();
        format!("{}.{}.{next}", self.expires_s, self.secret)
    }

    /// What a cookie has; none if it is over or is none.
    pub(super) fn of_cookie(text: &str, now_s: u64) -> Option<Self> {
        let (expires_s, rest) = text.split_once('.')?;
        let (secret, next) = rest.split_once('.')?;
        let expires_s: u64 = expires_s.parse().ok()?;
        let is_secret = secret.len() == 64 && secret.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !is_secret || now_s >= expires_s || expires_s - now_s > LASTS_S {
            return None;
        }
        let (next, _empty) = form_urlencoded::parse(next.as_bytes()).next().unwrap_or_default();
        Some(Self { secret: secret.to_owned(), expires_s, next: next.into_owned() })
    }

    fn derived(&self, what: &str) -> String {
        hex(&Sha256::digest(format!("{what} {}", self.secret)))
    }

    /// What the provider gives back as it is.
    pub(super) fn state(&self) -> String {
        self.derived("state")
    }

    /// What stands in the token that it issues for this login.
    pub(super) fn nonce(&self) -> String {
        self.derived("nonce")
    }

    /// By whose digest the provider knows who may exchange the code.
    pub(super) fn verifier(&self) -> String {
        self.derived("verifier")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_read_as_it_was_written_until_it_is_over() {
        let begun = BegunLogin::new("/captures?q=a%20b;c&d=\"é\"", 100).unwrap();
        let cookie = begun.to_cookie();
        assert!(cookie.bytes().all(|byte| byte.is_ascii_graphic() && !b"\",;\\".contains(&byte)), "{cookie}");
        let read = BegunLogin::of_cookie(&cookie, 699).unwrap();
        assert_eq!((read.next.as_str(), read.state()), (begun.next.as_str(), begun.state()));
        assert!(BegunLogin::of_cookie(&cookie, 700).is_none());
        assert_eq!(BegunLogin::of_cookie(&BegunLogin::new("", 0).unwrap().to_cookie(), 0).unwrap().next, "");
        for wrong in ["", ".", "..", "1.2.3", "700.zz.", &cookie.replace("700.", "9000."), &cookie[..40]] {
            assert!(BegunLogin::of_cookie(wrong, 100).is_none(), "{wrong}");
        }
    }

    #[test]
    fn what_is_sent_tells_nothing_of_the_rest() {
        let begun = BegunLogin::new("/", 0).unwrap();
        let all = [begun.state(), begun.nonce(), begun.verifier(), begun.secret.clone()];
        for (at, one) in all.iter().enumerate() {
            assert_eq!(one.len(), 64);
            assert!(all[at + 1..].iter().all(|other| other != one));
        }
        let other = BegunLogin::new("/", 0).unwrap();
        assert_ne!(begun.state(), other.state());
    }
}
