//! Everything about the probe language but its speed: one program, because each links all that it tests, and its tests run side by side.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod backend;
mod calls;
mod check;
mod corpus;
mod features;
#[expect(clippy::print_stdout, reason = "what was skipped must be seen")]
mod hand;
mod kernel;
mod lower;
mod lower_golden;
mod lower_memory;
mod machine;
mod nesting;
mod output;
mod probes;
mod random;
mod random_scripts;
mod scripts;
mod speed;
mod states;
mod syscalls;
mod tool_library;
mod unwind;
mod verifier;
