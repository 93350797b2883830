//! Scripts with their forms, forms with their scripts, and what holds for any of them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

mod arguments;
mod properties;
mod tables;
