//! What was made of a capture that does not change any more, kept for the next view of it.

use std::{
    any::Any,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// How many are kept.
const MAX_KEPT: usize = 8;
/// Bytes of all that are kept; a larger one is not.
const MAX_KEPT_BYTES: usize = 160 << 20;

/// What was made lately, those used last first.
#[derive(Debug, Default)]
pub struct KeptViews(Mutex<Vec<KeptView>>);

#[derive(Debug)]
struct KeptView {
    capture: u64,
    /// Of what it was made: the same text for the same.
    key: String,
    bytes: usize,
    made: Arc<dyn Any + Send + Sync>,
}

impl KeptViews {
    /// What was made of a capture for `key`; else makes it, and keeps it. `bytes` is what it takes in memory.
    pub(crate) fn kept<T: Any + Send + Sync, E>(
        &self,
        (capture, key): (u64, String),
        make: impl FnOnce() -> Result<T, E>,
        bytes: impl FnOnce(&T) -> usize,
    ) -> Result<Arc<T>, E> {
        if let Some(known) = self.find(capture, &key).and_then(|known| known.downcast().ok()) {
            return Ok(known);
        }
        let made = Arc::new(make()?);
        self.keep(KeptView { capture, key, bytes: bytes(&made), made: made.clone() });
        Ok(made)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<KeptView>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, capture: u64, key: &str) -> Option<Arc<dyn Any + Send + Sync>> {
        let mut kept = self.lock();
        let at = kept.iter().position(|known| known.capture == capture && known.key == key)?;
        kept.get_mut(..=at)?.rotate_right(1);
        kept.first().map(|known| Arc::clone(&known.made))
    }

    fn keep(&self, view: KeptView) {
        let mut kept = self.lock();
        kept.retain(|known| known.capture != view.capture || known.key != view.key);
        kept.insert(0, view);
        kept.truncate(MAX_KEPT);
        let mut bytes = 0_usize;
        kept.retain(|known| {
            bytes = bytes.saturating_add(known.bytes);
            bytes <= MAX_KEPT_BYTES
        });
    }

    /// Forgets a capture.
    pub fn forget(&self, capture: u64) {
        self.lock().retain(|known| known.capture != capture);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_used_last_is_kept_and_never_more_than_there_is_space_for() {
        let kept = KeptViews::default();
        let made = |key: &str, bytes: usize| {
            let mut again = true;
            let make = || {
                again = false;
                Ok::<_, ()>(key.to_owned())
            };
            assert_eq!(kept.kept((1, key.to_owned()), make, |_| bytes).as_deref().map(String::as_str), Ok(key));
            again
        };
        let third = MAX_KEPT_BYTES / 3;
        assert_eq!(
            [made("a", third), made("b", third), made("c", third), made("a", third)],
            [false, false, false, true]
        );
        assert_eq!([made("d", third), made("b", third), made("a", third)], [false, false, true]);
        assert_eq!([made("large", MAX_KEPT_BYTES + 1), made("large", 1)], [false, false]);
        kept.forget(1);
        assert!(!made("large", 1));
    }
}
