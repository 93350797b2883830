//! What descriptors of processes are, for rows of system calls.
//!
//! What a descriptor is follows from the calls themselves: opening, duplicating and closing. What a process had open
//! before is asked of the agent once, when the process is first seen. So a file's path is the one that was opened,
//! links in it included; where a call was not recorded, because it was not asked for or got lost, a descriptor may be
//! shown with the file that it was before. A file that a process which is not recorded removes or renames keeps its path. Sockets and pipes are known by the numbers of their inodes, which are recorded
//! with the calls that open them.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    io::Read as _,
};

use bathyscope_catalog::{
    constants::Arch,
    syscalls::{Beside, Call, FileText, Moment, definition},
};
use bathyscope_decode::calls::CallRecord;
use bathyscope_link::{process_files, processes::StatLine};
use bathyscope_protocol::ProcessFile;

use super::facts::{Named, Socket, places, socket_address, unix_path};
use crate::AgentLink;

/// The most processes whose files are kept.
const MAX_PROCESSES: usize = 4096;
/// The most files of a process that are kept.
const MAX_FILES: usize = 8192;
/// The longest path that is kept.
const MAX_PATH_BYTES: usize = 4096;
/// The most bytes of the agent's list of links.
const MAX_LIST_BYTES: u64 = 4 << 20;
/// The most bytes of `/proc/PID/stat`.
const MAX_STAT_BYTES: u64 = 4096;
/// What times are counted in there.
const TICK_NS: u64 = 10_000_000;
/// The working directory's number: `AT_FDCWD`.
const WORKING_DIRECTORY: i32 = -100;
/// `O_CLOEXEC`, which other calls have with the same value.
const CLOSE_ON_EXECUTE: u64 = 0o2_000_000;

/// A file that a process has open.
#[derive(Clone, Debug)]
struct OpenDescriptor {
    path: String,
    closes_on_execute: bool,
    socket: Option<Socket>,
    /// The process that it stands for.
    process: Option<u64>,
}

/// What is shown of descriptors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shows {
    pub(super) paths: bool,
    pub(super) sockets: bool,
    pub(super) devices: bool,
    pub(super) processes: bool,
}

type Files = HashMap<i32, OpenDescriptor>;
/// Descriptors with what they were before.
type Replaced = Vec<(i32, Option<OpenDescriptor>)>;

/// What the descriptors of all processes are.
pub(super) struct ProcessFiles {
    files: RefCell<HashMap<u32, Files>>,
    /// Processes in the order in which they were seen.
    seen: RefCell<VecDeque<u32>>,
    /// What the last call that was learnt has replaced, and whose descriptors these are.
    replaced: RefCell<(u32, Replaced)>,
    /// Paths of devices with their numbers; none of what is no device.
    devices: RefCell<HashMap<String, Option<String>>>,
    link: AgentLink,
    /// When this began, in nanoseconds since the host did.
    began_ns: u64,
}

impl ProcessFiles {
    pub(super) fn new(link: AgentLink) -> Self {
        Self {
            files: RefCell::default(),
            seen: RefCell::default(),
            replaced: RefCell::default(),
            devices: RefCell::default(),
            link,
            began_ns: since_boot_ns(),
        }
    }

    /// The path of a descriptor.
    pub(super) fn path(&self, pid: u32, fd: i32) -> Option<String> {
        self.files.borrow().get(&pid)?.get(&fd).map(|open| open.path.clone())
    }

    /// What a descriptor is, as far as that is shown: with the ends of a connection, the numbers of a device, the process that
    /// it stands for; before the call that was learnt last, or after it.
    pub(super) fn shown(&self, pid: u32, fd: i32, moment: Moment, shows: Shows) -> Option<FileText> {
        let replaced = self.replaced.borrow();
        let before = replaced.1.iter().find(|(replaced_fd, _)| *replaced_fd == fd);
        let all = self.files.borrow();
        let open = match before {
            Some((_, before)) if moment == Moment::Entry && replaced.0 == pid => before.as_ref()?,
            _ => all.get(&pid)?.get(&fd)?,
        };
        let inode = open.path.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')).unwrap_or("?");
        let socket = || open.socket.as_ref().filter(|_| shows.sockets)?.text(inode);
        let device = || if shows.devices { self.device(&open.path) } else { None };
        let process = || open.process.filter(|_| shows.processes).map(|pid| format!("pid:{pid}"));
        let path = || shows.paths.then(|| FileText::Path(open.path.clone()));
        let plain = socket().or_else(device).or_else(process);
        plain.map(FileText::Plain).or_else(path)
    }

