//! Texts and memory.

use bathyscope_catalog::syscalls::NameSet;
use bathyscope_plan::{Pointee, Shown, Space, Span, Type};

use super::Call;
use crate::lang::{
    ast::ExprKind,
    check::{
        Checked, Failed,
        body::BodyChecker,
        describe::{describe, number, truncate},
        values::{CheckedOperand, MemoryPlace},
    },
    hir::{CompareOp, TypedExpr, TypedExprKind},
    suggest,
};

/// The most bytes that `memcmp` compares.
const MAX_COMPARED_BYTES: u32 = 1024;

/// A constant length within the limit, or one that is evaluated.
fn length(body: &mut BodyChecker<'_, '_>, call: &Call<'_>, least: i64) -> Checked<(u32, Option<Box<TypedExpr>>)> {
    let most = body.cx.config.max_strlen;
    if call.arguments.len() < 2 {
        return Ok((most, None));
    }
    let value = body.number_argument(call, 1, "the length")?;
    let Some(constant) = value.constant() else { return Ok((most, Some(Box::new(value.convert(Type::U64))))) };
    if constant < least {
        return body.fail(value.span, format!("the length of `{}` is at least {least}", call.name), "");
    }
    match u32::try_from(constant) {
        Ok(constant) if constant <= most => Ok((constant, None)),
        _ => {
            body.warn(value.span, format!("the length {constant} is cut to max_strlen = {most}"))
                .hint(format!("raise it: `config = {{ max_strlen = {constant} }}`"));
            Ok((most, None))
        }
    }
}

/// Where memory is: its address, whose it is, and how many bytes if that is known. `None` for the address of what has none,
/// with the value.
enum MemoryArgument {
    At(TypedExpr, Space, Option<u32>),
    Value(TypedExpr),
}

fn memory(body: &mut BodyChecker<'_, '_>, call: &Call<'_>, index: usize) -> Checked<MemoryArgument> {
    let argument = call.argument(index).ok_or(Failed)?;
    let operand = body.operand(argument)?;
    match operand {
        CheckedOperand::Place(place) if !place.ty.is_scalar() => {
            let size = Some(place.ty.bytes()).filter(|size| *size > 0);
            let space = place.space;
            Ok(MemoryArgument::At(place.into_address(), space, size))
        }
        other => {
            let value = body.load(other)?;
            match &value.ty {
                Type::Pointer { .. } | Type::Integer { .. } | Type::Enum { .. } => {
                    let what = format!("`{}`", call.name);
                    let (address, space) = body.address(value, &what)?;
                    Ok(MemoryArgument::At(address, space, None))
                }
                Type::Array { .. } | Type::Struct(_) => {
                    if let TypedExprKind::Context { offset } = value.kind {
                        let size = Some(value.ty.bytes());
                        let ty = Type::Pointer { to: Box::new(Pointee::Void), space: Space::Kernel };
                        let address = TypedExpr::new(TypedExprKind::ContextAddress { offset }, ty, value.span);
                        return Ok(MemoryArgument::At(address, Space::Kernel, size));
                    }
                    Ok(MemoryArgument::Value(value))
                }
                _ => Ok(MemoryArgument::Value(value)),
            }
        }
    }
}

