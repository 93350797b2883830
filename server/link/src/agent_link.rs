//! The connection to the agent: one thread owns it, everybody else asks through a queue.

use std::{
    os::fd::OwnedFd,
    sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel},
    time::{Duration, Instant},
};

use bathyscope_protocol::{
    AgentClient, AgentError, Capability, ClientError, Door, KernelFile, ProcessFile, ScriptRefused,
};
use serde::Serialize;
use tokio::sync::{oneshot, watch};

/// Requests that may wait for the agent.
const QUEUE: usize = 1024;
/// How often an idle connection is looked at.
const IDLE_CHECK: Duration = Duration::from_millis(200);
/// The first pause before another attempt to connect; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(50);
/// The longest pause between attempts to connect.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);
/// How long the agent may be away before it counts as absent rather than restarting.
const RESTARTING: Duration = Duration::from_secs(15);

/// Whether there is an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentState {
    /// It answers.
    Connected,
    /// It is expected to come (back) soon.
    Restarting,
    /// There has been none for a while.
    Absent,
}

/// What is known about the agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AgentStatus {
    /// Whether there is one.
    pub state: AgentState,
    /// Whether its events are made up.
    pub simulated: bool,
    /// Why there is none; empty while it is connected.
    pub message: String,
    /// Counts connections: what was made over an earlier one is gone.
    #[serde(skip)]
    pub connection: u64,
}

/// Why the agent did not do something.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// It refused, and said why.
    #[error(transparent)]
    Refused(#[from] AgentError),
    /// It refused a script, and said what is wrong with it.
    #[error("the script cannot run: {}", .0.diagnostics.first().map_or("", |first| first.message.as_str()))]
    Script(ScriptRefused),
    /// There is no agent, or it went away while it was asked.
    #[error("the agent cannot be reached: {message}")]
    Absent {
        /// What is known about it.
        message: String,
    },
    /// Too many requests wait for it.
    #[error("the agent is busy: {QUEUE} requests wait for it; try again in a moment")]
    Busy,
}

impl From<ClientError> for LinkError {
    fn from(error: ClientError) -> Self {
        match error {
            ClientError::Refused(error) => Self::Refused(error),
            ClientError::Script(refused) => Self::Script(refused),
            other => Self::Absent { message: words(&other) },
        }
    }
}

type Job = Box<dyn FnOnce(Result<&mut AgentClient, LinkError>) -> bool + Send>;
type Connect = Box<dyn FnMut() -> Result<AgentClient, ClientError> + Send>;

/// The connection to the agent. Cheap to clone; the last clone that is dropped ends it.
#[derive(Clone, Debug)]
pub struct AgentLink {
    jobs: SyncSender<Job>,
    status: watch::Receiver<AgentStatus>,
}

