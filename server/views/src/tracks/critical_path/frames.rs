//! What stacks tell of a wait and of what ended it: the kernel's functions that do so.

use bathyscope_capture::StackId;

use crate::{Dictionaries, answers::NodeKind, frame_names};

/// Functions of the kernel that a wake-up by an interrupt goes through.
const INTERRUPT: [&str; 10] = [
    "asm_common_interrupt",
    "common_interrupt",
    "handle_softirqs",
    "__do_softirq",
    "__irq_exit_rcu",
    "irq_exit_rcu",
    "hrtimer_interrupt",
    "handle_irq_event",
    "gic_handle_irq",
    "el1_interrupt",
];
/// Those that a timer's end goes through.
const TIMER: [&str; 6] =
    ["hrtimer_wakeup", "process_timeout", "call_timer_fn", "__hrtimer_run_queues", "timerfd_tmrproc", "posix_timer_fn"];
/// Those that a block request's end goes through.
const DISK: [&str; 6] = [
    "blk_mq_end_request",
    "blk_update_request",
    "__blk_mq_end_request",
    "blk_done_softirq",
    "blk_complete_reqs",
    "bio_endio",
];
/// Beginnings of the names of those that wait for a lock.
const LOCK: [&str; 10] = [
    "futex_wait",
    "futex_do_wait",
    "futex_lock_pi",
    "__mutex_lock",
    "mutex_lock",
    "rwsem_down_",
    "__down",
    "rt_mutex_",
    "fcntl_setlk",
    "flock_lock_inode_wait",
];
/// Those that sleep until a time.
const SLEEP: [&str; 3] = ["do_nanosleep", "hrtimer_nanosleep", "msleep"];
/// Those that wait for a block device.
const DISK_WAIT: [&str; 5] =
    ["io_schedule", "io_schedule_timeout", "submit_bio_wait", "wait_on_page_writeback", "folio_wait_writeback"];
/// Beginnings of the names of those that any wait goes through.
const ANY_WAIT: [&str; 8] = [
    "__schedule",
    "schedule",
    "io_schedule",
    "preempt_schedule",
    "__bpf_trace",
    "__traceiter",
    "trace_event_raw",
    "bpf_",
];

/// What the stack of a wake-up tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WakeFrames {
    /// Whether the stack has functions of the kernel with names, so that something is told.
    pub(super) is_told: bool,
    pub(super) is_interrupt: bool,
    pub(super) is_timer: bool,
    pub(super) is_disk: bool,
}

/// What the stack of a sleep tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SleepFrames {
    /// The innermost function that is not the scheduler's.
    pub(super) function: Option<String>,
    pub(super) is_lock: bool,
    pub(super) is_timer: bool,
    pub(super) is_disk: bool,
}

/// The names of the kernel's functions of a stack, innermost first.
fn kernel_names(dictionaries: &Dictionaries, stack: StackId) -> impl Iterator<Item = String> {
    let frames = if stack == 0 { None } else { dictionaries.stack(stack) }.unwrap_or_default();
    let names = frames.iter().flat_map(|frame| frame_names(dictionaries, *frame));
    names.filter(|(_, kind)| matches!(kind, NodeKind::Kernel)).map(|(name, _)| name)
}

impl WakeFrames {
    pub(super) fn of(dictionaries: &Dictionaries, stack: StackId) -> Self {
        let mut told = Self::default();
        for name in kernel_names(dictionaries, stack) {
            told.is_told = true;
            let is_entry = name.starts_with("asm_sysvec_") || name.starts_with("sysvec_");
            told.is_interrupt |= is_entry || INTERRUPT.contains(&name.as_str());
            told.is_timer |= TIMER.contains(&name.as_str());
            told.is_disk |= DISK.contains(&name.as_str());
        }
        told
    }
}

impl SleepFrames {
    pub(super) fn of(dictionaries: &Dictionaries, stack: StackId) -> Self {
        let mut told = Self::default();
        let begins = |name: &str, list: &[&str]| list.iter().any(|begin| name.starts_with(begin));
        for name in kernel_names(dictionaries, stack) {
            told.is_lock |= begins(&name, &LOCK);
            told.is_timer |= SLEEP.contains(&name.as_str());
            told.is_disk |= DISK_WAIT.contains(&name.as_str());
            if told.function.is_none() && !begins(&name, &ANY_WAIT) {
                told.function = Some(name);
            }
        }
        told
    }
}
