//! `trace`: a capture from the terminal.
//!
//! The same two sides as behind the browser: an agent as a process of its own keeps the rights, this process gives them
//! up before it reads an event.

pub(super) mod arguments;
pub(in crate::verbs) mod names;
pub(super) mod order;
mod records;
pub(in crate::verbs) mod rows;
pub(super) mod summary;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use bathyscope_agent::Simulation;
use bathyscope_capture::{CaptureId, CaptureSpec, Target, TracepointName};
use bathyscope_catalog::{MAX_FORMAT_BYTES, parse_event_format};
use bathyscope_commands::KeptProbe;
use bathyscope_link::{AgentLink, words};
use bathyscope_protocol::{AgentClient, ClientError, KernelFile, ProtocolError, TargetState};
use bathyscope_recorder::{Recorder, RecorderOptions, StartError};
use bathyscope_store::{Options, Store};
use clap::{ArgAction, Args, ValueEnum};

use super::{capture_file::CaptureFile, kept, probes, script};
use crate::{
    Failure, Outcome,
    config::{DataArgs, LogArgs, LogFormat, Scripts},
    launch::{OwnAgent, Workplace, agent_failure},
    signals::EndSignals,
};
pub(super) use arguments::{missing_option, read_script, unknown_option};
use rows::RowPrinter;

/// Prints the summary of a capture that was kept, on standard error.
pub(super) async fn print_summary(store: &Store, id: CaptureId, detached: bool) -> Result<(), Failure> {
    summary::print(store, id, Some(""), detached).await
}

/// How often new rows are looked for.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long rows wait at most before they are stored, and so printed.
pub(super) const FLUSH_EVERY: Duration = Duration::from_millis(200);
/// Hertz of a profile where none are given: not a divisor of the timer's rate, so as not to run in step with it.
const USUAL_HZ: &str = "99";

const EXAMPLES: &str = "\
A script is in the language of bpftrace: after -e, in a FILE, or in standard input (-). The words after it are its \
parameters: $1, $2 …, and --NAME=VALUE for getopt(). -e SYSTEM:EVENT alone records a tracepoint's fields instead.

Examples:
  bathyscope trace -e 'tracepoint:raw_syscalls:sys_enter { @[comm] = count(); }'
  bathyscope trace -e 'uprobe:/bin/bash:readline { printf(\"%d\\n\", pid); }' -p 4711
  bathyscope trace opens.bt --all 5
  bathyscope trace -f json -c 'ls -l /' opens.bt
  bathyscope trace -l 'tracepoint:sched:*'
  bathyscope trace -lv 'struct task_struct'
  bathyscope trace -e sched:sched_switch --duration 5s
  bathyscope trace -e syscalls:sys_enter_write --filter 'count > 4096' --json -- make -j8
  bathyscope trace --profile --save 'slow start' -- ./server --selftest

Rows and what a script prints go to standard output; what a command prints beside rows, and the summary, to standard \
error. On a terminal, control characters of events are shown as escapes; files and pipes get them as they are. Ctrl-C \
ends the capture or script, a second one at once. The exit status is that of the script's exit(), else the traced \
command's, else 0.";

/// How a script's output is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// As people read it
    Text,
    /// One JSON object a line
    Json,
}

/// Whose events are recorded, beside a process and a command.
#[derive(Clone, Debug, Default, Args)]
#[group(id = "of", multiple = false, conflicts_with = "pid")]
pub struct OfArgs {
    /// Only processes of this control group (version 2) and those below it
    #[arg(long, value_name = "PATH")]
    pub cgroup: Option<String>,
    /// Only processes of this unit of systemd
    #[arg(long, value_name = "NAME")]
    pub unit: Option<String>,
    /// Only processes of this container, by its name or the beginning of its id
    #[arg(long, value_name = "NAME")]
    pub container: Option<String>,
    /// Only processes of this user
    #[arg(long, value_name = "USER")]
    pub uid: Option<String>,
    /// Only threads of this name; `*` at its beginning or end stands for anything
    #[arg(long, value_name = "PATTERN")]
    pub comm: Option<String>,
}

