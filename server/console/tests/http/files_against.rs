//! Files of views that are compared: with both sides in all ways, and nothing of what whoever makes them may not read.

use std::collections::BTreeMap;

use bathyscope_capture::CaptureId;
use bathyscope_store::Role;
use http::header;
use openidconnect::url::form_urlencoded;
use serde_json::{Value, json};

use super::{
    against::{calls, recorded, script},
    harness::{Answer, Console, held_by},
    shares::share,
};

/// The address of the file of a view.
fn file_of(id: impl std::fmt::Display, view: &str, tabs: &str) -> String {
    let query =
        form_urlencoded::Serializer::new(String::new()).append_pair("view", view).append_pair("tabs", tabs).finish();
    format!("/api/captures/{id}/file?{query}")
}

/// The answers of a file whose address has a text.
fn having<'a>(answers: &'a BTreeMap<String, Vec<u8>>, text: &str) -> Vec<&'a String> {
    answers.keys().filter(|address| address.contains(text)).collect()
}

fn opened(file: &Answer) -> (Value, BTreeMap<String, Vec<u8>>) {
    assert_eq!(file.status, 200, "{}", file.text());
    assert_eq!(file.header(header::CONTENT_TYPE.as_str()), "text/html; charset=utf-8");
    held_by(file)
}

