//! A capture of tracepoints.
//!
//! Everything slow is done when the capture is made: compiling, loading, and opening a perf event for each tracepoint,
//! which has the kernel patch the tracepoint's code. Enabling then only puts the programs on those events. Programs run
//! at a hit even if their event is disabled, so the events stay disabled and record nothing themselves.

use std::{
    io,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd, RawFd},
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use bathyscope_bpf::probe::{
    self, ColumnPlace, Encoding, Parents, ProbeError, ProbeProgram, TargetFilter, TracepointProbe, fork_program,
    free_program,
};
use bathyscope_capture::{ColumnEncoding, ColumnLayout, EventProbe, TracepointName};
use bathyscope_catalog::{EventFormat, parse_event_format};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, Budget, ProbeReading, RingContent, RingInfo, RingKind, ScriptEnabled, SourceReadings,
    StartedSource, StreamLayout,
};
use perf_event_open_sys::bindings::PERF_TYPE_TRACEPOINT;

use super::{
    KernelBackend,
    retire::{HoldsEvents, close_links, drop_aside},
    stats::{Asked, CostMeter, Guarded, Written, cpu_permille_now},
    target::ResolvedTarget,
};
use crate::{
    clock::elapsed_ns,
    engine::{Engine, EngineError, ProcessReports},
    error::{failed, refused},
    guard::{Guard, SECOND_STAGE, SharedBudget, check_stage},
    needs::Need,
    os::{
        bpf,
        busy::busy,
        loader::{Allowance, Allowed, Counters, Counts, Loaded, Loader, compile},
        perf::{self, Event, Scope},
        sideband::Sideband,
        tracefs::Tracefs,
    },
};

/// Rows that one program may write on one CPU in a second if nothing else is said: more than any console reads.
const USUAL_ROWS_PER_S_AND_CPU: u64 = 1_000_000;

/// A program at a tracepoint.
#[derive(Debug)]
pub(crate) struct TracepointAttachment {
    tracepoint: TracepointName,
    program: OwnedFd,
    event: Event,
}

impl HoldsEvents for TracepointAttachment {
    fn add_events(&self, to: &mut Vec<RawFd>) {
        to.push(self.event.as_fd().as_raw_fd());
    }
}

impl HoldsEvents for EventStream {
    fn add_events(&self, to: &mut Vec<RawFd>) {
        self.attachment.add_events(to);
    }
}

impl TracepointAttachment {
    /// The program.
    pub(crate) fn program(&self) -> BorrowedFd<'_> {
        self.program.as_fd()
    }
}

/// A stream: an attachment that records.
#[derive(Debug)]
struct EventStream {
    attachment: TracepointAttachment,
    ring: OwnedFd,
    record_bytes: u32,
    counters: Arc<Counters>,
    last: Counts,
}

/// A capture of tracepoints.
#[derive(Debug)]
pub(crate) struct EventsEngine {
    started: StartedSource,
    streams: Vec<EventStream>,
    /// Programs that follow the target's children.
    follow: Vec<TracepointAttachment>,
    links: Arc<Mutex<Vec<OwnedFd>>>,
    sideband: Sideband,
    /// Whose hits its programs count.
    filter: TargetFilter,
    budget: SharedBudget,
    /// Until the guard takes it.
    allowance: Option<Allowance>,
    cost: Option<CostMeter>,
    /// Keeps the maps that nothing else holds.
    _loaded: Loaded,
}

/// A tracepoint with its description.
struct Described {
    tracepoint: TracepointName,
    format: EventFormat,
}

fn describe(tracefs: &Tracefs, tracepoint: &TracepointName) -> Result<Described, AgentError> {
    let bytes = tracefs.read_format(tracepoint)?;
    let format = parse_event_format(&bytes).map_err(|error| {
        let doing = format!("reading the format of {tracepoint}");
        failed(AgentErrorKind::Unsupported, doing, error.to_string(), "Report this as a defect.")
    })?;
    Ok(Described { tracepoint: tracepoint.clone(), format })
}

fn cannot_probe(tracepoint: &TracepointName, error: &ProbeError) -> AgentError {
    let source = std::error::Error::source(error).filter(|_| !matches!(error, ProbeError::Field(_)));
    let why = source.map_or_else(|| error.to_string(), |source| format!("{error}: {source}"));
    failed(AgentErrorKind::Invalid, format!("making a program for {tracepoint}"), why, "")
}

/// All programs of a capture, compiled.
struct Compiled {
    object: Vec<u8>,
    probes: Vec<(Described, ProbeProgram)>,
    follow: Vec<(Described, String)>,
}

