//! The words of a script, and how numbers and texts are read.

use bathyscope_plan::{Diagnostic, Span};

/// Words that name parts of the language and so nothing else.
pub(super) const RESERVED: &[&str] = &[
    "break", "config", "continue", "else", "enum", "for", "if", "import", "let", "macro", "offsetof", "return",
    "sizeof", "struct", "typedef", "union", "unroll", "while",
];

/// A word of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token<'a> {
    /// A name or keyword.
    Word(&'a str),
    /// A number; a duration in nanoseconds.
    Integer { value: u64, unsigned: bool },
    /// A text without its quotes, escapes resolved.
    Text(Vec<u8>),
    /// `$name`, without the `$`.
    Variable(&'a str),
    /// `$1`.
    Positional(u32),
    /// `$#`.
    PositionalCount,
    /// `@name`, without the `@`.
    Map(&'a str),
    /// An operator or bracket.
    Mark(&'static str),
    /// No word of the language; why. Reported when the parser comes to it.
    Bad(Box<Diagnostic>),
    /// The end of the text.
    End,
}

/// A token and its place.
#[derive(Clone, Debug)]
pub(super) struct SpannedToken<'a> {
    pub(super) token: Token<'a>,
    pub(super) span: Span,
}

/// Operators and brackets, longer ones first.
const MARKS: &[&str] = &[
    "<<=", ">>=", "->", "++", "--", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "+=", "-=", "*=", "/=", "%=", "&=",
    "|=", "^=", "..", "{", "}", "(", ")", "[", "]", ";", ",", ":", "?", ".", "+", "-", "*", "/", "%", "&", "|", "^",
    "~", "!", "=", "<", ">",
];

/// The operator or bracket with which `rest` begins.
pub(super) fn mark(rest: &[u8]) -> Option<&'static str> {
    MARKS.iter().copied().find(|mark| rest.starts_with(mark.as_bytes()))
}

/// Whether `byte` may stand in a name.
pub(super) fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What is wrong with a number, and what would be right.
type NumberError = (String, &'static str);

/// The value of a number's text (letters, digits and `_`), and whether it was written as unsigned.
pub(in super::super) fn number(text: &str) -> Result<(u64, bool), NumberError> {
    let plain = text.replace('_', "");
    if let Some(digits) = plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X")) {
        return radix(text, digits, 16);
    }
    if plain.starts_with("0b") || plain.starts_with("0B") {
        return Err((format!("the language has no binary numbers such as `{text}`"), "write it with `0x`"));
    }
    let split = plain.find(|it: char| !it.is_ascii_digit()).unwrap_or(plain.len());
    let (digits, rest) = plain.split_at(split);
    if let Some(factor) = duration_ns(rest) {
        let value = decimal(text, digits)?;
        return value.checked_mul(factor).map(|value| (value, value > i64::MAX as u64)).ok_or_else(|| too_large(text));
    }
    if let Some(exponent) = rest.strip_prefix('e').or_else(|| rest.strip_prefix('E')) {
        let end = exponent.find(|it: char| !it.is_ascii_digit()).unwrap_or(exponent.len());
        let (exponent, suffix) = exponent.split_at(end);
        if exponent.is_empty() {
            return Err((format!("`{text}` is no number: there are no digits after the `e`"), ""));
        }
        let factor = exponent.parse().ok().and_then(|it| 10_u64.checked_pow(it)).ok_or_else(|| too_large(text))?;
        let value = decimal(text, digits)?.checked_mul(factor).ok_or_else(|| too_large(text))?;
        return suffixed(text, value, suffix);
    }
    if digits.len() > 1 && digits.starts_with('0') {
        return radix(text, &plain[1..], 8);
    }
    suffixed(text, decimal(text, digits)?, rest)
}

fn decimal(text: &str, digits: &str) -> Result<u64, NumberError> {
    digits.parse().map_err(|_error| too_large(text))
}

fn too_large(text: &str) -> NumberError {
    (format!("the number `{text}` does not fit into 64 bits"), "")
}

fn radix(text: &str, digits: &str, radix: u32) -> Result<(u64, bool), NumberError> {
    let split = digits.find(|it: char| !it.is_digit(radix)).unwrap_or(digits.len());
    let (digits, suffix) = digits.split_at(split);
    if digits.is_empty() {
        return Err((format!("`{text}` is no number: there are no digits of base {radix} in it"), ""));
    }
    if radix == 8 && suffix.starts_with(|it: char| it.is_ascii_digit()) {
        return Err((
            format!("`{text}` has a digit that octal numbers do not have"),
            "a number that begins with 0 is octal",
        ));
    }
    let value = u64::from_str_radix(digits, radix).map_err(|_error| too_large(text))?;
    suffixed(text, value, suffix)
}

fn suffixed(text: &str, value: u64, suffix: &str) -> Result<(u64, bool), NumberError> {
    let unsigned = match suffix.to_ascii_lowercase().as_str() {
        "" | "l" | "ll" => false,
        "u" | "ul" | "ull" | "lu" | "llu" => true,
        _ => {
            return Err((
                format!("`{suffix}` after a number, in `{text}`, means nothing"),
                "durations end in ns, us, ms, s, m, h or d; C's U, L, UL, LL and ULL are accepted",
            ));
        }
    };
    Ok((value, unsigned || value > i64::MAX as u64))
}

/// Nanoseconds of a unit of time.
fn duration_ns(unit: &str) -> Option<u64> {
    Some(match unit {
        "ns" => 1,
        "us" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60 * 1_000_000_000,
        "h" => 3_600 * 1_000_000_000,
        "d" => 86_400 * 1_000_000_000,
        _ => return None,
    })
}

/// A text read from `bytes` at `start`, where its quote is: what it says, and the first byte after it. If it is wrong: the
/// place of the mistake, what it is, and where to go on.
pub(super) fn text(bytes: &[u8], start: usize) -> Result<(Vec<u8>, usize), (usize, String, usize)> {
    let (mut at, mut value, mut wrong) = (start + 1, Vec::new(), None);
    loop {
        match bytes.get(at) {
            Some(b'"') => break,
            None | Some(b'\n') => return Err((start, "the text has no closing `\"` on its line".to_owned(), at)),
            Some(b'\\') => match escape(bytes, at + 1) {
                Ok((byte, next)) => {
                    value.push(byte);
                    at = next;
                }
                Err(message) => {
                    wrong.get_or_insert((at, message));
                    at += if matches!(bytes.get(at + 1), None | Some(b'\n')) { 1 } else { 2 };
                }
            },
            Some(byte) => {
                value.push(*byte);
                at += 1;
            }
        }
    }
    match wrong {
        Some((place, message)) => Err((place, message, at + 1)),
        None => Ok((value, at + 1)),
    }
}

/// The byte that the escape at `at` (after the backslash) means, and the first byte after it.
fn escape(bytes: &[u8], at: usize) -> Result<(u8, usize), String> {
    let digits = |from: usize, most: usize, radix: u32| {
        let count = bytes.iter().skip(from).take(most).take_while(|it| char::from(**it).is_digit(radix)).count();
        let value = bytes
            .iter()
            .skip(from)
            .take(count)
            .fold(0_u32, |value, it| value * radix + char::from(*it).to_digit(radix).unwrap_or(0));
        (count, value)
    };
    let simple = |byte| Ok((byte, at + 1));
    match bytes.get(at) {
        Some(b'n') => simple(b'\n'),
        Some(b't') => simple(b'\t'),
        Some(b'r') => simple(b'\r'),
        Some(b'\\') => simple(b'\\'),
        Some(b'"') => simple(b'"'),
        Some(b'x') => match digits(at + 1, 2, 16) {
            (0, _) => Err("`\\x` needs one or two hexadecimal digits".to_owned()),
            (count, value) => Ok((u8::try_from(value).unwrap_or(u8::MAX), at + 1 + count)),
        },
        Some(b'0'..=b'7') => {
            let (count, value) = digits(at, 3, 8);
            let byte = u8::try_from(value).map_err(|_error| "an octal escape is at most `\\377`".to_owned())?;
            Ok((byte, at + count))
        }
        Some(other) if other.is_ascii_graphic() => {
            Err(format!("`\\{}` means nothing; there are \\n \\t \\r \\\\ \\\" \\0nn and \\xnn", char::from(*other)))
        }
        _ => Err("a backslash must be followed by n, t, r, \\, \", octal digits or xnn".to_owned()),
    }
}
