//! Signals, as they are delivered.

use super::{
    structs::signal,
    text::{Bytes, pointer, put},
};
use crate::constants::{Arch, errno_name, signal_name, syscall_name};

/// Codes that all signals have.
const CODES: [(i32, &str); 9] = [
    (0, "SI_USER"),
    (0x80, "SI_KERNEL"),
    (-1, "SI_QUEUE"),
    (-2, "SI_TIMER"),
    (-3, "SI_MESGQ"),
    (-4, "SI_ASYNCIO"),
    (-5, "SI_SIGIO"),
    (-6, "SI_TKILL"),
    (-60, "SI_ASYNCNL"),
];
/// Names of the codes from 1 on, by signal.
const CODES_OF: [(&str, &[&str]); 8] = [
    (
        "SIGILL",
        &[
            "ILL_ILLOPC",
            "ILL_ILLOPN",
            "ILL_ILLADR",
            "ILL_ILLTRP",
            "ILL_PRVOPC",
            "ILL_PRVREG",
            "ILL_COPROC",
            "ILL_BADSTK",
        ],
    ),
    (
        "SIGFPE",
        &[
            "FPE_INTDIV",
            "FPE_INTOVF",
            "FPE_FLTDIV",
            "FPE_FLTOVF",
            "FPE_FLTUND",
            "FPE_FLTRES",
            "FPE_FLTINV",
            "FPE_FLTSUB",
        ],
    ),
    ("SIGSEGV", &["SEGV_MAPERR", "SEGV_ACCERR", "SEGV_BNDERR", "SEGV_PKUERR"]),
    ("SIGBUS", &["BUS_ADRALN", "BUS_ADRERR", "BUS_OBJERR", "BUS_MCEERR_AR", "BUS_MCEERR_AO"]),
    ("SIGTRAP", &["TRAP_BRKPT", "TRAP_TRACE", "TRAP_BRANCH", "TRAP_HWBKPT"]),
    ("SIGCHLD", &["CLD_EXITED", "CLD_KILLED", "CLD_DUMPED", "CLD_TRAPPED", "CLD_STOPPED", "CLD_CONTINUED"]),
    ("SIGIO", &["POLL_IN", "POLL_OUT", "POLL_MSG", "POLL_ERR", "POLL_PRI", "POLL_HUP"]),
    ("SIGSYS", &["SYS_SECCOMP"]),
];
/// Ticks of a second in `si_utime` and `si_stime`.
const TICKS: f64 = 100.0;

/// A signal's name and the beginning of its `siginfo_t` in braces, as strace writes them. Members that are not there are
/// left out.
pub fn signal_text(number: i64, bytes: &[u8]) -> (String, String) {
    let mut name = String::new();
    signal(&mut name, number);
    let b = Bytes(bytes);
    let mut out = format!("{{si_signo={name}");
    // Bytes that are cut end the members, which is all that can be done.
    let _whole = members(&mut out, number, b);
    out.push('}');
    (name, out)
}

fn members(out: &mut String, number: i64, b: Bytes<'_>) -> Option<()> {
    let (error, code) = (b.i32(4)?, b.i32(8)?);
    let name = signal_name(number).unwrap_or("");
    out.push_str(", si_code=");
    match code_name(name, code) {
        Some(known) => out.push_str(known),
        None => put(out, format_args!("{code:#x}")),
    }
    if error != 0 {
        match errno_name(i64::from(error)) {
            Some(known) => put(out, format_args!(", si_errno={known}")),
            None => put(out, format_args!(", si_errno={error}")),
        }
    }
    match code {
        0 | -6 => sender(out, b),
        -2 => {
            put(out, format_args!(", si_timerid={}, si_overrun={}", in_hex(b.u32(16)?), b.i32(20)?));
            value(out, b)
        }
        _ => of_kind(out, name, code, b),
    }
}

fn in_hex(number: u32) -> String {
    if number == 0 { "0".to_owned() } else { format!("{number:#x}") }
}

fn code_name(signal: &str, code: i32) -> Option<&'static str> {
    let general = CODES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name);
    let own = || {
        let (_, names) = CODES_OF.iter().find(|(known, _)| *known == signal)?;
        names.get(usize::try_from(code.checked_sub(1)?).ok()?).copied()
    };
    general.or_else(own)
}

fn sender(out: &mut String, b: Bytes<'_>) -> Option<()> {
    put(out, format_args!(", si_pid={}, si_uid={}", b.i32(16)?, b.u32(20)?));
    Some(())
}

fn value(out: &mut String, b: Bytes<'_>) -> Option<()> {
    put(out, format_args!(", si_int={}, si_ptr=", b.i32(24)?));
    pointer(out, b.u64(24)?);
    Some(())
}

