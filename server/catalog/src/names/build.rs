//! Putting a list of names together.

use std::collections::HashMap;

use super::{AFTER_NAME, BETWEEN_FORMS, LetterSets, MAX_NAME_BYTES, MAX_NAMES, MAX_NAMES_BYTES, NameEntry, Names};

/// A name to add.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NewName<'a> {
    /// As people read it.
    pub text: &'a str,
    /// Bytes of it before its own name: those of `sched:` in `sched:sched_switch`.
    pub own_at: usize,
    /// As the linker knows it; empty if that is the same.
    pub raw: &'a str,
    /// What it belongs to; empty for nothing.
    pub group: &'a str,
    /// Notes of the caller.
    pub flags: u32,
    /// A note of the caller.
    pub value: u64,
}

/// Collects names.
#[derive(Debug, Default)]
pub struct NamesBuilder {
    text: Vec<u8>,
    entries: Vec<NameEntry>,
    groups: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
    left_out: usize,
}

impl NamesBuilder {
    /// With nothing in it.
    pub fn new() -> Self {
        Self { groups: vec![Box::default()], ..Self::default() }
    }

    /// Adds a name. What exceeds a limit is left out and counted.
    pub fn add(&mut self, name: NewName<'_>) {
        let raw = if name.raw == name.text { "" } else { name.raw };
        let bytes = name.text.len() + raw.len();
        let room = self.entries.len() < MAX_NAMES && self.text.len() + bytes + 2 <= MAX_NAMES_BYTES;
        let start = u32::try_from(self.text.len()).ok();
        let shown = u16::try_from(name.text.len()).ok();
        let own_at = u16::try_from(name.own_at.min(name.text.len())).ok();
        let (Some(start), Some(shown), Some(own_at), true) = (start, shown, own_at, room && bytes <= MAX_NAME_BYTES)
        else {
            self.left_out += 1;
            return;
        };
        self.text.extend_from_slice(name.text.as_bytes());
        if !raw.is_empty() {
            self.text.push(BETWEEN_FORMS);
            self.text.extend_from_slice(raw.as_bytes());
        }
        self.text.push(AFTER_NAME);
        let group = self.number_of(name.group);
        self.entries.push(NameEntry { start, shown, own_at, group, flags: name.flags, value: name.value });
    }

    fn number_of(&mut self, group: &str) -> u32 {
        if group.is_empty() {
            return 0;
        }
        if let Some(number) = self.numbers.get(group) {
            return *number;
        }
        let number = u32::try_from(self.groups.len()).unwrap_or(0);
        self.groups.push(group.into());
        self.numbers.insert(group.into(), number);
        number
    }

    /// The list, in the order of the names' bytes, then of their groups.
    pub fn finish(self) -> Names {
        let Self { text: collected, mut entries, groups, left_out, .. } = self;
        let whole = |entry: &NameEntry| {
            let rest = collected.get(entry.start as usize..).unwrap_or_default();
            rest.get(..rest.iter().position(|byte| *byte == AFTER_NAME).unwrap_or(rest.len())).unwrap_or_default()
        };
        let group = |entry: &NameEntry| groups.get(entry.group as usize);
        entries.sort_by(|a, b| {
            // What separates the forms is greater than all text, so it must not take part: `a` comes before `ab`.
            let parts = |entry| split(whole(entry), entry);
            parts(a).cmp(&parts(b)).then_with(|| group(a).cmp(&group(b))).then_with(|| a.value.cmp(&b.value))
        });
        let mut text = Vec::with_capacity(collected.len());
        for entry in &mut entries {
            let bytes = whole(entry);
            entry.start = u32::try_from(text.len()).unwrap_or(u32::MAX);
            text.extend_from_slice(bytes);
            text.push(AFTER_NAME);
        }
        entries.shrink_to_fit();
        let lower = text.to_ascii_lowercase();
        // What follows each entry, which is in no name, separates them.
        let letters = lower.split(|byte| *byte == AFTER_NAME).take(entries.len()).map(LetterSets::of).collect();
        Names { text, lower, entries, letters, groups, left_out }
    }
}

/// The two forms of a name.
fn split<'a>(whole: &'a [u8], entry: &NameEntry) -> (&'a [u8], &'a [u8]) {
    let shown = usize::from(entry.shown);
    (whole.get(..shown).unwrap_or_default(), whole.get(shown..).unwrap_or_default())
}
