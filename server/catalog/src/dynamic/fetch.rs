//! Arguments: `[NAME=]FETCH[:TYPE]`.

use super::{
    BaseType, DynamicArgument, DynamicError, DynamicProblem as Problem, End, Fetch, FetchType, FilePlace,
    MAX_ARGUMENT_NAME_BYTES, MAX_ARRAY, MAX_NAME_BYTES, MAX_NESTING, ProbeSite, line::is_name,
};

/// The longest symbol, as in the kernel.
const MAX_SYMBOL_BYTES: usize = 511;
/// The most arguments that have a number.
const MAX_ARGUMENT_NUMBER: u32 = 128;
/// The deepest word of the stack.
const MAX_STACK_WORD: u32 = 4096;

/// Fields that every event has, or that the kernel adds.
const RESERVED: [&str; 8] = [
    "common_type",
    "common_flags",
    "common_preempt_count",
    "common_pid",
    "common_tgid",
    "__probe_ip",
    "__probe_func",
    "__probe_ret_ip",
];

/// x86's registers as debuggers call them, and as the kernel does.
const OTHER_NAMES: [(&str, &str); 18] = [
    ("rax", "ax"),
    ("rbx", "bx"),
    ("rcx", "cx"),
    ("rdx", "dx"),
    ("rsi", "si"),
    ("rdi", "di"),
    ("rbp", "bp"),
    ("rsp", "sp"),
    ("rip", "ip"),
    ("eax", "ax"),
    ("ebx", "bx"),
    ("ecx", "cx"),
    ("edx", "dx"),
    ("esi", "si"),
    ("edi", "di"),
    ("ebp", "bp"),
    ("esp", "sp"),
    ("eip", "ip"),
];

/// All parameters of a function: as perf calls them, and as newer kernels do.
pub(super) const ALL_PARAMETERS: [&str; 3] = ["params", "vars", "arg*"];

/// A word of a line, and where it stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct FetchWord<'a> {
    /// Bytes of the line before it.
    pub(super) at: usize,
    pub(super) text: &'a str,
}

impl<'a> FetchWord<'a> {
    pub(super) fn error(self, problem: Problem) -> DynamicError {
        DynamicError { at: self.at, problem }
    }

    /// Without its first `bytes`.
    pub(super) fn skip(self, bytes: usize) -> Self {
        Self { at: self.at + bytes, text: self.text.get(bytes..).unwrap_or_default() }
    }

    /// What stands before and behind the first `separator`.
    pub(super) fn split(self, separator: char) -> Option<(Self, Self)> {
        let (before, _) = self.text.split_once(separator)?;
        Some((Self { text: before, ..self }, self.skip(before.len() + separator.len_utf8())))
    }
}

/// What there is at a place.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    user: bool,
    returns: bool,
    /// The place is where a function begins, so that its arguments can be found.
    begins: bool,
    event: bool,
}

impl Context {
    pub(super) fn of(place: &ProbeSite) -> Self {
        let returns = match place {
            ProbeSite::Function { on, .. } | ProbeSite::Traced { on, .. } | ProbeSite::Address { on, .. } => {
                matches!(on, End::Return { .. })
            }
            ProbeSite::File { returns, .. } => *returns,
            ProbeSite::Tracepoint { .. } | ProbeSite::Event { .. } => false,
        };
        let inside = match place {
            ProbeSite::Function { offset, .. } => *offset > 0,
            ProbeSite::File { at: FilePlace::Function { offset, .. }, .. } => *offset > 0,
            _ => false,
        };
        let (user, event) = (matches!(place, ProbeSite::File { .. }), matches!(place, ProbeSite::Event { .. }));
        // Newer kernels keep the arguments until the function returns; whether this one does it says itself.
        Self { user, returns, begins: !inside && !event, event }
    }
}

/// A number as the kernel reads it: decimal, `0x…`, or octal with a leading 0.
pub(super) fn number(text: &str) -> Option<u64> {
    let (digits, radix) = match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if text.len() > 1 && text.starts_with('0') => (text, 8),
        None => (text, 10),
    };
    // A sign is not part of a number here.
    digits.bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| u64::from_str_radix(digits, radix).ok())?
}

