//! Columns of tables and of answers: what their values are, and how they are declared to SQLite.

use bathyscope_capture::Display;
use serde::Serialize;

/// What the values of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum ColumnKind {
    /// Whole numbers.
    #[serde(rename = "i64")]
    Integer,
    /// Numbers with a fraction, perhaps with whole ones among them.
    #[serde(rename = "f64")]
    Real,
    /// Text.
    #[serde(rename = "text")]
    Text,
    /// Stacks; their ids in SQL.
    #[serde(rename = "stack")]
    Stack,
    /// Values of several kinds, or none at all.
    #[serde(rename = "any")]
    Any,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ColumnInfo {
    /// Its name; to be written in double quotes where it is not a plain word.
    pub name: String,
    /// What its values are.
    #[serde(rename = "type")]
    pub kind: ColumnKind,
    /// How they are written for people.
    pub display: Display,
}

impl ColumnInfo {
    pub(crate) fn new(name: &str, kind: ColumnKind, display: Display) -> Self {
        Self { name: name.to_owned(), kind, display }
    }

    /// As it is declared to SQLite: the first word makes it compare as it should, the second tells how it is shown.
    pub(crate) fn declared(&self) -> &'static str {
        match (self.kind, self.display) {
            (ColumnKind::Stack, _) => "INTEGER STACK",
            (ColumnKind::Text, _) => "TEXT",
            (_, Display::TimeNs) => "INTEGER TIME_NS",
            (_, Display::DurationNs) => "INTEGER DURATION_NS",
            (_, Display::Hex) => "INTEGER HEX",
            _ => "INTEGER",
        }
    }
}

/// What a declared type of a result's column says; none for an expression, whose values tell what it is.
pub(crate) fn undeclared(declared: Option<&str>) -> Option<(ColumnKind, Display)> {
    Some(match declared? {
        "INTEGER STACK" => (ColumnKind::Stack, Display::Text),
        "INTEGER TIME_NS" => (ColumnKind::Integer, Display::TimeNs),
        "INTEGER DURATION_NS" => (ColumnKind::Integer, Display::DurationNs),
        "INTEGER HEX" => (ColumnKind::Integer, Display::Hex),
        "INTEGER" => (ColumnKind::Integer, Display::Decimal),
        "TEXT" => (ColumnKind::Text, Display::Text),
        _ => return None,
    })
}

/// A name as it can be written in a query.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
