//! Where a capture was made.

use serde::{Deserialize, Serialize};

/// Facts of the host, as they were when the capture began.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// The host's name.
    pub hostname: String,
    /// The running kernel's release, as `uname -r` prints it.
    pub kernel_release: String,
    /// The machine, as `uname -m` prints it.
    pub machine: String,
    /// Processors online.
    pub cpus: u32,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Identifies this boot; captures of one boot share the monotonic clock.
    pub boot_id: String,
    /// The kernel image's build id in hexadecimal; empty where it could not be read.
    pub kernel_build_id: String,
    /// What the processes were called that the target names by their ids, with commas between; empty for other targets, and
    /// where they were not there any more.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target_name: String,
}
