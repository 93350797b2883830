//! Counters in text files of the kernel: of the whole machine below `/proc`, and pressure of a control group in its folder.
//!
//! They are the kernel's own files of numbers, into which no process can write text, so the agent reads them itself. Each is
//! opened once and read as a whole at each reading, up to a limit.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::fs::FileExt as _,
    },
};

use bathyscope_catalog::perf_events::{ProcCounter, ProcFile, read_proc_counters};
use bathyscope_protocol::{AgentError, AgentErrorKind};
use rustix::fs::{Mode, OFlags};

use crate::error::{failed, refused};

/// The most of a file that is read; `/proc/vmstat` has some 6 KiB.
const MAX_FILE_BYTES: usize = 32 << 10;

/// What helps where a counter is of the whole machine only.
const EVERYWHERE: &str = "Count the whole system (-a, or `everywhere` in a spec).";

/// Whose counters are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CountedScope {
    /// Everybody's.
    Machine,
    /// Those of a control group.
    Group,
    /// Those of processes or threads.
    Processes,
}

impl CountedScope {
    /// Checks that a counter is kept of such.
    ///
    /// # Errors
    /// If it means nothing of them.
    pub(crate) fn check(self, counter: ProcCounter) -> Result<(), AgentError> {
        let is_of_groups = counter.file().name_in_group().is_some();
        let (why, remedy) = match self {
            Self::Machine if counter.is_of_machine() => return Ok(()),
            Self::Group if is_of_groups => return Ok(()),
            Self::Machine => ("it means something in a control group only", "Choose a control group."),
            Self::Group => ("it is of the whole machine, not of a control group", EVERYWHERE),
            Self::Processes if is_of_groups => {
                let why = "it is of the whole machine or of a control group, not of processes";
                (why, "Count the whole system (-a, or `everywhere` in a spec), or a control group.")
            }
            Self::Processes => ("it is of the whole machine, not of processes", EVERYWHERE),
        };
        Err(failed(AgentErrorKind::Unsupported, format!("counting {}", counter.name()), why, remedy))
    }
}

/// A file that is open, with the counters that are read from it and what they told last.
#[derive(Debug)]
struct OpenFile {
    file: ProcFile,
    descriptor: File,
    counters: Vec<ProcCounter>,
    values: Vec<Option<u64>>,
}

/// Names a counter among those that are read together.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcPlace {
    file: usize,
    counter: usize,
}

/// Counters that are read together.
#[derive(Debug, Default)]
pub(crate) struct ProcCounters {
    /// The folder of the control group that they are of; of the whole machine without.
    group: Option<OwnedFd>,
    files: Vec<OpenFile>,
    /// Room for a file.
    text: Vec<u8>,
}

impl ProcCounters {
    /// None yet, of a control group or the whole machine.
    pub(crate) fn of(group: Option<OwnedFd>) -> Self {
        Self { group, ..Self::default() }
    }

    /// Adds a counter, and reads it once.
    ///
    /// # Errors
    /// If this kernel does not tell it.
    pub(crate) fn add(&mut self, counter: ProcCounter) -> Result<ProcPlace, AgentError> {
        let file = counter.file();
        let at = match self.files.iter().position(|open| open.file == file) {
            Some(at) => at,
            None => {
                let descriptor = self.open(file).map_err(|error| cannot_read(counter, &error, self.group.is_some()))?;
                self.files.push(OpenFile { file, descriptor, counters: Vec::new(), values: Vec::new() });
                self.files.len() - 1
            }
        };
        self.text.resize(MAX_FILE_BYTES, 0);
        let Some(open) = self.files.get_mut(at) else { return Err(untold(counter)) };
        let place = ProcPlace { file: at, counter: open.counters.len() };
        open.counters.push(counter);
        match open.read(&mut self.text) {
            Err(error) => Err(cannot_read(counter, &error, self.group.is_some())),
            Ok(()) => self.value(place).map(|_told| place).ok_or_else(|| untold(counter)),
        }
    }

    fn open(&self, file: ProcFile) -> io::Result<File> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let opened = match (&self.group, file.name_in_group()) {
            (Some(folder), Some(name)) => rustix::fs::openat(folder.as_fd(), name, flags, Mode::empty()),
            _ => rustix::fs::open(file.path(), flags, Mode::empty()),
        };
        Ok(File::from(opened?))
    }

    /// Reads all files. What cannot be read any more tells nothing.
    pub(crate) fn read(&mut self) {
        for open in &mut self.files {
            if open.read(&mut self.text).is_err() {
                open.values.fill(None);
            }
        }
    }

    /// What a counter told when it was read last.
    pub(crate) fn value(&self, place: ProcPlace) -> Option<u64> {
        self.files.get(place.file)?.values.get(place.counter).copied().flatten()
    }
}

