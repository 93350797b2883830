//! An agent made by hand: it speaks the protocol over a pair of sockets and knows the truth about every event.

use std::{
    collections::HashMap,
    fs::File,
    io::Write,
    os::fd::{AsFd, BorrowedFd, OwnedFd},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use bathyscope_capture::{ColumnEncoding, ColumnLayout};
use bathyscope_link::AgentLink;
use bathyscope_protocol::{
    AgentClient, AgentError, AgentErrorKind, Connection, Enabled, GuardStage, ProbeReading, ProcessFile, Readings,
    Reply, Request, RingContent, RingInfo, RingKind, SourceReadings, Started, StartedSource, StreamLayout, TargetState,
    WireMethod, WireSource,
    counters::{CounterFile, LastReadings},
    rings::{SimulatedBpfRing, SimulatedPerfRing},
};
use rustix::time::{ClockId, clock_gettime};

/// Bytes of a record: time, cpu, pid, tid, comm, number.
const RECORD_BYTES: usize = 48;

/// How an agent behaves.
#[derive(Clone, Debug)]
pub struct Behaviour {
    /// Hits in each burst.
    pub burst: u64,
    /// The pause after each.
    pub pause: Duration,
    /// How many hits there are; then the target has exited with status 3.
    pub hits: u64,
    /// Every so many hits one is filtered; 0 for none.
    pub filter_every: u64,
    /// Every so many hits the kernel misses one; 0 for none.
    pub miss_every: u64,
    /// Bytes of each ring.
    pub ring_bytes: u32,
    /// The connection breaks after so many hits.
    pub die_after: Option<u64>,
    /// When the connection breaks, the captures are stopped in order and their last readings left, as when a lease ends;
    /// else nothing is left but what was read last, as after a kill.
    pub lets_go: bool,
    /// Enabling is refused.
    pub refuse_enable: bool,
    /// How long each answer takes.
    pub answer_after: Duration,
    /// What the guard says once a capture may be detached for what it costs.
    pub guard: GuardStage,
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            burst: 100,
            pause: Duration::from_millis(1),
            hits: u64::MAX,
            filter_every: 0,
            miss_every: 0,
            ring_bytes: 1 << 20,
            die_after: None,
            lets_go: false,
            refuse_enable: false,
            answer_after: Duration::ZERO,
            guard: GuardStage::Watching,
        }
    }
}

/// What really happened to one stream.
#[derive(Debug, Default)]
pub struct Truth {
    pub hits: AtomicU64,
    pub filtered: AtomicU64,
    pub ring_full: AtomicU64,
    pub missed: AtomicU64,
    pub placed: AtomicU64,
}

/// What the tests see of an agent.
#[derive(Debug, Default)]
pub struct Seen {
    /// Captures that exist in it.
    pub alive: AtomicU64,
    /// Of each stream of the last capture.
    pub truths: Mutex<Vec<Arc<Truth>>>,
    /// Connections so far.
    pub connections: AtomicU64,
}

impl Seen {
    pub fn total(&self, of: impl Fn(&Truth) -> &AtomicU64) -> u64 {
        self.truths.lock().unwrap().iter().map(|truth| of(truth).load(Ordering::Acquire)).sum()
    }
}

/// A link to an agent that behaves like that, made again whenever it is lost.
pub fn link(behaviour: Behaviour) -> (AgentLink, Arc<Seen>) {
    let seen = Arc::new(Seen::default());
    let agent = Arc::clone(&seen);
    let link = AgentLink::new(move || {
        let (ours, theirs) = Connection::pair().unwrap();
        let (behaviour, seen) = (behaviour.clone(), Arc::clone(&agent));
        let mut behaviour = behaviour;
        if seen.connections.fetch_add(1, Ordering::AcqRel) > 0 {
            behaviour.die_after = None;
        }
        std::thread::spawn(move || Agent { behaviour, seen, captures: HashMap::new() }.serve(&theirs));
        AgentClient::over(ours)
    });
    (link.unwrap(), seen)
}

