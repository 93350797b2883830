//! What frames are called.

use bathyscope_capture::{FrameId, Mapping, MappingKind, Symbol};

use crate::{Dictionaries, answers::NodeKind, needle::shown};

/// The most functions that one frame stands for, itself and those inlined into it; the outermost are kept.
const MAX_INLINED: usize = 64;

/// What a frame is called, innermost (inlined) function first, made visible; never empty.
///
/// A place without a symbol is `[module+0x…]` where its file or kernel module is known, else `[unknown]`: addresses in
/// memory without a file differ from run to run and say nothing.
pub fn frame_names(dictionaries: &Dictionaries, frame: FrameId) -> Vec<(String, NodeKind)> {
    let Some(place) = dictionaries.frame(frame) else {
        return vec![("[unknown]".to_owned(), NodeKind::Unresolved)];
    };
    let mapping = dictionaries.mapping(place.mapping);
    match dictionaries.symbol(frame).filter(|symbol| !symbol.function.is_empty()) {
        Some(symbol) => functions(symbol, mapping),
        None => vec![(unresolved(mapping, place.offset), NodeKind::Unresolved)],
    }
}

fn functions(symbol: &Symbol, mapping: Option<&Mapping>) -> Vec<(String, NodeKind)> {
    let own_kind = match mapping.map(|mapping| mapping.kind) {
        Some(MappingKind::Kernel) => NodeKind::Kernel,
        Some(MappingKind::Anonymous) => NodeKind::Jit,
        Some(MappingKind::File | MappingKind::Unknown) | None => NodeKind::User,
    };
    // The last line is the containing function's own.
    let inlined = symbol.lines.split_last().map_or(&[][..], |(_, inlined)| inlined);
    let inlined = inlined.iter().filter(|line| !line.function.is_empty());
    let names = inlined.map(|line| (shown(line.function.as_bytes()).into_owned(), NodeKind::Inlined));
    let own = (shown(symbol.function.as_bytes()).into_owned(), own_kind);
    let mut all: Vec<_> = names.chain([own]).collect();
    all.drain(..all.len().saturating_sub(MAX_INLINED));
    all
}

fn unresolved(mapping: Option<&Mapping>, offset: u64) -> String {
    let module = mapping.filter(|mapping| matches!(mapping.kind, MappingKind::Kernel | MappingKind::File));
    let file = module.and_then(|mapping| mapping.name.rsplit(|byte| *byte == b'/').next()).unwrap_or(&[]);
    // The kernel and the vDSO have names in brackets already.
    let file = file.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or(file);
    if file.is_empty() { "[unknown]".to_owned() } else { format!("[{}+{offset:#x}]", shown(file)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bathyscope_capture::{Frame, SymbolLine};

    fn named(kind: MappingKind, name: &str, symbol: Option<Symbol>) -> Vec<(String, NodeKind)> {
        let mut dictionaries = Dictionaries::default();
        dictionaries.insert_mapping(1, Mapping { kind, build_id: Vec::new(), name: name.into(), pid: 0 });
        dictionaries.insert_frame(1, Frame { mapping: 1, offset: 0x1f0 });
        if let Some(symbol) = symbol {
            dictionaries.insert_symbol(1, symbol);
        }
        frame_names(&dictionaries, 1)
    }

    fn symbol(function: &str, lines: &[&str]) -> Option<Symbol> {
        let line = |name: &&str| SymbolLine { function: (*name).to_owned(), file: String::new(), line: 0 };
        Some(Symbol { function: function.to_owned(), offset: 0, lines: lines.iter().map(line).collect() })
    }

    #[test]
    fn frames_are_called_by_symbol_else_by_module_and_offset() {
        use MappingKind::{Anonymous, File, Kernel, Unknown};
        let one = |name: &str, kind| vec![(name.to_owned(), kind)];
        let cases = [
            (named(Kernel, "[kernel.kallsyms]", symbol("do_idle", &[])), one("do_idle", NodeKind::Kernel)),
            (named(File, "/bin/x", symbol("main", &["main"])), one("main", NodeKind::User)),
            (named(Anonymous, "", symbol("LazyCompile:~f", &[])), one("LazyCompile:~f", NodeKind::Jit)),
            (named(Unknown, "", symbol("main", &[])), one("main", NodeKind::User)),
            (named(Kernel, "[kernel.kallsyms]", None), one("[kernel.kallsyms+0x1f0]", NodeKind::Unresolved)),
            (named(File, "/usr/lib/libc.so.6", None), one("[libc.so.6+0x1f0]", NodeKind::Unresolved)),
            (named(File, "/usr/lib/", None), one("[unknown]", NodeKind::Unresolved)),
            (named(File, "/x/\u{1b}[2K", None), one("[\\x1b[2K+0x1f0]", NodeKind::Unresolved)),
            (named(Anonymous, "//anon", None), one("[unknown]", NodeKind::Unresolved)),
            (named(File, "/bin/x", symbol("", &[])), one("[x+0x1f0]", NodeKind::Unresolved)),
            (
                named(File, "/bin/x", symbol("outer", &["inner", "", "middle", "outer"])),
                vec![
                    ("inner".to_owned(), NodeKind::Inlined),
                    ("middle".to_owned(), NodeKind::Inlined),
                    ("outer".to_owned(), NodeKind::User),
                ],
            ),
        ];
        for (found, expected) in cases {
            assert_eq!(found, expected);
        }
        assert_eq!(frame_names(&Dictionaries::default(), 9), one("[unknown]", NodeKind::Unresolved));
    }
}
