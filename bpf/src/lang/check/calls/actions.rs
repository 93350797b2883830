//! What changes the traced system. All of it must be allowed.

use bathyscope_catalog::constants::signal_number;
use bathyscope_plan::{Space, Type};

use super::Call;
use crate::lang::{
    check::{Checked, Failed, body::BodyChecker, context::PointKind, describe::describe},
    hir::{TypedExpr, TypedExprKind, TypedStatement, TypedStatementKind},
};

/// The most bytes that `write_user` copies.
const MAX_WRITTEN_BYTES: u32 = 512;

/// Refuses what is not allowed.
pub(super) fn needs_unsafe(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<()> {
    if body.cx.options.unsafe_allowed {
        return Ok(());
    }
    body.fail(
        call.span,
        format!("`{}` changes what is observed and is not allowed here", call.name),
        "allow it with --unsafe",
    )
}

fn statement(kind: TypedStatementKind, call: &Call<'_>) -> TypedExpr {
    BodyChecker::effect(vec![TypedStatement { kind, span: call.span }], call.span)
}

/// `signal`, `signal_thread`.
pub(in crate::lang::check) fn signal(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    needs_unsafe(body, call)?;
    let thread = call.name == "signal_thread";
    let argument = call.argument(0).ok_or(Failed)?;
    let value = body.value(argument)?;
    if let TypedExprKind::Text(name) = &value.kind {
        let name = String::from_utf8_lossy(name).into_owned();
        let Some(number) = signal_number(&name) else {
            return body.fail(argument.span, format!("there is no signal `{name}`"), "write for instance \"SIGSTOP\"");
        };
        let number = TypedExpr::integer(number, Type::I64, argument.span);
        return Ok(statement(TypedStatementKind::Signal { number, thread }, call));
    }
    let number = body.number_argument(call, 0, "the signal")?;
    if number.constant().is_some_and(|number| !(1..=64).contains(&number)) {
        return body.fail(argument.span, "signals have the numbers 1 to 64", "write for instance \"SIGSTOP\"");
    }
    let number = number.convert(Type::I64);
    Ok(statement(TypedStatementKind::Signal { number, thread }, call))
}

/// `override(value)`.
pub(in crate::lang::check) fn override_return(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    needs_unsafe(body, call)?;
    if body.shape.kind != PointKind::Kprobe && !body.shape.unknown {
        let message = format!("`override` cannot be used in {} probes", body.shape.kind.name());
        return body.fail(call.span, message, "it needs a kprobe at a function that allows error injection");
    }
    if !can_override(body) {
        return body.fail(
            call.span,
            "this kernel was built without CONFIG_BPF_KPROBE_OVERRIDE, which `override` needs",
            "use a kernel with it, or let a process fail with `signal`",
        );
    }
    let value = body.number_argument(call, 0, "the value")?.convert(Type::U64);
    Ok(statement(TypedStatementKind::Override(value), call))
}

/// Whether the kernel can replace results. Where it hides its symbols, its verifier tells.
fn can_override(body: &BodyChecker<'_, '_>) -> bool {
    let has = |symbol| body.cx.host.kernel_symbol(symbol).is_some();
    has("bpf_override_return") || !has("bpf_probe_read_kernel")
}

/// `write_user(address, value)`.
pub(in crate::lang::check) fn write_user(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    needs_unsafe(body, call)?;
    let lockdown = body.cx.host.features().lockdown.clone();
    if lockdown != "none" {
        let message = format!("the kernel is locked down ({lockdown}), which forbids `write_user`");
        return body.fail(call.span, message, "boot it without lockdown");
    }
    let address = body.value(call.argument(0).ok_or(Failed)?)?;
    if matches!(address.ty, Type::Pointer { space: Space::Kernel, .. }) {
        return body.fail(
            address.span,
            "`write_user` writes into a process, and this is an address of the kernel",
            "mark it with `uptr(…)` if it is not",
        );
    }
    let (address, _) = body.address(address, "`write_user`")?;
    let mut value = body.value(call.argument(1).ok_or(Failed)?)?;
    if call.arguments.len() > 2 {
        let bytes = body.constant_argument(call, 2, "the length")?;
        let Some(count) = u32::try_from(bytes).ok().filter(|count| (1..=MAX_WRITTEN_BYTES).contains(count)) else {
            return body.fail(
                call.span,
                format!("`write_user` writes 1 to {MAX_WRITTEN_BYTES} bytes, not {bytes}"),
                "",
            );
        };
        let span = value.span;
        let (from, space) = body.address(value, "`write_user`")?;
        let ty = Type::Array { of: Box::new(Type::Integer { bytes: 1, signed: false }), count };
        let kind = TypedExprKind::Read { address: Box::new(from), offset: 0, space, bits: None };
        value = TypedExpr::new(kind, ty, span);
    }
    if matches!(value.ty, Type::None | Type::Stack { .. } | Type::Shown(_)) {
        let message = format!("{} cannot be written", describe(&value.ty));
        return body.fail(value.span, message, "write numbers, texts or structs");
    }
    Ok(statement(TypedStatementKind::WriteUser { address, value }, call))
}

/// What is known but not there yet.
pub(in crate::lang::check) fn later(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let hint = match call.name {
        "skboutput" => "keep lengths and addresses of packets in maps, or use a packet capture",
        "unwatch" => "a watchpoint ends with the script",
        _ => "",
    };
    body.fail(call.span, format!("`{}` is not supported yet", call.name), hint)
}
