//! A simulated capture: a thread that makes events while it is enabled.

use std::{
    io::{PipeWriter, Write as _},
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use bathyscope_capture::{Target, TextPattern};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, Budget, GuardStage, ProbeReading, Readings, RingInfo, Started, StreamLayout,
    TargetState, TraceFacts,
};

use super::{
    events::CPUS,
    world::{COMMAND_PID, PROCESSES, Process, SHORT_LIVED_PID, process},
};
use crate::{
    backend::{RunningCapture, monotonic_ns, unresolved},
    error::{failed, refused},
    guard::{Action, Cost, Guard},
};

/// How often events are made.
const TICK: Duration = Duration::from_millis(2);
/// The most that is made at once.
const STEP_NS: u64 = 50_000_000;
/// Bytes of a row, about.
const ROW_BYTES: u32 = 64;
/// How often the guard looks.
const LOOK_EVERY_NS: u64 = 300_000_000;
/// How long a command and the short-lived process run.
const LIFE_NS: u64 = 1_500_000_000;

/// Whose events are recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MadeTarget {
    /// The process; none if several may be recorded.
    pub(super) pid: Option<u32>,
    /// Those that may be; none for all.
    pub(super) among: Option<Vec<u32>>,
    /// The words of the command, if it is one.
    pub(super) argv: Option<Vec<String>>,
}

impl MadeTarget {
    pub(super) fn of(wanted: &Target) -> Result<Self, AgentError> {
        match wanted {
            Target::System => Ok(Self { pid: None, among: None, argv: None }),
            Target::Process { pid, .. } => Ok(Self::one(made_process(*pid)?, None)),
            Target::Processes { pids, .. } => {
                let among = pids.iter().map(|pid| made_process(*pid)).collect::<Result<_, _>>()?;
                Ok(Self { pid: None, among: Some(among), argv: None })
            }
            Target::Threads { tids, .. } => {
                let among = tids.iter().map(|tid| made_process(*tid)).collect::<Result<_, _>>()?;
                Ok(Self { pid: None, among: Some(among), argv: None })
            }
            Target::During { argv, of, .. } => Ok(Self { argv: Some(argv.clone()), ..Self::of(of)? }),
            Target::Command { argv, .. } => Ok(Self::one(COMMAND_PID, Some(argv.clone()))),
            Target::Unit { name } | Target::Container { name } => Err(unresolved(name)),
            Target::Cgroup { path } => {
                let below = format!("{}/", path.trim_end_matches('/'));
                let made = Self::some(|process| process.group == path || process.group.starts_with(&below));
                made.ok_or_else(|| {
                    let doing =
                        format!("looking for the control group `{}`", bathyscope_capture::visible(path.as_bytes()));
                    failed(AgentErrorKind::NotFound, doing, "there is no such group", "Choose one that exists.")
                })
            }
            Target::User { user } => {
                let uid = match user.as_str() {
                    "root" | "0" => 0,
                    "user" | "1000" => 1000,
                    _ => {
                        let doing = format!("looking for the user `{}`", bathyscope_capture::visible(user.as_bytes()));
                        return Err(failed(
                            AgentErrorKind::NotFound,
                            doing,
                            "there is no such user",
                            "Choose user or root.",
                        ));
                    }
                };
                Ok(Self::some(|process| process.uid() == uid).unwrap_or_else(|| Self::one(0, None)))
            }
            Target::Comm { pattern } => {
                let pattern = TextPattern::new(pattern);
                let among = PROCESSES.iter().filter(|it| pattern.matches(it.comm)).map(|it| it.pid).collect();
                Ok(Self { pid: None, among: Some(among), argv: None })
            }
        }
    }

    /// The process of the command, if there is one.
    pub(super) fn executes(&self) -> Option<u32> {
        self.argv.as_ref().map(|_| COMMAND_PID)
    }

    fn one(pid: u32, argv: Option<Vec<String>>) -> Self {
        Self { pid: Some(pid), among: Some(vec![pid]), argv }
    }

    /// The processes for which `fits` holds, if there are any.
    fn some(fits: impl Fn(&Process) -> bool) -> Option<Self> {
        let among: Vec<u32> = PROCESSES.iter().filter(|it| fits(it)).map(|process| process.pid).collect();
        (!among.is_empty()).then_some(Self { pid: None, among: Some(among), argv: None })
    }

    /// Whether events of `pid` are recorded.
    pub(super) fn includes(&self, pid: u32) -> bool {
        self.among.as_ref().is_none_or(|among| among.contains(&pid))
    }
}

/// A process that is made up, by its id.
fn made_process(pid: u32) -> Result<u32, AgentError> {
    process(pid).map(|_| pid).ok_or_else(|| {
        let doing = format!("looking for process {pid}");
        let why = "there is no such process (any more)";
        failed(AgentErrorKind::NotFound, doing, why, "Choose one that runs.")
    })
}

