//! Reads definitions one after the other, and what a declaration begins with.

use super::{
    DefinitionError,
    layout::Attributes,
    tokens::{DefinitionToken, DefinitionWord, error, tokens},
};
use crate::types::{CType, TypeId, TypeKind, Types, local::LocalType, lookup};

/// How deeply records, parentheses and expressions may be nested.
const MAX_NESTING: u32 = 100;
/// Words that types of plain numbers are made of.
const BASE_WORDS: [&str; 11] =
    ["char", "short", "int", "long", "float", "double", "signed", "unsigned", "_Bool", "__int128", "__signed__"];
/// Words that change nothing here.
const IDLE_WORDS: [&str; 10] = [
    "__extension__",
    "__restrict",
    "restrict",
    "__restrict__",
    "__iomem",
    "__force",
    "__kernel",
    "__bitwise",
    "__nocast",
    "__private",
];

pub(super) type Parsed<T> = Result<T, DefinitionError>;

/// What a declaration begins with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Specifiers {
    pub(super) ty: TypeId,
    pub(super) attributes: Attributes,
    /// Whether it names or defines a struct, union or enum, so that it may stand alone.
    pub(super) tagged: bool,
}

pub(super) struct DefinitionParser<'a> {
    pub(super) types: &'a mut Types,
    pub(super) constants: &'a dyn Fn(&str) -> Option<i64>,
    tokens: Vec<DefinitionToken<'a>>,
    at: usize,
    nesting: u32,
    /// Whether structs that are not known may be pointed to: not where nothing could define them any more.
    pub(super) may_declare: bool,
    pub(super) defined: Vec<TypeId>,
}

impl<'a> DefinitionParser<'a> {
    pub(super) fn new(types: &'a mut Types, text: &'a str, constants: &'a dyn Fn(&str) -> Option<i64>) -> Parsed<Self> {
        let tokens = tokens(text)?;
        Ok(Self { types, constants, tokens, at: 0, nesting: 0, may_declare: true, defined: Vec::new() })
    }

    /// Reads all definitions.
    pub(super) fn definitions(mut self) -> Parsed<Vec<TypeId>> {
        while self.word() != DefinitionWord::End {
            if !self.take(";") {
                self.definition()?;
            }
        }
        Ok(self.defined)
    }

    /// Reads the name of a type and nothing else.
    pub(super) fn type_alone(mut self) -> Parsed<TypeId> {
        self.may_declare = false;
        let ty = self.type_name()?;
        match self.word() {
            DefinitionWord::End => Ok(ty),
            other => Err(self.wrong(&format!("expected the end of the type, found {}", other.shown()), None)),
        }
    }

    fn definition(&mut self) -> Parsed<()> {
        if self.take_name("typedef") {
            return self.typedef();
        }
        if !matches!(self.word(), DefinitionWord::Name("struct" | "union" | "enum" | "__extension__")) {
            let what = format!("expected `struct`, `union`, `enum` or `typedef`, found {}", self.word().shown());
            let how = "Only types can be defined in C; functions, variables and macros with parameters cannot.";
            return Err(self.wrong(&what, Some(how)));
        }
        if let (DefinitionWord::Name(keyword), DefinitionWord::Name(name), DefinitionWord::Mark(";")) =
            (self.word(), self.ahead(1), self.ahead(2))
        {
            self.declare(keyword, name);
            self.at += 3;
            return Ok(());
        }
        self.specifiers()?;
        if !self.take(";") {
            let what = format!("expected `;` behind the definition, found {}", self.word().shown());
            let how = if matches!(self.word(), DefinitionWord::Name(_)) {
                "Variables cannot be defined here; add `;`."
            } else {
                "Add `;`."
            };
            return Err(self.wrong(&what, Some(how)));
        }
        Ok(())
    }

    /// `struct NAME;` makes the name the script's own.
    fn declare(&mut self, keyword: &str, name: &str) {
        let kind = kind_of(keyword);
        if self.types.locals.named(kind, name).is_none() {
            let id = self.types.locals.push(LocalType::Forward { name: name.to_owned(), kind });
            self.types.locals.set_name(kind, name, id);
        }
    }

