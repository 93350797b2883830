//! `series`: captures of the same as runs, with their key numbers over time, and the baseline that later ones are compared with; and
//! `mark`: moments such as deployments, which charts of series show.

use std::path::Path;

use bathyscope_capture::{CaptureId, Display, SeriesId};
use bathyscope_console::{
    control::ControlConnection,
    series::{
        AskedMark, BaselineVerdict, MarkItem, RunItem, SeriesItem, SeriesKey, SeriesPage, TerminalSeries,
        compute_pending, recipe_keys, series_at_terminal, series_page,
    },
};
use bathyscope_store::{Store, StoreError};
use bathyscope_views::KeyWhat;
use clap::{Args, Subcommand};
use jiff::{Timestamp, civil, tz::TimeZone};
use serde::Serialize;

use super::{chosen::ChosenCapture, open, print_all, text};
use crate::{Failure, Outcome, config::DataArgs, launch::Workplace};

/// What `series` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Captures that record the same sources of the same target on the same host are runs of one series, whatever they are called and however \
long they last. Their key numbers are computed once, when they have ended.

Examples:
  bathyscope series list
  bathyscope series show newest                         the runs of what the newest capture records
  bathyscope series show 00f1e2d3c4b5a697 --number p99:duration_ns@syscalls
  bathyscope series baseline 11f1e2d3c4b5a697           later runs are compared with this capture
  bathyscope mark 'shop 2.1 deployed' --link https://ci.example/1234")]
pub struct SeriesArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: SeriesVerb,
}

