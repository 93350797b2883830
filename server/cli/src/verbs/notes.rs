//! `notes`: what people noted on a capture, at a terminal: listed, written, answered, changed, resolved and removed.

use std::path::Path;

use bathyscope_capture::{CaptureId, NoteId, visible};
use bathyscope_console::{
    control::ControlConnection,
    notes::{NoteItem, NotePlace, NoteVersionItem, TerminalNote, WrittenNote, note_at_terminal},
};
use bathyscope_store::{Store, StoreError};
use clap::{Args, Subcommand};
use serde::Serialize;

use super::{
    chosen::{ChosenCapture, no_captures},
    open, print_all,
    range::moment,
    text,
};
use crate::{Failure, Outcome, config::DataArgs, launch::Workplace};

const EXAMPLES: &str = "\
Examples:
  bathyscope notes list newest
  bathyscope notes add 00f1e2d3c4b5a697 --from 1.2s --to 1.9s 'The reader waits for the **disk**'
  bathyscope notes add 00f1e2d3c4b5a697 --function vfs_read 'Called from the log writer only?'
  bathyscope notes answer 00f1e2d3c4b5a697 11e2d3c4b5a69788 'Yes, see /captures/00f1e2d3c4b5a697?tab=flame'
  bathyscope notes resolve 00f1e2d3c4b5a697 11e2d3c4b5a69788

A note is Markdown. It is on the capture as a whole unless an option ties it to more. All of it works while a console runs, too: \
who has the capture open there sees it at once.";

/// What `notes` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct NotesArgs {
    /// What to do.
    #[command(subcommand)]
    pub verb: NotesVerb,
}

/// What can be done with notes.
#[derive(Clone, Debug, Subcommand)]
pub enum NotesVerb {
    /// List the notes of a capture with their answers
    List {
        /// Which capture: its id, or `newest`
        capture: ChosenCapture,
        /// Only those that are not resolved
        #[arg(long)]
        open: bool,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Write a note, and print its id
    Add(Box<NoteArgs>),
    /// Answer a note, and print the answer's id
    Answer {
        /// The capture
        capture: CaptureId,
        /// The note, as `list` names it
        note: NoteId,
        /// The answer, Markdown
        text: String,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Change what a note or an answer says; what it said is kept
    Edit {
        /// The capture
        capture: CaptureId,
        /// The note
        note: NoteId,
        /// What it shall say, Markdown
        text: String,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
    /// Resolve a note
    Resolve(OneNote),
    /// Open a resolved note again
    Reopen(OneNote),
    /// Remove a note with its answers for good
    Remove(OneNote),
    /// Print all versions of a note
    History {
        /// Which capture: its id, or `newest`
        capture: ChosenCapture,
        /// The note
        note: NoteId,
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Where captures are kept.
        #[command(flatten)]
        data: DataArgs,
    },
}

/// One note.
#[derive(Clone, Debug, Args)]
pub struct OneNote {
    /// The capture
    pub capture: CaptureId,
    /// The note, as `list` names it
    pub note: NoteId,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

/// What `notes add` takes.
#[derive(Clone, Debug, Args)]
pub struct NoteArgs {
    /// The capture
    pub capture: CaptureId,
    /// What it says, Markdown
    pub text: String,
    /// On this moment after the capture's start, such as 1.5s
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = moment, conflicts_with_all = ["from", "to"])]
    pub at: Option<i64>,
    /// On the range from this time after the capture's start
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = moment, requires = "to")]
    pub from: Option<i64>,
    /// …until this one
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = moment, requires = "from")]
    pub to: Option<i64>,
    /// On this track, such as tid:42 or cpu:0; as a whole, or at that moment or range
    #[arg(long, value_name = "KEY")]
    pub track: Option<String>,
    /// On this function, wherever it is found
    #[arg(long, value_name = "NAME", conflicts_with_all = ["at", "from", "to", "track"])]
    pub function: Option<String>,
    /// In this colour, 1 to 8
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(1..=8))]
    pub colour: Option<u8>,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
}

impl NoteArgs {
    fn written(self) -> TerminalNote {
        let Self { capture, text, at, from, to, track, function, colour, .. } = self;
        let on = match (at.or(from), to, &track, function) {
            (_, _, _, Some(name)) => NotePlace::Function { name },
            (Some(_), Some(_), ..) => NotePlace::Range,
            (Some(_), None, ..) => NotePlace::Moment,
            (None, _, Some(_), _) => NotePlace::Track,
            (None, _, None, _) => NotePlace::Capture,
        };
        let colour = colour.map(|number| number - 1);
        let written =
            WrittenNote { on: Some(on), start: at.or(from), end: to, track, text, colour, ..WrittenNote::default() };
        TerminalNote::Add { capture, note: Box::new(written) }
    }
}

/// Does what is asked.
///
/// # Errors
/// If there is no such capture or note, or the database cannot be used.
pub fn run(args: NotesArgs) -> Outcome {
    match args.verb {
        NotesVerb::List { capture, open, json, data } => {
            let items = read(&data, async |store| listed(&store, capture, open).await)?;
            print_all(&if json { json_of(&items)? } else { lines(&items) })
        }
        NotesVerb::History { capture, note, json, data } => {
            let items = read(&data, async |store| history(&store, capture, note).await)?;
            print_all(&if json { json_of(&items)? } else { items.iter().map(version_lines).collect() })
        }
        NotesVerb::Add(args) => {
            let data = args.data.clone();
            changed(args.written(), &data)
        }
        NotesVerb::Answer { capture, note, text, data } => changed(TerminalNote::Answer { capture, note, text }, &data),
        NotesVerb::Edit { capture, note, text, data } => changed(TerminalNote::Edit { capture, note, text }, &data),
        NotesVerb::Resolve(OneNote { capture, note, data }) => {
            changed(TerminalNote::Resolve { capture, note, resolved: true }, &data)
        }
        NotesVerb::Reopen(OneNote { capture, note, data }) => {
            changed(TerminalNote::Resolve { capture, note, resolved: false }, &data)
        }
        NotesVerb::Remove(OneNote { capture, note, data }) => changed(TerminalNote::Remove { capture, note }, &data),
    }
}

