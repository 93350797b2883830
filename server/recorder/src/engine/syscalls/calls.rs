//! The engine of system calls: rows as soon as records come, but with stacks in order of time with the changes of processes.

use std::{collections::VecDeque, sync::Arc};

use bathyscope_decode::calls::CallRecord;
use bathyscope_protocol::{RingContent, RingInfo};

use super::rows::{PlaceStack, SyscallRows};
use crate::{engine::Engine, lookup::Lookup, reader::RecordBatch, sink::Sink};

/// Bytes of records that wait for changes of processes at most.
const MAX_HELD_BYTES: usize = 64 << 20;
/// The stream of calls.
const CALLS: u16 = 0;

/// See the module.
pub(super) struct CallEngine {
    rows: SyscallRows,
    rings: Arc<[RingInfo]>,
    /// Records of calls with stacks, with their ends, until all changes of processes before them are known.
    waiting: VecDeque<(u64, Box<[u8]>)>,
    waiting_bytes: usize,
}

impl CallEngine {
    pub(super) fn new(rows: SyscallRows, rings: Arc<[RingInfo]>) -> Self {
        Self { rows, rings, waiting: VecDeque::new(), waiting_bytes: 0 }
    }

    fn is_own(&self, ring: usize) -> bool {
        self.rings.get(ring).is_some_and(|info| matches!(info.content, RingContent::Stream { .. }))
    }

    fn decode<'a>(&self, records: impl Iterator<Item = &'a [u8]>, sink: &mut Sink, lookup: &mut Lookup) {
        let mut rows = Vec::new();
        let (mut undecodable, mut last_ns) = (0, 0);
        let place: &mut PlaceStack<'_> = &mut |pid, copy| lookup.place_copy(pid, copy);
        for record in records {
            match self.rows.rows(record, place) {
                Some((new, end_ns)) => {
                    last_ns = last_ns.max(end_ns);
                    rows.extend(new);
                }
                None => undecodable += 1,
            }
        }
        sink.leave_out(CALLS, self.rows.take_left_out());
        sink.push(rows);
        if let Some(mut stream) = sink.stream(CALLS) {
            stream.seen(last_ns);
            stream.undecodable(undecodable);
        }
    }
}

impl Engine for CallEngine {
    fn expect(&mut self, pid: u32) {
        self.rows.expect(pid);
    }

    fn take(&mut self, batch: &RecordBatch, sink: &mut Sink, lookup: &mut Lookup) {
        if !self.is_own(batch.ring) {
            return;
        }
        if !self.rows.has_stacks() {
            return self.decode(batch.records(), sink, lookup);
        }
        for record in batch.records() {
            let end_ns = CallRecord::end_ns(record).unwrap_or(0);
            self.waiting_bytes += record.len();
            self.waiting.push_back((end_ns, record.into()));
        }
    }

    fn ring_read(&mut self, ring: usize, read_ns: u64, to_its_end: bool, sink: &mut Sink) {
        if self.is_own(ring) {
            sink.ring_read(CALLS, read_ns, to_its_end);
        }
    }

    fn next_ns(&self, _all: bool) -> Option<u64> {
        self.waiting.front().map(|(end_ns, _)| *end_ns)
    }

    fn is_full(&self) -> bool {
        self.waiting_bytes > MAX_HELD_BYTES
    }

    fn pending_ns(&self) -> u64 {
        self.waiting.front().map_or(u64::MAX, |(end_ns, _)| *end_ns)
    }

    fn release(&mut self, _all: bool, sink: &mut Sink, lookup: &mut Lookup) {
        let Some((_, record)) = self.waiting.pop_front() else { return };
        self.waiting_bytes -= record.len();
        self.decode(std::iter::once(&*record), sink, lookup);
    }

    fn finish(&mut self, sink: &mut Sink, _lookup: &mut Lookup) {
        sink.push(self.rows.finish());
    }

    /// Calls come when they end, and their time is when they began.
    fn is_ordered(&self) -> bool {
        false
    }
}
