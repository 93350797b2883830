//! Runs a query.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use bathyscope_capture::{Display, ShownCell};
use bathyscope_views::Cancel;
use rusqlite::{Connection, Error, Rows, Statement, ffi::ErrorCode};

use crate::{
    Answer, ColumnKind, Cut, Place, QueryError, ResultColumn, Scanned, TableInfo, answer,
    capture::Capture,
    column, functions, guard,
    limits::Limits,
    names::{self, Content},
    pushdown,
    shared::{RowMode, Shared, Stop},
    stacks::StackRows,
    vtab,
};

/// The tables that queries of a capture can read. Counting the frames of stacks takes a while: call it where it may wait.
///
/// # Errors
/// [`QueryError::Capture`] if the stacks cannot be read.
pub fn tables(capture: &Capture) -> Result<Vec<TableInfo>, QueryError> {
    let dictionaries = capture.source.dictionaries();
    let stacks = StackRows::new(dictionaries);
    dictionaries.check().map_err(QueryError::Capture)?;
    let mut tables = names::tables_of(capture, stacks.len());
    // Those over streams of which there are none are always empty.
    tables.retain(|table| match table.content {
        Content::Union(union) => capture.source.streams().iter().any(|schema| union.has(schema)),
        _ => true,
    });
    Ok(tables)
}

/// Answers a query. It takes a while and must run where it may wait; setting `cancel` ends it.
///
/// # Errors
/// [`QueryError`]: if it is not a query of this capture, is not allowed, needs more than its limits, or is cancelled.
pub fn run(capture: &Capture, sql: &str, limits: &Limits, cancel: &Arc<Cancel>) -> Result<Answer, QueryError> {
    let began = Instant::now();
    if sql.len() > guard::QUERY_BYTES {
        let message = format!("it has {} bytes; a query has at most {}", sql.len(), guard::QUERY_BYTES);
        return Err(QueryError::Wrong { place: None, message, remedy: String::new() });
    }
    if sql.contains('\0') {
        return Err(wrong("it has a zero byte", "Remove it."));
    }
    let modes = [RowMode::Summed, RowMode::Grouped, RowMode::Single];
    let mut answer = Err(QueryError::Failed { message: "there are too many groups".to_owned() });
    for mode in modes.into_iter().filter(|mode| *mode != RowMode::Summed || pushdown::may_sum(sql)) {
        match attempt(capture, sql, limits, cancel, began, mode) {
            // Nothing was given out yet.
            Err(Stopped::OtherMode) => {}
            done => {
                answer = done.map_err(Stopped::into_error);
                break;
            }
        }
    }
    if began.elapsed() >= LONG {
        vtab::give_back_memory();
    }
    answer
}

/// Queries that take longer may have taken much memory.
const LONG: Duration = Duration::from_millis(200);

/// Why a way to run a query was not the one.
#[derive(Debug)]
pub(crate) enum Stopped {
    OtherMode,
    Error(QueryError),
}

impl Stopped {
    fn into_error(self) -> QueryError {
        match self {
            Self::Error(error) => error,
            Self::OtherMode => QueryError::Failed { message: "there are too many groups".to_owned() },
        }
    }
}

/// Runs a query in one way.
pub(crate) fn attempt(
    capture: &Capture,
    sql: &str,
    limits: &Limits,
    cancel: &Arc<Cancel>,
    began: Instant,
    mode: RowMode,
) -> Result<Answer, Stopped> {
    let shared = Arc::new(Shared::new(capture, Arc::clone(cancel), mode));
    let result = connect(&shared, limits, began).and_then(|connection| {
        // A query that is wrong says so where it runs row by row.
        if mode == RowMode::Summed && !pushdown::is_summed(&connection, sql).unwrap_or(false) {
            return Err(shared.fail(Stop::OtherMode));
        }
        answer(&connection, &shared, sql, limits)
    });
    result
        .map(|answer| Answer { elapsed_ms: u64::try_from(began.elapsed().as_millis()).unwrap_or(u64::MAX), ..answer })
        .map_err(|error| match shared.take_stop() {
            Some(Stop::OtherMode) => Stopped::OtherMode,
            stop => Stopped::Error(explain(&shared, sql, limits, stop, error)),
        })
}

