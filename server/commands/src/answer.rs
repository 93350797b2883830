//! What was understood of a text: what it asks for, in words, and what each part of it is.

use std::{collections::BTreeMap, ops::Range};

use bathyscope_capture::{CaptureSpec, DynamicProbe};
use serde::Serialize;

use crate::rules::Table;

/// What cannot be understood or done, with its place in the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Refusal {
    /// Bytes of the text.
    pub at: Range<usize>,
    /// Why.
    pub why: String,
    /// What to do about it.
    pub remedy: String,
}

impl Refusal {
    pub(crate) fn new(at: Range<usize>, why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { at, why: why.into(), remedy: remedy.into() }
    }
}

pub(crate) type Result<T> = std::result::Result<T, Refusal>;

/// What a text asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A capture.
    Capture(Box<Planned>),
    /// Probes that are to be there for later captures.
    Probes {
        /// Their definitions.
        add: Vec<DynamicProbe>,
        /// Names and patterns of those to be removed.
        remove: Vec<String>,
        /// Whether one whose name is taken gets another name.
        force: bool,
        /// Whether it is only told what would be done.
        dry_run: bool,
    },
    /// A page of the console.
    Page(Page),
    /// A view of a capture that is stored.
    Stored(StoredView),
    /// A script of BCC, Python with C inside, which is not translated.
    Foreign {
        /// The script.
        script: String,
    },
    /// Nothing has to be done for it.
    Nothing,
    /// It was not understood, or cannot be done.
    Refused(Refusal),
}

/// A capture to be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Planned {
    /// Its spec. Where something is [missing](Self::missing), it cannot be started.
    pub spec: CaptureSpec,
    /// The view that it opens in.
    pub opens: ViewName,
    /// What has to be chosen before it can be started, in words; such as a process for which only `PID` stands.
    pub missing: Option<String>,
}

/// A view of a capture, as addresses name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ViewName {
    /// The table of rows.
    Events,
    /// The timeline.
    Timeline,
    /// The flame graph.
    Flame,
    /// The table of functions beside the flame graph.
    Functions,
    /// The instructions of the hottest function.
    Instructions,
    /// Counts over time.
    Counts,
    /// The tree of calls.
    Calls,
    /// The table of system calls.
    Systemcalls,
    /// Maps of a script.
    Maps,
    /// What a script printed.
    Output,
}

impl ViewName {
    /// In words, as they stand behind "opens".
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Events => "the table of rows",
            Self::Timeline => "the timeline",
            Self::Flame => "a flame graph",
            Self::Functions => "the table of functions",
            Self::Instructions => "the hot instructions",
            Self::Counts => "the counts over time",
            Self::Calls => "the tree of calls",
            Self::Systemcalls => "the table of system calls",
            Self::Maps => "the maps",
            Self::Output => "what it prints",
        }
    }
}

/// A page of the console.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Page {
    /// Its path, such as `/catalog`.
    pub path: String,
    /// Its parameters.
    pub parameters: BTreeMap<String, String>,
}

impl Page {
    pub(crate) fn new(path: &str, parameters: &[(&str, &str)]) -> Self {
        let parameters = parameters.iter().filter(|(_, value)| !value.is_empty());
        let parameters = parameters.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        Self { path: path.to_owned(), parameters: parameters.collect() }
    }
}

/// A view of a capture that is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StoredView {
    /// The file that the other tool would read, if one is named; else it is the newest capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The view.
    pub view: ViewName,
    /// Conditions on rows, each with the event that it is of, in the language of ftrace's filters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
    /// What is searched for, such as a function.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// The words behind `bathyscope` that print the same at a terminal; none where nothing does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub terminal: Vec<String>,
}

impl StoredView {
    /// A view of the newest capture.
    pub(crate) fn newest(view: ViewName) -> Self {
        Self { file: None, view, filters: Vec::new(), search: None, terminal: Vec::new() }
    }
}

/// What a part of the text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// The name of a tool or of one of its commands.
    Tool,
    /// An option.
    Option,
    /// The value of an option.
    Value,
    /// An event, a function, a probe.
    Event,
    /// Whose events are recorded: a process, or a command that is started.
    Target,
    /// A script.
    Script,
    /// What has no meaning here.
    Ignored,
    /// What is not understood or cannot be done.
    Refused,
    /// Signs and words for a shell.
    Shell,
    /// A comment, a prompt, or what a command has printed.
    Comment,
}

