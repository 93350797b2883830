//! Rows, rates and files of a stored capture, and their limits.

use bathyscope_store::{Role, Store, StoreError};

use serde_json::Value;

use super::harness::Console;

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_filtered_sorted_and_paged() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 1000).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let path =
        format!("/api/captures/{id}/rows?stream=0&filter=pid%3D%3D101&sort=next_pid&order=desc&limit=2&offset=1");
    let page = console.get(&path, &viewer).await.json();
    assert_eq!((&page["total"], &page["matched"], &page["offset"]), (&1000.into(), &333.into(), &1.into()));
    let rows = page["rows"].as_array().unwrap();
    assert_eq!(rows.iter().map(|row| row[5].as_i64().unwrap()).collect::<Vec<_>>(), [994, 991]);
    assert_eq!(rows[0][0], 994_000, "times are relative");
    let names: Vec<_> = page["columns"].as_array().unwrap().iter().map(|column| column["name"].clone()).collect();
    assert_eq!(names, ["time", "cpu", "pid", "tid", "comm", "next_pid"]);
    let text = console.get(&format!("/api/captures/{id}/rows?filter=marker-comm&limit=1"), &viewer).await.json();
    assert_eq!(text["matched"], 500);
    let hostile = console.get(&format!("/api/captures/{id}/rows?limit=2"), &viewer).await.json();
    assert_eq!(hostile["rows"][1][4], "other\\x1b[2K", "text is made visible");
}