fn connect(shared: &Arc<Shared>, limits: &Limits, began: Instant) -> rusqlite::Result<Connection> {
    let connection = guard::open()?;
    for (index, table) in shared.tables.iter().enumerate() {
        if let Content::Union(_) = table.content {
            continue;
        }
        vtab::add_table(&connection, &table.name, shared, index)?;
        if let Some(alias) = &table.alias {
            vtab::add_table(&connection, alias, shared, index)?;
        }
    }
    add_unions(&connection, shared)?;
    functions::add(&connection, shared)?;
    if shared.mode == RowMode::Summed {
        pushdown::add(&connection, shared)?;
    }
    guard::arm(&connection, shared, limits, began)?;
    Ok(connection)
}

/// Makes the tables over several streams, as views over those of the streams.
fn add_unions(connection: &Connection, shared: &Shared) -> rusqlite::Result<()> {
    let of_stream = |table: &TableInfo| match table.content {
        Content::Stream(stream) => Some(stream),
        _ => None,
    };
    let streams = shared.tables.iter().filter_map(|table| {
        let schema = shared.capture.source.streams().get(usize::from(of_stream(table)?))?;
        Some((table.name.as_str(), schema))
    });
    let streams: Vec<_> = streams.collect();
    connection.execute_batch("PRAGMA query_only = OFF;")?;
    for table in &shared.tables {
        if let Content::Union(union) = table.content {
            connection.execute_batch(&union.view(&table.name, &streams))?;
        }
    }
    connection.execute_batch("PRAGMA query_only = ON;")
}

fn answer(connection: &Connection, shared: &Shared, sql: &str, limits: &Limits) -> rusqlite::Result<Answer> {
    let mut statement = connection.prepare(sql)?;
    if statement.column_count() == 0 {
        return Err(Error::InvalidQuery);
    }
    let heads = heads(&statement);
    let mut found = Found { rows: Vec::new(), truncated: None };
    found.collect(shared, &heads, statement.query([])?, limits)?;
    shared.check()?;
    let columns = heads.into_iter().enumerate().map(|(index, (name, declared))| {
        let cells = found.rows.iter().filter_map(|row| row.get(index));
        let (kind, display) = declared.unwrap_or_else(|| {
            let kind = answer::kind_of_all(cells);
            (kind, if kind == ColumnKind::Text { Display::Text } else { Display::Decimal })
        });
        ResultColumn { name, kind, display }
    });
    let columns = columns.collect();
    let load = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
    let scanned = Scanned { rows: load(&shared.rows), chunks: load(&shared.decoded), skipped: load(&shared.skipped) };
    Ok(Answer { columns, rows: found.rows, truncated: found.truncated, elapsed_ms: 0, scanned })
}

type Head = (String, Option<(ColumnKind, Display)>);

fn heads(statement: &Statement<'_>) -> Vec<Head> {
    let head = |column: &rusqlite::Column<'_>| {
        (bathyscope_capture::visible(column.name().as_bytes()), column::undeclared(column.decl_type()))
    };
    statement.columns().iter().map(head).collect()
}

struct Found {
    rows: Vec<Vec<ShownCell>>,
    truncated: Option<Cut>,
}

impl Found {
    fn collect(
        &mut self,
        shared: &Shared,
        heads: &[Head],
        mut rows: Rows<'_>,
        limits: &Limits,
    ) -> rusqlite::Result<()> {
        let mut bytes = 0_u64;
        while let Some(row) = rows.next()? {
            if self.rows.len() >= limits.rows {
                self.truncated = Some(Cut::Rows);
                break;
            }
            let cell = |(index, head): (usize, &Head)| {
                let kind = head.1.map(|(kind, _display)| kind);
                Ok(answer::cell_of(&shared.capture, kind, row.get_ref(index)?))
            };
            let cells: Vec<ShownCell> = heads.iter().enumerate().map(cell).collect::<rusqlite::Result<_>>()?;
            bytes += cells.iter().map(answer::bytes_of).sum::<u64>();
            if bytes > limits.bytes {
                self.truncated = Some(Cut::Bytes);
                break;
            }
            self.rows.push(cells);
        }
        Ok(())
    }
}

