//! A console for one test: its own database, a clock that the test sets, and no agent unless it brings one.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    io::Read as _,
    net::{IpAddr, Ipv4Addr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{body::Body, response::Response};
use bathyscope_agent::{CommandRights, SimulatedBackend, Simulation, serve};
use bathyscope_capture::{
    Append, Batch, CaptureId, CaptureSpec, Column, ColumnData, ColumnType, Display, EventProbe, HostFacts, Ledger,
    Limits, Method, SourceSpec, StreamKind, StreamSchema, StreamTotals, Target, encode_chunk,
};
use bathyscope_console::{
    config::{ListenConfig, OidcConfig, ProxyUsers, ScriptUsers, Transport},
    http::{
        AppState, CommandPolicy, HostPolicy, Oidc, Peer, People, ScriptPolicy, SessionClock, Sessions, Setup, Shares,
        service,
    },
    import::{Importer, NewReader},
    outbound::Outbound,
    retention::RetentionRule,
    webhooks::Webhooks,
};
use bathyscope_link::AgentLink;
use bathyscope_protocol::{AgentClient, ClientError, Connection, ProtocolError};
use bathyscope_recorder::{Recorder, RecorderOptions};
use bathyscope_store::{CaptureState, End, NewCapture, Options, Role, Store};
use http::{HeaderMap, Request, StatusCode, header};
use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;
use tower::{ServiceExt as _, util::BoxCloneService};

use crate::answers;

/// By which the console of a test goes.
pub const HOST: &str = "127.0.0.1:7070";

/// Somebody who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum As {
    Anonymous,
    Role(Role),
}

pub const EVERYBODY: [As; 4] = [As::Anonymous, As::Role(Role::Viewer), As::Role(Role::Operator), As::Role(Role::Admin)];

/// A console.
pub struct Console {
    pub dir: TempDir,
    pub store: Store,
    pub state: AppState,
    pub stop: CancellationToken,
    pub seconds: Arc<AtomicU64>,
    /// Made once: a router of all routes takes longer than most of what is asked.
    service: Mutex<BoxCloneService<Request<Body>, Response, Infallible>>,
}

/// What came back.
pub struct Answer {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    pub async fn of(response: Response) -> Self {
        let (head, body) = response.into_parts();
        let body = axum::body::to_bytes(body, usize::MAX).await.unwrap().to_vec();
        Self { status: head.status, headers: head.headers, body }
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// What a file of a view holds: its data, and the answers in it by their addresses, unpacked.
pub fn held_by(file: &Answer) -> (serde_json::Value, BTreeMap<String, Vec<u8>>) {
    let (_, data) = file.text().split_once("id=\"saved-data\">").unwrap();
    let data: serde_json::Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let answers = data["answers"].as_array().unwrap().iter().map(|answer| {
        let mut bytes = Vec::new();
        let packed = from_base64(answer["gzip"].as_str().unwrap());
        flate2::read::GzDecoder::new(&*packed).read_to_end(&mut bytes).unwrap();
        (answer["address"].as_str().unwrap().to_owned(), bytes)
    });
    let answers = answers.collect();
    (data, answers)
}

fn from_base64(text: &str) -> Vec<u8> {
    let digits = text.bytes().filter(|byte| *byte != b'=').map(|byte| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    });
    let (mut out, mut bits, mut have) = (Vec::new(), 0_u32, 0);
    for digit in digits {
        (bits, have) = (bits << 6 | u32::from(digit), have + 6);
        if have >= 8 {
            have -= 8;
            out.push((bits >> have & 0xff) as u8);
        }
    }
    out
}

fn no_importer() -> Importer {
    Importer::none("this test imports nothing")
}

/// An agent that is never there.
pub fn no_agent() -> Result<AgentClient, ClientError> {
    Err(ClientError::Broken(ProtocolError::Closed))
}

/// An agent in this process that makes events up; `options` as after `--simulate=`.
pub fn simulated(options: &str) -> AgentLink {
    let simulation: Simulation = options.parse().unwrap();
    let connect = move || {
        let (mine, theirs) = Connection::pair()?;
        let mut backend = SimulatedBackend::new(simulation.clone());
        std::thread::spawn(move || serve(&theirs, &mut backend));
        AgentClient::over(mine)
    };
    AgentLink::new(connect).unwrap()
}

/// A directory with a database that is empty. It is migrated once for all tests of this process, and copied.
async fn new_dir() -> TempDir {
    static EMPTY: OnceCell<Vec<u8>> = OnceCell::const_new();
    let migrated = || async {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options { ballast_bytes: 0, ..Options::default() }).await.unwrap();
        store.close().await;
        std::fs::read(dir.path().join("bathyscope.db")).unwrap()
    };
    let (dir, empty) = (tempfile::tempdir().unwrap(), EMPTY.get_or_init(migrated).await);
    std::fs::write(dir.path().join("bathyscope.db"), empty).unwrap();
    dir
}

