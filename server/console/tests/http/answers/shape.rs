//! Shapes of JSON, as serde's derive makes them of a type or reads them into it.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Fields, GenericArgument, Item, PathArguments, Type};

use super::source::{Side, Sources, TypeId, doc_of};

/// What a JSON value looks like.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Nothing, not even null.
    Absent,
    Null,
    Bool,
    Integer,
    Number,
    Text,
    /// Exactly this text.
    Word(String),
    Array(Box<Shape>),
    Tuple(Vec<Shape>),
    /// An object whose keys are data.
    Map(Box<Shape>),
    Object(Vec<Field>),
    Union(Vec<Shape>),
    Named(TypeId),
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: String,
    pub shape: Shape,
    /// Whether it can be missing.
    pub optional: bool,
    /// What is said of it.
    pub doc: String,
}

/// Shapes that have names.
pub struct Shapes {
    pub side: Side,
    pub by_id: BTreeMap<TypeId, Option<Shape>>,
}

/// What types write or read that implement serde's traits by hand, by name: in whichever room they are.
const BY_HAND: [(&str, &str); 6] = [
    ("ShownCell", "cell"),
    ("KeyId", "text"),
    ("CodePlace", "text"),
    ("NodeId", "text"),
    ("ShareId", "text"),
    ("NodeKind", "number"),
];

/// Fields that a module of ours writes: `#[serde(with = "…")]`.
const WITH: [(&str, Shape); 2] =
    [("crate::predicate::text", Shape::Text), ("bathyscope_capture::predicate_text", Shape::Text)];

/// Serde's attributes of a type, a variant or a field.
#[derive(Default)]
struct Attributes {
    rename: Option<String>,
    snake_case: bool,
    flatten: bool,
    skip: bool,
    skip_written: bool,
    optional: Option<String>,
    untagged: bool,
    tag: Option<String>,
    into: Option<String>,
    from: Option<String>,
    has_default: bool,
    skip_read: bool,
    with: Option<String>,
    read_with: Option<String>,
}

impl Shapes {
    pub fn new(side: Side) -> Self {
        Self { side, by_id: BTreeMap::new() }
    }

    /// The type of a module, by its name.
    pub fn named(&mut self, sources: &Sources, crate_name: &str, module: &[&str], name: &str) -> Shape {
        let file = sources.file(crate_name, module);
        self.of_path(sources, file, &[name.to_owned()])
    }

    /// Makes the shapes of all names, and of those that they name; and forgets names that nothing of `roots` has in it.
    pub fn finish(&mut self, sources: &Sources, roots: &[&Shape]) {
        while let Some(id) = self.by_id.iter().find(|(_, shape)| shape.is_none()).map(|(id, _)| *id) {
            let shape = self.of_item(sources, id);
            self.by_id.insert(id, Some(shape));
        }
        let mut used = BTreeSet::new();
        for root in roots {
            self.note_used(root, &mut used);
        }
        self.by_id.retain(|id, _| used.contains(id));
    }

    fn note_used(&self, shape: &Shape, used: &mut BTreeSet<TypeId>) {
        match shape {
            Shape::Absent
            | Shape::Null
            | Shape::Bool
            | Shape::Integer
            | Shape::Number
            | Shape::Text
            | Shape::Word(_) => {}
            Shape::Array(of) | Shape::Map(of) => self.note_used(of, used),
            Shape::Tuple(parts) | Shape::Union(parts) => parts.iter().for_each(|part| self.note_used(part, used)),
            Shape::Object(fields) => fields.iter().for_each(|field| self.note_used(&field.shape, used)),
            Shape::Named(id) if used.insert(*id) => self.note_used(self.by_id[id].as_ref().unwrap(), used),
            Shape::Named(_) => {}
        }
    }

    pub fn of_path(&mut self, sources: &Sources, file: usize, path: &[String]) -> Shape {
        let id = sources.resolve(self.side, file, path);
        if let Item::Type(alias) = sources.item(id) {
            return self.of_type(sources, id.file, &alias.ty);
        }
        self.by_id.entry(id).or_default();
        Shape::Named(id)
    }

    pub fn of_type(&mut self, sources: &Sources, file: usize, ty: &Type) -> Shape {
        match ty {
            Type::Reference(reference) => self.of_type(sources, file, &reference.elem),
            Type::Paren(inner) => self.of_type(sources, file, &inner.elem),
            Type::Slice(slice) => Shape::Array(Box::new(self.of_type(sources, file, &slice.elem))),
            Type::Array(array) => Shape::Array(Box::new(self.of_type(sources, file, &array.elem))),
            Type::Tuple(tuple) if tuple.elems.is_empty() => Shape::Null,
            Type::Tuple(tuple) => {
                Shape::Tuple(tuple.elems.iter().map(|one| self.of_type(sources, file, one)).collect())
            }
            Type::Path(path) => {
                let names: Vec<String> = path.path.segments.iter().map(|part| part.ident.to_string()).collect();
                let inner = type_arguments(&path.path.segments.last().unwrap().arguments);
                self.of_name(sources, file, &names, &inner)
            }
            _ => panic!("{}: a type of this form is not known here", sources.files[file].module.join("::")),
        }
    }

