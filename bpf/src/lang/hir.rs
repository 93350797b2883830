//! The checked script: every name resolved, every type known, every conversion explicit. The checker makes it, the
//! lowering turns it into programs of the intermediate representation.
//!
//! One [`TypedProbe`] is one program: a body of the script checked for one layout of its context. A body that is
//! attached at several places of one layout is one program with several attach points.

use bathyscope_plan::{AttachPoint, Config, Diagnostic, MapPlan, Shown, Site, Space, Span, Type};

/// A checked script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TypedScript {
    /// The programs, in the script's order.
    pub probes: Vec<TypedProbe>,
    /// The maps, by [`ScriptMapId`]; sizes and layouts complete.
    pub maps: Vec<MapPlan>,
    /// What programs send to user space, by [`SiteId`]; offsets and sizes of records are filled in by the lowering.
    pub sites: Vec<Site>,
    /// The settings.
    pub config: Config,
    /// What was accepted but may not do what was meant.
    pub warnings: Vec<Diagnostic>,
}

/// A map, by index in [`TypedScript::maps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScriptMapId(pub u32);

/// Something sent to user space, by index in [`TypedScript::sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteId(pub u32);

/// A variable of a program, by index in [`TypedProbe::locals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(pub u32);

/// One program.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedProbe {
    /// Where it is attached; all alike in what the context is. Never empty.
    pub points: Vec<ProbePoint>,
    /// What its context is.
    pub context: Context,
    /// Its variables.
    pub locals: Vec<Local>,
    /// When the body runs, a scalar; a hit for which it is 0 is counted as filtered.
    pub predicate: Option<TypedExpr>,
    /// What it does.
    pub body: Vec<TypedStatement>,
    /// The whole probe in the text.
    pub span: Span,
}

/// One place at which a program is attached.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbePoint {
    /// What `probe` is there: `tracepoint:sched:sched_switch`.
    pub name: String,
    /// Where.
    pub point: AttachPoint,
}

/// What a program's context is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Context {
    /// Begin, end, signals: nothing of use.
    None,
    /// A tracepoint's record.
    Tracepoint,
    /// Arguments as 8-byte words: raw tracepoints (BTF), fentry, fexit (the result is the word after the arguments), and
    /// iterators (the `bpf_iter_meta` pointer, then the object).
    Words,
    /// Saved registers (`pt_regs` of this architecture): kprobes, uprobes, USDT markers.
    Registers,
    /// `bpf_perf_event_data`: registers, then `sample_period` and `addr`: profile, interval, software, hardware, watchpoint.
    PerfEvent,
}

/// A variable.
#[derive(Clone, Debug, PartialEq)]
pub struct Local {
    /// Its name in the script, or one made up for a value that is used twice.
    pub name: String,
    /// Its type; the largest it is assigned.
    pub ty: Type,
}

/// A statement.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedStatement {
    /// What it does.
    pub kind: TypedStatementKind,
    /// Where it stands.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are what the description names")]
pub enum TypedStatementKind {
    /// Evaluates for the effect.
    Expression(TypedExpr),
    /// Assigns a variable; the value's type is the variable's, or a smaller text or buffer.
    SetLocal { local: LocalId, value: TypedExpr },
    /// Assigns a map's element. `key` is none for a map without one; else it has exactly the map's key type.
    SetMap { map: ScriptMapId, key: Option<TypedExpr>, value: TypedExpr },
    /// Aggregates into a map's element; `value` is none for `count`. `count` may also be a weight.
    Aggregate { map: ScriptMapId, key: Option<TypedExpr>, value: Option<TypedExpr> },
    /// Removes an element; a map without key is set to zero.
    Delete { map: ScriptMapId, key: Option<TypedExpr> },
    /// Sends a record with these arguments, in the order of the site's fields.
    Emit { site: SiteId, arguments: Vec<TypedExpr> },
    /// `if`.
    If { condition: TypedExpr, then: Vec<TypedStatement>, otherwise: Vec<TypedStatement> },
    /// Runs `body` with `variable` (if any) counting from `first` up to but not including `end`.
    ForRange { variable: Option<LocalId>, first: TypedExpr, end: TypedExpr, body: Vec<TypedStatement> },
    /// Runs `body` once for each element; `key` and `value` are set before each.
    ForMap { map: ScriptMapId, key: LocalId, value: Option<LocalId>, body: Vec<TypedStatement> },
    /// Runs `body` while the condition holds, at most `limit` times.
    While { condition: TypedExpr, body: Vec<TypedStatement>, limit: u32 },
    /// Leaves the innermost loop.
    Break,
    /// Goes on with the next round of the innermost loop.
    Continue,
    /// Ends the program; the value is what the program returns where that matters (0 else).
    Return(Option<TypedExpr>),
    /// Statements of a scope (an unrolled round, a macro): `Break` and `Continue` inside pass through to the loop around.
    Block(Vec<TypedStatement>),
    /// Sends a signal to the current process or thread.
    Signal { number: TypedExpr, thread: bool },
    /// Makes the traced function return this at once (kprobes with error injection).
    Override(TypedExpr),
    /// Writes a value into the current process's memory.
    WriteUser { address: TypedExpr, value: TypedExpr },
}

