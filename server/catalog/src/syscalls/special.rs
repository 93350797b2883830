//! Calls whose arguments mean what another of their arguments says.

use super::{
    abi::Abi,
    decode::{CallWriter, before_nul, hex, value},
    structs::{LockPlaces, lock, signal, structure},
    table::{ArgumentKind, Set, set},
    text::{Bytes, pointer, put},
};
use crate::constants::{Arch, capability_name, errno_name};

/// A note that stands for: the result is a descriptor.
pub(super) const DESCRIPTOR: &str = "\0fd";

/// Writes the arguments of a call of this kind; `None` if it is of another.
pub(super) fn write(arch: Arch, w: &mut CallWriter<'_>) -> Option<()> {
    match w.definition.like {
        "fcntl" => control(w),
        "futex" => futex(w),
        "prctl" => process_control(w),
        "clone" => clone(arch, w),
        "ioctl" => device_control(w),
        "rt_sigreturn" => signal_return(w),
        _ => return None,
    }
    Some(())
}

#[expect(clippy::cast_possible_truncation, reason = "the kernel takes the low half of such arguments")]
fn low(value: u64) -> i32 {
    value as i32
}

/// The names of the options of a level of sockets.
pub(super) fn socket_option_set(level: u64) -> &'static Set {
    set(match level {
        0 => "ipopt",
        1 => "so",
        6 => "iptcp",
        41 => "ipv6opt",
        263 => "packetopt",
        270 => "netlinkopt",
        _ => "",
    })
}

fn control(w: &mut CallWriter<'_>) {
    w.descriptor(low(value(w.call, 0)));
    w.out.push_str(", ");
    let (command, argument) = (value(w.call, 1), value(w.call, 2));
    match command {
        12..=14 if w.abi == Abi::I386 => w.out.push_str(match command {
            12 => "F_GETLK64",
            13 => "F_SETLK64",
            _ => "F_SETLKW64",
        }),
        _ => set("fcntl").write_one(&mut w.out, command),
    }
    let length = w.out.len();
    w.out.push_str(", ");
    match command {
        // F_DUPFD, F_DUPFD_CLOEXEC.
        0 | 1030 => {
            put(&mut w.out, format_args!("{}", low(argument)));
            w.note.push_str(DESCRIPTOR);
        }
        // F_GETFD, F_GETFL, and others without an argument.
        1 | 3 | 9 | 11 | 1025 | 1032 | 1034 => {
            w.out.truncate(length);
            if let (1 | 3, Some(result @ 0..)) = (command, w.call.result) {
                let result = result.cast_unsigned();
                if command == 3 || result != 0 {
                    w.note.push_str("flags ");
                    set(if command == 1 { "fdflags" } else { "open" }).write_bits(&mut w.note, result);
                }
            }
        }
        2 => set("fdflags").write_bits(&mut w.out, argument),
        4 => set("open").write_bits(&mut w.out, argument),
        12..=14 if w.abi != Abi::I386 => hex(&mut w.out, argument),
        5..=7 | 12..=14 | 36..=38 => {
            let get = matches!(command, 5 | 12 | 36);
            let after = get && !w.failed();
            let bytes = w.piece(2, 0, after).unwrap_or_default();
            let (start, places) = (w.out.len(), lock_places(w, command));
            if lock(&mut w.out, Bytes(bytes), after, places).is_none() {
                w.out.truncate(start);
                pointer(&mut w.out, argument);
            }
        }
        8 | 1031 => put(&mut w.out, format_args!("{}", low(argument))),
        10 => signal(&mut w.out, i64::from(low(argument))),
        _ => hex(&mut w.out, argument),
    }
}

/// How a lock lies in memory: 32-bit programs have two kinds.
fn lock_places(w: &CallWriter<'_>, command: u64) -> LockPlaces {
    match (w.abi, command) {
        (Abi::I386, 5..=7) => LockPlaces::Short,
        (Abi::I386, _) => LockPlaces::Packed,
        _ => LockPlaces::Long,
    }
}

fn futex_operation(out: &mut String, op: u64) {
    const PRIVATE: u64 = 128;
    const REALTIME: u64 = 256;
    let base = op & !(PRIVATE | REALTIME);
    match set("futexop").name_of(base) {
        Some(name) => out.push_str(name),
        None => hex(out, base),
    }
    if op & PRIVATE != 0 {
        out.push_str("_PRIVATE");
    }
    if op & REALTIME != 0 {
        out.push_str("|FUTEX_CLOCK_REALTIME");
    }
}

