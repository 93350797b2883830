//! One JSON object a line, with the columns' names as keys in the columns' order.
//!
//! Numbers are JSON numbers, all digits of them: what reads them as floating point rounds those beyond 2^53. Text is a
//! string, with what cannot be shown as escapes (a backslash in the text is `\\` before JSON doubles it again). A stack is
//! a list of names, innermost first. No value is `null`.

use std::io::{self, Write};

use bathyscope_capture::{Cell, visible};
use bathyscope_views::{RowCursor, ViewError};

use crate::stacks::StackTexts;

/// Writes rows as one JSON object a line; returns how many rows.
///
/// # Errors
/// If a chunk cannot be loaded, the cancel flag was set, or the output cannot be written.
pub fn write_ndjson(rows: &mut RowCursor<'_>, out: &mut dyn Write) -> Result<u64, ViewError> {
    let dictionaries = rows.dictionaries();
    let keys: Vec<String> =
        rows.schema().columns.iter().map(|column| quoted(visible(column.name.as_bytes()))).collect();
    let (mut stacks, mut written) = (StackTexts::default(), 0);
    while let Some(row) = rows.next_row()? {
        let mut write_row = || -> io::Result<()> {
            for (index, key) in keys.iter().enumerate() {
                write!(out, "{}{key}:", if index == 0 { "{" } else { "," })?;
                match row.value(index) {
                    Cell::Null => out.write_all(b"null")?,
                    Cell::U64(number) => write!(out, "{number}")?,
                    Cell::I64(number) => write!(out, "{number}")?,
                    Cell::Text(bytes) => out.write_all(quoted(visible(bytes)).as_bytes())?,
                    Cell::Stack(id) => out.write_all(stacks.get(dictionaries, id, list).as_bytes())?,
                }
            }
            out.write_all(b"}\n")
        };
        write_row().map_err(ViewError::Write)?;
        written += 1;
    }
    Ok(written)
}

/// A JSON string.
fn quoted(text: String) -> String {
    serde_json::Value::String(text).to_string()
}

/// A JSON list of strings.
fn list(names: Vec<String>) -> String {
    serde_json::Value::from(names).to_string()
}
