//! Programs and their type information: loading them, and running them by hand.

use std::{
    ffi::CStr,
    io,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
};

use super::{Attr, maps::kernel_name};

const PROG_LOAD: u32 = 5;
const PROG_TEST_RUN: u32 = 10;
const OBJ_GET_INFO_BY_FD: u32 = 15;
const BTF_GET_FD_BY_ID: u32 = 19;
const BTF_GET_NEXT_ID: u32 = 23;
const BTF_LOAD: u32 = 18;
const PROG_LOAD_BYTES: usize = 144;
/// Room for the verifier's log of a program that it refuses.
const LOG_BYTES: usize = 1 << 20;
/// Bytes of a record of `func_info` and of `line_info`.
const FUNCTION_RECORD_BYTES: u32 = 8;
const LINE_RECORD_BYTES: u32 = 16;

/// A program to load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load<'a> {
    /// Its name, of which the kernel keeps 15 characters.
    pub(crate) name: &'a str,
    /// `enum bpf_prog_type`.
    pub(crate) kind: u32,
    /// `enum bpf_attach_type`, 0 where none is needed.
    pub(crate) attach: u32,
    /// The type of what a typed program is attached to, in the kernel's type information.
    pub(crate) target: u32,
    /// The type information that `target` is in, if not the kernel's own: a module's.
    pub(crate) target_types: Option<BorrowedFd<'a>>,
    /// Instructions of 8 bytes.
    pub(crate) code: &'a [u8],
    /// Its licence.
    pub(crate) license: &'a CStr,
    /// Its own type information, with which function of it is where, and which line.
    pub(crate) types: Option<ProgramBtf<'a>>,
}

/// See [`Load::types`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProgramBtf<'a> {
    /// What [`load_types`] made.
    pub(crate) types: BorrowedFd<'a>,
    /// `struct bpf_func_info`s.
    pub(crate) functions: &'a [u8],
    /// `struct bpf_line_info`s.
    pub(crate) lines: &'a [u8],
}

/// Why a program was not loaded.
#[derive(Debug)]
pub(crate) struct ProgramRefusal {
    /// What the kernel said.
    pub(crate) error: io::Error,
    /// What the verifier said; empty if it said nothing.
    pub(crate) log: String,
}

/// Lets the verifier check a program and loads it. The log is only asked for if it refuses.
pub(crate) fn load(program: &Load<'_>) -> Result<OwnedFd, ProgramRefusal> {
    match load_once(program, &mut []) {
        Ok(fd) => Ok(fd),
        // The kernel was short of memory for a moment, or interrupted.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EAGAIN | libc::EINTR)) => {
            load_once(program, &mut []).map_err(|error| ProgramRefusal { error, log: String::new() })
        }
        Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(ProgramRefusal { error, log: String::new() }),
        Err(_refused) => {
            let mut log = vec![0_u8; LOG_BYTES];
            load_once(program, &mut log).map_err(|error| {
                let text = log.split(|byte| *byte == 0).next().unwrap_or_default();
                ProgramRefusal { error, log: String::from_utf8_lossy(text).trim_end().to_owned() }
            })
        }
    }
}

fn load_once(program: &Load<'_>, log: &mut [u8]) -> io::Result<OwnedFd> {
    let count = |bytes: usize| u32::try_from(bytes).unwrap_or(u32::MAX);
    let mut attr = Attr::new()
        .u32(0, program.kind)
        .u32(4, count(program.code.len() / 8))
        .pointer(8, program.code)
        .u64(16, program.license.as_ptr() as u64)
        .put(48, &kernel_name(program.name))
        .u32(68, program.attach)
        .u32(108, program.target);
    if !log.is_empty() {
        // The verifier's own shortest log would not say where; a full buffer is no error, it is the log's end that counts.
        attr = attr.u32(24, 1).u32(28, count(log.len())).pointer_mut(32, log);
    }
    if let Some(types) = program.target_types {
        attr = attr.u32(112, types.as_raw_fd().unsigned_abs());
    }
    if let Some(ProgramBtf { types, functions, lines }) = program.types {
        attr = attr.fd(72, types);
        if !functions.is_empty() {
            let number = count(functions.len()) / FUNCTION_RECORD_BYTES;
            attr = attr.u32(76, FUNCTION_RECORD_BYTES).pointer(80, functions).u32(88, number);
        }
        if !lines.is_empty() {
            attr = attr.u32(92, LINE_RECORD_BYTES).pointer(96, lines).u32(104, count(lines.len()) / LINE_RECORD_BYTES);
        }
    }
    // SAFETY: code, licence, log and type information live until the call returns and have the lengths that it is told.
    unsafe { attr.call_for_fd(PROG_LOAD, PROG_LOAD_BYTES) }
}

/// Loads type information of a program.
pub(crate) fn load_types(types: &[u8]) -> io::Result<OwnedFd> {
    let attr = Attr::new().pointer(0, types).u32(16, u32::try_from(types.len()).unwrap_or(u32::MAX));
    // SAFETY: the bytes live until the call returns and have the length that it is told.
    unsafe { attr.call_for_fd(BTF_LOAD, 32) }
}

/// Finds the type information of the module `name` among all that the kernel has loaded.
pub(crate) fn find_types(name: &str) -> io::Result<OwnedFd> {
    let mut id = 0;
    loop {
        let mut attr = Attr::new().u32(0, id);
        // SAFETY: the attributes hold no addresses.
        unsafe { attr.call_in_place(BTF_GET_NEXT_ID, 12) }?;
        id = attr.get_u32(4);
        // SAFETY: the attributes hold no addresses.
        match unsafe { Attr::new().u32(0, id).call_for_fd(BTF_GET_FD_BY_ID, 16) } {
            Ok(types) if is_module(types.as_fd(), name)? => return Ok(types),
            Ok(_other) => {}
            // It went away in between.
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether this is type information of the kernel's own that has this name.
fn is_module(types: BorrowedFd<'_>, name: &str) -> io::Result<bool> {
    // struct bpf_btf_info: address and size of the types, id, address and length of the name, whether it is the kernel's.
    let mut found = [0_u8; 64];
    let mut info = [0_u64; 4];
    info[2] = found.as_mut_ptr() as u64;
    info[3] = found.len() as u64;
    let attr = Attr::new().fd(0, types).u32(4, size_of_val(&info) as u32).u64(8, info.as_mut_ptr() as u64);
    // SAFETY: `info` is writable for the length that the kernel is told, asks for no types, and has an address and the
    // length of room for the name; both live until the call returns.
    unsafe { attr.call(OBJ_GET_INFO_BY_FD, 16) }?;
    let is_kernels = info[3] >> 32 != 0;
    let text = found.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(is_kernels && text == name.as_bytes())
}

/// Runs a raw tracepoint's program here and now, in this thread.
pub(crate) fn run(program: BorrowedFd<'_>) -> io::Result<()> {
    run_with(program, &[])
}

/// Runs a program once, here and now, with these words as its context and zeros after them.
pub(crate) fn run_with(program: BorrowedFd<'_>, words: &[u64]) -> io::Result<()> {
    // Programs that are run so use nothing of their context, but may look at all of it.
    let mut context = [0_u64; 12];
    context.iter_mut().zip(words).for_each(|(to, from)| *to = *from);
    let attr = Attr::new().fd(0, program).u32(40, size_of_val(&context) as u32).pointer(48, &context);
    // SAFETY: the context lives until the call returns and has the length that it is told.
    unsafe { attr.call(PROG_TEST_RUN, 80) }.map(drop)
}
