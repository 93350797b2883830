//! How long what the console has made stays when it is not asked for: a console that hangs, or that forgets a capture, must
//! keep neither probes on a hot path nor rings, programs and waiting commands for ever.
//!
//! The time in which the agent works long for one capture does not count: the console cannot ask for another meanwhile. One
//! that keeps it at work by that could as well ask for the capture.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use bathyscope_protocol::{AgentErrorKind, CaptureHandle, Reply, Request};

use super::{Answer, Session, Stage, counters};
use crate::error::failed;

/// How long the console may be silent while probes of its captures are attached, and how long it may not ask for a capture
/// that does not record. It asks for readings about every second.
pub(super) const LEASE: Duration = Duration::from_secs(30);
/// Work that takes no longer than this keeps nobody from asking.
const SHORT: Duration = Duration::from_millis(100);
/// How many handles of captures that were let go are known as such.
const REMEMBERED: usize = 64;

/// Handles of captures that were let go, the last ones.
#[derive(Debug, Default)]
pub(super) struct LetGo(VecDeque<CaptureHandle>);

impl LetGo {
    fn add(&mut self, handle: CaptureHandle) {
        self.0.push_back(handle);
        if self.0.len() > REMEMBERED {
            self.0.pop_front();
        }
    }

    /// The handle is free again; says whether it was known.
    pub(super) fn forget(&mut self, handle: CaptureHandle) -> bool {
        let before = self.0.len();
        self.0.retain(|one| *one != handle);
        self.0.len() < before
    }
}

/// The capture that a request is about; none where it is about none, or makes one.
pub(super) fn named(request: &Request) -> Option<CaptureHandle> {
    match request {
        Request::SetBudget { capture, .. }
        | Request::TakeRings { capture, .. }
        | Request::OpenCounters { capture }
        | Request::Enable { capture }
        | Request::Readings { capture }
        | Request::Stop { capture, .. }
        | Request::Discard { capture }
        | Request::ReadMap { capture, .. }
        | Request::ReadElements { capture, .. }
        | Request::ClearMap { capture, .. }
        | Request::ZeroMap { capture, .. }
        | Request::DeleteKeys { capture, .. }
        | Request::ReadStacks { capture, .. }
        | Request::RunSignal { capture, .. }
        | Request::ReadIterator { capture, .. }
        | Request::DetachEvents { capture, .. } => Some(*capture),
        _ => None,
    }
}

impl Session<'_> {
    /// How long to wait for a request before there is something else to do; none for ever.
    pub(super) fn patience(&self, running: bool) -> Option<Duration> {
        if running {
            return Some(counters::EVERY);
        }
        let left = |asked: Instant| self.lease.saturating_sub(asked.elapsed()).max(Duration::from_millis(1));
        self.captures.values().map(|entry| left(entry.asked)).min()
    }

    /// The agent has worked for so long, in which nobody could ask for anything.
    pub(super) fn has_worked(&mut self, time: Duration) {
        if time <= SHORT {
            return;
        }
        for entry in self.captures.values_mut() {
            entry.asked += time;
        }
    }

    /// Notes that a capture is asked for; the answer, if it was let go.
    pub(super) fn renew(&mut self, request: &Request) -> Option<Answer> {
        let handle = named(request)?;
        if let Some(entry) = self.captures.get_mut(&handle) {
            entry.asked = Instant::now();
            return None;
        }
        if !self.let_go.0.contains(&handle) {
            return None;
        }
        if matches!(request, Request::Discard { .. }) {
            self.let_go.forget(handle);
            return Some(Answer::Plain(Reply::Done));
        }
        let why = format!(
            "the agent discarded it: it did not record, and no request for it came for {} s",
            self.lease.as_secs()
        );
        let error = failed(AgentErrorKind::NotFound, "asking for a capture", why, "Start it again.");
        Some(Answer::Plain(Reply::Failed(error)))
    }

    /// Lets captures go that do not record and are not asked for. What records is asked for all the time, or the whole
    /// connection ends.
    pub(super) fn let_go_of_forgotten(&mut self) {
        let is_forgotten =
            |entry: &super::SessionCapture| entry.stage != Stage::Enabled && entry.asked.elapsed() >= self.lease;
        let forgotten: Vec<CaptureHandle> =
            self.captures.iter().filter(|(_, entry)| is_forgotten(entry)).map(|(handle, _)| *handle).collect();
        for handle in forgotten {
            let Some(mut entry) = self.captures.remove(&handle) else { continue };
            if entry.stage != Stage::Stopped {
                entry.stop(true);
            }
            tracing::warn!(capture = handle, "discarded a capture that did not record and got no requests");
            self.let_go.add(handle);
        }
    }
}
