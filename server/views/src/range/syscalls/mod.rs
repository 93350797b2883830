//! System calls in a range of time: how often, how long, which failed, what they moved, and which files they were about; the
//! tables of `strace -c` and `perf trace -s`.

mod against;
mod objects;
mod running;

use std::collections::HashMap;

use bathyscope_capture::{ColumnType, CompareOp, Literal, Predicate, StreamSchema, StringId};

pub use self::against::syscalls_against;
use self::{
    against::CallParts,
    objects::{ObjectKind, Objects},
    running::RunningTimes,
};
use super::{amounts::moves_bytes, groups::RangeGroups, overlap::word, text};
use crate::{
    Cancel, Filter, Source, TimeRange, ViewError,
    answers::{RangeDurations, SyscallError, SyscallLine, SyscallObject, SyscallTable, SyscallTimes},
    log_buckets::LogBuckets,
    scan::Scan,
    source::relative,
};

/// The most lines that are told apart while calls are read, and the most files and sockets.
const MAX_GROUPS: usize = 1 << 15;
/// The most errors of a line that are told apart.
const MAX_ERRORS: usize = 64;
/// How many errors of a line are told.
const SHOWN_ERRORS: usize = 6;

/// What calls are told apart by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyscallGroup {
    /// The call.
    #[default]
    Call,
    /// The process.
    Process,
    /// The thread.
    Thread,
    /// The call of a process.
    ProcessCall,
    /// The call of a thread.
    ThreadCall,
}

impl SyscallGroup {
    /// All of them with their words in addresses.
    pub const ALL: [(&str, Self); 5] = [
        ("call", Self::Call),
        ("process", Self::Process),
        ("thread", Self::Thread),
        ("process_call", Self::ProcessCall),
        ("thread_call", Self::ThreadCall),
    ];

    /// The one of this name.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, group)| *group)
    }

    const fn has_call(self) -> bool {
        matches!(self, Self::Call | Self::ProcessCall | Self::ThreadCall)
    }

    const fn has_process(self) -> bool {
        matches!(self, Self::Process | Self::ProcessCall)
    }

    const fn has_thread(self) -> bool {
        matches!(self, Self::Thread | Self::ThreadCall)
    }

    const fn has_owner(self) -> bool {
        self.has_process() || self.has_thread()
    }
}

/// Which calls, and how they are told apart.
#[derive(Clone, Debug)]
pub struct SyscallQuery {
    /// Calls that began in it.
    pub range: TimeRange,
    /// Only these.
    pub filter: Option<Filter>,
    /// What they are told apart by.
    pub group: SyscallGroup,
    /// Whether lines are in the order of bytes, not of time.
    pub by_bytes: bool,
}

/// The columns of a stream of system calls.
#[derive(Clone, Copy)]
struct SyscallColumns {
    stream: u16,
    call: usize,
    args: usize,
    result: usize,
    error: usize,
    duration: usize,
    kind: usize,
    cpu: Option<usize>,
}

impl SyscallColumns {
    fn of(stream: u16, schema: &StreamSchema) -> Option<Self> {
        let typed =
            |name: &str, ty| schema.column(name).filter(|at| schema.columns.get(*at).is_some_and(|it| it.ty == ty));
        Some(Self {
            stream,
            call: typed("call", ColumnType::Text)?,
            args: typed("args", ColumnType::Text)?,
            result: typed("result", ColumnType::I64)?,
            error: typed("error", ColumnType::Text)?,
            duration: typed("duration_ns", ColumnType::U64)?,
            kind: typed("kind", ColumnType::Text)?,
            cpu: typed("cpu_ns", ColumnType::U64),
        })
    }

    fn wanted(&self) -> Vec<usize> {
        let own = [self.call, self.args, self.result, self.error, self.duration, self.kind];
        (0..StreamSchema::COMMON.len()).chain(own).chain(self.cpu).collect()
    }
}

/// A call as it is counted.
#[derive(Clone, Copy, Debug, Default)]
struct CallRow {
    time_ns: u64,
    pid: u64,
    tid: u64,
    comm: StringId,
    call: StringId,
    args: StringId,
    error: StringId,
    duration_ns: u64,
    bytes: u64,
    is_unfinished: bool,
    /// How long of it was on a CPU, where that is known.
    running_ns: Option<u64>,
}

