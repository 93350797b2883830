//! A socket in the data directory through which the command line asks the running console: for another login link, about
//! the probes of its captures, to detach them, to import a file, and to save and delete recipes.
//!
//! The directory is the console user's own (0700), the socket too, and the peer's user is checked: only root and the user
//! who started the console get an answer. One JSON line each way; a file follows its line.

use std::{
    collections::BTreeSet,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    os::fd::{AsRawFd as _, OwnedFd},
    path::{Path, PathBuf},
    time::Duration,
};

use bathyscope_capture::{CaptureId, CaptureSpec, visible};
use bathyscope_catalog::recipes::{MAX_RECIPE_BYTES, Recipe};
use bathyscope_link::{AgentLink, words};
use bathyscope_store::{Role, Store};
use rustix::fs::{Mode, OFlags};
use serde::{Deserialize, Serialize};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _},
    net::{
        UnixListener, UnixStream,
        unix::{OwnedReadHalf, OwnedWriteHalf},
    },
    sync::mpsc,
};
use tokio_stream::wrappers::ReceiverStream;
use tokio_util::sync::CancellationToken;

use crate::{
    Failure,
    audit::audit,
    capture_changes::TerminalCapture,
    http::{AccessList, AskedShare, People, Sessions, ShareId, ShareItem},
    import::{self, Imported, Importer},
    investigations::{InvestigationError, TerminalPage, page_at_terminal},
    library::{LibraryError, LibraryUser, TERMINAL, TerminalChange, change_at_terminal},
    notes::{NoteError, TerminalNote, note_at_terminal},
    recipes::{self, RecipeError},
    retention::RetentionRule,
    rights::{RightsError, TerminalRights, TerminalRightsAnswer, rights_at_terminal},
    series::{SeriesError, TerminalSeries, series_at_terminal},
    webhooks::Webhooks,
};
use bathyscope_recorder::{CaptureProbe, Recorder};

mod captures;
mod connection;
mod flight;
mod people;
mod retention;
mod shares;
mod webhooks;

pub use captures::{start_capture, stop_capture};
pub use connection::ControlConnection;
pub use flight::{KnownFlight, fire, fire_token, flights};
pub use people::{
    KnownLink, TerminalPeople, TerminalPeopleAnswer, change_people, people_at_terminal, people_without_console,
};
pub use retention::retention;
pub use shares::{KnownShares, Sharing, allow_shares, make_share, revoke_share, shares};
pub use webhooks::{TerminalWebhooks, TerminalWebhooksAnswer, change_webhooks};

/// The socket's name in the data directory.
const NAME: &str = "control.sock";
/// The longest request: one with a file of the library, whose line breaks and quotes are escaped.
const LINE_BYTES: u64 = 4096 + 3 * MAX_RECIPE_BYTES as u64;
/// The longest answer.
const ANSWER_BYTES: u64 = 1 << 20;
/// The longest name of a file that is told.
const NAME_CHARS: usize = 200;
/// How long either side waits for the other.
const TIMEOUT: Duration = Duration::from_secs(5);

/// What can be asked.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    LoginLink {
        user: String,
        role: Role,
        lasts_s: u64,
    },
    Access,
    EndAccess {
        id: String,
    },
    Probes,
    DetachProbes {
        pattern: String,
    },
    OptimizeKprobes {
        on: bool,
    },
    /// A file follows in frames.
    Import {
        name: String,
    },
    SaveRecipe {
        recipe: Box<Recipe>,
        replace: bool,
    },
    DeleteRecipe {
        name: String,
    },
    ChangeLibrary {
        change: Box<TerminalChange>,
    },
    ChangeNotes {
        change: Box<TerminalNote>,
    },
    ChangeInvestigations {
        change: Box<TerminalPage>,
    },
    ChangeSeries {
        change: Box<TerminalSeries>,
    },
    Rights {
        change: Box<TerminalRights>,
    },
    ChangeCapture {
        id: CaptureId,
        change: Box<TerminalCapture>,
    },
    StartCapture {
        spec: Box<CaptureSpec>,
        again: Option<CaptureId>,
    },
    StopCapture {
        id: CaptureId,
    },
    Retention,
    Shares,
    MakeShare {
        asked: Box<AskedShare>,
    },
    RevokeShare {
        id: ShareId,
    },
    AllowShares {
        allowed: bool,
    },
    People {
        change: Box<TerminalPeople>,
    },
    Webhooks {
        change: Box<TerminalWebhooks>,
    },
    Flights,
    Fire {
        id: CaptureId,
    },
    FireToken {
        id: CaptureId,
        revoke: bool,
    },
}

