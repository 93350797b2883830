//! The tools whose commands are understood, each in a file of its own with one table of its options.

mod bcc;
mod bpftrace;
mod ftrace_tools;
mod live;
mod perf;
mod scripts;
pub(crate) mod strace;
mod sysdig;
mod trace_cmd;
pub(crate) mod tracefs;

use crate::{
    answer::{Marks, Planned, Refusal, Result, SpanKind, StoredView, ViewName},
    call::{Call, Step, seconds},
    host::Host,
    shell::{Simple, Word},
};

pub(crate) use bpftrace::BPFTRACE;
pub(crate) use perf::{PERF_PROBE, PERF_RECORD, PERF_REPORT, PERF_STAT};
pub(crate) use strace::TABLE as STRACE;
pub(crate) use trace_cmd::{LIST as TRACE_CMD_LIST, RECORD as TRACE_CMD_RECORD, REPORT as TRACE_CMD_REPORT};

type Read = fn(&mut Call<'_>) -> Result<Step>;

/// Names of tools, and what reads their words.
const TOOLS: &[(&str, Read)] = &[
    ("strace", strace::read),
    ("perf", perf::read),
    ("trace-cmd", trace_cmd::read),
    ("bpftrace", bpftrace::read),
    ("ply", bpftrace::read_ply),
    ("sysdig", sysdig::read),
    ("dtrace", scripts::read_dtrace),
    ("stap", scripts::read_stap),
    ("ltrace", live::read_ltrace),
    ("lsof", live::read_lsof),
    ("tcpdump", live::read_tcpdump),
    ("funcgraph", ftrace_tools::read_functions),
    ("functrace", ftrace_tools::read_functions),
    ("tpoint", ftrace_tools::read_tpoint),
    ("kprobe", ftrace_tools::read_probe),
    ("uprobe", ftrace_tools::read_probe),
];

/// Commands that only make other tools' output readable.
const READERS: [&str; 22] = [
    "less", "more", "head", "tail", "grep", "egrep", "tee", "wc", "sort", "uniq", "awk", "gawk", "cut", "column",
    "sed", "c++filt", "cat", "fold", "tr", "xargs", "nl", "rev",
];

/// The names of all tools.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TOOLS.iter().map(|(name, _)| *name).chain(live::overview_names()).chain(bcc::names())
}

/// The names of a tool's commands; none where it has no commands of its own.
pub(crate) fn commands_of(tool: &str) -> Vec<&'static str> {
    match tool {
        "perf" => perf::commands().collect(),
        "trace-cmd" => trace_cmd::COMMANDS.to_vec(),
        _ => Vec::new(),
    }
}

/// Names of tools that are words of a language too: behind `#` they may begin a comment.
const WORDS: [&str; 16] = [
    "capable", "drops", "faults", "forks", "free", "futexes", "head", "less", "loads", "locks", "profile", "signals",
    "tail", "time", "top", "trace",
];

/// Whether a word behind `#` begins a command, and no comment.
pub(crate) fn is_command(word: &str) -> bool {
    let name = bare_name(word);
    if WORDS.contains(&name.as_str()) {
        return false;
    }
    let others = ["sudo", "doas", "time", "nice", "timeout", "env", "nohup"];
    names().any(|known| known == name) || others.contains(&name.as_str()) || tracefs::is_command(&name)
}

/// A tool's name without its folder and what packages put behind it.
pub(crate) fn bare_name(word: &str) -> String {
    let name = word.rsplit('/').next().unwrap_or(word);
    let bare = ["-bpfcc", ".bt", ".py"].iter().find_map(|end| name.strip_suffix(end));
    bare.filter(|bare| bcc::is_tool(bare)).unwrap_or(name).to_owned()
}

/// Reads a command of a tool; none if no tool is called so.
///
/// # Errors
/// What is not understood or not possible.
pub(crate) fn read(call: &mut Call<'_>) -> Result<Option<Step>> {
    let found = TOOLS.iter().find(|(name, _)| *name == call.tool).map(|(_, read)| *read);
    let overview = || live::is_overview(&call.tool).then_some(live::read_overview as Read);
    let of_bcc = || bcc::is_tool(&call.tool).then_some(bcc::read as Read);
    let Some(read) = found.or_else(overview).or_else(of_bcc) else {
        let Some(view) = view_of_script(&call.tool) else { return Ok(None) };
        call.marks.mark(&call.name.source, SpanKind::Tool);
        call.ignore_redirects("the picture can be saved from its page");
        return Ok(Some(Step::View(StoredView::newest(view))));
    };
    call.marks.mark(&call.name.source, SpanKind::Tool);
    read(call).map(Some)
}

/// The capture of a script of the probe language that stands alone; none if the text is no such script.
pub(crate) fn bare_script(text: &str) -> Option<Result<Planned>> {
    bpftrace::bare_script(text)
}

/// What stands before a tool's name.
pub(crate) struct Before {
    /// How many words that are.
    pub(crate) start: usize,
    /// When `timeout` ends the tool.
    pub(crate) timeout_ms: Option<u64>,
    /// Variables by which bpftrace is set: `BPFTRACE_MAX_STRLEN=200`.
    pub(crate) settings: Vec<Word>,
}

