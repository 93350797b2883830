//! What a terminal asks to be changed in stored captures: by the console that runs, or by itself where none does.

use bathyscope_capture::CaptureId;
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{LabelChange, Store, StoreError};
use serde::{Deserialize, Serialize};

use crate::library::TERMINAL;

/// A change of one capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TerminalCapture {
    /// It has another title.
    Rename {
        /// The title.
        title: String,
    },
    /// It has other tags.
    Tag {
        /// Tags that it gets.
        add: Vec<String>,
        /// Tags that it loses.
        remove: Vec<String>,
    },
    /// It has another description.
    Describe {
        /// The description; empty for none.
        text: String,
    },
    /// It is kept however old it is, or not any more.
    Pin {
        /// Whether it is.
        pinned: bool,
    },
    /// It is deleted.
    Delete {
        /// So that it cannot be restored.
        for_good: bool,
    },
    /// It is shown again after it was deleted.
    Restore,
}

/// What was done with a capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DoneCapture {
    /// The act, as the audit log has it.
    pub action: &'static str,
    /// More of it, for the audit log.
    pub detail: String,
    /// What is told, without the capture; empty if there is nothing to tell.
    pub told: String,
}

/// Does with one capture what a terminal asks, in the name of whoever may use the database.
///
/// # Errors
/// If there is no such capture, it may not be so, or the database cannot be written.
pub async fn capture_at_terminal(
    store: &Store,
    id: CaptureId,
    change: TerminalCapture,
) -> Result<DoneCapture, StoreError> {
    let done = |action, detail: &str, told: &str| DoneCapture { action, detail: detail.into(), told: told.into() };
    match change {
        TerminalCapture::Rename { title } => {
            let title = title.trim();
            if title.is_empty() {
                let why = "a title needs at least one character".to_owned();
                return Err(StoreError::Refused { what: "the title", why });
            }
            store.rename(id, title).await?;
            Ok(done("capture.rename", "", ""))
        }
        TerminalCapture::Tag { add, remove } => {
            let detail = format!("tags added: {}; removed: {}", add.join(" "), remove.join(" "));
            let labels = store.change_labels(id, LabelChange { add, remove, description: None }).await?;
            Ok(done("capture.label", &detail, &Vec::from_iter(labels.tags).join(" ")))
        }
        TerminalCapture::Describe { text } => {
            let seen = store.labels(id).await?.description;
            let description = Some((seen, text.trim().to_owned()));
            store.change_labels(id, LabelChange { description, ..LabelChange::default() }).await?;
            Ok(done("capture.label", "description", ""))
        }
        TerminalCapture::Pin { pinned } => {
            store.set_pinned(id, pinned).await?;
            Ok(done(if pinned { "capture.pin" } else { "capture.unpin" }, "", ""))
        }
        TerminalCapture::Delete { for_good: false } => {
            let is_kept = store.delete_restorably(id, (wall_unix_ns(), TERMINAL.to_owned())).await?;
            Ok(if is_kept {
                done(
                    "capture.delete",
                    "it can be restored for a day",
                    "deleted; `captures restore` restores it for a day",
                )
            } else {
                done("capture.delete", "for good", "deleted for good")
            })
        }
        TerminalCapture::Delete { for_good: true } => {
            if !store.discard(id).await? {
                store.delete(id).await?;
            }
            Ok(done("capture.delete", "for good", "deleted for good"))
        }
        TerminalCapture::Restore => {
            if !store.restore(id).await? {
                return Err(StoreError::NoCapture { id });
            }
            Ok(done("capture.restore", "", "restored"))
        }
    }
}
