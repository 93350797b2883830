//! Copies of the stacks of threads that call: registers and the top of the stack in user space, each a record of its own right
//! before that of the call or signal. Who reads them walks them by the unwind tables of the files that the thread runs.

use bathyscope_capture::{CALL_HEADER_BYTES, CallFlags, CallPlace};
use bathyscope_catalog::constants::Arch;

use super::{STACK_BYTES, programs::ProgramWriter};
use crate::ir::{BlockId, Helper, IrBinaryOp, MapDefinition, Memory, Size, Test};

/// The name of the place where a copy is put together: a per-CPU array of one value.
const STACKS: &str = "sys_stack";
/// What is copied at a time: a stack's end is found by what cannot be read any more.
const CHUNK_BYTES: u32 = 1024;

/// Where a thread's registers are, in bytes from the beginning of `struct pt_regs`: the next instruction, the stack pointer and
/// the frame pointer.
fn registers_of(arch: Arch) -> [i16; 3] {
    match arch {
        Arch::X86_64 => [128, 152, 32],
        Arch::Aarch64 => [256, 248, 232],
    }
}

impl ProgramWriter<'_> {
    /// Gives the ring a copy of the thread's stack; goes to `full` where it has no room.
    pub(super) fn tell_stack(&mut self, full: BlockId) {
        let map = self.b.map(MapDefinition::scratch(STACKS, CALL_HEADER_BYTES + STACK_BYTES));
        let room = self.b.array_value(map, 0);
        let registers = self.registers();
        let [ip, sp, bp] = registers_of(self.probe.arch).map(|at| self.b.load(registers, at, Size::B8, false));
        for (at, register) in (0_u32..).zip([ip, sp, bp]) {
            self.store(room, CallPlace::ARGUMENTS + 8 * at, Size::B8, register);
        }
        let now = self.b.call(Helper::KtimeGetNs, &[]);
        self.store(room, CallPlace::START_NS, Size::B8, now);
        self.store(room, CallPlace::DURATION_NS, Size::B8, 0);
        let tgid = self.b.binary(IrBinaryOp::Shr, self.pid_tgid, 32);
        self.store(room, CallPlace::PID, Size::B4, tgid);
        self.store(room, CallPlace::TID, Size::B4, self.pid_tgid);
        self.store(room, CallPlace::FLAGS, Size::B4, CallFlags::STACK);
        self.store(room, CallPlace::USED, Size::B4, 0);
        let (copied, fits, done) = (self.b.block(), self.b.block(), self.b.block());
        for at in (0..STACK_BYTES).step_by(CHUNK_BYTES as usize) {
            let next = self.b.block();
            let to =
                self.b.address_of(Memory::Pointer(room, i16::try_from(CALL_HEADER_BYTES + at).unwrap_or(i16::MAX)));
            let from = self.b.binary(IrBinaryOp::Add, sp, i64::from(at));
            let read = self.b.call(Helper::ProbeReadUser, &[to.into(), i64::from(CHUNK_BYTES).into(), from.into()]);
            self.b.branch(Test::SignedLt, read, 0, copied, next);
            self.b.switch_to(next);
            self.store(room, CallPlace::USED, Size::B4, i64::from(at + CHUNK_BYTES));
        }
        self.b.jump(copied);
        self.b.switch_to(copied);
        // Read back, so that the ways here are one for the verifier.
        let used = self.load(room, CallPlace::USED, Size::B4);
        self.b.branch(Test::Gt, used, i64::from(STACK_BYTES), full, fits);
        self.b.switch_to(fits);
        let bytes = self.b.binary(IrBinaryOp::Add, used, i64::from(CALL_HEADER_BYTES));
        self.put(room, bytes.into(), done, full);
        self.b.switch_to(done);
    }
}
