//! Values that need no arguments, or only choose among themselves.

use bathyscope_plan::{Architecture, Clock, MissingProbes, Pointee, Shown, Space, Span, StackMode, Type};

use super::Call;
use crate::lang::{
    ast::{self, ExprKind},
    check::{
        Checked,
        body::BodyChecker,
        context::PointKind,
        describe::{describe, stack_mode},
    },
    hir::{Builtin, TypedExpr, TypedExprKind},
};

const U8: Type = Type::Integer { bytes: 1, signed: false };
const U32: Type = Type::Integer { bytes: 4, signed: false };
/// Bytes of a thread's name.
const COMM: Type = Type::Text { bytes: 16 };

fn builtin(builtin: Builtin, ty: Type, span: Span) -> TypedExpr {
    TypedExpr::new(TypedExprKind::Builtin(builtin), ty, span)
}

/// `pid`, `pid(init)`.
pub(in crate::lang::check) fn pid(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let host = namespace(body, call)?;
    Ok(builtin(if host { Builtin::HostPid } else { Builtin::Pid }, U32, call.span))
}

/// `tid`, `tid(init)`.
pub(in crate::lang::check) fn tid(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let host = namespace(body, call)?;
    Ok(builtin(if host { Builtin::HostTid } else { Builtin::Tid }, U32, call.span))
}

