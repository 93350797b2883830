//! Streams that are computed from others of a capture after it has ended: which there are for it, and the thread that computes
//! one after the other.
//!
//! What is to be computed stands in a queue, which is bounded by the captures that there are: a capture is in it once. The rows of
//! a rule are seen when all of them are stored. A rule that fails, or is cancelled, leaves what was recorded as it is.

mod follow;
mod host;
mod inputs;
mod recorded_tracks;
mod run;
mod targets;

use std::{
    collections::VecDeque,
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use bathyscope_capture::{CaptureId, StreamSchema, Target};
use bathyscope_derive::{DerivationError, RuleSpec};
use bathyscope_store::{BlockingStore, CaptureRecord, CaptureState, DerivationState, Store, StoreError};

pub use run::DerivationFailure;

use crate::running::Running;

/// The most captures that wait.
const MAX_QUEUED: usize = 1024;

/// The rules that a capture can have: all built-in ones that it has the inputs for.
pub fn rules_of(record: &CaptureRecord) -> Vec<RuleSpec> {
    let mut rules = RuleSpec::built_in(&recorded_streams(record));
    rules.retain(|rule| check_target(record, rule).is_ok());
    rules
}

/// The streams that were recorded, which come before those that were computed.
fn recorded_streams(record: &CaptureRecord) -> Vec<StreamSchema> {
    let schemas = record.streams.iter().map(|stream| &stream.schema);
    schemas.take_while(|schema| schema.derived.is_none() && !schema.is_absent()).cloned().collect()
}

/// Whether the events of a rule are there of all that it needs. Of tracepoints, a target's are those that ran as the target: all its
/// switches away and none of those to it. Only where single threads are the target, those that name one of them are there too.
fn check_target(record: &CaptureRecord, rule: &RuleSpec) -> Result<(), &'static str> {
    let target = record.spec.target.watched();
    if !matches!(rule, RuleSpec::ThreadStates) || *target == Target::System {
        return Ok(());
    }
    let streams = recorded_streams(record);
    let of_states = streams.iter().find(|schema| schema.name == "switches");
    match (target, of_states) {
        (_, Some(switches)) if switches.column("of_target").is_some() => Ok(()),
        (Target::Threads { .. }, Some(_)) | (Target::Comm { .. }, _) => {
            Err("rows of this capture do not tell which threads are the target's: record thread states of it again")
        }
        (_, Some(_)) | (Target::Threads { children: false, .. }, None) => Ok(()),
        (Target::Threads { .. }, None) => {
            Err("tracepoints do not tell which threads were started by those of the target: record thread states")
        }
        (_, None) => {
            Err("tracepoints of a target lack the switches to its threads: record thread states, or the whole system")
        }
    }
}

/// Why a rule is not applied to a capture.
#[derive(Debug, thiserror::Error)]
pub enum DerivationRefusal {
    /// It is being recorded.
    #[error("streams are computed when the capture has ended; stop it, and try again")]
    Recording,
    /// It cannot be, or needs what was not recorded.
    #[error(transparent)]
    Rule(#[from] DerivationError),
    /// Whose events were recorded does not do.
    #[error("{0}")]
    Target(&'static str),
    /// It is there, or being computed.
    #[error("{name:?} is computed already, or is being computed; remove it first")]
    Known {
        /// The rule.
        name: String,
    },
    /// Too many wait.
    #[error("{MAX_QUEUED} captures wait for their streams; try again when some are done")]
    Full,
    /// The store refused.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// How far the rule is that is being applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DerivationProgress {
    /// Chunks that were read.
    pub done: u64,
    /// Chunks that are to be read.
    pub of: u64,
}

/// Says that a rule is not wanted any more, and how far it is.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    cancelled: AtomicBool,
    done: AtomicU64,
    of: AtomicU64,
}

impl Watch {
    fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }
}

/// What is to be computed of a capture.
#[derive(Debug)]
struct Wanted {
    capture: CaptureId,
    /// Rules of people; none for all built-in ones that are not there.
    rule: Option<RuleSpec>,
}

#[derive(Debug, Default)]
struct QueueState {
    waiting: VecDeque<Wanted>,
    /// What is computed now.
    current: Option<(CaptureId, String, Arc<Watch>)>,
    has_thread: bool,
}

/// Told which capture has other streams now.
type OnChange = Box<dyn Fn(CaptureId) + Send + Sync>;

struct DerivationQueue {
    store: Store,
    queue: Mutex<QueueState>,
    on_change: OnChange,
}

/// Computes streams in the background, one rule after the other. Cheap to clone; all clones are the same queue.
#[derive(Clone)]
pub struct Derivations {
    inner: Arc<DerivationQueue>,
}

