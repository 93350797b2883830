//! The search itself.

use std::collections::BinaryHeap;

use memchr::memmem::Finder;

use super::{
    AFTER_NAME, Names, Query,
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
            for index in (0..names.len()).filter(|index| belongs(*index)) {
                if names.get(index).is_some_and(|name| fits(pattern, name.text, name.own_at, name.raw)) {
                    show(0, index);
                }
            }
        }
        What::Words { whole, words } => {
            let Some(longest) = words.first() else { return };
            let judge = Judge::new(whole, words);
            candidates(names, longest, &mut |index, bytes| {
                if belongs(index)
                    && let Some(key) = judge.key(names, index, bytes)
                {
                    show(key, index);
                }
            });
        }
    }
}

/// Shows every entry that holds `word`, once, with its bytes in lower case.
fn candidates(names: &Names, word: &[u8], show: &mut dyn FnMut(usize, &[u8])) {
    let finder = Finder::new(word);
    let (mut index, mut at) = (0, 0);
    while let Some(found) = names.lower.get(at..).and_then(|rest| finder.find(rest)) {
        let place = at + found;
        // Places only grow, and so do entries: a step for each that has nothing of it.
        while names.entries.get(index + 1).is_some_and(|next| next.start as usize <= place) {
            index += 1;
        }
        let Some(range) = names.range(index) else { return };
        at = range.end + 1;
        show(index, names.lower.get(range).unwrap_or_default());
        index += 1;
    }
}

/// Decides how well a name fits that holds the longest word.
struct Judge<'a> {
    whole: &'a [u8],
    find_whole: Finder<'a>,
    /// The longest first.
    find_words: Vec<Finder<'a>>,
}

impl<'a> Judge<'a> {
    fn new(whole: &'a [u8], words: &'a [Vec<u8>]) -> Self {
        Self { whole, find_whole: Finder::new(whole), find_words: words.iter().map(Finder::new).collect() }
    }

    /// Rank and length; none if a word is missing.
    fn key(&self, names: &Names, index: usize, bytes: &[u8]) -> Option<u64> {
        debug_assert!(!bytes.contains(&AFTER_NAME));
        let entry = names.entries.get(index)?;
        let shown = usize::from(entry.shown);
        let length = bytes.len().min(0xffff) as u64;
        Some(self.rank(bytes, usize::from(entry.own_at), shown)? << 16 | length)
    }

    fn rank(&self, bytes: &[u8], own_at: usize, shown: usize) -> Option<u64> {
        let text = bytes.get(..shown).unwrap_or(bytes);
        let own = text.get(own_at..).unwrap_or(text);
        let raw = bytes.get(shown + 1..).unwrap_or_default();
        if own == self.whole || text == self.whole || raw == self.whole {
            return Some(rank::EXACT);
        }
        if own.starts_with(self.whole) || text.starts_with(self.whole) || raw.starts_with(self.whole) {
            return Some(rank::PREFIX);
        }
        // One word alone is known to be there.
        let mut places = self.find_whole.find_iter(bytes).peekable();
        if places.peek().is_some() {
            let at_word = places.any(|place| begins_word(bytes, place));
            return Some(if at_word { rank::WORD } else { rank::INSIDE });
        }
        let mut scattered = false;
        for word in &self.find_words {
            let mut places = word.find_iter(bytes).peekable();
            places.peek()?;
            scattered |= !places.any(|place| begins_word(bytes, place));
        }
        Some(if scattered { rank::SCATTERED } else { rank::ALL_WORDS })
    }
}

/// Whether a word of the text begins at this place.
fn begins_word(bytes: &[u8], place: usize) -> bool {
    let before = place.checked_sub(1).and_then(|at| bytes.get(at));
    before.is_none_or(|byte| !byte.is_ascii_alphanumeric())
}
