//! CSV as RFC 4180 has it: a head with the columns' names, lines that end in CR LF, UTF-8.
//!
//! Numbers are decimal digits. Text is quoted where it must be; no value is an empty field, empty text is `""`. A stack is
//! its names from the outermost to the innermost with `;` between, as in folded stacks. Spreadsheets run text that begins
//! like a formula, so a `'` is put before text that begins with `=`, `+`, `-`, `@` (also the wide forms), a tab, a line
//! break or a `'`: take one leading `'` away to get the text back. Numbers are left alone.

use std::io::{self, Write};

use bathyscope_capture::{Cell, visible};
use bathyscope_views::{RowCursor, RowView, ViewError};

use crate::{folded::frame, stacks::StackTexts};

/// Writes rows as CSV with a head; returns how many rows.
///
/// # Errors
/// If a chunk cannot be loaded, the cancel flag was set, or the output cannot be written.
pub fn write_csv(rows: &mut RowCursor<'_>, out: &mut dyn Write) -> Result<u64, ViewError> {
    let (columns, dictionaries) = (&rows.schema().columns, rows.dictionaries());
    let head = columns.iter().enumerate().try_for_each(|(index, column)| {
        separator(index, out)?;
        write_csv_text(&visible(column.name.as_bytes()), out)
    });
    head.and_then(|()| out.write_all(b"\r\n")).map_err(ViewError::Write)?;
    let (mut stacks, mut written) = (StackTexts::default(), 0);
    let mut digits = itoa::Buffer::new();
    let mut write_row = |row: RowView<'_>| -> io::Result<()> {
        for index in 0..columns.len() {
            separator(index, out)?;
            match row.value(index) {
                Cell::Null => {}
                Cell::U64(number) => out.write_all(digits.format(number).as_bytes())?,
                Cell::I64(number) => out.write_all(digits.format(number).as_bytes())?,
                Cell::Text(bytes) => write_csv_text(&visible(bytes), out)?,
                Cell::Stack(id) => write_csv_text(stacks.get(dictionaries, id, joined), out)?,
            }
        }
        out.write_all(b"\r\n")
    };
    while let Some(row) = rows.next_row()? {
        write_row(row).map_err(ViewError::Write)?;
        written += 1;
    }
    Ok(written)
}

fn separator(index: usize, out: &mut dyn Write) -> io::Result<()> {
    if index == 0 { Ok(()) } else { out.write_all(b",") }
}

fn joined(names: Vec<String>) -> String {
    names.iter().rev().map(|name| frame(name)).collect::<Vec<_>>().join(";")
}

/// Writes a field of text.
///
/// # Errors
/// If the output cannot be written.
pub fn write_csv_text(text: &str, out: &mut dyn Write) -> io::Result<()> {
    let formula = ['=', '+', '-', '@', '\t', '\r', '\n', '\'', '＝', '＋', '－', '＠'];
    let guard = if text.starts_with(formula) { "'" } else { "" };
    if text.is_empty() || text.contains([',', '"', '\r', '\n']) {
        return write!(out, "\"{guard}{}\"", text.replace('"', "\"\""));
    }
    out.write_all(guard.as_bytes())?;
    out.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_and_guarded() {
        let cases = [
            ("plain", "plain"),
            ("", "\"\""),
            ("a,b", "\"a,b\""),
            ("say \"x\"", "\"say \"\"x\"\"\""),
            ("two\nlines", "\"two\nlines\""),
            ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0"),
            ("+1", "'+1"),
            ("-1,2", "\"'-1,2\""),
            ("@SUM(A1)", "'@SUM(A1)"),
            ("\tx", "'\tx"),
            ("'=1", "''=1"),
            ("＝1", "'＝1"),
            ("1e999", "1e999"),
        ];
        for (field, expected) in cases {
            let mut out = Vec::new();
            write_csv_text(field, &mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), expected);
        }
    }
}
