//! Names of numbers that BTF does not have because the kernel has them as `#define`: address families, flags, errors,
//! signals, system calls, capabilities.
//!
//! They are part of the kernel's interface to programs and do not change; some differ between processors, so the tables
//! take an [`Arch`]. The tables are text in `data/`; they are read on first use.

use std::{collections::HashMap, sync::OnceLock};

const CONSTANTS: &str = include_str!("../data/constants.txt");
const ERRORS: &str = include_str!("../data/errors.txt");
const SYSCALLS_X86_64: &str = include_str!("../data/syscalls.x86_64.txt");
const SYSCALLS_AARCH64: &str = include_str!("../data/syscalls.aarch64.txt");

/// Registers of x86_64 as the kernel's probes call them, by their numbers in debug information (System V ABI, figure 3.36).
pub const X86_DEBUG_REGISTERS: [&str; 17] =
    ["ax", "dx", "cx", "bx", "si", "di", "bp", "sp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "ip"];

/// A processor that programs run on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arch {
    /// AMD and Intel.
    X86_64,
    /// Arm, 64 bits.
    Aarch64,
}

impl Arch {
    /// The processor that this is compiled for; x86_64 on anything that is not supported.
    pub const HOST: Self = if cfg!(target_arch = "aarch64") { Self::Aarch64 } else { Self::X86_64 };

    fn index(self) -> usize {
        match self {
            Self::X86_64 => 0,
            Self::Aarch64 => 1,
        }
    }
}

/// A named number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant {
    /// Such as `AF_INET`.
    pub name: &'static str,
    /// Its value.
    pub value: i64,
    /// The family it belongs to, such as `AF_` or `errno`.
    pub group: &'static str,
}

/// The constant of that name.
pub fn constant(arch: Arch, name: &str) -> Option<Constant> {
    let tables = tables();
    let at = *tables.by_name.get(name)?;
    tables.constants.get(at).and_then(|entry| entry.on(arch))
}

/// All constants, group by group, in order of their values.
pub fn constants(arch: Arch) -> impl Iterator<Item = Constant> {
    tables().constants.iter().filter_map(move |entry| entry.on(arch))
}

/// What `strerror(3)` says of an error number, with or without minus sign: `No such file or directory`.
pub fn errno_text(errno: i64) -> Option<&'static str> {
    tables().errors.get(&errno.unsigned_abs()).map(|(_, text)| *text)
}

/// The name of an error number, with or without minus sign: `ENOENT`.
pub fn errno_name(errno: i64) -> Option<&'static str> {
    tables().errors.get(&errno.unsigned_abs()).map(|(name, _)| *name)
}

/// The name of a signal: `SIGKILL`. `None` of real-time signals.
pub fn signal_name(signal: i64) -> Option<&'static str> {
    // Numbers from 32 on are real-time signals, which have no names of their own.
    if signal >= 32 { None } else { name_of("SIG", signal) }
}

/// What a signal means, in the words of strsignal(3).
pub fn signal_text(signal: i64) -> String {
    const WORDS: [&str; 31] = [
        "Hangup",
        "Interrupt",
        "Quit",
        "Illegal instruction",
        "Trace/breakpoint trap",
        "Aborted",
        "Bus error",
        "Floating point exception",
        "Killed",
        "User defined signal 1",
        "Segmentation fault",
        "User defined signal 2",
        "Broken pipe",
        "Alarm clock",
        "Terminated",
        "Stack fault",
        "Child exited",
        "Continued",
        "Stopped (signal)",
        "Stopped",
        "Stopped (tty input)",
        "Stopped (tty output)",
        "Urgent I/O condition",
        "CPU time limit exceeded",
        "File size limit exceeded",
        "Virtual timer expired",
        "Profiling timer expired",
        "Window changed",
        "I/O possible",
        "Power failure",
        "Bad system call",
    ];
    let word = usize::try_from(signal).ok().and_then(|signal| WORDS.get(signal.checked_sub(1)?));
    match (word, signal) {
        (Some(word), _) => (*word).to_owned(),
        (None, 34..=64) => format!("Real-time signal {}", signal - 34),
        // The C library keeps two for itself.
        (None, 0 | 32 | 33) => format!("Unknown signal {signal}"),
        (None, _) => "N/A".to_owned(),
    }
}

