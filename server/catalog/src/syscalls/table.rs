//! The tables of calls and of named bits, read on first use.

use std::{collections::HashMap, sync::OnceLock};

use super::grab::Length;
use crate::constants::{Arch, syscall_number};

const CALLS: &str = include_str!("../../data/calls.txt");
const FLAGS: &str = include_str!("../../data/flags.txt");

/// Numbers of calls are smaller than this.
pub const MAX_CALLS: usize = 512;

/// A set of named bits or numbers.
#[derive(Debug, Default)]
pub(super) struct Set {
    pub(super) name: &'static str,
    /// Numbers under masks: mask, and value with name.
    pub(super) masked: Vec<(u64, Vec<(u64, &'static str)>)>,
    /// Value and name, in the order in which they are written.
    pub(super) names: Vec<(u64, &'static str)>,
}

/// What an argument is, as far as it can be told from the call alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the table's own words, explained by their names")]
pub enum Kind {
    Int,
    Uint,
    Long,
    Ulong,
    Hex,
    Octal,
    Ptr,
    Offset,
    Fd,
    AtFd,
    MapFd,
    Mode,
    OpenMode,
    ModeType,
    Dev,
    Pid,
    Uid,
    Signal,
    IpcKey,
    IpcFlags,
    Skip,
    Flags,
    Enum,
    MapFlags,
    MremapAddress,
    SocketType,
    SocketProtocol,
    SocketOption,
    CloneFlags,
    Ioctl,
    FutexOp,
    FutexValue,
    FutexTime,
    FutexAddress,
    FutexBits,
    // What follows points to memory.
    Path,
    Text,
    Data,
    HexData,
    TextOut,
    Argv,
    Envp,
    Address,
    AddressLength,
    Vectors,
    Message,
    SocketValue,
    IoctlArgument,
    FcntlArgument,
    PrctlArgument,
    PrctlRest,
    PollFds,
    EpollEvent,
    EpollEvents,
    Uints,
    CpuSet,
    CloneArguments,
    OpenHow,
    Stat,
    Statx,
    Statfs,
    Timespec,
    Timespecs2,
    Timeval,
    Timevals2,
    Itimerspec,
    Itimerval,
    Rlimit,
    Rusage,
    Sigaction,
    Sigset,
    SignalStack,
    Utsname,
    Sysinfo,
    Tms,
    IntPointer,
    UintPointer,
    LongPointer,
    FdPair,
    WaitStatus,
    FdSet,
    LeftTimeval,
    LeftTimespec,
    MaskPointer,
    Entries,
    SignalInfo,
}

#[rustfmt::skip]
const KINDS: [(&str, Kind); 88] = [
    ("int", Kind::Int), ("uint", Kind::Uint), ("long", Kind::Long), ("ulong", Kind::Ulong), ("hex", Kind::Hex),
    ("oct", Kind::Octal), ("ptr", Kind::Ptr), ("offset", Kind::Offset), ("fd", Kind::Fd), ("atfd", Kind::AtFd),
    ("mapfd", Kind::MapFd), ("mode", Kind::Mode), ("openmode", Kind::OpenMode), ("modetype", Kind::ModeType), ("dev", Kind::Dev),
    ("pid", Kind::Pid), ("uid", Kind::Uid), ("sig", Kind::Signal), ("ipckey", Kind::IpcKey),
    ("ipcflags", Kind::IpcFlags), ("skip", Kind::Skip), ("flags", Kind::Flags), ("enum", Kind::Enum),
    ("mapflags", Kind::MapFlags), ("mremapaddr", Kind::MremapAddress), ("socktype", Kind::SocketType),
    ("sockproto", Kind::SocketProtocol), ("sockopt", Kind::SocketOption), ("cloneflags", Kind::CloneFlags),
    ("ioctl", Kind::Ioctl), ("futexop", Kind::FutexOp), ("futexval", Kind::FutexValue),
    ("futextime", Kind::FutexTime), ("futexaddr", Kind::FutexAddress), ("futexbits", Kind::FutexBits),
    ("path", Kind::Path), ("str", Kind::Text), ("data", Kind::Data), ("hexdata", Kind::HexData),
    ("text", Kind::TextOut), ("argv", Kind::Argv), ("envp", Kind::Envp), ("sockaddr", Kind::Address),
    ("socklen", Kind::AddressLength), ("iovec", Kind::Vectors), ("msghdr", Kind::Message),
    ("sockoptval", Kind::SocketValue), ("ioctlarg", Kind::IoctlArgument), ("fcntlarg", Kind::FcntlArgument),
    ("prctlarg", Kind::PrctlArgument), ("prctlrest", Kind::PrctlRest), ("pollfds", Kind::PollFds),
    ("epollevent", Kind::EpollEvent), ("epollevents", Kind::EpollEvents), ("uints", Kind::Uints),
    ("cpuset", Kind::CpuSet), ("cloneargs", Kind::CloneArguments), ("openhow", Kind::OpenHow), ("stat", Kind::Stat),
    ("statx", Kind::Statx), ("statfs", Kind::Statfs), ("timespec", Kind::Timespec),
    ("timespecs2", Kind::Timespecs2), ("timeval", Kind::Timeval), ("timevals2", Kind::Timevals2),
    ("itimerspec", Kind::Itimerspec), ("itimerval", Kind::Itimerval), ("rlimit", Kind::Rlimit),
    ("rusage", Kind::Rusage), ("sigaction", Kind::Sigaction), ("sigset", Kind::Sigset), ("stack", Kind::SignalStack),
    ("utsname", Kind::Utsname), ("sysinfo", Kind::Sysinfo), ("tms", Kind::Tms), ("intp", Kind::IntPointer),
    ("uintp", Kind::UintPointer), ("longp", Kind::LongPointer), ("fdpair", Kind::FdPair),
    ("wstatus", Kind::WaitStatus), ("ints1", Kind::IntPointer), ("uints1", Kind::UintPointer),
    ("fdset", Kind::FdSet), ("lefttimeval", Kind::LeftTimeval), ("lefttimespec", Kind::LeftTimespec),
    ("maskptr", Kind::MaskPointer), ("dirents", Kind::Entries), ("siginfo", Kind::SignalInfo),
];

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct Argument {
    /// Its name in the manual or the kernel.
    pub name: &'static str,
    /// What it is.
    pub kind: Kind,
    /// Whether the call fills what it points to.
    pub out: bool,
    /// Where the length of what it points to comes from.
    pub length: Length,
    pub(super) set: Option<&'static Set>,
}

/// What a call's result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Returns {
    /// A signed number.
    Number,
    /// An address.
    Hex,
    /// Base eight.
    Octal,
    /// A descriptor.
    Fd,
    /// It does not return where it succeeds.
    Never,
    /// A name of this set of numbers.
    #[doc(hidden)]
    Named(&'static str),
}

/// What is known of a call.
#[derive(Debug)]
pub struct Definition {
    /// Its name.
    pub name: &'static str,
    /// Its arguments.
    pub arguments: Vec<Argument>,
    /// What it returns.
    pub returns: Returns,
    /// The sets it is in, as letters of the table.
    pub(super) sets: &'static str,
}

struct Tables {
    by_number: [HashMap<i64, usize>; 2],
    calls: Vec<Definition>,
    sets: &'static [Set],
}

fn lines(text: &'static str) -> impl Iterator<Item = &'static str> {
    text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

fn read_sets() -> Vec<Set> {
    let mut sets: Vec<Set> = Vec::new();
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
    let mut mask = 0;
    for line in lines(FLAGS) {
        let mut words = line.split(' ');
        let (Some(name), Some(value)) = (words.next(), words.next()) else { continue };
        if matches!(name, "flags" | "enum") {
            mask = 0;
            sets.push(Set { name: value, ..Set::default() });
            continue;
        }
        let Some(set) = sets.last_mut() else { continue };
        if name == "mask" {
            mask = number(value);
            if mask != 0 {
                set.masked.push((mask, Vec::new()));
            }
            continue;
        }
        let value = match (Arch::HOST, words.next()) {
            (Arch::Aarch64, Some(other)) => number(other),
            _ => number(value),
        };
        match set.masked.last_mut() {
            Some((_, names)) if mask != 0 => names.push((value, name)),
            _ => set.names.push((value, name)),
        }
    }
    sets
}

fn tables() -> &'static Tables {
    static SETS: OnceLock<Vec<Set>> = OnceLock::new();
    static TABLES: OnceLock<Tables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let sets = SETS.get_or_init(read_sets);
        let calls: Vec<Definition> = lines(CALLS).filter_map(|line| read_call(line, sets)).collect();
        let numbers = |arch: Arch| {
            let number = |(at, call): (usize, &Definition)| Some((syscall_number(arch, call.name)?, at));
            calls.iter().enumerate().filter_map(number).collect()
        };
        let by_number = [numbers(Arch::X86_64), numbers(Arch::Aarch64)];
        Tables { by_number, calls, sets }
    })
}

fn read_call(line: &'static str, sets: &'static [Set]) -> Option<Definition> {
    let mut words = line.split(' ');
    let (name, letters) = (words.next()?, words.next()?);
    let rest: Vec<&'static str> = words.collect();
    let (ret, arguments): (Vec<_>, Vec<_>) = rest.into_iter().partition(|word| word.starts_with("ret="));
    let names: Vec<&str> = arguments.iter().filter_map(|word| word.split(['=', '>']).next()).collect();
    let returns = match ret.first().map_or("", |word| word.trim_start_matches("ret=")) {
        "hex" | "ptr" => Returns::Hex,
        "oct" => Returns::Octal,
        "fd" => Returns::Fd,
        "enum(sched)" => Returns::Named("sched"),
        _ if matches!(name, "exit" | "exit_group") => Returns::Never,
        _ => Returns::Number,
    };
    let arguments = arguments.iter().filter_map(|word| read_argument(word, &names, sets)).collect();
    Some(Definition { name, arguments, returns, sets: letters })
}

fn read_argument(word: &'static str, names: &[&str], sets: &'static [Set]) -> Option<Argument> {
    let at = word.find(['=', '>'])?;
    let (name, rest) = word.split_at(at);
    let out = rest.starts_with('>');
    let rest = rest.get(1..)?;
    let (kind, from) = rest.split_once('(').unwrap_or((rest, ""));
    let from = from.trim_end_matches(')');
    let index = |name: &str| names.iter().position(|known| *known == name).and_then(|at| u8::try_from(at).ok());
    let kind = KINDS.iter().find(|(known, _)| *known == kind)?.1;
    let set = match kind {
        Kind::Flags | Kind::Enum => Some(sets.iter().find(|set| set.name == from)?),
        _ => None,
    };
    let length = match from {
        "ret" => Length::Result,
        from => match from.strip_prefix('*') {
            Some(behind) => Length::Behind(index(behind)?),
            None => index(from).map_or(Length::Fixed, Length::Argument),
        },
    };
    Some(Argument { name, kind, out, length, set })
}

/// What is known of the call of this number; none for numbers that the tables do not have.
pub fn definition(arch: Arch, number: i64) -> Option<&'static Definition> {
    let tables = tables();
    let at = match arch {
        Arch::X86_64 => tables.by_number.first(),
        Arch::Aarch64 => tables.by_number.get(1),
    };
    tables.calls.get(*at?.get(&number)?)
}

/// All calls of a processor with their numbers, in no order.
pub fn definitions(arch: Arch) -> impl Iterator<Item = (i64, &'static Definition)> {
    (0..MAX_CALLS as i64).filter_map(move |number| Some((number, definition(arch, number)?)))
}

/// The set of that name; empty if there is none, which a test excludes.
pub(super) fn set(name: &str) -> &'static Set {
    static EMPTY: Set = Set { name: "", masked: Vec::new(), names: Vec::new() };
    tables().sets.iter().find(|set| set.name == name).unwrap_or(&EMPTY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::syscall_name;

    #[test]
    fn every_call_of_both_processors_is_described() {
        for arch in [Arch::X86_64, Arch::Aarch64] {
            for number in 0..MAX_CALLS as i64 {
                if let Some(name) = syscall_name(arch, number) {
                    assert_eq!(definition(arch, number).map(|call| call.name), Some(name), "{arch:?} {number}");
                }
            }
        }
    }

    #[test]
    fn every_word_of_the_table_is_understood() {
        let sets: &'static [Set] = Box::leak(read_sets().into_boxed_slice());
        for line in lines(CALLS) {
            let call = read_call(line, sets).unwrap_or_else(|| panic!("{line}"));
            let words = line.split(' ').skip(2).filter(|word| !word.starts_with("ret=")).count();
            assert_eq!(call.arguments.len(), words, "{line}");
            assert!(words <= 6, "{line}");
            for argument in &call.arguments {
                let needs = matches!(argument.kind, Kind::Data | Kind::HexData | Kind::Vectors | Kind::PollFds);
                assert!(!needs || argument.length != Length::Fixed, "{line}");
            }
        }
        for set in sets {
            assert!(!set.names.is_empty(), "{}", set.name);
        }
    }
}
