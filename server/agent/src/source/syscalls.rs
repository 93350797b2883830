//! System calls as they are asked for.

use bathyscope_capture::{Method, Target};
use bathyscope_protocol::{AgentError, RingsCut, WireSyscalls};

use super::{Reporting, SourceSpec, check_spec};
use crate::{
    engine::{MadeEngine, ProcessReports},
    kernel::{self, KernelBackend, ResolvedTarget},
    memory::{MemoryLeft, SourceMemory},
    simulated::{self, MadeTarget, Simulation},
};

impl SourceSpec for WireSyscalls {
    /// Which calls the words mean is looked up when the programs are made.
    fn check(&self, target: &Target) -> Result<(), AgentError> {
        check_spec(Method::Syscalls(self.calls.clone()), target)
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
        Ok(Box::new(kernel::syscalls::start(kernel, self, target, memory.ring_bytes, reports)?))
    }

    fn simulate(
        &self,
        simulation: &Simulation,
        target: &MadeTarget,
        memory: SourceMemory,
        reports: ProcessReports,
    ) -> MadeEngine {
        Ok(Box::new(simulated::syscalls::start(simulation, self, target, memory.ring_bytes, reports)?))
    }
}
