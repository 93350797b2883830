//! The space of types of one script: what a number means, and where types of BTF are.

use std::sync::Arc;

use super::{
    BtfError, BtfId, CType, Enum, EnumConstant, Int, Integer, Member, Notes, Pointer, Record, Stripped, TypeId,
    TypeKind,
    btf::{Btf, MAX_TYPES, Raw, kind},
    local::{LocalType, Locals},
};

/// How many typedefs, qualifiers, dimensions or nested anonymous records are followed.
pub const MAX_DEPTH: usize = 64;
/// How many members are looked at to learn how a struct of BTF is aligned.
const MAX_ALIGN_STEPS: u32 = 1 << 14;

/// The BTF of the kernel or of a module, and the number of its first type.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) btf: Arc<Btf>,
    pub(crate) start: u32,
}

impl Source {
    /// The id of its own type `index`.
    pub(crate) fn id(&self, index: u32) -> TypeId {
        TypeId(self.start.saturating_add(index))
    }

    /// The id of what its BTF calls `number`.
    pub(crate) fn reference(&self, number: u32) -> TypeId {
        match number.checked_sub(self.btf.base_types()) {
            Some(own) if own > 0 && self.btf.base().is_some() => self.id(own - 1),
            _ => TypeId(number & !(1 << 31)),
        }
    }
}

/// A type of BTF: its head, and the file it is in.
#[derive(Clone, Copy)]
pub(crate) struct BtfType<'a> {
    pub(crate) source: &'a Source,
    pub(crate) raw: Raw,
}

impl<'a> BtfType<'a> {
    pub(crate) fn name(self) -> &'a str {
        self.source.btf.name(self.raw.name)
    }

    /// The type that its head refers to.
    pub(crate) fn to(self) -> TypeId {
        self.source.reference(self.raw.size_or_type)
    }

    /// A number behind the head.
    pub(crate) fn number(self, at: usize) -> u32 {
        self.source.btf.number(self.raw.rest.saturating_add(at))
    }

    /// A type that a number behind the head refers to.
    pub(crate) fn reference(self, at: usize) -> TypeId {
        self.source.reference(self.number(at))
    }

    fn enum_signed(self) -> bool {
        // Without signs in the whole file, values are what C makes of them by default.
        self.raw.flag || (self.raw.kind == kind::ENUM && !self.source.btf.enum_signs())
    }
}

/// All types that one script can name.
#[derive(Clone, Debug)]
pub struct Types {
    pub(crate) sources: Vec<Source>,
    pub(super) locals: Locals,
}

impl Types {
    /// The types of a kernel, and those that are built in.
    pub fn new(kernel: Arc<Btf>) -> Self {
        Self { sources: vec![Source { btf: kernel, start: 1 }], locals: Locals::new() }
    }

    /// Only the types that are built in: for a kernel without BTF.
    pub fn built_in() -> Self {
        Self::new(Arc::new(Btf::empty()))
    }

    /// Adds the types of a module, which was read with [`Btf::parse_module`] on this kernel's BTF.
    ///
    /// # Errors
    /// If it was read with another base, or there are too many types.
    pub fn add_module(&mut self, module: Arc<Btf>) -> Result<(), BtfError> {
        let same = module.base().is_some_and(|base| self.sources.iter().take(1).any(|s| Arc::ptr_eq(&s.btf, base)));
        if !same {
            return Err(BtfError::OtherBase { module: module.module_name().unwrap_or("?").to_owned() });
        }
        let size = self.sources.last().map_or(1, |last| last.start as usize + last.btf.len());
        match u32::try_from(size) {
            Ok(start) if size + module.len() <= MAX_TYPES => self.sources.push(Source { btf: module, start }),
            _ => return Err(BtfError::TooLarge { size: size + module.len(), limit: MAX_TYPES }),
        }
        Ok(())
    }

    /// The modules whose types are here.
    pub fn modules(&self) -> impl Iterator<Item = &str> {
        self.sources.iter().filter_map(|source| source.btf.module_name())
    }

    /// A pointer to `to`.
    pub fn pointer_to(&mut self, to: TypeId) -> TypeId {
        self.locals.pointer_to(to)
    }

    /// An array of `count` times `element`.
    pub fn array_of(&mut self, element: TypeId, count: u32) -> TypeId {
        self.locals.array_of(element, count)
    }

