//! A script's programs, run in the machine on made hits.

use crate::engine::ProcessReports;
use std::{
    os::fd::{AsFd as _, OwnedFd},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use bathyscope_bpf::{Code, ir::Helper, machine::Machine};
use bathyscope_plan::{COUNTER_WORDS, COUNTERS, Plan, RING};
use bathyscope_protocol::{ProbeReading, RingContent, RingInfo, RingKind, StreamLayout, rings::SimulatedBpfRing};

use super::source::{HitSource, sources};
use crate::simulated::{
    engine::Work,
    events::{CPUS, NS_PER_HIT},
    options::Simulation,
    records::{self, Moment},
    sideband::SimulatedSideband,
    world::{self, PROCESSES},
};

/// How long hits are made at a time; what is late is made up later.
const SLICE: Duration = Duration::from_millis(20);
/// What a helper says that finds no room.
const NO_ROOM: i64 = -11;
/// Bytes of the context of what is run by hand.
const NO_CONTEXT: [u8; 96] = [0; 96];

/// The machine with the script's programs; the capture's thread runs it, and the console reads its maps.
pub(super) struct Core {
    pub(super) machine: Machine,
    codes: Vec<Code>,
    plan: Plan,
    simulation: Simulation,
    sources: Vec<HitSource>,
    ring: SimulatedBpfRing,
    ring_bytes: u32,
    /// By program: records that the console's ring had no room for.
    lost: Vec<u64>,
    /// By program: how often it ran.
    runs: Vec<u64>,
    trapped: bool,
}

impl Core {
    pub(super) fn new(simulation: &Simulation, codes: Vec<Code>, plan: Plan, ring_bytes: u32) -> std::io::Result<Self> {
        let mut machine = Machine::new(CPUS);
        for code in &codes {
            machine.declare(code);
        }
        let programs = codes.len();
        Ok(Self {
            machine,
            sources: sources(&plan, simulation),
            codes,
            plan,
            simulation: simulation.clone(),
            ring: SimulatedBpfRing::create(ring_bytes)?,
            ring_bytes,
            lost: vec![0; programs],
            runs: vec![0; programs],
            trapped: false,
        })
    }

    /// Runs a probe that is not hit by itself.
    pub(super) fn run_by_hand(&mut self, probe: u32, time_ns: u64) {
        let Some(program) = self.plan.probes.get(probe as usize).map(|probe| probe.program as usize) else { return };
        let world = &mut self.machine.world;
        (world.tgid, world.tid, world.cpu) = (1, 1, 0);
        world.comm = *b"bathyscope\0\0\0\0\0\0";
        self.run(program, probe, time_ns, &NO_CONTEXT);
    }

    fn run(&mut self, program: usize, probe: u32, time_ns: u64, context: &[u8]) {
        let Some(code) = self.codes.get(program) else { return };
        let runs = self.runs.get_mut(program).map_or(0, |runs| {
            *runs += 1;
            *runs
        });
        let world = &mut self.machine.world;
        world.time_ns = time_ns;
        world.cookie = u64::from(probe);
        world.overrides.clear();
        if self.simulation.lose_every.is_some_and(|every| runs.is_multiple_of(every)) {
            world.overrides.insert(Helper::RingbufOutput, NO_ROOM);
            world.overrides.insert(Helper::RingbufReserve, 0);
        }
        if let Err(trap) = self.machine.run(code, context) {
            if !self.trapped {
                tracing::warn!(program = code.name, %trap, "the machine stopped a script's program");
            }
            self.trapped = true;
        }
        for record in self.machine.take_records(RING) {
            if !self.ring.push(&record)
                && let Some(lost) = self.lost.get_mut(program)
            {
                *lost += 1;
            }
        }
    }

    fn make_until(&mut self, start_ns: u64, now_ns: u64) {
        let clock = Instant::now();
        let due_ns = now_ns.saturating_sub(start_ns);
        while clock.elapsed() < SLICE {
            let next = self.sources.iter().enumerate().min_by_key(|(index, source)| (source.next_ns(), *index));
            let Some((index, source)) = next.filter(|(_index, source)| source.next_ns() <= due_ns) else { return };
            let (probe, program, time_ns) = (source.probe, source.program, start_ns + source.next_ns());
            let context = source.set_up(&self.simulation, &mut self.machine.world);
            if let Some(source) = self.sources.get_mut(index) {
                source.made += 1;
            }
            self.run(program, probe, time_ns, &context);
        }
    }

    /// Counters by program.
    pub(super) fn readings(&self) -> Vec<ProbeReading> {
        let counters = self.machine.map(COUNTERS);
        let reading = |(index, lost): (usize, &u64)| {
            let key = u32::try_from(index).unwrap_or(u32::MAX).to_le_bytes();
            let mut sums = [0_u64; COUNTER_WORDS as usize];
            for value in counters.as_ref().map(|counters| counters.values(&key)).unwrap_or_default() {
                for (sum, word) in sums.iter_mut().zip(value.chunks_exact(8)) {
                    *sum += word.try_into().map_or(0, u64::from_le_bytes);
                }
            }
            let [ran, filtered, ring_full, map_full, helper_failed, stacks_failed, nested] = sums;
            let hits = ran + filtered;
            let (missed, ns_per_hit) = (0, (hits > 0).then_some(NS_PER_HIT));
            let ring_full = ring_full + lost;
            ProbeReading {
                hits,
                filtered,
                ring_full,
                limited: 0,
                missed,
                ns_per_hit,
                map_full,
                helper_failed,
                stacks_failed,
                nested,
            }
        };
        self.lost.iter().enumerate().map(reading).collect()
    }
}

/// The core, shared.
pub(super) type SharedCore = Arc<Mutex<Core>>;

/// Locks it; a panic of another thread leaves nothing half done that matters here.
pub(super) fn lock(core: &SharedCore) -> MutexGuard<'_, Core> {
    core.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the capture's thread does.
pub(super) struct ScriptWork {
    core: SharedCore,
    sideband: SimulatedSideband,
    target: Option<u32>,
    begun: bool,
}

impl ScriptWork {
    pub(super) fn new(core: &SharedCore, target: Option<u32>, reports: ProcessReports) -> std::io::Result<Self> {
        let sideband = SimulatedSideband::open(reports)?;
        Ok(Self { core: Arc::clone(core), sideband, target, begun: false })
    }

    /// Reports all processes, so that their addresses can be named.
    fn report_processes(&mut self, start_ns: u64) {
        for process in PROCESSES {
            let at = Moment { pid: process.pid, tid: process.pid, time_ns: start_ns, cpu: 0 };
            self.sideband.push(&records::comm(at, process.comm, self.target == Some(process.pid)));
            self.sideband.push(&records::mapping(at, process.path, world::build_id(process.pid)));
        }
    }
}

impl Work for ScriptWork {
    fn layouts(&self) -> Vec<StreamLayout> {
        Vec::new()
    }

    fn rings(&self) -> Vec<RingInfo> {
        let data_bytes = lock(&self.core).ring_bytes;
        let script = RingInfo { kind: RingKind::Bpf, content: RingContent::Script, data_bytes, cpu: None };
        std::iter::once(script).chain(self.sideband.infos()).collect()
    }

    fn descriptors(&self) -> std::io::Result<Vec<OwnedFd>> {
        let script = lock(&self.core).ring.as_fd().try_clone_to_owned();
        std::iter::once(script).chain(self.sideband.descriptors()).collect()
    }

    fn make_until(&mut self, start_ns: u64, now_ns: u64) -> Vec<ProbeReading> {
        if !self.begun {
            self.begun = true;
            self.report_processes(start_ns);
        }
        let mut core = lock(&self.core);
        core.make_until(start_ns, now_ns);
        core.readings()
    }
}
