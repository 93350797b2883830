//! What asks a process to end: Ctrl-C, SIGTERM, and the end of its terminal.

use std::time::Duration;

use tokio::{
    signal::unix::{Signal, SignalKind, signal},
    time::Instant,
};

use crate::Failure;

/// The bit of SIGHUP among ignored signals.
const HANGUP_BIT: u64 = 1;

/// What comes so soon behind a signal is the same wish: `timeout` and service managers send to the process and to its
/// group, and the supervisor passes on what the group has got as well.
const SAME_WISH: Duration = Duration::from_millis(500);

/// The signals that ask for an end.
#[derive(Debug)]
pub struct EndSignals {
    interrupt: Signal,
    terminate: Signal,
    /// None where whoever started the process wanted it to outlive the terminal, as `nohup` does.
    hangup: Option<Signal>,
    /// When the last one came that was told.
    last: Option<Instant>,
}

impl EndSignals {
    /// Watches for them from now on.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn watch() -> Result<Self, Failure> {
        let on = |kind| signal(kind).map_err(|error| Failure::because("watching for signals", error));
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let hangup = if ignores_hangup(&status) { None } else { Some(on(SignalKind::hangup())?) };
        Ok(Self {
            interrupt: on(SignalKind::interrupt())?,
            terminate: on(SignalKind::terminate())?,
            hangup,
            last: None,
        })
    }

    /// Waits for the next wish to end; says what it was.
    pub async fn next(&mut self) -> &'static str {
        loop {
            let what = self.received().await;
            let now = Instant::now();
            if self.last.is_none_or(|last| now.duration_since(last) >= SAME_WISH) {
                self.last = Some(now);
                return what;
            }
        }
    }

    async fn received(&mut self) -> &'static str {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => "Ctrl-C",
            _ = self.terminate.recv() => "SIGTERM",
            _ = hangup => "the end of its terminal",
        }
    }
}

fn ignores_hangup(status: &str) -> bool {
    let line = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    line.and_then(|bits| u64::from_str_radix(bits.trim(), 16).ok()).is_some_and(|bits| bits & HANGUP_BIT != 0)
}

#[cfg(test)]
mod tests {
    use super::ignores_hangup;

    #[test]
    fn p56_nohup_is_respected() {
        assert!(ignores_hangup("SigBlk:\t0000000000000000\nSigIgn:\t0000000000001001\n"));
        assert!(!ignores_hangup("SigIgn:\t0000000000001000\n"));
        assert!(!ignores_hangup(""));
    }
}
