//! What the compiler of scripts tells others: the plan of a compiled script with the types of its values, messages about a
//! script, and the facts about a host that it was compiled for.
//!
//! The agent compiles, the console reads; both sides and the protocol between them know these types, and only who compiles
//! links the compiler.
//!
//! Constraints: data and what follows from it; no I/O, and no other crate of this workspace.

#![forbid(unsafe_code)]

mod diagnostic;
mod host;
mod plan;
mod types;

pub use diagnostic::*;
pub use host::*;
pub use plan::*;
pub use types::*;
