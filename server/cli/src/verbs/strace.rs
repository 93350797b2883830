//! `strace`: system calls from the terminal, in the look of strace(1), without stopping the process.
//!
//! The kernel's programs record and filter, the console's recorder decodes and stores, and the lines are made of what
//! was stored. So a line comes a moment after its call, and what the command prints beside it comes when it was read.

mod dump;
mod lines;
mod output;
mod qualifiers;
mod stacks;

use std::{ffi::OsString, io::Write as _, path::PathBuf, time::Duration};

use bathyscope_agent::Simulation;
use bathyscope_capture::{
    CaptureId, CaptureSpec, HexTexts, LossStage, Method, OutputStream, SourceSpec, SyscallSpec, Target, visible,
};
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{SummaryOrder, select},
};
use bathyscope_commands::strace::{
    Choice, ChoiceError, Files, Quiet, ShownCalls, chosen_calls, hex_texts, shown_calls, unknown,
};
use bathyscope_formats::{SysdigFilter, parse_sysdig_filter};
use bathyscope_protocol::AgentClient;
use bathyscope_store::{CaptureRecord, Store};
use clap::{ArgAction, Args, ValueEnum};

use super::trace;
use crate::{
    Failure, Outcome,
    config::{DataArgs, LogArgs, LogFormat, Scripts},
    launch::{OwnAgent, Workplace},
};
use lines::{Clock, LineStyle, Writer};
use output::LineOutput;
use qualifiers::{Columns, QualifierArgs};

const EXAMPLES: &str = "\
Examples:
  bathyscope strace ls
  bathyscope strace -f -y -e %network,%process -p 4711
  bathyscope strace -T -ttt -z -P /etc/passwd -o calls.txt -- make
  bathyscope strace -c dd if=/dev/zero of=/dev/null bs=1 count=500k
  bathyscope strace -ff -o calls -e '/^open' make
  bathyscope strace -k -e openat -- python3 -c 'import ssl'
  bathyscope strace --all --duration 5s -e openat -Z
  bathyscope strace --filter 'proc.name=redis-server and (evt.type=open or fd.sport=6379)'
  bathyscope strace --unit nginx.service -e %network

Lines go to standard error or a file, what the command prints where it would print it. The process is not stopped: a \
line comes shortly after its call. At the end it is said what tracing cost and what was lost. The exit status is the \
command's, or 3 if the guard ended it.

What strace does and this does not: the lines of signals that the process ignores, and of one that ends it without a dump of \
its memory, as the kernel delivers SIGKILL in its place (how it ended is told); changing calls; and asking for what a descriptor is at \
the moment of each call. With -y, calls that open, copy, rename and close are recorded too where they are not to be shown, \
and what a process has open when it is first seen is asked for. So a path is the one that was opened, links in it included, and \
what was not seen is not known: a file that a process which \
is not recorded renames keeps its name, and a descriptor that came with a message has none. With -e read= and write=, at \
most 1 MiB of a call is shown and it is said how much is missing; of recvmmsg and sendmmsg, and of vectors of 32-bit \
programs, nothing is.

A filter of sysdig is decided in the kernel as far as it can, and behind it for the rest, which is said at the end. What it \
asks of a call is what calls have told: what a descriptor is, if it was opened while its process was recorded or is still \
open then; the ends of a connection, if bind, connect, accept, listen or getsockname was called meanwhile. Names and images of \
containers are what docker and podman keep; of containerd and others only the id is known, so container.image matches none.";

/// What the table of calls is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SortBy {
    /// Time.
    #[default]
    #[value(alias = "time-total", alias = "total-time")]
    Time,
    /// Calls.
    #[value(alias = "count")]
    Calls,
    /// Errors.
    #[value(alias = "error")]
    Errors,
    /// Names.
    #[value(alias = "syscall", alias = "syscall-name")]
    Name,
    /// The shortest call.
    #[value(alias = "shortest")]
    MinTime,
    /// The longest call.
    #[value(alias = "longest")]
    MaxTime,
    /// Time of a call.
    #[value(alias = "time-avg")]
    AvgTime,
    /// Nothing: in the order of their numbers.
    #[value(alias = "none")]
    Nothing,
}

