//! Values → text, as `printf` and the kernel's `vsnprintf` write them.

use std::slice;

use bathyscope_capture::visible;

use super::{
    EventValues, MAX_PRINTED_BYTES, NoText,
    evaluate::{Evaluator, PrintValue, until_nul},
    expression::Expr,
    number::extended,
    pointer,
    template::{Amount, Conversion, ConversionKind, PointerKind, TemplatePiece, fixed},
};

/// What stands for a value that only the running kernel knows.
const HIDDEN: &str = "?";

pub(super) fn write(
    pieces: &[TemplatePiece],
    arguments: &[Expr],
    values: &dyn EventValues,
    out: &mut String,
) -> Result<(), NoText> {
    let evaluator = Evaluator::new(values);
    let mut arguments = arguments.iter();
    let most = out.len() + MAX_PRINTED_BYTES;
    for piece in pieces {
        match piece {
            TemplatePiece::Literal(text) => out.push_str(text),
            TemplatePiece::Conversion(conversion) => conversion.write(&evaluator, &mut arguments, out)?,
        }
        if out.len() > most {
            out.truncate(out.floor_char_boundary(most));
            out.push('…');
            break;
        }
    }
    Ok(())
}

impl Conversion {
    fn write<'a>(
        &self,
        evaluator: &Evaluator<'a>,
        arguments: &mut slice::Iter<'a, Expr>,
        out: &mut String,
    ) -> Result<(), NoText> {
        let mut left = self.left;
        let width = match resolved(self.width, evaluator, arguments)? {
            Some(width) if width < 0 => {
                left = true;
                Some(width)
            }
            width => width,
        };
        let width = width.map(|width| width.unsigned_abs() as usize);
        let precision = resolved(self.precision, evaluator, arguments)?;
        // A negative one is as none.
        let precision = precision.and_then(|precision| usize::try_from(precision).ok());
        let value = evaluator.value(arguments.next().ok_or(NoText)?)?;
        let text = match value {
            PrintValue::Hidden => HIDDEN.to_owned(),
            value => self.text(evaluator, value, (width, precision))?,
        };
        let is_number = !matches!(self.kind, ConversionKind::Char | ConversionKind::Text);
        let wide = match self.kind {
            // There it says how many bytes or bits there are.
            ConversionKind::Pointer(PointerKind::Hex(_) | PointerKind::Bitmap { .. }) => 0,
            _ => width.unwrap_or(0),
        };
        let zeros = self.zero && !left && is_number && precision.is_none();
        pad(out, &text, wide, left, zeros);
        Ok(())
    }

    fn text(
        &self,
        evaluator: &Evaluator<'_>,
        value: PrintValue<'_>,
        (width, precision): (Option<usize>, Option<usize>),
    ) -> Result<String, NoText> {
        let bits = match (&self.kind, value) {
            (ConversionKind::Pointer(kind), PrintValue::Int(number)) => return address(kind, number.bits, evaluator),
            (ConversionKind::Pointer(kind), PrintValue::Text(bytes) | PrintValue::Array { bytes, .. }) => {
                return pointer::of_bytes(kind, &bytes, width).ok_or(NoText);
            }
            (ConversionKind::Text, PrintValue::Text(bytes) | PrintValue::Array { bytes, .. }) => {
                let text = until_nul(bytes);
                let most = precision.unwrap_or(MAX_PRINTED_BYTES);
                return Ok(visible(text.get(..most).unwrap_or(&text)));
            }
            // The address of a text that was not recorded.
            (ConversionKind::Text, PrintValue::Int(number)) => {
                return Ok(if number.bits == 0 { "(null)".to_owned() } else { format!("{:#x}", number.bits) });
            }
            (_, PrintValue::Int(number)) => number.bits,
            (_, PrintValue::Text(_) | PrintValue::Array { .. } | PrintValue::Hidden) => return Err(NoText),
        };
        Ok(self.number(bits, precision))
    }

    fn number(&self, bits: u64, precision: Option<usize>) -> String {
        let unsigned = extended(bits, self.bytes, false);
        let (sign, digits) = match self.kind {
            ConversionKind::Char => return visible(&[bits as u8]),
            ConversionKind::Hex { upper: false } => ("", format!("{unsigned:x}")),
            ConversionKind::Hex { upper: true } => ("", format!("{unsigned:X}")),
            ConversionKind::Octal => ("", format!("{unsigned:o}")),
            ConversionKind::Unsigned => ("", unsigned.to_string()),
            ConversionKind::Signed | ConversionKind::Text | ConversionKind::Pointer(_) => {
                let signed = extended(bits, self.bytes, true).cast_signed();
                let sign = match (signed < 0, self.plus, self.space) {
                    (true, ..) => "-",
                    (false, true, _) => "+",
                    (false, false, true) => " ",
                    (false, false, false) => "",
                };
                (sign, signed.unsigned_abs().to_string())
            }
        };
        let prefix = match self.kind {
            // Unlike C's, the kernel's writes it for zero as well.
            ConversionKind::Hex { upper: false } if self.alternate => "0x",
            ConversionKind::Hex { upper: true } if self.alternate => "0X",
            ConversionKind::Octal if self.alternate => "0",
            _ => sign,
        };
        format!("{prefix}{digits:0>least$}", least = precision.unwrap_or(0))
    }
}

