//! P07: what a share removes is in no answer of any route below it, and no filter and no search tells whether it was there.

use std::collections::{BTreeMap, BTreeSet};

use bathyscope_capture::{
    Append, Batch, CaptureId, CaptureSpec, CodeLines, Column, ColumnData, ColumnType, Display, Frame, FunctionCode,
    HostFacts, Ledger, Limits, Machine, Mapping, MappingKind, Method, OutputLine, OutputStream, ProcessChange,
    ProcessChangeKind, ProfileSpec, SourceSpec, StreamKind, StreamSchema, StreamTotals, Symbol, SymbolLine,
    SyscallSpec, Target, encode_chunk,
};
use bathyscope_console::http::table;
use bathyscope_store::{CaptureState, End, NewCapture, Role, Store};
use serde_json::json;

use super::{
    computed::settled,
    harness::{Answer, Console, held_by, simulated},
    recording::{console, start},
    roles::address,
    shares::{Link, share},
};

const ID: CaptureId = CaptureId::from_bits(0x5ec2e7);
const START_NS: u64 = 1_000_000_000;
/// An address of memory, as a number; it is also written in base sixteen.
const POINTER: u64 = 0x7fab_cdef_1234;
/// A port.
const PORT: u64 = 47_811;

/// What was planted, by what removes it.
const PLANTED: [(&str, &[&str]); 5] = [
    ("arguments", &["planted-argument", "planted-script"]),
    ("paths", &["planted-path", "planted-source", "planted-library"]),
    ("names", &["planted-comm", "planted-user", "planted-host", "planted-owner"]),
    ("addresses", &["203.0.113.77", "140375871132212", "7fabcdef1234", "47811"]),
    // What people or the console wrote of it freely, and what any choice removes.
    ("", &["planted-title", "planted-reason", "planted-note", "planted-output", "planted-filter"]),
];

fn column(name: &str, ty: ColumnType, display: Display) -> Column {
    Column { name: name.to_owned(), ty, display }
}

/// Calls, events of two kinds, and samples.
fn schemas() -> Vec<StreamSchema> {
    let text = |name| column(name, ColumnType::Text, Display::Text);
    let calls = [
        text("call"),
        text("args"),
        column("result", ColumnType::I64, Display::Decimal),
        text("error"),
        column("duration_ns", ColumnType::U64, Display::DurationNs),
        text("note"),
        text("kind"),
        text("abi"),
    ];
    let sent = [
        column("skaddr", ColumnType::U64, Display::Hex),
        column("dport", ColumnType::U64, Display::Decimal),
        text("daddr"),
        column("offset", ColumnType::I64, Display::Decimal),
    ];
    let of = |source: &str, schema: StreamSchema| StreamSchema { source: source.to_owned(), ..schema };
    vec![
        of("syscalls", StreamSchema::new("syscalls", StreamKind::Events, calls)),
        of("events", StreamSchema::new("sched:sched_process_exec", StreamKind::Events, [text("filename")])),
        of("events", StreamSchema::new("tcp:tcp_retransmit_skb", StreamKind::Events, sent)),
        of(
            "profile",
            StreamSchema::new("cycles", StreamKind::Samples, [column("stack", ColumnType::Stack, Display::Text)]),
        ),
        of("events", StreamSchema::new("uprobes:/srv/planted-path/libx.so:f", StreamKind::Events, [text("arg1")])),
    ]
}

const STRINGS: [&str; 12] = [
    "planted-comm",
    "openat",
    "AT_FDCWD, \"/srv/planted-path/ledger\", \"planted-argument\", {203.0.113.77:47811}, 0x7fabcdef1234",
    "ENOENT",
    "planted-argument in a note",
    "call",
    "64",
    "/srv/planted-path/program",
    "203.0.113.77",
    "planted-argument",
    "planted-user",
    "/planted-user.slice/planted-comm.service",
];

