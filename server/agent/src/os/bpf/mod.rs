//! The calls of bpf(2) that aya has not, or makes in a way that does not fit here.

pub(crate) mod links;
pub(crate) mod listing;
pub(crate) mod maps;
pub(crate) mod programs;

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd},
};

const MAP_CREATE: u32 = 0;
const PROG_LOAD: u32 = 5;
const OBJ_GET_INFO_BY_FD: u32 = 15;
const RAW_TRACEPOINT_OPEN: u32 = 17;
const LINK_CREATE: u32 = 28;
const ENABLE_STATS: u32 = 32;

/// Attach type of a program at a perf event.
const ATTACH_PERF_EVENT: u32 = 41;

/// `union bpf_attr`, filled in by offset; what is not set is zero, which the kernel takes as absent.
#[repr(C, align(8))]
struct Attr([u8; 152]);

impl Attr {
    fn new() -> Self {
        Self([0; 152])
    }

    fn put(mut self, offset: usize, bytes: &[u8]) -> Self {
        for (to, from) in self.0.iter_mut().skip(offset).zip(bytes) {
            *to = *from;
        }
        self
    }

    fn u32(self, offset: usize, value: u32) -> Self {
        self.put(offset, &value.to_ne_bytes())
    }

    fn u64(self, offset: usize, value: u64) -> Self {
        self.put(offset, &value.to_ne_bytes())
    }

    fn fd(self, offset: usize, fd: BorrowedFd<'_>) -> Self {
        self.u32(offset, fd.as_raw_fd().unsigned_abs())
    }

    fn pointer<T: ?Sized>(self, offset: usize, to: &T) -> Self {
        self.u64(offset, std::ptr::from_ref(to).cast::<u8>() as u64)
    }

    /// Makes the call.
    ///
    /// # Safety
    /// Every address in it must be valid for what `command` does with it, for the length that it is told.
    unsafe fn call(mut self, command: u32, bytes: usize) -> io::Result<i64> {
        debug_assert!(bytes <= self.0.len());
        // SAFETY: the buffer is as long as the kernel is told, and the caller answers for the addresses in it.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), bytes) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
    }

