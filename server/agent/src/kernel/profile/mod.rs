//! A capture of sampled stacks.
//!
//! Each CPU has two events that share one ring: one that samples, and one that reports processes. Keeping them apart
//! lets the kernel count the samples that did not fit into the ring without counting other records.

mod records;

use std::{
    io,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::Arc,
    time::{Duration, Instant},
};

use bathyscope_bpf::probe::{SampleFilter, sample_filter_program};
use bathyscope_capture::{CallGraph, ProfileSpec, visible};
use bathyscope_catalog::perf_events::{EventSource, PerfEvent};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, ProbeReading, RingContent, RingInfo, ScriptEnabled, SourceReadings, StartedSource,
    USER_REGISTERS,
};
use perf_event_open_sys::bindings as sys;

use super::{
    KernelBackend,
    count::threads_of_target,
    delay::Delayed,
    estimates::{SampleCount, SamplePrice, of_samples},
    events::Following,
    stats::{CostMeter, Estimate, Guarded, SpentTime},
    target::ResolvedTarget,
};
use crate::{
    clock::elapsed_ns,
    engine::{Engine, EngineError, ProcessReports},
    error::{failed, refused},
    guard::SharedBudget,
    memory::MIN_RING_BYTES,
    needs::Need,
    os::{
        bpf, cpus,
        loader::{Counters, Counts, Loaded, Loader, compile},
        perf::{self, Buffer, Event, Scope},
        perf_event::{self, read_event},
        sideband,
    },
};

const SAMPLE_TYPE: u64 = sys::PERF_SAMPLE_IP as u64
    | sys::PERF_SAMPLE_TID as u64
    | sys::PERF_SAMPLE_TIME as u64
    | sys::PERF_SAMPLE_CPU as u64
    | sys::PERF_SAMPLE_PERIOD as u64
    | sys::PERF_SAMPLE_CALLCHAIN as u64;
const READ_FORMAT: u64 = sys::PERF_FORMAT_LOST as u64;

/// What to sample.
#[derive(Clone, Debug)]
pub(crate) struct Wish {
    profile: ProfileSpec,
    event: Option<PerfEvent>,
    /// Bytes of stack to copy with each sample.
    stack_bytes: u32,
    /// Bytes of all rings together.
    ring_bytes: u32,
}

impl Wish {
    /// What a request that was checked asks for.
    pub(crate) fn new(profile: &ProfileSpec, ring_bytes: u32) -> Result<Self, AgentError> {
        if profile.call_graph == CallGraph::Dwarf && !cfg!(target_arch = "x86_64") {
            let why = "stacks can be found by unwind tables on x86_64 only";
            let remedy = "Use frame pointers.";
            return Err(failed(AgentErrorKind::Unsupported, "choosing how stacks are found", why, remedy));
        }
        let stack_bytes = profile.copied_stack_bytes();
        let event = read_event(profile.event.as_deref())?;
        Ok(Self { profile: profile.clone(), event, stack_bytes, ring_bytes })
    }

    /// The same for each of its events by itself.
    fn parts(&self) -> Result<Vec<Self>, AgentError> {
        let mut parts = vec![self.clone()];
        for more in &self.profile.more {
            let event = Some(more.event.clone());
            let profile = ProfileSpec { event, period: more.period, ..self.profile.clone() };
            parts.push(Self::new(&profile, self.ring_bytes)?);
        }
        Ok(parts)
    }

    /// What its samples hold.
    fn sample_type(&self) -> u64 {
        let extra = match self.profile.call_graph {
            CallGraph::FramePointer | CallGraph::Lbr => 0,
            CallGraph::Dwarf => sys::PERF_SAMPLE_REGS_USER | sys::PERF_SAMPLE_STACK_USER,
        };
        // Of software events and tracepoints the kernel takes every hit for a sample where samples tell a period that is fixed.
        let period = if self.profile.period.is_some() { u64::from(sys::PERF_SAMPLE_PERIOD) } else { 0 };
        (SAMPLE_TYPE & !period) | u64::from(extra) | records::sample_type(&self.profile)
    }

    /// How its records look, for the console.
    fn formats(&self) -> sideband::RecordFormat {
        let branch_sample_type = records::branches(&self.profile);
        sideband::RecordFormat { sample_type: self.sample_type(), read_format: READ_FORMAT, branch_sample_type }
    }

