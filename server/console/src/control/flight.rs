//! Flight recorders, at the terminal.

use std::path::Path;

use bathyscope_capture::{CaptureId, FiringKind};
use bathyscope_link::{clock::wall_unix_ns, words};
use bathyscope_recorder::{FireCause, FlightStatus, RunningCapture};
use bathyscope_store::FireToken;
use serde::{Deserialize, Serialize};

use super::{ControlAnswer, Request, Tracing, answered, other_answer};
use crate::{Failure, http::new_secret, library::TERMINAL};

/// A flight recorder that runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownFlight {
    /// Its own capture.
    pub id: CaptureId,
    /// What it is called.
    pub title: String,
    /// The seconds before a firing that it is to keep.
    pub before_s: u32,
    /// Nanoseconds that it holds now.
    pub held_ns: u64,
    /// Rows that it holds now.
    pub held_rows: u64,
    /// Bytes that these take.
    pub held_bytes: u64,
    /// Whether a capture is being stored now.
    pub is_storing: bool,
    /// How many captures it has stored.
    pub captures: u64,
    /// The last of them.
    pub last: Option<CaptureId>,
    /// What went wrong last, in words; empty if nothing did.
    pub trouble: String,
}

impl KnownFlight {
    fn of(running: RunningCapture) -> Option<Self> {
        let FlightStatus { before_s, held_ns, held_rows, held_bytes, is_storing, captures, last, trouble, .. } =
            running.flight?;
        let (id, title) = (running.id, running.title);
        Some(Self { id, title, before_s, held_ns, held_rows, held_bytes, is_storing, captures, last, trouble })
    }
}

impl Tracing {
    pub(super) fn flights(&self) -> ControlAnswer {
        ControlAnswer::Flights { flights: self.recorder.running().into_iter().filter_map(KnownFlight::of).collect() }
    }

    pub(super) async fn fire(&self, id: CaptureId) -> ControlAnswer {
        let cause = FireCause::now(FiringKind::Hand, "by hand at a terminal", "");
        match self.recorder.fire(id, cause).await {
            Ok(stored) => {
                self.note("capture.fire", &id.to_string(), &format!("stored as {stored}")).await;
                ControlAnswer::Fired { stored }
            }
            Err(error) => ControlAnswer::Failed { why: words(&error) },
        }
    }
}

impl Tracing {
    pub(super) async fn fire_token(&self, id: CaptureId, revoke: bool) -> ControlAnswer {
        match self.change_token(id, revoke).await {
            Ok(token) => ControlAnswer::FireToken { token },
            Err(why) => ControlAnswer::Failed { why },
        }
    }

    async fn change_token(&self, id: CaptureId, revoke: bool) -> Result<String, String> {
        if revoke {
            if !self.store.remove_fire_token(id).await.map_err(|error| words(&error))? {
                return Err("it has no token".to_owned());
            }
            self.note("capture.fire_token", &id.to_string(), "revoked").await;
            return Ok(String::new());
        }
        if self.recorder.flight(id).is_none() {
            return Err("no such flight recorder runs".to_owned());
        }
        let (secret, hash) = new_secret().map_err(|error| words(&error))?;
        let token = FireToken { made_by: TERMINAL.to_owned(), created_unix_ns: wall_unix_ns() };
        self.store.put_fire_token(id, hash, token).await.map_err(|error| words(&error))?;
        self.note("capture.fire_token", &id.to_string(), "made").await;
        Ok(secret.reveal().to_owned())
    }
}

/// The flight recorders of the console that runs on `dir`.
///
/// # Errors
/// If no console runs there, or it refuses.
pub fn flights(dir: &Path) -> Result<Vec<KnownFlight>, Failure> {
    match answered(dir, &Request::Flights)? {
        ControlAnswer::Flights { flights } => Ok(flights),
        _other => Err(other_answer(dir)),
    }
}

/// Fires a flight recorder of the console that runs on `dir`; gives the capture that comes of it.
///
/// # Errors
/// If no console runs there, or it refuses.
pub fn fire(dir: &Path, id: CaptureId) -> Result<CaptureId, Failure> {
    match answered(dir, &Request::Fire { id })? {
        ControlAnswer::Fired { stored } => Ok(stored),
        _other => Err(other_answer(dir)),
    }
}

/// Has the console that runs on `dir` make a token with which others fire a flight recorder; with `revoke` none is left.
///
/// # Errors
/// If no console runs there, or it refuses.
pub fn fire_token(dir: &Path, id: CaptureId, revoke: bool) -> Result<String, Failure> {
    match answered(dir, &Request::FireToken { id, revoke })? {
        ControlAnswer::FireToken { token } => Ok(token),
        _other => Err(other_answer(dir)),
    }
}