    /// The type of BTF with that id.
    pub(crate) fn found(&self, id: TypeId) -> Option<BtfType<'_>> {
        if id == TypeId::VOID || Locals::is_local(id) {
            return None;
        }
        let after = self.sources.partition_point(|source| source.start <= id.0);
        let source = self.sources.get(after.checked_sub(1)?)?;
        Some(BtfType { source, raw: source.btf.raw(id.0 - source.start)? })
    }

    /// What the kernel calls a type; `None` if it is not from BTF.
    pub fn btf_id(&self, id: TypeId) -> Option<BtfId<'_>> {
        let found = self.found(id)?;
        let btf = &found.source.btf;
        Some(BtfId { module: btf.module_name(), id: id.0 - found.source.start + btf.base_types() + 1 })
    }

    /// The type that the kernel calls so.
    pub fn of_btf_id(&self, id: BtfId<'_>) -> Option<TypeId> {
        let source = self.sources.iter().find(|source| source.btf.module_name() == id.module)?;
        let id = source.reference(id.id);
        self.found(id).map(|_| id)
    }

    /// What a type is. A forward declaration whose definition is known elsewhere is that definition only after
    /// [`Types::strip`].
    pub fn get(&self, id: TypeId) -> CType<'_> {
        match self.locals.get(id) {
            Some(local) => of_local(local),
            None => self.found(id).map_or(CType::Void, of_btf),
        }
    }

    /// The type behind typedefs, qualifiers and notes; a forward declaration becomes the definition if there is one.
    pub fn strip(&self, id: TypeId) -> Stripped {
        let (mut at, mut notes) = (id, Notes::default());
        for _ in 0..MAX_DEPTH {
            match self.get(at) {
                CType::Typedef { to, .. } => at = to,
                CType::Qualified { to, qualifier } => {
                    notes.constant |= qualifier == "const";
                    at = to;
                }
                CType::Tag { tag, to } => {
                    notes.add(tag);
                    at = to;
                }
                CType::Forward { name, kind } => match self.definition(kind, name) {
                    Some(definition) => return Stripped { id: definition, notes },
                    None => return Stripped { id: at, notes },
                },
                _ => return Stripped { id: at, notes },
            }
        }
        Stripped { id: TypeId::VOID, notes }
    }

    /// What is behind [`Types::strip`].
    pub fn stripped(&self, id: TypeId) -> CType<'_> {
        self.get(self.strip(id).id)
    }

    /// The size of a type in bytes; `None` of `void`, of functions, and of what is only declared. A flexible array
    /// has 0.
    pub fn size(&self, id: TypeId) -> Option<u64> {
        let (mut at, mut times) = (id, 1_u64);
        for _ in 0..MAX_DEPTH {
            let bytes = match self.stripped(at) {
                CType::Int(int) => int.bytes,
                CType::Float { bytes, .. } | CType::Section { bytes, .. } => bytes,
                CType::Pointer { .. } => 8,
                CType::Record(record) => record.bytes,
                CType::Enum(of) => of.bytes,
                CType::Array { element, count } => {
                    times = times.checked_mul(u64::from(count))?;
                    at = element;
                    continue;
                }
                CType::Variable { ty, .. } => {
                    at = ty;
                    continue;
                }
                _ => return None,
            };
            return times.checked_mul(u64::from(bytes));
        }
        None
    }

    /// The alignment of a type in bytes, as the compiler would choose it (BTF does not say).
    pub fn align(&self, id: TypeId) -> Option<u64> {
        self.align_within(id, MAX_DEPTH, &mut { MAX_ALIGN_STEPS })
    }

    fn align_within(&self, id: TypeId, depth: usize, steps: &mut u32) -> Option<u64> {
        let depth = depth.checked_sub(1)?;
        let mut at = id;
        while let Some(LocalType::Typedef { to, align, .. }) = self.locals.get(at) {
            if let Some(align) = align {
                return Some(u64::from(*align));
            }
            at = *to;
        }
        let stripped = self.strip(at).id;
        if let Some(LocalType::Record(record)) = self.locals.get(stripped) {
            return Some(u64::from(record.align));
        }
        match self.get(stripped) {
            CType::Int(Int { bytes, .. }) | CType::Float { bytes, .. } | CType::Enum(Enum { bytes, .. }) => {
                Some(u64::from(bytes.clamp(1, 16).next_power_of_two()))
            }
            CType::Pointer { .. } => Some(8),
            CType::Array { element, .. } => self.align_within(element, depth, steps),
            CType::Variable { ty, .. } => self.align_within(ty, depth, steps),
            CType::Record(record) => {
                let mut align = 1;
                for member in self.members(stripped) {
                    *steps = steps.checked_sub(1)?;
                    let of_member = self.align_within(member.ty, depth, steps).unwrap_or(1);
                    // What does not lie as it would naturally is packed.
                    if member.bits.is_none() && !member.bit_offset.is_multiple_of(of_member * 8) {
                        return Some(1);
                    }
                    align = of_member.max(align);
                }
                Some(if u64::from(record.bytes).is_multiple_of(align) { align } else { 1 })
            }
            _ => None,
        }
    }

    /// The integer behind names: integers, booleans, characters and enums.
    pub fn integer(&self, id: TypeId) -> Option<Integer> {
        let stripped = self.strip(id).id;
        match self.get(stripped) {
            CType::Int(Int { bytes, signed, boolean, character, .. }) => {
                Some(Integer { bytes, signed, boolean, character, of: None })
            }
            CType::Enum(Enum { bytes, signed, .. }) => {
                Some(Integer { bytes, signed, boolean: false, character: false, of: Some(stripped) })
            }
            _ => None,
        }
    }

    /// What a pointer points to, if it is one.
    pub fn pointer(&self, id: TypeId) -> Option<Pointer> {
        let Stripped { id: stripped, mut notes } = self.strip(id);
        let CType::Pointer { mut to } = self.get(stripped) else { return None };
        notes.constant = false;
        for _ in 0..MAX_DEPTH {
            match self.get(to) {
                CType::Qualified { to: behind, qualifier } => {
                    notes.constant |= qualifier == "const";
                    to = behind;
                }
                CType::Tag { tag, to: behind } => {
                    notes.add(tag);
                    to = behind;
                }
                _ => break,
            }
        }
        Some(Pointer { to, notes })
    }

    /// The members of a struct or union behind any names, in order. None of anything else.
    pub fn members(&self, id: TypeId) -> impl Iterator<Item = Member<'_>> {
        let id = self.strip(id).id;
        let (local, btf) = match self.locals.get(id) {
            Some(LocalType::Record(record)) => (record.members.as_slice(), None),
            Some(_) => (&[] as &[_], None),
            None => (&[] as &[_], self.found(id).filter(|found| is_record(found.raw.kind))),
        };
        let local = local.iter().map(|member| Member {
            name: &member.name,
            ty: member.ty,
            bit_offset: member.bit_offset,
            bits: member.bits,
        });
        let btf =
            btf.into_iter().flat_map(move |found| (0..found.raw.entries).map(move |at| self.member_of(found, at)));
        local.chain(btf)
    }

    /// A member of a struct or union of BTF.
    fn member_of<'a>(&'a self, found: BtfType<'a>, at: u32) -> Member<'a> {
        let at = at as usize * 12;
        let (ty, place) = (found.reference(at + 4), found.number(at + 8));
        let name = found.source.btf.name(found.number(at));
        if found.raw.flag {
            let bits = Some(place >> 24).filter(|bits| *bits != 0);
            return Member { name, ty, bit_offset: u64::from(place & 0xff_ffff), bits };
        }
        // In the older encoding, the width is that of an integer type of its own.
        let mut member = Member { name, ty, bit_offset: u64::from(place), bits: None };
        if let Some(int) = self.found(self.strip(ty).id).filter(|of| of.raw.kind == kind::INT) {
            let (bits, offset) = (int.number(0) & 0xff, int.number(0) >> 16 & 0xff);
            if bits != int.raw.size_or_type.saturating_mul(8) && bits != 0 {
                member.bits = Some(bits);
                member.bit_offset += u64::from(offset);
            }
        }
        member
    }

    /// The constants of an enum behind any names, in order.
    pub fn constants(&self, id: TypeId) -> impl Iterator<Item = EnumConstant<'_>> {
        let id = self.strip(id).id;
        let count = if let CType::Enum(of) = self.get(id) { of.constants } else { 0 };
        (0..count).filter_map(move |at| self.constant_at(id, at))
    }

    /// A constant of an enum.
    pub(crate) fn constant_at(&self, of: TypeId, at: u32) -> Option<EnumConstant<'_>> {
        if let Some(LocalType::Enum(local)) = self.locals.get(of) {
            let (name, value) = local.constants.get(at as usize)?;
            return Some(EnumConstant { name, value: *value, signed: local.signed, of });
        }
        let found = self.found(of)?;
        let signed = found.enum_signed();
        let (name, value) = match found.raw.kind {
            kind::ENUM => {
                let (at, value) = (at as usize * 8, found.number(at as usize * 8 + 4));
                (at, if signed { i64::from(value.cast_signed()) } else { i64::from(value) })
            }
            kind::ENUM64 => {
                let at = at as usize * 12;
                (at, (u64::from(found.number(at + 8)) << 32 | u64::from(found.number(at + 4))).cast_signed())
            }
            _ => return None,
        };
        Some(EnumConstant { name: found.source.btf.name(found.number(name)), value, signed, of })
    }

    /// The name of a value of an enum; bits beyond the enum's size are ignored.
    pub fn constant_name(&self, id: TypeId, value: i64) -> Option<&str> {
        let CType::Enum(of) = self.stripped(id) else { return None };
        let unused = 64 - of.bytes.clamp(1, 8) * 8;
        let same = |constant: &EnumConstant<'_>| (constant.value ^ value) << unused == 0;
        self.constants(id).find(same).map(|constant| constant.name)
    }
}