/// What a simulated capture makes.
pub(super) trait Work: Send + 'static {
    /// How its streams look.
    fn layouts(&self) -> Vec<StreamLayout>;
    /// What its pages mean, if it is a trace.
    fn facts(&self) -> Option<TraceFacts> {
        None
    }
    /// Its rings.
    fn rings(&self) -> Vec<RingInfo>;
    /// Descriptors of its rings, in order.
    fn descriptors(&self) -> std::io::Result<Vec<OwnedFd>>;
    /// Makes what is due `now_ns`, after having begun at `start_ns`, and returns all counters.
    fn make_until(&mut self, start_ns: u64, now_ns: u64) -> Vec<ProbeReading>;
}

#[derive(Debug, Default)]
struct State {
    probes: Vec<ProbeReading>,
    guard: GuardStage,
    ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pause(&self) -> bool {
        let waited = self.changed.wait_timeout_while(self.lock(), TICK, |state| !state.ended);
        waited.unwrap_or_else(PoisonError::into_inner).0.ended
    }
}

/// A simulated capture.
pub(super) struct SimulatedCapture {
    started: Started,
    descriptors: Vec<OwnedFd>,
    work: Option<Box<dyn Work>>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
    target: MadeTarget,
    outputs: Option<(PipeWriter, PipeWriter)>,
    enabled_ns: Option<u64>,
    ended: TargetState,
    budget: Budget,
    /// How long after it was enabled something is made.
    delay_ns: u64,
}

/// Watches a simulated capture, which costs what its readings say.
struct Watch {
    guard: Guard,
    looked_ns: u64,
    used_ns: f64,
    passing_ns: f64,
    rows: u64,
    /// Whether it has a target, so that what others do is passed over.
    has_target: bool,
}

impl Watch {
    fn used_ns(probes: &[ProbeReading]) -> f64 {
        probes.iter().map(|probe| probe.hits as f64 * probe.ns_per_hit.unwrap_or(0.0)).sum()
    }

    fn passing_ns(&self, probes: &[ProbeReading]) -> f64 {
        let passed = |probe: &ProbeReading| probe.filtered as f64 * probe.ns_per_hit.unwrap_or(0.0);
        if self.has_target { probes.iter().map(passed).sum() } else { 0.0 }
    }

    /// Whether the probes are to be detached.
    fn look(&mut self, now_ns: u64, probes: &[ProbeReading]) -> bool {
        let since_ns = now_ns.saturating_sub(self.looked_ns);
        if since_ns < LOOK_EVERY_NS {
            return false;
        }
        let passing_ns = self.passing_ns(probes);
        let used_ns = Self::used_ns(probes) - passing_ns;
        let permille = |now: f64, before: f64| (now - before).max(0.0) * 1000.0 / since_ns as f64;
        let cpu_permille = permille(used_ns, self.used_ns);
        let passing_permille = permille(passing_ns, self.passing_ns);
        (self.looked_ns, self.used_ns, self.passing_ns) = (now_ns, used_ns, passing_ns);
        let rows = |probes: &[ProbeReading]| probes.iter().map(|probe| probe.hits - probe.filtered).sum::<u64>();
        let rows_now = rows(probes);
        let new_rows = rows_now.saturating_sub(std::mem::replace(&mut self.rows, rows_now));
        let rows_per_s = new_rows as f64 * 1e9 / since_ns as f64;
        let bytes_per_s = rows_per_s * f64::from(ROW_BYTES);
        let cost = Cost { cpu_permille, passing_permille, rows_per_s, bytes_per_s, ..Cost::default() };
        self.guard.look(cost) == Action::Detach
    }
}

impl SimulatedCapture {
    pub(super) fn new(work: impl Work, target: MadeTarget) -> Result<Self, AgentError> {
        let trouble = |error: std::io::Error| refused("making a simulated capture", &error, "");
        let mut descriptors = work.descriptors().map_err(trouble)?;
        let mut outputs = None;
        if target.argv.is_some() {
            let (stdout_read, stdout) = std::io::pipe().map_err(trouble)?;
            let (stderr_read, stderr) = std::io::pipe().map_err(trouble)?;
            for end in [stdout_read, stderr_read] {
                rustix::io::ioctl_fionbio(&end, true).map_err(|errno| trouble(errno.into()))?;
                descriptors.push(end.into());
            }
            outputs = Some((stdout, stderr));
        }
        let started = Started {
            streams: work.layouts(),
            rings: work.rings(),
            target_pid: target.pid,
            has_output: outputs.is_some(),
            rings_cut: None,
            command_user: None,
            compile_ns: 100_000,
            load_ns: 200_000,
            attach_ns: 300_000,
            trace: work.facts().map(Box::new),
        };
        let shared = Arc::new(Shared::default());
        shared.lock().probes = vec![ProbeReading::default(); started.streams.len()];
        Ok(Self {
            started,
            descriptors,
            work: Some(Box::new(work)),
            shared,
            thread: None,
            target,
            outputs,
            enabled_ns: None,
            ended: TargetState::Running,
            budget: Budget::default(),
            delay_ns: 0,
        })
    }

