//! Records of system calls, signals and ends of threads → rows, with the files of descriptors.
//!
//! What a descriptor is follows from the calls themselves: opening, duplicating and closing. What a process had open
//! before is asked of the agent once, when the process is first seen. So a file's path is the one that was opened,
//! links in it included; where a call was not recorded, because it was not asked for or got lost, a descriptor may be
//! shown with the file that it was before.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    io::Read as _,
};

use bathyscope_bpf::syscalls::{Record, What};
use bathyscope_capture::{Column, ColumnType, Display, StreamKind, StreamSchema, SyscallSpec};
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{Abi, Call, Style, decode, definition, error_of},
};
use bathyscope_protocol::{MAX_FILE_LINKS, ProcessFile, StreamLayout};

use super::{
    AgentLink,
    script_rows::NewRow,
    syscall_kinds::{self, Ends, Words, kind},
};

/// The most processes whose files are kept.
const MAX_PROCESSES: usize = 4096;
/// The most files of a process that are kept.
const MAX_FILES: usize = 8192;
/// The longest path that is kept.
const MAX_PATH_BYTES: usize = 4096;
/// The most bytes of the agent's list of links.
const MAX_LIST_BYTES: u64 = 4 << 20;
/// The working directory's number: `AT_FDCWD`.
const WORKING_DIRECTORY: i32 = -100;
/// `O_CLOEXEC`, which other calls have with the same value.
const CLOSE_ON_EXECUTE: u64 = 0o2_000_000;

/// The columns of a stream of system calls.
pub(crate) fn schema() -> StreamSchema {
    let column = |name: &str, ty, display| Column { name: name.to_owned(), ty, display };
    let own = [
        column("call", ColumnType::Text, Display::Text),
        column("args", ColumnType::Text, Display::Text),
        column("result", ColumnType::I64, Display::Decimal),
        column("error", ColumnType::Text, Display::Text),
        column("duration_ns", ColumnType::U64, Display::DurationNs),
        column("note", ColumnType::Text, Display::Text),
        // What the row is: see `syscall_kinds`.
        column("kind", ColumnType::Text, Display::Text),
        // Whose call it is: `64`, `32` of 32-bit programs, `x32`; nothing of what is no call, and where the kernel does not
        // tell.
        column("abi", ColumnType::Text, Display::Text),
    ];
    StreamSchema::new("syscalls", StreamKind::Events, own)
}

/// A file that a process has open.
#[derive(Clone, Debug)]
struct Open {
    path: String,
    closes_on_execute: bool,
}

type Files = HashMap<i32, Open>;

/// Makes rows of records.
pub(crate) struct SyscallRows {
    strings: usize,
    /// Whether numbers tell calls of 32-bit programs from others.
    tells_abi: bool,
    files: Option<RefCell<HashMap<u32, Files>>>,
    /// Processes in the order in which they were seen.
    seen: RefCell<VecDeque<u32>>,
    ends: RefCell<Ends>,
    link: AgentLink,
}

impl SyscallRows {
    pub(crate) fn new(spec: &SyscallSpec, streams: &[StreamLayout], link: AgentLink) -> Self {
        let files = spec.fd_paths.then(RefCell::default);
        Self {
            strings: usize::from(spec.string_bytes),
            tells_abi: streams.contains(&StreamLayout::Syscalls { tells_abi: true }),
            files,
            seen: RefCell::default(),
            ends: RefCell::default(),
            link,
        }
    }

    /// Asks for the files of a process that is to be recorded, as long as it is certainly there.
    pub(crate) fn expect(&self, pid: u32) {
        self.meet(pid);
    }

    /// The rows of a record; none if it is no record. Its end comes with them: rows come in the order of ends.
    pub(crate) fn rows(&self, bytes: &[u8]) -> Option<(Vec<NewRow>, u64)> {
        let record = Record::read(bytes)?;
        let rows = match record.what {
            What::Signal => vec![syscall_kinds::signal(&record)],
            What::End(end) => {
                if end.is_last {
                    self.gone(record.pid);
                }
                self.ends.borrow_mut().rows(&record, end)
            }
            What::Call | What::Unfinished | What::Inside => vec![self.call(&record)],
        };
        Some((rows, record.start_ns.saturating_add(record.duration_ns)))
    }

