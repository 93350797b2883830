//! Investigations as they are told: with titles of captures, notes as they are now, and texts as trees.

use std::collections::{HashMap, hash_map::Entry};

use bathyscope_capture::{CaptureId, NoteId, shown};
use bathyscope_store::{
    BlockRecord, CaptureRecord, InvestigationId, InvestigationRecord, InvestigationState, NoteRecord, Sight, Store,
    StoreError,
};
use serde::Serialize;

use super::{BlockContent, QueryResult};
use crate::{
    markdown::{MarkdownNode, markdown},
    notes::{NoteItem, NotePlace},
};

/// The head of an investigation in a list.
#[derive(Clone, Debug, Serialize)]
pub struct InvestigationHead {
    /// Names it in addresses.
    pub id: InvestigationId,
    /// What it is called.
    pub title: String,
    /// How far it is.
    pub state: InvestigationState,
    /// Who began it.
    pub owner: String,
    /// When, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
    /// When anything of it was changed last.
    pub changed_unix_ns: i64,
    /// Who did that.
    pub changed_by: String,
    /// When it was deleted; none if it was not.
    pub deleted_unix_ns: Option<i64>,
    /// What a change of title, state or conclusion has to name.
    pub version: u32,
    /// How many blocks it has.
    pub blocks: u64,
    /// Whether whoever asks may delete it.
    pub can_delete: bool,
}

impl InvestigationHead {
    /// Of a record with so many blocks.
    pub fn new(record: InvestigationRecord, blocks: u64, can_delete: bool) -> Self {
        Self {
            id: record.id,
            title: shown(&record.title),
            state: record.state,
            owner: shown(&record.owner),
            created_unix_ns: record.created_unix_ns,
            changed_unix_ns: record.changed.unix_ns,
            changed_by: shown(&record.changed.user),
            deleted_unix_ns: record.deleted_unix_ns,
            version: record.version,
            blocks,
            can_delete,
        }
    }
}

/// An investigation with its blocks.
#[derive(Clone, Debug, Serialize)]
pub struct InvestigationItem {
    /// The head.
    pub head: InvestigationHead,
    /// What came of it, as it was written; empty as long as nothing did.
    pub conclusion: String,
    /// The same as a tree.
    pub conclusion_body: Vec<MarkdownNode>,
    /// The blocks in order.
    pub blocks: Vec<BlockItem>,
    /// Whether whoever asks may write on it.
    pub can_write: bool,
}

/// A block.
#[derive(Clone, Debug, Serialize)]
pub struct BlockItem {
    /// Names it in addresses.
    pub id: InvestigationId,
    /// What it is and says.
    pub content: ToldBlock,
    /// Who added it.
    pub author: String,
    /// When it was changed last, nanoseconds since 1970 by the wall clock.
    pub changed_unix_ns: i64,
    /// Who did that.
    pub changed_by: String,
    /// What a change has to name.
    pub version: u32,
}

/// What a block is and says. Titles of captures are none where the capture is gone.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ToldBlock {
    /// A text.
    Text {
        /// As it was written, Markdown.
        text: String,
        /// The same as a tree.
        body: Vec<MarkdownNode>,
    },
    /// Something to do.
    Task {
        /// As it was written, Markdown.
        text: String,
        /// The same as a tree.
        body: Vec<MarkdownNode>,
        /// Whether it is done.
        done: bool,
    },
    /// A view of a capture.
    View {
        /// The capture.
        capture: CaptureId,
        /// Its title.
        title: Option<String>,
        /// The query of the page's address.
        view: String,
        /// What there is to see.
        caption: String,
    },
    /// A view that compares stacks.
    Comparison {
        /// The capture.
        capture: CaptureId,
        /// Its title.
        title: Option<String>,
        /// The query of the page's address.
        view: String,
        /// What there is to see.
        caption: String,
    },
    /// A note.
    Note {
        /// The capture.
        capture: CaptureId,
        /// Its title.
        title: Option<String>,
        /// The note.
        id: NoteId,
        /// As it is now; none where it is gone.
        note: Option<Box<NoteItem>>,
        /// What was answered.
        answers: Vec<NoteItem>,
    },
    /// A query and its result as it was.
    Query {
        /// The capture.
        capture: CaptureId,
        /// Its title.
        title: Option<String>,
        /// What was asked.
        sql: String,
        /// What there is to see.
        caption: String,
        /// What was answered.
        result: QueryResult,
    },
    /// A question, and the recipe that answers it.
    Step {
        /// As it was written, Markdown.
        text: String,
        /// The same as a tree.
        body: Vec<MarkdownNode>,
        /// The recipe's name.
        recipe: String,
        /// The capture that was made for it.
        capture: Option<CaptureId>,
        /// Its title.
        title: Option<String>,
        /// The view of it that answers.
        view: String,
    },
    /// What is not shown by a share that removes something.
    LeftOut {
        /// What it is, in words: the beginning of a sentence.
        what: &'static str,
    },
    /// What a later release has written.
    Unknown,
}

