//! strace(1).

mod calls;
pub(crate) mod choice;

use bathyscope_capture::{HexTexts, Method, Target};

pub use calls::{ShownCalls, chosen_calls, shown_calls};
use choice::{Choice, ChoiceError, Files, NEEDS_PTRACE, hex_texts};

use crate::{
    answer::{Result, SpanKind, ViewName},
    call::{Call, Step, Whose},
    options::{Arguments, Given, Order, Rule, Table, Takes},
};

const IN_EACH_ROW: &str = "each row has its time and its duration";
const LOOK: &str = "it is about how strace writes its lines";
const NO_PTRACE: &str = "Remove it.";
const TABLE_OF_CALLS: &str =
    "the tab System calls has the table of calls; at a terminal `bathyscope strace -c` prints it";
const AT_VERB_NAMES: &str =
    "Processes are told by their ids; --json has the name of the thread that calls in each row.";

pub(crate) const TABLE: Table = Table {
    tool: "strace",
    order: Order::OptionsFirst,
    rules: &[
        Rule::taken(&["-p", "--attach"], Takes::Value),
        Rule::taken(&["-f", "-F", "--follow-forks"], Takes::Nothing),
        Rule::taken(&["-e", "--expr"], Takes::Value),
        Rule::taken(&["--trace"], Takes::Value),
        Rule::taken(&["--signal"], Takes::Value),
        Rule::taken(&["--status"], Takes::Value),
        Rule::taken(&["--abbrev"], Takes::Value),
        Rule::taken(&["--verbose"], Takes::Value),
        Rule::taken(&["--raw"], Takes::Value),
        Rule::taken(&["--read"], Takes::Value),
        Rule::taken(&["--write"], Takes::Value),
        Rule::taken(&["--decode-fds", "--decode-fd"], Takes::Attached),
        Rule::taken(&["-z", "--successful-only"], Takes::Nothing),
        Rule::taken(&["-Z", "--failed-only"], Takes::Nothing),
        Rule::taken(&["-v", "--no-abbrev"], Takes::Nothing),
        Rule::taken(&["-y"], Takes::Nothing),
        Rule::taken(&["-x"], Takes::Nothing),
        Rule::taken(&["--strings-in-hex"], Takes::Attached),
        Rule::taken(&["-s", "--string-limit"], Takes::Value),
        Rule::taken(&["-P", "--trace-path"], Takes::Value),
        Rule::taken(&["-k", "--stack-trace", "--stack-traces"], Takes::Nothing),
        Rule::taken(&["-i", "--instruction-pointer"], Takes::Nothing),
        Rule::taken(&["-n", "--syscall-number"], Takes::Nothing),
        Rule::taken(&["-u", "--user"], Takes::Value),
        Rule::taken(&["-c", "--summary-only"], Takes::Nothing),
        Rule::taken(&["-C", "--summary"], Takes::Nothing),
        Rule::taken(&["-w", "--summary-wall-clock"], Takes::Nothing),
        Rule::ignored(&["-S", "--summary-sort-by"], Takes::Value, "tables are sorted where they are shown"),
        Rule::ignored(&["-U", "--summary-columns"], Takes::Value, "columns are chosen where they are shown"),
        Rule::ignored(&["-t"], Takes::Nothing, IN_EACH_ROW),
        Rule::ignored(&["--absolute-timestamps", "--timestamps"], Takes::Attached, IN_EACH_ROW),
        Rule::ignored(&["-r"], Takes::Nothing, IN_EACH_ROW),
        Rule::ignored(&["--relative-timestamps"], Takes::Attached, IN_EACH_ROW),
        Rule::ignored(&["-T"], Takes::Nothing, IN_EACH_ROW),
        Rule::ignored(&["--syscall-times"], Takes::Attached, IN_EACH_ROW),
        Rule::ignored(&["-o", "--output"], Takes::Value, "rows are kept in the capture, which can be exported"),
        Rule::ignored(&["-A", "--output-append-mode"], Takes::Nothing, "each capture is kept by itself"),
        Rule::ignored(&["--output-separately"], Takes::Nothing, "rows of a process are filtered where they are shown"),
        Rule::ignored(&["-a", "--columns"], Takes::Value, LOOK),
        Rule::ignored(&["-q"], Takes::Nothing, LOOK),
        Rule::ignored(&["--quiet", "--silent", "--silence"], Takes::Attached, LOOK),
        Rule::ignored(&["-Y", "--decode-pids", "--decode-pid"], Takes::Nothing, "each row has the name of the thread")
            .refused_at_verb(AT_VERB_NAMES),
        Rule::taken(&["-X", "--const-print-style"], Takes::Value),
        Rule::refused(&["-b", "--detach-on"], Takes::Value, NEEDS_PTRACE, NO_PTRACE),
        Rule::refused(&["-D", "--daemonize", "--daemonized", "--daemonised"], Takes::Nothing, NEEDS_PTRACE, NO_PTRACE),
        Rule::refused(&["-I", "--interruptible"], Takes::Value, NEEDS_PTRACE, NO_PTRACE),
        Rule::refused(
            &["--seccomp-bpf"],
            Takes::Nothing,
            NEEDS_PTRACE,
            "Remove it: calls that are not chosen cost little here.",
        ),
        Rule::refused(&["--inject", "--fault", "--kvm"], Takes::Value, NEEDS_PTRACE, NO_PTRACE),
        Rule::refused(
            &["-O", "--summary-syscall-overhead"],
            Takes::Value,
            "What tracing costs is measured while it runs.",
            "Remove it.",
        ),
        Rule::refused(
            &["-E", "--env"],
            Takes::Value,
            "A capture does not keep variables of a command.",
            "At a terminal, `bathyscope strace` takes it.",
        ),
        Rule::refused(&["-d", "--debug"], Takes::Nothing, "It is about strace itself.", "Remove it.")
            .refused_at_verb("What is logged is said by --log, such as --log debug."),
        Rule::refused(&["--secontext"], Takes::Attached, "Security contexts are not read.", "Remove it."),
        Rule::refused(
            &["--pidns-translation"],
            Takes::Nothing,
            "Ids are those of the first pid namespace.",
            "Remove it.",
        ),
        Rule::refused(&["--tips"], Takes::Attached, "It is about strace itself.", "Remove it.")
            .refused_at_verb("There are examples in `bathyscope strace --help`."),
        Rule::refused(&["-h", "--help", "--version"], Takes::Nothing, "It is about strace itself.", "Remove it."),
        Rule::refused(&["-V"], Takes::Nothing, "It is about strace itself.", "Remove it.")
            .refused_at_verb("`bathyscope --version` tells the version."),
    ],
};

