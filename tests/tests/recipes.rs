//! Recipes and captures of several sources, from the terminal, on the running kernel. Needs root.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::process::{Child, Command, Stdio};

use bathyscope_tests::{
    command_line::{json_of, run},
    is_root, skip,
};

/// A shell that reads and writes all the time.
struct Busy(Child);

impl Busy {
    fn start() -> Self {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "while :; do read line < /proc/self/stat; done"]).stdin(Stdio::null());
        Self(command.spawn().expect("it starts"))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

/// Records, and gives the stored capture as `captures show` has it.
fn recorded(words: &[&str]) -> serde_json::Value {
    let data = tempfile::tempdir().expect("a folder");
    let path = data.path().to_str().expect("a plain path");
    let output = run([&["record", "--data", path], words].concat());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && text.contains("kept as "), "{words:?}: {text}");
    json_of(["captures", "show", "newest", "--json", "--data", path])
}

/// Streams and rows by source.
fn rows(capture: &serde_json::Value, source: &str) -> (usize, u64) {
    let streams = capture["streams"].as_array().expect("streams");
    let own = streams.iter().filter(|stream| stream["source"] == source);
    own.fold((0, 0), |(count, rows), stream| (count + 1, rows + stream["rows"].as_u64().unwrap_or(0)))
}

#[test]
fn every_recipe_records_here() {
    if !is_root() {
        return skip("every recipe on this kernel", "root");
    }
    let busy = Busy::start();
    let pid = busy.0.id().to_string();
    // Without those that somebody has saved on this host.
    let nowhere = tempfile::tempdir().expect("a folder").path().join("none");
    let recipes = json_of(["recipes", "--json", "--data", nowhere.to_str().expect("a plain path")]);
    for recipe in recipes.as_array().expect("recipes") {
        let name = recipe["name"].as_str().expect("a name");
        let record = ["--recipe", name];
        let capture = match recipe["of"].as_str() {
            Some("process") => recorded(&[&record[..], &["-P", &pid, "--duration", "500ms"]].concat()),
            Some("command") => recorded(&[&record[..], &["ls", "/"]].concat()),
            _ => recorded(&[&record[..], &["--duration", "500ms"]].concat()),
        };
        assert_eq!(capture["title"], recipe["question"], "{name}");
        for source in recipe["sources"].as_array().expect("sources") {
            let (streams, _rows) = rows(&capture, source["id"].as_str().expect("an id"));
            let is_told = capture["reason"].as_str().is_some_and(|reason| reason.contains("is not recorded: "));
            assert!(streams > 0 || is_told, "{name}: {} is nowhere: {capture}", source["id"]);
        }
    }
}

#[test]
fn a_recipe_that_is_saved_beside_a_capture_records_the_same_again() {
    if !is_root() {
        return skip("a recipe of one's own on this kernel", "root");
    }
    let data = tempfile::tempdir().expect("a folder");
    let path = data.path().to_str().expect("a plain path");
    let record = |words: &[&str]| {
        let output = run([&["record", "--data", path], words].concat());
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && text.contains("kept as "), "{words:?}: {text}");
        (text, json_of(["captures", "show", "newest", "--json", "--data", path]))
    };
    // Its script needs the rights that one on the command line has.
    let script = "tracepoint:sched:sched_process_exit { @[comm] = count(); }";
    let asked = ["--syscalls=read", "--optional", "syscalls", "--script", script];
    let (told, first) = record(&[&asked[..], &["--name", "Who reads?", "--save", "reads", "-F", "ls", "/"]].concat());
    assert!(told.contains("`bathyscope record --recipe reads`"), "{told}");
    let (_told, again) = record(&["--recipe", "reads", "ls", "/"]);
    assert_eq!(again["spec"]["sources"], first["spec"]["sources"]);
    assert_eq!(again["title"], "Who reads?");
    // What it cost is another each time.
    let ended = |capture: &serde_json::Value| {
        capture["reason"].as_str().expect("a reason").split(';').next().map(str::to_owned)
    };
    assert_eq!(ended(&again), ended(&first));
}

#[test]
fn sources_of_a_command_see_all_of_it() {
    if !is_root() {
        return skip("several sources of a command", "root");
    }
    let dd = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=30000", "status=none"];
    let words = ["--only-command", "-e", "sys_enter_write", "--syscalls=read,write", "--profile=997", "--stat"];
    let capture = recorded(&[&words[..], &dd].concat());
    let ((_, traced), (_, called), (_, counted)) =
        (rows(&capture, "trace"), rows(&capture, "syscalls"), rows(&capture, "count"));
    // The loader reads too, and writes nothing.
    assert_eq!(traced, 30_000, "{capture}");
    assert!((60_000..60_100).contains(&called), "{called} calls: {capture}");
    assert!(counted > 0 && rows(&capture, "profile").0 == 1, "{capture}");
    assert_eq!(capture["lost"], 0, "{capture}");
}
