//! Which stored capture a verb is about: one by its id, or the one that began last.

use std::str::FromStr;

use bathyscope_capture::CaptureId;
use bathyscope_store::{Store, StoreError, SummaryQuery};

use crate::Failure;

/// A capture by its id, or the newest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChosenCapture {
    /// The one that began last.
    Newest,
    /// This one.
    Id(CaptureId),
}

/// A text that is neither.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a capture is named by its id, 16 lower-case hexadecimal digits, or is the `newest`")]
pub struct ParseChosenError;

impl FromStr for ChosenCapture {
    type Err = ParseChosenError;

    fn from_str(text: &str) -> Result<Self, ParseChosenError> {
        if text == "newest" { Ok(Self::Newest) } else { text.parse().map(Self::Id).map_err(|_id| ParseChosenError) }
    }
}

impl ChosenCapture {
    /// Its id. None if there are no captures; an id is not looked for.
    ///
    /// # Errors
    /// If the captures cannot be listed.
    pub(super) async fn id(self, store: &Store) -> Result<Option<CaptureId>, StoreError> {
        match self {
            Self::Id(id) => Ok(Some(id)),
            Self::Newest => {
                let newest = store.summaries(&SummaryQuery { text: String::new(), limit: 1, offset: 0 }).await?;
                Ok(newest.items.first().map(|newest| newest.id))
            }
        }
    }
}

/// What is said where there is no newest capture.
pub(super) fn no_captures() -> Failure {
    Failure::new("there are no captures").remedy("Make one with `bathyscope record`.")
}
