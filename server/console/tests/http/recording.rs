//! Captures with the simulated agent: made, watched, kept. P44: clients that go away.

use std::{pin::pin, task::Poll, time::Duration};

use axum::body::Body;
use bathyscope_capture::CaptureId;
use bathyscope_console::http::service;
use bathyscope_link::AgentLink;
use bathyscope_store::{CaptureState, Role, SummaryQuery};
use http::Request;
use http_body_util::BodyExt as _;
use serde_json::json;
use tower::ServiceExt as _;

use super::harness::{Console, own_page, simulated};

const EVENTS: &str = r#"{"method":{"events":{"probes":[{"tracepoint":"sched:sched_switch",
    "fields":["next_pid"],"predicate":"cpu >= 0"}]}},"target":"system","limits":{"duration_ms":60000,"budget_cpu_permille":50}}"#;
const PROFILE: &str = r#"{"method":{"profile":{"frequency_hz":999,"kernel_stacks":true,"user_stacks":true}},
    "target":"system","limits":{"duration_ms":300,"budget_cpu_permille":50}}"#;

pub async fn console(link: AgentLink) -> Console {
    let connected = link.clone();
    assert!(connected.connected(Duration::from_secs(10)).await);
    Console::with_link(link).await
}

pub async fn start(console: &Console, cookie: &str, spec: &str) -> CaptureId {
    let answer = console.ask("POST", "/api/captures", Some(cookie), Some(spec)).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let started = answer.json();
    assert_eq!(started["url"], answer.header("location"));
    started["id"].as_str().unwrap().parse().unwrap()
}

