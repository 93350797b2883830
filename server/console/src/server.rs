//! The console process once it has no rights left: store, agent link, recorder, HTTP, and their end.

use std::{
    io::Write as _,
    net::SocketAddr,
    os::unix::fs::DirBuilderExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use bathyscope_link::AgentLink;
use bathyscope_protocol::Door;
use bathyscope_store::{Options, Role, Store};
use tokio::{
    net::TcpListener,
    signal::unix::{Signal, SignalKind, signal},
};
use tokio_util::sync::CancellationToken;

use crate::{
    Failure, Outcome,
    config::{ConsoleConfig, ListenConfig},
    control::{Control, Sharing, Tracing, login_url},
    http::{
        self, AppState, CommandPolicy, HostPolicy, ListenLimits, Oidc, People, ScriptPolicy, SessionClock, Sessions,
        Setup, Shares,
    },
    import::NewReader,
    outbound::Outbound,
    webhooks::Webhooks,
};
use bathyscope_reader::CaptureCache;
use bathyscope_recorder::{Recorder, RecorderOptions};

/// How long running captures have to end when the console stops; the supervisor kills after ten seconds.
const STOP_CAPTURES: Duration = Duration::from_secs(6);
/// How long the agent may take to be there before readiness is told all the same.
const AGENT_PATIENCE: Duration = Duration::from_secs(3);
/// Who the link that is printed at the start logs in.
const FIRST_USER: &str = "admin";

/// Serves until told to stop by SIGTERM or SIGINT; a second one ends it at once.
///
/// # Errors
/// If the store cannot be opened or the address cannot be bound.
pub async fn run(config: ConsoleConfig, (door, outbound): (Door, Option<Door>), reader: NewReader) -> Outcome {
    // What is wrong with the address is said before anything is opened.
    HostPolicy::new(&config.listen, config.listen.listen)?;
    if let Some(oidc) = &config.oidc {
        oidc.check(&config.outbound)?;
    }
    let mut signals = Signals::new()?;
    let store = open_store(&config.data).await?;
    let abandoned = CancellationToken::new();
    let outbound = outbound.map(|door| Outbound::new(door, config.outbound.clone()));
    let running = start(&config, (door, reader, abandoned.clone()), (store.clone(), outbound)).await;
    let Console { state, listener, stop, control } = match running {
        Ok(console) => console,
        Err(failure) => {
            store.close().await;
            return Err(failure);
        }
    };
    let limits = limits(&config.listen);
    let tasks = tokio_util::task::TaskTracker::new();
    let tls = config.listen.transport.tls().cloned();
    tasks.spawn(http::serve((listener, tls), state.clone(), limits, stop.clone()));
    tasks.spawn(state.sessions().clone().keep());
    tasks.spawn(state.shares().clone().keep());
    tasks.spawn(state.people().clone().keep());
    tasks.spawn(state.retention_task().keep());
    tasks.spawn(state.series_task().keep());
    tasks.spawn(state.webhooks().clone().keep());
    if let Some(control) = control {
        tasks.spawn(control.serve(stop.clone()));
    }
    if let Err(error) = state.derivations().resume().await {
        tracing::warn!(%error, "what was being computed is not gone on with");
    }
    tasks.close();
    tokio::select! {
        () = signals.next() => {}
        () = abandoned.cancelled() => tracing::warn!("the supervisor has ended"),
    }
    tracing::info!("stopping");
    let stopping = async {
        state.recorder().shutdown(STOP_CAPTURES).await;
        stop.cancel();
        tasks.wait().await;
        if let Err(error) = state.sessions().sweep().await {
            tracing::warn!(%error, "uses of sessions could not be written");
        }
        if let Err(error) = state.shares().sweep().await {
            tracing::warn!(%error, "uses of shares could not be written");
        }
        if let Err(error) = state.people().tokens().sweep().await {
            tracing::warn!(%error, "uses of tokens could not be written");
        }
        store.close().await;
    };
    tokio::select! {
        () = stopping => Ok(ExitCode::SUCCESS),
        () = signals.next() => Err(Failure::new("ended by a second signal before everything was written")),
    }
}

struct Console {
    state: AppState,
    listener: TcpListener,
    stop: CancellationToken,
    control: Option<Control>,
}

async fn start(
    config: &ConsoleConfig,
    (door, reader, abandoned): (Door, NewReader, CancellationToken),
    (store, outbound): (Store, Option<Outbound>),
) -> Result<Console, Failure> {
    let importer = reader.ready();
    let stop = CancellationToken::new();
    let private_dir = private_dir(&config.data)?;
    let link = AgentLink::through(door, move || abandoned.cancel())
        .map_err(|error| Failure::because("starting the thread of the agent's connection", error))?;
    let recorder = Recorder::new(store.clone(), link.clone(), RecorderOptions::new(private_dir.clone()));
    let sessions = Sessions::open(store.clone(), SessionClock::Boot, &stop).await;
    let sessions = sessions.map_err(|error| Failure::because("opening the sessions", error))?;
    let sessions = sessions.with_issuer(config.oidc.as_ref().map(|provider| provider.issuer.as_str()));
    let people = People::new(store.clone(), sessions.clone(), &stop);
    let shares = Shares::open(store.clone(), config.allow_shares, &stop).await;
    let shares = shares.map_err(|error| Failure::because("opening the shares", error))?;
    let (listener, bound) = bind(config.listen.listen).await?;
    let hosts = HostPolicy::new(&config.listen, bound)?;
    let origin = origin(&config.listen, bound);
    let public_url = config.listen.public_url.as_ref().map(ToString::to_string);
    let webhooks = Webhooks::new(store.clone(), outbound.clone(), public_url, &stop);
    let oidc = config.oidc.clone().zip(outbound).map(|(provider, outbound)| Oidc::new(provider, outbound));
    let people = people.with_provider(oidc.as_ref().map(Oidc::issuer));
    let importing = importer.clone();
    let tracing = Tracing {
        recorder: recorder.clone(),
        link: link.clone(),
        store: store.clone(),
        importer: importing,
        people: people.clone(),
        webhooks: webhooks.clone(),
        retention: config.retention.clone(),
        sharing: Sharing { shares: shares.clone(), captures: CaptureCache::new(store.clone()), origin: origin.clone() },
    };
    let control = Control::bind(&config.data, sessions.clone(), origin.clone(), config.starter_uid)
        .map(|control| control.with_tracing(tracing))
        .inspect_err(|error| tracing::warn!(%error, "no control socket; `bathyscope login-link` will not work"));
    let token = sessions.login_token(FIRST_USER, Role::Admin).await;
    let token = token.map_err(|error| Failure::because("making a login link", error))?;
    let behind_proxy = config.listen.transport.is_behind_proxy();
    // The agent is started at the same time; whoever waits for the line wants to trace. Without an agent it comes too.
    link.connected(AGENT_PATIENCE).await;
    let scripts = ScriptPolicy { for_whom: config.scripts, allow_unsafe: config.allow_unsafe_scripts };
    let setup = Setup {
        store,
        link,
        recorder,
        sessions,
        people,
        proxy_users: config.proxy_users.clone(),
        shares,
        webhooks,
        oidc,
        hosts,
        behind_proxy,
        scripts,
        commands: CommandPolicy { rights: config.commands.clone() },
        retention: config.retention.clone(),
        private_dir,
        importer,
        stop: stop.clone(),
    };
    let state = AppState::new(setup);
    announce(&login_url(&origin, token.reveal()))?;
    Ok(Console { state, listener, stop, control: control.ok() })
}

/// The one line on standard output, which also tells whoever started this that it serves.
fn announce(url: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "Bathyscope is ready: {url}")
        .and_then(|()| out.flush())
        .map_err(|error| Failure::because("printing the login link", error))
}

