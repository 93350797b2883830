//! Tables of system calls against plain lists of calls.

use std::collections::BTreeMap;

use bathyscope_capture::{Column, ColumnType, Display, RowKind, RowMeaning, StreamKind, StreamSchema};
use bathyscope_views::{
    Filter, MemorySource, SyscallGroup, SyscallQuery, SyscallTable, SyscallTimes, TimeRange, ViewError, syscall_table,
};
use proptest::{collection::vec, prelude::*};

use crate::fixture::{Build, GO, ORIGIN, Own, profile};

const CALLS: [&str; 4] = ["read", "openat", "futex", "sendto"];
const ARGS: [&str; 6] = [
    "3</etc/a>, \"x\", 10",
    "AT_FDCWD, \"/etc/a\", O_RDONLY",
    "0x7f, FUTEX_WAIT",
    "4<TCP:[a->b]>, \"y\"",
    "AT_FDCWD</h>, \"r\"",
    "7",
];
const OBJECTS: [Option<&str>; 6] = [Some("/etc/a"), Some("/etc/a"), None, Some("TCP:[a->b]"), Some("/h/r"), None];
const ERRORS: [&str; 3] = ["", "ENOENT", "EAGAIN"];
const KINDS: [&str; 4] = ["call", "unfinished", "signal", "inside"];

/// Gap to the call before, thread, call, arguments, result, error, duration, kind.
type CallOf = (u64, u64, usize, usize, i64, usize, u64, usize);

/// A state of a thread: thread, whether it runs, how long it takes; one follows the other.
type StateOf = (u64, bool, u64);

fn made(calls: &[CallOf], states: &[StateOf], with_cpu: bool) -> MemorySource {
    let mut build = Build::default();
    let mut own = vec![
        ("call", ColumnType::Text, Display::Text),
        ("args", ColumnType::Text, Display::Text),
        ("result", ColumnType::I64, Display::Decimal),
        ("error", ColumnType::Text, Display::Text),
        ("duration_ns", ColumnType::U64, Display::DurationNs),
        ("kind", ColumnType::Text, Display::Text),
    ];
    if with_cpu {
        own.push(("cpu_ns", ColumnType::U64, Display::DurationNs));
    }
    build.stream("syscalls", StreamKind::Events, &own);
    let mut time = 0;
    for (gap, tid, call, args, result, error, duration, kind) in calls {
        time += gap;
        let text = |text: &'static str| if text.is_empty() { Own::Missing } else { Own::T(text.as_bytes()) };
        let mut cells = vec![
            text(CALLS[*call]),
            text(ARGS[*args]),
            Own::I(*result),
            text(ERRORS[*error]),
            Own::U(*duration),
            text(KINDS[*kind]),
        ];
        cells.extend(with_cpu.then_some(Own::U(duration / 3)));
        build.event((time, 0, tid / 2 + 10, tid + 10, b"worker"), &cells);
    }
    if !states.is_empty() {
        let column = |name: &str, ty, display| Column { name: name.to_owned(), ty, display };
        let own = [
            column("state", ColumnType::Text, Display::Text),
            column("duration_ns", ColumnType::U64, Display::DurationNs),
        ];
        let kind = RowKind::State { state: "state".to_owned(), duration: Some("duration_ns".to_owned()) };
        let mut schema = StreamSchema::new("thread states", StreamKind::Events, own);
        schema.rows = Some(Box::new(RowMeaning::new(kind, &["tid"])));
        build.streams.push((schema, Vec::new()));
        build.chunk();
        for (begin, tid, runs, length) in placed(states) {
            let state: &[u8] = if runs { b"running" } else { b"sleeping" };
            build.event((begin, 0, tid / 2 + 10, tid + 10, b"worker"), &[Own::T(state), Own::U(length)]);
        }
    }
    build.finish()
}

/// States with when they begin, in the order of time.
fn placed(states: &[StateOf]) -> Vec<(u64, u64, bool, u64)> {
    let mut next: BTreeMap<u64, u64> = BTreeMap::new();
    let mut all = Vec::new();
    for (tid, runs, length) in states {
        let begin = next.entry(*tid).or_default();
        all.push((*begin, *tid, *runs, *length));
        *begin += length;
    }
    all.sort_unstable();
    all
}

/// Count, time, shortest, longest, failed, unfinished, bytes, running, waiting, unsplit, without a length.
#[derive(Clone, Debug, Default, PartialEq)]
struct Sums(Vec<u64>);

