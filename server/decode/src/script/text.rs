//! Values as text.

use std::net::{Ipv4Addr, Ipv6Addr};

use bathyscope_catalog::{
    constants::{self, Arch},
    syscalls::NameSet,
};
use bathyscope_plan::{Conversion, FormatPiece, Plan, Shown, SiteField, Type};

use super::{
    Names, Value, gfp, number,
    stack::{self, Shape},
    terminal::{safe_in_a_line, safe_text},
    time,
};

/// Blanks before frames of stacks in printed values.
pub(super) const INDENT: usize = 8;
const AF_INET: u32 = 2;
const AF_INET6: u32 = 10;

/// What text needs to know.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) plan: &'a Plan,
    pub(super) names: &'a dyn Names,
    /// Blanks before frames of stacks.
    pub(super) indent: usize,
    /// Whether text of events stays as it came, line breaks too.
    pub(super) raw: bool,
    /// Whether nothing but commas stands between parts, as in the keys of JSON.
    pub(super) is_compact: bool,
}

impl Context<'_> {
    pub(super) fn compact(self, is_compact: bool) -> Self {
        Self { is_compact, ..self }
    }

    /// A value as `print` shows it.
    pub(super) fn value(&self, ty: &Type, value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(&mut out, ty, value);
        out
    }

    fn write(&self, out: &mut Vec<u8>, ty: &Type, value: &Value) {
        match value {
            Value::Text(text) => self.write_text(out, ty, text),
            Value::Buffer(bytes) => out.extend(number::buffer(None, bytes).into_bytes()),
            Value::List(parts) => self.write_parts(out, ty, parts),
            Value::Stack { .. } => out.extend(self.plain(ty, value).into_bytes()),
            _ if self.raw => out.extend(self.plain(ty, value).into_bytes()),
            // Names of processes, groups and functions are somebody's text too.
            _ => out.extend(safe_text(self.plain(ty, value)).into_bytes()),
        }
    }

    /// A text that fills all the room it may take was probably longer.
    pub(super) fn write_text(&self, out: &mut Vec<u8>, ty: &Type, text: &[u8]) {
        if self.raw {
            out.extend(text);
        } else {
            out.extend(safe_in_a_line(text).as_ref());
        }
        let room = self.plan.config.max_strlen;
        if ty.bytes() > room && text.len() >= room as usize {
            out.extend(self.plan.config.str_trunc_trailer.as_bytes());
        }
    }

    fn write_parts(&self, out: &mut Vec<u8>, ty: &Type, parts: &[Value]) {
        let (begin, end, separator) = match ty {
            Type::Array { .. } => ("[", "]", ","),
            Type::Struct(_) | Type::Record(_) if parts.is_empty() => ("{", "}", ""),
            Type::Struct(_) | Type::Record(_) if self.is_compact => ("{", "}", ","),
            Type::Struct(_) | Type::Record(_) => ("{ ", " }", ", "),
            _ if self.is_compact => ("(", ")", ","),
            _ => ("(", ")", ", "),
        };
        let equals = if self.is_compact { "=" } else { " = " };
        out.extend(begin.as_bytes());
        for (at, (value, (name, ty))) in parts.iter().zip(part_types(ty)).enumerate() {
            if at > 0 {
                out.extend(separator.as_bytes());
            }
            match (name, ty) {
                ("", _) => {}
                (name, _) => out.extend(format!(".{name}{equals}").into_bytes()),
            }
            self.write(out, ty.ty(), value);
        }
        out.extend(end.as_bytes());
    }

    /// Everything that is text without being text of an event.
    fn plain(&self, ty: &Type, value: &Value) -> String {
        match (ty, value) {
            (Type::Shown(shown), value) => self.shown(shown, value),
            (Type::Stack { user, mode, frames }, Value::Stack { id, pid }) => {
                let (indent, raw) = (self.indent, self.raw);
                let shape = Shape { user: *user, mode: *mode, frames: *frames, indent, raw };
                stack::text(&shape, *id, *pid, self.names)
            }
            (Type::Pointer { .. }, Value::Unsigned(address)) => format!("{address:#x}"),
            (Type::Enum { names, .. }, value) => enum_name(names, value).unwrap_or_else(|| plain_number(value)),
            (_, value) => plain_number(value),
        }
    }

    fn shown(&self, shown: &Shown, value: &Value) -> String {
        let number = value.number().unwrap_or(0);
        let signed = || i64::try_from(number).unwrap_or(i64::MAX);
        let unsigned = || u64::try_from(number).unwrap_or(0);
        match (shown, value) {
            (_, Value::Address { address, pid }) => {
                stack::name((*shown == Shown::UserSymbol || *pid != 0).then_some(*pid), *address, self.names)
            }
            (Shown::Inet, Value::Inet { family, address }) => inet(*family, address),
            (Shown::Mac, Value::Mac(bytes)) => bytes.map(|byte| format!("{byte:02X}")).join(":"),
            (Shown::KernelSymbol | Shown::UserSymbol | Shown::Function, _) => stack::name(None, unsigned(), self.names),
            (Shown::Username, _) => {
                let name = u32::try_from(number).ok().and_then(|uid| self.names.user_name(uid));
                name.unwrap_or_else(|| number.to_string())
            }
            (Shown::ProcessName, _) => {
                let name = u32::try_from(number).ok().and_then(|pid| self.names.process_name(pid));
                // As perf shows a thread that it knows nothing of.
                name.unwrap_or_else(|| format!(":{number}"))
            }
            (Shown::Strerror, _) => {
                let text = constants::errno_text(signed());
                match number {
                    0 => "Success".to_owned(),
                    _ => text.unwrap_or("Unknown error").to_owned(),
                }
            }
            (Shown::SignalName, _) => constants::signal_text(signed()),
            (Shown::SyscallName, _) => {
                constants::syscall_name(Arch::HOST, signed()).unwrap_or("Unknown syscall").to_owned()
            }
            // A set that this version does not know has no names.
            (Shown::FlagNames { set }, _) => {
                NameSet::find(set).map_or_else(|| plain_number(value), |set| set.text(unsigned()))
            }
            (Shown::CgroupPath { filter }, _) => self.names.cgroup_path(unsigned(), filter).unwrap_or_default(),
            (Shown::Time { format, clock }, _) => self
                .names
                .wall_time(*clock, unsigned())
                .map_or_else(|| number.to_string(), |wall| time::format_time(format, &wall)),
            (Shown::Probe, _) => self.probe(number),
            _ => plain_number(value),
        }
    }

    fn probe(&self, index: i128) -> String {
        let probe = usize::try_from(index).ok().and_then(|index| self.plan.probes.get(index));
        probe.map_or_else(|| index.to_string(), |probe| probe.name.clone())
    }

    /// The text of a format and the values for it; what has no value stays empty.
    pub(super) fn format(&self, format: &[FormatPiece], fields: &[SiteField], values: &[Value]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut left = fields.iter().zip(values);
        for piece in format {
            match piece {
                FormatPiece::Literal(text) => out.extend(text),
                FormatPiece::Field(conversion) => {
                    if let Some((field, value)) = left.next() {
                        out.extend(self.converted(conversion, &field.ty, value));
                    }
                }
            }
        }
        out
    }

    fn converted(&self, conversion: &Conversion, ty: &Type, value: &Value) -> Vec<u8> {
        match (conversion.letter, value) {
            ('s', _) => number::text(conversion, self.value(ty, value)),
            ('r', value) if conversion.raw == Some('g') => {
                // A negative number has all higher bits, as it is sent.
                let bits = value.number().and_then(|number| {
                    i64::try_from(number).map(i64::cast_unsigned).or_else(|_large| u64::try_from(number)).ok()
                });
                number::text(conversion, gfp::flags(bits.unwrap_or(0)).into_bytes())
            }
            ('r', Value::Buffer(bytes)) => number::text(conversion, number::buffer(conversion.raw, bytes).into_bytes()),
            (_, value) => match value.number() {
                Some(bits) if conversion.letter != 'r' => number::number(conversion, bits),
                _ => number::text(conversion, self.value(ty, value)),
            },
        }
    }
}

