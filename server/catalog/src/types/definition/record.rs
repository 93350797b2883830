//! The bodies of structs, unions and enums.

use super::{
    layout::{Attributes, DefinedLayout, Wanted},
    parser::{DefinitionParser, Parsed, Specifiers},
    tokens::DefinitionWord,
};
use crate::types::{
    CType, TypeId, TypeKind,
    local::{LocalEnum, LocalMember, LocalRecord, LocalType},
};

/// A member before it has a place.
struct ListedRecord {
    name: String,
    ty: TypeId,
    wanted: Wanted,
    flexible: bool,
    place: usize,
}

impl<'a> DefinitionParser<'a> {
    /// `{ … }` of a struct or union.
    pub(super) fn record(&mut self, union: bool, name: Option<&str>, before: Attributes) -> Parsed<TypeId> {
        let kind = if union { TypeKind::Union } else { TypeKind::Struct };
        let open = self.place();
        let id = self.claim(kind, name)?;
        self.next();
        let mut listed: Vec<ListedRecord> = Vec::new();
        while !self.take("}") {
            if self.word() == DefinitionWord::End {
                return Err(self.wrong_at(open, "this is not closed", Some("Add `}`.")));
            }
            if !self.take(";") {
                self.member(&mut listed)?;
            }
        }
        let attributes = before.and(self.attributes()?);
        self.check_names(&listed, union)?;
        let mut layout = DefinedLayout::new(union, attributes.packed);
        let mut members = Vec::with_capacity(listed.len());
        for ListedRecord { name, ty, wanted, place, .. } in listed {
            let Some(bit_offset) = layout.add(wanted) else {
                return Err(self.wrong_at(place, "with this member, the whole is too large", None));
            };
            if wanted.named {
                members.push(LocalMember { name, ty, bit_offset, bits: wanted.bits });
            }
        }
        let (bytes, align) = layout.finish(attributes.align).ok_or_else(|| self.wrong("this is too large", None))?;
        if !matches!(self.types.get(id), CType::Forward { .. }) {
            return Err(self.wrong_at(open, "this is defined again inside itself", Some("Rename the inner one.")));
        }
        let record = LocalRecord { name: name.unwrap_or_default().to_owned(), union, bytes, align, members };
        self.types.locals.replace(id, LocalType::Record(record));
        if name.is_some() {
            self.defined.push(id);
        }
        Ok(id)
    }

    /// The place of what is defined now; a forward declaration's if there is one.
    fn claim(&mut self, kind: TypeKind, name: Option<&str>) -> Parsed<TypeId> {
        let forward = |name: &str| LocalType::Forward { name: name.to_owned(), kind };
        let Some(name) = name else { return Ok(self.types.locals.push(forward(""))) };
        if let Some(known) = self.types.locals.named(kind, name) {
            if !matches!(self.types.get(known), CType::Forward { .. }) {
                let what = format!("`{name}` is defined twice");
                return Err(self.wrong_at(self.place().saturating_sub(1), &what, Some("Remove one of the two.")));
            }
            return Ok(known);
        }
        let id = self.types.locals.push(forward(name));
        self.types.locals.set_name(kind, name, id);
        Ok(id)
    }

    /// One declaration in a struct: any number of members.
    fn member(&mut self, listed: &mut Vec<ListedRecord>) -> Parsed<()> {
        let start = self.place();
        let specifiers = self.specifiers()?;
        if self.take(";") {
            return self.without_declarator(start, specifiers, listed);
        }
        loop {
            let place = self.place();
            let member = self.declared_member(specifiers, place)?;
            listed.push(member);
            if !self.take(",") {
                // Behind the last one it may be left out.
                let place = self.place();
                if self.take("}") {
                    self.back_to(place);
                    return Ok(());
                }
                return self.expect(";", "behind the member");
            }
        }
    }

    /// An anonymous struct or union becomes part of what it is in; anything else only defines its type.
    fn without_declarator(
        &mut self,
        start: usize,
        specifiers: Specifiers,
        listed: &mut Vec<ListedRecord>,
    ) -> Parsed<()> {
        match self.types.stripped(specifiers.ty) {
            CType::Record(record) if record.name.is_empty() => {
                let bytes = u64::from(record.bytes);
                let align = self.types.align(specifiers.ty).unwrap_or(1);
                let attributes = Attributes { packed: false, ..specifiers.attributes };
                let wanted = Wanted { bytes, align, bits: None, named: true, attributes };
                listed.push(ListedRecord {
                    name: String::new(),
                    ty: specifiers.ty,
                    wanted,
                    flexible: false,
                    place: start,
                });
                Ok(())
            }
            _ if specifiers.tagged => Ok(()),
            _ => Err(self.wrong_at(start, "this member has no name", Some("Add a name before `;`."))),
        }
    }

    fn declared_member(&mut self, specifiers: Specifiers, place: usize) -> Parsed<ListedRecord> {
        let unnamed = self.word() == DefinitionWord::Mark(":");
        let declared = if unnamed { None } else { Some(self.declarator(specifiers.ty)?) };
        let ty = declared.map_or(specifiers.ty, |declared| declared.ty);
        let bits = if self.take(":") { Some(self.width(ty)?) } else { None };
        let attributes = specifiers.attributes.and(self.attributes()?);
        let name = declared.and_then(|declared| declared.name);
        if name.is_none() && bits.is_none() {
            let what = format!("expected the name of a member, found {}", self.word().shown());
            return Err(self.wrong(&what, None));
        }
        if bits == Some(0) && name.is_some() {
            return Err(self.wrong_at(place, "a bitfield of no bits cannot have a name", Some("Remove the name.")));
        }
        if self.is_function(ty) {
            let how = Some("Write a pointer to a function: `int (*name)(…)`.");
            return Err(self.wrong_at(place, "a member cannot be a function", how));
        }
        let bytes = self.complete_size(ty, place, "a member")?;
        let align = self.types.align(ty).unwrap_or(1);
        let wanted = Wanted { bytes, align, bits, named: name.is_some(), attributes };
        let flexible = declared.is_some_and(|declared| declared.flexible);
        Ok(ListedRecord { name: name.unwrap_or_default().to_owned(), ty, wanted, flexible, place })
    }

