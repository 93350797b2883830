//! `perf stat`.

use bathyscope_capture::{CountPer, CountSpec, MAX_DETAIL, Method, Target};

use super::{
    events::{Asked, lists},
    target::{cpus, delay_ms, whose},
};
use crate::{
    answer::{Result, ViewName},
    call::{Call, Step},
    options::{Arguments, Given, Order, Rule, Table, Takes},
};

/// How often counts are read where no interval is asked for.
const USUAL_INTERVAL_MS: u32 = 1000;
const LOOK: &str = "it is about how perf prints its lines";
const METRICS: &str = "Metrics of the CPU's maker are not computed.";
const NO_METRICS: &str = "Remove it; ratios of the default events are shown.";
const AT_VERB_RUNS: &str = "-r prints mean and deviation; --save keeps the capture of each run.";
const AT_VERB_METRICS: &str = "Ratios are printed beside the counts they are made of; other metrics are not computed.";
const AT_VERB_ORDER: &str = "Lines are made by event, by CPU (-A), by core (--per-core) or by thread (--per-thread).";
const AT_VERB_FILTER: &str = "Count hits that satisfy a condition with `bathyscope trace -e 'tracepoint:SYSTEM:EVENT /CONDITION/ \
    { @ = count(); }'`, or sample them with `bathyscope profile --filter`.";
const AT_VERB_COMMANDS: &str = "Start such commands from the shell, before and after `bathyscope stat`.";