impl OfArgs {
    /// The target that they name; none if they name none.
    pub fn target(&self) -> Option<Target> {
        let named = [
            self.cgroup.clone().map(|path| Target::Cgroup { path }),
            self.unit.clone().map(|name| Target::Unit { name }),
            self.container.clone().map(|name| Target::Container { name }),
            self.uid.clone().map(|user| Target::User { user }),
            self.comm.clone().map(|pattern| Target::Comm { pattern }),
        ];
        named.into_iter().flatten().next()
    }
}

/// What `trace` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TraceArgs {
    /// Script to run (of several the last), or tracepoint (SYSTEM:EVENT) or kept probe (probe:NAME, or a pattern) to record; events are repeatable
    #[arg(short, long = "event", value_name = "SCRIPT")]
    pub events: Vec<String>,
    /// List probes that match a pattern such as 'kprobe:tcp_*' instead; with -v their arguments, or a type's definition
    #[arg(short = 'l', long = "list", conflicts_with = "profile")]
    pub list: bool,
    /// Program to run and trace, with its arguments, in one text; no shell is started
    #[arg(short, long, visible_alias = "cmd", value_name = "COMMAND")]
    pub command: Option<String>,
    /// How a script's output is written
    #[arg(short, long, value_enum, value_name = "FORMAT", overrides_with = "format")]
    pub format: Option<Format>,
    /// Write a script's output to a file
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// How soon a script's output is written
    #[arg(short = 'B', long, value_enum, value_name = "WHEN", default_value_t)]
    pub buffer: script::Buffering,
    /// Do not print how many probes a script has attached
    #[arg(short, long, overrides_with = "quiet")]
    pub quiet: bool,
    /// Write text of events into files and pipes as it came, with control bytes and line breaks; terminals never get them
    #[arg(long)]
    pub raw: bool,
    /// Print more
    #[arg(short, long, action = ArgAction::Count)]
    pub verbose: u8,
    /// Let a script change what it observes: system(), signal(), override(), write_user(), probes at raw addresses
    #[arg(long = "unsafe", overrides_with = "allow_unsafe")]
    pub allow_unsafe: bool,
    /// Compile a script, say what is wrong with it, and attach nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Do not show warnings about a script
    #[arg(long)]
    pub no_warnings: bool,
    /// Fields of the tracepoints to record [default: all that can be]
    #[arg(long, value_name = "FIELD,…", value_delimiter = ',', conflicts_with = "profile")]
    pub fields: Option<Vec<String>>,
    /// Record only hits that satisfy this condition, such as 'count > 4096 && comm == "dd"'
    #[arg(long, value_name = "TEXT", conflicts_with = "profile")]
    pub filter: Option<String>,
    /// Sample stacks so many times a second on each CPU, and print the functions found most often
    #[arg(
        long, value_name = "HZ", num_args = 0..=1, require_equals = true, default_missing_value = USUAL_HZ,
        conflicts_with = "events"
    )]
    pub profile: Option<u32>,
    /// Only this process, or a comma-separated list; with a command while it runs
    #[arg(short, long, value_name = "PID,…", value_delimiter = ',')]
    pub pid: Vec<u32>,
    /// Everything, which is the default without a command; with one while it runs
    #[arg(long, conflicts_with_all = ["pid", "of"])]
    pub all_cpus: bool,
    /// Only those of a group of processes.
    #[command(flatten)]
    pub of: OfArgs,
    /// Without the processes that it forks
    #[arg(long)]
    pub no_children: bool,
    /// User that the command runs as [default: who runs this]
    #[arg(short, long, value_name = "NAME")]
    pub user: Option<String>,
    /// End after this time, such as 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = super::range::duration)]
    pub duration: Option<Duration>,
    /// What it may cost.
    #[command(flatten)]
    pub budgets: crate::verbs::budgets::BudgetArgs,
    /// Print the version
    #[arg(short = 'V', long)]
    pub version: bool,
    /// Say what this host can trace, as `doctor` does
    #[arg(long)]
    pub info: bool,
    /// Accepted for bpftrace's sake: helpers that fail are always counted, and told at the end
    #[arg(short = 'k', action = ArgAction::Count)]
    pub helper_errors: u8,
    /// Accepted for bpftrace's sake: counters (semaphores) of USDT probes are raised for all processes in any case
    #[arg(long)]
    pub usdt_file_activation: bool,
    /// Not supported: C headers are not read, types come from the kernel and the script
    #[arg(long, value_name = "FILE")]
    pub include: Vec<String>,
    /// Not supported: as --include
    #[arg(short = 'I', value_name = "FOLDER")]
    pub include_folder: Vec<String>,
    /// Keep the capture under this name, to look at it in the browser; no console may be running on the same database
    #[arg(long, value_name = "NAME")]
    pub save: Option<String>,
    /// Print JSON, one object a line
    #[arg(long)]
    pub json: bool,
    /// Make up events instead of tracing
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "", hide = true)]
    pub simulate: Option<Simulation>,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
    /// What is logged: a level, or levels by module
    #[arg(long = "log", value_name = "FILTER", default_value = "warn")]
    pub log_filter: String,
    /// Script's file and its parameters; after -e only parameters; for rows and profiles, after --, the command to run
    #[arg(value_name = "FILE|WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
}

