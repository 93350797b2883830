//! Scripts.

use bathyscope_bpf::lang::host::{Architecture, Features};
use bathyscope_protocol::{AgentError, AgentErrorKind, ScriptChecked, ScriptStage, WireScript};

use crate::{
    backend::{RunningScript, ScriptPlan, ScriptTrouble},
    error::failed,
};

fn no_compiler() -> AgentError {
    failed(AgentErrorKind::Unsupported, "compiling the script", "the compiler is not part of this agent yet", "")
}

pub(super) fn features() -> Features {
    Features {
        kernel: 0,
        architecture: if cfg!(target_arch = "aarch64") { Architecture::Aarch64 } else { Architecture::X86_64 },
        possible_cpus: 1,
        kprobe: false,
        kprobe_multi: false,
        fentry: false,
        uprobe: false,
        uprobe_multi: false,
        pmu: false,
        watchpoint: false,
        raw_tracepoint: false,
        iterator: false,
        lockdown: "none".to_owned(),
        pid_namespace: None,
    }
}

pub(super) fn check(_script: &WireScript, _show: Option<ScriptStage>) -> Result<ScriptChecked, AgentError> {
    Err(no_compiler())
}

pub(super) fn start(_plan: &ScriptPlan) -> Result<Box<dyn RunningScript>, ScriptTrouble> {
    Err(no_compiler().into())
}
