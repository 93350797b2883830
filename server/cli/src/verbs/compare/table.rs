//! `compare --in`: one table of both captures, line by line, with the numbers that the page of a capture shows against another one.

use bathyscope_capture::ShownCell;
use bathyscope_reader::{
    AgainstParams, CallsQuery, CaptureCache, CaptureView, CompareParams, PivotParams, SyscallParams, ViewQuery,
    script_view::ScriptView,
};
use bathyscope_store::{Store, StoreError};
use bathyscope_views::{
    AgainstKind, AgainstLine, AgainstMeasure, AgainstTable, AgainstValue, Cancel, Normalised, OnlySide, Source as _,
    Unit, ViewError, matching_stream, no_matching_stream,
};
use clap::{Args, ValueEnum};

use super::{
    super::{
        range::{RangeArgs, moment},
        text,
    },
    CompareArgs, verdict,
};

/// Lines that are told if nothing is said.
const USUAL_LINES: u32 = 40;

/// What of both is put side by side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Compared {
    /// System calls
    Syscalls,
    /// Groups of rows of a stream
    Groups,
    /// Functions that were called, wherever
    Functions,
    /// Functions that were called on a way of functions
    Calls,
    /// A map of a script
    Map,
}

/// By what amounts are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Per {
    /// For each second
    #[default]
    Time,
    /// As shares of all
    Total,
    /// As they were counted
    None,
}

/// What a table takes.
#[derive(Clone, Debug, Args)]
pub struct TableArgs {
    /// One table, line by line, in the place of all that changed
    #[arg(long = "in", value_name = "WHAT", value_enum)]
    pub table: Option<Compared>,
    /// What lines are told apart by: of groups comma-separated columns, of system calls `call`, `process` or `process_call`
    #[arg(long, value_name = "NAMES", default_value = "", requires = "table")]
    pub by: String,
    /// What is told of groups: count, sum:COLUMN, mean:COLUMN, p99:COLUMN …, comma-separated
    #[arg(long, value_name = "VALUES", default_value = "", requires = "table")]
    pub values: String,
    /// The stream or map, by its name in B; the first if nothing is said
    #[arg(long, value_name = "NAME", requires = "table")]
    pub stream: Option<String>,
    /// Of calls: the functions that lead to them from outermost calls on, comma-separated
    #[arg(long, value_name = "FUNCTIONS", default_value = "", requires = "table")]
    pub way: String,
    /// By what amounts are compared
    #[arg(long, value_name = "WHAT", value_enum, default_value_t, requires = "table")]
    pub per: Per,
    /// In which order: the number of a column of the table, a full stop, and here, there, difference or ratio, with `-` before it for the
    /// greatest first; those that changed by more than chance if nothing is said
    #[arg(long, value_name = "ORDER", default_value = "", allow_hyphen_values = true, requires = "table")]
    pub order: String,
    /// How many lines, at most 1000
    #[arg(long, value_name = "COUNT", default_value_t = USUAL_LINES, requires = "table")]
    pub lines: u32,
    /// Only rows that satisfy this predicate, or contain this text
    #[arg(short = 'F', long, value_name = "FILTER", default_value = "", requires = "table")]
    pub filter: String,
    /// Of which part of B.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Of A only from this time after its start
    #[arg(long, visible_alias = "with-from", value_name = "TIME", allow_hyphen_values = true, value_parser = moment, requires = "table")]
    pub with_start: Option<i64>,
    /// Of A only until this time after its start
    #[arg(long, visible_alias = "with-to", value_name = "TIME", allow_hyphen_values = true, value_parser = moment, requires = "table")]
    pub with_end: Option<i64>,
    /// Rows of A, if they are others
    #[arg(long, value_name = "FILTER", requires = "table")]
    pub with_filter: Option<String>,
}

/// Makes the table of two captures; none if there are none.
pub(super) async fn table(
    store: Store,
    args: &CompareArgs,
    what: Compared,
) -> Result<Option<Result<AgainstTable, ViewError>>, StoreError> {
    let (Some(a), Some(b)) = (args.a.compared_id(&store).await?, args.b.compared_id(&store).await?) else {
        return Ok(None);
    };
    let cache = CaptureCache::new(store.clone());
    let (there, here) = (cache.view(a, false).await?, cache.view(b, false).await?);
    let scripts = (store.script(a).await?, store.script(b).await?);
    let scripts = (ScriptView::new(&there, scripts.0.as_ref()), ScriptView::new(&here, scripts.1.as_ref()));
    // Nothing else runs here that the work could hold up.
    Ok(Some(tokio::task::block_in_place(|| made(&args.table, what, (&there, &here), (&scripts.0, &scripts.1)))))
}

type Scripts<'a> = (&'a Option<ScriptView>, &'a Option<ScriptView>);

