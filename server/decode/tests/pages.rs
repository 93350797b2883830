//! Pages that real kernels wrote (`tests/ftrace/record`), compared with the kernels' own text of the same events; and
//! pages that no kernel wrote.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{collections::BTreeMap, fs, path::PathBuf};

use bathyscope_decode::pages::{
    Call, CallEntry, CallExit, CallState, Calls, Events, Layout, Missed, Page, PageError, PageLayoutError, Role, value,
    write_value,
};
use proptest::prelude::*;

const KERNELS: [&str; 3] = ["6.1", "6.12", "6.18"];

fn folder(kernel: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ftrace")).join(kernel)
}

struct Recorded {
    layout: Layout,
    events: Events,
    /// Each CPU's pages, in order.
    pages: BTreeMap<u32, Vec<Vec<u8>>>,
    text: String,
    /// Functions by address.
    symbols: BTreeMap<u64, String>,
}

fn layout(kernel: &str) -> Layout {
    let read = |name: &str| fs::read(folder(kernel).join("formats").join(name)).unwrap();
    Layout::parse(&read("header_page"), &read("header_event")).unwrap()
}

fn recorded(kernel: &str, scenario: &str) -> Recorded {
    let folder = folder(kernel);
    let layout = layout(kernel);
    let mut events = Events::default();
    for entry in fs::read_dir(folder.join("formats")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !name.starts_with("header_") {
            events.add(&name, &fs::read(&path).unwrap()).unwrap();
        }
    }
    let mut pages = BTreeMap::new();
    for cpu in 0..4_u32 {
        let Ok(bytes) = fs::read(folder.join(scenario).join(format!("cpu{cpu}.pages"))) else { continue };
        pages.insert(cpu, bytes.chunks(layout.page_bytes()).map(<[u8]>::to_vec).collect());
    }
    let text = |name: &str| fs::read_to_string(folder.join(scenario).join(name)).unwrap();
    let symbols = text("symbols");
    let symbols = symbols.lines().map(|line| {
        let words: Vec<_> = line.split_whitespace().collect();
        (u64::from_str_radix(words[0], 16).unwrap(), words[2..].join(" "))
    });
    Recorded { layout, events, pages, symbols: symbols.collect(), text: text("trace") }
}

/// A record, owned, with its place.
struct Record {
    time: u64,
    cpu: u32,
    id: u32,
    tid: u32,
    bytes: Vec<u8>,
}

impl Recorded {
    /// All records in the order of their time; those of one CPU keep their order.
    fn records(&self) -> Vec<Record> {
        let mut records = Vec::new();
        for (cpu, pages) in &self.pages {
            for page in pages {
                for event in Page::parse(&self.layout, page).unwrap().events() {
                    let event = event.unwrap();
                    let (id, tid) = self.events.head(event.record).unwrap();
                    records.push(Record { time: event.time, cpu: *cpu, id, tid, bytes: event.record.to_vec() });
                }
            }
        }
        records.sort_by_key(|record| record.time);
        records
    }

    fn name(&self, record: &Record) -> &str {
        &self.events.format(record.id).unwrap_or_else(|| panic!("no format of event {}", record.id)).name
    }

    fn field(&self, record: &Record, name: &str) -> String {
        let field = self.events.format(record.id).unwrap().field(name).unwrap();
        let mut out = String::new();
        write_value(&value(field, &record.bytes).unwrap(), &mut out).unwrap();
        out
    }

    fn symbol(&self, address: u64) -> String {
        self.symbols.range(..=address).next_back().map_or_else(|| format!("{address:#x}"), |(_, name)| name.clone())
    }

