//! Does what a script's records ask for, in their order: what [`super::ScriptSession`] and the recorder have in common.

use std::{collections::HashMap, sync::Arc};

use bathyscope_decode::script::{Decoder, Record, Value};
use bathyscope_link::{LinkError, ScriptAgent, words};
use bathyscope_plan::{Action, Aggregation, MapPlan, Plan, Site, Type, layout};
use bathyscope_protocol::CaptureHandle;

use super::{MapSnapshot, ScriptEvent};

/// The most bytes of a map that are read at a time.
const MAX_MAP_BYTES: usize = 64 << 20;

/// Follows the records of one script.
#[derive(Debug)]
pub(crate) struct Follower {
    handle: CaptureHandle,
    plan: Arc<Plan>,
    exit: Option<(i64, u64)>,
    undecodable: u64,
    after_exit: u64,
}

impl Follower {
    pub(crate) fn new(handle: CaptureHandle, plan: Arc<Plan>) -> Self {
        Self { handle, plan, exit: None, undecodable: 0, after_exit: 0 }
    }

    /// What `exit()` said; none if it was not called.
    pub(crate) fn exit_code(&self) -> Option<i64> {
        self.exit.map(|(code, _)| code)
    }

    /// Records that made no sense so far.
    pub(crate) fn undecodable(&self) -> u64 {
        self.undecodable
    }

    /// Records after `exit()` that were left out so far.
    pub(crate) fn after_exit(&self) -> u64 {
        self.after_exit
    }

    /// Does what a record asks for and tells `each`.
    pub(crate) fn follow(&mut self, bytes: &[u8], agent: &mut impl ScriptAgent, each: &mut dyn FnMut(ScriptEvent)) {
        let plan = Arc::clone(&self.plan);
        let decoded = Decoder::new(&plan).record(bytes);
        let Some((record, site)) = decoded
            .ok()
            .and_then(|record| Some((plan.sites.get(record.site as usize)?, record)))
            .map(|(site, record)| (record, site))
        else {
            self.undecodable += 1;
            return;
        };
        // A probe may run on for a moment on another CPU; what `end` probes say belongs to the end.
        if self.exit.is_some() && !plan.is_end(record.probe) {
            self.after_exit += 1;
            return;
        }
        match &site.action {
            Action::PrintMap { map, .. } => {
                let (map, time_ns) = (*map, record.time_ns);
                match self.snapshot(map, time_ns, agent) {
                    Ok(snapshot) => each(ScriptEvent::Map { record, snapshot }),
                    Err(error) => each(trouble(&plan, map, &error)),
                }
            }
            Action::PrintElement { map, .. } if lacks_value(&plan, *map, site) => {
                let map = *map;
                match self.element(map, site, &record, bytes, agent) {
                    Ok(snapshot) => each(ScriptEvent::Map { record, snapshot }),
                    Err(error) => each(trouble(&plan, map, &error)),
                }
            }
            Action::Clear { map } => each(self.empty(*map, false, agent)),
            Action::Zero { map } => each(self.empty(*map, true, agent)),
            Action::Exit => {
                let code = record.values.first().and_then(Value::number).unwrap_or(0);
                let code = i64::try_from(code).unwrap_or(1);
                self.exit = Some((code, record.time_ns));
                each(ScriptEvent::Exit { code, time_ns: record.time_ns });
            }
            _ => each(ScriptEvent::Record(record)),
        }
    }

    /// A whole map.
    pub(crate) fn snapshot(
        &self,
        map: u32,
        time_ns: u64,
        agent: &mut impl ScriptAgent,
    ) -> Result<MapSnapshot, LinkError> {
        let handle = self.handle;
        let content = agent.call(move |client| client.read_map(handle, map, false, MAX_MAP_BYTES))?;
        let key_bytes = self.plan.maps.get(map as usize).map_or(0, |map| map.key_bytes as usize);
        let elements = content.elements(key_bytes).map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        Ok(MapSnapshot { map, time_ns, elements })
    }

