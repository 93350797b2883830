//! Readings that outlive the agent: a file in memory that the agent writes and the console reads.
//!
//! The agent writes the readings of a running capture into it several times a second, and the final ones when it lets the
//! capture go, for whatever reason. The console holds a descriptor of its own that only reads. So what the kernel counted
//! is known to it without an answer: after the agent was killed, or has ended because the console hung.
//!
//! The file has two halves, written in turn, each with a number, a length and a checksum: whoever reads while the other
//! side writes, or after it died in the middle, finds the other half whole. Its size is sealed, so reading never blocks.

use std::{
    io,
    os::fd::{AsFd, AsRawFd as _, OwnedFd},
};

use rustix::{
    fs::{MemfdFlags, Mode, OFlags, SealFlags},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::Readings;

/// Room of one half. Readings of 8,192 programs have about 1 MiB.
const HALF_BYTES: usize = 2 << 20;
/// A half begins with its number (8 bytes), the length of what follows (4) and its CRC-32 (4).
const HEAD_BYTES: usize = 16;
/// What nobody can do any more to the file.
const SEALS: SealFlags = SealFlags::GROW.union(SealFlags::SHRINK).union(SealFlags::SEAL);

/// The last readings of a capture.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LastReadings {
    /// The readings.
    pub readings: Readings,
    /// Whether nothing was attached any more when they were taken: there is nothing that they do not count.
    pub is_final: bool,
}

/// The agent's side.
#[derive(Debug)]
pub struct CounterFile {
    file: OwnedFd,
    written: u64,
}

/// The console's side.
#[derive(Debug)]
pub struct CounterView {
    file: OwnedFd,
}

impl CounterFile {
    /// An empty file.
    ///
    /// # Errors
    /// If there is no memory, or no more descriptors.
    pub fn new() -> io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Kernels before 6.3 do not know the flag for files that cannot be executed.
        let file = match rustix::fs::memfd_create("bathyscope-counters", flags | MemfdFlags::NOEXEC_SEAL) {
            Err(Errno::INVAL) => rustix::fs::memfd_create("bathyscope-counters", flags)?,
            made => made?,
        };
        rustix::fs::ftruncate(&file, 2 * HALF_BYTES as u64)?;
        rustix::fs::fcntl_add_seals(&file, SEALS)?;
        Ok(Self { file, written: 0 })
    }

    /// A descriptor that only reads.
    ///
    /// # Errors
    /// If there are no more descriptors.
    pub fn reader(&self) -> io::Result<OwnedFd> {
        let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Writes readings in the place of those before the last.
    ///
    /// # Errors
    /// If they have no room; the last ones stay.
    pub fn write(&mut self, last: &LastReadings) -> io::Result<()> {
        let body = serde_json::to_vec(last)?;
        let length = u32::try_from(body.len()).ok().filter(|_| body.len() <= HALF_BYTES - HEAD_BYTES);
        let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::FileTooLarge, "the readings are too many"))?;
        let number = self.written + 1;
        let mut bytes = Vec::with_capacity(HEAD_BYTES + body.len());
        bytes.extend(number.to_le_bytes());
        bytes.extend(length.to_le_bytes());
        bytes.extend(crc32fast::hash(&body).to_le_bytes());
        bytes.extend(body);
        let (mut at, mut rest) = (number % 2 * HALF_BYTES as u64, bytes.as_slice());
        while !rest.is_empty() {
            match rustix::io::pwrite(&self.file, rest, at) {
                Ok(done) => {
                    at += done as u64;
                    rest = rest.get(done..).unwrap_or_default();
                }
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        self.written = number;
        Ok(())
    }
}

