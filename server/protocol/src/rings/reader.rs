//! Takes records out of a ring.

use std::{
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::Ordering,
};

use super::{
    layout::{
        BPF_BUSY, BPF_DISCARD, BPF_HEADER_BYTES, BPF_LENGTH, LEAST_DATA_BYTES, MOST_DATA_BYTES, PERF_DATA_OFFSET,
        PERF_DATA_SIZE, PERF_HEAD, PERF_HEADER_BYTES, PERF_TAIL, WORD, bpf_length_field, page_bytes, perf_size_field,
    },
    memory::SharedWords,
};
use crate::{RingInfo, RingKind};

/// Why a ring cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RingError {
    /// Its size cannot be right.
    #[error("a ring of {0} data bytes cannot be; a power of two from {LEAST_DATA_BYTES} to {MOST_DATA_BYTES} can")]
    Size(u32),
    /// It is not a ring that is mapped.
    #[error("a pipe of trace pages is read and not mapped; report this as a defect")]
    Pipe,
    /// It cannot be mapped.
    #[error(
        "a ring of {bytes} bytes cannot be mapped; the limit of locked memory (`ulimit -l`) or of the perf buffers \
         (`kernel.perf_event_mlock_kb`) may be too low"
    )]
    Map {
        /// Its data bytes.
        bytes: u32,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// What is in it contradicts itself. Nothing more can be read from it.
    #[error("a ring is damaged: {what} at position {position}")]
    Damaged {
        /// What.
        what: &'static str,
        /// The reader's position, bytes since the ring was made.
        position: u64,
    },
}

/// What one call of [`RingReader::drain`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Records handed out.
    pub records: u64,
    /// Bytes of the ring that were freed.
    pub bytes: u64,
    /// Whether records may be left because `max_bytes` was reached.
    pub more: bool,
}

enum Layout {
    /// Page of the consumer's position; then the producer's page followed by the data, read only.
    Bpf { consumer: SharedWords, producer: SharedWords },
    /// The header page followed by the data.
    Perf { all: SharedWords },
}

/// Reads one ring. Only one reader may read a ring.
pub struct RingReader {
    layout: Layout,
    fd: OwnedFd,
    data_bytes: usize,
    position: u64,
    record: Vec<u8>,
    damaged: bool,
}

impl std::fmt::Debug for RingReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { fd, data_bytes, position, .. } = self;
        f.debug_struct("RingReader")
            .field("fd", fd)
            .field("data_bytes", data_bytes)
            .field("position", position)
            .finish_non_exhaustive()
    }
}

impl RingReader {
    /// Maps the ring that `info` describes.
    ///
    /// # Errors
    /// If the size is impossible, the kernel refuses, or the ring's own header says otherwise than `info`.
    pub fn map(fd: OwnedFd, info: &RingInfo) -> Result<Self, RingError> {
        let data_bytes = info.data_bytes as usize;
        if !data_bytes.is_power_of_two() || !(page_bytes()..=MOST_DATA_BYTES).contains(&data_bytes) {
            return Err(RingError::Size(info.data_bytes));
        }
        let page = page_bytes();
        let refused = |errno: rustix::io::Errno| RingError::Map { bytes: info.data_bytes, source: errno.into() };
        let layout = match info.kind {
            RingKind::TracePipe { .. } => return Err(RingError::Pipe),
            RingKind::Bpf => {
                let consumer = SharedWords::map(&fd, 0, page, true).map_err(refused)?;
                let producer = SharedWords::map(&fd, page, page + data_bytes, false).map_err(refused)?;
                Layout::Bpf { consumer, producer }
            }
            RingKind::Perf { .. } => {
                let all = SharedWords::map(&fd, 0, page + data_bytes, true).map_err(refused)?;
                Layout::Perf { all }
            }
        };
        let mut reader = Self { layout, fd, data_bytes, position: 0, record: Vec::new(), damaged: false };
        reader.position = reader.starting_position()?;
        Ok(reader)
    }

    fn starting_position(&self) -> Result<u64, RingError> {
        match &self.layout {
            Layout::Bpf { consumer, .. } => Ok(consumer.load(0, Ordering::Acquire).unwrap_or(0)),
            Layout::Perf { all } => {
                let word = |index| all.load(index, Ordering::Relaxed).unwrap_or(0);
                if (word(PERF_DATA_OFFSET), word(PERF_DATA_SIZE)) != (page_bytes() as u64, self.data_bytes as u64) {
                    return Err(RingError::Damaged { what: "another size or place of the data", position: 0 });
                }
                Ok(word(PERF_TAIL))
            }
        }
    }

