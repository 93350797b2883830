//! Investigations: written by several people, in order, deleted and restored.

use bathyscope_store::{
    BlockRecord, HeadChange, InvestigationId, InvestigationRecord, InvestigationState, PageChange, Store, StoreChange,
    StoreError,
};

use crate::common::*;

const PAGE: InvestigationId = InvestigationId::from_bits(0x00f1);

fn by(user: &str) -> PageChange {
    PageChange { user: user.to_owned(), unix_ns: NOW }
}

fn page(id: InvestigationId, title: &str) -> InvestigationRecord {
    InvestigationRecord {
        id,
        title: title.to_owned(),
        state: InvestigationState::Open,
        conclusion: String::new(),
        owner: "ada".to_owned(),
        created_unix_ns: NOW,
        changed: by("ada"),
        version: 1,
        deleted_unix_ns: None,
    }
}

const fn number(number: u64) -> InvestigationId {
    InvestigationId::from_bits(number)
}

fn block(id: u64, content: &str) -> BlockRecord {
    BlockRecord {
        id: number(id),
        content: content.to_owned(),
        author: "ada".to_owned(),
        created_unix_ns: NOW,
        changed: by("ada"),
        version: 1,
    }
}

async fn order(store: &Store) -> Vec<u64> {
    let (_, blocks) = store.investigation(PAGE).await.unwrap().unwrap();
    blocks.into_iter().map(|block| block.id.bits()).collect()
}

#[tokio::test]
async fn blocks_are_added_moved_changed_as_they_were_seen_and_deleted() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let mut heard = store.changes();
    store.add_investigation(page(PAGE, "why?"), vec![block(1, "one"), block(2, "two")]).await.unwrap();
    assert_eq!(heard.try_recv().unwrap(), StoreChange::Investigation(PAGE));
    store.add_block(PAGE, block(3, "three"), None).await.unwrap();
    store.add_block(PAGE, block(4, "four"), Some(number(2))).await.unwrap();
    assert_eq!(order(&store).await, [1, 4, 2, 3]);
    store.move_block(PAGE, (number(3), Some(number(1))), by("bob")).await.unwrap();
    store.move_block(PAGE, (number(4), None), by("bob")).await.unwrap();
    assert_eq!(order(&store).await, [3, 1, 2, 4]);
    let changed = store.change_block(PAGE, (number(1), 1), ("another".to_owned(), by("bob"))).await.unwrap();
    assert_eq!((changed.version, changed.changed.user.as_str(), changed.author.as_str()), (2, "bob", "ada"));
    let late = store.change_block(PAGE, (number(1), 1), ("lost?".to_owned(), by("eve"))).await;
    assert!(matches!(late, Err(StoreError::InvestigationChanged { .. })), "{late:?}");
    // A deleted block comes back to its place.
    assert!(store.delete_block(PAGE, (number(1), true), by("bob")).await.unwrap());
    assert!(!store.delete_block(PAGE, (number(1), true), by("bob")).await.unwrap());
    assert_eq!(order(&store).await, [3, 2, 4]);
    let gone = store.change_block(PAGE, (number(1), 2), (String::new(), by("eve"))).await;
    assert!(matches!(gone, Err(StoreError::NoInvestigation { .. })), "{gone:?}");
    assert!(store.delete_block(PAGE, (number(1), false), by("bob")).await.unwrap());
    assert_eq!(order(&store).await, [3, 1, 2, 4]);
    let (head, _) = store.investigation(PAGE).await.unwrap().unwrap();
    assert_eq!((head.changed.user.as_str(), head.version), ("bob", 1), "blocks have versions of their own");
    store.close().await;
    integrity(dir.path()).await;
}

#[tokio::test]
async fn a_head_is_changed_as_it_was_seen_and_a_page_deleted_and_restored() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.add_investigation(page(PAGE, "why?"), Vec::new()).await.unwrap();
    store.add_investigation(page(number(7), "where?"), Vec::new()).await.unwrap();
    let found = HeadChange { state: Some(InvestigationState::Found), ..HeadChange::default() };
    let later = PageChange { unix_ns: NOW + 1, ..by("bob") };
    let head = store.change_investigation(PAGE, 1, (found, later)).await.unwrap();
    assert_eq!((head.state, head.title.as_str(), head.version), (InvestigationState::Found, "why?", 2));
    let late = HeadChange { title: Some("mine".to_owned()), ..HeadChange::default() };
    let late = store.change_investigation(PAGE, 1, (late, by("eve"))).await;
    assert!(matches!(late, Err(StoreError::InvestigationChanged { .. })), "{late:?}");
    let titles = async |deleted| {
        let all = store.investigations(deleted).await.unwrap();
        all.into_iter().map(|(record, _)| record.title).collect::<Vec<_>>()
    };
    assert_eq!(titles(false).await, ["why?", "where?"], "the one that was changed last first");
    assert!(store.delete_investigation(PAGE, Some(NOW)).await.unwrap());
    assert_eq!((titles(false).await, titles(true).await), (vec!["where?".to_owned()], vec!["why?".to_owned()]));
    let gone = store.add_block(PAGE, block(1, "late"), None).await;
    assert!(matches!(gone, Err(StoreError::NoInvestigation { .. })), "{gone:?}");
    assert!(store.delete_investigation(PAGE, None).await.unwrap());
    assert!(!store.delete_investigation(PAGE, None).await.unwrap());
    // After 30 days it goes for good when another one is begun.
    store.delete_investigation(PAGE, Some(NOW)).await.unwrap();
    let month_ns = 31 * 24 * 3600 * 1_000_000_000;
    let new = InvestigationRecord { created_unix_ns: NOW + month_ns, ..page(number(8), "when?") };
    store.add_investigation(new, Vec::new()).await.unwrap();
    assert!(store.investigation(PAGE).await.unwrap().is_none());
}

#[tokio::test]
async fn what_is_too_large_or_too_much_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let long = store.add_investigation(page(PAGE, &"t".repeat(257)), Vec::new()).await.unwrap_err();
    assert!(long.to_string().contains("title"), "{long}");
    store.add_investigation(page(PAGE, "why?"), Vec::new()).await.unwrap();
    let large = store.add_block(PAGE, block(1, &"x".repeat((96 << 10) + 1)), None).await.unwrap_err();
    assert!(matches!(large, StoreError::Refused { .. }), "{large:?}");
    let blocks = (0..500).map(|id| block(id, "x")).collect();
    store.add_investigation(page(number(9), "many"), blocks).await.unwrap();
    let more = store.add_block(number(9), block(500, "x"), None).await.unwrap_err();
    assert!(more.to_string().contains("at most 500 blocks"), "{more}");
}
