//! A short-lived child process without rights, for reading what strangers wrote.
//!
//! The child is forked and does not execute anything, so that it starts in a fraction of a millisecond and finds what its
//! parent has read already. Before it looks at anything it gives up its descriptors, its user, its capabilities and every
//! way to get them back, takes limits of memory and time, and is left with the system calls of [`filter`]. It can compute,
//! and exchange messages over one socket. What it says is as hostile as what it read.
//!
//! Its parent may have other threads, and what they had locked stays locked in the child. The C library makes its own
//! allocator usable after a fork; what runs in the child must not take other locks that another thread may have held. A
//! child that waits for such a lock all the same ends by its time limit.

mod confine;
mod death;
mod filter;
#[cfg(test)]
mod tests;

use std::{
    fs::File,
    io::{self, Read as _, Write as _},
    os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd},
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{AddressFamily, SocketFlags, SocketType},
    process::{Pid, PidfdFlags, Signal, WaitIdOptions, WaitIdStatus},
};

pub use confine::{CAPABILITIES, close_all_but, keep_capabilities, shrink_bounding_set};
pub use death::SandboxError;
pub use filter::NAMESPACE_FLAGS;

use confine::Step;

/// How long a child that has closed its socket may take to end.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes of a message's length.
const LENGTH_BYTES: usize = 4;
/// Bytes of the first message: the step that failed, 0 for none, and the number of the error.
const VERDICT_BYTES: usize = 5;

/// What a child may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of memory beside those that the parent has mapped.
    pub memory_bytes: u64,
    /// Seconds of a CPU.
    pub cpu_seconds: u64,
    /// How long it may exist; none for a child whose parent is ended by a person who waits.
    pub wall: Option<Duration>,
    /// Whether it may have threads.
    pub threads: bool,
    /// User and group that it becomes where its parent may choose; none for numbers that nobody else has. A parent that
    /// becomes somebody else has its child become the same: the kernel asks it for the right to end a child, also where the
    /// child has asked to end with its parent.
    pub user: Option<(u32, u32)>,
}

/// Time on a CPU of all children that this process has waited for, nanoseconds.
static CHILDREN_NS: AtomicU64 = AtomicU64::new(0);

/// What the children that this process has had, and that have ended, used of a CPU, nanoseconds.
pub fn children_cpu_ns() -> u64 {
    CHILDREN_NS.load(Ordering::Relaxed)
}

/// Ends the talk with a child from another thread than the one that listens, however the child behaves.
#[derive(Debug)]
pub struct HangUp(OwnedFd);

impl HangUp {
    /// Whoever waits for the child hears that it has ended; so does the child.
    pub fn now(&self) {
        let _closed_already = rustix::net::shutdown(&self.0, rustix::net::Shutdown::Both);
    }
}

/// A child, seen by its parent. Dropping it ends the child.
#[derive(Debug)]
pub struct Sandbox {
    pid: Pid,
    ended: OwnedFd,
    socket: OwnedFd,
    limits: Limits,
    deadline: Option<Instant>,
    confined: bool,
    reaped: bool,
    used_ns: u64,
}

/// The child's side.
#[derive(Debug)]
pub struct Inside {
    socket: File,
    /// The file that the parent gave, if it gave one.
    pub input: Option<File>,
}

impl Inside {
    /// Sends a message to the parent.
    ///
    /// # Errors
    /// If it is larger than 4 GiB, or the parent is gone.
    pub fn send(&mut self, message: &[u8]) -> io::Result<()> {
        let length = u32::try_from(message.len()).map_err(|_range| io::Error::from(io::ErrorKind::InvalidInput))?;
        self.socket.write_all(&length.to_le_bytes())?;
        self.socket.write_all(message)
    }

    /// Receives a message of the parent, which is trusted.
    ///
    /// # Errors
    /// If the parent is gone.
    pub fn receive(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; LENGTH_BYTES];
        self.socket.read_exact(&mut length)?;
        let mut message = vec![0; u32::from_le_bytes(length) as usize];
        self.socket.read_exact(&mut message)?;
        Ok(message)
    }
}

