//! Parameters of functions of programs, read when one is asked for.

use bathyscope_catalog::elf::{ElfFile, FunctionParameters, MAX_LINE_BYTES};
use bathyscope_symbols::decompressed;

use super::InventoryError;
use crate::{AgentLink, script::open_program};

/// What debug information says of a function, by its name as the linker knows it; none if it says nothing.
pub(super) fn parameters_of(
    link: &AgentLink,
    (path, in_process): (&str, Option<u32>),
    function: &str,
) -> Result<Option<FunctionParameters>, InventoryError> {
    let program = open_program(&mut link.clone(), path, in_process).map_err(|why| InventoryError::File { why })?;
    let told = |error: bathyscope_catalog::elf::ElfError| InventoryError::File { why: format!("{path}: {error}") };
    let decompress = |section: &[u8]| decompressed(section, MAX_LINE_BYTES);
    let elf = ElfFile::parse(&program.file).map_err(told)?;
    let debug = program.debug_file.as_ref().and_then(|(_, file)| ElfFile::parse(file).ok());
    let functions = elf.functions_with(debug.as_ref()).map_err(told)?;
    let Some(address) = functions.iter().find(|symbol| symbol.name == function).map(|symbol| symbol.address) else {
        return Ok(None);
    };
    let own = FunctionParameters::read(&elf, address, &decompress).map_err(told)?;
    match (own, debug) {
        (None, Some(debug)) => FunctionParameters::read(&debug, address, &decompress).map_err(told),
        (own, _) => Ok(own),
    }
}