    /// Whether samples of the idle CPU say nothing: those that a clock takes.
    fn skip_idle(&self) -> bool {
        self.event.as_ref().is_none_or(PerfEvent::is_clock)
    }

    /// Has the kernel leave samples out that do not satisfy the condition, if there is one.
    fn set_filter(&self, cpu: &CpuSampler) -> Result<(), AgentError> {
        let Some(filter) = &self.profile.filter else { return Ok(()) };
        let doing = format!("setting the filter `{}`", visible(filter.as_bytes()));
        if !self.is_tracepoint() {
            let remedy = "Sample a tracepoint, or leave the filter out.";
            return Err(failed(
                AgentErrorKind::Invalid,
                doing,
                "only events with fields have one: tracepoints",
                remedy,
            ));
        }
        let text = std::ffi::CString::new(filter.as_str())
            .map_err(|_nul| failed(AgentErrorKind::Invalid, &doing, "it has a NUL byte", ""))?;
        let alone = cpu.threads.is_empty().then_some(&cpu.sampler);
        let mut sampled = alone.into_iter().chain(cpu.threads.iter().map(|(_, event)| event));
        sampled.try_for_each(|event| event.set_filter(&text)).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) => {
                let why = "the kernel does not take it: it is no condition on the event's fields";
                let remedy = "`bathyscope list SYSTEM:EVENT` shows the fields; write one such as `bytes_req > 1000`.";
                failed(AgentErrorKind::Invalid, doing.clone(), why, remedy)
            }
            _ => refused(doing.clone(), &error, ""),
        })
    }

    /// How long after the rest the first sample is taken.
    fn delay(&self) -> Duration {
        Duration::from_millis(self.profile.delay_ms.unwrap_or(0).into())
    }

    fn rate(&self, source: SampleSource) -> Rate {
        match (self.profile.period, source) {
            (Some(period), _) => Rate::Every(period),
            (None, SampleSource::Clock) => Rate::OfClock(self.profile.frequency_hz),
            (None, SampleSource::Given(_)) if self.skip_idle() => Rate::OfClock(self.profile.frequency_hz),
            (None, SampleSource::Given(_) | SampleSource::Cycles) => Rate::Untold,
        }
    }

    /// Whether the event is a tracepoint. A program on one would decide for everybody who traces it.
    fn is_tracepoint(&self) -> bool {
        self.event.as_ref().is_some_and(|event| matches!(event.source, EventSource::Tracepoint(_)))
    }
}

/// What drives the samples.
#[derive(Clone, Copy)]
enum SampleSource {
    /// The CPU's cycle counter: needs hardware, also sees code that runs with interrupts off.
    Cycles,
    /// A timer on each CPU.
    Clock,
    /// The event that was asked for.
    Given(perf::Attributes),
}

impl SampleSource {
    fn attributes(self, wish: &Wish, ring_bytes: u32) -> perf::Attributes {
        let fixed = |type_, config| perf::attributes(type_, u64::from(config));
        let mut attributes = match self {
            Self::Cycles => fixed(sys::PERF_TYPE_HARDWARE, sys::PERF_COUNT_HW_CPU_CYCLES),
            Self::Clock => fixed(sys::PERF_TYPE_SOFTWARE, sys::PERF_COUNT_SW_CPU_CLOCK),
            Self::Given(attributes) => attributes,
        };
        match wish.profile.period {
            Some(period) => attributes.__bindgen_anon_1.sample_period = period,
            None => {
                attributes.set_freq(1);
                attributes.__bindgen_anon_1.sample_freq = u64::from(wish.profile.frequency_hz);
            }
        }
        attributes.sample_type = wish.sample_type();
        attributes.read_format = READ_FORMAT;
        attributes.set_sample_id_all(1);
        attributes.set_exclude_callchain_kernel(u64::from(!wish.profile.kernel_stacks));
        let by_kernel = wish.profile.call_graph == CallGraph::FramePointer && wish.profile.user_stacks;
        attributes.set_exclude_callchain_user(u64::from(!by_kernel));
        if wish.profile.call_graph == CallGraph::Dwarf {
            attributes.sample_regs_user = USER_REGISTERS;
            attributes.sample_stack_user = wish.stack_bytes;
        }
        attributes.branch_sample_type = records::branches(&wish.profile);
        if matches!(self, Self::Cycles) {
            attributes.set_exclude_guest(1);
        }
        sideband::use_monotonic_clock(&mut attributes);
        sideband::wake_rarely(&mut attributes, ring_bytes);
        attributes
    }

