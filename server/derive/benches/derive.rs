//! What thread states and spans cost: `cargo bench -p bathyscope-derive` makes 10 million switches, or as many millions as
//! `-- N` says, and derives from them chunk by chunk, as from a store. Making and decoding the recorded rows is not counted;
//! coding the derived ones is told apart.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints its readings")]

use std::{
    collections::{BinaryHeap, VecDeque},
    sync::Arc,
    time::Duration,
};

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnType, Display, MAX_CHUNK_ROWS, StreamKind, StreamSchema, StringDictionary,
    StringId, encode_chunk,
};
use bathyscope_derive::{DerivationHost, Rule, Span, SpanEdge, SpanPairing, Spans, ThreadStates, ThreadStatesOptions};

const CPUS: u64 = 16;
const THREADS: u64 = 400;
const START_NS: u64 = 1 << 40;

/// Numbers that look random and are the same every time.
struct Noise(u64);

impl Noise {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }

    /// Mostly around `middle`, now and then far more, as times of runs and sleeps are.
    fn around(&mut self, middle: u64) -> u64 {
        let factor = 1 << self.below(8);
        1 + middle * factor / 16 + self.below(middle)
    }
}

/// Takes derived rows, codes them, and forgets them.
struct Host {
    strings: StringDictionary,
    texts: Vec<Vec<u8>>,
    schemas: Vec<StreamSchema>,
    rows: Vec<u64>,
    bytes: Vec<u64>,
    columns: Vec<Vec<usize>>,
    coding: Duration,
}

impl Host {
    fn new() -> Self {
        let (rows, bytes, columns) = (vec![0; 3], vec![0; 3], vec![Vec::new(); 3]);
        let (strings, texts, schemas) = (StringDictionary::default(), Vec::new(), Vec::new());
        Self { strings, texts, schemas, rows, bytes, columns, coding: Duration::ZERO }
    }
}

impl DerivationHost for Host {
    fn string_id(&mut self, text: &[u8]) -> StringId {
        let id = self.strings.id(text);
        if id as usize > self.texts.len() {
            self.texts.push(text.to_vec());
        }
        id
    }

    fn string(&mut self, id: StringId) -> Option<Vec<u8>> {
        self.texts.get((id as usize).checked_sub(1)?).cloned()
    }

    fn rows(&mut self, output: usize, rows: Batch) {
        let begin = cpu_time();
        let chunk = encode_chunk(&self.schemas[output], &rows).expect("a chunk");
        self.coding += cpu_time() - begin;
        self.rows[output] += u64::from(chunk.rows);
        self.bytes[output] += chunk.bytes.len() as u64;
        if self.columns[output].is_empty() {
            self.columns[output] = columns_of(&chunk.bytes, rows.columns.len());
        }
    }
}

/// Bytes of each column of a chunk, by its directory.
fn columns_of(chunk: &[u8], columns: usize) -> Vec<usize> {
    let length = |at: usize| u32::from_le_bytes(chunk[16 + 28 * at + 4..16 + 28 * at + 8].try_into().unwrap()) as usize;
    (0..columns).map(length).collect()
}

fn column(name: &str, ty: ColumnType) -> Column {
    Column { name: name.to_owned(), ty, display: Display::Decimal }
}

fn schema(name: &str, own: &[(&str, ColumnType)]) -> StreamSchema {
    StreamSchema::new(name, StreamKind::Events, own.iter().map(|(name, ty)| column(name, *ty)))
}

fn streams() -> Vec<StreamSchema> {
    use ColumnType::{Text, U64};
    vec![
        schema("switches", &[("state", Text), ("next_pid", U64), ("next_tid", U64), ("next_comm", Text)]),
        schema(
            "wakeups",
            &[("wakee_pid", U64), ("wakee_tid", U64), ("wakee_comm", Text), ("target_cpu", U64), ("new", U64)],
        ),
    ]
}

/// Rows of one stream by column, until they are a chunk.
struct Rows {
    schema: StreamSchema,
    columns: Vec<Vec<u64>>,
}

impl Rows {
    fn new(schema: StreamSchema) -> Self {
        let columns = vec![Vec::with_capacity(MAX_CHUNK_ROWS); schema.columns.len()];
        Self { schema, columns }
    }

    fn push(&mut self, row: &[u64]) {
        self.columns.iter_mut().zip(row).for_each(|(column, word)| column.push(*word));
    }

    fn is_full(&self) -> bool {
        self.columns[0].len() >= MAX_CHUNK_ROWS
    }

    fn take(&mut self) -> Batch {
        let typed = |(words, column): (Vec<u64>, &Column)| match column.ty {
            ColumnType::U64 => ColumnData::U64(words),
            ColumnType::I64 => ColumnData::I64(words.into_iter().map(u64::cast_signed).collect()),
            ColumnType::Text | ColumnType::Stack => ColumnData::Id(words.into_iter().map(|word| word as u32).collect()),
        };
        let taken = std::mem::replace(self, Self::new(self.schema.clone()));
        Batch { columns: taken.columns.into_iter().zip(&taken.schema.columns).map(typed).collect() }
    }
}

