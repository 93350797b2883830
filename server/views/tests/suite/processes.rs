//! The tree of processes against a plain walk through their history.

use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use bathyscope_capture::{
    Batch, ColumnType, Display, Loss, ProcessChange, ProcessChangeKind, StreamKind, StreamSchema,
};
use bathyscope_views::{
    ChunkMeta, Dictionaries, Filter, KeptViews, MemorySource, ProcessLife, ProcessTree, RowsQuery, Source, TimeRange,
    ViewError, page, process_tree,
};
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

/// What is told of a process that was there before: who started it, and its user, if either is.
type Before = (Option<usize>, Option<usize>);

proptest! {
    #[test]
    fn what_was_there_before_is_below_who_started_it(
        before in vec((prop::option::of(0usize..12), prop::option::of(0usize..4)), 1..12),
        forks in vec((0usize..12, prop::option::of(0usize..4)), 0..6),
        turned: bool,
    ) {
        let mut build = Build::default();
        let names: Vec<u32> = NAMES.iter().map(|name| build.strings.id(name.as_bytes())).collect();
        let pid = |at: usize| 100 + at as u32;
        let mut changes = Vec::new();
        let known = |at: usize, (parent, user): Before, time_ns, changes: &mut Vec<ProcessChange>| {
            let kinds = [
                parent.map(|parent| ProcessChangeKind::Parent { parent_pid: pid(parent) }),
                user.map(|user| ProcessChangeKind::User { name: names[user] }),
            ];
            let kinds = kinds.into_iter().flatten();
            changes.extend(kinds.map(|kind| ProcessChange { time_ns, pid: pid(at), tid: 0, kind }));
        };
        for at in 0..before.len() {
            // Processes are met in any order.
            let at = if turned { before.len() - 1 - at } else { at };
            let kind = ProcessChangeKind::Existing { comm: names[0] };
            changes.push(ProcessChange { time_ns: 0, pid: pid(at), tid: pid(at), kind });
            known(at, before[at], 0, &mut changes);
        }
        let forks: Vec<(usize, Option<usize>)> = forks.iter().map(|(of, user)| (of % before.len(), *user)).collect();
        for (n, (of, user)) in forks.iter().enumerate() {
            let (at, time) = (before.len() + 20 + n, 10 + 10 * n as u64);
            changes.push(change(time, pid(at), pid(at), ProcessChangeKind::Fork { parent_pid: pid(*of) }));
            // Looked at later, its parent is another one.
            known(at, (Some(0), *user), ORIGIN + time + 1, &mut changes);
        }
        let source = build.finish();
        let found = tree(&source, &changes, TimeRange::ALL);
        prop_assert_eq!(found.has_parents, !forks.is_empty() || before.iter().any(|(parent, _)| parent.is_some()));
        prop_assert_eq!(found.processes.len(), before.len() + forks.len());
        let place = |of: u32| found.processes.iter().position(|life| life.pid == of).unwrap();
        // A process whose parents lead back to it has one link less.
        let told = |at: usize| before[at].0.filter(|parent| *parent < before.len() && *parent != at);
        let is_in_circle = |at: usize| {
            let mut next = told(at);
            (0..before.len()).any(|_| {
                let here = next;
                next = next.and_then(told);
                here == Some(at)
            })
        };
        for (at, (_, user)) in before.iter().enumerate() {
            let life = &found.processes[place(pid(at))];
            let parent = life.parent.map(|parent| found.processes[parent as usize].pid);
            let expected = told(at).map(pid);
            prop_assert!(parent == expected || (parent.is_none() && is_in_circle(at)), "{} {:?} {:?}", at, parent, expected);
            prop_assert!(life.start.is_none());
            match user {
                Some(user) => prop_assert_eq!((life.user.as_str(), life.is_inherited), (NAMES[*user], false)),
                None => {
                    let above = life.parent.map(|parent| found.processes[parent as usize].user.clone());
                    prop_assert_eq!(&life.user, &above.unwrap_or_default());
                    prop_assert_eq!(life.is_inherited, !life.user.is_empty());
                }
            }
        }
        for (n, (of, user)) in forks.iter().enumerate() {
            let life = &found.processes[place(pid(before.len() + 20 + n))];
            let above = &found.processes[life.parent.unwrap() as usize];
            prop_assert_eq!(above.pid, pid(*of));
            prop_assert_eq!(life.start, Some(10 + 10 * n as i64));
            prop_assert_eq!(&life.user, user.map_or(above.user.as_str(), |user| NAMES[user]));
        }
        for (at, life) in found.processes.iter().enumerate() {
            prop_assert!(life.parent.is_none_or(|parent| (parent as usize) < at));
        }
    }
}