    /// The event that was asked for; else cycles where a counter can be had on every CPU, else the clock.
    fn choose(wish: &Wish, cpus: &[u32]) -> Result<Self, AgentError> {
        if let Some(event) = &wish.event {
            return perf_event::attributes(event).map(Self::Given);
        }
        if !wish.profile.branches.is_empty() {
            // The clock could not tell of them.
            return Ok(Self::Cycles);
        }
        let works =
            |cpu: &u32| Event::open(&mut Self::Cycles.attributes(wish, MIN_RING_BYTES), Scope::Cpu(*cpu)).is_ok();
        Ok(if cpus.iter().all(works) { Self::Cycles } else { Self::Clock })
    }
}

/// One of the events on a CPU.
#[derive(Debug)]
struct CpuSampler {
    /// Which of the capture's events it is.
    part: usize,
    /// Holds the buffer. It samples everything on the CPU, or nothing where threads are sampled one by one.
    sampler: Event,
    /// Those that sample one thread each, where a program cannot choose, with the thread's id.
    threads: Vec<(u32, Event)>,
    /// Reports processes; with the first event alone.
    reporter: Option<Event>,
    _buffer: Buffer,
}

impl CpuSampler {
    fn samplers(&self) -> impl Iterator<Item = &Event> {
        std::iter::once(&self.sampler).chain(self.threads.iter().map(|(_, event)| event))
    }
}

/// A program that decides about each sample, and what it counts.
#[derive(Debug)]
struct Filter {
    program: OwnedFd,
    counters: Arc<Counters>,
    last: Counts,
    _loaded: Loaded,
}

/// A capture of sampled stacks.
#[derive(Debug)]
pub(crate) struct ProfileEngine {
    started: StartedSource,
    cpus: Vec<CpuSampler>,
    /// The kernel enables the events of threads itself.
    on_exec: bool,
    /// Of each event its own, where programs choose.
    filters: Vec<Filter>,
    following: Vec<Following>,
    /// What samples of each event take, about.
    prices: Vec<SamplePrice>,
    /// How often samples of each event are taken.
    rates: Vec<Rate>,
    /// How long after the rest sampling begins, and who waits for that.
    delay: Duration,
    delayed: Option<Delayed>,
    budget: SharedBudget,
    cost: Option<CostMeter>,
}

/// How many samples what an event has counted stands for.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Rate {
    /// One for so many.
    Every(u64),
    /// So many a second, of a clock, which counts nanoseconds.
    OfClock(u32),
    /// So many a second, of anything else: what was counted does not tell.
    Untold,
}

impl Rate {
    fn samples(self, count: u64) -> u64 {
        match self {
            Self::Every(period) => count / period.max(1),
            Self::OfClock(hertz) => {
                u64::try_from(u128::from(count) * u128::from(hertz) / 1_000_000_000).unwrap_or(u64::MAX)
            }
            Self::Untold => 0,
        }
    }
}

/// What a program that chooses has counted.
fn sample_count(counts: Counts) -> SampleCount {
    SampleCount { hits: counts.hits, rejected: counts.filtered }
}

/// Each CPU's share of the memory for rings, a power of two.
fn ring_bytes_each(all: u32, cpus: usize) -> u32 {
    let share = all / u32::try_from(cpus.max(1)).unwrap_or(u32::MAX);
    let floor = (share + 1).checked_next_power_of_two().map_or(share, |above| above / 2);
    floor.max(4 * MIN_RING_BYTES)
}