    fn typedef(&mut self) -> Parsed<()> {
        let specifiers = self.specifiers()?;
        loop {
            let start = self.at;
            let declared = self.declarator(specifiers.ty)?;
            let attributes = self.attributes()?.and(specifiers.attributes);
            let Some(name) = declared.name else {
                return Err(
                    self.wrong(&format!("expected the name of the new type, found {}", self.word().shown()), None)
                );
            };
            if self.types.locals.named(TypeKind::Typedef, name).is_some() {
                let what = format!("the type `{name}` is defined twice");
                return Err(self.wrong_at(start, &what, Some("Remove one of them.")));
            }
            let align = u32::try_from(attributes.align).ok().filter(|align| *align > 0);
            let id = self.types.locals.push(LocalType::Typedef { name: name.to_owned(), to: declared.ty, align });
            self.types.locals.set_name(TypeKind::Typedef, name, id);
            self.defined.push(id);
            if !self.take(",") {
                return self.expect(";", "behind the typedef");
            }
        }
    }

    /// A type without a name of its own: `const char *`, as in `sizeof`.
    pub(super) fn type_name(&mut self) -> Parsed<TypeId> {
        let specifiers = self.specifiers()?;
        let start = self.at;
        let declared = self.declarator(specifiers.ty)?;
        match declared.name {
            None => Ok(declared.ty),
            Some(name) => {
                let what = format!("expected a type only, found the name `{name}`");
                Err(self.wrong_at(start, &what, Some("Remove the name.")))
            }
        }
    }

    /// What a declaration begins with: qualifiers, attributes, and one type.
    pub(super) fn specifiers(&mut self) -> Parsed<Specifiers> {
        let start = self.at;
        let mut found = Specifiers { ty: TypeId::VOID, attributes: Attributes::default(), tagged: false };
        let (mut words, mut constant, mut done, mut tags) = (Vec::new(), false, false, Vec::new());
        loop {
            found.attributes = found.attributes.and(self.attributes()?);
            let DefinitionWord::Name(name) = self.word() else { break };
            match name {
                "const" | "__const" => constant = true,
                "volatile" | "__volatile__" => {}
                name if tag_of(name).is_some() => tags.extend(tag_of(name)),
                name if IDLE_WORDS.contains(&name) => {}
                "struct" | "union" | "enum" if !done && words.is_empty() => {
                    self.at += 1;
                    found.ty = self.nested(|parser| parser.tagged(name))?;
                    (found.tagged, done) = (true, true);
                    continue;
                }
                "void" if !done && words.is_empty() => done = true,
                name if BASE_WORDS.contains(&name) && !done => words.push(name),
                name if !done && words.is_empty() => {
                    found.ty = self.typedef_name(name)?;
                    done = true;
                }
                _ => break,
            }
            self.at += 1;
        }
        if !words.is_empty() {
            found.ty = lookup::base(&words).ok_or_else(|| {
                let what = format!("`{}` is no type", words.join(" "));
                self.wrong_at(start, &what, Some("Write a type such as `unsigned long`."))
            })?;
        } else if !done {
            return Err(self.wrong(&format!("expected a type, found {}", self.word().shown()), None));
        }
        for tag in tags {
            found.ty = self.types.locals.push(LocalType::Tag { tag, to: found.ty });
        }
        if constant {
            found.ty = self.types.locals.push(LocalType::Qualified { qualifier: "const", to: found.ty });
        }
        Ok(found)
    }

    fn typedef_name(&mut self, name: &str) -> Parsed<TypeId> {
        if let Some(known) = self.types.spelled(name) {
            return Ok(known);
        }
        let keywords = [(TypeKind::Struct, "struct"), (TypeKind::Union, "union"), (TypeKind::Enum, "enum")];
        let tagged = keywords.iter().find(|(kind, _)| self.types.find(*kind, name).is_some());
        let suggestion = match tagged {
            Some((_, keyword)) => Some(format!("Write `{keyword} {name}`.")),
            None => self.types.closest(TypeKind::Typedef, name).map(|near| format!("Did you mean `{near}`?")),
        };
        Err(self.wrong(&format!("there is no type `{name}`"), suggestion.as_deref()))
    }

    /// What is behind `struct`, `union` or `enum`.
    fn tagged(&mut self, keyword: &str) -> Parsed<TypeId> {
        let attributes = self.attributes()?;
        let name = match self.word() {
            DefinitionWord::Name(name) => {
                self.at += 1;
                Some(name)
            }
            _ => None,
        };
        match (keyword, self.word()) {
            ("enum", DefinitionWord::Mark("{" | ":")) => self.enumeration(name),
            (_, DefinitionWord::Mark("{")) => self.record(keyword == "union", name, attributes),
            _ => match name {
                Some(name) => self.reference(keyword, name),
                None => {
                    let what = format!("expected a name or `{{` behind `{keyword}`, found {}", self.word().shown());
                    Err(self.wrong(&what, None))
                }
            },
        }
    }

