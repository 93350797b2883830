//! Files of user space, opened by the agent and read here.

use std::{
    cell::Cell,
    collections::BTreeSet,
    fs::File,
    io::Read as _,
    os::unix::fs::{FileExt as _, MetadataExt as _},
    path::{Path, PathBuf},
};

use bathyscope_bpf::lang::{AskedArguments, limits::MAX_DIAGNOSTICS, suggest};
use bathyscope_catalog::{
    constants::Arch,
    elf::{ElfFile, Library, ReadAt, find_library, parse_library_cache, stored_file},
};
use bathyscope_plan::{UserFile, UserPlaces, UserSymbol};
use bathyscope_protocol::{AgentClient, ProcessFile};
use bathyscope_symbols::ProcessMaps;

use super::debug;
use crate::{LinkError, ScriptAgent, words};

/// Where programs are looked for that are named without a path.
const PROGRAM_DIRECTORIES: [&str; 6] = ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// The dynamic linker's list of libraries.
const LIBRARY_CACHE: &str = "/etc/ld.so.cache";
/// The most that is read of it.
const MAX_CACHE_BYTES: u64 = 16 << 20;
/// The most that is read of a process's mappings.
const MAX_MAPS_BYTES: u64 = 32 << 20;
/// The most files that a process has mapped and that are looked through.
const MAX_MAPPED: usize = 512;
/// The most files that a path with wildcards may match.
const MAX_MATCHING: usize = 512;

/// What tells one version of a file from another: device, inode, size, and when it was changed in seconds and nanoseconds.
pub type FileVersion = (u64, u64, u64, i64, i64);

/// An open file with what names it.
pub struct OpenFile {
    pub(super) about: UserFile,
    file: File,
    /// Where its content begins in the file: in an archive, else 0.
    pub(super) from: u64,
    bytes: u64,
}

impl OpenFile {
    /// What tells this version of the file from others.
    pub fn version(&self) -> FileVersion {
        let changed = self.file.metadata().map(|it| (it.mtime(), it.mtime_nsec())).unwrap_or_default();
        (self.about.device, self.about.inode, self.bytes, changed.0, changed.1)
    }
}

impl ReadAt for OpenFile {
    fn length(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> bool {
        let end = offset.checked_add(buffer.len() as u64);
        let at = self.from.checked_add(offset).filter(|_| end.is_some_and(|end| end <= self.bytes));
        at.is_some_and(|at| self.file.read_exact_at(buffer, at).is_ok())
    }
}

/// Opens files for one script.
pub(super) struct Files<'a, A> {
    agent: &'a mut A,
    /// The process through whose root they are opened.
    pub(super) pid: Option<u32>,
    /// Where paths begin that do not begin with `/`; none where nobody is in a folder.
    folder: Option<PathBuf>,
    /// Whether places may be probed of which nobody knows whether an instruction begins there.
    pub(super) unsafe_allowed: bool,
    libraries: Option<Vec<Library>>,
    mapped: Option<Vec<String>>,
    /// The symbols that the script asks for.
    symbols: Vec<String>,
    /// What it asks of `args` at the attach point that is looked at; none for nothing.
    pub(super) asked: Option<AskedArguments>,
    /// What says what was meant by names that are none.
    pub(super) suggestions: Suggestions,
}

/// Says what was probably meant by names that are none. Each is compared with all names of a file, so not for more names of
/// a script than people read messages about.
#[derive(Default)]
pub(super) struct Suggestions(Cell<usize>);

impl Suggestions {
    pub(super) fn near<'n, I: IntoIterator<Item = &'n str>>(
        &self,
        name: &str,
        known: impl FnOnce() -> I,
    ) -> Option<String> {
        if self.0.get() >= MAX_DIAGNOSTICS {
            return None;
        }
        self.0.set(self.0.get() + 1);
        suggest(name, known())
    }
}

/// This machine's processor.
pub(super) const fn arch() -> Arch {
    if cfg!(target_arch = "aarch64") { Arch::Aarch64 } else { Arch::X86_64 }
}

impl<'a, A: ScriptAgent> Files<'a, A> {
    pub(super) fn new(agent: &'a mut A, pid: Option<u32>, symbols: Vec<String>) -> Self {
        Self {
            agent,
            pid,
            folder: None,
            unsafe_allowed: false,
            libraries: None,
            mapped: None,
            symbols,
            asked: None,
            suggestions: Suggestions::default(),
        }
    }

