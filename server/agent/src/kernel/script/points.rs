//! From the plan's attach points to what is attached: programs loaded as this kernel wants them, perf events opened.
//!
//! Everything slow is done here, when the script is started; enabling it then only makes the links. A perf event of a
//! probe arms the probe at once, but runs nothing before its link is made.

use std::{
    cell::OnceCell,
    collections::{BTreeMap, HashMap},
    ffi::CString,
    io,
    os::fd::{AsFd as _, AsRawFd as _, OwnedFd, RawFd},
    sync::Arc,
    time::Instant,
};

use bathyscope_bpf::Code;
use bathyscope_catalog::types::{TypeId, TypeKind, Types};
use bathyscope_plan::{AttachPoint, CallSide, Features, Plan, ProgramType, UserFile};
use bathyscope_protocol::{AgentError, AgentErrorKind, ProbeFailure};
use perf_event_open_sys::bindings::PERF_TYPE_TRACEPOINT;

use super::{
    failures, inside,
    object::{LoadAs, Object},
    sampling,
};
use crate::{
    clock::elapsed_ns,
    engine::EngineError,
    error::{failed, refused, words},
    kernel::{
        events::made_by_text,
        host::{KernelHost, module_types, perf_kind},
        retire::HoldsEvents,
        trace::probe_events,
        user_file::{open_same, path_of},
    },
    needs::Need,
    os::{
        bpf::links::UprobeSite,
        busy::busy,
        perf::{self, Event, Scope},
    },
};

const RAW_TRACEPOINT: u32 = 17;
const TRACEPOINT: u32 = 5;
const KPROBE: u32 = 2;
const PERF_EVENT: u32 = 7;
const TRACING: u32 = 26;
const TRACE_RAW_TRACEPOINT: u32 = 23;
const TRACE_FENTRY: u32 = 24;
const TRACE_FEXIT: u32 = 25;
const TRACE_ITERATOR: u32 = 28;
const KPROBE_MULTI: u32 = 42;
const UPROBE_MULTI: u32 = 48;
/// The first kernel whose `uprobe_multi` for one process counts hits of all its threads.
const UPROBE_MULTI_PROCESS: u32 = 6010;

/// How a program is put where it belongs.
#[derive(Debug)]
pub(super) enum Way {
    /// On an event that is armed already.
    Event {
        /// The event.
        event: Event,
        /// Whether it is of a function of the kernel.
        kernel_function: bool,
    },
    /// On events that are enabled afterwards.
    Sampling(Vec<Event>),
    /// On what it was loaded for.
    Typed {
        /// `enum bpf_attach_type`.
        attach: u32,
    },
    /// On functions of the kernel.
    KprobeMulti {
        /// Their names, in the order of the probes.
        functions: Vec<CString>,
        /// At their return.
        exit: bool,
    },
    /// On places of a file.
    UprobeMulti {
        /// The file.
        file: Arc<OwnedFd>,
        /// The places, in the order of the probes.
        places: Vec<UprobeSite>,
        /// At the return.
        exit: bool,
        /// Only in this process.
        pid: Option<u32>,
    },
}

impl Way {
    /// Whether the kernel counts for its links what it does not deliver.
    pub(super) fn counts_missed(&self) -> bool {
        matches!(self, Self::KprobeMulti { .. } | Self::Event { kernel_function: true, .. })
    }

    /// Whether some of an attachment's probes can have a link of their own.
    pub(super) fn is_divisible(&self) -> bool {
        matches!(self, Self::KprobeMulti { .. } | Self::UprobeMulti { .. })
    }

    fn event(event: Event) -> Self {
        Self::Event { event, kernel_function: false }
    }
}

/// A program that is ready to be attached.
#[derive(Debug)]
pub(super) struct ScriptAttachment {
    /// Indexes in the plan's probes; several where one link is for all of them.
    pub(super) probes: Vec<u32>,
    /// The program.
    pub(super) program: Arc<OwnedFd>,
    /// How.
    pub(super) way: Way,
    /// Whether what is attached last runs first there.
    pub(super) last_runs_first: bool,
}

