//! C types as types of the language, members, and types as they are written.

use bathyscope_catalog::types::{CType, MemberLocation, TypeId, TypeKind};
use bathyscope_plan::{Pointee, Shown, Space, Span, StructField, StructType, Type};

use super::{
    Checked, Failed,
    body::BodyChecker,
    checker::ScriptChecker,
    describe::describe,
    points::SHOWN_NAMES,
    values::{CheckedOperand, MemoryPlace},
};
use crate::lang::{
    ast::{self, Name, PathStep, TypeBase, TypeSuffix, TypeText},
    hir::{TypedExpr, TypedExprKind},
};

/// Where a member is, the bits of its value that are its own, and its type.
type LaidOut = (u32, Option<(u8, u8)>, Type);

/// How many pointers to pointers are followed.
const MAX_POINTERS: u32 = 8;
/// How many members of a struct are shown, those of inner structs included.
const MAX_SHOWN_FIELDS: usize = 512;
/// How many structs within each other are shown.
const MAX_SHOWN_DEPTH: u32 = 8;

impl ScriptChecker<'_> {
    /// A C type as a type of the language. Pointers in it point into `space` unless the kernel's types say that it is the
    /// user's memory.
    pub(super) fn c_type(&mut self, id: TypeId, space: Space) -> Type {
        self.c_type_within(id, space, MAX_POINTERS)
    }

    fn c_type_within(&mut self, id: TypeId, space: Space, pointers: u32) -> Type {
        if let Some(integer) = self.types.integer(id) {
            let bytes = u8::try_from(integer.bytes).unwrap_or(u8::MAX);
            let signed = integer.signed;
            return match (bytes, integer.of) {
                (1, None) if integer.boolean => Type::Bool,
                (1 | 2 | 4 | 8, Some(of)) => {
                    let CType::Enum(it) = self.types.stripped(of) else { return Type::Integer { bytes, signed } };
                    let name = it.name.to_owned();
                    // Where it has no name, its constants could not be found later.
                    let is_findable = !name.is_empty() && self.types.find(TypeKind::Enum, &name) == Some(of);
                    let names = if is_findable { Vec::new() } else { self.constant_names(of) };
                    Type::Enum { name, bytes, signed, names }
                }
                (1 | 2 | 4 | 8, None) => Type::Integer { bytes, signed },
                _ => Type::Array { of: Box::new(Type::U64), count: u32::from(bytes) / 8 },
            };
        }
        let stripped = self.types.strip(id).id;
        match self.types.get(stripped) {
            CType::Pointer { .. } => {
                let Some(pointer) = self.types.pointer(id) else { return Type::U64 };
                let space = if pointer.notes.user { Space::User } else { space };
                let to = self.pointee_of_c(pointer.to, space, pointers);
                Type::Pointer { to: Box::new(to), space }
            }
            CType::Array { element, count } => {
                if self.types.integer(element).is_some_and(|it| it.character && it.bytes == 1) && count > 0 {
                    return Type::Text { bytes: count };
                }
                Type::Array { of: Box::new(self.c_type_within(element, space, pointers)), count }
            }
            CType::Record(record) => {
                let bytes = record.bytes;
                let name = self.types.render(stripped);
                let id = self.number_of(stripped);
                Type::Struct(Box::new(StructType { name, id, bytes, space, fields: Vec::new() }))
            }
            CType::Float { bytes, .. } => {
                Type::Array { of: Box::new(Type::Integer { bytes: 1, signed: false }), count: bytes }
            }
            _ => Type::None,
        }
    }

    fn constant_names(&self, of: TypeId) -> Vec<(i64, String)> {
        self.types.constants(of).map(|it| (it.value, it.name.to_owned())).collect()
    }

    fn pointee_of_c(&mut self, to: TypeId, space: Space, pointers: u32) -> Pointee {
        let stripped = self.types.strip(to).id;
        match self.types.get(stripped) {
            CType::Void => Pointee::Void,
            CType::Int(_) | CType::Enum(_) => Pointee::Type(self.c_type_within(stripped, space, pointers)),
            CType::Pointer { .. } if pointers == 0 => Pointee::Void,
            CType::Pointer { .. } => Pointee::Type(self.c_type_within(to, space, pointers - 1)),
            _ => Pointee::C { id: self.number_of(stripped), name: self.types.render(stripped) },
        }
    }

    /// What a pointer to such a value points to.
    pub(super) fn pointee(ty: Type) -> Pointee {
        match ty {
            Type::None => Pointee::Void,
            Type::Struct(it) => Pointee::C { id: it.id, name: it.name },
            other => Pointee::Type(other),
        }
    }

    /// What is behind a pointer; none if it is not known or has no size.
    pub(super) fn behind(&mut self, to: &Pointee, space: Space) -> Option<Type> {
        match to {
            Pointee::Void => None,
            Pointee::Type(ty) => Some(ty.clone()),
            Pointee::C { id, .. } => {
                let id = self.c_type_of(*id);
                Some(self.c_type(id, space)).filter(|ty| *ty != Type::None)
            }
        }
    }

    /// The type with all that is needed to show values: names of enums, members of structs.
    pub(super) fn shown_type(&mut self, ty: &Type) -> Type {
        self.shown_within(ty, MAX_SHOWN_DEPTH, &mut { MAX_SHOWN_FIELDS })
    }

    fn shown_within(&mut self, ty: &Type, depth: u32, left: &mut usize) -> Type {
        match ty {
            Type::Enum { name, bytes, signed, names } if names.is_empty() => {
                let id = self.types.find(TypeKind::Enum, name);
                let names = id.map_or_else(Vec::new, |id| self.constant_names(id));
                Type::Enum { name: name.clone(), bytes: *bytes, signed: *signed, names }
            }
            Type::Struct(it) if it.fields.is_empty() && depth > 0 => {
                let fields = self.shown_fields(it, depth, left);
                Type::Struct(Box::new(StructType { fields, ..(**it).clone() }))
            }
            Type::Array { of, count } => {
                Type::Array { of: Box::new(self.shown_within(of, depth, left)), count: *count }
            }
            Type::Tuple(parts) => Type::Tuple(parts.iter().map(|part| self.shown_within(part, depth, left)).collect()),
            Type::Record(parts) => Type::Record(
                parts.iter().map(|(name, part)| (name.clone(), self.shown_within(part, depth, left))).collect(),
            ),
            other => other.clone(),
        }
    }

    fn shown_fields(&mut self, of: &StructType, depth: u32, left: &mut usize) -> Vec<StructField> {
        let id = self.c_type_of(of.id);
        let members: Vec<(String, MemberLocation)> = self
            .types
            .members(id)
            .map(|it| (it.name.to_owned(), MemberLocation { ty: it.ty, bit_offset: it.bit_offset, bits: it.bits }))
            .take(*left)
            .collect();
        let mut fields = Vec::new();
        for (name, field) in members {
            *left = left.saturating_sub(1);
            let (offset, bits, ty) = self.laid_out(&field, of.space);
            if ty == Type::None {
                continue;
            }
            let ty = match self.types.get(self.types.strip(field.ty).id) {
                // Programs cannot compute with it: its name is shown, without a value.
                CType::Float { .. } => Type::None,
                _ => self.shown_within(&ty, depth - 1, left),
            };
            fields.push(StructField { name, offset, bits, ty });
        }
        fields
    }

    /// Where a member is, the bits of its value that are its own, and its type.
    pub(super) fn laid_out(&mut self, field: &MemberLocation, space: Space) -> LaidOut {
        let ty = self.c_type(field.ty, space);
        let byte = u32::try_from(field.bit_offset / 8).unwrap_or(u32::MAX);
        let Some(width) = field.bits else { return (byte, None, ty) };
        let unit = u64::from(ty.bytes().clamp(1, 8)) * 8;
        let (unit, ty) = if field.bit_offset % unit + u64::from(width) > unit {
            // A packed bit field that lies across two of its own units.
            let signed = matches!(ty, Type::Integer { signed: true, .. });
            (64, Type::Integer { bytes: 8, signed })
        } else {
            (unit, ty)
        };
        let start = field.bit_offset / unit * unit;
        let start = if field.bit_offset - start + u64::from(width) > unit { field.bit_offset / 8 * 8 } else { start };
        let first = u8::try_from(field.bit_offset - start).unwrap_or(0);
        let bits = (first, u8::try_from(width).unwrap_or(64));
        (u32::try_from(start / 8).unwrap_or(u32::MAX), Some(bits), ty)
    }
}

