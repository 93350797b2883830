//! Values of rows, typed and as JSON cells.

use bathyscope_capture::{Batch, Display, StackId, StreamSchema};
use serde::{Serialize, Serializer};

use crate::Dictionaries;

/// The greatest whole number that a browser keeps exactly, 2^53 − 1.
pub const MAX_EXACT_NUMBER: u64 = (1 << 53) - 1;

/// A value as it was recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// No value: it could not be read.
    Null,
    /// An unsigned number; an absolute moment in a column of times.
    U64(u64),
    /// A signed number.
    I64(i64),
    /// Text, as bytes.
    Text(&'a [u8]),
    /// A stack.
    Stack(StackId),
}

/// A value as the browser gets it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// `null`.
    Null,
    /// A JSON number up to [`MAX_EXACT_NUMBER`] in size, else a string of digits.
    Number(i128),
    /// Text, made visible.
    Text(String),
    /// `{id, top, depth}`.
    Stack {
        /// The stack.
        id: StackId,
        /// The innermost function, made visible.
        top: String,
        /// How many frames there are, inlined functions not counted.
        depth: usize,
    },
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let _ = serializer;
        unimplemented!()
    }
}

/// The head of a column, as the browser gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnHead {
    /// Its name.
    pub name: String,
    /// `u64`, `i64`, `text` or `stack`.
    #[serde(rename = "type")]
    pub ty: bathyscope_capture::ColumnType,
    /// How it is written.
    pub display: Display,
}

/// The heads of a stream's columns.
pub fn heads(schema: &StreamSchema) -> Vec<ColumnHead> {
    let head = |c: &bathyscope_capture::Column| ColumnHead { name: c.name.clone(), ty: c.ty, display: c.display };
    schema.columns.iter().map(head).collect()
}

/// The cells of one row, as in a page of rows; for rows that are sent as they are recorded.
pub fn cells(
    dictionaries: &Dictionaries,
    schema: &StreamSchema,
    batch: &Batch,
    row: usize,
    origin_ns: u64,
) -> Vec<Cell> {
    let _ = (dictionaries, schema, batch, row, origin_ns);
    unimplemented!()
}
