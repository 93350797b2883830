//! Recipes of one's own: saved, listed beside those of the program, started as what is written out, and deleted.

use std::time::Duration;

use bathyscope_store::Role;
use serde_json::{Value, json};

use super::harness::{Answer, Console, simulated};

fn recipe(name: &str) -> Value {
    json!({
        "name": name, "question": "Why is it slow?", "of": "process", "opens": "flame",
        "limits": { "duration_ms": 5000, "max_events": 500 },
        "sources": [
            { "id": "on-cpu", "method": { "profile": { "frequency_hz": 99, "kernel_stacks": true, "user_stacks": true } } },
            { "id": "states", "method": { "states": {} }, "required": false },
        ],
    })
}

fn with(recipe: Value, parts: Value) -> Value {
    let mut recipe = recipe;
    recipe.as_object_mut().unwrap().extend(parts.as_object().unwrap().clone());
    recipe
}

async fn save(console: &Console, cookie: &str, recipe: &Value) -> Answer {
    console.ask("POST", "/api/recipes", Some(cookie), Some(&recipe.to_string())).await
}

async fn delete(console: &Console, cookie: &str, name: &str) -> u16 {
    console.ask("DELETE", &format!("/api/recipes/{name}"), Some(cookie), None).await.status.as_u16()
}

