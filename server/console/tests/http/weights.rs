//! Stacks weighted by what a capture's rows have: the same weight through every route, and refusals in words.

use std::time::Duration;

use bathyscope_store::Role;
use serde_json::json;

use super::harness::{Console, simulated};

/// Rows with a stack, a number that is sometimes negative, and a control group.
const SCRIPT: &str = r#"tracepoint:sched:sched_switch {
  @n++;
  printf("%d %d %s\n", (int64)pid % 7 - 3, cgroup, kstack);
}
tracepoint:sched:sched_switch /@n >= 400/ { exit(); }"#;

/// A path's text in a query.
fn encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

async fn recorded(console: &Console, cookie: &str) -> String {
    let limits = json!({"duration_ms": 60_000, "budget_cpu_permille": 1000});
    let spec = json!({"method": {"script": {"text": SCRIPT}}, "target": "system", "limits": limits});
    let answer = console.ask("POST", "/api/captures", Some(cookie), Some(&spec.to_string())).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    console.state.recorder().wait(id.parse().unwrap()).await;
    id
}

#[tokio::test(flavor = "multi_thread")]
async fn stacks_are_weighted_by_any_number_of_their_rows() {
    let link = simulated("rate=2000");
    assert!(link.connected(Duration::from_secs(10)).await);
    let console = Console::with_link(link).await;
    let admin = console.cookie("root", Role::Admin).await;
    let id = recorded(&console, &admin).await;
    let shown = console.get(&format!("/api/captures/{id}"), &admin).await.json();
    let weights = shown["weights"].as_array().unwrap();
    let rows = weights.iter().find(|weight| weight["value"].as_str().unwrap().starts_with('@')).expect("rows").clone();
    let column = weights.iter().find(|weight| !weight["value"].as_str().unwrap().starts_with('@'));
    let column = column.expect("a column").clone();
    let stream = shown["streams"].as_array().unwrap().iter().find(|stream| stream["row"] == "instant").unwrap().clone();
    let path = format!("/api/captures/{id}/rows?stream={}&limit=1000", stream["index"]);
    let page = console.get(&path, &admin).await.json();
    let name = column["value"].as_str().unwrap().split('@').next().unwrap().to_owned();
    let at = page["columns"].as_array().unwrap().iter().position(|column| column["name"] == name.as_str()).unwrap();
    let numbers: Vec<i64> = page["rows"].as_array().unwrap().iter().map(|row| row[at].as_i64().unwrap()).collect();
    let sum: i64 = numbers.iter().filter(|number| **number >= 0).sum();
    let negative = numbers.iter().filter(|number| **number < 0).count();
    assert!(sum > 0 && !numbers.is_empty(), "{numbers:?}");
    let weight = encoded(column["value"].as_str().unwrap());
    for route in ["flame?", "flame?by=container&", "flame?by=cpu&invert=1&"] {
        let graph = console.get(&format!("/api/captures/{id}/{route}unit={weight}"), &admin).await;
        assert_eq!(graph.status, 200, "{route}: {}", graph.text());
        let graph = graph.json();
        assert_eq!((&graph["total"], &graph["left_out"]["negative"]), (&sum.into(), &negative.into()), "{route}");
    }
    let path = format!("/api/captures/{id}/flame?unit={}", encoded(rows["value"].as_str().unwrap()));
    let counted = console.get(&path, &admin).await.json();
    assert_eq!((&counted["total"], &counted["unit"]), (&numbers.len().into(), &"rows".into()));
    let usual = console.get(&format!("/api/captures/{id}/flame"), &admin).await.json();
    assert_eq!(usual["total"], counted["total"], "without samples rows count");
    let functions = console.get(&format!("/api/captures/{id}/flame/functions?unit={weight}"), &admin).await.json();
    assert_eq!(functions["samples"], sum);
    let function = encoded(functions["functions"][0]["name"].as_str().unwrap());
    let between = format!("/api/captures/{id}/flame/sandwich?function={function}&unit={weight}");
    let between = console.get(&between, &admin).await.json();
    assert_eq!(between["own"], functions["functions"][0]["own"]);
    let compared =
        console.get(&format!("/api/captures/{id}/flame/compare?unit={weight}&with_filter=cpu%3D%3D0"), &admin).await;
    assert_eq!(compared.json()["graph"]["total"], sum, "{}", compared.text());
    let svg = console.get(&format!("/api/captures/{id}/export?format=svg&unit={weight}"), &admin).await;
    assert!(svg.text().contains(&format!("({name} of ")), "the file says what is counted");
    let folded = console.get(&format!("/api/captures/{id}/export?format=folded&unit={weight}"), &admin).await;
    let total: i64 = folded.text().lines().map(|line| line.rsplit(' ').next().unwrap().parse::<i64>().unwrap()).sum();
    assert_eq!(total, sum);
}

#[tokio::test(flavor = "multi_thread")]
async fn weights_that_are_not_there_are_refused_in_words() {
    let link = simulated("rate=500");
    assert!(link.connected(Duration::from_secs(10)).await);
    let console = Console::with_link(link).await;
    let admin = console.cookie("root", Role::Admin).await;
    let limits = json!({"duration_ms": 300, "budget_cpu_permille": 1000});
    let profile = json!({"frequency_hz": 100, "kernel_stacks": true, "user_stacks": true});
    let spec = json!({"method": {"profile": profile}, "target": "system", "limits": limits});
    let answer = console.ask("POST", "/api/captures", Some(&admin), Some(&spec.to_string())).await;
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    console.state.recorder().wait(id.parse().unwrap()).await;
    let ask = async |query: &str| console.get(&format!("/api/captures/{id}/{query}"), &admin).await;
    let plain = ask("flame?unit=samples").await.json();
    let timed = ask("flame?unit=cpu_time").await.json();
    assert_eq!(timed["unit"], "nanoseconds");
    assert_eq!(timed["total"], plain["total"].as_u64().unwrap() * 10_000_000, "100 samples a second are 10 ms each");
    for (query, words) in [
        ("flame?unit=size%40nothing", "have no weight `size@nothing`; there are: samples, cpu_time"),
        ("flame/functions?unit=nothing", "have no weight `nothing`"),
        ("export?format=svg&unit=%40", "have no weight `@`"),
        ("flame?by=container", "no control group was recorded"),
    ] {
        let refused = ask(query).await;
        assert_eq!(refused.status, 400, "{query}: {}", refused.text());
        assert!(refused.text().contains(words), "{query}: {}", refused.text());
    }
    let other = recorded(&console, &admin).await;
    let shown = console.get(&format!("/api/captures/{other}"), &admin).await.json();
    let weight = encoded(shown["weights"][0]["value"].as_str().unwrap());
    let refused = console.get(&format!("/api/captures/{other}/flame/compare?with={id}&unit={weight}"), &admin).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text().contains("is not in the capture to compare with"), "{}", refused.text());
}
