//! The console's side of an import: sends a file to the reader as it comes, and gives the store what is said about it.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream as StdStream},
    sync::{Arc, OnceLock},
    time::Duration,
};

use bathyscope_capture::CaptureId;
use bathyscope_store::{NextMessage, Store, StoreError};
use bytes::{Bytes, BytesMut};
use futures_util::{Stream, StreamExt as _};
use tokio::{
    io::AsyncWriteExt as _,
    net::UnixStream,
    runtime::Handle,
    sync::{Mutex, OwnedMutexGuard},
};
use tokio_util::sync::CancellationToken;

use super::{
    Format, HEAD_BYTES, MAX_IMPORT_BYTES,
    child::{ImportReply, Message, first_answer},
    frames::{self, DATA_BYTES, FrameKind},
    unknown_format,
};

/// How long an import waits for the one before it.
const TURN_TIMEOUT: Duration = Duration::from_secs(20);
/// Why an import ended that nobody waits for.
const CANCELLED: &str = "it was cancelled";
/// How long no byte of a file may come.
const SILENCE: Duration = Duration::from_secs(30);

/// Why nothing was imported.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file, or what it says, is not right.
    #[error("{0}")]
    File(String),
    /// It is larger than [`MAX_IMPORT_BYTES`].
    #[error("the file is larger than {} MiB", MAX_IMPORT_BYTES >> 20)]
    TooLarge,
    /// It came too slowly, or not to its end.
    #[error("the file did not arrive: {0}")]
    Broken(String),
    /// Another one is being imported.
    #[error("another file is being imported; try again when that is done")]
    Busy,
    /// There is no process that may read files.
    #[error("this console cannot read files: {0}")]
    NoReader(String),
    /// The reader is gone.
    #[error("the process that reads files has ended: {0}")]
    Reader(#[source] io::Error),
    /// The store's.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What was imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imported {
    /// The capture, new or known before.
    pub id: CaptureId,
    /// What the process that read the file used of a CPU, nanoseconds; none if it could not be asked any more.
    pub read_cpu_ns: Option<u64>,
}

/// What imports files in the console: one at a time.
#[derive(Clone, Debug)]
pub struct Importer {
    reader: Result<Arc<Mutex<UnixStream>>, String>,
    on_import: Arc<OnImport>,
}

/// Told which capture was imported.
#[derive(Default)]
struct OnImport(OnceLock<Box<dyn Fn(CaptureId) + Send + Sync>>);

impl std::fmt::Debug for OnImport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("OnImport").finish_non_exhaustive()
    }
}

/// The reader before there is a runtime.
#[derive(Debug)]
pub struct NewReader(Result<StdStream, String>);

impl NewReader {
    /// Has a reader started that has the other end of a socket, as [`super::serve_reader`] takes it: to be called while this
    /// process may still start others.
    pub fn start(start_reader: impl FnOnce(OwnedFd) -> io::Result<()>) -> Self {
        let start = || -> io::Result<StdStream> {
            let (ours, theirs) = StdStream::pair()?;
            start_reader(theirs.into())?;
            ours.set_nonblocking(true)?;
            Ok(ours)
        };
        Self(start().map_err(|error| format!("its process could not be started: {error}")))
    }

    /// For a runtime. To be called within it.
    pub fn ready(self) -> Importer {
        let reader = self.0.and_then(|stream| UnixStream::from_std(stream).map_err(|error| error.to_string()));
        Importer { reader: reader.map(|stream| Arc::new(Mutex::new(stream))), on_import: Arc::default() }
    }
}

impl Importer {
    /// One that imports nothing, and says why.
    pub fn none(why: &str) -> Self {
        Self { reader: Err(why.to_owned()), on_import: Arc::default() }
    }

    /// Tells `told` of each capture that was imported. Only the first counts.
    pub fn when_imported(&self, told: impl Fn(CaptureId) + Send + Sync + 'static) {
        let _first = self.on_import.0.set(Box::new(told));
    }

