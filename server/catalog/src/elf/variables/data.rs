//! Types of debug information as a table that refers to itself by numbers.

use std::collections::{HashMap, VecDeque};

use bathyscope_capture::{DataMember, DataType, IntegerMeaning};
use gimli::{AttributeValue, DwTag, EntriesTreeNode, UnitOffset, constants as dw};

use crate::elf::parameters::{Bytes, UnitReading};

/// The most types that are read for a place: the nearest first.
const MAX_READ_TYPES: usize = 1500;
/// The most members of a struct, and names of an enum.
const MAX_MEMBERS: usize = 1024;
/// The most dimensions of an array.
const MAX_DIMENSIONS: usize = 8;
/// Qualifiers of one type.
const MAX_QUALIFIERS: usize = 8;
/// Variants of an enum of Rust are within a part of the struct.
const MAX_VARIANT_DEPTH: usize = 2;

/// Reads types, those of variables before those that they lead to.
pub(super) struct DataReading<'r, 'u, 'b> {
    unit: &'r UnitReading<'u, 'b>,
    types: Vec<DataType>,
    numbers: HashMap<UnitOffset, u32>,
    waiting: VecDeque<(u32, UnitOffset)>,
}

impl<'r, 'u, 'b> DataReading<'r, 'u, 'b> {
    pub(super) fn new(unit: &'r UnitReading<'u, 'b>) -> Self {
        let types = vec![DataType::Void];
        Self { unit, types, numbers: HashMap::new(), waiting: VecDeque::new() }
    }

    /// The number that a type has, or will have when it is read.
    pub(super) fn number(&mut self, at: Option<UnitOffset>) -> u32 {
        let Some(at) = at.and_then(|at| self.unqualified(at)) else { return 0 };
        if let Some(known) = self.numbers.get(&at) {
            return *known;
        }
        let is_last = self.types.len() >= MAX_READ_TYPES;
        let number = self.push(DataType::Void);
        self.numbers.insert(at, number);
        if is_last {
            let name = self.unit.name(at).unwrap_or_else(|| "type".to_owned());
            self.set(number, DataType::Declared { name });
        } else {
            self.waiting.push_back((number, at));
        }
        number
    }

    /// All types that were asked for, and those that they lead to.
    pub(super) fn all(mut self) -> Vec<DataType> {
        while let Some((number, at)) = self.waiting.pop_front() {
            let ty = self.read(at);
            self.set(number, ty);
        }
        self.types
    }

    fn push(&mut self, ty: DataType) -> u32 {
        self.types.push(ty);
        u32::try_from(self.types.len() - 1).unwrap_or(0)
    }

    fn set(&mut self, number: u32, ty: DataType) {
        if let Some(place) = self.types.get_mut(number as usize) {
            *place = ty;
        }
    }

    /// The type behind `const` and the like.
    fn unqualified(&self, mut at: UnitOffset) -> Option<UnitOffset> {
        for _ in 0..MAX_QUALIFIERS {
            match self.unit.tag(at)? {
                dw::DW_TAG_const_type
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_restrict_type
                | dw::DW_TAG_atomic_type => at = self.unit.refers(at, dw::DW_AT_type)?,
                _ => return Some(at),
            }
        }
        None
    }

    fn value(&self, at: UnitOffset, name: gimli::DwAt) -> Option<u64> {
        self.unit.attribute(at, name).and_then(|value| value.udata_value())
    }

    fn is_declaration(&self, at: UnitOffset) -> bool {
        matches!(self.unit.attribute(at, dw::DW_AT_declaration), Some(AttributeValue::Flag(true)))
    }

    fn read(&mut self, at: UnitOffset) -> DataType {
        let inner = self.unit.refers(at, dw::DW_AT_type);
        let name = self.unit.name(at).unwrap_or_default();
        match self.unit.tag(at) {
            Some(dw::DW_TAG_base_type) => self.base(at, name),
            Some(dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type) => {
                DataType::Pointer { to: self.number(inner) }
            }
            Some(dw::DW_TAG_typedef) => DataType::Named { name, to: self.number(inner) },
            Some(dw::DW_TAG_enumeration_type) => self.enumeration(at, name),
            Some(tag @ (dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type)) => {
                self.record(at, tag, name)
            }
            Some(dw::DW_TAG_array_type) => self.array(at, inner),
            _ => DataType::Void,
        }
    }

    fn base(&mut self, at: UnitOffset, name: String) -> DataType {
        let bytes = self.value(at, dw::DW_AT_byte_size).and_then(|bytes| u8::try_from(bytes).ok()).unwrap_or(0);
        let Some(AttributeValue::Encoding(encoding)) = self.unit.attribute(at, dw::DW_AT_encoding) else {
            return DataType::Void;
        };
        let (signed, meaning) = match encoding {
            dw::DW_ATE_boolean => (false, IntegerMeaning::Boolean),
            dw::DW_ATE_signed => (true, IntegerMeaning::Number),
            dw::DW_ATE_signed_char => (true, IntegerMeaning::Character),
            dw::DW_ATE_unsigned_char if name.contains("char") => (false, IntegerMeaning::Character),
            dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char | dw::DW_ATE_UTF | dw::DW_ATE_address => {
                (false, IntegerMeaning::Number)
            }
            dw::DW_ATE_float => return DataType::Float { bytes },
            _ => return DataType::Void,
        };
        if !matches!(bytes, 1 | 2 | 4 | 8 | 16) {
            return DataType::Void;
        }
        let number = DataType::Integer { bytes, signed, meaning };
        if matches!(name.as_str(), "int" | "char" | "bool" | "_Bool" | "") {
            return number;
        }
        let to = self.push(number);
        DataType::Named { name, to }
    }

