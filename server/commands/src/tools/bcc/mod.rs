//! The tools of BCC, by the names and letters that they have there. Those of the tool library are run as they are; others become a
//! script, or are answered with what is nearest.

mod argdist;
mod probes;
mod tables;
mod traced;

use bathyscope_bpf::tools::{self, View};
use bathyscope_capture::{Method, ProfileSpec, ScriptSpec, Target};

use super::bpftrace;
use crate::{
    answer::{Refusal, Result, SpanKind, ViewName},
    call::{Call, Step, Whose, seconds},
    options::{Arguments, Given, Order, Table},
};
use tables::{NOT_THERE, TOOLS};

/// The names of all of them.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    let own = TOOLS.iter().map(|(name, _)| *name);
    own.chain(["argdist"])
        .chain(NOT_THERE.iter().map(|(name, _)| *name))
        .chain(tools::all().iter().map(|tool| tool.name))
}

/// Whether one is called so.
pub(super) fn is_tool(name: &str) -> bool {
    names().any(|known| known == name)
}

/// Reads a command.
///
/// # Errors
/// What is not understood or not possible.
pub(super) fn read(call: &mut Call<'_>) -> Result<Step> {
    if let Some((name, nearest)) = NOT_THERE.iter().find(|(name, _)| *name == call.tool) {
        return Err(Refusal::new(call.source(), format!("the tool library has no {name}"), *nearest));
    }
    call.ignore_redirects("what a tool prints is kept with the capture");
    let (name, rules) = match TOOLS.iter().find(|(name, _)| *name == call.tool) {
        Some((name, rules)) => (*name, *rules),
        None if call.tool == "argdist" => ("argdist", argdist::RULES),
        None => (tools::find(&call.tool).map_or("", |tool| tool.name), tables::ANY),
    };
    let table = Table { tool: name, order: Order::Anywhere, rules };
    let arguments = table.read(call.words, call.marks)?;
    match name {
        "profile" => profile(&arguments, call),
        "argdist" => argdist::read(&arguments, call),
        "funccount" | "funclatency" => probes::counted(name, &arguments, call),
        "stackcount" => probes::stacks(&arguments, call),
        "trace" => traced::read(&arguments, call),
        "fileslower" | "tcpconnlat" => {
            let params = threshold(&arguments, call, "ms", 1.0)?;
            of_library(name, params, &arguments, Positional::Nothing, call)
        }
        "runqslower" => {
            let params = threshold(&arguments, call, "ms", 0.001)?;
            of_library(name, params, &arguments, Positional::Nothing, call)
        }
        "ext4slower" | "xfsslower" | "btrfsslower" | "nfsslower" => {
            let mut params = threshold(&arguments, call, "ms", 1.0)?;
            let system = name.strip_suffix("slower").unwrap_or(name);
            if system != "ext4" {
                params.push(format!("--system={system}"));
            }
            of_library("ext4slower", params, &arguments, Positional::Nothing, call)
        }
        "cachestat" | "dcstat" | "vfsstat" => {
            let seconds = arguments.operands.first().map(seconds_of).transpose()?.map(|ms| (ms / 1000).max(1));
            let params = seconds.filter(|seconds| *seconds > 1).map(|seconds| format!("--seconds={seconds}"));
            of_library(name, params.into_iter().collect(), &arguments, Positional::Lines, call)
        }
        "klockstat" | "offwaketime" => of_library(name, Vec::new(), &arguments, Positional::Duration, call),
        "offcputime" | "wakeuptime" => {
            let params = number(&arguments, "-m", "us")?;
            of_library(name, params, &arguments, Positional::Duration, call)
        }
        "biolatency" if arguments.has("-D") => {
            of_library(name, vec!["--disks=true".to_owned()], &arguments, Positional::Interval, call)
        }
        "biotop" | "biolatency" | "runqlat" | "runqlen" | "cpudist" | "hardirqs" | "softirqs" | "tcptop"
        | "filetop" | "memleak" => {
            let params = number(&arguments, "-r", "top")?;
            of_library(name, params, &arguments, Positional::Interval, call)
        }
        "syscount" => {
            let params = number(&arguments, "-T", "top")?;
            of_library(name, params, &arguments, Positional::Nothing, call)
        }
        _ => {
            let failed = arguments.has("-x").then(|| "--failed=true".to_owned());
            of_library(name, failed.into_iter().collect(), &arguments, Positional::Parameters, call)
        }
    }
}

/// What words without an option mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Positional {
    /// None are taken.
    Nothing,
    /// Seconds between two tables, and how many of them.
    Interval,
    /// Seconds between two lines, which the script prints, and how many of them.
    Lines,
    /// How many seconds.
    Duration,
    /// Parameters of the script.
    Parameters,
}

