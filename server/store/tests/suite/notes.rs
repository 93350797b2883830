//! Notes of people on captures: written, changed as they were seen, removed, counted, and carried by files.

use bathyscope_capture::{NoteAnchor, NoteContent, NoteId};
use bathyscope_store::{NoteChange, NoteRecord, Store, StoreChange, StoreError};

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
    let whole = store.note(ID, NoteId::from_bits(2)).await.unwrap().unwrap();
    assert_eq!(whole.earlier, [note(2).present()], "what it said before is kept");
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
    for bad in [with("x".repeat(8193)), with("\u{202e}".to_owned()), NoteRecord { author: "a".repeat(65), ..note(1) }] {
        let refused = store.add_note(ID, bad).await;
        assert!(matches!(refused, Err(StoreError::Refused { .. })), "{refused:?}");
    }
    for number in [2000, 2001] {
        store.add_note(ID, note(number)).await.unwrap();
    }
    let file = dir.path().join("noted.bathy");
    store.export_file(ID, &file).await.unwrap();
    for number in 0..998 {
        store.add_note(ID, note(number)).await.unwrap();
    }
    let more = store.add_note(ID, note(1000)).await.unwrap_err();
    assert!(more.to_string().contains("at most 1000 notes"), "{more}");
    assert_eq!(ids(&store).await.len(), 1000);
    store.remove_note(ID, NoteId::from_bits(0)).await.unwrap();
    store.add_note(ID, note(1000)).await.unwrap();
    // A file whose notes are there already adds none; where they do not fit, that is said and none is taken.
    store.import_file(&file, "ada", NOW).await.unwrap();
    for (gone, new) in [(2000, 1001), (2001, 1002)] {
        store.remove_note(ID, NoteId::from_bits(gone)).await.unwrap();
        store.add_note(ID, note(new)).await.unwrap();
    }
    let full = store.import_file(&file, "ada", NOW).await.unwrap_err();
    assert!(matches!(&full, StoreError::Import { why } if why.contains("at most 1000 notes")), "{full:?}");
    assert_eq!(ids(&store).await.len(), 1000);
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
    let earlier = vec![note(2).present()];
    let second = NoteRecord {
        content: range,
        changed: Some(change(5)),
        resolved: Some(change(6)),
        version: 3,
        earlier,
        ..note(2)
    };
    store.add_note(ID, second.clone()).await.unwrap();
    let file = dir.path().join("noted.bathy");
    store.export_file(ID, &file).await.unwrap();
    let other = tempfile::tempdir().unwrap();
    let there = open(other.path()).await;
    there.import_file(&file, "grace", NOW).await.unwrap();
    let taken = |note: NoteRecord| NoteRecord { owner: "grace".to_owned(), imported: true, ..note };
    let listed = NoteRecord { earlier: Vec::new(), ..second.clone() };
    assert_eq!(there.notes(ID).await.unwrap(), [taken(listed), taken(note(1))]);
    assert_eq!(there.note(ID, second.id).await.unwrap(), Some(taken(second.clone())), "with what it said before");
    // Again into a console that has the capture: what is new is added, what is there stays, and it is the same capture.
    let kept = NoteContent { text: "kept".to_owned(), ..note(1).content };
    there.change_note(ID, (NoteId::from_bits(1), 1), kept.clone(), change(6)).await.unwrap();
    there.remove_note(ID, NoteId::from_bits(2)).await.unwrap();
    there.add_note(ID, note(3)).await.unwrap();
    assert_eq!(there.import_file(&file, "ada", NOW).await.unwrap(), ID);
    let now = there.notes(ID).await.unwrap();
    assert_eq!(now.iter().map(|note| note.id.bits()).collect::<Vec<_>>(), [2, 1, 3]);
    assert_eq!((now[0].owner.as_str(), &now[1].content, now[2].imported), ("ada", &kept, false));
}

fn answer(number: u64, to: u64) -> NoteRecord {
    let anchor = NoteAnchor::Answer { to: NoteId::from_bits(to) };
    NoteRecord { content: NoteContent { anchor, track: None, ..note(number).content }, ..note(number) }
}

