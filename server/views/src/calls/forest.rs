//! Rows of calls → a forest: one tree for each call whose caller was not recorded.

use bathyscope_capture::{StreamKind, StreamSchema, StringId};

use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::CallState,
    hash::IdMap,
    scan::{Hit, Scan, schema_of},
};

/// The most calls that are put together at a time; a forest takes about 64 bytes for each.
pub const MAX_CALLS: usize = 1 << 21;
/// No call.
pub(crate) const NONE: u32 = u32::MAX;

/// One call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record {
    pub(crate) start_ns: u64,
    pub(crate) end_ns: u64,
    /// Time in the calls directly within it.
    pub(crate) inner_ns: u64,
    pub(crate) function: StringId,
    pub(crate) comm: StringId,
    pub(crate) task: u32,
    pub(crate) cpu: u32,
    pub(crate) parent: u32,
    /// The first call within it, and the next one in the same call.
    pub(crate) first: u32,
    pub(crate) next: u32,
    /// Calls within it, at any depth.
    pub(crate) inner: u32,
    /// Recorded by the kernel.
    pub(crate) depth: u32,
    pub(crate) state: CallState,
}

impl Record {
    pub(crate) fn duration_ns(&self) -> u64 {
        self.end_ns.saturating_sub(self.start_ns)
    }

    pub(crate) fn own_ns(&self) -> u64 {
        self.duration_ns().saturating_sub(self.inner_ns)
    }

    pub(crate) fn overlaps(&self, range: TimeRange) -> bool {
        self.start_ns < range.end_ns && self.end_ns >= range.start_ns
    }

    /// Whether its length is known: one that lacks an end lasted at least as long as it is said to.
    pub(crate) fn is_measured(&self) -> bool {
        match self.state {
            CallState::Returned => true,
            CallState::Unfinished => false,
            CallState::Unstarted => self.duration_ns() > 0,
        }
    }
}

/// A thread. Each CPU has an idle one, and all of these have the number 0.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) pid: u64,
    pub(crate) tid: u64,
    /// Of an idle thread.
    pub(crate) cpu: Option<u64>,
    /// The last that was seen.
    pub(crate) comm: StringId,
    pub(crate) calls: u64,
}

/// All calls of a capture, or as many as fit, nested. It does not change, so it can be kept for the next view.
#[derive(Debug)]
pub struct CallForest {
    pub(crate) stream: u16,
    /// The number of the first row.
    pub(crate) first_row: u64,
    pub(crate) calls: Vec<Record>,
    /// In the order of their starts.
    pub(crate) roots: Vec<u32>,
    pub(crate) tasks: Vec<Task>,
    left_out: u64,
}

/// The stream of calls, if the capture has one.
pub fn calls_stream(source: &dyn Source) -> Option<u16> {
    let is_calls = |schema: &StreamSchema| schema.kind == StreamKind::Events && CallColumns::of(schema).is_some();
    (0_u16..).zip(source.streams()).find(|(_, schema)| is_calls(schema)).map(|(stream, _)| stream)
}

struct CallColumns {
    function: usize,
    depth: usize,
    duration: usize,
    state: usize,
}

impl CallColumns {
    fn of(schema: &StreamSchema) -> Option<Self> {
        let function = schema.column("func").filter(|_| schema.name == "function_graph")?;
        let [depth, duration, state] =
            [schema.column("depth")?, schema.column("duration_ns")?, schema.column("state")?];
        Some(Self { function, depth, duration, state })
    }

    fn wanted(&self) -> [usize; 9] {
        let Self { function, depth, duration, state } = *self;
        let [time, cpu, pid] = [StreamSchema::TIME, StreamSchema::CPU, StreamSchema::PID];
        [time, cpu, pid, StreamSchema::TID, StreamSchema::COMM, function, depth, duration, state]
    }
}

/// The columns of function, depth and duration of a stream of calls.
pub(crate) fn schema_columns(schema: &StreamSchema) -> Option<[usize; 3]> {
    CallColumns::of(schema).map(|columns| [columns.function, columns.depth, columns.duration])
}

impl CallForest {
    /// Puts the calls of a capture together. If there are more than [`MAX_CALLS`], those from the beginning of `range` on.
    ///
    /// # Errors
    /// [`ViewError::NoCalls`] if it has none, or if a chunk cannot be loaded, or `cancel` was set.
    pub fn build(source: &dyn Source, range: TimeRange, cancel: &Cancel) -> Result<Self, ViewError> {
        Self::of_at_most(MAX_CALLS, source, range, cancel)
    }

