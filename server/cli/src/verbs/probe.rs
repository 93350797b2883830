//! `probe`: what dynamic events would be, what can be recorded where, and which there are, with the letters of
//! `perf probe`.
//!
//! Nothing is put into the kernel here: what is added is kept by name in the library, and lives in the kernel with the capture that
//! records or counts it.

use std::{fmt::Write as _, process::ExitCode};

use bathyscope_agent::Simulation;
use bathyscope_bpf::lang::place;
use bathyscope_capture::{DynamicProbe, shown, visible};
use bathyscope_catalog::dynamic::{Dialect, Passed, ProbeVariable, TypedDefinition, read_typed};
use bathyscope_console::{control, library::TerminalChange};
use bathyscope_link::{
    dynamic::{self, Checked, EventAnswer, KernelFacts, Resolved},
    script::matches,
};
use bathyscope_plan::{Diagnostic, Severity};
use bathyscope_protocol::{AgentClient, DynamicEvent, DynamicEvents};
use bathyscope_store::LibraryKind;
use clap::{Args, ValueEnum};
use serde::Serialize;

use super::library;
use crate::{
    Failure, Outcome,
    config::DataArgs,
    launch::{OwnAgent, agent_failure, this_binary},
};
use bathyscope_recorder::CaptureProbe;

const ABOUT: &str = "\
A dynamic event is a probe at a function of the kernel or of a program, with arguments of one's choice. It is written as
after `perf probe --add`, or as a line of the kernel's kprobe_events and uprobe_events. Names of parameters and of members
behind them come from the kernel's type information (BTF).

What is added is kept by name, for captures to come: `record -e probe:NAME` and `run 'perf stat -e probe:NAME'` make it, and it goes
from the kernel when the capture ends, even if that is killed. Between captures nothing is there. `record --probe` and `stat --probe`
make one that is not kept. Nobody else's probes are ever removed.";

const EXAMPLES: &str = "\
Examples:
  bathyscope probe -V do_sys_openat2                    what can be recorded there, with types
  bathyscope probe -n 'do_sys_openat2 filename:string'  the line for the kernel; nothing is recorded
  bathyscope probe -n 'vfs_read file->f_path.dentry->d_name.name:string count'
  bathyscope probe -n -x bash 'readline%return +0($retval):string'
  bathyscope probe -x libc --funcs 'mall*'              functions of a library
  bathyscope probe --add 'vfs_read count'               keep it as probe:vfs_read
  bathyscope probe --force --add 'vfs_read'             keep it beside that, as probe:vfs_read_1
  bathyscope probe --list                               kept probes, and active ones, ours and others'
  bathyscope probe --del 'vfs_*'                        delete kept ones, and detach those of running captures
  bathyscope probe --optimization off                   for the whole machine, as the sysctl

  bathyscope record --probe 'do_sys_openat2 filename:string' ls      record it
  bathyscope stat --probe malloc --exec libc -a -I 1000 sleep 10     count it";

/// Whether the kernel may replace breakpoints by jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Optimization {
    /// It may.
    On,
    /// It may not.
    Off,
    /// Only say.
    Show,
}

/// What `probe` takes.
#[derive(Clone, Debug, Args)]
#[command(long_about = ABOUT, after_help = EXAMPLES)]
pub struct ProbeArgs {
    /// Program or library that functions are in, a path or a name such as bash or libc
    #[arg(short = 'x', long, value_name = "FILE")]
    pub exec: Option<String>,
    /// The parameters of a function, with their types
    #[arg(short = 'V', long, value_name = "FUNC", conflicts_with_all = ["funcs", "list", "del", "optimization"])]
    pub vars: Option<String>,
    /// Functions that can be probed, those that match a pattern
    #[arg(short = 'F', long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "*",
        conflicts_with_all = ["list", "del", "optimization"])]
    pub funcs: Option<String>,
    /// The probes that are kept, and the dynamic events that there are, with hits and who made them
    #[arg(short, long, conflicts_with_all = ["del", "optimization"])]
    pub list: bool,
    /// Delete kept probes that match a pattern, and detach those of running captures, also of other terminals; the captures go on
    #[arg(short, long, value_name = "PATTERN", conflicts_with = "optimization")]
    pub del: Option<String>,
    /// Only say what would be done, with the lines for the kernel. For a place within a function the kernel is asked whether an
    /// instruction begins there: a probe is made that is never on, and removed at once
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Definition of a probe to keep; repeatable
    #[arg(short, long, value_name = "DEFINITION")]
    pub add: Vec<String>,
    /// Keep one whose name is taken under another name
    #[arg(short, long)]
    pub force: bool,
    /// Whether the kernel replaces breakpoints of its probes by jumps, for the whole machine
    #[arg(long, value_enum, value_name = "on|off|show")]
    pub optimization: Option<Optimization>,
    /// Through the root directory of this process, such as one in a container
    #[arg(short, long, value_name = "PID", requires = "exec")]
    pub pid: Option<u32>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// Make up a host instead of asking the kernel
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "", hide = true)]
    pub simulate: Option<Simulation>,
    /// Where the console keeps its captures.
    #[command(flatten)]
    pub data: DataArgs,
    /// Definition of a probe: FUNCTION[+OFFSET|%return] ARGUMENTS, or a line as in kprobe_events
    #[arg(value_name = "DEFINITION")]
    pub definition: Vec<String>,
}

