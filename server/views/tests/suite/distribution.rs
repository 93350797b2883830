//! How values are spread is what all rows say, one by one.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnType, Display, RowKind, RowMeaning, ShownCell, SliceTime, StreamKind, StreamSchema,
};
use bathyscope_views::{
    Cancel, Distribution, DistributionGroup, DistributionQuery, Filter, HEAT_ROWS, HeatAxis, HeatMap, HeatQuery,
    MAX_GROUPS, MAX_SCATTERED, MemorySource, ScatterQuery, Source as _, TimeRange, UtilisationQuery, ValueLimits,
    ValueScale, ViewError, distribution, heat_map, scatter, utilisation,
};
use proptest::prelude::*;

const START_NS: u64 = 1000;
const TEXTS: [&str; 7] = ["read", "write", "signal", "call", "exit", "idle", "fsync \"now\""];
static GO: Cancel = AtomicBool::new(false);

/// A row: time, CPU, thread, an unsigned number, a signed one, a text.
#[derive(Clone, Copy, Debug)]
struct One {
    time: u64,
    cpu: u64,
    tid: u64,
    plain: u64,
    signed: i64,
    text: u64,
}

fn column(name: &str, ty: ColumnType) -> Column {
    Column { name: name.to_owned(), ty, display: Display::Decimal }
}

fn batch(columns: Vec<(ColumnType, Vec<u64>)>) -> Batch {
    let typed = |(ty, words): (ColumnType, Vec<u64>)| match ty {
        ColumnType::U64 => ColumnData::U64(words),
        ColumnType::I64 => ColumnData::I64(words.into_iter().map(u64::cast_signed).collect()),
        ColumnType::Text | ColumnType::Stack => ColumnData::Id(words.into_iter().map(|word| word as u32).collect()),
    };
    Batch { columns: columns.into_iter().map(typed).collect() }
}

fn empty() -> MemorySource {
    let mut source = MemorySource::new(START_NS);
    for (id, text) in (1..).zip(TEXTS) {
        source.dictionaries.insert_string(id, text.as_bytes());
    }
    source
}

fn source(rows: &[One], chunk: usize) -> MemorySource {
    use ColumnType::{I64, Text, U64};
    let own = [column("plain", U64), column("signed", I64), column("what", Text)];
    let schema = StreamSchema::new("a:b", StreamKind::Events, own);
    let mut rows = rows.to_vec();
    rows.sort_by_key(|row| row.time);
    let of = |part: &[One], get: fn(&One) -> u64| part.iter().map(get).collect::<Vec<u64>>();
    let chunks = rows.chunks(chunk).map(|part| {
        batch(vec![
            (U64, of(part, |row| START_NS + row.time)),
            (U64, of(part, |row| row.cpu)),
            (U64, of(part, |row| row.tid)),
            (U64, of(part, |row| row.tid)),
            (Text, of(part, |row| row.text)),
            (U64, of(part, |row| row.plain)),
            (I64, of(part, |row| row.signed.cast_unsigned())),
            (Text, of(part, |row| row.text)),
        ])
    });
    let mut source = empty();
    source.push_stream(schema, chunks.collect());
    source
}

fn number(cell: &ShownCell) -> i128 {
    match cell {
        ShownCell::Number(number) => *number,
        other => panic!("{other:?} is no number"),
    }
}

fn some_number(cell: Option<&ShownCell>) -> i128 {
    number(cell.unwrap())
}

fn one() -> impl Strategy<Value = One> {
    let plain = prop_oneof![0_u64..8, 0_u64..5000, any::<u64>()];
    let signed = prop_oneof![-8_i64..8, -5000_i64..5000, any::<i64>()];
    (0_u64..4000, 0_u64..3, 0_u64..40, plain, signed, 1_u64..=7).prop_map(|(time, cpu, tid, plain, signed, text)| One {
        time,
        cpu,
        tid,
        plain,
        signed,
        text,
    })
}

