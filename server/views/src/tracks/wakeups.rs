//! Recorded wake-ups: who woke a thread at a moment, and whom a thread woke.

use bathyscope_capture::{Batch, ColumnData, ColumnType, StackId, StreamSchema, StringId, column_name_of_field};

use super::reader::word;
use crate::{Source, ViewError};

/// Chunks that a search through wake-ups looks at, then it ends.
const MAX_SEARCHED_CHUNKS: usize = 32;

/// A recorded wake-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wakeup {
    pub(crate) time_ns: u64,
    /// The CPU that it was made on.
    pub(crate) cpu: u64,
    /// What ran there; an interrupt may have come in between.
    pub(crate) waker_pid: u64,
    pub(crate) waker_tid: u64,
    pub(crate) waker_comm: StringId,
    pub(crate) wakee_tid: u64,
    /// Whether the woken thread had never run before.
    pub(crate) is_new: bool,
    /// The waker's, 0 for none.
    pub(crate) stack: StackId,
}

/// The streams of wake-ups of a capture.
pub(crate) struct Wakeups<'a> {
    source: &'a dyn Source,
    streams: Vec<WakeStream>,
}

#[derive(Clone, Debug)]
struct WakeStream {
    stream: u16,
    wakee: usize,
    new: Option<usize>,
    is_new: bool,
    stack: Option<usize>,
    columns: Vec<usize>,
}

impl WakeStream {
    fn of(stream: u16, schema: &StreamSchema, wakee: &str, is_new: bool) -> Option<Self> {
        let typed = |name: &str, stack: bool| {
            let at = schema.column(name)?;
            let ty = schema.columns.get(at)?.ty;
            let fits = if stack { ty == ColumnType::Stack } else { matches!(ty, ColumnType::U64 | ColumnType::I64) };
            fits.then_some(at)
        };
        let wakee = typed(wakee, false)?;
        let (new, stack) = (typed("new", false), typed("stack", true));
        let mut columns: Vec<usize> = (0..StreamSchema::COMMON.len()).chain([wakee]).chain(new).chain(stack).collect();
        columns.sort_unstable();
        columns.dedup();
        Some(Self { stream, wakee, new, is_new, stack, columns })
    }

    fn row(&self, rows: &Batch, row: usize) -> Option<Wakeup> {
        let number = |column| word(rows, Some(column), row);
        let id = |column| word(rows, column, row).and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
        Some(Wakeup {
            time_ns: number(StreamSchema::TIME)?,
            cpu: number(StreamSchema::CPU)?,
            waker_pid: number(StreamSchema::PID)?,
            waker_tid: number(StreamSchema::TID)?,
            waker_comm: id(Some(StreamSchema::COMM)),
            wakee_tid: number(self.wakee)?,
            is_new: self.is_new || word(rows, self.new, row).is_some_and(|new| new != 0),
            stack: id(self.stack),
        })
    }
}

/// What a search through wake-ups found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FoundWakeups {
    /// In order of time.
    pub(crate) wakeups: Vec<Wakeup>,
    /// How many more there are in the chunks that were looked at.
    pub(crate) more: u64,
    /// Whether there may be further ones: the range has too many chunks.
    pub(crate) is_cut: bool,
}

impl<'a> Wakeups<'a> {
    /// Those of a capture: of the kind *states*, else of the tracepoints.
    pub(crate) fn of(source: &'a dyn Source) -> Self {
        let named = |name: &str, wakee: &str, is_new: bool| {
            let found = (0..).zip(source.streams()).find(|(_, schema)| schema.name == name);
            found.and_then(|(stream, schema)| WakeStream::of(stream, schema, wakee, is_new))
        };
        let field = column_name_of_field("pid");
        let tracepoints = || {
            let woken =
                named("sched:sched_waking", &field, false).or_else(|| named("sched:sched_wakeup", &field, false));
            woken.into_iter().chain(named("sched:sched_wakeup_new", &field, true)).collect()
        };
        let streams = named("wakeups", "wakee_tid", false).map_or_else(tracepoints, |own| vec![own]);
        Self { source, streams }
    }

    /// Whether any are recorded.
    pub(crate) fn is_empty(&self) -> bool {
        self.streams.is_empty()
    }

    /// The wake-up of a thread at a moment.
    ///
    /// # Errors
    /// If a chunk cannot be read.
    pub(crate) fn of_thread(&self, wakee_tid: u64, time_ns: u64) -> Result<Option<Wakeup>, ViewError> {
        let found = self.search(time_ns..time_ns.saturating_add(1), 1, |wakeup| wakeup.wakee_tid == wakee_tid)?;
        Ok(found.wakeups.first().copied())
    }

    /// The first wake-ups of a range that `is_wanted`, and how many more there are.
    ///
    /// # Errors
    /// If a chunk cannot be read.
    pub(crate) fn search(
        &self,
        range: std::ops::Range<u64>,
        most: usize,
        is_wanted: impl Fn(&Wakeup) -> bool,
    ) -> Result<FoundWakeups, ViewError> {
        let mut found = FoundWakeups::default();
        for stream in &self.streams {
            let chunks = self.source.chunks(stream.stream);
            let first = chunks.partition_point(|chunk| chunk.last_ns < range.start);
            let (mut here, mut read) = (0, 0);
            let inside = (first..chunks.len())
                .take_while(|chunk| chunks.get(*chunk).is_some_and(|meta| meta.first_ns < range.end));
            for chunk in inside {
                if read == MAX_SEARCHED_CHUNKS {
                    found.is_cut = true;
                    break;
                }
                read += 1;
                let rows = self.source.batch(stream.stream, chunk, &stream.columns)?;
                let times = rows.columns.get(StreamSchema::TIME).map(ColumnData::as_u64).unwrap_or_default();
                for row in times.partition_point(|time| *time < range.start)..times.len() {
                    let Some(wakeup) = stream.row(&rows, row).filter(|wakeup| wakeup.time_ns < range.end) else {
                        break;
                    };
                    if !is_wanted(&wakeup) {
                        continue;
                    }
                    if here == most {
                        found.more += 1;
                        continue;
                    }
                    here += 1;
                    found.wakeups.push(wakeup);
                }
            }
        }
        found.wakeups.sort_by_key(|wakeup| wakeup.time_ns);
        found.more += found.wakeups.len().saturating_sub(most) as u64;
        found.wakeups.truncate(most);
        Ok(found)
    }
}
