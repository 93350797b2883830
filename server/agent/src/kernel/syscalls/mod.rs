//! A capture of system calls: one pair of programs at `raw_syscalls`, and one that forgets threads that have ended.
//!
//! Attached in this order: what reports processes, what follows children, what forgets threads, the exits, the entries:
//! so no call is kept whose end nobody would see.

use std::{
    collections::BTreeSet,
    ffi::CStr,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd, RawFd},
    sync::{Arc, Mutex},
    time::Instant,
};

use bathyscope_bpf::{
    ir::Program,
    probe::TargetFilter,
    syscalls::{
        COUNTERS, COUNTERS_WORDS, CompatPlace, EndPlaces, KernelPlaces, RING, SyscallProbe, TARGET_RUNS,
        TARGET_WILL_EXECUTE, programs,
    },
};
use bathyscope_capture::TracepointName;
use bathyscope_catalog::{
    constants::Arch,
    parse_event_format,
    syscalls::{opening, select},
};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, GuardStage, ProbeReading, RingContent, RingInfo, RingKind, ScriptEnabled,
    SourceReadings, StartedSource, StreamLayout, WireSyscalls,
};

use super::{
    KernelBackend,
    events::{Following, TracepointAttachment, attach, hold, open_attachment, take},
    host::KernelHost,
    retire::{HoldsEvents, close_links, drop_aside},
    stats::{Asked, CostMeter, Guarded},
    target::ResolvedTarget,
};
use crate::{
    clock::elapsed_ns,
    engine::{Engine, EngineError, ProcessReports},
    error::{failed, refused},
    guard::SharedBudget,
    os::{
        bpf,
        loader::{Counters, Loaded, Loader, compile},
        sideband::Sideband,
        tracefs::Tracefs,
    },
};

/// A program and what it is attached to.
#[derive(Debug)]
enum SyscallAttachment {
    Perf(TracepointAttachment),
    Raw(&'static CStr, OwnedFd),
}

impl SyscallAttachment {
    fn program(&self) -> BorrowedFd<'_> {
        match self {
            Self::Perf(attachment) => attachment.program(),
            Self::Raw(_, program) => program.as_fd(),
        }
    }

    fn attach(&self) -> Result<OwnedFd, AgentError> {
        match self {
            Self::Perf(attachment) => attach(attachment),
            Self::Raw(name, program) => bpf::open_raw_tracepoint(Some(name), program.as_fd())
                .map_err(|error| refused(format!("attaching to {}", name.to_string_lossy()), &error, "")),
        }
    }
}

impl HoldsEvents for SyscallAttachment {
    fn add_events(&self, to: &mut Vec<RawFd>) {
        if let Self::Perf(attachment) = self {
            attachment.add_events(to);
        }
    }
}

/// A capture of system calls.
#[derive(Debug)]
pub(crate) struct SyscallEngine {
    started: StartedSource,
    ring: OwnedFd,
    counters: Arc<Counters<COUNTERS_WORDS>>,
    last: [u64; COUNTERS_WORDS],
    following: Option<Following>,
    /// What forgets, the exits, the entries: in the order of attaching.
    attachments: Vec<SyscallAttachment>,
    signal: Option<OwnedFd>,
    /// To be run once everything is detached.
    inside: Option<OwnedFd>,
    links: Arc<Mutex<Vec<OwnedFd>>>,
    sideband: Sideband,
    budget: SharedBudget,
    cost: Option<CostMeter>,
    /// Keeps the maps that nothing else holds.
    _loaded: Loaded,
}

