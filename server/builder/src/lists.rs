//! Lists of the kernel in the tree of arguments: what hangs on a head, and what follows an entry, as the structs that they are.

use bathyscope_catalog::{
    lists::{ListEnd, ListStep, list_steps},
    types::{TypeId, Types},
};

use crate::{
    form::ValueFormat,
    tree::{ArgumentKind, ArgumentNode, MemberOf, blank},
};

/// The longest expression of an entry. Each step from entry to entry makes it three times as long, as the language has no
/// name for a value within an expression.
const MAX_ENTRY_BYTES: usize = 2000;

/// Keeps what a node is a member of: `parent`, which is a struct or a pointer to one, and what `parent` is within.
pub(crate) fn is_member_of(node: &mut ArgumentNode, parent: &ArgumentNode, id: TypeId) {
    if node.bit_offset.is_none() || node.bits.is_some() {
        return;
    }
    let is_pointer = parent.kind == ArgumentKind::Pointer;
    let before = format!("{}{}", parent.expr, if is_pointer { "->" } else { "." });
    let own = MemberOf { owner: id, before, path: node.name.clone() };
    let outer = parent.member_of.iter().filter(|_| !is_pointer);
    let outer = outer.map(|it| MemberOf { path: format!("{}.{}", it.path, node.name), ..it.clone() });
    node.member_of = std::iter::once(own).chain(outer).collect();
}

/// The steps to entries that a node has, with the struct by which they are known.
fn steps<'n>(types: &Types, node: &'n ArgumentNode) -> Option<(&'n MemberOf, Vec<ListStep>)> {
    let mut known = node.member_of.iter().map(|it| (it, list_steps(types, it.owner, &it.path)));
    known.find(|(_, steps)| !steps.is_empty())
}

/// Says of a member what hangs on it.
pub(crate) fn describe_list(types: &Types, node: &mut ArgumentNode) {
    if !matches!(node.kind, ArgumentKind::Structure) {
        return;
    }
    let Some((_, steps)) = steps(types, node) else { return };
    let Some(first) = steps.first() else { return };
    let is_head =
        steps.iter().any(|step| !matches!(step.name, "next entry" | "previous entry" | "left entry" | "right entry"));
    let what = if is_head { "list of" } else { "a link to other" };
    let note = format!("{what} struct {} by {}", first.entry_name, first.link);
    node.note = if node.note.is_empty() { note } else { format!("{}, {note}", node.note) };
}

/// The entries that a head or a link leads to.
pub(crate) fn entries(types: &Types, node: &ArgumentNode) -> Vec<ArgumentNode> {
    if node.kind != ArgumentKind::Structure {
        return Vec::new();
    }
    let Some((member_of, steps)) = steps(types, node) else { return Vec::new() };
    steps.iter().map(|step| entry(node, member_of, step)).collect()
}

fn entry(node: &ArgumentNode, member_of: &MemberOf, step: &ListStep) -> ArgumentNode {
    let ListStep { name, pointer, entry_name, link, .. } = step;
    let ty = format!("struct {entry_name} *");
    let pointer = format!("{}.{pointer}", node.expr);
    let found = format!("container_of({pointer}, struct {entry_name}, {link})");
    let none = format!("(struct {entry_name} *)0");
    let (expr, end) = match &step.end {
        ListEnd::Null => (format!("({pointer} != 0 ? {found} : {none})"), "where there is none it is 0"),
        ListEnd::Odd => (format!("(((uint64){pointer} & 1) == 0 ? {found} : {none})"), "where there is none it is 0"),
        ListEnd::This => {
            (format!("({pointer} != &{} ? {found} : {none})", node.expr), "an empty list has none: it is 0")
        }
        ListEnd::Head(head) => (
            format!("({pointer} != &{}{head} ? {found} : {none})", member_of.before),
            "behind the last there is none: it is 0",
        ),
        ListEnd::Ring => (found, "a ring: behind the last comes the first"),
        ListEnd::Unknown => {
            (found, "behind the last comes the head of the list, which is no such struct: values are wrong there")
        }
    };
    let plain = blank(name, expr, ty);
    if plain.expr.len() > MAX_ENTRY_BYTES {
        let note = "further than a form can say: write a loop in the script".to_owned();
        return ArgumentNode { note, ..plain };
    }
    ArgumentNode {
        bytes: Some(8),
        kind: ArgumentKind::Pointer,
        formats: vec![ValueFormat::Hex],
        opens: true,
        note: format!("by its member {link}; {end}"),
        at: Some(step.entry),
        ..plain
    }
}