fn compile_all(probes: &[EventProbe], target: &ResolvedTarget, ring_bytes: u32) -> Result<Compiled, AgentError> {
    let tracefs = Tracefs::find()?;
    let filter = target.filter();
    let mut programs = Vec::new();
    let mut compiled = Compiled { object: Vec::new(), probes: Vec::new(), follow: Vec::new() };
    for (index, wire) in probes.iter().enumerate() {
        let described = describe(&tracefs, &wire.tracepoint)?;
        let name = format!("p{index}");
        let made = probe::tracepoint_program(&TracepointProbe {
            name: &name,
            format: &described.format,
            fields: &wire.fields,
            predicate: wire.predicate.as_ref(),
            target: filter,
            ring_bytes,
        });
        let made = made.map_err(|error| cannot_probe(&wire.tracepoint, &error))?;
        programs.push(made.program.clone());
        compiled.probes.push((described, made));
    }
    if let Some(parents) = parents_of(target) {
        for (described, program) in follow_programs(&tracefs, parents)? {
            compiled.follow.push((described, program.name.clone()));
            programs.push(program);
        }
    }
    compiled.object = compile(&programs, "compiling the capture's programs")?;
    Ok(compiled)
}

type Follow = (Described, bathyscope_bpf::ir::Program);

/// Whose children are recorded too; none if nobody's are.
fn parents_of(target: &ResolvedTarget) -> Option<Parents> {
    let parents = if target.threads().is_empty() { Parents::Processes } else { Parents::Threads };
    target.follows_children().then_some(parents)
}

fn follow_programs(tracefs: &Tracefs, parents: Parents) -> Result<[Follow; 2], AgentError> {
    let one = |tracepoint: &str,
               make: &dyn Fn(&EventFormat) -> Result<bathyscope_bpf::ir::Program, ProbeError>|
     -> Result<Follow, AgentError> {
        let invalid = |why: String| failed(AgentErrorKind::Internal, "following child processes", why, "");
        let tracepoint = tracepoint.parse::<TracepointName>().map_err(|error| invalid(error.to_string()))?;
        let described = describe(tracefs, &tracepoint)?;
        let program = make(&described.format).map_err(|error| cannot_probe(&tracepoint, &error))?;
        Ok((described, program))
    };
    Ok([
        one("sched:sched_process_fork", &|format| fork_program("fork", format, parents))?,
        one("sched:sched_process_free", &|format| free_program("free", format))?,
    ])
}

/// A program that follows children, with its tracepoint and the number of that.
pub(crate) type FollowProgram = (TracepointName, u32, bathyscope_bpf::ir::Program);

/// The programs that follow children, for captures of other kinds: attached like a capture's own.
#[derive(Debug)]
pub(crate) struct Following {
    attachments: Vec<TracepointAttachment>,
    links: Vec<OwnedFd>,
}

impl Following {
    /// The programs to compile into the capture's object, with where to attach them.
    pub(crate) fn programs(parents: Parents) -> Result<Vec<FollowProgram>, AgentError> {
        let follow = follow_programs(&Tracefs::find()?, parents)?;
        Ok(follow
            .into_iter()
            .map(|(described, program)| (described.tracepoint, described.format.id, program))
            .collect())
    }

    /// The same of a target, none if its children are not followed.
    pub(crate) fn programs_for(target: &ResolvedTarget) -> Result<Vec<FollowProgram>, AgentError> {
        parents_of(target).map_or_else(|| Ok(Vec::new()), Self::programs)
    }

    /// Loads the programs and opens their tracepoints. None if there are no programs.
    pub(crate) fn open(loaded: &mut Loaded, programs: &[FollowProgram]) -> Result<Option<Self>, AgentError> {
        let open = |(tracepoint, id, program): &FollowProgram| {
            let program = loaded.load_program(&program.name, &format!("loading the program for {tracepoint}"))?;
            open_attachment(tracepoint, *id, program)
        };
        let attachments = programs.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        Ok((!attachments.is_empty()).then_some(Self { attachments, links: Vec::new() }))
    }