/// Sums of calls.
#[derive(Clone, Debug, Default)]
struct CallSums {
    calls: u64,
    /// Those of which only the end was recorded.
    without: u64,
    failed: u64,
    unfinished: u64,
    bytes: u64,
    time_ns: u64,
    shortest_ns: u64,
    longest_ns: u64,
    longest_at_ns: u64,
    running_ns: u64,
    waiting_ns: u64,
    unsplit: u64,
    comm: StringId,
    pid: u64,
    errors: HashMap<StringId, u64>,
    other_errors: u64,
    buckets: LogBuckets,
}

impl CallSums {
    fn add(&mut self, row: &CallRow) {
        match row.duration_ns {
            0 => self.without += 1,
            duration_ns => self.add_duration(row, duration_ns),
        }
        self.calls += 1;
        self.unfinished += u64::from(row.is_unfinished);
        self.bytes = self.bytes.saturating_add(row.bytes);
        (self.comm, self.pid) = (row.comm, row.pid);
        if row.error != 0 {
            self.failed += 1;
            if self.errors.len() >= MAX_ERRORS && !self.errors.contains_key(&row.error) {
                self.other_errors += 1;
            } else {
                *self.errors.entry(row.error).or_insert(0) += 1;
            }
        }
    }

    fn add_duration(&mut self, row: &CallRow, duration_ns: u64) {
        let is_first = self.calls == self.without;
        if is_first || duration_ns < self.shortest_ns {
            self.shortest_ns = duration_ns;
        }
        if is_first || duration_ns > self.longest_ns {
            (self.longest_ns, self.longest_at_ns) = (duration_ns, row.time_ns);
        }
        self.time_ns = self.time_ns.saturating_add(duration_ns);
        self.buckets.add(duration_ns);
        match row.running_ns {
            Some(running_ns) => {
                let running_ns = running_ns.min(duration_ns);
                self.running_ns = self.running_ns.saturating_add(running_ns);
                self.waiting_ns = self.waiting_ns.saturating_add(duration_ns - running_ns);
            }
            None => self.unsplit += 1,
        }
    }

    fn times(&self, origin_ns: u64) -> SyscallTimes {
        let permille = |permille| self.buckets.permille(permille).min(self.longest_ns);
        SyscallTimes {
            durations: RangeDurations {
                count: self.calls,
                without: self.without,
                time: self.time_ns,
                mean: self.time_ns as f64 / (self.calls - self.without).max(1) as f64,
                p50: permille(500),
                p90: permille(900),
                p99: permille(990),
                longest: self.longest_ns,
                at: relative(origin_ns, self.longest_at_ns),
                buckets: self.buckets.powers(),
            },
            shortest: self.shortest_ns,
            failed: self.failed,
            unfinished: self.unfinished,
            bytes: self.bytes,
            running: self.running_ns,
            waiting: self.waiting_ns,
            unsplit: self.unsplit,
        }
    }
}

/// What a line is of: call, process, thread; 0 where it does not count.
type LineKey = (StringId, u64, u64);

/// Makes the table.
///
/// # Errors
/// If the query does not fit the capture, a chunk cannot be read, or `cancel` was set.
pub fn syscall_table(source: &dyn Source, query: &SyscallQuery, cancel: &Cancel) -> Result<SyscallTable, ViewError> {
    read_calls(source, query, None, cancel).map(GatheredCalls::answer)
}

/// Reads all calls of a query: into lines and objects, or if there are `parts` into these.
fn read_calls<'a>(
    source: &'a dyn Source,
    query: &'a SyscallQuery,
    parts: Option<CallParts>,
    cancel: &Cancel,
) -> Result<GatheredCalls<'a>, ViewError> {
    let streams = (0u16..).zip(source.streams());
    let columns: Vec<SyscallColumns> =
        streams.filter_map(|(stream, schema)| SyscallColumns::of(stream, schema)).collect();
    if columns.is_empty() {
        return Err(ViewError::NoSystemCalls);
    }
    let mut gathered = GatheredCalls {
        source,
        query,
        lines: RangeGroups::new(MAX_GROUPS),
        all: CallSums::default(),
        objects: Objects::default(),
        by_object: RangeGroups::new(MAX_GROUPS),
        kinds: HashMap::new(),
        moves: HashMap::new(),
        running: None,
        parts,
    };
    if gathered.parts.is_none() && columns.iter().any(|columns| columns.cpu.is_none()) {
        gathered.running = RunningTimes::read(source, query.range, cancel)?;
    }
    // Where a filter has a column that only another stream of calls has, that one is not counted.
    let (mut refused, mut is_counted) = (None, false);
    for columns in &columns {
        match gathered.add_stream(columns, cancel) {
            Err(error @ ViewError::NoSuchColumn { .. }) => refused = Some(error),
            added => {
                added?;
                is_counted = true;
            }
        }
    }
    match refused.filter(|_| !is_counted) {
        Some(error) => Err(error),
        None => Ok(gathered),
    }
}

