//! Importing as a stranger does it who has taken over the process that reads the file: against the real processes, from outside.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::{
    fs,
    process::{Child, ChildStdin, Command, Output, Stdio},
};

use bathyscope_tests::{
    command_line::{json_of, run, stdout_of},
    proc::{self, assert_no_rights, stopped_child},
    server::{Server, signal},
    skip,
    wait::until,
    workspace::binary,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

fn data() -> TempDir {
    tempfile::tempdir().expect("a folder for captures")
}

fn path(data: &TempDir) -> &str {
    data.path().to_str().expect("a plain path")
}

fn spec() -> Value {
    json!({
        "method": {"events": {"probes": [{"tracepoint": "sched:sched_process_exec", "fields": ["pid"]}]}},
        "target": "system",
        "limits": {"duration_ms": 30_000}
    })
}

/// A command that imports from a pipe, and the end to write to, which keeps the pipe from ending.
fn import_from_pipe(data: &TempDir) -> (Child, ChildStdin) {
    let words = ["captures", "import", "/dev/stdin", "--data", path(data)];
    let mut command = Command::new(binary());
    let mut import =
        command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pipe = import.stdin.take().unwrap();
    (import, pipe)
}

/// A folder with one capture, which is exported too.
fn with_export() -> (TempDir, Vec<u8>) {
    let folder = data();
    let mut server = Server::simulated(folder.path());
    let mut short = spec();
    short["limits"]["duration_ms"] = 300.into();
    let id = server.capture(&short);
    server.ended(&id);
    assert!(server.terminate().success());
    let file = folder.path().join("exported.bathy");
    stdout_of(["export", &id, "--format", "bathy", "-o", file.to_str().unwrap(), "--data", path(&folder)]);
    let bytes = fs::read(&file).unwrap();
    stdout_of(["captures", "delete", &id, "--data", path(&folder)]);
    (folder, bytes)
}

fn captures(folder: &TempDir) -> u64 {
    json_of(["captures", "list", "--json", "--data", path(folder)])["total"].as_u64().unwrap()
}

#[test]
fn p18_a_file_is_read_by_a_process_without_rights_whose_end_is_an_error() {
    use std::io::Write as _;

    let (folder, bytes) = with_export();
    let (import, mut pipe) = import_from_pipe(&folder);
    pipe.write_all(&bytes[..bytes.len() / 2]).unwrap();
    let child = stopped_child(import.id());
    let status = proc::status(child);
    assert_no_rights(&status);
    if rustix::process::geteuid().is_root() {
        assert_eq!(status["CapBnd"].trim_start_matches('0'), "");
        // As the process that it talks to will be, which could not end it otherwise.
        let owner = std::os::unix::fs::MetadataExt::uid(&fs::metadata(folder.path()).unwrap()).to_string();
        assert!(owner != "0" && status["Uid"].split_whitespace().all(|uid| uid == owner), "{}", status["Uid"]);
        assert_eq!(proc::descriptors(child).len(), 2, "its socket and the file: {:?}", proc::descriptors(child));
    }
    signal(child, Signal::KILL);
    let output = import.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && said.contains("was ended by signal 9"), "{said}");
    assert_eq!(captures(&folder), 0, "nothing of it is kept");

    // What comes through a pipe and ends is a file like any other.
    let (import, mut pipe) = import_from_pipe(&folder);
    pipe.write_all(&bytes).unwrap();
    drop(pipe);
    let output = import.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(captures(&folder), 1);
    let id = String::from_utf8(output.stdout).unwrap();
    stdout_of(["captures", "check", id.trim(), "--data", path(&folder)]);
}

#[test]
fn p18_what_never_ends_is_limited_and_can_be_cancelled() {
    let (folder, bytes) = with_export();
    let endless = run(["captures", "import", "/dev/zero", "--data", path(&folder)]);
    let said = String::from_utf8_lossy(&endless.stderr);
    assert!(endless.status.code() == Some(1) && said.contains("larger than 512 MiB"), "{said}");
    if proc::is_ignored(Signal::INT) {
        return skip(
            "cancelling an import",
            "a caller that does not ignore SIGINT, as a script does for what it starts with `&`",
        );
    }
    let (mut import, pipe) = import_from_pipe(&folder);
    let child = stopped_child(import.id());
    // While it waits nobody else does: the database is not taken.
    let file = folder.path().join("exported.bathy");
    fs::write(&file, &bytes).unwrap();
    stdout_of(["captures", "import", file.to_str().unwrap(), "--data", path(&folder)]);
    signal(import.id(), Signal::INT);
    let status = until("the end of the import", || import.try_wait().unwrap());
    assert!(!status.success(), "{status}");
    until("the end of its process", || (!proc::is_alive(child)).then_some(()));
    drop(pipe);
    assert_eq!(captures(&folder), 1);
}

/// An import that has written rows, and its child, which has more of them and is stopped. None if the import was faster than
/// whoever looks; then there is nothing of it any more.
fn writing(folder: &TempDir, file: &str, id: &str) -> Option<(Child, u32)> {
    let mut import = Command::new(binary());
    let import = import.args(["captures", "import", file, "--data", path(folder)]);
    let mut import = import.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let log = folder.path().join("bathyscope.db-wal");
    let child = until("rows of the import", || {
        if import.try_wait().unwrap().is_some() {
            return Some(None);
        }
        let written = fs::metadata(&log).map_or(0, |file| file.len());
        proc::children(import.id()).into_iter().next().filter(|_| written > 1 << 18).map(Some)
    });
    let child = child.filter(|child| {
        // It may have ended just now.
        let pid = Pid::from_raw(i32::try_from(*child).unwrap()).unwrap();
        let _ended = kill_process(pid, Signal::STOP);
        until("that its process stops or ends", || (!proc::is_alive(*child) || proc::is_stopped(*child)).then_some(()));
        proc::is_stopped(*child)
    });
    if child.is_none() {
        assert!(import.wait().unwrap().success());
        stdout_of(["captures", "delete", "--for-good", id, "--data", path(folder)]);
    }
    child.map(|child| (import, child))
}

