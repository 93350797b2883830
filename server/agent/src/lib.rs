//! The privileged side: a broker of file descriptors.
//!
//! The agent checks a request, compiles and loads programs, attaches probes, and hands the console descriptors of ring
//! buffers and files. The console maps and reads them itself, so nothing that came from events or processes is parsed
//! with privileges. It serves one console at a time over a local socket, treats it as hostile, and takes everything out
//! of the kernel again when the connection ends.
//!
//! It is one process of ordinary threads. It never listens on a network, starts no shell, and touches nothing in the
//! kernel that it did not create itself.
//!
//! Its modules know each other in one direction only. `server` and `session` ask the table of kinds (`source`), which asks
//! the two backends (`kernel`, `simulated`). Below them are the compiler of scripts, the trials of `doctor`, the budget of
//! `memory`, and last what the operating system offers, as it is (`os`).

mod agent_guard;
mod clock;
mod commands;
mod compile;
mod count_row;
mod doctor;
mod engine;
mod error;
mod guard;
mod host_requests;
mod kernel;
mod lockdown;
mod memory;
mod needs;
mod os;
mod rights;
mod running;
pub mod seccomp;
mod server;
mod session;
mod share_work;
mod simulated;
mod source;
mod spending;

pub use commands::{CommandRights, ParseCommandRightsError, has_account, user_name};
pub use compile::ScriptRights;
pub use engine::EngineError;
pub use host_requests::{HostRequests, UserFile};
pub use kernel::{KernelBackend, Leftover, cleanup};
pub use memory::{MAX_RING_BYTES, MIN_RING_BYTES};
pub use os::cgroups::cgroup_id;
pub use running::RunningCapture;
pub use server::{AgentOptions, RunError, close_inherited, run, run_on, take_inherited};
pub use session::{SessionEnd, serve, serve_with_lease};
pub use simulated::{ParseSimulationError, SimulatedBackend, Simulation};
pub use source::{Backend, CapturePlan};
