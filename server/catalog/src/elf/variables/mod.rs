//! Variables and parameters at a place of a program's code, by debug information: which there are, of which types, and where they
//! are when a probe is hit there. What a probe cannot read is told with the reason.

mod data;
mod frame;
mod location;

use std::collections::BTreeSet;

use bathyscope_capture::{DataType, ProgramVariable, VariablePlace};
use gimli::{
    AttributeValue, DebugInfoOffset, DebuggingInformationEntry, DwarfSections, EndianSlice, EntriesTreeNode,
    LittleEndian, SectionId, UnitOffset, UnitRef, constants as dw,
};

use self::{
    data::DataReading,
    frame::{MAX_FRAME_BYTES, canonical_frame, debug_frame},
    location::PlaceReading,
};
use super::{
    Decompress, ElfError, ElfFile,
    parameters::{Bytes, FunctionParameter, UnitReading, language_of, may_hold},
};
use crate::constants::Arch;

/// The most variables at one place.
const MAX_VARIABLES: usize = 256;
/// Scopes within each other.
const MAX_SCOPES: usize = 32;

/// The debug information of a file, ready to be asked.
pub struct ProgramDebug {
    sections: DwarfSections<Vec<u8>>,
    /// `.debug_frame`, which tells of frames where there is no `.eh_frame`.
    frames: Vec<u8>,
    is_empty: bool,
    /// Where the only unit is that was read; none if all were.
    unit: Option<usize>,
}

/// A place in a program's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePlace {
    /// Its address in the file's own numbering.
    pub address: u64,
    /// Whether it is where a function begins, or behind the mark for jumps there.
    pub at_begin: bool,
}

/// What debug information says of a place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlaceVariables {
    /// Types, which refer to each other by their numbers.
    pub types: Vec<DataType>,
    /// The variables that are in scope, parameters first; of several with one name the innermost.
    pub variables: Vec<ProgramVariable>,
}

impl ProgramDebug {
    /// Reads the sections of debug information of a program, or of the file that has what it was stripped of.
    ///
    /// # Errors
    /// If one is damaged or too large.
    pub fn open(elf: &ElfFile<'_>, decompress: Decompress<'_>) -> Result<Self, ElfError> {
        Self::read(elf, None, decompress)
    }

    /// The same for one address only: of the kernel's some hundred megabytes the unit that has it is read, where the file tells
    /// which that is.
    ///
    /// # Errors
    /// If a section is damaged or too large.
    pub fn open_at(elf: &ElfFile<'_>, address: u64, decompress: Decompress<'_>) -> Result<Self, ElfError> {
        Self::read(elf, elf.unit_at(address, decompress), decompress)
    }

    fn read(elf: &ElfFile<'_>, one: Option<(Vec<u8>, usize)>, decompress: Decompress<'_>) -> Result<Self, ElfError> {
        const SECTIONS: [SectionId; 11] = [
            SectionId::DebugInfo,
            SectionId::DebugAbbrev,
            SectionId::DebugAddr,
            SectionId::DebugLine,
            SectionId::DebugLineStr,
            SectionId::DebugLoc,
            SectionId::DebugLocLists,
            SectionId::DebugRanges,
            SectionId::DebugRngLists,
            SectionId::DebugStr,
            SectionId::DebugStrOffsets,
        ];
        let wanted = if one.is_some() { SECTIONS.get(1..).unwrap_or_default() } else { &SECTIONS };
        let mut sections = elf.dwarf_sections(wanted, decompress)?;
        let frames = elf.debug_section(b".debug_frame", MAX_FRAME_BYTES, decompress)?;
        let is_empty = elf.section(b".debug_info").is_none_or(|section| section.bytes == 0);
        let mut unit = None;
        if let Some((units, at)) = one {
            sections.debug_info = units.into();
            unit = Some(at);
        }
        Ok(Self { sections, frames, is_empty, unit })
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// The variables at a place of a program; none if no function is described there. Types are told of those variables only whose
    /// names are `wanted`, or of all.
    pub fn at(
        &self,
        program: &ElfFile<'_>,
        place: CodePlace,
        wanted: Option<&BTreeSet<String>>,
    ) -> Option<PlaceVariables> {
        let dwarf = self.sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
        let mut units = dwarf.units();
        let mut only = self.unit.map(|at| dwarf.debug_info.header_from_offset(DebugInfoOffset(at)).ok());
        let mut next = || match &mut only {
            Some(only) => only.take(),
            None => units.next().ok().flatten(),
        };
        while let Some(header) = next() {
            let Ok(unit) = dwarf.unit(header) else { continue };
            let unit = unit.unit_ref(&dwarf);
            if may_hold(&unit, place.address)
                && let Some((function, begin)) = function_around(&unit, place.address)
            {
                let function = CodeFunction { at: function, begin };
                return Some(described(unit, (program, &self.frames), function, place, wanted));
            }
        }
        None
    }
}

/// A function of a unit.
#[derive(Clone, Copy)]
struct CodeFunction {
    at: UnitOffset,
    begin: u64,
}

/// The function that has an address, and where it begins.
fn function_around(unit: &UnitRef<'_, Bytes<'_>>, address: u64) -> Option<(UnitOffset, u64)> {
    let mut entries = unit.entries();
    while let Ok(Some(entry)) = entries.next_dfs() {
        if entry.tag() == dw::DW_TAG_subprogram && is_within(unit, entry, address) {
            let low = entry.attr_value(dw::DW_AT_low_pc).and_then(|low| unit.attr_address(low).ok().flatten());
            let first = || unit.die_ranges(entry).ok()?.next().ok()?.map(|range| range.begin);
            return Some((entry.offset(), low.filter(|low| *low != 0).or_else(first)?));
        }
    }
    None
}

/// Whether an entry's code has an address. What the linker has left out is at 0.
fn is_within<'b>(unit: &UnitRef<'_, Bytes<'b>>, entry: &DebuggingInformationEntry<Bytes<'b>>, address: u64) -> bool {
    let Ok(mut ranges) = unit.die_ranges(entry) else { return false };
    while let Ok(Some(range)) = ranges.next() {
        if range.begin != 0 && (range.begin..range.end).contains(&address) {
            return true;
        }
    }
    false
}

