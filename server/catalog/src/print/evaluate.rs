//! The value of an expression for one event.

use std::{borrow::Cow, cell::RefCell, collections::HashMap, fmt::Write as _};

use super::{
    AddressName, EventValues, FieldValue, MAX_PRINTED_BYTES, NoText,
    expression::{CastType, Expr, Named},
    number::{BinaryOp, PrintInt, UnaryOp, extended},
    pointer,
};

/// What an expression gives.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum PrintValue<'a> {
    Int(PrintInt),
    Text(Cow<'a, [u8]>),
    /// An array, or the address of one.
    Array {
        bytes: Cow<'a, [u8]>,
        width: u8,
        signed: bool,
    },
    /// Only the running kernel knows it.
    Hidden,
}

/// Evaluates expressions for one event.
pub(super) struct Evaluator<'a> {
    values: &'a dyn EventValues,
    locals: RefCell<HashMap<usize, PrintValue<'a>>>,
}

/// An event without anything, for constants.
struct Nothing;

impl EventValues for Nothing {
    fn field(&self, _index: usize) -> Option<FieldValue<'_>> {
        None
    }

    fn name_of(&self, _address: u64) -> Option<AddressName> {
        None
    }
}

/// The value of an expression that is one for every event.
pub(super) fn constant(expr: &Expr) -> Option<u64> {
    match Evaluator::new(&Nothing).value(expr) {
        Ok(PrintValue::Int(number)) => Some(number.bits),
        _ => None,
    }
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(values: &'a dyn EventValues) -> Self {
        Self { values, locals: RefCell::default() }
    }

    pub(super) fn value(&self, expr: &'a Expr) -> Result<PrintValue<'a>, NoText> {
        Ok(match expr {
            Expr::Number(number) => PrintValue::Int(*number),
            Expr::Text(text) => PrintValue::Text(Cow::Borrowed(text)),
            Expr::Hidden => PrintValue::Hidden,
            Expr::Field(index) => self.field(*index)?,
            Expr::LengthOf(index) => self.length(*index)?,
            Expr::Local(slot) => self.locals.borrow().get(slot).cloned().ok_or(NoText)?,
            Expr::Block(variables, result) => {
                for (slot, value) in variables {
                    let value = self.value(value)?;
                    self.locals.borrow_mut().insert(*slot, value);
                }
                self.value(result)?
            }
            Expr::Index(both) => element(&self.value(&both.0)?, &self.value(&both.1)?)?,
            Expr::Dereference(of) => element(&self.value(of)?, &PrintValue::Int(PrintInt::signed(0)))?,
            Expr::Cast(to, of) => cast(*to, self.value(of)?),
            Expr::Unary(op, of) => match (self.value(of)?, op) {
                (PrintValue::Int(number), op) => PrintValue::Int(number.unary(*op)),
                (PrintValue::Hidden, _) => PrintValue::Hidden,
                // Of an array there is an address.
                (PrintValue::Text(_) | PrintValue::Array { .. }, UnaryOp::Not) => PrintValue::Int(PrintInt::signed(0)),
                (PrintValue::Text(_) | PrintValue::Array { .. }, _) => return Err(NoText),
            },
            Expr::Binary(op, both) => self.binary(*op, both)?,
            Expr::Choice(parts) => match truth(&self.value(&parts.0)?) {
                Some(true) => self.value(&parts.1)?,
                Some(false) => self.value(&parts.2)?,
                None => PrintValue::Hidden,
            },
            Expr::Flags { value, between, names } => flags(self.value(value)?, between, names)?,
            Expr::Symbolic { value, names } => symbolic(self.value(value)?, names)?,
            Expr::Hex { between, what } => {
                let (bytes, count) = (self.bytes(&what.0)?, self.count(&what.1)?);
                hex(bytes.get(..count).unwrap_or(&bytes), between)
            }
            Expr::Array(parts) => {
                let (bytes, count) = (self.bytes(&parts.0)?, self.count(&parts.1)?);
                numbers(&bytes, count, self.count(&parts.2)?)?
            }
            Expr::Bits(of) => PrintValue::Text(pointer::bits(&self.bytes(of)?, None).into_bytes().into()),
            Expr::SocketAddress(of) => {
                let text = pointer::socket_address(&self.bytes(of)?, "pc").ok_or(NoText)?;
                PrintValue::Text(text.into_bytes().into())
            }
            Expr::DiskName(of) => match self.text(of)? {
                text if text.is_empty() => PrintValue::Text(text),
                text => PrintValue::Text([b"disk=", &*text, b", "].concat().into()),
            },
        })
    }

    fn field(&self, index: usize) -> Result<PrintValue<'a>, NoText> {
        Ok(match self.values.field(index).ok_or(NoText)? {
            FieldValue::Number { bits, bytes, signed } => PrintValue::Int(PrintInt::read(bits, bytes, signed)),
            FieldValue::Text(text) => PrintValue::Text(text),
            FieldValue::Array { bytes, width, signed } => PrintValue::Array { bytes, width, signed },
        })
    }

    fn length(&self, index: usize) -> Result<PrintValue<'a>, NoText> {
        let bytes = match self.values.field(index).ok_or(NoText)? {
            FieldValue::Number { bytes, .. } => usize::from(bytes),
            // With its NUL.
            FieldValue::Text(text) => text.len() + 1,
            FieldValue::Array { bytes, .. } => bytes.len(),
        };
        Ok(PrintValue::Int(PrintInt::read(bytes as u64, 4, true)))
    }

    fn binary(&self, op: BinaryOp, both: &'a (Expr, Expr)) -> Result<PrintValue<'a>, NoText> {
        let left = self.value(&both.0)?;
        if matches!(op, BinaryOp::BothTrue | BinaryOp::AnyTrue) {
            let decides = op == BinaryOp::AnyTrue;
            if truth(&left) == Some(decides) {
                return Ok(PrintValue::Int(PrintInt::signed(i64::from(decides))));
            }
            let right = truth(&self.value(&both.1)?);
            return Ok(match (truth(&left), right) {
                (_, Some(right)) if right == decides => PrintValue::Int(PrintInt::signed(i64::from(decides))),
                (Some(_), Some(right)) => PrintValue::Int(PrintInt::signed(i64::from(right))),
                _ => PrintValue::Hidden,
            });
        }
        match (left, self.value(&both.1)?) {
            (PrintValue::Int(left), PrintValue::Int(right)) => {
                left.binary(op, right).map(PrintValue::Int).ok_or(NoText)
            }
            (PrintValue::Hidden, PrintValue::Hidden | PrintValue::Int(_))
            | (PrintValue::Int(_), PrintValue::Hidden) => Ok(PrintValue::Hidden),
            // A step in an array.
            (PrintValue::Array { bytes, width, signed }, PrintValue::Int(by)) if op == BinaryOp::Add => {
                let skip = usize::try_from(by.bits).ok().and_then(|by| by.checked_mul(usize::from(width)));
                let rest = skip.and_then(|skip| bytes.get(skip..)).ok_or(NoText)?.to_vec();
                Ok(PrintValue::Array { bytes: rest.into(), width, signed })
            }
            _ => Err(NoText),
        }
    }

    /// The bytes of an array or text.
    pub(super) fn bytes(&self, expr: &'a Expr) -> Result<Cow<'a, [u8]>, NoText> {
        match self.value(expr)? {
            PrintValue::Array { bytes, .. } | PrintValue::Text(bytes) => Ok(bytes),
            PrintValue::Int(_) | PrintValue::Hidden => Err(NoText),
        }
    }

    fn text(&self, expr: &'a Expr) -> Result<Cow<'a, [u8]>, NoText> {
        self.bytes(expr).map(until_nul)
    }

    fn count(&self, expr: &'a Expr) -> Result<usize, NoText> {
        match self.value(expr)? {
            // A length may be wider than what there is.
            PrintValue::Int(count) => Ok(usize::try_from(count.bits.cast_signed()).unwrap_or(0)),
            _ => Err(NoText),
        }
    }

    pub(super) fn name_of(&self, address: u64) -> Option<AddressName> {
        self.values.name_of(address)
    }
}

pub(super) fn until_nul(text: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    match text.iter().position(|byte| *byte == 0) {
        Some(end) => text.get(..end).unwrap_or_default().to_vec().into(),
        None => text,
    }
}

fn truth(value: &PrintValue<'_>) -> Option<bool> {
    match value {
        PrintValue::Int(number) => Some(number.is_true()),
        PrintValue::Text(_) | PrintValue::Array { .. } => Some(true),
        PrintValue::Hidden => None,
    }
}

fn element<'a>(of: &PrintValue<'a>, index: &PrintValue<'a>) -> Result<PrintValue<'a>, NoText> {
    let PrintValue::Int(index) = index else { return Err(NoText) };
    let index = usize::try_from(index.bits).map_err(|_too_far| NoText)?;
    match of {
        PrintValue::Array { bytes, width, signed } if *width > 0 => {
            let part = bytes.chunks_exact(usize::from(*width)).nth(index).ok_or(NoText)?;
            Ok(PrintValue::Int(PrintInt::read(little_endian(part), *width, *signed)))
        }
        PrintValue::Text(text) => {
            // Behind the text is its NUL.
            let byte = text.get(index).or((index == text.len()).then_some(&0)).ok_or(NoText)?;
            Ok(PrintValue::Int(PrintInt::read(u64::from(*byte), 1, true)))
        }
        PrintValue::Hidden => Ok(PrintValue::Hidden),
        PrintValue::Array { .. } | PrintValue::Int(_) => Err(NoText),
    }
}

pub(super) fn little_endian(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn cast(to: CastType, value: PrintValue<'_>) -> PrintValue<'_> {
    match (to, value) {
        (CastType::Int { bytes, signed }, PrintValue::Int(number)) => {
            PrintValue::Int(PrintInt::read(number.bits, bytes, signed))
        }
        (CastType::Bool, PrintValue::Int(number)) => PrintValue::Int(PrintInt::signed(i64::from(number.is_true()))),
        (CastType::Pointer { .. }, PrintValue::Int(number)) => {
            PrintValue::Int(PrintInt::unsigned(extended(number.bits, 8, false)))
        }
        (CastType::Pointer { bytes: width @ 1.., signed }, PrintValue::Array { bytes, .. }) => {
            PrintValue::Array { bytes, width, signed }
        }
        (_, value) => value,
    }
}

/// As the kernel's `trace_print_flags_seq`.
fn flags<'a>(value: PrintValue<'a>, between: &[u8], names: &[(u64, Vec<u8>)]) -> Result<PrintValue<'a>, NoText> {
    let mut left = match value {
        PrintValue::Int(number) => number.bits,
        PrintValue::Hidden => return Ok(PrintValue::Hidden),
        PrintValue::Text(_) | PrintValue::Array { .. } => return Err(NoText),
    };
    let mut text = Vec::new();
    let mut first = true;
    for (mask, name) in names {
        if left == 0 {
            break;
        }
        if left & mask == *mask {
            left &= !mask;
            if !std::mem::take(&mut first) {
                text.extend_from_slice(between);
            }
            text.extend_from_slice(name);
        }
    }
    if left != 0 {
        if !first {
            text.extend_from_slice(between);
        }
        text.extend_from_slice(format!("{left:#x}").as_bytes());
    }
    Ok(PrintValue::Text(text.into()))
}

fn symbolic<'a>(value: PrintValue<'a>, names: &'a Named) -> Result<PrintValue<'a>, NoText> {
    match value {
        PrintValue::Int(PrintInt { bits, .. }) => {
            Ok(PrintValue::Text(match names.iter().find(|(number, _)| *number == bits) {
                Some((_, name)) => Cow::Borrowed(name.as_slice()),
                None => format!("{bits:#x}").into_bytes().into(),
            }))
        }
        PrintValue::Hidden => Ok(PrintValue::Hidden),
        PrintValue::Text(_) | PrintValue::Array { .. } => Err(NoText),
    }
}

fn hex<'a>(bytes: &[u8], between: &str) -> PrintValue<'a> {
    let mut text = String::new();
    for (i, byte) in bytes.iter().take(MAX_PRINTED_BYTES / 3).enumerate() {
        // Writing to a String cannot fail.
        let _infallible = write!(text, "{}{byte:02x}", if i > 0 { between } else { "" });
    }
    PrintValue::Text(text.into_bytes().into())
}

/// As the kernel's `trace_print_array_seq`.
fn numbers<'a>(bytes: &[u8], count: usize, width: usize) -> Result<PrintValue<'a>, NoText> {
    if !matches!(width, 1 | 2 | 4 | 8) {
        return Err(NoText);
    }
    let mut text = String::from("{");
    for (i, part) in bytes.chunks_exact(width).take(count.min(MAX_PRINTED_BYTES / 3)).enumerate() {
        let comma = if i > 0 { "," } else { "" };
        // Writing to a String cannot fail.
        let _infallible = write!(text, "{comma}{:#x}", little_endian(part));
    }
    text.push('}');
    Ok(PrintValue::Text(text.into_bytes().into()))
}
