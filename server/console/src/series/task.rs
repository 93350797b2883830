//! Computes key numbers of captures that have ended, one after the other, once.

use std::{
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use bathyscope_capture::{CaptureId, SeriesId};
use bathyscope_reader::{CaptureCache, capture_key_numbers};
use bathyscope_recorder::{Derivations, Recorder};
use bathyscope_store::{CaptureRecord, PendingRun, RunNumbers, Store, StoreError};
use bathyscope_views::{Cancel, KeyNumber, ViewError};
use tokio_util::sync::CancellationToken;

use super::wishes;

/// The version of the rule that says what is measured and how; with another one all are computed anew.
pub const RULE: u32 = 1;
/// How often is looked for captures that nobody told of, as those from files.
const LOOK_EVERY: Duration = Duration::from_secs(30);
/// How soon again where a capture had ended, but work on it had not.
const AGAIN_AFTER: Duration = Duration::from_secs(2);
/// How many times as long as one took is waited before the next where many are computed, as after an update: the host has other work.
const REST: u32 = 3;

/// What computes them in one console.
#[derive(Clone, Debug)]
pub struct SeriesTask {
    /// Where captures are kept.
    pub store: Store,
    /// What works on captures, which have no numbers meanwhile.
    pub recorder: Recorder,
    /// What computes streams of them, likewise.
    pub derivations: Derivations,
    /// Cancelled when the console stops.
    pub stop: CancellationToken,
}

/// Sets the flag of what is being computed when it is given up.
struct Given(Arc<Cancel>);

impl Drop for Given {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl SeriesTask {
    /// Computes what there is to compute until the console stops.
    pub(crate) async fn keep(self) {
        let following = async {
            loop {
                let wait = match self.compute().await {
                    Ok(true) => LOOK_EVERY,
                    Ok(false) => AGAIN_AFTER,
                    Err(error) => {
                        tracing::warn!(%error, "key numbers of captures could not be computed; it is tried again");
                        LOOK_EVERY
                    }
                };
                tokio::select! {
                    () = tokio::time::sleep(wait) => {}
                    () = self.store.one_came() => {}
                }
            }
        };
        tokio::select! {
            () = following => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Computes the key numbers of all captures that lack them and have come to rest; whether there is no other one.
    ///
    /// # Errors
    /// The database's.
    pub async fn compute(&self) -> Result<bool, StoreError> {
        compute_pending(&self.store, REST, |id| self.is_busy(id)).await
    }

    fn is_busy(&self, id: CaptureId) -> bool {
        self.derivations.is_busy(id) || self.recorder.running().iter().any(|running| running.id == id)
    }
}

/// Computes the key numbers of all captures that lack them, but for those that are still worked on, as `is_busy` says; whether there
/// are none of these. After each it rests `rest` times as long as that took.
///
/// # Errors
/// The database's: [`StoreError::Closed`] where it is open for reading only.
pub async fn compute_pending(
    store: &Store,
    rest: u32,
    is_busy: impl Fn(CaptureId) -> bool,
) -> Result<bool, StoreError> {
    loop {
        let pending = store.pending_runs(RULE).await?;
        let (mut is_done, mut has_done) = (true, false);
        for run in pending {
            if run.has_ended && is_busy(run.id) {
                is_done = false;
                continue;
            }
            let began = Instant::now();
            has_done |= compute_one(store, run).await?;
            tokio::time::sleep(began.elapsed().saturating_mul(rest)).await;
        }
        if !has_done {
            return Ok(is_done);
        }
    }
}

/// Keeps what there is to keep of a capture; false if it is gone.
async fn compute_one(store: &Store, PendingRun { id, has_ended }: PendingRun) -> Result<bool, StoreError> {
    let record = match store.capture(id).await {
        Ok(record) => record,
        Err(StoreError::NoCapture { .. }) => return Ok(false),
        Err(error @ (StoreError::Closed | StoreError::Database { .. })) => return Err(error),
        Err(error) => {
            // What cannot be read is of no series but its own, and is not tried for ever.
            let numbers = RunNumbers { rule: RULE, numbers: "[]".to_owned(), problem: error.to_string() };
            store.put_run(id, SeriesId::from_bits(id.bits()), Some(numbers)).await?;
            return Ok(true);
        }
    };
    let series = SeriesId::of(&record.spec, &record.host, record.simulated);
    let numbers = if has_ended { Some(numbers(store, &record).await?) } else { None };
    store.put_run(id, series, numbers).await?;
    Ok(true)
}

async fn numbers(store: &Store, record: &CaptureRecord) -> Result<RunNumbers, StoreError> {
    let (numbers, problem) = match computed(store, record).await? {
        Ok(numbers) => (numbers, String::new()),
        Err(problem) => (Vec::new(), problem),
    };
    let numbers = serde_json::to_string(&numbers).unwrap_or_else(|_never| "[]".to_owned());
    Ok(RunNumbers { rule: RULE, numbers, problem })
}

/// The key numbers of a capture that has ended, or why there are none.
///
/// # Errors
/// The database's.
async fn computed(store: &Store, record: &CaptureRecord) -> Result<Result<Vec<KeyNumber>, String>, StoreError> {
    // A cache of its own: what people look at stays in theirs.
    let view = CaptureCache::new(store.clone()).view(record.id, false).await?;
    let (wishes, given) = (wishes(&record.spec), Given(Arc::default()));
    let cancel = Arc::clone(&given.0);
    let made = tokio::task::spawn_blocking(move || capture_key_numbers(&view, &wishes, &cancel)).await;
    Ok(match made {
        Ok(Ok(numbers)) => Ok(numbers),
        Ok(Err(ViewError::Cancelled)) => return Err(StoreError::Closed),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_panic) => Err("a mistake of the program kept them from being computed".to_owned()),
    })
}
