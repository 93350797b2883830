//! The tree of processes against a plain walk through their history.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_capture::{ColumnType, Display, ProcessChange, ProcessChangeKind, StreamKind};
use bathyscope_views::{Filter, MemorySource, ProcessLife, ProcessTree, RowsQuery, TimeRange, page, process_tree};
use proptest::{collection::vec, prelude::*};

use crate::fixture::{Build, GO, ORIGIN, Own};

/// What happens next: to whom (of those that are there), and what.
#[derive(Clone, Copy, Debug)]
enum Step {
    Fork(usize),
    Thread(usize),
    ThreadEnds(usize),
    Rename(usize, usize),
    Exit(usize),
    Sample(usize),
}

const NAMES: [&str; 4] = ["sh", "make", "cc", "ld"];

/// A process as it should be found.
#[derive(Clone, Debug, Default, PartialEq)]
struct Expected {
    parent: Option<usize>,
    start: Option<i64>,
    end: Option<i64>,
    names: Vec<&'static str>,
    threads: BTreeSet<u32>,
    peak: u32,
    samples: u64,
    pid: u32,
}

fn change(time: u64, pid: u32, tid: u32, kind: ProcessChangeKind) -> ProcessChange {
    ProcessChange { time_ns: ORIGIN + time, pid, tid, kind }
}

/// The history of steps, its samples, and what is expected: two processes are there from the beginning.
fn played(steps: &[Step]) -> (MemorySource, Vec<ProcessChange>, Vec<Expected>) {
    let mut build = Build::default();
    let names: Vec<u32> = NAMES.iter().map(|name| build.strings.id(name.as_bytes())).collect();
    build.profile();
    let (mut changes, mut all, mut alive) = (Vec::new(), Vec::new(), Vec::new());
    for pid in [1, 2] {
        changes.push(ProcessChange { time_ns: 0, pid, tid: pid, kind: ProcessChangeKind::Existing { comm: names[0] } });
        alive.push(all.len());
        all.push(Expected { pid, names: vec![NAMES[0]], threads: [pid].into(), peak: 1, ..Expected::default() });
    }
    let (mut time, mut next) = (0, 10);
    for step in steps {
        time += 10;
        let (Step::Fork(of)
        | Step::Thread(of)
        | Step::ThreadEnds(of)
        | Step::Rename(of, _)
        | Step::Exit(of)
        | Step::Sample(of)) = *step;
        let Some(at) = alive.get(of % alive.len().max(1)).copied() else { break };
        let pid = all[at].pid;
        match step {
            Step::Fork(_) => {
                next += 1;
                changes.push(change(time, next, next, ProcessChangeKind::Fork { parent_pid: pid }));
                alive.push(all.len());
                let names = all[at].names.last().copied().into_iter().collect();
                let (parent, start) = (Some(at), Some(time as i64));
                all.push(Expected {
                    pid: next,
                    parent,
                    start,
                    names,
                    threads: [next].into(),
                    peak: 1,
                    ..Expected::default()
                });
            }
            Step::Thread(_) => {
                next += 1;
                changes.push(change(time, pid, next, ProcessChangeKind::Fork { parent_pid: pid }));
                all[at].threads.insert(next);
                all[at].peak = all[at].peak.max(all[at].threads.len() as u32);
            }
            Step::ThreadEnds(_) => {
                if let Some(tid) = all[at].threads.iter().copied().find(|tid| *tid != pid) {
                    changes.push(change(time, pid, tid, ProcessChangeKind::Exit));
                    all[at].threads.remove(&tid);
                }
            }
            Step::Rename(_, name) => {
                changes.push(change(time, pid, pid, ProcessChangeKind::Comm { comm: names[*name], exec: true }));
                all[at].names.push(NAMES[*name]);
            }
            Step::Exit(_) => {
                changes.push(change(time, pid, pid, ProcessChangeKind::Exit));
                all[at].end = Some(time as i64);
                alive.retain(|one| *one != at);
            }
            Step::Sample(_) => {
                build.sample((time, 0, pid.into(), pid.into(), b"x"), 0);
                all[at].samples += 1;
            }
        }
        all.iter_mut().for_each(|life| life.names.dedup());
    }
    (build.finish(), changes, all)
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = prop_oneof![
        4 => (0usize..40).prop_map(Step::Fork),
        2 => (0usize..40).prop_map(Step::Thread),
        1 => (0usize..40).prop_map(Step::ThreadEnds),
        2 => ((0usize..40), (0usize..4)).prop_map(|(of, name)| Step::Rename(of, name)),
        2 => (0usize..40).prop_map(Step::Exit),
        4 => (0usize..40).prop_map(Step::Sample),
    ];
    vec(one, 1..80)
}

fn tree(source: &MemorySource, changes: &[ProcessChange], range: TimeRange) -> ProcessTree {
    process_tree(source, changes, range, &GO).unwrap()
}

/// The places below one.
fn below(all: &[ProcessLife], place: usize) -> BTreeSet<usize> {
    let mut found = BTreeSet::from([place]);
    for (at, life) in all.iter().enumerate() {
        if life.parent.is_some_and(|parent| found.contains(&(parent as usize))) {
            found.insert(at);
        }
    }
    found
}

