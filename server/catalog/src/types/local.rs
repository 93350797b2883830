//! Types that no BTF has: those that are built into the language, those a script defines, and pointers and arrays that
//! the checker makes.

use std::collections::HashMap;

use super::{TypeId, TypeKind};

/// The bit that tells these types from those of BTF.
const LOCAL: u32 = 1 << 31;

/// A type of this table.
#[derive(Clone, Debug)]
pub(super) enum LocalType {
    Int { name: &'static str, bytes: u32, signed: bool },
    Float { name: &'static str, bytes: u32 },
    Pointer { to: TypeId },
    Array { element: TypeId, count: u32 },
    Record(LocalRecord),
    Enum(LocalEnum),
    Forward { name: String, kind: TypeKind },
    Typedef { name: String, to: TypeId, align: Option<u32> },
    Qualified { qualifier: &'static str, to: TypeId },
    Tag { tag: &'static str, to: TypeId },
    Prototype { returns: TypeId, parameters: Vec<(String, TypeId)>, variadic: bool },
}

#[derive(Clone, Debug)]
pub(super) struct LocalRecord {
    pub(super) name: String,
    pub(super) union: bool,
    pub(super) bytes: u32,
    pub(super) align: u32,
    pub(super) members: Vec<LocalMember>,
}

#[derive(Clone, Debug)]
pub(super) struct LocalMember {
    pub(super) name: String,
    pub(super) ty: TypeId,
    pub(super) bit_offset: u64,
    pub(super) bits: Option<u32>,
}

#[derive(Clone, Debug)]
pub(super) struct LocalEnum {
    pub(super) name: String,
    pub(super) bytes: u32,
    pub(super) signed: bool,
    pub(super) constants: Vec<(String, i64)>,
}

/// The table.
#[derive(Clone, Debug)]
pub(super) struct Locals {
    types: Vec<LocalType>,
    names: HashMap<(TypeKind, String), TypeId>,
    constants: HashMap<String, (TypeId, u32)>,
    pointers: HashMap<TypeId, TypeId>,
    arrays: HashMap<(TypeId, u32), TypeId>,
}

/// What C calls integers: name, size, sign.
const INTS: [(&str, u32, bool); 23] = [
    ("char", 1, true),
    ("signed char", 1, true),
    ("unsigned char", 1, false),
    ("_Bool", 1, false),
    ("short", 2, true),
    ("unsigned short", 2, false),
    ("int", 4, true),
    ("unsigned int", 4, false),
    ("long", 8, true),
    ("unsigned long", 8, false),
    ("long long", 8, true),
    ("unsigned long long", 8, false),
    ("__int128", 16, true),
    ("unsigned __int128", 16, false),
    // The probe language's own.
    ("int8", 1, true),
    ("uint8", 1, false),
    ("int16", 2, true),
    ("uint16", 2, false),
    ("int32", 4, true),
    ("uint32", 4, false),
    ("int64", 8, true),
    ("uint64", 8, false),
    ("bool", 1, false),
];

const FLOATS: [(&str, u32); 3] = [("float", 4), ("double", 8), ("long double", 16)];

/// Names that C programs know without being told, with what they stand for.
const TYPEDEFS: [(&str, &str); 37] = [
    ("int8_t", "signed char"),
    ("uint8_t", "unsigned char"),
    ("int16_t", "short"),
    ("uint16_t", "unsigned short"),
    ("int32_t", "int"),
    ("uint32_t", "unsigned int"),
    ("int64_t", "long"),
    ("uint64_t", "unsigned long"),
    ("intptr_t", "long"),
    ("uintptr_t", "unsigned long"),
    ("size_t", "unsigned long"),
    ("ssize_t", "long"),
    ("ptrdiff_t", "long"),
    ("s8", "signed char"),
    ("u8", "unsigned char"),
    ("s16", "short"),
    ("u16", "unsigned short"),
    ("s32", "int"),
    ("u32", "unsigned int"),
    ("s64", "long long"),
    ("u64", "unsigned long long"),
    ("__s8", "signed char"),
    ("__u8", "unsigned char"),
    ("__s16", "short"),
    ("__u16", "unsigned short"),
    ("__s32", "int"),
    ("__u32", "unsigned int"),
    ("__s64", "long long"),
    ("__u64", "unsigned long long"),
    ("__be16", "unsigned short"),
    ("__be32", "unsigned int"),
    ("__be64", "unsigned long long"),
    ("pid_t", "int"),
    ("uid_t", "unsigned int"),
    ("gid_t", "unsigned int"),
    ("off_t", "long"),
    ("loff_t", "long long"),
];

impl Locals {
    /// The table with what is built in.
    pub(super) fn new() -> Self {
        let ints = INTS.iter().map(|(name, bytes, signed)| LocalType::Int { name, bytes: *bytes, signed: *signed });
        let floats = FLOATS.iter().map(|(name, bytes)| LocalType::Float { name, bytes: *bytes });
        let mut types: Vec<LocalType> = ints.chain(floats).collect();
        for (name, of) in TYPEDEFS {
            let to = INTS.iter().position(|(int, ..)| *int == of).map_or(TypeId::VOID, id);
            types.push(LocalType::Typedef { name: name.to_owned(), to, align: None });
        }
        Self {
            types,
            names: HashMap::new(),
            constants: HashMap::new(),
            pointers: HashMap::new(),
            arrays: HashMap::new(),
        }
    }

    pub(super) fn is_local(id: TypeId) -> bool {
        id.0 & LOCAL != 0
    }

    pub(super) fn get(&self, id: TypeId) -> Option<&LocalType> {
        self.types.get(index(id)?)
    }

    /// A built-in integer or floating-point type by its exact name.
    pub(super) fn base(name: &str) -> Option<TypeId> {
        let int = INTS.iter().position(|(int, ..)| *int == name);
        let float = || FLOATS.iter().position(|(float, _)| *float == name).map(|at| at + INTS.len());
        int.or_else(float).map(id)
    }

    /// A built-in typedef.
    pub(super) fn built_in_typedef(name: &str) -> Option<TypeId> {
        let at = TYPEDEFS.iter().position(|(typedef, _)| *typedef == name)?;
        Some(id(INTS.len() + FLOATS.len() + at))
    }

    /// Adds a type.
    pub(super) fn push(&mut self, ty: LocalType) -> TypeId {
        self.types.push(ty);
        id(self.types.len() - 1)
    }

    /// Puts a definition in the place of a forward declaration.
    pub(super) fn replace(&mut self, at: TypeId, ty: LocalType) {
        if let Some(place) = index(at).and_then(|at| self.types.get_mut(at)) {
            *place = ty;
        }
    }

    pub(super) fn pointer_to(&mut self, to: TypeId) -> TypeId {
        if let Some(known) = self.pointers.get(&to) {
            return *known;
        }
        let id = self.push(LocalType::Pointer { to });
        self.pointers.insert(to, id);
        id
    }

    pub(super) fn array_of(&mut self, element: TypeId, count: u32) -> TypeId {
        if let Some(known) = self.arrays.get(&(element, count)) {
            return *known;
        }
        let id = self.push(LocalType::Array { element, count });
        self.arrays.insert((element, count), id);
        id
    }

    /// What the script defined or declared under that name.
    pub(super) fn named(&self, kind: TypeKind, name: &str) -> Option<TypeId> {
        if self.names.is_empty() {
            return None;
        }
        self.names.get(&(kind, name.to_owned())).copied()
    }

    pub(super) fn set_name(&mut self, kind: TypeKind, name: &str, id: TypeId) {
        self.names.insert((kind, name.to_owned()), id);
    }

    /// All names of a kind that the script defined.
    pub(super) fn names(&self, kind: TypeKind) -> impl Iterator<Item = &str> {
        self.names.keys().filter(move |(of, _)| *of == kind).map(|(_, name)| name.as_str())
    }

    /// The enum and the place in it of a constant that the script defined.
    pub(super) fn constant(&self, name: &str) -> Option<(TypeId, u32)> {
        self.constants.get(name).copied()
    }

    /// Adds a constant to an enum.
    pub(super) fn add_constant(&mut self, of: TypeId, name: &str, value: i64) {
        if let Some(LocalType::Enum(local)) = index(of).and_then(|at| self.types.get_mut(at)) {
            let at = u32::try_from(local.constants.len()).unwrap_or(u32::MAX);
            local.constants.push((name.to_owned(), value));
            self.constants.insert(name.to_owned(), (of, at));
        }
    }

    /// Says how wide the values of an enum are.
    pub(super) fn finish_enum(&mut self, of: TypeId, bytes: u32, signed: bool) {
        if let Some(LocalType::Enum(local)) = index(of).and_then(|at| self.types.get_mut(at)) {
            (local.bytes, local.signed) = (bytes, signed);
        }
    }

    /// All enum constants that the script defined.
    pub(super) fn constant_names(&self) -> impl Iterator<Item = &str> {
        self.constants.keys().map(String::as_str)
    }
}

fn id(index: usize) -> TypeId {
    TypeId(LOCAL | u32::try_from(index).unwrap_or(u32::MAX))
}

fn index(id: TypeId) -> Option<usize> {
    Locals::is_local(id).then_some((id.0 & !LOCAL) as usize)
}
