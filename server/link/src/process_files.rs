//! What a process has open: its descriptors, and what is known of sockets among them.
//!
//! Links and addresses come as the kernel writes them; paths in them are chosen by programs and may hold any byte.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::fd::OwnedFd,
};

use bathyscope_capture::visible;
use bathyscope_protocol::{AgentClient, ClientError, MAX_FILE_LINKS, ProcessFile, SocketTable, WORKING_DIRECTORY_LINK};
use serde::Serialize;

use crate::processes::{comm_of_stat, read_some, start_ticks_of_stat};

/// The most bytes of the agent's list of links.
const MAX_LIST_BYTES: u64 = 4 << 20;
/// The most bytes of a table of sockets that are read.
const MAX_TABLE_BYTES: u64 = 8 << 20;
/// The most bytes of `stat`.
const MAX_STAT_BYTES: u64 = 1024;

/// What a process has open.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OpenFiles {
    /// The name of the process, made visible.
    pub comm: String,
    /// The working directory, made visible; empty where it is not told.
    pub directory: String,
    /// Whether there are more than are listed.
    pub cut: bool,
    /// In the order of their numbers.
    pub files: Vec<OpenDescriptor>,
}

/// A descriptor of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct OpenDescriptor {
    /// Its number.
    pub fd: i32,
    /// What it is.
    pub kind: DescriptorKind,
    /// Its path, or the ends of a socket, made visible.
    pub name: String,
}

/// What a descriptor is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DescriptorKind {
    /// Something with a path: a file, folder or device.
    File,
    /// A socket.
    Socket,
    /// A pipe.
    Pipe,
    /// Something else that the kernel names.
    Other,
}

/// Files of a process that are open for reading, in the order in which they were opened.
#[derive(Debug)]
pub(crate) struct OpenedLists {
    links: OwnedFd,
    tables: Vec<(SocketTable, OwnedFd)>,
    /// The last: had the id been used again meanwhile, this would be the other process's.
    stat: OwnedFd,
}

impl OpenedLists {
    /// Asks for the files; they are read elsewhere, so that others who ask are not kept waiting.
    pub(crate) fn open(client: &mut AgentClient, pid: u32) -> Result<Self, ClientError> {
        let links = client.open_process_file(pid, ProcessFile::Links)?;
        let mut tables = Vec::new();
        for table in SocketTable::ALL {
            match client.open_process_file(pid, ProcessFile::Sockets { table }) {
                Ok(file) => tables.push((table, file)),
                // A kernel without this family.
                Err(ClientError::Refused(_missing)) => {}
                Err(broken) => return Err(broken),
            }
        }
        let stat = client.open_process_file(pid, ProcessFile::Stat)?;
        Ok(Self { links, tables, stat })
    }

    /// What the process has open; none if it has ended, or is not the one that was started then. Blocks.
    pub(crate) fn read(self, start_ticks: Option<u64>) -> Option<OpenFiles> {
        let list = read_some(self.links, MAX_LIST_BYTES);
        let links: Vec<(i32, &[u8])> = links(&list).collect();
        let mut sockets = HashMap::new();
        if links.iter().any(|(_, link)| link.starts_with(b"socket:[")) {
            for (table, file) in self.tables {
                add_sockets(&mut sockets, table, &read_some(file, MAX_TABLE_BYTES));
            }
        }
        let stat = read_some(self.stat, MAX_STAT_BYTES);
        let comm = comm_of_stat(&stat)?;
        let is_it = start_ticks.is_none_or(|start_ticks| start_ticks_of_stat(&stat) == Some(start_ticks));
        is_it.then(|| described(visible(comm), links, &sockets))
    }
}

/// The agent's list ([`ProcessFile::Links`]): numbers with what they refer to. Stops where it is cut.
pub fn links(mut list: &[u8]) -> impl Iterator<Item = (i32, &[u8])> {
    let next = move || {
        let (number, rest) = list.split_first_chunk::<4>()?;
        let (length, rest) = rest.split_first_chunk::<2>()?;
        let (link, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*length)))?;
        list = rest;
        Some((i32::from_le_bytes(*number), link))
    };
    std::iter::from_fn(next).take(MAX_FILE_LINKS + 1)
}

