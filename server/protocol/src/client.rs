//! The console's side: one request, one reply.

mod attached;
mod call;
mod script;

use std::{os::fd::OwnedFd, time::Duration};

use bathyscope_capture::Target;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{
    ActivityPage, AgentError, Budget, Capability, CaptureHandle, Connection, ContainerName, Door, DynamicEvents,
    Enabled, KernelFile, MAX_ACTIVITY_BYTES, MAX_CONTAINER_IDS, PROTOCOL_VERSION, PerfEventInfo, ProcessFile,
    ProtocolError, Readings, Reply, ScriptRefused, Started, StartedSource, WireSource,
    counters::CounterView,
    large::{MAX_LARGE_REPLY_BYTES, MAX_LARGE_REQUEST_BYTES},
};

use call::{Descriptors, TypedRequest};
pub use script::{MapContent, OpenedUserFile};

/// How long an ordinary request may take.
pub const CALL_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an agent behind a door may take to answer at all; while there is none, nobody does.
const GREETING_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a request may take that loads, attaches or detaches: each probe may cost the kernel a grace period.
pub const SLOW_CALL_TIMEOUT: Duration = Duration::from_secs(60);

/// Why a request was not fulfilled.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// The agent said why. The connection goes on.
    #[error(transparent)]
    Refused(AgentError),
    /// The script is wrong, or needs what it does not get here. The connection goes on.
    #[error("the script cannot run: {}", .0.diagnostics.first().map_or("", |first| first.message.as_str()))]
    Script(ScriptRefused),
    /// The connection broke or cannot be trusted any more; connect again.
    #[error("the connection to the agent has ended")]
    Broken(#[from] ProtocolError),
}

/// The descriptors of a capture.
#[derive(Debug, Default)]
pub struct TakenRings {
    /// In the order of [`Started::rings`].
    pub rings: Vec<OwnedFd>,
    /// Read ends of the command's standard output and standard error, if there is one.
    pub output: Option<(OwnedFd, OwnedFd)>,
}

/// A connection to the agent. Every method blocks until the reply is there; use it from a thread of its own.
#[derive(Debug)]
pub struct AgentClient {
    connection: Connection,
    simulated: bool,
    broken: bool,
}

impl AgentClient {
    /// Connects to the agent behind a door and greets it.
    ///
    /// # Errors
    /// If none takes the connection in time, or it speaks another version.
    pub fn through(door: &Door) -> Result<Self, ClientError> {
        Self::greet(door.connect()?, GREETING_TIMEOUT)
    }

    /// Greets the agent at the other end of `connection`.
    ///
    /// # Errors
    /// If it does not answer as agreed.
    pub fn over(connection: Connection) -> Result<Self, ClientError> {
        Self::greet(connection, CALL_TIMEOUT)
    }

    fn greet(connection: Connection, timeout: Duration) -> Result<Self, ClientError> {
        let mut client = Self { connection, simulated: false, broken: false };
        let (version, simulated) = client.ask(TypedRequest { timeout, ..call::hello(PROTOCOL_VERSION) })?;
        if version != PROTOCOL_VERSION {
            return Err(client.wrong_reply("hello"));
        }
        Ok(Self { simulated, ..client })
    }

    /// Whether its events are made up.
    pub fn simulated(&self) -> bool {
        self.simulated
    }

    /// Whether the connection has ended, as far as can be seen without asking: between two requests the agent says
    /// nothing, so anything to read is its end.
    pub fn hung_up(&self) -> bool {
        let mut polled = [PollFd::new(&self.connection, PollFlags::IN)];
        self.broken || poll(&mut polled, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    /// Tries every way to observe the host; takes up to a few seconds.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn capabilities(&mut self) -> Result<Vec<Capability>, ClientError> {
        self.ask(call::capabilities())
    }

    /// Tries every event with a name of its own.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn perf_events(&mut self) -> Result<Vec<PerfEventInfo>, ClientError> {
        self.ask(call::perf_events())
    }

    /// The dynamic events of the host.
    ///
    /// # Errors
    /// If they cannot be listed, or the connection breaks.
    pub fn dynamic_events(&mut self) -> Result<DynamicEvents, ClientError> {
        self.ask(call::dynamic_events())
    }

    /// Whether the kernel takes a dynamic event: it is made and removed at once.
    ///
    /// # Errors
    /// If the kernel or the agent refuses it, or the connection breaks.
    pub fn try_event(&mut self, line: &str) -> Result<(), ClientError> {
        self.ask(call::try_event(line.to_owned()))
    }

    /// Switches dynamic events of a trace off; returns how many.
    ///
    /// # Errors
    /// If the agent cannot, or the connection breaks.
    pub fn detach_events(&mut self, capture: CaptureHandle, events: Vec<u16>) -> Result<u32, ClientError> {
        self.ask(call::detach_events(capture, events))
    }