fn namespace(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<bool> {
    match call.argument(0).map(|it| (&it.kind, it.span)) {
        None => Ok(false),
        Some((ExprKind::Identifier(word), _)) if word == "curr_ns" => Ok(false),
        Some((ExprKind::Identifier(word), _)) if word == "init" => Ok(true),
        Some((_, span)) => body.fail(span, format!("`{}` counts in `curr_ns` or `init`", call.name), ""),
    }
}

/// The values that are what they are.
pub(in crate::lang::check) fn plain(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let span = call.span;
    Ok(match call.name {
        "uid" => builtin(Builtin::Uid, Type::U64, span),
        "gid" => builtin(Builtin::Gid, Type::U64, span),
        "cpu" => builtin(Builtin::Cpu, U32, span),
        "ncpus" => builtin(Builtin::CpuCount, Type::U64, span),
        "numaid" => builtin(Builtin::NumaNode, U32, span),
        "cgroup" => builtin(Builtin::Cgroup, Type::U64, span),
        "elapsed" => builtin(Builtin::Elapsed, Type::U64, span),
        "jiffies" => builtin(Builtin::Jiffies, Type::U64, span),
        "rand" => builtin(Builtin::Random, U32, span),
        "leader_comm" => builtin(Builtin::LeaderComm, COMM, span),
        "leader_tid" => builtin(Builtin::Pid, U32, span),
        "cpid" => builtin(Builtin::TargetPid, U32, span),
        "has_cpid" => {
            let target = builtin(Builtin::TargetPid, U32, span);
            let zero = TypedExpr::integer(0, U32, span);
            let kind = TypedExprKind::Compare {
                op: crate::lang::hir::CompareOp::NotEqual,
                left: Box::new(target),
                right: Box::new(zero),
            };
            TypedExpr::new(kind, Type::Bool, span)
        }
        "probe" => builtin(Builtin::Probe, Type::Shown(Shown::Probe), span),
        "probetype" => BodyChecker::text(body.shape.kind.probe_type().as_bytes().to_vec(), span),
        _ => builtin(Builtin::Cpu, U32, span),
    })
}

/// `config`, `config()`: the settings that are in force, as a record.
pub(in crate::lang::check) fn config(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let (config, span) = (body.cx.config, call.span);
    let number = |value: u64| TypedExpr::integer(value.cast_signed(), Type::U64, span);
    let truth = |value: bool| TypedExpr::integer(i64::from(value), Type::Bool, span);
    let text = |value: &str| BodyChecker::text(value.as_bytes().to_vec(), span);
    let missing = match config.missing_probes {
        MissingProbes::Error => "error",
        MissingProbes::Warn => "warn",
        MissingProbes::Ignore => "ignore",
    };
    let stacks = match config.stack_mode {
        StackMode::Bpftrace => "bpftrace",
        StackMode::Perf => "perf",
        StackMode::Raw => "raw",
        StackMode::BuildId => "build_id",
    };
    let fields = [
        ("cpp_demangle", truth(config.cpp_demangle)),
        ("lazy_symbolication", truth(config.lazy_symbolication)),
        ("print_maps_on_exit", truth(config.print_maps_on_exit)),
        ("max_bpf_progs", number(config.max_bpf_programs.into())),
        ("max_cat_bytes", number(config.max_cat_bytes)),
        ("max_map_keys", number(config.max_map_keys.into())),
        ("max_probes", number(config.max_probes.into())),
        ("max_strlen", number(config.max_strlen.into())),
        ("on_stack_limit", number(config.on_stack_limit.into())),
        ("str_trunc_trailer", text(&config.str_trunc_trailer)),
        ("missing_probes", text(missing)),
        ("stack_mode", text(stacks)),
        ("license", text(&config.license)),
    ];
    let types = fields.iter().map(|(name, value)| ((*name).to_owned(), value.ty.clone())).collect();
    let values = fields.into_iter().map(|(_name, value)| value).collect();
    Ok(TypedExpr::new(TypedExprKind::Tuple(values), Type::Record(types), span))
}

/// `comm`, `comm(pid)`: of another thread, whose name is looked up when it is shown.
pub(in crate::lang::check) fn comm(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    match call.argument(0) {
        None => Ok(builtin(Builtin::Comm, COMM, call.span)),
        Some(_) => {
            let pid = body.number_argument(call, 0, "the process id")?;
            Ok(TypedExpr { span: call.span, ..pid.convert(U32).convert(Type::Shown(Shown::ProcessName)) })
        }
    }
}

/// `ppid`, `ppid(task)`.
pub(in crate::lang::check) fn ppid(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    match call.argument(0) {
        None => Ok(builtin(Builtin::ParentPid, U32, call.span)),
        Some(task) => {
            let value = of_task(body, task, &["real_parent", "tgid"], call.span)?;
            Ok(value.convert(U32))
        }
    }
}

/// `pcomm`, `pcomm(task)`: of the parent process.
pub(in crate::lang::check) fn pcomm(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    match call.argument(0) {
        None => Ok(builtin(Builtin::ParentComm, COMM, call.span)),
        Some(task) => of_task(body, task, &["real_parent", "comm"], call.span),
    }
}

fn of_task(body: &mut BodyChecker<'_, '_>, task: &ast::Expr, path: &[&str], span: Span) -> Checked<TypedExpr> {
    let value = body.value(task)?;
    let ty = task_pointer(body);
    if !value.ty.is_scalar() || matches!(&ty, Type::Pointer { to, .. } if **to == Pointee::Void) {
        let message = format!("{} is no `struct task_struct *`", describe(&value.ty));
        return body.fail(task.span, message, "give `curtask`, or a task of a probe's arguments");
    }
    let mut operand = crate::lang::check::values::CheckedOperand::Value(value.convert(ty));
    for name in path {
        let name = ast::Name { text: (*name).to_owned(), span };
        operand = body.member(operand, &name, span)?;
    }
    body.load(operand)
}

fn task_pointer(body: &mut BodyChecker<'_, '_>) -> Type {
    let known = body.cx.types.spelled("struct task_struct");
    let to = match known.map(|id| body.cx.c_type(id, Space::Kernel)) {
        Some(ty) => crate::lang::check::checker::ScriptChecker::pointee(ty),
        None => Pointee::Void,
    };
    Type::Pointer { to: Box::new(to), space: Space::Kernel }
}

/// `curtask`.
pub(in crate::lang::check) fn curtask(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let ty = task_pointer(body);
    Ok(builtin(Builtin::CurrentTask, ty, call.span))
}

/// `nsecs`, `nsecs(mode)`.
pub(in crate::lang::check) fn nsecs(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let which = match call.argument(0) {
        None => Builtin::Nanoseconds(Clock::Monotonic),
        Some(argument) => match clock(argument) {
            Some(which) => which,
            None => {
                return body.fail(
                    argument.span,
                    "this is no clock of `nsecs`",
                    "there are monotonic, boot, tai, sw_tai, coarse",
                );
            }
        },
    };
    Ok(builtin(which, Type::U64, call.span))
}

fn clock(argument: &ast::Expr) -> Option<Builtin> {
    let ExprKind::Identifier(word) = &argument.kind else { return None };
    Some(match word.as_str() {
        "monotonic" => Builtin::Nanoseconds(Clock::Monotonic),
        "boot" => Builtin::Nanoseconds(Clock::Boot),
        "tai" | "sw_tai" => Builtin::Nanoseconds(Clock::Tai),
        "coarse" => Builtin::CoarseNanoseconds,
        _ => return None,
    })
}

/// The clock whose nanoseconds an expression has, as far as it can be seen.
pub(super) fn clock_of(expr: &TypedExpr) -> Clock {
    match &expr.kind {
        TypedExprKind::Builtin(Builtin::Nanoseconds(clock)) => *clock,
        TypedExprKind::Convert(of) => clock_of(of),
        TypedExprKind::Binary { left, right, .. } => match clock_of(left) {
            Clock::Monotonic => clock_of(right),
            clock => clock,
        },
        _ => Clock::Monotonic,
    }
}

/// `retval`.
pub(in crate::lang::check) fn retval(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    body.returned(call.span)
}

/// `func`.
pub(in crate::lang::check) fn func(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let kind = body.shape.kind;
    let known = matches!(
        kind,
        PointKind::Kprobe
            | PointKind::Kretprobe
            | PointKind::Fentry
            | PointKind::Fexit
            | PointKind::Uprobe
            | PointKind::Uretprobe
            | PointKind::Usdt
    );
    if !known {
        let message = format!("{} probes are at no function", kind.name());
        return body.fail(call.span, message, "`probe` is the name of the probe");
    }
    let ty = Type::Shown(Shown::Function);
    // At a return the registers are those of the caller; newer kernels tell what returned.
    if kind == PointKind::Uretprobe && body.cx.host.features().kernel >= super::addresses::ENTRY_ADDRESS {
        let address = Box::new(builtin(Builtin::EntryAddress, Type::U64, call.span));
        return Ok(TypedExpr::new(TypedExprKind::WithProcess { address }, ty, call.span));
    }
    Ok(builtin(Builtin::FunctionAddress, ty, call.span))
}

/// `usermode`.
pub(in crate::lang::check) fn usermode(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    match body.shape.kind {
        // The program that runs the script runs them, by a system call.
        PointKind::Begin | PointKind::End | PointKind::Signal => return Ok(TypedExpr::integer(1, U8, call.span)),
        kind if !kind.has_registers() && !body.shape.unknown => return Ok(TypedExpr::integer(0, U8, call.span)),
        _ => {}
    }
    Ok(builtin(Builtin::UserMode, U8, call.span))
}

/// `kstack`, `ustack` with mode and depth.
pub(in crate::lang::check) fn stack(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let unwound = call.name == "dw_ustack";
    if unwound && body.cx.host.features().architecture != Architecture::X86_64 {
        return body.fail(
            call.span,
            "`dw_ustack` is only there for x86_64",
            "use `ustack`, and programs that are compiled with -fno-omit-frame-pointer",
        );
    }
    let user = call.name == "ustack" || unwound;
    let mut mode: StackMode = body.cx.config.stack_mode;
    let mut frames = bathyscope_plan::STACK_FRAMES;
    for argument in call.arguments {
        if let ExprKind::Identifier(word) = &argument.kind {
            match stack_mode(word) {
                Some(it) => mode = it,
                None => {
                    let message = format!("stacks have no mode `{word}`");
                    return body.fail(argument.span, message, "there are bpftrace, perf, raw and build_id");
                }
            }
            continue;
        }
        frames = body.count(argument, "the depth of a stack", u64::from(bathyscope_plan::STACK_FRAMES))?;
    }
    let frames = u16::try_from(frames).unwrap_or(u16::MAX);
    let kind = if unwound { TypedExprKind::UnwoundStack } else { TypedExprKind::Stack };
    Ok(TypedExpr::new(kind, Type::Stack { user, mode, frames }, call.span))
}

/// `username`, `username(uid)`.
pub(in crate::lang::check) fn username(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let uid = match call.argument(0) {
        None => builtin(Builtin::Uid, Type::U64, call.span),
        Some(_) => body.number_argument(call, 0, "the user id")?,
    };
    Ok(TypedExpr { span: call.span, ..uid.convert(Type::Shown(Shown::Username)) })
}
