//! What every handler can reach.

use std::{
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use bathyscope_agent::CommandRights;
use bathyscope_capture::CaptureId;
use bathyscope_link::{AgentLink, activity::ActivitySampler, host::Host, inventory::Inventory};
use bathyscope_reader::{CaptureCache, CaptureView};
use bathyscope_store::{Role, SeenStore, Store};
use http::HeaderMap;
use tokio_util::sync::CancellationToken;

use super::{
    access::Who,
    context::Context,
    error::ApiError,
    hosts::HostPolicy,
    people::People,
    rate::{Rate, RateLimit},
    session::{Session, Sessions},
    share::Shares,
    sign_in::Oidc,
    workers::Workers,
};
use crate::{
    audit::audit,
    config::ScriptUsers,
    import::Importer,
    proxy_users::ProxyUsers,
    retention::{RetentionRule, RetentionTask},
    series::SeriesTask,
    webhooks::Webhooks,
};
use bathyscope_recorder::{Derivations, Recorder};

/// Attempts to log in, for one source and for all together. Tokens cannot be guessed; this keeps the log and the store
/// from being flooded.
const LOGIN_PER_SOURCE: Rate = Rate { burst: 10.0, every: Duration::from_secs(6) };
const LOGIN_GLOBAL: Rate = Rate { burst: 60.0, every: Duration::from_secs(1) };

/// Attempts to log in by a password that fail, for one name, from wherever they come.
const LOGIN_PER_NAME: Rate = Rate { burst: 10.0, every: Duration::from_secs(30) };

/// Who may run scripts, and which.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScriptPolicy {
    /// Who may run them.
    pub for_whom: ScriptUsers,
    /// Whether they may change the system.
    pub allow_unsafe: bool,
}

impl ScriptPolicy {
    /// Why somebody may not run scripts; none if they may.
    pub fn refuses(self, role: Role) -> Option<&'static str> {
        match self.for_whom {
            ScriptUsers::Off => Some("scripts are switched off in this console"),
            ScriptUsers::Admins if role < Role::Admin => Some("only admins may run scripts in this console"),
            ScriptUsers::Operators if role < Role::Operator => Some("only operators may run scripts"),
            ScriptUsers::Admins | ScriptUsers::Operators => None,
        }
    }
}

/// As whom captures start commands. The agent decides; this is what people are told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandPolicy {
    /// As whom.
    pub rights: CommandRights,
}

impl CommandPolicy {
    /// Why somebody may start no command; none if they may.
    pub fn refuses(&self, role: Role) -> Option<&'static str> {
        match self.rights {
            CommandRights::Off => Some("commands are switched off in this console"),
            _ if role < Role::Admin => Some("only admins may start commands in this console"),
            CommandRights::Users(_) | CommandRights::AsRoot | CommandRights::Caller => None,
        }
    }
}

/// What an [`AppState`] is made of.
#[derive(Debug)]
pub struct Setup {
    /// The database.
    pub store: Store,
    /// The connection to the agent.
    pub link: AgentLink,
    /// What makes captures.
    pub recorder: Recorder,
    /// Who is logged in.
    pub sessions: Sessions,
    /// People who have an account.
    pub people: People,
    /// What a proxy in front is believed when it says who asks; none if nothing.
    pub proxy_users: Option<ProxyUsers>,
    /// Links for people without a login.
    pub shares: Shares,
    /// Addresses that are told of captures of flight recorders.
    pub webhooks: Webhooks,
    /// By which provider people log in; none if by none.
    pub oidc: Option<Oidc>,
    /// By which names this console goes.
    pub hosts: HostPolicy,
    /// Whether a proxy stands in front, whose word on the source of a request is taken.
    pub behind_proxy: bool,
    /// Who may run scripts.
    pub scripts: ScriptPolicy,
    /// As whom captures start commands.
    pub commands: CommandPolicy,
    /// How long captures are kept.
    pub retention: RetentionRule,
    /// A directory for short-lived files that nobody else can enter.
    pub private_dir: PathBuf,
    /// What imports files.
    pub importer: Importer,
    /// Cancelled when the console stops.
    pub stop: CancellationToken,
}

/// What every handler can reach. Cheap to clone.
#[derive(Clone, Debug)]
pub struct AppState {
    inner: Arc<SharedState>,
}

