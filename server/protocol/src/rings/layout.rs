//! Where things are in a ring. All positions are counted in 64-bit words, the unit in which memory is read.

/// Bytes of a word.
pub(super) const WORD: usize = 8;

/// BPF: the producer's position is the first word of the second page, the data begin in the third.
pub(super) const BPF_HEADER_BYTES: usize = 8;
/// BPF: the record is still being written.
pub(super) const BPF_BUSY: u32 = 1 << 31;
/// BPF: the record was abandoned.
pub(super) const BPF_DISCARD: u32 = 1 << 30;
/// BPF: the bits of the length.
pub(super) const BPF_LENGTH: u32 = BPF_DISCARD - 1;

/// perf: word of `data_head`.
pub(super) const PERF_HEAD: usize = 1024 / WORD;
/// perf: word of `data_tail`.
pub(super) const PERF_TAIL: usize = 1032 / WORD;
/// perf: word of `data_offset`.
pub(super) const PERF_DATA_OFFSET: usize = 1040 / WORD;
/// perf: word of `data_size`.
pub(super) const PERF_DATA_SIZE: usize = 1048 / WORD;
/// perf: bytes of `perf_event_header`.
pub(super) const PERF_HEADER_BYTES: usize = 8;

/// The smallest data area: one page of the smallest size.
pub(super) const LEAST_DATA_BYTES: usize = 4096;
/// The largest data area.
pub(super) const MOST_DATA_BYTES: usize = 1 << 30;

#[cfg(target_endian = "big")]
compile_error!("records are read as little-endian words; big-endian machines are not supported");

/// Bytes of a page.
pub(super) fn page_bytes() -> usize {
    rustix::param::page_size()
}

/// The length field in a BPF record's first word.
pub(super) fn bpf_length_field(word: u64) -> u32 {
    (word & u64::from(u32::MAX)) as u32
}

/// The size field in a perf record's first word.
pub(super) fn perf_size_field(word: u64) -> usize {
    (word >> 48) as usize
}
