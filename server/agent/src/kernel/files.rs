//! Opening files for the console. They are only opened here, and read by the console, which has no rights.
//!
//! Paths of a process are the process's business: its mount namespace, links and file systems are chosen by whoever
//! runs it. So a path is resolved inside the process's own root, nothing but regular files is opened, and as a file
//! system in user space can hold the opener for ever, opening happens in a thread that can be given up.

use std::{
    fs::File,
    io::{self, Read as _, Seek as _, Write as _},
    os::fd::{AsRawFd as _, OwnedFd},
    sync::{
        Arc,
        atomic::{AtomicI32, AtomicUsize, Ordering},
        mpsc::{Receiver, RecvTimeoutError, sync_channel},
    },
    time::{Duration, Instant},
};

use bathyscope_protocol::{
    AgentError, AgentErrorKind, KernelFile, MAX_FILE_LINKS, PressureResource, ProcessFile, SocketTable,
    WORKING_DIRECTORY_LINK,
};
use rustix::fs::{FileType, Mode, OFlags, ResolveFlags};

use super::waiting::{Doing, doing as doing_of};
use crate::{
    error::{failed, refused},
    needs::Need,
    os::tracefs::Tracefs,
};

/// How long opening a file of a process may take.
const OPEN_TIMEOUT: Duration = Duration::from_secs(2);
/// How long it may take while it has something to compute, or gets no turn on a CPU.
const BUSY_TIMEOUT: Duration = Duration::from_secs(8);
/// The most openings that were given up and still hang.
const MAX_HANGING: usize = 8;
/// The longest `maps` that is searched.
const MAX_MAPS_BYTES: u64 = 64 << 20;
/// The longest `status` that is read.
const MAX_STATUS_BYTES: u64 = 64 << 10;

static HANGING: AtomicUsize = AtomicUsize::new(0);

/// Opens a file of the kernel.
pub(crate) fn open_kernel_file(file: &KernelFile) -> Result<OwnedFd, AgentError> {
    let open_list = |name: &str| {
        let told = |error: io::Error| refused(format!("opening tracefs' {name}"), &error, Need::Files);
        Tracefs::find().and_then(|tracefs| tracefs.open(name).map_err(told))
    };
    match file {
        KernelFile::Kallsyms => open_plain("/proc/kallsyms"),
        KernelFile::Notes => open_plain("/sys/kernel/notes"),
        KernelFile::Btf => open_plain("/sys/kernel/btf/vmlinux"),
        KernelFile::ModuleBtf { module } => open_plain(&format!("/sys/kernel/btf/{module}")),
        KernelFile::AvailableEvents => open_list("available_events"),
        KernelFile::FilterFunctions => open_list("available_filter_functions"),
        KernelFile::AvailableTracers => open_list("available_tracers"),
        KernelFile::TraceOptions => open_list("trace_options"),
        KernelFile::TraceClocks => open_list("trace_clock"),
        KernelFile::DynamicEvents => open_list("dynamic_events"),
        KernelFile::Modules => open_plain("/proc/modules"),
        KernelFile::ProbeBlacklist => open_plain("/sys/kernel/debug/kprobes/blacklist"),
        KernelFile::TraceHeaderPage => open_list("events/header_page"),
        KernelFile::TraceHeaderEvent => open_list("events/header_event"),
        KernelFile::Stat => open_plain("/proc/stat"),
        KernelFile::LoadAverage => open_plain("/proc/loadavg"),
        KernelFile::MemoryInfo => open_plain("/proc/meminfo"),
        KernelFile::MemoryStat => open_plain("/proc/vmstat"),
        KernelFile::DiskStat => open_plain("/proc/diskstats"),
        KernelFile::NetworkStat => open_plain("/proc/net/dev"),
        KernelFile::Pressure { resource: PressureResource::Cpu } => open_plain("/proc/pressure/cpu"),
        KernelFile::Pressure { resource: PressureResource::Memory } => open_plain("/proc/pressure/memory"),
        KernelFile::Pressure { resource: PressureResource::Io } => open_plain("/proc/pressure/io"),
        KernelFile::EventFormat { tracepoint } => Tracefs::find()?.open_format(tracepoint),
    }
}

