//! What the inventory says of the running kernel beside what the kernel's own files say, and that what others have attached
//! is shown and left alone. Needs root; `tests/lab/run` runs the same on kernels with kprobes and function tracers.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what it expects by panicking"
)]

use std::{
    collections::{BTreeMap, BTreeSet},
    fs::{self, OpenOptions},
    io::Write as _,
    path::{Path, PathBuf},
    process::Command,
};

use bathyscope_tests::{
    command_line::{json_of, run},
    in_lab, is_root,
    server::Server,
    skip,
    tracing::Tracer,
};
use serde_json::Value;

/// tracefs; the first agent mounts it where nobody has.
fn tracefs() -> PathBuf {
    let _mounts = json_of(["list", "tracers", "--json"]);
    let found = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].into_iter().map(PathBuf::from);
    found.into_iter().find(|path| path.join("trace").exists()).expect("tracefs")
}

fn list(words: &[&str]) -> Vec<Value> {
    let all = ["list"].iter().chain(words).chain(&["--json"]);
    json_of(all)["items"].as_array().expect("items").clone()
}

fn text<'a>(item: &'a Value, key: &str) -> &'a str {
    item[key].as_str().unwrap_or("")
}

fn functions_of_symbols() -> BTreeSet<(String, String)> {
    let symbols = fs::read_to_string("/proc/kallsyms").expect("the kernel's symbols");
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let (_address, kind, name) = (words.next()?, words.next()?, words.next()?);
        let module = words.next().unwrap_or("").trim_matches(['[', ']']);
        let function = ["t", "T", "w", "W"].contains(&kind)
            && !["bpf", "__builtin__ftrace", "__builtin__kprobes", "__builtin__bpf"].contains(&module)
            && !name.starts_with("__pfx_")
            && !name.starts_with("__cfi_");
        function.then(|| (module.to_owned(), name.to_owned()))
    };
    symbols.lines().filter_map(line).collect()
}

#[test]
fn functions_are_those_of_the_kernels_own_lists() {
    if !is_root() {
        return skip("the kernel's functions", "root");
    }
    let listed = list(&["functions"]);
    let names: BTreeSet<(String, String)> =
        listed.iter().map(|item| (text(item, "in").to_owned(), text(item, "name").to_owned())).collect();
    assert_eq!(names.len(), listed.len(), "each once");
    let mut expected = functions_of_symbols();
    let traceable = fs::read_to_string(tracefs().join("available_filter_functions")).unwrap_or_default();
    let traceable: BTreeSet<(String, String)> = traceable
        .lines()
        .filter(|line| !line.starts_with("__ftrace_invalid_address___"))
        .map(|line| line.split_once(" [").unwrap_or((line, "")))
        .map(|(name, module)| (module.trim_end_matches(']').to_owned(), name.to_owned()))
        .collect();
    expected.extend(traceable.iter().cloned());
    let difference: Vec<_> = names.symmetric_difference(&expected).take(5).collect();
    assert!(difference.is_empty(), "{} listed, {} expected: {difference:?}", names.len(), expected.len());
    let by_ftrace = listed.iter().filter(|item| text(item, "note").split(", ").any(|way| way == "ftrace")).count();
    assert_eq!(by_ftrace, traceable.len(), "what ftrace can trace");
    println!("{} functions, {by_ftrace} of them traceable", names.len());
    if in_lab() {
        assert!(by_ftrace > 10_000, "this kernel has a tracer of functions");
        let read = listed.iter().find(|item| text(item, "name") == "vfs_read").expect("vfs_read");
        assert_eq!((text(read, "note"), &read["works"]), ("fentry, kprobe, ftrace", &Value::Bool(true)));
    }
}

#[test]
fn a_function_has_its_prototype_and_a_type_its_definition() {
    if !is_root() {
        return skip("prototypes of the kernel's functions", "root");
    }
    let data = tempfile::tempdir().expect("a folder");
    let server = Server::start(data.path(), &[]);
    let entry = server.get("/api/catalog/entry?kind=function&name=vfs_read");
    let prototype = entry["code"].as_array().unwrap().iter().find(|code| code["title"] == "Prototype").expect("one");
    assert_eq!(
        prototype["text"], "ssize_t vfs_read(struct file *file, char *buf, size_t count, loff_t *pos);",
        "{entry:#}"
    );
    let works: BTreeMap<&str, bool> =
        entry["means"].as_array().unwrap().iter().map(|it| (text(it, "id"), it["works"] == true)).collect();
    if in_lab() {
        assert_eq!(works, BTreeMap::from([("fentry", true), ("ftrace", true), ("kprobe", true)]), "{entry:#}");
        let script = entry["code"].as_array().unwrap().iter().find(|code| code["language"] == "script").expect("one");
        let spec = serde_json::json!({"text": script["text"]});
        let checked = server.send("POST", "/api/scripts/check", Some(&spec)).json();
        assert_eq!(checked["ok"], true, "the script that is offered compiles: {checked:#}");
    } else {
        let reasons = entry["means"].as_array().unwrap();
        assert!(reasons.iter().all(|it| it["works"] == true || !text(it, "why_not").is_empty()), "{entry:#}");
    }
    let task = server.get("/api/catalog/entry?kind=type&name=struct%20task_struct");
    let definition = text(&task["code"][0], "text");
    assert!(definition.starts_with("struct task_struct {\n") && definition.contains("pid_t pid;"), "{definition}");
    let found = server.get("/api/catalog?q=vfs_read&limit=1");
    assert_eq!(found["items"][0]["name"], "vfs_read");
}

