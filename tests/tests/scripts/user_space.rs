//! Probes of functions in user space, where threads are preempted and processes end while they are looked at.

use std::{fs, path::Path, process::Command};

use bathyscope_tests::{is_root, programs::program, skip, tracing::Tracer};

/// Lets the emulated kernel preempt wherever it can; other machines are left as they are.
fn preempt_everywhere() {
    if std::env::var_os("BATHYSCOPE_LAB").is_none() {
        return;
    }
    let switch = Path::new("/sys/kernel/debug/sched/preempt");
    if !switch.exists() {
        let mounted = Command::new("mount").args(["-t", "debugfs", "none", "/sys/kernel/debug"]).status();
        assert!(mounted.is_ok_and(|status| status.success()), "debugfs");
    }
    fs::write(switch, "full").expect("the kernel's way to preempt");
}

/// The number before ` hits of` in a line that tells of hits that were left out.
fn left_out(err: &str) -> u64 {
    let counts = err.lines().filter(|line| line.contains(" hits of ")).filter_map(|line| line.strip_prefix("LOST "));
    counts.filter_map(|line| line.split(' ').next()?.parse::<u64>().ok()).sum()
}

/// Between two instructions of a program any other thread may run it on the same processor.
#[test]
fn records_of_preempted_threads_are_not_mixed() {
    let what = "records of threads on one processor";
    if !is_root() {
        return skip(what, "root");
    }
    let Some(crowd) = program("crowd") else { return skip(what, "gcc") };
    preempt_everywhere();
    let crowd = crowd.to_str().expect("a path of text");
    let script = format!(
        "config = {{ perf_rb_pages = 16384 }} uprobe:{crowd}:said {{ $text = str(arg0); $sum = 0; \
         for ($i : 0..2000) {{ $sum += $i; }} printf(\"%c %s\\n\", arg1, $text); @ = count(); }}"
    );
    for threads in [2, 24] {
        let calls = 4800 / threads;
        let command = format!("{crowd} {threads} {calls}");
        let traced = Tracer::start(["-c", &command, "-e", &script]).finish();
        assert!(traced.status.is_some_and(|status| status.success()), "{traced:?}");
        let mut records = 0;
        for line in traced.out.lines().filter(|line| line.len() > 100) {
            let (letter, text) = line.split_once(' ').expect("a letter and a text");
            assert!(text.len() == 999 && text.chars().all(|c| letter.starts_with(c)), "{threads} threads: {line}");
            records += 1;
        }
        assert_eq!(records + left_out(&traced.err), threads * calls, "{}", traced.err);
        let counted = traced.out.lines().find_map(|line| line.strip_prefix("@: "));
        assert_eq!(counted, Some(records.to_string().as_str()), "{}", traced.err);
    }
}

/// The program is gone before anybody can look at its memory; what it mapped is known all the same.
#[test]
fn stacks_of_a_command_that_is_gone_at_once_have_names() {
    let what = "stacks of a brief command";
    if !is_root() {
        return skip(what, "root");
    }
    let Some(brief) = program("brief") else { return skip(what, "gcc") };
    let brief = brief.to_str().expect("a path of text");
    let script = format!(
        "uprobe:{brief}:brief_one {{ @own[ustack] = count(); }} uprobe:libc:getppid {{ @library[ustack] = count(); }}"
    );
    let traced = Tracer::start(["-c", brief, "-e", &script]).finish();
    let after = |name: &str| traced.out.split_once(name).map(|(_, rest)| rest.trim_start().to_owned());
    assert!(after("@own[").is_some_and(|stack| stack.starts_with("brief_one+0\n")), "{traced:?}");
    assert!(after("@library[").is_some_and(|stack| stack.starts_with("getppid+0\n")), "{traced:?}");
}

/// What is printed while it is kept needs nothing of the agent, which forgets the script when the capture has ended.
#[test]
fn stacks_of_a_script_that_is_kept_are_printed() {
    let what = "stacks of a script that is kept";
    if !is_root() {
        return skip(what, "root");
    }
    let Some(brief) = program("brief") else { return skip(what, "gcc") };
    let brief = brief.to_str().expect("a path of text");
    let data = tempfile::tempdir().expect("a folder for captures");
    let data = data.path().to_str().expect("a path of text");
    // Not at a system call's own tracepoint: 6.1 gives no stack of the kernel there.
    let script = format!(
        "tracepoint:sched:sched_process_exit {{ @in_kernel[kstack] = count(); }} uprobe:{brief}:brief_one {{ @own[ustack] = count(); }}"
    );
    let traced = Tracer::start(["--save", "kept", "--data", data, "-c", brief, "-e", &script]).finish();
    assert!(traced.status.is_some_and(|status| status.success()), "{traced:?}");
    for map in ["@in_kernel[\n", "@own[\n"] {
        let frames = traced.out.split_once(map).map(|(_, rest)| rest);
        assert!(frames.is_some_and(|frames| frames.starts_with("    ")), "{traced:?}");
    }
}
