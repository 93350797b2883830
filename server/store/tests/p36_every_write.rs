//! P36: whichever write or flush fails, once or for ever, the error has a type, what was acknowledged is there when the
//! database is opened again, and nothing is damaged.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod common;
#[path = "common/faults.rs"]
mod faults;

use std::{fs, path::Path};

use bathyscope_capture::{Append, Ledger, LossStage};
use bathyscope_store::{CaptureState, Store, StoreError};
use common::*;
use faults::{Calls, Disk, Fault, Plan};

const RUN: u64 = 2;
const APPENDS: u64 = 3;

/// What may be said of a disk that does not write.
fn is_of_the_disk(error: &StoreError) -> bool {
    match error {
        StoreError::DiskFull { .. } => true,
        // Where SQLite cannot open or enlarge one of its files it says so in these ways.
        StoreError::Database { source, .. } => source.as_database_error().is_some(),
        StoreError::ReadOnly { .. } | StoreError::File { .. } | StoreError::Migration { .. } => true,
        // The state that the failed call before it left.
        StoreError::NoCapture { .. } | StoreError::NotRecording { .. } => true,
        _ => false,
    }
}

/// How far a run came: what the store said was done.
#[derive(Debug, Default)]
struct Acknowledged {
    created: bool,
    appends: u64,
    finished: bool,
    deleted: bool,
    hidden: bool,
    refused: u64,
}

impl Acknowledged {
    fn note<T>(&mut self, what: &str, done: Result<T, StoreError>) -> bool {
        if let Err(error) = &done {
            assert!(is_of_the_disk(error), "{what}: {error:?}");
            assert!(!error.to_string().is_empty());
            self.refused += 1;
        }
        done.is_ok()
    }
}

fn numbered(number: u64) -> Append {
    let stored = (number + 1) * 100;
    let strings = if number == 0 { vec![(1, b"bash".to_vec())] } else { Vec::new() };
    let streams = vec![totals(stored, stored + 1), totals(0, 0)];
    let ledger = Some(Ledger { streams, losses: Vec::new() });
    let chunks = vec![(0, chunk(START_NS + number * 1000, 100))];
    Append { chunks, strings, ledger, end_ns: START_NS + (number + 1) * 1000, ..Append::default() }
}

/// A capture is made, filled, ended; another one is deleted. An append that is refused is tried once more, as a recorder
/// that only met a hiccup might; then nothing more is appended.
async fn run(store: &Store) -> Acknowledged {
    let mut done = Acknowledged::default();
    done.created = done.note("create", store.create(new_capture(id(RUN), "run")).await);
    if done.created {
        for number in 0..APPENDS {
            let first = done.note("append", store.append(id(RUN), numbered(number)).await);
            if !first && !done.note("append again", store.append(id(RUN), numbered(number)).await) {
                break;
            }
            done.appends += 1;
        }
        let stored = done.appends * 100;
        let ledger = Ledger { streams: vec![totals(stored, stored), totals(0, 0)], losses: Vec::new() };
        done.finished = done.note("finish", store.finish(id(RUN), end(ledger)).await);
    }
    done.deleted = done.note("delete", store.delete(ID).await);
    done.hidden = matches!(store.capture(ID).await, Err(StoreError::NoCapture { .. }));
    done
}

/// Opens it again on a disk that works: what was acknowledged is there, what was refused is there whole or not at all.
async fn check(dir: &Path, done: &Acknowledged, what: &str) {
    let store = open(dir).await;
    match store.capture(id(RUN)).await {
        Ok(capture) => {
            let chunks = u64::from(capture.streams[0].chunks);
            assert!(chunks >= done.appends && chunks <= done.appends + 1, "{what}: {done:?}, {chunks} chunks");
            assert!(capture.ledger.in_flight().iter().all(|left| *left == 0), "{what}: {:?}", capture.ledger);
            match capture.state {
                CaptureState::Finished => {}
                CaptureState::Interrupted => {
                    assert!(!done.finished, "{what}: its end was acknowledged");
                    let losses = &capture.ledger.losses;
                    assert!(losses.iter().any(|loss| loss.stage == LossStage::Interrupted), "{what}: {losses:?}");
                    assert!(capture.reason.contains("ended before"), "{what}: {}", capture.reason);
                }
                state => panic!("{what}: {state}"),
            }
            for seq in 0..u32::try_from(chunks).unwrap() {
                store.chunk(id(RUN), 0, seq).await.unwrap();
            }
        }
        Err(error) => assert!(matches!(error, StoreError::NoCapture { .. }) && !done.created, "{what}: {error:?}"),
    }
    let other = store.capture(ID).await;
    assert!(!done.deleted || matches!(other, Err(StoreError::NoCapture { .. })), "{what}: a deletion came back");
    record(&store, id(99), "after all that").await;
    store.close().await;
    integrity(dir).await;
}

/// A directory as each run finds it, to be copied: making one takes longer than the run.
async fn prepared() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "there before").await;
    store.close().await;
    dir
}

fn copied(from: &Path) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::copy(database(from), database(dir.path())).unwrap();
    dir
}

