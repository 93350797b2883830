//! `docs/schema.md` describes every table and column of a fresh database, and nothing else.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use crate::common;

use std::{collections::BTreeMap, path::Path};

use common::*;
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

/// Of each table its columns with their types, in their order.
type Tables = BTreeMap<String, Vec<(String, String)>>;

const PAGE: &str = "docs/schema.md";

fn page() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    std::fs::read_to_string(path).unwrap()
}

async fn fresh() -> (tempfile::TempDir, SqliteConnection) {
    let dir = tempfile::tempdir().unwrap();
    drop(open(dir.path()).await);
    let options = SqliteConnectOptions::new().filename(database(dir.path())).read_only(true);
    (dir, SqliteConnection::connect_with(&options).await.unwrap())
}

async fn tables(conn: &mut SqliteConnection) -> Tables {
    let select = "SELECT m.name, c.name, c.type FROM sqlite_master m JOIN pragma_table_info(m.name) c \
                  WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'search\\_%' ESCAPE '\\' ORDER BY m.name, c.cid";
    let rows: Vec<(String, String, String)> = sqlx::query_as(select).fetch_all(conn).await.unwrap();
    let mut found = Tables::new();
    for (table, column, ty) in rows {
        found.entry(table).or_default().push((column, ty));
    }
    found
}

/// The sections of tables: a heading of the third level with the table's name, and the text up to the next heading.
fn sections(page: &str) -> BTreeMap<&str, &str> {
    let sections = page.split("\n### ").skip(1);
    sections.filter_map(|section| section.split_once('\n')).map(|(name, text)| (name, until_heading(text))).collect()
}

fn until_heading(text: &str) -> &str {
    text.split_once("\n## ").map_or(text, |(before, _)| before)
}

/// A line "| `column` | type | meaning |" without what is around its parts.
fn described(line: &str) -> Option<(String, String)> {
    let mut cells = line.strip_prefix("| `")?.strip_suffix(" |")?.splitn(3, " | ");
    let (name, ty, meaning) = (cells.next()?.strip_suffix('`')?, cells.next()?, cells.next()?);
    assert!(meaning.len() > 3, "{PAGE} says of {name} what it means: {line}");
    Some((name.to_owned(), ty.to_owned()))
}

#[tokio::test]
async fn the_schema_page_describes_every_table_and_column_and_no_others() {
    let (_dir, mut conn) = fresh().await;
    let page = page();
    let told: Tables = sections(&page)
        .into_iter()
        .map(|(table, text)| (table.to_owned(), text.lines().filter_map(described).collect()))
        .collect();
    let there = tables(&mut conn).await;
    let mut problems = Vec::new();
    for table in there.keys().filter(|table| !told.contains_key(*table)) {
        problems.push(format!("the table {table} has no heading \"### {table}\""));
    }
    for (table, columns) in &told {
        let Some(real) = there.get(table) else {
            problems.push(format!("there is no table {table}"));
            continue;
        };
        problems.extend(missing(table, real, columns, "has no line for"));
        problems.extend(missing(table, columns, real, "describes what there is not:"));
        if problems.is_empty() && columns != real {
            problems.push(format!("the columns of {table} are in another order"));
        }
    }
    assert!(problems.is_empty(), "{PAGE} must change with the schema:\n{}", problems.join("\n"));
}

/// What `all` has and `some` has not.
fn missing(table: &str, all: &[(String, String)], some: &[(String, String)], what: &str) -> Vec<String> {
    let left = all.iter().filter(|column| !some.contains(column));
    left.map(|(name, ty)| format!("{table} {what} `{name}` | {ty}")).collect()
}

#[tokio::test]
async fn the_schema_page_names_references_indexes_and_triggers() {
    let (_dir, mut conn) = fresh().await;
    let page = page();
    let sections = sections(&page);
    let references = "SELECT DISTINCT m.name, f.\"table\" FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f \
                      WHERE m.type = 'table'";
    let references: Vec<(String, String)> = sqlx::query_as(references).fetch_all(&mut conn).await.unwrap();
    assert!(references.len() > 5);
    for (table, parent) in references {
        let link = format!("[`{parent}`](#{parent})");
        assert!(sections[table.as_str()].contains(&link), "{PAGE}: the section {table} refers to {link}");
    }
    let others = "SELECT name FROM sqlite_master WHERE type <> 'table' AND name NOT LIKE 'sqlite_%'";
    let others: Vec<(String,)> = sqlx::query_as(others).fetch_all(&mut conn).await.unwrap();
    for (name,) in others {
        assert!(page.contains(&format!("`{name}`")), "{PAGE} names {name}");
    }
}