pub(crate) const TABLE: Table = Table {
    tool: "perf stat",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-e", "--event"], Takes::Value),
        Rule::taken(&["-a", "--all-cpus"], Takes::Nothing),
        Rule::taken(&["-C", "--cpu"], Takes::Value),
        Rule::taken(&["-p", "--pid"], Takes::Value),
        Rule::taken(&["-t", "--tid"], Takes::Value),
        Rule::taken(&["-G", "--cgroup"], Takes::Value),
        Rule::taken(&["-D", "--delay"], Takes::Value),
        Rule::taken(&["-I", "--interval-print"], Takes::Value),
        Rule::taken(&["--interval-count"], Takes::Value).refused_at_verb("--duration TIME ends the intervals."),
        Rule::taken(&["--timeout"], Takes::Value),
        Rule::taken(&["-d", "--detailed"], Takes::Nothing),
        Rule::taken(&["-A", "--no-aggr", "--per-cpu"], Takes::Nothing),
        Rule::taken(&["--per-core"], Takes::Nothing),
        Rule::taken(&["--per-thread"], Takes::Nothing),
        Rule::taken(&["-i", "--no-inherit"], Takes::Nothing),
        Rule::taken(&["-r", "--repeat"], Takes::Value),
        Rule::ignored(&["-x", "--field-separator"], Takes::Value, LOOK),
        Rule::ignored(&["-j", "--json", "--json-output"], Takes::Nothing, LOOK),
        Rule::ignored(&["--no-big-num"], Takes::Nothing, LOOK),
        Rule::ignored(&["-B", "--big-num"], Takes::Nothing, "large numbers have thousands' separators in any case"),
        Rule::ignored(&["-v", "--verbose"], Takes::Nothing, LOOK).refused_at_verb("Write --log debug."),
        Rule::ignored(&["-q", "--quiet"], Takes::Nothing, LOOK).refused_at_verb(
            "Counts are written to standard error, which can be redirected; -o FILE writes them to a file.",
        ),
        Rule::ignored(&["--table"], Takes::Nothing, LOOK).refused_at_verb(AT_VERB_RUNS),
        Rule::ignored(&["--no-merge"], Takes::Nothing, "each event has its own line in any case"),
        Rule::ignored(&["--metric-no-group", "--metric-no-merge"], Takes::Nothing, LOOK)
            .refused_at_verb(AT_VERB_METRICS),
        Rule::ignored(&["--summary"], Takes::Nothing, LOOK)
            .refused_at_verb("Without -I the sums are printed; --save keeps the intervals with them."),
        Rule::ignored(&["--no-csv-summary"], Takes::Nothing, LOOK)
            .refused_at_verb("With -I and -x only intervals are printed."),
        Rule::refused(
            &["-g", "--group"],
            Takes::Nothing,
            "Groups are written with the events.",
            "Write -e '{cycles,instructions}'.",
        ),
        Rule::refused(
            &["--iostat"],
            Takes::Attached,
            "Counters of PCI ports are not read.",
            "The tools biolatency and biosnoop show requests to disks.",
        )
        .refused_at_verb(AT_VERB_METRICS),
        Rule::ignored(&["--interval-clear"], Takes::Nothing, LOOK)
            .refused_at_verb("Intervals are printed one after the other."),
        Rule::ignored(&["--percore-show-thread"], Takes::Nothing, LOOK).refused_at_verb(AT_VERB_ORDER),
        Rule::ignored(&["-o", "--output"], Takes::Value, "counts are kept in the capture, which can be exported"),
        Rule::ignored(&["--append"], Takes::Nothing, "each capture is kept by itself").refused_at_verb(
            "-o FILE writes a new file; -o - writes to standard output, which `>>` appends to a file.",
        ),
        Rule::ignored(&["--log-fd"], Takes::Value, "counts are kept in the capture").refused_at_verb(
            "Counts are written to standard error; -o FILE writes them to a file, -o - to standard output.",
        ),
        Rule::ignored(&["-c", "--no-scale"], Takes::Nothing, "counts of events that take turns are scaled, and told"),
        Rule::ignored(
            &["--scale"],
            Takes::Nothing,
            "counts of counters that took turns are scaled, and their share of the time is printed",
        ),
        Rule::ignored(&["--null", "-n"], Takes::Nothing, "how long the command ran is in every capture")
            .refused_at_verb("Without counters, `time COMMAND` tells how long a command takes."),
        Rule::ignored(&["-S", "--sync"], Takes::Nothing, "nothing is written to disks before")
            .refused_at_verb("Write `sync` before `bathyscope stat`."),
        Rule::refused(&["-M", "--metrics"], Takes::Value, METRICS, NO_METRICS).refused_at_verb(AT_VERB_METRICS),
        Rule::refused(
            &["--topdown", "--metric-only", "--transaction", "-T", "--smi-cost"],
            Takes::Nothing,
            METRICS,
            NO_METRICS,
        )
        .refused_at_verb(AT_VERB_METRICS),
        Rule::refused(&["--td-level"], Takes::Value, METRICS, NO_METRICS).refused_at_verb(AT_VERB_METRICS),
        Rule::refused(
            &["--per-socket", "--per-die", "--per-node", "--per-cache"],
            Takes::Nothing,
            "Counts are by CPU, core or thread.",
            "Write --per-core or -A.",
        )
        .refused_at_verb(AT_VERB_ORDER),
        Rule::refused(&["--for-each-cgroup"], Takes::Value, "A capture is of one control group.", "Write -G GROUP -a.")
            .refused_at_verb("-G counts in one control group; make a run for each."),
        Rule::refused(
            &["--filter"],
            Takes::Value,
            "Counts have no filter.",
            "Count with a script: `bpftrace -e 'tracepoint:SYSTEM:EVENT /CONDITION/ { @ = count(); }'`.",
        )
        .refused_at_verb(AT_VERB_FILTER),
        Rule::refused(&["--pre", "--post"], Takes::Value, "Only the command itself is started.", "Remove it.")
            .refused_at_verb(AT_VERB_COMMANDS),
        Rule::refused(&["--control"], Takes::Value, "Counting begins with the capture.", "Remove it.")
            .refused_at_verb("Counting begins with the capture, and Ctrl-C or --duration ends it."),
        Rule::refused(
            &["-b", "--bpf-prog", "--bpf-map", "--bpf-attr-map"],
            Takes::Value,
            "It is not supported.",
            "Remove it.",
        ),
        Rule::refused(&["--cputype"], Takes::Value, "It is not supported.", "Remove it.")
            .refused_at_verb("Write the unit before the event: -e cpu_core/cycles/."),
        Rule::refused(&["--bpf-counters"], Takes::Nothing, "It is not supported.", "Remove it."),
        Rule::ignored(&["--hybrid-merge"], Takes::Nothing, "each event has its own line in any case"),
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
        Rule::refused(&["-h", "--help"], Takes::Nothing, "It is about perf itself.", "Remove it."),
    ],
};