impl HoldsEvents for ScriptAttachment {
    fn add_events(&self, to: &mut Vec<RawFd>) {
        if let Way::Event { event, .. } = &self.way {
            to.push(event.as_fd().as_raw_fd());
        }
    }
}

/// A program that is run by hand, or walked.
#[derive(Clone, Debug)]
pub(super) struct ByHand {
    /// Index in the plan's probes.
    pub(super) probe: u32,
    /// The program.
    pub(super) program: Arc<OwnedFd>,
}

/// Everything that is ready.
#[derive(Debug, Default)]
pub(super) struct PreparedScript {
    /// What is attached.
    pub(super) attachments: Vec<ScriptAttachment>,
    /// `begin`, in the script's order.
    pub(super) begin: Vec<ByHand>,
    /// `end`, in the script's order.
    pub(super) end: Vec<ByHand>,
    /// Signals by number.
    pub(super) signals: Vec<(i32, ByHand)>,
    /// Iterators.
    pub(super) iterators: Vec<ByHand>,
    /// What could not be prepared.
    pub(super) failed: Vec<ProbeFailure>,
    /// By program of the plan: what was loaded of it, once for each target of a typed program.
    pub(super) loaded: Vec<Vec<Arc<OwnedFd>>>,
    /// Instructions of all programs.
    pub(super) instructions: u32,
    /// Nanoseconds spent on loading programs.
    pub(super) load_ns: u64,
}

impl PreparedScript {
    /// How many attach points there are.
    pub(super) fn points(&self) -> usize {
        let attached: usize = self.attachments.iter().map(|one| one.probes.len()).sum();
        attached + self.begin.len() + self.end.len() + self.signals.len() + self.iterators.len()
    }
}

/// What preparing needs.
pub(super) struct Preparing<'a> {
    plan: &'a Plan,
    codes: &'a [Code],
    text: &'a str,
    object: &'a Object,
    host: &'a KernelHost,
    files: HashMap<UserFile, Result<Arc<OwnedFd>, AgentError>>,
    modules: HashMap<String, io::Result<OwnedFd>>,
    pending: Vec<PendingAttachment<'a>>,
    prepared: PreparedScript,
    /// Events that anybody has made at functions, read when a tracepoint is attached.
    probe_events: OnceCell<Vec<(String, String)>>,
}

/// An attach point whose event is opened when all programs are loaded.
struct PendingAttachment<'a> {
    probe: u32,
    program: Arc<OwnedFd>,
    place: PendingPlace<'a>,
}

enum PendingPlace<'a> {
    Kernel(&'a AttachPoint),
    User(LinkGroup, UprobeSite),
}

impl PendingPlace<'_> {
    /// Events of the kernel's functions and of user space are armed when they are opened, and the one opened last runs
    /// first; but not at the return of kernel functions, where the one that was first at the entry is last.
    fn last_runs_first(&self) -> bool {
        !matches!(self, Self::Kernel(AttachPoint::Kprobe { exit: true, .. }))
    }
}

type IndexedPoint<'a> = (u32, &'a AttachPoint);

fn internal(doing: impl Into<String>, why: &str) -> AgentError {
    failed(AgentErrorKind::Internal, doing, why, "Report this as a defect.")
}

/// The script's name of probe `index`.
fn name(plan: &Plan, index: u32) -> String {
    let name = plan.probes.get(index as usize).map_or("a probe", |probe| probe.name.as_str());
    bathyscope_capture::visible(name.as_bytes()).to_string()
}

