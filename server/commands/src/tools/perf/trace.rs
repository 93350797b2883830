//! `perf trace`.

use bathyscope_capture::{CaptureSpec, Limits, Method, SourceSpec, SyscallOutcome, SyscallSpec, TraceEvent, TraceSpec};
use bathyscope_catalog::{
    constants::Arch,
    perf_events::{EventSource, parse_event},
    syscalls::select,
};

use super::target::whose;
use crate::{
    answer::{Planned, Refusal, Result, SpanKind, ViewName},
    call::{Call, Step, Whose},
    options::{Arguments, Given, Order, Rule, Table, Takes},
    shell::Word,
};

const LOOK: &str = "it is about how perf prints its lines";

const TABLE: Table = Table {
    tool: "perf trace",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-e", "--expr", "--event"], Takes::Value),
        Rule::taken(&["--filter"], Takes::Value),
        Rule::taken(&["-p", "--pid"], Takes::Value),
        Rule::taken(&["-t", "--tid"], Takes::Value),
        Rule::taken(&["-u", "--uid"], Takes::Value),
        Rule::taken(&["-a", "--all-cpus"], Takes::Nothing),
        Rule::taken(&["-G", "--cgroup"], Takes::Value),
        Rule::taken(&["-i"], Takes::Value),
        Rule::taken(&["--no-inherit"], Takes::Nothing),
        Rule::taken(&["--duration"], Takes::Value),
        Rule::taken(&["--failure"], Takes::Nothing),
        Rule::taken(&["--call-graph"], Takes::Value),
        Rule::taken(&["--kernel-syscall-graph"], Takes::Nothing),
        Rule::taken(&["--syscalls"], Takes::Nothing),
        Rule::taken(&["--no-syscalls"], Takes::Nothing),
        Rule::taken(&["--max-events"], Takes::Value),
        Rule::taken(&["-s", "--summary"], Takes::Nothing),
        Rule::taken(&["-S", "--with-summary"], Takes::Nothing),
        Rule::ignored(&["-T", "--time"], Takes::Nothing, LOOK),
        Rule::ignored(
            &["--comm", "--no-comm", "--tool_stats", "--show-on-off-events", "--errno-summary"],
            Takes::Nothing,
            LOOK,
        ),
        Rule::ignored(
            &["-v", "--verbose", "-f", "--force", "--sort-events", "--libtraceevent_print", "--print-sample"],
            Takes::Nothing,
            LOOK,
        ),
        Rule::ignored(&["-o", "--output"], Takes::Value, "rows are kept in the capture"),
        Rule::ignored(&["-m", "--mmap-pages"], Takes::Value, "buffers are set up by Bathyscope"),
        Rule::ignored(&["-D", "--delay"], Takes::Value, "any range of time can be looked at by itself"),
        Rule::ignored(&["--max-stack", "--min-stack", "--proc-map-timeout"], Takes::Value, LOOK),
        Rule::refused(
            &["-F", "--pf"],
            Takes::Value,
            "Faults of pages are no system calls.",
            "Write `perf record -e page-faults -c 1 -g`, or use the tool faults.",
        ),
        Rule::refused(&["-C", "--cpu"], Takes::Value, "Calls are recorded on all CPUs.", "Filter the rows: cpu == 1."),
        Rule::refused(
            &["--filter-pids"],
            Takes::Value,
            "Processes are chosen, not left out.",
            "Filter the rows: pid != 1.",
        ),
        Rule::refused(
            &["--map-dump", "--bpf-summary"],
            Takes::Attached,
            "It is about perf's own programs.",
            "Remove it.",
        ),
        Rule::refused(
            &["--switch-on", "--switch-off"],
            Takes::Value,
            "Events do not switch the recording.",
            "Filter rows by time.",
        ),
        Rule::refused(&["-h", "--help"], Takes::Nothing, "It is about perf itself.", "Remove it."),
    ],
};

/// What the words behind `-e` name.
#[derive(Default)]
struct Names {
    calls: Vec<String>,
    trace: TraceSpec,
}

/// Reads `perf trace`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read(call: &mut Call<'_>) -> Result<Step> {
    if let Some(first) = call.words.first().filter(|word| word.text == "record") {
        call.marks.mark(&first.source, SpanKind::Tool);
        call.words = call.words.get(1..).unwrap_or_default();
    }
    let arguments = TABLE.read(call.words, call.marks)?;
    call.ignore_redirects("rows are kept in the capture");
    if let Some(given) = arguments.last("-i") {
        return given.refuse("a file of perf is not read", "Remove -i to record anew.");
    }
    let names = names(&arguments, call)?;
    let whose = whose(&arguments, call, true)?;
    for key in ["-s", "-S"] {
        if let Some(given) = arguments.last(key) {
            call.marks.note(
                &given.at,
                "the tab System calls has the table of calls; at a terminal `bathyscope strace -c` prints it",
            );
        }
    }
    let opens = if arguments.has("-s") { ViewName::Systemcalls } else { ViewName::Events };
    let traces = !names.trace.events.is_empty() || !names.trace.dynamic.is_empty();
    let has_calls =
        !arguments.has("--no-syscalls") && (!traces || !names.calls.is_empty() || arguments.has("--syscalls"));
    let mut sources = Vec::new();
    if has_calls {
        sources.push(SourceSpec::of(Method::Syscalls(calls(&arguments, names.calls)?)));
    }
    if traces {
        sources.push(SourceSpec::of(Method::Trace(names.trace)));
    }
    if sources.is_empty() {
        return Err(Refusal::new(
            call.source(),
            "nothing is left to be recorded",
            "Remove --no-syscalls, or name events with -e.",
        ));
    }
    // Without calls there is no table of them.
    let opens = if has_calls { opens } else { ViewName::Events };
    several(sources, whose, opens, &arguments, call)
}

