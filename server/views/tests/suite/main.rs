//! Views of made captures: one program, because each links all that it tests, and its tests run side by side.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod against;
mod annotate;
mod behaviour;
mod calls;
mod compare;
mod counts;
mod critical_path;
mod dictionaries;
mod distribution;
mod facets;
mod find;
mod fixture;
mod flows;
mod golden;
mod hostile;
mod lengths;
mod measured;
mod narrow;
mod pivot;
mod processes;
mod properties;
mod ranges;
mod reports;
mod rows;
mod syscalls;
mod ticks;
mod time_order;
mod tracks;
mod transforms;
mod weights;
