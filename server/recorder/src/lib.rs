//! Makes captures: asks the agent for probes, reads their rings, decodes, stores, and accounts for every event.
//!
//! A capture runs in threads of its own. One *reader* copies records out of the rings by timed polling; one *decoder*
//! turns them into columns, dictionaries and the process history; one task appends to the store. The queues between them
//! are bounded, and when one is full the one before waits, back to the kernel's ring, where the kernel counts what it
//! cannot place: there is no place where an event can get lost uncounted. A *controller* takes readings from the agent,
//! watches limits, and ends the capture; its ledger then balances: `emitted = stored + losses`.
//!
//! Everything here goes on when the HTTP request that asked for it is dropped. It must not know HTTP or SQL, and trusts
//! nothing in a record: text stays bytes, lengths are checked, names from events are never opened.

#![forbid(unsafe_code)]

mod appender;
mod by_name;
mod chunks;
mod clock;
mod code;
mod control;
mod counters;
mod data_areas;
mod decoder;
mod derivation;
mod engine;
mod flight;
mod flight_state;
mod frames;
mod go_returns;
mod guard_words;
mod history;
mod kernel_formats;
mod kernel_symbols;
mod ledger;
mod live;
mod live_rows;
mod lookup;
mod mappings;
mod naming;
mod output;
mod page_reader;
mod prepared;
mod priority;
mod process_metadata;
mod process_status;
mod progress;
mod reader;
mod request;
mod rings;
mod row;
mod running;
mod running_script;
pub mod script;
mod sink;
mod start;
mod threads;
mod unwind;

pub use by_name::open_by_name;
pub use clock::boot_time;
pub use derivation::{DerivationFailure, DerivationProgress, DerivationRefusal, Derivations, derive, rules_of};
pub use engine::{
    script::{map_kind, probes_of, shows_user_addresses},
    syscalls::{columns as syscall_columns, kinds as syscall_kinds},
};
pub use flight_state::{FireCause, FireError, FlightStatus};
pub use guard_words::guard_words;
pub use live::{
    LiveMessage, MAX_QUEUED_BYTES, MAX_QUEUED_MESSAGES, MAX_VIEWERS, MapTick, ProbeTick, StreamTick, Subscription, Tick,
};
pub use mappings::{Backing, FileKey, Place as MappedAt, Processes};
pub use naming::CUT_NAME;
pub use priority::URGENT_NICE_LIMIT;

use std::{
    collections::HashSet,
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicU32, Ordering},
        mpsc::SyncSender,
    },
    time::Duration,
};

use bathyscope_capture::{CaptureId, CaptureSpec, SpecError, visible};
use bathyscope_link::{self as link, AgentLink, LinkError, groups::TargetError, script::ScriptFailure};
use bathyscope_plan::Plan;
use bathyscope_protocol::{CpuTime, TargetState};
use bathyscope_store::{Store, StoreError};
use tokio::sync::{Notify, Semaphore};

use kernel_symbols::KernelSymbols;
use process_metadata::lock;
use rings::merge;
use running::{Phase, Running};
use script::ScriptEvent;

/// How captures are made.
#[derive(Clone, Debug)]
pub struct RecorderOptions {
    /// A private directory for copies of files that are read for symbols.
    pub private_dir: PathBuf,
    /// Bytes of the kernel's ring for each stream; the agent has the last word.
    pub ring_bytes: u32,
    /// The longest time that rows wait before they are stored.
    pub flush_every: Duration,
    /// The most captures at a time.
    pub max_captures: usize,
    /// How long a capture that nothing else ends goes on while nobody looks at it (P25); none for ever.
    pub idle_stop: Option<Duration>,
}

impl RecorderOptions {
    /// The usual options with a private directory, which must exist.
    pub fn new(private_dir: impl Into<PathBuf>) -> Self {
        let flush_every = Duration::from_secs(1);
        let idle_stop = Some(Duration::from_secs(600));
        Self { private_dir: private_dir.into(), ring_bytes: 16 << 20, flush_every, max_captures: 8, idle_stop }
    }
}