/// The rows of each stream: a few at different times.
fn batches() -> Vec<Batch> {
    let rows = 6_u64;
    let numbers = |of: &dyn Fn(u64) -> u64| ColumnData::U64((0..rows).map(of).collect());
    let signed = |value: i64| ColumnData::I64(vec![value; rows as usize]);
    let ids = |id: u32| ColumnData::Id(vec![id; rows as usize]);
    let common = || {
        let pids = || numbers(&|_| 4711);
        vec![numbers(&|row| START_NS + row * 1000), numbers(&|row| row % 2), pids(), pids(), ids(1)]
    };
    let with = |own: Vec<ColumnData>| Batch { columns: [common(), own].concat() };
    vec![
        with(vec![
            ids(2),
            ids(3),
            signed(POINTER.cast_signed()),
            ids(4),
            numbers(&|row| 100 + row),
            ids(5),
            ids(6),
            ids(7),
        ]),
        with(vec![ids(8)]),
        with(vec![numbers(&|_| POINTER), numbers(&|_| PORT), ids(9), signed(POINTER.cast_signed())]),
        with(vec![ids(1)]),
        with(vec![ids(10)]),
    ]
}

fn append() -> Append {
    let chunks = schemas().into_iter().zip(batches()).map(|(schema, batch)| encode_chunk(&schema, &batch).unwrap());
    let mapping = |kind, name: &str| Mapping { kind, build_id: vec![7; 20], name: name.into(), pid: 0 };
    let line = |file: &str| SymbolLine { function: "work".to_owned(), file: file.to_owned(), line: 3 };
    let symbol = |function: &str, lines| Symbol { function: function.to_owned(), offset: 0, lines };
    let change = |tid, kind| ProcessChange { time_ns: 0, pid: 4711, tid, kind };
    let mut lines = CodeLines::default();
    lines.push(0, "work", "/srv/planted-source/work.c", 3);
    let code = FunctionCode {
        mapping: 1,
        start: 0x10,
        address: 0x10,
        length: 1,
        machine: Machine::X86_64,
        bytes: vec![0xc3],
        lines,
        missing: None,
    };
    Append {
        chunks: (0..).zip(chunks).collect(),
        strings: (1..).zip(STRINGS.map(|text| text.as_bytes().to_vec())).collect(),
        mappings: vec![
            (1, mapping(MappingKind::File, "/srv/planted-library/libx.so")),
            (2, mapping(MappingKind::Anonymous, "//anon")),
        ],
        frames: vec![
            (1, Frame { mapping: 1, offset: 0x10 }),
            (2, Frame { mapping: 2, offset: POINTER }),
            (3, Frame { mapping: 1, offset: 0x40 }),
        ],
        stacks: vec![(1, [1, 2, 3].as_slice().into())],
        symbols: vec![
            (1, symbol("work", vec![line("/srv/planted-source/work.c")])),
            (2, symbol("LazyCompile:*handle /srv/planted-source/handle.js:10:5", Vec::new())),
        ],
        code: vec![code],
        processes: vec![
            change(4711, ProcessChangeKind::Existing { comm: 1 }),
            change(0, ProcessChangeKind::User { name: 11 }),
            change(0, ProcessChangeKind::Group { path: 12 }),
        ],
        output: vec![OutputLine {
            time_ns: START_NS,
            stream: OutputStream::Stdout,
            bytes: b"planted-output\n".to_vec(),
        }],
        ledger: None,
        end_ns: START_NS + 6000,
    }
}

/// A capture in which something of each kind was planted, wherever it can be.
async fn plant(store: &Store) {
    let calls = SyscallSpec {
        path: Some("/srv/planted-path".to_owned()),
        filter: Some("proc.name = planted-filter".to_owned()),
        ..SyscallSpec::default()
    };
    let source = |id: &str, method| SourceSpec { id: id.to_owned(), ..SourceSpec::of(method) };
    let argv = ["/srv/planted-path/program", "planted-argument"].map(str::to_owned).to_vec();
    let new = NewCapture {
        id: ID,
        title: "planted-title".to_owned(),
        owner: "planted-owner".to_owned(),
        spec: CaptureSpec {
            name: "planted-title".to_owned(),
            sources: vec![
                source("syscalls", Method::Syscalls(calls)),
                source("events", Method::Events { probes: Vec::new() }),
                source("profile", Method::Profile(ProfileSpec::default())),
                source(
                    "script",
                    Method::Script(bathyscope_capture::ScriptSpec {
                        text: "begin { printf(\"planted-script\") }".to_owned(),
                        ..bathyscope_capture::ScriptSpec::default()
                    }),
                ),
            ],
            target: Target::Command { argv, user: Some("planted-user".to_owned()), children: true },
            limits: Limits::default(),
        },
        host: HostFacts {
            hostname: "planted-host".to_owned(),
            target_name: "planted-comm".to_owned(),
            ..HostFacts::default()
        },
        streams: schemas(),
        started_unix_ns: 1_700_000_000_000_000_000,
        start_ns: START_NS,
        simulated: true,
        firing: None,
    };
    store.create(new).await.unwrap();
    store.append(ID, append()).await.unwrap();
    let totals = StreamTotals { hits: 6, filtered: 0, emitted: 6, stored: 6 };
    let end = End {
        state: CaptureState::Finished,
        reason: "planted-reason".to_owned(),
        end_ns: START_NS + 6000,
        ledger: Ledger { streams: vec![totals; 5], losses: Vec::new() },
        readings: vec![None; 5],
        script: None,
        sources: Vec::new(),
    };
    store.finish(ID, end).await.unwrap();
}