/// Does what the arguments ask.
///
/// # Errors
/// If it is refused, or what is asked for does not exist.
pub fn run(mut args: ProbeArgs) -> Outcome {
    args.exec = args.exec.take().map(absolute);
    if let Some(pattern) = args.del.clone() {
        return delete(&args, &pattern);
    }
    match args.optimization {
        Some(Optimization::Show) => return show_optimization(&args),
        Some(wanted) => return optimize(&args, wanted == Optimization::On),
        None => {}
    }
    if args.list {
        return list(&args);
    }
    let asks = args.vars.is_some() || args.funcs.is_some() || args.dry_run || args.json;
    if !asks && !definitions(&args).is_empty() {
        return keep_new(&args);
    }
    // The kernel is asked about places within functions by probes that are never on.
    let mut agent = OwnAgent::start_for_scripts(args.simulate.as_ref(), None, crate::config::Scripts::Observe)?;
    let mut client = agent.client()?;
    match (&args.vars, &args.funcs) {
        (Some(function), _) => variables(&mut client, &args, function),
        (None, Some(pattern)) => functions(&mut client, &args, pattern),
        (None, None) => define(&mut client, &args),
    }
}

/// A path that means the same in another folder; a name alone stays one.
pub(super) fn absolute(file: String) -> String {
    if !file.contains('/') || file.starts_with('/') {
        return file;
    }
    let path = std::path::absolute(&file);
    path.ok().and_then(|path| path.to_str().map(str::to_owned)).unwrap_or(file)
}

fn print_json(value: &impl Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(value).map_err(|error| Failure::because("writing JSON", error))?;
    super::print_all(&(text + "\n"))
}

fn variables(client: &mut AgentClient, args: &ProbeArgs, function: &str) -> Outcome {
    let doing = format!("looking for the parameters of {}", visible(function.as_bytes()));
    let found = match &args.exec {
        Some(file) => dynamic::variables_in_program(client, args.pid, file, function),
        None => {
            let mut facts = KernelFacts::default();
            let (module, name) =
                function.split_once(':').map_or((None, function), |(module, name)| (Some(module), name));
            dynamic::variables_of(client, &mut facts, module, name)
        }
    };
    let (found, notes) = found.map_err(|why| Failure::new(format!("{doing}: {why}")))?;
    if args.json {
        let variable = |it: &ProbeVariable| {
            serde_json::json!({ "name": it.name, "type": it.type_name, "pointer": it.pointer, "members": it.members,
                "argument": it.argument.as_ref().map(ToString::to_string) })
        };
        let variables: Vec<_> = found.iter().map(variable).collect();
        return print_json(&serde_json::json!({ "function": function, "variables": variables, "notes": notes }));
    }
    let mut text = format!("Available variables at {}\n", visible(function.as_bytes()));
    for variable in &found {
        let how = variable.argument.as_ref().map_or_else(
            || match variable.members.first() {
                Some(member) => format!("by its members, such as {member}"),
                None => "not readable by a probe here".to_owned(),
            },
            ToString::to_string,
        );
        let declared = visible(variable.to_string().as_bytes());
        let _infallible = writeln!(text, "        {declared:<40} {}", visible(how.as_bytes()));
    }
    for note in notes {
        let _infallible = writeln!(text, "Note: {note}");
    }
    super::print_all(&text)
}