    /// Switches a dynamic event of another agent off; returns in how many instances it was on.
    ///
    /// # Errors
    /// If the agent may not, or the connection breaks.
    pub fn detach_others(&mut self, group: String, name: String) -> Result<u32, ClientError> {
        self.ask(call::detach_others(group, name))
    }

    /// Lets the kernel optimise its probes, or not.
    ///
    /// # Errors
    /// If the agent cannot, or the connection breaks.
    pub fn optimize_kprobes(&mut self, on: bool) -> Result<(), ClientError> {
        self.ask(call::optimize_kprobes(on))
    }

    /// Opens a file of the kernel for reading.
    ///
    /// # Errors
    /// If it does not exist or may not be read, or the connection breaks.
    pub fn open_kernel_file(&mut self, file: KernelFile) -> Result<OwnedFd, ClientError> {
        Ok(self.ask_with(call::open_kernel_file(file))?.1)
    }

    /// Opens a file of a process for reading.
    ///
    /// # Errors
    /// If it or the process does not exist or may not be read, or the connection breaks.
    pub fn open_process_file(&mut self, pid: u32, file: ProcessFile) -> Result<OwnedFd, ClientError> {
        Ok(self.ask_with(call::open_process_file(pid, file))?.1)
    }

    /// Says what a capture that is not enabled yet may cost.
    ///
    /// # Errors
    /// If the budget cannot be one, or the connection breaks.
    pub fn set_budget(&mut self, capture: CaptureHandle, budget: Budget) -> Result<(), ClientError> {
        self.ask(call::set_budget(capture, budget))
    }