    /// `struct NAME` without a body.
    fn reference(&mut self, keyword: &str, name: &str) -> Parsed<TypeId> {
        let kind = kind_of(keyword);
        let known = self.types.locals.named(kind, name).or_else(|| self.types.find(kind, name));
        if let Some(known) = known {
            return Ok(known);
        }
        if self.may_declare {
            self.declare(keyword, name);
            return self.types.locals.named(kind, name).ok_or_else(|| self.wrong("too many types", None));
        }
        let suggestion = self.other_spelling(kind, name);
        Err(self.wrong_at(self.at - 1, &format!("there is no `{keyword} {name}`"), suggestion.as_deref()))
    }

    /// What somebody may have meant by a tag that is not known.
    pub(super) fn other_spelling(&self, kind: TypeKind, name: &str) -> Option<String> {
        let keywords = [
            (TypeKind::Struct, "struct "),
            (TypeKind::Union, "union "),
            (TypeKind::Enum, "enum "),
            (TypeKind::Typedef, ""),
        ];
        let other = keywords.iter().find(|(other, _)| self.types.definition(*other, name).is_some());
        let same = keywords.iter().find(|(other, _)| *other == kind).map_or("", |(_, keyword)| keyword);
        match other {
            Some((_, keyword)) => Some(format!("Did you mean `{keyword}{name}`?")),
            None => {
                let near = self.types.closest(kind, name).filter(|near| *near != name);
                near.map(|near| format!("Did you mean `{same}{near}`?"))
            }
        }
    }

    /// Whether a type begins here.
    pub(super) fn at_type(&self) -> bool {
        match self.word() {
            DefinitionWord::Name("struct" | "union" | "enum" | "void" | "const" | "volatile") => true,
            DefinitionWord::Name(name) => BASE_WORDS.contains(&name) || self.types.spelled(name).is_some(),
            _ => false,
        }
    }

    /// Attributes, if there are any here.
    pub(super) fn attributes(&mut self) -> Parsed<Attributes> {
        let mut found = Attributes::default();
        loop {
            match self.word() {
                DefinitionWord::Name("__packed") => found.packed = true,
                DefinitionWord::Name("__aligned") => {
                    self.at += 1;
                    found.align = found.align.max(self.alignment()?);
                    continue;
                }
                DefinitionWord::Name("__attribute__" | "__attribute") => {
                    self.at += 1;
                    found = found.and(self.attribute_list()?);
                    continue;
                }
                _ => return Ok(found),
            }
            self.at += 1;
        }
    }

    fn attribute_list(&mut self) -> Parsed<Attributes> {
        let mut found = Attributes::default();
        self.expect("(", "behind `__attribute__`")?;
        self.expect("(", "behind `__attribute__`")?;
        loop {
            match self.word() {
                DefinitionWord::Name(name) => {
                    self.at += 1;
                    match name.trim_matches('_') {
                        "packed" => found.packed = true,
                        "aligned" => found.align = found.align.max(self.alignment()?),
                        // Others do not change where things are.
                        _ if self.word() == DefinitionWord::Mark("(") => self.skip_group()?,
                        _ => {}
                    }
                }
                DefinitionWord::Mark(",") => self.at += 1,
                _ => break,
            }
        }
        self.expect(")", "behind the attributes")?;
        self.expect(")", "behind the attributes")?;
        Ok(found)
    }

    /// `(8)`; without a number it is the largest that is ever useful.
    fn alignment(&mut self) -> Parsed<u64> {
        if !self.take("(") {
            return Ok(16);
        }
        let start = self.at;
        let value = self.constant_expression()?;
        let align = u64::try_from(value).ok().filter(|align| align.is_power_of_two() && *align <= 1 << 20);
        let Some(align) = align else {
            let how = Some("Use a power of two such as 8 or 64.");
            return Err(self.wrong_at(start, &format!("{value} is no alignment"), how));
        };
        self.expect(")", "behind the alignment")?;
        Ok(align)
    }