/// The calls that the words mean.
///
/// # Errors
/// If a word means none.
pub(crate) fn probe_of(
    wanted: &WireSyscalls,
    target: TargetFilter,
    ring_bytes: u32,
) -> Result<SyscallProbe, AgentError> {
    let WireSyscalls { calls: wanted, ancestors, opening: with_opening } = wanted;
    let words = if wanted.calls.is_empty() { "all".to_owned() } else { wanted.calls.join(",") };
    let invalid = |why: String, remedy: &str| failed(AgentErrorKind::Invalid, "choosing system calls", why, remedy);
    let calls = select(Arch::HOST, &words)
        .map_err(|error| invalid(error.to_string(), "Name calls, or sets such as %file, %network or %process."))?;
    // The agent's own calls, and those of who started it, would make more calls when the system is recorded.
    let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get().unsigned_abs());
    Ok(SyscallProbe {
        arch: Arch::HOST,
        calls,
        besides: if *with_opening { opening(Arch::HOST) } else { BTreeSet::new() },
        target,
        excluded: std::iter::once(std::process::id()).chain(parent.filter(|pid| *pid > 1)).collect(),
        outcome: wanted.outcome,
        min_duration_ns: wanted.min_duration_ns,
        path: wanted.path.as_ref().map(|path| path.clone().into_bytes()),
        string_bytes: wanted.string_bytes,
        ring_bytes,
        signals: wanted.signals,
        ends: None,
        compat: None,
        places: KernelPlaces::default(),
        raw: false,
        inodes: wanted.fd_paths,
        cpu_time: wanted.cpu_time,
        addresses: wanted.addresses,
        stacks: wanted.stacks,
        data: wanted.data.clone(),
        below: wanted.below,
        ancestors: *ancestors,
    })
}

fn filter_of(target: &ResolvedTarget) -> TargetFilter {
    // A command is in the map even without its children, because the map tells when it begins.
    if target.is_command() { TargetFilter::Targets } else { target.filter() }
}

/// Where the kernel tells calls of 32-bit programs. Without its types it does not; that is said once here, and with each
/// row.
fn compat_place(host: &KernelHost) -> Option<CompatPlace> {
    if Arch::HOST != Arch::X86_64 {
        return None;
    }
    let place = CompatPlace::find(host.types());
    if place.is_none() {
        tracing::warn!(
            "this kernel does not tell its types (BTF), so calls of 32-bit programs cannot be told from others: they are \
             shown as the 64-bit calls with their numbers, and no row says whose call it is"
        );
    }
    place
}

/// What is asked of the kernel's structures cannot be told by a kernel that does not tell its types.
fn require_types(probe: &SyscallProbe) -> Result<(), AgentError> {
    let wants = [
        (
            "choosing calls by what processes descend from",
            probe.below.is_some() || probe.ancestors,
            probe.places.family.is_some(),
        ),
        ("recording how long calls ran on a CPU", probe.cpu_time, probe.places.time.is_some()),
        ("recording where programs called from", probe.addresses, probe.places.family.is_some()),
        ("recording stacks of calls", probe.stacks, probe.places.family.is_some()),
    ];
    let missing = wants.into_iter().find(|(_, wanted, told)| *wanted && !told);
    missing.map_or(Ok(()), |(doing, _, _)| {
        let why = "this kernel does not tell its types";
        Err(failed(AgentErrorKind::Unsupported, doing, why, "Use a kernel with CONFIG_DEBUG_INFO_BTF."))
    })
}

/// A program with the tracepoint it belongs to.
type Placed = (TracepointName, u32, Program);

fn place(tracefs: &Tracefs, tracepoint: &str, program: Program) -> Result<Placed, AgentError> {
    let internal = |why: String| failed(AgentErrorKind::Internal, "recording system calls", why, "");
    let name = tracepoint.parse::<TracepointName>().map_err(|error| internal(error.to_string()))?;
    let format = parse_event_format(&tracefs.read_format(&name)?).map_err(|error| internal(error.to_string()))?;
    Ok((name, format.id, program))
}

/// Compiles and loads the programs of a capture of system calls; nothing is attached yet.
///
/// # Errors
/// If anything of it cannot be made; then all of it is undone.
pub(crate) fn start(
    kernel: &KernelBackend,
    wanted: &WireSyscalls,
    target: &ResolvedTarget,
    ring_bytes: u32,
    reports: ProcessReports,
) -> Result<SyscallEngine, AgentError> {
    let KernelBackend { loader, host, .. } = kernel;
    SyscallEngine::make(loader, host, wanted, target, ring_bytes, reports)
}

