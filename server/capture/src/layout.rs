//! Where the columns of a stream are in its records.

use serde::{Deserialize, Serialize};

/// Where a column is in a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ColumnLayout {
    /// The column's name.
    pub name: String,
    /// Offset of its first byte.
    pub offset: u32,
    /// What is there.
    pub encoding: ColumnEncoding,
}

/// What is at a column's place, little endian on all supported machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum ColumnEncoding {
    /// An unsigned number of 1, 2, 4 or 8 bytes.
    Unsigned {
        /// Bytes.
        bytes: u8,
        /// Whether people read it in base sixteen (pointers, flags).
        hex: bool,
    },
    /// A signed number of 1, 2, 4 or 8 bytes.
    Signed {
        /// Bytes.
        bytes: u8,
    },
    /// Text of a fixed number of bytes, ending at the first NUL.
    FixedText {
        /// Bytes.
        bytes: u16,
    },
    /// An `i32`, then room for text: the number is what the kernel's string helper returned, which is the length with
    /// its NUL, or a negative error. A length of all the room means that the text was cut.
    LengthText {
        /// Bytes of room after the number.
        room: u16,
    },
}
