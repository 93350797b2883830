//! What the store takes and gives.

use std::{collections::BTreeSet, fmt, str::FromStr};

use bathyscope_capture::{
    CaptureId, CaptureSpec, ColumnStats, Firing, FrameId, HostFacts, Ledger, MappingId, Reading, ScriptProbe, StackId,
    StreamSchema, StringId,
};
use serde::{Deserialize, Serialize};

/// How the store is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connections for reading, each with a thread and a page cache of 8 MiB.
    pub readers: u32,
    /// How much of the file system is left free by appends.
    pub reserve: Reserve,
    /// Bytes of a file kept beside the database only to be given up when the disk is full, so that captures can still
    /// be deleted; at most a quarter of the file system; 0 for none.
    pub ballast_bytes: u64,
    /// Changes that may wait for the writer; more than that and callers wait.
    pub queue: usize,
    /// The largest file that is imported.
    pub max_import_bytes: u64,
    /// The clock of captures as it is now, for those that the last process did not end.
    pub now: Option<BootTime>,
}

/// A moment of the monotonic clock, which is that of one boot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BootTime {
    /// Which boot, as [`HostFacts::boot_id`] names it.
    pub boot_id: String,
    /// Monotonic nanoseconds.
    pub monotonic_ns: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            readers: 4,
            reserve: Reserve::Share,
            ballast_bytes: 32 << 20,
            queue: 64,
            max_import_bytes: 4 << 30,
            now: None,
        }
    }
}

/// Free space that appends leave to others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reserve {
    /// 5 % of the file system, but at most 1 GiB.
    Share,
    /// So many bytes.
    Bytes(u64),
}

/// What a capture is doing, or how it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureState {
    /// It is being recorded now.
    Recording,
    /// It ended as it was meant to.
    Finished,
    /// The console ended before the capture did; it ends at the last append.
    Interrupted,
    /// It could not be started, or something failed while it was recorded.
    Failed,
    /// The agent ended before the capture did.
    AgentLost,
}

impl CaptureState {
    /// All.
    pub const ALL: [Self; 5] = [Self::Recording, Self::Finished, Self::Interrupted, Self::Failed, Self::AgentLost];

    /// The name that is kept: `recording`, `finished`, `interrupted`, `failed` or `agent_lost`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Recording => "recording",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Failed => "failed",
            Self::AgentLost => "agent_lost",
        }
    }
}

impl fmt::Display for CaptureState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text does not name a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not the name of a capture's state")]
pub struct ParseStateError;

impl FromStr for CaptureState {
    type Err = ParseStateError;

    fn from_str(text: &str) -> Result<Self, ParseStateError> {
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or(ParseStateError)
    }
}

/// Where a capture comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// It was recorded by this console.
    Recorded,
    /// It was read from a file.
    Imported,
}

/// A capture that begins.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCapture {
    /// Its id, from 64 random bits.
    pub id: CaptureId,
    /// Its name in lists, at most 256 bytes.
    pub title: String,
    /// Who started it, at most 64 bytes.
    pub owner: String,
    /// What was asked for.
    pub spec: CaptureSpec,
    /// Where.
    pub host: HostFacts,
    /// The streams, in order of their index.
    pub streams: Vec<StreamSchema>,
    /// Wall time of the start, nanoseconds since 1970: a label.
    pub started_unix_ns: i64,
    /// The start, monotonic nanoseconds.
    pub start_ns: u64,
    /// Whether the events were made up by the simulated agent.
    pub simulated: bool,
    /// What made a flight recorder store it; none if it is recorded as such.
    pub firing: Option<Firing>,
}

/// How a capture ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct End {
    /// Any but `Recording`.
    pub state: CaptureState,
    /// Why, in words for people; at most 1 KiB is kept.
    pub reason: String,
    /// The end, monotonic nanoseconds.
    pub end_ns: u64,
    /// The final ledger; it replaces the one before.
    pub ledger: Ledger,
    /// The last reading of each stream by index; empty where none were taken.
    pub readings: Vec<Option<Reading>>,
    /// What became of the script that made it; none if none did.
    pub script: Option<ScriptEnd>,
    /// What became of each source, in the order of the spec; empty where that is not known.
    #[serde(default)]
    pub sources: Vec<SourceEnd>,
}