fn sums(times: &SyscallTimes) -> Sums {
    let of = &times.durations;
    Sums(vec![
        of.count,
        of.time,
        times.shortest,
        of.longest,
        times.failed,
        times.unfinished,
        times.bytes,
        times.running,
        times.waiting,
        times.unsplit,
        of.without,
    ])
}

/// When a call began, and the call.
fn naive<'a>(calls: impl Iterator<Item = &'a (u64, CallOf)>, states: &[StateOf], with_cpu: bool) -> Sums {
    let placed = placed(states);
    let mut all = vec![0; 11];
    all[2] = u64::MAX;
    for (time, (_, tid, call, _, result, error, duration, kind)) in calls {
        all[0] += 1;
        all[4] += u64::from(*error > 0);
        all[5] += u64::from(*kind != 0);
        all[6] += if *result > 0 && matches!(CALLS[*call], "read" | "sendto") { result.unsigned_abs() } else { 0 };
        // The entry of a call that took no time was not recorded.
        if *duration == 0 {
            all[10] += 1;
            continue;
        }
        all[1] += duration;
        all[2] = all[2].min(*duration);
        all[3] = all[3].max(*duration);
        let of_thread = placed.iter().filter(|(_, of, ..)| of == tid);
        let until = of_thread.clone().map(|(begin, _, _, length)| begin + length).max();
        let end = time + duration;
        let ran = if with_cpu {
            Some(duration / 3)
        } else if until.is_some_and(|until| end <= until) {
            let ran = of_thread.filter(|(_, _, runs, _)| *runs);
            Some(ran.map(|(begin, _, _, length)| (begin + length).min(end).saturating_sub(*begin.max(time))).sum())
        } else {
            None
        };
        match ran {
            Some(ran) => {
                all[7] += ran;
                all[8] += duration - ran;
            }
            None => all[9] += 1,
        }
    }
    if all[0] == all[10] {
        all[2] = 0;
    }
    Sums(all)
}

fn query(group: SyscallGroup) -> SyscallQuery {
    SyscallQuery { range: TimeRange::ALL, filter: None, group, by_bytes: false }
}

fn calls() -> impl Strategy<Value = Vec<CallOf>> {
    let duration = prop_oneof![1 => Just(0_u64), 4 => 1..500_u64];
    vec((0u64..200, 0u64..4, 0usize..4, 0usize..6, -3i64..50, 0usize..3, duration, 0usize..4), 1..80)
}

/// The calls that count, each with its time.
fn counted(calls: &[CallOf]) -> Vec<(u64, CallOf)> {
    let mut time = 0;
    let mut at = |call: &CallOf| {
        time += call.0;
        (time, *call)
    };
    calls.iter().map(&mut at).filter(|(_, call)| KINDS[call.7] != "signal").collect()
}

