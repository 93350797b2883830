//! What can be traced, read from recorded kernels and made files: one program, because each links all that it tests, and its tests run side by side.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod btf;
mod definitions;
mod dynamic;
mod elf;
mod formats;
mod layouts;
mod lists;
mod names;
mod parameters;
mod perf_events;
mod recorded;
mod resolve;
mod syscalls;
mod unwind;
mod variables;