    /// The width of a bitfield.
    fn width(&mut self, ty: TypeId) -> Parsed<u32> {
        let place = self.place();
        let value = self.constant_expression()?;
        let Some(int) = self.types.integer(ty).filter(|int| int.bytes <= 8) else {
            let what = format!("a bitfield cannot have the type `{}`", self.types.render(ty));
            return Err(self.wrong_at(place, &what, Some("Use an integer type of at most 64 bits.")));
        };
        let most = if int.boolean { 1 } else { int.bytes * 8 };
        match u32::try_from(value) {
            Ok(bits) if bits <= most => Ok(bits),
            _ => {
                let what = format!("`{}` has {most} bits, not {value}", self.types.render(ty));
                Err(self.wrong_at(place, &what, None))
            }
        }
    }

    /// No name twice, and nothing behind an array that may be of any length.
    fn check_names(&self, listed: &[ListedRecord], union: bool) -> Parsed<()> {
        let mut seen = std::collections::HashSet::new();
        for (at, member) in listed.iter().enumerate() {
            let inner = if member.name.is_empty() && member.wanted.named {
                self.types.field_names(member.ty, usize::MAX).into_iter().map(str::to_owned).collect()
            } else {
                vec![member.name.clone()]
            };
            for name in inner.into_iter().filter(|name| !name.is_empty()) {
                if let Some(twice) = seen.replace(name) {
                    let what = format!("there are two members `{twice}`");
                    return Err(self.wrong_at(member.place, &what, Some("Rename one of them.")));
                }
            }
            if member.flexible && !union && at + 1 < listed.len() {
                let how = Some("Make it the last member, or write its size.");
                return Err(self.wrong_at(member.place, "an array of open length must be the last member", how));
            }
        }
        Ok(())
    }

    /// `{ … }` of an enum, or `: type { … }`.
    pub(super) fn enumeration(&mut self, name: Option<&'a str>) -> Parsed<TypeId> {
        let id = self.claim(TypeKind::Enum, name)?;
        let underlying = if self.take(":") { Some(self.specifiers()?.ty) } else { None };
        let open = self.place();
        self.expect("{", "behind the name of the enum")?;
        // Constants that were defined before can be used in the next ones.
        let name = name.unwrap_or_default().to_owned();
        let mut of = LocalEnum { name, bytes: 8, signed: true, constants: Vec::new() };
        self.types.locals.replace(id, LocalType::Enum(of.clone()));
        let mut values = Vec::new();
        while !self.take("}") {
            if self.word() == DefinitionWord::End {
                return Err(self.wrong_at(open, "this is not closed", Some("Add `}`.")));
            }
            self.enumerator(id, &mut values)?;
        }
        if values.is_empty() {
            return Err(self.wrong_at(open, "an enum must have constants", None));
        }
        let packed = self.attributes()?.packed;
        let int = underlying.and_then(|ty| self.types.integer(ty)).map(|int| (int.bytes, int.signed));
        let (bytes, signed) = smallest(&values);
        (of.bytes, of.signed) = int.unwrap_or((if packed { bytes } else { bytes.max(4) }, signed));
        if !of.name.is_empty() {
            self.defined.push(id);
        }
        self.types.locals.finish_enum(id, of.bytes, of.signed);
        Ok(id)
    }

    /// `NAME = value,`
    fn enumerator(&mut self, of: TypeId, values: &mut Vec<i128>) -> Parsed<()> {
        let place = self.place();
        let DefinitionWord::Name(name) = self.word() else {
            let what = format!("expected the name of a constant, found {}", self.word().shown());
            return Err(self.wrong(&what, None));
        };
        if self.types.locals.constant(name).is_some() {
            let what = format!("the constant `{name}` is defined twice");
            return Err(self.wrong(&what, Some("Remove one of them.")));
        }
        self.next();
        self.attributes()?;
        let next = values.last().map_or(0, |last| last + 1);
        let value = if self.take("=") { self.constant_expression()? } else { next };
        let bits = i64::try_from(value).or_else(|_| u64::try_from(value).map(u64::cast_signed));
        let Ok(bits) = bits else {
            return Err(self.wrong_at(place, &format!("{value} does not fit into 64 bits"), None));
        };
        self.types.locals.add_constant(of, name, bits);
        values.push(value);
        if self.take(",") || self.word() == DefinitionWord::Mark("}") {
            return Ok(());
        }
        let what = format!("expected `,` or `}}`, found {}", self.word().shown());
        Err(self.wrong(&what, Some("Add `,`.")))
    }
}

/// The smallest integer that has all these values: its size and whether it is signed.
fn smallest(values: &[i128]) -> (u32, bool) {
    let (low, high) = (values.iter().min().copied().unwrap_or(0), values.iter().max().copied().unwrap_or(0));
    let signed = low < 0;
    let fits = |bytes: &u32| {
        let bits = bytes * 8;
        if signed { low >= -(1 << (bits - 1)) && high < 1 << (bits - 1) } else { high < 1 << bits }
    };
    ([1, 2, 4].into_iter().find(fits).unwrap_or(8), signed)
}
