//! The table that programs search: for each number whether the call is wanted, and what of its memory is copied.
//!
//! Numbers become places in the table: those of 64-bit programs are their own; then come those of 32-bit programs, then the
//! calls that these make through `socketcall` and `ipc`, then x32's own. Other calls of x32 have the places of the 64-bit
//! calls that they are.

use bathyscope_capture::Descriptors;
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{Abi, Grab, Length, MAX_CALLS, MAX_GRABS, Moment, Special, definition},
};

use super::SyscallProbe;

/// Bytes of an entry; a power of two.
pub(super) const ENTRY_BYTES: u32 = 128;
/// Where an entry's pieces begin, and bytes of each.
pub(super) const GRABS_AT: u32 = 8;
const _FITS: () = assert!(GRABS_AT as usize + MAX_GRABS * 8 <= ENTRY_BYTES as usize);

/// Bits of an entry's first 4 bytes, of which these are in the first.
pub(super) const WANTED: i64 = 1;
pub(super) const NEVER_RETURNS: i64 = 2;
/// The call returns in a new thread too, which did not make it.
pub(super) const FORKS: i64 = 4;
/// The call executes a program: when it has, its number is that of `execve` where the new program runs.
pub(super) const EXECUTES: i64 = 8;
/// The call is made through this one, or through another: at its end it has the number of that.
pub(super) const THROUGH: i64 = 16;
/// The call restores registers, and has no number when it ends.
pub(super) const RESTORES: i64 = 32;

/// The call opens a descriptor of what has no path but a number.
pub(super) const OPENS: i64 = 64;
/// The call opens two of them.
pub(super) const OPENS_TWO: i64 = 128;

/// In an entry's third byte: the call is recorded with whatever outcome, duration and path.
pub(super) const BESIDES: i64 = 1 << 16;

/// In the same byte: the call may change the ends of the socket that its first argument is.
pub(super) const CONNECTS: i64 = 1 << 17;

/// In the same byte: the call reads, or writes, and that is asked for; through a vector, which is that of a message.
pub(super) const READS: i64 = 1 << 18;
pub(super) const WRITES: i64 = 1 << 19;
pub(super) const VECTORED: i64 = 1 << 20;
pub(super) const OF_MESSAGE: i64 = 1 << 21;

/// Where the places of calls of 32-bit programs begin.
pub(super) const I386_PLACES: i64 = MAX_CALLS as i64;
/// Where the places of calls through others begin.
pub(super) const THROUGH_PLACES: i64 = 2 * MAX_CALLS as i64;
/// Where the places of x32's own calls begin, the first number of these, without its bit, and how many there are.
pub(super) const X32_PLACES: i64 = THROUGH_PLACES + Abi::THROUGH_IPC - Abi::THROUGH_SOCKETCALL + Abi::IPC_CALLS;
pub(super) const X32_FIRST: i64 = 512;
pub(super) const X32_CALLS: i64 = 36;
/// The most entries of the table.
pub(super) const PLACES: i64 = X32_PLACES + X32_CALLS;

/// How many entries the table has: a power of two.
pub(super) fn places(arch: Arch) -> i64 {
    match arch {
        Arch::X86_64 => 2048,
        Arch::Aarch64 => MAX_CALLS as i64,
    }
}

const _ROOM: () = assert!(PLACES <= 2048);

/// The number that is at a place.
fn number_at(place: i64) -> i64 {
    match place {
        X32_PLACES.. => Abi::X32_BIT | (X32_FIRST + place - X32_PLACES),
        THROUGH_PLACES.. => Abi::I386_BIT | (Abi::THROUGH_SOCKETCALL + place - THROUGH_PLACES),
        I386_PLACES.. => Abi::I386_BIT | (place - I386_PLACES),
        _ => place,
    }
}

/// Whether a call that restores registers is wanted.
pub(super) fn restoring(probe: &SyscallProbe) -> bool {
    let restores = |number: &i64| definition(probe.arch, *number).is_some_and(|call| RESTORING.contains(&call.name));
    probe.calls.iter().chain(&probe.besides).any(restores)
}

const RESTORING: [&str; 2] = ["sigreturn", "rt_sigreturn"];

/// Where an entry says whether pointers in memory have 32 bits.
pub(super) const NARROW_AT: u32 = 1;

/// Kinds of pieces.
pub(super) const TEXT: i64 = 1;
pub(super) const MEMORY: i64 = 2;
pub(super) const PATH: i64 = 3;
/// Where lengths come from.
pub(super) const FIXED: i64 = 0;
pub(super) const ARGUMENT: i64 = 1;
pub(super) const RESULT: i64 = 2;
pub(super) const BITS: i64 = 4;
/// Kinds of specials.
pub(super) const WORDS: i64 = 1;
pub(super) const VECTORS: i64 = 2;
pub(super) const MESSAGE: i64 = 3;
pub(super) const ENTRIES: i64 = 4;

