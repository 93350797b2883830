//! The console: what is opened in a browser. It joins the recorder and the reader, and keeps captures as long as they are wanted.
//!
//! Only this crate knows HTTP. It runs without privileges: whatever needs them is asked of the agent (`link`). It must not
//! contain SQL (`store`), parse what the kernel wrote (`catalog`, `symbols`), know how a view is computed (`views`), or start
//! a process; no text from a client reaches a path.
#![forbid(unsafe_code)]

mod audit;
pub mod capture_changes;
pub mod config;
pub mod control;
pub mod failure;
mod hex;
pub mod http;
pub mod import;
pub mod investigations;
pub mod library;
pub mod markdown;
pub mod notes;
pub mod oidc;
pub mod outbound;
pub mod passwords;
mod previews;
mod proxy_users;
mod public_url;
pub mod recipes;
pub mod retention;
pub mod rights;
pub mod series;
pub mod server;
mod tls;
pub mod webhooks;
pub mod wire;

pub use failure::{Failure, Outcome};
