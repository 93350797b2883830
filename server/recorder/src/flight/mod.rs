//! Flight recorders: captures whose rows stay in memory until something fires, and then become a capture of their own.
//!
//! Everything up to the decoder is as for any capture: probes, rings, readings, the guard, the process history. What the decoder
//! makes goes to a [`keeper`] instead of the store. It holds the chunks of the last seconds ([`window`]) and everything that they
//! refer to, looks at their rows for conditions ([`watch`]), and when something fires writes a capture ([`stored`]): what was before,
//! then what comes. What leaves its memory is counted in the recorder's ledger as *not kept*.

mod condition;
mod keeper;
mod stored;
pub(crate) mod timer;
mod watch;
mod window;

use bathyscope_capture::CaptureId;
use tokio::sync::oneshot;

pub(crate) use keeper::{Keeper, KeeperSetup};
pub(crate) use watch::RowWatch;

use crate::{
    Recorder,
    flight_state::{FireCause, FireError, FireRequest, FlightStatus},
    running::Phase,
};

impl Recorder {
    /// Fires a flight recorder: what it has in memory and what comes in the seconds after becomes a capture, whose id is given as
    /// soon as it is there. What people ask for is not held back by the pause and the largest number a day.
    ///
    /// # Errors
    /// See [`FireError`].
    pub async fn fire(&self, id: CaptureId, cause: FireCause) -> Result<CaptureId, FireError> {
        let running = self.inner.find(id).filter(|running| running.phase() == Phase::Recording);
        let running = running.ok_or(FireError::NotRunning)?;
        let flight = running.flight.as_ref().ok_or(FireError::NotFlight)?;
        let (reply, answer) = oneshot::channel();
        flight.ask(FireRequest { cause, reply: Some(reply) })?;
        answer.await.unwrap_or(Err(FireError::NotRunning))
    }

    /// What a running flight recorder does; none if the capture does not run or is none.
    pub fn flight(&self, id: CaptureId) -> Option<FlightStatus> {
        Some(self.inner.find(id)?.flight.as_ref()?.status())
    }
}