fn cannot_sample(error: &io::Error, wish: &Wish, source: SampleSource, cpu: u32) -> AgentError {
    let most = std::fs::read_to_string("/proc/sys/kernel/perf_event_max_sample_rate").unwrap_or_default();
    let (most, hertz) = (most.trim(), wish.profile.frequency_hz);
    let name = wish.event.as_ref().map_or_else(String::new, |event| format!(" {event}"));
    let doing = match wish.profile.period {
        None => format!("sampling{name} at {hertz} Hz"),
        Some(period) => format!("sampling{name} every {period}"),
    };
    let doing = doing + if wish.profile.branches.is_empty() { "" } else { " with its branches" };
    let too_often = wish.profile.period.is_none() && most.parse().is_ok_and(|most: u32| hertz > most);
    if error.raw_os_error() == Some(libc::EINVAL) && too_often {
        let remedy = format!("Ask for at most {most} Hz, or raise kernel.perf_event_max_sample_rate.");
        return refused(doing, error, remedy);
    }
    if wish.profile.call_graph == CallGraph::Lbr {
        let why = "the CPU keeps no record of branches for this event";
        let remedy = "Use frame pointers, or DWARF; virtual machines and software events have no such record.";
        return failed(AgentErrorKind::Unsupported, doing, why, remedy);
    }
    let attributes = source.attributes(wish, MIN_RING_BYTES);
    let told = records::refusal(attributes, &wish.profile, wish.event.as_ref(), (&doing, cpu, error));
    if let Some(refusal) = told {
        return refusal;
    }
    match &wish.event {
        Some(event) => perf_event::cannot_open(event, doing, error),
        None => refused(doing, error, Need::Events),
    }
}

impl Filter {
    fn load(
        loader: &Loader,
        target: &ResolvedTarget,
        skip_idle: bool,
    ) -> Result<(Self, Option<Following>), AgentError> {
        let doing = "loading the program that chooses samples";
        let filter = target.filter();
        let wish = SampleFilter { name: "sample", target: filter, skip_idle };
        let (program, counters) = sample_filter_program(&wish)
            .map_err(|error| failed(AgentErrorKind::Internal, doing, error.to_string(), ""))?;
        let name = program.name.clone();
        let follow = Following::programs_for(target)?;
        let programs: Vec<_> =
            std::iter::once(program).chain(follow.iter().map(|(_, _, program)| program.clone())).collect();
        let mut loaded = loader.load(&compile(&programs, doing)?, doing)?;
        for pid in target.mapped() {
            loaded.add_target(pid, "setting the capture's target")?;
        }
        let program = loaded.load_program(&name, doing)?;
        let following = Following::open(&mut loaded, &follow)?;
        let counters = Arc::new(loaded.counters(&counters, doing)?);
        Ok((Self { program, counters, last: Counts::default(), _loaded: loaded }, following))
    }
}

/// Opens what a CPU needs. Whose samples are wanted a program decides, or `threads`, which are sampled one by one.
fn open_cpu(
    source: SampleSource,
    wish: &Wish,
    ring_bytes: u32,
    (part, cpu): (usize, u32),
    (filter, threads): (Option<&Filter>, Option<&Threads>),
    (leader, reports): (Option<&CpuSampler>, ProcessReports),
) -> io::Result<CpuSampler> {
    let mut attributes = source.attributes(wish, ring_bytes);
    let sampler = match threads {
        None => {
            // Members go on and off with their leader: the kernel does not schedule one that is enabled behind it.
            attributes.set_disabled(u64::from(leader.is_none()));
            Event::open_in(&mut attributes, Scope::Cpu(cpu), leader.map(|leader| &leader.sampler))?
        }
        Some(_) => {
            // Nor does it report: kernels mark the maps of a second reporter by the first one's way of naming files.
            let mut nothing = sideband::attributes(SAMPLE_TYPE, false);
            nothing.set_mmap(0);
            nothing.set_mmap2(0);
            nothing.set_comm(0);
            nothing.set_comm_exec(0);
            nothing.set_task(0);
            nothing.read_format = READ_FORMAT;
            Event::open(&mut nothing, Scope::Cpu(cpu))?
        }
    };
    let buffer = Buffer::map(&sampler, ring_bytes)?;
    let of_threads = threads.map_or_else(|| Ok(Vec::new()), |threads| threads.open(&mut attributes, cpu, leader))?;
    of_threads.iter().try_for_each(|(_, thread)| thread.write_into(&sampler))?;
    let reporter = open_reporter(reports, cpu)?;
    reporter.iter().try_for_each(|reporter| reporter.write_into(&sampler))?;
    if let Some(filter) = filter {
        sampler.set_program(filter.program.as_fd())?;
    }
    Ok(CpuSampler { part, sampler, threads: of_threads, reporter, _buffer: buffer })
}