    /// What the kernel prints behind the event's name, for the events whose text is known here.
    fn fields_text(&self, record: &Record) -> Option<String> {
        let field = |name: &str| self.field(record, name);
        let hex = |name: &str| format!("{:#x}", field(name).parse::<u64>().unwrap());
        Some(match self.name(record) {
            "sys_exit" => format!("NR {} = {}", field("id"), field("ret")),
            "sched_process_exec" => {
                format!("filename={} pid={} old_pid={}", field("filename"), field("pid"), field("old_pid"))
            }
            "sched_wakeup" => format!(
                "comm={} pid={} prio={} target_cpu={:0>3}",
                field("comm"),
                field("pid"),
                field("prio"),
                field("target_cpu")
            ),
            "start" => format!(
                "({}) top={} name=\"{}\" count={} words={}",
                hex("__probe_ip"),
                field("top"),
                field("name"),
                field("count"),
                hexadecimal(&field("words"))
            ),
            "texts" => format!("({}) text=\"{}\"", hex("__probe_ip"), field("text")),
            "print" => field("buf").trim_end_matches("\\n").to_owned(),
            "function" => {
                let address = |name: &str| field(name).parse::<u64>().unwrap();
                format!("{} <-{}", self.symbol(address("ip")), self.symbol(address("parent_ip")))
            }
            _ => return None,
        })
    }

    fn calls(&self) -> (Vec<Call>, Vec<Call>) {
        let (mut calls, mut out) = (Calls::default(), Vec::new());
        let records = self.records();
        for Record { time, cpu, id, tid, bytes } in &records {
            match self.events.role(*id) {
                Some(Role::GraphEntry(fields)) => calls.enter(*cpu, *tid, *time, fields.read(bytes).unwrap(), &mut out),
                Some(Role::GraphExit(fields)) => calls.leave(*cpu, *tid, *time, fields.read(bytes).unwrap(), &mut out),
                _ => {}
            }
        }
        let mut open = Vec::new();
        calls.finish(records.last().unwrap().time, &mut open);
        (out, open)
    }
}

fn hexadecimal(list: &str) -> String {
    let numbers = list.trim_matches(['{', '}']).split(',').map(|n| format!("{:#x}", n.parse::<u64>().unwrap()));
    format!("{{{}}}", numbers.collect::<Vec<_>>().join(","))
}

/// `   COMM-TID   [CPU] FLAGS  SECONDS: EVENT: FIELDS`
fn line(text: &str) -> (u32, u32, String, String) {
    let (head, rest) = text.split_once("] ").unwrap();
    let (task, cpu) = head.rsplit_once('[').unwrap();
    let tid = task.trim().rsplit_once('-').unwrap().1.parse().unwrap();
    let (time, rest) = rest.split_once(": ").unwrap();
    let time = time.split_whitespace().last().unwrap();
    (tid, cpu.parse().unwrap(), time.to_owned(), rest.to_owned())
}

/// Microseconds as `trace` shows them.
fn seconds(time: u64) -> String {
    let micros = (time + 500) / 1000;
    format!("{}.{:06}", micros / 1_000_000, micros % 1_000_000)
}

#[test]
fn records_are_those_of_the_kernels_own_text() {
    for (kernel, scenario) in
        [("6.1", "events"), ("6.12", "events"), ("6.18", "events"), ("6.1", "function"), ("6.12", "function")]
    {
        let recorded = recorded(kernel, scenario);
        let records = recorded.records();
        let lines: Vec<_> = recorded.text.lines().map(line).collect();
        assert_eq!(records.len(), lines.len(), "{kernel} {scenario}");
        let mut known = 0;
        for (record, (tid, cpu, time, text)) in records.iter().zip(lines) {
            assert_eq!((record.tid, record.cpu, seconds(record.time)), (tid, cpu, time), "{kernel} {scenario}: {text}");
            // System calls are shown as calls, the functions without a name before them, markers by the writer's.
            let name = match recorded.name(record) {
                "function" => String::new(),
                "print" => "tracing_mark_write: ".to_owned(),
                name if name.starts_with("sys_enter_") => format!("{}(", name.replace("enter_", "")),
                name => format!("{name}: "),
            };
            let fields = text.strip_prefix(&name).unwrap_or_else(|| panic!("{kernel} {scenario}: {name} is {text}"));
            if let Some(expected) = recorded.fields_text(record) {
                assert_eq!(expected, fields, "{kernel} {scenario}");
                known += 1;
            }
        }
        assert!(known > 20, "{kernel} {scenario}: only {known} lines were compared");
    }
}

