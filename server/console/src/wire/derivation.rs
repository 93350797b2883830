//! Streams of a capture that were computed from others, or can be.

use bathyscope_capture::{CaptureId, shown};
use bathyscope_derive::{DerivationCount, DerivationCounts, RuleSpec};
use bathyscope_recorder::{DerivationProgress, Derivations, rules_of};
use bathyscope_store::{CaptureRecord, DerivationRecord, DerivationState};
use serde::Serialize;

/// What is computed of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComputedStreams {
    /// The rules that were applied to it, in order.
    rules: Vec<ComputedRule>,
    /// The names of rules of this version that it has the inputs for and that were not applied, or not yet.
    possible: Vec<String>,
    /// Whether something waits or is being computed.
    is_busy: bool,
    /// How far the rule is that is being applied; none if none is.
    progress: Option<ComputedProgress>,
}

/// How far a rule is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ComputedProgress {
    /// Chunks that were read.
    done: u64,
    /// Chunks that are to be read.
    of: u64,
}

/// A rule that was applied to a capture, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ComputedRule {
    /// Its number in the capture.
    number: u16,
    /// Its name.
    name: String,
    /// How far it is.
    state: DerivationState,
    /// Why it failed; else empty.
    reason: String,
    /// The indexes of its streams; none where they are not there.
    streams: Vec<u16>,
    /// Rows of its streams.
    rows: u64,
    /// Bytes of its streams.
    bytes: u64,
    /// What it could not tell.
    untold: Vec<Untold>,
    /// Where events are missing though none was lost: why that can be.
    untold_note: Option<String>,
    /// A span that somebody defined, as people write it: links hold this. None for a rule of the program, and for a span whose
    /// name makes such a text ambiguous.
    span: Option<String>,
}

/// Something that a rule could not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Untold {
    /// How often.
    count: u64,
    /// What, as what follows a number.
    words: String,
    /// Whether it proves that events are missing.
    proves_loss: bool,
}

impl ComputedStreams {
    pub(super) fn new(record: &CaptureRecord) -> Self {
        let rules: Vec<ComputedRule> = record.derivations.iter().map(|it| rule(record, it)).collect();
        let is_there = |name: &String| {
            let is_it = |rule: &ComputedRule| (rule.state.is_shown() || rule.state.is_filled()) && rule.name == *name;
            rules.iter().any(is_it)
        };
        let names = rules_of(record).into_iter().map(|rule| rule.name().to_owned());
        let possible = names.filter(|name| !is_there(name)).collect();
        Self { rules, possible, is_busy: false, progress: None }
    }

    pub(super) fn working(&mut self, (is_busy, progress): (bool, Option<DerivationProgress>)) {
        self.is_busy = is_busy;
        self.progress = progress.map(|DerivationProgress { done, of }| ComputedProgress { done, of });
    }
}

/// What the queue of derivations does for a capture now.
pub(crate) fn work_on(derivations: &Derivations, capture: CaptureId) -> (bool, Option<DerivationProgress>) {
    (derivations.is_busy(capture), derivations.progress(capture))
}

fn rule(record: &CaptureRecord, it: &DerivationRecord) -> ComputedRule {
    let spec = serde_json::from_str::<RuleSpec>(&it.rule).ok();
    let span = spec.as_ref().and_then(RuleSpec::text_of_span);
    let is_there = it.state.is_shown();
    let streams: Vec<u16> = (0..it.stream_count).filter(|_| is_there).map(|place| it.first_stream + place).collect();
    let of = |stream: &u16| record.streams.get(usize::from(*stream));
    let counts: Vec<(DerivationCount, u64)> = serde_json::from_str(&it.counts).unwrap_or_default();
    let untold = |(what, count): (DerivationCount, u64)| Untold {
        count,
        words: what.words().to_owned(),
        proves_loss: what.proves_loss(),
    };
    let is_missing = counts.iter().any(|(what, _)| what.proves_loss());
    ComputedRule {
        number: it.number,
        name: shown(spec.as_ref().map_or("a rule of another version", RuleSpec::name)),
        state: it.state,
        reason: shown(&it.reason),
        rows: streams.iter().filter_map(of).map(|stream| stream.rows).sum(),
        bytes: streams.iter().filter_map(of).map(|stream| stream.bytes).sum(),
        streams,
        untold: counts.into_iter().map(untold).collect(),
        untold_note: (is_missing && record.ledger.lost_nothing()).then(|| DerivationCounts::NOT_REPORTED.to_owned()),
        span,
    }
}
