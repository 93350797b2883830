//! Parameters and results of functions with their types, by debug information, and in which registers the calling convention
//! passes them. What the convention does not tell for certain is said to be unknown.

use gimli::{
    AttributeValue, DwAt, DwTag, Dwarf, EndianSlice, LittleEndian, SectionId, UnitOffset, UnitRef, constants as dw,
};

use super::{Decompress, ElfError, ElfFile};
use crate::constants::Arch;

/// Types within types that are looked at.
const MAX_TYPE_DEPTH: usize = 16;
/// The most parameters of a function.
const MAX_PARAMETERS: usize = 64;
/// Bytes up to which a struct may be in registers.
const MAX_IN_REGISTERS: u64 = 16;

/// A function as its debug information describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionParameters {
    /// Its parameters, in order.
    pub parameters: Vec<FunctionParameter>,
    /// What it returns; none if that is nothing.
    pub returns: Option<ParameterType>,
    /// Whether others call it: of a function that only its own file calls, an optimising compiler may pass less.
    pub is_external: bool,
}

/// A parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionParameter {
    /// Its name; empty if it has none.
    pub name: String,
    /// Its type.
    pub ty: ParameterType,
    /// The first of the registers of whole numbers that it is in, counted from 0; none if it is elsewhere, or that is unknown.
    pub register: Option<u8>,
}

/// A type, as far as probes can read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParameterType {
    /// As people write it.
    pub text: String,
    /// Its size.
    pub bytes: Option<u64>,
    /// What it is.
    pub kind: ParameterKind,
}

/// What a parameter is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParameterKind {
    /// A number with a sign.
    Signed,
    /// A number without one, or an enum.
    Unsigned,
    /// True or false.
    Boolean,
    /// An address.
    Pointer {
        /// Whether characters are there.
        of_text: bool,
    },
    /// An address and how many elements are there, as Rust passes a `&str` or slice.
    Slice,
    /// An address and that of a table of functions, as Rust passes a `&dyn Trait`.
    Object,
    /// A floating-point number.
    Float,
    /// A struct, union or array.
    Aggregate,
    /// Something else.
    Other,
}

/// Who made the code: conventions differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceLanguage {
    C,
    Cpp,
    Rust,
}

pub(super) type Bytes<'a> = EndianSlice<'a, LittleEndian>;

impl FunctionParameters {
    /// Reads what debug information says of the function that begins at an address; none if it says nothing.
    ///
    /// # Errors
    /// If a section of it is damaged or too large.
    pub fn read(elf: &ElfFile<'_>, address: u64, decompress: Decompress<'_>) -> Result<Option<Self>, ElfError> {
        const SECTIONS: [SectionId; 9] = [
            SectionId::DebugAbbrev,
            SectionId::DebugAddr,
            SectionId::DebugInfo,
            // Reading a unit reads the head of its lines.
            SectionId::DebugLine,
            SectionId::DebugLineStr,
            SectionId::DebugRanges,
            SectionId::DebugRngLists,
            SectionId::DebugStr,
            SectionId::DebugStrOffsets,
        ];
        let sections = elf.dwarf_sections(&SECTIONS, decompress)?;
        let dwarf = sections.borrow(|bytes| EndianSlice::new(bytes, LittleEndian));
        Ok(function_at(&dwarf, address).map(|mut function| {
            function.place(elf.arch());
            function.told
        }))
    }
}

/// The function at an address, before it is known where its parameters are.
struct FoundFunction {
    told: FunctionParameters,
    language: SourceLanguage,
}

fn function_at(dwarf: &Dwarf<Bytes<'_>>, address: u64) -> Option<FoundFunction> {
    let mut units = dwarf.units();
    while let Ok(Some(header)) = units.next() {
        let Ok(unit) = dwarf.unit(header) else { continue };
        let unit = unit.unit_ref(dwarf);
        if !may_hold(&unit, address) {
            continue;
        }
        let mut entries = unit.entries();
        while let Ok(Some(entry)) = entries.next_dfs() {
            let begins = || unit.attr_address(entry.attr_value(dw::DW_AT_low_pc)?).ok().flatten();
            if entry.tag() == dw::DW_TAG_subprogram && begins() == Some(address) {
                let reading = UnitReading { unit, language: language_of(&unit) };
                return Some(reading.function(entry.offset()));
            }
        }
    }
    None
}

/// Whether a unit has code at an address, as far as it tells.
pub(super) fn may_hold(unit: &UnitRef<'_, Bytes<'_>>, address: u64) -> bool {
    let Ok(mut ranges) = unit.unit_ranges() else { return true };
    let mut any = false;
    while let Ok(Some(range)) = ranges.next() {
        any = true;
        if (range.begin..range.end).contains(&address) {
            return true;
        }
    }
    !any
}

