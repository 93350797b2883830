//! Who uses this host: told to all who look by one reading, and read by nobody when nobody does.

use std::time::Duration;

use bathyscope_link::AgentLink;
use bathyscope_store::Role;

use super::{
    harness::{Console, no_agent, own_page, simulated},
    recording::{console, events_until},
};

#[tokio::test(flavor = "multi_thread")]
async fn who_is_busy_is_told_while_somebody_looks() {
    let console = console(simulated("")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    assert!(!console.state.activity().is_running());
    let look = async || console.send(own_page("GET", "/api/busy", Some(&operator), None)).await.into_body();
    let mut first = look().await;
    let told = events_until(&mut first, "activity").await.pop().unwrap().1;
    let processes = told["processes"].as_array().unwrap();
    assert_eq!(told["processes_total"], processes.len());
    let cpu = |process: &serde_json::Value| process["cpu_permille"].as_u64().unwrap();
    assert!(processes.is_sorted_by(|one, next| cpu(one) >= cpu(next)), "{told}");
    let java = processes.iter().find(|process| process["comm"] == "java").unwrap();
    assert!(java["state"] == "R" && cpu(java) > 100, "{told}");
    let database = processes.iter().find(|process| process["comm"] == "database").unwrap();
    assert_eq!(database["container"], "orders-db");
    assert!(database["read_bytes_per_s"].as_u64().unwrap() > 1 << 20, "{database}");
    assert!(processes.iter().any(|process| process["comm"] == "\\x1b[2K\\u{202e}cod\\xff"), "{told}");
    assert_eq!((&told["containers"][0]["name"], &told["containers"][0]["processes"]), (&"orders-db".into(), &1.into()));
    assert_eq!(told["users_total"], 2);
    assert_eq!((&told["disks"][0]["name"], &told["disks_total"]), (&"vda".into(), &1.into()));
    assert_eq!(told["networks"][0]["name"], "eth0");
    assert_eq!((&told["host"]["cpus"], &told["host"]["load"][0]), (&4.into(), &1.52.into()));
    assert!(told["host"]["pressure"]["cpu"]["some_permille"].as_u64().unwrap() > 0);

    let mut second = look().await;
    let again = events_until(&mut second, "activity").await.pop().unwrap().1;
    assert!(again["interval_ms"].as_u64().unwrap() > 0);
    assert!(console.state.activity().is_running());
    drop((first, second));
    tokio::time::timeout(Duration::from_secs(30), async {
        while console.state.activity().is_running() {
            tokio::task::yield_now().await;
        }
    })
    .await
    .expect("it ends when nobody looks");
    let mut later = look().await;
    events_until(&mut later, "activity").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_process_is_told_with_what_it_has_open() {
    let console = console(simulated("")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let open = console.get("/api/processes/1533/files?started=100", &operator).await.json();
    assert_eq!((&open["comm"], &open["directory"], &open["cut"]), (&"java".into(), &"/srv".into(), &false.into()));
    let files: Vec<_> = open["files"].as_array().unwrap().iter().map(|file| (&file["kind"], &file["name"])).collect();
    assert_eq!(files[0], (&"file".into(), &"/dev/null".into()));
    assert_eq!(files[3], (&"socket".into(), &"TCP 127.0.0.1:8080 listens".into()));
    let another = console.get("/api/processes/1533/files?started=101", &operator).await;
    assert_eq!((another.status.as_u16(), another.text().contains("has ended")), (404, true), "{}", another.text());
    assert_eq!(console.get("/api/processes/77/files", &operator).await.status, 404);
    assert_eq!(console.get("/api/processes/x/files", &operator).await.status, 404);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_agent_it_is_told_why_nothing_is_known() {
    let console = Console::with_link(AgentLink::new(no_agent).unwrap()).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let mut stream = console.send(own_page("GET", "/api/busy", Some(&operator), None)).await.into_body();
    let told = events_until(&mut stream, "absent").await.pop().unwrap().1;
    assert!(told["why"].as_str().unwrap().contains("the agent cannot be reached"), "{told}");
}
