//! Captures of the running kernel, through the real agent. Needs root; `tests/lab/run` runs the same tests on other
//! kernels, where BATHYSCOPE_LAB is set and everything that Debian's kernels have is expected to work.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
};

use bathyscope_tests::{
    alone,
    command_line::{json_of, run, stdout_of},
    in_lab, proc,
    programs::program,
    server::{Server, signal},
    skip,
    wait::until,
    workspace::{binary, root},
};
use rustix::process::Signal;
use serde_json::{Value, json};
use tempfile::TempDir;

fn data() -> TempDir {
    tempfile::tempdir().expect("a folder for captures")
}

fn events(tracepoint: &str, fields: &[&str], predicate: Option<&str>, target: &Value) -> Value {
    let mut probe = json!({"tracepoint": tracepoint, "fields": fields});
    if let Some(predicate) = predicate {
        probe["predicate"] = predicate.into();
    }
    json!({"method": {"events": {"probes": [probe]}}, "target": target, "limits": {"duration_ms": 60_000}})
}

fn command(words: &[&str]) -> Value {
    json!({"command": {"argv": words, "children": true}})
}

fn dd(count: u32) -> Value {
    command(&["dd", "if=/dev/zero", "of=/dev/null", "bs=1", &format!("count={count}")])
}

/// Rows stored of stream 0, after checking that the ledger balances and that the console lost nothing. The kernel itself
/// may skip a probe that is hit by an interrupt while another runs.
fn stored(capture: &Value) -> u64 {
    let stream = &capture["ledger"]["streams"][0];
    let number = |name: &str| stream[name].as_u64().unwrap_or_else(|| panic!("{name} in {capture}"));
    let lost: u64 = capture["ledger"]["losses"].as_array().unwrap().iter().filter_map(|l| l["count"].as_u64()).sum();
    assert_eq!(number("emitted"), number("stored") + lost, "{}", capture["ledger"]);
    assert_eq!(number("hits"), number("emitted") + number("filtered"), "{}", capture["ledger"]);
    let by_kernel = |loss: &&Value| loss["stage"] == "kernel_missed";
    let skipped: u64 = capture["ledger"]["losses"]
        .as_array()
        .unwrap()
        .iter()
        .filter(by_kernel)
        .filter_map(|l| l["count"].as_u64())
        .sum();
    assert_eq!(lost, skipped, "{}", capture["ledger"]);
    number("stored")
}

/// Names of BPF programs that the kernel lists among its symbols, with how often.
fn loaded_programs() -> BTreeMap<String, usize> {
    let symbols = fs::read_to_string("/proc/kallsyms").expect("the kernel's symbols");
    let mut programs = BTreeMap::new();
    for name in symbols.lines().filter_map(|line| line.split_ascii_whitespace().nth(2)) {
        if name.starts_with("bpf_prog_") {
            *programs.entry(name.to_owned()).or_default() += 1;
        }
    }
    programs
}

#[test]
fn p27_doctor_finds_by_trying_what_this_kernel_has() {
    let Some(_alone) = alone("doctor on a real kernel") else { return };
    let found = json_of(["doctor", "--json"]);
    let capabilities = found["capabilities"].as_array().expect("capabilities");
    let state = |id: &str| {
        let one = capabilities.iter().find(|c| c["id"] == id).unwrap_or_else(|| panic!("no {id} in {found}"));
        one["state"].as_str().unwrap().to_owned()
    };
    for needed in ["tracepoint", "ring_buffer", "cpu_clock_sampling", "btf", "kallsyms"] {
        assert_eq!(state(needed), "available", "{needed}: {found:#}");
    }
    if in_lab() {
        for expected in ["uprobe", "kprobe", "fentry", "function_graph", "raw_tracepoint", "btf_tracepoint"] {
            assert_eq!(state(expected), "available", "{expected}: {found:#}");
        }
        assert_eq!(state("pmu"), "missing_hardware");
    }
    for capability in capabilities {
        assert!(!capability["finding"].as_str().unwrap().is_empty(), "{capability}");
    }
}