impl BodyChecker<'_, '_> {
    /// A member of a struct in memory or of a value, through a pointer too.
    pub(super) fn member(&mut self, base: CheckedOperand, name: &Name, span: Span) -> Checked<CheckedOperand> {
        match base {
            CheckedOperand::Args(_) => self.argument(name, span),
            CheckedOperand::IteratorContext(_) => self.iterator_member(name, span),
            CheckedOperand::Pair { .. } => self.fail(
                name.span,
                "the variable of a loop over a map is a tuple",
                "use `.0` for the key, `.1` for the value",
            ),
            CheckedOperand::Place(MemoryPlace { ref ty, .. })
                if matches!(ty, Type::Pointer { .. } | Type::Record(_)) =>
            {
                let value = self.load(base)?;
                self.member_of_value(value, name, span)
            }
            CheckedOperand::Place(place) => {
                let Type::Struct(of) = &place.ty else { return self.no_members(&place.ty.clone(), name) };
                let (offset, bits, ty) = self.find_member(of.id, &of.name.clone(), place.space, name)?;
                let offset = place.offset.saturating_add(i64::from(offset));
                Ok(CheckedOperand::Place(MemoryPlace { offset, bits, ty, span, ..place }))
            }
            CheckedOperand::Value(value) => self.member_of_value(value, name, span),
        }
    }

