//! What the compiler asks about the host. It is the only way to the outside: the agent answers from the running kernel,
//! tests from recordings, the editor through the agent.

use std::sync::Arc;

use bathyscope_catalog::{EventFormat, types::Types};
use bathyscope_plan::{Features, ProgramType, UserPlaces};

/// Facts about a host. Answers may be slow the first time and are kept by whoever implements it.
pub trait Host {
    /// What the kernel can do.
    fn features(&self) -> &Features;

    /// A tracepoint's format; none if there is no such tracepoint.
    ///
    /// # Errors
    /// Why it could not be read, for the message.
    fn tracepoint(&self, system: &str, name: &str) -> Result<Option<Arc<EventFormat>>, String>;

    /// All tracepoints, as `system:name`, sorted.
    fn tracepoints(&self) -> &[String];

    /// Raw tracepoints that have types (`btf_trace_…`), sorted.
    fn raw_tracepoints(&self) -> &[String];

    /// Kernel functions that can be probed, sorted by name.
    fn functions(&self) -> &[KernelFunction];

    /// The types of the kernel and of its modules.
    fn types(&self) -> &Types;

    /// The address of a kernel symbol.
    fn kernel_symbol(&self, name: &str) -> Option<u64>;

    /// The places in user space that match an attach point, or the variables at one in the kernel, as the console found them; none
    /// if it was not asked.
    fn user_places(&self, point: &str) -> Option<&UserPlaces>;

    /// Whether programs of a type may call a function of the kernel; none if there is nobody to try it.
    fn kfunc_allowed(&self, name: &str, program: ProgramType) -> Option<bool> {
        let _both = (name, program);
        None
    }

    /// How many nanoseconds the wall clock is ahead of the monotonic one.
    fn wall_offset_ns(&self) -> u64 {
        0
    }

    /// The id of a control group, by its path; none if there is no such group, or nobody to ask.
    fn cgroup_id(&self, path: &str) -> Option<u64> {
        let _path = path;
        None
    }
}

/// A kernel function.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KernelFunction {
    /// Its name.
    pub name: String,
    /// Its module; empty for the kernel itself.
    pub module: String,
}
