//! `perf record`, `perf top`, `perf mem record`.

use bathyscope_capture::{
    BranchFilter, CallGraph, MAX_FREQUENCY_HZ, Method, ProfileSpec, SampledEvent, TraceEvent, TraceSpec,
};

use super::{
    events::{Asked, EventList, lists},
    target::{cpus, delay_ms, whose},
};
use crate::{
    answer::{Refusal, Result, SpanKind, ViewName},
    call::{Call, Step},
    options::{Arguments, Given, Order, Rule, Table, Takes},
    shell::Word,
};

const IN_EACH: &str = "each sample has it";
const BUILD_IDS: &str = "build ids come with the mappings";
const BUFFERS: &str = "buffers are set up by Bathyscope";
const KEPT: &str = "samples are kept in the capture, which can be exported";
const ONE_CAPTURE: &str = "A run makes one capture, of which any range of time can be looked at by itself.";
const PRIORITY: &str = "samples are read by threads of the console; `record --high-priority`, or the form, has them run before other \
    programs";
const QUIET: &str =
    "The summary is written to standard error, which can be redirected; the command's output is left alone.";
const OFF_CPU: &str =
    "Time off the CPU is told by the tool offcputime, and by `bathyscope profile -e sched:sched_switch`.";
const LATER: &str = "Remove it.";

