//! How much was ever written into a ring buffer, without looking at any of it.

use std::{io, os::fd::AsFd, sync::atomic::Ordering};

use super::memory::SharedWords;

/// The position of a BPF ring buffer's producer, which only grows.
#[derive(Debug)]
pub struct RingProgress(SharedWords);

impl RingProgress {
    /// Of the ring buffer behind a descriptor of its map.
    ///
    /// # Errors
    /// If it is none.
    pub fn of(ring: impl AsFd) -> io::Result<Self> {
        // The page after the consumer's tells where the producer is; nobody but the kernel can write there.
        let page = rustix::param::page_size();
        Ok(Self(SharedWords::map(ring, page, page, false)?))
    }

    /// Bytes that were ever written or reserved, with the kernel's 8 bytes before each record.
    pub fn bytes(&self) -> u64 {
        self.0.load(0, Ordering::Acquire).unwrap_or(0)
    }
}