    /// Begins to follow.
    pub(crate) fn enable(&mut self) -> Result<(), AgentError> {
        self.links = self.attachments.iter().map(attach).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Ceases to follow.
    pub(crate) fn disable(&mut self) {
        close_links(std::mem::take(&mut self.links));
        drop_aside(std::mem::take(&mut self.attachments));
    }
}

impl Drop for Following {
    fn drop(&mut self) {
        self.disable();
    }
}

pub(crate) fn open_attachment(
    tracepoint: &TracepointName,
    id: u32,
    program: OwnedFd,
) -> Result<TracepointAttachment, AgentError> {
    let mut attributes = perf::attributes(PERF_TYPE_TRACEPOINT, u64::from(id));
    let event = Event::open(&mut attributes, Scope::Cpu(first_cpu())).map_err(|error| match error.raw_os_error() {
        Some(libc::EINTR) => busy(format!("opening {tracepoint}"), tracepoint),
        _ => refused(format!("opening {tracepoint}"), &error, Need::Events),
    })?;
    Ok(TracepointAttachment { tracepoint: tracepoint.clone(), program, event })
}

/// The event has to be of some CPU; the program runs on all of them.
fn first_cpu() -> u32 {
    crate::os::cpus::online().ok().and_then(|cpus| cpus.first().copied()).unwrap_or(0)
}

/// Why the kernel does not run a program for tracepoints at an event (EINVAL): it does at its own ones only.
pub(crate) fn made_by_text(doing: String) -> AgentError {
    let why = "it is a dynamic event, made with perf probe or tracefs, whose fields BPF programs cannot read";
    let remedy = "Record it by ftrace: `bathyscope record -e`, or the method ftrace of the form. Scripts that do not use `args` can \
        be attached to kprobes and uprobes.";
    failed(AgentErrorKind::Unsupported, doing, why, remedy)
}

pub(crate) fn attach(attachment: &TracepointAttachment) -> Result<OwnedFd, AgentError> {
    bpf::link_perf_event(attachment.program.as_fd(), &attachment.event).map_err(|error| {
        let doing = format!("attaching to {}", attachment.tracepoint);
        match error.raw_os_error() {
            Some(libc::EINVAL) => made_by_text(doing),
            _ => refused(doing, &error, Need::Events),
        }
    })
}

fn layout_of(place: &ColumnPlace) -> ColumnLayout {
    let encoding = match place.encoding {
        Encoding::Unsigned { bytes, hex } => ColumnEncoding::Unsigned { bytes, hex },
        Encoding::Signed { bytes } => ColumnEncoding::Signed { bytes },
        Encoding::FixedText { bytes } => ColumnEncoding::FixedText { bytes },
        Encoding::LengthText { room } => ColumnEncoding::LengthText { room },
    };
    ColumnLayout { name: place.name.clone(), offset: place.offset, encoding }
}

/// Compiles and loads the programs of a capture of tracepoints; nothing is attached yet.
///
/// # Errors
/// If anything of it cannot be made; then all of it is undone.
pub(crate) fn start(
    kernel: &KernelBackend,
    probes: &[EventProbe],
    target: &ResolvedTarget,
    ring_bytes: u32,
    reports: ProcessReports,
) -> Result<EventsEngine, AgentError> {
    EventsEngine::make(&kernel.loader, probes, target, ring_bytes, reports)
}

impl EventsEngine {
    /// Compiles, loads, and opens everything; attaches nothing.
    pub(crate) fn make(
        loader: &Loader,
        probes: &[EventProbe],
        target: &ResolvedTarget,
        ring_bytes: u32,
        reports: ProcessReports,
    ) -> Result<Self, AgentError> {
        let clock = Instant::now();
        let compiled = compile_all(probes, target, ring_bytes)?;
        let compile_ns = elapsed_ns(clock);

        let clock = Instant::now();
        let mut loaded = loader.load(&compiled.object, "loading the capture's programs")?;
        for pid in target.mapped() {
            loaded.add_target(pid, "setting the capture's target")?;
        }
        let mut programs = Vec::new();
        for (described, made) in &compiled.probes {
            let doing = format!("loading the program for {}", described.tracepoint);
            let program = loaded.load_program(&made.program.name, &doing)?;
            programs.push((program, loaded.ring(&made.ring, &doing)?, loaded.counters(&made.counters, &doing)?));
        }
        let mut follow = Vec::new();
        for (described, name) in &compiled.follow {
            let doing = format!("loading the program for {}", described.tracepoint);
            follow.push((described, loaded.load_program(name, &doing)?));
        }
        let load_ns = elapsed_ns(clock);

        let clock = Instant::now();
        let mut streams = Vec::new();
        for ((described, made), (program, ring, counters)) in compiled.probes.iter().zip(programs) {
            let attachment = open_attachment(&described.tracepoint, described.format.id, program)?;
            let (record_bytes, counters) = (made.record_bytes, Arc::new(counters));
            streams.push(EventStream { attachment, ring, record_bytes, counters, last: Counts::default() });
        }
        let open = |(described, program): (&Described, OwnedFd)| {
            open_attachment(&described.tracepoint, described.format.id, program)
        };
        let follow = follow.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
        let sideband = Sideband::open(reports)?;
        let times = [compile_ns, load_ns, elapsed_ns(clock)];
        let started = describe_started(&compiled, &sideband, ring_bytes, times);
        let allowance = Some(loaded.allowance("making the capture's programs")?);
        Ok(Self {
            started,
            streams,
            follow,
            links: Arc::default(),
            sideband,
            filter: target.filter(),
            budget: SharedBudget::default(),
            allowance,
            cost: None,
            _loaded: loaded,
        })
    }

