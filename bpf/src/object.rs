//! The ELF object that the loader reads: one section and one symbol for each program, `.text` with the functions of all,
//! a section `maps` of legacy definitions, a section for each global and constant, and type information where a program
//! has functions or a source.
//!
//! It is made for aya 0.14, of which these things matter: sections of programs have names of their own, because that is
//! how it finds their functions and lines; functions are in `.text` and referred to by relocations, because it drops what
//! it knows of functions elsewhere; globals are reached by section, and are known as `.bss.NAME`, `.data.NAME` and
//! `.rodata.NAME` ([`crate::ir::MapDefinition::object_name`]).

use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
    elf::{R_BPF_64_32, R_BPF_64_64},
    write::{Object, Relocation, RelocationFlags, SectionId, Symbol, SymbolId, SymbolSection},
};

use crate::{
    Code,
    btf::{ProgramTypes, SectionInfo, Types, extension},
    instruction::{Instruction, LD_IMM64, PSEUDO_MAP_VALUE},
    ir::{MapDefinition, MapKind},
};

/// Bytes of a legacy map definition: type, key, value, entries, flags.
const MAP_DEFINITION_BYTES: u64 = 20;
const INSTRUCTION_BYTES: u64 = 8;

/// An object that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// Two programs have one name.
    #[error("two programs have the name `{name}`")]
    Program {
        /// The name.
        name: String,
    },
    /// Two different maps have one name.
    #[error("two different maps have the name `{name}`")]
    Map {
        /// The name.
        name: String,
    },
    /// The file could not be written.
    #[error("writing the object file failed: {why}")]
    Write {
        /// Why.
        why: String,
    },
}

impl ObjectError {
    fn write(error: &dyn std::error::Error) -> Self {
        Self::Write { why: error.to_string() }
    }
}

/// An ELF object of programs and their maps, for the loader. Maps of one name are one map. The bytes are aligned as
/// the loader needs them.
///
/// # Errors
/// If names clash.
pub fn object(programs: &[&Code]) -> Result<Vec<u8>, ObjectError> {
    let maps = distinct_maps(programs)?;
    let mut file = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let symbols = add_maps(&mut file, &maps);
    let mut writer = ObjectWriter { file, maps, symbols, types: Types::new(), infos: Vec::new(), text: None };
    let mut names = std::collections::BTreeSet::new();
    for code in programs {
        if !names.insert(&code.name) {
            return Err(ObjectError::Program { name: code.name.clone() });
        }
        writer.program(code)?;
    }
    if programs.iter().any(|code| code.functions.len() > 1 || code.source.is_some()) {
        writer.type_information();
    }
    writer.file.write().map_err(|error| ObjectError::write(&error))
}

fn distinct_maps<'a>(programs: &[&'a Code]) -> Result<Vec<&'a MapDefinition>, ObjectError> {
    let mut maps = Vec::<&MapDefinition>::new();
    let mut known = std::collections::HashMap::<&str, &MapDefinition>::new();
    for map in programs.iter().flat_map(|code| &code.maps) {
        match known.get(map.name.as_str()) {
            Some(earlier) if *earlier == map => {}
            Some(_) => return Err(ObjectError::Map { name: map.name.clone() }),
            None => {
                known.insert(&map.name, map);
                maps.push(map);
            }
        }
    }
    Ok(maps)
}

fn add_maps(file: &mut Object<'_>, maps: &[&MapDefinition]) -> Vec<SymbolId> {
    let mut definitions = None;
    let mut add = |map: &&MapDefinition| {
        let name = map.name.clone().into_bytes();
        if map.kind.is_global() {
            return add_global(file, map, name);
        }
        let section =
            *definitions.get_or_insert_with(|| file.add_section(Vec::new(), b"maps".to_vec(), SectionKind::Data));
        let fields = [map.kind.number(), map.key_bytes, map.value_bytes, map.max_entries, map.flags];
        let bytes: Vec<u8> = fields.into_iter().flat_map(u32::to_le_bytes).collect();
        let value = file.append_section_data(section, &bytes, 4);
        file.add_symbol(symbol(name, value, MAP_DEFINITION_BYTES, SymbolKind::Data, section))
    };
    maps.iter().map(&mut add).collect()
}

fn add_global(file: &mut Object<'_>, map: &MapDefinition, name: Vec<u8>) -> SymbolId {
    let kind = match map.kind {
        MapKind::Constant => SectionKind::ReadOnlyData,
        _ if map.content.is_empty() => SectionKind::UninitializedData,
        _ => SectionKind::Data,
    };
    let section = file.add_section(Vec::new(), map.object_name().into_bytes(), kind);
    let bytes = u64::from(map.value_bytes);
    if kind == SectionKind::UninitializedData {
        file.append_section_bss(section, bytes, 8);
    } else {
        file.append_section_data(section, &map.content, 8);
    }
    file.add_symbol(symbol(name, 0, bytes, SymbolKind::Data, section))
}

fn symbol(name: Vec<u8>, value: u64, size: u64, kind: SymbolKind, section: SectionId) -> Symbol {
    let (scope, flags) = (SymbolScope::Dynamic, SymbolFlags::None);
    Symbol { name, value, size, kind, scope, weak: false, section: SymbolSection::Section(section), flags }
}

