//! What is known of a call, for filters that the kernel cannot decide.

use std::{
    collections::BTreeSet,
    net::{IpAddr, SocketAddr},
    sync::LazyLock,
};

use bathyscope_capture::Target;
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{
        ArgumentKind, Beside, Call, Decoded, Moment, Returns, definition, error_of, netlink_protocol, select, unquoted,
    },
};
use bathyscope_decode::calls::{CallEvent, CallRecord};
use bathyscope_formats::{CallFacts, CallField as F};

use super::owners::Owners;

/// What a socket is, as far as calls have told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Socket {
    pub(super) family: u64,
    pub(super) kind: u64,
    pub(super) local: Option<SocketAddr>,
    pub(super) remote: Option<SocketAddr>,
    /// It was accepted, so this end is the server's.
    pub(super) accepted: bool,
    pub(super) protocol: u64,
    /// Of a Unix socket: the inode of the other end.
    pub(super) peer: Option<u64>,
    /// Of a Unix socket: the path or name that it is bound to, as its address has it.
    pub(super) path: Option<Vec<u8>>,
    /// Of a netlink socket: its port.
    pub(super) port: Option<u64>,
}

impl Socket {
    /// `tcp`, `udp` or `icmp`; nothing of other families.
    fn protocol(&self) -> Option<&'static str> {
        match (self.family, self.kind & 0xf) {
            (2 | 10, 1) => Some("tcp"),
            (2 | 10, 2) => Some("udp"),
            (2 | 10, 3) => Some("raw"),
            _ => None,
        }
    }

    fn server(&self) -> Option<SocketAddr> {
        // What has nobody at its other end is a server's.
        if self.accepted || self.remote.is_none() { self.local } else { self.remote }
    }

    fn client(&self) -> Option<SocketAddr> {
        if self.accepted { self.remote } else { self.remote.and(self.local) }
    }

    /// What is known of it besides: the kernel tells it beside a call.
    pub(super) fn learn(&mut self, call: &Call<'_>) {
        let of = |part: u8| {
            let mut pieces = call.pieces.iter();
            let piece = pieces.find(|piece| (piece.argument, piece.part) == (Beside::SOCKET, part))?;
            piece.bytes?.try_into().ok().map(u64::from_le_bytes)
        };
        let Some(first) = of(0) else { return };
        let two = |shift: u32| u16::try_from(first >> shift & 0xffff).unwrap_or(0);
        let (own, other) = (two(16), two(32).swap_bytes());
        let four = |part: u8| of(part).and_then(|it| u32::try_from(it).ok()).map(|it| IpAddr::from(it.to_le_bytes()));
        let six = |part: u8| {
            let halves = [of(part)?.to_le_bytes(), of(part + 1)?.to_le_bytes()].concat();
            <[u8; 16]>::try_from(halves).ok().map(IpAddr::from)
        };
        let end = |ip: Option<IpAddr>, port: u16| ip.filter(|_| port > 0).map(|ip| SocketAddr::new(ip, port));
        match two(0) {
            1 => self.peer = of(1).filter(|inode| *inode > 0).or(self.peer),
            2 => (self.local, self.remote) = (end(four(1), own), end(four(2), other)),
            10 => (self.local, self.remote) = (end(six(3), own), end(six(5), other)),
            16 => self.port = of(1).filter(|port| *port > 0),
            _ => {}
        }
    }

    /// As strace writes what a Unix socket or a netlink socket is.
    fn local_text(&self, inode: &str) -> Option<String> {
        match (self.family, self.kind & 0xf) {
            (1, kind) => {
                let name = if kind == 1 { "UNIX-STREAM" } else { "UNIX" };
                let peer = self.peer.map(|peer| format!("->{peer}")).unwrap_or_default();
                let path = self.path.as_deref().map(|path| match path {
                    [0, name @ ..] => format!(",@\"{}\"", unquoted(name)),
                    path => {
                        let path = path.split(|byte| *byte == 0).next().unwrap_or_default();
                        format!(",\"{}\"", unquoted(path))
                    }
                });
                Some(format!("{name}:[{inode}{peer}{}]", path.unwrap_or_default()))
            }
            (16, _) => Some(match (netlink_protocol(self.protocol), self.port) {
                (Some(protocol), Some(port)) => format!("NETLINK:[{protocol}:{port}]"),
                (None, Some(port)) => format!("NETLINK:[{}:{port}]", self.protocol),
                _ => format!("NETLINK:[{inode}]"),
            }),
            _ => None,
        }
    }

    /// As strace's `-yy` writes it: `TCP:[127.0.0.1:40000->127.0.0.1:80]`, `UNIX-STREAM:[11->12]`; nothing of what is not known.
    pub(super) fn text(&self, inode: &str) -> Option<String> {
        if let Some(text) = self.local_text(inode) {
            return Some(text);
        }
        let six = if self.family == 10 { "v6" } else { "" };
        let name = format!("{}{six}", self.protocol()?.to_uppercase());
        let inner = match (self.local, self.remote) {
            (Some(local), Some(remote)) => format!("{local}->{remote}"),
            (Some(local), None) => local.to_string(),
            _ => inode.to_owned(),
        };
        Some(format!("{name}:[{inner}]"))
    }

    /// As sysdig names it: `127.0.0.1:40000->127.0.0.1:80`.
    fn name(&self) -> Option<String> {
        match (self.client(), self.server()) {
            (Some(client), Some(server)) => Some(format!("{client}->{server}")),
            (None, Some(server)) => Some(server.to_string()),
            _ => None,
        }
    }
}

