//! Made switches and wake-ups, in records that look as the kernel's programs write them.
//!
//! The threads of the made world, and an idle thread for each CPU, take turns: which threads a CPU has and in what order never
//! changes. One in four is preempted; the others sleep, and whoever runs before them wakes them first. So of each CPU the
//! thread that leaves is the one that came, and no thread runs that was not woken.

use std::os::fd::{AsFd as _, OwnedFd};

use bathyscope_capture::{STATE_RECORD_BYTES, StateFlags, StateKind, StatesSpec, TaskBits};
use bathyscope_protocol::{
    AgentError, ProbeReading, RingContent, RingInfo, RingKind, StreamLayout, rings::SimulatedBpfRing,
};

use super::{
    MadeTarget,
    engine::{SimulatedEngine, Work},
    events::{CPUS, NS_PER_HIT},
    options::Simulation,
    records::{self, Moment},
    sideband::SimulatedSideband,
    world::{self, CODE_ADDRESS, Draw, FUNCTION_BYTES, KERNEL_ADDRESS, PROCESSES},
};
use crate::{engine::ProcessReports, error::refused};

/// Makes the engine of a capture of thread states.
pub(crate) fn start(
    simulation: &Simulation,
    wanted: StatesSpec,
    target: &MadeTarget,
    ring_bytes: u32,
    reports: ProcessReports,
) -> Result<SimulatedEngine, AgentError> {
    SimulatedEngine::new(StatesWork::make(simulation, wanted, target, ring_bytes, reports)?, target)
}

/// How long after a wake-up the switch comes that it was for.
const SWITCH_AFTER_NS: u64 = 50;
/// Of so many turns one ends by preemption.
const PREEMPTED_SHARE: u64 = 4;
/// The stacks of every thread, innermost first, by index of the function: in the kernel and in user space.
const KERNEL_PATH: [u64; 4] = [8, 4, 2, 1];
const USER_PATH: [u64; 3] = [2, 1, 0];
/// The idle threads of the CPUs.
const IDLE: MadeThread = MadeThread { pid: 0, tid: 0 };

/// The two streams.
const SWITCHES: usize = 0;
const WAKEUPS: usize = 1;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct MadeThread {
    pid: u32,
    tid: u32,
}

/// How a thread leaves the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Leaving {
    preempted: bool,
    state: u32,
}

/// A capture of made switches and wake-ups.
struct StatesWork {
    simulation: Simulation,
    wanted: StatesSpec,
    target: MadeTarget,
    ring: SimulatedBpfRing,
    ring_bytes: u32,
    sideband: SimulatedSideband,
    /// By CPU, in the order of their turns.
    threads: Vec<Vec<MadeThread>>,
    /// Of switches and of wake-ups.
    counts: [ProbeReading; 2],
    /// Turns that were made.
    turns: u64,
    placed: u64,
    begun: bool,
}

/// The threads of a CPU in the order of their turns, its idle thread at the end.
fn threads_of(cpu: u32) -> Vec<MadeThread> {
    let of = |process: &'static world::MadeProcess| {
        process.threads.iter().map(|tid| MadeThread { pid: process.pid, tid: *tid })
    };
    let all = PROCESSES.iter().flat_map(of).zip(0_u32..);
    let own = all.filter(|(_, index)| index % CPUS == cpu).map(|(thread, _)| thread);
    own.chain([IDLE]).collect()
}

impl StatesWork {
    fn make(
        simulation: &Simulation,
        wanted: StatesSpec,
        target: &MadeTarget,
        ring_bytes: u32,
        reports: ProcessReports,
    ) -> Result<Self, AgentError> {
        let trouble = |error: std::io::Error| refused("making a simulated ring", &error, "");
        let counts = ProbeReading { ns_per_hit: Some(NS_PER_HIT), ..ProbeReading::default() };
        Ok(Self {
            simulation: simulation.clone(),
            wanted,
            target: target.clone(),
            ring: SimulatedBpfRing::create(ring_bytes).map_err(trouble)?,
            ring_bytes,
            sideband: SimulatedSideband::open(reports).map_err(trouble)?,
            threads: (0..CPUS).map(threads_of).collect(),
            counts: [counts.clone(), counts],
            turns: 0,
            placed: 0,
            begun: false,
        })
    }

