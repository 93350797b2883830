//! Structures of fixed shape. Each function appends what strace shows of one and gives `None` if bytes are missing.

use super::{
    narrow,
    table::{ArgumentKind, StructureLayout, set},
    text::{Bytes, octal, pointer, put, quoted},
};
use crate::constants::{Arch, signal_name};

/// Appends the structure of `kind` that begins at `bytes`; `layout` says how large its members are.
pub(super) fn structure(out: &mut String, kind: ArgumentKind, bytes: &[u8], layout: StructureLayout) -> Option<()> {
    let b = Bytes(bytes);
    let (StructureLayout { word, time: half }, narrow) = (layout, layout.is_narrow());
    match kind {
        ArgumentKind::Timespec | ArgumentKind::FutexTime => time(out, b, 0, ("nsec", half)),
        ArgumentKind::Timeval => time(out, b, 0, ("usec", half)),
        ArgumentKind::Timespecs2 => pair(out, half, |out, at| utime(out, b, at, half)),
        ArgumentKind::Timevals2 => pair(out, half, |out, at| time(out, b, at, ("usec", half))),
        ArgumentKind::Itimerspec => interval(out, b, ("nsec", half)),
        ArgumentKind::Itimerval => interval(out, b, ("usec", half)),
        ArgumentKind::Stat if narrow => narrow::stat(out, b),
        ArgumentKind::Stat => stat(out, b),
        ArgumentKind::Stat64 => narrow::stat64(out, b),
        ArgumentKind::Statx => statx(out, b),
        ArgumentKind::Statfs if narrow => narrow::statfs(out, b, 4),
        ArgumentKind::Statfs => statfs(out, b),
        ArgumentKind::Statfs64 => narrow::statfs(out, b, 8),
        ArgumentKind::Rlimit => limits(out, b, word),
        ArgumentKind::Rlimit64 => limits(out, b, 8),
        // That of x32 is that of 32-bit programs.
        ArgumentKind::Rusage => usage(out, b, if narrow { 4 } else { 8 }),
        ArgumentKind::Sigaction => action(out, b, word),
        ArgumentKind::OldSigaction => narrow::old_action(out, b),
        ArgumentKind::Sigset => {
            signals(out, b.u64(0)?);
            Some(())
        }
        ArgumentKind::OldSigset => {
            signals(out, u64::from(b.u32(0)?));
            Some(())
        }
        ArgumentKind::SignalStack => signal_stack(out, b, word),
        ArgumentKind::Utsname => names(out, bytes),
        ArgumentKind::Sysinfo => system(out, b, word),
        ArgumentKind::Tms => process_times(out, b, word),
        ArgumentKind::EpollEvent => epoll_event(out, b, 0),
        ArgumentKind::IntPointer => number(out, b.i32(0)?),
        ArgumentKind::UintPointer => number(out, b.u32(0)?),
        ArgumentKind::Uid16Pointer => number(out, b.u16(0)?),
        ArgumentKind::LongPointer => number(out, b.signed_word(0, word)?),
        ArgumentKind::OffsetPointer => number(out, b.i64(0)?),
        ArgumentKind::FdPair => number(out, format_args!("{}, {}", b.i32(0)?, b.i32(4)?)),
        ArgumentKind::WaitStatus => {
            wait_status(out, b.i32(0)?);
            Some(())
        }
        _ => None,
    }
}

fn number(out: &mut String, number: impl std::fmt::Display) -> Option<()> {
    put(out, format_args!("[{number}]"));
    Some(())
}

/// A time, of whose halves the unit of the second is given and how many bytes each has.
fn time(out: &mut String, b: Bytes<'_>, at: usize, (unit, half): (&str, usize)) -> Option<()> {
    let (seconds, rest) = (b.signed_word(at, half)?, b.signed_word(at + half, half)?);
    put(out, format_args!("{{tv_sec={seconds}, tv_{unit}={rest}}}"));
    Some(())
}

/// A time of `utimensat`, which may be one of two words.
fn utime(out: &mut String, b: Bytes<'_>, at: usize, half: usize) -> Option<()> {
    match b.signed_word(at + half, half)? {
        0x3fff_ffff => out.push_str("UTIME_NOW"),
        0x3fff_fffe => out.push_str("UTIME_OMIT"),
        _ => time(out, b, at, ("nsec", half))?,
    }
    Some(())
}

/// Two times.
fn pair(out: &mut String, half: usize, mut one: impl FnMut(&mut String, usize) -> Option<()>) -> Option<()> {
    out.push('[');
    one(out, 0)?;
    out.push_str(", ");
    one(out, 2 * half)?;
    out.push(']');
    Some(())
}