/// The address in a `struct sockaddr` of IPv4 or IPv6.
pub(super) fn socket_address(bytes: &[u8]) -> Option<SocketAddr> {
    let two = |at: usize| bytes.get(at..at + 2).and_then(|two| <[u8; 2]>::try_from(two).ok());
    let port = u16::from_be_bytes(two(2)?);
    match u16::from_le_bytes(two(0)?) {
        2 => Some(SocketAddr::new(IpAddr::from(<[u8; 4]>::try_from(bytes.get(4..8)?).ok()?), port)),
        10 => Some(SocketAddr::new(IpAddr::from(<[u8; 16]>::try_from(bytes.get(8..24)?).ok()?), port)),
        _ => None,
    }
}

/// The path or name in a `struct sockaddr_un` of so many bytes; none if it has none.
pub(super) fn unix_path(bytes: &[u8]) -> Option<Vec<u8>> {
    let (family, path) = bytes.split_at_checked(2)?;
    (family == [1, 0] && !path.is_empty()).then(|| path.to_vec())
}

/// A file that a call has to do with.
#[derive(Clone, Debug, Default)]
pub(super) struct Named {
    /// The descriptor; none of a path.
    pub(super) fd: Option<i32>,
    pub(super) path: String,
    pub(super) socket: Option<Socket>,
}

impl Named {
    /// sysdig's word for what a descriptor is, with its letter.
    fn kind(&self) -> (&'static str, &'static str) {
        match (&self.socket, self.path.as_str()) {
            (Some(Socket { family: 2, .. }), _) => ("ipv4", "4"),
            (Some(Socket { family: 10, .. }), _) => ("ipv6", "6"),
            (Some(Socket { family: 1, .. }), _) => ("unix", "u"),
            (Some(Socket { family: 16, .. }), _) => ("netlink", "n"),
            (_, path) if path.starts_with("socket:") => ("socket", "?"),
            (_, path) if path.starts_with("pipe:") => ("pipe", "p"),
            (_, path) if path.contains("[eventpoll]") => ("eventpoll", "l"),
            (_, path) if path.contains("[eventfd]") => ("event", "e"),
            (_, path) if path.contains("[timerfd]") => ("timerfd", "t"),
            (_, path) if path.contains("[signalfd]") => ("signalfd", "s"),
            (_, path) if path.contains("inotify") => ("inotify", "i"),
            (_, path) if path.starts_with("anon_inode:") => ("anon_inode", "a"),
            _ => ("file", "f"),
        }
    }