struct GatheredCalls<'a> {
    source: &'a dyn Source,
    query: &'a SyscallQuery,
    lines: RangeGroups<LineKey, CallSums>,
    all: CallSums,
    objects: Objects,
    by_object: RangeGroups<u32, CallSums>,
    /// Whether rows of a kind are calls, and whether they did not end.
    kinds: HashMap<StringId, Option<bool>>,
    /// Whether results of a call are bytes.
    moves: HashMap<StringId, bool>,
    running: Option<RunningTimes>,
    /// Where calls of two sides are compared, sums by part of time in the place of lines and objects.
    parts: Option<CallParts>,
}

impl GatheredCalls<'_> {
    fn add_stream(&mut self, columns: &SyscallColumns, cancel: &Cancel) -> Result<(), ViewError> {
        let (range, filter) = (self.query.range, self.query.filter.as_ref());
        let scan = Scan::new(self.source, columns.stream, range, filter, &columns.wanted(), cancel);
        scan?.for_each_hit(|hit| {
            hit.picked.for_each(|row| {
                let at = |column: usize| word(&hit.batch, column, row);
                let id = |column: usize| u32::try_from(at(column)).unwrap_or(0);
                let Some(is_unfinished) = self.is_call(id(columns.kind)) else { return };
                let (time_ns, duration_ns, result) = (at(StreamSchema::TIME), at(columns.duration), at(columns.result));
                let call = id(columns.call);
                let has_bytes = result <= i64::MAX as u64 && result > 0 && self.moves_bytes(call);
                let tid = at(StreamSchema::TID);
                let running_ns = match columns.cpu {
                    Some(cpu) => Some(at(cpu)),
                    None => self
                        .running
                        .as_ref()
                        .and_then(|it| it.within(tid, time_ns, time_ns.saturating_add(duration_ns))),
                };
                let row = CallRow {
                    time_ns,
                    pid: at(StreamSchema::PID),
                    tid,
                    comm: id(StreamSchema::COMM),
                    call,
                    args: id(columns.args),
                    error: id(columns.error),
                    duration_ns,
                    bytes: if has_bytes { result } else { 0 },
                    is_unfinished,
                    running_ns,
                };
                self.add(&row);
            });
            Ok(())
        })
    }

    fn add(&mut self, row: &CallRow) {
        self.all.add(row);
        let group = self.query.group;
        if let Some(parts) = &mut self.parts {
            return parts.add(row, group);
        }
        let key = (
            if group.has_call() { row.call } else { 0 },
            if group.has_process() { row.pid } else { 0 },
            if group.has_thread() { row.tid } else { 0 },
        );
        if let Some(sums) = self.lines.of(key, row.duration_ns) {
            sums.add(row);
        }
        if let Some(object) = self.objects.of(self.source, row.call, row.args)
            && let Some(sums) = self.by_object.of(object, row.duration_ns)
        {
            sums.add(row);
        }
    }

    /// Whether a row of a kind is a call, and then whether it did not end.
    fn is_call(&mut self, kind: StringId) -> Option<bool> {
        let dictionaries = self.source.dictionaries();
        *self.kinds.entry(kind).or_insert_with(|| match dictionaries.text(kind) {
            Some(b"call") => Some(false),
            Some(b"unfinished" | b"inside") => Some(true),
            _ => None,
        })
    }

    fn moves_bytes(&mut self, call: StringId) -> bool {
        let dictionaries = self.source.dictionaries();
        *self.moves.entry(call).or_insert_with(|| dictionaries.text(call).is_some_and(moves_bytes))
    }

    fn answer(self) -> SyscallTable {
        let Self { source, query, lines, all, objects, by_object, running, .. } = self;
        let origin = source.origin_ns();
        let whole = |sums: &CallSums| (sums.calls, sums.time_ns);
        let size = |sums: &CallSums| {
            if query.by_bytes { (sums.bytes, sums.time_ns, sums.calls) } else { (sums.time_ns, sums.calls, sums.bytes) }
        };
        let (lines, rest) = lines.greatest(size, whole);
        let (files, files_rest) = by_object.greatest(size, whole);
        let line = |(key, sums): (LineKey, CallSums)| line(source, query.group, key, &sums);
        let object = |(object, sums): (u32, CallSums)| {
            let (kind, name) = objects.named(object);
            SyscallObject {
                kind: kind.word(),
                name: bathyscope_capture::visible(name),
                filter: objects.filter(object).map(|predicate| predicate.to_string()).unwrap_or_default(),
                times: sums.times(origin),
            }
        };
        SyscallTable {
            start: relative(origin, query.range.start_ns),
            end: relative(origin, query.range.end_ns),
            all: all.times(origin),
            has_states: running.as_ref().is_some_and(|times| !times.are_too_many),
            has_too_many_states: running.is_some_and(|times| times.are_too_many),
            lines: lines.into_iter().map(line).collect(),
            rest,
            files: files.into_iter().map(object).collect(),
            files_rest,
        }
    }
}

