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

mod chunks;
mod decode_perf;
mod decode_records;
mod ledger;
mod link;
mod live;
mod mappings;
mod merge;

pub(crate) use link::words;
pub use link::{AgentLink, AgentState, AgentStatus, LinkError};
pub use live::{LiveMessage, MAX_QUEUED_BYTES, MAX_QUEUED_MESSAGES, MAX_VIEWERS, StreamTick, Subscription, Tick};

use std::{path::PathBuf, sync::Arc, time::Duration};

use bathyscope_capture::{CaptureId, CaptureSpec, SpecError};
use bathyscope_store::{Store, StoreError};

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
}

impl RecorderOptions {
    /// The usual options with a private directory, which must exist.
    pub fn new(private_dir: impl Into<PathBuf>) -> Self {
        let flush_every = Duration::from_secs(1);
        Self { private_dir: private_dir.into(), ring_bytes: 16 << 20, flush_every, max_captures: 8 }
    }
}

/// Why a capture could not be started. Nothing of it is left in the kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// The spec cannot be run.
    #[error("the capture cannot be made as it is described")]
    Spec(#[from] SpecError),
    /// The agent refused or is not there.
    #[error(transparent)]
    Agent(#[from] LinkError),
    /// The store refused.
    #[error("the capture cannot be stored")]
    Store(#[from] StoreError),
    /// What the agent gave cannot be used.
    #[error("the agent's rings cannot be read: {why}")]
    Rings {
        /// Why.
        why: String,
    },
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
}

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
}

impl Recorder {
    /// A recorder that stores in `store` and asks through `link`. To be called in a tokio runtime.
    pub fn new(store: Store, link: AgentLink, options: RecorderOptions) -> Self {
        Self { inner: Arc::new(Inner { store, link, options }) }
    }

    /// Starts a capture for `owner` and gives its id as soon as it records. If the caller stops waiting, the capture
    /// goes on, and ends by its limits.
    ///
    /// # Errors
    /// See [`StartError`].
    pub async fn start(&self, spec: CaptureSpec, owner: &str) -> Result<CaptureId, StartError> {
        let _ = (spec, owner, &self.inner.store, &self.inner.link, &self.inner.options);
        unimplemented!()
    }

    /// Asks a running capture to stop, with the reason `stopped by WHO`; says whether it was running. It has ended
    /// when its viewers are told so, or when [`Recorder::wait`] returns.
    pub fn stop(&self, id: CaptureId, who: &str) -> bool {
        let _ = (id, who);
        unimplemented!()
    }

    /// Waits until a capture is not running: its last rows and its ledger are stored.
    pub async fn wait(&self, id: CaptureId) {
        let _ = id;
        unimplemented!()
    }

    /// A view of a running capture, or of one that ended a moment ago; none if it does not run or has too many viewers.
    pub fn live(&self, id: CaptureId) -> Option<Subscription> {
        let _ = id;
        unimplemented!()
    }

    /// The captures that run now, oldest first.
    pub fn running(&self) -> Vec<RunningCapture> {
        unimplemented!()
    }

    /// Names the functions of what a running capture has recorded so far, for its flame graph. A capture that has
    /// ended does so by itself.
    pub async fn name_functions(&self, id: CaptureId) {
        let _ = id;
        unimplemented!()
    }

    /// Stops all captures and waits until they have ended, at most for `limit`; no capture can be started after that.
    pub async fn shutdown(&self, limit: Duration) {
        let _ = limit;
        unimplemented!()
    }
}
