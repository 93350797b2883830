//! The privileged side: a broker of file descriptors.
//!
//! The agent checks a request, compiles and loads programs, attaches probes, and hands the console descriptors of ring
//! buffers and files. The console maps and reads them itself, so nothing that came from events or processes is parsed
//! with privileges. It serves one console at a time over a local socket, treats it as hostile, and takes everything out
//! of the kernel again when the connection ends.
//!
//! It is one process of ordinary threads. It never listens on a network, starts no shell, and touches nothing in the
//! kernel that it did not create itself.

mod agent_guard;
mod backend;
mod commands;
mod compile;
mod count_row;
mod doctor;
mod engine;
mod error;
mod guard;
mod kernel;
mod lockdown;
mod memory;
mod needs;
mod rights;
pub mod seccomp;
mod server;
mod session;
mod simulated;
mod source;
mod spending;

pub use backend::{Backend, UserFile};
pub use commands::{CommandRights, ParseCommandRightsError, has_account, user_name};
pub use compile::ScriptRights;
pub use engine::{Elements, Engine, EngineError, HeldTarget, RunningCapture, ScriptMaps};
pub use kernel::{KernelBackend, Leftover, cgroup_id, cleanup};
pub use server::{AgentOptions, RunError, close_inherited, run, run_on, take_inherited};
pub use session::{SessionEnd, serve, serve_with_lease};
pub use simulated::{ParseSimulationError, SimulatedBackend, Simulation};
pub use source::{CapturePlan, MAX_RING_BYTES, MIN_RING_BYTES};
