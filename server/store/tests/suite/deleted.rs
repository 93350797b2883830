//! Captures that were deleted: hidden, restored as they were, or gone for good.

use bathyscope_capture::CaptureId;
use bathyscope_store::{Store, StoreError};

use crate::common::*;

async fn deleted(store: &Store) -> Vec<CaptureId> {
    store.deleted().await.unwrap().into_iter().map(|one| one.id).collect()
}

#[tokio::test]
async fn a_deleted_capture_is_hidden_and_restored_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "slow").await;
    let before = store.capture(ID).await.unwrap();
    let chunk = store.chunk(ID, 0, 0).await.unwrap();
    assert!(store.delete_restorably(ID, (NOW, "ada".to_owned())).await.unwrap());
    assert!(matches!(store.capture(ID).await, Err(StoreError::NoCapture { .. })));
    assert!(store.retained().await.unwrap().is_empty());
    assert_eq!(store.sizes().await.unwrap(), (0, 0));
    let kept = store.deleted().await.unwrap();
    assert_eq!((kept.len(), kept[0].id, kept[0].title.as_str()), (1, ID, "slow"));
    assert_eq!(
        (kept[0].deleted_unix_ns, kept[0].deleted_by.as_str(), kept[0].size_bytes),
        (NOW, "ada", before.size_bytes)
    );
    // It cannot be deleted twice, and outlives a restart.
    let again = store.delete_restorably(ID, (NOW, "ada".to_owned())).await;
    assert!(matches!(again, Err(StoreError::NoCapture { .. })), "{again:?}");
    store.close().await;
    let store = open(dir.path()).await;
    assert_eq!(deleted(&store).await, [ID]);
    assert!(store.restore(ID).await.unwrap());
    assert!(!store.restore(ID).await.unwrap(), "it is there already");
    assert_eq!((store.capture(ID).await.unwrap(), deleted(&store).await), (before, vec![]));
    assert_eq!(store.chunk(ID, 0, 0).await.unwrap(), chunk);
    store.check(ID).await.unwrap();
}

#[tokio::test]
async fn what_is_discarded_is_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for (n, at) in [(1, 5), (2, 3)] {
        record(&store, id(n), "one").await;
        assert!(store.delete_restorably(id(n), (NOW + at, "ada".to_owned())).await.unwrap());
    }
    assert_eq!(deleted(&store).await, [id(2), id(1)], "the one that was deleted first");
    assert!(store.discard(id(1)).await.unwrap());
    assert!(!store.discard(id(1)).await.unwrap() && !store.restore(id(1)).await.unwrap());
    assert!(!store.discard(ID).await.unwrap(), "what is shown is not discarded");
    assert_eq!(deleted(&store).await, [id(2)]);
    // Its id is free, and so is its space.
    record(&store, id(1), "another").await;
    assert_eq!(store.capture(id(1)).await.unwrap().title, "another");
}

#[tokio::test]
async fn what_is_recorded_is_not_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "runs")).await.unwrap();
    let refused = store.delete_restorably(ID, (NOW, "ada".to_owned())).await;
    assert!(matches!(refused, Err(StoreError::Recording { .. })), "{refused:?}");
    assert_eq!(deleted(&store).await, []);
}

#[tokio::test]
async fn a_file_of_a_deleted_capture_restores_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "slow").await;
    let file = dir.path().join("one.bathy");
    store.export_file(ID, &file).await.unwrap();
    assert!(store.delete_restorably(ID, (NOW, "ada".to_owned())).await.unwrap());
    assert_eq!(store.import_file(&file, "grace", NOW).await.unwrap(), ID);
    assert_eq!((deleted(&store).await, store.capture(ID).await.unwrap().owner.as_str()), (vec![], "ada"));
}
