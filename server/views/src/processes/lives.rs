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
    pub(super) running_ns: u64,
    pub(super) samples: u64,
}

/// All of them, in the order of their start.
#[derive(Debug, Default)]
pub(super) struct Lives {
    all: Vec<Life>,
    /// By process, the places of those that had the id, in the order of time.
    by_pid: HashMap<u32, Vec<usize>>,
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
        lives
    }

    /// A row has the name of its thread: it is that of the process where none is known.
    pub(super) fn name(&mut self, [pid, tid]: [u64; 2], time_ns: u64, comm: StringId) {
        if pid != tid {
            return;
        }
        if let Some(life) = self.at(pid, time_ns).filter(|life| life.comms.is_empty()) {
            life.comms.push(comm);
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
    pub(super) fn at(&mut self, pid: u64, time_ns: u64) -> Option<&mut Life> {
        let places = self.by_pid.get(&u32::try_from(pid).ok()?)?;
        let begun = |at: &usize| self.all.get(*at).is_some_and(|life| life.start_ns.unwrap_or(0) <= time_ns);
        let after = places.partition_point(begun);
        // Records of a process may come a moment before it is told of.
        let at = *places.get(after.saturating_sub(1))?;
        self.all.get_mut(at)
    }

    /// All of them, in the order of their start: parents before children.
    pub(super) fn finish(self) -> Vec<Life> {
        self.all
    }
}

impl Life {
    fn thread(&mut self, tid: u32) {
        self.threads.insert(tid);
        self.peak = self.peak.max(u32::try_from(self.threads.len()).unwrap_or(u32::MAX));
    }
}
