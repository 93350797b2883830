//! Whose events are recorded: control groups, users and threads by name, on the running kernel and, with `tests/lab/run`,
//! on others.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what it expects by panicking"
)]

use std::{
    fs,
    io::Write as _,
    os::unix::process::CommandExt as _,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use bathyscope_tests::{alone, server::Server, skip, wait::until};
use serde_json::{Value, json};

/// Bytes that a worker copies one by one.
const BYTES: usize = 300;
/// Its reads of them: one more finds the end.
const READS: u64 = BYTES as u64 + 1;
/// A user that nothing else here is.
const UID: u32 = 54_321;

/// A `dd` that waits for its input.
struct Worker(Child);

impl Worker {
    fn start(program: &Path, uid: Option<u32>) -> Self {
        let mut command = Command::new(program);
        command.args(["bs=1", "of=/dev/null", "status=none"]).stdin(Stdio::piped());
        if let Some(uid) = uid {
            command.uid(uid).gid(uid);
        }
        Self(command.spawn().expect("dd starts"))
    }

    /// Lets it copy, and waits for its end.
    fn work(mut self) -> u32 {
        let mut input = self.0.stdin.take().expect("its input");
        input.write_all(&[b'x'; BYTES]).expect("it reads");
        drop(input);
        assert!(self.0.wait().expect("it ends").success());
        self.0.id()
    }
}

/// A control group inside of another one, removed in the end.
struct Group {
    outer: PathBuf,
    inner: PathBuf,
}

impl Group {
    fn make() -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let is_group = |line: &&str| line.split_ascii_whitespace().nth(2) == Some("cgroup2");
        let mount = mounts.lines().find(is_group)?.split_ascii_whitespace().nth(1)?;
        let outer = Path::new(mount).join(format!("bathyscope-{}.service", std::process::id()));
        let inner = outer.join("payload");
        fs::create_dir_all(&inner).ok()?;
        Some(Self { outer, inner })
    }

    fn name(&self) -> String {
        self.outer.file_name().unwrap().to_str().unwrap().to_owned()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        for folder in [&self.inner, &self.outer] {
            let _still_used = fs::remove_dir(folder);
        }
    }
}

fn reads(target: &Value) -> Value {
    let probe = json!({
        "tracepoint": "raw_syscalls:sys_enter", "fields": ["id"], "predicate": "id == 0 && args[0] == 0 && args[2] == 1",
    });
    json!({"method": {"events": {"probes": [probe]}}, "target": target, "limits": {"duration_ms": 60_000, "over_budget": "warn"}})
}

fn counting_script(target: &Value) -> Value {
    let text = "tracepoint:raw_syscalls:sys_enter /args.id == 0 && args.args[0] == 0 && args.args[2] == 1/ { @[pid] = count(); }";
    json!({"method": {"script": {"text": text}}, "target": target, "limits": {"duration_ms": 60_000, "over_budget": "warn"}})
}

fn stop(server: &Server, id: &str) -> Value {
    let answer = server.send("POST", &format!("/api/captures/{id}/stop"), Some(&json!({})));
    assert!(answer.status < 300, "{}", answer.text());
    server.ended(id)
}

/// Records `target` while `member` and somebody else work, and expects the member's reads and no others.
fn only_the_member_is_recorded(
    server: &Server,
    target: &Value,
    expected: std::ops::RangeInclusive<u64>,
    member: &dyn Fn() -> Worker,
) {
    let id = server.capture(&reads(target));
    Worker::start(Path::new("/bin/dd"), None).work();
    let pid = member().work();
    let capture = stop(server, &id);
    let stored = capture["ledger"]["streams"][0]["stored"].as_u64().unwrap();
    assert!(expected.contains(&stored), "{target}: {capture:#}");
    let page = server.get(&format!("/api/captures/{id}/rows?stream=0&limit=400"));
    let rows = page["rows"].as_array().unwrap();
    assert!(rows.iter().all(|row| row[2] == pid), "{target}: {page}");

    let id = server.capture(&counting_script(target));
    Worker::start(Path::new("/bin/dd"), None).work();
    let pid = member().work();
    stop(server, &id);
    let maps = server.get(&format!("/api/captures/{id}/maps/0"));
    let text = maps.to_string();
    let counted = expected.clone().any(|count| text.contains(&count.to_string()));
    assert!(text.contains(&pid.to_string()) && counted, "{target}: {text}");
}

