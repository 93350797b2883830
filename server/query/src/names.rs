//! What tables and columns are called.

use std::collections::HashSet;

use bathyscope_capture::{ColumnType, StreamSchema};
use serde::Serialize;

use crate::{
    capture::Capture,
    column::{ColumnInfo, ColumnKind, quoted},
    lists::List,
    unions::Union,
};

/// A table that a query can read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableInfo {
    /// Its name; to be written in double quotes where it is not a plain word.
    pub name: String,
    /// A shorter name that means the same table, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// What it holds, in words.
    pub about: String,
    /// How many rows it has.
    pub rows: u64,
    /// Its columns.
    pub columns: Vec<ColumnInfo>,
    #[serde(skip)]
    pub(crate) content: Content,
}

/// Where the rows of a table come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Stream(u16),
    List(List),
    Union(Union),
}

impl TableInfo {
    /// The statement that declares it to SQLite.
    pub(crate) fn declaration(&self) -> String {
        let columns = self.columns.iter().map(|column| format!("{} {}", quoted(&column.name), column.declared()));
        format!("CREATE TABLE x({})", columns.collect::<Vec<_>>().join(", "))
    }

    /// The shortest name of it.
    pub(crate) fn short(&self) -> &str {
        self.alias.as_deref().unwrap_or(&self.name)
    }
}

/// A name as people would write it in a query: in quotes only where that is needed.
pub(crate) fn written(name: &str) -> String {
    let plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && !KEYWORDS.contains(&name.to_ascii_lowercase().as_str());
    if plain { name.to_owned() } else { quoted(name) }
}

/// Words of SQL that fields and events are called too.
const KEYWORDS: [&str; 44] = [
    "action", "add", "all", "and", "as", "case", "check", "column", "commit", "default", "delete", "desc", "distinct",
    "drop", "else", "end", "exists", "for", "from", "group", "having", "in", "index", "insert", "into", "is", "join",
    "limit", "not", "null", "of", "on", "or", "order", "primary", "select", "set", "table", "then", "to", "union",
    "values", "when", "where",
];

/// The most bytes of a name.
const NAME_BYTES: usize = 200;

/// Names that are given once; SQL does not tell capital letters from small ones.
#[derive(Default)]
struct Taken(HashSet<String>);

impl Taken {
    /// The name, or the first of `name#2`, `name#3`, … that is free.
    fn take(&mut self, name: &str) -> String {
        let clean: String = name.chars().map(|c| if c.is_control() { '_' } else { c }).collect();
        let mut end = clean.len().min(NAME_BYTES);
        while !clean.is_char_boundary(end) {
            end -= 1;
        }
        let clean = clean.get(..end).unwrap_or_default();
        let clean = if is_reserved(clean) { format!("stream:{clean}") } else { clean.to_owned() };
        let mut found = clean.clone();
        let mut number = 2_u32;
        while !self.0.insert(found.to_lowercase()) {
            found = format!("{clean}#{number}");
            number = number.saturating_add(1);
        }
        found
    }

    /// Whether nobody has that name.
    fn is_free(&self, name: &str) -> bool {
        !is_reserved(name) && !self.0.contains(&name.to_lowercase())
    }
}

/// Names that mean something to SQLite.
pub(crate) fn is_reserved(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let modules = ["json_each", "json_tree", "dbstat", "fts3", "fts4", "fts5", "rtree", "rtree_i32", "fts4aux"];
    lower.is_empty()
        || lower.starts_with("sqlite_")
        || lower.starts_with("pragma_")
        || lower.starts_with("fts")
        || modules.contains(&lower.as_str())
}

/// The tables of a capture. How many frames all stacks have together is known only when all were read: `stack_rows` says it.
pub(crate) fn tables_of(capture: &Capture, stack_rows: usize) -> Vec<TableInfo> {
    tables(capture.source.streams(), |content| match content {
        Content::Stream(stream) => capture.source.chunks(stream).iter().map(|chunk| u64::from(chunk.rows)).sum(),
        Content::List(list) => list.rows(capture, || stack_rows) as u64,
        Content::Union(union) => {
            let own = (0_u16..).zip(capture.source.streams()).filter(|(_, schema)| union.has(schema));
            own.flat_map(|(stream, _)| capture.source.chunks(stream)).map(|chunk| u64::from(chunk.rows)).sum()
        }
    })
}

