//! Makes captures of made-up events, as many as are asked for, and tells what it took to store them:
//!
//! ```text
//! cargo run --release -p bathyscope-tests --bin make_captures DIRECTORY EVENTS [switches | calls | samples | states ...]
//! ```
//!
//! `switches` are scheduler switches with the wake-ups before them, `calls` system calls with their arguments as text,
//! `samples` stacks sampled in turn on all CPUs; only if asked for, `states` switches and wake-ups that fit together, as
//! the source of thread states records them, `graph` nested calls of functions of the kernel, and `stacks` samples of
//! which no two have the same stack, `hostile` samples whose names try to be something else than text, and `wide` samples of as
//! many frames as a flame graph has at most, all of them wider than a pixel. With `library` it is so many captures without events. What makes them like those of a busy host of 16 CPUs: few threads and
//! functions have most of the events, most are short and some very long, and a call's text is often one seen before. The
//! same captures are made on every run. `tests/bench/captures.mjs` measures reading them.
//!
//! For each capture one line of JSON says: how many events and bytes; processor time of encoding and storing, which is
//! that of all threads, and how long it took; peak memory when half and when all was stored.
#![expect(clippy::print_stdout, reason = "a measuring program")]

mod calls;
mod dice;
mod distinct;
mod graph;
mod hostile;
#[path = "../../../../server/views/tests/suite/fixture/hostile_names.rs"]
mod hostile_names;
#[path = "../../../../server/derive/benches/derive/machine.rs"]
mod machine;
mod samples;
mod states;
mod switches;
mod wide;

use std::{
    error::Error,
    path::Path,
    time::{Duration, Instant},
};

use bathyscope_capture::{
    Append, Batch, CaptureId, CaptureSpec, Column, ColumnData, ColumnType, Display, HostFacts, Ledger, MAX_CHUNK_ROWS,
    Method, StreamSchema, StreamTotals, Target, encode_chunk,
};
use bathyscope_store::{CaptureState, End, NewCapture, Options, Store};
use rustix::time::{ClockId, clock_gettime};

/// When made-up captures begin, on both clocks.
const START_NS: u64 = 3_600_000_000_000;
const STARTED_UNIX_NS: i64 = 1_767_225_600_000_000_000;

/// Something that makes events without end.
trait Maker {
    fn method(&self) -> Method;
    fn schemas(&self) -> Vec<StreamSchema>;
    /// What all rows refer to; stored before the first.
    fn dictionaries(&self) -> Append;
    /// What rows refer to that came since the last call; stored with the rows.
    fn new_entries(&mut self) -> Append {
        Append::default()
    }
    /// Adds the columns of one event, as words in the order of its stream's schema, to that stream's rows.
    fn event(&mut self, streams: &mut [Rows]) -> u16;
    /// The time of the last event.
    fn now_ns(&self) -> u64;
    /// What the capture is called, if not by its number of events.
    fn title(&self) -> Option<String> {
        None
    }
}

/// Rows of a stream that are not stored yet, column by column.
struct Rows {
    schema: StreamSchema,
    columns: Vec<Vec<u64>>,
    stored: u64,
}

impl Rows {
    fn new(schema: StreamSchema) -> Self {
        let columns = schema.columns.iter().map(|_| Vec::with_capacity(MAX_CHUNK_ROWS)).collect();
        Self { schema, columns, stored: 0 }
    }

    fn push(&mut self, values: &[u64]) {
        self.columns.iter_mut().zip(values).for_each(|(column, value)| column.push(*value));
    }

    fn len(&self) -> usize {
        self.columns.first().map_or(0, Vec::len)
    }

    fn take(&mut self) -> Batch {
        self.stored += self.len() as u64;
        let columns = self.schema.columns.iter().zip(&mut self.columns).map(|(column, values)| {
            let values = std::mem::replace(values, Vec::with_capacity(MAX_CHUNK_ROWS));
            match column.ty {
                ColumnType::U64 => ColumnData::U64(values),
                ColumnType::I64 => ColumnData::I64(values.into_iter().map(u64::cast_signed).collect()),
                ColumnType::Text | ColumnType::Stack => {
                    ColumnData::Id(values.into_iter().map(|id| u32::try_from(id).unwrap_or(0)).collect())
                }
            }
        });
        Batch { columns: columns.collect() }
    }
}

/// A column of a stream's own.
fn column(name: &str, ty: ColumnType) -> Column {
    let display = match ty {
        ColumnType::Text | ColumnType::Stack => Display::Text,
        _ if name == "duration_ns" => Display::DurationNs,
        _ => Display::Decimal,
    };
    Column { name: name.to_owned(), ty, display }
}

/// Processor time of all threads so far.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(now.tv_sec.unsigned_abs(), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// The most memory that this process ever had, in bytes.
fn peak_memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()).unwrap_or(0) << 10
}

/// What storing took.
#[derive(Default)]
struct Cost {
    encode_cpu: Duration,
    store_cpu: Duration,
    wall: Duration,
}

async fn store_rows(
    store: &Store,
    id: CaptureId,
    stream: u16,
    rows: &mut Rows,
    entries: Append,
    cost: &mut Cost,
) -> Result<(), Box<dyn Error>> {
    let batch = rows.take();
    let (began, before) = (Instant::now(), cpu_time());
    let chunk = encode_chunk(&rows.schema, &batch)?;
    let encoded = cpu_time();
    let end_ns = chunk.last_ns;
    store.append(id, Append { chunks: vec![(stream, chunk)], end_ns, ..entries }).await?;
    cost.encode_cpu += encoded - before;
    cost.store_cpu += cpu_time() - encoded;
    cost.wall += began.elapsed();
    Ok(())
}