fn functions(client: &mut AgentClient, args: &ProbeArgs, pattern: &str) -> Outcome {
    let (file, names): (Option<String>, Vec<String>) = match &args.exec {
        Some(file) => {
            let listed = dynamic::functions_of(client, args.pid, file);
            let (path, names) = listed.map_err(|why| Failure::new(format!("listing functions: {why}")))?;
            (Some(path), names)
        }
        None => {
            let mut facts = KernelFacts::default();
            let names = facts.functions(client).beginning_with("").map(str::to_owned).collect();
            (None, names)
        }
    };
    let found: Vec<&String> = names.iter().filter(|name| matches(pattern, name)).collect();
    if found.is_empty() {
        let of = file.as_deref().unwrap_or("the kernel");
        return Err(Failure::new(format!("no function of {of} matches `{}`", visible(pattern.as_bytes())))
            .remedy("Write a pattern with *, such as 'read*'."));
    }
    if args.json {
        return print_json(&serde_json::json!({ "file": file, "functions": found }));
    }
    super::print_all(&found.iter().map(|name| visible(name.as_bytes()) + "\n").collect::<String>())
}

/// Whether a file that is given is taken by a definition at all: lines of the kernel's grammar name theirs themselves.
///
/// # Errors
/// If it is given and none takes it.
pub(super) fn require_use_of_file(definitions: &[String], file: Option<&str>) -> Result<(), Failure> {
    let Some(file) = file.filter(|_| !definitions.is_empty()) else { return Ok(()) };
    // What cannot be read is told where it is read.
    let takes_it = |text: &String| {
        read_typed(text, Some(file)).map_or(true, |reading| {
            reading.typed.is_empty() || reading.typed.iter().any(|typed| typed.dialect == Dialect::Perf)
        })
    };
    if definitions.iter().any(takes_it) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "-x {} is taken by no probe: lines of the kernel's grammar name their file",
        visible(file.as_bytes())
    ))
    .remedy("Write `p:NAME /PATH:0xOFFSET` without -x, or with it a function, such as `readline` or `NAME=readline`."))
}

/// The lines that definitions become.
fn define(client: &mut AgentClient, args: &ProbeArgs) -> Outcome {
    let texts = definitions(args);
    if texts.is_empty() {
        return Err(Failure::new("there is nothing to do").remedy(
            "Write a definition, such as bathyscope probe -n 'do_sys_openat2 filename:string', or see --help.",
        ));
    }
    require_use_of_file(&texts, args.exec.as_deref())?;
    let text = texts.join("\n");
    let checked = dynamic::check(client, &mut KernelFacts::default(), &text, args.exec.as_deref(), args.pid);
    if let Some(failure) = refused(&text, &checked.troubles) {
        return Err(failure);
    }
    let printed = if args.json { print_json(&json_of(&checked))? } else { super::print_all(&text_of(&checked))? };
    Ok(printed)
}

/// The definitions as they were typed: what is not in quotes is one, as perf does.
fn definitions(args: &ProbeArgs) -> Vec<String> {
    let mut texts = args.add.clone();
    if !args.definition.is_empty() {
        texts.push(args.definition.join(" "));
    }
    texts
}

/// Keeps what is defined, if it can be made here: a process of its own asks the kernel, so that this one keeps the rights that it needs
/// to ask the console.
fn keep_new(args: &ProbeArgs) -> Outcome {
    if args.pid.is_some() {
        let failure = Failure::new("a probe through the root directory of a process is not kept: the process may end");
        return Err(failure.remedy("Write the path of the file without -p, or record it: `bathyscope record --probe`."));
    }
    let texts = definitions(args);
    let doing = "looking at the definitions";
    let mut command = this_binary("probe");
    command.arg("--dry-run");
    if args.simulate.is_some() {
        command.arg("--simulate");
    }
    command.args(args.exec.iter().flat_map(|file| ["--exec", file]));
    command.args(texts.iter().flat_map(|text| ["--add", text]));
    let status = command.status().map_err(|error| Failure::because(doing, error))?;
    if !status.success() {
        return Ok(ExitCode::FAILURE);
    }
    let text = texts.join("\n");
    let reading = read_typed(&text, args.exec.as_deref()).map_err(|error| Failure::new(error.problem.to_string()))?;
    let probe = |it: &TypedDefinition| DynamicProbe { typed: it.text.clone(), file: it.file.clone(), line: None };
    let add: Vec<DynamicProbe> = reading.typed.iter().map(probe).collect();
    if add.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    kept(args, add, Vec::new())
}

/// Keeps probes and deletes kept ones.
fn kept(args: &ProbeArgs, add: Vec<DynamicProbe>, remove: Vec<String>) -> Outcome {
    let (force, dry_run) = (args.force, args.dry_run);
    let change = TerminalChange::Probes { add, remove, force, dry_run };
    super::print_all(&library::changed(vec![change], &args.data.directory()?)?)
}