fn line(source: &dyn Source, group: SyscallGroup, (call, _, tid): LineKey, sums: &CallSums) -> SyscallLine {
    let mut errors: Vec<(StringId, u64)> = sums.errors.iter().map(|(error, count)| (*error, *count)).collect();
    errors.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
    let told = errors.iter().take(SHOWN_ERRORS);
    let has_owner = group.has_owner();
    SyscallLine {
        call: if group.has_call() { text(source, call) } else { String::new() },
        comm: if has_owner { text(source, sums.comm) } else { String::new() },
        pid: has_owner.then_some(sums.pid),
        tid: group.has_thread().then_some(tid),
        filter: filter_of(source, group, call, (sums.pid, tid)),
        errors: told.map(|(error, count)| SyscallError { name: text(source, *error), count: *count }).collect(),
        other_errors: errors.iter().skip(SHOWN_ERRORS).map(|(_, count)| count).sum::<u64>() + sums.other_errors,
        times: sums.times(source.origin_ns()),
    }
}

/// The condition on rows that a line stands for; empty where a name cannot be written in one.
fn filter_of(source: &dyn Source, group: SyscallGroup, call: StringId, (pid, tid): (u64, u64)) -> String {
    let compare = |field: &str, value| Predicate::Compare { field: field.to_owned(), op: CompareOp::Eq, value };
    let mut parts = Vec::new();
    if group.has_call() {
        let name = source.dictionaries().text(call).and_then(|name| std::str::from_utf8(name).ok());
        let Some(name) = name else { return String::new() };
        parts.push(compare("call", Literal::Text(name.to_owned())).to_string());
    }
    if group.has_process() {
        parts.push(compare("pid", Literal::Number(pid)).to_string());
    }
    if group.has_thread() {
        parts.push(compare("tid", Literal::Number(tid)).to_string());
    }
    parts.join(" && ")
}

/// The same of a line of calls of processes and threads of one name.
fn filter_of_names(source: &dyn Source, group: SyscallGroup, (call, comm): (StringId, StringId)) -> String {
    let part = |(field, id): (&str, StringId)| {
        let name = std::str::from_utf8(source.dictionaries().text(id)?).ok()?;
        let value = Literal::Text(name.to_owned());
        let predicate = Predicate::Compare { field: field.to_owned(), op: CompareOp::Eq, value };
        predicate.validate().ok().map(|()| predicate.to_string())
    };
    let parts = [group.has_call().then_some(("call", call)), group.has_owner().then_some(("comm", comm))];
    let told: Option<Vec<String>> = parts.into_iter().flatten().map(part).collect();
    told.map(|parts| parts.join(" && ")).unwrap_or_default()
}

impl ObjectKind {
    const fn word(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::Socket => "socket",
            Self::Pipe => "pipe",
            Self::Other => "other",
        }
    }
}