/// What each route below a share is asked with: empty for nothing. A route that is not here fails the test.
const QUERIES: &[(&str, &[&str])] = &[
    ("", &[""]),
    ("/notes", &[""]),
    ("/output", &[""]),
    (
        "/rows",
        &[
            "?stream=0",
            "?stream=1",
            "?stream=2",
            "?stream=3",
            "?stream=4",
            "?stream=0&limit=100&sort=args",
            "?stream=2&sort=skaddr",
        ],
    ),
    ("/rows/times", &["?stream=0", "?stream=2"]),
    ("/facets", &["?stream=0", "?stream=1", "?stream=2", "?stream=3", "?stream=4"]),
    (
        "/pivot",
        &[
            "?stream=0&by=comm,args",
            "?stream=1&by=filename",
            "?stream=2&by=skaddr,dport,daddr",
            "?stream=2&values=max:skaddr,min:offset",
        ],
    ),
    (
        "/pivot/compare",
        &[
            "?stream=0&by=comm,args",
            "?stream=1&by=filename",
            "?stream=2&by=skaddr,dport,daddr&with_end=3000",
            "?stream=2&values=max:skaddr,min:offset",
        ],
    ),
    ("/rate", &["", "?stream=0"]),
    ("/timeline", &["", "?group=process", "?group=cpu"]),
    ("/find", &["?find=e&long=1", "?find=planted", "?find=203"]),
    ("/find/step", &["?find=e&from=0", "?find=planted&from=0"]),
    ("/counts", &[""]),
    ("/script", &[""]),
    ("/maps", &[""]),
    ("/maps/{n}", &["", "?view=flame", "?view=histogram"]),
    ("/maps/{n}/compare", &[""]),
    ("/text", &[""]),
    (
        "/export",
        &[
            "?format=csv&stream=0",
            "?format=csv&stream=2",
            "?format=ndjson&stream=0",
            "?format=ndjson&stream=4",
            "?format=rows&stream=0",
            "?format=rows&stream=1",
            "?format=folded&stream=3",
            "?format=folded&stream=3&by=process",
            "?format=svg&stream=3",
            "?format=svg_plain&stream=3&by=process",
            "?format=bathy",
        ],
    ),
    (
        "/file",
        &[
            "",
            "?tabs=events,timeline,flame,distribution,info",
            "?tabs=systemcalls",
            "?view=stream%3D1&tabs=events",
            "?view=stream%3D2%26spread%3Dheat%26column%3Dskaddr&tabs=events,distribution",
        ],
    ),
    ("/live", &[""]),
    ("/tracks", &[""]),
    ("/tracks/window", &["?tracks=0.0&width=400"]),
    ("/tracks/moment", &["?tracks=0.0&time=0"]),
    ("/tracks/instant", &["?stream=1&time=0", "?stream=0&time=0"]),
    ("/tracks/critical-path", &["?thread=tid:4711"]),
    ("/range/threads", &[""]),
    ("/range/slices", &["", "?stream=0"]),
    ("/range/waits", &[""]),
    ("/range/counters", &[""]),
    ("/range/wakeups", &[""]),
    ("/range/amounts", &["", "?stream=0"]),
    (
        "/distribution",
        &[
            "?stream=0",
            "?stream=0&by=comm",
            "?stream=2&column=skaddr",
            "?stream=2&column=dport",
            "?stream=0&column=result",
        ],
    ),
    ("/distribution/heat", &["?stream=0", "?stream=2&column=skaddr", "?stream=2&column=offset"]),
    ("/distribution/heat/compare", &["?stream=0", "?stream=2&column=skaddr", "?stream=2&column=offset"]),
    ("/distribution/utilisation", &["?stream=0", ""]),
    ("/distribution/scatter", &["?stream=0", "?stream=2&column=skaddr", "?stream=0&column=result"]),
    ("/calls", &[""]),
    ("/calls/functions", &[""]),
    ("/calls/compare", &["", "?way="]),
    ("/calls/chart", &[""]),
    ("/calls/text", &[""]),
    ("/flame", &["", "?by=process", "?by=thread", "?search=work", "?stream=3"]),
    ("/flame/functions", &["", "?sort=total"]),
    ("/flame/sandwich", &["?function=work"]),
    ("/flame/chart", &["", "?by=process"]),
    ("/flame/compare", &["?start=0&end=3000&other_start=3000&other_end=6000", ""]),
    ("/flame/annotate", &["?function=work", "?function=work&place=1:16"]),
    ("/syscalls", &["", "?by=process"]),
    ("/syscalls/compare", &["", "?calls_by=process_call"]),
    ("/processes", &[""]),
    ("/stacks/{stack}", &[""]),
];

