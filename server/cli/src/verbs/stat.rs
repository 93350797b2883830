//! `stat`: how often events happen while a command runs, in a process, or on the whole machine.
//!
//! A capture like those that the browser makes, of which the terminal shows the sums as `perf stat` does. What is shown
//! goes to standard error, as there: standard output is the command's.

mod arguments;
mod report;
mod sums;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use bathyscope_agent::Simulation;
use bathyscope_capture::{CaptureId, CaptureSpec, OutputStream};
use bathyscope_catalog::{parse_available_events, perf_events::ProcCounter};
use bathyscope_console::library::expanded;
use bathyscope_link::AgentLink;
use bathyscope_protocol::{AgentClient, ClientError, KernelFile, ProtocolError};
use bathyscope_recorder::{Recorder, RecorderOptions};
use bathyscope_store::{Options, Store, StoreError};
use clap::{ArgAction, Args};

use super::{
    kept,
    trace::{FLUSH_EVERY, LOOK_EVERY, exit_status, start_failure, workplace},
};
use crate::{
    Failure, Outcome,
    config::{DataArgs, LogArgs, LogFormat, Scripts},
    launch::{OwnAgent, Workplace, agent_failure},
    signals::EndSignals,
};
use report::Report;
use sums::{Reader, Sums};

/// Pieces of the command's output that are read at once.
const OUTPUT_PIECES: u32 = 1000;

const EXAMPLES: &str = "\
Events are written as perf writes them: cycles, page-faults, L1-dcache-load-misses, sched:sched_switch, r1a8, \
cpu/event=0x3c,umask=0/, mem:0xADDRESS/8:w, each with modifiers such as :u, and groups in braces.

What the kernel tells of the whole machine is counted beside them: pressure:io-some and the like (how long threads waited for CPU, \
memory or input and output; in a control group with -G), memory:available (what memory is used for, a value of the moment), \
vm:pgscan_direct (page-ins, swapping, reclaim, stalls). `bathyscope list perf` shows all events and whether they work here.

Examples:
  bathyscope stat make -j8
  bathyscope stat -a -I 1000 -e kmem:kmalloc
  bathyscope stat -a -I 1000 -e 'pressure:*,memory:available,memory:dirty'
  bathyscope stat -C 2,3 -- sleep 5
  bathyscope stat -a -I 1000 --probe malloc --exec libc
  bathyscope stat -ddd -p 4711,4712 sleep 10
  bathyscope stat -a -- make -j8
  bathyscope stat -e 'syscalls:sys_enter_*' -x, -- ls
  bathyscope stat -r 5 -e '{cycles,instructions}:u' -- ./server --selftest

The exit status is the command's.";

