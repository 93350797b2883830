//! Captures as runs of series, and marked moments.

use bathyscope_capture::{CaptureId, Firing, FiringKind, Ledger, SeriesId};
use bathyscope_store::{NewCapture, NewMark, RunNumbers, Sight, Store, StoreError};

use crate::common::*;

const SERIES: SeriesId = SeriesId::from_bits(0xffff_0000_0000_0007);
const OTHER: SeriesId = SeriesId::from_bits(9);

fn numbers(rule: u32, text: &str) -> Option<RunNumbers> {
    Some(RunNumbers { rule, numbers: text.to_owned(), problem: String::new() })
}

/// A capture that has ended.
async fn ended(store: &Store, number: u64) {
    store.create(new_capture(id(number), "run <b>")).await.unwrap();
    store.finish(id(number), end(Ledger::default())).await.unwrap();
}

#[tokio::test]
async fn numbers_are_computed_once_for_each_version_of_the_rule() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    ended(&store, 1).await;
    ended(&store, 2).await;
    store.create(new_capture(id(3), "run")).await.unwrap();
    let pending = async |rule| -> Vec<(u64, bool)> {
        let found = store.pending_runs(rule).await.unwrap();
        found.into_iter().map(|run| (run.id.bits(), run.has_ended)).collect()
    };
    assert_eq!(pending(1).await, [(3, false), (2, true), (1, true)]);
    store.put_run(id(1), SERIES, numbers(1, "[1]")).await.unwrap();
    store.begin_run(id(3), SERIES, Some(id(1))).await.unwrap();
    assert_eq!(pending(1).await, [(2, true)], "what is being recorded has no numbers yet");
    store.put_run(id(2), OTHER, numbers(1, "[2]")).await.unwrap();
    assert!(pending(1).await.is_empty());
    assert_eq!(pending(2).await, [(2, true), (1, true)]);
    store.finish(id(3), end(Ledger::default())).await.unwrap();
    assert_eq!(pending(1).await, [(3, true)]);
    store.put_run(id(3), SERIES, numbers(1, "[3]")).await.unwrap();
    // Kept once, it stays what it was run again of.
    let runs = store.series_runs(SERIES).await.unwrap();
    let told: Vec<_> = runs.iter().map(|run| (run.id.bits(), run.again_of.map(CaptureId::bits))).collect();
    assert_eq!(told, [(3, Some(1)), (1, None)]);
    assert_eq!(runs[0].numbers.as_ref().unwrap().numbers, "[3]");
    // What is gone has no run, and nobody minds.
    store.put_run(id(77), SERIES, numbers(1, "[]")).await.unwrap();
    assert_eq!(store.series_runs(SERIES).await.unwrap().len(), 2);
    let large = numbers(1, &"x".repeat((256 << 10) + 1));
    assert!(matches!(store.put_run(id(1), SERIES, large).await, Err(StoreError::Refused { .. })));
}

