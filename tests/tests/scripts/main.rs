//! Scripts on the running kernel, from outside: every tool of the tool library and every example is run with a workload that
//! must show up in what it prints. Needs root; `tests/lab/run` runs the same on other kernels.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

mod actions;
mod cases;
mod events;
mod examples;
mod functions;
mod places;
mod servers;
mod translations;
mod unwind;
mod user_space;
mod userland;
mod variables;

use std::{
    collections::BTreeSet,
    fs,
    path::Path,
    process::{Command, Stdio},
};

use bathyscope_tests::{
    is_root, lab_takes_few,
    programs::program,
    skip,
    tracing::{Traced, Tracer, shows},
    workspace::{root, sources},
};
use cases::{Case, EXAMPLES, Need, TOOLS, Work};
use places::{Place, tls};

/// What a script printed while `happen` ran, once it was attached. What it said instead, if it was not. A script with a
/// command or process, or that says when it is over, is waited for.
fn traced(words: &[&str], happen: impl FnOnce()) -> Result<Traced, String> {
    let ends_itself = words.iter().any(|word| matches!(*word, "-c" | "-p") || word.contains("exit()"));
    let mut tracer = Tracer::start(words.iter().copied());
    if !tracer.attached() {
        return Err(tracer.interrupt().err);
    }
    happen();
    Ok(if ends_itself { tracer.finish() } else { tracer.interrupt() })
}

/// What the running kernel has, as far as headers of tools tell their needs.
struct Kernel {
    version: (u32, u32),
    kprobes: bool,
}

impl Kernel {
    fn running() -> Self {
        let release = fs::read_to_string("/proc/sys/kernel/osrelease").expect("the kernel's release");
        let mut numbers = release.split(['.', '-']).map(|part| part.trim().parse().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        Self { version, kprobes: Path::new("/sys/kernel/tracing/kprobe_events").exists() }
    }

    /// A word that must be in the message with which it refuses a script; none if it takes it.
    fn refuses(&self, text: &str) -> Option<String> {
        let header = |name: &str| text.lines().find_map(|line| line.strip_prefix(&format!("// {name}: ")));
        let since = header("since").and_then(|since| since.split_once('.'));
        let since = since.map(|(major, minor)| (major.parse().unwrap_or(0), minor.parse().unwrap_or(0)));
        if text.lines().any(|line| line.starts_with("kprobe:")) && !self.kprobes {
            return Some("this kernel has no kprobes".to_owned());
        }
        since.is_some_and(|since: (u32, u32)| since > self.version).then(|| "there is no tracepoint".to_owned())
    }
}

/// Whether a run in the lab learns of a case what a run on the kernel outside does not: it needs what only the lab has, or
/// depends on the kernel's age or configuration. The verifier of the lab's kernel sees all scripts before.
fn differs_in_lab(folder: &str, case: &Case) -> bool {
    let text = fs::read_to_string(root().join(format!("bpf/{folder}/{}.bt", case.name))).unwrap_or_default();
    let by_kernel = ["kprobe:", "kretprobe:", "fentry:", "fexit:", "// since: "];
    case.needs != Need::Nothing || text.lines().any(|line| by_kernel.iter().any(|start| line.starts_with(start)))
}

/// Runs one script; says what is wrong, with what it printed.
fn run(folder: &str, case: &Case, kernel: &Kernel) -> Result<(), String> {
    let file = format!("bpf/{folder}/{}.bt", case.name);
    let text = fs::read_to_string(root().join(&file)).map_err(|error| format!("{file}: {error}"))?;
    let mut place = Place::new();
    let params: Vec<String> = case.params.split_whitespace().map(|word| place.filled(word)).collect();
    let mut tracer = Tracer::start([file.as_str()].into_iter().chain(params.iter().map(String::as_str)));
    let attached = tracer.attached();
    if let Some(words) = kernel.refuses(&text) {
        let Traced { err, .. } = tracer.interrupt();
        let refused = !attached && err.contains(&words) && err.contains("hint: ");
        return if refused { Ok(()) } else { Err(format!("must be refused with `{words}`, said:\n{err}")) };
    }
    if !attached {
        return Err(format!("is not attached:\n{}", tracer.interrupt().err));
    }
    let wants: Vec<String> = case.wants.iter().map(|want| place.filled(want)).collect();
    let is_shown = |out: &str| wants.iter().all(|want| is_told(out, want));
    let traced = match case.work {
        Work::Do(words) | Work::Last(words) => {
            let worked = place.work(words);
            let traced = if matches!(case.work, Work::Last(_)) { tracer.finish() } else { tracer.interrupt() };
            worked.map_err(|error| format!("the workload: {error}"))?;
            traced
        }
        Work::Until(words) => {
            place.work(words).map_err(|error| format!("the workload: {error}"))?;
            tracer.printed(is_shown);
            tracer.interrupt()
        }
        Work::Tls => {
            tls(&place);
            tracer.interrupt()
        }
        Work::Wait => {
            tracer.printed(is_shown);
            tracer.interrupt()
        }
        Work::Nothing => tracer.finish(),
    };
    let missing: Vec<&String> = wants.iter().filter(|want| !is_told(&traced.out, want)).collect();
    if !traced.status.is_some_and(|status| status.success()) {
        return Err(format!("ended with {:?}:\n{}{}", traced.status, traced.err, end_of(&traced.out)));
    }
    if missing.is_empty() || case.needs == Need::Frequency {
        if missing.is_empty() && folder == "tools" {
            examples::keep(case, &wants, &traced.out, &place);
        }
        return Ok(());
    }
    Err(format!("does not show {missing:?}:\n{}{}", end_of(&traced.out), traced.err))
}

/// Whether an output has what a case wants.
fn is_told(out: &str, want: &str) -> bool {
    let Some(sum) = want.strip_prefix("sum ") else { return shows(out, want) };
    let (column, least) = sum.split_once(' ').expect("sum COLUMN LEAST");
    let mut lines = out.lines().skip_while(|line| !line.starts_with("TIME"));
    let at = lines.next().and_then(|header| header.split_whitespace().position(|word| word == column));
    let of_line = |line: &str| line.split_whitespace().nth(at?)?.parse::<u64>().ok();
    lines.filter_map(of_line).sum::<u64>() >= least.parse().expect("a number")
}

fn end_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(40)..].join("\n") + "\n"
}