/// What is read of the newest capture, where there is one.
fn read<T>(data: &DataArgs, work: impl AsyncFnOnce(Store) -> Result<Option<T>, StoreError>) -> Result<T, Failure> {
    open::reading(data, work)?.ok_or_else(no_captures)
}

async fn listed(store: &Store, capture: ChosenCapture, open: bool) -> Result<Option<Vec<NoteItem>>, StoreError> {
    let Some(id) = capture.id(store).await? else { return Ok(None) };
    let origin_ns = store.capture(id).await?.start_ns;
    let all = store.notes(id).await?;
    let mut items: Vec<NoteItem> = all.into_iter().map(|note| NoteItem::new(note, origin_ns, true)).collect();
    if open {
        items.retain(|note| note.resolved_unix_ns.is_none());
        let ids: Vec<NoteId> = items.iter().filter(|note| !note.is_answer()).map(|note| note.id).collect();
        items.retain(|note| match &note.on {
            NotePlace::Answer { to } => ids.contains(to),
            _ => true,
        });
    }
    Ok(Some(items))
}

async fn history(
    store: &Store,
    capture: ChosenCapture,
    note: NoteId,
) -> Result<Option<Vec<NoteVersionItem>>, StoreError> {
    let Some(id) = capture.id(store).await? else { return Ok(None) };
    let origin_ns = store.capture(id).await?.start_ns;
    let found = store.note(id, note).await?.ok_or(StoreError::NoNote { id, note })?;
    Ok(Some(NoteVersionItem::all(&found, origin_ns)))
}

#[derive(Serialize)]
struct ListedNotes<'a, T> {
    items: &'a [T],
}

fn json_of<T: Serialize>(items: &[T]) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(&ListedNotes { items });
    Ok(text.map_err(|error| Failure::because("writing JSON", error))? + "\n")
}

fn lines(items: &[NoteItem]) -> String {
    if items.is_empty() {
        return "There is no note. `bathyscope notes add CAPTURE TEXT` writes one.\n".to_owned();
    }
    let answers = |id: NoteId| items.iter().filter(move |item| item.on == NotePlace::Answer { to: id });
    let mut out = String::new();
    for note in items.iter().filter(|note| !note.is_answer()) {
        let resolved = note.resolved_by.as_ref().map_or_else(String::new, |by| format!("  resolved by {by}"));
        out += &format!("{}  {}  by {}{resolved}\n", note.id, place(note), note.author);
        out += &indented(&note.text, "    ");
        for answer in answers(note.id) {
            out += &format!("    {}  answer by {}\n", answer.id, answer.author);
            out += &indented(&answer.text, "        ");
        }
    }
    out
}

/// What a note is tied to, in words.
fn place(note: &NoteItem) -> String {
    let at = |ns: i64| {
        let sign = if ns < 0 { "-" } else { "" };
        format!("{sign}{}", text::duration(ns.unsigned_abs()))
    };
    let on = note.track.as_ref().map_or_else(String::new, |track| format!(" on {}", visible(track.as_bytes())));
    let start = note.start.map_or_else(String::new, at);
    match (&note.on, note.end) {
        (NotePlace::Range, Some(end)) => format!("{start} to {}{on}", at(end)),
        (NotePlace::Moment | NotePlace::Range, _) => format!("{start}{on}"),
        (NotePlace::Row { stream, row }, _) => format!("row {row} of stream {stream}, {start}"),
        (NotePlace::Track, _) => format!("track{}", on.trim_start_matches(" on")),
        (NotePlace::Frame { name, .. }, _) => format!("frame {}", visible(name.as_bytes())),
        (NotePlace::Function { name }, _) => format!("function {}", visible(name.as_bytes())),
        (NotePlace::Capture, _) => "the capture".to_owned(),
        (NotePlace::Answer { to }, _) => format!("answer to {to}"),
    }
}

fn indented(text: &str, by: &str) -> String {
    text.lines().map(|line| format!("{by}{}\n", visible(line.as_bytes()))).collect()
}

fn version_lines(version: &NoteVersionItem) -> String {
    let NoteVersionItem { version: number, saved_by, saved_unix_ns, text: said, .. } = version;
    let age_s = bathyscope_link::clock::wall_unix_ns().saturating_sub(*saved_unix_ns) / 1_000_000_000;
    let age = text::span(u64::try_from(age_s).unwrap_or(0));
    format!("version {number}  by {saved_by}  {age} ago\n{}", indented(said, "    "))
}

/// Has it done: by the console that runs there, or here.
fn changed(change: TerminalNote, data: &DataArgs) -> Outcome {
    let told = done(change, &data.directory()?)?;
    print_all(&format!("{told}\n"))
}

fn done(change: TerminalNote, dir: &Path) -> Result<String, Failure> {
    // While this process has its rights: the console answers who connected, and not its own user.
    if let Some(console) = ControlConnection::open(dir)? {
        return Ok(console.change_notes(change)?.join("\n"));
    }
    open::has_database(dir)?;
    open::changing(&Workplace::make(Some(dir))?, async |store| {
        let done = note_at_terminal(store, change).await;
        Ok(done.map_err(|error| Failure::because("changing notes", error))?.told)
    })
}
