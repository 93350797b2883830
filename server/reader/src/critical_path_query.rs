//! Which critical path: the parameters of its address.

use bathyscope_views::{CriticalPathQuery, PathOf, Source, ViewError};
use serde::Deserialize;

/// The parameters. Times are nanoseconds relative to the capture's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PathQuery {
    /// Whose: a track of states (`3.17`), or the number of a thread (`1234`, `tid:1234`).
    pub thread: String,
    /// From when.
    pub start: Option<i64>,
    /// Until before when.
    pub end: Option<i64>,
}

impl PathQuery {
    /// As views take it.
    ///
    /// # Errors
    /// If it names neither a track nor a thread.
    pub fn path(&self, source: &dyn Source) -> Result<CriticalPathQuery, ViewError> {
        let word = self.thread.strip_prefix("tid:").unwrap_or(&self.thread);
        let of = match word.parse() {
            Ok(tid) => PathOf::Thread(tid),
            Err(_) => PathOf::Track(word.parse()?),
        };
        Ok(CriticalPathQuery { of, range: crate::tracks_query::range(source, self.start, self.end) })
    }
}
