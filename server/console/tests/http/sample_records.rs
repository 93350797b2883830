//! Memory and branch records of samples, from the simulated agent to the API.

use bathyscope_capture::CaptureId;
use bathyscope_store::Role;
use serde_json::{Value, json};

use super::harness::{Console, simulated};

/// Branches of each made sample.
const BRANCHES: u64 = 8;

fn profile(more: Value) -> Value {
    let mut profile = json!({"frequency_hz": 999, "kernel_stacks": true, "user_stacks": true});
    profile.as_object_mut().unwrap().append(&mut more.as_object().unwrap().clone());
    let limits = json!({"duration_ms": 300, "budget_cpu_permille": 50});
    json!({"method": {"profile": profile}, "target": "system", "limits": limits})
}

async fn made(options: &str, more: Value) -> (Console, String, CaptureId, Value) {
    let link = simulated(options);
    assert!(link.connected(std::time::Duration::from_secs(10)).await);
    let console = Console::with_link(link).await;
    let operator = console.cookie("alice", Role::Operator).await;
    let answer = console.ask("POST", "/api/captures", Some(&operator), Some(&profile(more).to_string())).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let id: CaptureId = answer.json()["id"].as_str().unwrap().parse().unwrap();
    console.state.recorder().wait(id).await;
    let capture = console.get(&format!("/api/captures/{id}"), &operator).await.json();
    (console, operator, id, capture)
}

/// `emitted`, `stored`, and losses of a stream.
fn accounting(capture: &Value, stream: usize) -> (u64, u64, u64) {
    let totals = &capture["ledger"]["streams"][stream];
    let losses = capture["ledger"]["losses"].as_array().unwrap().iter();
    let of_stream = losses.filter(|loss| loss["stream"] == stream).filter_map(|loss| loss["count"].as_u64());
    let number = |name: &str| totals[name].as_u64().unwrap();
    assert_eq!(number("hits"), number("filtered") + number("emitted"), "{totals}");
    (number("emitted"), number("stored"), of_stream.sum())
}

async fn ask(console: &Console, cookie: &str, id: CaptureId, sql: &str) -> Vec<Value> {
    let body = json!({"sql": sql}).to_string();
    let answer = console.ask("POST", &format!("/api/captures/{id}/query"), Some(cookie), Some(&body)).await;
    assert_eq!(answer.status, 200, "{sql}: {}", answer.text());
    answer.json()["rows"].as_array().unwrap().clone()
}

