//! The template of a print format: literal text and `%` conversions.

use super::PrintErrorKind;

/// The most pieces of a template.
const MAX_PIECES: usize = 1024;
/// The widest a value is padded to.
const MAX_WIDTH: usize = 512;

/// A part of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TemplatePiece {
    Literal(String),
    Conversion(Conversion),
}

/// A number in a conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Amount {
    None,
    Fixed(usize),
    /// `*`: the next argument.
    Argument,
}

/// `%` and what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Conversion {
    pub(super) left: bool,
    pub(super) zero: bool,
    pub(super) plus: bool,
    pub(super) space: bool,
    pub(super) alternate: bool,
    pub(super) width: Amount,
    pub(super) precision: Amount,
    /// Bytes of a number.
    pub(super) bytes: u8,
    pub(super) kind: ConversionKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ConversionKind {
    Signed,
    Unsigned,
    Hex { upper: bool },
    Octal,
    Char,
    Text,
    Pointer(PointerKind),
}

/// What follows `%p`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PointerKind {
    /// The address itself.
    Plain,
    /// The function there, with the offset in it or without.
    Function { offset: bool },
    /// Bytes in hexadecimal with something between them.
    Hex(&'static str),
    /// A bitmap in hexadecimal or, if `list`, as ranges of numbers.
    Bitmap { list: bool },
    /// An address of Ethernet, with something between the bytes, and whether they are reversed.
    Mac { between: &'static str, reversed: bool },
    /// An address of IPv4, with leading zeros or without.
    Ip4 { zeros: bool },
    /// An address of IPv6, in full or shortened.
    Ip6 { short: bool, plain: bool },
    /// A `struct sockaddr`, with these of `p`, `f`, `s`, `c`.
    Socket(String),
    /// A UUID, its first parts little endian or not, in capitals or not.
    Uuid { little: bool, upper: bool },
    /// An error number in an address.
    Error,
}

impl TemplatePiece {
    /// How many arguments it takes.
    pub(super) fn arguments(&self) -> usize {
        match self {
            Self::Literal(_) => 0,
            Self::Conversion(Conversion { width, precision, .. }) => {
                1 + [width, precision].into_iter().filter(|amount| **amount == Amount::Argument).count()
            }
        }
    }

    pub(super) fn names_address(&self) -> bool {
        let is = |kind: &ConversionKind| matches!(kind, ConversionKind::Pointer(PointerKind::Function { .. }));
        matches!(self, Self::Conversion(conversion) if is(&conversion.kind))
    }
}

/// Takes a template apart; also gives how many arguments it needs.
pub(super) fn pieces(template: &[u8]) -> Result<(Vec<TemplatePiece>, usize), PrintErrorKind> {
    let template = String::from_utf8_lossy(template);
    // Some end in a line end; an event is one line.
    let mut rest = template.trim_end_matches('\n');
    let (mut pieces, mut needed) = (Vec::new(), 0);
    let mut literal = String::new();
    while let Some(at) = rest.find('%') {
        literal.push_str(rest.get(..at).unwrap_or_default());
        rest = rest.get(at + 1..).unwrap_or_default();
        if let Some(after) = rest.strip_prefix('%') {
            literal.push('%');
            rest = after;
            continue;
        }
        if pieces.len() + 2 > MAX_PIECES {
            return Err(PrintErrorKind::TooLarge);
        }
        let (conversion, after) = conversion(rest).ok_or(PrintErrorKind::Conversion)?;
        push_literal(&mut pieces, &std::mem::take(&mut literal));
        let piece = TemplatePiece::Conversion(conversion);
        needed += piece.arguments();
        pieces.push(piece);
        rest = after;
    }
    literal.push_str(rest);
    push_literal(&mut pieces, &literal);
    Ok((pieces, needed))
}

fn push_literal(pieces: &mut Vec<TemplatePiece>, literal: &str) {
    if !literal.is_empty() {
        let line = literal.replace(['\n', '\t'], " ");
        pieces.push(TemplatePiece::Literal(bathyscope_capture::visible(line.as_bytes())));
    }
}

fn amount(rest: &str) -> (Amount, &str) {
    if let Some(after) = rest.strip_prefix('*') {
        return (Amount::Argument, after);
    }
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, after) = rest.split_at_checked(end).unwrap_or(("", rest));
    let amount = if digits.is_empty() { Amount::None } else { fixed(digits.parse().unwrap_or(usize::MAX)) };
    (amount, after)
}

pub(super) fn fixed(amount: usize) -> Amount {
    Amount::Fixed(amount.min(MAX_WIDTH))
}

