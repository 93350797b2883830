//! Types as messages name them, and how types come together.

use bathyscope_plan::{Aggregation, Pointee, Shown, Space, StackMode, Type};

/// What a type is called in messages, by `typeinfo` and in the editor.
pub(in crate::lang) fn describe(ty: &Type) -> String {
    match ty {
        Type::None => "void".to_owned(),
        Type::Bool => "bool".to_owned(),
        Type::Integer { bytes, signed } => format!("{}int{}", if *signed { "" } else { "u" }, u32::from(*bytes) * 8),
        Type::Enum { name, .. } if name.is_empty() => "enum".to_owned(),
        Type::Enum { name, .. } => format!("enum {name}"),
        Type::Text { bytes } => format!("string[{bytes}]"),
        Type::Buffer { bytes } => format!("buffer[{bytes}]"),
        Type::Pointer { to, space } => {
            let of = match &**to {
                Pointee::Void => "void".to_owned(),
                Pointee::Type(ty) => describe(ty),
                Pointee::C { name, .. } => name.clone(),
            };
            let star = if of.ends_with('*') { "*" } else { " *" };
            format!("{of}{star}{}", if *space == Space::User { " (user)" } else { "" })
        }
        Type::Struct(it) => it.name.clone(),
        Type::Array { of, count } => format!("{}[{count}]", describe(of)),
        Type::Tuple(parts) => format!("({})", parts.iter().map(describe).collect::<Vec<_>>().join(", ")),
        Type::Record(parts) => {
            let parts: Vec<String> = parts.iter().map(|(name, ty)| format!("{name} = {}", describe(ty))).collect();
            format!("({})", parts.join(", "))
        }
        Type::Stack { user, .. } => if *user { "ustack" } else { "kstack" }.to_owned(),
        Type::Shown(shown) => shown_name(shown).to_owned(),
        Type::Aggregate(aggregation) => aggregation_name(aggregation).to_owned(),
    }
}

/// What kind of type it is, in a word: the second part of `typeinfo`.
pub(super) fn base_name(ty: &Type) -> &'static str {
    match ty {
        Type::None => "void",
        Type::Bool => "bool",
        Type::Integer { .. } | Type::Enum { .. } => "int",
        Type::Text { .. } => "string",
        Type::Buffer { .. } => "buffer",
        Type::Pointer { .. } => "pointer",
        Type::Struct(_) => "struct",
        Type::Array { .. } => "array",
        Type::Tuple(_) => "tuple",
        Type::Record(_) => "record",
        Type::Stack { user: true, .. } => "ustack",
        Type::Stack { user: false, .. } => "kstack",
        Type::Shown(shown) => shown_name(shown),
        Type::Aggregate(aggregation) => aggregation_name(aggregation),
    }
}

fn shown_name(shown: &Shown) -> &'static str {
    match shown {
        Shown::KernelSymbol => "ksym",
        Shown::UserSymbol => "usym",
        Shown::Username => "username",
        Shown::ProcessName => "process name",
        Shown::Strerror => "strerror",
        Shown::SignalName => "signal name",
        Shown::SyscallName => "syscall name",
        Shown::FlagNames { .. } => "flag names",
        Shown::CgroupPath { .. } => "cgroup path",
        Shown::Time { .. } => "timestamp",
        Shown::Probe => "probe name",
        Shown::Inet => "inet",
        Shown::Mac => "macaddr",
        Shown::Function => "function name",
        Shown::Path { .. } => "path",
    }
}

/// The function that makes such a value.
pub(super) fn aggregation_name(aggregation: &Aggregation) -> &'static str {
    match aggregation {
        Aggregation::Count => "count",
        Aggregation::Sum { .. } => "sum",
        Aggregation::Min { .. } => "min",
        Aggregation::Max { .. } => "max",
        Aggregation::Average { .. } => "avg",
        Aggregation::Stats { .. } => "stats",
        Aggregation::Hist { .. } => "hist",
        Aggregation::LinearHist { .. } => "lhist",
        Aggregation::TimeSeries { .. } => "tseries",
    }
}

/// The word for a mode of stacks.
pub(super) fn stack_mode(word: &str) -> Option<StackMode> {
    Some(match word {
        "bpftrace" => StackMode::Bpftrace,
        "perf" => StackMode::Perf,
        "raw" => StackMode::Raw,
        "build_id" => StackMode::BuildId,
        _ => return None,
    })
}

/// Size and sign of what can be computed with.
pub(super) fn number(ty: &Type) -> Option<(u8, bool)> {
    match ty {
        Type::Bool => Some((1, false)),
        Type::Integer { bytes, signed } | Type::Enum { bytes, signed, .. } => Some((*bytes, *signed)),
        _ => None,
    }
}

/// How two types come together where either may be: what a variable is that is assigned both.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Join {
    /// This.
    To(Type),
    /// This, but values may change their sign.
    Lossy(Type),
    /// They do not.
    Never,
}

impl Join {
    fn and(self, make: impl FnOnce(Type) -> Type) -> Self {
        match self {
            Self::To(ty) => Self::To(make(ty)),
            Self::Lossy(ty) => Self::Lossy(make(ty)),
            Self::Never => Self::Never,
        }
    }
}

