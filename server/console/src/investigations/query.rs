//! The result of a query as it was, bounded.

use bathyscope_capture::{Display, ShownCell};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_query::{Answer, Capture, Limits, QueryError, ResultColumn};
use bathyscope_views::Cancel;
use serde::{Deserialize, Serialize};
use std::{sync::Arc, time::Duration};

/// The most rows that are kept of a result.
const MOST_ROWS: usize = 200;
/// The most bytes of texts that are kept of one.
const MOST_BYTES: usize = 32 << 10;
/// The longest that a query of a block may take.
const MOST_TIME: Duration = Duration::from_secs(20);

/// What a query was answered. Numbers are texts as they were shown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueryResult {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows; none for what is missing.
    pub rows: Vec<Vec<Option<String>>>,
    /// Whether there were more rows than are kept.
    pub cut: bool,
    /// When it was asked, nanoseconds since 1970 by the wall clock.
    pub asked_unix_ns: i64,
}

/// Asks, and keeps what fits.
///
/// # Errors
/// If the query is wrong or needs too much.
pub fn query_result(capture: &Capture, sql: &str, cancel: &Arc<Cancel>) -> Result<QueryResult, QueryError> {
    let limits = Limits { rows: MOST_ROWS, time: MOST_TIME, ..Limits::USUAL };
    Ok(kept(bathyscope_query::run(capture, sql, &limits, cancel)?))
}

fn kept(Answer { columns, rows, truncated, .. }: Answer) -> QueryResult {
    let mut result = QueryResult {
        columns: columns.iter().map(|column| column.name.clone()).collect(),
        cut: truncated.is_some(),
        asked_unix_ns: wall_unix_ns(),
        ..QueryResult::default()
    };
    let mut left = MOST_BYTES;
    for row in rows {
        let cells: Vec<Option<String>> = columns.iter().zip(&row).map(text).collect();
        let bytes = cells.iter().flatten().map(|cell| cell.len() + 4).sum::<usize>() + 8;
        let Some(rest) = left.checked_sub(bytes) else {
            result.cut = true;
            break;
        };
        left = rest;
        result.rows.push(cells);
    }
    result
}

fn text((column, cell): (&ResultColumn, &ShownCell)) -> Option<String> {
    match cell {
        ShownCell::Null => None,
        ShownCell::Number(number) if column.display == Display::Hex => Some(format!("{number:#x}")),
        ShownCell::Number(number) => Some(number.to_string()),
        ShownCell::Real(number) => Some(number.to_string()),
        ShownCell::Text(text) => Some(text.clone()),
        ShownCell::Stack { top, .. } => Some(top.clone()),
    }
}