/// What can be done with series.
#[derive(Clone, Debug, Subcommand)]
pub enum SeriesVerb {
    /// List series with more than one run, the one with the last run first
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Print the runs of a series with their key numbers, the last first
    Show {
        /// A series as `list` names it, or a capture of it: an id, `newest` or `previous`
        #[arg(value_name = "SERIES", default_value = "newest")]
        series: String,
        /// Only this number, as `--json` names it; can be given several times [default: those that a recipe or the kind of source names]
        #[arg(long = "number", value_name = "KEY")]
        numbers: Vec<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Name the run of its series that later ones are compared with
    Baseline {
        /// The capture: an id, `newest` or `previous`
        #[arg(value_name = "CAPTURE")]
        capture: ChosenCapture,
        /// Compare later runs of its series with none
        #[arg(long)]
        none: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
}

/// What `mark` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
Examples:
  bathyscope mark 'shop 2.1 deployed'                   at this moment
  bathyscope mark 'kernel 6.12' --at 2026-11-28T03:00 --host web1 --link https://wiki.example/changes
  bathyscope mark --list
  bathyscope mark --remove 7")]
pub struct MarkArgs {
    /// What happened
    #[arg(value_name = "TEXT", required_unless_present_any = ["list", "remove"])]
    pub text: Option<String>,
    /// When [default: now]: 2026-11-28, 2026-11-28T03:00 in this machine's zone, or with a zone as in 2026-11-28T03:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    pub at: Option<i64>,
    /// The host that it is about [default: all]
    #[arg(long, value_name = "NAME", default_value = "", hide_default_value = true)]
    pub host: String,
    /// An address of the web where more is told
    #[arg(long, value_name = "URL", default_value = "", hide_default_value = true)]
    pub link: String,
    /// List the marks
    #[arg(long, conflicts_with_all = ["text", "at", "host", "link", "remove"])]
    pub list: bool,
    /// Remove the mark of this number
    #[arg(long, value_name = "NUMBER", conflicts_with_all = ["text", "at", "host", "link"])]
    pub remove: Option<i64>,
    /// With --list: print JSON
    #[arg(long, requires = "list")]
    pub json: bool,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// A moment of the wall clock as nanoseconds since 1970.
fn moment(text: &str) -> Result<i64, String> {
    let zoned = || text.parse::<Timestamp>().ok();
    let local = |at: civil::DateTime| at.to_zoned(TimeZone::system()).ok().map(|zoned| zoned.timestamp());
    let time = || text.parse::<civil::DateTime>().ok().and_then(local);
    let date = || text.parse::<civil::Date>().ok().and_then(|date| local(date.at(0, 0, 0, 0)));
    let found = zoned().or_else(time).or_else(date);
    let told = found.and_then(|found| i64::try_from(found.as_nanosecond()).ok());
    told.ok_or_else(|| "write a time such as 2026-11-28T03:00 or 2026-11-28T03:00:00Z".to_owned())
}

/// Does what is asked.
///
/// # Errors
/// If there is no such series, or the database cannot be used.
pub fn run(args: SeriesArgs) -> Outcome {
    match args.verb {
        SeriesVerb::List { json, data } => list(json, &data),
        SeriesVerb::Show { series, numbers, json, data } => show(&series, &numbers, (json, &data)),
        SeriesVerb::Baseline { capture, none, data } => {
            let dir = data.directory()?;
            // Before this process becomes the console's user, who reads the database and whom the console does not answer.
            let console = ControlConnection::open(&dir)?;
            let found = open::reading(&data, async |store| {
                up_to_date(&store).await?;
                let Some(id) = capture.id(&store).await? else { return Ok(None) };
                Ok(series_of(&store, id).await?.map(|series| (series, id)))
            })?;
            let (series, id) = found.ok_or_else(|| no_series("the capture"))?;
            let change = TerminalSeries::Baseline { series, baseline: (!none).then_some(id) };
            print_all(&format!("{}\n", done(change, console, &dir)?))
        }
    }
}

/// Marks a moment, lists marks, or removes one.
///
/// # Errors
/// If the mark is none, or the database cannot be used.
pub fn mark(args: MarkArgs) -> Outcome {
    if args.list {
        let found = open::reading(&args.data, async |store| store.marks(0, i64::MAX).await)?;
        let items: Vec<MarkItem> = found.into_iter().map(MarkItem::from).collect();
        return print_all(&if args.json {
            json_of(&serde_json::json!({ "items": items }))?
        } else {
            mark_lines(&items)
        });
    }
    if let Some(id) = args.remove {
        return changed(TerminalSeries::Unmark { id }, &args.data);
    }
    let MarkArgs { text, at, host, link, data, .. } = args;
    let asked = AskedMark { text: text.unwrap_or_default(), time_unix_ns: at, host, link };
    changed(TerminalSeries::Mark(asked), &data)
}

fn mark_lines(items: &[MarkItem]) -> String {
    let line = |mark: &MarkItem| {
        let host = if mark.host.is_empty() { String::new() } else { format!(" on {}", mark.host) };
        let link = if mark.link.is_empty() { String::new() } else { format!("  {}", mark.link) };
        format!(
            "{:>4}  {}  {}{host}, by {}{link}\n",
            mark.id,
            text::wall_time(mark.time_unix_ns),
            mark.text,
            mark.author
        )
    };
    if items.is_empty() { "There is no mark.\n".to_owned() } else { items.iter().map(line).collect() }
}

fn json_of(value: &impl Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string(value);
    Ok(text.map_err(|error| Failure::because("writing JSON", error))? + "\n")
}

fn no_series(what: &str) -> Failure {
    let failure = Failure::new(format!("{what} is of no series that is known"));
    failure.remedy("`bathyscope series list` names those with more than one run.")
}

/// Computes what is missing where no console does.
async fn up_to_date(store: &Store) -> Result<(), StoreError> {
    match compute_pending(store, 0, |_| false).await {
        // Another process has it open, and computes.
        Ok(_) | Err(StoreError::Closed) => Ok(()),
        Err(error) => Err(error),
    }
}

async fn series_of(store: &Store, id: CaptureId) -> Result<Option<SeriesId>, StoreError> {
    Ok(store.run_places(vec![id]).await?.get(&id).map(|place| place.series))
}

fn list(json: bool, data: &DataArgs) -> Outcome {
    let found = open::reading(data, async |store| {
        up_to_date(&store).await?;
        store.series().await
    })?;
    let items: Vec<SeriesItem> = found.into_iter().map(SeriesItem::from).collect();
    if json {
        return print_all(&json_of(&serde_json::json!({ "items": items }))?);
    }
    let line = |one: &SeriesItem| {
        let baseline = one.baseline.map_or_else(String::new, |id| format!("  baseline {id}"));
        let last = text::wall_time(one.last_unix_ns);
        format!("{}  {:>4} runs  last {last}  {}  {}{baseline}\n", one.id, one.runs, one.host, one.title)
    };
    let lines: String = items.iter().map(line).collect();
    let none = "There is no series: nothing was recorded twice. Run a capture again.\n";
    print_all(if lines.is_empty() { none } else { &lines })
}

fn show(series: &str, numbers: &[String], (json, data): (bool, &DataArgs)) -> Outcome {
    let found = open::reading(data, async |store| {
        up_to_date(&store).await?;
        let by_id = series.parse::<SeriesId>().ok();
        let by_capture = match series.parse::<ChosenCapture>() {
            Ok(chosen) => match chosen.id(&store).await? {
                Some(id) => series_of(&store, id).await?,
                None => None,
            },
            Err(_) => None,
        };
        // An id can be that of a capture or of a series: of a capture it is tried first.
        let Some(id) = by_capture.or(by_id) else { return Ok(None) };
        page(&store, id).await
    })?;
    let page = found.ok_or_else(|| no_series(&format!("`{}`", bathyscope_capture::visible(series.as_bytes()))))?;
    if let Some(unknown) = numbers.iter().find(|wanted| page.keys.iter().all(|key| key.key != **wanted)) {
        let known: Vec<&str> = page.keys.iter().map(|key| key.key.as_str()).collect();
        let failure = Failure::new(format!("the series has no number `{unknown}`"));
        return Err(failure.remedy(format!("It has: {}.", known.join(", "))));
    }
    print_all(&if json { json_of(&page)? } else { lines(&page, numbers) })
}

async fn page(store: &Store, id: SeriesId) -> Result<Option<SeriesPage>, StoreError> {
    let runs = store.series_runs(id).await?;
    let (Some(last), Some(first)) = (runs.first(), runs.last()) else { return Ok(None) };
    let wished = store.capture(last.id).await.map_or(&[][..], |record| recipe_keys(&record.spec));
    let marks = store.marks(first.started_unix_ns, i64::MAX).await?;
    Ok(Some(series_page(id, runs, (wished, marks, true))))
}

fn lines(page: &SeriesPage, numbers: &[String]) -> String {
    let wanted = |key: &SeriesKey| if numbers.is_empty() { key.chosen } else { numbers.contains(&key.key) };
    let keys: Vec<(usize, &SeriesKey)> = page.keys.iter().enumerate().filter(|(_, key)| wanted(key)).collect();
    let mut out = format!("Series {}: {} runs of {} on {}\n", page.id, page.runs.len(), page.title, page.host);
    keys.iter().for_each(|(at, key)| out += &format!("  [{}] {}\n", at + 1, key.key));
    // In the order of time from the last back, with the marks between the runs.
    let mut marks = page.marks.iter().rev().peekable();
    for run in &page.runs {
        while let Some(mark) = marks.next_if(|mark| mark.time_unix_ns > run.started_unix_ns) {
            out += &format!("—— {}  {}\n", text::wall_time(mark.time_unix_ns), mark.text);
        }
        out += &run_line(run, (page, &keys));
    }
    out
}

fn run_line(run: &RunItem, (page, keys): (&SeriesPage, &[(usize, &SeriesKey)])) -> String {
    let baseline = if page.baseline == Some(run.id) { "  baseline" } else { "" };
    let lost =
        if run.lost > 0 || run.lost_at_least { format!("  {} lost", text::count(run.lost)) } else { String::new() };
    let number = |(at, key): &(usize, &SeriesKey)| {
        let Some(number) = run.numbers.get(*at).and_then(Option::as_ref) else { return format!("  [{}] -", at + 1) };
        let verdict = number.verdict.map_or_else(String::new, |verdict| format!(" ({})", verdict_words(verdict)));
        let name = if number.name.is_empty() { String::new() } else { format!(" {}", number.name) };
        format!("  [{}] {}{name}{verdict}", at + 1, value(number.number.value, key))
    };
    let numbers: String =
        if run.computed { keys.iter().map(number).collect() } else { "  not computed yet".to_owned() };
    let length = text::duration(run.duration_ns);
    format!("{}  {}  {length}{numbers}{lost}{baseline}\n", run.id, text::wall_time(run.started_unix_ns))
}

fn value(value: f64, key: &SeriesKey) -> String {
    match key.what {
        KeyWhat::P50 | KeyWhat::P99 if key.display == Display::DurationNs && value >= 0.0 => {
            text::duration(value as u64)
        }
        KeyWhat::HottestFunction | KeyWhat::HottestProcess | KeyWhat::FunctionShare | KeyWhat::ProcessShare => {
            format!("{:.1} %", value * 100.0)
        }
        KeyWhat::Rate => format!("{value:.1}/s"),
        KeyWhat::Count | KeyWhat::P50 | KeyWhat::P99 => format!("{value:.0}"),
    }
}

const fn verdict_words(verdict: BaselineVerdict) -> &'static str {
    match verdict {
        BaselineVerdict::Better => "better",
        BaselineVerdict::Worse => "worse",
        BaselineVerdict::Higher => "higher",
        BaselineVerdict::Lower => "lower",
        BaselineVerdict::NoDifference => "no difference beyond chance",
        BaselineVerdict::TooFew => "too few rows to tell",
        BaselineVerdict::LostRows => "lost rows can explain it",
    }
}

/// Has it done: by the console that runs there, or here.
fn changed(change: TerminalSeries, data: &DataArgs) -> Outcome {
    let dir = data.directory()?;
    // While this process has its rights: the console answers who connected, and not its own user.
    let told = done(change, ControlConnection::open(&dir)?, &dir)?;
    print_all(&format!("{told}\n"))
}

fn done(change: TerminalSeries, console: Option<ControlConnection>, dir: &Path) -> Result<String, Failure> {
    if let Some(console) = console {
        return Ok(console.change_series(change)?.join("\n"));
    }
    open::has_database(dir)?;
    open::changing(&Workplace::make(Some(dir))?, async |store| {
        let done = series_at_terminal(store, change).await;
        Ok(done.map_err(|error| Failure::because("changing series", error))?.told)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_have_a_date_and_perhaps_a_time_and_a_zone() {
        assert_eq!(moment("1970-01-01T00:00:01Z"), Ok(1_000_000_000));
        assert_eq!(moment("2026-11-28T03:00:00+01:00"), moment("2026-11-28T02:00:00Z"));
        assert!(moment("2026-11-28").is_ok() && moment("2026-11-28T03:00").is_ok());
        for text in ["", "yesterday", "12:00", "99999-01-01"] {
            assert!(moment(text).is_err(), "{text}");
        }
    }
}
