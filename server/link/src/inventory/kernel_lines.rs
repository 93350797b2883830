//! Source lines of the kernel, where its debug information is on this host and is that of the kernel that runs.

use bathyscope_catalog::elf::{ElfFile, LineInFunction};

use super::{InventoryError, lines::LineCache};
use crate::{AgentLink, script::open_kernel_debug};

/// A line of the kernel's source, where a probe can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelLineSite {
    /// The source file.
    pub source: String,
    /// The line.
    pub line: u32,
    /// The function with the instruction.
    pub function: String,
    /// Bytes from the begin of the function.
    pub offset: u64,
}

/// The first lines from one on, with the places in functions of the kernel at which they begin.
pub(super) fn find(
    cache: &LineCache,
    link: &AgentLink,
    (source, from): (&str, u32),
    most: usize,
) -> Result<Vec<KernelLineSite>, InventoryError> {
    let told = |why: String| InventoryError::File { doing: "finding source lines of the kernel", why };
    let program = open_kernel_debug(&mut link.clone(), "source lines of the kernel need").map_err(told)?;
    let elf = ElfFile::parse(&program.file).map_err(|error| told(format!("{}: {error}", program.path)))?;
    let lines = cache.lines_of(&program).map_err(told)?;
    let functions = elf.functions().map_err(|error| told(format!("{}: {error}", program.path)))?;
    let found = lines.in_functions(&elf, &functions, (source, from), most).into_iter();
    let site = |it: LineInFunction<'_>| KernelLineSite {
        source: it.file.to_owned(),
        line: it.line,
        function: it.function.to_owned(),
        offset: it.offset,
    };
    Ok(found.map(site).collect())
}
