//! Who may read and change captures: lists of captures and of tags, for people and groups.

use std::collections::BTreeSet;

use bathyscope_capture::{Ledger, SeriesId};
use bathyscope_store::{
    CaptureRight, GivenRight, GroupOrigin, LabelChange, LoginGroups, RightHolder, RightsObject, RunNumbers, Sight,
    Store, StoreError, SummaryQuery,
};

use crate::common::*;

const SERIES: SeriesId = SeriesId::from_bits(7);

/// A capture that has ended, with this owner and these tags.
async fn ended(store: &Store, number: u64, owner: &str, tags: &[&str]) {
    let mut new = new_capture(id(number), "write slow");
    owner.clone_into(&mut new.owner);
    store.create(new).await.unwrap();
    store.finish(id(number), end(Ledger::default())).await.unwrap();
    let add = tags.iter().map(ToString::to_string).collect();
    store.change_labels(id(number), LabelChange { add, ..LabelChange::default() }).await.unwrap();
}

/// Lines of a list: `+` before those that may change, `@` before groups, `*` for everybody.
fn list(lines: &[&str]) -> Option<Vec<GivenRight>> {
    let line = |text: &&str| {
        let (may, name) = match text.strip_prefix('+') {
            Some(rest) => (CaptureRight::Change, rest),
            None => (CaptureRight::Read, *text),
        };
        let to = match name.split_once(':') {
            Some(("proxy", group)) => RightHolder::ProxyGroup(group.to_owned()),
            Some(("oidc", group)) => RightHolder::OidcGroup(group.to_owned()),
            _ => match name.strip_prefix('@') {
                Some(group) => RightHolder::Group(group.to_owned()),
                None if name == "*" => RightHolder::Everybody,
                None => RightHolder::Person(name.to_owned()),
            },
        };
        GivenRight { to, may }
    };
    Some(lines.iter().map(line).collect())
}

async fn of_capture(store: &Store, number: u64, lines: &[&str]) {
    store.set_rights(RightsObject::Capture(id(number)), list(lines)).await.unwrap();
}

async fn of_tag(store: &Store, tag: &str, lines: &[&str]) {
    store.set_rights(RightsObject::Tag(tag.to_owned()), list(lines)).await.unwrap();
}

/// What somebody sees of captures 1 to 9, one after the other: `-` nothing, `r` to read, `c` to change. All ways to ask say the same.
async fn seen(store: &Store, user: &str, most: u64) -> String {
    seen_in(store, user, None, most).await
}

/// The same of somebody who is in groups elsewhere.
async fn seen_in(store: &Store, user: &str, groups: Option<&LoginGroups>, most: u64) -> String {
    let sight = store.sight_in(user, groups).await.unwrap();
    let captures = store.seen_by(&sight);
    let listed = captures.summaries(&SummaryQuery { limit: 50, ..SummaryQuery::default() }).await.unwrap();
    let found = SummaryQuery::parse("write", 0).unwrap();
    let found = captures.summaries(&found).await.unwrap();
    let ids = |items: &[bathyscope_store::CaptureSummary]| items.iter().map(|item| item.id).collect::<BTreeSet<_>>();
    assert_eq!(ids(&listed.items), ids(&found.items), "words find what is seen");
    assert_eq!((listed.total, found.total), (listed.items.len() as u64, listed.items.len() as u64));
    let unseen = captures.unseen().await.unwrap();
    let mut said = String::new();
    for number in 1..=most {
        let item = listed.items.iter().find(|item| item.id == id(number));
        let right = match captures.right(id(number)).await {
            Ok(right) => Some(right),
            Err(StoreError::NoCapture { id: told }) => {
                assert_eq!(told, id(number));
                None
            }
            Err(error) => panic!("{error}"),
        };
        assert_eq!(item.map(|item| item.can_change), right.map(|right| right == CaptureRight::Change), "{number}");
        assert_eq!(unseen.contains(&id(number)), right.is_none());
        assert_eq!(captures.capture(id(number)).await.is_ok(), right.is_some());
        said.push(match right {
            None => '-',
            Some(CaptureRight::Read) => 'r',
            Some(CaptureRight::Change) => 'c',
        });
    }
    said
}