async fn make(store: &Store, id: CaptureId, what: &str, events: u64) -> Result<(), Box<dyn Error>> {
    let mut maker: Box<dyn Maker> = match what {
        "switches" => Box::new(switches::Switches::new()),
        "calls" => Box::new(calls::Calls::new()),
        "samples" => Box::new(samples::Samples::new()),
        "states" => Box::new(states::States::new()),
        "graph" => Box::new(graph::Graph::new()),
        "stacks" => Box::new(distinct::Distinct::new()),
        "hostile" => Box::new(hostile::Hostile::new()),
        "wide" => Box::new(wide::Wide::default()),
        other => {
            let known = "switches, calls, samples, states, graph, stacks, hostile, wide";
            return Err(format!("no events are called `{other}`; there are: {known}").into());
        }
    };
    let mut streams: Vec<Rows> = maker.schemas().into_iter().map(Rows::new).collect();
    store
        .create(NewCapture {
            id,
            title: maker.title().unwrap_or_else(|| format!("{events} {what}")),
            owner: "bench".to_owned(),
            spec: CaptureSpec::of(maker.method(), Target::System),
            host: HostFacts::default(),
            streams: maker.schemas(),
            started_unix_ns: STARTED_UNIX_NS,
            start_ns: START_NS,
            simulated: true,
            firing: None,
        })
        .await?;
    store.append(id, maker.dictionaries()).await?;
    let (mut cost, mut half_peak) = (Cost::default(), 0);
    for number in 0..events {
        let stream = maker.event(&mut streams);
        if let Some(rows) = streams.get_mut(usize::from(stream)).filter(|rows| rows.len() == MAX_CHUNK_ROWS) {
            store_rows(store, id, stream, rows, maker.new_entries(), &mut cost).await?;
        }
        if number == events / 2 {
            half_peak = peak_memory();
        }
    }
    for (stream, rows) in (0..).zip(&mut streams).filter(|(_, rows)| rows.len() > 0) {
        store_rows(store, id, stream, rows, maker.new_entries(), &mut cost).await?;
    }
    finish(store, id, &streams, maker.now_ns()).await?;
    tell(store, id, what, events, &cost, half_peak).await
}

async fn finish(store: &Store, id: CaptureId, streams: &[Rows], end_ns: u64) -> Result<(), Box<dyn Error>> {
    let of = |rows: &Rows| StreamTotals {
        hits: rows.stored,
        emitted: rows.stored,
        stored: rows.stored,
        ..StreamTotals::default()
    };
    let ledger = Ledger { streams: streams.iter().map(of).collect(), losses: vec![] };
    let end = End {
        state: CaptureState::Finished,
        reason: String::new(),
        end_ns,
        ledger,
        readings: vec![],
        script: None,
        sources: Vec::new(),
    };
    Ok(store.finish(id, end).await?)
}

async fn tell(
    store: &Store,
    id: CaptureId,
    what: &str,
    events: u64,
    cost: &Cost,
    half_peak: u64,
) -> Result<(), Box<dyn Error>> {
    let capture = store.capture(id).await?;
    println!(
        "{{\"id\":\"{id}\",\"what\":\"{what}\",\"events\":{events},\"chunk_bytes\":{},\"all_bytes\":{},\"encode_cpu_s\":{:.3},\
         \"store_cpu_s\":{:.3},\"wall_s\":{:.3},\"half_peak_bytes\":{half_peak},\"peak_bytes\":{}}}",
        capture.chunk_bytes,
        capture.size_bytes,
        cost.encode_cpu.as_secs_f64(),
        cost.store_cpu.as_secs_f64(),
        cost.wall.as_secs_f64(),
        peak_memory(),
    );
    Ok(())
}

/// Makes captures without events, an hour apart.
async fn make_library(store: &Store, captures: u64) -> Result<(), Box<dyn Error>> {
    for number in 1..=captures {
        let id = CaptureId::from_bits(number << 20 | 1);
        let new = NewCapture {
            id,
            title: format!("capture {number}"),
            owner: "bench".to_owned(),
            spec: CaptureSpec::of(switches::Switches::new().method(), Target::System),
            host: HostFacts::default(),
            streams: Vec::new(),
            started_unix_ns: STARTED_UNIX_NS + number.cast_signed() * 3_600_000_000_000,
            start_ns: START_NS,
            simulated: true,
            firing: None,
        };
        store.create(new).await?;
        finish(store, id, &[], START_NS + 1).await?;
    }
    store.index_texts().await?;
    store.close().await;
    println!("{{\"captures\":{captures}}}");
    Ok(())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut words = std::env::args().skip(1);
    let usage = "make_captures DIRECTORY EVENTS [switches | calls | samples | states | graph | stacks ...]";
    let directory = words.next().ok_or(usage)?;
    let events: u64 = words.next().and_then(|word| word.replace('_', "").parse().ok()).ok_or(usage)?;
    let mut wanted: Vec<String> = words.collect();
    if wanted.is_empty() {
        wanted = ["switches", "calls", "samples"].map(str::to_owned).to_vec();
    }
    std::fs::create_dir_all(&directory)?;
    let store = Store::open(Path::new(&directory), Options::default()).await?;
    if wanted == ["library"] {
        return make_library(&store, events).await;
    }
    for (number, what) in (1..).zip(&wanted) {
        make(&store, CaptureId::from_bits(events << 8 | number), what, events).await?;
    }
    store.close().await;
    Ok(())
}