/// The recipe as somebody sees it in the list; null if it is not there.
async fn listed(console: &Console, cookie: &str, name: &str) -> Value {
    let all = console.get("/api/recipes", cookie).await.json();
    all["items"].as_array().unwrap().iter().find(|one| one["name"] == name).cloned().unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recipe_is_saved_listed_and_started_as_it_is_written() {
    let link = simulated("rate=2000");
    assert!(link.connected(Duration::from_secs(10)).await);
    let console = Console::with_link(link).await;
    let (alice, vera) = (console.cookie("alice", Role::Operator).await, console.cookie("vera", Role::Viewer).await);
    let before = console.get("/api/recipes", &alice).await.json()["items"].as_array().unwrap().clone();
    assert!(before.iter().all(|one| one["owner"].is_null() && one["can_delete"] == false), "{before:?}");
    let answer = save(&console, &alice, &recipe("slow")).await;
    assert_eq!(answer.status, 201, "{}", answer.text());
    let all = console.get("/api/recipes", &alice).await.json()["items"].as_array().unwrap().clone();
    assert_eq!(all[..before.len()], before[..], "those of the program stay first");
    let shown = all.last().unwrap();
    assert_eq!(*shown, answer.json());
    assert_eq!((&shown["owner"], &shown["can_delete"]), (&json!("alice"), &json!(true)), "{shown}");
    assert_eq!(listed(&console, &vera, "slow").await["can_delete"], false);
    for part in ["name", "question", "of", "opens"] {
        assert_eq!(shown[part], recipe("slow")[part], "{part}");
    }
    // As the form does it.
    let spec = json!({
        "name": shown["question"], "sources": shown["sources"], "limits": shown["limits"],
        "target": { "process": { "pid": 1, "children": true } },
    });
    let started = console.ask("POST", "/api/captures", Some(&alice), Some(&spec.to_string())).await;
    assert_eq!(started.status, 201, "{}", started.text());
    let capture =
        console.get(&format!("/api/captures/{}", started.json()["id"].as_str().unwrap()), &alice).await.json();
    assert_eq!((&capture["title"], &capture["spec"]["limits"]["max_events"]), (&json!("Why is it slow?"), &json!(500)));
    assert_eq!(capture["spec"]["sources"], shown["sources"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn p08_only_who_saved_a_recipe_and_admins_replace_and_delete_it() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    let (vera, admin) = (console.cookie("vera", Role::Viewer).await, console.cookie("root", Role::Admin).await);
    let hers = recipe("hers");
    let again = with(hers.clone(), json!({ "question": "Still?", "replace": true }));
    assert_eq!(save(&console, &vera, &hers).await.status, 404);
    assert_eq!(save(&console, &alice, &hers).await.status, 201);
    for (who, cookie, recipe, status, says) in [
        ("alice", &alice, &hers, 409, "already, saved by alice"),
        ("bob", &bob, &hers, 422, "is alice's"),
        ("bob", &bob, &again, 422, "is alice's"),
        ("root", &admin, &hers, 409, "already, saved by alice"),
    ] {
        let answer = save(&console, cookie, recipe).await;
        assert!(answer.status == status && answer.text().contains(says), "{who}: {}", answer.text());
    }
    assert_eq!(listed(&console, &bob, "hers").await["question"], "Why is it slow?");
    assert_eq!(save(&console, &alice, &again).await.status, 201);
    assert_eq!((delete(&console, &bob, "hers").await, delete(&console, &vera, "hers").await), (404, 404));
    assert_eq!(listed(&console, &bob, "hers").await["question"], "Still?");
    // What an admin writes is the admin's, and no longer hers to delete.
    assert_eq!(save(&console, &admin, &again).await.status, 201);
    assert_eq!(listed(&console, &alice, "hers").await["owner"], "root");
    assert_eq!(delete(&console, &alice, "hers").await, 404);
    assert_eq!(save(&console, &bob, &recipe("his")).await.status, 201);
    assert_eq!((delete(&console, &admin, "his").await, delete(&console, &admin, "hers").await), (204, 204));
    assert_eq!(delete(&console, &admin, "hers").await, 404, "it is gone");
    assert_eq!(delete(&console, &admin, "disk").await, 400, "it comes with the program");
    assert_eq!(listed(&console, &admin, "disk").await["owner"], Value::Null);
    let audit = console.get("/api/audit", &admin).await.json();
    let entries = audit["items"].as_array().unwrap();
    let told: Vec<String> = entries
        .iter()
        .filter(|one| one["action"].as_str().unwrap().starts_with("recipe."))
        .map(|one| format!("{} {} {}", one["user"].as_str().unwrap(), one["action"].as_str().unwrap(), one["object"]))
        .collect();
    let expected = [
        "root recipe.delete \"hers\"",
        "root recipe.delete \"his\"",
        "bob recipe.save \"his\"",
        "root recipe.save \"hers\"",
        "alice recipe.save \"hers\"",
        "alice recipe.save \"hers\"",
    ];
    assert_eq!(told, expected);
    let details: String = entries.iter().filter_map(|one| one["detail"].as_str()).collect();
    assert!(details.contains("replaces that of alice; sources on-cpu, states"), "{details}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recipe_gives_nobody_more_rights_than_its_parts_have() {
    let console = Console::new().await;
    let (operator, admin) = (console.cookie("alice", Role::Operator).await, console.cookie("root", Role::Admin).await);
    let of = |method: Value| with(recipe("mine"), json!({ "sources": [{ "id": "one", "method": method }] }));
    let script = json!({ "script": { "text": "begin { exit(); }" } });
    let unsafe_script = json!({ "script": { "text": "begin { system(\"id\"); }", "allow_unsafe": true } });
    let probes = json!({ "trace": { "dynamic": [{ "typed": "do_sys_openat2 filename:string" }] } });
    for method in [&script, &unsafe_script, &probes] {
        let answer = save(&console, &operator, &of(method.clone())).await;
        assert!(answer.status == 422 && answer.text().contains("only admins"), "{method}: {}", answer.text());
    }
    let answer = save(&console, &admin, &of(unsafe_script)).await;
    assert!(answer.status == 422 && answer.text().contains("switched off"), "{}", answer.text());
    assert_eq!(save(&console, &admin, &of(script)).await.status, 201);
    // An operator reads it, and may start what it holds no more than if it were typed.
    let shown = listed(&console, &operator, "mine").await;
    let spec = json!({ "sources": shown["sources"], "limits": shown["limits"], "target": "system" }).to_string();
    let answer = console.ask("POST", "/api/captures", Some(&operator), Some(&spec)).await;
    assert!(answer.status == 422 && answer.text().contains("only admins"), "{}", answer.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn p14_what_cannot_be_a_recipe_is_refused_in_words() {
    let console = Console::new().await;
    let alice = console.cookie("alice", Role::Operator).await;
    let event = json!([{ "id": "c", "method": { "count": { "groups": [["cylces"]] } } }]);
    let large: Vec<Value> = (0..16)
        .map(|n| {
            json!({ "id": format!("s{n}"), "method": { "events": { "probes": [{
            "tracepoint": "a:b", "fields": [], "predicate": format!("comm == \"{}\"", "x".repeat(8000)) }] } } })
        })
        .collect();
    let mut cases = vec![
        (json!({ "name": "disk" }), 400, "comes with the program"),
        (json!({ "question": "Why\nnot?" }), 400, "line break"),
        (json!({ "question": "?".repeat(300) }), 400, "name in bytes is 300"),
        (json!({ "sources": [] }), 400, "number of sources"),
        (json!({ "sources": event }), 400, "did you mean `cycles`?"),
        (json!({ "limits": { "duration_ms": 0 } }), 400, "must be from"),
        (json!({ "target": "system" }), 400, "unknown field `target`"),
        (json!({ "owner": "bob" }), 400, "unknown field `owner`"),
        (json!({ "opens": "shell" }), 400, "unknown variant"),
        (json!({ "sources": large }), 413, "larger than 64 KiB"),
    ];
    let names = ["", "-a", "A", "a b", "../a", "<script>alert(1)</script>", "a\u{202e}b", "a%2fb", &"n".repeat(65)];
    cases.extend(names.iter().map(|name| (json!({ "name": name }), 400, "cannot be the name of a recipe")));
    for (parts, status, says) in cases {
        let answer = save(&console, &alice, &with(recipe("mine"), parts.clone())).await;
        let text = answer.text();
        assert!(
            answer.status == status && text.contains(says),
            "{}: {} {text}",
            parts.to_string().len(),
            answer.status
        );
    }
    assert_eq!(console.get("/api/recipes", &alice).await.json()["items"].as_array().unwrap().len(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn p14_one_user_s_recipes_are_limited_and_leave_others_theirs() {
    let console = Console::new().await;
    let (alice, bob) = (console.cookie("alice", Role::Operator).await, console.cookie("bob", Role::Operator).await);
    for number in 0..100 {
        assert_eq!(save(&console, &alice, &recipe(&format!("n{number}"))).await.status, 201, "{number}");
    }
    let answer = save(&console, &alice, &recipe("more")).await;
    assert!(answer.status == 400 && answer.text().contains("at most 100"), "{}", answer.text());
    assert_eq!(save(&console, &bob, &recipe("more")).await.status, 201);
    assert_eq!(delete(&console, &alice, "n7").await, 204);
    assert_eq!(save(&console, &alice, &recipe("another")).await.status, 201);
}

#[tokio::test(flavor = "multi_thread")]
async fn p12_the_question_of_a_recipe_is_text_and_no_page_has_it_as_markup() {
    let console = Console::new().await;
    let alice = console.cookie("alice", Role::Operator).await;
    let hostile = "</script><img src=x onerror=alert(1)>";
    assert_eq!(save(&console, &alice, &with(recipe("mine"), json!({ "question": hostile }))).await.status, 201);
    assert_eq!(listed(&console, &alice, "mine").await["question"], hostile);
    let answer = console.get("/api/recipes", &alice).await;
    assert_eq!(answer.header("content-type"), "application/json");
    for page in ["/", "/new?recipe=mine"] {
        let answer = console.get(page, &alice).await;
        assert!(answer.status == 200 && !answer.text().contains("onerror"), "{page}");
    }
}