struct Capture {
    started: Started,
    descriptors: Vec<OwnedFd>,
    truths: Vec<Arc<Truth>>,
    truths_by_source: Vec<usize>,
    /// Those of events, with the places of their truths.
    rings: Vec<(SimulatedBpfRing, usize)>,
    /// That of the profile, and the place of its truth.
    perf: Option<(SimulatedPerfRing, usize)>,
    stop: Arc<AtomicBool>,
    producers: Vec<JoinHandle<()>>,
    command_output: Option<(OwnedFd, OwnedFd)>,
    detaches: bool,
    counters: CounterFile,
}

struct Agent {
    behaviour: Behaviour,
    seen: Arc<Seen>,
    captures: HashMap<u32, Capture>,
}

pub fn now_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec.unsigned_abs() * 1_000_000_000 + now.tv_nsec.unsigned_abs()
}

impl Agent {
    fn serve(mut self, to: &Connection) {
        while let Ok((request, _)) = to.receive::<Request>(Some(Duration::from_millis(20))).or_else(|error| match error
        {
            bathyscope_protocol::ProtocolError::TimedOut(_) => {
                Ok((Request::Readings { capture: u32::MAX }, Vec::new()))
            }
            other => Err(other),
        }) {
            let placed = self.seen.total(|truth| &truth.hits);
            if self.behaviour.die_after.is_some_and(|most| placed >= most) {
                break;
            }
            if request == (Request::Readings { capture: u32::MAX }) {
                continue;
            }
            std::thread::sleep(self.behaviour.answer_after);
            let (reply, descriptors) = self.answer(request);
            let borrowed: Vec<BorrowedFd<'_>> = descriptors.iter().map(AsFd::as_fd).collect();
            if to.send(&reply, &borrowed, Duration::from_secs(5)).is_err() {
                break;
            }
        }
        for (_, mut capture) in self.captures.drain() {
            capture.stop.store(true, Ordering::Release);
            if self.behaviour.lets_go {
                capture.producers.drain(..).for_each(|producer| producer.join().unwrap());
                let readings = capture.readings();
                capture.counters.write(&LastReadings { readings, is_final: true }).unwrap();
            }
            self.seen.alive.fetch_sub(1, Ordering::AcqRel);
        }
    }

    fn answer(&mut self, request: Request) -> (Reply, Vec<OwnedFd>) {
        let reply = match request {
            Request::Hello { version } => Reply::Hello { version, simulated: true },
            Request::Start { capture, sources, .. } => {
                let made = make(&self.behaviour, &sources);
                *self.seen.truths.lock().unwrap() = made.truths.clone();
                self.seen.alive.fetch_add(1, Ordering::AcqRel);
                let started = made.started.clone();
                self.captures.insert(capture, made);
                Reply::Started(started)
            }
            Request::TakeRings { capture, from } => {
                let capture = &self.captures[&capture];
                let rest = &capture.descriptors[from as usize..];
                let copies: Vec<OwnedFd> = rest.iter().map(|fd| fd.try_clone().unwrap()).collect();
                return (Reply::Rings { count: copies.len() as u32 }, copies);
            }
            Request::SetBudget { capture, budget } => {
                self.captures.get_mut(&capture).unwrap().detaches = budget.detach;
                Reply::Done
            }
            Request::Enable { .. } if self.behaviour.refuse_enable => refused("enabling"),
            Request::Enable { capture } => {
                let capture = self.captures.get_mut(&capture).unwrap();
                capture.enable(&self.behaviour);
                Reply::Enabled(Enabled { time_ns: now_ns(), ..Enabled::default() })
            }
            Request::OpenCounters { capture } => {
                return (Reply::File, vec![self.captures[&capture].counters.reader().unwrap()]);
            }
            Request::Readings { capture } => {
                let capture = self.captures.get_mut(&capture).unwrap();
                let guard = if capture.detaches { self.behaviour.guard.clone() } else { GuardStage::Watching };
                let mut readings = capture.readings();
                readings.sources[0].guard = guard;
                capture.counters.write(&LastReadings { readings: readings.clone(), is_final: false }).unwrap();
                Reply::Readings(readings)
            }
            Request::Stop { capture, .. } => {
                let capture = self.captures.get_mut(&capture).unwrap();
                capture.stop.store(true, Ordering::Release);
                capture.producers.drain(..).for_each(|producer| producer.join().unwrap());
                Reply::Stopped(capture.readings())
            }
            Request::Discard { capture } => {
                self.captures.remove(&capture).unwrap();
                self.seen.alive.fetch_sub(1, Ordering::AcqRel);
                Reply::Done
            }
            Request::OpenKernelFile { file } => return crate::trace::kernel_file(&file),
            Request::OpenProcessFile { pid, file } => return own_file(pid, &file),
            Request::ListProcesses { .. } => Reply::Processes { pids: vec![std::process::id()], more: false },
            _other => refused("doing it"),
        };
        (reply, Vec::new())
    }
}