/// A typed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct TypedExpr {
    /// What it is.
    pub kind: TypedExprKind,
    /// Its type.
    pub ty: Type,
    /// Where.
    pub span: Span,
}

/// What an expression is. Scalars are kept in registers extended to 64 bits by their sign; values of other types are built
/// in memory at a destination (see `types`).
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are what the description names")]
pub enum TypedExprKind {
    /// A number; also enums, booleans, and constant pointers.
    Integer(i64),
    /// A text; the type's room is at least its length and the NUL.
    Text(Vec<u8>),
    /// A variable.
    Local(LocalId),
    /// A map's element: the value, or zeros if it is not there. For an aggregation, what [`MapRead`] says, over all CPUs.
    Map { map: ScriptMapId, key: Option<Box<TypedExpr>>, read: MapRead },
    /// 1 if the element is there.
    HasKey { map: ScriptMapId, key: Option<Box<TypedExpr>> },
    /// Adds to an integer element atomically (no key: to the only one), making it if needed; the value is that before if
    /// `gives_old`, else that after.
    AtomicStep { map: ScriptMapId, key: Option<Box<TypedExpr>>, by: i64, gives_old: bool },
    /// As above for a variable.
    LocalStep { local: LocalId, by: i64, gives_old: bool },
    /// How many elements a map has (counted by walking it), or how many frames a stack has.
    Length(Countable),
    /// A value in the context at a constant offset; scalars, or memory that is copied from it.
    Context { offset: u32 },
    /// The address of the context plus an offset.
    ContextAddress { offset: u32 },
    /// Register number `index` of [`Context::Registers`] or [`Context::PerfEvent`], by its offset in `pt_regs`.
    Register { offset: u32 },
    /// A kernel word on the stack of a probed function: the `index`-th argument that does not fit into registers.
    StackArgument { index: u32, space: Space },
    /// A marker's argument, by the argument of [`bathyscope_plan::UsdtArgument`] of the attach point.
    UsdtArgument { index: u32 },
    /// Text of a tracepoint's `__data_loc` (or `__rel_loc`) field whose word is at `offset`.
    DynamicText { offset: u32, relative: bool },
    /// The address of a `__data_loc` (or `__rel_loc`) field's content.
    DynamicAddress { offset: u32, relative: bool },
    /// Reads the expression's type from the address plus `offset` in `space`. A failed read gives zeros and is counted.
    Read { address: Box<TypedExpr>, offset: i64, space: Space, bits: Option<(u8, u8)> },
    /// A part of a value in memory (a member, an element at a constant place).
    Part { of: Box<TypedExpr>, offset: u32, bits: Option<(u8, u8)> },
    /// An element of an array or byte of a text in memory; outside it gives zero.
    Element { of: Box<TypedExpr>, index: Box<TypedExpr> },
    /// `str(address, n)`: text that ends at a NUL. The type says the room; `length` is evaluated if it is not constant.
    ReadText { address: Box<TypedExpr>, space: Space, length: Option<Box<TypedExpr>> },
    /// `buf(address, n)`.
    ReadBuffer { address: Box<TypedExpr>, space: Space, length: Option<Box<TypedExpr>> },
    /// `buf(value, n)` of a value in memory of the program: its first bytes, and zeros after its end.
    BufferOf { of: Box<TypedExpr>, length: Option<Box<TypedExpr>> },
    /// `kstack`, `ustack`.
    Stack,
    /// `dw_ustack`: as `ustack`, taken by the tables of the files.
    UnwoundStack,
    /// One of the parameterless values.
    Builtin(Builtin),
    /// A user symbol, function or user stack's companion: address with the current process's id.
    WithProcess { address: Box<TypedExpr> },
    /// Gives the scalar another type of [`Type::Shown`] or width without changing bits beyond the width. Of a text or buffer:
    /// the same with another room, filled up with NULs or cut.
    Convert(Box<TypedExpr>),
    /// `-x`, `~x`.
    Unary { op: TypedUnaryOp, of: Box<TypedExpr> },
    /// Arithmetic; both sides have the result's type.
    Binary { op: ArithmeticOp, left: Box<TypedExpr>, right: Box<TypedExpr> },
    /// A comparison of scalars; the sign is that of the sides' types.
    Compare { op: CompareOp, left: Box<TypedExpr>, right: Box<TypedExpr> },
    /// A comparison of memory values of one kind for equality; for texts up to the first NUL of either, at most `most`
    /// bytes (`strncmp`); the result is 1 if equal.
    Same { left: Box<TypedExpr>, right: Box<TypedExpr>, most: Option<u32> },
    /// `strncmp`'s and `memcmp`'s number: 0 if equal, else the difference of the first bytes that differ.
    Difference { left: Box<TypedExpr>, right: Box<TypedExpr>, most: u32, text: bool },
    /// Position of the second text in the first, or -1.
    Find { text: Box<TypedExpr>, needle: Box<TypedExpr> },
    /// Length of a text up to its NUL.
    TextLength(Box<TypedExpr>),
    /// Two texts one after the other, cut at the type's room.
    Concat { left: Box<TypedExpr>, right: Box<TypedExpr> },
    /// `!x` of a truth value: 1 if 0.
    Not(Box<TypedExpr>),
    /// Both, the second only if the first is not 0.
    And(Box<TypedExpr>, Box<TypedExpr>),
    /// Either, the second only if the first is 0.
    Or(Box<TypedExpr>, Box<TypedExpr>),
    /// One of two; only that one is evaluated.
    Select { condition: Box<TypedExpr>, then: Box<TypedExpr>, otherwise: Box<TypedExpr> },
    /// Parts of a tuple or record, in order.
    Tuple(Vec<TypedExpr>),
    /// Statements, then a value.
    Block(Vec<TypedStatement>, Box<TypedExpr>),
    /// The address of a value in memory (a variable, a map's element).
    AddressOf(Box<TypedExpr>),
    /// Bytes reversed: the type is an integer of 2, 4 or 8 bytes.
    ByteSwap(Box<TypedExpr>),
    /// An address of a network: from a number (IPv4, in network order) or an array of 4 or 16 bytes.
    Inet { family: Option<Box<TypedExpr>>, address: Box<TypedExpr> },
    /// A copy of `bytes` of memory of another type (`macaddr`, casts of arrays to integers and back).
    Reinterpret(Box<TypedExpr>),
    /// `path()`: the path of a `struct path` or `struct file`'s path, by `bpf_d_path`.
    Path { address: Box<TypedExpr> },
    /// `socket_cookie()`: the number that the kernel gave a `struct sock`.
    SocketCookie { address: Box<TypedExpr> },
    /// A per-CPU variable's address on a CPU.
    PerCpuAddress { address: Box<TypedExpr>, cpu: Option<Box<TypedExpr>> },
}

