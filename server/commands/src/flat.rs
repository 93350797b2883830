//! What was understood, in one level, as JSON has it.

use bathyscope_capture::{CaptureSpec, DynamicProbe};
use serde::Serialize;

use crate::{
    answer::{Answer, Explanation, Note, Page, Planned, Refusal, Span, StoredView, ViewName},
    sentence::cost_of,
};

/// What was understood of a text: exactly one of the parts that may be missing is there, or none if nothing is to be done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ExplainedText {
    /// What it asks for, in a sentence or two.
    words: String,
    /// A capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    capture: Option<PlannedCapture>,
    /// A page of the console.
    #[serde(skip_serializing_if = "Option::is_none")]
    page: Option<Page>,
    /// A view of a stored capture.
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<StoredView>,
    /// Probes to be kept for later captures.
    #[serde(skip_serializing_if = "Option::is_none")]
    probes: Option<ProbeChanges>,
    /// The text of a script of BCC, which is not translated.
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<String>,
    /// Why it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<RefusedText>,
    /// The parts of the text.
    spans: Vec<Span>,
    /// What should be known about parts.
    notes: Vec<Note>,
}

/// A capture that is asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct PlannedCapture {
    spec: CaptureSpec,
    opens: ViewName,
    /// What it costs those who run meanwhile, in a sentence.
    cost: String,
    /// What has to be chosen before it can be started.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

/// Probes that are defined, and patterns of those that are removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct ProbeChanges {
    add: Vec<DynamicProbe>,
    remove: Vec<String>,
    /// Whether one whose name is taken gets another name.
    force: bool,
    /// Whether it is only told what would be done.
    dry_run: bool,
}

/// Why a text is refused, and where: bytes of the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct RefusedText {
    start: usize,
    end: usize,
    why: String,
    remedy: String,
}

impl From<Explanation> for ExplainedText {
    fn from(explanation: Explanation) -> Self {
        let Explanation { answer, words, spans, notes } = explanation;
        let mut flat = Self {
            words,
            capture: None,
            page: None,
            stored: None,
            probes: None,
            script: None,
            refused: None,
            spans,
            notes,
        };
        match answer {
            Answer::Capture(planned) => {
                let Planned { spec, opens, missing } = *planned;
                let cost = cost_of(&spec);
                flat.capture = Some(PlannedCapture { spec, opens, cost, missing });
            }
            Answer::Probes { add, remove, force, dry_run } => {
                flat.probes = Some(ProbeChanges { add, remove, force, dry_run });
            }
            Answer::Page(page) => flat.page = Some(page),
            Answer::Stored(stored) => flat.stored = Some(stored),
            Answer::Foreign { script } => flat.script = Some(script),
            Answer::Nothing => {}
            Answer::Refused(Refusal { at, why, remedy }) => {
                flat.refused = Some(RefusedText { start: at.start, end: at.end, why, remedy });
            }
        }
        flat
    }
}