fn refused(doing: &str) -> Reply {
    let (why, remedy, detail) = ("it is made that way".to_owned(), String::new(), String::new());
    Reply::Failed(AgentError { kind: AgentErrorKind::Denied, doing: doing.to_owned(), why, remedy, detail })
}

/// Files of this very process, which every process of a profile is.
fn own_file(pid: u32, file: &ProcessFile) -> (Reply, Vec<OwnedFd>) {
    let path = match file {
        ProcessFile::Maps => "/proc/self/maps".to_owned(),
        ProcessFile::Stat => "/proc/self/stat".to_owned(),
        ProcessFile::Status => "/proc/self/status".to_owned(),
        ProcessFile::Mapped { start, end } => format!("/proc/self/map_files/{start:x}-{end:x}"),
        ProcessFile::PerfMap => format!("/tmp/perf-{pid}.map"),
        ProcessFile::Cmdline => "/proc/self/cmdline".to_owned(),
        ProcessFile::ControlGroups => "/proc/self/cgroup".to_owned(),
        ProcessFile::Sockets { .. } => return (refused("listing sockets"), Vec::new()),
        ProcessFile::Links => return (refused("listing links"), Vec::new()),
    };
    match File::open(path) {
        Ok(file) => (Reply::File, vec![file.into()]),
        Err(_) => (refused("opening a file"), Vec::new()),
    }
}

fn layout() -> StreamLayout {
    let number = |name: &str, offset, bytes| ColumnLayout {
        name: name.to_owned(),
        offset,
        encoding: ColumnEncoding::Unsigned { bytes, hex: false },
    };
    let comm = ColumnLayout { name: "comm".to_owned(), offset: 20, encoding: ColumnEncoding::FixedText { bytes: 16 } };
    let common = [number("time", 0, 8), number("cpu", 8, 4), number("pid", 12, 4), number("tid", 16, 4), comm];
    let columns = common.into_iter().chain([number("number", 40, 8)]).collect();
    StreamLayout::Records { record_bytes: RECORD_BYTES as u32, columns }
}

/// What is made of one source.
struct MadeSource {
    started: StartedSource,
    descriptors: Vec<OwnedFd>,
    truths: usize,
    rings: Vec<SimulatedBpfRing>,
    perf: Option<SimulatedPerfRing>,
}

