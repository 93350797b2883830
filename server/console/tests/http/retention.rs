//! P39: pins, the rule of retention, and what is told of it.

use std::time::Duration;

use bathyscope_capture::CaptureId;
use bathyscope_console::retention::RetentionRule;
use bathyscope_link::AgentLink;
use bathyscope_store::Role;

use super::harness::{Console, no_agent, simulated};

/// The wall time at which captures of the harness start.
const STARTED: i64 = 1_700_000_000_000_000_000;
const DAY_NS: i64 = 86_400_000_000_000;

async fn with_rule(max_days: Option<u32>, max_bytes: Option<u64>) -> Console {
    Console::with_rule(RetentionRule { max_days, max_bytes, labels: Vec::new() }, AgentLink::new(no_agent).unwrap())
        .await
}

async fn pin(console: &Console, id: CaptureId, cookie: &str, pinned: bool) -> u16 {
    let body = format!(r#"{{"pinned":{pinned}}}"#);
    console.ask("PATCH", &format!("/api/captures/{id}"), Some(cookie), Some(&body)).await.status.as_u16()
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_who_may_delete_a_capture_may_pin_it() {
    let console = with_rule(None, None).await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let (viewer, admin) = (console.cookie("vera", Role::Viewer).await, console.cookie("root", Role::Admin).await);
    let id = console.capture("hers", "alice", 10).await;
    for (who, cookie, expected) in
        [("bob", &bob, 404), ("vera", &viewer, 404), ("alice", &alice, 204), ("root", &admin, 204)]
    {
        assert_eq!(pin(&console, id, cookie, true).await, expected, "{who}");
        let shown = console.get(&format!("/api/captures/{id}"), cookie).await.json();
        assert_eq!(shown["can_pin"], expected == 204, "{who}");
        assert_eq!(console.get("/api/captures", cookie).await.json()["items"][0]["can_pin"], expected == 204, "{who}");
    }
    let shown = console.get(&format!("/api/captures/{id}"), &bob).await.json();
    assert_eq!(shown["pinned"], true);
    let both = console
        .ask("PATCH", &format!("/api/captures/{id}"), Some(&alice), Some(r#"{"title":"x","pinned":false}"#))
        .await;
    assert_eq!(both.status, 204);
    let shown = console.get("/api/captures", &viewer).await.json();
    assert_eq!((&shown["items"][0]["title"], &shown["items"][0]["pinned"]), (&"x".into(), &false.into()));
    for bad in ["{}", r#"{"title":""}"#, r#"{"pinned":1}"#, r#"{"pinned":true,"owner":"bob"}"#] {
        let answer = console.ask("PATCH", &format!("/api/captures/{id}"), Some(&alice), Some(bad)).await;
        assert!(answer.status.is_client_error(), "{bad}: {}", answer.text());
    }
    let audit = console.get("/api/audit", &admin).await.json();
    let actions: Vec<&str> =
        audit["items"].as_array().unwrap().iter().filter_map(|one| one["action"].as_str()).collect();
    for (action, count) in [("capture.pin", 2), ("capture.unpin", 1), ("capture.rename", 1)] {
        assert_eq!(actions.iter().filter(|one| **one == action).count(), count, "{action}: {actions:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p39_what_is_too_old_goes_and_what_is_pinned_stays() {
    let console = with_rule(Some(7), None).await;
    let admin = console.cookie("root", Role::Admin).await;
    let (old, kept) = (console.capture("old", "alice", 10).await, console.capture("kept", "alice", 11).await);
    assert_eq!(pin(&console, kept, &admin, true).await, 204);
    let list = console.get("/api/captures", &admin).await.json();
    assert_eq!(
        (&list["retention"]["keep_days"], &list["retention"]["keep_bytes"]),
        (&7.into(), &serde_json::Value::Null)
    );
    let until = |id: CaptureId| {
        let items = list["items"].as_array().unwrap().iter();
        items.clone().find(|item| item["id"] == id.to_string()).unwrap()["kept_until_unix_ns"].as_i64()
    };
    // It lasted 10 µs.
    assert_eq!((until(old), until(kept)), (Some(STARTED + 10_000 + 7 * DAY_NS), None));
    let shown = console.get(&format!("/api/captures/{old}"), &admin).await.json();
    assert_eq!(shown["kept_until_unix_ns"].as_i64(), until(old));

    let last = until(old).unwrap();
    assert_eq!(console.state.retention_task().follow(last).await.unwrap(), []);
    // A clock that is far behind deletes nothing.
    assert_eq!(console.state.retention_task().follow(0).await.unwrap(), []);
    assert_eq!(console.state.retention_task().follow(last + 1).await.unwrap(), [old]);
    assert_eq!(console.state.retention_task().follow(last + 1).await.unwrap(), []);
    assert_eq!(console.get(&format!("/api/captures/{old}"), &admin).await.status, 404);
    assert_eq!(console.get(&format!("/api/captures/{kept}"), &admin).await.status, 200);
    let audit = console.get("/api/audit?limit=1", &admin).await.json();
    let entry = &audit["items"][0];
    assert_eq!((&entry["user"], &entry["action"]), (&"retention".into(), &"capture.expire".into()));
    assert_eq!((&entry["object"], &entry["detail"]), (&old.to_string().into(), &"it is older than 7 days".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn p39_what_has_no_room_goes_but_never_what_is_recorded() {
    let link = simulated("rate=2000");
    assert!(link.clone().connected(Duration::from_secs(10)).await);
    let console =
        Console::with_rule(RetentionRule { max_days: Some(1), max_bytes: Some(1), labels: Vec::new() }, link).await;
    let admin = console.cookie("root", Role::Admin).await;
    let (first, second) = (console.capture("first", "alice", 10).await, console.capture("second", "alice", 11).await);
    let spec = r#"{"method":{"events":{"probes":[{"tracepoint":"sched:sched_switch","fields":[],"predicate":""}]}},
        "target":"system","limits":{"budget_cpu_permille":50}}"#;
    let started = console.ask("POST", "/api/captures", Some(&admin), Some(spec)).await;
    assert_eq!(started.status, 201, "{}", started.text());
    let running: CaptureId = started.json()["id"].as_str().unwrap().parse().unwrap();
    let list = console.get("/api/captures", &admin).await.json();
    assert!(list["items"].as_array().unwrap().iter().all(|item| item["bytes"].as_u64().is_some()));
    let item = list["items"].as_array().unwrap().iter().find(|item| item["id"] == running.to_string()).unwrap();
    assert_eq!(item["kept_until_unix_ns"], serde_json::Value::Null, "it has no end yet");
    assert!(list["retention"]["captures_bytes"].as_u64() > Some(0), "{list}");

    // By size one goes: the newest of those that have ended stays.
    let gone = console.state.retention_task().follow(STARTED + DAY_NS / 2).await.unwrap();
    assert_eq!(gone.len(), 1);
    let far = i64::MAX;
    let left = console.state.retention_task().follow(far).await.unwrap();
    let mut both = [gone[0], left[0]];
    both.sort_by_key(|id| id.bits());
    let mut expected = [first, second];
    expected.sort_by_key(|id| id.bits());
    assert_eq!((left.len(), both), (1, expected), "however old it is, what is recorded stays");
    assert!(console.state.recorder().stop(running, "the test"));
    console.state.recorder().wait(running).await;
    // It is being named, or was a moment ago.
    assert_eq!(console.state.retention_task().follow(far).await.unwrap(), []);
    assert_eq!(console.get(&format!("/api/captures/{running}"), &admin).await.status, 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_what_was_deleted_is_restored_by_its_owner_for_a_day() {
    let console = with_rule(None, None).await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let admin = console.cookie("root", Role::Admin).await;
    let id = console.capture("hers", "alice", 10).await;
    let rows = format!("/api/captures/{id}/rows?stream=0&limit=5");
    let before = console.get(&rows, &alice).await.json();
    let delete = async |more: &str| {
        let answer = console.ask("DELETE", &format!("/api/captures/{id}{more}"), Some(&alice), None).await;
        (answer.status.as_u16(), answer.json()["restorable_until_unix_ns"].as_i64())
    };
    let (status, until) = delete("").await;
    assert_eq!(status, 200);
    let until = until.expect("it can be restored");
    for (who, cookie, count) in [("bob", &bob, 0), ("alice", &alice, 1), ("root", &admin, 1)] {
        let items = console.get("/api/deleted", cookie).await.json();
        assert_eq!(items["items"].as_array().unwrap().len(), count, "{who}");
    }
    let item = console.get("/api/deleted", &alice).await.json()["items"][0].clone();
    assert_eq!((&item["title"], &item["deleted_by"]), (&"hers".into(), &"alice".into()));
    assert_eq!(item["restorable_until_unix_ns"].as_i64(), Some(until));
    assert_eq!(console.get(&rows, &alice).await.status, 404);
    let act = async |method: &str, more: &str, cookie: &str| {
        console.ask(method, &format!("/api/deleted/{id}{more}"), Some(cookie), None).await.status.as_u16()
    };
    assert_eq!((act("POST", "/restore", &bob).await, act("DELETE", "", &bob).await), (404, 404));
    assert_eq!((act("POST", "/restore", &alice).await, act("POST", "/restore", &alice).await), (204, 404));
    assert_eq!(console.get(&rows, &alice).await.json(), before);
    // Nobody's day is over before its time.
    delete("").await;
    console.state.retention_task().follow(until - DAY_NS).await.unwrap();
    assert_eq!(act("POST", "/restore", &admin).await, 204);
    let (_, until) = delete("").await;
    console.state.retention_task().follow(until.unwrap()).await.unwrap();
    assert_eq!(act("POST", "/restore", &alice).await, 404);
    let audit = console.get("/api/audit", &admin).await.json();
    let restored = audit["items"].as_array().unwrap().iter().filter(|one| one["action"] == "capture.restore").count();
    assert_eq!(restored, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_deleted_for_good_is_not_kept() {
    let console = with_rule(None, None).await;
    let alice = console.cookie("alice", Role::Operator).await;
    let ids = [console.capture("one", "alice", 10).await, console.capture("two", "alice", 11).await];
    let deleted = async |address: String| console.ask("DELETE", &address, Some(&alice), None).await;
    let answer = deleted(format!("/api/captures/{}?for_good=true", ids[0])).await;
    assert_eq!((answer.status.as_u16(), &answer.json()["restorable_until_unix_ns"]), (200, &serde_json::Value::Null));
    assert_eq!(deleted(format!("/api/captures/{}?for_good=maybe", ids[1])).await.status, 400);
    assert_eq!(deleted(format!("/api/captures/{}", ids[1])).await.status, 200);
    assert_eq!(deleted(format!("/api/deleted/{}", ids[1])).await.status, 204);
    assert_eq!(console.get("/api/deleted", &alice).await.json()["items"].as_array().unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn p39_what_goes_by_tags_and_owners_is_seen_before() {
    let labels = ["tag:slow=forever", "by:ci=3d"].iter().map(|text| text.parse().unwrap()).collect();
    let rule = RetentionRule { max_days: Some(30), max_bytes: None, labels };
    let console = Console::with_rule(rule, AgentLink::new(no_agent).unwrap()).await;
    let (viewer, admin) = (console.cookie("vera", Role::Viewer).await, console.cookie("root", Role::Admin).await);
    let (ada, ci) = (console.capture("hers", "ada", 10).await, console.capture("nightly", "ci", 11).await);
    let tagged = console.capture("tagged", "ci", 12).await;
    let body = r#"{"add_tags":["slow"]}"#;
    let change = console.ask("PATCH", &format!("/api/captures/{tagged}"), Some(&admin), Some(body)).await;
    assert_eq!(change.status, 204);
    let told = console.get("/api/retention", &viewer).await.json();
    assert_eq!(told["retention"]["keep_for"], serde_json::json!(["tag:slow=forever", "by:ci=3d"]));
    let items: Vec<_> = told["items"].as_array().unwrap().iter().map(|one| (&one["id"], &one["rule"])).collect();
    let (by_ci, by_age) = (serde_json::json!("by:ci"), serde_json::json!(null));
    assert_eq!(items, [(&ci.to_string().into(), &by_ci), (&ada.to_string().into(), &by_age)]);
    let second = console.get("/api/retention?limit=1&offset=1", &viewer).await.json();
    assert_eq!((&second["total"], &second["items"][0]["id"]), (&2.into(), &ada.to_string().into()));
    // The list and the page say when as well.
    let list = console.get("/api/captures?sort=title", &viewer).await.json();
    let until: Vec<_> =
        list["items"].as_array().unwrap().iter().map(|one| one["kept_until_unix_ns"].as_i64()).collect();
    assert_eq!(until.iter().map(Option::is_some).collect::<Vec<_>>(), [true, true, false]);
    let page = console.get(&format!("/api/captures/{ci}"), &viewer).await.json();
    assert_eq!(page["kept_until_unix_ns"], told["items"][0]["goes_unix_ns"]);
    let task = console.state.retention_task();
    let gone = task.follow(until[1].unwrap() + 1).await.unwrap();
    assert_eq!(gone, [ci]);
    let audit = console.get("/api/audit", &admin).await.json();
    let detail = audit["items"].as_array().unwrap().iter().find(|one| one["action"] == "capture.expire").unwrap();
    assert_eq!(detail["detail"], "it is older than 3 days, which captures by:ci are kept");
}