pub(crate) const TABLE: Table = Table {
    tool: "perf record",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-e", "--event"], Takes::Value),
        Rule::taken(&["--filter"], Takes::Value),
        Rule::taken(&["-F", "--freq", "--frequency"], Takes::Value),
        Rule::taken(&["-c", "--count"], Takes::Value),
        Rule::taken(&["-g"], Takes::Nothing),
        Rule::taken(&["--call-graph"], Takes::Value),
        Rule::taken(&["-a", "--all-cpus"], Takes::Nothing),
        Rule::taken(&["-C", "--cpu"], Takes::Value),
        Rule::taken(&["-p", "--pid"], Takes::Value),
        Rule::taken(&["-t", "--tid"], Takes::Value),
        Rule::taken(&["-u", "--uid"], Takes::Value),
        Rule::taken(&["-G", "--cgroup"], Takes::Value),
        Rule::taken(&["-D", "--delay"], Takes::Value),
        Rule::taken(&["-i", "--no-inherit"], Takes::Nothing),
        Rule::taken(&["-d", "--data"], Takes::Nothing),
        Rule::taken(&["-W", "--weight"], Takes::Nothing),
        Rule::taken(&["-b", "--branch-any"], Takes::Nothing),
        Rule::taken(&["-j", "--branch-filter"], Takes::Value),
        Rule::taken(&["--user-callchains"], Takes::Nothing),
        Rule::taken(&["--kernel-callchains"], Takes::Nothing),
        Rule::ignored(&["-o", "--output"], Takes::Value, KEPT),
        Rule::ignored(&["-R", "--raw-samples"], Takes::Nothing, "samples are kept whole"),
        Rule::ignored(&["-T", "--timestamp"], Takes::Nothing, IN_EACH),
        Rule::ignored(&["-P", "--period"], Takes::Nothing, IN_EACH),
        Rule::ignored(&["--sample-cpu"], Takes::Nothing, IN_EACH),
        Rule::ignored(&["--sample-identifier"], Takes::Nothing, IN_EACH),
        Rule::ignored(&["--phys-data"], Takes::Nothing, "physical addresses are not recorded"),
        Rule::ignored(&["-B", "--no-buildid"], Takes::Nothing, BUILD_IDS),
        Rule::ignored(&["-N", "--no-buildid-cache"], Takes::Nothing, BUILD_IDS),
        Rule::ignored(&["--buildid-all", "--buildid-mmap"], Takes::Nothing, BUILD_IDS),
        Rule::ignored(&["-z", "--compression-level"], Takes::Attached, "captures are always compressed"),
        Rule::ignored(&["-m", "--mmap-pages"], Takes::Value, BUFFERS),
        Rule::ignored(&["--mmap-flush"], Takes::Value, BUFFERS),
        Rule::ignored(&["--aio"], Takes::Attached, BUFFERS),
        Rule::ignored(&["--affinity"], Takes::Value, BUFFERS),
        Rule::ignored(&["--threads"], Takes::Attached, BUFFERS),
        Rule::ignored(&["--per-thread"], Takes::Nothing, BUFFERS),
        Rule::ignored(
            &["--no-buffering", "--nobuffering", "--no-buffer"],
            Takes::Nothing,
            "rows are shown while they come",
        ),
        Rule::ignored(&["--num-thread-synthesize"], Takes::Value, BUFFERS),
        Rule::ignored(&["--synth"], Takes::Value, "processes that run already are in the capture"),
        Rule::ignored(&["--tail-synthesize"], Takes::Nothing, "processes that run already are in the capture"),
        Rule::ignored(
            &["--proc-map-timeout"],
            Takes::Value,
            "the mappings of processes are read without a limit of time",
        ),
        Rule::ignored(&["--no-bpf-event"], Takes::Nothing, "BPF programs are no part of samples"),
        Rule::ignored(&["-q", "--quiet"], Takes::Nothing, "nothing is printed").refused_at_verb(QUIET),
        Rule::ignored(&["-v", "--verbose"], Takes::Nothing, "nothing is printed").refused_at_verb("Write --log debug."),
        Rule::ignored(&["-r", "--realtime"], Takes::Value, PRIORITY)
            .refused_at_verb("The reader has the priority of this process: `chrt -f 10 bathyscope profile …`."),
        Rule::ignored(&["--switch-events"], Takes::Nothing, "switches are a source of their own: thread states")
            .refused_at_verb("Switches are recorded by `bathyscope trace -e sched:sched_switch`."),
        Rule::ignored(&["--max-size"], Takes::Value, "the capture has limits of its own, in the form")
            .refused_at_verb("What a capture may store is limited by --bytes-per-second and by --duration."),
        Rule::ignored(&["--strict-freq"], Takes::Nothing, "a frequency that the kernel refuses is told")
            .refused_at_verb("The kernel's own limit is told where it refuses a frequency; -F max takes it."),
        Rule::ignored(&["--kcore"], Takes::Attached, "names of the kernel come from its own list"),
        Rule::ignored(&["--vmlinux"], Takes::Attached, "names of the kernel come from its own list"),
        Rule::ignored(&["--debuginfod"], Takes::Attached, "debug information is read from this host"),
        Rule::ignored(&["-A", "--append", "-f", "--force"], Takes::Nothing, "each capture is kept by itself"),
        Rule::refused(
            &["-I", "--intr-regs", "--user-regs"],
            Takes::Attached,
            "Registers of samples are not kept.",
            "Remove it; `--call-graph dwarf` uses them to find frames.",
        ),
        Rule::refused(&["-k", "--clockid"], Takes::Value, "Times are of the monotonic clock.", LATER),
        Rule::refused(
            &["-n", "--no-samples"],
            Takes::Nothing,
            "Counts are made by another command.",
            "Write `perf stat`.",
        )
        .refused_at_verb("Counts without samples: `bathyscope stat`."),
        Rule::refused(
            &["-s", "--stat"],
            Takes::Nothing,
            "Counts are made by another command.",
            "Write `perf stat --per-thread`.",
        )
        .refused_at_verb("Counts by thread: `bathyscope stat --per-thread`. Each sample says its thread."),
        Rule::refused(
            &["-S", "--snapshot", "--aux-sample"],
            Takes::Attached,
            "Traces of a CPU's auxiliary buffer (Intel PT, CoreSight) are not read.",
            LATER,
        ),
        Rule::refused(
            &["--all-kernel"],
            Takes::Nothing,
            "Where events are counted is said with each.",
            "Write `-e cycles:k`.",
        ),
        Rule::refused(
            &["--all-user"],
            Takes::Nothing,
            "Where events are counted is said with each.",
            "Write `-e cycles:u`.",
        ),
        Rule::refused(
            &["--control"],
            Takes::Value,
            "Sampling begins with the capture.",
            "Remove it; the capture is stopped from its page.",
        )
        .refused_at_verb("Sampling begins with the capture, and Ctrl-C or --duration ends it."),
        Rule::refused(&["--dry-run"], Takes::Nothing, "Nothing is checked without a capture.", LATER).refused_at_verb(
            "Without a capture nothing is checked; `bathyscope doctor` says what can be sampled here.",
        ),
        Rule::refused(
            &["--exclude-perf"],
            Takes::Nothing,
            "It would leave out other events too.",
            "Filter the rows: comm != \"perf\".",
        )
        .refused_at_verb("Threads are left out when a view is filtered: comm != \"bathyscope-agent\"."),
        Rule::refused(
            &["--off-cpu"],
            Takes::Attached,
            "It is not part of a profile here.",
            "The tool offcputime shows where threads wait.",
        )
        .refused_at_verb(OFF_CPU),
        Rule::refused(
            &["--overwrite"],
            Takes::Nothing,
            "A buffer that is full loses new samples, which are counted.",
            LATER,
        ),
        Rule::refused(
            &["--data-page-size", "--code-page-size"],
            Takes::Nothing,
            "Sizes of pages are not recorded.",
            LATER,
        ),
        Rule::refused(
            &["--transaction"],
            Takes::Nothing,
            "Flags of transactions are not recorded.",
            "`-j in_tx` records the branches in them.",
        ),
        Rule::refused(
            &["--namespaces"],
            Takes::Nothing,
            "The group of a sample is not recorded.",
            "`-G GROUP` samples one.",
        ),
        Rule::refused(
            &["--all-cgroups"],
            Takes::Nothing,
            "The group of a sample is not recorded.",
            "`-G GROUP` samples one.",
        ),
        Rule::refused(&["--clang-path", "--clang-opt"], Takes::Value, "Programs are compiled without clang.", LATER),
        Rule::refused(
            &["--switch-output", "--switch-output-event", "--switch-max-files"],
            Takes::Attached,
            ONE_CAPTURE,
            LATER,
        ),
        Rule::refused(&["--timestamp-filename", "--timestamp-boundary"], Takes::Nothing, ONE_CAPTURE, LATER),
        Rule::refused(
            &["--running-time"],
            Takes::Nothing,
            "Counters that take turns are told by counts.",
            "Write `perf stat`.",
        )
        .refused_at_verb("Counters that take turns: `bathyscope stat` tells how long each ran."),
        Rule::refused(
            &["--group"],
            Takes::Nothing,
            "Groups are written in braces.",
            "Write -e '{cycles,instructions}'.",
        ),
        Rule::refused(&["-h", "--help"], Takes::Nothing, "It is about perf itself.", LATER),
    ],
};

