//! P14: limits. P15: slow clients. P70: nobody is locked out. They go through the real listener.

use std::{net::SocketAddr, time::Duration};

use bathyscope_console::http::{ListenLimits, serve};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use super::harness::{Console, HOST};

struct Listening {
    console: Console,
    address: SocketAddr,
}

impl Listening {
    async fn new(limits: ListenLimits) -> Self {
        let console = Console::new().await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve((listener, None), console.state.clone(), limits, console.stop.clone()));
        Self { console, address }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// What comes back for these bytes until the other side closes.
    async fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        everything(stream).await
    }

    async fn is_well(&self) -> bool {
        let request = format!("GET /healthz HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n\r\n");
        self.exchange(request.as_bytes()).await.ends_with("\r\n\r\nok")
    }
}

async fn everything(mut stream: TcpStream) -> String {
    let mut all = Vec::new();
    // A connection that is cut may end in a reset.
    let _cut = stream.read_to_end(&mut all).await;
    String::from_utf8_lossy(&all).into_owned()
}

fn head_of(bytes: usize) -> Vec<u8> {
    let start = format!("GET /healthz HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\nx: ");
    let filler = "y".repeat(bytes - start.len() - 4);
    format!("{start}{filler}\r\n\r\n").into_bytes()
}

#[tokio::test(flavor = "multi_thread")]
async fn p14_heads_are_limited() {
    let listening = Listening::new(ListenLimits::default()).await;
    assert!(listening.exchange(&head_of((16 << 10) - 1)).await.starts_with("HTTP/1.1 200"));
    assert!(!listening.exchange(&head_of((16 << 10) + 4096)).await.starts_with("HTTP/1.1 200"));
    let many: String = (0..200).map(|number| format!("x-{number}: y\r\n")).collect();
    let request = format!("GET /healthz HTTP/1.1\r\nhost: {HOST}\r\n{many}\r\n");
    assert!(!listening.exchange(request.as_bytes()).await.starts_with("HTTP/1.1 200"));
    assert!(listening.is_well().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn p14_bodies_are_limited_also_in_chunks() {
    let listening = Listening::new(ListenLimits::default()).await;
    for (bytes, status) in [(64 << 10, "400"), ((64 << 10) + 1, "413")] {
        let body = "z".repeat(bytes);
        let head = format!(
            "POST /login HTTP/1.1\r\nhost: {HOST}\r\nsec-fetch-site: same-origin\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\n"
        );
        let whole = format!("{head}content-length: {bytes}\r\n\r\n{body}");
        let answer = listening.exchange(whole.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
        let chunked = format!("{head}transfer-encoding: chunked\r\n\r\n{bytes:x}\r\n{body}\r\n0\r\n\r\n");
        let answer = listening.exchange(chunked.as_bytes()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p01_hosts_are_checked_on_the_wire() {
    let listening = Listening::new(ListenLimits::default()).await;
    for head in [
        "GET / HTTP/1.1\r\nhost: attacker.example\r\nconnection: close\r\n\r\n".to_owned(),
        "GET / HTTP/1.1\r\nconnection: close\r\n\r\n".to_owned(),
        "GET / HTTP/1.0\r\n\r\n".to_owned(),
        format!("GET / HTTP/1.1\r\nhost: {HOST}\r\nhost: {HOST}\r\nconnection: close\r\n\r\n"),
        format!("GET http://attacker.example/ HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n\r\n"),
        format!("CONNECT attacker.example:443 HTTP/1.1\r\nhost: {HOST}\r\nconnection: close\r\n\r\n"),
    ] {
        let answer = listening.exchange(head.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 421") || answer.starts_with("HTTP/1.0 421"), "{head}: {answer}");
        assert!(answer.ends_with("\r\n\r\n"), "the body is empty: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p15_slow_heads_are_cut_and_others_do_not_wait() {
    let head_timeout = Duration::from_millis(300);
    let limits = ListenLimits { head_timeout, per_source: 40, ..ListenLimits::default() };
    let listening = Listening::new(limits).await;
    let mut slow = Vec::new();
    for _ in 0..39 {
        let mut stream = listening.connect().await;
        stream.write_all(b"GET / HTTP/1.1\r\nhost: ").await.unwrap();
        slow.push(stream);
    }
    assert!(listening.is_well().await, "one place is left");
    for stream in slow {
        let cut = tokio::time::timeout(Duration::from_secs(10), everything(stream)).await;
        assert!(cut.is_ok(), "a half-open head is held for ever");
    }
    assert!(listening.is_well().await);
}

/// A connection on which a request was begun and not ended.
async fn half_open(listening: &Listening) -> TcpStream {
    let mut stream = listening.connect().await;
    stream.write_all(b"GET ").await.unwrap();
    stream
}

#[tokio::test(flavor = "multi_thread")]
async fn p15_of_connections_beyond_the_limit_the_oldest_is_closed_at_once() {
    let listening = Listening::new(ListenLimits { per_source: 2, ..ListenLimits::default() }).await;
    let (first, second) = (half_open(&listening).await, half_open(&listening).await);
    let third = half_open(&listening).await;
    let closed = tokio::time::timeout(Duration::from_secs(5), everything(first)).await;
    assert_eq!(closed.expect("the oldest has no place any more"), "");
    assert!(listening.is_well().await, "the fourth is answered in place of the second");
    drop((second, third));
}

/// Asks on a connection that stays open; gives the answer's head.
async fn ask_on(stream: &mut TcpStream, cookie: &str) -> std::io::Result<String> {
    let request = format!("GET /api/audit HTTP/1.1\r\nhost: {HOST}\r\ncookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"}") {
        if stream.read_buf(&mut answer).await? == 0 {
            break;
        }
    }
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn p70_nobody_on_this_host_locks_out_whoever_has_a_token_or_a_session() {
    let listening = Listening::new(ListenLimits::default()).await;
    let login = async |token: &str| {
        let body = format!("token={token}");
        let request = format!(
            "POST /login HTTP/1.1\r\nhost: {HOST}\r\nsec-fetch-site: same-origin\r\nconnection: close\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        listening.exchange(request.as_bytes()).await
    };
    // As an attacker on the same host: wrong tokens of every look, until the source and all together are limited.
    let mut refused = 0;
    for attempt in 0..80 {
        let token = if attempt % 2 == 0 { "wrong".to_owned() } else { format!("{attempt:064x}") };
        let answer = login(&token).await;
        assert!(answer.starts_with("HTTP/1.1 401") || answer.starts_with("HTTP/1.1 429"), "{answer}");
        refused += usize::from(answer.starts_with("HTTP/1.1 429"));
    }
    assert!(refused >= 60, "attempts that fail stay limited: {refused}");
    let sessions = listening.console.state.sessions();
    let token = sessions.login_token("operator", bathyscope_store::Role::Admin).await.unwrap();
    let answer = login(token.reveal()).await;
    assert!(answer.starts_with("HTTP/1.1 303"), "a token that is valid is refused: {answer}");
    let cookie = answer.split("set-cookie: ").nth(1).and_then(|rest| rest.split(';').next()).unwrap().to_owned();

    let mut open = listening.connect().await;
    assert!(ask_on(&mut open, &cookie).await.unwrap().starts_with("HTTP/1.1 200"));
    let mut half_open_ones = Vec::new();
    for round in 0..40 {
        for _ in 0..20 {
            half_open_ones.push(half_open(&listening).await);
        }
        let kept = ask_on(&mut open, &cookie).await;
        assert!(kept.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")), "round {round}: the session is cut");
        let asking = async { ask_on(&mut listening.connect().await, &cookie).await };
        let fresh = tokio::time::timeout(Duration::from_secs(5), asking).await.expect("nobody answers");
        assert!(fresh.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200")), "round {round}: the operator is refused");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn p15_a_reader_that_takes_nothing_is_cut() {
    let stall_timeout = Duration::from_millis(300);
    let listening = Listening::new(ListenLimits { stall_timeout, ..ListenLimits::default() }).await;
    let id = listening.console.capture("a capture", "somebody", 60_000).await;
    let cookie = listening.console.cookie("v", bathyscope_store::Role::Viewer).await;
    let mut stream = listening.connect().await;
    let ask =
        format!("GET /api/captures/{id}/export?format=ndjson HTTP/1.1\r\nhost: {HOST}\r\ncookie: {cookie}\r\n\r\n");
    stream.write_all(ask.repeat(20).as_bytes()).await.unwrap();
    // Nothing is read here. When the console gives up, this side's writes fail; until then they wait.
    let gone = async { while stream.write_all(b"GET / HTTP/1.1\r\n").await.is_ok() {} };
    assert!(tokio::time::timeout(Duration::from_secs(20), gone).await.is_ok(), "it is held for ever");
    assert!(listening.is_well().await);
}

#[tokio::test(flavor = "multi_thread")]
async fn p42_open_requests_end_when_the_console_stops() {
    let listening = Listening::new(ListenLimits::default()).await;
    let cookie = listening.console.cookie("v", bathyscope_store::Role::Viewer).await;
    let mut stream = listening.connect().await;
    let request =
        format!("GET /api/live HTTP/1.1\r\nhost: {HOST}\r\nsec-fetch-site: same-origin\r\ncookie: {cookie}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut first = [0; 1024];
    assert!(stream.read(&mut first).await.unwrap() > 0, "the stream begins");
    listening.console.stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(5), everything(stream)).await;
    assert!(ended.is_ok(), "the stream holds the console up");
    let closed = async { while TcpStream::connect(listening.address).await.is_ok() {} };
    assert!(tokio::time::timeout(Duration::from_secs(5), closed).await.is_ok(), "nobody listens any more");
}