/// `str(address[, length])`.
pub(in crate::lang::check) fn str(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let span = call.span;
    let given = call.arguments.len() > 1;
    match memory(body, call, 0)? {
        MemoryArgument::At(address, space, size) => {
            let (most, length) = length(body, call, 1)?;
            let bytes = match (size, given) {
                // An array of characters need not end in a NUL.
                (Some(size), false) => most.saturating_add(1).min(size.saturating_add(1)),
                // A length that is given counts the NUL, the limit does not.
                (_, true) if length.is_none() => most.min(body.cx.config.max_strlen.saturating_add(1)),
                _ => most.saturating_add(1),
            };
            // As the constant: with the NUL.
            let length = match length {
                Some(length) => Some(Box::new(less_one(body, *length)?)),
                None => None,
            };
            let kind = TypedExprKind::ReadText { address: Box::new(address), space, length };
            Ok(TypedExpr::new(kind, Type::Text { bytes }, span))
        }
        MemoryArgument::Value(value) => match &value.ty {
            Type::Text { bytes } => {
                let (most, length) = length(body, call, 1)?;
                if length.is_some() {
                    return body.fail(
                        span,
                        "a text that was read already is cut at a known length",
                        "write the length as a number",
                    );
                }
                // Of a text, and not of an address, the length counts what is shown.
                let most = most.saturating_add(1);
                if let (true, TypedExprKind::Text(text)) = (given, &value.kind) {
                    let shown = text.get(..(most as usize - 1).min(text.len())).unwrap_or_default();
                    return Ok(BodyChecker::text(shown.to_vec(), span));
                }
                if given && most < *bytes { body.coerce(value, &Type::Text { bytes: most }, true) } else { Ok(value) }
            }
            Type::Shown(Shown::Probe) => match body.names.as_slice() {
                [name] => Ok(BodyChecker::text(name.as_bytes().to_vec(), span)),
                _ => body.fail(
                    value.span,
                    "this probe has several attach points, and the name is known only when it is shown",
                    "write a probe for each",
                ),
            },
            Type::Array { of, count } if of.bytes() == 1 => {
                // It need not end in a NUL.
                let ty = Type::Text { bytes: count.saturating_add(1) };
                Ok(TypedExpr::new(TypedExprKind::Reinterpret(Box::new(value)), ty, span))
            }
            Type::Shown(Shown::Path { .. }) => Ok(value),
            other => {
                let message = format!("`str` needs the address of a text, not {}", describe(other));
                body.fail(value.span, message, "")
            }
        },
    }
}

/// `buf(address[, length])`.
pub(in crate::lang::check) fn buf(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let span = call.span;
    match memory(body, call, 0)? {
        MemoryArgument::At(address, space, size) => {
            if size.is_none() && call.arguments.len() < 2 {
                return body.fail(span, "`buf` needs a length here", "write `buf(address, length)`");
            }
            let (bytes, wanted) = match (size, call.arguments.len()) {
                (Some(size), 1) => (size.min(body.cx.config.max_strlen), None),
                _ => length(body, call, 1)?,
            };
            let kind = TypedExprKind::ReadBuffer { address: Box::new(address), space, length: wanted };
            Ok(TypedExpr::new(kind, Type::Buffer { bytes: bytes.max(1) }, span))
        }
        MemoryArgument::Value(value)
            if matches!(value.ty, Type::Array { .. } | Type::Struct(_) | Type::Text { .. }) =>
        {
            let own = value.ty.bytes();
            let (bytes, wanted) = match call.arguments.len() {
                1 if own > body.cx.config.max_strlen => {
                    let message = format!("{} is longer than max_strlen", describe(&value.ty));
                    return body.fail(value.span, message, "raise `max_strlen`");
                }
                1 => (own, None),
                _ => length(body, call, 1)?,
            };
            let bytes = if wanted.is_some() { bytes.min(own) } else { bytes };
            let kind = TypedExprKind::BufferOf { of: Box::new(value), length: wanted };
            Ok(TypedExpr::new(kind, Type::Buffer { bytes: bytes.max(1) }, span))
        }
        MemoryArgument::Value(value) => {
            let message = format!("`buf` needs an address, not {}", describe(&value.ty));
            body.fail(value.span, message, "write `buf(address, length)`")
        }
    }
}

/// One less than a number without sign; of 0, 0.
fn less_one(body: &mut BodyChecker<'_, '_>, value: TypedExpr) -> Checked<TypedExpr> {
    let span = value.span;
    body.once(value, |body, value| {
        let one = TypedExpr::integer(1, Type::U64, span);
        let kind = TypedExprKind::Binary {
            op: crate::lang::hir::ArithmeticOp::Subtract,
            left: Box::new(value.clone()),
            right: Box::new(one.clone()),
        };
        let less = TypedExpr::new(kind, Type::U64, span);
        let kind = TypedExprKind::Compare { op: CompareOp::Greater, left: Box::new(value), right: Box::new(one) };
        body.select(TypedExpr::new(kind, Type::Bool, span), less, TypedExpr::integer(0, Type::U64, span), span)
    })
}

