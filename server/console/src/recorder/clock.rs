//! The clocks: everything inside a capture is monotonic; wall time is a label of its start (P32).

use std::time::{SystemTime, UNIX_EPOCH};

use bathyscope_store::BootTime;
use rustix::time::{ClockId, clock_gettime};

fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds.saturating_mul(1_000_000_000).saturating_add(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// The monotonic clock, which the kernel's records carry too.
pub(crate) fn monotonic_ns() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// The monotonic clock now, and of which boot it is; none where that cannot be read.
pub(crate) fn boot_time() -> Option<BootTime> {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
    Some(BootTime { boot_id, monotonic_ns: monotonic_ns() })
}

/// Nanoseconds since 1970 by the wall clock.
pub(crate) fn wall_unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
