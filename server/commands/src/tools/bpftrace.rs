//! bpftrace(8), whose language the probe language is, and ply(1), whose language is near it.

use bathyscope_bpf::{lang, tools};
use bathyscope_capture::{CaptureSpec, Limits, MAX_SCRIPT_BYTES, Method, ScriptSpec, Target};

use crate::{
    answer::{Page, Planned, Refusal, Result, SpanKind, ViewName},
    call::{Call, Step, Whose},
    options::{Arguments, Order, Rule, Table, Takes},
    shell::Word,
};

const PRINTS: &str = "what a script prints is shown and kept with the capture";
const HEADERS: &str = "C headers are not read: types come from the kernel and from the script";

pub(crate) const BPFTRACE: Table = Table {
    tool: "bpftrace",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-e"], Takes::Value),
        Rule::taken(&["-l", "--list"], Takes::Maybe),
        Rule::taken(&["-p", "--pid"], Takes::Value),
        Rule::taken(&["-c", "--cmd"], Takes::Value),
        Rule::taken(&["--unsafe"], Takes::Nothing),
        Rule::ignored(&["-f", "--format"], Takes::Value, PRINTS),
        Rule::ignored(&["-o", "--output"], Takes::Value, PRINTS),
        Rule::ignored(&["-B"], Takes::Value, PRINTS),
        Rule::ignored(&["-q", "--quiet", "-v", "--verbose", "--no-warnings"], Takes::Nothing, PRINTS),
        Rule::ignored(&["-k", "-kk"], Takes::Nothing, "helpers that fail are always counted"),
        Rule::ignored(&["--include", "-I"], Takes::Value, HEADERS),
        Rule::ignored(&["--no-feature"], Takes::Value, "the kernel's features are tested"),
        Rule::ignored(&["--usdt-file-activation"], Takes::Nothing, "semaphores of USDT probes are raised in any case"),
        Rule::refused(
            &["-dd", "--dry-run", "--debug"],
            Takes::Attached,
            "A capture attaches what it compiles.",
            "The editor of scripts checks a script and shows what it becomes.",
        ),
        Rule::refused(
            &["-d"],
            Takes::Attached,
            "A capture attaches what it compiles.",
            "The editor of scripts checks a script and shows what it becomes.",
        )
        .refused_at_verb("Stages are shown by `bathyscope compile --emit`; a time is given with --duration."),
        Rule::refused(&["--aot"], Takes::Value, "Programs are not written to files.", "Remove it."),
        Rule::refused(&["--emit-elf"], Takes::Value, "Programs are not written to files.", "Remove it.")
            .refused_at_verb("Write `bathyscope compile --emit elf -o FILE`."),
        Rule::refused(&["--emit-llvm"], Takes::Value, "Programs are not written to files.", "Remove it.")
            .refused_at_verb("There is no LLVM here; `bathyscope compile --emit bpf` shows the instructions."),
        Rule::refused(&["--fmt"], Takes::Nothing, "Scripts are kept as they are written.", "Remove it.")
            .refused_at_verb("`bathyscope compile --emit ast` shows a script as it was understood."),
        Rule::refused(
            &["--info", "-V", "--version", "-h", "--help"],
            Takes::Nothing,
            "It is about bpftrace itself.",
            "The page Host says what works here.",
        ),
    ],
};

const PLY: Table = Table {
    tool: "ply",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-c"], Takes::Value),
        Rule::ignored(&["-k", "-u", "-v", "-d"], Takes::Nothing, PRINTS),
        Rule::refused(&["-S", "-e", "-h", "-V"], Takes::Nothing, "It is about ply itself.", "Remove it."),
    ],
};

/// Words of ply that the probe language does not have, and what it has instead.
const OF_PLY: [(&str, &str); 4] =
    [("quantize(", "hist(…)"), ("stack", "kstack"), ("execname", "comm"), ("interval:1s", "interval:s:1")];