fn scale() -> impl Strategy<Value = ValueScale> {
    prop_oneof![(2_u32..200).prop_map(ValueScale::Linear), (0_u8..=4).prop_map(ValueScale::Log)]
}

fn limits() -> impl Strategy<Value = ValueLimits> {
    let limit = || prop_oneof![2 => Just(None), 1 => (-100_i128..3000).prop_map(Some)];
    (limit(), limit()).prop_map(|(low, high)| ValueLimits { low, high })
}

fn is_taken(limits: ValueLimits, value: i128) -> bool {
    limits.low.is_none_or(|low| value >= low) && limits.high.is_none_or(|high| value < high)
}

fn range(start: u64, length: u64) -> TimeRange {
    TimeRange { start_ns: START_NS + start, end_ns: START_NS + start + length }
}

fn value_of(name: &str, row: &One) -> i128 {
    match name {
        "plain" => i128::from(row.plain),
        "signed" => i128::from(row.signed),
        "time" => i128::from(row.time),
        _ => i128::from(row.tid),
    }
}

fn buckets(of: &[(ShownCell, ShownCell)]) -> Vec<(i128, i128)> {
    of.iter().map(|(low, high)| (number(low), number(high))).collect()
}

/// A group is what plain sorting and counting says of its values.
fn same_as_sorted(group: &DistributionGroup, buckets: &[(i128, i128)], mut values: Vec<i128>) {
    values.sort_unstable();
    assert_eq!(group.rows, values.len() as u64);
    let counts = buckets.iter().map(|(low, high)| values.iter().filter(|it| low <= *it && *it < high).count() as u64);
    assert_eq!(group.counts, counts.collect::<Vec<u64>>());
    if values.is_empty() {
        return;
    }
    assert_eq!(some_number(group.least.as_ref()), values[0]);
    assert_eq!(some_number(group.most.as_ref()), values[values.len() - 1]);
    let sum: i128 = values.iter().sum();
    assert!((group.sum - sum as f64).abs() <= (sum as f64).abs() * 1e-9);
    for (permille, value) in &group.percentiles {
        let rank = (values.len() as u64 * permille).div_ceil(1000).max(1) as usize;
        let (exact, value) = (values[rank - 1], number(value));
        assert!((value - exact).abs() <= exact.abs() / 100, "{permille}: {value} for {exact}");
    }
}

