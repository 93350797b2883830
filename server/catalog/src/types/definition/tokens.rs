//! The words of C definitions.

use std::ops::Range;

use super::DefinitionError;

/// The longest text of definitions, in bytes.
pub(super) const MAX_TEXT_BYTES: usize = 1 << 20;
/// Longest first, so that `<<` is not two `<`.
const MARKS: [&str; 33] = [
    "...", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "{", "}", "(", ")", "[", "]", ";", ",", ":", "*", "=", "+",
    "-", "/", "%", "<", ">", "&", "|", "^", "~", "!", "?", ".",
];

/// A number with its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DefinitionValue {
    pub(super) number: i128,
    /// Whether the type has 64 bits, not 32.
    pub(super) wide: bool,
    pub(super) unsigned: bool,
}

impl DefinitionValue {
    /// A number of the smallest signed type that has it, from `int` on.
    pub(super) fn new(number: i128) -> Self {
        let unsigned = i64::try_from(number).is_err();
        Self { number, wide: unsigned || i32::try_from(number).is_err(), unsigned }
    }

    /// What an operation gives in the type of its operands: unsigned numbers wrap around, signed ones must not.
    pub(super) fn typed(number: i128, wide: bool, unsigned: bool) -> Option<Self> {
        let (bits, value) = (if wide { 64 } else { 32 }, Self { number, wide, unsigned });
        if unsigned {
            return Some(Self { number: number & ((1 << bits) - 1), ..value });
        }
        let half = 1_i128 << (bits - 1);
        (-half..half).contains(&number).then_some(value)
    }
}

/// What a word is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DefinitionWord<'a> {
    Name(&'a str),
    Number(DefinitionValue),
    Text(&'a str),
    Mark(&'static str),
    End,
}

/// A word and where it is.
#[derive(Clone, Debug)]
pub(super) struct DefinitionToken<'a> {
    pub(super) word: DefinitionWord<'a>,
    pub(super) at: Range<usize>,
}

impl DefinitionWord<'_> {
    /// For messages.
    pub(super) fn shown(self) -> String {
        match self {
            Self::Name(name) => format!("`{name}`"),
            Self::Number(value) => format!("`{}`", value.number),
            Self::Text(_) => "a string".to_owned(),
            Self::Mark(mark) => format!("`{mark}`"),
            Self::End => "the end".to_owned(),
        }
    }
}

/// Takes a text apart. The last token is [`DefinitionWord::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<DefinitionToken<'_>>, DefinitionError> {
    if text.len() > MAX_TEXT_BYTES {
        let message = format!("the definitions are longer than {MAX_TEXT_BYTES} bytes");
        return Err(DefinitionError { at: MAX_TEXT_BYTES..text.len(), message, suggestion: None });
    }
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or_default();
        if first.is_whitespace() {
            at += first.len_utf8();
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
        } else if let Some(inside) = rest.strip_prefix("/*") {
            let Some(length) = inside.find("*/") else {
                return Err(error(at..at + 2, "this comment has no end", Some("End it with `*/`.")));
            };
            at += length + 4;
        } else if first == '\\' && rest.get(1..).is_some_and(|rest| rest.starts_with(['\n', '\r'])) {
            at += 1;
        } else {
            let (word, length) = word(rest, at)?;
            tokens.push(DefinitionToken { word, at: at..at + length });
            at += length;
        }
    }
    tokens.push(DefinitionToken { word: DefinitionWord::End, at: text.len()..text.len() });
    Ok(tokens)
}