    fn member_of_value(&mut self, value: TypedExpr, name: &Name, span: Span) -> Checked<CheckedOperand> {
        match value.ty.clone() {
            Type::Pointer { to, space } => {
                let (id, of) = match &*to {
                    Pointee::C { id, name } => (*id, name.clone()),
                    Pointee::Type(Type::Struct(it)) => (it.id, it.name.clone()),
                    Pointee::Type(Type::Pointer { .. }) => {
                        let message = format!("{} has no members", describe(&value.ty));
                        return self.fail(
                            name.span,
                            message,
                            "it points to a pointer: take what it points to with `*` first",
                        );
                    }
                    _ => return self.no_members(&value.ty, name),
                };
                let (offset, bits, ty) = self.find_member(id, &of, space, name)?;
                Ok(CheckedOperand::Place(MemoryPlace {
                    address: value,
                    offset: i64::from(offset),
                    space,
                    bits,
                    ty,
                    span,
                }))
            }
            Type::Struct(of) => {
                let (offset, bits, ty) = self.find_member(of.id, &of.name, of.space, name)?;
                Ok(CheckedOperand::Value(Self::part(value, offset, bits, ty, span)))
            }
            Type::Record(parts) => {
                let Some(index) = parts.iter().position(|(known, _)| *known == name.text) else {
                    let names = || parts.iter().map(|(name, _)| name.as_str());
                    let hint = self.cx.hints.about(&describe(&value.ty), &name.text, || {
                        crate::lang::suggest(&name.text, names()).map_or_else(
                            || format!("there are {}", names().collect::<Vec<_>>().join(", ")),
                            |near| format!("did you mean `{near}`?"),
                        )
                    });
                    return self.fail(name.span, format!("the record has no member `{}`", name.text), hint);
                };
                Self::tuple_part(value, index, span).map(CheckedOperand::Value).ok_or(Failed)
            }
            other => self.no_members(&other, name),
        }
    }

    fn no_members<T>(&mut self, ty: &Type, name: &Name) -> Checked<T> {
        let message = format!("{} has no member `{}`", describe(ty), name.text);
        let hint = match ty {
            Type::Integer { .. } => format!("cast it to what it points to: `((struct x *)…).{}`", name.text),
            Type::Pointer { .. } => format!("say what it points to: `((struct x *)…).{}`", name.text),
            Type::Tuple(_) => "parts of a tuple have numbers: `.0`, `.1`".to_owned(),
            _ => "only structs and records have members".to_owned(),
        };
        self.fail(name.span, message, hint)
    }

    fn find_member(&mut self, id: u32, of: &str, space: Space, name: &Name) -> Checked<LaidOut> {
        let record = self.cx.c_type_of(id);
        if let Some(field) = self.cx.types.field(record, &name.text) {
            return Ok(self.cx.laid_out(&field, space));
        }
        if self.cx.types.size(record).is_none() {
            let message = format!("the members of {of} are not known");
            return self.fail(name.span, message, "define it in the script, or load the module that has it");
        }
        let hint = self.cx.hints.about(&format!("member of {of}"), &name.text, || {
            let names = self.cx.types.field_names(record, 4096);
            match crate::lang::suggest(&name.text, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => {
                    let more = if names.len() > SHOWN_NAMES { ", …" } else { "" };
                    let shown: Vec<&str> = names.into_iter().take(SHOWN_NAMES).collect();
                    format!("it has {}{more}", shown.join(", "))
                }
            }
        });
        self.fail(name.span, format!("{of} has no member `{}`", name.text), hint)
    }