impl<'a> Preparing<'a> {
    /// Loads all programs and opens what they are attached to.
    pub(super) fn run(
        plan: &'a Plan,
        codes: &'a [Code],
        text: &'a str,
        object: &'a Object,
        host: &'a KernelHost,
    ) -> Result<PreparedScript, EngineError> {
        let (files, modules) = (HashMap::new(), HashMap::new());
        let (pending, prepared) = (Vec::new(), PreparedScript::default());
        let probe_events = OnceCell::new();
        let mut this = Self { plan, codes, text, object, host, files, modules, pending, prepared, probe_events };
        for index in 0..plan.programs.len() {
            this.prepared.loaded.push(Vec::new());
            let points: Vec<IndexedPoint<'a>> = (0_u32..)
                .zip(&plan.probes)
                .filter(|(_number, probe)| probe.program as usize == index)
                .map(|(number, probe)| (number, &probe.point))
                .collect();
            this.program(index, &points)?;
        }
        this.open_pending();
        this.prepared.instructions = codes.iter().map(|code| u32::try_from(code.instructions.len()).unwrap_or(0)).sum();
        Ok(this.prepared)
    }

    /// Loads the programs that follow child processes, and opens their tracepoints, which are given by number.
    pub(super) fn follow(
        codes: &[Code],
        text: &str,
        object: &Object,
        follow: &[(usize, u32)],
    ) -> Result<Vec<ScriptAttachment>, EngineError> {
        let doing = "following child processes";
        let open = |(index, id): &(usize, u32)| -> Result<ScriptAttachment, EngineError> {
            let code = codes.get(*index).ok_or_else(|| internal(doing, "a program has no code"))?;
            let program = object.load(*index, code, LoadAs { kind: TRACEPOINT, ..LoadAs::default() });
            let program = program.map_err(|refusal| failures::of_program(code, 0, text, &refusal))?;
            let mut attributes = perf::attributes(PERF_TYPE_TRACEPOINT, u64::from(*id));
            let event = Event::open(&mut attributes, Scope::Cpu(sampling::first_cpu()))
                .map_err(|error| refused(doing, &error, Need::Events))?;
            Ok(ScriptAttachment { probes: vec![0], program, way: Way::event(event), last_runs_first: false })
        };
        follow.iter().map(open).collect()
    }