/// Opens what reports processes into the ring of samples, if it is to be there.
fn open_reporter(reports: ProcessReports, cpu: u32) -> io::Result<Option<Event>> {
    let ProcessReports::Here { data } = reports else { return Ok(None) };
    // What stands at the end of records that are no samples does not depend on what samples hold beside the usual.
    let mut attributes = sideband::attributes(SAMPLE_TYPE, true);
    attributes.read_format = READ_FORMAT;
    attributes.set_mmap_data(u64::from(data));
    Event::open(&mut attributes, Scope::Cpu(cpu)).map(Some)
}

/// Who is sampled too when a sampled thread makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Others {
    Nobody,
    /// Threads of the same process.
    Threads,
    All,
}

/// Threads that are sampled one by one.
struct Threads {
    tids: Vec<u32>,
    others: Others,
    /// The kernel enables them itself when the command is executed.
    on_exec: bool,
}

impl Threads {
    fn of(target: &ResolvedTarget, delay: Duration) -> Result<Option<Self>, AgentError> {
        target.must_be_known_by_thread("samples of tracepoints")?;
        if let ResolvedTarget::Cgroup { .. } = target.watched() {
            let why = "samples of tracepoints are made by thread";
            let remedy = "Choose a process, a command or the whole system, or count the event in the group.";
            return Err(failed(AgentErrorKind::Unsupported, "choosing the target", why, remedy));
        }
        if target.pids().is_empty() {
            return Ok(None);
        }
        let tids = threads_of_target(target)?.into_iter().map(|(_, tid)| tid).collect();
        // What is to begin later does not begin with the command.
        let on_exec = target.is_command() && delay.is_zero();
        // A chosen thread's own threads are not it.
        let others = if !target.threads().is_empty() && !target.follows_children() {
            Others::Nobody
        } else if target.follows_children() {
            Others::All
        } else {
            Others::Threads
        };
        Ok(Some(Self { tids, others, on_exec }))
    }

