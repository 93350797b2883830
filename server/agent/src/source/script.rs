//! A script as it is asked for, checked as far as that goes without compiling it.

use bathyscope_capture::Target;
use bathyscope_protocol::{AgentError, AgentErrorKind, RingsCut, WireScript};

use super::{Reporting, SourceSpec, check_script_sizes};
use crate::{
    compile::{ScriptRights, check_rights},
    engine::{MadeEngine, ProcessReports},
    error::failed,
    kernel::{self, KernelBackend, ResolvedTarget},
    memory::{MemoryLeft, SourceMemory},
    simulated::{self, MadeTarget, Simulation},
};

impl SourceSpec for WireScript {
    fn check(&self, target: &Target) -> Result<(), AgentError> {
        check_script_sizes(self)?;
        if let Target::Threads { .. } = target.watched() {
            let remedy = "Choose their process; tid is the thread's id in a script, such as /tid == 7/.";
            return Err(failed(AgentErrorKind::Invalid, "checking the script", "scripts are not of threads", remedy));
        }
        let invalid = |why: String| failed(AgentErrorKind::Invalid, "checking the capture", why, "");
        target.validate().map_err(|error| invalid(error.to_string()))
    }

    fn allow(&self, rights: ScriptRights) -> Result<(), AgentError> {
        check_rights(self, rights)
    }

    fn reporting(&self) -> Reporting {
        Reporting::WhereNeeded
    }

    fn is_made_alone(&self) -> bool {
        true
    }

    /// Its ring, and beside it what its maps may take.
    fn fit(&mut self, memory: &mut SourceMemory, left: &mut MemoryLeft) -> Result<Option<RingsCut>, AgentError> {
        let cut = left.fit_rings(1, &mut memory.ring_bytes, 0)?;
        memory.map_bytes = left.map_bytes().saturating_add(u64::from(memory.ring_bytes));
        Ok(cut)
    }

    fn start(
        &self,
        kernel: &KernelBackend,
        target: &ResolvedTarget,
        memory: SourceMemory,
        reports: ProcessReports,
    ) -> MadeEngine {
        Ok(Box::new(kernel::script::start(kernel, self, target, memory, reports)?))
    }

    fn simulate(
        &self,
        simulation: &Simulation,
        target: &MadeTarget,
        memory: SourceMemory,
        reports: ProcessReports,
    ) -> MadeEngine {
        Ok(Box::new(simulated::script::start(simulation, self, target, memory.ring_bytes, reports)?))
    }
}
