//! `bathyscope query` as a person runs it, on made-up captures; and every example of `docs/sql.md`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
};

use tempfile::TempDir;

fn bathyscope(words: &[&str], input: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    // It may not read what it does not need.
    let _unread = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

/// A folder with one stored capture.
fn recorded(method: &[&str]) -> TempDir {
    recorded_by("trace", method)
}

fn recorded_by(verb: &str, method: &[&str]) -> TempDir {
    let data = tempfile::tempdir().unwrap();
    let path = data.path().to_str().unwrap().to_owned();
    let words = [verb, "--simulate=rate=5000", "--duration", "600ms", "--save", "made up", "--data", &path];
    let output = bathyscope(&[&words[..], method].concat(), "");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    data
}

fn query(data: &TempDir, words: &[&str]) -> Output {
    query_with(data, words, "")
}

fn query_with(data: &TempDir, words: &[&str], input: &str) -> Output {
    let path = data.path().to_str().unwrap();
    bathyscope(&[&["query", "newest"], words, &["--data", path]].concat(), input)
}

#[track_caller]
fn text(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[test]
fn answers_come_as_a_table_as_json_and_as_csv() {
    let data = recorded(&["-e", "sched:sched_switch"]);
    let tables = text(&query(&data, &[]));
    assert!(tables.starts_with("sched:sched_switch, or sched_switch: "), "{tables}");
    assert!(tables.contains("\n  time, cpu, pid, tid, comm"), "{tables}");
    let sql = "select 'a,b' as word, 1 as n, null as empty, 1.5 as half";
    assert_eq!(text(&query(&data, &[sql])), "word  n  empty  half\na,b   1  -       1.5\n");
    assert_eq!(text(&query(&data, &[sql, "--csv"])), "word,n,empty,half\r\n\"a,b\",1,,1.5\r\n");
    let json: serde_json::Value = serde_json::from_str(&text(&query(&data, &[sql, "--json"]))).unwrap();
    assert_eq!(json["rows"], serde_json::json!([["a,b", 1, null, 1.5]]));
    let counted = "select count(*) as n from sched_switch";
    let stored = text(&query(&data, &["select rows from streams", "--csv"]));
    let rows = text(&query_with(&data, &["-", "--csv"], counted));
    assert_eq!(rows.lines().nth(1), stored.lines().nth(1));
    assert!(rows.lines().nth(1).unwrap().parse::<u64>().unwrap() > 100, "{rows}");
    let cut = query(&data, &["select time from sched_switch", "--limit", "3", "--csv"]);
    assert_eq!(text(&cut).lines().count(), 4);
    assert!(String::from_utf8_lossy(&cut.stderr).contains("--limit"));
    let formula = text(&query(&data, &["select '=1+1' as x", "--csv"]));
    assert_eq!(formula, "x\r\n'=1+1\r\n");
}

#[test]
fn mistakes_are_told_with_a_remedy() {
    let data = recorded(&["-e", "sched:sched_switch"]);
    let cases = [
        ("select tiem from sched_switch", "no such column: tiem", "sched_switch has time"),
        ("select 1; select 2", "more than one statement", "one at a time"),
        ("attach 'x' as y", "no other database can be attached", "Write one SELECT"),
    ];
    for (sql, why, remedy) in cases {
        let output = query(&data, &[sql]);
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(why) && text.contains(remedy), "{text}");
    }
    let endless = "with recursive r(x) as (select 1 union all select x + 1 from r) select count(*) from r";
    let output = query(&data, &[endless, "--timeout", "1"]);
    assert!(String::from_utf8_lossy(&output.stderr).contains("it was ended after 1 s"));
    let none = tempfile::tempdir().unwrap();
    assert!(!query(&none, &["select 1"]).status.success());
}

/// The queries of the documentation that are for captures of `kind`.
fn documented(kind: &str) -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/sql.md");
    let text = std::fs::read_to_string(path).unwrap();
    let blocks = text.split("```sql ").skip(1).filter_map(|rest| rest.split("```").next()?.split_once('\n'));
    blocks.filter(|(of, _)| *of == kind).map(|(_, sql)| sql.to_owned()).collect()
}

#[test]
fn every_example_of_the_documentation_gives_rows() {
    for (kind, verb, method, least) in [
        ("events", "trace", &["-e", "sched:sched_switch"][..], 7),
        ("profile", "trace", &["--profile=200"][..], 3),
        ("memory", "profile", &["-F", "200", "-d"][..], 2),
        ("branches", "profile", &["-F", "200", "-b"][..], 2),
    ] {
        let data = recorded_by(verb, method);
        let examples = documented(kind);
        assert!(examples.len() >= least);
        for sql in examples {
            let answer = text(&query_with(&data, &["-", "--csv"], &sql));
            assert!(answer.lines().count() > 1, "{sql}\n{answer}");
        }
    }
}
