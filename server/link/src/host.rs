//! What is known about this host, asked of the agent and kept for a while.

use std::{
    fs::File,
    io::Read as _,
    os::fd::OwnedFd,
    sync::Arc,
    time::{Duration, Instant},
};

use bathyscope_capture::{HostFacts, Target, TracepointName, visible};
use bathyscope_catalog::{EventFormat, FormatError, MAX_FORMAT_BYTES, parse_available_events, parse_event_format};
use bathyscope_protocol::{AgentClient, Capability, DynamicEvents, KernelFile, PerfEventInfo, ProcessFile};
use bathyscope_symbols::{build_id_of_notes, build_id_text};
use tokio::sync::Mutex;

use crate::{
    AgentLink, AgentStatus, LinkError,
    dynamic::KernelFacts,
    groups::Group,
    process_files::{OpenFiles, OpenedLists},
    processes::{self, Process},
};

/// How long the list of tracepoints is kept: modules come and go.
const TRACEPOINTS_FRESH: Duration = Duration::from_secs(30);
/// How long the lists of processes and of control groups are kept: long enough for the keystrokes of one word.
const PROCESSES_FRESH: Duration = Duration::from_secs(2);
/// The largest list of tracepoints that is read.
const MAX_LIST_BYTES: u64 = 16 << 20;
/// The most processes that are listed with their names.
const MAX_PROCESSES: usize = 32 << 10;
/// Processes that are asked for in one turn of the agent, so that others are not kept waiting.
const PROCESSES_AT_ONCE: usize = 64;
/// The most processes of a target whose names are kept.
const MAX_NAMED: usize = 8;
/// `stat` of a process begins with its id and name.
const MAX_NAME_BYTES: u64 = 256;
/// The largest notes of a kernel that are read.
const MAX_NOTES_BYTES: u64 = 64 << 10;

/// Why something about this host cannot be told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// The agent refused or is not there.
    #[error(transparent)]
    Agent(#[from] LinkError),
    /// What the agent opened could not be read.
    #[error("reading {what}")]
    Read {
        /// What.
        what: String,
        /// Why not.
        source: std::io::Error,
    },
    /// The kernel's description of an event cannot be understood.
    #[error("reading the format of {tracepoint}")]
    Format {
        /// Which event.
        tracepoint: TracepointName,
        /// Why not.
        source: FormatError,
    },
}

/// A value with the connection it came over and when.
#[derive(Debug)]
struct Fetched<T> {
    value: T,
    connection: u64,
    at: Instant,
}

type FetchedSlot<T> = Mutex<Option<Fetched<T>>>;

/// What is known about this host.
#[derive(Debug)]
pub struct Host {
    link: AgentLink,
    tracepoints: FetchedSlot<Arc<[TracepointName]>>,
    processes: FetchedSlot<Arc<[Process]>>,
    groups: FetchedSlot<Arc<[Group]>>,
    capabilities: FetchedSlot<Vec<Capability>>,
    facts: FetchedSlot<Arc<std::sync::Mutex<KernelFacts>>>,
}

impl Host {
    /// Asks through `link`.
    pub fn new(link: AgentLink) -> Self {
        Self {
            link,
            tracepoints: FetchedSlot::default(),
            processes: FetchedSlot::default(),
            groups: FetchedSlot::default(),
            capabilities: FetchedSlot::default(),
            facts: FetchedSlot::default(),
        }
    }

    /// What is known about the agent.
    pub fn agent(&self) -> AgentStatus {
        self.link.status()
    }

    /// What this host is.
    pub async fn facts(&self) -> HostFacts {
        host_facts(&self.link).await
    }

    /// What can be observed here; tried once for each agent, and `again` when asked to. Empty while there is no agent.
    pub async fn capabilities(&self, again: bool) -> Vec<Capability> {
        let connection = self.link.status().connection;
        let mut slot = self.capabilities.lock().await;
        if let Some(kept) = slot.as_ref().filter(|kept| !again && kept.connection == connection) {
            return kept.value.clone();
        }
        match self.link.capabilities().await {
            Ok(value) => {
                *slot = Some(Fetched { value: value.clone(), connection, at: Instant::now() });
                value
            }
            // The agent's state, which is told with it, says why.
            Err(_absent) => Vec::new(),
        }
    }