/// See [`Join`].
pub(super) fn join(a: &Type, b: &Type) -> Join {
    if a == b {
        return Join::To(a.clone());
    }
    match (a, b) {
        (Type::Text { bytes: x }, Type::Text { bytes: y }) => Join::To(Type::Text { bytes: *x.max(y) }),
        (Type::Buffer { bytes: x }, Type::Buffer { bytes: y }) => Join::To(Type::Buffer { bytes: *x.max(y) }),
        (Type::Shown(Shown::Path { bytes: x }), Type::Shown(Shown::Path { bytes: y })) => {
            Join::To(Type::Shown(Shown::Path { bytes: *x.max(y) }))
        }
        (Type::Tuple(x), Type::Tuple(y)) if x.len() == y.len() => {
            join_all(x.iter().zip(y).map(|(x, y)| join(x, y)), Type::Tuple)
        }
        (Type::Record(x), Type::Record(y)) if x.iter().map(|(name, _)| name).eq(y.iter().map(|(name, _)| name)) => {
            let names: Vec<String> = x.iter().map(|(name, _)| name.clone()).collect();
            let parts = x.iter().zip(y).map(|((_, x), (_, y))| join(x, y));
            join_all(parts, |types| Type::Record(names.into_iter().zip(types).collect()))
        }
        // In another order it is the same record: that of the first counts.
        (Type::Record(x), Type::Record(y)) if x.len() == y.len() => {
            let find = |name: &String| y.iter().find(|(other, _)| other == name).map(|(_, ty)| ty);
            let names: Vec<String> = x.iter().map(|(name, _)| name.clone()).collect();
            let parts = x.iter().map(|(name, x)| find(name).map_or(Join::Never, |y| join(x, y)));
            join_all(parts, |types| Type::Record(names.into_iter().zip(types).collect()))
        }
        (Type::Pointer { to: x, space: p }, Type::Pointer { to: y, space: q }) if p == q => {
            let character = |to: &Pointee| matches!(to, Pointee::Type(Type::Integer { bytes: 1, .. }));
            if character(x) && character(y) {
                return Join::To(a.clone());
            }
            let void = **x == Pointee::Void || **y == Pointee::Void;
            if void { Join::To(Type::Pointer { to: Box::new(Pointee::Void), space: *p }) } else { Join::Never }
        }
        (Type::Stack { user, mode, frames }, Type::Stack { user: other, mode: same, frames: more })
            if user == other && mode == same =>
        {
            Join::To(Type::Stack { user: *user, mode: *mode, frames: *frames.max(more) })
        }
        // Both are addresses; of the kernel's there is no process.
        (Type::Shown(Shown::KernelSymbol), Type::Shown(Shown::Function))
        | (Type::Shown(Shown::Function), Type::Shown(Shown::KernelSymbol)) => Join::To(Type::Shown(Shown::Function)),
        (Type::Array { of: x, count: n }, Type::Array { of: y, count: m }) if n == m => {
            join(x, y).and(|of| Type::Array { of: Box::new(of), count: *n })
        }
        _ => match (number(a), number(b)) {
            (Some(a), Some(b)) => join_numbers(a, b),
            _ => Join::Never,
        },
    }
}

/// Several joins as one.
pub(super) fn join_all(parts: impl Iterator<Item = Join>, make: impl FnOnce(Vec<Type>) -> Type) -> Join {
    let (mut types, mut lossy) = (Vec::new(), false);
    for part in parts {
        match part {
            Join::To(ty) => types.push(ty),
            Join::Lossy(ty) => {
                lossy = true;
                types.push(ty);
            }
            Join::Never => return Join::Never,
        }
    }
    if lossy { Join::Lossy(make(types)) } else { Join::To(make(types)) }
}

fn join_numbers((a, a_signed): (u8, bool), (b, b_signed): (u8, bool)) -> Join {
    if a_signed == b_signed {
        return Join::To(Type::Integer { bytes: a.max(b), signed: a_signed });
    }
    let (signed, unsigned) = if a_signed { (a, b) } else { (b, a) };
    if unsigned < signed {
        return Join::To(Type::Integer { bytes: signed, signed: true });
    }
    match unsigned {
        8 => Join::Lossy(Type::I64),
        _ => Join::To(Type::Integer { bytes: unsigned * 2, signed: true }),
    }
}

/// The smallest signed type that holds a number; 64 unsigned bits for what no signed one holds.
pub(super) fn literal_type(value: i64) -> Type {
    let bytes = match value {
        -0x80..=0x7f => 1,
        -0x8000..=0x7fff => 2,
        -0x8000_0000..=0x7fff_ffff => 4,
        _ => 8,
    };
    Type::Integer { bytes, signed: true }
}

/// Whether a number is a value of the type.
pub(super) fn fits(value: i64, bytes: u8, signed: bool) -> bool {
    let bits = u32::from(bytes.min(8)) * 8;
    match (signed, bits) {
        (true, 64) => true,
        (false, 64) => value >= 0,
        (true, _) => (-(1_i64 << (bits - 1))..1_i64 << (bits - 1)).contains(&value),
        (false, _) => (0..1_i64 << bits).contains(&value),
    }
}

/// The value that remains of a number in so many bytes.
pub(super) fn truncate(value: i64, bytes: u8, signed: bool) -> i64 {
    let unused = 64 - u32::from(bytes.clamp(1, 8)) * 8;
    if signed { value << unused >> unused } else { (value.cast_unsigned() << unused >> unused).cast_signed() }
}