/// An argument that is a text, or is read as one.
fn text_argument(body: &mut BodyChecker<'_, '_>, call: &Call<'_>, index: usize) -> Checked<TypedExpr> {
    let argument = call.arguments.get(index..=index).unwrap_or_default();
    let operand_span = call.argument(index).map_or(call.span, |it| it.span);
    if let Some(ExprKind::Integer { .. } | ExprKind::Bool(_)) = call.argument(index).map(|it| &it.kind) {
        let message = format!("`{}` takes texts, and this is a number", call.name);
        return body.fail(operand_span, message, "write a text in quotes, or an address");
    }
    str(body, &Call { name: call.name, arguments: argument, span: operand_span })
}

/// `strlen`.
pub(in crate::lang::check) fn strlen(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let text = text_argument(body, call, 0)?;
    if let TypedExprKind::Text(bytes) = &text.kind {
        let length = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        return Ok(TypedExpr::integer(i64::try_from(length).unwrap_or(0), Type::U64, call.span));
    }
    Ok(TypedExpr::new(TypedExprKind::TextLength(Box::new(text)), Type::U64, call.span))
}

/// `strcap`.
pub(in crate::lang::check) fn strcap(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let text = text_argument(body, call, 0)?;
    Ok(TypedExpr::integer(i64::from(text.ty.bytes()), Type::I64, call.span))
}

/// `strcontains`, `strstr`.
pub(in crate::lang::check) fn find(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let (text, needle) = (text_argument(body, call, 0)?, text_argument(body, call, 1)?);
    let span = call.span;
    let kind = TypedExprKind::Find { text: Box::new(text), needle: Box::new(needle) };
    let found = TypedExpr::new(kind, Type::I64, span);
    if call.name == "strstr" {
        return Ok(found);
    }
    let zero = Box::new(TypedExpr::integer(0, Type::I64, span));
    let kind = TypedExprKind::Compare { op: CompareOp::GreaterEqual, left: Box::new(found), right: zero };
    Ok(TypedExpr::new(kind, Type::Bool, span))
}

/// `str_concat`.
pub(in crate::lang::check) fn concat(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let (left, right) = (text_argument(body, call, 0)?, text_argument(body, call, 1)?);
    let room = left.ty.bytes().saturating_add(right.ty.bytes()).saturating_sub(1);
    let bytes = room.min(body.cx.config.max_strlen.max(left.ty.bytes()));
    if let (TypedExprKind::Text(a), TypedExprKind::Text(b)) = (&left.kind, &right.kind) {
        return Ok(BodyChecker::text([a.as_slice(), b].concat(), call.span));
    }
    let kind = TypedExprKind::Concat { left: Box::new(left), right: Box::new(right) };
    Ok(TypedExpr::new(kind, Type::Text { bytes }, call.span))
}

/// `strncmp`.
pub(in crate::lang::check) fn strncmp(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let (left, right) = (text_argument(body, call, 0)?, text_argument(body, call, 1)?);
    let most = compared(body, call)?;
    let kind = TypedExprKind::Difference { left: Box::new(left), right: Box::new(right), most, text: true };
    let difference = Box::new(TypedExpr::new(kind, Type::I64, call.span));
    let zero = Box::new(TypedExpr::integer(0, Type::I64, call.span));
    // Only whether they differ is told.
    let kind = TypedExprKind::Compare { op: CompareOp::NotEqual, left: difference, right: zero };
    Ok(TypedExpr::new(kind, Type::Bool, call.span).convert(Type::U64))
}