fn wrong(message: impl Into<String>, remedy: impl Into<String>) -> QueryError {
    QueryError::Wrong { place: None, message: message.into(), remedy: remedy.into() }
}

fn explain(shared: &Shared, sql: &str, limits: &Limits, stop: Option<Stop>, error: Error) -> QueryError {
    match stop {
        Some(Stop::Cancelled) => return QueryError::Cancelled,
        Some(Stop::Time) => {
            return QueryError::Time { limit_ms: u64::try_from(limits.time.as_millis()).unwrap_or(u64::MAX) };
        }
        Some(Stop::Memory) => return QueryError::Memory { limit_bytes: limits.memory },
        Some(Stop::Refused(what)) => return QueryError::Refused { what },
        Some(Stop::View(error)) => return QueryError::Capture(error),
        Some(Stop::OtherMode) | None => {}
    }
    match error {
        Error::InvalidQuery => wrong("it has no statement that returns rows", "Write a SELECT."),
        Error::MultipleStatement => wrong("there is more than one statement", "Send one at a time."),
        Error::SqlInputError { msg, offset, .. } => {
            let place = usize::try_from(offset).ok().map(|offset| Place::at(sql, offset));
            QueryError::Wrong { place, remedy: remedy(shared, sql, &msg), message: msg }
        }
        Error::SqliteFailure(failure, message) => {
            let message = message.unwrap_or_else(|| failure.to_string());
            match failure.code {
                ErrorCode::TooBig => wrong(message, "No value may be larger than 256 KiB."),
                ErrorCode::OutOfMemory => QueryError::Memory { limit_bytes: limits.memory },
                _ => {
                    let remedy = remedy(shared, sql, &message);
                    wrong(message, remedy)
                }
            }
        }
        other => QueryError::Failed { message: other.to_string() },
    }
}

/// The most names that are told.
const TOLD: usize = 40;

fn told<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut names: Vec<String> = names.map(names::written).collect();
    if names.len() > TOLD {
        let more = names.len() - TOLD;
        names.truncate(TOLD);
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}

/// What to do about a message of SQLite's, where that can be said.
fn remedy(shared: &Shared, sql: &str, message: &str) -> String {
    if message.contains("no such column") {
        let about: Vec<String> = mentioned(shared, sql)
            .map(|table| {
                format!("{} has {}.", table.short(), told(table.columns.iter().map(|column| column.name.as_str())))
            })
            .collect();
        return about.join(" ");
    }
    if message.contains("no such table") {
        return format!("There are {}.", told(shared.tables.iter().map(TableInfo::short)));
    }
    if message.contains("no such function") {
        let own = functions::NAMES.map(|name| format!("{name}()")).join(", ");
        return format!("There are {own}, and SQLite's own for numbers, text, time and JSON.");
    }
    if message.contains("unrecognized token: \":\"") || message.contains("near \":") {
        return "Write names with a colon in double quotes, or the part behind it alone.".to_owned();
    }
    String::new()
}

/// The tables whose names stand in a query.
fn mentioned<'a>(shared: &'a Shared, sql: &str) -> impl Iterator<Item = &'a TableInfo> {
    let lower = sql.to_lowercase();
    let words: Vec<String> = lower
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect();
    let is_there = move |name: &str| {
        let name = name.to_lowercase();
        words.contains(&name) || lower.contains(&format!("\"{name}\""))
    };
    let found = move |table: &&TableInfo| is_there(&table.name) || table.alias.as_deref().is_some_and(&is_there);
    shared.tables.iter().filter(found).take(4)
}