/// The table's bytes.
pub(super) fn content(probe: &SyscallProbe) -> Vec<u8> {
    let places = places(probe.arch);
    let mut content = Vec::with_capacity(places as usize * ENTRY_BYTES as usize);
    for place in 0..places {
        content.extend(entry(probe, number_at(place)));
        content.resize((place as usize + 1) * ENTRY_BYTES as usize, 0);
    }
    content
}

/// What a call is when it ends, whether or not it is wanted.
fn ends_as(number: i64, name: &str) -> i64 {
    let i386 = number & Abi::I386_BIT != 0;
    let through = number & !Abi::I386_BIT >= Abi::THROUGH_SOCKETCALL;
    match name {
        "execve" | "execveat" => EXECUTES,
        name if RESTORING.contains(&name) => RESTORES,
        "socketcall" | "ipc" => THROUGH,
        _ if i386 && through => THROUGH,
        _ => 0,
    }
}

/// What a call opens that has no path.
fn opens(name: &str) -> i64 {
    match name {
        "socket" | "accept" | "accept4" => OPENS,
        "pipe" | "pipe2" | "socketpair" => OPENS_TWO,
        _ => 0,
    }
}

/// What a call moves, if its data are asked for. Vectors of 32-bit programs are not looked at.
fn moves(probe: &SyscallProbe, name: &str, narrow: bool) -> i64 {
    let (reads, way) = match name {
        "read" | "pread64" | "recvfrom" | "recv" => (true, 0),
        "readv" | "preadv" | "preadv2" => (true, VECTORED),
        "recvmsg" => (true, VECTORED | OF_MESSAGE),
        "write" | "pwrite64" | "sendto" | "send" => (false, 0),
        "writev" | "pwritev" | "pwritev2" => (false, VECTORED),
        "sendmsg" => (false, VECTORED | OF_MESSAGE),
        _ => return 0,
    };
    let asked = if reads { &probe.data.read } else { &probe.data.write };
    if *asked == Descriptors::None || narrow && way != 0 {
        return 0;
    }
    way | if reads { READS } else { WRITES }
}

fn entry(probe: &SyscallProbe, number: i64) -> Vec<u8> {
    let Some(call) = definition(probe.arch, number) else { return Vec::new() };
    let ends_as = ends_as(number, call.name);
    let besides = probe.besides.contains(&number);
    if !besides && !probe.calls.contains(&number) {
        return vec![ends_as as u8];
    }
    let grabs = call.grabs(probe.string_bytes);
    let forks = matches!(call.name, "fork" | "vfork" | "clone" | "clone3");
    let flags = WANTED
        | if grabs.never_returns { NEVER_RETURNS } else { 0 }
        | if forks { FORKS } else { 0 }
        | ends_as
        | opens(call.name);
    let moment = |moment: Moment| u8::from(moment == Moment::Exit);
    let special = match grabs.special {
        Special::None => [0; 4],
        Special::Words { argument } => [WORDS as u8, argument, 0, 0],
        Special::Vectors { argument, count, moment: when } => [VECTORS as u8, argument, count, moment(when)],
        Special::Entries { argument } => [ENTRIES as u8, argument, 0, 1],
        Special::Message { argument, moment: when } => [MESSAGE as u8, argument, 0, moment(when)],
    };
    let connects = matches!(call.name, "bind" | "connect" | "listen" | "getsockname" | "getpeername");
    let third =
        if besides { BESIDES } else { 0 } | if connects { CONNECTS } else { 0 } | moves(probe, call.name, grabs.narrow);
    let mut bytes = vec![flags as u8, u8::from(grabs.narrow), (third >> 16) as u8, 0];
    bytes.extend(special);
    for grab in grabs.grabs {
        bytes.extend(piece(grab, moment(grab.moment)));
    }
    bytes
}

fn piece(grab: Grab, moment: u8) -> [u8; 8] {
    let kind = match (grab.text, grab.path) {
        (true, true) => PATH,
        (true, false) => TEXT,
        (false, _) => MEMORY,
    };
    let (source, of) = match grab.length {
        Length::Fixed => (FIXED, 0),
        Length::Argument(at) => (ARGUMENT, at),
        Length::Result => (RESULT, 0),
        Length::Behind(at) => (3, at),
        Length::Bits(at) => (BITS, at),
    };
    let [low, high] = grab.most.to_le_bytes();
    let unit = u8::try_from(grab.unit).unwrap_or(u8::MAX);
    [kind as u8, grab.argument, moment, source as u8, of, unit, low, high]
}