pub(super) fn is_symbol(text: &str) -> bool {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$');
    (1..=MAX_SYMBOL_BYTES).contains(&text.len())
        && text.bytes().all(part)
        && !text.starts_with(|first: char| first.is_ascii_digit() || first == '$')
}

pub(super) fn argument(word: FetchWord<'_>, context: Context) -> Result<DynamicArgument, DynamicError> {
    // A name ends at the first `=`; none of the other characters of a value is one.
    let (name, value) = match word.split('=') {
        Some((name, value)) => {
            if !is_name(name.text, MAX_ARGUMENT_NAME_BYTES) {
                return Err(name.error(Problem::ArgumentName));
            }
            if RESERVED.contains(&name.text) {
                return Err(name.error(Problem::ReservedName));
            }
            (Some(name.text.to_owned()), value)
        }
        None => (None, word),
    };
    // The type stands behind the last `:`; `@MODULE:SYMBOL` is not in the kernel's language.
    let (fetch_word, type_word) = match value.text.rfind(':') {
        Some(at) => {
            let before = FetchWord { text: value.text.get(..at).unwrap_or_default(), ..value };
            (before, Some(value.skip(at + 1)))
        }
        None => (value, None),
    };
    let fetch = fetch(fetch_word, context, 0)?;
    let ty = type_word.map(parse_type).transpose()?;
    if let (Some(ty), Some(word)) = (ty, type_word) {
        check_type(ty, &fetch, word)?;
    }
    Ok(DynamicArgument { name, fetch, ty })
}

fn fetch(word: FetchWord<'_>, context: Context, depth: usize) -> Result<Fetch, DynamicError> {
    if depth > MAX_NESTING {
        return Err(word.error(Problem::Nesting));
    }
    match word.text.bytes().next() {
        Some(b'%') => register(word.skip(1)),
        Some(b'@') => memory(word.skip(1), context),
        Some(b'$') => variable(word.skip(1), context),
        Some(b'\\') => {
            let value = word.skip(1);
            if let Some(text) = value.text.strip_prefix('"') {
                let text = text.strip_suffix('"').filter(|text| !text.contains([':', '"', '\\']) && text.is_ascii());
                let text = text.ok_or_else(|| value.error(Problem::ImmediateText))?;
                return Ok(Fetch::ImmediateText(text.to_owned()));
            }
            let number = match value.text.strip_prefix('-') {
                Some(digits) => number(digits).map(u64::wrapping_neg),
                None => number(value.text),
            };
            number.map(Fetch::Immediate).ok_or_else(|| value.error(Problem::Number))
        }
        Some(b'+' | b'-') => dereference(word, context, depth),
        Some(first) if first.is_ascii_alphabetic() || first == b'_' => named(word, context),
        _ => Err(word.error(Problem::Fetch)),
    }
}

fn register(word: FetchWord<'_>) -> Result<Fetch, DynamicError> {
    if let Some((_, kernel)) = OTHER_NAMES.iter().find(|(other, _)| *other == word.text) {
        return Err(word.error(Problem::Register(kernel)));
    }
    if !is_name(word.text, 16) {
        return Err(word.error(Problem::Fetch));
    }
    Ok(Fetch::Register(word.text.to_owned()))
}

/// Behind `@`.
fn memory(word: FetchWord<'_>, context: Context) -> Result<Fetch, DynamicError> {
    if let Some(offset) = word.text.strip_prefix('+') {
        if !context.user {
            return Err(word.error(Problem::FileOffset));
        }
        return number(offset).map(Fetch::FileOffset).ok_or_else(|| word.error(Problem::Number));
    }
    if context.user {
        return Err(word.error(Problem::KernelMemory));
    }
    if word.text.starts_with(|first: char| first.is_ascii_digit()) {
        return number(word.text).map(Fetch::Memory).ok_or_else(|| word.error(Problem::Number));
    }
    let sign = word.text.find(['+', '-']).unwrap_or(word.text.len());
    let (symbol, rest) = (word.text.get(..sign).unwrap_or_default(), word.skip(sign));
    if !is_symbol(symbol) {
        return Err(word.error(Problem::Fetch));
    }
    let offset = if rest.text.is_empty() { 0 } else { signed(rest)? };
    Ok(Fetch::Symbol { symbol: symbol.to_owned(), offset })
}

