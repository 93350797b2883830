//! `strace`: system calls from the terminal, in the look of strace(1), without stopping the process.
//!
//! The kernel's programs record and filter, the console's recorder decodes and stores, and the lines are made of what
//! was stored. So a line comes a moment after its call, and what the command prints beside it comes when it was read.

mod lines;

use std::{io::Write as _, path::PathBuf, process::ExitCode, time::Duration};

use bathyscope_agent::Simulation;
use bathyscope_capture::{
    CaptureId, CaptureSpec, LossStage, Method, OutputStream, SyscallOutcome, SyscallSpec, Target, visible,
};
use bathyscope_catalog::{
    constants::Arch,
    syscalls::{SummaryOrder, select},
};
use bathyscope_formats::{SysdigFilter, parse_sysdig_filter};
use bathyscope_protocol::{AgentClient, TargetState};
use bathyscope_store::Store;
use clap::{ArgAction, Args, ValueEnum};

use super::{agent::Scripts, trace};
use crate::{
    Failure, Outcome,
    config::{DataArgs, LogArgs, LogFormat},
    launch::{OwnAgent, Workplace},
};
use lines::{Clock, Look, Writer};

const EXAMPLES: &str = "\
Examples:
  bathyscope strace ls
  bathyscope strace -f -y -e %network,%process -p 4711
  bathyscope strace -T -ttt -z -P /etc -o calls.txt -- make
  bathyscope strace -c dd if=/dev/zero of=/dev/null bs=1 count=500k
  bathyscope strace --all --duration 5s -e openat -Z
  bathyscope strace --filter 'proc.name=redis-server and evt.type=open'
  bathyscope strace --unit nginx.service -e %network

Lines go to standard error or a file, what the command prints where it would print it. The process is not stopped: a \
line comes shortly after its call. At the end it is said what tracing cost and what was lost. The exit status is the \
command's. What strace does and this does not: signals that the process ignores, and changing calls.";

/// What the table of calls is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SortBy {
    /// Time.
    #[default]
    Time,
    /// Calls.
    Calls,
    /// Errors.
    Errors,
    /// Names.
    Name,
}

/// What `strace` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
#[expect(clippy::struct_excessive_bools, reason = "strace's own switches")]
pub struct StraceArgs {
    /// Only this process
    #[arg(short, long = "attach", value_name = "PID", conflicts_with_all = ["command", "all"])]
    pub pid: Option<u32>,
    /// Every process of the system
    #[arg(long, conflicts_with_all = ["command", "cgroup", "unit", "container", "uid", "comm"])]
    pub all: bool,
    /// Or whose calls.
    #[command(flatten)]
    pub of: trace::OfArgs,
    /// Whose calls and which, as a filter of sysdig, such as 'proc.name=nginx and evt.type=open'
    #[arg(long, value_name = "LINE", conflicts_with_all = ["pid", "all", "command", "cgroup", "unit", "container", "uid", "comm", "slower", "path", "failed", "successful"])]
    pub filter: Option<String>,
    /// With the processes that it forks
    #[arg(short, long = "follow-forks")]
    pub follow: bool,
    /// Calls and sets to show, such as trace=openat,%network or !futex; status=failed or status=successful; signal=none leaves out signals and the ends of processes; repeatable
    #[arg(short, long = "expr", value_name = "EXPR")]
    pub expressions: Vec<String>,
    /// Show how long each call took
    #[arg(short = 'T', long = "syscall-times")]
    pub times: bool,
    /// Show the time of day; -tt with microseconds, -ttt as seconds since 1970
    #[arg(short, action = ArgAction::Count)]
    pub time: u8,
    /// Show the time since the call before
    #[arg(short, long = "relative-timestamps", conflicts_with = "time")]
    pub relative: bool,
    /// Only the table of calls, with time, number and errors
    #[arg(short, long = "summary-only", conflicts_with_all = ["both", "json"])]
    pub count: bool,
    /// The table after the lines
    #[arg(short = 'C', long = "summary", conflicts_with = "json")]
    pub both: bool,
    /// What the table is sorted by
    #[arg(short = 'S', long = "summary-sort-by", value_enum, value_name = "ORDER", default_value_t)]
    pub sort: SortBy,
    /// Show the files of descriptors
    #[arg(short = 'y', long = "decode-fds")]
    pub files: bool,
    /// Only calls that succeeded
    #[arg(short = 'z', long = "successful-only", conflicts_with = "failed")]
    pub successful: bool,
    /// Only calls that failed
    #[arg(short = 'Z', long = "failed-only")]
    pub failed: bool,
    /// Only calls that took this long, such as 10ms
    #[arg(long, value_name = "TIME", value_parser = trace::duration)]
    pub slower: Option<Duration>,
    /// The most bytes of a text that is no path
    #[arg(short, long = "string-limit", value_name = "BYTES", default_value_t = 32, value_parser = clap::value_parser!(u16).range(0..=1024))]
    pub strings: u16,
    /// Only calls with a path that begins so
    #[arg(short = 'P', long = "trace-path", value_name = "PATH")]
    pub path: Option<String>,
    /// Write the lines to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// User that the command runs as [default: who runs this]
    #[arg(short, long, value_name = "NAME", requires = "command")]
    pub user: Option<String>,
    /// End after this time, such as 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = trace::duration)]
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
    pub budgets: crate::cli::budgets::BudgetArgs,
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
    let spec = spec(&args)?;
    let log = LogArgs { log_format: LogFormat::Text, log: args.log_filter.clone() };
    // What needs rights, or must happen before there are threads.
    let to: Box<dyn std::io::Write> = match &args.output {
        Some(path) => Box::new(std::io::BufWriter::new(
            std::fs::File::create(path)
                .map_err(|error| Failure::because(format!("writing {}", path.display()), error))?,
        )),
        None if args.json => Box::new(std::io::stdout()),
        None => Box::new(std::io::stderr()),
    };
    let place = trace::workplace(args.save.is_some(), &args.data)?;
    let mut agent = OwnAgent::start_at(&place, args.simulate.as_ref(), Some(&log), Scripts::Off)?;
    let client = agent.client_at(&place)?;
    crate::logging::start(&log)?;
    let outcome = super::runtime()?.block_on(record(&args, spec, client, &place, to));
    drop(agent);
    outcome
}