/// What became of a source of a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceEnd {
    /// What it was when the capture ended.
    pub state: SourceState,
    /// Why, in words; empty where it just ended. At most 1 KiB is kept.
    pub reason: String,
}

/// What a source of a capture was when the capture ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    /// It recorded until then.
    Ended,
    /// So, and not everything, to stay within its budget.
    Thinned,
    /// It was taken off before.
    Detached,
    /// It could not be started.
    Failed,
}

impl SourceState {
    /// The name that is kept.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Ended => "ended",
            Self::Thinned => "thinned",
            Self::Detached => "detached",
            Self::Failed => "failed",
        }
    }

    /// The state of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        [Self::Ended, Self::Thinned, Self::Detached, Self::Failed].into_iter().find(|state| state.as_str() == name)
    }
}

/// How far streams are that are computed from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DerivationState {
    /// They are filled while the capture is recorded, and shown.
    Following,
    /// They are being computed, and not shown yet.
    Computing,
    /// They are complete.
    Complete,
    /// They could not be computed, and have no rows.
    Failed,
    /// They were removed, and have no rows.
    Removed,
}

impl DerivationState {
    /// The name that is kept.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Following => "following",
            Self::Computing => "computing",
            Self::Complete => "complete",
            Self::Failed => "failed",
            Self::Removed => "removed",
        }
    }

    /// The state of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let all = [Self::Following, Self::Computing, Self::Complete, Self::Failed, Self::Removed];
        all.into_iter().find(|state| state.as_str() == name)
    }

    /// Whether its streams are shown.
    pub const fn is_shown(self) -> bool {
        matches!(self, Self::Following | Self::Complete)
    }

    /// Whether its streams are being filled.
    pub const fn is_filled(self) -> bool {
        matches!(self, Self::Following | Self::Computing)
    }
}

/// A rule that was applied to a capture, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DerivationRecord {
    /// Its number in the capture.
    pub number: u16,
    /// What is computed, in the words of whoever computes it.
    pub rule: String,
    /// How far it is.
    pub state: DerivationState,
    /// Why it failed; else empty.
    pub reason: String,
    /// The first of its streams, by index.
    pub first_stream: u16,
    /// How many streams it has.
    pub stream_count: u16,
    /// What could not be told, in the words of whoever computes it; empty where nothing is known.
    pub counts: String,
}

impl DerivationRecord {
    /// Whether a stream is one of its.
    pub fn has(&self, stream: u16) -> bool {
        stream.checked_sub(self.first_stream).is_some_and(|place| place < self.stream_count)
    }
}

/// What became of a script.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScriptEnd {
    /// Its programs with their final counters.
    pub probes: Vec<ScriptProbe>,
    /// What it said with `exit()`.
    pub exit_code: Option<i64>,
}

/// A capture without its rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CaptureRecord {
    /// Its id.
    pub id: CaptureId,
    /// Its name in lists.
    pub title: String,
    /// Who started or imported it.
    pub owner: String,
    /// What it is doing or how it ended.
    pub state: CaptureState,
    /// Why it ended; empty while it is recorded.
    pub reason: String,
    /// Where it comes from.
    pub origin: Origin,
    /// What was asked for.
    pub spec: CaptureSpec,
    /// Where it was made.
    pub host: HostFacts,
    /// Its streams, in order of their index.
    pub streams: Vec<StreamRecord>,
    /// Wall time of the start, nanoseconds since 1970: a label.
    pub started_unix_ns: i64,
    /// The start, monotonic nanoseconds.
    pub start_ns: u64,
    /// The end, or the latest moment covered so far, monotonic nanoseconds.
    pub end_ns: u64,
    /// The ledger as of the last append.
    pub ledger: Ledger,
    /// Bytes of the chunks.
    pub chunk_bytes: u64,
    /// Bytes of the traced command's output.
    pub output_bytes: u64,
    /// Bytes of all that is counted of it: see [`RetainedCapture::size_bytes`].
    pub size_bytes: u64,
    /// Whether it is kept however old it is.
    pub pinned: bool,
    /// Wall time from which its age is counted: see [`RetainedCapture::since_unix_ns`].
    pub since_unix_ns: i64,
    /// Whether the events were made up by the simulated agent.
    pub simulated: bool,
    /// What became of each source, in the order of the spec; empty where that is not known.
    #[serde(default)]
    pub sources: Vec<SourceEnd>,
    /// The rules that were applied to it, in order of their numbers.
    #[serde(default)]
    pub derivations: Vec<DerivationRecord>,
    /// What made a flight recorder store it; none if it was recorded as such.
    #[serde(default)]
    pub firing: Option<Firing>,
}