/// What `perf top` has besides, all of which is about how it shows its table.
const TOP: Table = Table {
    tool: "perf top",
    order: Order::Anywhere,
    rules: &[
        Rule::taken(&["-e", "--event"], Takes::Value),
        Rule::taken(&["--filter"], Takes::Value),
        Rule::taken(&["-F", "--freq"], Takes::Value),
        Rule::taken(&["-c", "--count"], Takes::Value),
        Rule::taken(&["-g"], Takes::Nothing),
        Rule::taken(&["--call-graph"], Takes::Value),
        Rule::taken(&["-a", "--all-cpus"], Takes::Nothing),
        Rule::taken(&["-C", "--cpu"], Takes::Value),
        Rule::taken(&["-p", "--pid"], Takes::Value),
        Rule::taken(&["-t", "--tid"], Takes::Value),
        Rule::taken(&["-u", "--uid"], Takes::Value),
        Rule::taken(&["-G", "--cgroup"], Takes::Value),
        Rule::taken(&["-i", "--no-inherit"], Takes::Nothing),
        Rule::taken(&["-b", "--branch-any"], Takes::Nothing),
        Rule::taken(&["-j", "--branch-filter"], Takes::Value),
        Rule::ignored(&["-s", "--sort"], Takes::Value, "the table is sorted where it is shown"),
        Rule::ignored(&["--fields"], Takes::Value, "columns are chosen where the table is shown"),
        Rule::ignored(&["-n", "--show-nr-samples"], Takes::Nothing, "the table has the number of samples"),
        Rule::ignored(&["-d", "--delay"], Takes::Value, "the table grows while samples come"),
        Rule::ignored(&["-z", "--zero"], Takes::Nothing, "any range of time can be looked at by itself"),
        Rule::ignored(&["-E", "--entries", "-f", "--count-filter"], Takes::Value, "the table has all functions"),
        Rule::ignored(
            &["-K", "--hide_kernel_symbols", "-U", "--hide_user_symbols"],
            Takes::Nothing,
            "rows are filtered where they are shown",
        ),
        Rule::ignored(
            &["--stdio", "--tui", "--children", "--no-children", "-v", "--verbose"],
            Takes::Nothing,
            "it is about how perf prints",
        ),
        Rule::ignored(&["-m", "--mmap-pages"], Takes::Value, BUFFERS),
        Rule::ignored(&["-k", "--vmlinux"], Takes::Value, "names of the kernel come from its own list"),
        Rule::ignored(
            &["--percent-limit", "--comms", "--dsos", "--symbols"],
            Takes::Value,
            "rows are filtered where they are shown",
        ),
    ],
};