/// The amount that a conversion gives or takes from the arguments.
fn resolved<'a>(
    amount: Amount,
    evaluator: &Evaluator<'a>,
    arguments: &mut slice::Iter<'a, Expr>,
) -> Result<Option<i64>, NoText> {
    let signed = |amount: usize| i64::try_from(amount).unwrap_or(i64::MAX);
    match amount {
        Amount::None => Ok(None),
        Amount::Fixed(amount) => Ok(Some(signed(amount))),
        Amount::Argument => match evaluator.value(arguments.next().ok_or(NoText)?)? {
            PrintValue::Int(number) => {
                let given = extended(number.bits, 4, true).cast_signed();
                let Amount::Fixed(limited) = fixed(given.unsigned_abs() as usize) else { return Err(NoText) };
                Ok(Some(if given < 0 { -signed(limited) } else { signed(limited) }))
            }
            _ => Err(NoText),
        },
    }
}

fn address(kind: &PointerKind, bits: u64, evaluator: &Evaluator<'_>) -> Result<String, NoText> {
    Ok(match kind {
        PointerKind::Function { offset } => match evaluator.name_of(bits) {
            Some(found) if *offset => {
                // A module's name comes last.
                let (name, module) = match found.name.split_once(' ') {
                    Some((name, module)) => (name, format!(" {module}")),
                    None => (found.name.as_str(), String::new()),
                };
                visible(format!("{name}+{:#x}{module}", found.offset).as_bytes())
            }
            Some(found) => visible(found.name.as_bytes()),
            None => format!("{bits:#x}"),
        },
        PointerKind::Plain => format!("{bits:#x}"),
        PointerKind::Error => bits.cast_signed().to_string(),
        // An address where bytes were wanted: they are in the kernel's memory, not in the event.
        _ => return Err(NoText),
    })
}

fn pad(out: &mut String, text: &str, width: usize, left: bool, zeros: bool) {
    let missing = width.saturating_sub(text.chars().count());
    if left {
        out.push_str(text);
        out.extend(std::iter::repeat_n(' ', missing));
    } else if zeros {
        // Behind a sign or `0x`.
        let digits = text.strip_prefix("0x").or(text.strip_prefix("0X")).or(text.strip_prefix(['-', '+', ' ']));
        let digits = digits.unwrap_or(text);
        out.push_str(text.get(..text.len() - digits.len()).unwrap_or_default());
        out.extend(std::iter::repeat_n('0', missing));
        out.push_str(digits);
    } else {
        out.extend(std::iter::repeat_n(' ', missing));
        out.push_str(text);
    }
}