    fn enumeration(&mut self, at: UnitOffset, name: String) -> DataType {
        let bytes = self.value(at, dw::DW_AT_byte_size).and_then(|bytes| u8::try_from(bytes).ok());
        let mut constants = Vec::new();
        self.children(at, &mut |reading, child, tag| {
            if tag == dw::DW_TAG_enumerator && constants.len() < MAX_MEMBERS {
                let value = match reading.unit.attribute(child, dw::DW_AT_const_value) {
                    Some(AttributeValue::Sdata(value)) => Some(value),
                    other => other.and_then(|value| value.udata_value()).map(u64::cast_signed),
                };
                constants.extend(reading.unit.name(child).zip(value));
            }
        });
        let signed = constants.iter().any(|(_, value)| *value < 0);
        DataType::Enumeration {
            name,
            bytes: bytes.filter(|it| matches!(it, 1 | 2 | 4 | 8)).unwrap_or(4),
            signed,
            constants,
        }
    }

    fn array(&mut self, at: UnitOffset, element: Option<UnitOffset>) -> DataType {
        let mut counts = Vec::new();
        self.children(at, &mut |reading, child, tag| {
            if tag == dw::DW_TAG_subrange_type && counts.len() < MAX_DIMENSIONS {
                let count = reading.value(child, dw::DW_AT_count);
                let upper = || reading.value(child, dw::DW_AT_upper_bound).and_then(|last| last.checked_add(1));
                counts.push(count.or_else(upper).and_then(|count| u32::try_from(count).ok()).unwrap_or(0));
            }
        });
        let mut element = self.number(element);
        while let (Some(count), true) = (counts.last().copied(), counts.len() > 1) {
            counts.pop();
            element = self.push(DataType::Array { element, count });
        }
        DataType::Array { element, count: counts.first().copied().unwrap_or(0) }
    }

    fn record(&mut self, at: UnitOffset, tag: DwTag, name: String) -> DataType {
        let bytes = self.value(at, dw::DW_AT_byte_size).and_then(|bytes| u32::try_from(bytes).ok());
        let (Some(bytes), false) = (bytes, self.is_declaration(at)) else { return DataType::Declared { name } };
        let mut members = Vec::new();
        self.members(at, 0, &mut members);
        // What does not fit is no member of this object.
        members.retain(|member: &DataMember| member.bit_offset <= u64::from(bytes) * 8);
        DataType::Record { name, union: tag == dw::DW_TAG_union_type, bytes, members }
    }

    fn members(&mut self, at: UnitOffset, depth: usize, members: &mut Vec<DataMember>) {
        self.children(at, &mut |reading, child, tag| match tag {
            dw::DW_TAG_member | dw::DW_TAG_inheritance if members.len() < MAX_MEMBERS => {
                members.extend(reading.member(child, tag == dw::DW_TAG_inheritance));
            }
            dw::DW_TAG_variant_part | dw::DW_TAG_variant if depth < MAX_VARIANT_DEPTH => {
                reading.members(child, depth + 1, members);
            }
            _ => {}
        });
    }

    /// A member; none of one that is not in the object.
    fn member(&mut self, at: UnitOffset, is_base: bool) -> Option<DataMember> {
        if matches!(self.unit.attribute(at, dw::DW_AT_external), Some(AttributeValue::Flag(true))) {
            return None;
        }
        let bytes = match self.unit.attribute(at, dw::DW_AT_data_member_location) {
            None => 0,
            Some(value) => value.udata_value()?,
        };
        let bits =
            self.value(at, dw::DW_AT_bit_size).and_then(|bits| u32::try_from(bits).ok()).filter(|bits| *bits > 0);
        let inner = self.unit.refers(at, dw::DW_AT_type);
        let bit_offset = match (self.value(at, dw::DW_AT_data_bit_offset), self.value(at, dw::DW_AT_bit_offset), bits) {
            (Some(offset), _, _) => offset,
            // Counted from the most significant bit of what holds it.
            (None, Some(before), Some(bits)) => {
                let holder = self.value(at, dw::DW_AT_byte_size);
                let holder = holder.or_else(|| self.value(self.unqualified(inner?)?, dw::DW_AT_byte_size))?;
                let end = bytes.checked_add(holder)?.checked_mul(8)?;
                end.checked_sub(before.checked_add(u64::from(bits))?)?
            }
            _ => bytes.checked_mul(8)?,
        };
        let name = if is_base { String::new() } else { self.unit.name(at).unwrap_or_default() };
        Some(DataMember { name, ty: self.number(inner), bit_offset, bits })
    }

    /// Shows the children of an entry.
    fn children(&mut self, at: UnitOffset, show: &mut dyn FnMut(&mut Self, UnitOffset, DwTag)) {
        let unit = self.unit.unit;
        let Ok(mut tree) = unit.entries_tree(Some(at)) else { return };
        let Ok(root) = tree.root() else { return };
        let mut children = root.children();
        while let Ok(Some(child)) = children.next() {
            let child: EntriesTreeNode<'_, '_, Bytes<'_>> = child;
            show(self, child.entry().offset(), child.entry().tag());
        }
    }
}
