//! How the records of a ring of perf look, as the agent says.

use bathyscope_decode::perf::PerfFormat;
use bathyscope_protocol::{RingContent, RingInfo, RingKind};

/// The format of a perf ring; none for other rings.
pub(crate) fn perf_format(kind: RingKind) -> Option<PerfFormat> {
    match kind {
        RingKind::Perf { sample_type, read_format, sample_id_all, branch_sample_type } => {
            Some(PerfFormat { sample_type, read_format, sample_id_all, branch_sample_type })
        }
        RingKind::Bpf | RingKind::TracePipe { .. } => None,
    }
}

/// A perf ring among those of a capture: its number in the order that it is merged in, and how its records look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PerfRing {
    pub(crate) merged: usize,
    pub(crate) format: PerfFormat,
}

/// The perf rings whose content is wanted, by number among all rings, and how many they are.
pub(crate) fn perf_rings(rings: &[RingInfo], wanted: fn(RingContent) -> bool) -> (Vec<Option<PerfRing>>, usize) {
    let mut count = 0;
    let ring = |ring: &RingInfo| {
        let format = perf_format(ring.kind).filter(|_| wanted(ring.content))?;
        count += 1;
        Some(PerfRing { merged: count - 1, format })
    };
    let rings = rings.iter().map(ring).collect();
    (rings, count)
}
