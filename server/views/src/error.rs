//! Why a view could not be made.

use bathyscope_capture::{ChunkError, PredicateError};

use crate::answers::ParseTrackIdError;

impl ViewError {
    /// Whether a filter does not fit the columns of one stream: of several it may fit others.
    pub fn is_misfit(&self) -> bool {
        matches!(self, Self::NoSuchColumn { .. } | Self::Mismatch { .. } | Self::Filter(PredicateError::Unit { .. }))
    }
}

/// Why a view could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ViewError {
    /// The caller set the cancel flag.
    #[error("the view was cancelled because nobody waits for it any more")]
    Cancelled,
    /// There is no such stream.
    #[error("there is no stream {stream}; this capture has {count}, counted from 0")]
    NoSuchStream {
        /// What was asked for.
        stream: u16,
        /// How many streams there are.
        count: usize,
    },
    /// What is no number of a stream.
    #[error("`{0}` is no number of a stream; numbers of streams are written as 0,2")]
    StreamNumber(String),
    /// What is no row of a stream.
    #[error("`{0}` is no row of a stream; rows are written as 3.17, the stream and the row's number there")]
    RowNumber(String),
    /// No stream has the named column.
    #[error("there is no column `{name}`; there are {available}")]
    NoSuchColumn {
        /// What was asked for.
        name: String,
        /// The columns that there are, in words.
        available: String,
    },
    /// A column cannot be compared as the filter wants.
    #[error("`{field}` is {is}; it cannot be {wanted}")]
    Mismatch {
        /// The column.
        field: String,
        /// What it holds, in words.
        is: &'static str,
        /// What the filter does with it, in words.
        wanted: &'static str,
    },
    /// The filter is not a predicate.
    #[error("the filter cannot be used")]
    Filter(#[from] PredicateError),
    /// Calls are of threads alone.
    #[error("calls can be drawn by process, by thread, by name of thread, or together; not by CPU or source")]
    CallGroups,
    /// A thread that waits is on no CPU.
    #[error("time off CPUs is drawn by thread, not by CPU: choose threads as lanes")]
    TimesByCpu,
    /// Control groups are wanted, and none were recorded.
    #[error(
        "stacks cannot be put below containers: no control group was recorded with them; record one container by itself, or run a \
         script that prints `cgroup` or `cgroup_path(cgroup)` beside its stacks"
    )]
    NoContainers,
    /// A weight that the capture does not have.
    #[error("stacks of this capture have no weight `{weight}`; there are: {known}")]
    NoSuchWeight {
        /// What was asked for.
        weight: String,
        /// What there is.
        known: String,
    },
    /// A weight that another capture does not have.
    #[error("{weight} is not in the capture to compare with; choose a weight that both have, such as samples")]
    ComparedWeight {
        /// The weight, in words.
        weight: String,
    },
    /// The sum of a weight is too large.
    #[error(
        "the sum of {0} does not fit 64 bits: its values name something rather than count it; choose another weight"
    )]
    WeightTooLarge(String),
    /// Two captures whose samples count other things.
    #[error("samples of {shown} cannot be compared with samples of {other}; choose the same unit for both")]
    ComparedUnits {
        /// What is drawn.
        shown: &'static str,
        /// What it should be compared with.
        other: &'static str,
    },
    /// What does not name a capture.
    #[error("`{0}` is no id of a capture; ids are 16 hexadecimal digits, and commas separate them")]
    ComparedCapture(String),
    /// By what nothing is compared.
    #[error("`{0}` is nothing to compare by; compare by total, time or none")]
    Normalised(String),
    /// The median of several captures has no widths of its own.
    #[error("the median of several captures cannot be drawn; compare with one of them to turn the comparison round")]
    TurnedMedian,
    /// What is wrong is so of the other side of a comparison.
    #[error("the capture to compare with does not fit")]
    OfOther(#[source] Box<ViewError>),
    /// The other capture has no such rows.
    #[error(
        "the capture to compare with has no stream `{0}`, so there is nothing to compare its rows with; choose a stream that both \
         have, or another capture"
    )]
    AgainstStream(String),
    /// A column is something else there.
    #[error("`{0}` is of another type in the capture to compare with; choose a column that is the same in both")]
    AgainstColumn(String),
    /// Stacks of two captures as lines.
    #[error("`{0}` has stacks, which are compared as flame graphs; choose a column of texts or numbers")]
    AgainstStack(String),
    /// More than one capture where one side is compared with one.
    #[error(
        "a table is compared with one capture, and {0} are given; choose one of them, or look at the flame graph, which takes the \
         median of several"
    )]
    AgainstSeveral(usize),
    /// A map that is something else there.
    #[error("the map {name} cannot be compared: {why}")]
    AgainstMap {
        /// The map.
        name: String,
        /// Why, in words.
        why: String,
    },
    /// Offsets of two captures.
    #[error("offsets in a period are not compared: where a period begins is by chance; choose the heat map of values")]
    AgainstOffsets,
    /// In which order nothing is.
    #[error(
        "`{0}` is no order of lines; write the number of a measure, a full stop, and here, there, difference or ratio, with `-` before \
         it for the greatest first: -0.difference"
    )]
    AgainstOrder(String),
    /// Samples were taken more often in one capture.
    #[error(
        "here samples are of {here}, there of {other}: their numbers cannot be compared. Compare shares of all samples \
         (by total)"
    )]
    ComparedRates {
        /// What took samples here.
        here: String,
        /// The same of the other capture.
        other: String,
    },
    /// What should be a transform of stacks.
    #[error("`{transform}` is no transform of stacks: {why}")]
    Transform {
        /// What was given.
        transform: String,
        /// What is wrong with it, in words.
        why: &'static str,
    },
    /// What should be a regular expression.
    #[error("`{pattern}` is no regular expression: {why}")]
    Pattern {
        /// What was given.
        pattern: String,
        /// What is wrong with it.
        why: String,
    },
    /// Nothing was given to look for.
    #[error("there is nothing to look for; give `find` a text, or a condition such as result == -2")]
    NothingToFind,
    /// What is no limit of values.
    #[error("`{0}` is no whole number of 64 bits; `low` and `high` are written as 4096")]
    ValueLimit(String),
    /// A number is outside its limits.
    #[error("{what} is {value}; it must be from {least} to {most}")]
    OutOfRange {
        /// Which parameter, in words.
        what: &'static str,
        /// What was given.
        value: u64,
        /// The smallest that is accepted.
        least: u64,
        /// The largest that is accepted.
        most: u64,
    },
    /// What is told of no group.
    #[error(
        "`{0}` is nothing to tell of a group; there are count, sum:COLUMN, mean:COLUMN, min:COLUMN, max:COLUMN, p99:COLUMN \
         with any number to 100, distinct:COLUMN, first:COLUMN and last:COLUMN"
    )]
    Aggregate(String),
    /// A table is sorted by the intervals of too many rows.
    #[error(
        "more than {limit} rows cannot be sorted by the intervals between them; narrow the time range or the filter, or sort by \
         time"
    )]
    TooManyPairs {
        /// The limit.
        limit: u64,
    },
    /// A sorted page is too far from the top.
    #[error(
        "row {wanted} of a sorted table is beyond the limit of {limit}; narrow the time range or the filter, or turn \
         the order round"
    )]
    TooFar {
        /// The last row that was wanted.
        wanted: u64,
        /// The limit.
        limit: u64,
    },
    /// What does not name a track.
    #[error(transparent)]
    TrackId(#[from] ParseTrackIdError),
    /// There is no such track.
    #[error("there is no track {stream}.{track}; `tracks` of this capture lists those that there are")]
    NoTrack {
        /// The stream.
        stream: u16,
        /// The track.
        track: u32,
    },
    /// There are no states of such a thread.
    #[error("there are no states of thread {tid} in this capture; its tracks list the threads that have some")]
    NoThread {
        /// The thread.
        tid: u64,
    },
    /// The rows of a stream are not what CPUs or devices did.
    #[error(
        "rows of this stream do not say what a CPU or a device did; choose the occupation of CPUs or block requests, which are \
         computed from switches of threads and from block events"
    )]
    NotUtilised,
    /// The capture has no stream of samples.
    #[error("this capture has no sampled stacks; a flame graph needs a profile")]
    NoSamples,
    /// Samples cannot be told apart by a key.
    #[error("samples cannot be sorted by {key}: {why}; {remedy}")]
    NoReportKey {
        /// The key.
        key: &'static str,
        /// Why.
        why: &'static str,
        /// What to do about it.
        remedy: &'static str,
    },
    /// The capture has no system calls.
    #[error(
        "this capture has no system calls; record them with the source System calls, or `bathyscope strace --save NAME`"
    )]
    NoSystemCalls,
    /// By what system calls are not told apart.
    #[error("system calls are not told apart by `{0}`; write call, process, thread, process_call or thread_call")]
    SyscallGroup(String),
    /// The capture has no stream of calls.
    #[error("this capture has no calls of functions; record it with ftrace's function_graph tracer")]
    NoCalls,
    /// A chunk could not be decoded.
    #[error("chunk {chunk} of stream {stream} cannot be read")]
    Chunk {
        /// The stream.
        stream: u16,
        /// The chunk, from 0.
        chunk: usize,
        /// Why.
        source: ChunkError,
    },
    /// The caller could not load a chunk.
    #[error("chunk {chunk} of stream {stream} cannot be loaded")]
    Load {
        /// The stream.
        stream: u16,
        /// The chunk, from 0.
        chunk: usize,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// Texts, stacks or names that rows refer to could not be loaded.
    #[error("{what} from number {first} on cannot be loaded")]
    Dictionary {
        /// What, in words.
        what: &'static str,
        /// The first id of those that were read together.
        first: u32,
        /// Why.
        source: std::sync::Arc<dyn std::error::Error + Send + Sync>,
    },
    /// What views hold of texts, stacks and names has no room in memory.
    #[error(
        "there is no memory left for {what}: all views together hold up to {} MiB of what rows refer to; narrow the time range \
         or the filter, or try again when others are done", .limit_bytes >> 20
    )]
    TooMuch {
        /// What, in words.
        what: &'static str,
        /// The limit.
        limit_bytes: usize,
    },
    /// A part of a capture was asked for that others are to see, or what is left when something is removed, and the capture still changes.
    #[error(
        "the capture is still being recorded: a part of it, or all of it but what is removed, can be shown when it has ended"
    )]
    NarrowedWhileRunning,
    /// A chunk has not the rows or columns that its metadata and schema promise.
    #[error("chunk {chunk} of stream {stream} does not fit its schema: {what}")]
    Shape {
        /// The stream.
        stream: u16,
        /// The chunk, from 0.
        chunk: usize,
        /// What does not fit.
        what: &'static str,
    },
    /// The output could not be written.
    #[error("the output cannot be written")]
    Write(#[source] std::io::Error),
}

