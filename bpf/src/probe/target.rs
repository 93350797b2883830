//! Whose hits are recorded, as branches that every program begins with.

use bathyscope_capture::CompareOp;
use bathyscope_catalog::Operand as Named;

use super::{COMM_BYTES, TARGETS_MAP, TARGETS_MAX, text::Texts};
use crate::ir::{BlockId, Builder, Helper, IrBinaryOp, MapDefinition, MapKind, Op, Operand, Reg, Size, SlotId, Test};

/// Whose hits are recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetFilter {
    /// Everybody's.
    System,
    /// Those of one process, by its tgid in the initial pid namespace.
    Process(u32),
    /// Those of the processes in the map [`TARGETS_MAP`]: key tgid `u32`, value `u32` (any).
    Targets,
    /// Those of the threads in the same map: key their id `u32`. Of the scheduler's events also those that name one of them, so that
    /// what such a thread does is told from one event to the next.
    Threads,
    /// Those of the processes in a control group (version 2) and in the groups below it.
    Cgroup {
        /// The group's id: the inode of its folder.
        id: u64,
        /// How many groups are above it; 0 for the root.
        level: u32,
    },
    /// Those of the processes of one user, by the real user id in the initial user namespace.
    User(u32),
    /// Those of threads with such a name.
    Comm(CommPattern),
}

/// What a thread's name must be like: exactly that, or with `*` at the beginning, the end or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommPattern {
    bytes: [u8; Self::MAX_BYTES],
    length: u8,
}

impl CommPattern {
    /// The longest pattern: the longest name between two `*`.
    pub const MAX_BYTES: usize = COMM_BYTES as usize + 1;

    /// A pattern; none if the text is longer than any name can be.
    pub fn new(text: &str) -> Option<Self> {
        let mut bytes = [0; Self::MAX_BYTES];
        bytes.get_mut(..text.len())?.copy_from_slice(text.as_bytes());
        Some(Self { bytes, length: u8::try_from(text.len()).ok()? })
    }

    /// Its text.
    pub fn text(&self) -> &str {
        let bytes = self.bytes.get(..usize::from(self.length)).unwrap_or_default();
        std::str::from_utf8(bytes).unwrap_or_default()
    }
}

/// The map of target processes or threads.
pub(crate) fn targets_map() -> MapDefinition {
    MapDefinition::new(TARGETS_MAP.to_owned(), MapKind::Hash, 4, 4, TARGETS_MAX)
}

/// The process of what `bpf_get_current_pid_tgid` gave.
pub(crate) fn tgid_of(builder: &mut Builder, pid_tgid: Reg) -> Reg {
    builder.binary(IrBinaryOp::Shr, pid_tgid, 32)
}

/// Looks a `u32` up in a map; the result may be null.
pub(crate) fn look_up(builder: &mut Builder, map: crate::ir::MapId, key: SlotId, value: Reg) -> Reg {
    builder.push(Op::StoreSlot { slot: key, offset: 0, size: Size::B4, value: value.into() });
    let map = builder.map_address(map);
    let address = builder.slot_address(key);
    builder.call(Helper::MapLookup, &[map.into(), address.into()])
}

/// Leads to `yes` where the thread, in the low half of the number, is in the map of targets, else to `no`.
pub(super) fn require_thread(builder: &mut Builder, thread: Reg, yes: BlockId, no: BlockId) {
    let key = builder.slot(8);
    let map = builder.map(targets_map());
    let found = look_up(builder, map, key, thread);
    builder.branch(Test::Eq, found, 0, no, yes);
}

/// Leads to `yes` where the name in the slot, of [`COMM_BYTES`], is like the pattern, else to `no`.
pub(crate) fn require_comm(builder: &mut Builder, comm: SlotId, pattern: CommPattern, yes: BlockId, no: BlockId) {
    let mut texts = Texts::new(Some(comm));
    texts.compare(builder, Named::Comm, CompareOp::Matches, pattern.text(), yes, no);
}

impl TargetFilter {
    /// Goes on only where the current task is a target; leads to `rejected` elsewhere. `pid_tgid` is what
    /// `bpf_get_current_pid_tgid` gave, if the program has asked already.
    pub(crate) fn require(self, builder: &mut Builder, pid_tgid: Option<Reg>, rejected: BlockId) {
        if self == Self::System {
            return;
        }
        let go_on = builder.block();
        let tgid = |builder: &mut Builder| {
            let pid_tgid = pid_tgid.unwrap_or_else(|| builder.call(Helper::GetCurrentPidTgid, &[]));
            tgid_of(builder, pid_tgid)
        };
        match self {
            Self::System => builder.jump(go_on),
            Self::Process(wanted) => {
                let current = tgid(builder);
                builder.branch(Test::Ne, current, i64::from(wanted), rejected, go_on);
            }
            Self::Targets => {
                let current = tgid(builder);
                let key = builder.slot(8);
                let map = builder.map(targets_map());
                let found = look_up(builder, map, key, current);
                builder.branch(Test::Eq, found, 0, rejected, go_on);
            }
            Self::Threads => {
                let thread = pid_tgid.unwrap_or_else(|| builder.call(Helper::GetCurrentPidTgid, &[]));
                require_thread(builder, thread, go_on, rejected);
            }
            Self::Cgroup { id, level } => {
                let level = Operand::Constant(i64::from(level));
                // It gives 0 for a task that is not so deep.
                let current = builder.call(Helper::GetCurrentAncestorCgroupId, &[level]);
                builder.branch(Test::Ne, current, id.cast_signed(), rejected, go_on);
            }
            Self::User(uid) => {
                let uid_gid = builder.call(Helper::GetCurrentUidGid, &[]);
                let current = builder.reg();
                builder.push(Op::Extend { to: current, from: uid_gid, size: Size::B4, signed: false });
                builder.branch(Test::Ne, current, i64::from(uid), rejected, go_on);
            }
            Self::Comm(pattern) => {
                let slot = builder.slot(u32::from(COMM_BYTES));
                let address = builder.slot_address(slot);
                let bytes = Operand::Constant(i64::from(COMM_BYTES));
                builder.call_only(Helper::GetCurrentComm, &[address.into(), bytes]);
                require_comm(builder, slot, pattern, go_on, rejected);
            }
        }
        builder.switch_to(go_on);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_are_at_most_as_long_as_names() {
        for text in ["", "*", "dd", "*name-of-15-byte*"] {
            let pattern = CommPattern::new(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(pattern.text(), text);
        }
        assert_eq!(CommPattern::new("*name-of-16-bytes*"), None);
    }
}
