//! Which memory of a process is copied when it makes a call: at the entry what it passes, at the exit what it gets.

use super::table::{ArgumentKind, CallArgument, CallDefinition, Returns, StructureLayout};
use crate::constants::Arch;

/// The most pieces of one call, special ones not counted.
pub const MAX_GRABS: usize = 9;
/// Bytes that are kept of a path, with its NUL.
pub const PATH_ROOM: u16 = 512;
/// How many buffers of a vector are kept with their first bytes.
pub const VECTORS: u16 = 8;
/// The part number of a message's control data.
pub const CONTROL_PART: u8 = 15;
/// How many words of a program's arguments are kept.
pub const WORDS: u16 = 16;

/// Pieces that belong to no argument: what is recorded beside a call has numbers of arguments that no call has.
#[derive(Clone, Copy, Debug)]
pub struct Beside;

impl Beside {
    /// The inode of the descriptor that a call has opened, 8 bytes; of the second one as part 1.
    pub const INODE: u8 = 16;
    /// How many nanoseconds the call ran on a CPU, 8 bytes.
    pub const CPU_NS: u8 = 17;
    /// Where the program called from, 8 bytes.
    pub const ADDRESS: u8 = 18;
    /// The user (low half) and group that the process acts as, 8 bytes; the id of its control group as part 1.
    pub const OWNER: u8 = 19;
    /// What the process descends from, its parent first: for each [`Self::ANCESTOR_BYTES`], the id in the first 8, then the name.
    pub const ANCESTORS: u8 = 20;
    /// What the socket is that a call has made or whose ends it may have changed, 8 bytes each: part 0 its family, with the
    /// port of its own end in bits 16 to 31 and that of the other one, in the network's order, in bits 32 to 47. Of IPv4 and
    /// IPv6 parts 1 and 2 are the addresses of both ends in IPv4, 3 to 6 those in IPv6, two parts each; of a Unix socket part 1
    /// is the inode of the other end, of a netlink socket its port.
    pub const SOCKET: u8 = 21;
    /// Bytes of one of [`Self::ANCESTORS`].
    pub const ANCESTOR_BYTES: u32 = 24;
    /// How many there are; behind the first process it is repeated.
    pub const ANCESTORS_MOST: u32 = 12;
}

/// Where the length of memory comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Length {
    /// It is always the same: [`Grab::most`].
    Fixed,
    /// An argument.
    Argument(u8),
    /// The result.
    Result,
    /// A 32-bit number to which an argument points.
    Behind(u8),
    /// An argument that counts bits, of which as many words of 64 are there as they fill.
    Bits(u8),
}

/// When memory is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// Before the call runs.
    Entry,
    /// After it has run and not failed.
    Exit,
}

/// A piece of memory to copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grab {
    /// The argument that points to it.
    pub argument: u8,
    /// When.
    pub moment: Moment,
    /// Whether it ends at its first NUL.
    pub text: bool,
    /// Whether it is a path, which filters ask for.
    pub path: bool,
    /// How many units; not of texts.
    pub length: Length,
    /// Bytes of a unit.
    pub unit: u16,
    /// The most bytes.
    pub most: u16,
}

/// What does not lie in one piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// Nothing.
    None,
    /// Pointers to words, at the entry.
    Words {
        /// The argument that points to the first pointer.
        argument: u8,
    },
    /// `struct iovec`s and the first bytes of their buffers.
    Vectors {
        /// The argument that points to the first.
        argument: u8,
        /// The argument that tells how many.
        count: u8,
        /// When.
        moment: Moment,
    },
    /// A `struct msghdr` with its name, vectors and their buffers.
    Message {
        /// The argument that points to it.
        argument: u8,
        /// When.
        moment: Moment,
    },
    /// How many entries of a folder there are, at the exit.
    Entries {
        /// The argument that points to the first.
        argument: u8,
    },
}

/// Everything that is copied of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallGrabs {
    /// At most [`MAX_GRABS`], those of the entry first.
    pub grabs: Vec<Grab>,
    /// What else.
    pub special: Special,
    /// Whether it is told at its entry, because it has no exit.
    pub never_returns: bool,
    /// Whether pointers in what it points to have 32 bits.
    pub narrow: bool,
}

/// Bytes of a kind that has one size.
fn size(kind: ArgumentKind, layout: StructureLayout) -> Option<u16> {
    let narrow = if layout.is_narrow() { narrow_size(kind) } else { None };
    narrow.or_else(|| time_size(kind, layout)).or_else(|| wide_size(kind))
}

