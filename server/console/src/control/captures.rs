//! Captures, at the terminal: started, stopped and changed by the console that runs.

use std::{path::Path, time::Duration};

use bathyscope_capture::{CaptureId, CaptureSpec};
use bathyscope_link::words;
use tokio::net::unix::OwnedWriteHalf;

use super::{ControlAnswer, Request, Tracing, answered, answered_within, other_answer, write_answer};
use crate::{
    Failure,
    capture_changes::{TerminalCapture, capture_at_terminal},
    http::{audit_words, begin_run},
    library::TERMINAL,
    wire,
};

/// How long whoever asks waits for a capture to record: a script may have to be compiled.
const START_PATIENCE: Duration = Duration::from_secs(60);

impl Tracing {
    pub(super) async fn change_capture(&self, id: CaptureId, change: TerminalCapture) -> ControlAnswer {
        let is_deletion = matches!(change, TerminalCapture::Delete { .. });
        match capture_at_terminal(&self.store, id, change).await {
            Ok(done) => {
                if is_deletion {
                    self.sharing.captures.forget(id);
                }
                self.note(done.action, &id.to_string(), &done.detail).await;
                ControlAnswer::Told { lines: vec![done.told] }
            }
            Err(error) => ControlAnswer::Failed { why: words(&error) },
        }
    }

    pub(super) async fn stop_capture(&self, id: CaptureId) -> ControlAnswer {
        if !self.recorder.stop(id, TERMINAL) {
            return ControlAnswer::Failed { why: format!("no capture {id} is being recorded") };
        }
        self.note("capture.stop", &id.to_string(), "").await;
        ControlAnswer::Done
    }

    /// Starts a capture, and answers when it records.
    pub(super) async fn start_capture(self, spec: CaptureSpec, again: Option<CaptureId>, mut writing: OwnedWriteHalf) {
        let answer = match self.started_capture(spec, again).await {
            Ok(id) => ControlAnswer::Started { id },
            Err(why) => ControlAnswer::Failed { why },
        };
        if let Err(error) = write_answer(&mut writing, &answer).await {
            tracing::warn!(%error, "the answer to a start could not be delivered: its client is gone");
        }
    }

    async fn started_capture(&self, spec: CaptureSpec, again: Option<CaptureId>) -> Result<CaptureId, String> {
        wire::check_spec(&spec).map_err(|error| words(&error))?;
        self.webhooks.check(spec.limits.flight.as_deref()).await.map_err(|error| words(&error))?;
        let id = self.recorder.start(spec.clone(), TERMINAL).await.map_err(|error| words(&error))?;
        begin_run(&self.store, id, again).await;
        let script = spec.script().map(|script| script.text.as_str());
        let detail = audit_words(&spec, script, self.recorder.command_user(id).as_deref());
        self.note("capture.start", &id.to_string(), &detail).await;
        Ok(id)
    }
}

/// Has the console that runs on `dir` start a capture, as a run of the series of `again` if that is one; gives its id when it records.
///
/// # Errors
/// If no console runs there, or it refuses.
pub fn start_capture(dir: &Path, spec: CaptureSpec, again: Option<CaptureId>) -> Result<CaptureId, Failure> {
    let request = Request::StartCapture { spec: Box::new(spec), again };
    match answered_within(dir, &request, START_PATIENCE)? {
        ControlAnswer::Started { id } => Ok(id),
        _other => Err(other_answer(dir)),
    }
}

/// Has the console that runs on `dir` stop a capture.
///
/// # Errors
/// If no console runs there, or it records no such capture.
pub fn stop_capture(dir: &Path, id: CaptureId) -> Result<(), Failure> {
    match answered(dir, &Request::StopCapture { id })? {
        ControlAnswer::Done => Ok(()),
        _other => Err(other_answer(dir)),
    }
}
