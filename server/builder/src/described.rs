//! What can be recorded of functions of programs whose debug information describes them.

use bathyscope_catalog::{
    dynamic::CHANGED_MARKS,
    elf::{FunctionParameter, FunctionParameters, ParameterKind, ParameterType},
};

use crate::{
    form::ValueFormat,
    tree::{ArgumentKind, ArgumentList, ArgumentNode, SOME_BYTES, blank},
};

/// Registers that the language has a name for.
const NUMBERED: u8 = 6;

/// Whether debug information says what a function takes where it begins.
pub(crate) fn is_as_written(function: &str) -> bool {
    !CHANGED_MARKS.iter().any(|mark| function.contains(mark))
}

/// The parameters of a function.
pub(crate) fn described_parameters(told: &FunctionParameters) -> ArgumentList {
    let nodes: Vec<ArgumentNode> = told.parameters.iter().enumerate().flat_map(|(at, it)| parameter(at, it)).collect();
    let note = match (nodes.is_empty(), told.is_external) {
        (true, _) => "it takes nothing",
        (false, true) => "",
        (false, false) => {
            "only its own file calls this function: an optimising compiler may pass its arguments in another way, so look at \
             a few rows first"
        }
    };
    ArgumentList { nodes, left_out: 0, note: note.to_owned() }
}

/// The result of a function.
pub(crate) fn described_result(told: &FunctionParameters) -> ArgumentList {
    let Some(ty) = &told.returns else {
        return ArgumentList { note: "the function returns nothing".to_owned(), ..ArgumentList::default() };
    };
    if !is_value(ty) {
        let note = format!("the function returns {}, which is no single number", ty.text);
        return ArgumentList { note, ..ArgumentList::default() };
    }
    ArgumentList { nodes: vec![value("retval", "retval", ty)], ..ArgumentList::default() }
}

fn is_value(ty: &ParameterType) -> bool {
    matches!(
        ty.kind,
        ParameterKind::Signed | ParameterKind::Unsigned | ParameterKind::Boolean | ParameterKind::Pointer { .. }
    )
}

fn parameter(at: usize, it: &FunctionParameter) -> Vec<ArgumentNode> {
    let name = if it.name.is_empty() { format!("argument {}", at + 1) } else { it.name.clone() };
    let blank_one = |note: &str| {
        vec![ArgumentNode {
            bytes: it.ty.bytes,
            note: note.to_owned(),
            ..blank(&name, name.clone(), it.ty.text.clone())
        }]
    };
    match (it.register, it.ty.kind) {
        (_, ParameterKind::Float) => blank_one("a floating-point number, which probes cannot read"),
        (Some(register), ParameterKind::Slice) if register + 1 < NUMBERED => slice(&name, register, &it.ty),
        (Some(register), kind @ (ParameterKind::Aggregate | ParameterKind::Object)) if register < NUMBERED => {
            let node = address(&name, &format!("arg{register}"), &it.ty.text, ADDRESS.to_vec());
            let is_object = kind == ParameterKind::Object;
            let note = if is_object { "where the object is" } else { "passed by its address" };
            vec![ArgumentNode { note: note.to_owned(), ..node }]
        }
        (Some(register), _) if register < NUMBERED && is_value(&it.ty) => {
            vec![value(&name, &format!("arg{register}"), &it.ty)]
        }
        _ => blank_one("it is in memory, or where it is passed is not certain"),
    }
}

const ADDRESS: [ValueFormat; 3] = [ValueFormat::Hex, ValueFormat::Bytes(SOME_BYTES), ValueFormat::UserSymbol];

fn address(name: &str, expr: &str, ty: &str, formats: Vec<ValueFormat>) -> ArgumentNode {
    let kind = ArgumentKind::Pointer;
    ArgumentNode { bytes: Some(8), kind, formats, ..blank(name, expr.to_owned(), ty.to_owned()) }
}

/// An address and how many elements are there.
fn slice(name: &str, register: u8, ty: &ParameterType) -> Vec<ArgumentNode> {
    let formats = vec![ValueFormat::Bytes(SOME_BYTES), ValueFormat::Hex];
    let at =
        ArgumentNode { note: "where it is".to_owned(), ..address(name, &format!("arg{register}"), &ty.text, formats) };
    let (name, expr) = (format!("{name} length"), format!("arg{}", register + 1));
    let length = ArgumentNode {
        bytes: Some(8),
        kind: ArgumentKind::Number,
        formats: vec![ValueFormat::Decimal, ValueFormat::Hex],
        note: "how many elements are there".to_owned(),
        ..blank(&name, expr, "usize".to_owned())
    };
    vec![at, length]
}

/// A number or an address in a register.
fn value(name: &str, register: &str, ty: &ParameterType) -> ArgumentNode {
    use ValueFormat::{Decimal, Hex, Octal, Text};
    let bytes = ty.bytes.unwrap_or(8);
    match ty.kind {
        ParameterKind::Pointer { of_text } => {
            let mut formats = ADDRESS.to_vec();
            formats.insert(usize::from(!of_text), Text);
            address(name, register, &ty.text, formats)
        }
        kind => {
            let sign = if kind == ParameterKind::Signed { "" } else { "u" };
            let expr = match (bytes, sign) {
                (8, "u") => register.to_owned(),
                _ => format!("({sign}int{}){register}", bytes * 8),
            };
            let formats =
                if bytes == 8 { vec![Decimal, Hex, ValueFormat::UserSymbol] } else { vec![Decimal, Hex, Octal] };
            ArgumentNode {
                bytes: Some(bytes),
                kind: ArgumentKind::Number,
                formats,
                ..blank(name, expr, ty.text.clone())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ty(text: &str, kind: ParameterKind, bytes: u64) -> ParameterType {
        ParameterType { text: text.to_owned(), bytes: Some(bytes), kind }
    }

    fn told(list: &ArgumentList) -> String {
        let node = |node: &ArgumentNode| format!("{} {} = {} ({})", node.ty, node.name, node.expr, node.formats.len());
        list.nodes.iter().map(node).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn parameters_have_their_names_and_types() {
        use ParameterKind::{Aggregate, Float, Pointer, Signed, Slice, Unsigned};
        let parameter = |name: &str, ty, register| FunctionParameter { name: name.to_owned(), ty, register };
        let function = FunctionParameters {
            parameters: vec![
                parameter("path", ty("char *", Pointer { of_text: true }, 8), Some(0)),
                parameter("count", ty("int", Signed, 4), Some(1)),
                parameter("share", ty("double", Float, 8), None),
                parameter("size", ty("size_t", Unsigned, 8), Some(2)),
                parameter("name", ty("&str", Slice, 16), Some(3)),
                parameter("", ty("pair", Aggregate, 16), None),
            ],
            returns: Some(ty("int", Signed, 4)),
            is_external: true,
        };
        let list = described_parameters(&function);
        assert_eq!(
            told(&list),
            "char * path = arg0 (4); int count = (int32)arg1 (3); double share = share (0); size_t size = arg2 (3); \
             &str name = arg3 (2); usize name length = arg4 (2); pair argument 6 = argument 6 (0)"
        );
        assert_eq!((list.nodes[0].formats[0], list.note.as_str()), (ValueFormat::Text, ""));
        assert_eq!(told(&described_result(&function)), "int retval = (int32)retval (3)");
        let inner = FunctionParameters { returns: None, is_external: false, ..function };
        assert!(described_parameters(&inner).note.contains("optimising compiler"));
        assert_eq!(described_result(&inner).note, "the function returns nothing");
        assert!(!is_as_written("read_line.isra.0") && is_as_written("main.run"));
    }
}
