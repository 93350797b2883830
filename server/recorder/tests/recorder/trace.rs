//! Pages that real kernels wrote (`tests/ftrace`), through the whole pipeline.

use std::{
    fs::{self, File},
    io::{Seek as _, Write as _},
    os::fd::OwnedFd,
    path::PathBuf,
};

use bathyscope_capture::{
    CaptureSpec, ColumnData, LossStage, Method, SourceSpec, Target, TraceEvent, TraceSpec, decode_chunk, visible,
};
use bathyscope_protocol::{
    AgentError, AgentErrorKind, KernelFile, Reply, RingContent, RingInfo, RingKind, StartedSource, StreamLayout,
    TraceFacts, TraceFormat,
};

use super::{Behaviour, bench, unlimited};

/// Pages and formats are those of this kernel.
const KERNEL: &str = "6.12";

fn folder() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/ftrace")).join(KERNEL)
}

/// Which recording a trace gets.
fn scenario(tracer: Option<&str>, overwrite: bool) -> &'static str {
    match tracer {
        Some("function_graph") => "graph",
        Some(_) => "function",
        None if overwrite => "lost",
        None => "events",
    }
}

/// What an agent would make, with the recorded pages as buffers.
pub(crate) fn make(wire: &TraceSpec) -> (StartedSource, Vec<OwnedFd>) {
    let pages = folder().join(scenario(wire.tracer.as_deref(), wire.overwrite));
    let (mut rings, mut descriptors) = (Vec::new(), Vec::new());
    for cpu in 0..2 {
        let Ok(file) = File::open(pages.join(format!("cpu{cpu}.pages"))) else { continue };
        let kind = RingKind::TracePipe { page_bytes: 4096 };
        rings.push(RingInfo { kind, content: RingContent::TracePages, data_bytes: 1 << 20, cpu: Some(cpu) });
        descriptors.push(file.into());
    }
    let own = |name: &str| ("ftrace".to_owned(), name.to_owned(), None);
    let asked = wire.events.iter().map(|it| (it.event.system().to_owned(), it.event.name().to_owned(), None));
    let dynamic = [("record", "start"), ("record", "texts")].into_iter().zip(0_u16..).take(wire.dynamic.len());
    let dynamic = dynamic.map(|((group, name), index)| (group.to_owned(), name.to_owned(), Some(index)));
    let own = ["function", "funcgraph_entry", "funcgraph_exit", "print", "bprint"].map(own);
    let events = asked.chain(dynamic).chain(own).map(|(group, name, dynamic)| {
        let format = fs::read_to_string(folder().join(format!("formats/{group}.{name}"))).unwrap();
        let id = format.lines().find_map(|line| line.strip_prefix("ID: ")).unwrap().parse().unwrap();
        TraceFormat { id, label: format!("{group}:{name}"), group, name, dynamic }
    });
    let facts =
        TraceFacts { clock: "mono".to_owned(), clock_ahead_ns: 0, instance: String::new(), events: events.collect() };
    let trace = Some(Box::new(facts));
    let started = StartedSource { streams: vec![StreamLayout::TracePages], rings, trace, ..StartedSource::default() };
    (started, descriptors)
}

/// A file of the recorded kernel.
pub(crate) fn kernel_file(file: &KernelFile) -> (Reply, Vec<OwnedFd>) {
    let formats = folder().join("formats");
    let opened = match file {
        KernelFile::TraceHeaderPage => File::open(formats.join("header_page")).ok(),
        KernelFile::TraceHeaderEvent => File::open(formats.join("header_event")).ok(),
        KernelFile::EventFormat { tracepoint } => {
            File::open(formats.join(format!("{}.{}", tracepoint.system(), tracepoint.name()))).ok()
        }
        KernelFile::Kallsyms => {
            let mut all = b"ffffffff80000000 T _text\n".to_vec();
            for name in ["function", "graph"] {
                all.extend(fs::read(folder().join(name).join("symbols")).unwrap());
            }
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&all).unwrap();
            file.rewind().unwrap();
            Some(file)
        }
        _ => None,
    };
    match opened {
        Some(file) => (Reply::File, vec![file.into()]),
        None => {
            let (doing, why) = ("opening a file of the kernel".to_owned(), "it was not recorded".to_owned());
            let (kind, remedy, detail) = (AgentErrorKind::NotFound, String::new(), String::new());
            (Reply::Failed(AgentError { kind, doing, why, remedy, detail }), Vec::new())
        }
    }
}

