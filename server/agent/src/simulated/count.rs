//! Made counts: a row for each event and interval, its value decided by the seed.

use std::os::fd::{AsFd as _, OwnedFd};

use bathyscope_capture::{CountPer, CountSpec};
use bathyscope_catalog::perf_events::{CounterUnit, EventSource, Listed, PerfEvent, ProcCounter, listed};
use bathyscope_protocol::{
    AgentError, PerfEventInfo, ProbeReading, RingContent, RingInfo, RingKind, StreamLayout, rings::SimulatedBpfRing,
};

use super::{
    MadeTarget,
    engine::{SimulatedEngine, Work},
    events::CPUS,
    options::Simulation,
    world::process,
};
use crate::{
    count_row::{self, CountRow},
    error::refused,
    os::{perf_event::read_events, proc_counters::CountedScope},
};

/// Why events of hardware are not counted.
const NO_COUNTER: &str = "this machine has no counter for it";

/// The events that the made host has: those of software, and what files tell.
pub(super) fn perf_events() -> Vec<PerfEventInfo> {
    let info = |listed: Listed| {
        let why = match ProcCounter::named(&listed.name) {
            Some(counter) => CountedScope::Machine.check(counter).err().map_or_else(String::new, |error| error.why),
            None if listed.kind == "software" => String::new(),
            None => NO_COUNTER.to_owned(),
        };
        let (name, alias, kind) = (listed.name, listed.alias, listed.kind.to_owned());
        PerfEventInfo { name, alias, kind, meaning: listed.meaning, works: why.is_empty(), why }
    };
    listed().map(info).collect()
}

/// Makes the engine of a capture of counts.
pub(crate) fn start(
    simulation: &Simulation,
    count: &CountSpec,
    target: &MadeTarget,
    ring_bytes: u32,
) -> Result<SimulatedEngine, AgentError> {
    let work = CountWork::make(simulation, count, target, ring_bytes)?;
    Ok(SimulatedEngine::new(work, target)?.later(count.delay_ms))
}

/// How the values of an event are made up.
#[derive(Clone, Copy)]
enum MadeValues {
    /// It happens at the rate of the simulation.
    Happens,
    /// A clock, which counts nanoseconds.
    Clock,
    /// A file tells it.
    Told(ProcCounter),
}

/// A capture of made counts.
pub(super) struct CountWork {
    simulation: Simulation,
    /// What has a row in each interval, without numbers.
    rows: Vec<(CountRow, MadeValues)>,
    ring: SimulatedBpfRing,
    ring_bytes: u32,
    interval_ns: u64,
    told: u64,
    counts: ProbeReading,
}

impl CountWork {
    fn make(
        simulation: &Simulation,
        wish: &CountSpec,
        target: &MadeTarget,
        ring_bytes: u32,
    ) -> Result<Self, AgentError> {
        let trouble = |error: std::io::Error| refused("making a simulated ring", &error, "");
        let ring = SimulatedBpfRing::create(ring_bytes).map_err(trouble)?;
        let of_target = |row: CountRow| match target.pid.and_then(process) {
            Some(process) => {
                let comm = String::from_utf8_lossy(process.comm).into_owned();
                CountRow { pid: process.pid, tid: process.pid, comm, ..row }
            }
            None => row,
        };
        let scopes: Vec<CountRow> = match wish.per {
            CountPer::Cpu => (0..CPUS)
                .filter(|cpu| wish.cpus.is_empty() || wish.cpus.contains(cpu))
                .map(|cpu| CountRow { cpu, scope: format!("CPU{cpu}"), ..CountRow::default() })
                .collect(),
            CountPer::Total | CountPer::Thread => {
                vec![CountRow { scope: "all".to_owned(), ..CountRow::default() }]
            }
        };
        let whose = match target {
            MadeTarget { is_group: true, .. } => CountedScope::Group,
            _ if wish.cgroup.is_some() => CountedScope::Group,
            MadeTarget { among: None, .. } => CountedScope::Machine,
            _ if wish.everywhere => CountedScope::Machine,
            _ => CountedScope::Processes,
        };
        let mut rows = Vec::new();
        for (group, events) in read_events(&wish.groups)?.iter().enumerate() {
            for event in events {
                let group = u32::try_from(group).unwrap_or(u32::MAX);
                let row =
                    |row: CountRow| CountRow { event: event.to_string(), group, unit: event.unit().text(), ..row };
                if let EventSource::Proc(counter) = event.source {
                    rows.push(told_row(
                        counter,
                        row(CountRow { scope: "all".to_owned(), ..CountRow::default() }),
                        whose,
                    ));
                    continue;
                }
                rows.extend(scopes.iter().map(|scope| made_row(event, row(of_target(scope.clone())))));
            }
        }
        let interval_ns = u64::from(wish.interval_ms) * 1_000_000;
        let (simulation, counts) = (simulation.clone(), ProbeReading::default());
        Ok(Self { simulation, rows, ring, ring_bytes, interval_ns, told: 0, counts })
    }

