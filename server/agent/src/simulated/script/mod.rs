//! Scripts on the simulated host: compiled like any other, and run in the machine on made hits. So what the console gets
//! is what the compiler's programs do, while what is lost is known.

mod host;
mod source;
mod work;

use std::{
    os::fd::BorrowedFd,
    sync::{Arc, Mutex},
    time::Instant,
};

use bathyscope_bpf::probe::{TARGETS_MAP, TargetFilter};
use bathyscope_plan::{AttachPoint, KERNEL_STACKS, MapPlan, Plan, RING, USER_STACKS};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, MAX_MAP_PAGE_BYTES, ObjectStats, ScriptChecked, ScriptEnabled, ScriptFacts,
    ScriptStage, ScriptStarted, SourceReadings, StartedSource, WireScript,
};

pub(crate) use self::host::SimulatedFacts;
pub(super) use self::host::features;
use self::work::{Core, ScriptWork, SharedCore, lock};
use super::{MadeTarget, engine::SimulatedEngine, events::CPUS, options::Simulation};
use crate::{
    clock::{elapsed_ns, monotonic_ns},
    compile::{self, Around, CompiledScript, ScriptRights},
    engine::{Elements, Engine, EngineError, ProcessReports, ScriptMaps},
    error::{failed, refused},
    guard::SharedBudget,
    memory::MIN_RING_BYTES,
};

/// Compiles a script for its messages.
pub(super) fn check(script: &WireScript, show: Option<ScriptStage>) -> Result<ScriptChecked, AgentError> {
    compile::check(script, &SimulatedFacts, show)
}

pub(super) fn facts(script: &WireScript, offset: u32) -> Result<ScriptFacts, AgentError> {
    compile::facts(script, &SimulatedFacts, offset)
}

/// Compiles a script and makes its machine.
pub(crate) fn start(
    simulation: &Simulation,
    script: &WireScript,
    target: &MadeTarget,
    ring_bytes: u32,
    reports: ProcessReports,
) -> Result<SimulatedScript, EngineError> {
    let filter = match (&target.among, target.pid) {
        (None, _) => TargetFilter::System,
        (Some(_), Some(pid)) if !target.children => TargetFilter::Process(pid),
        (Some(_), _) => TargetFilter::Targets,
    };
    let clock = Instant::now();
    let around = Around { filter, pid: target.pid.or(target.executes()).unwrap_or(0), ring_bytes };
    // Nothing that is made up can be changed.
    let compiled = compile::compile(script, &SimulatedFacts, around, ScriptRights::Change)?;
    Ok(SimulatedScript::make(simulation, compiled, (target, reports), elapsed_ns(clock))?)
}

/// A script that runs in the machine.
pub(crate) struct SimulatedScript {
    started: StartedSource,
    script: ScriptStarted,
    engine: SimulatedEngine,
    core: SharedCore,
    detached: bool,
}

impl SimulatedScript {
    fn make(
        simulation: &Simulation,
        compiled: CompiledScript,
        (target, reports): (&MadeTarget, ProcessReports),
        compile_ns: u64,
    ) -> Result<Self, AgentError> {
        let trouble = |error: std::io::Error| refused("making a simulated script", &error, "");
        let CompiledScript { codes, plan } = compiled;
        let instructions: usize = codes.iter().map(|code| code.instructions.len()).sum();
        let stats = ObjectStats {
            programs: u32::try_from(codes.len()).unwrap_or(u32::MAX),
            instructions: u32::try_from(instructions).unwrap_or(u32::MAX),
            map_bytes: 0,
        };
        let ring = codes.iter().flat_map(|code| &code.maps).find(|map| map.name == RING);
        let ring_bytes = ring.map_or(MIN_RING_BYTES, |map| map.max_entries);
        let mut core = Core::new(simulation, codes, plan.clone(), ring_bytes).map_err(trouble)?;
        for pid in target.among.iter().flatten() {
            // Where the script has no such map, its programs compare the process themselves.
            let _there = core.machine.set(TARGETS_MAP, &pid.to_le_bytes(), 0, &1_u32.to_le_bytes());
        }
        let core = Arc::new(Mutex::new(core));
        let work = ScriptWork::new(&core, target.pid, reports).map_err(trouble)?;
        let engine = SimulatedEngine::new(work, target)?;
        let started = StartedSource { compile_ns, ..engine.started().clone() };
        let script = ScriptStarted { plan, cpus: CPUS, failed: Vec::new(), stats };
        Ok(Self { started, script, engine, core, detached: false })
    }

    fn plan(&self) -> &Plan {
        &self.script.plan
    }

    /// Runs all probes of which `chosen` says so, in order.
    fn run_all(&self, chosen: impl Fn(&AttachPoint) -> bool) -> u32 {
        let probes = (0_u32..).zip(&self.plan().probes).filter(|(_index, probe)| chosen(&probe.point));
        let mut count = 0;
        for (index, _probe) in probes {
            lock(&self.core).run_by_hand(index, monotonic_ns());
            count += 1;
        }
        count
    }

    fn map(&self, map: usize) -> Result<&MapPlan, AgentError> {
        let missing = || failed(AgentErrorKind::Internal, "reading a map", "there is no such map", "");
        self.plan().maps.get(map).ok_or_else(missing)
    }

    /// Puts an element behind the others of a page, if it is in the map.
    fn add(core: &Core, map: &MapPlan, key: &[u8], page: &mut Elements) {
        let Some(entries) = core.machine.map(&map.object_name) else { return };
        let values = entries.values(key);
        if values.is_empty() {
            return;
        }
        page.count += 1;
        page.bytes.extend_from_slice(key);
        for value in values {
            page.bytes.extend_from_slice(value);
            page.bytes.resize(page.bytes.len() + value.len().next_multiple_of(8) - value.len(), 0);
        }
    }

