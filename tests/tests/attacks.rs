//! Attacks and faults from outside, against the processes of the binary: what others do to the console on its own host.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::{
    fs::{self, File},
    io::Write as _,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use bathyscope_tests::{
    command_line::json_of,
    is_root, ledger, proc,
    server::{Server, signal},
    skip,
    wait::{pass, until},
};
use rustix::{
    mount::{MountFlags, UnmountFlags, mount, unmount},
    process::Signal,
};
use serde_json::{Value, json};
use tempfile::TempDir;

fn spec() -> Value {
    json!({
        "method": {"events": {"probes": [{"tracepoint": "sched:sched_switch", "fields": ["prev_comm", "next_pid"]}]}},
        "target": "system",
        // What the simulated agent needs to make the events is no part of what is tried here.
        "limits": {"duration_ms": 600_000, "budget_cpu_permille": 1000, "budgets": {"agent_cpu_permille": 4000}}
    })
}

/// A file system of 48 MiB, unmounted at the end.
struct Small(TempDir);

impl Small {
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        match mount("tmpfs", dir.path(), "tmpfs", MountFlags::empty(), c"size=48m,mode=0755") {
            Ok(()) => Some(Self(dir)),
            Err(error) => {
                skip("a full disk", &format!("a small file system, which cannot be mounted: {error}"));
                None
            }
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        let _gone_with_the_namespace = unmount(self.0.path(), UnmountFlags::DETACH);
    }
}

/// Another program that takes every byte of a file system as soon as it is free, until it is dropped.
struct Glutton {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    file: PathBuf,
}

impl Glutton {
    fn new(dir: &Path) -> Self {
        let (stop, file) = (Arc::new(AtomicBool::new(false)), dir.join("glutton"));
        let (stopped, mut into) = (Arc::clone(&stop), File::create(&file).unwrap());
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if into.write_all(&[1; 1 << 16]).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        Self { stop, thread: Some(thread), file }
    }
}

impl Drop for Glutton {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        let _gone_with_its_folder = fs::remove_file(&self.file);
    }
}

#[test]
fn p71_a_disk_that_is_full_twice_loses_no_end() {
    if !is_root() {
        return skip("a full disk", "root");
    }
    let Some(small) = Small::new() else { return };
    let data = small.0.path().join("data");
    fs::create_dir(&data).unwrap();
    let mut server = Server::start(&data, &["--simulate=rate=400000"]);
    // Once: the capture fills it by itself, and ends with its ledger.
    let first = server.capture(&spec());
    let ended = server.ended(&first);
    assert_eq!(ended["state"], "failed", "{ended}");
    ledger::check(&ended);
    // Whether it can be restored or not: it makes room.
    let deleted = server.send("DELETE", &format!("/api/captures/{first}"), None);
    assert_eq!(deleted.status, 200, "{}", deleted.text());
    // Twice: another program fills it while the next one runs.
    let second = server.capture(&spec());
    until("rows", || (server.get(&format!("/api/captures/{second}"))["streams"][0]["rows"] != 0).then_some(()));
    let glutton = Glutton::new(small.0.path());
    let answered = server.ended(&second);
    assert_eq!(answered["state"], "failed", "{answered}");
    assert!(answered["reason"].as_str().unwrap().contains("full"), "{answered}");
    assert!(ledger::lost(&answered) > 0, "{answered}");
    ledger::check(&answered);
    let refused = server.send("POST", "/api/captures", Some(&spec()));
    assert_eq!(refused.status, 507, "a capture that would end at once is not begun: {}", refused.text());
    assert!(refused.text().contains("delete captures"), "{}", refused.text());
    // Ended as hard as can be, with the disk full all the time: the next start has the same end.
    drop(server);
    drop(glutton);
    server = Server::start(&data, &["--simulate"]);
    let again = server.get(&format!("/api/captures/{second}"));
    assert_eq!((&again["state"], &again["reason"]), (&answered["state"], &answered["reason"]));
    assert_eq!(ledger::lost(&again), ledger::lost(&answered));
    assert!(server.terminate().success());
    let shown = json_of(["captures", "show", &second, "--json", "--data", data.to_str().unwrap()]);
    assert_eq!(shown["state"], "failed", "{shown}");
}

/// A console that is stopped, so that it neither reads rings nor asks for readings.
fn stopped_console(server: &Server, id: &str) -> u32 {
    until("rows", || (server.get(&format!("/api/captures/{id}"))["streams"][0]["rows"] != 0).then_some(()));
    let console = server.child("console");
    signal(console, Signal::STOP);
    console
}

