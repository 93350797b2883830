//! The search itself.

use std::collections::BinaryHeap;

use memchr::memmem::Finder;

use super::{
    AFTER_NAME, Names, Query,
    letters::{LetterSets, bit, bits, is_between_words},
    query::{What, fits},
};

/// How well a name fits: less is better. In a key it stands above the name's length and its place.
mod rank {
    /// It is what was typed.
    pub(super) const EXACT: u64 = 0;
    /// It begins with it.
    pub(super) const PREFIX: u64 = 1;
    /// A word of it begins with it.
    pub(super) const WORD: u64 = 2;
    /// It holds it.
    pub(super) const INSIDE: u64 = 3;
    /// It holds all words, each at the begin of a word.
    pub(super) const ALL_WORDS: u64 = 4;
    /// It holds all words.
    pub(super) const SCATTERED: u64 = 5;
}

/// A list that is searched.
#[derive(Clone, Copy, Debug)]
pub struct Searched<'a> {
    /// The names.
    pub names: &'a Names,
    /// Only those that belong to this.
    pub group: Option<&'a str>,
}

/// A name that was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Index of its list among those searched.
    pub list: usize,
    /// Its place in the list.
    pub index: usize,
}

/// What a search found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NameMatches {
    /// How many names of each list fit.
    pub totals: Vec<usize>,
    /// Those that were asked for, best first; of equal ones the shorter, then by their order.
    pub hits: Vec<Hit>,
}

impl NameMatches {
    /// How many names fit.
    pub fn total(&self) -> usize {
        self.totals.iter().sum()
    }
}

/// Searches several lists, and gives `limit` of the names that fit, from the `offset`-th best on. Without anything to look
/// for, or with a pattern, names come in the order of the lists and of the alphabet.
pub fn search(lists: &[Searched<'_>], query: &Query, offset: usize, limit: usize) -> NameMatches {
    let mut best = Best { keep: offset.saturating_add(limit), heap: BinaryHeap::new() };
    let mut totals = Vec::with_capacity(lists.len());
    for (list, searched) in lists.iter().enumerate() {
        let group = searched.group.map(|group| searched.names.group(group));
        let mut total = 0;
        // A group that the list does not have holds nothing.
        if group != Some(None) {
            let filter = group.flatten();
            each(searched.names, query, filter, best.keep, &mut |rank, index| {
                total += 1;
                best.add(rank, list, index);
            });
            if let (What::All, None) = (&query.what, filter) {
                total = searched.names.len();
            }
        }
        totals.push(total);
    }
    let mut hits = best.heap.into_sorted_vec();
    let hits = hits.drain(offset.min(hits.len())..).map(|(_, list, index)| Hit { list, index });
    NameMatches { totals, hits: hits.collect() }
}

/// The best so far: the greatest key is the one to give up.
struct Best {
    keep: usize,
    heap: BinaryHeap<(u64, usize, usize)>,
}

impl Best {
    fn add(&mut self, rank: u64, list: usize, index: usize) {
        let key = (rank, list, index);
        if self.heap.len() < self.keep {
            self.heap.push(key);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && key < *worst
        {
            *worst = key;
        }
    }
}

/// Shows the names that fit, in their order, with how well.
fn each(names: &Names, query: &Query, group: Option<u32>, keep: usize, show: &mut dyn FnMut(u64, usize)) {
    let belongs =
        |index: usize| group.is_none_or(|group| names.entries.get(index).is_some_and(|entry| entry.group == group));
    match &query.what {
        // All fit: those behind what is asked for need not be looked at.
        What::All if group.is_none() => (0..names.len().min(keep)).for_each(|index| show(0, index)),
        What::All => (0..names.len()).filter(|index| belongs(*index)).for_each(|index| show(0, index)),
        What::Pattern(pattern) => {
            let fits = |name: super::Name<'_>| fits(pattern, name.text, name.own_at, name.raw);
            let needed = bits(pattern.literals().collect::<String>().to_ascii_lowercase().as_bytes());
            let part = pattern.longest_literal();
            candidates(names, Holding { text: &names.text, part: part.as_bytes(), needed }, &mut |index, _bytes| {
                if belongs(index) && names.get(index).is_some_and(fits) {
                    show(0, index);
                }
            });
        }
        What::Words { whole, words } => {
            let Some(longest) = words.first() else { return };
            let judge = Judge::new(whole, words);
            let needed = words.iter().fold(0, |all, word| all | bits(word));
            candidates(names, Holding { text: &names.lower, part: longest, needed }, &mut |index, bytes| {
                if belongs(index)
                    && let Some(key) = judge.key(names, index, bytes)
                {
                    show(key, index);
                }
            });
        }
    }
}

/// What an entry must hold to be looked at.
#[derive(Clone, Copy)]
struct Holding<'a> {
    /// The block that is looked through: as it is, or in lower case.
    text: &'a [u8],
    /// A part that is in the entry.
    part: &'a [u8],
    /// Letters that are in it, as [`bits`].
    needed: u32,
}

/// Shows every entry that holds what is asked for, once, with its bytes in the block.
fn candidates(names: &Names, holding: Holding<'_>, show: &mut dyn FnMut(usize, &[u8])) {
    let Holding { text, part, needed } = holding;
    let has_letters =
        |index: usize| names.letters.get(index).is_some_and(|letters: &LetterSets| letters.present & needed == needed);
    // The sets say all of a part that is one letter.
    let is_said_by_letters = match part {
        [] => true,
        [letter] => bit(letter.to_ascii_lowercase()) != 0,
        _ => false,
    };
    if is_said_by_letters {
        for index in (0..names.len()).filter(|index| has_letters(*index)) {
            show(index, names.range(index).and_then(|range| text.get(range)).unwrap_or_default());
        }
        return;
    }
    let finder = Finder::new(part);
    let (mut index, mut at) = (0, 0);
    while let Some(found) = text.get(at..).and_then(|rest| finder.find(rest)) {
        let place = at + found;
        // Places only grow, and so do entries: a step for each that has nothing of it.
        while names.entries.get(index + 1).is_some_and(|next| next.start as usize <= place) {
            index += 1;
        }
        let Some(range) = names.range(index) else { return };
        at = range.end + 1;
        if has_letters(index) {
            show(index, text.get(range).unwrap_or_default());
        }
        index += 1;
    }
}

/// Decides how well a name fits that holds the longest word.
struct Judge<'a> {
    whole: &'a [u8],
    find_whole: Finder<'a>,
    words: Vec<JudgedWord<'a>>,
}