    fn of_name(&mut self, sources: &Sources, file: usize, names: &[String], inner: &[&Type]) -> Shape {
        let mut last = || Box::new(self.of_type(sources, file, inner.last().unwrap()));
        match names.last().unwrap().as_str() {
            "bool" => Shape::Bool,
            "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64" | "i128" | "isize"
            | "NonZeroU32" | "NonZeroU64" => Shape::Integer,
            "f32" | "f64" => Shape::Number,
            "str" | "String" | "char" | "PathBuf" | "Path" => Shape::Text,
            "Option" => Shape::Union(vec![*last(), Shape::Null]),
            "Vec" | "VecDeque" | "BTreeSet" => Shape::Array(last()),
            "Box" | "Arc" | "Cow" => *last(),
            "BTreeMap" | "HashMap" => Shape::Map(last()),
            _ => self.of_path(sources, file, names),
        }
    }

    pub fn of_item(&mut self, sources: &Sources, id: TypeId) -> Shape {
        match sources.item(id) {
            Item::Struct(item) => {
                let attributes = Attributes::read(&item.attrs);
                if let Some(other) = attributes.instead(self.side) {
                    return self.of_type(sources, id.file, &syn::parse_str(other).unwrap());
                }
                self.of_fields(sources, id.file, (&item.fields, attributes.has_default))
            }
            Item::Enum(item) => {
                let attributes = Attributes::read(&item.attrs);
                if let Some(other) = attributes.instead(self.side) {
                    return self.of_type(sources, id.file, &syn::parse_str(other).unwrap());
                }
                let side = self.side;
                let kept = item.variants.iter().filter(|variant| !Attributes::read(&variant.attrs).skips(side));
                Shape::Union(kept.map(|variant| self.of_variant(sources, id.file, &attributes, variant)).collect())
            }
            Item::Impl(item) => {
                let Type::Path(path) = &*item.self_ty else { panic!("only paths implement Serialize here") };
                by_hand(&path.path.segments.last().unwrap().ident.to_string())
            }
            _ => panic!("this item is no type"),
        }
    }

    fn of_variant(&mut self, sources: &Sources, file: usize, of: &Attributes, variant: &syn::Variant) -> Shape {
        let own = Attributes::read(&variant.attrs).rename;
        let name = variant.ident.to_string();
        let name = own.unwrap_or_else(|| if of.snake_case { snake_case(&name) } else { name });
        if let Some(tag) = &of.tag {
            let mut fields = vec![Field::new(tag, Shape::Word(name))];
            match self.of_fields(sources, file, (&variant.fields, false)) {
                Shape::Null => {}
                Shape::Object(own) => fields.extend(own),
                _ => panic!("only fields with names stand beside a tag here"),
            }
            return Shape::Object(fields);
        }
        match &variant.fields {
            Fields::Unit if of.untagged => Shape::Null,
            Fields::Unit => Shape::Word(name),
            fields => {
                let shape = self.of_fields(sources, file, (fields, false));
                if of.untagged { shape } else { Shape::Object(vec![Field::new(&name, shape)]) }
            }
        }
    }

    /// `has_default`: whether what is missing has the type's usual value.
    fn of_fields(&mut self, sources: &Sources, file: usize, (fields, has_default): (&Fields, bool)) -> Shape {
        match fields {
            Fields::Unit => Shape::Null,
            Fields::Unnamed(fields) if fields.unnamed.len() == 1 => self.of_type(sources, file, &fields.unnamed[0].ty),
            Fields::Unnamed(fields) => {
                Shape::Tuple(fields.unnamed.iter().map(|field| self.of_type(sources, file, &field.ty)).collect())
            }
            Fields::Named(fields) => {
                let mut made = Vec::new();
                for field in &fields.named {
                    self.add_field(sources, file, field, &mut made);
                }
                made.iter_mut().for_each(|field| field.optional |= has_default && self.side == Side::Read);
                Shape::Object(made)
            }
        }
    }

