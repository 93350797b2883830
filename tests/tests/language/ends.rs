//! Nobody waits for a script's end: neither for many system calls, which are probed at one place, nor for other wildcards,
//! whose events the kernel closes when the answer is out.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use bathyscope_tests::{alone, programs::program, server::signal, skip, workspace::binary};
use rustix::process::Signal;

/// The most that anybody waits, on a quiet machine.
const MOST: Duration = Duration::from_secs(1);
/// How often it is tried: others may have the processors.
const TRIES: u32 = 5;

/// Runs a script that says when all of it is attached, ends it with SIGINT, and gives what else it printed and how long the end
/// took.
fn ended(probes: &str) -> (String, Duration) {
    let script = format!(
        "config = {{ missing_probes = \"ignore\" }} {probes} interval:ms:10 {{ if (!@said) {{ printf(\"attached\\n\"); }} @said = 1; }}"
    );
    let mut child = Command::new(binary())
        .args(["trace", "-q", "-B", "line", "-e", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("it is a pipe"));
    let mut line = String::new();
    out.read_line(&mut line).expect("it says that it is attached");
    assert_eq!(line, "attached\n");
    let since = Instant::now();
    signal(child.id(), Signal::INT);
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("it prints text");
    let status = child.wait().expect("it ends");
    let took = since.elapsed();
    assert!(status.success(), "{status}");
    (rest, took)
}

#[test]
fn nobody_waits_for_the_end_of_a_wildcard() {
    let Some(_alone) = alone("the end of scripts with many probes") else { return };
    for probes in [
        "tracepoint:syscalls:sys_enter_* { @[probe] = count(); } end { clear(@); printf(\"end\\n\"); }",
        "tracepoint:syscalls:* { @[probe] = count(); } end { clear(@); printf(\"end\\n\"); }",
        "tracepoint:ext4:*,tracepoint:jbd2:*,tracepoint:block:*,tracepoint:sock:*,tracepoint:tcp:*,tracepoint:writeback:*,\
         tracepoint:sched:* { @ = count(); } end { clear(@); printf(\"end\\n\"); }",
    ] {
        let mut fastest = Duration::MAX;
        for _try in 0..TRIES {
            let (rest, took) = ended(probes);
            assert!(rest.contains("end\n"), "{rest}");
            fastest = fastest.min(took);
            if fastest < MOST {
                break;
            }
        }
        assert!(fastest < MOST, "the end took {fastest:?}: {probes}");
    }
}

/// Hits by probe and by number, of one program's calls.
#[test]
fn hits_of_many_calls_are_those_of_the_tracepoint_of_all_calls() {
    const WHAT: &str = "hits of many system calls beside those of all calls";
    let Some(_alone) = alone(WHAT) else { return };
    let Some(work) = program("work") else {
        skip(WHAT, "gcc");
        return;
    };
    let script = "tracepoint:syscalls:sys_enter_* /pid == cpid/ { @single = count(); @entered[probe] = count(); }
        tracepoint:syscalls:sys_exit_* /pid == cpid/ { @exited = sum(args.ret < 0 ? 1 : 0); @left = count(); }
        tracepoint:raw_syscalls:sys_enter /pid == cpid/ { @all = count(); }
        tracepoint:raw_syscalls:sys_exit /pid == cpid/ { @failed = sum(args.ret < 0 ? 1 : 0); @all_left = count(); }
        end { printf(\"%d %d %d %d %d %d\\n\", @single, @all, @left, @all_left, @exited, @failed); clear(@single);
              clear(@all); clear(@left); clear(@all_left); clear(@exited); clear(@failed); }";
    let command = format!("{} open /dev/null", work.display());
    let output = Command::new(binary())
        .args(["trace", "-q", "-e", script, "-c", &command])
        .stdin(Stdio::null())
        .output()
        .expect("it runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let numbers: Vec<u64> =
        text.lines().find_map(|line| line.split(' ').map(|word| word.parse().ok()).collect()).unwrap_or_default();
    let [single, all, left, all_left, exited, failed] = numbers.as_slice() else {
        panic!("{text}\n{}", String::from_utf8_lossy(&output.stderr))
    };
    assert!(*single > 10, "{text}");
    assert_eq!((single, left, exited), (all, all_left, failed), "{text}");
    assert!(text.contains("@entered[tracepoint:syscalls:sys_enter_execve]: 1"), "{text}");
}
