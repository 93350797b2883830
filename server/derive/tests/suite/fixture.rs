//! Rows of both forms that thread states are made from, and what is read of the rows that come out.

use std::{collections::BTreeMap, sync::Arc};

use bathyscope_capture::{
    Batch, Cell, Column, ColumnType, Display, Row, StreamKind, StreamSchema, StringDictionary, StringId,
};
use bathyscope_derive::{DerivationHost, Rule};

/// Where rows of a rule go.
#[derive(Default)]
pub(crate) struct Host {
    pub(crate) strings: StringDictionary,
    texts: BTreeMap<StringId, String>,
    pub(crate) batches: Vec<(usize, Batch)>,
}

impl Host {
    pub(crate) fn id(&mut self, text: &str) -> StringId {
        let id = self.strings.id(text.as_bytes());
        self.texts.insert(id, text.to_owned());
        id
    }

    fn text(&self, id: StringId) -> String {
        self.texts.get(&id).cloned().unwrap_or_default()
    }

    /// All rows of one stream, by column.
    pub(crate) fn table(&self, schema: &StreamSchema, output: usize) -> Vec<BTreeMap<String, String>> {
        let mut rows = Vec::new();
        for (_, batch) in self.batches.iter().filter(|(of, _)| *of == output) {
            let times = batch.columns[0].as_u64();
            assert!(times.is_sorted() && !times.is_empty(), "a batch in order of time");
            bathyscope_capture::encode_chunk(schema, batch).expect("a batch can be stored");
            for row in 0..times.len() {
                let value = |at: usize, column: &Column| match column.ty {
                    ColumnType::U64 => batch.columns[at].as_u64()[row].to_string(),
                    ColumnType::I64 => batch.columns[at].as_i64()[row].to_string(),
                    ColumnType::Text => self.text(batch.columns[at].as_id()[row]),
                    ColumnType::Stack => batch.columns[at].as_id()[row].to_string(),
                };
                let cells = schema.columns.iter().enumerate();
                rows.push(cells.map(|(at, column)| (column.name.clone(), value(at, column))).collect());
            }
        }
        rows
    }
}

impl DerivationHost for Host {
    fn string_id(&mut self, text: &[u8]) -> StringId {
        self.id(std::str::from_utf8(text).unwrap())
    }

    fn string(&mut self, id: StringId) -> Option<Vec<u8>> {
        self.texts.get(&id).map(|text| text.as_bytes().to_vec())
    }

    fn rows(&mut self, output: usize, rows: Batch) {
        self.batches.push((output, rows));
    }
}

pub(crate) fn column(name: &str, ty: ColumnType) -> Column {
    let display = if ty == ColumnType::Text { Display::Text } else { Display::Decimal };
    Column { name: name.to_owned(), ty, display }
}

pub(crate) fn schema(name: &str, own: &[(&str, ColumnType)]) -> StreamSchema {
    StreamSchema::new(name, StreamKind::Events, own.iter().map(|(name, ty)| column(name, *ty)))
}

/// A thread of a process with a name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) pid: u32,
    pub(crate) tid: u32,
    pub(crate) comm: String,
}

/// A thread called `t` and its number, of a process whose number is that, rounded down to tens. 0 is idle.
pub(crate) fn who(tid: u32) -> Who {
    match tid {
        0 => Who { pid: 0, tid: 0, comm: "swapper".to_owned() },
        _ => Who { pid: tid / 10 * 10, tid, comm: format!("t{tid}") },
    }
}

/// What happens on a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// As ftrace prints the state; the stack of the thread that leaves.
    Switch(&'static str, Who, u32),
    Waking(Who, u32),
    Wakeup(Who, u32),
    New(Who, u32),
    Exit,
}

/// An event, with the thread that runs there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) time: u64,
    pub(crate) cpu: u32,
    pub(crate) current: Who,
    pub(crate) what: What,
}

