//! What a query gives.

use bathyscope_capture::{Display, ShownCell, visible};
use bathyscope_views::stack_cell;
use rusqlite::types::ValueRef;
use serde::Serialize;

use crate::{capture::Capture, column::ColumnKind};

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultColumn {
    /// Its name.
    pub name: String,
    /// What its values are.
    #[serde(rename = "type")]
    pub kind: ColumnKind,
    /// How they are written for people.
    pub display: Display,
}

/// A value of SQLite's in a column of `kind`.
pub(crate) fn cell_of(capture: &Capture, kind: Option<ColumnKind>, value: ValueRef<'_>) -> ShownCell {
    match value {
        ValueRef::Null => ShownCell::Null,
        ValueRef::Integer(number) => match u32::try_from(number) {
            Ok(id) if kind == Some(ColumnKind::Stack) => stack_cell(capture.source.dictionaries(), id),
            _ => ShownCell::Number(i128::from(number)),
        },
        ValueRef::Real(number) => ShownCell::Real(number),
        ValueRef::Text(bytes) => ShownCell::Text(visible(bytes)),
        ValueRef::Blob(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            ShownCell::Text(format!("x'{digits}'"))
        }
    }
}

/// Bytes that a value takes in an answer, about.
pub(crate) fn bytes_of(cell: &ShownCell) -> u64 {
    match cell {
        ShownCell::Null => 5,
        ShownCell::Number(_) | ShownCell::Real(_) => 12,
        ShownCell::Text(text) => text.len() as u64 + 3,
        ShownCell::Stack { top, .. } => top.len() as u64 + 40,
    }
}

const fn kind_of(cell: &ShownCell) -> Option<ColumnKind> {
    match cell {
        ShownCell::Null => None,
        ShownCell::Number(_) => Some(ColumnKind::Integer),
        ShownCell::Real(_) => Some(ColumnKind::Real),
        ShownCell::Text(_) => Some(ColumnKind::Text),
        ShownCell::Stack { .. } => Some(ColumnKind::Stack),
    }
}

/// Why rows are missing at the end of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cut {
    /// There are more rows than were asked for.
    Rows,
    /// There are more bytes than an answer may have.
    Bytes,
}

/// What was read for an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Scanned {
    /// Rows of chunks that were looked at, and of the small tables.
    pub rows: u64,
    /// Chunks that were decoded.
    pub chunks: u64,
    /// Chunks that were passed over because nothing in them could be wanted.
    pub skipped: u64,
}

/// The result of a query.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The columns.
    pub columns: Vec<ResultColumn>,
    /// The rows.
    pub rows: Vec<Vec<ShownCell>>,
    /// Whether rows are missing at the end, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Cut>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// What was read for it.
    pub scanned: Scanned,
}

/// What the values of a column are, from the values.
pub(crate) fn kind_of_all<'a>(cells: impl Iterator<Item = &'a ShownCell>) -> ColumnKind {
    let mut found = None;
    for kind in cells.filter_map(kind_of) {
        found = match (found, kind) {
            (None, kind) => Some(kind),
            (Some(known), kind) if known == kind => found,
            (Some(ColumnKind::Integer | ColumnKind::Real), ColumnKind::Integer | ColumnKind::Real) => {
                Some(ColumnKind::Real)
            }
            _ => return ColumnKind::Any,
        };
    }
    found.unwrap_or(ColumnKind::Any)
}
