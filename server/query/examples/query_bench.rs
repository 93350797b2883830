//! Rows per second of queries over made-up events that are kept as encoded chunks:
//! `cargo run --release -p bathyscope-query --example query_bench [ROWS]`.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a measurement")]

use std::{
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnType, Display, EncodedChunk, Loss, MAX_CHUNK_ROWS, StreamKind, StreamSchema,
    decode_chunk, encode_chunk,
};
use bathyscope_query::{Capture, Limits, run};
use bathyscope_views::{ChunkMeta, Dictionaries, Source, ViewError};

/// Chunks as the store has them; each is decoded whenever it is read.
struct Stored {
    schemas: Vec<StreamSchema>,
    chunks: Vec<EncodedChunk>,
    metas: Vec<ChunkMeta>,
    dictionaries: Dictionaries,
}

impl Source for Stored {
    fn origin_ns(&self) -> u64 {
        1_000_000_000
    }

    fn streams(&self) -> &[StreamSchema] {
        &self.schemas
    }

    fn chunks(&self, _stream: u16) -> &[ChunkMeta] {
        &self.metas
    }

    fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        let bytes = &self.chunks.get(chunk).unwrap().bytes;
        let batch = decode_chunk(self.schemas.first().unwrap(), bytes, wanted);
        batch.map(Arc::new).map_err(|source| ViewError::Chunk { stream, chunk, source })
    }

    fn dictionaries(&self) -> &Dictionaries {
        &self.dictionaries
    }

    fn losses(&self) -> &[Loss] {
        &[]
    }
}

fn made(rows: usize) -> Stored {
    let column = |name: &str, display| Column { name: name.to_owned(), ty: ColumnType::U64, display };
    let own = [column("dur", Display::DurationNs), column("prio", Display::Decimal)];
    let schema = StreamSchema::new("sched:sched_switch", StreamKind::Events, own);
    let mut dictionaries = Dictionaries::default();
    for id in 1..=200_u32 {
        dictionaries.insert_string(id, format!("thread-{id}").into_bytes());
    }
    let mut state = 88_172_645_463_325_252_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let (mut time, mut chunks, mut left) = (1_000_000_000_u64, Vec::new(), rows);
    while left > 0 {
        let count = left.min(MAX_CHUNK_ROWS);
        left -= count;
        let mut columns: [Vec<u64>; 6] = Default::default();
        let mut comms = Vec::new();
        for _ in 0..count {
            let bits = random();
            time += bits % 2000;
            let thread = bits >> 20 & 0xff;
            let values = [time, bits >> 11 & 7, thread / 4 + 100, thread + 100, bits >> 30 & 0xf_ffff, 120];
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            comms.push((thread % 200) as u32 + 1);
        }
        let [times, cpus, pids, tids, durs, prios] = columns.map(ColumnData::U64);
        let columns = vec![times, cpus, pids, tids, ColumnData::Id(comms), durs, prios];
        chunks.push(encode_chunk(&schema, &Batch { columns }).unwrap());
    }
    let metas = chunks.iter().map(ChunkMeta::from).collect();
    Stored { schemas: vec![schema], chunks, metas, dictionaries }
}

/// What this thread has run so far, which says more than the clock on a busy machine.
fn cpu_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<f64>().unwrap() / 1e9
}

fn main() {
    let rows = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(10_000_000);
    let stored = made(rows);
    let bytes: usize = stored.chunks.iter().map(|chunk| chunk.bytes.len()).sum();
    println!("{rows} rows in {} chunks, {} MiB", stored.chunks.len(), bytes >> 20);
    let capture = Capture::new(Arc::new(stored));
    let cancel = Arc::new(AtomicBool::new(false));
    let limits = Limits { time: std::time::Duration::from_secs(120), memory: 2 << 30, ..Limits::USUAL };
    let queries = [
        "select count(*) from sched_switch",
        "select sum(dur) from sched_switch",
        "select count(*), sum(dur), max(prio) from sched_switch",
        "select cpu, count(*) from sched_switch group by cpu",
        "select cpu, count(*), sum(dur) from sched_switch group by cpu",
        "select comm, count(*) from sched_switch group by comm",
        "select comm, cpu, count(*), max(dur) from sched_switch group by comm, cpu",
        "select +cpu, count(*) from sched_switch group by +cpu",
        "select count(*) from sched_switch where dur > 1000000 and pid = 120",
        "select count(*) from sched_switch where comm = 'thread-7'",
        "select count(*), sum(dur) from sched_switch where time between 5000000000 and 5100000000",
        "select * from sched_switch order by time desc limit 100",
        "select percentile(dur, 99) from sched_switch",
        "select hist(dur) from sched_switch",
        "select time / 100000000, count(*) from sched_switch group by 1",
    ];
    for sql in queries {
        let (began, cpu) = (Instant::now(), cpu_seconds());
        match run(&capture, sql, &limits, &cancel) {
            Ok(answer) => {
                let seconds = began.elapsed().as_secs_f64();
                let (cpu, read) = (cpu_seconds() - cpu, answer.scanned.chunks);
                let rate = rows as f64 / cpu / 1e6;
                println!(
                    "{:8.1} ms, {:8.1} ms of CPU, {rate:8.1} M rows/s {read:4} chunks  {sql}",
                    seconds * 1e3,
                    cpu * 1e3
                );
            }
            Err(error) => println!("   error {sql}: {error}"),
        }
    }
}