    /// The same, that makes nothing for so long.
    pub(super) fn later(mut self, delay_ms: Option<u32>) -> Self {
        self.delay_ns = u64::from(delay_ms.unwrap_or(0)) * 1_000_000;
        self
    }

    fn end_thread(&mut self) {
        self.shared.lock().ended = true;
        self.shared.changed.notify_all();
        if let Some(thread) = self.thread.take() {
            // It does not panic, and ends at once.
            let _ended = thread.join();
        }
    }

    /// What became of the target; a command that has ended closes its outputs.
    fn target_state(&mut self) -> TargetState {
        let lived = self.enabled_ns.map_or(0, |start| monotonic_ns().saturating_sub(start));
        if self.ended == TargetState::Running && lived >= LIFE_NS {
            match (self.target.executes(), self.target.pid) {
                (Some(_), _) => self.end_command(Some(0), None),
                (None, Some(SHORT_LIVED_PID)) => self.ended = TargetState::Gone,
                _ => {}
            }
        }
        self.ended
    }

    fn end_command(&mut self, code: Option<i32>, signal: Option<i32>) {
        if let Some((mut stdout, mut stderr)) = self.outputs.take() {
            // The console may have gone.
            let _gone = stdout.write_all(b"simulated: done\n");
            let _gone = stderr.write_all(b"simulated: \x1b[31mno real warning\x1b[0m\n");
        }
        self.ended = TargetState::Exited { code, signal };
    }
}

impl RunningCapture for SimulatedCapture {
    fn started(&self) -> &Started {
        &self.started
    }

    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>> {
        self.descriptors.get(index).map(OwnedFd::as_fd)
    }

    fn set_budget(&mut self, budget: Budget) {
        self.budget = budget;
    }

    fn enable(&mut self) -> Result<u64, AgentError> {
        let start_ns = monotonic_ns();
        self.enabled_ns = Some(start_ns);
        if let (Some((stdout, _stderr)), Some(argv)) = (&mut self.outputs, &self.target.argv) {
            let _gone = stdout.write_all(format!("simulated run of {}\n", argv.join(" ")).as_bytes());
        }
        let shared = Arc::clone(&self.shared);
        let Some(mut work) = self.work.take() else { return Ok(start_ns) };
        let guard = Guard::new(self.budget, false).on_cpus(CPUS);
        let has_target = self.target.among.is_some();
        let mut watch = Watch { guard, looked_ns: start_ns, used_ns: 0.0, passing_ns: 0.0, rows: 0, has_target };
        let begin_ns = start_ns.saturating_add(self.delay_ns);
        let run = move || {
            while monotonic_ns() < begin_ns {
                if shared.pause() {
                    return;
                }
            }
            let mut reached_ns = begin_ns;
            loop {
                // One that does not keep up goes on in short steps, between which it can be stopped.
                let behind = monotonic_ns().saturating_sub(reached_ns) > STEP_NS;
                let ended = if behind { shared.lock().ended } else { shared.pause() };
                let now_ns = monotonic_ns();
                reached_ns = now_ns.min(reached_ns.saturating_add(STEP_NS));
                let probes = work.make_until(begin_ns, reached_ns);
                let detached = watch.look(now_ns, &probes);
                let mut state = shared.lock();
                (state.probes, state.guard) = (probes, watch.guard.stage().clone());
                if ended || detached {
                    return;
                }
            }
        };
        let thread = std::thread::Builder::new().name("bathyscope-sim".into()).spawn(run);
        self.thread = Some(thread.map_err(|error| refused("starting the simulation", &error, ""))?);
        Ok(start_ns)
    }

    fn readings(&mut self) -> Readings {
        let target = self.target_state();
        let state = self.shared.lock();
        let (probes, guard) = (state.probes.clone(), state.guard.clone());
        Readings { time_ns: monotonic_ns(), probes, target, guard, ..Readings::default() }
    }

    fn detach(&mut self) {
        self.end_thread();
    }

    fn stop(&mut self, end_command: bool) -> Readings {
        self.end_thread();
        let state = self.target_state();
        if end_command && state == TargetState::Running && self.target.argv.is_some() {
            self.end_command(None, Some(15));
        }
        self.readings()
    }
}

impl Drop for SimulatedCapture {
    fn drop(&mut self) {
        self.end_thread();
    }
}
