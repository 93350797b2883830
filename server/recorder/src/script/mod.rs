//! Runs scripts of the probe language: what `bathyscope trace` and the recorder have in common.
//!
//! The agent compiles, loads and attaches ([`bathyscope_link::script`]); this side reads the ring, and does what records ask
//! for in their order ([`ScriptSession`]). Rendering is `decode::script`'s, storing the recorder's. It must not know HTTP or
//! SQL, and trusts nothing in a record: lengths are checked against the plan.

mod event;
mod follow;
mod session;
mod sideband;

pub use event::{MapSnapshot, ScriptEvent};
pub(crate) use follow::Follower;
pub use session::{Finished, Polled, ScriptSession};

// For the recorder.
pub(crate) use bathyscope_link::{
    HostNames, ProcessNames, ScriptAgent,
    script::{ScriptFailure, ScriptOptions, ScriptRequest, matches, open_program, written},
};