pub(super) fn language_of(unit: &UnitRef<'_, Bytes<'_>>) -> SourceLanguage {
    let mut entries = unit.entries();
    let root = entries.next_dfs().ok().flatten();
    match root.and_then(|root| root.attr_value(dw::DW_AT_language)) {
        Some(AttributeValue::Language(dw::DW_LANG_Rust)) => SourceLanguage::Rust,
        Some(AttributeValue::Language(
            dw::DW_LANG_C | dw::DW_LANG_C89 | dw::DW_LANG_C99 | dw::DW_LANG_C11 | dw::DW_LANG_C17,
        )) => SourceLanguage::C,
        // Of others no more is certain than of C++.
        _ => SourceLanguage::Cpp,
    }
}

pub(super) struct UnitReading<'u, 'b> {
    pub(super) unit: UnitRef<'u, Bytes<'b>>,
    pub(super) language: SourceLanguage,
}

impl<'b> UnitReading<'_, 'b> {
    pub(super) fn attribute(&self, at: UnitOffset, name: DwAt) -> Option<AttributeValue<Bytes<'b>>> {
        self.unit.entry(at).ok()?.attr_value(name)
    }

    pub(super) fn refers(&self, at: UnitOffset, name: DwAt) -> Option<UnitOffset> {
        match self.attribute(at, name)? {
            AttributeValue::UnitRef(to) => Some(to),
            // In another unit, which whole-program optimisation makes.
            AttributeValue::DebugInfoRef(to) => to.to_unit_offset(&self.unit.header),
            _ => None,
        }
    }

    pub(super) fn tag(&self, at: UnitOffset) -> Option<DwTag> {
        self.unit.entry(at).ok().map(|entry| entry.tag())
    }

    /// The entry itself, then those that say what it does not.
    pub(super) fn origins(&self, at: UnitOffset) -> Vec<UnitOffset> {
        let mut found = vec![at];
        while let Some(next) = found.last().copied().filter(|_| found.len() < 4).and_then(|last| {
            self.refers(last, dw::DW_AT_abstract_origin).or_else(|| self.refers(last, dw::DW_AT_specification))
        }) {
            found.push(next);
        }
        found
    }

    pub(super) fn name(&self, at: UnitOffset) -> Option<String> {
        let value = self.origins(at).into_iter().find_map(|at| self.attribute(at, dw::DW_AT_name))?;
        let text = self.unit.attr_string(value).ok()?;
        String::from_utf8(text.slice().to_vec()).ok()
    }

    /// The type that an entry has; none for none.
    pub(super) fn type_of(&self, at: UnitOffset) -> Option<UnitOffset> {
        self.origins(at).into_iter().find_map(|at| self.refers(at, dw::DW_AT_type))
    }

    /// The parameters of the function that is described there, with the registers that the convention passes them in.
    pub(super) fn placed(&self, at: UnitOffset, arch: Arch) -> Vec<FunctionParameter> {
        let mut function = self.function(at);
        function.place(arch);
        function.told.parameters
    }

    fn function(&self, at: UnitOffset) -> FoundFunction {
        let origins = self.origins(at);
        let own = origins.iter().map(|at| self.parameters(*at)).find(|found| !found.is_empty()).unwrap_or_default();
        let is_external = origins
            .iter()
            .any(|at| matches!(self.attribute(*at, dw::DW_AT_external), Some(AttributeValue::Flag(true))));
        let returns = self.type_of(at).map(|ty| self.described(ty, 0));
        FoundFunction { told: FunctionParameters { parameters: own, returns, is_external }, language: self.language }
    }

    fn parameters(&self, at: UnitOffset) -> Vec<FunctionParameter> {
        let mut found = Vec::new();
        let Ok(mut tree) = self.unit.entries_tree(Some(at)) else { return found };
        let Ok(root) = tree.root() else { return found };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            if child.entry().tag() == dw::DW_TAG_formal_parameter && found.len() < MAX_PARAMETERS {
                let at = child.entry().offset();
                let ty = self.type_of(at).map_or_else(unknown, |ty| self.described(ty, 0));
                found.push(FunctionParameter { name: self.name(at).unwrap_or_default(), ty, register: None });
            }
        }
        found
    }

    fn described(&self, at: UnitOffset, depth: usize) -> ParameterType {
        let (Some(tag), true) = (self.tag(at), depth < MAX_TYPE_DEPTH) else { return unknown() };
        let number = |name| self.attribute(at, name).and_then(|value| value.udata_value());
        let inner = || self.refers(at, dw::DW_AT_type).map(|to| self.described(to, depth + 1));
        let name = self.name(at);
        let of = |text: String, bytes, kind| ParameterType { text, bytes, kind };
        match tag {
            dw::DW_TAG_base_type => {
                let kind = match self.attribute(at, dw::DW_AT_encoding) {
                    Some(AttributeValue::Encoding(dw::DW_ATE_boolean)) => ParameterKind::Boolean,
                    Some(AttributeValue::Encoding(dw::DW_ATE_signed | dw::DW_ATE_signed_char)) => ParameterKind::Signed,
                    Some(AttributeValue::Encoding(
                        dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF | dw::DW_ATE_address,
                    )) => ParameterKind::Unsigned,
                    Some(AttributeValue::Encoding(dw::DW_ATE_float)) => ParameterKind::Float,
                    _ => ParameterKind::Other,
                };
                of(name.unwrap_or_default(), number(dw::DW_AT_byte_size), kind)
            }
            dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
                let of_text = self.leads_to_text(at);
                let to = inner().map_or_else(|| "void".to_owned(), |inner| inner.text);
                let sign = if tag == dw::DW_TAG_pointer_type { "*" } else { "&" };
                of(name.unwrap_or_else(|| format!("{to} {sign}")), Some(8), ParameterKind::Pointer { of_text })
            }
            dw::DW_TAG_const_type | dw::DW_TAG_volatile_type | dw::DW_TAG_restrict_type | dw::DW_TAG_atomic_type => {
                let word = match tag {
                    dw::DW_TAG_const_type => "const ",
                    dw::DW_TAG_volatile_type => "volatile ",
                    _ => "",
                };
                let inner = inner().unwrap_or_else(|| of("void".to_owned(), None, ParameterKind::Other));
                ParameterType { text: format!("{word}{}", inner.text), ..inner }
            }
            dw::DW_TAG_typedef => {
                let inner = inner().unwrap_or_else(unknown);
                ParameterType { text: name.unwrap_or_else(|| inner.text.clone()), ..inner }
            }
            dw::DW_TAG_enumeration_type => {
                let kind = inner().map_or(ParameterKind::Unsigned, |inner| inner.kind);
                let text = name.map_or_else(|| "enum".to_owned(), |name| format!("enum {name}"));
                of(text, number(dw::DW_AT_byte_size), kind)
            }
            dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                let bytes = number(dw::DW_AT_byte_size);
                let text = name.unwrap_or_else(|| "struct".to_owned());
                let is_pair =
                    self.language == SourceLanguage::Rust && bytes == Some(16) && text.starts_with(['&', '*']);
                let kind = match (is_pair, text.contains("dyn ")) {
                    (true, true) => ParameterKind::Object,
                    (true, false) => ParameterKind::Slice,
                    (false, _) => ParameterKind::Aggregate,
                };
                of(text, bytes, kind)
            }
            dw::DW_TAG_array_type => of("array".to_owned(), number(dw::DW_AT_byte_size), ParameterKind::Aggregate),
            _ => of(name.unwrap_or_default(), number(dw::DW_AT_byte_size), ParameterKind::Other),
        }
    }

    /// Whether a pointer's target is a character.
    fn leads_to_text(&self, pointer: UnitOffset) -> bool {
        let mut at = self.refers(pointer, dw::DW_AT_type);
        for _step in 0..MAX_TYPE_DEPTH {
            let Some(here) = at else { return false };
            match self.tag(here) {
                Some(dw::DW_TAG_const_type | dw::DW_TAG_volatile_type | dw::DW_TAG_typedef) => {
                    at = self.refers(here, dw::DW_AT_type);
                }
                Some(dw::DW_TAG_base_type) => {
                    return matches!(
                        self.attribute(here, dw::DW_AT_encoding),
                        Some(AttributeValue::Encoding(dw::DW_ATE_signed_char | dw::DW_ATE_unsigned_char))
                    );
                }
                _ => return false,
            }
        }
        false
    }
}

