//! The console's promises about access, tested through the real router and listener. Each test is named after its
//! promise.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    unreachable_pub,
    missing_docs,
    reason = "tests: what fails here is reported by a panic, and nothing of it is used elsewhere"
)]

mod access;
mod activity;
mod against;
mod anonymous;
mod answers;
mod bounds;
mod builder;
mod calls;
mod catalog;
mod commands;
mod compare;
mod computed;
mod dictionaries;
mod dynamic;
mod files;
mod files_against;
mod flight;
mod harness;
mod headers;
mod import;
mod investigations;
mod labels;
mod library;
mod limits;
mod login_next;
mod narrowed;
mod notes;
mod others;
mod people;
mod previews;
mod proxied;
mod query;
mod recipes;
mod recording;
mod removal;
mod retention;
mod rights;
mod roles;
mod sample_records;
mod scripts;
mod series;
mod sessions;
mod shares;
mod sign_in;
mod tls;
mod tokens;
mod views;
mod webhooks;
mod weights;
