//! Others are watched for as long as a command runs, and the command itself is left as a shell would start it. On the
//! running kernel. Needs root.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::process::{Child, Command, Output, Stdio};

use bathyscope_tests::{
    alone,
    command_line::{json_of, run},
    programs::program,
    server::Server,
    skip,
    wait::until,
};
use serde_json::json;

/// What others do meanwhile.
struct Other(Child);

impl Other {
    fn start(command: &mut Command) -> Self {
        Self(command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().expect("it starts"))
    }

    /// A shell that executes `true` again and again.
    fn executing() -> Self {
        Self::start(Command::new("/bin/sh").args(["-c", "while :; do /bin/true; done"]))
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _gone = self.0.kill();
        let _status = self.0.wait();
    }
}

fn texts(output: &Output) -> (String, String) {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (text(&output.stdout), text(&output.stderr))
}

fn executed_in(data: &str) -> Vec<String> {
    let sql = "select distinct filename from sched_process_exec order by 1";
    let answer = json_of(["query", "newest", sql, "--json", "--data", data]);
    let name = |row: &serde_json::Value| row[0].as_str().unwrap_or_default().to_owned();
    answer["rows"].as_array().expect("rows").iter().map(name).collect()
}

#[test]
fn record_traces_everything_while_its_command_runs_and_only_the_command_if_that_is_said() {
    let Some(_alone) = alone("record while a command runs") else { return };
    let _other = Other::executing();
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    for (letters, others) in [(&[][..], true), (&["-a"], true), (&["-F", "-c"], false), (&["--only-command"], false)] {
        let words = [&["record", "--data", data, "-e", "sched_process_exec"], letters, &["sleep", "0.5"]].concat();
        let output = run(words);
        let (out, err) = texts(&output);
        assert!(output.status.success() && out.is_empty(), "{letters:?}: {err}");
        let executed = executed_in(data);
        assert_eq!(executed.iter().any(|name| name == "/bin/true"), others, "{letters:?}: {executed:?}");
        assert!(executed.iter().any(|name| name.ends_with("/sleep")), "{letters:?}: {executed:?}");
    }
}

#[test]
fn profile_and_stat_watch_the_machine_or_processes_while_a_command_runs() {
    let what = "profile and stat while a command runs";
    let Some(_alone) = alone(what) else { return };
    let Some(spin) = program("spin") else { return skip(what, "gcc") };
    let spinning = Other::start(Command::new(spin).arg("600000"));
    let pid = spinning.0.id().to_string();
    let of_init = format!("1,{pid}");
    for letters in [&["-a"][..], &["-p", &pid], &["-p", &of_init]] {
        let words = [&["profile", "-g", "--json", "-F", "499"], letters, &["--", "sleep", "0.5"]].concat();
        let output = run(words);
        let (out, err) = texts(&output);
        assert!(output.status.success(), "{letters:?}: {err}");
        assert!(out.contains("spin_inner"), "{letters:?}: {out}");
    }
    let counted = |letters: &[&str]| {
        let output = run([&["stat", "-j", "-e", "task-clock"], letters, &["--", "sleep", "0.5"]].concat());
        let (_, err) = texts(&output);
        assert!(output.status.success(), "{letters:?}: {err}");
        let line = err.lines().find(|line| line.contains("task-clock")).unwrap_or_else(|| panic!("{err}"));
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let value = &line["counter-value"];
        value.as_str().map_or_else(|| value.as_f64(), |text| text.parse().ok()).unwrap_or_else(|| panic!("{line}"))
    };
    let (own, all, one) = (counted(&[]), counted(&["-a"]), counted(&["-p", &pid]));
    assert!(own * 10.0 < one && own * 10.0 < all, "the command itself {own}, everything {all}, the process {one}");
}

#[test]
fn stat_tells_the_times_of_its_command_and_counts_many_events() {
    let what = "times of a command";
    let Some(_alone) = alone(what) else { return };
    let Some(spin) = program("spin") else { return skip(what, "gcc") };
    let output = run(["stat", "-e", "duration_time,user_time,system_time", "--", spin.to_str().unwrap(), "500"]);
    let (_, err) = texts(&output);
    assert!(output.status.success(), "{err}");
    let number = |what: &str| -> f64 {
        let line = err.lines().find(|line| line.contains(what)).unwrap_or_else(|| panic!("{what} in {err}"));
        line.split_whitespace().next().unwrap().replace(',', "").parse().unwrap()
    };
    // It spins for half a second, as far as it gets a CPU.
    let (user, system) = (number("seconds user"), number("seconds sys"));
    assert!((0.001..5.0).contains(&user) && system < user, "{err}");
    assert!(number("duration_time") >= 0.5e9 && number("seconds time elapsed") >= 0.5, "{err}");
    let apart = (number("user_time") / 1e9 - user).abs();
    assert!(apart < 0.02, "{err}");
    let output = run(["stat", "-e", "syscalls:sys_enter_*", "-x,", "--", "ls", "/"]);
    let (_, err) = texts(&output);
    assert!(output.status.success(), "{err}");
    assert!(err.lines().filter(|line| line.contains("syscalls:sys_enter_")).count() > 300, "{err}");
    let all = run(["stat", "-a", "-e", "duration_time,user_time", "--duration", "200ms"]);
    assert!(texts(&all).1.contains("user_time") && !texts(&all).1.contains("seconds user"), "{}", texts(&all).1);
}

