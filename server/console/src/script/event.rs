//! What a running script says.

use bathyscope_bpf::lang::plan::HEADER_BYTES;

/// Something that a script's records ask for, in their order.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptEvent {
    /// A record that is shown or kept: `printf`, `print` of a value or one element, `time`, `join`, `cat`, `system`.
    /// Its bytes as they lay in the ring, checked against the plan: header and fields of fixed size are there.
    Record(Vec<u8>),
    /// A whole map, because a record asked for it (`print(@)`), or because the script has ended.
    Map {
        /// The site that asked, index in the plan; none at the end.
        site: Option<u32>,
        /// What is in it.
        snapshot: MapSnapshot,
    },
    /// `exit()`: the script asked to end. Follow with [`super::ScriptSession::finish`].
    Exit {
        /// The code to exit with.
        code: i64,
        /// When, monotonic nanoseconds.
        time_ns: u64,
    },
    /// `clear(@)` or `zero(@)` was done.
    Emptied {
        /// The map, index in the plan.
        map: u32,
    },
    /// Something could not be done, such as reading a map. In words.
    Trouble(String),
}

/// A map as it was at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapSnapshot {
    /// Which map, index in the plan.
    pub map: u32,
    /// When, monotonic nanoseconds: of the record that asked, or of the reading.
    pub time_ns: u64,
    /// Its elements, in the kernel's order.
    pub rows: Vec<MapRow>,
    /// Whether there were more elements than are read at a time.
    pub cut: bool,
}

/// An element of a map, as the kernel has it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MapRow {
    /// As long as the plan says.
    pub key: Vec<u8>,
    /// One value as long as the plan says, or one for each possible CPU, one after the other.
    pub value: Vec<u8>,
}

/// Counters of one program: totals since the script was enabled.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProbeCounters {
    /// Times it ran.
    pub hits: u64,
    /// Hits that predicate or target rejected.
    pub filtered: u64,
    /// Records that did not fit into the ring.
    pub ring_full: u64,
    /// Updates that a full map refused.
    pub map_full: u64,
    /// Reads and other helpers that failed.
    pub helper_failed: u64,
    /// Stacks that could not be kept.
    pub stack_lost: u64,
    /// Hits that the kernel did not deliver.
    pub missed: u64,
    /// Nanoseconds for each hit, where they were measured.
    pub ns_per_hit: Option<f64>,
}

/// A number of four bytes in a record's header, at a place of it.
pub(super) fn header_u32(record: &[u8], at: usize) -> u32 {
    let bytes = record.get(at..at + 4).and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    bytes.map_or(0, u32::from_le_bytes)
}

/// When a record was made; none if it is shorter than its header.
pub(super) fn time_ns(record: &[u8]) -> Option<u64> {
    if record.len() < HEADER_BYTES as usize {
        return None;
    }
    let bytes = record.get(8..16).and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
    bytes.map(u64::from_le_bytes)
}