/// How exact a time is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Precision {
    /// Seconds.
    S,
    /// Thousandths of a second.
    Ms,
    /// Millionths of a second.
    #[default]
    Us,
    /// Nanoseconds.
    Ns,
}

/// What `strace` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES, args_override_self = true)]
#[expect(clippy::struct_excessive_bools, reason = "strace's own switches")]
pub struct StraceArgs {
    /// Only these processes; repeatable, or with commas or blanks between
    #[arg(short, long = "attach", value_name = "PID,…", conflicts_with_all = ["command", "all"])]
    pub pid: Vec<String>,
    /// Every process of the system
    #[arg(long, conflicts_with_all = ["command", "cgroup", "unit", "container", "uid", "comm"])]
    pub all: bool,
    /// Or whose calls.
    #[command(flatten)]
    pub of: trace::OfArgs,
    /// Whose calls and which, as a filter of sysdig, such as 'proc.name=nginx and evt.type=open'
    #[arg(long, value_name = "LINE", conflicts_with_all = ["pid", "all", "command", "cgroup", "unit", "container", "uid", "comm", "slower", "path", "failed", "successful"])]
    pub filter: Option<String>,
    /// With the processes that it forks; -ff with -o FILE writes the lines of each to FILE.PID
    #[arg(short, long = "follow-forks", short_alias = 'F', action = ArgAction::Count)]
    pub follow: u8,
    /// The lines of each process to FILE.PID, as -ff
    #[arg(long, requires = "output")]
    pub output_separately: bool,
    /// What -e asks for, also by its names.
    #[command(flatten)]
    pub qualifiers: QualifierArgs,
    /// Show how long each call took
    #[arg(short = 'T')]
    pub took: bool,
    /// The same, in s, ms, us or ns
    #[arg(long = "syscall-times", value_enum, value_name = "PRECISION", num_args = 0..=1, require_equals = true, default_missing_value = "us")]
    pub times: Option<Precision>,
    /// Show the time of day; -tt with microseconds, -ttt as seconds since 1970
    #[arg(short, action = ArgAction::Count)]
    pub time: u8,
    /// The same, as format:none, time or unix and precision:s, ms, us or ns, such as unix,ns
    #[arg(long = "absolute-timestamps", visible_alias = "timestamps", value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "time", conflicts_with = "time", value_parser = qualifiers::clock)]
    pub timestamps: Option<Clock>,
    /// Show the time since the call before
    #[arg(short, conflicts_with_all = ["time", "timestamps"])]
    pub relative: bool,
    /// The same, in s, ms, us or ns
    #[arg(long = "relative-timestamps", value_enum, value_name = "PRECISION", num_args = 0..=1, require_equals = true, default_missing_value = "us", conflicts_with_all = ["time", "timestamps"])]
    pub since: Option<Precision>,
    /// Show the number of each call
    #[arg(short = 'n', long = "syscall-number")]
    pub number: bool,
    /// Show the instruction pointer at each call
    #[arg(short = 'i', long = "instruction-pointer")]
    pub address: bool,
    /// Show the functions that were called until each call was made, and until each signal came
    #[arg(short = 'k', long = "stack-traces", visible_alias = "stack-trace", conflicts_with = "count")]
    pub stacks: bool,
    /// Only the table of calls, with their number, their errors and the time that they ran on a CPU
    #[arg(short, long = "summary-only", conflicts_with_all = ["both", "json"])]
    pub count: bool,
    /// The table after the lines
    #[arg(short = 'C', long = "summary", conflicts_with = "json")]
    pub both: bool,
    /// In the table, the wall time of calls instead of their CPU time
    #[arg(short = 'w', long = "summary-wall-clock")]
    pub wall: bool,
    /// What the table is sorted by
    #[arg(short = 'S', long = "summary-sort-by", value_enum, value_name = "ORDER", default_value_t)]
    pub sort: SortBy,
    /// The columns of the table, such as calls,max-time,name: time-percent, total-time, min-time, max-time, avg-time, calls, errors, name
    #[arg(short = 'U', long = "summary-columns", value_name = "COLUMNS", value_parser = qualifiers::columns)]
    pub columns: Option<Columns>,
    /// Show the files of descriptors; -yy also ends of connections, numbers of devices, and processes
    #[arg(short = 'y', id = "file_count", action = ArgAction::Count)]
    pub files: u8,
    /// Print texts that are not printable in hexadecimal; -xx all texts
    #[arg(short = 'x', action = ArgAction::Count)]
    pub hex: u8,
    /// The same: all or non-ascii
    #[arg(long = "strings-in-hex", value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "all", conflicts_with = "hex", value_parser = qualifiers::hex_texts)]
    pub in_hex: Option<HexTexts>,
    /// How numbers with names are written: abbrev, by their names
    #[arg(short = 'X', long = "const-print-style", value_name = "STYLE", value_parser = qualifiers::constants)]
    pub constants: Option<String>,
    /// Print no messages about tracing unless something was lost; -qq also none about how processes end
    #[arg(short, id = "quiet_count", action = ArgAction::Count)]
    pub quiet: u8,
    /// The column in which results stand
    #[arg(short = 'a', long = "columns", id = "column", value_name = "COLUMN", default_value_t = 40, value_parser = clap::value_parser!(u16).range(0..=500))]
    pub column: u16,
    /// Only calls that took this long, such as 10ms
    #[arg(long, value_name = "TIME", value_parser = super::range::duration)]
    pub slower: Option<Duration>,
    /// The most bytes of a text that is no path
    #[arg(short, long = "string-limit", value_name = "BYTES", default_value_t = 32, value_parser = clap::value_parser!(u16).range(0..=16_384))]
    pub strings: u16,
    /// Only calls that have to do with this file, by its path or a descriptor of it; repeatable
    #[arg(short = 'P', long = "trace-path", value_name = "PATH")]
    pub path: Vec<String>,
    /// Write the lines to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Append to the file
    #[arg(short = 'A', long = "output-append-mode", requires = "output")]
    pub append: bool,
    /// Set a variable of the command's environment, or without = remove it; repeatable
    #[arg(short = 'E', long = "env", value_name = "NAME[=VALUE]", requires = "command")]
    pub environment: Vec<OsString>,
    /// User that the command runs as [default: who runs this]
    #[arg(short, long, value_name = "NAME", requires = "command")]
    pub user: Option<String>,
    /// End after this time, such as 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = super::range::duration)]
    pub duration: Option<Duration>,
    /// Print JSON, one object a line, on standard output
    #[arg(long)]
    pub json: bool,
    /// Keep the capture under this name, to look at it in the browser; no console may be running on the same database
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,
    /// Make up calls instead of tracing
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "", hide = true)]
    pub simulate: Option<Simulation>,
    /// What it may cost.
    #[command(flatten)]
    pub budgets: crate::verbs::budgets::BudgetArgs,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
    /// What is logged: a level, or levels by module
    #[arg(long = "log", value_name = "FILTER", default_value = "warn")]
    pub log_filter: String,
    /// Program to run and trace, with its arguments; no shell is started
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub command: Vec<String>,
}

