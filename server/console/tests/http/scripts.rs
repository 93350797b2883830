//! Scripts with the simulated agent: checked, run, watched, and what they leave behind.

use std::time::Duration;

use bathyscope_capture::CaptureId;
use bathyscope_recorder::LiveMessage;
use bathyscope_store::Role;
use serde_json::{Value, json};

use super::harness::{Console, simulated};

async fn console() -> Console {
    let link = simulated("rate=2000");
    assert!(link.connected(Duration::from_secs(10)).await);
    Console::with_link(link).await
}

fn spec(text: &str) -> String {
    let limits = json!({"duration_ms": 60_000, "budget_cpu_permille": 1000});
    json!({"method": {"script": {"text": text}}, "target": "system", "limits": limits}).to_string()
}

async fn run(console: &Console, cookie: &str, text: &str) -> CaptureId {
    let answer = console.ask("POST", "/api/captures", Some(cookie), Some(&spec(text))).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let id: CaptureId = answer.json()["id"].as_str().unwrap().parse().unwrap();
    console.state.recorder().wait(id).await;
    id
}

const SCRIPT: &str = r#"// Switches by thread.
begin { printf("begins with %d\n", 7); }
tracepoint:sched:sched_switch { @[comm] = count(); @size = hist(args.prev_prio); printf("%s %d\n", comm, pid); @n++; }
tracepoint:sched:sched_switch /@n >= 50/ { exit(3); }
end { print(@size); printf("ends\n"); }"#;

#[tokio::test(flavor = "multi_thread")]
async fn a_script_runs_and_everything_it_says_is_kept() {
    let console = console().await;
    let admin = console.cookie("root", Role::Admin).await;
    let id = run(&console, &admin, SCRIPT).await;
    let shown = console.get(&format!("/api/captures/{id}"), &admin).await.json();
    assert_eq!(shown["state"], "finished", "{shown}");
    assert_eq!((&shown["title"], &shown["reason"]), (&json!("Switches by thread."), &shown["reason"]));
    assert!(shown["reason"].as_str().unwrap().contains("code 3"), "{shown}");
    for (index, totals) in shown["ledger"]["streams"].as_array().unwrap().iter().enumerate() {
        assert_eq!(totals["emitted"], totals["stored"], "{index}: {shown}");
    }

    let script = console.get(&format!("/api/captures/{id}/script"), &admin).await.json();
    assert_eq!((&script["exit_code"], &script["text"]), (&json!(3), &json!(SCRIPT)));
    let switch = script["probes"].as_array().unwrap().iter().find(|probe| probe["line"] == 3).unwrap();
    assert!(switch["hits"].as_u64().unwrap() >= 50, "{script}");

    let text = console.get(&format!("/api/captures/{id}/text?limit=2"), &admin).await.json();
    assert_eq!(text["lines"][0]["text"], "begins with 7\n", "{text}");
    let mut lines = Vec::new();
    let mut next = json!({"time": 0, "skip": 0});
    while !next.is_null() {
        let path = format!("/api/captures/{id}/text?limit=7&time={}&skip={}", next["time"], next["skip"]);
        let page = console.get(&path, &admin).await.json();
        lines.extend(page["lines"].as_array().unwrap().iter().cloned());
        next = page["next"].clone();
    }
    assert_eq!(lines.iter().filter(|line| line["text"] == "begins with 7\n").count(), 1);
    assert_eq!(lines.iter().filter(|line| line["text"] == "ends\n").count(), 1);

    let all: u64 = shown["streams"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["kind"] == "events")
        .map(|it| it["rows"].as_u64().unwrap())
        .sum();
    assert_eq!(lines.iter().filter(|line| line["snapshot"].is_null()).count() as u64, all, "each row is a line, once");

    // A printed map is text, as at a terminal, and tells which snapshot it is.
    let printed: Vec<&Value> = lines.iter().filter(|line| !line["snapshot"].is_null()).collect();
    let texts: Vec<&str> = printed.iter().map(|line| line["text"].as_str().unwrap()).collect();
    assert!(texts.iter().any(|text| text.starts_with("@size:\n[") && text.contains("|@")), "{texts:?}");
    let total: u64 = {
        let text = texts.iter().find(|text| text.starts_with("@[")).unwrap();
        let count = |line: &str| line.rsplit_once(": ").map(|(_, count)| count.parse::<u64>().unwrap());
        text.lines().filter_map(count).sum()
    };
    assert!(total >= 50, "{texts:?}");
    assert!(texts.iter().any(|text| text.starts_with("@n: ")), "{texts:?}");

    maps(&console, id, &admin).await;
}