fn all(folder: &str, cases: &[Case]) {
    if !is_root() {
        return skip(&format!("bpf/{folder} on the running kernel"), "root");
    }
    if program("work").is_none() {
        return skip(&format!("bpf/{folder} on the running kernel"), "gcc");
    }
    let wanted = std::env::var("BATHYSCOPE_CASES").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split_whitespace().collect();
    let few = lab_takes_few();
    let chosen = |case: &&Case| match wanted.is_empty() {
        true => !few || differs_in_lab(folder, case),
        false => wanted.contains(&case.name),
    };
    let kernel = Kernel::running();
    let mut wrong = Vec::new();
    for case in cases.iter().filter(chosen) {
        if let Some(missing) = places::missing(case.needs) {
            skip(&format!("the output of {} on this kernel", case.name), missing);
            if case.needs != Need::Frequency {
                continue;
            }
        }
        if let Err(error) = run(folder, case, &kernel) {
            wrong.push(format!("=== {} {error}", case.name));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_tool_shows_its_workload() {
    all("tools", TOOLS);
}

#[test]
fn every_example_shows_its_workload() {
    all("examples", EXAMPLES);
}

#[test]
fn every_script_has_a_case() {
    for (folder, cases) in [("bpf/tools", TOOLS), ("bpf/examples", EXAMPLES)] {
        let files = sources(folder, &[".bt"]).into_iter().map(|file| file.path);
        let files: BTreeSet<String> = files.collect();
        let cases: BTreeSet<String> = cases.iter().map(|case| format!("{folder}/{}.bt", case.name)).collect();
        assert_eq!(files, cases);
    }
}

#[test]
fn named_parameters_may_follow_two_dashes() {
    if !is_root() {
        return skip("parameters of a script", "root");
    }
    let script = "begin { printf(\"<%d %s>\\n\", getopt(\"most\", 5), str($1)); exit(); }";
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("script.bt");
    fs::write(&file, script).expect("a script");
    for start in [&["-e", script][..], &[file.to_str().expect("a path of text")]] {
        for dashes in [&[][..], &["--"]] {
            let words = [start, dashes, &["--most=7", "x"]].concat();
            let traced = Tracer::start(words.iter().copied()).finish();
            assert!(shows(&traced.out, "<7 x>"), "{words:?}: {traced:?}");
        }
    }
}

/// A tracepoint is off again when nothing is attached to it.
#[test]
fn nothing_is_left_of_a_script() {
    if !is_root() {
        return skip("what a script leaves behind", "root");
    }
    let mut tracer = Tracer::start(["-e", "tracepoint:raw_syscalls:sys_enter { @left_behind = count(); }"]);
    assert!(tracer.attached());
    let traced = tracer.interrupt();
    assert!(shows(&traced.out, "@left_behind: "), "{traced:?}");
    let enabled = fs::read_to_string("/sys/kernel/tracing/events/raw_syscalls/sys_enter/enable").unwrap_or_default();
    let mut sleeper = Command::new("true").stdin(Stdio::null()).spawn().expect("a process starts");
    sleeper.wait().expect("it ends");
    assert!(!enabled.starts_with('1'), "{enabled}");
}
