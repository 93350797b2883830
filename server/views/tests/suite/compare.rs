//! Comparisons: sums against naive ones, and differences whose truth is known.

use bathyscope_capture::MappingKind;
use bathyscope_views::{
    CompareQuery, ComparedSide, FlameQuery, GroupBy, MemorySource, Normalised, ViewError, compare, fold,
};
use proptest::prelude::*;

use crate::fixture::{Build, GO, symbol};

/// A generator of numbers that are the same each time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// Samples of functions `f0` to `f19` below `main`, as often as `weights` say; of those of `f3`, `moved` in 100 are of `f7`.
fn profile(seed: u64, count: u64, moved_permille: u64) -> MemorySource {
    let mut build = Build::default();
    build.profile();
    let mut dice = Dice(seed);
    let main = build.frame(MappingKind::File, b"/bin/x", 999, symbol("main", &[]));
    for at in 0..count {
        // Half of all is one function, the rest falls off.
        let mut function = if dice.roll(2) == 0 { 3 } else { dice.roll(20).min(dice.roll(20)) };
        if function == 3 && dice.roll(1000) < moved_permille {
            function = 7;
        }
        let name = format!("f{function}");
        let frame = build.frame(MappingKind::File, b"/bin/x", function, symbol(&name, &[]));
        let stack = build.stacks.stack(&[frame, main]);
        build.sample((at * 1000 + dice.roll(900), 0, 1, 1, b"x"), stack);
    }
    build.finish()
}

fn side(source: &MemorySource) -> ComparedSide {
    ComparedSide::read(source, &FlameQuery { by: GroupBy::None, ..FlameQuery::default() }, &GO).unwrap()
}

fn query(normalised: Normalised) -> CompareQuery {
    CompareQuery { flame: FlameQuery { by: GroupBy::None, width: 8192, ..FlameQuery::default() }, normalised }
}

#[test]
fn what_moved_is_named_first_and_nothing_else_is_significant() {
    let before: Vec<ComparedSide> = (0..5).map(|run| side(&profile(run, 20_000, 0))).collect();
    for seed in 50..60 {
        // Half of the samples are of f3: 140 of 1000 of those are 7 % of all.
        let after = side(&profile(seed, 20_000, 140));
        for others in [&before[..1], &before[..]] {
            let found = compare(&after, others, &query(Normalised::Total)).unwrap();
            let mut named: Vec<&str> =
                found.functions.iter().filter(|one| one.is_significant).map(|one| one.name.as_str()).collect();
            let first = named.first().copied();
            named.sort_unstable();
            assert_eq!(named, ["f3", "f7"], "{seed}");
            assert!(first.is_some_and(|first| ["f3", "f7"].contains(&first)));
            assert_eq!(found.significant, 2);
            let moved = found.functions.iter().find(|one| one.name == "f7").unwrap().difference / 20_000.0;
            assert!((moved - 0.07).abs() < 0.015, "{seed}: {moved}");
        }
    }
}

/// Samples of functions `g0` to `g199`, each below callers of its own in `deep` levels; `moved` in 1000 of all are of `g7` in place
/// of `g3`, which has a tenth of all.
fn deep_profile(seed: u64, count: u64, moved_permille: u64) -> MemorySource {
    let mut build = Build::default();
    build.profile();
    let mut dice = Dice(seed);
    for at in 0..count {
        let mut function = if dice.roll(10) == 0 { 3 } else { dice.roll(200).min(dice.roll(200)) };
        if function == 3 && dice.roll(100) < moved_permille {
            function = 7;
        }
        let mut frames = Vec::new();
        for (level, divisor) in [1_u64, 5, 20, 100].into_iter().enumerate() {
            let number = function / divisor;
            let name = format!("{}{number}", ["g", "mid", "top", "part"][level]);
            let offset = number + 1000 * level as u64;
            frames.push(build.frame(MappingKind::File, b"/bin/x", offset, symbol(&name, &[])));
        }
        let stack = build.stacks.stack(&frames);
        build.sample((at * 1000 + dice.roll(900), dice.roll(4), 1, 1 + dice.roll(3), b"x"), stack);
    }
    build.finish()
}

#[test]
fn what_moved_is_named_first_among_many_functions_in_deep_stacks() {
    // 70 of 100 samples of a tenth are 7 % of all; the other way round is told the same.
    let before: Vec<ComparedSide> = (0..3).map(|run| side(&deep_profile(run, 30_000, 0))).collect();
    let after: Vec<ComparedSide> = (50..58).map(|run| side(&deep_profile(run, 30_000, 70))).collect();
    let check = |found: &bathyscope_views::FlameDifference, gains: &str, what: &str| {
        let named: Vec<&str> =
            found.functions.iter().take(found.significant).map(|function| function.name.as_str()).collect();
        assert_eq!(found.functions.iter().filter(|one| one.is_significant).count(), found.significant);
        assert!(named.iter().all(|name| ["g3", "g7"].contains(name)) && named.len() == 2, "{what}: {named:?}");
        let gain = found.functions.iter().find(|one| one.name == gains).unwrap().difference / 30_000.0;
        assert!((gain - 0.07).abs() < 0.012, "{what}: {gain}");
    };
    for (run, after) in after.iter().enumerate() {
        for normalised in [Normalised::Total, Normalised::Time, Normalised::None] {
            let what = format!("{run} {normalised:?}");
            check(&compare(after, &before, &query(normalised)).unwrap(), "g7", &what);
            check(&compare(&before[0], std::slice::from_ref(after), &query(normalised)).unwrap(), "g3", &what);
        }
    }
}

