//! What does not fit into a packet: messages and contents in sealed files in memory.
//!
//! A message larger than a packet travels as the packet `{"in_file":BYTES}` with one descriptor of a file in memory that
//! holds its JSON. Whoever reads such a file first asks the kernel whether it is sealed against every change, which only
//! files in memory can be: so reading it cannot block, what was checked stays as it was, and the size is known before
//! anything is allocated.

use std::{
    io::{self, Write as _},
    os::fd::{AsFd, OwnedFd},
};

use rustix::{
    fs::{MemfdFlags, SealFlags, SeekFrom},
    io::Errno,
};

/// The largest message to the agent.
pub const MAX_LARGE_REQUEST_BYTES: usize = 32 << 20;
/// The largest message of the agent.
pub const MAX_LARGE_REPLY_BYTES: usize = 64 << 20;

/// What nobody can do any more to a file that is passed on.
const SEALS: SealFlags = SealFlags::WRITE.union(SealFlags::GROW).union(SealFlags::SHRINK);

/// Makes a file in memory that holds `bytes` and that nobody can change any more.
///
/// # Errors
/// If there is no memory, or no more descriptors.
pub fn sealed_file(name: &str, bytes: &[u8]) -> io::Result<OwnedFd> {
    let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
    // Kernels before 6.3 do not know the flag for files that cannot be executed.
    let file = match rustix::fs::memfd_create(name, flags | MemfdFlags::NOEXEC_SEAL) {
        Err(Errno::INVAL) => rustix::fs::memfd_create(name, flags)?,
        made => made?,
    };
    let mut file = std::fs::File::from(file);
    file.write_all(bytes)?;
    rustix::fs::seek(&file, SeekFrom::Start(0))?;
    rustix::fs::fcntl_add_seals(&file, SEALS | SealFlags::SEAL)?;
    Ok(file.into())
}

/// Reads a file that the other side made with [`sealed_file`].
///
/// # Errors
/// If it is not sealed, so that it could change or block while it is read, or is larger than `most` bytes.
pub fn read_sealed(file: impl AsFd, most: usize) -> io::Result<Vec<u8>> {
    let refused = |why: &'static str| io::Error::new(io::ErrorKind::InvalidData, why);
    // Only files in memory answer; seals cannot be taken away again.
    let seals = rustix::fs::fcntl_get_seals(&file).map_err(|_errno| refused("it is not a file in memory"))?;
    if !seals.contains(SEALS) {
        return Err(refused("it is not sealed"));
    }
    let size = usize::try_from(rustix::fs::fstat(&file)?.st_size).map_err(|_range| refused("it is too large"))?;
    if size > most {
        return Err(refused("it is too large"));
    }
    let mut bytes = vec![0; size];
    let mut at = 0;
    while let Some(rest) = bytes.get_mut(at..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(&file, rest, at as u64) {
            Ok(0) => return Err(refused("it is shorter than it says")),
            Ok(got) => at += got,
            Err(Errno::INTR) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn sealed_files_are_read_and_others_are_not() {
        let file = sealed_file("test", b"content").unwrap();
        assert_eq!(read_sealed(&file, 7).unwrap(), b"content");
        assert_eq!(read_sealed(&file, 7).unwrap(), b"content", "reading does not move it");
        assert!(read_sealed(&file, 6).is_err());
        assert!(rustix::io::pwrite(&file, b"x", 0).is_err());
        assert_eq!(read_sealed(sealed_file("empty", b"").unwrap(), 0).unwrap(), b"");

        let open = rustix::fs::memfd_create("open", MemfdFlags::ALLOW_SEALING).unwrap();
        assert!(read_sealed(&open, 7).is_err());
        rustix::fs::fcntl_add_seals(&open, SealFlags::SHRINK | SealFlags::GROW).unwrap();
        assert!(read_sealed(&open, 7).is_err());
        assert!(read_sealed(std::fs::File::open("/proc/self/exe").unwrap(), usize::MAX).is_err());
        assert!(read_sealed(io::pipe().unwrap().0, 7).is_err());
    }
}
