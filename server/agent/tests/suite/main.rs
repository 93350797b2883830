//! The agent, from its socket: one program, because each links all that it tests, and its tests run side by side.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod common;
mod counts;
mod hostile;
mod kernel;
mod scripts;
mod simulated;
mod sources;
mod trace;
