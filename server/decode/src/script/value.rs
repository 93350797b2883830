//! Values of the script's types, read from memory.

use bathyscope_plan::{Shown, StructType, Type, layout};

use super::{Aggregated, DecodeError, aggregate};

/// The deepest nesting of a type that is read.
const MAX_DEPTH: u32 = 32;

/// A value; what it means is said by its [`Type`].
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Nothing.
    None,
    /// A truth value.
    Bool(bool),
    /// A number without sign, an address, or a number that is shown as something else.
    Unsigned(u64),
    /// A number with a sign.
    Signed(i64),
    /// Text up to its NUL.
    Text(Vec<u8>),
    /// Bytes.
    Buffer(Vec<u8>),
    /// The parts of a tuple, record, array or struct (those of its listed members).
    List(Vec<Value>),
    /// A stack.
    Stack {
        /// Its id in the maps of stacks; 0 if it could not be taken.
        id: u64,
        /// The process, for user stacks, else 0.
        pid: u32,
    },
    /// An address in a process, or in the kernel if the process is 0.
    Address {
        /// The address.
        address: u64,
        /// The process.
        pid: u32,
    },
    /// A network address.
    Inet {
        /// `AF_INET` or `AF_INET6`.
        family: u32,
        /// In network order; four for IPv4.
        address: [u8; 16],
    },
    /// A hardware address.
    Mac([u8; 6]),
    /// What a map aggregated.
    Aggregate(Aggregated),
}

impl Value {
    /// Reads a value as it lies in memory.
    ///
    /// # Errors
    /// If there are too few bytes, or the type makes no sense.
    pub fn read(ty: &Type, bytes: &[u8]) -> Result<Self, DecodeError> {
        read(ty, bytes, 0)
    }

    /// The number, for numbers and truth values.
    pub fn number(&self) -> Option<i128> {
        match self {
            Self::Bool(value) => Some(i128::from(*value)),
            Self::Unsigned(value) => Some(i128::from(*value)),
            Self::Signed(value) => Some(i128::from(*value)),
            Self::Address { address, .. } => Some(i128::from(*address)),
            Self::Aggregate(aggregated) => aggregated.number(),
            _ => None,
        }
    }

    /// The parts of a composed value.
    pub fn parts(&self) -> &[Self] {
        if let Self::List(parts) = self { parts } else { &[] }
    }
}

fn read(ty: &Type, bytes: &[u8], depth: u32) -> Result<Value, DecodeError> {
    if depth > MAX_DEPTH {
        return Err(DecodeError::Type);
    }
    Ok(match ty {
        Type::None => Value::None,
        Type::Bool => Value::Bool(integer(slice(bytes, 0, 1)?) != 0),
        Type::Integer { bytes: size, signed } | Type::Enum { bytes: size, signed, .. } => {
            scalar(slice(bytes, 0, u32::from(*size))?, *signed)
        }
        Type::Pointer { .. } => Value::Unsigned(integer(slice(bytes, 0, 8)?)),
        Type::Text { bytes: room } => Value::Text(until_nul(slice(bytes, 0, *room)?).to_vec()),
        Type::Buffer { bytes: room } => {
            let length = u32::try_from(integer(slice(bytes, 0, 4)?)).unwrap_or(u32::MAX);
            Value::Buffer(slice(bytes, 4, length.min(*room))?.to_vec())
        }
        Type::Struct(it) => structure(it, bytes, depth)?,
        Type::Array { of, count } => array(of, *count, bytes, depth)?,
        Type::Tuple(parts) => list(parts.iter(), bytes, depth)?,
        Type::Record(parts) => list(parts.iter().map(|(_, ty)| ty), bytes, depth)?,
        Type::Stack { user, .. } => {
            let pid = if *user { number32(bytes, 8)? } else { 0 };
            Value::Stack { id: integer(slice(bytes, 0, 8)?), pid }
        }
        Type::Shown(shown) => read_shown(shown, bytes)?,
        Type::Aggregate(aggregation) => Value::Aggregate(aggregate::combine(aggregation, [bytes])?),
    })
}

