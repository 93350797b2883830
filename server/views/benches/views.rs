//! Plain timings of the views over a million rows: `cargo bench -p bathyscope-views`. Chunks are in memory, so this is
//! what the views cost without loading and decoding.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a benchmark prints its readings")]

use std::{
    cell::RefCell,
    collections::HashMap,
    hint::black_box,
    sync::{Arc, atomic::AtomicBool},
    time::Instant,
};

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnType, Display, Frame, Grouping, IndexBlock, IndexDirectory, Loss, Mapping,
    MappingKind, StreamKind, StreamSchema, Symbol, decode_chunk, encode_chunk,
};
use bathyscope_views::{
    ChunkMeta, CompareQuery, ComparedSide, Dictionaries, Filter, FlameQuery, FoldedStacks, Group, Lanes, MemorySource,
    Normalised, Order, RateQuery, RowsQuery, Source, StackChartQuery, SvgOptions, TimeRange, TimelineQuery, Transform,
    ViewError, compare, flame, fold, page, rate, sandwich, stack_chart, svg, timeline,
};

const ROWS: u64 = 1_000_000;
const CHUNK: u64 = 1 << 16;
const STACKS: u64 = 100_000;
static GO: AtomicBool = AtomicBool::new(false);

/// Numbers that look random and are the same every time.
struct Noise(u64);

impl Noise {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

fn rows(
    noise: &mut Noise,
    schema: &StreamSchema,
    (rows, cpus, pause_ns): (u64, u64, u64),
    last: impl Fn(&mut Noise) -> u64,
) -> Vec<Batch> {
    let mut time = 0;
    let mut batches = Vec::new();
    for start in (0..rows).step_by(CHUNK as usize) {
        let mut columns: [Vec<u64>; 6] = Default::default();
        for _ in start..(start + CHUNK).min(rows) {
            time += noise.below(2 * pause_ns);
            // A stack is always of the same thread, as real ones nearly are.
            let last = last(noise);
            let tid = last % 400;
            for (column, value) in columns.iter_mut().zip([time, noise.below(cpus), tid / 4, tid, 1 + tid % 50, last]) {
                column.push(value);
            }
        }
        let typed = columns.into_iter().zip(&schema.columns).map(|(values, column)| match column.ty {
            ColumnType::U64 => ColumnData::U64(values),
            ColumnType::I64 => ColumnData::I64(values.into_iter().map(u64::cast_signed).collect()),
            ColumnType::Text | ColumnType::Stack => ColumnData::Id(values.into_iter().map(|v| v as u32).collect()),
        });
        batches.push(Batch { columns: typed.collect() });
    }
    batches
}

fn source() -> MemorySource {
    let (mut noise, mut source) = (Noise(7), MemorySource::new(0));
    for n in 1..=50u32 {
        source.dictionaries.insert_string(n, format!("thread-{n}").into_bytes());
    }
    let mapping = |kind, name: &str| Mapping { kind, build_id: Vec::new(), name: name.into(), pid: 0 };
    source.dictionaries.insert_mapping(1, mapping(MappingKind::Kernel, "[kernel.kallsyms]"));
    source.dictionaries.insert_mapping(2, mapping(MappingKind::File, "/usr/bin/server"));
    for n in 1..=5000u32 {
        source.dictionaries.insert_frame(n, Frame { mapping: 1 + n % 2, offset: u64::from(n) * 16 });
        let function = format!("namespace::module_{}::function_{n}", n % 40);
        source.dictionaries.insert_symbol(n, Symbol { function, offset: 3, lines: Vec::new() });
    }
    for n in 1..=STACKS as u32 {
        // Stacks share their outer half, as real ones do: few ways in, many ways on.
        let depth = 10 + noise.below(60);
        let mut outer = Noise(noise.below(40));
        let frames: Vec<u32> = (0..depth)
            .map(|level| 1 + (if level < depth / 2 { &mut outer } else { &mut noise }).below(5000) as u32)
            .collect();
        source.dictionaries.insert_stack(n, frames.into_iter().rev().collect());
    }
    let column = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
    let events = StreamSchema::new("a:b", StreamKind::Events, [column("bytes", ColumnType::U64)]);
    let batches = rows(&mut noise, &events, (ROWS, 4, 1000), |noise| noise.below(1 << 20));
    source.push_stream(events, batches);
    let samples = StreamSchema::new("cpu-clock", StreamKind::Samples, [column("stack", ColumnType::Stack)]);
    let batches = rows(&mut noise, &samples, (ROWS, 4, 1000), |noise| 1 + noise.below(STACKS));
    source.push_stream(samples, batches);
    source
}

/// The best and the middle of several runs.
fn time<T>(what: &str, mut run: impl FnMut() -> Result<T, ViewError>) -> T {
    let mut result = run().expect("the view is made");
    let mut took: Vec<f64> = (0..9)
        .map(|_| {
            let start = Instant::now();
            result = black_box(run()).expect("the view is made");
            start.elapsed().as_secs_f64() * 1000.0
        })
        .collect();
    took.sort_by(f64::total_cmp);
    println!("{what:<66} best {:>8.2} ms   middle {:>8.2} ms", took[0], took[4]);
    result
}

/// Stream, grouping, level and number of a block.
type Place = (u16, Grouping, u8, u32);

/// A capture whose chunks and blocks are decoded each time that they are asked for, as those of a store are the first time.
struct Stored {
    inner: MemorySource,
    chunks: Vec<Vec<Vec<u8>>>,
    blocks: RefCell<HashMap<Place, Vec<u8>>>,
}

impl Source for Stored {
    fn origin_ns(&self) -> u64 {
        self.inner.origin_ns()
    }

