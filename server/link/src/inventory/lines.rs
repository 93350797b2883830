//! Source lines of programs, read when one is asked for. Those of the program that was asked for last are kept.

use std::sync::{Arc, Mutex, PoisonError};

use bathyscope_catalog::elf::{ElfFile, LineInFunction, SourceLines, demangle};

use super::InventoryError;
use crate::{
    AgentLink,
    script::{FileVersion, ProgramFile, ReadProgram, decompressed_debug, open_program},
};

/// A line of a source file, where a probe can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineSite {
    /// The source file.
    pub source: String,
    /// The line.
    pub line: u32,
    /// The path of the program.
    pub path: String,
    /// The function with the instruction, as people read it.
    pub function: String,
    /// The same as the linker knows it.
    pub raw: String,
    /// Bytes from the begin of the function.
    pub offset: u64,
}

struct KeptLines {
    path: String,
    version: FileVersion,
    lines: Arc<SourceLines>,
}

/// The lines of the program that was asked for last.
#[derive(Default)]
pub(super) struct LineCache {
    last: Mutex<Option<KeptLines>>,
}

impl LineCache {
    /// The first lines from one on, with the places in functions at which they begin.
    pub(super) fn find(
        &self,
        link: &AgentLink,
        (path, in_process): (&str, Option<u32>),
        (source, from): (&str, u32),
        most: usize,
    ) -> Result<Vec<LineSite>, InventoryError> {
        let told = |why: String| InventoryError::File { doing: "finding source lines of a program", why };
        let program = open_program(&mut link.clone(), path, in_process).map_err(told)?;
        let lines = self.lines_of(&program).map_err(told)?;
        sites(&program, &lines, source, from, most).map_err(told)
    }

    pub(super) fn lines_of(&self, program: &ProgramFile) -> Result<Arc<SourceLines>, String> {
        let version = program.file.version();
        let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let known = last()
            .as_ref()
            .filter(|kept| kept.version == version && kept.path == program.path)
            .map(|kept| Arc::clone(&kept.lines));
        if let Some(lines) = known {
            return Ok(lines);
        }
        let lines = Arc::new(read(program)?);
        *last() = Some(KeptLines { path: program.path.clone(), version, lines: Arc::clone(&lines) });
        Ok(lines)
    }

    pub(super) fn forget(&self) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The lines of a program, or of the file with its debug information.
fn read(program: &ProgramFile) -> Result<SourceLines, String> {
    let path = &program.path;
    let told = |error: bathyscope_catalog::elf::ElfError| format!("{path}: {error}");
    let own = SourceLines::read(&ElfFile::parse(&program.file).map_err(told)?, &decompressed_debug).map_err(told)?;
    if !own.is_empty() {
        return Ok(own);
    }
    let debug = program.debug_file.as_ref().map(|(_, file)| ElfFile::parse(file)).transpose().map_err(told)?;
    let lines = debug.map(|debug| SourceLines::read(&debug, &decompressed_debug)).transpose().map_err(told)?;
    lines.filter(|lines| !lines.is_empty()).ok_or_else(|| {
        format!("{path} has no line tables; compile it with -g, or install its debug information below /usr/lib/debug")
    })
}

fn sites(
    program: &ProgramFile,
    lines: &SourceLines,
    source: &str,
    from: u32,
    most: usize,
) -> Result<Vec<LineSite>, String> {
    let path = &program.path;
    let ReadProgram { elf, functions, .. } = program.read()?;
    let found = lines.in_functions(&elf, &functions, (source, from), most).into_iter();
    let site = |it: LineInFunction<'_>| LineSite {
        source: it.file.to_owned(),
        line: it.line,
        path: path.clone(),
        function: demangle(it.function),
        raw: it.function.to_owned(),
        offset: it.offset,
    };
    Ok(found.map(site).collect())
}
