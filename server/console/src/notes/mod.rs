//! Notes on captures as people write and read them, in a browser and at a terminal: times are told from the capture's start.
//!
//! Who may write and change one is decided where people are known.

mod terminal;

use bathyscope_capture::{NoteAnchor, NoteContent, NoteId, shown};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{CaptureRecord, NoteRecord, NoteVersion};
use serde::{Deserialize, Serialize};

use crate::markdown::{MarkdownNode, markdown, plain};

pub use terminal::{DoneNote, NoteError, TerminalNote, note_at_terminal};

/// What a note is tied to. When a moment, a range or a row is, and on which track, stands beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
pub enum NotePlace {
    /// A moment.
    Moment,
    /// A range of time.
    Range,
    /// A row of a stream.
    Row {
        /// Which stream, from 0.
        stream: u16,
        /// Which of its rows in the order of time, from 0.
        row: u64,
    },
    /// A track as a whole.
    Track,
    /// A frame of a flame graph.
    Frame {
        /// The frame, as addresses name it.
        node: String,
        /// Its name.
        name: String,
    },
    /// A function, wherever it is found.
    Function {
        /// Its name.
        name: String,
    },
    /// The capture as a whole.
    Capture,
    /// Another note.
    Answer {
        /// Which.
        to: NoteId,
    },
}

/// A note or an answer. Times without `unix` in their name are nanoseconds from the capture's start.
#[derive(Clone, Debug, Serialize)]
pub struct NoteItem {
    /// Names it in addresses.
    pub id: NoteId,
    /// What it is tied to.
    pub on: NotePlace,
    /// From when; none for what has no time.
    pub start: Option<i64>,
    /// Until before when; none for all but ranges.
    pub end: Option<i64>,
    /// The track that it is on, by the key that addresses of pages have.
    pub track: Option<String>,
    /// The view in which it was written: the query of the page's address; empty where the place needs none.
    pub view: String,
    /// What was written, Markdown unless it is `plain`.
    pub text: String,
    /// Whether the text is none of Markdown, but plain: it was written before notes were.
    pub plain: bool,
    /// The text as a tree.
    pub body: Vec<MarkdownNode>,
    /// Which of the colours of categories it has.
    pub colour: Option<u8>,
    /// Who wrote it first.
    pub author: String,
    /// Who imported it, if it came with a file: then the file says who wrote it.
    pub imported_by: Option<String>,
    /// When it was written, nanoseconds since 1970 by the wall clock.
    pub created_unix_ns: i64,
    /// When it was changed last.
    pub changed_unix_ns: Option<i64>,
    /// Who changed it last.
    pub changed_by: Option<String>,
    /// When it was resolved; none if it is open.
    pub resolved_unix_ns: Option<i64>,
    /// Who resolved it.
    pub resolved_by: Option<String>,
    /// What a change has to name.
    pub version: u32,
    /// Whether whoever asks may change and remove it.
    pub can_change: bool,
}

/// What a note said, and where it was.
#[derive(Clone, Debug, Serialize)]
pub struct NoteVersionItem {
    /// 1, and one more for each change.
    pub version: u32,
    /// From when, nanoseconds from the capture's start; none for what has no time.
    pub start: Option<i64>,
    /// Until before when; none for all but ranges.
    pub end: Option<i64>,
    /// What was written.
    pub text: String,
    /// The text as a tree.
    pub body: Vec<MarkdownNode>,
    /// Which of the colours of categories it had.
    pub colour: Option<u8>,
    /// When it was saved, nanoseconds since 1970 by the wall clock.
    pub saved_unix_ns: i64,
    /// Who saved it.
    pub saved_by: String,
}

/// An anchor as people are told of it: place, start, end.
fn told_anchor(anchor: NoteAnchor, origin_ns: u64) -> (NotePlace, Option<i64>, Option<i64>) {
    let relative = |time_ns: u64| time_ns.cast_signed().wrapping_sub_unsigned(origin_ns);
    let start = anchor.times().map(|(start_ns, _)| relative(start_ns));
    match anchor {
        NoteAnchor::Moment { .. } => (NotePlace::Moment, start, None),
        NoteAnchor::Range { end_ns, .. } => (NotePlace::Range, start, Some(relative(end_ns))),
        NoteAnchor::Row { stream, row, .. } => (NotePlace::Row { stream, row }, start, None),
        NoteAnchor::Track => (NotePlace::Track, None, None),
        NoteAnchor::Frame { node, name } => (NotePlace::Frame { node, name }, None, None),
        NoteAnchor::Function { name } => (NotePlace::Function { name }, None, None),
        NoteAnchor::Capture => (NotePlace::Capture, None, None),
        NoteAnchor::Answer { to } => (NotePlace::Answer { to }, None, None),
    }
}

fn body_of(content: &NoteContent) -> Vec<MarkdownNode> {
    if content.plain { plain(&content.text) } else { markdown(&content.text) }
}