#[test]
fn groups_are_told_as_containers_and_units() {
    let mut build = Build::default();
    let id = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c4b5a69788796a5b4c3d2e1f0";
    let paths = [format!("/system.slice/docker-{id}.scope"), "/system.slice/a.service".to_owned(), "/".to_owned()];
    let changes: Vec<ProcessChange> = (1..)
        .zip(&paths)
        .map(|(pid, path)| {
            let kind = ProcessChangeKind::Group { path: build.strings.id(path.as_bytes()) };
            ProcessChange { time_ns: 0, pid, tid: 0, kind }
        })
        .collect();
    let found = tree(&build.finish(), &changes, TimeRange::ALL);
    let told: Vec<(&str, String, &str)> =
        found.processes.iter().map(|life| (life.container.as_str(), life.unit.clone(), life.group.as_str())).collect();
    let expected = [
        ("docker 0f1e2d3c4b5a", format!("docker-{id}.scope"), paths[0].as_str()),
        ("", "a.service".to_owned(), paths[1].as_str()),
        ("", String::new(), "/"),
    ];
    assert_eq!(told, expected);
    assert!(found.has_owners && !found.has_parents);
}

#[test]
fn of_a_capture_that_does_not_change_it_is_read_once() {
    let steps = [Step::Fork(0), Step::Sample(0), Step::Fork(1), Step::Sample(2), Step::Exit(1)];
    let (source, changes, _) = played(&steps);
    let kept = KeptSource { source, kept: KeptViews::default(), batches: Cell::new(0) };
    let range = |start, end| TimeRange { start_ns: ORIGIN + start, end_ns: ORIGIN + end };
    let look = |range| process_tree(&kept, &changes, range, &GO).unwrap();
    let whole = look(TimeRange::ALL);
    let read = kept.batches.get();
    assert!(read > 0);
    assert_eq!(look(TimeRange::ALL), whole);
    assert_eq!(kept.batches.get(), read, "nothing is read again");
    let part = look(range(0, 25));
    assert_eq!(part, process_tree(&kept.source, &changes, range(0, 25), &GO).unwrap());
    assert_ne!(part, whole);
}

/// A capture that does not change, and how often its chunks were read.
struct KeptSource {
    source: MemorySource,
    kept: KeptViews,
    batches: Cell<u64>,
}

impl Source for KeptSource {
    fn origin_ns(&self) -> u64 {
        self.source.origin_ns()
    }

    fn streams(&self) -> &[StreamSchema] {
        self.source.streams()
    }

    fn chunks(&self, stream: u16) -> &[ChunkMeta] {
        self.source.chunks(stream)
    }

    fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> Result<Arc<Batch>, ViewError> {
        self.batches.set(self.batches.get() + 1);
        self.source.batch(stream, chunk, wanted)
    }

    fn kept(&self) -> Option<(&KeptViews, u64)> {
        Some((&self.kept, 1))
    }

    fn dictionaries(&self) -> &Dictionaries {
        self.source.dictionaries()
    }

    fn losses(&self) -> &[Loss] {
        self.source.losses()
    }
}