#[tokio::test]
async fn one_run_is_the_baseline_and_goes_with_its_capture() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for number in 1..=3 {
        ended(&store, number).await;
        store.put_run(id(number), if number == 3 { OTHER } else { SERIES }, numbers(1, "[]")).await.unwrap();
    }
    let refused = store.set_baseline(SERIES, Some(id(3))).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "it is of another series: {refused:?}");
    let baseline = async || store.run_places(vec![id(2)]).await.unwrap()[&id(2)].baseline;
    for number in [1, 2, 1] {
        store.set_baseline(SERIES, Some(id(number))).await.unwrap();
        assert_eq!(baseline().await, Some(id(number)));
    }
    let series = store.series().await.unwrap();
    assert_eq!(series.len(), 1, "one run is no series");
    assert_eq!((series[0].id, series[0].runs, series[0].baseline), (SERIES, 2, Some(id(1))));
    // Deleted captures are no runs, until they are restored.
    assert!(store.delete_restorably(id(1), (NOW, "ada".to_owned())).await.unwrap());
    assert_eq!((baseline().await, store.series().await.unwrap().len()), (None, 0));
    assert_eq!(store.run_places(vec![id(2)]).await.unwrap()[&id(2)].runs, 1);
    store.restore(id(1)).await.unwrap();
    assert_eq!(baseline().await, Some(id(1)));
    store.set_baseline(SERIES, None).await.unwrap();
    assert_eq!(baseline().await, None);
    store.delete(id(2)).await.unwrap();
    assert!(!store.run_places(vec![id(2), id(99)]).await.unwrap().contains_key(&id(99)));
    assert_eq!(store.series_runs(SERIES).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_flight_recorder_is_no_run_of_the_captures_that_it_stores() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let recorder = |number: u64, title: &str| {
        let mut new = new_capture(id(number), title);
        new.spec.limits.flight = Some(Box::default());
        new
    };
    let firing = Firing {
        recorder: id(1),
        kind: FiringKind::Hand,
        trigger: "by hand".to_owned(),
        value: String::new(),
        fired_ns: START_NS,
        fired_unix_ns: NOW,
        complete_from_ns: START_NS,
    };
    store.create(recorder(1, "recorder")).await.unwrap();
    // A run without rows that is none says so in its text only.
    let mut plain = new_capture(id(3), "\"flight\":{}");
    plain.spec.name = "{\"limits\":{\"flight\":{}}}".to_owned();
    store.create(plain).await.unwrap();
    store.create(NewCapture { firing: Some(firing), ..recorder(2, "stored") }).await.unwrap();
    for number in 1..=3 {
        store.finish(id(number), end(Ledger::default())).await.unwrap();
    }
    let pending: Vec<u64> = store.pending_runs(1).await.unwrap().into_iter().map(|run| run.id.bits()).collect();
    assert_eq!(pending, [2, 3]);
    // A database of before has all as runs, and the recorder may even be the baseline.
    for number in 1..=2 {
        store.put_run(id(number), SERIES, numbers(1, "[]")).await.unwrap();
    }
    let refused = store.set_baseline(SERIES, Some(id(1))).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    let runs: Vec<u64> = store.series_runs(SERIES).await.unwrap().into_iter().map(|run| run.id.bits()).collect();
    assert_eq!(runs, [2]);
    let counts = store.seen_by(&Sight::ALL).run_counts(vec![id(1), id(2)]).await.unwrap();
    assert_eq!(counts, [(id(2), (SERIES, 1))].into());
    let places = store.run_places(vec![id(1), id(2)]).await.unwrap();
    assert_eq!((places.get(&id(1)), places[&id(2)].runs), (None, 1));
    assert!(store.series().await.unwrap().is_empty(), "one run is no series");
    store.put_run(id(3), SERIES, numbers(1, "[]")).await.unwrap();
    let series = store.series().await.unwrap();
    assert_eq!((series.len(), series[0].runs), (1, 2));
    assert_ne!(series[0].last, id(1));
}

#[tokio::test]
async fn marks_are_kept_in_order_of_time() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mark = |time_unix_ns, text: &str| NewMark {
        time_unix_ns,
        host: String::new(),
        text: text.to_owned(),
        link: String::new(),
        author: "ci".to_owned(),
        created_unix_ns: NOW,
    };
    let later = store.add_mark(mark(20, "<b>later")).await.unwrap();
    let first = store.add_mark(mark(10, "first")).await.unwrap();
    let told = async |from, until| -> Vec<i64> {
        store.marks(from, until).await.unwrap().into_iter().map(|mark| mark.id).collect()
    };
    assert_eq!(told(0, i64::MAX).await, [first, later]);
    assert!(told(11, 20).await.is_empty());
    assert_eq!(told(10, 21).await, [first, later]);
    assert_eq!(store.mark(later).await.unwrap().unwrap().mark.text, "<b>later");
    assert!(store.remove_mark(first).await.unwrap() && !store.remove_mark(first).await.unwrap());
    assert_eq!(store.mark(first).await.unwrap(), None);
    let long = store.add_mark(mark(1, &"x".repeat(257))).await;
    assert!(matches!(long, Err(StoreError::Refused { .. })));
}

#[tokio::test]
async fn a_thousand_runs_are_told_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let text = format!("[{}]", "1,".repeat(1000) + "1");
    for number in 1..=1003 {
        store.create(new_capture(id(number), "run")).await.unwrap();
        store.put_run(id(number), SERIES, numbers(1, &text)).await.unwrap();
    }
    let begun = std::time::Instant::now();
    assert_eq!(store.series_runs(SERIES).await.unwrap().len(), 1000);
    assert_eq!(store.run_places(vec![id(5)]).await.unwrap()[&id(5)].runs, 1000);
    assert!(begun.elapsed() < std::time::Duration::from_secs(2), "{:?}", begun.elapsed());
    let counts = store.seen_by(&Sight::ALL).run_counts(vec![id(5), id(6)]).await.unwrap();
    assert_eq!((counts[&id(5)], counts[&id(6)]), ((SERIES, 20), (SERIES, 20)));
}
