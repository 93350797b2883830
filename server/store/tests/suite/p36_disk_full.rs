//! P36: on a full disk writing stops with words, what was stored stays, reading and deleting work. P71: an end is never
//! lost for lack of room.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

use crate::common;

use std::{
    fs,
    io::Write as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
};

use bathyscope_capture::{Append, CaptureId, Ledger, Loss, LossStage, decode_chunk};
use bathyscope_store::{
    AuditEntry, CaptureState, End, Options, Reserve, Role, Store, StoreError, SummaryQuery, TokenHash,
};
use common::*;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// A file system of 24 MiB, unmounted at the end.
struct Small(tempfile::TempDir);

impl Small {
    fn new() -> Option<Self> {
        Self::of(c"size=24m,mode=0700")
    }

    fn of(options: &std::ffi::CStr) -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        match mount("tmpfs", dir.path(), "tmpfs", MountFlags::empty(), options) {
            Ok(()) => Some(Self(dir)),
            Err(error) => {
                println!("SKIPPED: a small file system cannot be mounted here: {error}");
                None
            }
        }
    }

    fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        unmount(self.0.path(), UnmountFlags::DETACH).unwrap();
    }
}

fn large(number: u64) -> Append {
    let mut state = number + 1;
    let noise = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    });
    let mut large = chunk(number * 1000, 10);
    large.bytes = noise.take(300_000).collect();
    Append { chunks: vec![(0, large)], ..Append::default() }
}

/// Appends to the capture 2 until it is refused; says how many were stored.
async fn fill(store: &Store) -> u64 {
    fill_one(store, id(2)).await
}

