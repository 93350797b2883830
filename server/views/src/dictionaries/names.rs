//! What processes were called, and when.

use bathyscope_capture::{ProcessChange, ProcessChangeKind, StringId};

use crate::hash::IdMap;

/// Names of processes by the moments since when they had them.
#[derive(Clone, Debug, Default)]
pub struct ProcessNames {
    names: IdMap<u32, Vec<(u64, StringId)>>,
}

impl ProcessNames {
    /// Adds a change of the process history; changes of one process come in time order.
    pub fn insert(&mut self, change: &ProcessChange) {
        let name = match change.kind {
            ProcessChangeKind::Existing { comm } | ProcessChangeKind::Comm { comm, .. } => Some(comm),
            ProcessChangeKind::Fork { parent_pid } => self.at(parent_pid, change.time_ns),
            ProcessChangeKind::Exit
            | ProcessChangeKind::Parent { .. }
            | ProcessChangeKind::User { .. }
            | ProcessChangeKind::Group { .. } => None,
        };
        // Threads have names of their own; a process is called what its first thread is called.
        if let Some(name) = name.filter(|_| change.pid == change.tid) {
            self.names.entry(change.pid).or_default().push((change.time_ns, name));
        }
    }

    /// What the process was called at that moment, where the history tells.
    pub fn at(&self, pid: u32, time_ns: u64) -> Option<StringId> {
        let names = self.names.get(&pid)?;
        let after = names.partition_point(|(since, _)| *since <= time_ns);
        // Before the first change that is known, the first name is the best guess.
        names.get(after.saturating_sub(1)).map(|(_, name)| *name)
    }

    /// The same with other texts: `other` gives the one in the place of each.
    #[must_use]
    pub fn replaced(&self, other: impl Fn(StringId) -> StringId) -> Self {
        let of = |names: &Vec<(u64, StringId)>| names.iter().map(|(since, name)| (*since, other(*name))).collect();
        Self { names: self.names.iter().map(|(pid, names)| (*pid, of(names))).collect() }
    }

    /// About the bytes that it takes in memory.
    pub fn bytes(&self) -> usize {
        let entry = size_of::<(u32, Vec<(u64, StringId)>)>() + size_of::<u64>();
        let names: usize = self.names.values().map(|names| names.capacity() * size_of::<(u64, StringId)>()).sum();
        self.names.capacity() * entry + names
    }
}