/// All that can be read below a link, by the address without the link.
async fn all_answers(console: &Console, link: &Link, capture: CaptureId) -> BTreeMap<String, Answer> {
    let prefix = "/s/{share}/api/captures/{id}";
    let routes: BTreeSet<&str> = table().iter().filter_map(|route| route.path.strip_prefix(prefix)).collect();
    let listed: BTreeSet<&str> = QUERIES.iter().map(|(path, _)| *path).collect();
    assert_eq!(routes, listed, "a route below shares must be asked here too");
    let mut answers = BTreeMap::new();
    for (path, queries) in QUERIES {
        for query in *queries {
            let filled = address(&format!("/api/captures/{{id}}{path}"), capture);
            let asked = format!("{}{query}", filled.split('?').next().unwrap());
            let mut answer = link.get(console, &asked).await;
            if *path == "/file" && answer.status == 200 {
                // What it holds is packed.
                let held = held_by(&answer).1;
                held.into_iter()
                    .for_each(|(address, bytes)| answer.body.extend([address.into_bytes(), bytes].concat()));
            }
            answers.insert(asked, answer);
        }
    }
    let page = format!("/captures/{capture}");
    answers.insert(page.clone(), link.get(console, &page).await);
    answers
}

/// Where any of these is told.
fn told(answers: &BTreeMap<String, Answer>, secret: &str) -> Vec<String> {
    let has = |answer: &Answer| {
        let head = format!("{:?}", answer.headers);
        head.contains(secret) || answer.body.windows(secret.len()).any(|bytes| bytes == secret.as_bytes())
    };
    answers.iter().filter(|(_, answer)| has(answer)).map(|(path, _)| path.clone()).collect()
}

