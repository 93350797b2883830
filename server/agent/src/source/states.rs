//! Switches and wake-ups of threads as they are asked for.

use bathyscope_capture::{Method, StatesSpec, Target};
use bathyscope_protocol::{AgentError, RingsCut};

use super::{Reporting, SourceSpec, check_spec};
use crate::{
    engine::{MadeEngine, ProcessReports},
    kernel::{self, KernelBackend, ResolvedTarget},
    memory::{MemoryLeft, SourceMemory},
    simulated::{self, MadeTarget, Simulation},
};

impl SourceSpec for StatesSpec {
    fn check(&self, target: &Target) -> Result<(), AgentError> {
        check_spec(Method::States(*self), target)
    }

    fn reporting(&self) -> Reporting {
        Reporting::Beside
    }

    /// One ring, beside those of the side band.
    fn fit(&mut self, memory: &mut SourceMemory, left: &mut MemoryLeft) -> Result<Option<RingsCut>, AgentError> {
        left.fit_rings(1, &mut memory.ring_bytes, left.sideband_bytes())
    }

    fn start(
        &self,
        kernel: &KernelBackend,
        target: &ResolvedTarget,
        memory: SourceMemory,
        reports: ProcessReports,
    ) -> MadeEngine {
        Ok(Box::new(kernel::states::start(kernel, *self, target, memory.ring_bytes, reports)?))
    }

    fn simulate(
        &self,
        simulation: &Simulation,
        target: &MadeTarget,
        memory: SourceMemory,
        reports: ProcessReports,
    ) -> MadeEngine {
        Ok(Box::new(simulated::states::start(simulation, *self, target, memory.ring_bytes, reports)?))
    }
}
