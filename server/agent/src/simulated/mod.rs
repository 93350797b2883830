//! Made events, for tests and for trying the console without rights.
//!
//! Everything but the clock is decided by a seed: event number k of a stream is the same in every run. What the
//! simulation drops on purpose it counts exactly, so tests know the truth.

mod activity;
mod attached;
pub(crate) mod count;
mod elf;
mod engine;
pub(crate) mod events;
mod host;
mod options;
pub(crate) mod profile;
mod records;
mod sample_records;
pub(crate) mod script;
mod sideband;
pub(crate) mod states;
pub(crate) mod syscalls;
mod target;
pub(crate) mod trace;
mod world;

use std::os::fd::OwnedFd;

use bathyscope_plan::Features;
use bathyscope_protocol::{
    ActivityPage, AgentError, AgentErrorKind, BpfLink, BpfProgram, Capability, ContainerName, DynamicEvents,
    KernelFile, PerfEventInfo, ProcessFile, ScriptChecked, ScriptFacts, ScriptStage, WireScript,
};

pub use options::{ParseSimulationError, Simulation};
#[cfg(test)]
pub(crate) use script::SimulatedFacts;
pub(crate) use target::{MadeTarget, SimulatedTarget};

use crate::{
    error::failed,
    host_requests::{HostRequests, UserFile},
};

/// A host that does not exist.
#[derive(Debug)]
pub struct SimulatedBackend {
    simulation: Simulation,
}

impl SimulatedBackend {
    /// A host with these options.
    pub fn new(simulation: Simulation) -> Self {
        Self { simulation }
    }

    /// Its options.
    pub(crate) fn simulation(&self) -> &Simulation {
        &self.simulation
    }
}

impl HostRequests for SimulatedBackend {
    fn simulated(&self) -> bool {
        true
    }

    fn command_user(&self, wanted: Option<&str>) -> Option<String> {
        Some(wanted.unwrap_or(world::COMMAND_USER).to_owned())
    }

    fn capabilities(&mut self) -> Vec<Capability> {
        host::capabilities()
    }

    fn perf_events(&mut self) -> Vec<PerfEventInfo> {
        count::perf_events()
    }

    fn dynamic_events(&mut self) -> Result<DynamicEvents, AgentError> {
        Ok(host::dynamic_events(self.simulation.kprobes))
    }

    fn try_event(&mut self, line: &str) -> Result<(), AgentError> {
        host::try_event(line)
    }

    fn optimize_kprobes(&mut self, _on: bool) -> Result<(), AgentError> {
        let why = "the simulated kernel has no probes of its own";
        Err(failed(AgentErrorKind::Unsupported, "setting debug.kprobes-optimization", why, "Start without --simulate."))
    }

    fn open_kernel_file(&mut self, file: &KernelFile) -> Result<OwnedFd, AgentError> {
        host::open_kernel_file(file)
    }

    fn list_processes(&mut self, after: u32, limit: usize) -> Result<(Vec<u32>, bool), AgentError> {
        let mut pids: Vec<u32> =
            world::PROCESSES.iter().map(|process| process.pid).filter(|pid| *pid > after).collect();
        let more = pids.len() > limit;
        pids.truncate(limit);
        Ok((pids, more))
    }

    fn process_activity(&mut self, after: u32) -> Result<(ActivityPage, Vec<u8>), AgentError> {
        Ok(activity::page(after))
    }

    fn list_groups(&mut self, after: &str, bytes: usize) -> Result<(Vec<String>, bool), AgentError> {
        Ok(world::groups(after, bytes))
    }

    fn container_name(&mut self, id: &str) -> ContainerName {
        if id != world::CONTAINER_ID {
            return ContainerName::default();
        }
        let text = |text: &str| Some(text.to_owned());
        ContainerName { name: text(world::CONTAINER_NAME), image: text(world::CONTAINER_IMAGE) }
    }

    fn bpf_programs(&mut self, after: u32, limit: usize) -> Result<(Vec<BpfProgram>, bool), AgentError> {
        Ok(attached::page(attached::programs(), after, limit, |program| program.id))
    }

    fn bpf_links(&mut self, after: u32, limit: usize) -> Result<(Vec<BpfLink>, bool), AgentError> {
        Ok(attached::page(attached::links(), after, limit, |link| link.id))
    }

    fn open_process_file(&mut self, pid: u32, file: &ProcessFile) -> Result<OwnedFd, AgentError> {
        host::open_process_file(pid, file)
    }

    fn features(&mut self) -> Features {
        script::features()
    }

    fn check_script(&mut self, script: &WireScript, show: Option<ScriptStage>) -> Result<ScriptChecked, AgentError> {
        script::check(script, show)
    }

    fn script_facts(&mut self, script: &WireScript, offset: u32) -> Result<ScriptFacts, AgentError> {
        script::facts(script, offset)
    }

    fn open_user_file(&mut self, path: &str, in_process: Option<u32>) -> Result<UserFile, AgentError> {
        host::open_user_file(path, in_process)
    }
}
