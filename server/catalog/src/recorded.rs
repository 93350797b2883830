//! Types and tracepoints of real kernels, recorded for tests: what their BTF and their tracefs say, reduced to what is
//! often traced. How they are recorded: `tests/types/README.md`.

use std::sync::Arc;

use crate::types::Btf;

/// The kernels that are recorded.
pub const KERNELS: [&str; 3] = ["6.1", "6.12", "6.18"];

/// One recorded kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// As `uname -r` says.
    pub release: String,
    /// Its types.
    pub btf: Arc<Btf>,
    /// Types of some of its modules.
    pub modules: Vec<Arc<Btf>>,
    /// The format file of every tracepoint.
    pub formats: std::collections::BTreeMap<String, String>,
}

/// The recorded kernel of that series, such as `6.12`.
///
/// # Errors
/// If there is none, or what is recorded cannot be read.
pub fn kernel(series: &str) -> Result<Kernel, RecordedError> {
    Err(RecordedError::Unknown { series: series.to_owned() })
}

/// Why there is no recorded kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RecordedError {
    /// It was never recorded.
    #[error("no kernel {series} is recorded; there are {KERNELS:?}")]
    Unknown {
        /// What was asked for.
        series: String,
    },
    /// The file is damaged.
    #[error("the recording of {series} is damaged: {what}")]
    Damaged {
        /// What was asked for.
        series: String,
        /// What is wrong.
        what: String,
    },
}
