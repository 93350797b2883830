//! The words of a print format: the C of the kernel's headers after its preprocessor.

use super::{PrintError, PrintErrorKind, number::PrintInt};

/// The most words of one format; the longest of any kernel seen has some 6000.
const MAX_WORDS: usize = 1 << 16;
/// Longest first, so that `<<` is not two `<`.
const MARKS: [&str; 32] = [
    "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "{", "}", "(", ")", "[", "]", ";", ",", ":", "*", "=", "+",
    "-", "/", "%", "<", ">", "&", "|", "^", "~", "!", "?",
];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PrintWord<'a> {
    Name(&'a str),
    Number(PrintInt),
    Text(Vec<u8>),
    Mark(&'static str),
    End,
}

/// A word and the offset of its first byte.
#[derive(Clone, Debug)]
pub(super) struct PrintToken<'a> {
    pub(super) word: PrintWord<'a>,
    pub(super) at: usize,
}

/// Takes a format apart. The last token is [`PrintWord::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<PrintToken<'_>>, PrintError> {
    let (mut tokens, mut at) = (Vec::new(), 0);
    while let Some(rest) = text.get(at..) {
        let blank = rest.len() - rest.trim_start().len();
        at += blank;
        let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) else { break };
        if tokens.len() >= MAX_WORDS {
            return Err(PrintError { offset: at, kind: PrintErrorKind::TooLarge });
        }
        let failed = |kind| PrintError { offset: at, kind };
        let (word, length) = word(rest).ok_or(failed(PrintErrorKind::Syntax))?;
        tokens.push(PrintToken { word, at });
        at += length;
    }
    tokens.push(PrintToken { word: PrintWord::End, at: text.len() });
    Ok(tokens)
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The word that `rest` begins with, and its bytes.
fn word(rest: &str) -> Option<(PrintWord<'_>, usize)> {
    let first = rest.chars().next()?;
    if let Some(mark) = MARKS.into_iter().find(|mark| rest.starts_with(mark)) {
        return Some((PrintWord::Mark(mark), mark.len()));
    }
    match first {
        '"' => {
            let (text, length) = quoted(rest, b'"')?;
            Some((PrintWord::Text(text), length))
        }
        '\'' => {
            let (text, length) = quoted(rest, b'\'')?;
            let [byte] = text.as_slice() else { return None };
            // A `char` has a sign.
            Some((PrintWord::Number(PrintInt::signed(i64::from(byte.cast_signed()))), length))
        }
        '.' => Some((PrintWord::Mark("."), 1)),
        c if is_name(c) => {
            let length = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
            let name = rest.get(..length)?;
            let word = if c.is_ascii_digit() { PrintWord::Number(number(name)?) } else { PrintWord::Name(name) };
            Some((word, length))
        }
        _ => None,
    }
}

/// A number with the type that C gives it.
fn number(text: &str) -> Option<PrintInt> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches(['u', 'l']);
    let suffix = lower.get(digits.len()..)?;
    let (digits, base) = match digits.strip_prefix("0x") {
        Some(hex) => (hex, 16),
        None => match digits.strip_prefix("0b") {
            Some(binary) => (binary, 2),
            None if digits.len() > 1 && digits.starts_with('0') => (digits, 8),
            None => (digits, 10),
        },
    };
    let bits = u64::from_str_radix(digits, base).ok()?;
    let unsigned = suffix.contains('u');
    let wide = suffix.contains('l');
    // Only numbers that are not in base ten become unsigned by their size.
    let (bytes, signed) = if !wide && !unsigned && bits <= i32::MAX as u64 {
        (4, true)
    } else if !wide && (unsigned || base != 10) && bits <= u64::from(u32::MAX) {
        (4, false)
    } else {
        (8, !unsigned && bits <= i64::MAX as u64)
    };
    Some(PrintInt { bits, bytes, signed })
}

/// The bytes of a text in quotes with C's escapes, and the bytes it takes with the quotes.
fn quoted(rest: &str, quote: u8) -> Option<(Vec<u8>, usize)> {
    let bytes = rest.as_bytes();
    let (mut text, mut at) = (Vec::new(), 1);
    loop {
        let byte = *bytes.get(at)?;
        at += 1;
        if byte == quote {
            return Some((text, at));
        }
        if byte != b'\\' {
            text.push(byte);
            continue;
        }
        let escape = *bytes.get(at)?;
        at += 1;
        let digits = |base: u32, most: usize, from: usize| {
            let digit = |byte: &u8| char::from(*byte).to_digit(base);
            let found: Vec<u32> = bytes.get(from..)?.iter().map_while(digit).take(most).collect();
            let value = found.iter().fold(0_u32, |value, digit| value * base + digit);
            Some((value as u8, found.len()))
        };
        text.push(match escape {
            b'n' => b'\n',
            b't' => b'\t',
            b'r' => b'\r',
            b'a' => 7,
            b'b' => 8,
            b'f' => 12,
            b'v' => 11,
            b'e' => 27,
            b'x' => {
                let (value, count) = digits(16, 2, at)?;
                at += count;
                value
            }
            b'0'..=b'7' => {
                let (value, count) = digits(8, 3, at - 1)?;
                at += count - 1;
                value
            }
            other => other,
        });
    }
}
