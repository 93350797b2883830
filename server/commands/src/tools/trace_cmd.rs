//! trace-cmd(1).

use std::ops::Range;

use bathyscope_capture::{
    MAX_TRACE_EVENTS, Method, TRACE_CLOCKS, Target, TraceEvent, TraceSpec, TracepointName, refused_tracer,
};
use bathyscope_catalog::{closest, matches_wildcards};

use crate::{
    answer::{Page, Refusal, Result, SpanKind, StoredView, ViewName},
    call::{Call, Step, Whose},
    options::{Arguments, Given, Order, Rule, Table, Takes},
};

const LOOK: &str = "it is about how trace-cmd prints";
const LEFT_OUT: &str = "Name only the events that are recorded; `bathyscope report -v -F EVENT` leaves rows out when they are \
    printed.";
const PRIORITY: &str = "Write `--high-priority`: what is recorded is then read with a niceness of -10. With a real-time priority: \
    `chrt -f 10 bathyscope record …`.";
const INSTANCE: &str =
    "Each capture has one tracing instance of its own. Run `bathyscope record` once more for a second one.";
const ALL_CPUS: &str =
    "Functions and events are recorded on all CPUs; `bathyscope report -F '.*: CPU == 1'` prints those of one.";
const FORMATS: &str = "The kernel's formats of print are kept with each event: `bathyscope list SYSTEM:EVENT` shows the fields of \
    one.";
const KEPT: &str = "rows are kept in the capture";
const BUFFERS: &str = "buffers are read as they fill";
const ONE_MACHINE: &str = "Captures are kept on this machine.";
const PROFILES: &str = "Its sums are not computed while it records.";
const RANKED: &str = "Calls are ranked by function where they are shown.";
const AT_VERB_QUIET: &str =
    "The summary is written to standard error, which can be redirected; the command's output is left alone.";
const AT_VERB_FUNCTIONS_OFF: &str = "A time is given with --duration TIME. In trace-cmd it leaves functions out, which are only traced \
    with -p here.";
const AT_VERB_ONE_MACHINE: &str = "Captures are kept on this machine: `bathyscope export --format bathy` makes a file of one that another \
    machine imports.";
const AT_VERB_PROFILES: &str =
    "What calls took is ranked by `bathyscope report --calls`; where threads wait is told by the tool offcputime.";
const AT_VERB_FILE: &str = "Name the capture by its id: `bathyscope report ID`; `bathyscope captures list` lists them, and `bathyscope captures \
    import FILE` stores the one of a file.";
const AT_VERB_CPUS: &str = "Write -F '.*: CPU == 1', or conditions joined by ||.";
const AT_VERB_LATENCY: &str =
    "What calls took is ranked by --calls; rows have the form that trace-cmd prints without -l.";
const AT_VERB_RAW: &str =
    "Rows with their fields as numbers: `bathyscope export --format ndjson`, or `bathyscope query`.";
const AT_VERB_PLUGINS: &str = "there are no plugins: events print by the formats that the kernel gave";
const AT_VERB_INTERRUPTS: &str = "Write a condition on the flags of a row: `bathyscope query` has them as columns.";
const AT_VERB_HEAD: &str = "`bathyscope captures show ID` tells what is known of a capture.";
const AT_VERB_TIMES: &str =
    "Times are of the capture's clock; differences are computed by `bathyscope query`, such as with lag().";

