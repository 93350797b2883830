//! Two captures beside each other, with differences whose truth is known, and key numbers.

use bathyscope_capture::{ColumnType, Display, Loss, LossStage, StreamKind};
use bathyscope_views::{
    CaptureComparison, ComparedNumber, DifferenceVerdict, KeyWhat, KeyWish, MeasuredSide, MemorySource, TimeRange,
    compare_captures, key_numbers,
};

use crate::fixture::{Build, GO, ORIGIN, Own};

const SECOND_NS: u64 = 1_000_000_000;
const CALLS: [(&str, ColumnType, Display); 4] = [
    ("call", ColumnType::Text, Display::Text),
    ("duration_ns", ColumnType::U64, Display::DurationNs),
    ("result", ColumnType::I64, Display::Decimal),
    ("flags", ColumnType::U64, Display::Hex),
];

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// System calls of two processes over a second: `count` of them, of which each takes up to `spread_ns` beside a microsecond; `extra`
/// of a hundred are `fsync`.
fn calls(seed: u64, (count, spread_ns, extra): (u64, u64, u64)) -> MemorySource {
    let mut build = Build::default();
    build.stream("read", StreamKind::Events, &CALLS);
    let mut dice = Dice(seed);
    for at in 0..count {
        let time = at * SECOND_NS / count;
        let call: &[u8] = if dice.roll(100) < extra { b"fsync" } else { b"read" };
        let comm: &[u8] = if dice.roll(2) == 0 { b"<b>nginx" } else { b"redis" };
        let duration = 1000 + dice.roll(spread_ns);
        build.event((time, 0, 1, 1, comm), &[Own::T(call), Own::U(duration), Own::I(0), Own::U(3)]);
    }
    build.finish()
}

fn side(source: &MemorySource) -> MeasuredSide<'_> {
    MeasuredSide { source, span: TimeRange { start_ns: ORIGIN, end_ns: ORIGIN + SECOND_NS } }
}

fn compared(a: &MemorySource, b: &MemorySource) -> CaptureComparison {
    compare_captures(side(a), side(b), &GO).unwrap()
}

fn number<'c>(found: &'c CaptureComparison, what: &str) -> &'c ComparedNumber {
    let stream = &found.streams[0];
    let columns = stream.columns.iter().flat_map(|column| &column.numbers);
    stream.numbers.iter().chain(columns).find(|one| one.what == what).unwrap()
}

#[test]
fn what_changed_is_told_and_what_is_chance_is_not() {
    use DifferenceVerdict::{BeyondChance, Untested, WithinChance};
    for seed in 0..20 {
        let before = calls(seed, (20_000, 9000, 5));
        let same = compared(&before, &calls(seed + 100, (20_000, 9000, 5)));
        for what in ["rate", "p50", "p90", "p99"] {
            assert_eq!(number(&same, what).verdict, WithinChance, "{seed} {what}: {:?}", number(&same, what));
        }
        assert_eq!(same.names_changed, 0, "{seed}: {:?}", same.names);
        let slower = compared(&before, &calls(seed + 200, (20_000, 12_000, 5)));
        assert_eq!(number(&slower, "p50").verdict, BeyondChance, "{seed}");
        assert_eq!(number(&slower, "p99").verdict, BeyondChance, "{seed}");
        assert_eq!(number(&slower, "rate").verdict, WithinChance, "{seed}");
        assert_eq!(number(&slower, "most").verdict, Untested);
        let more = compared(&before, &calls(seed + 300, (30_000, 9000, 5)));
        assert_eq!(number(&more, "rate").verdict, BeyondChance, "{seed}");
        assert!((number(&more, "rate").difference - 10_000.0).abs() < 1.0);
    }
}

#[test]
fn what_changed_most_is_named_first_with_its_condition() {
    let found = compared(&calls(1, (20_000, 9000, 5)), &calls(2, (20_000, 9000, 20)));
    let first = &found.names[0];
    assert_eq!((first.name.as_str(), first.verdict), ("fsync", DifferenceVerdict::BeyondChance), "{:?}", found.names);
    assert_eq!(first.filter, "call == \"fsync\"");
    let kinds: Vec<&str> = found.names.iter().filter(|name| name.name == "<b>nginx").map(|name| name.kind).collect();
    assert_eq!(kinds, ["process"]);
    // How often, and how long, of two calls, and two processes.
    assert_eq!(found.names_compared, 6);
}