impl AgentLink {
    /// Connects to the agent behind a door, now and whenever the connection is lost. `abandoned` is called when nobody is behind
    /// the door any more: a supervisor without CAP_KILL cannot have the kernel tell a process of another user that it has ended.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn through(door: Door, abandoned: impl Fn() + Send + 'static) -> std::io::Result<Self> {
        Self::new(move || {
            if door.is_abandoned() {
                abandoned();
            }
            AgentClient::through(&door)
        })
    }

    /// Gets its connections from `connect`, which is called again after a pause whenever it fails or what it gave
    /// breaks.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn new(connect: impl FnMut() -> Result<AgentClient, ClientError> + Send + 'static) -> std::io::Result<Self> {
        let (jobs, waiting) = sync_channel(QUEUE);
        let message = "it has not been reached yet".to_owned();
        let first = AgentStatus { state: AgentState::Restarting, simulated: false, message, connection: 0 };
        let (status, watched) = watch::channel(first);
        let connect: Connect = Box::new(connect);
        let mut thread = LinkThread { connect, status, client: None, lost_at: Instant::now(), pause: FIRST_PAUSE };
        std::thread::Builder::new().name("bathyscope-link".to_owned()).spawn(move || thread.run(&waiting))?;
        Ok(Self { jobs, status: watched })
    }

    /// What is known about the agent.
    pub fn status(&self) -> AgentStatus {
        self.status.borrow().clone()
    }

    /// Changes of what is known about the agent.
    pub fn watch(&self) -> watch::Receiver<AgentStatus> {
        self.status.clone()
    }

    /// Waits until the agent is connected, at most for `limit`; says whether it is.
    pub async fn connected(&self, limit: Duration) -> bool {
        let mut status = self.status.clone();
        let connected = status.wait_for(|status| status.state == AgentState::Connected);
        matches!(tokio::time::timeout(limit, connected).await, Ok(Ok(_)))
    }

    fn submit<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut AgentClient) -> Result<T, ClientError> + Send + 'static,
        answer: impl FnOnce(Result<T, LinkError>) + Send + 'static,
    ) -> Result<(), LinkError> {
        let job: Job = Box::new(move |client| {
            let result = match client {
                Ok(client) => ask(client),
                Err(error) => {
                    answer(Err(error));
                    return true;
                }
            };
            let usable = !matches!(result, Err(ClientError::Broken(_)));
            answer(result.map_err(LinkError::from));
            usable
        });
        self.jobs.try_send(job).map_err(|error| match error {
            TrySendError::Full(_) => LinkError::Busy,
            TrySendError::Disconnected(_) => LinkError::Absent { message: "its thread has ended".to_owned() },
        })
    }

    /// Runs `ask` with the connection, on its thread, after everything that was asked before. It runs to its end even
    /// if nobody waits for the answer any more.
    ///
    /// # Errors
    /// What the agent refused with, or that it cannot be reached.
    pub async fn call<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut AgentClient) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, LinkError> {
        let (sender, answer) = oneshot::channel();
        self.submit(ask, |result| drop(sender.send(result)))?;
        answer.await.unwrap_or_else(|_dropped| Err(LinkError::Absent { message: "its thread has ended".to_owned() }))
    }

    /// As [`AgentLink::call`], for threads that may wait. Never call it from asynchronous code.
    ///
    /// # Errors
    /// As [`AgentLink::call`].
    pub fn call_blocking<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut AgentClient) -> Result<T, ClientError> + Send + 'static,
    ) -> Result<T, LinkError> {
        let (sender, answer) = sync_channel(1);
        self.submit(ask, move |result| drop(sender.send(result)))?;
        answer.recv().unwrap_or_else(|_dropped| Err(LinkError::Absent { message: "its thread has ended".to_owned() }))
    }

    /// Tries every way to observe the host.
    ///
    /// # Errors
    /// As [`AgentLink::call`].
    pub async fn capabilities(&self) -> Result<Vec<Capability>, LinkError> {
        self.call(AgentClient::capabilities).await
    }

    /// Opens a file of the kernel for reading.
    ///
    /// # Errors
    /// As [`AgentLink::call`].
    pub async fn open_kernel_file(&self, file: KernelFile) -> Result<OwnedFd, LinkError> {
        self.call(|client| client.open_kernel_file(file)).await
    }

    /// Opens a file of a process for reading.
    ///
    /// # Errors
    /// As [`AgentLink::call`].
    pub async fn open_process_file(&self, pid: u32, file: ProcessFile) -> Result<OwnedFd, LinkError> {
        self.call(move |client| client.open_process_file(pid, file)).await
    }

    /// The processes that exist, in ascending order.
    ///
    /// # Errors
    /// As [`AgentLink::call`].
    pub async fn list_processes(&self) -> Result<Vec<u32>, LinkError> {
        self.call(AgentClient::list_processes).await
    }
}

/// An error with its causes, each once.
pub fn words(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

struct LinkThread {
    connect: Connect,
    status: watch::Sender<AgentStatus>,
    client: Option<AgentClient>,
    lost_at: Instant,
    pause: Duration,
}

impl LinkThread {
    fn run(&mut self, waiting: &Receiver<Job>) {
        loop {
            let wait = if self.client.is_some() { IDLE_CHECK } else { self.reconnect() };
            let until = Instant::now() + wait;
            loop {
                match waiting.recv_timeout(until.saturating_duration_since(Instant::now())) {
                    Ok(job) => self.answer(job),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
            }
            if self.client.as_ref().is_some_and(AgentClient::hung_up) {
                self.lost("it has ended or closed the connection");
            }
        }
    }

    fn answer(&mut self, job: Job) {
        match &mut self.client {
            Some(client) => {
                if !job(Ok(client)) {
                    self.lost("the connection to it broke");
                }
            }
            None => {
                let message = self.status.borrow().message.clone();
                let _nothing_to_lose = job(Err(LinkError::Absent { message }));
            }
        }
    }

    fn lost(&mut self, message: &str) {
        tracing::warn!(message, "the agent is gone");
        self.client = None;
        self.lost_at = Instant::now();
        self.pause = FIRST_PAUSE;
        self.status.send_modify(|status| {
            status.state = AgentState::Restarting;
            status.message = message.to_owned();
        });
    }

    /// Tries to connect; gives back how long to wait before the next attempt, or nothing to wait for.
    fn reconnect(&mut self) -> Duration {
        match (self.connect)() {
            Ok(client) => {
                let simulated = client.simulated();
                tracing::info!(simulated, "the agent is connected");
                self.client = Some(client);
                self.pause = FIRST_PAUSE;
                self.status.send_modify(|status| {
                    let connection = status.connection + 1;
                    *status =
                        AgentStatus { state: AgentState::Connected, simulated, message: String::new(), connection };
                });
                Duration::ZERO
            }
            Err(error) => {
                let away = self.lost_at.elapsed() >= RESTARTING;
                let state = if away { AgentState::Absent } else { AgentState::Restarting };
                let message = words(&error);
                self.status.send_if_modified(|status| {
                    let changed = status.state != state || status.message != message;
                    status.state = state;
                    status.message = message;
                    changed
                });
                let pause = self.pause;
                self.pause = (pause * 2).min(LONGEST_PAUSE);
                pause
            }
        }
    }
}
