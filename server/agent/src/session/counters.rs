//! Readings that the console finds also when this process or its connection is gone: see
//! [`bathyscope_protocol::counters`].

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use bathyscope_protocol::{
    AgentError, AgentErrorKind, CaptureHandle, Readings,
    counters::{CounterFile, LastReadings},
};

use super::{Session, SessionCapture, Stage, Violation};
use crate::error::failed;

/// How old the readings of a running capture become while the console does not ask for any.
pub(super) const EVERY: Duration = Duration::from_millis(250);

/// Where a capture's readings are kept, once the console has asked for it.
#[derive(Debug, Default)]
pub(super) struct Kept {
    file: Option<(CounterFile, Instant)>,
}

impl Kept {
    /// A descriptor of the file for the console.
    fn reader(&mut self) -> std::io::Result<OwnedFd> {
        if let Some((file, _)) = &self.file {
            return file.reader();
        }
        let file = CounterFile::new()?;
        let reader = file.reader()?;
        self.file = Some((file, Instant::now()));
        Ok(reader)
    }

    /// Whether the console has the file and its readings are old.
    fn is_old(&self) -> bool {
        self.file.as_ref().is_some_and(|(_, written)| written.elapsed() >= EVERY)
    }

    /// Keeps readings that were taken for whatever reason.
    pub(super) fn write(&mut self, readings: &Readings, is_final: bool) {
        let Some((file, written)) = &mut self.file else { return };
        *written = Instant::now();
        if let Err(error) = file.write(&LastReadings { readings: readings.clone(), is_final }) {
            tracing::warn!(%error, "the readings of a capture cannot be kept for a console that is not there");
        }
    }
}

impl Session<'_> {
    /// The file of a capture's readings.
    pub(super) fn open_counters(&mut self, handle: CaptureHandle) -> Result<Result<OwnedFd, AgentError>, Violation> {
        let entry = self.captures.get_mut(&handle).ok_or("it named an unknown capture")?;
        let opened = entry.kept.reader();
        Ok(opened.map_err(|error| {
            failed(AgentErrorKind::Limit, "keeping the readings of the capture", error.to_string(), "")
        }))
    }

    /// Keeps the readings of running captures, if it is time.
    pub(super) fn keep_counters(&mut self) {
        let old = |entry: &&mut SessionCapture| entry.stage == Stage::Enabled && entry.kept.is_old();
        for entry in self.captures.values_mut().filter(old) {
            let account = entry.watched.account();
            let readings = account.pays(|| entry.readings());
            entry.kept.write(&readings, false);
        }
    }

    /// Stops what still runs and keeps the final readings: the console may be there, and only have been too slow.
    pub(super) fn let_go(&mut self) {
        for entry in self.captures.values_mut().filter(|entry| entry.stage == Stage::Enabled) {
            entry.stop(true);
        }
    }
}

impl SessionCapture {
    /// Stops it; gives its last readings, which are kept too.
    pub(super) fn stop(&mut self, end_command: bool) -> Readings {
        self.stage = Stage::Stopped;
        let readings = self.watched.overlay(self.capture.stop(end_command));
        self.keep(&readings);
        readings
    }

    /// Keeps readings, which are final if nothing is attached any more.
    pub(super) fn keep(&mut self, readings: &Readings) {
        let is_final = self.stage == Stage::Stopped && readings.detaching().attached == 0;
        self.kept.write(readings, is_final);
    }
}
