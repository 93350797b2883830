//! Commands that people know from other tools, read: `perf record -F 99 -g -p 1`, `strace ls`, lines of `echo … > …` into
//! tracefs. A text goes in; what it asks for comes out as the data model has it (a capture's spec, a view of a stored capture, a
//! page), with a sentence in words, what each part of the text is, and what should be known about parts. And back: a capture's spec as
//! commands that would ask the same ([`same_as()`]).
//!
//! Each tool is a file with one table of its options: for each whether it is taken, has no meaning here and why, or is not
//! possible and what is nearest. Nothing is guessed: what is no option of a tool is refused at its place.
//!
//! Constraints: no I/O, no clock, no panic, a limit for the size of a text. No shell is started, here or later: what only a shell
//! could expand is refused at its place. What has to be known of the host is asked of a [`Host`]. It must not know how captures
//! are made or shown.
#![forbid(unsafe_code)]

mod answer;
mod call;
mod complete;
mod differences;
mod flat;
mod host;
mod options;
mod paste;
mod rules;
mod same_as;
mod sentence;
mod shell;
mod tools;
mod verbs;

pub use answer::{Answer, Explanation, Note, Page, Planned, Refusal, Span, SpanKind, StoredView, ViewName};
pub use complete::{OfferedWord, WantedName, WordCompletion, complete};
pub use flat::ExplainedText;
pub use host::{Host, KeptProbe, KnownHost, UnknownHost, wanted_processes};
pub use paste::{MAX_COMMAND_BYTES, explain};

pub use same_as::{SameCommand, same_as};
pub use sentence::cost_of;
pub use verbs::{VerbAnswer, verb_answers};

/// What strace's options ask for, as the command line of Bathyscope takes them too.
pub mod strace {
    pub use crate::tools::strace::choice::{Choice, ChoiceError, Files, NEEDS_PTRACE, Quiet, hex_texts, unknown};
    pub use crate::tools::strace::{ShownCalls, chosen_calls, shown_calls};
}