fn compared(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<u32> {
    let count = body.constant_argument(call, 2, "the length")?;
    let most = body.cx.config.max_strlen.max(MAX_COMPARED_BYTES);
    match u32::try_from(count) {
        Ok(count) if count <= most => Ok(count),
        _ => body.fail(call.span, format!("`{}` compares 0 to {most} bytes, not {count}", call.name), ""),
    }
}

/// `memcmp`.
pub(in crate::lang::check) fn memcmp(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let most = compared(body, call)?;
    if most == 0 {
        return Ok(TypedExpr::integer(0, Type::I64, call.span));
    }
    let mut side = |index: usize| -> Checked<TypedExpr> {
        match memory(body, call, index)? {
            MemoryArgument::At(address, space, size) => {
                let count = size.map_or(most, |size| size.min(most));
                let ty = Type::Array { of: Box::new(Type::Integer { bytes: 1, signed: false }), count };
                let span = address.span;
                let kind = TypedExprKind::Read { address: Box::new(address), offset: 0, space, bits: None };
                Ok(TypedExpr::new(kind, ty, span))
            }
            MemoryArgument::Value(value)
                if matches!(value.ty, Type::Text { .. } | Type::Array { .. } | Type::Struct(_)) =>
            {
                Ok(value)
            }
            MemoryArgument::Value(value) => {
                let message = format!("`memcmp` compares memory, not {}", describe(&value.ty));
                body.fail(value.span, message, "give addresses, arrays or texts")
            }
        }
    };
    let (left, right) = (side(0)?, side(1)?);
    let least = left.ty.bytes().min(right.ty.bytes());
    if least < most {
        let message = format!("`memcmp` compares {most} bytes, but one side has only {least}");
        return body.fail(call.span, message, format!("compare {least}"));
    }
    let kind = TypedExprKind::Difference { left: Box::new(left), right: Box::new(right), most, text: false };
    Ok(TypedExpr::new(kind, Type::I64, call.span))
}

/// `bswap`.
pub(in crate::lang::check) fn bswap(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let value = body.number_argument(call, 0, "the number")?;
    let inferred = call.argument(0).and_then(|argument| body.inferred(argument)).unwrap_or(value.ty.clone());
    let bytes = number(&inferred).map_or(8, |(bytes, _)| bytes);
    let ty = Type::Integer { bytes, signed: false };
    if let Some(constant) = value.constant() {
        let unused = 64 - u32::from(bytes) * 8;
        let swapped = constant.cast_unsigned().swap_bytes() >> unused;
        let swapped = truncate(swapped.cast_signed(), bytes, false);
        return Ok(TypedExpr::integer(swapped, ty, call.span));
    }
    let value = value.convert(ty.clone());
    if bytes == 1 {
        return Ok(value);
    }
    Ok(TypedExpr::new(TypedExprKind::ByteSwap(Box::new(value)), ty, call.span))
}

/// `strerror`, `signal_name`, `syscall_name`: numbers that are shown as text.
pub(in crate::lang::check) fn named(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let value = body.number_argument(call, 0, "the number")?;
    let shown = match call.name {
        "strerror" => Shown::Strerror,
        "signal_name" => Shown::SignalName,
        _ => Shown::SyscallName,
    };
    Ok(TypedExpr { span: call.span, ..value.convert(Type::Shown(shown)) })
}

/// `flag_names(set, number)`.
pub(in crate::lang::check) fn flag_names(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let set = body.literal_name(call, 0, "the set of names")?;
    if NameSet::find(&set).is_none() {
        let hint = match suggest(&set, NameSet::all().map(NameSet::name)) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => {
                "the sets are those of arguments of system calls: \"open\", \"prot\", \"mmap\", \"whence\" …".to_owned()
            }
        };
        let span = call.argument(0).map_or(call.span, |argument| argument.span);
        return body.fail(span, format!("there is no set of names \"{set}\""), hint);
    }
    let value = body.number_argument(call, 1, "the number")?;
    let ty = Type::Shown(Shown::FlagNames { set });
    Ok(TypedExpr { span: call.span, ..value.convert(Type::U64).convert(ty) })
}

