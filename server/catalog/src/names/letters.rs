//! Which letters a name has: what rejects most names before their bytes are compared, and answers words of one letter.

use super::BETWEEN_FORMS;

/// The letters `a` to `z` of a name in lower case, a bit for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LetterSets {
    /// All of them.
    pub(super) present: u32,
    /// Those with which a word of it begins.
    pub(super) initial: u32,
}

/// The bit of a letter in lower case; 0 for everything else.
pub(super) fn bit(letter: u8) -> u32 {
    if letter.is_ascii_lowercase() { 1 << (letter - b'a') } else { 0 }
}

/// The bits of all letters of a text in lower case.
pub(super) fn bits(lower: &[u8]) -> u32 {
    lower.iter().fold(0, |bits, letter| bits | bit(*letter))
}

/// Whether a word begins behind this byte.
pub(super) fn is_between_words(before: u8) -> bool {
    !before.is_ascii_alphanumeric()
}

impl LetterSets {
    /// Those of a name with both of its forms.
    pub(super) fn of(lower: &[u8]) -> Self {
        let (mut sets, mut before) = (Self::default(), BETWEEN_FORMS);
        for letter in lower {
            let bit = bit(*letter);
            sets.present |= bit;
            sets.initial |= if is_between_words(before) { bit } else { 0 };
            before = *letter;
        }
        sets
    }
}
