//! The tree of an expression in a print format.

use super::number::{BinaryOp, PrintInt, UnaryOp};

/// A type, as far as a cast or the size of it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CastType {
    /// A number of so many bytes.
    Int { bytes: u8, signed: bool },
    /// `bool`.
    Bool,
    /// The address of numbers of so many bytes.
    Pointer { bytes: u8, signed: bool },
    /// A type whose size is not known; a cast to it changes nothing.
    Unknown,
}

/// Numbers and what they are called.
pub(super) type Named = Vec<(u64, Vec<u8>)>;

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Expr {
    Number(PrintInt),
    Text(Vec<u8>),
    /// Something that only the running kernel knows.
    Hidden,
    /// The field with this number.
    Field(usize),
    /// Bytes of an array.
    LengthOf(usize),
    /// A variable of a [`Expr::Block`].
    Local(usize),
    /// Variables and what is computed with them.
    Block(Vec<(usize, Self)>, Box<Self>),
    Index(Box<(Self, Self)>),
    Dereference(Box<Self>),
    Cast(CastType, Box<Self>),
    Unary(UnaryOp, Box<Self>),
    Binary(BinaryOp, Box<(Self, Self)>),
    Choice(Box<(Self, Self, Self)>),
    /// `__print_flags`.
    Flags {
        value: Box<Self>,
        between: Vec<u8>,
        names: Named,
    },
    /// `__print_symbolic`.
    Symbolic {
        value: Box<Self>,
        names: Named,
    },
    /// `__print_hex` and its kin: bytes and how many.
    Hex {
        between: &'static str,
        what: Box<(Self, Self)>,
    },
    /// `__print_array`: where, how many, bytes of each.
    Array(Box<(Self, Self, Self)>),
    /// `__get_bitmask`.
    Bits(Box<Self>),
    /// `__get_sockaddr`.
    SocketAddress(Box<Self>),
    /// `nvme_trace_disk_name`: the name as `disk=NAME, `, nothing if it is empty.
    DiskName(Box<Self>),
}

impl Expr {
    /// Adds the numbers of the fields that its value may be.
    pub(super) fn fields(&self, found: &mut Vec<usize>) {
        match self {
            Self::Field(index) => found.push(*index),
            Self::Cast(_, of) => of.fields(found),
            Self::Choice(parts) => [&parts.1, &parts.2].into_iter().for_each(|part| part.fields(found)),
            _ => {}
        }
    }
}