/// A word of what is looked for.
enum JudgedWord<'a> {
    /// One letter, by its bit in [`LetterSets`].
    Letter(u32),
    /// Any other.
    Text(Box<Finder<'a>>),
}

impl<'a> JudgedWord<'a> {
    fn new(word: &'a [u8]) -> Self {
        match word {
            [letter] if bit(*letter) != 0 => Self::Letter(bit(*letter)),
            _ => Self::Text(Box::new(Finder::new(word))),
        }
    }

    /// Whether it is at the begin of a word of the name; none if it is nowhere.
    fn begins(&self, bytes: &[u8], letters: LetterSets) -> Option<bool> {
        match self {
            Self::Letter(bit) => (letters.present & bit != 0).then_some(letters.initial & bit != 0),
            Self::Text(finder) => found_at_word(finder, bytes),
        }
    }
}

impl<'a> Judge<'a> {
    fn new(whole: &'a [u8], words: &'a [Vec<u8>]) -> Self {
        Self { whole, find_whole: Finder::new(whole), words: words.iter().map(|word| JudgedWord::new(word)).collect() }
    }

    /// Rank and length; none if a word is missing.
    fn key(&self, names: &Names, index: usize, bytes: &[u8]) -> Option<u64> {
        debug_assert!(!bytes.contains(&AFTER_NAME));
        let entry = names.entries.get(index)?;
        let letters = *names.letters.get(index)?;
        let shown = usize::from(entry.shown);
        let length = bytes.len().min(0xffff) as u64;
        Some(self.rank(bytes, letters, usize::from(entry.own_at), shown)? << 16 | length)
    }

    fn rank(&self, bytes: &[u8], letters: LetterSets, own_at: usize, shown: usize) -> Option<u64> {
        let text = bytes.get(..shown).unwrap_or(bytes);
        let own = text.get(own_at..).unwrap_or(text);
        let raw = bytes.get(shown + 1..).unwrap_or_default();
        if own == self.whole || text == self.whole || raw == self.whole {
            return Some(rank::EXACT);
        }
        if own.starts_with(self.whole) || text.starts_with(self.whole) || raw.starts_with(self.whole) {
            return Some(rank::PREFIX);
        }
        let whole = match self.words.as_slice() {
            // Then it is all that is looked for.
            [one @ JudgedWord::Letter(_)] if self.whole.len() == 1 => one.begins(bytes, letters),
            _ => found_at_word(&self.find_whole, bytes),
        };
        if let Some(at_word) = whole {
            return Some(if at_word { rank::WORD } else { rank::INSIDE });
        }
        let mut scattered = false;
        for word in &self.words {
            scattered |= !word.begins(bytes, letters)?;
        }
        Some(if scattered { rank::SCATTERED } else { rank::ALL_WORDS })
    }
}

/// Whether a word of a text begins with what is found; none if it is not in it.
fn found_at_word(finder: &Finder<'_>, bytes: &[u8]) -> Option<bool> {
    let mut places = finder.find_iter(bytes).peekable();
    places.peek()?;
    Some(places.any(|place| begins_word(bytes, place)))
}

/// Whether a word of the text begins at this place.
fn begins_word(bytes: &[u8], place: usize) -> bool {
    let before = place.checked_sub(1).and_then(|at| bytes.get(at));
    before.is_none_or(|before| is_between_words(*before))
}
