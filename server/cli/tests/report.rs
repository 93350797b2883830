//! `bathyscope report`, `diff` and `top` as a person runs them, on made-up samples.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn bathyscope(words: &[&str], data: &TempDir) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    // A command of another tool takes all words behind it.
    let (verb, rest) = words.split_first().unwrap();
    command.arg(verb).arg("--data").arg(data.path()).args(rest).stdin(Stdio::null());
    command.output().unwrap()
}

#[track_caller]
fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn refused(output: &Output) -> String {
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A folder with so many stored profiles.
fn profiles(count: usize) -> TempDir {
    let data = tempfile::tempdir().unwrap();
    for _ in 0..count {
        text(&bathyscope(&["profile", "--simulate=rate=3000", "--duration", "500ms", "--save", "made up"], &data));
    }
    data
}

fn objects(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The number behind words of a line.
fn told(text: &str, words: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(words)).unwrap();
    line[words.len()..].trim().split(' ').next().unwrap().parse().unwrap()
}

#[test]
fn a_profile_is_reported_as_perf_does() {
    let data = profiles(1);
    let usual = text(&bathyscope(&["report"], &data));
    let samples = told(&usual, "# Samples: ");
    assert!(samples > 20, "{usual}");
    assert!(usual.contains("\n# Children      Self  Command"), "{usual}");
    assert!(usual.contains("\n            |\n            ---"), "{usual}");
    let words = ["report", "newest", "--sort", "comm,pid", "-n", "--no-children", "-g", "none", "--json"];
    let rows = objects(&text(&bathyscope(&words, &data)));
    assert_eq!(rows.iter().map(|row| row["samples"].as_u64().unwrap()).sum::<u64>(), samples);
    assert!(rows.iter().all(|row| row["comm"].is_string() && row["pid"].is_u64() && row["chains"].is_null()));
    // A filter and a range leave those that match.
    let comm = rows[0]["comm"].as_str().unwrap();
    let filter = format!("comm == \"{comm}\"");
    let only = text(&bathyscope(&["report", "--stdio", "-F", &filter, "--sort", "comm", "-g", "none"], &data));
    let of_comm: u64 = rows.iter().filter(|row| row["comm"] == comm).map(|row| row["samples"].as_u64().unwrap()).sum();
    assert_eq!(told(&only, "# Samples: "), of_comm);
    let parts: Vec<u64> = [["--to", "250ms"], ["--from", "250ms"]]
        .map(|range| told(&text(&bathyscope(&[&["report"], &range[..]].concat(), &data)), "# Samples: "))
        .to_vec();
    assert_eq!(parts.iter().sum::<u64>(), samples, "{parts:?}");
    // Its rows are still there.
    assert!(!text(&bathyscope(&["report", "--rows"], &data)).starts_with('#'));
}

#[test]
fn what_cannot_be_reported_is_refused_in_words() {
    let data = profiles(1);
    for (words, why) in [
        (&["report", "--sort", "colour"][..], "samples are sorted by comm, dso"),
        (&["report", "--sort", "cgroup"], "no control group was recorded"),
        (&["report", "-g", "fractal"], "fractal is not supported"),
        (&["report", "--percent-limit", "101"], "a number from 0 to 100"),
        (&["report", "--stream", "nothing"], "is no stream of samples"),
        (&["report", "--functions", "--sort", "dso"], "are for samples by keys"),
        (&["diff"], "no two captures"),
        (&["diff", "newest"], "two are compared"),
    ] {
        let said = refused(&bathyscope(words, &data));
        assert!(said.contains(why), "{words:?}: {said}");
    }
}

#[test]
fn two_profiles_are_compared() {
    let data = profiles(2);
    let table = text(&bathyscope(&["diff"], &data));
    assert!(table.contains("\n# Baseline      Delta  Chance  Symbol\n"), "{table}");
    assert!(table.contains(" functions differ by more than chance "), "{table}");
    let same = text(&bathyscope(&["diff", "newest", "newest", "--significant"], &data));
    assert!(same.contains("\n# 0 of "), "{same}");
    let rows = objects(&text(&bathyscope(&["diff", "previous", "newest", "--json"], &data)));
    assert!(!rows.is_empty() && rows.iter().all(|row| row["name"].is_string() && row["is_significant"].is_boolean()));
    // What perf calls so does the same.
    let perf = bathyscope(&["run", "--simulate", "perf report --sort comm -g none"], &data);
    assert!(text(&perf).contains("# Overhead") || text(&perf).contains("# Children"), "{}", text(&perf));
    assert!(String::from_utf8_lossy(&perf.stderr).contains("bathyscope report newest --stdio --sort comm -g none"));
}

#[test]
fn live_samples_are_tables_without_a_terminal() {
    let data = tempfile::tempdir().unwrap();
    let words = ["top", "--simulate=rate=3000", "--duration", "900ms", "--every", "300ms"];
    let tables = text(&bathyscope(&words, &data));
    assert!(tables.contains("# Functions\n") && tables.contains("# Processes by samples\n"), "{tables}");
    assert!(tables.contains(" lost; own cost "), "{tables}");
    let looks = objects(&text(&bathyscope(&[&words[..], &["--json"]].concat(), &data)));
    let samples: Vec<u64> = looks.iter().map(|look| look["samples"].as_u64().unwrap()).collect();
    assert!(samples.is_sorted() && samples.last().is_some_and(|last| *last > 20), "{samples:?}");
    let last = looks.last().unwrap();
    let own: u64 = last["functions"].as_array().unwrap().iter().map(|line| line["own"].as_u64().unwrap()).sum();
    assert_eq!(own, *samples.last().unwrap());
    let said = refused(&bathyscope(&["top", "--simulate", "-e", "cs,faults"], &data));
    assert!(said.contains("one is shown"), "{said}");
}
