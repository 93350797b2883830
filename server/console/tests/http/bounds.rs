//! What stays bounded however much there is: the log of the database under a slow reader (P35), flame graphs of very many
//! stacks (P43).
#![allow(clippy::print_stdout, reason = "what was measured is told")]

use bathyscope_capture::{
    Append, Batch, CaptureId, CaptureSpec, Column, ColumnData, ColumnType, Display, Frame, HostFacts, Ledger, Mapping,
    MappingKind, Method, ProfileSpec, StreamKind, StreamSchema, StreamTotals, Target, encode_chunk,
};
use bathyscope_store::{CaptureState, End, NewCapture, Role, Store};
use http_body_util::BodyExt as _;

use super::harness::{Console, own_page};

const START_NS: u64 = 1_000_000_000;

fn samples() -> StreamSchema {
    let own = [Column { name: "stack".to_owned(), ty: ColumnType::Stack, display: Display::Decimal }];
    StreamSchema::new("cpu-clock", StreamKind::Samples, own)
}

async fn create(store: &Store, id: CaptureId) {
    let method = Method::Profile(ProfileSpec { frequency_hz: 99, user_stacks: true, ..ProfileSpec::default() });
    let new = NewCapture {
        id,
        title: "many stacks".to_owned(),
        owner: "ada".to_owned(),
        spec: CaptureSpec::of(method, Target::System),
        host: HostFacts::default(),
        streams: vec![samples()],
        started_unix_ns: 1,
        start_ns: START_NS,
        simulated: true,
        firing: None,
    };
    store.create(new).await.unwrap();
}

fn chunk(rows: u64, stack: impl Fn(u64) -> u32) -> bathyscope_capture::EncodedChunk {
    let column = |value: &dyn Fn(u64) -> u64| ColumnData::U64((0..rows).map(value).collect());
    let ids = |value: &dyn Fn(u64) -> u32| ColumnData::Id((0..rows).map(value).collect());
    let columns =
        vec![column(&|row| START_NS + row), column(&|_| 0), column(&|_| 7), column(&|_| 7), ids(&|_| 1), ids(&stack)];
    encode_chunk(&samples(), &Batch { columns }).unwrap()
}

fn noise(length: usize, seed: u64) -> Vec<u8> {
    let mut state = seed + 1;
    let next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    std::iter::repeat_with(next).take(length).collect()
}

/// Somebody downloads a capture and stops reading; another one is being recorded meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn p35_the_log_stays_small_during_an_export_that_nobody_reads() {
    const ROWS: u64 = 60_000;
    let console = Console::new().await;
    let viewer = console.cookie("vera", Role::Viewer).await;
    let id = console.capture("exported", "ada", ROWS).await;
    let path = format!("/api/captures/{id}/export?format=ndjson");
    let mut body = console.send(own_page("GET", &path, Some(&viewer), None)).await.into_body();
    let first = body.frame().await.unwrap().unwrap().into_data().unwrap();

    let other = CaptureId::from_bits(77);
    create(&console.store, other).await;
    let mut most = 0;
    for part in 0..120 {
        let mut large = chunk(10, |_| 0);
        large.bytes = noise(1 << 20, part);
        let strings = if part == 0 { vec![(1, b"comm".to_vec())] } else { Vec::new() };
        console.store.append(other, Append { chunks: vec![(0, large)], strings, ..Append::default() }).await.unwrap();
        most = most.max(std::fs::metadata(console.dir.path().join("bathyscope.db-wal")).unwrap().len());
    }
    println!("120 MiB appended beside an export, the log had {most} bytes at most");
    assert!(most < 64 << 20, "the log grew to {most} bytes");
    let rest = body.collect().await.unwrap().to_bytes();
    let lines = [first, rest].concat().iter().filter(|byte| **byte == b'\n').count();
    assert_eq!(lines as u64, ROWS, "and the export is whole");
}

/// Sixty thousand stacks of which no two are alike: what is sent is bounded, and the rest is counted.
#[tokio::test(flavor = "multi_thread")]
async fn p43_a_flame_graph_of_very_many_stacks_is_bounded_and_counts_what_it_leaves_out() {
    const STACKS: u32 = 60_000;
    const MIDDLE: u32 = 300;
    let console = Console::new().await;
    let viewer = console.cookie("vera", Role::Viewer).await;
    let id = CaptureId::from_bits(43);
    create(&console.store, id).await;
    let mapping = Mapping { kind: MappingKind::File, build_id: Vec::new(), name: b"/usr/bin/many".to_vec(), pid: 0 };
    // Frames: the leaves, then those in the middle, then the root. Stacks begin with the leaf.
    let root = STACKS + MIDDLE + 1;
    let frames = (1..=root).map(|frame| (frame, Frame { mapping: 1, offset: u64::from(frame) * 16 })).collect();
    let stacks = (1..=STACKS).map(|leaf| (leaf, [leaf, STACKS + 1 + leaf % MIDDLE, root].as_slice().into())).collect();
    let chunk = chunk(u64::from(STACKS), |row| u32::try_from(row).unwrap() + 1);
    let totals = StreamTotals { hits: STACKS.into(), filtered: 0, emitted: STACKS.into(), stored: STACKS.into() };
    let ledger = Ledger { streams: vec![totals], losses: Vec::new() };
    let strings = vec![(1, b"many".to_vec())];
    let append = Append {
        chunks: vec![(0, chunk)],
        strings,
        mappings: vec![(1, mapping)],
        frames,
        stacks,
        ledger: Some(ledger.clone()),
        end_ns: START_NS + u64::from(STACKS),
        ..Append::default()
    };
    console.store.append(id, append).await.unwrap();
    let end = End {
        state: CaptureState::Finished,
        reason: "done".to_owned(),
        end_ns: START_NS + u64::from(STACKS),
        ledger,
        readings: vec![None],
        script: None,
        sources: Vec::new(),
    };
    console.store.finish(id, end).await.unwrap();
    for (width, most) in [(1_000, 20_000), (8_192, 20_000)] {
        let answer = console.get(&format!("/api/captures/{id}/flame?width={width}"), &viewer).await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let flame = answer.json();
        let nodes = flame["nodes"]["value"].as_array().unwrap().len();
        println!("width {width}: {nodes} nodes, {} bytes", answer.body.len());
        assert!(nodes <= most, "{nodes} nodes");
        assert_eq!((&flame["total"], &flame["nodes"]["value"][0]), (&STACKS.into(), &STACKS.into()));
        assert!(flame["cut"].as_object().unwrap().values().any(|value| value.as_u64() > Some(0)), "{}", flame["cut"]);
    }
}