impl Console {
    pub async fn new() -> Self {
        Self::with_link(AgentLink::new(no_agent).unwrap()).await
    }

    pub async fn with_link(link: AgentLink) -> Self {
        Self::open(new_dir().await, link, "first boot", 1000).await
    }

    /// With a rule of retention, which nobody follows unless the test does.
    pub async fn with_rule(retention: RetentionRule, link: AgentLink) -> Self {
        Self::open_with(new_dir().await, link, "first boot", 1000, (retention, no_importer(), None)).await
    }

    /// With a proxy in front, which is believed this.
    pub async fn behind(proxy: ProxyUsers) -> Self {
        let (link, rule) = (AgentLink::new(no_agent).unwrap(), RetentionRule::default());
        let more = (rule, no_importer(), Some(proxy));
        Self::open_with(new_dir().await, link, "first boot", 1000, more).await
    }

    /// With a process that reads files.
    pub async fn importing() -> Self {
        let importer = NewReader::start(super::import::start_reader).ready();
        let link = AgentLink::new(no_agent).unwrap();
        let rule = RetentionRule::default();
        Self::open_with(new_dir().await, link, "first boot", 1000, (rule, importer, None)).await
    }

    pub async fn open(dir: TempDir, link: AgentLink, boot: &str, now_s: u64) -> Self {
        Self::open_with(dir, link, boot, now_s, (RetentionRule::default(), no_importer(), None)).await
    }

    async fn open_with(
        dir: TempDir,
        link: AgentLink,
        boot: &str,
        now_s: u64,
        more: (RetentionRule, Importer, Option<ProxyUsers>),
    ) -> Self {
        Self::open_connecting(dir, link, (boot, now_s), more, (None, None, None)).await
    }

    /// With what connects to others, and the address that others know.
    pub async fn connecting(outbound: Outbound, public_url: Option<&str>, link: AgentLink) -> Self {
        let more = (RetentionRule::default(), no_importer(), None);
        let connecting = (Some(outbound), public_url.map(str::to_owned), None);
        let console = Self::open_connecting(new_dir().await, link, ("first boot", 1000), more, connecting).await;
        tokio::spawn(console.state.webhooks().clone().keep());
        console
    }

    /// With a provider by which people log in.
    pub async fn with_provider(provider: OidcConfig, outbound: Outbound) -> Self {
        let more = (RetentionRule::default(), no_importer(), None);
        let link = AgentLink::new(no_agent).unwrap();
        let connecting = (Some(outbound), None, Some(provider));
        Self::open_connecting(new_dir().await, link, ("first boot", 1000), more, connecting).await
    }