    /// All processes, ascending.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn list_processes(&mut self) -> Result<Vec<u32>, ClientError> {
        let mut all: Vec<u32> = Vec::new();
        loop {
            let after = all.last().copied().unwrap_or(0);
            let (pids, more) = self.ask(call::list_processes(after))?;
            let ascending = pids.iter().try_fold(after, |last, pid| (*pid > last).then_some(*pid)).is_some();
            if !ascending || (more && pids.is_empty()) {
                return Err(self.wrong_reply("list_processes"));
            }
            all.extend(pids);
            if !more {
                return Ok(all);
            }
        }
    }

    /// What processes with a greater id than `after` use: a page, and the bytes of its file.
    ///
    /// # Errors
    /// If they cannot be listed, or the connection breaks.
    pub fn process_activity(&mut self, after: u32) -> Result<(ActivityPage, Vec<u8>), ClientError> {
        let (page, file) = self.ask_with(call::process_activity(after))?;
        // Pages that do not advance would not end.
        if page.left > 0 && page.last <= after {
            return Err(self.wrong_reply("process_activity"));
        }
        Ok((page, self.content(&file, MAX_ACTIVITY_BYTES)?))
    }

    /// The control groups of version 2, ascending by path.
    ///
    /// # Errors
    /// If the agent cannot list them, or the connection breaks.
    pub fn list_groups(&mut self) -> Result<Vec<String>, ClientError> {
        let mut all: Vec<String> = Vec::new();
        loop {
            let after = all.last().cloned().unwrap_or_default();
            let (paths, more) = self.ask(call::list_groups(after.clone()))?;
            let first = paths.first().is_none_or(|first| *first > after);
            if !first || !paths.is_sorted_by(|a, b| a < b) || (more && paths.is_empty()) {
                return Err(self.wrong_reply("list_groups"));
            }
            all.extend(paths);
            if !more {
                return Ok(all);
            }
        }
    }

    /// What container runtimes call these containers, in the order of their ids.
    ///
    /// # Errors
    /// If an id cannot be one, or the connection breaks.
    pub fn container_names(&mut self, ids: &[String]) -> Result<Vec<ContainerName>, ClientError> {
        let mut all = Vec::with_capacity(ids.len());
        for ids in ids.chunks(MAX_CONTAINER_IDS) {
            let names = self.ask(call::container_names(ids.to_vec()))?;
            if names.len() != ids.len() {
                return Err(self.wrong_reply("container_names"));
            }
            all.extend(names);
        }
        Ok(all)
    }

    /// Makes a capture's probes; nothing is recorded before [`AgentClient::enable`].
    ///
    /// # Errors
    /// [`ClientError::Script`] if a script among them does not compile or cannot be attached; others if the agent refuses
    /// it, or the connection breaks.
    pub fn start(
        &mut self,
        capture: CaptureHandle,
        sources: impl Into<Vec<WireSource>>,
        target: Target,
        ring_bytes: u32,
    ) -> Result<Started, ClientError> {
        let sources = sources.into();
        let asked: Vec<(bool, bool)> =
            sources.iter().map(|source| (source.method.has_plan(), source.required)).collect();
        let started = self.ask(call::start(capture, sources, target, ring_bytes))?;
        // Whoever asked for a script relies on its plan.
        let fits = |(source, (has_plan, required)): (&StartedSource, &(bool, bool))| match source.failed {
            Some(_) => !required && source.rings.is_empty() && source.streams.is_empty() && source.script.is_none(),
            None => source.script.is_some() == *has_plan,
        };
        let is_whole = started.sources.len() == asked.len() && started.sources.iter().zip(&asked).all(fits);
        if is_whole { Ok(started) } else { Err(self.wrong_reply("start")) }
    }

    /// Takes the descriptors of a capture that `started` tells of.
    ///
    /// # Errors
    /// If the connection breaks.
    pub fn take_rings(&mut self, capture: CaptureHandle, started: &Started) -> Result<TakenRings, ClientError> {
        let of_sources = started.rings().count();
        let wanted = of_sources + if started.has_output { 2 } else { 0 };
        let mut rings: Vec<OwnedFd> = Vec::new();
        while rings.len() < wanted {
            let from = u32::try_from(rings.len()).unwrap_or(u32::MAX);
            let (count, got) = self.ask_with(call::take_rings(capture, from))?;
            if got.is_empty() || got.len() != count as usize {
                return Err(self.wrong_reply("take_rings"));
            }
            rings.extend(got);
        }
        let extra = rings.split_off(of_sources);
        let output = <[OwnedFd; 2]>::try_from(extra).ok().map(|[stdout, stderr]| (stdout, stderr));
        Ok(TakenRings { rings, output })
    }

    /// Opens the file of a capture's readings, which can be read also when the agent is gone.
    ///
    /// # Errors
    /// If the agent cannot make it, or the connection breaks.
    pub fn open_counters(&mut self, capture: CaptureHandle) -> Result<CounterView, ClientError> {
        let ((), file) = self.ask_with(call::open_counters(capture))?;
        CounterView::new(file).map_err(|_not_such_a_file| self.wrong_reply("open_counters"))
    }

    /// Begins to record: runs a script's `begin` probes, enables everything, and lets a command run.
    ///
    /// # Errors
    /// [`ClientError::Script`] if probes cannot be attached without which a script does not run; others if the agent
    /// refuses it, or the connection breaks.
    pub fn enable(&mut self, capture: CaptureHandle) -> Result<Enabled, ClientError> {
        self.ask(call::enable(capture))
    }

    /// Counters, cost and state of the target.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn readings(&mut self, capture: CaptureHandle) -> Result<Readings, ClientError> {
        self.ask(call::readings(capture))
    }

    /// Detaches all probes and returns the final counters; the rings keep what they hold.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn stop(&mut self, capture: CaptureHandle, end_command: bool) -> Result<Readings, ClientError> {
        self.ask(call::stop(capture, end_command))
    }

    /// Forgets a stopped capture and frees its handle.
    ///
    /// # Errors
    /// If the agent refuses it, or the connection breaks.
    pub fn discard(&mut self, capture: CaptureHandle) -> Result<(), ClientError> {
        self.ask(call::discard(capture))
    }

    fn wrong_reply(&mut self, request: &'static str) -> ClientError {
        self.broken = true;
        ClientError::Broken(ProtocolError::WrongReply { request })
    }

    fn ask<R>(&mut self, call: TypedRequest<R>) -> Result<R, ClientError> {
        Ok(self.ask_with(call)?.0)
    }

    /// After any trouble with the connection nothing more is sent: a late reply would be taken for the next one.
    fn ask_with<R, D: Descriptors>(&mut self, call: TypedRequest<R, D>) -> Result<(R, D), ClientError> {
        if self.broken {
            return Err(ClientError::Broken(ProtocolError::Closed));
        }
        self.broken = true;
        self.connection.send_large(&call.request, &[], MAX_LARGE_REQUEST_BYTES, call.timeout)?;
        let received = self.connection.receive_large::<Reply>(Some(call.timeout), MAX_LARGE_REPLY_BYTES)?;
        let (reply, descriptors) = (received.message, received.descriptors);
        let most = if matches!(reply, Reply::Failed(_) | Reply::ScriptRefused(_)) { 0 } else { D::MOST };
        if descriptors.len() > most {
            return Err(ProtocolError::Descriptors { found: descriptors.len(), most }.into());
        }
        self.broken = false;
        match reply {
            Reply::Failed(error) => Err(ClientError::Refused(error)),
            Reply::ScriptRefused(refused) => Err(ClientError::Script(refused)),
            reply => (call.read)(reply).zip(D::take(descriptors)).ok_or_else(|| self.wrong_reply(call.name)),
        }
    }
}
