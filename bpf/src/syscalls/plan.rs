//! The table that programs search: for each number whether the call is wanted, and what of its memory is copied.

use bathyscope_catalog::syscalls::{Grab, Length, MAX_CALLS, MAX_GRABS, Moment, Special, definition};

use super::SyscallProbe;

/// Bytes of an entry; a power of two.
pub(super) const ENTRY_BYTES: u32 = 128;
/// Where an entry's pieces begin, and bytes of each.
pub(super) const GRABS_AT: u32 = 8;
const _FITS: () = assert!(GRABS_AT as usize + MAX_GRABS * 8 <= ENTRY_BYTES as usize);

/// Bits of an entry's first byte.
pub(super) const WANTED: i64 = 1;
pub(super) const NEVER_RETURNS: i64 = 2;
/// The call returns in a new thread too, which did not make it.
pub(super) const FORKS: i64 = 4;

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
    let mut content = Vec::with_capacity(MAX_CALLS * ENTRY_BYTES as usize);
    for number in 0..MAX_CALLS as i64 {
        content.extend(entry(probe, number));
        content.resize((number as usize + 1) * ENTRY_BYTES as usize, 0);
    }
    content
}

fn entry(probe: &SyscallProbe, number: i64) -> Vec<u8> {
    let Some(call) = definition(probe.arch, number).filter(|_| probe.calls.contains(&number)) else {
        return Vec::new();
    };
    let grabs = call.grabs(probe.string_bytes);
    let forks = matches!(call.name, "fork" | "vfork" | "clone" | "clone3");
    let flags = WANTED | if grabs.never_returns { NEVER_RETURNS } else { 0 } | if forks { FORKS } else { 0 };
    let moment = |moment: Moment| u8::from(moment == Moment::Exit);
    let special = match grabs.special {
        Special::None => [0; 4],
        Special::Words { argument } => [WORDS as u8, argument, 0, 0],
        Special::Vectors { argument, count, moment: when } => [VECTORS as u8, argument, count, moment(when)],
        Special::Entries { argument } => [ENTRIES as u8, argument, 0, 1],
        Special::Message { argument, moment: when } => [MESSAGE as u8, argument, 0, moment(when)],
    };
    let mut bytes = vec![flags as u8, 0, 0, 0];
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
