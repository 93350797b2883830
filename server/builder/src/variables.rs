//! Variables and parameters at places in programs, by their debug information.

use bathyscope_capture::{ProgramData, ProgramVariable, VariablePlace};
use bathyscope_catalog::types::{CType, TypeId, Types};

use crate::{
    form::ValueFormat,
    tree::{ArgumentKind, ArgumentList, ArgumentNode, blank},
    user::UserPlace,
};

/// Makes the node of a value of a type, by its name and expression.
pub(crate) type MakeNode = fn(&Types, TypeId, &str, String) -> ArgumentNode;

/// The variables at a place of a program; none where debug information says nothing of it.
pub(crate) fn variables(types: &mut Types, place: &UserPlace, make: MakeNode) -> Option<ArgumentList> {
    let ids = types.add_program(&place.data);
    described(types, &ids, place, make)
}

/// Those at a place of the kernel.
pub(crate) fn kernel_variables(types: &mut Types, place: &UserPlace, make: MakeNode) -> Option<ArgumentList> {
    let ids = types.add_kernel_data(&place.data);
    described(types, &ids, place, make)
}

fn described(types: &Types, ids: &[TypeId], place: &UserPlace, make: MakeNode) -> Option<ArgumentList> {
    let ProgramData { places, .. } = &place.data;
    let variables = places.first().filter(|variables| !variables.is_empty())?;
    let node = |variable: &ProgramVariable| {
        let ty = ids.get(variable.ty as usize).copied().unwrap_or(TypeId::VOID);
        let found = of_variable(types, variable, ty, make);
        let text = text_of(&found);
        std::iter::once(found).chain(text)
    };
    let nodes: Vec<ArgumentNode> = variables.iter().flat_map(node).collect();
    let is_inner = place.function.as_ref().is_some_and(|function| !function.is_external);
    let is_at_begin = variables.iter().all(|it| it.parameter || matches!(it.place, VariablePlace::Unreadable(_)));
    let note = if is_inner && is_at_begin {
        "only its own file calls this function: an optimising compiler may pass its arguments in another way, so look at a few \
         rows first"
    } else {
        ""
    };
    Some(ArgumentList { nodes, left_out: 0, note: note.to_owned() })
}

fn of_variable(types: &Types, variable: &ProgramVariable, ty: TypeId, make: MakeNode) -> ArgumentNode {
    let name = variable.name.as_str();
    let expr = format!("args.{name}");
    let with_note = |note: &str| {
        let plain = blank(name, expr.clone(), types.render(ty));
        ArgumentNode { bytes: types.size(ty), note: note.to_owned(), ..plain }
    };
    let is_struct = matches!(types.stripped(ty), CType::Record(_) | CType::Array { .. });
    match &variable.place {
        _ if !is_name(name) => with_note("the probe language cannot write its name"),
        VariablePlace::Unreadable(why) => with_note(why),
        VariablePlace::Register(_) | VariablePlace::Sum { .. } | VariablePlace::Constant(_) if is_struct => {
            with_note("a struct that the compiler keeps in registers: read them by `reg(\"ax\")`")
        }
        VariablePlace::Pieces(_) => {
            let found = make(types, ty, name, expr.clone());
            // Its members are read one by one.
            match found.kind {
                ArgumentKind::Structure => found,
                _ => with_note("the compiler keeps it in several registers"),
            }
        }
        _ => make(types, ty, name, expr),
    }
}

/// The text of a `&str` of Rust or a string of Go, which is an address and a length.
fn text_of(node: &ArgumentNode) -> Option<ArgumentNode> {
    let (at, length) = match node.ty.as_str() {
        "struct &str" => ("data_ptr", "length"),
        "struct string" => ("str", "len"),
        _ => return None,
    };
    // `str` counts the NUL that ends a text of C, which these have not.
    let (name, expr) = (&node.name, &node.expr);
    let text = format!("str({expr}.{at}, {expr}.{length} + 1)");
    let (kind, formats) = (ArgumentKind::Text, vec![ValueFormat::Plain]);
    let told = blank(&format!("{name} as text"), text, "text".to_owned());
    node.opens.then_some(ArgumentNode { kind, formats, ..told })
}

/// Whether the language can write a name behind `args.`.
fn is_name(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
}

/// Offers what there is in programs: their functions, not the kernel's.
pub(crate) fn in_programs(list: &mut ArgumentList) {
    for node in list.nodes.iter_mut().filter(|node| node.name != "curtask") {
        let has_symbol = node.formats.contains(&ValueFormat::UserSymbol);
        if has_symbol {
            node.formats.retain(|format| *format != ValueFormat::KernelSymbol);
        } else {
            let kernels = node.formats.iter_mut().filter(|format| **format == ValueFormat::KernelSymbol);
            kernels.for_each(|format| *format = ValueFormat::UserSymbol);
        }
    }
}
