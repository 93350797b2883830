//! The probe language: scripts in the language of bpftrace, from text to programs, in this process.
//!
//! text → [`syntax`](ast) → expand → check → [`hir`] → lower → programs of [`crate::ir`] and a [`bathyscope_plan::Plan`]. What is wrong is told as a
//! [`bathyscope_plan::Diagnostic`]; facts about the host come through [`host::Host`].

pub mod ast;
mod check;
mod compile;
mod expand;
pub mod hir;
pub mod host;
pub mod limits;
mod lower;
#[cfg(feature = "recorded")]
pub mod recorded;
mod render;
mod show;
mod syntax;

pub use check::{
    AskedArguments, CheckOptions, Completion, CompletionKind, Hover, Reference, ReferenceGroup, asked_arguments, check,
    complete, denied_function, hover, reference,
};
pub use compile::{CompileOptions, Compiled, Stage, compile, compile_checked};
pub use expand::{ExpandOptions, Expanded, OptionKind, ScriptOption, expand, script_options, user_symbols};
pub use lower::{LowerOptions, Lowered, TaskOffsets, lower};
pub use render::{LineColumn, place, render};
pub use syntax::{PROVIDERS, Provider, attach_text, definition_text, parse, points, print, provider, user_points};

/// The one of `candidates` that was probably meant by `word`: a few typing slips away, or one that contains it.
pub fn suggest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    bathyscope_catalog::closest(word, candidates).map(str::to_owned)
}
