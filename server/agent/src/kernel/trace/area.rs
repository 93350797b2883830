//! Where a capture's files are: in a tracing instance of its own, or, for what only that can do, in the machine's.

use std::{io, os::fd::OwnedFd, sync::Arc};

use bathyscope_capture::visible;
use bathyscope_protocol::{AgentError, AgentErrorKind};

use super::refusals;
use crate::{
    error::{failed, kind_of, refused, words},
    needs::{Need, Remedy},
    os::tracefs::Tracefs,
};

/// What helps where tracing functions is forbidden.
const LOCKED_REMEDY: &str = "Events and probes in programs work without. For functions, start the machine with lockdown \
    off (no `lockdown=` among the kernel's parameters, no Secure Boot).";

/// An instance's files.
#[derive(Clone, Debug)]
pub(crate) struct Area {
    tracefs: Arc<Tracefs>,
    /// `instances/NAME`, or empty.
    instance: String,
}

impl Area {
    /// The instance `name`.
    pub(crate) fn instance(tracefs: &Arc<Tracefs>, name: &str) -> Self {
        Self { tracefs: Arc::clone(tracefs), instance: format!("instances/{name}") }
    }

    /// The machine's own instance.
    pub(crate) fn machine(tracefs: &Arc<Tracefs>) -> Self {
        Self { tracefs: Arc::clone(tracefs), instance: String::new() }
    }

    /// The machine's own instance, beside `other`.
    pub(crate) fn machine_of(other: &Self) -> Self {
        Self::machine(&other.tracefs)
    }

    /// All of tracefs.
    pub(crate) fn tracefs(&self) -> &Tracefs {
        &self.tracefs
    }

    /// `instances/NAME`, or empty for the machine's own.
    pub(crate) fn name(&self) -> &str {
        &self.instance
    }

    /// Whether it is the machine's own.
    pub(crate) fn is_machine(&self) -> bool {
        self.instance.is_empty()
    }

    fn path(&self, file: &str) -> String {
        if self.instance.is_empty() { file.to_owned() } else { format!("{}/{file}", self.instance) }
    }

    /// Reads a short file.
    pub(crate) fn read(&self, file: &str) -> io::Result<String> {
        self.tracefs.read(&self.path(file))
    }

    /// Whether there is such a file.
    pub(crate) fn has(&self, file: &str) -> bool {
        self.tracefs.has(&self.path(file))
    }

    /// Writes a file, adding to it where it holds a list.
    pub(crate) fn write(&self, file: &str, text: &str) -> io::Result<()> {
        self.tracefs.write(&self.path(file), text)
    }

    /// Writes a setting, or tells why not.
    pub(crate) fn set(&self, file: &str, text: &str) -> Result<(), AgentError> {
        let doing = || format!("setting {file} of the trace to `{}`", visible(text.as_bytes()));
        self.write(file, text).map_err(|error| refused(doing(), &error, remedy_of(&error)))
    }

    /// Writes names of functions, a line each.
    pub(crate) fn set_functions(&self, file: &str, functions: &[String]) -> Result<(), AgentError> {
        if functions.is_empty() {
            return Ok(());
        }
        let written = self.tracefs.write_each(&self.path(file), functions);
        written.map_err(|(line, error)| {
            let function = functions.get(line).map_or("", String::as_str);
            no_function(format!("choosing the functions `{}` in {file}", visible(function.as_bytes())), &error)
        })
    }

    /// Sets an event's filter, which the kernel reads.
    pub(crate) fn set_filter(&self, event: &str, directory: &str, filter: &str) -> Result<(), AgentError> {
        let doing = format!("setting the filter of {event}");
        let Err(error) = self.write(&format!("{directory}/filter"), filter) else { return Ok(()) };
        if error.raw_os_error() != Some(libc::EINVAL) {
            return Err(refused(doing, &error, remedy_of(&error)));
        }
        let log = self.read("error_log").unwrap_or_default();
        // The kernel reads it without the space around it.
        let (why, detail) = match refusals::last(&log, filter).or_else(|| refusals::last(&log, filter.trim())) {
            Some(refusal) => (refusal.words, refusals::marked(filter, refusal.at)),
            None => ("the kernel does not understand it".to_owned(), filter.to_owned()),
        };
        let remedy = "Write conditions on the event's own fields, such as `bytes_req > 1000 && ptr != 0`.";
        Err(AgentError { detail, ..failed(AgentErrorKind::Invalid, doing, why, remedy) })
    }

    /// Opens the pages of a CPU's buffer, to be read without waiting.
    pub(crate) fn open_pages(&self, cpu: u32) -> io::Result<OwnedFd> {
        self.tracefs.open_without_waiting(&self.path(&format!("per_cpu/cpu{cpu}/trace_pipe_raw")))
    }
}

/// What helps where something is not allowed.
pub(crate) fn remedy_of(error: &io::Error) -> Remedy {
    if error.raw_os_error() == Some(libc::EROFS) {
        return "tracefs can only be read here. Mount it writable into the container; in a service unit, set \
            ProtectKernelTunables=no."
            .into();
    }
    match kind_of(error) {
        AgentErrorKind::Limit => "Ask for a smaller buffer, or end another trace.".into(),
        _ => Need::Files.into(),
    }
}

/// Why functions cannot be chosen or traced.
pub(crate) fn no_function(doing: String, error: &io::Error) -> AgentError {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) if rustix::process::geteuid().is_root() => {
            let why = "this kernel lets nobody trace functions, not even root: it is locked down";
            failed(AgentErrorKind::Denied, doing, why, LOCKED_REMEDY)
        }
        Some(libc::EINVAL) => {
            let remedy = "Look it up in tracefs' available_filter_functions; it may be inlined, or in a module that is \
                not loaded.";
            failed(AgentErrorKind::NotFound, doing, "this kernel has no such function that can be traced", remedy)
        }
        Some(libc::ENOENT) => {
            let remedy = "Use a kernel with CONFIG_DYNAMIC_FTRACE, as distributions have.";
            failed(AgentErrorKind::Unsupported, doing, "this kernel cannot choose functions so", remedy)
        }
        Some(libc::EBUSY) => failed(AgentErrorKind::Limit, doing, words(error), "End another trace first."),
        _ => refused(doing, error, remedy_of(error)),
    }
}