    fn set_to_zero(core: &mut Core, map: &MapPlan, key: &[u8]) {
        let zeros = vec![0; map.value_bytes as usize];
        for cpu in 0..if map.is_per_cpu() { CPUS } else { 1 } {
            let _there = core.machine.set(&map.object_name, key, cpu, &zeros);
        }
    }
}

fn keys(core: &Core, map: &MapPlan) -> Vec<Vec<u8>> {
    let entries = core.machine.map(&map.object_name);
    entries.map_or_else(Vec::new, |entries| entries.keys().map(<[u8]>::to_vec).collect())
}

/// Whether its elements cannot be removed.
fn is_array(map: &MapPlan) -> bool {
    map.key.is_empty()
}

impl Engine for SimulatedScript {
    fn started(&self) -> &StartedSource {
        &self.started
    }

    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        self.engine.descriptor(index)
    }

    fn set_budget(&mut self, budget: SharedBudget) {
        self.engine.set_budget(budget);
    }

    fn throttle(&mut self) -> bool {
        !self.plan().maps.is_empty()
    }

    fn enable(&mut self) -> Result<Option<ScriptEnabled>, EngineError> {
        self.run_all(|point| matches!(point, AttachPoint::Begin));
        self.engine.enable()?;
        let attached = u32::try_from(self.plan().probes.len()).unwrap_or(u32::MAX);
        Ok(Some(ScriptEnabled { attached, failed: Vec::new(), attach_ns: 300_000 }))
    }

    fn readings(&mut self) -> SourceReadings {
        SourceReadings { probes: lock(&self.core).readings(), ..self.engine.readings() }
    }

    fn detach(&mut self) {
        self.engine.detach();
    }

    fn stop(&mut self) {
        self.engine.stop();
        if !std::mem::replace(&mut self.detached, true) {
            self.run_all(|point| matches!(point, AttachPoint::End));
        }
    }

    fn maps(&mut self) -> Option<&mut dyn ScriptMaps> {
        Some(self)
    }
}

impl ScriptMaps for SimulatedScript {
    fn script(&self) -> &ScriptStarted {
        &self.script
    }

    fn read_map(&mut self, map: usize, take: bool, after: Option<&[u8]>) -> Result<Elements, AgentError> {
        let map = self.map(map)?;
        let mut core = lock(&self.core);
        let mut page = Elements::default();
        for key in keys(&core, map) {
            if after.is_some_and(|after| key.as_slice() <= after) {
                continue;
            }
            Self::add(&core, map, &key, &mut page);
            if take && is_array(map) {
                Self::set_to_zero(&mut core, map, &key);
            } else if take {
                core.machine.remove(&map.object_name, &key);
            }
            if page.bytes.len() > MAX_MAP_PAGE_BYTES / 2 {
                page.next = Some(key);
                break;
            }
        }
        Ok(page)
    }

    fn read_elements(&mut self, map: usize, keys: &[&[u8]]) -> Result<Elements, AgentError> {
        let map = self.map(map)?;
        let core = lock(&self.core);
        let mut page = Elements::default();
        for key in keys {
            Self::add(&core, map, key, &mut page);
        }
        Ok(page)
    }

    fn clear_map(&mut self, map: usize) -> Result<u32, AgentError> {
        if is_array(self.map(map)?) {
            return self.zero_map(map);
        }
        let all = keys(&lock(&self.core), self.map(map)?);
        self.delete_keys(map, &all.iter().map(Vec::as_slice).collect::<Vec<_>>())
    }

    fn zero_map(&mut self, map: usize) -> Result<u32, AgentError> {
        let map = self.map(map)?;
        let mut core = lock(&self.core);
        let all = keys(&core, map);
        all.iter().for_each(|key| Self::set_to_zero(&mut core, map, key));
        Ok(u32::try_from(all.len()).unwrap_or(u32::MAX))
    }

    fn delete_keys(&mut self, map: usize, keys: &[&[u8]]) -> Result<u32, AgentError> {
        let map = self.map(map)?;
        let mut core = lock(&self.core);
        let mut count = 0;
        for key in keys {
            if is_array(map) {
                Self::set_to_zero(&mut core, map, key);
                count += 1;
            } else {
                count += u32::from(core.machine.remove(&map.object_name, key));
            }
        }
        Ok(count)
    }

    fn read_stacks(&mut self, user: bool, ids: &[u64]) -> Result<Vec<(u64, Vec<u64>)>, AgentError> {
        let core = lock(&self.core);
        let Some(stacks) = core.machine.map(if user { USER_STACKS } else { KERNEL_STACKS }) else {
            return Ok(Vec::new());
        };
        let frames = |id: &u64| {
            let value = stacks.value(&id.to_le_bytes(), 0)?;
            let words = value.chunks_exact(8).filter_map(|word| Some(u64::from_le_bytes(word.try_into().ok()?)));
            Some((*id, words.take_while(|address| *address != 0).collect()))
        };
        Ok(ids.iter().filter_map(frames).collect())
    }

    fn run_signal(&mut self, number: i32) -> Result<u32, AgentError> {
        Ok(self.run_all(|point| matches!(point, AttachPoint::Signal { number: signal } if *signal == number)))
    }

    fn run_iterator(&mut self, _probe: usize) -> Result<(), AgentError> {
        let why = "the simulated kernel has no iterators";
        Err(failed(AgentErrorKind::Unsupported, "walking an iterator", why, ""))
    }
}