/// What is read of an aggregation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapRead {
    /// The element of a map that does not aggregate.
    Value,
    /// Over all CPUs: the count, sum, minimum, maximum or average.
    Aggregated,
}

/// What has a length.
#[derive(Clone, Debug, PartialEq)]
pub enum Countable {
    /// A map.
    Map(ScriptMapId),
    /// A stack.
    Stack(Box<TypedExpr>),
}

/// Values without parameters. Their types are as bpftrace has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "named as in the language")]
pub enum Builtin {
    Pid,
    Tid,
    /// In the initial namespace, whatever the target's.
    HostPid,
    HostTid,
    Uid,
    Gid,
    Comm,
    /// Of the thread group's leader.
    LeaderComm,
    /// Of the parent process.
    ParentComm,
    ParentPid,
    Cpu,
    NumaNode,
    CpuCount,
    Cgroup,
    /// Nanoseconds of the clock.
    Nanoseconds(bathyscope_plan::Clock),
    /// Nanoseconds on this CPU as `bpf_ktime_get_coarse` has them.
    CoarseNanoseconds,
    /// Since the begin of tracing.
    Elapsed,
    Jiffies,
    Random,
    /// Address of the task_struct.
    CurrentTask,
    /// Index of the attach point in [`bathyscope_plan::Plan::probes`].
    Probe,
    /// Instruction pointer or address of the probed function: a number, or (`func`) of type [`Shown::Function`] with the
    /// process's id put beside it in user space.
    FunctionAddress,
    /// The address of the probed function at its return in user space, as the kernel tells it from 6.6 on.
    EntryAddress,
    /// 1 if the interrupted code was user's (profile).
    UserMode,
    /// The first process of `-c` or `-p`, else 0.
    TargetPid,
}

/// An operation on one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TypedUnaryOp {
    /// `-x`
    Negate,
    /// `~x`
    Complement,
}

/// Arithmetic. The checker asks for zero before it divides; a shift by the width or more gives 0 (the sign for a signed right shift).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as the operators")]
pub enum ArithmeticOp {
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
}

/// A comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as the operators")]
pub enum CompareOp {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl TypedExpr {
    /// A number that is shown as something else.
    pub fn shown(kind: TypedExprKind, shown: Shown, span: Span) -> Self {
        Self { kind, ty: Type::Shown(shown), span }
    }
}
