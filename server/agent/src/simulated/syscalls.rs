//! Made system calls, in records that look as the kernel's programs write them.

use crate::engine::ProcessReports;
use std::{
    collections::BTreeSet,
    os::fd::{AsFd as _, OwnedFd},
};

use bathyscope_capture::{CALL_HEADER_BYTES, CallFlags, CallPlace, Descriptors, SyscallOutcome, SyscallSpec};
use bathyscope_catalog::{
    constants::{Arch, syscall_number},
    syscalls::{Beside, opening, select},
};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, ProbeReading, RingContent, RingInfo, RingKind, StreamLayout, WireSyscalls,
    rings::SimulatedBpfRing,
};

use super::{
    MadeTarget,
    engine::{SimulatedEngine, Work},
    events::NS_PER_HIT,
    options::Simulation,
    sideband::SimulatedSideband,
    world::PROCESSES,
};
use crate::error::{failed, refused};

/// A call that programs make: its name, arguments, result, and the argument that points to a text.
struct MadeCall {
    name: &'static str,
    arguments: [u64; 6],
    result: i64,
    text: Option<(u8, bool, &'static [u8])>,
}

const fn call(
    name: &'static str,
    arguments: [u64; 6],
    result: i64,
    text: Option<(u8, bool, &'static [u8])>,
) -> MadeCall {
    MadeCall { name, arguments, result, text }
}

/// `AT_FDCWD`.
const HERE: u64 = -100_i64 as u64;

const CALLS: [MadeCall; 8] = [
    call("openat", [HERE, 0x1000, 0o2_000_000, 0, 0, 0], 3, Some((1, false, b"/etc/hosts\0"))),
    call("read", [3, 0x2000, 4096, 0, 0, 0], 20, Some((1, true, b"127.0.0.1 localhost\n"))),
    call("read", [3, 0x2000, 4096, 0, 0, 0], 0, None),
    call("close", [3, 0, 0, 0, 0, 0], 0, None),
    call("openat", [HERE, 0x1000, 0, 0, 0, 0], -2, Some((1, false, b"/etc/missing.conf\0"))),
    call("write", [1, 0x3000, 6, 0, 0, 0], 6, Some((1, false, b"hello\n"))),
    call("mmap", [0, 8192, 3, 0x22, u32::MAX as u64, 0], 0x7f00_0000_0000, None),
    call("socket", [2, 0x8_0001, 0, 0, 0, 0], 4, None),
];

/// Makes the engine of a capture of system calls.
pub(crate) fn start(
    simulation: &Simulation,
    wanted: &WireSyscalls,
    target: &MadeTarget,
    ring_bytes: u32,
    reports: ProcessReports,
) -> Result<SimulatedEngine, AgentError> {
    SimulatedEngine::new(SyscallWork::make(simulation, wanted, target, ring_bytes, reports)?, target)
}

/// A capture of made system calls.
pub(super) struct SyscallWork {
    simulation: Simulation,
    target: MadeTarget,
    wanted: SyscallSpec,
    /// Numbers that are recorded.
    calls: BTreeSet<i64>,
    /// Numbers that are recorded whatever else is asked for.
    besides: BTreeSet<i64>,
    ring: SimulatedBpfRing,
    ring_bytes: u32,
    sideband: SimulatedSideband,
    counts: ProbeReading,
    placed: u64,
    /// Records of data.
    pieces: u64,
}

impl SyscallWork {
    fn make(
        simulation: &Simulation,
        wanted: &WireSyscalls,
        target: &MadeTarget,
        ring_bytes: u32,
        reports: ProcessReports,
    ) -> Result<Self, AgentError> {
        let besides = if wanted.opening { opening(Arch::HOST) } else { BTreeSet::new() };
        let wanted = &wanted.calls;
        let trouble = |error: std::io::Error| refused("making a simulated ring", &error, "");
        let words = if wanted.calls.is_empty() { "all".to_owned() } else { wanted.calls.join(",") };
        let calls = select(Arch::HOST, &words).map_err(|error| {
            failed(AgentErrorKind::Invalid, "choosing system calls", error.to_string(), "Name calls, or sets.")
        })?;
        Ok(Self {
            simulation: simulation.clone(),
            target: target.clone(),
            wanted: wanted.clone(),
            calls,
            besides,
            ring: SimulatedBpfRing::create(ring_bytes).map_err(trouble)?,
            ring_bytes,
            sideband: SimulatedSideband::open(reports).map_err(trouble)?,
            counts: ProbeReading { ns_per_hit: Some(NS_PER_HIT), ..ProbeReading::default() },
            placed: 0,
            pieces: 0,
        })
    }

    fn is_wanted(&self, made: &MadeCall, number: i64, pid: u32, duration_ns: u64) -> bool {
        let outcome = match self.wanted.outcome {
            SyscallOutcome::Any => true,
            SyscallOutcome::Failed => made.result < 0,
            SyscallOutcome::Succeeded => made.result >= 0,
        };
        let path = self.wanted.path.as_ref().is_none_or(|path| {
            made.name == "openat" && made.text.is_some_and(|(_, _, text)| text.starts_with(path.as_bytes()))
        });
        // All processes of the made host are made by its first one.
        let below = self.wanted.below.is_none_or(|below| below.pid == 1 && pid != 1);
        let long = duration_ns >= self.wanted.min_duration_ns;
        let asked = outcome && path && long && self.calls.contains(&number);
        (asked || self.besides.contains(&number)) && below && self.target.includes(pid)
    }

    /// What a call has read or written, as a record before its own, if that is asked for.
    fn tell_data(&mut self, made: &MadeCall, process: (u32, &[u8]), number: i64, start_ns: u64) {
        let asked = match made.name {
            "read" => &self.wanted.data.read,
            "write" => &self.wanted.data.write,
            _ => return,
        };
        let [fd, ..] = made.arguments;
        let is_asked = match asked {
            Descriptors::None => false,
            Descriptors::All => true,
            Descriptors::Of(numbers) => numbers.iter().any(|number| u64::from(*number) == fd),
        };
        let Some((_, _, text)) = made.text.filter(|_| is_asked) else { return };
        let bare = MadeCall { arguments: [0; 6], text: None, ..*made };
        let mut bytes = record(&bare, process, number, [start_ns, 0]);
        bytes.extend(text);
        let mut put = |at: u32, value: u32| {
            bytes.iter_mut().skip(at as usize).zip(value.to_le_bytes()).for_each(|(to, from)| *to = from);
        };
        put(CallPlace::USED, u32::try_from(text.len()).unwrap_or(0));
        put(CallPlace::FLAGS, u32::try_from(CallFlags::DATA).unwrap_or(0));
        self.pieces += 1;
        if !self.ring.push(&bytes) {
            self.counts.ring_full += 1;
        }
    }

    fn hit(&mut self, index: u64, time_ns: u64) {
        self.counts.hits += 1;
        let process =
            usize::try_from(index / CALLS.len() as u64).ok().and_then(|at| PROCESSES.get(at % PROCESSES.len()));
        let made = CALLS.get(usize::try_from(index).unwrap_or(0) % CALLS.len());
        let (Some(process), Some(made)) = (process, made) else { return };
        let number = syscall_number(Arch::HOST, made.name).unwrap_or(0);
        let duration_ns = 500 + index * 7919 % 20_000;
        if !self.is_wanted(made, number, process.pid, duration_ns) {
            self.counts.filtered += 1;
            return;
        }
        self.tell_data(made, (process.pid, process.comm), number, time_ns);
        self.placed += 1;
        let lose = self.simulation.lose_every.is_some_and(|every| self.placed.is_multiple_of(every));
        let mut record = record(made, (process.pid, process.comm), number, [time_ns, duration_ns]);
        if self.wanted.cpu_time {
            append_number(&mut record, Beside::CPU_NS, duration_ns / 2);
        }
        if lose || !self.ring.push(&record) {
            self.counts.ring_full += 1;
        }
    }
}

/// A number beside a call, as a piece at the end of its record.
fn append_number(record: &mut Vec<u8>, beside: u8, number: u64) {
    record.extend([beside, 0, 1, 0, 8, 0, 0, 0]);
    record.extend(number.to_le_bytes());
    let used = u32::try_from(record.len()).unwrap_or(0).saturating_sub(CALL_HEADER_BYTES);
    let place = record.iter_mut().skip(CallPlace::USED as usize);
    place.zip(used.to_le_bytes()).for_each(|(to, from)| *to = from);
}

fn record(made: &MadeCall, (pid, comm): (u32, &[u8]), number: i64, [start_ns, duration_ns]: [u64; 2]) -> Vec<u8> {
    let mut bytes = vec![0; CALL_HEADER_BYTES as usize];
    let mut put = |at: u32, value: &[u8]| {
        let places = bytes.iter_mut().skip(at as usize);
        places.zip(value).for_each(|(to, from)| *to = *from);
    };
    put(CallPlace::START_NS, &start_ns.to_le_bytes());
    put(CallPlace::DURATION_NS, &duration_ns.to_le_bytes());
    put(CallPlace::RESULT, &made.result.to_le_bytes());
    put(CallPlace::PID, &pid.to_le_bytes());
    put(CallPlace::TID, &pid.to_le_bytes());
    put(CallPlace::NUMBER, &u32::try_from(number).unwrap_or(0).to_le_bytes());
    for (index, argument) in (0_u32..).zip(made.arguments) {
        put(CallPlace::ARGUMENTS + 8 * index, &argument.to_le_bytes());
    }
    put(CallPlace::COMM, comm.get(..15).unwrap_or(comm));
    let mut pieces = Vec::new();
    if let Some((argument, exit, text)) = made.text {
        pieces.extend([argument, 0, u8::from(exit), 0]);
        pieces.extend(u32::try_from(text.len()).unwrap_or(0).to_le_bytes());
        pieces.extend(text);
        pieces.resize(pieces.len().next_multiple_of(8), 0);
    }
    put(CallPlace::USED, &u32::try_from(pieces.len()).unwrap_or(0).to_le_bytes());
    bytes.extend(pieces);
    bytes
}

impl Work for SyscallWork {
    fn layouts(&self) -> Vec<StreamLayout> {
        vec![StreamLayout::Syscalls { tells_abi: Arch::HOST == Arch::X86_64 }]
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
        let rate = u128::from(self.simulation.rate_per_s);
        let due = u128::from(now_ns.saturating_sub(start_ns)) * rate / 1_000_000_000;
        let due = u64::try_from(due).unwrap_or(u64::MAX);
        while self.counts.hits < due {
            let index = self.counts.hits;
            let after = u64::try_from(u128::from(index) * 1_000_000_000 / rate.max(1)).unwrap_or(0);
            self.hit(index, start_ns + after);
        }
        vec![ProbeReading { hits: self.counts.hits + self.pieces, ..self.counts.clone() }]
    }
}