/// A tool of the library.
fn of_library(
    name: &str,
    mut params: Vec<String>,
    arguments: &Arguments,
    positional: Positional,
    call: &mut Call<'_>,
) -> Result<Step> {
    let Some(tool) = tools::find(name) else {
        return Err(Refusal::new(
            call.source(),
            format!("the tool library has no {name}"),
            "The page Tools lists what it has.",
        ));
    };
    let takes_name = tool.parameters.iter().any(|it| it.name == "--name");
    let mut whose = match arguments.last("-n").filter(|_| takes_name && (arguments.has("-p") || arguments.has("-u"))) {
        Some(given) => {
            params.push(format!("--name={}", part_of_name(given)?));
            whose_but(arguments, call, "-n")?
        }
        None => whose(arguments, call)?,
    };
    let duration_ms = match positional {
        Positional::Parameters => {
            for word in &arguments.operands {
                params.push(word.pattern()?.to_owned());
            }
            None
        }
        Positional::Nothing => None,
        Positional::Interval => interval(arguments, call)?,
        // An interval that the script has is no word without a meaning.
        Positional::Lines if arguments.operands.len() > 1 => interval(arguments, call)?,
        Positional::Lines => None,
        Positional::Duration => arguments.operands.first().map(seconds_of).transpose()?,
    };
    if let (Positional::Nothing | Positional::Duration, [_, odd, ..]) = (positional, arguments.operands.as_slice()) {
        return Err(Refusal::new(odd.source.clone(), format!("{name} takes one word without an option"), "Remove it."));
    }
    whose.duration_ms = duration(arguments)?.or(duration_ms);
    let needed = tool.parameters.iter().filter(|it| it.name.starts_with('$')).count();
    let given = params.iter().filter(|param| !param.starts_with("--")).count();
    if given < needed && positional == Positional::Parameters {
        let missing = tool.parameters.get(given).map_or("a parameter", |it| it.description);
        return Err(Refusal::new(
            call.source(),
            format!("{name} needs {missing}"),
            "Write it behind the name of the tool.",
        ));
    }
    let script = ScriptSpec { text: tool.text.to_owned(), file: tool.name.to_owned(), params, allow_unsafe: false };
    let opens = match tool.view {
        View::Flame => ViewName::Flame,
        View::Histogram | View::Heatmap => ViewName::Maps,
        View::Table | View::Timeline => bpftrace::opens(tool.text),
    };
    call.capture(Method::Script(script), whose, opens)
}

/// A capture of a script that was made of a command.
fn of_script(text: String, arguments: &Arguments, duration_ms: Option<u64>, call: &mut Call<'_>) -> Result<Step> {
    of_script_but(text, arguments, duration_ms, "", call)
}

/// The same where one of the options that say whose events says something else.
fn of_script_but(
    text: String,
    arguments: &Arguments,
    duration_ms: Option<u64>,
    but: &str,
    call: &mut Call<'_>,
) -> Result<Step> {
    let mut whose = whose_but(arguments, call, but)?;
    whose.duration_ms = duration(arguments)?.or(duration_ms);
    let opens = bpftrace::opens(&text);
    let script = ScriptSpec { text, ..ScriptSpec::default() };
    call.capture(Method::Script(script), whose, opens)
}

/// A part of a thread's name.
fn part_of_name(given: &Given) -> Result<String> {
    let name = given.text()?;
    if name.is_empty() || name.len() > 15 || name.contains('*') {
        return given.refuse("that is no part of a thread's name", "Write at most 15 letters.");
    }
    Ok(name)
}

/// Whose events, by `-p`, `-u`, `-n` and `-c`.
fn whose(arguments: &Arguments, call: &mut Call<'_>) -> Result<Whose> {
    whose_but(arguments, call, "")
}

/// The same without what one of these options says.
fn whose_but(arguments: &Arguments, call: &mut Call<'_>, but: &str) -> Result<Whose> {
    let keys = ["-p", "-u", "-n"].into_iter().filter(|key| *key != but);
    let chosen: Vec<&Given> = keys.filter_map(|key| arguments.last(key)).collect();
    match chosen.as_slice() {
        [] => Ok(Whose::of(Target::System)),
        [given] if given.key == "-p" => match call.process_ids(&given.word())? {
            (_, Some(missing)) => {
                Ok(Whose { missing: Some(missing), ..Whose::of(Target::Process { pid: 0, children: false }) })
            }
            (pids, None) => Ok(Whose::of(Target::of_processes(&pids, false))),
        },
        [given] if given.key == "-u" => {
            call.marks.mark(&given.word().source, SpanKind::Target);
            Ok(Whose::of(Target::User { user: given.text()? }))
        }
        [given] => {
            call.marks.mark(&given.word().source, SpanKind::Target);
            Ok(Whose::of(Target::Comm { pattern: format!("*{}*", part_of_name(given)?) }))
        }
        [_, other, ..] => {
            other.refuse("a capture is of a process, a user or threads by name", "Write only one of -p, -u and -n.")
        }
    }
}

