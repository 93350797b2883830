//! Links for people without a login: made, opened, revoked, expired; gone with what they show.

use bathyscope_capture::CaptureId;
use bathyscope_store::{NewShare, ShareUse, Store, StoreError, TokenHash};

use crate::common::*;

const MINUTE_NS: i64 = 60 * 1_000_000_000;
const DAY_NS: i64 = 24 * 60 * MINUTE_NS;

fn new(id: u64, owner: &str) -> NewShare {
    NewShare {
        id,
        token: TokenHash::of(&id.to_le_bytes()),
        kind: "capture".to_owned(),
        object: "00000000000000ff".to_owned(),
        scope: "{}".to_owned(),
        title: format!("share {id}"),
        owner: owner.to_owned(),
        created_unix_ns: NOW,
        expires_unix_ns: NOW + 7 * DAY_NS,
        removes: String::new(),
        preview: None,
    }
}

async fn ids(store: &Store, owner: Option<&str>, now: i64) -> Vec<u64> {
    store.shares(owner, now).await.unwrap().into_iter().map(|share| share.id).collect()
}

#[tokio::test]
async fn only_its_own_token_opens_a_share_and_only_while_it_lives() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.add_share(new(7, "ada")).await.unwrap();
    store.add_share(new(u64::MAX, "bob")).await.unwrap();
    let token = |id: u64| TokenHash::of(&id.to_le_bytes());
    let end = NOW + 7 * DAY_NS;
    let cases = [
        (7, token(7), NOW + 1, true),
        (u64::MAX, token(u64::MAX), end - 1, true),
        (7, token(u64::MAX), NOW + 1, false),
        (8, token(7), NOW + 1, false),
        (7, token(7), end, false),
        (7, token(7), end + DAY_NS, false),
    ];
    for (id, token, now, opens) in cases {
        let found = store.share(id, token, now).await.unwrap();
        assert_eq!(found.map(|share| share.id), opens.then_some(id), "{id} at {now}");
    }
    let used = |last_used_unix_ns, opened| ShareUse { id: 7, last_used_unix_ns, opened };
    let gone = ShareUse { id: 8, ..used(NOW, 1) };
    store.note_share_uses(vec![used(NOW + 9, 1), gone]).await.unwrap();
    let found = store.share(7, token(7), NOW + 9).await.unwrap().unwrap();
    assert_eq!((found.uses, found.last_used_unix_ns), (1, Some(NOW + 9)));
    store.note_share_uses(vec![used(NOW + 3, 2)]).await.unwrap();
    let late = store.share(7, token(7), NOW + 3).await.unwrap().unwrap();
    assert_eq!((late.uses, late.last_used_unix_ns), (3, Some(NOW + 9)), "a clock that was turned back");
    assert_eq!((late.title.as_str(), late.owner.as_str(), late.scope.as_str()), ("share 7", "ada", "{}"));
}

#[tokio::test]
async fn a_share_is_listed_for_its_owner_and_revoked_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for (id, owner) in [(1_u64, "ada"), (2, "bob"), (3, "ada")] {
        store.add_share(NewShare { created_unix_ns: NOW + id.cast_signed(), ..new(id, owner) }).await.unwrap();
    }
    assert_eq!(ids(&store, None, NOW).await, [3, 2, 1]);
    assert_eq!(ids(&store, Some("ada"), NOW).await, [3, 1]);
    assert_eq!(ids(&store, None, NOW + 7 * DAY_NS).await, [0_u64; 0]);
    assert_eq!(store.revoke_share(2, Some("ada".to_owned())).await.unwrap(), None, "it is bob's");
    assert_eq!(store.revoke_share(3, Some("ada".to_owned())).await.unwrap().unwrap().title, "share 3");
    assert_eq!(store.revoke_share(2, None).await.unwrap().unwrap().owner, "bob");
    assert_eq!(store.revoke_share(2, None).await.unwrap(), None);
    assert_eq!(store.share(2, TokenHash::of(&2_u64.to_le_bytes()), NOW + 1).await.unwrap(), None);
    let gone = store.purge_shares(NOW + 7 * DAY_NS - 1).await.unwrap();
    assert!(gone.is_empty(), "{gone:?}");
    let gone = store.purge_shares(NOW + 7 * DAY_NS).await.unwrap();
    assert_eq!(gone.into_iter().map(|share| share.id).collect::<Vec<_>>(), [1]);
    assert_eq!(ids(&store, None, NOW).await, [0_u64; 0]);
}