/// How many answers of a file there are of each kind.
fn kinds(data: &Value, text: &str) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for answer in data["answers"].as_array().unwrap() {
        if answer["address"].as_str().unwrap().contains(text) {
            *counts.entry(answer["type"].as_str().unwrap().to_owned()).or_default() += 1;
        }
    }
    counts
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_has_both_sides_in_every_way_of_comparing() {
    let console = Console::new().await;
    let vera = console.cookie("vera", Role::Viewer).await;
    let (id, other) = (console.capture("slow", "alice", 1000).await, console.capture("before", "alice", 500).await);
    let view = format!(
        "v=3&tab=events&groupby=comm&measures=count,sum:next_pid&spread=heat&against={other}&againstsame=1&per=total&versus=-1.ratio"
    );
    let file = console.get(&file_of(id, &view, "events,distribution,timeline"), &vera).await;
    let (data, answers) = opened(&file);
    assert_eq!(file.header("bathyscope-left-out"), "");
    let kept = data["views"][0]["view"].as_str().unwrap();
    assert!(kept.contains(&format!("against={other}")) && kept.contains("versus=-1.ratio"), "{kept}");
    let groups = having(&answers, "/pivot/compare?");
    for per in ["time", "total", "none"] {
        assert_eq!(groups.iter().filter(|address| address.contains(&format!("normalised={per}"))).count(), 1, "{per}");
    }
    assert_eq!((groups.len(), having(&answers, "/heat/compare?").len()), (3, 1));
    // The view alone is there too, and the capture by which the page names the other side.
    let alone = format!("/api/captures/{id}/pivot?");
    // By each of three columns up and down, and once with what is drawn over time.
    assert_eq!((having(&answers, &alone).len(), answers.contains_key(&format!("/api/captures/{other}"))), (7, true));
    for (address, bytes) in &answers {
        let now = console.get(address, &vera).await;
        assert_eq!((now.status.as_u16(), &now.body == bytes), (200, true), "{address}");
    }
    // The same columns as the button Group takes.
    let first = view.replace("groupby=comm", "groupby=*");
    let (_, answers) = opened(&console.get(&file_of(id, &first, "events"), &vera).await);
    assert!(having(&answers, "/pivot/compare?").iter().all(|address| address.contains("by=comm")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_unfolds_and_says_at_its_place_what_has_no_other_side() {
    let trace = json!([{"id": "trace", "method": {"trace": {"tracer": "function_graph", "functions": ["vfs_*"]}}}]);
    let all = [calls(), calls(), script(), script(), trace.clone(), trace];
    let (console, root, ids) = recorded(&all).await;
    let [one, two, map, other_map, trace, other_trace] = &ids[..] else { panic!("six") };
    let file = async |id: &str, view: &str, tab: &str| {
        let file = console.get(&file_of(id, view, tab), &root).await;
        let (data, answers) = opened(&file);
        (file.header("bathyscope-left-out").to_owned(), data, answers)
    };
    let (left, _, answers) = file(two, &format!("against={one}&callsby=thread"), "systemcalls").await;
    assert_eq!((left.as_str(), having(&answers, "/syscalls/compare?").len()), ("", 15), "each way of each grouping");
    let (left, _, answers) = file(other_map, &format!("against={map}"), "maps").await;
    assert_eq!((left.as_str(), having(&answers, "/compare?").len()), ("", 6), "both maps");
    // The tree as far as it unfolds: each line that has more within it was asked for.
    let (left, _, answers) = file(other_trace, &format!("against={trace}&calls=functions"), "calls").await;
    let tables = having(&answers, "/calls/compare?");
    assert_eq!(tables.iter().filter(|address| !address.contains("way=")).count(), 3, "functions");
    let outermost = tables.iter().find(|address| address.contains("way=%2C&") || address.ends_with("way=%2C")).unwrap();
    let outermost: Value = serde_json::from_slice(&answers[*outermost]).unwrap();
    let inner = outermost["lines"].as_array().unwrap().iter().filter(|line| line["has_inner"] == true);
    let inner: Vec<&str> = inner.map(|line| line["key"][0].as_str().unwrap()).collect();
    assert!(!inner.is_empty(), "{outermost}");
    for name in inner {
        let within = tables.iter().filter(|address| address.contains(&format!("way={name}&"))).count();
        assert!(within == 3 || left.contains("Not all compared calls unfold in it."), "{name}: {within} {left}");
    }
    // One that has no such calls: the file says so, before it is saved and at its place.
    let (left, data, answers) = file(two, &format!("against={map}"), "systemcalls").await;
    assert!(left.starts_with("Its system calls are not compared: the capture to compare with"), "{left}");
    assert_eq!(left.matches("not compared").count(), 1, "{left}");
    assert_eq!(kinds(&data, "/syscalls/compare?"), BTreeMap::from([("refused".to_owned(), 15)]));
    let refusal: Value = serde_json::from_slice(&answers[having(&answers, "/syscalls/compare?")[0]]).unwrap();
    assert_eq!(refusal["error"]["kind"], "invalid");
    assert_eq!(kinds(&data, "/syscalls?")["json"], 10, "its own are there");
    let several = format!("against={one},{two}");
    let (left, ..) = file(two, &several, "systemcalls").await;
    assert!(left.contains("a table is compared with one capture, and 2 are given"), "{left}");
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_a_file_has_nothing_of_a_capture_that_is_kept_from_whoever_makes_it() {
    let console = Console::new().await;
    let closed = console.capture("payroll is slow", "alice", 10).await;
    let open = console.capture("open", "alice", 20).await;
    let alice = console.cookie("alice", Role::Operator).await;
    let vera = console.cookie("vera", Role::Viewer).await;
    let list = json!({ "list": [] }).to_string();
    let said = console.ask("PUT", &format!("/api/captures/{closed}/rights"), Some(&alice), Some(&list)).await;
    assert_eq!(said.status, 200, "{}", said.text());
    let nowhere = CaptureId::from_bits(0xee);
    for tabs in ["events", "distribution", "flame", "events,timeline"] {
        let file = async |cookie: &str, with: &str| {
            let view = format!("v=3&groupby=comm&spread=heat&against={with}&againststart=0&againstend=9&versus=0");
            console.get(&file_of(open, &view, tabs), cookie).await
        };
        for with in [closed.to_string(), nowhere.to_string(), format!("{open},{closed}")] {
            let file = file(&vera, &with).await;
            let (data, answers) = opened(&file);
            let told = "It is compared with nothing: what it was compared with is not there, or is kept from whoever saved it.";
            assert_eq!(file.header("bathyscope-left-out"), told, "{tabs} {with}");
            assert!(!data["views"][0]["view"].as_str().unwrap().contains("against"), "{data}");
            let own = format!("/api/captures/{open}");
            assert!(
                answers.keys().all(|address| address.starts_with(&own) && !address.contains("compare")),
                "{answers:?}"
            );
            let holds = |text: &str| answers.values().any(|body| String::from_utf8_lossy(body).contains(text));
            assert!(!holds("payroll") && !holds(&closed.to_string()), "{tabs} {with}");
        }
        let (data, answers) = opened(&file(&alice, &closed.to_string()).await);
        assert!(data["views"][0]["view"].as_str().unwrap().contains("against"));
        assert!(answers.contains_key(&format!("/api/captures/{closed}")), "whoever may read it has it");
    }
    // Nor is it in an investigation's file.
    let made = async |path: &str, body: Value| {
        let made = console.ask("POST", path, Some(&alice), Some(&body.to_string())).await;
        assert!(made.status.is_success(), "{}", made.text());
        made.json()
    };
    let begun = made("/api/investigations", json!({ "title": "Why?" })).await;
    let page = format!("/api/investigations/{}", begun["id"].as_str().unwrap());
    let view = format!("v=3&tab=events&groupby=comm&against={closed}");
    for kind in ["view", "comparison"] {
        made(
            &format!("{page}/blocks"),
            json!({ "content": { "kind": kind, "capture": open, "view": view, "caption": "" } }),
        )
        .await;
    }
    let file = console.get(&format!("{page}/file"), &vera).await;
    let (data, answers) = opened(&file);
    assert_eq!(data["views"].as_array().unwrap().len(), 2);
    assert_eq!(file.header("bathyscope-left-out").matches("It is compared with nothing").count(), 2);
    assert!(having(&answers, "compare").is_empty() && having(&answers, &closed.to_string()).is_empty());
    let holds = |text: &str| answers.values().any(|body| String::from_utf8_lossy(body).contains(text));
    assert!(!holds("payroll"));
    let (_, answers) = opened(&console.get(&format!("{page}/file"), &alice).await);
    assert_eq!(having(&answers, "/pivot/compare?").len(), 3, "of both blocks once");
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_a_file_of_a_share_is_compared_with_the_shared_capture_alone() {
    let console = Console::new().await;
    let (one, two) = (console.capture("one", "alice", 1000).await, console.capture("two", "alice", 500).await);
    let alice = console.cookie("alice", Role::Operator).await;
    let link = share(&console, &alice, json!({ "capture": one })).await;
    let file = async |against: &str| {
        let view = format!("v=3&tab=events&groupby=comm&{against}");
        link.get(&console, &file_of(one, &view, "events")).await
    };
    let itself = file("against=self&againstend=500000&againststart=0").await;
    let (_, answers) = opened(&itself);
    assert_eq!((itself.header("bathyscope-left-out"), having(&answers, "/pivot/compare?").len()), ("", 3));
    let other = file(&format!("against={two}")).await;
    let (_, answers) = opened(&other);
    assert!(other.header("bathyscope-left-out").starts_with("It is compared with nothing"), "{}", other.status);
    assert!(having(&answers, "compare").is_empty() && having(&answers, &two.to_string()).is_empty());
}
