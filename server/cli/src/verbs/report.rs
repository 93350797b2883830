//! `report`: a stored trace as text, as `trace-cmd report` shows it, and samples as `perf report` does.

mod annotate;
mod calls;
mod filters;
mod functions;
pub(super) mod samples;

use std::{
    io::{BufWriter, Write},
    process::ExitCode,
};

use bathyscope_formats::{write_report_note, write_trace_report};
use bathyscope_reader::{CaptureCache, CaptureView, ViewQuery, WirePart, WireRank};
use bathyscope_store::{Store, StoreError};
use bathyscope_views::{Cancel, RowCursor, RowsQuery, Source as _, ViewError};
use clap::Args;

use super::{
    chosen::{ChosenCapture, no_captures},
    open,
    range::RangeArgs,
};
use crate::{Failure, Outcome, config::DataArgs};

/// What `report` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  bathyscope report                                     the newest capture
  bathyscope report 00f1e2d3c4b5a697 -F 'kmalloc: bytes_req > 1000'
  bathyscope report -F 'sched_switch,sched_wakeup: COMM == \"ls\"'
  bathyscope report -F 'sched,!sched_waking' -F '.*: CPU == 1'
  bathyscope report -v -F function                      all but the rows of the tracer function
  bathyscope report --calls --rank longest              functions by their longest call
  bathyscope report --calls --by irq --rank p99 --json  which interrupt has the highest latency
  bathyscope report --sort dso,symbol -n -g caller      samples of a profile by file and function, with their callers
  bathyscope report --no-children -g folded,callee --percent-limit 1 --from 1s --to 2.5s
  bathyscope report --functions                         functions of a profile by their own samples
  bathyscope report --annotate spin_inner               instructions of one by the samples at each")]
