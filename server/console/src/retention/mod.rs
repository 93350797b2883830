//! How long captures are kept (P39): the rule, and its being followed.
//!
//! Which captures have to go is decided in [`rule`], without a clock and without a database. Here the rule is looked at
//! when the console starts, when a capture has ended, and every ten minutes. What goes is deleted a little at a time like
//! any other, with an entry of the audit log.

mod clock;
mod rule;

use std::time::Duration;

use bathyscope_capture::CaptureId;
use bathyscope_store::{AuditEntry, RetainedCapture, Role, StoreError};
use tokio::time::MissedTickBehavior;

pub use rule::{Due, Reason, RetentionRule};

use crate::{
    http::AppState,
    recorder::{monotonic_ns, wall_unix_ns},
};
use clock::AgeClock;

/// How often the rule is looked at when no capture ends.
const LOOK_EVERY: Duration = Duration::from_secs(600);
/// Who deletes in the audit log: no person.
const USER: &str = "retention";

/// Follows the rule until the console stops.
pub(crate) async fn keep(state: AppState) {
    if state.retention().is_off() {
        return;
    }
    let mut clock = tokio::time::interval(LOOK_EVERY);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let following = async {
        let (mut ages, newest) = (AgeClock::default(), newest_unix_ns(&state).await);
        loop {
            tokio::select! {
                _ = clock.tick() => {}
                () = state.recorder().one_left() => {}
            }
            let wall_ns = wall_unix_ns();
            let believed = ages.now(wall_ns, monotonic_ns(), newest);
            let ageless = RetentionRule { max_days: None, ..state.retention() };
            let rule = if believed.is_some() { state.retention() } else { ageless };
            if let Err(error) = apply(&state, rule, believed.unwrap_or(wall_ns)).await {
                tracing::warn!(%error, "old captures could not be deleted; it is tried again");
            }
        }
    };
    // What is being deleted goes on at the next start.
    tokio::select! {
        () = following => {}
        () = state.stop().cancelled() => {}
    }
}

/// Deletes what has to go at this wall time, nanoseconds since 1970; gives what was deleted.
///
/// # Errors
/// The database's; what was deleted before stays deleted.
pub async fn follow(state: &AppState, now_unix_ns: i64) -> Result<Vec<CaptureId>, StoreError> {
    apply(state, state.retention(), now_unix_ns).await
}

/// When the last capture that is stored ended or was imported, nanoseconds since 1970; none if there are none.
async fn newest_unix_ns(state: &AppState) -> Option<i64> {
    let captures = state.store().retained().await.unwrap_or_default();
    captures.iter().map(|one| one.since_unix_ns).max()
}

async fn apply(state: &AppState, rule: RetentionRule, now_unix_ns: i64) -> Result<Vec<CaptureId>, StoreError> {
    let store = state.store();
    if rule.is_off() {
        return Ok(Vec::new());
    }
    // In this order: what is not worked on any more has its end and its names stored.
    let busy = state.recorder().worked_on();
    let captures: Vec<RetainedCapture> = store.retained().await?;
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
        match store.delete_unpinned(id, entry).await {
            Ok(true) => {
                state.forget(id);
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
