//! Traces: what the kernel's own tracer records, one stream for each event, and those of functions and of calls.

mod counters;
mod rows;
mod streams;

use bathyscope_capture::{DynamicProbe, Target, TraceSpec};
use bathyscope_protocol::WireMethod;
use futures_util::future::{BoxFuture, FutureExt as _};

use super::{EngineSetup, MadeSource, Prepared, Request, Source};
use crate::{AgentLink, script::HostNames};
use counters::TraceCounters;
use rows::{TraceRows, TraceSetup};
use streams::trace_streams;

/// What a spec asks the kernel's tracer for.
pub(super) struct TraceSource<'a> {
    pub(super) spec: &'a TraceSpec,
}

impl Source for TraceSource<'_> {
    fn request(&self, _target: &Target, _ring_bytes: u32) -> Request {
        Request::Method(Box::new(WireMethod::Trace(Box::new(self.spec.clone()))))
    }

    fn dynamic_lines(&self) -> Vec<&str> {
        self.spec.dynamic.iter().map(DynamicProbe::line).collect()
    }

    fn prepare<'a>(&'a self, link: &'a AgentLink, made: MadeSource<'a>) -> BoxFuture<'a, Result<Prepared, String>> {
        async move {
            let mut streams = trace_streams(link, self.spec, made.started).await?;
            let formats = std::mem::take(&mut streams.formats);
            let follows_maps = self.spec.options.iter().any(|(name, on)| *on && name == "userstacktrace");
            let name_of = |stream: &Option<u16>| {
                let schema = stream.and_then(|stream| streams.schemas.get(usize::from(stream)));
                schema.map(|schema| schema.name.clone()).unwrap_or_default()
            };
            let names: Vec<String> = streams.dynamic.iter().map(name_of).collect();
            let counters = Box::new(TraceCounters::new(self.spec.overwrite, streams.dynamic.clone(), &names));
            let schemas = streams.schemas.clone();
            let engine = move |setup: EngineSetup| {
                let rows = TraceSetup { streams, names: HostNames::new(setup.kernel), link: setup.link };
                Box::new(TraceRows::new(rows, &setup.rings)) as Box<dyn super::Engine>
            };
            let prepared = Prepared::of(schemas, Box::new(engine));
            Ok(Prepared { formats, names_kernel_addresses: true, follows_maps, counters, ..prepared })
        }
        .boxed()
    }
}