pub(crate) const RECORD: Table = Table {
    tool: "trace-cmd record",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-p"], Takes::Value),
        Rule::taken(&["-e"], Takes::Value),
        Rule::taken(&["-f"], Takes::Value),
        Rule::taken(&["-l"], Takes::Value),
        Rule::taken(&["-n"], Takes::Value),
        Rule::taken(&["-g"], Takes::Value),
        Rule::taken(&["-O"], Takes::Value),
        Rule::taken(&["-F"], Takes::Nothing),
        Rule::taken(&["-P"], Takes::Value),
        Rule::taken(&["-c"], Takes::Nothing),
        Rule::taken(&["-C"], Takes::Value),
        Rule::taken(&["-b"], Takes::Value),
        Rule::taken(&["-T"], Takes::Nothing).refused_at_verb("Write -O stacktrace."),
        Rule::taken(&["--func-stack"], Takes::Nothing).refused_at_verb("Write -O func_stack_trace."),
        Rule::taken(&["--max-graph-depth"], Takes::Value),
        Rule::taken(&["--module"], Takes::Value).refused_at_verb("Write -l '*:mod:MODULE'."),
        Rule::taken(&["--user"], Takes::Value),
        Rule::taken(&["-v"], Takes::Nothing).refused_at_verb(LEFT_OUT),
        Rule::ignored(&["-a"], Takes::Nothing, "the machine is traced where -F and -P are not given"),
        Rule::ignored(&["-o"], Takes::Value, KEPT),
        Rule::ignored(&["--file-version"], Takes::Value, KEPT)
            .refused_at_verb("`bathyscope export` lists the formats that can be written."),
        Rule::ignored(&["-s"], Takes::Value, BUFFERS),
        Rule::ignored(
            &["-k"],
            Takes::Nothing,
            "each capture has buffers of its own, and those of the machine are left alone",
        ),
        Rule::ignored(&["--temp"], Takes::Value, "each capture has buffers of its own"),
        Rule::ignored(&["-q", "--quiet"], Takes::Nothing, "nothing is printed").refused_at_verb(AT_VERB_QUIET),
        Rule::ignored(&["-r"], Takes::Value, BUFFERS).refused_at_verb(PRIORITY),
        Rule::ignored(&["-m"], Takes::Value, "the capture has limits of its own, in the form")
            .refused_at_verb("What a capture may store is limited by --bytes-per-second and by --duration."),
        Rule::ignored(&["--compression"], Takes::Value, "captures are always compressed"),
        Rule::ignored(
            &["--cmdlines-size"],
            Takes::Value,
            "the names of all processes come from the capture's own history",
        ),
        Rule::ignored(&["--raw-ts"], Takes::Nothing, KEPT),
        Rule::ignored(&["--no-filter"], Takes::Nothing, "processes of Bathyscope are recorded like others"),
        Rule::ignored(&["--proc-map"], Takes::Nothing, "the mappings of processes are recorded in any case"),
        Rule::ignored(&["--poll"], Takes::Nothing, "buffers are read without waiting in any case"),
        Rule::ignored(&["--date"], Takes::Nothing, KEPT)
            .refused_at_verb("Each capture knows its wall time; rows have the monotonic clock."),
        Rule::ignored(&["--tsc2nsec"], Takes::Nothing, KEPT)
            .refused_at_verb("Times are nanoseconds of the clock of -C: mono, mono_raw or boot."),
        Rule::ignored(&["-B"], Takes::Value, "each capture has a tracing instance of its own")
            .refused_at_verb(INSTANCE),
        Rule::refused(
            &["-i"],
            Takes::Nothing,
            "An event that is not there is refused, so that a capture has all that was asked for.",
            "Remove it, and the events that are missing.",
        ),
        Rule::refused(
            &["-d", "-D"],
            Takes::Nothing,
            "Which functions are traced is said by the tracer.",
            "Remove it; without -p no functions are traced.",
        )
        .refused_at_verb(AT_VERB_FUNCTIONS_OFF),
        Rule::refused(
            &["-R"],
            Takes::Value,
            "Triggers of events are not set.",
            "Write -f FILTER, or a script of the probe language.",
        ),
        Rule::refused(&["-M"], Takes::Value, "Events are recorded on all CPUs.", "Filter the rows: cpu == 1.")
            .refused_at_verb(ALL_CPUS),
        Rule::refused(&["-N", "-V", "-A"], Takes::Value, ONE_MACHINE, "Export the capture and import it elsewhere.")
            .refused_at_verb(AT_VERB_ONE_MACHINE),
        Rule::refused(
            &["-t", "--proxy", "--host", "--tsync-interval"],
            Takes::Nothing,
            ONE_MACHINE,
            "Export the capture and import it elsewhere.",
        )
        .refused_at_verb(AT_VERB_ONE_MACHINE),
        Rule::refused(&["-S", "-G", "--profile", "--by-comm"], Takes::Nothing, PROFILES, RANKED)
            .refused_at_verb(AT_VERB_PROFILES),
        Rule::refused(&["-H"], Takes::Value, PROFILES, RANKED).refused_at_verb(AT_VERB_PROFILES),
        Rule::refused(&["-h", "--help"], Takes::Nothing, "It is about trace-cmd itself.", "Remove it."),
    ],
};