#[test]
fn control_groups_users_and_names_are_targets() {
    let Some(_alone) = alone("control groups, users and names as targets") else { return };
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let by_user = || Worker::start(Path::new("/bin/dd"), Some(UID));
    only_the_member_is_recorded(&server, &json!({"user": {"user": UID.to_string()}}), READS..=READS, &by_user);

    let folder = tempfile::tempdir().unwrap();
    let own = folder.path().join("bathyscope-dd");
    fs::copy("/bin/dd", &own).unwrap();
    let by_name = || Worker::start(&own, None);
    for pattern in ["bathyscope-dd", "bathyscope*", "*scope-dd", "*scope*"] {
        only_the_member_is_recorded(&server, &json!({"comm": {"pattern": pattern}}), READS..=READS, &by_name);
    }

    let Some(group) = Group::make() else {
        return skip("control groups as targets", "a hierarchy of version 2 to write to");
    };
    let in_group = || {
        let worker = Worker::start(Path::new("/bin/dd"), None);
        fs::write(group.inner.join("cgroup.procs"), worker.0.id().to_string()).expect("it moves");
        worker
    };
    let path = format!("/{}", group.name());
    for target in [json!({"cgroup": {"path": path}}), json!({"unit": {"name": group.name()}})] {
        // Its first read may have begun before it moved.
        only_the_member_is_recorded(&server, &target, READS - 1..=READS, &in_group);
    }
    let id = server.capture(&reads(&json!({"cgroup": {"path": path}})));
    until("the group is empty", || fs::remove_dir(&group.inner).ok());
    fs::remove_dir(&group.outer).unwrap();
    let capture = server.ended(&id);
    assert_eq!(capture["reason"], format!("control group {path} is gone"), "{capture:#}");
}

/// A process that keeps the kernel busy until it is dropped, also by a test that fails.
struct Load(Child);

impl Drop for Load {
    fn drop(&mut self) {
        let _ended = (self.0.kill(), self.0.wait());
    }
}

#[test]
fn p24_probes_that_cost_too_much_are_detached() {
    let Some(_alone) = alone("the guard") else { return };
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let _load = Load(Command::new("/bin/dd").args(["if=/dev/zero", "of=/dev/null", "bs=1"]).spawn().unwrap());
    let probe = json!({"tracepoint": "raw_syscalls:sys_enter", "fields": ["id"]});
    let events = json!({"events": {"probes": [probe]}});
    let script =
        json!({"script": {"text": "tracepoint:raw_syscalls:sys_enter { @[comm] = count(); } END { @done = 1; }"}});
    let trace = json!({"trace": {"events": [{"event": "raw_syscalls:sys_enter"}]}});
    let calls = json!({"profile": {"event": "raw_syscalls:sys_enter", "period": 10, "frequency_hz": 99, "kernel_stacks": true, "user_stacks": true}});
    let samples = json!({"profile": {"frequency_hz": 9999, "kernel_stacks": true, "user_stacks": true}});
    let counts = json!({"count": {"groups": [["raw_syscalls:sys_enter"]], "interval_ms": 1000}});
    for method in [events, script, trace, calls, samples, counts] {
        // A whole second of dd is more than a thousandth of a CPU, whatever the machine.
        let limits = json!({"duration_ms": 60_000, "budget_cpu_permille": 1});
        let id = server.capture(&json!({"method": method, "target": "system", "limits": limits}));
        let capture = server.ended(&id);
        let reason = capture["reason"].as_str().unwrap();
        assert!(reason.contains("and the budget is 0.1 %: they were detached"), "{capture:#}");
        println!("{method}: {reason}");
        if method.get("events").is_some() {
            let losses = capture["ledger"]["losses"].as_array().unwrap();
            let limited: u64 =
                losses.iter().filter(|loss| loss["stage"] == "limited").filter_map(|loss| loss["count"].as_u64()).sum();
            assert!(limited > 0, "it was thinned first: {capture:#}");
            let totals = &capture["ledger"]["streams"][0];
            let number = |name: &str| totals[name].as_u64().unwrap();
            let lost: u64 = losses.iter().filter_map(|loss| loss["count"].as_u64()).sum();
            assert_eq!(number("emitted"), number("stored") + lost, "{capture:#}");
        }
    }
}