    /// Hands every record that is there to `each`, until about `max_bytes` of the ring are read: a BPF ring's payloads,
    /// a perf ring's whole records. The room is given back to the kernel as it goes.
    ///
    /// # Errors
    /// If the ring's content contradicts itself; what was handed out before stays valid, and every later call fails.
    pub fn drain(&mut self, max_bytes: usize, each: &mut dyn FnMut(&[u8])) -> Result<Drained, RingError> {
        if self.damaged {
            return Err(self.damage("it was damaged before"));
        }
        let result = match &self.layout {
            Layout::Bpf { .. } => self.drain_bpf(max_bytes as u64, each),
            Layout::Perf { .. } => self.drain_perf(max_bytes as u64, each),
        };
        self.damaged = result.is_err();
        result
    }

    /// Bytes that are in the ring now, records that are still being written among them.
    pub fn used_bytes(&self) -> u64 {
        let head = match &self.layout {
            Layout::Bpf { producer, .. } => producer.load(0, Ordering::Acquire),
            Layout::Perf { all } => all.load(PERF_HEAD, Ordering::Acquire),
        };
        head.unwrap_or(0).wrapping_sub(self.position).min(self.data_bytes as u64)
    }

    /// Bytes of its data area.
    pub fn data_bytes(&self) -> usize {
        self.data_bytes
    }

    fn damage(&self, what: &'static str) -> RingError {
        RingError::Damaged { what, position: self.position }
    }

    /// How far the producer is ahead, checked.
    fn available(&self, head: u64) -> Result<u64, RingError> {
        let available = head.wrapping_sub(self.position);
        if available > self.data_bytes as u64 || !head.is_multiple_of(WORD as u64) {
            return Err(self.damage("the producer's position is outside"));
        }
        Ok(available)
    }

    fn drain_bpf(&mut self, max_bytes: u64, each: &mut dyn FnMut(&[u8])) -> Result<Drained, RingError> {
        let Layout::Bpf { consumer, producer } = &self.layout else { return Ok(Drained::default()) };
        let (base, data_words) = (page_bytes() / WORD, self.data_bytes / WORD);
        let mut available = self.available(producer.load(0, Ordering::Acquire).unwrap_or(0))?;
        let mut drained = Drained::default();
        while available > 0 {
            let at = base + ((self.position as usize / WORD) & (data_words - 1));
            let field = bpf_length_field(producer.load(at, Ordering::Acquire).unwrap_or(0));
            if field & BPF_BUSY != 0 {
                break;
            }
            let length = (field & BPF_LENGTH) as usize;
            let total = (BPF_HEADER_BYTES + length.next_multiple_of(WORD)) as u64;
            if total > available {
                return Err(self.damage("a record is longer than what is there"));
            }
            if field & BPF_DISCARD == 0 {
                let payload = self.position.wrapping_add(BPF_HEADER_BYTES as u64);
                producer.copy_wrapped(base, data_words, payload, length, &mut self.record);
                drained.records += 1;
            }
            self.position = self.position.wrapping_add(total);
            consumer.store(0, self.position, Ordering::Release);
            if field & BPF_DISCARD == 0 {
                each(&self.record);
            }
            drained.bytes += total;
            available -= total;
            if drained.bytes >= max_bytes {
                drained.more = available > 0;
                break;
            }
        }
        Ok(drained)
    }

    fn drain_perf(&mut self, max_bytes: u64, each: &mut dyn FnMut(&[u8])) -> Result<Drained, RingError> {
        let Layout::Perf { all } = &self.layout else { return Ok(Drained::default()) };
        let (base, data_words) = (page_bytes() / WORD, self.data_bytes / WORD);
        let mut available = self.available(all.load(PERF_HEAD, Ordering::Acquire).unwrap_or(0))?;
        let mut drained = Drained::default();
        while available > 0 {
            let at = base + ((self.position as usize / WORD) & (data_words - 1));
            let size = perf_size_field(all.load(at, Ordering::Relaxed).unwrap_or(0));
            if size < PERF_HEADER_BYTES || !size.is_multiple_of(WORD) {
                return Err(self.damage("a record has an impossible size"));
            }
            if size as u64 > available {
                return Err(self.damage("a record is longer than what is there"));
            }
            all.copy_wrapped(base, data_words, self.position, size, &mut self.record);
            self.position = self.position.wrapping_add(size as u64);
            // Release: the kernel may overwrite the record only after it was copied.
            all.store(PERF_TAIL, self.position, Ordering::Release);
            each(&self.record);
            drained.records += 1;
            drained.bytes += size as u64;
            available -= size as u64;
            if drained.bytes >= max_bytes {
                drained.more = available > 0;
                break;
            }
        }
        Ok(drained)
    }
}

impl AsFd for RingReader {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
