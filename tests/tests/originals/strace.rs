//! System calls beside strace.

use std::{
    collections::BTreeMap,
    fs,
    process::{Command, Output},
};

use bathyscope_tests::{
    programs::{narrow, program},
    skip,
    workspace::binary,
};
use serde_json::Value;
use tempfile::TempDir;

use super::{beside, dd, original, original_in, path, prepared, read, run, stdout_of, words};

/// Addresses and process ids are of one run only: addresses become `ADDRESS`, ids the number of the process.
pub(super) fn without_run(text: &str, pids: &[String]) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_alphanumeric()) {
        let (before, word) = rest.split_at(at);
        let end = word.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(word.len());
        let (word, after) = word.split_at(end);
        plain += before;
        let is_address = word.starts_with("0x") && word.len() > 8;
        match pids.iter().position(|pid| pid == word) {
            Some(index) => plain += &format!("PROCESS{index}"),
            None if is_address => plain += "ADDRESS",
            None => plain += word,
        }
        rest = after;
    }
    plain + rest
}

/// The lines of each process in the order of its first one. Halves of a call are put together; what of it cannot be the
/// same twice is replaced.
pub(super) fn calls(text: &str) -> Vec<Vec<String>> {
    let lines: Vec<(&str, &str)> = text.lines().filter_map(|line| line.trim_start().split_once(' ')).collect();
    let mut pids: Vec<String> = Vec::new();
    let mut processes: Vec<Vec<String>> = Vec::new();
    for (pid, line) in lines {
        let index = pids.iter().position(|known| known == pid).unwrap_or_else(|| {
            pids.push(pid.to_owned());
            processes.push(Vec::new());
            pids.len() - 1
        });
        let line = line.trim_start();
        let known = &mut processes[index];
        if let Some((_, rest)) = line.strip_prefix("<... ").and_then(|rest| rest.split_once(" resumed>")) {
            known.last_mut().expect("a first half").push_str(rest);
        } else {
            known.push(line.strip_suffix(" <unfinished ...>").unwrap_or(line).to_owned());
        }
    }
    let same = |line: &String| {
        let spaces = line.split_ascii_whitespace().collect::<Vec<_>>().join(" ");
        let spaces = without_times(&spaces);
        match ["getrandom(", "getppid("].into_iter().find(|call| spaces.starts_with(call)) {
            Some(random) => random.to_owned(),
            None => without_run(&spaces, &pids),
        }
    };
    processes.iter().map(|lines| lines.iter().map(same).collect()).collect()
}

/// What was left of a time, and what a child took, is another each time.
pub(super) fn without_times(line: &str) -> String {
    let mut plain = line.to_owned();
    for (begin, end) in [("left {", '}'), ("si_utime=", ','), ("si_stime=", '}')] {
        if let Some((_, rest)) = line.split_once(begin) {
            let value = rest.split(end).next().unwrap_or_default();
            plain = plain.replace(&format!("{begin}{value}"), begin);
        }
    }
    plain
}

/// Both tools on one command in a folder; the exit statuses are the command's.
pub(super) fn strace_both(folder: &TempDir, options: &[&str], command: &[&str]) -> (String, String) {
    let (theirs, ours) = (path(folder, "theirs"), path(folder, "ours"));
    // Both are there for both: some file systems tell a folder's size by its entries.
    fs::write(&theirs, "").and_then(|()| fs::write(&ours, "")).expect("two files");
    let first = original_in(folder, words(&[&["strace", "-o", &theirs][..], options].concat(), command));
    let binary = binary();
    let first_words = [&[binary.to_str().expect("a path that is text"), "strace", "-o", &ours][..], options, &["--"]];
    let second = original_in(folder, words(&first_words.concat(), command));
    assert_eq!(first.status.code(), second.status.code(), "{}", String::from_utf8_lossy(&second.stderr));
    assert_eq!(String::from_utf8_lossy(&first.stdout), String::from_utf8_lossy(&second.stdout));
    (read(&theirs), read(&ours))
}

/// Every process has the same lines; the first that differs is named.
#[track_caller]
pub(super) fn assert_same(theirs: &[Vec<String>], ours: &[Vec<String>], what: &str) {
    for (process, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
        for (line, (theirs, ours)) in theirs.iter().zip(ours).enumerate() {
            assert_eq!(theirs, ours, "{what}: process {process}, line {line}");
        }
        assert_eq!(theirs.len(), ours.len(), "{what}: process {process}: {theirs:#?}{ours:#?}");
    }
    assert_eq!(theirs.len(), ours.len(), "{what}: processes");
}

/// A folder's two files, and one that is not there.
pub(super) fn files(folder: &TempDir) -> [&'static str; 3] {
    fs::write(folder.path().join("a"), "one\n").expect("a file");
    fs::write(folder.path().join("b"), "two\tand three\n").expect("a file");
    ["a", "b", "missing"]
}

#[test]
fn b1_lines_are_those_of_strace() {
    let Some((_alone, folder)) = beside("strace", "the comparison with strace") else { return };
    let [a, b, missing] = files(&folder);
    let (theirs, ours) = strace_both(&folder, &["-f"], &["/usr/bin/cat", a, b, missing]);
    let (theirs, ours) = (calls(&theirs), calls(&ours));
    assert!(theirs[0].len() > 20, "{theirs:#?}");
    assert_same(&theirs, &ours, "cat");
}