impl OpenFile {
    fn read(&mut self, room: &mut [u8]) -> io::Result<()> {
        let length = read_whole(&self.descriptor, room)?;
        let text = room.get(..length).unwrap_or_default();
        self.values = read_proc_counters(self.file, text, &self.counters);
        Ok(())
    }
}

/// Reads a file from its beginning, as much as there is room for; the kernel gives a page of it at once.
fn read_whole(file: &File, room: &mut [u8]) -> io::Result<usize> {
    let mut length = 0;
    while let Some(rest) = room.get_mut(length..).filter(|rest| !rest.is_empty()) {
        match file.read_at(rest, length as u64) {
            Ok(0) => break,
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(length)
}

fn cannot_read(counter: ProcCounter, error: &io::Error, in_group: bool) -> AgentError {
    let doing = format!("counting {}", counter.name());
    let is_missing = matches!(error.raw_os_error(), Some(libc::ENOENT | libc::EOPNOTSUPP));
    if !is_missing || !counter.file().is_pressure() {
        return refused(doing, error, "");
    }
    let why = "this kernel has no pressure information (CONFIG_PSI, or psi=1 on its command line)";
    if in_group && std::path::Path::new(counter.file().path()).exists() {
        let why = "the group has no pressure information: it is switched off there (cgroup.pressure)";
        return failed(AgentErrorKind::Unsupported, doing, why, "");
    }
    failed(AgentErrorKind::Unsupported, doing, why, "")
}

fn untold(counter: ProcCounter) -> AgentError {
    let why = format!("this kernel does not tell it in {}", counter.file().path());
    failed(AgentErrorKind::Unsupported, format!("counting {}", counter.name()), why, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counter(name: &str) -> ProcCounter {
        ProcCounter::named(name).unwrap()
    }

    #[test]
    fn counters_mean_something_of_the_machine_or_of_a_group() {
        use CountedScope::{Group, Machine, Processes};
        let cases = [
            (Machine, "memory:free", None),
            (Machine, "vm:pgfault", None),
            (Machine, "pressure:io-full", None),
            (Machine, "pressure:cpu-full", Some("in a control group only")),
            (Group, "pressure:cpu-full", None),
            (Group, "memory:free", Some("not of a control group")),
            (Processes, "vm:pgfault", Some("of the whole machine, not of processes")),
            (Processes, "pressure:io-some", Some("or of a control group, not of processes")),
        ];
        for (scope, name, expected) in cases {
            let why = scope.check(counter(name)).err().map(|error| error.why);
            assert_eq!(why.is_some(), expected.is_some(), "{scope:?} {name}: {why:?}");
            assert!(why.unwrap_or_default().contains(expected.unwrap_or_default()), "{scope:?} {name}");
        }
    }

    #[test]
    fn what_a_kernel_does_not_have_is_told_in_words() {
        let missing = io::Error::from_raw_os_error(libc::ENOENT);
        let off = io::Error::from_raw_os_error(libc::EOPNOTSUPP);
        for error in [missing, off] {
            let told = cannot_read(counter("pressure:io-some"), &error, false);
            let expected = "this kernel has no pressure information (CONFIG_PSI, or psi=1 on its command line)";
            assert_eq!((told.kind, told.why.as_str()), (AgentErrorKind::Unsupported, expected));
        }
        let denied = cannot_read(counter("pressure:io-some"), &io::Error::from_raw_os_error(libc::EACCES), false);
        assert_eq!(denied.kind, AgentErrorKind::Denied);
    }

    #[test]
    fn files_are_read_as_a_whole_and_again() {
        let mut counters = ProcCounters::of(None);
        let places = ["memory:total", "vm:pgfault", "memory:free"].map(|name| counters.add(counter(name)).unwrap());
        assert_eq!(counters.files.len(), 2, "each file is open once");
        let [total, faults, free] = places.map(|place| counters.value(place).unwrap());
        assert!(total > free && faults > 0, "{total} {free} {faults}");
        counters.read();
        assert_eq!(counters.value(places[0]), Some(total));
        assert!(counters.value(places[1]) >= Some(faults));
    }

    #[test]
    fn no_more_is_read_than_there_is_room_for() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(&[b'x'; 100], 0).unwrap();
        let mut room = [0; 64];
        assert_eq!((read_whole(&file, &mut room).unwrap(), room), (64, [b'x'; 64]));
        assert_eq!(read_whole(&file, &mut [0; 200]).unwrap(), 100);
        assert_eq!(read_whole(&file, &mut []).unwrap(), 0);
    }
}
