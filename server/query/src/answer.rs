//! What a query gives.

use bathyscope_capture::{Display, MAX_EXACT_NUMBER, visible};
use bathyscope_views::frame_names;
use rusqlite::types::ValueRef;
use serde::{Serialize, Serializer, ser::SerializeStruct as _};

use crate::{capture::Capture, column::ColumnKind};

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnHead {
    /// Its name.
    pub name: String,
    /// What its values are.
    #[serde(rename = "type")]
    pub kind: ColumnKind,
    /// How they are written for people.
    pub display: Display,
}

/// A value of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// None.
    Null,
    /// A whole number; in JSON a string where a browser would round it.
    Integer(i64),
    /// A number with a fraction.
    Real(f64),
    /// Text, made visible.
    Text(String),
    /// A stack.
    Stack {
        /// Its id.
        id: u32,
        /// The innermost function, made visible.
        top: String,
        /// How many frames there are.
        depth: usize,
    },
}

impl Serialize for Cell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_none(),
            Self::Integer(number) if number.unsigned_abs() <= MAX_EXACT_NUMBER => serializer.serialize_i64(*number),
            Self::Integer(number) => serializer.collect_str(number),
            Self::Real(number) if number.is_finite() => serializer.serialize_f64(*number),
            Self::Real(number) => serializer.collect_str(number),
            Self::Text(text) => serializer.serialize_str(text),
            Self::Stack { id, top, depth } => {
                let mut cell = serializer.serialize_struct("Stack", 3)?;
                cell.serialize_field("id", id)?;
                cell.serialize_field("top", top)?;
                cell.serialize_field("depth", depth)?;
                cell.end()
            }
        }
    }
}

impl Cell {
    /// A value of SQLite's in a column of `kind`.
    pub(crate) fn of(capture: &Capture, kind: Option<ColumnKind>, value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Self::Null,
            ValueRef::Integer(number) => match u32::try_from(number) {
                Ok(id) if kind == Some(ColumnKind::Stack) => stack(capture, id),
                _ => Self::Integer(number),
            },
            ValueRef::Real(number) => Self::Real(number),
            ValueRef::Text(bytes) => Self::Text(visible(bytes)),
            ValueRef::Blob(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                Self::Text(format!("x'{digits}'"))
            }
        }
    }

    /// Bytes that it takes in an answer, about.
    pub(crate) fn bytes(&self) -> u64 {
        match self {
            Self::Null => 5,
            Self::Integer(_) | Self::Real(_) => 12,
            Self::Text(text) => text.len() as u64 + 3,
            Self::Stack { top, .. } => top.len() as u64 + 40,
        }
    }

    const fn kind(&self) -> Option<ColumnKind> {
        match self {
            Self::Null => None,
            Self::Integer(_) => Some(ColumnKind::Integer),
            Self::Real(_) => Some(ColumnKind::Real),
            Self::Text(_) => Some(ColumnKind::Text),
            Self::Stack { .. } => Some(ColumnKind::Stack),
        }
    }
}

fn stack(capture: &Capture, id: u32) -> Cell {
    let dictionaries = capture.source.dictionaries();
    let frames = dictionaries.stack(id).unwrap_or_default();
    let names = frames.first().map(|frame| frame_names(dictionaries, *frame)).unwrap_or_default();
    let top = names.into_iter().next().map_or_else(|| "[no stack]".to_owned(), |(name, _kind)| name);
    Cell::Stack { id, top, depth: frames.len() }
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
    pub columns: Vec<ColumnHead>,
    /// The rows.
    pub rows: Vec<Vec<Cell>>,
    /// Whether rows are missing at the end, and why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Cut>,
    /// How long it took, in milliseconds.
    pub elapsed_ms: u64,
    /// What was read for it.
    pub scanned: Scanned,
}

/// What the values of a column are, from the values.
pub(crate) fn kind_of<'a>(cells: impl Iterator<Item = &'a Cell>) -> ColumnKind {
    let mut found = None;
    for kind in cells.filter_map(Cell::kind) {
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