    /// With the folder in which paths begin that do not begin with `/`.
    pub(super) fn in_folder(self, folder: Option<PathBuf>) -> Self {
        Self { folder, ..self }
    }

    /// With places of which nobody knows whether an instruction begins there, or without.
    pub(super) fn with_unsafe(self, unsafe_allowed: bool) -> Self {
        Self { unsafe_allowed, ..self }
    }

    /// Adds those symbols of a file that the script asks for.
    pub(super) fn add_symbols(&self, elf: &ElfFile<'_>, file: &OpenFile, found: &mut UserPlaces) -> Result<(), String> {
        if self.symbols.is_empty() {
            return Ok(());
        }
        let path = &file.about.path;
        let symbols = elf.symbols_named(&self.symbols).map_err(|error| format!("{path}: {error}"))?;
        let fixed = elf.is_fixed();
        let symbol = |(name, address, bytes)| UserSymbol { path: path.clone(), name, address, bytes, fixed };
        found.symbols.extend(symbols.into_iter().map(symbol));
        Ok(())
    }

    /// The files that a name means: one, or for `*` all that the process has mapped.
    pub(super) fn named(&mut self, name: &str) -> Result<Vec<OpenFile>, String> {
        if name == "*" {
            if self.pid.is_none() {
                return Err("`*` means all files of a process; say which with -p, or name a file".to_owned());
            }
            let mapped = self.mapped()?;
            // What is no program or is gone is not meant.
            return Ok(mapped.iter().filter_map(|path| self.open(path).ok()).collect());
        }
        if let Some((archive, entry)) = name.split_once("!/") {
            return Ok(vec![self.in_archive(archive, entry)?]);
        }
        if super::is_pattern(name) {
            return self.matching(name);
        }
        if name.starts_with('/') {
            return Ok(vec![self.open(name)?]);
        }
        if name.contains('/') {
            let path = self.absolute(name)?;
            // It was written where the script was started, and not by the process that is traced.
            return Ok(vec![self.open_in(&path, None)?]);
        }
        self.by_short_name(name).map(|file| vec![file])
    }

    /// A program that lies in an archive. Programs and libraries are all that the agent hands out; other files are opened with
    /// the rights that this process has.
    fn in_archive(&self, archive: &str, entry: &str) -> Result<OpenFile, String> {
        let mut file = self.other(archive)?;
        let (from, bytes) = stored_file(&file, entry).map_err(|error| format!("`{entry}` in {archive}: {error}"))?;
        (file.from, file.bytes) = (from, bytes);
        Ok(file)
    }

    /// A file that need not be a program.
    pub(super) fn other(&self, name: &str) -> Result<OpenFile, String> {
        let path = if name.starts_with('/') { name.to_owned() } else { self.absolute(name)? };
        let trouble = |error: std::io::Error| {
            let why = match error.kind() {
                std::io::ErrorKind::PermissionDenied => {
                    "what is no program is read only where everybody may".to_owned()
                }
                _ => error.to_string(),
            };
            format!("{path} cannot be opened: {why}")
        };
        // Neither is a pipe waited for, nor a device used.
        let is_file = std::fs::metadata(&path).map_err(trouble)?.is_file();
        let file =
            if is_file { File::open(&path).map_err(trouble)? } else { return Err(format!("{path} is no file")) };
        let about = file.metadata().map_err(trouble)?;
        let bytes = about.len();
        let about = UserFile { path, in_process: None, device: about.dev(), inode: about.ino() };
        Ok(OpenFile { about, file, from: 0, bytes })
    }

    /// A path from `/` on of one from the folder on.
    fn absolute(&self, name: &str) -> Result<String, String> {
        let Some(folder) = &self.folder else {
            return Err(format!("`{name}` is not an absolute path; write it from `/` on"));
        };
        let whole = plain(&folder.join(name));
        whole.to_str().map(str::to_owned).ok_or_else(|| format!("the folder that `{name}` is in has no name in UTF-8"))
    }

    /// The files whose paths match: of a process those that it has mapped, else all that are there.
    fn matching(&mut self, pattern: &str) -> Result<Vec<OpenFile>, String> {
        let whole = match pattern.contains('/') {
            true if pattern.starts_with('/') => pattern.to_owned(),
            true => self.absolute(pattern)?,
            // As programs are looked for that are named without a path.
            false => return self.programs_matching(pattern),
        };
        let paths = match self.pid {
            Some(_) => self.mapped()?.into_iter().filter(|path| super::matches(&whole, path)).collect(),
            None => walked(&whole)?,
        };
        self.opened(pattern, paths)
    }

