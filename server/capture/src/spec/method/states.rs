//! How much is recorded of switches and wake-ups of threads.

use serde::{Deserialize, Serialize};

/// How much is recorded of switches and wake-ups of threads; both always are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatesSpec {
    /// Whether the stack of a thread is recorded where it goes to sleep: in the kernel, and in user space by frame pointers.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub sleep_stacks: bool,
    /// Whether the stack of whoever wakes a thread is recorded.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub wake_stacks: bool,
}

impl StatesSpec {
    /// What a capture of it is called where nobody gave it a name.
    pub(super) const TITLE: &str = "Thread states";

    /// Whether any stacks are recorded.
    pub fn has_stacks(self) -> bool {
        self.sleep_stacks || self.wake_stacks
    }
}