    /// A command executes when the capture begins.
    fn begin(&mut self, start_ns: u64) {
        if let Some(process) = self.target.executes().and_then(world::process) {
            let at = Moment { pid: process.pid, tid: process.pid, time_ns: start_ns, cpu: 0 };
            self.sideband.push(&records::comm(at, process.comm, true));
            self.sideband.push(&records::mapping(at, process.path, world::build_id(process.pid)));
        }
    }

    /// The thread whose turn it is on a CPU.
    fn thread_at(&self, cpu: u32, turn: u64) -> MadeThread {
        let threads = self.threads.get(cpu as usize).map_or(&[][..], Vec::as_slice);
        let index = usize::try_from(turn % (threads.len() as u64).max(1)).unwrap_or(0);
        threads.get(index).copied().unwrap_or(IDLE)
    }

    /// How the thread leaves whose turn it is.
    fn leaving(&self, cpu: u32, turn: u64) -> Leaving {
        let draw = Draw::of(self.simulation.seed, u64::from(cpu) | 1 << 33, turn);
        if self.thread_at(cpu, turn) == IDLE {
            return Leaving { preempted: false, state: 0 };
        }
        let preempted = draw.below(0, PREEMPTED_SHARE) == 0;
        Leaving { preempted, state: if preempted { 0 } else { draw.one_of(1, &[1, 1, 2]).unwrap_or(1) } }
    }

    /// Whether the thread that comes has to be woken: it sleeps, or has not run yet.
    fn sleeps(&self, cpu: u32, turn: u64) -> bool {
        let round = self.threads.get(cpu as usize).map_or(1, Vec::len) as u64;
        let before = turn.checked_sub(round).map(|before| self.leaving(cpu, before));
        self.thread_at(cpu, turn) != IDLE && before.is_none_or(|leaving| leaving.state != 0)
    }

    /// One thread gives way to the next, which is woken first.
    fn turn(&mut self, index: u64, time_ns: u64) {
        let cpu = u32::try_from(index % u64::from(CPUS)).unwrap_or(0);
        let turn = index / u64::from(CPUS);
        let (from, to) = (self.thread_at(cpu, turn), self.thread_at(cpu, turn + 1));
        let includes = |thread: MadeThread| self.target.includes_thread(thread.pid, thread.tid);
        let (of_switch, of_wakeup) = (includes(from) || includes(to), includes(to));
        if self.sleeps(cpu, turn + 1) {
            let head = head(cpu, StateKind::Waking, self.wanted.wake_stacks, false);
            let stacks: &[&[u64]] = if self.wanted.wake_stacks { &[&KERNEL_PATH, &USER_PATH] } else { &[] };
            self.tell(WAKEUPS, of_wakeup, record([time_ns, head, u64::from(cpu)], from, to), stacks);
        }
        let Leaving { preempted, state } = self.leaving(cpu, turn);
        // Where an uninterruptible thread blocks is told in any case.
        let stacks = match (self.wanted.sleep_stacks, state) {
            (_, 0) => &[][..],
            (true, _) => &[&KERNEL_PATH[..], &USER_PATH[..]],
            (false, TaskBits::UNINTERRUPTIBLE) => &[&KERNEL_PATH[..], &[]],
            (false, _) => &[],
        };
        let head = head(cpu, StateKind::Switch, !stacks.is_empty(), preempted) | self.sides(from, to);
        let record = record([time_ns + SWITCH_AFTER_NS, head, u64::from(state)], from, to);
        self.tell(SWITCHES, of_switch, record, stacks);
    }

