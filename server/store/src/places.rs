//! Where a text has the words of a search.
//!
//! SQLite's index of words says which captures have them, but takes long to say where for words that may go on. So the places are
//! looked for here, in the texts of a page of captures only, by the same rules: letters and digits make words, case and accents do
//! not matter. An accent that is not known here costs the mark, not the capture.

use crate::{FoundText, SummaryQuery, SummaryTest, model::SearchField, texts::EVERY};

/// Bytes of a text that are shown before the first word that was found, and from there on.
const BEFORE_BYTES: usize = 60;
const FROM_BYTES: usize = 140;
/// What stands for the end of a line.
const BETWEEN_LINES: &str = " · ";

/// Words one after the other, as they are looked for.
#[derive(Debug)]
pub(crate) struct Wanted {
    field: Option<SearchField>,
    words: Vec<Vec<char>>,
    /// Whether the last one may go on.
    begins: bool,
}

/// What a search looks for.
pub(crate) fn wanted(query: &SummaryQuery) -> Vec<Wanted> {
    let positive = query.conditions.iter().filter(|condition| !condition.negated);
    let words = positive.filter_map(|condition| match &condition.test {
        SummaryTest::Words { field, text, begins } => {
            let words = Words::of(text).map(|(_, _, word)| word.chars().flat_map(folded).collect()).collect();
            Some(Wanted { field: *field, words, begins: *begins })
        }
        _ => None,
    });
    words.collect()
}

/// Where a text has what is wanted, with what is around it; none if it has nothing of it.
pub(crate) fn found_text(field: SearchField, text: &str, wanted: &[Wanted]) -> Option<FoundText> {
    let wanted: Vec<&Wanted> = wanted.iter().filter(|one| one.field.is_none_or(|only| only == field)).collect();
    if wanted.is_empty() {
        return None;
    }
    let mut marks: Vec<(usize, usize)> = Vec::new();
    let mut last = usize::MAX;
    for begin in Beginnings::of(text, &wanted) {
        if begin > last {
            break;
        }
        let rest = text.get(begin..).unwrap_or_default();
        let Some(length) = wanted.iter().filter_map(|one| one.matches(rest)).max() else { continue };
        match marks.last_mut() {
            Some((_, end)) if *end > begin => *end = (*end).max(begin + length),
            _ => marks.push((begin, begin + length)),
        }
        last = last.min(begin.saturating_add(FROM_BYTES));
    }
    let (first, _) = *marks.first()?;
    Some(around(field, text, first, &marks))
}

/// A part of the text from a little before `first` on, with the marks in it.
fn around(field: SearchField, text: &str, first: usize, marks: &[(usize, usize)]) -> FoundText {
    let begin = text.floor_char_boundary(first.saturating_sub(BEFORE_BYTES));
    // Not in the middle of a word, unless it is long.
    let begin =
        text.get(begin..first).and_then(|before| before.find(char::is_whitespace)).map_or(begin, |at| begin + at + 1);
    let begin = if first <= BEFORE_BYTES { 0 } else { begin };
    let end = text.floor_char_boundary(first.saturating_add(FROM_BYTES).min(text.len()));
    let mut shown = String::new();
    if begin > 0 {
        shown.push('…');
    }
    let moved = shown.len();
    let part = text.get(begin..end).unwrap_or_default();
    // One note, path or line ends where the next begins.
    shown.extend(part.split_inclusive('\n').flat_map(|line| match line.strip_suffix('\n') {
        Some(line) => [line, BETWEEN_LINES],
        None => [line, ""],
    }));
    shown = shown.replace(EVERY, "");
    let length = shown.len();
    if end < text.len() {
        shown.push('…');
    }
    let lines_before = |at: usize| part.get(..at - begin).map_or(0, |before| before.matches('\n').count());
    let shift = |at: usize| at - begin + moved + lines_before(at) * (BETWEEN_LINES.len() - 1);
    let within = marks.iter().filter(|(from, _)| *from >= begin && *from < end);
    let marks = within.map(|(from, to)| (shift(*from), shift((*to).min(end)).min(length))).collect();
    FoundText { field, text: shown, marks }
}

impl Wanted {
    /// How many bytes of a text that begins with a word are what is wanted.
    fn matches(&self, text: &str) -> Option<usize> {
        let mut words = Words::of(text);
        let (mut length, count) = (0, self.words.len());
        for (number, wanted) in (1..).zip(&self.words) {
            let (_, end, word) = words.next()?;
            let mut left = wanted.iter();
            let mut chars = word.chars().flat_map(folded);
            if !left.all(|c| chars.next() == Some(*c)) {
                return None;
            }
            if chars.next().is_some() && !(self.begins && number == count) {
                return None;
            }
            length = end;
        }
        (count > 0).then_some(length)
    }
}

/// Where words begin that may be the first of what is wanted, by their first byte: a capture has up to 100 KB of texts, and a page of
/// the list a hundred captures.
struct Beginnings<'t> {
    text: &'t str,
    at: usize,
    /// Which bytes begin such a word; those of letters that are not ASCII may.
    firsts: [bool; 256],
    /// Whether what is before `at` is part of a word.
    is_in_word: bool,
}

impl<'t> Beginnings<'t> {
    fn of(text: &'t str, wanted: &[&Wanted]) -> Self {
        let mut firsts = [false; 256];
        firsts[0x80..].fill(true);
        for first in wanted.iter().filter_map(|one| one.words.first()?.first()) {
            // A letter that becomes more than one in lower case is none of ASCII.
            if let Ok(byte) = u8::try_from(*first) {
                firsts[usize::from(byte.to_ascii_lowercase())] = true;
                firsts[usize::from(byte.to_ascii_uppercase())] = true;
            }
        }
        Self { text, at: 0, firsts, is_in_word: false }
    }
}