/// A line of `function_graph`'s text, without its margins: time of the record, duration, what.
fn graph_line(text: &str) -> (String, String, String) {
    let columns: Vec<_> = text.split('|').collect();
    let duration = columns[2].trim_start_matches(|c: char| !c.is_ascii_digit()).trim().to_owned();
    (columns[0].trim().to_owned(), duration, columns[3].to_owned())
}

/// Microseconds as `function_graph` shows them.
fn truncated(time: u64) -> String {
    seconds(time - time % 1000)
}

/// As the kernel writes it: microseconds, and as many digits behind the point as there is room for.
fn duration(ns: u64) -> String {
    let micros = (ns / 1000).to_string();
    let rest = format!("{:03}", ns % 1000);
    let room = 7_usize.saturating_sub(micros.len()).min(3);
    if room == 0 { format!("{micros} us") } else { format!("{micros}.{} us", &rest[..room]) }
}

#[test]
fn calls_are_the_tree_that_the_kernel_draws() {
    for kernel in ["6.1", "6.12"] {
        let recorded = recorded(kernel, "graph");
        let (calls, open) = recorded.calls();
        assert!(open.is_empty(), "{kernel}: {open:?}");
        let mut lines: Vec<(u64, bool, (String, String, String))> = Vec::new();
        for call in &calls {
            let name = recorded.symbol(call.function);
            let ns = duration(call.duration_ns.unwrap());
            let indent = " ".repeat(2 + 2 * call.depth as usize);
            let leaf = !calls.iter().any(|other| {
                other.depth == call.depth + 1
                    && other.start >= call.start
                    && other.end <= call.end
                    && other.tid == call.tid
            });
            match call.state {
                CallState::Returned if leaf => {
                    let start = call.start.unwrap();
                    lines.push((start, false, (truncated(start), ns, format!("{indent}{name}();"))));
                }
                CallState::Returned => {
                    let start = call.start.unwrap();
                    lines.push((start, false, (truncated(start), String::new(), format!("{indent}{name}() {{"))));
                    lines.push((call.end, true, (truncated(call.end), ns, format!("{indent}}} /* {name} */"))));
                }
                CallState::Unstarted => {
                    lines.push((call.end, true, (truncated(call.end), ns, format!("{indent}}} /* {name} */"))))
                }
                CallState::Unfinished => panic!("{kernel}: {call:?}"),
            }
        }
        lines.sort_by_key(|(time, _, _)| *time);
        let ours: Vec<_> = lines.into_iter().map(|(_, _, line)| line).collect();
        let theirs: Vec<_> = recorded.text.lines().filter(|line| line.contains('|')).map(graph_line).collect();
        assert_eq!(ours, theirs, "{kernel}");
        // The caller is the call around it.
        let nested = calls.iter().filter(|call| call.depth > 0 && call.state == CallState::Returned);
        let callers = nested.map(|call| (recorded.symbol(call.function), recorded.symbol(call.caller.unwrap())));
        assert!(callers.into_iter().any(|pair| pair == ("do_dentry_open".to_owned(), "vfs_open".to_owned())));
    }
}

#[test]
fn what_was_lost_is_told_with_its_count() {
    for kernel in ["6.1", "6.12"] {
        let recorded = recorded(kernel, "lost");
        let missed: Vec<_> = recorded
            .pages
            .values()
            .flatten()
            .map(|page| Page::parse(&recorded.layout, page).unwrap().missed())
            .collect();
        assert!(matches!(missed[0], Missed::Counted(100..5000)), "{kernel}: {missed:?}");
        assert!(missed[1..].iter().all(|missed| *missed == Missed::Nothing), "{kernel}: {missed:?}");
        assert_eq!(recorded.records().len(), recorded.text.lines().filter(|line| line.contains("sys_exit")).count());
    }
}