#[tokio::test(flavor = "multi_thread")]
async fn p28_branches_are_rows_of_their_own_and_the_ledger_balances() {
    let asked = json!({"memory": true, "branches": ["any", "save_type"]});
    let (console, operator, id, capture) = made("lose_every=7", asked.clone()).await;
    assert_eq!(capture["state"], "finished", "{capture}");
    let spec = &capture["spec"]["sources"][0]["method"]["profile"];
    assert_eq!((&spec["memory"], &spec["branches"]), (&asked["memory"], &asked["branches"]));
    let names = |stream: usize| -> Vec<&str> {
        let columns = capture["streams"][stream]["columns"].as_array().unwrap();
        columns.iter().skip(5).map(|column| column["name"].as_str().unwrap()).collect()
    };
    assert_eq!(
        (names(0).join(" "), names(1).join(" ")),
        (
            "stack addr mapping access level snoop tlb locked blocked weight ins_lat retire_lat data_src sample"
                .to_owned(),
            "sample index from to mispredicted predicted in_tx abort cycles kind spec".to_owned()
        )
    );
    let ((emitted, samples, lost), (branch_rows, branches, none)) = (accounting(&capture, 0), accounting(&capture, 1));
    assert!(lost > 0 && samples > 50, "{}", capture["ledger"]);
    assert_eq!(emitted, samples + lost);
    // Of samples that were lost nobody knows the branches: what was lost is the sample.
    assert_eq!((branch_rows, branches, none), (samples * BRANCHES, samples * BRANCHES, 0));
    let numbered = ask(
        &console,
        &operator,
        id,
        "select count(distinct sample), min(n), max(n), max(span) from (select sample, count(*) as n, \
         max(\"index\") - min(\"index\") as span from branches group by sample, time, cpu, pid, tid)",
    );
    assert_eq!(numbered.await, [json!([samples, BRANCHES, BRANCHES, BRANCHES - 1])]);
    let joined =
        "select count(*) from branches b join cycles s on s.sample = b.sample and s.time = b.time and s.tid = b.tid";
    assert_eq!(ask(&console, &operator, id, joined).await, [json!([samples * BRANCHES])]);
    let kinds = ask(&console, &operator, id, "select distinct kind from branches order by 1").await;
    assert_eq!(kinds, ["call", "cond", "ind", "ind_call", "ret", "uncond"].map(|kind| json!([kind])));
    let examples = console.get(&format!("/api/captures/{id}/query"), &operator).await.json();
    for example in examples["examples"].as_array().unwrap() {
        ask(&console, &operator, id, example["sql"].as_str().unwrap()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn accesses_to_memory_can_be_filtered_and_leave_the_profile_as_it_is() {
    let (console, operator, id, capture) = made("", json!({"memory": true})).await;
    let (_, samples, _) = accounting(&capture, 0);
    assert_eq!(capture["streams"].as_array().unwrap().len(), 1);
    let rows = |filter: &str| format!("/api/captures/{id}/rows?stream=0&limit=3&filter={filter}");
    let page = console.get(&rows("level%20%3D%3D%20%22Local%20RAM%20hit%22"), &operator).await.json();
    let total = page["matched"].as_u64().unwrap();
    assert!(total > 0 && total < samples, "{page}");
    let counted = "select count(*), min(addr), min(mapping), min(access), max(locked) from \"cpu-clock\" where level = 'Local RAM hit'";
    let counted = ask(&console, &operator, id, counted).await;
    assert_eq!((&counted[0][0], &counted[0][3], &counted[0][4]), (&json!(total), &json!("load"), &json!("No")));
    assert_eq!(counted[0][2], "[heap]");
    let untold =
        ask(&console, &operator, id, "select sum(weight), count(*) from \"cpu-clock\" where access = 'N/A'").await;
    assert_eq!(untold[0][0], 0);
    assert!(untold[0][1].as_u64().unwrap() > 0, "{untold:?}");
    // The flame graph, and the files of other tools, are those of any profile.
    let flame = console.get(&format!("/api/captures/{id}/flame?width=1000"), &operator).await.json();
    assert_eq!(flame["total"], samples);
    let folded = console.get(&format!("/api/captures/{id}/export?format=folded"), &operator).await;
    let counts = folded.text().lines().map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(counts.sum::<u64>(), samples);
    // A link to a view keeps both: it is the capture's.
    let script = console.get(&format!("/api/captures/{id}/export?format=csv&stream=0"), &operator).await;
    assert!(script.text().lines().next().unwrap().contains("addr,mapping,access,level"), "{}", &script.text()[..200]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_together_is_refused() {
    let console = Console::with_link(simulated("")).await;
    let operator = console.cookie("alice", Role::Operator).await;
    for (more, expected) in [
        (json!({"branches": ["any"], "call_graph": "lbr"}), "one record of branches"),
        (json!({"branches": ["some"]}), "some"),
        (json!({"branches": vec!["u"; 15]}), "words of the branch filter"),
    ] {
        let spec = profile(more).to_string();
        let answer = console.ask("POST", "/api/captures", Some(&operator), Some(&spec)).await;
        assert!((400..500).contains(&answer.status.as_u16()), "{spec}: {}", answer.text());
        assert!(answer.text().contains(expected), "{spec}: {}", answer.text());
    }
}
