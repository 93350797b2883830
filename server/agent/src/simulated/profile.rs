//! Made samples with stacks, and what happens to processes meanwhile.

use crate::engine::ProcessReports;
use std::os::fd::{AsFd as _, OwnedFd};

use bathyscope_capture::ProfileSpec;
use bathyscope_protocol::{AgentError, ProbeReading, RingContent, RingInfo, StreamLayout, rings::SimulatedPerfRing};

use super::{
    MadeTarget,
    engine::{SimulatedEngine, Work},
    events::CPUS,
    options::Simulation,
    records::{self, CONTEXT_KERNEL, CONTEXT_USER, Moment},
    sample_records::Extras,
    world::{
        self, CODE_ADDRESS, COMPILED_ADDRESS, Draw, FORKED_PID, FUNCTION_BYTES, KERNEL_ADDRESS, MadeProcess, PROCESSES,
    },
};
use crate::error::refused;

/// Which frames are recorded.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stacks {
    pub(super) kernel: bool,
    pub(super) user: bool,
}

/// When the forked process appears and ends, after the capture began.
const FORK_NS: u64 = 100_000_000;
const EXIT_NS: u64 = 800_000_000;
/// One sample in so many is of an idle CPU, which is not recorded.
const IDLE_SHARE: u64 = 4;

/// Call paths through the simulated programs, outermost first, by index of the function.
const USER_PATHS: [&[u64]; 6] =
    [&[0, 1, 2, 3], &[0, 1, 2, 4], &[0, 1, 2, 4, 7], &[0, 1, 2, 5, 8], &[0, 1, 2, 5, 6, 9], &[0, 1]];
/// Call paths through the simulated kernel; the first means that the sample is in the program.
const KERNEL_PATHS: [&[u64]; 5] = [&[], &[], &[1, 2, 3, 4, 7], &[1, 2, 5, 6, 7], &[1, 2, 8]];

/// Makes the engine of a profile.
pub(crate) fn start(
    simulation: &Simulation,
    profile: &ProfileSpec,
    target: &MadeTarget,
    ring_bytes: u32,
    reports: ProcessReports,
) -> Result<SimulatedEngine, AgentError> {
    let work = SampleWork::make(simulation, profile, target, ring_bytes, reports)?;
    Ok(SimulatedEngine::new(work, target)?.later(profile.delay_ms))
}

/// An event on a CPU.
struct SampledCpu {
    ring: SimulatedPerfRing,
    made: u64,
    /// Records that were dropped since the last one that fitted.
    pending_lost: u64,
}

/// A capture of made samples.
pub(super) struct SampleWork {
    simulation: Simulation,
    frequency_hz: u32,
    stacks: Stacks,
    extras: Extras,
    target: MadeTarget,
    ring_bytes: u32,
    /// How many events are sampled.
    events: u32,
    /// Of each CPU its events, one after the other.
    cpus: Vec<SampledCpu>,
    counts: ProbeReading,
    wanted: u64,
    done: SidebandProgress,
}

/// What has happened to processes already.
#[derive(Default)]
struct SidebandProgress {
    /// Whether it is reported into these rings.
    reports: bool,
    begun: bool,
    forked: bool,
    exited: bool,
}

fn addresses(base: u64, path: &[u64], draw: Draw, salt: u64) -> impl Iterator<Item = u64> {
    // Innermost first, somewhere in the function.
    path.iter().rev().map(move |function| base + function * FUNCTION_BYTES + 4 + draw.below(salt + function, 4) * 16)
}

pub(super) fn chain_of(process: &MadeProcess, stacks: Stacks, draw: Draw) -> (bool, Vec<u64>) {
    let kernel = draw.one_of(3, &KERNEL_PATHS).unwrap_or_default();
    let user = draw.one_of(4, &USER_PATHS).unwrap_or_default();
    let base = if process.compiled_at_run_time { COMPILED_ADDRESS } else { CODE_ADDRESS };
    let mut chain = Vec::new();
    if stacks.kernel && !kernel.is_empty() {
        chain.push(CONTEXT_KERNEL);
        chain.extend(addresses(KERNEL_ADDRESS, kernel, draw, 100));
    }
    if stacks.user {
        chain.push(CONTEXT_USER);
        chain.extend(addresses(base, user, draw, 200));
    }
    (!kernel.is_empty(), chain)
}

impl SampleWork {
    fn make(
        simulation: &Simulation,
        profile: &ProfileSpec,
        target: &MadeTarget,
        ring_bytes: u32,
        reports: ProcessReports,
    ) -> Result<Self, AgentError> {
        let stacks = Stacks { kernel: profile.kernel_stacks, user: profile.user_stacks };
        let extras = Extras { memory: profile.memory, branches: profile.branches.clone() };
        let events = u32::try_from(profile.more.len() + 1).unwrap_or(1);
        let frequency_hz = profile.frequency_hz;
        let make = |_cpu| Ok(SampledCpu { ring: SimulatedPerfRing::create(ring_bytes)?, made: 0, pending_lost: 0 });
        let cpus = (0..CPUS * events)
            .map(make)
            .collect::<std::io::Result<_>>()
            .map_err(|error| refused("making a simulated ring", &error, ""))?;
        let (simulation, target) = (simulation.clone(), target.clone());
        let (counts, wanted) = (ProbeReading::default(), 0);
        let done = SidebandProgress { reports: reports != ProcessReports::Elsewhere, ..SidebandProgress::default() };
        Ok(Self { simulation, frequency_hz, stacks, extras, target, ring_bytes, events, cpus, counts, wanted, done })
    }

