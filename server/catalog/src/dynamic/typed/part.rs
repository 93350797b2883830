//! Parts of a text that know where they stand, and words as a shell has them.

use super::super::{DynamicError, DynamicProblem as Problem};

/// A part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TypedPart<'a> {
    /// Bytes before it.
    pub(super) at: usize,
    pub(super) text: &'a str,
}

impl<'a> TypedPart<'a> {
    pub(super) fn skip(self, bytes: usize) -> Self {
        Self { at: self.at + bytes, text: self.text.get(bytes..).unwrap_or_default() }
    }

    pub(super) fn trim(self) -> Self {
        let begun = self.skip(self.text.len() - self.text.trim_start().len());
        Self { text: begun.text.trim_end(), ..begun }
    }

    /// What stands behind a word, if it is the first.
    pub(super) fn after(self, word: &str) -> Option<Self> {
        let rest = self.text.strip_prefix(word)?;
        (rest.is_empty() || rest.starts_with(char::is_whitespace)).then(|| self.skip(word.len()).trim())
    }

    /// Its first word.
    pub(super) fn first_word(self) -> &'a str {
        self.text.split_whitespace().next().unwrap_or_default()
    }

    pub(super) fn error(self, problem: Problem) -> DynamicError {
        DynamicError { at: self.at, problem }
    }

    /// The bytes up to `end`, a place in the whole text.
    fn until(self, end: usize) -> Self {
        Self { text: self.text.get(..end - self.at).unwrap_or_default(), ..self }
    }
}

/// In quotes, if it begins with one: what is inside, and what stands behind.
pub(super) fn quoted(part: TypedPart<'_>) -> Result<Option<(TypedPart<'_>, TypedPart<'_>)>, DynamicError> {
    let Some(quote) = part.text.chars().next().filter(|first| matches!(first, '\'' | '"')) else { return Ok(None) };
    let inside = part.skip(1);
    let end = inside.text.find(quote).ok_or(DynamicError { at: part.at, problem: Problem::Quote })?;
    Ok(Some((TypedPart { text: inside.text.get(..end).unwrap_or_default(), ..inside }, inside.skip(end + 1))))
}

/// Words with blanks between them; quotes hold one together, also behind `--add=`.
pub(super) fn shell_words(part: TypedPart<'_>) -> Result<Vec<TypedPart<'_>>, DynamicError> {
    let (mut words, mut rest) = (Vec::new(), part.trim());
    while !rest.text.is_empty() {
        if let Some((inside, behind)) = quoted(rest)? {
            words.push(inside);
            rest = behind.trim();
            continue;
        }
        let end = rest.text.find(char::is_whitespace).unwrap_or(rest.text.len());
        let word = rest.until(rest.at + end);
        let value = word.text.find('=').map(|at| at + 1).filter(|_| word.text.starts_with('-'));
        match value.map(|at| (at, quoted(rest.skip(at)))) {
            Some((at, Ok(Some((inside, behind))))) => {
                words.push(TypedPart { text: word.text.get(..at - 1).unwrap_or_default(), ..word });
                words.push(inside);
                rest = behind.trim();
            }
            Some((_, Err(error))) => return Err(error),
            _ => {
                words.push(word);
                rest = rest.skip(end).trim();
            }
        }
    }
    Ok(words)
}

/// The commands of a line, between `;`, `&&`, `||` and `|` outside of quotes; each with whether it reads the one before.
pub(super) fn commands(line: TypedPart<'_>) -> Vec<(TypedPart<'_>, bool)> {
    let mut found = Vec::new();
    let (mut begin, mut piped, mut quote) = (0, false, None);
    let bytes = line.text.as_bytes();
    let mut at = 0;
    while let Some(byte) = bytes.get(at).copied() {
        let next = bytes.get(at + 1).copied();
        let width = match (quote, byte) {
            (Some(open), _) => {
                quote = Some(open).filter(|open| *open != byte);
                0
            }
            (None, b'\'' | b'"') => {
                quote = Some(byte);
                0
            }
            (None, b'&' | b'|') if next == Some(byte) => 2,
            (None, b';' | b'|') => 1,
            _ => 0,
        };
        if width > 0 {
            found.push((line.skip(begin).until(line.at + at).trim(), piped));
            piped = byte == b'|' && width == 1;
            begin = at + width;
        }
        at += width.max(1);
    }
    found.push((line.skip(begin).trim(), piped));
    found.retain(|(command, _)| !command.text.is_empty());
    found
}
