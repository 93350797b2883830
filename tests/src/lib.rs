//! What the tests of the whole share: the project's files, a running server, a small HTTP client, waiting, skipping.
//!
//! The tests themselves are in `tests/tests/`. They drive the real binary from outside, as a person or a script would,
//! and know no crate of the project: what they rely on is what users rely on.
//!
//! Constraints: no sleeping for a fixed time to let something happen (see [`wait::until`]); port 0 and a fresh data
//! folder for every server; everything that is started is ended, also when a test fails.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

pub mod command_line;
pub mod http;
pub mod ledger;
pub mod proc;
pub mod programs;
pub mod server;
pub mod tracing;
pub mod wait;
pub mod workspace;

use std::{
    io::Write as _,
    sync::{Mutex, MutexGuard, PoisonError},
};

/// Says that something could not be tested and what it would need, in the form that `tests/run` collects.
pub fn skip(what: &str, missing: &str) {
    // Written past the test harness, which would hide it: a skipped test counts as passed there.
    writeln!(std::io::stderr(), "SKIPPED: {what} — {missing}").expect("stderr takes a line");
}

/// Whether this process is root, as most tests on a real kernel need.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Whether this runs in the kernel lab: an emulated machine, which is slow and may be brought into trouble.
pub fn in_lab() -> bool {
    std::env::var_os("BATHYSCOPE_LAB").is_some()
}

/// Whether of many cases only those shall run that tell something new, as each takes seconds in the lab: it was started without
/// asking for everything (`tests/lab/run`).
pub fn lab_takes_few() -> bool {
    in_lab() && std::env::var_os("BATHYSCOPE_LAB_ALL").is_none_or(|all| all != "1")
}

/// How often a test repeats a fault: `full` times in an ordinary run, enough to notice a mistake, and `long` times under
/// `tests/run long`, which looks for what happens rarely.
pub fn rounds<T>(full: T, long: T) -> T {
    if std::env::var_os("BATHYSCOPE_TESTS_LONG").is_some_and(|tier| tier == "1") { long } else { full }
}

/// Lets the tests of a program that need root run one at a time, because what one does would be seen by another. None, and
/// told as skipped, without root.
pub fn alone(what: &str) -> Option<MutexGuard<'static, ()>> {
    static ONE: Mutex<()> = Mutex::new(());
    if !is_root() {
        skip(what, "root");
        return None;
    }
    Some(ONE.lock().unwrap_or_else(PoisonError::into_inner))
}
