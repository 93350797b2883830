//! What a flight recorder has in memory: the last appends, and what was known of processes before them.

use std::collections::{BTreeMap, VecDeque};

use bathyscope_capture::{EncodedChunk, OutputLine, ProcessChange, ProcessChangeKind, StringId};

/// The most threads that are known from before the window; more are forgotten, those with the lowest ids first.
const MAX_KNOWN: usize = 1 << 18;

/// One append of the decoder, without the dictionaries.
#[derive(Debug)]
pub(super) struct FlightItem {
    pub(super) chunks: Vec<(u16, EncodedChunk)>,
    pub(super) processes: Vec<ProcessChange>,
    pub(super) output: Vec<OutputLine>,
    /// How many rows of which stream it has.
    pub(super) rows: Vec<(u16, u64)>,
    /// The latest moment that it covers, monotonic nanoseconds.
    pub(super) end_ns: u64,
    /// How many hits of each stream had been filtered when it came.
    pub(super) filtered: Vec<u64>,
}

impl FlightItem {
    /// About what it takes in memory.
    pub(super) fn bytes(&self) -> u64 {
        let leaves = |chunk: &EncodedChunk| chunk.leaves.iter().map(|(_, block)| block.memory_bytes()).sum::<usize>();
        let chunks: usize = self.chunks.iter().map(|(_, chunk)| chunk.bytes.len() + leaves(chunk) + 512).sum();
        let output: usize = self.output.iter().map(|line| line.bytes.len() + 48).sum();
        (chunks + output + self.processes.len() * size_of::<ProcessChange>() + 256) as u64
    }

    pub(super) fn row_count(&self) -> u64 {
        self.rows.iter().map(|(_, rows)| rows).sum()
    }
}

/// The last items, no more than there is room for.
#[derive(Debug)]
pub(super) struct Window {
    items: VecDeque<(FlightItem, u64)>,
    bytes: u64,
    rows: u64,
    before_ns: u64,
    max_bytes: u64,
    /// Until when rows have left it.
    gone_ns: u64,
    /// Hits that had been filtered when the last item that has left it came.
    gone_filtered: Vec<u64>,
    known: KnownProcesses,
    is_short: bool,
}

impl Window {
    pub(super) fn new(start_ns: u64, before_ns: u64, max_bytes: u64) -> Self {
        Self {
            items: VecDeque::new(),
            bytes: 0,
            rows: 0,
            before_ns,
            max_bytes,
            gone_ns: start_ns,
            gone_filtered: Vec::new(),
            known: KnownProcesses::default(),
            is_short: false,
        }
    }

    pub(super) fn push(&mut self, item: FlightItem) {
        let bytes = item.bytes();
        self.bytes += bytes;
        self.rows += item.row_count();
        self.items.push_back((item, bytes));
    }

    /// Takes out what is older than is kept, or all that is too much. The rows of these are not kept.
    pub(super) fn evict(&mut self) -> Vec<FlightItem> {
        let now_ns = self.end_ns();
        let mut gone = Vec::new();
        while let Some((item, _)) = self.items.front() {
            let is_old = item.end_ns < now_ns.saturating_sub(self.before_ns);
            if !is_old && self.bytes <= self.max_bytes {
                break;
            }
            self.is_short = !is_old;
            gone.extend(self.pop());
        }
        if self.held_ns() >= self.before_ns {
            self.is_short = false;
        }
        gone
    }

    fn pop(&mut self) -> Option<FlightItem> {
        let (item, bytes) = self.items.pop_front()?;
        self.bytes -= bytes;
        self.rows -= item.row_count();
        self.gone_ns = self.gone_ns.max(item.end_ns);
        self.gone_filtered.clone_from(&item.filtered);
        item.processes.iter().for_each(|change| self.known.apply(change));
        Some(item)
    }

    /// Takes out everything.
    pub(super) fn drain(&mut self) -> Vec<FlightItem> {
        std::iter::from_fn(|| self.pop()).collect()
    }

    pub(super) fn items(&self) -> impl Iterator<Item = &FlightItem> {
        self.items.iter().map(|(item, _)| item)
    }

    /// The latest moment that was covered.
    pub(super) fn end_ns(&self) -> u64 {
        self.items.back().map_or(self.gone_ns, |(item, _)| item.end_ns.max(self.gone_ns))
    }

    /// From when on everything is there.
    pub(super) fn complete_from_ns(&self) -> u64 {
        self.gone_ns
    }

    /// Hits that had been filtered by then.
    pub(super) fn gone_filtered(&self) -> &[u64] {
        &self.gone_filtered
    }

    pub(super) fn held_ns(&self) -> u64 {
        self.end_ns() - self.gone_ns
    }

