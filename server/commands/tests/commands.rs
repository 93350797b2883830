//! Command lines of manuals, books and talks with what becomes of each: `commands.txt`. With `BLESS=1` it is
//! written anew; then every line that has changed is to be read.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests")]

use std::fmt::Write as _;

use bathyscope_capture::TracepointName;
use bathyscope_commands::{
    Answer, ExplainedText, Explanation, Host, KeptProbe, UnknownHost, cost_of, explain, same_as,
};
use proptest::prelude::*;

/// Tracepoints of a kernel.
const TRACEPOINTS: &str = include_str!("tracepoints.txt");

struct Recorded(Vec<TracepointName>);

impl Recorded {
    fn new() -> Self {
        Self(TRACEPOINTS.lines().map(|line| line.parse().unwrap()).collect())
    }
}

impl Host for Recorded {
    fn tracepoints(&self) -> Option<&[TracepointName]> {
        Some(&self.0)
    }

    fn processes(&self, name: &str) -> Option<Vec<u32>> {
        Some(match name {
            "mysqld" => vec![4221],
            "nginx" => vec![900, 901, 902],
            _ => Vec::new(),
        })
    }
}

/// What becomes of a text, in lines.
fn shown(text: &str, host: &dyn Host) -> String {
    let explanation = explain(text, host);
    let Explanation { answer, words, notes, .. } = explanation.clone();
    let mut out = format!("  {words}\n");
    match &answer {
        Answer::Capture(planned) => {
            let mut spec = serde_json::to_value(&planned.spec).unwrap();
            let limits = spec.as_object_mut().unwrap().remove("limits").unwrap();
            let mut sources = spec.as_object_mut().unwrap().remove("sources").unwrap();
            for source in sources.as_array_mut().unwrap() {
                // Of a tool of the library its name says enough.
                if let Some(script) = source["method"].get_mut("script").filter(|script| script.get("file").is_some()) {
                    script.as_object_mut().unwrap().remove("text");
                }
                let _ = writeln!(out, "  {}", source["method"]);
            }
            let _ = write!(out, "  target {}", spec["target"]);
            if let Some(ms) = limits["duration_ms"].as_u64() {
                let _ = write!(out, " {ms} ms");
            }
            if let Some(events) = limits["max_events"].as_u64() {
                let _ = write!(out, " {events} rows");
            }
            out.push('\n');
        }
        Answer::Refused(refusal) => {
            let _ = writeln!(out, "  refused at `{}`", text[refusal.at.clone()].replace('\n', " "));
        }
        Answer::Nothing => {}
        _ => {
            let mut flat = serde_json::to_value(ExplainedText::from(explanation.clone())).unwrap();
            for name in ["words", "spans", "notes"] {
                flat.as_object_mut().unwrap().remove(name);
            }
            let _ = writeln!(out, "  {flat}");
        }
    }
    for note in notes {
        let part = text.get(note.start..note.end).unwrap().replace('\n', " ");
        let mark = if note.is_ignored { "-" } else { "+" };
        let _ = writeln!(out, "  {mark} `{part}`: {}", note.text);
    }
    out
}

/// The texts of the file, and the lines between them.
fn cases(file: &str) -> Vec<(String, String)> {
    let mut cases: Vec<(String, String)> = Vec::new();
    let mut head = String::new();
    for line in file.lines() {
        if let Some(text) = line.strip_prefix("$ ") {
            cases.push((std::mem::take(&mut head), text.to_owned()));
        } else if let (Some(text), Some((_, last))) = (line.strip_prefix("> "), cases.last_mut()) {
            last.push('\n');
            last.push_str(text);
        } else if line.starts_with('#') || line.is_empty() {
            head.push_str(line);
            head.push('\n');
        }
    }
    cases
}

#[test]
fn commands_of_manuals_books_and_talks_are_understood() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands.txt");
    let file = std::fs::read_to_string(path).unwrap();
    let host = Recorded::new();
    let mut made = String::new();
    let cases = cases(&file);
    for (head, text) in &cases {
        made.push_str(head);
        for (number, line) in text.split('\n').enumerate() {
            let _ = writeln!(made, "{} {line}", if number == 0 { "$" } else { ">" });
        }
        made.push_str(&shown(text, &host));
    }
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    let lines = made.lines().zip(file.lines());
    let different = lines.enumerate().find(|(_, (made, known))| made != known);
    assert!(different.is_none() && made.lines().count() == file.lines().count(), "{different:?}");
}