#[test]
fn a_commands_system_calls_are_recorded_to_the_last_one() {
    let Some(_alone) = alone("a capture of a command") else { return };
    let data = data();
    let server = Server::start(data.path(), &["--commands", "as-root"]);
    let id = server.capture(&events("raw_syscalls:sys_enter", &["id", "args"], None, &dd(1000)));
    let capture = server.ended(&id);
    assert_eq!(capture["state"], "finished", "{capture:#}");
    assert!(stored(&capture) > 2000);
    let of = |number: u32| {
        let filter =
            format!("id%20==%20{number}%20%26%26%20args%5B0%5D%20==%20{number}%20%26%26%20args%5B2%5D%20==%201");
        let page = server.get(&format!("/api/captures/{id}/rows?stream=0&limit=3&filter={filter}"));
        assert!(page["rows"][0].to_string().contains("\"dd\""), "{page}");
        page["matched"].as_u64().unwrap()
    };
    // read(2) from 0 and write(2) to 1 of one byte: exactly as many as dd was asked for.
    assert_eq!((of(0), of(1)), (1000, 1000));
    let output = server.send("GET", &format!("/api/captures/{id}/output"), None).text();
    assert!(output.contains("1000 bytes"), "{output}");
}

#[test]
fn signals_and_ends_are_rows_among_the_calls() {
    let Some(_alone) = alone("signals among system calls") else { return };
    let data = data();
    let server = Server::start(data.path(), &["--commands", "as-root"]);
    let script = "trap : USR1; kill -USR1 $$; /bin/true; exit 7";
    let spec = |signals: bool| {
        json!({"method": {"syscalls": {"calls": ["kill", "exit_group"], "signals": signals}},
            "target": command(&["/bin/sh", "-c", script]), "limits": {"duration_ms": 60_000}})
    };
    let id = server.capture(&spec(true));
    let capture = server.ended(&id);
    let all = stored(&capture);
    let rows = |id: &str, filter: &str| {
        let page = server.get(&format!("/api/captures/{id}/rows?stream=0&limit=50&filter={filter}"));
        (page["matched"].as_u64().unwrap(), page["rows"].to_string())
    };
    let (signals, told) = rows(&id, "call%20==%20%22SIGUSR1%22%20%26%26%20kind%20==%20%22signal%22");
    assert!(signals == 1 && told.contains("si_code=SI_USER, si_pid="), "{told}");
    let (ends, told) = rows(&id, "kind%20==%20%22exit%22");
    assert!(ends == 2 && told.contains("exited"), "{told}");
    let (ends, _) = rows(&id, "kind%20==%20%22exit%22%20%26%26%20result%20==%207");
    let (calls, _) = rows(&id, "kind%20==%20%22call%22");
    // One `kill`, and `exit_group` of both; the signal of the child's end too, where the shell handles it.
    assert!(ends == 1 && calls == 3 && all >= 6, "{ends} {calls} {all}");
    let id = server.capture(&spec(false));
    assert_eq!(stored(&server.ended(&id)), 3);
}

#[test]
fn a_predicate_is_evaluated_in_the_kernel() {
    let Some(_alone) = alone("a predicate in the kernel") else { return };
    let data = data();
    let server = Server::start(data.path(), &["--commands", "as-root"]);
    let only_writes = Some("id == 1 && args[0] == 1 && comm == \"dd\"");
    let id = server.capture(&events("raw_syscalls:sys_enter", &["id"], only_writes, &dd(500)));
    let capture = server.ended(&id);
    assert_eq!(stored(&capture), 500, "{capture:#}");
    assert!(capture["ledger"]["streams"][0]["filtered"].as_u64() > Some(500), "{capture:#}");
}

