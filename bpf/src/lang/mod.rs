//! The probe language: scripts in the language of bpftrace, from text to programs, in this process.
//!
//! text → [`syntax`](ast) → expand → check → [`hir`] → lower → programs of [`crate::ir`] and a [`plan::Plan`]. What is wrong is told as a
//! [`Diagnostic`]; facts about the host come through [`host::Host`].

pub mod ast;
mod diagnostic;
pub mod hir;
pub mod host;
mod lower;
pub mod plan;
pub mod types;

pub use ast::Span;
pub use diagnostic::{Diagnostic, Severity};
pub use lower::{LowerOptions, Lowered, TaskOffsets, lower};