/// Options that are short for an expression, with what stands before their value.
const EXPRESSIONS: [(&str, &str); 12] = [
    ("-e", ""),
    ("--trace", "trace="),
    ("--signal", "signal="),
    ("--status", "status="),
    ("--abbrev", "abbrev="),
    ("--verbose", "verbose="),
    ("--raw", "raw="),
    ("--read", "read="),
    ("--write", "write="),
    ("-z", "status=successful"),
    ("-Z", "status=failed"),
    ("-v", "abbrev=none"),
];

/// Reads a command.
///
/// # Errors
/// What is not understood or not possible.
pub(crate) fn read(call: &mut Call<'_>) -> Result<Step> {
    let arguments = TABLE.read(call.words, call.marks)?;
    let choice = chosen(&arguments, call)?;
    let whose = whose(&arguments, call)?;
    let mut paths = Vec::new();
    for path in arguments.all("-P") {
        paths.push(path.text()?);
    }
    let calls = match arguments.last("-P") {
        Some(last) => chosen_calls(&choice, 0, &paths).or_else(|error| last.refuse(error.why, error.remedy))?,
        None => chosen_calls(&choice, 0, &[]).or_else(|error| call_refusal(call, error))?,
    };
    let shown = ShownCalls {
        string_bytes: string_bytes(&arguments)?,
        hex: hex(&arguments)?,
        cpu_time: (arguments.has("-c") || arguments.has("-C")) && !arguments.has("-w"),
        addresses: arguments.has("-i"),
        stacks: arguments.has("-k"),
        numbers: arguments.has("-n"),
    };
    if let Some(given) = arguments.last("-X") {
        match given.text()?.as_str() {
            "abbrev" => {}
            "raw" | "verbose" => {
                return given.refuse(
                    "numbers with names are written by their names",
                    "Write -e raw=CALLS for calls whose arguments are numbers.",
                );
            }
            _ => return given.refuse("that is no way to write numbers", "Write abbrev, or remove -X."),
        }
    }
    for key in ["-c", "-C"] {
        if let Some(given) = arguments.last(key) {
            call.marks.note(&given.at, TABLE_OF_CALLS);
        }
    }
    // With the other letter the calls themselves are wanted first.
    let opens = if arguments.has("-c") { ViewName::Systemcalls } else { ViewName::Events };
    call.ignore_redirects("rows are kept in the capture");
    call.capture(Method::Syscalls(shown_calls(&choice, &shown, calls)), whose, opens)
}