pub(crate) const REPORT: Table = Table {
    tool: "trace-cmd report",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-i", "--input"], Takes::Value).refused_at_verb(AT_VERB_FILE),
        Rule::taken(&["-F"], Takes::Value),
        Rule::taken(&["-v", "-V"], Takes::Nothing).refused_at_verb("`bathyscope --version` tells the version."),
        Rule::ignored(&["--cpu", "-C"], Takes::Value, "rows are filtered where they are shown: cpu == 1")
            .refused_at_verb(AT_VERB_CPUS),
        Rule::ignored(&["-q", "--events", "--event"], Takes::Nothing, LOOK),
        Rule::ignored(&["-t"], Takes::Nothing, LOOK)
            .refused_at_verb("Times are printed with six digits; `bathyscope export --format csv` has nanoseconds."),
        Rule::ignored(&["-l", "-w"], Takes::Nothing, LOOK).refused_at_verb(AT_VERB_LATENCY),
        Rule::ignored(&["-R", "-r", "--raw-ts"], Takes::Nothing, LOOK).refused_at_verb(AT_VERB_RAW),
        Rule::ignored(&["-N", "-L"], Takes::Nothing, AT_VERB_PLUGINS),
        Rule::ignored(&["-I", "-S"], Takes::Nothing, LOOK).refused_at_verb(AT_VERB_INTERRUPTS),
        Rule::ignored(&["-G", "--profile", "--by-comm"], Takes::Nothing, LOOK).refused_at_verb(AT_VERB_PROFILES),
        Rule::ignored(&["-T"], Takes::Nothing, LOOK)
            .refused_at_verb("A filter that is not understood is refused with its place."),
        Rule::ignored(&["-f"], Takes::Nothing, LOOK)
            .refused_at_verb("`bathyscope list functions` lists those of this kernel."),
        Rule::ignored(
            &["-e", "-E", "--stat", "--uname", "--cpus", "--first-event", "--last-event"],
            Takes::Nothing,
            LOOK,
        )
        .refused_at_verb(AT_VERB_HEAD),
        Rule::ignored(&["-P"], Takes::Nothing, LOOK).refused_at_verb(FORMATS),
        Rule::ignored(&["--check-events", "--ts-check"], Takes::Nothing, LOOK)
            .refused_at_verb("`bathyscope captures check ID` checks a capture."),
        Rule::ignored(&["--nodate"], Takes::Nothing, "rows have the capture's clock in any case"),
        Rule::ignored(&["--ts-diff", "--ts2secs"], Takes::Nothing, LOOK).refused_at_verb(AT_VERB_TIMES),
        Rule::ignored(&["--version"], Takes::Nothing, LOOK)
            .refused_at_verb("`bathyscope --version` tells the version."),
        Rule::ignored(&["--verbose"], Takes::Nothing, LOOK).refused_at_verb("There is no log of reading a capture."),
        Rule::ignored(&["-n"], Takes::Value, LOOK),
        Rule::ignored(&["-O"], Takes::Value, AT_VERB_PLUGINS),
        Rule::ignored(&["-H"], Takes::Value, LOOK).refused_at_verb(AT_VERB_PROFILES),
        Rule::ignored(&["--ts-offset", "--align-ts"], Takes::Value, LOOK).refused_at_verb(AT_VERB_TIMES),
    ],
};