fn read_shown(shown: &Shown, bytes: &[u8]) -> Result<Value, DecodeError> {
    Ok(match shown {
        Shown::UserSymbol | Shown::Function => {
            Value::Address { address: integer(slice(bytes, 0, 8)?), pid: number32(bytes, 8)? }
        }
        Shown::Strerror | Shown::SignalName => scalar(slice(bytes, 0, 4)?, true),
        Shown::SyscallName => scalar(slice(bytes, 0, 8)?, true),
        Shown::Username | Shown::ProcessName | Shown::Probe => scalar(slice(bytes, 0, 4)?, false),
        Shown::KernelSymbol | Shown::FlagNames { .. } | Shown::CgroupPath { .. } | Shown::Time { .. } => {
            scalar(slice(bytes, 0, 8)?, false)
        }
        Shown::Inet => {
            let address = slice(bytes, 4, 16)?.try_into().map_err(|_length| DecodeError::Short)?;
            Value::Inet { family: number32(bytes, 0)?, address }
        }
        Shown::Mac => Value::Mac(slice(bytes, 0, 6)?.try_into().map_err(|_length| DecodeError::Short)?),
        Shown::Path { bytes: room } => Value::Text(until_nul(slice(bytes, 0, *room)?).to_vec()),
    })
}

fn structure(it: &StructType, bytes: &[u8], depth: u32) -> Result<Value, DecodeError> {
    let member = |field: &bathyscope_plan::StructField| {
        let size = field.ty.bytes();
        let own = slice(bytes, field.offset, size)?;
        let value = read(&field.ty, own, depth + 1)?;
        Ok(match field.bits {
            Some((first, count)) => bit_field(&value, first, count, is_signed(&field.ty)),
            None => value,
        })
    };
    Ok(Value::List(it.fields.iter().map(member).collect::<Result<_, DecodeError>>()?))
}

fn array(of: &Type, count: u32, bytes: &[u8], depth: u32) -> Result<Value, DecodeError> {
    let size = of.bytes();
    if size == 0 {
        return Ok(Value::List(Vec::new()));
    }
    let all = slice(bytes, 0, size.checked_mul(count).ok_or(DecodeError::Type)?)?;
    let elements = all.chunks_exact(size as usize).map(|element| read(of, element, depth + 1));
    Ok(Value::List(elements.collect::<Result<_, _>>()?))
}

/// The parts of a tuple as they lie in memory.
pub(super) fn list<'a>(
    types: impl Iterator<Item = &'a Type> + Clone,
    bytes: &[u8],
    depth: u32,
) -> Result<Value, DecodeError> {
    let (offsets, _size) = layout(types.clone());
    let parts = types.zip(offsets).map(|(ty, offset)| read(ty, slice(bytes, offset, ty.bytes())?, depth + 1));
    Ok(Value::List(parts.collect::<Result<_, _>>()?))
}

fn is_signed(ty: &Type) -> bool {
    matches!(ty, Type::Integer { signed: true, .. } | Type::Enum { signed: true, .. })
}

fn bit_field(value: &Value, first: u8, count: u8, signed: bool) -> Value {
    let bits = match value {
        Value::Unsigned(bits) => *bits,
        Value::Signed(bits) => bits.cast_unsigned(),
        Value::Bool(bit) => u64::from(*bit),
        _ => return value.clone(),
    };
    let count = u32::from(count).clamp(1, 64);
    let raised = bits.checked_shr(u32::from(first)).unwrap_or(0) << (64 - count);
    match (value, signed) {
        (Value::Bool(_), _) => Value::Bool(raised != 0),
        (_, true) => Value::Signed(raised.cast_signed() >> (64 - count)),
        (_, false) => Value::Unsigned(raised >> (64 - count)),
    }
}

pub(super) fn slice(bytes: &[u8], from: u32, length: u32) -> Result<&[u8], DecodeError> {
    let from = from as usize;
    bytes.get(from..from.saturating_add(length as usize)).ok_or(DecodeError::Short)
}

/// A little-endian number of at most 8 bytes.
pub(super) fn integer(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

pub(super) fn number32(bytes: &[u8], at: u32) -> Result<u32, DecodeError> {
    Ok(u32::try_from(integer(slice(bytes, at, 4)?)).unwrap_or(u32::MAX))
}

pub(super) fn scalar(bytes: &[u8], signed: bool) -> Value {
    let number = integer(bytes);
    if !signed {
        return Value::Unsigned(number);
    }
    let unused = 64 - 8 * u32::try_from(bytes.len()).unwrap_or(8).clamp(1, 8);
    Value::Signed((number << unused).cast_signed() >> unused)
}

pub(super) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|byte| *byte == 0).next().unwrap_or_default()
}