    fn program(&mut self, index: usize, points: &[IndexedPoint<'a>]) -> Result<(), EngineError> {
        let Some(program) = self.plan.programs.get(index) else { return Ok(()) };
        match program.kind {
            ProgramType::Run => self.by_hand(index, points),
            ProgramType::Tracepoint => self.tracepoints(index, points),
            ProgramType::RawTracepoint => {
                self.typed(index, points, TRACE_RAW_TRACEPOINT, false, &|types, point| match point {
                    AttachPoint::RawTracepoint { name, .. } => {
                        types.find(TypeKind::Typedef, &format!("btf_trace_{name}"))
                    }
                    _ => None,
                })
            }
            ProgramType::Fentry => self.typed(index, points, TRACE_FENTRY, true, &function),
            ProgramType::Fexit => self.typed(index, points, TRACE_FEXIT, true, &function),
            ProgramType::Iterator => self.iterators(index, points),
            ProgramType::Kprobe => self.kprobes(index, points),
            ProgramType::Uprobe => self.uprobes(index, points),
            ProgramType::PerfEvent => self.samplers(index, points),
        }
    }

    fn fail(&mut self, probe: u32, error: AgentError) {
        self.prepared.failed.push(ProbeFailure { probe, error });
    }

    fn doing(&self, probe: u32) -> String {
        format!("attaching to {}", name(self.plan, probe))
    }

    fn load(&mut self, index: usize, as_: LoadAs<'_>) -> Result<Arc<OwnedFd>, EngineError> {
        let missing = || EngineError::Agent(internal("loading the script's programs", "a program has no code"));
        let code = self.codes.get(index).ok_or_else(missing)?;
        let line = self.plan.programs.get(index).map_or(0, |program| program.line);
        let clock = Instant::now();
        let program = self.object.load(index, code, as_);
        self.prepared.load_ns += elapsed_ns(clock);
        let program = program.map_err(|refusal| failures::of_program(code, line, self.text, &refusal))?;
        self.keep(index, &program);
        Ok(program)
    }

    fn keep(&mut self, index: usize, program: &Arc<OwnedFd>) {
        if let Some(loaded) = self.prepared.loaded.get_mut(index) {
            loaded.push(Arc::clone(program));
        }
    }

    fn attach(&mut self, probe: u32, program: &Arc<OwnedFd>, way: Way, last_runs_first: bool) {
        let program = Arc::clone(program);
        self.prepared.attachments.push(ScriptAttachment { probes: vec![probe], program, way, last_runs_first });
    }

    fn by_hand(&mut self, index: usize, points: &[IndexedPoint<'a>]) -> Result<(), EngineError> {
        let program = self.load(index, LoadAs { kind: RAW_TRACEPOINT, ..LoadAs::default() })?;
        for (probe, point) in points {
            let one = ByHand { probe: *probe, program: Arc::clone(&program) };
            match point {
                AttachPoint::Begin => self.prepared.begin.push(one),
                AttachPoint::End => self.prepared.end.push(one),
                AttachPoint::Signal { number } => self.prepared.signals.push((*number, one)),
                _ => self.fail(*probe, internal(self.doing(*probe), "its program is of another kind")),
            }
        }
        Ok(())
    }

    fn tracepoints(&mut self, index: usize, points: &[IndexedPoint<'a>]) -> Result<(), EngineError> {
        let program = self.load(index, LoadAs { kind: TRACEPOINT, ..LoadAs::default() })?;
        if let Some(side) = self.plan.programs.get(index).and_then(|program| program.calls) {
            self.all_calls(&program, side, points);
            return Ok(());
        }
        let mut of_probes = None;
        for (probe, point) in points {
            let program = match self.is_probe_event(point) {
                false => Arc::clone(&program),
                // What is handed to such a program are registers, not the event's record.
                true if self.codes.get(index).is_none_or(|code| code.reads_context) => {
                    self.fail(*probe, made_by_text(self.doing(*probe)));
                    continue;
                }
                true => match &of_probes {
                    Some(loaded) => Arc::clone(loaded),
                    None => {
                        let loaded = self.load(index, LoadAs { kind: KPROBE, ..LoadAs::default() })?;
                        of_probes = Some(Arc::clone(&loaded));
                        loaded
                    }
                },
            };
            match self.open_tracepoint(*probe, point) {
                Ok(event) => self.attach(*probe, &program, Way::event(event), false),
                Err(error) => self.fail(*probe, error),
            }
        }
        Ok(())
    }

    /// Whether a tracepoint is an event that somebody has made at a function (`kprobe_events`, `uprobe_events`): the kernel
    /// runs programs for kprobes at it.
    fn is_probe_event(&self, point: &AttachPoint) -> bool {
        let AttachPoint::Tracepoint { system, name } = point else { return false };
        let known = self.probe_events.get_or_init(probe_events);
        known.iter().any(|(its_system, its_name)| its_system == system && its_name == name)
    }

    /// One link at the tracepoint of all calls, for many points.
    fn all_calls(&mut self, program: &Arc<OwnedFd>, side: CallSide, points: &[IndexedPoint<'a>]) {
        let Some((first, _point)) = points.first() else { return };
        let (system, name) = side.tracepoint();
        match self.open_tracepoint_named(self.doing(*first), system, name) {
            Ok(event) => {
                let (probes, program) = (points.iter().map(|(probe, _point)| *probe).collect(), Arc::clone(program));
                let way = Way::event(event);
                self.prepared.attachments.push(ScriptAttachment { probes, program, way, last_runs_first: false });
            }
            Err(error) => points.iter().for_each(|(probe, _point)| self.fail(*probe, error.clone())),
        }
    }

    fn open_tracepoint(&self, probe: u32, point: &AttachPoint) -> Result<Event, AgentError> {
        let doing = self.doing(probe);
        let AttachPoint::Tracepoint { system, name } = point else {
            return Err(internal(doing, "its program is of another kind"));
        };
        self.open_tracepoint_named(doing, system, name)
    }

    fn open_tracepoint_named(&self, doing: String, system: &str, name: &str) -> Result<Event, AgentError> {
        let missing = || failed(AgentErrorKind::NotFound, &doing, "this kernel has no such tracepoint", "");
        let format = self.host.format(system, name);
        let format = format.map_err(|why| internal(&doing, &why))?.ok_or_else(missing)?;
        let mut attributes = perf::attributes(PERF_TYPE_TRACEPOINT, u64::from(format.id));
        let named = || format!("{system}:{name}").parse().ok();
        Event::open(&mut attributes, Scope::Cpu(sampling::first_cpu())).map_err(|error| match named() {
            Some(event) if error.raw_os_error() == Some(libc::EINTR) => busy(doing, &event),
            _ => refused(doing, &error, Need::Events),
        })
    }

    /// Programs whose target is part of what is loaded: one for each target.
    fn typed(
        &mut self,
        index: usize,
        points: &[IndexedPoint<'a>],
        attach: u32,
        last_runs_first: bool,
        target: &dyn Fn(&Types, &AttachPoint) -> Option<TypeId>,
    ) -> Result<(), EngineError> {
        let mut known = HashMap::<TypeId, Arc<OwnedFd>>::new();
        for (probe, point) in points {
            let types = self.host.types_for(point);
            let Some(id) = target(types, point) else {
                let why = "this kernel's type information does not have it";
                self.fail(*probe, failed(AgentErrorKind::NotFound, self.doing(*probe), why, ""));
                continue;
            };
            // One program can be at one target only once.
            let program = match known.get(&id).filter(|_| attach == TRACE_RAW_TRACEPOINT) {
                Some(program) => Arc::clone(program),
                None => match self.load_typed(index, *probe, types, id, attach)? {
                    Some(program) => program,
                    None => continue,
                },
            };
            self.attach(*probe, &program, Way::Typed { attach }, last_runs_first);
            known.insert(id, program);
        }
        Ok(())
    }

    /// Loads a typed program; none if its target is refused, which is told as a failure of the probe.
    fn load_typed(
        &mut self,
        index: usize,
        probe: u32,
        types: &Types,
        id: TypeId,
        attach: u32,
    ) -> Result<Option<Arc<OwnedFd>>, EngineError> {
        let doing = self.doing(probe);
        let Some(target) = types.btf_id(id) else {
            self.fail(probe, internal(doing, "its type is not the kernel's"));
            return Ok(None);
        };
        if let Some(module) = target.module
            && !self.modules.contains_key(module)
        {
            self.modules.insert(module.to_owned(), module_types(module));
        }
        let module = match target.module.and_then(|module| self.modules.get(module)) {
            Some(Ok(types)) => Some(types.as_fd()),
            Some(Err(error)) => {
                let remedy = "Give the agent CAP_SYS_ADMIN, which the kernel asks for here.";
                let error = refused(doing, error, remedy);
                self.fail(probe, error);
                return Ok(None);
            }
            None => None,
        };
        let Some(code) = self.codes.get(index) else { return Ok(None) };
        let clock = Instant::now();
        let loaded = self.object.load(index, code, LoadAs { kind: TRACING, attach, target: target.id, module });
        self.prepared.load_ns += elapsed_ns(clock);
        match loaded {
            Ok(program) => {
                self.keep(index, &program);
                Ok(Some(program))
            }
            Err(refusal) if failures::is_about_target(&refusal) => {
                let why = refusal.log.lines().next().map_or_else(|| words(&refusal.error), str::to_owned);
                self.fail(probe, failed(AgentErrorKind::Unsupported, doing, why, "Use a kprobe for it."));
                Ok(None)
            }
            Err(refusal) => {
                let line = self.plan.programs.get(index).map_or(0, |program| program.line);
                Err(failures::of_program(code, line, self.text, &refusal))
            }
        }
    }

    fn iterators(&mut self, index: usize, points: &[IndexedPoint<'a>]) -> Result<(), EngineError> {
        for (probe, point) in points {
            let AttachPoint::Iterator { target, pin } = point else { continue };
            if pin.is_some() {
                let why = "an iterator that is pinned has no script that its output goes to";
                self.fail(*probe, failed(AgentErrorKind::Unsupported, self.doing(*probe), why, "Leave the pin out."));
                continue;
            }
            let types = self.host.types();
            let Some(function) = types.function(None, &format!("bpf_iter_{target}")) else {
                let why = "this kernel has no such iterator";
                self.fail(*probe, failed(AgentErrorKind::NotFound, self.doing(*probe), why, ""));
                continue;
            };
            if let Some(program) = self.load_typed(index, *probe, types, function.id, TRACE_ITERATOR)? {
                self.prepared.iterators.push(ByHand { probe: *probe, program });
            }
        }
        Ok(())
    }

    /// Many plain functions go into one link where the kernel has that; others get an event each.
    fn kprobes(&mut self, index: usize, points: &[IndexedPoint<'a>]) -> Result<(), EngineError> {
        let plain = |(_probe, point): &&IndexedPoint<'a>| {
            matches!(point, AttachPoint::Kprobe { module, function, offset: 0, .. }
                if module.is_empty() && !function.is_empty())
        };
        let many = self.host.features().kprobe_multi && points.iter().filter(plain).count() > 1;
        let (together, single): (Vec<_>, Vec<_>) = points.iter().partition(|point| many && plain(point));
        for exit in [false, true] {
            let chosen = together.iter().filter_map(|(probe, point)| match point {
                AttachPoint::Kprobe { function, exit: at_exit, .. } if *at_exit == exit => {
                    Some((*probe, CString::new(function.as_str()).ok()?))
                }
                _ => None,
            });
            let (probes, functions): (Vec<u32>, Vec<CString>) = chosen.unzip();
            if !probes.is_empty() {
                let program = self.load(index, LoadAs { kind: KPROBE, attach: KPROBE_MULTI, ..LoadAs::default() })?;
                let way = Way::KprobeMulti { functions, exit };
                self.prepared.attachments.push(ScriptAttachment { probes, program, way, last_runs_first: !exit });
            }
        }
        if single.is_empty() {
            return Ok(());
        }
        let program = self.load(index, LoadAs { kind: KPROBE, ..LoadAs::default() })?;
        for (probe, point) in single {
            let (program, place) = (Arc::clone(&program), PendingPlace::Kernel(point));
            self.pending.push(PendingAttachment { probe, program, place });
        }
        Ok(())
    }

    /// Opens the events that are armed at once, so that those of one place run in the script's order.
    fn open_pending(&mut self) {
        let pending = std::mem::take(&mut self.pending);
        let (backwards, forwards): (Vec<_>, Vec<_>) = pending.into_iter().partition(|one| one.place.last_runs_first());
        for PendingAttachment { probe, program, place } in forwards.into_iter().chain(backwards.into_iter().rev()) {
            let opened = match &place {
                PendingPlace::Kernel(point) => self.open_kprobe(probe, point),
                PendingPlace::User(group, place) => {
                    self.file(group).and_then(|file| self.open_uprobe(probe, group, *place, &file))
                }
            };
            match opened {
                Ok(event) => {
                    let kernel_function = matches!(place, PendingPlace::Kernel(_));
                    self.attach(probe, &program, Way::Event { event, kernel_function }, false);
                }
                Err(error) => self.fail(probe, error),
            }
        }
    }

    fn open_kprobe(&self, probe: u32, point: &AttachPoint) -> Result<Event, AgentError> {
        let doing = self.doing(probe);
        let AttachPoint::Kprobe { module, function, offset, exit } = point else {
            return Err(internal(doing, "its program is of another kind"));
        };
        let kind = perf_kind("kprobe").ok_or_else(|| {
            let remedy = "Use a kernel with CONFIG_KPROBES and CONFIG_KPROBE_EVENTS, as distributions have.";
            failed(AgentErrorKind::Unsupported, &doing, "this kernel was built without kernel probes", remedy)
        })?;
        let symbol = if module.is_empty() { function.clone() } else { format!("{module}:{function}") };
        let symbol = CString::new(symbol).map_err(|_nul| internal(&doing, "its name has a NUL byte"))?;
        let mut attributes = perf::attributes(kind, u64::from(*exit));
        let scope = Scope::Cpu(sampling::first_cpu());
        if function.is_empty() {
            let event = Event::open_at_address(&mut attributes, *offset, scope);
            return event.map_err(|error| no_kprobe(doing, &error));
        }
        let mut open = |offset| Event::open_at(&mut attributes, &symbol, offset, scope);
        if *offset == 0 {
            return open(0).map_err(|error| no_kprobe(doing, &error));
        }
        inside::open(doing, function, *offset, &mut open)
    }

    fn uprobes(&mut self, index: usize, points: &[IndexedPoint<'a>]) -> Result<(), EngineError> {
        let Features { uprobe_multi, kernel, .. } = *self.host.features();
        let (mut groups, mut single) = (BTreeMap::<LinkGroup, Vec<(u32, UprobeSite)>>::new(), Vec::new());
        for (probe, point) in points {
            let Some((group, place)) = LinkGroup::of(*probe, point) else {
                self.fail(*probe, internal(self.doing(*probe), "its program is of another kind"));
                continue;
            };
            if uprobe_multi && (group.pid.is_none() || kernel >= UPROBE_MULTI_PROCESS) {
                groups.entry(group).or_default().push((*probe, place));
            } else {
                single.push((*probe, group, place));
            }
        }
        if !groups.is_empty() {
            let program = self.load(index, LoadAs { kind: KPROBE, attach: UPROBE_MULTI, ..LoadAs::default() })?;
            for (group, members) in groups {
                self.uprobe_group(&program, &group, members);
            }
        }
        if !single.is_empty() {
            let program = self.load(index, LoadAs { kind: KPROBE, ..LoadAs::default() })?;
            for (probe, group, place) in single {
                let (program, place) = (Arc::clone(&program), PendingPlace::User(group, place));
                self.pending.push(PendingAttachment { probe, program, place });
            }
        }
        Ok(())
    }

    fn uprobe_group(&mut self, program: &Arc<OwnedFd>, group: &LinkGroup, members: Vec<(u32, UprobeSite)>) {
        let (probes, places): (Vec<u32>, Vec<UprobeSite>) = members.into_iter().unzip();
        match self.file(group) {
            Ok(file) => {
                let way = Way::UprobeMulti { file, places, exit: group.exit, pid: group.pid };
                let program = Arc::clone(program);
                self.prepared.attachments.push(ScriptAttachment { probes, program, way, last_runs_first: true });
            }
            Err(error) => probes.into_iter().for_each(|probe| self.fail(probe, error.clone())),
        }
    }

    /// The file of a group, opened once and found to be the one that the console saw.
    fn file(&mut self, group: &LinkGroup) -> Result<Arc<OwnedFd>, AgentError> {
        let (path, in_process, device, inode) = group.file.clone();
        let file = UserFile { path, in_process, device, inode };
        let open = |file: &UserFile| open_same(file).map(Arc::new);
        self.files.entry(file.clone()).or_insert_with(|| open(&file)).clone()
    }

    fn open_uprobe(
        &self,
        probe: u32,
        group: &LinkGroup,
        place: UprobeSite,
        file: &Arc<OwnedFd>,
    ) -> Result<Event, AgentError> {
        let doing = self.doing(probe);
        let kind = perf_kind("uprobe").ok_or_else(|| {
            let remedy = "Use a kernel with CONFIG_UPROBE_EVENTS.";
            failed(AgentErrorKind::Unsupported, &doing, "this kernel has no user probes", remedy)
        })?;
        // The upper half of the configuration is where the semaphore is.
        let mut attributes = perf::attributes(kind, u64::from(group.exit) | place.semaphore << 32);
        let scope = group.pid.map_or(Scope::Cpu(sampling::first_cpu()), Scope::Thread);
        Event::open_at(&mut attributes, &path_of(file), place.offset, scope).map_err(|error| no_uprobe(doing, &error))
    }

    fn samplers(&mut self, index: usize, points: &[IndexedPoint<'a>]) -> Result<(), EngineError> {
        let program = self.load(index, LoadAs { kind: PERF_EVENT, ..LoadAs::default() })?;
        for (probe, point) in points {
            match sampling::open(point, self.doing(*probe)) {
                Ok(events) => self.attach(*probe, &program, Way::Sampling(events), false),
                Err(error) => self.fail(*probe, error),
            }
        }
        Ok(())
    }
}

fn function(types: &Types, point: &AttachPoint) -> Option<TypeId> {
    let AttachPoint::Fentry { module, function, .. } = point else { return None };
    types.function(Some(module.as_str()).filter(|module| !module.is_empty()), function).map(|function| function.id)
}

/// Places that go into one link: path, process, device and inode of the file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct LinkGroup {
    file: (String, Option<u32>, u64, u64),
    exit: bool,
    pid: Option<u32>,
}

impl LinkGroup {
    fn of(probe: u32, point: &AttachPoint) -> Option<(Self, UprobeSite)> {
        let (file, offset, semaphore, exit, pid) = match point {
            AttachPoint::Uprobe { file, offset, exit, pid, .. } => (file, *offset, 0, *exit, *pid),
            AttachPoint::Usdt { file, offset, semaphore, pid, .. } => (file, *offset, *semaphore, false, *pid),
            _ => return None,
        };
        let UserFile { path, in_process, device, inode } = file.clone();
        let place = UprobeSite { offset, semaphore, cookie: u64::from(probe) };
        Some((Self { file: (path, in_process, device, inode), exit, pid }, place))
    }
}

pub(super) fn no_kprobe(doing: String, error: &io::Error) -> AgentError {
    match error.raw_os_error() {
        Some(libc::ENOENT) => failed(AgentErrorKind::NotFound, doing, "this kernel has no such function", ""),
        Some(libc::EADDRNOTAVAIL) => failed(
            AgentErrorKind::NotFound,
            doing,
            "there are several functions of that name",
            "Probe one by its address, or a function that calls it.",
        ),
        Some(libc::EINVAL | libc::EILSEQ) => failed(
            AgentErrorKind::Invalid,
            doing,
            "the kernel does not let this place be probed: it is blocked, or no instruction begins there",
            "Probe a function that calls it.",
        ),
        _ => refused(doing, error, Need::Events),
    }
}

fn no_uprobe(doing: String, error: &io::Error) -> AgentError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => refused(doing, error, Need::Administrator),
        Some(libc::EINVAL | libc::EOPNOTSUPP | libc::EILSEQ) => failed(
            AgentErrorKind::Invalid,
            doing,
            "the kernel cannot probe the instruction there",
            "Probe another place of the function, or the function that calls it.",
        ),
        _ => refused(doing, error, ""),
    }
}

/// What to make of a link that failed, by the kind of attach point.
pub(super) fn no_link(way: &Way, doing: String, error: &io::Error) -> AgentError {
    match way {
        Way::KprobeMulti { .. } => match error.raw_os_error() {
            Some(libc::ESRCH | libc::ENOENT) => no_kprobe(doing, &io::Error::from_raw_os_error(libc::ENOENT)),
            _ => no_kprobe(doing, error),
        },
        Way::UprobeMulti { .. } => no_uprobe(doing, error),
        Way::Typed { .. } => match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => refused(doing, error, Need::Programs),
            // 524: the kernel's own number for what is not supported.
            Some(libc::EBUSY | libc::EOPNOTSUPP | 524) => {
                let why = "this kernel cannot patch a call into it";
                failed(AgentErrorKind::Unsupported, doing, why, "Use a kprobe or a tracepoint.")
            }
            Some(libc::E2BIG) => {
                let why = "too many programs are at this function already";
                failed(AgentErrorKind::Limit, doing, why, "Stop another capture.")
            }
            _ => refused(doing, error, ""),
        },
        Way::Event { .. } if error.raw_os_error() == Some(libc::EINVAL) && doing.contains(" tracepoint:") => {
            made_by_text(doing)
        }
        Way::Event { .. } | Way::Sampling(_) => refused(doing, error, Need::Events),
    }
}
