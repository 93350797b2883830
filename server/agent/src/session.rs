//! One console's connection: requests in order, one reply each. Whatever is out of order ends it.

mod counters;
mod lease;
mod script;
mod watch;

use std::{
    collections::HashMap,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    time::{Duration, Instant},
};

use bathyscope_protocol::{
    AgentError, AgentErrorKind, Budget, CaptureHandle, Connection, ContainerName, MAX_BPF_PAGE, MAX_CAPTURES,
    MAX_CONTAINER_IDS, MAX_CONTAINER_NAME_BYTES, MAX_GROUP_PAGE_BYTES, MAX_MESSAGE_FDS, MAX_PROCESS_PAGE,
    PROTOCOL_VERSION, ProcessUse, ProtocolError, Readings, Reply, Request, RingContent, RingInfo, Started, WireSource,
    large::{MAX_LARGE_REPLY_BYTES, MAX_LARGE_REQUEST_BYTES},
};

use bathyscope_capture::{MAX_BUDGET_CPU_PERMILLE, Target};

use crate::{
    engine::EngineError,
    error::failed,
    memory::MemoryLeft,
    running::RunningCapture,
    source::{Backend, CapturePlan},
};
use lease::{LEASE, LetGo};
use script::in_file;
use watch::{Looked, Watched};

/// How long the console may take nothing of a reply.
const SEND_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a session ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SessionEnd {
    /// The console closed the connection.
    #[error("the console closed the connection")]
    Closed,
    /// The console did not speak the protocol as agreed.
    #[error("the console broke the protocol: {0}")]
    Violation(&'static str),
    /// The console hung while its captures ran.
    #[error("the console sent no request for {} s while captures ran", .0.as_secs())]
    Lease(Duration),
    /// The connection failed.
    #[error("the connection to the console failed")]
    Connection(#[source] ProtocolError),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Made,
    Enabled,
    /// Enabling failed; it can only be stopped.
    Broken,
    Stopped,
}

struct SessionCapture {
    capture: RunningCapture,
    stage: Stage,
    watched: Watched,
    /// Bytes of the kernel's memory that its rings take until it is discarded.
    ring_bytes: u64,
    /// Bytes that its maps may take until then.
    map_bytes: u64,
    kept: counters::Kept,
    /// When the console last asked for it, later by what the agent has worked since.
    asked: Instant,
}

impl SessionCapture {
    fn new(capture: RunningCapture, started: &Started, watched: Watched) -> Self {
        let bytes = |ring: &RingInfo| u64::from(ring.data_bytes);
        // The ring of a script is among its maps.
        let own = started.rings().filter(|ring| ring.content == RingContent::Script).map(bytes).sum();
        let scripts = started.sources.iter().filter_map(|source| source.script.as_ref());
        let map_bytes = scripts.map(|script| script.stats.map_bytes).sum::<u64>().saturating_sub(own);
        let ring_bytes = started.rings().map(bytes).sum();
        let (stage, kept, asked) = (Stage::Made, counters::Kept::default(), Instant::now());
        Self { capture, stage, watched, ring_bytes, map_bytes, kept, asked }
    }

    fn readings(&mut self) -> Readings {
        self.watched.overlay(Readings { agent: ProcessUse::own(), ..self.capture.readings() })
    }
}

/// Serves one connection until it ends. All captures of it are gone when this returns; their last readings stay where the
/// console can read them.
pub fn serve(connection: &Connection, backend: &mut dyn Backend) -> SessionEnd {
    serve_with_lease(connection, backend, LEASE)
}

/// As [`serve`]; the console may be silent for `lease` while it has captures.
pub fn serve_with_lease(connection: &Connection, backend: &mut dyn Backend, lease: Duration) -> SessionEnd {
    let mut session = Session {
        backend,
        captures: HashMap::new(),
        greeted: false,
        looked: Looked::default(),
        lease,
        let_go: LetGo::default(),
    };
    let end = session.serve(connection);
    session.let_go();
    end
}

impl Session<'_> {
    fn serve(&mut self, connection: &Connection) -> SessionEnd {
        let session = self;
        let mut silent_since = Instant::now();
        loop {
            let running = session.captures.values().any(|entry| entry.stage == Stage::Enabled);
            session.look(running);
            session.keep_counters();
            session.let_go_of_forgotten();
            let patience = session.patience(running);
            let request = match connection.receive_large::<Request>(patience, MAX_LARGE_REQUEST_BYTES) {
                Ok(received) if !received.descriptors.is_empty() => {
                    return SessionEnd::Violation("it sent descriptors");
                }
                Ok(received) if received.large && !may_be_large(&received.message) => {
                    return SessionEnd::Violation("it sent too large a message");
                }
                Ok(received) => received.message,
                Err(ProtocolError::Closed) => return SessionEnd::Closed,
                Err(ProtocolError::TimedOut(_)) if !running || silent_since.elapsed() < session.lease => continue,
                Err(ProtocolError::TimedOut(_)) => return SessionEnd::Lease(session.lease),
                Err(ProtocolError::Malformed { .. }) => return SessionEnd::Violation("it sent an unknown message"),
                Err(ProtocolError::TooLarge) => return SessionEnd::Violation("it sent too large a message"),
                Err(ProtocolError::Descriptors { .. }) => return SessionEnd::Violation("it sent descriptors"),
                Err(error) => return SessionEnd::Connection(error),
            };
            let working_since = Instant::now();
            let answer = match session.answer_on_account(request) {
                Ok(answer) => answer,
                Err(violation) => return SessionEnd::Violation(violation),
            };
            let sent = match &answer {
                Answer::Plain(reply) => connection.send_large(reply, &[], MAX_LARGE_REPLY_BYTES, SEND_TIMEOUT),
                Answer::File(reply, file) => connection.send(reply, &[file.as_fd()], SEND_TIMEOUT),
                Answer::Rings { capture, from } => {
                    let rings = session.rings(*capture, *from);
                    let count = u32::try_from(rings.len()).unwrap_or(u32::MAX);
                    connection.send(&Reply::Rings { count }, &rings, SEND_TIMEOUT)
                }
            };
            silent_since = Instant::now();
            session.has_worked(working_since.elapsed());
            match sent {
                Ok(()) => {}
                Err(ProtocolError::Closed) => return SessionEnd::Closed,
                Err(error) => return SessionEnd::Connection(error),
            }
        }
    }
}

enum Answer {
    Plain(Reply),
    File(Reply, OwnedFd),
    Rings { capture: CaptureHandle, from: u32 },
}

struct Session<'a> {
    backend: &'a mut dyn Backend,
    captures: HashMap<CaptureHandle, SessionCapture>,
    greeted: bool,
    looked: Looked,
    lease: Duration,
    let_go: LetGo,
}

