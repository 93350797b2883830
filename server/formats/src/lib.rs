//! Captures as other tools' files: folded stacks, CSV and lines of JSON.
//!
//! Writers stream: they hold one chunk of rows at a time, and check nothing out of the rows' order. Hostile names cannot
//! break out of a field: each module says what it escapes. It must not know where the bytes go (HTTP, file) or how
//! captures are stored.
#![forbid(unsafe_code)]

use std::io::Write;

use bathyscope_views::{FoldedStacks, RowCursor, ViewError};

/// Writes folded stacks.
///
/// # Errors
/// If the output cannot be written.
pub fn write_folded(stacks: &FoldedStacks, out: &mut dyn Write) -> Result<(), ViewError> {
    let _ = (stacks, out);
    unimplemented!()
}

/// Writes rows as CSV with a head; returns how many rows.
///
/// # Errors
/// If a chunk cannot be loaded, the cancel flag was set, or the output cannot be written.
pub fn write_csv(rows: &mut RowCursor<'_>, out: &mut dyn Write) -> Result<u64, ViewError> {
    let _ = (rows, out);
    unimplemented!()
}

/// Writes rows as one JSON object a line; returns how many rows.
///
/// # Errors
/// If a chunk cannot be loaded, the cancel flag was set, or the output cannot be written.
pub fn write_ndjson(rows: &mut RowCursor<'_>, out: &mut dyn Write) -> Result<u64, ViewError> {
    let _ = (rows, out);
    unimplemented!()
}

/// Writes the rows of a profile as `perf script` prints samples; returns how many rows.
///
/// # Errors
/// If a chunk cannot be loaded, the cancel flag was set, or the output cannot be written.
pub fn write_perf_script(rows: &mut RowCursor<'_>, out: &mut dyn Write) -> Result<u64, ViewError> {
    let _ = (rows, out);
    unimplemented!()
}