fn imported(file: &std::path::Path, data: &str) {
    let output = run(["captures", "import", file.to_str().unwrap(), "--data", data]);
    assert!(output.status.success(), "{}", texts(&output).1);
}

/// What a query of the newest capture answers, row by row.
fn rows(data: &str, sql: &str) -> Vec<serde_json::Value> {
    json_of(["query", "newest", sql, "--json", "--data", data])["rows"].as_array().expect("rows").clone()
}

#[test]
fn threads_are_sampled_and_counted_by_their_ids() {
    let what = "threads by their ids";
    let Some(_alone) = alone(what) else { return };
    let Some(crowd) = program("crowd") else { return skip(what, "gcc") };
    // More calls than any machine makes before the test kills it.
    let crowd = Other::start(Command::new(crowd).args(["2", "1000000000000000"]));
    let tasks = format!("/proc/{}/task", crowd.0.id());
    let threads = until("both threads to run", || {
        let names = std::fs::read_dir(&tasks).ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let others: Vec<String> = names.filter(|tid| *tid != crowd.0.id().to_string()).collect();
        (others.len() == 2).then_some(others)
    });
    let folder = tempfile::tempdir().unwrap();
    let (data, file) = (folder.path().to_str().unwrap(), folder.path().join("of threads.bathy"));
    let path = file.to_str().unwrap();
    let output = run(["profile", "-t", &threads[0], "-e", "task-clock", "-F", "499", "-o", path, "--", "sleep", "1"]);
    let (out, err) = texts(&output);
    assert!(output.status.success() && out.contains("said"), "{out}{err}");
    imported(&file, data);
    assert_eq!(rows(data, "select distinct tid from \"task-clock\""), [json!([threads[0].parse::<u32>().unwrap()])]);
    let both = threads.join(",");
    let output = run(["stat", "-j", "-e", "task-clock", "--per-thread", "-t", &both, "--", "sleep", "0.5"]);
    let (_, err) = texts(&output);
    assert!(output.status.success(), "{err}");
    assert_eq!(err.lines().filter(|line| line.contains("task-clock")).count(), 2, "{err}");
    let output = run(["stat", "-t", "4194304"]);
    assert!(texts(&output).1.contains("no such thread"), "{}", texts(&output).1);
}

#[test]
fn several_events_are_sampled_and_each_sample_tells_its_own() {
    let what = "samples of several events";
    let Some(_alone) = alone(what) else { return };
    let Some(spin) = program("spin") else { return skip(what, "gcc") };
    let spin = spin.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    // Beside a clock, events are sampled on whole CPUs, where others may take the samples of what is seldom.
    for events in ["{task-clock,cpu-clock}", "task-clock,cpu-clock", "{page-faults,sched:sched_process_exec}"] {
        let (data, file) = (folder.path().join(events), folder.path().join(format!("{events}.bathy")));
        std::fs::create_dir(&data).unwrap();
        let output = run(["profile", "-e", events, "-F", "499", "-o", file.to_str().unwrap(), "--", spin, "400"]);
        let (out, err) = texts(&output);
        assert!(output.status.success(), "{events}: {err}");
        for event in events.trim_matches(['{', '}']).split(',') {
            assert!(out.contains(&format!(" samples of {event}\n")), "{events}: {out}");
        }
        imported(&file, data.to_str().unwrap());
        let found = rows(data.to_str().unwrap(), "select event, count(*) from samples group by event order by event");
        assert!(found.len() == 2 && found.iter().all(|row| row[1].as_u64() > Some(0)), "{events}: {found:?}");
    }
}

