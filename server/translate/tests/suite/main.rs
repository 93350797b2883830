//! Scripts with their translations, which compile; and what any text may do.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod cases;
mod properties;