    /// As [`Self::build`], with another limit.
    ///
    /// # Errors
    /// As [`Self::build`].
    pub fn of_at_most(most: usize, source: &dyn Source, range: TimeRange, cancel: &Cancel) -> Result<Self, ViewError> {
        let stream = calls_stream(source).ok_or(ViewError::NoCalls)?;
        let schema = schema_of(source, stream)?;
        let columns = CallColumns::of(schema).ok_or(ViewError::NoCalls)?;
        let all = source.chunks(stream).iter().map(|chunk| u64::from(chunk.rows)).sum::<u64>() <= most as u64;
        let range = if all { TimeRange::ALL } else { range };
        let from = TimeRange { end_ns: u64::MAX, ..range };
        let mut builder = ForestBuilder::new(source, stream, columns);
        let mut scan = Scan::new(source, stream, from, None, &builder.columns.wanted(), cancel)?;
        let mut row = 0;
        for (chunk, meta) in scan.chunks().iter().enumerate() {
            if builder.forest.calls.len() >= most {
                builder.forest.left_out += if meta.first_ns < range.end_ns { u64::from(meta.rows) } else { 0 };
            } else if let Some(hit) = scan.hit(chunk)? {
                if builder.forest.calls.is_empty() {
                    builder.forest.first_row = row + hit.picked.get(0).unwrap_or(0) as u64;
                }
                builder.take(&hit, most)?;
            }
            row += u64::from(meta.rows);
        }
        Ok(builder.finish())
    }

    /// How many calls it has.
    pub fn len(&self) -> usize {
        self.calls.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Calls that there was no room for.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Names a call the same in all views of the capture: the number of its row.
    pub(crate) fn id(&self, index: u32) -> u64 {
        self.first_row + u64::from(index)
    }

    pub(crate) fn index(&self, id: u64) -> Option<u32> {
        let index = usize::try_from(id.checked_sub(self.first_row)?).ok()?;
        u32::try_from(index).ok().filter(|_| index < self.calls.len())
    }

    pub(crate) fn call(&self, index: u32) -> Option<&Record> {
        self.calls.get(index as usize)
    }

    pub(crate) fn task(&self, call: &Record) -> Option<&Task> {
        self.tasks.get(call.task as usize)
    }

    /// The calls directly within one.
    pub(crate) fn children(&self, index: u32) -> impl Iterator<Item = (u32, &Record)> {
        let mut next = self.call(index).map_or(NONE, |call| call.first);
        std::iter::from_fn(move || {
            let call = self.call(next)?;
            let index = std::mem::replace(&mut next, call.next);
            Some((index, call))
        })
    }

    /// Goes through all calls, outer ones before those within them, in the order of their starts.
    pub(crate) fn preorder(&self) -> impl Iterator<Item = u32> {
        let mut roots = self.roots.iter();
        let mut open: Vec<u32> = Vec::new();
        std::iter::from_fn(move || {
            let index = match open.pop() {
                Some(index) => index,
                None => {
                    let root = *roots.next()?;
                    open.extend(self.call(root).map(|call| call.first).filter(|first| *first != NONE));
                    return Some(root);
                }
            };
            let call = self.call(index)?;
            open.extend([call.next, call.first].into_iter().filter(|next| *next != NONE));
            Some(index)
        })
    }
}

struct ForestBuilder<'a> {
    source: &'a dyn Source,
    columns: CallColumns,
    forest: CallForest,
    by_task: IdMap<(u64, u64), u32>,
    states: IdMap<StringId, CallState>,
    /// Of each task, calls that no call around them has been seen of.
    loose: Vec<Vec<u32>>,
    /// From where on calls were not nested yet: those that were given up at one moment come in no useful order.
    unfinished_from: usize,
}

impl<'a> ForestBuilder<'a> {
    fn new(source: &'a dyn Source, stream: u16, columns: CallColumns) -> Self {
        let (first_row, calls, roots, tasks, left_out) = Default::default();
        let forest = CallForest { stream, first_row, calls, roots, tasks, left_out };
        let (by_task, states, loose) = Default::default();
        Self { source, columns, forest, by_task, states, loose, unfinished_from: 0 }
    }

