//! `query`: SQL over a stored capture, at a terminal.

use std::{
    io::{self, BufWriter, Read as _, Write},
    process::ExitCode,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use bathyscope_capture::{Display, ShownCell};
use bathyscope_formats::write_csv_text;
use bathyscope_query::{Answer, Capture, ColumnKind, Cut, Limits, QueryError, TableInfo};
use bathyscope_reader::CaptureCache;
use bathyscope_store::{Store, StoreError};
use clap::Args;

use super::{
    chosen::{ChosenCapture, no_captures},
    open,
};
use crate::{Failure, Outcome, config::DataArgs};

/// The longest query that is read from standard input.
const INPUT_BYTES: u64 = 1 << 20;
/// The widest column of a table, in characters.
const WIDEST: usize = 80;

/// What `query` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Each stream of the capture is a table, by its name in double quotes or the part behind the colon; times are nanoseconds \
from the capture's start. Besides there are streams, losses, processes, stacks, frames, mappings and strings, and the \
functions stack(id), stack_top(id), frame(id), hist(x), percentile(x, p) and overlap(start, end, start, end).

Examples:
  bathyscope query newest                               the tables and their columns
  bathyscope query newest 'select comm, count(*) from sched_switch group by comm'
  bathyscope query 00f1e2d3c4b5a697 'select * from losses' --json
  bathyscope query newest - --csv < question.sql > answer.csv")]
pub struct QueryArgs {
    /// Which capture: its id, or `newest`
    pub capture: ChosenCapture,
    /// One SELECT, or `-` to read it from standard input; without it the tables are listed
    pub sql: Option<String>,
    /// One JSON object with columns and rows
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// CSV with a head
    #[arg(long)]
    pub csv: bool,
    /// The most rows
    #[arg(long, value_name = "ROWS", default_value_t = 100_000)]
    pub limit: usize,
    /// After how many seconds it is ended
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    pub timeout: u64,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// Answers it.
///
/// # Errors
/// If there is no such capture, the query is wrong or needs too much, or the answer cannot be written.
pub fn run(args: QueryArgs) -> Outcome {
    let sql = match args.sql.as_deref() {
        Some("-") => Some(read_input()?),
        given => given.map(str::to_owned),
    };
    let Some(capture) = open::reading(&args.data, async |store| found(store, &args, sql.as_deref()).await)? else {
        return Err(no_captures());
    };
    let written = match capture {
        Done::Tables(tables) => write_tables(&tables?, args.json),
        Done::Answer(answer) => write_answer(&args, &*answer?),
    };
    match written {
        // Whoever reads has seen enough, as `head` has.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure::because("printing the answer", error)),
        _ => Ok(ExitCode::SUCCESS),
    }
}

fn read_input() -> Result<String, Failure> {
    let mut text = String::new();
    let read = io::stdin().lock().take(INPUT_BYTES).read_to_string(&mut text);
    read.map(|_bytes| text).map_err(|error| Failure::because("reading the query from standard input", error))
}

/// What was asked for.
enum Done {
    Tables(Result<Vec<TableInfo>, Failure>),
    Answer(Result<Box<Answer>, Failure>),
}

async fn found(store: Store, args: &QueryArgs, sql: Option<&str>) -> Result<Option<Done>, StoreError> {
    let Some(id) = args.capture.id(&store).await? else { return Ok(None) };
    let capture = CaptureCache::new(store).view(id, false).await?.to_query().await?;
    Ok(Some(match sql {
        None => Done::Tables(tokio::task::block_in_place(|| tables(&capture))),
        // Nothing else runs here that the work could hold up.
        Some(sql) => Done::Answer(tokio::task::block_in_place(|| answer(&capture, sql, args))),
    }))
}

fn tables(capture: &Capture) -> Result<Vec<TableInfo>, Failure> {
    bathyscope_query::tables(capture).map_err(|error| Failure::because("reading what can be queried", error))
}

fn answer(capture: &Capture, sql: &str, args: &QueryArgs) -> Result<Box<Answer>, Failure> {
    let limits =
        Limits { time: Duration::from_secs(args.timeout), rows: args.limit, bytes: 256 << 20, memory: 2 << 30 };
    let cancel = Arc::new(AtomicBool::new(false));
    let failure = |error: QueryError| {
        let remedy = error.remedy();
        Failure::because("answering the query", error).remedy(remedy)
    };
    bathyscope_query::run(capture, sql, &limits, &cancel).map(Box::new).map_err(failure)
}

#[expect(clippy::print_stderr, reason = "a note about the answer, which is on standard output")]
fn write_answer(args: &QueryArgs, answer: &Answer) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    if args.json {
        serde_json::to_writer(&mut out, answer)?;
        writeln!(out)?;
    } else if args.csv {
        write_csv(answer, &mut out)?;
    } else {
        write_table(answer, &mut out)?;
    }
    out.flush()?;
    match answer.truncated {
        Some(Cut::Rows) => eprintln!("bathyscope: there are more rows; --limit sets how many are printed"),
        Some(Cut::Bytes) => eprintln!("bathyscope: there are more rows than an answer holds; ask for fewer columns"),
        None => {}
    }
    Ok(())
}

fn write_tables(tables: &[TableInfo], json: bool) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    if json {
        serde_json::to_writer(&mut out, tables)?;
        writeln!(out)?;
        return out.flush();
    }
    for table in tables {
        let alias = table.alias.as_ref().map(|alias| format!(", or {alias}")).unwrap_or_default();
        writeln!(out, "{}{alias}: {} ({} rows)", table.name, table.about, table.rows)?;
        let columns: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        writeln!(out, "  {}", columns.join(", "))?;
    }
    out.flush()
}

