//! What a share does not tell of a capture: arguments, paths, names, addresses.
//!
//! What is removed is removed from what views read ([`crate::CaptureView::without`]) and not from what they answer, so no view,
//! picture or export has to know of it, and none can forget it: filters, searches and groups see placeholders too, and a filter that
//! names what was removed finds nothing. A placeholder is made of the value with a key that only the console has: the same value has
//! the same placeholder wherever it stands, and nobody who guesses a value can try it.
//!
//! What is not known is removed ([`columns`]): a text that may be anything goes whatever was chosen.

mod columns;
mod head;
mod pages;
mod view;

use std::{fmt, str::FromStr};

use clap::ValueEnum;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

pub(crate) use self::{
    pages::{RemovedPages, TextSpan},
    view::RemovedView,
};

/// The length of the key of a [`Removal`].
pub const REMOVAL_KEY_BYTES: usize = 16;
/// Letters of placeholders: none that is taken for another.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";
/// How many of them one has.
const LETTERS_OF_ONE: usize = 8;

/// Something that a share does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RemovedKind {
    /// Data of programs: arguments of system calls and probes, command lines, what scripts printed
    Arguments,
    /// Paths and names of files, of executables and libraries too
    Paths,
    /// Names of processes, threads, users, groups, containers and hosts
    Names,
    /// Addresses of networks and of memory, and ports
    Addresses,
}

impl RemovedKind {
    /// All, in order.
    pub const ALL: [Self; 4] = [Self::Arguments, Self::Paths, Self::Names, Self::Addresses];

    /// Its word, in requests and in the database.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Arguments => "arguments",
            Self::Paths => "paths",
            Self::Names => "names",
            Self::Addresses => "addresses",
        }
    }

    /// What stands before the letters of its placeholders.
    const fn one(self) -> &'static str {
        match self {
            Self::Arguments => "argument",
            Self::Paths => "path",
            Self::Names => "name",
            Self::Addresses => "address",
        }
    }
}

impl fmt::Display for RemovedKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// What is no [`RemovedKind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseRemovedKindError;

impl fmt::Display for ParseRemovedKindError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("what can be removed is arguments, paths, names, addresses")
    }
}

impl std::error::Error for ParseRemovedKindError {}

impl FromStr for RemovedKind {
    type Err = ParseRemovedKindError;

    fn from_str(text: &str) -> Result<Self, ParseRemovedKindError> {
        Self::ALL.into_iter().find(|kind| kind.word() == text).ok_or(ParseRemovedKindError)
    }
}

/// What is removed from a capture, and by which key placeholders are made.
#[derive(Clone, PartialEq, Eq)]
pub struct Removal {
    kinds: Vec<RemovedKind>,
    key: [u8; REMOVAL_KEY_BYTES],
    title: String,
}

impl fmt::Debug for Removal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Removal").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

impl Removal {
    /// None if nothing is removed. The key is random and secret; a capture is called `title`, whatever people had called it.
    pub fn new(kinds: &[RemovedKind], key: [u8; REMOVAL_KEY_BYTES], title: impl Into<String>) -> Option<Self> {
        let mut kinds = kinds.to_vec();
        kinds.sort_unstable();
        kinds.dedup();
        (!kinds.is_empty()).then(|| Self { kinds, key, title: title.into() })
    }

    /// Whether this is removed.
    pub fn removes(&self, kind: RemovedKind) -> bool {
        self.kinds.contains(&kind)
    }

    /// What a capture is called.
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What stands in the place of a text; an empty one stays.
    pub fn text(&self, kind: RemovedKind, text: &[u8]) -> String {
        if text.is_empty() {
            return String::new();
        }
        let bits = self.digest(kind.one().as_bytes(), text);
        let letter =
            |at: usize| LETTERS.get((bits >> (5 * at)) as usize & 31).map_or('a', |letter| char::from(*letter));
        let letters: String = (0..LETTERS_OF_ONE).map(letter).collect();
        format!("{}-{letters}", kind.one())
    }

    /// What stands in the place of a number, below 2^32; 0 stays.
    pub fn number(&self, value: u64) -> u64 {
        if value == 0 { 0 } else { (self.digest(b"number", &value.to_le_bytes()) & 0xffff_ffff).max(1) }
    }