proptest! {
    #[test]
    fn histograms_are_what_sorting_and_counting_says(
        rows in prop::collection::vec(one(), 0..300),
        (chunk, start, length) in (1_usize..80, 0_u64..3000, 1_u64..4000),
        name in prop_oneof![Just("plain"), Just("signed"), Just("time"), Just("tid")],
        (scale, limits, is_filtered) in (scale(), limits(), any::<bool>()),
        by in prop_oneof![Just(None), Just(Some("what")), Just(Some("cpu")), Just(Some("signed"))],
        groups in 1_u32..=MAX_GROUPS,
    ) {
        let source = source(&rows, chunk);
        let filter = Filter::parse(if is_filtered { "cpu != 1" } else { "" }).unwrap();
        let (range, column) = (range(start, length), name.to_owned());
        let query = DistributionQuery {
            stream: 0, column, range, filter, scale, limits, by: by.map(str::to_owned), groups,
        };
        let answer = distribution(&source, &query, &GO).unwrap();
        let is_in = |row: &&One| range.contains(START_NS + row.time) && !(is_filtered && row.cpu == 1);
        let matched: Vec<&One> = rows.iter().filter(is_in).collect();
        let values = |rows: &[&One]| -> Vec<i128> {
            rows.iter().map(|row| value_of(name, row)).filter(|value| is_taken(limits, *value)).collect()
        };
        let limits_of = buckets(&answer.buckets);
        prop_assert_eq!(answer.rows, matched.len() as u64);
        prop_assert_eq!(answer.all.rows + answer.below + answer.above, matched.len() as u64);
        same_as_sorted(&answer.all, &limits_of, values(&matched));
        // Buckets follow each other, the first and the last have something, and there are no more of them than asked for.
        prop_assert!(limits_of.windows(2).all(|pair| pair[0].1 == pair[1].0));
        prop_assert!(limits_of.iter().all(|(low, high)| low < high));
        prop_assert!([answer.all.counts.first(), answer.all.counts.last()].iter().flatten().all(|count| **count > 0));
        if let ValueScale::Linear(most) = scale {
            prop_assert!(limits_of.len() <= most as usize);
        }
        let Some(by) = by else { return Ok(()) };
        let key = |row: &One| match by {
            "what" => row.text.to_string(),
            "cpu" => row.cpu.to_string(),
            _ => row.signed.to_string(),
        };
        let mut naive: BTreeMap<String, Vec<&One>> = BTreeMap::new();
        matched.iter().for_each(|row| naive.entry(key(row)).or_default().push(*row));
        prop_assert_eq!(answer.groups.len() as u64 + answer.more_groups, naive.len() as u64);
        let mut sizes: Vec<usize> = naive.values().map(Vec::len).collect();
        sizes.sort_unstable_by(|a, b| b.cmp(a));
        for (group, size) in answer.groups.iter().zip(sizes) {
            let told = match group.value.as_ref().unwrap() {
                ShownCell::Text(text) => (1 + TEXTS.iter().position(|it| it == text).unwrap()).to_string(),
                other => number(other).to_string(),
            };
            let of = &naive[&told];
            prop_assert_eq!(of.len(), size);
            same_as_sorted(group, &limits_of, values(of));
            // The condition finds just these rows.
            let only = DistributionQuery { filter: Filter::parse(&group.filter).unwrap(), by: None, ..query.clone() };
            if !is_filtered {
                prop_assert_eq!(distribution(&source, &only, &GO).unwrap().all.rows, group.rows);
            }
        }
    }

    #[test]
    fn heat_maps_are_what_counting_says_in_one_part_or_in_many(
        rows in prop::collection::vec(one(), 0..200),
        (chunk, start, length) in (1_usize..60, 0_u64..3000, 1_u64..4000),
        name in prop_oneof![Just("plain"), Just("signed"), Just("time")],
        (scale, limits, is_filtered) in (scale(), limits(), any::<bool>()),
        (columns, budget_rows) in (1_u32..90, prop_oneof![Just(HEAT_ROWS), 1_u64..100]),
    ) {
        let source = source(&rows, chunk);
        let filter = Filter::parse(if is_filtered { "cpu != 1" } else { "" }).unwrap();
        let range = range(start, length);
        let axis = HeatAxis::Value { column: name.to_owned(), scale, limits };
        let query = HeatQuery { stream: 0, range, filter, axis, columns, skip: 0, budget_rows };
        let parts = all_parts(&source, &query, name, scale);
        let is_in = |row: &&One| range.contains(START_NS + row.time) && !(is_filtered && row.cpu == 1);
        let matched: Vec<&One> = rows.iter().filter(is_in).collect();
        prop_assert_eq!(parts.iter().map(|part| part.rows).sum::<u64>(), matched.len() as u64);
        prop_assert_eq!(parts.iter().map(|part| part.looked_at).sum::<u64>(), rows.len() as u64);
        let outside: u64 = parts.iter().map(|part| part.below + part.above).sum();
        let cells = joined(&parts);
        prop_assert_eq!(cells.values().sum::<u64>() + outside, matched.len() as u64);
        for ((begin, low, high), count) in cells {
            let naive = matched.iter().filter(|row| {
                let (time, value) = (row.time as i128, value_of(name, row));
                let step = i128::from(parts[0].step);
                begin <= time && time < begin + step && low <= value && value < high && is_taken(limits, value)
            });
            prop_assert_eq!(naive.count() as u64, count);
        }
    }

    #[test]
    fn offsets_are_within_their_periods(
        rows in prop::collection::vec(one(), 0..200),
        (chunk, start, length) in (1_usize..60, 0_u64..3000, 1_u64..4000),
        (height, budget_rows) in (2_u32..60, prop_oneof![Just(HEAT_ROWS), 1_u64..100]),
    ) {
        let period_ns = 1000;
        let source = source(&rows, chunk);
        let range = range(start, length);
        let axis = HeatAxis::Offset { period_ns, rows: height };
        let query = HeatQuery { stream: 0, range, filter: None, axis, columns: 100, skip: 0, budget_rows };
        let mut parts = vec![heat_map(&source, &query, &GO).unwrap()];
        while let Some(skip) = parts.last().unwrap().next {
            parts.push(heat_map(&source, &HeatQuery { skip, ..query.clone() }, &GO).unwrap());
        }
        let matched: Vec<&One> = rows.iter().filter(|row| range.contains(START_NS + row.time)).collect();
        let cells = joined(&parts);
        prop_assert_eq!(cells.values().sum::<u64>(), matched.len() as u64);
        for ((begin, low, high), count) in cells {
            let (from, to) = (begin + low, begin + high);
            let naive = matched.iter().filter(|row| from <= i128::from(row.time) && i128::from(row.time) < to);
            prop_assert_eq!(naive.count() as u64, count);
            prop_assert_eq!(begin % i128::from(period_ns), 0);
        }
    }

    #[test]
    fn single_rows_are_told_with_their_numbers(
        rows in prop::collection::vec(one(), 0..200),
        (chunk, start, length) in (1_usize..60, 0_u64..3000, 1_u64..4000),
        (limits, is_filtered) in (limits(), any::<bool>()),
    ) {
        let source = source(&rows, chunk);
        let filter = Filter::parse(if is_filtered { "cpu != 1" } else { "" }).unwrap();
        let range = range(start, length);
        let query = ScatterQuery { stream: 0, column: "signed".to_owned(), range, filter: filter.clone(), limits };
        let answer = scatter(&source, &query, &GO).unwrap();
        let page = bathyscope_views::page(
            &source,
            &bathyscope_views::RowsQuery { range, filter, limit: 1000, ..bathyscope_views::RowsQuery::new(0) },
            &GO,
        ).unwrap();
        prop_assert_eq!(answer.total, page.matched);
        let taken = page.rows.iter().enumerate().filter(|(_, row)| is_taken(limits, number(&row[6])));
        let told = answer.rows.iter().zip(answer.times.iter().zip(&answer.values));
        prop_assert_eq!(taken.clone().count(), answer.rows.len());
        for ((at, row), (number_of, (time, value))) in taken.zip(told) {
            prop_assert_eq!(*number_of, at as u64);
            prop_assert_eq!(i128::from(*time), number(&row[0]));
            prop_assert_eq!(value, &row[6]);
        }
    }

    #[test]
    fn devices_are_busy_while_they_have_any_request(
        rows in prop::collection::vec((0_u64..3000, 0_u64..400, 0_u64..3), 0..120),
        (chunk, start, length, columns) in (1_usize..50, 0_u64..2500, 1_u64..3000, 1_u32..40),
        is_begin in any::<bool>(),
    ) {
        let time = if is_begin { SliceTime::Begin } else { SliceTime::End };
        let source = requests(&rows, time, chunk);
        let range = range(start, length);
        let query = UtilisationQuery { stream: 0, range, filter: None, columns };
        let answer = utilisation(&source, &query, &GO).unwrap();
        let mut naive: BTreeMap<(usize, usize), u64> = BTreeMap::new();
        let keys: Vec<String> = answer.keys.iter().map(|key| key.key.clone()).collect();
        for (number, key) in keys.iter().enumerate() {
            let device: u64 = key.rsplit(':').next().unwrap().parse().unwrap();
            for at in start..start + length {
                let is_busy = |(begin, took, dev): &&(u64, u64, u64)| *dev == device && *begin <= at && at < begin + took;
                if rows.iter().any(|row| is_busy(&row)) {
                    *naive.entry((((at - start) / answer.step) as usize, number)).or_insert(0) += 1;
                }
            }
        }
        let told = answer.busy.column.iter().zip(&answer.busy.row).zip(&answer.busy.count);
        let told: BTreeMap<(usize, usize), u64> = told.map(|((column, row), count)| ((*column, *row), *count)).collect();
        prop_assert_eq!(told, naive);
    }
}