/// `strftime(format, nanoseconds)`.
pub(in crate::lang::check) fn strftime(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let format = body.literal_name(call, 0, "the format")?;
    let value = body.number_argument(call, 1, "the time")?;
    let clock = super::values::clock_of(&value);
    let ty = Type::Shown(Shown::Time { format, clock });
    Ok(TypedExpr { span: call.span, ..value.convert(Type::U64).convert(ty) })
}

/// `macaddr(array)`.
pub(in crate::lang::check) fn macaddr(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let bytes = network_bytes(body, call, 0, &[6])?;
    Ok(TypedExpr::new(TypedExprKind::Reinterpret(Box::new(bytes)), Type::Shown(Shown::Mac), call.span))
}

fn octets(count: u32) -> Type {
    Type::Array { of: Box::new(Type::Integer { bytes: 1, signed: false }), count }
}

/// An argument as an array of bytes of one of these sizes.
fn network_bytes(body: &mut BodyChecker<'_, '_>, call: &Call<'_>, index: usize, sizes: &[u32]) -> Checked<TypedExpr> {
    let argument = call.argument(index).ok_or(Failed)?;
    let operand = body.operand(argument)?;
    let shown: Vec<String> = sizes.iter().map(u32::to_string).collect();
    let hint = format!("give an array of {} bytes", shown.join(" or "));
    if let CheckedOperand::Place(place) = &operand
        && !place.ty.is_scalar()
        && sizes.contains(&place.ty.bytes())
    {
        let place = MemoryPlace { ty: octets(place.ty.bytes()), ..place.clone() };
        return body.load(CheckedOperand::Place(place));
    }
    let value = body.load(operand)?;
    match (&value.ty, sizes) {
        (Type::Array { of, count }, _) if of.bytes() == 1 && sizes.contains(count) => Ok(value),
        (Type::Array { .. } | Type::Struct(_) | Type::Text { .. }, _) if sizes.contains(&value.ty.bytes()) => {
            let ty = octets(value.ty.bytes());
            Ok(TypedExpr::new(TypedExprKind::Reinterpret(Box::new(value)), ty, argument.span))
        }
        (Type::Pointer { .. } | Type::Integer { .. }, [size]) => {
            let what = format!("`{}`", call.name);
            let (address, space) = body.address(value, &what)?;
            let kind = TypedExprKind::Read { address: Box::new(address), offset: 0, space, bits: None };
            Ok(TypedExpr::new(kind, octets(*size), argument.span))
        }
        _ => {
            let message = format!("`{}` cannot take {}", call.name, describe(&value.ty));
            body.fail(argument.span, message, hint)
        }
    }
}

/// `ntop([family, ]address)`.
pub(in crate::lang::check) fn ntop(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let family = match call.arguments.len() {
        1 => None,
        _ => Some(Box::new(body.number_argument(call, 0, "the family")?.convert(Type::I64))),
    };
    let index = call.arguments.len() - 1;
    let argument = call.argument(index).ok_or(Failed)?;
    let known = body.type_of(argument)?;
    let address = if number(&known).is_some() {
        let value = body.value(argument)?;
        value.convert(Type::Integer { bytes: 4, signed: false })
    } else {
        network_bytes(body, call, index, &[4, 16])?
    };
    let kind = TypedExprKind::Inet { family, address: Box::new(address) };
    Ok(TypedExpr::new(kind, Type::Shown(Shown::Inet), call.span))
}

/// `pton(text)`.
pub(in crate::lang::check) fn pton(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let text = body.literal_name(call, 0, "the address")?;
    let at: Span = call.argument(0).map_or(call.span, |it| it.span);
    let bytes = match text.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(address)) => address.octets().to_vec(),
        Ok(std::net::IpAddr::V6(address)) => address.octets().to_vec(),
        Err(_not_one) => {
            return body.fail(
                at,
                format!("`{text}` is no network address"),
                "write for instance `192.0.2.1` or `2001:db8::1`",
            );
        }
    };
    let ty = octets(u32::try_from(bytes.len()).unwrap_or(4));
    let text = BodyChecker::text(bytes, at);
    Ok(TypedExpr::new(TypedExprKind::Reinterpret(Box::new(text)), ty, call.span))
}