/// Bytes of a kind that is another where pointers have 32 bits.
fn narrow_size(kind: ArgumentKind) -> Option<u16> {
    Some(match kind {
        ArgumentKind::Stat | ArgumentKind::Statfs | ArgumentKind::Sysinfo => 64,
        ArgumentKind::Sigaction => 20,
        ArgumentKind::Tms => 16,
        ArgumentKind::SignalStack => 12,
        ArgumentKind::Rlimit | ArgumentKind::MaskPointer => 8,
        ArgumentKind::LongPointer => 4,
        _ => return None,
    })
}

/// Bytes of a kind that consists of times.
fn time_size(kind: ArgumentKind, layout: StructureLayout) -> Option<u16> {
    if kind == ArgumentKind::Rusage && !layout.is_narrow() && layout.time == 8 {
        return Some(144);
    }
    let halves = match kind {
        ArgumentKind::Timespec | ArgumentKind::Timeval | ArgumentKind::FutexTime => 2,
        ArgumentKind::Itimerspec
        | ArgumentKind::Itimerval
        | ArgumentKind::Timespecs2
        | ArgumentKind::Timevals2
        | ArgumentKind::Rusage => 4,
        _ => return None,
    };
    u16::try_from(halves * layout.time).ok()
}

/// Bytes of a kind where pointers have 64 bits, or wherever it is the same.
fn wide_size(kind: ArgumentKind) -> Option<u16> {
    let stat = if Arch::HOST == Arch::Aarch64 { 128 } else { 144 };
    Some(match kind {
        ArgumentKind::Stat => stat,
        ArgumentKind::Stat64 => 96,
        ArgumentKind::Statfs64 => 84,
        // The rest is not shown.
        ArgumentKind::Statx => 160,
        ArgumentKind::Statfs => 120,
        ArgumentKind::Utsname => 390,
        ArgumentKind::Sigaction | ArgumentKind::Tms => 32,
        ArgumentKind::SignalInfo => 48,
        ArgumentKind::Sysinfo => 112,
        ArgumentKind::SignalStack => 24,
        ArgumentKind::Rlimit | ArgumentKind::Rlimit64 | ArgumentKind::MaskPointer | ArgumentKind::OldSigaction => 16,
        ArgumentKind::EpollEvent => 12,
        ArgumentKind::Sigset | ArgumentKind::LongPointer | ArgumentKind::OffsetPointer | ArgumentKind::FdPair => 8,
        ArgumentKind::IntPointer
        | ArgumentKind::UintPointer
        | ArgumentKind::WaitStatus
        | ArgumentKind::AddressLength
        | ArgumentKind::OldSigset => 4,
        ArgumentKind::Uid16Pointer => 2,
        _ => return None,
    })
}

/// Most bytes of an array whose elements have this size, as strace shows 32 at most.
const fn elements(bytes: u16) -> u16 {
    bytes * 32
}

impl CallDefinition {
    /// What is copied of this call, with at most `strings` bytes of each text or buffer that is no path.
    pub fn grabs(&self, strings: u16) -> CallGrabs {
        let mut all = CallGrabs {
            grabs: Vec::new(),
            special: Special::None,
            never_returns: self.returns == Returns::Never,
            narrow: self.layout.is_narrow(),
        };
        for argument in &self.arguments {
            let at = argument.register;
            let moment = if argument.out { Moment::Exit } else { Moment::Entry };
            match (argument.kind, argument.length) {
                (ArgumentKind::Argv, _) => all.special = Special::Words { argument: at },
                (ArgumentKind::Vectors, Length::Argument(count)) => {
                    all.special = Special::Vectors { argument: at, count, moment };
                }
                (ArgumentKind::Message, _) => {
                    all.special = Special::Message { argument: at, moment };
                    all.grabs.extend(pieces(self.layout, argument, moment, strings));
                }
                (ArgumentKind::Entries, _) => all.special = Special::Entries { argument: at },
                _ => all.grabs.extend(pieces(self.layout, argument, moment, strings)),
            }
        }
        all.grabs.sort_by_key(|grab| grab.moment == Moment::Exit);
        all.grabs.truncate(MAX_GRABS);
        all
    }
}