    fn streams(&self) -> &[StreamSchema] {
        self.inner.streams()
    }

    fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        self.inner.chunks(stream)
    }

    fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        Ok(Arc::new(
            decode_chunk(&self.inner.streams()[0], &self.chunks[usize::from(stream)][chunk], wanted).expect("a chunk"),
        ))
    }

    fn index(&self, stream: u16, grouping: Grouping) -> Option<&IndexDirectory> {
        self.inner.index(stream, grouping)
    }

    fn index_block(&self, stream: u16, of: Grouping, level: u8, number: u32) -> Result<Arc<IndexBlock>, ViewError> {
        let mut blocks = self.blocks.borrow_mut();
        let encode = || self.inner.index_block(stream, of, level, number).expect("a block").encode();
        let bytes = blocks.entry((stream, of, level, number)).or_insert_with(encode);
        Ok(Arc::new(IndexBlock::decode(bytes).expect("a block")))
    }

    fn dictionaries(&self) -> &Dictionaries {
        self.inner.dictionaries()
    }

    fn losses(&self) -> &[Loss] {
        self.inner.losses()
    }
}

/// Random windows of an indexed stream: `rows_of_all` events of 400 threads on 16 CPUs, from the whole to a ten thousandth.
fn windows(rows_of_all: u64) {
    let (mut noise, mut source) = (Noise(7), MemorySource::new(0));
    let column = Column { name: "n".to_owned(), ty: ColumnType::U64, display: Display::Decimal };
    let schema = StreamSchema::new("a:b", StreamKind::Events, [column]);
    let mut chunks: Vec<Vec<Vec<u8>>> = Vec::new();
    // Two streams, as switches and the wake-ups before them.
    for part in [5, 3] {
        let batches =
            rows(&mut noise, &schema, (rows_of_all * part / 8, 16, 8 * 1000 / part), |noise| noise.below(1 << 20));
        chunks.push(batches.iter().map(|batch| encode_chunk(&schema, batch).expect("a chunk").bytes).collect());
        source.push_stream(schema.clone(), batches);
    }
    source.make_index();
    let source = Stored { inner: source, chunks, blocks: RefCell::default() };
    let all = TimeRange::of(&source);
    for group in [Group::Cpu, Group::Thread] {
        let mut took: Vec<f64> = Vec::new();
        // Once for the blocks to be encoded, and then to be measured.
        for round in 0..2 {
            let mut noise = Noise(11);
            took = (0..300)
                .map(|_| {
                    let part = 10_f64.powf(-4.0 * noise.below(1000) as f64 / 1000.0);
                    let width = (all.span_ns() as f64 * part) as u64;
                    let start_ns = noise.below(all.span_ns() - width + 1);
                    let range = TimeRange { start_ns, end_ns: start_ns + width };
                    let query =
                        TimelineQuery { range, width: 1280, group, filter: None, limit_tracks: 100, streams: None };
                    let start = Instant::now();
                    black_box(timeline(&source, &query, &GO)).expect("the view is made");
                    start.elapsed().as_secs_f64() * 1000.0
                })
                .collect();
            black_box(round);
        }
        took.sort_by(f64::total_cmp);
        let [middle, most] = [150, 297].map(|at| took[at]);
        println!("{rows_of_all} rows decoded, windows by {group:?}: middle {middle:>6.2} ms, 99 of 100 {most:>6.2} ms");
    }
    let bytes: usize = source.blocks.borrow().values().map(Vec::len).sum();
    println!("    {:.2} bytes of the index for a row, of the blocks that were used", bytes as f64 / rows_of_all as f64);
}

