//! The agent's client: the connection to it, and what is learnt of this host over it.
//!
//! What is here needs the agent and nothing else of the console: facts about the host, its processes and control groups, what
//! can be traced on it ([`inventory`]), the places in user space that scripts name ([`script`]), and dynamic events as people
//! write them ([`dynamic`]). Nothing is cached longer than its owner says, and nothing is kept on a disk.
//!
//! Constraints: the agent opens files, this side reads them without any right; what they say is as hostile as any input.
//! Functions that wait for the agent say so: they must not be called on a thread of the runtime. It must not know HTTP, SQL,
//! captures or how anything is shown.

#![forbid(unsafe_code)]

pub mod activity;
mod agent_link;
pub mod clock;
pub mod dynamic;
pub mod groups;
pub mod host;
mod host_names;
pub mod inventory;
pub mod process_files;
mod process_names;
pub mod processes;
pub mod script;
mod script_agent;

pub use agent_link::{AgentLink, AgentState, AgentStatus, LinkError, words};
pub use host_names::{HostNames, local};
pub use process_names::ProcessNames;
pub use script_agent::ScriptAgent;
