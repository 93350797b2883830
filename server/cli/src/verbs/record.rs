//! `record`: a trace by the kernel's ftrace, kept as a capture, with the letters of `trace-cmd record`; and whatever else is to be
//! recorded on the same clock.
//!
//! An agent as a process of its own keeps the rights; this process gives them up before it reads an event.

mod observes;
mod save;
mod sources;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use bathyscope_capture::{
    CaptureId, CaptureSpec, DynamicProbe, Limits, MAX_TRACE_EVENTS, Method, SourceSpec, Target, TraceEvent, TraceSpec,
    TracepointName,
};
use bathyscope_catalog::{
    closest,
    dynamic::missing_dynamic_event,
    matches_wildcards, parse_available_events,
    recipes::{Recipe, RecipeTarget},
};
use bathyscope_link::AgentLink;
use bathyscope_protocol::{AgentClient, ClientError, KernelFile, ProtocolError};
use bathyscope_reader::CaptureCache;
use bathyscope_recorder::{Recorder, RecorderOptions};
use bathyscope_store::{Options, Store};
use bathyscope_views::ViewError;
use clap::{ArgAction, ArgMatches, Args, FromArgMatches};

use super::{
    budgets::limits_of_target,
    capture_file::CaptureFile,
    kept,
    letters_of_perf::while_runs,
    range::duration,
    recipes::FoundRecipe,
    report::write_new,
    trace::{FLUSH_EVERY, exit_status, follow, missing_option, print_summary, start_failure},
};
use crate::{
    Failure, Outcome,
    config::{DataArgs, LogArgs, LogFormat, Scripts},
    launch::{OwnAgent, Workplace, agent_failure},
    signals::EndSignals,
};
pub(super) use observes::{OBSERVES, observe};
use save::{RecipeToSave, SaveArgs};
use sources::SourceArgs;

/// The most that is read of the list of events.
const MAX_LIST_BYTES: u64 = 16 << 20;

const EXAMPLES: &str = "\
Examples:
  bathyscope record -p function_graph -g do_sys_openat2 -O funcgraph-proc -F ls
  bathyscope record -p function -l 'vfs_*' -e sched_switch ls
  bathyscope record -e sched_switch sleep 2
  bathyscope record -e kmem:kmalloc -f 'bytes_req > 1000' --duration 5s
  bathyscope record --live -e irq --duration 5s
  bathyscope record --probe 'do_sys_openat2 filename:string' ls
  bathyscope record --probe 'p:open do_sys_openat2 file=+0($arg2):string' ls
  bathyscope record -e 'probe:vfs_*' ls                        probes that are kept by name
  bathyscope record -x bash --probe 'readline%return +0($retval):string' --duration 1m
  bathyscope record -e sched_switch --syscalls --profile -F make
  bathyscope record --states --sleep-stacks -P 4711 --duration 10s
  bathyscope record --recipe process-time -P 4711
  bathyscope record --profile=199 --syscalls=%file --stat -P 4711 --duration 10s
  bathyscope record --profile --states --optional states -P 4711 --duration 10s
  bathyscope record --recipe disk --optional requests --profile --duration 5s --save my-disk
  bathyscope record --recipe my-disk
  bathyscope record --syscalls=%file --flight 30s --when 'duration_ns > 100ms'
  bathyscope record --states --flight 1m --when 'on run-queue latency if duration_ns > 20ms' --per-day 5
  bathyscope report | less

Everything is traced for as long as COMMAND runs; with -F only the command itself, with -F -c also what it starts, with -P \
only those processes. Without a command it lasts until Ctrl-C or the end of --duration. The command has the terminal as if a shell \
had started it. The capture is shown by `bathyscope report` and in the browser. No console may be running \
on the same database while something is recorded; with --save alone one may. The exit status is the command's.";