/// What is wrong with definitions, with a mark below each place.
pub(crate) fn refused(text: &str, troubles: &[Diagnostic]) -> Option<Failure> {
    let errors = || troubles.iter().filter(|trouble| trouble.severity == Severity::Error);
    errors().next()?;
    let mut told = String::new();
    for trouble in errors() {
        let at = place(text, trouble.start);
        let line = text.lines().nth(at.line.saturating_sub(1) as usize).unwrap_or_default();
        let blanks = " ".repeat(at.column.saturating_sub(1) as usize);
        let separator = if told.is_empty() { "" } else { "\n" };
        let _infallible = write!(
            told,
            "{separator}column {}: {}\n  {}\n  {blanks}^",
            at.column,
            visible(trouble.message.as_bytes()),
            visible(line.as_bytes())
        );
    }
    Some(Failure::new(told))
}

fn text_of(checked: &Checked) -> String {
    let mut text = String::new();
    for note in &checked.notes {
        let _infallible = writeln!(text, "# {}", visible(note.as_bytes()));
    }
    for Passed { text: passed, why } in &checked.skipped {
        let _infallible = writeln!(text, "# passed over: {} ({})", visible(passed.as_bytes()), visible(why.as_bytes()));
    }
    for answer in &checked.answers {
        let _infallible = writeln!(text, "# {}", visible(answer.asked.as_bytes()));
        for line in &answer.lines {
            let _infallible = writeln!(text, "{}", visible(line.as_bytes()));
        }
    }
    for probe in &checked.probes {
        for note in &probe.notes {
            let _infallible = writeln!(text, "# {}", visible(note.as_bytes()));
        }
        let _infallible = writeln!(text, "{}", visible(probe.definition.to_string().as_bytes()));
    }
    text
}

fn json_of(checked: &Checked) -> serde_json::Value {
    let probe = |it: &Resolved| {
        let arguments: Vec<String> = it.definition.arguments.iter().map(ToString::to_string).collect();
        serde_json::json!({ "typed": it.typed, "line": it.definition.to_string(), "place": it.definition.place.to_string(),
            "arguments": arguments, "notes": it.notes })
    };
    let skipped = |it: &Passed| serde_json::json!({ "text": it.text, "why": it.why });
    let answer = |it: &EventAnswer| serde_json::json!({ "asked": it.asked, "lines": it.lines });
    serde_json::json!({ "probes": checked.probes.iter().map(probe).collect::<Vec<_>>(),
        "skipped": checked.skipped.iter().map(skipped).collect::<Vec<_>>(),
        "answers": checked.answers.iter().map(answer).collect::<Vec<_>>(), "notes": checked.notes })
}

/// What the agent says, after the console was asked: rights are given up in between.
fn events(args: &ProbeArgs) -> Result<(DynamicEvents, Option<Vec<CaptureProbe>>), Failure> {
    let ours = match args.simulate {
        Some(_) => None,
        None => control::probes(&args.data.directory()?)?,
    };
    let mut agent = OwnAgent::start(args.simulate.as_ref(), None)?;
    let mut client = agent.client()?;
    let listed = client.dynamic_events().map_err(|error| agent_failure("listing the dynamic events", error))?;
    Ok((listed, ours))
}

fn list(args: &ProbeArgs) -> Outcome {
    // Before rights are given up.
    let kept = kept_here(args);
    let (listed, ours) = events(args)?;
    let ours = ours.unwrap_or_default();
    let of = |event: &DynamicEvent| ours.iter().find(|it| (&it.group, &it.name) == (&event.group, &event.name));
    let wanted = args.definition.first().map_or("*", String::as_str);
    let is_listed = |event: &&DynamicEvent| matches(wanted, &label(event, of(event)));
    let events: Vec<&DynamicEvent> = listed.events.iter().filter(is_listed).collect();
    if args.json {
        let event = |it: &&DynamicEvent| {
            let mut value = serde_json::to_value(it).unwrap_or_default();
            let ours = of(it);
            value["label"] = serde_json::json!(ours.map(|it| &it.label));
            value["capture"] = serde_json::json!(ours.map(|it| it.capture));
            value
        };
        let events: Vec<_> = events.iter().map(event).collect();
        let (optimization, limits) = (listed.optimization, &listed.limits);
        return print_json(
            &serde_json::json!({ "events": events, "optimization": optimization, "limits": limits, "kept": kept }),
        );
    }
    let mut text = String::new();
    let is_wanted = |name: &String| matches(wanted, name);
    for (name, definition) in kept.iter().filter(|(name, _)| is_wanted(name)) {
        let _infallible = writeln!(
            text,
            "  {name:<32} ({})\n      kept by name, in the kernel only with a capture",
            shown(definition)
        );
    }
    if events.is_empty() {
        text.push_str("There are no dynamic events in this kernel now.\n");
    }
    for event in events {
        text.push_str(&event_text(event, of(event)));
    }
    for limit in &listed.limits {
        let _infallible = writeln!(text, "{} is {}: {} {}", limit.name, limit.value, limit.effect, limit.remedy);
    }
    super::print_all(&text)
}