fn write_csv(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    for (index, column) in answer.columns.iter().enumerate() {
        separator(index, out)?;
        write_csv_text(&column.name, out)?;
    }
    out.write_all(b"\r\n")?;
    for row in &answer.rows {
        for (index, cell) in row.iter().enumerate() {
            separator(index, out)?;
            match cell {
                ShownCell::Null => {}
                ShownCell::Number(number) => write!(out, "{number}")?,
                ShownCell::Real(number) => write!(out, "{number}")?,
                ShownCell::Text(text) => write_csv_text(text, out)?,
                ShownCell::Stack { id, .. } => write!(out, "{id}")?,
            }
        }
        out.write_all(b"\r\n")?;
    }
    Ok(())
}

fn separator(index: usize, out: &mut dyn Write) -> io::Result<()> {
    if index == 0 { Ok(()) } else { out.write_all(b",") }
}

/// A table with columns as wide as what is in them; numbers to the right.
fn write_table(answer: &Answer, out: &mut dyn Write) -> io::Result<()> {
    let words: Vec<Vec<String>> = answer.rows.iter().map(|row| row_words(answer, row)).collect();
    let widths: Vec<usize> = answer
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let cells = words.iter().filter_map(|row| row.get(index)).map(|word| word.chars().count());
            cells.chain([column.name.chars().count()]).max().unwrap_or(0).min(WIDEST)
        })
        .collect();
    let right = |index: usize| {
        let kind = answer.columns.get(index).map(|column| column.kind);
        matches!(kind, Some(ColumnKind::Integer | ColumnKind::Real))
    };
    let mut line = |row: &mut dyn Iterator<Item = &str>| {
        let cells = row.zip(&widths).enumerate().map(|(index, (word, width))| match right(index) {
            true => format!("{word:>width$}"),
            false => format!("{word:<width$}"),
        });
        let text = cells.collect::<Vec<_>>().join("  ");
        writeln!(out, "{}", text.trim_end())
    };
    line(&mut answer.columns.iter().map(|column| column.name.as_str()))?;
    for row in &words {
        line(&mut row.iter().map(String::as_str))?;
    }
    Ok(())
}

fn row_words(answer: &Answer, row: &[ShownCell]) -> Vec<String> {
    let word = |(cell, column): (&ShownCell, &bathyscope_query::ResultColumn)| match cell {
        ShownCell::Null => "-".to_owned(),
        ShownCell::Number(number) if column.display == Display::Hex => format!("{number:#x}"),
        ShownCell::Number(number) => number.to_string(),
        ShownCell::Real(number) => number.to_string(),
        ShownCell::Text(text) => text.clone(),
        ShownCell::Stack { top, depth, .. } => format!("{top} ({depth} frames)"),
    };
    row.iter().zip(&answer.columns).map(word).collect()
}