fn unknown() -> ParameterType {
    ParameterType { text: "?".to_owned(), bytes: None, kind: ParameterKind::Other }
}

impl FoundFunction {
    /// Says in which registers the parameters are, as far as that is certain.
    fn place(&mut self, arch: Arch) {
        let registers: u8 = if arch == Arch::Aarch64 { 8 } else { 6 };
        let mut next = self.first_register(arch);
        for parameter in &mut self.told.parameters {
            let Some(at) = next else { return };
            let taken = taken(&parameter.ty, self.language, arch);
            let fits = |count: u8| at.checked_add(count).is_some_and(|end| end <= registers);
            parameter.register = taken.filter(|count| *count > 0 && fits(*count)).map(|_| at);
            // Of an address with a length the first may be in the last register, and the second in memory.
            next = taken.map(|count| if fits(count) { at + count } else { registers });
        }
    }

    /// The first register that a parameter may be in: the address of a large result goes before.
    fn first_register(&self, arch: Arch) -> Option<u8> {
        let Some(ParameterType { kind: ParameterKind::Aggregate, bytes, .. }) = &self.told.returns else {
            return Some(0);
        };
        match (bytes, self.language, arch) {
            // Where it is put is in a register of its own.
            (_, SourceLanguage::C, Arch::Aarch64) => Some(0),
            (Some(bytes), SourceLanguage::C, Arch::X86_64) => Some(u8::from(*bytes > MAX_IN_REGISTERS)),
            // What versions of Rust do with two words differs.
            (Some(..=8), SourceLanguage::Rust, Arch::X86_64) => Some(0),
            (Some(bytes), SourceLanguage::Rust, Arch::X86_64) if *bytes > MAX_IN_REGISTERS => Some(1),
            _ => None,
        }
    }
}