#[tokio::test(flavor = "multi_thread")]
async fn values_of_columns_are_counted_under_the_filter() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 1000).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let ask = async |query: &str| console.get(&format!("/api/captures/{id}/facets?{query}"), &viewer).await.json();
    let all = ask("").await;
    let names: Vec<_> = all["facets"].as_array().unwrap().iter().map(|facet| facet["column"]["name"].clone()).collect();
    assert_eq!(names, ["cpu", "pid", "tid", "comm", "next_pid"]);
    let comm = &all["facets"][3];
    assert_eq!((&comm["distinct"], &comm["values"][0]["rows"]), (&2.into(), &500.into()), "{comm:#}");
    let some = ask("columns=pid,comm&filter=comm+contains+%22marker%22&search=marker").await;
    assert_eq!((&some["rows"], &some["looked_at"], &some["total"]), (&500.into(), &1000.into(), &1000.into()));
    let values = some["facets"][1]["values"].as_array().unwrap();
    assert_eq!((values.len(), &values[0]["literal"]), (1, &"\"marker-comm\"".into()), "{values:?}");
    assert_eq!(some["facets"][0]["found"], 0, "no process is called so");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_grouped_sorted_by_several_columns_and_told_of_their_neighbours() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 1000).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let ask = async |path: &str| console.get(&format!("/api/captures/{id}/{path}"), &viewer).await.json();
    let pivot = ask("pivot?by=comm&values=count,max:next_pid,p50:next_pid&bins=10").await;
    assert_eq!((&pivot["rows"], &pivot["groups"]), (&1000.into(), &2.into()));
    let names: Vec<_> = pivot["columns"].as_array().unwrap().iter().map(|column| column["name"].clone()).collect();
    assert_eq!(names, ["comm", "rows", "max(next_pid)", "p50(next_pid)"]);
    let line = &pivot["lines"].as_array().unwrap().iter().find(|line| line["cells"][0] == "marker-comm").unwrap();
    assert_eq!(line["cells"][1], 500);
    assert_eq!(line["condition"], "comm == \"marker-comm\"");
    assert_eq!(pivot["series"]["lines"][0].as_array().unwrap().len(), 10);
    let sorted = ask("rows?sort=comm&order=desc&then=-next_pid&limit=2").await;
    let rows = sorted["rows"].as_array().unwrap();
    assert!(rows[0][5].as_i64().unwrap() > rows[1][5].as_i64().unwrap(), "{rows:?}");
    let pairs = ask("rows?pairs=comm&neighbours=next_pid&limit=1&offset=10").await;
    let names: Vec<_> =
        pairs["columns"].as_array().unwrap().iter().skip(6).map(|column| column["name"].clone()).collect();
    assert_eq!(names, ["since_previous", "until_next", "previous next_pid", "next next_pid"]);
    let row = &pairs["rows"][0];
    assert_eq!([&row[6], &row[7], &row[8], &row[9]].map(|cell| cell.as_i64().unwrap()), [2000, 2000, 8, 12]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_is_read_whole_as_it_is_seen_and_its_places_have_times() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 1000).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let get = async |path: &str| console.get(&format!("/api/captures/{id}/{path}"), &viewer).await;
    let seen = "filter=comm+contains+%22marker%22&sort=next_pid&order=desc&pairs=comm";
    let file = get(&format!("export?format=rows&{seen}")).await;
    let lines: Vec<Value> = file.text().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let page = get(&format!("rows?{seen}&limit=1000")).await.json();
    assert_eq!(&lines[0], &page["columns"]);
    assert_eq!(lines[1..], page["rows"].as_array().unwrap()[..], "all rows as in the table");
    assert_eq!(lines.len(), 501);
    let times = get("rows/times?marks=5").await.json();
    assert_eq!((&times["matched"], times["times"].as_array().unwrap().len()), (&1000.into(), 5));
    assert_eq!((&times["times"][0], &times["times"][4]), (&0.into(), &999_000.into()), "{times}");
    let back = get("rows/times?marks=5&sort=time&order=desc").await.json();
    assert_eq!(back["times"][0], 999_000);
    assert_eq!(get("rows/times?sort=comm").await.json()["times"].as_array().unwrap().len(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_are_relative_and_rates_add_up() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 1000).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let rate = console.get(&format!("/api/captures/{id}/rate?start=100000&end=200000&bins=10"), &viewer).await.json();
    let counts: Vec<u64> = serde_json::from_value(rate["streams"][0]["counts"].clone()).unwrap();
    let (start, end) = (rate["start"].as_i64().unwrap(), rate["end"].as_i64().unwrap());
    // Bins are a power of two nanoseconds long; rows outside of the range are in none of them.
    assert_eq!((end - start, counts.len()), (16_384 * 7, 7), "{rate:#}");
    assert!(start <= 100_000 && end >= 200_000, "{rate:#}");
    assert_eq!(counts.iter().sum::<u64>(), 100);
    let timeline = console.get(&format!("/api/captures/{id}/timeline?width=100&group=cpu"), &viewer).await;
    assert_eq!(timeline.body.get(..4).unwrap(), b"BTL1");
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_found_in_all_of_a_capture_and_walked() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 1000).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let ask = async |path: String| console.get(&format!("/api/captures/{id}/{path}"), &viewer).await.json();
    let found = ask("find?find=MARKER-comm&columns=10".to_owned()).await;
    assert_eq!(
        (&found["streams"][0]["rows"], &found["rows"], &found["next"]),
        (&500.into(), &1000.into(), &Value::Null)
    );
    assert_eq!(found["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).sum::<u64>(), 500);
    let first = ask("find/step?find=next_pid%3D%3D7&columns=10".to_owned()).await["row"].clone();
    assert_eq!((&first["time"], &first["row"], &first["fields"]["cells"][5]), (&7000.into(), &7.into(), &7.into()));
    let step = "find/step?find=marker-comm&from=7000&stream=0&row=7";
    let (next, back) = (ask(step.to_owned()).await, ask(format!("{step}&back=1")).await);
    assert!(next["row"]["row"].as_u64().unwrap() > 7 && back["row"]["row"].as_u64().unwrap() < 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_wrong_with_a_query_is_said() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 10).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    for (query, word) in [
        ("rows?stream=7", "stream 7"),
        ("rows?sort=nope", "nope"),
        ("rows?filter=pid+%3D%3D", "character"),
        ("rows?filter=comm+matches+'('", "no regular expression"),
        ("rows?filter=has+stack+frame+'x'", "no column `stack`"),
        ("rows?filter=pid+in+(1", "after a value"),
        ("rows?then=nope", "nope"),
        ("rows/times?marks=1", "marks"),
        ("export?format=rows&sort=nope", "nope"),
        ("rows?sort=since_previous", "since_previous"),
        ("rows?pairs=nope", "nope"),
        ("pivot?by=nope", "nope"),
        ("pivot?values=median:pid", "median"),
        ("pivot?values=sum:comm", "text"),
        ("facets?columns=nope", "nope"),
        ("facets?limit=0", "values"),
        ("rows?start=soon", "start"),
        ("rows?order=sideways", "order"),
        ("rate?bins=1000000", "bins"),
        ("timeline?width=0", "width"),
        ("flame", "stack"),
        ("find?find=+", "nothing to look for"),
        ("find?find=nope%3D%3D1", "nope"),
        ("find/step?find=a&columns=9999", "columns"),
        ("export?format=exe", "format"),
        ("export?format=folded", "stack"),
    ] {
        let answer = console.get(&format!("/api/captures/{id}/{query}"), &viewer).await;
        assert_eq!(answer.status, 400, "{query}: {}", answer.text());
        let error = &answer.json()["error"];
        let said = format!("{} {}", error["doing"], error["why"]);
        assert!(said.to_lowercase().contains(word), "{query}: {said}");
        assert_eq!(error["request_id"], answer.header("x-request-id"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_capture_goes_out_and_comes_back() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 100).await;
    let viewer = console.cookie("v", Role::Viewer).await;
    let file = console.get(&format!("/api/captures/{id}/export?format=bathy"), &viewer).await.body;
    let elsewhere = Console::new().await;
    assert_eq!(elsewhere.store.import_bytes(&file, "importer", 0).await.unwrap(), id);
    let cookie = elsewhere.cookie("v", Role::Viewer).await;
    let shown = elsewhere.get(&format!("/api/captures/{id}"), &cookie).await.json();
    assert_eq!((&shown["imported"], &shown["streams"][0]["rows"]), (&true.into(), &100.into()));
    let csv = elsewhere.get(&format!("/api/captures/{id}/export?format=csv"), &cookie).await;
    assert_eq!(csv.text().lines().count(), 101);
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_are_paged_and_searched() {
    let console = Console::new().await;
    for rows in 1..=5 {
        console.capture(&format!("capture number {rows}"), "somebody", rows).await;
    }
    let viewer = console.cookie("v", Role::Viewer).await;
    let page = console.get("/api/captures?limit=2&offset=1", &viewer).await.json();
    assert_eq!((&page["total"], page["items"].as_array().unwrap().len()), (&5.into(), 2));
    let found = console.get("/api/captures?q=number+3", &viewer).await.json();
    assert_eq!(found["items"][0]["title"], "capture number 3");
    assert_eq!(found["total"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_database_can_be_read_beside_the_console() {
    let console = Console::new().await;
    let id = console.capture("a capture", "somebody", 10).await;
    let beside = Store::open_read_only(console.dir.path()).await.unwrap();
    assert_eq!(beside.capture(id).await.unwrap().title, "a capture");
    assert!(matches!(beside.rename(id, "other").await, Err(StoreError::Closed)));
    console.store.rename(id, "other").await.unwrap();
    assert_eq!(beside.capture(id).await.unwrap().title, "other");
    let empty = tempfile::tempdir().unwrap();
    assert!(Store::open_read_only(empty.path()).await.is_err());
    assert_eq!(std::fs::read_dir(empty.path()).unwrap().count(), 0, "nothing is made");
}