fn several(
    sources: Vec<SourceSpec>,
    whose: Whose,
    opens: ViewName,
    arguments: &Arguments,
    call: &Call<'_>,
) -> Result<Step> {
    let Whose { target, duration_ms, missing } = whose;
    let max_events = match arguments.last("--max-events") {
        None => None,
        Some(given) => Some(number(given)?),
    };
    let limits = Limits { duration_ms, max_events, ..Limits::default() };
    let spec = CaptureSpec { name: String::new(), sources, target, limits };
    if missing.is_none()
        && let Err(error) = spec.validate()
    {
        return Err(Refusal::new(call.source(), error.to_string(), "Change that part of the command."));
    }
    Ok(Step::Capture(Box::new(Planned { spec, opens, missing })))
}

fn number(given: &Given) -> Result<u64> {
    match given.text()?.parse::<u64>() {
        Ok(number) => Ok(number),
        Err(_) => given.refuse("that is no number", "Write a number."),
    }
}

fn names(arguments: &Arguments, call: &mut Call<'_>) -> Result<Names> {
    let mut names = Names::default();
    for given in &arguments.given {
        match given.key {
            "-e" => of_list(given, &mut names, call)?,
            "--filter" => {
                let filter = given.text()?;
                let Some(event) = names.trace.events.last_mut() else {
                    return given.refuse("the filter has no event before it", "Write -e SYSTEM:EVENT --filter FILTER.");
                };
                event.filter = Some(filter);
            }
            _ => {}
        }
    }
    Ok(names)
}

/// Names of calls and events, with commas; `!` in front leaves the calls out.
fn of_list(given: &Given, names: &mut Names, call: &mut Call<'_>) -> Result<()> {
    let word = given.word();
    word.pattern()?;
    call.marks.mark(&word.source, SpanKind::Event);
    if word.text.contains(['/', '{']) || word.text.ends_with(".c") || word.text.ends_with(".o") {
        return given.refuse("only names of system calls and of events are taken", "Write names with commas.");
    }
    let mut calls = Vec::new();
    for part in word.split(',') {
        match part.text.trim() {
            "" => {}
            text if text.contains(':') => event(&part, names, call)?,
            text => calls.push(text.to_owned()),
        }
    }
    if calls.is_empty() {
        return Ok(());
    }
    let list = calls.join(",");
    if let Err(error) = select(Arch::HOST, &list) {
        return given
            .refuse(error.to_string(), "Write names of system calls; events have a colon: sched:sched_switch.");
    }
    names.calls.extend(calls);
    Ok(())
}

fn event(part: &Word, names: &mut Names, call: &mut Call<'_>) -> Result<()> {
    let trace = &mut names.trace;
    if part.text.contains(['*', '?']) {
        let probes = call.probes_named(&part.text, &part.source);
        let has_probes = !probes.is_empty();
        trace.dynamic.extend(probes.into_iter().map(|one| one.probe));
        match super::events::matching(&part.text, call, &part.source) {
            Ok(found) => {
                trace.events.extend(found.into_iter().map(|event| TraceEvent { event, filter: None }));
            }
            Err(_) if has_probes => {}
            Err(refusal) => return Err(refusal),
        }
        return Ok(());
    }
    let parsed = parse_event(&part.text).map(|event| event.source);
    let Ok(EventSource::Tracepoint(name)) = parsed else {
        let why = format!("`{}` is neither a system call nor a tracepoint", part.text);
        return Err(Refusal::new(part.source.clone(), why, "Write SYSTEM:EVENT, such as sched:sched_switch."));
    };
    let is_there = call.host.tracepoints().is_some_and(|all| all.contains(&name));
    match call.probes_named(&name.to_string(), &part.source).into_iter().next() {
        Some(defined) => trace.dynamic.push(defined.probe),
        None if !is_there && let Some(probe) = super::events::probe_named(&name) => {
            let text = format!("`{name}` is not there: the probe `{}` is made for it", probe.typed);
            call.marks.note(&part.source, text);
            trace.dynamic.push(probe);
        }
        None if !is_there && name.system().starts_with("probe_") => {
            let why = format!("the probe `{name}` is not defined in this text");
            let remedy = "Paste the line `perf probe --add …` that defines it before the command.";
            return Err(Refusal::new(part.source.clone(), why, remedy));
        }
        None => trace.events.push(TraceEvent { event: name, filter: None }),
    }
    Ok(())
}

fn calls(arguments: &Arguments, calls: Vec<String>) -> Result<SyscallSpec> {
    let min_duration_ns = match arguments.last("--duration") {
        None => 0,
        Some(given) => match given.text()?.parse::<f64>() {
            Ok(ms) if (0.0..1e9).contains(&ms) => (ms * 1e6).round() as u64,
            _ => return given.refuse("that is no number of milliseconds", "Write one, such as 10 or 0.5."),
        },
    };
    Ok(SyscallSpec {
        calls,
        min_duration_ns,
        outcome: if arguments.has("--failure") { SyscallOutcome::Failed } else { SyscallOutcome::Any },
        signals: min_duration_ns == 0 && !arguments.has("--failure"),
        stacks: arguments.has("--call-graph") || arguments.has("--kernel-syscall-graph"),
        ..SyscallSpec::default()
    })
}