pub(crate) const LIST: Table = Table {
    tool: "trace-cmd list",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-e"], Takes::Maybe),
        Rule::taken(&["-f"], Takes::Maybe),
        Rule::taken(&["-t", "-p"], Takes::Nothing),
        Rule::taken(&["-o", "-C"], Takes::Nothing),
        Rule::taken(&["-B"], Takes::Nothing).refused_at_verb(
            "Each capture has a tracing instance of its own; `bathyscope cleanup --dry-run` lists those left behind.",
        ),
        Rule::taken(&["-O", "-P"], Takes::Nothing)
            .refused_at_verb("There are no plugins: events print by the formats that the kernel gave."),
        Rule::taken(&["-c"], Takes::Nothing).refused_at_verb("Captures are compressed in one way."),
        Rule::ignored(&["-F", "--full"], Takes::Nothing, "an event's page shows its fields")
            .refused_at_verb("The fields of events: `bathyscope list 'sched:*' --fields`."),
        Rule::ignored(&["-R"], Takes::Nothing, "an event's page shows its fields")
            .refused_at_verb("Triggers of events are not set by Bathyscope, nor listed."),
        Rule::ignored(&["-l"], Takes::Nothing, "an event's page shows its fields")
            .refused_at_verb("Filters belong to a capture: `bathyscope captures show ID` tells those of one."),
    ],
};

/// Its commands.
pub(super) const COMMANDS: [&str; 12] =
    ["record", "stream", "start", "report", "list", "stop", "reset", "extract", "clear", "show", "restart", "snapshot"];

/// Reads a command.
///
/// # Errors
/// What is not understood or not possible.
pub(crate) fn read(call: &mut Call<'_>) -> Result<Step> {
    let Some((command, words)) = call.words.split_first() else {
        return Err(Refusal::new(
            call.source(),
            "trace-cmd needs a command",
            "Write `trace-cmd record`, `report` or `list` behind it.",
        ));
    };
    call.marks.mark(&command.source, SpanKind::Tool);
    call.words = words;
    call.ignore_redirects(KEPT);
    match command.text.as_str() {
        "record" | "stream" | "start" => record(call),
        "report" => report(call),
        "list" => list(call),
        "show" => Ok(Step::View(StoredView::newest(ViewName::Events))),
        "stop" | "reset" | "extract" | "clear" | "restart" => Ok(Step::Nothing(
            "A capture is stopped on its page, keeps its rows by itself, and removes at its end what it has made."
                .to_owned(),
        )),
        name @ ("hist" | "profile" | "split" | "listen" | "agent" | "setup-guest" | "mem" | "stack"
        | "check-events" | "options" | "restore" | "stat" | "sqlhist" | "snapshot" | "dump" | "convert"
        | "attach" | "set") => Err(Refusal::new(
            command.source.clone(),
            format!("`trace-cmd {name}` is not supported"),
            "Write `trace-cmd record`; calls are ranked and rows are counted where the capture is shown.",
        )),
        name => {
            let near = closest(name, COMMANDS).map(|near| format!("Did you mean `trace-cmd {near}`?"));
            let why = format!("`{name}` is no command of trace-cmd");
            Err(Refusal::new(
                command.source.clone(),
                why,
                near.unwrap_or_else(|| "Write record, report or list.".to_owned()),
            ))
        }
    }
}

pub(super) fn record(call: &mut Call<'_>) -> Result<Step> {
    let arguments = RECORD.read(call.words, call.marks)?;
    let trace = trace(&arguments, call)?;
    let whose = whose(&arguments, call)?;
    let opens = if trace.tracer.as_deref() == Some("function_graph") { ViewName::Calls } else { ViewName::Events };
    if trace == TraceSpec::default() {
        return Err(Refusal::new(
            call.source(),
            "there is neither a tracer nor an event",
            "Write -p TRACER or -e EVENT.",
        ));
    }
    call.capture(Method::Trace(trace), whose, opens)
}

fn whose(arguments: &Arguments, call: &mut Call<'_>) -> Result<Whose> {
    let children = arguments.has("-c");
    if let Some(given) = arguments.last("-P") {
        if let Some(filter) = arguments.last("-F") {
            return filter.refuse("a capture is of processes or of the command", "Remove -F or -P.");
        }
        return match call.process_ids(&given.word())? {
            (_, Some(missing)) => {
                let whose = call.while_runs(Target::Process { pid: 0, children }, &arguments.operands)?;
                Ok(Whose { missing: Some(missing), ..whose })
            }
            (pids, None) => call.while_runs(Target::of_processes(&pids, children), &arguments.operands),
        };
    }
    if let Some(given) = arguments.last("-F") {
        let argv = call.command(&arguments.operands)?;
        if argv.is_empty() {
            return given.refuse("-F is for a command, and there is none", "Write the command at the end.");
        }
        let user = arguments.last("--user").map(Given::text).transpose()?;
        return Ok(Whose::of(Target::Command { argv, user, children }));
    }
    if let Some(given) = arguments.last("-c") {
        call.marks.ignore(&given.at, "-c has no meaning here: without -F and -P everything is traced");
    }
    call.while_runs(Target::System, &arguments.operands)
}