async fn planted() -> (Console, String) {
    let console = Console::new().await;
    plant(&console.store).await;
    let ada = console.cookie("ada", Role::Operator).await;
    let note = json!({ "on": { "kind": "capture" }, "text": "planted-note" }).to_string();
    let made = console.ask("POST", &format!("/api/captures/{ID}/notes"), Some(&ada), Some(&note)).await;
    assert_eq!(made.status, 201, "{}", made.text());
    (console, ada)
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_what_is_removed_is_in_no_answer_below_a_share() {
    let (console, ada) = planted().await;
    let whole = share(&console, &ada, json!({ "capture": ID, "title": "Mine" })).await;
    let shown = all_answers(&console, &whole, ID).await;
    for (kind, secrets) in PLANTED {
        for secret in secrets {
            assert!(
                !told(&shown, secret).is_empty(),
                "{secret} of {kind} is told nowhere, so this test could not fail"
            );
        }
    }
    for (kind, secrets) in &PLANTED[..4] {
        let asked = json!({ "capture": ID, "title": "Mine", "remove": [kind] });
        let link = share(&console, &ada, asked).await;
        let left = all_answers(&console, &link, ID).await;
        for secret in secrets.iter().chain(PLANTED[4].1) {
            let where_to = told(&left, secret);
            assert!(where_to.is_empty(), "without {kind}, {secret} is told by {where_to:?}");
        }
        for (path, answer) in &left {
            // What is answered is answered still, but for what cannot be cleaned.
            let (before, after) = (shown[path].status.as_u16(), answer.status.as_u16());
            let beside = ["/output", "/script", "/text", "/live", "/processes", "/export?format=bathy"];
            let below = format!("/api/captures/{ID}");
            let is_left_out = beside.iter().any(|end| path.strip_prefix(&below).is_some_and(|path| path == *end));
            assert_eq!(after, if is_left_out { 404 } else { before }, "without {kind}: {path}: {}", answer.text());
        }
        let page = left[&format!("/api/captures/{ID}")].json();
        assert_eq!((&page["title"], &page["share"]["removes"]), (&"Mine".into(), &json!([kind])));
        let rows = left[&format!("/api/captures/{ID}/rows?stream=0")].json();
        assert_eq!((&rows["total"], &rows["rows"][0][5]), (&6.into(), &"openat".into()), "{rows}");
    }
    // Nothing else than what is chosen is lost, where it is known what it is.
    let paths = share(&console, &ada, json!({ "capture": ID, "remove": ["paths"] })).await;
    let left = all_answers(&console, &paths, ID).await;
    for secret in ["planted-comm", "planted-host", "47811"] {
        assert!(!told(&left, secret).is_empty(), "{secret} is no path");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_what_is_removed_cannot_be_guessed_by_filters_and_searches() {
    let (console, ada) = planted().await;
    let whole = share(&console, &ada, json!({ "capture": ID })).await;
    let kinds = ["arguments", "paths", "names", "addresses"];
    let none = share(&console, &ada, json!({ "capture": ID, "remove": kinds })).await;
    let (comm, pointer) = ("comm%20==%20%22planted-comm%22", format!("skaddr%20==%20{POINTER}"));
    for path in [
        format!("/rows?stream=0&filter={comm}"),
        "/rows?stream=0&filter=planted-argument".to_owned(),
        "/rows?stream=0&filter=args%20matches%20%22planted.*%22".to_owned(),
        "/rows?stream=1&filter=filename%20contains%20%22planted%22".to_owned(),
        format!("/rows?stream=2&filter={pointer}"),
        "/rows?stream=2&filter=dport%20==%2047811".to_owned(),
        "/rows?stream=2&filter=offset%20%3E%204294967296".to_owned(),
        "/find?find=planted".to_owned(),
        "/find?find=203.0.113".to_owned(),
    ] {
        let path = format!("/api/captures/{ID}{path}");
        let count = |answer: &Answer| {
            let found = answer.json();
            let streams =
                found["streams"].as_array().map(|all| all.iter().filter_map(|one| one["rows"].as_u64()).sum());
            found["matched"].as_u64().or(streams)
        };
        let (all, left) = (whole.get(&console, &path).await, none.get(&console, &path).await);
        assert!(count(&all) > Some(0), "{path}: {}", all.text());
        assert_eq!(count(&left), Some(0), "{path}: {}", left.text());
    }
    // Values that were alike still are, and the placeholder finds them.
    let facets = none.get(&console, &format!("/api/captures/{ID}/facets?stream=0&columns=comm,args")).await.json();
    let comm = facets["facets"][0]["values"][0]["value"].as_str().unwrap_or_default().to_owned();
    assert!(comm.starts_with("name-"), "{facets}");
    let rows = none.get(&console, &format!("/api/captures/{ID}/rows?stream=0&filter=comm%20==%20%22{comm}%22")).await;
    assert_eq!(rows.json()["matched"], 6, "{}", rows.text());
    // Another link has other placeholders.
    let other = share(&console, &ada, json!({ "capture": ID, "remove": kinds })).await;
    let rows = other.get(&console, &format!("/api/captures/{ID}/rows?stream=0&filter={comm}")).await;
    assert_eq!(rows.json()["matched"], 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_a_part_is_found_by_what_was_recorded_and_shown_without_it() {
    let (console, ada) = planted().await;
    let part = json!({ "start": 2000, "end": 5000, "filter": "comm == \"planted-comm\"" });
    let view = "v=3&tab=events&start=2000&end=5000&filter=planted-argument";
    let asked = json!({ "capture": ID, "part": part, "view": view, "remove": ["names", "arguments"], "notes": true });
    let made = console.ask("POST", "/api/shares", Some(&ada), Some(&asked.to_string())).await.json();
    assert_eq!((&made["left_out"], &made["share"]["title"]), (&json!(["filter"]), &"A capture".into()));
    assert_eq!((&made["share"]["removes"], &made["share"]["notes"]), (&json!(["arguments", "names"]), &true.into()));
    let link = share(&console, &ada, asked).await;
    let opened = super::shares::opened(&console, &link).await;
    assert!(opened.ends_with("?v=3&tab=events&start=2000&end=5000"), "{opened}");
    let left = all_answers(&console, &link, ID).await;
    for secret in ["planted-comm", "planted-argument", "planted-filter", "planted-title"] {
        assert!(told(&left, secret).is_empty(), "{secret} is told by {:?}", told(&left, secret));
    }
    let rows = left[&format!("/api/captures/{ID}/rows?stream=0")].json();
    assert_eq!(rows["total"], 3, "{rows}");
    let page = left[&format!("/api/captures/{ID}")].json();
    assert_eq!(page["share"]["part"]["filter"], "a filter that is not told");
    assert_eq!((&page["share"]["owner"], &page["share"]["notes"]), (&"".into(), &true.into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn notes_are_shown_though_something_is_removed_where_that_was_chosen() {
    let (console, ada) = planted().await;
    let link = share(&console, &ada, json!({ "capture": ID, "remove": ["names"], "notes": true })).await;
    let notes = link.get(&console, &format!("/api/captures/{ID}/notes")).await.json();
    assert_eq!((&notes["items"][0]["text"], &notes["items"][0]["view"]), (&"planted-note".into(), &"".into()));
    assert!(notes["items"][0]["author"].as_str().unwrap().starts_with("name-"), "{notes}");
    for (asked, status) in [
        (json!({ "capture": ID, "notes": true }), 400),
        (json!({ "capture": ID, "remove": ["names"], "results": true }), 400),
        (json!({ "capture": ID, "remove": ["wishes"] }), 400),
        (json!({ "capture": ID, "remove": [] }), 201),
    ] {
        let made = console.ask("POST", "/api/shares", Some(&ada), Some(&asked.to_string())).await;
        assert_eq!(made.status, status, "{asked}: {}", made.text());
    }
    let root = console.cookie("root", Role::Admin).await;
    let audit = console.get("/api/audit", &root).await;
    assert!(audit.text().contains("without names, with notes"), "{}", audit.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_removed_from_what_still_changes() {
    let console = console(simulated("rate=100")).await;
    let ada = console.cookie("ada", Role::Operator).await;
    let spec =
        r#"{"sources":[{"id":"states","method":{"states":{}}}],"target":"system","limits":{"duration_ms":60000}}"#;
    let id = start(&console, &ada, spec).await;
    let asked = json!({ "capture": id, "remove": ["names"] }).to_string();
    let made = console.ask("POST", "/api/shares", Some(&ada), Some(&asked)).await;
    assert_eq!(made.status, 400, "{}", made.text());
    assert!(made.text().contains("when it has ended"), "{}", made.text());
}

/// States of threads, tracks and spans are made of what is left, and have no names of threads.
#[tokio::test(flavor = "multi_thread")]
async fn p07_tracks_and_calls_of_a_simulated_capture_have_no_names() {
    let console = console(simulated("rate=4000")).await;
    let ada = console.cookie("ada", Role::Operator).await;
    let spec = r#"{"sources":[{"id":"states","method":{"states":{}}},{"id":"syscalls","method":{"syscalls":{}}}],
        "target":"system","limits":{"duration_ms":300,"budget_cpu_permille":50}}"#;
    let id = start(&console, &ada, spec).await;
    let page = settled(&console, &ada, id).await;
    let mut names = BTreeSet::new();
    for stream in 0..page["streams"].as_array().unwrap().len() {
        let path = format!("/api/captures/{id}/facets?stream={stream}&columns=comm");
        let facets = console.get(&path, &ada).await.json();
        let values = facets["facets"][0]["values"].as_array().cloned().unwrap_or_default();
        names.extend(values.iter().filter_map(|one| one["value"].as_str()).map(str::to_owned));
    }
    // Idle threads are told apart by their CPU; what is short may be in anything.
    names.retain(|name| name.len() > 4 && !name.starts_with("swapper"));
    assert!(names.len() > 2, "{names:?}");
    let paths =
        ["tracks", "range/threads", "range/waits", "range/wakeups", "syscalls?by=process", "timeline", "rows?stream=2"];
    let link = share(&console, &ada, json!({ "capture": id, "remove": ["names"] })).await;
    let whole = share(&console, &ada, json!({ "capture": id })).await;
    let read = async |link: &Link| {
        let mut answers = BTreeMap::new();
        for path in paths {
            answers.insert(path.to_owned(), link.get(&console, &format!("/api/captures/{id}/{path}")).await);
        }
        answers
    };
    let (shown, left) = (read(&whole).await, read(&link).await);
    for path in paths {
        assert_eq!(left[path].status, shown[path].status, "{path}: {}", left[path].text());
    }
    let count = |answers: &BTreeMap<String, Answer>| answers["tracks"].json()["tracks"].as_array().unwrap().len();
    assert_eq!((count(&left), count(&left) > 2), (count(&shown), true));
    let track = left["tracks"].json()["tracks"][0]["id"].as_str().unwrap().to_owned();
    let window = link.get(&console, &format!("/api/captures/{id}/tracks/window?tracks={track}&width=400")).await;
    assert_eq!(window.status, 200);
    for name in &names {
        assert!(told(&left, name).is_empty(), "{name} is told by {:?}", told(&left, name));
    }
    assert!(names.iter().any(|name| !told(&shown, name).is_empty()));
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_an_investigation_is_shown_without_what_is_removed() {
    let (console, ada) = planted().await;
    let post = async |path: &str, body: serde_json::Value| {
        let made = console.ask("POST", path, Some(&ada), Some(&body.to_string())).await;
        assert_eq!(made.status, 201, "{path}: {}", made.text());
        made.json()["id"].as_str().unwrap().to_owned()
    };
    let id = post("/api/investigations", json!({ "title": "planted-title" })).await;
    let notes = console.get(&format!("/api/captures/{ID}/notes"), &ada).await.json();
    let blocks = format!("/api/investigations/{id}/blocks");
    let view = "v=3&tab=flame&by=process&filter=comm%20%3D%3D%20%22planted-comm%22";
    let flame = post(&blocks, json!({ "content": { "kind": "view", "capture": ID, "view": view } })).await;
    let note = json!({ "kind": "note", "capture": ID, "note": notes["items"][0]["id"] });
    post(&blocks, json!({ "content": note })).await;
    let query = json!({ "kind": "query", "capture": ID, "sql": "select comm as name from syscalls limit 1" });
    post(&blocks, json!({ "content": query })).await;
    post(&blocks, json!({ "content": { "kind": "text", "text": "as it was written" } })).await;
    let read = async |asked: serde_json::Value| {
        let link = share(&console, &ada, asked).await;
        let (page, picture) = (format!("/api/investigations/{id}"), format!("{blocks}/{flame}/picture"));
        BTreeMap::from([
            ("page".to_owned(), link.get(&console, &page).await),
            ("picture".to_owned(), link.get(&console, &picture).await),
        ])
    };
    let whole = read(json!({ "investigation": id })).await;
    let left = read(json!({ "investigation": id, "remove": ["names", "paths"] })).await;
    let kept = read(json!({ "investigation": id, "remove": ["names"], "notes": true, "results": true })).await;
    assert_eq!(
        (left["page"].status.as_u16(), left["picture"].status.as_u16()),
        (200, 200),
        "{}",
        left["picture"].text()
    );
    for secret in ["planted-comm", "planted-title", "planted-note"] {
        assert!(!told(&whole, secret).is_empty(), "{secret}");
        assert!(told(&left, secret).is_empty(), "{secret} is told by {:?}", told(&left, secret));
    }
    assert!(left["picture"].text().contains("work"), "functions are no names of programs");
    assert!(left["picture"].text().contains("name-"), "{}", left["picture"].text());
    let blocks_of = |page: &Answer| -> Vec<String> {
        let page = page.json();
        let blocks = page["blocks"].as_array().unwrap();
        blocks.iter().map(|block| block["content"]["kind"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(blocks_of(&left["page"]), ["view", "left_out", "left_out", "text"]);
    assert_eq!(blocks_of(&kept["page"]), ["view", "note", "query", "text"]);
    assert!(told(&kept, "planted-note") == ["page"] && told(&kept, "planted-title").is_empty());
    let page = left["page"].json();
    assert_eq!((&page["head"]["title"], &page["share"]["notes"]), (&"An investigation".into(), &false.into()));
}

/// Views on a shared investigation are opened where its maker chose so: only what stands there now, and nothing else of a capture.
#[tokio::test(flavor = "multi_thread")]
async fn p07_a_view_on_a_shared_investigation_is_all_that_is_opened_of_its_capture() {
    let console = Console::new().await;
    let (id, other) = (console.capture("shared", "ada", 40).await, console.capture("other", "ada", 20).await);
    let ada = console.cookie("ada", Role::Operator).await;
    let ask = async |method: &str, path: &str, body: serde_json::Value| {
        let answer = console.ask(method, path, Some(&ada), Some(&body.to_string())).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.text());
        answer
    };
    let page = ask("POST", "/api/investigations", json!({ "title": "Why?" })).await.json()["id"].clone();
    let blocks = format!("/api/investigations/{}/blocks", page.as_str().unwrap());
    let view = "v=3&tab=events&start=4000&end=20000&filter=cpu%20%3D%3D%201";
    let of = |capture: CaptureId| json!({ "kind": "view", "capture": capture, "view": view });
    let block = ask("POST", &blocks, json!({ "content": of(id) })).await.json()["id"].as_str().unwrap().to_owned();
    let text = ask("POST", &blocks, json!({ "content": { "kind": "text", "text": "x" } })).await.json()["id"].clone();
    let open = share(&console, &ada, json!({ "investigation": page, "views": true })).await;
    let closed = share(&console, &ada, json!({ "investigation": page })).await;
    let of_capture = share(&console, &ada, json!({ "capture": id })).await;
    let read = async |link: &Link, block: &str, capture: CaptureId, rest: &str| {
        link.get(&console, &format!("/blocks/{block}/api/captures/{capture}{rest}")).await
    };
    let rows = async |query: &str| read(&open, &block, id, &format!("/rows{query}")).await.json()["total"].clone();
    // Rows are a microsecond apart, CPUs in turns.
    for query in ["", "?start=0&end=100000", "?filter=cpu%20%3E=%200"] {
        assert_eq!(rows(query).await, 4, "{query}");
    }
    let shown = open.get(&console, &format!("/blocks/{block}/captures/{id}")).await;
    assert!(shown.status == 200 && shown.text().contains("data-shared"), "{}", shown.text());
    let head = read(&open, &block, id, "").await.json();
    assert_eq!((&head["streams"][0]["rows"], &head["share"]["part"]["start"]), (&4.into(), &4000.into()), "{head}");
    for rest in ["/processes", "/output", "/live", "/script", "/export?format=bathy", "/flame/compare?other=1"] {
        assert!(read(&open, &block, id, rest).await.status.is_client_error(), "{rest}");
    }
    let note = json!({ "on": { "kind": "moment" }, "start": 5000, "text": "not on the page" });
    ask("POST", &format!("/api/captures/{id}/notes"), note).await;
    assert_eq!(read(&open, &block, id, "/notes").await.json()["items"], json!([]));
    let refused = async |link: &Link, block: &str, capture: CaptureId| {
        for (path, _) in QUERIES {
            let filled = address(&format!("/api/captures/{{id}}{path}"), capture);
            let answer = link.get(&console, &format!("/blocks/{block}{filled}")).await;
            assert_eq!(answer.status, 404, "{filled}: {}", answer.text());
            assert!(answer.text().contains("opening this link"), "{filled}: {}", answer.text());
        }
        assert_eq!(link.get(&console, &format!("/blocks/{block}/captures/{capture}")).await.status, 404);
    };
    for (link, block, capture) in [
        (&open, block.as_str(), other),
        (&open, text.as_str().unwrap(), id),
        (&open, "00000000000000aa", id),
        (&open, "nothing", id),
        (&closed, block.as_str(), id),
        (&of_capture, block.as_str(), id),
    ] {
        refused(link, block, capture).await;
    }
    assert_eq!(open.get(&console, &format!("/api/captures/{id}/rows")).await.status, 404, "without its block");
    // It is what stands there now.
    let change = json!({ "version": 1, "content": of(other) });
    ask("PATCH", &format!("{blocks}/{block}"), change).await;
    refused(&open, &block, id).await;
    assert_eq!(read(&open, &block, other, "/rows").await.json()["total"], 4);
    ask("DELETE", &format!("{blocks}/{block}"), json!({})).await;
    refused(&open, &block, other).await;
}