/// How many registers of whole numbers a parameter takes; none if that is not certain.
fn taken(ty: &ParameterType, language: SourceLanguage, arch: Arch) -> Option<u8> {
    match (ty.kind, ty.bytes) {
        (ParameterKind::Signed | ParameterKind::Unsigned | ParameterKind::Boolean, Some(..=8)) => Some(1),
        (ParameterKind::Pointer { .. }, _) => Some(1),
        (ParameterKind::Slice | ParameterKind::Object, _) => Some(2),
        (ParameterKind::Float, Some(..=8)) => Some(0),
        (ParameterKind::Aggregate, Some(0)) if language == SourceLanguage::Rust => Some(0),
        (ParameterKind::Aggregate, Some(bytes)) if bytes > MAX_IN_REGISTERS => match (language, arch) {
            // By its address, or on the stack.
            (SourceLanguage::Rust, _) | (SourceLanguage::C, Arch::Aarch64) => Some(1),
            (SourceLanguage::C, Arch::X86_64) => Some(0),
            (SourceLanguage::Cpp, _) => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(kind: ParameterKind, bytes: u64) -> ParameterType {
        ParameterType { text: String::new(), bytes: Some(bytes), kind }
    }

    fn places(language: SourceLanguage, returns: Option<ParameterType>, types: &[ParameterType]) -> Vec<Option<u8>> {
        let parameter = |ty: &ParameterType| FunctionParameter { name: String::new(), ty: ty.clone(), register: None };
        let parameters = types.iter().map(parameter).collect();
        let told = FunctionParameters { parameters, returns, is_external: true };
        let mut function = FoundFunction { told, language };
        function.place(Arch::X86_64);
        function.told.parameters.iter().map(|parameter| parameter.register).collect()
    }

    #[test]
    fn parameters_are_where_the_convention_passes_them() {
        use ParameterKind::{Aggregate, Float, Pointer, Signed, Slice, Unsigned};
        use SourceLanguage::{C, Cpp, Rust};
        let (int, long) = (ty(Signed, 4), ty(Unsigned, 8));
        let text = ty(Pointer { of_text: true }, 8);
        let plain = [int.clone(), text.clone(), ty(Float, 8), long.clone()];
        assert_eq!(places(C, None, &plain), [Some(0), Some(1), None, Some(2)]);
        assert_eq!(
            places(C, Some(ty(Aggregate, 24)), &plain[..2]),
            [Some(1), Some(2)],
            "the result's address is first"
        );
        assert_eq!(places(C, Some(ty(Aggregate, 16)), &plain[..2]), [Some(0), Some(1)]);
        assert_eq!(places(Rust, Some(ty(Aggregate, 8)), &plain[..1]), [Some(0)]);
        assert_eq!(places(Rust, Some(ty(Aggregate, 16)), &plain[..1]), [None]);
        assert_eq!(places(Rust, Some(ty(Aggregate, 24)), &plain[..1]), [Some(1)]);
        assert_eq!(places(Cpp, Some(ty(Aggregate, 16)), &plain[..2]), [None, None]);
        assert_eq!(places(C, None, &[ty(Aggregate, 24), int.clone()]), [None, Some(0)], "on the stack");
        assert_eq!(places(C, None, &[int.clone(), ty(Aggregate, 16), int.clone()]), [Some(0), None, None]);
        assert_eq!(
            places(Rust, None, &[ty(Slice, 16), int.clone(), ty(Aggregate, 24), long]),
            [Some(0), Some(2), Some(3), Some(4)]
        );
        assert_eq!(places(C, None, &vec![int; 8])[5..], [Some(5), None, None]);
        let slices = vec![ty(Slice, 16); 3];
        assert_eq!(places(Rust, None, &[vec![text], slices].concat()), [Some(0), Some(1), Some(3), None]);
    }
}
