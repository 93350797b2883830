//! A message about a script as text: where, what, the line, and what would be right.

use super::Diagnostic;

/// A place in a text as people count: both from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// The line and column of byte `at` of `text`.
pub fn place(text: &str, at: u32) -> Place {
    let before = &text[..text.floor_char_boundary(at as usize)];
    let line = before.rfind('\n').map_or(before, |newline| &before[newline + 1..]);
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Place { line: count(before.matches('\n').count() + 1), column: count(line.chars().count() + 1) }
}

/// The message with `name` of the script (a path, or what the user calls it), line and column.
pub fn render(text: &str, name: &str, diagnostic: &Diagnostic) -> String {
    let Place { line, column } = place(text, diagnostic.start);
    format!("{name}:{line}:{column}: {}", diagnostic.message)
}
