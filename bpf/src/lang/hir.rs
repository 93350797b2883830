//! The checked script: every name resolved, every type known, every conversion explicit. The checker makes it, the
//! lowering turns it into programs of the intermediate representation.
//!
//! One [`Probe`] here is one program: a body of the script checked for one layout of its context. A body that is attached
//! at several places of one layout is one program with several attach points.

use bathyscope_plan::{AttachPoint, Config, Diagnostic, MapPlan, Shown, Site, Space, Span, Type};

/// A checked script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// The programs, in the script's order.
    pub probes: Vec<Probe>,
    /// The maps, by [`MapId`]; sizes and layouts complete.
    pub maps: Vec<MapPlan>,
    /// What programs send to user space, by [`SiteId`]; offsets and sizes of records are filled in by the lowering.
    pub sites: Vec<Site>,
    /// The settings.
    pub config: Config,
    /// What was accepted but may not do what was meant.
    pub warnings: Vec<Diagnostic>,
}

/// A map, by index in [`Script::maps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MapId(pub u32);

/// Something sent to user space, by index in [`Script::sites`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SiteId(pub u32);

/// A variable of a program, by index in [`Probe::locals`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocalId(pub u32);

/// One program.
#[derive(Clone, Debug, PartialEq)]
pub struct Probe {
    /// Where it is attached; all alike in what the context is. Never empty.
    pub points: Vec<ProbePoint>,
    /// What its context is.
    pub context: Context,
    /// Its variables.
    pub locals: Vec<Local>,
    /// When the body runs, a scalar; a hit for which it is 0 is counted as filtered.
    pub predicate: Option<Expr>,
    /// What it does.
    pub body: Vec<Statement>,
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
pub struct Statement {
    /// What it does.
    pub kind: StatementKind,
    /// Where it stands.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are what the description names")]
pub enum StatementKind {
    /// Evaluates for the effect.
    Expression(Expr),
    /// Assigns a variable; the value's type is the variable's, or a smaller text or buffer.
    SetLocal { local: LocalId, value: Expr },
    /// Assigns a map's element. `key` is none for a map without one; else it has exactly the map's key type.
    SetMap { map: MapId, key: Option<Expr>, value: Expr },
    /// Aggregates into a map's element; `value` is none for `count`. `count` may also be a weight.
    Aggregate { map: MapId, key: Option<Expr>, value: Option<Expr> },
    /// Removes an element; a map without key is set to zero.
    Delete { map: MapId, key: Option<Expr> },
    /// Sends a record with these arguments, in the order of the site's fields.
    Emit { site: SiteId, arguments: Vec<Expr> },
    /// `if`.
    If { condition: Expr, then: Vec<Statement>, otherwise: Vec<Statement> },
    /// Runs `body` with `variable` (if any) counting from `first` up to but not including `end`.
    ForRange { variable: Option<LocalId>, first: Expr, end: Expr, body: Vec<Statement> },
    /// Runs `body` once for each element; `key` and `value` are set before each.
    ForMap { map: MapId, key: LocalId, value: Option<LocalId>, body: Vec<Statement> },
    /// Runs `body` while the condition holds, at most `limit` times.
    While { condition: Expr, body: Vec<Statement>, limit: u32 },
    /// Leaves the innermost loop.
    Break,
    /// Goes on with the next round of the innermost loop.
    Continue,
    /// Ends the program; the value is what the program returns where that matters (0 else).
    Return(Option<Expr>),
    /// Statements of a scope (an unrolled round, a macro): `Break` and `Continue` inside pass through to the loop around.
    Block(Vec<Statement>),
    /// Sends a signal to the current process or thread.
    Signal { number: Expr, thread: bool },
    /// Makes the traced function return this at once (kprobes with error injection).
    Override(Expr),
    /// Writes a value into the current process's memory.
    WriteUser { address: Expr, value: Expr },
}

/// A typed expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Type,
    /// Where.
    pub span: Span,
}

/// What an expression is. Scalars are kept in registers extended to 64 bits by their sign; values of other types are built
/// in memory at a destination (see `types`).
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs, reason = "the fields are what the description names")]
pub enum ExprKind {
    /// A number; also enums, booleans, and constant pointers.
    Integer(i64),
    /// A text; the type's room is at least its length and the NUL.
    Text(Vec<u8>),
    /// A variable.
    Local(LocalId),
    /// A map's element: the value, or zeros if it is not there. For an aggregation, what [`MapRead`] says, over all CPUs.
    Map { map: MapId, key: Option<Box<Expr>>, read: MapRead },
    /// 1 if the element is there.
    HasKey { map: MapId, key: Option<Box<Expr>> },
    /// Adds to an integer element atomically (no key: to the only one), making it if needed; the value is that before if
    /// `gives_old`, else that after.
    AtomicStep { map: MapId, key: Option<Box<Expr>>, by: i64, gives_old: bool },
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
    Read { address: Box<Expr>, offset: i64, space: Space, bits: Option<(u8, u8)> },
    /// A part of a value in memory (a member, an element at a constant place).
    Part { of: Box<Expr>, offset: u32, bits: Option<(u8, u8)> },
    /// An element of an array or byte of a text in memory; outside it gives zero.
    Element { of: Box<Expr>, index: Box<Expr> },
    /// `str(address, n)`: text that ends at a NUL. The type says the room; `length` is evaluated if it is not constant.
    ReadText { address: Box<Expr>, space: Space, length: Option<Box<Expr>> },
    /// `buf(address, n)`.
    ReadBuffer { address: Box<Expr>, space: Space, length: Option<Box<Expr>> },
    /// `buf(value, n)` of a value in memory of the program: its first bytes, and zeros after its end.
    BufferOf { of: Box<Expr>, length: Option<Box<Expr>> },
    /// `kstack`, `ustack`.
    Stack,
    /// `dw_ustack`: as `ustack`, taken by the tables of the files.
    UnwoundStack,
    /// One of the parameterless values.
    Builtin(Builtin),
    /// A user symbol, function or user stack's companion: address with the current process's id.
    WithProcess { address: Box<Expr> },
    /// Gives the scalar another type of [`Type::Shown`] or width without changing bits beyond the width. Of a text or buffer:
    /// the same with another room, filled up with NULs or cut.
    Convert(Box<Expr>),
    /// `-x`, `~x`.
    Unary { op: UnaryOp, of: Box<Expr> },
    /// Arithmetic; both sides have the result's type.
    Binary { op: ArithmeticOp, left: Box<Expr>, right: Box<Expr> },
    /// A comparison of scalars; the sign is that of the sides' types.
    Compare { op: CompareOp, left: Box<Expr>, right: Box<Expr> },
    /// A comparison of memory values of one kind for equality; for texts up to the first NUL of either, at most `most`
    /// bytes (`strncmp`); the result is 1 if equal.
    Same { left: Box<Expr>, right: Box<Expr>, most: Option<u32> },
    /// `strncmp`'s and `memcmp`'s number: 0 if equal, else the difference of the first bytes that differ.
    Difference { left: Box<Expr>, right: Box<Expr>, most: u32, text: bool },
    /// Position of the second text in the first, or -1.
    Find { text: Box<Expr>, needle: Box<Expr> },
    /// Length of a text up to its NUL.
    TextLength(Box<Expr>),
    /// Two texts one after the other, cut at the type's room.
    Concat { left: Box<Expr>, right: Box<Expr> },
    /// `!x` of a truth value: 1 if 0.
    Not(Box<Expr>),
    /// Both, the second only if the first is not 0.
    And(Box<Expr>, Box<Expr>),
    /// Either, the second only if the first is 0.
    Or(Box<Expr>, Box<Expr>),
    /// One of two; only that one is evaluated.
    Select { condition: Box<Expr>, then: Box<Expr>, otherwise: Box<Expr> },
    /// Parts of a tuple or record, in order.
    Tuple(Vec<Expr>),
    /// Statements, then a value.
    Block(Vec<Statement>, Box<Expr>),
    /// The address of a value in memory (a variable, a map's element).
    AddressOf(Box<Expr>),
    /// Bytes reversed: the type is an integer of 2, 4 or 8 bytes.
    ByteSwap(Box<Expr>),
    /// An address of a network: from a number (IPv4, in network order) or an array of 4 or 16 bytes.
    Inet { family: Option<Box<Expr>>, address: Box<Expr> },
    /// A copy of `bytes` of memory of another type (`macaddr`, casts of arrays to integers and back).
    Reinterpret(Box<Expr>),
    /// `path()`: the path of a `struct path` or `struct file`'s path, by `bpf_d_path`.
    Path { address: Box<Expr> },
    /// `socket_cookie()`: the number that the kernel gave a `struct sock`.
    SocketCookie { address: Box<Expr> },
    /// A per-CPU variable's address on a CPU.
    PerCpuAddress { address: Box<Expr>, cpu: Option<Box<Expr>> },
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
    Map(MapId),
    /// A stack.
    Stack(Box<Expr>),
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
pub enum UnaryOp {
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

impl Expr {
    /// A number that is shown as something else.
    pub fn shown(kind: ExprKind, shown: Shown, span: Span) -> Self {
        Self { kind, ty: Type::Shown(shown), span }
    }
}
