//! The child that reads one file: it has the file open and nothing else, and says what is in it.

use std::{
    io::{self, Read as _},
    os::fd::BorrowedFd,
};

use bathyscope_link::words;
use bathyscope_protocol::sandbox::{self, Inside, Limits, Sandbox, SandboxError};
use bathyscope_store::{MAX_IMPORT_MESSAGE_BYTES, tell_file};
use tokio::runtime::Runtime;

use super::{Format, HEAD_BYTES, MAX_IMPORT_BYTES, unknown_format};

/// What reading a file may use: the file as it comes, as a database in memory, and what reading that takes.
const LIMITS: Limits = Limits { memory_bytes: 2 << 30, cpu_seconds: 1800, wall: None, threads: true, user: None };
/// What the child says of a file that is too large.
const TOO_LARGE: &[u8] = b"L";
/// How it begins to say why it could not read the file.
const UNREADABLE: u8 = b'U';

/// Starts a child that reads `input` to its end and says what is in it. Where this process becomes another `user` later, the
/// child does so at once.
///
/// # Errors
/// If there can be no more processes or descriptors.
pub fn start(input: BorrowedFd<'_>, user: Option<(u32, u32)>) -> Result<Sandbox, SandboxError> {
    sandbox::start(Limits { user, ..LIMITS }, Some(input), runtime, read)
}

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
        Ok(_) => match Format::of(bytes.get(..HEAD_BYTES).unwrap_or(&bytes)) {
            Some(Format::Bathy) => runtime.block_on(tell_file(bytes, &mut |message| inside.send(message))),
            None => inside.send(&[b"F", unknown_format().as_bytes()].concat()),
        },
        Err(error) => inside.send(&[&[UNREADABLE], error.to_string().as_bytes()].concat()),
    };
    // If nobody listens any more there is nothing to be done.
    drop(said);
    // Its threads are not waited for: this process ends.
    runtime.shutdown_background();
}

/// What a child says, or why it says nothing any more.
pub type Message = Result<Option<Vec<u8>>, String>;

/// The child's next message.
pub fn watch(child: &mut Sandbox) -> Message {
    child.receive(MAX_IMPORT_MESSAGE_BYTES).map_err(|error| words(&error))
}

/// What the first message of a child is about.
#[derive(Debug)]
pub enum ImportReply {
    /// The file is larger than [`MAX_IMPORT_BYTES`].
    TooLarge,
    /// It could not be read, and why.
    Unreadable(String),
    /// What is in it.
    Content(Message),
}

/// Takes the first message of a child.
pub fn first_answer(message: Message) -> ImportReply {
    match message {
        Ok(Some(message)) if message == TOO_LARGE => ImportReply::TooLarge,
        Ok(Some(message)) if message.first() == Some(&UNREADABLE) => {
            ImportReply::Unreadable(String::from_utf8_lossy(message.get(1..).unwrap_or_default()).into_owned())
        }
        content => ImportReply::Content(content),
    }
}