fn interval(out: &mut String, b: Bytes<'_>, parts: (&str, usize)) -> Option<()> {
    out.push_str("{it_interval=");
    time(out, b, 0, parts)?;
    out.push_str(", it_value=");
    time(out, b, 2 * parts.1, parts)?;
    out.push('}');
    Some(())
}

/// Appends a file's mode with its type.
pub(super) fn mode(out: &mut String, mode: u64) {
    const TYPES: [(u64, &str); 7] = [
        (0o140_000, "S_IFSOCK"),
        (0o120_000, "S_IFLNK"),
        (0o100_000, "S_IFREG"),
        (0o060_000, "S_IFBLK"),
        (0o040_000, "S_IFDIR"),
        (0o020_000, "S_IFCHR"),
        (0o010_000, "S_IFIFO"),
    ];
    let kind = mode & 0o170_000;
    match TYPES.iter().find(|(bits, _)| *bits == kind) {
        Some((_, name)) => put(out, format_args!("{name}|")),
        None if kind != 0 => put(out, format_args!("0{kind:o}|")),
        None => {}
    }
    for (bit, name) in [(0o4000, "S_ISUID"), (0o2000, "S_ISGID"), (0o1000, "S_ISVTX")] {
        if mode & bit != 0 {
            put(out, format_args!("{name}|"));
        }
    }
    put(out, format_args!("0{:03o}", mode & 0o777));
}

/// Appends a device's number.
pub(super) fn device(out: &mut String, dev: u64) {
    let major = (dev >> 8 & 0xfff) | (dev >> 32 & 0xffff_f000);
    let minor = (dev & 0xff) | (dev >> 12 & 0xffff_ff00);
    // As C's `%#x`, which has no prefix for 0.
    let prefix = |number: u64| if number == 0 { "" } else { "0x" };
    put(out, format_args!("makedev({}{major:x}, {}{minor:x})", prefix(major), prefix(minor)));
}

pub(super) fn is_device(mode: u64) -> bool {
    matches!(mode & 0o170_000, 0o020_000 | 0o060_000)
}

fn stat(out: &mut String, b: Bytes<'_>) -> Option<()> {
    let (mode_at, rdev_at) = if Arch::HOST == Arch::Aarch64 { (16, 32) } else { (24, 40) };
    let bits = u64::from(b.u32(mode_at)?);
    out.push_str("{st_mode=");
    mode(out, bits);
    if is_device(bits) {
        out.push_str(", st_rdev=");
        device(out, b.u64(rdev_at)?);
    } else {
        put(out, format_args!(", st_size={}", b.i64(48)?));
    }
    out.push_str(", ...}");
    Some(())
}

fn statx(out: &mut String, b: Bytes<'_>) -> Option<()> {
    out.push_str("{stx_mask=");
    set("statx").write_bits(out, u64::from(b.u32(0)?));
    put(out, format_args!(", stx_attributes={:#x}", b.u64(8)?));
    if out.ends_with("=0x0") {
        out.truncate(out.len() - 2);
    }
    let bits = u64::from(b.u16(28)?);
    out.push_str(", stx_mode=");
    mode(out, bits);
    if is_device(bits) {
        put(out, format_args!(", stx_rdev_major={:#x}, stx_rdev_minor={:#x}", b.u32(128)?, b.u32(132)?));
    } else {
        put(out, format_args!(", stx_size={}", b.u64(40)?));
    }
    out.push_str(", ...}");
    Some(())
}

fn statfs(out: &mut String, b: Bytes<'_>) -> Option<()> {
    out.push_str("{f_type=");
    set("fsmagic").write_one(out, b.u64(0)?);
    put(out, format_args!(", f_bsize={}", b.u64(8)?));
    for (name, at) in [("blocks", 16), ("bfree", 24), ("bavail", 32), ("files", 40), ("ffree", 48)] {
        put(out, format_args!(", f_{name}={}", b.u64(at)?));
    }
    out.push_str(", f_fsid={val=[");
    hex(out, b.u32(56)?);
    out.push_str(", ");
    hex(out, b.u32(60)?);
    put(out, format_args!("]}}, f_namelen={}, f_frsize={}, f_flags=", b.u64(64)?, b.u64(72)?));
    set("st").write_bits(out, b.u64(80)?);
    out.push('}');
    Some(())
}

