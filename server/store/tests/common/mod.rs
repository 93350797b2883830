//! Made-up captures for the tests of the store.
#![allow(dead_code, unreachable_pub, clippy::unwrap_used, clippy::expect_used, reason = "tests; each uses some of it")]

use std::path::{Path, PathBuf};

use bathyscope_capture::{
    Append, Batch, CaptureId, CaptureSpec, CodeLines, CodeMissing, Column, ColumnData, ColumnType, Display,
    EncodedChunk, Frame, FunctionCode, HostFacts, Ledger, Loss, LossStage, Machine, Mapping, MappingKind, Method,
    NoteAnchor, NoteContent, NoteId, OutputLine, OutputStream, ProcessChange, ProcessChangeKind, ProfileSpec,
    ScriptProbe, ScriptRecord, StreamKind, StreamSchema, StreamTotals, Symbol, SymbolLine, Target, encode_chunk,
};
use bathyscope_store::{
    CaptureState, End, LoginToken, NewCapture, NoteRecord, Options, Reserve, Role, SourceEnd, SourceState, Store,
    TokenHash,
};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

pub const ID: CaptureId = CaptureId::from_bits(0xfedc_ba98_7654_3210);
pub const START_NS: u64 = 5_000_000_000;
/// Wall time of imports.
pub const NOW: i64 = 1_800_000_000_000_000_000;

/// Whether `tests/run long` runs, with many rounds of what otherwise gets a few.
pub fn is_long() -> bool {
    std::env::var_os("BATHYSCOPE_TESTS_LONG").is_some_and(|tier| tier == "1")
}

pub fn id(number: u64) -> CaptureId {
    CaptureId::from_bits(number)
}

pub fn options() -> Options {
    Options { reserve: Reserve::Bytes(0), ballast_bytes: 0, readers: 2, ..Options::default() }
}

pub async fn open(dir: &Path) -> Store {
    Store::open(dir, options()).await.expect("the store opens")
}

pub fn database(dir: &Path) -> PathBuf {
    dir.join("bathyscope.db")
}

pub fn schemas() -> Vec<StreamSchema> {
    let column = |name: &str, ty| Column { name: name.to_owned(), ty, display: Display::Decimal };
    vec![
        StreamSchema::new("sched:sched_switch", StreamKind::Events, [column("next_pid", ColumnType::I64)]),
        StreamSchema::new("cpu-clock", StreamKind::Samples, [column("stack", ColumnType::Stack)]),
    ]
}

pub fn new_capture(id: CaptureId, title: &str) -> NewCapture {
    let method = Method::Profile(ProfileSpec {
        frequency_hz: 99,
        kernel_stacks: true,
        user_stacks: true,
        ..ProfileSpec::default()
    });
    let target = Target::Process { pid: 4711, children: false };
    NewCapture {
        id,
        title: title.to_owned(),
        owner: "ada".to_owned(),
        spec: CaptureSpec::of(method, target),
        host: HostFacts { hostname: "Leviathan".to_owned(), cpus: 4, ..HostFacts::default() },
        streams: schemas(),
        started_unix_ns: 1_700_000_000_000_000_000 + i64::try_from(id.bits() % 1000).unwrap(),
        start_ns: START_NS,
        simulated: false,
        firing: None,
    }
}

/// A chunk of stream 0 whose rows have the times `from`, `from + 1`, …, and their number in `next_pid`.
pub fn chunk(from: u64, rows: usize) -> EncodedChunk {
    let numbers = || (from..).take(rows);
    let column = |f: fn(u64) -> u64| ColumnData::U64(numbers().map(f).collect());
    let comm = ColumnData::Id(vec![1; rows]);
    let pid = ColumnData::I64(numbers().map(u64::cast_signed).collect());
    let columns =
        vec![ColumnData::U64(numbers().collect()), column(|n| n % 4), column(|n| n % 7), column(|n| n), comm, pid];
    encode_chunk(&schemas()[0], &Batch { columns }).unwrap()
}

/// A chunk of stream 1, which refers to the stack 1.
pub fn samples(from: u64, rows: usize) -> EncodedChunk {
    let numbers = || (from..).take(rows);
    let same = |value| ColumnData::U64(vec![value; rows]);
    let ids = || ColumnData::Id(vec![1; rows]);
    let columns = vec![ColumnData::U64(numbers().collect()), same(0), same(4711), same(4711), ids(), ids()];
    encode_chunk(&schemas()[1], &Batch { columns }).unwrap()
}

pub fn totals(stored: u64, emitted: u64) -> StreamTotals {
    StreamTotals { hits: emitted + 5, filtered: 5, emitted, stored }
}

/// Instructions of one function, and why there are none of another.
pub fn code() -> Vec<FunctionCode> {
    let mut lines = CodeLines::default();
    lines.push(0, "outer", "/src/a.c", 7);
    let missing = FunctionCode::without(1, u64::MAX - 16, CodeMissing::NoFile);
    let (length, machine, bytes) = (3, Machine::X86_64, vec![0x31, 0xc0, 0xc3]);
    vec![
        missing,
        FunctionCode { mapping: 2, start: 48, address: 0x40_0030, length, machine, bytes, lines, missing: None },
    ]
}