    async fn open_connecting(
        dir: TempDir,
        link: AgentLink,
        (boot, now_s): (&str, u64),
        (retention, importer, proxy_users): (RetentionRule, Importer, Option<ProxyUsers>),
        (outbound, public_url, provider): (Option<Outbound>, Option<String>, Option<OidcConfig>),
    ) -> Self {
        let store = Store::open(dir.path(), Options { ballast_bytes: 0, ..Options::default() }).await.unwrap();
        let private_dir = dir.path().join("short-lived");
        std::fs::create_dir_all(&private_dir).unwrap();
        let recorder = Recorder::new(store.clone(), link.clone(), RecorderOptions::new(private_dir.clone()));
        let (stop, seconds) = (CancellationToken::new(), Arc::new(AtomicU64::new(now_s)));
        let clock = SessionClock::Manual { seconds: Arc::clone(&seconds), epoch: boot.to_owned() };
        let sessions = Sessions::open(store.clone(), clock, &stop).await.unwrap();
        let sessions = sessions.with_issuer(provider.as_ref().map(|provider| provider.issuer.as_str()));
        let people = People::new(store.clone(), sessions.clone(), &stop);
        let shares = Shares::open(store.clone(), false, &stop).await.unwrap();
        shares.allow(true).await.unwrap();
        let webhooks = Webhooks::new(store.clone(), outbound.clone(), public_url, &stop);
        let oidc = provider.zip(outbound).map(|(provider, outbound)| Oidc::new(provider, outbound));
        let people = people.with_provider(oidc.as_ref().map(Oidc::issuer));
        let listen = ListenConfig {
            listen: HOST.parse().unwrap(),
            allow_host: Vec::new(),
            transport: Transport::Plain,
            public_url: None,
        };
        let hosts = HostPolicy::new(&listen, listen.listen).unwrap();
        let setup = Setup {
            store: store.clone(),
            link,
            recorder,
            sessions,
            people,
            behind_proxy: proxy_users.is_some(),
            proxy_users,
            shares,
            webhooks,
            oidc,
            hosts,
            scripts: ScriptPolicy { for_whom: ScriptUsers::Admins, allow_unsafe: false },
            commands: CommandPolicy { rights: CommandRights::AsRoot },
            retention,
            private_dir,
            importer,
            stop: stop.clone(),
        };
        let state = AppState::new(setup);
        let service = Mutex::new(BoxCloneService::new(service(state.clone())));
        Self { dir, store, state, stop, seconds, service }
    }

    /// Ends it and begins another one on the same database.
    pub async fn restarted(self, boot: &str) -> Self {
        self.stop.cancel();
        self.state.sessions().sweep().await.unwrap();
        self.store.close().await;
        let now_s = self.seconds.load(Ordering::Relaxed);
        Self::open(self.dir, AgentLink::new(no_agent).unwrap(), boot, now_s).await
    }

    pub fn later(&self, seconds: u64) {
        self.seconds.fetch_add(seconds, Ordering::Relaxed);
    }

    /// A cookie of somebody who is logged in.
    pub async fn cookie(&self, user: &str, role: Role) -> String {
        let token = self.state.sessions().login_token(user, role).await.unwrap();
        let (secret, _session) = self.state.sessions().login(token.reveal(), None).await.unwrap().unwrap();
        format!("bathyscope_session={}", secret.reveal())
    }

    pub async fn cookie_as(&self, who: As) -> Option<String> {
        match who {
            As::Anonymous => None,
            As::Role(role) => Some(self.cookie(role.as_str(), role).await),
        }
    }

    /// Sends a request as it is, from a given address.
    pub async fn send_from(&self, source: IpAddr, mut request: Request<Body>) -> Response {
        request.extensions_mut().insert(Peer(source));
        let service = self.service.lock().unwrap().clone();
        service.oneshot(request).await.unwrap()
    }

    pub async fn send(&self, request: Request<Body>) -> Response {
        self.send_from(Ipv4Addr::LOCALHOST.into(), request).await
    }

    /// Asks as an own page does.
    pub async fn ask(&self, method: &str, path: &str, cookie: Option<&str>, body: Option<&str>) -> Answer {
        let answer = Answer::of(self.send(own_page(method, path, cookie, body)).await).await;
        if path.starts_with("/api/") && answer.header("content-type") == "application/json" {
            answers::compare(method, path, answer.status, &answer.json());
        }
        answer
    }