pub(super) fn hex(out: &mut String, number: u32) {
    match number {
        0 => out.push('0'),
        number => put(out, format_args!("{number:#x}")),
    }
}

fn limits(out: &mut String, b: Bytes<'_>, word: usize) -> Option<()> {
    let limit = |out: &mut String, value: u64| match value {
        0xffff_ffff if word == 4 => out.push_str("RLIM_INFINITY"),
        u64::MAX => out.push_str("RLIM64_INFINITY"),
        value if value > 1024 && value.is_multiple_of(1024) => put(out, format_args!("{}*1024", value / 1024)),
        value => put(out, format_args!("{value}")),
    };
    out.push_str("{rlim_cur=");
    limit(out, b.word(0, word)?);
    out.push_str(", rlim_max=");
    limit(out, b.word(word, word)?);
    out.push('}');
    Some(())
}

fn usage(out: &mut String, b: Bytes<'_>, half: usize) -> Option<()> {
    out.push_str("{ru_utime=");
    time(out, b, 0, ("usec", half))?;
    out.push_str(", ru_stime=");
    time(out, b, 2 * half, ("usec", half))?;
    out.push_str(", ...}");
    Some(())
}

fn action(out: &mut String, b: Bytes<'_>, word: usize) -> Option<()> {
    let member = |index: usize| b.word(index * word, word);
    let (handler, flags, restorer, mask) = (member(0)?, member(1)?, member(2)?, b.u64(3 * word)?);
    action_of(out, [handler, mask, flags, restorer], word)
}

pub(super) fn action_of(out: &mut String, [handler, mask, flags, restorer]: [u64; 4], word: usize) -> Option<()> {
    let error = if word == 4 { u64::from(u32::MAX) } else { u64::MAX };
    out.push_str("{sa_handler=");
    match handler {
        0 => out.push_str("SIG_DFL"),
        1 => out.push_str("SIG_IGN"),
        address if address == error => out.push_str("SIG_ERR"),
        address => pointer(out, address),
    }
    out.push_str(", sa_mask=");
    signals(out, mask);
    out.push_str(", sa_flags=");
    set("sa").write_bits(out, flags);
    if flags & 0x0400_0000 != 0 {
        out.push_str(", sa_restorer=");
        pointer(out, restorer);
    }
    out.push('}');
    Some(())
}

/// Appends the name of a signal.
pub(super) fn signal(out: &mut String, number: i64) {
    match (signal_name(number), number) {
        (Some(name), 1..) => out.push_str(name),
        (_, 32) => out.push_str("SIGRTMIN"),
        (_, 33..=64) => put(out, format_args!("SIGRT_{}", number - 32)),
        _ => put(out, format_args!("{number}")),
    }
}

/// Appends a set of signals; of one with most signals those that are not in it.
fn signals(out: &mut String, bits: u64) {
    let most = bits.count_ones() >= 43;
    let shown = if most { !bits } else { bits };
    out.push_str(if most { "~[" } else { "[" });
    let mut first = true;
    for number in (1..=64_i64).filter(|number| shown >> (number - 1) & 1 == 1) {
        if !std::mem::take(&mut first) {
            out.push(' ');
        }
        let mut name = String::new();
        signal(&mut name, number);
        out.push_str(name.trim_start_matches("SIG"));
    }
    out.push(']');
}

fn signal_stack(out: &mut String, b: Bytes<'_>, word: usize) -> Option<()> {
    out.push_str("{ss_sp=");
    pointer(out, b.word(0, word)?);
    out.push_str(", ss_flags=");
    set("ss").write_bits(out, u64::from(b.u32(word)?));
    put(out, format_args!(", ss_size={}}}", b.word(2 * word, word)?));
    Some(())
}

fn names(out: &mut String, bytes: &[u8]) -> Option<()> {
    let name = |out: &mut String, at: usize| -> Option<()> {
        let field = bytes.get(at..at + 65)?;
        quoted(out, field.split(|byte| *byte == 0).next().unwrap_or_default());
        Some(())
    };
    out.push_str("{sysname=");
    name(out, 0)?;
    out.push_str(", nodename=");
    name(out, 65)?;
    out.push_str(", ...}");
    Some(())
}

