//! `perf report` and `perf diff`: what `bathyscope report` and `bathyscope diff` print of a stored capture.

use crate::{
    answer::{Marks, Refusal, Result, StoredView, ViewName},
    call::{Call, Step},
    options::{Arguments, Given, Order, Rule, Table, Takes},
};

const PRINTS: &str = "it is about how perf prints";
const SYMBOLS: &str = "names are kept with the capture";
const SHOWN: &str = "rows are filtered and searched where they are shown";

/// Keys that samples are sorted by.
const KEYS: [&str; 9] = ["comm", "dso", "symbol", "sym", "srcline", "cpu", "pid", "tid", "cgroup"];
const AT_VERB_SAMPLES: &str = "Write a condition on samples, such as -F 'comm == \"nginx\"' or -F 'pid == 7'.";

pub(crate) const REPORT: Table = Table {
    tool: "perf report",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-i", "--input"], Takes::Value),
        Rule::taken(&["--symbol-filter"], Takes::Value),
        Rule::taken(&["-s", "--sort"], Takes::Value),
        Rule::taken(&["-g", "--call-graph"], Takes::Maybe),
        Rule::taken(&["-G", "--inverted"], Takes::Nothing).refused_at_verb("Write -g caller or -g callee."),
        Rule::taken(&["-n", "--show-nr-samples"], Takes::Nothing),
        Rule::taken(&["--children"], Takes::Nothing),
        Rule::taken(&["--no-children"], Takes::Nothing),
        Rule::taken(&["--percent-limit"], Takes::Value),
        Rule::taken(&["--comms", "--comm", "-c"], Takes::Value).refused_at_verb(AT_VERB_SAMPLES),
        Rule::taken(&["--pid"], Takes::Value).refused_at_verb(AT_VERB_SAMPLES),
        Rule::taken(&["--tid"], Takes::Value).refused_at_verb(AT_VERB_SAMPLES),
        Rule::taken(&["-C", "--cpu"], Takes::Value),
        Rule::ignored(
            &["--stdio", "--gtk", "--stdio2", "--header", "--header-only", "-v", "-q", "--verbose", "--quiet"],
            Takes::Nothing,
            PRINTS,
        ),
        Rule::ignored(&["--tui"], Takes::Nothing, PRINTS)
            .refused_at_verb("`bathyscope top` shows live samples with keys; stored ones are shown in the browser."),
        Rule::ignored(&["-F", "-w", "--column-widths", "-t", "--field-separator"], Takes::Value, PRINTS),
        Rule::ignored(&["--fields"], Takes::Value, PRINTS).refused_at_verb(
            "Columns follow from --sort; -n adds the number of samples, --no-children leaves what was called out.",
        ),
        Rule::ignored(&["-d", "--dsos", "--dso", "-S", "--symbols", "-p", "--parent"], Takes::Value, SHOWN)
            .refused_at_verb(AT_VERB_SAMPLES),
        Rule::ignored(
            &["--time"],
            Takes::Value,
            "ranges of time are chosen where samples are shown, or by --from and --to",
        )
        .refused_at_verb("Write --from TIME and --to TIME, such as --from 1.5s."),
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

const DIFF: Table = Table {
    tool: "perf diff",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-c", "--compute"], Takes::Value),
        Rule::ignored(&["-s", "--sort"], Takes::Value, "functions are compared, whatever file they are in"),
        Rule::ignored(&["-o", "--order"], Takes::Value, "what is more than chance comes first"),
        Rule::ignored(&["-b", "--baseline-only", "-p", "--period", "-F", "--formula"], Takes::Nothing, PRINTS),
        Rule::ignored(&["-q", "--quiet", "-v", "--verbose", "-f", "--force", "-D"], Takes::Nothing, PRINTS),
        Rule::ignored(
            &["-d", "--dsos", "-C", "--comms", "-S", "--symbols", "--cpu", "--pid", "--tid"],
            Takes::Value,
            SHOWN,
        ),
        Rule::ignored(
            &["--time"],
            Takes::Value,
            "ranges of time are chosen by --from, --to, --with-from and --with-to",
        ),
        Rule::ignored(&["-k", "--kallsyms", "--symfs"], Takes::Value, SYMBOLS),
        Rule::ignored(&["-m", "--modules"], Takes::Nothing, SYMBOLS),
    ],
};

/// Reads `perf report`.
///
/// # Errors
/// What is not understood.
pub(super) fn read_report(call: &mut Call<'_>) -> Result<Step> {
    let arguments = REPORT.read(call.words, call.marks)?;
    call.ignore_redirects("rows can be exported from their page");
    if let Some(word) = arguments.operands.first() {
        return Err(Refusal::new(
            word.source.clone(),
            format!("`{}` is nothing that `perf report` takes", word.text),
            "Write -i FILE for a file.",
        ));
    }
    let mut terminal = vec!["report".to_owned(), "newest".to_owned(), "--stdio".to_owned()];
    if let Some(given) = arguments.last("-s") {
        terminal.extend(sort(given, call.marks)?);
    }
    terminal.extend(chains(&arguments)?);
    for flag in ["-n", "--children", "--no-children"] {
        terminal.extend(arguments.has(flag).then(|| flag.to_owned()));
    }
    if let Some(given) = arguments.last("--percent-limit") {
        let text = given.text()?;
        if !text.parse::<f64>().is_ok_and(|share| (0.0..=100.0).contains(&share)) {
            return given.refuse(format!("`{text}` is no percentage"), "Write a number from 0 to 100.");
        }
        terminal.extend(["--percent-limit".to_owned(), text]);
    }
    let condition = condition(&arguments)?;
    if let Some(condition) = &condition {
        terminal.extend(["-F".to_owned(), condition.clone()]);
    }
    let search = arguments.last("--symbol-filter").map(|given| given.text()).transpose()?;
    let file = super::views::file(&arguments)?;
    if file.is_some() {
        terminal.clear();
    }
    let filters = condition.map(|condition| format!("*: {condition}")).into_iter().collect();
    Ok(Step::View(StoredView { file, view: ViewName::Functions, filters, search, terminal }))
}