#[test]
fn the_whole_system_is_recorded_with_texts_and_in_order() {
    let Some(_alone) = alone("a capture of the whole system") else { return };
    let data = data();
    let server = Server::start(data.path(), &["--commands", "as-root"]);
    let fields = ["prev_comm", "prev_pid", "prev_state", "next_comm", "next_pid"];
    let mut spec = events("sched:sched_switch", &fields, None, &json!("system"));
    spec["limits"]["duration_ms"] = 1000.into();
    let id = server.capture(&spec);
    let capture = server.ended(&id);
    let rows = stored(&capture);
    assert!(rows > 20, "{capture:#}");
    let page = server.get(&format!("/api/captures/{id}/rows?stream=0&limit=200"));
    assert_eq!(page["total"], rows);
    let names: Vec<_> = page["columns"].as_array().unwrap().iter().map(|c| c["name"].as_str().unwrap()).collect();
    assert_eq!(names, [&["time", "cpu", "pid", "tid", "comm"][..], &fields].concat());
    let rows = page["rows"].as_array().unwrap();
    let times: Vec<_> = rows.iter().map(|row| row[0].as_u64().expect("a time")).collect();
    assert!(times.is_sorted(), "{times:?}");
    // What runs is what is switched from; the idle task has a name too.
    assert!(rows.iter().all(|row| row[4] == row[5] && row[3] == row[6]), "{page}");
    assert!(rows.iter().any(|row| row[8].as_str().is_some_and(|comm| !comm.is_empty())));
}

#[test]
fn a_profile_names_kernel_and_user_frames() {
    let Some(_alone) = alone("a profile") else { return };
    let Some(spin) = program("spin") else { return skip("a profile with known stacks", "gcc") };
    let data = data();
    let mut server = Server::start(data.path(), &["--commands", "as-root"]);
    let spec = json!({
        "method": {"profile": {"frequency_hz": 99, "kernel_stacks": true, "user_stacks": true}},
        "target": command(&[spin.to_str().unwrap(), "2000"]),
        "limits": {"duration_ms": 60_000}
    });
    let id = server.capture(&spec);
    let capture = server.ended(&id);
    assert_eq!(capture["state"], "finished", "{capture:#}");
    assert!(stored(&capture) > 20, "{capture:#}");
    let flame = server.get(&format!("/api/captures/{id}/flame"));
    let names = flame["names"].to_string();
    assert!(names.contains("spin_middle"), "{names}");
    assert!(server.terminate().success());
    let folded = stdout_of(["export", &id, "--format", "folded", "--data", data.path().to_str().unwrap()]);
    let known = |line: &&str| line.contains("main;spin_outer;spin_middle;spin_inner");
    let in_spin: u64 = folded.lines().filter(known).filter_map(|l| l.rsplit(' ').next()?.parse::<u64>().ok()).sum();
    let all: u64 = folded.lines().filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).sum();
    assert!(in_spin * 10 > all * 7, "{in_spin} of {all} samples are in the known stack:\n{folded}");
}

#[test]
fn a_profile_of_the_system_names_the_kernels_functions() {
    let Some(_alone) = alone("a profile of the system") else { return };
    let data = data();
    let mut server = Server::start(data.path(), &["--commands", "as-root"]);
    let spec = json!({
        "method": {"profile": {"frequency_hz": 199, "kernel_stacks": true, "user_stacks": true}},
        "target": "system",
        "limits": {"duration_ms": if in_lab() { 4000 } else { 1500 }}
    });
    let mut load = Command::new("dd").args(["if=/dev/zero", "of=/dev/null", "bs=64"]).spawn().expect("dd starts");
    let id = server.capture(&spec);
    let capture = server.ended(&id);
    load.kill().and_then(|()| load.wait()).expect("dd is ours");
    assert!(stored(&capture) > 50, "{capture:#}");
    let named = |names: &str| names.contains("vfs_write") || names.contains("vfs_read");
    until("names of the kernel", || {
        let flame = server.get(&format!("/api/captures/{id}/flame"));
        named(&flame["names"].to_string()).then_some(())
    });
    assert!(server.terminate().success());
    let folded = stdout_of(["export", &id, "--format", "folded", "--data", data.path().to_str().unwrap()]);
    let of_dd: Vec<_> = folded.lines().filter(|line| line.starts_with("dd;")).collect();
    assert!(of_dd.iter().any(|line| named(line)), "{folded}");
}

