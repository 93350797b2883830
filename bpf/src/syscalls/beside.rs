//! What is recorded beside a call, as pieces of arguments that calls do not have: what new descriptors are, how long the call
//! ran on a CPU, where the program called from.

use bathyscope_capture::{CALL_HEADER_BYTES, CallPlace};
use bathyscope_catalog::syscalls::Beside;

use super::{KernelPlaces, copy::PIECE_BYTES, ends::kernel_number, plan, programs::ProgramWriter};
use crate::ir::{Helper, IrBinaryOp, Reg, Size, Test, Width};

/// Where a thread's value keeps, behind what is recorded, what is known of its time at a call's entry.
const RAN: u32 = 0;
const SINCE: u32 = 8;
const SWITCHES: u32 = 16;
/// Bytes of that.
pub(super) const KEPT_BYTES: u32 = 24;

impl ProgramWriter<'_> {
    fn kernel_places(&self) -> KernelPlaces {
        self.probe.places
    }

    /// Where a thread's value has what is kept for the call's end and is not recorded.
    fn kept(&mut self, state: Reg) -> Reg {
        self.b.binary(IrBinaryOp::Add, state, i64::from(self.sizes.kept_at()))
    }

    /// Appends a number of 8 bytes as a piece, if there is room.
    pub(super) fn append_number(&mut self, state: Reg, beside: u8, part: u8, number: Reg) {
        let (fits, done) = (self.b.block(), self.b.block());
        let used = self.load(state, CallPlace::USED, Size::B4);
        self.b.branch(Test::Gt, used, i64::from(self.sizes.limit), done, fits);
        self.b.switch_to(fits);
        let piece = self.b.binary(IrBinaryOp::Add, state, used);
        let word = i64::from(beside) | i64::from(part) << 8 | 1 << 16;
        self.store(piece, CALL_HEADER_BYTES, Size::B4, word);
        self.store(piece, CALL_HEADER_BYTES + 4, Size::B4, 8);
        self.store(piece, CALL_HEADER_BYTES + PIECE_BYTES, Size::B8, number);
        let after = self.b.binary(IrBinaryOp::Add, used, 16);
        self.store(state, CallPlace::USED, Size::B4, after);
        self.b.jump(done);
        self.b.switch_to(done);
    }

    /// The number of the inode that a descriptor of this process is; 0 if it cannot be read.
    fn inode(&mut self, fd: Reg) -> Option<Reg> {
        let places = self.kernel_places().file?;
        let task = self.b.call(Helper::GetCurrentTask, &[]);
        let files = kernel_number(&mut self.b, task, places.files, Size::B8);
        let table = kernel_number(&mut self.b, files, places.table, Size::B8);
        let descriptors = kernel_number(&mut self.b, table, places.descriptors, Size::B8);
        let offset = self.b.binary(IrBinaryOp::Shl, fd, 3);
        let at = self.b.binary(IrBinaryOp::Add, descriptors, offset);
        let file = kernel_number(&mut self.b, at, 0, Size::B8);
        let inode = kernel_number(&mut self.b, file, places.inode, Size::B8);
        Some(kernel_number(&mut self.b, inode, places.number, Size::B8))
    }

    /// Records what the descriptors are that a call has opened, if they have no path.
    pub(super) fn note_inodes(&mut self, state: Reg, flags: Reg, result: Reg) {
        if !self.probe.inodes || self.kernel_places().file.is_none() {
            return;
        }
        let (opened, one, two, other, done) =
            (self.b.block(), self.b.block(), self.b.block(), self.b.block(), self.b.block());
        let kind = self.b.binary(IrBinaryOp::And, flags, plan::OPENS | plan::OPENS_TWO);
        self.b.branch(Test::Eq, kind, 0, done, opened);
        self.b.switch_to(opened);
        let fine = self.b.block();
        self.b.branch(Test::SignedGe, result, 0, fine, done);
        self.b.switch_to(fine);
        self.b.branch(Test::Bits, kind, plan::OPENS, one, other);
        self.b.switch_to(one);
        if let Some(inode) = self.inode(result) {
            self.append_number(state, Beside::INODE, 0, inode);
        }
        self.b.jump(done);
        self.b.switch_to(other);
        // A socket pair has its descriptors behind the fourth argument, a pipe behind the first.
        let first = self.load(state, CallPlace::ARGUMENTS, Size::B8);
        let fourth = self.load(state, CallPlace::ARGUMENTS + 24, Size::B8);
        let number = self.load(state, CallPlace::NUMBER, Size::B4);
        let pair = self.number_of("socketpair");
        let address = self.b.select(Test::Eq, Width::W64, number, pair, fourth, first);
        self.b.jump(two);
        self.b.switch_to(two);
        let slot = self.b.slot(8);
        self.b.store_slot(slot, 0, Size::B8, 0);
        let room = self.b.slot_address(slot);
        self.b.call_only(Helper::ProbeReadUser, &[room.into(), 8.into(), address.into()]);
        for part in 0..2_u8 {
            let fd = self.b.load_slot(slot, 4 * u32::from(part), Size::B4, false);
            if let Some(inode) = self.inode(fd) {
                self.append_number(state, Beside::INODE, part, inode);
            }
        }
        self.b.jump(done);
        self.b.switch_to(done);
    }

    /// How often the thread was switched away from.
    fn switches(&mut self, task: Reg, waits: u32, preemptions: u32) -> Reg {
        let waits = self.load(task, waits, Size::B8);
        let preemptions = self.load(task, preemptions, Size::B8);
        self.b.binary(IrBinaryOp::Add, waits, preemptions)
    }

    /// Keeps what is known of the thread's time when a call begins.
    pub(super) fn keep_time(&mut self, state: Reg) {
        let Some(places) = self.kernel_places().time.filter(|_| self.probe.cpu_time) else { return };
        let task = self.b.call(Helper::GetCurrentTaskBtf, &[]);
        let (ran, since) = (self.load(task, places.ran, Size::B8), self.load(task, places.since, Size::B8));
        let switches = self.switches(task, places.waits, places.preemptions);
        let kept = self.kept(state);
        self.store(kept, RAN, Size::B8, ran);
        self.store(kept, SINCE, Size::B8, since);
        self.store(kept, SWITCHES, Size::B8, switches);
    }

    /// Records how long a call ran on a CPU. A thread that was not switched away from ran all the time. Of another the kernel
    /// has added up its time to the last tick or switch, at a moment of the CPU's own clock; from one such moment to another
    /// that clock goes as the one that calls are timed by.
    pub(super) fn note_time(&mut self, state: Reg) {
        let Some(places) = self.kernel_places().time.filter(|_| self.probe.cpu_time) else { return };
        let task = self.b.call(Helper::GetCurrentTaskBtf, &[]);
        let duration = self.load(state, CallPlace::DURATION_NS, Size::B8);
        let (ran, since) = (self.load(task, places.ran, Size::B8), self.load(task, places.since, Size::B8));
        let switches = self.switches(task, places.waits, places.preemptions);
        let kept = self.kept(state);
        let [ran_before, since_before, switches_before] =
            [RAN, SINCE, SWITCHES].map(|place| self.load(kept, place, Size::B8));
        let ran = self.b.binary(IrBinaryOp::Sub, ran, ran_before);
        let passed = self.b.binary(IrBinaryOp::Sub, since, since_before);
        let rest = self.b.binary(IrBinaryOp::Sub, duration, passed);
        let used = self.b.binary(IrBinaryOp::Add, ran, rest);
        // As unsigned numbers negative ones are the largest.
        let used = self.b.select(Test::Gt, Width::W64, used, duration, duration, used);
        let ran = self.b.select(Test::Gt, Width::W64, ran, duration, duration, ran);
        // Less than what was added up, or all of a call that has waited, means that the clocks are of two CPUs.
        let used = self.b.select(Test::Ge, Width::W64, used, duration, ran, used);
        let used = self.b.select(Test::Eq, Width::W64, switches, switches_before, duration, used);
        self.append_number(state, Beside::CPU_NS, 0, used);
    }

    /// Records where the program called from.
    pub(super) fn note_address(&mut self, state: Reg) {
        // Without the kernel's types it does not give its registers.
        if !self.probe.addresses || self.probe.places.family.is_none() {
            return;
        }
        let address = self.next_instruction();
        self.append_number(state, Beside::ADDRESS, 0, address);
    }
}
