//! A profile as it is asked for.

use bathyscope_capture::{Method, ProfileSpec, Target};
use bathyscope_protocol::AgentError;

use super::{Reporting, SourceSpec, check_spec};
use crate::{
    engine::{MadeEngine, ProcessReports},
    kernel::{self, KernelBackend, ResolvedTarget},
    memory::SourceMemory,
    os::perf_event::read_event,
    simulated::{self, MadeTarget, Simulation},
};

impl SourceSpec for ProfileSpec {
    fn check(&self, target: &Target) -> Result<(), AgentError> {
        check_spec(Method::Profile(self.clone()), target)?;
        let more = self.more.iter().map(|more| more.event.as_str());
        for event in self.event.as_deref().into_iter().chain(more) {
            drop(read_event(Some(event))?);
        }
        Ok(())
    }

    fn reporting(&self) -> Reporting {
        Reporting::WithSamples
    }

    fn tells_data(&self) -> bool {
        self.memory
    }

    fn start(
        &self,
        kernel: &KernelBackend,
        target: &ResolvedTarget,
        memory: SourceMemory,
        reports: ProcessReports,
    ) -> MadeEngine {
        Ok(Box::new(kernel::profile::start(kernel, self, target, memory.ring_bytes, reports)?))
    }

    fn simulate(
        &self,
        simulation: &Simulation,
        target: &MadeTarget,
        memory: SourceMemory,
        reports: ProcessReports,
    ) -> MadeEngine {
        Ok(Box::new(simulated::profile::start(simulation, self, target, memory.ring_bytes, reports)?))
    }
}
