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

const TABLE: Table = Table {
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
        Rule::taken(&["--interval-count"], Takes::Value),
        Rule::taken(&["--timeout"], Takes::Value),
        Rule::taken(&["-d", "--detailed"], Takes::Nothing),
        Rule::taken(&["-A", "--no-aggr", "--per-cpu"], Takes::Nothing),
        Rule::taken(&["--per-core"], Takes::Nothing),
        Rule::taken(&["--per-thread"], Takes::Nothing),
        Rule::taken(&["-i", "--no-inherit"], Takes::Nothing),
        Rule::taken(&["-r", "--repeat"], Takes::Value),
        Rule::ignored(&["-x", "--field-separator"], Takes::Value, LOOK),
        Rule::ignored(&["-j", "--json", "--json-output"], Takes::Nothing, LOOK),
        Rule::ignored(&["-B", "--big-num", "--no-big-num"], Takes::Nothing, LOOK),
        Rule::ignored(&["-v", "--verbose", "-q", "--quiet"], Takes::Nothing, LOOK),
        Rule::ignored(
            &["--table", "--no-merge", "--metric-no-group", "--metric-no-merge", "--summary", "--no-csv-summary"],
            Takes::Nothing,
            LOOK,
        ),
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
        ),
        Rule::ignored(&["--interval-clear", "--percore-show-thread"], Takes::Nothing, LOOK),
        Rule::ignored(&["-o", "--output"], Takes::Value, "counts are kept in the capture, which can be exported"),
        Rule::ignored(&["--append"], Takes::Nothing, "each capture is kept by itself"),
        Rule::ignored(&["--log-fd"], Takes::Value, "counts are kept in the capture"),
        Rule::ignored(
            &["-c", "--scale", "--no-scale"],
            Takes::Nothing,
            "counts of events that take turns are scaled, and told",
        ),
        Rule::ignored(&["--null", "-n"], Takes::Nothing, "how long the command ran is in every capture"),
        Rule::ignored(&["-S", "--sync"], Takes::Nothing, "nothing is written to disks before"),
        Rule::refused(&["-M", "--metrics"], Takes::Value, METRICS, NO_METRICS),
        Rule::refused(
            &["--topdown", "--metric-only", "--transaction", "-T", "--smi-cost"],
            Takes::Nothing,
            METRICS,
            NO_METRICS,
        ),
        Rule::refused(&["--td-level"], Takes::Value, METRICS, NO_METRICS),
        Rule::refused(
            &["--per-socket", "--per-die", "--per-node", "--per-cache"],
            Takes::Nothing,
            "Counts are by CPU, core or thread.",
            "Write --per-core or -A.",
        ),
        Rule::refused(&["--for-each-cgroup"], Takes::Value, "A capture is of one control group.", "Write -G GROUP -a."),
        Rule::refused(
            &["--filter"],
            Takes::Value,
            "Counts have no filter.",
            "Count with a script: `bpftrace -e 'tracepoint:SYSTEM:EVENT /CONDITION/ { @ = count(); }'`.",
        ),
        Rule::refused(&["--pre", "--post"], Takes::Value, "Only the command itself is started.", "Remove it."),
        Rule::refused(&["--control"], Takes::Value, "Counting begins with the capture.", "Remove it."),
        Rule::refused(
            &["-b", "--bpf-prog", "--bpf-map", "--bpf-attr-map", "--cputype"],
            Takes::Value,
            "It is not supported.",
            "Remove it.",
        ),
        Rule::refused(&["--bpf-counters", "--hybrid-merge"], Takes::Nothing, "It is not supported.", "Remove it."),
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
