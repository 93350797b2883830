//! What is answered when the script is compiled.

use bathyscope_plan::{FormatPiece, Type};

use super::Call;
use crate::lang::{
    ast::ExprKind,
    check::{
        Checked, Failed,
        body::BodyChecker,
        describe::{base_name, describe},
        formats::pieces,
    },
    hir::{TypedExpr, TypedExprKind},
};

fn truth(value: bool, call: &Call<'_>) -> TypedExpr {
    TypedExpr::integer(i64::from(value), Type::Bool, call.span)
}

/// `sizeof(x)`.
pub(in crate::lang::check) fn size_of(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let ty = body.type_of(call.argument(0).ok_or(Failed)?)?;
    body.size_of(&ty, call.span)
}

/// `typeinfo(x)`: what is known about a type, as a record whose parts can be compared when the script is compiled.
pub(in crate::lang::check) fn type_info(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let ty = body.type_of(call.argument(0).ok_or(Failed)?)?;
    let id = body.btf_number(&ty).unwrap_or(0);
    let parts = [
        ("btf_id", TypedExpr::integer(i64::from(id), Type::U64, call.span)),
        ("base_type", BodyChecker::text(base_name(&ty).as_bytes().to_vec(), call.span)),
        ("full_type", BodyChecker::text(describe(&ty).into_bytes(), call.span)),
    ];
    let types = parts.iter().map(|(name, part)| ((*name).to_owned(), part.ty.clone())).collect();
    let values = parts.into_iter().map(|(_name, part)| part).collect();
    Ok(TypedExpr::new(TypedExprKind::Tuple(values), Type::Record(types), call.span))
}

/// `is_str`, `is_ptr`, `is_array`, `is_integer`, `is_unsigned_integer`, `is_literal`.
pub(in crate::lang::check) fn is_type(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let argument = call.argument(0).ok_or(Failed)?;
    if call.name == "is_literal" {
        let literal = matches!(argument.kind, ExprKind::Integer { .. } | ExprKind::Bool(_) | ExprKind::Text(_));
        return Ok(truth(literal, call));
    }
    let ty = body.type_of(argument)?;
    let holds = match call.name {
        "is_str" => matches!(ty, Type::Text { .. }),
        "is_ptr" => matches!(ty, Type::Pointer { .. }),
        "is_array" => matches!(ty, Type::Array { .. }),
        "is_unsigned_integer" => matches!(ty, Type::Integer { signed: false, .. }),
        _ => matches!(ty, Type::Integer { .. } | Type::Enum { .. }),
    };
    Ok(truth(holds, call))
}

/// The tag with which kernels mark the functions that programs may call.
const KFUNC_TAG: &str = "bpf_kfunc";

/// Whether the kernel has such a function. Kernels that mark no functions may mean any.
fn has_kfunc(body: &BodyChecker<'_, '_>, name: &str) -> bool {
    let types = &body.cx.types;
    types.functions(name).iter().any(|it| types.is_tagged(it.id, KFUNC_TAG) != Some(false))
}

/// `kfunc_exist("name")`.
pub(in crate::lang::check) fn kfunc_exist(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let name = body.literal_name(call, 0, "the function")?;
    Ok(truth(has_kfunc(body, &name), call))
}

/// `kfunc_allowed("name")`: whether programs of this kind of probe may call it.
pub(in crate::lang::check) fn kfunc_allowed(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let name = body.literal_name(call, 0, "the function")?;
    if !has_kfunc(body, &name) {
        return Ok(truth(false, call));
    }
    let allowed = body.cx.host.kfunc_allowed(&name, body.shape.kind.program());
    if allowed.is_none() {
        let message = format!("whether `{name}` may be called could not be tried; it is taken for not allowed");
        body.warn(call.span, message).hint("it is tried by loading a program, for functions outside of modules");
    }
    Ok(truth(allowed.unwrap_or(false), call))
}

/// `static_assert(condition, message)`.
pub(in crate::lang::check) fn static_assert(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let holds = body.comptime_condition(call.argument(0).ok_or(Failed)?)?;
    let message = match call.arguments.len() {
        1 => "the assertion does not hold".to_owned(),
        _ => body.literal_name(call, 1, "the message")?,
    };
    if !holds {
        return body.fail(call.span, message, "the script says that this must hold");
    }
    Ok(BodyChecker::effect(Vec::new(), call.span))
}

/// `fail(format, …)`.
pub(in crate::lang::check) fn fail(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let format = body.literal_text(call, 0, "the message")?;
    let mut values = Vec::new();
    for argument in call.arguments.get(1..).unwrap_or_default() {
        let value = body.value(argument)?;
        values.push(match (&value.kind, value.constant()) {
            (TypedExprKind::Text(bytes), _) => String::from_utf8_lossy(bytes).into_owned(),
            (_, Some(constant)) if value.ty == Type::U64 => constant.cast_unsigned().to_string(),
            (_, Some(constant)) => constant.to_string(),
            _ => return body.fail(argument.span, "`fail` shows only what is known when the script is compiled", ""),
        });
    }
    let message = match pieces(&format) {
        Ok(pieces) => {
            let mut values = values.into_iter();
            let shown = pieces.into_iter().map(|piece| match piece {
                FormatPiece::Literal(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                FormatPiece::Field(_) => values.next().unwrap_or_default(),
            });
            shown.collect::<String>()
        }
        Err(_not_one) => String::from_utf8_lossy(&format).into_owned(),
    };
    body.fail(call.span, message.trim_end().to_owned(), "the script refuses to run this way")
}