    /// The running kernel's tracepoints.
    ///
    /// # Errors
    /// If the agent is not there or may not read them.
    pub async fn tracepoints(&self) -> Result<Arc<[TracepointName]>, HostError> {
        let mut slot = self.tracepoints.lock().await;
        if let Some(kept) = self.fresh(&slot, TRACEPOINTS_FRESH) {
            return Ok(kept);
        }
        let file = self.link.open_kernel_file(KernelFile::AvailableEvents).await?;
        let bytes = read("the list of tracepoints", file, MAX_LIST_BYTES).await?;
        let value: Arc<[TracepointName]> = parse_available_events(&bytes).into();
        *slot = Some(self.kept(Arc::clone(&value)));
        Ok(value)
    }

    /// The events that can be counted and sampled by their names, each tried.
    ///
    /// # Errors
    /// If the agent is not there.
    pub async fn perf_events(&self) -> Result<Vec<PerfEventInfo>, HostError> {
        Ok(self.link.call(AgentClient::perf_events).await?)
    }

    /// What one tracepoint records.
    ///
    /// # Errors
    /// If there is no such tracepoint, or its description cannot be understood.
    pub async fn event_format(&self, tracepoint: &TracepointName) -> Result<EventFormat, HostError> {
        let file = self.link.open_kernel_file(KernelFile::EventFormat { tracepoint: tracepoint.clone() }).await?;
        let bytes = read(&format!("the format of {tracepoint}"), file, MAX_FORMAT_BYTES as u64).await?;
        parse_event_format(&bytes).map_err(|source| HostError::Format { tracepoint: tracepoint.clone(), source })
    }

    /// The processes of this host, with their names, ascending.
    ///
    /// # Errors
    /// If the agent is not there.
    pub async fn processes(&self) -> Result<Arc<[Process]>, HostError> {
        let mut slot = self.processes.lock().await;
        if let Some(kept) = self.fresh(&slot, PROCESSES_FRESH) {
            return Ok(kept);
        }
        let pids = self.link.list_processes().await?;
        let passwd: Arc<[u8]> = tokio::fs::read("/etc/passwd").await.unwrap_or_default().into();
        let mut all = Vec::new();
        for pids in pids.get(..pids.len().min(MAX_PROCESSES)).unwrap_or_default().chunks(PROCESSES_AT_ONCE) {
            let (pids, passwd) = (pids.to_vec(), Arc::clone(&passwd));
            all.extend(self.link.call(move |client| processes::listed(client, &pids, &passwd)).await?);
        }
        let value: Arc<[Process]> = all.into();
        *slot = Some(self.kept(Arc::clone(&value)));
        Ok(value)
    }

    /// Those that fit what was typed, what was meant most likely first, with how many there are.
    ///
    /// # Errors
    /// If the agent is not there.
    pub async fn processes_like(&self, typed: &str, limit: usize) -> Result<(usize, Vec<Process>), HostError> {
        let mut found = processes::fitting(&self.processes().await?, typed);
        let total = found.len();
        found.truncate(limit);
        let mut shown = Vec::with_capacity(found.len());
        for some in found.chunks(PROCESSES_AT_ONCE) {
            let some = some.to_vec();
            shown.extend(self.link.call(move |client| processes::with_commands(client, some)).await?);
        }
        Ok((total, shown))
    }

