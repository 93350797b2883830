//! From which processes the caller's descends: as a condition, and recorded.

use bathyscope_capture::Below;
use bathyscope_capture::{CALL_HEADER_BYTES, CallPlace};
use bathyscope_catalog::syscalls::Beside;

use super::{copy::PIECE_BYTES, programs::ProgramWriter};
use crate::{
    ir::{BlockId, Helper, IrBinaryOp, Size, Test},
    probe::COMM_BYTES,
};

/// How many generations are looked at.
const GENERATIONS: u32 = 16;
/// How many are recorded, with how many bytes each: the id (8), the name.
const RECORDED: u32 = Beside::ANCESTORS_MOST;
const ANCESTOR_BYTES: u32 = Beside::ANCESTOR_BYTES;
const _FITS: () = assert!(ANCESTOR_BYTES as usize == 8 + COMM_BYTES as usize);

impl ProgramWriter<'_> {
    /// Goes on where the process descends from the one that is asked for, else to `no`.
    pub(super) fn require_below(&mut self, no: BlockId) {
        let Some(Below { pid, direct }) = self.probe.below else { return };
        // Without the kernel's types nothing descends from anything; who asks is told so before.
        let Some(places) = self.probe.places.family else { return self.b.jump(no) };
        let found = self.b.block();
        let mut task = self.b.call(Helper::GetCurrentTaskBtf, &[]);
        for _ in 0..if direct { 1 } else { GENERATIONS } {
            let parent = self.load(task, places.parent, Size::B8);
            let its = self.load(parent, places.pid, Size::B4);
            let (other, next) = (self.b.block(), self.b.block());
            self.b.branch(Test::Eq, its, i64::from(pid), found, other);
            self.b.switch_to(other);
            // The first process and the kernel's own have no other.
            self.b.branch(Test::Gt, its, 1, next, no);
            self.b.switch_to(next);
            task = parent;
        }
        self.b.jump(no);
        self.b.switch_to(found);
    }

    /// Records the process's user and group of processes, and what it descends from.
    pub(super) fn note_family(&mut self, state: crate::ir::Reg) {
        let Some(places) = self.probe.places.family.filter(|_| self.probe.ancestors) else { return };
        let owner = self.b.call(Helper::GetCurrentUidGid, &[]);
        self.append_number(state, Beside::OWNER, 0, owner);
        let group = self.b.call(Helper::GetCurrentCgroupId, &[]);
        self.append_number(state, Beside::OWNER, 1, group);
        let (fits, done) = (self.b.block(), self.b.block());
        let used = self.load(state, CallPlace::USED, Size::B4);
        self.b.branch(Test::Gt, used, i64::from(self.sizes.limit), done, fits);
        self.b.switch_to(fits);
        let piece = self.b.binary(IrBinaryOp::Add, state, used);
        self.store(piece, CALL_HEADER_BYTES, Size::B4, i64::from(Beside::ANCESTORS) | 1 << 16);
        self.store(piece, CALL_HEADER_BYTES + 4, Size::B4, i64::from(RECORDED * ANCESTOR_BYTES));
        let mut task = self.b.call(Helper::GetCurrentTaskBtf, &[]);
        for index in 0..RECORDED {
            let at = CALL_HEADER_BYTES + PIECE_BYTES + index * ANCESTOR_BYTES;
            task = self.load(task, places.parent, Size::B8);
            let pid = self.load(task, places.pid, Size::B4);
            self.store(piece, at, Size::B8, pid);
            for half in 0..u32::from(COMM_BYTES) / 8 {
                let comm = self.load(task, places.comm + 8 * half, Size::B8);
                self.store(piece, at + 8 + 8 * half, Size::B8, comm);
            }
        }
        let after = self.b.binary(IrBinaryOp::Add, used, i64::from(PIECE_BYTES + RECORDED * ANCESTOR_BYTES));
        self.store(state, CallPlace::USED, Size::B4, after);
        self.b.jump(done);
        self.b.switch_to(done);
    }
}
