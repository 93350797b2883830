//! Scripts, as whoever may write some sends them.

use std::sync::LazyLock;

use bathyscope_bpf::lang::{CheckOptions, CompileOptions, compile, recorded::RecordedHost, render};

static HOST: LazyLock<RecordedHost> = LazyLock::new(|| RecordedHost::new("6.12").expect("a recorded kernel"));
/// The longest text of an input; scripts may have sixteen times as much.
const MOST: usize = 4 << 10;

/// The bytes as a script; with a first byte of 1 to 6, a script that has an expression, block or name grown from them.
pub(crate) fn script(input: &[u8]) {
    let text = match input.split_first() {
        Some((kind @ 1..=6, rest)) => grown(*kind, rest),
        _ => String::from_utf8_lossy(input.get(..MOST.min(input.len())).unwrap_or_default()).into_owned(),
    };
    let check = CheckOptions { unsafe_allowed: true, pid: None };
    if let Err(diagnostics) = compile(&text, &*HOST, &CompileOptions { check, ..CompileOptions::default() }) {
        // What is wrong is shown with its place, whatever the text is.
        for diagnostic in &diagnostics {
            let _shown = render(&text, "script", diagnostic);
        }
    }
}

fn grown(kind: u8, bytes: &[u8]) -> String {
    let number = |at: usize, most: usize| bytes.get(at).map_or(1, |byte| usize::from(*byte) % most + 1);
    let (depth, width) = (number(0, 255) * number(1, 8), number(2, 64));
    let operators = ["+", "-", "*", "/", "%", "<<", ">>", "&", "|", "^", "&&", "||", "==", "<"];
    let operator =
        |at: usize| operators[bytes.get(at % bytes.len().max(1)).map_or(0, |b| usize::from(*b)) % operators.len()];
    match kind {
        1 => format!("begin {{ $x = {}1{}; }}", "(".repeat(depth), ")".repeat(depth)),
        2 => {
            let sum: String = (0..depth.min(2000)).map(|at| format!(" {} {at}", operator(at))).collect();
            format!("begin {{ @ = 1{sum}; }}")
        }
        3 => format!("begin {{ {} {} }}", "if (pid) {".repeat(depth.min(600)), "}".repeat(depth.min(600))),
        4 => format!("begin {{ @[{}] = count(); }}", vec!["pid"; width].join(", ")),
        5 => format!("begin {{ printf(\"{}\", {}); }}", "%d".repeat(width), vec!["pid"; width].join(", ")),
        _ => format!("begin {{ $x = {}1{}; }}", "-!~".repeat(depth.min(1000)), " ? 1 : 2".repeat(width)),
    }
}