#[tokio::test]
async fn a_share_is_bounded() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let lives = |id, ns: i64| NewShare { expires_unix_ns: NOW + ns, ..new(id, "ada") };
    let refused = [
        lives(1, MINUTE_NS - 1),
        lives(1, 366 * DAY_NS + 1),
        lives(1, -1),
        NewShare { created_unix_ns: i64::MIN, expires_unix_ns: i64::MAX, ..new(1, "ada") },
        NewShare { title: "x".repeat(257), ..new(1, "ada") },
        NewShare { scope: "x".repeat((64 << 10) + 1), ..new(1, "ada") },
        NewShare { owner: "x".repeat(65), ..new(1, "ada") },
        NewShare { removes: "x".repeat(257), ..new(1, "ada") },
        NewShare { preview: Some(vec![0; (64 << 10) + 1]), ..new(1, "ada") },
    ];
    for share in refused {
        let made = store.add_share(share.clone()).await;
        assert!(matches!(made, Err(StoreError::Refused { .. })), "{share:?}: {made:?}");
    }
    store.add_share(lives(1, MINUTE_NS)).await.unwrap();
    store.add_share(lives(2, 366 * DAY_NS)).await.unwrap();
    for id in 3..=200 {
        store.add_share(new(id, "ada")).await.unwrap();
    }
    assert!(matches!(store.add_share(new(201, "ada")).await, Err(StoreError::Refused { .. })));
    store.add_share(new(201, "bob")).await.unwrap();
    // What has expired does not count.
    let later = NewShare { created_unix_ns: NOW + DAY_NS, ..new(202, "ada") };
    store.add_share(later).await.unwrap();
}

#[tokio::test]
async fn shares_go_with_their_capture_and_no_token_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let (gone, stays) = (CaptureId::from_bits(u64::MAX - 5), CaptureId::from_bits(9));
    record(&store, gone, "gone").await;
    record(&store, stays, "stays").await;
    let of = |id, capture: CaptureId| NewShare { object: capture.to_string(), ..new(id, "ada") };
    let token = b"a token of many random bits, as bytes";
    for id in 1..=9 {
        store.add_share(NewShare { token: TokenHash::of(token), ..of(id, gone) }).await.unwrap();
    }
    store.add_share(of(10, stays)).await.unwrap();
    store.add_share(NewShare { kind: "investigation".to_owned(), ..of(11, gone) }).await.unwrap();
    store.delete(gone).await.unwrap();
    store.close().await;
    let store = open(dir.path()).await;
    assert_eq!(ids(&store, None, NOW).await, [10, 11]);
    assert!(!store.shares_are_allowed().await.unwrap(), "nobody has said so");
    for allowed in [true, false, true] {
        store.allow_shares(allowed).await.unwrap();
        assert_eq!(store.shares_are_allowed().await.unwrap(), allowed);
    }
    store.close().await;
    let bytes = std::fs::read(database(dir.path())).unwrap();
    assert!(!bytes.windows(token.len()).any(|window| window == token));
}

#[tokio::test]
async fn only_a_share_with_a_preview_is_shown_without_its_token_and_only_while_it_lives() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.add_share(new(1, "ada")).await.unwrap();
    let most = vec![7; 64 << 10];
    let with = NewShare { removes: "paths names".to_owned(), preview: Some(most.clone()), ..new(2, "ada") };
    store.add_share(with).await.unwrap();
    let end = NOW + 7 * DAY_NS;
    for (id, now, shown) in [(2, NOW, true), (2, end - 1, true), (2, end, false), (1, NOW, false), (3, NOW, false)] {
        let found = store.share_preview(id, now).await.unwrap();
        assert_eq!(found.map(|found| found.picture), shown.then(|| most.clone()), "{id} at {now}");
    }
    let found = store.share_preview(2, NOW).await.unwrap().unwrap().share;
    assert_eq!((found.removes.as_str(), found.has_preview), ("paths names", true));
    let listed = store.shares(None, NOW).await.unwrap();
    let told: Vec<_> = listed.iter().map(|share| (share.removes.as_str(), share.has_preview)).collect();
    assert_eq!(told, [("", false), ("paths names", true)]);
    store.revoke_share(2, None).await.unwrap();
    assert_eq!(store.share_preview(2, NOW).await.unwrap(), None);
}