    /// Imports the file that `body` brings, for `owner`. Where it is `cancelled` before its end, nothing is imported.
    ///
    /// # Errors
    /// If the file does not come, is not right, or cannot be stored. Nothing is left of it then.
    pub async fn import<E: std::fmt::Display>(
        &self,
        store: &Store,
        owner: &str,
        body: impl Stream<Item = Result<Bytes, E>> + Unpin,
        cancelled: &CancellationToken,
    ) -> Result<Imported, ImportError> {
        let (head, body) = known_head(body).await?;
        let reader = self.reader.clone().map_err(ImportError::NoReader)?;
        let turn =
            tokio::time::timeout(TURN_TIMEOUT, reader.lock_owned()).await.map_err(|_elapsed| ImportError::Busy)?;
        let mut session = ImportTurn { reader: Some(turn), idle: false, read_cpu_ns: None };
        session.upload(head, body, cancelled).await?;
        let first = match first_answer(session.message_unless(cancelled).await) {
            ImportReply::TooLarge => return Err(ImportError::TooLarge),
            ImportReply::Unreadable(why) => return Err(ImportError::Broken(why)),
            ImportReply::Content(content) => content,
        };
        let session = Arc::new(Mutex::new(session));
        let next = messages(Arc::clone(&session), first, cancelled.clone());
        let id = store.import_messages(next, owner, bathyscope_link::clock::wall_unix_ns()).await?;
        let read_cpu_ns = session.lock().await.close().await;
        if let Some(told) = self.on_import.0.get() {
            told(id);
        }
        Ok(Imported { id, read_cpu_ns })
    }
}

/// The first bytes of a file, which say that it can be imported, and the rest.
async fn known_head<S, E>(mut body: S) -> Result<(Bytes, S), ImportError>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::fmt::Display,
{
    let mut head = BytesMut::new();
    while head.len() < HEAD_BYTES
        && let Some(bytes) = next_bytes(&mut body).await?
    {
        head.extend_from_slice(&bytes);
    }
    if head.is_empty() {
        return Err(ImportError::File("it is empty".to_owned()));
    }
    if Format::of(&head).is_none() {
        return Err(ImportError::File(unknown_format()));
    }
    Ok((head.freeze(), body))
}

async fn next_bytes<S, E>(body: &mut S) -> Result<Option<Bytes>, ImportError>
where
    S: Stream<Item = Result<Bytes, E>> + Unpin,
    E: std::fmt::Display,
{
    match tokio::time::timeout(SILENCE, body.next()).await {
        Ok(Some(Ok(bytes))) => Ok(Some(bytes)),
        Ok(Some(Err(error))) => Err(ImportError::Broken(error.to_string())),
        Ok(None) => Ok(None),
        Err(_elapsed) => Err(ImportError::Broken(format!("nothing came for {} s", SILENCE.as_secs()))),
    }
}

/// The turn of one file with the reader.
struct ImportTurn {
    /// None once it was given back.
    reader: Option<OwnedMutexGuard<UnixStream>>,
    /// Whether the reader does nothing for this file any more.
    idle: bool,
    /// What the child used of a CPU, once the reader has told it.
    read_cpu_ns: Option<u64>,
}

impl ImportTurn {
    fn stream(&mut self) -> Result<&mut UnixStream, ImportError> {
        self.reader.as_deref_mut().ok_or_else(|| ImportError::Reader(io::ErrorKind::NotConnected.into()))
    }

    /// Sends the file.
    async fn upload<S, E>(&mut self, head: Bytes, mut body: S, cancelled: &CancellationToken) -> Result<(), ImportError>
    where
        S: Stream<Item = Result<Bytes, E>> + Unpin,
        E: std::fmt::Display,
    {
        self.send(FrameKind::Begin, &[]).await?;
        let (mut next, mut sent) = (Some(head), 0_u64);
        while let Some(bytes) = next {
            sent = sent.saturating_add(bytes.len() as u64);
            if sent > MAX_IMPORT_BYTES {
                return Err(ImportError::TooLarge);
            }
            for part in bytes.chunks(DATA_BYTES) {
                self.send(FrameKind::Data, part).await?;
            }
            next = tokio::select! {
                () = cancelled.cancelled() => return Err(ImportError::Broken(CANCELLED.to_owned())),
                next = next_bytes(&mut body) => next?,
            };
        }
        self.send(FrameKind::End, &[]).await
    }

