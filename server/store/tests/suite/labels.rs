//! What people say of captures: tags and descriptions, kept, refused, counted, found, and gone with their capture.

use bathyscope_capture::NoteId;
use bathyscope_store::{LabelChange, StoreError, SummaryProperty, SummaryQuery, SummarySort};

use crate::common::*;

fn add(tags: &[&str]) -> LabelChange {
    LabelChange { add: tags.iter().map(|&tag| tag.to_owned()).collect(), ..LabelChange::default() }
}

fn describe(seen: &str, text: &str) -> LabelChange {
    LabelChange { description: Some((seen.to_owned(), text.to_owned())), ..LabelChange::default() }
}

#[tokio::test]
async fn tags_are_added_and_removed_and_a_description_is_changed_as_it_was_seen() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "one").await;
    assert_eq!(store.labels(ID).await.unwrap(), Default::default());
    let now = store.change_labels(ID, add(&["Slow", " disk ", "slow", "größe/1"])).await.unwrap();
    assert_eq!(Vec::from_iter(now.tags), ["disk", "größe/1", "slow"]);
    // Two people who change tags lose none of each other's.
    let change = LabelChange { remove: vec!["DISK".to_owned(), "never".to_owned()], ..add(&["new"]) };
    let now = store.change_labels(ID, change).await.unwrap();
    assert_eq!(Vec::from_iter(&now.tags), ["größe/1", "new", "slow"]);
    store.change_labels(ID, describe("", "why it was late")).await.unwrap();
    let late = store.change_labels(ID, describe("", "something else")).await;
    assert!(matches!(late, Err(StoreError::DescriptionChanged { .. })), "{late:?}");
    let labels = store.labels(ID).await.unwrap();
    assert_eq!((labels.description.as_str(), labels.tags.len()), ("why it was late", 3));
    let none = store.change_labels(id(9), add(&["x"])).await;
    assert!(matches!(none, Err(StoreError::NoCapture { .. })), "{none:?}");
}

#[tokio::test]
async fn what_is_no_tag_or_too_much_is_refused_and_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "one").await;
    store.change_labels(ID, add(&["kept"])).await.unwrap();
    let long = "x".repeat(49);
    for (tag, words) in [
        ("", "has no character"),
        (" \t", "has no character"),
        ("two words", "has a character"),
        ("<b>", "has a character"),
        ("\u{202e}a", "has a character"),
        ("-slow", "begins with `-`"),
        (long.as_str(), "is too long"),
    ] {
        let refused = store.change_labels(ID, add(&["other", tag])).await.unwrap_err().to_string();
        assert!(refused.contains(words), "{tag:?}: {refused}");
    }
    let many: Vec<String> = (0..16).map(|number| format!("t{number}")).collect();
    let refused = store.change_labels(ID, LabelChange { add: many, ..LabelChange::default() }).await.unwrap_err();
    assert!(refused.to_string().contains("at most 16 tags"), "{refused}");
    let refused = store.change_labels(ID, describe("", &"x".repeat(4097))).await.unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused}");
    assert_eq!(Vec::from_iter(store.labels(ID).await.unwrap().tags), ["kept"]);
}

#[tokio::test]
async fn captures_are_found_by_what_people_say_and_sorted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for (number, title) in [(1, "b first"), (2, "A second"), (3, "c third")] {
        record(&store, id(number), title).await;
    }
    store.change_labels(id(1), add(&["slow", "disk"])).await.unwrap();
    store.change_labels(id(2), add(&["slower"])).await.unwrap();
    store.change_labels(id(2), describe("", "Änderung of the Scheduler")).await.unwrap();
    store.add_note(id(3), note(5)).await.unwrap();
    store.set_pinned(id(3), true).await.unwrap();
    let found = async |text: &str| {
        let query = SummaryQuery { sort: SummarySort::Title, ..SummaryQuery::parse(text, i64::MAX).unwrap() };
        let page = store.summaries(&query).await.unwrap();
        let ids: Vec<u64> = page.items.iter().map(|item| item.id.bits()).collect();
        assert_eq!(page.total, ids.len() as u64, "{text}");
        ids
    };
    let word = note(5).content.text.split_whitespace().next().unwrap().to_owned();
    for (text, expected) in [
        ("", vec![2, 1, 3]),
        ("tag:slow", vec![1]),
        ("tag:SLOW tag:disk", vec![1]),
        ("-tag:slow", vec![2, 3]),
        ("slow", vec![2, 1]),
        ("äNDERUNG scheduler", vec![2]),
        ("-scheduler", vec![1, 3]),
        (&word, vec![3]),
        ("is:noted", vec![3]),
        ("is:tagged", vec![2, 1]),
        ("is:pinned", vec![3]),
        ("-is:pinned -is:noted", vec![2, 1]),
        ("older:1s", vec![2, 1, 3]),
        ("longer:400d", vec![]),
        ("larger:1 smaller:1G", vec![2, 1, 3]),
    ] {
        assert_eq!(found(text).await, expected, "{text}");
    }
    for property in SummaryProperty::ALL {
        found(&format!("is:{}", property.0)).await;
    }
    for (_, sort) in SummarySort::ALL {
        let ids = async |reversed| {
            let page = store.summaries(&SummaryQuery { sort, reversed, ..SummaryQuery::default() }).await.unwrap();
            page.items.iter().map(|item| item.id.bits()).collect::<Vec<_>>()
        };
        let (one, other) = (ids(false).await, ids(true).await);
        assert_eq!((one.len(), other.len()), (3, 3), "{sort:?}");
        if sort == SummarySort::Title {
            assert_eq!((one, other), (vec![2, 1, 3], vec![3, 1, 2]));
        }
    }
    let tags = store.tags().await.unwrap();
    assert_eq!(tags, [("disk", 1), ("slow", 1), ("slower", 1)].map(|(tag, count)| (tag.to_owned(), count)).into());
    // A note that is gone is found no more, and what is said goes with its capture.
    store.remove_note(id(3), NoteId::from_bits(5)).await.unwrap();
    assert_eq!(found(&word).await, Vec::<u64>::new());
    store.delete(id(1)).await.unwrap();
    assert_eq!(Vec::from_iter(store.tags().await.unwrap().into_keys()), ["slower"]);
}

#[tokio::test]
async fn a_file_has_none_of_it_and_its_notes_are_found() {
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (store, second) = (open(dir.path()).await, open(other.path()).await);
    record(&store, ID, "one").await;
    store.change_labels(ID, add(&["mine"])).await.unwrap();
    store.change_labels(ID, describe("", "for us alone")).await.unwrap();
    store.add_note(ID, note(5)).await.unwrap();
    let file = dir.path().join("one.bathy");
    store.export_file(ID, &file).await.unwrap();
    let bytes = std::fs::read(&file).unwrap();
    assert!(!bytes.windows(12).any(|window| window == b"for us alone"));
    second.import_file(&file, "ada", NOW).await.unwrap();
    assert_eq!(second.labels(ID).await.unwrap(), Default::default());
    let word = note(5).content.text.split_whitespace().next().unwrap().to_owned();
    assert_eq!(second.summaries(&SummaryQuery::parse(&word, 0).unwrap()).await.unwrap().total, 1);
}
