//! `bathyscope compare`, `series` and `mark` as a person runs them, on made-up samples.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

mod serving;

use std::process::{Command, Output, Stdio};

use bathyscope_capture::{CaptureId, Ledger};
use bathyscope_store::{CaptureState, End, NewCapture, Options, Store};
use serde_json::Value;
use tempfile::TempDir;

use serving::{Serving, done as text, refused};

fn bathyscope(words: &[&str], data: &TempDir) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    let (verb, rest) = words.split_first().unwrap();
    command.arg(verb).args(rest).arg("--data").arg(data.path()).stdin(Stdio::null());
    command.output().unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A folder with profiles of these lengths, which are runs of one series.
fn profiles(lengths: &[&str]) -> TempDir {
    let data = tempfile::tempdir().unwrap();
    for length in lengths {
        let words = ["profile", "--simulate=rate=3000", "--duration", length, "--save", "run \u{1b}[2K <b>"];
        text(&bathyscope(&words, &data));
    }
    data
}

#[test]
fn two_captures_are_compared_in_words_and_as_json() {
    let data = profiles(&["300ms", "600ms"]);
    let told = text(&bathyscope(&["compare"], &data));
    for words in ["A ", "B ", "Beware", "One lasted longer", "Functions that changed", "rate", "chance"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    assert!(told.contains("run \\x1b[2K <b>") && !told.contains('\u{1b}'), "{told}");
    let found = json(&text(&bathyscope(&["compare", "previous", "newest", "--json"], &data)));
    assert!(found["rows"]["streams"][0]["numbers"].is_array() && found["functions"]["compared"].as_u64().unwrap() > 0);
    assert_eq!(found["functions"]["why_not"], Value::Null);
    let missing = refused(&bathyscope(&["compare", "00000000000000ee", "newest"], &data));
    assert!(missing.contains("00000000000000ee"), "{missing}");
    let one = profiles(&["200ms"]);
    assert!(refused(&bathyscope(&["compare"], &one)).contains("no two captures"));
}

/// Adds a flight recorder of the same, in which nothing has fired: it has no rows.
fn add_recorder(data: &TempDir, like: &str) {
    let id = CaptureId::from_bits(0xf1);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::open(data.path(), Options::default()).await.unwrap();
        let like = store.capture(like.parse().unwrap()).await.unwrap();
        let mut spec = like.spec;
        spec.limits.flight = Some(Box::default());
        let new = NewCapture {
            id,
            title: "recorder".to_owned(),
            owner: like.owner,
            spec,
            host: like.host,
            streams: like.streams.into_iter().map(|stream| stream.schema).collect(),
            started_unix_ns: like.started_unix_ns + 1,
            start_ns: like.start_ns,
            simulated: true,
            firing: None,
        };
        store.create(new).await.unwrap();
        let end = End {
            state: CaptureState::Finished,
            reason: "nothing fired".to_owned(),
            end_ns: like.start_ns + 1,
            ledger: Ledger::default(),
            readings: Vec::new(),
            script: None,
            sources: Vec::new(),
        };
        store.finish(id, end).await.unwrap();
        store.close().await;
    });
}

#[test]
fn a_flight_recorder_is_neither_compared_nor_a_run() {
    let data = profiles(&["300ms"]);
    let first = json(&text(&bathyscope(&["captures", "show", "newest", "--json"], &data)));
    add_recorder(&data, first["id"].as_str().unwrap());
    let last = ["profile", "--simulate=rate=3000", "--duration", "200ms", "--save", "last"];
    text(&bathyscope(&last, &data));
    let found = json(&text(&bathyscope(&["compare", "--json"], &data)));
    assert_eq!((&found["a"]["id"], &found["b"]["title"]), (&first["id"], &"last".into()), "{found}");
    let recorder = json(&text(&bathyscope(&["captures", "show", "previous", "--json"], &data)));
    assert!(recorder["spec"]["limits"]["flight"].is_object(), "other verbs do see it: {recorder}");
    assert!(refused(&bathyscope(&["series", "show", "previous"], &data)).contains("of no series"));
}