    async fn send(&mut self, kind: FrameKind, bytes: &[u8]) -> Result<(), ImportError> {
        let head = frames::head(kind, bytes.len()).map_err(ImportError::Reader)?;
        let stream = self.stream()?;
        stream.write_all(&head).await.map_err(ImportError::Reader)?;
        stream.write_all(bytes).await.map_err(ImportError::Reader)
    }

    /// What the child says next, unless that is not wanted any more. A message that has begun is taken whole, so that what
    /// follows it is understood.
    async fn message_unless(&mut self, cancelled: &CancellationToken) -> Message {
        let stream = self.stream().map_err(|error| error.to_string())?;
        tokio::select! {
            () = cancelled.cancelled() => return Err(CANCELLED.to_owned()),
            ready = stream.readable() => ready.map_err(|error| error.to_string())?,
        }
        self.message().await
    }

    /// What the child says next.
    async fn message(&mut self) -> Message {
        let (kind, bytes) = self.frame().await.map_err(|error| error.to_string())?;
        match kind {
            FrameKind::Message => Ok(Some(bytes)),
            FrameKind::Ended => {
                self.idle = true;
                self.read_cpu_ns = cpu_ns(&bytes);
                Ok(None)
            }
            FrameKind::Failed => {
                self.idle = true;
                Err(String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => Err("the process that reads files broke the protocol".to_owned()),
        }
    }

    async fn frame(&mut self) -> Result<(FrameKind, Vec<u8>), ImportError> {
        frames::read_async(self.stream()?).await.map_err(ImportError::Reader)
    }

    /// Has the reader end what it does for this file.
    async fn give_up(&mut self) -> Result<(), ImportError> {
        self.send(FrameKind::Cancel, &[]).await?;
        loop {
            let (kind, bytes) = self.frame().await?;
            // It may have ended by itself before it heard of this.
            if matches!(kind, FrameKind::Ended | FrameKind::Idle) {
                self.read_cpu_ns = cpu_ns(&bytes).or(self.read_cpu_ns);
            }
            if kind == FrameKind::Idle {
                self.idle = true;
                return Ok(());
            }
        }
    }

    /// Ends it, and tells what the child used of a CPU.
    async fn close(&mut self) -> Option<u64> {
        if !self.idle
            && let Err(error) = self.give_up().await
        {
            // Nobody can use the reader after that, and the next import says so.
            self.idle = true;
            tracing::warn!(%error, "the process that reads files does not answer");
        }
        self.read_cpu_ns
    }
}

/// Nanoseconds in a frame of the reader's.
fn cpu_ns(bytes: &[u8]) -> Option<u64> {
    bytes.try_into().ok().map(u64::from_le_bytes)
}

impl Drop for ImportTurn {
    /// The next file gets its turn when nothing is left of this one.
    fn drop(&mut self) {
        let Some(reader) = self.reader.take().filter(|_| !self.idle) else { return };
        let mut rest = Self { reader: Some(reader), idle: false, read_cpu_ns: None };
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn(async move { rest.close().await });
        }
    }
}

/// The child's messages for the store: the first, then those that come, until `cancelled`.
fn messages(session: Arc<Mutex<ImportTurn>>, first: Message, cancelled: CancellationToken) -> NextMessage {
    let mut first = Some(first);
    let runtime = Handle::current();
    Box::new(move || match first.take() {
        Some(first) => first,
        None => runtime.block_on(async { session.lock().await.message_unless(&cancelled).await }),
    })
}
