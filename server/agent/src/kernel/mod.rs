//! Events from the kernel.

mod activity;
mod attached;
mod command;
pub(crate) mod count;
mod delay;
mod estimates;
pub(crate) mod events;
mod files;
mod groups;
pub(crate) mod host;
pub(crate) mod profile;
mod retire;
pub(crate) mod script;
pub(crate) mod states;
mod stats;
pub(crate) mod syscalls;
mod target;
pub(crate) mod trace;
mod user_file;
mod waiting;

use std::os::fd::OwnedFd;

pub(crate) use command::{launcher, remember_caller};
pub use trace::{Leftover, cleanup};

use bathyscope_capture::Target;
use bathyscope_plan::Features;
use bathyscope_protocol::{
    ActivityPage, AgentError, BpfLink, BpfProgram, Capability, ContainerName, DynamicEvents, KernelFile, PerfEventInfo,
    ProcessFile, ScriptChecked, ScriptFacts, ScriptStage, WireScript,
};

use crate::{
    commands::CommandRights,
    compile::ScriptRights,
    doctor,
    host_requests::{HostRequests, UserFile},
    os::{loader::Loader, perf_event, tracefs},
};

pub(crate) use target::ResolvedTarget;

/// Does now, once and for all, what the filter of system calls will not let the agent do: mounting tracefs where it is not
/// mounted, and looking into a file system that nobody has mounted. What fails is told when it is needed.
pub(crate) fn do_what_the_filter_forbids() {
    let _said_when_needed = tracefs::Tracefs::find();
    tracefs::stop_mounting();
    let _kept = crate::lockdown::Lockdown::of_this_kernel();
}

/// The running kernel.
pub struct KernelBackend {
    loader: Loader,
    commands: CommandRights,
    scripts: ScriptRights,
    host: host::KernelHost,
    /// Whoever started it at a terminal is whom it serves.
    at_a_terminal: bool,
}

impl std::fmt::Debug for KernelBackend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KernelBackend").field("commands", &self.commands).finish_non_exhaustive()
    }
}

impl KernelBackend {
    /// Removes what an earlier agent left in tracefs. Commands run as `commands` says.
    pub fn new(commands: CommandRights) -> Self {
        trace::remove_leftovers();
        command::raise_open_files();
        Self {
            loader: Loader::default(),
            commands,
            scripts: ScriptRights::Off,
            host: host::KernelHost::default(),
            at_a_terminal: false,
        }
    }
}

impl KernelBackend {
    /// With these rights for scripts, which are off otherwise.
    #[must_use]
    pub fn with_scripts(self, scripts: ScriptRights) -> Self {
        Self { scripts, ..self }
    }

    /// For whoever started it at a terminal.
    #[must_use]
    pub fn at_a_terminal(self) -> Self {
        Self { at_a_terminal: true, ..self }
    }

    /// Prepared for captures of events, so that the first starts as quickly as all others. A script does not need it.
    #[must_use]
    pub fn prepared(self) -> Self {
        self.loader.prepare();
        self
    }

    /// What scripts may do here.
    pub(crate) fn script_rights(&self) -> ScriptRights {
        self.scripts
    }

    /// Takes hold of a target; makes its command, which does not run yet.
    ///
    /// # Errors
    /// If it does not exist or may not be watched, or the command may not run.
    pub(crate) fn take_target(&self, target: &Target) -> Result<ResolvedTarget, AgentError> {
        ResolvedTarget::take(target, &self.commands)
    }
}

impl HostRequests for KernelBackend {
    fn simulated(&self) -> bool {
        false
    }

    fn command_user(&self, wanted: Option<&str>) -> Option<String> {
        self.commands.runs_as(wanted)
    }

    fn capabilities(&mut self) -> Vec<Capability> {
        doctor::capabilities(&self.loader)
    }

    fn perf_events(&mut self) -> Vec<PerfEventInfo> {
        perf_event::try_all()
    }

    fn dynamic_events(&mut self) -> Result<DynamicEvents, AgentError> {
        trace::dynamic_events()
    }

    fn detach_others(&mut self, group: &str, name: &str) -> Result<u32, AgentError> {
        trace::detach_others(group, name, self.at_a_terminal && rustix::process::getuid().is_root())
    }

    fn try_event(&mut self, line: &str) -> Result<(), AgentError> {
        trace::try_event(line, self.scripts)
    }

    fn optimize_kprobes(&mut self, on: bool) -> Result<(), AgentError> {
        trace::optimize_kprobes(on)
    }

    fn open_kernel_file(&mut self, file: &KernelFile) -> Result<OwnedFd, AgentError> {
        files::open_kernel_file(file)
    }

    fn list_processes(&mut self, after: u32, limit: usize) -> Result<(Vec<u32>, bool), AgentError> {
        files::list_processes(after, limit)
    }

    fn process_activity(&mut self, after: u32) -> Result<(ActivityPage, Vec<u8>), AgentError> {
        activity::page(after)
    }

    fn list_groups(&mut self, after: &str, bytes: usize) -> Result<(Vec<String>, bool), AgentError> {
        groups::list(after, bytes)
    }

    fn container_name(&mut self, id: &str) -> ContainerName {
        groups::container_name(id)
    }

    fn bpf_programs(&mut self, after: u32, limit: usize) -> Result<(Vec<BpfProgram>, bool), AgentError> {
        attached::programs(after, limit)
    }

    fn bpf_links(&mut self, after: u32, limit: usize) -> Result<(Vec<BpfLink>, bool), AgentError> {
        attached::links(after, limit)
    }

    fn open_process_file(&mut self, pid: u32, file: &ProcessFile) -> Result<OwnedFd, AgentError> {
        files::open_process_file(pid, file)
    }

    fn features(&mut self) -> Features {
        self.host.features().clone()
    }

    fn check_script(&mut self, script: &WireScript, show: Option<ScriptStage>) -> Result<ScriptChecked, AgentError> {
        script::check(&self.host, script, show)
    }

    fn script_facts(&mut self, script: &WireScript, offset: u32) -> Result<ScriptFacts, AgentError> {
        script::facts(&self.host, script, offset)
    }

    fn open_user_file(&mut self, path: &str, in_process: Option<u32>) -> Result<UserFile, AgentError> {
        user_file::open_user_file(path, in_process)
    }
}
