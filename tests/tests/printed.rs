//! Lines of `report` beside the lines that the kernel itself, and trace-cmd, print of the very same events: another
//! tracing instance, or trace-cmd's, records while ours does. Needs root; `tests/lab/run` runs the same on other kernels.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test says what it expects by panicking"
)]

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use bathyscope_tests::{alone, command_line::stdout_of, in_lab, skip, workspace::binary};

/// Whether the kernel's own text leaves texts and flags of many events empty, as that of Debian's 6.1 does.
fn leaves_texts_out() -> bool {
    fs::read_to_string("/proc/sys/kernel/osrelease").is_ok_and(|release| release.starts_with("6.1."))
}

const TRACEFS: &str = "/sys/kernel/tracing";
/// Groups of events, and single ones: not more than a capture can have. What a kernel does not have is left out.
const EVENTS: [&str; 17] = [
    "sched",
    "irq",
    "timer",
    "workqueue",
    "signal",
    "writeback",
    "ext4",
    "jbd2",
    "block",
    "kmem:kmalloc",
    "kmem:kfree",
    "kmem:mm_page_alloc",
    "kmem:kmem_cache_alloc",
    "kmem:kmem_cache_free",
    "kmem:mm_page_alloc_extfrag",
    "kmem:rss_stat",
    "exceptions:page_fault_user",
];

/// Mounts tracefs where it is not; says whether it is there.
fn has_tracefs() -> bool {
    let there = || Path::new(TRACEFS).join("events").is_dir();
    there() || {
        let _mounted = Command::new("mount").args(["-t", "tracefs", "tracefs", TRACEFS]).stderr(Stdio::null()).status();
        there()
    }
}

/// The events of `wanted` that this kernel has, as `-e` takes them.
fn available(wanted: &[&'static str]) -> Vec<&'static str> {
    let there = |event: &&&str| Path::new(TRACEFS).join("events").join(event.replace(':', "/")).is_dir();
    wanted.iter().filter(there).copied().collect()
}

/// A tracing instance of the test's own.
struct Instance(PathBuf);

impl Instance {
    fn new() -> Self {
        let path = Path::new(TRACEFS).join(format!("instances/printed-{}", std::process::id()));
        fs::create_dir(&path).expect("an instance");
        Self(path)
    }

    fn set(&self, file: &str, value: &str) {
        fs::write(self.0.join(file), value).unwrap_or_else(|e| panic!("{file}: {e}"));
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _off = fs::write(self.0.join("tracing_on"), "0");
        let _removed = fs::remove_dir(&self.0);
    }
}

/// The event and the text of a line such as `  ls-7 [000] d..1. 12.345678: sched_switch: prev_comm=…`.
fn event_and_text(line: &str) -> Option<(&str, &str)> {
    let (_, rest) = line.split_once("] ")?;
    let (_, rest) = rest.split_once(": ")?;
    let (event, text) = rest.split_once(':')?;
    let is_name = event.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_name.then(|| (event.trim(), text.trim()))
}

/// What of a text does not depend on who prints it: addresses without `0x` and leading zeros, functions without their
/// sizes, one space where there are several. Whether a process that ended is still there (`Z`) or not (`X`) is read by each tracer for
/// itself, and the parent may have asked for it in between.
fn plain(text: &str) -> String {
    let text = &text.replace("prev_state=Z ", "prev_state=X ");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        let (before, word) = rest.split_at(at);
        let end = word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        let size_of_function = before == "/" && word.starts_with("0x");
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let is_address = digits.len() >= 8 && digits.chars().all(|c| c.is_ascii_hexdigit());
        if !size_of_function {
            out += before;
            out += match digits.trim_start_matches('0') {
                "" if is_address => "0x0",
                digits if is_address => digits,
                _ => word,
            };
        }
        rest = after;
    }
    out += rest;
    out.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Whether two texts are the same where ours does not say `?`: the kernel's clock is the kernel's alone.
fn is_but_for_unknown(ours: &str, theirs: &str) -> bool {
    let same = |(ours, theirs): (&str, &str)| {
        ours == theirs || ours.strip_suffix('?').is_some_and(|start| theirs.starts_with(start))
    };
    ours.contains('?')
        && ours.split(' ').count() == theirs.split(' ').count()
        && ours.split(' ').zip(theirs.split(' ')).all(same)
}

/// The lines of our report, which must all be among theirs; gives how many there were of each event. `differs` are events
/// that the other prints otherwise.
#[track_caller]
fn all_are_among(ours: &str, theirs: &str, differs: &[&str]) -> BTreeMap<String, usize> {
    let mut left: HashMap<(String, String), usize> = HashMap::new();
    for (event, text) in theirs.lines().filter_map(event_and_text) {
        *left.entry((event.to_owned(), plain(text))).or_default() += 1;
    }
    let mut seen = BTreeMap::<String, usize>::new();
    let mut wrong = BTreeMap::<String, (usize, String)>::new();
    for (event, text) in ours.lines().filter_map(event_and_text).filter(|(event, _)| !differs.contains(event)) {
        *seen.entry(event.to_owned()).or_default() += 1;
        let key = (event.to_owned(), plain(text));
        let found = match left.get(&key) {
            Some(_) => Some(key.clone()),
            None => left
                .iter()
                .find(|(other, n)| **n > 0 && other.0 == *event && is_but_for_unknown(&key.1, &other.1))
                .map(|(other, _)| other.clone()),
        };
        match found.and_then(|found| left.get_mut(&found)).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => {
                let like = left.keys().find(|(other, _)| other == event).map_or("", |(_, text)| text);
                let entry = wrong.entry(event.to_owned()).or_insert_with(|| (0, format!("{}\n      {like}", key.1)));
                entry.0 += 1;
            }
        }
    }
    let lines: Vec<_> =
        wrong.iter().map(|(event, (n, one))| format!("{event} ({n} of {}): {one}", seen[event])).collect();
    assert!(wrong.is_empty(), "ours, and some line of theirs:\n  {}", lines.join("\n  "));
    seen
}

/// A folder on the disk that is traced, if there is one.
fn workload(folder: &Path) -> String {
    let disk = std::env::var_os("BATHYSCOPE_LAB_DISK").map_or(folder.to_owned(), PathBuf::from);
    let file = disk.join("printed");
    let file = file.to_str().expect("a path that is text");
    format!(
        "dd if=/dev/zero of={file} bs=64k count=4 conv=fsync 2>/dev/null; ls / | cat >/dev/null; sleep 0.05; \
         kill -0 $$; rm {file}; true"
    )
}

/// Arguments of `record` for these events and the workload.
fn recording<'a>(data: &'a str, events: &[&'a str], script: &'a str) -> Vec<&'a str> {
    let mut words = vec!["record", "--only-command", "--data", data];
    events.iter().for_each(|event| words.extend(["-e", event]));
    words.extend(["--", "/bin/sh", "-c", script]);
    words
}