/// A machine: some threads are busy and often preempted, most sleep and are woken by others.
struct Machine {
    noise: Noise,
    /// What comes next: the time, and the CPU that switches, or the thread that is woken.
    events: BinaryHeap<std::cmp::Reverse<(u64, u64)>>,
    running: [u64; CPUS as usize],
    queues: Vec<VecDeque<u64>>,
    comms: Vec<u64>,
    states: [u64; 3],
    now: u64,
    /// Whether all threads do as much, or few of them do most.
    alike: bool,
}

/// In [`Machine::events`] threads come after the CPUs.
const FIRST_THREAD: u64 = CPUS;

impl Machine {
    fn new(alike: bool, host: &mut Host) -> Self {
        let comms =
            (0..=THREADS).map(|tid| u64::from(host.string_id(format!("worker-{}", tid % 40).as_bytes()))).collect();
        let states = ["R", "S", "D"].map(|name| u64::from(host.string_id(name.as_bytes())));
        let queues = vec![VecDeque::new(); CPUS as usize];
        let (noise, events, running) = (Noise(7), BinaryHeap::new(), [0; CPUS as usize]);
        let mut made = Self { noise, events, running, queues, comms, states, now: START_NS, alike };
        for tid in 1..=THREADS {
            let time = START_NS + made.noise.below(1_000_000);
            made.events.push(std::cmp::Reverse((time, FIRST_THREAD + tid)));
        }
        made
    }

    fn task(&self, tid: u64) -> [u64; 3] {
        if tid == 0 { [0, 0, self.comms[0]] } else { [1000 + tid / 4 * 4, 1000 + tid, self.comms[tid as usize]] }
    }

    /// The next event: into which stream, and its row.
    fn next(&mut self) -> Option<(u64, usize, Vec<u64>)> {
        while let Some(std::cmp::Reverse((time, what))) = self.events.pop() {
            // No two things happen at a time.
            let time = time.max(self.now + 1);
            self.now = time;
            if what > FIRST_THREAD {
                return Some((time, 1, self.wake(time, what - FIRST_THREAD)));
            }
            if let Some(row) = self.switch(time, what as usize) {
                return Some((time, 0, row));
            }
        }
        None
    }

    fn wake(&mut self, time: u64, tid: u64) -> Vec<u64> {
        let waker_cpu = self.noise.below(CPUS);
        // Mostly where it ran before.
        let target = if self.noise.below(8) == 0 { self.noise.below(CPUS) } else { tid % CPUS };
        self.queues[target as usize].push_back(tid);
        if self.running[target as usize] == 0 {
            let soon = time + self.noise.around(2000);
            self.events.push(std::cmp::Reverse((soon, target)));
        }
        let [pid, by, comm] = self.task(self.running[waker_cpu as usize]);
        let [wakee_pid, wakee, wakee_comm] = self.task(tid);
        vec![time, waker_cpu, pid, by, comm, wakee_pid, wakee, wakee_comm, target, 0]
    }

    fn switch(&mut self, time: u64, cpu: usize) -> Option<Vec<u64>> {
        let prev = self.running[cpu];
        let next = self.queues[cpu].pop_front().unwrap_or(0);
        if prev == next {
            return None;
        }
        let mut state = self.states[0];
        if prev != 0 {
            if self.noise.below(6) == 0 {
                self.queues[cpu].push_back(prev);
            } else {
                state = self.states[if self.noise.below(10) == 0 { 2 } else { 1 }];
                // The first threads sleep far shorter than the last.
                let rest = if self.alike { 200_000 } else { 2000 * prev * prev / 16 + 20_000 };
                let wake = time + self.noise.around(rest);
                self.events.push(std::cmp::Reverse((wake, FIRST_THREAD + prev)));
            }
        }
        self.running[cpu] = next;
        if next != 0 {
            let run = time + self.noise.around(10_000);
            self.events.push(std::cmp::Reverse((run, cpu as u64)));
        }
        let ([pid, tid, comm], [next_pid, next_tid, next_comm]) = (self.task(prev), self.task(next));
        Some(vec![time, cpu as u64, pid, tid, comm, state, next_pid, next_tid, next_comm])
    }
}

/// For how long this thread has run on a CPU: other work on the machine does not count.
fn cpu_time() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(0))
}

/// The most memory that this process had, in bytes.
fn most_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok()).unwrap_or(0) << 10
}