impl CaptureRecord {
    /// The record of a capture whose end the database does not have yet.
    pub(crate) fn ended(mut self, end: End) -> Self {
        (self.state, self.reason, self.ledger, self.sources) = (end.state, end.reason, end.ledger, end.sources);
        self.end_ns = self.end_ns.max(end.end_ns);
        for (stream, reading) in self.streams.iter_mut().zip(end.readings) {
            stream.reading = reading.or(stream.reading);
        }
        self
    }

    /// The nanoseconds of a CPU that each sample of a stream stands for, if that is known.
    pub fn sample_period_ns(&self, stream: u16) -> Option<u64> {
        let schema = &self.streams.get(usize::from(stream))?.schema;
        let mut sources = self.spec.sources.iter();
        // The stream of an only source does not name it.
        let is_only = self.spec.sources.len() == 1;
        let source = sources.find(|source| source.id == schema.source || (schema.source.is_empty() && is_only))?;
        source.method.sample_period_ns(&schema.name)
    }

    /// The capture as it began, under an id and an owner.
    pub(crate) fn to_new(&self, id: CaptureId, owner: &str) -> NewCapture {
        NewCapture {
            id,
            title: self.title.clone(),
            owner: owner.to_owned(),
            spec: self.spec.clone(),
            host: self.host.clone(),
            streams: self.streams.iter().map(|stream| stream.schema.clone()).collect(),
            started_unix_ns: self.started_unix_ns,
            start_ns: self.start_ns,
            simulated: self.simulated,
            firing: self.firing.clone(),
        }
    }

    /// The capture's end.
    pub(crate) fn to_end(&self) -> End {
        End {
            state: self.state,
            reason: self.reason.clone(),
            end_ns: self.end_ns,
            ledger: self.ledger.clone(),
            readings: self.streams.iter().map(|stream| stream.reading).collect(),
            script: None,
            sources: self.sources.clone(),
        }
    }

    /// What was recorded of it: without streams that were computed, which all come after.
    pub(crate) fn recorded(mut self) -> Self {
        let recorded = self.streams.iter().take_while(|stream| !stream.is_derived()).count();
        self.streams.truncate(recorded);
        self.ledger.streams.truncate(recorded);
        self.derivations.clear();
        self
    }
}

/// One stream of a capture.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamRecord {
    /// Its columns.
    pub schema: StreamSchema,
    /// Rows in its chunks.
    pub rows: u64,
    /// Its chunks; their numbers run from 0.
    pub chunks: u32,
    /// Bytes of its chunks.
    pub bytes: u64,
    /// The last reading of what it cost, if any.
    pub reading: Option<Reading>,
}

impl StreamRecord {
    /// Whether it was computed from others.
    pub(crate) fn is_derived(&self) -> bool {
        self.schema.derived.is_some() || self.schema.is_absent()
    }

    /// What stands in its place while it is not complete, or after it was removed.
    pub(crate) fn absent() -> Self {
        Self { schema: StreamSchema::absent(), rows: 0, chunks: 0, bytes: 0, reading: None }
    }
}

