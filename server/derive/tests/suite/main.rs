//! Rules on made rows: one program, because its tests share what makes the rows.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod fixture;
mod properties;
mod recorded;
mod schedule;
mod spans;
mod states;
mod tcp;