    /// A type as written.
    pub(super) fn written_type(&mut self, text: &TypeText) -> Checked<Type> {
        let to = self.written_pointee(text)?;
        let space = self.shape.space;
        match &to {
            Pointee::Void => Ok(Type::None),
            Pointee::Type(ty) => Ok(ty.clone()),
            Pointee::C { name, .. } => {
                let name = name.clone();
                match self.cx.behind(&to, space) {
                    Some(ty) => Ok(ty),
                    None => self.fail(
                        text.span,
                        format!("{name} is only declared, so its size is not known"),
                        "use a pointer to it",
                    ),
                }
            }
        }
    }

    fn written_pointee(&mut self, text: &TypeText) -> Checked<Pointee> {
        let space = self.shape.space;
        let mut suffixes = text.suffixes.as_slice();
        let mut to = match &text.base {
            TypeBase::Named(name) if matches!(name.as_str(), "string" | "buffer" | "str_t") => {
                let bytes = match suffixes {
                    [TypeSuffix::Array(Some(count)), rest @ ..] => {
                        suffixes = rest;
                        self.count(count, "the size of a text", u64::from(u16::MAX))?
                    }
                    [TypeSuffix::Array(None), rest @ ..] => {
                        suffixes = rest;
                        self.cx.config.max_strlen
                    }
                    _ => self.cx.config.max_strlen,
                };
                Pointee::Type(if name == "buffer" { Type::Buffer { bytes } } else { Type::Text { bytes } })
            }
            TypeBase::Named(name) if name == "void" => Pointee::Void,
            TypeBase::Named(name) if name == "inet" => Pointee::Type(Type::Shown(Shown::Inet)),
            TypeBase::Named(name) => self.named_type(name, text.span)?,
            TypeBase::Struct(name) => self.c_name(TypeKind::Struct, "struct", name, text.span)?,
            TypeBase::Union(name) => self.c_name(TypeKind::Union, "union", name, text.span)?,
            TypeBase::Enum(name) => self.c_name(TypeKind::Enum, "enum", name, text.span)?,
            TypeBase::Of(expr) => ScriptChecker::pointee(self.type_of(expr)?),
        };
        for suffix in suffixes {
            to = match suffix {
                TypeSuffix::Pointer => Pointee::Type(Type::Pointer { to: Box::new(to), space }),
                TypeSuffix::Array(count) => {
                    let count = match count {
                        Some(count) => self.count(count, "the length of an array", 1 << 20)?,
                        None => 0,
                    };
                    let Some(of) = self.cx.behind(&to, space) else {
                        return self.fail(text.span, "there are no arrays of this type", "use an array of pointers");
                    };
                    let character = of == Type::Integer { bytes: 1, signed: true };
                    let is_char = character && matches!(&text.base, TypeBase::Named(name) if name == "char");
                    match (is_char, count) {
                        (true, 1..) => Pointee::Type(Type::Text { bytes: count }),
                        _ => Pointee::Type(Type::Array { of: Box::new(of), count }),
                    }
                }
            };
        }
        Ok(to)
    }

    fn named_type(&mut self, name: &str, span: Span) -> Checked<Pointee> {
        let found = self.cx.types.spelled(name);
        // Other compilers leave out `struct`.
        let found = found.or_else(|| self.cx.types.find(TypeKind::Struct, name));
        let found = found.or_else(|| self.cx.types.find(TypeKind::Enum, name));
        match found {
            Some(id) => Ok(self.cx.pointee_of_c(id, self.shape.space, MAX_POINTERS)),
            None => {
                let near = || self.cx.types.closest(TypeKind::Typedef, name);
                let hint = || near().map_or_else(String::new, |near| format!("did you mean `{near}`?"));
                let hint = self.cx.hints.about("type", name, hint);
                self.fail(span, format!("there is no type `{name}`"), hint)
            }
        }
    }