    /// Passes over parentheses and what is in them.
    pub(super) fn skip_group(&mut self) -> Parsed<()> {
        let (start, mut open) = (self.at, 0_usize);
        loop {
            match self.word() {
                DefinitionWord::Mark("(") => open += 1,
                DefinitionWord::Mark(")") => open -= 1,
                DefinitionWord::End => {
                    return Err(self.wrong_at(start, "this parenthesis is not closed", Some("Add `)`.")));
                }
                _ => {}
            }
            self.at += 1;
            if open == 0 {
                return Ok(());
            }
        }
    }

    /// Goes one level deeper.
    pub(super) fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.nesting >= MAX_NESTING {
            return Err(self.wrong(&format!("this is nested more than {MAX_NESTING} levels deep"), None));
        }
        self.nesting += 1;
        let result = parse(self);
        self.nesting -= 1;
        result
    }

    pub(super) fn word(&self) -> DefinitionWord<'a> {
        self.ahead(0)
    }

    pub(super) fn ahead(&self, by: usize) -> DefinitionWord<'a> {
        self.tokens.get(self.at + by).map_or(DefinitionWord::End, |token| token.word)
    }

    pub(super) fn next(&mut self) {
        self.at += 1;
    }

    /// Where the parser is, to come back to.
    pub(super) fn place(&self) -> usize {
        self.at
    }

    pub(super) fn back_to(&mut self, place: usize) {
        self.at = place;
    }

    pub(super) fn take(&mut self, mark: &str) -> bool {
        let here = matches!(self.word(), DefinitionWord::Mark(found) if found == mark);
        self.at += usize::from(here);
        here
    }

    pub(super) fn take_name(&mut self, name: &str) -> bool {
        let here = matches!(self.word(), DefinitionWord::Name(found) if found == name);
        self.at += usize::from(here);
        here
    }

    pub(super) fn expect(&mut self, mark: &str, place: &str) -> Parsed<()> {
        if self.take(mark) {
            return Ok(());
        }
        let found = self.word().shown();
        Err(self.wrong(&format!("expected `{mark}` {place}, found {found}"), Some(&format!("Add `{mark}`."))))
    }

    /// An error at the present word.
    pub(super) fn wrong(&self, message: &str, suggestion: Option<&str>) -> DefinitionError {
        self.wrong_at(self.at, message, suggestion)
    }

    /// An error at a word seen before.
    pub(super) fn wrong_at(&self, place: usize, message: &str, suggestion: Option<&str>) -> DefinitionError {
        let at = self.tokens.get(place).or(self.tokens.last()).map_or(0..0, |token| token.at.clone());
        error(at, message, suggestion)
    }

    /// Whether a type can be used by value, and its size.
    pub(super) fn complete_size(&self, ty: TypeId, place: usize, what: &str) -> Parsed<u64> {
        if let Some(bytes) = self.types.size(ty) {
            return Ok(bytes);
        }
        let stripped = self.types.strip(ty).id;
        let (message, suggestion) = match self.types.get(stripped) {
            CType::Forward { name, kind } => {
                let suggestion = self.other_spelling(kind, name);
                let how = suggestion.or_else(|| Some("Define it before, or use a pointer to it.".to_owned()));
                (format!("{what} cannot have the type `{}`, which is not defined", self.types.render(ty)), how)
            }
            CType::Void => (format!("{what} cannot have the type `void`"), Some("Use `void *`.".to_owned())),
            _ => {
                (format!("{what} cannot have the type `{}`", self.types.render(ty)), Some("Use a pointer.".to_owned()))
            }
        };
        Err(self.wrong_at(place, &message, suggestion.as_deref()))
    }
}

/// The note that a word makes.
pub(super) fn tag_of(word: &str) -> Option<&'static str> {
    match word {
        "__user" => Some("user"),
        "__rcu" => Some("rcu"),
        "__percpu" => Some("percpu"),
        _ => None,
    }
}

/// Whether a word cannot be a name.
pub(super) fn is_reserved(word: &str) -> bool {
    BASE_WORDS.contains(&word)
        || matches!(word, "void" | "const" | "volatile" | "struct" | "union" | "enum" | "typedef" | "sizeof")
        || matches!(word, "__attribute__" | "__attribute" | "__packed" | "__aligned")
}

fn kind_of(keyword: &str) -> TypeKind {
    match keyword {
        "union" => TypeKind::Union,
        "enum" => TypeKind::Enum,
        _ => TypeKind::Struct,
    }
}