/// Records and prints.
///
/// # Errors
/// If it cannot be started, or its rows cannot be read back.
pub fn run(args: StraceArgs) -> Outcome {
    let choice = chosen(&args)?;
    let spec = spec(&args, &choice)?;
    let log = LogArgs { log_format: LogFormat::Text, log: args.log_filter.clone() };
    // What needs rights, or must happen before there are threads.
    let sink = LineOutput::open(args.output.as_deref(), separately(&args), args.append, args.json)?;
    let place = trace::workplace(args.save.is_some(), false, &args.data)?;
    let environment = args.environment.iter().map(|it| output::variable(it)).collect::<Result<Vec<_>, _>>()?;
    let mut agent = OwnAgent::start_with(&place, args.simulate.as_ref(), Some(&log), Scripts::Off, &environment)?;
    let client = agent.client_at(&place)?;
    crate::logging::start(&log)?;
    super::to_the_end(agent, super::runtime()?, record(&args, &choice, spec, client, &place, sink))
}

/// Whether each process has a file of its own.
fn separately(args: &StraceArgs) -> bool {
    args.output.is_some() && (args.follow > 1 || args.output_separately)
}

/// What `-e` and the options that are short for it ask for.
fn chosen(args: &StraceArgs) -> Result<Choice, Failure> {
    let mut choice = Choice::of(&args.qualifiers.expressions()).map_err(refused)?;
    if args.quiet > 0 && choice.quiet.is_some() {
        return Err(Failure::new("-q and -e quiet= exclude each other").remedy("Write all of it as -e quiet=WHAT."));
    }
    choice.quiet = choice.quiet.or(Some(Quiet::of_count(args.quiet)));
    if args.files > 0 && choice.files.is_some() {
        return Err(Failure::new("-y and -e decode-fds= exclude each other"));
    }
    match args.files {
        0 => {}
        1 => choice.files = Some(Files { paths: true, ..Files::default() }),
        _ => choice.files = Some(Files::ALL),
    }
    Ok(choice)
}

