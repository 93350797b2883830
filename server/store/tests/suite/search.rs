//! Captures are found by words, wherever these stand, with the places where they are; what is hidden or gone is not found.

use bathyscope_capture::{Append, CaptureId, Ledger, Loss, LossStage};
use bathyscope_store::{
    AuditEntry, CaptureSummary, LabelChange, Role, SearchField, Store, SummaryPage, SummaryQuery, SummarySort,
    Unsearched,
};
use sqlx::{Connection as _, SqliteConnection, sqlite::SqliteConnectOptions};

use crate::common::*;

pub(crate) async fn search(store: &Store, text: &str) -> SummaryPage {
    store.summaries(&SummaryQuery::parse(text, 0).unwrap()).await.unwrap()
}

pub(crate) async fn ids(store: &Store, text: &str) -> Vec<u64> {
    let page = search(store, text).await;
    let ids: Vec<u64> = page.items.iter().map(|item| item.id.bits()).collect();
    assert_eq!(page.total, ids.len() as u64, "{text}");
    ids
}

/// Fields with what is marked in each.
pub(crate) fn marked(item: &CaptureSummary) -> Vec<(SearchField, Vec<&str>)> {
    let words = |found: &'_ bathyscope_store::FoundText| found.marks.iter().map(|(a, b)| (*a, *b)).collect::<Vec<_>>();
    item.found
        .iter()
        .map(|found| (found.field, words(found).into_iter().map(|(a, b)| &found.text[a..b]).collect()))
        .collect()
}

/// A capture that has ended, whose events brought these texts.
async fn with_texts(store: &Store, id: CaptureId, title: &str, texts: &[&[u8]]) {
    store.create(new_capture(id, title)).await.unwrap();
    let strings = (1..).zip(texts).map(|(id, text)| (id, text.to_vec())).collect();
    store.append(id, Append { strings, end_ns: START_NS + 1, ..Append::default() }).await.unwrap();
    store.finish(id, end(Ledger::default())).await.unwrap();
}

#[tokio::test]
async fn words_are_found_in_every_field_with_their_places() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    record(&store, id(1), "why checkout is slow").await;
    record(&store, id(2), "another").await;
    let labels = LabelChange {
        add: vec!["release-7".to_owned()],
        description: Some((String::new(), "The disk of Zürich\nis full".to_owned())),
        ..LabelChange::default()
    };
    store.change_labels(id(1), labels).await.unwrap();
    store.add_note(id(1), note(41)).await.unwrap();
    store.index_texts().await.unwrap();
    for (text, field, words) in [
        ("title:check", SearchField::Title, vec!["checkout"]),
        ("release", SearchField::Tags, vec!["release"]),
        ("\"is full\" zurich", SearchField::Description, vec!["Zürich", "is full"]),
        ("note:41", SearchField::Notes, vec!["41"]),
        ("41", SearchField::Notes, vec!["41"]),
    ] {
        let page = search(&store, text).await;
        assert_eq!(page.items.iter().map(|item| item.id.bits()).collect::<Vec<_>>(), [1], "{text}");
        assert_eq!(marked(&page.items[0]), [(field, words)], "{text}");
        assert_eq!(page.unsearched, Some(Unsearched::default()));
    }
    for (text, field) in [
        ("leviathan", SearchField::Host),
        ("command:4711", SearchField::Command),
        ("user:ada", SearchField::Owner),
        ("spec:profile", SearchField::Spec),
        ("process:bash", SearchField::Processes),
        ("text:bash", SearchField::Texts),
        ("hello", SearchField::Output),
    ] {
        let page = search(&store, text).await;
        assert_eq!(page.items.iter().map(|item| item.id.bits()).collect::<Vec<_>>(), [2, 1], "{text}");
        assert!(page.items.iter().all(|item| item.found.len() == 1 && item.found[0].field == field), "{text}");
    }
    // What is not text is found as it is shown.
    assert_eq!(ids(&store, "xff").await, [2, 1]);
    let both = search(&store, "bash").await;
    assert_eq!(marked(&both.items[0]), [(SearchField::Processes, vec!["bash"]), (SearchField::Texts, vec!["bash"])]);
}