/// The limits of the listener. A proxy in front is one source for everybody.
fn limits(listen: &ListenConfig) -> ListenLimits {
    let usual = ListenLimits::default();
    ListenLimits {
        per_source: if listen.transport.is_behind_proxy() { usual.connections } else { usual.per_source },
        ..usual
    }
}

/// How a browser reaches the console: by its public address, if there is one, else from this machine or behind the proxy.
fn origin(listen: &ListenConfig, bound: SocketAddr) -> String {
    if let Some(url) = &listen.public_url {
        return url.to_string();
    }
    match listen.allow_host.first() {
        Some(name) if listen.transport.is_behind_proxy() => format!("https://{name}"),
        _ => format!("{}://{bound}", if listen.transport.is_secure() { "https" } else { "http" }),
    }
}

async fn bind(listen: SocketAddr) -> Result<(TcpListener, SocketAddr), Failure> {
    let doing = || format!("listening on {listen}");
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        Failure::because(doing(), error).remedy("Choose another address with --listen; port 0 takes a free one.")
    })?;
    let bound = listener.local_addr().map_err(|error| Failure::because(doing(), error))?;
    Ok((listener, bound))
}

/// Opens the database, in a directory that is made where it is missing.
///
/// # Errors
/// If it cannot be used; the message says what helps.
pub async fn open_store(dir: &Path) -> Result<Store, Failure> {
    make_private(dir)?;
    Store::open(dir, Options { now: bathyscope_recorder::boot_time(), ..Options::default() })
        .await
        .map_err(|error| Failure::because("opening the database", error))
}

fn make_private(dir: &Path) -> Result<(), Failure> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
    made.map_err(|error| {
        Failure::because(format!("making the directory {}", dir.display()), error)
            .remedy("Name another one with --data DIR.")
    })
}

/// A directory for short-lived files in the data directory; what an earlier process left there is removed.
fn private_dir(dir: &Path) -> Result<PathBuf, Failure> {
    let path = dir.join("short-lived");
    match std::fs::remove_dir_all(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(Failure::because(format!("emptying {}", path.display()), error)),
    }
    make_private(&path)?;
    Ok(path)
}

struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> Result<Self, Failure> {
        let on = |kind| signal(kind).map_err(|error| Failure::because("watching for signals", error));
        Ok(Self { terminate: on(SignalKind::terminate())?, interrupt: on(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