fn refused(error: ChoiceError) -> Failure {
    Failure::new(error.why).remedy(error.remedy)
}

/// The spec that the arguments describe.
fn spec(args: &StraceArgs, choice: &Choice) -> Result<CaptureSpec, Failure> {
    let (target, calls) = match &args.filter {
        Some(line) => filtered(args, line)?,
        None => (target(args)?, calls_of(args, choice)?),
    };
    let calls = shown(args, choice, calls);
    select(Arch::HOST, &calls.calls.join(",")).map_err(|error| refused(unknown(&error)))?;
    let limits = args.budgets.limits(args.duration);
    let name = args.save.clone().unwrap_or_default();
    let spec = CaptureSpec { name, sources: vec![SourceSpec::of(Method::Syscalls(calls))], target, limits };
    spec.validate().map_err(|error| Failure::because("checking what to record", error))?;
    Ok(spec)
}

/// How calls are written, and what is recorded beside them.
fn shown(args: &StraceArgs, choice: &Choice, calls: SyscallSpec) -> SyscallSpec {
    let shown = ShownCalls {
        string_bytes: args.strings,
        hex: args.in_hex.unwrap_or_else(|| hex_texts(args.hex)),
        cpu_time: (args.count || args.both) && !args.wall,
        addresses: args.address,
        stacks: args.stacks,
        numbers: args.number,
    };
    shown_calls(choice, &shown, calls)
}

/// What a filter line of sysdig describes; what it does not say is as without one.
fn filtered(args: &StraceArgs, line: &str) -> Result<(Target, SyscallSpec), Failure> {
    let SysdigFilter { target, calls } = parse_sysdig_filter(line).map_err(|error| {
        let place =
            format!("{line}\n{:>width$}", "^", width = line.get(..error.offset).map_or(1, |to| to.chars().count() + 1));
        Failure::new(format!("the filter is not understood: {error}\n{}", visible_lines(&place))).remedy(error.remedy)
    })?;
    if Choice::of(&args.qualifiers.expressions()).map_err(refused)?.chooses() {
        return Err(
            Failure::new("-e and --filter exclude each other").remedy("Write `evt.type in (…)` into the filter.")
        );
    }
    Ok((target.unwrap_or(Target::System), calls))
}

/// Lines that can be shown on a terminal.
fn visible_lines(text: &str) -> String {
    text.lines().map(|line| visible(line.as_bytes())).collect::<Vec<_>>().join("\n")
}

/// The processes behind each `-p`, each once.
fn process_ids(texts: &[String]) -> Result<Vec<u32>, Failure> {
    let mut pids = Vec::new();
    let words = texts.iter().flat_map(|text| text.split([',', ' ', '\t', '\n']));
    for word in words.filter(|word| !word.is_empty()) {
        let Some(pid) = word.parse::<u32>().ok().filter(|pid| *pid > 0) else {
            return Err(Failure::new(format!("-p {}: that is no process id", visible(word.as_bytes())))
                .remedy("Write ids separated by commas, or -p several times."));
        };
        if !pids.contains(&pid) {
            pids.push(pid);
        }
    }
    if pids.is_empty() && !texts.is_empty() {
        return Err(Failure::new("-p is given without a process id"));
    }
    Ok(pids)
}