impl SyscallEngine {
    /// Compiles, loads, and opens everything; attaches nothing.
    pub(crate) fn make(
        loader: &Loader,
        host: &KernelHost,
        wanted: &WireSyscalls,
        target: &ResolvedTarget,
        ring_bytes: u32,
        reports: ProcessReports,
    ) -> Result<Self, AgentError> {
        let doing = "loading the programs for system calls";
        let clock = Instant::now();
        let filter = filter_of(target);
        let mut probe = probe_of(wanted, filter, ring_bytes)?;
        // A kernel that does not tell its types does not tell how processes ended.
        probe.ends = if wanted.calls.signals { EndPlaces::find(host.types()) } else { None };
        probe.compat = compat_place(host);
        probe.places = KernelPlaces::find(host.types());
        probe.raw = probe.places.family.is_some();
        require_types(&probe)?;
        let made = programs(&probe)
            .map_err(|error| failed(AgentErrorKind::Invalid, "recording system calls", error.to_string(), ""))?;
        let tracefs = Tracefs::find()?;
        let mut placed = vec![place(&tracefs, "sched:sched_process_exit", made.forget.clone())?];
        let raw: Vec<(&'static CStr, Program)> = if probe.raw {
            vec![(c"sys_exit", made.exit.clone()), (c"sys_enter", made.enter.clone())]
        } else {
            placed.push(place(&tracefs, "raw_syscalls:sys_exit", made.exit.clone())?);
            placed.push(place(&tracefs, "raw_syscalls:sys_enter", made.enter.clone())?);
            Vec::new()
        };
        let follow = Following::programs_for(target)?;
        let placed_programs = placed.iter().chain(&follow).map(|(_, _, program)| program);
        let others = made.signal.iter().chain([&made.inside]).chain(raw.iter().map(|(_, program)| program));
        let all: Vec<Program> = placed_programs.chain(others).cloned().collect();
        let object = compile(&all, "compiling the capture's programs")?;
        let compile_ns = elapsed_ns(clock);

        let clock = Instant::now();
        let mut loaded = loader.load(&object, doing)?;
        let state = if target.is_command() { TARGET_WILL_EXECUTE } else { TARGET_RUNS };
        let mapped = if filter == TargetFilter::Targets { target.pids() } else { Vec::new() };
        for pid in mapped {
            loaded.add_target_in_state(pid, state, "setting the capture's target")?;
        }
        let mut attachments = Vec::new();
        for (name, id, program) in &placed {
            let fd = loaded.load_program(&program.name, &format!("loading the program for {name}"))?;
            attachments.push(SyscallAttachment::Perf(open_attachment(name, *id, fd)?));
        }
        for (name, program) in raw {
            let doing = format!("loading the program for {}", name.to_string_lossy());
            attachments.push(SyscallAttachment::Raw(name, loaded.load_program(&program.name, &doing)?));
        }
        let signal = match &made.signal {
            Some(program) => Some(loaded.load_program(&program.name, "loading the program for signals")?),
            None => None,
        };
        let inside = loaded.load_program(&made.inside.name, "loading the program for calls that do not return")?;
        let following = Following::open(&mut loaded, &follow)?;
        let (ring, counters) = (loaded.ring(RING, doing)?, Arc::new(loaded.counters(COUNTERS, doing)?));
        let load_ns = elapsed_ns(clock);

        let clock = Instant::now();
        let sideband = Sideband::open(reports)?;
        let content = RingContent::Stream { stream: 0 };
        let info = RingInfo { kind: RingKind::Bpf, content, data_bytes: ring_bytes, cpu: None };
        let started = StartedSource {
            streams: vec![StreamLayout::Syscalls { tells_abi: probe.compat.is_some() }],
            rings: std::iter::once(info).chain(sideband.infos().iter().cloned()).collect(),
            compile_ns,
            load_ns,
            attach_ns: elapsed_ns(clock),
            ..StartedSource::default()
        };
        Ok(Self {
            started,
            ring,
            counters,
            last: [0; COUNTERS_WORDS],
            following,
            attachments,
            signal,
            inside: Some(inside),
            links: Arc::default(),
            sideband,
            budget: SharedBudget::default(),
            cost: None,
            _loaded: loaded,
        })
    }

