//! Functions on maps.

use bathyscope_plan::{Action, Span, Type};

use super::Call;
use crate::lang::{
    ast::{self, ExprKind, Name},
    check::{Checked, Failed, body::BodyChecker, describe::describe, maps::MapElement},
    hir::{Countable, ScriptMapId, TypedExpr, TypedExprKind, TypedStatement, TypedStatementKind},
};

/// An argument that is a map as a whole.
pub(super) fn map_argument(
    body: &mut BodyChecker<'_, '_>,
    call: &Call<'_>,
    index: usize,
) -> Checked<(ScriptMapId, Span)> {
    match call.argument(index).map(|it| (&it.kind, it.span)) {
        Some((ExprKind::Map { name, keys }, span)) if keys.is_empty() => {
            let map = body.map_id(name, span);
            body.map_value_type(map, span)?;
            Ok((map, span))
        }
        Some((ExprKind::Map { name, .. }, span)) => {
            let message = format!("`{}` takes a map as a whole", call.name);
            body.fail(
                span,
                message,
                format!("write `{}(@{name})`; `delete(@{name}, key)` removes one element", call.name),
            )
        }
        Some((_, span)) => {
            body.fail(span, format!("`{}` takes a map", call.name), format!("write `{}(@x)`", call.name))
        }
        None => body.fail(call.span, format!("`{}` takes a map", call.name), ""),
    }
}