/// Reads a command of bpftrace.
///
/// # Errors
/// What is not understood or not possible; the first fault of the script.
pub(crate) fn read(call: &mut Call<'_>) -> Result<Step> {
    let arguments = BPFTRACE.read(call.words, call.marks)?;
    let mut operands = arguments.operands.as_slice();
    if let Some(given) = arguments.last("-l") {
        // `-lv PATTERN` is `-l -v PATTERN`.
        let value = given.value.as_ref().filter(|word| operands.is_empty() || !matches!(word.text.as_str(), "v" | "q"));
        let word = value.or(operands.first());
        let text = word.map(|word| word.pattern().map(str::to_owned)).transpose()?.unwrap_or_default();
        return Ok(listed(&text));
    }
    let (text, file) = match (arguments.last("-e"), call.here_text().cloned()) {
        (Some(given), _) => (script(&given.word(), call)?, String::new()),
        (None, Some(word)) => {
            operands = operands.get(1..).unwrap_or_default();
            (script(&word, call)?, String::new())
        }
        (None, None) => {
            let Some((first, rest)) = operands.split_first() else {
                return Err(Refusal::new(call.source(), "bpftrace needs a script", "Write -e 'SCRIPT'."));
            };
            operands = rest;
            of_file(first, call)?
        }
    };
    if operands.first().is_some_and(|word| word.text == "--") {
        operands = operands.get(1..).unwrap_or_default();
    }
    let params = operands.iter().map(|word| word.plain().map(str::to_owned)).collect::<Result<Vec<_>>>()?;
    let allow_unsafe = arguments.has("--unsafe");
    if let Some(given) = arguments.last("--unsafe") {
        call.marks.note(&given.at, "the script may change what it observes; only an admin can start it");
    }
    let text = with_settings(text, call)?;
    capture(ScriptSpec { text, file, params, allow_unsafe }, &arguments, call)
}