    pub async fn get(&self, path: &str, cookie: &str) -> Answer {
        self.ask("GET", path, Some(cookie), None).await
    }

    /// A stored capture of `rows` events at each of which a thread `comm` was switched to.
    pub async fn capture(&self, title: &str, owner: &str, rows: u64) -> CaptureId {
        let id = CaptureId::from_bits(0x00ff_0000 + rows);
        self.store_capture(id, title, owner, rows).await;
        id
    }

    /// The same by an id of the test's own.
    pub async fn store_capture(&self, id: CaptureId, title: &str, owner: &str, rows: u64) {
        store_capture(&self.store, id, title, owner, rows).await;
    }
}

/// A request as an own page sends it.
pub fn own_page(method: &str, path: &str, cookie: Option<&str>, body: Option<&str>) -> Request<Body> {
    let mut request =
        Request::builder().method(method).uri(path).header(header::HOST, HOST).header("sec-fetch-site", "same-origin");
    if let Some(cookie) = cookie {
        request = request.header(header::COOKIE, cookie);
    }
    if let Some(body) = body {
        let form = path == "/login";
        let mime = if form { "application/x-www-form-urlencoded" } else { "application/json" };
        request = request.header(header::CONTENT_TYPE, mime);
        return request.body(Body::from(body.to_owned())).unwrap();
    }
    request.body(Body::empty()).unwrap()
}

const START_NS: u64 = 1_000_000_000;

async fn store_capture(store: &Store, id: CaptureId, title: &str, owner: &str, rows: u64) {
    let own = [Column { name: "next_pid".to_owned(), ty: ColumnType::I64, display: Display::Decimal }];
    let schema = StreamSchema::new("sched:sched_switch", StreamKind::Events, own);
    let probe = EventProbe {
        tracepoint: "sched:sched_switch".parse().unwrap(),
        fields: vec!["next_pid".to_owned()],
        predicate: None,
    };
    let new = NewCapture {
        id,
        title: title.to_owned(),
        owner: owner.to_owned(),
        spec: CaptureSpec {
            name: title.to_owned(),
            sources: vec![SourceSpec::of(Method::Events { probes: vec![probe] })],
            target: Target::System,
            limits: Limits::default(),
        },
        host: HostFacts { hostname: "marker-host".to_owned(), ..HostFacts::default() },
        streams: vec![schema.clone()],
        started_unix_ns: 1_700_000_000_000_000_000,
        start_ns: START_NS,
        simulated: true,
        firing: None,
    };
    store.create(new).await.unwrap();
    let column = |value: &dyn Fn(u64) -> u64| ColumnData::U64((0..rows).map(value).collect());
    let comms = (0..rows).map(|row| 1 + u32::try_from(row % 2).unwrap()).collect();
    let batch = Batch {
        columns: vec![
            column(&|row| START_NS + row * 1000),
            column(&|row| row % 4),
            column(&|row| 100 + row % 3),
            column(&|row| 100 + row % 3),
            ColumnData::Id(comms),
            ColumnData::I64((0..rows).map(|row| row.cast_signed()).collect()),
        ],
    };
    let ledger = Ledger {
        streams: vec![StreamTotals { hits: rows, filtered: 0, emitted: rows, stored: rows }],
        losses: Vec::new(),
    };
    let append = Append {
        chunks: vec![(0, encode_chunk(&schema, &batch).unwrap())],
        strings: vec![(1, b"marker-comm".to_vec()), (2, b"other\x1b[2K".to_vec())],
        ledger: Some(ledger.clone()),
        end_ns: START_NS + rows * 1000,
        ..Append::default()
    };
    store.append(id, append).await.unwrap();
    let reason = "marker-reason".to_owned();
    let end = End {
        state: CaptureState::Finished,
        reason,
        end_ns: START_NS + rows * 1000,
        ledger,
        readings: vec![None],
        script: None,
        sources: Vec::new(),
    };
    store.finish(id, end).await.unwrap();
}