/// Runs with the first call failing, then with each `step`th after it, until none is left to fail. Gives how many calls
/// there were, and how many changes were refused.
async fn every(calls: Calls, fault: Fault, for_ever: bool, step: usize) -> (u64, u64) {
    let template = prepared().await;
    let mut refused = 0;
    for first in (0..).step_by(step) {
        let dir = copied(template.path());
        let store = open(dir.path()).await;
        let plan = Plan { calls, fault, first, for_ever };
        let disk = Disk::fails(dir.path(), plan);
        let done = run(&store).await;
        let hit_while_running = disk.hit();
        store.close().await;
        let hit = disk.heal();
        check(dir.path(), &done, &format!("{plan:?}")).await;
        if hit == 0 {
            return (first, refused);
        }
        // Ends and deletions are tried a second time, with what was set aside for them.
        assert!(for_ever || (done.hidden && done.finished == done.created), "{plan:?}: {done:?}");
        assert!(!for_ever || hit_while_running == 0 || done.refused > 0 || done.deleted, "{plan:?}: {done:?}");
        refused += done.refused;
    }
    (0, refused)
}

/// Each `step`th call fails in turn in the long run; of the many writes, an ordinary run takes fewer.
async fn every_kind(calls: Calls, faults: &[(Fault, usize)]) {
    let fewer = if is_long() || calls == Calls::Flushes { 1 } else { 23 };
    for (fault, step) in faults {
        for for_ever in [false, true] {
            let (runs, refused) = every(calls, *fault, for_ever, *step * fewer).await;
            println!("{calls:?}, {fault:?}, for ever: {for_ever}: {runs} calls, {refused} changes were refused");
            assert!(runs >= 5 && (refused > 0 || !for_ever), "{calls:?} {fault:?}: the faults hit nothing");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p36_any_write_may_find_the_disk_full() {
    every_kind(Calls::Writes, &[(Fault::Error(libc::ENOSPC), 1), (Fault::Half(libc::ENOSPC), 3)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p36_any_write_may_fail() {
    every_kind(Calls::Writes, &[(Fault::Error(libc::EIO), 2)]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn p36_any_flush_may_fail() {
    every_kind(Calls::Flushes, &[(Fault::Error(libc::EIO), 1), (Fault::Error(libc::ENOSPC), 1)]).await;
}

/// An older database is brought up to date in a copy: whatever fails, the file is as it was, or is the new one.
#[tokio::test(flavor = "multi_thread")]
async fn p36_p38_any_write_of_a_migration_may_fail() {
    let old = include_bytes!("fixtures/v5.db");
    for (calls, step) in [(Calls::Writes, if is_long() { 3 } else { 61 }), (Calls::Flushes, 1)] {
        let (mut runs, mut refused) = (0, 0);
        for first in (0..).step_by(step) {
            let dir = tempfile::tempdir().unwrap();
            fs::write(database(dir.path()), old).unwrap();
            let disk =
                Disk::fails(dir.path(), Plan { calls, fault: Fault::Error(libc::ENOSPC), first, for_ever: true });
            let opened = Store::open(dir.path(), options()).await;
            let hit = disk.hit();
            match opened {
                Ok(store) => store.close().await,
                Err(error) => {
                    assert!(is_of_the_disk(&error), "{first}: {error:?}");
                    refused += 1;
                }
            }
            disk.heal();
            let store = open(dir.path()).await;
            assert_eq!(store.capture(ID).await.unwrap().title, "whole", "{calls:?} {first}");
            store.close().await;
            integrity(dir.path()).await;
            runs += 1;
            if hit == 0 {
                break;
            }
        }
        println!("{calls:?}: {runs} places of a migration, {refused} were refused");
        assert!(runs > 2 && refused > 0);
    }
}

/// A database that could not be made is made at the next start.
#[tokio::test(flavor = "multi_thread")]
async fn p36_p37_any_write_of_a_new_database_may_fail() {
    for first in (0..).step_by(if is_long() { 5 } else { 37 }) {
        let dir = tempfile::tempdir().unwrap();
        let plan = Plan { calls: Calls::Writes, fault: Fault::Error(libc::ENOSPC), first, for_ever: true };
        let disk = Disk::fails(dir.path(), plan);
        let opened = Store::open(dir.path(), options()).await;
        let hit = disk.hit();
        match opened {
            Ok(store) => store.close().await,
            Err(error) => assert!(is_of_the_disk(&error), "{first}: {error:?}"),
        }
        disk.heal();
        let store = open(dir.path()).await;
        record(&store, ID, "made after all").await;
        store.close().await;
        integrity(dir.path()).await;
        if hit == 0 {
            break;
        }
    }
}

/// A disk that is only slow: the writer waits, readers and whoever has given up do not, and nothing is lost.
#[tokio::test(flavor = "multi_thread")]
async fn p35_a_disk_that_stands_still_holds_up_no_reader() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "there before").await;
    store.create(new_capture(id(RUN), "run")).await.unwrap();
    let plan = Plan { calls: Calls::Writes, fault: Fault::Wait, first: 0, for_ever: true };
    let disk = Disk::fails(dir.path(), plan);
    let append = tokio::spawn({
        let store = store.clone();
        async move { store.append(id(RUN), numbered(0)).await }
    });
    let disk = tokio::task::spawn_blocking(move || {
        disk.until_stuck();
        disk
    });
    let disk = disk.await.unwrap();
    assert_eq!(store.capture(ID).await.unwrap().streams[0].rows, 100);
    assert_eq!(store.capture(id(RUN)).await.unwrap().streams[0].rows, 0);
    assert!(!append.is_finished());
    // Somebody who does not wait for the end.
    let given_up = tokio::spawn({
        let store = store.clone();
        async move { store.append(id(RUN), numbered(1)).await }
    });
    tokio::task::yield_now().await;
    given_up.abort();
    assert!(disk.heal() > 0);
    append.await.unwrap().unwrap();
    store.close().await;
    let store = open(dir.path()).await;
    assert!(store.capture(id(RUN)).await.unwrap().streams[0].rows >= 100);
}
