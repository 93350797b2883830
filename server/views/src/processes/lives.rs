//! Processes from the process history: each id may have had several.

use std::collections::{HashMap, HashSet};

use bathyscope_capture::{ProcessChange, ProcessChangeKind, StringId};

/// The most processes that are told apart; changes of further ones do not count.
const MAX_LIVES: usize = 1 << 20;

/// A process.
#[derive(Clone, Debug, Default)]
pub(super) struct Life {
    pub(super) pid: u32,
    /// Its place in the list.
    pub(super) parent: Option<usize>,
    pub(super) start_ns: Option<u64>,
    pub(super) end_ns: Option<u64>,
    /// Its names, in the order in which it had them.
    pub(super) comms: Vec<StringId>,
    /// Threads that are there.
    threads: HashSet<u32>,
    /// The most of them.
    pub(super) peak: u32,
    pub(super) arguments: String,
    pub(super) ended: String,
    /// Its user and its control group.
    pub(super) user: Option<StringId>,
    pub(super) group: Option<StringId>,
    /// Whether these are what the process that started it had.
    pub(super) is_inherited: bool,
    /// Who started it, if it was there before.
    parent_pid: Option<u32>,
}

/// All of them, in the order of their start: parents before children.
#[derive(Debug, Default)]
pub(super) struct Lives {
    pub(super) all: Vec<Life>,
    /// By process, the places of those that had the id, in the order of time.
    by_pid: HashMap<u32, Vec<usize>>,
    /// Whether the history tells who started those that were there before, and whose they are.
    pub(super) has_parents: bool,
    pub(super) has_owners: bool,
}

impl Lives {
    /// Reads the history. It is in the order in which it became known: what was there before is asked for when it is met.
    pub(super) fn of(changes: &[ProcessChange]) -> Self {
        let mut sorted: Vec<&ProcessChange> = changes.iter().collect();
        sorted.sort_by_key(|change| change.time_ns);
        let mut lives = Self::default();
        for change in sorted {
            lives.add(change);
        }
        lives.find_parents();
        lives.place_behind_parents();
        lives.inherit();
        lives.all.iter_mut().for_each(|life| life.threads = HashSet::new());
        lives
    }

    /// A row has the name of its thread: it is that of the process where none is known.
    pub(super) fn name(&mut self, [pid, tid]: [u64; 2], time_ns: u64, comm: StringId) {
        if pid != tid {
            return;
        }
        if let Some(life) = self.at_mut(pid, time_ns).filter(|life| life.comms.is_empty()) {
            life.comms.push(comm);
        }
    }

    /// Who started those that were there before.
    fn find_parents(&mut self) {
        for at in 0..self.all.len() {
            let parent = self.all.get(at).filter(|life| life.start_ns.is_none() && life.parent.is_none());
            let Some(parent) = parent.and_then(|life| self.by_pid.get(&life.parent_pid?)?.first().copied()) else {
                continue;
            };
            let was_there = self.all.get(parent).is_some_and(|life| life.start_ns.is_none());
            if let Some(life) = self.all.get_mut(at).filter(|_| was_there) {
                life.parent = Some(parent);
            }
        }
    }

    /// Puts each behind who started it. Nobody is above itself, whatever a file says.
    fn place_behind_parents(&mut self) {
        let (mut order, mut seen_for) = (Vec::with_capacity(self.all.len()), vec![usize::MAX; self.all.len()]);
        let mut is_placed = vec![false; self.all.len()];
        let mut above = Vec::new();
        for first in 0..self.all.len() {
            let mut next = Some(first);
            while let Some(at) = next.filter(|at| is_placed.get(*at) == Some(&false)) {
                if let Some(seen) = seen_for.get_mut(at) {
                    *seen = first;
                }
                above.push(at);
                next = self.all.get(at).and_then(|life| life.parent);
                if next.is_some_and(|parent| seen_for.get(parent) == Some(&first)) {
                    next = None;
                    if let Some(life) = self.all.get_mut(at) {
                        life.parent = None;
                    }
                }
            }
            while let Some(at) = above.pop() {
                order.push(at);
                if let Some(placed) = is_placed.get_mut(at) {
                    *placed = true;
                }
            }
        }
        let mut places = vec![0; order.len()];
        for (place, at) in order.iter().enumerate() {
            if let Some(known) = places.get_mut(*at) {
                *known = place;
            }
        }
        let place_of = |at: usize| places.get(at).copied().unwrap_or(0);
        self.by_pid.values_mut().flatten().for_each(|at| *at = place_of(*at));
        let mut before = std::mem::take(&mut self.all);
        let moved = order.iter().filter_map(|at| before.get_mut(*at).map(std::mem::take));
        self.all = moved.map(|life| Life { parent: life.parent.map(place_of), ..life }).collect();
    }

