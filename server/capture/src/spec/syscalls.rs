//! Which system calls are recorded.

use serde::{Deserialize, Serialize};

use super::{MAX_TITLE_CHARACTERS, SpecError, in_range};

const MAX_CALL_WORDS: u64 = 512;

/// Which system calls are recorded, and how much of each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SyscallSpec {
    /// Names and sets (`%file`), as strace takes them after `-e trace=`; the first may begin with `!`. None means all.
    pub calls: Vec<String>,
    /// Which results.
    pub outcome: SyscallOutcome,
    /// Only calls that took so many nanoseconds.
    pub min_duration_ns: u64,
    /// Only calls with a path that begins so, at most 128 bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Bytes that are kept of a text or buffer that is no path, at most 1024.
    pub string_bytes: u16,
    /// Whether descriptors are shown with their files.
    pub fd_paths: bool,
    /// Whether signals and the ends of processes are rows too.
    pub signals: bool,
}

/// Which results of system calls are recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SyscallOutcome {
    /// All.
    #[default]
    Any,
    /// Errors.
    Failed,
    /// All but errors.
    Succeeded,
}

impl Default for SyscallSpec {
    fn default() -> Self {
        let (calls, path, outcome) = (Vec::new(), None, SyscallOutcome::Any);
        Self { calls, outcome, min_duration_ns: 0, path, string_bytes: 32, fd_paths: true, signals: true }
    }
}

impl SyscallSpec {
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        in_range("the number of system calls and sets", self.calls.len() as u64, 0, MAX_CALL_WORDS)?;
        for word in &self.calls {
            in_range("the length of a system call's name in bytes", word.len() as u64, 1, 64)?;
            if word.contains([',', '\0', ' ']) {
                return Err(SpecError::Character { what: "a system call's name", found: "a comma, space or NUL" });
            }
        }
        if let Some(path) = &self.path {
            in_range("the length of the path in bytes", path.len() as u64, 1, 128)?;
            if path.contains('\0') {
                return Err(SpecError::Character { what: "the path", found: "a NUL byte" });
            }
        }
        in_range("the bytes of a text", u64::from(self.string_bytes), 0, 1024)
    }

    /// What it is called.
    pub(super) fn title(&self) -> String {
        let failed = if self.outcome == SyscallOutcome::Failed { "failed " } else { "" };
        match self.calls.as_slice() {
            [] => format!("{failed}system calls"),
            some => {
                let mut title = format!("{failed}system calls {}", some.join(","));
                if let Some((at, _)) = title.char_indices().nth(MAX_TITLE_CHARACTERS) {
                    title.truncate(at);
                    title.push('…');
                }
                title
            }
        }
    }
}