    fn tell(&mut self, time_ns: u64, interval: u64) {
        for (row, values) in &self.rows {
            let mut row = CountRow { time_ns, ..row.clone() };
            if !row.state.is_empty() && interval > 0 {
                continue;
            }
            if row.state.is_empty() {
                let Simulation { seed, rate_per_s, .. } = self.simulation;
                (row.span_ns, row.enabled_ns, row.running_ns) = (self.interval_ns, self.interval_ns, self.interval_ns);
                row.value = match values {
                    MadeValues::Happens => value(seed, &row, interval, rate_per_s),
                    MadeValues::Clock => self.interval_ns,
                    MadeValues::Told(counter) => told(*counter, (seed, interval, rate_per_s), &row),
                };
            }
            self.counts.hits += 1;
            self.counts.ring_full += u64::from(!self.ring.push(&row.encode()));
        }
    }
}

/// A row of an event that this host does not have says so.
fn made_row(event: &PerfEvent, row: CountRow) -> (CountRow, MadeValues) {
    let state = if event.is_hardware() { format!("not supported: {NO_COUNTER}") } else { String::new() };
    let values = if event.is_clock() { MadeValues::Clock } else { MadeValues::Happens };
    (CountRow { state, ..row }, values)
}

/// A row of what a file tells; where it means nothing, it says so.
fn told_row(counter: ProcCounter, row: CountRow, whose: CountedScope) -> (CountRow, MadeValues) {
    let state = whose.check(counter).err().map_or_else(String::new, |error| format!("not supported: {}", error.why));
    (CountRow { state, is_gauge: counter.is_gauge(), ..row }, MadeValues::Told(counter))
}

/// What a file tells in an interval, whose length the row has.
fn told(counter: ProcCounter, (seed, interval, rate): (u64, u64, u64), row: &CountRow) -> u64 {
    match (counter.name(), counter.unit()) {
        ("vm:oom_kill", _) => 0,
        (name, _) if counter.is_gauge() => gauge(name, value(seed, row, 0, 64) + interval),
        // Five to fifteen hundredths of the time, and a quarter of it where all waited.
        (name, CounterUnit::Nanoseconds) => {
            let permille = value(seed, row, interval, 100) / if name.ends_with("full") { 4 } else { 1 };
            row.span_ns / 1000 * permille
        }
        (_, CounterUnit::Bytes) => value(seed, row, interval, rate) * 4096,
        (_, CounterUnit::Number) => value(seed, row, interval, rate),
    }
}

/// Bytes of a machine with 16 GiB; what is no size of the machine rises and falls by a twentieth.
fn gauge(name: &str, step: u64) -> u64 {
    let mib: u64 = match name {
        "memory:total" => return 16 << 30,
        "memory:swap-total" => return 4096 << 20,
        "memory:swap-free" => return 3900 << 20,
        "memory:swap-used" => return 196 << 20,
        "memory:available" => 9216,
        "memory:free" => 3072,
        "memory:committed" => 11_000,
        "memory:cached" | "memory:active" | "memory:inactive" | "memory:anon" => 5000,
        "memory:dirty" => 48,
        "memory:writeback" | "memory:kernel-stack" => 16,
        _ => 400,
    };
    let at = step % 64;
    let rise = at.min(64 - at);
    (mib << 20) / 640 * (608 + 2 * rise)
}

/// About `rate` a second, differently for each event and scope.
fn value(seed: u64, row: &CountRow, interval: u64, rate: u64) -> u64 {
    let text = row.event.bytes().chain(row.scope.bytes());
    let name = text.fold(seed, |sum, byte| sum.wrapping_mul(0x0100_0000_01b3) ^ u64::from(byte));
    let mixed = (name ^ interval).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    rate / 2 + (mixed >> 32) % rate.max(1)
}

impl Work for CountWork {
    fn layouts(&self) -> Vec<StreamLayout> {
        vec![count_row::layout()]
    }

    fn rings(&self) -> Vec<RingInfo> {
        let content = RingContent::Stream { stream: 0 };
        vec![RingInfo { kind: RingKind::Bpf, content, data_bytes: self.ring_bytes, cpu: None }]
    }

    fn descriptors(&self) -> std::io::Result<Vec<OwnedFd>> {
        Ok(vec![self.ring.as_fd().try_clone_to_owned()?])
    }

    fn make_until(&mut self, start_ns: u64, now_ns: u64) -> Vec<ProbeReading> {
        while start_ns + (self.told + 1) * self.interval_ns <= now_ns {
            self.tell(start_ns + (self.told + 1) * self.interval_ns, self.told);
            self.told += 1;
        }
        vec![self.counts.clone()]
    }
}