/// Makes the capture and prints its rows.
///
/// # Errors
/// If it cannot be started, or its rows cannot be read back.
pub fn run(args: &TraceArgs) -> Outcome {
    if args.version {
        return super::print_all(&format!("bathyscope {}\n", env!("CARGO_PKG_VERSION")));
    }
    if args.info {
        return super::doctor::run(super::doctor::DoctorArgs { json: args.json });
    }
    tell_ignored(args);
    match arguments::task(args)? {
        arguments::Task::Rows => rows(args),
        arguments::Task::Script(script) => match &args.save {
            None => script::run(&script),
            Some(name) => script::run_saved(&script, name, &args.data),
        },
        arguments::Task::List(patterns) => probes::run(
            &patterns,
            args.verbose > 0,
            arguments::is_json(args),
            args.pid.first().copied(),
            args.simulate.as_ref(),
        ),
    }
}

/// Options that have no meaning here.
#[expect(clippy::print_stderr, reason = "a warning to whoever typed them")]
fn tell_ignored(args: &TraceArgs) {
    let includes = !args.include.is_empty() || !args.include_folder.is_empty();
    if includes && !args.no_warnings {
        eprintln!("WARNING: C headers are not read: types come from the kernel's BTF and from the script");
    }
}

fn rows(args: &TraceArgs) -> Outcome {
    let names_kept = args.events.iter().any(|event| kept::may_be_kept(event.trim()));
    let how = Recording {
        simulate: args.simulate.as_ref(),
        log_filter: &args.log_filter,
        save: args.save.as_deref(),
        data: &args.data,
        json: arguments::is_json(args),
        shows: if args.profile.is_some() { Shows::Functions } else { Shows::Rows },
        file: None,
        names_kept,
    };
    record(&how, |client, known| {
        let mut events = args.events.iter().map(|event| (event.trim().to_owned(), None)).collect();
        let available = if names_kept { super::record::available(client)? } else { Vec::new() };
        let probes = kept::taken(&mut events, known, &available)?;
        let events: Vec<String> = events.into_iter().map(|(event, _)| event).collect();
        arguments::spec(args, &arguments::Asked { events, probes }, |name| recordable_fields(client, name))
    })
}