impl Notes {
    /// Adds what a compiler noted.
    fn add(&mut self, tag: &str) {
        match tag {
            "user" => self.user = true,
            "rcu" => self.rcu = true,
            "percpu" => self.percpu = true,
            _ => {}
        }
    }
}

pub(crate) fn is_record(of: u8) -> bool {
    matches!(of, kind::STRUCT | kind::UNION)
}

fn of_local(local: &LocalType) -> CType<'_> {
    match local {
        LocalType::Int { name, bytes, signed } => CType::Int(Int {
            name,
            bytes: *bytes,
            signed: *signed,
            boolean: matches!(*name, "_Bool" | "bool"),
            character: *name == "char",
        }),
        LocalType::Float { name, bytes } => CType::Float { name, bytes: *bytes },
        LocalType::Pointer { to } => CType::Pointer { to: *to },
        LocalType::Array { element, count } => CType::Array { element: *element, count: *count },
        LocalType::Record(record) => CType::Record(Record {
            name: &record.name,
            union: record.union,
            bytes: record.bytes,
            members: u32::try_from(record.members.len()).unwrap_or(u32::MAX),
        }),
        LocalType::Enum(of) => CType::Enum(Enum {
            name: &of.name,
            bytes: of.bytes,
            signed: of.signed,
            constants: u32::try_from(of.constants.len()).unwrap_or(u32::MAX),
        }),
        LocalType::Forward { name, kind } => CType::Forward { name, kind: *kind },
        LocalType::Typedef { name, to, .. } => CType::Typedef { name, to: *to },
        LocalType::Qualified { qualifier, to } => CType::Qualified { qualifier, to: *to },
        LocalType::Tag { tag, to } => CType::Tag { tag, to: *to },
        LocalType::Prototype { returns, parameters, .. } => {
            CType::Prototype { returns: *returns, parameters: u32::try_from(parameters.len()).unwrap_or(u32::MAX) }
        }
    }
}