    /// Makes a call after which the kernel has changed the attributes.
    ///
    /// # Safety
    /// As [`Attr::call`].
    unsafe fn call_in_place(&mut self, command: u32, bytes: usize) -> io::Result<()> {
        debug_assert!(bytes <= self.0.len());
        // SAFETY: the buffer is as long as the kernel is told, and the caller answers for the addresses in it.
        let result = unsafe { libc::syscall(libc::SYS_bpf, command, self.0.as_mut_ptr(), bytes) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// A number that the kernel has written.
    fn get_u32(&self, offset: usize) -> u32 {
        let word = self.0.get(offset..offset + 4).and_then(|word| word.try_into().ok());
        word.map_or(0, u32::from_ne_bytes)
    }

    fn pointer_mut<T>(self, offset: usize, to: &mut [T]) -> Self {
        self.u64(offset, to.as_mut_ptr() as u64)
    }

    /// Makes a call that gives a descriptor.
    ///
    /// # Safety
    /// As [`Attr::call`].
    unsafe fn call_for_fd(self, command: u32, bytes: usize) -> io::Result<OwnedFd> {
        // SAFETY: as the caller of this function promises.
        let fd = unsafe { self.call(command, bytes) }?;
        let fd = RawFd::try_from(fd).map_err(|_range| io::Error::from_raw_os_error(libc::EBADF))?;
        // SAFETY: the kernel just made this descriptor, and nobody else knows it.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

/// The kernel's numbers of program types that are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum ProgramType {
    /// `BPF_PROG_TYPE_KPROBE`, also for user functions.
    Kprobe = 2,
    /// `BPF_PROG_TYPE_RAW_TRACEPOINT`.
    RawTracepoint = 17,
    /// `BPF_PROG_TYPE_TRACING`.
    Tracing = 26,
}

/// The kernel's numbers of attach types that are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum AttachType {
    /// None.
    None = 0,
    /// `BPF_TRACE_RAW_TP`.
    TraceRawTracepoint = 23,
    /// `BPF_TRACE_FENTRY`.
    TraceFentry = 24,
    /// `BPF_TRACE_KPROBE_MULTI`.
    KprobeMulti = 42,
    /// `BPF_TRACE_UPROBE_MULTI`.
    UprobeMulti = 48,
}

/// Loads the smallest program of a type: it returns 0.
pub(crate) fn load_empty_program(
    program: ProgramType,
    attach: AttachType,
    btf_id: u32,
) -> Result<OwnedFd, (io::Error, String)> {
    // r0 = 0; exit
    const CODE: [u64; 2] = [0x0000_0000_0000_00b7, 0x0000_0000_0000_0095];
    let license = c"GPL";
    let mut log = vec![0_u8; 4096];
    let attr = Attr::new()
        .u32(0, program as u32)
        .u32(4, CODE.len() as u32)
        .pointer(8, &CODE)
        .u64(16, license.as_ptr() as u64)
        .u32(24, 1)
        .u32(28, log.len() as u32)
        .u64(32, log.as_mut_ptr() as u64)
        .put(48, b"bathyscope_try")
        .u32(68, attach as u32)
        .u32(108, btf_id);
    // SAFETY: the code has the two instructions that the kernel is told of, the licence ends in NUL, the log has the
    // length that it is told; all live until the call returns.
    unsafe { attr.call_for_fd(PROG_LOAD, 128) }.map_err(|error| {
        let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
        (error, String::from_utf8_lossy(text).trim().to_owned())
    })
}

/// Makes a ring buffer map of `data_bytes`.
pub(crate) fn create_ring_buffer(data_bytes: u32) -> io::Result<OwnedFd> {
    const RING_BUFFER: u32 = 27;
    let attr = Attr::new().u32(0, RING_BUFFER).u32(12, data_bytes).put(28, b"bathyscope_try");
    // SAFETY: the attributes hold no addresses.
    unsafe { attr.call_for_fd(MAP_CREATE, 72) }
}

/// Attaches `program` to a raw tracepoint; without a name to what the program was loaded for.
pub(crate) fn open_raw_tracepoint(name: Option<&CStr>, program: BorrowedFd<'_>) -> io::Result<OwnedFd> {
    let attr = Attr::new().u64(0, name.map_or(0, |name| name.as_ptr() as u64)).fd(8, program);
    // SAFETY: the name ends in NUL and lives until the call returns.
    unsafe { attr.call_for_fd(RAW_TRACEPOINT_OPEN, 16) }
}

/// Attaches `program` to a perf event. The link holds both.
pub(crate) fn link_perf_event(program: BorrowedFd<'_>, event: impl AsFd) -> io::Result<OwnedFd> {
    let attr = Attr::new().fd(0, program).fd(4, event.as_fd()).u32(8, ATTACH_PERF_EVENT);
    // SAFETY: the attributes hold no addresses.
    unsafe { attr.call_for_fd(LINK_CREATE, 48) }
}

/// Attaches `program` to the function `symbol` of the kernel by `kprobe_multi`.
pub(crate) fn link_kprobe_multi(program: BorrowedFd<'_>, symbol: &CStr) -> io::Result<OwnedFd> {
    let symbols = [symbol.as_ptr() as u64];
    let attr = Attr::new().fd(0, program).u32(8, AttachType::KprobeMulti as u32).u32(20, 1).pointer(24, &symbols);
    // SAFETY: one address of a name that ends in NUL, as the count of 1 says; both live until the call returns.
    unsafe { attr.call_for_fd(LINK_CREATE, 48) }
}

/// Attaches `program` to the instruction at file offset `offset` of `path` by `uprobe_multi`, for process `pid` only.
pub(crate) fn link_uprobe_multi(program: BorrowedFd<'_>, path: &CStr, offset: u64, pid: u32) -> io::Result<OwnedFd> {
    let offsets = [offset];
    let attr = Attr::new()
        .fd(0, program)
        .u32(8, AttachType::UprobeMulti as u32)
        .u64(16, path.as_ptr() as u64)
        .pointer(24, &offsets)
        .u32(48, 1)
        .u32(56, pid);
    // SAFETY: the path ends in NUL, there is one offset as the count of 1 says; both live until the call returns.
    unsafe { attr.call_for_fd(LINK_CREATE, 64) }
}

/// Switches run-time statistics of all programs on for as long as the descriptor is open.
pub(crate) fn enable_stats() -> io::Result<OwnedFd> {
    // SAFETY: the attributes hold no addresses; type 0 is BPF_STATS_RUN_TIME.
    unsafe { Attr::new().call_for_fd(ENABLE_STATS, 4) }
}

/// Statistics of a program since it was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ProgramStats {
    /// Nanoseconds that it ran while statistics were on.
    pub(crate) run_time_ns: u64,
    /// Times that it ran while statistics were on.
    pub(crate) run_count: u64,
    /// Times that it was not run because a program was running on that CPU already.
    pub(crate) missed: u64,
}

/// Reads the statistics of a program.
pub(crate) fn program_stats(program: BorrowedFd<'_>) -> io::Result<ProgramStats> {
    // struct bpf_prog_info; a shorter one of an older kernel leaves the rest zero.
    let mut info = [0_u64; 32];
    let attr = Attr::new().fd(0, program).u32(4, size_of_val(&info) as u32).u64(8, info.as_mut_ptr() as u64);
    // SAFETY: `info` is writable for the length that the kernel is told, and zero, so that it asks for no arrays.
    unsafe { attr.call(OBJ_GET_INFO_BY_FD, 16) }?;
    let word = |offset: usize| info.get(offset / 8).copied().unwrap_or(0);
    Ok(ProgramStats { run_time_ns: word(192), run_count: word(200), missed: word(208) })
}
