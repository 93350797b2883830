//! `list`: tracepoints of the running kernel, and by a word before the pattern everything else that can be traced.

mod kinds;
mod settings;

use std::{fs::File, io::Read as _, os::fd::OwnedFd};

use bathyscope_agent::Simulation;
use bathyscope_capture::{TracepointName, visible};
use bathyscope_catalog::{
    EventField, EventFormat, matches_wildcards, parse_available_events, parse_event_format, search_tracepoints,
};
use bathyscope_protocol::{AgentClient, KernelFile, PerfEventInfo};
use clap::Args;

use crate::{
    Failure, Outcome,
    launch::{OwnAgent, agent_failure},
};

/// The longest list of events that is read.
const MAX_BYTES: u64 = 16 << 20;

const EXAMPLES: &str = "\
Examples:
  bathyscope list                          every tracepoint of the running kernel
  bathyscope list switch                   those whose name has to do with it, the best first
  bathyscope list 'sched:*' --fields       by wildcards, with the fields that can be recorded
  bathyscope list raw_syscalls:sys_enter   one, with its fields
  bathyscope list perf                     hardware, software and cache events, and whether they work here
  bathyscope list perf 'L1*'               some of them
  bathyscope list perf memory              what is counted of memory; pressure and vm of waiting and of reclaim
  bathyscope list functions 'vfs_*'        functions of the kernel, and how each can be probed
  bathyscope list types task_struct        the kernel's types
  bathyscope list options 'func*'          options of ftrace, and whether each is on
  bathyscope list clocks                   clocks of ftrace, and which captures can have
  bathyscope list -t                       a letter of trace-cmd: tracers; -e events, -o options, -f functions, -C clocks
  bathyscope list tracers                  tracers of ftrace, and what those need that are not here
  bathyscope list probes                   dynamic probes that anyone has made
  bathyscope list programs                 BPF programs that anyone has loaded, and where they are attached
  bathyscope list files ssh                programs and libraries that processes run
  bathyscope list user /bin/bash 'read*'   functions and USDT probes of a program or library";

/// What `list` takes.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct ListArgs {
    /// What to look for: `sched_switch`, or with wildcards `sched:*`; a full name lists its fields. Or a kind: `perf`,
    /// `functions`, `types`, `tracers`, `options`, `clocks`, `probes`, `programs`, `files`, `user`
    #[arg(value_name = "KIND|PATTERN", value_parser = kinds::FirstWord, hide_possible_values = true)]
    pub pattern: Option<String>,
    /// After a kind: only those whose name matches, such as `L1*` or `vfs_*`; after `user` the file
    #[arg(value_name = "PATTERN|FILE")]
    pub events: Option<String>,
    /// After `user` and a file: only functions and USDT probes whose name matches
    #[arg(value_name = "PATTERN", id = "names")]
    pub names: Option<String>,
    /// Tracepoints, as `trace-cmd list -e`
    #[arg(short = 'e', conflicts_with_all = ["letter_tracers", "letter_options", "letter_functions", "letter_clocks"])]
    pub letter_events: bool,
    /// Tracers, as `trace-cmd list -t` and `-p`
    #[arg(short = 't', short_alias = 'p', conflicts_with_all = ["letter_options", "letter_functions", "letter_clocks"])]
    pub letter_tracers: bool,
    /// Options of ftrace, as `trace-cmd list -o`
    #[arg(short = 'o', conflicts_with_all = ["letter_functions", "letter_clocks"])]
    pub letter_options: bool,
    /// Functions of the kernel, as `trace-cmd list -f`
    #[arg(short = 'f', conflicts_with = "letter_clocks")]
    pub letter_functions: bool,
    /// Clocks of ftrace, as `trace-cmd list -C`
    #[arg(short = 'C')]
    pub letter_clocks: bool,
    /// List the fields of every tracepoint found
    #[arg(long)]
    pub fields: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
    /// List those of the simulated kernel
    #[arg(long, value_name = "OPTIONS", num_args = 0..=1, require_equals = true, default_missing_value = "", hide = true)]
    pub simulate: Option<Simulation>,
}

/// A tracepoint that was found, with its description if that was asked for.
type Found = (TracepointName, Option<EventFormat>);

