//! P36: on a full disk writing stops with words, what was stored stays, reading and deleting work.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "tests")]

mod common;

use std::{fs, path::Path};

use bathyscope_capture::{Append, Ledger, decode_chunk};
use bathyscope_store::{CaptureState, Options, Reserve, Role, Store, StoreError, SummaryQuery, TokenHash};
use common::*;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};

/// A file system of 24 MiB, unmounted at the end.
struct Small(tempfile::TempDir);

impl Small {
    fn new() -> Option<Self> {
        let dir = tempfile::tempdir().unwrap();
        match mount("tmpfs", dir.path(), "tmpfs", MountFlags::empty(), c"size=24m,mode=0700") {
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

/// Appends until it is refused; says how many were stored.
async fn fill(store: &Store) -> u64 {
    for number in 0..200 {
        match store.append(id(2), large(number)).await {
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
    store.add_login_token(TokenHash::of(b"token"), "grace", Role::Viewer, 9).await.unwrap();
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
