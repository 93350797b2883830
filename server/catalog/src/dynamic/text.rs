//! The text that the kernel takes.

use std::fmt::{self, Display, Formatter};

use super::{BaseType, DynamicArgument, DynamicDefinition, End, Fetch, FetchType, FilePlace, Line, ProbeSite};

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Define(definition) => definition.fmt(f),
            Self::Remove { group: Some(group), event } => write!(f, "-:{group}/{event}"),
            Self::Remove { group: None, event } => write!(f, "-:{event}"),
        }
    }
}

impl Display for DynamicDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.place {
            ProbeSite::Event { .. } => "e",
            ProbeSite::Traced { .. } => "f",
            ProbeSite::Tracepoint { .. } => "t",
            _ if self.returns() => "r",
            _ => "p",
        })?;
        if let ProbeSite::Function { on: End::Return { max_active: Some(count) }, .. }
        | ProbeSite::Traced { on: End::Return { max_active: Some(count) }, .. }
        | ProbeSite::Address { on: End::Return { max_active: Some(count) }, .. } = &self.place
        {
            write!(f, "{count}")?;
        }
        match (&self.group, &self.event) {
            (Some(group), Some(event)) => write!(f, ":{group}/{event}")?,
            (Some(group), None) => write!(f, ":{group}/")?,
            (None, Some(event)) => write!(f, ":{event}")?,
            (None, None) => {}
        }
        write!(f, " {}", self.place)?;
        for argument in &self.arguments {
            write!(f, " {argument}")?;
        }
        match &self.place {
            ProbeSite::Event { filter: Some(filter), .. } => write!(f, " if {filter}"),
            _ => Ok(()),
        }
    }
}

impl Display for ProbeSite {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function { module, symbol, offset, .. } => {
                if let Some(module) = module {
                    write!(f, "{module}:")?;
                }
                f.write_str(symbol)?;
                plus(*offset, f)
            }
            Self::Traced { symbol, on: End::Entry } | Self::Tracepoint { name: symbol } => f.write_str(symbol),
            Self::Traced { symbol, on: End::Return { .. } } => write!(f, "{symbol}%return"),
            Self::Address { address, .. } => write!(f, "{address:#x}"),
            Self::File { path, at, reference, .. } => {
                match at {
                    FilePlace::Offset(offset) => write!(f, "{path}:{offset:#x}")?,
                    FilePlace::Function { name, offset } => {
                        write!(f, "{path}:{name}")?;
                        plus(*offset, f)?;
                    }
                }
                reference.map_or(Ok(()), |reference| write!(f, "({reference:#x})"))
            }
            Self::Event { group, event, .. } => write!(f, "{group}.{event}"),
        }
    }
}

fn plus(offset: u64, f: &mut Formatter<'_>) -> fmt::Result {
    if offset == 0 { Ok(()) } else { write!(f, "+{offset:#x}") }
}

/// An offset with its sign, the way the kernel reads it.
fn signed(offset: i64, f: &mut Formatter<'_>) -> fmt::Result {
    let sign = if offset < 0 { '-' } else { '+' };
    match offset.unsigned_abs() {
        small @ 0..10 => write!(f, "{sign}{small}"),
        large => write!(f, "{sign}{large:#x}"),
    }
}

impl Display for DynamicArgument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "{name}=")?;
        }
        self.fetch.fmt(f)?;
        self.ty.map_or(Ok(()), |ty| write!(f, ":{ty}"))
    }
}

impl Display for Fetch {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Register(name) => write!(f, "%{name}"),
            Self::Memory(address) => write!(f, "@{address:#x}"),
            Self::Symbol { symbol, offset } => {
                write!(f, "@{symbol}")?;
                if *offset == 0 { Ok(()) } else { signed(*offset, f) }
            }
            Self::FileOffset(offset) => write!(f, "@+{offset:#x}"),
            Self::StackWord(number) => write!(f, "$stack{number}"),
            Self::Stack => f.write_str("$stack"),
            Self::ReturnValue => f.write_str("$retval"),
            Self::Comm => f.write_str("$comm"),
            Self::Argument(number) => write!(f, "$arg{number}"),
            Self::Field(name) => write!(f, "${name}"),
            Self::Immediate(number) => write!(f, "\\{number:#x}"),
            Self::ImmediateText(text) => write!(f, "\\\"{text}\""),
            Self::Dereference { offset, user: false, of } => {
                signed(*offset, f)?;
                write!(f, "({of})")
            }
            Self::Dereference { offset, user: true, of } => {
                let sign = if *offset < 0 { '-' } else { '+' };
                write!(f, "{sign}u{:#x}({of})", offset.unsigned_abs())
            }
            Self::Variable(name) => f.write_str(name),
        }
    }
}

impl Display for FetchType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.base.fmt(f)?;
        self.count.map_or(Ok(()), |count| write!(f, "[{count}]"))
    }
}

impl Display for BaseType {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsigned(bits) => write!(f, "u{bits}"),
            Self::Signed(bits) => write!(f, "s{bits}"),
            Self::Hex(bits) => write!(f, "x{bits}"),
            Self::Char => f.write_str("char"),
            Self::Text => f.write_str("string"),
            Self::UserText => f.write_str("ustring"),
            Self::Symbol => f.write_str("symbol"),
            Self::SymbolText => f.write_str("symstr"),
            Self::Bits { width, shift, container } => write!(f, "b{width}@{shift}/{container}"),
        }
    }
}