/// Why a capture could not be started. Nothing of it is left in the kernel.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The spec cannot be run.
    #[error("the capture cannot be made as it is described")]
    Spec(#[from] SpecError),
    /// The agent refused or is not there.
    #[error(transparent)]
    Agent(#[from] LinkError),
    /// Whose events are wanted was not found.
    #[error(transparent)]
    Target(TargetError),
    /// The script is wrong, or does not run here.
    #[error(transparent)]
    Script(#[from] ScriptFailure),
    /// What a flight recorder is to fire at cannot be told from its rows.
    #[error("{why}")]
    Flight {
        /// Why, in words.
        why: String,
    },
    /// The filter of calls cannot be read or decided.
    #[error("the filter of calls cannot be read, at character {}: {}", .0.offset + 1, .0)]
    Filter(bathyscope_formats::SysdigError),
    /// The dynamic events cannot be made.
    #[error("{}", .diagnostics.first().map_or("the probes are wrong", |first| first.message.as_str()))]
    Dynamic {
        /// What was written, a line each.
        text: String,
        /// What is wrong, with places in the text.
        diagnostics: Vec<bathyscope_plan::Diagnostic>,
    },
    /// The store refused.
    #[error("the capture cannot be stored")]
    Store(#[from] StoreError),
    /// What the agent gave cannot be used.
    #[error("the agent's rings cannot be read: {why}")]
    Rings {
        /// Why.
        why: String,
    },
    /// Its threads cannot run before others.
    #[error(
        "this console may not read with a high priority: whoever started it lets its threads have no niceness of {}; start it \
         as root, or set `LimitNICE={}` for its service, or leave the priority as usual",
        priority::URGENT_NICENESS,
        priority::URGENT_NICENESS
    )]
    Priority,
    /// As many captures run as may.
    #[error("{limit} captures are running, which is the most at a time; stop one first")]
    TooMany {
        /// How many may run.
        limit: usize,
    },
    /// The console is being stopped.
    #[error("the console is being stopped")]
    ShuttingDown,
    /// Threads, randomness or memory are not to be had.
    #[error("{doing} failed: {why}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// Why.
        why: String,
    },
}

/// A dynamic event of a running capture.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct CaptureProbe {
    /// Its group in the kernel.
    pub group: String,
    /// Its name in the kernel.
    pub name: String,
    /// What it is called in the capture.
    pub label: String,
    /// The capture.
    pub capture: CaptureId,
    /// The capture's title.
    pub title: String,
}

/// For whom a dynamic event was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeBy {
    /// The running capture.
    pub capture: CaptureId,
    /// Whose capture it is.
    pub owner: String,
    /// What the event is called in the capture.
    pub label: String,
}

/// Why probes of a capture could not be detached.
#[derive(Debug, thiserror::Error)]
pub enum DetachError {
    /// It does not record.
    #[error("the capture does not run, so its probes are gone")]
    NotRunning,
    /// None has such a name.
    #[error("no probe of the capture matches `{pattern}`; it has {known}")]
    NoMatch {
        /// What was asked for.
        pattern: String,
        /// Those that it has.
        known: String,
    },
    /// The agent refused or is not there.
    #[error(transparent)]
    Agent(#[from] LinkError),
}

impl From<TargetError> for StartError {
    fn from(error: TargetError) -> Self {
        match error {
            TargetError::Agent(error) => Self::Agent(error),
            error => Self::Target(error),
        }
    }
}

/// A capture that is being recorded.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct RunningCapture {
    /// Which.
    pub id: CaptureId,
    /// Its title when it was started.
    pub title: String,
    /// Who started it.
    pub owner: String,
    /// What it does now, in a word: `recording`, `stopping` or `naming`.
    pub state: &'static str,
    /// Rows read per second.
    pub rows_per_s: f64,
    /// Events lost so far.
    pub lost: u64,
    /// Share of one CPU that its probes use, in thousandths, where that can be measured.
    pub cpu_permille: Option<f64>,
    /// What it has in memory, if it is a flight recorder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flight: Option<FlightStatus>,
}

