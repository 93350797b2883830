//! `captures file` and `investigations file` as a person runs them: a view, and a page with its views, as one HTML file.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

fn bathyscope(data: &TempDir, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
    command.args(words).env("BATHYSCOPE_DATA", data.path()).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn done(data: &TempDir, words: &[&str]) -> (String, String) {
    let output = bathyscope(data, words);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{words:?}: {said}");
    (String::from_utf8(output.stdout).unwrap(), said)
}

fn recorded() -> TempDir {
    let data = tempfile::tempdir().unwrap();
    let words = ["trace", "--simulate", "-e", "sched:sched_switch", "--duration", "100ms", "--save", "slow <b>"];
    done(&data, &words);
    data
}

/// What a file holds.
fn held_by(html: &str) -> Value {
    assert!(html.starts_with("<!doctype html>"), "{}", &html[..200.min(html.len())]);
    let (_, data) = html.split_once("id=\"saved-data\">").unwrap();
    serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_view_is_written_as_a_file() {
    let (data, folder) = (recorded(), tempfile::tempdir().unwrap());
    let path = folder.path().join("view.html");
    let path = path.to_str().unwrap();
    let (printed, said) = done(&data, &["captures", "file", "newest", "--tab", "events,timeline", "-o", path]);
    assert!(printed.is_empty() && said.starts_with(&format!("{path}: ")) && said.ends_with(" MB\n"), "{said}");
    let held = held_by(&std::fs::read_to_string(path).unwrap());
    assert_eq!((&held["views"][0]["title"], &held["from"]), (&"slow <b>".into(), &Value::Null));
    assert_eq!(held["views"][0]["tabs"], serde_json::json!(["events", "timeline"]));
    // What is there already stays.
    let refused = bathyscope(&data, &["captures", "file", "newest", "-o", path]);
    assert!(
        !refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("a file that does not exist")
    );
    let (html, said) = done(&data, &["captures", "file", "newest", "--view", "v=3&tab=timeline&find=x", "-o", "-"]);
    assert!(
        said.contains("It opens without what asks Bathyscope again: rows found by a text in the timeline."),
        "{said}"
    );
    assert_eq!(held_by(&html)["views"][0]["view"], "v=3&tab=timeline");
}

#[test]
fn an_investigation_is_written_with_its_views() {
    let (data, folder) = (recorded(), tempfile::tempdir().unwrap());
    let id = |words: &[&str]| done(&data, words).0.split_whitespace().find(|word| word.len() == 16).unwrap().to_owned();
    let page = id(&["investigations", "create", "Why?"]);
    let capture = id(&["captures", "list"]);
    done(&data, &["investigations", "add", &page, "--capture", &capture, "--view", "v=3&tab=events"]);
    let path = folder.path().join("found.html");
    let (printed, said) = done(&data, &["investigations", "file", &page, "--json", "-o", path.to_str().unwrap()]);
    let told: Value = serde_json::from_str(&printed).unwrap();
    let html = std::fs::read_to_string(&path).unwrap();
    assert_eq!((told["bytes"].as_u64().unwrap(), said.as_str()), (html.len() as u64, ""));
    assert_eq!((&told["file"], &told["left_out"]), (&path.to_str().unwrap().into(), &serde_json::json!([])));
    let held = held_by(&html);
    assert_eq!((&held["investigation"]["id"], &held["views"][0]["capture"]), (&page.into(), &capture.into()));
}

#[test]
fn what_cannot_be_written_leaves_nothing_in_a_file() {
    let (data, folder) = (recorded(), tempfile::tempdir().unwrap());
    let path = folder.path().join("view.html");
    let to = path.to_str().unwrap();
    for (words, why) in [
        (&["captures", "file", "newest", "--tab", "sql", "-o", to][..], "SQL asks Bathyscope itself"),
        (&["captures", "file", "newest", "--tab", "calls", "-o", to], "this capture has no `calls`; it has: events"),
        (&["captures", "file", "00000000000000ff", "-o", to], "00000000000000ff"),
        (&["captures", "file", "newest"], "--output <FILE>"),
        (&["captures", "file", "newest", "--json", "-o", "-"], "where the file goes too"),
        (&["investigations", "file", "00000000000000ff", "-o", to], "00000000000000ff"),
    ] {
        let output = bathyscope(&data, words);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains(why), "{words:?}: {said}");
        // Whoever runs this as root has become the owner of the captures by then, who may not remove here.
        let left = std::fs::metadata(to).map_or(0, |left| left.len());
        assert!(left == 0 && (!path.exists() || said.contains("is left empty")), "{words:?}: {said}");
        let _not_there = std::fs::remove_file(to);
    }
}
