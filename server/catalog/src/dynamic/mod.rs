//! Dynamic events: the language of `kprobe_events`, `uprobe_events` and `dynamic_events`, and what `perf probe --add`
//! takes without debug information.
//!
//! Text becomes a [`DynamicDefinition`], whose text ([`std::fmt::Display`]) is what the kernel takes. So what is asked of
//! the kernel never contains a person's words as they are, only what was understood of them.
//!
//! Constraints: a limit for every size, no panic, an error with its place and a remedy. Whether there is such a
//! function, register or field only the kernel knows; this must not ask it.

mod error;
mod fetch;
mod functions;
mod line;
mod perf;
mod resolve;
mod text;
mod typed;

pub use error::{DynamicError, DynamicProblem};
pub use functions::{CHANGED_MARKS, KernelFunctions};
pub use line::parse_dynamic;
pub use perf::{missing_dynamic_event, parse_perf_probe};
pub use resolve::{ProbeVariable, program_variables, variables};
pub use typed::{Asked, Dialect, Passed, Question, Reading, Removal, TypedDefinition, argument_places, read_typed};

/// The longest line; the kernel's own limit is about this.
pub const MAX_LINE_BYTES: usize = 4096;
/// The most arguments of an event, as in the kernel.
pub const MAX_ARGUMENTS: usize = 128;
/// The longest name of a group or an event.
pub const MAX_NAME_BYTES: usize = 63;
/// The longest name of an argument.
pub const MAX_ARGUMENT_NAME_BYTES: usize = 31;
/// The longest array.
pub const MAX_ARRAY: u32 = 64;
/// How deep dereferences may be nested; the kernel has 16 instructions for an argument.
pub const MAX_NESTING: usize = 14;

/// A line: an event to be made, or to be removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Line {
    /// `p…`, `r…`, `e…`, `f…`, `t…`
    Define(DynamicDefinition),
    /// `-:[GROUP/]EVENT`
    Remove {
        /// Its group; any if there is none.
        group: Option<String>,
        /// Its name.
        event: String,
    },
}

/// A dynamic event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicDefinition {
    /// The group; the kernel's own if there is none.
    pub group: Option<String>,
    /// The event's name; made by the kernel if there is none.
    pub event: Option<String>,
    /// Where it is.
    pub place: ProbeSite,
    /// What it records.
    pub arguments: Vec<DynamicArgument>,
}

/// Where an event is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeSite {
    /// A function of the kernel, `[MODULE:]SYMBOL[+OFFSET]`.
    Function {
        /// The module that has it; anywhere if there is none.
        module: Option<String>,
        /// The function.
        symbol: String,
        /// Bytes behind its beginning.
        offset: u64,
        /// At which end.
        on: End,
    },
    /// A function of the kernel, watched by ftrace: `f…`, from Linux 6.5.
    Traced {
        /// The function.
        symbol: String,
        /// At which end.
        on: End,
    },
    /// A tracepoint with what the kernel's code gives it, and not what its event makes of that: `t…`, from Linux 6.5.
    Tracepoint {
        /// The tracepoint.
        name: String,
    },
    /// An address of the kernel.
    Address {
        /// The address.
        address: u64,
        /// At which end of the function there.
        on: End,
    },
    /// A place in a file that programs run.
    File {
        /// The file, an absolute path.
        path: String,
        /// The place.
        at: FilePlace,
        /// Offset of a counter in the file that says whether somebody listens.
        reference: Option<u64>,
        /// Whether it is the return from the function there.
        returns: bool,
    },
    /// Another event, `e:… GROUP.EVENT`.
    Event {
        /// Its group.
        group: String,
        /// Its name.
        event: String,
        /// Which of its hits, in the kernel's filter language.
        filter: Option<String>,
    },
}

/// Which end of a function of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Where it is called, or within it.
    Entry,
    /// Where it returns.
    Return {
        /// How many calls can be watched at the same time; the kernel's choice if there is none.
        max_active: Option<u32>,
    },
}