/// The events of a stream, until `last` has come or the stream ends.
pub async fn events_until(body: &mut Body, last: &str) -> Vec<(String, serde_json::Value)> {
    let mut events = Vec::new();
    let mut pending = String::new();
    while let Some(frame) = body.frame().await {
        let Ok(data) = frame.unwrap().into_data() else { continue };
        pending.push_str(std::str::from_utf8(&data).unwrap());
        while let Some((event, rest)) = pending.split_once("\n\n") {
            let field = |name: &str| event.lines().find_map(|line| line.strip_prefix(name)).unwrap_or("").trim();
            if !field("event:").is_empty() {
                let data = serde_json::from_str(field("data:")).unwrap();
                events.push((field("event:").to_owned(), data));
            }
            pending = rest.to_owned();
        }
        if events.iter().any(|(name, _data)| name == last) {
            break;
        }
    }
    events
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_of_several_sources_says_of_each_stream_whose_and_what_it_is() {
    let console = console(simulated("rate=2000")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let sources = json!([
        {"id": "who", "method": {"profile": {"frequency_hz": 99, "kernel_stacks": true, "user_stacks": true}}},
        {"id": "calls", "method": {"syscalls": {"calls": ["read"]}}},
        {"id": "no", "method": {"events": {"probes": [{"tracepoint": "no:such"}]}}, "required": false},
        {"id": "how-many", "method": {"count": {"groups": [["cs"]], "interval_ms": 100}}},
    ]);
    let spec = json!({"sources": sources, "target": "system", "limits": {"duration_ms": 400}});
    let id = start(&console, &operator, &spec.to_string()).await;
    console.state.recorder().wait(id).await;
    let page = console.ask("GET", &format!("/api/captures/{id}"), Some(&operator), None).await.json();
    let streams = page["streams"].as_array().unwrap();
    let told: Vec<(&str, &str)> =
        streams.iter().map(|it| (it["source"].as_str().unwrap(), it["row"].as_str().unwrap())).collect();
    assert_eq!(told, [("who", "sample"), ("calls", "slice"), ("how-many", "counter")], "{page}");
    assert!(page["reason"].as_str().unwrap().contains("; no is not recorded: "), "{page}");
    // Each view finds the stream that it is of.
    for view in ["counts", "flame?width=100", "rows?stream=1", "timeline?width=100&group=cpu"] {
        let answer = console.ask("GET", &format!("/api/captures/{id}/{view}"), Some(&operator), None).await;
        assert_eq!(answer.status, 200, "{view}: {}", answer.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_is_made_watched_stopped_and_kept() {
    let console = console(simulated("rate=2000")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let id = start(&console, &operator, EVENTS).await;
    let live = format!("/api/captures/{id}/live");
    let mut stream = console.send(own_page("GET", &live, Some(&operator), None)).await.into_body();
    let first = events_until(&mut stream, "rows").await;
    assert_eq!(first[0].0, "state");
    assert_eq!(first[0].1["state"], "recording");
    let rows = &first.last().unwrap().1;
    assert_eq!(rows["rows"][0].as_array().unwrap().len(), 6, "{rows}");
    let tick = events_until(&mut stream, "tick").await.pop().unwrap().1;
    assert_eq!(tick["streams"][0]["name"], "sched:sched_switch");

    let mut rail = console.send(own_page("GET", "/api/live", Some(&operator), None)).await.into_body();
    let running = events_until(&mut rail, "running").await.pop().unwrap().1;
    assert_eq!(running["items"][0]["id"], id.to_string());

    let shown = console.get(&format!("/api/captures/{id}"), &operator).await.json();
    assert_eq!((&shown["state"], &shown["running"]), (&"recording".into(), &true.into()));
    assert_eq!(console.ask("DELETE", &format!("/api/captures/{id}"), Some(&operator), None).await.status, 409);
    let rate = console.get(&format!("/api/captures/{id}/rate?bins=10"), &operator).await;
    assert_eq!(rate.status, 200, "views work while it runs");

    let stopped = console.ask("POST", &format!("/api/captures/{id}/stop"), Some(&operator), None).await.json();
    assert_eq!(stopped["stopped"], true);
    let ended = events_until(&mut stream, "ended").await.pop().unwrap().1;
    assert_eq!(ended["state"], "finished");
    assert!(ended["reason"].as_str().unwrap().contains("alice"), "{ended}");

    let console = console.restarted("first boot").await;
    let shown = console.get(&format!("/api/captures/{id}"), &operator).await.json();
    assert_eq!(
        (&shown["state"], &shown["running"], &shown["owner"]),
        (&"finished".into(), &false.into(), &"alice".into())
    );
    let totals = &shown["ledger"]["streams"][0];
    assert_eq!(totals["emitted"], totals["stored"]);
    assert_eq!(shown["spec"]["sources"][0]["method"]["events"]["probes"][0]["predicate"], "cpu >= 0");
    let page = console.get(&format!("/api/captures/{id}/rows?limit=5"), &operator).await.json();
    assert_eq!(page["total"], totals["stored"]);
    assert_eq!(page["rows"].as_array().unwrap().len(), 5);
    let again = console.send(own_page("GET", &live, Some(&operator), None)).await.into_body();
    assert_eq!(events_until(&mut Body::new(again), "ended").await[0].1["state"], "finished");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_profile_has_a_flame_graph_and_leaves_as_files() {
    let console = console(simulated("")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let id = start(&console, &operator, PROFILE).await;
    console.state.recorder().wait(id).await;
    // Names come file by file after the end.
    let path = format!("/api/captures/{id}/flame?width=1000&by=process");
    let named = async {
        loop {
            let flame = console.get(&path, &operator).await.json();
            let kinds: Vec<u8> = serde_json::from_value(flame["nodes"]["kind"].clone()).unwrap();
            if [1, 2, 3].iter().all(|kind| kinds.contains(kind)) {
                return flame;
            }
        }
    };
    let flame = tokio::time::timeout(Duration::from_secs(30), named).await.unwrap();
    let total = flame["total"].as_u64().unwrap();
    assert!(total > 0);
    assert_eq!(flame["nodes"]["value"][0], total);
    stacks_are_worked_on(&console, &operator, (&id.to_string(), total)).await;
    let folded = console.get(&format!("/api/captures/{id}/export?format=folded"), &operator).await;
    let counts = folded.text().lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(counts.sum::<u64>(), total);
    let svg = console.get(&format!("/api/captures/{id}/export?format=svg"), &operator).await;
    assert!(svg.text().starts_with("<svg") || svg.text().starts_with("<?xml"), "{}", &svg.text()[..80]);
    assert_eq!(svg.text().matches("<script").count(), 1, "the script that zooms and searches");
    assert_eq!(svg.header("content-security-policy"), "sandbox");
}

/// Transforms, both sides of a function, and a comparison of a profile with itself.
async fn stacks_are_worked_on(console: &Console, cookie: &str, (id, total): (&str, u64)) {
    let get = async |rest: &str| console.get(&format!("/api/captures/{id}/flame{rest}"), cookie).await;
    let hidden = get("?width=1000&transforms=k~m.nobody").await.json();
    assert_eq!((&hidden["total"], &hidden["recorded"]), (&total.into(), &total.into()));
    assert!(!hidden["nodes"]["kind"].as_array().unwrap().contains(&2.into()), "no frame of the kernel");
    assert_eq!(hidden["transforms"][0]["problem"], serde_json::Value::Null);
    assert_eq!(hidden["transforms"][1]["problem"], "no stack has this function");
    let functions = get("/functions?by=none").await.json();
    let (name, own) = (functions["functions"][0]["name"].as_str().unwrap(), &functions["functions"][0]["own"]);
    let between = get(&format!("/sandwich?width=1000&function={}", name.replace('+', "%2B"))).await.json();
    assert_eq!((&between["own"], &between["callers"]["total"]), (own, &between["callees"]["total"]));
    let chart = get("/chart?width=1000&lanes=cpu").await.json();
    let lanes = chart["lanes"].as_array().unwrap();
    let samples: u64 = lanes.iter().map(|lane| lane["samples"].as_u64().unwrap()).sum();
    assert_eq!((samples, &chart["recorded"], &chart["step"]), (total, &total.into(), &1.into()));
    assert!(lanes.iter().all(|lane| lane["key"].as_str().unwrap().starts_with("cpu:") && lane["levels"] != 0));
    let same = get("/compare?width=1000").await.json();
    assert_eq!(
        (&same["graph"]["total"], &same["other_totals"][0], &same["significant"]),
        (&total.into(), &total.into(), &0.into())
    );
    for (rest, expected) in [
        ("?transforms=x.main", "is no transform of stacks"),
        ("?search=/(/", "is no regular expression"),
        ("/compare?with=nothing", "is no id of a capture"),
        ("/compare?normalised=bogus", "is nothing to compare by"),
        ("/compare?turned=1&with=00000000000000ff", "does not exist"),
    ] {
        let refused = get(rest).await;
        assert!(refused.status.is_client_error(), "{rest}: {}", refused.status);
        let why = refused.json()["error"].to_string();
        assert!(why.contains(expected) || expected == "does not exist", "{rest}: {why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hot_instructions_of_a_function_are_kept_and_leave_with_the_capture() {
    let console = console(simulated("")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let id = start(&console, &operator, PROFILE).await;
    console.state.recorder().wait(id).await;
    let live = console.send(own_page("GET", &format!("/api/captures/{id}/live"), Some(&operator), None)).await;
    // With its end all names are there: more of them would change what is compared below.
    events_until(&mut live.into_body(), "ended").await;
    let annotated = |id: &str, function: &str| format!("/api/captures/{id}/flame/annotate?function={function}");
    let id = id.to_string();
    let kept = async {
        loop {
            let list = console.get(&format!("/api/captures/{id}/flame/functions"), &operator).await.json();
            let functions = list["functions"].as_array().unwrap().clone();
            // Of the program, with samples of its own.
            let hot = functions.iter().find(|function| function["kind"] == 3 && function["own"].as_u64() > Some(0));
            let Some(hot) = hot else { continue };
            let answer = console.get(&annotated(&id, hot["name"].as_str().unwrap()), &operator).await.json();
            if answer["shown"]["kept"].as_u64() > Some(0) {
                return (hot.clone(), answer);
            }
        }
    };
    let (hot, answer) = tokio::time::timeout(Duration::from_secs(30), kept).await.unwrap();
    assert_eq!(answer["own"], hot["own"]);
    let shown = &answer["shown"];
    let rows = shown["rows"].as_array().unwrap();
    let samples = rows.iter().map(|row| row["samples"].as_u64().unwrap()).sum::<u64>();
    assert_eq!(samples + shown["outside"].as_u64().unwrap(), shown["samples"].as_u64().unwrap());
    // The simulated program is made of returns.
    assert!(rows.iter().all(|row| row["text"] == "ret" && row["bytes"] == "c3"), "{}", rows[0]);
    let hottest = shown["hottest"][0].as_u64().unwrap() as usize;
    assert!(rows.iter().all(|row| row["samples"].as_u64() <= rows[hottest]["samples"].as_u64()));

    // Another console, which never saw the program.
    let file = console.get(&format!("/api/captures/{id}/export?format=bathy"), &operator).await;
    let elsewhere = Console::new().await;
    let viewer = elsewhere.cookie("bob", Role::Viewer).await;
    let there = elsewhere.store.import_bytes(&file.body, "bob", 0).await.unwrap().to_string();
    let name = hot["name"].as_str().unwrap();
    assert_eq!(elsewhere.get(&annotated(&there, name), &viewer).await.json(), answer);
    // The kernel's instructions are not kept, and that is said.
    let list = elsewhere.get(&format!("/api/captures/{there}/flame/functions"), &viewer).await.json();
    let kernel = list["functions"].as_array().unwrap().iter().find(|f| f["kind"] == 2 && f["own"].as_u64() > Some(0));
    let said = elsewhere.get(&annotated(&there, kernel.unwrap()["name"].as_str().unwrap()), &viewer).await.json();
    assert!(said["shown"]["note"].as_str().unwrap().contains("/proc/kcore"), "{said}");
    assert_eq!(elsewhere.get(&annotated(&there, "none"), &viewer).await.json()["shown"], serde_json::Value::Null);
    for wrong in ["?function=x&place=y", ""] {
        let answer = elsewhere.get(&format!("/api/captures/{there}/flame/annotate{wrong}"), &viewer).await;
        assert_eq!(answer.status, 400, "{wrong}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_host_can_be_asked() {
    let console = console(simulated("")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let host = console.get("/api/host", &operator).await.json();
    assert_eq!((&host["agent"]["state"], &host["agent"]["simulated"]), (&"connected".into(), &true.into()));
    assert!(!host["capabilities"].as_array().unwrap().is_empty());
    let found = console.get("/api/tracepoints?q=sched_switch&limit=5", &operator).await.json();
    assert_eq!(found["items"][0], "sched:sched_switch");
    let described = console.get("/api/tracepoints/sched/sched_switch", &operator).await.json();
    assert_eq!(described["fields"][0]["name"], "prev_comm");
    assert_eq!(console.get("/api/tracepoints/sched/nothing_like_it", &operator).await.status, 404);
    let checked = |text: &str| format!("/api/predicate?tracepoint=sched:sched_switch&text={text}");
    let fine = console.get(&checked("next_pid+%3E+1"), &operator).await.json();
    assert_eq!((&fine["ok"], &fine["normal"]), (&true.into(), &"next_pid > 1".into()));
    let wrong = console.get(&checked("cpu%3D%3D1+%26%26+nope%3D%3D1"), &operator).await.json();
    assert_eq!((&wrong["ok"], &wrong["offset"]), (&false.into(), &10.into()));
    let processes = console.get("/api/processes?limit=3", &operator).await.json();
    assert_eq!(processes["items"].as_array().unwrap().len(), 3);
    let bad = r#"{"method":{"events":{"probes":[{"tracepoint":"sched:nothing","fields":[]}]}},"target":"system"}"#;
    let refused = console.ask("POST", "/api/captures", Some(&operator), Some(bad)).await;
    assert_eq!(refused.status, 404, "{}", refused.text());
    assert_eq!(console.store.summaries(&SummaryQuery::default()).await.unwrap().total, 0, "nothing is left of it");
}

/// Polls a request so often, then drops it, as when a client goes away.
async fn dropped_after(console: &Console, request: Request<Body>, polls: usize) {
    let mut asking = pin!(service(console.state.clone()).oneshot(request));
    for _ in 0..polls {
        if std::future::poll_fn(|cx| Poll::Ready(asking.as_mut().poll(cx))).await.is_ready() {
            return;
        }
        tokio::task::yield_now().await;
    }
}

async fn audited(console: &Console, action: &str) -> usize {
    let log = console.store.audit(0, 1000).await.unwrap();
    log.iter().filter(|record| record.entry.action == action).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn p44_a_client_that_goes_away_leaves_no_half_capture() {
    let console = console(simulated("")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let spec = EVENTS.replace("60000", "50");
    for polls in 0..24 {
        // Some get further than others: the polls are spread over the whole of it.
        dropped_after(&console, own_page("POST", "/api/captures", Some(&operator), Some(&spec)), polls * polls).await;
    }
    let settled = async {
        loop {
            let running = console.state.recorder().running();
            for capture in &running {
                console.state.recorder().wait(capture.id).await;
            }
            let page = console.store.summaries(&SummaryQuery::default()).await.unwrap();
            let all_ended = page.items.iter().all(|capture| capture.state == CaptureState::Finished);
            if running.is_empty() && all_ended && audited(&console, "capture.start").await == page.items.len() {
                return page;
            }
            tokio::task::yield_now().await;
        }
    };
    let page = tokio::time::timeout(Duration::from_secs(60), settled).await.expect("a capture stays half made");
    for capture in &page.items {
        let record = console.store.capture(capture.id).await.unwrap();
        assert!(record.ledger.in_flight().iter().all(|count| *count == 0), "{:?}", record.ledger);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p44_a_client_that_goes_away_leaves_no_half_deletion() {
    let console = Console::new().await;
    let admin = console.cookie("root", Role::Admin).await;
    for polls in 0..12 {
        let id = console.capture("a capture", "somebody", 10 + polls as u64).await;
        let path = format!("/api/captures/{id}");
        dropped_after(&console, own_page("DELETE", &path, Some(&admin), None), polls).await;
    }
    let settled = async {
        loop {
            let left = console.store.summaries(&SummaryQuery::default()).await.unwrap().items.len();
            if left + audited(&console, "capture.delete").await == 12 {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), settled).await.expect("a deletion is not noted");
    for capture in console.store.summaries(&SummaryQuery::default()).await.unwrap().items {
        let status = console.get(&format!("/api/captures/{}/rows", capture.id), &admin).await.status;
        // A deletion that had not begun when it was looked is whole, too; it may begin behind the answer.
        let is_gone = console.store.capture(capture.id).await.is_err();
        assert!(status == 200 || (status == 404 && is_gone), "{status}, {is_gone}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_line_of_sysdig_says_what_to_record() {
    let console = console(simulated("")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let answer = async |line: &str| console.get(&format!("/api/syscalls/filter?line={line}"), &operator).await;
    let good = answer("proc.name%3Dnginx+and+evt.type%3Dopen").await;
    assert_eq!(good.status, 200, "{}", good.text());
    let asked = good.json();
    assert_eq!(asked["target"], serde_json::json!({"comm": {"pattern": "nginx"}}));
    // What the API says can be sent to it as it is.
    let spec = serde_json::json!({"method": {"syscalls": asked["syscalls"]}, "target": asked["target"]});
    start(&console, &operator, &spec.to_string()).await;
    assert_eq!(asked["notes"], serde_json::json!([]));
    // As documents print it, behind the program and a prompt.
    let pasted = answer("%23+sysdig+%E2%80%98proc.name%3Dnginx+and+evt.type%3Dopen%E2%80%99").await.json();
    assert_eq!((&pasted["target"], &pasted["syscalls"]), (&asked["target"], &asked["syscalls"]), "{pasted}");
    assert!(pasted["notes"].to_string().contains("was read as"), "{pasted}");
    let bad = answer("fd.prot%3D80").await;
    assert_eq!(bad.status, 400);
    assert!(
        bad.text().contains("is no field that is known here") && bad.text().contains("character 1"),
        "{}",
        bad.text()
    );
    // A line that cannot be read is no filter of a capture either.
    let spec = r#"{"method":{"syscalls":{"filter":"fd.prot=80"}},"target":"system"}"#;
    let bad = console.ask("POST", "/api/captures", Some(&operator), Some(spec)).await;
    assert_eq!(bad.status, 400, "{}", bad.text());
    assert!(bad.text().contains("is no field"), "{}", bad.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_kernel_cannot_decide_of_a_filter_is_decided_before_rows_are_stored() {
    let console = console(simulated("rate=2000")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let line = "fd.name%3D/etc/hosts+or+(evt.type%3Dwrite+and+evt.buffer+contains+llo)";
    let asked = console.get(&format!("/api/syscalls/filter?line={line}"), &operator).await.json();
    let mut syscalls = asked["syscalls"].clone();
    assert!(syscalls["filter"].is_string(), "{syscalls}");
    syscalls["signals"] = serde_json::json!(false);
    let spec =
        serde_json::json!({"method": {"syscalls": syscalls}, "target": "system", "limits": {"duration_ms": 800}});
    let id = start(&console, &operator, &spec.to_string()).await;
    console.state.recorder().wait(id).await;
    let ended = console.get(&format!("/api/captures/{id}"), &operator).await.json();
    let totals = &ended["ledger"]["streams"][0];
    let number = |name: &str| totals[name].as_u64().unwrap_or_else(|| panic!("{name}: {ended}"));
    assert!(number("stored") > 50 && number("filtered") > 50, "{ended}");
    assert_eq!(number("hits"), number("filtered") + number("emitted"), "{ended}");
    assert_eq!(number("emitted"), number("stored"), "{ended}");
    assert!(ended["reason"].as_str().unwrap().contains("calls were recorded and are not shown"), "{ended}");
    let rows = console.get(&format!("/api/captures/{id}/rows?limit=500"), &operator).await.json();
    let shown = rows["rows"].as_array().unwrap_or_else(|| panic!("{rows}"));
    assert!(!shown.is_empty());
    for row in shown {
        let text = row.to_string();
        let is_asked = text.contains("/etc/hosts")
            || text.contains("hello")
            || text.contains("\"read\"")
            || text.contains("\"close\"");
        assert!(is_asked, "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_an_operator_neither_renames_stops_nor_thins_out_an_admins_capture() {
    let console = console(simulated("rate=100")).await;
    let (admin, operator) = (console.cookie("root", Role::Admin).await, console.cookie("bob", Role::Operator).await);
    let id = start(&console, &admin, EVENTS).await;
    let path = format!("/api/captures/{id}");
    let before = console.get(&path, &admin).await.json();
    for (method, path, body) in [
        ("PATCH", path.clone(), r#"{"title":"defaced by operator"}"#),
        ("PATCH", path.clone(), r#"{"title":"defaced by operator","pinned":true}"#),
        ("PATCH", path.clone(), r#"{"pinned":true}"#),
        ("POST", format!("{path}/stop"), "{}"),
        ("POST", format!("{path}/probes/detach"), r#"{"pattern":"*"}"#),
        ("POST", format!("{path}/computed"), r#"{"rule":"thread states"}"#),
        ("DELETE", format!("{path}/computed/0"), "{}"),
        ("DELETE", path.clone(), "{}"),
    ] {
        let refused = console.ask(method, &path, Some(&operator), Some(body)).await;
        assert_eq!(refused.status, 404, "{method} {path} {body}: {}", refused.text());
    }
    let shown = console.get(&path, &operator).await.json();
    assert_eq!((&shown["title"], &shown["pinned"]), (&before["title"], &false.into()));
    assert_eq!((&shown["running"], &shown["can_change"]), (&true.into(), &false.into()));
    for action in ["capture.rename", "capture.pin", "capture.stop", "capture.detach", "capture.delete"] {
        assert_eq!(audited(&console, action).await, 0, "{action} is noted although it was refused");
    }
    // An admin stops those of operators, an operator the own ones.
    let own = start(&console, &operator, EVENTS).await;
    assert_eq!(console.get(&format!("/api/captures/{own}"), &operator).await.json()["can_change"], true);
    let renamed =
        console.ask("PATCH", &format!("/api/captures/{own}"), Some(&operator), Some(r#"{"title":"mine"}"#)).await;
    assert_eq!(renamed.status, 204);
    for (id, who) in [(id, &admin), (own, &admin)] {
        let stopped = console.ask("POST", &format!("/api/captures/{id}/stop"), Some(who), None).await;
        assert_eq!((stopped.status.as_u16(), stopped.json()["stopped"].as_bool()), (200, Some(true)));
        console.state.recorder().wait(id).await;
    }
}
