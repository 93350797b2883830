//! Maps: making them, and reading and changing their elements.
//!
//! Keys and values are bytes whose lengths the caller has from the map's definition. Of a per-CPU map a value is one of
//! each possible CPU, each of a multiple of 8 bytes.

use std::{
    io,
    os::fd::{BorrowedFd, OwnedFd},
};

use super::Attr;

const MAP_CREATE: u32 = 0;
const LOOKUP: u32 = 1;
const UPDATE: u32 = 2;
const DELETE: u32 = 3;
const NEXT_KEY: u32 = 4;
const FREEZE: u32 = 22;
const LOOKUP_BATCH: u32 = 24;
const LOOKUP_AND_DELETE_BATCH: u32 = 25;

/// What a map is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapShape<'a> {
    /// Its name, of which the kernel keeps 15 letters, digits, `_` and `.`.
    pub(crate) name: &'a str,
    /// `enum bpf_map_type`.
    pub(crate) kind: u32,
    /// Bytes of a key.
    pub(crate) key_bytes: u32,
    /// Bytes of a value, of one CPU.
    pub(crate) value_bytes: u32,
    /// The most elements.
    pub(crate) max_entries: u32,
    /// `BPF_F_…`
    pub(crate) flags: u32,
}

/// A name as the kernel takes it: other characters become `_`.
pub(super) fn kernel_name(name: &str) -> [u8; 16] {
    let mut bytes = [0; 16];
    for (to, from) in bytes.iter_mut().take(15).zip(name.bytes()) {
        *to = if from.is_ascii_alphanumeric() || matches!(from, b'_' | b'.') { from } else { b'_' };
    }
    bytes
}

/// Makes a map.
pub(crate) fn create(shape: MapShape<'_>) -> io::Result<OwnedFd> {
    let attr = Attr::new()
        .u32(0, shape.kind)
        .u32(4, shape.key_bytes)
        .u32(8, shape.value_bytes)
        .u32(12, shape.max_entries)
        .u32(16, shape.flags)
        .put(28, &kernel_name(shape.name));
    // SAFETY: the attributes hold no addresses.
    unsafe { attr.call_for_fd(MAP_CREATE, 72) }
}

/// Lets nobody change a map through this call any more.
pub(crate) fn freeze(map: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the attributes hold no addresses.
    unsafe { Attr::new().fd(0, map).call(FREEZE, 4) }.map(drop)
}

fn found(result: io::Result<i64>) -> io::Result<bool> {
    match result {
        Ok(_done) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
        Err(error) => Err(error),
    }
}

/// Reads an element into `value`, which must have room for the map's whole value. `false` if there is none.
///
/// # Safety
/// `key` and `value` must be as long as the map's keys and values.
pub(crate) unsafe fn lookup(map: BorrowedFd<'_>, key: &[u8], value: &mut [u8]) -> io::Result<bool> {
    let attr = Attr::new().fd(0, map).pointer(8, key).pointer_mut(16, value);
    // SAFETY: both live until the call returns, and are as long as the caller promises.
    found(unsafe { attr.call(LOOKUP, 32) })
}

/// Writes an element.
///
/// # Safety
/// As [`lookup`].
pub(crate) unsafe fn update(map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> io::Result<()> {
    let attr = Attr::new().fd(0, map).pointer(8, key).pointer(16, value);
    // SAFETY: both live until the call returns, and are as long as the caller promises.
    unsafe { attr.call(UPDATE, 32) }.map(drop)
}

/// Changes an element that is there; `false` if there is none any more.
///
/// # Safety
/// As [`lookup`].
pub(crate) unsafe fn replace(map: BorrowedFd<'_>, key: &[u8], value: &[u8]) -> io::Result<bool> {
    const EXISTING: u64 = 2;
    let attr = Attr::new().fd(0, map).pointer(8, key).pointer(16, value).u64(24, EXISTING);
    // SAFETY: both live until the call returns, and are as long as the caller promises.
    found(unsafe { attr.call(UPDATE, 32) })
}

/// Removes an element. `false` if there was none.
///
/// # Safety
/// `key` must be as long as the map's keys.
pub(crate) unsafe fn delete(map: BorrowedFd<'_>, key: &[u8]) -> io::Result<bool> {
    let attr = Attr::new().fd(0, map).pointer(8, key);
    // SAFETY: the key lives until the call returns, and is as long as the caller promises.
    found(unsafe { attr.call(DELETE, 32) })
}

/// The key after `key` (the first without one) into `next`. `false` after the last.
///
/// # Safety
/// Both must be as long as the map's keys.
pub(crate) unsafe fn next_key(map: BorrowedFd<'_>, key: Option<&[u8]>, next: &mut [u8]) -> io::Result<bool> {
    let attr = Attr::new().fd(0, map).pointer_mut(16, next);
    let attr = match key {
        Some(key) => attr.pointer(8, key),
        None => attr,
    };
    // SAFETY: both live until the call returns, and are as long as the caller promises.
    found(unsafe { attr.call(NEXT_KEY, 32) })
}

/// What a call for many elements gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    /// How many elements.
    pub(crate) count: u32,
    /// Whether there are no more.
    pub(crate) last: bool,
}

/// Where the kernel puts many elements.
#[derive(Debug)]
pub(crate) struct ElementBuffers<'a> {
    /// For keys.
    pub(crate) keys: &'a mut [u8],
    /// For values.
    pub(crate) values: &'a mut [u8],
    /// How many elements fit.
    pub(crate) count: u32,
}

/// Reads up to `buffers.count` elements of a hash or array, and removes them if `take` says so. `after` is where the
/// batch before ended and becomes where this one does. `ENOSPC` asks for more room: a hash is read by whole buckets.
///
/// # Safety
/// The buffers must be for `count` of the map's keys and values; `after` and `end` must be as long as a key and at least 4.
pub(crate) unsafe fn lookup_batch(
    map: BorrowedFd<'_>,
    take: bool,
    after: Option<&[u8]>,
    end: &mut [u8],
    buffers: ElementBuffers<'_>,
) -> io::Result<Batch> {
    let mut attr = Attr::new()
        .pointer_mut(8, end)
        .pointer_mut(16, buffers.keys)
        .pointer_mut(24, buffers.values)
        .u32(32, buffers.count)
        .fd(36, map);
    if let Some(after) = after {
        attr = attr.pointer(0, after);
    }
    let command = if take { LOOKUP_AND_DELETE_BATCH } else { LOOKUP_BATCH };
    // SAFETY: all buffers live until the call returns, and have the room that the caller promises.
    let result = unsafe { attr.call_in_place(command, 56) };
    let count = attr.get_u32(32);
    match result {
        Ok(()) => Ok(Batch { count, last: false }),
        Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(Batch { count, last: true }),
        Err(error) => Err(error),
    }
}
