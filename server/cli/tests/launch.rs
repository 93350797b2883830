//! The processes of a run: what rights they have, and that none outlives what it depends on.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

const SOON: Duration = Duration::from_secs(30);

/// A supervisor that serves, with the simulated agent.
struct Run {
    supervisor: Child,
    data: tempfile::TempDir,
}

impl Run {
    fn start() -> Self {
        let data = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_bathyscope"));
        command.args(["serve", "--simulate=rate=100", "--listen", "127.0.0.1:0", "--log", "error", "--data"]);
        command.arg(data.path()).stdin(Stdio::null()).stdout(Stdio::piped());
        command.env("BATHYSCOPE_SECRET_FOR_TESTS", "x");
        let mut supervisor = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(supervisor.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("Bathyscope is ready: http://127.0.0.1:"), "{line}");
        Self { supervisor, data }
    }

    fn child(&self, verb: &str) -> Option<u32> {
        let pid = self.supervisor.id();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        let is_it = |child: &u32| {
            let line = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
            line.split(|byte| *byte == 0).nth(1) == Some(verb.as_bytes())
        };
        children.split_ascii_whitespace().filter_map(|child| child.parse().ok()).find(is_it)
    }

    fn wait_child(&self, verb: &str) -> u32 {
        let mut found = None;
        wait_for(verb, || {
            found = self.child(verb);
            found.is_some()
        });
        found.unwrap()
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _gone = self.supervisor.kill();
        let _ended = self.supervisor.wait();
    }
}

fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let end = Instant::now() + SOON;
    while !done() {
        assert!(Instant::now() < end, "waited in vain for {what}");
        std::thread::yield_now();
    }
}

fn status(pid: u32) -> BTreeMap<String, String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    text.lines().filter_map(|line| line.split_once(':')).map(|(k, v)| (k.to_owned(), v.trim().to_owned())).collect()
}

fn runs(pid: u32) -> bool {
    status(pid).get("State").is_some_and(|state| !state.starts_with(['Z', 'X']))
}

fn kill(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

#[test]
fn the_console_has_no_rights_left() {
    let run = Run::start();
    let console = run.wait_child("console");
    let status = status(console);
    let root = rustix::process::geteuid().is_root();
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb", "CapBnd"] {
        let empty = u64::from_str_radix(&status[set], 16) == Ok(0);
        // Who is not root cannot shrink the bounding set, and gains nothing by it: no new rights are taken.
        assert!(empty || (set == "CapBnd" && !root), "{set} {}", status[set]);
    }
    assert_eq!(status["NoNewPrivs"], "1");
    if root {
        let ids = |name: &str| status[name].split_ascii_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for name in ["Uid", "Gid"] {
            assert!(ids(name).iter().all(|id| *id != "0" && *id == ids(name)[0]), "{name} {:?}", ids(name));
        }
        assert_eq!(status["Groups"], "");
        let environment = fs::read_to_string(format!("/proc/{console}/environ")).unwrap();
        assert!(!environment.contains("SECRET"), "the environment of the supervisor stays with it: {environment}");
        let limits = fs::read_to_string(format!("/proc/{console}/limits")).unwrap();
        let memory = limits.lines().find(|line| line.starts_with("Max locked memory")).unwrap();
        let columns: Vec<&str> = memory.split_ascii_whitespace().skip(3).collect();
        assert_eq!(columns[0], columns[1], "raised as far as it may be: {memory}");
        use std::os::unix::fs::MetadataExt as _;
        let owner = fs::metadata(run.data.path()).unwrap();
        assert_eq!((owner.uid().to_string(), owner.mode() & 0o777), (ids("Uid")[0].clone(), 0o700));
    }
}

#[test]
fn a_killed_agent_is_restarted() {
    let run = Run::start();
    for _ in 0..2 {
        let agent = run.wait_child("agent");
        kill(agent, Signal::KILL);
        wait_for("its end", || !runs(agent));
        assert_ne!(run.wait_child("agent"), agent);
    }
    assert!(run.child("console").is_some_and(runs));
}

#[test]
fn a_killed_console_ends_everything() {
    let mut run = Run::start();
    let (agent, console) = (run.wait_child("agent"), run.wait_child("console"));
    kill(console, Signal::KILL);
    assert_eq!(run.supervisor.wait().unwrap().code(), Some(128 + 9));
    assert!(!runs(agent));
}

#[test]
fn a_killed_supervisor_takes_both_along() {
    let mut run = Run::start();
    let (agent, console) = (run.wait_child("agent"), run.wait_child("console"));
    run.supervisor.kill().unwrap();
    run.supervisor.wait().unwrap();
    wait_for("the children's end", || !runs(agent) && !runs(console));
}

#[test]
fn terminating_it_leaves_nothing_behind() {
    let mut run = Run::start();
    let agent = run.wait_child("agent");
    kill(run.supervisor.id(), Signal::TERM);
    assert!(run.supervisor.wait().unwrap().success());
    assert!(!runs(agent));
}

fn verb(words: &[&str]) -> (bool, String) {
    let output = Command::new(env!("CARGO_BIN_EXE_bathyscope")).args(words).stdin(Stdio::null()).output().unwrap();
    (output.status.success(), String::from_utf8(output.stdout).unwrap())
}

#[test]
fn tracepoints_are_listed_through_an_agent() {
    let (done, text) = verb(&["list", "--simulate", "raw_syscalls:sys_enter"]);
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    assert!(done);
    assert_eq!(words, ["raw_syscalls:sys_enter", "id", "integer", "long", "args", "array", "unsigned", "long[6]"]);
    let (done, text) = verb(&["list", "--simulate", "--json", "--fields", "sched:*"]);
    let found: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(done);
    assert_eq!(found.as_array().unwrap().len(), 3);
    let switch = found.as_array().unwrap().iter().find(|one| one["name"] == "sched:sched_switch").unwrap();
    assert_eq!(switch["fields"][0]["name"], "prev_comm");
    assert!(!verb(&["list", "--simulate", "nothing-like-this"]).0);
}

#[test]
fn doctor_says_what_it_found() {
    let (done, text) = verb(&["doctor", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert!(done);
    let capabilities = report["capabilities"].as_array().unwrap();
    assert_eq!(capabilities.len(), 23);
    assert!(capabilities.iter().all(|one| !one["finding"].as_str().unwrap().is_empty()));
}