/// All answers of a heat map, each going on where the one before ended.
fn all_parts(source: &MemorySource, query: &HeatQuery, name: &str, scale: ValueScale) -> Vec<HeatMap> {
    let mut parts = vec![heat_map(source, query, &GO).unwrap()];
    while let Some(skip) = parts.last().unwrap().next {
        let HeatAxis::Value { limits: asked, .. } = &query.axis else { panic!("an axis of values") };
        // Buckets by powers are the same whatever the extremes are; those of equal width stay those of the first part.
        let limits = match (scale, &parts[0].low, &parts[0].high) {
            (ValueScale::Linear(_), Some(low), Some(high)) => {
                ValueLimits { low: Some(number(low)), high: Some(number(high)) }
            }
            _ => *asked,
        };
        let axis = HeatAxis::Value { column: name.to_owned(), scale, limits };
        let part = heat_map(source, &HeatQuery { skip, axis, ..query.clone() }, &GO).unwrap();
        parts.push(part);
    }
    parts
}

/// Counts by when a column begins and by the limits of a bucket.
fn joined(parts: &[HeatMap]) -> BTreeMap<(i128, i128, i128), u64> {
    let mut joined = BTreeMap::new();
    for part in parts {
        let cells = part.cells.column.iter().zip(&part.cells.row).zip(&part.cells.count);
        for ((column, row), count) in cells {
            let begin = i128::from(part.begin) + *column as i128 * i128::from(part.step);
            let (low, high) = &part.buckets[*row];
            *joined.entry((begin, number(low), number(high))).or_insert(0) += count;
        }
    }
    joined
}

