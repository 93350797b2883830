//! The tables of calls and of named bits, read on first use.

use std::{
    collections::{BTreeMap, HashMap},
    sync::OnceLock,
};

use super::{abi::Abi, grab::Length};
use crate::constants::{Arch, syscall_number};

const CALLS: &str = include_str!("../../data/calls.txt");
const CALLS_I386: &str = include_str!("../../data/calls.i386.txt");
const SYSCALLS_I386: &str = include_str!("../../data/syscalls.i386.txt");
const SYSCALLS_X32: &str = include_str!("../../data/syscalls.x32.txt");
const FLAGS: &str = include_str!("../../data/flags.txt");

/// Numbers of calls are smaller than this, without the bits that say [`Abi`]; not those that are made through others.
pub const MAX_CALLS: usize = 512;

/// Sizes of what structures consist of, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StructureLayout {
    /// Of pointers and `long`.
    pub(super) word: usize,
    /// Of the halves of times.
    pub(super) time: usize,
}

impl StructureLayout {
    /// Whether pointers have 32 bits.
    pub(super) fn is_narrow(self) -> bool {
        self.word == 4
    }
}

/// A set of named bits or numbers.
#[derive(Debug, Default)]
pub(super) struct Set {
    pub(super) name: &'static str,
    /// Whether a value has one name, and not one for each of its bits.
    pub(super) is_of_numbers: bool,
    /// Numbers under masks: mask, and value with name.
    pub(super) masked: Vec<(u64, Vec<(u64, &'static str)>)>,
    /// Value and name, in the order in which they are written.
    pub(super) names: Vec<(u64, &'static str)>,
}

/// What an argument is, as far as it can be told from the call alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the table's own words, explained by their names")]
pub enum ArgumentKind {
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
    /// Of two arguments, the low half first.
    Offset64,
    /// Of two arguments, the high half first.
    SeekOffset,
    PageOffset,
    Uid16,
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
    OffsetPointer,
    Uids16,
    Uid16Pointer,
    Stat64,
    Statfs64,
    Rlimit64,
    OldSigaction,
    OldSigset,
}

impl ArgumentKind {
    /// Whether it points to text or to bytes that are shown as text, and to no structure.
    pub(super) fn is_text(self) -> bool {
        matches!(self, Self::Path | Self::Text | Self::Data | Self::HexData | Self::TextOut)
    }
}

#[rustfmt::skip]
const KINDS: [(&str, ArgumentKind); 100] = [
    ("int", ArgumentKind::Int), ("uint", ArgumentKind::Uint), ("long", ArgumentKind::Long),
    ("ulong", ArgumentKind::Ulong), ("hex", ArgumentKind::Hex), ("oct", ArgumentKind::Octal),
    ("ptr", ArgumentKind::Ptr), ("offset", ArgumentKind::Offset), ("fd", ArgumentKind::Fd),
    ("atfd", ArgumentKind::AtFd), ("mapfd", ArgumentKind::MapFd), ("mode", ArgumentKind::Mode),
    ("openmode", ArgumentKind::OpenMode), ("modetype", ArgumentKind::ModeType), ("dev", ArgumentKind::Dev),
    ("pid", ArgumentKind::Pid), ("uid", ArgumentKind::Uid), ("sig", ArgumentKind::Signal),
    ("ipckey", ArgumentKind::IpcKey), ("ipcflags", ArgumentKind::IpcFlags), ("skip", ArgumentKind::Skip),
    ("flags", ArgumentKind::Flags), ("enum", ArgumentKind::Enum), ("mapflags", ArgumentKind::MapFlags),
    ("mremapaddr", ArgumentKind::MremapAddress), ("socktype", ArgumentKind::SocketType),
    ("sockproto", ArgumentKind::SocketProtocol), ("sockopt", ArgumentKind::SocketOption),
    ("cloneflags", ArgumentKind::CloneFlags), ("ioctl", ArgumentKind::Ioctl), ("futexop", ArgumentKind::FutexOp),
    ("futexval", ArgumentKind::FutexValue), ("futextime", ArgumentKind::FutexTime),
    ("futexaddr", ArgumentKind::FutexAddress), ("futexbits", ArgumentKind::FutexBits), ("path", ArgumentKind::Path),
    ("str", ArgumentKind::Text), ("data", ArgumentKind::Data), ("hexdata", ArgumentKind::HexData),
    ("text", ArgumentKind::TextOut), ("argv", ArgumentKind::Argv), ("envp", ArgumentKind::Envp),
    ("sockaddr", ArgumentKind::Address), ("socklen", ArgumentKind::AddressLength), ("iovec", ArgumentKind::Vectors),
    ("msghdr", ArgumentKind::Message), ("sockoptval", ArgumentKind::SocketValue),
    ("ioctlarg", ArgumentKind::IoctlArgument), ("fcntlarg", ArgumentKind::FcntlArgument),
    ("prctlarg", ArgumentKind::PrctlArgument), ("prctlrest", ArgumentKind::PrctlRest),
    ("pollfds", ArgumentKind::PollFds), ("epollevent", ArgumentKind::EpollEvent),
    ("epollevents", ArgumentKind::EpollEvents), ("uints", ArgumentKind::Uints), ("cpuset", ArgumentKind::CpuSet),
    ("cloneargs", ArgumentKind::CloneArguments), ("openhow", ArgumentKind::OpenHow), ("stat", ArgumentKind::Stat),
    ("statx", ArgumentKind::Statx), ("statfs", ArgumentKind::Statfs), ("timespec", ArgumentKind::Timespec),
    ("timespecs2", ArgumentKind::Timespecs2), ("timeval", ArgumentKind::Timeval),
    ("timevals2", ArgumentKind::Timevals2), ("itimerspec", ArgumentKind::Itimerspec),
    ("itimerval", ArgumentKind::Itimerval), ("rlimit", ArgumentKind::Rlimit), ("rusage", ArgumentKind::Rusage),
    ("sigaction", ArgumentKind::Sigaction), ("sigset", ArgumentKind::Sigset), ("stack", ArgumentKind::SignalStack),
    ("utsname", ArgumentKind::Utsname), ("sysinfo", ArgumentKind::Sysinfo), ("tms", ArgumentKind::Tms),
    ("intp", ArgumentKind::IntPointer), ("uintp", ArgumentKind::UintPointer), ("longp", ArgumentKind::LongPointer),
    ("fdpair", ArgumentKind::FdPair), ("wstatus", ArgumentKind::WaitStatus), ("ints1", ArgumentKind::IntPointer),
    ("uints1", ArgumentKind::UintPointer), ("fdset", ArgumentKind::FdSet), ("lefttimeval", ArgumentKind::LeftTimeval),
    ("lefttimespec", ArgumentKind::LeftTimespec), ("maskptr", ArgumentKind::MaskPointer),
    ("dirents", ArgumentKind::Entries), ("siginfo", ArgumentKind::SignalInfo), ("off64", ArgumentKind::Offset64),
    ("llseek", ArgumentKind::SeekOffset), ("pageoffset", ArgumentKind::PageOffset), ("uid16", ArgumentKind::Uid16),
    ("loffp", ArgumentKind::OffsetPointer), ("uids16", ArgumentKind::Uids16), ("uid16p", ArgumentKind::Uid16Pointer),
    ("stat64", ArgumentKind::Stat64), ("statfs64", ArgumentKind::Statfs64), ("rlimit64", ArgumentKind::Rlimit64),
    ("oldsigaction", ArgumentKind::OldSigaction), ("oldsigset", ArgumentKind::OldSigset),
];

/// An argument of a call.
#[derive(Clone, Copy, Debug)]
pub struct CallArgument {
    /// Its name in the manual or the kernel.
    pub name: &'static str,
    /// Its place among the call's arguments, from 0; mostly its place in the list.
    pub register: u8,
    /// What it is.
    pub kind: ArgumentKind,
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
#[derive(Clone, Debug)]
pub struct CallDefinition {
    /// Its name.
    pub name: &'static str,
    /// The call of 64-bit programs that it is like, or its own name.
    pub(super) like: &'static str,
    /// How large what its arguments point to is.
    pub(super) layout: StructureLayout,
    /// Its arguments.
    pub arguments: Vec<CallArgument>,
    /// What it returns.
    pub returns: Returns,
    /// The sets it is in, as letters of the table.
    pub(super) sets: &'static str,
}

struct CallTables {
    /// By number, with the bits of [`Abi`].
    calls: [BTreeMap<i64, CallDefinition>; 2],
    /// Numbers by name; a call of its own goes before one that is made through another.
    by_name: [HashMap<(Abi, &'static str), i64>; 2],
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
            sets.push(Set { name: value, is_of_numbers: name == "enum", ..Set::default() });
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

fn tables() -> &'static CallTables {
    static SETS: OnceLock<Vec<Set>> = OnceLock::new();
    static TABLES: OnceLock<CallTables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let sets = SETS.get_or_init(read_sets);
        let calls = [Arch::X86_64, Arch::Aarch64].map(|arch| calls_of(arch, sets));
        let names = |calls: &BTreeMap<i64, CallDefinition>, arch: Arch| {
            let name = |(number, call): (&i64, &CallDefinition)| ((Abi::of(arch, *number), call.name), *number);
            calls.iter().rev().map(name).collect()
        };
        let [x86_64, aarch64] = &calls;
        let by_name = [names(x86_64, Arch::X86_64), names(aarch64, Arch::Aarch64)];
        CallTables { calls, by_name, sets }
    })
}

fn calls_of(arch: Arch, sets: &'static [Set]) -> BTreeMap<i64, CallDefinition> {
    let read = |line: &'static str| read_call(line, sets).map(|call| (call.name, call));
    let known: HashMap<&str, CallDefinition> = lines(CALLS).filter_map(read).collect();
    let number = |(name, call): (&&str, &CallDefinition)| Some((syscall_number(arch, name)?, call.clone()));
    let mut all: BTreeMap<i64, CallDefinition> = known.iter().filter_map(number).collect();
    if arch == Arch::X86_64 {
        let own: HashMap<&str, CallDefinition> =
            lines(CALLS_I386).filter_map(|line| read_call_of_i386(line, &known, sets)).collect();
        let none = HashMap::new();
        all.extend(calls_of_abi(Abi::I386, SYSCALLS_I386, &own, &known));
        all.extend(calls_of_abi(Abi::X32, SYSCALLS_X32, &none, &known));
    }
    all
}

/// The calls of a table of numbers: as `own` says, else as `known` does.
fn calls_of_abi(
    abi: Abi,
    numbers: &'static str,
    own: &HashMap<&str, CallDefinition>,
    known: &HashMap<&str, CallDefinition>,
) -> Vec<(i64, CallDefinition)> {
    let call = |line: &'static str| {
        let (number, name) = line.split_once(' ')?;
        let number = match number.strip_prefix("0x") {
            Some(digits) => i64::from_str_radix(digits, 16).ok()?,
            None => number.parse().ok()?,
        };
        let call = own.get(name).or_else(|| known.get(name))?.clone();
        Some((number | abi.bit(), CallDefinition { layout: abi.layout(number), ..call }))
    };
    lines(numbers).filter_map(call).collect()
}

fn read_call_of_i386(
    line: &'static str,
    known: &HashMap<&str, CallDefinition>,
    sets: &'static [Set],
) -> Option<(&'static str, CallDefinition)> {
    let (key, rest) = line.split_once(' ')?;
    let name = key.split('@').next().unwrap_or(key);
    let call = match rest.strip_prefix('=') {
        Some(other) => known.get(other)?.clone(),
        None => read_call(line, sets)?,
    };
    Some((key, CallDefinition { name, ..call }))
}

fn read_call(line: &'static str, sets: &'static [Set]) -> Option<CallDefinition> {
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
    let mut arguments: Vec<CallArgument> =
        arguments.iter().zip(0..).filter_map(|(word, at)| read_argument(word, at, &names, sets)).collect();
    let registers: Vec<u8> = arguments.iter().map(|argument| argument.register).collect();
    // Lengths were read as places in the list.
    for argument in &mut arguments {
        if let Length::Argument(at) | Length::Behind(at) = &mut argument.length {
            *at = registers.get(usize::from(*at)).copied().unwrap_or(*at);
        }
    }
    let layout = Abi::Native.layout(0);
    Some(CallDefinition { name, like: name, layout, arguments, returns, sets: letters })
}

fn read_argument(word: &'static str, place: u8, names: &[&str], sets: &'static [Set]) -> Option<CallArgument> {
    let (word, register) = match word.split_once('@') {
        Some((word, register)) => (word, register.parse().ok()?),
        None => (word, place),
    };
    let at = word.find(['=', '>'])?;
    let (name, rest) = word.split_at(at);
    let out = rest.starts_with('>');
    let rest = rest.get(1..)?;
    let (kind, from) = rest.split_once('(').unwrap_or((rest, ""));
    let from = from.trim_end_matches(')');
    let index = |name: &str| names.iter().position(|known| *known == name).and_then(|at| u8::try_from(at).ok());
    let kind = KINDS.iter().find(|(known, _)| *known == kind)?.1;
    let set = match kind {
        ArgumentKind::Flags | ArgumentKind::Enum => Some(sets.iter().find(|set| set.name == from)?),
        _ => None,
    };
    let length = match from {
        "ret" => Length::Result,
        from => match from.strip_prefix('*') {
            Some(behind) => Length::Behind(index(behind)?),
            None => index(from).map_or(Length::Fixed, Length::Argument),
        },
    };
    Some(CallArgument { name, register, kind, out, length, set })
}

fn index(arch: Arch) -> usize {
    match arch {
        Arch::X86_64 => 0,
        Arch::Aarch64 => 1,
    }
}

/// What is known of the call of this number, which has the bits of [`Abi`]; none for numbers that the tables do not have.
pub fn definition(arch: Arch, number: i64) -> Option<&'static CallDefinition> {
    let calls = tables().calls.get(index(arch))?;
    let bare = number & !Abi::X32_BIT;
    let shared = Abi::of(arch, number) == Abi::X32 && bare < MAX_CALLS as i64;
    calls.get(if shared { &bare } else { &number })
}

/// All calls of a processor by their numbers: its own, then those of [`Abi::X32`] that have numbers of their own, then
/// those of [`Abi::I386`].
pub fn definitions(arch: Arch) -> impl Iterator<Item = (i64, &'static CallDefinition)> {
    tables().calls.get(index(arch)).into_iter().flatten().map(|(number, call)| (*number, call))
}

/// The number of a call of that name that was made by an interface.
pub fn number_of(arch: Arch, abi: Abi, name: &str) -> Option<i64> {
    let by_name = tables().by_name.get(index(arch))?;
    // Most calls of x32 are those of 64-bit programs.
    let shared = || by_name.get(&(Abi::Native, name)).filter(|_| abi == Abi::X32);
    by_name.get(&(abi, name)).or_else(shared).copied()
}

/// All sets.
pub(super) fn sets() -> &'static [Set] {
    tables().sets
}

/// The set of that name; empty if there is none, which a test excludes.
pub(super) fn set(name: &str) -> &'static Set {
    static EMPTY: Set = Set { name: "", is_of_numbers: false, masked: Vec::new(), names: Vec::new() };
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
    fn every_call_of_32_bit_programs_and_of_x32_is_described() {
        for (abi, table, first) in
            [(Abi::I386, SYSCALLS_I386, "restart_syscall"), (Abi::X32, SYSCALLS_X32, "rt_sigaction")]
        {
            let all = definitions(Arch::X86_64).filter(|(number, _)| Abi::of(Arch::X86_64, *number) == abi);
            let all: Vec<(i64, &CallDefinition)> = all.collect();
            assert_eq!(all.len(), lines(table).count(), "{abi:?}");
            assert_eq!(all.first().map(|(_, call)| call.name), Some(first));
            assert!(all.iter().all(|(_, call)| call.layout.is_narrow()));
        }
        let name = |number: i64| definition(Arch::X86_64, number).map(|call| call.name);
        let cases = [
            (Abi::I386_BIT | 5, Some("open")),
            (Abi::I386_BIT | 192, Some("mmap2")),
            (Abi::I386_BIT | Abi::THROUGH_SOCKETCALL | 10, Some("recv")),
            (Abi::I386_BIT | (Abi::THROUGH_IPC + 21), Some("shmat")),
            (Abi::X32_BIT | 39, Some("getpid")),
            (Abi::X32_BIT | 515, Some("readv")),
            (Abi::X32_BIT | 600, None),
            (515, None),
        ];
        for (number, expected) in cases {
            assert_eq!(name(number), expected, "{number:#x}");
        }
        assert_eq!(number_of(Arch::X86_64, Abi::I386, "socket"), Some(Abi::I386_BIT | 359));
        assert_eq!(number_of(Arch::X86_64, Abi::X32, "getpid"), Some(39));
        assert_eq!(number_of(Arch::X86_64, Abi::X32, "readv"), Some(Abi::X32_BIT | 515));
        assert_eq!(number_of(Arch::X86_64, Abi::Native, "mmap2"), None);
    }

    #[test]
    fn every_word_of_the_table_is_understood() {
        let sets: &'static [Set] = Box::leak(read_sets().into_boxed_slice());
        for line in lines(CALLS).chain(lines(CALLS_I386).filter(|line| !line.contains(" ="))) {
            let call = read_call(line, sets).unwrap_or_else(|| panic!("{line}"));
            let words = line.split(' ').skip(2).filter(|word| !word.starts_with("ret=")).count();
            assert_eq!(call.arguments.len(), words, "{line}");
            assert!(words <= 6, "{line}");
            for argument in &call.arguments {
                let needs = matches!(
                    argument.kind,
                    ArgumentKind::Data | ArgumentKind::HexData | ArgumentKind::Vectors | ArgumentKind::PollFds
                );
                assert!(!needs || argument.length != Length::Fixed, "{line}");
            }
        }
        for set in sets {
            assert!(!set.names.is_empty(), "{}", set.name);
        }
    }
}
