//! Registers and memory of which nothing is known: numbers by the names of registers, and words of memory at offsets from
//! them, in the tree of arguments.

use crate::{
    form::ValueFormat,
    tree::{ArgumentKind, ArgumentList, ArgumentNode, SOME_BYTES, blank},
};

/// Registers that hold values, those of arguments first.
#[cfg(not(target_arch = "aarch64"))]
const REGISTERS: [&str; 16] =
    ["di", "si", "dx", "cx", "r8", "r9", "ax", "bx", "bp", "sp", "r10", "r11", "r12", "r13", "r14", "r15"];
#[cfg(target_arch = "aarch64")]
const REGISTERS: [&str; 31] = [
    "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "r16", "r17",
    "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29", "sp",
];
/// Bytes of a word.
const WORD: u32 = 8;

/// A number of which nothing is known; it may be an address.
pub(crate) fn register(name: &str, expr: &str) -> ArgumentNode {
    let (kind, formats) = (ArgumentKind::Number, address_formats());
    let plain = blank(name, expr.to_owned(), "uint64".to_owned());
    ArgumentNode { bytes: Some(8), kind, formats, opens: true, memory: true, ..plain }
}

/// All registers, for places where nothing says what is in them.
pub(crate) fn registers(note: &str) -> ArgumentList {
    let nodes = REGISTERS.iter().map(|name| register(name, &format!("reg(\"{name}\")"))).collect();
    ArgumentList { nodes, left_out: 0, note: note.to_owned() }
}

/// What a number of 8 bytes may be.
pub(crate) fn address_formats() -> Vec<ValueFormat> {
    use ValueFormat::{Decimal, Hex, Text, UserSymbol};
    vec![Decimal, Hex, Text, UserSymbol, ValueFormat::Bytes(SOME_BYTES)]
}

/// The memory that a number may be the address of: all of it as bytes, and word by word.
pub(crate) fn memory_at(parent: &ArgumentNode) -> ArgumentList {
    let at = parent.expr.as_str();
    let bytes = ArgumentNode {
        bytes: Some(SOME_BYTES.into()),
        kind: ArgumentKind::Array,
        formats: vec![ValueFormat::Bytes(SOME_BYTES)],
        note: "a trial shows them byte by byte".to_owned(),
        ..blank("bytes", at.to_owned(), format!("{SOME_BYTES} bytes"))
    };
    let word = |offset: u32| ArgumentNode {
        formats: vec![
            ValueFormat::Hex,
            ValueFormat::Decimal,
            ValueFormat::Text,
            ValueFormat::UserSymbol,
            ValueFormat::Bytes(SOME_BYTES),
        ],
        bit_offset: Some(u64::from(offset) * 8),
        ..register(&format!("+{offset}"), &word_at(at, offset))
    };
    let words = (0..SOME_BYTES / WORD).map(|index| word(index * WORD));
    let note = "nothing describes this memory; values are 0 where there is none";
    let list =
        ArgumentList { nodes: std::iter::once(bytes).chain(words).collect(), left_out: 0, note: note.to_owned() };
    if parent.formats.contains(&ValueFormat::KernelSymbol) { in_kernel(list) } else { list }
}

/// The word at an offset from an address.
fn word_at(address: &str, offset: u32) -> String {
    match offset {
        0 => format!("*(uint64 *){address}"),
        _ => format!("*(uint64 *)({address} + {offset})"),
    }
}

/// Offers the kernel's functions for numbers in the kernel.
pub(crate) fn in_kernel(mut list: ArgumentList) -> ArgumentList {
    for format in list.nodes.iter_mut().flat_map(|node| &mut node.formats) {
        if *format == ValueFormat::UserSymbol {
            *format = ValueFormat::KernelSymbol;
        }
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_memory_follow_each_other() {
        let list = memory_at(&register("arg0", "arg0"));
        let exprs: Vec<&str> = list.nodes.iter().map(|node| node.expr.as_str()).collect();
        assert_eq!(exprs[..3], ["arg0", "*(uint64 *)arg0", "*(uint64 *)(arg0 + 8)"]);
        assert_eq!(list.nodes.len(), 9);
        let further = memory_at(&list.nodes[2]);
        assert_eq!(further.nodes[3].expr, "*(uint64 *)(*(uint64 *)(arg0 + 8) + 16)");
    }
}