/// What the socket answers with beside sessions: the running captures, and the agent.
#[derive(Clone, Debug)]
pub struct Tracing {
    /// What makes captures.
    pub recorder: Recorder,
    /// The connection to the agent.
    pub link: AgentLink,
    /// Where it is noted who did what.
    pub store: Store,
    /// What imports files.
    pub importer: Importer,
    /// Links for people without a login.
    pub sharing: Sharing,
    /// People who have an account.
    pub people: People,
    /// Addresses that are told of captures of flight recorders.
    pub webhooks: Webhooks,
    /// How long captures are kept.
    pub retention: RetentionRule,
}

/// What is answered.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ControlAnswer {
    LoginLink { url: String, role: Role },
    People { answer: Box<TerminalPeopleAnswer> },
    Rights { answer: TerminalRightsAnswer },
    Webhooks { answer: Box<TerminalWebhooksAnswer> },
    Access { access: AccessList },
    Ended { user: String },
    Probes { probes: Vec<CaptureProbe> },
    Done,
    Told { lines: Vec<String> },
    Imported { id: CaptureId, read_cpu_ns: Option<u64> },
    Shares { shares: KnownShares },
    Share { share: Box<ShareItem>, url: String },
    Flights { flights: Vec<KnownFlight> },
    Fired { stored: CaptureId },
    Started { id: CaptureId },
    Retention { max_days: Option<u32>, max_bytes: Option<u64>, labels: Vec<String> },
    FireToken { token: String },
    Failed { why: String },
}

/// The end that answers.
#[derive(Debug)]
pub struct Control {
    listener: UnixListener,
    directory: OwnedFd,
    sessions: Sessions,
    origin: String,
    /// Who is answered beside root.
    starter: Option<u32>,
    tracing: Option<Tracing>,
}

impl Control {
    /// The same, which answers about captures too.
    #[must_use]
    pub fn with_tracing(mut self, tracing: Tracing) -> Self {
        self.tracing = Some(tracing);
        self
    }

    /// Listens in `dir`, whose database this process holds open, so that a socket that is there is a dead one. Links
    /// begin with `origin`, such as `http://127.0.0.1:7070`. Beside root only the user `starter` is answered: whoever
    /// started the console, if that was not root. The console's own user is not, unless it is the same.
    ///
    /// # Errors
    /// If the socket cannot be made.
    pub fn bind(dir: &Path, sessions: Sessions, origin: String, starter: Option<u32>) -> io::Result<Self> {
        let directory = open_directory(dir)?;
        match rustix::fs::unlinkat(&directory, NAME, rustix::fs::AtFlags::empty()) {
            Ok(()) | Err(rustix::io::Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let listener = UnixListener::bind(through(&directory))?;
        rustix::fs::chmodat(&directory, NAME, Mode::RUSR | Mode::WUSR, rustix::fs::AtFlags::empty())?;
        Ok(Self { listener, directory, sessions, origin, starter, tracing: None })
    }

    /// Answers, one at a time, until `stop` is cancelled.
    pub async fn serve(self, stop: CancellationToken) {
        loop {
            let accepted = tokio::select! {
                () = stop.cancelled() => return,
                accepted = self.listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, _unnamed)) => {
                    let answered = tokio::time::timeout(TIMEOUT, self.answer(stream)).await;
                    if !matches!(answered, Ok(Ok(()))) {
                        tracing::warn!("a request on the control socket was not answered");
                    }
                }
                Err(error) => {
                    tracing::warn!(%error, "the control socket failed");
                    tokio::time::sleep(TIMEOUT).await;
                }
            }
        }
    }

