//! Tools that set up ftrace for one purpose: `perf ftrace`, and `funcgraph`, `functrace`, `tpoint`, `kprobe` and `uprobe` of perf-tools.
//! What they ask for is what `trace-cmd record` asks for, or probes of one's own.

use bathyscope_capture::{DynamicProbe, Method, Target, TraceSpec};

use super::trace_cmd;
use crate::{
    answer::{Refusal, Result, SpanKind, ViewName},
    call::{Call, Step, Whose, seconds, sleep_ms},
    options::{Arguments, Given, Order, Rule, Table, Takes},
    shell::Word,
};

const LOOK: &str = "each row has its time, its CPU and its thread";
const KEPT: &str = "rows are kept in the capture";

const PERF: Table = Table {
    tool: "perf ftrace",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-t", "--tracer"], Takes::Value),
        Rule::taken(&["-T", "--trace-funcs"], Takes::Value),
        Rule::taken(&["-N", "--notrace-funcs"], Takes::Value),
        Rule::taken(&["-G", "--graph-funcs"], Takes::Value),
        Rule::taken(&["-D", "--graph-depth"], Takes::Value),
        Rule::taken(&["-p", "--pid"], Takes::Value),
        Rule::taken(&["-a", "--all-cpus"], Takes::Nothing),
        Rule::ignored(&["-v", "--verbose", "--inherit"], Takes::Nothing, LOOK),
        Rule::ignored(&["-m", "--buffer-size"], Takes::Value, "buffers are read as they fill"),
        Rule::taken(&["--func-opts", "--graph-opts"], Takes::Value),
        Rule::taken(&["-g", "--nograph-funcs"], Takes::Value),
        Rule::refused(
            &["-C", "--cpu", "--tid"],
            Takes::Value,
            "Functions are recorded on all CPUs.",
            "Filter the rows: cpu == 1.",
        ),
        Rule::refused(
            &["-F", "--funcs"],
            Takes::Maybe,
            "The functions are in the catalogue.",
            "Search there, or write `trace-cmd list -f`.",
        ),
        Rule::refused(&["-h", "--help"], Takes::Nothing, "It is about perf itself.", "Remove it."),
    ],
};

/// The options that the tools of perf-tools have in common.
const TOOLS: Table = Table {
    tool: "the tools of perf-tools",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-d"], Takes::Value),
        Rule::taken(&["-p"], Takes::Value),
        Rule::taken(&["-m"], Takes::Value),
        Rule::ignored(&["-a", "-t", "-T", "-P", "-D", "-H", "-q"], Takes::Nothing, LOOK),
        Rule::taken(&["-s"], Takes::Nothing),
        Rule::refused(
            &["-C"],
            Takes::Nothing,
            "Times include what a call waits.",
            "Remove it; the tool kfunclatency measures one function.",
        ),
        Rule::refused(&["-L"], Takes::Value, "A thread is chosen where rows are shown.", "Filter the rows: tid == 1."),
        Rule::refused(
            &["-v"],
            Takes::Nothing,
            "The fields of an event are on its page of the catalogue.",
            "Search for its name.",
        ),
        Rule::refused(&["-F", "-l"], Takes::Nothing, "What can be probed is in the catalogue.", "Search there."),
        Rule::refused(&["-h"], Takes::Nothing, "It is about the tool itself.", "Remove it."),
    ],
};

/// Reads `perf ftrace`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read_perf(call: &mut Call<'_>) -> Result<Step> {
    let command = call.words.first().map_or("", |word| word.text.as_str());
    if matches!(command, "latency" | "profile") {
        let word = call.words.first().map_or_else(|| call.source(), |word| word.source.clone());
        let (why, remedy) = match command {
            "latency" => ("Times of one function are measured by a tool.", "Write `funclatency FUNCTION`."),
            _ => ("Sums are shown with the calls.", "Write `trace-cmd record -p function_graph -g FUNCTION`."),
        };
        return Err(Refusal::new(word, format!("`perf ftrace {command}` is not supported. {why}"), remedy));
    }
    if command == "trace"
        && let Some((first, rest)) = call.words.split_first()
    {
        call.marks.mark(&first.source, SpanKind::Tool);
        call.words = rest;
    }
    let arguments = PERF.read(call.words, call.marks)?;
    let graph = arguments.has("-G") || !arguments.has("-T");
    let tracer = arguments.last("-t").map(Given::word);
    let tracer = tracer.unwrap_or_else(|| made(if graph { "function_graph" } else { "function" }, call));
    let mut words = vec![made("-p", call), tracer];
    for (key, letter) in [("-T", "-l"), ("-N", "-n"), ("-G", "-g"), ("-D", "--max-graph-depth"), ("-p", "-P")] {
        for given in arguments.all(key) {
            words.extend([made(letter, call), given.word()]);
        }
    }
    for given in arguments.all("--func-opts") {
        look_options(given, &mut words, call)?;
    }
    // A command is traced alone, unless the whole machine is wanted.
    if !arguments.operands.is_empty() && !arguments.has("-a") {
        words.push(made("-F", call));
    }
    words.extend(arguments.operands.iter().cloned());
    let mut step = as_record(words, call, &PERF)?;
    if let Step::Capture(planned) = &mut step {
        let left_out = planned.spec.sources.iter_mut().filter_map(|source| source.method.calls_left_out_mut());
        for left_out in left_out {
            for given in arguments.all("-g") {
                left_out.push(given.word().pattern()?.to_owned());
            }
        }
    }
    Ok(step)
}