#[test]
fn p73_events_lost_while_the_console_hangs_and_the_agent_is_killed_are_told() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--simulate=rate=900000"]);
    let id = server.capture(&spec());
    let (console, agent) = (stopped_console(&server, &id), server.child("agent"));
    // On a busy machine the events take longer to be made than seconds of the clock; the lease ends after 30.
    let before_ms = proc::cpu_ms(agent);
    pass(Duration::from_secs(4));
    until("enough events", || (proc::cpu_ms(agent) > before_ms + 3000).then_some(()));
    signal(agent, Signal::KILL);
    signal(console, Signal::CONT);
    let ended = server.ended(&id);
    assert_eq!(ended["state"], "agent_lost", "{ended}");
    ledger::check(&ended);
    assert!(
        ledger::lost(&ended) > 100_000,
        "what the ring refused for seconds is not in the ledger: {}",
        ended["ledger"]
    );
    assert_eq!(ended["lost_at_least"], true, "what came after the last reading is not known");
    let listed = server.get("/api/captures");
    assert_eq!(listed["items"][0]["lost_at_least"], true, "{listed}");
}

#[test]
fn p73_events_lost_until_the_lease_ends_are_counted_exactly() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--simulate=rate=200000"]);
    let id = server.capture(&spec());
    let console = stopped_console(&server, &id);
    pass(Duration::from_secs(33));
    signal(console, Signal::CONT);
    let ended = server.ended(&id);
    assert_eq!(ended["state"], "agent_lost", "{ended}");
    ledger::check(&ended);
    assert!(ledger::lost(&ended) > 1_000_000, "{}", ended["ledger"]);
    assert_eq!(ended["lost_at_least"], false, "the agent left its final counters: {}", ended["ledger"]);
}

#[test]
fn p73_what_a_killed_console_had_not_stored_is_unknown_until_it_is_found() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::simulated(data.path());
    let id = server.capture(&spec());
    until("rows", || (server.get(&format!("/api/captures/{id}"))["streams"][0]["rows"] != 0).then_some(()));
    drop(server);
    let server = Server::simulated(data.path());
    let capture = server.get(&format!("/api/captures/{id}"));
    assert_eq!((&capture["state"], &capture["lost_at_least"]), (&"interrupted".into(), &true.into()));
    let loss = &capture["ledger"]["losses"].as_array().unwrap().last().unwrap().clone();
    let [end_ns, until_ns] = [&capture["end_ns"], &loss["end_ns"]].map(|value| value.as_u64().unwrap());
    assert!(until_ns > end_ns, "the loss lasts until it is found: {loss}");
    let shown =
        bathyscope_tests::command_line::stdout_of(["captures", "show", &id, "--data", data.path().to_str().unwrap()]);
    assert!(shown.contains("at least") || shown.contains("not known"), "{shown}");
    // Files of its rows have no place for it: it is told beside them, and rows stay what other programs read.
    for format in ["csv", "ndjson"] {
        let words = ["export", &id, "--format", format, "--data", data.path().to_str().unwrap()];
        let exported = bathyscope_tests::command_line::run(words);
        let (rows, said) = (String::from_utf8_lossy(&exported.stdout), String::from_utf8_lossy(&exported.stderr));
        assert!(exported.status.success() && (said.contains("at least") || said.contains("not known")), "{said}");
        let last: Option<Value> = rows.lines().last().and_then(|line| serde_json::from_str(line).ok());
        let ledger = last.map(|line| line["bathyscope_ledger"]["at_least"].clone());
        assert_eq!(ledger, (format == "ndjson").then_some(Value::Bool(true)), "{format}");
    }
}

#[test]
fn p75_memory_of_a_query_that_was_ended_goes_back() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::simulated(data.path());
    let id = server.capture(&spec());
    until("rows", || (server.get(&format!("/api/captures/{id}"))["streams"][0]["rows"] != 0).then_some(()));
    server.send("POST", &format!("/api/captures/{id}/stop"), None);
    server.ended(&id);
    let console = server.child("console");
    let resident_kib = || -> u64 {
        let status = proc::status(console);
        status["VmRSS"].trim_end_matches("kB").trim().parse().expect("a size")
    };
    let before = resident_kib();
    // Many small pieces of memory, between which what is free stays.
    let sql = "with recursive c(x) as (select 1 union all select x + 1 from c limit 100000) \
               select a.x, b.x as y from c a, c b order by random()";
    let query = json!({"sql": sql, "limits": {"time_ms": 60_000}});
    let ended = server.send("POST", &format!("/api/captures/{id}/query"), Some(&query));
    assert_eq!(ended.status, 422, "{}", ended.text());
    assert!(ended.text().contains("memory"), "{}", ended.text());
    until("the memory to go back", || (resident_kib().saturating_sub(before) < 100 << 10).then_some(()));
}

