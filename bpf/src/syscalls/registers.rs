//! What the programs read of a thread's registers, where they are told the call and its arguments by these.

use bathyscope_catalog::constants::Arch;

use super::programs::{ARGUMENTS_AT, ProgramWriter};
use crate::ir::{Helper, Reg, Size};

/// Where `struct pt_regs` has what, in bytes from its beginning.
struct PtRegsLayout {
    /// The arguments of a call, in their order.
    arguments: [i16; 6],
    /// The same of a call of a 32-bit program.
    narrow: [i16; 6],
    /// The call's number, and its size.
    number: (i16, Size),
}

const fn registers_of(arch: Arch) -> PtRegsLayout {
    match arch {
        // rdi, rsi, rdx, r10, r8, r9; ebx, ecx, edx, esi, edi, ebp; orig_rax.
        Arch::X86_64 => PtRegsLayout {
            arguments: [112, 104, 96, 56, 72, 64],
            narrow: [40, 88, 96, 104, 112, 32],
            number: (120, Size::B8),
        },
        // orig_x0, x1 to x5; syscallno. Calls of 32-bit programs are not told apart there.
        Arch::Aarch64 => PtRegsLayout {
            arguments: [272, 8, 16, 24, 32, 40],
            narrow: [272, 8, 16, 24, 32, 40],
            number: (280, Size::B4),
        },
    }
}

impl ProgramWriter<'_> {
    /// The registers with which this thread left user space.
    pub(super) fn registers(&mut self) -> Reg {
        let task = self.b.call(Helper::GetCurrentTaskBtf, &[]);
        self.b.call(Helper::TaskPtRegs, &[task.into()])
    }

    /// The next instruction of this thread in user space.
    pub(super) fn next_instruction(&mut self) -> Reg {
        let place = if self.probe.arch == Arch::Aarch64 { 256 } else { 128 };
        let registers = self.registers();
        self.b.load(registers, place, Size::B8, false)
    }

    /// The arguments of the call that begins, each of 8 bytes; of a 32-bit program's, if it is one, each of 4.
    pub(super) fn arguments(&mut self, narrow: bool) -> [Reg; 6] {
        let size = if narrow { Size::B4 } else { Size::B8 };
        if !self.probe.raw {
            return [0, 1, 2, 3, 4, 5].map(|index| self.b.load_context(ARGUMENTS_AT + 8 * index, size, false));
        }
        let known = registers_of(self.probe.arch);
        let registers = self.registers();
        let places = if narrow { known.narrow } else { known.arguments };
        places.map(|place| self.b.load(registers, place, size, false))
    }

    /// The number of the call that ends.
    pub(super) fn number_at_exit(&mut self) -> Reg {
        if self.probe.raw { self.number_in_registers() } else { self.number }
    }

    /// The number of the call that this thread is in, or has made last if it has not been interrupted since.
    pub(super) fn number_in_registers(&mut self) -> Reg {
        let (place, size) = registers_of(self.probe.arch).number;
        let registers = self.registers();
        self.b.load(registers, place, size, true)
    }
}