    fn name(&self) -> String {
        self.socket.as_ref().and_then(Socket::name).unwrap_or_else(|| self.path.clone())
    }
}

/// What is known of one call, or of what is none.
pub(super) struct Facts<'a> {
    pub(super) record: &'a CallRecord<'a>,
    pub(super) call: &'a Call<'a>,
    pub(super) decoded: &'a Decoded,
    /// The files it has to do with: of its descriptors, of its paths, of what it has opened.
    pub(super) files: &'a [Named],
    /// The words of the program that runs.
    pub(super) words: &'a [String],
    pub(super) working_directory: Option<&'a str>,
    /// What the kernel decided about.
    pub(super) target: &'a Target,
    /// Names of users and containers.
    pub(super) owners: &'a Owners,
}

/// The name that sysdig gives to what is no call.
pub(super) fn event_name<'a>(record: &CallRecord<'_>, decoded: &'a Decoded) -> &'a str {
    match record.what {
        CallEvent::Signal => "signaldeliver",
        CallEvent::End(_) => "procexit",
        CallEvent::Call | CallEvent::Unfinished | CallEvent::Inside | CallEvent::Stack | CallEvent::Data => {
            &decoded.name
        }
    }
}

/// Sets of calls by which a call's category is told.
const CATEGORY_SETS: [&str; 8] = ["%network", "%signal", "%ipc", "%process", "%creds", "%clock", "%desc", "%file"];

/// Whether a call is in one of [`CATEGORY_SETS`]. Each is looked up once: this is asked for each record.
fn is_in(number: i64, set: &str) -> bool {
    static CALLS: LazyLock<Vec<(&str, BTreeSet<i64>)>> = LazyLock::new(|| {
        CATEGORY_SETS.into_iter().map(|set| (set, select(Arch::HOST, set).unwrap_or_default())).collect()
    });
    CALLS.iter().any(|(known, calls)| *known == set && calls.contains(&number))
}

