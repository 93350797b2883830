//! Investigations: pages that people write on what they look for, as blocks in order. What blocks are, what they must be, and what is
//! told of them with the captures that they are about.
//!
//! Who may read and change a page is decided where people are known. A block refers to captures and notes and keeps nothing of them but
//! the result of a query, which stays as it was.

mod left;
mod picture;
mod query;
mod templates;
mod terminal;
mod told;

use bathyscope_capture::{CaptureId, MAX_NOTE_VIEW_BYTES, NoteId, hidden_character};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{BlockRecord, InvestigationId, InvestigationRecord, InvestigationState, PageChange, StoreError};
use serde::{Deserialize, Serialize};

pub(crate) use left::plain_view;
pub use left::{ShownAnyway, left_for_picture, left_note, left_page};
pub use picture::{PictureOf, picture};
pub use query::{QueryResult, query_result};
pub use templates::{InvestigationTemplate, templates};
pub use terminal::{DonePage, TerminalPage, page_at_terminal};
pub use told::{BlockItem, InvestigationHead, InvestigationItem, ToldBlock, told_page};

/// The longest text of a block, and of a conclusion.
pub const MAX_BLOCK_TEXT_BYTES: usize = 48 << 10;
/// The longest caption, and the longest title.
const MAX_CAPTION_BYTES: usize = 256;
/// The longest query.
const MAX_SQL_BYTES: usize = 8 << 10;

/// What a block is and says, as the store keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum BlockContent {
    /// A text.
    Text {
        /// Markdown.
        text: String,
    },
    /// Something to do.
    Task {
        /// What.
        text: String,
        /// Whether it is done.
        done: bool,
    },
    /// A view of a capture.
    View {
        /// The capture.
        capture: CaptureId,
        /// The query of the page's address.
        view: String,
        /// What there is to see.
        caption: String,
    },
    /// A view that compares stacks of a capture with others.
    Comparison {
        /// The capture.
        capture: CaptureId,
        /// The query of the page's address.
        view: String,
        /// What there is to see.
        caption: String,
    },
    /// A note on a capture, as it is now.
    Note {
        /// The capture.
        capture: CaptureId,
        /// The note.
        note: NoteId,
    },
    /// A query and its result as it was.
    Query {
        /// The capture.
        capture: CaptureId,
        /// What was asked.
        sql: String,
        /// What there is to see.
        caption: String,
        /// What was answered.
        result: QueryResult,
    },
    /// A question, and the recipe that answers it.
    Step {
        /// The question, Markdown.
        text: String,
        /// The recipe's name.
        recipe: String,
        /// The capture that was made for it; none as long as none was.
        capture: Option<CaptureId>,
        /// The view of it that answers.
        view: String,
    },
}

impl BlockContent {
    /// The capture that it is about, if it is about one.
    pub const fn capture(&self) -> Option<CaptureId> {
        match self {
            Self::Text { .. } | Self::Task { .. } => None,
            Self::View { capture, .. }
            | Self::Comparison { capture, .. }
            | Self::Note { capture, .. }
            | Self::Query { capture, .. } => Some(*capture),
            Self::Step { capture, .. } => *capture,
        }
    }

    /// The view of a capture that it shows, if it shows one.
    pub fn view(&self) -> Option<&str> {
        match self {
            Self::View { view, .. } | Self::Comparison { view, .. } => Some(view),
            Self::Step { capture: Some(_), view, .. } => Some(view),
            _ => None,
        }
    }
}

/// A block as people write it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum WrittenBlock {
    /// A text.
    Text {
        /// Markdown.
        text: String,
    },
    /// Something to do.
    Task {
        /// What.
        text: String,
        /// Whether it is done.
        #[serde(default)]
        done: bool,
    },
    /// A view of a capture.
    View {
        /// The capture.
        capture: CaptureId,
        /// The query of the page's address.
        view: String,
        /// What there is to see.
        #[serde(default)]
        caption: String,
    },
    /// A view that compares stacks of a capture with others.
    Comparison {
        /// The capture.
        capture: CaptureId,
        /// The query of the page's address.
        view: String,
        /// What there is to see.
        #[serde(default)]
        caption: String,
    },
    /// A note on a capture.
    Note {
        /// The capture.
        capture: CaptureId,
        /// The note.
        note: NoteId,
    },
    /// A query, which is asked now.
    Query {
        /// The capture.
        capture: CaptureId,
        /// What is asked.
        sql: String,
        /// What there is to see.
        #[serde(default)]
        caption: String,
    },
    /// A question, and the recipe that answers it.
    Step {
        /// The question, Markdown.
        text: String,
        /// The recipe's name.
        recipe: String,
        /// The capture that was made for it.
        #[serde(default)]
        capture: Option<CaptureId>,
        /// The view of it that answers.
        #[serde(default)]
        view: String,
    },
}