fn main() {
    windows(8_000_000);
    let source = source();
    let range = TimeRange::of(&source);
    let filter = |text: &str| Filter::parse(text).expect("a filter");
    println!("1,000,000 events and 1,000,000 samples of 100,000 distinct stacks, 400 threads, 4 CPUs");
    let window = |group, text| TimelineQuery {
        range,
        width: 1600,
        group,
        filter: filter(text),
        limit_tracks: 100,
        streams: None,
    };
    let drawn = time("timeline by CPU, both streams, 1600 pixels", || timeline(&source, &window(Group::Cpu, ""), &GO));
    println!("    {} bytes", drawn.encode(&serde_json::to_vec(&drawn).expect("a head")).len());
    let threads = window(Group::Thread, "");
    let drawn = time("timeline by thread, 100 of 400 tracks", || timeline(&source, &threads, &GO));
    println!("    {} bytes", drawn.encode(&serde_json::to_vec(&drawn).expect("a head")).len());
    let filtered = window(Group::Thread, "pid == 7 && cpu != 2");
    time("timeline by thread, pid == 7 && cpu != 2", || timeline(&source, &filtered, &GO));
    let (middle, length) = (range.end_ns / 2, range.end_ns / 1000);
    let zoomed = TimelineQuery { range: TimeRange { start_ns: middle, end_ns: middle + length }, ..threads };
    time("timeline by thread, a thousandth of the time", || timeline(&source, &zoomed, &GO));
    time("rate in 1600 bins, both streams", || rate(&source, &RateQuery { range, bins: 1600, filter: None }, &GO));

    let rows = RowsQuery { limit: 200, ..RowsQuery::new(0) };
    let page_of = |what: &str, query: RowsQuery| {
        let found = time(what, || page(&source, &query, &GO));
        println!("    {} of {} rows", found.matched, found.total);
    };
    page_of("rows, no filter, offset 900,000", RowsQuery { offset: 900_000, ..rows.clone() });
    page_of(
        "rows, bytes > 1000000 && comm ~ \"thread-1*\"",
        RowsQuery { filter: filter("bytes > 1000000 && comm ~ \"thread-1*\""), ..rows.clone() },
    );
    page_of("rows, plain text thread-17", RowsQuery { filter: filter("thread-17"), ..rows.clone() });
    let order = vec![Order { column: "bytes".to_owned(), descending: true }];
    page_of("rows, sorted by bytes, first page", RowsQuery { order: order.clone(), ..rows.clone() });
    page_of("rows, sorted by bytes, offset 500,000", RowsQuery { order, offset: 500_000, ..rows });

    time("samples folded", || fold(&source, &FlameQuery::default(), &GO));
    let query = FlameQuery { width: 1600, search: Some("function_77".to_owned()), ..FlameQuery::default() };
    let graph = time("flame graph, 1600 pixels, search", || flame(&source, &query, &GO));
    let (kept, cut, deep) = (graph.nodes.id.len(), graph.cut.nodes, graph.max_depth);
    println!("    {kept} nodes kept, {cut} cut, {deep} deep, {} samples found", graph.matched_samples);
    println!("    {} bytes of JSON", serde_json::to_vec(&graph).expect("JSON").len());
    let focus = graph.nodes.id.get(kept / 2).copied();
    time("flame graph, focused", || flame(&source, &FlameQuery { focus, ..query.clone() }, &GO));
    time("flame graph, inverted", || flame(&source, &FlameQuery { invert: true, ..query.clone() }, &GO));
    let folded = fold(&source, &query, &GO).expect("folded");
    time("layout of folded stacks alone", || Ok(folded.graph(focus, None, 1600)));
    let transforms = Transform::list("k~u~d.function_7~m.function_9~C.[kernel.kallsyms]").expect("transforms");
    time("five transforms, folded anew", || {
        flame(&source, &FlameQuery { transforms: transforms.clone(), ..query.clone() }, &GO)
    });
    let alone = |folded: &FoldedStacks| folded.transformed(&transforms, false, &GO);
    time("five transforms of folded stacks", || alone(&folded));
    let one = Transform::list("f.function_77").expect("a transform");
    time("one transform of folded stacks", || folded.transformed(&one, false, &GO));
    time("folded stacks inverted", || folded.transformed(&[], true, &GO));
    let ordered = |lanes, range| {
        let query = FlameQuery { range, ..query.clone() };
        stack_chart(&source, &query, StackChartQuery { lanes, limit_lanes: 48 }, &GO)
    };
    let whole = time("stacks in the order of time, 48 of 400 threads", || ordered(Lanes::Thread, range));
    println!("    {} boxes", whole.lanes.iter().map(|lane| lane.boxes.start.len()).sum::<usize>());
    let part = TimeRange { start_ns: middle, end_ns: middle + range.end_ns / 100 };
    time("stacks in the order of time, by CPU, a hundredth of the time", || ordered(Lanes::Cpu, part));
    time("a function between callers and callees", || sandwich(&source, &query, "function_77", &GO));
    let side = |seed: bool| ComparedSide::read(&source, &FlameQuery { pid: seed.then_some(1), ..query.clone() }, &GO);
    let this = time("one side of a comparison", || side(false));
    let compared = CompareQuery { flame: query.clone(), normalised: Normalised::Total };
    time("both compared", || compare(&this, std::slice::from_ref(&this), &compared));
    let bytes = time("SVG", || Ok(svg(&graph, &SvgOptions::default()))).len();
    println!("    {bytes} bytes");
}
