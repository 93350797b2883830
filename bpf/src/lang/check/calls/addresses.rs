//! Addresses, symbols and registers.

use bathyscope_plan::{Pointee, Shown, Space, Type};

use super::Call;
use crate::lang::{
    ast::ExprKind,
    check::{
        Checked, Failed, body::BodyChecker, casts::in_space, checker::ScriptChecker, context::PointKind,
        describe::describe, values::CheckedOperand,
    },
    hir::{Builtin, CompareOp, TypedExpr, TypedExprKind},
};

/// The first kernel that tells programs at returns in user space where the function is.
pub(super) const ENTRY_ADDRESS: u32 = 6006;

/// `kaddr("name")`.
pub(in crate::lang::check) fn kaddr(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let address = kernel_symbol(body, call)?;
    Ok(TypedExpr::integer(address.cast_signed(), Type::U64, call.span))
}

fn kernel_symbol(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<u64> {
    let name = body.literal_name(call, 0, "the symbol")?;
    match body.cx.host.kernel_symbol(&name) {
        Some(address) => Ok(address),
        None => {
            let at = call.argument(0).map_or(call.span, |it| it.span);
            let hint = body.cx.hints.about("kernel symbol", &name, || {
                let functions = body.cx.host.functions().iter().map(|it| it.name.as_str());
                crate::lang::suggest(&name, functions).map_or_else(
                    || "the kernel's symbols are in kallsyms, which may need root's rights".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                )
            });
            body.fail(at, format!("there is no kernel symbol `{name}`"), hint)
        }
    }
}

/// `percpu_kaddr("name"[, cpu])`.
pub(in crate::lang::check) fn percpu_kaddr(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let span = call.span;
    let name = body.literal_name(call, 0, "the symbol")?;
    let known = body.cx.types.variable(&name).map(|it| (it.ty, it.percpu()));
    let address = kernel_symbol(body, call)?;
    if let Some((_, false)) = known {
        return body.fail(span, format!("`{name}` is not there once for each CPU"), format!("use `kaddr(\"{name}\")`"));
    }
    let cpu = match call.arguments.len() {
        1 => None,
        _ => Some(Box::new(body.number_argument(call, 1, "the CPU")?.convert(Type::U64))),
    };
    let to = match known.map(|(ty, _)| body.cx.c_type(ty, Space::Kernel)) {
        Some(ty) if ty != Type::None => ScriptChecker::pointee(ty),
        _ => Pointee::Type(Type::U64),
    };
    let ty = Type::Pointer { to: Box::new(to), space: Space::Kernel };
    let address = Box::new(TypedExpr::integer(address.cast_signed(), Type::U64, span));
    Ok(TypedExpr::new(TypedExprKind::PerCpuAddress { address, cpu }, ty, span))
}

/// `uaddr("name")`.
pub(in crate::lang::check) fn uaddr(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let name = body.literal_name(call, 0, "the symbol")?;
    if body.shape.unknown {
        return Err(Failed);
    }
    if !body.shape.kind.is_user() {
        let message = format!("`uaddr` needs a probe in user space, not {}", body.shape.kind.name());
        return body.fail(call.span, message, "uprobe, uretprobe and usdt know the file");
    }
    let point = body.shape.point.clone();
    let (path, place) = body.shape.place.clone().unwrap_or_default();
    let symbols = body.cx.host.user_places(&point).map_or(&[][..], |places| &places.symbols);
    let Some(symbol) = symbols.iter().find(|it| it.name == name && it.path == path).cloned() else {
        let at = call.argument(0).map_or(call.span, |it| it.span);
        let message = format!("{path} has no symbol `{name}`");
        return body.fail(at, message, "variables and functions are found if the file is not stripped");
    };
    let bytes = u8::try_from(symbol.bytes).ok().filter(|size| matches!(size, 1 | 2 | 4 | 8)).unwrap_or(8);
    let to = Pointee::Type(Type::Integer { bytes, signed: false });
    let ty = Type::Pointer { to: Box::new(to), space: Space::User };
    if symbol.fixed {
        return Ok(TypedExpr::integer(symbol.address.cast_signed(), ty, call.span));
    }
    // The distance to the place that was hit is the same wherever the file is loaded.
    let hit = hit_address(body, call)?;
    Ok(hit.plus(symbol.address.wrapping_sub(place).cast_signed()).convert(ty))
}

/// The address of the place that was hit, in the process.
fn hit_address(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    if body.shape.kind != PointKind::Uretprobe {
        return body.register("ip", call.span);
    }
    if body.cx.host.features().kernel < ENTRY_ADDRESS {
        return body.fail(
            call.span,
            "at a return this kernel does not tell where the program is loaded, which `uaddr` needs",
            "keep it from the function's begin: `uprobe:… { @at[tid] = uaddr(…); }`; Linux 6.6 and later tell it",
        );
    }
    Ok(TypedExpr::new(TypedExprKind::Builtin(Builtin::EntryAddress), Type::U64, call.span))
}

/// `kptr`, `uptr`: whose memory a pointer is of.
pub(in crate::lang::check) fn space(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let space = if call.name == "uptr" { Space::User } else { Space::Kernel };
    let value = body.value(call.argument(0).ok_or(Failed)?)?;
    match &value.ty {
        Type::Pointer { .. } => {
            let ty = in_space(&value.ty, space);
            Ok(value.convert(ty))
        }
        Type::Integer { .. } => Ok(value.convert(Type::Pointer { to: Box::new(Pointee::Void), space })),
        other => {
            let message = format!("`{}` takes a pointer, not {}", call.name, describe(other));
            body.fail(value.span, message, "")
        }
    }
}

/// `ksym(address)`.
pub(in crate::lang::check) fn ksym(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let value = body.number_argument(call, 0, "the address")?;
    Ok(TypedExpr { span: call.span, ..value.convert(Type::U64).convert(Type::Shown(Shown::KernelSymbol)) })
}

/// `usym(address)`.
pub(in crate::lang::check) fn usym(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let value = body.number_argument(call, 0, "the address")?.convert(Type::U64);
    Ok(TypedExpr::new(
        TypedExprKind::WithProcess { address: Box::new(value) },
        Type::Shown(Shown::UserSymbol),
        call.span,
    ))
}

/// `reg("name")`.
pub(in crate::lang::check) fn reg(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let name = body.literal_name(call, 0, "the register")?;
    body.register(&name, call.span)
}

/// `path(struct path *[, size])`.
pub(in crate::lang::check) fn path(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let span = call.span;
    if !matches!(body.shape.kind, PointKind::Fentry | PointKind::Fexit | PointKind::Iter) && !body.shape.unknown {
        let message = format!("`path` cannot be used in {} probes", body.shape.kind.name());
        return body.fail(
            span,
            message,
            "the kernel allows it in some functions of fentry and fexit, and in iterators",
        );
    }
    let most = body.cx.config.max_strlen;
    let bytes = match call.arguments.len() {
        1 => most,
        _ => match u32::try_from(body.constant_argument(call, 1, "the size")?) {
            Ok(bytes @ 1..) if bytes <= most => bytes,
            _ => return body.fail(span, format!("the size of `path` is 1 to max_strlen = {most}"), ""),
        },
    };
    let argument = call.argument(0).ok_or(Failed)?;
    let operand = body.operand(argument)?;
    let address = match operand {
        CheckedOperand::Place(place) if matches!(&place.ty, Type::Struct(it) if it.name == "struct path") => {
            place.into_address()
        }
        other => {
            let value = body.load(other)?;
            let to = match &value.ty {
                Type::Pointer { to, .. } => describe_pointee(to),
                other => describe(other),
            };
            match to.as_str() {
                "struct path" => value,
                "struct file" => {
                    let name = crate::lang::ast::Name { text: "f_path".to_owned(), span };
                    match body.member(CheckedOperand::Value(value), &name, span)? {
                        CheckedOperand::Place(place) => place.into_address(),
                        _ => return Err(Failed),
                    }
                }
                _ => {
                    let message = format!("`path` takes a `struct path *`, not {}", describe(&value.ty));
                    return body.fail(argument.span, message, "give for instance `args.file.f_path`");
                }
            }
        }
    };
    Ok(TypedExpr::new(TypedExprKind::Path { address: Box::new(address) }, Type::Shown(Shown::Path { bytes }), span))
}

/// Types of sockets that the kernel takes for a `struct sock`, which is what each begins with.
const SOCKETS: [&str; 12] = [
    "sock",
    "sock_common",
    "inet_sock",
    "inet_connection_sock",
    "inet_request_sock",
    "inet_timewait_sock",
    "request_sock",
    "tcp_sock",
    "tcp6_sock",
    "udp_sock",
    "udp6_sock",
    "unix_sock",
];

/// `socket_cookie(struct sock *)`.
pub(in crate::lang::check) fn socket_cookie(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let kinds = [PointKind::Fentry, PointKind::Fexit, PointKind::RawTracepoint, PointKind::Iter];
    if !kinds.contains(&body.shape.kind) && !body.shape.unknown {
        let message = format!("`socket_cookie` cannot be used in {} probes", body.shape.kind.name());
        return body.fail(call.span, message, "the kernel allows it in fentry, fexit, rawtracepoint and iterators");
    }
    let argument = call.argument(0).ok_or(Failed)?;
    let value = body.value(argument)?;
    let name = match &value.ty {
        Type::Pointer { to, .. } => describe_pointee(to),
        other => describe(other),
    };
    if !name.strip_prefix("struct ").is_some_and(|name| SOCKETS.contains(&name)) {
        let message = format!("`socket_cookie` takes a `struct sock *`, not {}", describe(&value.ty));
        return body.fail(argument.span, message, "give for instance `args.sk`");
    }
    Ok(TypedExpr::new(TypedExprKind::SocketCookie { address: Box::new(value) }, Type::U64, call.span))
}

fn describe_pointee(to: &Pointee) -> String {
    match to {
        Pointee::Void => "void".to_owned(),
        Pointee::Type(ty) => describe(ty),
        Pointee::C { name, .. } => name.clone(),
    }
}

/// `cgroupid("path")`.
pub(in crate::lang::check) fn cgroup_id(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let path = body.literal_name(call, 0, "the path")?;
    match body.cx.host.cgroup_id(&path) {
        Some(id) => Ok(TypedExpr::integer(id.cast_signed(), Type::U64, call.span)),
        None => {
            let at = call.argument(0).map_or(call.span, |it| it.span);
            body.fail(
                at,
                format!("there is no control group `{path}`"),
                "write its path, for instance \"/sys/fs/cgroup/system.slice\"",
            )
        }
    }
}

/// `cgroup_path(id[, filter])`.
pub(in crate::lang::check) fn cgroup_path(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let value = body.number_argument(call, 0, "the id")?;
    let filter = match call.arguments.len() {
        1 => String::new(),
        _ => body.literal_name(call, 1, "the filter")?,
    };
    Ok(TypedExpr { span: call.span, ..value.convert(Type::U64).convert(Type::Shown(Shown::CgroupPath { filter })) })
}

/// `container_of(pointer, type, member)`.
pub(in crate::lang::check) fn container_of(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let span = call.span;
    let pointer = body.value(call.argument(0).ok_or(Failed)?)?;
    let (pointer, space) = body.address(pointer, "`container_of`")?;
    let ty = body.type_of(call.argument(1).ok_or(Failed)?)?;
    let member = call.argument(2).ok_or(Failed)?;
    let mut path = Vec::new();
    let mut at = member;
    loop {
        match &at.kind {
            ExprKind::Member { base, name } => {
                path.push(crate::lang::ast::PathStep::Member(name.clone()));
                at = base;
            }
            ExprKind::Identifier(name) => {
                let name = crate::lang::ast::Name { text: name.clone(), span: at.span };
                path.push(crate::lang::ast::PathStep::Member(name));
                break;
            }
            ExprKind::Index { base, index } => {
                path.push(crate::lang::ast::PathStep::Index((**index).clone()));
                at = base;
            }
            _ => {
                return body.fail(
                    member.span,
                    "`container_of` ends with the name of a member",
                    "write `container_of(p, struct x, member)`",
                );
            }
        }
    }
    path.reverse();
    let offset = body.offset_of(&ty, &path, span)?.constant().unwrap_or(0);
    let ty = Type::Pointer { to: Box::new(ScriptChecker::pointee(ty)), space };
    Ok(pointer.plus(offset.wrapping_neg()).convert(ty))
}

/// `is_err(pointer)`: the kernel keeps errors in the last 4095 addresses.
pub(in crate::lang::check) fn is_err(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    const FIRST_ERROR: i64 = -4095;
    let value = body.value(call.argument(0).ok_or(Failed)?)?;
    let (address, _) = body.address(value, "`is_err`")?;
    let left = Box::new(address.convert(Type::U64));
    let right = Box::new(TypedExpr::integer(FIRST_ERROR, Type::U64, call.span));
    Ok(TypedExpr::new(TypedExprKind::Compare { op: CompareOp::GreaterEqual, left, right }, Type::Bool, call.span))
}