/// Of a capture that a command asks for, commands are found that ask for it, most of them exactly.
#[test]
fn captures_lead_back_to_commands() {
    let file = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands.txt")).unwrap();
    let host = Recorded::new();
    let (mut captures, mut exact, mut others) = (0, 0, Vec::new());
    for (_, text) in cases(&file) {
        let Answer::Capture(planned) = explain(&text, &host).answer else { continue };
        if planned.missing.is_some() || planned.spec.sources.len() > 1 {
            continue;
        }
        captures += 1;
        let commands = same_as(&planned.spec);
        assert!(!commands.is_empty(), "{text}");
        exact += usize::from(commands.iter().any(|one| one.differs.is_empty()));
        for one in commands.iter().filter(|one| one.differs.is_empty() && !one.text.starts_with("bathyscope")) {
            let Answer::Capture(again) = explain(&one.text, &UnknownHost).answer else { panic!("{}", one.text) };
            assert_eq!(again.spec, planned.spec, "{text} as {}", one.text);
        }
        if !commands.iter().any(|one| one.differs.is_empty()) {
            others.push(format!("{text}\n  {commands:?}"));
        }
    }
    assert!(exact * 10 >= captures * 9, "{exact} of {captures} captures are asked for exactly:\n{}", others.join("\n"));
}

fn check(text: &str) {
    let explanation = explain(text, &UnknownHost);
    let mut end = 0;
    for span in &explanation.spans {
        assert!(span.start >= end && span.start < span.end && span.end <= text.len(), "{text:?}: {span:?}");
        assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end), "{text:?}: {span:?}");
        end = span.end;
    }
    let places = explanation.notes.iter().map(|note| note.start..note.end);
    let refused = match &explanation.answer {
        Answer::Refused(refusal) => {
            assert!(!refusal.why.is_empty() && !refusal.remedy.is_empty(), "{text:?}: {refusal:?}");
            Some(refusal.at.clone())
        }
        Answer::Capture(planned) if planned.missing.is_none() => {
            planned.spec.validate().unwrap();
            None
        }
        _ => None,
    };
    for place in places.chain(refused) {
        assert!(text.get(place.clone()).is_some(), "{text:?}: {place:?}");
    }
}

#[test]
fn parts_of_known_commands_are_places_in_their_text() {
    let file = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/commands.txt")).unwrap();
    for (_, text) in cases(&file) {
        check(&text);
        for (at, _) in text.char_indices().step_by(3) {
            check(&text[..at]);
        }
        check(&text.replace('\'', "’").replace("--", "—"));
    }
}

/// Words of the languages that are read, and signs.
fn word() -> impl Strategy<Value = String> {
    let known = [
        "perf",
        "record",
        "strace",
        "-e",
        "-p",
        "-ag",
        "--",
        "trace:",
        "'a b",
        "\"",
        "$(pgrep -n x)",
        "|",
        ">",
        "<<E",
        "\n",
        "echo",
        "p:a b",
        "kprobe_events",
        "events/sched/enable",
        "-F",
        "99",
        "’",
        "—add",
        "é",
        "probe",
        "--add",
        "f%return",
        "trace-cmd",
        "bpftrace",
        "{a,b}",
        "*",
        "\\",
        "`",
        "set_ftrace_filter",
        "1",
        "tracing_on",
        "sleep",
        "sudo",
        "sh",
        "-c",
    ];
    prop_oneof![proptest::sample::select(known.to_vec()).prop_map(str::to_owned), "[ -~é\n]{0,6}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_it(words in proptest::collection::vec(word(), 0..12), glue in "[ ]?") {
        check(&words.join(if glue.is_empty() { "" } else { " " }));
    }

    #[test]
    fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        check(&String::from_utf8_lossy(&bytes));
    }
}

/// A row of the table of commands.
struct TableRow {
    id: String,
    /// The lines that are pasted together.
    text: String,
    gives: String,
    /// The test that holds it on a kernel.
    test: String,
}

/// The rows of the table of commands.
fn table_of_commands() -> Vec<TableRow> {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/commands.md")).unwrap();
    let rows =
        page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| id") && !line.starts_with("| --"));
    let row = |line: &str| {
        let line = line.replace("\\|", "\u{0}");
        let cells: Vec<String> = line.split('|').map(|cell| cell.trim().replace('\u{0}', "|")).collect();
        let lines: Vec<&str> = cells[2].split("<br>").map(|code| code.trim_matches('`').trim()).collect();
        let test = cells[6].trim_matches('`').to_owned();
        TableRow { id: cells[1].clone(), text: lines.join("\n"), gives: cells[3].clone(), test }
    };
    rows.map(row).collect()
}