/// What a probe was called by whoever made it: the group of those of captures tells only their maker.
fn label(event: &DynamicEvent, ours: Option<&CaptureProbe>) -> String {
    match (ours, event.owner) {
        (Some(ours), _) => ours.label.clone(),
        (None, Some(_)) => event.name.clone(),
        (None, None) => format!("{}:{}", event.group, event.name),
    }
}

fn event_text(event: &DynamicEvent, ours: Option<&CaptureProbe>) -> String {
    let label = label(event, ours);
    let place = event.line.split_once(' ').map_or("", |(_, place)| place);
    let whose = match (ours, event.owner) {
        (Some(ours), _) => format!("of the capture {} ({})", ours.capture, ours.title),
        (None, Some(owner)) if owner.ended => {
            format!("left by the agent of process {}, which has ended; `bathyscope cleanup` removes it", owner.pid)
        }
        (None, Some(owner)) => format!("of a capture of the Bathyscope agent with process {}", owner.pid),
        (None, None) => "of somebody else".to_owned(),
    };
    let number = |number: Option<u64>, what: &str| number.map(|number| format!("{number} {what}"));
    let marks = event.marks.as_ref().filter(|marks| !marks.is_empty()).map(|marks| marks.join(" "));
    let missed = number(event.missed.filter(|missed| *missed > 0), "missed");
    let facts: Vec<String> = [number(event.hits, "hits"), missed, marks].into_iter().flatten().collect();
    let facts = if facts.is_empty() { String::new() } else { format!("{}, ", facts.join(", ")) };
    let facts = if event.detached { format!("detached; {facts}") } else { facts };
    let (label, place) = (visible(label.as_bytes()), visible(place.as_bytes()));
    format!("  {label:<32} (on {place})\n      {facts}{}\n", visible(whose.as_bytes()))
}

/// Deletes what is kept, and detaches what is active. Others' probes are refused in words.
fn delete(args: &ProbeArgs, pattern: &str) -> Outcome {
    let are_kept = kept_here(args).iter().any(|(name, _)| {
        let event = name.split_once(':').map_or(name.as_str(), |(_, event)| event);
        matches(pattern, name) || matches(pattern, event)
    });
    if !are_kept {
        return if args.dry_run { nothing_to_delete(pattern) } else { detach(args, pattern) };
    }
    if !args.dry_run
        && let Some(detached) = control::detach_probes(&args.data.directory()?, pattern)?
    {
        super::print_all(&detached.iter().map(detached_line).collect::<String>())?;
    }
    kept(args, Vec::new(), vec![pattern.to_owned()])
}

fn nothing_to_delete(pattern: &str) -> Outcome {
    let why = format!("no kept probe matches `{}`", shown(pattern));
    Err(Failure::new(why).remedy("`bathyscope probe --list` shows those that there are."))
}

/// The kept probes with their texts, as a process of its own lists them: this one keeps the rights that it needs for the others.
/// Where there is no library yet there are none.
fn kept_here(args: &ProbeArgs) -> Vec<(String, String)> {
    library::listed_elsewhere(&args.data)
        .unwrap_or_default()
        .into_iter()
        .filter(|item| item.entry.kind == LibraryKind::Probe)
        .map(|item| (item.entry.name, item.text))
        .collect()
}

fn detached_line(it: &CaptureProbe) -> String {
    format!("Detached {} of the capture {} ({}), which goes on.\n", it.label, it.capture, visible(it.title.as_bytes()))
}

fn detach(args: &ProbeArgs, pattern: &str) -> Outcome {
    let detached = control::detach_probes(&args.data.directory()?, pattern)?;
    let console = detached.is_some();
    let detached = detached.unwrap_or_default();
    if args.json && !detached.is_empty() {
        return print_json(&serde_json::json!({ "detached": detached }));
    }
    if !detached.is_empty() {
        return super::print_all(&detached.iter().map(detached_line).collect::<String>());
    }
    delete_others(args, pattern, console)
}

