//! `captures import`: a file of somebody else is read by a child without rights.
//!
//! Where a console runs, the file goes to it as it is. Else the child is started before anything else, with the file open: so
//! it can be any file that whoever types this may read, and nothing else. The database is opened when the child has read the
//! file to its end and found it to be a capture; a pipe that never ends holds nobody else up.

use std::{
    fs::File,
    io,
    os::fd::AsFd as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bathyscope_capture::CaptureId;
use bathyscope_protocol::sandbox::Sandbox;
use bathyscope_store::{NextMessage, Store, StoreError};

use super::{json_line, open};
use crate::{
    Failure,
    config::DataArgs,
    control,
    import::{self, Answer, MAX_IMPORT_BYTES, Message},
};

/// Who owns what is imported at a terminal.
const OWNER: &str = "terminal";

/// Why an import ends that somebody has ended: the store removes what it has of it before that is told.
const CANCELLED: &str = "it was cancelled, and nothing of it is kept";

/// Imports `file`, and gives what is printed.
///
/// # Errors
/// If it cannot be read, is no capture, or the database cannot be written.
pub(super) fn run(file: &Path, json: bool, data: &DataArgs) -> Result<String, Failure> {
    let doing = || format!("reading {}", file.display());
    let mut input = File::open(file).map_err(|error| Failure::because(doing(), error))?;
    let metadata = input.metadata().map_err(|error| Failure::because(doing(), error))?;
    if metadata.is_dir() {
        return Err(Failure::because(doing(), io::Error::from(io::ErrorKind::IsADirectory)));
    }
    if metadata.is_file() && metadata.len() > MAX_IMPORT_BYTES {
        return Err(too_large(file));
    }
    let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
    if let Some(id) = control::import(&data.directory()?, &name, &mut input)? {
        return Ok(said(id, json));
    }
    let mut child =
        import::start(input.as_fd()).map_err(|error| Failure::because("starting a process without rights", error))?;
    drop(input);
    let first = match import::first_answer(import::watch(&mut child)) {
        Answer::TooLarge => return Err(too_large(file)),
        Answer::Unreadable(why) => return Err(Failure::because(doing(), io::Error::other(why))),
        Answer::Content(first) => first,
    };
    let id = open::writing(data, async |store| store_it(&store, child, first).await)?;
    Ok(said(id, json))
}

fn said(id: CaptureId, json: bool) -> String {
    if json { json_line(&serde_json::json!({ "id": id })) } else { format!("{id}\n") }
}

fn too_large(file: &Path) -> Failure {
    let failure = Failure::new(format!("{} is larger than {} MiB", file.display(), MAX_IMPORT_BYTES >> 20));
    failure.remedy("Record less at a time: limit the capture by rows or by size.")
}

async fn store_it(store: &Store, mut child: Sandbox, first: Message) -> Result<CaptureId, StoreError> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&cancelled);
    // A child that says nothing must not keep anybody from ending this.
    let hang_up = child.hang_up().ok();
    let listening = tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            told.store(true, Ordering::Relaxed);
            if let Some(hang_up) = hang_up {
                hang_up.now();
            }
        }
    });
    let mut first = Some(first);
    let next: NextMessage = Box::new(move || {
        let message = first.take().unwrap_or_else(|| import::watch(&mut child));
        if cancelled.load(Ordering::Relaxed) { Err(CANCELLED.to_owned()) } else { message }
    });
    let imported = store.import_messages(next, OWNER, crate::recorder::wall_unix_ns()).await;
    listening.abort();
    imported
}
