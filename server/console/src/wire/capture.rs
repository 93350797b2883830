//! A capture, and a line of the list of captures.

use bathyscope_capture::{
    CaptureId, CaptureSpec, Firing, FiringKind, HostFacts, Ledger, Reading, RowKind, SeriesId, StreamKind,
    StreamSchema, shown, visible,
};
use bathyscope_recorder::DerivationProgress;
use bathyscope_store::{CaptureRecord, CaptureState, CaptureSummary, FoundText, Origin, Room, SourceEnd, SummaryQuery};
use bathyscope_views::{ColumnHead, OfferedWeight, heads, offered_weights};
use serde::Serialize;

use super::derivation::ComputedStreams;
use crate::retention::RetentionRule;

/// A line of the list of captures.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CaptureItem {
    id: CaptureId,
    title: String,
    state: CaptureState,
    method: String,
    target: String,
    host: String,
    started_unix_ns: i64,
    duration_ns: u64,
    rows: u64,
    bytes: u64,
    lost: u64,
    /// Whether more may have been lost than was counted.
    lost_at_least: bool,
    pinned: bool,
    /// When retention deletes it by its age, nanoseconds since 1970; none if it does not, or if nobody knows here.
    #[serde(skip_serializing_if = "Option::is_none")]
    kept_until_unix_ns: Option<i64>,
    /// Whether whoever asks may pin it; none where nobody asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    can_pin: Option<bool>,
    owner: String,
    imported: bool,
    simulated: bool,
    /// Its tags, in order.
    tags: Vec<String>,
    /// The series that it is a run of, and how many runs it has, at most 1000; none where it is the only one, or nobody knows here.
    #[serde(skip_serializing_if = "Option::is_none")]
    series: Option<ItemSeries>,
    /// Where it has the words that were searched for; none if no words were.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    found: Vec<FoundPlace>,
    /// Bytes of texts that its events brought and that searches do not look into; none if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    left_out_bytes: Option<u64>,
}

/// The series of a line of the list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct ItemSeries {
    /// The series.
    id: SeriesId,
    /// How many runs it has; at most 20 are counted.
    runs: u64,
}

/// A place where a capture has words that were searched for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundPlace {
    /// In what: `title`, `notes`, `texts` …
    field: &'static str,
    /// The text around the words; `…` at an end where it goes on.
    text: String,
    /// Where in it the words are, as scripts count: from and up to which UTF-16 unit.
    marks: Vec<[usize; 2]>,
}

impl From<FoundText> for FoundPlace {
    fn from(found: FoundText) -> Self {
        let FoundText { field, text, marks } = found;
        let units = |bytes: usize| text.get(..bytes).map_or(0, |before| before.encode_utf16().count());
        let marks = marks.into_iter().map(|(begin, end)| [units(begin), units(end)]).collect();
        Self { field: field.name(), text, marks }
    }
}

/// What a search for words did not look into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Unsearched {
    /// Captures whose words are not indexed at all yet: none of them is found.
    captures: u64,
    /// Captures that have ended and whose texts of events are not indexed yet.
    texts: u64,
    /// Captures whose events brought more text than is indexed of one.
    cut: u64,
}

impl From<bathyscope_store::Unsearched> for Unsearched {
    fn from(bathyscope_store::Unsearched { captures, texts, cut }: bathyscope_store::Unsearched) -> Self {
        Self { captures, texts, cut }
    }
}

/// What was probably meant by a search that found nothing: a name before a colon that is no condition, and one that is.
pub fn search_hint(text: &str) -> Option<String> {
    let (name, value) = SummaryQuery::unknown_name(text)?;
    let meant = bathyscope_catalog::closest(&name, SummaryQuery::names())?;
    let (name, value) = (visible(name.as_bytes()), visible(value.as_bytes()));
    Some(format!(
        "`{name}:` is no condition, so `{name}:{value}` is looked for as words; did you mean `{meant}:{value}`?"
    ))
}

impl CaptureItem {
    /// With when it goes by a rule, and whether whoever asks may pin it.
    pub(crate) fn kept_by(summary: CaptureSummary, rule: &RetentionRule, can_pin: bool) -> Self {
        let tags = summary.tags.iter().cloned().collect();
        let kept = rule.kept_until(summary.since_unix_ns, summary.pinned, (&summary.owner, &tags));
        let kept_until_unix_ns = kept.filter(|_| summary.state != CaptureState::Recording);
        Self { kept_until_unix_ns, can_pin: Some(can_pin), ..Self::from(summary) }
    }