    fn c_name(&mut self, kind: TypeKind, word: &str, name: &str, span: Span) -> Checked<Pointee> {
        match self.cx.types.find(kind, name) {
            Some(id) => Ok(self.cx.pointee_of_c(id, self.shape.space, MAX_POINTERS)),
            None => {
                let hint = self.cx.hints.about(word, name, || {
                    self.cx.types.closest(kind, name).map_or_else(
                        || format!("define it in the script: `{word} {name} {{ … }}`"),
                        |near| format!("did you mean `{word} {near}`?"),
                    )
                });
                self.fail(span, format!("there is no `{word} {name}`"), hint)
            }
        }
    }

    /// A constant count from 1 on.
    pub(super) fn count(&mut self, expr: &ast::Expr, what: &str, most: u64) -> Checked<u32> {
        let value = self.value(expr)?;
        match value.constant().and_then(|it| u64::try_from(it).ok()) {
            Some(count) if (1..=most).contains(&count) => Ok(u32::try_from(count).unwrap_or(u32::MAX)),
            _ => self.fail(expr.span, format!("{what} is a constant from 1 to {most}"), ""),
        }
    }

    /// The type of an expression that is not evaluated.
    pub(super) fn type_of(&mut self, expr: &ast::Expr) -> Checked<Type> {
        if let ast::ExprKind::Type(ty) = &expr.kind {
            return self.written_type(ty);
        }
        if let ast::ExprKind::Identifier(name) = &expr.kind
            && self.binding(name).is_none()
            && !super::reference::is_value(name)
            && self.cx.types.constant(name).is_none()
            && let Some(id) = self.cx.types.spelled(name)
        {
            let space = self.shape.space;
            return Ok(self.cx.c_type(id, space));
        }
        if let ast::ExprKind::Map { name, keys } = &expr.kind
            && keys.is_empty()
        {
            let map = self.map_id(name, expr.span);
            let kept = self.map_value_type(map, expr.span)?;
            return Ok(self.inferred(expr).unwrap_or(kept));
        }
        if let Some(ty) = self.inferred(expr) {
            return Ok(ty);
        }
        let locals = self.locals.len();
        let operand = self.operand(expr)?;
        let ty = match operand {
            CheckedOperand::Place(place) => place.ty,
            other => self.load(other)?.ty,
        };
        // What the evaluation needed is not needed.
        self.locals.truncate(locals);
        Ok(ty)
    }

    /// The number that the kernel's types have for a struct, union or enum.
    pub(super) fn btf_number(&self, ty: &Type) -> Option<u32> {
        let id = match ty {
            Type::Struct(it) => self.cx.c_type_of(it.id),
            Type::Enum { name, .. } => self.cx.types.find(TypeKind::Enum, name)?,
            _ => return None,
        };
        Some(self.cx.types.btf_id(id)?.id)
    }

    /// `sizeof`.
    pub(super) fn size_of(&mut self, ty: &Type, span: Span) -> Checked<TypedExpr> {
        if *ty == Type::None {
            return self.fail(span, "void has no size", "");
        }
        // Enumerators are numbers of 64 bits in the language, whatever C keeps them in.
        let bytes = if matches!(ty, Type::Enum { .. }) { 8 } else { ty.bytes() };
        Ok(TypedExpr::integer(i64::from(bytes), Type::U64, span))
    }

    /// `offsetof`.
    pub(super) fn offset_of(&mut self, ty: &Type, path: &[PathStep], span: Span) -> Checked<TypedExpr> {
        let mut place = MemoryPlace {
            address: TypedExpr::integer(0, Type::U64, span),
            offset: 0,
            space: Space::Kernel,
            bits: None,
            ty: match ty {
                // Of a pointer: what it points to.
                Type::Pointer { to, space } => self.cx.behind(to, *space).ok_or(Failed)?,
                other => other.clone(),
            },
            span,
        };
        for step in path {
            let next = match step {
                PathStep::Member(name) => self.member(CheckedOperand::Place(place), name, name.span)?,
                PathStep::Index(index) => {
                    let index = self.value(index)?;
                    self.index(CheckedOperand::Place(place), index, span)?
                }
            };
            place = match next {
                CheckedOperand::Place(place) => place,
                other => {
                    return self.fail(other.span(), "offsetof ends at a pointer", "name members of the struct itself");
                }
            };
        }
        if !matches!(place.address.kind, TypedExprKind::Integer(0)) {
            return self.fail(span, "offsetof leads through a pointer", "name members of the struct itself");
        }
        Ok(TypedExpr::integer(place.offset, Type::U64, span))
    }
}