/// The script with what variables of the environment set, as settings of its own.
fn with_settings(text: String, call: &mut Call<'_>) -> Result<String> {
    let Some(first) = call.settings.first() else { return Ok(text) };
    let is_plain = |word: &&Word| {
        let value = word.text.split_once('=').map_or("", |(_, value)| value);
        !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    if let Some(odd) = call.settings.iter().find(|word| !is_plain(word)) {
        return Err(Refusal::new(odd.source.clone(), "that is no value of a setting", "Write a number or a word."));
    }
    let written: Vec<String> = call.settings.iter().map(|word| word.text.replacen('=', " = ", 1)).collect();
    let block = format!("config = {{ {} }}\n", written.join("; "));
    // A script of a file is not in sight, and one has one block.
    if text.is_empty() || lang::parse(&format!("{block}{text}")).is_err() {
        let remedy = format!("Write `{}` into the script.", block.trim());
        return Err(Refusal::new(first.source.clone(), "the script has settings of its own", remedy));
    }
    for word in call.settings {
        call.marks.note(&word.source, "it is written into the script, as a setting");
    }
    Ok(block + &text)
}

/// A capture of a script, of `-p` or `-c`.
fn capture(spec: ScriptSpec, arguments: &Arguments, call: &mut Call<'_>) -> Result<Step> {
    call.marks_redirects();
    let whose = match (arguments.last("-p"), arguments.last("-c")) {
        (Some(_), Some(given)) => return given.refuse("a capture is of a process or of a command", "Remove -p or -c."),
        (Some(given), None) => match call.process_ids(&given.word())? {
            (_, Some(missing)) => {
                Whose { missing: Some(missing), ..Whose::of(Target::Process { pid: 0, children: false }) }
            }
            (pids, None) => Whose::of(Target::of_processes(&pids, false)),
        },
        (None, Some(given)) => {
            let argv = command_of(&given.word(), call)?;
            Whose::of(Target::Command { argv, user: None, children: true })
        }
        (None, None) => Whose::of(Target::System),
    };
    let opens = opens(&spec.text);
    call.capture(Method::Script(spec), whose, opens)
}

/// The words of a command that stands in one word.
///
/// # Errors
/// What a shell would expand.
pub(super) fn command_of(word: &Word, call: &mut Call<'_>) -> Result<Vec<String>> {
    call.marks.mark(&word.source, SpanKind::Target);
    let lines =
        crate::shell::read(word.plain()?, &|_| false).map_err(|inner| Refusal { at: word.place(inner.at), ..inner })?;
    let first = lines.pipelines.first().and_then(|one| one.commands.first());
    let words = first.map(|one| one.words.as_slice()).unwrap_or_default();
    let argv = words.iter().map(|word| word.plain().map(str::to_owned)).collect::<Result<Vec<_>>>();
    argv.map_err(|inner| Refusal { at: word.place(inner.at), ..inner })
}

/// What a script fills is shown: its maps, or what it prints.
pub(super) fn opens(text: &str) -> ViewName {
    if text.contains('@') && !text.contains("printf(") { ViewName::Maps } else { ViewName::Output }
}

fn listed(text: &str) -> Step {
    let (provider, rest) = text.split_once(':').unwrap_or(("", text));
    let kind = match provider {
        "tracepoint" | "t" | "rawtracepoint" | "rt" => "tracepoint",
        "kprobe" | "k" | "kretprobe" | "kr" | "fentry" | "fexit" | "kfunc" | "kretfunc" | "f" | "fr" => "function",
        "uprobe" | "u" | "uretprobe" | "ur" => "user",
        "usdt" | "U" => "marker",
        "software" | "s" | "hardware" | "h" => "perf",
        _ => "",
    };
    let text = if kind.is_empty() { text } else { rest };
    let within = text.split_once(':').filter(|_| matches!(kind, "user" | "marker"));
    let (within, text) = within.unwrap_or(("", text));
    let text = if text == "*" { "" } else { text };
    let page = Page::new("/catalog", &[("q", text), ("kind", kind), ("in", within)]);
    let that = if text.is_empty() { String::new() } else { format!(", and matches `{text}`") };
    Step::Page(page, format!("Shows what can be probed here{that}."))
}

/// The text of a script, without a fault.
fn script(word: &Word, call: &mut Call<'_>) -> Result<String> {
    call.marks.mark(&word.source, SpanKind::Script);
    let text = word.plain()?.to_owned();
    if text.len() > MAX_SCRIPT_BYTES {
        let why = format!("the script has {} bytes, and at most {MAX_SCRIPT_BYTES} are taken", text.len());
        return Err(Refusal::new(word.source.clone(), why, "Make it shorter."));
    }
    let Err(faults) = lang::parse(&text) else { return Ok(text) };
    let Some(fault) = faults.into_iter().next() else { return Ok(text) };
    let place = word.place((fault.start as usize).min(text.len())..(fault.end as usize).min(text.len()));
    let at = if place.start < place.end { place } else { word.source.clone() };
    let remedy = match fault.hint.as_str() {
        "" => "The language reference shows what can stand here.".to_owned(),
        hint => sentence(hint),
    };
    Err(Refusal::new(at, fault.message, remedy))
}

/// A hint of the compiler as a sentence.
fn sentence(hint: &str) -> String {
    let mut letters = hint.chars();
    let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
    let end = if hint.ends_with(['.', '?', ')']) { "" } else { "." };
    format!("{first}{}{end}", letters.as_str())
}

/// The capture of a script that stands alone: it begins with a probe, and is one without a fault.
pub(super) fn bare_script(text: &str) -> Option<Result<Planned>> {
    let body = text.trim_start();
    let first = body
        .lines()
        .map(str::trim)
        .find(|line| !line.is_empty() && !line.starts_with("//") && !line.starts_with("#!"))?;
    let word = first.split(|c: char| c.is_whitespace() || c == '{').next()?;
    let is_probe = word.split_once(':').is_some_and(|(name, _)| lang::provider(name).is_some())
        || matches!(word, "BEGIN" | "begin");
    if !is_probe || text.len() > MAX_SCRIPT_BYTES || !text.contains('{') || lang::parse(text).is_err() {
        return None;
    }
    let opens = opens(text);
    let method = Method::Script(ScriptSpec { text: text.to_owned(), ..ScriptSpec::default() });
    let spec = CaptureSpec {
        limits: Limits { duration_ms: None, ..Limits::default() },
        ..CaptureSpec::of(method, Target::System)
    };
    let planned = Planned { spec, opens, missing: None };
    Some(match planned.spec.validate() {
        Ok(()) => Ok(planned),
        Err(error) => Err(Refusal::new(0..text.len(), error.to_string(), "Change that part of the script.")),
    })
}

/// A script of the tool library, by the name of its file.
fn of_file(word: &Word, call: &mut Call<'_>) -> Result<(String, String)> {
    call.marks.mark(&word.source, SpanKind::Script);
    if let Some(text) = call.written(word) {
        return Ok((script(&text, call)?, String::new()));
    }
    let name = super::bare_name(word.plain()?);
    match tools::find(name.strip_suffix(".bt").unwrap_or(&name)) {
        Some(tool) => {
            call.marks.note(&word.source, format!("{} of the tool library is taken, not the file", tool.name));
            Ok((tool.text.to_owned(), tool.name.to_owned()))
        }
        None => Err(Refusal::new(
            word.source.clone(),
            format!("what the file {} has is not known here", word.text),
            "Paste the script itself: bpftrace -e 'SCRIPT'. At a terminal, `bathyscope trace FILE` reads the file.",
        )),
    }
}

/// A script of ply with its tracepoints (`tracepoint:sched/sched_switch`) and their fields (`data->prev_comm`) as the probe
/// language writes them.
fn in_probe_language(word: &Word) -> Word {
    const PROVIDER: &str = "tracepoint:";
    let mut word = word.replaced("data->", "args.");
    // The name of before.
    let is_own =
        |(at, _): (usize, &str)| !word.text.get(..at).is_some_and(|before| before.ends_with(char::is_alphanumeric));
    if word.text.match_indices("trace:").all(is_own) {
        word = word.replaced("trace:", PROVIDER);
    }
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let slashes: Vec<usize> = word
        .text
        .match_indices(PROVIDER)
        .filter_map(|(at, _)| {
            let name = word.text.as_bytes().get(at + PROVIDER.len()..)?;
            let slash = name.iter().position(|byte| !is_name(byte))?;
            let is_event = name.get(slash) == Some(&b'/') && name.get(slash + 1).is_some_and(is_name);
            is_event.then_some(at + PROVIDER.len() + slash)
        })
        .collect();
    slashes.into_iter().for_each(|at| word.text.replace_range(at..=at, ":"));
    word
}

/// Reads a command of ply.
///
/// # Errors
/// What is not understood; what ply has and the probe language has not.
pub(crate) fn read_ply(call: &mut Call<'_>) -> Result<Step> {
    let arguments = PLY.read(call.words, call.marks)?;
    let Some(word) = arguments.operands.first() else {
        return Err(Refusal::new(call.source(), "ply needs a script", "Write ply 'SCRIPT'."));
    };
    for (theirs, ours) in OF_PLY {
        let is_part = |at: usize| {
            word.text.get(..at).is_some_and(|before| before.ends_with(|c: char| c.is_alphanumeric() || c == '_'))
        };
        if let Some((at, _)) = word.text.match_indices(theirs).find(|(at, _)| !is_part(*at)) {
            let why = format!("`{}` of ply is not in the probe language", theirs.trim_end_matches('('));
            return Err(Refusal::new(word.place(at..at + theirs.len()), why, format!("Write `{ours}`.")));
        }
    }
    let word = in_probe_language(word);
    let text = script(&word, call)?;
    call.marks.note(&word.source, "the script is taken as one of the probe language, which is near that of ply");
    let spec = ScriptSpec { text, ..ScriptSpec::default() };
    capture(spec, &arguments, call)
}
