//! Which system calls are told apart by what: the parameters of `syscalls`.

use bathyscope_views::{Source, SyscallGroup, SyscallQuery, ViewError};
use serde::Deserialize;

use crate::ViewQuery;

/// The parameters beside range and filter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SyscallParams {
    /// `call`, `process`, `thread`, `process_call` or `thread_call`; `call` if empty.
    pub calls_by: String,
    /// 1 for those with most bytes first; else those that took longest.
    pub bytes: Option<u8>,
}

impl SyscallParams {
    /// As a query of the calls that `query` chooses.
    ///
    /// # Errors
    /// If the filter or the group cannot be read.
    pub fn query(&self, query: &ViewQuery, source: &dyn Source) -> Result<SyscallQuery, ViewError> {
        let group = match self.calls_by.as_str() {
            "" => SyscallGroup::Call,
            word => {
                SyscallGroup::named(word).ok_or_else(|| ViewError::SyscallGroup(word.chars().take(80).collect()))?
            }
        };
        let rows = query.rows(source)?;
        Ok(SyscallQuery { range: rows.range, filter: rows.filter, group, by_bytes: self.bytes == Some(1) })
    }
}
