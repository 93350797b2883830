//! How a command ended, and what it used: what `wait4` tells once, kept for those who ask later.

use std::{
    mem::MaybeUninit,
    os::fd::{AsRawFd as _, BorrowedFd},
    sync::{Arc, Mutex, PoisonError},
};

use bathyscope_protocol::{CpuTime, TargetState};

/// What a command and those that it waited for have used of the CPUs, known when it has ended.
#[derive(Clone, Debug, Default)]
pub(crate) struct Used(Arc<Mutex<Option<CpuTime>>>);

impl Used {
    /// Waits for the command if it has ended already, and keeps what it used. To be called by its parent.
    pub(super) fn wait(&self, pidfd: BorrowedFd<'_>) -> Option<TargetState> {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (state, time) = waited(pidfd, 0)?;
        *used = Some(time);
        Some(state)
    }

    /// What it used, if it has ended, whether it was waited for or not.
    pub(crate) fn at_end(&self, pidfd: BorrowedFd<'_>) -> Option<CpuTime> {
        let used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        used.or_else(|| waited(pidfd, libc::WNOWAIT).map(|(_, time)| time))
    }

    /// What it used, if it was waited for.
    pub(crate) fn known(&self) -> Option<CpuTime> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state of a child that has ended, and what it used; none if it runs. The C library's `waitid` does not tell the latter.
fn waited(pidfd: BorrowedFd<'_>, more: libc::c_int) -> Option<(TargetState, CpuTime)> {
    let (mut info, mut usage) = (MaybeUninit::<libc::siginfo_t>::zeroed(), MaybeUninit::<libc::rusage>::zeroed());
    let options = libc::WEXITED | libc::WNOHANG | more;
    // SAFETY: the kernel writes into both structures, which are of the types that it expects, and into nothing else.
    let result = unsafe {
        libc::syscall(
            libc::SYS_waitid,
            libc::P_PIDFD,
            pidfd.as_raw_fd(),
            info.as_mut_ptr(),
            options,
            usage.as_mut_ptr(),
        )
    };
    if result != 0 {
        return None;
    }
    // SAFETY: all bytes zero is a value of either, and the kernel wrote more into them.
    let (info, usage) = unsafe { (info.assume_init(), usage.assume_init()) };
    // SAFETY: these fields are those of SIGCHLD, which the kernel filled in, or zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    if pid == 0 {
        return None;
    }
    let state = match info.si_code {
        libc::CLD_EXITED => TargetState::Exited { code: Some(status), signal: None },
        _ => TargetState::Exited { code: None, signal: Some(status) },
    };
    let ns = |time: libc::timeval| {
        let (seconds, micros) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_usec).unwrap_or(0));
        seconds.saturating_mul(1_000_000_000).saturating_add(micros * 1000)
    };
    Some((state, CpuTime { user_ns: ns(usage.ru_utime), system_ns: ns(usage.ru_stime) }))
}