fn futex(w: &mut CallWriter<'_>) {
    pointer(&mut w.out, value(w.call, 0));
    w.out.push_str(", ");
    let op = value(w.call, 1) & 0xffff_ffff;
    futex_operation(&mut w.out, op);
    let number = |w: &mut CallWriter<'_>, at: usize| {
        let value = value(w.call, at) & 0xffff_ffff;
        put(&mut w.out, format_args!(", {value}"));
    };
    let bits = |w: &mut CallWriter<'_>| match value(w.call, 5) & 0xffff_ffff {
        0xffff_ffff => w.out.push_str(", FUTEX_BITSET_MATCH_ANY"),
        other => put(&mut w.out, format_args!(", {other:#x}")),
    };
    match op & 0x7f {
        0 => {
            number(w, 2);
            futex_time(w);
        }
        1 => number(w, 2),
        3 | 4 | 5 | 12 => {
            number(w, 2);
            number(w, 3);
            w.out.push_str(", ");
            pointer(&mut w.out, value(w.call, 4));
            if matches!(op & 0x7f, 4 | 12) {
                number(w, 5);
            } else if op & 0x7f == 5 {
                put(&mut w.out, format_args!(", {:#x}", w.call.arguments.get(5).copied().unwrap_or(0) & 0xffff_ffff));
            }
        }
        6 | 13 => futex_time(w),
        7 | 8 => {}
        9 => {
            number(w, 2);
            futex_time(w);
            bits(w);
        }
        10 => {
            number(w, 2);
            bits(w);
        }
        11 => {
            number(w, 2);
            futex_time(w);
            w.out.push_str(", ");
            pointer(&mut w.out, value(w.call, 4));
        }
        _ => (2..6).for_each(|at| {
            w.out.push_str(", ");
            hex(&mut w.out, value(w.call, at));
        }),
    }
}

fn futex_time(w: &mut CallWriter<'_>) {
    w.comma();
    let start = w.out.len();
    let bytes = w.piece(3, 0, false).unwrap_or_default();
    if value(w.call, 3) == 0 || structure(&mut w.out, ArgumentKind::Timespec, bytes, w.definition.layout).is_none() {
        w.out.truncate(start);
        pointer(&mut w.out, value(w.call, 3));
    }
}

fn process_control(w: &mut CallWriter<'_>) {
    let (option, first) = (value(w.call, 0) & 0xffff_ffff, value(w.call, 1));
    set("prctl").write_one(&mut w.out, option);
    let with = |w: &mut CallWriter<'_>, count: usize| {
        for at in 1..=count {
            w.out.push_str(", ");
            hex(&mut w.out, value(w.call, at));
        }
    };
    match option {
        // PR_SET_PDEATHSIG.
        1 => {
            w.out.push_str(", ");
            signal(&mut w.out, i64::from(low(first)));
        }
        // PR_GET_DUMPABLE and PR_SET_DUMPABLE.
        3 | 4 => {
            let name = |value: u64| match value {
                0 => Some("SUID_DUMP_DISABLE"),
                1 => Some("SUID_DUMP_USER"),
                2 => Some("SUID_DUMP_ROOT"),
                _ => None,
            };
            if option == 4 {
                w.out.push_str(", ");
                match name(first) {
                    Some(name) => w.out.push_str(name),
                    None => hex(&mut w.out, first),
                }
            } else if let Some(name) = w.call.result.and_then(|result| name(result.cast_unsigned())) {
                w.note.push_str(name);
            }
        }
        // PR_SET_NAME and PR_GET_NAME.
        15 | 16 => {
            w.out.push_str(", ");
            match w.piece(1, 0, option == 16).filter(|_| option == 15 || !w.failed()) {
                Some(bytes) => {
                    let text = before_nul(bytes);
                    w.abbreviated(text, text.len() as u64, false);
                }
                None => pointer(&mut w.out, first),
            }
        }
        // PR_CAPBSET_READ and PR_CAPBSET_DROP.
        23 | 24 => {
            w.out.push_str(", ");
            match capability_name(first.cast_signed()) {
                Some(name) => w.out.push_str(name),
                None => put(&mut w.out, format_args!("{first:#x} /* CAP_??? */")),
            }
        }
        // Those that take nothing.
        7 | 13 | 21 | 27 | 30 | 31 | 32 => {}
        // Those that take one number.
        8 | 14 | 22 | 28 | 29 | 36 => with(w, 1),
        2 | 9 | 25 | 26 | 37 | 40 => {
            w.out.push_str(", ");
            pointer(&mut w.out, first);
        }
        _ => with(w, 4),
    }
}

