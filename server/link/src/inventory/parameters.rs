//! Parameters of functions of programs, read when one is asked for.

use bathyscope_catalog::elf::FunctionParameters;

use super::InventoryError;
use crate::{
    AgentLink,
    script::{ReadProgram, decompressed_debug, open_program},
};

/// What debug information says of a function, by its name as the linker knows it; none if it says nothing.
pub(super) fn parameters_of(
    link: &AgentLink,
    (path, in_process): (&str, Option<u32>),
    function: &str,
) -> Result<Option<FunctionParameters>, InventoryError> {
    let unreadable = |why: String| InventoryError::File { doing: "reading the parameters of a function", why };
    let program = open_program(&mut link.clone(), path, in_process).map_err(unreadable)?;
    let told = |error: bathyscope_catalog::elf::ElfError| unreadable(format!("{path}: {error}"));
    let ReadProgram { elf, debug, functions } = program.read().map_err(unreadable)?;
    let Some(address) = functions.iter().find(|symbol| symbol.name == function).map(|symbol| symbol.address) else {
        return Ok(None);
    };
    let own = FunctionParameters::read(&elf, address, &decompressed_debug).map_err(told)?;
    match (own, debug) {
        (None, Some(debug)) => FunctionParameters::read(&debug, address, &decompressed_debug).map_err(told),
        (own, _) => Ok(own),
    }
}
