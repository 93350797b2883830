//! dtrace(1) and stap(1): their scripts are translated into the probe language.

use bathyscope_capture::{Method, ScriptSpec, Target};
use bathyscope_translate::{Language, ScriptTarget, TranslateOptions, translate};

use super::bpftrace::{command_of, opens};
use crate::{
    answer::{Page, Refusal, Result, SpanKind},
    call::{Call, Step, Whose, seconds},
    options::{Arguments, Given, Order, Rule, Table, Takes},
    shell::Word,
};

const DTRACE: Table = Table {
    tool: "dtrace",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-n"], Takes::Value),
        Rule::taken(&["-s"], Takes::Value),
        Rule::taken(&["-l"], Takes::Nothing),
        Rule::taken(&["-P", "-m", "-f"], Takes::Value),
        Rule::taken(&["-p"], Takes::Value),
        Rule::taken(&["-c"], Takes::Value),
        Rule::taken(&["-q"], Takes::Nothing),
        Rule::ignored(&["-v", "-w", "-C", "-Z", "-F", "-H"], Takes::Nothing, "it is about dtrace itself"),
        Rule::ignored(&["-o", "-x", "-b", "-D", "-I", "-L", "-X"], Takes::Value, "it is about dtrace itself"),
    ],
};

const STAP: Table = Table {
    tool: "stap",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-e"], Takes::Value),
        Rule::taken(&["-l", "-L"], Takes::Value),
        Rule::taken(&["-x"], Takes::Value),
        Rule::taken(&["-c"], Takes::Value),
        Rule::taken(&["-T", "--timeout"], Takes::Value),
        Rule::ignored(&["-v", "-g", "-u", "-w", "-t", "-k", "-q"], Takes::Nothing, "it is about stap itself"),
        Rule::ignored(
            &["-o", "-s", "-d", "-m", "-p", "-I", "-D", "-B", "-G", "-S"],
            Takes::Value,
            "it is about stap itself",
        ),
    ],
};

/// Reads a command of dtrace.
///
/// # Errors
/// What is not understood.
pub(crate) fn read_dtrace(call: &mut Call<'_>) -> Result<Step> {
    let arguments = DTRACE.read(call.words, call.marks)?;
    if arguments.has("-l") {
        let text = arguments.last("-n").map(Given::text).transpose()?.unwrap_or_default();
        return Ok(Step::Page(Page::new("/catalog", &[("q", &text)]), "Shows what can be probed here.".to_owned()));
    }
    let scripts = arguments.all("-n").map(Given::word).collect();
    let script = Script { language: Language::DTrace, scripts, file: arguments.last("-s"), process: "-p" };
    script.read(&arguments, call)
}

/// Reads a command of stap.
///
/// # Errors
/// What is not understood.
pub(crate) fn read_stap(call: &mut Call<'_>) -> Result<Step> {
    let arguments = STAP.read(call.words, call.marks)?;
    if let Some(given) = arguments.last("-l") {
        return Ok(listed(&given.text()?));
    }
    let ends_ms = arguments.last("-T").map(timeout_ms).transpose()?;
    let scripts = arguments.all("-e").map(Given::word).collect();
    let mut step =
        Script { language: Language::SystemTap, scripts, file: None, process: "-x" }.read(&arguments, call)?;
    if let Step::Capture(planned) = &mut step {
        planned.spec.limits.duration_ms = ends_ms.or(planned.spec.limits.duration_ms);
    }
    Ok(step)
}

/// What `-T` says, in seconds.
fn timeout_ms(given: &Given) -> Result<u64> {
    match seconds(&given.text()?).map(|seconds| seconds * 1000.0) {
        Some(ms) if (1.0..=604_800_000.0).contains(&ms) => Ok(ms.round() as u64),
        _ => given.refuse("that is no number of seconds", "Write a number."),
    }
}

/// The page that lists what a probe point of SystemTap means: `kernel.function("tcp_*")`, `process("PATH").mark("NAME")`.
fn listed(point: &str) -> Step {
    let text = |of: &str| {
        let (_, behind) = point.split_once(&format!("{of}(\""))?;
        behind.split_once('"').map(|(text, _)| text.to_owned())
    };
    // `vfs_read@fs/read_write.c:480` is a function and its place.
    let named = |of: &str| text(of).map(|text| text.split('@').next().unwrap_or_default().to_owned());
    let (file, module) = (text("process"), text("module"));
    let (kind, query) = match point.split_once('.') {
        Some(("syscall" | "nd_syscall", name)) => {
            ("tracepoint", format!("sys_enter_{}", name.split('.').next().unwrap_or_default()))
        }
        _ => match (named(".function").or_else(|| named(".statement")), named(".mark"), named(".trace")) {
            (Some(function), _, _) if file.is_some() => ("user", function),
            (Some(function), _, _) => ("function", function),
            (None, Some(mark), _) => ("marker", mark),
            (None, None, Some(event)) => ("tracepoint", event),
            (None, None, None) => ("", point.to_owned()),
        },
    };
    let query = if query == "*" { String::new() } else { query };
    let within = file.or(module).unwrap_or_default();
    let words = match (query.as_str(), within.as_str()) {
        ("", _) => "Shows what can be probed here.".to_owned(),
        (query, "") => format!("Searches the catalogue for `{query}`."),
        (query, within) => format!("Searches `{within}` for `{query}`."),
    };
    Step::Page(Page::new("/catalog", &[("q", &query), ("kind", kind), ("in", &within)]), words)
}

