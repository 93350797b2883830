//! Counts: how often events happen, one row for each event and interval.

use bathyscope_capture::{CountSpec, DynamicProbe, Target};
use bathyscope_catalog::perf_events::{detailed_events, usual_events};
use bathyscope_protocol::WireMethod;
use futures_util::future::{BoxFuture, ready};

use super::{MadeSource, Prepared, Request, Source, events::prepare_records};
use crate::AgentLink;

/// Events that a spec counts.
pub(super) struct CountSource<'a> {
    pub(super) spec: &'a CountSpec,
}

impl Source for CountSource<'_> {
    fn request(&self, target: &Target, _ring_bytes: u32) -> Request {
        Request::Method(Box::new(WireMethod::Count(counted(self.spec, target))))
    }

    fn dynamic_lines(&self) -> Vec<&str> {
        self.spec.dynamic.iter().map(DynamicProbe::line).collect()
    }

    fn prepare<'a>(&'a self, _link: &'a AgentLink, made: MadeSource<'a>) -> BoxFuture<'a, Result<Prepared, String>> {
        Box::pin(ready(prepare_records(vec!["counts".to_owned()], made.started)))
    }
}

/// The counts with their events one by one, also where the spec leaves them open.
fn counted(count: &CountSpec, target: &Target) -> CountSpec {
    let everywhere = count.everywhere || *target.watched() == Target::System;
    let alone = |event: &str| vec![event.to_owned()];
    // Events that are made for this are counted, whether or not they are named.
    let made = count.dynamic.iter().filter_map(|probe| bathyscope_link::dynamic::event_of(probe.line()));
    let is_named = |event: &String| {
        count.groups.iter().flatten().any(|named| named == event || named.starts_with(&format!("{event}:")))
    };
    let made: Vec<Vec<String>> = made.filter(|event| !is_named(event)).map(|event| vec![event]).collect();
    let groups = match count.groups.as_slice() {
        [] if !made.is_empty() => Vec::new(),
        [] => usual_events(count.detail, everywhere).into_iter().map(alone).collect(),
        groups => groups.iter().cloned().chain(detailed_events(count.detail).into_iter().map(alone)).collect(),
    };
    CountSpec { groups: groups.into_iter().chain(made).collect(), detail: 0, ..count.clone() }
}
