//! The tracers of ftrace, tried in a tracefs instance of our own, so that nobody else's tracing is touched.

use std::io;

use bathyscope_protocol::CapabilityState;

use super::{
    Trial,
    verdict::{Need, Verdict},
};
use crate::os::{owner::Owner, tracefs::Tracefs};

/// A tracefs instance that is removed when it is dropped.
struct Instance<'a> {
    tracefs: &'a Tracefs,
    name: String,
}

impl<'a> Instance<'a> {
    fn make(tracefs: &'a Tracefs) -> io::Result<Self> {
        let name = Owner::this().ok_or(io::ErrorKind::NotFound)?.name('-');
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

/// A tracer of functions, and what a kernel must have been built with for it.
struct Tracer {
    name: &'static str,
    option: &'static str,
}

pub(super) fn function(trial: &mut Trial<'_>) -> Verdict {
    try_tracer(trial, &Tracer { name: "function", option: "CONFIG_FUNCTION_TRACER" })
}

pub(super) fn function_graph(trial: &mut Trial<'_>) -> Verdict {
    try_tracer(trial, &Tracer { name: "function_graph", option: "CONFIG_FUNCTION_GRAPH_TRACER" })
}

fn try_tracer(trial: &mut Trial<'_>, &Tracer { name, option }: &Tracer) -> Verdict {
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
    if !tracers.split_ascii_whitespace().any(|tracer| tracer == name) {
        let finding = format!("this kernel has no {name} tracer; it has: {}", tracers.trim());
        return Verdict::absent(finding, format!("Use a kernel with {option}, as distributions have."));
    }
    let instance = match Instance::make(&tracefs) {
        Ok(instance) => instance,
        Err(error) => return trial.rights.judge("making a tracefs instance", &error, Need::Administrator, ""),
    };
    let traced = instance
        .write("set_ftrace_filter", "vfs_read")
        .and_then(|()| instance.write("current_tracer", name))
        .and_then(|()| instance.write("current_tracer", "nop"));
    match traced {
        Ok(()) => Verdict::works("traced vfs_read in an instance of its own"),
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => Verdict::works(
            "the kernel lists it, for its global buffer only, which was left alone: instances of this kernel cannot have it",
        ),
        Err(error) => trial.rights.judge("tracing vfs_read", &error, Need::Administrator, option),
    }
}