/// What `record` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RecordArgs {
    /// Tracer such as function or function_graph [default: none, only events]
    #[arg(short = 'p', long = "plugin", value_name = "TRACER")]
    pub tracer: Option<String>,
    /// Events.
    #[command(flatten)]
    pub events: EventArgs,
    /// Probe to make and record, as after `perf probe --add` or in the grammar of kprobe_events; repeatable
    #[arg(long, value_name = "DEFINITION")]
    pub probe: Vec<String>,
    /// Program or library that the probes' functions are in, a path or a name such as bash or libc
    #[arg(short = 'x', long, value_name = "FILE", requires = "probe")]
    pub exec: Option<String>,
    /// Probes that are kept by name, of those behind -e.
    #[arg(skip)]
    pub kept: Vec<DynamicProbe>,
    /// Functions to trace, a pattern such as 'vfs_*'; repeatable
    #[arg(short = 'l', long = "function", value_name = "FUNC")]
    pub functions: Vec<String>,
    /// Functions not to trace; repeatable
    #[arg(short = 'n', long = "not-function", value_name = "FUNC")]
    pub not_functions: Vec<String>,
    /// Functions with which the graph begins; repeatable
    #[arg(short = 'g', long = "graph", value_name = "FUNC")]
    pub roots: Vec<String>,
    /// How deep the graph goes
    #[arg(long, value_name = "N")]
    pub max_graph_depth: Option<u32>,
    /// Option of ftrace, with `no` before it to switch it off; repeatable
    #[arg(short = 'O', long = "option", value_name = "OPTION")]
    pub options: Vec<String>,
    /// Clock: mono, mono_raw or boot [default: mono]
    #[arg(short = 'C', long, value_name = "CLOCK")]
    pub clock: Option<String>,
    /// Buffer of each CPU in KiB
    #[arg(short = 'b', long, value_name = "KIB")]
    pub buffer: Option<u32>,
    /// A full buffer loses its oldest events instead of the newest
    #[arg(long)]
    pub overwrite: bool,
    /// Everything, which is the default; with a command while it runs
    #[arg(short = 'a', long, conflicts_with_all = ["pid", "tid", "filter_command", "only_command"])]
    pub all: bool,
    /// Only this process, or a comma-separated list; with a command while it runs
    #[arg(short = 'P', long, value_name = "PID,…", value_delimiter = ',')]
    pub pid: Vec<u32>,
    /// Only this thread, or a comma-separated list, whatever processes they belong to; with a command while it runs. Not of ftrace, system calls and scripts
    #[arg(long, value_name = "TID,…", value_delimiter = ',', conflicts_with = "pid")]
    pub tid: Vec<u32>,
    /// Only the command itself; with -c also the processes that it starts
    #[arg(short = 'F', conflicts_with_all = ["pid", "tid"])]
    pub filter_command: bool,
    /// Only the command and the processes that it starts: the same as -F -c
    #[arg(long, conflicts_with_all = ["pid", "tid"])]
    pub only_command: bool,
    /// With the processes that those of -P or -F fork, or what the threads of --tid start
    #[arg(short = 'c', long)]
    pub children: bool,
    /// User that the command runs as [default: who runs this]
    #[arg(long, value_name = "NAME")]
    pub user: Option<String>,
    /// End after this time, such as 500ms, 5s or 2m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Print rows as they come, as `report` does; calls of a graph when they have ended
    #[arg(long)]
    pub live: bool,
    /// Write the capture to a file too, to import it elsewhere; with `-`, the same as --live
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Name of the capture
    #[arg(long, value_name = "NAME", default_value = "")]
    pub name: String,
    /// Where captures are kept.
    #[command(flatten)]
    pub data: DataArgs,
    /// What is logged: a level, or levels by module
    #[arg(long = "log", value_name = "FILTER", default_value = "warn")]
    pub log_filter: String,
    /// What is recorded too.
    #[command(flatten)]
    pub sources: SourceArgs,
    /// What is saved for the next time.
    #[command(flatten)]
    pub saving: SaveArgs,
    /// What is stored only when something happens.
    #[command(flatten)]
    pub flight: crate::verbs::flight::FlightArgs,
    /// What it may cost.
    #[command(flatten)]
    pub budgets: crate::verbs::budgets::BudgetArgs,
    /// Command to run, with its arguments
    #[arg(value_name = "COMMAND", trailing_var_arg = true)]
    pub command: Vec<String>,
}