fn make_source(behaviour: &Behaviour, method: &WireMethod) -> MadeSource {
    if let WireMethod::Trace(trace) = method {
        let (started, descriptors) = crate::trace::make(trace);
        return MadeSource { started, descriptors, truths: 1, rings: Vec::new(), perf: None };
    }
    let streams = match method {
        WireMethod::Events { probes } => probes.len(),
        _other => 0,
    };
    let data_bytes = behaviour.ring_bytes;
    let rings: Vec<_> = (0..streams).map(|_| SimulatedBpfRing::create(data_bytes).unwrap()).collect();
    let mut descriptors: Vec<OwnedFd> = rings.iter().map(|ring| ring.as_fd().try_clone_to_owned().unwrap()).collect();
    let info = |stream: usize| RingInfo {
        kind: RingKind::Bpf,
        content: RingContent::Stream { stream: stream as u16 },
        data_bytes,
        cpu: None,
    };
    let mut infos: Vec<RingInfo> = (0..streams).map(info).collect();
    let mut layouts = vec![layout(); streams];
    let mut perf = None;
    if matches!(method, WireMethod::Profile(_)) {
        let ring = SimulatedPerfRing::create(data_bytes).unwrap();
        descriptors.push(ring.as_fd().try_clone_to_owned().unwrap());
        let kind = RingKind::Perf {
            sample_type: 1 | 2 | 4 | 32 | 128,
            read_format: 0,
            sample_id_all: true,
            branch_sample_type: 0,
        };
        infos.push(RingInfo { kind, content: RingContent::Stream { stream: 0 }, data_bytes, cpu: Some(0) });
        layouts = vec![StreamLayout::PerfSamples];
        perf = Some(ring);
    }
    let started = StartedSource { streams: layouts, rings: infos, ..StartedSource::default() };
    MadeSource { started, descriptors, truths: streams.max(1), rings, perf }
}

/// Makes all sources of a capture; one that counts cannot be made here.
fn make(behaviour: &Behaviour, sources: &[WireSource]) -> Capture {
    let of_trace = sources.iter().all(|source| source.method.is_trace());
    let mut capture = Capture {
        started: Started::default(),
        descriptors: Vec::new(),
        truths: Vec::new(),
        truths_by_source: Vec::new(),
        rings: Vec::new(),
        perf: None,
        stop: Arc::default(),
        producers: Vec::new(),
        command_output: None,
        detaches: false,
        counters: CounterFile::new().unwrap(),
    };
    for WireSource { method, .. } in sources {
        if let (WireMethod::Count(_), Reply::Failed(error)) = (method, refused("counting")) {
            capture.started.sources.push(StartedSource { failed: Some(error), ..StartedSource::default() });
            capture.truths_by_source.push(0);
            continue;
        }
        let made = make_source(behaviour, method);
        capture.started.sources.push(made.started);
        capture.descriptors.extend(made.descriptors);
        let first = capture.truths.len();
        capture.truths.extend((0..made.truths).map(|_| Arc::default()));
        capture.truths_by_source.push(made.truths);
        capture.rings.extend(made.rings.into_iter().zip(first..));
        capture.perf = capture.perf.or(made.perf.map(|ring| (ring, capture.truths.len() - 1)));
    }
    if !of_trace {
        let (out, out_end) = rustix::pipe::pipe().unwrap();
        let (err, err_end) = rustix::pipe::pipe().unwrap();
        capture.descriptors.extend([out, err]);
        capture.command_output = Some((out_end, err_end));
        (capture.started.target_pid, capture.started.has_output) = (Some(std::process::id()), true);
    }
    capture
}

impl Capture {
    fn enable(&mut self, behaviour: &Behaviour) {
        if let Some((out, err)) = self.command_output.take() {
            File::from(out).write_all(b"hello from the command\n").unwrap();
            File::from(err).write_all(b"a complaint\n").unwrap();
        }
        for (ring, truth) in self.rings.drain(..) {
            let (behaviour, truth, stop) = (behaviour.clone(), Arc::clone(&self.truths[truth]), Arc::clone(&self.stop));
            self.producers.push(std::thread::spawn(move || produce(ring, &behaviour, &truth, &stop)));
        }
        if let Some((ring, truth)) = self.perf.take() {
            let (behaviour, truth, stop) = (behaviour.clone(), Arc::clone(&self.truths[truth]), Arc::clone(&self.stop));
            self.producers.push(std::thread::spawn(move || sample(ring, &behaviour, &truth, &stop)));
        }
    }

