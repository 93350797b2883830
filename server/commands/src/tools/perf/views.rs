//! `perf script`, `perf annotate`: views of a capture; `perf list`: the catalogue.

use crate::{
    answer::{Marks, Page, Result, StoredView, ViewName},
    call::{Call, Step},
    options::{Arguments, Order, Rule, Table, Takes},
    shell::Word,
};

const SHOWN: &str = "rows are sorted, filtered and searched where they are shown";
const PRINTS: &str = "it is about how perf prints";
const SYMBOLS: &str = "names are kept with the capture";

const ANNOTATE: Table = Table {
    tool: "perf annotate",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-i", "--input"], Takes::Value),
        Rule::taken(&["--symbol-filter"], Takes::Value),
        Rule::taken(&["-s", "--sort", "--symbol"], Takes::Value),
        Rule::ignored(&["-g", "--call-graph"], Takes::Maybe, "callers and callees are in the flame graph"),
        Rule::ignored(&["-G", "--inverted"], Takes::Nothing, "the flame graph can be drawn from either end"),
        Rule::ignored(&["-n", "--show-nr-samples"], Takes::Nothing, "the table has the number of samples"),
        Rule::ignored(&["--children", "--no-children"], Takes::Nothing, "the table has both, self and total"),
        Rule::ignored(
            &["--stdio", "--tui", "--gtk", "--stdio2", "--header", "--header-only", "-v", "-q", "--verbose", "--quiet"],
            Takes::Nothing,
            PRINTS,
        ),
        Rule::ignored(&["-F", "--fields", "-w", "--column-widths", "-t", "--field-separator"], Takes::Value, PRINTS),
        Rule::ignored(
            &[
                "--comms",
                "--comm",
                "-d",
                "--dsos",
                "--dso",
                "-S",
                "--symbols",
                "--pid",
                "--tid",
                "-C",
                "--cpu",
                "--percent-limit",
                "-p",
                "--parent",
                "--time",
            ],
            Takes::Value,
            SHOWN,
        ),
        Rule::ignored(
            &["-U", "--hide-unresolved", "-T", "--threads", "--hierarchy", "-x", "--exclude-other", "-f", "--force"],
            Takes::Nothing,
            SHOWN,
        ),
        Rule::ignored(
            &["--max-stack", "--percentage", "--prefix", "-M", "--disassembler-style", "--sort-order"],
            Takes::Value,
            PRINTS,
        ),
        Rule::ignored(&["-k", "--vmlinux", "--kallsyms", "--symfs", "--objdump"], Takes::Value, SYMBOLS),
        Rule::ignored(
            &[
                "-m",
                "--modules",
                "--demangle",
                "--no-demangle",
                "--inline",
                "--no-inline",
                "--no-source",
                "--asm-raw",
                "-l",
                "--print-line",
            ],
            Takes::Nothing,
            SYMBOLS,
        ),
    ],
};

const SCRIPT: Table = Table {
    tool: "perf script",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-i", "--input"], Takes::Value),
        Rule::ignored(&["-F", "--fields", "-f"], Takes::Value, "columns are chosen where rows are shown"),
        Rule::ignored(
            &["--comms", "--comm", "--pid", "--tid", "-C", "--cpu", "--time", "-S", "--symbols", "--dsos"],
            Takes::Value,
            SHOWN,
        ),
        Rule::ignored(
            &[
                "-G",
                "--hide-call-graph",
                "--header",
                "--header-only",
                "--ns",
                "-v",
                "--verbose",
                "--no-inline",
                "--inline",
                "-I",
                "--show-info",
                "--reltime",
                "--deltatime",
                "--no-demangle",
                "--show-mmap-events",
                "--show-task-events",
                "--show-lost-events",
            ],
            Takes::Nothing,
            PRINTS,
        ),
        Rule::ignored(&["--max-stack", "--max-blocks"], Takes::Value, PRINTS),
        Rule::ignored(&["-k", "--vmlinux", "--kallsyms", "--symfs"], Takes::Value, SYMBOLS),
        Rule::refused(
            &["-s", "--script", "-g", "--gen-script"],
            Takes::Value,
            "Scripts of perf are not run.",
            "Ask by SQL, or with a script of the probe language.",
        ),
        Rule::refused(
            &["-D", "--dump-raw-trace"],
            Takes::Nothing,
            "Records of perf are not kept as they were.",
            "Remove it.",
        ),
        Rule::refused(
            &["-l", "--list"],
            Takes::Nothing,
            "Scripts of perf are not run.",
            "The page Tools lists what can be run.",
        ),
    ],
};