/// A place in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FilePlace {
    /// Bytes from the file's beginning.
    Offset(u64),
    /// A function, which must be looked up before the kernel can be asked; see [`DynamicDefinition::at_offset`].
    Function {
        /// Its name.
        name: String,
        /// Bytes behind its beginning.
        offset: u64,
    },
}

/// What an event records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DynamicArgument {
    /// The field's name; `argN` by the kernel if there is none.
    pub name: Option<String>,
    /// Where the value is.
    pub fetch: Fetch,
    /// What it is; a number of the machine's width in hexadecimal if there is none.
    pub ty: Option<FetchType>,
}

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fetch {
    /// `%REG`
    Register(String),
    /// `@ADDR`, memory of the kernel.
    Memory(u64),
    /// `@SYMBOL±OFFSET`, memory of the kernel.
    Symbol {
        /// The symbol.
        symbol: String,
        /// Bytes from it.
        offset: i64,
    },
    /// `@+OFFSET`, memory that a file is mapped to.
    FileOffset(u64),
    /// `$stackN`, a word of the stack.
    StackWord(u32),
    /// `$stack`, the stack's address.
    Stack,
    /// `$retval`
    ReturnValue,
    /// `$comm`
    Comm,
    /// `$argN`, from 1.
    Argument(u32),
    /// `$FIELD` of another event.
    Field(String),
    /// `\NUMBER`
    Immediate(u64),
    /// `\"TEXT"`
    ImmediateText(String),
    /// `±[u]OFFSET(FETCH)`: what is at that address.
    Dereference {
        /// Added to the address.
        offset: i64,
        /// Whether it is memory of the program.
        user: bool,
        /// The address.
        of: Box<Fetch>,
    },
    /// A parameter by its name, or a member behind it: only kernels from 6.5 know these by themselves; see
    /// [`DynamicDefinition::with_types`]. `$params` and `$vars`, and `$arg*` as newer kernels call it, are all
    /// parameters.
    Variable(String),
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FetchType {
    /// Of one value.
    pub base: BaseType,
    /// How many values; none for one that is no array.
    pub count: Option<u32>,
}

/// What one value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseType {
    /// `u8` … `u64`
    Unsigned(u8),
    /// `s8` … `s64`
    Signed(u8),
    /// `x8` … `x64`
    Hex(u8),
    /// `char`
    Char,
    /// `string`
    Text,
    /// `ustring`, in the program's memory.
    UserText,
    /// `symbol`, an address shown as its function.
    Symbol,
    /// `symstr`, the function's name as text.
    SymbolText,
    /// `bWIDTH@SHIFT/CONTAINER`
    Bits {
        /// How many.
        width: u8,
        /// From which.
        shift: u8,
        /// Of a number of so many bits.
        container: u8,
    },
}

impl DynamicDefinition {
    /// Whether the event is in the kernel's code, in a file, or at another event: `p`, `p` with a file, or `e`.
    pub fn is_user(&self) -> bool {
        matches!(self.place, ProbeSite::File { .. })
    }

    /// Whether it is where a function returns.
    pub fn returns(&self) -> bool {
        match &self.place {
            ProbeSite::Function { on, .. } | ProbeSite::Traced { on, .. } | ProbeSite::Address { on, .. } => {
                matches!(on, End::Return { .. })
            }
            ProbeSite::File { returns, .. } => *returns,
            ProbeSite::Tracepoint { .. } | ProbeSite::Event { .. } => false,
        }
    }

    /// The same with its function in a file replaced by where that is, if it has one.
    #[must_use]
    pub fn at_offset(mut self, found: u64) -> Self {
        if let ProbeSite::File { at, .. } = &mut self.place
            && let FilePlace::Function { offset, .. } = at
        {
            *at = FilePlace::Offset(found.saturating_add(*offset));
        }
        self
    }
}
