//! An investigation as a share tells it that removes something: pictures without it, texts as they were written.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use bathyscope_reader::{CaptureView, Removal, RemovedKind, ViewQuery};
use bathyscope_views::{Cancel, Scope, TimeRange, ViewError};

use super::{BlockItem, InvestigationItem, PictureOf, ToldBlock};
use crate::notes::NoteItem;

/// What of the query of a page's address cannot have text of events.
const PLAIN_PARTS: [&str; 4] = ["v", "tab", "start", "end"];

/// What a share shows though something is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownAnyway {
    /// Notes, as they were written.
    pub notes: bool,
    /// Results of queries.
    pub results: bool,
}

/// The query of a page's address without what may have text of events, and the names of what was left out.
pub(crate) fn plain_view(view: &str) -> (String, Vec<String>) {
    let is_plain = |part: &&str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        let is_word = value.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'));
        PLAIN_PARTS.contains(&name) && is_word
    };
    let (plain, others): (Vec<&str>, Vec<&str>) = view.split('&').filter(|part| !part.is_empty()).partition(is_plain);
    let name = |part: &str| part.split('=').next().unwrap_or("").chars().take(32).collect();
    (plain.join("&"), others.into_iter().map(name).collect())
}

/// What is left of a page. Texts, tasks and captions are as people wrote them; titles of captures, and the names of people where names
/// are removed, are not told.
pub fn left_page(page: InvestigationItem, removal: &Removal, shown: ShownAnyway) -> InvestigationItem {
    let InvestigationItem { mut head, conclusion, conclusion_body, blocks, can_write } = page;
    let person = |name: String| {
        if removal.removes(RemovedKind::Names) { removal.text(RemovedKind::Names, name.as_bytes()) } else { name }
    };
    removal.title().clone_into(&mut head.title);
    (head.owner, head.changed_by) = (person(head.owner), person(head.changed_by));
    let block = |block: BlockItem| BlockItem {
        content: left_block(block.content, removal, shown),
        author: person(block.author),
        changed_by: person(block.changed_by),
        ..block
    };
    InvestigationItem { head, conclusion, conclusion_body, blocks: blocks.into_iter().map(block).collect(), can_write }
}

/// A note as it was written, without the view in which that was done, the track that it is on, and the names of people where names are
/// removed.
pub fn left_note(note: NoteItem, removal: &Removal) -> NoteItem {
    let person = |name: String| {
        if removal.removes(RemovedKind::Names) { removal.text(RemovedKind::Names, name.as_bytes()) } else { name }
    };
    NoteItem {
        view: String::new(),
        track: None,
        author: person(note.author),
        imported_by: note.imported_by.map(person),
        changed_by: note.changed_by.map(person),
        resolved_by: note.resolved_by.map(person),
        ..note
    }
}

fn left_block(block: ToldBlock, removal: &Removal, shown: ShownAnyway) -> ToldBlock {
    let called = |title: Option<String>| title.map(|_| "A capture".to_owned());
    match block {
        ToldBlock::View { capture, title, view, caption } => {
            ToldBlock::View { capture, title: called(title), view: plain_view(&view).0, caption }
        }
        ToldBlock::Comparison { capture, title, view, caption } => {
            ToldBlock::Comparison { capture, title: called(title), view: plain_view(&view).0, caption }
        }
        ToldBlock::Step { text, body, recipe, capture, title, view } => {
            ToldBlock::Step { text, body, recipe, capture, title: called(title), view: plain_view(&view).0 }
        }
        ToldBlock::Note { capture, title, id, note, answers } if shown.notes => ToldBlock::Note {
            capture,
            title: called(title),
            id,
            note: note.map(|note| Box::new(left_note(*note, removal))),
            answers: answers.into_iter().map(|note| left_note(note, removal)).collect(),
        },
        ToldBlock::Note { .. } => ToldBlock::LeftOut { what: "A note" },
        ToldBlock::Query { capture, title, sql, caption, result } if shown.results => {
            ToldBlock::Query { capture, title: called(title), sql, caption, result }
        }
        ToldBlock::Query { .. } => ToldBlock::LeftOut { what: "A result of a query" },
        written
        @ (ToldBlock::Text { .. } | ToldBlock::Task { .. } | ToldBlock::LeftOut { .. } | ToldBlock::Unknown) => written,
    }
}

/// A capture without what is removed, for a picture, and what is drawn of it. A filter is of what was recorded, so the rows are found
/// first. `share` names who asks.
///
/// # Errors
/// If the filter cannot be read or does not fit, the capture still changes, or `cancel` was set.
pub fn left_for_picture(
    view: &CaptureView,
    (of, removal): (PictureOf, &std::sync::Arc<Removal>),
    share: u64,
    cancel: &Cancel,
) -> Result<(CaptureView, PictureOf), ViewError> {
    let filter = of.query.rows(view)?.filter;
    let whole = match filter {
        Some(filter) => {
            // By this name the rows are kept that are left.
            let mut name = DefaultHasher::new();
            (share, view.record().id.bits(), &of.query.filter).hash(&mut name);
            view.narrowed(name.finish(), &Scope { range: TimeRange::ALL, filter: Some(filter) }, cancel)?
        }
        None => view.clone(),
    };
    let query = ViewQuery { filter: String::new(), ..of.query };
    Ok((whole.without(removal, None, cancel)?, PictureOf { query, ..of }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_keep_what_cannot_have_text_of_events() {
        for (view, left, out) in [
            ("", "", vec![]),
            ("v=3&tab=flame&start=5&end=-9", "v=3&tab=flame&start=5&end=-9", vec![]),
            ("v=3&filter=secret&tab=a%20b&start=secret.txt", "v=3", vec!["filter", "tab", "start"]),
            ("secret&=x&v=3", "v=3", vec!["secret", ""]),
        ] {
            let (plain, others) = plain_view(view);
            let out: Vec<String> = out.into_iter().map(str::to_owned).collect();
            assert_eq!((plain.as_str(), others), (left, out), "{view}");
        }
    }
}