#[test]
fn descriptions_that_are_cut_or_strange_are_refused() {
    let read = |name: &str| fs::read_to_string(folder("6.1").join("formats").join(name)).unwrap();
    let (page, event) = (read("header_page"), read("header_event"));
    let parse = |page: &str, event: &str| Layout::parse(page.as_bytes(), event.as_bytes());
    assert_eq!(parse(&page, &event).unwrap().page_bytes(), 4096);
    assert_eq!(parse(page.lines().next().unwrap(), &event), Err(PageLayoutError::Field("commit")));
    assert_eq!(parse("", &event), Err(PageLayoutError::Field("timestamp")));
    assert_eq!(parse(&page, &event.replace("27 bits", "26 bits")), Err(PageLayoutError::Event("time_delta")));
    assert_eq!(parse(&page, &event.replace("28", "27")), Err(PageLayoutError::Event("data max type_len")));
    assert_eq!(parse(&page, ""), Err(PageLayoutError::Event("type_len")));
    let moved = page.replace("timestamp;\toffset:0", "timestamp;\toffset:12");
    assert_eq!(parse(&moved, &event), Err(PageLayoutError::Field("timestamp")));
}

#[test]
fn formats_that_cannot_be_are_refused() {
    let read = |name: &str| fs::read_to_string(folder("6.1").join("formats").join(name)).unwrap();
    let (exit, entry) = (read("raw_syscalls.sys_exit"), read("ftrace.funcgraph_entry"));
    let mut events = Events::default();
    let id = events.add("exit", exit.as_bytes()).unwrap();
    assert_eq!(events.role(id), Some(&Role::Fields));
    let mut refused = |text: &str| events.add("other", text.as_bytes()).unwrap_err().to_string();
    assert!(refused(&exit).contains("which another event has"));
    assert!(refused(&exit.replace("common_pid", "pid")).contains("no usable field `common_pid`"));
    assert!(refused(&entry.replace("common_pid;\toffset:4", "common_pid;\toffset:8")).contains("no usable field"));
    assert!(refused("name: x").contains("cannot be read"));
    let large = exit.lines().map(|line| if line.starts_with("ID:") { "ID: 65536" } else { line });
    assert!(refused(&large.collect::<Vec<_>>().join("\n")).contains("larger than an event's can be"));
    // The name of the tracer's event without its fields is just an event.
    let named = events.add("named", entry.replace("func;", "other;").as_bytes()).unwrap();
    assert_eq!(events.role(named), Some(&Role::Fields));
}

/// A page with these words as its events.
fn page(time: u64, words: &[u32]) -> Vec<u8> {
    let mut page = time.to_le_bytes().to_vec();
    page.extend((words.len() as u64 * 4).to_le_bytes());
    page.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    page.resize(4096, 0);
    page
}

fn head(kind: u32, delta: u32) -> u32 {
    kind | delta << 5
}

#[test]
fn every_kind_of_event_of_a_page() {
    let layout = layout("6.1");
    let times = |time: u64, words: &[u32]| {
        let page = page(time, words);
        let page = Page::parse(&layout, &page).unwrap();
        page.events().map(|event| event.map(|event| (event.time, event.record.len()))).collect::<Vec<_>>()
    };
    let broken = |at, length| Err(PageError::Event { at, length });
    assert_eq!(times(100, &[head(1, 5), 0, head(2, 7), 0, 0]), [Ok((105, 4)), Ok((112, 8))]);
    // A long record; its length counts its own word.
    assert_eq!(times(0, &[head(0, 1), 12, 0, 0, head(1, 1), 0]), [Ok((1, 8)), Ok((2, 4))]);
    assert_eq!(times(0, &[head(30, 3), 2, head(1, 4), 0]), [Ok(((2 << 27) + 7, 4))]);
    // An absolute time takes its upper bits from the time before, and does not go back over their border.
    assert_eq!(times(9, &[head(31, 3), 2, head(1, 0), 0]), [Ok(((2 << 27) + 3, 4))]);
    assert_eq!(times(3 << 59, &[head(31, 3), 2, head(1, 0), 0]), [Ok(((3 << 59) + (2 << 27) + 3, 4))]);
    assert_eq!(times((4 << 59) - 1, &[head(31, 3), 2, head(1, 0), 0]), [Ok(((4 << 59) + (2 << 27) + 3, 4))]);
    // Discarded, with its time; then the unused rest.
    assert_eq!(times(0, &[head(29, 9), 8, 0, head(1, 1), 0, head(29, 0), 77]), [Ok((10, 4))]);
    assert_eq!(times(0, &[head(29, 1), 4, head(1, 1), 0, head(1, 1)]), [Ok((1, 4)), broken(16, 20)]);
    assert_eq!(times(0, &[head(3, 1), 0]), [broken(0, 8)]);
    assert_eq!(times(0, &[head(1, 1), 0, head(0, 1), 3]), [Ok((1, 4)), broken(8, 16)]);
    assert_eq!(times(0, &[head(0, 1), u32::MAX]), [broken(0, 8)]);
    assert_eq!(times(0, &[head(30, 1)]), [broken(0, 4)]);
    assert!(times(0, &[]).is_empty());
}