    fn take(&mut self, hit: &Hit, most: usize) -> Result<(), ViewError> {
        let (times, cpus) = (hit.u64s(StreamSchema::TIME)?, hit.u64s(StreamSchema::CPU)?);
        let (pids, tids) = (hit.u64s(StreamSchema::PID)?, hit.u64s(StreamSchema::TID)?);
        let (comms, functions) = (hit.ids(StreamSchema::COMM)?, hit.ids(self.columns.function)?);
        let (depths, durations) = (hit.u64s(self.columns.depth)?, hit.u64s(self.columns.duration)?);
        let states = hit.ids(self.columns.state)?;
        let number = |column: &[u64], row: usize| column.get(row).copied().unwrap_or(0);
        let id = |column: &[u32], row: usize| column.get(row).copied().unwrap_or(0);
        hit.picked.for_each(|row| {
            if self.forest.calls.len() >= most {
                self.forest.left_out += 1;
                return;
            }
            let (end_ns, cpu, comm) = (number(times, row), number(cpus, row), id(comms, row));
            let record = Record {
                start_ns: end_ns.saturating_sub(number(durations, row)),
                end_ns,
                inner_ns: 0,
                function: id(functions, row),
                comm,
                task: self.task(number(pids, row), number(tids, row), cpu, comm),
                cpu: u32::try_from(cpu).unwrap_or(u32::MAX),
                parent: NONE,
                first: NONE,
                next: NONE,
                inner: 0,
                depth: u32::try_from(number(depths, row)).unwrap_or(u32::MAX),
                state: self.state(id(states, row)),
            };
            self.push(record);
        });
        Ok(())
    }

    fn task(&mut self, pid: u64, tid: u64, cpu: u64, comm: StringId) -> u32 {
        let idle = (tid == 0).then_some(cpu);
        let new = self.forest.tasks.len() as u32;
        let index = *self.by_task.entry((tid, idle.unwrap_or(0))).or_insert(new);
        if index == new {
            self.forest.tasks.push(Task { pid, tid, cpu: idle, comm, calls: 0 });
            self.loose.push(Vec::new());
        }
        if let Some(task) = self.forest.tasks.get_mut(index as usize) {
            task.calls += 1;
            (task.comm, task.pid) = (comm, pid);
        }
        index
    }

    fn state(&mut self, word: StringId) -> CallState {
        let source = self.source;
        *self.states.entry(word).or_insert_with(|| match source.dictionaries().text(word) {
            Some(b"unfinished") => CallState::Unfinished,
            Some(b"unstarted") => CallState::Unstarted,
            _ => CallState::Returned,
        })
    }

    fn push(&mut self, record: Record) {
        let index = self.forest.calls.len();
        let same_moment = |first: &Record| first.end_ns == record.end_ns && record.state == CallState::Unfinished;
        if !self.forest.calls.get(self.unfinished_from).is_some_and(same_moment) {
            self.nest_unfinished(index);
        }
        self.forest.calls.push(record);
        if record.state != CallState::Unfinished {
            self.nest_unfinished(index);
            self.nest(index as u32);
            self.unfinished_from = index + 1;
        }
    }

    /// Nests the calls that were given up at one moment, those within others first.
    fn nest_unfinished(&mut self, until: usize) {
        let mut waiting: Vec<u32> = (self.unfinished_from..until).map(|index| index as u32).collect();
        waiting.sort_by_key(|index| std::cmp::Reverse(self.forest.call(*index).map_or(0, |call| call.depth)));
        waiting.into_iter().for_each(|index| self.nest(index));
        self.unfinished_from = until;
    }

    /// Calls of a task nest, so those that lie deeper and ended after this one began are within it.
    fn nest(&mut self, index: u32) {
        let Some(mut call) = self.forest.call(index).copied() else { return };
        let Some(loose) = self.loose.get_mut(call.task as usize) else { return };
        while let Some(inner) = loose.last().and_then(|last| self.forest.calls.get_mut(*last as usize)) {
            if inner.depth <= call.depth || inner.end_ns <= call.start_ns {
                break;
            }
            (inner.parent, inner.next) = (index, call.first);
            call.inner += 1 + inner.inner;
            call.inner_ns = call.inner_ns.saturating_add(inner.duration_ns());
            call.first = loose.pop().unwrap_or(NONE);
        }
        loose.push(index);
        if let Some(slot) = self.forest.calls.get_mut(index as usize) {
            *slot = call;
        }
    }

    fn finish(mut self) -> CallForest {
        self.nest_unfinished(self.forest.calls.len());
        let mut forest = self.forest;
        forest.roots = self.loose.into_iter().flatten().collect();
        let calls = &forest.calls;
        forest.roots.sort_by_key(|index| (calls.get(*index as usize).map_or(0, |call| call.start_ns), *index));
        forest
    }
}