    fn add_field(&mut self, sources: &Sources, file: usize, field: &syn::Field, made: &mut Vec<Field>) {
        let attributes = Attributes::read(&field.attrs);
        if attributes.skips(self.side) {
            return;
        }
        let shape = match &attributes.with {
            Some(with) => {
                let known = WITH.iter().find(|(known, _)| known == with).map(|(_, shape)| shape.clone());
                known.unwrap_or_else(|| panic!("{with} is not known here: say in WITH what it looks like"))
            }
            None => self.of_type(sources, file, &field.ty),
        };
        let shape = match attributes.read_with.as_deref().filter(|_| self.side == Side::Read) {
            // A number, or text with a unit.
            Some("json_seconds" | "json_mebibytes") => Shape::Union(vec![shape, Shape::Text]),
            Some(other) => panic!("{other} is not known here: say what it reads"),
            None => shape,
        };
        if attributes.flatten {
            let Shape::Named(id) = shape else { panic!("only named types are flattened here") };
            match self.of_item(sources, id) {
                Shape::Object(fields) => made.extend(fields),
                // One of several: of which none is certain.
                Shape::Union(parts) if self.side == Side::Read => {
                    let fields = parts.into_iter().flat_map(|part| match part {
                        Shape::Object(fields) => fields,
                        _ => panic!("only variants with names are flattened here"),
                    });
                    made.extend(fields.map(|field| Field { optional: true, ..field }));
                }
                _ => panic!("only structs are flattened here"),
            }
            return;
        }
        // What is left out where it is none is never null.
        let shape = match (attributes.optional.as_deref(), shape) {
            (Some("Option::is_none"), Shape::Union(mut parts)) => {
                parts.retain(|part| *part != Shape::Null);
                if parts.len() == 1 { parts.remove(0) } else { Shape::Union(parts) }
            }
            (_, shape) => shape,
        };
        let is_option = matches!(&shape, Shape::Union(parts) if parts.last() == Some(&Shape::Null));
        let optional = match self.side {
            Side::Written => attributes.optional.is_some(),
            Side::Read => attributes.has_default || is_option,
        };
        let name = attributes.rename.unwrap_or_else(|| field.ident.as_ref().unwrap().to_string());
        made.push(Field { name, shape, optional, doc: doc_of(&field.attrs) });
    }
}

impl Field {
    /// One that is always there, and of which nothing is said.
    pub fn new(name: &str, shape: Shape) -> Self {
        Self { name: name.to_owned(), shape, optional: false, doc: String::new() }
    }
}

impl Attributes {
    /// The type that is written or read in the place of this one.
    fn instead(&self, side: Side) -> Option<&str> {
        if side == Side::Written { self.into.as_deref() } else { self.from.as_deref() }
    }

    fn skips(&self, side: Side) -> bool {
        self.skip || (side == Side::Written && self.skip_written) || (side == Side::Read && self.skip_read)
    }

    fn read(attributes: &[syn::Attribute]) -> Self {
        let mut read = Self::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            let parsed = attribute.parse_nested_meta(|meta| {
                let name = meta.path.require_ident()?.to_string();
                let value =
                    meta.value().ok().map(|value| value.parse::<syn::LitStr>()).transpose()?.map(|text| text.value());
                read.note(&name, value);
                Ok(())
            });
            parsed.unwrap();
        }
        read
    }

    fn note(&mut self, name: &str, value: Option<String>) {
        match (name, value) {
            ("rename", value) => self.rename = value,
            ("rename_all", Some(case)) if case == "snake_case" => self.snake_case = true,
            ("flatten", None) => self.flatten = true,
            ("skip", None) => self.skip = true,
            ("skip_serializing", None) => self.skip_written = true,
            ("skip_deserializing", None) => self.skip_read = true,
            ("skip_serializing_if", value) => self.optional = value,
            ("untagged", None) => self.untagged = true,
            ("tag", value) => self.tag = value,
            ("into", value) => self.into = value,
            ("with", value) => self.with = value,
            ("deserialize_with", value) => self.read_with = value,
            ("from" | "try_from", value) => self.from = value,
            ("default", _) => self.has_default = true,
            ("deny_unknown_fields" | "alias", _) => {}
            (name, value) => panic!("#[serde({name} = {value:?})] is not known here"),
        }
    }
}

fn by_hand(name: &str) -> Shape {
    match BY_HAND.iter().find(|(known, _)| *known == name).map(|(_, form)| *form) {
        Some("text") => Shape::Text,
        Some("number") => Shape::Integer,
        Some("cell") => {
            let stack = [("id", Shape::Integer), ("top", Shape::Text), ("depth", Shape::Integer)];
            let stack = stack.map(|(name, shape)| Field::new(name, shape));
            Shape::Union(vec![Shape::Null, Shape::Number, Shape::Text, Shape::Object(stack.to_vec())])
        }
        _ => panic!("{name} is written or read by hand: say in BY_HAND what it looks like"),
    }
}

fn type_arguments(arguments: &PathArguments) -> Vec<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else { return Vec::new() };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

/// A variant's name as `rename_all = "snake_case"` writes it.
fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for (at, letter) in name.char_indices() {
        if at > 0 && letter.is_uppercase() {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}
