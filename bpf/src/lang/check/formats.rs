//! Formats of `printf` and its kin.

use bathyscope_plan::{Conversion, FormatPiece, Shown, Span, Type};

use super::{
    Checked,
    body::BodyChecker,
    describe::{describe, number},
};
use crate::lang::hir::TypedExpr;

/// The largest width or precision.
const MAX_WIDTH: u32 = 4096;

/// What is wrong with a format.
pub(super) struct FormatError(pub(super) String, pub(super) &'static str);

/// A format's pieces.
pub(super) fn pieces(format: &[u8]) -> Result<Vec<FormatPiece>, FormatError> {
    let (mut pieces, mut literal, mut rest) = (Vec::new(), Vec::new(), format);
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'%' {
            literal.push(*byte);
            continue;
        }
        if let Some(after) = rest.strip_prefix(b"%") {
            literal.push(b'%');
            rest = after;
            continue;
        }
        let (conversion, after) = conversion(rest)?;
        if !literal.is_empty() {
            pieces.push(FormatPiece::Literal(std::mem::take(&mut literal)));
        }
        pieces.push(FormatPiece::Field(conversion));
        rest = after;
    }
    if !literal.is_empty() {
        pieces.push(FormatPiece::Literal(literal));
    }
    Ok(pieces)
}

fn conversion(text: &[u8]) -> Result<(Conversion, &[u8]), FormatError> {
    let mut conversion = Conversion::default();
    let mut rest = text;
    while let Some((flag, after)) = rest.split_first() {
        match flag {
            b'-' => conversion.left = true,
            b'0' => conversion.zeros = true,
            b'+' => conversion.plus = true,
            b' ' => conversion.blank = true,
            b'#' => conversion.alternate = true,
            b'\'' => {}
            _ => break,
        }
        rest = after;
    }
    if rest.first() == Some(&b'*') {
        return Err(FormatError("`*` is no width in a format".to_owned(), "write the number"));
    }
    (conversion.width, rest) = decimal(rest)?;
    if let Some(after) = rest.strip_prefix(b".") {
        let (precision, after) = decimal(after)?;
        conversion.precision = Some(precision.unwrap_or(0));
        rest = after;
    }
    // As in C: without a length a number is shown as an `int`.
    let mut bytes = 4;
    while let Some((length @ (b'h' | b'l' | b'j' | b'z' | b't' | b'q' | b'L'), after)) = rest.split_first() {
        bytes = match (length, bytes) {
            (b'h', 2) => 1,
            (b'h', _) => 2,
            _ => 8,
        };
        rest = after;
    }
    let Some((letter, after)) = rest.split_first() else {
        return Err(FormatError("the format ends within a conversion".to_owned(), "write `%%` for a percent sign"));
    };
    rest = after;
    match letter {
        b'd' | b'i' | b'u' | b'x' | b'X' | b'o' | b'c' | b'p' | b's' | b'b' | b'B' => {
            conversion.letter = char::from(*letter);
            if matches!(letter, b'd' | b'i' | b'u' | b'x' | b'X' | b'o') {
                conversion.bytes = bytes;
            }
        }
        b'r' => {
            conversion.letter = 'r';
            if let Some((raw @ (b'x' | b'h'), after)) = rest.split_first() {
                conversion.raw = Some(char::from(*raw));
                rest = after;
            }
        }
        b'g' if rest.first() == Some(&b'r') => {
            (conversion.letter, conversion.raw) = ('r', Some('g'));
            rest = rest.get(1..).unwrap_or_default();
        }
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            let message = format!("`%{}` needs a floating-point number, which there is not", char::from(*letter));
            return Err(FormatError(message, "use `%d`; `%d.%03d` with a division and a remainder shows fractions"));
        }
        other => {
            let shown =
                if other.is_ascii_graphic() { char::from(*other).to_string() } else { format!("\\x{other:02x}") };
            return Err(FormatError(format!("there is no conversion `%{shown}`"), "write `%%` for a percent sign"));
        }
    }
    Ok((conversion, rest))
}