fn call_refusal<T>(call: &Call<'_>, error: ChoiceError) -> Result<T> {
    Err(crate::answer::Refusal::new(call.source(), error.why, error.remedy))
}

/// What `-e` and the options that are short for it ask for.
fn chosen(arguments: &Arguments, call: &mut Call<'_>) -> Result<Choice> {
    let mut expressions: Vec<String> = Vec::new();
    for given in &arguments.given {
        if let Some((_, before)) = EXPRESSIONS.iter().find(|(key, _)| *key == given.key) {
            if let Some(value) = &given.value {
                call.marks.mark(&value.source, SpanKind::Event);
            }
            expressions.push(format!("{before}{}", given.text()?));
            if let Err(error) = Choice::of(&expressions) {
                return given.refuse(error.why, error.remedy);
            }
        }
    }
    let refused = |error: ChoiceError| call_refusal::<Choice>(call, error);
    let mut choice = Choice::of(&expressions).or_else(refused)?;
    if let Some(given) = arguments.last("--decode-fds") {
        let value = given.value.as_ref().map_or("all", |value| value.text.as_str()).to_owned();
        let decoded = Choice::of(&[format!("decode-fds={value}")]);
        choice.files = decoded.or_else(|error| given.refuse(error.why, error.remedy))?.files;
    }
    match arguments.count("-y") {
        0 => {}
        1 => choice.files = Some(Files { paths: true, ..Files::default() }),
        _ => choice.files = Some(Files::ALL),
    }
    Ok(choice)
}

fn string_bytes(arguments: &Arguments) -> Result<u16> {
    let Some(given) = arguments.last("-s") else { return Ok(32) };
    match given.text()?.parse::<u32>() {
        Ok(bytes) => Ok(u16::try_from(bytes.min(16 << 10)).unwrap_or(u16::MAX)),
        Err(_) => given.refuse("that is no number of bytes", "Write a number."),
    }
}

fn hex(arguments: &Arguments) -> Result<HexTexts> {
    let Some(given) = arguments.last("--strings-in-hex") else {
        return Ok(hex_texts(u8::try_from(arguments.count("-x")).unwrap_or(u8::MAX)));
    };
    match given.value.as_ref().map_or("all", |value| value.text.as_str()) {
        "all" => Ok(HexTexts::All),
        "non-ascii" => Ok(HexTexts::NonAscii),
        "non-ascii-chars" => Ok(HexTexts::Characters),
        "none" => Ok(HexTexts::None),
        _ => given.refuse("that is no choice of texts", "Write all, non-ascii, non-ascii-chars or none."),
    }
}

/// Whose calls.
fn whose(arguments: &Arguments, call: &mut Call<'_>) -> Result<Whose> {
    let children = arguments.has("-f");
    let (mut pids, mut missing) = (Vec::new(), None);
    for given in arguments.all("-p") {
        let (more, choose) = call.process_ids(&given.word())?;
        pids.extend(more.into_iter().filter(|pid| !pids.contains(pid)).collect::<Vec<_>>());
        missing = missing.or(choose);
    }
    let argv = call.command(&arguments.operands)?;
    let user = arguments.last("-u").map(Given::text).transpose()?;
    match (arguments.last("-p"), argv.is_empty()) {
        (Some(given), false) => given.refuse("a capture is of processes or of a command", "Remove -p, or the command."),
        (Some(_), true) if missing.is_some() => {
            Ok(Whose { missing, ..Whose::of(Target::Process { pid: 0, children }) })
        }
        (Some(_), true) => Ok(Whose::of(Target::of_processes(&pids, children))),
        (None, false) => Ok(Whose::of(Target::Command { argv, user, children })),
        (None, true) => Err(crate::answer::Refusal::new(
            call.source(),
            "strace needs a command or -p PID",
            "Write one of them, such as `strace ls`.",
        )),
    }
}
