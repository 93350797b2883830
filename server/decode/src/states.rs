//! Records of switches and wake-ups of threads → numbers and addresses. Their layout is [`StatePlace`]; the programs that write
//! them are `bpf::states`.

use bathyscope_capture::{
    MAX_STATE_FRAMES, STATE_RECORD_BYTES, StateFlags, StateKind, StatePlace, SwitchSides, TaskBits,
};

/// A thread and its process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadId {
    /// The process; 0 for the idle threads of the CPUs.
    pub pid: u32,
    /// The thread; 0 for the idle threads.
    pub tid: u32,
}

/// What a record tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateEvent {
    /// A CPU goes from the running thread to the other one.
    Switch {
        /// The state that the former is left in, as ftrace writes it (`prev_state` of `sched_switch`).
        state: &'static str,
        /// Which of them are the target's; neither where everybody is.
        target: SwitchSides,
    },
    /// The running thread wakes the other one.
    Wakeup {
        /// Whether that has never run before.
        new: bool,
        /// The CPU whose queue it belonged to when it was woken.
        target_cpu: u32,
    },
}

/// A switch or a wake-up as the programs recorded it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateRecord {
    /// The moment, monotonic.
    pub time_ns: u64,
    /// The CPU.
    pub cpu: u32,
    /// What happened.
    pub event: StateEvent,
    /// The thread that leaves the CPU, or the waker: what ran in interrupts counts as the thread that they interrupted.
    pub running: ThreadId,
    /// The thread that gets the CPU, or the woken one.
    pub other: ThreadId,
    /// The stacks of the running thread, if they were recorded.
    pub stacks: Option<StateStacks>,
}

/// Stacks of a thread, innermost first, by frame pointers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StateStacks {
    /// Addresses in the kernel.
    pub kernel: Vec<u64>,
    /// Addresses in user space.
    pub user: Vec<u64>,
    /// Whether one of them has as many frames as are recorded at most, so that it may go on.
    pub is_cut: bool,
}

impl StateRecord {
    /// Reads a record; none if it is no such.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let header = bytes.get(..STATE_RECORD_BYTES as usize)?;
        let byte = |at: u32| header.get(at as usize).copied();
        let number = |at: u32| {
            let at = at as usize;
            Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?))
        };
        let flags = byte(StatePlace::FLAGS)?;
        let value = number(StatePlace::VALUE)?;
        let kind = byte(StatePlace::KIND)?;
        let event = match kind {
            kind if kind == StateKind::Switch as u8 => {
                let is = |flag: u8| flags & flag != 0;
                let target = SwitchSides { from: is(StateFlags::FROM_TARGET), to: is(StateFlags::TO_TARGET) };
                StateEvent::Switch { state: state_word(value, is(StateFlags::PREEMPTED)), target }
            }
            kind if kind == StateKind::Waking as u8 => StateEvent::Wakeup { new: false, target_cpu: value },
            kind if kind == StateKind::New as u8 => StateEvent::Wakeup { new: true, target_cpu: value },
            _ => return None,
        };
        let [low, high] = [byte(StatePlace::CPU)?, byte(StatePlace::CPU + 1)?];
        let thread = |tid, pid| Some(ThreadId { pid: number(pid)?, tid: number(tid)? });
        Some(Self {
            time_ns: Self::time_ns(bytes)?,
            cpu: u32::from(u16::from_le_bytes([low, high])),
            event,
            running: thread(StatePlace::TID, StatePlace::PID)?,
            other: thread(StatePlace::OTHER_TID, StatePlace::OTHER_PID)?,
            stacks: if flags & StateFlags::STACKS != 0 { Some(StateStacks::read(bytes)?) } else { None },
        })
    }

    /// The moment of a record; nothing else of it is read.
    fn time_ns(bytes: &[u8]) -> Option<u64> {
        let at = StatePlace::TIME_NS as usize;
        Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
    }
}

impl StateStacks {
    fn read(bytes: &[u8]) -> Option<Self> {
        let side_bytes = |at: u32| {
            let at = at as usize;
            let bytes = u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?);
            (bytes <= 8 * MAX_STATE_FRAMES).then_some(bytes as usize)
        };
        let kernel = side_bytes(StatePlace::KERNEL_BYTES)?;
        let user = side_bytes(StatePlace::USER_BYTES)?;
        let (kernel, behind) = bytes.get(StatePlace::FRAMES as usize..)?.split_at_checked(kernel)?;
        let user = behind.get(..user)?;
        let most = 8 * MAX_STATE_FRAMES as usize;
        let is_cut = kernel.len() == most || user.len() == most;
        Some(Self { kernel: addresses(kernel), user: addresses(user), is_cut })
    }
}