async fn fill_one(store: &Store, of: CaptureId) -> u64 {
    for number in 0..200 {
        match store.append(of, large(number)).await {
            Ok(()) => {}
            Err(StoreError::DiskFull { .. }) => return number,
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("it never became full");
}

/// What must work on a full disk, with `stored` appends in the capture 2 and the small capture [`ID`].
async fn works_when_full(store: &Store, stored: u64) {
    let capture = store.capture(id(2)).await.unwrap();
    assert_eq!(u64::from(capture.streams[0].chunks), stored, "the refused append left nothing");
    let bytes = store.chunk(ID, 0, 0).await.unwrap();
    assert_eq!(decode_chunk(&schemas()[0], &bytes, &[0]).unwrap().rows(), 100);
    assert_eq!(store.summaries(&SummaryQuery::default()).await.unwrap().total, 2);
    store.add_login_token(login_token(TokenHash::of(b"token"), Role::Viewer, 9)).await.unwrap();
    let ledger = Ledger { streams: vec![totals(stored * 10, stored * 10)], losses: Vec::new() };
    store.finish(id(2), end(ledger.clone())).await.unwrap();
    let capture = store.capture(id(2)).await.unwrap();
    assert_eq!((capture.state, capture.ledger.streams[0]), (CaptureState::Finished, ledger.streams[0]));
    store.delete(id(2)).await.unwrap();
    assert!(matches!(store.capture(id(2)).await, Err(StoreError::NoCapture { .. })));
}

async fn start(dir: &Path, options: Options) -> Store {
    let store = Store::open(dir, options).await.unwrap();
    record(&store, ID, "small").await;
    store.create(new_capture(id(2), "large")).await.unwrap();
    store
}

#[tokio::test]
async fn p36_deleted_captures_give_way_to_what_is_recorded() {
    let Some(small) = Small::new() else { return };
    let options = Options { reserve: Reserve::Bytes(6 << 20), ballast_bytes: 0, ..options() };
    let store = start(small.path(), options).await;
    let stored = 4;
    for number in 0..stored {
        store.append(id(2), large(number)).await.unwrap();
    }
    let ledger = Ledger { streams: vec![totals(stored * 10, stored * 10)], losses: Vec::new() };
    store.finish(id(2), end(ledger)).await.unwrap();
    assert!(store.delete_restorably(id(2), (NOW, "ada".to_owned())).await.unwrap());
    store.create(new_capture(id(3), "next")).await.unwrap();
    assert!(fill_one(&store, id(3)).await > stored, "it has the room of the deleted one");
    assert_eq!(store.deleted().await.unwrap(), []);
    assert!(!store.restore(id(2)).await.unwrap());
    store.chunk(ID, 0, 0).await.unwrap();
}

#[tokio::test]
async fn p36_appends_stop_at_the_reserve() {
    let Some(small) = Small::new() else { return };
    let options = Options { reserve: Reserve::Bytes(6 << 20), ballast_bytes: 0, ..options() };
    let store = start(small.path(), options).await;
    let stored = fill(&store).await;
    assert!(stored > 5, "only {stored} appends");
    let free = rustix::fs::statvfs(small.path()).unwrap();
    assert!(free.f_bavail * free.f_frsize >= 4 << 20, "the reserve was used");
    let error = store.append(id(2), large(0)).await.unwrap_err().to_string();
    assert!(error.contains("kept free") && error.contains("delete captures"), "{error}");
    works_when_full(&store, stored).await;
    store.create(new_capture(id(2), "again")).await.unwrap();
    assert!(fill(&store).await >= stored / 2, "the space did not come back");
}

#[tokio::test]
async fn p36_a_disk_filled_by_others_is_survived_with_the_ballast() {
    let Some(small) = Small::new() else { return };
    let options = Options { reserve: Reserve::Bytes(0), ballast_bytes: 4 << 20, ..options() };
    let store = start(small.path(), options).await;
    for number in 0..12 {
        store.append(id(2), large(number)).await.unwrap();
    }
    // Somebody else takes every byte that is left.
    let others = small.path().join("others");
    let zeros = vec![0; 24 << 20];
    let error = fs::write(&others, &zeros).unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::StorageFull);
    let refused = store.append(id(2), large(99)).await;
    assert!(matches!(refused, Err(StoreError::DiskFull { .. })), "{refused:?}");
    works_when_full(&store, 12).await;
    fs::remove_file(&others).unwrap();
    store.create(new_capture(id(2), "again")).await.unwrap();
    for number in 0..12 {
        store.append(id(2), large(number)).await.unwrap();
    }
}

#[tokio::test]
async fn p36_real_enospc_is_told_and_loses_nothing() {
    let Some(small) = Small::new() else { return };
    let store = start(small.path(), Options { reserve: Reserve::Bytes(0), ballast_bytes: 0, ..options() }).await;
    // The room check sees free space, but writing does not get it: somebody takes it between the two.
    for number in 0..8 {
        store.append(id(2), large(number)).await.unwrap();
    }
    let free = rustix::fs::statvfs(small.path()).unwrap();
    let leave = 700_000;
    let others = small.path().join("others");
    fs::write(&others, vec![0; usize::try_from(free.f_bavail * free.f_frsize).unwrap() - leave]).unwrap();
    let mut stored = 8;
    let refused = loop {
        match store.append(id(2), Append { chunks: large(stored).chunks, ..Append::default() }).await {
            Ok(()) => stored += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, StoreError::DiskFull { .. }), "{refused:?}");
    let capture = store.capture(id(2)).await.unwrap();
    assert_eq!(u64::from(capture.streams[0].chunks), stored);
    fs::remove_file(&others).unwrap();
    store.append(id(2), large(stored)).await.unwrap();
    store.close().await;
    let store = Store::open(small.path(), options()).await.unwrap();
    let capture = store.capture(id(2)).await.unwrap();
    assert_eq!((capture.state, u64::from(capture.streams[0].chunks)), (CaptureState::Interrupted, stored + 1));
}

/// Takes every byte of a file system as soon as it is free, until it is dropped.
struct Glutton {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    file: PathBuf,
}

impl Glutton {
    fn new(dir: &Path) -> Self {
        let (stop, file) = (Arc::new(AtomicBool::new(false)), dir.join("glutton"));
        let (stopped, mut into) = (Arc::clone(&stop), fs::File::create(&file).unwrap());
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Relaxed) {
                if into.write_all(&[1; 4096]).is_err() {
                    std::thread::yield_now();
                }
            }
        });
        let glutton = Self { stop, thread: Some(thread), file };
        while free(dir) > 0 {
            std::thread::yield_now();
        }
        glutton
    }
}

impl Drop for Glutton {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().unwrap().join().unwrap();
        fs::remove_file(&self.file).unwrap();
    }
}

fn free(dir: &Path) -> u64 {
    let system = rustix::fs::statvfs(dir).unwrap();
    system.f_bavail * system.f_frsize
}

/// What is stored, as another process reads it from the disk.
async fn on_disk(dir: &Path) -> (CaptureState, String, Ledger) {
    let copy = tempfile::tempdir().unwrap();
    for name in ["bathyscope.db", "bathyscope.db-wal"] {
        // There may be no log.
        let _copied = fs::copy(dir.join(name), copy.path().join(name));
    }
    let store = Store::open_read_only(copy.path()).await.unwrap();
    let capture = store.capture(id(2)).await.unwrap();
    store.close().await;
    (capture.state, capture.reason, capture.ledger)
}