/// What `stat` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct StatArgs {
    /// Events to count, comma-separated, and kept probes by name or pattern (probe:vfs_*); those in braces are counted together; repeatable [default: those of perf stat]
    #[arg(short, long = "event", value_name = "EVENTS")]
    pub events: Vec<String>,
    /// Probe to make and count, as after `perf probe --add` or in the grammar of kprobe_events; repeatable
    #[arg(long, value_name = "DEFINITION")]
    pub probe: Vec<String>,
    /// Program or library that the probes' functions are in, a path or a name such as bash or libc; -x too, with --probe
    #[arg(long, value_name = "FILE", requires = "probe")]
    pub exec: Option<String>,
    /// Everything on all CPUs; with a command while it runs
    #[arg(short = 'a', long)]
    pub all_cpus: bool,
    /// Only on these CPUs, such as 0,2-5; without a process everything on them, with a command while it runs
    #[arg(short = 'C', long, value_name = "CPUS")]
    pub cpu: Option<String>,
    /// A process with all its threads, or a comma-separated list; with a command while it runs
    #[arg(short, long, value_name = "PID,…", value_delimiter = ',', conflicts_with = "tid")]
    pub pid: Vec<u32>,
    /// A thread, or a comma-separated list; with a command while it runs
    #[arg(short, long, value_name = "TID,…", value_delimiter = ',')]
    pub tid: Vec<u32>,
    /// Milliseconds from the start, and so from the command's, until counting begins
    #[arg(short = 'D', long, value_name = "MS", value_parser = super::letters_of_perf::delay, allow_hyphen_values = true)]
    pub delay: Option<u32>,
    /// Only threads of this control group, a path below /sys/fs/cgroup; with -a
    #[arg(short = 'G', long, value_name = "PATH")]
    pub cgroup: Option<String>,
    /// Show counts each so many milliseconds
    #[arg(short = 'I', long = "interval-print", value_name = "MS")]
    pub interval: Option<u32>,
    /// More events of caches; twice and three times even more
    #[arg(short, long = "detailed", action = ArgAction::Count)]
    pub detail: u8,
    /// A line for each CPU
    #[arg(short = 'A', long, visible_alias = "per-cpu", conflicts_with_all = ["per_core", "per_thread"])]
    pub no_aggr: bool,
    /// A line for each core
    #[arg(long, conflicts_with = "per_thread")]
    pub per_core: bool,
    /// A line for each thread
    #[arg(long)]
    pub per_thread: bool,
    /// Without the processes that it forks
    #[arg(short = 'i', long)]
    pub no_inherit: bool,
    /// Run the command so many times, and show mean and deviation
    #[arg(short, long, value_name = "TIMES", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub repeat: u32,
    /// Lines of fields with this between them
    #[arg(short = 'x', long, value_name = "SEPARATOR", conflicts_with = "json")]
    pub field_separator: Option<String>,
    /// Print JSON, one object a line
    #[arg(short, long, alias = "json-output")]
    pub json: bool,
    /// Write what is counted to a file; - for standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// End after this time, such as 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = super::range::duration)]
    pub duration: Option<Duration>,
    /// The same as perf stat has it: a number alone is milliseconds
    #[arg(long, value_name = "MS", value_parser = milliseconds, conflicts_with = "duration", hide = true)]
    pub timeout: Option<Duration>,
    /// User that the command runs as [default: who runs this]
    #[arg(short, long, value_name = "NAME")]
    pub user: Option<String>,
    /// Keep the capture under this name, to look at it in the browser; no console may be running on the same database
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,
    /// Make up events instead of counting
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
    /// Command to run and count, with its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub words: Vec<String>,
}

/// A time whose number alone is milliseconds.
fn milliseconds(text: &str) -> Result<Duration, String> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    super::range::duration(&if is_number { format!("{text}ms") } else { text.to_owned() })
}

/// Counts, and shows what was counted.
///
/// # Errors
/// If it cannot be started, or its counts cannot be read back.
pub fn run(mut args: StatArgs) -> Outcome {
    arguments::take_file(&mut args);
    let log = LogArgs { log_format: LogFormat::Text, log: args.log_filter.clone() };
    // What needs rights, or must happen before there are threads.
    let names_kept = args.events.iter().any(|list| kept::list_may_be_kept(list));
    let place = workplace(args.save.is_some(), names_kept, &args.data)?;
    // Probes read memory as scripts do.
    let scripts = if args.probe.is_empty() && !names_kept { Scripts::Off } else { Scripts::Observe };
    let mut agent = OwnAgent::start_at(&place, args.simulate.as_ref(), Some(&log), scripts)?;
    let report = Report::open(&args)?;
    let mut client = agent.client_at(&place)?;
    crate::logging::start(&log)?;
    let runtime = super::runtime()?;
    let known = if names_kept { runtime.block_on(kept::kept_in(&args.data.directory()?))? } else { Vec::new() };
    let spec = arguments::spec(&args, &mut |pattern| {
        let found = tracepoints(&mut client, pattern)?;
        Ok(if found.is_empty() { kept::names_of(pattern, &known) } else { found })
    })?;
    let available = if known.is_empty() { Vec::new() } else { super::record::available(&mut client)? };
    let is_event = |name: &str| available.iter().any(|known| known.to_string() == name);
    let (spec, _put_in) = expanded(spec, &known, &is_event);
    super::to_the_end(agent, runtime, count(&args, spec, client, &place, report))
}

/// The tracepoints that match a pattern, and the counters in files of the kernel.
fn tracepoints(client: &mut AgentClient, pattern: &str) -> Result<Vec<String>, Failure> {
    let file = client.open_kernel_file(KernelFile::AvailableEvents);
    let bytes =
        super::list::read(file.map_err(|error| agent_failure("listing tracepoints", error))?, "the tracepoints")?;
    let tracepoints = parse_available_events(&bytes).into_iter().map(|name| name.to_string());
    let of_files = ProcCounter::all().map(|counter| counter.name().to_owned());
    let names = tracepoints.chain(of_files);
    Ok(names.filter(|name| bathyscope_catalog::matches_wildcards(pattern, name)).collect())
}