fn addresses(bytes: &[u8]) -> Vec<u64> {
    let (words, _incomplete) = bytes.as_chunks::<8>();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// What ftrace writes for the state of a thread that leaves the CPU: the letter of the highest bit that is told, `R` if there is
/// none and `R+` of one that was preempted, whatever its state.
fn state_word(state: u32, preempted: bool) -> &'static str {
    /// Waits for a lock of a kernel whose locks can be preempted.
    const LOCK_WAIT: u32 = 0x1000;
    /// Is kept from running while the machine goes to sleep.
    const FROZEN: u32 = 0x8000;
    const IDLE: u32 = TaskBits::UNINTERRUPTIBLE | TaskBits::NO_LOAD;
    if preempted {
        return "R+";
    }
    if state & (LOCK_WAIT | FROZEN) != 0 {
        return "D";
    }
    if state & IDLE == IDLE {
        return "I";
    }
    match (state & TaskBits::REPORTED).checked_ilog2() {
        None => "R",
        Some(0) => "S",
        Some(1) => "D",
        Some(2) => "T",
        Some(3) => "t",
        Some(4) => "X",
        Some(5) => "Z",
        Some(_) => "P",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: StateKind, flags: u8, value: u32) -> Vec<u8> {
        let mut bytes = vec![0; STATE_RECORD_BYTES as usize];
        let mut put = |at: u32, value: &[u8]| bytes[at as usize..at as usize + value.len()].copy_from_slice(value);
        put(StatePlace::TIME_NS, &7_u64.to_le_bytes());
        put(StatePlace::CPU, &300_u16.to_le_bytes());
        put(StatePlace::KIND, &[kind as u8, flags]);
        put(StatePlace::VALUE, &value.to_le_bytes());
        let ids: Vec<u8> = [11_u32, 10, 21, 20].into_iter().flat_map(u32::to_le_bytes).collect();
        put(StatePlace::TID, &ids);
        bytes
    }

    fn with_stacks(kernel: &[u64], user: &[u64]) -> Vec<u8> {
        let mut bytes = record(StateKind::Switch, StateFlags::STACKS, 1);
        for side in [kernel, user] {
            bytes.extend(u32::try_from(8 * side.len()).unwrap().to_le_bytes());
        }
        bytes.extend(kernel.iter().chain(user).flat_map(|address| address.to_le_bytes()));
        bytes
    }

    #[test]
    fn switches_and_wakeups_are_read() {
        let read = StateRecord::read(&record(StateKind::Switch, 0, 2)).unwrap();
        let expected = StateRecord {
            time_ns: 7,
            cpu: 300,
            event: StateEvent::Switch { state: "D", target: SwitchSides { from: false, to: false } },
            running: ThreadId { pid: 10, tid: 11 },
            other: ThreadId { pid: 20, tid: 21 },
            stacks: None,
        };
        assert_eq!(read, expected);
        let event = |kind| StateRecord::read(&record(kind, 0, 5)).unwrap().event;
        assert_eq!(event(StateKind::Waking), StateEvent::Wakeup { new: false, target_cpu: 5 });
        assert_eq!(event(StateKind::New), StateEvent::Wakeup { new: true, target_cpu: 5 });
        let mut unknown = record(StateKind::New, 0, 5);
        unknown[StatePlace::KIND as usize] = 3;
        assert_eq!(StateRecord::read(&unknown), None);
    }

    #[test]
    fn states_are_the_letters_of_ftrace() {
        let states = [
            (0, "R"),
            (1, "S"),
            (2, "D"),
            (4, "T"),
            (8, "t"),
            (0x80 | 0x10, "X"),
            (0x80 | 0x20, "Z"),
            (0x40, "P"),
            (0x402, "I"),
            // Killable, and killable while it is stopped.
            (0x102, "D"),
            (0x104, "T"),
            // Freezable sleep, frozen, and a lock that can be preempted.
            (0x2001, "S"),
            (0x8000, "D"),
            (0x1000, "D"),
        ];
        for (state, word) in states {
            assert_eq!(state_word(state, false), word, "{state:#x}");
            assert_eq!(state_word(state, true), "R+", "{state:#x}");
        }
    }

    #[test]
    fn stacks_are_of_the_kernel_and_then_of_user_space() {
        let stacks = |kernel: &[u64], user: &[u64]| StateRecord::read(&with_stacks(kernel, user)).unwrap().stacks;
        let (kernel, user) = (vec![3, 2], vec![9]);
        assert_eq!(stacks(&kernel, &user), Some(StateStacks { kernel, user, is_cut: false }));
        assert_eq!(stacks(&[], &[]), Some(StateStacks::default()));
        let deep = vec![1; MAX_STATE_FRAMES as usize];
        assert!(stacks(&deep, &[]).unwrap().is_cut);
        assert!(stacks(&[], &deep).unwrap().is_cut);
    }

    #[test]
    fn a_record_that_is_cut_anywhere_is_refused() {
        let bytes = with_stacks(&[1, 2], &[3]);
        for length in 0..bytes.len() {
            assert_eq!(StateRecord::read(&bytes[..length]), None, "{length}");
        }
        let mut long = bytes;
        long[StatePlace::USER_BYTES as usize + 3] = 0xff;
        assert_eq!(StateRecord::read(&long), None);
    }
}
