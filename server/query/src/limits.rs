//! How much a query may use.

use std::time::Duration;

/// How much a query may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take.
    pub time: Duration,
    /// Rows of the answer; what is beyond is cut.
    pub rows: usize,
    /// Bytes of the answer, about; what is beyond is cut.
    pub bytes: u64,
    /// By how many bytes SQLite's memory may grow while it runs. SQLite counts for the whole process, so what others use
    /// at the same time counts too.
    pub memory: u64,
}

impl Limits {
    /// What a query of a page may use.
    pub const USUAL: Self = Self { time: Duration::from_secs(20), rows: 10_000, bytes: 8 << 20, memory: 512 << 20 };
}