#[test]
fn lines_are_those_that_the_kernel_prints() {
    let Some(_alone) = alone("the kernel's own text") else { return };
    if !has_tracefs() {
        return skip("the kernel's own text", "tracefs");
    }
    if leaves_texts_out() {
        return skip("the kernel's own text", "a kernel that prints texts and flags in an instance, as 6.12 does");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let data = folder.path().to_str().expect("a path that is text");
    let script = workload(folder.path());
    // The lab is slow, and allocations are most of what there is.
    let often = |event: &&&str| !in_lab() || !["kmem:kmem_cache_alloc", "kmem:kmem_cache_free"].contains(*event);
    let events: Vec<_> = available(&EVENTS.iter().filter(often).copied().collect::<Vec<_>>());
    let instance = Instance::new();
    instance.set("buffer_size_kb", "16384");
    instance.set("trace_clock", "mono");
    // Addresses as they are.
    instance.set("options/hash-ptr", "0");
    events.iter().for_each(|event| instance.set(&format!("events/{}/enable", event.replace(':', "/")), "1"));
    stdout_of(recording(data, &events, &script));
    instance.set("tracing_on", "0");
    let theirs = fs::read_to_string(instance.0.join("trace")).expect("the kernel's text");
    let ours = stdout_of(["report", "--data", data]);
    let seen = all_are_among(&ours, &theirs, &[]);
    println!("{} lines of {} events are as the kernel prints them: {seen:?}", seen.values().sum::<usize>(), seen.len());
    for event in ["sched_switch", "sched_process_exit", "kmalloc", "rss_stat"] {
        assert!(seen.contains_key(event), "{event} in {seen:?}");
    }
}

#[test]
fn lines_are_those_that_trace_cmd_reports() {
    let what = "lines beside trace-cmd's";
    let Some(_alone) = alone(what) else { return };
    if Command::new("trace-cmd").arg("--version").stdin(Stdio::null()).output().is_err() {
        return skip(what, "trace-cmd");
    }
    if !has_tracefs() {
        return skip(what, "tracefs");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path that is text").to_owned();
    let (data, file) = (path("data"), path("trace.dat"));
    let script = workload(folder.path());
    // Rare ones: whatever both programs do themselves is in both traces too, and the lab is slow.
    let few =
        ["sched:sched_switch", "sched:sched_process_exec", "sched:sched_process_fork", "sched:sched_process_exit"];
    let calls = ["syscalls:sys_enter_execve", "syscalls:sys_exit_execve", "syscalls:sys_enter_exit_group", "writeback"];
    let events = [available(&few), available(&calls)].concat();
    let mut trace_cmd = Command::new("trace-cmd");
    trace_cmd.args(["record", "-q", "-b", "16384", "-o", &file]).stdin(Stdio::null());
    for event in &events {
        trace_cmd.args(["-e", event]);
    }
    trace_cmd.arg(binary()).args(recording(&data, &events, &script));
    let output = trace_cmd.output().expect("trace-cmd starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if said.contains("Can't enable ftrace") {
        return skip(what, "a kernel that lets trace-cmd write kernel.ftrace_enabled");
    }
    assert!(output.status.success(), "{}: {said}", output.status);
    // Without its plugins it prints by the kernel's formats.
    let theirs = Command::new("trace-cmd").args(["report", "-N", "-i", &file]).output().expect("trace-cmd starts");
    let ours = stdout_of(["report", "--data", &data]);
    let seen = all_are_among(&ours, &String::from_utf8_lossy(&theirs.stdout), &[]);
    println!("{} lines of {} events are as trace-cmd reports them: {seen:?}", seen.values().sum::<usize>(), seen.len());
    for event in ["sched_switch", "sched_process_exit", "sys_enter_execve", "sys_exit_execve"] {
        assert!(seen.contains_key(event), "{event} in {seen:?}");
    }
}