/// Reads `perf record`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read(call: &mut Call<'_>) -> Result<Step> {
    let arguments = TABLE.read(call.words, call.marks)?;
    call.ignore_redirects("rows are kept in the capture");
    capture(&arguments, call, false, ViewName::Flame)
}

/// Reads `perf top`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read_top(call: &mut Call<'_>) -> Result<Step> {
    let arguments = TOP.read(call.words, call.marks)?;
    if let Some(word) = arguments.operands.first() {
        return Err(Refusal::new(
            word.source.clone(),
            "`perf top` starts no command",
            "Write `perf record` before it.",
        ));
    }
    call.ignore_redirects("rows are kept in the capture");
    let at = call.source();
    call.marks.note(&at, "at a terminal, `bathyscope top` shows the same with keys");
    capture(&arguments, call, true, ViewName::Functions)
}

/// Reads `perf mem record`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read_memory(call: &mut Call<'_>) -> Result<Step> {
    const KINDS: [(&str, &str); 2] = [("load", "cpu/mem-loads,ldlat=30/P"), ("store", "cpu/mem-stores/P")];
    const MEMORY: Table = Table {
        tool: "perf mem",
        order: Order::OptionsFirst,
        rules: &[
            Rule::taken(&["-t", "--type"], Takes::Value),
            Rule::ignored(&["-D", "--dump-raw-samples", "-p", "--phys-data"], Takes::Nothing, "samples are kept whole"),
        ],
    };
    let before = MEMORY.read(call.words, call.marks)?;
    let Some((command, words)) = before.operands.split_first() else {
        return Err(Refusal::new(
            call.source(),
            "`perf mem` needs record or report",
            "Write `perf mem record COMMAND`.",
        ));
    };
    call.marks.mark(&command.source, SpanKind::Tool);
    if command.text == "report" {
        return super::views::memory(words, call.marks);
    }
    if command.text != "record" {
        let why = format!("`perf mem {}` is not supported", command.text);
        return Err(Refusal::new(command.source.clone(), why, "Write `perf mem record COMMAND`."));
    }
    // Behind `record` it means the same, and not a thread as it does for `perf record`.
    let kinds = words.iter().position(|word| matches!(word.text.as_str(), "-t" | "--type"));
    let behind = kinds.filter(|at| words.iter().take(*at).all(|word| word.text.starts_with('-')));
    let given = before.last("-t").map(Given::word).or_else(|| words.get(behind? + 1).cloned());
    let event = match &given {
        None => KINDS.first(),
        Some(word) => {
            call.marks.mark(&word.source, SpanKind::Value);
            let text = word.plain()?;
            let found = KINDS.iter().find(|(name, _)| *name == text);
            let refused = || Refusal::new(word.source.clone(), "that is no kind of access", "Write load or store.");
            Some(found.ok_or_else(refused)?)
        }
    };
    let others = words.iter().enumerate().filter(|(at, _)| behind.is_none_or(|kind| *at != kind && *at != kind + 1));
    let words: Vec<Word> = others.map(|(_, word)| word.clone()).collect();
    let arguments = TABLE.read(&words, call.marks)?;
    let whose = whose(&arguments, call, false)?;
    let event = event.map(|(_, event)| (*event).to_owned());
    if given.is_none() {
        call.marks.note(&command.source, "loads are sampled; `perf mem -t store record` samples stores");
    }
    let profile = ProfileSpec { event, memory: true, cpus: cpus(&arguments)?, ..ProfileSpec::default() };
    call.capture(Method::Profile(profile), whose, ViewName::Functions)
}