fn clone(arch: Arch, w: &mut CallWriter<'_>) {
    let (child_at, tls_at) = if arch == Arch::Aarch64 || w.abi == Abi::I386 { (4, 3) } else { (3, 4) };
    let flags = value(w.call, 0);
    w.out.push_str("child_stack=");
    pointer(&mut w.out, value(w.call, 1));
    w.out.push_str(", flags=");
    let number = (flags & 0xff).cast_signed();
    if flags & !0xff != 0 || number == 0 {
        set("clone").write_bits(&mut w.out, flags & !0xff);
    }
    if number != 0 {
        if flags & !0xff != 0 {
            w.out.push('|');
        }
        signal(&mut w.out, number);
    }
    if flags & 0x0010_0000 != 0 {
        w.out.push_str(", parent_tid=");
        match w.call.result {
            // The kernel writes there what it returns.
            Some(tid @ 1..) => put(&mut w.out, format_args!("[{tid}]")),
            _ => pointer(&mut w.out, value(w.call, 2)),
        }
    }
    if flags & 0x0008_0000 != 0 {
        put(&mut w.out, format_args!(", tls={:#x}", value(w.call, tls_at)));
    }
    if flags & 0x0120_0000 != 0 {
        w.out.push_str(", child_tidptr=");
        pointer(&mut w.out, value(w.call, child_at));
    }
}

fn device_control(w: &mut CallWriter<'_>) {
    w.descriptor(low(value(w.call, 0)));
    w.out.push_str(", ");
    let (command, argument) = (value(w.call, 1) & 0xffff_ffff, value(w.call, 2));
    match set("ioctl").name_of(command) {
        Some(name) => w.out.push_str(name),
        None => {
            let direction = ["_IOC_NONE", "_IOC_WRITE", "_IOC_READ", "_IOC_READ|_IOC_WRITE"];
            let direction = direction.get((command >> 30) as usize).unwrap_or(&"?");
            let (kind, number, size) = (command >> 8 & 0xff, command & 0xff, command >> 16 & 0x3fff);
            put(&mut w.out, format_args!("_IOC({direction}, "));
            hex(&mut w.out, kind);
            w.out.push_str(", ");
            hex(&mut w.out, number);
            w.out.push_str(", ");
            hex(&mut w.out, size);
            w.out.push(')');
        }
    }
    w.out.push_str(", ");
    let filled = if w.failed() { None } else { w.piece(2, 0, true) };
    let given = w.piece(2, 0, false);
    let start = w.out.len();
    let shown = match command {
        // TIOCGWINSZ, TIOCSWINSZ.
        0x5413 => filled.and_then(|bytes| window(&mut w.out, Bytes(bytes))),
        0x5414 => given.and_then(|bytes| window(&mut w.out, Bytes(bytes))),
        // FIONREAD, TIOCOUTQ, TIOCGPGRP, TIOCGSID, TIOCGPTN.
        0x541b | 0x5411 | 0x540f | 0x5429 | 0x8004_5430 => filled.and_then(|bytes| one(&mut w.out, Bytes(bytes))),
        // FIONBIO, FIOASYNC, TIOCSPGRP, TIOCSPTLCK.
        0x5421 | 0x5452 | 0x5410 | 0x4004_5431 => given.and_then(|bytes| one(&mut w.out, Bytes(bytes))),
        _ => None,
    };
    if shown.is_none() {
        w.out.truncate(start);
        if argument == 0 && matches!(command, 0x5450 | 0x5451) {
            w.out.truncate(start - 2);
        } else if argument < 4096 && argument > 0 {
            hex(&mut w.out, argument);
        } else {
            match argument {
                0 => w.out.push('0'),
                argument => pointer(&mut w.out, argument),
            }
        }
    }
}

/// The signals that are blocked again; nothing if the kernel did not tell.
fn signal_return(w: &mut CallWriter<'_>) {
    let Some(bytes) = w.piece(0, 0, false) else { return };
    let start = w.out.len();
    w.out.push_str("{mask=");
    match structure(&mut w.out, ArgumentKind::Sigset, bytes, w.definition.layout) {
        Some(()) => w.out.push('}'),
        None => w.out.truncate(start),
    }
}

fn window(out: &mut String, b: Bytes<'_>) -> Option<()> {
    put(out, format_args!("{{ws_row={}, ws_col={}", b.u16(0)?, b.u16(2)?));
    put(out, format_args!(", ws_xpixel={}, ws_ypixel={}}}", b.u16(4)?, b.u16(6)?));
    Some(())
}

fn one(out: &mut String, b: Bytes<'_>) -> Option<()> {
    put(out, format_args!("[{}]", b.i32(0)?));
    Some(())
}

