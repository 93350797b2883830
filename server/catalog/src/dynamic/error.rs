//! What is wrong with a dynamic event, where, and what to do.

use super::{MAX_ARGUMENT_NAME_BYTES, MAX_ARGUMENTS, MAX_ARRAY, MAX_LINE_BYTES, MAX_NAME_BYTES, MAX_NESTING};

/// A line that cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("column {}: {problem}", .at + 1)]
pub struct DynamicError {
    /// Bytes of the line before the place.
    pub at: usize,
    /// What is wrong there.
    pub problem: DynamicProblem,
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DynamicProblem {
    /// Longer than [`MAX_LINE_BYTES`].
    #[error("a line may have {MAX_LINE_BYTES} bytes at most")]
    TooLong,
    /// Nothing but blanks.
    #[error("there is no event here; write for example `p:open do_sys_openat2 $arg1`")]
    Empty,
    /// A control character, or text that is not ASCII outside of a path.
    #[error("this character cannot stand here; only printable ASCII can")]
    Character,
    /// It does not begin with `p`, `r`, `e`, `f`, `t` or `-`.
    #[error(
        "an event begins with `p` (probe), `r` (return), `e` (another event), `f` (function), `t` (tracepoint) or `-:` (remove)"
    )]
    Kind,
    /// A group's or event's name that cannot be.
    #[error("a name has letters, digits and `_`, does not begin with a digit, and has at most {MAX_NAME_BYTES} bytes")]
    Name,
    /// `-` without a name.
    #[error("say which event: `-:GROUP/EVENT`; all at once cannot be removed, because others may have made some")]
    RemoveWhich,
    /// No place.
    #[error("say where: `SYMBOL+OFFSET`, `/PATH:OFFSET`, or `GROUP.EVENT` after `e`")]
    NoPlace,
    /// A place that cannot be understood.
    #[error("this is no place; write `SYMBOL+OFFSET`, `MODULE:SYMBOL` or `/PATH:OFFSET`")]
    Place,
    /// The path of a file does not begin with `/`.
    #[error("the path of a file must be absolute")]
    RelativePath,
    /// A path with a blank, which the kernel's language has no way to write.
    #[error("the kernel cannot take a path with blanks; make a link to the file without them")]
    BlankInPath,
    /// A return probe inside a function.
    #[error("a return probe is for the whole function; leave out the offset")]
    ReturnOffset,
    /// `rN` where there is no such number.
    #[error("the number after `r` is how many calls can be watched, 1 to 4096, and only for functions of the kernel")]
    MaxActive,
    /// `e` with something else than `GROUP.EVENT`.
    #[error("say which event: `GROUP.EVENT`")]
    WhichEvent,
    /// `t` with something else than a tracepoint.
    #[error("say which tracepoint, without its group: `sched_switch`")]
    WhichTracepoint,
    /// `f` with something else than a function.
    #[error("`f` watches whole functions of the kernel: write `SYMBOL` or `SYMBOL%return`")]
    WholeFunction,
    /// More than [`MAX_ARGUMENTS`].
    #[error("an event can have {MAX_ARGUMENTS} arguments at most")]
    TooManyArguments,
    /// The name of an argument that cannot be.
    #[error(
        "an argument's name has letters, digits and `_`, does not begin with a digit, and at most {MAX_ARGUMENT_NAME_BYTES} bytes"
    )]
    ArgumentName,
    /// Two arguments of one name.
    #[error("another argument has this name; write NAME= before one of them")]
    RepeatedName,
    /// A name that every event has.
    #[error("every event has a field of this name; choose another one")]
    ReservedName,
    /// Not a way to get a value.
    #[error("this is no value; write %REG, @SYMBOL, $argN, $retval, $stackN, $comm, \\NUMBER or +OFFSET(VALUE)")]
    Fetch,
    /// A register as other tools call it.
    #[error("the kernel calls this register %{0}")]
    Register(&'static str),
    /// `$something` that there is not.
    #[error("there is no such variable; there are $argN, $retval, $stack, $stackN and $comm")]
    Variable,
    /// `$retval` where nothing returns.
    #[error("$retval is known only where a function returns; use `r` or `%return`")]
    ReturnValue,
    /// `$argN` where they are gone.
    #[error("arguments are known only where a function begins")]
    ArgumentsGone,
    /// `$stackN` or `$argN` or an offset with a number that cannot be.
    #[error("this number cannot be here")]
    Number,
    /// `\"TEXT"` that cannot be.
    #[error("text is written `\\\"TEXT\"`, without blanks, colons and quotes in it")]
    ImmediateText,
    /// More arguments than registers have where the processor is not known.
    #[error("where this argument is on this processor is not known; write registers or $stackN")]
    UnknownArgument,
    /// `@+OFFSET` in the kernel.
    #[error("@+OFFSET is a place in a program's file; in the kernel write @SYMBOL or @ADDRESS")]
    FileOffset,
    /// `@SYMBOL` in a program.
    #[error("symbols and addresses of the kernel cannot be read here; write @+OFFSET, a place in the file")]
    KernelMemory,
    /// A parenthesis is missing.
    #[error("`)` is missing")]
    Unclosed,
    /// Deeper than [`MAX_NESTING`].
    #[error("at most {MAX_NESTING} values can be within each other")]
    Nesting,
    /// Not a type.
    #[error(
        "this is no type; there are u8 to u64, s8 to s64, x8 to x64, char, string, ustring, symbol, symstr and bWIDTH@OFFSET/SIZE"
    )]
    Type,
    /// Bits that do not fit.
    #[error(
        "these bits do not fit into their number; write bWIDTH@OFFSET/SIZE with WIDTH+OFFSET at most SIZE, which is 8, 16, 32 or 64"
    )]
    Bits,
    /// An array of a wrong length.
    #[error("an array has 1 to {MAX_ARRAY} values, and its values are in memory: +OFFSET(VALUE):TYPE[N]")]
    Array,
    /// Text that is not in memory.
    #[error("text is in memory: write +0(VALUE) for the text that VALUE points to")]
    TextInMemory,
    /// Debug information is needed.
    #[error(
        "source lines and patterns of lines are no places here; name a function, or find the line in the probe builder, which tells its offset in the function"
    )]
    DebugInformation,
    /// A name where a function of a program returns.
    #[error(
        "parameters and variables are gone when a function of a program returns; write $retval, or record them where it begins"
    )]
    FileVariable,
    /// A variable of a program that debug information does not tell.
    #[error("there is no parameter or variable `{name}` at this place{hint}")]
    NoVariable {
        /// What was written.
        name: String,
        /// What there is, or why nothing is known.
        hint: String,
    },
    /// A variable of a program that a probe cannot read.
    #[error("`{name}` cannot be recorded at this place: {why}")]
    UnreadableVariable {
        /// Its name.
        name: String,
        /// Why: the end of a sentence.
        why: String,
    },
    /// A parameter's name where the parameters are gone.
    #[error(
        "parameters have names only where a function begins or returns; leave out the offset, or write registers such as %di"
    )]
    VariableInside,
    /// A name where there is no function.
    #[error("there is no function here whose parameters have names")]
    NoFunction,
    /// A function that BTF does not describe.
    #[error(
        "the kernel's type information does not describe `{0}`, so its parameters have no names; write $arg1 or registers such as %di"
    )]
    NoSignature(String),
    /// No such parameter.
    #[error("`{function}` has no parameter `{name}`; it has {known}")]
    NoParameter {
        /// What was written.
        name: String,
        /// Of which function.
        function: String,
        /// Those that it has.
        known: String,
    },
    /// No such member.
    #[error("`{of}` has no member `{name}`{hint}")]
    NoMember {
        /// What was written.
        name: String,
        /// Its type.
        of: String,
        /// The nearest, or what there is.
        hint: String,
    },
    /// `->` behind what is no pointer.
    #[error("`{0}` is no pointer; write `.` instead of `->`")]
    NoPointer(String),
    /// `.` behind a pointer.
    #[error("`{0}` is a pointer; write `->` instead of `.`")]
    IsPointer(String),
    /// A whole struct.
    #[error("`{of}` is too large for one value; name a member, such as {members}, or give a type")]
    Whole {
        /// Its type.
        of: String,
        /// Some of its members.
        members: String,
    },
    /// An argument whose place is not known.
    #[error("`{0}` is passed as a whole struct, or behind one, and where is not known; write registers or $stackN")]
    ByValue(String),
    /// Text of something that is none.
    #[error("`{0}` is no text")]
    NoText(String),
    /// An option of `perf probe` that there is not, or that cannot be followed.
    #[error("`{option}`: {why}")]
    PerfOption {
        /// As it was written.
        option: String,
        /// Why, and what to do.
        why: String,
    },
    /// Too long a text.
    #[error("a text may have {0} lines at most")]
    TooManyLines(usize),
    /// A quote that does not end.
    #[error("the quote that begins here has no end")]
    Quote,
}
