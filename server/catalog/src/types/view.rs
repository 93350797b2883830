//! What a type looks like: the values that [`Types`](super::Types) answers with.

use std::fmt;

/// Names one type of a [`Types`](super::Types): of the kernel, of a module, of a script, or built in. It means nothing
/// to another `Types`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub(super) u32);

impl TypeId {
    /// `void`: no type at all.
    pub const VOID: Self = Self(0);
}

impl fmt::Debug for TypeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "#{:x}", self.0)
    }
}

/// What the kernel calls a type: what a loader writes into programs that attach to functions by BTF.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BtfId<'a> {
    /// The module that defines it; `None` is the kernel itself.
    pub module: Option<&'a str>,
    /// The number in the kernel's (or the module's, which goes on where the kernel's ends) BTF.
    pub id: u32,
}

/// The sorts of types that can be looked up by name. Each is a name space of its own, as in C.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TypeKind {
    /// `struct NAME`.
    Struct,
    /// `union NAME`.
    Union,
    /// `enum NAME`.
    Enum,
    /// `typedef … NAME`.
    Typedef,
    /// An integer, boolean or floating-point type as the compiler calls it: `unsigned int`.
    Base,
    /// A function.
    Function,
    /// A variable of the kernel (BTF has per-CPU ones only, newer kernels all).
    Variable,
    /// A section of variables: `.data..percpu`.
    Section,
}

/// One type, one level deep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CType<'a> {
    /// `void`, or an id that does not exist.
    Void,
    /// An integer, character or boolean.
    Int(Int<'a>),
    /// A floating-point number.
    Float {
        /// `double`.
        name: &'a str,
        /// Its size.
        bytes: u32,
    },
    /// A pointer.
    Pointer {
        /// To what: possibly a [`CType::Tag`], see [`Types::pointer`](super::Types::pointer).
        to: TypeId,
    },
    /// An array; of more than one dimension if its element is an array.
    Array {
        /// Of what.
        element: TypeId,
        /// How many; 0 if flexible or unknown.
        count: u32,
    },
    /// A struct or union; [`Types::members`](super::Types::members) has what is in it.
    Record(Record<'a>),
    /// An enum; [`Types::constants`](super::Types::constants) has what is in it.
    Enum(Enum<'a>),
    /// A struct, union or enum whose definition is not known here.
    Forward {
        /// Its name.
        name: &'a str,
        /// What it is.
        kind: TypeKind,
    },
    /// Another name.
    Typedef {
        /// The name.
        name: &'a str,
        /// For what.
        to: TypeId,
    },
    /// `const`, `volatile` or `restrict`.
    Qualified {
        /// Which, as in C.
        qualifier: &'static str,
        /// What.
        to: TypeId,
    },
    /// A compiler's note on a type, such as `user` on what a pointer points to.
    Tag {
        /// The note.
        tag: &'a str,
        /// On what.
        to: TypeId,
    },
    /// The type of a function; see [`Types::signature`](super::Types::signature).
    Prototype {
        /// What it returns.
        returns: TypeId,
        /// How many parameters are described.
        parameters: u32,
    },
    /// A function.
    Function {
        /// Its name.
        name: &'a str,
        /// Its type.
        prototype: TypeId,
    },
    /// A variable.
    Variable {
        /// Its name.
        name: &'a str,
        /// Its type.
        ty: TypeId,
    },
    /// A section of variables.
    Section {
        /// Its name.
        name: &'a str,
        /// Its size.
        bytes: u32,
    },
    /// A note on a declaration: no type.
    DeclarationTag {
        /// The note.
        tag: &'a str,
        /// On what.
        to: TypeId,
    },
}

/// An integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Int<'a> {
    /// As in C: `long unsigned int`.
    pub name: &'a str,
    /// Its size: 1, 2, 4, 8 or 16.
    pub bytes: u32,
    /// Whether it can be negative.
    pub signed: bool,
    /// Whether it is `_Bool`.
    pub boolean: bool,
    /// Whether it is a character: `char`, or what says that it is one.
    pub character: bool,
}

/// The size and sign of what can be computed with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Integer {
    /// Its size: 1, 2, 4, 8 or 16.
    pub bytes: u32,
    /// Whether it can be negative.
    pub signed: bool,
    /// Whether it is `_Bool`.
    pub boolean: bool,
    /// Whether it is one byte of text: `char`.
    pub character: bool,
    /// The enum that it is a value of.
    pub of: Option<TypeId>,
}