/// Reads `perf stat`.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read(call: &mut Call<'_>) -> Result<Step> {
    if let Some(first) = call.words.first().filter(|word| matches!(word.text.as_str(), "record" | "report")) {
        let why = format!("`perf stat {}` is not supported: every capture is kept and can be shown again", first.text);
        return Err(crate::answer::Refusal::new(first.source.clone(), why, "Write `perf stat COMMAND`."));
    }
    let arguments = TABLE.read(call.words, call.marks)?;
    call.ignore_redirects("counts are kept in the capture");
    let (groups, dynamic) = events(&arguments, call)?;
    let mut whose = if arguments.has("-G") { group(&arguments, call)? } else { whose(&arguments, call, true)? };
    let interval_ms = interval(&arguments)?;
    whose.duration_ms = end_ms(&arguments, interval_ms)?.or(whose.duration_ms);
    let per = match () {
        () if arguments.has("-A") || arguments.has("--per-core") => CountPer::Cpu,
        () if arguments.has("--per-thread") => CountPer::Thread,
        () => CountPer::Total,
    };
    if let Some(given) = arguments.last("--per-core") {
        call.marks.note(&given.at, "counts are by CPU; those of a core are summed where they are shown");
    }
    let count = CountSpec {
        groups,
        interval_ms: interval_ms.unwrap_or(USUAL_INTERVAL_MS),
        per,
        cpus: cpus(&arguments)?,
        everywhere: false,
        cgroup: cgroup(&arguments)?,
        detail: u8::try_from(arguments.count("-d")).unwrap_or(MAX_DETAIL).min(MAX_DETAIL),
        dynamic,
        delay_ms: delay_ms(&arguments)?,
    };
    call.capture(Method::Count(count), whose, ViewName::Counts)
}

type Events = (Vec<Vec<String>>, Vec<bathyscope_capture::DynamicProbe>);

fn events(arguments: &Arguments, call: &mut Call<'_>) -> Result<Events> {
    let (mut groups, mut dynamic) = (Vec::new(), Vec::new());
    for group in lists(arguments, call)?.into_iter().flat_map(|list| list.groups) {
        let mut names = Vec::new();
        for one in group {
            match one {
                Asked::Event(event) => names.push(event.to_string()),
                Asked::Probe(probe) if dynamic.contains(&probe) => {}
                Asked::Probe(probe) => dynamic.push(probe),
            }
        }
        if !names.is_empty() {
            groups.push(names);
        }
    }
    Ok((groups, dynamic))
}

/// With a group everything on all CPUs is counted that is of it.
fn group(arguments: &Arguments, call: &mut Call<'_>) -> Result<crate::call::Whose> {
    for key in ["-p", "-t"] {
        if let Some(given) = arguments.last(key) {
            return given.refuse("counts are of a control group or of processes", "Remove -G, or this option.");
        }
    }
    call.while_runs(Target::System, &arguments.operands)
}

fn cgroup(arguments: &Arguments) -> Result<Option<String>> {
    let Some(given) = arguments.last("-G") else { return Ok(None) };
    let text = given.text()?;
    if text.contains(',') {
        return given.refuse("a capture is of one control group", "Write one.");
    }
    Ok(Some(format!("/{}", text.strip_prefix("/sys/fs/cgroup").unwrap_or(&text).trim_matches('/'))))
}

fn number(given: &Given) -> Result<u32> {
    match given.text()?.parse::<u32>() {
        Ok(number) if number > 0 => Ok(number),
        _ => given.refuse("that is no number from 1", "Write a number."),
    }
}

fn interval(arguments: &Arguments) -> Result<Option<u32>> {
    arguments.last("-I").map(number).transpose()
}

/// When counting ends by itself.
fn end_ms(arguments: &Arguments, interval_ms: Option<u32>) -> Result<Option<u64>> {
    if let Some(given) = arguments.last("-r")
        && number(given)? > 1
    {
        return given.refuse(
            "a capture is of one run",
            "Remove it and run the capture again, or use `bathyscope stat -r` at a terminal.",
        );
    }
    if let Some(given) = arguments.last("--timeout") {
        return Ok(Some(u64::from(number(given)?)));
    }
    match (arguments.last("--interval-count"), interval_ms) {
        (Some(given), Some(ms)) => Ok(Some(u64::from(number(given)?) * u64::from(ms))),
        (Some(given), None) => given.refuse("a number of intervals needs -I", "Write -I MILLISECONDS."),
        (None, _) => Ok(None),
    }
}