impl fmt::Debug for Derivations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Derivations").finish_non_exhaustive()
    }
}

impl Derivations {
    /// An empty queue for captures of `store`; `on_change` is told which capture has other streams than before.
    pub fn new(store: Store, on_change: impl Fn(CaptureId) + Send + Sync + 'static) -> Self {
        let on_change = Box::new(on_change);
        Self { inner: Arc::new(DerivationQueue { store, queue: Mutex::default(), on_change }) }
    }

    /// Computes all built-in streams of a capture that has ended, as far as they are not there. To be called in a tokio runtime.
    ///
    /// # Errors
    /// [`DerivationRefusal::Full`].
    pub fn compute_built_in(&self, capture: CaptureId) -> Result<(), DerivationRefusal> {
        self.enqueue(Wanted { capture, rule: None })
    }

    /// Computes the streams of one rule.
    ///
    /// # Errors
    /// See [`DerivationRefusal`].
    pub async fn compute(&self, capture: CaptureId, rule: RuleSpec) -> Result<(), DerivationRefusal> {
        let record = self.inner.store.capture(capture).await?;
        if record.state == CaptureState::Recording {
            return Err(DerivationRefusal::Recording);
        }
        check_target(&record, &rule).map_err(DerivationRefusal::Target)?;
        rule.check(&recorded_streams(&record))?;
        if self.is_known(&record, &rule) {
            return Err(DerivationRefusal::Known { name: rule.name().to_owned() });
        }
        self.enqueue(Wanted { capture, rule: Some(rule) })
    }

    /// Whether the streams of a rule are there, or will be. Two rules of a name would be two streams of a name.
    fn is_known(&self, record: &CaptureRecord, rule: &RuleSpec) -> bool {
        let queue = self.lock();
        let waits = |wanted: &Wanted| {
            wanted.capture == record.id && wanted.rule.as_ref().is_none_or(|waiting| waiting.name() == rule.name())
        };
        let runs = queue.current.as_ref().is_some_and(|(id, name, _)| *id == record.id && name == rule.name());
        let taken = record.streams.iter().any(|stream| stream.schema.name == rule.name());
        taken || runs || queue.waiting.iter().any(waits)
    }

    /// Removes the streams of a rule, or stops it while it is being applied.
    ///
    /// # Errors
    /// [`StoreError::Refused`] if the capture has no such rule, or the store's.
    pub async fn remove(&self, capture: CaptureId, number: u16) -> Result<(), StoreError> {
        if let Some((id, _, watch)) = &self.lock().current
            && *id == capture
        {
            watch.cancelled.store(true, Ordering::Relaxed);
        }
        let removed = self.inner.store.remove_derivation(capture, number, None).await;
        (self.inner.on_change)(capture);
        removed
    }

    /// How far the rule is that is being applied to a capture.
    pub fn progress(&self, capture: CaptureId) -> Option<DerivationProgress> {
        let queue = self.lock();
        let (_, _, watch) = queue.current.as_ref().filter(|(id, _, _)| *id == capture)?;
        let load = |of: &AtomicU64| of.load(Ordering::Relaxed);
        Some(DerivationProgress { done: load(&watch.done), of: load(&watch.of) })
    }

    /// Whether something of a capture waits or is being computed.
    pub fn is_busy(&self, capture: CaptureId) -> bool {
        let queue = self.lock();
        queue.current.as_ref().is_some_and(|(id, _, _)| *id == capture)
            || queue.waiting.iter().any(|wanted| wanted.capture == capture)
    }

