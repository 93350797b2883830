//! Lines as they are typed into a shell → commands with their words, each with its place in the text. No shell is started:
//! quotes, backslashes, lists, pipes, redirections and here-documents are read; what only a shell could expand (variables,
//! `$(…)`, globs) is noted at its place, and refused where a command's words are taken.

mod expansion;
mod here;
mod prompt;
mod read;

use std::ops::Range;

pub(crate) use expansion::{Expansion, ExpansionKind};
pub(crate) use here::{WrittenFile, passed_on};
pub(crate) use read::read;

use crate::answer::{Refusal, Result};

/// The most words of a text.
const MAX_WORDS: usize = 4096;

/// A word without its quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// Its text.
    pub(crate) text: String,
    /// Where it stands in what was typed, quotes included.
    pub(crate) source: Range<usize>,
    /// Where each byte of the text stands.
    places: Vec<usize>,
    /// What a shell would expand.
    pub(crate) expansions: Vec<Expansion>,
    /// Whether any of it was in quotes.
    pub(crate) is_quoted: bool,
}

impl Word {
    /// A word that is nowhere in the text, such as a value that an option has where none is given.
    pub(crate) fn made(text: &str, source: Range<usize>) -> Self {
        let places = vec![source.start; text.len()];
        Self { text: text.to_owned(), source, places, ..Self::default() }
    }

    fn push(&mut self, character: char, at: usize) {
        self.text.push(character);
        self.places.resize(self.text.len(), at);
    }

    /// Where a part of the text stands in what was typed.
    pub(crate) fn place(&self, part: Range<usize>) -> Range<usize> {
        let begin = self.places.get(part.start).copied().unwrap_or(self.source.end);
        let end = match part.end.checked_sub(1).and_then(|last| self.places.get(last)) {
            Some(_) if part.end >= self.text.len() => self.source.end,
            Some(last) => self.places.get(part.end).copied().unwrap_or(*last).max(*last),
            None => begin,
        };
        if part.start == 0 && part.end >= self.text.len() { self.source.clone() } else { begin..end.max(begin) }
    }

    /// The part from a byte on, which is the first of a character.
    pub(crate) fn from(&self, at: usize) -> Self {
        let text = self.text.get(at..).unwrap_or_default().to_owned();
        let moved = |one: &Expansion| Some(Expansion { at: one.at.checked_sub(at)?, ..one.clone() });
        Self {
            source: self.place(at..self.text.len()),
            places: self.places.get(at..).unwrap_or_default().to_vec(),
            expansions: self.expansions.iter().filter_map(moved).collect(),
            text,
            is_quoted: self.is_quoted,
        }
    }

    /// The parts between separators, each with its place.
    pub(crate) fn split(&self, separator: char) -> Vec<Self> {
        let mut parts = Vec::new();
        let mut at = 0;
        for part in self.text.split(separator) {
            let end = at + part.len();
            let inside = self.expansions.iter().filter(|one| (at..=end).contains(&one.at));
            parts.push(Self {
                text: part.to_owned(),
                source: self.place(at..end),
                places: self.places.get(at..end).unwrap_or_default().to_vec(),
                expansions: inside.map(|one| Expansion { at: one.at - at, ..one.clone() }).collect(),
                is_quoted: self.is_quoted,
            });
            at = end + separator.len_utf8();
        }
        parts
    }

    /// The same with each `from` written as `to`, which stands where that stood.
    pub(crate) fn replaced(&self, from: &str, to: &str) -> Self {
        let mut word = Self { text: String::new(), places: Vec::new(), ..self.clone() };
        let mut behind = 0;
        for (at, _) in self.text.match_indices(from) {
            word.text.push_str(self.text.get(behind..at).unwrap_or_default());
            word.places.extend(self.places.get(behind..at).unwrap_or_default());
            word.text.push_str(to);
            word.places.resize(word.text.len(), self.places.get(at).copied().unwrap_or(self.source.start));
            behind = at + from.len();
        }
        word.text.push_str(self.text.get(behind..).unwrap_or_default());
        word.places.extend(self.places.get(behind..).unwrap_or_default());
        word
    }

    /// Both words with a blank between them, as one.
    pub(crate) fn with(&self, next: &Self) -> Self {
        let mut word = self.clone();
        word.push(' ', self.source.end);
        let begin = word.text.len();
        word.text.push_str(&next.text);
        word.places.extend(&next.places);
        word.expansions.extend(next.expansions.iter().map(|one| Expansion { at: one.at + begin, ..one.clone() }));
        word.source.end = next.source.end;
        word.is_quoted |= next.is_quoted;
        word
    }

    /// The text, if a shell would leave it as it is.
    ///
    /// # Errors
    /// What a shell would expand.
    pub(crate) fn plain(&self) -> Result<&str> {
        self.expansions.first().map_or(Ok(self.text.as_str()), |one| Err(one.refusal()))
    }

    /// The same of a word that may be a pattern: a shell leaves a pattern as it is where no file matches it.
    ///
    /// # Errors
    /// What else a shell would expand.
    pub(crate) fn pattern(&self) -> Result<&str> {
        let first = self.expansions.iter().find(|one| one.kind != ExpansionKind::Glob);
        first.map_or(Ok(self.text.as_str()), |one| Err(one.refusal()))
    }
}

/// Where a redirection leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RedirectKind {
    /// `< FILE`
    In,
    /// `> FILE`
    Out,
    /// `>> FILE`
    Append,
    /// `2>&1`
    Copy,
    /// A here-document or here-string: its text is the word.
    Text,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Redirect {
    /// Where it leads.
    pub(crate) kind: RedirectKind,
    /// Whether it is of standard error.
    pub(crate) is_error: bool,
    /// The file, or the text.
    pub(crate) word: Word,
    /// The sign and the file.
    pub(crate) source: Range<usize>,
}

/// A command with its words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    /// Its words.
    pub(crate) words: Vec<Word>,
    /// Its redirections.
    pub(crate) redirects: Vec<Redirect>,
}

impl Simple {
    /// Where it stands.
    pub(crate) fn source(&self) -> Range<usize> {
        let begins = self.words.iter().map(|word| word.source.start);
        let begins = begins.chain(self.redirects.iter().map(|one| one.source.start));
        let ends = self.words.iter().map(|word| word.source.end);
        let ends = ends.chain(self.redirects.iter().map(|one| one.source.end));
        begins.min().unwrap_or(0)..ends.max().unwrap_or(0)
    }
}

/// Commands, each of which reads what the one before it writes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pipeline {
    /// The commands, at least one.
    pub(crate) commands: Vec<Simple>,
    /// Whether it runs in the background.
    pub(crate) is_background: bool,
}

/// A text, read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Lines {
    /// The commands, in their order.
    pub(crate) pipelines: Vec<Pipeline>,
    /// Comments, prompts, and lines that are no commands but what one has printed.
    pub(crate) comments: Vec<Range<usize>>,
    /// Signs between commands.
    pub(crate) signs: Vec<Range<usize>>,
    /// How many lines were taken for what a command has printed.
    pub(crate) printed: usize,
}

fn refuse<T>(at: Range<usize>, why: impl Into<String>, remedy: impl Into<String>) -> Result<T> {
    Err(Refusal::new(at, why, remedy))
}

#[cfg(test)]
mod tests;
