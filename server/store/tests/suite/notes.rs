//! Notes of people on captures: written, changed as they were seen, removed, counted, and carried by files.

use bathyscope_capture::{NoteAnchor, NoteContent, NoteId};
use bathyscope_store::{NoteChange, NoteRecord, Store, StoreError};

use crate::common::*;

const fn change(unix_ns: i64) -> NoteChange {
    NoteChange { unix_ns, user: String::new() }
}

async fn ids(store: &Store) -> Vec<u64> {
    store.notes(ID).await.unwrap().into_iter().map(|note| note.id.bits()).collect()
}

#[tokio::test]
async fn a_note_is_written_changed_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "noted").await;
    let size = async || store.capture(ID).await.unwrap().size_bytes;
    let before = size().await;
    store.add_note(ID, note(2)).await.unwrap();
    store.add_note(ID, note(1)).await.unwrap();
    assert_eq!(store.notes(ID).await.unwrap(), [note(1), note(2)], "in order of time");
    let longer = NoteContent { text: "why it was late".to_owned(), colour: None, ..note(2).content };
    let changed = store.change_note(ID, (NoteId::from_bits(2), 1), longer.clone(), change(7)).await.unwrap();
    assert_eq!((&changed.content, changed.version, changed.changed.clone()), (&longer, 2, Some(change(7))));
    assert_eq!((changed.author, changed.created_unix_ns), (note(2).author, note(2).created_unix_ns));
    // Who had read it before that is told, and nothing is lost.
    let again = store.change_note(ID, (NoteId::from_bits(2), 1), note(2).content, change(8)).await;
    assert!(matches!(again, Err(StoreError::NoteChanged { .. })), "{again:?}");
    assert_eq!(store.note(ID, NoteId::from_bits(2)).await.unwrap().unwrap().content, longer);
    let none = store.change_note(ID, (NoteId::from_bits(3), 1), longer, change(9)).await;
    assert!(matches!(none, Err(StoreError::NoNote { .. })), "{none:?}");
    assert!(size().await > before);
    for (number, was_there) in [(2, true), (2, false), (1, true)] {
        assert_eq!(store.remove_note(ID, NoteId::from_bits(number)).await.unwrap(), was_there);
    }
    assert_eq!(size().await, before, "what is removed counts no more");
    let nowhere = store.add_note(id(9), note(1)).await;
    assert!(matches!(nowhere, Err(StoreError::NoCapture { .. })), "{nowhere:?}");
}

#[tokio::test]
async fn notes_are_limited_in_number_and_size_and_go_with_their_capture() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "noted").await;
    let with = |text: String| NoteRecord { content: NoteContent { text, ..note(0).content }, ..note(5000) };
    for bad in [with("x".repeat(2049)), with("\u{202e}".to_owned()), NoteRecord { author: "a".repeat(65), ..note(1) }] {
        let refused = store.add_note(ID, bad).await;
        assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    }
    for number in 0..1000 {
        store.add_note(ID, note(number)).await.unwrap();
    }
    let more = store.add_note(ID, note(1000)).await.unwrap_err();
    assert!(more.to_string().contains("at most 1000 notes"), "{more}");
    assert_eq!(ids(&store).await.len(), 1000);
    store.remove_note(ID, NoteId::from_bits(0)).await.unwrap();
    store.add_note(ID, note(1000)).await.unwrap();
    store.delete(ID).await.unwrap();
    assert!(matches!(store.notes(ID).await, Err(StoreError::NoCapture { .. })));
    store.close().await;
    integrity(dir.path()).await;
}

#[tokio::test]
async fn files_carry_notes_and_give_them_to_who_imports() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "noted").await;
    store.add_note(ID, note(1)).await.unwrap();
    let range = NoteContent { anchor: NoteAnchor::Range { start_ns: 1, end_ns: 9 }, track: None, ..note(2).content };
    let second = NoteRecord { content: range, changed: Some(change(5)), version: 3, ..note(2) };
    store.add_note(ID, second.clone()).await.unwrap();
    let file = dir.path().join("noted.bathy");
    store.export_file(ID, &file).await.unwrap();
    let other = tempfile::tempdir().unwrap();
    let there = open(other.path()).await;
    there.import_file(&file, "grace", NOW).await.unwrap();
    let taken = |note: NoteRecord| NoteRecord { owner: "grace".to_owned(), imported: true, ..note };
    assert_eq!(there.notes(ID).await.unwrap(), [taken(second.clone()), taken(note(1))]);
    // Again into a console that has the capture: what is new is added, what is there stays, and it is the same capture.
    let kept = NoteContent { text: "kept".to_owned(), ..note(1).content };
    there.change_note(ID, (NoteId::from_bits(1), 1), kept.clone(), change(6)).await.unwrap();
    there.remove_note(ID, NoteId::from_bits(2)).await.unwrap();
    there.add_note(ID, note(3)).await.unwrap();
    assert_eq!(there.import_file(&file, "ada", NOW).await.unwrap(), ID);
    let now = there.notes(ID).await.unwrap();
    assert_eq!(now.iter().map(|note| note.id.bits()).collect::<Vec<_>>(), [2, 1, 3]);
    assert_eq!((now[0].owner.as_str(), &now[1].content, now[2].imported), ("ada", &kept, false));
    // A whole list and one more does not fit, and is said.
    for number in 10..1007 {
        there.add_note(ID, note(number)).await.unwrap();
    }
    there.remove_note(ID, NoteId::from_bits(1)).await.unwrap();
    there.remove_note(ID, NoteId::from_bits(2)).await.unwrap();
    for number in [2000, 2001] {
        there.add_note(ID, note(number)).await.unwrap();
    }
    let full = there.import_file(&file, "ada", NOW).await.unwrap_err();
    assert!(matches!(&full, StoreError::Import { why } if why.contains("at most 1000 notes")), "{full:?}");
    assert_eq!(ids(&there).await.len(), 1000);
}