/// Requests of devices: when each began, how long it took, at which device.
fn requests(rows: &[(u64, u64, u64)], time: SliceTime, chunk: usize) -> MemorySource {
    use ColumnType::{Text, U64};
    let own = [column("dev", U64), column("sector", U64), column("duration_ns", U64)];
    let kind = RowKind::Slice { duration: "duration_ns".to_owned(), time, depth: None };
    let schema = StreamSchema {
        rows: Some(Box::new(RowMeaning::new(kind, &["dev", "sector"]))),
        ..StreamSchema::new("block requests", StreamKind::Events, own)
    };
    let at = |row: &(u64, u64, u64)| START_NS + row.0 + if time == SliceTime::End { row.1 } else { 0 };
    let mut rows = rows.to_vec();
    rows.sort_by_key(at);
    let chunks = rows.chunks(chunk).map(|part| {
        let of = |get: &dyn Fn(&(u64, u64, u64)) -> u64| part.iter().map(get).collect::<Vec<u64>>();
        let none = of(&|_| 0);
        batch(vec![
            (U64, of(&at)),
            (U64, none.clone()),
            (U64, none.clone()),
            (U64, none.clone()),
            (Text, none.clone()),
            (U64, of(&|row| row.2)),
            (U64, none),
            (U64, of(&|row| row.1)),
        ])
    });
    let mut source = empty();
    source.push_stream(schema, chunks.collect());
    source
}

