//! What the editor asks while somebody writes: completion and explanations, from facts that are read once, through
//! descriptors that the agent opened, and kept. So an answer takes milliseconds and does not wait for the agent.

use std::{
    collections::HashMap,
    fs::File,
    io::Read as _,
    sync::{Arc, Mutex, OnceLock},
};

use bathyscope_bpf::lang::{
    self, Completion, Hover,
    host::{Architecture, Features, Host, KernelFunction, UserPlaces},
};
use bathyscope_capture::TracepointName;
use bathyscope_catalog::{
    EventFormat, MAX_FORMAT_BYTES, parse_available_events, parse_event_format,
    types::{Btf, MAX_BTF_BYTES, Types},
};
use bathyscope_protocol::{AgentErrorKind, KernelFile};

use crate::recorder::{AgentLink, LinkError, words};

/// The most that is read of a list of names.
const MAX_LIST_BYTES: u64 = 32 << 20;
/// Formats of tracepoints that are kept.
const MAX_FORMATS: usize = 4096;

/// Facts of the host for the editor. To be asked where one may wait.
#[derive(Debug)]
pub struct Editor {
    link: AgentLink,
    features: OnceLock<Features>,
    tracepoints: OnceLock<Vec<String>>,
    raw_tracepoints: OnceLock<Vec<String>>,
    functions: OnceLock<Vec<KernelFunction>>,
    types: OnceLock<Types>,
    formats: Mutex<HashMap<String, Arc<EventFormat>>>,
}

impl Editor {
    /// Asks through `link`, when something is first needed.
    pub fn new(link: AgentLink) -> Self {
        Self {
            link,
            features: OnceLock::new(),
            tracepoints: OnceLock::new(),
            raw_tracepoints: OnceLock::new(),
            functions: OnceLock::new(),
            types: OnceLock::new(),
            formats: Mutex::default(),
        }
    }

    /// What can stand at a byte of a script, best first.
    pub fn complete(&self, text: &str, offset: u32) -> Vec<Completion> {
        lang::complete(text, offset, self)
    }

    /// What is at a byte of a script.
    pub fn hover(&self, text: &str, offset: u32) -> Option<Hover> {
        lang::hover(text, offset, self)
    }

    fn read(&self, file: KernelFile, most: u64) -> Result<Vec<u8>, LinkError> {
        let file = self.link.call_blocking(move |client| client.open_kernel_file(file))?;
        let mut bytes = Vec::new();
        // What can be read of it is used.
        let _partial = File::from(file).take(most).read_to_end(&mut bytes);
        Ok(bytes)
    }

    /// Reads once. What could not be read because there was no agent is asked for again.
    fn keep<'a, T>(&self, slot: &'a OnceLock<Vec<T>>, read: impl FnOnce() -> Result<Vec<T>, LinkError>) -> &'a [T] {
        if let Some(known) = slot.get() {
            return known;
        }
        match read() {
            Ok(value) => slot.get_or_init(|| value),
            Err(LinkError::Refused(error)) => {
                tracing::debug!(why = error.why, "the editor knows less of this host");
                slot.get_or_init(Vec::new)
            }
            Err(_absent) => &[],
        }
    }
}

/// What is answered while there is no agent.
fn unknown_features() -> Features {
    Features {
        kernel: 6001,
        architecture: if cfg!(target_arch = "aarch64") { Architecture::Aarch64 } else { Architecture::X86_64 },
        possible_cpus: 1,
        kprobe: true,
        kprobe_multi: true,
        fentry: true,
        uprobe: true,
        uprobe_multi: true,
        pmu: true,
        watchpoint: true,
        raw_tracepoint: true,
        iterator: true,
        lockdown: "none".to_owned(),
        pid_namespace: None,
    }
}

impl Host for Editor {
    fn features(&self) -> &Features {
        static UNKNOWN: OnceLock<Features> = OnceLock::new();
        if let Some(known) = self.features.get() {
            return known;
        }
        match self.link.call_blocking(bathyscope_protocol::AgentClient::host_features) {
            Ok(features) => self.features.get_or_init(|| features),
            Err(_absent) => UNKNOWN.get_or_init(unknown_features),
        }
    }

    fn tracepoint(&self, system: &str, name: &str) -> Result<Option<Arc<EventFormat>>, String> {
        let Ok(tracepoint) = format!("{system}:{name}").parse::<TracepointName>() else { return Ok(None) };
        let full = tracepoint.to_string();
        let lock = || self.formats.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(known) = lock().get(&full) {
            return Ok(Some(Arc::clone(known)));
        }
        let bytes = match self.read(KernelFile::EventFormat { tracepoint }, MAX_FORMAT_BYTES as u64) {
            Ok(bytes) => bytes,
            Err(LinkError::Refused(error)) if error.kind == AgentErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(words(&error)),
        };
        let format = Arc::new(parse_event_format(&bytes).map_err(|error| error.to_string())?);
        let mut formats = lock();
        if formats.len() >= MAX_FORMATS {
            formats.clear();
        }
        formats.insert(full, Arc::clone(&format));
        Ok(Some(format))
    }

    fn tracepoints(&self) -> &[String] {
        self.keep(&self.tracepoints, || {
            let bytes = self.read(KernelFile::AvailableEvents, MAX_LIST_BYTES)?;
            let mut names: Vec<String> = parse_available_events(&bytes).iter().map(ToString::to_string).collect();
            names.sort_unstable();
            Ok(names)
        })
    }

    fn raw_tracepoints(&self) -> &[String] {
        self.raw_tracepoints.get_or_init(|| {
            let found = self.types().complete_raw_tracepoints("", usize::MAX);
            found.names.into_iter().map(str::to_owned).collect()
        })
    }

    fn functions(&self) -> &[KernelFunction] {
        self.keep(&self.functions, || Ok(functions(&self.read(KernelFile::FilterFunctions, MAX_LIST_BYTES)?)))
    }

    fn types(&self) -> &Types {
        self.types.get_or_init(|| {
            let bytes = self.read(KernelFile::Btf, MAX_BTF_BYTES as u64).map_err(|error| words(&error));
            let btf = bytes.and_then(|bytes| Btf::parse(bytes).map_err(|error| error.to_string()));
            match btf {
                Ok(btf) => Types::new(Arc::new(btf)),
                Err(why) => {
                    tracing::debug!(why, "the editor does not know the kernel's types");
                    Types::built_in()
                }
            }
        })
    }

    fn kernel_symbol(&self, _name: &str) -> Option<u64> {
        None
    }

    fn user_places(&self, _point: &str) -> Option<&UserPlaces> {
        None
    }
}

/// Lines `name` or `name [module]`.
fn functions(bytes: &[u8]) -> Vec<KernelFunction> {
    let line = |line: &[u8]| {
        let line = std::str::from_utf8(line).ok()?.trim();
        let (name, module) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let module = module.trim().trim_start_matches('[').trim_end_matches(']');
        (!name.is_empty()).then(|| KernelFunction { name: name.to_owned(), module: module.to_owned() })
    };
    let mut all: Vec<KernelFunction> = bytes.split(|byte| *byte == b'\n').filter_map(line).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_modules() {
        let found = functions(b"vfs_read\next4_sync_file [ext4]\n\nvfs_read\n");
        let shown: Vec<String> = found.iter().map(|it| format!("{} {}", it.name, it.module)).collect();
        assert_eq!(shown, ["ext4_sync_file ext4", "vfs_read "]);
    }
}
