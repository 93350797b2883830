//! Calls that were put together lately, so that the next view of them need not do it again.

use std::sync::{Arc, Mutex, PoisonError};

use bathyscope_capture::CaptureId;
use bathyscope_views::{CallForest, Cancel, MAX_CALLS, Source, TimeRange, ViewError, calls_stream};

/// Forests of few captures at most, and of as many calls as one can have; the newest one is always kept.
const MAX_FORESTS: usize = 4;

/// What a forest is of. A running capture has more rows the next time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ForestKey {
    capture: CaptureId,
    rows: u64,
    /// Where not all calls fit.
    range: Option<TimeRange>,
}

type KeptForests = Vec<(ForestKey, Arc<CallForest>)>;

/// Forests, the least recently used first. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallForests {
    kept: Arc<Mutex<KeptForests>>,
}

impl CallForests {
    /// The calls of a capture, of `range` at least.
    pub(crate) fn of(
        &self,
        capture: CaptureId,
        source: &dyn Source,
        range: TimeRange,
        cancel: &Cancel,
    ) -> Result<Arc<CallForest>, ViewError> {
        let stream = calls_stream(source).ok_or(ViewError::NoCalls)?;
        let rows = source.chunks(stream).iter().map(|chunk| u64::from(chunk.rows)).sum();
        let key = ForestKey { capture, rows, range: (rows > MAX_CALLS as u64).then_some(range) };
        if let Some(known) = self.find(key) {
            return Ok(known);
        }
        let built = Arc::new(CallForest::build(source, range, cancel)?);
        // One that lacks what could not be loaded is not for the next view.
        source.dictionaries().check()?;
        self.keep(key, &built);
        Ok(built)
    }

    fn find(&self, key: ForestKey) -> Option<Arc<CallForest>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(known, _)| *known == key)?;
        let found = kept.remove(at);
        let forest = Arc::clone(&found.1);
        kept.push(found);
        Some(forest)
    }

    fn keep(&self, key: ForestKey, forest: &Arc<CallForest>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(known, _)| known.capture != key.capture || (known.rows == key.rows && *known != key));
        kept.push((key, Arc::clone(forest)));
        let calls = |kept: &KeptForests| kept.iter().map(|(_, forest)| forest.len()).sum::<usize>();
        while kept.len() > 1 && (kept.len() > MAX_FORESTS || calls(&kept) > MAX_CALLS) {
            kept.remove(0);
        }
    }

    /// Forgets a capture.
    pub(crate) fn forget(&self, capture: CaptureId) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.retain(|(key, _)| key.capture != capture);
    }
}
