//! The layout of records of switches and wake-ups of threads, which programs write and `decode` reads.

/// Bytes of a record without stacks.
pub const STATE_RECORD_BYTES: u32 = 32;
/// The most frames of the stack in the kernel, and of that in user space.
pub const MAX_STATE_FRAMES: u32 = 127;
/// The most frames in the kernel of a thread that is left uninterruptible, where stacks are not asked for: those of the scheduler
/// and of what records it, and one more that tells the function in which it blocks.
pub const MAX_BLOCKED_FRAMES: u32 = 24;

/// Where a record has what, little endian.
#[derive(Clone, Copy, Debug)]
pub struct StatePlace;

impl StatePlace {
    /// The moment, monotonic nanoseconds, 8 bytes.
    pub const TIME_NS: u32 = 0;
    /// The CPU on which it happened, 2 bytes.
    pub const CPU: u32 = 8;
    /// What it is ([`StateKind`]), a byte.
    pub const KIND: u32 = 10;
    /// [`StateFlags`], a byte.
    pub const FLAGS: u32 = 11;
    /// Of a switch the state that the thread is left in, as the kernel has it, with the state of its end where it has ended; of a
    /// wake-up the CPU whose queue the thread belongs to. 4 bytes.
    pub const VALUE: u32 = 12;
    /// The thread that ran: the one that leaves the CPU, or the waker. 4 bytes, as its process behind it.
    pub const TID: u32 = 16;
    /// The process of that.
    pub const PID: u32 = 20;
    /// The other thread: the one that gets the CPU, or the one that is woken.
    pub const OTHER_TID: u32 = 24;
    /// The process of that.
    pub const OTHER_PID: u32 = 28;
    /// Only with stacks: bytes of that in the kernel, 4 bytes.
    pub const KERNEL_BYTES: u32 = 32;
    /// Only with stacks: bytes of that in user space, 4 bytes.
    pub const USER_BYTES: u32 = 36;
    /// Only with stacks: the addresses, 8 bytes each, innermost first, those of the kernel before those of user space.
    pub const FRAMES: u32 = 40;
}

/// What a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateKind {
    /// A CPU goes from one thread to another.
    Switch = 0,
    /// A thread is woken.
    Waking = 1,
    /// A new thread may run for the first time.
    New = 2,
}

/// Bits of [`StatePlace::FLAGS`].
#[derive(Clone, Copy, Debug)]
pub struct StateFlags;

impl StateFlags {
    /// Of a switch: the thread did not want to leave the CPU, whatever its state.
    pub const PREEMPTED: u8 = 1;
    /// Stacks follow.
    pub const STACKS: u8 = 2;
    /// Of a switch: the thread that leaves the CPU is the target's. Not told where everybody is.
    pub const FROM_TARGET: u8 = 4;
    /// Of a switch: the thread that gets the CPU is the target's.
    pub const TO_TARGET: u8 = 8;
}

/// Which threads of a switch are the target's, as rows tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwitchSides {
    /// The thread that leaves the CPU is.
    pub from: bool,
    /// The thread that gets the CPU is.
    pub to: bool,
}

impl SwitchSides {
    /// The words for: from it, to it, and both.
    pub const WORDS: [&str; 3] = ["from", "to", "both"];

    /// The word; none if neither is, as where everybody is the target.
    pub const fn word(self) -> Option<&'static str> {
        let [from, to, both] = Self::WORDS;
        match (self.from, self.to) {
            (true, true) => Some(both),
            (true, false) => Some(from),
            (false, true) => Some(to),
            (false, false) => None,
        }
    }
}

/// Bits of a thread's state that mean the same on all kernels from 6.1 on.
#[derive(Clone, Copy, Debug)]
pub struct TaskBits;

impl TaskBits {
    /// What the kernel tells of a state: sleeping, stopped, traced, ended, parked.
    pub const REPORTED: u32 = 0x7f;
    /// Sleeps and is not woken by signals.
    pub const UNINTERRUPTIBLE: u32 = 2;
    /// Leaves the CPU for the last time.
    pub const DEAD: u32 = 0x80;
    /// Does not count as load.
    pub const NO_LOAD: u32 = 0x400;
}