    pub(super) fn rows(&self) -> u64 {
        self.rows
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Whether there are fewer seconds than were asked for, for want of memory.
    pub(super) fn is_short(&self) -> bool {
        self.is_short
    }

    /// What was so before the first item.
    pub(super) fn known(&self) -> &KnownProcesses {
        &self.known
    }
}

/// What is known of processes at a moment: those that have ended are forgotten.
#[derive(Debug, Default)]
pub(super) struct KnownProcesses {
    threads: BTreeMap<u32, KnownThread>,
    owners: BTreeMap<u32, KnownOwner>,
}

#[derive(Debug)]
struct KnownThread {
    pid: u32,
    comm: StringId,
}

#[derive(Debug, Default)]
struct KnownOwner {
    parent_pid: Option<u32>,
    user: Option<StringId>,
    group: Option<StringId>,
}

impl KnownProcesses {
    pub(super) fn apply(&mut self, change: &ProcessChange) {
        let ProcessChange { pid, tid, kind, .. } = change;
        let (pid, tid) = (*pid, *tid);
        match kind {
            ProcessChangeKind::Existing { comm } | ProcessChangeKind::Comm { comm, .. } => {
                self.threads.insert(tid, KnownThread { pid, comm: *comm });
            }
            ProcessChangeKind::Fork { parent_pid } => {
                let name = self.threads.get(if pid == tid { parent_pid } else { &pid }).map_or(0, |parent| parent.comm);
                self.threads.insert(tid, KnownThread { pid, comm: name });
                if pid == tid {
                    self.owners.entry(pid).or_default().parent_pid = Some(*parent_pid);
                }
            }
            ProcessChangeKind::Exit => {
                self.threads.remove(&tid);
                if pid == tid {
                    self.owners.remove(&pid);
                }
            }
            ProcessChangeKind::Parent { parent_pid } => self.owner(pid).parent_pid = Some(*parent_pid),
            ProcessChangeKind::User { name } => self.owner(pid).user = Some(*name),
            ProcessChangeKind::Group { path } => self.owner(pid).group = Some(*path),
        }
        while self.threads.len() > MAX_KNOWN {
            self.threads.pop_first();
        }
        while self.owners.len() > MAX_KNOWN {
            self.owners.pop_first();
        }
    }

    fn owner(&mut self, pid: u32) -> &mut KnownOwner {
        self.owners.entry(pid).or_default()
    }

    /// The name of a thread, as a text of the recorder.
    pub(super) fn name(&self, tid: u32) -> Option<StringId> {
        self.threads.get(&tid).map(|thread| thread.comm)
    }

    /// The same as changes from before a capture began.
    pub(super) fn changes(&self) -> Vec<ProcessChange> {
        let before = |pid, tid, kind| ProcessChange { time_ns: 0, pid, tid, kind };
        let threads = self.threads.iter().filter(|(_, thread)| thread.comm != 0);
        let threads =
            threads.map(|(tid, thread)| before(thread.pid, *tid, ProcessChangeKind::Existing { comm: thread.comm }));
        let owners = self.owners.iter().flat_map(|(pid, owner)| {
            let parent = owner.parent_pid.map(|parent_pid| ProcessChangeKind::Parent { parent_pid });
            let user = owner.user.map(|name| ProcessChangeKind::User { name });
            let group = owner.group.map(|path| ProcessChangeKind::Group { path });
            [parent, user, group].into_iter().flatten().map(move |kind| before(*pid, 0, kind))
        });
        threads.chain(owners).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: u64 = 1_000_000_000;

    fn item(end_s: u64, rows: u64, output: usize) -> FlightItem {
        let line = OutputLine { time_ns: 0, stream: bathyscope_capture::OutputStream::Stdout, bytes: vec![0; output] };
        FlightItem {
            chunks: Vec::new(),
            processes: Vec::new(),
            output: vec![line],
            rows: vec![(0, rows)],
            end_ns: end_s * S,
            filtered: vec![end_s],
        }
    }

    #[test]
    fn the_last_seconds_are_kept_and_no_more_memory_than_there_is() {
        let mut window = Window::new(100 * S, 10 * S, 1 << 20);
        for second in 101..=105 {
            window.push(item(second, 2, 0));
            assert!(window.evict().is_empty());
        }
        assert_eq!((window.held_ns(), window.rows(), window.is_short()), (5 * S, 10, false));
        for second in 106..=120 {
            window.push(item(second, 2, 0));
            window.evict();
        }
        // What ended ten seconds ago covers some of them.
        assert_eq!((window.complete_from_ns(), window.gone_filtered()), (109 * S, &[109][..]));
        window.push(item(121, 1, 2 << 20));
        assert_eq!(window.evict().len(), 12);
        assert_eq!((window.rows(), window.bytes(), window.is_short()), (0, 0, true));
        assert_eq!((window.held_ns(), window.complete_from_ns()), (0, 121 * S));
        window.push(item(122, 1, 0));
        window.evict();
        assert_eq!((window.held_ns(), window.is_short()), (S, true));
    }

    #[test]
    fn processes_from_before_are_known_until_they_end() {
        let mut known = KnownProcesses::default();
        let mut change = |pid, tid, kind| known.apply(&ProcessChange { time_ns: 5, pid, tid, kind });
        change(7, 7, ProcessChangeKind::Existing { comm: 1 });
        change(7, 0, ProcessChangeKind::User { name: 4 });
        change(8, 8, ProcessChangeKind::Fork { parent_pid: 7 });
        change(7, 9, ProcessChangeKind::Fork { parent_pid: 7 });
        change(10, 10, ProcessChangeKind::Fork { parent_pid: 7 });
        change(10, 10, ProcessChangeKind::Comm { comm: 2, exec: true });
        change(8, 8, ProcessChangeKind::Exit);
        let changes = known.changes();
        let names: Vec<_> = changes
            .iter()
            .filter_map(|change| match change.kind {
                ProcessChangeKind::Existing { comm } => Some((change.pid, change.tid, comm)),
                _ => None,
            })
            .collect();
        assert_eq!(names, [(7, 7, 1), (7, 9, 1), (10, 10, 2)]);
        assert!(changes.iter().all(|change| change.time_ns == 0 && change.pid != 8));
        assert!(changes.iter().any(|change| change.kind == ProcessChangeKind::User { name: 4 }));
        assert_eq!((known.name(10), known.name(8)), (Some(2), None));
    }
}
