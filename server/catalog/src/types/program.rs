//! Types of programs and of variables of the kernel, as debug information describes them, among the types of a script. They have
//! no names to be found by: a program's `struct file` is not the kernel's. What the kernel's own debug information calls so is
//! the one that its type information (BTF) has, where that is as large.

use bathyscope_capture::{DataType, IntegerMeaning, ProgramData};

use super::{
    TypeId, TypeKind, Types,
    local::{LocalEnum, LocalMember, LocalRecord, LocalType},
};

impl Types {
    /// Adds types of a program; their ids in order, or none at all if they are not sound.
    pub fn add_program(&mut self, data: &ProgramData) -> Vec<TypeId> {
        self.add_data(data, |_types, _ty| None)
    }

    /// Adds types of variables of the kernel, as [`Types::add_program`].
    pub fn add_kernel_data(&mut self, data: &ProgramData) -> Vec<TypeId> {
        self.add_data(data, Self::same_in_kernel)
    }

    /// The type of BTF that a type of the kernel's debug information is.
    fn same_in_kernel(&self, ty: &DataType) -> Option<TypeId> {
        let (kind, name, bytes) = match ty {
            DataType::Record { name, union: false, bytes, .. } => (TypeKind::Struct, name, Some(*bytes)),
            DataType::Record { name, union: true, bytes, .. } => (TypeKind::Union, name, Some(*bytes)),
            DataType::Enumeration { name, bytes, .. } => (TypeKind::Enum, name, Some(u32::from(*bytes))),
            DataType::Declared { name } => (TypeKind::Struct, name, None),
            _ => return None,
        };
        let found = self.find(kind, name).filter(|id| self.btf_id(*id).is_some())?;
        (bytes.is_none() || self.size(found) == bytes.map(u64::from)).then_some(found)
    }

    fn add_data(&mut self, data: &ProgramData, known: impl Fn(&Self, &DataType) -> Option<TypeId>) -> Vec<TypeId> {
        if !data.is_sound() {
            return Vec::new();
        }
        let known: Vec<Option<TypeId>> = data.types.iter().map(|ty| known(self, ty)).collect();
        let ids: Vec<TypeId> = known.iter().map(|known| known.unwrap_or_else(|| self.locals.push(nothing()))).collect();
        let refer = |number: u32| match data.types.get(number as usize) {
            None | Some(DataType::Void) => TypeId::VOID,
            Some(_) => ids.get(number as usize).copied().unwrap_or(TypeId::VOID),
        };
        let own = ids.iter().zip(&data.types).zip(&known).filter(|(_, known)| known.is_none());
        for ((id, ty), _) in own {
            self.locals.replace(*id, local(ty, &refer));
        }
        ids
    }
}

/// What stands for a type that is not there.
fn nothing() -> LocalType {
    LocalType::Typedef { name: "void".to_owned(), to: TypeId::VOID, align: None }
}

fn local(ty: &DataType, refer: &dyn Fn(u32) -> TypeId) -> LocalType {
    match ty {
        DataType::Void => nothing(),
        DataType::Integer { bytes, signed, meaning } => {
            LocalType::Int { name: integer_name(*bytes, *signed, *meaning), bytes: u32::from(*bytes), signed: *signed }
        }
        DataType::Float { bytes } => {
            let name = match bytes {
                4 => "float",
                8 => "double",
                _ => "long double",
            };
            LocalType::Float { name, bytes: u32::from(*bytes) }
        }
        DataType::Pointer { to } => LocalType::Pointer { to: refer(*to) },
        DataType::Array { element, count } => LocalType::Array { element: refer(*element), count: *count },
        DataType::Record { name, union, bytes, members } => LocalType::Record(LocalRecord {
            name: name.clone(),
            union: *union,
            bytes: *bytes,
            align: 1,
            members: members
                .iter()
                .map(|it| LocalMember {
                    name: it.name.clone(),
                    ty: refer(it.ty),
                    bit_offset: it.bit_offset,
                    bits: it.bits,
                })
                .collect(),
        }),
        DataType::Enumeration { name, bytes, signed, constants } => LocalType::Enum(LocalEnum {
            name: name.clone(),
            bytes: u32::from(*bytes),
            signed: *signed,
            constants: constants.clone(),
        }),
        // Under its plain name the kernel may have a struct of its own.
        DataType::Declared { name } => {
            LocalType::Forward { name: format!("{name} (only declared)"), kind: TypeKind::Struct }
        }
        DataType::Named { name, to } => LocalType::Typedef { name: name.clone(), to: refer(*to), align: None },
    }
}

fn integer_name(bytes: u8, signed: bool, meaning: IntegerMeaning) -> &'static str {
    match (bytes, signed, meaning) {
        (_, _, IntegerMeaning::Boolean) => "bool",
        (1, _, IntegerMeaning::Character) => "char",
        (1, true, _) => "signed char",
        (1, false, _) => "unsigned char",
        (2, true, _) => "short",
        (2, false, _) => "unsigned short",
        (4, true, _) => "int",
        (4, false, _) => "unsigned int",
        (8, true, _) => "long",
        (8, false, _) => "unsigned long",
        (_, true, _) => "__int128",
        (_, false, _) => "unsigned __int128",
    }
}

#[cfg(test)]
mod tests {
    use bathyscope_capture::DataMember;

    use super::*;
    use crate::types::CType;

    #[test]
    fn types_of_programs_are_unfolded_as_those_of_the_kernel() {
        let member = |name: &str, ty, bit_offset| DataMember { name: name.to_owned(), ty, bit_offset, bits: None };
        let node = vec![member("next", 2, 0), member("len", 0, 64), member("kind", 3, 96)];
        let number = DataType::Integer { bytes: 4, signed: true, meaning: IntegerMeaning::Number };
        let constants = vec![("RED".to_owned(), 0), ("BLUE".to_owned(), 1)];
        let data = ProgramData {
            types: vec![
                number,
                DataType::Record { name: "node".to_owned(), union: false, bytes: 16, members: node },
                DataType::Pointer { to: 1 },
                DataType::Enumeration { name: "colour".to_owned(), bytes: 4, signed: false, constants },
                DataType::Declared { name: "task_struct".to_owned() },
            ],
            places: Vec::new(),
        };
        let mut types = Types::built_in();
        let ids = types.add_program(&data);
        assert_eq!(types.render(ids[2]), "struct node *");
        let pointer = types.pointer(ids[2]).unwrap();
        let next = types.field(pointer.to, "next").unwrap();
        assert_eq!(types.pointer(next.ty).unwrap().to, ids[1]);
        assert_eq!(types.field(ids[1], "len").unwrap().bit_offset, 64);
        let kind = types.field(ids[1], "kind").unwrap();
        assert_eq!(types.constant_name(kind.ty, 1), Some("BLUE"));
        assert!(matches!(types.stripped(ids[4]), CType::Forward { .. }), "not the kernel's struct of that name");
        assert_eq!(types.spelled("struct node"), None, "it has no name in the script");
        let wrong = ProgramData { types: vec![DataType::Pointer { to: 7 }], places: Vec::new() };
        assert!(types.add_program(&wrong).is_empty());
    }
}
