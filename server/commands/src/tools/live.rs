//! Commands that show what goes on now, and that the live overview answers; tcpdump, ltrace.

use bathyscope_capture::{DynamicProbe, Method, Target, TraceSpec};

use crate::{
    answer::{Page, Refusal, Result, SpanKind, ViewName},
    call::{Call, Step, Whose},
    options::{Order, Rule, Table, Takes},
};

/// Commands, and what of the start page answers them.
const OVERVIEW: [(&str, &str); 26] = [
    ("top", "which processes use the CPUs and memory"),
    ("htop", "which processes use the CPUs and memory"),
    ("atop", "which processes use the CPUs, memory, disks and network"),
    ("btop", "which processes use the CPUs and memory"),
    ("vmstat", "how busy CPUs, memory and disks are"),
    ("mpstat", "how busy each CPU is"),
    ("iostat", "how busy disks are"),
    ("iotop", "which processes read and write how much"),
    ("pidstat", "what each process uses"),
    ("sar", "how busy the machine is"),
    ("dstat", "how busy the machine is"),
    ("free", "how memory is used"),
    ("uptime", "how busy the machine is"),
    ("ps", "the processes"),
    ("pgrep", "the processes"),
    ("pstree", "the processes"),
    ("slabtop", "how memory is used"),
    ("numastat", "how memory is used"),
    ("pmap", "how much memory each process uses"),
    ("smem", "how much memory each process uses"),
    ("nmon", "how busy the machine is"),
    ("ss", "which processes use the network; the page of a process shows its sockets"),
    ("netstat", "which processes use the network; the page of a process shows its sockets"),
    ("iftop", "which processes use the network"),
    ("nethogs", "which processes use the network"),
    ("nstat", "how busy the network is"),
];

/// The names of these commands.
pub(super) fn overview_names() -> impl Iterator<Item = &'static str> {
    OVERVIEW.iter().map(|(name, _)| *name)
}

/// Whether a command is one of these.
pub(super) fn is_overview(name: &str) -> bool {
    overview_names().any(|known| known == name)
}

fn ignore_words(call: &mut Call<'_>) {
    if let (Some(first), Some(last)) = (call.words.first(), call.words.last()) {
        call.marks.ignore(
            &(first.source.start..last.source.end),
            "options have no meaning here: the page shows all, and is sorted and filtered there",
        );
    }
    call.ignore_redirects("nothing is printed");
}

/// Reads one of these commands.
///
/// # Errors
/// None.
pub(super) fn read_overview(call: &mut Call<'_>) -> Result<Step> {
    let what = OVERVIEW.iter().find(|(name, _)| *name == call.tool).map_or("what goes on", |(_, what)| *what);
    ignore_words(call);
    Ok(Step::Page(Page::new("/", &[]), format!("Shows the live overview: {what}.")))
}

/// Reads `lsof`.
///
/// # Errors
/// What is no process.
pub(super) fn read_lsof(call: &mut Call<'_>) -> Result<Step> {
    let words = "Shows the live overview; the page of a process there shows its open files and sockets.";
    ignore_words(call);
    Ok(Step::Page(Page::new("/", &[]), words.to_owned()))
}

/// Reads `tcpdump`, which is answered in words.
///
/// # Errors
/// None.
pub(super) fn read_tcpdump(call: &mut Call<'_>) -> Result<Step> {
    ignore_words(call);
    let words = "Bytes of packets are not recorded. The recipe for the network records connections, sends and receives with the \
                 processes that make them; the tools tcplife, tcpretrans and tcpdrop follow connections.";
    Ok(Step::Page(Page::new("/new", &[("recipe", "network")]), words.to_owned()))
}

const LTRACE: Table = Table {
    tool: "ltrace",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-x"], Takes::Value),
        Rule::taken(&["-e"], Takes::Value),
        Rule::taken(&["-p"], Takes::Value),
        Rule::taken(&["-f"], Takes::Nothing),
        Rule::taken(&["-u"], Takes::Value),
        Rule::ignored(&["-t", "-r", "-T", "-i", "-C", "-b", "-q"], Takes::Nothing, "each row has its time"),
        Rule::ignored(&["-o", "-s", "-a", "-n", "-A", "-D", "-F"], Takes::Value, "it is about how ltrace prints"),
        Rule::refused(&["-S"], Takes::Nothing, "System calls are recorded by another command.", "Write strace."),
        Rule::refused(
            &["-c"],
            Takes::Nothing,
            "Calls are counted by another command.",
            "Write `funccount LIBRARY:FUNCTION`.",
        ),
        Rule::refused(
            &["-l", "--library"],
            Takes::Value,
            "All functions of a library are not probed at once.",
            "Name functions: -x FUNCTION@LIBRARY.",
        ),
        Rule::refused(
            &["-w", "--where"],
            Takes::Value,
            "Stacks of probes are not recorded.",
            "Write `stackcount LIBRARY:FUNCTION`.",
        ),
    ],
};

/// Reads `ltrace -x FUNCTION@LIBRARY`.
///
/// # Errors
/// What is not understood; functions without their library.
pub(super) fn read_ltrace(call: &mut Call<'_>) -> Result<Step> {
    let arguments = LTRACE.read(call.words, call.marks)?;
    let mut trace = TraceSpec::default();
    for given in arguments.given.iter().filter(|given| matches!(given.key, "-x" | "-e")) {
        let word = given.word();
        word.pattern()?;
        call.marks.mark(&word.source, SpanKind::Event);
        for part in word.split('+') {
            let Some((function, library)) = part.text.split_once('@') else {
                return Err(Refusal::new(
                    part.source,
                    "in which file the function is has to be said",
                    "Write FUNCTION@LIBRARY, such as malloc@libc.so.6.",
                ));
            };
            if function.contains(['*', '?', '/', '!']) || function.is_empty() || library.is_empty() {
                return Err(Refusal::new(
                    part.source,
                    "patterns of functions are not probed at once",
                    "Name each function.",
                ));
            }
            let file = library.split(".so").next().unwrap_or(library);
            let file = if library.contains('/') { library } else { file.trim_end_matches('*') };
            trace.dynamic.push(DynamicProbe { typed: function.to_owned(), file: Some(file.to_owned()), line: None });
        }
    }
    if trace.dynamic.is_empty() {
        return Err(Refusal::new(
            call.source(),
            "all calls into libraries are not recorded at once",
            "Name functions: ltrace -x malloc@libc.so.6 COMMAND. System calls are shown by strace.",
        ));
    }
    let children = arguments.has("-f");
    let whose = match arguments.last("-p") {
        Some(given) => match call.process_ids(&given.word())? {
            (_, Some(missing)) => Whose { missing: Some(missing), ..Whose::of(Target::Process { pid: 0, children }) },
            (pids, None) => Whose::of(Target::of_processes(&pids, children)),
        },
        None => {
            let argv = call.command(&arguments.operands)?;
            if argv.is_empty() {
                return Err(Refusal::new(call.source(), "ltrace needs a command or -p PID", "Write one of them."));
            }
            let user = arguments.last("-u").map(|given| given.text()).transpose()?;
            Whose::of(Target::Command { argv, user, children })
        }
    };
    call.capture(Method::Trace(trace), whose, ViewName::Events)
}