/// The script of a command.
struct Script<'a> {
    language: Language,
    /// The words that are its parts.
    scripts: Vec<Word>,
    /// The file that it is in otherwise.
    file: Option<&'a Given>,
    /// The option that names a process.
    process: &'static str,
}

impl Script<'_> {
    fn read(mut self, arguments: &Arguments, call: &mut Call<'_>) -> Result<Step> {
        if let (true, Some(word)) = (self.scripts.is_empty(), call.here_text()) {
            self.scripts.push(word.clone());
        }
        let mut operands = arguments.operands.as_slice();
        if self.scripts.is_empty() {
            let named = self.file.map(Given::word);
            let file = named.as_ref().or(operands.first());
            if let Some(text) = file.and_then(|file| call.written(file)) {
                self.scripts.push(text);
                operands = operands.get(usize::from(named.is_none())..).unwrap_or_default();
            }
        }
        if self.scripts.is_empty() {
            return Err(self.missing(arguments, call));
        }
        let mut text = String::new();
        for word in &self.scripts {
            call.marks.mark(&word.source, SpanKind::Script);
            text.push_str(if text.is_empty() { "" } else { "\n" });
            text.push_str(word.plain()?);
        }
        call.marks_redirects();
        let (whose, target) = self.whose(arguments, call)?;
        let parameters = operands.iter().map(|word| word.plain().map(str::to_owned)).collect::<Result<_>>()?;
        let options = TranslateOptions { parameters, target, quiet: arguments.has("-q") };
        let translated = translate(self.language, &text, &options).map_err(|fault| {
            let remedy = if fault.hint.is_empty() { "Write it in the probe language." } else { fault.hint.as_str() };
            let mut letters = remedy.chars();
            let first = letters.next().map(|letter| letter.to_uppercase().to_string()).unwrap_or_default();
            let remedy = format!("{first}{}.", letters.as_str().trim_end_matches('.'));
            Refusal::new(self.place(fault.start, fault.end), fault.message, remedy)
        })?;
        let all = self.place(0, 0);
        call.marks
            .note(&all, format!("the script is translated from {} into the probe language", self.language.name()));
        for note in translated.notes {
            let hint = if note.hint.is_empty() { String::new() } else { format!("; {}", note.hint) };
            call.marks.note(&self.place(note.start, note.end), format!("{}{hint}", note.message));
        }
        let view = opens(&translated.script);
        call.capture(Method::Script(ScriptSpec { text: translated.script, ..ScriptSpec::default() }), whose, view)
    }

    /// Whose events are recorded, and what the script calls its target. Naming a process does not make the others be left out.
    fn whose(&self, arguments: &Arguments, call: &mut Call<'_>) -> Result<(Whose, ScriptTarget)> {
        match (arguments.last(self.process), arguments.last("-c")) {
            (Some(_), Some(given)) => given.refuse("a script has one target", "Remove one of the options."),
            (Some(given), None) => match call.process_ids(&given.word())? {
                (pids, None) => match pids.as_slice() {
                    [pid] => Ok((Whose::of(Target::System), ScriptTarget::Process(*pid))),
                    _ => given.refuse("a script has one target", "Name one process."),
                },
                (_, Some(_)) => given.refuse("the script needs the number of the process", "Write it."),
            },
            (None, Some(given)) => {
                let argv = command_of(&given.word(), call)?;
                let program = argv.first().cloned().unwrap_or_default();
                Ok((Whose::of(Target::during(argv, None, Target::System)), ScriptTarget::Command(program)))
            }
            (None, None) => Ok((Whose::of(Target::System), ScriptTarget::None)),
        }
    }

    /// Where a part of the script stands; all of it where it was put together from several words.
    fn place(&self, start: u32, end: u32) -> std::ops::Range<usize> {
        let (start, end) = (start as usize, end as usize);
        match self.scripts.as_slice() {
            [word] if start < end => word.place(start.min(word.text.len())..end.min(word.text.len())),
            [first, .., last] => first.source.start..last.source.end,
            [word] => word.source.clone(),
            [] => 0..0,
        }
    }

    fn missing(&self, arguments: &Arguments, call: &Call<'_>) -> Refusal {
        let file = self.file.map(|given| given.word().source);
        match file.or_else(|| arguments.operands.first().map(|word| word.source.clone())) {
            Some(at) => {
                Refusal::new(at, "what the file has is not known here", "Paste the script itself, behind -n or -e.")
            }
            None => Refusal::new(
                call.source(),
                format!("{} needs a script", call.tool),
                "Write it behind the option -n or -e.",
            ),
        }
    }
}