fn open_plain(path: &str) -> Result<OwnedFd, AgentError> {
    rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
        .map_err(|errno| refused(format!("opening {path}"), &errno.into(), ""))
}

/// Opens a file of a process.
pub(crate) fn open_process_file(pid: u32, file: &ProcessFile) -> Result<OwnedFd, AgentError> {
    let process = ProcessFolder::open(pid)?;
    match *file {
        ProcessFile::Maps => process.open_own("maps"),
        ProcessFile::Stat => process.open_own("stat"),
        ProcessFile::Status => process.open_own("status"),
        ProcessFile::Cmdline => process.open_own("cmdline"),
        ProcessFile::ControlGroups => process.open_own("cgroup"),
        ProcessFile::Mapped { start, end } => process.open_mapped(start, end),
        ProcessFile::PerfMap => process.open_perf_map(),
        ProcessFile::Links => process.list_links(),
        ProcessFile::Sockets { table: SocketTable::Tcp } => process.open_own("net/tcp"),
        ProcessFile::Sockets { table: SocketTable::Tcp6 } => process.open_own("net/tcp6"),
        ProcessFile::Sockets { table: SocketTable::Udp } => process.open_own("net/udp"),
        ProcessFile::Sockets { table: SocketTable::Udp6 } => process.open_own("net/udp6"),
        ProcessFile::Sockets { table: SocketTable::Unix } => process.open_own("net/unix"),
    }
}

/// Adds a number and its link, cut to what the length has room for; a descriptor that was closed meanwhile is left out.
fn add_link<P: rustix::path::Arg>(list: &mut Vec<u8>, folder: &OwnedFd, name: P, number: i32) {
    let Ok(link) = rustix::fs::readlinkat(folder, name, Vec::new()) else { return };
    let link = link.as_bytes();
    let length = u16::try_from(link.len()).unwrap_or(u16::MAX);
    list.extend(number.to_le_bytes());
    list.extend(length.to_le_bytes());
    list.extend(link.iter().take(usize::from(length)));
}

/// The folder of a process below `/proc`, kept open: its files stay those of this process, even when its id is given to
/// another one.
pub(super) struct ProcessFolder {
    pid: u32,
    pub(super) directory: OwnedFd,
}

