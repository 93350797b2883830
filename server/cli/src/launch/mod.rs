//! Starting and confining the processes.
//!
//! What a person starts is the *supervisor*. It makes a door for the two others and executes this same binary twice: as
//! the *agent*, which keeps whatever rights there are, and as the *console*, which gives up every right before it
//! starts a thread or opens a listener. The supervisor itself parses nothing and serves nobody; it restarts an agent
//! that has ended, ends the agent when the console ends, and passes the console's status on. Each child dies with it.
//! Where hosts are listed it starts a third one, which alone connects to others, and asks them for the console.
//!
//! Verbs that need the agent only for a moment start one at the end of a socket pair ([`OwnAgent`]) and give up their
//! own rights too before they read anything that it hands out.

mod account;
mod confine;
mod directories;
mod files;
mod filter;
mod own_agent;
mod place;
mod reader;
mod supervisor;

pub use account::{Account, console_account, starter_uid};
pub use confine::{confine, confine_helper, confine_to_folder, give_up_rights};
pub(crate) use directories::{DATABASE, prepare_data};
pub use files::{restrict_files, restrict_files_of_reader, restrict_outbound};
pub use filter::{filter_system_calls, filter_system_calls_of_outbound, filter_system_calls_of_reader};
pub use own_agent::OwnAgent;
pub(crate) use own_agent::agent_failure;
pub(crate) use place::{LeftDirectory, Workplace, remove_left};
pub use reader::{start_file_maker, start_reader};
pub use supervisor::supervise;

/// Milliseconds between an agent's death and the first attempt to start another.
const FIRST_RESTART_MS: u64 = 100;
/// The longest pause between attempts.
const LONGEST_RESTART_MS: u64 = 10_000;
/// An agent that lived so long was well; the next death begins with the shortest pause again.
const SETTLED_MS: u64 = 30_000;
/// How long the console may take to stop; then it is killed. With what the agent may take, less than ten seconds.
const STOP_CONSOLE_MS: u64 = 7_500;
/// How long the agent may take to end after the console.
const STOP_AGENT_MS: u64 = 2_000;

/// The words of the environment that children get; everything else stays with the supervisor, as it may be secret.
const KEPT_ENVIRONMENT: [&str; 6] = ["LANG", "LC_ALL", "TZ", "NO_COLOR", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE"];

/// This binary, to be executed as another verb, with the environment that children get.
pub(crate) fn this_binary(verb: &str) -> std::process::Command {
    use std::os::unix::process::CommandExt as _;
    let mut command = std::process::Command::new("/proc/self/exe");
    command.arg0("bathyscope").arg(verb).env_clear().current_dir("/");
    for name in KEPT_ENVIRONMENT {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    // A group of its own: a Ctrl-C at the terminal is for the supervisor, which ends the children in order.
    command.process_group(0);
    command
}