fn trace(arguments: &Arguments, call: &mut Call<'_>) -> Result<TraceSpec> {
    let mut trace = TraceSpec::default();
    // The events of the last `-e`.
    let mut filtered = 0..0;
    for given in &arguments.given {
        match given.key {
            "-p" => trace.tracer = tracer(given)?,
            "-e" => {
                let before = trace.events.len();
                events(given, &mut trace, call)?;
                filtered = before..trace.events.len();
            }
            "-f" => {
                let filter = given.text()?;
                match trace.events.get_mut(filtered.clone()) {
                    Some([event]) => event.filter = Some(filter),
                    Some([_, ..]) => {
                        return given.refuse(
                            "a filter of several events is not supported",
                            "Write it behind each event: -e SYSTEM:EVENT -f FILTER.",
                        );
                    }
                    _ => return given.refuse("the filter has no event before it", "Write -e EVENT -f FILTER."),
                }
            }
            "-l" => trace.functions.push(function(given, call)?),
            "-n" => trace.not_functions.push(function(given, call)?),
            "-g" => trace.graph_roots.push(function(given, call)?),
            "-O" => {
                let text = given.text()?;
                let (name, on) = text.strip_prefix("no").map_or((text.as_str(), true), |name| (name, false));
                trace.options.push((name.to_owned(), on));
            }
            "-T" => trace.options.push(("stacktrace".to_owned(), true)),
            "--func-stack" => trace.options.push(("func_stack_trace".to_owned(), true)),
            "-C" => trace.clock = clock(given)?,
            "-b" => trace.buffer_kib = Some(number(given)?),
            "--max-graph-depth" => trace.max_depth = Some(number(given)?),
            "--module" => trace.functions.push(format!("*:mod:{}", given.text()?)),
            "-v" => return given.refuse("events are chosen, not left out", "Name only the events that are recorded."),
            _ => {}
        }
    }
    Ok(trace)
}

fn tracer(given: &Given) -> Result<Option<String>> {
    let name = given.text()?;
    match refused_tracer(&name) {
        _ if name == "nop" => Ok(None),
        Some(why) => given.refuse(format!("the tracer {name} is not for this: {why}"), "Choose another one."),
        None => Ok(Some(name)),
    }
}

fn function(given: &Given, call: &mut Call<'_>) -> Result<String> {
    call.marks.mark(&given.word().source, SpanKind::Event);
    given.text()
}

fn clock(given: &Given) -> Result<Option<String>> {
    let name = given.text()?;
    if !TRACE_CLOCKS.contains(&name.as_str()) {
        let why = format!("times of the clock `{name}` cannot be compared with those of other captures");
        return given.refuse(why, "Write mono, mono_raw or boot.");
    }
    Ok((name != "mono").then_some(name))
}

fn number(given: &Given) -> Result<u32> {
    match given.text()?.parse::<u32>() {
        Ok(number) => Ok(number),
        Err(_) => given.refuse("that is no number", "Write a number."),
    }
}

