//! What threads of switches and wake-ups are called.

use std::collections::HashMap;

use bathyscope_capture::StringId;
use bathyscope_decode::states::ThreadId;

use crate::{AgentLink, lookup::Lookup, sink::Sink};

/// The most threads whose names are kept beyond their ends.
const MAX_NAMES: usize = 1 << 16;

/// Names by thread. The process history forgets that of a thread when it exits, which is before its last switch.
pub(super) struct ThreadNames {
    link: AgentLink,
    /// Of threads beside the first of a process: that has its name as long as anything is known of the process.
    known: HashMap<u32, StringId>,
    /// Of the idle thread of each CPU.
    idle: HashMap<u32, StringId>,
}

impl ThreadNames {
    pub(super) fn new(link: AgentLink) -> Self {
        Self { link, known: HashMap::new(), idle: HashMap::new() }
    }

    /// The name of a thread as of what has been released, on the CPU that it is told of.
    pub(super) fn of(&mut self, thread: ThreadId, cpu: u32, sink: &mut Sink, lookup: &mut Lookup) -> StringId {
        let ThreadId { pid, tid } = thread;
        if tid == 0 {
            let name = || lookup.history.text(format!("swapper/{cpu}").as_bytes(), sink.strings());
            return *self.idle.entry(cpu).or_insert_with(name);
        }
        let name = lookup.history.name_of([pid, tid], &self.link, sink.strings());
        if tid != pid {
            if self.known.len() >= MAX_NAMES {
                self.known.clear();
            }
            self.known.insert(tid, name);
        }
        name
    }

    /// The name of a thread at its last switch.
    pub(super) fn of_ended(&mut self, thread: ThreadId, cpu: u32, sink: &mut Sink, lookup: &mut Lookup) -> StringId {
        match self.known.remove(&thread.tid) {
            Some(name) => name,
            None => self.of(thread, cpu, sink, lookup),
        }
    }
}
