//! A trace as it is asked for.

use bathyscope_capture::{MIN_TRACE_BUFFER_KIB, Method, Target, TraceSpec};
use bathyscope_protocol::{AgentError, RingsCut};

use super::{Reporting, SourceSpec, check_spec};
use crate::{
    engine::{MadeEngine, ProcessReports},
    kernel::{self, KernelBackend, ResolvedTarget, trace::usual_kib},
    memory::{MemoryLeft, SourceMemory},
    simulated::{self, MadeTarget, Simulation},
};

impl SourceSpec for TraceSpec {
    /// What it names only the kernel knows.
    fn check(&self, target: &Target) -> Result<(), AgentError> {
        check_spec(Method::Trace(self.clone()), target)
    }

    fn reporting(&self) -> Reporting {
        Reporting::Beside
    }

    /// A buffer for each CPU, of a size of its own, beside the rings of the side band.
    fn fit(&mut self, _memory: &mut SourceMemory, left: &mut MemoryLeft) -> Result<Option<RingsCut>, AgentError> {
        let mut kib = self.buffer_kib.unwrap_or_else(|| usual_kib(self.tracer.is_some(), left.cpus()));
        let cut = left.fit_buffers(&mut kib, MIN_TRACE_BUFFER_KIB, left.sideband_bytes())?;
        if cut.is_some() {
            self.buffer_kib = Some(kib);
        }
        Ok(cut)
    }

    fn start(
        &self,
        kernel: &KernelBackend,
        target: &ResolvedTarget,
        _memory: SourceMemory,
        reports: ProcessReports,
    ) -> MadeEngine {
        Ok(Box::new(kernel::trace::start(kernel, self, target, reports)?))
    }

    fn simulate(
        &self,
        simulation: &Simulation,
        target: &MadeTarget,
        _memory: SourceMemory,
        reports: ProcessReports,
    ) -> MadeEngine {
        Ok(Box::new(simulated::trace::start(simulation, self, target, reports)?))
    }
}