    fn programs_matching(&mut self, pattern: &str) -> Result<Vec<OpenFile>, String> {
        let mut paths = Vec::new();
        if self.pid.is_some() {
            let is_named = |path: &String| super::matches(pattern, path.rsplit('/').next().unwrap_or_default());
            paths.extend(self.mapped()?.into_iter().filter(is_named));
        } else {
            for directory in PROGRAM_DIRECTORIES {
                paths.extend(walked(&format!("{directory}/{pattern}"))?);
            }
        }
        self.opened(pattern, paths)
    }

    /// Opens what can be; a file that has several names once.
    fn opened(&mut self, pattern: &str, paths: Vec<String>) -> Result<Vec<OpenFile>, String> {
        let mut seen = BTreeSet::new();
        let mut files = Vec::new();
        let mut last = None;
        for path in paths {
            match self.open(&path) {
                Ok(file) if seen.insert((file.about.device, file.about.inode)) => files.push(file),
                Ok(_again) => {}
                Err(trouble) => last = Some(trouble),
            }
        }
        match last {
            _ if !files.is_empty() => Ok(files),
            Some(trouble) => Err(trouble),
            None => Err(format!("no file matches `{pattern}`; check the path and its wildcards")),
        }
    }

    /// A library or program by its name alone.
    pub(super) fn by_short_name(&mut self, name: &str) -> Result<OpenFile, String> {
        let mut candidates: Vec<String> = Vec::new();
        if self.pid.is_some() {
            // A container has its own libraries: what the process uses is what is meant.
            let of_name = |path: &&String| {
                let last = path.rsplit('/').next().unwrap_or_default();
                let library = Library { name: last.to_owned(), path: String::new(), arch: Some(arch()) };
                last == name || !find_library(std::slice::from_ref(&library), arch(), name).is_empty()
            };
            candidates.extend(self.mapped()?.iter().filter(of_name).cloned());
        }
        candidates.extend(find_library(self.libraries(), arch(), name).into_iter().map(|it| it.path.clone()));
        candidates.extend(PROGRAM_DIRECTORIES.iter().map(|directory| format!("{directory}/{name}")));
        candidates.extend(self.absolute(name).ok());
        let mut last = String::new();
        for path in candidates {
            match self.open(&path) {
                Ok(file) => return Ok(file),
                Err(trouble) => last = trouble,
            }
        }
        let libraries = self.libraries();
        let names = libraries.iter().map(|library| library.name.as_str());
        Err(match suggest(name, names) {
            Some(near) => format!("there is no library or program `{name}`; did you mean `{near}`?"),
            None if last.is_empty() => format!("there is no library or program `{name}`; give its path"),
            None => format!("there is no library or program `{name}` (last: {last})"),
        })
    }

    /// The file that has the symbols that another was stripped of.
    pub(super) fn debug_file(&mut self, of: &OpenFile, elf: &ElfFile<'_>) -> Option<OpenFile> {
        let candidates = debug::candidates(&of.about.path, elf);
        candidates.into_iter().find_map(|path| {
            // A process of a container may have its debug files outside, where they are found by its build id.
            let inside = self.open(&path).ok();
            let found =
                inside.or_else(|| self.open_in(&path, None).ok().filter(|_file| debug::is_by_build_id(&path)))?;
            let itself = (found.about.device, found.about.inode) == (of.about.device, of.about.inode);
            (!itself && debug::belongs(&found, elf)).then_some(found)
        })
    }

    pub(super) fn open(&mut self, path: &str) -> Result<OpenFile, String> {
        self.open_in(path, self.pid)
    }

    fn open_in(&mut self, path: &str, in_process: Option<u32>) -> Result<OpenFile, String> {
        let wanted = path.to_owned();
        let opened = self.agent.call(move |client| client.open_user_file(&wanted, in_process));
        let opened = opened.map_err(|error| match error {
            LinkError::Refused(error) => format!("{} cannot be opened: {}", path, error.why),
            error => words(&error),
        })?;
        let about = UserFile { path: path.to_owned(), in_process, device: opened.device, inode: opened.inode };
        Ok(OpenFile { about, file: File::from(opened.file), from: 0, bytes: opened.bytes })
    }

    fn libraries(&mut self) -> &[Library] {
        self.libraries.get_or_insert_with(|| {
            let mut bytes = Vec::new();
            if let Ok(file) = File::open(LIBRARY_CACHE) {
                // A part of it is not understood, which is as good as none.
                let _partial = file.take(MAX_CACHE_BYTES).read_to_end(&mut bytes);
            }
            parse_library_cache(&bytes).unwrap_or_default()
        })
    }