type Violation = &'static str;

/// Whether a request may be in a file. The others are small, so only these may make the agent take more memory.
fn may_be_large(request: &Request) -> bool {
    // A script is long, a trace may have many filters and probes, and counts many events.
    matches!(request, Request::Start { .. } | Request::CheckScript { .. } | Request::ScriptFacts { .. })
}

fn plain(result: Result<Reply, AgentError>) -> Answer {
    Answer::Plain(result.unwrap_or_else(Reply::Failed))
}

/// The reply to what makes or enables a capture.
fn engine_reply(result: Result<Reply, EngineError>) -> Reply {
    result.unwrap_or_else(|error| match error {
        EngineError::Script(refused) => Reply::ScriptRefused(refused),
        EngineError::Agent(error) => Reply::Failed(error),
    })
}

impl Session<'_> {
    fn answer(&mut self, request: Request) -> Result<Answer, Violation> {
        if self.greeted == matches!(request, Request::Hello { .. }) {
            return Err(if self.greeted { "it greeted twice" } else { "it did not greet first" });
        }
        if let Some(answer) = self.renew(&request) {
            return Ok(answer);
        }
        Ok(match request {
            Request::Hello { version: PROTOCOL_VERSION } => {
                self.greeted = true;
                let simulated = self.backend.simulated();
                Answer::Plain(Reply::Hello { version: PROTOCOL_VERSION, simulated })
            }
            Request::Hello { .. } => return Err("it speaks another version"),
            Request::Capabilities => Answer::Plain(Reply::Capabilities { capabilities: self.backend.capabilities() }),
            Request::PerfEvents => Answer::Plain(Reply::PerfEvents { events: self.backend.perf_events() }),
            Request::BpfPrograms { after } => {
                let page = self.backend.bpf_programs(after, MAX_BPF_PAGE);
                plain(page.map(|(programs, more)| Reply::BpfPrograms { programs, more }))
            }
            Request::BpfLinks { after } => {
                let page = self.backend.bpf_links(after, MAX_BPF_PAGE);
                plain(page.map(|(links, more)| Reply::BpfLinks { links, more }))
            }
            Request::DynamicEvents => plain(self.backend.dynamic_events().map(Reply::DynamicEvents)),
            Request::DetachOthers { group, name } => {
                plain(self.backend.detach_others(&group, &name).map(|count| Reply::Changed { count }))
            }
            Request::TryEvent { line } => plain(self.backend.try_event(&line).map(|()| Reply::Done)),
            Request::OptimizeKprobes { on } => plain(self.backend.optimize_kprobes(on).map(|()| Reply::Done)),
            Request::DetachEvents { capture, events } => plain(self.detach_events(capture, &events)?),
            Request::OpenKernelFile { file } => file_answer(self.backend.open_kernel_file(&file)),
            Request::OpenProcessFile { pid, file } => file_answer(self.backend.open_process_file(pid, &file)),
            Request::ListProcesses { after } => {
                let page = self.backend.list_processes(after, MAX_PROCESS_PAGE);
                plain(page.map(|(pids, more)| Reply::Processes { pids, more }))
            }
            Request::ProcessActivity { after } => {
                let page = self.backend.process_activity(after);
                page.and_then(|(page, bytes)| in_file(Reply::ProcessActivity(page), &bytes))
                    .unwrap_or_else(|error| Answer::Plain(Reply::Failed(error)))
            }
            Request::ListGroups { after } => {
                let page = self.backend.list_groups(&after, MAX_GROUP_PAGE_BYTES);
                plain(page.map(|(paths, more)| Reply::Groups { paths, more }))
            }
            Request::ContainerNames { ids } => plain(self.container_names(&ids)),
            Request::Start { capture, sources, target, ring_bytes } => {
                Answer::Plain(self.start(capture, sources, target, ring_bytes)?)
            }
            Request::TakeRings { capture, from } => {
                let entry = self.captures.get(&capture).ok_or("it named an unknown capture")?;
                if entry.capture.descriptor(from as usize).is_none() {
                    return Err("it asked for a ring that is not there");
                }
                Answer::Rings { capture, from }
            }
            Request::OpenCounters { capture } => file_answer(self.open_counters(capture)?),
            Request::SetBudget { capture, budget } => plain(self.set_budget(capture, budget)?),
            Request::Enable { capture } => Answer::Plain(self.enable(capture)?),
            Request::Readings { capture } => {
                let entry = self.captures.get_mut(&capture).ok_or("it named an unknown capture")?;
                let readings = entry.readings();
                entry.keep(&readings);
                Answer::Plain(Reply::Readings(readings))
            }
            Request::Stop { capture, end_command } => {
                let entry = self.captures.get_mut(&capture).ok_or("it named an unknown capture")?;
                if entry.stage == Stage::Stopped {
                    return Err("it stopped a capture twice");
                }
                Answer::Plain(Reply::Stopped(entry.stop(end_command)))
            }
            Request::Discard { capture } => {
                let entry = self.captures.remove(&capture).ok_or("it named an unknown capture")?;
                if entry.stage != Stage::Stopped {
                    return Err("it discarded a capture that was not stopped");
                }
                Answer::Plain(Reply::Done)
            }
            request => self.answer_about_scripts(request)?,
        })
    }

    fn container_names(&mut self, ids: &[String]) -> Result<Reply, AgentError> {
        let is_id = |id: &String| id.len() == 64 && id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        if ids.len() > MAX_CONTAINER_IDS || !ids.iter().all(is_id) {
            let why = "there are too many, or one is not 64 digits of base sixteen";
            return Err(failed(AgentErrorKind::Invalid, "looking up the names of containers", why, ""));
        }
        let short = |text: &String| text.len() <= MAX_CONTAINER_NAME_BYTES;
        let name = |id: &String| {
            let ContainerName { name, image } = self.backend.container_name(id);
            ContainerName { name: name.filter(short), image: image.filter(short) }
        };
        Ok(Reply::ContainerNames { names: ids.iter().map(name).collect() })
    }

    fn start(
        &mut self,
        handle: CaptureHandle,
        sources: Vec<WireSource>,
        target: Target,
        ring_bytes: u32,
    ) -> Result<Reply, Violation> {
        if let Some(error) = self.no_room_for(handle)? {
            return Ok(Reply::Failed(error));
        }
        let watched = Watched::begin();
        let left = self.memory_left();
        let command_user = self.command_user(&target);
        let made = watched.pays(|| {
            let mut plan = CapturePlan::checked(sources, target, ring_bytes)?;
            plan.fit(left)?;
            self.backend.start(&plan)
        });
        Ok(engine_reply(made.map(|mut capture| {
            let started = Started { command_user, ..capture.started() };
            self.captures.insert(handle, SessionCapture::new(capture, &started, watched.made()));
            Reply::Started(started)
        })))
    }

    /// As whom the command of a target runs, if it has one.
    fn command_user(&self, target: &Target) -> Option<String> {
        let (Target::Command { user, .. } | Target::During { user, .. }) = target else { return None };
        self.backend.command_user(user.as_deref())
    }

    /// What is left for another capture beside those that there are.
    fn memory_left(&self) -> MemoryLeft {
        let sum = |of: fn(&SessionCapture) -> u64| self.captures.values().map(of).sum();
        MemoryLeft::beside(sum(|entry| entry.ring_bytes), sum(|entry| entry.map_bytes))
    }

    /// Why no further capture can be made, if so.
    fn no_room_for(&mut self, handle: CaptureHandle) -> Result<Option<AgentError>, Violation> {
        if self.captures.contains_key(&handle) {
            return Err("it used a capture's handle twice");
        }
        self.let_go.forget(handle);
        let why = format!("{MAX_CAPTURES} captures run already");
        let error = || failed(AgentErrorKind::Limit, "starting a capture", why, "Stop one of them first.");
        Ok((self.captures.len() >= MAX_CAPTURES).then(error))
    }

    fn set_budget(&mut self, handle: CaptureHandle, budget: Budget) -> Result<Result<Reply, AgentError>, Violation> {
        let entry = self.captures.get_mut(&handle).ok_or("it named an unknown capture")?;
        if entry.stage != Stage::Made {
            return Err("it set the budget of a capture that was enabled");
        }
        if !(1..=MAX_BUDGET_CPU_PERMILLE).contains(&budget.cpu_permille) {
            let why =
                format!("{} thousandths of a CPU are outside of 1 to {MAX_BUDGET_CPU_PERMILLE}", budget.cpu_permille);
            return Ok(Err(failed(AgentErrorKind::Invalid, "setting the capture's budget", why, "")));
        }
        if let Err(error) = budget.budgets().validate() {
            return Ok(Err(failed(AgentErrorKind::Invalid, "setting the capture's budget", error.to_string(), "")));
        }
        entry.watched.set_budget(budget);
        entry.capture.set_budget(budget);
        Ok(Ok(Reply::Done))
    }

    fn detach_events(&mut self, handle: CaptureHandle, events: &[u16]) -> Result<Result<Reply, AgentError>, Violation> {
        let entry = self.captures.get_mut(&handle).ok_or("it named an unknown capture")?;
        let trace = entry.capture.trace().ok_or("it named a capture that has no trace")?;
        if entry.stage != Stage::Enabled {
            let why = "it does not record now";
            return Ok(Err(failed(AgentErrorKind::Invalid, "detaching probes of the capture", why, "")));
        }
        Ok(trace.detach_events(events).map(|count| Reply::Changed { count }))
    }

    fn enable(&mut self, handle: CaptureHandle) -> Result<Reply, Violation> {
        let entry = self.captures.get_mut(&handle).ok_or("it named an unknown capture")?;
        if entry.stage != Stage::Made {
            return Err("it enabled a capture twice");
        }
        let enabled = entry.capture.enable();
        entry.stage = if enabled.is_ok() { Stage::Enabled } else { Stage::Broken };
        Ok(engine_reply(enabled.map(Reply::Enabled)))
    }

    fn rings(&self, handle: CaptureHandle, from: u32) -> Vec<BorrowedFd<'_>> {
        let Some(entry) = self.captures.get(&handle) else { return Vec::new() };
        let all = (from as usize..).map_while(|index| entry.capture.descriptor(index));
        all.take(MAX_MESSAGE_FDS).collect()
    }
}

fn file_answer(file: Result<OwnedFd, AgentError>) -> Answer {
    match file {
        Ok(file) => Answer::File(Reply::File, file),
        Err(error) => Answer::Plain(Reply::Failed(error)),
    }
}
