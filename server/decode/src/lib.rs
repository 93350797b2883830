//! What the kernel and programs wrote, read: records of perf rings ([`perf`]), records of the probes at tracepoints
//! ([`records`]), at system calls ([`calls`]) and at switches and wake-ups of threads ([`states`]), pages of ftrace ([`pages`]), and
//! records and maps of scripts ([`script`]).
//!
//! Constraints: bytes in, typed values out. No I/O, no clock, no environment; nothing panics, whatever the bytes are, and
//! every size that is read has a limit. It must not know where the bytes come from (`agent`, `protocol`), or what becomes
//! of the values.

#![forbid(unsafe_code)]

pub mod calls;
pub mod pages;
pub mod perf;
pub mod records;
pub mod script;
pub mod states;
