//! One program or library, opened with the file that has the symbols it was stripped of.

use bathyscope_catalog::elf::{ElfError, ElfFile, Functions, MAX_LINE_BYTES};
use bathyscope_symbols::decompressed;

use super::file::{Files, OpenFile};
use crate::ScriptAgent;

/// A program or library.
pub struct ProgramFile {
    /// Its path as the process sees it.
    pub path: String,
    /// The file.
    pub file: OpenFile,
    /// The file with its symbols, if it was stripped of them and they are on this host.
    pub debug_file: Option<(String, OpenFile)>,
}

/// Opens a program or library by its path, or a library or program of `PATH` by its name alone.
///
/// # Errors
/// In words, if it is none or may not be read.
pub fn open_program(agent: &mut impl ScriptAgent, name: &str, in_process: Option<u32>) -> Result<ProgramFile, String> {
    let mut files = Files::new(agent, in_process, Vec::new());
    let file = if name.starts_with('/') { files.open(name)? } else { files.by_short_name(name)? };
    ProgramFile::of(&mut files, file)
}

/// The content of a compressed section of debug information; none if it is damaged or too large.
pub(crate) fn decompressed_debug(section: &[u8]) -> Option<Vec<u8>> {
    decompressed(section, MAX_LINE_BYTES)
}

/// What was read of a program.
pub(crate) struct ReadProgram<'a> {
    /// The program itself.
    pub(crate) elf: ElfFile<'a>,
    /// The file with its symbols, if that can be read.
    pub(crate) debug: Option<ElfFile<'a>>,
    /// The functions of both.
    pub(crate) functions: Functions,
}

impl ProgramFile {
    /// A file that was found, with the one that has its symbols.
    ///
    /// # Errors
    /// In words, if it is no program.
    pub(super) fn of<A: ScriptAgent>(files: &mut Files<'_, A>, file: OpenFile) -> Result<Self, String> {
        let path = file.about.path.clone();
        let elf = ElfFile::parse(&file).map_err(|error| format!("{path}: {error}"))?;
        let debug_file = files.debug_file(&file, &elf).map(|found| (found.about.path.clone(), found));
        Ok(Self { path, file, debug_file })
    }

    /// Reads it with its functions.
    ///
    /// # Errors
    /// In words, if its tables are damaged or too large.
    pub(crate) fn read(&self) -> Result<ReadProgram<'_>, String> {
        let told = |error: ElfError| format!("{}: {error}", self.path);
        let elf = ElfFile::parse(&self.file).map_err(told)?;
        let debug = self.debug_file.as_ref().and_then(|(_, file)| ElfFile::parse(file).ok());
        let functions = elf.functions_with(debug.as_ref()).map_err(told)?;
        Ok(ReadProgram { elf, debug, functions })
    }
}
