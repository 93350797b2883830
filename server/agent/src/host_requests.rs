//! What a session needs of a host beside captures, whether the running kernel or a simulation.

use std::os::fd::OwnedFd;

use bathyscope_capture::visible;
use bathyscope_plan::Features;
use bathyscope_protocol::{
    ActivityPage, AgentError, AgentErrorKind, BpfLink, BpfProgram, Capability, ContainerName, DynamicEvents,
    KernelFile, PerfEventInfo, ProcessFile, ScriptChecked, ScriptFacts, ScriptStage, WireScript,
};

use crate::error::failed;

/// A file of user space, open.
#[derive(Debug)]
pub struct UserFile {
    /// The file.
    pub file: OwnedFd,
    /// Its device.
    pub device: u64,
    /// Its inode.
    pub inode: u64,
    /// Its size.
    pub bytes: u64,
}

/// What the console asks of a host.
pub trait HostRequests {
    /// Whether it is made up.
    fn simulated(&self) -> bool;

    /// As whom a command runs for which `wanted` was chosen, or nobody: the user's name, or the number where it has none.
    fn command_user(&self, wanted: Option<&str>) -> Option<String>;

    /// Tries every way to observe.
    fn capabilities(&mut self) -> Vec<Capability>;

    /// Tries every event with a name of its own.
    fn perf_events(&mut self) -> Vec<PerfEventInfo>;

    /// Opens a file of the kernel.
    ///
    /// # Errors
    /// If it does not exist or may not be read.
    fn open_kernel_file(&mut self, file: &KernelFile) -> Result<OwnedFd, AgentError>;

    /// Processes with a greater id than `after`, ascending, at most `limit`, and whether there are more.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn list_processes(&mut self, after: u32, limit: usize) -> Result<(Vec<u32>, bool), AgentError>;

    /// What processes with a greater id than `after` use, and the content of the page's file.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn process_activity(&mut self, after: u32) -> Result<(ActivityPage, Vec<u8>), AgentError>;

    /// Paths of control groups greater than `after`, ascending, of at most `bytes` bytes together, and whether there are
    /// more.
    ///
    /// # Errors
    /// If there is no hierarchy of version 2.
    fn list_groups(&mut self, after: &str, bytes: usize) -> Result<(Vec<String>, bool), AgentError>;

    /// What a container runtime calls a container, and its image.
    fn container_name(&mut self, id: &str) -> ContainerName;

    /// BPF programs with a greater number than `after`, ascending, at most `limit`, and whether there are more.
    ///
    /// # Errors
    /// If they may not be looked at.
    fn bpf_programs(&mut self, after: u32, limit: usize) -> Result<(Vec<BpfProgram>, bool), AgentError>;

    /// What holds BPF programs with a greater number than `after`, ascending, at most `limit`, and whether there are more.
    ///
    /// # Errors
    /// If they may not be looked at.
    fn bpf_links(&mut self, after: u32, limit: usize) -> Result<(Vec<BpfLink>, bool), AgentError>;

    /// Opens a file of a process.
    ///
    /// # Errors
    /// If it or the process does not exist or may not be read.
    fn open_process_file(&mut self, pid: u32, file: &ProcessFile) -> Result<OwnedFd, AgentError>;

    /// The dynamic events of the host.
    ///
    /// # Errors
    /// If they cannot be listed.
    fn dynamic_events(&mut self) -> Result<DynamicEvents, AgentError>;

    /// Makes a dynamic event and removes it at once.
    ///
    /// # Errors
    /// If it cannot be made.
    fn try_event(&mut self, line: &str) -> Result<(), AgentError>;

    /// Lets the kernel optimise its probes, or not.
    ///
    /// # Errors
    /// If it has no such setting, or it may not be written.
    fn optimize_kprobes(&mut self, on: bool) -> Result<(), AgentError>;

    /// Switches a dynamic event of another agent of this program off. Returns in how many instances it was on.
    ///
    /// # Errors
    /// If nobody may here, or the event is not of such an agent.
    fn detach_others(&mut self, group: &str, name: &str) -> Result<u32, AgentError> {
        let doing = format!("detaching {}:{}", visible(group.as_bytes()), visible(name.as_bytes()));
        let remedy = "`bathyscope probe --del` detaches it from a terminal, with the rights of whoever records it.";
        Err(failed(
            AgentErrorKind::Denied,
            doing,
            "it belongs to another process, and this agent serves a console",
            remedy,
        ))
    }

    /// What scripts can use.
    fn features(&mut self) -> Features;

    /// Compiles a script and loads nothing.
    ///
    /// # Errors
    /// If it cannot be compiled for a reason that is not in the script.
    fn check_script(&mut self, script: &WireScript, show: Option<ScriptStage>) -> Result<ScriptChecked, AgentError>;

    /// What can stand at a byte of a script, and what stands there.
    ///
    /// # Errors
    /// If it cannot be looked at for a reason that is not in the script.
    fn script_facts(&mut self, script: &WireScript, offset: u32) -> Result<ScriptFacts, AgentError>;

    /// Opens a program or library, through the root of a process if one is given.
    ///
    /// # Errors
    /// If it is none or may not be read.
    fn open_user_file(&mut self, path: &str, in_process: Option<u32>) -> Result<UserFile, AgentError>;
}