/// Why captures end with the console.
const STOPPED: &str = "the console was stopped";

/// Makes captures. Cheap to clone; all clones are the same recorder.
#[derive(Clone, Debug)]
pub struct Recorder {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    store: Store,
    link: AgentLink,
    options: RecorderOptions,
    kernel: KernelSymbols,
    /// One permit for each capture that may run.
    slots: Arc<Semaphore>,
    handles: AtomicU32,
    running: Mutex<Vec<Arc<Running>>>,
    /// Told when one of them is not worked on any more.
    left: Notify,
    /// What computes streams of captures.
    derivations: OnceLock<Derivations>,
}

impl Inner {
    fn next_handle(&self) -> u32 {
        self.handles.fetch_add(1, Ordering::Relaxed)
    }

    fn add(&self, running: Arc<Running>) {
        if self.slots.is_closed() {
            // It was being started when the console was stopped.
            running.progress.stop(STOPPED.to_owned());
        }
        lock(&self.running).push(running);
    }

    fn remove(&self, id: CaptureId) {
        lock(&self.running).retain(|running| running.id != id);
        self.left.notify_one();
    }

    fn find(&self, id: CaptureId) -> Option<Arc<Running>> {
        lock(&self.running).iter().find(|running| running.id == id).cloned()
    }

    fn all(&self) -> Vec<Arc<Running>> {
        lock(&self.running).clone()
    }
}

impl Recorder {
    /// A recorder that stores in `store` and asks through `link`. To be called in a tokio runtime.
    pub fn new(store: Store, link: AgentLink, options: RecorderOptions) -> Self {
        let slots = Arc::new(Semaphore::new(options.max_captures));
        let (kernel, running, left) = (KernelSymbols::default(), Mutex::default(), Notify::new());
        let handles = AtomicU32::new(1);
        Self {
            inner: Arc::new(Inner {
                store,
                link,
                options,
                kernel,
                slots,
                handles,
                running,
                left,
                derivations: OnceLock::new(),
            }),
        }
    }

    /// From now on, streams of captures are computed: while somebody looks at one that is recorded, and when it has ended.
    pub fn compute_streams(&self, derivations: Derivations) {
        let _first = self.inner.derivations.set(derivations);
    }

