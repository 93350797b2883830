//! What nobody records as such but everybody wants to see, computed from recorded rows: in which state each thread was and
//! when ([`ThreadStates`]), in which each TCP connection was ([`TcpStates`]), and what lies between two rows that belong together
//! ([`Spans`]).
//!
//! A [`Rule`] takes rows of some streams, batch by batch in order of time, and gives rows of streams of its own, whose
//! schemas say what a row is and what it was made from. It keeps its state between batches, so that it can run while a capture
//! is recorded, and [`Rule::finish`] closes what is open at the end.
//!
//! Events get lost, and then a rule says so: what contradicts itself is counted by kind ([`DerivationCounts`]), rows of which
//! the beginning, the end or something between is not known are marked or left out. Nothing is made up.
//!
//! Constraints: rows in, rows out; no I/O, no clock, no environment, no panic. What is kept is bounded, whatever comes; what
//! had to be forgotten is counted. Rows are values from outside: numbers are checked before they are used, texts stay ids. It
//! must not know how captures are made (`agent`, `recorder`), kept (`store`) or shown (`views`).
#![forbid(unsafe_code)]

mod column;
mod counts;
mod error;
mod losses;
mod merge;
mod output;
mod rule;
mod rules;
mod spans;
mod states;
mod tcp;

pub use counts::{DerivationCount, DerivationCounts};
pub use error::DerivationError;
pub use losses::MAX_LOSSES;
pub use merge::MAX_HELD_ROWS;
pub use rule::{DerivationHost, Rule, RuleInput};
pub use rules::{RuleOptions, RuleSpec};
pub use spans::{
    BUILT_IN_SPANS, BuiltInSpan, MAX_OPEN_BEGINS, MAX_SPAN_COLUMNS, SPAN_RULE_VERSION, Span, SpanEdge, SpanPairing,
    SpanTextError, Spans,
};
pub use states::{
    MAX_CPUS, MAX_THREADS, RecordedThreads, THREAD_STATES_RULE, THREAD_STATES_RULE_VERSION, ThreadStates,
    ThreadStatesOptions,
};
pub use tcp::{MAX_SOCKETS, TCP_STATES_RULE, TCP_STATES_RULE_VERSION, TcpStates};