#[test]
fn columns_are_those_worth_comparing_in_the_same_buckets() {
    let (a, b) = (calls(1, (500, 9000, 5)), calls(2, (700, 90_000, 5)));
    let found = compared(&a, &b);
    let columns: Vec<&str> = found.streams[0].columns.iter().map(|column| column.of.column.as_str()).collect();
    assert_eq!(columns, ["duration_ns"], "flags are no amount, and results are something else for each call");
    let column = &found.streams[0].columns[0];
    assert_eq!((column.a.iter().sum::<u64>(), column.b.iter().sum::<u64>()), (500, 700));
    assert_eq!((column.a.len(), column.b.len()), (column.buckets.len(), column.buckets.len()));
    // Few rows have no 99th percentile that could be told from chance.
    assert_eq!(number(&compared(&a, &calls(3, (500, 99_000, 5))), "p99").verdict, DifferenceVerdict::TooFew);
}

#[test]
fn streams_that_only_one_has_and_lost_rows_are_told() {
    let lossy = |count| {
        let mut source = calls(7, (20_000, 12_000, 5));
        source.losses.push(Loss { stream: Some(0), stage: LossStage::RingFull, count, start_ns: 0, end_ns: 0 });
        source
    };
    let before = calls(1, (20_000, 9000, 5));
    let found = compared(&before, &lossy(20_000));
    assert_eq!(found.streams[0].b.lost, 20_000);
    assert_eq!(number(&found, "p50").verdict, DifferenceVerdict::LostRows, "all that was lost can have been short");
    assert_eq!(number(&found, "rate").verdict, DifferenceVerdict::WithinChance, "as many were stored");
    assert_eq!(number(&compared(&before, &lossy(10)), "p50").verdict, DifferenceVerdict::BeyondChance);
    let mut other = Build::default();
    other.stream("write <b>\x1b[2K", StreamKind::Events, &[]);
    let found = compared(&before, &other.finish());
    assert!(found.streams.is_empty());
    assert_eq!((found.only_a, found.only_b), (vec!["read".to_owned()], vec!["write <b>\\x1b[2K".to_owned()]));
    // Of nothing nothing is told.
    let empty = calls(1, (0, 1, 0));
    assert_eq!(number(&compared(&empty, &empty), "rate").verdict, DifferenceVerdict::WithinChance);
}

#[test]
fn key_numbers_are_those_of_rows_and_of_what_is_wished_for() {
    let source = calls(1, (20_000, 9000, 5));
    let keys = |wishes: &[&str]| -> Vec<String> {
        let wishes: Vec<KeyWish> = wishes.iter().filter_map(|key| KeyWish::parse(key)).collect();
        key_numbers(side(&source), &wishes, &GO).unwrap().into_iter().map(|number| number.key).collect()
    };
    let usual = ["rate@read", "count@read", "p50:duration_ns@read", "p99:duration_ns@read"];
    assert_eq!(keys(&[]), usual);
    let wished = keys(&["p99:result@read", "p99:nothing@read", "rate@other"]);
    assert_eq!(wished, [&usual[..], &["p50:result@read", "p99:result@read"]].concat());
    let found = key_numbers(side(&source), &[], &GO).unwrap();
    assert_eq!((found[0].what, found[0].number.value), (KeyWhat::Rate, 20_000.0));
    assert!(found.iter().all(|number| number.number.error.is_some()));
    // As the store keeps them.
    let text = serde_json::to_string(&found).unwrap();
    assert_eq!(serde_json::from_str::<Vec<bathyscope_views::KeyNumber>>(&text).unwrap(), found);
}

#[test]
fn shares_of_samples_are_of_processes_and_functions() {
    let mut build = Build::default();
    build.profile();
    let main = build.frame(bathyscope_capture::MappingKind::File, b"/bin/x", 1, crate::fixture::symbol("main<i>", &[]));
    let busy = build.frame(bathyscope_capture::MappingKind::File, b"/bin/x", 2, crate::fixture::symbol("busy", &[]));
    let (idle, hot) = (build.stacks.stack(&[main]), build.stacks.stack(&[busy, main]));
    for at in 0..1000_u64 {
        let comm: &[u8] = if at % 10 == 0 { b"b" } else { b"a" };
        build.sample((at * SECOND_NS / 1000, 0, 1, 1, comm), if at % 4 == 0 { idle } else { hot });
    }
    let source = build.finish();
    let found = key_numbers(side(&source), &[], &GO).unwrap();
    let told: Vec<(&str, &str, f64)> =
        found.iter().map(|one| (one.key.as_str(), one.name.as_str(), one.number.value)).collect();
    assert!(told.contains(&("hottest_process@cpu-clock", "a", 0.9)), "{told:?}");
    assert!(told.contains(&("process_share:b@cpu-clock", "b", 0.1)), "{told:?}");
    assert!(told.contains(&("hottest_function@cpu-clock", "busy", 0.75)), "{told:?}");
    assert!(told.contains(&("function_share:main<i>@cpu-clock", "main<i>", 0.25)), "{told:?}");
}
