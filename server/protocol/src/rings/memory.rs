//! Shared memory as a slice of atomic words.

use std::{
    os::fd::AsFd,
    ptr::NonNull,
    sync::atomic::{AtomicU64, Ordering},
};

use rustix::{
    fs::SealFlags,
    io::Errno,
    mm::{MapFlags, ProtFlags, mmap, munmap},
};

use super::layout::WORD;

/// A shared mapping that is unmapped when it is dropped.
#[derive(Debug)]
pub(super) struct SharedWords {
    first: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: the mapping belongs to this value alone, stays until it is dropped, and is only accessed through atomics.
unsafe impl Send for SharedWords {}
// SAFETY: as above; atomics may be shared.
unsafe impl Sync for SharedWords {}

impl SharedWords {
    /// Maps `bytes` of `fd` from `offset`, both multiples of the page size, to read or to read and write.
    pub(super) fn map(fd: impl AsFd, offset: usize, bytes: usize, writable: bool) -> Result<Self, Errno> {
        check_backing(fd.as_fd(), offset + bytes)?;
        let protection = if writable { ProtFlags::READ | ProtFlags::WRITE } else { ProtFlags::READ };
        // SAFETY: a fresh mapping at an address that the kernel chooses; nothing else refers to it. Memory behind a
        // regular file cannot shrink (checked above), and memory behind the kernel's descriptors never does.
        let address = unsafe { mmap(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED, fd, offset as u64) }?;
        let first = NonNull::new(address.cast::<AtomicU64>()).ok_or(Errno::FAULT)?;
        Ok(Self { first, words: bytes / WORD })
    }

    fn slice(&self) -> &[AtomicU64] {
        // SAFETY: `first` is page aligned and maps `words * 8` bytes for as long as `self` lives. The memory may be
        // changed by others at any time, which is what atomics are for; a read-only mapping is only loaded from.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.words) }
    }

    /// Loads word `index`; nothing where there is no such word.
    pub(super) fn load(&self, index: usize, ordering: Ordering) -> Option<u64> {
        self.slice().get(index).map(|word| word.load(ordering))
    }

    /// Stores word `index` of a writable mapping, if there is such a word.
    pub(super) fn store(&self, index: usize, value: u64, ordering: Ordering) {
        if let Some(word) = self.slice().get(index) {
            word.store(value, ordering);
        }
    }

    /// Copies `bytes` (rounded up to words) that begin at byte `position` of the ring of `data_words` words (a power
    /// of two) that begins at word `base`, wrapping at its end, into `out`, which is cleared before.
    pub(super) fn copy_wrapped(&self, base: usize, data_words: usize, position: u64, bytes: usize, out: &mut Vec<u8>) {
        out.clear();
        let Some(data) = self.slice().get(base..base + data_words) else { return };
        let start = (position / WORD as u64) as usize & (data_words - 1);
        let words = bytes.div_ceil(WORD).min(data_words);
        let (wrapped, straight) = data.split_at(start);
        for word in straight.iter().chain(wrapped).take(words) {
            out.extend_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
        out.truncate(bytes);
    }
}

impl Drop for SharedWords {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` with this length, and no reference into it outlives `self`.
        let _unmapped = unsafe { munmap(self.first.as_ptr().cast(), self.words * WORD) };
    }
}

/// A regular file (memory made by a simulated agent) must be long enough and never shrink, or a load from it would
/// raise SIGBUS. The kernel's own rings have no length; mapping more than there is fails.
fn check_backing(fd: impl AsFd, end: usize) -> Result<(), Errno> {
    let stat = rustix::fs::fstat(fd.as_fd())?;
    if rustix::fs::FileType::from_raw_mode(stat.st_mode) != rustix::fs::FileType::RegularFile {
        return Ok(());
    }
    let sealed = rustix::fs::fcntl_get_seals(fd)?.contains(SealFlags::SHRINK);
    let long_enough = u64::try_from(stat.st_size).is_ok_and(|size| size >= end as u64);
    if sealed && long_enough { Ok(()) } else { Err(Errno::NXIO) }
}