#[derive(Debug)]
struct SharedState {
    setup: Setup,
    host: Host,
    inventory: Inventory,
    activity: ActivitySampler,
    captures: CaptureCache,
    derivations: Derivations,
    login_limit: RateLimit,
    name_limit: RateLimit<String>,
    workers: Workers,
    panics: AtomicU64,
}

impl AppState {
    /// The state of a console that begins.
    pub fn new(setup: Setup) -> Self {
        let host = Host::new(setup.link.clone());
        let inventory = Inventory::new(setup.link.clone());
        let activity = ActivitySampler::new(setup.link.clone());
        let captures = CaptureCache::new(setup.store.clone());
        let derivations = derivations(&setup, &captures);
        let login_limit = RateLimit::new(LOGIN_PER_SOURCE, LOGIN_GLOBAL, Instant::now());
        let name_limit = RateLimit::new(LOGIN_PER_NAME, LOGIN_GLOBAL, Instant::now());
        let (workers, panics) = (Workers::default(), AtomicU64::new(0));
        Self {
            inner: Arc::new(SharedState {
                setup,
                host,
                inventory,
                activity,
                captures,
                derivations,
                login_limit,
                name_limit,
                workers,
                panics,
            }),
        }
    }

    /// The database.
    pub fn store(&self) -> &Store {
        &self.inner.setup.store
    }

    /// What makes captures.
    pub fn recorder(&self) -> &Recorder {
        &self.inner.setup.recorder
    }

    /// The connection to the agent.
    pub(super) fn link(&self) -> &AgentLink {
        &self.inner.setup.link
    }

    /// Who may run scripts.
    pub(super) fn scripts(&self) -> ScriptPolicy {
        self.inner.setup.scripts
    }

    /// As whom captures start commands.
    pub(super) fn commands(&self) -> &CommandPolicy {
        &self.inner.setup.commands
    }

    /// How long captures are kept.
    pub fn retention(&self) -> &RetentionRule {
        &self.inner.setup.retention
    }

    /// What is known about this host.
    pub fn host(&self) -> &Host {
        &self.inner.host
    }

    /// What can be traced on this host.
    pub fn inventory(&self) -> &Inventory {
        &self.inner.inventory
    }

    /// What reads who uses this host.
    pub fn activity(&self) -> &ActivitySampler {
        &self.inner.activity
    }

    /// By which names this console goes.
    pub fn hosts(&self) -> &HostPolicy {
        &self.inner.setup.hosts
    }

    /// Who is logged in.
    pub fn sessions(&self) -> &Sessions {
        &self.inner.setup.sessions
    }

    /// People who have an account.
    pub fn people(&self) -> &People {
        &self.inner.setup.people
    }

    /// What a proxy in front is believed when it says who asks.
    pub(super) fn proxy_users(&self) -> Option<&ProxyUsers> {
        self.inner.setup.proxy_users.as_ref()
    }

    /// Links for people without a login.
    pub fn shares(&self) -> &Shares {
        &self.inner.setup.shares
    }

    /// Addresses that are told of captures of flight recorders.
    pub fn webhooks(&self) -> &Webhooks {
        &self.inner.setup.webhooks
    }

    /// By which provider people log in.
    pub(super) fn oidc(&self) -> Option<&Oidc> {
        self.inner.setup.oidc.as_ref()
    }

    /// Cancelled when the console stops.
    pub fn stop(&self) -> &CancellationToken {
        &self.inner.setup.stop
    }

    /// A directory for short-lived files.
    pub(super) fn private_dir(&self) -> &Path {
        &self.inner.setup.private_dir
    }

    /// What imports files.
    pub(super) fn importer(&self) -> &Importer {
        &self.inner.setup.importer
    }

    /// Where views are made.
    pub(super) fn workers(&self) -> &Workers {
        &self.inner.workers
    }

    /// The captures that were looked at lately.
    pub(super) fn captures(&self) -> &CaptureCache {
        &self.inner.captures
    }

    /// What computes streams of captures that have ended.
    pub fn derivations(&self) -> &Derivations {
        &self.inner.derivations
    }

    pub(super) fn login_limit(&self) -> &RateLimit {
        &self.inner.login_limit
    }