/// A part of a composed value.
#[derive(Clone, Copy)]
pub(super) enum Part<'a> {
    /// A member of a struct.
    Member(&'a Type),
    /// A part of a tuple, record or array.
    Own(&'a Type),
}

impl<'a> Part<'a> {
    pub(super) fn ty(self) -> &'a Type {
        match self {
            Part::Member(ty) | Part::Own(ty) => ty,
        }
    }
}

/// Names (empty where there are none) and types of the parts of a composed value.
pub(super) fn part_types(ty: &Type) -> Box<dyn Iterator<Item = (&str, Part<'_>)> + '_> {
    match ty {
        Type::Tuple(parts) => Box::new(parts.iter().map(|ty| ("", Part::Own(ty)))),
        Type::Record(parts) => Box::new(parts.iter().map(|(name, ty)| (name.as_str(), Part::Own(ty)))),
        Type::Struct(it) => Box::new(it.fields.iter().map(|field| (field.name.as_str(), Part::Member(&field.ty)))),
        Type::Array { of, count } => Box::new(std::iter::repeat_n(("", Part::Own(of)), *count as usize)),
        _ => Box::new(std::iter::empty()),
    }
}

pub(super) fn enum_name(names: &[(i64, String)], value: &Value) -> Option<String> {
    let number = value.number()?;
    // A value without sign may be larger than what the table holds it as.
    let found =
        names.iter().find(|(known, _)| i128::from(*known) == number || number == i128::from(known.cast_unsigned()));
    found.map(|(_, name)| name.clone())
}

fn plain_number(value: &Value) -> String {
    match value {
        Value::Bool(value) => value.to_string(),
        Value::None => "null".to_owned(),
        Value::Stack { id, .. } => id.to_string(),
        value => value.number().map(|number| number.to_string()).unwrap_or_default(),
    }
}

fn inet(family: u32, address: &[u8; 16]) -> String {
    match family {
        AF_INET => {
            let [a, b, c, d, ..] = *address;
            Ipv4Addr::new(a, b, c, d).to_string()
        }
        AF_INET6 => Ipv6Addr::from(*address).to_string(),
        _ => String::new(),
    }
}
