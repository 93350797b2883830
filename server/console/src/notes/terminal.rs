//! Notes at a terminal: what the command line has done, by the running console or without one.

use bathyscope_capture::{CaptureId, NoteContent, NoteId};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{NoteChange, Store, StoreError};
use serde::{Deserialize, Serialize};

use super::{NotePlace, WrittenNote, new_note};
use crate::library::TERMINAL;

/// What a terminal asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TerminalNote {
    /// Write a note.
    Add {
        /// The capture.
        capture: CaptureId,
        /// The note.
        note: Box<WrittenNote>,
    },
    /// Answer one.
    Answer {
        /// The capture.
        capture: CaptureId,
        /// The note, or an answer to it.
        note: NoteId,
        /// What is answered, Markdown.
        text: String,
    },
    /// Change what one says.
    Edit {
        /// The capture.
        capture: CaptureId,
        /// The note.
        note: NoteId,
        /// What it shall say.
        text: String,
    },
    /// Resolve one, or open it again.
    Resolve {
        /// The capture.
        capture: CaptureId,
        /// The note.
        note: NoteId,
        /// Whether it shall be resolved.
        resolved: bool,
    },
    /// Remove one with its answers.
    Remove {
        /// The capture.
        capture: CaptureId,
        /// The note.
        note: NoteId,
    },
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
pub enum NoteError {
    /// It cannot be kept.
    #[error("{0}")]
    Refused(String),
    /// The kernel gave no random bits.
    #[error("no random bits for the id of a note: {0}")]
    Random(getrandom::Error),
    /// The store refused it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was done: for the audit log its name, capture and details; and what is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneNote {
    /// Such as `note.write`.
    pub action: &'static str,
    /// The capture.
    pub capture: CaptureId,
    /// Which note.
    pub note: NoteId,
    /// What is told.
    pub told: String,
}

/// Does what a terminal asks, in the name of whoever may use the database.
///
/// # Errors
/// Why it was not done.
pub async fn note_at_terminal(store: &Store, asked: TerminalNote) -> Result<DoneNote, NoteError> {
    let change = || NoteChange { unix_ns: wall_unix_ns(), user: TERMINAL.to_owned() };
    match asked {
        TerminalNote::Add { capture, note } => add(store, capture, *note).await,
        TerminalNote::Answer { capture, note, text } => {
            let to = begins(store, capture, note).await?;
            let written = WrittenNote { on: Some(NotePlace::Answer { to }), text, ..WrittenNote::default() };
            add(store, capture, written).await
        }
        TerminalNote::Edit { capture, note, text } => {
            let seen = store.note(capture, note).await?.ok_or(StoreError::NoNote { id: capture, note })?;
            let text = text.trim().replace("\r\n", "\n");
            let content = NoteContent { text, plain: false, ..seen.content };
            content.check().map_err(|error| NoteError::Refused(error.to_string()))?;
            let changed = store.change_note(capture, (note, seen.version), content, change()).await?;
            let told = format!("Changed note {note}, version {}.", changed.version);
            Ok(DoneNote { action: "note.change", capture, note, told })
        }
        TerminalNote::Resolve { capture, note, resolved } => {
            let note = begins(store, capture, note).await?;
            store.resolve_note(capture, note, resolved.then(change)).await?;
            let (action, told) = if resolved {
                ("note.resolve", format!("Resolved note {note}."))
            } else {
                ("note.reopen", format!("Opened note {note} again."))
            };
            Ok(DoneNote { action, capture, note, told })
        }
        TerminalNote::Remove { capture, note } => {
            if !store.remove_note(capture, note).await? {
                return Err(StoreError::NoNote { id: capture, note }.into());
            }
            let told = format!("Removed note {note} with its answers.");
            Ok(DoneNote { action: "note.remove", capture, note, told })
        }
    }
}

async fn add(store: &Store, capture: CaptureId, written: WrittenNote) -> Result<DoneNote, NoteError> {
    let record = store.capture(capture).await?;
    let content = written.content(&record).map_err(NoteError::Refused)?;
    let note = new_note(getrandom::u64().map_err(NoteError::Random)?, content, TERMINAL);
    let id = note.id;
    store.add_note(capture, note).await?;
    Ok(DoneNote { action: "note.write", capture, note: id, told: id.to_string() })
}

/// The note that begins the thread of a note.
async fn begins(store: &Store, capture: CaptureId, note: NoteId) -> Result<NoteId, NoteError> {
    let found = store.note(capture, note).await?.ok_or(StoreError::NoNote { id: capture, note })?;
    Ok(match found.content.anchor {
        bathyscope_capture::NoteAnchor::Answer { to } => to,
        _ => note,
    })
}