/// What `--func-opts` and `--graph-opts` ask for, as options of trace-cmd.
fn look_options(given: &Given, words: &mut Vec<Word>, call: &mut Call<'_>) -> Result<()> {
    for part in given.word().split(',') {
        let option = match part.text.as_str() {
            "noirqs" => "nofuncgraph-irqs",
            "nosleep-time" => "nosleep-time",
            "tail" => "funcgraph-tail",
            "args" => "funcgraph-args",
            "retval" => "funcgraph-retval",
            "call-graph" => "func_stack_trace",
            "verbose" | "irq-info" => {
                call.marks.ignore(&part.source, format!("`{}` has no meaning here: {LOOK}", part.text));
                continue;
            }
            text if text.starts_with("depth=") => {
                words.extend([made("--max-graph-depth", call), part.from("depth=".len())]);
                continue;
            }
            text if text.starts_with("thresh=") => {
                return Err(Refusal::new(
                    part.source,
                    "short calls are recorded too",
                    "Remove it; the tab Calls ranks them.",
                ));
            }
            _ => {
                return Err(Refusal::new(
                    part.source,
                    "that is no option of perf's tracers",
                    "Write depth=N, noirqs, nosleep-time, tail, args, retval or call-graph.",
                ));
            }
        };
        words.extend([made("-O", call), Word::made(option, part.source)]);
    }
    Ok(())
}

/// Reads `funcgraph FUNCTION` and `functrace FUNCTION`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read_functions(call: &mut Call<'_>) -> Result<Step> {
    let arguments = TOOLS.read(call.words, call.marks)?;
    let function = only(&arguments, call, "a function, such as `vfs_read`")?;
    let (tracer, letter) = match call.tool.as_str() {
        "funcgraph" => ("function_graph", "-g"),
        _ => ("function", "-l"),
    };
    let mut words = vec![made("-p", call), made(tracer, call), made(letter, call), function];
    if let Some(given) = arguments.last("-m") {
        words.extend([made("--max-graph-depth", call), given.word()]);
    }
    ends(&arguments, words, call)
}

/// Reads `tpoint EVENT FILTER`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read_tpoint(call: &mut Call<'_>) -> Result<Step> {
    let arguments = TOOLS.read(call.words, call.marks)?;
    let Some((event, filter)) = arguments.operands.split_first() else {
        return Err(Refusal::new(call.source(), "tpoint needs an event", "Write `tpoint block:block_rq_issue`."));
    };
    let mut words = vec![made("-e", call), event.clone()];
    if let Some(filter) = filter.first() {
        words.extend([made("-f", call), filter.clone()]);
    }
    if arguments.has("-s") {
        words.push(made("-T", call));
    }
    ends(&arguments, words, call)
}

/// Reads `kprobe 'p:FUNCTION ARGUMENTS'` and `uprobe 'p:FILE:FUNCTION ARGUMENTS'`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read_probe(call: &mut Call<'_>) -> Result<Step> {
    let arguments = TOOLS.read(call.words, call.marks)?;
    let in_program = call.tool == "uprobe";
    let form = if in_program { "`uprobe 'p:bash:readline'`" } else { "`kprobe 'p:vfs_read'`" };
    let Some((definition, filter)) = arguments.operands.split_first() else {
        return Err(Refusal::new(call.source(), format!("{} needs a probe", call.tool), format!("Write {form}.")));
    };
    if let Some(filter) = filter.first() {
        let why = "a filter of a probe is not supported";
        return Err(Refusal::new(filter.source.clone(), why, "Filter the rows where they are shown."));
    }
    call.marks.mark(&definition.source, SpanKind::Event);
    let text = definition.pattern()?;
    let Some(probe) = own_probe(text, in_program) else {
        let why = format!("`{text}` is no probe of {}", call.tool);
        return Err(Refusal::new(
            definition.source.clone(),
            why,
            format!("Write it as {form}, or with r: for the return."),
        ));
    };
    call.ignore_redirects(KEPT);
    let whose = whose(&arguments, call)?;
    let trace = TraceSpec {
        dynamic: vec![probe],
        options: if arguments.has("-s") { vec![("stacktrace".to_owned(), true)] } else { Vec::new() },
        ..TraceSpec::default()
    };
    call.capture(Method::Trace(trace), whose, ViewName::Events)
}