    /// Starts a capture for `owner` and gives its id as soon as it records. If the caller stops waiting, the capture
    /// goes on, and ends by its limits.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(&self, spec: CaptureSpec, owner: &str) -> Result<CaptureId, StartError> {
        self.start_with(spec, owner, None).await
    }

    /// As [`Recorder::start`], for a script: everything that it says goes to `tap` too, in order, and the capture waits
    /// for it. When nobody receives any more, the capture ends.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start_tapped(
        &self,
        spec: CaptureSpec,
        owner: &str,
        tap: SyncSender<ScriptEvent>,
    ) -> Result<CaptureId, StartError> {
        self.start_with(spec, owner, Some(tap)).await
    }

    async fn start_with(
        &self,
        spec: CaptureSpec,
        owner: &str,
        tap: Option<SyncSender<ScriptEvent>>,
    ) -> Result<CaptureId, StartError> {
        let (inner, owner) = (Arc::clone(&self.inner), owner.to_owned());
        // A task of its own: dropping it at any point of the way would leave half a capture.
        let started = tokio::spawn(start::start(inner, spec, owner, tap));
        let panicked = |error: tokio::task::JoinError| StartError::System {
            doing: "starting the capture",
            why: error.to_string(),
        };
        started.await.map_err(panicked)?
    }

    /// What the script of a capture does that runs or ended a moment ago; none if no script makes it.
    pub fn script(&self, id: CaptureId) -> Option<Arc<Plan>> {
        let running = self.inner.find(id)?;
        running.script.as_ref().map(|script| Arc::clone(&script.plan))
    }

    /// As whom the command of a capture runs or ran, by what the agent said; none without a command, and a while after the
    /// capture's end.
    pub fn command_user(&self, id: CaptureId) -> Option<String> {
        self.inner.find(id)?.made.command_user.clone()
    }

    /// Asks a running capture to stop, with the reason `stopped by WHO`; says whether it was running. It has ended
    /// when its viewers are told so, or when [`Recorder::wait`] returns.
    pub fn stop(&self, id: CaptureId, who: &str) -> bool {
        let running = self.inner.find(id).filter(|running| running.phase() == Phase::Recording);
        running.is_some_and(|running| {
            running.progress.stop(format!("stopped by {}", visible(who.as_bytes())));
            true
        })
    }

    /// The running capture for which a dynamic event was made, and what it is called there.
    pub fn made_by(&self, group: &str, name: &str) -> Option<MadeBy> {
        self.inner.all().iter().find_map(|running| {
            let event = running.made.events.iter().find(|event| event.group == group && event.name == name)?;
            Some(MadeBy { capture: running.id, owner: running.owner.clone(), label: event.label.clone() })
        })
    }

    /// The dynamic events of running captures whose names match a pattern.
    pub fn probes(&self, pattern: &str) -> Vec<CaptureProbe> {
        let all = self.inner.all().into_iter().filter(|running| running.phase() == Phase::Recording);
        let of = |running: Arc<Running>| {
            let matching = running.made.events.iter().filter(|event| event.matches(pattern));
            let probe = |event: &running::MadeEvent| CaptureProbe {
                group: event.group.clone(),
                name: event.name.clone(),
                label: event.label.clone(),
                capture: running.id,
                title: running.title.clone(),
            };
            matching.map(probe).collect::<Vec<_>>()
        };
        all.flat_map(of).collect()
    }

    /// Switches the dynamic events of a running capture off whose names match a pattern of `*` and `?`; the capture goes on.
    /// Gives their names.
    ///
    /// # Errors
    /// If it does not run, none matches, or the agent cannot.
    pub async fn detach(&self, id: CaptureId, pattern: &str) -> Result<Vec<String>, DetachError> {
        let running = self.inner.find(id).filter(|running| running.phase() == Phase::Recording);
        let running = running.ok_or(DetachError::NotRunning)?;
        let made = &running.made;
        let matching: Vec<_> = made.events.iter().filter(|event| event.matches(pattern)).collect();
        if matching.is_empty() {
            let labels: Vec<&str> = made.events.iter().map(|event| event.label.as_str()).collect();
            let known = if labels.is_empty() { "none".to_owned() } else { labels.join(", ") };
            return Err(DetachError::NoMatch { pattern: pattern.to_owned(), known });
        }
        if self.inner.link.status().connection != made.connection {
            return Err(DetachError::NotRunning);
        }
        let (handle, indices) = (made.handle, matching.iter().map(|event| event.index).collect());
        self.inner.link.call(move |client| client.detach_events(handle, indices)).await?;
        Ok(matching.into_iter().map(|event| event.label.clone()).collect())
    }

    /// Waits until a capture is not recorded any more: its last rows and its ledger are stored. Names of its functions
    /// may still be missing.
    pub async fn wait(&self, id: CaptureId) {
        if let Some(running) = self.inner.find(id) {
            running.stored().await;
        }
    }

    /// In words, if a capture that ended a moment ago has frames in files that could not be opened.
    pub fn without_file(&self, id: CaptureId) -> Option<String> {
        self.inner.find(id).and_then(|running| running.progress.without_file_words())
    }

    /// Whether a capture is being recorded.
    pub fn is_recording(&self, id: CaptureId) -> bool {
        self.inner.find(id).is_some_and(|running| running.phase() == Phase::Recording)
    }

    /// Waits until a capture has ended altogether: its functions have names too, unless that takes very long.
    pub async fn ended(&self, id: CaptureId) {
        if let Some(mut view) = self.live(id) {
            while view.next().await.is_some() {}
        }
    }

    /// What became of the target of a capture that runs or ended a moment ago.
    pub fn target(&self, id: CaptureId) -> TargetState {
        self.inner.find(id).map_or_else(TargetState::default, |running| *lock(&running.target))
    }

    /// What the command of a capture of counts that ended a moment ago has used.
    pub fn command_time(&self, id: CaptureId) -> Option<CpuTime> {
        self.inner.find(id).and_then(|running| *lock(&running.command_time))
    }

    /// Why the guard has detached the probes of a capture that runs or ended a moment ago; none if it has not.
    pub fn detached(&self, id: CaptureId) -> Option<String> {
        self.inner.find(id)?.detached.get().cloned()
    }

    /// How many records of a capture that runs or ended a moment ago were read and left out by its filter.
    pub fn left_out(&self, id: CaptureId) -> u64 {
        self.inner.find(id).map_or(0, |running| running.progress.left_out())
    }

    /// What the script of a capture that runs or ended a moment ago said with `exit()`.
    pub fn exit_code(&self, id: CaptureId) -> Option<i64> {
        let running = self.inner.find(id)?;
        let script = running.script.as_ref()?;
        lock(&script.state).exit_code
    }

    /// A view of a running capture, or of one that ended a moment ago; none if it does not run or has too many viewers.
    pub fn live(&self, id: CaptureId) -> Option<Subscription> {
        self.inner.find(id)?.hub.subscribe()
    }

    /// The captures that run now, oldest first; those that are only being named among them.
    pub fn running(&self) -> Vec<RunningCapture> {
        let all = self.inner.all();
        all.iter().filter(|running| running.phase() != Phase::Ended).map(|running| running.summary()).collect()
    }

    /// The captures that the recorder still works on, or did a moment ago.
    pub fn worked_on(&self) -> HashSet<CaptureId> {
        let all = self.inner.all();
        let stored = |running: &Arc<Running>| running.flight.as_ref().and_then(|flight| flight.storing());
        all.iter().flat_map(|running| [Some(running.id), stored(running)]).flatten().collect()
    }

    /// Waits until the recorder has left a capture, if it did not since the last call.
    pub async fn one_left(&self) {
        self.inner.left.notified().await;
    }

    /// Names the functions of what a running capture has recorded so far, for its flame graph. A capture that has
    /// ended does so by itself.
    pub async fn name_functions(&self, id: CaptureId) {
        let Some(running) = self.inner.find(id).filter(|running| running.phase() == Phase::Recording) else { return };
        let namer = self.inner.namer(&running).await;
        let store = self.inner.store.clone();
        // A task of its own: what was begun is finished even if nobody waits.
        let naming = tokio::spawn(async move { running.name_functions(&store, namer, |_| ()).await });
        if let Err(error) = naming.await {
            tracing::error!(capture = %id, %error, "naming functions failed");
        }
    }

    /// Stops all captures and waits until they have ended, at most for `limit`; no capture can be started after that.
    pub async fn shutdown(&self, limit: Duration) {
        self.inner.slots.close();
        let stored = async {
            loop {
                let all = self.inner.all().into_iter();
                let busy: Vec<_> = all.filter(|r| matches!(r.phase(), Phase::Recording | Phase::Stopping)).collect();
                for running in &busy {
                    running.progress.stop(STOPPED.to_owned());
                }
                for running in &busy {
                    running.stored().await;
                }
                if busy.is_empty() {
                    return;
                }
            }
        };
        let end = tokio::time::Instant::now() + limit;
        if tokio::time::timeout_at(end, stored).await.is_err() {
            tracing::warn!("captures did not end in time; they will be marked as interrupted");
        }
        // Names of this boot's kernel and of files that may be replaced cannot be found later.
        let named = async {
            for running in self.inner.all() {
                running.named().await;
            }
        };
        if tokio::time::timeout_at(end, named).await.is_err() {
            tracing::warn!("naming functions did not end in time; some frames stay without a name");
        }
    }
}