fn described(comm: String, mut links: Vec<(i32, &[u8])>, sockets: &HashMap<u64, String>) -> OpenFiles {
    links.sort_unstable();
    let directory = links.iter().find(|(fd, _)| *fd == WORKING_DIRECTORY_LINK).map(|(_, link)| visible(link));
    links.retain(|(fd, _)| *fd != WORKING_DIRECTORY_LINK);
    // Two of the entries that the agent looks at are the folder itself and the one above.
    let cut = links.len() >= MAX_FILE_LINKS - 2;
    let file = |(fd, link): (i32, &[u8])| {
        let (kind, name) = match link {
            [b'/', ..] => (DescriptorKind::File, None),
            socket if socket.starts_with(b"socket:[") => {
                (DescriptorKind::Socket, inode_of(socket).and_then(|inode| sockets.get(&inode)).cloned())
            }
            pipe if pipe.starts_with(b"pipe:[") => (DescriptorKind::Pipe, None),
            _ => (DescriptorKind::Other, None),
        };
        OpenDescriptor { fd, kind, name: name.unwrap_or_else(|| visible(link)) }
    };
    OpenFiles { comm, directory: directory.unwrap_or_default(), cut, files: links.into_iter().map(file).collect() }
}

/// The number in `socket:[NUMBER]`.
fn inode_of(link: &[u8]) -> Option<u64> {
    std::str::from_utf8(link.strip_prefix(b"socket:[")?.strip_suffix(b"]")?).ok()?.parse().ok()
}

/// Adds what the lines of a table say, by inode.
fn add_sockets(sockets: &mut HashMap<u64, String>, table: SocketTable, text: &[u8]) {
    let lines = text.split(|byte| *byte == b'\n').skip(1);
    match table {
        SocketTable::Unix => sockets.extend(lines.filter_map(unix_socket)),
        SocketTable::Tcp | SocketTable::Tcp6 => sockets.extend(lines.filter_map(|line| ip_socket(line, "TCP"))),
        SocketTable::Udp | SocketTable::Udp6 => sockets.extend(lines.filter_map(|line| ip_socket(line, "UDP"))),
    }
}

/// `SLOT: ADDRESS:PORT ADDRESS:PORT STATE … INODE …` of an internet protocol.
fn ip_socket(line: &[u8], protocol: &str) -> Option<(u64, String)> {
    let words: Vec<&str> = std::str::from_utf8(line).ok()?.split_ascii_whitespace().collect();
    let (local, remote) = (address(words.get(1)?)?, address(words.get(2)?)?);
    let inode = words.get(9)?.parse().ok()?;
    let state = if protocol == "TCP" { tcp_state(words.get(3)?) } else { "" };
    let ends = if remote.port() == 0 && remote.ip().is_unspecified() {
        format!("{protocol} {local} {state}")
    } else {
        format!("{protocol} {local} → {remote} {state}")
    };
    Some((inode, ends.trim_end().to_owned()))
}

/// What the kernel calls a state of TCP.
fn tcp_state(code: &str) -> &'static str {
    match code {
        "01" => "established",
        "02" => "SYN sent",
        "03" => "SYN received",
        "04" => "FIN wait 1",
        "05" => "FIN wait 2",
        "06" => "time wait",
        "07" => "closed",
        "08" => "close wait",
        "09" => "last ACK",
        "0A" => "listens",
        "0B" => "closing",
        _ => "",
    }
}

/// An address and a port in base sixteen: words of four bytes, as they lie in memory.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(ip.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let ip = match ip.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let bytes = [word(0)?, word(8)?, word(16)?, word(24)?].concat();
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, port))
}