/// Starts a child that does `work` and ends. `prepare` runs when its rights are gone but not yet its system calls, and must
/// not look at anything of a stranger. The child keeps `input` and no other descriptor.
///
/// # Errors
/// If there can be no more processes or descriptors. What fails later is told by [`Sandbox::receive`].
pub fn start<T>(
    limits: Limits,
    input: Option<BorrowedFd<'_>>,
    prepare: impl FnOnce() -> io::Result<T>,
    work: impl FnOnce(T, Inside),
) -> Result<Sandbox, SandboxError> {
    let starting = |errno: Errno| SandboxError::Start { doing: "starting a process", source: errno.into() };
    let (ours, theirs) = rustix::net::socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .map_err(starting)?;
    let input = input.map(rustix::io::dup).transpose().map_err(starting)?;
    let parent = rustix::process::getpid();
    // SAFETY: in the child this returns no pid, and the block below never returns to the caller: nothing of the parent's is
    // dropped there. Of the parent's locks it relies on those of the allocator alone, which the C library's fork leaves
    // usable.
    let forked = unsafe { libc::fork() };
    if forked == 0 {
        let inside = Inside { socket: File::from(theirs), input: input.map(File::from) };
        // What unwinds must not come back into the parent's frames. That it is consistent does not matter: nothing is
        // used after it.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            be_child(inside, &limits, parent, prepare, work);
        }));
        // SAFETY: it ends this process, without running what the parent has registered for its own end.
        unsafe { libc::_exit(if outcome.is_ok() { 0 } else { death::PANICKED }) };
    }
    let error = io::Error::last_os_error();
    let pid = Pid::from_raw(forked).filter(|_| forked > 0);
    let pid = pid.ok_or(SandboxError::Start { doing: "starting a process", source: error })?;
    drop((theirs, input));
    let ended = rustix::process::pidfd_open(pid, PidfdFlags::empty()).map_err(|errno| {
        end(pid);
        starting(errno)
    })?;
    let deadline = limits.wall.and_then(|wall| Instant::now().checked_add(wall));
    let sandbox = Sandbox { pid, ended, socket: ours, limits, deadline, confined: false, reaped: false, used_ns: 0 };
    rustix::io::ioctl_fionbio(&sandbox.socket, true).map_err(starting)?;
    Ok(sandbox)
}

/// The life of the child.
fn be_child<T>(
    mut inside: Inside,
    limits: &Limits,
    parent: Pid,
    prepare: impl FnOnce() -> io::Result<T>,
    work: impl FnOnce(T, Inside),
) {
    let kept: Vec<_> =
        [Some(&inside.socket), inside.input.as_ref()].into_iter().flatten().map(|file| file.as_raw_fd()).collect();
    let prepared = confine::give_up_rights(limits, &kept, parent).and_then(|()| {
        let prepared = prepare().map_err(|error| (Step::Prepare, error))?;
        confine::take_limits(limits)?;
        filter::apply(limits.threads).map_err(|error| (Step::Filter, error.into()))?;
        Ok(prepared)
    });
    let (step, error) = match &prepared {
        Ok(_) => (0, 0),
        Err((step, error)) => (*step as u8, error.raw_os_error().unwrap_or(0)),
    };
    let mut verdict = vec![step];
    verdict.extend(error.to_le_bytes());
    if inside.socket.write_all(&verdict).is_ok()
        && let Ok(prepared) = prepared
    {
        work(prepared, inside);
    }
}

/// Ends a child and takes its status, so that it does not stay as a zombie.
fn end(pid: Pid) {
    let _ended_already = rustix::process::kill_process(pid, Signal::KILL);
    let _status = rustix::process::waitid(rustix::process::WaitId::Pid(pid), WaitIdOptions::EXITED);
}

impl Sandbox {
    /// The child's process id.
    pub fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    /// What ends the talk with it.
    ///
    /// # Errors
    /// If there can be no more descriptors.
    pub fn hang_up(&self) -> io::Result<HangUp> {
        self.socket.try_clone().map(HangUp)
    }

    /// Ends the child, and tells what it used of a CPU, in nanoseconds.
    pub fn close(mut self) -> u64 {
        self.end();
        self.used_ns
    }

    /// Receives a message of the child, of at most `most` bytes. None if it has done all its work.
    ///
    /// # Errors
    /// How it ended, if it was not by itself; if it says more than `most` bytes.
    pub fn receive(&mut self, most: usize) -> Result<Option<Vec<u8>>, SandboxError> {
        if !self.confined {
            let mut verdict = [0; VERDICT_BYTES];
            if !self.fill(&mut verdict)? {
                return Err(self.death());
            }
            let [step, error @ ..] = verdict;
            confine::judge(step, i32::from_le_bytes(error))?;
            self.confined = true;
        }
        let mut length = [0; LENGTH_BYTES];
        if !self.fill(&mut length)? {
            return match self.death() {
                SandboxError::Ended { status: 0 } => Ok(None),
                other => Err(other),
            };
        }
        let length = u32::from_le_bytes(length) as usize;
        if length > most {
            return Err(SandboxError::TooLarge { bytes: length, most });
        }
        let mut message = vec![0; length];
        if self.fill(&mut message)? { Ok(Some(message)) } else { Err(self.death()) }
    }

