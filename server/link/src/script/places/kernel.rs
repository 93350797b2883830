//! The kernel's debug information: the file that has it, if that is on this host and is that of the kernel which runs, and the
//! variables at a place of one of its functions.

use std::{
    collections::BTreeSet,
    fs::File,
    io::Read as _,
    sync::{Mutex, PoisonError},
};

use bathyscope_bpf::lang::{AskedArguments, ast::AttachText};
use bathyscope_capture::{ProgramData, visible};
use bathyscope_catalog::elf::{CodePlace, ElfFile, ProgramDebug};
use bathyscope_plan::UserPlaces;
use bathyscope_protocol::KernelFile;
use bathyscope_symbols::{build_id_of_notes, build_id_text};

use super::{
    file::FileVersion,
    functions::number,
    program::{ProgramFile, decompressed_debug, open_program},
};
use crate::ScriptAgent;

/// The most bytes of the kernel's notes.
const MAX_NOTES_BYTES: u64 = 64 << 10;

/// Where distributions and builds put the file with the kernel's debug information, the surest first.
fn candidates(release: &str, build_id: &str) -> Vec<String> {
    let by_id =
        build_id.split_at_checked(2).map(|(first, rest)| format!("/usr/lib/debug/.build-id/{first}/{rest}.debug"));
    let others = [
        format!("/usr/lib/debug/boot/vmlinux-{release}"),
        format!("/usr/lib/debug/lib/modules/{release}/vmlinux"),
        format!("/lib/modules/{release}/build/vmlinux"),
        format!("/boot/vmlinux-{release}"),
    ];
    by_id.into_iter().chain(others).collect()
}

/// The build id of the kernel that runs; empty if it cannot be read.
fn running_build(agent: &mut impl ScriptAgent) -> String {
    let mut notes = Vec::new();
    let Ok(file) = agent.call(|client| client.open_kernel_file(KernelFile::Notes)) else { return String::new() };
    match File::from(file).take(MAX_NOTES_BYTES).read_to_end(&mut notes) {
        Ok(_count) => build_id_of_notes(&notes).map(build_id_text).unwrap_or_default(),
        Err(_) => String::new(),
    }
}

/// The file with the debug information of the kernel that runs. `what` needs it: `source lines of the kernel need`.
///
/// # Errors
/// In words, if it is not on this host, or is of another build.
pub(crate) fn open_kernel_debug(agent: &mut impl ScriptAgent, what: &str) -> Result<ProgramFile, String> {
    let release = visible(rustix::system::uname().release().to_bytes());
    let build_id = running_build(agent);
    let mut other_build = None;
    for path in candidates(&release, &build_id) {
        let Ok(program) = open_program(agent, &path, None) else { continue };
        let elf = ElfFile::parse(&program.file).map_err(|error| format!("{path}: {error}"))?;
        let own: Option<String> = elf.build_id().map(|id| build_id_text(&id));
        if own.is_some_and(|own| own == build_id) {
            return Ok(program);
        }
        other_build.get_or_insert(path);
    }
    Err(match other_build {
        Some(path) => format!(
            "{path} is of another build of the kernel than the one that runs ({build_id}); install the debug information of \
             {release}"
        ),
        None => format!(
            "the debug information of the kernel {release} is not on this host, which {what}; install \
             linux-image-{release}-dbg (Debian, Ubuntu: -dbgsym) or kernel-debuginfo (Fedora, RHEL), or put its vmlinux at \
             /usr/lib/debug/boot/vmlinux-{release}"
        ),
    })
}

/// What debug information says of the variables at a place of the kernel (`vfs_read`, `vfs_read+45`), which a script asks for, or
/// why it says nothing.
pub(super) fn kernel_places(agent: &mut impl ScriptAgent, point: &AttachText, asked: &AskedArguments) -> UserPlaces {
    let parts: Vec<&str> = point.parts.iter().skip(1).map(|part| part.text.as_str()).collect();
    let wanted = (!asked.all).then_some(&asked.names);
    let mut found = UserPlaces { point: point.text.clone(), ..UserPlaces::default() };
    match kernel_variables(agent, &parts, wanted) {
        Ok(data) => found.data = data,
        Err(why) => found.data_missing = why,
    }
    found
}

/// What debug information says of the variables at a place of the kernel. `parts` are what follows `kprobe:`.
///
/// # Errors
/// In words, if it says nothing.
pub(crate) fn kernel_variables(
    agent: &mut impl ScriptAgent,
    parts: &[&str],
    wanted: Option<&BTreeSet<String>>,
) -> Result<ProgramData, String> {
    let place = match parts {
        [place] | ["vmlinux", place] => *place,
        [module, _] => return Err(format!("variables of functions of modules, such as {module}, are not read")),
        _ => return Err("variables are read at a place of one function".to_owned()),
    };
    let program = open_kernel_debug(agent, "variables of the kernel need")?;
    let key = ReadPlace { version: program.file.version(), place: place.to_owned(), wanted: wanted.cloned() };
    if let Some(known) = kept(&key) {
        return Ok(known);
    }
    let elf = ElfFile::parse(&program.file).map_err(|error| format!("{}: {error}", program.path))?;
    let data = variables_in(&elf, place, wanted).map_err(|why| format!("{}: {why}", program.path))?;
    let mut all = READ.lock().unwrap_or_else(PoisonError::into_inner);
    all.truncate(MAX_KEPT - 1);
    all.insert(0, (key, data.clone()));
    Ok(data)
}

/// What was read of the kernel's debug information, the latest first: a script is checked with each letter that is typed.
static READ: Mutex<Vec<(ReadPlace, ProgramData)>> = Mutex::new(Vec::new());
/// The most places that are kept.
const MAX_KEPT: usize = 8;

/// What of a file was read.
#[derive(PartialEq, Eq)]
struct ReadPlace {
    version: FileVersion,
    place: String,
    wanted: Option<BTreeSet<String>>,
}

fn kept(key: &ReadPlace) -> Option<ProgramData> {
    let all = READ.lock().unwrap_or_else(PoisonError::into_inner);
    all.iter().find(|(known, _)| known == key).map(|(_, data)| data.clone())
}

/// The variables at a place of a file with debug information.
fn variables_in(elf: &ElfFile<'_>, place: &str, wanted: Option<&BTreeSet<String>>) -> Result<ProgramData, String> {
    let (name, offset) = match place.split_once('+') {
        None => (place, 0),
        Some((name, digits)) => (name, number(digits).ok_or_else(|| format!("`{digits}` is no number of bytes"))?),
    };
    let functions = elf.functions().map_err(|error| error.to_string())?;
    let named = functions.named(name);
    let function = match named.as_slice() {
        [one] => one,
        [] => return Err(format!("there is no function `{name}`")),
        several => {
            return Err(format!(
                "{} functions have the name `{name}`, so its variables are not certain",
                several.len()
            ));
        }
    };
    if offset >= function.bytes.max(1) {
        return Err(format!("`{name}` has {} bytes; {offset} is behind its end", function.bytes));
    }
    let address = function.address.saturating_add(offset);
    let debug = ProgramDebug::open_at(elf, address, &decompressed_debug).map_err(|error| error.to_string())?;
    let told = debug.at(elf, CodePlace { address, at_begin: offset == 0 }, wanted);
    let told = told.ok_or_else(|| format!("its debug information does not describe `{name}`"))?;
    let mut data = ProgramData::default();
    data.add(told.types, told.variables);
    Ok(data)
}

#[cfg(test)]
mod tests;
