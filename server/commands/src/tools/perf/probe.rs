//! `perf probe`.

use bathyscope_capture::DynamicProbe;
use bathyscope_catalog::dynamic::{DynamicError, parse_perf_probe};

use crate::{
    answer::{Page, Refusal, Result, SpanKind},
    call::{Call, DefinedProbe, ProbeSteps, Step},
    options::{Arguments, Order, Rule, Table, Takes},
    shell::Word,
};

const SOURCE: &str = "Source is not shown, and its lines are found in the probe builder.";
const PARAMETERS: &str = "Open the probe builder and type a line, such as `work.c:12`; `perf probe -V FUNCTION` shows the parameters of a function.";
const TYPES: &str = "types come from the kernel's own type information (BTF)";
const MODULE: &str = "Write the module before the function: -V MODULE:FUNCTION.";
const CACHE: &str = "Nothing is cached: functions and types are read from the running kernel and from the file.";
const DEBUG: &str = "Source lines are found in the probe builder in the browser, as `work.c:12`. `bathyscope probe -V FUNCTION` shows the \
    parameters of a function; places within it are written FUNCTION+OFFSET.";

pub(crate) const TABLE: Table = Table {
    tool: "perf probe",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-a", "--add"], Takes::Value),
        Rule::taken(&["-d", "--del"], Takes::Value),
        Rule::taken(&["-x", "--exec"], Takes::Value),
        Rule::taken(&["-m", "--module"], Takes::Value).refused_at_verb(MODULE),
        Rule::taken(&["-V", "--vars"], Takes::Value),
        Rule::taken(&["-F", "--funcs"], Takes::Maybe),
        Rule::taken(&["-l", "--list"], Takes::Maybe),
        Rule::taken(&["--filter"], Takes::Value).refused_at_verb("Write the pattern behind --funcs: --funcs 'vfs_*'."),
        Rule::taken(&["-n", "--dry-run"], Takes::Nothing),
        Rule::taken(&["-f", "--force"], Takes::Nothing),
        Rule::ignored(&["-v", "--verbose"], Takes::Nothing, "nothing is printed")
            .refused_at_verb("What a definition becomes is printed by -n."),
        Rule::ignored(&["-q", "--quiet"], Takes::Nothing, "nothing is printed")
            .refused_at_verb("Notes are written to standard error, which can be redirected."),
        Rule::ignored(&["-k", "--vmlinux"], Takes::Value, TYPES),
        Rule::ignored(
            &["--demangle", "--no-demangle", "--demangle-kernel"],
            Takes::Nothing,
            "names are shown as the file has them, and understood in both forms",
        ),
        Rule::ignored(
            &["--cache"],
            Takes::Nothing,
            "functions and types are read from the running kernel and the file",
        )
        .refused_at_verb(CACHE),
        Rule::ignored(
            &["--externs", "--no-inlines", "--range"],
            Takes::Nothing,
            "it is about source lines, which are found in the probe builder",
        )
        .refused_at_verb(DEBUG),
        Rule::ignored(&["--max-probes"], Takes::Value, "a definition names one place"),
        Rule::refused(&["-L", "--line"], Takes::Value, SOURCE, PARAMETERS).refused_at_verb(DEBUG),
        Rule::refused(&["-s", "--source"], Takes::Value, SOURCE, "Remove it.").refused_at_verb(DEBUG),
        Rule::refused(
            &["-D", "--definition"],
            Takes::Value,
            "What the kernel is told is shown where probes are checked.",
            "Write -a instead.",
        )
        .refused_at_verb("Write -n: it prints the lines for the kernel."),
        Rule::refused(
            &["--bootconfig"],
            Takes::Nothing,
            "Probes live with a capture, not from the kernel's start.",
            "Remove it.",
        ),
        Rule::refused(&["--symfs"], Takes::Value, "Files are those of this host.", "Write the path behind -x.")
            .refused_at_verb(
                "Write the path of the file: -x FILE, and with -p PID through the root directory of a process.",
            ),
        Rule::refused(
            &["--target-ns"],
            Takes::Value,
            "Files are looked up in the host's own file system.",
            "Write the path through /proc/PID/root.",
        )
        .refused_at_verb("Write -p PID: files are looked up through the root directory of that process."),
        Rule::refused(&["-h", "--help"], Takes::Nothing, "It is about perf itself.", "Remove it."),
    ],
};