async fn maps(console: &Console, id: CaptureId, admin: &str) {
    let maps = console.get(&format!("/api/captures/{id}/maps"), admin).await.json();
    let map = |name: &str| -> Value {
        maps["maps"].as_array().unwrap().iter().find(|map| map["name"] == name).unwrap().clone()
    };
    assert_eq!(map("@")["kind"], "count");
    assert_eq!((&map("@size")["kind"], &map("@size")["views"][0]), (&json!("histogram"), &json!("histogram")));
    let view = async |name: &str, view: &str| {
        let path = format!("/api/captures/{id}/maps/{}?view={view}", map(name)["n"]);
        let answer = console.get(&path, admin).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    };
    let table = view("@", "table").await;
    assert_eq!(table["key_columns"], 1);
    let counts: Vec<u64> = table["rows"].as_array().unwrap().iter().map(|row| row[1].as_u64().unwrap()).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b) && counts.iter().sum::<u64>() >= 50, "{table}");
    assert_eq!(table["sum"].as_u64().unwrap(), counts.iter().sum::<u64>());
    let histogram = view("@size", "histogram").await;
    assert!(histogram["total"].as_u64().unwrap() >= 50, "{histogram}");
    let heat = view("@size", "heatmap").await;
    assert_eq!(heat["columns"].as_array().unwrap().len() as u64, map("@size")["snapshots"].as_u64().unwrap());
    assert!(!view("@", "series").await["lines"].as_array().unwrap().is_empty());
    let flame = format!("/api/captures/{id}/maps/{}?view=flame", map("@")["n"]);
    assert_eq!(console.get(&flame, admin).await.status, 400, "its keys are no stacks");
    assert_eq!(console.get(&format!("/api/captures/{id}/maps/99"), admin).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_script_is_told_with_its_place() {
    let console = console().await;
    let admin = console.cookie("root", Role::Admin).await;
    let wrong = "begin {\n  printf(\"%d\\n\", nothing_like_it);\n}";
    let refused = console.ask("POST", "/api/captures", Some(&admin), Some(&spec(wrong))).await;
    assert_eq!(refused.status, 422, "{}", refused.text());
    let error = &refused.json()["error"];
    assert_eq!((&error["kind"], &error["diagnostics"][0]["line"]), (&json!("script"), &json!(2)), "{error}");
    let body = json!({"text": wrong}).to_string();
    let checked = console.ask("POST", "/api/scripts/check", Some(&admin), Some(&body)).await.json();
    assert_eq!((&checked["ok"], &checked["messages"][0]["severity"]), (&json!(false), &json!("error")), "{checked}");
    let body = json!({"text": SCRIPT}).to_string();
    let checked = console.ask("POST", "/api/scripts/check", Some(&admin), Some(&body)).await.json();
    assert_eq!(checked["ok"], true, "{checked}");
    assert!(checked["maps"].as_array().unwrap().iter().any(|map| map["kind"] == "histogram"), "{checked}");
    let body = json!({"text": "tracepoint:sched:sched_sw", "offset": 25}).to_string();
    let offered = console.ask("POST", "/api/scripts/complete", Some(&admin), Some(&body)).await.json();
    let items = offered["items"].as_array().unwrap();
    assert!(items.iter().any(|item| item["label"].as_str().unwrap().contains("sched_switch")), "{offered}");
    let body = json!({"text": "begin { printf(\"\"); }", "offset": 10}).to_string();
    let explained = console.ask("POST", "/api/scripts/hover", Some(&admin), Some(&body)).await.json();
    assert!(explained["hover"]["title"].as_str().unwrap().contains("printf"), "{explained}");
    for emit in ["ast", "ir", "bpf", "plan"] {
        let body = json!({"text": SCRIPT, "emit": emit}).to_string();
        let listing = console.ask("POST", "/api/scripts/compile", Some(&admin), Some(&body)).await.json();
        assert!(!listing["text"].as_str().unwrap().is_empty(), "{emit}: {listing}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p59_only_whom_the_switch_names_has_texts_compiled() {
    let console = console().await;
    let operator = console.cookie("alice", Role::Operator).await;
    for what in ["check", "compile", "complete", "hover"] {
        let body = match what {
            "complete" | "hover" => json!({"text": "begin { exit(); }", "offset": 3}),
            _ => json!({"text": "begin { exit(); }"}),
        };
        let refused =
            console.ask("POST", &format!("/api/scripts/{what}"), Some(&operator), Some(&body.to_string())).await;
        let error = &refused.json()["error"];
        assert_eq!((refused.status.as_u16(), &error["kind"]), (422, &json!("denied")), "{what}: {error}");
        assert!(error["remedy"].as_str().unwrap().contains("--scripts"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_whom_the_switch_names_runs_scripts() {
    let console = console().await;
    let (admin, operator) = (console.cookie("root", Role::Admin).await, console.cookie("alice", Role::Operator).await);
    let script = "begin { exit(); }";
    let refused = console.ask("POST", "/api/captures", Some(&operator), Some(&spec(script))).await;
    assert_eq!((refused.status.as_u16(), &refused.json()["error"]["kind"]), (422, &json!("denied")));
    assert_eq!(console.get("/api/scripts", &operator).await.json()["may_run"], false);
    assert_eq!(console.get("/api/scripts", &admin).await.json()["may_run"], true);
    let wild = json!({"method": {"script": {"text": script, "allow_unsafe": true}}, "target": "system"}).to_string();
    let refused = console.ask("POST", "/api/captures", Some(&admin), Some(&wild)).await;
    assert_eq!(refused.json()["error"]["kind"], "denied", "{}", refused.text());
    run(&console, &admin, script).await;
    let audit = console.get("/api/audit", &admin).await.json();
    assert!(audit["items"][0]["detail"].as_str().unwrap().contains("script "), "{audit}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_reading_maps_costs_is_told_and_large_ones_wait() {
    let console = console().await;
    let admin = console.cookie("root", Role::Admin).await;
    let text = "config = { max_map_keys = 20000 } begin { for ($i : 0..6000) { @large[$i] = $i; } @small = 7; } \
                tracepoint:sched:sched_switch { @n = count(); }";
    let answer = console.ask("POST", "/api/captures", Some(&admin), Some(&spec(text))).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let id: CaptureId = answer.json()["id"].as_str().unwrap().parse().unwrap();
    let mut live = console.state.recorder().live(id).unwrap();
    let maps = loop {
        let message = live.next().await.expect("it has not ended");
        match &*message {
            LiveMessage::Tick(tick) if tick.maps.len() == 3 => break tick.maps.clone(),
            LiveMessage::Map { rows, .. } => assert!(rows.len() < 10, "a large map is not shown"),
            _ => {}
        }
    };
    let [large, small] = ["@large", "@small"].map(|name| maps.iter().find(|map| map.name == name).unwrap());
    assert!(large.too_large && large.elements == 6000 && large.every_ms >= 10_000, "{large:?}");
    assert!(!small.too_large && small.elements == 1 && small.every_ms >= 1000 && small.read_us > 0, "{small:?}");
    console.state.recorder().stop(id, "the test");
    console.state.recorder().wait(id).await;
    // At the end all is read, once.
    let maps = console.get(&format!("/api/captures/{id}/maps"), &admin).await.json();
    let map = |name: &str| maps["maps"].as_array().unwrap().iter().find(|map| map["name"] == name).unwrap().clone();
    assert_eq!(map("@large")["snapshots"], 1, "{maps}");
    let table =
        console.get(&format!("/api/captures/{id}/maps/{}?view=table&limit=1", map("@large")["n"]), &admin).await;
    assert_eq!(table.json()["rows"][0], json!([5999, 5999]), "{}", table.text());
    // Its text is the greatest of it.
    let text = console.get(&format!("/api/captures/{id}/text"), &admin).await.json();
    let line = text["lines"].as_array().unwrap().iter().find(|line| line["left_out"] == 1000).unwrap();
    let words = line["text"].as_str().unwrap();
    assert!(words.starts_with("@large[1000]: 1000\n") && words.ends_with("@large[5999]: 5999\n"), "{line}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_was_pasted_is_read_as_what_was_meant() {
    let console = console().await;
    let admin = console.cookie("root", Role::Admin).await;
    let check = async |text: &str| {
        let body = json!({ "text": text }).to_string();
        console.ask("POST", "/api/scripts/check", Some(&admin), Some(&body)).await.json()
    };
    let meant = r#"begin { printf("it’s\n"); exit(); }"#;
    assert_eq!(check(meant).await.get("pasted"), None, "what compiles is left as it is");
    for pasted in
        [r#"begin { printf(“it’s\n”); exit(); }"#, &format!("[root@host ~]# bpftrace -e '{}'", meant.replace('’', ""))]
    {
        let verdict = check(pasted).await;
        assert_eq!(verdict["ok"], true, "{verdict}");
        let text = verdict["pasted"]["text"].as_str().unwrap_or_else(|| panic!("{verdict}"));
        assert!(text.starts_with("begin {") && !text.contains('“'), "{text}");
        assert!(!verdict["pasted"]["notes"].as_array().unwrap().is_empty(), "{verdict}");
    }
    let wrong = check("begin { printf(“a”; }").await;
    assert_eq!((wrong["ok"].as_bool(), wrong.get("pasted")), (Some(false), None), "{wrong}");
}
