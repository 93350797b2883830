//! Which columns of a stream make the tracks of its rows, and what they are called.

use super::{TrackEntry, TrackName};
use crate::{Batch, ColumnData, ColumnType, RowKind, SliceTime, StreamSchema};

/// What the tracks of a stream are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrackKind {
    /// A thread; idle threads, which all have the number 0, by their CPU ([`TrackRule::idle_key`]).
    Thread,
    /// A CPU.
    Cpu,
    /// A value of this column, such as a device.
    Value(String),
}

/// How rows of a stream become entries of tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackRule {
    kind: TrackKind,
    key: usize,
    end: RowEnd,
    depth: Option<usize>,
    text: Option<usize>,
    number: Option<usize>,
    /// Whether rows are told apart by the thread that they are of.
    by_thread: bool,
}

/// How the end of a row is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RowEnd {
    /// It lasted so long from its time on.
    After(usize),
    /// It lasted so long up to its time.
    Before(usize),
}

/// A row as it goes into a track.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrackRow {
    /// The thread, the CPU, or the value of the stream's key, as [`super::TrackInfo::key`] has it.
    pub key: u64,
    /// How deep the slice is nested in others of its key, where rows say it.
    pub depth: Option<u64>,
    /// The CPU that the row was recorded on.
    pub cpu: u64,
    /// The process.
    pub pid: u64,
    /// The thread.
    pub tid: u64,
    /// The thread's name, a text's id.
    pub comm: u32,
    /// What the row is called.
    pub name: TrackName,
    /// From when to when, with the name 0.
    pub entry: TrackEntry,
}

/// Text columns that say something of a row besides what it is.
const NO_NAMES: [&str; 8] = ["unknown", "args", "error", "note", "kind", "state", "caller", "waker_comm"];

impl TrackRule {
    /// The rule for a stream of states or slices whose rows say how long they took; none for others.
    pub fn of(schema: &StreamSchema) -> Option<Self> {
        let meaning = schema.meaning();
        let at = |name: &str, types: &[ColumnType]| {
            schema.column(name).filter(|at| schema.columns.get(*at).is_some_and(|column| types.contains(&column.ty)))
        };
        let number = |name: &str| at(name, &[ColumnType::U64]);
        let (end, depth, state) = match &meaning.kind {
            RowKind::State { state, duration: Some(duration) } => (RowEnd::After(number(duration)?), None, Some(state)),
            RowKind::Slice { duration, time, depth } => {
                let duration = number(duration)?;
                let end = match time {
                    SliceTime::Begin => RowEnd::After(duration),
                    SliceTime::End => RowEnd::Before(duration),
                };
                (end, depth.as_deref().and_then(number), None)
            }
            _ => return None,
        };
        let has = |name: &str| meaning.key.iter().any(|key| key == name);
        let first = meaning.key.first().map(String::as_str).unwrap_or_default();
        // The key of a slice alone is often an address that no other slice has again.
        let many = state.is_none() && meaning.key.len() == 1;
        let first_at = at(first, &[ColumnType::U64, ColumnType::I64, ColumnType::Text]);
        let (kind, key) = match first_at {
            _ if has("tid") => (TrackKind::Thread, StreamSchema::TID),
            _ if has("cpu") => (TrackKind::Cpu, StreamSchema::CPU),
            Some(key) if !many => (TrackKind::Value(first.to_owned()), key),
            _ => (TrackKind::Thread, StreamSchema::TID),
        };
        let own = || (StreamSchema::COMMON.len()..).zip(schema.columns.iter().skip(StreamSchema::COMMON.len()));
        let named = own().find(|(at, column)| {
            column.ty == ColumnType::Text && *at != key && !NO_NAMES.contains(&column.name.as_str())
        });
        let text = match state {
            Some(state) => at(state, &[ColumnType::Text]),
            None => named.map(|(at, _)| at),
        };
        let other_key = meaning.key.iter().filter_map(|name| number(name)).find(|at| *at != key && text.is_none());
        let by_thread = state.is_some_and(|state| state == "comm");
        Some(Self { kind, key, end, depth, text, number: other_key.filter(|_| has("cpu")), by_thread })
    }

    /// What the tracks are.
    pub const fn kind(&self) -> &TrackKind {
        &self.kind
    }

    /// The column that has what rows are called; none if they have no text.
    pub const fn name_column(&self) -> Option<usize> {
        self.text
    }

    /// The key of the idle thread of a CPU.
    pub const fn idle_key(cpu: u64) -> u64 {
        1 << 63 | cpu
    }

