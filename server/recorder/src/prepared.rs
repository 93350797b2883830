//! What is known of the sources of a capture before they record, put together.

use std::collections::HashSet;

use bathyscope_capture::{CaptureSpec, ScriptRecord, SourceSpec, StreamSchema};
use bathyscope_protocol::{AgentError, RingInfo, Started};

use super::{
    AgentLink,
    engine::{MadeSource, Prepared, Source},
    kernel_formats::StreamFormat,
    ledger::AccountedSource,
    running_script::RunningScript,
    threads::SourceParts,
};

/// All sources that are recorded, one behind the other; and those that are not.
pub(super) struct PreparedSources {
    pub(super) parts: Vec<SourceParts>,
    pub(super) accounted: Vec<AccountedSource>,
    /// How the kernel prints the events of all streams.
    pub(super) formats: Vec<StreamFormat>,
    /// Whether addresses of the kernel are shown while it records.
    pub(super) names_kernel_addresses: bool,
    /// Whether it matters what processes map.
    pub(super) follows_maps: bool,
    pub(super) script: Option<(RunningScript, ScriptRecord)>,
    /// Sources that could not be made, by id.
    pub(super) failed: Vec<(String, AgentError)>,
}

impl PreparedSources {
    /// Prepares each source of which the agent has made something. An error says in what the agent's answer does not fit.
    pub(super) async fn of(
        link: &AgentLink,
        spec: &CaptureSpec,
        sources: &[Box<dyn Source + '_>],
        started: &Started,
    ) -> Result<Self, String> {
        let mut all = Self {
            parts: Vec::new(),
            accounted: Vec::new(),
            formats: Vec::new(),
            names_kernel_addresses: false,
            follows_maps: false,
            script: None,
            failed: Vec::new(),
        };
        let mut names = HashSet::new();
        for (number, (source, described)) in sources.iter().zip(&spec.sources).enumerate() {
            let made = started.source(number).ok_or("the agent has left a source out")?;
            if let Some(error) = &made.failed {
                all.failed.push((described.id.clone(), error.clone()));
                continue;
            }
            let script = made.script.as_deref().cloned();
            let mut prepared = source.prepare(link, MadeSource { target: &spec.target, started: made, script }).await?;
            name_apart(&mut prepared.schemas, described, &mut names);
            all.add(number, prepared, made.rings.clone());
        }
        Ok(all)
    }

    fn add(&mut self, number: usize, prepared: Prepared, rings: Vec<RingInfo>) {
        let first = u16::try_from(self.streams()).unwrap_or(u16::MAX);
        let placed = |format: StreamFormat| StreamFormat { stream: first.saturating_add(format.stream), ..format };
        self.formats.extend(prepared.formats.into_iter().map(placed));
        self.names_kernel_addresses |= prepared.names_kernel_addresses;
        self.follows_maps |= prepared.follows_maps;
        self.script = self.script.take().or(prepared.script);
        let (streams, counters) = (prepared.schemas.len(), prepared.counters);
        self.accounted.push(AccountedSource { number, streams, counters });
        self.parts.push(SourceParts { schemas: prepared.schemas, rings, make_engine: prepared.engine });
    }

    /// How many streams they have together.
    pub(super) fn streams(&self) -> usize {
        self.parts.iter().map(|part| part.schemas.len()).sum()
    }

    /// The streams of all of them.
    pub(super) fn schemas(&mut self) -> impl Iterator<Item = &mut StreamSchema> {
        self.parts.iter_mut().flat_map(|part| &mut part.schemas)
    }
}

/// Notes whose streams they are. Two sources may record the same: streams of the later one have its id behind their names.
fn name_apart(schemas: &mut [StreamSchema], source: &SourceSpec, names: &mut HashSet<String>) {
    for schema in schemas {
        schema.source.clone_from(&source.id);
        if !names.insert(schema.name.clone()) {
            schema.name = format!("{} ({})", schema.name, source.id);
            names.insert(schema.name.clone());
        }
    }
}