fn decimal(text: &[u8]) -> Result<(Option<u32>, &[u8]), FormatError> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    if digits.is_empty() {
        return Ok((None, rest));
    }
    let number = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).filter(|n| *n <= MAX_WIDTH);
    match number {
        Some(number) => Ok((Some(number), rest)),
        None => Err(FormatError(format!("a width of a format is at most {MAX_WIDTH}"), "")),
    }
}

impl BodyChecker<'_, '_> {
    /// The pieces of a format, of which each conversion suits its value.
    pub(super) fn format(
        &mut self,
        format: &[u8],
        at: Span,
        values: &[TypedExpr],
        call: Span,
    ) -> Checked<Vec<FormatPiece>> {
        let pieces = match pieces(format) {
            Ok(pieces) => pieces,
            Err(FormatError(message, hint)) => return self.fail(at, message, hint),
        };
        let conversions: Vec<Conversion> = pieces
            .iter()
            .filter_map(|piece| if let FormatPiece::Field(it) = piece { Some(*it) } else { None })
            .collect();
        if conversions.len() != values.len() {
            let message = format!(
                "the format has {} and there {}",
                counted(conversions.len(), "conversion"),
                match values.len() {
                    0 => "are no values".to_owned(),
                    1 => "is 1 value".to_owned(),
                    count => format!("are {count} values"),
                }
            );
            let hint = if conversions.len() > values.len() {
                "give a value for each `%`"
            } else {
                "add a conversion for each value"
            };
            return self.fail(call, message, hint);
        }
        let mut failed = false;
        for (conversion, value) in conversions.iter().zip(values) {
            failed |= self.conversion(*conversion, value).is_err();
        }
        if failed { Err(super::Failed) } else { Ok(pieces) }
    }

    fn conversion(&mut self, conversion: Conversion, value: &TypedExpr) -> Checked<()> {
        let ty = &value.ty;
        let written = match conversion {
            Conversion { letter: 'r', raw: Some('g'), .. } => "%gr".to_owned(),
            Conversion { letter, raw: Some(raw), .. } => format!("%{letter}{raw}"),
            Conversion { letter, .. } => format!("%{letter}"),
        };
        let fits = match (conversion.letter, conversion.raw) {
            ('r', Some('g')) => number(ty).is_some(),
            ('r', _) => matches!(ty, Type::Buffer { .. } | Type::Text { .. } | Type::Shown(Shown::Mac)),
            ('s', _) => !matches!(ty, Type::None | Type::Aggregate(_)),
            ('p', _) => number(ty).is_some() || matches!(ty, Type::Pointer { .. } | Type::Shown(Shown::KernelSymbol)),
            _ => number(ty).is_some() || matches!(ty, Type::Pointer { .. }) || is_number_shown(ty),
        };
        if fits {
            return Ok(());
        }
        let hint = match (conversion.letter, ty) {
            ('r', Type::Array { .. }) => "use `buf(…)` with `%r`",
            ('r', _) => "use `buf(address, length)`",
            (_, Type::Text { .. }) => "use `%s`",
            (_, Type::Buffer { .. }) => "use `%r`",
            (_, _) if is_text_like(ty) => "use `%s`",
            _ => "",
        };
        self.fail(value.span, format!("`{written}` cannot show {}", describe(ty)), hint)
    }
}

fn counted(count: usize, what: &str) -> String {
    match count {
        0 => format!("no {what}s"),
        1 => format!("1 {what}"),
        count => format!("{count} {what}s"),
    }
}

/// What is shown as text.
fn is_text_like(ty: &Type) -> bool {
    matches!(ty, Type::Text { .. } | Type::Shown(_) | Type::Stack { .. } | Type::Enum { .. } | Type::Bool)
}

/// What is shown as text and is also a number.
fn is_number_shown(ty: &Type) -> bool {
    matches!(
        ty,
        Type::Shown(
            Shown::Username
                | Shown::ProcessName
                | Shown::Strerror
                | Shown::SignalName
                | Shown::SyscallName
                | Shown::FlagNames { .. }
        )
    )
}