#[test]
fn chance_is_not_news() {
    let before = side(&profile(1, 5_000, 0));
    let mut false_ones = 0;
    for seed in 100..200 {
        let found =
            compare(&side(&profile(seed, 5_000, 0)), std::slice::from_ref(&before), &query(Normalised::Total)).unwrap();
        false_ones += found.significant;
    }
    assert!(false_ones <= 3, "{false_ones} differences of 100 comparisons of the same program are called news");
}

#[test]
fn bursts_are_not_news() {
    // A function that runs in one burst each run, wherever it is and however long: its samples are many, and no news.
    let burst = |at: u64, length: u64| {
        let mut build = Build::default();
        build.profile();
        let frames: Vec<u32> =
            (0..2).map(|f| build.frame(MappingKind::File, b"/bin/x", f, symbol(&format!("f{f}"), &[]))).collect();
        for time in 0..8_000 {
            let stack = build.stacks.stack(&[frames[usize::from(time >= at && time < at + length)]]);
            build.sample((time, 0, 1, 1, b"x"), stack);
        }
        side(&build.finish())
    };
    let found = compare(&burst(3_000, 700), &[burst(5_000, 450)], &query(Normalised::Total)).unwrap();
    assert_eq!(found.significant, 0, "{:?}", found.functions);
}

#[test]
fn other_units_are_refused() {
    use bathyscope_capture::{
        Batch, Column, ColumnData, ColumnType, Display, RowKind, RowMeaning, StreamKind, StreamSchema,
    };
    let mut source = profile(1, 10, 0);
    let own = [("stack", ColumnType::Stack), ("took", ColumnType::U64)];
    let own = own.map(|(name, ty)| Column { name: name.to_owned(), ty, display: Display::Decimal });
    let kind = RowKind::Sample { stack: "stack".to_owned(), weight: Some("took".to_owned()), unit: "ns".to_owned() };
    let schema = StreamSchema {
        rows: Some(Box::new(RowMeaning::new(kind, &["tid"]))),
        ..StreamSchema::new("off-CPU", StreamKind::Samples, own)
    };
    let numbers = |value| ColumnData::U64(vec![value]);
    let columns = vec![
        numbers(6_000_000_000),
        numbers(0),
        numbers(1),
        numbers(1),
        ColumnData::Id(vec![0]),
        ColumnData::Id(vec![1]),
        numbers(5),
    ];
    source.push_stream(schema, vec![Batch { columns }]);
    let weight = bathyscope_views::Weight::Own(Some(bathyscope_views::SampleUnit::Nanoseconds));
    let time = ComparedSide::read(&source, &FlameQuery { weight, ..FlameQuery::default() }, &GO).unwrap();
    let refused = compare(&side(&source), &[time], &query(Normalised::Total)).unwrap_err();
    assert!(matches!(refused, ViewError::ComparedUnits { shown: "samples", other: "nanoseconds" }), "{refused}");
}

proptest! {
    #[test]
    fn values_are_sums_of_both_sides(a in 1u64..300, b in 1u64..300, seeds in (0u64..9, 0u64..9), invert: bool) {
        let sources = [profile(seeds.0, a, 300), profile(seeds.1, b, 0)];
        let flame = FlameQuery { by: GroupBy::None, invert, width: 8192, ..FlameQuery::default() };
        let sides: Vec<ComparedSide> = sources.iter().map(|it| ComparedSide::read(it, &flame, &GO).unwrap()).collect();
        let query = CompareQuery { flame: flame.clone(), normalised: Normalised::None };
        let found = compare(&sides[0], &sides[1..], &query).unwrap();
        let stacks = fold(&sources[1], &flame, &GO).unwrap();
        let stacks: Vec<(Vec<&str>, u64)> =
            stacks.iter().map(|stack| (stack.frames.iter().map(|(name, _)| *name).collect(), stack.samples)).collect();
        let mut path: Vec<&str> = Vec::new();
        for at in 0..found.graph.nodes.id.len() {
            path.truncate(found.graph.nodes.depth[at] as usize);
            path.push(found.graph.names[found.graph.nodes.name[at] as usize].as_str());
            let below = stacks.iter().filter(|(names, _)| names.starts_with(&path[1..]));
            let expected: u64 = below.map(|(_, samples)| samples).sum();
            prop_assert_eq!(found.other[at], expected as f64);
        }
        for function in &found.functions {
            let with = |leaf: bool| -> u64 {
                let has = |names: &Vec<&str>| {
                    let own = if invert { names.first() } else { names.last() };
                    if leaf { own == Some(&function.name.as_str()) } else { names.contains(&function.name.as_str()) }
                };
                stacks.iter().filter(|(names, _)| has(names)).map(|(_, samples)| samples).sum()
            };
            prop_assert_eq!((function.other_own, function.other_total), (with(true) as f64, with(false) as f64));
        }
        prop_assert_eq!(found.compared, found.functions.len());
        let by_total = compare(&sides[0], &sides[1..], &CompareQuery { normalised: Normalised::Total, flame }).unwrap();
        prop_assert!((by_total.other[0] - a as f64).abs() < 1e-6, "both roots are the same");
    }
}
