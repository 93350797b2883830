//! The text of `perf script`, for people who pipe samples into tools of their own.
//!
//! A sample is a line `comm pid/tid [cpu] seconds: 1 event:`, a line for each frame, innermost first, and an empty line.
//! An address is what the capture has: an offset in the file (from `_text` in the kernel), an address where there is no
//! file. Functions inlined into a frame come before it with `(inlined)`. A hit of a probe is one line with `name=value` for
//! each field. A comm's blanks at its ends are cut, and an empty one is `[unnamed]`, or readers would not see the line.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use bathyscope_capture::{Cell, FrameId, StackId, StreamKind, StreamSchema, visible};
use bathyscope_views::{Dictionaries, NodeKind, RecordedCell, RowCursor, RowView, ViewError, frame_names};

use crate::folded::frame as folded_frame;

/// Writes rows as `perf script` does; returns how many.
///
/// # Errors
/// If a chunk cannot be loaded, the cancel flag was set, or the output cannot be written.
pub fn write_perf_script(rows: &mut RowCursor<'_>, out: &mut dyn Write) -> Result<u64, ViewError> {
    let (schema, dictionaries) = (rows.schema(), rows.dictionaries());
    let mut written = 0;
    while let Some(row) = rows.next_row()? {
        let done = head(schema, &row, out).and_then(|()| match schema.kind {
            StreamKind::Samples => sample(dictionaries, &row, out),
            StreamKind::Events | StreamKind::Map => fields(schema, &row, out),
        });
        done.map_err(ViewError::Write)?;
        written += 1;
    }
    Ok(written)
}

fn number(value: RecordedCell<'_>) -> i128 {
    match value {
        Cell::U64(number) => i128::from(number),
        Cell::I64(number) => i128::from(number),
        Cell::Null | Cell::Text(_) | Cell::Stack(_) => 0,
    }
}

fn head(schema: &StreamSchema, row: &RowView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let comm = match row.value(StreamSchema::COMM) {
        Cell::Text(bytes) => visible(bytes),
        _ => String::new(),
    };
    let comm = if comm.trim().is_empty() { "[unnamed]" } else { comm.trim() };
    let [time, cpu, pid, tid] = [StreamSchema::TIME, StreamSchema::CPU, StreamSchema::PID, StreamSchema::TID]
        .map(|column| number(row.value(column)));
    let (sign, time) = (if time < 0 { "-" } else { "" }, time.unsigned_abs());
    let (seconds, nanoseconds) = (format!("{sign}{}", time / 1_000_000_000), time % 1_000_000_000);
    let period = if schema.kind == StreamKind::Samples { "          1 " } else { " " };
    let name = visible(schema.name.as_bytes());
    write!(out, "{comm} {pid:>5}/{tid:<5} [{cpu:03}] {seconds:>5}.{nanoseconds:09}:{period}{name}: ")
}

fn fields(schema: &StreamSchema, row: &RowView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let own = schema.columns.iter().enumerate().skip(StreamSchema::COMMON.len());
    for (index, column) in own {
        write!(out, "{}=", visible(column.name.as_bytes()))?;
        match row.value(index) {
            Cell::Text(bytes) => write!(out, "{} ", visible(bytes))?,
            Cell::Null => write!(out, "? ")?,
            value => write!(out, "{} ", number(value))?,
        }
    }
    writeln!(out)
}

fn sample(dictionaries: &Dictionaries, row: &RowView<'_>, out: &mut dyn Write) -> io::Result<()> {
    let stack: StackId = match row.value(StreamSchema::STACK) {
        Cell::Stack(id) => id,
        _ => 0,
    };
    writeln!(out)?;
    for frame in dictionaries.stack(stack).unwrap_or(&[]) {
        out.write_all(lines_of(dictionaries, *frame).as_bytes())?;
    }
    writeln!(out)
}

fn lines_of(dictionaries: &Dictionaries, id: FrameId) -> String {
    let frame = dictionaries.frame(id);
    let address = frame.map_or(0, |frame| frame.offset);
    let mapping =
        frame.and_then(|frame| dictionaries.mapping(frame.mapping)).filter(|mapping| !mapping.name.is_empty());
    let module = mapping.map_or_else(|| "[unknown]".to_owned(), |mapping| visible(&mapping.name));
    let mut text = String::new();
    for (name, kind) in frame_names(dictionaries, id) {
        // Writing to a String cannot fail.
        let _infallible = match kind {
            NodeKind::Inlined => writeln!(text, "\t{address:>16x} {} (inlined)", folded_frame(&name)),
            NodeKind::Unresolved => writeln!(text, "\t{address:>16x} [unknown] ({module})"),
            _ => {
                let offset = dictionaries.symbol(id).map_or(0, |symbol| symbol.offset);
                writeln!(text, "\t{address:>16x} {}+{offset:#x} ({module})", folded_frame(&name))
            }
        };
    }
    text
}