/// A page of the list of captures, newest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryPage {
    /// Captures that match, on all pages together.
    pub total: u64,
    /// Whether there are more than `total`: of what has words, and of what somebody sees from whom some are kept, at most 5,000 are
    /// counted.
    pub total_exceeded: bool,
    /// Those of this page.
    pub items: Vec<CaptureSummary>,
    /// What was not looked into, of all captures that are shown; none if no words were asked for.
    pub unsearched: Option<Unsearched>,
}

/// What a search for words did not look into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unsearched {
    /// Captures whose words are not indexed at all yet: none of them is found.
    pub captures: u64,
    /// Captures that have ended and whose texts of events are not indexed yet.
    pub texts: u64,
    /// Captures whose events brought more text than is indexed of one.
    pub cut: u64,
}

/// What a search looks into, by itself with its name and a colon before the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SearchField {
    /// The title.
    Title,
    /// Tags.
    Tags,
    /// What people say it is about.
    Description,
    /// Notes on it.
    Notes,
    /// Who started or imported it.
    Owner,
    /// The host's name.
    Host,
    /// Whose events are recorded: the words of a command, too.
    Command,
    /// Texts of the spec: names of events, predicates, options.
    Spec,
    /// The script.
    Script,
    /// Names of processes and threads.
    Processes,
    /// Texts that events brought: paths, arguments, addresses.
    Texts,
    /// What the command printed.
    Output,
}

impl SearchField {
    /// All, in the order of the columns of the table, each with its name in answers and the one before a word.
    pub const ALL: [(Self, &'static str, &'static str); 12] = [
        (Self::Title, "title", "title"),
        (Self::Tags, "tags", "tagged"),
        (Self::Description, "description", "description"),
        (Self::Notes, "notes", "note"),
        (Self::Owner, "owner", "user"),
        (Self::Host, "host", "hostname"),
        (Self::Command, "command", "command"),
        (Self::Spec, "spec", "spec"),
        (Self::Script, "script", "script"),
        (Self::Processes, "processes", "process"),
        (Self::Texts, "texts", "text"),
        (Self::Output, "output", "output"),
    ];

    /// Its name in answers, which is that of its column.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(field, ..)| *field == self).map_or("", |(_, name, _)| name)
    }
}

/// Where a capture has the words of a search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundText {
    /// In what.
    pub field: SearchField,
    /// A part of it around the words; `…` at an end where it goes on.
    pub text: String,
    /// Ranges of bytes of `text` that match, in order.
    pub marks: Vec<(usize, usize)>,
}

/// A line of the list of captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaptureSummary {
    /// Its id.
    pub id: CaptureId,
    /// Its name.
    pub title: String,
    /// What it is doing or how it ended.
    pub state: CaptureState,
    /// `events` or `profile`.
    pub method: String,
    /// Whose events: `system`, `pid 12`, or the command's words.
    pub target: String,
    /// The host's name.
    pub host: String,
    /// Who started or imported it.
    pub owner: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Wall time of the start, nanoseconds since 1970.
    pub started_unix_ns: i64,
    /// From the start to the end or the latest moment covered.
    pub duration_ns: u64,
    /// Rows over all streams.
    pub rows: u64,
    /// Bytes of all that is counted of it: see [`RetainedCapture::size_bytes`].
    pub size_bytes: u64,
    /// Events lost over all streams.
    pub lost: u64,
    /// Whether more may have been lost than was counted: see [`Ledger::is_lower_bound`].
    pub lost_at_least: bool,
    /// Whether it is kept however old it is.
    pub pinned: bool,
    /// Wall time from which its age is counted: see [`RetainedCapture::since_unix_ns`].
    pub since_unix_ns: i64,
    /// Whether the events were made up by the simulated agent.
    pub simulated: bool,
    /// Its tags, in order.
    pub tags: Vec<String>,
    /// Where it has the words of the search, in the order of [`SearchField::ALL`].
    pub found: Vec<FoundText>,
    /// Bytes of texts that its events brought and that searches do not look into.
    pub left_out_bytes: u64,
    /// Whether whoever sees the list may change it, if an operator.
    pub can_change: bool,
}

