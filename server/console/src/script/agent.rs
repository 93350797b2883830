//! What a script session asks of the agent, so that it runs over a connection of its own (`trace`), over the console's
//! ([`crate::recorder::AgentLink`]), and over a made one in tests.

use std::os::fd::OwnedFd;

use bathyscope_bpf::lang::plan::Plan;
use bathyscope_protocol::{RingInfo, TargetState};

use super::{MapRow, ProbeAttached, ProbeCounters, ScriptFailure, ScriptRequest};
use crate::recorder::LinkError;

/// Which map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MapRef {
    /// One of the script's, index in the plan.
    Script(u32),
    /// Bodies of kernel stacks.
    KernelStacks,
    /// Bodies of user stacks.
    UserStacks,
}

/// A script whose programs are attached, but not enabled.
#[derive(Debug)]
pub struct StartedScript {
    /// What its records mean.
    pub plan: Plan,
    /// What became of each probe, in the plan's order.
    pub probes: Vec<ProbeAttached>,
    /// Its ring; none if it sends nothing.
    pub ring: Option<(RingInfo, OwnedFd)>,
    /// Perf rings with the history of processes.
    pub sideband: Vec<(RingInfo, OwnedFd)>,
    /// Read ends of the command's standard output and standard error, if there is one.
    pub output: Option<(OwnedFd, OwnedFd)>,
    /// Processes that are the target when it begins: the command's, or the given one.
    pub target_pid: Option<u32>,
    /// Nanoseconds spent on compiling, loading, attaching.
    pub costs_ns: [u64; 3],
}

/// Counters of a script, and what became of its target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptReadings {
    /// Moment of the reading, monotonic nanoseconds.
    pub time_ns: u64,
    /// One for each program of the plan.
    pub programs: Vec<ProbeCounters>,
    /// What became of the target.
    pub target: TargetState,
}

/// The agent, as a session needs it. All calls block. A session runs one script at a time over it.
pub trait ScriptAgent {
    /// Compiles, loads and attaches; nothing runs before [`ScriptAgent::enable`].
    ///
    /// # Errors
    /// What is wrong with the script, or why the agent could not.
    fn start(&mut self, request: &ScriptRequest) -> Result<StartedScript, ScriptFailure>;

    /// Runs `begin` probes, then lets the others and the command run. Gives the moment at which all were enabled,
    /// monotonic nanoseconds.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    fn enable(&mut self) -> Result<u64, LinkError>;

    /// Counters, and the state of the target.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    fn readings(&mut self) -> Result<ScriptReadings, LinkError>;

    /// All elements of a map, and whether there were more than are given.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    fn read_map(&mut self, map: MapRef) -> Result<(Vec<MapRow>, bool), LinkError>;

    /// Removes all elements of a map, or (`zero`) sets their values to zero.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    fn empty_map(&mut self, map: u32, zero: bool) -> Result<(), LinkError>;

    /// Runs the script's `self:signal` probes of that signal.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    fn signal(&mut self, number: i32) -> Result<(), LinkError>;

    /// Detaches all probes, then runs `end` probes; the ring and the maps keep what they hold. The last counters.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    fn stop(&mut self, end_command: bool) -> Result<ScriptReadings, LinkError>;

    /// Forgets a stopped script with its maps.
    ///
    /// # Errors
    /// If the agent refuses it or is not there.
    fn discard(&mut self) -> Result<(), LinkError>;
}

impl<A: ScriptAgent + ?Sized> ScriptAgent for &mut A {
    fn start(&mut self, request: &ScriptRequest) -> Result<StartedScript, ScriptFailure> {
        (**self).start(request)
    }

    fn enable(&mut self) -> Result<u64, LinkError> {
        (**self).enable()
    }

    fn readings(&mut self) -> Result<ScriptReadings, LinkError> {
        (**self).readings()
    }

    fn read_map(&mut self, map: MapRef) -> Result<(Vec<MapRow>, bool), LinkError> {
        (**self).read_map(map)
    }

    fn empty_map(&mut self, map: u32, zero: bool) -> Result<(), LinkError> {
        (**self).empty_map(map, zero)
    }

    fn signal(&mut self, number: i32) -> Result<(), LinkError> {
        (**self).signal(number)
    }

    fn stop(&mut self, end_command: bool) -> Result<ScriptReadings, LinkError> {
        (**self).stop(end_command)
    }

    fn discard(&mut self) -> Result<(), LinkError> {
        (**self).discard()
    }
}