#[test]
fn a_series_has_its_runs_marks_and_a_baseline() {
    let data = profiles(&["200ms", "250ms"]);
    let mark = text(&bathyscope(&["mark", "shop <b> 2.1", "--link", "https://ci.example/7"], &data));
    assert_eq!(mark.trim(), "1");
    text(&bathyscope(&["profile", "--simulate=rate=3000", "--duration", "200ms", "--save", "third"], &data));
    let all = json(&text(&bathyscope(&["series", "list", "--json"], &data)));
    let (id, last) = (all["items"][0]["id"].as_str().unwrap(), all["items"][0]["last"].as_str().unwrap().to_owned());
    assert_eq!(all["items"][0]["runs"], 3, "{all}");
    assert!(text(&bathyscope(&["series", "list"], &data)).contains("3 runs"));
    let page = json(&text(&bathyscope(&["series", "show", id, "--json"], &data)));
    assert_eq!(page["runs"][0]["id"], last.as_str());
    let first = page["runs"][2]["id"].as_str().unwrap();
    assert!(text(&bathyscope(&["series", "baseline", first], &data)).contains(first));
    // By a capture of it, too.
    let shown = text(&bathyscope(&["series", "show", &last, "--number", "rate@cpu-clock"], &data));
    let lines: Vec<&str> = shown.lines().collect();
    assert!(lines[0].contains("3 runs of third"), "{shown}");
    let at =
        |words: &str| lines.iter().position(|line| line.contains(words)).unwrap_or_else(|| panic!("{words}: {shown}"));
    assert!(at(&last) < at("shop <b> 2.1") && at("shop <b> 2.1") < at(first), "{shown}");
    assert!(lines[at(first)].ends_with("baseline") && lines[at(&last)].contains('('), "{shown}");
    let unknown = refused(&bathyscope(&["series", "show", "newest", "--number", "rate@nothing"], &data));
    assert!(unknown.contains("rate@cpu-clock"), "{unknown}");
    assert!(refused(&bathyscope(&["series", "show", "00000000000000ee"], &data)).contains("of no series"));
    let marks = json(&text(&bathyscope(&["mark", "--list", "--json"], &data)));
    assert_eq!(marks["items"][0]["link"], "https://ci.example/7");
    assert!(refused(&bathyscope(&["mark", "x", "--link", "javascript:alert(1)"], &data)).contains("https://"));
    assert!(refused(&bathyscope(&["mark", "x", "--at", "yesterday"], &data)).contains("2026"));
    text(&bathyscope(&["mark", "--remove", "1"], &data));
    assert!(refused(&bathyscope(&["mark", "--remove", "1"], &data)).contains("no mark 1"));
    assert_eq!(text(&bathyscope(&["mark", "--list"], &data)), "There is no mark.\n");
}

#[test]
fn a_baseline_is_named_by_the_console_that_runs() {
    let data = profiles(&["300ms", "300ms"]);
    text(&bathyscope(&["series", "list"], &data));
    let _serving = Serving::start(data.path());
    let told = text(&bathyscope(&["series", "baseline", "previous"], &data));
    assert!(told.starts_with("The baseline of series "), "{told}");
    let shown = json(&text(&bathyscope(&["series", "show", "newest", "--json"], &data)));
    assert_eq!(shown["baseline"], shown["runs"][1]["id"]);
}

#[test]
fn tables_of_two_captures_have_the_numbers_of_the_page() {
    let data = tempfile::tempdir().unwrap();
    for _ in 0..2 {
        text(&bathyscope(
            &["strace", "--simulate=rate=3000", "--all", "--duration", "300ms", "--save", "calls"],
            &data,
        ));
    }
    let told = text(&bathyscope(&["compare", "--in", "syscalls"], &data));
    assert!(told.contains("changed by more than chance") && told.contains("amounts a second"), "{told}");
    let table =
        json(&text(&bathyscope(&["compare", "--in", "syscalls", "--per", "none", "--lines", "3", "--json"], &data)));
    assert_eq!(
        (&table["normalised"], table["lines"].as_array().unwrap().len().min(3)),
        (&Value::from("none"), table["lines"].as_array().unwrap().len())
    );
    let groups =
        ["compare", "--in", "groups", "--stream", "syscalls", "--by", "call", "--values", "count,sum:duration_ns"];
    let groups = json(&text(&bathyscope(&[&groups[..], &["--per", "none", "--json"]].concat(), &data)));
    let of = |table: &Value, key: &str| {
        table["lines"]
            .as_array()
            .unwrap()
            .iter()
            .find(|line| line["key"][0] == key)
            .map(|line| line["values"][0].clone())
    };
    let first = table["lines"][0]["key"][0].as_str().unwrap();
    assert_eq!(of(&table, first).unwrap()["there"], of(&groups, first).unwrap()["there"]);
    for (words, why) in [
        (&["compare", "--in", "map"][..], "has no stream `@`"),
        (&["compare", "--in", "functions"], "no calls of functions"),
        (&["compare", "--in", "groups", "--stream", "nope"], "has no stream `nope`"),
        (&["compare", "--start", "1s"], "all of both captures is compared"),
        (&["compare", "--by", "comm"], "--in"),
    ] {
        let said = refused(&bathyscope(words, &data));
        assert!(said.contains(why), "{words:?}: {said}");
    }
}
