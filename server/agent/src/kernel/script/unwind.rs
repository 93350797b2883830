//! The tables with which scripts walk stacks without frame pointers. The console made them; here they are numbers that are
//! copied into maps, and nothing is believed of them: programs bound each use.

use std::{
    os::fd::{AsFd as _, OwnedFd},
    ptr::NonNull,
};

use bathyscope_bpf::{
    Code,
    unwind::{CHUNK_ROWS, MappingOffsets, REGISTERED_MAP, ROWS_MAP, Tables, register_program},
};
use bathyscope_protocol::{AgentError, UnwindTable, WireScript};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::{
    failures, internal,
    object::{LoadAs, Object},
};
use crate::{
    compile,
    engine::EngineError,
    error::refused,
    kernel::{host::KernelHost, user_file},
    os::bpf::{maps, programs},
};

/// `BPF_PROG_TYPE_RAW_TRACEPOINT`.
const RAW_TRACEPOINT: u32 = 17;
/// As much as is mapped of a file.
const PAGE_BYTES: usize = 4096;
/// Where the program tells the inode that it found, in words.
const INODE_WORD: usize = 5;

/// A file that stays mapped, so that its inode in the kernel stays where it is. Nothing of it is ever read.
#[derive(Debug)]
pub(super) struct Mapped {
    address: NonNull<core::ffi::c_void>,
}

// SAFETY: the address belongs to the whole process, and only dropping uses it.
unsafe impl Send for Mapped {}

impl Mapped {
    fn new(file: &OwnedFd) -> std::io::Result<Self> {
        // SAFETY: a new mapping at a place that the kernel chooses.
        let address = unsafe { mmap(std::ptr::null_mut(), PAGE_BYTES, ProtFlags::READ, MapFlags::PRIVATE, file, 0) }?;
        NonNull::new(address).map(|address| Self { address }).ok_or_else(|| std::io::ErrorKind::OutOfMemory.into())
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        // SAFETY: it was mapped by `new` with this length, and nothing refers to it any more.
        let _unmapped = unsafe { munmap(self.address.as_ptr(), PAGE_BYTES) };
    }
}

/// Adds the program that makes files known, if a program walks stacks. Returns its index.
pub(super) fn add_program(
    codes: &mut Vec<Code>,
    host: &KernelHost,
    script: &WireScript,
) -> Result<Option<usize>, AgentError> {
    if !codes.iter().flat_map(|code| &code.maps).any(|map| map.name == ROWS_MAP) {
        return Ok(None);
    }
    let offsets = MappingOffsets::of(host.types()).ok_or_else(|| internal("the kernel's mappings are not known"))?;
    let (rows, files) = compile::unwind_sizes(script);
    let program = register_program(&Tables { offsets, rows, files });
    codes.push(bathyscope_bpf::compile(&program).map_err(|error| internal(&error.to_string()))?);
    Ok(Some(codes.len() - 1))
}

/// What became of the tables.
#[derive(Debug, Default)]
pub(super) struct Filled {
    /// To be kept as long as programs run.
    pub(super) mapped: Vec<Mapped>,
    /// What to tell, if there is something.
    pub(super) warning: Option<String>,
}

/// Fills the maps: all rows, then the files to which they belong.
pub(super) fn fill(
    object: &Object,
    codes: &[Code],
    register: Option<usize>,
    tables: &[UnwindTable],
    text: &str,
) -> Result<Filled, EngineError> {
    let Some(index) = register else { return Ok(Filled::default()) };
    let code = codes.get(index).ok_or_else(|| internal("a program has no code"))?;
    fill_rows(object, tables)?;
    let program = object.load(index, code, LoadAs { kind: RAW_TRACEPOINT, ..LoadAs::default() });
    let program = program.map_err(|refusal| failures::of_program(code, 0, text, &refusal))?;
    let (mut filled, mut first, mut lost) = (Filled::default(), 0_u64, Vec::new());
    for table in tables {
        let count = table.rows.0.len() as u64;
        match make_known(object, &program, table, first, count) {
            Some(mapped) => filled.mapped.push(mapped),
            None => lost.push(bathyscope_capture::visible(table.file.path.as_bytes()).to_string()),
        }
        first += count;
    }
    filled.warning = match (lost.first(), filled.mapped.is_empty()) {
        (None, _) => None,
        (Some(_), true) => Some(
            "this kernel does not keep what processes have mapped as its types say, so `dw_ustack` goes by frame pointers"
                .to_owned(),
        ),
        (Some(one), false) => Some(format!(
            "{} of {} files were replaced or removed while the script was prepared, such as {one}: in them `dw_ustack` goes \
             by frame pointers",
            lost.len(),
            tables.len()
        )),
    };
    Ok(filled)
}

fn fill_rows(object: &Object, tables: &[UnwindTable]) -> Result<(), AgentError> {
    let value_bytes = CHUNK_ROWS * 8;
    let map = object.map(ROWS_MAP).filter(|map| {
        let definition = &map.definition;
        (definition.key_bytes, definition.value_bytes) == (4, value_bytes)
    });
    let map = map.ok_or_else(|| internal("the map of unwind tables is not as planned"))?;
    let rows: Vec<u8> = tables.iter().flat_map(|table| &table.rows.0).flat_map(|row| row.to_ne_bytes()).collect();
    for (index, chunk) in (0_u32..).zip(rows.chunks(value_bytes as usize)) {
        let mut value = chunk.to_vec();
        value.resize(value_bytes as usize, 0);
        // SAFETY: the key has 4 bytes, and the value was just made as long as the map's.
        unsafe { maps::update(map.fd.as_fd(), &index.to_ne_bytes(), &value) }
            .map_err(|error| refused("filling the script's unwind tables", &error, ""))?;
    }
    Ok(())
}

/// Maps a file and lets the program find it. None if it is not there any more, or not found.
fn make_known(object: &Object, program: &OwnedFd, table: &UnwindTable, first: u64, count: u64) -> Option<Mapped> {
    let file = user_file::open_same(&table.file).ok()?;
    let mapped = Mapped::new(&file).ok()?;
    let context = [mapped.address.as_ptr() as u64, first, count];
    programs::run_with(program.as_fd(), &context).ok()?;
    let map = object.map(REGISTERED_MAP).filter(|map| map.definition.key_bytes == 4)?;
    let mut value = vec![0; map.definition.value_bytes as usize];
    // SAFETY: the key has 4 bytes, and the value is as long as the map's.
    let read = unsafe { maps::lookup(map.fd.as_fd(), &[0; 4], &mut value) };
    let inode = value.get(8 * INODE_WORD..8 * (INODE_WORD + 1))?;
    (read.ok()? && inode.iter().any(|byte| *byte != 0)).then_some(mapped)
}