/// Ends an import that writes by a signal; its child may be stopped before. Neither is left. One that had all rows already, and ends
/// well in spite of the signal, is tried again.
fn end_an_import(folder: &TempDir, file: &str, id: &str, how: Signal, stops: bool) -> Output {
    let output = until("an import that still writes", || {
        let (import, child) = writing(folder, file, id)?;
        signal(import.id(), how);
        if !stops {
            signal(child, Signal::CONT);
        }
        let output = import.wait_with_output().unwrap();
        until("the end of its process", || (!proc::is_alive(child)).then_some(()));
        if output.status.success() {
            stdout_of(["captures", "delete", "--for-good", id, "--data", path(folder)]);
        }
        (!output.status.success()).then_some(output)
    });
    assert_eq!(captures(folder), 0, "{how:?}: nothing of it is kept");
    output
}

/// A folder, and the file of a capture that takes a while to import.
fn with_long_export() -> (TempDir, String, String) {
    let folder = data();
    let mut server = Server::start(folder.path(), &["--simulate=rate=400000"]);
    let mut long = spec();
    long["limits"]["max_events"] = 2_000_000.into();
    let id = server.capture(&long);
    server.ended(&id);
    assert!(server.terminate().success());
    let file = folder.path().join("exported.bathy").to_str().unwrap().to_owned();
    stdout_of(["export", &id, "--format", "bathy", "-o", &file, "--data", path(&folder)]);
    stdout_of(["captures", "delete", &id, "--data", path(&folder)]);
    (folder, file, id)
}

/// Whatever ends an import while it writes, and whether its child is stopped then: what there is of it is removed, and the
/// child is gone too.
#[test]
fn p18_an_import_that_is_ended_while_it_writes_leaves_no_half_capture_and_no_process() {
    let (folder, file, id) = with_long_export();
    for (how, stops) in
        [(Signal::INT, false), (Signal::INT, true), (Signal::TERM, true), (Signal::HUP, true), (Signal::KILL, true)]
    {
        if how != Signal::KILL && proc::is_ignored(how) {
            skip("an import that is ended while it writes", "a caller that ignores neither SIGINT nor SIGHUP");
            continue;
        }
        let output = end_an_import(&folder, &file, &id, how, stops);
        let said = String::from_utf8_lossy(&output.stderr);
        if how == Signal::KILL {
            assert_eq!(output.status.code(), None, "{said}");
        } else {
            let cancelled = said.contains("cancelled, and nothing of it is kept");
            assert!(output.status.code() == Some(1) && cancelled, "{how:?}: {said}");
            if !stops {
                // Nothing is left that would have its id.
                let imported = json_of(["captures", "import", &file, "--json", "--data", path(&folder)]);
                assert_eq!(imported["id"], id.as_str());
                stdout_of(["captures", "delete", &id, "--data", path(&folder)]);
            }
        }
    }
    // After the last one the database still removes what there was, which has the capture's own id.
    json_of(["captures", "import", &file, "--json", "--data", path(&folder)]);
    assert_eq!(captures(&folder), 1);
}

/// Where a console runs, its reader starts the child. Both end with the console, however it ends, stopped or not.
#[test]
fn p18_neither_the_reader_nor_its_child_outlives_the_console() {
    use std::io::Write as _;

    let (folder, bytes) = with_export();
    let server = Server::simulated(folder.path());
    let console = server.child("console");
    let reader = proc::children(console).into_iter().next().expect("a reader");
    let (mut import, mut pipe) = import_from_pipe(&folder);
    pipe.write_all(&bytes[..bytes.len() / 2]).unwrap();
    let child = stopped_child(reader);
    assert_no_rights(&proc::status(child));
    signal(reader, Signal::STOP);
    signal(console, Signal::KILL);
    until("the end of both", || (!proc::is_alive(reader) && !proc::is_alive(child)).then_some(()));
    drop(pipe);
    assert!(!import.wait().unwrap().success());
}

/// What reading cost is told, whoever reads: beside the id, or in JSON.
#[test]
fn p18_what_reading_a_file_cost_is_told() {
    let (folder, _bytes) = with_export();
    let file = folder.path().join("exported.bathy");
    let file = file.to_str().unwrap();
    for with_console in [false, true] {
        let _server = with_console.then(|| Server::simulated(folder.path()));
        // The second time it is known, and is read all the same.
        for _ in 0..2 {
            let output = run(["captures", "import", file, "--data", path(&folder)]);
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(said.starts_with("bathyscope: reading the file took ") && said.contains("s of a CPU"), "{said}");
            let imported = json_of(["captures", "import", file, "--json", "--data", path(&folder)]);
            assert_eq!(format!("{}\n", imported["id"].as_str().unwrap()).as_bytes(), output.stdout);
            assert!(imported["read_cpu_ns"].as_u64().is_some_and(|ns| ns > 100_000), "{imported}");
        }
    }
}
