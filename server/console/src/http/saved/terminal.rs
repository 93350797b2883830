//! The same files at a terminal: a console without an agent and without listeners reads the database, beside a console that runs or
//! instead of it, and nothing is changed.

use std::time::Duration;

use bathyscope_capture::CaptureId;
use bathyscope_link::AgentLink;
use bathyscope_protocol::{ClientError, ProtocolError};
use bathyscope_recorder::{Recorder, RecorderOptions};
use bathyscope_store::{InvestigationId, Sight, Store};
use tokio_util::sync::CancellationToken;

use super::{
    super::{
        access::{InvestigationReader, Reader, Who},
        error::{ApiError, ErrorKind},
        hosts::HostPolicy,
        people::People,
        session::{Session, Sessions},
        share::Shares,
        state::{AppState, CommandPolicy, ScriptPolicy, Setup},
    },
    AskedFile, FileMaker, MadeFile, capture_file, investigation_file,
};
use crate::{
    Failure,
    config::{ListenConfig, Transport},
    import::Importer,
    retention::RetentionRule,
    webhooks::Webhooks,
};

/// How long it is read: nobody's browser waits.
const PATIENCE: Duration = Duration::from_secs(600);

/// The file of a view of a capture that `store` has, of at most so many bytes. It does not say where it was saved.
///
/// # Errors
/// As for a browser: the capture is not there or still recorded, it has no such tab, or the file would be too large.
pub async fn capture_file_at_terminal(
    store: &Store,
    id: CaptureId,
    (asked, most_bytes): (&AskedFile, Option<usize>),
) -> Result<MadeFile, Failure> {
    let state = state(store)?;
    let of = ("capture", &*id.to_string(), "captures list");
    let maker = FileMaker::new(&state, PATIENCE, most_bytes).map_err(|error| failure(error, of))?;
    let made = capture_file(maker, (Reader::of(who()), id), asked, None).await;
    made.map_err(|error| failure(error, of))
}

/// The file of an investigation that `store` has, of at most so many bytes.
///
/// # Errors
/// As for a browser.
pub async fn investigation_file_at_terminal(
    store: &Store,
    id: InvestigationId,
    most_bytes: Option<usize>,
) -> Result<MadeFile, Failure> {
    let state = state(store)?;
    let of = ("investigation", &*id.to_string(), "investigations list");
    let maker = FileMaker::new(&state, PATIENCE, most_bytes).map_err(|error| failure(error, of))?;
    let reader = InvestigationReader::of(who());
    let made = investigation_file((maker, &state), (&reader, id), None).await;
    made.map_err(|error| failure(error, of))
}

/// Whoever can read the database sees all of it.
fn who() -> Who {
    Who { session: Session::of_terminal(), sight: Sight::ALL }
}

/// What went wrong, at a terminal; `what` is which thing was wanted, and the verb that lists all.
fn failure(error: ApiError, (what, id, list): (&str, &str, &str)) -> Failure {
    if error.kind == ErrorKind::NotFound {
        return Failure::new(format!("there is no {what} {id}")).remedy(format!("`bathyscope {list}` lists them."));
    }
    let doing = format!("{}: {}", error.doing, error.why);
    match error.source {
        // A terminal is the log.
        Some(source) => Failure::because(doing, source),
        None => Failure::new(doing).remedy(error.remedy),
    }
}

/// What handlers need, without anybody who could ask them but this process.
fn state(store: &Store) -> Result<AppState, Failure> {
    let stop = CancellationToken::new();
    let link = AgentLink::new(|| Err(ClientError::Broken(ProtocolError::Closed)))
        .map_err(|error| Failure::because("starting a thread", error))?;
    let listen = ListenConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        allow_host: Vec::new(),
        transport: Transport::Plain,
        public_url: None,
    };
    let private_dir = std::env::temp_dir();
    let sessions = Sessions::none(store.clone(), &stop);
    let setup = Setup {
        store: store.clone(),
        recorder: Recorder::new(store.clone(), link.clone(), RecorderOptions::new(private_dir.clone())),
        link,
        people: People::new(store.clone(), sessions.clone(), &stop),
        sessions,
        proxy_users: None,
        shares: Shares::none(store.clone(), &stop),
        webhooks: Webhooks::new(store.clone(), None, None, &stop),
        oidc: None,
        hosts: HostPolicy::new(&listen, listen.listen)?,
        behind_proxy: false,
        scripts: ScriptPolicy::default(),
        commands: CommandPolicy::default(),
        retention: RetentionRule::default(),
        private_dir,
        importer: Importer::none("a file of a view imports nothing"),
        stop,
    };
    Ok(AppState::new(setup))
}