impl ProcessFolder {
    pub(super) fn open(pid: u32) -> Result<Self, AgentError> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::open(format!("/proc/{pid}"), flags, Mode::empty())
            .map(|directory| Self { pid, directory })
            .map_err(|_errno| no_such_process(pid))
    }

    pub(super) fn open_own(&self, name: &'static str) -> Result<OwnedFd, AgentError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        rustix::fs::openat(&self.directory, name, flags, Mode::empty())
            .map_err(|errno| self.refused(format!("opening {name} of process {}", self.pid), &errno.into()))
    }

    fn refused(&self, doing: String, error: &io::Error) -> AgentError {
        match error.raw_os_error() {
            Some(libc::ESRCH) => no_such_process(self.pid),
            _ => refused(doing, error, ""),
        }
    }

    /// The working directory and what descriptors refer to, as text that the kernel makes: nothing of it is opened.
    fn list_links(&self) -> Result<OwnedFd, AgentError> {
        let doing = || format!("reading the links of process {}", self.pid);
        let told = |error: &io::Error| self.refused(doing(), error);
        let mut list = Vec::new();
        add_link(&mut list, &self.directory, "cwd", WORKING_DIRECTORY_LINK);
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = rustix::fs::openat(&self.directory, "fd", flags, Mode::empty()).map_err(|e| told(&e.into()))?;
        let entries = rustix::fs::Dir::read_from(&folder).map_err(|errno| told(&errno.into()))?;
        for entry in entries.take(MAX_FILE_LINKS).flatten() {
            if let Some(number) = entry.file_name().to_str().ok().and_then(|name| name.parse::<i32>().ok()) {
                add_link(&mut list, &folder, entry.file_name(), number);
            }
        }
        let made = rustix::fs::memfd_create("links", rustix::fs::MemfdFlags::CLOEXEC).map_err(|e| told(&e.into()))?;
        let mut file = File::from(made);
        file.write_all(&list).and_then(|()| file.rewind()).map_err(|error| told(&error))?;
        Ok(file.into())
    }

    /// Only mappings of code are opened: that is all that names of functions need, and a hostile console shall not read
    /// whatever file a process happens to have mapped.
    fn open_mapped(&self, start: u64, end: u64) -> Result<OwnedFd, AgentError> {
        let doing = || format!("opening the file mapped at {start:x}-{end:x} by process {}", self.pid);
        let mut maps = Vec::new();
        let file = File::from(self.open_own("maps")?);
        file.take(MAX_MAPS_BYTES).read_to_end(&mut maps).map_err(|error| self.refused(doing(), &error))?;
        if !has_code_mapping(&maps, start, end) {
            return Err(failed(AgentErrorKind::NotFound, doing(), "no code is mapped there (any more)", ""));
        }
        let directory = self.directory.try_clone().map_err(|error| refused(doing(), &error, ""))?;
        open_within_time(doing(), move || {
            let name = format!("map_files/{start:x}-{end:x}");
            let found = rustix::fs::openat(&directory, name, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
            reopen_regular(&found, |_stat| Ok(()))
        })
    }

    fn open_perf_map(&self) -> Result<OwnedFd, AgentError> {
        let doing = || format!("opening the perf map of process {}", self.pid);
        let mut status = String::new();
        let file = File::from(self.open_own("status")?);
        file.take(MAX_STATUS_BYTES).read_to_string(&mut status).map_err(|error| self.refused(doing(), &error))?;
        let inner_pid = last_number(&status, "NSpid:").unwrap_or(self.pid);
        let user = last_number(&status, "Uid:");
        let directory = self.directory.try_clone().map_err(|error| refused(doing(), &error, ""))?;
        open_within_time(doing(), move || {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let root = rustix::fs::openat(&directory, "root", flags, Mode::empty())?;
            let name = format!("tmp/perf-{inner_pid}.map");
            let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let resolve = ResolveFlags::IN_ROOT | ResolveFlags::NO_MAGICLINKS;
            let found = rustix::fs::openat2(&root, name, flags, Mode::empty(), resolve)?;
            reopen_regular(&found, |stat| {
                // A file of root's that everybody may read tells nothing new; others may have been put there to be read.
                let public = stat.st_uid == 0 && stat.st_mode & 0o004 != 0;
                if Some(stat.st_uid) == user || public {
                    Ok(())
                } else {
                    Err(io::Error::from_raw_os_error(libc::EACCES))
                }
            })
        })
    }
}

fn no_such_process(pid: u32) -> AgentError {
    let doing = format!("looking for process {pid}");
    failed(AgentErrorKind::NotFound, doing, "there is no such process (any more)", "Choose one that runs.")
}

/// Whether `maps` has an executable mapping of a file at exactly these addresses. Looks at the kernel's own columns
/// only, never at the path, which is the process's.
fn has_code_mapping(maps: &[u8], start: u64, end: u64) -> bool {
    let range = format!("{start:08x}-{end:08x} ");
    let is_it = |line: &[u8]| {
        let rest = line.strip_prefix(range.as_bytes());
        rest.is_some_and(|rest| rest.get(2) == Some(&b'x'))
    };
    maps.split(|byte| *byte == b'\n').any(is_it)
}

/// The last number of the line of `/proc/PID/status` that begins with `key`: for `NSpid:` the id in the innermost
/// namespace, for `Uid:` the user for file access.
fn last_number(status: &str, key: &str) -> Option<u32> {
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    line.split_ascii_whitespace().next_back()?.parse().ok()
}

/// Opens what `found` (an `O_PATH` descriptor) is for reading, if it is a regular file that `accept` agrees to. Anything
/// else is not even opened: opening a device or a pipe can have effects.
pub(super) fn reopen_regular(
    found: &OwnedFd,
    accept: impl FnOnce(&rustix::fs::Stat) -> io::Result<()>,
) -> io::Result<OwnedFd> {
    let stat = rustix::fs::fstat(found)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    accept(&stat)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    Ok(rustix::fs::open(format!("/proc/self/fd/{}", found.as_raw_fd()), flags, Mode::empty())?)
}