#[test]
fn tracers_are_those_of_the_kernel() {
    if !is_root() {
        return skip("the kernel's tracers", "root");
    }
    let listed = list(&["tracers"]);
    let here: BTreeSet<&str> = listed.iter().filter(|it| it["works"] == true).map(|it| text(it, "name")).collect();
    let available = fs::read_to_string(tracefs().join("available_tracers")).expect("tracers");
    assert_eq!(here, available.split_ascii_whitespace().filter(|name| !REFUSED.contains(name)).collect());
    for missing in listed.iter().filter(|it| it["works"] != true) {
        let is_refused = REFUSED.contains(&text(missing, "name"));
        assert!(is_refused || text(missing, "note").contains("CONFIG_"), "{missing}");
    }
}

/// Tracers that kernels have and that are not offered, with the reason in the list.
const REFUSED: [&str; 2] = ["blk", "mmiotrace"];

/// A probe that is not ours; removed when it is dropped.
struct Foreign(PathBuf);

impl Drop for Foreign {
    fn drop(&mut self) {
        let _gone = append(&self.0, "-:inventory_test/made");
    }
}

fn append(file: &Path, line: &str) -> std::io::Result<()> {
    OpenOptions::new().append(true).open(file)?.write_all(format!("{line}\n").as_bytes())
}

#[test]
fn what_others_have_attached_is_shown_and_stays() {
    if !is_root() {
        return skip("probes and programs of others", "root");
    }
    let dynamic = tracefs().join("dynamic_events");
    let mut script = Tracer::start(["-e", "tracepoint:sched:sched_switch { @switches = count(); }"]);
    assert!(script.attached(), "the program of another agent");
    if append(&dynamic, "p:inventory_test/made /bin/sh:0x1000").is_err() {
        return skip("probes of others", "dynamic events");
    }
    let foreign = Foreign(dynamic.clone());
    let programs = || -> BTreeSet<String> {
        let text = fs::read_to_string("/proc/kallsyms").expect("symbols");
        text.lines()
            .filter_map(|line| line.split_ascii_whitespace().nth(2))
            .filter(|it| it.starts_with("bpf_prog_"))
            .map(str::to_owned)
            .collect()
    };
    let before = (fs::read_to_string(&dynamic).expect("dynamic events"), programs());
    for _ in 0..2 {
        let probes = list(&["probes"]);
        let made = probes.iter().find(|it| text(it, "name") == "inventory_test:made").expect("the other's probe");
        assert_eq!(text(made, "note"), "uprobe at /bin/sh:0x0000000000001000");
        let found = list(&["programs"]);
        assert!(!found.is_empty() && found.iter().all(|it| !text(it, "note").contains("by Bathyscope")), "{found:?}");
        // Before 6.6 the kernel tells of such a link only its kind.
        let told = |it: &Value| ["sched_switch", "perf_event"].iter().any(|word| text(it, "note").contains(word));
        let attached = found.iter().any(told);
        assert!(attached, "one of them is at the tracepoint: {found:?}");
    }
    let after = (fs::read_to_string(&dynamic).expect("dynamic events"), programs());
    assert_eq!(before, after, "looking changes nothing");
    drop(foreign);
    let _finished = script.interrupt();
}

#[test]
fn functions_and_markers_of_a_program_are_listed() {
    if !is_root() {
        return skip("functions of programs", "root");
    }
    let whole = json_of(["list", "user", "/bin/bash", "--json"]);
    let items = whole["items"].as_array().expect("items");
    assert!(items.iter().any(|it| it["name"] == "readline" && it["offset"].as_u64().is_some()), "{}", items.len());
    let some = json_of(["list", "user", "/bin/bash", "read*", "--json"]);
    let some = some["items"].as_array().expect("items");
    assert!(!some.is_empty() && some.len() < items.len());
    assert!(some.iter().all(|it| text(it, "name").starts_with("read") || text(it, "name").contains(":read")));
    let files = list(&["files"]);
    assert!(files.iter().any(|it| text(it, "name").contains("/libc.so")), "{files:?}");
}

