//! `trace`: a capture from the terminal.
//!
//! The same two sides as behind the browser: an agent as a process of its own keeps the rights, this process gives them
//! up before it reads an event.

mod arguments;
mod rows;
mod summary;

use std::{path::PathBuf, process::ExitCode, time::Duration};

use bathyscope_agent::Simulation;
use bathyscope_capture::{CaptureId, CaptureSpec, TracepointName};
use bathyscope_catalog::{MAX_FORMAT_BYTES, parse_event_format};
use bathyscope_protocol::{AgentClient, ClientError, KernelFile, ProtocolError, TargetState};
use bathyscope_store::{Options, Store};
use clap::Args;

use crate::{
    Failure, Outcome,
    config::{DataArgs, LogArgs, LogFormat},
    launch::{OwnAgent, agent_failure, console_account, prepare_data},
    recorder::{AgentLink, Recorder, RecorderOptions, StartError, words},
};
use rows::Printer;

/// How often new rows are looked for.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// How long rows wait at most before they are stored, and so printed.
const FLUSH_EVERY: Duration = Duration::from_millis(200);
/// Hertz of a profile where none are given: not a divisor of the timer's rate, so as not to run in step with it.
const USUAL_HZ: &str = "99";

const EXAMPLES: &str = "\
Examples:
  bathyscope trace -e sched:sched_switch --duration 5s
  bathyscope trace -e syscalls:sys_enter_openat --fields filename --pid 4711
  bathyscope trace -e syscalls:sys_enter_write --filter 'count > 4096' --json -- make -j8
  bathyscope trace --profile --duration 10s
  bathyscope trace --profile=999 --save 'slow start' -- ./server --selftest

Rows go to standard output, what a command prints and the summary to standard error. Ctrl-C ends the capture. The exit \
status is the traced command's, else 0.";

/// What `trace` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct TraceArgs {
    /// Tracepoint to record; repeatable
    #[arg(short, long = "event", value_name = "SYSTEM:EVENT", required_unless_present = "profile")]
    pub events: Vec<TracepointName>,
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
    /// Only this process
    #[arg(short, long, value_name = "PID", conflicts_with = "command")]
    pub pid: Option<u32>,
    /// Without the processes that it forks
    #[arg(long)]
    pub no_children: bool,
    /// User that the command runs as [default: who runs this]
    #[arg(short, long, value_name = "NAME", requires = "command")]
    pub user: Option<String>,
    /// End after this time, such as 500ms, 5s or 2m
    #[arg(short, long, value_name = "TIME", value_parser = arguments::duration)]
    pub duration: Option<Duration>,
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
    /// Command to trace, with its arguments
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,
}

/// Makes the capture and prints its rows.
///
/// # Errors
/// If it cannot be started, or its rows cannot be read back.
pub fn run(args: TraceArgs) -> Outcome {
    let log = LogArgs { log_format: LogFormat::Text, log: args.log_filter.clone() };
    // What needs rights, or must happen before there are threads.
    let mut agent = OwnAgent::start(args.simulate.as_ref(), Some(&log))?;
    let account = console_account(None)?;
    let kept = match &args.save {
        Some(_) => Some(prepare_data(&args.data.directory()?, account.as_ref())?),
        None => None,
    };
    let mut client = agent.client(None)?;
    crate::logging::start(&log)?;
    let all_fields = |name: &TracepointName| recordable_fields(&mut client, name);
    let spec = arguments::spec(&args, all_fields)?;
    let place = Place::make(kept)?;
    let outcome = super::runtime()?.block_on(trace(&args, spec, client, &place));
    drop(agent);
    outcome
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

/// Where the capture is stored; a directory of its own is removed in the end.
struct Place {
    directory: PathBuf,
    own: bool,
}

impl Place {
    fn make(kept: Option<PathBuf>) -> Result<Self, Failure> {
        use std::os::unix::fs::DirBuilderExt as _;
        if let Some(directory) = kept {
            return Ok(Self { directory, own: false });
        }
        let failed = |error: std::io::Error| Failure::because("making a temporary directory", error);
        let random = getrandom::u64().map_err(|error| failed(std::io::Error::other(error)))?;
        let directory = std::env::temp_dir().join(format!("bathyscope-trace-{random:016x}"));
        std::fs::DirBuilder::new().mode(0o700).create(&directory).map_err(failed)?;
        Ok(Self { directory, own: true })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.own
            && let Err(error) = std::fs::remove_dir_all(&self.directory)
        {
            tracing::warn!(%error, directory = %self.directory.display(), "a temporary directory was left behind");
        }
    }
}

async fn trace(args: &TraceArgs, spec: CaptureSpec, client: AgentClient, place: &Place) -> Outcome {
    let options =
        Options { ballast_bytes: if place.own { 0 } else { Options::default().ballast_bytes }, ..Options::default() };
    let store = Store::open(&place.directory, options).await;
    let store = store.map_err(|error| Failure::because("opening the database", error))?;
    let mut client = Some(client);
    // There is only this one agent: once it is gone, it stays away.
    let link = AgentLink::new(move || client.take().ok_or(ClientError::Broken(ProtocolError::Closed)));
    let link = link.map_err(|error| Failure::because("starting a thread", error))?;
    link.connected(Duration::from_secs(5)).await;
    let options = RecorderOptions { flush_every: FLUSH_EVERY, ..RecorderOptions::new(&place.directory) };
    let recorder = Recorder::new(store.clone(), link, options);
    let is_profile = args.profile.is_some();
    let id = recorder.start(spec, "the command line").await.map_err(start_failure)?;
    let mut printer = Printer::new(store.clone(), id, args.json, is_profile);
    let followed = follow(&recorder, &mut printer, id).await;
    recorder.ended(id).await;
    let status = recorder.target(id);
    if is_profile {
        summary::print_profile(&store, id, args.json).await?;
    }
    summary::print(&store, id, args.save.as_deref()).await?;
    store.close().await;
    followed?;
    Ok(exit_code(status))
}

fn start_failure(error: StartError) -> Failure {
    match error {
        StartError::Agent(crate::recorder::LinkError::Refused(error)) => {
            Failure::new(format!("{}: {}", error.doing, error.why)).remedy(error.remedy)
        }
        error => Failure::new(words(&error)),
    }
}

/// Prints rows until the capture is stored, or the person has had enough.
async fn follow(recorder: &Recorder, printer: &mut Printer, id: CaptureId) -> Result<(), Failure> {
    let mut terminate = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())
        .map_err(|error| Failure::because("listening for signals", error))?;
    let mut look = tokio::time::interval(LOOK_EVERY);
    let stored = recorder.wait(id);
    tokio::pin!(stored);
    loop {
        let ended = tokio::select! {
            () = &mut stored => true,
            _ = look.tick() => false,
            _ = tokio::signal::ctrl_c() => { recorder.stop(id, "Ctrl-C"); false }
            _ = terminate.recv() => { recorder.stop(id, "SIGTERM"); false }
        };
        match printer.print_new().await {
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

fn exit_code(target: TargetState) -> ExitCode {
    match target {
        TargetState::Exited { code: Some(code), .. } => ExitCode::from(u8::try_from(code & 0xff).unwrap_or(1)),
        // As shells tell of a signal.
        TargetState::Exited { signal: Some(signal), .. } => ExitCode::from(u8::try_from(128 + signal).unwrap_or(255)),
        TargetState::Exited { .. } | TargetState::Running | TargetState::Gone => ExitCode::SUCCESS,
    }
}
