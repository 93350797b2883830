//! A script's maps and programs in the kernel.
//!
//! They are loaded from the compiler's own structures, without an object file in between: so one program can be loaded
//! for several targets, with the attach type that this kernel wants, and with what the verifier says about its lines.

use std::{
    ffi::CString,
    io,
    os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd},
    sync::Arc,
};

use bathyscope_bpf::{
    Code, ProgramTypes,
    ir::{MapDefinition, MapKind},
    type_info,
};
use bathyscope_plan::RING;
use bathyscope_protocol::{AgentError, AgentErrorKind};

use crate::{
    error::{failed, kind_of, words},
    memory::{MAX_MAP_BYTES, MIN_RING_BYTES},
    needs::Need,
    os::bpf::{
        maps::{self, MapShape},
        programs::{self, Load, ProgramRefusal},
    },
};

/// What an element of a hash takes beside its key and value, about.
const ELEMENT_BYTES: u64 = 64;
/// `src` of an instruction that loads the address of a map's value instead of the map.
const PSEUDO_MAP_VALUE: u8 = 2;

/// A map in the kernel.
#[derive(Debug)]
pub(super) struct Map {
    /// What it is.
    pub(super) definition: MapDefinition,
    /// Itself.
    pub(super) fd: OwnedFd,
}

/// What the programs of a script share: maps and type information.
#[derive(Debug)]
pub(super) struct Object {
    maps: Vec<Map>,
    types: Option<OwnedFd>,
    programs: Vec<ProgramTypes>,
    license: CString,
    /// Bytes that the maps may take.
    pub(super) map_bytes: u64,
}

/// What a program is loaded as.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct LoadAs<'a> {
    /// `enum bpf_prog_type`.
    pub(super) kind: u32,
    /// `enum bpf_attach_type`.
    pub(super) attach: u32,
    /// The type of its target.
    pub(super) target: u32,
    /// What the type is of, if not of the kernel itself.
    pub(super) module: Option<BorrowedFd<'a>>,
}

impl Object {
    /// Makes the maps of `codes`; maps of one name are one.
    pub(super) fn make(codes: &[Code], license: &str, cpus: u32, most_bytes: u64) -> Result<Self, AgentError> {
        let mut definitions = Vec::<&MapDefinition>::new();
        for map in codes.iter().flat_map(|code| &code.maps) {
            match definitions.iter().find(|known| known.name == map.name) {
                Some(known) if *known == map => {}
                Some(_other) => return Err(internal(format!("two different maps have the name `{}`", map.name))),
                None => definitions.push(map),
            }
        }
        // Whoever reads a script need not care whether it happens to say nothing.
        let silent = MapDefinition::ring(RING, MIN_RING_BYTES);
        if !definitions.iter().any(|map| map.name == RING) {
            definitions.push(&silent);
        }
        let map_bytes = definitions.iter().map(|map| bytes_of(map, cpus)).fold(0, u64::saturating_add);
        let most_bytes = most_bytes.min(MAX_MAP_BYTES);
        if map_bytes > most_bytes {
            let why = format!("they would take {} MiB, and {} MiB are the limit", map_bytes >> 20, most_bytes >> 20);
            let remedy = "Declare smaller maps (`let @name = hash(1000)`), set max_map_keys, or stop another capture.";
            return Err(failed(AgentErrorKind::Limit, "making the script's maps", why, remedy));
        }
        let maps = definitions.into_iter().map(|map| make_map(map, cpus)).collect::<Result<Vec<_>, _>>()?;
        let info = type_info(&codes.iter().collect::<Vec<_>>());
        // Only scripts with functions need it; what the verifier says is placed without it too.
        let types = match programs::load_types(&info.btf) {
            Ok(types) => Some(types),
            Err(error) => {
                tracing::debug!(%error, "the kernel does not take the type information of a script");
                None
            }
        };
        let license = CString::new(license).map_err(|_nul| internal("its licence has a NUL byte".to_owned()))?;
        Ok(Self { maps, types, programs: info.programs, license, map_bytes })
    }

    /// The map that the compiler called `name`.
    pub(super) fn map(&self, name: &str) -> Option<&Map> {
        self.maps.iter().find(|map| map.definition.name == name)
    }

