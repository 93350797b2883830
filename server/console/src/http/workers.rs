//! Where views are made: off the runtime, a few at a time, and not for those who went away.

use std::{
    io::{self, Write},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use axum::body::Body;
use bathyscope_query::QueryError;
use bathyscope_reader::CaptureView;
use bathyscope_views::{Cancel, ViewError};
use bytes::{Bytes, BytesMut};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;

use super::{
    error::{ApiError, ErrorKind},
    turns::QueryTurns,
};

/// How long a view waits for its turn.
const TURN_TIMEOUT: Duration = Duration::from_secs(20);
/// Downloads at a time; they last as long as the client takes.
const DOWNLOADS: usize = 8;
/// Files of views that are made at a time; each asks for many views, and is held in memory.
const FILES: usize = 2;
/// Bytes of a piece of a download.
const PIECE_BYTES: usize = 64 << 10;
/// Pieces that wait for the client.
const PIECES: usize = 4;

/// Turns for work that takes a CPU.
#[derive(Clone, Debug)]
pub(super) struct Workers {
    views: Arc<Semaphore>,
    queries: QueryTurns,
    downloads: Arc<Semaphore>,
    files: Arc<Semaphore>,
}

impl Default for Workers {
    fn default() -> Self {
        let cpus = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            views: Arc::new(Semaphore::new(cpus.max(2))),
            queries: QueryTurns::default(),
            downloads: Arc::new(Semaphore::new(DOWNLOADS)),
            files: Arc::new(Semaphore::new(FILES)),
        }
    }
}

/// Sets the flag when whoever waits is dropped.
struct CancelOnDrop(Arc<Cancel>);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Workers {
    /// Makes a view of a capture. If the caller is dropped, the view's cancel flag is set.
    pub(super) async fn view<T: Send + 'static>(
        &self,
        view: CaptureView,
        make: impl FnOnce(&CaptureView, &Cancel) -> Result<T, ViewError> + Send + 'static,
    ) -> Result<T, ApiError> {
        Ok(Self::work(turn(&self.views).await?, move |cancel| view.checked(make(&view, cancel))).await??)
    }

    /// Answers a query, in turn with others of `user`. If the caller is dropped, the cancel flag is set.
    pub(super) async fn query<T: Send + 'static>(
        &self,
        user: &str,
        answer: impl FnOnce(&Arc<Cancel>) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, ApiError> {
        Ok(Self::work(self.queries.take(user).await?, answer).await??)
    }

    /// Tells what can be asked, which is quick. If the caller is dropped, the cancel flag is set.
    pub(super) async fn tell<T: Send + 'static>(
        &self,
        tell: impl FnOnce(&Arc<Cancel>) -> Result<T, QueryError> + Send + 'static,
    ) -> Result<T, ApiError> {
        Ok(Self::work(turn(&self.views).await?, tell).await??)
    }

    /// A turn to make a file of views, until it is dropped.
    pub(super) async fn file(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        turn(&self.files).await
    }

    /// Works off the runtime; if the caller is dropped, the flag that `work` gets is set.
    async fn work<T: Send + 'static>(
        turn: impl Send + 'static,
        work: impl FnOnce(&Arc<Cancel>) -> T + Send + 'static,
    ) -> Result<T, ApiError> {
        let cancel = CancelOnDrop(Arc::default());
        let flag = Arc::clone(&cancel.0);
        let made = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work(&flag)
        });
        match made.await {
            Ok(result) => Ok(result),
            Err(error) => match error.try_into_panic() {
                Ok(payload) => std::panic::resume_unwind(payload),
                Err(error) => Err(ApiError::internal("making the view", error)),
            },
        }
    }

    /// A body that `write` fills while the client takes it. An error after the first byte cuts the body, so that the
    /// client does not take it for the whole.
    pub(super) async fn download(
        &self,
        write: impl FnOnce(&mut dyn Write, &Cancel) -> Result<(), ViewError> + Send + 'static,
    ) -> Result<Body, ApiError> {
        let turn = turn(&self.downloads).await?;
        let (pieces, body) = mpsc::channel(PIECES);
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            let mut pipe = Pipe { pieces, buffer: BytesMut::new() };
            let done = write(&mut pipe, &Cancel::new(false)).and_then(|()| pipe.flush().map_err(ViewError::Write));
            if let Err(error) = done {
                tracing::debug!(%error, "a download ended early");
                // Nobody takes it if the client has gone.
                let _gone = pipe.pieces.blocking_send(Err(io::Error::other("the export failed")));
            }
        });
        Ok(Body::from_stream(ReceiverStream::new(body)))
    }
}

async fn turn(turns: &Arc<Semaphore>) -> Result<OwnedSemaphorePermit, ApiError> {
    let busy = || {
        ApiError::new(ErrorKind::Busy, "waiting for a turn", "too many views or exports are being made")
            .remedy("Try again in a moment.")
    };
    let turn = tokio::time::timeout(TURN_TIMEOUT, Arc::clone(turns).acquire_owned()).await;
    turn.map_err(|_elapsed| busy())?.map_err(|_closed| busy())
}

/// Writes into a body; waits while the client takes nothing, and fails when it has gone.
struct Pipe {
    pieces: mpsc::Sender<io::Result<Bytes>>,
    buffer: BytesMut,
}

impl Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= PIECE_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let piece = self.buffer.split().freeze();
        self.pieces
            .blocking_send(Ok(piece))
            .map_err(|_gone| io::Error::new(io::ErrorKind::BrokenPipe, "the client has gone"))
    }
}
