//! The store: one program, because each links all that it tests, and its tests run side by side.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod access;
mod captures;
#[path = "../common/mod.rs"]
mod common;
mod deleted;
mod derivations;
mod firings;
mod identities;
mod import;
mod index;
mod investigations;
mod labels;
mod library;
mod many;
mod notes;
mod p36_disk_full;
mod p37_open;
mod pages;
mod people;
mod retention;
mod rights;
mod runs;
mod schema_page;
mod search;
mod shares;
mod webhooks;