/// Events with their filters: which filter belongs to which event is told by their order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventArgs {
    /// What stands after each `-e`, and after the `-f` that follows it.
    pub events: Vec<(String, Option<String>)>,
    /// A filter without an event before it.
    pub stray: Option<String>,
}

impl FromArgMatches for EventArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let of = |id: &str| {
            let values = matches.get_many::<String>(id).into_iter().flatten().cloned();
            matches.indices_of(id).into_iter().flatten().zip(values).collect::<Vec<_>>()
        };
        let (events, filters) = (of("event"), of("event_filter"));
        let stray = filters.iter().find(|(at, _)| events.iter().all(|(event, _)| event > at));
        let stray = stray.map(|(_, filter)| filter.clone());
        let with_filter = events.iter().enumerate().map(|(index, (at, event))| {
            let until = events.get(index + 1).map_or(usize::MAX, |(next, _)| *next);
            let own = filters.iter().filter(|(place, _)| (*at..until).contains(place)).map(|(_, text)| text.as_str());
            let own: Vec<&str> = own.collect();
            let filter = match own.as_slice() {
                [] => None,
                [one] => Some((*one).to_owned()),
                several => Some(several.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" && ")),
            };
            (event.clone(), filter)
        });
        Ok(Self { events: with_filter.collect(), stray })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for EventArgs {
    fn augment_args(command: clap::Command) -> clap::Command {
        let event = clap::Arg::new("event").short('e').long("event").value_name("EVENT").action(ArgAction::Append);
        let filter = clap::Arg::new("event_filter").short('f').long("filter").value_name("FILTER");
        command
            .arg(event.help("Event to record: NAME, SYSTEM:NAME, SYSTEM, or a pattern; with :FILTER; repeatable"))
            .arg(filter.action(ArgAction::Append).help("Filter, in the kernel's language, of the event before it"))
    }

    fn augment_args_for_update(command: clap::Command) -> clap::Command {
        Self::augment_args(command)
    }
}

/// Makes the capture.
///
/// # Errors
/// If it cannot be started, or is refused.
pub fn run(mut args: RecordArgs) -> Outcome {
    let log = LogArgs { log_format: LogFormat::Text, log: args.log_filter.clone() };
    args.saving.check()?;
    if save::is_all(&args) {
        return save::run(&args, &log);
    }
    // What needs rights, or must happen before there are threads.
    // Probes read memory as scripts do. What an own recipe has another process reads, since this one has its rights.
    let names_kept = args.events.events.iter().any(|(event, _)| kept::may_be_kept(event));
    let observes = !args.probe.is_empty()
        || names_kept
        || args.sources.script.is_some()
        || args.sources.own_recipe().is_some_and(|name| observes::has_scripts(name, &args.data));
    let scripts = if observes { Scripts::Observe } else { Scripts::Off };
    // Opened before rights are given up: it may be where only who started this can write.
    let (live, file) = match args.output.as_deref() {
        Some(path) if path == Path::new("-") => (true, None),
        path => (args.live, path.map(CaptureFile::open).transpose()?),
    };
    let mut agent = OwnAgent::start_for_scripts(None, Some(&log), scripts)?;
    let place = Workplace::make(Some(&args.data.directory()?))?;
    let mut client = agent.client_at(&place)?;
    crate::logging::start(&log)?;
    let available = if args.events.events.is_empty() { Vec::new() } else { available(&mut client)? };
    super::to_the_end(agent, super::runtime()?, async {
        if names_kept {
            let known = kept::kept_in(place.directory()).await?;
            args.kept = kept::taken(&mut args.events.events, &known, &available)?;
        }
        let recipe = args.sources.found_recipe(place.directory()).await?;
        let spec = spec(&args, &available, recipe.as_ref())?;
        let saving = save::to_save(&args, spec.sources.clone(), recipe.as_ref())?;
        record((spec, saving), client, place.directory(), live, file.as_ref()).await
    })
}

/// The tracepoints that there are.
pub(super) fn available(client: &mut AgentClient) -> Result<Vec<TracepointName>, Failure> {
    use std::io::Read as _;
    let doing = "reading the list of events";
    let file = client.open_kernel_file(KernelFile::AvailableEvents).map_err(|error| agent_failure(doing, error))?;
    let mut text = Vec::new();
    let read = std::fs::File::from(file).take(MAX_LIST_BYTES).read_to_end(&mut text);
    read.map_err(|error| Failure::because(doing, error))?;
    Ok(parse_available_events(&text))
}

