//! Profiles: stacks sampled on every CPU, by time or by other events, with the memory and the branches that samples tell of.

mod rows;
mod samples;

use bathyscope_capture::{ProfileSpec, StreamSchema, Target};
use bathyscope_protocol::{StartedSource, StreamLayout, WireMethod};
use futures_util::future::{BoxFuture, ready};

use super::{EngineSetup, MadeSource, Prepared, Request, Source};
use crate::AgentLink;
pub(crate) use rows::NO_DATA_SOURCE;
use rows::SampleColumns;
use samples::SampleEngine;

/// Events that a spec samples.
pub(super) struct ProfileSource<'a> {
    pub(super) spec: &'a ProfileSpec,
}

impl Source for ProfileSource<'_> {
    fn request(&self, _target: &Target, _ring_bytes: u32) -> Request {
        Request::Method(Box::new(WireMethod::Profile(self.spec.clone())))
    }

    fn prepare<'a>(&'a self, _link: &'a AgentLink, made: MadeSource<'a>) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(ready(self.prepared(made.started)))
    }
}

impl ProfileSource<'_> {
    fn prepared(&self, started: &StartedSource) -> Result<Prepared, String> {
        let schemas = self.schemas(started)?;
        let (events, with) = (self.events(), self.columns());
        let engine =
            move |setup: EngineSetup| Box::new(SampleEngine::new(setup, events, with)) as Box<dyn super::Engine>;
        Ok(Prepared { names_kernel_addresses: true, follows_maps: true, ..Prepared::of(schemas, Box::new(engine)) })
    }

    /// The streams: samples, and their branches behind them.
    fn schemas(&self, started: &StartedSource) -> Result<Vec<StreamSchema>, String> {
        let (name, with) = (self.stream_name(), self.columns());
        match started.streams.as_slice() {
            [StreamLayout::PerfSamples] if !with.branches => Ok(vec![rows::samples(name, with)]),
            [StreamLayout::PerfSamples, StreamLayout::PerfBranches] if with.branches => {
                let branches = rows::branches(&name);
                Ok(vec![rows::samples(name, with), branches])
            }
            others => Err(format!("the agent made {} streams for {name}, or of another kind", others.len())),
        }
    }

    fn columns(&self) -> SampleColumns {
        let ProfileSpec { memory, branches, more, .. } = self.spec;
        SampleColumns { memory: *memory, branches: !branches.is_empty(), event: !more.is_empty() }
    }

    fn stream_name(&self) -> String {
        let usual = if self.spec.branches.is_empty() { "cpu-clock" } else { "cycles" };
        match self.spec.more.as_slice() {
            [] => self.spec.event.clone().unwrap_or_else(|| usual.to_owned()),
            _several => "samples".to_owned(),
        }
    }

    /// The events that are sampled, if there are several.
    fn events(&self) -> Vec<String> {
        let more = self.spec.more.iter().map(|more| &more.event);
        if self.spec.more.is_empty() { Vec::new() } else { self.spec.event.iter().chain(more).cloned().collect() }
    }
}