#[test]
fn the_table_of_commands_says_what_becomes_of_each() {
    let host = Recorded::new();
    let rows = table_of_commands();
    let mut wrong = Vec::new();
    for TableRow { id, text, gives, .. } in &rows {
        let explanation = explain(text, &host);
        let given = match &explanation.answer {
            Answer::Capture(_) => "capture",
            Answer::Probes { .. } => "probes",
            Answer::Page(_) => "page",
            Answer::Stored(_) => "stored",
            Answer::Foreign { .. } | Answer::Refused(_) => "refused",
            Answer::Nothing => "nothing",
        };
        if given != gives {
            wrong.push(format!("{id} {text:?} gives {given}: {}", explanation.words));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
    // Every case has a row.
    let cases = (1..=16).map(|n| format!("F{n}")).chain((1..=20).map(|n| format!("P{n}")));
    for case in cases.chain((1..=8).map(|n| format!("B{n}"))) {
        assert!(rows.iter().any(|row| row.id == case), "{case} has no row");
    }
}

/// The texts of the tests that run the whole.
fn tests_of_the_whole(folder: &std::path::Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: std::path::PathBuf| {
        if path.is_dir() {
            return tests_of_the_whole(&path);
        }
        let is_source = path.extension().is_some_and(|ending| ending == "rs");
        if is_source { std::fs::read_to_string(path).unwrap() } else { String::new() }
    };
    entries.map(text).collect()
}

#[test]
fn what_holds_a_row_of_the_table_on_a_kernel_is_a_test() {
    let tests = tests_of_the_whole(std::path::Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/tests")));
    for TableRow { id, text, gives, test } in table_of_commands() {
        let exists = test == "—" || tests.contains(&format!("#[test]\nfn {test}()"));
        assert!(exists, "{id} {text:?}: there is no test {test}");
        assert!(gives != "capture" || test != "—", "{id} {text:?} is recorded, and no test holds it on a kernel");
    }
}

#[test]
fn a_capture_says_what_it_costs() {
    let cases = [
        ("perf record -F 99 -a -g", "5 to 15 µs for each sample, 99 a second on each CPU"),
        ("perf record --call-graph dwarf -p 1", "and a copy of its stack for each sample"),
        ("perf record -e page-faults -c 1 -g -p 1", "5 to 15 µs for each sample."),
        ("perf stat -a -e sched:sched_switch", "little: at most 0.2 µs for each event that the kernel counts for it."),
        ("strace -f -p 1", "about 1 µs for each system call, 0.2 µs for each call of others"),
        ("sysdig evt.type=open", "about 1 µs for each system call."),
        ("perf sched record sleep 1", "0.2 µs for each switch and wake-up"),
        (
            "trace-cmd record -p function sleep 1",
            "0.2 µs for each call of all functions, of which there are millions a second.",
        ),
        (
            "trace-cmd record -p function_graph -g vfs_read -e sched_switch sleep 1",
            "0.4 µs for each call, 0.3 µs for each event.",
        ),
        ("perf probe --add vfs_read\nperf record -e probe:vfs_read -a", "1 to 2 µs for each hit of a probe."),
        ("bpftrace -e 'kprobe:vfs_read { @ = count(); }'", "0.1 to 0.5 µs for each hit of a probe in the kernel"),
    ];
    for (text, expected) in cases {
        let Answer::Capture(planned) = explain(text, &Recorded::new()).answer else { panic!("{text}") };
        let cost = cost_of(&planned.spec);
        assert!(cost.contains(expected) && cost.ends_with("The limit is 5 % of one CPU."), "{text}: {cost}");
    }
}

#[test]
fn kept_probes_are_recorded_by_their_names() {
    struct Keeps(Vec<KeptProbe>);
    impl Host for Keeps {
        fn kept_probes(&self) -> &[KeptProbe] {
            &self.0
        }
    }
    let kept = |name: &str, typed: &str| KeptProbe { name: name.to_owned(), probe: typed.into() };
    let host = Keeps(vec![
        kept("probe:vfs_read", "vfs_read count"),
        kept("probe:vfs_slow", "vfs_slow=vfs_write"),
        kept("probe_libc:malloc", "malloc"),
    ]);
    let cases = [
        ("perf stat -e probe:vfs_read -a sleep 1", "vfs_read count"),
        ("perf record -e 'probe:vfs_*' -a", "vfs_read count; vfs_slow=vfs_write"),
        ("perf trace -e probe:vfs_slow -a", "vfs_slow=vfs_write"),
        ("perf trace -e 'probe*:*' -a", "vfs_read count; vfs_slow=vfs_write; malloc"),
        ("trace-cmd record -e probe:vfs_read sleep 1", "vfs_read count"),
        ("trace-cmd record -e probe sleep 1", "vfs_read count; vfs_slow=vfs_write"),
        // What the text defines goes before what is kept.
        ("perf probe --add 'vfs_read pos'\nperf record -e probe:vfs_read -a", "vfs_read pos"),
    ];
    for (text, expected) in cases {
        let explanation = explain(text, &host);
        let Answer::Capture(planned) = &explanation.answer else { panic!("{text}: {explanation:?}") };
        let probes = planned.spec.methods().flat_map(|method| method.dynamic().iter());
        let typed: Vec<&str> = probes.map(|probe| probe.typed.as_str()).collect();
        assert_eq!(typed.join("; "), expected, "{text}");
        let is_told = explanation.notes.iter().any(|note| note.text.contains("is kept in the library"));
        assert_eq!(is_told, !text.contains("--add"), "{text}: {:?}", explanation.notes);
    }
    let Answer::Probes { add, remove, force, dry_run } = explain("perf probe -f -n -d 'x*' -a vfs_read", &host).answer
    else {
        panic!()
    };
    assert_eq!((add.len(), remove, force, dry_run), (1, vec!["x*".to_owned()], true, true));
}
