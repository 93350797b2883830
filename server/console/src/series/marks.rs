//! Marked moments: what their text must be, and what is told of them.

use bathyscope_capture::{hidden_character, shown};
use bathyscope_store::{MarkRecord, NewMark};
use serde::{Deserialize, Serialize};

/// The longest text.
const MAX_TEXT_BYTES: usize = 256;
/// The longest address.
const MAX_LINK_BYTES: usize = 1024;
/// The longest name of a host.
const MAX_HOST_BYTES: usize = 256;
/// What an address begins with.
const SCHEMES: [&str; 2] = ["https://", "http://"];
/// No mark is later than that, which is in the year 2262.
const MAX_TIME_UNIX_NS: i64 = i64::MAX;

/// A mark that somebody asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AskedMark {
    /// What happened.
    pub text: String,
    /// The moment, wall time in nanoseconds since 1970; none for now.
    #[serde(default)]
    pub time_unix_ns: Option<i64>,
    /// The host that it is about; empty for all.
    #[serde(default)]
    pub host: String,
    /// An address where more is told; empty for none.
    #[serde(default)]
    pub link: String,
}

/// Why there is no such mark.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MarkError {
    /// It says nothing.
    #[error("a mark needs a text that says what happened")]
    Empty,
    /// Something of it is too long.
    #[error("{what} has {bytes} bytes; at most {most} are kept")]
    TooLong {
        /// What.
        what: &'static str,
        /// How many it has.
        bytes: usize,
        /// How many it may have.
        most: usize,
    },
    /// A character that cannot be seen.
    #[error("{what} has {found}; write it without")]
    Hidden {
        /// What.
        what: &'static str,
        /// Which, in words.
        found: String,
    },
    /// The address leads somewhere else than to the web.
    #[error("the link must begin with https:// or http:// and name a host")]
    Link,
    /// The moment is none.
    #[error("the time must be nanoseconds since 1970, not before it")]
    Time,
}

/// The mark as it is kept.
///
/// # Errors
/// What makes it none.
pub fn checked_mark(asked: AskedMark, author: &str, now_unix_ns: i64) -> Result<NewMark, MarkError> {
    let AskedMark { text, time_unix_ns, host, link } = asked;
    let [text, host, link] = [text, host, link].map(|text| text.trim().to_owned());
    if text.is_empty() {
        return Err(MarkError::Empty);
    }
    for (what, text, most) in [
        ("the text of the mark", &text, MAX_TEXT_BYTES),
        ("the host of the mark", &host, MAX_HOST_BYTES),
        ("the link of the mark", &link, MAX_LINK_BYTES),
    ] {
        if text.len() > most {
            return Err(MarkError::TooLong { what, bytes: text.len(), most });
        }
        if let Some(found) = text.chars().find(|c| c.is_control() || *c == '\n').or_else(|| hidden_character(text)) {
            return Err(MarkError::Hidden { what, found: format!("the character U+{:04X}", u32::from(found)) });
        }
    }
    let rest = SCHEMES.iter().find_map(|scheme| link.strip_prefix(scheme));
    let is_address = rest.is_some_and(|rest| rest.starts_with(|c: char| c.is_alphanumeric() || c == '['));
    if !link.is_empty() && (!is_address || link.contains(char::is_whitespace)) {
        return Err(MarkError::Link);
    }
    let time_unix_ns = time_unix_ns.unwrap_or(now_unix_ns);
    if !(0..=MAX_TIME_UNIX_NS).contains(&time_unix_ns) {
        return Err(MarkError::Time);
    }
    Ok(NewMark { time_unix_ns, host, text, link, author: author.to_owned(), created_unix_ns: now_unix_ns })
}

/// A mark, as it is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MarkItem {
    /// Its number.
    pub id: i64,
    /// The moment, wall time in nanoseconds since 1970.
    pub time_unix_ns: i64,
    /// The host that it is about; empty for all.
    pub host: String,
    /// What happened.
    pub text: String,
    /// An address where more is told; empty for none.
    pub link: String,
    /// Who marked it.
    pub author: String,
}

impl From<MarkRecord> for MarkItem {
    fn from(MarkRecord { id, mark }: MarkRecord) -> Self {
        let NewMark { time_unix_ns, host, text, link, author, .. } = mark;
        Self { id, time_unix_ns, host: shown(&host), text: shown(&text), link: shown(&link), author: shown(&author) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_say_what_happened_and_lead_to_the_web_only() {
        let mark = |text: &str, link: &str, time| {
            let asked =
                AskedMark { text: text.to_owned(), link: link.to_owned(), time_unix_ns: time, host: String::new() };
            checked_mark(asked, "ci", 7)
        };
        let good = mark(" shop 2.1 <b> ", "https://ci.example/7?a=b", None).map(|mark| (mark.text, mark.time_unix_ns));
        assert_eq!(good, Ok(("shop 2.1 <b>".to_owned(), 7)));
        assert!(mark("x", "http://[::1]:80/", Some(1)).is_ok() && mark("x", "", Some(1)).is_ok());
        for link in
            ["javascript:alert(1)", "data:text/html,x", "//host/x", "https://", "https:///x", "ftp://x", "https://a b"]
        {
            assert_eq!(mark("x", link, None), Err(MarkError::Link), "{link}");
        }
        assert_eq!(mark("  ", "", None), Err(MarkError::Empty));
        assert_eq!(mark("x", "", Some(-1)), Err(MarkError::Time));
        for text in ["a\u{1b}[2Kb", "a\nb", "a\u{202e}b"] {
            assert!(matches!(mark(text, "", None), Err(MarkError::Hidden { .. })), "{text:?}");
        }
        assert!(matches!(mark(&"x".repeat(257), "", None), Err(MarkError::TooLong { .. })));
    }
}