#[test]
fn returns_of_go_programs_are_refused() {
    if !is_root() {
        return skip("return probes of Go programs", "root");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let program = folder.path().join("go");
    // What the Go compiler leaves in its programs, in one that is otherwise ordinary.
    let copied = Command::new("objcopy")
        .args(["--add-section", ".go.buildinfo=/etc/hostname", "/bin/true"])
        .arg(&program)
        .status();
    if !copied.is_ok_and(|status| status.success()) {
        return skip("return probes of Go programs", "objcopy");
    }
    let path = program.to_str().expect("a path");
    // It must not exist yet: the console makes it its own.
    let data = std::env::temp_dir().join(format!("bathyscope-go-{}", std::process::id()));
    let made_by_go = |output: std::process::Output| {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && said.contains("was made by the Go compiler"), "{said}");
    };
    // Where it begins; its code is at the same place in the file.
    let bytes = fs::read(&program).expect("the program");
    let entry = u64::from_le_bytes(bytes[24..32].try_into().expect("eight bytes"));
    let (probe, data) = (format!("r:gone {path}:{entry:#x}"), data.to_str().expect("a path"));
    made_by_go(run(["record", "--data", data, "--probe", &probe, "--", "/bin/true"]));
    fs::remove_dir_all(data).expect("its folder");
    made_by_go(run(["trace", "-e", &format!("uretprobe:{path}:{entry:#x} {{ exit(); }}")]));
}

/// What `perf list` prints, by kind: `sched:sched_switch  [Tracepoint event]`, with other names after `OR`.
fn perf_list() -> Option<BTreeMap<String, BTreeSet<String>>> {
    let printed = Command::new("perf").args(["list"]).env("PAGER", "cat").output().ok()?;
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    let mut kinds: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for line in text.lines() {
        let Some((names, kind)) = line.trim_end().strip_suffix(']').and_then(|line| line.rsplit_once('[')) else {
            continue;
        };
        let names = names.split(" OR ").map(|name| name.trim().to_owned()).filter(|name| !name.is_empty());
        kinds.entry(kind.to_owned()).or_default().extend(names);
    }
    (!kinds.is_empty()).then_some(kinds)
}

/// Names of our tracepoints.
fn tracepoints() -> BTreeSet<String> {
    json_of(["list", "--json"]).as_array().expect("names").iter().map(|item| text(item, "name").to_owned()).collect()
}

#[test]
fn the_inventory_has_what_perf_lists() {
    let what = "what perf lists";
    if !is_root() {
        return skip(what, "root");
    }
    let tracefs = tracefs();
    let Some(perf) = perf_list() else { return skip(what, "perf") };
    let none = BTreeSet::new();
    let ours = tracepoints();
    let theirs = perf.get("Tracepoint event").unwrap_or(&none);
    // Dynamic events that anyone makes or removes meanwhile are no matter of the inventory; nor are ftrace's own formats.
    let made = fs::read_to_string(tracefs.join("dynamic_events")).unwrap_or_default();
    let groups: BTreeSet<&str> =
        made.lines().filter_map(|line| line.split_once(':')?.1.split_once('/')).map(|(group, _)| group).collect();
    let steady =
        |name: &&String| name.split_once(':').is_some_and(|(group, _)| group != "ftrace" && !groups.contains(group));
    let missing: Vec<&String> = theirs.difference(&ours).filter(steady).take(5).collect();
    let more: Vec<&String> = ours.difference(theirs).filter(steady).take(5).collect();
    assert!(theirs.len() > 500 && missing.is_empty() && more.is_empty(), "not here {missing:?}, not there {more:?}");
    let listed = json_of(["list", "perf", "--json"]);
    let names = |item: &Value| [text(item, "name").to_owned(), text(item, "alias").to_owned()];
    let all: BTreeSet<String> = listed.as_array().expect("events").iter().flat_map(names).collect();
    for kind in ["Software event", "Hardware event", "Hardware cache event", "Kernel PMU event"] {
        let theirs = perf.get(kind).unwrap_or(&none);
        // perf's own placeholders, which count nothing.
        let missing: Vec<&String> =
            theirs.difference(&all).filter(|name| !["dummy", "bpf-output"].contains(&name.as_str())).collect();
        assert!(missing.is_empty(), "{kind}: {missing:?} of {all:?}");
        println!("{kind}: {} of perf's are here", theirs.len());
    }
    println!("{} tracepoints as perf lists them", theirs.len());
}

#[test]
fn the_inventory_has_what_trace_cmd_lists() {
    let what = "what trace-cmd lists";
    if !is_root() {
        return skip(what, "root");
    }
    let _tracefs = tracefs();
    let printed = |option: &str| {
        let output = Command::new("trace-cmd").args(["list", option]).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let (Some(events), Some(tracers)) = (printed("-e"), printed("-t")) else { return skip(what, "trace-cmd") };
    let theirs: BTreeSet<&str> =
        events.lines().map(str::trim).filter(|name| name.contains(':') && !name.starts_with("ftrace:")).collect();
    let ours = tracepoints();
    let missing: Vec<&&str> = theirs.iter().filter(|name| !ours.contains(**name)).collect();
    // A probe that somebody makes or removes meanwhile is in one list only.
    assert!(theirs.len() > 500 && missing.len() < 5, "{} of {}: {missing:?}", missing.len(), theirs.len());
    let here = list(&["tracers"]);
    let here: BTreeSet<&str> = here.iter().filter(|it| it["works"] == true).map(|it| text(it, "name")).collect();
    let theirs_here: BTreeSet<_> = tracers.split_ascii_whitespace().filter(|name| !REFUSED.contains(name)).collect();
    assert_eq!(theirs_here, here);
    println!("{} events and {} tracers as trace-cmd lists them", theirs.len(), here.len());
}