#[test]
fn the_terminal_prints_rows_as_they_come() {
    let Some(_alone) = alone("trace at a terminal") else { return };
    let options =
        ["trace", "-e", "raw_syscalls:sys_enter", "--fields", "id", "--filter", "id == 1 && args[0] == 1", "--json"];
    let dd = ["--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=100"];
    let printed = stdout_of(options.iter().chain(&dd));
    let rows: Vec<Value> = printed.lines().map(|line| serde_json::from_str(line).expect("a row as JSON")).collect();
    assert_eq!(rows.len(), 100, "{printed}");
    assert!(rows.iter().all(|row| row["comm"] == "dd" && row["id"] == 1), "{printed}");
    // The exit status is the command's.
    assert_eq!(run(["trace", "-e", "sched:sched_process_exit", "--", "false"]).status.code(), Some(1));
    let listed = json_of(["list", "raw_syscalls:sys_enter", "--json"]).to_string();
    assert!(listed.contains("raw_syscalls:sys_enter") && listed.contains("args"), "{listed}");
}

#[test]
fn a_profile_that_is_saved_at_the_terminal_can_be_exported() {
    let Some(_alone) = alone("a saved profile") else { return };
    let Some(spin) = program("spin") else { return skip("a saved profile", "gcc") };
    let data = data();
    let path = data.path().to_str().unwrap();
    stdout_of(["trace", "--profile", "--save", "kept", "--data", path, "--", spin.to_str().unwrap(), "1500"]);
    let listed = json_of(["captures", "list", "--json", "--data", path]);
    assert_eq!(listed["total"], 1, "{listed}");
    let capture = &listed["items"][0];
    assert_eq!((&capture["title"], &capture["state"]), (&json!("kept"), &json!("finished")));
    let folded = stdout_of(["export", capture["id"].as_str().unwrap(), "--format", "folded", "--data", path]);
    assert!(folded.contains("main;spin_outer;spin_middle;spin_inner"), "{folded}");
}

#[test]
fn p25_killing_the_console_leaves_nothing_in_the_kernel() {
    let Some(_alone) = alone("detaching") else { return };
    let data = data();
    let before = loaded_programs();
    let mut server = Server::start(data.path(), &["--commands", "as-root"]);
    let id = server.capture(&events("sched:sched_switch", &["next_pid"], None, &json!("system")));
    until("rows", || {
        let capture = server.get(&format!("/api/captures/{id}"));
        (capture["streams"][0]["rows"].as_u64() > Some(0)).then_some(())
    });
    assert!(loaded_programs().len() > before.len(), "the probe's program is loaded: {:?}", loaded_programs());
    let agent = server.child("agent");
    signal(server.child("console"), Signal::KILL);
    server.wait();
    until("the agent's end", || (!proc::is_alive(agent)).then_some(()));
    until("the end of all programs", || (loaded_programs() == before).then_some(()));
}

#[test]
fn killing_the_agent_ends_a_script_which_keeps_what_it_had() {
    let Some(_alone) = alone("a script whose agent is killed") else { return };
    let data = data();
    let before = loaded_programs();
    let server = Server::start(data.path(), &["--commands", "as-root"]);
    let text = "tracepoint:sched:sched_switch { printf(\"switch %d\\n\", pid); @[comm] = count(); } \
                interval:ms:10 { @ticks = count(); print(@ticks); }";
    let script = |text: &str| {
        json!({"method": {"script": {"text": text}}, "target": "system",
        // An emulated processor spends more on it than is usual, and it is not to end by that.
        "limits": {"duration_ms": 60_000, "budget_cpu_permille": 1000}})
    };
    let id = server.capture(&script(text));
    let rows = |capture: &Value| -> u64 {
        let streams = capture["streams"].as_array().expect("streams");
        streams.iter().filter_map(|stream| stream["rows"].as_u64()).sum()
    };
    let known = until("rows", || Some(rows(&server.get(&format!("/api/captures/{id}")))).filter(|rows| *rows > 0));
    let agent = server.child("agent");
    signal(agent, Signal::KILL);
    let capture = server.ended(&id);
    assert_eq!(capture["state"], "agent_lost", "{capture}");
    assert!(rows(&capture) >= known, "{known} of {capture}");
    let text = server.get(&format!("/api/captures/{id}/text"));
    let lines = text["lines"].as_array().expect("lines");
    assert!(lines.iter().any(|line| line["text"].as_str().is_some_and(|it| it.starts_with("switch "))), "{text}");
    until("the end of its programs", || (loaded_programs() == before).then_some(()));
    // The supervisor starts another one, which runs scripts as well.
    until("a new agent", || (server.get("/api/host")["agent"]["state"] == "connected").then_some(()));
    assert_ne!(server.child("agent"), agent);
    let id = server.capture(&script("begin { printf(\"again\\n\"); exit(); }"));
    assert_eq!(server.ended(&id)["state"], "finished");
    assert_eq!(server.get(&format!("/api/captures/{id}/text"))["lines"][0]["text"], "again\n");
}

