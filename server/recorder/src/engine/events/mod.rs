//! Events: each hit of a tracepoint is a row of fields. Their programs write rows as records of fixed length.

mod records;

use bathyscope_capture::{EventProbe, Target};
use bathyscope_protocol::{KernelFile, WireMethod};
use futures_util::future::{BoxFuture, FutureExt as _};

pub(super) use records::prepare_records;

use super::{MadeSource, Prepared, Request, Source};
use crate::{
    AgentLink,
    kernel_formats::{StreamFormat, read_whole},
};

/// Tracepoints that a spec names.
pub(super) struct EventSource<'a> {
    pub(super) probes: &'a [EventProbe],
}

impl Source for EventSource<'_> {
    fn request(&self, _target: &Target, _ring_bytes: u32) -> Request {
        Request::Method(Box::new(WireMethod::Events { probes: self.probes.to_vec() }))
    }

    fn prepare<'a>(&'a self, link: &'a AgentLink, made: MadeSource<'a>) -> BoxFuture<'a, Result<Prepared, String>> {
        async move {
            let names = self.probes.iter().map(|probe| probe.tracepoint.to_string()).collect();
            let prepared = prepare_records(names, made.started)?;
            let formats = formats_of(link, self.probes).await;
            let names_kernel_addresses = formats.iter().any(StreamFormat::may_name_addresses);
            Ok(Prepared { formats, names_kernel_addresses, ..prepared })
        }
        .boxed()
    }
}

/// The formats of the tracepoints whose fields are recorded; those that cannot be read are left out.
async fn formats_of(link: &AgentLink, probes: &[EventProbe]) -> Vec<StreamFormat> {
    let mut formats = Vec::new();
    for (stream, probe) in (0_u16..).zip(probes) {
        let tracepoint = probe.tracepoint.clone();
        let group = tracepoint.system().to_owned();
        match read_whole(link, KernelFile::EventFormat { tracepoint }).await {
            Ok(text) => formats.push(StreamFormat { stream, group, text }),
            Err(why) => tracing::info!(stream, why, "an event is shown by its fields"),
        }
    }
    formats
}