    /// A device with its numbers, as this host has it under that path.
    fn device(&self, path: &str) -> Option<String> {
        if !path.starts_with("/dev/") {
            return None;
        }
        let mut devices = self.devices.borrow_mut();
        if let Some(known) = devices.get(path) {
            return known.clone();
        }
        let device = rustix::fs::stat(path).ok().and_then(|found| {
            let kind = match rustix::fs::FileType::from_raw_mode(found.st_mode) {
                rustix::fs::FileType::CharacterDevice => "char",
                rustix::fs::FileType::BlockDevice => "block",
                _ => return None,
            };
            let (major, minor) = (rustix::fs::major(found.st_rdev), rustix::fs::minor(found.st_rdev));
            Some(format!("{path}<{kind} {major}:{minor}>"))
        });
        if devices.len() >= MAX_FILES {
            devices.clear();
        }
        devices.insert(path.to_owned(), device.clone());
        device
    }

    /// The files that a call has to do with: its descriptors, its paths, and what it has opened.
    #[expect(clippy::cast_possible_truncation, reason = "the kernel takes the low half of descriptors")]
    pub(super) fn of_call(&self, record: &CallRecord<'_>, call: &Call<'_>) -> Vec<Named> {
        let all = self.files.borrow();
        let empty = Files::new();
        let own = all.get(&record.pid).unwrap_or(&empty);
        let named = |fd: i32| {
            let open = own.get(&fd);
            let path = open.map(|open| open.path.clone()).unwrap_or_default();
            Named { fd: Some(fd), path, socket: open.and_then(|open| open.socket.clone()) }
        };
        let (fds, paths) = places(call);
        let of_arguments = fds.into_iter().filter_map(|place| call.arguments.get(place)).map(|fd| named(*fd as i32));
        let mut found: Vec<Named> = of_arguments.collect();
        let of_path = |(argument, folder): (u8, Option<u64>)| {
            let path = join(own, folder, &path_of(call, argument)?);
            Some(Named { fd: None, path, socket: None })
        };
        found.extend(paths.into_iter().filter_map(of_path));
        if super::facts::gives_descriptor(call)
            && let Some(fd) = record.result.and_then(|fd| i32::try_from(fd).ok()).filter(|fd| *fd >= 0)
        {
            found.push(named(fd));
        }
        found
    }

    pub(super) fn working_directory(&self, pid: u32) -> Option<String> {
        self.path(pid, WORKING_DIRECTORY)
    }

    /// Takes note of a process, and asks what it has open if it is new.
    pub(super) fn note_process(&self, pid: u32) {
        let files = &self.files;
        if files.borrow().contains_key(&pid) {
            return;
        }
        // A new child may be heard of before the call that made it has returned, and before it is asked it may have opened and
        // closed what its own calls tell. What its parent has is what it began with.
        if let Some(parent) = self.parent_of(pid).filter(|parent| files.borrow().contains_key(parent)) {
            return self.inherit(parent, i64::from(pid));
        }
        self.ask(pid);
    }

    /// Asks what a process has open.
    pub(super) fn ask(&self, pid: u32) {
        let open = self.link.call_blocking(move |client| client.open_process_file(pid, ProcessFile::Links));
        let mut list = Vec::new();
        if let Ok(file) = open
            && let Err(error) = std::fs::File::from(file).take(MAX_LIST_BYTES).read_to_end(&mut list)
        {
            tracing::debug!(pid, %error, "the files of a process cannot be read");
        }
        self.keep(pid, links(&list));
    }

    /// What made a process, if that was while it is recorded.
    fn parent_of(&self, pid: u32) -> Option<u32> {
        let open = self.link.call_blocking(move |client| client.open_process_file(pid, ProcessFile::Stat));
        let mut text = Vec::new();
        std::fs::File::from(open.ok()?).take(MAX_STAT_BYTES).read_to_end(&mut text).ok()?;
        let (parent, began_ns) = parent_in(&text)?;
        (began_ns.saturating_add(TICK_NS) > self.began_ns).then_some(parent)
    }