    fn detach(&mut self) {
        if let Some(cost) = &mut self.cost {
            cost.end();
        }
        close_links(take(&self.links));
        self.sideband.disable();
    }
}

fn describe_started(
    compiled: &Compiled,
    sideband: &Sideband,
    ring_bytes: u32,
    [compile_ns, load_ns, attach_ns]: [u64; 3],
) -> StartedSource {
    let layout = |(_described, made): &(Described, ProbeProgram)| StreamLayout::Records {
        record_bytes: made.record_bytes,
        columns: made.layout.iter().map(layout_of).collect(),
    };
    let ring = |index: usize| RingInfo {
        kind: RingKind::Bpf,
        content: RingContent::Stream { stream: u16::try_from(index).unwrap_or(u16::MAX) },
        data_bytes: ring_bytes,
        cpu: None,
    };
    StartedSource {
        streams: compiled.probes.iter().map(layout).collect(),
        rings: (0..compiled.probes.len()).map(ring).chain(sideband.infos().iter().cloned()).collect(),
        compile_ns,
        load_ns,
        attach_ns,
        ..StartedSource::default()
    }
}

pub(super) fn hold(links: &Mutex<Vec<OwnedFd>>, link: OwnedFd) {
    links.lock().unwrap_or_else(PoisonError::into_inner).push(link);
}

pub(super) fn take(links: &Mutex<Vec<OwnedFd>>) -> Vec<OwnedFd> {
    std::mem::take(&mut *links.lock().unwrap_or_else(PoisonError::into_inner))
}

impl EventsEngine {
    /// Attaches one probe, then some, then the rest (P23): what is already too much with a few is not tried with all.
    fn attach_in_stages(&self, programs: &[OwnedFd]) -> Result<(), AgentError> {
        let staged = self.budget.detach && self.streams.len() > SECOND_STAGE;
        for (index, stream) in self.streams.iter().enumerate() {
            hold(&self.links, attach(&stream.attachment)?);
            let attached = index + 1;
            if staged && (attached == 1 || attached == SECOND_STAGE) {
                let used = cpu_permille_now(programs.get(..attached).unwrap_or_default()).unwrap_or(0.0);
                check_stage(*self.budget, used, attached, self.streams.len())?;
            }
        }
        Ok(())
    }

