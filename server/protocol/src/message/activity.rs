//! What processes use, and what is waited for.

use serde::{Deserialize, Serialize};

/// The most processes in one page of [`super::Request::ProcessActivity`]: few enough that others are not kept waiting.
pub const MAX_ACTIVITY_PROCESSES: usize = 512;
/// The most bytes of such a page.
pub const MAX_ACTIVITY_BYTES: usize = 1 << 20;

/// A page of what processes use. The file with it has, for each process: its id (`u32`), the user that it runs as (`u32`), then
/// `/proc/PID/stat`, `/proc/PID/io` and `/proc/PID/cgroup` as the kernel writes them, each after its length (`u16`); the length
/// is zero where a file could not be read. Numbers are little endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActivityPage {
    /// How many processes are in the file, at most [`MAX_ACTIVITY_PROCESSES`] in at most [`MAX_ACTIVITY_BYTES`].
    pub count: u32,
    /// The last process that was looked at, whether it is in the file or has ended meanwhile.
    pub last: u32,
    /// How many processes have a greater id.
    pub left: u32,
}

/// What can be waited for, by the kernel's pressure information.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PressureResource {
    /// A CPU.
    Cpu,
    /// Memory.
    Memory,
    /// Disks.
    Io,
}