fn target(args: &StraceArgs) -> Result<Target, Failure> {
    let children = args.follow > 0;
    let pids = process_ids(&args.pid)?;
    match (pids.as_slice(), args.of.target(), args.command.is_empty()) {
        ([_, ..], Some(_), _) | (_, Some(_), false) => {
            Err(Failure::new("a command, -p and --cgroup, --unit, --container, --uid or --comm exclude each other"))
        }
        ([pid], None, _) => Ok(Target::Process { pid: *pid, children }),
        ([_, ..], None, _) => Ok(Target::Processes { pids: pids.clone(), children }),
        ([], Some(target), true) => Ok(target),
        ([], None, false) => Ok(Target::Command { argv: args.command.clone(), user: args.user.clone(), children }),
        ([], None, true) if args.all => Ok(Target::System),
        ([], None, true) => {
            let remedy = "Give a command, -p PID, --unit NAME, --container NAME, --comm NAME, or --all.";
            Err(Failure::new("there is nothing to trace").remedy(remedy))
        }
    }
}

/// Which calls the options ask for.
fn calls_of(args: &StraceArgs, choice: &Choice) -> Result<SyscallSpec, Failure> {
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    chosen_calls(choice, args.slower.map_or(0, nanoseconds), &paths(args)).map_err(refused)
}

/// The paths of `-P`. As strace does, what each means is asked for too.
fn paths(args: &StraceArgs) -> Vec<String> {
    let mut paths = Vec::new();
    for path in &args.path {
        let whole = std::path::absolute(path).ok().and_then(|path| path.into_os_string().into_string().ok());
        let real = std::fs::canonicalize(path).ok().and_then(|path| path.into_os_string().into_string().ok());
        for one in [Some(path.clone()), whole, real].into_iter().flatten() {
            if !paths.contains(&one) {
                paths.push(one);
            }
        }
    }
    paths
}

fn look(args: &StraceArgs, choice: &Choice) -> LineStyle {
    LineStyle {
        clock: match (args.timestamps, args.since.or(args.relative.then_some(Precision::Us)), args.time) {
            (Some(clock), _, _) => clock,
            (_, Some(precision), _) => Clock::Relative(precision),
            (_, _, 0) => Clock::None,
            (_, _, 1) => Clock::Day(Precision::S),
            (_, _, 2) => Clock::Day(Precision::Us),
            _ => Clock::Epoch(Precision::Us),
        },
        durations: args.times.or(args.took.then_some(Precision::Us)),
        json: args.json,
        lines: !args.count,
        summary: (args.count || args.both).then_some(match args.sort {
            SortBy::Time => SummaryOrder::Time,
            SortBy::Calls => SummaryOrder::Calls,
            SortBy::Errors => SummaryOrder::Errors,
            SortBy::Name => SummaryOrder::Name,
            SortBy::MinTime => SummaryOrder::Shortest,
            SortBy::MaxTime => SummaryOrder::Longest,
            SortBy::AvgTime => SummaryOrder::Mean,
            SortBy::Nothing => SummaryOrder::Number,
        }),
        columns: args.columns.clone().unwrap_or_default().0,
        wall: args.wall,
        in_file: args.output.is_some(),
        many: args.command.is_empty() && process_ids(&args.pid).map_or(0, |pids| pids.len()) != 1 || args.follow > 0,
        separately: separately(args),
        numbers: args.number,
        addresses: args.address,
        stacks: args.stacks,
        column: usize::from(args.column),
        quiet: choice.quiet.unwrap_or_default(),
        signals: choice.signals.clone(),
        raw: select(Arch::HOST, &choice.raw.join(",")).unwrap_or_default(),
    }
}

async fn record(
    args: &StraceArgs,
    choice: &Choice,
    spec: CaptureSpec,
    client: AgentClient,
    place: &Workplace,
    sink: LineOutput,
) -> Outcome {
    let (store, recorder) = trace::recorder(client, place).await?;
    let id = recorder.start(spec, "the command line").await.map_err(trace::start_failure)?;
    let mut writer = Writer::new(store.clone(), id, look(args, choice), sink);
    let mut output = Output { store: store.clone(), id, next: 0 };
    let followed = trace::follow(&recorder, id, async || {
        output.print_new().await?;
        writer.print_new(&recorder).await
    })
    .await;
    recorder.ended(id).await;
    writer.finish(recorder.target(id))?;
    let told = Told {
        saved: args.save.is_some(),
        detached: recorder.detached(id),
        left_out: recorder.left_out(id),
        without_file: recorder.without_file(id),
        quiet: choice.quiet.unwrap_or_default().tracing,
    };
    report(&store, id, &told).await?;
    store.close().await;
    followed?;
    Ok(trace::exit_status(&recorder, id))
}

