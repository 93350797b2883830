//! Functions and markers of programs and libraries, read one by one when they are asked for, and kept while there is room.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use bathyscope_catalog::{
    elf::{MarkerArgument, demangle},
    names::{Names, NamesBuilder, NewName},
};

use super::{
    EntryKind, InventoryError,
    part::{Facts, Part},
    read::Read,
};
use crate::{
    AgentLink, ScriptAgent,
    script::{FileVersion, ProgramFile, ReadProgram, open_program},
};

/// Memory of all names that are kept.
const MAX_BYTES: usize = 128 << 20;
/// The most files whose names are kept.
const MAX_FILES: usize = 256;

/// What a program or library offers to be traced.
#[derive(Clone, Debug)]
pub struct FileSymbols {
    /// Its path.
    pub path: String,
    /// Its functions: as people read them and as the linker knows them, with their offsets in the file as values.
    pub functions: Arc<Names>,
    /// Its markers, `provider:name`, with the number of their places as values.
    pub markers: Arc<Names>,
    /// What each marker passes, by its `provider:name`.
    pub passed: Arc<BTreeMap<String, Vec<MarkerArgument>>>,
    /// Its build id in hexadecimal digits; empty if it has none.
    pub build_id: String,
    /// Whether the Go compiler made it.
    pub go: bool,
    /// Whether its own table of symbols was removed.
    pub stripped: bool,
    /// The file that has the symbols that it was stripped of.
    pub debug_file: Option<String>,
    version: FileVersion,
}

impl FileSymbols {
    fn memory_bytes(&self) -> usize {
        self.functions.memory_bytes() + self.markers.memory_bytes()
    }
}

/// Reads what a program or library offers; `in_process` is a process through whose root it is found.
///
/// # Errors
/// If it is no program, or cannot be read.
pub fn read_symbols(
    agent: &mut impl ScriptAgent,
    path: &str,
    in_process: Option<u32>,
) -> Result<FileSymbols, InventoryError> {
    let told = |why: String| InventoryError::File { doing: "reading the names of a program", why };
    let program = open_program(agent, path, in_process).map_err(told)?;
    let version = program.file.version();
    symbols_of(&program, version).map_err(told)
}

fn symbols_of(program: &ProgramFile, version: FileVersion) -> Result<FileSymbols, String> {
    let path = &program.path;
    let told = |error: bathyscope_catalog::elf::ElfError| format!("{path}: {error}");
    let ReadProgram { elf, functions, .. } = program.read()?;
    let mut names = NamesBuilder::new();
    for symbol in functions.iter() {
        let readable = demangle(symbol.name);
        names.add(NewName {
            text: &readable,
            raw: symbol.name,
            group: path,
            value: symbol.offset,
            ..NewName::default()
        });
    }
    let mut markers = NamesBuilder::new();
    let mut places = BTreeMap::<(String, String), (u64, Vec<MarkerArgument>)>::new();
    for marker in elf.markers().map_err(told)? {
        let (count, arguments) = places.entry((marker.provider, marker.name)).or_default();
        *count += 1;
        // Places of a name pass the same, unless somebody gave one name to two.
        if arguments.len() < marker.arguments.len() {
            *arguments = marker.arguments;
        }
    }
    let mut passed = BTreeMap::new();
    for ((provider, name), (count, arguments)) in places {
        let (text, own_at) = (format!("{provider}:{name}"), provider.len() + 1);
        markers.add(NewName { text: &text, own_at, group: path, value: count, ..NewName::default() });
        passed.insert(text, arguments);
    }
    let build_id = elf.build_id().unwrap_or_default();
    Ok(FileSymbols {
        path: path.clone(),
        functions: Arc::new(names.finish()),
        markers: Arc::new(markers.finish()),
        passed: Arc::new(passed),
        build_id: bathyscope_symbols::build_id_text(&build_id),
        go: elf.is_go(),
        stripped: elf.is_stripped(),
        debug_file: program.debug_file.as_ref().map(|(path, _)| path.clone()),
        version,
    })
}

/// Files that were read, the latest used last.
#[derive(Debug, Default)]
pub(super) struct SymbolCache {
    files: Mutex<Vec<Arc<FileSymbols>>>,
}

impl SymbolCache {
    fn files(&self) -> std::sync::MutexGuard<'_, Vec<Arc<FileSymbols>>> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What a file offers: as it was read before, if the file is still the same.
    pub(super) fn get(
        &self,
        link: &AgentLink,
        path: &str,
        pid: Option<u32>,
    ) -> Result<Arc<FileSymbols>, InventoryError> {
        let told = |why: String| InventoryError::File { doing: "reading the names of a program", why };
        let program = open_program(&mut link.clone(), path, pid).map_err(told)?;
        let version = program.file.version();
        let known = self.files().iter().position(|file| file.version == version && file.path == path);
        if let Some(known) = known {
            let mut files = self.files();
            // Somebody else may have taken it out meanwhile.
            if known < files.len() {
                let file = files.remove(known);
                files.push(Arc::clone(&file));
                if file.version == version && file.path == path {
                    return Ok(file);
                }
            }
        }
        let read = Arc::new(symbols_of(&program, version).map_err(told)?);
        let mut files = self.files();
        files.retain(|file| file.path != path);
        files.push(Arc::clone(&read));
        let bytes = |files: &[Arc<FileSymbols>]| files.iter().map(|file| file.memory_bytes()).sum::<usize>();
        while files.len() > 1 && (files.len() > MAX_FILES || bytes(&files) > MAX_BYTES) {
            files.remove(0);
        }
        Ok(read)
    }

    /// All that was read, for a search across files.
    pub(super) fn reads(&self) -> Vec<Arc<Read>> {
        let part = |kind, names: &Arc<Names>| Part { kind, names: Arc::clone(names), facts: Facts::None };
        let read = |file: &Arc<FileSymbols>| {
            let parts = vec![part(EntryKind::User, &file.functions), part(EntryKind::Marker, &file.markers)];
            Arc::new(Read { parts, hidden: Vec::new(), signature: String::new() })
        };
        self.files().iter().map(read).collect()
    }

    /// How many functions or markers are known.
    pub(super) fn count(&self, kind: EntryKind) -> usize {
        let of_file = |file: &Arc<FileSymbols>| match kind {
            EntryKind::Marker => file.markers.len(),
            _ => file.functions.len(),
        };
        self.files().iter().map(of_file).sum()
    }

    pub(super) fn forget(&self) {
        self.files().clear();
    }
}
