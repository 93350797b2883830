//! Whose events are recorded.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{MAX_NAME_BYTES, SpecError, in_range};
use crate::TextPattern;

const MAX_PATH_BYTES: usize = 4096;
/// The longest name of a thread, without its final NUL.
const MAX_COMM_BYTES: u64 = 15;
const MAX_ARGUMENTS: usize = 256;
const MAX_ARGUMENT_BYTES: usize = 8 << 10;

/// Whose events are recorded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Target {
    /// Every process, and the kernel itself.
    System,
    /// One running process.
    Process {
        /// Its process id (the kernel's tgid), in the agent's pid namespace.
        pid: u32,
        /// Whether processes that it forks during the capture are recorded too.
        children: bool,
    },
    /// A program that is started for the capture; the capture ends when it does.
    Command {
        /// The program and its arguments; the program is looked up in a fixed path if it has no slash. Never a shell.
        argv: Vec<String>,
        /// The user to run it as, by name or number; none means the user who runs the console.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// Whether processes that it forks are recorded too.
        children: bool,
    },
    /// The processes of a control group (version 2) and of the groups below it.
    Cgroup {
        /// Its path from the root of the file system of control groups, such as `/system.slice/cron.service`.
        path: String,
    },
    /// The processes of a unit of systemd: its control group is looked up when the capture begins.
    Unit {
        /// Its full name, such as `cron.service`.
        name: String,
    },
    /// The processes of a container: its control group is looked up when the capture begins.
    Container {
        /// Its name, or its id or the beginning of it.
        name: String,
    },
    /// The processes of a user.
    User {
        /// The user's name or number.
        user: String,
    },
    /// Threads by their name.
    Comm {
        /// The whole name (at most 15 bytes), or a part of it with `*` where more may stand: at its beginning, its end or
        /// both.
        pattern: String,
    },
}

impl Target {
    /// Whether the capture ends when the target does.
    pub fn can_end(&self) -> bool {
        !matches!(self, Self::System | Self::User { .. } | Self::Comm { .. })
    }
}

impl fmt::Display for Target {
    /// In words, such as `pid 7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("the whole system"),
            Self::Process { pid, .. } => write!(f, "pid {pid}"),
            Self::Command { argv, .. } => f.write_str(argv.first().map_or("a command", String::as_str)),
            Self::Cgroup { path } => write!(f, "control group {path}"),
            Self::Unit { name } => f.write_str(name),
            Self::Container { name } => write!(f, "container {name}"),
            Self::User { user } => write!(f, "user {user}"),
            Self::Comm { pattern } => write!(f, "threads called {pattern}"),
        }
    }
}

/// Checks a name that is looked up.
fn name(what: &'static str, text: &str, most: usize) -> Result<(), SpecError> {
    in_range(what, text.len() as u64, 1, most as u64)?;
    if text.contains('\0') {
        return Err(SpecError::Character { what, found: "a NUL byte" });
    }
    Ok(())
}

impl Target {
    pub(super) fn validate(&self) -> Result<(), SpecError> {
        match self {
            Self::System => Ok(()),
            Self::Process { pid, .. } => in_range("the process id", u64::from(*pid), 1, 1 << 22),
            Self::Command { argv, .. } => {
                in_range("the number of words of the command", argv.len() as u64, 1, MAX_ARGUMENTS as u64)?;
                for word in argv {
                    in_range("the length of a word of the command", word.len() as u64, 0, MAX_ARGUMENT_BYTES as u64)?;
                    if word.contains('\0') {
                        return Err(SpecError::Character { what: "a word of the command", found: "a NUL byte" });
                    }
                }
                in_range("the length of the program's name", argv.first().map_or(0, String::len) as u64, 1, 4096)
            }
            Self::Cgroup { path } => name("the control group's path", path, MAX_PATH_BYTES),
            Self::Unit { name: unit } => name("the unit's name", unit, MAX_NAME_BYTES),
            Self::Container { name: container } => name("the container's name", container, MAX_NAME_BYTES),
            Self::User { user } => name("the user's name", user, MAX_NAME_BYTES),
            Self::Comm { pattern } => {
                let text = TextPattern::new(pattern).text();
                in_range("the length of a thread's name in bytes", text.len() as u64, 0, MAX_COMM_BYTES)?;
                if text.contains('*') {
                    return Err(SpecError::Character { what: "a thread's name", found: "a `*` inside" });
                }
                name("a thread's name", pattern, MAX_NAME_BYTES)
            }
        }
    }
}
