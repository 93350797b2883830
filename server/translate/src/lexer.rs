//! Tokens of both languages. They are read when they are asked for, as probes are not made of tokens.

use bathyscope_plan::Span;

use crate::refusal::{Result, refuse, span};

/// Which of the languages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    D,
    SystemTap,
}

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A name, with the `$` or `@` before it.
    Name(String),
    Number(u64),
    /// What stands between the quotes, as it was written.
    Text(String),
    Operator(&'static str),
    End,
}

/// A token and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) span: Span,
}

/// The longest first.
const OPERATORS: [&str; 49] = [
    "<<<", "<<=", ">>=", "->", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "^^", "+=", "-=", "*=",
    "/=", "%=", "&=", "|=", "^=", ".=", "=~", "!~", "%{", "%(", "%}", "(", ")", "[", "]", "{", "}", ",", ";", ":", "?",
    "+", "-", "*", "/", "%", "&", "|", "^", "!", "~",
];
const REST: [&str; 4] = ["<", ">", "=", "."];

/// Reads tokens.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexer<'a> {
    pub(crate) text: &'a str,
    pub(crate) at: usize,
    pub(crate) dialect: Dialect,
}

impl<'a> Lexer<'a> {
    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn end(&self) -> Span {
        span(self.text.len(), self.text.len())
    }

    /// To the next character that is neither blank nor comment.
    pub(crate) fn skip_blank(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            self.at += blank;
            let rest = self.rest();
            let is_line = rest.starts_with("//") || (self.dialect == Dialect::SystemTap && rest.starts_with('#'));
            if is_line {
                self.at += rest.find('\n').unwrap_or(rest.len());
            } else if rest.starts_with("/*") {
                let Some(length) = rest.find("*/") else {
                    return refuse(span(self.at, self.at + 2), "this comment has no end", "end it with `*/`");
                };
                self.at += length + 2;
            } else {
                return Ok(());
            }
        }
    }

    pub(crate) fn next(&mut self) -> Result<Token> {
        self.skip_blank()?;
        let (start, rest) = (self.at, self.rest());
        let Some(first) = rest.chars().next() else { return Ok(Token { kind: TokenKind::End, span: self.end() }) };
        let kind = if first == '"' {
            self.text_token()?
        } else if first == '\'' {
            self.character()?
        } else if first.is_ascii_digit() {
            self.number()?
        } else if first.is_ascii_alphabetic() || matches!(first, '_' | '$' | '@' | '`') {
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$' | '`');
            let rest = rest.get(1..).unwrap_or_default();
            let length = 1 + rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            self.at += length;
            TokenKind::Name(self.text.get(start..self.at).unwrap_or_default().to_owned())
        } else if let Some(operator) = self.operator(rest) {
            self.at += operator.len();
            TokenKind::Operator(operator)
        } else {
            let place = span(start, start + first.len_utf8());
            return refuse(place, format!("`{}` is not part of the language", first.escape_default()), "remove it");
        };
        Ok(Token { kind, span: span(start, self.at) })
    }

    fn operator(&self, rest: &str) -> Option<&'static str> {
        // `%(` begins a condition of SystemTap's preprocessor, and divides in D.
        let known =
            |it: &str| self.dialect == Dialect::SystemTap || it.len() == 1 || !it.starts_with('%') || it == "%=";
        OPERATORS.iter().chain(&REST).copied().find(|it| known(it) && rest.starts_with(it))
    }

    fn text_token(&mut self) -> Result<TokenKind> {
        let start = self.at;
        let mut escaped = false;
        for (at, c) in self.rest().char_indices().skip(1) {
            match c {
                _ if escaped => {
                    if !matches!(c, 'n' | 't' | 'r' | '"' | '\\') {
                        let place = span(start + at - 1, start + at + c.len_utf8());
                        let hint = "write the character itself, or one of \\n \\t \\r \\\" \\\\";
                        return refuse(place, format!("the escape `\\{}` is not translated", c.escape_default()), hint);
                    }
                    escaped = false;
                }
                '\\' => escaped = true,
                '"' => {
                    self.at = start + at + 1;
                    let text = self.text.get(start + 1..start + at).unwrap_or_default().to_owned();
                    return Ok(TokenKind::Text(text));
                }
                '\n' => break,
                c if c.is_control() && c != '\t' => {
                    let place = span(start + at, start + at + c.len_utf8());
                    return refuse(place, "a control character in a string is not translated", "write an escape");
                }
                _ => {}
            }
        }
        refuse(span(start, start + 1), "this string has no end", "end it with `\"` on the same line")
    }

    /// `'c'`, a number in D.
    fn character(&mut self) -> Result<TokenKind> {
        let start = self.at;
        let rest = self.rest();
        let mut chars = rest.chars();
        let (_, first, last) = (chars.next(), chars.next(), chars.next());
        if let (Some(c), Some('\'')) = (first, last)
            && c.is_ascii()
            && !matches!(c, '\\' | '\'')
        {
            self.at += 3;
            return Ok(TokenKind::Number(u64::from(u32::from(c))));
        }
        refuse(span(start, start + 1), "this is no character constant of one ASCII character", "write its number")
    }

    fn number(&mut self) -> Result<TokenKind> {
        let start = self.at;
        let rest = self.rest();
        let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        self.at += length;
        let written = rest.get(..length).unwrap_or_default();
        let lower = written.to_ascii_lowercase();
        let (digits, radix) = match lower.strip_prefix("0x") {
            Some(hex) => (hex, 16),
            None if lower.len() > 1 && lower.starts_with('0') => (lower.as_str(), 8),
            None => (lower.as_str(), 10),
        };
        match u64::from_str_radix(digits.trim_end_matches(['u', 'l']), radix) {
            Ok(number) if i64::try_from(number).is_ok() || radix == 16 => Ok(TokenKind::Number(number)),
            _ => refuse(span(start, self.at), format!("`{written}` is no number of 64 bits"), "write a whole number"),
        }
    }
}