/// What a decision on which captures are kept needs to know of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetainedCapture {
    /// Its id.
    pub id: CaptureId,
    /// What it is called.
    pub title: String,
    /// Who started or imported it.
    pub owner: String,
    /// Its tags.
    pub tags: BTreeSet<String>,
    /// Whether rows are still added to it.
    pub recording: bool,
    /// Whether somebody pinned it.
    pub pinned: bool,
    /// Wall time from which its age is counted, nanoseconds since 1970: when it ended here, or was imported.
    pub since_unix_ns: i64,
    /// Bytes of its chunks, its time index, its texts, mappings, frames and stacks, its process history and the command's
    /// output, and notes. Not counted are names of functions, kept instructions, and what SQLite needs around all of it.
    pub size_bytes: u64,
}

/// What something in the library is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LibraryKind {
    /// A place that can be probed, with what is read there.
    Probe,
    /// A script in the probe language.
    Script,
    /// Sources and limits of a capture.
    Recipe,
    /// A condition on rows.
    Filter,
    /// A query in SQL.
    Query,
    /// What a view of a capture shows: its tab, range, filter and more.
    Selection,
    /// Words and conditions that captures are searched by.
    Search,
}

impl LibraryKind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Probe, Self::Script, Self::Recipe, Self::Filter, Self::Query, Self::Selection, Self::Search];

    /// Its name, as addresses and files have it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Probe => "probe",
            Self::Script => "script",
            Self::Recipe => "recipe",
            Self::Filter => "filter",
            Self::Query => "query",
            Self::Selection => "selection",
            Self::Search => "search",
        }
    }
}

/// A word that names no kind of the library.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no kind of the library; write probe, script, recipe, filter, query, selection or search")]
pub struct ParseLibraryKindError(String);

impl FromStr for LibraryKind {
    type Err = ParseLibraryKindError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|kind| kind.as_str() == text);
        known.ok_or_else(|| ParseLibraryKindError(text.chars().take(40).collect()))
    }
}

/// How much room there is for captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes of the database and of its log.
    pub database_bytes: u64,
    /// Bytes of the file system that are free for this user.
    pub free_bytes: u64,
    /// Bytes of it that captures leave free.
    pub reserve_bytes: u64,
}

/// The largest id of each dictionary of a capture; 0 where there is no entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DictionaryEnds {
    /// Of strings.
    pub strings: StringId,
    /// Of mappings.
    pub mappings: MappingId,
    /// Of frames.
    pub frames: FrameId,
    /// Of stacks.
    pub stacks: StackId,
}

/// A chunk without its bytes: enough to decide whether it must be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkInfo {
    /// Its number in the stream, from 0.
    pub seq: u32,
    /// Its rows.
    pub rows: u32,
    /// Time of the first row, monotonic nanoseconds.
    pub first_ns: u64,
    /// Time of the last row, monotonic nanoseconds.
    pub last_ns: u64,
    /// Size of the encoded chunk.
    pub bytes: u32,
    /// Extremes of each column.
    pub stats: Vec<ColumnStats>,
}

/// Names an investigation or one of its blocks for ever: 64 random bits, written as 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct InvestigationId(u64);

/// The text was not 16 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an investigation and a block of it are named by 16 lower-case hexadecimal digits")]
pub struct ParseInvestigationIdError;

impl InvestigationId {
    /// An id from random bits that the caller drew.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The bits.
    pub const fn bits(self) -> u64 {
        self.0
    }
}

impl fmt::Display for InvestigationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for InvestigationId {
    type Err = ParseInvestigationIdError;

    fn from_str(text: &str) -> Result<Self, ParseInvestigationIdError> {
        let is_name = text.len() == 16 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let bits = is_name.then(|| u64::from_str_radix(text, 16).ok()).flatten();
        bits.map(Self).ok_or(ParseInvestigationIdError)
    }
}

impl From<InvestigationId> for String {
    fn from(id: InvestigationId) -> Self {
        id.to_string()
    }
}

impl TryFrom<String> for InvestigationId {
    type Error = ParseInvestigationIdError;

    fn try_from(text: String) -> Result<Self, ParseInvestigationIdError> {
        text.parse()
    }
}