fn seconds_of(word: &crate::shell::Word) -> Result<u64> {
    match seconds(word.plain()?).map(|seconds| seconds * 1000.0) {
        Some(ms) if (1.0..=604_800_000.0).contains(&ms) => Ok(ms.round() as u64),
        _ => Err(Refusal::new(
            word.source.clone(),
            format!("`{}` is no number of seconds", word.text),
            "Write a number.",
        )),
    }
}

/// What `-d` or `-D` says, in seconds.
fn duration(arguments: &Arguments) -> Result<Option<u64>> {
    arguments.last("--duration").map(|given| seconds_of(&given.word())).transpose()
}

/// `[INTERVAL [COUNT]]`
fn interval(arguments: &Arguments, call: &mut Call<'_>) -> Result<Option<u64>> {
    match arguments.operands.as_slice() {
        [] => Ok(None),
        [interval] => {
            seconds_of(interval)?;
            call.marks.ignore(&interval.source, "the interval has no meaning here: values are shown while they change");
            Ok(None)
        }
        [interval, count] => {
            let ms = seconds_of(interval)?;
            match count.plain()?.parse::<u64>().ok().and_then(|count| ms.checked_mul(count)) {
                Some(total) if (1..=604_800_000).contains(&total) => Ok(Some(total)),
                _ => Err(Refusal::new(
                    count.source.clone(),
                    format!("`{}` is no number of tables", count.text),
                    "Write a number.",
                )),
            }
        }
        [_, _, odd, ..] => {
            Err(Refusal::new(odd.source.clone(), format!("{} takes an interval and a count", call.tool), "Remove it."))
        }
    }
}

/// The word without an option, as a parameter of the script in units of `factor`.
fn threshold(arguments: &Arguments, call: &Call<'_>, name: &str, factor: f64) -> Result<Vec<String>> {
    let Some(word) = arguments.operands.first() else { return Ok(Vec::new()) };
    let value = word.plain()?.parse::<f64>().ok().map(|value| value * factor);
    match value {
        Some(value) if value >= 0.0 && value.fract() == 0.0 && value < 1e9 => Ok(vec![format!("--{name}={value}")]),
        Some(value) if value >= 0.0 => {
            let why = format!("{} takes whole milliseconds here, and this is {value} ms", call.tool);
            Err(Refusal::new(word.source.clone(), why, "Write whole milliseconds."))
        }
        _ => Err(Refusal::new(word.source.clone(), format!("`{}` is no time", word.text), "Write a number.")),
    }
}

/// A number that an option gives, as a parameter of the script.
fn number(arguments: &Arguments, key: &str, name: &str) -> Result<Vec<String>> {
    let Some(given) = arguments.last(key) else { return Ok(Vec::new()) };
    match given.text()?.parse::<u64>() {
        Ok(number) => Ok(vec![format!("--{name}={number}")]),
        Err(_) => given.refuse("that is no number", "Write a number."),
    }
}

/// `profile` samples stacks, as `perf record -g` does.
fn profile(arguments: &Arguments, call: &mut Call<'_>) -> Result<Step> {
    let mut whose = whose(arguments, call)?;
    if let Some(given) = arguments.last("-L") {
        whose = match call.process_ids(&given.word())? {
            (tids, None) => Whose::of(Target::Threads { tids, children: false }),
            (_, missing) => Whose { missing, ..Whose::of(Target::Process { pid: 0, children: false }) },
        };
    }
    whose.duration_ms = arguments.operands.first().map(seconds_of).transpose()?;
    let usual = ProfileSpec::default();
    let frequency_hz = match arguments.last("-F") {
        // That of the tool.
        None => 49,
        Some(given) => match given.text()?.parse::<u32>() {
            Ok(hz) if (1..=10_000).contains(&hz) => hz,
            _ => {
                return given
                    .refuse("a CPU is sampled from 1 to 10000 times a second", "Write a number in this range.");
            }
        },
    };
    let cpus = match arguments.last("-C") {
        None => Vec::new(),
        Some(given) => match given.text()?.parse::<u32>() {
            Ok(cpu) => vec![cpu],
            Err(_) => return given.refuse("that is no CPU", "Write its number."),
        },
    };
    let (user, kernel) = (arguments.has("-U"), arguments.has("-K"));
    if let (true, true, Some(given)) = (user, kernel, arguments.last("-K")) {
        return given.refuse("-U and -K exclude each other", "Remove one of them.");
    }
    let profile = ProfileSpec { frequency_hz, kernel_stacks: !user, user_stacks: !kernel, cpus, ..usual };
    call.capture(Method::Profile(profile), whose, ViewName::Flame)
}