impl Facts<'_> {
    fn beside(&self, which: u8, part: u8) -> Option<&[u8]> {
        let mut pieces = self.call.pieces.iter();
        pieces.find(|piece| (piece.argument, piece.part) == (which, part))?.bytes
    }

    fn number(&self, which: u8, part: u8) -> Option<u64> {
        self.beside(which, part)?.try_into().ok().map(u64::from_le_bytes)
    }

    /// Ids and names of what the process descends from, its parent first.
    fn ancestors(&self) -> Vec<(u64, String)> {
        let bytes = self.beside(Beside::ANCESTORS, 0).unwrap_or_default();
        let mut found: Vec<(u64, String)> = Vec::new();
        for one in bytes.chunks_exact(Beside::ANCESTOR_BYTES as usize) {
            let (id, name) = one.split_at(8);
            let Ok(id) = id.try_into().map(u64::from_le_bytes) else { break };
            // Behind the first process it is repeated.
            if id == 0 || found.last().is_some_and(|(last, _)| *last == id) {
                break;
            }
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            found.push((id, String::from_utf8_lossy(name).into_owned()));
        }
        found
    }

    fn category(&self) -> &'static str {
        let name = self.decoded.name.as_str();
        let of_socket = self.files.iter().any(|file| file.socket.is_some() || file.path.starts_with("socket:"));
        match name {
            _ if !matches!(self.record.what, CallEvent::Call | CallEvent::Unfinished | CallEvent::Inside) => "internal",
            "nanosleep" | "clock_nanosleep" | "pause" => "sleep",
            "poll" | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "futex" => {
                "wait"
            }
            _ if is_in(self.call.number, "%network") => "net",
            _ if is_in(self.call.number, "%signal") => "signal",
            _ if is_in(self.call.number, "%ipc") => "ipc",
            _ if is_in(self.call.number, "%process") => "process",
            "mmap" | "mmap2" | "munmap" | "mremap" | "mprotect" | "brk" | "madvise" => "memory",
            _ if is_in(self.call.number, "%creds") => "user",
            _ if is_in(self.call.number, "%clock") => "time",
            _ if is_in(self.call.number, "%desc") && of_socket => "net",
            _ if is_in(self.call.number, "%desc") || is_in(self.call.number, "%file") => "file",
            _ => "system",
        }
    }

    /// Bytes that the call has read or written, as far as they were kept.
    fn buffers(&self) -> Vec<String> {
        let Some(definition) = definition(Arch::HOST, self.call.number) else { return Vec::new() };
        let is_data = |argument: u8, part: u8| {
            definition.arguments.iter().filter(|it| it.register == argument).any(|it| match it.kind {
                ArgumentKind::Data | ArgumentKind::HexData => part == 0,
                ArgumentKind::Vectors => part > 0,
                ArgumentKind::Message => part > 2 && part != bathyscope_catalog::syscalls::CONTROL_PART,
                _ => false,
            })
        };
        let pieces = self.call.pieces.iter().filter(|piece| is_data(piece.argument, piece.part));
        pieces.filter_map(|piece| piece.bytes).map(|bytes| String::from_utf8_lossy(bytes).into_owned()).collect()
    }

    fn is_io(&self) -> (bool, bool) {
        let name = self.decoded.name.as_str();
        let reads = matches!(
            name,
            "read" | "pread64" | "readv" | "preadv" | "preadv2" | "recvfrom" | "recvmsg" | "recvmmsg" | "recv"
        );
        let writes = matches!(
            name,
            "write" | "pwrite64" | "writev" | "pwritev" | "pwritev2" | "sendto" | "sendmsg" | "sendmmsg" | "send"
        );
        (reads, writes)
    }

    fn sockets(&self) -> impl Iterator<Item = &Socket> {
        self.files.iter().filter_map(|file| file.socket.as_ref())
    }

    /// Addresses of sockets: of the ends that are asked for.
    fn addresses(&self, field: &F) -> Vec<SocketAddr> {
        let ends = |socket: &Socket| match field {
            F::ClientPort | F::ClientAddress => vec![socket.client()],
            F::ServerPort | F::ServerAddress => vec![socket.server()],
            F::LocalPort | F::LocalAddress => vec![socket.local],
            F::RemotePort | F::RemoteAddress => vec![socket.remote],
            _ => vec![socket.local, socket.remote],
        };
        self.sockets().flat_map(ends).flatten().collect()
    }

    fn of_call(&self, field: &F) -> Option<Vec<String>> {
        let (record, decoded) = (self.record, self.decoded);
        let one = |text: &str| vec![text.to_owned()];
        let failed = record.result.and_then(error_of);
        Some(match field {
            F::Type => one(event_name(record, decoded)),
            F::Category => one(self.category()),
            F::Failed => record.result.map(|_| failed.is_some().to_string()).into_iter().collect(),
            F::Error => record.result.map(|_| failed.unwrap_or("SUCCESS").to_owned()).into_iter().collect(),
            F::Result => record.result.map(|result| result.to_string()).into_iter().collect(),
            F::Latency(_) => vec![record.duration_ns.to_string()],
            F::Buffer => self.buffers(),
            F::BufferBytes => {
                let (reads, writes) = self.is_io();
                record
                    .result
                    .filter(|result| (reads || writes) && *result >= 0)
                    .map(|it| it.to_string())
                    .into_iter()
                    .collect()
            }
            F::Arguments => one(&decoded.arguments),
            F::Argument(place) => {
                let takes = definition(Arch::HOST, self.call.number).map_or(0, |definition| definition.arguments.len());
                let value = self.call.arguments.get(*place).filter(|_| *place < takes);
                value.map(|value| value.cast_signed().to_string()).into_iter().collect()
            }
            F::Cpu => vec![record.cpu.to_string()],
            F::IsIo => one(if self.is_io() == (false, false) { "false" } else { "true" }),
            F::IsRead => one(if self.is_io().0 { "true" } else { "false" }),
            F::IsWrite => one(if self.is_io().1 { "true" } else { "false" }),
            F::IsWait => one(if matches!(self.category(), "wait" | "sleep") { "true" } else { "false" }),
            _ => return None,
        })
    }

    fn of_files(&self, field: &F) -> Option<Vec<String>> {
        let files = self.files.iter();
        let path = |file: &Named| file.path.starts_with('/').then(|| file.path.clone());
        let folder = |path: String| {
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            if folder.is_empty() { "/".to_owned() } else { folder.to_owned() }
        };
        Some(match field {
            F::FileName => files.map(Named::name).collect(),
            F::FileDirectory => files.filter_map(path).map(folder).collect(),
            F::FileBase => {
                files.filter_map(path).filter_map(|path| Some(path.rsplit_once('/')?.1.to_owned())).collect()
            }
            F::Path => files.filter(|file| file.fd.is_none()).map(|file| file.path.clone()).collect(),
            F::FileNumber => files.filter_map(|file| file.fd).map(|fd| fd.to_string()).collect(),
            F::FileType => files.map(|file| file.kind().0.to_owned()).collect(),
            F::FileTypeLetter => files.map(|file| file.kind().1.to_owned()).collect(),
            F::Port | F::ClientPort | F::ServerPort | F::LocalPort | F::RemotePort => {
                self.addresses(field).iter().map(|address| address.port().to_string()).collect()
            }
            F::Address | F::ClientAddress | F::ServerAddress | F::LocalAddress | F::RemoteAddress => {
                self.addresses(field).iter().map(|address| address.ip().to_string()).collect()
            }
            F::Protocol => self.sockets().filter_map(Socket::protocol).map(str::to_owned).collect(),
            _ => return None,
        })
    }

    fn of_group(&self, field: &F) -> Vec<String> {
        let group = self.number(Beside::OWNER, 1).map(|id| self.owners.group(id)).unwrap_or_default();
        // The kernel decided about the group that was meant by this name, or by the beginning of its id.
        let asked = match (field, self.target) {
            (F::ContainerId | F::ContainerName, Target::Container { name }) => Some(name.clone()),
            (F::ControlGroup, Target::Cgroup { path }) => Some(path.clone()),
            _ => None,
        };
        let known = match field {
            F::ContainerId => group.ids.clone(),
            F::ContainerName => group.name.clone().into_iter().collect(),
            F::ContainerImage => group.image.clone().into_iter().collect(),
            F::ImageRepository => group.repository().map(str::to_owned).into_iter().collect(),
            _ => group.path.clone().into_iter().collect(),
        };
        known.into_iter().chain(asked).collect()
    }

    fn of_process(&self, field: &F) -> Vec<String> {
        let record = self.record;
        let text = |text: &str| vec![text.to_owned()];
        let owner = || self.number(Beside::OWNER, 0);
        let user = owner().map(|owner| owner & 0xffff_ffff);
        match field {
            F::ProcessName => {
                let comm = record.comm.split(|byte| *byte == 0).next().unwrap_or_default();
                vec![String::from_utf8_lossy(comm).into_owned()]
            }
            F::ProcessId => vec![record.pid.to_string()],
            F::ThreadId => vec![record.tid.to_string()],
            F::IsMainThread => text(if record.pid == record.tid { "true" } else { "false" }),
            F::ParentId => self.ancestors().first().map(|(id, _)| id.to_string()).into_iter().collect(),
            F::ParentName => self.ancestors().first().map(|(_, name)| name.clone()).into_iter().collect(),
            F::AncestorId => self.ancestors().iter().map(|(id, _)| id.to_string()).collect(),
            F::AncestorName => self.ancestors().into_iter().map(|(_, name)| name).collect(),
            F::CommandLine if !self.words.is_empty() => vec![self.words.join(" ")],
            F::Words if self.words.len() > 1 => vec![self.words.get(1..).unwrap_or_default().join(" ")],
            F::Program => self.words.first().cloned().into_iter().collect(),
            F::WorkingDirectory => self.working_directory.map(str::to_owned).into_iter().collect(),
            F::UserId => user.map(|user| user.to_string()).into_iter().collect(),
            F::GroupId => owner().map(|owner| (owner >> 32).to_string()).into_iter().collect(),
            F::UserName => {
                let named = user.and_then(|user| self.owners.user(u32::try_from(user).ok()?));
                // The kernel decided about the number behind this name.
                let asked = if let Target::User { user } = self.target { Some(user.clone()) } else { None };
                named.into_iter().chain(asked).collect()
            }
            F::ContainerId | F::ContainerName | F::ContainerImage | F::ImageRepository | F::ControlGroup => {
                self.of_group(field)
            }
            _ => Vec::new(),
        }
    }
}