const LIST: Table = Table {
    tool: "perf list",
    order: Order::Anywhere,
    rules: &[
        Rule::ignored(
            &[
                "-d",
                "--desc",
                "--no-desc",
                "-v",
                "--long-desc",
                "--debug",
                "--details",
                "-j",
                "--json",
                "--deprecated",
                "--raw-dump",
            ],
            Takes::Nothing,
            PRINTS,
        ),
        Rule::ignored(&["-o", "--output", "--unit", "--cputype"], Takes::Value, PRINTS),
    ],
};

fn stored(file: Option<String>, view: ViewName, search: Option<String>) -> Step {
    Step::View(StoredView { file, search, ..StoredView::newest(view) })
}

/// The file that is read, if it is no pipe and not the one that perf writes where none is named.
pub(super) fn file(arguments: &Arguments) -> Result<Option<String>> {
    let named = arguments.last("-i").map(|given| given.text()).transpose()?;
    Ok(named.filter(|name| name != "-" && name != "perf.data"))
}

/// Reads `perf annotate`.
///
/// # Errors
/// What is not understood.
pub(super) fn read_annotate(call: &mut Call<'_>) -> Result<Step> {
    let arguments = ANNOTATE.read(call.words, call.marks)?;
    call.ignore_redirects("rows can be exported from their page");
    let symbol = arguments.operands.first().or_else(|| arguments.last("-s")?.value.as_ref());
    let search = symbol.map(|word| word.plain().map(str::to_owned)).transpose()?;
    Ok(stored(file(&arguments)?, ViewName::Instructions, search))
}

/// Reads `perf script`.
///
/// # Errors
/// What is not understood.
pub(super) fn read_script(call: &mut Call<'_>) -> Result<Step> {
    let arguments = SCRIPT.read(call.words, call.marks)?;
    call.ignore_redirects("rows can be exported from their page");
    match arguments.operands.as_slice() {
        [] => Ok(stored(file(&arguments)?, ViewName::Events, None)),
        [first, second, ..] if first.text == "report" && second.text == "flamegraph" => {
            Ok(stored(file(&arguments)?, ViewName::Flame, None))
        }
        [first, ..] => Err(crate::answer::Refusal::new(
            first.source.clone(),
            "scripts of perf are not run",
            "Ask by SQL, or with a script of the probe language; `perf script report flamegraph` shows the flame graph.",
        )),
    }
}

/// What `perf mem report` shows.
pub(super) fn memory(words: &[Word], marks: &mut Marks) -> Result<Step> {
    const SORTED: &str =
        "functions are sorted where they are shown; accesses have their addresses in the table of rows";
    const TABLE: Table = Table {
        tool: "perf mem report",
        order: Order::Anywhere,
        rules: &[
            Rule::taken(&["-i", "--input"], Takes::Value),
            Rule::ignored(&["-s", "--sort"], Takes::Value, SORTED),
            Rule::ignored(&["-F", "--fields", "-x", "--field-separator", "--percent-limit"], Takes::Value, PRINTS),
            Rule::ignored(&["--stdio", "--tui", "-D", "-v", "--verbose", "-q", "--quiet"], Takes::Nothing, PRINTS),
            Rule::ignored(&["-p", "--phys-data", "-U", "--hide-unresolved", "-f", "--force"], Takes::Nothing, PRINTS),
        ],
    };
    let arguments = TABLE.read(words, marks)?;
    Ok(stored(file(&arguments)?, ViewName::Functions, None))
}

/// Reads `perf list`.
///
/// # Errors
/// What is not understood.
pub(super) fn read_list(call: &mut Call<'_>) -> Result<Step> {
    let arguments = LIST.read(call.words, call.marks)?;
    call.ignore_redirects("the list is a page");
    let (mut kind, mut text) = ("", String::new());
    for word in &arguments.operands {
        match word.text.as_str() {
            "hw" | "hardware" | "sw" | "software" | "cache" | "hwcache" | "pmu" | "rawcpu" => kind = "perf",
            "tracepoint" => kind = "tracepoint",
            "sdt" => kind = "marker",
            "metric" | "metrics" | "metricgroup" | "metricgroups" => {
                return Err(crate::answer::Refusal::new(
                    word.source.clone(),
                    "metrics of the CPU's maker are not computed",
                    "Search for events.",
                ));
            }
            _ => word.pattern()?.clone_into(&mut text),
        }
    }
    let words = match (kind, text.as_str()) {
        ("", "") => "Shows the catalogue: everything that can be traced here.".to_owned(),
        ("perf", "") => "Shows the events that the CPU and the kernel count.".to_owned(),
        ("marker", "") => "Shows the USDT probes of programs and libraries.".to_owned(),
        ("tracepoint", "") => "Shows the tracepoints.".to_owned(),
        (_, text) => format!("Searches the catalogue for `{text}`."),
    };
    Ok(Step::Page(Page::new("/catalog", &[("q", &text), ("kind", kind)]), words))
}
