//! Whose events are recorded.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{MAX_NAME_BYTES, SpecError, in_range};
use crate::TextPattern;

const MAX_PATH_BYTES: usize = 4096;
/// The longest name of a thread, without its final NUL.
const MAX_COMM_BYTES: u64 = 15;
/// The most processes or threads of one target.
pub const MAX_TARGET_PROCESSES: usize = 256;
const MAX_PID: u64 = 1 << 22;
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
    /// Several running processes.
    Processes {
        /// Their ids, in the agent's pid namespace.
        pids: Vec<u32>,
        /// Whether processes that they fork during the capture are recorded too.
        children: bool,
    },
    /// Running threads, whatever processes they belong to. System calls, scripts and ftrace are not of threads.
    Threads {
        /// Their ids, in the agent's pid namespace.
        tids: Vec<u32>,
        /// Whether threads and processes that they make during the capture are recorded too.
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
    /// Others than a command, for as long as the command runs that is started for the capture.
    During {
        /// The command, as in [`Target::Command`].
        argv: Vec<String>,
        /// The user to run it as, as in [`Target::Command`].
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        /// Whose events: any target that has no command of its own; none means everybody's.
        #[serde(default = "everybody")]
        of: Box<Target>,
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

fn everybody() -> Box<Target> {
    Box::new(Target::System)
}

impl Target {
    /// Everybody, for as long as a command runs.
    pub fn during(argv: Vec<String>, user: Option<String>, of: Self) -> Self {
        Self::During { argv, user, of: Box::new(of) }
    }

    /// These processes: one, or several.
    pub fn of_processes(pids: &[u32], children: bool) -> Self {
        match pids {
            [pid] => Self::Process { pid: *pid, children },
            pids => Self::Processes { pids: pids.to_vec(), children },
        }
    }

    /// Whether the capture ends when the target does.
    pub fn can_end(&self) -> bool {
        !matches!(self, Self::System | Self::User { .. } | Self::Comm { .. })
    }

    /// The words of the command that is started for the capture, whether it is what is recorded or not; none for others.
    pub fn command(&self) -> Option<&[String]> {
        match self {
            Self::Command { argv, .. } | Self::During { argv, .. } => Some(argv),
            _ => None,
        }
    }

    /// Whose events are recorded, however long.
    pub fn watched(&self) -> &Self {
        match self {
            Self::During { of, .. } => of,
            target => target,
        }
    }
}

impl fmt::Display for Target {
    /// In words, such as `pid 7`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("the whole system"),
            Self::Process { pid, .. } => write!(f, "pid {pid}"),
            Self::Processes { pids, .. } => {
                f.write_str("pids ")?;
                for (index, pid) in pids.iter().enumerate() {
                    write!(f, "{}{pid}", if index == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            Self::Threads { tids, .. } => {
                f.write_str(if tids.len() == 1 { "thread " } else { "threads " })?;
                for (index, tid) in tids.iter().enumerate() {
                    write!(f, "{}{tid}", if index == 0 { "" } else { "," })?;
                }
                Ok(())
            }
            Self::Command { argv, .. } => f.write_str(program_of(argv)),
            Self::During { argv, of, .. } => write!(f, "{of} while {} runs", program_of(argv)),
            Self::Cgroup { path } => write!(f, "control group {path}"),
            Self::Unit { name } => f.write_str(name),
            Self::Container { name } => write!(f, "container {name}"),
            Self::User { user } => write!(f, "user {user}"),
            Self::Comm { pattern } => write!(f, "threads called {pattern}"),
        }
    }
}

fn program_of(argv: &[String]) -> &str {
    argv.first().map_or("a command", String::as_str)
}

/// Checks a command's words.
fn check_command(argv: &[String]) -> Result<(), SpecError> {
    in_range("the number of words of the command", argv.len() as u64, 1, MAX_ARGUMENTS as u64)?;
    for word in argv {
        in_range("the length of a word of the command", word.len() as u64, 0, MAX_ARGUMENT_BYTES as u64)?;
        if word.contains('\0') {
            return Err(SpecError::Character { what: "a word of the command", found: "a NUL byte" });
        }
    }
    in_range("the length of the program's name", argv.first().map_or(0, String::len) as u64, 1, 4096)
}

fn check_pid(pid: u32) -> Result<(), SpecError> {
    in_range("the process id", u64::from(pid), 1, MAX_PID)
}

/// Checks a list of processes.
fn check_pids(pids: &[u32]) -> Result<(), SpecError> {
    in_range("the number of processes", pids.len() as u64, 1, MAX_TARGET_PROCESSES as u64)?;
    pids.iter().try_for_each(|pid| check_pid(*pid))?;
    if has_twice(pids) {
        return Err(SpecError::Character { what: "a list of processes", found: "the same process twice" });
    }
    Ok(())
}

/// Checks a list of threads.
fn check_tids(tids: &[u32]) -> Result<(), SpecError> {
    in_range("the number of threads", tids.len() as u64, 1, MAX_TARGET_PROCESSES as u64)?;
    tids.iter().try_for_each(|tid| in_range("the thread id", u64::from(*tid), 1, MAX_PID))?;
    if has_twice(tids) {
        return Err(SpecError::Character { what: "a list of threads", found: "the same thread twice" });
    }
    Ok(())
}

fn has_twice(ids: &[u32]) -> bool {
    ids.iter().enumerate().any(|(index, id)| ids.iter().take(index).any(|earlier| earlier == id))
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
    /// Checks that it can be looked for.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn validate(&self) -> Result<(), SpecError> {
        match self {
            Self::System => Ok(()),
            Self::Process { pid, .. } => check_pid(*pid),
            Self::Processes { pids, .. } => check_pids(pids),
            Self::Threads { tids, .. } => check_tids(tids),
            Self::Command { argv, .. } => check_command(argv),
            Self::During { argv, of, .. } => {
                if of.command().is_some() {
                    let needs = "another target than a command: a command that is recorded is the target itself";
                    return Err(SpecError::Needs { what: "recording while a command runs", needs });
                }
                check_command(argv)?;
                of.validate()
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn read(text: &str) -> Target {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn targets_of_older_specs_and_new_ones_are_read() {
        let cases = [
            (r#""system""#, Target::System),
            (r#"{"process":{"pid":7,"children":true}}"#, Target::Process { pid: 7, children: true }),
            (r#"{"processes":{"pids":[7,8],"children":false}}"#, Target::of_processes(&[7, 8], false)),
            (
                r#"{"command":{"argv":["ls"],"children":true}}"#,
                Target::Command { argv: words(&["ls"]), user: None, children: true },
            ),
            (r#"{"threads":{"tids":[7,8],"children":true}}"#, Target::Threads { tids: vec![7, 8], children: true }),
            (r#"{"during":{"argv":["make","-j"]}}"#, Target::during(words(&["make", "-j"]), None, Target::System)),
            (
                r#"{"during":{"argv":["ls"],"user":"nobody","of":{"user":{"user":"root"}}}}"#,
                Target::during(words(&["ls"]), Some("nobody".to_owned()), Target::User { user: "root".to_owned() }),
            ),
        ];
        for (text, target) in cases {
            assert_eq!(read(text), target, "{text}");
            assert_eq!(read(&serde_json::to_string(&target).unwrap()), target, "{text}");
            assert_eq!(target.validate(), Ok(()), "{text}");
        }
    }

    #[test]
    fn what_is_recorded_while_a_command_runs_has_no_command() {
        let command = || Target::Command { argv: words(&["ls"]), user: None, children: true };
        assert!(Target::during(words(&["ls"]), None, command()).validate().is_err());
        let twice = Target::during(words(&["ls"]), None, Target::System);
        assert!(Target::during(words(&["ls"]), None, twice).validate().is_err());
        assert!(Target::during(Vec::new(), None, Target::System).validate().is_err());
        let bad_pid = Target::Process { pid: 0, children: false };
        assert!(Target::during(words(&["ls"]), None, bad_pid).validate().is_err());
        assert!(Target::of_processes(&[7, 8, 7], true).validate().is_err());
        assert!(Target::of_processes(&[], true).validate().is_err());
        let threads = |tids: &[u32]| Target::Threads { tids: tids.to_vec(), children: false };
        for tids in [&[][..], &[0], &[7, 7], &[u32::MAX]] {
            assert!(threads(tids).validate().is_err(), "{tids:?}");
        }
        assert_eq!(
            (threads(&[7]).to_string(), threads(&[7, 8]).to_string()),
            ("thread 7".to_owned(), "threads 7,8".to_owned())
        );
        assert_eq!(
            Target::during(words(&["make"]), None, Target::of_processes(&[7, 8], true)).to_string(),
            "pids 7,8 while make runs"
        );
    }
}