    /// What a process has mapped and can run: path and inode of each file, each once.
    pub(super) fn code_of(&mut self, pid: u32) -> Result<BTreeSet<(String, u64)>, String> {
        let file = self.agent.call(move |client| client.open_process_file(pid, ProcessFile::Maps));
        let doing =
            |error: &dyn std::fmt::Display| format!("what the process {pid} has mapped cannot be read: {error}");
        let mut bytes = Vec::new();
        let file = file.map_err(|error| doing(&words(&error)))?;
        File::from(file).take(MAX_MAPS_BYTES).read_to_end(&mut bytes).map_err(|error| doing(&error))?;
        let maps = ProcessMaps::parse(&bytes).maps.into_iter();
        let files = maps.filter(|map| map.executable && map.inode != 0 && map.name.starts_with(b"/"));
        let named = files.filter_map(|map| Some((String::from_utf8(map.name).ok()?, map.inode)));
        let code: BTreeSet<(String, u64)> = named.collect();
        Ok(code.into_iter().take(MAX_MAPPED).collect())
    }

    /// All processes.
    pub(super) fn processes(&mut self) -> Result<Vec<u32>, String> {
        let listed = self.agent.call(AgentClient::list_processes);
        listed.map_err(|error| format!("the processes cannot be listed: {}", words(&error)))
    }

    /// Paths of the files with code that the process has mapped.
    pub(super) fn mapped(&mut self) -> Result<Vec<String>, String> {
        if let Some(mapped) = &self.mapped {
            return Ok(mapped.clone());
        }
        let code = self.code_of(self.pid.unwrap_or_default())?;
        let paths: BTreeSet<String> = code.into_iter().map(|(path, _inode)| path).collect();
        let mapped: Vec<String> = paths.into_iter().collect();
        self.mapped = Some(mapped.clone());
        Ok(mapped)
    }
}

/// A path without `.` and `..`, as far as it can be said without looking at links.
fn plain(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // Before a link `..` is the kernel's business.
            Component::ParentDir if plain.is_symlink() => plain.push(".."),
            Component::ParentDir => drop(plain.pop()),
            other => plain.push(other),
        }
    }
    plain
}

/// The paths that match, by the alphabet: a wildcard stays within its part of the path. What cannot be read has nothing.
fn walked(pattern: &str) -> Result<Vec<String>, String> {
    let mut paths = vec![String::new()];
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        if !super::is_pattern(part) {
            paths.iter_mut().for_each(|path| *path = format!("{path}/{part}"));
            continue;
        }
        let mut found = Vec::new();
        for folder in &paths {
            let folder = if folder.is_empty() { "/" } else { folder.as_str() };
            let Ok(entries) = std::fs::read_dir(folder) else { continue };
            let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
            let names =
                names.filter(|name| super::matches(part, name) && (part.starts_with('.') || !name.starts_with('.')));
            found.extend(names.map(|name| format!("{}/{name}", folder.trim_end_matches('/'))));
            if found.len() > MAX_MATCHING {
                return Err(format!("more than {MAX_MATCHING} files match `{pattern}`; name fewer"));
            }
        }
        found.sort_unstable();
        paths = found;
    }
    // What follows the last wildcard need not be there.
    paths.retain(|path| Path::new(path).is_file());
    Ok(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_made_plain() {
        for (path, expected) in [("/a/./b", "/a/b"), ("/a/../b", "/b"), ("/a/b/..", "/a"), ("/../a", "/a")] {
            assert_eq!(plain(Path::new(path)), Path::new(expected), "{path}");
        }
    }

    #[test]
    fn wildcards_stay_within_their_part() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["one/x.so", "two/x.so", "two/y.so", "two/.x.so", "three/deep/x.so"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let folder = folder.path().to_str().unwrap();
        let found = |pattern: &str| {
            let found = walked(&format!("{folder}/{pattern}")).unwrap();
            found.iter().map(|path| path[folder.len() + 1..].to_owned()).collect::<Vec<_>>()
        };
        assert_eq!(found("*/x.so"), ["one/x.so", "two/x.so"]);
        assert_eq!(found("tw?/*.so"), ["two/x.so", "two/y.so"]);
        assert_eq!(found("*/deep/x*"), ["three/deep/x.so"]);
        assert!(found("*/z.so").is_empty() && found("*").is_empty());
    }
}
