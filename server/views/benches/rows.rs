//! Plain timings of what is told of many rows: values of columns, groups, neighbours, filters, over 1 and 10 million rows:
//! `cargo bench -p bathyscope-views --bench rows`. Chunks are decoded each time that they are asked for, as those of a store are the
//! first time; reading them from a file is not in it.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints its readings")]

use std::{hint::black_box, sync::Arc, sync::atomic::AtomicBool, time::Instant};

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnType, Display, Loss, StreamKind, StreamSchema, decode_chunk, encode_chunk,
};
use bathyscope_views::{
    Aggregate, ChunkMeta, Dictionaries, FacetsQuery, Filter, MemorySource, Order, PivotQuery, RowPairs, RowsQuery,
    Source, TimeRange, ViewError, facets, page, pivot,
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

/// Encoded chunks of one stream.
struct Stored {
    schema: [StreamSchema; 1],
    chunks: Vec<Vec<u8>>,
    metas: Vec<ChunkMeta>,
    dictionaries: MemorySource,
}

impl Source for Stored {
    fn origin_ns(&self) -> u64 {
        0
    }

    fn streams(&self) -> &[StreamSchema] {
        &self.schema
    }

    fn chunks(&self, _stream: u16) -> &[ChunkMeta] {
        &self.metas
    }

    fn batch(&self, _stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        Ok(Arc::new(decode_chunk(&self.schema[0], &self.chunks[chunk], wanted).expect("a chunk")))
    }

    fn dictionaries(&self) -> &Dictionaries {
        self.dictionaries.dictionaries()
    }

    fn losses(&self) -> &[Loss] {
        &[]
    }
}

/// Calls of 400 threads with 50 names on 4 CPUs: which call, what it returned, how long it took.
fn stored(rows: u64) -> Stored {
    let column = |name: &str, ty, display| Column { name: name.to_owned(), ty, display };
    let own = [
        column("call", ColumnType::Text, Display::Text),
        column("result", ColumnType::I64, Display::Decimal),
        column("duration_ns", ColumnType::U64, Display::DurationNs),
    ];
    let schema = StreamSchema::new("calls", StreamKind::Events, own);
    let mut dictionaries = MemorySource::new(0);
    for n in 1..=50_u32 {
        dictionaries.dictionaries.insert_string(n, format!("thread-{n}").into_bytes());
    }
    for n in 51..=110_u32 {
        dictionaries.dictionaries.insert_string(n, format!("call_{n}").into_bytes());
    }
    let (mut noise, mut time) = (Noise(7), 0);
    let (mut chunks, mut metas) = (Vec::new(), Vec::new());
    for start in (0..rows).step_by(CHUNK as usize) {
        let mut batch = Batch::empty(&schema);
        for _ in start..(start + CHUNK).min(rows) {
            time += noise.below(2000);
            let tid = noise.below(400);
            let duration = (1 << noise.below(24)) + noise.below(1000);
            let values =
                [time, noise.below(4), tid / 4, tid, 1 + tid % 50, 51 + noise.below(60), noise.below(4096), duration];
            for (column, value) in batch.columns.iter_mut().zip(values) {
                match column {
                    ColumnData::U64(all) => all.push(value),
                    ColumnData::I64(all) => all.push(value.cast_signed() - 11),
                    ColumnData::Id(all) => all.push(value as u32),
                }
            }
        }
        let chunk = encode_chunk(&schema, &batch).expect("a chunk");
        metas.push(ChunkMeta::from(&chunk));
        chunks.push(chunk.bytes);
    }
    Stored { schema: [schema], chunks, metas, dictionaries }
}

/// The best and the middle of several runs.
fn time<T>(rows: u64, what: &str, mut run: impl FnMut() -> Result<T, ViewError>) {
    black_box(run().expect("it is answered"));
    let mut took: Vec<f64> = (0..7)
        .map(|_| {
            let start = Instant::now();
            black_box(run().expect("it is answered"));
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    took.sort_by(f64::total_cmp);
    let speed = rows as f64 / took[3] / 1000.0;
    println!("{what:<58} best {:>8.1} ms   middle {:>8.1} ms   {speed:>7.1} M rows/s", took[0], took[3]);
}

fn measure(rows: u64) {
    let source = stored(rows);
    let bytes: usize = source.chunks.iter().map(Vec::len).sum();
    println!("{rows} rows of 8 columns, {:.1} bytes a row", bytes as f64 / rows as f64);
    let of = |columns: &[&str]| FacetsQuery::new(0, columns);
    time(rows, "values of one column (comm)", || facets(&source, &of(&["comm"]), &GO));
    time(rows, "values of one column (tid)", || facets(&source, &of(&["tid"]), &GO));
    time(rows, "values of one column (duration_ns, many)", || facets(&source, &of(&["duration_ns"]), &GO));
    let six = ["cpu", "comm", "call", "result", "duration_ns", "tid"];
    time(rows, "values of six columns", || facets(&source, &of(&six), &GO));
    let first = FacetsQuery { budget_rows: 2_000_000, ..of(&six) };
    time(rows.min(2_000_000), "values of six columns, first answer", || facets(&source, &first, &GO));
    let filter = |text: &str| Filter::parse(text).expect("a filter");
    for text in [
        "call == \"call_77\"",
        "duration_ns between 1000 and 5000",
        "comm matches \"^thread-[1-3]\"",
        "result in (1, 5, 9)",
    ] {
        let query = FacetsQuery { filter: filter(text), ..of(&["comm"]) };
        time(rows, &format!("values of comm where {text}"), || facets(&source, &query, &GO));
    }
    let group = |by: &[&str], values: &[&str]| PivotQuery {
        stream: 0,
        range: TimeRange::ALL,
        filter: None,
        by: by.iter().map(|name| (*name).to_owned()).collect(),
        values: values.iter().map(|text| Aggregate::parse(text).expect("a value")).collect(),
        sort: None,
        descending: true,
        limit: 200,
        bins: 0,
    };
    let two = ["comm", "call"];
    time(rows, "groups by two columns, count", || pivot(&source, &group(&two, &["count"]), &GO));
    let sums = ["count", "sum:duration_ns", "max:duration_ns"];
    time(rows, "groups by two columns, count, sum, max", || pivot(&source, &group(&two, &sums), &GO));
    let percentiles = ["count", "p50:duration_ns", "p99:duration_ns"];
    time(rows, "groups by two columns, count, p50, p99", || pivot(&source, &group(&two, &percentiles), &GO));
    let distinct = ["count", "distinct:tid"];
    time(rows, "groups by two columns, count, distinct", || pivot(&source, &group(&two, &distinct), &GO));
    let lines = PivotQuery { bins: 200, ..group(&["comm"], &["count"]) };
    time(rows, "groups by one column, over time", || pivot(&source, &lines, &GO));
    let pairs = Some(RowPairs { keys: vec!["tid".to_owned()], values: Vec::new() });
    let middle = RowsQuery { offset: rows / 2, limit: 200, pairs: pairs.clone(), ..RowsQuery::new(0) };
    time(200, "a page in the middle with neighbours", || page(&source, &middle, &GO));
    let order = |columns: &[&str]| {
        columns.iter().map(|column| Order { column: (*column).to_owned(), descending: true }).collect::<Vec<_>>()
    };
    let sorted = RowsQuery { order: order(&["comm", "duration_ns"]), ..middle.clone() };
    let sorted = RowsQuery { pairs: None, offset: 0, ..sorted };
    time(rows, "sorted by two columns, first page", || page(&source, &sorted, &GO));
    if rows <= 4_000_000 {
        let longest = RowsQuery { order: order(&["since_previous"]), pairs, offset: 0, ..sorted.clone() };
        time(rows, "sorted by the interval since the row before", || page(&source, &longest, &GO));
    }
}

fn main() {
    for rows in [1_000_000, 10_000_000] {
        measure(rows);
    }
}
