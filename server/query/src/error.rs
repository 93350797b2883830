//! Why a query could not be answered.

use bathyscope_views::ViewError;

/// A place in a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line, from 1.
    pub line: usize,
    /// The character in the line, from 1.
    pub column: usize,
}

impl Place {
    /// The place of a byte.
    pub(crate) fn at(sql: &str, offset: usize) -> Self {
        let mut end = offset.min(sql.len());
        while !sql.is_char_boundary(end) {
            end -= 1;
        }
        let before = sql.get(..end).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        Self { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
    }
}

/// A query could not be answered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QueryError {
    /// It is not a query, or not one of this capture.
    #[error("{}{message}", place_words(*.place))]
    Wrong {
        /// Where, if that is known.
        place: Option<Place>,
        /// What is wrong.
        message: String,
        /// What to do about it; may be empty.
        remedy: String,
    },
    /// It wants to do something else than read this capture.
    #[error("{what}: a query only reads the tables of this capture")]
    Refused {
        /// What it wanted, in words.
        what: String,
    },
    /// It took too long.
    #[error("it was ended after {} s", .limit_ms.div_ceil(1000))]
    Time {
        /// The limit.
        limit_ms: u64,
    },
    /// It needed too much memory.
    #[error("it needs more than {} MiB of memory", .limit_bytes >> 20)]
    Memory {
        /// The limit.
        limit_bytes: u64,
    },
    /// Nobody waits for it any more.
    #[error("it was cancelled")]
    Cancelled,
    /// The capture could not be read.
    #[error("the capture cannot be read")]
    Capture(#[source] ViewError),
    /// SQLite failed.
    #[error("{message}")]
    Failed {
        /// What it says.
        message: String,
    },
}

impl QueryError {
    /// What a person can do about it, in whole sentences; may be empty.
    pub fn remedy(&self) -> String {
        match self {
            Self::Wrong { remedy, .. } => remedy.clone(),
            Self::Refused { .. } => {
                "Write one SELECT, or WITH … SELECT; the functions that there are stand in the documentation."
                    .to_owned()
            }
            Self::Time { .. } => {
                "Narrow it by time (`where time between … and …`), read fewer columns, or join with a small table: put \
                 what is joined into `with x as materialized (select …)`."
                    .to_owned()
            }
            Self::Memory { .. } => {
                "Sort and collect fewer rows: filter first, group by fewer columns, or add `limit`.".to_owned()
            }
            Self::Cancelled | Self::Capture(_) | Self::Failed { .. } => String::new(),
        }
    }
}

fn place_words(place: Option<Place>) -> String {
    place.map(|place| format!("line {}, column {}: ", place.line, place.column)).unwrap_or_default()
}
