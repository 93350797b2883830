//! The probe builder: forms that say where to probe, what to record and what to do with it, and the script of the probe
//! language that says the same. [`write()`] makes the script of one form or several, [`read()`] the forms of a script, or says at
//! its place what no form can hold. Both are pure, and neither loses anything: a form is only read from a script that it writes
//! again, and only written as a script that it is read from.
#![forbid(unsafe_code)]

mod arguments;
mod described;
mod form;
mod limits;
mod lists;
mod memory;
mod names;
mod places;
mod read;
mod script;
mod texts;
mod tree;
mod user;
mod variables;
mod write;

pub use arguments::{ArgumentError, MAX_NODES, MAX_STEPS, arguments, tracepoint_of};
pub use form::{AggregateFunction, DURATION, FormAction, Pairing, ProbeForm, RecordedValue, ValueFormat};
pub use limits::{MAX_PROBES, MAX_SITES, MAX_TEXT_BYTES, MAX_VALUES};
pub use names::default_name;
pub use places::{Partner, TIMERS, TimerSite, nearest, partners, perf_site, site_part};
pub use read::{Reading, read};
pub use tree::{ArgumentKind, ArgumentList, ArgumentNode, NamedConstant};
pub use user::{PassedValue, UserPlace};
pub use write::{FormError, WriteError, write};
