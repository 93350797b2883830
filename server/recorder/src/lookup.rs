//! What addresses in processes are, while a capture is recorded.

use std::{collections::HashMap, path::PathBuf};

use bathyscope_capture::StackId;
use bathyscope_decode::{
    perf::{CopiedStack, PerfRecord},
    script::Symbol,
};
use bathyscope_symbols::{FileOptions, FileResolver, Place};

use super::{AgentLink, history::ProcessHistory, link::words, mappings::FileKey};
use crate::script::ProcessNames;

/// The largest file whose symbols are read while a script runs.
const MAX_FILE_BYTES: u64 = 512 << 20;
/// The most addresses whose names are kept.
const MAX_NAMES: usize = 1 << 16;

/// Where addresses in processes are looked up. It cannot leave its thread.
pub(crate) struct Lookup {
    pub(crate) history: ProcessHistory,
    link: AgentLink,
    files: FileResolver,
    names: HashMap<(u32, u64), Option<Symbol>>,
    processes: ProcessNames,
    /// The number of the first ring of the engine whose turn it is.
    first_ring: usize,
}

impl Lookup {
    pub(crate) fn new(history: ProcessHistory, link: AgentLink, private_dir: PathBuf) -> Self {
        let options = FileOptions { private_dir, max_file_bytes: MAX_FILE_BYTES };
        let files = FileResolver::new(options, rustix::process::geteuid().as_raw());
        Self { history, link, files, names: HashMap::new(), processes: ProcessNames::default(), first_ring: 0 }
    }

    /// It is the turn of the engine whose first ring this is.
    pub(super) fn turn_to(&mut self, first_ring: usize) {
        self.first_ring = first_ring;
    }

    /// Notes what a record of one of the engine's rings tells of processes, if it tells of them.
    pub(crate) fn note(&mut self, ring: usize, record: PerfRecord, bytes: usize) {
        self.history.note(self.first_ring + ring, record, bytes);
    }

    /// The function of a process that an address lies in.
    pub(crate) fn user_symbol(&mut self, pid: u32, address: u64) -> Option<Symbol> {
        if let Some(known) = self.names.get(&(pid, address)) {
            return known.clone();
        }
        let found = self.find(pid, address);
        if self.names.len() >= MAX_NAMES {
            self.names.clear();
        }
        self.names.insert((pid, address), found.clone());
        found
    }

    /// What a process is called: by what the kernel says of it now, or else by what it was called last.
    pub(crate) fn process_name(&mut self, pid: u32) -> Option<String> {
        self.processes.name(pid, &self.link).or_else(|| self.history.process_name(pid))
    }

    /// The id of a stack whose frames are known, as [`ProcessHistory::place_stack`] has it.
    pub(crate) fn place_stack(&mut self, user: bool, pid: u32, addresses: &[u64]) -> StackId {
        self.history.place_stack(user, pid, addresses, &self.link)
    }

    /// The id of a stack of which a copy is there, and how many frames it has.
    pub(crate) fn place_copy(&mut self, pid: u32, copied: CopiedStack) -> (StackId, usize) {
        self.history.place_copy(pid, copied, &self.link)
    }

    fn find(&mut self, pid: u32, address: u64) -> Option<Symbol> {
        let (file, mapped) = self.history.file_at(pid, address, &self.link)?;
        let place = Place { offset: mapped.offset, is_return: false };
        let build_id: &[u8] = if let FileKey::BuildId(id) = &mapped.key { id } else { &[] };
        let symbols = self.files.resolve(&file, build_id, &[place]);
        let symbols = symbols.inspect_err(|error| tracing::debug!(error = words(error), "a file gives no names"));
        let symbol = symbols.ok()?.into_iter().next().flatten()?;
        let module = String::from_utf8_lossy(&mapped.name).into_owned();
        Some(Symbol { name: symbol.function, offset: symbol.offset, module })
    }
}