    /// One element, whose key is in the record.
    fn element(
        &self,
        map: u32,
        site: &Site,
        record: &Record,
        bytes: &[u8],
        agent: &mut impl ScriptAgent,
    ) -> Result<MapSnapshot, LinkError> {
        let Some(layout) = self.plan.maps.get(map as usize) else { return Ok(MapSnapshot::default()) };
        let key = key_of(layout, site, record, bytes);
        if layout.aggregation().is_some_and(Aggregation::is_sparse) {
            let mut whole = self.snapshot(map, record.time_ns, agent)?;
            let parts = layout.key_bytes.saturating_sub(8) as usize;
            let wanted = key.get(..parts).unwrap_or_default().to_vec();
            whole.elements.retain(|(key, _)| key.get(..parts) == Some(&wanted));
            return Ok(whole);
        }
        let (handle, key_bytes) = (self.handle, layout.key_bytes as usize);
        let content = agent.call(move |client| client.read_elements(handle, map, &[key]))?;
        let elements = content.elements(key_bytes).map(|(key, value)| (key.to_vec(), value.to_vec())).collect();
        Ok(MapSnapshot { map, time_ns: record.time_ns, elements })
    }

    fn empty(&self, map: u32, zero: bool, agent: &mut impl ScriptAgent) -> ScriptEvent {
        let handle = self.handle;
        let emptied = agent.call(move |client| match zero {
            true => client.zero_map(handle, map),
            false => client.clear_map(handle, map),
        });
        match emptied {
            Ok(_count) => ScriptEvent::Emptied { map },
            Err(error) => trouble(&self.plan, map, &error),
        }
    }

    /// Stacks by their ids, those that were kept.
    pub(crate) fn stacks(
        &self,
        user: bool,
        ids: Vec<u64>,
        agent: &mut impl ScriptAgent,
    ) -> Result<HashMap<u64, Vec<u64>>, LinkError> {
        let handle = self.handle;
        let stacks = agent.call(move |client| client.read_stacks(handle, user, &ids))?;
        Ok(stacks.into_iter().collect())
    }
}

fn trouble(plan: &Plan, map: u32, error: &LinkError) -> ScriptEvent {
    let name = plan.maps.get(map as usize).map_or("a map", |map| map.name.as_str());
    ScriptEvent::Trouble(format!("{name}: {}", words(error)))
}

/// Whether a record of `print(@map[key])` has only the key.
fn lacks_value(plan: &Plan, map: u32, site: &Site) -> bool {
    plan.maps.get(map as usize).is_some_and(|map| site.fields.len() <= map.key.len())
}

/// The key in a record as the map has it: texts there are filled up, in the record they are not.
fn key_of(map: &MapPlan, site: &Site, record: &Record, bytes: &[u8]) -> Vec<u8> {
    let mut key = vec![0; map.key_bytes as usize];
    let (offsets, _) = layout(map.key.iter());
    for (((ty, at), field), value) in map.key.iter().zip(offsets).zip(&site.fields).zip(&record.values) {
        let room = key.get_mut(at as usize..).unwrap_or_default();
        let part: Vec<u8> = match (ty, value) {
            (Type::Buffer { .. }, Value::Buffer(content)) => {
                let length = u32::try_from(content.len()).unwrap_or(0);
                length.to_le_bytes().into_iter().chain(content.iter().copied()).collect()
            }
            (_, Value::Text(text)) if field.ty.has_length() => text.clone(),
            _ => {
                let from = field.offset as usize;
                bytes.get(from..from.saturating_add(ty.bytes() as usize)).unwrap_or_default().to_vec()
            }
        };
        room.iter_mut().zip(part.into_iter().take(ty.bytes() as usize)).for_each(|(to, from)| *to = from);
    }
    key
}
