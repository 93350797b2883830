//! How long captures are kept (P39): the rule, and its being followed.
//!
//! Which captures have to go is decided in [`rule`], without a clock and without a database. Here the rule is looked at
//! when the console starts, when a capture has ended, and every ten minutes. What goes is deleted a little at a time like
//! any other, with an entry of the audit log, and cannot be restored. What people deleted goes for good a day later, or as soon as
//! there is no room for it.

mod clock;
mod labels;
mod rule;

use std::time::Duration;

use bathyscope_capture::CaptureId;
use bathyscope_link::clock::{monotonic_ns, wall_unix_ns};
use bathyscope_reader::CaptureCache;
use bathyscope_store::{AuditEntry, RetainedCapture, Role, Store, StoreError};
use tokio::time::MissedTickBehavior;
use tokio_util::sync::CancellationToken;

pub use labels::{LabelRule, ParseLabelRuleError, RuleSubject};
pub use rule::{Due, Forecast, Reason, RetentionRule, restorable_until};

use bathyscope_recorder::Recorder;
use clock::AgeClock;

/// How often the rule is looked at when no capture ends.
const LOOK_EVERY: Duration = Duration::from_secs(600);
/// Who deletes in the audit log: no person.
const USER: &str = "retention";

/// What follows the rule in one console.
#[derive(Clone, Debug)]
pub struct RetentionTask {
    /// The rule.
    pub rule: RetentionRule,
    /// Where captures are kept.
    pub store: Store,
    /// What works on captures, which are kept meanwhile.
    pub recorder: Recorder,
    /// The captures that views have looked at, which forgets those that are deleted.
    pub captures: CaptureCache,
    /// Cancelled when the console stops.
    pub stop: CancellationToken,
}

impl RetentionTask {
    /// Follows the rule until the console stops.
    pub(crate) async fn keep(self) {
        let mut clock = tokio::time::interval(LOOK_EVERY);
        clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let following = async {
            let (mut ages, newest) = (AgeClock::default(), self.newest_unix_ns().await);
            loop {
                tokio::select! {
                    _ = clock.tick() => {}
                    () = self.recorder.one_left() => {}
                }
                let wall_ns = wall_unix_ns();
                let believed = ages.now(wall_ns, monotonic_ns(), newest);
                let rule = if believed.is_some() { self.rule.clone() } else { self.rule.without_ages() };
                // While it is not known what time it is, nobody's day is over.
                let discarded = self.discard(believed.unwrap_or(i64::MIN)).await;
                let applied = self.apply(&rule, believed.unwrap_or(wall_ns)).await;
                if let Err(error) = discarded.and(applied) {
                    tracing::warn!(%error, "old captures could not be deleted; it is tried again");
                }
            }
        };
        // What is being deleted goes on at the next start.
        tokio::select! {
            () = following => {}
            () = self.stop.cancelled() => {}
        }
    }

    /// Deletes what has to go at this wall time, nanoseconds since 1970; gives what was deleted.
    ///
    /// # Errors
    /// The database's; what was deleted before stays deleted.
    pub async fn follow(&self, now_unix_ns: i64) -> Result<Vec<CaptureId>, StoreError> {
        self.discard(now_unix_ns).await?;
        self.apply(&self.rule, now_unix_ns).await
    }

    /// When the last capture that is stored ended or was imported, nanoseconds since 1970; none if there are none.
    async fn newest_unix_ns(&self) -> Option<i64> {
        let captures = self.store.retained().await.unwrap_or_default();
        captures.iter().map(|one| one.since_unix_ns).max()
    }

    /// Removes deleted captures for good that nobody restored in time, or that there is no room for.
    async fn discard(&self, now_unix_ns: i64) -> Result<(), StoreError> {
        let deleted = self.store.deleted().await?;
        if deleted.is_empty() {
            return Ok(());
        }
        let (shown_bytes, _pinned) = self.store.sizes().await?;
        let room = self.store.room();
        let is_full = room.free_bytes < room.reserve_bytes;
        for id in self.rule.discarded(now_unix_ns, &deleted, (shown_bytes, is_full)) {
            if self.store.discard(id).await? {
                tracing::info!(capture = %id, "a deleted capture is gone for good");
            }
        }
        Ok(())
    }

    async fn apply(&self, rule: &RetentionRule, now_unix_ns: i64) -> Result<Vec<CaptureId>, StoreError> {
        if rule.is_off() {
            return Ok(Vec::new());
        }
        // In this order: what is not worked on any more has its end and its names stored.
        let busy = self.recorder.worked_on();
        let captures: Vec<RetainedCapture> = self.store.retained().await?;
        let mut deleted = Vec::new();
        for Due { id, reason } in rule.due(now_unix_ns, &captures, |id| busy.contains(&id)) {
            let entry = AuditEntry {
                time_unix_ns: now_unix_ns,
                user: USER.to_owned(),
                role: Role::Admin,
                action: "capture.expire".to_owned(),
                object: id.to_string(),
                detail: reason.to_string(),
            };
            match self.store.delete_unpinned(id, entry).await {
                Ok(true) => {
                    self.captures.forget(id);
                    tracing::info!(capture = %id, %reason, "a capture was deleted by the rule of retention");
                    deleted.push(id);
                }
                // It was pinned, deleted or continued meanwhile.
                Ok(false) | Err(StoreError::NoCapture { .. } | StoreError::Recording { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(deleted)
    }
}