#[test]
fn heads_of_pages() {
    let layout = layout("6.1");
    let mut bytes = page(7, &[head(1, 0), 0]);
    assert_eq!(Page::parse(&layout, &bytes[..10]).unwrap_err(), PageError::Short { bytes: 10 });
    assert_eq!(Page::parse(&layout, &bytes[..20]).unwrap_err(), PageError::Commit { bytes: 20, claimed: 8 });
    // A read may give less than a whole page.
    assert_eq!(Page::parse(&layout, &bytes[..24]).unwrap().events().count(), 1);
    let mut missed = |flags: u8, count: u64| {
        bytes[11] = flags;
        bytes[24..32].copy_from_slice(&count.to_le_bytes());
        Page::parse(&layout, &bytes).unwrap().missed()
    };
    assert_eq!(missed(0x00, 5), Missed::Nothing);
    assert_eq!(missed(0x80, 5), Missed::Uncounted);
    assert_eq!(missed(0xc0, 5), Missed::Counted(5));
    assert_eq!(missed(0xc0, 0), Missed::Uncounted);
    assert_eq!(missed(0xc0, u64::MAX), Missed::Uncounted);
}

/// What happens, to which function, at which depth, when.
type Step = (&'static str, u64, u32, u64);

/// Steps of a task: `>` enters and `<` leaves a function at a depth; `!` loses events of CPU 0.
fn assemble(steps: &[Step]) -> String {
    let (mut calls, mut out) = (Calls::default(), Vec::new());
    for (what, function, depth, time) in steps {
        let (function, depth, time) = (*function, *depth, *time);
        match *what {
            ">" => calls.enter(0, 5, time, CallEntry { function, depth, caller: None }, &mut out),
            "!" => calls.lost(0),
            took => {
                let duration_ns = took.trim_start_matches('<').parse().ok();
                let exit = CallExit { function, depth, duration_ns, overrun: 0, value: None };
                calls.leave(0, 5, time, exit, &mut out);
            }
        }
    }
    calls.finish(1_000_000, &mut out);
    let show = |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    let lines = out.iter().map(|call| {
        let (start, took, caller) = (show(call.start), show(call.duration_ns), show(call.caller));
        format!("{}@{} {start}+{took} by {caller} {}", call.function, call.depth, call.state.word())
    });
    lines.collect::<Vec<_>>().join("; ")
}

#[test]
fn calls_with_missing_ends_are_marked() {
    let cases: [(&[Step], &str); 9] = [
        (
            &[(">", 1, 0, 10), (">", 2, 1, 20), ("<7", 2, 1, 30), ("<25", 1, 0, 40)],
            "2@1 20+7 by 1 returned; 1@0 10+25 by ? returned",
        ),
        // A kernel that does not write durations.
        (&[(">", 1, 0, 10), ("<", 1, 0, 40)], "1@0 10+30 by ? returned"),
        (&[("<", 1, 0, 40)], "1@0 ?+? by ? unstarted"),
        (&[("<15", 1, 0, 40)], "1@0 25+15 by ? unstarted"),
        (&[(">", 1, 0, 10)], "1@0 10+? by ? unfinished"),
        // An exit is missing: the next entry is not deeper.
        (&[(">", 1, 0, 10), (">", 2, 0, 20), ("<5", 2, 0, 30)], "1@0 10+? by ? unfinished; 2@0 20+5 by ? returned"),
        // Entries are missing between.
        (
            &[(">", 1, 0, 10), (">", 3, 2, 20), ("<5", 3, 2, 30), ("<9", 2, 1, 31), ("<25", 1, 0, 40)],
            "3@2 20+5 by ? returned; 2@1 22+9 by 1 unstarted; 1@0 10+25 by ? returned",
        ),
        // After a loss, an exit is that of the entry before it only if both agree about the length.
        (&[(">", 1, 0, 10), ("!", 0, 0, 0), ("<300000", 1, 0, 300_010)], "1@0 10+300000 by ? returned"),
        (
            &[(">", 1, 0, 10), ("!", 0, 0, 0), ("<5", 1, 0, 300_010)],
            "1@0 10+? by ? unfinished; 1@0 300005+5 by ? unstarted",
        ),
    ];
    for (steps, expected) in cases {
        assert_eq!(assemble(steps), expected, "{steps:?}");
    }
}

/// Reads everything that a page may tell; whatever it is, this ends without a panic.
fn read_all(kernel: &str, bytes: &[u8]) {
    let Recorded { layout, events, .. } = recorded_formats(kernel);
    let Ok(page) = Page::parse(&layout, bytes) else { return };
    let (mut calls, mut out, mut text) = (Calls::default(), Vec::new(), String::new());
    let mut last = 0;
    for event in page.events() {
        let Ok(event) = event else { break };
        last = event.time;
        let Some((id, tid)) = events.head(event.record) else { continue };
        for field in events.format(id).map(|format| format.fields.as_slice()).unwrap_or_default() {
            if let Some(value) = value(field, event.record) {
                write_value(&value, &mut text).unwrap();
            }
        }
        match events.role(id) {
            Some(Role::GraphEntry(fields)) => {
                if let Some(entry) = fields.read(event.record) {
                    calls.enter(0, tid, event.time, entry, &mut out);
                }
            }
            Some(Role::GraphExit(fields)) => {
                if let Some(exit) = fields.read(event.record) {
                    calls.leave(0, tid, event.time, exit, &mut out);
                }
            }
            _ => {}
        }
    }
    calls.finish(last, &mut out);
    assert!(out.len() <= bytes.len() && text.len() <= bytes.len() * 64);
}

fn recorded_formats(kernel: &str) -> Recorded {
    let scenario = if kernel == "6.18" { "events" } else { "graph" };
    recorded(kernel, scenario)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn random_pages_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..4200), commit in 0_u16..4100) {
        let mut bytes = bytes;
        for kernel in KERNELS {
            read_all(kernel, &bytes);
        }
        // With a length that fits, so that the events are read.
        if bytes.len() > 16 {
            bytes[8..16].copy_from_slice(&(u64::from(commit) | 0xc000_0000).to_le_bytes());
            read_all("6.1", &bytes);
        }
    }

    #[test]
    fn mutated_pages_never_panic(
        which in any::<prop::sample::Index>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30),
        length in any::<prop::sample::Index>(),
    ) {
        for (kernel, scenario) in [("6.1", "graph"), ("6.12", "graph"), ("6.18", "events"), ("6.1", "function")] {
            let recorded = recorded(kernel, scenario);
            let pages: Vec<_> = recorded.pages.values().flatten().collect();
            let mut page = which.get(&pages).to_vec();
            for (at, byte) in &changes {
                let at = at.index(page.len());
                page[at] = *byte;
            }
            read_all(kernel, &page);
            page.truncate(length.index(page.len()));
            read_all(kernel, &page);
        }
    }
}
