//! What a user program offers to be traced: functions with their parameters and variables, source lines and USDT markers of an ELF file, and where libraries are.
//!
//! The bytes are those of a file that anyone may have written, so this runs in the unprivileged process only. A file is
//! read through [`ReadAt`], piece by piece, so that a large one need not be in memory; the caller implements it for what
//! it has opened. Every size and count has a limit, and nothing panics whatever the bytes are.

mod archive;
mod cache;
mod demangle;
mod file;
mod functions;
mod instruction;
mod lines;
mod marker;
mod needed;
mod parameters;
mod place;
mod unwind;
mod variables;
mod walk;

pub use archive::{ArchiveError, stored_file};
pub use cache::{CacheError, Library, find_library, parse_library_cache};
pub use demangle::{demangle, demangle_without_parameters};
pub use file::{ElfError, ElfFile, MAX_TABLE_BYTES, ReadAt};
pub use functions::{Functions, Symbol};
pub use instruction::{Entry, Instruction};
pub use lines::{Decompress, LineInFunction, MAX_LINE_BYTES, SourceLine, SourceLines};
pub use marker::{Marker, MarkerArgument};
pub use needed::Needed;
pub use parameters::{FunctionParameter, FunctionParameters, ParameterKind, ParameterType};
pub use place::ArgumentLocation;
pub use unwind::{MAX_UNWIND_ROWS, Rule, unwind_row};
pub use variables::{CodePlace, PlaceVariables, ProgramDebug};
pub use walk::{MAX_WALKED_FRAMES, Registers, StackCopy, WalkEnd, rule_of, walk_stack};