    async fn answer(&self, stream: UnixStream) -> io::Result<()> {
        let uid = stream.peer_cred()?.uid();
        if uid != 0 && self.starter != Some(uid) {
            tracing::warn!(uid, "refused a request on the control socket");
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, "not this user"));
        }
        let mut line = String::new();
        let (reading, mut writing) = stream.into_split();
        let mut reading = tokio::io::BufReader::new(reading);
        (&mut reading).take(LINE_BYTES).read_line(&mut line).await?;
        let answer = match serde_json::from_slice(line.as_bytes()) {
            Ok(Request::LoginLink { user, role, lasts_s }) => {
                match self.sessions.login_token_for(&user, role, lasts_s).await {
                    Ok((secret, role)) => {
                        ControlAnswer::LoginLink { url: login_url(&self.origin, secret.reveal()), role }
                    }
                    Err(error) => ControlAnswer::Failed { why: words(&error) },
                }
            }
            Ok(Request::Access) => match self.sessions.list().await {
                Ok(access) => ControlAnswer::Access { access },
                Err(error) => ControlAnswer::Failed { why: words(&error) },
            },
            Ok(Request::EndAccess { id }) => self.end_access(&id).await,
            Ok(Request::Import { name }) => match &self.tracing {
                Some(tracing) => {
                    // It may take long, and others are not to wait for it.
                    tokio::spawn(tracing.clone().import(name, reading, writing));
                    return Ok(());
                }
                None => ControlAnswer::Failed { why: "it makes no captures".to_owned() },
            },
            Ok(Request::StartCapture { spec, again }) => match &self.tracing {
                Some(tracing) => {
                    // Compiling a script may take long, likewise.
                    tokio::spawn(tracing.clone().start_capture(*spec, again, writing));
                    return Ok(());
                }
                None => ControlAnswer::Failed { why: "it makes no captures".to_owned() },
            },
            Ok(request) => match &self.tracing {
                Some(tracing) => tracing.answer(request).await,
                None => ControlAnswer::Failed { why: "it makes no captures".to_owned() },
            },
            Err(_unknown) => ControlAnswer::Failed { why: "the console is of another version".to_owned() },
        };
        write_answer(&mut writing, &answer).await
    }
}

async fn write_answer(writing: &mut OwnedWriteHalf, answer: &ControlAnswer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    writing.write_all(&line).await
}

impl Control {
    /// Ends a session or an unused link.
    async fn end_access(&self, id: &str) -> ControlAnswer {
        let ended = match self.sessions.end(id).await {
            Ok(None) => self.sessions.end_link(id).await.map(|user| user.map(|user| ("link.end", user))),
            ended => ended.map(|user| user.map(|user| ("session.end", user))),
        };
        match ended {
            Ok(Some((action, user))) => {
                if let Some(tracing) = &self.tracing {
                    tracing.note(action, &user, id).await;
                }
                ControlAnswer::Ended { user }
            }
            Ok(None) => ControlAnswer::Failed {
                why: format!("there is no session and no unused link {}", visible(id.as_bytes())),
            },
            Err(error) => ControlAnswer::Failed { why: words(&error) },
        }
    }
}

impl Tracing {
    async fn answer(&self, request: Request) -> ControlAnswer {
        match request {
            Request::LoginLink { .. }
            | Request::Access
            | Request::EndAccess { .. }
            | Request::Import { .. }
            | Request::StartCapture { .. } => ControlAnswer::Failed { why: "that is answered elsewhere".to_owned() },
            Request::Probes => ControlAnswer::Probes { probes: self.recorder.probes("*") },
            Request::DetachProbes { pattern } => self.detach(&pattern).await,
            Request::SaveRecipe { recipe, replace } => done(self.save_recipe(*recipe, replace).await),
            Request::DeleteRecipe { name } => done(self.delete_recipe(&name).await),
            Request::ChangeLibrary { change } => match self.change_library(*change).await {
                Ok(lines) => ControlAnswer::Told { lines },
                Err(error) => ControlAnswer::Failed { why: words(&error) },
            },
            Request::ChangeNotes { change } => match self.change_notes(*change).await {
                Ok(told) => ControlAnswer::Told { lines: vec![told] },
                Err(error) => ControlAnswer::Failed { why: words(&error) },
            },
            Request::ChangeInvestigations { change } => match self.change_investigations(*change).await {
                Ok(told) => ControlAnswer::Told { lines: vec![told] },
                Err(error) => ControlAnswer::Failed { why: words(&error) },
            },
            Request::ChangeSeries { change } => match self.change_series(*change).await {
                Ok(told) => ControlAnswer::Told { lines: vec![told] },
                Err(error) => ControlAnswer::Failed { why: words(&error) },
            },
            Request::Rights { change } => match self.change_rights(*change).await {
                Ok(answer) => ControlAnswer::Rights { answer },
                Err(error) => ControlAnswer::Failed { why: words(&error) },
            },
            Request::ChangeCapture { id, change } => self.change_capture(id, *change).await,
            Request::StopCapture { id } => self.stop_capture(id).await,
            Request::Retention => self.retention(),
            Request::Shares => self.shares().await,
            Request::MakeShare { asked } => self.make_share(*asked).await,
            Request::RevokeShare { id } => self.revoke_share(id).await,
            Request::AllowShares { allowed } => self.allow_shares(allowed).await,
            Request::People { change } => self.change_people(*change).await,
            Request::Webhooks { change } => self.change_webhooks(*change).await,
            Request::Flights => self.flights(),
            Request::Fire { id } => self.fire(id).await,
            Request::FireToken { id, revoke } => self.fire_token(id, revoke).await,
            Request::OptimizeKprobes { on } => {
                if let Err(error) = self.link.call(move |client| client.optimize_kprobes(on)).await {
                    return ControlAnswer::Failed { why: words(&error) };
                }
                self.note("host.set", "debug.kprobes-optimization", if on { "1" } else { "0" }).await;
                ControlAnswer::Done
            }
        }
    }

