//! `captures`: stored captures, from the terminal.

mod changes;
mod compute;
mod deleted;
mod expiring;
mod import;
mod labels;
mod list;

use std::{fmt::Write as _, io::Write as _, path::PathBuf, process::ExitCode};

use bathyscope_capture::{CaptureId, LossStage, Severity, visible};
use bathyscope_console::{capture_changes::TerminalCapture, wire};
use bathyscope_link::words;
use bathyscope_store::{CaptureRecord, Store, StoreError, SummarySort};
use clap::{Args, Subcommand};

use self::{
    labels::{labelled, tags},
    list::{ListRequest, sort_of},
};
use super::{
    chosen::{ChosenCapture, no_captures},
    explain::same_lines,
    open,
    saved_file::{self, CaptureFileArgs},
    text,
};
use crate::{
    Failure, Outcome,
    config::{DataArgs, KeepArgs},
};

/// What `captures` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
While a console runs, `list`, `show`, `check`, `file` and `expiring` read its database beside it, and it does what the others ask: only \
its user and root may ask. `compute` needs the database for itself: do it in the browser, or stop the console first. `start` and `stop` \
need a console.")]
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
Words are looked for in titles, tags, descriptions, notes, owners, hosts, targets, specs, scripts, names of processes, texts of \
events and output of commands; a word finds all that begin with it, words in one argument follow each other and are whole. \
title:, note:, script:, process:, text:, output: and others before a word look into that alone. Conditions: tag:TAG, host:NAME, by:USER, source:KIND, \
state:failed, is:pinned, recording, imported, simulated, lossy, tagged, noted or cut (more text than is searched), older:7d, \
newer:2h, after:2026-11-01, before:2026-11-20T14:30+01:00, longer:10s, shorter:1m, larger:20M, smaller:1G, lost:>0, \
rows:>=1M, size:<1G, duration:>10s. With - before it, a word or condition shall not be: give -- first, as in \
`captures list -- -is:pinned older:30d`.")]
    List {
        /// Only those that have all of these words and conditions
        #[arg(value_name = "WORDS")]
        words: Vec<String>,
        /// Sort them by started, duration, rows, bytes, lost, title, host, owner, target, method or state; with - before it the
        /// other way round [default: started, or what the search says by sort:]
        #[arg(long, value_name = "WHAT", allow_hyphen_values = true, value_parser = sort_of)]
        sort: Option<(SummarySort, bool)>,
        /// A search that is kept in the library under this name; WORDS narrow it further
        #[arg(long, value_name = "NAME")]
        saved: Option<String>,
        /// How many at most
        #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 100)]
        limit: u32,
        /// How many of the first to leave out
        #[arg(long, value_name = "COUNT", default_value_t = 0)]
        offset: u32,
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
    /// Write a view of one as an HTML file that opens without Bathyscope and without a network
    File(CaptureFileArgs),
    /// Start one in the console that runs, and print its id
    #[command(after_help = "\
The file has what POST /api/captures takes, which `bathyscope explain --json COMMAND` prints too:
  bathyscope explain --json 'strace -f -e openat -p 4711' | bathyscope captures start -
Without a console, record by `bathyscope run`, `record`, `trace`, `strace` or `profile`.")]
    Start {
        /// A file with the capture's spec as JSON; - for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// The capture that is run again: the new one is a run of its series
        #[arg(long, value_name = "ID")]
        again: Option<CaptureId>,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Stop captures that the console records
    Stop {
        /// Which
        #[arg(required = true, value_name = "ID")]
        ids: Vec<CaptureId>,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
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
    /// List those that go by rules of retention, the next first, with when: by the rules of the console that runs, or by others to try them
    Expiring {
        /// The rules.
        #[command(flatten)]
        keep: KeepArgs,
        /// Print JSON
        #[arg(long)]
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
        CapturesVerb::List { words, sort, saved, limit, offset, json, data } => {
            let listed = ListRequest { words, sort, saved, limit, offset };
            open::reading(&data, async |store| list::list(&store, listed, json).await)??
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
        CapturesVerb::File(args) => return saved_file::capture(&args),
        CapturesVerb::Start { file, again, data } => done(changes::start(&file, again, &data))?,
        CapturesVerb::Stop { ids, data } => done(changes::stop(&ids, &data))?,
        CapturesVerb::Rename { id, title, data } => {
            done(changes::change(&[id], &TerminalCapture::Rename { title }, &data))?
        }
        CapturesVerb::Tag { ids, json, data, .. } if ids.is_empty() => {
            open::reading(&data, async |store| tags(&store, json).await)?
        }
        CapturesVerb::Tag { ids, add, remove, data, .. } => {
            done(changes::change(&ids, &TerminalCapture::Tag { add, remove }, &data))?
        }
        CapturesVerb::Describe { id, text, data } => {
            done(changes::change(&[id], &TerminalCapture::Describe { text }, &data))?
        }
        CapturesVerb::Pin { ids, data } => done(changes::change(&ids, &TerminalCapture::Pin { pinned: true }, &data))?,
        CapturesVerb::Unpin { ids, data } => {
            done(changes::change(&ids, &TerminalCapture::Pin { pinned: false }, &data))?
        }
        CapturesVerb::Delete { ids, for_good, data } => {
            done(changes::change(&ids, &TerminalCapture::Delete { for_good }, &data))?
        }
        CapturesVerb::Restore { ids, json, data } if ids.is_empty() => {
            open::reading(&data, async |store| deleted::list(&store, json).await)?
        }
        CapturesVerb::Restore { ids, data, .. } => done(changes::change(&ids, &TerminalCapture::Restore, &data))?,
        CapturesVerb::Expiring { keep, json, data } => expiring::run(&keep, json, &data)?,
        CapturesVerb::Import { file, json, data } => import::run(&file, json, &data)?,
    };
    print(&printed)?;
    Ok(ExitCode::SUCCESS)
}

/// Nothing is left to print of what has printed as it went.
fn done(result: Result<(), Failure>) -> Result<String, Failure> {
    result.map(|()| String::new())
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
        let (word, stage) = match loss.stage {
            LossStage::NotKept => ("not kept", String::new()),
            stage => ("lost", format!(" ({})", stage.as_str())),
        };
        // Of nothing that was counted, how many there were is not known.
        let count = if loss.count == 0 { "unknown".to_owned() } else { format!("{at_least}{}", loss.count) };
        line(&mut out, format_args!("{word:8} {count}{stage} from {from} to {until}"));
    }
    if record.ledger.is_lower_bound() {
        line(&mut out, format_args!("lost     {}", record.ledger.lost_words()));
    }
    out
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