struct ObjectWriter<'a> {
    file: Object<'static>,
    maps: Vec<&'a MapDefinition>,
    symbols: Vec<SymbolId>,
    types: Types,
    infos: Vec<SectionInfo>,
    /// Where functions are, with its place in `infos`.
    text: Option<(SectionId, usize)>,
}

/// Where a function of a program has come to be.
struct PlacedFunction {
    section: SectionId,
    info: usize,
    offset: u64,
    symbol: SymbolId,
}

impl ObjectWriter<'_> {
    fn section(&mut self, name: &str) -> (SectionId, usize) {
        let section = self.file.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::Text);
        let name = self.types.strings.add(name);
        self.infos.push(SectionInfo { name, ..SectionInfo::default() });
        (section, self.infos.len() - 1)
    }

    fn program(&mut self, code: &Code) -> Result<(), ObjectError> {
        let mut placed = Vec::new();
        for (index, function) in code.functions.iter().enumerate() {
            let (section, info) = if index == 0 {
                self.section(&format!("{}/{}", code.kind.section(), code.name))
            } else if let Some(text) = self.text {
                text
            } else {
                let text = self.section(".text");
                self.text = Some(text);
                text
            };
            let range = code.instructions.get(function.start..function.end).unwrap_or_default();
            let bytes = instruction_bytes(code, function.start, range);
            let offset = self.file.append_section_data(section, &bytes, INSTRUCTION_BYTES);
            let name = function.name.clone().into_bytes();
            let symbol = symbol(name, offset, bytes.len() as u64, SymbolKind::Text, section);
            let symbol = self.file.add_symbol(symbol);
            placed.push(PlacedFunction { section, info, offset, symbol });
        }
        self.relocations(code, &placed)?;
        let types = self.types.program(code);
        self.describe(code, &placed, &types);
        Ok(())
    }

    fn relocations(&mut self, code: &Code, placed: &[PlacedFunction]) -> Result<(), ObjectError> {
        let by_name: std::collections::HashMap<&str, SymbolId> =
            self.maps.iter().zip(&self.symbols).map(|(map, symbol)| (map.name.as_str(), *symbol)).collect();
        let maps = code.map_references.iter().filter_map(|(at, map)| {
            let name = code.maps.get(map.index()).map(|map| map.name.as_str());
            Some((*at, *by_name.get(name?)?, R_BPF_64_64))
        });
        let functions = code.function_references.iter().filter_map(|(at, function)| {
            let wide = code.instructions.get(*at).is_some_and(|instruction| instruction.code == LD_IMM64);
            Some((*at, placed.get(*function)?.symbol, if wide { R_BPF_64_64 } else { R_BPF_64_32 }))
        });
        for (at, symbol, r_type) in maps.chain(functions) {
            let index = code.functions.partition_point(|function| function.end <= at);
            let (Some(function), Some(place)) = (code.functions.get(index), placed.get(index)) else { continue };
            let offset = place.offset + (at - function.start) as u64 * INSTRUCTION_BYTES;
            let relocation = Relocation { offset, symbol, addend: 0, flags: RelocationFlags::Elf { r_type } };
            self.file.add_relocation(place.section, relocation).map_err(|error| ObjectError::write(&error))?;
        }
        Ok(())
    }

    /// Notes where functions and lines are, by their offsets in the sections.
    fn describe(&mut self, code: &Code, placed: &[PlacedFunction], types: &ProgramTypes) {
        let bytes = |count: u64| u32::try_from(count).unwrap_or(0);
        for (place, function) in placed.iter().zip(&types.functions) {
            if let Some(info) = self.infos.get_mut(place.info) {
                info.functions.push([bytes(place.offset), function.type_id]);
            }
        }
        for line in &types.lines {
            let at = line.instruction as usize;
            let index = code.functions.partition_point(|function| function.end <= at);
            let (Some(function), Some(place)) = (code.functions.get(index), placed.get(index)) else { continue };
            let offset = place.offset + (at - function.start) as u64 * INSTRUCTION_BYTES;
            if let Some(info) = self.infos.get_mut(place.info) {
                info.lines.push([bytes(offset), line.file, line.text, line.line_column]);
            }
        }
    }

    fn type_information(&mut self) {
        let extension = extension(&self.infos);
        for (name, bytes) in [(".BTF", self.types.bytes()), (".BTF.ext", extension)] {
            let section = self.file.add_section(Vec::new(), name.as_bytes().to_vec(), SectionKind::Metadata);
            self.file.append_section_data(section, &bytes, 4);
        }
    }
}

/// Instructions as they are in a section: the loader finds the offset in a global where others have the map.
fn instruction_bytes(code: &Code, start: usize, range: &[Instruction]) -> Vec<u8> {
    let mut instructions = range.to_vec();
    let first = code.map_references.partition_point(|(at, _)| *at < start);
    for (at, _map) in code.map_references.iter().skip(first).take_while(|(at, _)| *at < start + range.len()) {
        let at = at - start;
        let offset = instructions.get(at + 1).map_or(0, |second| second.imm);
        if let Some(instruction) = instructions.get_mut(at).filter(|first| first.src == PSEUDO_MAP_VALUE) {
            instruction.imm = offset;
        }
    }
    instructions.into_iter().flat_map(Instruction::bytes).collect()
}