    /// What the guard works with. Budgets of rows and bytes that somebody has chosen are held by the programs themselves, so
    /// that they hold whatever becomes of those who read.
    fn guarded(&mut self) -> Result<Guarded, AgentError> {
        let thin = hold_rates(self.allowance.take(), *self.budget)?;
        let counted = |stream: &EventStream| (Arc::clone(&stream.counters), u64::from(stream.record_bytes));
        let counters: Vec<(Arc<Counters>, u64)> = self.streams.iter().map(counted).collect();
        let links = Arc::clone(&self.links);
        // Of a target, what others do is passed over, and nobody has asked for that.
        let of_target = (self.filter != TargetFilter::System).then(|| counters.clone());
        Ok(Guarded {
            guard: Guard::new(self.budget.clone(), true).holding_rates(),
            written: Box::new(move || written(&counters)),
            asked: of_target
                .map(|counters| -> Box<dyn Fn() -> Option<Asked> + Send> { Box::new(move || asked(&counters)) }),
            thin,
            detach: Box::new(move || close_links(take(&links))),
        })
    }
}

/// Sets the limits of rows and bytes that programs hold themselves; gives what lets fewer rows a second through.
///
/// # Errors
/// If they cannot be set, or were taken before.
pub(super) fn hold_rates(
    allowance: Option<Allowance>,
    budget: Budget,
) -> Result<Box<dyn FnMut(u64) + Send>, AgentError> {
    let doing = "setting the limit of rows";
    let missing = || failed(AgentErrorKind::Internal, doing, "there is none", "Report this as a defect.");
    let mut allowance = allowance.ok_or_else(missing)?;
    let mut allowed = Allowed::default();
    if budget.detach {
        let each_window = |per_s: Option<u64>| per_s.map_or(0, per_window);
        allowed = Allowed {
            rows_each: per_window(USUAL_ROWS_PER_S_AND_CPU),
            rows: each_window(budget.rows_per_s),
            bytes: each_window(budget.bytes_per_s),
        };
        allowance.set(allowed).map_err(|error| refused(doing, &error, ""))?;
    }
    Ok(Box::new(move |rows_per_s| {
        let thinner = per_window(rows_per_s);
        allowed.rows = if allowed.rows == 0 { thinner } else { thinner.min(allowed.rows) };
        if let Err(error) = allowance.set(allowed) {
            tracing::warn!(%error, "the rows of a capture cannot be limited");
        }
    }))
}

/// How often programs ran for hits that they did not reject. What these cost is not told apart: as much as any run.
fn asked(counters: &[(Arc<Counters>, u64)]) -> Option<Asked> {
    let wanted = |(counters, _): &(Arc<Counters>, u64)| {
        let Counts { hits, filtered, .. } = counters.read().ok()?;
        Some(hits.saturating_sub(filtered))
    };
    let runs = counters.iter().map(wanted).sum::<Option<u64>>()?;
    Some(Asked { runs, spent_ns: 0 })
}

/// What programs have written and what they were not let write.
fn written(counters: &[(Arc<Counters>, u64)]) -> Written {
    let one = |sum: Written, (counters, record_bytes): &(Arc<Counters>, u64)| {
        let Ok(Counts { hits, filtered, ring_full, limited }) = counters.read() else { return sum };
        // Those of a running program are of slightly different moments.
        let rows = hits.saturating_sub(filtered + ring_full + limited);
        Written {
            rows: sum.rows + rows,
            bytes: sum.bytes + rows * record_bytes,
            held_rows: sum.held_rows + limited,
            held_bytes: sum.held_bytes + limited * record_bytes,
        }
    };
    counters.iter().fold(Written::default(), one)
}

/// What is let through in a window of time, at least one.
fn per_window(per_s: u64) -> u64 {
    (per_s.saturating_mul(probe::ALLOWANCE_WINDOW_NS) / 1_000_000_000).max(1)
}

impl Engine for EventsEngine {
    fn started(&self) -> &StartedSource {
        &self.started
    }

    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        if let Some(stream) = self.streams.get(index) {
            return Some(stream.ring.as_fd());
        }
        self.sideband.descriptor(index - self.streams.len())
    }

    fn set_budget(&mut self, budget: SharedBudget) {
        self.budget = budget;
    }

    /// First what reports processes, then what follows them, then the probes.
    fn enable(&mut self) -> Result<Option<ScriptEnabled>, EngineError> {
        self.sideband.enable()?;
        for attachment in &self.follow {
            hold(&self.links, attach(attachment)?);
        }
        let clone = |stream: &EventStream| stream.attachment.program.try_clone();
        let programs = self.streams.iter().map(clone).collect::<io::Result<Vec<_>>>();
        let programs = programs.map_err(|error| refused("attaching the probes", &error, "Raise `ulimit -n`."))?;
        self.attach_in_stages(&programs)?;
        self.cost = Some(CostMeter::start(programs, self.guarded()?));
        Ok(None)
    }

    fn readings(&mut self) -> SourceReadings {
        let cost = &self.cost;
        let read = |(index, stream): (usize, &mut EventStream)| {
            // A map that cannot be read keeps its last counts, which is better than none.
            stream.last = stream.counters.read().unwrap_or(stream.last);
            let missed = bpf::program_stats(stream.attachment.program.as_fd()).unwrap_or_default().missed;
            let ns_per_hit = cost.as_ref().and_then(|cost| cost.ns_per_hit(index));
            ProbeReading { missed, ns_per_hit, ..stream.last.into() }
        };
        let probes = self.streams.iter_mut().enumerate().map(read).collect();
        let guard = self.cost.as_ref().map(CostMeter::stage).unwrap_or_default();
        SourceReadings { probes, guard, ..SourceReadings::default() }
    }

    fn detach(&mut self) {
        Self::detach(self);
    }

    fn stop(&mut self) {
        Self::detach(self);
    }
}

impl Drop for EventsEngine {
    fn drop(&mut self) {
        self.detach();
        drop_aside((std::mem::take(&mut self.streams), std::mem::take(&mut self.follow)));
    }
}
