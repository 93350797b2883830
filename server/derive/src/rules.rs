//! Which rules there are, and how they are written down.

use bathyscope_capture::{StreamSchema, StringId};
use serde::{Deserialize, Serialize};

use crate::{
    BUILT_IN_SPANS, DerivationError, DerivationHost, Rule, Span, Spans, TCP_STATES_RULE, THREAD_STATES_RULE, TcpStates,
    ThreadStates, ThreadStatesOptions,
};

/// What rules need to know of a capture beside its streams.
pub type RuleOptions = ThreadStatesOptions;

/// What is computed, as it is kept with a capture and asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RuleSpec {
    /// States of threads, occupation of CPUs, run-queue latency.
    ThreadStates,
    /// States of TCP connections.
    TcpStates,
    /// What lies between two rows.
    Span(Box<Span>),
}

impl RuleSpec {
    /// All rules of this version that a capture with these streams has the inputs for.
    pub fn built_in(streams: &[StreamSchema]) -> Vec<Self> {
        let spans = BUILT_IN_SPANS.iter().map(|span| Self::Span(Box::new(span.into())));
        let rules = [Self::ThreadStates, Self::TcpStates].into_iter().chain(spans);
        rules.filter(|rule| rule.check(streams).is_ok()).collect()
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::ThreadStates => THREAD_STATES_RULE,
            Self::TcpStates => TCP_STATES_RULE,
            Self::Span(span) => &span.name,
        }
    }

    /// A span that a person defined, as one line of text that is read as the same span again. None for the rules of the program,
    /// and where the span's names contain what ends them in the text.
    pub fn text_of_span(&self) -> Option<String> {
        let Self::Span(span) = self else { return None };
        let is_built_in = BUILT_IN_SPANS.iter().any(|built_in| Span::from(built_in) == **span);
        let text = span.to_string();
        let is_line = !text.chars().any(char::is_control);
        (!is_built_in && is_line && text.parse::<Span>().is_ok_and(|read| read == **span)).then_some(text)
    }

    /// The streams that it would give of a capture with these streams.
    ///
    /// # Errors
    /// If it cannot be, or needs what was not recorded.
    pub fn check(&self, streams: &[StreamSchema]) -> Result<Vec<StreamSchema>, DerivationError> {
        Ok(self.rule(streams, &RuleOptions::default(), &mut NoHost)?.streams().to_vec())
    }

    /// The rule for a capture with these streams.
    ///
    /// # Errors
    /// If it cannot be, or needs what was not recorded.
    pub fn rule(
        &self,
        streams: &[StreamSchema],
        options: &RuleOptions,
        host: &mut dyn DerivationHost,
    ) -> Result<Box<dyn Rule>, DerivationError> {
        Ok(match self {
            Self::ThreadStates => Box::new(ThreadStates::new(streams, options, host)?),
            Self::TcpStates => Box::new(TcpStates::new(streams, host)?),
            Self::Span(span) => Box::new(Spans::new(span, streams, host)?),
        })
    }
}

/// For rules that are only looked at.
struct NoHost;

impl DerivationHost for NoHost {
    fn string_id(&mut self, _text: &[u8]) -> StringId {
        0
    }

    fn string(&mut self, _id: StringId) -> Option<Vec<u8>> {
        None
    }

    fn rows(&mut self, _output: usize, _rows: bathyscope_capture::Batch) {}
}