    /// With the series that it is a run of, if it has others.
    pub(crate) fn of_series(self, series: Option<(SeriesId, u64)>) -> Self {
        let series = series.filter(|(_, runs)| *runs > 1).map(|(id, runs)| ItemSeries { id, runs });
        Self { series, ..self }
    }
}

/// How long captures are kept, and what room they take. Sizes are of what is counted: see
/// [`bathyscope_store::RetainedCapture::size_bytes`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Retention {
    /// The most days since a capture ended or was imported; none for any age.
    keep_days: Option<u32>,
    /// The most bytes of all captures together; none for any size.
    keep_bytes: Option<u64>,
    /// Rules of tags and owners, as they were given: `tag:slow=90d`, `by:ci=3d`, `tag:release=forever`.
    keep_for: Vec<String>,
    /// Bytes of all captures.
    captures_bytes: u64,
    /// Bytes of those that are pinned.
    pinned_bytes: u64,
    /// Bytes of the database's files.
    database_bytes: u64,
    /// Bytes of the file system that are free.
    free_bytes: u64,
    /// Bytes of it that captures leave free.
    reserve_bytes: u64,
}

impl Retention {
    /// `sizes` are those of all captures and of the pinned ones.
    pub(crate) fn new(rule: &RetentionRule, (captures_bytes, pinned_bytes): (u64, u64), room: Room) -> Self {
        Self {
            keep_days: rule.max_days,
            keep_bytes: rule.max_bytes,
            keep_for: rule.labels.iter().map(|rule| shown(&rule.to_string())).collect(),
            captures_bytes,
            pinned_bytes,
            database_bytes: room.database_bytes,
            free_bytes: room.free_bytes,
            reserve_bytes: room.reserve_bytes,
        }
    }
}

impl From<CaptureSummary> for CaptureItem {
    fn from(summary: CaptureSummary) -> Self {
        Self {
            id: summary.id,
            title: shown(&summary.title),
            state: summary.state,
            method: summary.method,
            target: shown(&summary.target),
            host: shown(&summary.host),
            started_unix_ns: summary.started_unix_ns,
            duration_ns: summary.duration_ns,
            rows: summary.rows,
            bytes: summary.size_bytes,
            lost: summary.lost,
            lost_at_least: summary.lost_at_least,
            pinned: summary.pinned,
            kept_until_unix_ns: None,
            can_pin: None,
            owner: shown(&summary.owner),
            imported: summary.origin == Origin::Imported,
            simulated: summary.simulated,
            tags: summary.tags,
            series: None,
            found: summary.found.into_iter().map(FoundPlace::from).collect(),
            left_out_bytes: Some(summary.left_out_bytes).filter(|bytes| *bytes > 0),
        }
    }
}

/// A capture without its rows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Capture {
    id: CaptureId,
    title: String,
    state: CaptureState,
    reason: String,
    spec: CaptureSpec,
    host: HostFacts,
    started_unix_ns: i64,
    start_ns: u64,
    end_ns: u64,
    streams: Vec<Stream>,
    /// What stacks of its streams can be weighted by.
    weights: Vec<OfferedWeight>,
    ledger: Ledger,
    /// Events lost, all losses together.
    lost: u64,
    /// Whether more may have been lost than was counted.
    lost_at_least: bool,
    readings: Vec<Option<Reading>>,
    output_bytes: u64,
    bytes: u64,
    pinned: bool,
    imported: bool,
    simulated: bool,
    owner: String,
    /// Why there may be few rows, in words: functions that are hardly ever called.
    hints: Vec<String>,
    /// What became of each source, in the order of the spec; empty where that is not known, or not yet.
    sources: Vec<SourceEnd>,
    /// Streams that are computed from others.
    computed: ComputedStreams,
    /// What made a flight recorder store it; none if it was recorded as such.
    firing: Option<FiringItem>,
}

/// What made a flight recorder store a capture. Times are nanoseconds since the capture's start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FiringItem {
    /// The flight recorder's own capture, which may be gone, or of another console.
    recorder: CaptureId,
    /// What sort of thing fired.
    kind: FiringKind,
    /// What fired, in words.
    trigger: String,
    /// With which value; empty where there is none.
    value: String,
    /// When.
    fired: i64,
    /// The same by the wall clock, nanoseconds since 1970.
    fired_unix_ns: i64,
    /// From when on every row is in the capture; of before there is only what ended later.
    complete_from: i64,
}

