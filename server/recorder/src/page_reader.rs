//! Reads pages of ftrace from `trace_pipe_raw`, without waiting.

use std::os::fd::OwnedFd;

use bathyscope_protocol::rings::Drained;
use rustix::io::Errno;

/// The smallest and the largest page that a read may take.
const PAGE_BYTES: std::ops::RangeInclusive<u32> = 4096..=1 << 20;

/// Why pages cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PageReadError {
    /// The size cannot be.
    #[error("pages of {0} bytes cannot be")]
    Size(u32),
    /// The kernel refuses.
    #[error("pages of ftrace cannot be read: {0}")]
    Read(Errno),
}

/// Reads one CPU's pages.
#[derive(Debug)]
pub(crate) struct PageReader {
    fd: OwnedFd,
    page: Vec<u8>,
}

impl PageReader {
    /// For a descriptor that does not wait, with pages of this size.
    pub(crate) fn new(fd: OwnedFd, page_bytes: u32) -> Result<Self, PageReadError> {
        if !PAGE_BYTES.contains(&page_bytes) {
            return Err(PageReadError::Size(page_bytes));
        }
        Ok(Self { fd, page: vec![0; page_bytes as usize] })
    }

    /// Gives pages until there are none, or about `most` bytes.
    pub(crate) fn drain(&mut self, most: usize, give: &mut dyn FnMut(&[u8])) -> Result<Drained, PageReadError> {
        let (mut records, mut bytes) = (0, 0);
        while bytes < most {
            // A page that is being written is given as far as it is.
            match rustix::io::read(&self.fd, self.page.as_mut_slice()) {
                Ok(0) | Err(Errno::AGAIN) => return Ok(Drained { records, bytes: bytes as u64, more: false }),
                Ok(count) => {
                    give(self.page.get(..count).unwrap_or_default());
                    records += 1;
                    bytes += count;
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(PageReadError::Read(errno)),
            }
        }
        Ok(Drained { records, bytes: bytes as u64, more: true })
    }
}