/// The first word of `rest`, which is at `at` of the text, and its length.
fn word(rest: &str, at: usize) -> Result<(DefinitionWord<'_>, usize), DefinitionError> {
    let first = rest.chars().next().unwrap_or_default();
    let length = || rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
    if first.is_ascii_alphabetic() || first == '_' {
        let length = length();
        return Ok((DefinitionWord::Name(rest.get(..length).unwrap_or_default()), length));
    }
    if first.is_ascii_digit() {
        let length = length();
        let digits = rest.get(..length).unwrap_or_default();
        let number = number(digits).ok_or_else(|| {
            let what = format!("`{digits}` is no number of at most 64 bits");
            error(at..at + length, &what, Some("Write it as 42, 052, 0x2a or 0b101010."))
        })?;
        return Ok((DefinitionWord::Number(number), length));
    }
    if first == '\'' {
        let (value, length) = character(rest)
            .ok_or_else(|| error(at..at + 1, "this is no character", Some("Write it as 'a', '\\n' or '\\x41'.")))?;
        return Ok((DefinitionWord::Number(DefinitionValue::new(i128::from(value))), length));
    }
    if first == '"' {
        let inside = rest.get(1..).unwrap_or_default();
        return match inside.find(['"', '\n']) {
            Some(end) if inside.get(end..).is_some_and(|rest| rest.starts_with('"')) => {
                Ok((DefinitionWord::Text(inside.get(..end).unwrap_or_default()), end + 2))
            }
            _ => Err(error(at..at + 1, "this string has no end", Some("End it with `\"`."))),
        };
    }
    if let Some(mark) = MARKS.iter().find(|mark| rest.starts_with(**mark)) {
        return Ok((DefinitionWord::Mark(mark), mark.len()));
    }
    let (what, how) = match first {
        '#' => ("a line of the preprocessor cannot stand inside of definitions", Some("Put it before them.")),
        '$' | '@' => ("variables and maps cannot stand in C definitions", None),
        _ => ("this sign has no meaning in C definitions", None),
    };
    Err(error(at..at + first.len_utf8(), what, how))
}

/// A number as C writes it. Its suffix and its size say which type it has.
fn number(text: &str) -> Option<DefinitionValue> {
    let lower = text.to_ascii_lowercase();
    let digits = lower.trim_end_matches(['u', 'l']);
    let suffix = lower.get(digits.len()..)?;
    if suffix.matches('u').count() > 1 || suffix.matches('l').count() > 2 {
        return None;
    }
    let number = match digits {
        "0" => Some(0),
        _ if digits.starts_with("0x") => u64::from_str_radix(digits.get(2..)?, 16).ok(),
        _ if digits.starts_with("0b") => u64::from_str_radix(digits.get(2..)?, 2).ok(),
        _ if digits.starts_with('0') => u64::from_str_radix(digits.get(1..)?, 8).ok(),
        _ => digits.parse().ok(),
    }?;
    let bits = u64::BITS - number.leading_zeros();
    // Only what is written in bits becomes unsigned rather than wide.
    let in_bits = digits.starts_with('0');
    let mut unsigned = suffix.contains('u') || bits == 64;
    let wide = suffix.contains('l') || bits > 32 || (bits == 32 && !unsigned && !in_bits);
    unsigned |= in_bits && bits == 32 && !wide;
    Some(DefinitionValue { number: i128::from(number), wide, unsigned })
}

/// A character in quotes, and its length with them.
fn character(rest: &str) -> Option<(u64, usize)> {
    let inside = rest.strip_prefix('\'')?;
    let end = inside.get(1..)?.find('\'')? + 1;
    let value = match inside.get(..end)? {
        "\\n" => 10,
        "\\t" => 9,
        "\\r" => 13,
        "\\0" => 0,
        "\\\\" => 92,
        "\\'" => 39,
        escaped if escaped.starts_with("\\x") => u64::from(u8::from_str_radix(escaped.get(2..)?, 16).ok()?),
        plain if plain.len() == 1 && plain != "\\" => u64::from(plain.bytes().next()?),
        _ => return None,
    };
    Some((value, end + 2))
}

pub(super) fn error(at: Range<usize>, message: &str, suggestion: Option<&str>) -> DefinitionError {
    DefinitionError { at, message: message.to_owned(), suggestion: suggestion.map(str::to_owned) }
}
