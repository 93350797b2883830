//! What is asked of a thread that does not run: whose it is, and whether it is a target.

use super::{StateError, StatePlaces};
use crate::{
    ir::{BlockId, Builder, Helper, IrBinaryOp, Reg, Size, SlotId, Test},
    probe::{COMM_BYTES, TargetFilter, look_up, require_comm, targets_map, tgid_of},
    syscalls::kernel_number_by,
};

/// A thread, by the address of its `task_struct`.
pub(super) struct Task {
    address: Reg,
    /// Process and thread, as the kernel gives those of the current one: the process in the high half.
    pub(super) pid_tgid: Reg,
    /// What is read by way of.
    slot: SlotId,
}

impl Task {
    /// Reads whose it is.
    pub(super) fn read(b: &mut Builder, address: Reg, places: &StatePlaces) -> Self {
        let slot = b.slot(8);
        let pid_tgid = if places.pid == places.tid + 4 {
            kernel_number_by(b, slot, address, places.tid, Size::B8)
        } else {
            let tid = kernel_number_by(b, slot, address, places.tid, Size::B4);
            let pid = kernel_number_by(b, slot, address, places.pid, Size::B4);
            let high = b.binary(IrBinaryOp::Shl, pid, 32);
            b.binary(IrBinaryOp::Or, high, tid)
        };
        Self { address, pid_tgid, slot }
    }

    /// A number of its structure; 0 if it cannot be read.
    pub(super) fn number(&self, b: &mut Builder, at: u32, size: Size) -> Reg {
        kernel_number_by(b, self.slot, self.address, at, size)
    }

    /// Goes on only where it is a target, as [`TargetFilter::require`] does for the current thread.
    ///
    /// # Errors
    /// If the kernel does not tell where it keeps what is asked.
    pub(super) fn require(
        &self,
        b: &mut Builder,
        target: TargetFilter,
        places: &StatePlaces,
        rejected: BlockId,
    ) -> Result<(), StateError> {
        let go_on = b.block();
        match target {
            TargetFilter::System => b.jump(go_on),
            TargetFilter::Process(wanted) => {
                let tgid = tgid_of(b, self.pid_tgid);
                b.branch(Test::Ne, tgid, i64::from(wanted), rejected, go_on);
            }
            TargetFilter::Targets => {
                let tgid = tgid_of(b, self.pid_tgid);
                let map = b.map(targets_map());
                let found = look_up(b, map, self.slot, tgid);
                b.branch(Test::Eq, found, 0, rejected, go_on);
            }
            TargetFilter::Threads => {
                let map = b.map(targets_map());
                let found = look_up(b, map, self.slot, self.pid_tgid);
                b.branch(Test::Eq, found, 0, rejected, go_on);
            }
            TargetFilter::Cgroup { id, level } => {
                let places = places.cgroup.ok_or(StateError::Untold { what: "the control group" })?;
                let set = self.number(b, places.set, Size::B8);
                let group = kernel_number_by(b, self.slot, set, places.group, Size::B8);
                let own_level = kernel_number_by(b, self.slot, group, places.level, Size::B4);
                let deep = b.block();
                b.branch(Test::Lt, own_level, i64::from(level), rejected, deep);
                b.switch_to(deep);
                let ancestor = kernel_number_by(b, self.slot, group, places.ancestors + 8 * level, Size::B8);
                let node = kernel_number_by(b, self.slot, ancestor, places.node, Size::B8);
                let found = kernel_number_by(b, self.slot, node, places.id, Size::B8);
                b.branch(Test::Ne, found, id.cast_signed(), rejected, go_on);
            }
            TargetFilter::User(uid) => {
                let (cred, at) = places.user.ok_or(StateError::Untold { what: "the user" })?;
                let cred = self.number(b, cred, Size::B8);
                let found = kernel_number_by(b, self.slot, cred, at, Size::B4);
                b.branch(Test::Ne, found, i64::from(uid), rejected, go_on);
            }
            TargetFilter::Comm(pattern) => {
                let comm = b.slot(u32::from(COMM_BYTES));
                let (room, from) =
                    (b.slot_address(comm), b.binary(IrBinaryOp::Add, self.address, i64::from(places.comm)));
                b.call_only(Helper::ProbeReadKernel, &[room.into(), i64::from(COMM_BYTES).into(), from.into()]);
                require_comm(b, comm, pattern, go_on, rejected);
            }
        }
        b.switch_to(go_on);
        Ok(())
    }
}