impl CallFacts for Facts<'_> {
    fn values(&self, field: &F) -> Vec<String> {
        self.of_call(field).or_else(|| self.of_files(field)).unwrap_or_else(|| self.of_process(field))
    }
}

/// Places of a call's descriptors among its arguments, and of its paths with the folder that they are relative to.
pub(super) fn places(call: &Call<'_>) -> (Vec<usize>, Vec<(u8, Option<u64>)>) {
    let Some(definition) = definition(Arch::HOST, call.number) else { return (Vec::new(), Vec::new()) };
    let (mut fds, mut paths, mut folder) = (Vec::new(), Vec::new(), None);
    let entry = definition.grabs(0).grabs.into_iter().filter(|grab| grab.path && grab.moment == Moment::Entry);
    let is_path: Vec<u8> = entry.map(|grab| grab.argument).collect();
    for argument in &definition.arguments {
        let place = usize::from(argument.register);
        match argument.kind {
            ArgumentKind::Fd => fds.push(place),
            ArgumentKind::AtFd => {
                folder = call.arguments.get(place).copied();
                // The folder is a file of the call too, and where the path is empty the only one; not the working directory.
                #[expect(clippy::cast_possible_truncation, reason = "the kernel takes the low half of descriptors")]
                let is_descriptor = folder.is_some_and(|folder| folder as i32 >= 0);
                fds.extend(is_descriptor.then_some(place));
            }
            ArgumentKind::Path if is_path.contains(&argument.register) => {
                paths.push((argument.register, folder.take()))
            }
            _ => {}
        }
    }
    (fds, paths)
}