/// Debian and Ubuntu have levels above 2, at which CAP_PERFMON is not enough: the compose file says to lower it. In the
/// lab that is done here.
fn paranoia_is_low() -> bool {
    const LEVEL: &str = "/proc/sys/kernel/perf_event_paranoid";
    if in_lab() {
        fs::write(LEVEL, "2").expect("root sets it");
    }
    fs::read_to_string(LEVEL).is_ok_and(|level| level.trim().parse::<i32>().is_ok_and(|level| level <= 2))
}

#[test]
fn p49_the_capabilities_that_the_container_gets_are_enough() {
    let Some(_alone) = alone("least capabilities") else { return };
    let Some(spin) = program("spin") else { return skip("least capabilities", "gcc") };
    if !paranoia_is_low() {
        return skip("least capabilities", "the sysctl kernel.perf_event_paranoid at 2 or lower");
    }
    let compose = fs::read_to_string(root().join("docker/compose.yaml")).expect("the compose file");
    let listed = compose.split_once("cap_add:\n").expect("a list of capabilities").1.lines();
    let names = listed.map_while(|line| line.strip_prefix("      - ")).map(str::to_lowercase).collect::<Vec<_>>();
    assert!(names.len() > 4, "{names:?}");
    // Outside of /tmp, which is empty in the container, and of the project, which may lie in a home that is closed to the
    // console's user; the lab has this one as well.
    let data = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    // As in the container: root without any other capability, unable to gain one, on a read-only file system.
    // A checkout below /tmp would be hidden with it.
    let tmp = if root().starts_with("/tmp") { "" } else { "mount -t tmpfs tmp /tmp && " };
    let script = format!(
        "mount --bind \"$1\" \"$1\" && mount -o remount,bind,ro / && {tmp}mount -t tmpfs run /run && shift && exec \"$@\""
    );
    let bounding = format!("-all,+{}", names.join(",+"));
    let wrapper =
        ["unshare", "-m", "bash", "-c", &script, "least", data.path().to_str().unwrap(), "setpriv", "--no-new-privs"];
    let mut words: Vec<_> = wrapper.iter().map(|word| (*word).to_owned()).collect();
    words.extend([format!("--bounding-set={bounding}"), "--inh-caps=-all".to_owned()]);
    words.push(binary().to_str().unwrap().to_owned());
    // Twice, because the second time the data folder belongs to the console's user already.
    assert!(Server::start_by(&words, data.path(), &["--commands", "as-root"]).terminate().success());
    let mut server = Server::start_by(&words, data.path(), &["--commands", "as-root"]);
    let host = server.get("/api/host");
    for needed in ["tracepoint", "ring_buffer", "cpu_clock_sampling", "kallsyms", "btf", "sideband_build_id"] {
        let found = host["capabilities"].as_array().unwrap().iter().find(|capability| capability["id"] == needed);
        assert_eq!(found.unwrap()["state"], "available", "{needed}: {host:#}");
    }
    let id = server.capture(&events("raw_syscalls:sys_enter", &["id"], Some("id == 1"), &dd(100)));
    assert!(stored(&server.ended(&id)) >= 100);
    let mut load = Command::new(spin).arg("60000").spawn().expect("it starts");
    let spec = json!({
        "method": {"profile": {"frequency_hz": 99, "kernel_stacks": true, "user_stacks": true}},
        "target": {"process": {"pid": load.id(), "children": false}},
        "limits": {"duration_ms": 3000}
    });
    let id = server.capture(&spec);
    let capture = server.ended(&id);
    load.kill().and_then(|()| load.wait()).expect("it is ours");
    assert!(stored(&capture) > 10, "{capture:#}");
    let names = server.get(&format!("/api/captures/{id}/flame"))["names"].to_string();
    assert!(names.contains("spin_middle"), "user frames have names: {names}");
    assert!(server.terminate().success());
}

