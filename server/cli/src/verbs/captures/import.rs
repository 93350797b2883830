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
    time::Duration,
};

use bathyscope_capture::CaptureId;
use bathyscope_console::{
    control,
    import::{self, ImportReply, Imported, MAX_IMPORT_BYTES, Message},
};
use bathyscope_protocol::sandbox::{HangUp, Sandbox, children_cpu_ns};
use bathyscope_store::{NextMessage, Store, StoreError};

use super::{
    json_line,
    open::{self, Owner},
    text,
};
use crate::{Failure, config::DataArgs, signals::EndSignals};

/// Who owns what is imported at a terminal.
const OWNER: &str = "terminal";

/// Why an import ends that somebody has ended: the store removes what it has of it before that is told.
const CANCELLED: &str = "it was cancelled, and nothing of it is kept";
/// How long removing what there is may take after that.
const CLEAN_UP_TIMEOUT: Duration = Duration::from_secs(10);

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
    let dir = data.directory()?;
    if let Some(imported) = control::import(&dir, &name, &mut input)? {
        return Ok(said(&imported, json));
    }
    // The child is who this process becomes, which else could not end it.
    let owner = Owner::of(&dir);
    let mut child = import::start(input.as_fd(), owner.ids())
        .map_err(|error| Failure::because("starting a process without rights", error))?;
    drop(input);
    let first = match import::first_answer(import::watch(&mut child)) {
        ImportReply::TooLarge => return Err(too_large(file)),
        ImportReply::Unreadable(why) => return Err(Failure::because(doing(), io::Error::other(why))),
        ImportReply::Content(first) => first,
    };
    let id = open::writing_as(owner, &dir, async |store| store_it(&store, child, first).await)?;
    // There was no other child, and it has been waited for.
    Ok(said(&Imported { id, read_cpu_ns: Some(children_cpu_ns()) }, json))
}

/// What is printed: the id, or with what reading cost as JSON. Else that is on standard error, beside the id.
#[expect(clippy::print_stderr, reason = "standard output is the id, for whoever goes on with it")]
fn said(imported: &Imported, json: bool) -> String {
    if json {
        return json_line(&serde_json::json!({ "id": imported.id, "read_cpu_ns": imported.read_cpu_ns }));
    }
    if let Some(ns) = imported.read_cpu_ns {
        eprintln!("bathyscope: reading the file took {} of a CPU", text::duration(ns));
    }
    format!("{}\n", imported.id)
}

fn too_large(file: &Path) -> Failure {
    let failure = Failure::new(format!("{} is larger than {} MiB", file.display(), MAX_IMPORT_BYTES >> 20));
    failure.remedy("Record less at a time: limit the capture by rows or by size.")
}

async fn store_it(store: &Store, mut child: Sandbox, first: Message) -> Result<CaptureId, StoreError> {
    let cancelled = Arc::new(AtomicBool::new(false));
    let listening = tokio::spawn(end_when_told(Arc::clone(&cancelled), child.hang_up().ok()));
    let mut first = Some(first);
    let next: NextMessage = Box::new(move || {
        let message = first.take().unwrap_or_else(|| import::watch(&mut child));
        if cancelled.load(Ordering::Relaxed) { Err(CANCELLED.to_owned()) } else { message }
    });
    let imported = store.import_messages(next, OWNER, bathyscope_link::clock::wall_unix_ns()).await;
    listening.abort();
    imported
}

/// Has the import end when this process is asked to: at once where it is asked twice, or where the store does not come to an
/// end in time. A child that says nothing holds nobody up.
#[expect(clippy::print_stderr, clippy::exit, reason = "the process ends here, whatever the store waits for")]
async fn end_when_told(cancelled: Arc<AtomicBool>, hang_up: Option<HangUp>) {
    // Where they cannot be watched, each of them ends the process as it does any.
    let Ok(mut signals) = EndSignals::watch() else { return };
    signals.next().await;
    cancelled.store(true, Ordering::Relaxed);
    if let Some(hang_up) = hang_up {
        hang_up.now();
    }
    let _told_again_or_out_of_time = tokio::time::timeout(CLEAN_UP_TIMEOUT, signals.next()).await;
    eprintln!("bathyscope: the import was cancelled; what there is of it is removed when the database is opened next");
    std::process::exit(1);
}