/// Whether a call gives a descriptor.
pub(super) fn gives_descriptor(call: &Call<'_>) -> bool {
    definition(Arch::HOST, call.number).is_some_and(|definition| definition.returns == Returns::Fd)
}

#[cfg(test)]
mod tests {
    use bathyscope_catalog::syscalls::Piece;

    use super::*;

    #[test]
    fn sockets_know_which_end_is_the_servers() {
        let (here, there) = ("127.0.0.1:40000".parse().ok(), "10.0.0.9:80".parse().ok());
        let client = Socket { family: 2, kind: 0x8_0001, local: here, remote: there, ..Socket::default() };
        assert_eq!((client.client(), client.server(), client.protocol()), (here, there, Some("tcp")));
        assert_eq!(client.name().as_deref(), Some("127.0.0.1:40000->10.0.0.9:80"));
        assert_eq!(client.text("7").as_deref(), Some("TCP:[127.0.0.1:40000->10.0.0.9:80]"));
        let accepted = Socket { accepted: true, ..client.clone() };
        assert_eq!((accepted.client(), accepted.server()), (there, here));
        let listening = Socket { remote: None, ..client.clone() };
        assert_eq!((listening.client(), listening.server()), (None, here));
        let fresh = Socket { family: 10, kind: 2, ..Socket::default() };
        assert_eq!((fresh.name(), fresh.text("7").as_deref()), (None, Some("UDPv6:[7]")));
        let unix = Socket { family: 1, kind: 0x8_0001, ..Socket::default() };
        let text = |socket: &Socket| socket.text("7").unwrap();
        assert_eq!(text(&unix), "UNIX-STREAM:[7]");
        let named = Socket { peer: Some(8), path: Some(b"/tmp/a\0".to_vec()), ..unix.clone() };
        assert_eq!(text(&named), r#"UNIX-STREAM:[7->8,"/tmp/a"]"#);
        let hidden = Socket { kind: 2, path: Some(b"\0ab".to_vec()), ..unix };
        assert_eq!(text(&hidden), r#"UNIX:[7,@"ab"]"#);
        let netlink = Socket { family: 16, kind: 3, ..Socket::default() };
        assert_eq!(text(&netlink), "NETLINK:[7]");
        assert_eq!(text(&Socket { port: Some(29796), ..netlink }), "NETLINK:[ROUTE:29796]");
        assert_eq!(Socket { family: 17, ..Socket::default() }.text("7"), None);
    }

    #[test]
    fn the_kernel_tells_the_ends_of_a_socket() {
        let told = |numbers: &[u64]| {
            let bytes: Vec<[u8; 8]> = numbers.iter().map(|number| number.to_le_bytes()).collect();
            let piece = |(part, bytes)| Piece { argument: Beside::SOCKET, part, exit: true, bytes: Some(bytes) };
            let pieces: Vec<Piece<'_>> = (0..).zip(bytes.iter().map(|bytes| &bytes[..])).map(piece).collect();
            let call = Call { number: 0, arguments: [0; 6], result: Some(0), unfinished: false, pieces: &pieces };
            let mut socket = Socket { family: numbers[0] & 0xffff, kind: 1, ..Socket::default() };
            socket.learn(&call);
            socket.text("7")
        };
        let ports = 40_000 << 16 | u64::from(80_u16.to_be()) << 32;
        let here = u64::from(u32::from_le_bytes([127, 0, 0, 1]));
        assert_eq!(told(&[2 | ports, here, here]).as_deref(), Some("TCP:[127.0.0.1:40000->127.0.0.1:80]"));
        assert_eq!(told(&[2 | 40_000 << 16, here, 0]).as_deref(), Some("TCP:[127.0.0.1:40000]"));
        let one = 1_u64 << 56;
        assert_eq!(told(&[10 | ports, 0, 0, 0, one, 0, one]).as_deref(), Some("TCPv6:[[::1]:40000->[::1]:80]"));
        assert_eq!(told(&[1, 9]).as_deref(), Some("UNIX-STREAM:[7->9]"));
        assert_eq!(told(&[1, 0]).as_deref(), Some("UNIX-STREAM:[7]"));
    }

    #[test]
    fn addresses_are_read_as_far_as_they_are_whole() {
        let four = [2, 0, 0, 80, 127, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(socket_address(&four).map(|it| it.to_string()).as_deref(), Some("127.0.0.1:80"));
        let mut six = vec![10, 0, 1, 0, 0, 0, 0, 0];
        six.extend([0; 15]);
        six.extend([1, 0, 0, 0, 0]);
        assert_eq!(socket_address(&six).map(|it| it.to_string()).as_deref(), Some("[::1]:256"));
        assert_eq!((socket_address(&four[..7]), socket_address(&[1, 0, 47]), socket_address(&[])), (None, None, None));
    }
}