#[test]
fn b1_processes_are_followed_as_strace_does() {
    let Some((_alone, folder)) = beside("strace", "children beside strace's") else { return };
    let [a, b, _] = files(&folder);
    let script = format!("/usr/bin/cat {a}; /usr/bin/cat {b}; exit 7");
    let (theirs, ours) = strace_both(&folder, &["-f"], &["/bin/sh", "-c", &script]);
    let (mut theirs, mut ours) = (calls(&theirs), calls(&ours));
    assert_eq!(theirs.len(), 3, "{theirs:#?}");
    // A child may end before the shell waits for it or while it does, and the handler returns to what was going on.
    let signals = |lines: &mut Vec<String>| -> Vec<String> {
        let is_one = |line: &mut String| line.starts_with("---") || line.starts_with("rt_sigreturn(");
        let shown = lines.extract_if(.., is_one).map(|line| line.split(" = ").next().unwrap_or_default().to_owned());
        shown.collect()
    };
    let told = signals(&mut theirs[0]);
    assert_eq!(told.len(), 4, "{told:#?}");
    assert_eq!(told, signals(&mut ours[0]));
    assert_same(&theirs, &ours, "sh");
}

#[test]
fn b1_chosen_calls_are_those_of_strace() {
    let Some((_alone, folder)) = beside("strace", "-e beside strace's") else { return };
    let [a, b, missing] = files(&folder);
    for choice in ["trace=openat,close", "%file", "!mmap,close", "status=failed"] {
        let (theirs, ours) = strace_both(&folder, &["-f", "-e", choice], &["/usr/bin/cat", a, b, missing]);
        let (theirs, ours) = (calls(&theirs), calls(&ours));
        assert!(theirs[0].last().is_some_and(|line| line == "+++ exited with 1 +++"), "{theirs:#?}");
        assert_same(&theirs, &ours, choice);
    }
}

/// Its lines from the first one with `from` on: what a C library does before that is told by other tests.
fn since(all: Vec<Vec<String>>, from: &str) -> Vec<Vec<String>> {
    let cut = |lines: Vec<String>| {
        let first = lines.iter().position(|line| line.contains(from)).unwrap_or(0);
        lines.into_iter().skip(first).collect()
    };
    all.into_iter().map(cut).collect()
}

