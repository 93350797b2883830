//! Which rules there are for a capture.

use bathyscope_capture::StreamSchema;

use crate::{BUILT_IN_SPANS, DerivationHost, Rule, Spans, ThreadStates, ThreadStatesOptions};

/// What rules need to know of a capture beside its streams.
pub type RuleOptions = ThreadStatesOptions;

/// All rules of this version that a capture with these streams has the inputs for.
pub fn built_in_rules(
    streams: &[StreamSchema],
    options: &RuleOptions,
    host: &mut dyn DerivationHost,
) -> Vec<Box<dyn Rule>> {
    let states = ThreadStates::new(streams, options, host).ok().map(|rule| Box::new(rule) as Box<dyn Rule>);
    let spans = BUILT_IN_SPANS.iter().filter_map(|span| Spans::new(&span.into(), streams, host).ok());
    states.into_iter().chain(spans.map(|rule| Box::new(rule) as Box<dyn Rule>)).collect()
}