/// The probe that a definition of perf-tools means: `p:[NAME ][FILE:]FUNCTION[ ARGUMENTS]`.
fn own_probe(text: &str, in_program: bool) -> Option<DynamicProbe> {
    let (kind, rest) = text.split_once(':')?;
    let end = match kind {
        "p" => "",
        "r" => "%return",
        _ => return None,
    };
    let mut words: Vec<&str> = rest.split_whitespace().collect();
    // A name stands before the place, which then has the colon or is a word of its own without `=`, `%` or `$`.
    let is_argument = |word: &&&str| word.contains(['=', '%', '$', '(', '@']);
    let second = words.get(1).filter(|word| !is_argument(word));
    let name = match (in_program, second) {
        (true, Some(place)) if !words.first()?.contains(':') && place.contains(':') => Some(words.remove(0)),
        (false, Some(_)) => Some(words.remove(0)),
        _ => None,
    };
    let place = words.first()?;
    let (file, function) = match in_program {
        true => place.rsplit_once(':').map(|(file, function)| (Some(file.to_owned()), function))?,
        false => (None, *place),
    };
    if function.is_empty() || file.as_deref() == Some("") {
        return None;
    }
    let name = name.map(|name| format!("{name}=")).unwrap_or_default();
    let arguments = words.get(1..).unwrap_or_default().iter().map(|word| format!(" {word}")).collect::<String>();
    Some(DynamicProbe { typed: format!("{name}{function}{end}{arguments}"), file, line: None })
}

/// A word that stands for the tool.
fn made(text: &str, call: &Call<'_>) -> Word {
    Word::made(text, call.source())
}

fn only(arguments: &Arguments, call: &Call<'_>, what: &str) -> Result<Word> {
    match arguments.operands.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(Refusal::new(call.source(), format!("{} needs {what}", call.tool), "Write it behind the options.")),
        [_, second, ..] => Err(Refusal::new(second.source.clone(), "one function is traced", "Remove the others.")),
    }
}

fn whose(arguments: &Arguments, call: &mut Call<'_>) -> Result<Whose> {
    let (mut target, mut missing) = (Target::System, None);
    if let Some(given) = arguments.last("-p") {
        let (pids, choose) = call.process_ids(&given.word())?;
        missing = choose;
        target = match missing {
            Some(_) => Target::Process { pid: 0, children: false },
            None => Target::of_processes(&pids, false),
        };
    }
    let duration_ms = match arguments.last("-d") {
        None => None,
        Some(given) => match sleep_ms(&["sleep".to_owned(), given.text()?]) {
            Some(ms) => Some(ms),
            None => return given.refuse("that is no number of seconds", "Write a number."),
        },
    };
    Ok(Whose { target, duration_ms, missing })
}

/// Adds whose events they are and when it ends.
fn ends(arguments: &Arguments, mut words: Vec<Word>, call: &mut Call<'_>) -> Result<Step> {
    if let Some(given) = arguments.last("-p") {
        words.extend([made("-P", call), given.word()]);
    }
    if let Some(given) = arguments.last("-d") {
        let time = given.word();
        if seconds(&time.text).is_none() {
            return given.refuse("that is no number of seconds", "Write a number.");
        }
        words.extend([made("sleep", call), time]);
    }
    as_record(words, call, &TOOLS)
}

/// The capture that `trace-cmd record` would make with these words.
fn as_record(words: Vec<Word>, call: &mut Call<'_>, table: &Table) -> Result<Step> {
    call.ignore_redirects(KEPT);
    let mut other = Call {
        name: call.name,
        tool: call.tool.clone(),
        words: &words,
        redirects: call.redirects,
        host: call.host,
        marks: &mut *call.marks,
        probes: call.probes,
        files: call.files,
        settings: call.settings,
    };
    let step = trace_cmd::record(&mut other);
    // What is completed are the options of the tool that was written.
    call.marks.reads_by(*table);
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_of_perf_tools_are_those_of_perf() {
        let told = |text: &str, in_program| {
            own_probe(text, in_program).map(|probe| format!("{} in {}", probe.typed, probe.file.unwrap_or_default()))
        };
        let cases = [
            ("p:do_sys_open filename=+0(%si):string", false, Some("do_sys_open filename=+0(%si):string in ")),
            (
                "p:myopen do_sys_open filename=+0(%si):string",
                false,
                Some("myopen=do_sys_open filename=+0(%si):string in "),
            ),
            ("r:do_sys_open $retval", false, Some("do_sys_open%return $retval in ")),
            ("p:bash:readline", true, Some("readline in bash")),
            ("r:bash:readline +0($retval):string", true, Some("readline%return +0($retval):string in bash")),
            ("p:mine /bin/bash:readline", true, Some("mine=readline in /bin/bash")),
            ("p:readline", true, None),
            ("x:readline", false, None),
            ("readline", false, None),
        ];
        for (text, in_program, expected) in cases {
            assert_eq!(told(text, in_program).as_deref(), expected, "{text}");
        }
    }
}