pub struct ReportArgs {
    /// Which capture: its id, or `newest` [default: newest]
    pub id: Option<ChosenCapture>,
    /// Filters.
    #[command(flatten)]
    pub filters: filters::FilterArgs,
    /// Instead of rows a table of functions by what their calls took; filters are conditions on calls
    #[arg(long)]
    pub calls: bool,
    /// Instead of rows the calls of functions in the shape of ftrace's own file `trace`; filters are conditions on calls
    #[arg(long, conflicts_with = "calls")]
    pub graph: bool,
    /// Instead of rows a table of the functions of sampled stacks; filters are conditions on samples
    #[arg(long, conflicts_with_all = ["calls", "graph"])]
    pub functions: bool,
    /// Samples by keys.
    #[command(flatten)]
    pub samples: samples::SampleArgs,
    /// From when until when.
    #[command(flatten)]
    pub range: RangeArgs,
    /// Instead of rows the instructions of a function with the samples at each; filters are conditions on samples
    #[arg(long, value_name = "FUNCTION", conflicts_with_all = ["calls", "graph", "functions"])]
    pub annotate: Option<String>,
    /// What functions are ranked by
    #[arg(long, value_enum, value_name = "WHAT", default_value_t, requires = "calls")]
    pub rank: WireRank,
    /// Calls of a function apart by CPU, thread, or the interrupt that they handled
    #[arg(long, value_enum, value_name = "WHAT", requires = "calls")]
    pub by: Option<WirePart>,
    /// One JSON object for each function or row of samples, or one for all instructions
    #[arg(long)]
    pub json: bool,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// Prints it.
///
/// # Errors
/// If there is no such capture, a filter does not fit, or the text cannot be written.
pub fn run(args: &ReportArgs) -> Outcome {
    let is_table = args.calls || args.functions || args.graph || args.annotate.is_some();
    if is_table && (args.samples.stdio || !args.samples.sort.is_empty() || args.samples.call_graph.is_some()) {
        let failure = Failure::new("--sort, -g and --stdio are for samples by keys");
        return Err(failure.remedy("Leave --calls, --graph, --functions and --annotate out."));
    }
    let printed = open::reading(&args.data, async |store| print(store, args).await)?;
    match printed {
        // Whoever reads has seen enough, as `head` has.
        Err(ViewError::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failure::because("reporting the capture", error)),
        Ok(Printed::All) => Ok(ExitCode::SUCCESS),
        Ok(Printed::Refused(failure)) => Err(failure),
        Ok(Printed::NoCapture) => Err(no_captures()),
    }
}

/// What came of it.
enum Printed {
    All,
    Refused(Failure),
    NoCapture,
}

async fn print(store: Store, args: &ReportArgs) -> Result<Result<Printed, ViewError>, StoreError> {
    let chosen = args.id.unwrap_or(ChosenCapture::Newest);
    let Some(id) = chosen.id(&store).await? else { return Ok(Ok(Printed::NoCapture)) };
    let view = CaptureCache::new(store.clone()).view(id, false).await?;
    if let Some(function) = &args.annotate {
        let written = annotate::write(&store, &view, args, function).await?;
        return Ok(written.map(|done| done.map_or_else(Printed::Refused, |()| Printed::All)));
    }
    let is_other = args.calls || args.functions || args.graph;
    if !is_other && !args.samples.rows && (args.samples.are_given() || samples::is_profile(&view)) {
        let written = view.checked(tokio::task::block_in_place(|| samples::write(&view, args)));
        return Ok(written.map(|done| done.map_or_else(Printed::Refused, |()| Printed::All)));
    }
    let rows = !is_other;
    if rows && args.json {
        let remedy = "Add --calls, --functions or --annotate, or use `bathyscope export ID --format ndjson` for rows.";
        return Ok(Ok(Printed::Refused(
            Failure::new("--json is for tables of functions and of samples").remedy(remedy),
        )));
    }
    let names: Vec<&str> = view.streams().iter().map(|stream| stream.name.as_str()).collect();
    let chosen = match if rows { args.filters.chosen(&names) } else { Ok(Vec::new()) } {
        Ok(chosen) => chosen,
        Err(failure) => return Ok(Ok(Printed::Refused(failure))),
    };
    // Nothing else runs here that the work could hold up.
    let written = tokio::task::block_in_place(|| match args.calls {
        true => calls::write(&view, args),
        false if args.functions => functions::write(&view, args),
        false if args.graph => calls::write_graph(&view, args),
        false => write(&view, &chosen, args.range),
    });
    Ok(view.checked(written).map(|()| Printed::All))
}

/// Lines of the rows that have come since the last call. `told` is of how many chunks of each stream there were lines.
pub(super) fn write_new(view: &CaptureView, told: &mut Vec<usize>, out: &mut dyn Write) -> Result<(), ViewError> {
    let cancel = Cancel::new(false);
    told.resize(view.streams().len(), 0);
    let mut cursors = Vec::new();
    for (stream, told) in (0_u16..).zip(told) {
        let query: RowsQuery = ViewQuery { stream, ..ViewQuery::default() }.rows(view)?;
        let cursor = RowCursor::new(view, &query, &cancel)?.after_chunks(*told);
        *told = cursor.chunks();
        cursors.push(cursor);
    }
    let reported = write_trace_report(cursors, view.origin_ns(), out)?;
    write_report_note(reported, out).and_then(|()| out.flush()).map_err(ViewError::Write)
}

fn write(view: &CaptureView, chosen: &[(u16, String)], range: RangeArgs) -> Result<(), ViewError> {
    let cancel = Cancel::new(false);
    let mut cursors = Vec::new();
    for (stream, filter) in chosen.iter().cloned() {
        let query: RowsQuery = ViewQuery { stream, ..range.query(filter) }.rows(view)?;
        cursors.push(RowCursor::new(view, &query, &cancel)?);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let reported = write_trace_report(cursors, view.origin_ns(), &mut out)?;
    write_report_note(reported, &mut out).and_then(|()| out.flush()).map_err(ViewError::Write)
}
