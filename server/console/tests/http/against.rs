//! Tables and heat maps of a capture against another one: through the router, who may read the other one, and below a share.

use std::time::Duration;

use bathyscope_capture::CaptureId;
use bathyscope_store::Role;
use serde_json::{Value, json};

use super::{
    harness::{Console, simulated},
    shares::share,
};

/// All routes that compare, as they are asked for the capture of the harness.
const ROUTES: [&str; 6] = [
    "syscalls/compare",
    "pivot/compare",
    "calls/compare",
    "maps/0/compare",
    "distribution/heat/compare",
    "flame/compare",
];

/// Records what sources bring; gives the capture.
async fn record(console: &Console, cookie: &str, sources: Value) -> String {
    let limits = json!({"duration_ms": 400, "budget_cpu_permille": 1000});
    let spec = json!({"sources": sources, "target": "system", "limits": limits}).to_string();
    let started = console.ask("POST", "/api/captures", Some(cookie), Some(&spec)).await;
    assert_eq!(started.status, 201, "{}", started.text());
    let id: CaptureId = started.json()["id"].as_str().unwrap().parse().unwrap();
    console.state.recorder().wait(id).await;
    id.to_string()
}

/// What records system calls.
pub fn calls() -> Value {
    json!([{"id": "calls", "method": {"syscalls": {}}}])
}

/// What fills a map by names and one of histograms.
pub fn script() -> Value {
    let text = "tracepoint:sched:sched_switch { @[comm] = count(); @size = hist(args.prev_prio); }";
    json!([{"id": "script", "method": {"script": {"text": text}}}])
}

/// A console with the simulated agent, its admin's cookie, and a capture by each of these sources.
pub async fn recorded(all: &[Value]) -> (Console, String, Vec<String>) {
    let link = simulated("rate=3000");
    assert!(link.connected(Duration::from_secs(10)).await);
    let console = Console::with_link(link).await;
    let root = console.cookie("root", Role::Admin).await;
    let mut ids = Vec::new();
    for sources in all {
        ids.push(record(&console, &root, sources.clone()).await);
    }
    (console, root, ids)
}