fn of_btf(found: BtfType<'_>) -> CType<'_> {
    let (raw, name) = (found.raw, found.name());
    match raw.kind {
        kind::INT => {
            let encoding = found.number(0) >> 24;
            let (signed, character, boolean) = (encoding & 1 != 0, encoding & 2 != 0, encoding & 4 != 0);
            // Compilers call plain `char` signed or nothing, never a character.
            let character = character || name == "char";
            CType::Int(Int { name, bytes: raw.size_or_type, signed, boolean: boolean || name == "_Bool", character })
        }
        kind::PTR => CType::Pointer { to: found.to() },
        kind::ARRAY => CType::Array { element: found.reference(0), count: found.number(8) },
        kind::STRUCT | kind::UNION => CType::Record(Record {
            name,
            union: raw.kind == kind::UNION,
            bytes: raw.size_or_type,
            members: raw.entries,
        }),
        // An enum that is only declared has no constants.
        kind::ENUM | kind::ENUM64 if raw.entries == 0 => CType::Forward { name, kind: TypeKind::Enum },
        kind::ENUM | kind::ENUM64 => {
            CType::Enum(Enum { name, bytes: raw.size_or_type, signed: found.enum_signed(), constants: raw.entries })
        }
        kind::FWD => CType::Forward { name, kind: if raw.flag { TypeKind::Union } else { TypeKind::Struct } },
        kind::TYPEDEF => CType::Typedef { name, to: found.to() },
        kind::VOLATILE => CType::Qualified { qualifier: "volatile", to: found.to() },
        kind::CONST => CType::Qualified { qualifier: "const", to: found.to() },
        kind::RESTRICT => CType::Qualified { qualifier: "restrict", to: found.to() },
        kind::FUNC => CType::Function { name, prototype: found.to() },
        kind::FUNC_PROTO => CType::Prototype { returns: found.to(), parameters: raw.entries },
        kind::VAR => CType::Variable { name, ty: found.to() },
        kind::DATASEC => CType::Section { name, bytes: raw.size_or_type },
        kind::FLOAT => CType::Float { name, bytes: raw.size_or_type },
        kind::DECL_TAG => CType::DeclarationTag { tag: name, to: found.to() },
        kind::TYPE_TAG => CType::Tag { tag: name, to: found.to() },
        _ => CType::Void,
    }
}