    fn readings(&self) -> Readings {
        let done = !self.producers.is_empty() && self.producers.iter().all(JoinHandle::is_finished);
        let target = if done { TargetState::Exited { code: Some(3), signal: None } } else { TargetState::Running };
        let probe = |truth: &Arc<Truth>| {
            // Parts before the whole: what happens in between must not make the parts the larger.
            let ring_full = truth.ring_full.load(Ordering::Acquire);
            let filtered = truth.filtered.load(Ordering::Acquire);
            let (hits, missed) = (truth.hits.load(Ordering::Acquire), truth.missed.load(Ordering::Acquire));
            ProbeReading { hits, filtered, ring_full, missed, ns_per_hit: Some(150.0), ..ProbeReading::default() }
        };
        let mut truths = self.truths.iter();
        let mut source = |count: &usize| {
            let probes = truths.by_ref().take(*count).map(probe).collect();
            SourceReadings { probes, ..SourceReadings::default() }
        };
        let sources = self.truths_by_source.iter().map(&mut source).collect();
        Readings { time_ns: now_ns(), sources, target, ..Readings::default() }
    }
}

fn produce(mut ring: SimulatedBpfRing, behaviour: &Behaviour, truth: &Truth, stop: &AtomicBool) {
    let every = |n: u64, number: u64| n != 0 && number.is_multiple_of(n);
    let mut number = 0;
    while number < behaviour.hits && !stop.load(Ordering::Acquire) {
        for _ in 0..behaviour.burst {
            number += 1;
            if number > behaviour.hits {
                break;
            }
            if every(behaviour.miss_every, number) {
                truth.missed.fetch_add(1, Ordering::AcqRel);
                continue;
            }
            truth.hits.fetch_add(1, Ordering::AcqRel);
            if every(behaviour.filter_every, number) {
                truth.filtered.fetch_add(1, Ordering::AcqRel);
            } else if ring.push(&record(number)) {
                truth.placed.fetch_add(1, Ordering::AcqRel);
            } else {
                truth.ring_full.fetch_add(1, Ordering::AcqRel);
            }
        }
        if !behaviour.pause.is_zero() {
            std::thread::sleep(behaviour.pause);
        }
    }
}

fn record(number: u64) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[..8].copy_from_slice(&now_ns().to_le_bytes());
    record[8..12].copy_from_slice(&((number % 4) as u32).to_le_bytes());
    record[12..16].copy_from_slice(&100_u32.to_le_bytes());
    record[16..20].copy_from_slice(&(100 + (number % 3) as u32).to_le_bytes());
    record[20..24].copy_from_slice(b"made");
    record[40..48].copy_from_slice(&number.to_le_bytes());
    record
}

/// Samples whose stack lies in this very process, at the addresses that [`sampled`] gives.
fn sample(mut ring: SimulatedPerfRing, behaviour: &Behaviour, truth: &Truth, stop: &AtomicBool) {
    let mut number = 0;
    while number < behaviour.hits && !stop.load(Ordering::Acquire) {
        number += 1;
        let chain = [-512_i64 as u64].into_iter().chain(sampled());
        let chain: Vec<u64> = chain.collect();
        let process = u64::from(std::process::id());
        let mut words = vec![sampled()[0], process | process << 32, now_ns(), 0, chain.len() as u64];
        words.extend(chain);
        let size = 8 + words.len() * 8;
        let header = 9_u64 | 2 << 32 | (size as u64) << 48;
        words.insert(0, header);
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        if ring.push(&bytes) {
            truth.placed.fetch_add(1, Ordering::AcqRel);
        } else {
            truth.ring_full.fetch_add(1, Ordering::AcqRel);
        }
        std::thread::sleep(behaviour.pause);
    }
}

#[inline(never)]
pub fn a_function_to_be_named(value: u64) -> u64 {
    std::hint::black_box(value).rotate_left(7)
}

/// An address in the function above, and one where a run-time compiler could have put code.
pub fn sampled() -> [u64; 2] {
    [a_function_to_be_named as *const () as usize as u64 + 1, a_function_to_be_named as *const () as usize as u64 + 2]
}
