//! `captures import`: a file of somebody else is read by a child without rights.
//!
//! The child is started before anything else, with the file open: so it can be any file that whoever types this may read,
//! and nothing else. The database is opened when the child has read the file to its end and found it to be a capture; a pipe
//! that never ends holds nobody else up.

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::AsFd as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bathyscope_protocol::sandbox::{self, Inside, Limits, Sandbox, SandboxError};
use bathyscope_store::{MAX_IMPORT_MESSAGE_BYTES, NextMessage, Store, StoreError, tell_file};
use tokio::runtime::Runtime;

use super::{json_line, open};
use crate::{Failure, config::DataArgs};

/// Who owns what is imported at a terminal.
const OWNER: &str = "terminal";
/// The largest file that is imported at a terminal: it is read into memory.
const MAX_IMPORT_BYTES: u64 = 512 << 20;
/// What reading a file may use: the file as it comes, as a database in memory, and what reading that takes.
const LIMITS: Limits = Limits { memory_bytes: 2 << 30, cpu_seconds: 1800, wall: None, threads: true };

/// Imports `file`, and gives what is printed.
///
/// # Errors
/// If it cannot be read, is no capture, or the database cannot be written.
pub(super) fn run(file: &Path, json: bool, data: &DataArgs) -> Result<String, Failure> {
    let doing = || format!("reading {}", file.display());
    let input = File::open(file).map_err(|error| Failure::because(doing(), error))?;
    let metadata = input.metadata().map_err(|error| Failure::because(doing(), error))?;
    if metadata.is_dir() {
        return Err(Failure::because(doing(), io::Error::from(io::ErrorKind::IsADirectory)));
    }
    if metadata.is_file() && metadata.len() > MAX_IMPORT_BYTES {
        return Err(too_large(file));
    }
    let mut child = sandbox::start(LIMITS, Some(input.as_fd()), runtime, read)
        .map_err(|error| Failure::because("starting a process without rights", error))?;
    drop(input);
    let first = match receive(&mut child) {
        Ok(Some(message)) if message == TOO_LARGE => return Err(too_large(file)),
        Ok(Some(message)) if message.first() == Some(&UNREADABLE) => {
            let why = String::from_utf8_lossy(message.get(1..).unwrap_or_default()).into_owned();
            return Err(Failure::because(doing(), io::Error::other(why)));
        }
        first => first,
    };
    open::writing(data, async |store| import(&store, child, first, json).await)
}

fn too_large(file: &Path) -> Failure {
    let failure = Failure::new(format!("{} is larger than {} MiB", file.display(), MAX_IMPORT_BYTES >> 20));
    failure.remedy("Record less at a time: limit the capture by rows or by room.")
}

/// What the child says of a file that is too large.
const TOO_LARGE: &[u8] = b"L";
/// How it begins to say why it could not read the file.
const UNREADABLE: u8 = b'U';

/// What the child computes with; it starts no thread.
fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().build()
}

/// The child: reads the file to its end, and says what is in it.
fn read(runtime: Runtime, mut inside: Inside) {
    let Some(input) = inside.input.take() else { return };
    let mut bytes = Vec::new();
    let said = match input.take(MAX_IMPORT_BYTES + 1).read_to_end(&mut bytes) {
        Ok(_) if bytes.len() as u64 > MAX_IMPORT_BYTES => inside.send(TOO_LARGE),
        Ok(_) => runtime.block_on(tell_file(bytes, &mut |message| inside.send(message))),
        Err(error) => inside.send(&[&[UNREADABLE], error.to_string().as_bytes()].concat()),
    };
    // If nobody listens any more there is nothing to be done.
    drop(said);
    // Its threads are not waited for: this process ends.
    runtime.shutdown_background();
}

type Message = Result<Option<Vec<u8>>, String>;

fn receive(child: &mut Sandbox) -> Message {
    let why = |error: SandboxError| match std::error::Error::source(&error) {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    child.receive(MAX_IMPORT_MESSAGE_BYTES).map_err(why)
}

async fn import(store: &Store, mut child: Sandbox, first: Message, json: bool) -> Result<String, StoreError> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&cancelled);
    let listening = tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            told.store(true, Ordering::Relaxed);
        }
    });
    let mut first = Some(first);
    let next: NextMessage = Box::new(move || {
        let message = first.take().unwrap_or_else(|| receive(&mut child));
        if cancelled.load(Ordering::Relaxed) { Err("it was cancelled".to_owned()) } else { message }
    });
    let imported = store.import_messages(next, OWNER, crate::recorder::wall_unix_ns()).await;
    listening.abort();
    let id = imported?;
    Ok(if json { json_line(&serde_json::json!({ "id": id })) } else { format!("{id}\n") })
}
