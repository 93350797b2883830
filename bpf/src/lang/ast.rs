//! The syntax tree of a script: what was written, with its places, and nothing about what it means.

use bathyscope_plan::{Diagnostic, Span};

/// A name with its place. Without the `$` or `@` that introduces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A whole script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Definitions of C types, each as it stands in the text; what C knows of them is `catalog`'s business.
    pub definitions: Vec<Span>,
    /// `#define NAME VALUE`, after the conditions around them were decided.
    pub defines: Vec<Define>,
    /// The `config` block and the `config`-like lines, in order.
    pub config: Vec<Setting>,
    /// `import "…";`: refused later with what to do instead.
    pub imports: Vec<Name>,
    /// Everything else, in order.
    pub items: Vec<Item>,
    /// Lines of the preprocessor, and what its conditions left out.
    pub skipped: Vec<Span>,
    /// What was accepted but is not as it may seem.
    pub warnings: Vec<Diagnostic>,
}

/// A `#define` without parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Define {
    /// Its name.
    pub name: Name,
    /// Its value; none if it is empty.
    pub value: Option<Expr>,
}

/// One setting of the `config` block.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// What is set.
    pub name: Name,
    /// To what: a number, a text or a word.
    pub value: Expr,
}

/// A part of a script.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// `probe[, probe…] [/predicate/] { … }`.
    Probe(Probe),
    /// `macro name(parameters) { … }`.
    Macro(Macro),
    /// `let @name = kind(entries);`.
    Map(MapDeclaration),
}

/// A probe block.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Where it is attached, as written.
    pub points: Vec<AttachText>,
    /// When its body runs.
    pub predicate: Option<Expr>,
    /// What it does.
    pub body: Block,
    /// All of it.
    pub span: Span,
}

/// An attach point as written, split at its colons; quotes are removed and escapes resolved within a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachText {
    /// The parts: the provider first, in its long present spelling (`kprobe` for `k`, `begin` for `BEGIN`, `fentry` for
    /// `kfunc`).
    pub parts: Vec<Name>,
    /// As written.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// A macro.
#[derive(Clone, Debug, PartialEq)]
pub struct Macro {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub parameters: Vec<MacroParameter>,
    /// What it is replaced by.
    pub body: Block,
    /// All of it.
    pub span: Span,
}

/// A parameter of a macro.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MacroParameter {
    /// `name`: an expression, put in as it is.
    Expression(Name),
    /// `$name`: a variable, passed by name.
    Variable(Name),
    /// `@name`: a map, passed by name.
    Map(Name),
}

/// A map's declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct MapDeclaration {
    /// Its name.
    pub map: Name,
    /// `hash`, `lruhash`, `percpuhash`, `percpulruhash`, `percpuarray`, as written.
    pub kind: Name,
    /// The most entries.
    pub entries: Expr,
    /// All of it.
    pub span: Span,
}

/// Statements in braces.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    /// In order.
    pub statements: Vec<Statement>,
    /// The last expression without a semicolon: the value of a block expression or macro.
    pub value: Option<Box<Expr>>,
    /// With the braces.
    pub span: Span,
    /// The call, if it was put in for one of a macro.
    pub called: Option<Span>,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// All of it.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are what the description names")]