/// What the command prints goes where it would print it.
struct Output {
    store: Store,
    id: CaptureId,
    next: u64,
}

impl Output {
    async fn print_new(&mut self) -> Result<(), Failure> {
        let failed = |error| Failure::because("reading what the command printed", error);
        for piece in self.store.output(self.id, self.next, 1000).await.map_err(failed)? {
            self.next += 1;
            let written = match piece.stream {
                OutputStream::Stdout => {
                    std::io::stdout().write_all(&piece.bytes).and_then(|()| std::io::stdout().flush())
                }
                OutputStream::Stderr => std::io::stderr().write_all(&piece.bytes),
            };
            if let Err(error) = written
                && error.kind() != std::io::ErrorKind::BrokenPipe
            {
                return Err(Failure::because("printing what the command printed", error));
            }
        }
        Ok(())
    }
}

/// What is known at the end beside what was stored.
struct Told {
    saved: bool,
    /// Why the guard has detached.
    detached: Option<String>,
    /// Calls that were recorded and that the filter did not ask for, or that only told what descriptors are.
    left_out: u64,
    /// Frames of stacks that have no names, in words.
    without_file: Option<String>,
    /// Whether nothing is to be said if nothing was lost.
    quiet: bool,
}

/// What tracing cost, and what was lost, on standard error.
#[expect(clippy::print_stderr, reason = "standard output is the command's")]
async fn report(store: &Store, id: CaptureId, told: &Told) -> Result<(), Failure> {
    let record = store.capture(id).await.map_err(|error| Failure::because("reading the capture", error))?;
    let is_whole = record.ledger.losses.is_empty() && told.detached.is_none();
    if !(told.quiet && is_whole) {
        eprintln!("{}", last_line(&record, told));
    }
    Ok(())
}

/// After the guard has detached the probes calls were made that nobody has seen, so it is not said that nothing was lost.
fn last_line(record: &CaptureRecord, told: &Told) -> String {
    let totals = record.ledger.streams.first().copied().unwrap_or_default();
    let mut text = format!("bathyscope: {} calls and signals shown", totals.stored);
    if told.left_out > 0 {
        text.push_str(&format!(", {} were recorded and are not shown", told.left_out));
    }
    if let Some(reading) = record.streams.first().and_then(|stream| stream.reading)
        && let (Some(ns), Some(permille)) = (reading.ns_per_hit, reading.cpu_permille)
    {
        text.push_str(&format!(", {ns:.0} ns a call, {:.1} % of one CPU", permille / 10.0));
    }
    let lost = |stage: LossStage| -> u64 {
        record.ledger.losses.iter().filter(|loss| loss.stage == stage).map(|loss| loss.count).sum()
    };
    let all: u64 = record.ledger.losses.iter().map(|loss| loss.count).sum();
    if record.ledger.is_lower_bound() {
        text.push_str(&format!(", {}", record.ledger.lost_words()));
    } else if all == 0 && told.detached.is_some() {
        text.push_str(" until the guard DETACHED");
    } else if all == 0 {
        text.push_str(", nothing lost");
    } else {
        text.push_str(&format!(", LOST {all} ({} of them because the ring was full)", lost(LossStage::RingFull)));
    }
    if let Some(words) = &told.without_file {
        text.push_str(&format!(", {words}"));
    }
    if told.saved {
        text.push_str(&format!(", kept as {}", record.id));
    }
    if let Some(why) = &told.detached {
        text.push_str(&format!(
            "\nbathyscope: DETACHED by the guard: {why}; calls after that are not shown. Allow more with --budget, or name \
             fewer calls with -e."
        ));
    }
    text
}