/// The number of a signal, by its name with or without `SIG`, in any case.
pub fn signal_number(name: &str) -> Option<i64> {
    let upper = name.to_ascii_uppercase();
    let full = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
    constant(Arch::HOST, &full).filter(|found| found.group == "SIG").map(|found| found.value)
}

/// The name of a system call: `openat`.
pub fn syscall_name(arch: Arch, number: i64) -> Option<&'static str> {
    tables().syscalls.get(arch.index())?.0.get(&number).copied()
}

/// The number of a system call.
pub fn syscall_number(arch: Arch, name: &str) -> Option<i64> {
    tables().syscalls.get(arch.index())?.1.get(name).copied()
}

/// The name of a capability: `CAP_SYS_ADMIN`.
pub fn capability_name(number: i64) -> Option<&'static str> {
    name_of("CAP_", number)
}

/// The first name of a number in a group.
fn name_of(group: &str, value: i64) -> Option<&'static str> {
    let mut all = tables().constants.iter().filter_map(|entry| entry.on(Arch::HOST));
    all.find(|found| found.group == group && found.value == value).map(|found| found.name)
}

struct ConstantEntry {
    name: &'static str,
    group: &'static str,
    values: [Option<i64>; 2],
}

impl ConstantEntry {
    fn on(&self, arch: Arch) -> Option<Constant> {
        let value = (*self.values.get(arch.index())?)?;
        Some(Constant { name: self.name, value, group: self.group })
    }
}

/// System calls by number and by name.
type Syscalls = (HashMap<i64, &'static str>, HashMap<&'static str, i64>);

struct ConstantTables {
    constants: Vec<ConstantEntry>,
    by_name: HashMap<&'static str, usize>,
    errors: HashMap<u64, (&'static str, &'static str)>,
    syscalls: [Syscalls; 2],
}

fn tables() -> &'static ConstantTables {
    static TABLES: OnceLock<ConstantTables> = OnceLock::new();
    TABLES.get_or_init(|| {
        let (mut constants, mut errors) = (Vec::new(), HashMap::new());
        let mut group = "";
        for line in lines(CONSTANTS) {
            if let Some(name) = line.strip_prefix("@ ") {
                group = name;
                continue;
            }
            let mut words = line.split(' ');
            let name = words.next().unwrap_or_default();
            let on_x86_64 = words.next().unwrap_or_default();
            let on_aarch64 = words.next().unwrap_or(on_x86_64);
            constants.push(ConstantEntry { name, group, values: [number(on_x86_64), number(on_aarch64)] });
        }
        for line in lines(ERRORS) {
            let mut words = line.splitn(3, ' ');
            let value = words.next().and_then(number).unwrap_or(0);
            let (names, text) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
            errors.insert(value.unsigned_abs(), (names.split('|').next().unwrap_or_default(), text));
            let of = |name| ConstantEntry { name, group: "errno", values: [Some(value); 2] };
            constants.extend(names.split('|').map(of));
        }
        let by_name = constants.iter().enumerate().map(|(at, entry)| (entry.name, at)).collect();
        let syscalls = [SYSCALLS_X86_64, SYSCALLS_AARCH64].map(|table| {
            let pairs = lines(table).filter_map(|line| line.split_once(' '));
            let pairs: Vec<_> = pairs.filter_map(|(value, name)| Some((number(value)?, name))).collect();
            (pairs.iter().copied().collect(), pairs.iter().map(|(value, name)| (*name, *value)).collect())
        });
        ConstantTables { constants, by_name, errors, syscalls }
    })
}

