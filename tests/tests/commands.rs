//! Commands of other tools at our command line: explained, and made into captures.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use bathyscope_tests::command_line::{json_of, run, stdout_of};

#[test]
fn commands_are_explained_without_being_run() {
    let told = stdout_of(["explain", "--simulate", "perf record -F 99 -a -g -- sleep 1"]);
    assert!(told.starts_with("Records stacks 99 times a second of the whole system for 1 s"), "{told}");
    let told = json_of(["explain", "--simulate", "--json", "strace", "-f", "-e", "openat", "ls", "a b"]);
    assert_eq!(told["capture"]["spec"]["target"]["command"]["argv"], serde_json::json!(["ls", "a b"]));
    let refused = run(["explain", "--simulate", "strace -Q ls"]);
    let text = String::from_utf8_lossy(&refused.stdout).into_owned();
    assert!(!refused.status.success() && text.starts_with("strace -Q ls\n       ^^\n"), "{text}");
}

#[test]
fn what_a_command_asks_for_is_recorded() {
    let data = tempfile::tempdir().expect("a folder");
    let path = data.path().to_str().expect("a plain path");
    let output = run(["run", "--simulate", "--data", path, "perf record -F 99 -a -g -- sleep 0.5"]);
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && told.contains("Records stacks 99 times a second"), "{told}");
    let capture = json_of(["captures", "show", "newest", "--json", "--data", path]);
    assert!(capture.to_string().contains("\"duration_ms\":500"), "{capture}");
    let refused = run(["run", "--simulate", "--data", path, "perf list"]);
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && told.contains("Shows the catalogue"), "{told}");
}