/// One of everything: 100 rows in stream 0, 10 samples, 3 events lost.
pub fn full_append() -> Append {
    let mapping = |name: &[u8], kind| Mapping { kind, build_id: vec![1, 2, 3], name: name.to_vec(), pid: 0 };
    let line = SymbolLine { function: "inlined".to_owned(), file: "a.c".to_owned(), line: 7 };
    let symbol = Symbol { function: "outer".to_owned(), offset: 16, lines: vec![line] };
    let change = |time_ns, kind| ProcessChange { time_ns, pid: 4711, tid: 4711, kind };
    let of_process = |kind| ProcessChange { tid: 0, ..change(0, kind) };
    let output = |stream, bytes: &[u8]| OutputLine { time_ns: START_NS + 9, stream, bytes: bytes.to_vec() };
    let loss =
        Loss { stream: Some(0), stage: LossStage::RingFull, count: 3, start_ns: START_NS, end_ns: START_NS + 50 };
    Append {
        chunks: vec![(0, chunk(START_NS, 100)), (1, samples(START_NS + 1, 10))],
        strings: vec![(1, b"bash".to_vec()), (2, vec![0xff, 0, b'<'])],
        mappings: vec![(1, mapping(b"[kernel]", MappingKind::Kernel)), (2, mapping(b"/usr/bin/x", MappingKind::File))],
        frames: vec![(1, Frame { mapping: 1, offset: u64::MAX }), (2, Frame { mapping: 2, offset: 64 })],
        stacks: vec![(1, [1, 2, 2].as_slice().into())],
        symbols: vec![(1, symbol)],
        code: code(),
        processes: vec![
            change(0, ProcessChangeKind::Existing { comm: 1 }),
            of_process(ProcessChangeKind::Parent { parent_pid: 1 }),
            of_process(ProcessChangeKind::User { name: 1 }),
            of_process(ProcessChangeKind::Group { path: 2 }),
            change(START_NS + 2, ProcessChangeKind::Fork { parent_pid: 1 }),
            change(START_NS + 3, ProcessChangeKind::Comm { comm: 2, exec: true }),
            change(START_NS + 4, ProcessChangeKind::Exit),
        ],
        output: vec![output(OutputStream::Stdout, b"hello\n"), output(OutputStream::Stderr, b"\x1b[2K")],
        ledger: Some(Ledger { streams: vec![totals(100, 103), totals(10, 10)], losses: vec![loss] }),
        end_ns: START_NS + 100,
    }
}

pub fn end(ledger: Ledger) -> End {
    End {
        state: CaptureState::Finished,
        reason: "its time was over".to_owned(),
        end_ns: START_NS + 1000,
        ledger,
        readings: Vec::new(),
        script: None,
        sources: vec![SourceEnd { state: SourceState::Thinned, reason: "it cost too much".to_owned() }],
    }
}

/// Makes a whole capture.
pub async fn record(store: &Store, id: CaptureId, title: &str) {
    store.create(new_capture(id, title)).await.unwrap();
    let append = full_append();
    let ledger = append.ledger.clone().unwrap();
    store.append(id, append).await.unwrap();
    store.put_script(id, ScriptRecord { exit_code: None, ..script() }).await.unwrap();
    store.put_script(id, script()).await.unwrap();
    store.finish(id, end(ledger)).await.unwrap();
}

/// A note at a moment of its own.
pub fn note(number: u64) -> NoteRecord {
    NoteRecord {
        id: NoteId::from_bits(number),
        content: NoteContent {
            anchor: NoteAnchor::Moment { start_ns: START_NS + number },
            track: Some("tid:7".to_owned()),
            view: String::new(),
            text: format!("note {number}"),
            plain: false,
            colour: Some(3),
        },
        author: "ada".to_owned(),
        owner: "ada".to_owned(),
        imported: false,
        created_unix_ns: NOW,
        changed: None,
        resolved: None,
        version: 1,
        earlier: Vec::new(),
    }
}

pub fn script() -> ScriptRecord {
    let probe = ScriptProbe { name: "begin".to_owned(), line: 1, hits: 1, ..ScriptProbe::default() };
    ScriptRecord { plan: "{}".to_owned(), probes: vec![probe], exit_code: Some(3) }
}

/// The database has no damage and no row that refers to nothing.
pub async fn integrity(dir: &Path) {
    let options = SqliteConnectOptions::new().filename(database(dir)).foreign_keys(true);
    let mut conn = SqliteConnection::connect_with(&options).await.unwrap();
    let (check,): (String,) = sqlx::query_as("PRAGMA integrity_check").fetch_one(&mut conn).await.unwrap();
    let broken: Vec<(String,)> =
        sqlx::query_as("SELECT \"table\" FROM pragma_foreign_key_check").fetch_all(&mut conn).await.unwrap();
    assert_eq!((check.as_str(), broken.len()), ("ok", 0));
    conn.close().await.unwrap();
}

/// A token of grace.
pub fn login_token(hash: TokenHash, role: Role, expires_s: u64) -> LoginToken {
    LoginToken { hash, user: "grace".to_owned(), role, expires_s, session_expires_s: expires_s + 100 }
}
