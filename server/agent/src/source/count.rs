//! Counts as they are asked for.

use bathyscope_capture::{CountSpec, Method, Target};
use bathyscope_protocol::{AgentError, AgentErrorKind};

use super::{SourceSpec, check_spec};
use crate::{
    engine::{MadeEngine, ProcessReports},
    error::failed,
    kernel::{self, KernelBackend, ResolvedTarget},
    memory::SourceMemory,
    os::perf_event::read_events,
    simulated::{self, MadeTarget, Simulation},
};

impl SourceSpec for CountSpec {
    fn check(&self, target: &Target) -> Result<(), AgentError> {
        check_spec(Method::Count(self.clone()), target)?;
        if self.groups.is_empty() {
            return Err(failed(AgentErrorKind::Invalid, "checking the capture", "it counts nothing", ""));
        }
        read_events(&self.groups).map(drop)
    }

    fn start(
        &self,
        kernel: &KernelBackend,
        target: &ResolvedTarget,
        memory: SourceMemory,
        _reports: ProcessReports,
    ) -> MadeEngine {
        Ok(Box::new(kernel::count::start(kernel, self, target, memory.ring_bytes)?))
    }

    fn simulate(
        &self,
        simulation: &Simulation,
        target: &MadeTarget,
        memory: SourceMemory,
        _reports: ProcessReports,
    ) -> MadeEngine {
        Ok(Box::new(simulated::count::start(simulation, self, target, memory.ring_bytes)?))
    }
}
