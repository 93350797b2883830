//! Signals to whoever runs a script: what the first asks for is done in order, the second ends the process.

use std::{
    sync::{
        Arc, Condvar, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::{Failure, signals::EndSignals};

/// What signals have asked for. Copies are one and the same.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    stopped: AtomicBool,
    /// Whether the next signal ends the process.
    last: AtomicBool,
    /// Those of the user that the script has not been told of.
    user: Mutex<Vec<i32>>,
    changed: Condvar,
}

/// The signals of the process, as the runtime gives them.
struct Listeners {
    end: EndSignals,
    user: [Signal; 2],
}

impl Listeners {
    fn new() -> Result<Self, Failure> {
        let listen = |kind| signal(kind).map_err(|error| Failure::because("listening for signals", error));
        Ok(Self {
            end: EndSignals::watch()?,
            user: [listen(SignalKind::user_defined1())?, listen(SignalKind::user_defined2())?],
        })
    }
}

impl Signals {
    /// Listens for signals on a thread of its own, so that whatever runs for a script can be ended.
    pub(super) fn listen() -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::because("starting the runtime", error))?;
        let listeners = runtime.block_on(async { Listeners::new() })?;
        let signals = Self::default();
        let heard = signals.clone();
        let thread = std::thread::Builder::new().name("bathyscope-sign".to_owned());
        let started = thread.spawn(move || runtime.block_on(heard.hear(listeners)));
        started.map_err(|error| Failure::because("starting a thread", error))?;
        Ok(signals)
    }

    async fn hear(&self, mut listeners: Listeners) {
        let [first, second] = &mut listeners.user;
        loop {
            tokio::select! {
                what = listeners.end.next() => self.asked(if what == "Ctrl-C" { libc::SIGINT } else { libc::SIGTERM }),
                _ = first.recv() => self.note(libc::SIGUSR1),
                _ = second.recv() => self.note(libc::SIGUSR2),
            }
        }
    }

    /// Ends the process if it was asked to end before: the agent detaches what is left.
    // Whoever asks a second time does not want to wait for anything.
    fn asked(&self, number: i32) {
        if self.0.last.swap(true, Ordering::Relaxed) {
            std::process::exit(128 + number);
        }
        self.stop();
    }

    /// The next signal ends the process.
    pub(super) fn end_at_next(&self) {
        self.0.last.store(true, Ordering::Relaxed);
    }

    fn note(&self, number: i32) {
        self.0.user.lock().unwrap_or_else(PoisonError::into_inner).push(number);
        self.0.changed.notify_all();
    }

    /// The script is to end: nothing is begun any more.
    pub(super) fn stop(&self) {
        // With the lock, so that nobody who is about to wait misses it.
        let held = self.0.user.lock().unwrap_or_else(PoisonError::into_inner);
        self.0.stopped.store(true, Ordering::Relaxed);
        drop(held);
        self.0.changed.notify_all();
    }

    /// Whether the script is to end.
    pub(super) fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::Relaxed)
    }

    /// Waits so long, or until a signal; gives those that the script may have probes for.
    pub(super) fn wait(&self, pause: Duration) -> Vec<i32> {
        let mut user = self.0.user.lock().unwrap_or_else(PoisonError::into_inner);
        if user.is_empty() && !self.is_stopped() && !pause.is_zero() {
            (user, _) = self.0.changed.wait_timeout(user, pause).unwrap_or_else(PoisonError::into_inner);
        }
        std::mem::take(&mut *user)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_is_woken() {
        let signals = Signals::default();
        let waiting = signals.clone();
        let thread = std::thread::spawn(move || waiting.wait(Duration::from_secs(600)));
        signals.note(libc::SIGUSR1);
        assert_eq!(thread.join().unwrap(), [libc::SIGUSR1]);
        assert!(signals.wait(Duration::ZERO).is_empty() && !signals.is_stopped());
        signals.stop();
        assert!(signals.wait(Duration::from_secs(600)).is_empty() && signals.is_stopped());
    }
}
