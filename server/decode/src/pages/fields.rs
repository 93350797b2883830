//! The value of a field in a record.

use std::fmt::{self, Write};

use bathyscope_capture::visible;
use bathyscope_catalog::{EventField, FieldKind};

/// The most numbers of an array that are read.
pub const MAX_NUMBERS: usize = 1024;

/// A number, as its C type has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Number {
    /// Without a sign.
    Unsigned(u64),
    /// With one.
    Signed(i64),
}

/// What a field of a record holds. Texts are bytes of whoever wrote them, without the final NUL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FieldValue<'a> {
    /// A number.
    Number(Number),
    /// An address.
    Address(u64),
    /// Text.
    Text(&'a [u8]),
    /// Several texts.
    Texts(Vec<&'a [u8]>),
    /// An array of numbers.
    Numbers(Vec<Number>),
    /// Something that is neither, such as a structure.
    Bytes(&'a [u8]),
}

/// The value of a field of a record; none if it lies outside of it.
pub fn value<'a>(field: &EventField, record: &'a [u8]) -> Option<FieldValue<'a>> {
    let place = place(field, record);
    Some(match field.kind {
        FieldKind::Integer => FieldValue::Number(number(place?, field.signed)),
        FieldKind::Pointer | FieldKind::UserText => FieldValue::Address(raw(place?)),
        FieldKind::FixedText => FieldValue::Text(until_nul(place?)),
        FieldKind::ArrayOf { element_bytes, .. } => FieldValue::Numbers(numbers(place?, element_bytes, field.signed)),
        FieldKind::DynamicText => FieldValue::Text(until_nul(elsewhere(field.offset, false, record)?)),
        FieldKind::RelativeDynamicText => FieldValue::Text(until_nul(elsewhere(field.offset, true, record)?)),
        FieldKind::Other => other(field, record)?,
    })
}

/// Arrays of varying length, texts among them, and what is left.
fn other<'a>(field: &EventField, record: &'a [u8]) -> Option<FieldValue<'a>> {
    let relative = field.type_name.contains("__rel_loc");
    let told = relative || field.type_name.contains("__data_loc");
    if told && field.size > 4 && field.size.is_multiple_of(4) && field.type_name.contains("char[]") {
        let places = (field.offset..field.offset + field.size).step_by(4).take(MAX_NUMBERS);
        let texts = places.map(|offset| elsewhere(offset, relative, record).map(until_nul));
        return texts.collect::<Option<Vec<_>>>().map(FieldValue::Texts);
    }
    let bytes = match (told, field.size) {
        (true, 4) => elsewhere(field.offset, relative, record)?,
        (true, _) => return None,
        // An array at the record's end.
        (false, 0) => record.get(field.offset as usize..).unwrap_or_default(),
        (false, _) => place(field, record)?,
    };
    Some(match field.varying_element() {
        Some((1, true)) => FieldValue::Text(until_nul(bytes)),
        Some((width, signed)) => FieldValue::Numbers(numbers(bytes, width, signed)),
        None => FieldValue::Bytes(bytes),
    })
}

fn place<'a>(field: &EventField, record: &'a [u8]) -> Option<&'a [u8]> {
    let start = field.offset as usize;
    record.get(start..start.checked_add(field.size as usize)?)
}

/// The bytes that a `u32` at `offset` tells the place of: the low half is where they begin, the high half how many.
fn elsewhere(offset: u32, relative: bool, record: &[u8]) -> Option<&[u8]> {
    let at = offset as usize;
    let told = raw(record.get(at..at.checked_add(4)?)?);
    let (start, length) = ((told & 0xffff) as usize, (told >> 16 & 0xffff) as usize);
    let start = if relative { at.checked_add(4)?.checked_add(start)? } else { start };
    record.get(start..start.checked_add(length)?)
}

fn raw(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn number(bytes: &[u8], signed: bool) -> Number {
    let value = raw(bytes);
    if !signed {
        return Number::Unsigned(value);
    }
    let unused = 64 - 8 * bytes.len().clamp(1, 8) as u32;
    Number::Signed((value << unused).cast_signed() >> unused)
}

fn numbers(bytes: &[u8], width: u32, signed: bool) -> Vec<Number> {
    bytes.chunks_exact((width as usize).max(1)).take(MAX_NUMBERS).map(|bytes| number(bytes, signed)).collect()
}

fn until_nul(text: &[u8]) -> &[u8] {
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    text.get(..end).unwrap_or_default()
}

impl Number {
    /// The number, whatever its sign.
    pub fn wide(self) -> i128 {
        match self {
            Self::Unsigned(value) => i128::from(value),
            Self::Signed(value) => i128::from(value),
        }
    }
}

impl FieldValue<'_> {
    /// The number or address; none if it is something else.
    pub fn unsigned(&self) -> Option<u64> {
        match self {
            Self::Number(Number::Unsigned(value)) | Self::Address(value) => Some(*value),
            Self::Number(Number::Signed(value)) => Some(value.cast_unsigned()),
            Self::Text(_) | Self::Texts(_) | Self::Numbers(_) | Self::Bytes(_) => None,
        }
    }
}

/// Writes a value as `trace` shows such things: numbers in decimal, addresses in hexadecimal, arrays in braces. Text is
/// made visible, so nothing in it can act on a terminal or break a line.
///
/// # Errors
/// If `out` refuses.
pub fn write_value(value: &FieldValue<'_>, out: &mut dyn Write) -> fmt::Result {
    match value {
        FieldValue::Number(number) => write!(out, "{}", number.wide()),
        FieldValue::Address(address) => write!(out, "{address:#x}"),
        FieldValue::Text(text) => out.write_str(&visible(text)),
        FieldValue::Texts(texts) => list(out, texts.iter().map(|text| format!("\"{}\"", visible(text)))),
        FieldValue::Numbers(numbers) => list(out, numbers.iter().map(|number| number.wide().to_string())),
        FieldValue::Bytes(bytes) => bytes.iter().take(MAX_NUMBERS).try_for_each(|byte| write!(out, "{byte:02x}")),
    }
}

fn list(out: &mut dyn Write, parts: impl Iterator<Item = String>) -> fmt::Result {
    out.write_char('{')?;
    for (i, part) in parts.enumerate() {
        if i > 0 {
            out.write_char(',')?;
        }
        out.write_str(&part)?;
    }
    out.write_char('}')
}