/// A number behind its sign.
fn signed(word: FetchWord<'_>) -> Result<i64, DynamicError> {
    let magnitude = number(word.skip(1).text).and_then(|number| i64::try_from(number).ok());
    let magnitude = magnitude.ok_or_else(|| word.error(Problem::Number))?;
    Ok(if word.text.starts_with('-') { -magnitude } else { magnitude })
}

/// Where a program's functions get their arguments on x86-64, by the calling convention of System V: registers, then the
/// words of the stack behind the address of return.
#[cfg(target_arch = "x86_64")]
fn argument_of_program(number: u32) -> Option<Fetch> {
    const REGISTERS: [&str; 6] = ["di", "si", "dx", "cx", "r8", "r9"];
    let index = usize::try_from(number).ok()?.checked_sub(1)?;
    Some(match REGISTERS.get(index) {
        Some(register) => Fetch::Register((*register).to_owned()),
        None => Fetch::StackWord(number - 6),
    })
}

/// Where a program's functions get their arguments on arm64: registers, then the words of the stack.
#[cfg(target_arch = "aarch64")]
fn argument_of_program(number: u32) -> Option<Fetch> {
    Some(match number.checked_sub(1)? {
        index @ 0..8 => Fetch::Register(format!("x{index}")),
        index => Fetch::StackWord(index - 8),
    })
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn argument_of_program(_number: u32) -> Option<Fetch> {
    None
}

/// Behind `$`.
fn variable(word: FetchWord<'_>, context: Context) -> Result<Fetch, DynamicError> {
    let numbered = |prefix: &str, most: u32| {
        let digits = word.text.strip_prefix(prefix)?;
        let only_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        only_digits.then(|| digits.parse::<u32>().ok().filter(|number| *number <= most).ok_or(Problem::Number))
    };
    if context.event {
        return match word.text {
            "comm" | "COMM" => Ok(Fetch::Comm),
            field if is_name(field, MAX_NAME_BYTES) => Ok(Fetch::Field(field.to_owned())),
            _ => Err(word.error(Problem::Variable)),
        };
    }
    if let Some(found) = numbered("stack", MAX_STACK_WORD) {
        return found.map(Fetch::StackWord).map_err(|problem| word.error(problem));
    }
    if let Some(found) = numbered("arg", MAX_ARGUMENT_NUMBER) {
        let found = found.and_then(|number| if number == 0 { Err(Problem::Number) } else { Ok(number) });
        let number = found.map_err(|problem| word.error(problem))?;
        return match (context.begins, context.user) {
            (true, false) => Ok(Fetch::Argument(number)),
            // Only in the kernel does the kernel know them.
            (true, true) if !context.returns => {
                argument_of_program(number).ok_or_else(|| word.error(Problem::UnknownArgument))
            }
            _ => Err(word.error(Problem::ArgumentsGone)),
        };
    }
    if ALL_PARAMETERS.contains(&word.text) {
        // Within a function of a program its debug information tells where variables are.
        let known = (context.begins || context.user) && !(context.user && context.returns);
        return if known {
            Ok(Fetch::Variable(format!("${}", word.text)))
        } else {
            Err(word.error(Problem::VariableInside))
        };
    }
    match word.text {
        "stack" => Ok(Fetch::Stack),
        "comm" | "COMM" => Ok(Fetch::Comm),
        "retval" if context.returns => Ok(Fetch::ReturnValue),
        "retval" => Err(word.error(Problem::ReturnValue)),
        _ => Err(word.error(Problem::Variable)),
    }
}

/// `±[u]OFFSET(FETCH)`
fn dereference(word: FetchWord<'_>, context: Context, depth: usize) -> Result<Fetch, DynamicError> {
    let Some((before, inside)) = word.split('(') else { return Err(word.error(Problem::Fetch)) };
    let inner = inside.text.strip_suffix(')').ok_or_else(|| inside.error(Problem::Unclosed))?;
    let user = before.text.get(1..).is_some_and(|rest| rest.starts_with('u'));
    let digits = before.skip(if user { 2 } else { 1 });
    let magnitude = number(digits.text).and_then(|number| i64::try_from(number).ok());
    let magnitude = magnitude.ok_or_else(|| digits.error(Problem::Number))?;
    let offset = if before.text.starts_with('-') { -magnitude } else { magnitude };
    let of = fetch(FetchWord { text: inner, ..inside }, context, depth + 1)?;
    Ok(Fetch::Dereference { offset, user, of: Box::new(of) })
}

/// The name of a parameter, with members behind it.
fn named(word: FetchWord<'_>, context: Context) -> Result<Fetch, DynamicError> {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-' | b'>' | b'[' | b']');
    if context.event || word.text.len() > MAX_SYMBOL_BYTES || !word.text.bytes().all(part) {
        return Err(word.error(Problem::Fetch));
    }
    if context.user && context.returns {
        return Err(word.error(Problem::FileVariable));
    }
    Ok(Fetch::Variable(word.text.to_owned()))
}