    async fn detach(&self, pattern: &str) -> ControlAnswer {
        let probes = self.recorder.probes(pattern);
        let captures: BTreeSet<CaptureId> = probes.iter().map(|probe| probe.capture).collect();
        for capture in captures {
            match self.recorder.detach(capture, pattern).await {
                Ok(names) => self.note("capture.detach", &capture.to_string(), &names.join(" ")).await,
                Err(error) => return ControlAnswer::Failed { why: words(&error) },
            }
        }
        ControlAnswer::Probes { probes }
    }

    async fn save_recipe(&self, recipe: Recipe, replace: bool) -> Result<(), RecipeError> {
        let (own, replaced) = recipes::save(&self.store, recipe, LibraryUser::TERMINAL, replace).await?;
        self.note("recipe.save", &own.recipe.name, &own.audit_words(replaced.as_deref())).await;
        Ok(())
    }

    async fn delete_recipe(&self, name: &str) -> Result<(), RecipeError> {
        let owner = recipes::delete(&self.store, name, LibraryUser::TERMINAL).await?;
        self.note("recipe.delete", name, &format!("of {owner}")).await;
        Ok(())
    }

    async fn change_library(&self, change: TerminalChange) -> Result<Vec<String>, LibraryError> {
        let is_dry_run = matches!(change, TerminalChange::Probes { dry_run: true, .. });
        let lines = change_at_terminal(&self.store, change).await?;
        if !is_dry_run {
            self.note("library.change", TERMINAL, &lines.join(" ")).await;
        }
        Ok(lines)
    }

    async fn change_notes(&self, change: TerminalNote) -> Result<String, NoteError> {
        let done = note_at_terminal(&self.store, change).await?;
        self.note(done.action, &done.capture.to_string(), &format!("note {}", done.note)).await;
        Ok(done.told)
    }

    async fn change_investigations(&self, change: TerminalPage) -> Result<String, InvestigationError> {
        let done = page_at_terminal(&self.store, &self.sharing.captures, change).await?;
        self.note(done.action, &done.id.to_string(), &done.detail).await;
        Ok(done.told)
    }

    async fn change_series(&self, change: TerminalSeries) -> Result<String, SeriesError> {
        let done = series_at_terminal(&self.store, change).await?;
        self.note(done.action, &done.object, &done.detail).await;
        Ok(done.told)
    }

    async fn change_rights(&self, change: TerminalRights) -> Result<TerminalRightsAnswer, RightsError> {
        let done = rights_at_terminal(&self.store, change).await?;
        if let Some((action, object, detail)) = &done.note {
            self.note(action, object, detail).await;
        }
        Ok(done.answer)
    }

    /// Imports the file that comes, and answers. Who goes away before the answer imports nothing.
    async fn import(self, name: String, mut reading: tokio::io::BufReader<OwnedReadHalf>, mut writing: OwnedWriteHalf) {
        let cancelled = CancellationToken::new();
        let (parts, file) = mpsc::channel(4);
        let gone = cancelled.clone();
        tokio::spawn(async move {
            import::take_frames(&mut reading, parts).await;
            // Nothing follows a file but the end of whoever sent it.
            let _ended = reading.read(&mut [0]).await;
            gone.cancel();
        });
        let imported = self.importer.import(&self.store, TERMINAL, ReceiverStream::new(file), &cancelled).await;
        let answer = match imported {
            Ok(Imported { id, read_cpu_ns }) => {
                self.note("capture.import", &id.to_string(), &visible(name.as_bytes())).await;
                ControlAnswer::Imported { id, read_cpu_ns }
            }
            Err(error) => ControlAnswer::Failed { why: words(&error) },
        };
        if let Err(error) = write_answer(&mut writing, &answer).await {
            tracing::warn!(%error, "the answer to an import could not be delivered: its client is gone");
        }
    }