    /// Goes on with what the last process was computing when it ended.
    ///
    /// # Errors
    /// The store's.
    pub async fn resume(&self) -> Result<(), StoreError> {
        for (capture, record) in self.inner.store.interrupted_derivations().await? {
            // Of a rule that this version does not know, nothing is shown.
            let Ok(rule) = serde_json::from_str::<RuleSpec>(&record.rule) else { continue };
            if self.enqueue(Wanted { capture, rule: Some(rule) }).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Computes streams of a capture while it is recorded, as long as somebody looks. To be called in a tokio runtime.
    pub(crate) fn follow(&self, running: &Arc<Running>) {
        let (derivations, running, store) = (self.clone(), Arc::clone(running), self.inner.store.blocking());
        let thread = std::thread::Builder::new().name("derive".to_owned());
        if let Err(error) = thread.spawn(move || follow::follow(&derivations, &store, &running)) {
            tracing::warn!(%error, "streams are computed when the capture has ended: no thread could be started");
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, QueueState> {
        self.inner.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// To be called in a tokio runtime.
    fn enqueue(&self, wanted: Wanted) -> Result<(), DerivationRefusal> {
        self.enqueue_with(&self.inner.store.blocking(), wanted)
    }

    /// Adds what is to be computed, with a store for the thread that does it.
    fn enqueue_with(&self, store: &BlockingStore, wanted: Wanted) -> Result<(), DerivationRefusal> {
        let mut queue = self.lock();
        let is_same = |other: &Wanted| other.capture == wanted.capture && other.rule == wanted.rule;
        if queue.waiting.iter().any(is_same) {
            return Ok(());
        }
        if queue.waiting.len() >= MAX_QUEUED {
            return Err(DerivationRefusal::Full);
        }
        queue.waiting.push_back(wanted);
        if !queue.has_thread {
            let (inner, store) = (Arc::downgrade(&self.inner), store.clone());
            let thread = std::thread::Builder::new().name("derive".to_owned());
            match thread.spawn(move || work(&inner, &store)) {
                Ok(_runs_on_its_own) => queue.has_thread = true,
                Err(error) => tracing::error!(%error, "streams cannot be computed: no thread could be started"),
            }
        }
        Ok(())
    }
}

/// Computes what waits, until there is nothing more or nobody can ask any more.
fn work(inner: &std::sync::Weak<DerivationQueue>, store: &BlockingStore) {
    loop {
        let Some(inner) = inner.upgrade() else { return };
        let mut queue = inner.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(wanted) = queue.waiting.pop_front() else {
            queue.has_thread = false;
            return;
        };
        let capture = wanted.capture;
        // Before it is left: at no moment is it neither waiting nor being computed.
        queue.current = Some((capture, String::new(), Arc::default()));
        drop(queue);
        apply(&inner, store, wanted);
        inner.queue.lock().unwrap_or_else(PoisonError::into_inner).current = None;
        (inner.on_change)(capture);
    }
}

fn apply(inner: &DerivationQueue, store: &BlockingStore, Wanted { capture, rule }: Wanted) {
    let record = match store.read(|store| store.capture(capture)) {
        Ok(record) if record.state != CaptureState::Recording => record,
        // It was deleted meanwhile.
        Ok(_) | Err(StoreError::NoCapture { .. }) => return,
        Err(error) => return tracing::warn!(%capture, %error, "streams cannot be computed"),
    };
    for rule in rule.map_or_else(|| missing(&record), |rule| vec![rule]) {
        let watch = Arc::new(Watch::default());
        let current = Some((capture, rule.name().to_owned(), Arc::clone(&watch)));
        inner.queue.lock().unwrap_or_else(PoisonError::into_inner).current = current;
        let applied = run::run(store, &record, &rule, &watch);
        (inner.on_change)(capture);
        match applied {
            Ok(rows) => tracing::info!(%capture, rule = rule.name(), rows, "streams were computed"),
            Err(DerivationFailure::Cancelled) => tracing::info!(%capture, rule = rule.name(), "streams were removed"),
            Err(DerivationFailure::Store(StoreError::NoCapture { .. } | StoreError::Closed)) => return,
            Err(error) => tracing::warn!(%capture, rule = rule.name(), %error, "streams could not be computed"),
        }
    }
    let watch = Arc::new(Watch::default());
    let current = Some((capture, String::new(), Arc::clone(&watch)));
    inner.queue.lock().unwrap_or_else(PoisonError::into_inner).current = current;
    match recorded_tracks::index(store, &record, &watch) {
        Ok(_) | Err(DerivationFailure::Store(StoreError::NoCapture { .. } | StoreError::Closed)) => {}
        Err(error) => tracing::warn!(%capture, %error, "tracks of recorded rows could not be made"),
    }
}

/// The built-in rules of which nothing is there, and nobody removed anything.
fn missing(record: &CaptureRecord) -> Vec<RuleSpec> {
    let is_known = |rule: &RuleSpec| {
        let known = record.derivations.iter().filter(|known| known.state != DerivationState::Computing);
        serde_json::to_string(rule).is_ok_and(|text| known.into_iter().any(|known| known.rule == text))
    };
    rules_of(record).into_iter().filter(|rule| !is_known(rule)).collect()
}

/// Computes the streams of a rule here and now, for verbs of the command line; says how many rows. May wait: not for threads of
/// the runtime.
///
/// # Errors
/// See [`DerivationFailure`]. What was recorded is as it was then.
pub fn derive(store: &BlockingStore, record: &CaptureRecord, rule: &RuleSpec) -> Result<u64, DerivationFailure> {
    run::run(store, record, rule, &Watch::default())
}