fn parse_type(word: FetchWord<'_>) -> Result<FetchType, DynamicError> {
    let (base, count) = match word.split('[') {
        Some((base, count)) => {
            let digits = count.text.strip_suffix(']').ok_or_else(|| count.error(Problem::Array))?;
            let number = digits.parse::<u32>().ok().filter(|number| (1..=MAX_ARRAY).contains(number));
            (base, Some(number.ok_or_else(|| count.error(Problem::Array))?))
        }
        None => (word, None),
    };
    let bits = |digits: &str| match digits {
        "8" => Some(8),
        "16" => Some(16),
        "32" => Some(32),
        "64" => Some(64),
        _ => None,
    };
    let unknown = || base.error(Problem::Type);
    let base = match base.text {
        "char" => BaseType::Char,
        "string" => BaseType::Text,
        "ustring" => BaseType::UserText,
        "symbol" => BaseType::Symbol,
        "symstr" => BaseType::SymbolText,
        text => {
            let (letter, rest) = text.split_at_checked(1).ok_or_else(unknown)?;
            match (letter, bits(rest)) {
                ("u", Some(bits)) => BaseType::Unsigned(bits),
                ("s", Some(bits)) => BaseType::Signed(bits),
                ("x", Some(bits)) => BaseType::Hex(bits),
                ("b", None) => bit_field(base)?,
                _ => return Err(unknown()),
            }
        }
    };
    Ok(FetchType { base, count })
}

/// `bWIDTH@SHIFT/CONTAINER`
fn bit_field(word: FetchWord<'_>) -> Result<BaseType, DynamicError> {
    let parts = || {
        let (width, rest) = word.text.strip_prefix('b')?.split_once('@')?;
        let (shift, container) = rest.split_once('/')?;
        Some((width.parse::<u8>().ok()?, shift.parse::<u8>().ok()?, container.parse::<u8>().ok()?))
    };
    let (width, shift, container) = parts().ok_or_else(|| word.error(Problem::Bits))?;
    let fits = width > 0 && u16::from(width) + u16::from(shift) <= u16::from(container);
    if !fits || !matches!(container, 8 | 16 | 32 | 64) {
        return Err(word.error(Problem::Bits));
    }
    Ok(BaseType::Bits { width, shift, container })
}

fn check_type(ty: FetchType, fetch: &Fetch, word: FetchWord<'_>) -> Result<(), DynamicError> {
    let in_memory = matches!(
        fetch,
        Fetch::Dereference { .. }
            | Fetch::Memory(_)
            | Fetch::Symbol { .. }
            | Fetch::FileOffset(_)
            | Fetch::Field(_)
            | Fetch::Variable(_)
    );
    let text = matches!(ty.base, BaseType::Text | BaseType::UserText);
    if ty.count.is_some() && !in_memory {
        return Err(word.error(Problem::Array));
    }
    if matches!(fetch, Fetch::ImmediateText(_)) && ty != FetchType::one(BaseType::Text) {
        return Err(word.error(Problem::ImmediateText));
    }
    // The name of the task, and text that is an immediate, are text by themselves.
    if text && !in_memory && !matches!(fetch, Fetch::Comm | Fetch::ImmediateText(_)) {
        return Err(word.error(Problem::TextInMemory));
    }
    Ok(())
}