proptest! {
    #[test]
    fn lines_are_sums_of_their_calls(
        calls in calls(),
        states in vec((0u64..4, any::<bool>(), 1u64..900), 0..60),
        with_cpu: bool,
        group in proptest::sample::select(SyscallGroup::ALL.to_vec()),
        from in 0u64..4000,
    ) {
        let source = made(&calls, &states, with_cpu);
        let range = TimeRange { start_ns: ORIGIN + from, end_ns: ORIGIN + from + 5000 };
        let asked = SyscallQuery { range, ..query(group.1) };
        let table = syscall_table(&source, &asked, &GO).unwrap();
        let mut all = counted(&calls);
        all.retain(|(time, _)| (from..from + 5000).contains(time));
        prop_assert_eq!(sums(&table.all), naive(all.iter(), &states, with_cpu));
        let key = |(_, call): &(u64, CallOf)| {
            let name = CALLS[call.2].to_owned();
            let (pid, tid) = (Some(call.1 / 2 + 10), Some(call.1 + 10));
            match group.1 {
                SyscallGroup::Call => (name, None, None),
                SyscallGroup::Process => (String::new(), pid, None),
                SyscallGroup::Thread => (String::new(), pid, tid),
                SyscallGroup::ProcessCall => (name, pid, None),
                SyscallGroup::ThreadCall => (name, pid, tid),
            }
        };
        let mut expected: BTreeMap<_, Vec<(u64, CallOf)>> = BTreeMap::new();
        all.iter().for_each(|call| expected.entry(key(call)).or_default().push(*call));
        let found: BTreeMap<_, _> =
            table.lines.iter().map(|line| ((line.call.clone(), line.pid, line.tid), line)).collect();
        prop_assert_eq!(found.len(), expected.len());
        for (key, calls) in &expected {
            let line = found[key];
            prop_assert_eq!(sums(&line.times), naive(calls.iter(), &states, with_cpu));
            let mut errors: BTreeMap<&str, u64> = BTreeMap::new();
            calls.iter().filter(|(_, call)| call.5 > 0).for_each(|(_, call)| *errors.entry(ERRORS[call.5]).or_default() += 1);
            let told: BTreeMap<&str, u64> = line.errors.iter().map(|error| (error.name.as_str(), error.count)).collect();
            prop_assert_eq!(told, errors);
            // Each line's condition chooses exactly its calls.
            let filter = Filter::parse(&line.filter).unwrap();
            let of_line = syscall_table(&source, &SyscallQuery { filter, ..asked.clone() }, &GO).unwrap();
            prop_assert_eq!(sums(&of_line.all), sums(&line.times));
            let times = &line.times.durations;
            prop_assert_eq!(times.buckets.iter().map(|(_, count)| count).sum::<u64>(), times.count - times.without);
            let mut durations: Vec<u64> = calls.iter().map(|(_, call)| call.6).filter(|duration| *duration > 0).collect();
            durations.sort_unstable();
            let mean = durations.iter().sum::<u64>() as f64 / durations.len().max(1) as f64;
            prop_assert!((times.mean - mean).abs() < 1e-6);
            for (found, permille) in [(times.p50, 500), (times.p90, 900), (times.p99, 990)] {
                let exact = durations.get((durations.len() * permille).div_ceil(1000).max(1) - 1).copied().unwrap_or(0);
                prop_assert!(found.abs_diff(exact) <= exact / 100, "{} {}", found, exact);
            }
        }
        let times: Vec<u64> = table.lines.iter().map(|line| line.times.durations.time).collect();
        prop_assert!(times.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn files_and_sockets_have_the_calls_that_name_them(calls in calls(), by_bytes: bool) {
        let source = made(&calls, &[], false);
        let table = syscall_table(&source, &SyscallQuery { by_bytes, ..query(SyscallGroup::Call) }, &GO).unwrap();
        let mut expected: BTreeMap<&str, Vec<(u64, CallOf)>> = BTreeMap::new();
        for call in counted(&calls) {
            // A path behind a descriptor is relative to it, of calls that take one.
            let object = match (CALLS[call.1.2], call.1.3) {
                ("openat", 0) => Some("/etc/a/x"),
                ("openat", 3) => Some("TCP:[a->b]/y"),
                (_, args) => OBJECTS[args],
            };
            if let Some(object) = object {
                expected.entry(object).or_default().push(call);
            }
        }
        let found: BTreeMap<&str, Sums> = table.files.iter().map(|file| (file.name.as_str(), sums(&file.times))).collect();
        let expected: BTreeMap<&str, Sums> =
            expected.iter().map(|(name, calls)| (*name, naive(calls.iter(), &[], false))).collect();
        prop_assert_eq!(found, expected);
        let order: Vec<u64> = table
            .files
            .iter()
            .map(|file| if by_bytes { file.times.bytes } else { file.times.durations.time })
            .collect();
        prop_assert!(order.is_sorted_by(|a, b| a >= b));
    }
}

#[test]
fn files_can_be_filtered_by_and_captures_without_calls_say_so() {
    let calls = [(0, 0, 0, 0, 5, 0, 10, 0), (5, 1, 3, 3, 7, 0, 20, 0)];
    let source = made(&calls, &[], false);
    let table: SyscallTable = syscall_table(&source, &query(SyscallGroup::Call), &GO).unwrap();
    let kinds: Vec<(&str, &str, u64)> =
        table.files.iter().map(|file| (file.kind, file.name.as_str(), file.times.bytes)).collect();
    assert_eq!(kinds, [("socket", "TCP:[a->b]", 7), ("file", "/etc/a", 5)]);
    for file in &table.files {
        let filter = Filter::parse(&file.filter).unwrap();
        let only = syscall_table(&source, &SyscallQuery { filter, ..query(SyscallGroup::Call) }, &GO).unwrap();
        assert_eq!(sums(&only.all), sums(&file.times), "{}", file.filter);
    }
    let none = syscall_table(&profile(), &query(SyscallGroup::Call), &GO);
    assert!(matches!(none, Err(ViewError::NoSystemCalls)));
}