/// The tables of a capture: its streams first, then what they refer to.
fn tables(streams: &[StreamSchema], rows: impl Fn(Content) -> u64) -> Vec<TableInfo> {
    let mut taken = Taken::default();
    let lists: Vec<TableInfo> = List::ALL
        .into_iter()
        .map(|list| TableInfo {
            name: taken.take(list.name()),
            alias: None,
            about: list.about().to_owned(),
            rows: rows(Content::List(list)),
            columns: list.columns(),
            content: Content::List(list),
        })
        .collect();
    let mut found: Vec<TableInfo> = (0_u16..)
        .zip(streams)
        .filter(|(_, schema)| !schema.is_absent())
        .map(|(index, schema)| TableInfo {
            name: taken.take(&schema.name),
            alias: None,
            about: format!("rows of {}", schema.name),
            rows: rows(Content::Stream(index)),
            columns: columns(schema),
            content: Content::Stream(index),
        })
        .collect();
    let shorts: Vec<String> = found.iter().map(|table| short(&table.name)).collect();
    for (table, alias) in found.iter_mut().zip(&shorts) {
        let same = shorts.iter().filter(|other| other.eq_ignore_ascii_case(alias)).count();
        if same == 1 && *alias != table.name && taken.is_free(alias) {
            table.alias = Some(taken.take(alias));
        }
    }
    // A stream of the name of one goes before it.
    let unions = Union::ALL.into_iter().map(|union| TableInfo {
        name: taken.take(union.name()),
        alias: None,
        about: union.about().to_owned(),
        rows: rows(Content::Union(union)),
        columns: union.columns(),
        content: Content::Union(union),
    });
    found.extend(unions);
    found.extend(lists);
    found
}

/// `sched_switch` of `sched:sched_switch`; only words that need no quotes.
fn short(name: &str) -> String {
    let last = name.rsplit(':').next().unwrap_or_default();
    last.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect()
}

fn columns(schema: &StreamSchema) -> Vec<ColumnInfo> {
    let mut taken = Taken::default();
    let column = |column: &bathyscope_capture::Column| {
        let kind = match column.ty {
            ColumnType::U64 | ColumnType::I64 => ColumnKind::Integer,
            ColumnType::Text => ColumnKind::Text,
            ColumnType::Stack => ColumnKind::Stack,
        };
        ColumnInfo { name: taken.take(&column.name), kind, display: column.display }
    };
    schema.columns.iter().map(column).collect()
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::StreamKind;

    use super::*;

    #[test]
    fn names_are_safe_and_never_two() {
        let names =
            ["sched:sched_switch", "a:x", "b:x", "processes", "sqlite_master", "", "PROCESSES", "cpu-clock", "a\nb"];
        let streams: Vec<_> = names.iter().map(|name| StreamSchema::new(*name, StreamKind::Events, [])).collect();
        let tables = tables(&streams, |_| 0);
        let found: Vec<_> = tables.iter().take(names.len()).map(|t| (t.name.as_str(), t.alias.as_deref())).collect();
        let expected = [
            ("sched:sched_switch", Some("sched_switch")),
            ("a:x", None),
            ("b:x", None),
            ("processes#2", Some("processes_2")),
            ("stream:sqlite_master", None),
            ("stream:", None),
            ("PROCESSES#3", Some("PROCESSES_3")),
            ("cpu-clock", Some("cpu_clock")),
            ("a_b", None),
        ];
        assert_eq!(found, expected);
        assert!(tables.iter().all(|table| !is_reserved(&table.name)));
        assert_eq!(written("args.pid"), "\"args.pid\"");
        assert_eq!(
            (written("time"), written("order"), written("1x")),
            ("time".into(), "\"order\"".into(), "\"1x\"".into())
        );
    }
}