    /// The audit log has it as done by whoever may use this socket.
    async fn note(&self, action: &str, object: &str, detail: &str) {
        audit(&self.store, (TERMINAL, Role::Admin), action, (object, detail)).await;
    }
}

fn done(result: Result<(), RecipeError>) -> ControlAnswer {
    match result {
        Ok(()) => ControlAnswer::Done,
        Err(error) => ControlAnswer::Failed { why: words(&error) },
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // A socket that is left behind only refuses; the next console removes it.
        let _left = rustix::fs::unlinkat(&self.directory, NAME, rustix::fs::AtFlags::empty());
    }
}

/// The address that logs in with a token. The token stands in the fragment, which browsers do not send.
pub fn login_url(origin: &str, token: &str) -> String {
    format!("{origin}/login#token={token}")
}

/// Asks the console that runs on `dir` for a link that logs `user` in once with `role`, for `lasts_s` seconds; gives it with the role
/// that it has: for the name of an account no higher one than the account's.
///
/// # Errors
/// If no console runs there, or it refuses.
pub fn login_link(dir: &Path, user: &str, role: Role, lasts_s: u64) -> Result<(String, Role), Failure> {
    match answered(dir, &Request::LoginLink { user: user.to_owned(), role, lasts_s })? {
        ControlAnswer::LoginLink { url, role } => Ok((url, role)),
        _other => Err(other_answer(dir)),
    }
}

/// Who can come in to the console that runs on `dir`.
///
/// # Errors
/// If no console runs there, or it refuses.
pub fn access(dir: &Path) -> Result<AccessList, Failure> {
    match answered(dir, &Request::Access)? {
        ControlAnswer::Access { access } => Ok(access),
        _other => Err(other_answer(dir)),
    }
}

/// Ends a session or an unused link of the console that runs on `dir`; gives whose it was.
///
/// # Errors
/// If no console runs there, or there is no such session or link.
pub fn end_access(dir: &Path, id: &str) -> Result<String, Failure> {
    match answered(dir, &Request::EndAccess { id: id.to_owned() })? {
        ControlAnswer::Ended { user } => Ok(user),
        _other => Err(other_answer(dir)),
    }
}

fn asking(dir: &Path) -> String {
    format!("asking the console that runs on {}", dir.display())
}

fn other_answer(dir: &Path) -> Failure {
    Failure::new(format!("{}: it answered something else", asking(dir)))
}

/// What the console answers, which must run.
fn answered(dir: &Path, request: &Request) -> Result<ControlAnswer, Failure> {
    answered_within(dir, request, TIMEOUT)
}

/// The same, of what may take so long.
fn answered_within(dir: &Path, request: &Request, wait: Duration) -> Result<ControlAnswer, Failure> {
    let line = asking_for(dir, request).and_then(|stream| answer_of(stream, wait)).map_err(|error| {
        let failure = match is_absent(&error) {
            true => Failure::new(format!("no console runs on {}", dir.display())),
            false => Failure::because(asking(dir), error),
        };
        failure.remedy(
            "Start one with `bathyscope serve`, or name its directory with --data. Only its user and root may ask.",
        )
    })?;
    match serde_json::from_slice(line.as_bytes()) {
        Ok(ControlAnswer::Failed { why }) => Err(Failure::new(format!("{}: {why}", asking(dir)))),
        Ok(answer) => Ok(answer),
        Err(error) => Err(Failure::because(asking(dir), error)),
    }
}

/// The dynamic events of the running captures of the console that runs on `dir`; none if no console runs there.
///
/// # Errors
/// If it does not answer as agreed.
pub fn probes(dir: &Path) -> Result<Option<Vec<CaptureProbe>>, Failure> {
    asked(dir, "asking the console for its captures' probes", &Request::Probes)
}

/// Switches off those whose names match a pattern; gives them. None if no console runs there.
///
/// # Errors
/// If it does not answer as agreed, or could not do it.
pub fn detach_probes(dir: &Path, pattern: &str) -> Result<Option<Vec<CaptureProbe>>, Failure> {
    asked(dir, "detaching probes", &Request::DetachProbes { pattern: pattern.to_owned() })
}