    fn report(&mut self, records: &[Vec<u8>]) {
        if let Some(cpu) = self.cpus.first_mut().filter(|_cpu| self.done.reports) {
            for record in records {
                cpu.ring.push(record);
            }
        }
    }

    /// A process is forked, executes a program and ends; a command executes its program at the beginning.
    fn processes(&mut self, start_ns: u64, now_ns: u64) {
        let at = |pid: u32, time_ns: u64| Moment { pid, tid: pid, time_ns, cpu: 0 };
        if !std::mem::replace(&mut self.done.begun, true)
            && let Some(process) = self.target.executes().and_then(world::process)
        {
            let at = at(process.pid, start_ns);
            let mapping = records::mapping(at, process.path, world::build_id(process.pid));
            self.report(&[records::comm(at, process.comm, true), mapping]);
        }
        if !self.done.forked && now_ns >= start_ns + FORK_NS {
            self.done.forked = true;
            let at = at(FORKED_PID, start_ns + FORK_NS);
            let mapping = records::mapping(at, b"/usr/bin/worker", world::build_id(FORKED_PID));
            self.report(&[records::fork(at, 1201), records::comm(at, b"worker", true), mapping]);
        }
        if !self.done.exited && now_ns >= start_ns + EXIT_NS {
            self.done.exited = true;
            self.report(&[records::exit(at(FORKED_PID, start_ns + EXIT_NS), 1201)]);
        }
    }

    /// Makes a sample of one of the events on one of the CPUs.
    fn sample(&mut self, of: u32, index: u64, start_ns: u64, time_ns: u64) {
        let draw = Draw::of(self.simulation.seed, u64::from(of) | 1 << 32, index);
        self.counts.hits += 1;
        let alive = (start_ns + FORK_NS..start_ns + EXIT_NS).contains(&time_ns);
        let worker = MadeProcess {
            group: "/system.slice/webserver.service",
            pid: FORKED_PID,
            threads: &[FORKED_PID],
            comm: b"worker",
            path: b"/usr/bin/worker",
            compiled_at_run_time: false,
        };
        let process = match draw.below(0, PROCESSES.len() as u64 + 1) as usize {
            other if other >= PROCESSES.len() && alive => Some(worker),
            known => PROCESSES.get(known.min(PROCESSES.len() - 1)).copied(),
        };
        let idle = draw.below(5, IDLE_SHARE) == 0;
        let Some(process) = process.filter(|process| !idle && self.target.includes(process.pid)) else {
            self.counts.filtered += 1;
            return;
        };
        self.wanted += 1;
        let tid = draw.one_of(1, process.threads).unwrap_or(process.pid);
        let at = Moment { pid: process.pid, tid, time_ns, cpu: of / self.events.max(1) };
        let (in_kernel, chain) = chain_of(&process, self.stacks, draw);
        let period = 1_000_000_000 / u64::from(self.frequency_hz.max(1));
        let record = records::sample(at, period, (in_kernel, &chain), &self.extras.of(draw));
        let dropped = self.simulation.lose_every.is_some_and(|every| self.wanted.is_multiple_of(every));
        let Some(cpu) = self.cpus.get_mut(of as usize) else { return };
        // As the kernel does, what was lost is reported before the next record that fits.
        if cpu.pending_lost > 0 && !dropped && cpu.ring.push(&records::lost(at, cpu.pending_lost)) {
            cpu.pending_lost = 0;
        }
        if dropped || !cpu.ring.push(&record) {
            cpu.pending_lost += 1;
            self.counts.ring_full += 1;
        }
    }
}

impl Work for SampleWork {
    fn layouts(&self) -> Vec<StreamLayout> {
        let branches = (!self.extras.branches.is_empty()).then_some(StreamLayout::PerfBranches);
        std::iter::once(StreamLayout::PerfSamples).chain(branches).collect()
    }

    fn rings(&self) -> Vec<RingInfo> {
        let content = RingContent::Stream { stream: 0 };
        let more = (self.extras.sample_type(), self.extras.branch_sample_type());
        let events = self.events.max(1);
        let ring = |of: u32| records::sample_ring_info(content, more, self.ring_bytes, of / events);
        (0..CPUS * events).map(ring).collect()
    }

    fn descriptors(&self) -> std::io::Result<Vec<OwnedFd>> {
        self.cpus.iter().map(|cpu| cpu.ring.as_fd().try_clone_to_owned()).collect()
    }

    fn make_until(&mut self, start_ns: u64, now_ns: u64) -> Vec<ProbeReading> {
        self.processes(start_ns, now_ns);
        let elapsed = u128::from(now_ns.saturating_sub(start_ns));
        let due = u64::try_from(elapsed * u128::from(self.frequency_hz) / 1_000_000_000).unwrap_or(u64::MAX);
        for of in 0..CPUS * self.events {
            while let Some(made) = self.cpus.get(of as usize).map(|cpu| cpu.made).filter(|made| *made < due) {
                let time_ns = start_ns + made * 1_000_000_000 / u64::from(self.frequency_hz.max(1));
                self.sample(of, made, start_ns, time_ns);
                if let Some(cpu) = self.cpus.get_mut(of as usize) {
                    cpu.made += 1;
                }
            }
        }
        vec![self.counts.clone()]
    }
}