    /// Sends a message to the child.
    ///
    /// # Errors
    /// How it ended, or that its time is over.
    pub fn send(&mut self, message: &[u8]) -> Result<(), SandboxError> {
        let length = u32::try_from(message.len()).unwrap_or(u32::MAX);
        for bytes in [&length.to_le_bytes()[..], message] {
            let mut rest = bytes;
            while !rest.is_empty() {
                self.wait(PollFlags::OUT)?;
                match rustix::net::send(&self.socket, rest, rustix::net::SendFlags::NOSIGNAL) {
                    Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(_gone) => return Err(self.death()),
                }
            }
        }
        Ok(())
    }

    /// Reads as many bytes as there is room for. False if the child has closed its end before the first.
    fn fill(&mut self, room: &mut [u8]) -> Result<bool, SandboxError> {
        let mut filled = 0;
        while let Some(rest) = room.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            self.wait(PollFlags::IN)?;
            match rustix::io::read(&self.socket, rest) {
                Ok(0) if filled == 0 => return Ok(false),
                Ok(0) => return Err(self.death()),
                Ok(read) => filled += read,
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(_gone) => return Err(self.death()),
            }
        }
        Ok(true)
    }

    /// Waits until the child has said something, or there is room for what it is told. Its end is that too.
    fn wait(&mut self, what: PollFlags) -> Result<(), SandboxError> {
        loop {
            let left = self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                self.end();
                return Err(self.out_of_time());
            }
            if wait_for(&self.socket, what, left) {
                return Ok(());
            }
        }
    }

    fn out_of_time(&self) -> SandboxError {
        let seconds = self.limits.wall.map_or(self.limits.cpu_seconds, |wall| wall.as_secs());
        SandboxError::Time { seconds }
    }

    /// How a child ended that has closed its socket, or does so now.
    fn death(&mut self) -> SandboxError {
        if !self.reaped && !wait_for(&self.ended, PollFlags::IN, Some(END_TIMEOUT)) {
            self.end();
            return SandboxError::Silent;
        }
        match self.reap() {
            Some(status) => death::of_status(&status, &self.limits),
            None => SandboxError::Silent,
        }
    }

    fn reap(&mut self) -> Option<WaitIdStatus> {
        if self.reaped {
            return None;
        }
        self.reaped = true;
        let fd = rustix::process::WaitId::PidFd(self.ended.as_fd());
        // It is left as it is, so that its number is still its own when it is asked what it has used.
        let status = rustix::process::waitid(fd, WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).ok().flatten();
        self.used_ns = take_account(self.pid);
        CHILDREN_NS.fetch_add(self.used_ns, Ordering::Relaxed);
        status
    }

    /// Ends the child.
    fn end(&mut self) {
        if self.reaped {
            return;
        }
        // One that has ended already is still to be waited for. The parent may end it: see `Limits::user`.
        let _ended_already = rustix::process::pidfd_send_signal(&self.ended, Signal::KILL);
        self.reap();
    }
}

/// Ready for reading when the child has said something, or ended.
impl AsFd for Sandbox {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        self.end();
    }
}

/// Takes away what is left of a child that has ended, and tells what it used of a CPU, in nanoseconds.
fn take_account(pid: Pid) -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the kernel writes to a place of the struct's size, or to none; zeros are values of its numbers.
    let usage = unsafe {
        let waited = libc::wait4(pid.as_raw_nonzero().get(), std::ptr::null_mut(), libc::WNOHANG, usage.as_mut_ptr());
        if waited != pid.as_raw_nonzero().get() {
            return 0;
        }
        usage.assume_init()
    };
    let ns = |time: libc::timeval| {
        let (seconds, us) = (u64::try_from(time.tv_sec).unwrap_or(0), u64::try_from(time.tv_usec).unwrap_or(0));
        seconds * 1_000_000_000 + us * 1000
    };
    ns(usage.ru_utime) + ns(usage.ru_stime)
}

/// Waits until `fd` is ready, for at most `time`; whether it is.
fn wait_for(fd: &OwnedFd, what: PollFlags, time: Option<Duration>) -> bool {
    let timeout = time.map(|time| Timespec {
        tv_sec: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: i64::from(time.subsec_nanos()),
    });
    let mut fds = [PollFd::new(fd, what)];
    matches!(poll(&mut fds, timeout.as_ref()), Ok(ready) if ready > 0)
}