impl ViewError {
    /// Refuses a number outside its limits; `what` it is, in words.
    ///
    /// # Errors
    /// [`ViewError::OutOfRange`].
    pub fn within(what: &'static str, value: u64, least: u64, most: u64) -> Result<(), Self> {
        if (least..=most).contains(&value) { Ok(()) } else { Err(Self::OutOfRange { what, value, least, most }) }
    }

    /// The same, said of the other side of a comparison where it is about what that has.
    pub fn of_other(self) -> Self {
        let is_about_it = matches!(
            self,
            Self::NoSuchStream { .. }
                | Self::NoSuchColumn { .. }
                | Self::Mismatch { .. }
                | Self::Filter(_)
                | Self::NoSystemCalls
                | Self::NoCalls
        );
        if is_about_it { Self::OfOther(Box::new(self)) } else { self }
    }

    /// Whether another request would have worked: the parameters are wrong, not the capture or the host.
    pub fn is_bad_request(&self) -> bool {
        matches!(self, Self::OfOther(of) if of.is_bad_request())
            || matches!(
                self,
                Self::NoSuchStream { .. }
                    | Self::StreamNumber(_)
                    | Self::RowNumber(_)
                    | Self::NoSuchColumn { .. }
                    | Self::Mismatch { .. }
                    | Self::Filter(_)
                    | Self::NothingToFind
                    | Self::OutOfRange { .. }
                    | Self::TooFar { .. }
                    | Self::Aggregate(_)
                    | Self::TooManyPairs { .. }
                    | Self::TrackId(_)
                    | Self::NoTrack { .. }
                    | Self::NoThread { .. }
                    | Self::NotUtilised
                    | Self::NarrowedWhileRunning
                    | Self::ValueLimit(_)
                    | Self::NoSamples
                    | Self::NoReportKey { .. }
                    | Self::NoSystemCalls
                    | Self::SyscallGroup(_)
                    | Self::NoCalls
                    | Self::CallGroups
                    | Self::NoContainers
                    | Self::NoSuchWeight { .. }
                    | Self::ComparedWeight { .. }
                    | Self::WeightTooLarge(_)
                    | Self::ComparedUnits { .. }
                    | Self::ComparedCapture(_)
                    | Self::Normalised(_)
                    | Self::TurnedMedian
                    | Self::ComparedRates { .. }
                    | Self::AgainstStream(_)
                    | Self::AgainstColumn(_)
                    | Self::AgainstStack(_)
                    | Self::AgainstSeveral(_)
                    | Self::AgainstMap { .. }
                    | Self::AgainstOffsets
                    | Self::AgainstOrder(_)
                    | Self::Transform { .. }
                    | Self::Pattern { .. }
            )
    }
}
