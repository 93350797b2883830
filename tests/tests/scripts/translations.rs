//! Translations of scripts of DTrace and SystemTap on the running kernel: those that `server/translate/tests/cases` has beside
//! the scripts, each with a workload that must show up in what it prints.

use std::fs;

use bathyscope_tests::{is_root, programs::program, skip, tracing::shows, workspace::root};

use crate::{places::Place, traced};

/// A table, the name of a case in it, what is done, and what must be printed.
const RUN: &[(&str, &str, &str, &[&str])] = &[
    ("dtrace-one-liners", "files opened by name", "open /etc/hostname", &["work /etc/hostname"]),
    ("dtrace-one-liners", "files opened at", "open /etc/hostname", &["work /etc/hostname"]),
    ("dtrace-one-liners", "system calls by program", "open /etc/hosts", &["@num[work]: "]),
    ("dtrace-one-liners", "system calls by name", "open /etc/hosts", &["@num[openat]: "]),
    ("dtrace-one-liners", "sizes of writes", "write {file}", &["@dist[work]: >> [64K, 128K)"]),
    ("dtrace-one-liners", "context switches", "wake", &["@[work]: "]),
    ("dtrace-one-liners", "failed calls", "missing /no/such/file", &["@[work, openat, 2]: "]),
    ("dtrace-one-liners", "calls that fail, by -1", "missing /no/such/file", &["@[work]: "]),
    ("dtrace-one-liners", "signals", "kill", &["work( … ) sent 10 to "]),
    ("dtrace-one-liners", "forks", "exit", &[" made "]),
    ("dtrace-one-liners", "processes that end", "exit", &["@[work]: "]),
    ("dtrace-one-liners", "wake-ups", "wake", &["@[work, work]: "]),
    ("dtrace-one-liners", "new processes", "exec /bin/true", &["true"]),
    ("dtrace-one-liners", "page faults by place", "touch 20000000", &["do_touch+"]),
    ("dtrace-one-liners", "both stacks", "spin 500", &["spin_here+ >> , work]: "]),
    ("dtrace-scripts", "time of reads", "write {file}", &["@time[work]: >> |@"]),
    ("dtrace-scripts", "time on CPUs", "spin 100", &["@[work]: "]),
    ("dtrace-scripts", "the longest", "write {file}", &["@worst[work, fsync]: "]),
    ("dtrace-scripts", "two clauses of a probe", "write {file}", &["@big[work]: 16"]),
    ("dtrace-scripts", "opened files and what comes of it", "open /etc/hostname", &["work … /etc/hostname … us"]),
    ("systemtap", "opens", "open /etc/hostname", &["work( … ) open \"/etc/hostname\", 0x"]),
    ("systemtap", "sizes of reads", "write {file}", &["@sizes: >> |@"]),
    ("systemtap", "time of a call by start", "write {file}", &["@latency[work]: { .count = "]),
    ("systemtap", "switches", "wake", &["work -> "]),
    ("systemtap", "signals", "kill", &["work sends … to work("]),
    ("systemtap", "braces and lists", "write {file}", &["write "]),
    ("systemtap", "keys of names", "open /etc/hostname", &["@files[/etc/hostname]: "]),
    ("systemtap", "what a process waits in", "sleep 1", &["do_sleep+"]),
    ("systemtap", "hello", "exit", &["hello world"]),
];

/// The translation that a table has of a case.
fn translation(table: &str, name: &str) -> String {
    let path = root().join(format!("server/translate/tests/cases/{table}.txt"));
    let text = fs::read_to_string(path).expect("a table");
    let case = text.split("\n=== ").find(|case| case.lines().next() == Some(name)).expect("a case of this name");
    let (_, translation) = case.split_once("\n---\n").expect("its translation");
    translation.split("\nnote at ").next().expect("its begin").to_owned()
}

#[test]
fn translations_see_what_happens() {
    if !is_root() || program("work").is_none() {
        return skip("translations of scripts", "root and gcc");
    }
    let mut wrong = Vec::new();
    for (table, name, work, wants) in RUN {
        let mut place = Place::new();
        let script = translation(table, name);
        let wants: Vec<String> = wants.iter().map(|want| place.filled(want)).collect();
        match traced(&["-e", &script], || place.work(work).expect("the work can be done")) {
            Ok(printed) => {
                let missing: Vec<&String> = wants.iter().filter(|want| !shows(&printed.out, want)).collect();
                if !missing.is_empty() {
                    let out: String = printed.out.chars().take(2000).collect();
                    wrong.push(format!("{name} does not show {missing:?}:\n{out}{}", printed.err));
                }
            }
            Err(refused) => wrong.push(format!("{name}: {refused}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