fn histogram_of(source: &MemorySource, column: &str, scale: ValueScale) -> Distribution {
    let query = DistributionQuery {
        stream: 0,
        column: column.to_owned(),
        range: TimeRange::of(source),
        filter: None,
        scale,
        limits: ValueLimits::default(),
        by: None,
        groups: 1,
    };
    distribution(source, &query, &GO).unwrap()
}

/// Rows of an occupation of CPUs: when, for how long, the thread, 0 for none.
fn occupation(rows: &[(u64, u64, u64)]) -> MemorySource {
    use ColumnType::{Text, U64};
    let kind = RowKind::State { state: "comm".to_owned(), duration: Some("duration_ns".to_owned()) };
    let schema = StreamSchema {
        rows: Some(Box::new(RowMeaning::new(kind, &["cpu"]))),
        ..StreamSchema::new("cpu occupation", StreamKind::Events, [column("duration_ns", U64)])
    };
    let of = |get: fn(&(u64, u64, u64)) -> u64| rows.iter().map(get).collect::<Vec<u64>>();
    let columns = vec![
        (U64, of(|row| START_NS + row.0)),
        (U64, of(|_| 2)),
        (U64, of(|row| row.2)),
        (U64, of(|row| row.2)),
        (Text, of(|row| if row.2 == 0 { 6 } else { 1 })),
        (U64, of(|row| row.1)),
    ];
    let mut source = empty();
    source.push_stream(schema, vec![batch(columns)]);
    source
}

#[test]
fn cpus_are_busy_unless_their_idle_thread_runs_and_unknown_where_nothing_is_told() {
    let source = occupation(&[(0, 100, 7), (100, 300, 0), (500, 100, 8)]);
    let query = |filter: &str| UtilisationQuery {
        stream: 0,
        range: range(0, 600),
        filter: Filter::parse(filter).unwrap(),
        columns: 6,
    };
    let answer = utilisation(&source, &query(""), &GO).unwrap();
    assert!(answer.tells_idle);
    assert_eq!((answer.busy.column.as_slice(), answer.busy.count.as_slice()), (&[0, 5][..], &[100, 100][..]));
    assert_eq!(answer.known.column, [0, 1, 2, 3, 5]);
    let [key] = answer.keys.as_slice() else { panic!("one CPU") };
    assert_eq!((key.key.as_str(), key.filter.as_str(), key.busy, key.known), ("cpu:2", "cpu == 2", 200, 500));
    let only = utilisation(&source, &query("tid == 8"), &GO).unwrap();
    assert_eq!((only.busy.column.as_slice(), only.known.column.len()), (&[5][..], 5));
}

#[test]
fn rows_of_system_calls_that_take_no_time_are_told_as_without() {
    use ColumnType::{I64, Text, U64};
    let own = [column("call", Text), column("result", I64), column("duration_ns", U64), column("kind", Text)];
    let schema = StreamSchema::new("syscalls", StreamKind::Events, own);
    // A call, a signal, an exit, a call of which only the end was recorded.
    let kinds = vec![4, 3, 5, 4];
    let common = |words: Vec<u64>| (U64, words);
    let columns = vec![
        common((0..4).map(|at| START_NS + at).collect()),
        common(vec![0; 4]),
        common(vec![1; 4]),
        common(vec![1; 4]),
        (Text, vec![1; 4]),
        (Text, vec![1; 4]),
        (I64, vec![0; 4]),
        (U64, vec![50, 0, 0, 0]),
        (Text, kinds),
    ];
    let mut source = empty();
    source.push_stream(schema, vec![batch(columns)]);
    let answer = histogram_of(&source, "", ValueScale::Log(0));
    assert_eq!(answer.of.column, "duration_ns", "what the rows are about");
    assert_eq!((answer.rows, answer.without, answer.all.rows), (4, 3, 1));
    let results = histogram_of(&source, "result", ValueScale::Log(0));
    assert_eq!((results.without, results.all.rows), (0, 4), "only times are missing");
}

