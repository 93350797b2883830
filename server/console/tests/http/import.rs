//! Files from the browser: imported whole or not at all, read by a process without rights.

use std::{
    io,
    os::fd::{AsFd as _, OwnedFd},
    process::{Command, Stdio},
    time::Duration,
};

use axum::body::{Body, Bytes};
use bathyscope_store::Role;
use http::{Request, StatusCode, header};

use super::harness::{Answer, Console, HOST};

const PATH: &str = "/api/captures/import?name=from%20elsewhere.bathy";

fn post(cookie: &str, body: Body) -> Request<Body> {
    Request::post(PATH)
        .header(header::HOST, HOST)
        .header("sec-fetch-site", "same-origin")
        .header(header::COOKIE, cookie)
        .header(header::CONTENT_TYPE, "application/octet-stream")
        .body(body)
        .unwrap()
}

async fn import(console: &Console, cookie: &str, file: impl Into<Bytes>) -> Answer {
    Answer::of(console.send(post(cookie, Body::from(file.into()))).await).await
}

/// Has this program read files in a process of its own, which ends with the other end of the socket.
pub fn start_reader(socket: OwnedFd) -> io::Result<()> {
    let mut command = Command::new(std::env::current_exe()?);
    // One thread, so that the test runs on the first one of the process: a child of it is a copy of that thread.
    command.args(["--exact", "import::reads_files_for_another_test", "--ignored", "--test-threads=1"]);
    command.stdin(Stdio::from(socket)).stdout(Stdio::null()).spawn().map(drop)
}

#[test]
#[ignore = "started by others of this file"]
fn reads_files_for_another_test() {
    let console = io::stdin().as_fd().try_clone_to_owned().unwrap();
    bathyscope_console::import::serve_reader(console).unwrap();
}

/// A capture as a file.
async fn file() -> Vec<u8> {
    let console = Console::new().await;
    let id = console.capture("from elsewhere", "somebody", 500).await;
    let admin = console.cookie("root", Role::Admin).await;
    let answer = console.get(&format!("/api/captures/{id}/export?format=bathy"), &admin).await;
    assert_eq!(answer.status, 200);
    answer.body
}

async fn captures(console: &Console, cookie: &str) -> u64 {
    console.get("/api/captures", cookie).await.json()["total"].as_u64().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_becomes_a_capture_of_whoever_brings_it() {
    let (console, file) = (Console::importing().await, file().await);
    let operator = console.cookie("alice", Role::Operator).await;
    let answer = import(&console, &operator, file.clone()).await;
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text());
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(answer.json()["url"], format!("/captures/{id}"));
    let capture = console.get(&format!("/api/captures/{id}"), &operator).await.json();
    assert_eq!((capture["title"].as_str(), capture["owner"].as_str()), (Some("from elsewhere"), Some("alice")));
    let rows = console.get(&format!("/api/captures/{id}/rows?stream=0&limit=10"), &operator).await.json();
    assert_eq!(rows["rows"].as_array().unwrap().len(), 10);
    let admin = console.cookie("root", Role::Admin).await;
    let audit = console.get("/api/audit", &admin).await.text().to_owned();
    assert!(audit.contains("capture.import") && audit.contains("from elsewhere.bathy"), "{audit}");
    // The same file again is the same capture.
    assert_eq!(import(&console, &operator, file).await.json()["id"], id.as_str());
    assert_eq!(captures(&console, &operator).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_or_hostile_file_stores_nothing_and_says_why() {
    let (console, file) = (Console::importing().await, file().await);
    let operator = console.cookie("alice", Role::Operator).await;
    let flipped = |at: usize| {
        let mut file = file.clone();
        file[at] ^= 0x55;
        file
    };
    let mut cases = vec![
        (Vec::new(), "it is empty"),
        (b"hello".to_vec(), "its format is not known"),
        (b"PERFILE2 and so on, which is not a capture".to_vec(), "its format is not known"),
        (file[..100].to_vec(), ""),
        (file[..file.len() / 2].to_vec(), ""),
        ([b"SQLite format 3\0".to_vec(), vec![0xff; 100_000]].concat(), ""),
    ];
    // In the middle of pages; some bytes are of no page's content.
    cases.extend((1..8).map(|part| (flipped(file.len() * part / 8 + 100), "?")));
    let mut refused = 0;
    for (bytes, why) in cases {
        let length = bytes.len();
        let answer = import(&console, &operator, bytes).await;
        if why == "?" && answer.status == StatusCode::CREATED {
            continue;
        }
        refused += 1;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{length} bytes: {}", answer.text());
        let said = answer.json()["error"]["why"].as_str().unwrap().to_owned();
        assert!(!said.is_empty() && said.contains(why.trim_start_matches('?')), "{length} bytes: {said}");
    }
    assert!(refused >= 6, "{refused}");
    let stored = captures(&console, &operator).await;
    assert_eq!(import(&console, &operator, file).await.status, StatusCode::CREATED, "the reader is there");
    assert!(captures(&console, &operator).await >= stored);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_given_up_is_not_stored_and_does_not_hold_up_the_next() {
    let (console, file) = (Console::importing().await, file().await);
    let operator = console.cookie("alice", Role::Operator).await;
    // The file comes up to its middle, and then nothing more.
    let half = Bytes::from(file[..file.len() / 2].to_vec());
    let parts = futures_util::stream::unfold(Some(half), |half| async {
        match half {
            Some(half) => Some((Ok::<_, io::Error>(half), None)),
            None => std::future::pending().await,
        }
    });
    let waiting = console.send(post(&operator, Body::from_stream(parts)));
    assert!(tokio::time::timeout(Duration::from_millis(300), waiting).await.is_err(), "it waits for the rest");
    // Whoever goes away closes the connection: its body ends with an error.
    let broken = futures_util::stream::iter([
        Ok(Bytes::from(file[..file.len() / 2].to_vec())),
        Err(io::Error::from(io::ErrorKind::ConnectionReset)),
    ]);
    let answer = Answer::of(console.send(post(&operator, Body::from_stream(broken))).await).await;
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.text());
    assert_eq!(captures(&console, &operator).await, 0);
    assert_eq!(import(&console, &operator, file).await.status, StatusCode::CREATED, "the next has its turn at once");
}

#[tokio::test(flavor = "multi_thread")]
async fn only_own_pages_and_files_of_a_size_are_taken() {
    let console = Console::new().await;
    let operator = console.cookie("alice", Role::Operator).await;
    let mut foreign = post(&operator, Body::from("SQLite format 3\0"));
    foreign.headers_mut().insert("sec-fetch-site", "cross-site".parse().unwrap());
    assert_eq!(console.send(foreign).await.status(), StatusCode::FORBIDDEN);
    let mut large = post(&operator, Body::from("SQLite format 3\0"));
    large.headers_mut().insert(header::CONTENT_LENGTH, "999999999999".parse().unwrap());
    let answer = Answer::of(console.send(large).await).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(answer.text().contains("larger than 512 MiB"), "{}", answer.text());
    let answer = import(&console, &operator, &b"SQLite format 3\0"[..]).await;
    assert_eq!(answer.status, StatusCode::UNPROCESSABLE_ENTITY);
    assert!(answer.text().contains("captures import"), "{}", answer.text());
}