    fn keep(&self, pid: u32, of_process: Files) {
        let files = &self.files;
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
    pub(super) fn learn(&self, record: &CallRecord<'_>, call: &Call<'_>) {
        let name = name_of(call);
        let mut replaced = Vec::new();
        self.learn_opened(record, call, name, &mut replaced);
        self.replaced.replace((record.pid, replaced));
        if matches!(name, "accept" | "accept4") {
            self.meet_peer(record, call);
        }
    }

    fn learn_opened(&self, record: &CallRecord<'_>, call: &Call<'_>, name: &str, replaced: &mut Replaced) {
        let Some(result @ 0..) = record.result.filter(|_| record.has_entry) else { return };
        let argument = |at: usize| call.arguments.get(at).copied().unwrap_or(0);
        match name {
            "clone" | "clone3" | "fork" | "vfork" => return self.inherit(record.pid, result),
            "execve" | "execveat" => return self.executed(record.pid),
            _ => {}
        }
        let files = &self.files;
        let mut all = files.borrow_mut();
        let Some(own) = all.get_mut(&record.pid) else { return };
        let mut add = |own: &mut Files, fd: i64, path: String, flags: u64, mut socket: Option<Socket>| {
            if let Some(socket) = &mut socket {
                socket.learn(call);
            }
            if let Ok(fd) = i32::try_from(fd)
                && own.len() < MAX_FILES
                && path.len() <= MAX_PATH_BYTES
            {
                let process = (name == "pidfd_open").then(|| argument(0));
                let closes_on_execute = flags & CLOSE_ON_EXECUTE != 0;
                let before = own.insert(fd, OpenDescriptor { path, closes_on_execute, socket, process });
                replaced.push((fd, before));
            }
        };
        match opened(name, call) {
            // F_SETFD.
            Opened::Nothing if matches!(name, "fcntl" | "fcntl64") && argument(1) == 2 => {
                let fd = i32::try_from(argument(0)).ok();
                if let Some(open) = fd.and_then(|fd| own.get_mut(&fd)) {
                    open.closes_on_execute = argument(2) & 1 != 0;
                }
            }
            Opened::Nothing => {}
            Opened::Path { folder, argument: at, flags } => {
                if let Some(path) = path_of(call, at) {
                    let path = join(own, folder, &path);
                    let fd = if name == "chdir" { i64::from(WORKING_DIRECTORY) } else { result };
                    add(own, fd, path, flags, None);
                }
            }
            Opened::Same { flags } => {
                if let Some(open) = i32::try_from(argument(0)).ok().and_then(|fd| own.get(&fd)).cloned() {
                    let fd = if name == "fchdir" { i64::from(WORKING_DIRECTORY) } else { result };
                    add(own, fd, open.path, flags, open.socket);
                    if let Some(copy) = i32::try_from(fd).ok().and_then(|fd| own.get_mut(&fd)) {
                        copy.process = open.process;
                    }
                } else if let Ok(fd) = i32::try_from(result) {
                    let before = own.remove(&fd);
                    replaced.push((fd, before));
                }
            }
            Opened::Thing { name: "/memfd:", flags } => {
                let name = path_of(call, 0).unwrap_or_default();
                // MFD_CLOEXEC.
                let flags = if flags & 1 == 0 { 0 } else { CLOSE_ON_EXECUTE };
                add(own, result, format!("/memfd:{name} (deleted)"), flags, None);
            }
            Opened::Thing { name, flags } => add(own, result, numbered(call, name, 0), flags, None),
            Opened::Socket { family, kind } => {
                let socket = Socket { family, kind, protocol: argument(2) & 0xffff_ffff, ..Socket::default() };
                add(own, result, numbered(call, "socket", 0), kind, Some(socket));
            }
            Opened::Accepted { flags } => {
                let listening = i32::try_from(argument(0)).ok().and_then(|fd| own.get(&fd)?.socket.clone());
                let remote = address_of(call, 1, true);
                let socket = listening.map(|socket| Socket { remote, accepted: true, peer: None, ..socket });
                add(own, result, numbered(call, "socket", 0), flags, socket);
            }
            Opened::Pair { name, flags } => {
                let pair = call.pieces.iter().find(|piece| piece.exit).and_then(|piece| piece.bytes);
                let socket =
                    (name == "socket").then(|| Socket { family: argument(0), kind: flags, ..Socket::default() });
                for (part, fd) in (0_u8..).zip(pair.unwrap_or_default().chunks_exact(4).take(2)) {
                    let fd = fd.try_into().map_or(-1, i32::from_le_bytes);
                    let peer = inode_of(call, 1 - part);
                    let socket = socket.clone().map(|socket| Socket { peer, ..socket });
                    add(own, i64::from(fd), numbered(call, name, part), flags, socket);
                }
            }
        }
    }

    /// What a call tells of the ends of a connection, after it was written: it was given the socket as it was before. One that
    /// is being made is not there yet, and will be.
    fn learn_ends(&self, record: &CallRecord<'_>, call: &Call<'_>, name: &str) {
        const IN_PROGRESS: i64 = -115;
        let done = record.result == Some(0) || name == "connect" && record.result == Some(IN_PROGRESS);
        let (local, exit) = match name {
            "bind" => (true, false),
            "getsockname" => (true, true),
            "connect" => (false, false),
            "getpeername" => (false, true),
            "listen" => (true, false),
            _ => return,
        };
        let fd = call.arguments.first().and_then(|fd| i32::try_from(*fd).ok());
        let mut all = self.files.borrow_mut();
        let open = fd.filter(|_| done).and_then(|fd| all.get_mut(&record.pid)?.get_mut(&fd));
        let Some(OpenDescriptor { socket: Some(socket), .. }) = open else { return };
        if let Some(address) = address_of(call, 1, exit).filter(|_| name != "listen") {
            *if local { &mut socket.local } else { &mut socket.remote } = Some(address);
        }
        if name == "bind" {
            let mut pieces = call.pieces.iter().filter(|piece| piece.argument == 1 && !piece.exit);
            socket.path = pieces.find_map(|piece| piece.bytes).and_then(unix_path);
        }
        socket.learn(call);
    }

    /// The other end of a Unix socket that was accepted knows from now on whom it talks to.
    fn meet_peer(&self, record: &CallRecord<'_>, call: &Call<'_>) {
        let mut all = self.files.borrow_mut();
        let fd = record.result.and_then(|fd| i32::try_from(fd).ok());
        let accepted = fd.and_then(|fd| all.get(&record.pid)?.get(&fd)?.socket.as_ref()?.peer);
        let (Some(peer), Some(inode)) = (accepted, inode_of(call, 0)) else { return };
        let name = format!("socket:[{peer}]");
        let ends = all.values_mut().flat_map(HashMap::values_mut).filter(|open| open.path == name);
        ends.filter_map(|open| open.socket.as_mut()).for_each(|socket| socket.peer = Some(inode));
    }

    /// A new process has what its parent has.
    fn inherit(&self, parent: u32, child: i64) {
        let files = &self.files;
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
        if let Some(own) = self.files.borrow_mut().get_mut(&pid) {
            own.retain(|_, open| !open.closes_on_execute);
        }
    }

    /// What a call has closed, after it was written.
    pub(super) fn forget(&self, record: &CallRecord<'_>, call: &Call<'_>) {
        let name = name_of(call);
        if record.has_entry {
            self.learn_ends(record, call, name);
        }
        let files = &self.files;
        match name {
            "unlink" | "unlinkat" | "rename" | "renameat" | "renameat2" if record.result == Some(0) => {
                self.moved(record.pid, call);
            }
            "close" if record.result == Some(0) => {
                let fd = call.arguments.first().and_then(|fd| i32::try_from(*fd).ok());
                if let (Some(fd), Some(own)) = (fd, files.borrow_mut().get_mut(&record.pid)) {
                    own.remove(&fd);
                }
            }
            "close_range" if record.result == Some(0) => self.forget_range(record.pid, call),
            "exit_group" => self.gone(record.pid),
            _ => {}
        }
    }

    /// What was removed is told as such from now on, and what has another name by that.
    fn moved(&self, pid: u32, call: &Call<'_>) {
        let mut all = self.files.borrow_mut();
        let empty = Files::new();
        let own = all.get(&pid).unwrap_or(&empty);
        let (_, paths) = places(call);
        let paths: Vec<Option<String>> =
            paths.into_iter().map(|(at, folder)| Some(join(own, folder, &path_of(call, at)?))).collect();
        let Some(Some(from)) = paths.first() else { return };
        let to = paths.get(1).cloned().flatten();
        for open in all.values_mut().flat_map(HashMap::values_mut) {
            if Some(&open.path) == to.as_ref() || open.path == *from && to.is_none() {
                open.path.push_str(" (deleted)");
            } else if let Some(to) = to.as_ref().filter(|_| open.path == *from) {
                open.path.clone_from(to);
            }
        }
    }

    /// What a call has closed, or has marked to be closed when a program is executed.
    fn forget_range(&self, pid: u32, call: &Call<'_>) {
        /// `CLOSE_RANGE_CLOEXEC`.
        const ON_EXECUTE: u64 = 4;
        let argument = |at: usize| call.arguments.get(at).map_or(0, |value| value & 0xffff_ffff);
        let range = argument(0)..=argument(1);
        let is_in = |fd: &i32| u64::try_from(*fd).is_ok_and(|fd| range.contains(&fd));
        let mut all = self.files.borrow_mut();
        let Some(own) = all.get_mut(&pid) else { return };
        if argument(2) & ON_EXECUTE == 0 {
            own.retain(|fd, _| !is_in(fd));
        } else {
            own.iter_mut().filter(|(fd, _)| is_in(fd)).for_each(|(_, open)| open.closes_on_execute = true);
        }
    }

    pub(super) fn gone(&self, gone: u32) {
        if self.files.borrow_mut().remove(&gone).is_some() {
            self.seen.borrow_mut().retain(|pid| *pid != gone);
        }
    }
}

/// The parent in the text of `/proc/PID/stat`, and when the process began, in nanoseconds since this host did: the name in
/// parentheses may have any signs.
fn parent_in(stat: &[u8]) -> Option<(u32, u64)> {
    let line = StatLine::read(stat)?;
    Some((line.text(4)?.parse().ok()?, line.number(22)?.saturating_mul(TICK_NS)))
}

fn since_boot_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    part(now.tv_sec).saturating_mul(1_000_000_000).saturating_add(part(now.tv_nsec))
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
    /// A socket.
    Socket {
        family: u64,
        kind: u64,
    },
    /// A connection that was accepted.
    Accepted {
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
        "socket" => Opened::Socket { family: argument(0), kind: argument(1) },
        "accept" => Opened::Accepted { flags: 0 },
        "accept4" => Opened::Accepted { flags: argument(3) },
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
        "memfd_create" => Opened::Thing { name: "/memfd:", flags: argument(1) },
        _ => Opened::Nothing,
    }
}

