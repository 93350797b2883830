//! `bathyscope captures` as a person runs it, on a made-up capture: tags, descriptions, searches and orders.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    io::Write as _,
    process::{Command, Output, Stdio},
};

use serde_json::Value;
use tempfile::TempDir;

mod serving;

use serving::{Serving, done, refused};

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

/// Beside a console, which does it, and without one.
#[test]
fn captures_are_tagged_described_found_and_sorted() {
    let (data, ids) = recorded();
    label(&data, &ids);
    said(&data, &["tag", &ids[0], &ids[1], "--remove", "team-a", "-r", "disk"]);
    said(&data, &["describe", &ids[1], ""]);
    let _serving = Serving::start(data.path());
    label(&data, &ids);
}

fn label(data: &TempDir, ids: &[String]) {
    assert_eq!(said(data, &["tag"]), "No tags. `bathyscope captures tag ID --add TAG` gives one.\n");
    let answer = said(data, &["tag", &ids[0], &ids[1], "--add", "Team-A", "-a", "disk"]);
    assert_eq!(answer, format!("{}  disk team-a\n{}  disk team-a\n", ids[0], ids[1]));
    assert_eq!(said(data, &["tag", &ids[0], "--remove", "disk"]), format!("{}  team-a\n", ids[0]));
    assert_eq!(said(data, &["tag"]), "     1  disk\n     2  team-a\n");
    said(data, &["describe", &ids[1], "queues were full\nfrom two on"]);
    let shown = said(data, &["show", &ids[1]]);
    assert!(shown.contains("\ntags     disk team-a\nabout    queues were full\n         from two on\n"), "{shown}");
    assert!(said(data, &["list"]).contains("  #disk  #team-a\n"));
    assert!(
        said(data, &["list", "tagg:disk"]).contains("No match.\n`tagg:` is no condition, so `tagg:disk` is looked for")
    );
    for (words, expected) in [
        (&["tag:disk"][..], vec![&ids[1]]),
        (&["--", "-tag:disk"], vec![&ids[0]]),
        (&["queues", "full"], vec![&ids[1]]),
        (&["queues were full"], vec![&ids[1]]),
        (&["--sort", "-title"], vec![&ids[1], &ids[0]]),
        (&["is:simulated", "--sort=title"], vec![&ids[0], &ids[1]]),
    ] {
        let found: Vec<Value> = listed(data, words);
        let found: Vec<&str> = found.iter().map(|item| item["id"].as_str().unwrap()).collect();
        assert_eq!(found, expected, "{words:?}");
    }
}

#[test]
fn a_console_renames_pins_deletes_and_restores_for_a_terminal() {
    let (data, ids) = recorded();
    let serving = Serving::start(data.path());
    said(&data, &["rename", &ids[0], " c renamed "]);
    assert_eq!(listed(&data, &["--sort", "title"])[1]["title"], "c renamed");
    said(&data, &["pin", &ids[0], &ids[1]]);
    said(&data, &["unpin", &ids[1]]);
    let pinned: Vec<Value> = listed(&data, &["is:pinned"]);
    assert_eq!(pinned.iter().map(|item| item["id"].as_str().unwrap()).collect::<Vec<_>>(), [&ids[0]]);
    let told = said(&data, &["delete", &ids[0], &ids[1]]);
    let kept = "deleted; `captures restore` restores it for a day";
    assert_eq!(told, format!("{}  {kept}\n{}  {kept}\n", ids[0], ids[1]));
    assert_eq!(listed(&data, &[]).len(), 0);
    assert_eq!(said(&data, &["restore", &ids[1]]), format!("{}  restored\n", ids[1]));
    assert_eq!(said(&data, &["delete", "--for-good", &ids[0]]), format!("{}  deleted for good\n", ids[0]));
    // What was done before the one that is not there is told.
    let output = bathyscope(&data, &["captures", "pin", &ids[1], &ids[0]]);
    assert!(refused(&output).contains(&format!("there is no capture {}", ids[0])), "{output:?}");
    let audit: Value = serde_json::from_str(&done(&bathyscope(&data, &["audit", "--json"]))).unwrap();
    let acts: Vec<&str> =
        audit["items"].as_array().unwrap().iter().map(|item| item["action"].as_str().unwrap()).collect();
    let expected = ["pin", "delete", "restore", "delete", "delete", "unpin", "pin", "pin", "rename"];
    assert_eq!(acts[..9], expected.map(|act| format!("capture.{act}")));
    assert!(done(&bathyscope(&data, &["audit", "-n", "1"])).contains("  terminal (admin)  capture.pin  "));
    drop(serving);
}

#[test]
fn a_console_starts_and_stops_for_a_terminal() {
    let data = tempfile::tempdir().unwrap();
    assert!(refused(&bathyscope(&data, &["captures", "stop", "00000000000000ff"])).contains("no console runs on "));
    let _serving = Serving::start(data.path());
    let words = ["explain", "--json", "--simulate", "trace-cmd record -e sched_switch"];
    let explained = done(&bathyscope(&data, &words));
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    command.args(["captures", "start", "-"]).env("BATHYSCOPE_DATA", data.path());
    let mut starting = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    starting.stdin.take().unwrap().write_all(explained.as_bytes()).unwrap();
    let id = done(&starting.wait_with_output().unwrap()).trim().to_owned();
    assert_eq!(listed(&data, &["is:recording"])[0]["id"], id);
    assert_eq!(said(&data, &["stop", &id]), format!("{id}  stopped\n"));
    let again = refused(&bathyscope(&data, &["captures", "stop", "00000000000000ff"]));
    assert!(again.contains("no capture 00000000000000ff is being recorded"), "{again}");
    let wrong = data.path().join("wrong.json");
    std::fs::write(&wrong, "{}").unwrap();
    let wrong = refused(&bathyscope(&data, &["captures", "start", wrong.to_str().unwrap()]));
    assert!(wrong.contains("reading the capture's spec in ") && wrong.contains("explain --json"), "{wrong}");
}

#[test]
fn what_goes_next_goes_by_the_rules_of_the_console() {
    let (data, ids) = recorded();
    let told = said(&data, &["expiring"]);
    assert!(told.starts_with("No console runs here, and no rule is given: "), "{told}");
    let told = said(&data, &["expiring", "--keep-days", "3"]);
    assert!(ids.iter().all(|id| told.contains(id.as_str())), "{told}");
    let owner = format!("by:{}", listed(&data, &[])[0]["owner"].as_str().unwrap());
    let rule = format!("{owner}=2d");
    let serving = Serving::start_with(data.path(), &["--keep-days", "30", "--keep-for", &rule]);
    let told = said(&data, &["expiring"]);
    let rule = format!(" (rule {owner})");
    assert!(told.lines().all(|line| line.contains(&rule)) && told.lines().count() == 2, "{told}");
    drop(serving);
    let _without = Serving::start(data.path());
    assert!(said(&data, &["expiring"]).starts_with("The console has no rule: "));
}

#[test]
fn nothing_is_made_for_who_reads_where_there_is_nothing() {
    let data = tempfile::tempdir().unwrap();
    for words in [
        &["captures", "list"][..],
        &["captures", "pin", "00000000000000ff"],
        &["people", "list"],
        &["tokens", "list"],
        &["rights", "show", "newest"],
        &["mark", "deployed"],
        &["audit"],
    ] {
        let said = refused(&bathyscope(&data, words));
        assert!(said.contains("there is no database in "), "{words:?}: {said}");
    }
    assert_eq!(std::fs::read_dir(data.path()).unwrap().count(), 0);
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
