//! Taking a script out of the kernel in the background.
//!
//! Closing a link may wait for the kernel, and closing the event of a probe always does. So threads do it, or for many events
//! a process that is left behind ([`crate::kernel::retire`]), and whoever asked is told how much is left.

use std::{
    os::fd::OwnedFd,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bathyscope_protocol::Detaching;

use super::points::{ByHand, ScriptAttachment};
use crate::{
    kernel::retire::{close_links, retire},
    os::bpf::programs,
};

/// How long whoever stops a script waits for it to be detached, before being told that it goes on in the background.
const PATIENCE: Duration = Duration::from_millis(300);

/// How far detaching is.
#[derive(Debug, Default)]
pub(super) struct Progress {
    left: Mutex<Detaching>,
    changed: Condvar,
}

impl Progress {
    fn lock(&self) -> MutexGuard<'_, Detaching> {
        self.left.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is left to do.
    pub(super) fn left(&self) -> Detaching {
        *self.lock()
    }

    fn change(&self, change: impl FnOnce(&mut Detaching)) {
        change(&mut self.lock());
        self.changed.notify_all();
    }

    /// Waits until nothing is attached any more, but not for ever.
    fn wait(&self) {
        let waited = self.changed.wait_timeout_while(self.lock(), PATIENCE, |left| left.attached > 0);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }
}

/// Closes `links`, then runs the `end` probes, then closes everything else. Returns when the `end` probes have run, or
/// when that takes too long; the rest goes on in the background.
pub(super) fn detach(
    progress: &Arc<Progress>,
    links: Vec<OwnedFd>,
    end: Vec<ByHand>,
    attachments: Vec<ScriptAttachment>,
) {
    let count = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    progress.change(|left| {
        // The `end` probes count as one, so that a script without links is waited for too.
        *left = Detaching { attached: count(links.len()).saturating_add(1), closing: count(attachments.len()) };
    });
    let theirs = Arc::clone(progress);
    let work = move || {
        close_links(links);
        run_all(&end);
        drop(end);
        // Whoever is told that nothing is attached any more may end this process.
        let retired = retire(attachments);
        theirs.change(|left| left.attached = 0);
        retired.close();
        theirs.change(|left| left.closing = 0);
    };
    match std::thread::Builder::new().name("bathyscope".into()).spawn(work) {
        Ok(_detached) => progress.wait(),
        // The closure, and with it all links, was dropped here and now; only the `end` probes did not run.
        Err(error) => {
            tracing::warn!(%error, "the thread that detaches a script could not be started; its end probes did not run");
            progress.change(|left| *left = Detaching::default());
        }
    }
}

/// Runs programs by hand, in order.
pub(super) fn run_all(programs: &[ByHand]) {
    use std::os::fd::AsFd as _;
    for one in programs {
        if let Err(error) = programs::run(one.program.as_fd()) {
            tracing::warn!(%error, probe = one.probe, "a probe that is run by hand did not run");
        }
    }
}