    /// Loads `code`, the `index`-th program.
    pub(super) fn load(&self, index: usize, code: &Code, as_: LoadAs<'_>) -> Result<Arc<OwnedFd>, ProgramRefusal> {
        let bytes = self.linked(code).map_err(|error| ProgramRefusal { error, log: String::new() })?;
        let (functions, lines) = self.programs.get(index).map(records).unwrap_or_default();
        let types = self.types.as_ref().map(|types| programs::ProgramBtf {
            types: types.as_fd(),
            functions: &functions,
            lines: &lines,
        });
        programs::load(&Load {
            name: &code.name,
            kind: as_.kind,
            attach: as_.attach,
            target: as_.target,
            target_types: as_.module,
            code: &bytes,
            license: &self.license,
            types,
        })
        .map(Arc::new)
    }

    /// The instructions with the maps' descriptors put in.
    fn linked(&self, code: &Code) -> io::Result<Vec<u8>> {
        let mut instructions = code.instructions.clone();
        for (at, map) in &code.map_references {
            let map = code.maps.get(map.index()).and_then(|map| self.map(&map.name)).ok_or(io::ErrorKind::NotFound)?;
            let instruction = instructions.get_mut(*at).ok_or(io::ErrorKind::NotFound)?;
            instruction.src = if map.definition.kind.is_global() { PSEUDO_MAP_VALUE } else { instruction.src.max(1) };
            instruction.imm = map.fd.as_raw_fd();
        }
        Ok(instructions.iter().flat_map(|instruction| instruction.bytes()).collect())
    }
}

fn internal(why: String) -> AgentError {
    failed(AgentErrorKind::Internal, "loading the script", why, "Report this as a defect.")
}

/// `struct bpf_func_info`s and `struct bpf_line_info`s.
fn records(types: &ProgramTypes) -> (Vec<u8>, Vec<u8>) {
    let functions = types.functions.iter().flat_map(|info| [info.instruction, info.type_id]);
    let lines = types.lines.iter().flat_map(|info| [info.instruction, info.file, info.text, info.line_column]);
    (functions.flat_map(u32::to_ne_bytes).collect(), lines.flat_map(u32::to_ne_bytes).collect())
}

/// Bytes that a map may take.
fn bytes_of(map: &MapDefinition, cpus: u32) -> u64 {
    if map.kind == MapKind::RingBuffer {
        return u64::from(map.max_entries);
    }
    let copies = if map.kind.is_per_cpu() { u64::from(cpus) } else { 1 };
    let overhead = if map.kind.is_array() { 0 } else { ELEMENT_BYTES + u64::from(map.key_bytes) };
    let value = u64::from(map.value_bytes).next_multiple_of(8).saturating_mul(copies);
    value.saturating_add(overhead).saturating_mul(u64::from(map.max_entries))
}

fn make_map(definition: &MapDefinition, cpus: u32) -> Result<Map, AgentError> {
    let constant = definition.kind == MapKind::Constant;
    let shape = MapShape {
        name: &definition.name,
        kind: definition.kind.number(),
        key_bytes: definition.key_bytes,
        value_bytes: definition.value_bytes,
        max_entries: definition.max_entries,
        flags: definition.flags | if constant { MapDefinition::READ_ONLY_PROGRAM } else { 0 },
    };
    let fd = maps::create(shape).map_err(|error| cannot_make(definition, cpus, &error))?;
    if definition.kind.is_global() && definition.content.len() == definition.value_bytes as usize {
        // SAFETY: an array's key has 4 bytes, and the content was just found to be as long as the value.
        let filled = unsafe { maps::update(fd.as_fd(), &[0; 4], &definition.content) };
        filled
            .and_then(|()| if constant { maps::freeze(fd.as_fd()) } else { Ok(()) })
            .map_err(|error| cannot_make(definition, cpus, &error))?;
    }
    Ok(Map { definition: definition.clone(), fd })
}

fn cannot_make(definition: &MapDefinition, cpus: u32, error: &io::Error) -> AgentError {
    let doing = format!("making the map `{}`", definition.name);
    let bytes = bytes_of(definition, cpus);
    let size = format!(
        "{} elements, keys of {} bytes, values of {}, {} KiB in all",
        definition.max_entries,
        definition.key_bytes,
        definition.value_bytes,
        bytes.div_ceil(1024)
    );
    let remedy = match kind_of(error) {
        AgentErrorKind::Denied => Need::Programs.remedy(),
        AgentErrorKind::Limit => "Declare it smaller, or set max_map_keys.".to_owned(),
        _ => String::new(),
    };
    let kind = if error.raw_os_error() == Some(libc::EINVAL) { AgentErrorKind::Limit } else { kind_of(error) };
    failed(kind, doing, format!("{} ({size})", words(error)), remedy)
}