#[tokio::test]
async fn words_beginnings_phrases_and_what_shall_not_be() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    with_texts(&store, id(1), "read of nginx", &[b"/usr/lib/x86_64/libssl.so", b"do_sys_openat2"]).await;
    with_texts(&store, id(2), "nginx reads", &[b"/usr/share/lib.txt", b"sched:sched_switch"]).await;
    with_texts(&store, id(3), "other", &[b"constructor __proto__ 1e999 =cmd", "größe \u{202e}".as_bytes()]).await;
    store.index_texts().await.unwrap();
    for (text, expected) in [
        ("nginx", vec![2, 1]),
        ("read", vec![2, 1]),
        ("\"read\"", vec![1]),
        ("read*", vec![2, 1]),
        ("\"nginx reads\"", vec![2]),
        ("\"reads nginx\"", vec![]),
        ("openat", vec![1]),
        ("\"openat\"", vec![]),
        ("usr/lib", vec![1]),
        ("/usr/lib/", vec![1]),
        ("sched:sched_switch", vec![2]),
        ("sched_sw", vec![2]),
        ("nginx -reads", vec![1]),
        ("-nginx", vec![3]),
        ("-nginx -other", vec![]),
        ("nginx tag:none", vec![]),
        ("nginx -tag:none -is:pinned", vec![2, 1]),
        ("-title:nginx host:leviathan", vec![3]),
        ("groesse", vec![]),
        ("GROßE", vec![3]),
        ("constructor __proto__ 1e999 =cmd", vec![3]),
        ("OR", vec![]),
        ("NEAR(nginx", vec![]),
        ("\"nginx\" AND", vec![]),
        ("title:\"other\" text:proto", vec![3]),
        ("\u{e000}", vec![]),
    ] {
        match SummaryQuery::parse(text, 0) {
            Ok(_) => assert_eq!(ids(&store, text).await, expected, "{text}"),
            Err(error) => assert!(expected.is_empty(), "{text}: {error}"),
        }
    }
    // Nothing that is typed is an error of the database.
    for text in
        ["'", "\"a", "a\"b\"c", "{title} : x", "a^b", "x\0y", "(a", "note:(", "*a", "a+b", "col:val:x", "-\"\"x"]
    {
        if let Ok(query) = SummaryQuery::parse(text, 0) {
            store.summaries(&query).await.unwrap();
        }
    }
}

#[tokio::test]
async fn what_people_say_is_found_at_once_and_what_events_brought_once_it_has_ended() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    store.create(new_capture(ID, "now recording")).await.unwrap();
    let strings = vec![(1, b"needle".to_vec())];
    store.append(ID, Append { strings, end_ns: START_NS + 1, ..Append::default() }).await.unwrap();
    let bits = ID.bits();
    assert_eq!(ids(&store, "recording").await, [bits]);
    store.add_note(ID, note(5)).await.unwrap();
    store.index_texts().await.unwrap();
    assert_eq!((ids(&store, "note:5").await, ids(&store, "needle").await), (vec![bits], vec![]));
    store.finish(ID, end(Ledger::default())).await.unwrap();
    store.index_texts().await.unwrap();
    assert_eq!(ids(&store, "needle").await, [bits]);
    store.rename(ID, "renamed").await.unwrap();
    store.remove_note(ID, note(5).id).await.unwrap();
    assert_eq!((ids(&store, "renamed needle").await, ids(&store, "\"now recording\"").await), (vec![bits], vec![]));
    assert_eq!(ids(&store, "note:5").await, [0_u64; 0]);
    // Hidden it is not found; restored it is again, and gone for good nothing is left of its words.
    assert!(store.delete_restorably(ID, (NOW, "ada".to_owned())).await.unwrap());
    assert_eq!(ids(&store, "renamed").await, [0_u64; 0]);
    assert_eq!(ids(&store, "-nothing").await, [0_u64; 0]);
    assert!(store.restore(ID).await.unwrap());
    assert_eq!(ids(&store, "renamed").await, [bits]);
    store.index_texts().await.unwrap();
    assert_eq!(ids(&store, "needle").await, [bits]);
    store.delete(ID).await.unwrap();
    assert_eq!(ids(&store, "renamed").await, [0_u64; 0]);
    let file = dir.path().join("other.bathy");
    with_texts(&store, id(7), "travels", &[b"haystack"]).await;
    store.export_file(id(7), &file).await.unwrap();
    store.close().await;
    let bytes = std::fs::read(database(dir.path())).unwrap();
    let has = |word: &[u8]| bytes.windows(word.len()).any(|part| part == word);
    assert!(has(b"haystack") && !has(b"needle"), "what was removed is overwritten");
    let elsewhere = tempfile::tempdir().unwrap();
    let store = open(elsewhere.path()).await;
    store.import_file(&file, "grace", NOW).await.unwrap();
    store.index_texts().await.unwrap();
    assert_eq!((ids(&store, "haystack").await, ids(&store, "user:grace").await), (vec![7], vec![7]));
}