pub(crate) fn event(time: u64, cpu: u32, current: u32, what: What) -> Event {
    Event { time, cpu, current: who(current), what }
}

pub(crate) fn switch(time: u64, cpu: u32, prev: u32, state: &'static str, next: u32) -> Event {
    event(time, cpu, prev, What::Switch(state, who(next), 0))
}

pub(crate) fn waking(time: u64, cpu: u32, waker: u32, wakee: u32, target: u32) -> Event {
    event(time, cpu, waker, What::Waking(who(wakee), target))
}

pub(crate) fn wakeup(time: u64, cpu: u32, current: u32, wakee: u32, target: u32) -> Event {
    event(time, cpu, current, What::Wakeup(who(wakee), target))
}

pub(crate) fn new(time: u64, cpu: u32, parent: u32, child: u32, target: u32) -> Event {
    event(time, cpu, parent, What::New(who(child), target))
}

/// From what thread states are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The streams of the kind *states*.
    States,
    /// Tracepoints.
    Tracepoints,
}

impl Form {
    pub(crate) const BOTH: [Self; 2] = [Self::States, Self::Tracepoints];

    pub(crate) fn streams(self) -> Vec<StreamSchema> {
        use ColumnType::{I64, Stack, Text, U64};
        match self {
            Self::States => vec![
                schema("other", &[]),
                schema(
                    "switches",
                    &[("state", Text), ("next_pid", U64), ("next_tid", U64), ("next_comm", Text), ("stack", Stack)],
                ),
                schema(
                    "wakeups",
                    &[("wakee_pid", U64), ("wakee_tid", U64), ("wakee_comm", Text), ("target_cpu", U64), ("new", U64)],
                ),
            ],
            Self::Tracepoints => {
                let wakeup = [("args.comm", Text), ("args.pid", I64), ("prio", I64), ("target_cpu", I64)];
                vec![
                    schema("sched:sched_switch", &[("prev_state", I64), ("next_comm", Text), ("next_pid", I64)]),
                    schema("sched:sched_wakeup", &wakeup),
                    schema("sched:sched_waking", &wakeup),
                    schema("sched:sched_wakeup_new", &wakeup),
                    schema("sched:sched_process_exit", &wakeup[..3]),
                ]
            }
        }
    }

    /// The stream and the own cells of an event; none if this form does not record it.
    fn cells(self, what: &What, host: &mut Host) -> Option<(usize, Vec<Cell<StringId, u32>>)> {
        let number = |number: u32| Cell::U64(u64::from(number));
        let signed = |number: u32| Cell::I64(i64::from(number));
        let woken = |who: &Who, cpu: u32, is_new: u32, host: &mut Host| {
            let comm = Cell::Text(host.id(&who.comm));
            match self {
                Self::States => vec![number(who.pid), number(who.tid), comm, number(cpu), number(is_new)],
                Self::Tracepoints => vec![comm, signed(who.tid), Cell::I64(120), signed(cpu)],
            }
        };
        Some(match (self, what) {
            (Self::States, What::Switch(state, next, stack)) => {
                let state = Cell::Text(host.id(state));
                let comm = Cell::Text(host.id(&next.comm));
                (1, vec![state, number(next.pid), number(next.tid), comm, Cell::Stack(*stack)])
            }
            (Self::States, What::Waking(who, cpu)) => (2, woken(who, *cpu, 0, host)),
            (Self::States, What::New(who, cpu)) => (2, woken(who, *cpu, 1, host)),
            (Self::States, What::Wakeup(..) | What::Exit) => return None,
            (Self::Tracepoints, What::Switch(state, next, _)) => {
                let bits = ["R", "S", "D", "T", "t", "X", "Z", "P", "I", "R+"];
                let bit = bits.iter().position(|name| name == state).expect("a state");
                let bits = if bit == 0 { 0 } else { 1 << (bit - 1) };
                (0, vec![Cell::I64(bits), Cell::Text(host.id(&next.comm)), signed(next.tid)])
            }
            (Self::Tracepoints, What::Wakeup(who, cpu)) => (1, woken(who, *cpu, 0, host)),
            (Self::Tracepoints, What::Waking(who, cpu)) => (2, woken(who, *cpu, 0, host)),
            (Self::Tracepoints, What::New(who, cpu)) => (3, woken(who, *cpu, 0, host)),
            (Self::Tracepoints, What::Exit) => (4, vec![Cell::Null, Cell::I64(0), Cell::I64(120)]),
        })
    }