/// A message's header, whose parts are: itself, its name, its vectors' array and buffers.
pub(super) fn message(w: &mut CallWriter<'_>, at: usize, out: bool) -> Option<()> {
    let header = Bytes(w.piece(at, 0, out)?);
    let word = w.definition.layout.word;
    let (name, name_bytes) = (header.word(0, word)?, header.u32(word)?);
    let (vectors, count) = (header.word(2 * word, word)?, header.word(3 * word, word)?);
    let (control, control_bytes) = (header.word(4 * word, word)?, header.word(5 * word, word)?);
    let flags = header.u32(6 * word)?;
    w.out.push_str("{msg_name=");
    match w.piece(at, 1, out).filter(|_| name != 0 && name_bytes != 0) {
        Some(bytes) => super::address::socket_address(&mut w.out, bytes),
        None => pointer(&mut w.out, name),
    }
    put(&mut w.out, format_args!(", msg_namelen="));
    match name_bytes_before(w, at).filter(|before| out && *before != name_bytes) {
        Some(before) => put(&mut w.out, format_args!("{before} => {name_bytes}")),
        None => put(&mut w.out, format_args!("{name_bytes}")),
    }
    w.out.push_str(", msg_iov=");
    let start = w.out.len();
    if w.vectors(at, 2, out).is_none() {
        w.out.truncate(start);
        pointer(&mut w.out, vectors);
    }
    put(&mut w.out, format_args!(", msg_iovlen={count}"));
    if control_bytes != 0 {
        w.out.push_str(", msg_control=");
        let bytes = w.piece(at, usize::from(super::CONTROL_PART), out).unwrap_or_default();
        let start = w.out.len();
        if bytes.len() as u64 != control_bytes || super::sets::control(&mut w.out, bytes, word).is_none() {
            w.out.truncate(start);
            pointer(&mut w.out, control);
        }
    }
    put(&mut w.out, format_args!(", msg_controllen={control_bytes}, msg_flags="));
    set("msg").write_bits(&mut w.out, u64::from(flags));
    w.out.push('}');
    Some(())
}

/// The length of a message's name before the call.
fn name_bytes_before(w: &CallWriter<'_>, at: usize) -> Option<u32> {
    let before = w.call.pieces.iter().find(|piece| usize::from(piece.argument) == at && !piece.exit)?;
    Bytes(before.bytes?).u32(w.definition.layout.word)
}

/// A message that was not received: what was asked for.
pub(super) fn message_before(w: &mut CallWriter<'_>, at: usize) -> Option<()> {
    let name_bytes = name_bytes_before(w, at)?;
    put(&mut w.out, format_args!("{{msg_namelen={name_bytes}}}"));
    Some(())
}

/// What a socket's option is set to, or was found to be.
pub(super) fn socket_value(w: &mut CallWriter<'_>, bytes: &[u8]) -> Option<()> {
    const SOL_SOCKET: u64 = 1;
    const SO_ERROR: u64 = 4;
    const SO_LINGER: u64 = 13;
    let b = Bytes(bytes);
    let option = (value(w.call, 1), value(w.call, 2));
    match bytes.len() {
        4 if option == (SOL_SOCKET, SO_ERROR) && b.i32(0)? != 0 => {
            let number = i64::from(b.i32(0)?);
            put(&mut w.out, format_args!("[{}]", errno_name(number).unwrap_or("?")));
        }
        8 if option == (SOL_SOCKET, SO_LINGER) => {
            put(&mut w.out, format_args!("{{l_onoff={}, l_linger={}}}", b.i32(0)?, b.i32(4)?));
        }
        4 => put(&mut w.out, format_args!("[{}]", b.i32(0)?)),
        length => w.abbreviated(bytes, length as u64, false),
    }
    Some(())
}

/// What `poll` waits for.
pub(super) fn poll_descriptors(w: &mut CallWriter<'_>, at: usize) -> Option<()> {
    let (bytes, count) = (w.piece(at, 0, false)?, value(w.call, 1) & 0xffff_ffff);
    let files: Vec<String> = (0..bytes.len() / 8)
        .map(|index| {
            let fd = Bytes(bytes).i32(index * 8).unwrap_or(-1);
            let before = std::mem::take(&mut w.out);
            w.descriptor(fd);
            std::mem::replace(&mut w.out, before)
        })
        .collect();
    w.array(bytes, 8, count, |out, b, at| {
        put(out, format_args!("{{fd={}, events=", files.get(at / 8)?));
        set("poll").write_bits(out, u64::from(b.u16(at + 4)?));
        out.push('}');
        Some(())
    })
}

/// What `poll` found.
pub(super) fn poll_results(bytes: &[u8], count: u64) -> String {
    let b = Bytes(bytes);
    let mut out = String::from("[");
    for index in 0..(bytes.len() / 8).min(usize::try_from(count).unwrap_or(0)) {
        let (Some(fd), Some(found)) = (b.i32(index * 8), b.u16(index * 8 + 6)) else { break };
        if found == 0 {
            continue;
        }
        if out.len() > 1 {
            out.push_str(", ");
        }
        put(&mut out, format_args!("{{fd={fd}, revents="));
        set("poll").write_bits(&mut out, u64::from(found));
        out.push('}');
    }
    out.push(']');
    out
}