/// A capture's streams with their rows as text, `column=value …`, times left out, and its ledger's losses.
async fn record(trace: TraceSpec) -> (Vec<(String, Vec<String>)>, Vec<(LossStage, u64)>) {
    let bench = bench(Behaviour::default()).await;
    let limits = bathyscope_capture::Limits { duration_ms: Some(300), ..unlimited() };
    let spec = CaptureSpec {
        name: String::new(),
        sources: vec![SourceSpec::of(Method::Trace(trace))],
        target: Target::System,
        limits,
    };
    let id = bench.start(spec).await;
    let record = bench.ended(id).await;
    let strings = bench.store.strings(id, 0).await.unwrap();
    let text =
        |id: u32| strings.iter().find(|(known, _)| *known == id).map_or(String::new(), |(_, text)| visible(text));
    let mut streams = Vec::new();
    for (index, stream) in record.streams.iter().enumerate() {
        let schema = &stream.schema;
        let mut rows = Vec::new();
        for info in bench.store.chunk_index(id, index as u16, 0).await.unwrap() {
            let bytes = bench.store.chunk(id, index as u16, info.seq).await.unwrap();
            let wanted: Vec<usize> = (0..schema.columns.len()).collect();
            let batch = decode_chunk(schema, &bytes, &wanted).unwrap();
            assert!(batch.columns[0].as_u64().is_sorted());
            for row in 0..batch.rows() {
                let cell = |(column, data): (&bathyscope_capture::Column, &ColumnData)| {
                    let value = match data {
                        ColumnData::U64(values) => values[row].to_string(),
                        ColumnData::I64(values) => values[row].to_string(),
                        ColumnData::Id(values) => text(values[row]),
                    };
                    format!("{}={value}", column.name)
                };
                rows.push(schema.columns.iter().zip(&batch.columns).skip(1).map(cell).collect::<Vec<_>>().join(" "));
            }
        }
        streams.push((schema.name.clone(), rows));
    }
    (streams, record.ledger.losses.iter().map(|loss| (loss.stage, loss.count)).collect())
}

/// The lines of the kernel's own text.
fn lines(scenario: &str) -> Vec<String> {
    fs::read_to_string(folder().join(scenario).join("trace")).unwrap().lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn events_become_a_stream_each() {
    let event = |name: &str| TraceEvent { event: name.parse().unwrap(), filter: None };
    let names = [
        "sched:sched_switch",
        "sched:sched_wakeup",
        "sched:sched_process_exec",
        "syscalls:sys_enter_openat",
        "raw_syscalls:sys_exit",
    ];
    let dynamic = vec!["p:start /bin/true:0".into(), "p:texts /bin/true:0".into()];
    let (streams, losses) =
        record(TraceSpec { events: names.map(event).to_vec(), dynamic, ..TraceSpec::default() }).await;
    let lines = lines("events");
    let of_text = |name: &str| lines.iter().filter(|line| line.contains(&format!(": {name}"))).count();
    let found: Vec<_> = streams.iter().map(|(name, rows)| (name.as_str(), rows.len())).collect();
    let expected = [
        ("sched:sched_switch", of_text("sched_switch: ")),
        ("sched:sched_wakeup", of_text("sched_wakeup: ")),
        ("sched:sched_process_exec", of_text("sched_process_exec: ")),
        ("syscalls:sys_enter_openat", of_text("sys_openat(")),
        ("raw_syscalls:sys_exit", of_text("sys_exit: ")),
        ("record:start", 1),
        ("record:texts", 1),
    ];
    assert_eq!(found, expected);
    // The marker that the workload wrote belongs to no stream of this trace.
    assert_eq!(losses, [(LossStage::Decode, 1)]);
    assert!(streams[2].1[0].contains("filename=/usr/bin/bash"), "{:?}", streams[2].1);
    assert!(streams[5].1[0].contains("name=env count=2 words={2,0,0,0}"), "{:?}", streams[5].1);
    assert!(streams[6].1[0].contains("text=/usr/bin/env"), "{:?}", streams[6].1);
}

#[tokio::test(flavor = "multi_thread")]
async fn functions_have_names() {
    let (streams, losses) = record(TraceSpec { tracer: Some("function".to_owned()), ..TraceSpec::default() }).await;
    assert_eq!(losses, []);
    let [(name, rows)] = streams.as_slice() else { panic!("{streams:?}") };
    assert_eq!(name, "function");
    let expected = lines("function").into_iter().map(|line| {
        let (function, caller) =
            line.rsplit_once(": ").unwrap().1.split_once(" <-").map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        format!("func={function} caller={caller}")
    });
    let ours: Vec<String> = rows.iter().map(|row| row[row.find("func=").unwrap()..].to_owned()).collect();
    assert_eq!(ours, expected.collect::<Vec<_>>());
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_have_durations_and_callers() {
    let graph = TraceSpec { tracer: Some("function_graph".to_owned()), ..TraceSpec::default() };
    let (streams, losses) = record(graph).await;
    assert_eq!(losses, []);
    let [(name, rows)] = streams.as_slice() else { panic!("{streams:?}") };
    assert_eq!(name, "function_graph");
    // A call is one line if it has none within it, else two of which the last has a brace.
    let ended = |line: &&String| line.contains("();") || line.trim_end().ends_with("*/");
    assert_eq!(rows.len(), lines("graph").iter().filter(ended).count());
    let opened = rows.iter().find(|row| row.contains("func=do_dentry_open ")).unwrap();
    assert!(opened.contains("depth=1 ") && opened.ends_with("caller=vfs_open state=returned"), "{opened}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p29_pages_tell_what_was_overwritten() {
    let event = TraceEvent { event: "raw_syscalls:sys_exit".parse().unwrap(), filter: None };
    let (streams, losses) = record(TraceSpec { events: vec![event], overwrite: true, ..TraceSpec::default() }).await;
    assert_eq!(streams[0].1.len(), lines("lost").iter().filter(|line| line.contains("sys_exit")).count());
    assert!(matches!(losses.as_slice(), [(LossStage::RingFull, 100..5000)]), "{losses:?}");
}