    /// What a process has open; `start_ticks` tells it from another one that gets its id. None if it has ended.
    ///
    /// # Errors
    /// If the agent is not there, there is no such process, or it may not be looked at.
    pub async fn open_files(&self, pid: u32, start_ticks: Option<u64>) -> Result<Option<OpenFiles>, HostError> {
        let opened = self.link.call(move |client| OpenedLists::open(client, pid)).await?;
        let read = tokio::task::spawn_blocking(move || opened.read(start_ticks)).await;
        read.map_err(|error| {
            let (what, source) = (format!("the open files of process {pid}"), std::io::Error::other(error));
            HostError::Read { what, source }
        })
    }

    /// Asks about the kernel's functions and their types, which are kept for a while, in a thread that may wait.
    ///
    /// # Errors
    /// If there is no thread.
    pub async fn with_facts<T: Send + 'static>(
        &self,
        ask: impl FnOnce(&mut AgentLink, &mut KernelFacts) -> T + Send + 'static,
    ) -> Result<T, HostError> {
        let facts = {
            let mut slot = self.facts.lock().await;
            match self.fresh(&slot, TRACEPOINTS_FRESH) {
                Some(kept) => kept,
                None => {
                    let value = Arc::<std::sync::Mutex<KernelFacts>>::default();
                    *slot = Some(self.kept(Arc::clone(&value)));
                    value
                }
            }
        };
        let mut link = self.link.clone();
        let asked = tokio::task::spawn_blocking(move || {
            let mut facts = facts.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            ask(&mut link, &mut facts)
        });
        asked.await.map_err(|error| {
            let (what, source) = ("what is known about the kernel".to_owned(), std::io::Error::other(error));
            HostError::Read { what, source }
        })
    }

    /// The dynamic events of this host, whoever made them.
    ///
    /// # Errors
    /// If the agent is not there, or cannot list them.
    pub async fn dynamic_events(&self) -> Result<DynamicEvents, HostError> {
        Ok(self.link.call(AgentClient::dynamic_events).await?)
    }

    /// Lets the kernel optimise its probes, or not.
    ///
    /// # Errors
    /// If the agent is not there, or cannot.
    pub async fn optimize_kprobes(&self, on: bool) -> Result<(), HostError> {
        Ok(self.link.call(move |client| client.optimize_kprobes(on)).await?)
    }

    /// The control groups of this host, with the units and containers that they are.
    ///
    /// # Errors
    /// If the agent is not there, or there are none.
    pub async fn groups(&self) -> Result<Arc<[Group]>, HostError> {
        let mut slot = self.groups.lock().await;
        if let Some(kept) = self.fresh(&slot, PROCESSES_FRESH) {
            return Ok(kept);
        }
        let mut link = self.link.clone();
        let asked = tokio::task::spawn_blocking(move || crate::groups::groups(&mut link)).await;
        let listed = asked.map_err(|error| {
            let (what, source) = ("the control groups".to_owned(), std::io::Error::other(error));
            HostError::Read { what, source }
        })?;
        let value: Arc<[Group]> = listed?.into();
        *slot = Some(self.kept(Arc::clone(&value)));
        Ok(value)
    }

    fn fresh<T: Clone>(&self, slot: &Option<Fetched<T>>, for_how_long: Duration) -> Option<T> {
        let connection = self.link.status().connection;
        let is_fresh = |kept: &&Fetched<T>| kept.connection == connection && kept.at.elapsed() < for_how_long;
        slot.as_ref().filter(is_fresh).map(|kept| kept.value.clone())
    }

    fn kept<T>(&self, value: T) -> Fetched<T> {
        Fetched { value, connection: self.link.status().connection, at: Instant::now() }
    }
}

/// What a process is called; empty if it is not there.
async fn process_name(link: &AgentLink, pid: u32) -> String {
    let opened = link.call(move |client| client.open_process_file(pid, ProcessFile::Stat)).await;
    let Ok(file) = opened else { return String::new() };
    let bytes = read("the name of a process", file, MAX_NAME_BYTES).await.unwrap_or_default();
    processes::comm_of_stat(&bytes).map(visible).unwrap_or_default()
}

