//! The clocks of `bathyscope_link`, and of which boot a time is.

pub(crate) use bathyscope_link::clock::{monotonic_ns, wall_unix_ns};
use bathyscope_store::BootTime;

/// The monotonic clock now, and of which boot it is; none where that cannot be read.
pub fn boot_time() -> Option<BootTime> {
    let boot_id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?.trim().to_owned();
    Some(BootTime { boot_id, monotonic_ns: monotonic_ns() })
}
