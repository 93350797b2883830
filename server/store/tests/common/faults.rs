//! Faults of the disk, at the calls with which this process writes: each write, truncation and flush of a file below a
//! chosen folder can be made to fail, or to wait until it is let go.
//!
//! The calls of the C library are defined here, so that the linker takes these for the SQLite that is built into the test
//! and for the standard library alike; they do what the library does, through the kernel, unless a fault is meant. That is
//! narrower than a file system of its own and wider than a VFS: what is not SQLite's is hit too.
#![allow(dead_code, unreachable_pub, unsafe_code, clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::{
    os::raw::{c_int, c_void},
    path::{Path, PathBuf},
    sync::{
        Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

/// Which calls are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calls {
    /// Writes and truncations.
    Writes,
    /// Flushes.
    Flushes,
}

/// What the chosen call does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It fails with this error.
    Error(c_int),
    /// A write does half of its bytes, and what is called next for the rest fails with this error.
    Half(c_int),
    /// It waits until [`Disk::heal`].
    Wait,
}

/// From when on calls are hit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub calls: Calls,
    pub fault: Fault,
    /// The first call that is hit, from 0.
    pub first: u64,
    /// Whether all later ones are hit too.
    pub for_ever: bool,
}

#[derive(Debug)]
struct Armed {
    number: u64,
    folder: PathBuf,
    plan: Plan,
    seen: u64,
    hit: u64,
    waiting: u64,
}

static ARMED: Mutex<Vec<Armed>> = Mutex::new(Vec::new());
static CHANGED: Condvar = Condvar::new();
static NUMBERS: AtomicU64 = AtomicU64::new(0);

fn armed() -> MutexGuard<'static, Vec<Armed>> {
    ARMED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Faults below a folder, until it is dropped.
#[derive(Debug)]
pub struct Disk(u64);

impl Disk {
    /// Counts from now on.
    pub fn fails(folder: &Path, plan: Plan) -> Self {
        let folder = folder.canonicalize().unwrap();
        // Never the one of an earlier disk: who still waits for that one must not wait for this.
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        armed().push(Armed { number, folder, plan, seen: 0, hit: 0, waiting: 0 });
        Self(number)
    }

    /// Lets everything through from now on, and what waits; says how many calls were hit.
    pub fn heal(self) -> u64 {
        self.hit()
    }

    /// How many calls were hit.
    pub fn hit(&self) -> u64 {
        armed().iter().find(|armed| armed.number == self.0).map_or(0, |armed| armed.hit)
    }

    /// Waits until a call waits.
    pub fn until_stuck(&self) {
        let mut all = armed();
        while !all.iter().any(|armed| armed.number == self.0 && armed.waiting > 0) {
            all = CHANGED.wait(all).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        armed().retain(|armed| armed.number != self.0);
        CHANGED.notify_all();
    }
}

/// What becomes of a call: nothing special, or an error, or half of it.
enum Fate {
    Done,
    Error(c_int),
    Half,
}

fn fate(descriptor: c_int, calls: Calls) -> Fate {
    if armed().is_empty() {
        return Fate::Done;
    }
    let Ok(path) = std::fs::read_link(format!("/proc/self/fd/{descriptor}")) else { return Fate::Done };
    let mut all = armed();
    let Some(armed) = all.iter_mut().find(|armed| armed.plan.calls == calls && path.starts_with(&armed.folder)) else {
        return Fate::Done;
    };
    let number = armed.seen;
    armed.seen += 1;
    let Plan { first, for_ever, fault, .. } = armed.plan;
    // What is called for the rest of half a write is the one after it.
    let rest = matches!(fault, Fault::Half(_)) && number == first + 1;
    if number != first && !rest && !(for_ever && number > first) {
        return Fate::Done;
    }
    armed.hit += 1;
    match fault {
        Fault::Error(errno) => Fate::Error(errno),
        Fault::Half(_) if number == first => Fate::Half,
        Fault::Half(errno) => Fate::Error(errno),
        Fault::Wait => {
            armed.waiting += 1;
            let mine = armed.number;
            CHANGED.notify_all();
            while all.iter().any(|armed| armed.number == mine) {
                all = CHANGED.wait(all).unwrap_or_else(PoisonError::into_inner);
            }
            Fate::Done
        }
    }
}

fn fail(errno: c_int) -> isize {
    // SAFETY: the address is that of this thread's own error number.
    unsafe { *libc::__errno_location() = errno };
    -1
}

/// As the C library's.
///
/// # Safety
/// As the C library's: `length` bytes can be read at `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(descriptor: c_int, bytes: *const c_void, length: usize) -> isize {
    let length = match fate(descriptor, Calls::Writes) {
        Fate::Done => length,
        Fate::Error(errno) => return fail(errno),
        Fate::Half => length / 2,
    };
    // SAFETY: the caller's arguments are passed on; the kernel checks them.
    unsafe { libc::syscall(libc::SYS_write, descriptor, bytes, length) as isize }
}

/// As the C library's.
///
/// # Safety
/// As the C library's: `length` bytes can be read at `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite64(descriptor: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    let length = match fate(descriptor, Calls::Writes) {
        Fate::Done => length,
        Fate::Error(errno) => return fail(errno),
        Fate::Half => length / 2,
    };
    // SAFETY: the caller's arguments are passed on; the kernel checks them.
    unsafe { libc::syscall(libc::SYS_pwrite64, descriptor, bytes, length, at) as isize }
}

/// As the C library's.
///
/// # Safety
/// As the C library's: `length` bytes can be read at `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pwrite(descriptor: c_int, bytes: *const c_void, length: usize, at: i64) -> isize {
    // SAFETY: the same conditions.
    unsafe { pwrite64(descriptor, bytes, length, at) }
}

/// As the C library's.
///
/// # Safety
/// None is needed: the kernel checks the arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftruncate(descriptor: c_int, length: i64) -> c_int {
    match fate(descriptor, Calls::Writes) {
        Fate::Error(errno) => fail(errno) as c_int,
        // SAFETY: numbers only.
        Fate::Done | Fate::Half => unsafe { libc::syscall(libc::SYS_ftruncate, descriptor, length) as c_int },
    }
}

/// As the C library's.
///
/// # Safety
/// None is needed: the kernel checks the arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ftruncate64(descriptor: c_int, length: i64) -> c_int {
    // SAFETY: numbers only.
    unsafe { ftruncate(descriptor, length) }
}

/// As the C library's.
///
/// # Safety
/// None is needed: the kernel checks the arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fsync(descriptor: c_int) -> c_int {
    match fate(descriptor, Calls::Flushes) {
        Fate::Error(errno) => fail(errno) as c_int,
        // SAFETY: numbers only.
        Fate::Done | Fate::Half => unsafe { libc::syscall(libc::SYS_fsync, descriptor) as c_int },
    }
}

/// As the C library's.
///
/// # Safety
/// None is needed: the kernel checks the arguments.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fdatasync(descriptor: c_int) -> c_int {
    match fate(descriptor, Calls::Flushes) {
        Fate::Error(errno) => fail(errno) as c_int,
        // SAFETY: numbers only.
        Fate::Done | Fate::Half => unsafe { libc::syscall(libc::SYS_fdatasync, descriptor) as c_int },
    }
}
