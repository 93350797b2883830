//! P34: a process that is killed while it appends leaves a capture that ends at a chunk boundary, opens, and accounts for
//! what it holds.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::exit, clippy::print_stdout, reason = "tests")]

mod common;

use std::{
    io::{BufRead as _, BufReader, Write as _},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use bathyscope_capture::{Append, Ledger, LossStage, Severity, decode_chunk};
use bathyscope_store::{CaptureState, StoreError};
use common::*;

const CHILD: &str = "BATHYSCOPE_TEST_KILLED_CHILD";
const ROWS: u64 = 200;
const STRINGS: u32 = 3;

/// What the child appends as its `number`th.
fn numbered(number: u64) -> Append {
    let first = u32::try_from(number).unwrap() * STRINGS + 1;
    let streams = vec![totals((number + 1) * ROWS, (number + 1) * ROWS + number % 3), totals(0, 0)];
    Append {
        chunks: vec![(0, chunk(number * ROWS + START_NS, usize::try_from(ROWS).unwrap()))],
        strings: (first..first + STRINGS).map(|id| (id, format!("string {id}").into_bytes())).collect(),
        ledger: Some(Ledger { streams, losses: Vec::new() }),
        end_ns: START_NS + (number + 1) * ROWS,
        ..Append::default()
    }
}

/// Runs as the child: appends for ever and says after each append that it is stored.
#[tokio::test]
async fn child() {
    let Ok(dir) = std::env::var(CHILD) else { return };
    let store = open(Path::new(&dir)).await;
    store.create(new_capture(id(77), "killed")).await.unwrap();
    let mut out = std::io::stdout();
    for number in 0.. {
        store.append(id(77), numbered(number)).await.unwrap();
        writeln!(out, "\nstored {number}").unwrap();
        out.flush().unwrap();
    }
}

/// How many children are killed: more under `tests/run long`, which looks for what happens rarely.
fn kills() -> u64 {
    if is_long() { 400 } else { 25 }
}

/// Starts a child, lets it make `appends` and live a little longer, kills it, and says how many appends it said were
/// stored. The little is what makes the kill fall anywhere in the next change.
fn run_and_kill(dir: &Path, appends: u64, longer: Duration) -> u64 {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let number = |line: &str| line.strip_prefix("stored ").and_then(|number| number.parse::<u64>().ok());
    let mut stored = 0;
    while stored < appends {
        let line = lines.next().expect("the child goes on").unwrap();
        stored = number(&line).map_or(stored, |number| number + 1);
    }
    std::thread::sleep(longer);
    child.kill().unwrap();
    child.wait().unwrap();
    // What it had said before it was killed counts too.
    for line in lines.map_while(Result::ok) {
        stored = number(&line).map_or(stored, |number| number + 1);
    }
    stored
}

#[tokio::test]
async fn p34_a_killed_process_leaves_whole_appends() {
    let mut most = 0;
    for round in 0..kills() {
        let dir = tempfile::tempdir().unwrap();
        let place = round * 80 / kills();
        let (appends, longer) = (1 + place * place / 24, Duration::from_micros(round * 7919 % 3000));
        let acknowledged = run_and_kill(dir.path(), appends, longer);
        most = most.max(acknowledged);
        // Opened by us before anybody else repairs anything.
        let store = open(dir.path()).await;
        let capture = store.capture(id(77)).await.expect("its creation was acknowledged");
        assert_eq!(capture.state, CaptureState::Interrupted);
        let appends = u64::from(capture.streams[0].chunks);
        assert!(
            appends >= acknowledged,
            "round {round}: {acknowledged} appends were acknowledged, {appends} are there"
        );
        assert!(appends <= acknowledged + 1, "round {round}: more appends than were made");
        assert_eq!(capture.streams[0].rows, appends * ROWS);
        assert_eq!(store.strings(id(77), 0).await.unwrap().len() as u64, appends * u64::from(STRINGS));
        let all = [0, 1, 2, 3, 4, 5];
        for (number, info) in (0..appends).zip(store.chunk_index(id(77), 0, 0).await.unwrap()) {
            let bytes = store.chunk(id(77), 0, info.seq).await.unwrap();
            assert_eq!(bytes, numbered(number).chunks[0].1.bytes);
            assert_eq!(decode_chunk(&schemas()[0], &bytes, &all).unwrap().rows() as u64, ROWS);
        }
        let ledger = &capture.ledger;
        assert_eq!(ledger.in_flight(), [0, 0], "round {round}: the accounting do not balance");
        assert_eq!((ledger.streams[0].stored, ledger.losses.len()), (appends * ROWS, 2));
        let told = |loss: &bathyscope_capture::Loss| (loss.stage, loss.severity());
        assert!(ledger.losses.iter().all(|loss| told(loss) == (LossStage::Interrupted, Severity::Error)));
        store.close().await;
        integrity(dir.path()).await;
    }
    println!("{} kills, the longest life had {most} appends", kills());
    assert!(most > 100, "the kills do not cover much: {most}");
}

#[tokio::test]
async fn p34_a_process_killed_while_it_makes_the_database_leaves_one_that_opens() {
    let (mut empty, mut made) = (0, 0);
    for round in 0..kills() {
        let dir = tempfile::tempdir().unwrap();
        let acknowledged = run_and_kill(dir.path(), 0, Duration::from_micros(round * 56_000 / kills()));
        let store = open(dir.path()).await;
        match store.capture(id(77)).await {
            Ok(capture) => {
                assert_eq!((capture.state, capture.streams.len()), (CaptureState::Interrupted, 2));
                made += 1;
            }
            Err(error) => {
                assert!(matches!(error, StoreError::NoCapture { .. }) && acknowledged == 0, "{error:?}");
                empty += 1;
            }
        }
        store.close().await;
        integrity(dir.path()).await;
    }
    println!("{} kills, {empty} before the capture was made, {made} after", kills());
}