    /// What is left when everything was read.
    pub(crate) fn finish(&self) -> Vec<NewRow> {
        self.ends.borrow_mut().finish()
    }

    fn call(&self, record: &Record<'_>) -> NewRow {
        self.meet(record.pid);
        let call = record.call();
        let of_process = |fd: i32| {
            let all = self.files.as_ref()?.borrow();
            all.get(&record.pid)?.get(&fd).map(|open| open.path.clone())
        };
        // A result that is a descriptor is shown with its file, so the file must be known before.
        self.learn(record, &call);
        let style = Style { strings: self.strings, file_of: self.files.is_some().then_some(&of_process) };
        let mut decoded = decode(Arch::HOST, &call, &style);
        if !record.has_entry {
            decoded.arguments = "?".to_owned();
        }
        self.forget(record, &call);
        let kind = match record.what {
            What::Unfinished => kind::UNFINISHED,
            What::Inside => kind::INSIDE,
            What::Call | What::Signal | What::End(_) => kind::CALL,
        };
        let error = record.result.and_then(error_of).unwrap_or_default();
        let abi = if self.tells_abi { Abi::of(Arch::HOST, call.number).word() } else { "" };
        let words = Words { call: &decoded.name, arguments: &decoded.arguments, error, note: &decoded.note, abi };
        syscall_kinds::row(record, kind, record.result.unwrap_or(0), &words)
    }

    /// Takes note of a process, and asks what it has open if it is new.
    fn meet(&self, pid: u32) {
        let Some(files) = &self.files else { return };
        if files.borrow().contains_key(&pid) {
            return;
        }
        let open = self.link.call_blocking(move |client| client.open_process_file(pid, ProcessFile::Links));
        let mut list = Vec::new();
        if let Ok(file) = open
            && let Err(error) = std::fs::File::from(file).take(MAX_LIST_BYTES).read_to_end(&mut list)
        {
            tracing::debug!(pid, %error, "the files of a process cannot be read");
        }
        self.keep(pid, links(&list));
    }

    fn keep(&self, pid: u32, of_process: Files) {
        let Some(files) = &self.files else { return };
        files.borrow_mut().insert(pid, of_process);
        let mut seen = self.seen.borrow_mut();
        seen.push_back(pid);
        if seen.len() > MAX_PROCESSES
            && let Some(oldest) = seen.pop_front()
        {
            files.borrow_mut().remove(&oldest);
        }
    }

    /// What a call that has succeeded opened.
    fn learn(&self, record: &Record<'_>, call: &Call<'_>) {
        let Some(result @ 0..) = record.result.filter(|_| record.has_entry) else { return };
        let name = name_of(call);
        let argument = |at: usize| call.arguments.get(at).copied().unwrap_or(0);
        match name {
            "clone" | "clone3" | "fork" | "vfork" => return self.inherit(record.pid, result),
            "execve" | "execveat" => return self.executed(record.pid),
            _ => {}
        }
        let Some(files) = &self.files else { return };
        let mut all = files.borrow_mut();
        let Some(own) = all.get_mut(&record.pid) else { return };
        let add = |own: &mut Files, fd: i64, path: String, flags: u64| {
            if let Ok(fd) = i32::try_from(fd)
                && own.len() < MAX_FILES
                && path.len() <= MAX_PATH_BYTES
            {
                own.insert(fd, Open { path, closes_on_execute: flags & CLOSE_ON_EXECUTE != 0 });
            }
        };
        match opened(name, call) {
            Opened::Nothing => {}
            Opened::Path { folder, argument: at, flags } => {
                if let Some(path) = path_of(call, at) {
                    let path = join(own, folder, &path);
                    let fd = if name == "chdir" { i64::from(WORKING_DIRECTORY) } else { result };
                    add(own, fd, path, flags);
                }
            }
            Opened::Same { flags } => {
                if let Some(open) = i32::try_from(argument(0)).ok().and_then(|fd| own.get(&fd)).cloned() {
                    let fd = if name == "fchdir" { i64::from(WORKING_DIRECTORY) } else { result };
                    add(own, fd, open.path, flags);
                } else if let Ok(fd) = i32::try_from(result) {
                    own.remove(&fd);
                }
            }
            Opened::Thing { name, flags } => add(own, result, name.to_owned(), flags),
            Opened::Pair { name, flags } => {
                let pair = call.pieces.iter().find(|piece| piece.exit).and_then(|piece| piece.bytes);
                for fd in pair.unwrap_or_default().chunks_exact(4).take(2) {
                    let fd = fd.try_into().map_or(-1, i32::from_le_bytes);
                    add(own, i64::from(fd), name.to_owned(), flags);
                }
            }
        }
    }