    /// Records the calls that have not returned; once, and not if the guard has detached before: then it is not known
    /// which of them have.
    fn record_inside(&mut self) {
        let watching = self.cost.as_ref().map(CostMeter::stage).unwrap_or_default() == GuardStage::Watching;
        if let Some(program) = self.inside.take().filter(|_| watching)
            && let Err(error) = bpf::programs::run(program.as_fd())
        {
            tracing::warn!(%error, "calls that have not returned cannot be recorded");
        }
    }

    /// The entries first, so that no call is kept any more.
    fn detach(&mut self) {
        if let Some(cost) = &mut self.cost {
            cost.end();
        }
        detach_in_order(&self.links);
        if let Some(following) = &mut self.following {
            following.disable();
        }
        self.sideband.disable();
    }
}

/// The entries first, which were attached last.
fn detach_in_order(links: &Mutex<Vec<OwnedFd>>) {
    let mut links = take(links);
    links.reverse();
    close_links(links);
}

impl Engine for SyscallEngine {
    fn started(&self) -> &StartedSource {
        &self.started
    }

    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        let Some(index) = index.checked_sub(1) else { return Some(self.ring.as_fd()) };
        self.sideband.descriptor(index)
    }

    fn set_budget(&mut self, budget: SharedBudget) {
        self.budget = budget;
    }

    fn enable(&mut self) -> Result<Option<ScriptEnabled>, EngineError> {
        self.sideband.enable()?;
        if let Some(following) = &mut self.following {
            following.enable()?;
        }
        for attachment in &self.attachments {
            hold(&self.links, attachment.attach()?);
        }
        if let Some(signal) = &self.signal {
            let doing = "attaching the program for signals";
            let link = bpf::open_raw_tracepoint(Some(c"signal_deliver"), signal.as_fd());
            hold(&self.links, link.map_err(|error| refused(doing, &error, ""))?);
        }
        let clone = |attachment: &SyscallAttachment| attachment.program().try_clone_to_owned().ok();
        // The exits and the entries; a thread ends far less often.
        if let Some(programs) = self.attachments.iter().skip(1).map(clone).collect::<Option<Vec<_>>>() {
            let (links, counters) = (Arc::clone(&self.links), Arc::clone(&self.counters));
            // Half of the calls would be worth less than none.
            let guarded = Guarded::whole(self.budget.clone(), move || detach_in_order(&links))
                .writing_into(self.ring.as_fd())
                .telling_apart(move || counters.sums().ok().map(asked));
            self.cost = Some(CostMeter::start(programs, guarded));
        }
        Ok(None)
    }

    fn readings(&mut self) -> SourceReadings {
        // A map that cannot be read keeps its last counts, which is better than none.
        self.last = self.counters.sums().unwrap_or(self.last);
        let [hits, filtered, ring_full, no_room, others, _spent_ns] = self.last;
        let (hits, filtered) = (hits + others, filtered + others);
        let missed =
            |attachment: &SyscallAttachment| bpf::program_stats(attachment.program()).unwrap_or_default().missed;
        let missed = self.attachments.iter().skip(1).map(missed).sum();
        let ns_per_hit = self.cost.as_ref().and_then(cost_of_a_call);
        let probe = ProbeReading {
            hits,
            filtered,
            ring_full,
            missed,
            ns_per_hit,
            map_full: no_room,
            ..ProbeReading::default()
        };
        let guard = self.cost.as_ref().map(CostMeter::stage).unwrap_or_default();
        SourceReadings { probes: vec![probe], guard, ..SourceReadings::default() }
    }

    fn detach(&mut self) {
        Self::detach(self);
    }

    fn stop(&mut self) {
        Self::detach(self);
        self.record_inside();
    }
}

/// What the programs did for the calls that they recorded: each took an entry and an exit.
fn asked([hits, filtered, _, _, _, spent_ns]: [u64; COUNTERS_WORDS]) -> Asked {
    Asked { runs: 2 * hits.saturating_sub(filtered), spent_ns }
}

/// What a call costs: its entry and its exit.
fn cost_of_a_call(cost: &CostMeter) -> Option<f64> {
    Some(cost.ns_per_hit(0)? + cost.ns_per_hit(1)?)
}

impl Drop for SyscallEngine {
    fn drop(&mut self) {
        self.detach();
        drop_aside(std::mem::take(&mut self.attachments));
    }
}
