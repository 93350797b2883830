//! Places in programs and libraries.

use bathyscope_capture::ProgramData;
use bathyscope_catalog::dynamic::{DynamicDefinition, DynamicError, FilePlace};

use crate::{
    ScriptAgent,
    script::{OffsetPlace, file_functions, function_place, offset_place, place_variables, user_path},
};

/// A place that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Bytes from the file's beginning.
    pub(super) offset: u64,
    /// What somebody should know who probes it.
    pub(super) notes: Vec<String>,
    /// Whether a function may begin there, so that its arguments are where calls leave them.
    pub(super) arguments: bool,
}

/// The absolute path of a program or library by its path or its name alone.
pub(super) fn path_of(agent: &mut impl ScriptAgent, pid: Option<u32>, name: &str) -> Result<String, String> {
    user_path(agent, pid, name)
}

/// Where a place in a file is.
pub(super) fn place(
    agent: &mut impl ScriptAgent,
    pid: Option<u32>,
    path: &str,
    at: &FilePlace,
    returns: bool,
) -> Result<Found, String> {
    match at {
        FilePlace::Function { name, offset } => {
            let arguments = *offset == 0;
            let (offset, notes) = function_place(agent, pid, path, name, *offset, returns)?;
            Ok(Found { offset, notes, arguments })
        }
        FilePlace::Offset(offset) => {
            let OffsetPlace { notes, arguments } = offset_place(agent, pid, path, *offset)?;
            Ok(Found { offset: *offset, notes, arguments })
        }
    }
}

/// A definition with the names of its program's parameters and variables replaced by where they are.
///
/// # Errors
/// A name that there is not, or that a probe cannot read.
pub(super) fn with_variables(
    agent: &mut impl ScriptAgent,
    pid: Option<u32>,
    definition: DynamicDefinition,
    (path, at): (&str, &FilePlace),
    places: &[usize],
) -> Result<DynamicDefinition, DynamicError> {
    let (data, missing) = match at {
        // What is wrong with the place is told when it is looked for.
        FilePlace::Function { name, offset: 0 } => place_variables(agent, pid, path, name).unwrap_or_default(),
        FilePlace::Function { name, offset } => {
            place_variables(agent, pid, path, &format!("{name}+{offset}")).unwrap_or_default()
        }
        FilePlace::Offset(_) => (
            ProgramData::default(),
            "names are known at a FUNCTION or FUNCTION+OFFSET, not at an offset in the file".to_owned(),
        ),
    };
    definition.with_program(&data, &missing, places)
}

/// The functions of a program or library: its path, and their names by the alphabet.
///
/// # Errors
/// In words, if the file cannot be read.
pub fn functions_of(
    agent: &mut impl ScriptAgent,
    pid: Option<u32>,
    file: &str,
) -> Result<(String, Vec<String>), String> {
    file_functions(agent, pid, file)
}