fn described(
    unit: UnitRef<'_, Bytes<'_>>,
    (program, debug_frames): (&ElfFile<'_>, &[u8]),
    function: CodeFunction,
    place: CodePlace,
    wanted: Option<&BTreeSet<String>>,
) -> PlaceVariables {
    let address = if place.at_begin { function.begin } else { place.address };
    let reading = UnitReading { unit, language: language_of(&unit) };
    // Go has registers of its own, which its debug information tells.
    let by_convention = if is_go(&unit) { Vec::new() } else { reading.placed(function.at, program.arch()) };
    let canonical = canonical_frame(program, address).or_else(|| debug_frame(debug_frames, address));
    let places = PlaceReading::new(&reading, program.arch(), canonical, function, CodePlace { address, ..place });
    let mut scopes = Scopes { places, found: Vec::new(), by_convention, arch: program.arch(), parameters: 0 };
    if let Ok(mut tree) = unit.entries_tree(Some(function.at))
        && let Ok(root) = tree.root()
    {
        scopes.walk(root, 0);
    }
    let mut types = DataReading::new(&reading);
    let mut variables = Vec::new();
    for found in scopes.found {
        let ty = found.ty.filter(|_| wanted.is_none_or(|wanted| wanted.contains(&found.name)));
        let variable =
            ProgramVariable { name: found.name, ty: types.number(ty), parameter: found.parameter, place: found.place };
        variables.push(variable);
    }
    PlaceVariables { types: types.all(), variables }
}

fn is_go(unit: &UnitRef<'_, Bytes<'_>>) -> bool {
    let mut entries = unit.entries();
    let root = entries.next_dfs().ok().flatten();
    let language = root.and_then(|root| root.attr_value(dw::DW_AT_language));
    matches!(language, Some(AttributeValue::Language(dw::DW_LANG_Go)))
}

/// A variable, before its type is read.
struct FoundVariable {
    name: String,
    ty: Option<UnitOffset>,
    parameter: bool,
    place: VariablePlace,
}

/// The scopes around a place.
struct Scopes<'r, 'u, 'b> {
    places: PlaceReading<'r, 'u, 'b>,
    found: Vec<FoundVariable>,
    by_convention: Vec<FunctionParameter>,
    arch: Arch,
    parameters: usize,
}

impl<'b> Scopes<'_, '_, 'b> {
    fn walk(&mut self, node: EntriesTreeNode<'_, '_, Bytes<'b>>, depth: usize) {
        let mut children = node.children();
        while let Ok(Some(child)) = children.next() {
            let entry = child.entry();
            let (at, tag) = (entry.offset(), entry.tag());
            match tag {
                dw::DW_TAG_formal_parameter | dw::DW_TAG_variable => {
                    self.variable(at, tag == dw::DW_TAG_formal_parameter, depth);
                }
                dw::DW_TAG_lexical_block | dw::DW_TAG_inlined_subroutine
                    if depth < MAX_SCOPES && is_within(&self.places.unit.unit, entry, self.places.address) =>
                {
                    self.walk(child, depth + 1);
                }
                _ => {}
            }
        }
    }

    fn variable(&mut self, at: UnitOffset, parameter: bool, depth: usize) {
        let own = (parameter && depth == 0).then(|| self.next_parameter());
        let Some(name) = self.places.unit.name(at).filter(|name| !name.is_empty()) else { return };
        let place = match own.flatten().filter(|_| self.places.at_begin) {
            Some(told) => self.places.parameter_at_begin(at, &told, self.arch),
            None => self.places.of(at),
        };
        let found = FoundVariable { ty: self.places.unit.type_of(at), name, parameter, place };
        // The innermost of several with one name is meant.
        if let Some(outer) = self.found.iter_mut().find(|known| known.name == found.name) {
            *outer = found;
        } else if self.found.len() < MAX_VARIABLES {
            self.found.push(found);
        }
    }

    /// What the convention says of the next parameter of the function itself.
    fn next_parameter(&mut self) -> Option<FunctionParameter> {
        self.parameters += 1;
        self.by_convention.get(self.parameters - 1).cloned()
    }
}