fn system(out: &mut String, b: Bytes<'_>, word: usize) -> Option<()> {
    let member = |index: usize| b.word(index * word, word);
    let (uptime, loads) = (member(0)?, [member(1)?, member(2)?, member(3)?]);
    put(out, format_args!("{{uptime={uptime}, loads=[{}, {}, {}]", loads[0], loads[1], loads[2]));
    let fields = ["totalram", "freeram", "sharedram", "bufferram", "totalswap", "freeswap"];
    for (name, index) in fields.into_iter().zip(4..) {
        put(out, format_args!(", {name}={}", member(index)?));
    }
    let (procs, totalhigh, freehigh) = (b.u16(10 * word)?, member(11)?, member(12)?);
    put(out, format_args!(", procs={procs}, totalhigh={totalhigh}, freehigh={freehigh}"));
    put(out, format_args!(", mem_unit={}}}", b.u32(13 * word)?));
    Some(())
}

fn process_times(out: &mut String, b: Bytes<'_>, word: usize) -> Option<()> {
    let member = |index: usize| b.signed_word(index * word, word);
    put(out, format_args!("{{tms_utime={}, tms_stime={}", member(0)?, member(1)?));
    put(out, format_args!(", tms_cutime={}, tms_cstime={}}}", member(2)?, member(3)?));
    Some(())
}

/// Appends one `struct epoll_event` of an array; on aarch64 it is not packed.
pub(super) fn epoll_event(out: &mut String, b: Bytes<'_>, at: usize) -> Option<()> {
    let data_at = at + if Arch::HOST == Arch::Aarch64 { 8 } else { 4 };
    out.push_str("{events=");
    set("epoll").write_bits(out, u64::from(b.u32(at)?));
    put(out, format_args!(", data={{u32={}, u64={}}}}}", b.u32(data_at)?, b.u64(data_at)?));
    Some(())
}

fn wait_status(out: &mut String, status: i32) {
    let (low, high) = (status & 0x7f, status >> 8 & 0xff);
    out.push_str("[{");
    if low == 0 {
        put(out, format_args!("WIFEXITED(s) && WEXITSTATUS(s) == {high}"));
    } else if status & 0xff == 0x7f {
        out.push_str("WIFSTOPPED(s) && WSTOPSIG(s) == ");
        signal(out, i64::from(high));
    } else if status == 0xffff {
        out.push_str("WIFCONTINUED(s)");
    } else {
        out.push_str("WIFSIGNALED(s) && WTERMSIG(s) == ");
        signal(out, i64::from(low));
        if status & 0x80 != 0 {
            out.push_str(" && WCOREDUMP(s)");
        }
    }
    out.push_str("}]");
}

/// Where a record lock has its places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LockPlaces {
    /// Of 64 bits, as 64-bit programs have them.
    Long,
    /// Of 32 bits.
    Short,
    /// Of 64 bits, as 32-bit programs have them.
    Packed,
}

/// Appends a record lock.
pub(super) fn lock(out: &mut String, b: Bytes<'_>, with_pid: bool, places: LockPlaces) -> Option<()> {
    let (start_at, place) = match places {
        LockPlaces::Long => (8, 8),
        LockPlaces::Short => (4, 4),
        LockPlaces::Packed => (4, 8),
    };
    let (start, length) = (b.signed_word(start_at, place)?, b.signed_word(start_at + place, place)?);
    out.push_str("{l_type=");
    set("lktype").write_one(out, u64::from(b.u16(0)?));
    out.push_str(", l_whence=");
    set("whence").write_one(out, u64::from(b.u16(2)?));
    put(out, format_args!(", l_start={start}, l_len={length}"));
    if with_pid {
        put(out, format_args!(", l_pid={}", b.i32(start_at + 2 * place)?));
    }
    out.push('}');
    Some(())
}

/// Appends the arguments of `clone3`.
pub(super) fn clone_arguments(out: &mut String, b: Bytes<'_>) -> Option<()> {
    let flags = b.u64(0)?;
    out.push_str("{flags=");
    set("clone").write_bits(out, flags);
    for (name, bit, at) in [("pidfd", 0x1000, 8), ("child_tid", 0x0120_0000, 16), ("parent_tid", 0x0010_0000, 24)] {
        if flags & bit != 0 {
            put(out, format_args!(", {name}="));
            pointer(out, b.u64(at)?);
        }
    }
    out.push_str(", exit_signal=");
    signal(out, b.i64(32)?);
    out.push_str(", stack=");
    pointer(out, b.u64(40)?);
    out.push_str(", stack_size=");
    match b.u64(48)? {
        0 => out.push('0'),
        bytes => put(out, format_args!("{bytes:#x}")),
    }
    if flags & 0x0008_0000 != 0 {
        out.push_str(", tls=");
        pointer(out, b.u64(56)?);
    }
    out.push('}');
    Some(())
}