    /// Flags that tell which threads of a switch are the target's, if not everybody is.
    fn sides(&self, from: MadeThread, to: MadeThread) -> u64 {
        let flag = |thread: MadeThread, flag: u8| {
            let is_told = self.target.among.is_some() && self.target.includes_thread(thread.pid, thread.tid);
            if is_told { u64::from(flag) << 24 } else { 0 }
        };
        flag(from, StateFlags::FROM_TARGET) | flag(to, StateFlags::TO_TARGET)
    }

    fn tell(&mut self, stream: usize, wanted: bool, mut record: Vec<u8>, stacks: &[&[u64]]) {
        let Some(counts) = self.counts.get_mut(stream) else { return };
        counts.hits += 1;
        if !wanted {
            counts.filtered += 1;
            return;
        }
        self.placed += 1;
        let lose = self.simulation.lose_every.is_some_and(|every| self.placed.is_multiple_of(every));
        if let [kernel, user] = stacks {
            add_stacks(&mut record, kernel, user);
        }
        if lose || !self.ring.push(&record) {
            counts.ring_full += 1;
        }
    }
}

/// CPU, kind and flags, as they stand behind the time.
fn head(cpu: u32, kind: StateKind, stacks: bool, preempted: bool) -> u64 {
    let flag = |on: bool, flag: u8| if on { flag } else { 0 };
    let flags = flag(stacks, StateFlags::STACKS) | flag(preempted, StateFlags::PREEMPTED);
    u64::from(cpu) | (kind as u64) << 16 | u64::from(flags) << 24
}

fn record([time_ns, head, value]: [u64; 3], running: MadeThread, other: MadeThread) -> Vec<u8> {
    let mut bytes = time_ns.to_le_bytes().to_vec();
    bytes.extend((head | value << 32).to_le_bytes());
    bytes.extend([running.tid, running.pid, other.tid, other.pid].into_iter().flat_map(u32::to_le_bytes));
    debug_assert_eq!(bytes.len(), STATE_RECORD_BYTES as usize);
    bytes
}

/// Adds the stacks that every thread has. Idle threads have none in user space, but their readers do not mind.
fn add_stacks(record: &mut Vec<u8>, kernel: &[u64], user: &[u64]) {
    let bytes = |path: &[u64]| u32::try_from(8 * path.len()).unwrap_or(0).to_le_bytes();
    record.extend(bytes(kernel));
    record.extend(bytes(user));
    let at = |base: u64| move |function: &u64| (base + function * FUNCTION_BYTES + 0x10).to_le_bytes();
    record.extend(kernel.iter().flat_map(at(KERNEL_ADDRESS)));
    record.extend(user.iter().flat_map(at(CODE_ADDRESS)));
}

impl Work for StatesWork {
    fn layouts(&self) -> Vec<StreamLayout> {
        vec![StreamLayout::Switches, StreamLayout::Wakeups]
    }

    fn rings(&self) -> Vec<RingInfo> {
        let content = RingContent::Stream { stream: 0 };
        let ring = RingInfo { kind: RingKind::Bpf, content, data_bytes: self.ring_bytes, cpu: None };
        std::iter::once(ring).chain(self.sideband.infos()).collect()
    }

    fn descriptors(&self) -> std::io::Result<Vec<OwnedFd>> {
        std::iter::once(self.ring.as_fd().try_clone_to_owned()).chain(self.sideband.descriptors()).collect()
    }

    fn make_until(&mut self, start_ns: u64, now_ns: u64) -> Vec<ProbeReading> {
        if !std::mem::replace(&mut self.begun, true) {
            self.begin(start_ns);
        }
        let rate = u128::from(self.simulation.rate_per_s);
        let due = u128::from(now_ns.saturating_sub(start_ns)) * rate / 1_000_000_000;
        let due = u64::try_from(due).unwrap_or(u64::MAX);
        while self.turns < due {
            let index = self.turns;
            self.turns += 1;
            let after = u64::try_from(u128::from(index) * 1_000_000_000 / rate.max(1)).unwrap_or(0);
            self.turn(index, start_ns + after);
        }
        self.counts.to_vec()
    }
}