async fn count(
    args: &StatArgs,
    spec: CaptureSpec,
    client: AgentClient,
    place: &Workplace,
    mut report: Report,
) -> Outcome {
    let options = Options {
        ballast_bytes: if place.is_own() { 0 } else { Options::default().ballast_bytes },
        ..Options::default()
    };
    let store = Store::open(place.directory(), options).await;
    let store = store.map_err(|error| Failure::because("opening the database", error))?;
    let mut client = Some(client);
    // There is only this one agent: once it is gone, it stays away.
    let link = AgentLink::new(move || client.take().ok_or(ClientError::Broken(ProtocolError::Closed)));
    let link = link.map_err(|error| Failure::because("starting a thread", error))?;
    link.connected(Duration::from_secs(5)).await;
    let options = RecorderOptions { flush_every: FLUSH_EVERY, ..RecorderOptions::new(place.directory()) };
    let recorder = Recorder::new(store.clone(), link, options);
    let mut runs = Vec::new();
    let mut status = ExitCode::SUCCESS;
    for _ in 0..args.repeat {
        let id = recorder.start(spec.clone(), "the command line").await.map_err(start_failure)?;
        let mut run = CountRun { reader: Reader::new(store.clone(), id), pieces: 0, stopped: false };
        let mut sums = run.follow(&recorder, id, args, &mut report).await?;
        recorder.ended(id).await;
        sums.command = recorder.command_time(id);
        status = exit_status(&recorder, id);
        report.note(&store, id, args.save.is_some()).await?;
        runs.push(sums);
        if run.stopped {
            break;
        }
    }
    report.total(&runs)?;
    store.close().await;
    Ok(status)
}

/// One run of what is counted.
struct CountRun {
    reader: Reader,
    /// How many parts of the command's output were passed on.
    pieces: u64,
    stopped: bool,
}

impl CountRun {
    /// Passes the command's output on and shows intervals, until the capture has ended.
    async fn follow(
        &mut self,
        recorder: &Recorder,
        id: CaptureId,
        args: &StatArgs,
        report: &mut Report,
    ) -> Result<Sums, Failure> {
        let mut signals = EndSignals::watch()?;
        let mut look = tokio::time::interval(LOOK_EVERY);
        let mut sums = Sums::new(arguments::cores(args));
        let stored = recorder.wait(id);
        tokio::pin!(stored);
        loop {
            let ended = tokio::select! {
                () = &mut stored => true,
                _ = look.tick() => false,
                signal = signals.next() => { self.stopped |= recorder.stop(id, signal); false }
            };
            self.pass_on(id).await.map_err(|error| Failure::because("reading the command's output", error))?;
            let rows = self.reader.new_rows().await;
            for row in rows.map_err(|error| Failure::because("reading back what was counted", error))? {
                if let Some((time_ns, interval)) = sums.add(row)
                    && args.interval.is_some()
                {
                    report.interval(time_ns, &interval)?;
                }
            }
            if ended {
                let last = sums.last_interval();
                if let Some((time_ns, interval)) = last.filter(|_| args.interval.is_some()) {
                    report.interval(time_ns, &interval)?;
                }
                return Ok(sums);
            }
        }
    }

    /// What the command prints goes where this process prints, as if it had been started from the same terminal.
    async fn pass_on(&mut self, id: CaptureId) -> Result<(), StoreError> {
        loop {
            let pieces = self.reader.store().output(id, self.pieces, OUTPUT_PIECES).await?;
            if pieces.is_empty() {
                return Ok(());
            }
            for piece in pieces {
                self.pieces += 1;
                // If nobody reads it the command is counted all the same.
                let _unread = match piece.stream {
                    OutputStream::Stdout => write_all(std::io::stdout().lock(), &piece.bytes),
                    OutputStream::Stderr => write_all(std::io::stderr().lock(), &piece.bytes),
                };
            }
        }
    }
}

fn write_all(mut to: impl std::io::Write, bytes: &[u8]) -> std::io::Result<()> {
    to.write_all(bytes)?;
    to.flush()
}