/// The conversion behind a `%`, and what comes after it.
fn conversion(mut rest: &str) -> Option<(Conversion, &str)> {
    let mut found = Conversion {
        left: false,
        zero: false,
        plus: false,
        space: false,
        alternate: false,
        width: Amount::None,
        precision: Amount::None,
        bytes: 4,
        kind: ConversionKind::Signed,
    };
    while let Some(flag @ ('-' | '0' | '+' | ' ' | '#')) = rest.chars().next() {
        match flag {
            '-' => found.left = true,
            '0' => found.zero = true,
            '+' => found.plus = true,
            ' ' => found.space = true,
            _ => found.alternate = true,
        }
        rest = rest.get(1..)?;
    }
    (found.width, rest) = amount(rest);
    if let Some(after) = rest.strip_prefix('.') {
        (found.precision, rest) = amount(after);
        if found.precision == Amount::None {
            found.precision = Amount::Fixed(0);
        }
    }
    for (word, bytes) in [("hh", 1), ("h", 2), ("ll", 8), ("l", 8), ("L", 8), ("z", 8), ("Z", 8), ("t", 8), ("j", 8)] {
        if let Some(after) = rest.strip_prefix(word) {
            (found.bytes, rest) = (bytes, after);
            break;
        }
    }
    let letter = rest.chars().next()?;
    rest = rest.get(letter.len_utf8()..)?;
    found.kind = match letter {
        'd' | 'i' => ConversionKind::Signed,
        'u' => ConversionKind::Unsigned,
        'x' => ConversionKind::Hex { upper: false },
        'X' => ConversionKind::Hex { upper: true },
        'o' => ConversionKind::Octal,
        'c' => ConversionKind::Char,
        's' => ConversionKind::Text,
        'p' => {
            let (kind, after) = pointer_kind(rest)?;
            rest = after;
            ConversionKind::Pointer(kind)
        }
        _ => return None,
    };
    Some((found, rest))
}

/// What the letters behind `%p` ask for, and what comes after them. Letters without a meaning are text.
fn pointer_kind(rest: &str) -> Option<(PointerKind, &str)> {
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let letters = rest.get(..end)?;
    let (kind, taken) = match letters.chars().next() {
        Some('S' | 'F' | 'B') => {
            let more = letters.get(1..)?;
            (PointerKind::Function { offset: true }, 1 + usize::from(more.starts_with(['R', 'b'])))
        }
        Some('s' | 'f') => (PointerKind::Function { offset: false }, 1),
        Some('h') => match letters.chars().nth(1) {
            Some('C') => (PointerKind::Hex(":"), 2),
            Some('D') => (PointerKind::Hex("-"), 2),
            Some('N') => (PointerKind::Hex(""), 2),
            _ => (PointerKind::Hex(" "), 1),
        },
        Some('b') if letters.starts_with("bl") => (PointerKind::Bitmap { list: true }, 2),
        Some('b') => (PointerKind::Bitmap { list: false }, 1),
        Some('M') => match letters.chars().nth(1) {
            Some('F') => (PointerKind::Mac { between: "-", reversed: false }, 2),
            Some('R') => (PointerKind::Mac { between: ":", reversed: true }, 2),
            _ => (PointerKind::Mac { between: ":", reversed: false }, 1),
        },
        Some('m') => (PointerKind::Mac { between: "", reversed: false }, 1),
        Some(family @ ('I' | 'i')) => return address_kind(family, letters.get(1..)?, rest),
        Some('U') => {
            let (little, upper, taken) = match letters.chars().nth(1) {
                Some('b') => (false, false, 2),
                Some('B') => (false, true, 2),
                Some('l') => (true, false, 2),
                Some('L') => (true, true, 2),
                _ => (false, false, 1),
            };
            (PointerKind::Uuid { little, upper }, taken)
        }
        Some('K' | 'x') => (PointerKind::Plain, 1),
        Some('e') => (PointerKind::Error, 1),
        // Structures of the kernel's memory, which is not recorded.
        Some('a' | 'C' | 'd' | 'D' | 'E' | 'g' | 'G' | 'N' | 'O' | 'r' | 'R' | 't' | 'V' | '4') => return None,
        _ => (PointerKind::Plain, 0),
    };
    Some((kind, rest.get(taken..)?))
}

fn address_kind<'a>(family: char, letters: &str, rest: &'a str) -> Option<(PointerKind, &'a str)> {
    let plain = family == 'i';
    let (kind, taken) = match letters.chars().next()? {
        '4' => {
            // Which end is first: a number in the network's order either way.
            let order = letters.chars().nth(1).is_some_and(|c| matches!(c, 'n' | 'b'));
            (PointerKind::Ip4 { zeros: plain }, 2 + usize::from(order))
        }
        '6' => {
            let short = letters.chars().nth(1) == Some('c');
            (PointerKind::Ip6 { short, plain }, 2 + usize::from(short))
        }
        'S' => {
            let with: String =
                letters.chars().skip(1).take_while(|c| matches!(c, 'p' | 'f' | 's' | 'c' | 'n')).collect();
            let taken = 2 + with.len();
            (PointerKind::Socket(with), taken)
        }
        _ => return None,
    };
    Some((kind, rest.get(taken..)?))
}