    /// Opens the event in each thread, in the group of the leader's event in the same thread.
    fn open(
        &self,
        attributes: &mut perf::Attributes,
        cpu: u32,
        leader: Option<&CpuSampler>,
    ) -> io::Result<Vec<(u32, Event)>> {
        attributes.set_inherit(u64::from(self.others != Others::Nobody));
        attributes.set_inherit_thread(u64::from(self.others == Others::Threads));
        attributes.set_enable_on_exec(u64::from(self.on_exec));
        let mut events = Vec::new();
        for tid in &self.tids {
            let led = match leader.map(|leader| leader.threads.iter().find(|(led, _)| led == tid)) {
                None => None,
                Some(Some((_, event))) => Some(event),
                // It ended before the leader was opened in it.
                Some(None) => continue,
            };
            match Event::open_in(attributes, Scope::ThreadOnCpu(*tid, cpu), led) {
                Ok(event) => events.push((*tid, event)),
                // It ended in between.
                Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(events)
    }
}

/// Opens the events of a profile; nothing is sampled yet.
///
/// # Errors
/// If one of them cannot be opened.
pub(crate) fn start(
    kernel: &KernelBackend,
    profile: &ProfileSpec,
    target: &ResolvedTarget,
    ring_bytes: u32,
    reports: ProcessReports,
) -> Result<ProfileEngine, AgentError> {
    ProfileEngine::make(&kernel.loader, &Wish::new(profile, ring_bytes)?, target, reports)
}

impl ProfileEngine {
    /// Opens everything, disabled.
    pub(crate) fn make(
        loader: &Loader,
        wish: &Wish,
        target: &ResolvedTarget,
        reports: ProcessReports,
    ) -> Result<Self, AgentError> {
        let clock = Instant::now();
        let parts = wish.parts()?;
        let by_thread = parts.iter().any(Wish::is_tracepoint) || !target.threads().is_empty();
        let threads = if by_thread { Threads::of(target, wish.delay())? } else { None };
        let (mut filters, mut following) = (Vec::new(), Vec::new());
        for part in parts.iter().filter(|_| !by_thread) {
            let (filter, follows) = Filter::load(loader, target, part.skip_idle())?;
            filters.push(filter);
            following.extend(follows);
        }
        let load_ns = elapsed_ns(clock);
        let clock = Instant::now();
        let online = cpus::chosen(&wish.profile.cpus)?;
        let sources: Vec<SampleSource> =
            parts.iter().map(|part| SampleSource::choose(part, &online)).collect::<Result<_, AgentError>>()?;
        let ring_bytes = ring_bytes_each(wish.ring_bytes, online.len().saturating_mul(parts.len()));
        let (mut cpus, mut rings) = (Vec::<CpuSampler>::new(), Vec::<RingInfo>::new());
        for cpu in online {
            let first = cpus.len();
            for (index, (part, source)) in parts.iter().zip(&sources).enumerate() {
                let leader = if wish.profile.group { cpus.get(first) } else { None };
                let choosers = (filters.get(index), threads.as_ref());
                // The first event's ring has the reports for all.
                let reports = if index == 0 { reports } else { ProcessReports::Elsewhere };
                match open_cpu(*source, part, ring_bytes, (index, cpu), choosers, (leader, reports)) {
                    Ok(open) => {
                        part.set_filter(&open)?;
                        cpus.push(open);
                    }
                    // It went offline in between.
                    Err(error) if error.raw_os_error() == Some(libc::ENODEV) && wish.event.is_none() => continue,
                    Err(error) => return Err(cannot_sample(&error, part, *source, cpu)),
                }
                let content = RingContent::Stream { stream: 0 };
                rings.push(sideband::ring_info(content, part.formats(), ring_bytes, cpu));
            }
        }
        let started = StartedSource {
            streams: records::streams(&wish.profile),
            rings,
            load_ns,
            attach_ns: elapsed_ns(clock),
            ..StartedSource::default()
        };
        let on_exec = threads.is_some_and(|threads| threads.on_exec);
        let price = |part: &Wish| SamplePrice::of(&part.profile, part.event.as_ref(), part.stack_bytes);
        Ok(Self {
            started,
            cpus,
            on_exec,
            filters,
            following,
            prices: parts.iter().map(price).collect(),
            rates: parts.iter().zip(&sources).map(|(part, source)| part.rate(*source)).collect(),
            delay: wish.delay(),
            delayed: None,
            budget: SharedBudget::default(),
            cost: None,
        })
    }

    /// How many samples have been taken of each event, whoever was running: by the programs that choose, or by what was counted
    /// where a sample is taken each so many events. None where neither tells.
    fn samples(&self) -> Option<Box<dyn Fn() -> Vec<SampleCount> + Send>> {
        if !self.filters.is_empty() {
            let counters: Vec<_> = self.filters.iter().map(|filter| Arc::clone(&filter.counters)).collect();
            let count =
                |counters: &Arc<Counters>| counters.read().map_or_else(|_| SampleCount::default(), sample_count);
            return Some(Box::new(move || counters.iter().map(count).collect()));
        }
        if self.rates.iter().all(|rate| *rate == Rate::Untold) {
            return None;
        }
        let mut events = Vec::new();
        for cpu in &self.cpus {
            let rate = self.rates.get(cpu.part).copied().unwrap_or(Rate::Untold);
            for sampler in cpu.samplers() {
                events.push((cpu.part, sampler.try_clone().ok()?, rate));
            }
        }
        let parts = self.rates.len();
        Some(Box::new(move || {
            let mut counts = vec![SampleCount::default(); parts];
            for (part, event, rate) in &events {
                let taken = event.read().map_or(0, |(count, _lost)| rate.samples(count));
                if let Some(count) = counts.get_mut(*part) {
                    count.hits = count.hits.saturating_add(taken);
                }
            }
            counts
        }))
    }

    /// Further descriptors of all that samples.
    fn events(&self) -> io::Result<Vec<Event>> {
        self.cpus.iter().flat_map(CpuSampler::samplers).map(Event::try_clone).collect()
    }

    /// Watches over what the samples cost. Fewer of them would be another profile, so they are taken or not. A frequency
    /// takes the same share of every CPU, and it is this share that the budget is for: on a large machine a profile as usual
    /// would be dear otherwise.
    fn guard(&mut self) {
        let (Some(samples), Ok(events)) = (self.samples(), self.events()) else { return };
        let by_frequency = self.rates.iter().all(|rate| !matches!(rate, Rate::Every(_)));
        let sharing = if by_frequency { self.cpus.len().max(1) as f64 } else { 1.0 };
        // One whose CPU went offline is disabled already.
        let guarded =
            Guarded::whole(self.budget.clone(), move || events.iter().for_each(|event| drop(event.disable())));
        let (prices, ns_per_hit) = (self.prices.clone(), self.ns_per_hit(&[]));
        let spent = Box::new(move || {
            let spent = of_samples(&prices, &samples());
            SpentTime { asked_ns: (spent.asked_ns as f64 / sharing) as u64, ..spent }
        });
        self.cost = Some(CostMeter::estimate(Estimate { spent, ns_per_hit }, guarded));
    }

    /// What a hit has taken in the mean, of all that there were; the price of one that is written if there was none.
    fn ns_per_hit(&self, samples: &[SampleCount]) -> f64 {
        let hits: u64 = samples.iter().map(|count| count.hits).sum();
        if hits == 0 {
            return self.prices.first().map_or(0.0, |price| price.written_ns);
        }
        let SpentTime { asked_ns, passing_ns } = of_samples(&self.prices, samples);
        (asked_ns as f64 + passing_ns as f64) / hits as f64
    }

    fn detach(&mut self) {
        if let Some(delayed) = &mut self.delayed {
            delayed.end();
        }
        if let Some(cost) = &mut self.cost {
            cost.end();
        }
        for cpu in &self.cpus {
            // One whose CPU went offline is disabled already.
            cpu.samplers().for_each(|sampler| drop(sampler.disable()));
            cpu.reporter.iter().for_each(|reporter| drop(reporter.disable()));
        }
        self.following.iter_mut().for_each(Following::disable);
    }

    fn lost(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.sampler.read().map_or(0, |(_count, lost)| lost)).sum()
    }
}

impl Engine for ProfileEngine {
    fn started(&self) -> &StartedSource {
        &self.started
    }

    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        self.cpus.get(index).map(|cpu| cpu.sampler.as_fd())
    }

