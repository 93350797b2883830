//! Ten thousand captures: found by a word, counted up to a bound, and paged whichever way the words are looked for.

use bathyscope_store::{
    GivenRight, RightHolder, RightsObject, SearchField, Store, SummaryQuery, SummarySort, Unsearched,
};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::{
    common::*,
    search::{ids, marked, search},
};

/// A store with captures 1 to 9999 and one more, as an older version left them: without their lines in the list and their words.
async fn filled(dir: &std::path::Path) -> Store {
    let store = open(dir).await;
    record(&store, ID, "one").await;
    store.close().await;
    let mut conn = connection(dir).await;
    for statement in [
        "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 9999) INSERT INTO captures SELECT n, phase, \
         state, reason, origin, 'capture ' || n, owner, spec, host, method, target, host_name, '', started_unix_ns + n, \
         start_ns, end_ns, 0, 0, 0, 0, 0 FROM captures, n",
        "INSERT INTO retention SELECT id, 0, started_unix_ns, 0, 0 FROM captures WHERE id BETWEEN 1 AND 9999",
        "INSERT INTO listed SELECT 1000000 - id, id, 1, state, origin, 0, title, owner, method, target, host_name, started_unix_ns, 0, 0, 0, \
         0, 0, '', 0, 0, 0, 0, 0 FROM captures WHERE id BETWEEN 1 AND 9999",
    ] {
        sqlx::query(statement).execute(&mut conn).await.unwrap();
    }
    conn.close().await.unwrap();
    open(dir).await
}

async fn connection(dir: &std::path::Path) -> SqliteConnection {
    SqliteConnection::connect_with(&SqliteConnectOptions::new().filename(database(dir))).await.unwrap()
}

#[tokio::test]
async fn one_among_ten_thousand_is_found_by_a_word_in_a_note() {
    let dir = tempfile::tempdir().unwrap();
    let store = filled(dir.path()).await;
    let mut noted = note(9);
    noted.content.text = "the connection pool was exhausted".to_owned();
    store.add_note(id(4711), noted).await.unwrap();
    // At once, whatever is not indexed yet, which is told.
    assert_eq!(ids(&store, "exhausted").await, [4711]);
    store.index_texts().await.unwrap();
    let page = search(&store, "note:\"pool was exhausted\"").await;
    assert_eq!((page.total, page.items[0].id.bits(), page.unsearched), (1, 4711, Some(Unsearched::default())));
    assert_eq!(marked(&page.items[0]), [(SearchField::Notes, vec!["pool was exhausted"])]);
    let all = search(&store, "leviathan").await;
    assert_eq!((all.total, all.total_exceeded), (5000, true));
    assert_eq!(search(&store, "\"capture 77\"").await.items[0].id.bits(), 77);
}

#[tokio::test]
async fn pages_of_more_than_are_counted_are_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let store = filled(dir.path()).await;
    store.index_texts().await.unwrap();
    let right = GivenRight { to: RightHolder::Person("eve".to_owned()), may: bathyscope_store::CaptureRight::Read };
    store.set_rights(RightsObject::Capture(id(7)), Some(vec![right])).await.unwrap();
    store.set_rights(RightsObject::Capture(id(8)), Some(Vec::new())).await.unwrap();
    let sight = store.sight("eve").await.unwrap();
    // What is looked for one by one and all at once, and what goes on in many ways.
    for (words, of_all, of_seen) in [
        ("", 10_000, 5000),
        ("lev", 5000, 5000),
        ("leviathan", 5000, 5000),
        ("-one", 5000, 5000),
        ("\"capture 77\"", 1, 1),
        ("capture/777", 11, 11),
    ] {
        let query = |limit, offset| SummaryQuery {
            sort: SummarySort::Title,
            limit,
            offset,
            ..SummaryQuery::parse(words, 0).unwrap()
        };
        for (is_narrow, total) in [(false, of_all), (true, of_seen)] {
            let page = async |query: SummaryQuery| match is_narrow {
                true => store.seen_by(&sight).summaries(&query).await.unwrap(),
                false => store.summaries(&query).await.unwrap(),
            };
            let titles = async |limit, offset| -> Vec<String> {
                page(query(limit, offset)).await.items.into_iter().map(|item| item.title).collect()
            };
            let first = page(query(400, 0)).await;
            let is_exceeded = total == 5000;
            assert_eq!((first.total, first.total_exceeded), (total, is_exceeded), "{words} {is_narrow}");
            let first: Vec<String> = first.items.into_iter().map(|item| item.title).collect();
            assert_eq!(first.len() as u64, total.min(400), "{words}");
            assert!(!is_narrow || !first.contains(&"capture 8".to_owned()), "{words}");
            for (limit, offset) in [(50, 30), (300, 99)] {
                let end = (offset + limit).min(first.len());
                let expected = first.get(offset..end).unwrap_or_default();
                assert_eq!(titles(limit as u32, offset as u32).await, expected, "{words} {is_narrow}");
            }
            // Behind what is counted, too.
            let behind = titles(400, 9900).await.len();
            assert_eq!(behind > 0, is_exceeded || words.is_empty(), "{words} {is_narrow}: {behind}");
        }
    }
    store.close().await;
    integrity(dir.path()).await;
}

#[tokio::test]
async fn the_index_of_words_has_few_parts_after_many_changes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for number in 1..=60 {
        store.create(new_capture(id(number), &format!("title {number}"))).await.unwrap();
    }
    store.index_texts().await.unwrap();
    let mut conn = connection(dir.path()).await;
    let parts = "SELECT count(DISTINCT segid) FROM search_idx";
    let (parts,): (i64,) = sqlx::query_as(parts).fetch_one(&mut conn).await.unwrap();
    assert!(parts <= 6, "{parts}");
    assert_eq!(ids(&store, "title:60").await, [60]);
    store.close().await;
    sqlx::query("INSERT INTO search (search) VALUES ('integrity-check')").execute(&mut conn).await.unwrap();
}