/// Does `open` in a thread of its own and waits for it, but not for ever.
pub(super) fn open_within_time<T: Send + 'static>(
    doing: String,
    open: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<T, AgentError> {
    if HANGING.load(Ordering::Relaxed) >= MAX_HANGING {
        let remedy = "Find the file system in user space that does not answer, and end it.";
        return Err(failed(AgentErrorKind::Limit, doing, "too many files could not be opened in time", remedy));
    }
    let (sender, receiver) = sync_channel(1);
    HANGING.fetch_add(1, Ordering::Relaxed);
    let thread = Arc::new(AtomicI32::new(0));
    let opener = OpeningThread(Arc::clone(&thread));
    let spawned = std::thread::Builder::new().name("bathyscope-open".into()).spawn(move || {
        opener.0.store(rustix::thread::gettid().as_raw_nonzero().get(), Ordering::Relaxed);
        let result = open();
        drop(opener);
        // If nobody waits any more, the descriptor is closed with the message.
        let _given_up = sender.send(result);
    });
    if let Err(error) = spawned {
        return Err(refused(doing, &error, ""));
    }
    match receive(&receiver, &thread) {
        Ok(Ok(file)) => Ok(file),
        Ok(Err(error)) => Err(refused(doing, &error, "")),
        Err(why) => Err(failed(AgentErrorKind::Internal, doing, why, "")),
    }
}

/// A thread that opens something, with its number once it has begun. It counts as hanging until it is done, also if it
/// panics or was never started.
struct OpeningThread(Arc<AtomicI32>);

impl Drop for OpeningThread {
    fn drop(&mut self) {
        HANGING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Waits for what a thread opens; says why it did not come.
fn receive<T>(receiver: &Receiver<T>, thread: &AtomicI32) -> Result<T, &'static str> {
    let begun = Instant::now();
    let mut patience = OPEN_TIMEOUT;
    loop {
        match receiver.recv_timeout(patience.saturating_sub(begun.elapsed())) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Disconnected) => return Err("the agent's thread that opens it has failed"),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let doing = match thread.load(Ordering::Relaxed) {
            0 => Doing::Runs,
            thread => doing_of(&format!("/proc/self/task/{thread}/stat")),
        };
        match doing {
            Doing::Waits => {
                return Err("its file system or its process did not let it be opened in time");
            }
            _ if patience == BUSY_TIMEOUT => return Err("this machine is too busy to open it in time"),
            _ => patience = BUSY_TIMEOUT.min(patience + OPEN_TIMEOUT),
        }
    }
}

