//! Names for what a capture stored: frames as (mapping, offset) become functions, source lines and inlined frames.
//!
//! The kernel is resolved from the bytes of `/proc/kallsyms`, files from a descriptor of the very file that was mapped
//! (blazesym reads ELF symbols and DWARF), code that a run-time compiler made from the bytes of a `perf-PID.map`.
//!
//! Constraints: the parsers here ([`Kallsyms`], [`PerfMap`], [`ProcessMaps`], [`elf_build_id`]) do no I/O, never panic,
//! and have a limit for every size. Only [`FileResolver`] reads files, and only through a descriptor that it was given
//! or below the private directory that it was given: names from events are never opened. A file whose build id is not
//! the recorded one gives no names rather than wrong ones.
//!
//! It must not know what processes run now, where descriptors come from, or how captures are kept.

#![forbid(unsafe_code)]

mod compressed;
mod elf;
mod file;
mod kallsyms;
mod perf_map;
mod process_maps;

pub use compressed::decompressed;
pub use elf::{CodeSegment, ElfError, build_id_of_notes, build_id_text, elf_build_id, elf_code_at};
pub use file::{FileError, FileOptions, FileResolver, FunctionBytes, Place};
pub use kallsyms::{Kallsyms, KallsymsError, KernelSymbol};
pub use perf_map::PerfMap;
pub use process_maps::{ProcessMap, ProcessMaps};