fn states(switches: u64, alike: bool) {
    let mut host = Host::new();
    let options = ThreadStatesOptions { start_ns: Some(START_NS), processes: None };
    let mut rule = ThreadStates::new(&streams(), &options, &mut host).expect("a rule");
    host.schemas = rule.streams().to_vec();
    let mut machine = Machine::new(alike, &mut host);
    let [switch, wakeup] = <[StreamSchema; 2]>::try_from(streams()).expect("two streams");
    let mut recorded = [Rows::new(switch), Rows::new(wakeup)];
    let (mut taken, mut made, mut wakeups, mut now) = (Duration::ZERO, 0, 0, 0);
    while made < switches {
        let Some((time, stream, row)) = machine.next() else { break };
        recorded[stream].push(&row);
        made += u64::from(stream == 0);
        wakeups += u64::from(stream == 1);
        now = time;
        if recorded[stream].is_full() {
            let rows = Arc::new(recorded[stream].take());
            // What the other stream has is of the same time, and not a chunk yet.
            let other = Arc::new(recorded[1 - stream].take());
            let begin = cpu_time();
            rule.push(stream as u16, rows, &mut host);
            rule.push(1 - stream as u16, other, &mut host);
            rule.advance(time, &mut host);
            taken += cpu_time() - begin;
        }
    }
    let begin = cpu_time();
    rule.finish(now, &mut host);
    taken += cpu_time() - begin;
    let deriving = taken - host.coding;
    println!("{made} switches and {wakeups} wake-ups of {THREADS} threads on {CPUS} CPUs:");
    println!(
        "  derived in {:.2} s ({:.0} ns a switch), coded in {:.2} s; at most {} MiB, with what makes the rows",
        deriving.as_secs_f64(),
        deriving.as_secs_f64() * 1e9 / made as f64,
        host.coding.as_secs_f64(),
        most_memory() >> 20
    );
    for (output, schema) in host.schemas.iter().enumerate() {
        let (rows, bytes) = (host.rows[output], host.bytes[output]);
        println!("  {}: {rows} rows, {:.2} bytes each", schema.name, bytes as f64 / rows as f64);
        let of_column = |(column, bytes): (&Column, &usize)| {
            format!("{} {:.2}", column.name, *bytes as f64 / MAX_CHUNK_ROWS as f64)
        };
        let columns: Vec<String> = schema.columns.iter().zip(&host.columns[output]).map(of_column).collect();
        println!("    in its first chunk: {}", columns.join(", "));
    }
    println!("  {:?}", rule.counts());
}

fn spans(pairs: u64) {
    let mut host = Host::new();
    let own = [("dev", ColumnType::U64), ("sector", ColumnType::U64)];
    let streams = [schema("begins", &own), schema("ends", &own)];
    let key = || own.map(|(name, _)| name.to_owned()).into();
    let edge = |stream: &str| SpanEdge { stream: stream.to_owned(), key: key(), condition: None };
    let pairing = SpanPairing::Exclusive;
    let span =
        Span { name: "requests".to_owned(), begin: edge("begins"), end: edge("ends"), pairing, carried: Vec::new() };
    let mut rule = Spans::new(&span, &streams, &mut host).expect("a rule");
    host.schemas = rule.streams().to_vec();
    let [begins, ends] = streams;
    let mut recorded = [Rows::new(begins), Rows::new(ends)];
    let (mut noise, mut open, mut time, mut taken) = (Noise(7), VecDeque::new(), START_NS, Duration::ZERO);
    for _ in 0..pairs {
        time += noise.around(1000);
        let key = (noise.below(4), noise.below(1 << 40));
        recorded[0].push(&[time, noise.below(CPUS), 1000, 1000 + noise.below(THREADS), 1, key.0, key.1]);
        open.push_back(key);
        if open.len() > 64 {
            let at = noise.below(32) as usize;
            let key = open.remove(at).expect("an open one");
            recorded[1].push(&[time + 1, noise.below(CPUS), 0, 0, 1, key.0, key.1]);
        }
        if recorded.iter().any(Rows::is_full) {
            let rows = [0, 1].map(|stream| Arc::new(recorded[stream].take()));
            let begin = cpu_time();
            for (stream, rows) in (0..).zip(rows) {
                rule.push(stream, rows, &mut host);
            }
            rule.advance(time, &mut host);
            taken += cpu_time() - begin;
        }
    }
    let begin = cpu_time();
    rule.finish(time, &mut host);
    taken += cpu_time() - begin;
    let deriving = taken - host.coding;
    println!(
        "{} spans of {pairs} begins: derived in {:.2} s ({:.0} ns each), coded in {:.2} s, {:.2} bytes each",
        host.rows[0],
        deriving.as_secs_f64(),
        deriving.as_secs_f64() * 1e9 / host.rows[0] as f64,
        host.coding.as_secs_f64(),
        host.bytes[0] as f64 / host.rows[0] as f64
    );
}

fn main() {
    let millions = std::env::args().find_map(|word| word.parse::<u64>().ok()).unwrap_or(10);
    println!("threads that do as much as each other:");
    states(millions * 1_000_000, true);
    println!("few threads that do most:");
    states(millions * 1_000_000, false);
    spans(1_000_000);
}