#[test]
fn what_cannot_be_drawn_is_refused_in_words() {
    let rows = [One { time: 1, cpu: 0, tid: 1, plain: 5, signed: -5, text: 1 }];
    let source = source(&rows, 10);
    let histogram = |column: &str, scale, by: Option<&str>, groups| {
        let query = DistributionQuery {
            stream: 0,
            column: column.to_owned(),
            range: TimeRange::of(&source),
            filter: None,
            scale,
            limits: ValueLimits::default(),
            by: by.map(str::to_owned),
            groups,
        };
        distribution(&source, &query, &GO)
    };
    let log = ValueScale::Log(2);
    assert!(matches!(histogram("nothing", log, None, 1), Err(ViewError::NoSuchColumn { .. })));
    assert!(matches!(histogram("what", log, None, 1), Err(ViewError::Mismatch { .. })));
    assert!(matches!(histogram("plain", log, Some("nothing"), 1), Err(ViewError::NoSuchColumn { .. })));
    assert!(matches!(histogram("plain", log, Some("cpu"), 11), Err(ViewError::OutOfRange { .. })));
    assert!(matches!(histogram("plain", ValueScale::Log(7), None, 1), Err(ViewError::OutOfRange { .. })));
    assert!(matches!(histogram("plain", ValueScale::Linear(1), None, 1), Err(ViewError::OutOfRange { .. })));
    let heat = |axis, range| {
        let query = HeatQuery { stream: 0, range, filter: None, axis, columns: 100, skip: 0, budget_rows: HEAT_ROWS };
        heat_map(&source, &query, &GO)
    };
    let offset = HeatAxis::Offset { period_ns: 1000, rows: 10 };
    assert!(matches!(heat(offset.clone(), range(0, 1_000_000)), Err(ViewError::OutOfRange { value: 1000, .. })));
    assert!(heat(offset, range(0, 100_000)).is_ok());
    let short = HeatAxis::Offset { period_ns: 10, rows: 10 };
    assert!(matches!(heat(short, range(0, 100)), Err(ViewError::OutOfRange { .. })));
    let busy = UtilisationQuery { stream: 0, range: TimeRange::of(&source), filter: None, columns: 10 };
    assert!(matches!(utilisation(&source, &busy, &GO), Err(ViewError::NotUtilised)));
}

#[test]
fn too_many_single_rows_are_only_counted() {
    let rows: Vec<One> =
        (0..=MAX_SCATTERED as u64).map(|time| One { time, cpu: 0, tid: 1, plain: time, signed: 0, text: 1 }).collect();
    let source = source(&rows, 4096);
    let all = |limits| {
        let (range, column) = (TimeRange::of(&source), "plain".to_owned());
        scatter(&source, &ScatterQuery { stream: 0, column, range, filter: None, limits }, &GO).unwrap()
    };
    let many = all(ValueLimits::default());
    assert_eq!((many.shown, many.rows.len()), (rows.len() as u64, 0));
    let fewer = all(ValueLimits { low: Some(1), high: None });
    assert_eq!(
        (fewer.shown, fewer.rows.len(), fewer.below, fewer.rows[0]),
        (rows.len() as u64 - 1, MAX_SCATTERED, 1, 1)
    );
}

#[test]
fn a_view_that_nobody_waits_for_ends() {
    let rows = [One { time: 1, cpu: 0, tid: 1, plain: 5, signed: -5, text: 1 }];
    let source = source(&rows, 10);
    let cancel = AtomicBool::new(true);
    assert!(cancel.load(Ordering::Relaxed));
    let (range, column) = (TimeRange::of(&source), "plain".to_owned());
    let query = ScatterQuery { stream: 0, column, range, filter: None, limits: ValueLimits::default() };
    assert!(matches!(scatter(&source, &query, &cancel), Err(ViewError::Cancelled)));
    assert_eq!(source.streams().len(), 1);
}
