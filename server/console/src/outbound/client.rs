//! The console's side: asks the process that may connect.

use std::{sync::Arc, time::Duration};

use bathyscope_link::words;
use bathyscope_protocol::{Door, ProtocolError};
use tokio::sync::Semaphore;

use super::{
    AT_ONCE, MAX_HEADERS, MAX_OUTBOUND_BODY_BYTES, MAX_OUTBOUND_MS, MAX_PACKET_BYTES, OutboundAnswer, OutboundReply,
    OutboundRequest, OutboundTargets, TargetError,
};

/// How long the process may take to take a request.
const SENT_IN: Duration = Duration::from_secs(2);
/// How much longer than the request itself its answer is waited for: the process may just be started again.
const MORE: Duration = Duration::from_secs(5);

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum OutboundError {
    /// It may not be asked.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The process refuses it.
    #[error("{0}")]
    Refused(String),
    /// The host did not answer.
    #[error("{0}")]
    Failed(String),
    /// The process ended meanwhile.
    #[error("the process that connects to others ended before there was an answer; another one is started")]
    Died,
    /// The process cannot be asked.
    #[error("the process that connects to others could not be asked")]
    Process(#[source] ProtocolError),
    /// It is too large.
    #[error("the request is larger than may be sent")]
    TooLarge,
    /// The console stops.
    #[error("the console is stopping")]
    Stopping,
}

impl OutboundError {
    /// What went wrong, with its cause, in words.
    pub fn in_words(&self) -> String {
        words(self)
    }
}

/// What asks others, through the process that may. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Outbound {
    inner: Arc<SharedOutbound>,
}

#[derive(Debug)]
struct SharedOutbound {
    door: Door,
    targets: OutboundTargets,
    slots: Semaphore,
}

impl Outbound {
    /// What asks through `door`, whose other end a process has that connects to `targets`.
    pub fn new(door: Door, targets: OutboundTargets) -> Self {
        Self { inner: Arc::new(SharedOutbound { door, targets, slots: Semaphore::new(AT_ONCE) }) }
    }

    /// To whom connections are made.
    pub fn targets(&self) -> &OutboundTargets {
        &self.inner.targets
    }

    /// Asks, and waits for the answer. A few are asked at a time; others wait until it is their turn.
    ///
    /// # Errors
    /// Why there is no answer. An answer that says that something went wrong there is one.
    pub async fn ask(&self, request: OutboundRequest) -> Result<OutboundAnswer, OutboundError> {
        self.inner.targets.target(&request.url)?;
        if request.body.len() > MAX_OUTBOUND_BODY_BYTES || request.headers.len() > MAX_HEADERS {
            return Err(OutboundError::TooLarge);
        }
        let _slot = self.inner.slots.acquire().await.map_err(|_closed| OutboundError::Stopping)?;
        let inner = Arc::clone(&self.inner);
        let asked = tokio::task::spawn_blocking(move || inner.ask(&request)).await;
        asked.unwrap_or(Err(OutboundError::Stopping))
    }
}

impl SharedOutbound {
    fn ask(&self, request: &OutboundRequest) -> Result<OutboundAnswer, OutboundError> {
        let failed = |error| match error {
            ProtocolError::Closed => OutboundError::Died,
            error => OutboundError::Process(error),
        };
        let connection = self.door.connect().map_err(failed)?;
        connection.send_large(request, &[], MAX_PACKET_BYTES, SENT_IN).map_err(failed)?;
        let patience = Duration::from_millis(u64::from(request.timeout_ms.min(MAX_OUTBOUND_MS))) + MORE;
        match connection.receive_large(Some(patience), MAX_PACKET_BYTES).map_err(failed)?.message {
            OutboundReply::Answer(answer) => Ok(answer),
            OutboundReply::Refused(why) => Err(OutboundError::Refused(why)),
            OutboundReply::Failed(why) => Err(OutboundError::Failed(why)),
        }
    }
}
