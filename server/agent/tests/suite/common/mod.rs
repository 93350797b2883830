//! An agent at the other end of a socket pair, and readers of what it makes.
#![allow(dead_code, reason = "each test file uses a part")]

use std::{
    cell::RefCell,
    sync::{Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bathyscope_agent::{
    Backend, CommandRights, KernelBackend, ScriptRights, SessionEnd, SimulatedBackend, Simulation, serve,
    serve_with_lease,
};
use bathyscope_capture::{ColumnEncoding, ColumnLayout, CountSpec, EventProbe, ProfileSpec};
use bathyscope_protocol::{
    AgentClient, Connection, RingContent, Started, StreamLayout, TakenRings, WireMethod, rings::RingReader,
};

pub(crate) const SOON: Duration = Duration::from_secs(60);

/// A raw connection to an agent, and how its session ended.
pub(crate) fn raw_agent(
    make: impl FnOnce() -> Box<dyn Backend> + Send + 'static,
) -> (Connection, JoinHandle<SessionEnd>) {
    let (ours, theirs) = Connection::pair().unwrap();
    let thread = std::thread::spawn(move || serve(&theirs, make().as_mut()));
    (ours, thread)
}

/// As [`raw_agent`]; what its console does not ask for stays for `lease`.
pub(crate) fn raw_agent_with_lease(
    lease: Duration,
    make: impl FnOnce() -> Box<dyn Backend> + Send + 'static,
) -> (Connection, JoinHandle<SessionEnd>) {
    let (ours, theirs) = Connection::pair().unwrap();
    let thread = std::thread::spawn(move || serve_with_lease(&theirs, make().as_mut(), lease));
    (ours, thread)
}

pub(crate) fn simulated(options: &str) -> AgentClient {
    let simulation: Simulation = options.parse().unwrap();
    AgentClient::over(raw_agent(move || Box::new(SimulatedBackend::new(simulation))).0).unwrap()
}

pub(crate) fn kernel() -> AgentClient {
    kernel_with(ScriptRights::Observe)
}

/// Commands run as the user of the tests. A test that asks the running kernel has it for itself from its first agent to the end
/// of its thread: what one counts, the work of another would disturb.
pub(crate) fn kernel_with(scripts: ScriptRights) -> AgentClient {
    static KERNEL: Mutex<()> = Mutex::new(());
    thread_local! {
        static HELD: RefCell<Option<MutexGuard<'static, ()>>> = const { RefCell::new(None) };
    }
    HELD.with_borrow_mut(|held| {
        held.get_or_insert_with(|| KERNEL.lock().unwrap_or_else(PoisonError::into_inner));
    });
    let uid = rustix::process::getuid();
    let commands = if uid.is_root() { CommandRights::AsRoot } else { CommandRights::Users(vec![uid.as_raw()]) };
    AgentClient::over(raw_agent(move || Box::new(KernelBackend::new(commands).with_scripts(scripts))).0).unwrap()
}

pub(crate) fn probe(tracepoint: &str, fields: &[&str], predicate: &str) -> EventProbe {
    EventProbe {
        tracepoint: tracepoint.parse().unwrap(),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        predicate: (!predicate.is_empty()).then(|| bathyscope_capture::Predicate::parse(predicate).unwrap()),
    }
}

pub(crate) fn events(probes: &[EventProbe]) -> WireMethod {
    WireMethod::Events { probes: probes.to_vec() }
}

/// Stacks at so many hertz.
pub(crate) fn profile(frequency_hz: u32) -> ProfileSpec {
    ProfileSpec { frequency_hz, ..ProfileSpec::default() }
}

/// Counts of events, each a group of its own.
pub(crate) fn count(events: &[&str]) -> CountSpec {
    CountSpec { groups: events.iter().map(|event| vec![(*event).to_owned()]).collect(), ..CountSpec::default() }
}

/// The mapped rings of a capture.
pub(crate) struct Rings {
    pub(crate) started: Started,
    pub(crate) readers: Vec<RingReader>,
    pub(crate) output: Option<(std::fs::File, std::fs::File)>,
}

impl Rings {
    pub(crate) fn map(started: Started, taken: TakenRings) -> Self {
        let map = |(fd, info)| RingReader::map(fd, info).unwrap();
        let readers = taken.rings.into_iter().zip(started.rings()).map(map).collect();
        let output = taken.output.map(|(out, err)| (out.into(), err.into()));
        Self { started, readers, output }
    }

    /// Whole records of the rings of stream `stream`, or of the side band.
    pub(crate) fn drain(&mut self, content: RingContent, each: &mut dyn FnMut(&[u8])) -> u64 {
        let rings = self.readers.iter_mut().zip(self.started.rings()).filter(|(_ring, info)| info.content == content);
        rings.map(|(ring, _info)| ring.drain(usize::MAX, each).unwrap().records).sum()
    }

    pub(crate) fn stream(&mut self, stream: u16, each: &mut dyn FnMut(&[u8])) -> u64 {
        self.drain(RingContent::Stream { stream }, each)
    }

    pub(crate) fn columns(&self, stream: usize) -> &[ColumnLayout] {
        match &self.started.sources[0].streams[stream] {
            StreamLayout::Records { columns, .. } => columns,
            StreamLayout::PerfSamples
            | StreamLayout::PerfBranches
            | StreamLayout::TracePages
            | StreamLayout::Syscalls { .. }
            | StreamLayout::Switches
            | StreamLayout::Wakeups => &[],
        }
    }

    pub(crate) fn column(&self, stream: usize, name: &str) -> ColumnLayout {
        self.columns(stream).iter().find(|column| column.name == name).unwrap_or_else(|| panic!("no {name}")).clone()
    }
}

pub(crate) fn number(record: &[u8], column: &ColumnLayout) -> u64 {
    let (ColumnEncoding::Unsigned { bytes, .. } | ColumnEncoding::Signed { bytes }) = column.encoding else {
        panic!("{} is no number", column.name)
    };
    let at = column.offset as usize;
    let mut word = [0; 8];
    word[..usize::from(bytes)].copy_from_slice(&record[at..at + usize::from(bytes)]);
    u64::from_le_bytes(word)
}

pub(crate) fn text(record: &[u8], column: &ColumnLayout) -> Option<Vec<u8>> {
    let at = column.offset as usize;
    match column.encoding {
        ColumnEncoding::FixedText { bytes } => {
            let room = &record[at..at + usize::from(bytes)];
            Some(room.split(|byte| *byte == 0).next().unwrap().to_vec())
        }
        ColumnEncoding::LengthText { .. } => {
            let length = i32::from_le_bytes(record[at..at + 4].try_into().unwrap());
            let length = usize::try_from(length).ok()?;
            Some(record[at + 4..at + 4 + length.saturating_sub(1)].to_vec())
        }
        _ => panic!("{} is no text", column.name),
    }
}

/// Starts, takes the rings and maps them.
pub(crate) fn start(
    client: &mut AgentClient,
    method: WireMethod,
    target: bathyscope_capture::Target,
    ring: u32,
) -> Rings {
    let started = client.start(1, method, target, ring).unwrap();
    let taken = client.take_rings(1, &started).unwrap();
    Rings::map(started, taken)
}

/// Waits for a state, at most [`SOON`].
pub(crate) fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + SOON;
    while !done() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::yield_now();
    }
}