#[tokio::test]
async fn p08_lists_say_who_reads_and_changes_captures() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    let captures: [(&str, &[&str]); 5] =
        [("ada", &[]), ("ada", &["payroll"]), ("bob", &["payroll", "web"]), ("bob", &["web"]), ("eve", &["webs"])];
    for (number, (owner, tags)) in (1..).zip(captures) {
        ended(&store, number, owner, tags).await;
    }
    let everybody = async |expected: [&str; 3]| {
        for (user, expected) in ["ada", "bob", "eve"].into_iter().zip(expected) {
            assert_eq!(seen(&store, user, 5).await, expected, "{user}");
        }
        assert_eq!(store.summaries(&SummaryQuery::default()).await.unwrap().total, 5, "without a name all are seen");
        assert_eq!(store.seen_by(&Sight::ALL).right(id(2)).await.unwrap(), CaptureRight::Change);
    };
    everybody(["ccrrr", "rrccr", "rrrrc"]).await;
    // A capture of one's own.
    of_capture(&store, 1, &[]).await;
    everybody(["ccrrr", "-rccr", "-rrrc"]).await;
    of_capture(&store, 1, &["BOB", "+eve"]).await;
    everybody(["ccrrr", "rrccr", "crrrc"]).await;
    // A tag is closed for all but a group, whose people come and go.
    store.set_group("Payroll".to_owned(), vec!["Ada".to_owned()]).await.unwrap();
    of_tag(&store, "payroll", &["@payroll"]).await;
    everybody(["ccrrr", "r-ccr", "c--rc"]).await;
    store.set_group("payroll".to_owned(), vec!["eve".to_owned()]).await.unwrap();
    everybody(["cc-rr", "r-ccr", "crrrc"]).await;
    // Each list of its tags has to admit who reads, and one of them says who changes.
    of_tag(&store, "web", &["+ada", "*"]).await;
    everybody(["cc-cr", "r-ccr", "crrrc"]).await;
    of_tag(&store, "web", &["+ada"]).await;
    everybody(["cc-cr", "r-ccr", "cr--c"]).await;
    // Its own list counts in place of those of its tags.
    of_capture(&store, 3, &["*"]).await;
    everybody(["ccrcr", "r-ccr", "crr-c"]).await;
    // Who has an account of a name later is somebody else; a group that is gone leaves its lists closed.
    assert!(store.remove_group("PAYROLL".to_owned()).await.unwrap());
    everybody(["ccrcr", "r-ccr", "c-r-c"]).await;
    assert!(!store.remove_group("payroll".to_owned()).await.unwrap());
    store.set_rights(RightsObject::Tag("payroll".to_owned()), None).await.unwrap();
    store.set_rights(RightsObject::Tag("web".to_owned()), None).await.unwrap();
    for number in [1, 3] {
        store.set_rights(RightsObject::Capture(id(number)), None).await.unwrap();
    }
    everybody(["ccrrr", "rrccr", "rrrrc"]).await;
}

#[tokio::test]
async fn p08_groups_elsewhere_are_of_a_login_and_never_those_of_this_console() {
    use GroupOrigin::{Oidc, Proxy};
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for number in 1..=4 {
        ended(&store, number, "ada", &["payroll"]).await;
    }
    store.set_group("ops".to_owned(), vec!["bob".to_owned()]).await.unwrap();
    of_capture(&store, 1, &["@ops"]).await;
    of_capture(&store, 2, &["proxy:ops"]).await;
    of_capture(&store, 3, &["oidc:ops", "+oidc:Ops"]).await;
    of_tag(&store, "payroll", &["+oidc:cn=pay, dc=\"x\""]).await;
    let said = |origin, names: &[&str]| LoginGroups::said(origin, names.iter().copied());
    let cases: [(&str, Option<LoginGroups>, &str); 9] = [
        ("bob", None, "r---"),
        ("eve", None, "----"),
        ("eve", Some(said(Oidc, &[])), "----"),
        ("eve", Some(said(Proxy, &["ops"])), "-r--"),
        ("eve", Some(said(Oidc, &["ops"])), "--r-"),
        ("eve", Some(said(Oidc, &["Ops"])), "--c-"),
        ("eve", Some(said(Oidc, &["OPS", "ops ", "ops\0", "ops' OR '1'='1"])), "----"),
        ("eve", Some(said(Oidc, &["cn=pay, dc=\"x\"", "ops"])), "--rc"),
        ("bob", Some(said(Proxy, &["ops"])), "rr--"),
    ];
    for (user, groups, expected) in cases {
        assert_eq!(seen_in(&store, user, groups.as_ref(), 4).await, expected, "{user} {groups:?}");
    }
    // Removing a group of this console takes nothing from one elsewhere.
    assert!(store.remove_group("ops".to_owned()).await.unwrap());
    assert_eq!(seen_in(&store, "eve", Some(&said(Proxy, &["ops"])), 4).await, "-r--");
    // A group elsewhere need not be known here, but its name must be one.
    for bad in ["oidc:", "oidc: x", "oidc:a\nb", &format!("proxy:{}", "x".repeat(257))] {
        let refused = store.set_rights(RightsObject::Capture(id(1)), list(&[bad])).await;
        assert!(matches!(refused, Err(StoreError::Refused { .. })), "{bad:?}: {refused:?}");
    }
    // Of two lines for one person or group of this console the last counts, however it is spelt.
    of_capture(&store, 4, &["+Eve", "eve"]).await;
    assert_eq!(seen(&store, "EVE", 4).await, "---r");
    assert_eq!(store.capture_rights(id(4)).await.unwrap().unwrap().len(), 1);
}

