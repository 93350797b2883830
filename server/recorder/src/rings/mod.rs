//! What all readers of rings have in common: how rings are mapped, the order of their records, and how those of perf look.

mod map;
pub(crate) mod merge;
pub(crate) mod perf_format;

pub(crate) use map::map_rings;
pub(crate) use merge::Merge;
pub(crate) use perf_format::{PerfRing, perf_format, perf_rings};