/// A struct or union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    /// Its name; empty if anonymous.
    pub name: &'a str,
    /// Whether members share their place.
    pub union: bool,
    /// Its size.
    pub bytes: u32,
    /// How many members it has.
    pub members: u32,
}

/// A member of a struct or union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its name; empty if it is an anonymous struct or union (or padding).
    pub name: &'a str,
    /// Its type.
    pub ty: TypeId,
    /// Where it begins, in bits from the beginning of the record it is in (little endian: bit 0 of a byte is the lowest).
    pub bit_offset: u64,
    /// How wide it is if it is a bitfield.
    pub bits: Option<u32>,
}

/// A member found by name, anonymous structs and unions on the way included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberLocation {
    /// Its type, as declared (not stripped).
    pub ty: TypeId,
    /// Where it begins, in bits from the beginning of the record that was asked.
    pub bit_offset: u64,
    /// How wide it is if it is a bitfield.
    pub bits: Option<u32>,
}

impl MemberLocation {
    /// Where it begins, in bytes; of a bitfield the byte that its first bit is in.
    pub fn byte_offset(&self) -> u64 {
        self.bit_offset / 8
    }
}

/// An enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enum<'a> {
    /// Its name; empty if anonymous.
    pub name: &'a str,
    /// The size of its values: 1, 2, 4 or 8.
    pub bytes: u32,
    /// Whether values can be negative.
    pub signed: bool,
    /// How many constants it has.
    pub constants: u32,
}

/// A constant of an enum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumConstant<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value; that of an unsigned 64-bit one in the same bits.
    pub value: i64,
    /// Whether the value is to be read as signed.
    pub signed: bool,
    /// The enum it belongs to.
    pub of: TypeId,
}

/// What compilers noted on the way to a type, and what is behind all names and qualifiers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// `__user`: an address of the traced process.
    pub user: bool,
    /// `__rcu`: a pointer that RCU protects.
    pub rcu: bool,
    /// `__percpu`: an offset to which a CPU's base is to be added.
    pub percpu: bool,
    /// `const`.
    pub constant: bool,
}

/// A type without typedefs, qualifiers and notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stripped {
    /// What is behind them.
    pub id: TypeId,
    /// What was noted on the way.
    pub notes: Notes,
}

/// What a pointer points to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pointer {
    /// To what, without notes and qualifiers but with its typedef's name, if it has one.
    pub to: TypeId,
    /// What was noted on the pointer or on what it points to.
    pub notes: Notes,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Its name; empty if it has none.
    pub name: &'a str,
    /// Its type.
    pub ty: TypeId,
}

/// What a function takes and returns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature<'a> {
    /// Its parameters, in order.
    pub parameters: Vec<Parameter<'a>>,
    /// What it returns.
    pub returns: TypeId,
    /// Whether there may be more: `...`.
    pub variadic: bool,
}

/// A function of the kernel or of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Function<'a> {
    /// Its name.
    pub name: &'a str,
    /// The module it is in; `None` is the kernel itself.
    pub module: Option<&'a str>,
    /// Its type: a [`CType::Function`].
    pub id: TypeId,
}

/// What a raw tracepoint passes to a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawTracepoint<'a> {
    /// The module it is in; `None` is the kernel itself.
    pub module: Option<&'a str>,
    /// The typedef `btf_trace_NAME`; its [`BtfId`] is what a program attaches to.
    pub id: TypeId,
    /// What a program finds in its context, one 8-byte slot each. The names are empty if this kernel does not tell.
    pub parameters: Vec<Parameter<'a>>,
}

/// A variable of the kernel or of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelVariable<'a> {
    /// Its name.
    pub name: &'a str,
    /// The module it is in; `None` is the kernel itself.
    pub module: Option<&'a str>,
    /// The variable itself: a [`CType::Variable`].
    pub id: TypeId,
    /// Its type.
    pub ty: TypeId,
    /// The section that lists it, such as `.data..percpu`; empty if none does.
    pub section: &'a str,
    /// Where in that section.
    pub offset: u32,
    /// Its size.
    pub bytes: u32,
}

impl KernelVariable<'_> {
    /// Whether every CPU has one of its own.
    pub fn percpu(&self) -> bool {
        self.section == ".data..percpu"
    }
}

/// Names that begin with what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completions<'a> {
    /// How many there are.
    pub total: usize,
    /// The first of them in order of the alphabet.
    pub names: Vec<&'a str>,
}