impl CounterView {
    /// Takes a descriptor that the agent sent.
    ///
    /// # Errors
    /// If it is not a file in memory whose size nobody can change: reading another one could block or wait.
    pub fn new(file: OwnedFd) -> io::Result<Self> {
        let refused = |why: &'static str| io::Error::new(io::ErrorKind::InvalidData, why);
        let seals = rustix::fs::fcntl_get_seals(&file).map_err(|_errno| refused("it is not a file in memory"))?;
        if !seals.contains(SealFlags::GROW | SealFlags::SHRINK) {
            return Err(refused("its size is not sealed"));
        }
        if rustix::fs::fstat(&file)?.st_size.cast_unsigned() != 2 * HALF_BYTES as u64 {
            return Err(refused("it has another size"));
        }
        Ok(Self { file })
    }

    /// The last readings that were written whole; none if there were none yet.
    pub fn read(&self) -> Option<LastReadings> {
        let halves = [0, HALF_BYTES as u64].map(|at| half(&self.file, at));
        let (_, body) = halves.into_iter().flatten().max_by_key(|(number, _)| *number)?;
        serde_json::from_slice(&body).ok()
    }
}

/// The number and the content of a half that is whole.
fn half(file: impl AsFd, at: u64) -> Option<(u64, Vec<u8>)> {
    let mut head = [0; HEAD_BYTES];
    read_all(&file, &mut head, at)?;
    let (number, rest) = head.split_first_chunk::<8>()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let checksum = u32::from_le_bytes(*rest.first_chunk::<4>()?);
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    if u64::from_le_bytes(*number) == 0 || length > HALF_BYTES - HEAD_BYTES {
        return None;
    }
    let mut body = vec![0; length];
    read_all(&file, &mut body, at + HEAD_BYTES as u64)?;
    (crc32fast::hash(&body) == checksum).then_some((u64::from_le_bytes(*number), body))
}

fn read_all(file: impl AsFd, into: &mut [u8], at: u64) -> Option<()> {
    let mut done = 0;
    while let Some(rest) = into.get_mut(done..).filter(|rest| !rest.is_empty()) {
        match rustix::io::pread(&file, rest, at + done as u64) {
            Ok(0) => return None,
            Ok(got) => done += got,
            Err(Errno::INTR) => {}
            Err(_errno) => return None,
        }
    }
    Some(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::{ProbeReading, SourceReadings};

    fn last(hits: u64) -> LastReadings {
        let readings = readings(vec![ProbeReading { hits, ..ProbeReading::default() }]);
        LastReadings { readings: Readings { time_ns: hits, ..readings }, is_final: false }
    }

    fn readings(probes: Vec<ProbeReading>) -> Readings {
        Readings { sources: vec![SourceReadings { probes, ..SourceReadings::default() }], ..Readings::default() }
    }

    #[test]
    fn p73_the_last_whole_readings_are_found_also_after_the_writer_is_gone() {
        let mut writer = CounterFile::new().unwrap();
        let view = CounterView::new(writer.reader().unwrap()).unwrap();
        assert_eq!(view.read(), None);
        for hits in 1..100 {
            writer.write(&last(hits)).unwrap();
            assert_eq!(view.read(), Some(last(hits)));
        }
        // It dies while it writes: the half before is whole.
        rustix::io::pwrite(&writer.file, &100_u64.to_le_bytes(), 0).unwrap();
        rustix::io::pwrite(&writer.file, &[7; 60], 8).unwrap();
        assert_eq!(view.read(), Some(last(99)));
        let many = LastReadings { readings: readings(vec![ProbeReading::default(); 100_000]), is_final: true };
        assert!(writer.write(&many).is_err());
        drop(writer);
        assert_eq!(view.read(), Some(last(99)));
    }

    #[test]
    fn p73_the_console_cannot_write_and_takes_no_other_file() {
        let writer = CounterFile::new().unwrap();
        let reader = writer.reader().unwrap();
        assert!(rustix::io::pwrite(&reader, b"x", 0).is_err());
        assert!(CounterView::new(std::fs::File::open("/proc/self/exe").unwrap().into()).is_err());
        assert!(CounterView::new(io::pipe().unwrap().0.into()).is_err());
        let open = rustix::fs::memfd_create("open", MemfdFlags::ALLOW_SEALING).unwrap();
        assert!(CounterView::new(open).is_err());
    }
}