/// The spec that the arguments describe.
fn spec(args: &StraceArgs) -> Result<CaptureSpec, Failure> {
    let (target, calls) = match &args.filter {
        Some(line) => filtered(args, line)?,
        None => (target(args)?, chosen_calls(args)?),
    };
    select(Arch::HOST, &calls.calls.join(",")).map_err(|error| {
        Failure::new(error.to_string()).remedy("Sets have a % in front: %file, %network, %process.")
    })?;
    let limits = args.budgets.limits(args.duration);
    let name = args.save.clone().unwrap_or_default();
    let spec = CaptureSpec { name, method: Method::Syscalls(calls), target, limits };
    spec.validate().map_err(|error| Failure::because("checking what to record", error))?;
    Ok(spec)
}

/// What a filter line of sysdig describes; what it does not say is as without one.
fn filtered(args: &StraceArgs, line: &str) -> Result<(Target, SyscallSpec), Failure> {
    let SysdigFilter { target, calls } = parse_sysdig_filter(line).map_err(|error| {
        let place =
            format!("{line}\n{:>width$}", "^", width = line.get(..error.offset).map_or(1, |to| to.chars().count() + 1));
        Failure::new(format!("the filter is not understood: {error}\n{}", visible_lines(&place))).remedy(error.remedy)
    })?;
    if !args.expressions.is_empty() {
        return Err(
            Failure::new("-e and --filter exclude each other").remedy("Write `evt.type in (…)` into the filter.")
        );
    }
    let calls = SyscallSpec { string_bytes: args.strings, fd_paths: args.files, ..calls };
    Ok((target.unwrap_or(Target::System), calls))
}

/// Lines that can be shown on a terminal.
fn visible_lines(text: &str) -> String {
    text.lines().map(|line| visible(line.as_bytes())).collect::<Vec<_>>().join("\n")
}

fn target(args: &StraceArgs) -> Result<Target, Failure> {
    let children = args.follow;
    match (args.pid, args.of.target(), args.command.is_empty()) {
        (Some(_), Some(_), _) | (_, Some(_), false) => {
            Err(Failure::new("a command, -p and --cgroup, --unit, --container, --uid or --comm exclude each other"))
        }
        (Some(pid), None, _) => Ok(Target::Process { pid, children }),
        (None, Some(target), true) => Ok(target),
        (None, None, false) => Ok(Target::Command { argv: args.command.clone(), user: args.user.clone(), children }),
        (None, None, true) if args.all => Ok(Target::System),
        (None, None, true) => {
            let remedy = "Give a command, -p PID, --unit NAME, --container NAME, --comm NAME, or --all.";
            Err(Failure::new("there is nothing to trace").remedy(remedy))
        }
    }
}