#[tokio::test]
async fn texts_are_searched_up_to_a_bound_and_what_is_left_out_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let texts: Vec<String> = (0..40).map(|number| format!("text{number} {}", "x".repeat(4000))).collect();
    let texts: Vec<&[u8]> = texts.iter().map(String::as_bytes).collect();
    with_texts(&store, id(1), "large", &texts).await;
    with_texts(&store, id(2), "small", &[b"text0"]).await;
    store.index_texts().await.unwrap();
    assert_eq!(ids(&store, "text0").await, [2, 1]);
    assert_eq!(ids(&store, "text39").await, [0_u64; 0]);
    let page = search(&store, "large").await;
    assert_eq!(page.unsearched, Some(Unsearched { cut: 1, ..Unsearched::default() }));
    let left_out = page.items[0].left_out_bytes;
    assert!((90_000..110_000).contains(&left_out), "{left_out}");
    assert_eq!((ids(&store, "is:cut").await, ids(&store, "-is:cut").await), (vec![1], vec![2]));
    assert_eq!(search(&store, "is:cut").await.unsearched, None, "no words were asked for");
}

/// What the list has must be what the other tables say.
async fn list_is_right(dir: &std::path::Path) {
    let options = SqliteConnectOptions::new().filename(database(dir)).read_only(true);
    let mut conn = SqliteConnection::connect_with(&options).await.unwrap();
    let right = "SELECT id, phase = 'ready', state, title, tags, started_unix_ns, max(0, end_ns - start_ns), row_count, \
                 chunk_bytes + output_bytes + index_bytes + dictionary_bytes, lost, pinned, \
                 EXISTS (SELECT 1 FROM losses l WHERE l.capture_id = c.id AND l.stage = 'interrupted'), \
                 (SELECT count(*) FROM notes n WHERE n.capture_id = c.id) FROM (SELECT captures.*, retention.*, \
                 coalesce(labels.tags, '') AS tags FROM captures JOIN retention ON retention.capture_id = id \
                 LEFT JOIN labels ON labels.capture_id = id) c";
    let listed = "SELECT capture_id, shown, state, title, tags, started_unix_ns, duration_ns, row_count, size_bytes, lost, \
                  pinned, lost_at_least, notes FROM listed";
    let difference = format!("SELECT count(*) FROM ({right} EXCEPT {listed})");
    let counts = "SELECT (SELECT count(*) FROM captures) - (SELECT count(*) FROM listed), (SELECT count(*) FROM search) - \
                  (SELECT count(*) FROM listed WHERE indexed > 0), (SELECT count(*) FROM listed WHERE NOT shown AND indexed)";
    let difference = sqlx::query_as(sqlx::AssertSqlSafe(difference)).fetch_one(&mut conn).await.unwrap();
    let counts = sqlx::query_as(counts).fetch_one(&mut conn).await.unwrap();
    let ((wrong,), more): ((i64,), (i64, i64, i64)) = (difference, counts);
    assert_eq!((wrong, more), (0, (0, 0, 0)));
}

#[tokio::test]
async fn the_list_says_what_the_other_tables_say_whatever_is_done() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let entry = || AuditEntry {
        time_unix_ns: NOW,
        user: "retention".to_owned(),
        role: Role::Admin,
        action: "capture.expire".to_owned(),
        object: String::new(),
        detail: String::new(),
    };
    for number in 1..=5 {
        record(&store, id(number), "whole").await;
    }
    store.create(new_capture(id(6), "recording")).await.unwrap();
    store.append(id(6), full_append()).await.unwrap();
    list_is_right(dir.path()).await;
    store.set_pinned(id(1), true).await.unwrap();
    store.change_labels(id(1), LabelChange { add: vec!["a".to_owned()], ..LabelChange::default() }).await.unwrap();
    store.add_note(id(1), note(1)).await.unwrap();
    store.add_note(id(2), note(2)).await.unwrap();
    store.remove_note(id(2), note(2).id).await.unwrap();
    list_is_right(dir.path()).await;
    let loss =
        Loss { stream: Some(0), stage: LossStage::Interrupted, count: 0, start_ns: START_NS, end_ns: START_NS + 5 };
    let ledger = Ledger { streams: vec![totals(100, 100), totals(10, 10)], losses: vec![loss] };
    store.finish(id(6), end(ledger)).await.unwrap();
    store.change_labels(id(1), LabelChange { remove: vec!["a".to_owned()], ..LabelChange::default() }).await.unwrap();
    store.rename(id(3), "renamed").await.unwrap();
    assert!(store.delete_restorably(id(4), (NOW, "ada".to_owned())).await.unwrap());
    list_is_right(dir.path()).await;
    assert!(
        store.delete_unpinned(id(5), entry()).await.unwrap() && !store.delete_unpinned(id(1), entry()).await.unwrap()
    );
    assert!(store.restore(id(4)).await.unwrap());
    store.delete(id(2)).await.unwrap();
    list_is_right(dir.path()).await;
    let file = dir.path().join("x.bathy");
    store.export_file(id(6), &file).await.unwrap();
    store.delete(id(6)).await.unwrap();
    store.import_file(&file, "grace", NOW).await.unwrap();
    store.index_texts().await.unwrap();
    list_is_right(dir.path()).await;
    assert_eq!(ids(&store, "is:lossy is:imported").await, [6]);
    store.create(new_capture(id(9), "left alone")).await.unwrap();
    store.close().await;
    // Ended when the store is opened, as its process has.
    let store = open(dir.path()).await;
    store.index_texts().await.unwrap();
    list_is_right(dir.path()).await;
    assert_eq!(ids(&store, "state:interrupted").await, [9]);
    store.close().await;
    integrity(dir.path()).await;
}