proptest! {
    #[test]
    fn processes_are_those_of_the_history(steps in steps()) {
        let (source, changes, expected) = played(&steps);
        let found = tree(&source, &changes, TimeRange::ALL).processes;
        prop_assert_eq!(found.len(), expected.len());
        let by_pid: BTreeMap<u32, &ProcessLife> = found.iter().map(|life| (life.pid, life)).collect();
        for life in &expected {
            let one = by_pid[&life.pid];
            let mut names: Vec<&str> = one.former.iter().map(String::as_str).collect();
            names.push(&one.comm);
            let parent = one.parent.map(|parent| found[parent as usize].pid);
            prop_assert_eq!(
                (one.start, one.end, names, one.threads, one.samples, parent),
                (life.start, life.end, life.names.clone(), life.peak, Some(life.samples), life.parent.map(|at| expected[at].pid))
            );
        }
        for (place, life) in found.iter().enumerate() {
            // Parents are before their children, and all below one follow it.
            let inside = below(&found, place);
            prop_assert_eq!(inside.len() as u32, life.descendants + 1);
            prop_assert_eq!(inside.iter().copied().collect::<Vec<_>>(), (place..place + inside.len()).collect::<Vec<_>>());
            prop_assert_eq!(life.depth, life.parent.map_or(0, |parent| found[parent as usize].depth + 1));
            if !life.filter.is_empty() {
                let wanted: u64 = inside.iter().map(|at| found[*at].samples.unwrap()).sum();
                let query = RowsQuery { filter: Filter::parse(&life.filter).unwrap(), ..RowsQuery::new(0) };
                prop_assert_eq!(page(&source, &query, &GO).unwrap().matched, wanted, "{}", life.filter);
            }
        }
    }

    #[test]
    fn a_range_has_those_that_were_there_and_who_started_them(steps in steps(), from in 0u64..800, span in 1u64..300) {
        let (source, changes, expected) = played(&steps);
        let range = TimeRange { start_ns: ORIGIN + from, end_ns: ORIGIN + from + span };
        let processes = tree(&source, &changes, range).processes;
        let found: BTreeSet<u32> = processes.iter().map(|life| life.pid).collect();
        // A condition stands for the same in any range.
        let whole = tree(&source, &changes, TimeRange::ALL).processes;
        let conditions: BTreeMap<u32, &str> = whole.iter().map(|life| (life.pid, life.filter.as_str())).collect();
        for life in &processes {
            prop_assert_eq!(life.filter.as_str(), conditions[&life.pid]);
        }
        let mut wanted = BTreeSet::new();
        for life in &expected {
            let began = life.start.unwrap_or(0) < (from + span) as i64;
            let lives = life.end.is_none_or(|end| end >= from as i64);
            let mut at = Some(life).filter(|_| began && lives);
            while let Some(one) = at {
                wanted.insert(one.pid);
                at = one.parent.map(|parent| &expected[parent]);
            }
        }
        prop_assert_eq!(found, wanted);
    }
}

#[test]
fn rows_tell_arguments_and_ends_and_ids_are_used_again() {
    let mut build = Build::default();
    let sh = build.strings.id(b"sh");
    let own = [
        ("call", ColumnType::Text, Display::Text),
        ("args", ColumnType::Text, Display::Text),
        ("result", ColumnType::I64, Display::Decimal),
        ("kind", ColumnType::Text, Display::Text),
    ];
    build.stream("syscalls", StreamKind::Events, &own);
    let mut row = |time, call: &str, args: &str, result, kind: &str| {
        let cells = [Own::T(call.as_bytes()), Own::T(args.as_bytes()), Own::I(result), Own::T(kind.as_bytes())];
        build.event((time, 0, 7, 7, b"sh"), &cells);
    };
    row(15, "execve", "\"/bin/ls\", [\"ls\", \"-l\"], 0x1", 0, "call");
    row(16, "execve", "\"/no\", [\"no\"], 0x1", -2, "call");
    row(30, "exited", "1", 1, "exit");
    row(55, "killed", "SIGKILL", 9, "exit");
    let source = build.finish();
    let fork = |time| change(time, 7, 7, ProcessChangeKind::Fork { parent_pid: 1 });
    let exit = |time| change(time, 7, 7, ProcessChangeKind::Exit);
    let existing = ProcessChange { time_ns: 0, pid: 1, tid: 1, kind: ProcessChangeKind::Existing { comm: sh } };
    let changes = [existing, fork(10), exit(31), fork(40), exit(54)];
    let found = tree(&source, &changes, TimeRange::ALL);
    assert!(found.has_arguments && found.has_ends && !found.has_states);
    let told: Vec<(u32, &str, &str, bool)> = found
        .processes
        .iter()
        .map(|life| (life.pid, life.arguments.as_str(), life.ended.as_str(), life.is_shared))
        .collect();
    let expected = [(1, "", "", false), (7, "[\"ls\", \"-l\"]", "exited 1", true), (7, "", "killed SIGKILL", true)];
    assert_eq!(told, expected);
    assert_eq!(found.processes[0].filter, "(pid == 1 || pid == 7)");
}