#[tokio::test]
async fn a_thread_is_answered_resolved_opened_again_and_removed_as_a_whole() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "noted").await;
    let before = store.capture(ID).await.unwrap().size_bytes;
    let mut heard = store.changes();
    store.add_note(ID, note(1)).await.unwrap();
    assert_eq!(heard.try_recv().unwrap(), StoreChange::Notes(ID));
    store.add_note(ID, answer(2, 1)).await.unwrap();
    let none = store.add_note(ID, answer(3, 9)).await;
    assert!(matches!(none, Err(StoreError::NoNote { .. })), "{none:?}");
    let deeper = store.add_note(ID, answer(3, 2)).await.unwrap_err();
    assert!(deeper.to_string().contains("answer the note that begins the thread"), "{deeper}");
    let (first, second) = (NoteId::from_bits(1), NoteId::from_bits(2));
    let moved = store.change_note(ID, (second, 1), note(2).content, change(7)).await.unwrap_err();
    assert!(moved.to_string().contains("stays with the note"), "{moved}");
    let refused = store.resolve_note(ID, second, Some(change(8))).await.unwrap_err();
    assert!(refused.to_string().contains("the note that begins the thread is resolved"), "{refused}");
    assert_eq!(store.resolve_note(ID, first, Some(change(8))).await.unwrap().resolved, Some(change(8)));
    // Who resolves it again changes nothing: it is said who did it first.
    assert_eq!(store.resolve_note(ID, first, Some(change(9))).await.unwrap().resolved, Some(change(8)));
    assert_eq!(store.notes(ID).await.unwrap()[1].resolved, Some(change(8)));
    assert_eq!(store.resolve_note(ID, first, None).await.unwrap().resolved, None);
    let text = NoteContent { text: "another".to_owned(), ..answer(2, 1).content };
    store.change_note(ID, (second, 1), text, change(10)).await.unwrap();
    assert!(store.remove_note(ID, first).await.unwrap());
    assert!(store.notes(ID).await.unwrap().is_empty(), "answers go with it");
    assert_eq!(store.capture(ID).await.unwrap().size_bytes, before, "and what they said before");
    store.close().await;
    integrity(dir.path()).await;
}

#[tokio::test]
async fn all_places_are_kept_and_each_version_up_to_a_number() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, ID, "noted").await;
    let name = "std::map<int, a b>::find".to_owned();
    let anchors = [
        NoteAnchor::Row { stream: 1, row: 7, start_ns: START_NS + 3 },
        NoteAnchor::Track,
        NoteAnchor::Frame { node: "00ff00ff00ff00ff".to_owned(), name: name.clone() },
        NoteAnchor::Function { name },
        NoteAnchor::Capture,
    ];
    for (number, anchor) in (1..).zip(anchors.clone()) {
        let content = NoteContent { anchor, view: "v=3&tab=flame".to_owned(), ..note(number).content };
        store.add_note(ID, NoteRecord { content, ..note(number) }).await.unwrap();
    }
    let kept = store.notes(ID).await.unwrap();
    for anchor in anchors {
        assert!(
            kept.iter().any(|note| note.content.anchor == anchor && note.content.view == "v=3&tab=flame"),
            "{anchor:?}"
        );
    }
    for version in 1..100 {
        let content = NoteContent { text: format!("text {version}"), ..note(1).content };
        store.change_note(ID, (NoteId::from_bits(1), version), content, change(7)).await.unwrap();
    }
    let more = store.change_note(ID, (NoteId::from_bits(1), 100), note(1).content, change(7)).await.unwrap_err();
    assert!(more.to_string().contains("changed 99 times already"), "{more}");
    let whole = store.note(ID, NoteId::from_bits(1)).await.unwrap().unwrap();
    assert_eq!((whole.version, whole.earlier.len(), whole.earlier[98].content.text.as_str()), (100, 99, "text 98"));
    // What a file says of answers and versions is looked at.
    let file = dir.path().join("noted.bathy");
    store.export_file(ID, &file).await.unwrap();
    let other = tempfile::tempdir().unwrap();
    let there = open(other.path()).await;
    there.import_file(&file, "grace", NOW).await.unwrap();
    assert_eq!(there.note(ID, NoteId::from_bits(1)).await.unwrap().unwrap().earlier.len(), 99);
    assert_eq!(there.capture(ID).await.unwrap().size_bytes, store.capture(ID).await.unwrap().size_bytes);
}