/// Reads what stands before a tool's name: `sudo`, `time`, `nice`, `timeout`, variables of the environment.
///
/// # Errors
/// An option of theirs that is not known.
pub(crate) fn before(words: &[Word], marks: &mut Marks) -> Result<Before> {
    let mut before = Before { start: 0, timeout_ms: None, settings: Vec::new() };
    while let Some(word) = words.get(before.start) {
        let rest = words.get(before.start + 1..).unwrap_or_default();
        let taken = match bare_name(&word.text).as_str() {
            _ if is_assignment(word) && word.text.starts_with("BPFTRACE_") => {
                before.settings.push(word.clone());
                0
            }
            _ if is_assignment(word) => {
                let name = word.text.split('=').next().unwrap_or_default();
                marks.ignore(
                    &word.source,
                    format!("{name} is not set: commands have the environment that Bathyscope was started with"),
                );
                0
            }
            "sudo" | "doas" => {
                const VALUED: [&str; 10] = ["-u", "-g", "-h", "-p", "-C", "-D", "-R", "-T", "--user", "--group"];
                let taken = after_options(rest, &VALUED);
                if let Some(user) =
                    rest.iter().take(taken).find(|it| it.text.starts_with("-u") || it.text.starts_with("--user"))
                {
                    let why = "whose rights a capture has is said by the login, and the user of a command by the form";
                    marks.ignore(&user.source, format!("{} has no meaning here: {why}", user.text));
                }
                taken
            }
            "time" | "nohup" | "setsid" => after_options(rest, &["-f", "-o"]),
            "env" => after_options(rest, &["-u", "-C", "-S"]),
            name @ ("nice" | "ionice" | "chrt" | "stdbuf") => {
                let why = "a command is started by Bathyscope, with its priority and its streams";
                marks.ignore(&word.source, format!("{name} has no meaning here: {why}"));
                after_options(rest, &["-n", "-c", "-i", "-o", "-e", "-p"])
            }
            "timeout" => timeout(rest, &mut before)?,
            _ => break,
        };
        let end = words.get(before.start + taken).map_or(word.source.end, |last| last.source.end);
        if !is_assignment(word) {
            marks.mark(&(word.source.start..end), SpanKind::Shell);
        }
        before.start += 1 + taken;
    }
    Ok(before)
}

fn is_assignment(word: &Word) -> bool {
    let Some((name, _)) = word.text.split_once('=') else { return false };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// How many words are options, where those of `valued` have a value.
fn after_options(words: &[Word], valued: &[&str]) -> usize {
    let mut taken = 0;
    while let Some(word) = words.get(taken).filter(|word| word.text.starts_with('-') && word.text.len() > 1) {
        taken += if valued.contains(&word.text.as_str()) { 2 } else { 1 };
        if word.text == "--" {
            break;
        }
    }
    // A scheduling priority stands alone.
    taken.min(words.len())
}

fn timeout(rest: &[Word], before: &mut Before) -> Result<usize> {
    let options = after_options(rest, &["-s", "-k", "--signal", "--kill-after"]);
    let Some(time) = rest.get(options) else { return Ok(options) };
    match seconds(time.plain()?).map(|seconds| seconds * 1000.0) {
        Some(ms) if (1.0..=7.0 * 86_400_000.0).contains(&ms) => before.timeout_ms = Some(ms as u64),
        _ => {
            let why = format!("`{}` is no time for `timeout`", time.text);
            return Err(Refusal::new(time.source.clone(), why, "Write seconds, or a number with s, m, h or d."));
        }
    }
    Ok(options + 1)
}

/// The view that a command shows which reads what a tool writes.
///
/// # Errors
/// What is not understood.
pub(crate) fn view_behind(command: &Simple, host: &dyn Host, marks: &mut Marks) -> Result<Option<StoredView>> {
    let Before { start, .. } = before(&command.words, marks)?;
    let Some((name, words)) = command.words.get(start..).and_then(<[Word]>::split_first) else { return Ok(None) };
    let tool = bare_name(&name.text);
    if READERS.contains(&tool.as_str()) {
        marks.ignore(
            &command.source(),
            format!("`{tool}` has no meaning here: rows are searched and filtered where they are shown"),
        );
        return Ok(None);
    }
    let mut call =
        Call { name, tool, words, redirects: &command.redirects, host, marks, probes: &[], files: &[], settings: &[] };
    match read(&mut call)? {
        Some(Step::View(view)) => Ok(Some(view)),
        Some(_) => Err(Refusal::new(
            command.source(),
            format!("`{}` does not read what another tool writes", call.tool),
            "Write the two commands one after the other.",
        )),
        None => {
            let why = format!("`{}` reads what the tool before it writes, and nothing is written here", call.tool);
            Err(Refusal::new(
                command.source(),
                why,
                "Remove it: rows are shown, searched, filtered and exported in the browser.",
            ))
        }
    }
}

/// The view that a script for pictures makes.
fn view_of_script(tool: &str) -> Option<ViewName> {
    let is_folding =
        tool.starts_with("stackcollapse") || matches!(tool, "inferno-collapse-perf" | "inferno-flamegraph");
    (is_folding || tool == "flamegraph.pl" || tool == "difffolded.pl").then_some(ViewName::Flame)
}
