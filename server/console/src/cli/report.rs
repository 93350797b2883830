//! `report`: a stored trace as text, as `trace-cmd report` shows it.

use std::{
    io::{BufWriter, Write as _},
    process::ExitCode,
};

use bathyscope_capture::CaptureId;
use bathyscope_formats::{write_report_note, write_trace_report};
use bathyscope_store::{Store, StoreError, SummaryQuery};
use bathyscope_views::{Cancel, RowCursor, RowsQuery, Source as _, ViewError};
use clap::Args;

use super::open;
use crate::{
    Failure, Outcome,
    config::DataArgs,
    view_query::ViewQuery,
    view_source::{CaptureCache, CaptureView},
};

/// What `report` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  bathyscope report                                     the newest capture
  bathyscope report 00f1e2d3c4b5a697 -F 'kmalloc: bytes_req > 1000'
  bathyscope report -F 'sched_switch,sched_wakeup: comm == \"ls\"'")]
pub struct ReportArgs {
    /// Which capture [default: the newest]
    pub id: Option<CaptureId>,
    /// Only these events: EVENT[,EVENT…]: CONDITION, EVENT alone, or a condition for all; repeatable
    #[arg(short = 'F', long, value_name = "FILTER")]
    pub filter: Vec<String>,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// Prints it.
///
/// # Errors
/// If there is no such capture, a filter does not fit, or the text cannot be written.
pub fn run(args: ReportArgs) -> Outcome {
    let (id, filters) = (args.id, args.filter);
    let printed = open::reading(&args.data, async |store| print(store, id, &filters).await)?;
    match printed {
        // Whoever reads has seen enough, as `head` has.
        Err(ViewError::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(ExitCode::SUCCESS),
        Err(error) => Err(Failure::because("reporting the capture", error)),
        Ok(true) => Ok(ExitCode::SUCCESS),
        Ok(false) => Err(Failure::new("there are no captures").remedy("Make one with `bathyscope record`.")),
    }
}

/// Says whether there was a capture.
async fn print(store: Store, id: Option<CaptureId>, filters: &[String]) -> Result<Result<bool, ViewError>, StoreError> {
    let id = match id {
        Some(id) => id,
        None => {
            let newest = store.summaries(&SummaryQuery { text: String::new(), limit: 1, offset: 0 }).await?;
            match newest.items.first() {
                Some(newest) => newest.id,
                None => return Ok(Ok(false)),
            }
        }
    };
    let view = CaptureCache::new(store).view(id, false).await?;
    // Nothing else runs here that the work could hold up.
    Ok(tokio::task::block_in_place(|| write(&view, filters).map(|()| true)))
}

fn write(view: &CaptureView, filters: &[String]) -> Result<(), ViewError> {
    let cancel = Cancel::new(false);
    let names: Vec<&str> = view.streams().iter().map(|stream| stream.name.as_str()).collect();
    let mut cursors = Vec::new();
    for (stream, filter) in chosen(&names, filters) {
        let query: RowsQuery = ViewQuery { stream, filter, ..ViewQuery::default() }.rows(view)?;
        cursors.push(RowCursor::new(view, &query, &cancel)?);
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    let reported = write_trace_report(cursors, view.origin_ns(), &mut out)?;
    write_report_note(reported, &mut out).and_then(|()| out.flush()).map_err(ViewError::Write)
}

/// The streams that are shown, each with its condition, which may be empty.
fn chosen(names: &[&str], filters: &[String]) -> Vec<(u16, String)> {
    let streams = (0_u16..).zip(names);
    if filters.is_empty() {
        return streams.map(|(stream, _)| (stream, String::new())).collect();
    }
    let mut chosen = Vec::<(u16, String)>::new();
    for filter in filters {
        let (events, condition) = split(names, filter);
        for (stream, name) in streams.clone() {
            if events.as_ref().is_some_and(|events| !events.iter().any(|event| is_called(name, event))) {
                continue;
            }
            // Several conditions for one event: any of them is enough, as with trace-cmd.
            match chosen.iter_mut().find(|(known, _)| *known == stream) {
                Some((_, known)) if known.is_empty() || condition.is_empty() => known.clear(),
                Some((_, known)) => *known = format!("({known}) || ({condition})"),
                None => chosen.push((stream, condition.clone())),
            }
        }
    }
    chosen.sort_by_key(|(stream, _)| *stream);
    chosen
}

fn is_called(stream: &str, event: &str) -> bool {
    stream == event || stream.split_once(':').is_some_and(|(_, name)| name == event)
}

/// The events before the `:` whose names are all known, and the condition behind it. Without such events the condition is
/// for all.
fn split<'a>(names: &[&str], filter: &'a str) -> (Option<Vec<&'a str>>, String) {
    let ends = filter.match_indices(':').map(|(at, _)| at).chain([filter.len()]);
    // The longest list: a name may have a colon itself.
    let mut found = ends.filter_map(|end| {
        let events: Vec<&str> = filter.get(..end)?.split(',').map(str::trim).collect();
        let known = |event: &&str| names.iter().any(|name| is_called(name, event));
        events.iter().all(known).then_some((end, events))
    });
    match found.next_back() {
        Some((end, events)) => {
            let condition = filter.get(end..).unwrap_or_default().trim_start_matches(':').trim();
            (Some(events), condition.to_owned())
        }
        None => (None, filter.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_are_for_events_or_for_all() {
        let names = ["kmem:kmalloc", "sched:sched_switch", "function"];
        let chosen = |filters: &[&str]| {
            let filters: Vec<String> = filters.iter().map(|filter| (*filter).to_owned()).collect();
            chosen(&names, &filters).iter().map(|(stream, text)| format!("{stream}[{text}]")).collect::<String>()
        };
        let cases: [(&[&str], &str); 8] = [
            (&[], "0[]1[]2[]"),
            (&["kmalloc: bytes_req > 1000"], "0[bytes_req > 1000]"),
            (&["kmem:kmalloc:bytes_req > 1000"], "0[bytes_req > 1000]"),
            (&["kmalloc,sched_switch: cpu == 1"], "0[cpu == 1]1[cpu == 1]"),
            (&["function"], "2[]"),
            (&["cpu == 1"], "0[cpu == 1]1[cpu == 1]2[cpu == 1]"),
            (&["kmalloc: a > 1", "kmalloc: b > 1"], "0[(a > 1) || (b > 1)]"),
            (&["kmalloc: a > 1", "kmalloc", "function"], "0[]2[]"),
        ];
        for (filters, expected) in cases {
            assert_eq!(chosen(filters), expected, "{filters:?}");
        }
    }
}