/// How a capture is made and shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Recording<'a> {
    /// Made events instead.
    pub(super) simulate: Option<&'a Simulation>,
    /// What is logged.
    pub(super) log_filter: &'a str,
    /// The name under which it is kept.
    pub(super) save: Option<&'a str>,
    /// Where it is kept.
    pub(super) data: &'a DataArgs,
    /// Whether JSON is printed.
    pub(super) json: bool,
    /// What is printed on standard output.
    pub(super) shows: Shows,
    /// The file that it is written to at the end.
    pub(super) file: Option<&'a CaptureFile>,
    /// Whether kept probes may be named, which are read from where captures are kept.
    pub(super) names_kept: bool,
}

/// What is printed of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shows {
    /// Its rows, as they come.
    Rows,
    /// At the end the functions found most often.
    Functions,
    /// Nothing: standard output is for something else.
    Nothing,
}

/// Makes a capture and prints its rows, or the functions of a profile.
pub(super) fn record(
    how: &Recording<'_>,
    spec: impl FnOnce(&mut AgentClient, &[KeptProbe]) -> Result<CaptureSpec, Failure>,
) -> Outcome {
    let log = LogArgs { log_format: LogFormat::Text, log: how.log_filter.to_owned() };
    // What needs rights, or must happen before there are threads.
    let place = workplace(how.save.is_some(), how.names_kept, how.data)?;
    // Probes read memory as scripts do.
    let scripts = if how.names_kept { Scripts::Observe } else { Scripts::Off };
    let mut agent = OwnAgent::start_at(&place, how.simulate, Some(&log), scripts)?;
    let mut client = agent.client_at(&place)?;
    crate::logging::start(&log)?;
    let runtime = super::runtime()?;
    let known = if how.names_kept { runtime.block_on(kept::kept_in(&how.data.directory()?))? } else { Vec::new() };
    let spec = spec(&mut client, &known)?;
    super::to_the_end(agent, runtime, trace(how, spec, client, &place))
}

/// The fields of a tracepoint that can be recorded.
fn recordable_fields(client: &mut AgentClient, name: &TracepointName) -> Result<Vec<String>, Failure> {
    use std::io::Read as _;
    let doing = format!("reading the format of {name}");
    let file = client.open_kernel_file(KernelFile::EventFormat { tracepoint: name.clone() });
    let file = file.map_err(|error| agent_failure(&doing, error))?;
    let mut text = Vec::new();
    let read = std::fs::File::from(file).take(MAX_FORMAT_BYTES as u64).read_to_end(&mut text);
    read.map_err(|error| Failure::because(doing.clone(), error))?;
    let format = parse_event_format(&text).map_err(|error| Failure::because(doing, error))?;
    let fields = format.fields.iter().filter(|field| field.obstacle().is_none());
    Ok(fields.take(bathyscope_capture::MAX_FIELDS).map(|field| field.name.clone()).collect())
}

/// Where captures are kept, or a directory of its own for one that is not; `reads` says whether the former is read too.
pub(super) fn workplace(keeps: bool, reads: bool, data: &DataArgs) -> Result<Workplace, Failure> {
    match (keeps, reads) {
        (true, _) => Workplace::make(Some(&data.directory()?)),
        (false, true) => Workplace::beside(&data.directory()?),
        (false, false) => Workplace::make(None),
    }
}

/// Opens the place's database and makes a recorder that asks through `client`.
pub(super) async fn recorder(client: AgentClient, place: &Workplace) -> Result<(Store, Recorder), Failure> {
    recorder_and_link(client, place).await.map(|(store, recorder, _)| (store, recorder))
}

/// The same, with the link that others may ask through too.
pub(super) async fn recorder_and_link(
    client: AgentClient,
    place: &Workplace,
) -> Result<(Store, Recorder, AgentLink), Failure> {
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
    let options =
        RecorderOptions { flush_every: FLUSH_EVERY, idle_stop: None, ..RecorderOptions::new(place.directory()) };
    let recorder = Recorder::new(store.clone(), link.clone(), options);
    Ok((store, recorder, link))
}