fn capture(arguments: &Arguments, call: &mut Call<'_>, is_system: bool, opens: ViewName) -> Result<Step> {
    let lists = lists(arguments, call)?;
    let all = || lists.iter().flat_map(|list| list.groups.iter().flatten());
    let is_sampled = ["-g", "--call-graph", "-F", "-c", "-b", "-j", "-d", "-W"].iter().any(|key| arguments.has(key));
    let only_points =
        !lists.is_empty() && all().all(|one| matches!(one, Asked::Probe(_)) || one.tracepoint().is_some());
    let has_probes = all().any(|one| matches!(one, Asked::Probe(_)));
    let whose = whose(arguments, call, is_system)?;
    if has_probes && !only_points {
        let at = lists.first().map_or_else(|| call.source(), |list| list.given.at.clone());
        return Err(Refusal::new(
            at,
            "probes are recorded with tracepoints, not with events that are sampled",
            "Start a capture for each of the two.",
        ));
    }
    if only_points && (has_probes || !is_sampled) && opens != ViewName::Functions {
        let trace = trace(arguments, call, &lists)?;
        return call.capture(Method::Trace(trace), whose, ViewName::Events);
    }
    let profile = profile(arguments, call, &lists)?;
    call.capture(Method::Profile(profile), whose, opens)
}

/// Tracepoints and probes with their fields, as `perf script` shows them.
fn trace(arguments: &Arguments, call: &mut Call<'_>, lists: &[EventList]) -> Result<TraceSpec> {
    let mut trace = TraceSpec::default();
    for list in lists {
        for one in list.groups.iter().flatten() {
            match one {
                Asked::Probe(probe) => {
                    if list.filter.is_some() {
                        return list
                            .given
                            .refuse("a filter of a probe is not supported", "Filter the rows where they are shown.");
                    }
                    if !trace.dynamic.contains(probe) {
                        trace.dynamic.push(probe.clone());
                    }
                }
                Asked::Event(_) => {
                    let Some(event) = one.tracepoint() else { continue };
                    let event = TraceEvent { event: event.clone(), filter: list.filter.clone() };
                    trace.events.retain(|known| known.event != event.event);
                    trace.events.push(event);
                }
            }
        }
    }
    for key in ["-g", "--call-graph"] {
        if let Some(given) = arguments.last(key) {
            trace.options = vec![("stacktrace".to_owned(), true), ("userstacktrace".to_owned(), true)];
            call.marks.note(&given.at, "with stacks of the kernel and, by frame pointers, of programs");
        }
    }
    for key in ["-F", "-c", "-b", "-j", "-d", "-W", "-D", "-C"] {
        if let Some(given) = arguments.last(key) {
            return given.refuse(
                format!("{key} is for events that are sampled, and these are recorded each time"),
                "Remove it.",
            );
        }
    }
    Ok(trace)
}

fn profile(arguments: &Arguments, call: &mut Call<'_>, lists: &[EventList]) -> Result<ProfileSpec> {
    let usual = ProfileSpec::default();
    let (call_graph, stack_bytes) = call_graph(arguments)?;
    let groups: Vec<&Vec<Asked>> = lists.iter().flat_map(|list| &list.groups).collect();
    let group = groups.iter().any(|group| group.len() > 1);
    if group && groups.len() > 1 {
        let at = lists.first().map_or_else(|| call.source(), |list| list.given.at.clone());
        let why = "a group of events in braces stands beside other events";
        return Err(Refusal::new(at, why, "Write all of them in one pair of braces, or none."));
    }
    let (count, frequency) = (period(arguments)?, frequency(arguments, call)?);
    if count.is_none() && frequency.is_none() && !groups.iter().copied().flatten().all(|one| one.tracepoint().is_some())
        || groups.is_empty() && count.is_none() && frequency.is_none()
    {
        let text = format!("without -F, perf samples 4000 times a second; here it is {}", usual.frequency_hz);
        call.marks.note(&call.source(), text);
    }
    let text = |one: &Asked| match one {
        Asked::Event(event) => event.to_string(),
        Asked::Probe(probe) => probe.typed.clone(),
    };
    // A tracepoint is sampled at every hit unless somebody says otherwise.
    let period = |one: &Asked| count.or_else(|| (one.tracepoint().is_some() && frequency.is_none()).then_some(1));
    let mut all = groups.iter().copied().flatten();
    let first = all.next();
    let more = all.map(|one| SampledEvent { event: text(one), period: period(one) }).collect();
    Ok(ProfileSpec {
        frequency_hz: frequency.unwrap_or(usual.frequency_hz),
        kernel_stacks: !arguments.has("--user-callchains"),
        user_stacks: !arguments.has("--kernel-callchains"),
        // A period is of an event; that of no event is of the CPU's cycles, as with perf.
        event: first.map(text).or_else(|| count.map(|_| "cycles".to_owned())),
        period: first.map_or(count, period),
        call_graph,
        stack_bytes,
        memory: arguments.has("-d") || arguments.has("-W"),
        branches: branches(arguments)?,
        cpus: cpus(arguments)?,
        filter: filter(lists)?,
        delay_ms: delay_ms(arguments)?,
        more,
        group,
    })
}