/// The capabilities of the table in SECURITY.md, and what does not work without each.
const EACH: [(&str, Missing); 12] = [
    ("bpf", Missing::Tracepoints),
    ("perfmon", Missing::Tracepoints),
    ("sys_ptrace", Missing::NamesOfOthers),
    ("checkpoint_restore", Missing::NamesOfOthers),
    ("ipc_lock", Missing::Samples),
    ("syslog", Missing::NamesOfTheKernel),
    ("dac_override", Missing::Start),
    ("chown", Missing::Start),
    ("setuid", Missing::Start),
    ("setgid", Missing::Start),
    ("setpcap", Missing::Start),
    ("kill", Missing::EndOfCommands),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    Start,
    Tracepoints,
    Samples,
    NamesOfOthers,
    NamesOfTheKernel,
    EndOfCommands,
}

/// Started as root of all listed capabilities but one, and with little locked memory, as service managers give it.
fn started_without(left_out: Option<&str>) -> Vec<String> {
    let kept: Vec<&str> = EACH.iter().map(|(name, _)| *name).filter(|name| Some(*name) != left_out).collect();
    let bounding = format!("--bounding-set=-all,+{}", kept.join(",+"));
    let words = ["prlimit", "--memlock=65536:65536", "setpriv", "--no-new-privs", &bounding, "--inh-caps=-all"];
    words.into_iter().map(str::to_owned).chain([binary().to_str().unwrap().to_owned()]).collect()
}

/// Whether `serve` gives up at once.
fn does_not_start(words: &[String]) -> bool {
    let data = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data.path());
    let mut server = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let _it_may_have_ended = server.kill();
    server.wait().unwrap();
    line.is_empty()
}