/// The pieces of one argument.
fn pieces(layout: StructureLayout, argument: &CallArgument, moment: Moment, strings: u16) -> Vec<Grab> {
    let at = argument.register;
    let base = Grab { argument: at, moment, text: false, path: false, length: Length::Fixed, unit: 1, most: 0 };
    let memory = |length: Length, unit: u16, most: u16| Grab { length, unit, most, ..base };
    let also = |grab: Grab, moment: Moment| vec![grab, Grab { moment, ..grab }];
    match argument.kind {
        ArgumentKind::Path => vec![Grab { text: true, path: true, most: PATH_ROOM, ..base }],
        ArgumentKind::TextOut => vec![memory(argument.length, 1, PATH_ROOM)],
        ArgumentKind::Text => vec![Grab { text: true, most: strings.saturating_add(2), ..base }],
        ArgumentKind::Data | ArgumentKind::HexData => vec![memory(argument.length, 1, strings.max(1))],
        ArgumentKind::Envp => vec![memory(Length::Fixed, 1, 512)],
        ArgumentKind::Address => vec![memory(argument.length, 1, 128)],
        ArgumentKind::SocketValue => vec![memory(argument.length, 1, 32)],
        ArgumentKind::AddressLength => also(memory(Length::Fixed, 1, 4), Moment::Entry),
        ArgumentKind::FdSet => {
            let bits = if let Length::Argument(at) = argument.length { Length::Bits(at) } else { argument.length };
            also(memory(bits, 1, 128), Moment::Exit)
        }
        ArgumentKind::LeftTimeval | ArgumentKind::LeftTimespec => {
            let most = if layout.time == 8 { 16 } else { 8 };
            also(memory(Length::Fixed, 1, most), Moment::Exit)
        }
        // The call says anew how long the name is.
        ArgumentKind::Message if argument.out => vec![Grab { moment: Moment::Entry, ..memory(Length::Fixed, 1, 16) }],
        ArgumentKind::PollFds => also(memory(argument.length, 8, elements(8)), Moment::Exit),
        ArgumentKind::EpollEvents => vec![memory(argument.length, 12, elements(12))],
        ArgumentKind::Uints => vec![memory(argument.length, 4, elements(4))],
        ArgumentKind::Uids16 => vec![memory(argument.length, 2, elements(2))],
        ArgumentKind::CpuSet => vec![memory(argument.length, 1, 128)],
        ArgumentKind::CloneArguments => vec![memory(argument.length, 1, 88)],
        ArgumentKind::OpenHow => vec![memory(argument.length, 1, 24)],
        ArgumentKind::IoctlArgument => also(memory(Length::Fixed, 1, 8), Moment::Exit),
        ArgumentKind::FcntlArgument => also(memory(Length::Fixed, 1, 32), Moment::Exit),
        ArgumentKind::PrctlArgument => {
            vec![Grab { text: true, most: 18, ..base }, Grab { moment: Moment::Exit, text: true, most: 16, ..base }]
        }
        kind => size(kind, layout).map(|most| memory(Length::Fixed, 1, most)).into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscalls::definitions;

    fn of(name: &str) -> CallGrabs {
        let all = definitions(Arch::X86_64);
        all.into_iter().find(|(_, call)| call.name == name).unwrap().1.grabs(32)
    }

    #[test]
    fn buffers_are_copied_when_they_are_full() {
        let grab = |name: &str| of(name).grabs.first().copied().unwrap();
        let read = Grab {
            argument: 1,
            moment: Moment::Exit,
            text: false,
            path: false,
            length: Length::Result,
            unit: 1,
            most: 32,
        };
        assert_eq!(grab("read"), read);
        assert_eq!(grab("write"), Grab { moment: Moment::Entry, length: Length::Argument(2), ..read });
        let path =
            Grab { moment: Moment::Entry, text: true, path: true, length: Length::Fixed, most: PATH_ROOM, ..read };
        assert_eq!(grab("openat"), path);
        assert_eq!(of("accept").grabs.len(), 3);
        assert_eq!(of("execve").special, Special::Words { argument: 1 });
        assert_eq!(of("readv").special, Special::Vectors { argument: 1, count: 2, moment: Moment::Exit });
        assert_eq!(of("sendmsg").special, Special::Message { argument: 1, moment: Moment::Entry });
        assert_eq!(of("getdents64").special, Special::Entries { argument: 1 });
        assert_eq!(of("select").grabs.first().map(|grab| grab.length), Some(Length::Bits(0)));
        assert!(of("exit_group").never_returns && !of("getpid").never_returns);
    }

    #[test]
    fn no_call_has_more_pieces_than_there_is_room_for() {
        for (_, call) in definitions(Arch::X86_64) {
            let wanted: usize = call
                .arguments
                .iter()
                .map(|argument| {
                    let moment = if argument.out { Moment::Exit } else { Moment::Entry };
                    pieces(call.layout, argument, moment, 32).len()
                })
                .sum();
            assert!(wanted <= MAX_GRABS, "{}", call.name);
        }
    }
}
