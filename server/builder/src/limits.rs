//! What forms may be at most.

/// Probes of one script.
pub const MAX_PROBES: usize = 16;
/// Probe sites of each of the two places.
pub const MAX_SITES: usize = 64;
/// Values that are recorded at each of the two places.
pub const MAX_VALUES: usize = 64;
/// Bytes of a text of the form.
pub const MAX_TEXT_BYTES: usize = 4096;
