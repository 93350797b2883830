//! The binary `bathyscope`: the command line with its verbs ([`verbs`]), and the processes that it starts and confines
//! ([`launch`]).
//!
//! It joins the other rooms: `serve` starts an agent and a console, verbs at a terminal use the recorder, the reader and the
//! agent's client themselves. Options are read here and nowhere else. Constraints: whoever starts a process gives it no more
//! than it needs, and gives up its own rights before it reads what others wrote. It must not know HTTP, SQL, or what an event
//! looks like. No shell is ever started here.
#![forbid(unsafe_code)]

pub mod config;
pub mod launch;
pub mod logging;
pub mod signals;
pub mod verbs;

pub use bathyscope_console::{Failure, Outcome};