/// The inode of what a call has opened.
fn inode_of(call: &Call<'_>, part: u8) -> Option<u64> {
    let of = |piece: &&bathyscope_catalog::syscalls::Piece<'_>| (piece.argument, piece.part) == (Beside::INODE, part);
    let inode = call.pieces.iter().find(of).and_then(|piece| piece.bytes?.try_into().ok()).map(u64::from_le_bytes);
    inode.filter(|inode| *inode > 0)
}

/// What has no path but a number, as `/proc` tells of it: `socket:[4711]`.
fn numbered(call: &Call<'_>, name: &str, part: u8) -> String {
    inode_of(call, part).map_or_else(|| name.to_owned(), |inode| format!("{name}:[{inode}]"))
}

/// The address that an argument points to.
fn address_of(call: &Call<'_>, argument: u8, exit: bool) -> Option<std::net::SocketAddr> {
    let mut pieces = call.pieces.iter().filter(|piece| piece.argument == argument && piece.exit == exit);
    socket_address(pieces.find_map(|piece| piece.bytes)?)
}

/// The path that an argument points to.
pub(super) fn path_of(call: &Call<'_>, argument: u8) -> Option<String> {
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
fn links(list: &[u8]) -> Files {
    let open = |(fd, link): (i32, &[u8])| {
        let path = String::from_utf8_lossy(link).into_owned();
        (fd, OpenDescriptor { path, closes_on_execute: false, socket: None, process: None })
    };
    process_files::links(list).map(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(i32, &str)]) -> Files {
        let open = |path: &str| OpenDescriptor {
            path: path.to_owned(),
            closes_on_execute: false,
            socket: None,
            process: None,
        };
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
    fn a_parent_is_read_behind_any_name() {
        let stat = b"7 (a) b) 3 S) S 4711 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 250 9 9";
        assert_eq!(parent_in(stat), Some((4711, 2_500_000_000)));
        assert_eq!(parent_in(b"7 (sh) S 4711 7"), None);
        assert_eq!((parent_in(b""), parent_in(b"7 (sh"), parent_in(b"7 (sh) S")), (None, None, None));
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
