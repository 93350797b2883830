//! Marks and baselines at a terminal: what the command line has done, by the running console or without one.

use bathyscope_capture::{CaptureId, SeriesId};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{Store, StoreError};
use serde::{Deserialize, Serialize};

use super::{AskedMark, MarkError, checked_mark};
use crate::library::TERMINAL;

/// What a terminal asks.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum TerminalSeries {
    /// Mark a moment.
    Mark(AskedMark),
    /// Remove a mark.
    Unmark {
        /// Its number.
        id: i64,
    },
    /// Name the baseline of a series, or take it back.
    Baseline {
        /// The series.
        series: SeriesId,
        /// The run; none to have none.
        baseline: Option<CaptureId>,
    },
}

/// Why it was not done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SeriesError {
    /// The mark is none.
    #[error(transparent)]
    Mark(#[from] MarkError),
    /// There is no such mark.
    #[error("there is no mark {0}; `bathyscope mark --list` has their numbers")]
    NoMark(i64),
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was done, for the audit log and the terminal.
#[derive(Clone, Debug)]
pub struct DoneSeries {
    /// Such as `mark.add`.
    pub action: &'static str,
    /// To what.
    pub object: String,
    /// More about it.
    pub detail: String,
    /// What is told.
    pub told: String,
}

/// Does what a terminal asks, in the name of whoever may use the database.
///
/// # Errors
/// Why it was not done.
pub async fn series_at_terminal(store: &Store, asked: TerminalSeries) -> Result<DoneSeries, SeriesError> {
    match asked {
        TerminalSeries::Mark(asked) => {
            let mark = checked_mark(asked, TERMINAL, wall_unix_ns())?;
            let detail = mark.text.clone();
            let id = store.add_mark(mark).await?.to_string();
            Ok(DoneSeries { action: "mark.add", told: id.clone(), object: id, detail })
        }
        TerminalSeries::Unmark { id } => {
            if !store.remove_mark(id).await? {
                return Err(SeriesError::NoMark(id));
            }
            let (object, told) = (id.to_string(), format!("Removed mark {id}."));
            Ok(DoneSeries { action: "mark.remove", object, detail: String::new(), told })
        }
        TerminalSeries::Baseline { series, baseline } => {
            store.set_baseline(series, baseline).await?;
            let detail = baseline.map_or_else(|| "none".to_owned(), |id| id.to_string());
            let told = format!("The baseline of series {series} is {detail}.");
            Ok(DoneSeries { action: "series.baseline", object: series.to_string(), detail, told })
        }
    }
}