/// Lets the kernel optimise its probes, or not; whether a console did it. False if none runs there.
///
/// # Errors
/// If it does not answer as agreed, or could not do it.
pub fn optimize_kprobes(dir: &Path, on: bool) -> Result<bool, Failure> {
    let done = asked(dir, "setting debug.kprobes-optimization", &Request::OptimizeKprobes { on })?;
    Ok(done.is_some())
}

fn asked(dir: &Path, doing: &str, request: &Request) -> Result<Option<Vec<CaptureProbe>>, Failure> {
    let line = match ask(dir, request) {
        Ok(line) => line,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(Failure::because(doing, error)),
    };
    match serde_json::from_slice(line.as_bytes()) {
        Ok(ControlAnswer::Probes { probes }) => Ok(Some(probes)),
        Ok(ControlAnswer::Done) => Ok(Some(Vec::new())),
        Ok(ControlAnswer::Failed { why }) => Err(Failure::new(format!("{doing}: {why}"))),
        Ok(
            ControlAnswer::LoginLink { .. }
            | ControlAnswer::Access { .. }
            | ControlAnswer::People { .. }
            | ControlAnswer::Rights { .. }
            | ControlAnswer::Webhooks { .. }
            | ControlAnswer::Ended { .. }
            | ControlAnswer::Told { .. }
            | ControlAnswer::Shares { .. }
            | ControlAnswer::Share { .. }
            | ControlAnswer::Flights { .. }
            | ControlAnswer::Fired { .. }
            | ControlAnswer::Started { .. }
            | ControlAnswer::Retention { .. }
            | ControlAnswer::FireToken { .. }
            | ControlAnswer::Imported { .. },
        ) => Err(Failure::new(format!("{doing}: it answered something else"))),
        Err(error) => Err(Failure::because(doing, error)),
    }
}

/// Has the console that runs on `dir` import a file; none if no console runs there.
///
/// # Errors
/// If the file cannot be read, or the console refuses it.
pub fn import(dir: &Path, name: &str, file: &mut std::fs::File) -> Result<Option<Imported>, Failure> {
    let doing = || format!("importing {name} in the console that runs on {}", dir.display());
    let request = Request::Import { name: name.chars().take(NAME_CHARS).collect() };
    let mut stream = match asking_for(dir, &request) {
        Ok(stream) => stream,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(Failure::because(doing(), error)),
    };
    import::to_frames(file, &mut stream).map_err(|error| Failure::because(doing(), error))?;
    let mut line = String::new();
    let read = BufReader::new(stream.take(ANSWER_BYTES)).read_line(&mut line);
    read.map_err(|error| Failure::because(doing(), error))?;
    match serde_json::from_slice(line.as_bytes()) {
        Ok(ControlAnswer::Imported { id, read_cpu_ns }) => Ok(Some(Imported { id, read_cpu_ns })),
        Ok(ControlAnswer::Failed { why }) => {
            Err(Failure::new(format!("{}: {why}", doing())).remedy("Nothing was stored."))
        }
        Ok(_other) => Err(other_answer(dir)),
        Err(error) => Err(Failure::because(doing(), error)),
    }
}

/// Whether an error says that no console runs there.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused)
}

fn connect(dir: &Path) -> io::Result<std::os::unix::net::UnixStream> {
    let directory = open_directory(dir)?;
    std::os::unix::net::UnixStream::connect(through(&directory))
}

fn send(stream: &mut std::os::unix::net::UnixStream, request: &Request) -> io::Result<()> {
    let mut request = serde_json::to_vec(request)?;
    request.push(b'\n');
    stream.write_all(&request)
}

fn asking_for(dir: &Path, request: &Request) -> io::Result<std::os::unix::net::UnixStream> {
    let mut stream = connect(dir)?;
    send(&mut stream, request)?;
    Ok(stream)
}

fn ask(dir: &Path, request: &Request) -> io::Result<String> {
    answer_of(asking_for(dir, request)?, TIMEOUT)
}

fn answer_of(stream: std::os::unix::net::UnixStream, wait: Duration) -> io::Result<String> {
    stream.set_read_timeout(Some(wait))?;
    let mut line = String::new();
    BufReader::new(stream.take(ANSWER_BYTES)).read_line(&mut line)?;
    Ok(line)
}

fn open_directory(dir: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(dir, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// The socket's path through an open directory: however long the directory's own path is, this one fits.
fn through(directory: &OwnedFd) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}/{NAME}", directory.as_raw_fd()))
}

#[cfg(test)]
mod tests;
