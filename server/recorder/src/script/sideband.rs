//! What happens to processes while a script runs: who executed what, and which files were mapped where. The kernel tells it
//! through rings of its own, so that addresses have names even if their process is gone before anybody looked at it.

use std::os::fd::OwnedFd;

use bathyscope_decode::perf::{PerfEvent, PerfFormat, PerfRecord, parse_record};
use bathyscope_link::clock::monotonic_ns;
use bathyscope_protocol::{
    RingContent, RingInfo,
    rings::{RingError, RingReader},
};

use crate::rings::{Merge, perf_format};

/// About how many bytes of one ring are read in one pass.
const PASS_BYTES: usize = 1 << 20;

/// The rings, one for each CPU.
#[derive(Debug)]
pub(super) struct Sideband {
    rings: Vec<(RingReader, PerfFormat)>,
    merge: Merge<PerfEvent>,
}

impl Sideband {
    /// Takes the rings that tell of processes; a script that shows no addresses of processes has none.
    pub(super) fn map(rings: Vec<(&RingInfo, OwnedFd)>) -> Result<Self, RingError> {
        let mut mapped = Vec::new();
        for (info, fd) in rings {
            if let (RingContent::Sideband, Some(format)) = (info.content, perf_format(info.kind)) {
                mapped.push((RingReader::map(fd, info)?, format));
            }
        }
        let merge = Merge::new(mapped.len());
        Ok(Self { rings: mapped, merge })
    }

    /// Reads all rings and hands out what happened before this call, in its order over all CPUs; with `all` also what
    /// happened since. A ring that is damaged is not read any more: names may be missing then, but no events.
    pub(super) fn read(&mut self, all: bool, each: &mut dyn FnMut(PerfEvent)) {
        let began_ns = monotonic_ns();
        for (index, (ring, format)) in self.rings.iter_mut().enumerate() {
            let merge = &mut self.merge;
            let mut take = |bytes: &[u8]| {
                if let Ok(PerfRecord { time_ns, event }) = parse_record(bytes, *format) {
                    merge.push(index, time_ns, bytes.len() + size_of::<PerfEvent>(), event);
                }
            };
            while let Ok(drained) = ring.drain(PASS_BYTES, &mut take) {
                if !drained.more {
                    break;
                }
            }
        }
        let until_ns = if all { u64::MAX } else { began_ns };
        while let Some((_, _, event)) = self.merge.pop_until(until_ns) {
            if let PerfEvent::Lost { count } = event {
                tracing::warn!(count, "changes of processes were lost; some addresses may have no names");
            }
            each(event);
        }
    }
}
