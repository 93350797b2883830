//! What made a flight recorder store a capture, rows that were not kept, and tokens that fire.

use bathyscope_capture::{Firing, FiringKind, Ledger, Loss, LossStage, MAX_FIRING_TEXT_BYTES};
use bathyscope_store::{FireToken, NewCapture, StoreError, TokenHash};

use crate::common::*;

fn firing() -> Firing {
    Firing {
        recorder: id(1),
        kind: FiringKind::Row,
        trigger: "duration_ns > 5".to_owned(),
        value: "calls: duration_ns 153 ms".to_owned(),
        fired_ns: START_NS + 7,
        fired_unix_ns: 1_700_000_000_000_000_007,
        complete_from_ns: START_NS + 2,
    }
}

fn fired(number: u64) -> NewCapture {
    let fired_ns = START_NS + number;
    NewCapture { firing: Some(Firing { fired_ns, ..firing() }), ..new_capture(id(number), "fired") }
}

#[tokio::test]
async fn what_fired_is_kept_with_the_capture_and_goes_to_files() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(id(1), "recorder")).await.unwrap();
    store.create(fired(7)).await.unwrap();
    store.create(fired(9)).await.unwrap();
    assert_eq!(store.capture(id(1)).await.unwrap().firing, None);
    assert_eq!(store.capture(id(7)).await.unwrap().firing, Some(firing()));
    assert_eq!(store.stored_by(id(1), 9).await.unwrap(), [id(9), id(7)], "the newest first");
    assert_eq!(store.stored_by(id(1), 1).await.unwrap(), [id(9)]);
    let long = Firing { value: "x".repeat(MAX_FIRING_TEXT_BYTES + 1), ..firing() };
    let refused = store.create(NewCapture { firing: Some(long), ..new_capture(id(11), "long") }).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    store.finish(id(7), end(Ledger::default())).await.unwrap();
    let file = dir.path().join("fired.bathy");
    store.export_file(id(7), &file).await.unwrap();
    let elsewhere = tempfile::tempdir().unwrap();
    let other = open(elsewhere.path()).await;
    let imported = other.import_file(&file, "grace", 5).await.unwrap();
    assert_eq!(other.capture(imported).await.unwrap().firing, Some(firing()));
    store.delete(id(7)).await.unwrap();
    assert_eq!(store.stored_by(id(1), 9).await.unwrap(), [id(9)]);
}

#[tokio::test]
async fn rows_that_were_not_kept_are_no_loss() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "recorder")).await.unwrap();
    let not_kept =
        Loss { stream: Some(0), stage: LossStage::NotKept, count: 5, start_ns: START_NS, end_ns: START_NS + 9 };
    let ledger = Ledger { streams: vec![totals(0, 5), totals(0, 0)], losses: vec![not_kept] };
    store.finish(ID, end(ledger.clone())).await.unwrap();
    let record = store.capture(ID).await.unwrap();
    assert_eq!((record.ledger.not_kept(0), record.ledger.lost(0), record.ledger.lost_total()), (5, 0, 0));
    assert_eq!(record.ledger.in_flight(), [0, 0]);
    assert!(record.ledger.lost_nothing());
}

#[tokio::test]
async fn a_token_is_kept_as_a_hash_and_goes_with_its_recorder() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "recorder")).await.unwrap();
    let (one, two) = (TokenHash::of(b"one"), TokenHash::of(b"two"));
    let token = FireToken { made_by: "ada".to_owned(), created_unix_ns: 5 };
    let nowhere = store.put_fire_token(id(9), one, token.clone()).await;
    assert!(matches!(nowhere, Err(StoreError::NoCapture { .. })), "{nowhere:?}");
    assert_eq!(store.fire_token(ID, None).await.unwrap(), None);
    store.put_fire_token(ID, one, token.clone()).await.unwrap();
    assert_eq!(store.fire_token(ID, Some(one)).await.unwrap(), Some(token.clone()));
    assert_eq!(store.fire_token(ID, Some(two)).await.unwrap(), None);
    // Another one takes its place.
    store.put_fire_token(ID, two, token.clone()).await.unwrap();
    assert_eq!(store.fire_token(ID, Some(one)).await.unwrap(), None);
    assert_eq!(store.fire_token(ID, None).await.unwrap(), Some(token.clone()));
    assert!(store.remove_fire_token(ID).await.unwrap() && !store.remove_fire_token(ID).await.unwrap());
    store.put_fire_token(ID, two, token).await.unwrap();
    store.finish(ID, end(Ledger::default())).await.unwrap();
    store.delete(ID).await.unwrap();
    assert_eq!(store.fire_token(ID, Some(two)).await.unwrap(), None);
}
