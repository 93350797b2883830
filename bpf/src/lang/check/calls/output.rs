//! What is shown.

use bathyscope_plan::{Action, FormatPiece, Output, Pointee, Span, Type};

use super::{Call, maps::map_argument};
use crate::lang::{
    ast::{self, ExprKind},
    check::{Checked, Failed, body::BodyChecker, describe::describe, sites::column, values::CheckedOperand},
    hir::{CompareOp, MapRead, TypedExpr, TypedExprKind, TypedStatement, TypedStatementKind},
};

/// The most words that `join` puts together.
const MAX_JOINED: i64 = 16;
/// The most bytes of each.
const MAX_JOINED_BYTES: u32 = 1024;

fn effect(statement: TypedStatement, span: Span) -> TypedExpr {
    BodyChecker::effect(vec![statement], span)
}

/// Pieces of a format, and values with their columns' names.
type Formatted = (Vec<FormatPiece>, Vec<(String, TypedExpr)>);

/// The pieces of the format and the values with their columns' names; the format is the first argument.
fn formatted(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<Formatted> {
    let format = body.literal_text(call, 0, "the format");
    let arguments = call.arguments.get(1..).unwrap_or_default();
    let values: Vec<Checked<TypedExpr>> = arguments.iter().map(|argument| body.value(argument)).collect();
    let values = values.into_iter().collect::<Checked<Vec<TypedExpr>>>()?;
    let at = call.argument(0).map_or(call.span, |it| it.span);
    let pieces = body.format(&format?, at, &values, call.span)?;
    let names = arguments.iter().enumerate().map(|(index, argument)| column(argument, index));
    Ok((pieces, names.zip(values).collect()))
}

/// `printf`, `errorf`, `warnf`.
pub(in crate::lang::check) fn printf(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let (format, values) = formatted(body, call)?;
    let to = match call.name {
        "errorf" => Output::Error,
        "debugf" => {
            body.warn(call.span, "`debugf` is for debugging a script, and costs as much as `printf`").hint("");
            Output::Warning
        }
        "warnf" => Output::Warning,
        _ => Output::Out,
    };
    let statement = body.emit(Action::Print { to, format }, values, call.span)?;
    Ok(effect(statement, call.span))
}

/// `cat`.
pub(in crate::lang::check) fn cat(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let (format, values) = formatted(body, call)?;
    let statement = body.emit(Action::Cat { format }, values, call.span)?;
    Ok(effect(statement, call.span))
}

/// `system`.
pub(in crate::lang::check) fn system(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    super::actions::needs_unsafe(body, call)?;
    let (format, values) = formatted(body, call)?;
    let statement = body.emit(Action::System { format }, values, call.span)?;
    Ok(effect(statement, call.span))
}

/// `time`.
pub(in crate::lang::check) fn time(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let format = match call.arguments {
        [] => "%H:%M:%S\n".to_owned(),
        _ => body.literal_name(call, 0, "the format")?,
    };
    let statement = body.emit(Action::Time { format }, Vec::new(), call.span)?;
    Ok(effect(statement, call.span))
}

/// `exit`, `exit(code)`: the rest of the body is not run.
pub(in crate::lang::check) fn exit(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let values = match call.arguments {
        [] => Vec::new(),
        _ => vec![("code".to_owned(), body.number_argument(call, 0, "the code")?.convert(Type::I64))],
    };
    let statement = body.emit(Action::Exit, values, call.span)?;
    let end = TypedStatement { kind: TypedStatementKind::Return(None), span: call.span };
    Ok(BodyChecker::effect(vec![statement, end], call.span))
}

/// `assert(condition, message)`.
pub(in crate::lang::check) fn assert(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let span = call.span;
    let condition = body.value(call.argument(0).ok_or(Failed)?)?;
    let condition = body.condition(condition)?;
    let message = match call.arguments.len() {
        1 => b"assertion failed".to_vec(),
        _ => body.literal_text(call, 1, "the message")?,
    };
    let mut text = message;
    text.push(b'\n');
    let action = Action::Print { to: Output::Error, format: vec![FormatPiece::Literal(text)] };
    let shown = body.emit(action, Vec::new(), span)?;
    let code = vec![("code".to_owned(), TypedExpr::integer(1, Type::I64, span))];
    let exit = body.emit(Action::Exit, code, span)?;
    let end = TypedStatement { kind: TypedStatementKind::Return(None), span };
    let kind = TypedStatementKind::If { condition, then: Vec::new(), otherwise: vec![shown, exit, end] };
    Ok(effect(TypedStatement { kind, span }, span))
}

/// `print` in all its forms.
pub(in crate::lang::check) fn print(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let first = call.argument(0).ok_or(Failed)?;
    match &first.kind {
        ExprKind::Map { keys, .. } if keys.is_empty() => print_map(body, call),
        ExprKind::Map { name, keys } => print_element(body, call, name, keys, first.span),
        _ => {
            if let Some(extra) = call.argument(1) {
                return body.fail(extra.span, "only maps are printed with a limit", "`print(@map, top, div)`");
            }
            let operand = body.operand(first)?;
            if let CheckedOperand::Value(TypedExpr { ty: Type::None, .. }) = &operand {
                return body.fail(first.span, "this has no value to print", "");
            }
            let value = body.load(operand)?;
            let name = column(first, 0);
            let name = if name == "arg0" && !matches!(first.kind, ExprKind::Identifier(_)) {
                "value".to_owned()
            } else {
                name
            };
            let statement = body.emit(Action::PrintValue, vec![(name, value)], call.span)?;
            Ok(effect(statement, call.span))
        }
    }
}

fn print_map(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let (map, _) = map_argument(body, call, 0)?;
    let mut limit = |index: usize, what: &str| -> Checked<Option<u64>> {
        if call.arguments.len() <= index {
            return Ok(None);
        }
        let value = body.constant_argument(call, index, what)?;
        match u64::try_from(value) {
            Ok(value) => Ok(Some(value).filter(|value| *value > 0)),
            Err(_negative) => body.fail(call.span, format!("{what} of `print` is not negative"), ""),
        }
    };
    let (top, div) = (limit(1, "the limit")?, limit(2, "the divisor")?);
    let statement = body.emit(Action::PrintMap { map: map.0, top, div }, Vec::new(), call.span)?;
    Ok(effect(statement, call.span))
}

fn print_element(
    body: &mut BodyChecker<'_, '_>,
    call: &Call<'_>,
    name: &str,
    keys: &[ast::Expr],
    span: Span,
) -> Checked<TypedExpr> {
    if let Some(extra) = call.argument(1) {
        return body.fail(extra.span, "one element is printed without a limit", format!("write `print(@{name}[…])`"));
    }
    let element = body.element(name, keys, span)?;
    let ty = body.map_value_type(element.map, span)?;
    let map = element.map;
    let key = element.key.clone().ok_or(Failed)?;
    // The key is sent, and used to read.
    let (bound, key) = if BodyChecker::is_simple(&key) {
        (None, key)
    } else {
        let (statement, local) = body.bind(key);
        (Some(statement), local)
    };
    let mut values: Vec<(String, TypedExpr)> = Vec::new();
    let parts = body.cx.maps.get(map).and_then(|map| map.key.clone()).unwrap_or_default();
    for index in 0..parts.len() {
        let part = if parts.len() == 1 {
            key.clone()
        } else {
            BodyChecker::tuple_part(key.clone(), index, span).ok_or(Failed)?
        };
        let column = keys
            .get(index)
            .filter(|_| keys.len() == parts.len())
            .map_or_else(|| format!("key{index}"), |it| column(it, index));
        values.push((column, part));
    }
    if !matches!(ty, Type::Aggregate(_)) {
        let kind = TypedExprKind::Map { map, key: Some(Box::new(key)), read: MapRead::Value };
        values.push(("value".to_owned(), TypedExpr::new(kind, ty, span)));
    }
    let statement = body.emit(Action::PrintElement { map: map.0, div: None }, values, call.span)?;
    let statements = bound.into_iter().chain([statement]).collect();
    Ok(BodyChecker::effect(statements, call.span))
}

/// `join(array)`: up to the first null pointer.
pub(in crate::lang::check) fn join(body: &mut BodyChecker<'_, '_>, call: &Call<'_>) -> Checked<TypedExpr> {
    let span = call.span;
    let delimiter = match call.arguments.len() {
        1 => " ".to_owned(),
        _ => body.literal_name(call, 1, "the delimiter")?,
    };
    let value = body.value(call.argument(0).ok_or(Failed)?)?;
    if matches!(&value.ty, Type::Pointer { to, .. } if matches!(**to, Pointee::Type(Type::Integer { .. }))) {
        let message = format!("`join` takes an array of texts, not {}", describe(&value.ty));
        return body.fail(value.span, message, "for one text use `str(…)`");
    }
    let (address, space) = body.address(value, "`join`")?;
    let (statement, address) = body.bind(address);
    let mut statements = vec![statement];
    let word = Type::Pointer { to: Box::new(Pointee::Type(Type::Integer { bytes: 1, signed: true })), space };
    let bytes = body.cx.config.max_strlen.min(MAX_JOINED_BYTES);
    let text = Type::Text { bytes };
    let mut values = Vec::new();
    let mut before: Option<TypedExpr> = None;
    for index in 0..MAX_JOINED {
        let kind = TypedExprKind::Read { address: Box::new(address.clone()), offset: index * 8, space, bits: None };
        let read = TypedExpr::new(kind, word.clone(), span);
        // What follows the end of the array are other texts.
        let read = match before {
            None => read,
            Some(before) => {
                let none = TypedExpr::integer(0, word.clone(), span);
                body.select(not_null(before, span), read, none, span)?
            }
        };
        let (statement, pointer) = body.bind(read);
        statements.push(statement);
        let read = TypedExpr::new(
            TypedExprKind::ReadText { address: Box::new(pointer.clone()), space, length: None },
            text.clone(),
            span,
        );
        let empty = TypedExpr::new(TypedExprKind::Text(Vec::new()), text.clone(), span);
        values.push((format!("word{index}"), body.select(not_null(pointer.clone(), span), read, empty, span)?));
        before = Some(pointer);
    }
    statements.push(body.emit(Action::Join { delimiter }, values, span)?);
    Ok(BodyChecker::effect(statements, span))
}

fn not_null(pointer: TypedExpr, span: Span) -> TypedExpr {
    let zero = Box::new(TypedExpr::integer(0, pointer.ty.clone(), span));
    let kind = TypedExprKind::Compare { op: CompareOp::NotEqual, left: Box::new(pointer), right: zero };
    TypedExpr::new(kind, Type::Bool, span)
}
