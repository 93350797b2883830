//! `bathyscope trace` as a person runs it, with made-up events: needs no rights.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

fn trace(words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    command.arg("trace").args(words).stdin(Stdio::null());
    command.output().unwrap()
}

/// The number before `word` in the line of the summary that begins with `start`.
fn told(output: &Output, start: &str, word: &str) -> usize {
    let text = String::from_utf8(output.stderr.clone()).unwrap();
    let line = text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("{text}"));
    let before = line[..line.find(word).unwrap()].trim_end();
    before.rsplit([' ', ',']).next().unwrap().parse().unwrap()
}

#[test]
fn every_stored_row_is_printed() {
    let words = ["--simulate=rate=20000", "-e", "sched:sched_switch", "--duration", "700ms", "--json"];
    let output = trace(&words);
    let (rows, text) = (String::from_utf8(output.stdout.clone()).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    let rows: Vec<serde_json::Value> = rows.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(rows.len() > 1000, "{text}");
    assert_eq!(rows.len(), told(&output, "sched:sched_switch:", "recorded"), "{text}");
    assert!(rows.iter().all(|row| row["event"] == "sched:sched_switch" && row["time"].is_u64()));
    assert!(text.starts_with("finished: 700 ms have passed"), "{text}");
    assert!(text.contains("nothing was lost"), "{text}");
}

#[test]
fn losses_are_told() {
    let words = ["--simulate=rate=20000,lose_every=100", "-e", "sched:sched_switch", "--duration", "500ms"];
    let output = trace(&words);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let lost = told_lost(&text);
    assert!(lost > 10, "{text}");
    assert!(text.contains("the ring between kernel and console was full"), "{text}");
    let first = String::from_utf8_lossy(&output.stdout).lines().next().unwrap().to_owned();
    assert!(first.contains(" sched:sched_switch "), "{first}");
}

fn told_lost(text: &str) -> usize {
    let line = text.lines().find(|line| line.starts_with("LOST ")).unwrap();
    line["LOST ".len()..line.find(':').unwrap()].parse().unwrap()
}

#[test]
fn a_profile_ends_in_a_table_of_functions() {
    let output = trace(&["--simulate", "--profile=200", "--duration", "500ms"]);
    let (table, text) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{text}");
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[0].ends_with(" samples") && lines.len() > 3, "{table}");
    assert!(lines[1].contains("self") && lines[2].contains('%'), "{table}");
}

/// The recorder remembers what has ended for ten seconds, for who looks at it; nobody does here.
#[test]
fn a_verb_ends_with_what_it_watched() {
    let tried: [&[&str]; 5] = [
        &["trace", "--simulate", "-e", "sched:sched_switch", "--duration", "100ms"],
        &["trace", "--simulate", "--profile=200", "--duration", "100ms"],
        &["stat", "--simulate", "-e", "cs", "--duration", "100ms"],
        &["top", "--simulate", "--duration", "100ms"],
        &["strace", "--simulate", "-p", "1", "--duration", "100ms"],
    ];
    for words in tried {
        let began = Instant::now();
        let output = Command::new(env!("CARGO_BIN_EXE_bathyscope")).args(words).stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert!(began.elapsed() < Duration::from_secs(8), "{words:?}: {:?}", began.elapsed());
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_capture() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    command.args(["trace", "--simulate", "-e", "sched:sched_switch"]).stdin(Stdio::null());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("stopped by its reader, which went away"), "{text}");
}

#[test]
fn what_does_not_exist_is_told_with_a_remedy() {
    let output = trace(&["--simulate", "-e", "no:such_event"]);
    assert!(!output.status.success());
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.starts_with("bathyscope: ") && text.contains("no:such_event"), "{text}");
}

#[test]
fn the_letters_of_trace_cmd_list_tracers_options_and_clocks() {
    let list = |words: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
        let output = command.args(["list", "--simulate"]).args(words).stdin(Stdio::null()).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    };
    let cases: [(&[&str], bool, &str); 8] = [
        (&["-o"], true, "sym-offset                   off"),
        (&["options", "event*"], true, "event-fork"),
        (&["-C"], true, "mono         the default of captures"),
        (&["clocks", "local"], true, "chosen for the machine's own instance"),
        (&["-t"], true, "function_graph"),
        (&["-f", "vfs_*"], true, "vfs_read"),
        (&["-o", "nothing*"], false, "no option that matches"),
        (&["-f", "malloc"], false, "perf probe -x libc malloc"),
    ];
    for (words, works, expected) in cases {
        let (ended, text) = list(words);
        assert!(ended == works && text.contains(expected), "{words:?}: {text}");
    }
}