/// What the kernel tells of a signal of its own; of one from a program its sender and value.
fn of_kind(out: &mut String, name: &str, code: i32, b: Bytes<'_>) -> Option<()> {
    match name {
        "SIGCHLD" if code > 0 => child(out, code, b),
        "SIGILL" | "SIGFPE" | "SIGSEGV" | "SIGBUS" if code > 0 => {
            out.push_str(", si_addr=");
            pointer(out, b.u64(16)?);
            Some(())
        }
        "SIGIO" if (1..0x80).contains(&code) => {
            put(out, format_args!(", si_band={}, si_fd={}", b.i64(16)?, b.i32(24)?));
            Some(())
        }
        "SIGSYS" if (1..0x80).contains(&code) => {
            out.push_str(", si_call_addr=");
            pointer(out, b.u64(16)?);
            let (number, processor) = (b.i32(24)?, b.u32(28)?);
            let known = [(0xc000_003e, Arch::X86_64, "X86_64"), (0xc000_00b7, Arch::Aarch64, "AARCH64")];
            let known = known.into_iter().find(|(audit, _, _)| *audit == processor);
            match known.and_then(|(_, arch, _)| syscall_name(arch, i64::from(number))) {
                Some(call) => put(out, format_args!(", si_syscall=__NR_{call}")),
                None => put(out, format_args!(", si_syscall={number}")),
            }
            match known {
                Some((_, _, words)) => put(out, format_args!(", si_arch=AUDIT_ARCH_{words}")),
                None => put(out, format_args!(", si_arch={processor:#x}")),
            }
            Some(())
        }
        _ if code == 0x80 => Some(()),
        _ => {
            if b.u64(16)? != 0 {
                sender(out, b)?;
            }
            if b.u64(24)? != 0 { value(out, b) } else { Some(()) }
        }
    }
}

fn child(out: &mut String, code: i32, b: Bytes<'_>) -> Option<()> {
    const EXITED: i32 = 1;
    sender(out, b)?;
    out.push_str(", si_status=");
    match code {
        EXITED => put(out, format_args!("{}", b.i32(24)?)),
        _ => signal(out, i64::from(b.i32(24)?)),
    }
    for (name, at) in [("si_utime", 32), ("si_stime", 40)] {
        let ticks = b.u64(at)?;
        put(out, format_args!(", {name}={ticks}"));
        if ticks != 0 {
            put(out, format_args!(" /* {:.2} s */", ticks as f64 / TICKS));
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(numbers: &[(usize, i32)]) -> [u8; 48] {
        let mut bytes = [0; 48];
        for (at, number) in numbers {
            bytes[*at..at + 4].copy_from_slice(&number.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn signals_are_written_as_strace_writes_them() {
        type Case<'a> = (i64, &'a [(usize, i32)], &'a str);
        let cases: [Case<'_>; 12] = [
            (10, &[(16, 70), (20, 5)], "{si_signo=SIGUSR1, si_code=SI_USER, si_pid=70, si_uid=5}"),
            (15, &[(8, -6), (16, 70)], "{si_signo=SIGTERM, si_code=SI_TKILL, si_pid=70, si_uid=0}"),
            (14, &[(8, 0x80)], "{si_signo=SIGALRM, si_code=SI_KERNEL}"),
            (
                17,
                &[(8, 1), (16, 71), (24, 3), (32, 9)],
                "{si_signo=SIGCHLD, si_code=CLD_EXITED, si_pid=71, si_uid=0, si_status=3, si_utime=9 /* 0.09 s */, si_stime=0}",
            ),
            (
                17,
                &[(8, 2), (16, 71), (24, 9)],
                "{si_signo=SIGCHLD, si_code=CLD_KILLED, si_pid=71, si_uid=0, si_status=SIGKILL, si_utime=0, si_stime=0}",
            ),
            (
                12,
                &[(8, -1), (16, 70), (24, 5)],
                "{si_signo=SIGUSR2, si_code=SI_QUEUE, si_pid=70, si_uid=0, si_int=5, si_ptr=0x5}",
            ),
            (
                10,
                &[(8, -2), (24, 7)],
                "{si_signo=SIGUSR1, si_code=SI_TIMER, si_timerid=0, si_overrun=0, si_int=7, si_ptr=0x7}",
            ),
            (11, &[(8, 1), (16, 8)], "{si_signo=SIGSEGV, si_code=SEGV_MAPERR, si_addr=0x8}"),
            (11, &[(8, 0x80)], "{si_signo=SIGSEGV, si_code=SI_KERNEL, si_addr=NULL}"),
            (8, &[(8, 99), (4, 2)], "{si_signo=SIGFPE, si_code=0x63, si_errno=ENOENT, si_addr=NULL}"),
            (29, &[(8, 1), (16, 65), (24, 3)], "{si_signo=SIGIO, si_code=POLL_IN, si_band=65, si_fd=3}"),
            (
                31,
                &[(8, 1), (16, 64), (24, 39), (28, 0xc000_003e_u32.cast_signed())],
                "{si_signo=SIGSYS, si_code=SYS_SECCOMP, si_call_addr=0x40, si_syscall=__NR_getpid, si_arch=AUDIT_ARCH_X86_64}",
            ),
        ];
        for (number, numbers, expected) in cases {
            assert_eq!(signal_text(number, &info(numbers)).1, expected);
        }
    }

    #[test]
    fn bytes_that_are_cut_say_less() {
        let whole = info(&[(8, 1), (16, 71), (24, 3)]);
        for length in 0..whole.len() {
            assert!(signal_text(17, &whole[..length]).1.ends_with('}'));
        }
        assert_eq!(signal_text(17, &[]), ("SIGCHLD".to_owned(), "{si_signo=SIGCHLD}".to_owned()));
    }
}