fn made(
    args: &TableArgs,
    what: Compared,
    (there, here): (&CaptureView, &CaptureView),
    scripts: Scripts<'_>,
) -> Result<AgainstTable, ViewError> {
    let cancel = Cancel::new(false);
    let params = CompareParams {
        with: there.record().id.to_string(),
        with_start: args.with_start,
        with_end: args.with_end,
        with_filter: args.with_filter.clone(),
        normalised: match args.per {
            Per::Time => "time",
            Per::Total => "total",
            Per::None => "none",
        }
        .to_owned(),
        turned: None,
    };
    let way = (what == Compared::Calls).then(|| args.way.clone());
    let against = AgainstParams { lines_by: args.order.clone(), lines: Some(args.lines), way };
    let others = std::slice::from_ref(there);
    let RangeArgs { start, end } = args.range;
    match what {
        Compared::Syscalls => {
            let query: ViewQuery = args.range.query(args.filter.clone());
            let calls = SyscallParams { calls_by: args.by.clone(), bytes: None };
            against.syscalls((&params, &query, &calls), (here, others), &cancel)
        }
        Compared::Groups => {
            let stream = stream_of(args, here)?;
            let (filter, by, values) = (args.filter.clone(), args.by.clone(), args.values.clone());
            let query = PivotParams { stream, start, end, filter, by, values, ..PivotParams::default() };
            against.groups((&params, &query), (here, others), &cancel)
        }
        Compared::Functions | Compared::Calls => {
            let query = CallsQuery { start, end, filter: args.filter.clone(), ..CallsQuery::default() };
            against.calls((&params, &query), (here, others), &cancel)
        }
        Compared::Map => {
            let stream = map_of(args, here, scripts.1.as_ref())?;
            let other = matching_stream(here, stream, there)?;
            let shape = |view: &CaptureView, script: &Option<ScriptView>, stream| {
                script.as_ref().and_then(|script| script.shape(view, stream))
            };
            let shapes = shape(here, scripts.1, stream).zip(shape(there, scripts.0, other));
            let (one, two) = shapes.ok_or_else(|| no_matching_stream(here, stream))?;
            against.map((&params, start, end), (here, &one), (others, &two), &cancel)
        }
    }
}

/// The stream of a name, or the first that has rows of its own.
fn stream_of(args: &TableArgs, view: &CaptureView) -> Result<u16, ViewError> {
    let named = |name: &String| {
        let found = (0_u16..).zip(view.streams()).find(|(_, schema)| schema.name == *name);
        found.map(|(stream, _)| stream).ok_or_else(|| ViewError::AgainstStream(name.clone()))
    };
    args.stream.as_ref().map_or(Ok(0), named)
}

/// The map of a name, or the first.
fn map_of(args: &TableArgs, view: &CaptureView, script: Option<&ScriptView>) -> Result<u16, ViewError> {
    if args.stream.is_some() {
        return stream_of(args, view);
    }
    let is_map = |stream: &u16| script.is_some_and(|script| script.shape(view, *stream).is_some());
    let all = 0..u16::try_from(view.streams().len()).unwrap_or(u16::MAX);
    all.into_iter().find(is_map).ok_or_else(|| ViewError::AgainstStream("@".to_owned()))
}

/// The table as text.
pub(super) fn told(table: &AgainstTable) -> String {
    let mut out = String::new();
    for caution in &table.cautions {
        // The words of a page are those of its capture; here it is the second.
        out.push_str(&format!("Beware: {caution}\n"));
    }
    let per = match table.normalised {
        Normalised::Time => "a second",
        Normalised::Total => "as shares",
        Normalised::None => "as counted",
    };
    out.push_str(&format!(
        "{} of {} lines changed by more than chance, {} only in A, {} only in B; amounts {per}\n",
        table.changed, table.compared, table.only_there, table.only_here
    ));
    for line in &table.lines {
        out.push_str(&format!("{}\n", key_words(line)));
        for (measure, value) in table.measures.iter().zip(&line.values) {
            if let Some(words) = value_words(table.normalised, measure, value) {
                out.push_str(&format!("  {words}\n"));
            }
        }
    }
    out
}

fn key_words(line: &AgainstLine) -> String {
    let cell = |cell: &ShownCell| match cell {
        ShownCell::Null => "missing".to_owned(),
        ShownCell::Number(number) => number.to_string(),
        ShownCell::Real(number) => number.to_string(),
        ShownCell::Text(text) => text.clone(),
        ShownCell::Stack { top, .. } => top.clone(),
    };
    let key = line.key.iter().map(cell).collect::<Vec<_>>().join(", ");
    let key = if line.key.is_empty() { "all rows".to_owned() } else { key };
    match line.only {
        None => key,
        Some(OnlySide::Here) => format!("{key} (only in B)"),
        Some(OnlySide::There) => format!("{key} (only in A)"),
    }
}

/// A number of both; nothing where neither has any.
fn value_words(normalised: Normalised, measure: &AgainstMeasure, value: &AgainstValue) -> Option<String> {
    let is_amount = measure.kind == AgainstKind::Amount;
    let written = |number: f64| {
        if is_amount && normalised == Normalised::Total {
            return format!("{:.2} %", number * 100.0);
        }
        let sign = if number < 0.0 { "-" } else { "" };
        let size = number.abs();
        let words = match measure.unit {
            Unit::Nanoseconds => text::duration(size as u64),
            Unit::Bytes => text::bytes(size as u64),
            _ if size >= 1000.0 => text::count(size as u64),
            _ => format!("{size:.1}"),
        };
        format!("{sign}{words}")
    };
    let side = |number: Option<f64>| number.map_or_else(|| "–".to_owned(), written);
    if [value.by_here, value.by_there].iter().all(|number| number.is_none_or(|number| number == 0.0)) {
        return None;
    }
    let change = value.by_there.zip(value.by_here).map(|(a, b)| super::change(a, b)).unwrap_or_default();
    let (a, b) = (side(value.by_there), side(value.by_here));
    Some(format!("{:<16} {a:>12} {b:>12} {change:>10}  {}", measure.name, verdict(value.verdict)).trim_end().to_owned())
}
