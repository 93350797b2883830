//! Measures storing: `cargo run --release -p bathyscope-store --example store_bench [DIRECTORY]`.
//!
//! Made-up scheduler switches (8 columns) are encoded and appended one chunk at a time, as a recorder does, once in full
//! chunks and once in small ones; then they are listed, read back and decoded, exported, imported and deleted.
#![expect(clippy::print_stdout, reason = "a measuring program")]

use std::{
    error::Error,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use bathyscope_capture::{
    Append, Batch, CaptureId, CaptureSpec, Column, ColumnData, ColumnType, Display, HostFacts, Ledger, Method,
    ProfileSpec, StreamKind, StreamSchema, Target, decode_chunk, encode_chunk,
};
use bathyscope_store::{CaptureState, End, NewCapture, Options, Store, SummaryQuery};

const ROWS: usize = 4_000_000;

/// A small generator (xorshift): the same rows on every run.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}

fn schema() -> StreamSchema {
    let column = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
    let (number, text) = (ColumnType::I64, ColumnType::Text);
    let own = [("prev_state", number), ("next_comm", text), ("next_pid", number)];
    StreamSchema::new("sched:sched_switch", StreamKind::Events, own.map(|(name, ty)| column(name, ty)))
}

/// Switches on 16 CPUs among 400 threads, of which few run most of the time.
fn switches(random: &mut Random, now_ns: &mut u64, running: &mut [u64; 16], rows: usize) -> Batch {
    let mut columns: [Vec<u64>; 6] = Default::default();
    for _ in 0..rows {
        *now_ns += 1 << random.below(11);
        let cpu = random.below(16);
        let awake = 20 + random.below(380);
        let slot = &mut running[cpu as usize % 16];
        let before = *slot;
        *slot = if before == 0 || random.below(3) == 0 { 1 + random.below(awake) } else { 0 };
        let values = [*now_ns, cpu, before + 900, before, random.below(3) % 2, *slot];
        columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
    }
    let [time, cpu, tid, before, state, next] = columns;
    let ids = |values: &[u64]| ColumnData::Id(values.iter().map(|value| *value as u32 / 2).collect());
    let signed = |values: &[u64]| ColumnData::I64(values.iter().map(|value| value.cast_signed()).collect());
    let (comm, next_comm) = (ids(&before), ids(&next));
    let pid = tid.iter().map(|tid| tid / 3 * 3).collect();
    let unsigned = [time, cpu, pid, tid].map(ColumnData::U64);
    Batch { columns: unsigned.into_iter().chain([comm, signed(&state), next_comm, signed(&next)]).collect() }
}

fn new_capture(id: CaptureId) -> NewCapture {
    let method = Method::Profile(ProfileSpec {
        frequency_hz: 99,
        kernel_stacks: true,
        user_stacks: true,
        ..ProfileSpec::default()
    });
    NewCapture {
        id,
        title: "measured".to_owned(),
        owner: "bench".to_owned(),
        spec: CaptureSpec::of(method, Target::System),
        host: HostFacts::default(),
        streams: vec![schema()],
        started_unix_ns: 0,
        start_ns: 1,
        simulated: true,
        firing: None,
    }
}

fn per_second(count: usize, took: Duration) -> f64 {
    count as f64 / took.as_secs_f64() / 1e6
}

/// Appends all rows in chunks of `rows`, one append each.
async fn append_all(store: &Store, id: CaptureId, rows: usize, count: usize) -> Result<(), Box<dyn Error>> {
    store.create(new_capture(id)).await?;
    let (mut random, mut now_ns, mut running) = (Random(88_172_645_463_325_252), 1 << 40, [0; 16]);
    let (mut encode, mut append, mut longest) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    let mut end_ns = 0;
    for number in 0..count {
        let batch = switches(&mut random, &mut now_ns, &mut running, rows);
        let start = Instant::now();
        let chunk = encode_chunk(&schema(), &batch)?;
        encode += start.elapsed();
        end_ns = chunk.last_ns;
        let strings =
            if number == 0 { (1..=200).map(|id| (id, format!("thread {id}").into_bytes())).collect() } else { vec![] };
        let start = Instant::now();
        store.append(id, Append { chunks: vec![(0, chunk)], strings, end_ns, ..Append::default() }).await?;
        append += start.elapsed();
        longest = longest.max(start.elapsed());
    }
    let ledger = Ledger { streams: vec![Default::default()], losses: vec![] };
    let end = End {
        state: CaptureState::Finished,
        reason: String::new(),
        end_ns,
        ledger,
        readings: vec![],
        script: None,
        sources: Vec::new(),
    };
    store.finish(id, end).await?;
    let capture = store.capture(id).await?;
    println!(
        "{rows:6} rows a chunk: {:.2} bytes/row; encode {:.1} M rows/s; append {:.1} M rows/s, {:.0} appends/s, the \
         longest {longest:.1?}; both {:.1} M rows/s",
        capture.chunk_bytes as f64 / (rows * count) as f64,
        per_second(rows * count, encode),
        per_second(rows * count, append),
        count as f64 / append.as_secs_f64(),
        per_second(rows * count, encode + append),
    );
    Ok(())
}

async fn read_all(store: &Store, id: CaptureId, wanted: &[usize], what: &str) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let mut rows = 0;
    for info in store.chunk_index(id, 0, 0).await? {
        let bytes = store.chunk(id, 0, info.seq).await?;
        rows += decode_chunk(&schema(), &bytes, wanted)?.rows();
    }
    println!("read and decode {what}: {:.1} M rows/s", per_second(rows, start.elapsed()));
    Ok(())
}

async fn many_captures(store: &Store) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    for number in 0..1000 {
        store.create(new_capture(CaptureId::from_bits(1000 + number))).await?;
    }
    let created = start.elapsed() / 1000;
    let start = Instant::now();
    let page = store.summaries(&SummaryQuery::parse("measured", 0)?).await?;
    println!("a capture is made in {created:.1?}; a list of {} is searched in {:.1?}", page.total, start.elapsed());
    Ok(())
}

async fn measure(dir: &Path) -> Result<(), Box<dyn Error>> {
    let store = Store::open(dir, Options::default()).await?;
    let (full, small) = (CaptureId::from_bits(1), CaptureId::from_bits(2));
    append_all(&store, full, 65_536, ROWS / 65_536).await?;
    append_all(&store, small, 2000, ROWS / 2000).await?;
    read_all(&store, full, &[0, 1, 2, 3, 4, 5, 6, 7], "all 8 columns").await?;
    read_all(&store, full, &[0, 1], "time and cpu").await?;
    let file = dir.join("bench.bathy");
    let start = Instant::now();
    store.export_file(full, &file).await?;
    println!("export {} bytes: {:.1?}", std::fs::metadata(&file)?.len(), start.elapsed());
    let start = Instant::now();
    store.delete(full).await?;
    println!("delete: {:.1?}", start.elapsed());
    let start = Instant::now();
    store.import_file(&file, "bench", 0).await?;
    println!("import, all checked: {:.1?}", start.elapsed());
    many_captures(&store).await?;
    store.close().await;
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let parent = std::env::args_os().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let dir = parent.join(format!("bathyscope-store-bench-{}", std::process::id()));
    std::fs::create_dir(&dir)?;
    let measured = measure(&dir).await;
    std::fs::remove_dir_all(&dir)?;
    measured
}