/// Prints the tracepoints that match.
///
/// # Errors
/// If tracefs cannot be read, or nothing matches.
pub fn run(mut args: ListArgs) -> Outcome {
    if let Some(word) = args.kind_of_letter() {
        // What stands behind the letter is the pattern.
        args.names = args.events.take();
        args.events = args.pattern.replace(word.to_owned());
    }
    let mut agent = OwnAgent::start(args.simulate.as_ref(), None)?;
    let first = args.pattern.as_deref();
    if first == Some("user") {
        let missing = || Failure::new("there is no file").remedy("Write `bathyscope list user /bin/bash`.");
        let file = args.events.as_deref().ok_or_else(missing)?;
        return kinds::user(&mut agent, file, args.names.as_deref(), args.json);
    }
    if let Some(word) = &args.names {
        return Err(Failure::new(format!("there is one pattern too many: `{}`", visible(word.as_bytes()))));
    }
    if let Some(kind) = first.and_then(kinds::kind_of) {
        return kinds::run(&mut agent, kind, args.events.as_deref(), args.json);
    }
    let mut client = agent.client()?;
    match args.pattern.as_deref() {
        Some("options") => return settings::options(&mut client, args.events.as_deref(), args.json),
        Some("clocks") => return settings::clocks(&mut client, args.events.as_deref(), args.json),
        _ => {}
    }
    if args.pattern.as_deref() == Some("perf") {
        return perf_events(&mut client, args.events.as_deref(), args.json);
    }
    if let Some(word) = &args.events {
        return Err(Failure::new(format!("there is one pattern too many: `{}`", visible(word.as_bytes()))));
    }
    let file = client.open_kernel_file(KernelFile::AvailableEvents);
    let bytes = read(file.map_err(|error| agent_failure("listing tracepoints", error))?, "the list of tracepoints")?;
    let all = parse_available_events(&bytes);
    let names = choose(&all, args.pattern.as_deref());
    if names.is_empty() {
        let pattern = visible(args.pattern.as_deref().unwrap_or("*").as_bytes());
        return Err(Failure::new(format!("none of {} tracepoints matches `{pattern}`", all.len()))
            .remedy("Write a part of a name, such as `switch`, or wildcards, such as `sched:*`."));
    }
    let one_by_name = args.pattern.as_deref().is_some_and(|pattern| pattern.parse::<TracepointName>().is_ok());
    let with_fields = args.fields || (one_by_name && names.len() == 1);
    let describe = |name: TracepointName| -> Result<Found, Failure> {
        let format = if with_fields { Some(format_of(&mut client, &name)?) } else { None };
        Ok((name, format))
    };
    let found = names.into_iter().map(describe).collect::<Result<Vec<_>, _>>()?;
    let text = if args.json { json_of(&found)? } else { text_of(&found) };
    super::print_all(&text)
}

impl ListArgs {
    /// The kind that a letter of `trace-cmd list` stands for; tracepoints are listed without one.
    fn kind_of_letter(&self) -> Option<&'static str> {
        [
            (self.letter_tracers, "tracers"),
            (self.letter_options, "options"),
            (self.letter_functions, "functions"),
            (self.letter_clocks, "clocks"),
        ]
        .into_iter()
        .find_map(|(asked, kind)| asked.then_some(kind))
    }
}

/// Lists the events that can be counted and sampled by their names, each tried.
fn perf_events(client: &mut AgentClient, wanted: Option<&str>, json: bool) -> Outcome {
    let all = client.perf_events().map_err(|error| agent_failure("trying events", error))?;
    let fits = |event: &&PerfEventInfo| {
        wanted.is_none_or(|wanted| {
            let names = [Some(&event.name), event.alias.as_ref(), Some(&event.kind)];
            names.into_iter().flatten().any(|name| name == wanted || matches_wildcards(wanted, name))
        })
    };
    let found: Vec<&PerfEventInfo> = all.iter().filter(fits).collect();
    if found.is_empty() {
        let wanted = visible(wanted.unwrap_or("*").as_bytes());
        return Err(Failure::new(format!("none of {} events matches `{wanted}`", all.len()))
            .remedy("Write a name or a kind, such as `hardware`, or wildcards, such as `L1*`."));
    }
    if json {
        let text = serde_json::to_string_pretty(&found).map_err(|error| Failure::because("writing JSON", error))?;
        return super::print_all(&(text + "\n"));
    }
    super::print_all(&found.into_iter().map(event_line).collect::<String>())
}