async fn trace(how: &Recording<'_>, spec: CaptureSpec, client: AgentClient, place: &Workplace) -> Outcome {
    let (store, recorder) = recorder(client, place).await?;
    let id = recorder.start(spec, "the command line").await.map_err(start_failure)?;
    let mut printer = RowPrinter::new(store.clone(), recorder.clone(), id, how.json, how.shows != Shows::Rows);
    let followed = follow(&recorder, id, async || printer.print_new().await).await;
    recorder.ended(id).await;
    let status = exit_status(&recorder, id);
    if how.shows == Shows::Functions {
        summary::print_profile(&store, id, how.json).await?;
    }
    if let Some(file) = how.file {
        file.write(&store, id, place.directory()).await?;
    }
    summary::print(&store, id, how.save, recorder.detached(id).is_some()).await?;
    store.close().await;
    followed?;
    Ok(status)
}

/// Why a capture could not be started, with what helps.
pub(super) fn start_failure(error: StartError) -> Failure {
    match error {
        StartError::Agent(bathyscope_link::LinkError::Refused(error)) => {
            Failure::new(format!("{}: {}", error.doing, error.why)).remedy(error.remedy)
        }
        StartError::Dynamic { text, diagnostics } => {
            let words = words(&StartError::Dynamic { text: text.clone(), diagnostics: diagnostics.clone() });
            super::probe::refused(&text, &diagnostics).unwrap_or_else(|| Failure::new(words))
        }
        error => Failure::new(words(&error)),
    }
}

/// Prints rows until the capture is stored, or the person has had enough.
pub(super) async fn follow(
    recorder: &Recorder,
    id: CaptureId,
    mut print_new: impl AsyncFnMut() -> Result<bool, Failure>,
) -> Result<(), Failure> {
    let mut signals = EndSignals::watch()?;
    let mut look = tokio::time::interval(LOOK_EVERY);
    let stored = recorder.wait(id);
    tokio::pin!(stored);
    loop {
        let ended = tokio::select! {
            () = &mut stored => true,
            _ = look.tick() => false,
            signal = signals.next() => { recorder.stop(id, signal); false }
        };
        match print_new().await {
            Ok(true) => {}
            // Nobody reads any more.
            Ok(false) => {
                recorder.stop(id, "its reader, which went away");
                stored.await;
                return Ok(());
            }
            Err(error) => {
                recorder.stop(id, "a failure to print its rows");
                return Err(error);
            }
        }
        if ended {
            return Ok(());
        }
    }
}

/// The exit status where the guard has ended a capture and no command has failed.
pub(super) const DETACHED: u8 = 3;

/// How a capture has ended: as its command, or by the guard if the command has not failed.
pub(super) fn exit_status(recorder: &Recorder, id: CaptureId) -> ExitCode {
    status_of(recorder.target(id), recorder.detached(id).is_some())
}

/// The same of what is known: a command's own failure is worth more than that it was not watched to its end.
pub(super) fn status_of(target: TargetState, detached: bool) -> ExitCode {
    let failed = matches!(target, TargetState::Exited { code, signal } if code.is_some_and(|code| code != 0) || signal.is_some());
    if detached && !failed { ExitCode::from(DETACHED) } else { exit_code(target) }
}

/// As shells tell how a command ended.
pub(super) fn exit_code(target: TargetState) -> ExitCode {
    match target {
        TargetState::Exited { code: Some(code), .. } => ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)),
        // As shells tell of a signal.
        TargetState::Exited { signal: Some(signal), .. } => ExitCode::from(u8::try_from(128 + signal).unwrap_or(255)),
        TargetState::Exited { .. } | TargetState::Running | TargetState::Gone => ExitCode::SUCCESS,
    }
}
