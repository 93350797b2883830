//! The console: what a person starts, types at, and opens in a browser. It joins the other rooms.
//!
//! Only this crate knows HTTP. It runs without privileges: whatever needs them is asked of the agent, over the socket
//! that `launch` made. It must not contain SQL (`store`), parse what the kernel wrote (`catalog`, `symbols`), or know
//! how a view is computed (`views`). No shell is ever started here, and no text from a client reaches a path.
#![forbid(unsafe_code)]

pub mod cli;
pub mod config;
pub mod control;
pub mod failure;
pub mod http;
pub mod import;
pub mod launch;
pub mod logging;
pub mod retention;
pub mod server;
pub mod signals;
pub mod wire;

pub use failure::{Failure, Outcome};