impl Iterator for Beginnings<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            let (begin, was_in_word) = (self.at, self.is_in_word);
            if byte.is_ascii() {
                self.is_in_word = byte.is_ascii_alphanumeric();
                self.at += 1;
            } else {
                let c = self.text.get(begin..)?.chars().next()?;
                self.is_in_word = is_of_word(c);
                self.at += c.len_utf8();
            }
            if self.is_in_word && !was_in_word && self.firsts[usize::from(byte)] {
                return Some(begin);
            }
        }
        None
    }
}

/// The words of a text: where each begins and ends, and itself.
struct Words<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Words<'t> {
    const fn of(text: &'t str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'t> Iterator for Words<'t> {
    type Item = (usize, usize, &'t str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.text.get(self.at..)?;
        let begin = self.at + rest.find(is_of_word)?;
        let word = self.text.get(begin..)?;
        let end = begin + word.find(|c: char| !is_of_word(c)).unwrap_or(word.len());
        self.at = end;
        Some((begin, end, self.text.get(begin..end)?))
    }
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || is_accent(c)
}

/// Accents that stand behind their letter.
const fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}')
}

/// A letter in lower case and without its accent.
fn folded(c: char) -> impl Iterator<Item = char> {
    let accent = is_accent(c);
    c.to_lowercase().map(plain).filter(move |_| !accent)
}

/// The letter of an accented one of the Latin alphabet.
const fn plain(c: char) -> char {
    match c {
        'à'..='å' | 'ā' | 'ă' | 'ą' | 'ǎ' => 'a',
        'ç' | 'ć' | 'ĉ' | 'ċ' | 'č' => 'c',
        'ď' => 'd',
        'è'..='ë' | 'ē' | 'ĕ' | 'ė' | 'ę' | 'ě' => 'e',
        'ĝ' | 'ğ' | 'ġ' | 'ģ' => 'g',
        'ĥ' => 'h',
        'ì'..='ï' | 'ĩ' | 'ī' | 'ĭ' | 'į' => 'i',
        'ĵ' => 'j',
        'ķ' => 'k',
        'ĺ' | 'ļ' | 'ľ' => 'l',
        'ñ' | 'ń' | 'ņ' | 'ň' => 'n',
        'ò'..='ö' | 'ō' | 'ŏ' | 'ő' => 'o',
        'ŕ' | 'ŗ' | 'ř' => 'r',
        'ś' | 'ŝ' | 'ş' | 'š' => 's',
        'ţ' | 'ť' => 't',
        'ù'..='ü' | 'ũ' | 'ū' | 'ŭ' | 'ů' | 'ű' | 'ų' => 'u',
        'ŵ' => 'w',
        'ý' | 'ÿ' | 'ŷ' => 'y',
        'ź' | 'ż' | 'ž' => 'z',
        c => c,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn found(query: &str, text: &str) -> Option<(String, Vec<String>)> {
        let wanted = wanted(&SummaryQuery::parse(query, 0).unwrap());
        let found = found_text(SearchField::Notes, text, &wanted)?;
        let marked = found.marks.iter().map(|(from, to)| found.text[*from..*to].to_owned()).collect();
        Some((found.text, marked))
    }

    #[test]
    fn words_beginnings_and_phrases_are_marked() {
        for (query, text, marked) in [
            ("disk", "The Disk is full, disks too", vec!["Disk", "disks"]),
            ("\"disk\"", "The Disk is full, disks too", vec!["Disk"]),
            ("\"disk is\" ful", "The Disk is full, disks too", vec!["Disk is", "full"]),
            ("usr/lib", "/usr/lib/x86_64/libc.so", vec!["usr/lib"]),
            ("zurich grosse", "in Zürich, große Zu\u{308}rich", vec!["Zürich", "Zu\u{308}rich"]),
            ("switch", "sched:sched_switch", vec!["switch"]),
            ("note:a1 -b", "a1 b", vec!["a1"]),
        ] {
            assert_eq!(found(query, text).map_or_else(Vec::new, |found| found.1), marked, "{query}");
        }
        for (query, text) in
            [("title:disk", "disk"), ("-disk", "disk"), ("disk", ""), ("\"a b\"", "a"), ("diskette", "disk")]
        {
            assert_eq!(found(query, text), None, "{query}");
        }
    }

    #[test]
    fn long_texts_are_shown_around_the_first_place() {
        let text = format!("{} needle {} needle", "größe ".repeat(1000), "after ".repeat(1000));
        let (shown, marked) = found("needle", &text).unwrap();
        assert_eq!(marked, ["needle"]);
        assert!(shown.starts_with('…') && shown.ends_with('…') && shown.len() < 300, "{shown}");
        let long = "x".repeat(100_000);
        let (shown, marked) = found("xx", &format!("a\n{long}")).unwrap();
        assert!(shown.starts_with("a · x") && shown.len() < 300 && marked.len() == 1, "{shown}");
        let (shown, marked) = found("dd", &"ä dd ".repeat(100)).unwrap();
        assert!(marked.iter().all(|word| word == "dd") && marked.len() > 5, "{shown}");
        assert_eq!(found("ada", "ada \u{e000}").unwrap().0, "ada ");
        let (shown, marked) = found("two four", "one two\nthree\nfour").unwrap();
        assert_eq!((shown.as_str(), marked), ("one two · three · four", vec!["two".to_owned(), "four".to_owned()]));
    }
}