pub enum StatementKind {
    /// An expression for its effect.
    Expression(Expr),
    /// `let $x[: type] [= value];`.
    Let { variable: Name, ty: Option<TypeText>, value: Option<Expr> },
    /// `place = value` or `place op= value`; the place is a variable, a map's element, or `_`.
    Assign { place: Expr, op: Option<BinaryOp>, value: Expr },
    /// `if condition { … } else { … }`; `comptime` says that the condition is decided by the compiler.
    If { condition: Expr, comptime: bool, then: Block, otherwise: Option<Block> },
    /// `unroll(count) { … }`.
    Unroll { count: Expr, body: Block },
    /// `while (condition) { … }`.
    While { condition: Expr, body: Block },
    /// `for ($variable : first..end) { … }`.
    ForRange { variable: Name, first: Expr, end: Expr, body: Block },
    /// `for ($variable : @map) { … }`.
    ForMap { variable: Name, map: Name, body: Block },
    /// `break;`
    Break,
    /// `continue;`
    Continue,
    /// `return;` or `return value;`
    Return(Option<Expr>),
    /// `{ … }`
    Block(Block),
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are what the description names")]
pub enum ExprKind {
    /// A number; a duration is in nanoseconds. `unsigned` if it was written so (`1u`, `0xffff_ffff_ffff_ffff`).
    Integer { value: u64, unsigned: bool },
    /// `true` or `false`.
    Bool(bool),
    /// A text, escapes resolved.
    Text(Vec<u8>),
    /// A bare name: a builtin, an enum's constant, a `#define`, a macro without arguments, or the parameter of one.
    Identifier(String),
    /// `$1`.
    Positional(u32),
    /// `$#`.
    PositionalCount,
    /// `$x`, without the `$`.
    Variable(String),
    /// `@x`, `@x[key]`, `@x[a, b]` (several keys as written); without the `@`.
    Map { name: String, keys: Vec<Expr> },
    /// `-x`, `!x`, `~x`, `*x`, `&x`.
    Unary { op: UnaryOp, of: Box<Expr> },
    /// `x++`, `--x` …: `prefix` says that the operator stands before the place, so that the value after is meant.
    Step { place: Box<Expr>, add: bool, prefix: bool },
    /// `a op b`.
    Binary { op: BinaryOp, left: Box<Expr>, right: Box<Expr> },
    /// `c ? a : b`, or `c ?: b`.
    Ternary { condition: Box<Expr>, then: Option<Box<Expr>>, otherwise: Box<Expr> },
    /// `if c { a } else { b }` as a value; `comptime` as in [`StatementKind::If`].
    If { condition: Box<Expr>, comptime: bool, then: Block, otherwise: Option<Block> },
    /// `(type)x`.
    Cast { ty: TypeText, of: Box<Expr> },
    /// `a.name` or `a->name`.
    Member { base: Box<Expr>, name: Name },
    /// `a.0`.
    Element { base: Box<Expr>, index: u32 },
    /// `a[i]`.
    Index { base: Box<Expr>, index: Box<Expr> },
    /// `f(a, b)`.
    Call { function: Name, arguments: Vec<Expr> },
    /// `(a, b)`; `()` and `(a,)` too.
    Tuple(Vec<Expr>),
    /// `(name = a, other = b)`.
    Record(Vec<(Name, Expr)>),
    /// `sizeof(type)`; of an expression it is a call.
    SizeOf(TypeText),
    /// `offsetof(type, a.b[1])`.
    OffsetOf { ty: TypeText, path: Vec<PathStep> },
    /// A type where a function takes one (`typeinfo`, `typeof`, `container_of`'s second argument).
    Type(TypeText),
    /// `{ …; value }`.
    Block(Block),
}

/// A step of `offsetof`'s path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathStep {
    /// `.name`.
    Member(Name),
    /// `[index]`.
    Index(Expr),
}

/// A type as written: `struct foo *`, `uint8[4]`, `string[16]`, `typeof(x)`.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeText {
    /// What is named.
    pub base: TypeBase,
    /// What is made of it, inside out: `int32*[4]*` is a pointer to an array of four pointers to int32.
    pub suffixes: Vec<TypeSuffix>,
    /// Where.
    pub span: Span,
}

/// What a type's text names.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeBase {
    /// A name: `uint64`, `u32`, `string`, `unsigned long`, `task_struct` (words joined by one blank).
    Named(String),
    /// `struct name`.
    Struct(String),
    /// `union name`.
    Union(String),
    /// `enum name`.
    Enum(String),
    /// `typeof(expression)`.
    Of(Box<Expr>),
}

/// What is made of a type.
#[derive(Clone, Debug, PartialEq)]
pub enum TypeSuffix {
    /// `*`.
    Pointer,
    /// `[n]`; none for `[]`.
    Array(Option<Expr>),
}

/// An operation on one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-x`
    Negate,
    /// `!x`
    Not,
    /// `~x`
    Complement,
    /// `*x`
    Dereference,
    /// `&x`
    AddressOf,
}

/// An operation on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the operators")]
pub enum BinaryOp {
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    BitAnd,
    BitOr,
    BitXor,
    ShiftLeft,
    ShiftRight,
    And,
    Or,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}
