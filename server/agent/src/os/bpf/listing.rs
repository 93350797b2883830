//! Walking over the programs and links of everybody, and what the kernel tells about each.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
};

use bathyscope_protocol::MAX_ATTACHED_BYTES;

use super::{Attr, OBJ_GET_INFO_BY_FD};

const PROG_GET_NEXT_ID: u32 = 11;
const PROG_GET_FD_BY_ID: u32 = 13;
const LINK_GET_FD_BY_ID: u32 = 30;
const LINK_GET_NEXT_ID: u32 = 31;
/// Bytes of `struct bpf_prog_info` that are asked for, as words of eight.
const PROGRAM_WORDS: usize = 32;
/// The same of `struct bpf_link_info`.
const LINK_WORDS: usize = 12;

/// The program with the next greater number; none after the last.
pub(crate) fn next_program(after: u32) -> io::Result<Option<u32>> {
    next(PROG_GET_NEXT_ID, after)
}

/// The link with the next greater number; none after the last.
pub(crate) fn next_link(after: u32) -> io::Result<Option<u32>> {
    next(LINK_GET_NEXT_ID, after)
}

fn next(command: u32, after: u32) -> io::Result<Option<u32>> {
    let mut attr = Attr::new().u32(0, after);
    // SAFETY: the attributes hold no addresses.
    match unsafe { attr.call_in_place(command, 12) } {
        Ok(()) => Ok(Some(attr.get_u32(4))),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Opens a program by its number.
pub(crate) fn open_program(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: the attributes hold no addresses.
    unsafe { Attr::new().u32(0, id).call_for_fd(PROG_GET_FD_BY_ID, 12) }
}

/// Opens a link by its number.
pub(crate) fn open_link(id: u32) -> io::Result<OwnedFd> {
    // SAFETY: the attributes hold no addresses.
    unsafe { Attr::new().u32(0, id).call_for_fd(LINK_GET_FD_BY_ID, 12) }
}

/// What the kernel tells about a program.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ProgramInfo {
    pub(crate) kind: u32,
    pub(crate) id: u32,
    pub(crate) tag: u64,
    pub(crate) bytes: u32,
    pub(crate) loaded_ns: u64,
    pub(crate) uid: u32,
    pub(crate) maps: u32,
    pub(crate) name: [u8; 16],
    pub(crate) run_time_ns: u64,
    pub(crate) run_count: u64,
    pub(crate) target_object: u32,
    pub(crate) target_type: u32,
}

/// Asks about a program.
pub(crate) fn program_info(program: BorrowedFd<'_>) -> io::Result<ProgramInfo> {
    // struct bpf_prog_info; a shorter one of an older kernel leaves the rest zero.
    let mut info = [0_u64; PROGRAM_WORDS];
    ask(program, &mut info)?;
    let word = |offset: usize| info.get(offset / 8).copied().unwrap_or(0);
    let half = |offset: usize| half(&info, offset);
    let mut name = [0; 16];
    let (first, second) = name.split_at_mut(8);
    first.copy_from_slice(&word(64).to_ne_bytes());
    second.copy_from_slice(&word(72).to_ne_bytes());
    Ok(ProgramInfo {
        kind: half(0),
        id: half(4),
        tag: u64::from_be_bytes(word(8).to_ne_bytes()),
        bytes: half(20),
        loaded_ns: word(40),
        uid: half(48),
        maps: half(52),
        name,
        run_time_ns: word(192),
        run_count: word(200),
        target_object: half(220),
        target_type: half(224),
    })
}

/// What the kernel tells about a link.
#[derive(Clone, Debug)]
pub(crate) struct LinkInfo {
    pub(crate) kind: u32,
    pub(crate) id: u32,
    pub(crate) program: u32,
    /// Of its tracepoint, function or file, up to a zero.
    pub(crate) name: Vec<u8>,
    words: [u64; LINK_WORDS],
}

impl LinkInfo {
    /// A number at an offset of `struct bpf_link_info`.
    pub(crate) fn u32(&self, offset: usize) -> u32 {
        half(&self.words, offset)
    }

    /// A number at an offset of `struct bpf_link_info`.
    pub(crate) fn u64(&self, offset: usize) -> u64 {
        self.words.get(offset / 8).copied().unwrap_or(0)
    }
}

#[cfg(test)]
impl LinkInfo {
    /// As if the kernel had told nothing else.
    pub(crate) fn new(kind: u32, id: u32, program: u32, name: &[u8]) -> Self {
        Self { kind, id, program, name: name.to_vec(), words: [0; LINK_WORDS] }
    }

    /// Puts a number at an offset.
    pub(crate) fn set(&mut self, offset: usize, number: u32) {
        let word = self.words.get_mut(offset / 8).expect("an offset of the struct");
        let shift = offset % 8 * 8;
        *word = *word & !(u64::from(u32::MAX) << shift) | u64::from(number) << shift;
    }
}

/// Asks about a link, and again for the name of what it is attached to, where it has one.
pub(crate) fn link_info(link: BorrowedFd<'_>) -> io::Result<LinkInfo> {
    const RAW_TRACEPOINT: u32 = 1;
    const ITERATOR: u32 = 4;
    const PERF_EVENT: u32 = 7;
    const UPROBE_MULTI: u32 = 12;
    let mut words = [0_u64; LINK_WORDS];
    ask(link, &mut words)?;
    let (kind, id, program) = (half(&words, 0), half(&words, 4), half(&words, 8));
    // Where the address of the room for a name stands, and its length.
    let room = match kind {
        RAW_TRACEPOINT | ITERATOR => Some((16, 24)),
        // Kinds 1 to 5 have names; older kernels tell no kind, and take no address.
        PERF_EVENT if matches!(half(&words, 16), 1..=5) => Some((24, 32)),
        UPROBE_MULTI => Some((16, 48)),
        _ => None,
    };
    let mut name = Vec::new();
    if let Some((address_at, length_at)) = room {
        name = vec![0_u8; MAX_ATTACHED_BYTES];
        let mut with_room = [0_u64; LINK_WORDS];
        put(&mut with_room, address_at, name.as_mut_ptr() as u64);
        put(&mut with_room, length_at, MAX_ATTACHED_BYTES as u64);
        // A name that is too long is cut by the kernel, which says so.
        match ask(link, &mut with_room) {
            Ok(()) => words = with_room,
            Err(error) if error.raw_os_error() == Some(libc::ENOSPC) => {}
            Err(_not_told) => name.clear(),
        }
    }
    Ok(LinkInfo { kind, id, program, name, words })
}

fn put(words: &mut [u64], offset: usize, value: u64) {
    if let Some(word) = words.get_mut(offset / 8) {
        *word = value;
    }
}

fn half(words: &[u64], offset: usize) -> u32 {
    let word = words.get(offset / 8).copied().unwrap_or(0).to_ne_bytes();
    let half = word.get(offset % 8..offset % 8 + 4).and_then(|half| half.try_into().ok());
    half.map_or(0, u32::from_ne_bytes)
}

/// Has the kernel fill a struct of information. Addresses in it must be of room that lives and is as long as it says.
fn ask(of: BorrowedFd<'_>, info: &mut [u64]) -> io::Result<()> {
    let attr = Attr::new().fd(0, of).u32(4, size_of_val(info) as u32).u64(8, info.as_mut_ptr() as u64);
    // SAFETY: `info` is writable for the length that the kernel is told; the callers above put no address into it but that
    // of a name's room with its length, which lives until the call returns.
    unsafe { attr.call(OBJ_GET_INFO_BY_FD, 16) }.map(drop)
}