    /// The rows of some events, by stream.
    pub(crate) fn batches(self, events: &[Event], host: &mut Host) -> Vec<Batch> {
        let mut batches: Vec<Batch> = self.streams().iter().map(Batch::empty).collect();
        for Event { time, cpu, current, what } in events {
            let comm = host.id(&current.comm);
            let Some((stream, own)) = self.cells(what, host) else { continue };
            let mut row = Row::common(*time, *cpu, [current.pid, current.tid], comm);
            row.cells.extend(own);
            assert!(row.append(&mut batches[stream], |id| id, |stack| stack), "a row fits");
        }
        batches
    }

    /// Pushes events in parts of so many, as they come while a capture is recorded.
    pub(crate) fn feed(self, rule: &mut dyn Rule, events: &[Event], part: usize, host: &mut Host) {
        for part in events.chunks(part.max(1)) {
            for (stream, batch) in (0..).zip(self.batches(part, host)) {
                rule.push(stream, Arc::new(batch), host);
            }
            rule.advance(part.last().map_or(0, |event| event.time), host);
        }
    }
}

/// A state of a thread.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct State {
    pub(crate) tid: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) state: String,
    pub(crate) cpu: u32,
    pub(crate) waker: u32,
    pub(crate) unknown: String,
}

/// A run of a thread on a CPU, with the state in which it left; or a latency, with the waker.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OnCpu {
    pub(crate) cpu: u32,
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) tid: u32,
    pub(crate) told: String,
    pub(crate) unknown: String,
}

/// What thread states say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) states: Vec<State>,
    pub(crate) occupation: Vec<OnCpu>,
    pub(crate) latencies: Vec<OnCpu>,
}

/// Reads all rows of a rule of thread states.
pub(crate) fn told(rule: &dyn Rule, host: &Host) -> Told {
    let streams = rule.streams();
    let number = |row: &BTreeMap<String, String>, name: &str| row[name].parse::<u64>().unwrap();
    let small = |row: &BTreeMap<String, String>, name: &str| number(row, name) as u32;
    let check = |row: &BTreeMap<String, String>| {
        let tid = small(row, "tid");
        assert_eq!((small(row, "pid"), row["comm"].as_str()), (who(tid).pid, who(tid).comm.as_str()), "{row:?}");
        (tid, number(row, "time"), number(row, "time") + number(row, "duration_ns"))
    };
    let mut told = Told::default();
    for row in host.table(&streams[0], 0) {
        let (tid, start, end) = check(&row);
        let (state, unknown) = (row["state"].clone(), row["unknown"].clone());
        let (cpu, waker) = (small(&row, "cpu"), small(&row, "waker_tid"));
        told.states.push(State { tid, start, end, state, cpu, waker, unknown });
    }
    let on_cpu = |row: BTreeMap<String, String>, told: &str| {
        let (tid, start, end) = check(&row);
        OnCpu { cpu: small(&row, "cpu"), start, end, tid, told: row[told].clone(), unknown: row["unknown"].clone() }
    };
    told.occupation = host.table(&streams[1], 1).into_iter().map(|row| on_cpu(row, "state")).collect();
    told.latencies = host.table(&streams[2], 2).into_iter().map(|row| on_cpu(row, "waker_tid")).collect();
    told.states.sort();
    told.occupation.sort();
    told.latencies.sort();
    told
}