fn spec(args: &RecordArgs, available: &[TracepointName], from: Option<&FoundRecipe>) -> Result<CaptureSpec, Failure> {
    let sources = sources(args, available, from)?;
    let target = target(args, from.map(FoundRecipe::recipe))?;
    // A command ends the capture.
    let limits = limits_of_target(limits(args, from, args.command.is_empty()), &target);
    let limits = args.flight.apply(limits)?;
    let spec = CaptureSpec { name: name(args, from), sources, target, limits };
    spec.validate().map_err(|error| Failure::because("checking what to record", error))?;
    Ok(spec)
}

/// What is recorded.
fn sources(
    args: &RecordArgs,
    available: &[TracepointName],
    from: Option<&FoundRecipe>,
) -> Result<Vec<SourceSpec>, Failure> {
    let trace = trace(args, available)?;
    // With other sources a trace is not needed, and what it would be made of must not be left out.
    let traces = !args.sources.is_given() || trace != TraceSpec::default();
    args.sources.sources(traces.then_some(Method::Trace(trace)), from.map(FoundRecipe::recipe))
}

/// What the capture is called: as is asked for, or by the recipe's question.
fn name(args: &RecordArgs, from: Option<&FoundRecipe>) -> String {
    match from {
        Some(found) if args.name.is_empty() => found.recipe().question.clone(),
        _ => args.name.clone(),
    }
}

/// When it ends and what it may cost: what is asked for goes before what the recipe has. `ends_as_recipe` says whether it ends
/// after the recipe's time where none is asked for. Recipes of the program have no other limits.
fn limits(args: &RecordArgs, from: Option<&FoundRecipe>, ends_as_recipe: bool) -> Limits {
    let usual = from.and_then(|found| found.recipe().limits.duration_ms).filter(|_| ends_as_recipe);
    let limits = args.budgets.limits(args.duration.or(usual.map(Duration::from_millis)));
    match from {
        Some(FoundRecipe::Own(own)) => {
            args.budgets.apply(Limits { duration_ms: limits.duration_ms, ..own.recipe.limits.clone() })
        }
        _ => limits,
    }
}

/// What the kernel's tracer is asked for.
fn trace(args: &RecordArgs, available: &[TracepointName]) -> Result<TraceSpec, Failure> {
    if let Some(filter) = &args.events.stray {
        let failure = Failure::new(format!("the filter `{filter}` has no event before it"));
        return Err(failure.remedy("Write -e EVENT -f FILTER."));
    }
    let mut events = Vec::<TraceEvent>::new();
    for (asked, filter) in &args.events.events {
        for event in events_of(asked, filter.as_deref(), available)? {
            match events.iter_mut().find(|known| known.event == event.event) {
                Some(known) => *known = event,
                None => events.push(event),
            }
        }
    }
    super::probe::require_use_of_file(&args.probe, args.exec.as_deref())?;
    let option = |text: &String| match text.strip_prefix("no") {
        Some(name) => (name.to_owned(), false),
        None => (text.clone(), true),
    };
    Ok(TraceSpec {
        tracer: args.tracer.clone().filter(|tracer| tracer != "nop"),
        functions: args.functions.clone(),
        not_functions: args.not_functions.clone(),
        graph_roots: args.roots.clone(),
        graph_not: Vec::new(),
        max_depth: args.max_graph_depth,
        events,
        dynamic: args
            .probe
            .iter()
            .map(|typed| DynamicProbe {
                typed: typed.clone(),
                file: args.exec.clone().map(super::probe::absolute),
                line: None,
            })
            .chain(args.kept.clone())
            .collect(),
        options: args.options.iter().map(option).collect(),
        clock: args.clock.clone(),
        buffer_kib: args.buffer,
        overwrite: args.overwrite,
    })
}

