//! What records a source, and whose events they are, from its start to its end.
//!
//! An engine knows neither the target's command nor other engines: who holds a capture ([`crate::running`]) lets the command run
//! when all that records it does, and ends it.

use std::os::fd::BorrowedFd;

use bathyscope_capture::visible;
use bathyscope_protocol::{
    AgentError, AgentErrorKind, CpuTime, ScriptEnabled, ScriptRefused, ScriptStarted, SourceReadings, StartedSource,
    TargetState,
};

use crate::{error::failed, guard::SharedBudget};

/// Why something cannot be recorded.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum EngineError {
    /// Something about the script.
    #[error("the script cannot run: {}", .0.diagnostics.first().map_or("", |first| first.message.as_str()))]
    Script(ScriptRefused),
    /// Something else.
    #[error(transparent)]
    Agent(#[from] AgentError),
}

impl EngineError {
    /// The same as an error of the agent: of a script that is refused, the first thing that is wrong with it.
    pub(crate) fn into_agent_error(self) -> AgentError {
        match self {
            Self::Agent(error) => error,
            Self::Script(refused) => {
                let first = refused.diagnostics.first();
                let why = first.map_or_else(|| "it is refused".to_owned(), |first| first.message.clone());
                failed(AgentErrorKind::Invalid, "starting the script", why, "")
            }
        }
    }
}

/// Whether an engine reports what happens to processes: names, mappings, forks and ends. One engine of a capture does it for all,
/// so that nothing is told twice; and kernels mark the mappings of a second reporter as the first one wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProcessReports {
    /// Another engine does, or nobody has to.
    Elsewhere,
    /// This one does.
    Here {
        /// Also mappings of data, of which samples tell addresses.
        data: bool,
    },
}

/// An engine, or why there is none.
pub(crate) type MadeEngine = Result<Box<dyn Engine>, EngineError>;

/// What records a source: its programs, events or threads. Dropping it detaches and closes everything.
pub(crate) trait Engine: Send {
    /// What was made; what only scripts have is not in it.
    fn started(&self) -> &StartedSource;

    /// Descriptor `index` of its rings.
    fn descriptor(&self, index: usize) -> Option<BorrowedFd<'_>>;

    /// What it may cost; said before it is enabled, if at all.
    fn set_budget(&mut self, budget: SharedBudget);

    /// Makes it cost the agent less, once. Returns whether it can.
    fn throttle(&mut self) -> bool {
        false
    }

    /// Detaches what costs something, without running a script's `end`; counters, maps and rings stay, and it can only be
    /// stopped.
    fn detach(&mut self);

    /// Begins to record. Returns after the last probe is attached; of a script, what is attached.
    ///
    /// # Errors
    /// If a probe cannot be attached without which it does not record; it can then only be stopped.
    fn enable(&mut self) -> Result<Option<ScriptEnabled>, EngineError>;

    /// Counters and states.
    fn readings(&mut self) -> SourceReadings;

    /// Switches some of its dynamic events off; the rest goes on. Returns how many were on.
    ///
    /// # Errors
    /// If it has none, or the kernel fails.
    fn detach_events(&mut self, _events: &[u16]) -> Result<u32, AgentError> {
        let why = "it has no dynamic events";
        Err(failed(AgentErrorKind::Invalid, "detaching probes of the capture", why, "Stop the whole capture."))
    }

    /// Detaches; the rings keep what they hold, and readings are final when nothing is attached any more. What cannot be
    /// detached at once goes on in the background, and readings tell how far it is.
    fn stop(&mut self);

    /// Its maps and what else can be asked of a script; none if it is no script.
    fn maps(&mut self) -> Option<&mut dyn ScriptMaps> {
        None
    }
}

/// What can be asked of a script beside its records. Maps and probes are named by their index in the plan, which the caller
/// has checked.
pub(crate) trait ScriptMaps {
    /// What it does and takes.
    fn script(&self) -> &ScriptStarted;

    /// A page of a map's elements, those that come after `after`.
    ///
    /// # Errors
    /// If the kernel fails.
    fn read_map(&mut self, map: usize, take: bool, after: Option<&[u8]>) -> Result<Elements, AgentError>;

    /// Those of `keys`, all as long as the map's, that are in it.
    ///
    /// # Errors
    /// If the kernel fails.
    fn read_elements(&mut self, map: usize, keys: &[&[u8]]) -> Result<Elements, AgentError>;

    /// Removes all elements; sets an array's to zero. Returns how many.
    ///
    /// # Errors
    /// If the kernel fails.
    fn clear_map(&mut self, map: usize) -> Result<u32, AgentError>;

    /// Sets all values to zero. Returns how many.
    ///
    /// # Errors
    /// If the kernel fails.
    fn zero_map(&mut self, map: usize) -> Result<u32, AgentError>;

    /// Removes `keys`, all as long as the map's. Returns how many there were.
    ///
    /// # Errors
    /// If the kernel fails.
    fn delete_keys(&mut self, map: usize, keys: &[&[u8]]) -> Result<u32, AgentError>;

    /// Stacks by id, those that exist, with their frames.
    ///
    /// # Errors
    /// If the kernel fails.
    fn read_stacks(&mut self, user: bool, ids: &[u64]) -> Result<Vec<(u64, Vec<u64>)>, AgentError>;

    /// Runs the probes of a signal. Returns how many ran.
    ///
    /// # Errors
    /// If the kernel fails.
    fn run_signal(&mut self, number: i32) -> Result<u32, AgentError>;

    /// Walks the iterator of probe `probe` of the plan, which the caller has checked to be one.
    ///
    /// # Errors
    /// If the kernel fails.
    fn run_iterator(&mut self, probe: usize) -> Result<(), AgentError>;
}

/// Elements of a map.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Elements {
    /// How many.
    pub(crate) count: u32,
    /// Key and values of each, see [`bathyscope_protocol::MapPage`].
    pub(crate) bytes: Vec<u8>,
    /// Where to go on; none after the last.
    pub(crate) next: Option<Vec<u8>>,
}

/// A target, held for as long as a capture is. Dropping it ends its command.
pub(crate) trait HeldTarget {
    /// The process that is the target when the capture begins, if it is one.
    fn pid(&self) -> Option<u32>;

    /// The read end of the command's standard output (0) or standard error (1), if they are not the caller's.
    fn output(&self, index: usize) -> Option<BorrowedFd<'_>>;

    /// Lets a command run.
    ///
    /// # Errors
    /// If it cannot be executed.
    fn release(&mut self) -> Result<(), AgentError>;

    /// Ends a command that still runs.
    fn end(&mut self);

    /// What became of it.
    fn state(&mut self) -> TargetState;

    /// What the command has used, once it has ended.
    fn command_time(&self) -> Option<CpuTime>;
}

/// Why the agent does not look for a unit or a container: it parses no names of others, the console does.
pub(crate) fn unresolved(name: &str) -> AgentError {
    let doing = format!("looking for the processes of `{}`", visible(name.as_bytes()));
    failed(AgentErrorKind::Invalid, doing, "the agent takes control groups by their path only", "")
}
