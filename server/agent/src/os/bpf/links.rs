//! Links: what keeps a program attached, for as long as it is open.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
};

use super::Attr;

const OBJ_GET_INFO_BY_FD: u32 = 15;
const RAW_TRACEPOINT_OPEN: u32 = 17;
const LINK_CREATE: u32 = 28;
const ITER_CREATE: u32 = 33;
const TRACE_ITERATOR: u32 = 28;
const PERF_EVENT: u32 = 41;
const KPROBE_MULTI: u32 = 42;
const UPROBE_MULTI: u32 = 48;
/// Of a multi link: at the return.
const RETURN: u32 = 1;

/// At a perf event, with a cookie.
pub(crate) fn perf_event(program: BorrowedFd<'_>, event: impl AsFd, cookie: u64) -> io::Result<OwnedFd> {
    let attr = Attr::new().fd(0, program).fd(4, event.as_fd()).u32(8, PERF_EVENT).u64(16, cookie);
    // SAFETY: the attributes hold no addresses.
    unsafe { attr.call_for_fd(LINK_CREATE, 48) }
}

/// At what a typed program was loaded for (a raw tracepoint, a function's entry or exit), with a cookie where the kernel
/// keeps one.
pub(crate) fn typed(program: BorrowedFd<'_>, attach: u32, cookie: u64) -> io::Result<OwnedFd> {
    let attr = Attr::new().fd(0, program).u32(8, attach).u64(24, cookie);
    // SAFETY: the attributes hold no addresses.
    unsafe { attr.call_for_fd(LINK_CREATE, 48) }
}

/// At the raw tracepoint that a typed program was loaded for.
pub(crate) fn raw_tracepoint(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let attr = Attr::new().fd(8, program);
    // SAFETY: the attributes hold no addresses.
    unsafe { attr.call_for_fd(RAW_TRACEPOINT_OPEN, 16) }
}

/// At the entry, or with `exit` at the return, of functions of the kernel, each with its cookie.
pub(crate) fn kprobe_multi(program: BorrowedFd<'_>, functions: &[(&CStr, u64)], exit: bool) -> io::Result<OwnedFd> {
    let names: Vec<u64> = functions.iter().map(|(name, _cookie)| name.as_ptr() as u64).collect();
    let cookies: Vec<u64> = functions.iter().map(|(_name, cookie)| *cookie).collect();
    let attr = Attr::new()
        .fd(0, program)
        .u32(8, KPROBE_MULTI)
        .u32(16, if exit { RETURN } else { 0 })
        .u32(20, u32::try_from(names.len()).unwrap_or(u32::MAX))
        .pointer(24, names.as_slice())
        .pointer(40, cookies.as_slice());
    // SAFETY: as many addresses of names that end in NUL, and cookies, as the count says; all live until the call returns.
    unsafe { attr.call_for_fd(LINK_CREATE, 48) }
}

/// A place in a program's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UprobeSite {
    /// Where, in bytes of the file.
    pub(crate) offset: u64,
    /// Where its semaphore is, in bytes of the file; 0 for none.
    pub(crate) semaphore: u64,
    /// What the program gets to know which place it is.
    pub(crate) cookie: u64,
}

/// At places of a file, or with `exit` at the return of the functions that begin there; for one process or for all.
pub(crate) fn uprobe_multi(
    program: BorrowedFd<'_>,
    path: &CStr,
    places: &[UprobeSite],
    exit: bool,
    pid: Option<u32>,
) -> io::Result<OwnedFd> {
    let offsets: Vec<u64> = places.iter().map(|place| place.offset).collect();
    let semaphores: Vec<u64> = places.iter().map(|place| place.semaphore).collect();
    let cookies: Vec<u64> = places.iter().map(|place| place.cookie).collect();
    let mut attr = Attr::new()
        .fd(0, program)
        .u32(8, UPROBE_MULTI)
        .u64(16, path.as_ptr() as u64)
        .pointer(24, offsets.as_slice())
        .pointer(40, cookies.as_slice())
        .u32(48, u32::try_from(places.len()).unwrap_or(u32::MAX))
        .u32(52, if exit { RETURN } else { 0 })
        .u32(56, pid.unwrap_or(0));
    if semaphores.iter().any(|semaphore| *semaphore != 0) {
        attr = attr.pointer(32, semaphores.as_slice());
    }
    // SAFETY: the path ends in NUL, there are as many offsets, semaphores and cookies as the count says; all live until
    // the call returns.
    unsafe { attr.call_for_fd(LINK_CREATE, 64) }
}

/// Hits of a link's kernel functions that the kernel did not deliver, where it counts them (6.7): probes that were hit
/// within a probe, returns for which there was no room.
pub(crate) fn missed(link: BorrowedFd<'_>) -> io::Result<u64> {
    const PERF_EVENT_LINK: u64 = 7;
    const KPROBE_MULTI_LINK: u64 = 8;
    // struct bpf_link_info; a shorter one of an older kernel leaves the rest zero.
    let mut info = [0_u64; 12];
    let attr = Attr::new().fd(0, link).u32(4, size_of_val(&info) as u32).u64(8, info.as_mut_ptr() as u64);
    // SAFETY: `info` is writable for the length that the kernel is told, and zero, so that it asks for no arrays.
    unsafe { attr.call(OBJ_GET_INFO_BY_FD, 16) }?;
    let [kind, _program, _first, _second, multi_missed, _address, event_missed, ..] = info;
    Ok(match kind & u64::from(u32::MAX) {
        KPROBE_MULTI_LINK => multi_missed,
        PERF_EVENT_LINK => event_missed,
        _ => 0,
    })
}

/// At the iterator that a program was loaded for.
pub(crate) fn iterator(program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let attr = Attr::new().fd(0, program).u32(8, TRACE_ITERATOR);
    // SAFETY: the attributes hold no addresses.
    unsafe { attr.call_for_fd(LINK_CREATE, 48) }
}

/// Begins a walk of an iterator; reading from it runs the program for each item.
pub(crate) fn walk(iterator: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let attr = Attr::new().fd(0, iterator);
    // SAFETY: the attributes hold no addresses.
    unsafe { attr.call_for_fd(ITER_CREATE, 8) }
}