/// Whose events: everybody's or those of processes, while a command runs if there is one; or only the command's.
fn target(args: &RecordArgs, recipe: Option<&Recipe>) -> Result<Target, Failure> {
    let argv = args.command.clone();
    if let Some(word) = argv.first().filter(|word| word.starts_with('-')) {
        return Err(missing_option(word, "record"));
    }
    let needs_command =
        [("--user", args.user.is_some()), ("-F", args.filter_command), ("--only-command", args.only_command)];
    if let Some((option, _)) = needs_command.iter().find(|(_, given)| *given && argv.is_empty()) {
        return Err(Failure::new(format!("{option} is for a command, and there is none")));
    }
    let has_ids = !args.pid.is_empty() || !args.tid.is_empty();
    let of_one = recipe.is_some_and(|recipe| recipe.of != RecipeTarget::System) && !args.all && !has_ids;
    if of_one && argv.is_empty() {
        let name = recipe.map_or("", |recipe| recipe.name.as_str());
        let failure = Failure::new(format!("the recipe `{name}` is of a process or a command, and neither is given"));
        return Err(failure.remedy("Give -P PID or a command; with -a it is of everything."));
    }
    let own = args.filter_command || args.only_command || of_one;
    if args.children && !own && !has_ids {
        return Err(Failure::new(
            "-c is for processes of -P, threads of --tid or the command of -F, and none is given",
        )
        .remedy("Without them everything is traced, and so is what anybody forks."));
    }
    Ok(match (args.pid.as_slice(), own) {
        (_, true) => {
            let children = args.only_command || args.children || of_one;
            Target::Command { argv, user: args.user.clone(), children }
        }
        ([], false) if !args.tid.is_empty() => {
            let of = Target::Threads { tids: args.tid.clone(), children: args.children };
            while_runs(of, argv, args.user.clone())
        }
        ([], false) => while_runs(Target::System, argv, args.user.clone()),
        (pids, false) => while_runs(Target::of_processes(pids, args.children), argv, args.user.clone()),
    })
}

/// What helps where no event has the name that was asked for.
fn missing_event(first: &str, second: Option<&str>, available: &[TracepointName]) -> String {
    if let Some(remedy) = second.and_then(|name| missing_dynamic_event(first, name)) {
        return remedy;
    }
    let names: Vec<String> = match second {
        Some(_) => available.iter().map(ToString::to_string).collect(),
        None => available.iter().map(|name| name.name().to_owned()).collect(),
    };
    let asked = second.map_or_else(|| first.to_owned(), |second| format!("{first}:{second}"));
    let near = closest(&asked, names.iter().map(String::as_str));
    let near = near.map_or_else(String::new, |near| format!("Did you mean `{near}`? "));
    format!("{near}`bathyscope list WORD` finds events by a part of their name.")
}

/// The events that one `-e` names: `NAME`, `SYSTEM:NAME`, `SYSTEM`, each with patterns, and a filter behind one more `:`.
fn events_of(asked: &str, filter: Option<&str>, available: &[TracepointName]) -> Result<Vec<TraceEvent>, Failure> {
    let mut parts = asked.splitn(3, ':');
    let (first, mut second, mut third) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    // What stands behind a name that is no system is its filter: no event has blanks or signs in its name.
    let is_filter = |text: &str| text.contains(|c: char| c.is_whitespace() || "=!<>&|~()".contains(c));
    if second.is_some_and(is_filter) {
        third = asked.split_once(':').map(|(_, filter)| filter);
        second = None;
    }
    let filters: Vec<&str> = third.into_iter().chain(filter).map(str::trim).filter(|text| !text.is_empty()).collect();
    let filter = match filters.as_slice() {
        [] => None,
        [one] => Some((*one).to_owned()),
        // Both hold, as where -f is given twice.
        several => Some(several.iter().map(|one| format!("({one})")).collect::<Vec<_>>().join(" && ")),
    };
    let matches = |name: &&TracepointName| match second {
        Some(second) => matches_wildcards(first, name.system()) && matches_wildcards(second, name.name()),
        None => matches_wildcards(first, name.name()),
    };
    let mut found: Vec<&TracepointName> = available.iter().filter(matches).collect();
    if found.is_empty() && second.is_none() {
        found = available.iter().filter(|name| matches_wildcards(first, name.system())).collect();
    }
    if found.is_empty() {
        let failure = Failure::new(format!("this kernel has no event `{asked}`"));
        return Err(failure.remedy(missing_event(first, second, available)));
    }
    if found.len() > MAX_TRACE_EVENTS {
        let failure = Failure::new(format!(
            "`{asked}` stands for {} events, and {MAX_TRACE_EVENTS} can be recorded",
            found.len()
        ));
        return Err(failure.remedy("Name fewer."));
    }
    let event = |name: &TracepointName| TraceEvent { event: name.clone(), filter: filter.clone() };
    Ok(found.into_iter().map(event).collect())
}

