//! Declarators: the stars, names, brackets and parentheses behind a type.

use super::{
    parser::{DefinitionParser, Parsed, is_reserved, tag_of},
    tokens::DefinitionWord,
};
use crate::types::{CType, TypeId, local::LocalType};

/// What is declared.
#[derive(Clone, Copy, Debug)]
pub(super) struct Declared<'a> {
    /// `None` if there is no name.
    pub(super) name: Option<&'a str>,
    pub(super) ty: TypeId,
    /// Whether it is an array of unknown length.
    pub(super) flexible: bool,
}

impl<'a> DefinitionParser<'a> {
    /// Reads a declarator of something made of `base`.
    pub(super) fn declarator(&mut self, base: TypeId) -> Parsed<Declared<'a>> {
        self.nested(|parser| parser.declarator_here(base))
    }

    fn declarator_here(&mut self, base: TypeId) -> Parsed<Declared<'a>> {
        let mut ty = base;
        while self.take("*") {
            ty = self.types.pointer_to(ty);
            ty = self.pointer_qualifiers(ty)?;
        }
        // What is in parentheses binds closer than what follows them, so that is read first.
        let inner = self.inner_declarator().then(|| self.place());
        let mut name = None;
        if inner.is_some() {
            self.skip_group()?;
        } else if let DefinitionWord::Name(found) = self.word()
            && !is_reserved(found)
        {
            name = Some(found);
            self.next();
        }
        let (outer, flexible) = self.suffixes(ty)?;
        let end = self.place();
        let Some(inner) = inner else { return Ok(Declared { name, ty: outer, flexible }) };
        self.back_to(inner);
        self.next();
        let declared = self.declarator(outer)?;
        self.expect(")", "behind the declarator")?;
        self.back_to(end);
        let flexible = declared.flexible || (flexible && declared.ty == outer);
        Ok(Declared { flexible, ..declared })
    }

    /// Whether a parenthesis begins a declarator, not the parameters of a function.
    fn inner_declarator(&self) -> bool {
        self.word() == DefinitionWord::Mark("(")
            && match self.ahead(1) {
                DefinitionWord::Mark("*" | "(") | DefinitionWord::Name("__attribute__") => true,
                DefinitionWord::Name(name) => self.types.spelled(name).is_none() && !is_reserved(name),
                _ => false,
            }
    }

    /// `const` and notes behind a star.
    fn pointer_qualifiers(&mut self, pointer: TypeId) -> Parsed<TypeId> {
        let mut ty = pointer;
        loop {
            self.attributes()?;
            match self.word() {
                DefinitionWord::Name("const") => {
                    ty = self.types.locals.push(LocalType::Qualified { qualifier: "const", to: ty });
                }
                DefinitionWord::Name("volatile" | "restrict" | "__restrict" | "__restrict__") => {}
                DefinitionWord::Name(name) => match tag_of(name) {
                    Some(tag) => ty = self.types.locals.push(LocalType::Tag { tag, to: ty }),
                    None => return Ok(ty),
                },
                _ => return Ok(ty),
            }
            self.next();
        }
    }

    /// Brackets and parameters behind a name, and whether the first dimension is open.
    fn suffixes(&mut self, base: TypeId) -> Parsed<(TypeId, bool)> {
        let mut sizes = Vec::new();
        let start = self.place();
        loop {
            match self.word() {
                DefinitionWord::Mark("[") => {
                    self.next();
                    sizes.push(self.dimension(sizes.is_empty())?);
                }
                DefinitionWord::Mark("(") if sizes.is_empty() => {
                    self.skip_group()?;
                    // What a function takes is of no use to a probe: it cannot call it.
                    let prototype = LocalType::Prototype { returns: base, parameters: Vec::new(), variadic: true };
                    return Ok((self.types.locals.push(prototype), false));
                }
                _ => break,
            }
        }
        if sizes.is_empty() {
            return Ok((base, false));
        }
        self.complete_size(base, start, "an element of an array")?;
        let flexible = sizes.first() == Some(&None);
        let mut ty = base;
        for size in sizes.iter().rev() {
            ty = self.types.array_of(ty, size.unwrap_or(0));
        }
        if self.types.size(ty).is_none_or(|bytes| bytes > u64::from(u32::MAX)) {
            return Err(self.wrong_at(start, "this array is larger than 4 GiB", None));
        }
        Ok((ty, flexible))
    }

    /// What is in brackets: `None` if nothing.
    fn dimension(&mut self, first: bool) -> Parsed<Option<u32>> {
        let start = self.place();
        if self.take("]") {
            if first {
                return Ok(None);
            }
            return Err(self.wrong_at(start, "only the first dimension of an array may be open", None));
        }
        let value = self.constant_expression()?;
        let Ok(count) = u32::try_from(value) else {
            let what = format!("an array cannot have {value} elements");
            return Err(self.wrong_at(start, &what, None));
        };
        self.expect("]", "behind the size of the array")?;
        Ok(Some(count))
    }

    /// Whether a type is a function, which only pointers can point to.
    pub(super) fn is_function(&self, ty: TypeId) -> bool {
        matches!(self.types.stripped(ty), CType::Prototype { .. })
    }
}