/// Which calls the options ask for.
fn chosen_calls(args: &StraceArgs) -> Result<SyscallSpec, Failure> {
    let (mut calls, mut outcome, mut signals) = (Vec::new(), SyscallOutcome::Any, true);
    for text in &args.expressions {
        match text.split_once('=') {
            Some(("status", "failed" | "unsuccessful")) => outcome = SyscallOutcome::Failed,
            Some(("status", "successful")) => outcome = SyscallOutcome::Succeeded,
            Some(("trace" | "t", words)) => calls.extend(words.split(',').map(|word| word.trim().to_owned())),
            None => calls.extend(text.split(',').map(|word| word.trim().to_owned())),
            Some(("signal" | "s", "all")) => signals = true,
            Some(("signal" | "s", "none")) => signals = false,
            Some((what, _)) => {
                return Err(Failure::new(format!("-e {what}= is not known here"))
                    .remedy("Use -e trace=CALLS, -e status=failed, -e status=successful or -e signal=none."));
            }
        }
    }
    calls.retain(|word| !word.is_empty());
    if args.failed {
        outcome = SyscallOutcome::Failed;
    } else if args.successful {
        outcome = SyscallOutcome::Succeeded;
    }
    let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    Ok(SyscallSpec {
        calls,
        outcome,
        min_duration_ns: args.slower.map_or(0, nanoseconds),
        path: args.path.clone(),
        string_bytes: args.strings,
        fd_paths: args.files,
        signals,
    })
}

fn look(args: &StraceArgs) -> Look {
    Look {
        clock: match (args.time, args.relative) {
            (_, true) => Clock::Relative,
            (0, _) => Clock::None,
            (1, _) => Clock::Day,
            (2, _) => Clock::DayMicroseconds,
            _ => Clock::Epoch,
        },
        durations: args.times,
        json: args.json,
        lines: !args.count,
        summary: (args.count || args.both).then_some(match args.sort {
            SortBy::Time => SummaryOrder::Time,
            SortBy::Calls => SummaryOrder::Calls,
            SortBy::Errors => SummaryOrder::Errors,
            SortBy::Name => SummaryOrder::Name,
        }),
        in_file: args.output.is_some(),
        many: args.command.is_empty() && args.pid.is_none() || args.follow,
    }
}

async fn record(
    args: &StraceArgs,
    spec: CaptureSpec,
    client: AgentClient,
    place: &Workplace,
    to: Box<dyn std::io::Write>,
) -> Outcome {
    let (store, recorder) = trace::recorder(client, place).await?;
    let id = recorder.start(spec, "the command line").await.map_err(trace::start_failure)?;
    let mut writer = Writer::new(store.clone(), id, look(args), to);
    let mut output = Output { store: store.clone(), id, next: 0 };
    let followed = trace::follow(&recorder, id, async || {
        output.print_new().await?;
        writer.print_new().await
    })
    .await;
    recorder.ended(id).await;
    let state = recorder.target(id);
    writer.finish(state)?;
    report(&store, id, args.save.is_some()).await?;
    store.close().await;
    followed?;
    Ok(exit_code(state))
}

fn exit_code(state: TargetState) -> ExitCode {
    trace::exit_code(state)
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

/// What tracing cost, and what was lost, on standard error.
#[expect(clippy::print_stderr, reason = "standard output is the command's")]
async fn report(store: &Store, id: CaptureId, saved: bool) -> Result<(), Failure> {
    let record = store.capture(id).await.map_err(|error| Failure::because("reading the capture", error))?;
    let totals = record.ledger.streams.first().copied().unwrap_or_default();
    let mut text = format!("bathyscope: {} calls and signals shown", totals.stored);
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
    } else if all == 0 {
        text.push_str(", nothing lost");
    } else {
        text.push_str(&format!(", LOST {all} ({} of them because the ring was full)", lost(LossStage::RingFull)));
    }
    if saved {
        text.push_str(&format!(", kept as {}", record.id));
    }
    eprintln!("{text}");
    Ok(())
}