/// The end of a capture of which events were lost.
fn failed_end(stored: u64) -> End {
    let loss =
        Loss { stream: Some(0), stage: LossStage::Store, count: 73_680, start_ns: START_NS, end_ns: START_NS + 9 };
    let ledger = Ledger { streams: vec![totals(stored, stored + 73_680), totals(0, 0)], losses: vec![loss] };
    End { state: CaptureState::Failed, reason: "the disk is full".to_owned(), ..end(ledger) }
}

#[tokio::test(flavor = "multi_thread")]
async fn p71_the_end_is_answered_and_stored_however_often_the_disk_is_full() {
    let Some(small) = Small::of(c"size=48m,mode=0700") else { return };
    let store = Store::open(small.path(), Options::default()).await.unwrap();
    record(&store, ID, "small").await;
    for round in 0..3 {
        store.create(new_capture(id(2), "large")).await.unwrap();
        let mut stored = 0;
        while stored < 12 && store.append(id(2), large(stored)).await.is_ok() {
            stored += 1;
        }
        assert!(stored > 5, "round {round}: only {stored} appends; {} bytes are free", free(small.path()));
        let glutton = Glutton::new(small.path());
        // What the log gives back may be enough for some before the other program has it.
        let refused = loop {
            match store.append(id(2), large(stored)).await {
                Ok(()) => stored += 1,
                Err(refused) => break refused,
            }
        };
        assert!(matches!(refused, StoreError::DiskFull { .. }), "round {round}: {refused:?}");
        let end = failed_end(stored * 10);
        // It may find the room that was set aside, or another program is faster.
        let written = store.finish(id(2), end.clone()).await;
        let capture = store.capture(id(2)).await.unwrap();
        assert_eq!((capture.state, &capture.reason), (CaptureState::Failed, &end.reason), "round {round}: {written:?}");
        assert_eq!(capture.ledger, end.ledger, "round {round}");
        let listed = store.summaries(&SummaryQuery::default()).await.unwrap().items;
        let listed = listed.iter().find(|capture| capture.id == id(2)).unwrap();
        assert_eq!((listed.state, listed.lost), (CaptureState::Failed, 73_680), "round {round}");
        assert!(store.has_room().await.is_err() && store.create(new_capture(id(3), "no")).await.is_err());
        drop(glutton);
        let settled =
            async { while on_disk(small.path()).await != (end.state, end.reason.clone(), end.ledger.clone()) {} };
        tokio::time::timeout(std::time::Duration::from_secs(30), settled)
            .await
            .expect("it is stored when there is room");
        store.delete(id(2)).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p71_an_end_that_the_disk_had_no_room_for_outlives_the_process() {
    let Some(small) = Small::of(c"size=48m,mode=0700") else { return };
    let options = Options { reserve: Reserve::Bytes(0), ballast_bytes: 0, ..options() };
    let store = start(small.path(), options.clone()).await;
    store.append(id(2), large(0)).await.unwrap();
    let glutton = Glutton::new(small.path());
    let end = failed_end(10);
    // Small changes go into what the log has already, until that is full.
    let mut number = 0;
    while store.add_audit(entry(number)).await.is_ok() {
        number += 1;
    }
    let refused = store.finish(id(2), end.clone()).await;
    assert!(refused.is_err(), "there is no room for it");
    // The process ends without closing anything: the next one finds what is on the disk.
    let killed = copied(small.path());
    let found = Store::open(killed.path(), options.clone()).await.unwrap();
    let capture = found.capture(id(2)).await.unwrap();
    assert_eq!((capture.state, capture.reason, capture.ledger), (end.state, end.reason.clone(), end.ledger.clone()));
    found.close().await;
    integrity(killed.path()).await;
    // One that waits can be deleted, which makes room.
    drop(glutton);
    store.delete(id(2)).await.unwrap();
    store.close().await;
    let store = Store::open(small.path(), options).await.unwrap();
    assert!(matches!(store.capture(id(2)).await, Err(StoreError::NoCapture { .. })));
}

fn entry(number: u64) -> AuditEntry {
    AuditEntry {
        time_unix_ns: 0,
        user: "ada".to_owned(),
        role: Role::Admin,
        action: "test".to_owned(),
        object: number.to_string(),
        detail: "x".repeat(4000),
    }
}

/// The files of a store as they are now.
fn copied(from: &Path) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with("bathyscope.") && !name.to_string_lossy().ends_with(".lock") {
            fs::copy(entry.path(), dir.path().join(name)).unwrap();
        }
    }
    dir
}
