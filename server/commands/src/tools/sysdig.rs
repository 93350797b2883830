//! sysdig(8): its filters choose system calls.

use bathyscope_capture::{CaptureSpec, Limits, Method, SourceSpec, SyscallSpec, Target};
use bathyscope_catalog::{constants::Arch, syscalls::select};
use bathyscope_formats::{SysdigFilter, parse_sysdig_filter};

use crate::{
    answer::{Planned, Refusal, Result, SpanKind, StoredView, ViewName},
    call::{Call, Step},
    options::{Arguments, Order, Rule, Table, Takes},
    shell::Word,
};

const PRINTS: &str = "columns are chosen where rows are shown";

const TABLE: Table = Table {
    tool: "sysdig",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-r", "--read"], Takes::Value),
        Rule::taken(&["-M"], Takes::Value),
        Rule::taken(&["-n", "--numevents"], Takes::Value),
        Rule::taken(&["-s", "--snaplen"], Takes::Value),
        Rule::taken(&["-c", "--chisel"], Takes::Value),
        Rule::taken(&["-l", "--list", "-L", "--list-events"], Takes::Nothing),
        Rule::ignored(&["-w", "--write"], Takes::Value, "rows are kept in the capture, which can be exported"),
        Rule::ignored(&["-p", "--print"], Takes::Value, PRINTS),
        Rule::ignored(&["-pc", "-pk", "-pm"], Takes::Nothing, PRINTS),
        Rule::ignored(
            &[
                "-A",
                "--print-ascii",
                "-X",
                "-x",
                "-j",
                "--json",
                "-q",
                "--quiet",
                "-v",
                "--verbose",
                "-P",
                "--progress",
                "-E",
                "--exclude-users",
                "-S",
                "--summary",
                "-N",
            ],
            Takes::Nothing,
            PRINTS,
        ),
        Rule::ignored(&["-t", "--timetype"], Takes::Value, "each row has its time"),
        Rule::ignored(&["-z", "--compress"], Takes::Nothing, "captures are always compressed"),
        Rule::ignored(
            &["-C", "--file-size", "-G", "--seconds", "-W", "--limit", "-e"],
            Takes::Value,
            "each capture has limits of its own, in the form",
        ),
        Rule::ignored(
            &[
                "-b",
                "--print-base64",
                "-D",
                "--debug",
                "-d",
                "--displayflt",
                "-B",
                "--bpf",
                "--modern-bpf",
                "--unbuffered",
            ],
            Takes::Nothing,
            "it is about sysdig itself",
        ),
        Rule::ignored(
            &["-k", "--k8s-api", "-m", "--mesos-api", "-K", "--k8s-api-cert"],
            Takes::Value,
            "names of containers are those of the host",
        ),
    ],
};

/// Chisels, and what shows the same.
const CHISELS: [(&str, &str); 16] = [
    ("topprocs_cpu", "The start page shows which processes use the CPUs."),
    ("topprocs_net", "The start page shows which processes use the network; the tool tcptop sums by connection."),
    ("topprocs_file", "The tool filetop sums reads and writes by file."),
    ("topprocs_errors", "The tool syserrors counts failed system calls."),
    ("topfiles_bytes", "The tool filetop sums reads and writes by file."),
    ("topfiles_time", "The tool fileslower shows slow reads and writes."),
    ("topconns", "The tool tcptop sums by connection."),
    ("topscalls", "The tool syscount counts system calls."),
    ("topscalls_time", "The tool syslatency measures system calls."),
    ("bottlenecks", "Sort the rows of system calls by duration."),
    ("fileslower", "The tool fileslower shows slow reads and writes."),
    ("netstat", "The page of a process shows its sockets."),
    ("lsof", "The page of a process shows its open files."),
    ("ps", "The start page shows processes."),
    ("echo_fds", "Write `strace -e read=all -e write=all`, or sysdig with a filter."),
    ("spy_users", "The tool execsnoop shows what is started and by whom."),
];

/// Reads a command.
///
/// # Errors
/// What is not understood or not possible.
pub(crate) fn read(call: &mut Call<'_>) -> Result<Step> {
    let arguments = TABLE.read(call.words, call.marks)?;
    call.ignore_redirects("rows are kept in the capture");
    if let Some(given) = arguments.last("-c") {
        let name = given.text()?;
        let nearest = CHISELS.iter().find(|(known, _)| *known == name).map(|(_, nearest)| *nearest);
        return given
            .refuse("chisels are not run", nearest.unwrap_or("Ask by SQL, or with a script of the probe language."));
    }
    if let Some(given) = arguments.last("-l") {
        return given.refuse("fields of filters are not listed", "Write a filter; what is wrong with it is told.");
    }
    let filter = filter(&arguments, call)?;
    if let Some(given) = arguments.last("-r") {
        let filters = arguments.operands.iter().map(|word| word.text.clone()).collect::<Vec<_>>().join(" ");
        let filters = if filters.is_empty() { Vec::new() } else { vec![filters] };
        return Ok(Step::View(StoredView {
            file: Some(given.text()?),
            filters,
            ..StoredView::newest(ViewName::Events)
        }));
    }
    let SysdigFilter { target, calls } = filter;
    let string_bytes = match arguments.last("-s") {
        None => calls.string_bytes,
        Some(given) => match given.text()?.parse::<u16>() {
            Ok(bytes) => bytes.min(16 << 10),
            Err(_) => return given.refuse("that is no number of bytes", "Write a number."),
        },
    };
    if let Err(error) = select(Arch::HOST, &calls.calls.join(",")) {
        let at = arguments.operands.first().map_or_else(|| call.source(), |word| word.source.clone());
        return Err(Refusal::new(at, error.to_string(), "Write names of system calls behind evt.type."));
    }
    let limits = limits(&arguments)?;
    let calls = SyscallSpec { string_bytes, ..calls };
    let target = target.unwrap_or(Target::System);
    let sources = vec![SourceSpec::of(Method::Syscalls(calls))];
    let spec = CaptureSpec { name: String::new(), sources, target, limits };
    spec.validate().map_err(|error| Refusal::new(call.source(), error.to_string(), "Change that part."))?;
    Ok(Step::Capture(Box::new(Planned { spec, opens: ViewName::Events, missing: None })))
}

fn limits(arguments: &Arguments) -> Result<Limits> {
    let number = |key| match arguments.last(key) {
        None => Ok(None),
        Some(given) => match given.text()?.parse::<u64>() {
            Ok(number) if number > 0 && number < 10_000_000 => Ok(Some(number)),
            _ => given.refuse("that is no number in its range", "Write a number from 1."),
        },
    };
    Ok(Limits {
        duration_ms: number("-M")?.map(|seconds| seconds * 1000),
        max_events: number("-n")?,
        ..Limits::default()
    })
}

fn filter(arguments: &Arguments, call: &mut Call<'_>) -> Result<SysdigFilter> {
    let words = &arguments.operands;
    let line = words
        .split_first()
        .map_or_else(Word::default, |(first, rest)| rest.iter().fold(first.clone(), |all, one| all.with(one)));
    call.marks.mark(&line.source, SpanKind::Event);
    parse_sysdig_filter(line.pattern()?).map_err(|error| {
        let place = line.place(error.offset.min(line.text.len())..line.text.len());
        let at = if place.start < place.end { place } else { line.source.clone() };
        let remedy = if error.remedy.is_empty() { "Change that condition.".to_owned() } else { error.remedy };
        Refusal::new(at, error.why, remedy)
    })
}