/// The words for the keys of `--sort`.
fn sort(given: &Given, marks: &mut Marks) -> Result<Vec<String>> {
    let text = given.text()?;
    let (mut keys, mut words) = (Vec::new(), Vec::new());
    for key in text.split(',').map(str::trim).filter(|key| !key.is_empty()) {
        // A `+` in front adds a key to the default ones.
        match key.strip_prefix('+').unwrap_or(key) {
            known if KEYS.contains(&known) => {
                if key.starts_with('+') {
                    keys.extend(["comm", "dso", "symbol"].map(str::to_owned));
                }
                keys.push(known.to_owned());
            }
            "sample" => words.push("-n".to_owned()),
            "overhead" | "period" => {}
            "overhead_children" => words.push("--children".to_owned()),
            other => {
                let why = format!("samples are not sorted by {other}");
                return given.refuse(why, "Keys are comm, dso, symbol, srcline, cpu, pid, tid and cgroup.");
            }
        }
    }
    keys.dedup();
    if !keys.is_empty() {
        marks.note(&given.at, "the browser's table is of functions; `bathyscope report --sort` prints these keys");
        words.extend(["--sort".to_owned(), keys.join(",")]);
    }
    Ok(words)
}

/// The words for chains of calls.
fn chains(arguments: &Arguments) -> Result<Vec<String>> {
    if arguments.has("-G") {
        return Ok(vec!["-g".to_owned(), "caller".to_owned()]);
    }
    let Some(given) = arguments.last("-g") else { return Ok(Vec::new()) };
    let text = if given.value.is_some() { given.text()? } else { String::new() };
    for word in text.split(',').map(str::trim) {
        let is_share = || word.parse::<f64>().is_ok_and(|share| (0.0..=100.0).contains(&share));
        let is_known = matches!(word, "" | "graph" | "folded" | "none" | "caller" | "callee" | "function" | "percent");
        if !is_known && !is_share() {
            let remedy = "Write graph, folded or none, caller or callee, and a percentage, such as graph,0.5,caller.";
            return given.refuse(format!("chains of calls are not printed by `{word}`"), remedy);
        }
    }
    Ok(if text.is_empty() { vec!["-g".to_owned()] } else { vec!["-g".to_owned(), text] })
}

/// The condition of options that choose samples.
fn condition(arguments: &Arguments) -> Result<Option<String>> {
    let mut all = Vec::new();
    for (option, column) in [("--comms", "comm"), ("--pid", "pid"), ("--tid", "tid"), ("-C", "cpu")] {
        let Some(given) = arguments.last(option) else { continue };
        let text = given.text()?;
        let mut any = Vec::new();
        for value in text.split(',').map(str::trim).filter(|value| !value.is_empty()) {
            let range =
                value.split_once('-').and_then(|(from, to)| Some((from.parse::<u32>().ok()?, to.parse::<u32>().ok()?)));
            match (column, value.parse::<u32>(), range) {
                ("comm", ..) if !value.contains(['"', '\\']) => any.push(format!("comm == \"{value}\"")),
                ("comm", ..) => return given.refuse("a name has a quote", "Write a condition on comm."),
                (column, Ok(number), _) => any.push(format!("{column} == {number}")),
                ("cpu", _, Some((from, to))) => any.push(format!("(cpu >= {from} && cpu <= {to})")),
                _ => return given.refuse(format!("`{value}` is no number"), "Write comma-separated numbers."),
            }
        }
        all.extend(match any.as_slice() {
            [] => None,
            [one] => Some(one.clone()),
            several => Some(format!("({})", several.join(" || "))),
        });
    }
    Ok((!all.is_empty()).then(|| all.join(" && ")))
}

/// Reads `perf diff`.
///
/// # Errors
/// What is not understood.
pub(super) fn read_diff(call: &mut Call<'_>) -> Result<Step> {
    let arguments = DIFF.read(call.words, call.marks)?;
    call.ignore_redirects("the table is printed by `bathyscope diff`");
    if let Some(word) = arguments.operands.iter().find(|word| !word.text.starts_with("perf.data")) {
        return Err(Refusal::new(
            word.source.clone(),
            "captures are compared by their ids",
            "Import each file with `bathyscope captures import FILE`, and write `bathyscope diff ID ID`.",
        ));
    }
    let mut terminal = ["diff", "previous", "newest"].map(str::to_owned).to_vec();
    if let Some(given) = arguments.last("-c") {
        let text = given.text()?;
        match text.trim_start_matches('+') {
            "delta" | "delta-abs" => {}
            "ratio" => terminal.extend(["-c", "ratio"].map(str::to_owned)),
            _ => return given.refuse(format!("`{text}` is not computed"), "Write delta or ratio."),
        }
    }
    call.marks.say(
        "Shows a flame graph of the newest capture, where Compare chooses the one before; `bathyscope diff` prints both beside \
         each other, with what is more than chance."
            .to_owned(),
    );
    Ok(Step::View(StoredView { terminal, ..StoredView::newest(ViewName::Flame) }))
}