/// `NUMBER: USERS PROTOCOL FLAGS TYPE STATE INODE PATH`; the path may hold any byte, or be missing.
fn unix_socket(line: &[u8]) -> Option<(u64, String)> {
    let mut rest = line;
    let mut words = Vec::new();
    for _word in 0..7 {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|byte| *byte == b' ').unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end)?;
        words.push(std::str::from_utf8(word).ok()?);
        rest = after;
    }
    let inode = words.get(6)?.parse().ok()?;
    let kind = match *words.get(4)? {
        "0001" => "stream",
        "0002" => "datagram",
        "0005" => "packets",
        _ => "",
    };
    let path = rest.strip_prefix(b" ").unwrap_or_default();
    let shown =
        ["Unix", kind, &visible(path)].into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    Some((inode, shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(all: &[(i32, &[u8])]) -> Vec<u8> {
        let one = |(fd, link): &(i32, &[u8])| {
            [&fd.to_le_bytes()[..], &u16::try_from(link.len()).unwrap().to_le_bytes(), link].concat()
        };
        all.iter().flat_map(one).collect()
    }

    #[test]
    fn descriptors_are_listed_with_what_they_are() {
        let made: [(i32, &[u8]); 7] = [
            (-100, b"/srv"),
            (7, b"socket:[42]"),
            (8, b"socket:[43]"),
            (0, b"/dev/null"),
            (1, b"pipe:[4711]"),
            (3, b"anon_inode:[eventpoll]"),
            (4, b"/tmp/\x1b[2K\n (deleted)"),
        ];
        let bytes = list(&made);
        let sockets = HashMap::from([(42, "TCP 127.0.0.1:80 listens".to_owned())]);
        let found = described("web".to_owned(), links(&bytes).collect(), &sockets);
        assert_eq!((found.directory.as_str(), found.cut), ("/srv", false));
        let files: Vec<_> = found.files.iter().map(|file| (file.fd, file.kind, file.name.as_str())).collect();
        let expected = [
            (0, DescriptorKind::File, "/dev/null"),
            (1, DescriptorKind::Pipe, "pipe:[4711]"),
            (3, DescriptorKind::Other, "anon_inode:[eventpoll]"),
            (4, DescriptorKind::File, "/tmp/\\x1b[2K\\n (deleted)"),
            (7, DescriptorKind::Socket, "TCP 127.0.0.1:80 listens"),
            (8, DescriptorKind::Socket, "socket:[43]"),
        ];
        assert_eq!(files, expected);
        for cut in 0..bytes.len() {
            assert!(links(&bytes[..cut]).count() < made.len(), "{cut}");
        }
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn tables_of_sockets_are_read_whatever_they_hold() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n";
        let tail = "00000000:00000000 00:00000000 00000000     0        0";
        let cases = [
            (SocketTable::Tcp, format!("0: 0100007F:1F90 00000000:0000 0A {tail} 7 1 0"), "TCP 127.0.0.1:8080 listens"),
            (
                SocketTable::Tcp,
                format!("1: 0100007F:1F90 0200000A:C001 01 {tail} 7 1 0"),
                "TCP 127.0.0.1:8080 → 10.0.0.2:49153 established",
            ),
            (
                SocketTable::Tcp6,
                format!("2: 00000000000000000000000001000000:0016 00000000000000000000000000000000:0000 FF {tail} 7"),
                "TCP [::1]:22",
            ),
            (SocketTable::Udp, format!("3: 00000000:0035 00000000:0000 07 {tail} 7 2 0"), "UDP 0.0.0.0:53"),
            (
                SocketTable::Unix,
                "0000: 00000002 00000000 00010000 0001 01 7 /run/a b".to_owned(),
                "Unix stream /run/a b",
            ),
            (SocketTable::Unix, "0000: 00000002 00000000 00010000 0002 01 7".to_owned(), "Unix datagram"),
            (SocketTable::Unix, "0000: 2 0 1 0005 01     7 @\u{202e}x".to_owned(), "Unix packets @\\u{202e}x"),
        ];
        for (table, line, expected) in cases {
            let mut sockets = HashMap::new();
            add_sockets(&mut sockets, table, format!("{head}{line}\n").as_bytes());
            assert_eq!(sockets.get(&7).map(String::as_str), Some(expected), "{line}");
        }
        for bad in
            ["", "0:", "0: x y 01", "0: 0100007F 00000000:0000 0A", "0: 01:0000F 02:1 01 a b c d e 7", "0: é:1 é:1"]
        {
            for table in SocketTable::ALL {
                let mut sockets = HashMap::new();
                add_sockets(&mut sockets, table, format!("{head}{bad}\n").as_bytes());
                assert!(sockets.is_empty(), "{bad}");
            }
        }
    }

    #[test]
    fn inodes_stand_in_brackets() {
        for (link, expected) in
            [(&b"socket:[42]"[..], Some(42)), (b"socket:[]", None), (b"socket:[-1]", None), (b"socket:[42", None)]
        {
            assert_eq!(inode_of(link), expected, "{}", link.escape_ascii());
        }
    }
}
