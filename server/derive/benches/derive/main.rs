//! What thread states and spans cost: `cargo bench -p bathyscope-derive` makes 10 million switches, or as many millions as
//! `-- N` says, and derives from them chunk by chunk, as from a store. Making and decoding the recorded rows is not counted;
//! coding the derived ones is told apart.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints its readings")]

mod machine;

use std::{collections::VecDeque, sync::Arc, time::Duration};

use bathyscope_capture::{
    Batch, BuiltPage, Column, ColumnData, ColumnType, Display, MAX_CHUNK_ROWS, StreamKind, StreamSchema,
    StringDictionary, StringId, TrackIndexBuilder, TrackRule, encode_chunk,
};
use bathyscope_derive::{DerivationHost, Rule, Span, SpanEdge, SpanPairing, Spans, ThreadStates, ThreadStatesOptions};
use machine::{CPUS, Machine, Noise, THREADS};

const START_NS: u64 = 1 << 40;

/// Takes derived rows, codes them, and forgets them.
struct Host {
    strings: StringDictionary,
    texts: Vec<Vec<u8>>,
    schemas: Vec<StreamSchema>,
    rows: Vec<u64>,
    bytes: Vec<u64>,
    columns: Vec<Vec<usize>>,
    coding: Duration,
    tracks: Vec<Option<TrackIndexBuilder>>,
    track_bytes: Vec<u64>,
    indexing: Duration,
}

impl Host {
    fn new() -> Self {
        let (rows, bytes, columns) = (vec![0; 3], vec![0; 3], vec![Vec::new(); 3]);
        let (strings, texts, schemas) = (StringDictionary::default(), Vec::new(), Vec::new());
        let (tracks, track_bytes) = (Vec::new(), vec![0; 3]);
        let (coding, indexing) = (Duration::ZERO, Duration::ZERO);
        Self { strings, texts, schemas, rows, bytes, columns, coding, tracks, track_bytes, indexing }
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
        let begin = cpu_time();
        if self.tracks.is_empty() {
            self.tracks = self.schemas.iter().map(|one| TrackRule::of(one).map(TrackIndexBuilder::new)).collect();
        }
        if let Some(tracks) = &mut self.tracks[output] {
            tracks.add(&rows);
            self.track_bytes[output] += bytes_of(&tracks.take_full_pages());
        }
        self.indexing += cpu_time() - begin;
        self.rows[output] += u64::from(chunk.rows);
        self.bytes[output] += chunk.bytes.len() as u64;
        if self.columns[output].is_empty() {
            self.columns[output] = columns_of(&chunk.bytes, rows.columns.len());
        }
    }
}

fn bytes_of(pages: &[BuiltPage]) -> u64 {
    pages.iter().map(|page| page.bytes.len() as u64).sum()
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
    let options = ThreadStatesOptions { start_ns: Some(START_NS), ..ThreadStatesOptions::default() };
    let mut rule = ThreadStates::new(&streams(), &options, &mut host).expect("a rule");
    host.schemas = rule.streams().to_vec();
    let mut machine = Machine::new(alike, START_NS, |text| u64::from(host.string_id(text)));
    let [switch, wakeup] = <[StreamSchema; 2]>::try_from(streams()).expect("two streams");
    let mut recorded = [Rows::new(switch), Rows::new(wakeup)];
    let (mut taken, mut made, mut wakeups, mut now) = (Duration::ZERO, 0, 0, 0);
    while made < switches {
        let Some((time, stream, row)) = machine.next_event() else { break };
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
    for (output, tracks) in host.tracks.iter_mut().enumerate() {
        host.track_bytes[output] += tracks.as_mut().map_or(0, |tracks| bytes_of(&tracks.take_pages()));
    }
    let deriving = taken - host.coding - host.indexing;
    println!("{made} switches and {wakeups} wake-ups of {THREADS} threads on {CPUS} CPUs:");
    println!(
        "  derived in {:.2} s ({:.0} ns a switch), coded in {:.2} s, tracks in {:.2} s; at most {} MiB, with what makes the rows",
        deriving.as_secs_f64(),
        deriving.as_secs_f64() * 1e9 / made as f64,
        host.coding.as_secs_f64(),
        host.indexing.as_secs_f64(),
        most_memory() >> 20
    );
    for (output, schema) in host.schemas.iter().enumerate() {
        let (rows, bytes) = (host.rows[output], host.bytes[output]);
        let tracks = host.track_bytes[output] as f64 / rows as f64;
        println!(
            "  {}: {rows} rows, {:.2} bytes each, and {tracks:.2} in tracks",
            schema.name,
            bytes as f64 / rows as f64
        );
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
    for (output, tracks) in host.tracks.iter_mut().enumerate() {
        host.track_bytes[output] += tracks.as_mut().map_or(0, |tracks| bytes_of(&tracks.take_pages()));
    }
    let deriving = taken - host.coding - host.indexing;
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
