//! How the records of a ring of perf look, as the agent says.

use bathyscope_decode::perf::PerfFormat;
use bathyscope_protocol::RingKind;

/// The format of a perf ring; none for other rings.
pub(crate) fn perf_format(kind: RingKind) -> Option<PerfFormat> {
    match kind {
        RingKind::Perf { sample_type, read_format, sample_id_all, branch_sample_type } => {
            Some(PerfFormat { sample_type, read_format, sample_id_all, branch_sample_type })
        }
        RingKind::Bpf | RingKind::TracePipe { .. } => None,
    }
}