#[test]
fn b1_signals_ends_and_structures_are_those_of_strace() {
    let Some((_alone, folder)) = beside("strace", "signals beside strace's") else { return };
    let Some(signals) = program("signals") else { return skip("signals beside strace's", "gcc") };
    let signals = signals.to_str().unwrap();
    for way in ["segv", "kill"] {
        let (theirs, ours) = (path(&folder, "theirs"), path(&folder, "ours"));
        let binary = binary();
        let _killed = original(["strace", "-f", "-o", &theirs, signals, way]);
        let _killed = original([binary.to_str().unwrap(), "strace", "-f", "-o", &ours, "--", signals, way]);
        let read = |file: &str| {
            let mut all = since(calls(&read(file)), "rt_sigaction(SIGHUP");
            // The kernel tells what the call of a process that is killed gave, though nobody gets it.
            let ends = ["read(3, ", "kill(PROCESS0, SIGKILL)"];
            for lines in &mut all {
                if let [.., call, end] = lines.as_mut_slice()
                    && end == "+++ killed by SIGKILL +++"
                    && let Some(known) = ends.into_iter().find(|known| call.starts_with(known))
                {
                    *call = known.to_owned();
                }
            }
            // What kind of event a timer makes is not decoded.
            all.iter_mut().for_each(|lines| lines.retain(|line| !line.starts_with("timer_create(")));
            all
        };
        let (theirs, ours) = (read(&theirs), read(&ours));
        let all = theirs.concat().join("\n");
        for part in ["si_code=CLD_EXITED", "rt_sigreturn({mask=[]})", " entries */", "SCM_RIGHTS", "(in [", "(Timeout)"]
        {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert!(all.contains(if way == "kill" { "+++ killed by SIGKILL" } else { "+++ killed by SIGSEGV" }), "{all}");
        assert_same(&theirs, &ours, way);
    }
}

/// Compiled for 32 bits and for 64, where the kernel takes such calls; says why if there is none.
fn narrow_programs(what: &str) -> Vec<String> {
    let mut programs = Vec::new();
    for bits in [64, 32] {
        let Some(program) = narrow(bits) else {
            skip(what, &format!("a compiler for {bits} bits"));
            continue;
        };
        // Without the interface the program is killed, or all of its calls fail.
        match Command::new(&program).status() {
            Ok(status) if status.success() => programs.push(program.to_str().unwrap().to_owned()),
            ended => skip(what, &format!("a kernel that takes calls of 32-bit programs: {ended:?}")),
        }
    }
    programs
}

#[test]
fn b1_calls_of_32_bit_programs_are_those_of_strace() {
    let what = "calls of 32-bit programs beside strace's";
    if !cfg!(target_arch = "x86_64") {
        return skip(what, "an x86_64 kernel");
    }
    let Some((_alone, folder)) = beside("strace", what) else { return };
    let programs = narrow_programs(what);
    for program in &programs {
        let (theirs, ours) = strace_both(&folder, &["-f"], &[program]);
        let (theirs, ours) = (calls(&theirs), calls(&ours));
        let all = theirs.concat().join("\n");
        for part in ["mmap2(", "recv(4, \"from 32 bits\\n\"", "stat64(", "F_SETLK64", "chown32(", "execve("] {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert_same(&theirs, &ours, program);
        // A name means calls of all interfaces, also those that are made through another.
        for choice in ["open,openat", "%network", "!%file,mmap,shmget"] {
            let (theirs, ours) = strace_both(&folder, &["-f", "-e", choice], &[program]);
            assert_same(&calls(&theirs), &calls(&ours), choice);
        }
        let (theirs, ours) = strace_both(&folder, &["-c"], &[program]);
        let titles =
            |text: &str| text.lines().filter(|line| line.contains("mode:")).map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(titles(&theirs), titles(&ours), "{theirs}{ours}");
    }
}

/// Calls and the lines that say by which interface they are made, without a file.
#[test]
fn b1_switches_between_32_and_64_bits_are_told_as_strace_does() {
    let what = "switches between 32 and 64 bits";
    if !cfg!(target_arch = "x86_64") {
        return skip(what, "an x86_64 kernel");
    }
    let Some((_alone, _folder)) = beside("strace", what) else { return };
    for program in &narrow_programs(what) {
        let told = |output: Output| {
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let modes = text.lines().filter_map(|line| line.split_once(" runs in ")).map(|(_, mode)| mode.to_owned());
            modes.collect::<Vec<_>>()
        };
        let theirs = told(original(["strace", program]));
        assert!(theirs.len() >= 2, "{theirs:?}");
        assert_eq!(theirs, told(run(["strace", "--", program])));
        let rows = run(["strace", "--json", "--", program]);
        let rows = String::from_utf8_lossy(&rows.stdout).into_owned();
        let of = |abi: &str, call: &str| {
            let rows = rows.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
            rows.filter(|row| row["abi"] == abi && row["call"] == call).count()
        };
        assert!(of("32", "mmap2") == 1 && of("64", "mmap2") == 0 && of("64", "openat") > 0, "{rows}");
    }
}

#[test]
fn b1_a_call_that_has_not_returned_in_the_end_is_shown() {
    let Some((_alone, folder)) = beside("strace", "calls that do not return") else { return };
    let mut child = prepared(["sleep", "1000"]).spawn().expect("sleep");
    let pid = child.id().to_string();
    let ours = path(&folder, "ours");
    stdout_of(["strace", "-o", &ours, "-p", &pid, "--duration", "300ms"]);
    // It began before the capture did.
    assert_eq!(read(&ours), "");
    child.kill().and_then(|()| child.wait()).expect("its end");
    // It is nearly always in one.
    let script = "while :; do sleep 1; done";
    let mut child = prepared(["/bin/sh", "-c", script]).spawn().expect("sh");
    let pid = child.id().to_string();
    stdout_of(["strace", "-o", &ours, "-p", &pid, "--duration", "2500ms"]);
    child.kill().and_then(|()| child.wait()).expect("its end");
    let text = read(&ours);
    let last = text.lines().last().unwrap_or_default();
    assert_eq!(last, "wait4(-1,  <detached ...>", "{text}");
    // With all calls of the machine the ledger counts them too.
    let waiting = "nanosleep,clock_nanosleep,poll,ppoll,epoll_wait,epoll_pwait,select,pselect6,futex,wait4";
    let output = run(["strace", "--all", "-e", waiting, "-o", &ours, "--duration", "1500ms"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.contains("nothing lost"), "{said}");
}

/// Calls and errors by name.
fn table(text: &str) -> BTreeMap<String, (u64, u64)> {
    let rows = text.lines().skip(2).map(|line| line.split_ascii_whitespace().collect::<Vec<_>>());
    let rows = rows.filter(|row| row.len() >= 5 && !row[0].starts_with('-'));
    rows.map(|row| {
        let errors = if row.len() > 5 { row[4].parse().expect("a number of errors") } else { 0 };
        (row[row.len() - 1].to_owned(), (row[3].parse().expect("a number of calls"), errors))
    })
    .collect()
}

#[test]
fn b1_the_table_counts_as_strace_does() {
    let Some((_alone, folder)) = beside("strace", "the table beside strace's") else { return };
    let [a, b, missing] = files(&folder);
    let cat = ["/usr/bin/cat", a, b, missing];
    let (theirs, ours) = strace_both(&folder, &["-c"], &cat);
    assert!(table(&theirs).contains_key("openat"), "{theirs}");
    assert_eq!(table(&theirs), table(&ours));
    let many = dd(5000);
    let (theirs, ours) = strace_both(&folder, &["-c", "-e", "read,write"], &words(&[], &many));
    assert_eq!(table(&theirs), table(&ours));
}
