//! Made counts: a row for each event and interval, its value decided by the seed.

use std::os::fd::{AsFd as _, OwnedFd};

use bathyscope_capture::{CountPer, CountSpec};
use bathyscope_catalog::perf_events::{Listed, PerfEvent, listed};
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
    os::perf_event::read_events,
};

/// The events that the made host has: those of software.
pub(super) fn perf_events() -> Vec<PerfEventInfo> {
    let info = |listed: Listed| {
        let works = listed.kind == "software";
        let why = if works { "" } else { "this machine has no counter for it" };
        let (name, alias, kind) = (listed.name, listed.alias, listed.kind.to_owned());
        PerfEventInfo { name, alias, kind, meaning: listed.meaning, works, why: why.to_owned() }
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

/// A capture of made counts.
pub(super) struct CountWork {
    simulation: Simulation,
    /// What has a row in each interval, without numbers.
    rows: Vec<(CountRow, bool)>,
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
        let mut rows = Vec::new();
        for (group, events) in read_events(&wish.groups)?.iter().enumerate() {
            for event in events {
                let group = u32::try_from(group).unwrap_or(u32::MAX);
                let row = |row: &CountRow| CountRow { event: event.to_string(), group, ..of_target(row.clone()) };
                rows.extend(scopes.iter().map(|scope| made_row(event, row(scope))));
            }
        }
        let interval_ns = u64::from(wish.interval_ms) * 1_000_000;
        let (simulation, counts) = (simulation.clone(), ProbeReading::default());
        Ok(Self { simulation, rows, ring, ring_bytes, interval_ns, told: 0, counts })
    }

    fn tell(&mut self, time_ns: u64, interval: u64) {
        for (row, is_clock) in &self.rows {
            let mut row = CountRow { time_ns, span_ns: self.interval_ns, ..row.clone() };
            if !row.state.is_empty() && interval > 0 {
                continue;
            }
            if row.state.is_empty() {
                let drawn = value(self.simulation.seed, &row, interval, self.simulation.rate_per_s);
                row.value = if *is_clock { self.interval_ns } else { drawn };
                (row.enabled_ns, row.running_ns) = (self.interval_ns, self.interval_ns);
            }
            self.counts.hits += 1;
            self.counts.ring_full += u64::from(!self.ring.push(&row.encode()));
        }
    }
}

/// A row of an event that this host does not have says so.
fn made_row(event: &PerfEvent, row: CountRow) -> (CountRow, bool) {
    let state = if event.is_hardware() { "not supported: this machine has no counter for it" } else { "" };
    (CountRow { state: state.to_owned(), ..row }, event.is_clock())
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
