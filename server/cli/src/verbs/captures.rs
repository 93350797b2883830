//! `captures`: stored captures, from the terminal.

mod compute;
mod deleted;
mod import;
mod labels;

use std::{fmt::Write as _, io::Write as _, path::PathBuf, process::ExitCode};

use bathyscope_capture::{CaptureId, LossStage, Severity, visible};
use bathyscope_console::wire;
use bathyscope_link::words;
use bathyscope_store::{CaptureRecord, CaptureSummary, Store, StoreError, SummaryQuery, SummarySort};
use clap::{Args, Subcommand};

use self::labels::{describe, labelled, searched, sort_of, tag, tags};
use super::{
    chosen::{ChosenCapture, no_captures},
    explain::same_lines,
    open, text,
};
use crate::{Failure, Outcome, config::DataArgs};

/// What `captures` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
While a console runs, `list`, `show` and `check` read its database beside it, and `import` gives it the file. `compute`, \
`rename`, `tag`, `describe`, `pin`, `unpin`, `delete` and `restore` need the database for themselves: do them in the browser, or stop the console first.")]
pub struct CapturesArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: CapturesVerb,
}

/// What can be done with stored captures.
#[derive(Clone, Debug, Subcommand)]
pub enum CapturesVerb {
    /// List them, newest first
    #[command(after_help = "\
Words are looked for in titles, owners, hosts, methods, targets, tags, descriptions and notes. Conditions: tag:TAG, host:NAME, \
by:USER, method:KIND, is:pinned, recording, imported, simulated, lossy, tagged or noted, older:7d, newer:2h, longer:10s, \
shorter:1m, larger:20M, smaller:1G. With - before it, a word or condition shall not be: give -- first, as in \
`captures list -- -is:pinned older:30d`.")]
    List {
        /// Only those that have all of these words and conditions
        #[arg(value_name = "WORDS")]
        words: Vec<String>,
        /// Sort them by started, duration, rows, bytes, lost, title, host or owner; with - before it the other way round
        #[arg(long, value_name = "WHAT", default_value = "started", allow_hyphen_values = true, value_parser = sort_of)]
        sort: (SummarySort, bool),
        /// How many at most
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 100)]
        limit: u32,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Show one: spec, host, streams, ledger
    Show {
        /// Which: its id, or `newest`
        id: ChosenCapture,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Read everything of them and say whether it is as it was stored; ends with status 1 if something is damaged
    Check {
        /// Which [default: all]
        #[arg(value_name = "ID")]
        ids: Vec<CaptureId>,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Compute streams from what one has recorded: states of threads, disk requests, interrupts, or a span of your own
    Compute(compute::ComputeArgs),
    /// Give one another title
    Rename {
        /// Which
        id: CaptureId,
        /// The new title
        title: String,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Add tags to captures, and remove them; without a capture, list all tags
    Tag {
        /// Which
        #[arg(value_name = "ID", requires = "changed")]
        ids: Vec<CaptureId>,
        /// Tag to add; repeatable
        #[arg(short, long, value_name = "TAG", group = "changed", requires = "ids")]
        add: Vec<String>,
        /// Tag to remove; repeatable
        #[arg(short, long, value_name = "TAG", group = "changed", requires = "ids")]
        remove: Vec<String>,
        /// Print the list as JSON
        #[arg(long, conflicts_with = "ids")]
        json: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Say what one is about
    Describe {
        /// Which
        id: CaptureId,
        /// What; empty to take it back
        text: String,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Keep captures however old they are: `serve --keep-days` and `--keep-size` do not delete them
    Pin {
        /// Which
        #[arg(required = true, value_name = "ID")]
        ids: Vec<CaptureId>,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Take that back
    Unpin {
        /// Which
        #[arg(required = true, value_name = "ID")]
        ids: Vec<CaptureId>,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Delete captures; for a day `restore` takes it back, if there is room to keep them
    Delete {
        /// Which
        #[arg(required = true, value_name = "ID")]
        ids: Vec<CaptureId>,
        /// Make room at once: they cannot be restored. Takes deleted ones too
        #[arg(long)]
        for_good: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Restore captures that were deleted; without one, list those that can be restored
    Restore {
        /// Which
        #[arg(value_name = "ID")]
        ids: Vec<CaptureId>,
        /// Print the list as JSON
        #[arg(long, conflicts_with = "ids")]
        json: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Add a capture from a .bathy file and print its id, and on standard error what reading it cost
    Import {
        /// The file
        file: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
}

/// Does it.
///
/// # Errors
/// If the store cannot be opened, or the capture is not there.
pub fn run(args: CapturesArgs) -> Outcome {
    let printed = match args.verb {
        CapturesVerb::List { words, sort: (sort, reversed), limit, json, data } => {
            let query = SummaryQuery { sort, reversed, limit, ..searched(&words)? };
            open::reading(&data, async |store| list(&store, &query, json).await)?
        }
        CapturesVerb::Show { id, json, data } => {
            open::reading(&data, async |store| show(&store, id, json).await)?.ok_or_else(no_captures)?
        }
        CapturesVerb::Check { ids, json, data } => {
            let checked = open::reading(&data, async |store| check(&store, ids).await)?;
            print(&if json { checked.json() } else { checked.text() })?;
            return Ok(if checked.damaged() == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE });
        }
        CapturesVerb::Compute(args) => compute::run(&args)?,
        CapturesVerb::Rename { id, title, data } => {
            open::writing(&data, async |store| store.rename(id, &title).await.map(|()| String::new()))?
        }
        CapturesVerb::Tag { ids, json, data, .. } if ids.is_empty() => {
            open::reading(&data, async |store| tags(&store, json).await)?
        }
        CapturesVerb::Tag { ids, add, remove, data, .. } => {
            open::writing(&data, async |store| tag(&store, &ids, add, remove).await)?
        }
        CapturesVerb::Describe { id, text, data } => {
            open::writing(&data, async |store| describe(&store, id, &text).await)?
        }
        CapturesVerb::Pin { ids, data } => open::writing(&data, async |store| pin(&store, &ids, true).await)?,
        CapturesVerb::Unpin { ids, data } => open::writing(&data, async |store| pin(&store, &ids, false).await)?,
        CapturesVerb::Delete { ids, for_good, data } => {
            open::writing(&data, async |store| deleted::delete(&store, &ids, for_good).await)?
        }
        CapturesVerb::Restore { ids, json, data } if ids.is_empty() => {
            open::reading(&data, async |store| deleted::list(&store, json).await)?
        }
        CapturesVerb::Restore { ids, data, .. } => {
            open::writing(&data, async |store| deleted::restore(&store, &ids).await)?
        }
        CapturesVerb::Import { file, json, data } => import::run(&file, json, &data)?,
    };
    print(&printed)?;
    Ok(ExitCode::SUCCESS)
}

fn print(text: &str) -> Result<(), Failure> {
    std::io::stdout().write_all(text.as_bytes()).map_err(|error| Failure::because("printing", error))
}

/// What a check found of each capture: what is damaged, or nothing.
struct Checked(Vec<(CaptureId, Option<String>)>);

impl Checked {
    fn damaged(&self) -> usize {
        self.0.iter().filter(|(_, damage)| damage.is_some()).count()
    }

    fn json(&self) -> String {
        let item = |(id, damage): &(CaptureId, Option<String>)| serde_json::json!({ "id": id, "damage": damage });
        let items: Vec<_> = self.0.iter().map(item).collect();
        json_line(&serde_json::json!({ "checked": self.0.len(), "damaged": self.damaged(), "items": items }))
    }

    fn text(&self) -> String {
        let mut out = String::new();
        for (id, damage) in &self.0 {
            match damage {
                Some(damage) => line(&mut out, format_args!("{id}  damaged: {damage}")),
                None => line(&mut out, format_args!("{id}  ok")),
            }
        }
        line(&mut out, format_args!("{} checked, {} damaged", self.0.len(), self.damaged()));
        out
    }
}

/// Checks these captures, or all of them. What is damaged in one holds nobody up with the others.
async fn check(store: &Store, mut ids: Vec<CaptureId>) -> Result<Checked, StoreError> {
    if ids.is_empty() {
        ids = store.retained().await?.into_iter().map(|capture| capture.id).collect();
    }
    let mut checked = Vec::with_capacity(ids.len());
    for id in ids {
        let damage = match store.check(id).await {
            Ok(()) => None,
            // Somebody deleted it meanwhile, or it was never there.
            Err(error @ (StoreError::NoCapture { .. } | StoreError::Locked | StoreError::Closed)) => return Err(error),
            Err(error) => Some(words(&error)),
        };
        checked.push((id, damage));
    }
    Ok(Checked(checked))
}

async fn list(store: &Store, query: &SummaryQuery, json: bool) -> Result<String, StoreError> {
    let page = store.summaries(query).await?;
    let (captures_bytes, _pinned) = store.sizes().await?;
    let database_bytes = store.room().database_bytes;
    if json {
        let items: Vec<_> = page.items.into_iter().map(wire::CaptureItem::from).collect();
        return Ok(json_line(&serde_json::json!({
            "total": page.total, "items": items, "captures_bytes": captures_bytes, "database_bytes": database_bytes,
        })));
    }
    let mut out = String::new();
    for capture in &page.items {
        line(&mut out, format_args!("{}", summary(capture)));
    }
    let left_out = page.total.saturating_sub(page.items.len() as u64);
    if left_out > 0 {
        line(&mut out, format_args!("and {left_out} more; -n COUNT lists them"));
    }
    if page.total == 0 {
        line(&mut out, format_args!("No captures. Make one with `bathyscope trace`, or in the browser."));
    } else {
        let (captures, database) = (text::bytes(captures_bytes), text::bytes(database_bytes));
        line(&mut out, format_args!("all captures together have {captures}, the database {database}"));
    }
    Ok(out)
}

fn summary(capture: &CaptureSummary) -> String {
    let lost = match (capture.lost, capture.lost_at_least) {
        (0, false) => String::new(),
        (0, true) => ", lost unknown".to_owned(),
        (lost, false) => format!(", {} lost", text::count(lost)),
        (lost, true) => format!(", at least {} lost", text::count(lost)),
    };
    let pinned = if capture.pinned { "  pinned" } else { "" };
    let tags: String = capture.tags.iter().map(|tag| format!("  #{tag}")).collect();
    format!(
        "{}  {}  {:>9}  {:>8} rows{lost}  {:>9}  {}{pinned}  {}{tags}",
        capture.id,
        text::wall_time(capture.started_unix_ns),
        text::duration(capture.duration_ns),
        text::count(capture.rows),
        text::bytes(capture.size_bytes),
        capture.state,
        bathyscope_capture::shown(&capture.title),
    )
}

async fn show(store: &Store, chosen: ChosenCapture, json: bool) -> Result<Option<String>, StoreError> {
    let Some(id) = chosen.id(store).await? else { return Ok(None) };
    let (record, labels) = (store.capture(id).await?, store.labels(id).await?);
    if json {
        let mut value = serde_json::json!(wire::Capture::from(record));
        (value["tags"], value["description"]) = (Vec::from_iter(labels.tags).into(), labels.description.into());
        return Ok(Some(json_line(&value)));
    }
    let same = same_lines(&bathyscope_commands::same_as(&record.spec));
    Ok(Some(described(&record) + &labelled(&labels) + &same))
}

fn described(record: &CaptureRecord) -> String {
    let mut out = String::new();
    let shown = |text: &str| visible(text.as_bytes());
    line(&mut out, format_args!("{}  {}", record.id, shown(&record.title)));
    let reason = if record.reason.is_empty() { String::new() } else { format!(": {}", shown(&record.reason)) };
    line(&mut out, format_args!("state    {}{reason}", record.state));
    let simulated = if record.simulated { ", simulated" } else { "" };
    let host = &record.host;
    line(
        &mut out,
        format_args!("host     {}, Linux {}{simulated}", shown(&host.hostname), shown(&host.kernel_release)),
    );
    let length = record.end_ns.saturating_sub(record.start_ns);
    line(&mut out, format_args!("time     {}, {}", text::wall_time(record.started_unix_ns), text::duration(length)));
    line(&mut out, format_args!("owner    {}", shown(&record.owner)));
    let pinned = if record.pinned { ", pinned" } else { "" };
    line(&mut out, format_args!("size     {}{pinned}", text::bytes(record.size_bytes)));
    if let Some(firing) = &record.firing {
        let at = text::duration(firing.fired_ns.saturating_sub(record.start_ns));
        let value = if firing.value.is_empty() { String::new() } else { format!(": {}", shown(&firing.value)) };
        line(&mut out, format_args!("fired    {}{value}, at {at}", shown(&firing.trigger)));
        line(&mut out, format_args!("recorder {}", firing.recorder));
    }
    for (index, stream) in record.streams.iter().enumerate().filter(|(_, stream)| !stream.schema.is_absent()) {
        if let Some(derived) = &stream.schema.derived {
            let (name, from) = (shown(&stream.schema.name), shown(&derived.from.join(", ")));
            line(&mut out, format_args!("stream {index}  {name}: {} rows, computed from {from}", stream.rows));
            continue;
        }
        let totals = record.ledger.streams.get(index).copied().unwrap_or_default();
        let lost = u16::try_from(index).map_or(0, |index| record.ledger.lost(index));
        line(
            &mut out,
            format_args!(
                "stream {index}  {}: {} rows of {} emitted, {} filtered, {} lost",
                shown(&stream.schema.name),
                stream.rows,
                totals.emitted,
                totals.filtered,
                lost
            ),
        );
    }
    for loss in &record.ledger.losses {
        let from = loss.start_ns.saturating_sub(record.start_ns);
        let until = loss.end_ns.saturating_sub(record.start_ns);
        let (from, until) = (text::duration(from), text::duration(until));
        let at_least = if loss.severity() == Severity::Error { "at least " } else { "" };
        let (count, stage) = (loss.count, loss.stage.as_str());
        let word = if loss.stage == LossStage::NotKept { "not kept" } else { "lost" };
        line(&mut out, format_args!("{word:8} {at_least}{count} ({stage}) from {from} to {until}"));
    }
    if record.ledger.is_lower_bound() {
        line(&mut out, format_args!("lost     {}", record.ledger.lost_words()));
    }
    out
}

async fn pin(store: &Store, ids: &[CaptureId], pinned: bool) -> Result<String, StoreError> {
    for id in ids {
        store.set_pinned(*id, pinned).await?;
    }
    Ok(String::new())
}

fn json_line(value: &impl serde::Serialize) -> String {
    // Maps with text keys only: serialising cannot fail.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _infallible = writeln!(out, "{text}");
}
