//! How the time of a path is shared.

use std::{cmp::Reverse, collections::BTreeMap};

use crate::answers::{PathKind, PathPart, PathShare, PathSum, PathWait, PathWaited};

/// The sums of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PathSums {
    pub(super) shares: Vec<PathShare>,
    pub(super) waited: Vec<PathWaited>,
    pub(super) sums: Vec<PathSum>,
}

#[derive(Clone, Copy, Debug, Default)]
struct PathTime {
    time: u64,
    parts: u32,
    longest: u32,
    longest_time: u64,
}

impl PathTime {
    fn add(&mut self, part: u32, time: u64) {
        if self.parts == 0 || time > self.longest_time {
            (self.longest, self.longest_time) = (part, time);
        }
        self.time += time;
        self.parts += 1;
    }
}

pub(super) fn of(parts: &[PathPart], waits: &[PathWait]) -> PathSums {
    // Outer waits come before those within them.
    let mut outermost: Vec<usize> = Vec::with_capacity(waits.len());
    for (at, wait) in waits.iter().enumerate() {
        let outer = wait.outer.and_then(|outer| outermost.get(outer as usize).copied());
        outermost.push(outer.unwrap_or(at));
    }
    let (mut shares, mut waited, mut sums) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    for (at, part) in (0..).zip(parts) {
        let time = part.end.abs_diff(part.start);
        let outer = part.wait.and_then(|wait| waits.get(*outermost.get(wait as usize)?));
        let kind = match outer {
            Some(outer) if outer.is_lock => PathKind::Lock,
            Some(_) => PathKind::Thread,
            None => part.kind,
        };
        shares.entry(kind).or_insert_with(PathTime::default).add(at, time);
        sums.entry((part.thread, part.kind)).or_insert_with(PathTime::default).add(at, time);
        if let Some(outer) = outer {
            waited.entry(outer.waker).or_insert_with(PathTime::default).add(at, time);
        }
    }
    let mut made = PathSums {
        shares: shares.into_iter().map(|(kind, sum)| share(kind, sum)).collect(),
        waited: waited.into_iter().map(|(thread, sum)| of_waited(thread, sum)).collect(),
        sums: sums.into_iter().map(|((thread, kind), sum)| of_thread(thread, kind, sum)).collect(),
    };
    made.shares.sort_by_key(|share| (Reverse(share.time), share.kind));
    made.waited.sort_by_key(|waited| (Reverse(waited.time), waited.thread));
    made.sums.sort_by_key(|sum| (Reverse(sum.time), sum.thread, sum.kind));
    made
}

fn share(kind: PathKind, PathTime { time, parts, longest, .. }: PathTime) -> PathShare {
    PathShare { kind, time, parts, longest }
}

fn of_waited(thread: u32, PathTime { time, parts, longest, .. }: PathTime) -> PathWaited {
    PathWaited { thread, time, parts, longest }
}

fn of_thread(thread: u32, kind: PathKind, PathTime { time, parts, longest, .. }: PathTime) -> PathSum {
    PathSum { thread, kind, time, parts, longest }
}