/// What this host is, and what the processes are called that are watched: their numbers mean nothing once they have ended.
pub async fn facts_of_capture(link: &AgentLink, target: &Target) -> HostFacts {
    let mut facts = host_facts(link).await;
    let mut names: Vec<String> = Vec::new();
    for pid in pids_of(target).iter().take(MAX_NAMED) {
        let name = process_name(link, *pid).await;
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
        }
    }
    facts.target_name = names.join(", ");
    facts
}

/// The processes that a target names by their ids.
fn pids_of(target: &Target) -> &[u32] {
    match target {
        Target::Process { pid, .. } => std::slice::from_ref(pid),
        Target::Processes { pids, .. } => pids,
        // A thread has a folder and a name like a process.
        Target::Threads { tids, .. } => tids,
        Target::During { of, .. } => pids_of(of),
        _ => &[],
    }
}

/// What this host is. What cannot be read is left empty: facts are labels.
pub async fn host_facts(link: &AgentLink) -> HostFacts {
    let notes = match link.open_kernel_file(KernelFile::Notes).await {
        Ok(file) => read("the kernel's notes", file, MAX_NOTES_BYTES).await.unwrap_or_default(),
        Err(_not_readable) => Vec::new(),
    };
    let small = |path: &'static str| async move { tokio::fs::read_to_string(path).await.unwrap_or_default() };
    let name = rustix::system::uname();
    let system = rustix::system::sysinfo();
    HostFacts {
        hostname: visible(name.nodename().to_bytes()),
        kernel_release: visible(name.release().to_bytes()),
        machine: visible(name.machine().to_bytes()),
        cpus: cpus_in_list(small("/sys/devices/system/cpu/online").await.trim()),
        memory_bytes: system.totalram.saturating_mul(u64::from(system.mem_unit.max(1))),
        boot_id: small("/proc/sys/kernel/random/boot_id").await.trim().to_owned(),
        kernel_build_id: build_id_of_notes(&notes).map(build_id_text).unwrap_or_default(),
        target_name: String::new(),
    }
}

/// How many CPUs a list such as `0-3,5` names.
fn cpus_in_list(list: &str) -> u32 {
    let count = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last) = (first.parse::<u32>().ok()?, last.parse::<u32>().ok()?);
        Some(last.checked_sub(first)?.saturating_add(1))
    };
    list.split(',').filter_map(count).fold(0, u32::saturating_add)
}

async fn read(what: &str, file: OwnedFd, most: u64) -> Result<Vec<u8>, HostError> {
    let reading = tokio::task::spawn_blocking(move || {
        let mut bytes = Vec::new();
        File::from(file).take(most).read_to_end(&mut bytes).map(|_count| bytes)
    });
    let bytes = reading.await.unwrap_or_else(|error| Err(std::io::Error::other(error)));
    bytes.map_err(|source| HostError::Read { what: what.to_owned(), source })
}

/// The users in `/etc/passwd` whose name contains `wanted`, in the file's order.
pub fn users_like(passwd: &[u8], wanted: &str, limit: usize) -> Vec<String> {
    let lines = passwd.split(|byte| *byte == b'\n');
    let names = lines.filter_map(|line| line.split(|byte| *byte == b':').next()).filter(|name| !name.is_empty());
    let names = names.filter_map(|name| std::str::from_utf8(name).ok());
    names.filter(|name| name.contains(wanted)).take(limit).map(|name| visible(name.as_bytes())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_cpus_are_counted() {
        for (list, expected) in [("0-3,5", 5), ("0", 1), ("", 0), ("x,1-", 0), ("3-1", 0)] {
            assert_eq!(cpus_in_list(list), expected, "{list}");
        }
    }

    #[test]
    fn users_are_the_first_words_of_lines() {
        let passwd = b"root:x:0:0::/root:/bin/sh\nnobody:x:65534\n\n:x\n";
        assert_eq!(users_like(passwd, "", 10), ["root", "nobody"]);
        assert_eq!(users_like(passwd, "bod", 10), ["nobody"]);
        assert_eq!(users_like(passwd, "o", 1), ["root"]);
    }
}
