//! What all readers of several rings have in common: the order of their records, and how those of perf look.

pub(crate) mod merge;
pub(crate) mod perf_format;

pub(crate) use merge::Merge;
pub(crate) use perf_format::perf_format;
