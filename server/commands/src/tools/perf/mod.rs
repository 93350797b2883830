//! perf(1) and its commands.

mod events;
mod others;
mod probe;
mod record;
mod report;
mod stat;
mod target;
mod trace;
mod views;

use bathyscope_catalog::closest;

use crate::{
    answer::{Refusal, Result, SpanKind},
    call::{Call, Step},
};

pub(crate) use probe::TABLE as PERF_PROBE;
pub(crate) use record::TABLE as PERF_RECORD;
pub(crate) use report::REPORT as PERF_REPORT;
pub(crate) use stat::TABLE as PERF_STAT;

/// A command of perf, and what reads its words.
type Command = (&'static str, fn(&mut Call<'_>) -> Result<Step>);

const COMMANDS: [Command; 15] = [
    ("record", record::read),
    ("stat", stat::read),
    ("top", record::read_top),
    ("mem", record::read_memory),
    ("trace", trace::read),
    ("probe", probe::read),
    ("list", views::read_list),
    ("script", views::read_script),
    ("report", report::read_report),
    ("diff", report::read_diff),
    ("annotate", views::read_annotate),
    ("sched", others::read_sched),
    ("lock", others::read_lock),
    ("kmem", others::read_kmem),
    ("ftrace", super::ftrace_tools::read_perf),
];

/// Commands of perf that are not supported: why, and what is nearest.
const NOT_SUPPORTED: [(&str, &str, &str); 19] = [
    ("archive", "Symbols are read from the files of this host.", "Export the capture: its names are in it."),
    (
        "bench",
        "It measures the machine, and traces nothing.",
        "Run it as the command of a capture: `perf stat -- perf bench sched all`.",
    ),
    ("buildid-cache", "Nothing is cached by hand: build ids come with the mappings.", "Remove it."),
    ("buildid-list", "Build ids are kept with each frame.", "They are columns of a query by SQL."),
    (
        "c2c",
        "Lines of the cache that CPUs share are not computed.",
        "`perf mem record` samples accesses with their addresses.",
    ),
    ("config", "It is about perf's own settings.", "Remove it."),
    ("daemon", "The console records as long as it is asked to.", "Start each capture by itself."),
    ("data", "Files of perf are not converted.", "Import the file where it is supported, or record anew."),
    ("evlist", "The events of a capture are on its page Info.", "Open the capture."),
    ("help", "It is about perf itself.", "Remove it."),
    ("inject", "Files of perf are not changed.", "Record anew."),
    ("iostat", "Counters of PCI ports are not read.", "The tools biolatency and biosnoop show requests to disks."),
    ("kvm", "Guests are not told apart.", "Write `perf record -e kvm:kvm_exit -a`."),
    ("kwork", "Its tables are not computed.", "The tools hardirqs, softirqs and wqlat measure the same."),
    ("kallsyms", "Names of the kernel are in the catalogue.", "Search for the name."),
    ("test", "It tests perf itself.", "Remove it."),
    ("timechart", "Its picture is not drawn.", "`perf sched record` shows what threads and CPUs did as a timeline."),
    ("version", "It is about perf itself.", "Remove it."),
    ("buildid", "Build ids come with the mappings.", "Remove it."),
];

/// The names of its commands.
pub(crate) fn commands() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().map(|(name, _)| *name)
}

/// Reads a command.
///
/// # Errors
/// What is not understood or not possible.
pub(crate) fn read(call: &mut Call<'_>) -> Result<Step> {
    // Options of perf itself that say only how it prints.
    let skipped = call.words.iter().take_while(|word| matches!(word.text.as_str(), "--no-pager" | "-v" | "--debug"));
    let skipped = skipped.count();
    let Some((command, words)) = call.words.get(skipped..).and_then(<[_]>::split_first) else {
        return Err(Refusal::new(
            call.source(),
            "perf needs a command",
            "Write one behind it, such as `perf record`, `perf stat` or `perf trace`.",
        ));
    };
    call.marks.mark(&command.source, SpanKind::Tool);
    call.words = words;
    if let Some((_, read)) = COMMANDS.iter().find(|(name, _)| *name == command.text) {
        return read(call);
    }
    if let Some((name, why, nearest)) = NOT_SUPPORTED.iter().find(|(name, ..)| *name == command.text) {
        let why = format!("`perf {name}` is not supported. {why}");
        return Err(Refusal::new(command.source.clone(), why, *nearest));
    }
    let names = COMMANDS.iter().map(|(name, _)| *name);
    let remedy = closest(&command.text, names).map(|near| format!("Did you mean `perf {near}`?"));
    let why = format!("`{}` is no command of perf", command.text);
    Err(Refusal::new(
        command.source.clone(),
        why,
        remedy.unwrap_or_else(|| "Write `perf record`, `perf stat` or another.".to_owned()),
    ))
}