    /// A new process has what its parent has.
    fn inherit(&self, parent: u32, child: i64) {
        let Some(files) = &self.files else { return };
        let Some(child) = u32::try_from(child).ok().filter(|child| *child > 0) else { return };
        let copy = {
            let all = files.borrow();
            if all.contains_key(&child) { None } else { all.get(&parent).cloned() }
        };
        if let Some(copy) = copy {
            self.keep(child, copy);
        }
    }

    fn executed(&self, pid: u32) {
        if let Some(files) = &self.files
            && let Some(own) = files.borrow_mut().get_mut(&pid)
        {
            own.retain(|_, open| !open.closes_on_execute);
        }
    }

    /// What a call has closed, after it was written.
    fn forget(&self, record: &Record<'_>, call: &Call<'_>) {
        let name = name_of(call);
        let Some(files) = &self.files else { return };
        match name {
            "close" if record.result == Some(0) => {
                let fd = call.arguments.first().and_then(|fd| i32::try_from(*fd).ok());
                if let (Some(fd), Some(own)) = (fd, files.borrow_mut().get_mut(&record.pid)) {
                    own.remove(&fd);
                }
            }
            "exit_group" => self.gone(record.pid),
            _ => {}
        }
    }

    fn gone(&self, gone: u32) {
        if let Some(files) = &self.files
            && files.borrow_mut().remove(&gone).is_some()
        {
            self.seen.borrow_mut().retain(|pid| *pid != gone);
        }
    }
}

