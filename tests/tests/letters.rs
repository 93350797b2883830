//! Short letters of each verb are those of the tool whose verb it is: they mean what they mean there, and a letter of our own is none
//! of the tool's.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test says what it expects by panicking")]

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    process::Command,
};

use bathyscope_tests::{
    skip,
    workspace::{binary, root},
};

/// A letter as the tool has it: a word of what its help says of it.
const OWN: &str = "";

type Verb = (&'static str, &'static [&'static str], &'static [(char, &'static str)]);

/// By verb, and by tool where a verb does what two do: the tool's help, and each letter that both have with a word of what the tool says of it; [`OWN`] is none of the tool's.
const VERBS: [Verb; 8] = [
    (
        "trace",
        &["{bpftrace}", "--help"],
        &[
            ('e', "program"),
            ('l', "list"),
            ('v', "verbose"),
            ('V', "version"),
            ('p', "PID"),
            ('c', "CMD"),
            ('o', "FILE"),
            ('f', "FORMAT"),
            ('B', "buffering"),
            ('q', "quiet"),
            ('k', "warning"),
            ('I', "include"),
            ('u', OWN),
        ],
    ),
    (
        "strace",
        &["strace", "--help"],
        &[
            ('p', "attach"),
            ('f', "follow"),
            ('e', "expr"),
            ('T', "time"),
            ('t', "timestamp"),
            ('r', "relative"),
            ('c', "summary"),
            ('C', "summary"),
            ('S', "sort"),
            ('y', "path"),
            ('z', "success"),
            ('Z', "fail"),
            ('s', "string"),
            ('P', "path"),
            ('o', "FILE"),
            ('u', "user"),
            ('A', "append"),
            ('E', "env"),
            ('a', "column"),
            ('i', "instruction"),
            ('k', "stack"),
            ('U', "columns"),
            ('X', "print-style"),
            ('n', "number"),
            ('q', "quiet"),
            ('v', "abbrev"),
            ('w', "wall"),
            ('x', "hex"),
        ],
    ),
    (
        "probe",
        &["perf", "probe", "-h"],
        &[
            ('x', "exec"),
            ('V', "vars"),
            ('F', "funcs"),
            ('l', "list"),
            ('d', "del"),
            ('n', "dry"),
            ('a', "add"),
            ('f', "force"),
            ('p', OWN),
        ],
    ),
    // Rows are printed as trace-cmd does, samples as perf does.
    ("report", &["trace-cmd", "report", "-h"], &[('F', "filter"), ('v', "negate")]),
    ("report", &["perf", "report", "-h"], &[('s', "sort"), ('n', "samples"), ('g', "call-graph")]),
    (
        "record",
        &["trace-cmd", "record", "-h"],
        &[
            ('p', "plugin"),
            ('e', "event"),
            ('f', "filter"),
            ('x', OWN),
            ('l', "function name"),
            ('n', "do not trace"),
            ('g', "graph function"),
            ('O', "option"),
            ('C', "clock"),
            ('b', "buffersize"),
            ('a', OWN),
            ('P', "pid"),
            ('F', "given process"),
            ('c', "children"),
            ('o', "output file"),
        ],
    ),
    (
        "profile",
        &["perf", "record", "-h"],
        &[
            ('e', "event selector"),
            ('F', "frequency"),
            ('c', "period"),
            ('g', "call-graph"),
            ('d', "addresses"),
            ('W', "weight"),
            ('b', "taken branches"),
            ('j', "branch"),
            ('a', "system-wide"),
            ('C', "list of cpus"),
            ('p', "process id"),
            ('t', "thread id"),
            ('D', "before starting"),
            ('G', "cgroup"),
            ('i', "inherit"),
            ('u', "user to profile"),
            ('o', "output file"),
        ],
    ),
    (
        "stat",
        &["perf", "stat", "-h"],
        &[
            ('e', "event selector"),
            ('a', "system-wide"),
            ('C', "list of cpus"),
            ('p', "process id"),
            ('t', "thread id"),
            ('D', "before starting"),
            ('G', "cgroup"),
            ('I', "interval"),
            ('d', "detailed"),
            ('A', "aggregation"),
            ('i', "inherit"),
            ('r', "repeat"),
            ('x', "separator"),
            ('j', "json"),
            ('o', "output file"),
            ('u', OWN),
        ],
    ),
];

/// Letters at the begin of a line of help, each with what is said of it.
fn letters(help: &str) -> BTreeMap<char, String> {
    let mut found = BTreeMap::<char, String>::new();
    let mut last = None;
    for line in help.lines() {
        let text = line.trim_start();
        let mut letters = text.strip_prefix('-').into_iter().flat_map(str::chars);
        match (letters.next(), letters.next()) {
            (Some(letter), after)
                if letter.is_ascii_alphanumeric()
                    && after.is_none_or(|it| !it.is_ascii_alphanumeric() && it != '-') =>
            {
                last = Some(letter);
            }
            (Some(_long), _) => last = None,
            _ => {}
        }
        // What is said of it may go on in the next lines.
        if let Some(letter) = last {
            let text = format!("{} ", text.to_lowercase());
            found.entry(letter).or_default().push_str(&text);
        }
    }
    found
}

fn help(words: &[&str]) -> Option<String> {
    let (program, words) = words.split_first()?;
    let output = Command::new(program).args(words).output().ok()?;
    // Some tell it as a mistake.
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&text).into_owned()).filter(|text| text.lines().count() > 5)
}

/// bpftrace where it is: installed, or unpacked for the comparison of the language.
fn bpftrace() -> String {
    let unpacked = root().join("target/reference/bpftrace");
    if unpacked.exists() {
        root().join("tests/language/reference").to_string_lossy().into_owned()
    } else {
        "bpftrace".to_owned()
    }
}

#[test]
fn letters_mean_what_they_mean_in_the_tool() {
    for (verb, tool, table) in VERBS {
        let ours = help(&[&binary().to_string_lossy(), verb, "--help"]).expect("every verb has help");
        let ours: BTreeSet<char> = letters(&ours).into_keys().filter(|letter| *letter != 'h').collect();
        let of_verb = VERBS.iter().filter(|(other, ..)| *other == verb).flat_map(|(.., table)| *table);
        let listed: BTreeSet<char> = of_verb.map(|(letter, _word)| *letter).collect();
        assert_eq!(ours, listed, "{verb}: its letters, and those of the table");
        let bpftrace = bpftrace();
        let words: Vec<&str> =
            tool.iter().map(|word| if *word == "{bpftrace}" { bpftrace.as_str() } else { word }).collect();
        let Some(theirs) = help(&words) else {
            let name = Path::new(words[0]).file_name().unwrap_or_default().to_string_lossy().into_owned();
            skip(&format!("the letters of `{verb}` beside those of the tool"), &name);
            continue;
        };
        let theirs = letters(&theirs);
        for (letter, word) in table {
            match (theirs.get(letter), *word) {
                (Some(text), OWN) => panic!("{verb} -{letter} is ours, and the tool has it too: {text}"),
                (Some(text), word) => {
                    assert!(text.contains(&word.to_lowercase()), "{verb} -{letter} means something else there: {text}");
                }
                (None, OWN) => {}
                (None, _) => panic!("{verb} -{letter} is not a letter of the tool"),
            }
        }
    }
}

/// A time has one name on every verb that takes one, and the letter that it had says so.
#[test]
fn a_time_is_given_with_duration() {
    for verb in ["trace", "strace", "record", "profile", "stat"] {
        let text = help(&[&binary().to_string_lossy(), verb, "--help"]).expect("every verb has help");
        let line = text.lines().find(|line| line.contains("--duration")).unwrap_or_else(|| panic!("{verb} has none"));
        assert!(line.trim_start().starts_with("--duration"), "{verb}: {line}");
    }
    for verb in ["trace", "record"] {
        let output = Command::new(binary()).args([verb, "-d", "5s"]).output().expect("it runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains("--duration"), "{verb}: {text}");
    }
}

/// What a tool's help lists, as it is typed: `-a`, `--all-cpus`.
fn options(help: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for line in help.lines().filter(|line| line.starts_with("    ")) {
        let words = line.split([' ', ',', '=', '[', ']']).filter(|word| !word.is_empty());
        // What is said of an option may name others.
        found.extend(words.take_while(|word| word.starts_with('-')).filter(|word| word.len() > 1).map(str::to_owned));
    }
    found
}

/// Each option of a tool whose verb we have is ours, or refused with what there is instead, or left out with a reason.
#[test]
fn every_option_of_the_tools_is_answered() {
    let verbs: [(&str, &[&str]); 6] = [
        ("record", &["trace-cmd", "record", "-h"]),
        ("report", &["trace-cmd", "report", "-h"]),
        ("list", &["trace-cmd", "list", "-h"]),
        ("profile", &["perf", "record", "-h"]),
        ("stat", &["perf", "stat", "-h"]),
        ("probe", &["perf", "probe", "-h"]),
    ];
    let mut unanswered = Vec::new();
    for (verb, tool) in verbs {
        let Some(theirs) = help(tool) else {
            skip(&format!("the options of `{verb}` beside those of the tool"), tool[0]);
            continue;
        };
        let theirs = options(&theirs);
        assert!(theirs.len() > 5, "{verb}: {theirs:?}");
        for option in theirs {
            // Help is printed before anything is done; what is refused is refused before.
            let output = Command::new(binary()).args([verb, "--help", &option]).output().expect("it runs");
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let is_general = text.contains("lists its options") || text.contains("Did you mean");
            if !output.status.success() && (is_general || !text.contains("is no option of")) {
                unanswered.push(format!("{verb} {option}: {text}"));
            }
        }
    }
    assert!(unanswered.is_empty(), "{unanswered:#?}");
}