/// The ids of the processes that exist, greater than `after`, ascending, at most `limit`, and whether there are more.
pub(crate) fn list_processes(after: u32, limit: usize) -> Result<(Vec<u32>, bool), AgentError> {
    let entries =
        std::fs::read_dir("/proc").map_err(|error| refused("listing /proc", &error, "Mount proc at /proc."))?;
    let id = |entry: io::Result<std::fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse::<u32>().ok();
    let mut pids: Vec<u32> = entries.filter_map(id).filter(|pid| *pid > after).collect();
    pids.sort_unstable();
    let more = pids.len() > limit;
    pids.truncate(limit);
    Ok((pids, more))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_executable_mappings_at_exact_addresses_count() {
        let maps = b"00400000-00401000 r-xp 00000000 fe:00 1 /bin/a\n\
            7f0000000000-7f0000001000 r--p 00000000 fe:00 2 /lib/b\n\
            7f0000001000-7f0000003000 r-xp 00001000 fe:00 2 /lib/7f0000009000-7f000000a000 r-xp\n";
        let cases = [
            (0x40_0000, 0x40_1000, true),
            (0x40_0000, 0x40_2000, false),
            (0x7f00_0000_0000, 0x7f00_0000_1000, false),
            (0x7f00_0000_1000, 0x7f00_0000_3000, true),
            (0x7f00_0000_9000, 0x7f00_0000_a000, false),
            (0, 0, false),
        ];
        for (start, end, expected) in cases {
            assert_eq!(has_code_mapping(maps, start, end), expected, "{start:x}-{end:x}");
        }
    }

    #[test]
    fn ids_come_from_the_innermost_namespace() {
        let status = "Name:\tx\nUid:\t1\t2\t3\t4\nNSpid:\t4711\t12\t1\n";
        assert_eq!(last_number(status, "NSpid:"), Some(1));
        assert_eq!(last_number(status, "Uid:"), Some(4));
        assert_eq!(last_number(status, "Gid:"), None);
    }

    #[test]
    fn own_code_can_be_opened_and_own_data_cannot() {
        let pid = std::process::id();
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let binary = std::env::current_exe().unwrap();
        let range = |permissions: &str| {
            let line = maps.lines().find(|line| line.contains(permissions) && line.ends_with(binary.to_str().unwrap()));
            let (start, rest) = line.unwrap().split_once('-').unwrap();
            let hex = |text| u64::from_str_radix(text, 16).unwrap();
            (hex(start), hex(rest.split(' ').next().unwrap()))
        };
        let (start, end) = range(" rw-p ");
        assert!(open_process_file(pid, &ProcessFile::Mapped { start, end }).is_err());
        let (start, end) = range(" r-xp ");
        match open_process_file(pid, &ProcessFile::Mapped { start, end }) {
            Ok(file) => {
                let mut magic = [0; 4];
                File::from(file).read_exact(&mut magic).unwrap();
                assert_eq!(&magic, b"\x7fELF");
            }
            // Following map_files takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE.
            Err(error) => assert_eq!(error.kind, AgentErrorKind::Denied),
        }
    }

    #[test]
    fn a_perf_map_is_only_opened_if_it_is_a_regular_file_of_the_process() {
        let pid = std::process::id();
        let path = std::path::PathBuf::from(format!("/tmp/perf-{pid}.map"));
        let attempt = || open_process_file(pid, &ProcessFile::PerfMap).map_err(|error| error.kind);
        assert_eq!(attempt().err(), Some(AgentErrorKind::NotFound));
        std::fs::write(&path, "1000 10 name\n").unwrap();
        let opened = attempt().is_ok();
        std::fs::remove_file(&path).unwrap();
        assert!(opened);
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        let through_link = attempt();
        std::fs::remove_file(&path).unwrap();
        assert!(through_link.is_err());
        std::fs::create_dir(&path).unwrap();
        let folder = attempt();
        std::fs::remove_dir(&path).unwrap();
        assert!(folder.is_err());
    }

    /// A file system is blamed only where the opening waits for something.
    #[test]
    fn what_is_not_opened_in_time_is_told_by_what_it_does() {
        let open = |open: fn() -> io::Result<()>| open_within_time("opening it".to_owned(), open).map_err(|e| e.why);
        let late = || {
            let begun = Instant::now();
            while begun.elapsed() < OPEN_TIMEOUT + Duration::from_millis(500) {
                std::hint::spin_loop();
            }
            Ok(())
        };
        assert_eq!(open(late), Ok(()), "a machine that is busy for a while is waited for");
        let panics = || -> io::Result<()> { panic!("of the test") };
        assert!(open(panics).unwrap_err().contains("thread that opens it has failed"));
        let (end, other) = io::pipe().unwrap();
        let waits = move || (&end).read_exact(&mut [0]);
        let told = open_within_time("opening it".to_owned(), waits).unwrap_err();
        assert!(told.why.contains("file system"), "{told:?}");
        drop(other);
    }

    #[test]
    fn sockets_are_listed_by_their_kind() {
        for table in SocketTable::ALL {
            let Ok(file) = open_process_file(std::process::id(), &ProcessFile::Sockets { table }) else { continue };
            let mut head = [0; 16];
            File::from(file).read_exact(&mut head).unwrap();
            let head = String::from_utf8_lossy(&head).into_owned();
            assert!(head.trim_start().starts_with(if table == SocketTable::Unix { "Num" } else { "sl" }), "{head}");
        }
    }

    #[test]
    fn missing_processes_are_told_in_words() {
        let error = open_process_file(u32::MAX, &ProcessFile::Maps).unwrap_err();
        assert_eq!(error.kind, AgentErrorKind::NotFound);
        assert_eq!(error.why, "there is no such process (any more)");
    }

    #[test]
    fn processes_are_listed_by_pages() {
        let (first, more) = list_processes(0, 1).unwrap();
        assert_eq!((first.len(), more), (1, true));
        let (rest, _more) = list_processes(first[0], 1 << 20).unwrap();
        assert!(rest.is_sorted() && rest.contains(&std::process::id()) && rest[0] > first[0]);
    }
}