fn lines(table: &'static str) -> impl Iterator<Item = &'static str> {
    table.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

/// A number in decimal, hexadecimal or octal; `None` of `-`.
fn number(text: &str) -> Option<i64> {
    if let Some(digits) = text.strip_prefix("0x") {
        return i64::from_str_radix(digits, 16).ok();
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return i64::from_str_radix(digits, 8).ok();
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_tables_is_read() {
        let shaped =
            |line: &str| line.starts_with("@ ") || line.split(' ').skip(1).all(|n| n == "-" || number(n).is_some());
        assert_eq!(lines(CONSTANTS).find(|line| !shaped(line)), None);
        let expected = lines(CONSTANTS).filter(|line| !line.starts_with('@')).count();
        let errors = tables().constants.iter().filter(|entry| entry.group == "errno").count();
        assert_eq!(tables().constants.len(), expected + errors);
        assert_eq!(tables().by_name.len(), tables().constants.len(), "a name is listed twice");
        assert_eq!(tables().errors.len(), lines(ERRORS).count());
        for (table, text) in tables().syscalls.iter().zip([SYSCALLS_X86_64, SYSCALLS_AARCH64]) {
            assert_eq!((table.0.len(), table.1.len()), (lines(text).count(), lines(text).count()));
        }
    }

    #[test]
    fn constants_have_the_values_of_their_processor() {
        let cases = [
            ("AF_INET", Some(2), Some(2)),
            ("AF_INET6", Some(10), Some(10)),
            ("SOCK_DGRAM", Some(2), Some(2)),
            ("IPPROTO_UDP", Some(17), Some(17)),
            ("O_CREAT", Some(0o100), Some(0o100)),
            ("O_DIRECT", Some(0o40000), Some(0o200_000)),
            ("O_DIRECTORY", Some(0o200_000), Some(0o40000)),
            ("O_NOFOLLOW", Some(0o400_000), Some(0o100_000)),
            ("O_LARGEFILE", Some(0o100_000), Some(0o400_000)),
            ("O_TMPFILE", Some(0o20_200_000), Some(0o20_040_000)),
            ("O_CLOEXEC", Some(0o2_000_000), Some(0o2_000_000)),
            ("S_IFDIR", Some(0o40000), Some(0o40000)),
            ("MAP_32BIT", Some(0x40), None),
            ("PROT_MTE", None, Some(0x20)),
            ("CLONE_NEWPID", Some(0x2000_0000), Some(0x2000_0000)),
            ("SIGKILL", Some(9), Some(9)),
            ("EWOULDBLOCK", Some(11), Some(11)),
            ("CAP_BPF", Some(39), Some(39)),
            ("TCP_LISTEN", Some(10), Some(10)),
            ("AT_FDCWD", Some(-100), Some(-100)),
            ("PF_KTHREAD", Some(0x20_0000), Some(0x20_0000)),
            ("NO_SUCH_THING", None, None),
        ];
        for (name, x86_64, aarch64) in cases {
            let value = |arch| constant(arch, name).map(|found| found.value);
            assert_eq!((value(Arch::X86_64), value(Arch::Aarch64)), (x86_64, aarch64), "{name}");
        }
        assert_eq!(constants(Arch::X86_64).filter(|found| found.group == "AF_").count(), 46);
    }

    #[test]
    fn numbers_have_names() {
        assert_eq!(errno_text(2), Some("No such file or directory"));
        assert_eq!((errno_text(-110), errno_name(-110)), (Some("Connection timed out"), Some("ETIMEDOUT")));
        assert_eq!((errno_name(11), errno_name(0), errno_name(i64::MIN)), (Some("EAGAIN"), None, None));
        assert_eq!(
            (signal_name(9), signal_name(6), signal_name(29)),
            (Some("SIGKILL"), Some("SIGABRT"), Some("SIGIO"))
        );
        assert_eq!((signal_name(0), signal_name(40)), (None, None));
        assert_eq!(
            (signal_number("kill"), signal_number("SIGTERM"), signal_number("KILLER")),
            (Some(9), Some(15), None)
        );
        assert_eq!(capability_name(21), Some("CAP_SYS_ADMIN"));
        assert_eq!(capability_name(40), Some("CAP_CHECKPOINT_RESTORE"));
        let cases =
            [("read", 0, 63), ("openat", 257, 56), ("clone3", 435, 435), ("statmount", 457, 457), ("bpf", 321, 280)];
        for (name, x86_64, aarch64) in cases {
            assert_eq!(syscall_number(Arch::X86_64, name), Some(x86_64), "{name}");
            assert_eq!(syscall_number(Arch::Aarch64, name), Some(aarch64), "{name}");
            assert_eq!(syscall_name(Arch::X86_64, x86_64), Some(name));
            assert_eq!(syscall_name(Arch::Aarch64, aarch64), Some(name));
        }
        assert_eq!((syscall_number(Arch::Aarch64, "open"), syscall_name(Arch::X86_64, 999)), (None, None));
    }
}
