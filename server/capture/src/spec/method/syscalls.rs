//! Which system calls are recorded.

use serde::{Deserialize, Serialize};

use crate::spec::{MAX_TITLE_CHARACTERS, SpecError, in_range};

const MAX_CALL_WORDS: u64 = 512;
const MAX_FILTER_BYTES: u64 = 4096;
const MAX_DESCRIPTORS: u64 = 32;

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
    /// Bytes that are kept of a text or buffer that is no path, at most 16,384.
    pub string_bytes: u16,
    /// Whether descriptors are shown with their files.
    pub fd_paths: bool,
    /// Whether signals and the ends of processes are rows too.
    pub signals: bool,
    /// A line in the language of sysdig's filters that each call has to satisfy beside the rest, at most 4096 bytes: what the
    /// kernel's programs cannot decide. It is decided when a record has been read, before its row is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filter: Option<String>,
    /// Only processes that have this one among those that they descend from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub below: Option<Below>,
    /// How calls are written.
    #[serde(skip_serializing_if = "SyscallLook::is_usual")]
    pub look: SyscallLook,
    /// Whether it is recorded how long calls ran on a CPU.
    #[serde(skip_serializing_if = "is_false")]
    pub cpu_time: bool,
    /// Whether it is recorded where programs called from.
    #[serde(skip_serializing_if = "is_false")]
    pub addresses: bool,
    /// Whether the stacks of threads are recorded that call, or get a signal.
    #[serde(skip_serializing_if = "is_false")]
    pub stacks: bool,
    /// Whether rows have the numbers of calls; what is no call has that of the call that its thread is in or has made last.
    #[serde(skip_serializing_if = "is_false")]
    pub numbers: bool,
    /// Of which descriptors all data are rows too, as they are read and written: at most 1 MiB of each call.
    #[serde(skip_serializing_if = "SyscallData::is_none")]
    pub data: SyscallData,
}

/// Of which descriptors the data are recorded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SyscallData {
    /// Data that are read.
    pub read: Descriptors,
    /// Data that are written.
    pub write: Descriptors,
}

impl SyscallData {
    /// Whether none are.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

/// Descriptors of processes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Descriptors {
    /// None.
    #[default]
    None,
    /// All.
    All,
    /// These, at most 32.
    Of(Vec<u32>),
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks so")]
fn is_false(value: &bool) -> bool {
    !*value
}

/// Processes that descend from another one, which is none of them itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Below {
    /// That process.
    pub pid: u32,
    /// Only those that it has made itself, and that have not been handed on to another one since.
    pub direct: bool,
}

/// How calls are written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SyscallLook {
    /// Which texts are in base sixteen.
    pub hex: HexTexts,
    /// Whether structures are written whole.
    pub verbose: bool,
    /// Whether sockets are shown with their protocols and the ends of their connections, as far as calls have told them.
    pub sockets: bool,
    /// Calls and sets whose arguments are numbers in base sixteen.
    pub raw: Vec<String>,
    /// Where structures are written whole: calls and sets whose structures are not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub abbreviated: Vec<String>,
    /// Calls and sets whose structures are read, where others have their addresses; all if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub structures: Vec<String>,
    /// Whether devices are shown with their numbers.
    #[serde(skip_serializing_if = "is_false")]
    pub devices: bool,
    /// Whether descriptors of processes are shown with these.
    #[serde(skip_serializing_if = "is_false")]
    pub processes: bool,
    /// Whether what is none of these is shown as a number only.
    #[serde(skip_serializing_if = "is_false")]
    pub no_paths: bool,
}

impl SyscallLook {
    fn is_usual(&self) -> bool {
        *self == Self::default()
    }
}

/// Which texts are written in base sixteen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HexTexts {
    /// None; what cannot be printed is in base eight.
    #[default]
    None,
    /// Those with bytes that are not ASCII, or not printable.
    NonAscii,
    /// None, but what cannot be printed is in base sixteen instead of eight.
    Characters,
    /// All.
    All,
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
        Self {
            calls,
            outcome,
            min_duration_ns: 0,
            path,
            string_bytes: 32,
            fd_paths: true,
            signals: true,
            filter: None,
            below: None,
            look: SyscallLook::default(),
            cpu_time: false,
            addresses: false,
            stacks: false,
            numbers: false,
            data: SyscallData::default(),
        }
    }
}

impl SyscallSpec {
    /// See [`crate::Method::without_texts`].
    pub(super) fn without_texts(&self, name: &dyn Fn(&str) -> String) -> Self {
        Self {
            calls: self.calls.iter().map(|call| name(call)).collect(),
            outcome: self.outcome,
            min_duration_ns: self.min_duration_ns,
            string_bytes: self.string_bytes,
            fd_paths: self.fd_paths,
            signals: self.signals,
            cpu_time: self.cpu_time,
            addresses: self.addresses,
            stacks: self.stacks,
            numbers: self.numbers,
            ..Self::default()
        }
    }

    pub(super) fn validate(&self) -> Result<(), SpecError> {
        in_range("the number of system calls and sets", self.calls.len() as u64, 0, MAX_CALL_WORDS)?;
        for word in &self.calls {
            in_range("the length of a system call's name in bytes", word.len() as u64, 1, 64)?;
            if word.contains([',', '\0', ' ']) {
                return Err(SpecError::Character { what: "a system call's name", found: "a comma, space or NUL" });
            }
        }
        if let Some(filter) = &self.filter {
            in_range("the length of the filter in bytes", filter.len() as u64, 1, MAX_FILTER_BYTES)?;
        }
        if let Some(below) = self.below {
            in_range("the id of the process that others descend from", u64::from(below.pid), 1, i32::MAX as u64)?;
        }
        for (what, words) in [
            ("the number of calls that are written raw", &self.look.raw),
            ("the number of calls that are abbreviated", &self.look.abbreviated),
            ("the number of calls whose structures are read", &self.look.structures),
        ] {
            in_range(what, words.len() as u64, 0, MAX_CALL_WORDS)?;
            for word in words {
                in_range("the length of a system call's name in bytes", word.len() as u64, 1, 64)?;
            }
        }
        for descriptors in [&self.data.read, &self.data.write] {
            if let Descriptors::Of(numbers) = descriptors {
                let most = numbers.iter().copied().max().unwrap_or(0);
                in_range("the number of descriptors whose data are rows", numbers.len() as u64, 1, MAX_DESCRIPTORS)?;
                in_range("the number of a descriptor whose data are rows", u64::from(most), 0, i32::MAX as u64)?;
            }
        }
        if let Some(path) = &self.path {
            in_range("the length of the path in bytes", path.len() as u64, 1, 128)?;
            if path.contains('\0') {
                return Err(SpecError::Character { what: "the path", found: "a NUL byte" });
            }
        }
        in_range("the bytes of a text", u64::from(self.string_bytes), 0, 16 << 10)
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
