//! `bathyscope captures` as a person runs it, on a made-up capture: tags, descriptions, searches and orders.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn bathyscope(data: &TempDir, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    command.args(words).env("BATHYSCOPE_DATA", data.path()).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn said(data: &TempDir, words: &[&str]) -> String {
    let output = bathyscope(data, &[&["captures"], words].concat());
    assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn recorded() -> (TempDir, Vec<String>) {
    let data = tempfile::tempdir().unwrap();
    for name in ["b slow", "a quick"] {
        let words = ["trace", "--simulate", "-e", "sched:sched_switch", "--duration", "100ms", "--save", name];
        let output = bathyscope(&data, &words);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let ids = listed(&data, &["--sort", "title"]).iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect();
    (data, ids)
}

fn listed(data: &TempDir, words: &[&str]) -> Vec<Value> {
    let json: Value = serde_json::from_str(&said(data, &[&["list", "--json"], words].concat())).unwrap();
    json["items"].as_array().unwrap().clone()
}

#[test]
fn captures_are_tagged_described_found_and_sorted() {
    let (data, ids) = recorded();
    assert_eq!(said(&data, &["tag"]), "No tags. `bathyscope captures tag ID --add TAG` gives one.\n");
    let answer = said(&data, &["tag", &ids[0], &ids[1], "--add", "Team-A", "-a", "disk"]);
    assert_eq!(answer, format!("{}  disk team-a\n{}  disk team-a\n", ids[0], ids[1]));
    assert_eq!(said(&data, &["tag", &ids[0], "--remove", "disk"]), format!("{}  team-a\n", ids[0]));
    assert_eq!(said(&data, &["tag"]), "     1  disk\n     2  team-a\n");
    said(&data, &["describe", &ids[1], "queues were full\nfrom two on"]);
    let shown = said(&data, &["show", &ids[1]]);
    assert!(shown.contains("\ntags     disk team-a\nabout    queues were full\n         from two on\n"), "{shown}");
    assert!(said(&data, &["list"]).contains("  #disk  #team-a\n"));
    for (words, expected) in [
        (&["tag:disk"][..], vec![&ids[1]]),
        (&["--", "-tag:disk"], vec![&ids[0]]),
        (&["queues", "full"], vec![&ids[1]]),
        (&["queues were full"], vec![&ids[1]]),
        (&["--sort", "-title"], vec![&ids[1], &ids[0]]),
        (&["is:simulated", "--sort=title"], vec![&ids[0], &ids[1]]),
    ] {
        let found: Vec<Value> = listed(&data, words);
        let found: Vec<&str> = found.iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{words:?}");
    }
}

#[test]
fn what_cannot_be_done_is_refused_in_words() {
    let (data, ids) = recorded();
    for (words, expected) in [
        (&["list", "is:late"][..], "is one of pinned"),
        (&["list", "--sort", "colour"], "it is one of started"),
        (&["tag", &ids[0]], "--add"),
        (&["tag", "--add", "x"], "<ID>"),
        (&["tag", &ids[0], "--add", "two words"], "a character that tags do not have"),
        (&["tag", "00000000000000ff", "--add", "x"], "00000000000000ff"),
        (&["describe", &ids[0]], "<TEXT>"),
    ] {
        let output = bathyscope(&data, &[&["captures"], words].concat());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(expected), "{words:?}: {text}");
    }
}
