//! Whoever reaches the console's port, and the author of a file that is imported.

use std::{
    net::Ipv4Addr,
    sync::{Arc, LazyLock, atomic::AtomicU64},
};

use axum::body::Body;
use bathyscope_agent::CommandRights;
use bathyscope_console::{
    config::{ListenConfig, ScriptUsers, Transport},
    http::{
        AppState, CommandPolicy, HostPolicy, Peer, People, ScriptPolicy, SessionClock, Sessions, Setup, Shares, service,
    },
    import::Importer,
    retention::RetentionRule,
    webhooks::Webhooks,
};
use bathyscope_link::AgentLink;
use bathyscope_protocol::{ClientError, ProtocolError};
use bathyscope_recorder::{Recorder, RecorderOptions};
use bathyscope_store::{Options, Store};
use http::{Request, StatusCode, header};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

const HOST: &str = "127.0.0.1:7070";

struct Console {
    runtime: tokio::runtime::Runtime,
    state: AppState,
    store: Store,
    _dir: TempDir,
}

static CONSOLE: LazyLock<Console> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let dir = tempfile::tempdir().expect("a folder");
    let (state, store) = runtime.block_on(make(&dir));
    Console { runtime, state, store, _dir: dir }
});

async fn make(dir: &TempDir) -> (AppState, Store) {
    let options = Options { ballast_bytes: 0, max_import_bytes: 8 << 20, ..Options::default() };
    let store = Store::open(dir.path(), options).await.expect("a database");
    let link = AgentLink::new(|| Err(ClientError::Broken(ProtocolError::Closed))).expect("a thread");
    let private_dir = dir.path().join("short-lived");
    std::fs::create_dir_all(&private_dir).expect("a folder");
    let recorder = Recorder::new(store.clone(), link.clone(), RecorderOptions::new(private_dir.clone()));
    let (stop, seconds) = (CancellationToken::new(), Arc::new(AtomicU64::new(1000)));
    let clock = SessionClock::Manual { seconds, epoch: "a boot".to_owned() };
    let sessions = Sessions::open(store.clone(), clock, &stop).await.expect("sessions");
    let people = People::new(store.clone(), sessions.clone(), &stop);
    let shares = Shares::open(store.clone(), true, &stop).await.expect("shares");
    let webhooks = Webhooks::new(store.clone(), None, None, &stop);
    let listen = ListenConfig {
        listen: HOST.parse().unwrap(),
        allow_host: Vec::new(),
        transport: Transport::Plain,
        public_url: None,
    };
    let hosts = HostPolicy::new(&listen, listen.listen).expect("a host");
    let setup = Setup {
        store: store.clone(),
        link,
        recorder,
        sessions,
        people,
        proxy_users: None,
        shares,
        webhooks,
        oidc: None,
        hosts,
        behind_proxy: false,
        commands: CommandPolicy { rights: CommandRights::Off },
        scripts: ScriptPolicy { for_whom: ScriptUsers::Admins, allow_unsafe: false },
        retention: RetentionRule::default(),
        private_dir,
        importer: Importer::none("nothing is imported here"),
        stop,
    };
    (AppState::new(setup), store)
}

/// A login: what is before the first zero byte is a cookie, the rest the body. Nobody gets in, and nothing fails inside.
pub(crate) fn login(input: &[u8]) {
    let (cookie, body) = match input.iter().position(|byte| *byte == 0) {
        Some(at) => (input.get(..at).unwrap_or_default(), input.get(at + 1..).unwrap_or_default()),
        None => (&[][..], input),
    };
    let mut request = Request::builder()
        .method("POST")
        .uri("/login")
        .header(header::HOST, HOST)
        .header("sec-fetch-site", "same-origin")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded");
    if let Ok(cookie) = http::HeaderValue::from_bytes(cookie) {
        request = request.header(header::COOKIE, cookie);
    }
    let mut request = request.body(Body::from(body.to_vec())).expect("a request");
    request.extensions_mut().insert(Peer(Ipv4Addr::LOCALHOST.into()));
    let console = &*CONSOLE;
    let status =
        console.runtime.block_on(async { service(console.state.clone()).oneshot(request).await }).unwrap().status();
    assert_ne!(status, StatusCode::SEE_OTHER, "somebody got in");
    assert_ne!(status, StatusCode::INTERNAL_SERVER_ERROR, "something failed inside");
    assert_eq!(console.state.panics(), 0, "a handler panicked");
}

/// A file. It is imported or refused; what was imported is whole, and goes again.
pub(crate) fn import(input: &[u8]) {
    let console = &*CONSOLE;
    console.runtime.block_on(async {
        if let Ok(id) = console.store.import_bytes(input, "fuzz", 1).await {
            console.store.check(id).await.expect("what was imported is whole");
            console.store.delete(id).await.expect("it can be deleted");
        }
    });
}