impl NoteItem {
    /// Of a capture that began at `origin_ns`.
    pub fn new(note: NoteRecord, origin_ns: u64, can_change: bool) -> Self {
        let body = body_of(&note.content);
        let NoteContent { anchor, track, view, text, plain, colour } = note.content;
        let (on, start, end) = told_anchor(anchor, origin_ns);
        let (changed_unix_ns, changed_by) = note.changed.map(|it| (it.unix_ns, shown(&it.user))).unzip();
        let (resolved_unix_ns, resolved_by) = note.resolved.map(|it| (it.unix_ns, shown(&it.user))).unzip();
        Self {
            id: note.id,
            on,
            start,
            end,
            track,
            view,
            text,
            plain,
            body,
            colour,
            author: shown(&note.author),
            imported_by: note.imported.then(|| shown(&note.owner)),
            created_unix_ns: note.created_unix_ns,
            changed_unix_ns,
            changed_by,
            resolved_unix_ns,
            resolved_by,
            version: note.version,
            can_change,
        }
    }

    /// Whether it is an answer.
    pub const fn is_answer(&self) -> bool {
        matches!(self.on, NotePlace::Answer { .. })
    }
}

impl NoteVersionItem {
    fn new(version: NoteVersion, origin_ns: u64) -> Self {
        let NoteVersion { version, content, saved } = version;
        let body = body_of(&content);
        let (_, start, end) = told_anchor(content.anchor, origin_ns);
        let (text, colour, saved_by) = (content.text, content.colour, shown(&saved.user));
        Self { version, start, end, text, body, colour, saved_unix_ns: saved.unix_ns, saved_by }
    }

    /// All versions of a note, the present one first.
    pub fn all(note: &NoteRecord, origin_ns: u64) -> Vec<Self> {
        let versions = note.earlier.iter().cloned().chain([note.present()]);
        let mut all: Vec<Self> = versions.map(|version| Self::new(version, origin_ns)).collect();
        all.reverse();
        all
    }
}

/// What is written of a note. Times are nanoseconds from the capture's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WrittenNote {
    /// What it is tied to; a range, or a moment where there is no end, if it is not said.
    #[serde(default)]
    pub on: Option<NotePlace>,
    /// From when, for what has a time.
    #[serde(default)]
    pub start: Option<i64>,
    /// Until before when, for a range.
    #[serde(default)]
    pub end: Option<i64>,
    /// The track that it is on.
    #[serde(default)]
    pub track: Option<String>,
    /// The view in which it was written.
    #[serde(default)]
    pub view: String,
    /// Markdown.
    #[serde(default)]
    pub text: String,
    /// Which of the colours of categories it has.
    #[serde(default)]
    pub colour: Option<u8>,
    /// Which version of it was seen, to change it.
    #[serde(default)]
    pub version: Option<u32>,
}

impl WrittenNote {
    /// As it is kept, on this capture.
    ///
    /// # Errors
    /// What of it cannot be kept, in words.
    pub fn content(self, capture: &CaptureRecord) -> Result<NoteContent, String> {
        let absolute = |relative: Option<i64>, what: &str| {
            let relative =
                relative.ok_or_else(|| format!("`{what}` is missing: it says when, from the capture's start"))?;
            let why = || format!("{relative} ns from the capture's start is no time of its clock");
            capture.start_ns.checked_add_signed(relative).ok_or_else(why)
        };
        let Self { on, start, end, track, view, text, colour, version: _ } = self;
        let on = on.unwrap_or(if end.is_some() { NotePlace::Range } else { NotePlace::Moment });
        let timed = matches!(on, NotePlace::Moment | NotePlace::Range | NotePlace::Row { .. });
        if end.is_some() && on != NotePlace::Range {
            return Err("`end` is of ranges only".to_owned());
        }
        if start.is_some() && !timed {
            return Err("`start` is of moments, ranges and rows only".to_owned());
        }
        let anchor = match on {
            NotePlace::Moment => NoteAnchor::Moment { start_ns: absolute(start, "start")? },
            NotePlace::Range => {
                NoteAnchor::Range { start_ns: absolute(start, "start")?, end_ns: absolute(end, "end")? }
            }
            NotePlace::Row { stream, row } => {
                let rows = capture.streams.get(usize::from(stream)).map_or(0, |stream| stream.rows);
                if row >= rows {
                    return Err(format!("stream {stream} has {rows} rows, and no row {row}"));
                }
                NoteAnchor::Row { stream, row, start_ns: absolute(start, "start")? }
            }
            NotePlace::Track => NoteAnchor::Track,
            NotePlace::Frame { node, name } => NoteAnchor::Frame { node, name },
            NotePlace::Function { name } => NoteAnchor::Function { name },
            NotePlace::Capture => NoteAnchor::Capture,
            NotePlace::Answer { to } => NoteAnchor::Answer { to },
        };
        let text = text.trim().replace("\r\n", "\n");
        let content = NoteContent { anchor, track, view, text, plain: false, colour };
        content.check().map_err(|error| error.to_string())?;
        Ok(content)
    }
}

/// A new note of `user`, with an id from these random bits.
pub fn new_note(bits: u64, content: NoteContent, user: &str) -> NoteRecord {
    NoteRecord {
        id: NoteId::from_bits(bits),
        content,
        author: user.to_owned(),
        owner: user.to_owned(),
        imported: false,
        created_unix_ns: wall_unix_ns(),
        changed: None,
        resolved: None,
        version: 1,
        earlier: Vec::new(),
    }
}
