//! Investigations at a terminal: what the command line has done, by the running console or without one.

use std::sync::Arc;

use bathyscope_reader::CaptureCache;
use bathyscope_store::{HeadChange, InvestigationId, InvestigationState, Store, StoreError};
use bathyscope_views::Cancel;
use serde::{Deserialize, Serialize};

use super::{
    BlockContent, InvestigationError, WrittenBlock, change_by, checked_conclusion, checked_title, json_of, new_block,
    new_investigation, query_result, refused,
};
use crate::library::TERMINAL;

/// What a terminal asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TerminalPage {
    /// Begin an investigation.
    Create {
        /// What it is called; the template's title if it is empty.
        title: String,
        /// The template that it begins with.
        template: Option<String>,
    },
    /// Change its head.
    Change {
        /// Which.
        id: InvestigationId,
        /// What it is called.
        title: Option<String>,
        /// How far it is.
        state: Option<InvestigationState>,
        /// What came of it.
        conclusion: Option<String>,
    },
    /// Delete it, or restore it.
    Delete {
        /// Which.
        id: InvestigationId,
        /// Whether it shall be deleted.
        deleted: bool,
    },
    /// Add a block at the end, or before another one.
    Add {
        /// The investigation.
        id: InvestigationId,
        /// The block.
        block: Box<WrittenBlock>,
        /// Before which.
        before: Option<InvestigationId>,
    },
    /// Change the text of a text or a task.
    Edit {
        /// The investigation.
        id: InvestigationId,
        /// The block.
        block: InvestigationId,
        /// What it shall say.
        text: String,
    },
    /// Say whether a task is done.
    Check {
        /// The investigation.
        id: InvestigationId,
        /// The block.
        block: InvestigationId,
        /// Whether it is done.
        done: bool,
    },
    /// Move a block before another one, or to the end.
    Move {
        /// The investigation.
        id: InvestigationId,
        /// The block.
        block: InvestigationId,
        /// Before which.
        before: Option<InvestigationId>,
    },
    /// Delete a block, or restore it.
    Remove {
        /// The investigation.
        id: InvestigationId,
        /// The block.
        block: InvestigationId,
        /// Whether it shall be deleted.
        deleted: bool,
    },
}

/// What was done: for the audit log its name, the investigation and details; and what is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DonePage {
    /// Such as `investigation.create`.
    pub action: &'static str,
    /// The investigation.
    pub id: InvestigationId,
    /// Which block, in words; empty for the whole.
    pub detail: String,
    /// What is told.
    pub told: String,
}