/// A program whose name has a line break, and a line that it forges.
#[test]
fn p76_a_name_forges_no_line_and_no_colour_in_what_is_piped() {
    if !is_root() {
        return skip("a script of the real kernel", "root");
    }
    let forged = "x\nuid=0\x1b[31m";
    let (tell, told) = std::sync::mpsc::sync_channel(1);
    let names = std::thread::spawn(move || {
        rustix::thread::set_name(&std::ffi::CString::new(forged).unwrap()).unwrap();
        tell.send(rustix::thread::gettid().as_raw_nonzero()).unwrap();
        while !FORGED.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
    });
    let tid = told.recv().unwrap();
    let script = |raw: &str| {
        let text = format!(
            "tracepoint:raw_syscalls:sys_enter /tid == {tid}/ {{ printf(\"name %s end\\n\", comm); @[comm] = count(); exit() }}"
        );
        let mut words = vec!["trace", "-q", "-e", &text];
        words.extend(Some(raw).filter(|raw| !raw.is_empty()));
        let out = bathyscope_tests::command_line::run(words);
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        out.stdout
    };
    let until_forged = |raw: &str, wanted: &str| {
        until("the name to be hit", || {
            let out = script(raw);
            let text = String::from_utf8_lossy(&out).into_owned();
            text.contains(wanted).then_some(text)
        })
    };
    let safe = until_forged("", "uid=0");
    assert!(safe.contains("name x\\nuid=0\\x1b[31m end\n"), "{safe:?}");
    assert!(!safe.lines().any(|line| line.starts_with("uid=0")), "a name makes a line of its own: {safe:?}");
    assert!(!safe.contains('\x1b'), "{safe:?}");
    let raw = until_forged("--raw", "uid=0");
    assert!(raw.contains("name x\nuid=0\x1b[31m end\n"), "raw is asked for: {raw:?}");
    FORGED.store(true, Ordering::Relaxed);
    names.join().unwrap();
}

/// Set when the thread with the forged name may end.
static FORGED: AtomicBool = AtomicBool::new(false);

#[test]
fn p77_a_database_that_is_removed_or_replaced_is_noticed_and_nothing_finishes_that_is_not_stored() {
    for replaced in [false, true] {
        let data = tempfile::tempdir().unwrap();
        let other = tempfile::tempdir().unwrap();
        let server = Server::simulated(data.path());
        drop(Server::simulated(other.path()));
        let id = server.capture(&spec());
        until("rows", || (server.get(&format!("/api/captures/{id}"))["streams"][0]["rows"] != 0).then_some(()));
        let database = data.path().join("bathyscope.db");
        if replaced {
            fs::copy(other.path().join("bathyscope.db"), data.path().join("new.db")).unwrap();
            // Of the same owner, or it could not be opened anyway.
            let owner = fs::metadata(&database).unwrap();
            std::os::unix::fs::chown(data.path().join("new.db"), Some(owner.uid()), Some(owner.gid())).unwrap();
            fs::rename(data.path().join("new.db"), &database).unwrap();
        } else {
            for name in ["bathyscope.db", "bathyscope.db-wal", "bathyscope.db-shm"] {
                fs::remove_file(data.path().join(name)).unwrap();
            }
        }
        let removed = Instant::now();
        let ended = server.ended(&id);
        assert!(removed.elapsed() < Duration::from_secs(10), "it took {:?}", removed.elapsed());
        assert_eq!(ended["state"], "failed", "{ended}");
        assert!(ended["reason"].as_str().unwrap().contains("removed or replaced"), "{ended}");
        let trouble = server.get("/api/host")["trouble"].clone();
        assert!(trouble.as_str().is_some_and(|trouble| trouble.contains("put the file back")), "{trouble}");
        let refused = server.send("POST", "/api/captures", Some(&spec()));
        assert!(refused.status == 500 && refused.text().contains("removed or replaced"), "{}", refused.text());
        until("the log", || server.log().contains("nothing can be stored").then_some(()));
        drop(server);
        // What the next start finds says of no capture that it has finished.
        let server = Server::simulated(data.path());
        let listed = server.get("/api/captures");
        assert!(!listed["items"].as_array().unwrap().iter().any(|capture| capture["state"] == "finished"), "{listed}");
    }
}

#[test]
fn p77_an_idle_console_notices_too_and_that_the_file_is_back() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::simulated(data.path());
    let aside = data.path().join("aside");
    fs::create_dir(&aside).unwrap();
    let names = ["bathyscope.db", "bathyscope.db-wal", "bathyscope.db-shm"];
    names.iter().for_each(|name| fs::rename(data.path().join(name), aside.join(name)).unwrap());
    let removed = Instant::now();
    until("the log", || server.log().contains("nothing can be stored").then_some(()));
    assert!(removed.elapsed() < Duration::from_secs(10), "it took {:?}", removed.elapsed());
    names.iter().for_each(|name| fs::rename(aside.join(name), data.path().join(name)).unwrap());
    assert_eq!(server.get("/api/host")["trouble"], Value::Null);
    let id = server.capture(&spec());
    until("rows", || (server.get(&format!("/api/captures/{id}"))["streams"][0]["rows"] != 0).then_some(()));
}