/// Reads `perf probe`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read(call: &mut Call<'_>) -> Result<Step> {
    let arguments = TABLE.read(call.words, call.marks)?;
    call.ignore_redirects("nothing is printed");
    let file = arguments.last("-x").map(|given| given.word().plain().map(str::to_owned)).transpose()?;
    if let Some(step) = question(&arguments, file.as_deref(), call)? {
        return Ok(step);
    }
    let mut removed = Vec::new();
    for given in arguments.all("-d") {
        call.marks.mark(&given.word().source, SpanKind::Event);
        removed.push(given.text()?);
    }
    let mut added = Vec::new();
    for given in arguments.all("-a") {
        added.push(define(&given.word(), file.as_deref(), &arguments, call)?);
    }
    if let Some(word) = joined(&arguments.operands, call)? {
        added.push(define(&word, file.as_deref(), &arguments, call)?);
    }
    if added.is_empty() && removed.is_empty() {
        return Err(Refusal::new(
            call.source(),
            "`perf probe` needs a definition",
            "Write `perf probe --add FUNCTION`.",
        ));
    }
    let (force, dry_run) = (arguments.has("-f"), arguments.has("-n"));
    Ok(Step::Probes(ProbeSteps { add: added, remove: removed, force, dry_run }))
}

/// Words that are one definition.
fn joined(words: &[Word], call: &mut Call<'_>) -> Result<Option<Word>> {
    let Some((first, rest)) = words.split_first() else { return Ok(None) };
    let mut word = first.clone();
    for next in rest {
        next.pattern()?;
        word = word.with(next);
    }
    first.pattern()?;
    call.marks.mark(&word.source, SpanKind::Event);
    Ok(Some(word))
}

/// A page that answers what is asked.
fn question(arguments: &Arguments, file: Option<&str>, call: &mut Call<'_>) -> Result<Option<Step>> {
    let within = file.unwrap_or_default();
    let kind = if file.is_some() { "user" } else { "function" };
    let of = file.map(|file| format!(" of {file}")).unwrap_or_default();
    if let Some(given) = arguments.last("-V") {
        call.marks.mark(&given.word().source, SpanKind::Event);
        let function = given.text()?;
        let page = Page::new("/catalog", &[("q", &function), ("kind", kind), ("in", within)]);
        let locals = match file {
            Some(_) => "Local variables are shown in the probe builder at a source line, such as `work.c:12`.",
            None => {
                "Local variables are shown in the probe builder at a source line, such as `read_write.c:480`, where the kernel's debug information is installed."
            }
        };
        return Ok(Some(Step::Page(
            page,
            format!("Shows the parameters of `{function}`{of} with their types. {locals}"),
        )));
    }
    if let Some(given) = arguments.last("-F") {
        let value = given.value.as_ref().or(arguments.operands.first());
        let filter = arguments.last("--filter").and_then(|given| given.value.as_ref());
        let text = value.or(filter).map(|word| word.pattern().map(str::to_owned)).transpose()?.unwrap_or_default();
        let page = Page::new("/catalog", &[("q", &text), ("kind", kind), ("in", within)]);
        let that = if text.is_empty() { String::new() } else { format!(" that match `{text}`") };
        let whose = if file.is_some() { of } else { " of the kernel".to_owned() };
        return Ok(Some(Step::Page(page, format!("Shows the functions{whose}{that}."))));
    }
    if arguments.has("-l") {
        let pattern = arguments.last("-l").and_then(|given| given.value.as_ref());
        let pattern = pattern.map(|word| word.pattern().map(str::to_owned)).transpose()?.unwrap_or_default();
        let page = Page::new("/library", &[("kind", "probe"), ("q", &pattern)]);
        let words = "Shows the probes that are kept by name. Those that are in the kernel now, with their hits, are on the page Host.";
        return Ok(Some(Step::Page(page, words.to_owned())));
    }
    Ok(None)
}

/// One definition.
fn define(word: &Word, file: Option<&str>, arguments: &Arguments, call: &mut Call<'_>) -> Result<DefinedProbe> {
    call.marks.mark(&word.source, SpanKind::Event);
    let typed = word.pattern()?.trim().to_owned();
    let typed = match arguments.last("-m") {
        Some(module) => format!("{}:{typed}", module.text()?),
        None => typed,
    };
    // A name without a folder is that of a program or library, which is looked up when the capture starts.
    let path = file.map(|file| if file.contains('/') { file.to_owned() } else { format!("/{file}") });
    let definition = parse_perf_probe(&typed, path.as_deref()).map_err(|error| refused(word, &error))?;
    let (group, event) = (definition.group.unwrap_or_default(), definition.event.unwrap_or_default());
    Ok(DefinedProbe {
        group,
        event,
        probe: DynamicProbe { typed, file: file.map(str::to_owned), line: None },
        is_kept: false,
    })
}

fn refused(word: &Word, error: &DynamicError) -> Refusal {
    let place = word.place(error.at.min(word.text.len())..word.text.len());
    let at = if place.start < place.end { place } else { word.source.clone() };
    Refusal::new(
        at,
        error.problem.to_string(),
        "Write FUNCTION, FUNCTION+OFFSET or FUNCTION%return, and arguments behind it.",
    )
}