fn filter(lists: &[EventList]) -> Result<Option<String>> {
    let Some(list) = lists.iter().find(|list| list.filter.is_some()) else { return Ok(None) };
    if lists.iter().flat_map(|list| list.groups.iter().flatten()).count() > 1 {
        return list.given.refuse("a filter of one among several sampled events is not supported", "Sample one event.");
    }
    Ok(list.filter.clone())
}

fn period(arguments: &Arguments) -> Result<Option<u64>> {
    let Some(given) = arguments.last("-c") else { return Ok(None) };
    match given.text()?.parse::<u64>() {
        Ok(period) if period > 0 => Ok(Some(period)),
        _ => given.refuse("that is no number of events", "Write a number from 1."),
    }
}

fn frequency(arguments: &Arguments, call: &mut Call<'_>) -> Result<Option<u32>> {
    let Some(given) = arguments.last("-F") else { return Ok(None) };
    match given.text()?.as_str() {
        "max" => {
            let text = format!("max is {MAX_FREQUENCY_HZ} times a second here; the kernel's own limit may be lower");
            call.marks.note(&given.at, text);
            Ok(Some(MAX_FREQUENCY_HZ))
        }
        text => match text.parse::<u32>() {
            Ok(hz) if (1..=MAX_FREQUENCY_HZ).contains(&hz) => Ok(Some(hz)),
            Ok(_) => given.refuse(
                format!("a CPU is sampled from 1 to {MAX_FREQUENCY_HZ} times a second"),
                "Write a number in this range; 99 is enough for most questions.",
            ),
            Err(_) => given.refuse("that is no number of samples a second", "Write a number, or max."),
        },
    }
}

/// `fp`, `dwarf`, `dwarf,BYTES` or `lbr`.
fn call_graph(arguments: &Arguments) -> Result<(CallGraph, Option<u32>)> {
    let Some(given) = arguments.last("--call-graph") else { return Ok((CallGraph::FramePointer, None)) };
    let text = given.text()?;
    let (how, size) = text.split_once(',').map_or((text.as_str(), None), |(how, size)| (how, Some(size)));
    match (how, size.map(str::parse::<u32>)) {
        ("fp", None) => Ok((CallGraph::FramePointer, None)),
        ("lbr", None) => Ok((CallGraph::Lbr, None)),
        ("dwarf", None) => Ok((CallGraph::Dwarf, None)),
        ("dwarf", Some(Ok(bytes))) => Ok((CallGraph::Dwarf, Some(bytes))),
        _ => given.refuse("that is no way to find frames", "Write fp, dwarf, dwarf,BYTES or lbr."),
    }
}

fn branches(arguments: &Arguments) -> Result<Vec<BranchFilter>> {
    if arguments.has("-b") {
        return Ok(vec![BranchFilter::Any]);
    }
    let mut found = Vec::new();
    for given in arguments.all("-j") {
        for word in given.text()?.split(',') {
            match word.trim().parse::<BranchFilter>() {
                Ok(filter) => found.push(filter),
                Err(error) => return given.refuse(error.to_string(), "Write some of these, with commas."),
            }
        }
    }
    Ok(found)
}
