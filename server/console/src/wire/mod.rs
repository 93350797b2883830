//! Captures as JSON, for the API and for `--json`: promises to others, so not the types of `capture` and `store`.
//!
//! Text that came from events or from a file is made visible here.

mod capture;
mod derivation;
#[cfg(test)]
mod every_spec;
mod script;
mod spec;

pub use capture::{
    Capture, CaptureItem, FiringItem, FoundPlace, ItemSeries, Retention, Stream, Unsearched, search_hint,
};
pub(crate) use derivation::work_on;
pub use derivation::{ComputedProgress, ComputedRule, ComputedStreams, Untold};
pub use script::{Probe, ScriptMessage};
pub use spec::{SpecRefusal, check_spec};