/// Where captures are, and whose sight of them counts: of one that is not seen nothing is told but its id.
type ToldTo<'a> = (&'a Store, &'a Sight);

/// The captures and notes that blocks are about.
#[derive(Default)]
struct Known {
    captures: HashMap<CaptureId, Option<CaptureRecord>>,
    notes: HashMap<CaptureId, Vec<NoteRecord>>,
}

impl Known {
    async fn capture(
        &mut self,
        (store, sight): ToldTo<'_>,
        id: CaptureId,
    ) -> Result<Option<&CaptureRecord>, StoreError> {
        if let Entry::Vacant(slot) = self.captures.entry(id) {
            slot.insert(match store.seen_by(sight).capture(id).await {
                Ok(record) => Some(record),
                Err(StoreError::NoCapture { .. }) => None,
                Err(error) => return Err(error),
            });
        }
        Ok(self.captures.get(&id).and_then(Option::as_ref))
    }

    async fn title(&mut self, told: ToldTo<'_>, id: CaptureId) -> Result<Option<String>, StoreError> {
        Ok(self.capture(told, id).await?.map(|record| shown(&record.title)))
    }

    /// A note and its answers.
    async fn thread(
        &mut self,
        told: ToldTo<'_>,
        (id, note): (CaptureId, NoteId),
    ) -> Result<(Option<Box<NoteItem>>, Vec<NoteItem>), StoreError> {
        let Some(origin_ns) = self.capture(told, id).await?.map(|record| record.start_ns) else {
            return Ok((None, Vec::new()));
        };
        if let Entry::Vacant(slot) = self.notes.entry(id) {
            slot.insert(told.0.notes(id).await?);
        }
        let all = self.notes.get(&id).map_or(&[] as &[NoteRecord], Vec::as_slice);
        let items = all.iter().map(|record| NoteItem::new(record.clone(), origin_ns, false));
        let (mut found, mut answers) = (None, Vec::new());
        for item in items {
            if item.id == note {
                found = Some(Box::new(item));
            } else if item.on == (NotePlace::Answer { to: note }) {
                answers.push(item);
            }
        }
        answers.sort_by_key(|answer| answer.created_unix_ns);
        Ok((found, answers))
    }
}

/// An investigation as it is told to whoever may write on it or not, and delete it or not.
///
/// # Errors
/// The store's.
pub async fn told_page(
    store: ToldTo<'_>,
    (record, blocks): (InvestigationRecord, Vec<BlockRecord>),
    (can_write, can_delete): (bool, bool),
) -> Result<InvestigationItem, StoreError> {
    let mut known = Known::default();
    let mut items = Vec::with_capacity(blocks.len());
    for block in blocks {
        let content = told_block(store, &mut known, &block.content).await?;
        items.push(BlockItem {
            id: block.id,
            content,
            author: shown(&block.author),
            changed_unix_ns: block.changed.unix_ns,
            changed_by: shown(&block.changed.user),
            version: block.version,
        });
    }
    let conclusion = record.conclusion.clone();
    Ok(InvestigationItem {
        head: InvestigationHead::new(record, items.len() as u64, can_delete),
        conclusion_body: markdown(&conclusion),
        conclusion,
        blocks: items,
        can_write,
    })
}

async fn told_block(store: ToldTo<'_>, known: &mut Known, content: &str) -> Result<ToldBlock, StoreError> {
    let Ok(content) = serde_json::from_str::<BlockContent>(content) else { return Ok(ToldBlock::Unknown) };
    Ok(match content {
        BlockContent::Text { text } => ToldBlock::Text { body: markdown(&text), text },
        BlockContent::Task { text, done } => ToldBlock::Task { body: markdown(&text), text, done },
        BlockContent::View { capture, view, caption } => {
            ToldBlock::View { capture, title: known.title(store, capture).await?, view, caption }
        }
        BlockContent::Comparison { capture, view, caption } => {
            ToldBlock::Comparison { capture, title: known.title(store, capture).await?, view, caption }
        }
        BlockContent::Note { capture, note: id } => {
            let (note, answers) = known.thread(store, (capture, id)).await?;
            ToldBlock::Note { capture, title: known.title(store, capture).await?, id, note, answers }
        }
        BlockContent::Query { capture, sql, caption, result } => {
            let title = known.title(store, capture).await?;
            let result = if title.is_some() || !store.1.is_narrow() { result } else { QueryResult::default() };
            ToldBlock::Query { capture, title, sql, caption, result }
        }
        BlockContent::Step { text, recipe, capture, view } => {
            let title = match capture {
                Some(capture) => known.title(store, capture).await?,
                None => None,
            };
            ToldBlock::Step { body: markdown(&text), text, recipe, capture, title, view }
        }
    })
}
