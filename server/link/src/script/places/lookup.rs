//! Single places in files, for dynamic events: the same files and functions as scripts find.

use bathyscope_bpf::lang::AskedArguments;
use bathyscope_capture::ProgramData;
use bathyscope_catalog::elf::ElfFile;
use bathyscope_plan::UserPlaces;

use super::{
    file::{Files, OpenFile},
    functions, is_pattern,
    program::{ProgramFile, ReadProgram},
};
use crate::ScriptAgent;

fn open<A: ScriptAgent>(files: &mut Files<'_, A>, name: &str) -> Result<OpenFile, String> {
    if name == "*" {
        return Err("name one program or library".to_owned());
    }
    files.named(name)?.pop().ok_or_else(|| format!("there is no file `{name}`"))
}

/// The absolute path of a program or library by its path, or by its name alone: `libc`, `bash`.
///
/// # Errors
/// In words, if there is none.
pub(crate) fn user_path(agent: &mut impl ScriptAgent, pid: Option<u32>, name: &str) -> Result<String, String> {
    Ok(open(&mut Files::new(agent, pid, Vec::new()), name)?.about.path)
}

/// Where a function of a file is, in bytes from the file's beginning, and what is to be known about it.
///
/// # Errors
/// In words, if there is no such function, or it cannot be probed so.
pub(crate) fn function_place(
    agent: &mut impl ScriptAgent,
    pid: Option<u32>,
    path: &str,
    name: &str,
    offset: u64,
    at_return: bool,
) -> Result<(u64, Vec<String>), String> {
    if is_pattern(name) {
        return Err("a probe is at one function; name it".to_owned());
    }
    let mut files = Files::new(agent, pid, Vec::new());
    let wanted = if offset == 0 { name.to_owned() } else { format!("{name}+{offset}") };
    let mut found = UserPlaces::default();
    functions::search(&mut files, path, &[&wanted], at_return, &mut found)?;
    let mut notes = found.warnings;
    let first = found.places.first().ok_or_else(|| format!("there is no function `{name}` in {path}"))?;
    if found.places.len() > 1 {
        notes.push(format!("{path} has {} functions `{name}`; this is the first", found.places.len()));
    }
    Ok((first.offset, notes))
}

/// What debug information says of the variables at a place in a file, and why it says nothing.
///
/// # Errors
/// In words, if there is no such place.
pub(crate) fn place_variables(
    agent: &mut impl ScriptAgent,
    pid: Option<u32>,
    path: &str,
    name: &str,
) -> Result<(ProgramData, String), String> {
    let mut files = Files::new(agent, pid, Vec::new());
    files.asked = Some(AskedArguments { all: true, ..AskedArguments::default() });
    let mut found = UserPlaces::default();
    functions::search(&mut files, path, &[name], false, &mut found)?;
    Ok((found.data, found.data_missing))
}

/// A place in a file by its offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OffsetPlace {
    /// What somebody should know who probes it.
    pub(crate) notes: Vec<String>,
    /// Whether a function may begin there, so that its arguments are where calls leave them.
    pub(crate) arguments: bool,
}

/// What is to be known about a place of a file that is given in bytes.
///
/// # Errors
/// In words, if nothing runs there.
pub(crate) fn offset_place(
    agent: &mut impl ScriptAgent,
    pid: Option<u32>,
    path: &str,
    offset: u64,
) -> Result<OffsetPlace, String> {
    let unknown = || Ok(OffsetPlace { notes: Vec::new(), arguments: false });
    // What cannot be read here is told by the agent when a capture begins.
    let Ok(file) = open(&mut Files::new(agent, pid, Vec::new()), path) else { return unknown() };
    let Ok(elf) = ElfFile::parse(&file) else { return unknown() };
    if !elf.is_code(offset) {
        return Err(format!("{offset:#x} is in no code of {path}; give an offset in the file, not an address"));
    }
    // A stripped file does not tell where its functions begin: whoever asks knows.
    let Ok(functions) = elf.functions() else { return Ok(OffsetPlace { notes: Vec::new(), arguments: true }) };
    let found = functions.at(offset);
    let arguments = found.as_ref().is_none_or(|symbol| symbol.offset == offset);
    let inside = found.map(|symbol| match offset.saturating_sub(symbol.offset) {
        0 => format!("it is where `{}` begins", symbol.name),
        further => format!("it is {further} bytes within `{}`", symbol.name),
    });
    Ok(OffsetPlace { notes: inside.into_iter().collect(), arguments })
}

/// The path and the names of the functions of a file, by the alphabet.
///
/// # Errors
/// In words, if it cannot be read.
pub(crate) fn file_functions(
    agent: &mut impl ScriptAgent,
    pid: Option<u32>,
    name: &str,
) -> Result<(String, Vec<String>), String> {
    let mut files = Files::new(agent, pid, Vec::new());
    let file = open(&mut files, name)?;
    let program = ProgramFile::of(&mut files, file)?;
    let ReadProgram { functions, .. } = program.read()?;
    let mut names: Vec<String> = functions.iter().map(|symbol| symbol.name.to_owned()).collect();
    names.sort_unstable();
    names.dedup();
    Ok((program.path, names))
}