/// One stream of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Stream {
    index: usize,
    name: String,
    kind: StreamKind,
    /// What a row says about time: `instant`, `slice`, `state`, `sample`, `counter` or `snapshot`.
    row: &'static str,
    /// The id of the source that it is of; empty where that is not known, or it was computed.
    source: String,
    /// The name of the rule that it was computed by; empty of what was recorded.
    rule: String,
    /// Empty where the stream is not there: it was computed and removed, or is being computed.
    columns: Vec<ColumnHead>,
    rows: u64,
}

/// What a row of a stream says about time, in a word.
fn row_word(schema: &StreamSchema) -> &'static str {
    match schema.meaning().kind {
        RowKind::Instant => "instant",
        RowKind::Slice { .. } => "slice",
        RowKind::State { .. } => "state",
        RowKind::Sample { .. } => "sample",
        RowKind::Counter { .. } => "counter",
        RowKind::Snapshot { .. } => "snapshot",
    }
}

impl Capture {
    /// With what is being computed of it now.
    pub(crate) fn computing(mut self, work: (bool, Option<DerivationProgress>)) -> Self {
        self.computed.working(work);
        self
    }
}

impl From<CaptureRecord> for Capture {
    fn from(record: CaptureRecord) -> Self {
        let stream = |(index, stream): (usize, &bathyscope_store::StreamRecord)| Stream {
            index,
            name: shown(&stream.schema.name),
            kind: stream.schema.kind,
            row: row_word(&stream.schema),
            source: shown(&stream.schema.source),
            rule: stream.schema.derived.as_deref().map_or_else(String::new, |derived| shown(&derived.rule)),
            columns: heads(&stream.schema),
            rows: stream.rows,
        };
        let schemas = (0_u16..).zip(record.streams.iter().map(|stream| &stream.schema));
        let weights = offered_weights(schemas, |stream| record.sample_period_ns(stream));
        let reason = |end: SourceEnd| SourceEnd { reason: shown(&end.reason), ..end };
        Self {
            computed: ComputedStreams::new(&record),
            sources: record.sources.into_iter().map(reason).collect(),
            hints: bathyscope_link::dynamic::hints(&record.spec),
            id: record.id,
            title: shown(&record.title),
            state: record.state,
            reason: shown(&record.reason),
            spec: record.spec.clone(),
            host: host(record.host),
            started_unix_ns: record.started_unix_ns,
            start_ns: record.start_ns,
            end_ns: record.end_ns,
            streams: record.streams.iter().enumerate().map(stream).collect(),
            weights,
            readings: record.streams.iter().map(|stream| stream.reading).collect(),
            lost: record.ledger.lost_total(),
            lost_at_least: record.ledger.is_lower_bound(),
            ledger: record.ledger,
            output_bytes: record.output_bytes,
            bytes: record.size_bytes,
            pinned: record.pinned,
            imported: record.origin == Origin::Imported,
            simulated: record.simulated,
            owner: shown(&record.owner),
            firing: record.firing.map(|firing| FiringItem::new(firing, record.start_ns)),
        }
    }
}

impl FiringItem {
    /// With text of events made visible.
    fn new(firing: Firing, start_ns: u64) -> Self {
        let since = |at_ns: u64| at_ns.cast_signed().wrapping_sub_unsigned(start_ns);
        Self {
            recorder: firing.recorder,
            kind: firing.kind,
            trigger: shown(&firing.trigger),
            value: shown(&firing.value),
            fired: since(firing.fired_ns),
            fired_unix_ns: firing.fired_unix_ns,
            complete_from: since(firing.complete_from_ns),
        }
    }
}

/// Facts of a host that may have come in a file.
fn host(facts: HostFacts) -> HostFacts {
    HostFacts {
        hostname: shown(&facts.hostname),
        kernel_release: shown(&facts.kernel_release),
        machine: shown(&facts.machine),
        boot_id: shown(&facts.boot_id),
        kernel_build_id: shown(&facts.kernel_build_id),
        target_name: shown(&facts.target_name),
        ..facts
    }
}