    /// Takes an attempt to tell the password of `name`, if there is one left for its source, the name, and all together. Whether
    /// there is an account of the name makes no difference.
    pub(super) fn attempt_password(&self, source: IpAddr, name: &str) -> bool {
        let now = Instant::now();
        self.login_limit().attempt(source, now) && self.inner.name_limit.take(limited_name(name), now)
    }

    /// Gives such an attempt back, as the password was right.
    pub(super) fn password_was_right(&self, source: IpAddr, name: &str) {
        self.login_limit().take_back(source);
        self.inner.name_limit.give_back(&limited_name(name));
    }

    /// The captures as somebody sees them.
    pub(super) fn seen<'a>(&'a self, who: &'a Who) -> SeenStore<'a> {
        self.store().seen_by(who.sight())
    }

    /// A snapshot of a capture, which whoever asks sees.
    pub(super) async fn view(&self, id: CaptureId) -> Result<CaptureView, ApiError> {
        let is_busy = self.is_running(id);
        Ok(self.captures().view(id, is_busy).await?)
    }

    /// Whether the recorder works on it.
    pub(super) fn is_running(&self, id: CaptureId) -> bool {
        self.recorder().running().iter().any(|running| running.id == id)
    }

    /// Where a request comes from. A proxy appends the address that it saw, so its word is the last one.
    pub(super) fn source_of(&self, context: &Context, headers: &HeaderMap) -> IpAddr {
        let peer = context.peer().0;
        if !self.inner.setup.behind_proxy {
            return peer;
        }
        let said = headers.get_all("x-forwarded-for").iter().next_back().and_then(|value| value.to_str().ok());
        said.and_then(|value| value.rsplit(',').next()?.trim().parse().ok()).unwrap_or(peer)
    }

    /// Notes for ever who did what.
    pub(super) async fn audit(&self, who: &Session, action: &str, object: &str, detail: &str) {
        audit(self.store(), (who.user(), who.role()), action, (object, detail)).await;
    }

    /// What deletes captures by the rule of this console.
    pub fn retention_task(&self) -> RetentionTask {
        RetentionTask {
            rule: self.retention().clone(),
            store: self.store().clone(),
            recorder: self.recorder().clone(),
            captures: self.captures().clone(),
            stop: self.stop().clone(),
        }
    }

    /// What computes key numbers of captures that have ended.
    pub fn series_task(&self) -> SeriesTask {
        SeriesTask {
            store: self.store().clone(),
            recorder: self.recorder().clone(),
            derivations: self.derivations().clone(),
            stop: self.stop().clone(),
        }
    }

    pub(super) fn count_panic(&self) {
        self.inner.panics.fetch_add(1, Ordering::Relaxed);
    }

    /// How many handlers have panicked.
    pub fn panics(&self) -> u64 {
        self.inner.panics.load(Ordering::Relaxed)
    }
}

/// By which attempts for a name are counted: of a text that is no name as much as a name has.
fn limited_name(name: &str) -> String {
    name.chars().take(64).collect::<String>().to_ascii_lowercase()
}

/// The queue of what is computed of captures. A capture that is recorded here gets its streams when it has ended; one that comes
/// from a file, when it is there.
fn derivations(setup: &Setup, captures: &CaptureCache) -> Derivations {
    let seen = captures.clone();
    let derivations = Derivations::new(setup.store.clone(), move |id| seen.forget(id));
    setup.recorder.compute_streams(derivations.clone());
    let queue = derivations.clone();
    setup.importer.when_imported(move |id| {
        if let Err(error) = queue.compute_built_in(id) {
            tracing::warn!(capture = %id, %error, "streams are not computed");
        }
    });
    derivations
}

/// Runs `work` to its end even if whoever asked goes away, so that no change stays half done (P44).
pub(super) async fn to_its_end<T: Send + 'static>(
    work: impl Future<Output = T> + Send + 'static,
) -> Result<T, ApiError> {
    match tokio::spawn(work).await {
        Ok(value) => Ok(value),
        Err(error) => match error.try_into_panic() {
            Ok(payload) => std::panic::resume_unwind(payload),
            Err(error) => Err(ApiError::internal("finishing the request", error)),
        },
    }
}