/// A call's name; nothing of one that is not known.
fn name_of(call: &Call<'_>) -> &'static str {
    definition(Arch::HOST, call.number).map_or("", |definition| definition.name)
}

/// What a call opens.
enum Opened {
    Nothing,
    /// A path, below the folder of an argument or else the working directory.
    Path {
        folder: Option<u64>,
        argument: u8,
        flags: u64,
    },
    /// What its first argument is.
    Same {
        flags: u64,
    },
    /// Something without a path.
    Thing {
        name: &'static str,
        flags: u64,
    },
    /// Two of them.
    Pair {
        name: &'static str,
        flags: u64,
    },
}

fn opened(name: &str, call: &Call<'_>) -> Opened {
    let argument = |at: usize| call.arguments.get(at).copied().unwrap_or(0);
    match name {
        "open" => Opened::Path { folder: None, argument: 0, flags: argument(1) },
        "creat" | "chdir" => Opened::Path { folder: None, argument: 0, flags: 0 },
        "openat" => Opened::Path { folder: Some(argument(0)), argument: 1, flags: argument(2) },
        "openat2" => Opened::Path { folder: Some(argument(0)), argument: 1, flags: 0 },
        "dup" | "dup2" | "fchdir" => Opened::Same { flags: 0 },
        "dup3" => Opened::Same { flags: argument(2) },
        // F_DUPFD and F_DUPFD_CLOEXEC.
        "fcntl" | "fcntl64" if argument(1) == 0 => Opened::Same { flags: 0 },
        "fcntl" | "fcntl64" if argument(1) == 1030 => Opened::Same { flags: CLOSE_ON_EXECUTE },
        "socket" => Opened::Thing { name: "socket", flags: argument(1) },
        "accept" => Opened::Thing { name: "socket", flags: 0 },
        "accept4" => Opened::Thing { name: "socket", flags: argument(3) },
        "pipe" => Opened::Pair { name: "pipe", flags: 0 },
        "pipe2" => Opened::Pair { name: "pipe", flags: argument(1) },
        "socketpair" => Opened::Pair { name: "socket", flags: argument(1) },
        "epoll_create" => Opened::Thing { name: "anon_inode:[eventpoll]", flags: 0 },
        "epoll_create1" => Opened::Thing { name: "anon_inode:[eventpoll]", flags: argument(0) },
        "eventfd" => Opened::Thing { name: "anon_inode:[eventfd]", flags: 0 },
        "eventfd2" => Opened::Thing { name: "anon_inode:[eventfd]", flags: argument(1) },
        "timerfd_create" => Opened::Thing { name: "anon_inode:[timerfd]", flags: argument(1) },
        "signalfd" | "signalfd4" => Opened::Thing { name: "anon_inode:[signalfd]", flags: argument(3) },
        "inotify_init" | "inotify_init1" => Opened::Thing { name: "anon_inode:inotify", flags: argument(0) },
        "pidfd_open" => Opened::Thing { name: "anon_inode:[pidfd]", flags: CLOSE_ON_EXECUTE },
        "perf_event_open" => Opened::Thing { name: "anon_inode:[perf_event]", flags: 0 },
        "io_uring_setup" => Opened::Thing { name: "anon_inode:[io_uring]", flags: CLOSE_ON_EXECUTE },
        "memfd_create" => Opened::Thing { name: "/memfd:", flags: 0 },
        _ => Opened::Nothing,
    }
}

fn path_of(call: &Call<'_>, argument: u8) -> Option<String> {
    let mut pieces = call.pieces.iter().filter(|piece| piece.argument == argument);
    let bytes = pieces.find_map(|piece| piece.bytes)?;
    let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
    Some(String::from_utf8_lossy(text).into_owned())
}

/// A path as a call gave it, below what it is relative to, without `.` and `..`.
#[expect(clippy::cast_possible_truncation, reason = "the kernel takes the low half of descriptors")]
fn join(own: &Files, folder: Option<u64>, path: &str) -> String {
    let base = folder.map_or(WORKING_DIRECTORY, |folder| folder as i32);
    let start = if path.starts_with('/') { "" } else { own.get(&base).map_or("", |open| open.path.as_str()) };
    if start.is_empty() && !path.starts_with('/') {
        return path.to_owned();
    }
    let mut parts: Vec<&str> = Vec::new();
    for part in start.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The agent's list of links.
fn links(mut list: &[u8]) -> Files {
    let mut files = Files::new();
    while let Some((head, rest)) = list.split_at_checked(6) {
        let [a, b, c, d, low, high] = *head else { break };
        let Some((link, rest)) = rest.split_at_checked(usize::from(u16::from_le_bytes([low, high]))) else { break };
        list = rest;
        if files.len() > MAX_FILE_LINKS {
            break;
        }
        let path = String::from_utf8_lossy(link).into_owned();
        files.insert(i32::from_le_bytes([a, b, c, d]), Open { path, closes_on_execute: false });
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(i32, &str)]) -> Files {
        let open = |path: &str| Open { path: path.to_owned(), closes_on_execute: false };
        list.iter().map(|(fd, path)| (*fd, open(path))).collect()
    }

    #[test]
    fn paths_are_joined_to_what_they_are_relative_to() {
        let own = files(&[(-100, "/home/me"), (5, "/srv")]);
        let here = Some(-100_i64 as u64);
        let cases = [
            (here, "a/b", "/home/me/a/b"),
            (here, "../x/./y", "/home/x/y"),
            (Some(5), "f", "/srv/f"),
            (None, "/etc//passwd", "/etc/passwd"),
            (Some(9), "f", "f"),
            (here, "../../../..", "/"),
        ];
        for (folder, path, expected) in cases {
            assert_eq!(join(&own, folder, path), expected, "{path}");
        }
    }

    #[test]
    fn a_list_of_links_is_read_as_far_as_it_is_whole() {
        let mut list = Vec::new();
        for (fd, path) in [(-100_i32, "/"), (3, "/dev/null")] {
            list.extend(fd.to_le_bytes());
            list.extend((path.len() as u16).to_le_bytes());
            list.extend(path.as_bytes());
        }
        let read = |list: &[u8]| {
            let mut found: Vec<(i32, String)> = links(list).into_iter().map(|(fd, open)| (fd, open.path)).collect();
            found.sort();
            found
        };
        assert_eq!(read(&list), [(-100, "/".to_owned()), (3, "/dev/null".to_owned())]);
        assert_eq!(read(&list[..list.len() - 1]).len(), 1);
        assert!(read(&[]).is_empty() && read(&[1, 2, 3]).is_empty());
    }
}