/// Bytes and rows a second, and what is used by the agent itself, have budgets too.
#[test]
fn p24_rows_and_bytes_and_the_agent_keep_to_their_budgets() {
    let Some(_alone) = alone("budgets of rows and bytes") else { return };
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let _load = Load(Command::new("/bin/dd").args(["if=/dev/zero", "of=/dev/null", "bs=1"]).spawn().unwrap());
    let record = |method: &Value, budgets: &Value, ms: u64| {
        let limits = json!({"duration_ms": ms, "budget_cpu_permille": 1000, "budgets": budgets});
        let id = server.capture(&json!({"method": method, "target": "system", "limits": limits}));
        let capture = server.ended(&id);
        println!("{method} {budgets}: {}", capture["reason"]);
        capture
    };
    let probe = json!({"tracepoint": "raw_syscalls:sys_enter", "fields": ["id"]});
    let events = json!({"events": {"probes": [probe, {"tracepoint": "raw_syscalls:sys_exit", "fields": []}]}});
    let stored = |capture: &Value| {
        let streams = capture["ledger"]["streams"].as_array().unwrap();
        streams.iter().map(|stream| stream["stored"].as_u64().unwrap()).sum::<u64>()
    };
    // Held by the programs: of all CPUs and both probes together, whatever else happens.
    let capture = record(&events, &json!({"rows_per_s": 1000}), 3000);
    let reason = capture["reason"].as_str().unwrap();
    assert!(reason.starts_with("3 s have passed; the probes wrote "), "{reason}");
    assert!(reason.contains("the budget is 1000 rows, so at most 1000 rows a second were recorded"), "{reason}");
    let rows = stored(&capture);
    // Where attaching and detaching are slow (in the lab), the programs run for some seconds more.
    assert!((1000..10_000).contains(&rows), "about 3000, and windows that were begun: {rows}");
    let losses = capture["ledger"]["losses"].as_array().unwrap();
    // What the kernel does not call a program for, because one runs there already, is told too.
    let is_told = |loss: &Value| loss["stage"] == "limited" || loss["stage"] == "kernel_missed";
    assert!(losses.iter().all(is_told) && losses.iter().any(|loss| loss["stage"] == "limited"), "{losses:?}");
    // A row of these has 40 to 56 bytes with what the kernel puts before it.
    let capture = record(&events, &json!({"bytes_per_s": 65536}), 3000);
    let reason = capture["reason"].as_str().unwrap();
    assert!(reason.contains("the budget is 64 KiB, so at most "), "{reason}");
    let rows = stored(&capture);
    assert!((1000..10_000).contains(&rows), "{rows}");
    // Where the kernel cannot leave rows out, the probes are detached.
    let calls = json!({"syscalls": {"calls": []}});
    let trace = json!({"trace": {"events": [{"event": "raw_syscalls:sys_enter"}]}});
    let script =
        json!({"script": {"text": "tracepoint:raw_syscalls:sys_enter { printf(\"%s %d\\n\", comm, args.id); }"}});
    for method in [calls, trace, script] {
        let reason = record(&method, &json!({"bytes_per_s": 65536}), 60_000)["reason"].as_str().unwrap().to_owned();
        assert!(reason.starts_with("the probes wrote ") && reason.ends_with("were detached"), "{reason}");
    }
    // Counters of every CPU, read as often as can be, are work for the agent.
    let groups = [["task-clock"], ["page-faults"], ["context-switches"], ["cpu-migrations"], ["sched:sched_switch"]];
    let counts = json!({"count": {"groups": groups, "interval_ms": 10, "per": "cpu"}});
    let reason = record(&counts, &json!({"agent_cpu_permille": 1}), 8000)["reason"].as_str().unwrap().to_owned();
    let told = ["so it read more rarely", "the probes were detached"].into_iter().any(|end| reason.ends_with(end));
    assert!(reason.contains("the agent used ") && reason.contains("and the budget is 0.1 %") && told, "{reason}");
}

#[test]
fn what_is_not_there_is_told() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::simulated(data.path());
    for (target, words) in [
        (json!({"unit": {"name": "webserve"}}), "there is no unit `webserve`"),
        (json!({"container": {"name": "nope"}}), "orders-db"),
        (json!({"cgroup": {"path": "/nope"}}), "there is no such group"),
        (json!({"user": {"user": "nobody-here"}}), "there is no such user"),
        (json!({"comm": {"pattern": "a-name-of-16-chr"}}), "from 0 to 15"),
    ] {
        let answer = server.send("POST", "/api/captures", Some(&reads(&target)));
        assert!((400..500).contains(&answer.status) && answer.text().contains(words), "{target}: {}", answer.text());
    }
    let groups = server.get("/api/groups?q=orders");
    assert_eq!(groups["items"][0]["container"]["name"], "orders-db", "{groups}");
    let id = server.capture(&reads(&json!({"container": {"name": "orders-db"}})));
    stop(&server, &id);
}
