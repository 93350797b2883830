//! What can be traced: the kernel's lists and descriptions of its tracepoints, its types, the functions and markers of
//! user programs, the numbers that have names, the language of dynamic events, and how the kernel prints an event ([`mod@print`]).
//!
//! Both sides of the fence use it: the agent to find where a field is in an event, the console to say which columns a
//! capture will have. So the names and types of columns are made here, once.
//!
//! Constraints: bytes in, values out; no I/O, no clock, no environment. Nothing panics whatever the bytes are, every
//! size has a limit, and an error carries a line number and a kind, never the input. It must not know how probes are
//! made or attached.

#![forbid(unsafe_code)]

mod attached;
mod columns;
pub mod constants;
pub mod dynamic;

pub mod elf;
mod events;
mod format;
mod functions;
pub mod groups;
pub mod kernel_names;
pub mod lists;
pub mod names;
pub mod pasted;
pub mod perf_branches;
pub mod perf_events;
pub mod print;
pub mod recipes;
#[cfg(feature = "recorded")]
pub mod recorded;
mod suggest;
pub mod syscalls;
mod tracers;
pub mod types;
mod wildcards;

pub use attached::{DynamicEvent, bpf_link_kind, bpf_program_kind, bpf_typed_attach, parse_dynamic_events};
pub use columns::{
    ColumnSource, FieldColumn, FieldError, MAX_ARRAY_COLUMNS, Operand, check_predicate, columns_of, in_units,
};
pub use events::{MAX_AVAILABLE_EVENTS, TracepointMatches, parse_available_events, search_tracepoints};
pub use format::{
    EventField, EventFormat, FieldKind, FormatError, FormatErrorKind, MAX_FORMAT_BYTES, parse_event_format,
    parse_fields,
};
pub use functions::{HasBtf, KernelFunction, KernelFunctionLists, Probing, Way, parse_modules};
pub use suggest::closest;
pub use tracers::{Tracer, tracers};
pub use wildcards::{Wildcards, has_wildcard, matches_wildcards};