fn line<'a>(table: &'a Value, key: &str) -> &'a Value {
    let lines = table["lines"].as_array().unwrap();
    lines.iter().find(|line| line["key"][0] == key).unwrap_or_else(|| panic!("no line {key}: {table}"))
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_a_capture_that_is_kept_from_somebody_is_compared_with_nothing_for_them() {
    let console = Console::new().await;
    let closed = console.capture("payroll is slow", "alice", 10).await;
    let open = console.capture("open", "alice", 20).await;
    let alice = console.cookie("alice", Role::Operator).await;
    let (vera, root) = (console.cookie("vera", Role::Viewer).await, console.cookie("root", Role::Admin).await);
    let list = json!({ "list": [] }).to_string();
    let said = console.ask("PUT", &format!("/api/captures/{closed}/rights"), Some(&alice), Some(&list)).await;
    assert_eq!(said.status, 200, "{}", said.text());
    let nowhere = CaptureId::from_bits(0xee);
    for route in ROUTES {
        let ask = async |cookie: &str, with: CaptureId| {
            let answer = console.get(&format!("/api/captures/{open}/{route}?with={with}"), cookie).await;
            let text = answer.text().split("\"request_id\"").next().unwrap().replace(&with.to_string(), "ID");
            (answer.status.as_u16(), text)
        };
        let (status, text) = ask(&vera, closed).await;
        assert_eq!(status, 404, "{route}: {text}");
        assert!(!text.contains("payroll") && !text.contains("marker-comm"), "{route}: {text}");
        assert_eq!((status, text), ask(&vera, nowhere).await, "{route}: it is as if it were not there");
        // Nor among several.
        let both = console.get(&format!("/api/captures/{open}/{route}?with={open},{closed}"), &vera).await;
        assert_eq!(both.status, 404, "{route}");
        // Without a script there is no map, whatever it is compared with.
        for cookie in [&alice, &root].into_iter().filter(|_| !route.starts_with("maps")) {
            assert_ne!(ask(cookie, closed).await, ask(cookie, nowhere).await, "{route}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn groups_and_heat_maps_are_compared_with_another_capture_and_with_another_range() {
    let console = Console::new().await;
    let one = console.capture("one", "alice", 1000).await;
    let two = console.capture("two", "alice", 500).await;
    let vera = console.cookie("vera", Role::Viewer).await;
    let ask = async |path: &str| {
        let answer = console.get(&format!("/api/captures/{one}/{path}"), &vera).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    };
    let table = ask(&format!("pivot/compare?by=comm&values=count,sum:next_pid&with={two}&normalised=none")).await;
    let marker = line(&table, "marker-comm");
    assert_eq!((&marker["values"][0]["here"], &marker["values"][0]["there"]), (&json!(500.0), &json!(250.0)));
    assert_eq!(
        (&table["normalised"], &table["here"]["rows"], &table["there"]["rows"]),
        (&json!("none"), &json!(1000), &json!(500))
    );
    let made_up = |which: &str| json!(format!("The events of the capture {which} were made up."));
    assert_eq!(table["cautions"], json!([made_up("here"), made_up("there")]));
    // The same numbers as of one side alone.
    let alone = ask("pivot?by=comm&values=count,sum:next_pid").await;
    for of_one in alone["lines"].as_array().unwrap() {
        let both = line(&table, of_one["cells"][0].as_str().unwrap());
        assert_eq!(both["values"][1]["here"].as_f64(), of_one["cells"][2].as_f64());
        assert_eq!(both["filter"], of_one["condition"]);
    }
    // Another range, another filter, and the usual: for each second, and the same filter.
    let ranges =
        ask("pivot/compare?by=comm&start=0&end=500000&with_start=500000&with_end=1000000&normalised=none").await;
    assert_eq!(line(&ranges, "marker-comm")["values"][0]["difference"], 0.0);
    assert_eq!(ranges["cautions"], json!([made_up("here")]), "of one capture it is said once");
    let filtered = ask("pivot/compare?with_filter=pid%3D%3D101&normalised=none").await;
    assert_eq!((&filtered["here"]["rows"], &filtered["there"]["rows"]), (&json!(1000), &json!(333)));
    let usual = ask("pivot/compare?filter=pid%3D%3D101&by=comm").await;
    assert_eq!((&usual["normalised"], &usual["there"]["rows"]), (&json!("time"), &json!(333)));
    let heat = ask(&format!("distribution/heat/compare?stream=0&column=next_pid&columns=50&with={two}")).await;
    assert_eq!((&heat["here"]["step"], &heat["here"]["buckets"]), (&heat["there"]["step"], &heat["there"]["buckets"]));
    let sum = |side: &str| {
        heat[side]["cells"]["count"].as_array().unwrap().iter().map(|it| it.as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!((sum("here"), sum("there")), (1000, 500));
    // What cannot be compared is refused in words.
    let several = format!("{two},{two}");
    for (path, words) in [
        (format!("pivot/compare?with={several}"), "a table is compared with one capture, and 2 are given"),
        ("pivot/compare?with=nothing".to_owned(), "is no id of a capture"),
        ("pivot/compare?normalised=half".to_owned(), "nothing to compare by"),
        ("pivot/compare?lines_by=0.most".to_owned(), "is no order of lines"),
        ("pivot/compare?lines=0".to_owned(), "the number of lines"),
        (
            "pivot/compare?with_filter=nope%3D%3D1".to_owned(),
            "the capture to compare with does not fit: there is no column `nope`",
        ),
        ("syscalls/compare".to_owned(), "has no system calls"),
        ("calls/compare".to_owned(), "no calls of functions"),
        ("distribution/heat/compare?period=1000000".to_owned(), "offsets in a period are not compared"),
    ] {
        let refused = console.get(&format!("/api/captures/{one}/{path}"), &vera).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.text());
        assert!(refused.text().contains(words), "{path}: {}", refused.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn recordings_of_the_simulated_agent_are_compared_by_call_function_and_key() {
    let (console, root, ids) = recorded(&[calls(), calls(), script(), script()]).await;
    let [first, second, map, other] = &ids[..] else { panic!("four") };
    let ask = async |path: &str| {
        let answer = console.get(path, &root).await;
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    };
    let table = ask(&format!("/api/captures/{second}/syscalls/compare?with={first}")).await;
    let alone = ask(&format!("/api/captures/{second}/syscalls")).await;
    for of_one in alone["lines"].as_array().unwrap() {
        let both = line(&table, of_one["call"].as_str().unwrap());
        let numbers = ["count", "failed", "time"].map(|name| of_one[name].as_f64());
        assert_eq!([0, 1, 2].map(|at: usize| both["values"][at]["here"].as_f64()), numbers, "{both}");
    }
    let by_name = ask(&format!("/api/captures/{second}/syscalls/compare?with={first}&calls_by=process_call")).await;
    assert_eq!(by_name["keys"].as_array().unwrap().len(), 2);
    let maps = ask(&format!("/api/captures/{other}/maps")).await;
    let n = |name: &str| maps["maps"].as_array().unwrap().iter().find(|map| map["name"] == name).unwrap()["n"].clone();
    let counted = ask(&format!("/api/captures/{other}/maps/{}/compare?with={map}", n("@"))).await;
    assert!(counted["compared"].as_u64().unwrap() > 0 && counted["keys"].as_array().unwrap().len() == 1, "{counted}");
    let spread = ask(&format!("/api/captures/{other}/maps/{}/compare?with={map}", n("@size"))).await;
    assert!(!spread["lines"][0]["histogram"]["buckets"].as_array().unwrap().is_empty(), "{spread}");
    // Streams that do not match are refused in words.
    for path in [
        format!("/api/captures/{second}/syscalls/compare?with={map}"),
        format!("/api/captures/{second}/pivot/compare?with={map}"),
        format!("/api/captures/{other}/maps/{}/compare?with={second}", n("@")),
    ] {
        let refused = console.get(&path, &root).await;
        assert_eq!(refused.status, 400, "{path}: {}", refused.text());
        assert!(refused.text().contains("the capture to compare with"), "{}", refused.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p07_below_a_share_a_capture_is_compared_with_itself_alone() {
    let console = Console::new().await;
    let one = console.capture("one", "alice", 1000).await;
    let two = console.capture("two", "alice", 500).await;
    let alice = console.cookie("alice", Role::Operator).await;
    let link = share(&console, &alice, json!({ "capture": one })).await;
    let path = format!("/api/captures/{one}/pivot/compare?by=comm&with_end=500000&normalised=none");
    let itself = link.get(&console, &path).await;
    assert_eq!(itself.status, 200, "{}", itself.text());
    assert_eq!(itself.json()["there"]["rows"], 500);
    for route in ROUTES {
        let other = link.get(&console, &format!("/api/captures/{one}/{route}?with={two}")).await;
        assert_eq!(other.status, 404, "{route}: {}", other.text());
        assert!(!other.text().contains("marker-comm"), "{route}");
    }
}