#[tokio::test]
async fn many_are_sorted_and_paged_as_few_are() {
    const MANY: u64 = 620;
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for number in 1..=MANY {
        let title = format!("{} {}", if number % 7 == 0 { "seventh" } else { "common" }, number * 7919 % 1000);
        store.create(new_capture(id(number), &title)).await.unwrap();
    }
    store.set_pinned(id(5), true).await.unwrap();
    for (name, sort) in SummarySort::ALL {
        for words in ["", "ada", "common", "seventh", "-seventh", "-is:pinned", "leviathan -is:pinned", "is:pinned"] {
            let asked = |reversed, limit, offset| SummaryQuery {
                sort,
                reversed,
                limit,
                offset,
                ..SummaryQuery::parse(words, 0).unwrap()
            };
            let page = async |query: SummaryQuery| {
                let page = store.summaries(&query).await.unwrap();
                (page.total, page.items.iter().map(|item| item.id.bits()).collect::<Vec<_>>())
            };
            let (total, first) = page(asked(false, 400, 0)).await;
            let (_, second) = page(asked(false, 400, 400)).await;
            let all = [first, second].concat();
            assert_eq!(all.len() as u64, total, "{name} {words}");
            let (_, one) = page(asked(true, 400, 0)).await;
            let (_, other) = page(asked(true, 400, 400)).await;
            let mut mirrored = [one, other].concat();
            mirrored.reverse();
            assert_eq!(mirrored, all, "{name} {words}: the other way round is the mirror image");
            let unique: std::collections::BTreeSet<_> = all.iter().collect();
            assert_eq!(unique.len(), all.len(), "{name} {words}");
            if total > 7 {
                let (_, middle) = page(asked(false, 3, 4)).await;
                assert_eq!(middle, all[4..7], "{name} {words}");
            }
        }
    }
    let by_title = SummaryQuery { sort: SummarySort::Title, limit: 700, ..SummaryQuery::default() };
    let titles = store.summaries(&by_title);
    let titles: Vec<String> = titles.await.unwrap().items.into_iter().map(|item| item.title).collect();
    assert!(titles.is_sorted());
}

#[tokio::test]
async fn a_word_may_go_on_in_few_ways_and_in_many() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let titles = ["beta", "betamax", "x/alpha3 beta", "alpha1", "alpha2", "alpha4", "alpha5", "alpha6", "b\u{ea}tise"];
    for (number, title) in (1..).zip(titles) {
        store.create(new_capture(id(number), title)).await.unwrap();
    }
    for (text, found) in [
        ("beta", vec![1, 2, 3]),
        ("BETA", vec![1, 2, 3]),
        ("\"beta\"", vec![1, 3]),
        ("b\u{ea}ta", vec![1, 2, 3]),
        ("beti", vec![9]),
        ("bet", vec![1, 2, 3, 9]),
        ("betam", vec![2]),
        ("note:betam", vec![]),
        ("title:betam", vec![2]),
        ("alpha", vec![3, 4, 5, 6, 7, 8]),
        ("alpha beta", vec![3]),
        ("alpha3/beta", vec![3]),
        ("alpha3.beta.", vec![3]),
        ("title:alpha3/beta", vec![3]),
        ("-alpha -betam", vec![1, 9]),
        ("gamma", vec![]),
    ] {
        let mut all = ids(&store, text).await;
        all.sort_unstable();
        assert_eq!(all, found, "{text}");
    }
}
