//! Text → tokens, one at a time and from any place, since attach points are read by rules of their own.

use bathyscope_plan::{Diagnostic, Span};

use super::{
    directives::Directives,
    token::{SpannedToken, Token, is_word_byte, mark, number, text},
};

/// Reads tokens. The parser keeps what it looked ahead.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    pub(super) text: &'a str,
    /// The next byte to read.
    pub(super) at: usize,
    /// Lines of the preprocessor; none within such a line.
    pub(super) directives: Option<Directives>,
    /// What is wrong between tokens.
    pub(super) errors: Vec<Diagnostic>,
    /// Work done, for the test that it grows only with the text.
    pub(super) steps: u64,
}

pub(super) fn span(start: usize, end: usize) -> Span {
    let byte = |at: usize| u32::try_from(at).unwrap_or(u32::MAX);
    Span { start: byte(start), end: byte(end) }
}

impl<'a> Lexer<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, at: 0, directives: Some(Directives::default()), errors: Vec::new(), steps: 0 }
    }

    /// The tokens of the part of a text, as of a `#define`'s value.
    pub(super) fn of_part(text: &'a str, part: Span) -> Self {
        let text = text.get(..part.end as usize).unwrap_or_default();
        Self { text, at: part.start as usize, directives: None, errors: Vec::new(), steps: 0 }
    }

    fn byte(&self, ahead: usize) -> u8 {
        self.text.as_bytes().get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Goes past blanks, comments and lines of the preprocessor.
    pub(super) fn skip_blanks(&mut self) {
        let bytes = self.text.as_bytes();
        let start = self.at;
        while let Some(byte) = bytes.get(self.at) {
            match (byte, self.byte(1)) {
                (b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c, _) => self.at += 1,
                (b'\\', b'\n') => self.at += 2,
                (b'/', b'/') => self.at = line_end(bytes, self.at),
                (b'/', b'*') => self.skip_comment(),
                (b'#', b'!') if self.at == 0 => self.at = line_end(bytes, self.at),
                (b'#', _) if self.directives.is_some() && begins_line(bytes, self.at) => self.directive(),
                _ => break,
            }
        }
        self.steps += (self.at.saturating_sub(start)) as u64;
    }

    fn skip_comment(&mut self) {
        let rest = self.text.get(self.at + 2..).unwrap_or_default();
        if let Some(length) = rest.find("*/") {
            self.at += 2 + length + 2;
        } else {
            let trouble = Diagnostic::error(span(self.at, self.at + 2), "the comment has no end");
            if !self.errors.contains(&trouble) {
                self.errors.push(trouble.hint("comments end with `*/`"));
            }
            self.at = self.text.len();
        }
    }

    fn directive(&mut self) {
        if let Some(directives) = &mut self.directives {
            self.at = directives.at(self.text, self.at, &mut self.errors);
        }
    }

    /// The next token.
    pub(super) fn next(&mut self) -> SpannedToken<'a> {
        self.skip_blanks();
        let start = self.at;
        let token = self.token();
        self.steps += (self.at - start) as u64 + 1;
        SpannedToken { token, span: span(start, self.at) }
    }

    fn token(&mut self) -> Token<'a> {
        match self.byte(0) {
            0 if self.at >= self.text.len() => Token::End,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' => Token::Word(self.word()),
            b'0'..=b'9' => self.number(),
            b'"' => self.quoted(),
            b'$' => self.variable(),
            b'@' => {
                self.at += 1;
                Token::Map(if self.byte(0).is_ascii_digit() { "" } else { self.word() })
            }
            _ => self.other(),
        }
    }

    /// Letters, digits and `_` from here on.
    fn word(&mut self) -> &'a str {
        let start = self.at;
        while is_word_byte(self.byte(0)) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn number(&mut self) -> Token<'a> {
        let start = self.at;
        let word = self.word();
        match number(word) {
            Ok((value, unsigned)) => Token::Integer { value, unsigned },
            Err((message, hint)) => bad(start, self.at, message, hint),
        }
    }

    fn quoted(&mut self) -> Token<'a> {
        let start = self.at;
        match text(self.text.as_bytes(), start) {
            Ok((value, end)) => {
                self.at = end;
                Token::Text(value)
            }
            Err((place, message, end)) => {
                self.at = end;
                // The backslash and the character behind it, which may have several bytes.
                let behind = self.text.get(place + 1..).and_then(|rest| rest.chars().next());
                let width = if place == start { end - start } else { 1 + behind.map_or(0, char::len_utf8) };
                bad(place, place + width, message, "")
            }
        }
    }

    fn variable(&mut self) -> Token<'a> {
        let start = self.at;
        self.at += 1;
        match self.byte(0) {
            b'#' => {
                self.at += 1;
                Token::PositionalCount
            }
            b'0'..=b'9' => {
                let word = self.word();
                match word.parse::<u32>() {
                    Ok(0) => bad(start, self.at, "positional parameters count from `$1`".to_owned(), ""),
                    Ok(number) => Token::Positional(number),
                    Err(_) => {
                        bad(start, self.at, format!("`${word}` is neither a parameter's number nor a variable"), "")
                    }
                }
            }
            byte if is_word_byte(byte) => Token::Variable(self.word()),
            _ => bad(start, self.at, "a `$` without a name".to_owned(), "variables are `$name`, parameters `$1`"),
        }
    }

    fn other(&mut self) -> Token<'a> {
        let rest = self.text.get(self.at..).unwrap_or_default();
        if let Some(mark) = mark(rest.as_bytes()) {
            self.at += mark.len();
            return Token::Mark(mark);
        }
        let start = self.at;
        let Some(character) = rest.chars().next() else { return Token::End };
        self.at += character.len_utf8();
        let (message, hint) = match character {
            '\'' => ("the language has no characters in single quotes".to_owned(), "texts stand in double quotes"),
            '#' => (
                "`#` begins a line of the preprocessor, so nothing may stand before it".to_owned(),
                "comments begin with `//`",
            ),
            '`' | '\\' => (format!("`{character}` has no meaning here"), ""),
            '“' | '”' | '„' => {
                (format!("`{character}` is a printed quotation mark"), "texts stand in plain `\"`")
            }
            _ => (format!("the character `{}` has no meaning here", character.escape_debug()), ""),
        };
        bad(start, self.at, message, hint)
    }
}

fn bad<'a>(start: usize, end: usize, message: String, hint: &str) -> Token<'a> {
    Token::Bad(Box::new(Diagnostic::error(span(start, end), message).hint(hint)))
}

/// The end of the line that `at` is on: its line feed, or the end of the text.
pub(super) fn line_end(bytes: &[u8], at: usize) -> usize {
    bytes.iter().skip(at).position(|it| *it == b'\n').map_or(bytes.len(), |length| at + length)
}

/// Whether only blanks stand before `at` on its line.
fn begins_line(bytes: &[u8], at: usize) -> bool {
    let before = bytes.iter().take(at).rev().find(|it| !matches!(it, b' ' | b'\t'));
    before.is_none_or(|it| *it == b'\n')
}
