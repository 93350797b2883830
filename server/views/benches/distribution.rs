//! Plain timings of distributions: `cargo bench -p bathyscope-views --bench distribution`. Chunks are decoded each time that they are
//! asked for, as those of a store are the first time; many rows are the same chunks again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints its readings")]

use std::{
    hint::black_box,
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnType, Display, Loss, StreamKind, StreamSchema, decode_chunk, encode_chunk,
};
use bathyscope_views::{
    ChunkMeta, Dictionaries, DistributionQuery, Filter, HEAT_ROWS, HeatAxis, HeatQuery, Source, TimeRange, ValueLimits,
    ValueScale, ViewError, distribution, heat_map,
};

const CHUNK: u64 = 1 << 16;
static GO: AtomicBool = AtomicBool::new(false);

/// Numbers that look random and are the same every time.
struct Noise(u64);

impl Noise {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Calls with a length of time, of which every chunk is decoded when it is asked for.
struct Encoded {
    schemas: [StreamSchema; 1],
    metas: Vec<ChunkMeta>,
    chunks: Vec<Vec<u8>>,
    dictionaries: Dictionaries,
}

impl Encoded {
    /// So many rows; those after the first ten million are the same again.
    fn new(rows: u64) -> Self {
        let own = [
            Column { name: "duration_ns".to_owned(), ty: ColumnType::U64, display: Display::DurationNs },
            Column { name: "call".to_owned(), ty: ColumnType::Text, display: Display::Text },
        ];
        let schema = StreamSchema::new("calls", StreamKind::Events, own);
        let (mut noise, mut time) = (Noise(7), 0);
        let mut all = Self {
            schemas: [schema.clone()],
            metas: Vec::new(),
            chunks: Vec::new(),
            dictionaries: Dictionaries::default(),
        };
        for start in (0..rows.min(10_000_000)).step_by(CHUNK as usize) {
            let mut columns: [Vec<u64>; 7] = Default::default();
            for _ in start..(start + CHUNK).min(rows) {
                time += noise.below(2000);
                let tid = noise.below(400);
                // Most are short, some a thousand times longer.
                let power = 8 + noise.below(14);
                let length = 1 + noise.below(1 << power);
                let row = [time, noise.below(16), tid / 4, tid, 1 + tid % 50, length, 1 + noise.below(60)];
                columns.iter_mut().zip(row).for_each(|(column, value)| column.push(value));
            }
            let typed = columns.into_iter().zip(&schema.columns).map(|(values, column)| match column.ty {
                ColumnType::Text | ColumnType::Stack => ColumnData::Id(values.into_iter().map(|v| v as u32).collect()),
                _ => ColumnData::U64(values),
            });
            let encoded = encode_chunk(&schema, &Batch { columns: typed.collect() }).expect("a chunk");
            all.metas.push(ChunkMeta::from(&encoded));
            all.chunks.push(encoded.bytes);
        }
        let times = usize::try_from(rows.div_ceil(10_000_000)).unwrap();
        all.metas = all.metas.iter().cycle().take(all.metas.len() * times).cloned().collect();
        all
    }
}

impl Source for Encoded {
    fn origin_ns(&self) -> u64 {
        0
    }

    fn streams(&self) -> &[StreamSchema] {
        &self.schemas
    }

    fn chunks(&self, _stream: u16) -> &[ChunkMeta] {
        &self.metas
    }

    fn batch(&self, _stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        let bytes = &self.chunks[chunk % self.chunks.len()];
        Ok(Arc::new(decode_chunk(&self.schemas[0], bytes, wanted).expect("a chunk")))
    }

    fn dictionaries(&self) -> &Dictionaries {
        &self.dictionaries
    }

    fn losses(&self) -> &[Loss] {
        &[]
    }
}

/// The best and the middle of some runs, and rows in a second at the middle.
fn time<T>(what: &str, rows: u64, mut run: impl FnMut() -> Result<T, ViewError>) {
    let runs = if rows > 20_000_000 { 3 } else { 7 };
    let mut took: Vec<f64> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            black_box(run()).expect("the view is made");
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    took.sort_by(f64::total_cmp);
    let middle = took[runs / 2];
    let rate = rows as f64 / middle / 1000.0;
    println!("{rows:>11} rows  {what:<52} best {:>8.1} ms  middle {middle:>8.1} ms  {rate:>6.1} M rows/s", took[0]);
}

/// All parts of a heat map; how many there were.
fn whole(source: &Encoded, query: &HeatQuery) -> Result<u32, ViewError> {
    let mut part = heat_map(source, query, &GO)?;
    let mut parts = 1;
    while let Some(skip) = part.next {
        part = heat_map(source, &HeatQuery { skip, ..query.clone() }, &GO)?;
        parts += 1;
    }
    Ok(parts)
}

fn bench(rows: u64) {
    let source = Encoded::new(rows);
    let range = TimeRange::of(&source);
    let column = || "duration_ns".to_owned();
    let histogram = |scale, filter: &str, by: Option<&str>| DistributionQuery {
        stream: 0,
        column: column(),
        range,
        filter: Filter::parse(filter).expect("a filter"),
        scale,
        limits: ValueLimits::default(),
        by: by.map(str::to_owned),
        groups: 10,
    };
    let [log, linear] = [ValueScale::Log(2), ValueScale::Linear(60)];
    for (what, query) in [
        ("histogram by powers of two", histogram(log, "", None)),
        ("histogram of equal width", histogram(linear, "", None)),
        ("histogram of equal width, cpu == 3", histogram(linear, "cpu == 3", None)),
        ("histogram by powers of two, by ten calls", histogram(log, "", Some("call"))),
    ] {
        time(what, rows, || distribution(&source, &query, &GO));
    }
    let heat = |axis, filter: &str| HeatQuery {
        stream: 0,
        range,
        filter: Filter::parse(filter).expect("a filter"),
        axis,
        columns: 600,
        skip: 0,
        budget_rows: HEAT_ROWS,
    };
    let value = |scale| HeatAxis::Value { column: column(), scale, limits: ValueLimits::default() };
    let offset = HeatAxis::Offset { period_ns: 1_000_000_000, rows: 50 };
    for (what, query) in [
        ("heat map by powers of two", heat(value(log), "")),
        ("heat map of equal width", heat(value(linear), "")),
        ("heat map by powers of two, cpu == 3", heat(value(log), "cpu == 3")),
        ("offsets in the second", heat(offset, "")),
    ] {
        time(what, rows, || whole(&source, &query));
        if rows > HEAT_ROWS {
            time(&format!("{what}: its first part"), HEAT_ROWS, || heat_map(&source, &query, &GO));
        }
    }
}

fn main() {
    for rows in [1_000_000, 10_000_000, 100_000_000] {
        bench(rows);
    }
}
