//! Names that are searched while somebody types: hundreds of thousands of them, answered within milliseconds.
//!
//! All names of one kind lie one after the other in one block of bytes, and once more in lower case; an entry says where
//! one begins and what is known about it. A search looks for the longest word of the query, or the longest text without
//! wildcards of a pattern, in the whole block, and compares only the entries that hold it with the rest. Sets of the letters
//! that each name has reject most of the others, and answer words of one letter.
//!
//! A name may have two forms: what people read (`std::vector<int>::push_back`) and what the linker knows
//! (`_ZNSt6vectorIiSaIiEE9push_backEOi`). Both are found; which of them is shown is the caller's business.

mod build;
mod letters;
mod query;
mod search;

use letters::LetterSets;

pub use build::{NamesBuilder, NewName};
pub use query::{MAX_QUERY_BYTES, Query};
pub use search::{Hit, NameMatches, Searched, search};

/// The longest name, with both forms, in bytes.
pub const MAX_NAME_BYTES: usize = 32 << 10;
/// The most names of one list.
pub const MAX_NAMES: usize = 4 << 20;
/// The most bytes of all names of one list.
pub const MAX_NAMES_BYTES: usize = 1 << 30;

/// Between the two forms of a name. Neither byte occurs in UTF-8, so no query matches across them.
const BETWEEN_FORMS: u8 = 0xfe;
/// After each entry.
const AFTER_NAME: u8 = 0xff;

/// Where a name is and what is known about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct NameEntry {
    /// Where it begins in the block.
    start: u32,
    /// Bytes of the form that is read.
    shown: u16,
    /// Where in it its own name begins, behind `system:`.
    own_at: u16,
    /// Index in the groups; 0 is none.
    group: u32,
    flags: u32,
    value: u64,
}

/// A name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name<'a> {
    /// As people read it.
    pub text: &'a str,
    /// Bytes of `text` before its own name: `sched:` of `sched:sched_switch`.
    pub own_at: usize,
    /// As the linker knows it; the same as `text` where that is all there is.
    pub raw: &'a str,
    /// What it belongs to: a module, a file; none for the kernel itself.
    pub group: Option<&'a str>,
    /// What the caller has noted about it.
    pub flags: u32,
    /// A number that the caller has noted about it, such as where it is in its file.
    pub value: u64,
}

/// A list of names, in the order of their bytes. It does not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names {
    text: Vec<u8>,
    lower: Vec<u8>,
    entries: Vec<NameEntry>,
    /// One for each entry.
    letters: Vec<LetterSets>,
    /// The first is empty and stands for none.
    groups: Vec<Box<str>>,
    left_out: usize,
}

impl Names {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Names that were not taken because of a limit.
    pub fn left_out(&self) -> usize {
        self.left_out
    }

    /// Bytes of memory that it takes, about.
    pub fn memory_bytes(&self) -> usize {
        let groups: usize = self.groups.iter().map(|group| group.len() + size_of::<Box<str>>()).sum();
        self.text.len()
            + self.lower.len()
            + self.entries.len() * (size_of::<NameEntry>() + size_of::<LetterSets>())
            + groups
    }

    /// What names belong to, in no order.
    pub fn groups(&self) -> impl Iterator<Item = &str> {
        self.groups.iter().skip(1).map(AsRef::as_ref)
    }

    /// A name by its place in the order.
    pub fn get(&self, index: usize) -> Option<Name<'_>> {
        let entry = self.entries.get(index)?;
        let bytes = self.text.get(self.range(index)?)?;
        let shown = usize::from(entry.shown);
        // What was put in was text, and is cut where it was put together.
        let text = std::str::from_utf8(bytes.get(..shown)?).ok()?;
        let raw = bytes.get(shown + 1..).and_then(|raw| std::str::from_utf8(raw).ok()).unwrap_or(text);
        let group = self.groups.get(entry.group as usize).map(AsRef::as_ref).filter(|group: &&str| !group.is_empty());
        Some(Name { text, own_at: usize::from(entry.own_at), raw, group, flags: entry.flags, value: entry.value })
    }

    /// All names, in order.
    pub fn iter(&self) -> impl Iterator<Item = Name<'_>> {
        (0..self.len()).filter_map(|index| self.get(index))
    }

    /// The places of all names that read exactly so, or are known so to the linker.
    pub fn exactly<'a>(&'a self, text: &'a str) -> impl Iterator<Item = usize> {
        let is_it = move |index: &usize| self.get(*index).is_some_and(|name| name.text == text || name.raw == text);
        let first = self.entries.partition_point(|entry| self.shown_of(entry) < text.as_bytes());
        let same = self.entries.get(first..).unwrap_or_default();
        let count = same.partition_point(|entry| self.shown_of(entry) == text.as_bytes());
        let sorted = first..first + count;
        // Forms of the linker are in no order; only lists that have any are looked through.
        let others = if count == 0 && self.has_raw() { 0..self.len() } else { 0..0 };
        sorted.chain(others.filter(is_it))
    }

    fn has_raw(&self) -> bool {
        self.text.contains(&BETWEEN_FORMS)
    }

    fn shown_of(&self, entry: &NameEntry) -> &[u8] {
        let start = entry.start as usize;
        self.text.get(start..start + usize::from(entry.shown)).unwrap_or_default()
    }

    /// Where a name is in the block, both forms.
    fn range(&self, index: usize) -> Option<std::ops::Range<usize>> {
        let start = self.entries.get(index)?.start as usize;
        let next = self.entries.get(index + 1).map_or(self.text.len(), |next| next.start as usize);
        Some(start..next.checked_sub(1)?)
    }

    /// The number of a group by its name.
    fn group(&self, name: &str) -> Option<u32> {
        let at = self.groups.iter().skip(1).position(|group| group.as_ref() == name)? + 1;
        u32::try_from(at).ok()
    }
}