/// Why something of an investigation cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum InvestigationError {
    /// It cannot be kept.
    #[error("{0}")]
    Refused(String),
    /// The kernel gave no random bits.
    #[error("no random bits for an id: {0}")]
    Random(getrandom::Error),
    /// The query failed.
    #[error(transparent)]
    Query(#[from] bathyscope_query::QueryError),
    /// The store refused it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

fn refused(why: impl Into<String>) -> InvestigationError {
    InvestigationError::Refused(why.into())
}

/// A text in one line or several, as it is kept.
fn checked_text(what: &str, text: &str, most: usize) -> Result<String, InvestigationError> {
    let text = text.trim().replace("\r\n", "\n");
    if text.len() > most {
        return Err(refused(format!("{what} has {} bytes; at most {most} are kept", text.len())));
    }
    match hidden_character(&text) {
        Some(c) => Err(refused(format!(
            "{what} has the character U+{:04X}, which hides or moves text; write it without",
            u32::from(c)
        ))),
        None => Ok(text),
    }
}

/// A title as it is kept.
///
/// # Errors
/// If it is empty, too long, or has a character that hides or moves text.
pub fn checked_title(title: &str) -> Result<String, InvestigationError> {
    let title = checked_text("the title", title, MAX_CAPTION_BYTES)?;
    if title.is_empty() || title.contains('\n') {
        return Err(refused("an investigation has a title of one line: say what is looked for"));
    }
    Ok(title)
}

/// A conclusion as it is kept.
///
/// # Errors
/// As [`checked_title`], but for one that is empty.
pub fn checked_conclusion(text: &str) -> Result<String, InvestigationError> {
    checked_text("the conclusion", text, MAX_BLOCK_TEXT_BYTES)
}

fn checked_view(view: String) -> Result<String, InvestigationError> {
    let view = match view.strip_prefix('?') {
        Some(rest) => rest.to_owned(),
        None => view,
    };
    if view.len() > MAX_NOTE_VIEW_BYTES || !view.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(refused(format!(
            "a view is the query of a capture's page: at most {MAX_NOTE_VIEW_BYTES} printable characters without blanks"
        )));
    }
    Ok(view)
}

impl WrittenBlock {
    /// The capture and the query that is to be asked for it, if it has one.
    pub fn query(&self) -> Option<(CaptureId, &str)> {
        match self {
            Self::Query { capture, sql, .. } => Some((*capture, sql)),
            _ => None,
        }
    }

    /// As it is kept, with what its query was answered.
    ///
    /// # Errors
    /// What of it cannot be kept, in words.
    pub fn content(self, result: Option<QueryResult>) -> Result<BlockContent, InvestigationError> {
        let caption = |text: String| checked_text("the caption", &text, MAX_CAPTION_BYTES);
        let said = |text: String| {
            let text = checked_text("the text", &text, MAX_BLOCK_TEXT_BYTES)?;
            if text.is_empty() { Err(refused("a block without text says nothing; delete it")) } else { Ok(text) }
        };
        Ok(match self {
            Self::Text { text } => BlockContent::Text { text: said(text)? },
            Self::Task { text, done } => BlockContent::Task { text: said(text)?, done },
            Self::View { capture, view, caption: text } => {
                BlockContent::View { capture, view: checked_view(view)?, caption: caption(text)? }
            }
            Self::Comparison { capture, view, caption: text } => {
                BlockContent::Comparison { capture, view: checked_view(view)?, caption: caption(text)? }
            }
            Self::Note { capture, note } => BlockContent::Note { capture, note },
            Self::Query { capture, sql, caption: text } => {
                if sql.trim().is_empty() || sql.len() > MAX_SQL_BYTES {
                    return Err(refused(format!("a query has from 1 to {MAX_SQL_BYTES} bytes")));
                }
                let result = result.ok_or_else(|| refused("the query was not asked"))?;
                BlockContent::Query { capture, sql, caption: caption(text)?, result }
            }
            Self::Step { text, recipe, capture, view } => {
                let recipe = checked_text("the name of the recipe", &recipe, MAX_CAPTION_BYTES)?;
                BlockContent::Step { text: said(text)?, recipe, capture, view: checked_view(view)? }
            }
        })
    }
}

/// Random bits for an id.
///
/// # Errors
/// If the kernel gives none.
pub fn draw_id() -> Result<InvestigationId, InvestigationError> {
    getrandom::u64().map(InvestigationId::from_bits).map_err(InvestigationError::Random)
}

/// Who changes something now.
pub fn change_by(user: &str) -> PageChange {
    PageChange { user: user.to_owned(), unix_ns: wall_unix_ns() }
}

/// A new block of `user`.
///
/// # Errors
/// If the kernel gives no random bits.
pub fn new_block(content: &BlockContent, user: &str) -> Result<BlockRecord, InvestigationError> {
    let changed = change_by(user);
    Ok(BlockRecord {
        id: draw_id()?,
        content: json_of(content)?,
        author: user.to_owned(),
        created_unix_ns: changed.unix_ns,
        changed,
        version: 1,
    })
}

/// A block's content as the store keeps it.
///
/// # Errors
/// If it is none, which does not happen.
pub fn json_of(content: &BlockContent) -> Result<String, InvestigationError> {
    serde_json::to_string(content).map_err(|error| refused(error.to_string()))
}

/// A new investigation of `user`, with the blocks of a template if one is named.
///
/// # Errors
/// If there is no such template, or the title cannot be kept.
pub fn new_investigation(
    title: &str,
    template: Option<&str>,
    user: &str,
) -> Result<(InvestigationRecord, Vec<BlockRecord>), InvestigationError> {
    let blocks = match template {
        None => Vec::new(),
        Some(name) => templates::blocks_of(name)?,
    };
    let title = if title.trim().is_empty() { templates::title_of(template).unwrap_or_default() } else { title };
    let changed = change_by(user);
    let record = InvestigationRecord {
        id: draw_id()?,
        title: checked_title(title)?,
        state: InvestigationState::Open,
        conclusion: String::new(),
        owner: user.to_owned(),
        created_unix_ns: changed.unix_ns,
        changed,
        version: 1,
        deleted_unix_ns: None,
    };
    let blocks = blocks.iter().map(|content| new_block(content, user)).collect::<Result<_, _>>()?;
    Ok((record, blocks))
}