fn event_line(event: &PerfEventInfo) -> String {
    let alias = event.alias.as_ref().map_or_else(String::new, |alias| format!(" or {alias}"));
    let told = match (event.works, event.meaning.is_empty()) {
        (true, _) => event.meaning.clone(),
        (false, true) => format!("not here: {}", event.why),
        (false, false) => format!("{} (not here: {})", event.meaning, event.why),
    };
    let name = visible(format!("{}{alias}", event.name).as_bytes());
    format!("{name:<48} {:<9} {}", event.kind, visible(told.as_bytes())).trim_end().to_owned() + "\n"
}

/// What a file holds, up to a limit.
pub(super) fn read(file: OwnedFd, what: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = File::from(file).take(MAX_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| Failure::because(format!("reading {what}"), error))?;
    Ok(bytes)
}

fn format_of(client: &mut AgentClient, name: &TracepointName) -> Result<EventFormat, Failure> {
    let file = client.open_kernel_file(KernelFile::EventFormat { tracepoint: name.clone() });
    let what = format!("the format of {name}");
    let bytes = read(file.map_err(|error| agent_failure(&format!("reading {what}"), error))?, &what)?;
    parse_event_format(&bytes).map_err(|error| Failure::because(format!("reading {what}"), error))
}

/// Those that `pattern` asks for: one by its full name, those that match wildcards, or the best of a search.
fn choose(all: &[TracepointName], pattern: Option<&str>) -> Vec<TracepointName> {
    let Some(pattern) = pattern else { return all.to_vec() };
    if pattern.contains(['*', '?']) {
        return all.iter().filter(|name| matches_wildcards(pattern, &name.to_string())).cloned().collect();
    }
    if let Some(exact) = all.iter().find(|name| name.to_string() == pattern) {
        return vec![exact.clone()];
    }
    search_tracepoints(all, pattern, all.len()).best.into_iter().cloned().collect()
}

fn text_of(found: &[Found]) -> String {
    let one = |(name, format): &Found| {
        let fields: String = format.iter().flat_map(|format| &format.fields).map(line_of).collect();
        format!("{name}\n{fields}")
    };
    found.iter().map(one).collect()
}

fn line_of(field: &EventField) -> String {
    let shown = |text: &str| visible(text.as_bytes());
    let note = field.obstacle().map_or_else(String::new, |why| format!("  (cannot be recorded: {why})"));
    format!("    {:<24} {:<14} {}{note}\n", shown(&field.name), field.kind.word(), shown(&field.type_name))
}

fn json_of(found: &[Found]) -> Result<String, Failure> {
    let field = |field: &EventField| {
        serde_json::json!({
            "name": field.name, "type": field.type_name, "kind": field.kind.word(),
            "size": field.size, "signed": field.signed, "recordable": field.obstacle().is_none(),
            "note": field.obstacle(),
        })
    };
    let one = |(name, format): &Found| match format {
        Some(format) => {
            let fields: Vec<_> = format.fields.iter().map(field).collect();
            serde_json::json!({ "name": name, "fields": fields })
        }
        None => serde_json::json!({ "name": name }),
    };
    let text = serde_json::to_string_pretty(&found.iter().map(one).collect::<Vec<_>>());
    Ok(text.map_err(|error| Failure::because("writing JSON", error))? + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_name_is_one_and_a_part_is_searched() {
        let all: Vec<TracepointName> = ["sched:sched_switch", "sched:sched_wakeup", "irq:irq_handler_entry"]
            .map(|name| name.parse().unwrap())
            .into();
        let names =
            |pattern: Option<&str>| -> Vec<String> { choose(&all, pattern).iter().map(ToString::to_string).collect() };
        assert_eq!(names(None).len(), 3);
        assert_eq!(names(Some("sched:sched_switch")), ["sched:sched_switch"]);
        assert_eq!(names(Some("wakeup")), ["sched:sched_wakeup"]);
        assert_eq!(names(Some("irq:*")), ["irq:irq_handler_entry"]);
        assert!(names(Some("zzz")).is_empty());
    }
}