    fn set_budget(&mut self, budget: SharedBudget) {
        self.budget = budget;
    }

    fn enable(&mut self) -> Result<Option<ScriptEnabled>, EngineError> {
        let enable = |event: &Event| event.enable().map_err(|error| refused("enabling a perf event", &error, ""));
        self.cpus.iter().filter_map(|cpu| cpu.reporter.as_ref()).try_for_each(enable)?;
        for following in &mut self.following {
            following.enable()?;
        }
        if !self.delay.is_zero() {
            let doing = format!("waiting {} ms before the first sample", self.delay.as_millis());
            let delayed = self.events().and_then(|events| Delayed::begin(events, self.delay));
            self.delayed = Some(delayed.map_err(|error| refused(doing, &error, ""))?);
        } else {
            self.cpus.iter().try_for_each(|cpu| enable(&cpu.sampler))?;
            if !self.on_exec {
                self.cpus.iter().flat_map(|cpu| &cpu.threads).try_for_each(|(_, event)| enable(event))?;
            }
        }
        self.guard();
        Ok(None)
    }

    fn readings(&mut self) -> SourceReadings {
        let lost = self.lost();
        // Where no program chooses nobody counts: what was lost is told in the rings.
        let mut probe = ProbeReading::default();
        let mut samples = Vec::new();
        for filter in &mut self.filters {
            filter.last = filter.counters.read().unwrap_or(filter.last);
            let Counts { hits, filtered, .. } = filter.last;
            samples.push(sample_count(filter.last));
            probe.hits += hits;
            probe.filtered += filtered;
            probe.missed += bpf::program_stats(filter.program.as_fd()).unwrap_or_default().missed;
        }
        if !self.filters.is_empty() {
            // The kernel's statistics cover the filter program alone, not walking and writing the stack.
            (probe.ring_full, probe.ns_per_hit) = (lost, Some(self.ns_per_hit(&samples)));
        }
        let guard = self.cost.as_ref().map(CostMeter::stage).unwrap_or_default();
        // Branches come with samples: nothing counts them by themselves.
        SourceReadings { probes: vec![probe], guard, ..SourceReadings::default() }
    }

    fn detach(&mut self) {
        Self::detach(self);
    }

    fn stop(&mut self) {
        Self::detach(self);
    }
}

impl Drop for ProfileEngine {
    fn drop(&mut self) {
        self.detach();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_share_their_memory() {
        let cases = [(1 << 20, 2, 1 << 19), (1 << 20, 3, 1 << 18), (64 << 20, 1, 64 << 20), (1 << 16, 64, 1 << 18)];
        for (all, cpus, expected) in cases {
            assert_eq!(ring_bytes_each(all, cpus), expected, "{all} for {cpus}");
        }
    }
}
