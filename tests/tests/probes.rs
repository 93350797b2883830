//! Dynamic events beside those of perf and of tracefs itself, on the same workload. Needs root; functions of the kernel
//! only in `tests/lab/run`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what it expects by panicking"
)]

use std::{
    fs,
    path::Path,
    process::{Child, Command, Output, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use bathyscope_tests::{
    alone,
    command_line::{run, stdout_of},
    lab_takes_few,
    programs::{described, program},
    server::{Server, signal},
    skip,
    wait::until,
    workspace::binary,
};
use rustix::process::Signal;
use serde_json::{Value, json};

const TRACEFS: &str = "/sys/kernel/tracing";
/// What perf's own probes are called here.
const THEIRS: &str = "bathyscope_theirs";

/// Whether the kernel probes its own functions; known once an agent has mounted tracefs.
fn kprobes(what: &str) -> bool {
    let _listed = run(["probe", "--list"]);
    let there = Path::new(TRACEFS).join("kprobe_events").exists();
    if !there {
        skip(what, "a kernel with kprobes");
    }
    there
}

fn has(tool: &str, what: &str) -> bool {
    let there = Command::new(tool).arg("--version").stdin(Stdio::null()).output().is_ok();
    if !there {
        skip(what, tool);
    }
    there
}

fn perf(words: &[&str]) -> Output {
    // The environment that our own commands have: a C library reads other files in others.
    let mut command = Command::new("perf");
    command.args(words).env_remove("BATHYSCOPE_DATA").env_remove("BATHYSCOPE_LISTEN").stdin(Stdio::null());
    command.output().expect("perf starts")
}

/// A probe of perf's, removed in the end.
struct Theirs(&'static str);

impl Theirs {
    fn add(group: &'static str, words: &[&str]) -> Self {
        let made = perf(&[&["probe", "-q"][..], words].concat());
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Self(group)
    }
}

impl Drop for Theirs {
    fn drop(&mut self) {
        let _gone = perf(&["probe", "-q", "--del", &format!("{}:{THEIRS}*", self.0)]);
    }
}

/// What `record` keeps of a command, as `report` prints it.
fn reported(options: &[&str], command: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("a path that is text");
    stdout_of([&["record", "--only-command", "--data", data][..], options, &["--"], command].concat());
    stdout_of(["report", "--data", data])
}

/// The values of a field on the lines of an event, in order; a value ends before the next field.
fn values(text: &str, event: &str, field: &str) -> Vec<String> {
    let of = |line: &str| {
        let rest = line.split_once(&format!("{event}:"))?.1;
        let value = rest.split_once(&format!(" {field}="))?.1;
        if let Some(quoted) = value.strip_prefix('"') {
            return quoted.split('"').next().map(str::to_owned);
        }
        let is_field = |at: &usize| value[at + 1..].split(' ').next().is_some_and(|word| word.contains('='));
        let end = value.match_indices(' ').map(|(at, _)| at).find(is_field).unwrap_or(value.len());
        Some(value[..end].to_owned())
    };
    text.lines().filter_map(of).collect()
}

fn line_of(words: &[&str]) -> String {
    stdout_of([&["probe", "-n"][..], words].concat()).lines().last().unwrap_or_default().to_owned()
}

fn refused(words: &[&str]) -> String {
    let output = run(words);
    assert!(!output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn json_of(words: &[&str]) -> Value {
    serde_json::from_str(&stdout_of(words)).expect("JSON")
}

#[test]
fn p8_functions_of_a_program_and_its_variables_are_listed() {
    let Some(_alone) = alone("functions of a program") else { return };
    let Some(work) = program("work") else { return skip("functions of a program", "gcc") };
    let work = work.to_str().unwrap();
    let found = stdout_of(["probe", "-x", work, "--funcs", "spin_*"]);
    assert!(found.lines().any(|line| line == "spin_here"), "{found}");
    let list = described("list", "-O0").expect("a compiler that was there before");
    let variables = stdout_of(["probe", "-x", list.to_str().unwrap(), "-V", "walk"]);
    for expected in ["struct node *first", "short int step", "const struct outer *outer", "long int total"] {
        let expected = expected.trim_start_matches("const ");
        assert!(variables.contains(expected), "{expected}: {variables}");
    }
    let refused = refused(&["probe", "-x", "/bin/bash", "-V", "readline"]);
    assert!(refused.contains("debug information") && refused.contains("registers"), "{refused}");
    let libc = json_of(&["probe", "-n", "--json", "-x", "libc", "malloc"]);
    let line = libc["probes"][0]["line"].as_str().unwrap();
    assert!(line.starts_with("p:probe_libc/malloc /") && line.contains("libc.so.6:0x"), "{line}");
}

/// As `perf probe -x PROGRAM 'FUNCTION VARIABLE'`: by name, through pointers, bit fields and texts.
#[test]
fn p10_variables_of_a_program_are_recorded_by_name() {
    let Some(_alone) = alone("variables of a program") else { return };
    for optimise in ["-O0", "-O2"] {
        let Some(list) = described("list", optimise) else { return skip("variables of a program", "gcc") };
        let list = list.to_str().unwrap();
        let probe = "walk step first->next->len low=first->low name=first->next->name:string inner=outer->inner.len";
        let shown = reported(&["-x", list, "--probe", probe], &[list]);
        let found = ["step", "len", "low", "name", "inner"].map(|field| values(&shown, "walk", field).join(" "));
        assert_eq!(found, ["-3", "-20", "7", "middle", "300"], "{optimise}: {shown}");
        let error = refused(&["probe", "-n", "-x", list, "walk stop"]);
        assert!(error.contains("did you mean `step`?"), "{error}");
    }
}

#[test]
fn p7_f11_a_program_s_function_and_its_return_are_recorded_with_registers() {
    let Some(_alone) = alone("probes in a program") else { return };
    if !has("bash", "probes in a program") {
        return;
    }
    // Each command line typed into a shell, as `perf probe -x /bin/bash 'readline%return +0($retval):string'` shows them.
    let words = "exec bash --norc -i < <(printf 'true one\\ntrue two\\n') 2>/dev/null";
    let options = ["-x", "/bin/bash", "--probe", "readline%return +0($retval):string"];
    let shown = reported(&options, &["bash", "-c", words]);
    // The last one is the end of the input: a pointer to nothing.
    assert_eq!(values(&shown, "readline__return", "arg1"), ["true one", "true two", ""], "{shown}");
    // By offset and register, entry and return, as in the documents' example with zsh.
    let Some(work) = program("work") else { return skip("registers of a function", "gcc") };
    let work = work.to_str().unwrap();
    let line = line_of(&["-x", work, "spin_here"]);
    let offset = line.rsplit(':').next().unwrap();
    let entry = format!("p:entered {work}:{offset} %ip first=%di:s64");
    let exit = format!("echo 'r:left {work}:{offset} %ip %ax' >> uprobe_events");
    let shown = reported(&["--probe", &entry, "--probe", &exit], &[work, "spin", "3"]);
    assert_eq!(values(&shown, "entered", "first"), ["3"], "{shown}");
    assert_eq!(values(&shown, "left", "arg2").len(), 1, "{shown}");
    // The first argument is where the calling convention has it.
    let shown = reported(&["-x", work, "--probe", "spin_here first=$arg1:s64"], &[work, "spin", "3"]);
    assert_eq!(values(&shown, "spin_here", "first"), ["3"], "{shown}");
}

/// The count of an event in `-x,` lines, over all of them.
fn count_of(text: &str, event: &str, with_time: bool) -> u64 {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').map(str::trim).skip(usize::from(with_time)).collect();
        // An interval may have passed without a moment of counting: `<not counted>`.
        (fields.get(2) == Some(&event)).then(|| fields[0].parse::<u64>().unwrap_or(0))
    };
    text.lines().filter_map(line).sum()
}

#[test]
fn counts_of_a_library_s_function_are_perfs() {
    let Some(_alone) = alone("counts of malloc") else { return };
    let folder = tempfile::tempdir().unwrap();
    let ours = folder.path().join("ours");
    let ours = ours.to_str().unwrap();
    let command = ["sort", "/etc/services", "/etc/passwd"];
    stdout_of([&["stat", "-x,", "-o", ours, "--probe", "malloc", "--exec", "libc", "--"][..], &command].concat());
    let counted = count_of(&fs::read_to_string(ours).unwrap(), "probe_libc:malloc", false);
    assert!(counted > 5, "{counted}");
    // Intervals add up to the same.
    stdout_of(
        [&["stat", "-x,", "-o", ours, "-I", "20", "--probe", "malloc", "--exec", "libc", "--"][..], &command].concat(),
    );
    assert_eq!(count_of(&fs::read_to_string(ours).unwrap(), "probe_libc:malloc", true), counted);
    if !has("perf", "counts of malloc beside perf's") {
        return;
    }
    let libc = line_of(&["-x", "libc", "malloc"]);
    let path = libc.split(' ').nth(1).unwrap().rsplit_once(':').unwrap().0;
    let made = perf(&["probe", "-q", "-x", path, &format!("{THEIRS}=malloc")]);
    let _theirs = Theirs("probe_libc");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let file = folder.path().join("theirs");
    let event = format!("probe_libc:{THEIRS}");
    let counted_too =
        perf(&[&["stat", "-x,", "-o", file.to_str().unwrap(), "-e", &event, "--"][..], &command].concat());
    assert!(counted_too.status.success(), "{}", String::from_utf8_lossy(&counted_too.stderr));
    assert_eq!(count_of(&fs::read_to_string(&file).unwrap(), &event, false), counted);
    // Perf's probe is somebody else's: it is listed so, and not removed.
    let listed = stdout_of(["probe", "--list"]);
    assert!(listed.contains(&event) && listed.contains("of somebody else"), "{listed}");
    let refused = refused(&["probe", "--del", &event, "--data", folder.path().to_str().unwrap()]);
    assert!(refused.contains("made by somebody else"), "{refused}");
    assert!(fs::read_to_string(format!("{TRACEFS}/uprobe_events")).unwrap().contains(THEIRS));
}

#[test]
fn kept_probes_are_counted_and_traced_by_name() {
    let Some(_alone) = alone("kept probes by name") else { return };
    let Some(work) = program("work") else { return skip("kept probes by name", "gcc") };
    let work = work.to_str().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (data, ours) = (folder.path().join("data"), folder.path().join("ours"));
    let (data, ours) = (data.to_str().unwrap(), ours.to_str().unwrap());
    fs::create_dir(data).unwrap();
    let kept = stdout_of(["probe", "--data", data, "-x", work, "--add", "spun=spin_here first=$arg1:s64"]);
    assert!(kept.contains("Kept probe_work:spun"), "{kept}");
    let line = line_of(&["-x", work, "nap"]);
    let place = line.split(' ').nth(1).unwrap();
    let kept = stdout_of(["probe", "--data", data, "--add", &format!("p:slept {place} ms=%di:s64")]);
    assert!(kept.contains("Kept uprobes:slept"), "{kept}");
    let spin = |words: &[&str]| stdout_of([words, &["--", work, "spin", "3"]].concat());
    for event in ["probe_work:spun", "probe_work:s*"] {
        spin(&["stat", "--data", data, "-x,", "-o", ours, "-e", event]);
        let counts = fs::read_to_string(ours).unwrap();
        assert!(count_of(&counts, "probe_work:spun", false) >= 1, "{event}: {counts}");
    }
    let traced = spin(&["trace", "--data", data, "-e", "probe_work:s*", "-e", "sched:sched_process_exec"]);
    assert!(traced.contains("spun") && traced.contains("first=3") && traced.contains("sched_process_exec"), "{traced}");
    let traced = stdout_of(["trace", "--data", data, "-e", "uprobes:slept", "--", work, "sleep", "7"]);
    assert!(traced.contains("slept") && traced.contains("ms=7"), "{traced}");
    let said = refused(&["profile", "--data", data, "-e", "probe_work:spun", "--", work, "spin", "3"]);
    assert!(said.contains("is a kept probe") && said.contains("stacktrace"), "{said}");
    // Nothing of them stays.
    let left = fs::read_to_string(format!("{TRACEFS}/uprobe_events")).unwrap();
    assert!(!left.contains("spun") && !left.contains("slept"), "{left}");
}

#[test]
fn p5_p13_variables_and_lines_are_told_without_touching_the_kernel() {
    let Some(_alone) = alone("variables of the kernel") else { return };
    let told = stdout_of(["probe", "-V", "do_sys_openat2"]);
    assert!(told.contains("int dfd") && told.contains("filename=+0($arg2):string"), "{told}");
    let told = stdout_of(["probe", "-V", "tcp_sendmsg"]);
    assert!(told.contains("size_t size") && told.contains("struct msghdr *msg"), "{told}");
    let wrong = refused(&["probe", "-n", "vfs_raed count"]);
    assert!(wrong.contains("did you mean `vfs_read`?") && wrong.contains("\n  ^"), "{wrong}");
    let listed = json_of(&["probe", "--list", "--json"]);
    assert!(listed["events"].as_array().is_some(), "{listed}");
    if !kprobes("lines for functions of the kernel") {
        let told = refused(&["probe", "-n", "do_sys_openat2 filename:string"]);
        assert!(told.contains("CONFIG_KPROBE_EVENTS") && !told.contains("UPROBE"), "{told}");
        assert!(told.contains("syscalls:sys_enter_openat"), "{told}");
        return;
    }
    let line = line_of(&["do_sys_openat2 filename:string how->flags"]);
    assert_eq!(line, "p:probe/do_sys_openat2 do_sys_openat2 filename=+0($arg2):string flags=+0($arg3):u64");
    // What is added is kept by name, and is in the kernel only while a capture uses it.
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    stdout_of(["probe", "--add", "vfs_read count", "--data", data]);
    let listed = stdout_of(["probe", "--list", "--data", data]);
    assert!(listed.contains("vfs_read"), "{listed}");
    assert!(!fs::read_to_string(format!("{TRACEFS}/kprobe_events")).unwrap().contains("vfs_read"));
}

#[test]
fn p4_p6_names_of_files_are_those_of_perf() {
    let what = "names of opened files beside perf's";
    let Some(_alone) = alone(what) else { return };
    if !kprobes(what) || !has("perf", what) {
        return;
    }
    let command = ["cat", "/etc/hostname", "/etc/passwd"];
    let ours = reported(&["--probe", "do_sys_openat2 filename:string"], &command);
    let ours = values(&ours, "do_sys_openat2", "filename");
    let _theirs = Theirs::add("probe", &[&format!("{THEIRS}=do_sys_openat2 filename=+0(%si):string")]);
    let folder = tempfile::tempdir().unwrap();
    let (file, event) = (folder.path().join("perf.data"), format!("probe:{THEIRS}"));
    let file = file.to_str().unwrap();
    perf(&[&["record", "-q", "-N", "-o", file, "-e", &event, "--"][..], &command].concat());
    let script = perf(&["script", "-i", file]);
    let theirs = values(&String::from_utf8_lossy(&script.stdout), &event, "filename");
    assert!(theirs.iter().any(|name| name == "/etc/hostname"), "{theirs:?}");
    // A name that was not in memory yet when the call began cannot be read by either.
    let unread = |name: &str| name.is_empty() || name == "(fault)";
    let same = |(ours, theirs): (&String, &String)| ours == theirs || unread(ours) || unread(theirs);
    assert!(ours.len() == theirs.len() && ours.iter().zip(&theirs).all(same), "{ours:?} {theirs:?}");
    assert!(ours.iter().any(|name| name == "/etc/hostname"), "{ours:?}");
}

#[test]
fn members_are_what_dereferences_of_registers_give() {
    let what = "members by name";
    let Some(_alone) = alone(what) else { return };
    if !kprobes(what) {
        return;
    }
    // The same twice: by the names in C, and by the offsets that pahole would give.
    let by_name = line_of(&["vfs_read file->f_mode file->f_path.dentry->d_name.name:string count"]);
    let arguments: Vec<&str> = by_name.split(' ').skip(2).collect();
    let raw = arguments.join(" ").replace("$arg1", "%di").replace("$arg3", "%dx");
    let raw = raw.replace("f_mode=", "m=").replace("name=", "n=").replace("count=", "c=");
    let options = [
        "--probe",
        "named=vfs_read file->f_mode file->f_path.dentry->d_name.name:string count",
        "--probe",
        &format!("p:raw vfs_read {raw}"),
    ];
    let shown = reported(&options, &["cat", "/etc/passwd"]);
    for (field, by_register) in [("f_mode", "m"), ("name", "n"), ("count", "c")] {
        let named = values(&shown, "named", field);
        assert!(!named.is_empty(), "{shown}");
        assert_eq!(named, values(&shown, "raw", by_register), "{field}: {shown}");
    }
    assert!(values(&shown, "named", "name").iter().any(|name| name == "passwd"), "{shown}");
}

#[test]
fn f12_f14_lines_of_tracefs_are_recorded_and_bad_places_named() {
    let what = "probes within functions";
    let Some(_alone) = alone(what) else { return };
    if !kprobes(what) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().to_str().unwrap();
    let checked = refused(&["probe", "-n", "vfs_read+1"]);
    assert!(checked.contains("nearest places") && checked.contains("vfs_read+"), "{checked}");
    let inside = refused(&["record", "--data", data, "--probe", "p vfs_read+1 %di", "--", "true"]);
    assert!(inside.contains("nearest places") && inside.contains("vfs_read+"), "{inside}");
    // The place that is named is one.
    let near = inside.split("nearest places").nth(1).unwrap().split("vfs_read+").nth(1).unwrap();
    let digits: String = near.chars().take_while(char::is_ascii_digit).collect();
    let line = format!("echo 'p:mine vfs_read+{digits} %di %sp:u64' >> kprobe_events");
    let shown = reported(&["--probe", &line], &["cat", "/etc/passwd"]);
    assert!(!values(&shown, "mine", "arg1").is_empty(), "{shown}");
    assert!(
        !fs::read_to_string(format!("{TRACEFS}/kprobe_events")).unwrap().contains("mine"),
        "it goes with its capture"
    );
    let renamed = refused(&["record", "--data", data, "--probe", "finish_task_swich", "--", "true"]);
    assert!(renamed.contains("did you mean"), "{renamed}");
}

#[test]
fn counts_hits_and_the_kernel_s_ways_are_told() {
    let what = "counts of a kernel function";
    let Some(_alone) = alone(what) else { return };
    if !kprobes(what) || !has("perf", what) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let ours = folder.path().join("ours");
    let command = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=3000"];
    stdout_of([&["stat", "-x,", "-o", ours.to_str().unwrap(), "--probe", "vfs_write", "--"][..], &command].concat());
    let counted = count_of(&fs::read_to_string(&ours).unwrap(), "probe:vfs_write", false);
    let _theirs = Theirs::add("probe", &[&format!("{THEIRS}=vfs_write")]);
    let (file, event) = (folder.path().join("theirs"), format!("probe:{THEIRS}"));
    perf(&[&["stat", "-x,", "-o", file.to_str().unwrap(), "-e", &event, "--"][..], &command].concat());
    assert_eq!(count_of(&fs::read_to_string(&file).unwrap(), &event, false), counted);
    assert!(counted >= 3000, "{counted}");
    // Perf's probe, enabled as the kernel's files do it, is hit and at the begin of a function done by ftrace.
    let enable = format!("{TRACEFS}/events/probe/{THEIRS}/enable");
    fs::write(&enable, "1").unwrap();
    fs::read("/etc/passwd").unwrap();
    let listed = json_of(&["probe", "--list", "--json"]);
    fs::write(&enable, "0").unwrap();
    let all = listed["events"].as_array().unwrap();
    let it = all.iter().find(|it| it["name"] == THEIRS).unwrap();
    assert!(it["hits"].as_u64().is_some() && it["missed"].as_u64().is_some(), "{it}");
    if Path::new("/sys/kernel/debug/kprobes/list").exists() {
        assert!(
            it["marks"]
                .as_array()
                .is_some_and(|marks| marks.iter().any(|mark| mark == "FTRACE" || mark == "OPTIMIZED")),
            "{it}"
        );
    }
    let setting = "/proc/sys/debug/kprobes-optimization";
    let Ok(before) = fs::read_to_string(setting) else {
        return skip("kprobes-optimization", "a kernel with CONFIG_OPTPROBES");
    };
    let data = folder.path().to_str().unwrap();
    for (word, value) in [("off", "0"), ("on", "1")] {
        stdout_of(["probe", "--optimization", word, "--data", data]);
        assert_eq!(fs::read_to_string(setting).unwrap().trim(), value);
        assert_eq!(json_of(&["probe", "--optimization", "show", "--json"])["optimization"], value == "1");
    }
    fs::write(setting, before.trim()).unwrap();
}

/// The probes that `probe --list` shows with this name.
fn listed(name: &str) -> Vec<Value> {
    let all = json_of(&["probe", "--list", "--json"]);
    let events = all["events"].as_array().expect("events").iter();
    events.filter(|event| event["name"] == name).cloned().collect()
}

#[test]
fn probes_of_a_running_capture_are_detached_and_the_rest_goes_on() {
    let what = "detaching probes in a program";
    let Some(_alone) = alone(what) else { return };
    let Some(work) = program("work") else { return skip(what, "gcc") };
    let work = work.to_str().unwrap();
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &[]);
    let dynamic: Vec<Value> =
        ["spin_here", "main"].iter().map(|typed| json!({ "typed": typed, "file": work })).collect();
    let spec = json!({ "method": { "trace": { "dynamic": dynamic } }, "target": "system", "limits": { "duration_ms": 60_000 } });
    let id = server.capture(&spec);
    let spin = || assert!(Command::new(work).args(["spin", "1"]).status().unwrap().success());
    let hits = |name: &str| {
        let events = server.get("/api/dynamic");
        let event = events["events"].as_array().unwrap().iter().find(|event| event["name"] == name).cloned();
        event.and_then(|event| event["hits"].as_u64())
    };
    spin();
    until("both to be hit", || (hits("spin_here") == Some(1) && hits("main") == Some(1)).then_some(()));
    let path = format!("/api/captures/{id}/probes/detach");
    let answer = server.send("POST", &path, Some(&json!({ "pattern": "*spin_h*" })));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.json()["detached"].as_array().map(Vec::len), Some(1), "{}", answer.text());
    spin();
    until("the other to be hit again", || (hits("main") == Some(2)).then_some(()));
    assert_eq!(hits("spin_here"), Some(1), "it is off");
    let events = server.get("/api/dynamic");
    let of = |name: &str| events["events"].as_array().unwrap().iter().find(|event| event["name"] == name).cloned();
    let detached = |name: &str| of(name).map(|event| event["detached"].clone());
    assert_eq!((detached("spin_here"), detached("main")), (Some(json!(true)), Some(json!(false))), "{events}");
    let unknown = server.send("POST", &path, Some(&json!({ "pattern": "nothing*" })));
    assert_eq!(unknown.status, 404, "{}", unknown.text());
    assert!(server.send("POST", &format!("/api/captures/{id}/stop"), None).status < 300);
    let streams = server.ended(&id)["ledger"]["streams"].as_array().unwrap().clone();
    let stored: Vec<u64> = streams.iter().filter_map(|stream| stream["stored"].as_u64()).collect();
    assert_eq!(stored.iter().sum::<u64>(), 3, "one of the detached and two of the other: {streams:?}");
}

/// Something that records in another terminal, ended when it is dropped.
struct Recording(Child);

impl Drop for Recording {
    fn drop(&mut self) {
        let _ended = (self.0.kill(), self.0.wait());
    }
}

#[test]
fn probes_of_another_terminal_are_detached_by_root() {
    let what = "probes of another terminal";
    let Some(_alone) = alone(what) else { return };
    let Some(work) = program("work") else { return skip(what, "gcc") };
    let work = work.to_str().unwrap();
    let (theirs, ours) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let data = ours.path().to_str().unwrap();
    let del = |pattern: &str| run(["probe", "--data", data, "--del", pattern]);
    let said = |output: &Output| {
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let mut command = Command::new(binary());
    command.args(["record", "--data", theirs.path().to_str().unwrap(), "-x", work]);
    command.args(["--probe", "spin_here", "--probe", "main", "--duration", "600s"]);
    let recording = command.stdin(Stdio::null()).stdout(Stdio::null()).spawn().unwrap();
    let recording = Recording(recording);
    let spin = || assert!(Command::new(work).args(["spin", "1"]).status().unwrap().success());
    let hits = |name: &str| listed(name).first().and_then(|event| event["hits"].as_u64());
    until("it to record", || {
        spin();
        (hits("spin_here") > Some(0) && hits("main") > Some(0)).then_some(())
    });
    let none = del("nothing*");
    assert!(!none.status.success() && said(&none).contains("no probe matches"), "{}", said(&none));
    let detached = del("probe:spin_h*");
    assert!(detached.status.success() && said(&detached).starts_with("Detached spin_here"), "{}", said(&detached));
    let (before, others) = (hits("spin_here"), hits("main"));
    spin();
    until("the other to be hit", || (hits("main") > others).then_some(()));
    assert_eq!(hits("spin_here"), before, "it is off");
    // A second time there is nothing to detach, and it is told who has it.
    let again = del("spin_here");
    assert!(!again.status.success() && said(&again).contains("detached already"), "{}", said(&again));
    signal(recording.0.id(), Signal::INT);
    until("it to end", || listed("main").is_empty().then_some(()));
    // One that is counted is not in an instance: it ends with its counters.
    let mut command = Command::new(binary());
    command.args(["stat", "-x", work, "--probe", "spin_here", "-a", "--", "sleep", "600"]);
    let counting = Recording(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    until("it to count", || (!listed("spin_here").is_empty()).then_some(()));
    let counted = del("spin_here");
    assert!(!counted.status.success() && said(&counted).contains("Ctrl-C"), "{}", said(&counted));
    signal(counting.0.id(), Signal::INT);
    until("it to end", || listed("spin_here").is_empty().then_some(()));
}

/// Rows of `docs/commands.md` that need functions of the kernel, under names of the kernels of the lab, and short.
const PASTED: [(&str, &str); 17] = [
    (
        "F4",
        "echo iterate_dir > set_graph_function\necho function_graph > current_tracer\necho funcgraph-proc > \
         trace_options\necho 1 > tracing_on\nls /\necho 0 > tracing_on\ncat trace",
    ),
    ("F7", "trace-cmd record -p function -l 'vfs_*' -e sched_switch ls /"),
    ("F8", "trace-cmd record -p function_graph -e irq_handler_entry -l handle_irq_event sleep 1"),
    ("F12", "echo 'p:reads vfs_read %di' >> kprobe_events\necho 1 > events/kprobes/reads/enable\nls /\ncat trace"),
    (
        "P4",
        "perf probe --add do_sys_openat2\nperf record -e probe:do_sys_openat2 -aR ls /\nperf script\n\
         perf probe --del probe:do_sys_openat2",
    ),
    ("P6", "perf probe --add 'do_sys_openat2 filename:string'\nperf record -e probe:do_sys_openat2 -aR ls /"),
    ("P16", "perf probe --add vfs_read\nperf stat -a -e probe:vfs_read -I 100 ls /"),
    ("P17", "perf probe --add vfs_read\nperf trace -e probe:vfs_read -a ls /"),
    ("P17", "perf trace -e kmem:kmalloc -a ls /"),
    ("P18", "perf probe --add vfs_read\nperf record --no-buffering -e probe:vfs_read -o - -a ls / | perf script -i -"),
    ("B2", "bpftrace -c 'ls /' -e 'kprobe:do_sys_openat2 { printf(\"%d %s %s\\n\", pid, comm, str(uptr(arg1))); }'"),
    ("B3", "funccount -d 1 'vfs_r*'"),
    ("B3", "timeout 1 trace 'do_sys_openat2 \"%s\", arg2@user'"),
    ("B3", "argdist -n 1 -H 'r::vfs_read()'"),
    ("B3", "timeout 1 stackcount vfs_read"),
    ("B4", "dtrace -c 'ls /' -n 'fbt::vfs_read:entry { trace(execname); trace(arg0); }'"),
    ("B5", "stap -c 'ls /' -e 'probe kernel.function(\"vfs_read\") { printf(\"%s(%d)\\n\", execname(), pid()) }'"),
];

/// By the API: what a pasted text is understood as is started, and has rows.
#[test]
fn f4_to_b5_commands_of_the_table_are_recorded_as_they_are_pasted() {
    let what = "commands of the table on functions of the kernel";
    let Some(_alone) = alone(what) else { return };
    if !kprobes(what) {
        return;
    }
    let data = tempfile::tempdir().unwrap();
    let server = Server::start(data.path(), &["--commands", "as-root"]);
    // Somebody opens and reads a file some times a second.
    let (done, is_done) = mpsc::sync_channel::<()>(0);
    let reader = std::thread::spawn(move || {
        while is_done.recv_timeout(Duration::from_millis(50)) == Err(RecvTimeoutError::Timeout) {
            fs::read("/etc/passwd").unwrap();
        }
    });
    // Each tool has several rows.
    for (row, text) in PASTED.into_iter().step_by(if lab_takes_few() { 2 } else { 1 }) {
        let answer = server.send("POST", "/api/commands/explain", Some(&json!({ "text": text })));
        let told = answer.json();
        assert!(told["capture"].is_object(), "{row} {text}: {told}");
        let ended = server.ended(&server.capture(&told["capture"]["spec"]));
        assert_eq!(ended["state"], "finished", "{row} {text}: {ended}");
        let streams = ended["ledger"]["streams"].as_array().unwrap().clone();
        let stored: u64 = streams.iter().filter_map(|stream| stream["stored"].as_u64()).sum();
        assert!(stored > 0, "{row} {text}: {ended}");
    }
    drop(done);
    reader.join().unwrap();
}