/// Prints rows of a capture as they come.
struct LiveLines {
    captures: CaptureCache,
    id: CaptureId,
    /// Of how many chunks of each stream the rows were printed.
    told: Vec<usize>,
}

impl LiveLines {
    /// Prints what is new. Says whether anybody reads it.
    async fn print_new(&mut self, recorder: &Recorder) -> Result<bool, Failure> {
        // Functions have the names that they have in a report.
        if recorder.is_recording(self.id) {
            recorder.name_functions(self.id).await;
        } else {
            recorder.ended(self.id).await;
        }
        let failed = |error: &dyn std::fmt::Display| Failure::new(format!("printing rows: {error}"));
        let view = self.captures.view(self.id, true).await.map_err(|error| failed(&error))?;
        let told = &mut self.told;
        // Nothing else runs here that the work could hold up.
        let written = tokio::task::block_in_place(|| {
            let mut out = std::io::BufWriter::new(std::io::stdout().lock());
            write_new(&view, told, &mut out)
        });
        match view.checked(written) {
            Ok(()) => Ok(true),
            Err(ViewError::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(false),
            Err(error) => Err(failed(&error)),
        }
    }
}

/// Makes a capture and keeps it.
pub(super) async fn keep(
    spec: CaptureSpec,
    client: AgentClient,
    directory: &Path,
    live: bool,
    file: Option<&CaptureFile>,
) -> Outcome {
    record((spec, None), client, directory, live, file).await
}

async fn record(
    (spec, saving): (CaptureSpec, Option<RecipeToSave>),
    client: AgentClient,
    directory: &Path,
    live: bool,
    file: Option<&CaptureFile>,
) -> Outcome {
    let store = Store::open(directory, Options { now: bathyscope_recorder::boot_time(), ..Options::default() }).await;
    let store = store.map_err(|error| Failure::because("opening the database", error))?;
    if let Some(saving) = &saving {
        saving.check(&store).await?;
    }
    let mut client = Some(client);
    // There is only this one agent: once it is gone, it stays away.
    let link = AgentLink::new(move || client.take().ok_or(ClientError::Broken(ProtocolError::Closed)));
    let link = link.map_err(|error| Failure::because("starting a thread", error))?;
    link.connected(Duration::from_secs(5)).await;
    let options = RecorderOptions::new(directory);
    let options = if live { RecorderOptions { flush_every: FLUSH_EVERY, ..options } } else { options };
    let recorder = Recorder::new(store.clone(), link, options);
    let id = recorder.start(spec, "the command line").await.map_err(start_failure)?;
    if let Some(saving) = saving {
        saving.save_or_tell(&store).await;
    }
    if live {
        let mut lines = LiveLines { captures: CaptureCache::new(store.clone()), id, told: Vec::new() };
        follow(&recorder, id, async || lines.print_new(&recorder).await).await?;
    }
    let mut signals = EndSignals::watch()?;
    let ended = recorder.ended(id);
    let firing = super::flight::fire_by_signal(&recorder, id);
    tokio::pin!(ended, firing);
    loop {
        tokio::select! {
            () = &mut ended => break,
            signal = signals.next() => { recorder.stop(id, signal); }
            failed = &mut firing => failed?,
        }
    }
    let code = exit_status(&recorder, id);
    if let Some(file) = file {
        file.write(&store, id, directory).await?;
    }
    print_summary(&store, id, recorder.detached(id).is_some()).await?;
    super::print_all(&super::flight::stored_lines(&store, id).await?)?;
    store.close().await;
    Ok(code)
}

#[cfg(test)]
mod tests;