    /// A name as it is but for what looks like a path or an address in it, where these are removed: names of events, streams and
    /// functions, which compilers at run time make of paths.
    pub fn name(&self, text: &str) -> String {
        let replaced = |word: &str| {
            let kind = if self.removes(RemovedKind::Paths) && has_path(word) {
                RemovedKind::Paths
            } else if self.removes(RemovedKind::Addresses) && has_address(word) {
                RemovedKind::Addresses
            } else {
                return word.to_owned();
            };
            self.text(kind, word.as_bytes())
        };
        let mut words = text.split(' ');
        let first = words.next().map(replaced).unwrap_or_default();
        words.fold(first, |all, word| all + " " + &replaced(word))
    }

    fn digest(&self, what: &[u8], value: &[u8]) -> u64 {
        let mut digest = Sha256::new();
        digest.update(self.key);
        digest.update([u8::try_from(what.len()).unwrap_or(0)]);
        digest.update(what);
        digest.update(value);
        let digest = digest.finalize();
        digest.iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
    }
}

/// Whether a word is a path, or has one in it: not the slashes of Go's packages and of events of the CPU.
fn has_path(word: &str) -> bool {
    const BEFORE: &[char] = &[':', '=', '(', '"', '\'', '[', '<', ',', '.', '~', '*', '@'];
    let begins =
        |(at, _): (usize, &str)| word.get(..at).is_some_and(|before| before.is_empty() || before.ends_with(BEFORE));
    // `src/a.js:12:3`
    let ends_in_line = || {
        let (name, line) = word.rsplit_once(':').unwrap_or((word, ""));
        let file = name.rsplit_once('/').map_or("", |(_, file)| file);
        file.contains('.') && !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
    };
    word.match_indices('/').any(begins) || ends_in_line()
}

/// Whether a word has an address of memory in it.
fn has_address(word: &str) -> bool {
    const LEAST_DIGITS: usize = 7;
    word.match_indices("0x").any(|(at, _)| {
        let digits = word.get(at + 2..).unwrap_or("").bytes().take_while(u8::is_ascii_hexdigit).count();
        digits >= LEAST_DIGITS
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn removal(kinds: &[RemovedKind], key: u8) -> Removal {
        Removal::new(kinds, [key; REMOVAL_KEY_BYTES], "t").unwrap()
    }

    #[test]
    fn a_value_has_one_placeholder_that_only_the_key_makes() {
        let (one, other) = (removal(&RemovedKind::ALL, 1), removal(&RemovedKind::ALL, 2));
        let path = one.text(RemovedKind::Paths, b"/etc/shadow");
        assert!(path.starts_with("path-") && path.len() == 13, "{path}");
        assert_eq!(path, one.text(RemovedKind::Paths, b"/etc/shadow"));
        assert_ne!(path, one.text(RemovedKind::Paths, b"/etc/shadow2"));
        assert_ne!(path, other.text(RemovedKind::Paths, b"/etc/shadow"));
        assert_eq!(one.text(RemovedKind::Names, b""), "");
        assert_eq!((one.number(0), one.number(5)), (0, one.number(5)));
        assert!(one.number(u64::MAX) <= u64::from(u32::MAX) && one.number(5) != other.number(5));
        assert!(!format!("{one:?}").contains('1'), "the key is not told");
        assert_eq!(Removal::new(&[], [0; REMOVAL_KEY_BYTES], ""), None);
    }

    #[test]
    fn names_keep_what_is_no_path_and_no_address() {
        let both = removal(&[RemovedKind::Paths, RemovedKind::Addresses], 1);
        for text in [
            "sched:sched_switch",
            "cpu/mem-loads/P",
            "github.com/user/repo/pkg.Func",
            "std::vector<int>::push_back",
            "operator/",
            "printf:12",
            "kworker/0:1",
            "0x1f0",
            "do_idle",
            "",
            " a  b ",
        ] {
            assert_eq!(both.name(text), text);
        }
        for text in [
            "/usr/bin/secret",
            "LazyCompile:*secret /srv/secret.js:10:5",
            "Function:~f file:///srv/secret.mjs",
            "secret/index.js:12",
            "uprobe:/usr/lib/secret.so:f",
            "p:x ./secret:3",
            "mem:0xffffffff81secret",
            "0xffffffff81000000secret",
        ] {
            assert!(!both.name(text).contains("secret.") && both.name(text) != text, "{text}: {}", both.name(text));
        }
        let names = removal(&[RemovedKind::Names], 1);
        assert_eq!(names.name("/usr/bin/x 0xffffffff81000000"), "/usr/bin/x 0xffffffff81000000");
    }

    #[test]
    fn words_come_back() {
        for kind in RemovedKind::ALL {
            assert_eq!(kind.word().parse(), Ok(kind));
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{kind}\""));
        }
        assert_eq!("path".parse::<RemovedKind>(), Err(ParseRemovedKindError));
    }
}