    /// The CPU whose idle thread has this key.
    pub const fn idle_cpu(key: u64) -> Option<u64> {
        if key >> 63 == 1 { Some(key & (u64::MAX >> 1)) } else { None }
    }

    /// The column that says how long rows took.
    pub const fn duration_column(&self) -> usize {
        let (RowEnd::After(duration) | RowEnd::Before(duration)) = self.end;
        duration
    }

    /// The column whose texts rows are called by; none where they have no text.
    pub const fn text_column(&self) -> Option<usize> {
        self.text
    }

    /// The column whose numbers rows are called by that have no text.
    pub const fn number_column(&self) -> Option<usize> {
        self.number
    }

    /// From when to when a row took, by its time and how long it took.
    pub const fn span_ns(&self, time_ns: u64, duration_ns: u64) -> (u64, u64) {
        match self.end {
            RowEnd::After(_) => (time_ns, time_ns.saturating_add(duration_ns)),
            RowEnd::Before(_) => (time_ns.saturating_sub(duration_ns), time_ns),
        }
    }

    /// The columns that are needed of a chunk, ascending.
    pub fn columns(&self) -> Vec<usize> {
        let duration = self.duration_column();
        let common = [StreamSchema::TIME, StreamSchema::CPU, StreamSchema::PID, StreamSchema::TID, StreamSchema::COMM];
        let own = [Some(self.key), Some(duration), self.depth, self.text, self.number];
        let mut columns: Vec<usize> = common.into_iter().chain(own.into_iter().flatten()).collect();
        columns.sort_unstable();
        columns.dedup();
        columns
    }

    /// Calls `each` with all rows of a batch that has the [`TrackRule::columns`].
    pub fn for_each(&self, batch: &Batch, each: impl FnMut(TrackRow)) {
        (0..times_of(batch).len()).map(|row| self.row(batch, row)).for_each(each);
    }

    fn row(&self, batch: &Batch, row: usize) -> TrackRow {
        let word = |column: usize| batch.columns.get(column).map_or(0, |data| word_at(data, row));
        let optional = |column: Option<usize>| column.map(word);
        let (time_ns, tid) = (word(StreamSchema::TIME), word(StreamSchema::TID));
        let key = match (&self.kind, tid) {
            (TrackKind::Thread, 0) => Self::idle_key(word(StreamSchema::CPU)),
            _ => word(self.key),
        };
        let (begin_ns, end_ns) = self.span_ns(time_ns, word(self.duration_column()));
        let (pid, comm) = (word(StreamSchema::PID), word(StreamSchema::COMM) as u32);
        let text = optional(self.text).unwrap_or(0) as u32;
        let number = optional(self.number).unwrap_or(0);
        let (name_pid, name_tid) = if self.by_thread { (pid as u32, tid as u32) } else { (0, 0) };
        let name = TrackName { text, number, pid: name_pid, tid: name_tid };
        let (depth, cpu) = (optional(self.depth), word(StreamSchema::CPU));
        TrackRow { key, depth, cpu, pid, tid, comm, name, entry: TrackEntry { begin_ns, end_ns, name: 0 } }
    }

    /// The place of the row in a batch that an entry of the track with this key was made of.
    pub fn row_of(&self, batch: &Batch, key: u64, entry: &TrackEntry) -> Option<usize> {
        let is_it = |at: &usize| {
            let row = self.row(batch, *at);
            row.key == key && row.entry.end_ns == entry.end_ns && row.entry.begin_ns <= entry.begin_ns
        };
        let times = times_of(batch);
        // Rows of a chunk are in order of their times, and most entries begin when their rows do.
        let time_ns = if matches!(self.end, RowEnd::After(_)) { entry.begin_ns } else { entry.end_ns };
        let first = times.partition_point(|time| *time < time_ns);
        let same = (first..times.len()).take_while(|at| times.get(*at) == Some(&time_ns));
        same.into_iter().find(is_it).or_else(|| (0..times.len()).find(is_it))
    }
}

fn times_of(batch: &Batch) -> &[u64] {
    batch.columns.get(StreamSchema::TIME).map(ColumnData::as_u64).unwrap_or_default()
}

fn word_at(data: &ColumnData, row: usize) -> u64 {
    match data {
        ColumnData::U64(words) => words.get(row).copied().unwrap_or(0),
        ColumnData::I64(words) => words.get(row).map_or(0, |word| word.cast_unsigned()),
        ColumnData::Id(words) => words.get(row).copied().unwrap_or(0).into(),
    }
}
