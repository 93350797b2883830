//! What is asked of the host that the console runs on, while a text is read.

use bathyscope_capture::{DynamicProbe, TracepointName};

/// The most names of processes that are looked for in a text.
const MAX_WANTED: usize = 8;

/// A probe that somebody keeps by name, for whoever pastes a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptProbe {
    /// The name of its event, as `-e` names it: `probe:vfs_read`.
    pub name: String,
    /// The probe.
    pub probe: DynamicProbe,
}

/// Answers about a host. Each is none where it is not known, because nobody could ask or whoever asks may not know.
pub trait Host {
    /// The tracepoints that there are.
    fn tracepoints(&self) -> Option<&[TracepointName]> {
        None
    }

    /// The processes whose name is `name`, the one that started last at the end.
    fn processes(&self, name: &str) -> Option<Vec<u32>> {
        let _ = name;
        None
    }

    /// The probes that are kept by name.
    fn kept_probes(&self) -> &[KeptProbe] {
        &[]
    }
}

/// What somebody has found out about a host.
#[derive(Clone, Debug, Default)]
pub struct KnownHost {
    /// Its tracepoints.
    pub tracepoints: Option<std::sync::Arc<[TracepointName]>>,
    /// Names of processes with the processes that have them, the one that started last at the end.
    pub processes: Vec<(String, Vec<u32>)>,
    /// The probes that are kept by name.
    pub kept_probes: Vec<KeptProbe>,
}

impl Host for KnownHost {
    fn tracepoints(&self) -> Option<&[TracepointName]> {
        self.tracepoints.as_deref()
    }

    fn processes(&self, name: &str) -> Option<Vec<u32>> {
        self.processes.iter().find(|(known, _)| known == name).map(|(_, pids)| pids.clone())
    }

    fn kept_probes(&self) -> &[KeptProbe] {
        &self.kept_probes
    }
}

/// Names of processes that a text asks for with `$(pgrep -n NAME)` and the like: what a [`Host`] will be asked.
pub fn wanted_processes(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let begins = text.match_indices("pgrep ").chain(text.match_indices("pidof "));
    for (at, _) in begins.take(MAX_WANTED) {
        let inner = text.get(at..).unwrap_or_default();
        let inner = inner.split([')', '`', '\n']).next().unwrap_or_default();
        let name = inner.split_whitespace().last().unwrap_or_default();
        if !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

/// A host of which nothing is known.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnknownHost;

impl Host for UnknownHost {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_processes_are_found_in_a_text() {
        let found = wanted_processes("strace -p $(pgrep -n mysqld); perf top -p `pidof nginx` -p $(pidof nginx)");
        assert_eq!(found, ["mysqld", "nginx"]);
        assert_eq!(wanted_processes("strace ls"), [""; 0]);
    }
}
