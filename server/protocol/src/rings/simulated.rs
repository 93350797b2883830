//! Rings in ordinary memory that look like the kernel's, for a simulated agent and for tests.

use std::{
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::atomic::Ordering,
};

use rustix::fs::{MemfdFlags, SealFlags};

use super::{
    layout::{
        BPF_BUSY, BPF_DISCARD, BPF_HEADER_BYTES, BPF_LENGTH, MOST_DATA_BYTES, PERF_DATA_OFFSET, PERF_DATA_SIZE,
        PERF_HEAD, PERF_TAIL, WORD, page_bytes,
    },
    memory::SharedWords,
};

fn shared_memory(name: &str, bytes: usize) -> io::Result<OwnedFd> {
    let fd = rustix::fs::memfd_create(name, MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    rustix::fs::ftruncate(&fd, bytes as u64)?;
    rustix::fs::fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(fd)
}

fn check_size(data_bytes: u32) -> io::Result<usize> {
    let size = data_bytes as usize;
    if size.is_power_of_two() && (page_bytes()..=MOST_DATA_BYTES).contains(&size) {
        Ok(size)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidInput, "the data bytes are not a power of two within the limits"))
    }
}

/// Writes `bytes`, padded to words with zeros, into the ring of `data_words` words that begins at word `base`.
fn write_wrapped(memory: &SharedWords, base: usize, data_words: usize, position: u64, bytes: &[u8]) {
    let start = (position / WORD as u64) as usize;
    for (i, chunk) in bytes.chunks(WORD).enumerate() {
        let mut word = [0_u8; WORD];
        for (to, from) in word.iter_mut().zip(chunk) {
            *to = *from;
        }
        let index = base + ((start + i) & (data_words - 1));
        memory.store(index, u64::from_le_bytes(word), Ordering::Relaxed);
    }
}

/// The writer of a ring with the layout of a BPF ring buffer.
#[derive(Debug)]
pub struct SimulatedBpfRing {
    fd: OwnedFd,
    memory: SharedWords,
    data_bytes: usize,
    position: u64,
}

impl SimulatedBpfRing {
    /// Makes a ring of `data_bytes`, a power of two and at least a page.
    ///
    /// # Errors
    /// If the size is wrong or there is no memory.
    pub fn create(data_bytes: u32) -> io::Result<Self> {
        let size = check_size(data_bytes)?;
        let fd = shared_memory("bathyscope-bpf-ring", 2 * page_bytes() + size)?;
        let memory = SharedWords::map(&fd, 0, 2 * page_bytes() + size, true)?;
        Ok(Self { fd, memory, data_bytes: size, position: 0 })
    }

    /// Appends `payload` as one record; `false` if there is no room for it.
    pub fn push(&mut self, payload: &[u8]) -> bool {
        self.append(payload, 0)
    }

    /// Appends a record that its producer abandoned: a reader passes over it.
    pub fn push_discarded(&mut self, payload: &[u8]) -> bool {
        self.append(payload, BPF_DISCARD)
    }

    /// Appends a record that is still being written: a reader stops before it.
    pub fn push_busy(&mut self, payload: &[u8]) -> bool {
        self.append(payload, BPF_BUSY)
    }

    fn append(&mut self, payload: &[u8], flags: u32) -> bool {
        let total = BPF_HEADER_BYTES + payload.len().next_multiple_of(WORD);
        let consumed = self.memory.load(0, Ordering::Acquire).unwrap_or(0);
        let used = self.position.wrapping_sub(consumed);
        // The kernel never fills its ring to the last byte either.
        if payload.len() > BPF_LENGTH as usize || used.saturating_add(total as u64) >= self.data_bytes as u64 {
            return false;
        }
        let (base, data_words) = (2 * page_bytes() / WORD, self.data_bytes / WORD);
        let after_header = self.position.wrapping_add(BPF_HEADER_BYTES as u64);
        write_wrapped(&self.memory, base, data_words, after_header, payload);
        let header = u64::from(payload.len() as u32 | flags).to_le_bytes();
        write_wrapped(&self.memory, base, data_words, self.position, &header);
        self.position = self.position.wrapping_add(total as u64);
        self.memory.store(page_bytes() / WORD, self.position, Ordering::Release);
        true
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> &SharedWords {
        &self.memory
    }
}

impl AsFd for SimulatedBpfRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// The writer of a ring with the layout of a perf event's buffer.
#[derive(Debug)]
pub struct SimulatedPerfRing {
    fd: OwnedFd,
    memory: SharedWords,
    data_bytes: usize,
    position: u64,
}

impl SimulatedPerfRing {
    /// Makes a ring of `data_bytes`, a power of two and at least a page.
    ///
    /// # Errors
    /// If the size is wrong or there is no memory.
    pub fn create(data_bytes: u32) -> io::Result<Self> {
        let size = check_size(data_bytes)?;
        let fd = shared_memory("bathyscope-perf-ring", page_bytes() + size)?;
        let memory = SharedWords::map(&fd, 0, page_bytes() + size, true)?;
        memory.store(PERF_DATA_OFFSET, page_bytes() as u64, Ordering::Relaxed);
        memory.store(PERF_DATA_SIZE, size as u64, Ordering::Relaxed);
        Ok(Self { fd, memory, data_bytes: size, position: 0 })
    }

    /// Appends `record`, a whole record with its header, padded to eight bytes; `false` if there is no room for it.
    pub fn push(&mut self, record: &[u8]) -> bool {
        let consumed = self.memory.load(PERF_TAIL, Ordering::Acquire).unwrap_or(0);
        let used = self.position.wrapping_sub(consumed);
        if used.saturating_add(record.len() as u64) >= self.data_bytes as u64 || !record.len().is_multiple_of(WORD) {
            return false;
        }
        let (base, data_words) = (page_bytes() / WORD, self.data_bytes / WORD);
        write_wrapped(&self.memory, base, data_words, self.position, record);
        self.position = self.position.wrapping_add(record.len() as u64);
        self.memory.store(PERF_HEAD, self.position, Ordering::Release);
        true
    }

    #[cfg(test)]
    pub(super) fn memory(&self) -> &SharedWords {
        &self.memory
    }
}

impl AsFd for SimulatedPerfRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}
