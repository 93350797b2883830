//! Places in programs and libraries.

use bathyscope_catalog::dynamic::FilePlace;

use crate::{
    ScriptAgent,
    script::{OffsetPlace, file_functions, function_place, offset_place, user_path},
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
