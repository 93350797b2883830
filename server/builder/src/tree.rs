//! What the tree of arguments is made of.

use bathyscope_catalog::types::TypeId;
use serde::Serialize;

use crate::form::ValueFormat;

/// Bytes of memory that are shown where nothing says how many there are.
pub(crate) const SOME_BYTES: u32 = 64;

/// A value, or something that has values in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ArgumentNode {
    /// Its name in the list that it is in, by which it is unfolded.
    pub name: String,
    /// The expression of the language.
    pub expr: String,
    /// Its type as in C.
    #[serde(rename = "type")]
    pub ty: String,
    /// Its size; none if it is not known.
    pub bytes: Option<u64>,
    /// Where it begins in what it is a member of.
    pub bit_offset: Option<u64>,
    /// How many bits it has, if it is a bit field.
    pub bits: Option<u32>,
    /// What it is.
    pub kind: ArgumentKind,
    /// How it can be shown, the usual way first; empty if it is no single value.
    pub formats: Vec<ValueFormat>,
    /// Whether a text of it is best looked at when the second place is hit.
    pub late: bool,
    /// The names that its values have.
    pub constants: Vec<NamedConstant>,
    /// Whether something is in it or behind it.
    pub opens: bool,
    /// Whether it may be the address of memory that nothing describes, which can be looked at byte by byte.
    pub memory: bool,
    /// What else is to be known, in words; may be empty.
    pub note: String,
    #[serde(skip)]
    pub(crate) at: Option<TypeId>,
    /// The structs that it is a member of, the innermost first: none of what is no member.
    #[serde(skip)]
    pub(crate) member_of: Vec<MemberOf>,
}

/// A struct that something is a member of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MemberOf {
    /// The struct.
    pub(crate) owner: TypeId,
    /// What stands before its members: `args.file->`.
    pub(crate) before: String,
    /// The member, with dots where it is in a struct within.
    pub(crate) path: String,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArgumentKind {
    /// A number.
    Number,
    /// `bool`.
    Boolean,
    /// A number whose values have names.
    Enumeration,
    /// A text that is in the value itself.
    Text,
    /// A pointer.
    Pointer,
    /// A struct.
    Structure,
    /// A union.
    Union,
    /// An array.
    Array,
    /// Nothing that can be read.
    Other,
}

/// A value with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedConstant {
    /// The name.
    pub name: String,
    /// The value.
    pub value: i64,
}

/// A list of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ArgumentList {
    /// In order.
    pub nodes: Vec<ArgumentNode>,
    /// How many more there are.
    pub left_out: usize,
    /// Why there are none, or others than expected, in words; may be empty.
    pub note: String,
}

/// A value of which nothing is known but its type.
pub(crate) fn blank(name: &str, expr: String, ty: String) -> ArgumentNode {
    ArgumentNode {
        name: name.to_owned(),
        expr,
        ty,
        bytes: None,
        bit_offset: None,
        bits: None,
        kind: ArgumentKind::Other,
        formats: Vec::new(),
        late: false,
        constants: Vec::new(),
        opens: false,
        memory: false,
        note: String::new(),
        at: None,
        member_of: Vec::new(),
    }
}