/// `@m, key` or, as it was written formerly, `@m[key]`.
fn element_argument(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<MapElement> {
    let Some(ast::Expr { kind: ExprKind::Map { name, keys }, span }) = call.argument(0) else {
        let at = call.argument(0).map_or(call.span, |it| it.span);
        return body.fail(at, format!("`{}` takes a map", call.name), format!("write `{}(@x, key)`", call.name));
    };
    let Some(key) = call.argument(1) else {
        let element = body.element(name, keys, *span);
        let element = element?;
        let keyed = body.cx.maps.get(element.map).and_then(|map| map.key.as_ref()).is_some_and(|key| !key.is_empty());
        if element.key.is_none() && keyed {
            return body.fail(
                call.span,
                format!("@{name} has a key, but is used without one"),
                format!("write `{}(@{name}, key)`", call.name),
            );
        }
        body.map_value_type(element.map, *span)?;
        return Ok(element);
    };
    if !keys.is_empty() {
        return body.fail(call.span, "the key is given twice", format!("write `{}(@{name}, key)`", call.name));
    }
    let map = body.map_id(name, *span);
    body.map_value_type(map, *span)?;
    let element = match &key.kind {
        ExprKind::Tuple(parts) if parts.len() > 1 => body.element(name, parts, *span)?,
        _ => body.element(name, std::slice::from_ref(key), *span)?,
    };
    Ok(element)
}

/// `delete` for its effect.
pub(super) fn delete_statement(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let element = element_argument(body, call)?;
    let kind = TypedStatementKind::Delete { map: element.map, key: element.key };
    Ok(BodyChecker::effect(vec![TypedStatement { kind, span: call.span }], call.span))
}

/// `delete` with its result: whether there was such an element.
pub(in crate::lang::check) fn delete(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let element = element_argument(body, call)?;
    let span = call.span;
    let (mut statements, key) = bound_key(body, element.key);
    let map = element.map;
    let has = TypedExpr::new(TypedExprKind::HasKey { map, key: key.clone().map(Box::new) }, Type::Bool, span);
    let (statement, had) = body.bind(has);
    statements.push(statement);
    statements.push(TypedStatement { kind: TypedStatementKind::Delete { map, key }, span });
    Ok(TypedExpr::new(TypedExprKind::Block(statements, Box::new(had)), Type::Bool, span))
}

fn bound_key(body: &mut BodyChecker<'_, '_>, key: Option<TypedExpr>) -> (Vec<TypedStatement>, Option<TypedExpr>) {
    match key {
        Some(key) if !BodyChecker::is_simple(&key) => {
            let (statement, local) = body.bind(key);
            (vec![statement], Some(local))
        }
        key => (Vec::new(), key),
    }
}

fn refuse_scalar(body: &mut BodyChecker<'_, '_>, call: &Call<'_>, element: &MapElement) -> Checked<()> {
    if element.key.is_none() {
        return body.fail(
            call.span,
            format!("`{}` needs a map with keys", call.name),
            "a map without a key always has its value",
        );
    }
    Ok(())
}

/// `has_key`.
pub(in crate::lang::check) fn has_key(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let element = element_argument(body, call)?;
    refuse_scalar(body, call, &element)?;
    let kind = TypedExprKind::HasKey { map: element.map, key: element.key.map(Box::new) };
    Ok(TypedExpr::new(kind, Type::Bool, call.span))
}

/// `find(@m, key, $x)`.
pub(in crate::lang::check) fn find(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let span = call.span;
    let Some(ast::Expr { kind: ExprKind::Variable(name), span: at }) = call.argument(2) else {
        return body.fail(span, "`find` puts the value into a variable", "write `find(@x, key, $value)`");
    };
    let two = Call { name: call.name, arguments: call.arguments.get(..2).unwrap_or_default(), span };
    let element = element_argument(body, &two)?;
    refuse_scalar(body, call, &element)?;
    let (mut statements, key) = bound_key(body, element.key);
    let map = element.map;
    let has = TypedExpr::new(TypedExprKind::HasKey { map, key: key.clone().map(Box::new) }, Type::Bool, span);
    let (statement, had) = body.bind(has);
    statements.push(statement);
    let value = body.read_element(MapElement { map, key, span })?;
    let (local, value) = body.assign_variable(&Name { text: name.clone(), span: *at }, value)?;
    let set = TypedStatement { kind: TypedStatementKind::SetLocal { local, value }, span };
    let kind = TypedStatementKind::If { condition: had.clone(), then: vec![set], otherwise: Vec::new() };
    statements.push(TypedStatement { kind, span });
    Ok(TypedExpr::new(TypedExprKind::Block(statements, Box::new(had)), Type::Bool, span))
}

/// `len(@m)`, `len(stack)`.
pub(in crate::lang::check) fn len(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let argument = call.argument(0).ok_or(Failed)?;
    if let ExprKind::Map { name, keys } = &argument.kind
        && keys.is_empty()
    {
        let map = body.map_id(name, argument.span);
        let ty = body.map_value_type(map, argument.span)?;
        let scalar = body.cx.maps.get(map).and_then(|map| map.key.as_ref()).is_none_or(Vec::is_empty);
        if !(scalar && matches!(ty, Type::Stack { .. })) {
            if scalar {
                return body.fail(argument.span, format!("@{name} has no keys to count"), "");
            }
            return Ok(TypedExpr::new(TypedExprKind::Length(Countable::Map(map)), Type::I64, call.span));
        }
    }
    let value = body.value(argument)?;
    match &value.ty {
        Type::Stack { .. } => {
            Ok(TypedExpr::new(TypedExprKind::Length(Countable::Stack(Box::new(value))), Type::I64, call.span))
        }
        Type::Text { .. } => super::texts::strlen(body, call),
        Type::Array { count, .. } => Ok(TypedExpr::integer(i64::from(*count), Type::I64, call.span)),
        other => {
            let message = format!("{} has no length", describe(other));
            body.fail(argument.span, message, "maps, stacks, texts and arrays have")
        }
    }
}

/// `clear(@m)`, `zero(@m)`.
pub(in crate::lang::check) fn clear(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let (map, _) = map_argument(body, call, 0)?;
    let action = if call.name == "clear" { Action::Clear { map: map.0 } } else { Action::Zero { map: map.0 } };
    let statement = body.emit(action, Vec::new(), call.span)?;
    Ok(BodyChecker::effect(vec![statement], call.span))
}
