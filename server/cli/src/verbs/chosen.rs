//! Which stored capture a verb is about: one by its id, or the one that began last.

use std::str::FromStr;

use bathyscope_capture::CaptureId;
use bathyscope_store::{Store, StoreError, SummaryQuery};

use crate::Failure;

/// How many captures are listed at a time.
const PAGE: u32 = 32;

/// A capture by its id, or the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenCapture {
    /// The one that began last.
    Newest,
    /// The one that began before it.
    Previous,
    /// This one.
    Id(CaptureId),
}

/// A text that is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a capture is named by its id, 16 lower-case hexadecimal digits, or is the `newest` or the `previous`")]
pub struct ParseChosenError;

impl FromStr for ChosenCapture {
    type Err = ParseChosenError;

    fn from_str(text: &str) -> Result<Self, ParseChosenError> {
        match text {
            "newest" => Ok(Self::Newest),
            "previous" => Ok(Self::Previous),
            id => id.parse().map(Self::Id).map_err(|_id| ParseChosenError),
        }
    }
}

impl ChosenCapture {
    /// Its id. None if there are no captures; an id is not looked for.
    ///
    /// # Errors
    /// If the captures cannot be listed.
    pub(super) async fn id(self, store: &Store) -> Result<Option<CaptureId>, StoreError> {
        let offset = match self {
            Self::Id(id) => return Ok(Some(id)),
            Self::Newest => 0,
            Self::Previous => 1,
        };
        let found = store.summaries(&SummaryQuery { limit: 1, offset, ..SummaryQuery::default() }).await?;
        Ok(found.items.first().map(|found| found.id))
    }

    /// The same among captures that have something to compare: a flight recorder has no rows, those that it has stored have them.
    ///
    /// # Errors
    /// If the captures cannot be listed or read.
    pub(super) async fn compared_id(self, store: &Store) -> Result<Option<CaptureId>, StoreError> {
        let mut before = match self {
            Self::Id(id) => return Ok(Some(id)),
            Self::Newest => 0,
            Self::Previous => 1,
        };
        for offset in (0..).step_by(PAGE as usize) {
            let found = store.summaries(&SummaryQuery { limit: PAGE, offset, ..SummaryQuery::default() }).await?;
            for summary in &found.items {
                if summary.rows == 0 && is_flight_recorder(store, summary.id).await? {
                    continue;
                }
                if before == 0 {
                    return Ok(Some(summary.id));
                }
                before -= 1;
            }
            if found.items.len() < PAGE as usize {
                break;
            }
        }
        Ok(None)
    }
}

async fn is_flight_recorder(store: &Store, id: CaptureId) -> Result<bool, StoreError> {
    match store.capture(id).await {
        Ok(record) => Ok(record.spec.limits.flight.is_some() && record.firing.is_none()),
        // It is deleted meanwhile.
        Err(StoreError::NoCapture { .. }) => Ok(false),
        Err(error) => Err(error),
    }
}

/// What is said where there is no newest capture.
pub(super) fn no_captures() -> Failure {
    Failure::new("there are no captures").remedy("Make one with `bathyscope record`.")
}