#[tokio::test]
async fn p08_tags_series_and_runs_are_counted_of_what_is_seen() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    for number in 1..=4 {
        ended(&store, number, "ada", &["slow"]).await;
        let numbers = RunNumbers { rule: 1, numbers: "[]".to_owned(), problem: String::new() };
        store.put_run(id(number), SERIES, Some(numbers)).await.unwrap();
    }
    store.set_baseline(SERIES, Some(id(4))).await.unwrap();
    for number in [3, 4] {
        of_capture(&store, number, &["bob"]).await;
    }
    for (user, count, baseline, last) in [("eve", 2, None, 2), ("bob", 4, Some(id(4)), 4), ("ada", 4, Some(id(4)), 4)] {
        let sight = store.sight(user).await.unwrap();
        let seen = store.seen_by(&sight);
        assert_eq!(Vec::from_iter(seen.tags().await.unwrap()), [("slow".to_owned(), count)], "{user}");
        assert_eq!(seen.series_runs(SERIES).await.unwrap().len() as u64, count);
        let place = seen.run_places(vec![id(1)]).await.unwrap()[&id(1)];
        assert_eq!((place.runs, place.baseline), (count, baseline), "{user}");
        assert_eq!(seen.run_counts(vec![id(1), id(99)]).await.unwrap(), [(id(1), (SERIES, count))].into(), "{user}");
        let series = seen.series().await.unwrap();
        assert_eq!((series[0].runs, series[0].baseline, series[0].last), (count, baseline, id(last)), "{user}");
    }
    of_capture(&store, 2, &["bob"]).await;
    let sight = store.sight("eve").await.unwrap();
    assert!(store.seen_by(&sight).series().await.unwrap().is_empty(), "of one run that is seen there is no series");
}

#[tokio::test]
async fn p08_lists_go_with_their_capture_and_are_in_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    ended(&store, 1, "ada", &[]).await;
    of_capture(&store, 1, &["bob"]).await;
    let file = dir.path().join("one.bathy");
    store.export_file(id(1), &file).await.unwrap();
    // A deleted capture is as closed as it was, and so it is once restored.
    store.delete_restorably(id(1), (1, "ada".to_owned())).await.unwrap();
    let sight = store.sight("eve").await.unwrap();
    assert!(store.seen_by(&sight).right(id(1)).await.is_err());
    store.restore(id(1)).await.unwrap();
    assert_eq!((seen(&store, "eve", 1).await, seen(&store, "bob", 1).await), ("-".to_owned(), "r".to_owned()));
    store.delete(id(1)).await.unwrap();
    assert_eq!(store.capture_rights(id(1)).await.unwrap(), None);
    store.import_file(&file, "eve", 1).await.unwrap();
    assert_eq!(store.capture_rights(id(1)).await.unwrap(), None, "who imports a file decides anew");
}

#[tokio::test]
async fn what_cannot_be_a_list_is_refused_in_words() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path()).await;
    ended(&store, 1, "ada", &[]).await;
    let long = "x".repeat(65);
    let many: Vec<String> = (0..65).map(|number| format!("p{number}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    for (lines, expected) in [
        (vec!["@nobody"], "there is no group `nobody`"),
        (vec![""], "is no name of a person or group"),
        (vec!["a\u{7}"], "is no name of a person or group"),
        (vec![long.as_str()], "64"),
        (many, "at most 64 lines"),
    ] {
        let error = store.set_rights(RightsObject::Capture(id(1)), list(&lines)).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let gone = store.set_rights(RightsObject::Capture(id(9)), list(&[])).await;
    assert!(matches!(gone, Err(StoreError::NoCapture { .. })));
    let error = store.set_rights(RightsObject::Tag("a b".to_owned()), list(&[])).await.unwrap_err();
    assert!(error.to_string().contains("a character that tags do not have"), "{error}");
    // Capitals make no other tag.
    of_tag(&store, "Slow", &["bob"]).await;
    assert_eq!(Vec::from_iter(store.tag_rights().await.unwrap().into_keys()), ["slow"]);
    let refused = store.set_group("ops".to_owned(), vec![String::new()]).await;
    assert!(matches!(refused, Err(StoreError::Refused { .. })));
    for number in 0..99 {
        of_tag(&store, &format!("t{number}"), &[]).await;
    }
    let error = store.set_rights(RightsObject::Tag("one-more".to_owned()), list(&[])).await.unwrap_err();
    assert!(error.to_string().contains("at most 100 tags"), "{error}");
}
