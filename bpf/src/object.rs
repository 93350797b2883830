//! The ELF object that the loader reads: one section and one symbol for each program, and a section `maps` of legacy
//! definitions. No BTF is needed for that.

use object::{
    Architecture, BinaryFormat, Endianness, SectionKind, SymbolFlags, SymbolKind, SymbolScope,
    elf::R_BPF_64_64,
    write::{Object, Relocation, RelocationFlags, Symbol, SymbolId, SymbolSection},
};

use crate::{Code, ir::MapDefinition};

/// Bytes of a legacy map definition: type, key, value, entries, flags.
const MAP_DEFINITION_BYTES: u64 = 20;

/// An object that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ObjectError {
    /// Two programs have one name.
    #[error("two programs are called `{name}`")]
    Program {
        /// The name.
        name: String,
    },
    /// Two different maps have one name.
    #[error("two different maps are called `{name}`")]
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
    let mut file = Object::new(BinaryFormat::Elf, Architecture::Bpf, Endianness::Little);
    let licence = file.add_section(Vec::new(), b"license".to_vec(), SectionKind::Data);
    file.append_section_data(licence, b"GPL\0", 1);
    let maps = distinct_maps(programs)?;
    let symbols = add_maps(&mut file, &maps);
    for (index, code) in programs.iter().enumerate() {
        if programs.iter().take(index).any(|earlier| earlier.name == code.name) {
            return Err(ObjectError::Program { name: code.name.clone() });
        }
        add_program(&mut file, code, &maps, &symbols)?;
    }
    file.write().map_err(|error| ObjectError::write(&error))
}

fn distinct_maps<'a>(programs: &[&'a Code]) -> Result<Vec<&'a MapDefinition>, ObjectError> {
    let mut maps = Vec::<&MapDefinition>::new();
    for map in programs.iter().flat_map(|code| &code.maps) {
        match maps.iter().find(|earlier| earlier.name == map.name) {
            Some(earlier) if *earlier == map => {}
            Some(_) => return Err(ObjectError::Map { name: map.name.clone() }),
            None => maps.push(map),
        }
    }
    Ok(maps)
}

fn add_maps(file: &mut Object<'_>, maps: &[&MapDefinition]) -> Vec<SymbolId> {
    let section = file.add_section(Vec::new(), b"maps".to_vec(), SectionKind::Data);
    let mut add = |map: &&MapDefinition| {
        let fields = [map.kind as u32, map.key_bytes, map.value_bytes, map.max_entries, 0];
        let bytes: Vec<u8> = fields.into_iter().flat_map(u32::to_le_bytes).collect();
        let value = file.append_section_data(section, &bytes, 4);
        let name = map.name.clone().into_bytes();
        let section = SymbolSection::Section(section);
        file.add_symbol(symbol(name, value, MAP_DEFINITION_BYTES, SymbolKind::Data, section))
    };
    maps.iter().map(&mut add).collect()
}

fn add_program(
    file: &mut Object<'_>,
    code: &Code,
    maps: &[&MapDefinition],
    symbols: &[SymbolId],
) -> Result<(), ObjectError> {
    let section = file.add_section(Vec::new(), code.kind.section().as_bytes().to_vec(), SectionKind::Text);
    let bytes: Vec<u8> = code.instructions.iter().flat_map(|instruction| instruction.bytes()).collect();
    let value = file.append_section_data(section, &bytes, 8);
    let name = code.name.clone().into_bytes();
    let place = SymbolSection::Section(section);
    file.add_symbol(symbol(name, value, bytes.len() as u64, SymbolKind::Text, place));
    for (index, map) in &code.map_references {
        let name = code.maps.get(map.index()).map(|map| &map.name);
        let found = maps.iter().zip(symbols).find(|(map, _symbol)| Some(&map.name) == name);
        let Some((_, symbol)) = found else { continue };
        let flags = RelocationFlags::Elf { r_type: R_BPF_64_64 };
        let relocation = Relocation { offset: value + *index as u64 * 8, symbol: *symbol, addend: 0, flags };
        file.add_relocation(section, relocation).map_err(|error| ObjectError::write(&error))?;
    }
    Ok(())
}

fn symbol(name: Vec<u8>, value: u64, size: u64, kind: SymbolKind, section: SymbolSection) -> Symbol {
    let (scope, flags) = (SymbolScope::Dynamic, SymbolFlags::None);
    Symbol { name, value, size, kind, scope, weak: false, section, flags }
}