/// Detaches those that another process of this program records, which root may; tells whose the others are.
fn delete_others(args: &ProbeArgs, pattern: &str, console: bool) -> Outcome {
    let mut agent = OwnAgent::start(args.simulate.as_ref(), None)?;
    let mut client = agent.client()?;
    let listed = client.dynamic_events().map_err(|error| agent_failure("listing the dynamic events", error))?;
    let name = |event: &DynamicEvent| format!("{}:{}", event.group, event.name);
    // What a capture calls `probe_bash:readline` the kernel knows in a group that tells its maker.
    let part =
        pattern.split_once(':').filter(|(group, _)| group.starts_with("probe")).map_or(pattern, |(_, name)| name);
    let fits = |event: &&DynamicEvent| {
        matches(pattern, &name(event))
            || matches(pattern, &event.name)
            || (event.owner.is_some() && matches(part, &event.name))
    };
    let found: Vec<&DynamicEvent> = listed.events.iter().filter(fits).collect();
    let (mut told, mut counted) = (String::new(), None);
    for event in &found {
        let Some(owner) = event.owner.filter(|owner| !owner.ended) else { continue };
        let detached = client.detach_others(event.group.clone(), event.name.clone());
        match detached.map_err(|error| agent_failure("detaching a probe of another process", error))? {
            0 => counted = Some((name(event), owner.pid)),
            _ => {
                let shown = visible(event.name.as_bytes());
                let _infallible = writeln!(
                    told,
                    "Detached {shown} of the capture that the agent of process {} records, which goes on.",
                    owner.pid
                );
            }
        }
    }
    if !told.is_empty() {
        return super::print_all(&told);
    }
    if let Some((name, pid)) = counted {
        let why =
            format!("`{}` is counted, or detached already, by the agent of process {pid}", visible(name.as_bytes()));
        return Err(Failure::new(why).remedy("End that capture, with Ctrl-C in its terminal; its probes go with it."));
    }
    let found = found.first();
    let pattern = visible(pattern.as_bytes());
    Err(match found {
        Some(event) if event.owner.is_some() => {
            Failure::new(format!("`{}` was left by an agent that has ended", visible(name(event).as_bytes())))
                .remedy("Remove it with `bathyscope cleanup`.")
        }
        Some(event) => Failure::new(format!(
            "`{}` was made by somebody else, and is not removed here",
            visible(name(event).as_bytes())
        ))
        .remedy("Whoever made it removes it: with `perf probe --del`, or `echo -:GROUP/NAME` to dynamic_events."),
        None if console => Failure::new(format!("no probe of a running capture matches `{pattern}`"))
            .remedy("`bathyscope probe --list` shows those that there are."),
        None => Failure::new(format!("no probe matches `{pattern}`, and no console runs on this data directory"))
            .remedy("Name the console's directory with --data; `bathyscope probe --list` shows all probes."),
    })
}

fn show_optimization(args: &ProbeArgs) -> Outcome {
    let (listed, _) = events(args)?;
    if args.json {
        return print_json(&serde_json::json!({ "optimization": listed.optimization }));
    }
    super::print_all(match listed.optimization {
        Some(true) => "debug.kprobes-optimization is 1: the kernel replaces breakpoints of its probes by jumps.\n",
        Some(false) => "debug.kprobes-optimization is 0: every hit of a probe inside a function is a breakpoint.\n",
        None => "This kernel has no debug.kprobes-optimization.\n",
    })
}

/// Through the console where one runs, whose audit log then has it.
fn optimize(args: &ProbeArgs, on: bool) -> Outcome {
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::new("only root can change debug.kprobes-optimization for the machine")
            .remedy("Run it with sudo, or as an admin on the console's host page."));
    }
    let asked = match args.simulate {
        Some(_) => false,
        None => control::optimize_kprobes(&args.data.directory()?, on)?,
    };
    if !asked {
        let mut agent = OwnAgent::start(args.simulate.as_ref(), None)?;
        let mut client = agent.client()?;
        client.optimize_kprobes(on).map_err(|error| agent_failure("setting debug.kprobes-optimization", error))?;
    }
    let noted = if asked { "; the console's audit log has it" } else { "" };
    super::print_all(&format!(
        "debug.kprobes-optimization is {}{noted}. It stays so until somebody changes it.\n",
        u8::from(on)
    ))
}