/// `NAME`, `SYSTEM:NAME`, `SYSTEM`, each with patterns.
fn events(given: &Given, trace: &mut TraceSpec, call: &mut Call<'_>) -> Result<()> {
    let word = given.word();
    call.marks.mark(&word.source, SpanKind::Event);
    let text = word.pattern()?;
    let whole = if text.contains(':') { text.to_owned() } else { format!("{text}:*") };
    let probes = call.probes_named(&whole, &word.source);
    // A pattern is of events of the kernel too.
    let is_pattern = text.contains(':') && text.contains(['*', '?']);
    let is_all = !probes.is_empty() && !is_pattern;
    trace.dynamic.extend(probes.into_iter().map(|one| one.probe));
    if is_all {
        return Ok(());
    }
    let events = match named(text, &word.source, call) {
        Err(_) if !trace.dynamic.is_empty() && text.contains(':') => Vec::new(),
        events => events?,
    };
    for event in events {
        trace.events.retain(|known| known.event != event);
        trace.events.push(TraceEvent { event, filter: None });
    }
    if trace.events.len() > MAX_TRACE_EVENTS {
        let why = format!("these are {} events, and {MAX_TRACE_EVENTS} can be recorded", trace.events.len());
        return given.refuse(why, "Name fewer.");
    }
    Ok(())
}

fn named(text: &str, at: &Range<usize>, call: &Call<'_>) -> Result<Vec<TracepointName>> {
    let Some(all) = call.host.tracepoints() else {
        return match text.parse::<TracepointName>() {
            Ok(name) => Ok(vec![name]),
            Err(_) => Err(Refusal::new(
                at.clone(),
                format!("which events `{text}` means is not known without asking the host"),
                "Write SYSTEM:EVENT, such as sched:sched_switch.",
            )),
        };
    };
    let matches = |name: &&TracepointName| match text.split_once(':') {
        Some((system, event)) => matches_wildcards(system, name.system()) && matches_wildcards(event, name.name()),
        None => text == "all" || matches_wildcards(text, name.name()),
    };
    let mut found: Vec<TracepointName> = all.iter().filter(matches).cloned().collect();
    if found.is_empty() {
        found = all.iter().filter(|name| matches_wildcards(text, name.system())).cloned().collect();
    }
    if found.is_empty() {
        let names: Vec<String> = all.iter().flat_map(|name| [name.name().to_owned(), name.to_string()]).collect();
        let near = closest(text, names.iter().map(String::as_str)).map(|near| format!("Did you mean `{near}`?"));
        let why = format!("this kernel has no event `{text}`");
        return Err(Refusal::new(
            at.clone(),
            why,
            near.unwrap_or_else(|| "Search for it in the catalogue.".to_owned()),
        ));
    }
    Ok(found)
}

fn report(call: &mut Call<'_>) -> Result<Step> {
    let arguments = REPORT.read(call.words, call.marks)?;
    if let Some(given) = arguments.last("-v") {
        return given.refuse(
            "conditions that leave rows out are not taken",
            "Write -F with the opposite condition, such as 'EVENT: FIELD != 1'.",
        );
    }
    let file = arguments.last("-i").map(|given| given.word()).or_else(|| arguments.operands.first().cloned());
    let file = file.map(|word| word.plain().map(str::to_owned)).transpose()?.filter(|name| name != "trace.dat");
    let mut filters = Vec::new();
    for given in arguments.all("-F") {
        call.marks.mark(&given.word().source, SpanKind::Event);
        filters.push(given.word().plain()?.to_owned());
    }
    Ok(Step::View(StoredView { file, filters, ..StoredView::newest(ViewName::Events) }))
}

fn list(call: &mut Call<'_>) -> Result<Step> {
    let arguments = LIST.read(call.words, call.marks)?;
    let text = |given: &Given| given.value.as_ref().map(|word| word.pattern().map(str::to_owned)).transpose();
    let (kind, text) = match arguments.given.first() {
        Some(given) if given.key == "-e" => ("tracepoint", text(given)?.unwrap_or_default()),
        Some(given) if given.key == "-f" => ("function", text(given)?.unwrap_or_default()),
        Some(_) => ("tracer", String::new()),
        None => ("", String::new()),
    };
    let words = match kind {
        "tracepoint" => "Shows the tracepoints of this kernel.",
        "function" => "Shows the functions of this kernel and how each can be probed.",
        "tracer" => "Shows the tracers of this kernel, with their options and clocks in the form of a new capture.",
        _ => "Shows the catalogue: everything that can be traced here.",
    };
    Ok(Step::Page(Page::new("/catalog", &[("q", &text), ("kind", kind)]), words.to_owned()))
}
