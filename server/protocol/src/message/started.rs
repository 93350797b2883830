//! What was made for a capture, and how its records look.

use bathyscope_capture::ColumnLayout;
use serde::{Deserialize, Serialize};

use super::AgentError;
use crate::{ScriptEnabled, ScriptStarted};

/// A capture whose probes exist.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Started {
    /// One for each source, in the order of the request.
    pub sources: Vec<StartedSource>,
    /// Processes that are the target when it begins: the command's, or the given one.
    pub target_pid: Option<u32>,
    /// Whether two more descriptors follow the rings: the read ends of the command's stdout and stderr.
    pub has_output: bool,
    /// As whom the command runs, if the capture has one: the name of the user, or the number where it has no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command_user: Option<String>,
}

impl Started {
    /// The rings of all sources: one for each descriptor that [`super::Request::TakeRings`] gives.
    pub fn rings(&self) -> impl Iterator<Item = &RingInfo> {
        self.sources.iter().flat_map(|source| &source.rings)
    }

    /// What the source is whose number this is.
    pub fn source(&self, index: usize) -> Option<&StartedSource> {
        self.sources.get(index)
    }
}

/// What was made of a source that records nothing yet.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StartedSource {
    /// Why there is nothing of it, if the capture was to begin without it in that case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<AgentError>,
    /// One for each stream, in the order of the request; a profile has one, and another one for branches. A script has none:
    /// its plan tells what its records are.
    pub streams: Vec<StreamLayout>,
    /// Its rings. The streams in them are numbered within the source.
    pub rings: Vec<RingInfo>,
    /// What was cut of the rings, because all captures together may only take so much memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rings_cut: Option<RingsCut>,
    /// Nanoseconds spent on reading formats and compiling.
    pub compile_ns: u64,
    /// Nanoseconds spent on loading.
    pub load_ns: u64,
    /// Nanoseconds spent on attaching.
    pub attach_ns: u64,
    /// Of a trace: what its pages mean.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<Box<TraceFacts>>,
    /// Of a script: what it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<Box<ScriptStarted>>,
}

/// A capture that records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enabled {
    /// Moment after the last probe was enabled, monotonic nanoseconds.
    pub time_ns: u64,
    /// Of the script, if there is one: what is attached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptEnabled>,
    /// Sources that do not record, though they were made, where the capture was to begin without them in that case.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<SourceFailure>,
}

/// Why a source does not record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceFailure {
    /// Its number in the order of the request.
    pub source: u32,
    /// Why.
    pub error: AgentError,
}

/// Memory of a capture's rings that was not given as it was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingsCut {
    /// Bytes of all of its rings that were asked for.
    pub wanted_bytes: u64,
    /// Bytes that they have.
    pub given_bytes: u64,
}

/// What the pages of a trace mean.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFacts {
    /// The clock of the stamps, in nanoseconds: `mono`, `mono_raw` or `boot`.
    pub clock: String,
    /// That clock minus the monotonic clock, nanoseconds, when the capture was made. `mono_raw` drifts from it by up to
    /// 500 ns in a millisecond, `boot` leaps when the machine sleeps.
    pub clock_ahead_ns: i64,
    /// Where the capture's files are in tracefs: `instances/NAME`, or empty for the global instance.
    pub instance: String,
    /// The events that can be in the pages: those asked for, in their order, the dynamic ones in theirs, then the
    /// tracer's own.
    pub events: Vec<TraceFormat>,
}

/// An event that can be in a trace's pages. Its format is that of [`super::KernelFile::EventFormat`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceFormat {
    /// The event's number, `common_type` of its records.
    pub id: u16,
    /// Its group: the subsystem, a group of the capture's own for dynamic events, or `ftrace` for the tracer's own.
    pub group: String,
    /// Its name in the group.
    pub name: String,
    /// What the person called it: `sched:sched_switch`, or a dynamic event's name as it was written, `GROUP:NAME` or
    /// `NAME`; where none was written, its name in the group.
    pub label: String,
    /// Index in the trace's dynamic events, if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dynamic: Option<u16>,
}

/// How the records of one stream look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum StreamLayout {
    /// Records of a BPF ring: fixed size, columns at fixed places, the common ones first.
    Records {
        /// Bytes of each record.
        record_bytes: u32,
        /// The columns, in the stream's order.
        columns: Vec<ColumnLayout>,
    },
    /// `PERF_RECORD_SAMPLE`s of perf rings.
    PerfSamples,
    /// The branches in those samples: they come in the rings of the samples, whose stream is the one before.
    PerfBranches,
    /// Pages of ftrace's buffers, with events of several kinds; see [`StartedSource::trace`].
    TracePages,
    /// System calls, in records of `bathyscope_bpf::syscalls`.
    Syscalls {
        /// Whether numbers tell calls of 32-bit programs from others; else they are taken for calls of 64-bit programs.
        tells_abi: bool,
    },
    /// Switches of CPUs between threads, in records of `bathyscope_bpf::states`.
    Switches,
    /// Wake-ups of threads, in such records too: they come in the ring of the switches, whose stream is the one before.
    Wakeups,
}

/// What records a ring of a stream has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingRecords {
    /// Those that programs reserve in a BPF ring.
    Bpf,
    /// Samples of a perf event.
    PerfSamples,
}

impl StreamLayout {
    /// What records a ring of such a stream has. None where a stream has no ring of its own: its rows come in that of the
    /// stream before, or in pages of ftrace.
    pub const fn ring_records(&self) -> Option<RingRecords> {
        match self {
            Self::Records { .. } | Self::Syscalls { .. } | Self::Switches => Some(RingRecords::Bpf),
            Self::PerfSamples => Some(RingRecords::PerfSamples),
            Self::PerfBranches | Self::TracePages | Self::Wakeups => None,
        }
    }
}

/// A ring buffer that the console maps and reads, or a file of ftrace that it reads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RingInfo {
    /// Whose layout it has.
    pub kind: RingKind,
    /// What is in it.
    pub content: RingContent,
    /// Bytes of its data area, a power of two; for ftrace, bytes of that CPU's buffer.
    pub data_bytes: u32,
    /// The CPU that writes it; none for a ring that all CPUs share.
    pub cpu: Option<u32>,
}

/// Whose layout a ring has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RingKind {
    /// A BPF ring buffer.
    Bpf,
    /// A perf event's buffer.
    Perf {
        /// `sample_type` of its `perf_event_attr`.
        sample_type: u64,
        /// `read_format` of its `perf_event_attr`.
        read_format: u64,
        /// Whether records other than samples end in the sample's ids (`sample_id_all`).
        sample_id_all: bool,
        /// `branch_sample_type` of its `perf_event_attr`; zero without branches.
        branch_sample_type: u64,
    },
    /// `trace_pipe_raw` of ftrace, not mapped but read, a page at a time, without waiting.
    TracePipe {
        /// Bytes of a page: what one read takes.
        page_bytes: u32,
    },
}

/// What is in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum RingContent {
    /// Rows of a stream, and for a profile also the side-band records.
    Stream {
        /// Its index.
        stream: u16,
    },
    /// Only side-band records: mmap2, comm, fork, exit.
    Sideband,
    /// Records of a script, as its plan describes them.
    Script,
    /// A CPU's pages of a trace.
    TracePages,
}
