//! The tracers of ftrace, tried in a tracefs instance of our own, so that nobody else's tracing is touched.

use std::io;

use bathyscope_protocol::CapabilityState;

use super::{
    Trial,
    verdict::{Need, Verdict},
};
use crate::kernel::tracefs::Tracefs;

/// The names of our instances begin so; after it come the pid namespace, the process id and when that process started,
/// which together name the owner for as long as the kernel runs.
const PREFIX: &str = "bathyscope";

/// A tracefs instance that is removed when it is dropped.
struct Instance<'a> {
    tracefs: &'a Tracefs,
    name: String,
}

impl<'a> Instance<'a> {
    fn make(tracefs: &'a Tracefs) -> io::Result<Self> {
        let name = own_name(std::process::id()).ok_or(io::ErrorKind::NotFound)?;
        match tracefs.make_instance(&name) {
            Ok(()) => Ok(Self { tracefs, name }),
            Err(error) => Err(error),
        }
    }

    fn write(&self, file: &str, text: &str) -> io::Result<()> {
        self.tracefs.write(&format!("instances/{}/{file}", self.name), text)
    }
}

impl Drop for Instance<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.tracefs.remove_instance(&self.name) {
            tracing::warn!(name = self.name, %error, "a tracefs instance could not be removed");
        }
    }
}

fn pid_namespace() -> Option<String> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    let digits: String = link.to_str()?.chars().filter(char::is_ascii_digit).collect();
    Some(digits)
}

/// When a process started, in ticks since boot.
fn start_ticks(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything but ends at the last parenthesis.
    stat.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

fn own_name(pid: u32) -> Option<String> {
    Some(format!("{PREFIX}-{}-{pid}-{}", pid_namespace()?, start_ticks(pid)?))
}

/// Whether `name` is that of an instance whose owner, in this pid namespace, has ended.
fn is_leftover(name: &str, namespace: &str, starts: impl Fn(u32) -> Option<u64>) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let [PREFIX, theirs, pid, ticks] = parts.as_slice() else { return false };
    let (Ok(pid), Ok(ticks)) = (pid.parse::<u32>(), ticks.parse::<u64>()) else { return false };
    *theirs == namespace && starts(pid) != Some(ticks)
}

/// Removes instances of agents that were killed before they could. Those of agents that run, and everybody else's, stay.
pub(crate) fn remove_leftovers() {
    let (Some(tracefs), Some(namespace)) = (Tracefs::find_mounted(), pid_namespace()) else { return };
    for name in tracefs.instances() {
        if is_leftover(&name, &namespace, start_ticks) {
            match tracefs.remove_instance(&name) {
                Ok(()) => tracing::info!(name, "removed a tracefs instance that an earlier agent left"),
                Err(error) => tracing::warn!(name, %error, "a leftover tracefs instance could not be removed"),
            }
        }
    }
}

pub(super) fn function_graph(trial: &mut Trial<'_>) -> Verdict {
    let tracefs = match Tracefs::find() {
        Ok(tracefs) => tracefs,
        Err(error) => {
            let finding = format!("{} failed: {}", error.doing, error.why);
            return Verdict::new(CapabilityState::MissingPrivilege, finding, error.remedy);
        }
    };
    let tracers = match tracefs.read("available_tracers") {
        Ok(tracers) => tracers,
        Err(error) => return trial.rights.judge("reading available_tracers", &error, Need::Administrator, ""),
    };
    if !tracers.split_ascii_whitespace().any(|tracer| tracer == "function_graph") {
        let finding = format!("this kernel has no function_graph tracer; it has: {}", tracers.trim());
        return Verdict::absent(finding, "Use a kernel with CONFIG_FUNCTION_GRAPH_TRACER, as distributions have.");
    }
    let instance = match Instance::make(&tracefs) {
        Ok(instance) => instance,
        Err(error) => return trial.rights.judge("making a tracefs instance", &error, Need::Administrator, ""),
    };
    let traced = instance
        .write("set_ftrace_filter", "vfs_read")
        .and_then(|()| instance.write("current_tracer", "function_graph"))
        .and_then(|()| instance.write("current_tracer", "nop"));
    match traced {
        Ok(()) => Verdict::works("traced vfs_read in an instance of its own"),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Verdict::works(
            "the kernel lists it, for its global buffer only, which was left alone: instances of this kernel cannot have it",
        ),
        Err(error) => {
            trial.rights.judge("tracing vfs_read", &error, Need::Administrator, "CONFIG_FUNCTION_GRAPH_TRACER")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_instances_of_ended_agents_of_this_namespace_are_leftovers() {
        let starts = |pid| (pid == 7).then_some(100);
        let cases = [
            ("bathyscope-1-7-100", false),
            ("bathyscope-1-7-99", true),
            ("bathyscope-1-8-100", true),
            ("bathyscope-2-8-100", false),
            ("bathyscope-1-8", false),
            ("bathyscope-1-8-100-more", false),
            ("bathyscope", false),
            ("mine", false),
            ("bathyscope-1-x-100", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_leftover(name, "1", starts), expected, "{name}");
        }
    }

    #[test]
    fn this_process_has_a_name_that_is_no_leftover() {
        let name = own_name(std::process::id()).unwrap();
        assert!(!is_leftover(&name, &pid_namespace().unwrap(), start_ticks));
        assert!(is_leftover(&format!("{name}9"), &pid_namespace().unwrap(), start_ticks));
    }
}