#[test]
fn sampling_and_counting_begin_after_a_delay() {
    let what = "a delay before the first sample";
    let Some(_alone) = alone(what) else { return };
    let Some(spin) = program("spin") else { return skip(what, "gcc") };
    let spin = spin.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (event, number) in [("task-clock", 0), ("page-faults", 1), ("sched:sched_stat_runtime", 2)] {
        let (data, file) = (folder.path().join(event), folder.path().join(format!("{number}.bathy")));
        std::fs::create_dir(&data).unwrap();
        let letters = ["-e", event, "-D", "400", "-o", file.to_str().unwrap()];
        let output = run([&["profile"], &letters[..], &["--", spin, "900"]].concat());
        assert!(output.status.success(), "{event}: {}", texts(&output).1);
        imported(&file, data.to_str().unwrap());
        let table = event.rsplit(':').next().unwrap();
        let found = rows(data.to_str().unwrap(), &format!("select min(time), count(*) from \"{table}\""));
        // A program that spins makes no page faults once it runs.
        let (first, count) = (found[0][0].as_u64(), found[0][1].as_u64().unwrap());
        assert!(count == 0 || first >= Some(390_000_000), "{event}: {found:?}");
        assert!(count > 0 || event == "page-faults", "{event}: {found:?}");
    }
    let output = run(["stat", "-j", "-e", "duration_time,task-clock", "-D", "400", "--", spin, "900"]);
    let (_, err) = texts(&output);
    assert!(output.status.success(), "{err}");
    let line = err.lines().find(|line| line.contains("duration_time")).unwrap_or_else(|| panic!("{err}"));
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    let value = line["counter-value"].as_str().and_then(|text| text.parse::<f64>().ok());
    let value = value.or_else(|| line["counter-value"].as_f64()).unwrap_or_else(|| panic!("{line}"));
    assert!((0.2e9..3e9).contains(&value), "{line}");
}

#[test]
fn record_prints_rows_as_they_come() {
    let Some(_alone) = alone("record --live") else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    for letters in [&["--live"][..], &["-o", "-"]] {
        let words = [&["record", "--data", data, "-e", "sched_process_exec"], letters, &["sleep", "0.3"]].concat();
        let output = run(words);
        let (out, err) = texts(&output);
        assert!(output.status.success(), "{err}");
        let live: Vec<&str> = out.lines().filter(|line| line.contains("sched_process_exec:")).collect();
        let report = run(["report", "--data", data]);
        let report = texts(&report).0;
        let later: Vec<&str> = report.lines().filter(|line| line.contains("sched_process_exec:")).collect();
        assert!(!live.is_empty() && live == later, "{live:#?} {later:#?}");
    }
    let file = folder.path().join("trace.bathy");
    let output = run(["record", "--data", data, "-e", "sched_process_exec", "-o", file.to_str().unwrap(), "true"]);
    let (_, err) = texts(&output);
    assert!(output.status.success() && err.contains("captures import"), "{err}");
    let elsewhere = tempfile::tempdir().unwrap();
    imported(&file, elsewhere.path().to_str().unwrap());
    assert!(!executed_in(elsewhere.path().to_str().unwrap()).is_empty());
    let output = run(["record", "--data", data, "-e", "sched_process_exec", "-o", "/none/trace.bathy", "true"]);
    assert!(!output.status.success() && texts(&output).1.contains("/none/trace.bathy"), "{}", texts(&output).1);
}

#[test]
fn a_command_has_the_terminal_and_its_status_is_passed_on() {
    let Some(_alone) = alone("a command's output and status") else { return };
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let event = "sched:sched_process_exec";
    let verbs: [&[&str]; 4] = [
        &["record", "--data", data, "-e", event],
        &["record", "--data", data, "-e", event, "--only-command"],
        &["profile"],
        &["trace", "--all-cpus", "--fields", "pid", "--filter", "pid == 0", "-e", event],
    ];
    for verb in verbs {
        let output = run([verb, &["--", "/bin/sh", "-c", "echo to stdout; echo to stderr >&2; exit 3"]].concat());
        let (out, err) = texts(&output);
        assert_eq!(output.status.code(), Some(3), "{verb:?}: {err}");
        assert!(out.lines().any(|line| line == "to stdout"), "{verb:?}: {out}");
        assert!(err.lines().any(|line| line == "to stderr"), "{verb:?}: {err}");
        assert!(!err.contains("out|") && !err.contains("err|") && !err.contains("to stdout"), "{verb:?}: {err}");
        let output = run([verb, &["--", "/bin/sh", "-c", "kill -9 $$"]].concat());
        assert_eq!(output.status.code(), Some(128 + 9), "{verb:?}: {}", texts(&output).1);
    }
}

#[test]
fn the_api_watches_others_while_a_command_runs() {
    let Some(_alone) = alone("captures of others while a command runs") else { return };
    let _other = Other::executing();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path(), &["--commands", "as-root"]);
    let probe = json!({"tracepoint": "sched:sched_process_exec", "fields": ["filename"]});
    let spec = json!({
        "method": {"events": {"probes": [probe]}},
        "target": {"during": {"argv": ["sleep", "0.5"], "of": "system"}},
        "limits": {"duration_ms": null, "over_budget": "warn"}
    });
    let id = server.capture(&spec);
    let capture = server.ended(&id);
    let reason = capture["reason"].as_str().unwrap_or_default();
    assert!(reason.starts_with("the command exited with status 0"), "{capture:#}");
    assert_eq!(capture["spec"]["target"], json!({"during": {"argv": ["sleep", "0.5"], "of": "system"}}));
    let rows = server.get(&format!("/api/captures/{id}/rows?stream=0&limit=400"));
    assert!(rows.to_string().contains("/bin/true"), "{rows}");
}