/// Appends what `clone3` has written for its caller: the id of what it has made, which is also its result.
pub(super) fn clone_results(out: &mut String, b: Bytes<'_>, made: i64) -> Option<()> {
    const PIDFD: u64 = 0x1000;
    const PARENT_SETTID: u64 = 0x0010_0000;
    let flags = b.u64(0)?;
    let mut written = Vec::new();
    if flags & PIDFD != 0 {
        written.push(format!("pidfd={:#x}", b.u64(8)?));
    }
    if flags & PARENT_SETTID != 0 {
        written.push(format!("parent_tid=[{made}]"));
    }
    if !written.is_empty() {
        put(out, format_args!(" => {{{}}}", written.join(", ")));
    }
    Some(())
}

/// Appends the way to open of `openat2`.
pub(super) fn open_how(out: &mut String, b: Bytes<'_>) -> Option<()> {
    let flags = b.u64(0)?;
    out.push_str("{flags=");
    set("open").write_bits(out, flags);
    if flags & 0o100 != 0 {
        out.push_str(", mode=");
        octal(out, b.u64(8)?);
    }
    out.push_str(", resolve=");
    set("resolve").write_bits(out, b.u64(16)?);
    out.push('}');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: StructureLayout = StructureLayout { word: 8, time: 8 };

    fn shown(kind: ArgumentKind, words: &[u64]) -> String {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let mut out = String::new();
        structure(&mut out, kind, &bytes, WIDE).unwrap();
        out
    }

    #[test]
    fn structures_are_written_as_strace_does() {
        let infinity = u64::MAX;
        let cases: Vec<(ArgumentKind, Vec<u64>, &str)> = vec![
            (ArgumentKind::Timespec, vec![1, 5], "{tv_sec=1, tv_nsec=5}"),
            (ArgumentKind::Timespecs2, vec![0, 0x3fff_ffff, 2, 7], "[UTIME_NOW, {tv_sec=2, tv_nsec=7}]"),
            (ArgumentKind::Rlimit, vec![8192 * 1024, infinity], "{rlim_cur=8192*1024, rlim_max=RLIM64_INFINITY}"),
            (ArgumentKind::Rlimit, vec![1024, 0], "{rlim_cur=1024, rlim_max=0}"),
            (ArgumentKind::Sigset, vec![1 << 16 | 1 << 33], "[CHLD RT_2]"),
            (ArgumentKind::Sigset, vec![!(1 << 31 | 1 << 32)], "~[RTMIN RT_1]"),
            (ArgumentKind::Sigset, vec![0], "[]"),
            (ArgumentKind::WaitStatus, vec![3 << 8], "[{WIFEXITED(s) && WEXITSTATUS(s) == 3}]"),
            (ArgumentKind::WaitStatus, vec![9 | 0x80], "[{WIFSIGNALED(s) && WTERMSIG(s) == SIGKILL && WCOREDUMP(s)}]"),
            (ArgumentKind::WaitStatus, vec![0x137f], "[{WIFSTOPPED(s) && WSTOPSIG(s) == SIGSTOP}]"),
            (
                ArgumentKind::Sigaction,
                vec![1, 0x1400_0000, 0x7f00, 1 << 12],
                "{sa_handler=SIG_IGN, sa_mask=[PIPE], sa_flags=SA_RESTORER|SA_RESTART, sa_restorer=0x7f00}",
            ),
            (ArgumentKind::FdPair, vec![3 | 4 << 32], "[3, 4]"),
        ];
        for (kind, words, expected) in cases {
            assert_eq!(shown(kind, &words), expected);
        }
    }

    #[test]
    fn modes_and_devices() {
        let text = |bits: u64| {
            let mut out = String::new();
            mode(&mut out, bits);
            out
        };
        assert_eq!(text(0o100_644), "S_IFREG|0644");
        assert_eq!(text(0o041_777), "S_IFDIR|S_ISVTX|0777");
        assert_eq!(text(0o644), "0644");
        let mut out = String::new();
        device(&mut out, 0x8803);
        assert_eq!(out, "makedev(0x88, 0x3)");
    }

    #[test]
    fn bytes_that_are_missing_are_told() {
        for kind in [
            ArgumentKind::Stat,
            ArgumentKind::Statx,
            ArgumentKind::Utsname,
            ArgumentKind::Sysinfo,
            ArgumentKind::Statfs,
            ArgumentKind::Sigaction,
        ] {
            assert_eq!(structure(&mut String::new(), kind, &[0; 7], WIDE), None);
        }
    }
}