    /// Those of which it is not known whose they are, are whose those are that started them.
    fn inherit(&mut self) {
        for at in 0..self.all.len() {
            let parent = self.all.get(at).and_then(|life| self.all.get(life.parent?));
            let Some((user, group)) = parent.map(|parent| (parent.user, parent.group)) else { continue };
            if let Some(life) = self.all.get_mut(at).filter(|life| life.user.is_none() && life.group.is_none()) {
                (life.user, life.group, life.is_inherited) = (user, group, user.or(group).is_some());
            }
        }
    }

    fn add(&mut self, change: &ProcessChange) {
        let ProcessChange { time_ns, pid, tid, kind } = change;
        let is_process = pid == tid;
        match kind {
            ProcessChangeKind::Existing { comm } if is_process => {
                let Some(life) = self.life_or_new(*pid, None) else { return };
                life.comms.push(*comm);
                life.thread(*tid);
            }
            ProcessChangeKind::Existing { .. } => self.thread(*pid, *tid),
            ProcessChangeKind::Fork { parent_pid } if is_process => {
                let parent = self.last(*parent_pid);
                let name = parent.and_then(|at| self.all.get(at)?.comms.last().copied());
                let Some(life) = self.begin(*pid, Some(*time_ns)) else { return };
                // Until it executes a program, it is called as who forked it.
                life.comms.extend(name);
                life.parent = parent;
                life.thread(*tid);
            }
            ProcessChangeKind::Fork { .. } => self.thread(*pid, *tid),
            ProcessChangeKind::Comm { comm, .. } if is_process => {
                let Some(life) = self.life_or_new(*pid, None) else { return };
                life.comms.push(*comm);
                life.thread(*tid);
            }
            ProcessChangeKind::Comm { .. } => self.thread(*pid, *tid),
            ProcessChangeKind::Parent { parent_pid } => {
                self.has_parents = true;
                let Some(life) = self.life_or_new(*pid, None) else { return };
                life.parent_pid.get_or_insert(*parent_pid);
            }
            ProcessChangeKind::User { name } => {
                self.has_owners = true;
                let Some(life) = self.life_or_new(*pid, None) else { return };
                life.user.get_or_insert(*name);
            }
            ProcessChangeKind::Group { path } => {
                self.has_owners = true;
                let Some(life) = self.life_or_new(*pid, None) else { return };
                life.group.get_or_insert(*path);
            }
            ProcessChangeKind::Exit => {
                let Some(life) = self.life_or_new(*pid, None) else { return };
                life.threads.remove(tid);
                if is_process || life.threads.is_empty() {
                    life.end_ns = Some(*time_ns);
                }
            }
        }
    }

    /// The process that has an id now.
    fn last(&self, pid: u32) -> Option<usize> {
        let at = *self.by_pid.get(&pid)?.last()?;
        self.all.get(at).filter(|life| life.end_ns.is_none()).map(|_| at)
    }

    /// The process that has an id now; one that was there before if none is known.
    fn life_or_new(&mut self, pid: u32, start_ns: Option<u64>) -> Option<&mut Life> {
        match self.last(pid) {
            Some(at) => self.all.get_mut(at),
            // What is told of a process that has ended is told late.
            None => match self.by_pid.get(&pid).and_then(|places| places.last().copied()) {
                Some(at) => self.all.get_mut(at),
                None => self.begin(pid, start_ns),
            },
        }
    }

    fn begin(&mut self, pid: u32, start_ns: Option<u64>) -> Option<&mut Life> {
        if self.all.len() >= MAX_LIVES {
            return None;
        }
        let at = self.all.len();
        self.all.push(Life { pid, start_ns, ..Life::default() });
        self.by_pid.entry(pid).or_default().push(at);
        self.all.last_mut()
    }

    fn thread(&mut self, pid: u32, tid: u32) {
        if let Some(life) = self.life_or_new(pid, None) {
            life.thread(tid);
        }
    }

    /// The process that had an id at a moment.
    pub(super) fn at_mut(&mut self, pid: u64, time_ns: u64) -> Option<&mut Life> {
        let at = self.at(pid, time_ns)?;
        self.all.get_mut(at)
    }

    /// Its place.
    pub(super) fn at(&self, pid: u64, time_ns: u64) -> Option<usize> {
        let places = self.by_pid.get(&u32::try_from(pid).ok()?)?;
        let begun = |at: &usize| self.all.get(*at).is_some_and(|life| life.start_ns.unwrap_or(0) <= time_ns);
        let after = places.partition_point(begun);
        // Records of a process may come a moment before it is told of.
        places.get(after.saturating_sub(1)).copied()
    }

    /// The bytes that they take, about.
    pub(super) fn bytes(&self) -> usize {
        let own = |life: &Life| 4 * life.comms.len() + life.arguments.len() + life.ended.len();
        self.all.iter().map(own).sum::<usize>() + self.all.len() * (size_of::<Life>() + 64)
    }
}

impl Life {
    fn thread(&mut self, tid: u32) {
        self.threads.insert(tid);
        self.peak = self.peak.max(u32::try_from(self.threads.len()).unwrap_or(u32::MAX));
    }
}