/// A part of the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last one.
    pub end: usize,
    /// What it is.
    pub kind: SpanKind,
}

/// Something that should be known about a part of the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The part: the first byte.
    pub start: usize,
    /// The byte behind the last one.
    pub end: usize,
    /// Whether the part has no meaning here; else something is done in another way.
    pub is_ignored: bool,
    /// What should be known.
    pub text: String,
}

/// What was understood of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// What it asks for.
    pub answer: Answer,
    /// The same in words: one sentence or two.
    pub words: String,
    /// The parts of the text, in their order; they do not overlap.
    pub spans: Vec<Span>,
    /// What should be known about parts.
    pub notes: Vec<Note>,
}

/// Parts and notes as they are found.
#[derive(Debug, Default)]
pub(crate) struct Marks {
    spans: Vec<Span>,
    notes: Vec<Note>,
    /// What is to be said, if that does not follow from the answer.
    said: String,
    /// The options by which the last command was read.
    table: Option<Table>,
}

impl Marks {
    /// Says what the answer does not tell by itself.
    pub(crate) fn say(&mut self, words: String) {
        self.said = words;
    }

    /// Says by which options a command is read.
    pub(crate) fn reads_by(&mut self, table: Table) {
        self.table = Some(table);
    }

    /// The options by which the last command was read.
    pub(crate) fn table(&self) -> Option<Table> {
        self.table
    }

    /// What was said.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    /// Says what a part is. What is said later goes before what was said earlier.
    pub(crate) fn mark(&mut self, part: &Range<usize>, kind: SpanKind) {
        if part.start < part.end {
            self.spans.push(Span { start: part.start, end: part.end, kind });
        }
    }

    /// Says that a part has no meaning here, and why.
    pub(crate) fn ignore(&mut self, part: &Range<usize>, text: impl Into<String>) {
        self.mark(part, SpanKind::Ignored);
        self.notes.push(Note { start: part.start, end: part.end, is_ignored: true, text: text.into() });
    }

    /// Whether this has been said of another part.
    pub(crate) fn has_ignored(&self, text: &str) -> bool {
        self.notes.iter().any(|note| note.is_ignored && note.text == text)
    }

    /// Says something about a part.
    pub(crate) fn note(&mut self, part: &Range<usize>, text: impl Into<String>) {
        let note = Note { start: part.start, end: part.end, is_ignored: false, text: text.into() };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    /// All of it, with places in what was pasted.
    pub(crate) fn finish(self, place: &dyn Fn(usize) -> usize) -> (Vec<Span>, Vec<Note>) {
        let mut spans: Vec<Span> = Vec::new();
        for span in self.spans {
            let mut kept = Vec::with_capacity(spans.len() + 1);
            for old in spans {
                // What was said earlier keeps what is beside the later one.
                if old.start < span.start {
                    kept.push(Span { end: old.end.min(span.start), ..old.clone() });
                }
                if old.end > span.end {
                    kept.push(Span { start: old.start.max(span.end), ..old });
                }
            }
            kept.push(span);
            spans = kept;
        }
        let mut spans: Vec<Span> =
            spans.into_iter().map(|span| Span { start: place(span.start), end: place(span.end), ..span }).collect();
        spans.retain(|span| span.start < span.end);
        spans.sort_by_key(|span| span.start);
        let mut notes = self.notes;
        for note in &mut notes {
            (note.start, note.end) = (place(note.start), place(note.end));
        }
        notes.sort_by_key(|note| note.start);
        (spans, notes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_mark_cuts_an_earlier_one() {
        let mut marks = Marks::default();
        marks.mark(&(0..10), SpanKind::Value);
        marks.mark(&(3..5), SpanKind::Event);
        marks.mark(&(9..12), SpanKind::Refused);
        let (spans, _) = marks.finish(&|at| at);
        let found: Vec<_> = spans.iter().map(|span| (span.start, span.end, span.kind)).collect();
        let expected =
            [(0, 3, SpanKind::Value), (3, 5, SpanKind::Event), (5, 9, SpanKind::Value), (9, 12, SpanKind::Refused)];
        assert_eq!(found, expected);
    }
}