/// What does not work in a server of these words.
fn missing(words: &[String], spin: &Path) -> Vec<Missing> {
    const UID: &str = "54321";
    if does_not_start(words) {
        return vec![Missing::Start];
    }
    let data = tempfile::tempdir_in("/dev/shm").expect("a folder in memory");
    let server = Server::start_by(words, data.path(), &["--commands", UID]);
    let mut missing = Vec::new();
    let recorded = |spec: &Value| {
        let answer = server.send("POST", "/api/captures", Some(spec));
        (answer.status == 201).then(|| answer.json()["id"].as_str().unwrap().to_owned())
    };
    // An executable of another user that nobody else may read.
    let folder = tempfile::tempdir_in("/var/tmp").expect("a folder of another user");
    let secret = folder.path().join("spin");
    fs::copy(spin, &secret).unwrap();
    for path in [&secret, folder.path()] {
        fs::set_permissions(path, PermissionsExt::from_mode(0o700)).unwrap();
        std::os::unix::fs::chown(path, Some(54_321), Some(54_321)).unwrap();
    }
    let mut load = Command::new("setpriv");
    load.args(["--reuid", UID, "--regid", UID, "--clear-groups"]).arg(&secret).arg("600000");
    let mut load = load.spawn().expect("it starts");
    let comm = format!("/proc/{}/comm", load.id());
    until("the other user's program", || fs::read_to_string(&comm).is_ok_and(|name| name == "spin\n").then_some(()));
    // What has a name on this host could be opened by that as well; what is deleted, or in a container, only through /proc.
    fs::remove_file(&secret).unwrap();
    let sampled = recorded(&json!({
        "method": {"profile": {"frequency_hz": 199, "kernel_stacks": true, "user_stacks": true}},
        "target": {"process": {"pid": load.id(), "children": false}}, "limits": {"duration_ms": 1000}
    }));
    match sampled {
        Some(id) => {
            server.ended(&id);
            let named = server.get(&format!("/api/captures/{id}/flame"))["names"].to_string();
            missing.extend((!named.contains("spin_middle")).then_some(Missing::NamesOfOthers));
        }
        None => missing.push(Missing::Samples),
    }
    load.kill().and_then(|()| load.wait()).expect("it is ours");
    let host = server.get("/api/host");
    let symbols = host["capabilities"].as_array().unwrap().iter().find(|one| one["id"] == "kallsyms").unwrap().clone();
    missing.extend((symbols["state"] != "available").then_some(Missing::NamesOfTheKernel));
    let sleep = json!({"command": {"argv": ["sleep", "4321"], "children": true}});
    let mut spec = events("sched:sched_process_exec", &["pid"], None, &sleep);
    spec["limits"]["duration_ms"] = 300.into();
    match recorded(&spec) {
        Some(id) => {
            server.ended(&id);
            let agent = proc::children(server.child("agent"));
            let left = agent.into_iter().find(|pid| proc::command_line(*pid) == ["sleep", "4321"]);
            missing.extend(left.map(|_runs_on| Missing::EndOfCommands));
            left.into_iter().for_each(|pid| signal(pid, Signal::KILL));
        }
        None => missing.push(Missing::Tracepoints),
    }
    missing
}

#[test]
fn p60_without_each_of_the_listed_capabilities_something_stops_working() {
    let Some(_alone) = alone("each capability") else { return };
    let Some(spin) = program("spin") else { return skip("each capability", "gcc") };
    if !paranoia_is_low() {
        return skip("each capability", "the sysctl kernel.perf_event_paranoid at 2 or lower");
    }
    if in_lab() {
        return skip("each capability", "programs that the small system of the lab does not have");
    }
    assert_eq!(missing(&started_without(None), &spin), [], "with all of them everything works");
    for (left_out, expected) in EACH {
        let found = missing(&started_without(Some(left_out)), &spin);
        assert!(found.contains(&expected), "without {left_out}: {found:?}");
    }
}

#[test]
fn p40_cleanup_removes_what_ended_agents_left_and_nothing_else() {
    let Some(_alone) = alone("cleanup of tracefs") else { return };
    // Mounts tracefs where it is not.
    stdout_of(["list", "sched:sched_switch"]);
    let instances = Path::new("/sys/kernel/tracing/instances");
    let link = fs::read_link("/proc/self/ns/pid").unwrap();
    let namespace: String = link.to_str().unwrap().chars().filter(char::is_ascii_digit).collect();
    // A process with the id of this one that began at another time: it has ended.
    let ours = instances.join(format!("bathyscope-{namespace}-{}-1-1", std::process::id()));
    let foreign = [instances.join("bathyscope"), instances.join(format!("bathyscope-1-{}-1-1", std::process::id()))];
    for folder in foreign.iter().chain([&ours]) {
        fs::create_dir(folder).unwrap();
    }
    let found = json_of(["cleanup", "--dry-run", "--json"]);
    assert_eq!(found["leftovers"][0]["name"], ours.file_name().unwrap().to_str().unwrap(), "{found:#}");
    assert!(ours.exists(), "nothing is removed in a dry run");
    let removed = json_of(["cleanup", "--json"]);
    assert_eq!(removed["leftovers"][0]["removed"], true, "{removed:#}");
    assert!(!ours.exists() && foreign.iter().all(|folder| folder.exists()));
    assert!(stdout_of(["cleanup"]).starts_with("Nothing is left"));
    for folder in &foreign {
        fs::remove_dir(folder).unwrap();
    }
}