/// Does what a terminal asks, in the name of whoever may use the database.
///
/// # Errors
/// Why it was not done.
pub async fn page_at_terminal(
    store: &Store,
    captures: &CaptureCache,
    asked: TerminalPage,
) -> Result<DonePage, InvestigationError> {
    let done = |action, id, detail: String, told: String| Ok(DonePage { action, id, detail, told });
    match asked {
        TerminalPage::Create { title, template } => {
            let (record, blocks) = new_investigation(&title, template.as_deref(), TERMINAL)?;
            let id = record.id;
            store.add_investigation(record, blocks).await?;
            done("investigation.create", id, String::new(), id.to_string())
        }
        TerminalPage::Change { id, title, state, conclusion } => {
            let title = title.map(|title| checked_title(&title)).transpose()?;
            let conclusion = conclusion.map(|text| checked_conclusion(&text)).transpose()?;
            let (seen, _) = store.investigation(id).await?.ok_or(StoreError::NoInvestigation { id })?;
            let change = HeadChange { title, state, conclusion };
            store.change_investigation(id, seen.version, (change, change_by(TERMINAL))).await?;
            done("investigation.change", id, String::new(), format!("Changed investigation {id}."))
        }
        TerminalPage::Delete { id, deleted } => {
            let now = change_by(TERMINAL).unix_ns;
            if !store.delete_investigation(id, deleted.then_some(now)).await? {
                return Err(StoreError::NoInvestigation { id }.into());
            }
            if deleted {
                let told = format!(
                    "Deleted investigation {id}. `bathyscope investigations restore {id}` restores it for 30 days."
                );
                done("investigation.delete", id, String::new(), told)
            } else {
                done("investigation.restore", id, String::new(), format!("Restored investigation {id}."))
            }
        }
        TerminalPage::Add { id, block, before } => {
            let result = match block.query() {
                Some((capture, sql)) => Some(asked_now(captures, capture, sql).await?),
                None => None,
            };
            let content = block.content(result)?;
            if let Some(capture) = content.capture() {
                store.capture(capture).await?;
            }
            let block = new_block(&content, TERMINAL)?;
            let number = block.id;
            store.add_block(id, block, before).await?;
            done("investigation.write", id, format!("block {number}"), number.to_string())
        }
        TerminalPage::Edit { id, block, text } => {
            change(store, (id, block), |content| with_text(content, text)).await?;
            done("investigation.write", id, format!("block {block}"), format!("Changed block {block}."))
        }
        TerminalPage::Check { id, block, done: is_done } => {
            change(store, (id, block), |content| checked(content, is_done)).await?;
            let told = format!("Task {block} is {}.", if is_done { "done" } else { "open again" });
            done("investigation.write", id, format!("block {block}"), told)
        }
        TerminalPage::Move { id, block, before } => {
            store.move_block(id, (block, before), change_by(TERMINAL)).await?;
            done("investigation.move", id, format!("block {block}"), format!("Moved block {block}."))
        }
        TerminalPage::Remove { id, block, deleted } => {
            if !store.delete_block(id, (block, deleted), change_by(TERMINAL)).await? {
                return Err(StoreError::NoInvestigation { id }.into());
            }
            let (action, word) =
                if deleted { ("investigation.remove", "Deleted") } else { ("investigation.write", "Restored") };
            done(action, id, format!("block {block}"), format!("{word} block {block}."))
        }
    }
}

async fn asked_now(
    captures: &CaptureCache,
    capture: bathyscope_capture::CaptureId,
    sql: &str,
) -> Result<super::QueryResult, InvestigationError> {
    let view = captures.view(capture, false).await?.to_query().await?;
    let sql = sql.to_owned();
    let run = move || query_result(&view, &sql, &Arc::new(Cancel::new(false)));
    let joined = tokio::task::spawn_blocking(run).await;
    Ok(joined.map_err(|_panic| refused("the query failed"))??)
}

/// Changes a block as it is now.
async fn change(
    store: &Store,
    (id, block): (InvestigationId, InvestigationId),
    change: impl FnOnce(BlockContent) -> Result<WrittenBlock, InvestigationError>,
) -> Result<(), InvestigationError> {
    let gone = || StoreError::NoInvestigation { id };
    let (_, blocks) = store.investigation(id).await?.ok_or_else(gone)?;
    let seen = blocks.into_iter().find(|one| one.id == block).ok_or_else(gone)?;
    let content = serde_json::from_str(&seen.content).map_err(|_unknown| refused("a later release has written it"))?;
    let content = change(content)?.content(None)?;
    store.change_block(id, (block, seen.version), (json_of(&content)?, change_by(TERMINAL))).await?;
    Ok(())
}

fn with_text(content: BlockContent, text: String) -> Result<WrittenBlock, InvestigationError> {
    match content {
        BlockContent::Text { .. } => Ok(WrittenBlock::Text { text }),
        BlockContent::Task { done, .. } => Ok(WrittenBlock::Task { text, done }),
        BlockContent::Step { recipe, capture, view, .. } => Ok(WrittenBlock::Step { text, recipe, capture, view }),
        BlockContent::View { capture, view, .. } => Ok(WrittenBlock::View { capture, view, caption: text }),
        BlockContent::Comparison { capture, view, .. } => Ok(WrittenBlock::Comparison { capture, view, caption: text }),
        BlockContent::Note { .. } | BlockContent::Query { .. } => {
            Err(refused("it has no text of its own; add another block, and delete this one"))
        }
    }
}

fn checked(content: BlockContent, done: bool) -> Result<WrittenBlock, InvestigationError> {
    match content {
        BlockContent::Task { text, .. } => Ok(WrittenBlock::Task { text, done }),
        _ => Err(refused("it is no task")),
    }
}
