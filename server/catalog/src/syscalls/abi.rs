//! The interfaces by which programs call an x86_64 kernel: besides its own those of 32-bit programs and of x32.
//!
//! Their numbers mean other calls, and their arguments other structures. So a call's number says whose it is: bits that
//! no number has are set in it. That of x32 the programs themselves set; that of 32-bit programs is ours.

use super::table::StructureLayout;
use crate::constants::Arch;

/// The interface that a call was made by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Abi {
    /// The processor's own.
    #[default]
    Native,
    /// That of 32-bit programs, i386; 64-bit programs make such calls by `int $0x80`.
    I386,
    /// That of programs with short pointers in 64-bit mode.
    X32,
}

impl Abi {
    /// The bit in a number that says that a 32-bit program made the call.
    pub const I386_BIT: i64 = 1 << 31;
    /// The bit in a number that says that it is one of x32.
    pub const X32_BIT: i64 = 1 << 30;
    /// Added to the number that `socketcall` has as its first argument: the call that is meant.
    pub const THROUGH_SOCKETCALL: i64 = 0x1000;
    /// Calls that are made through `socketcall` have smaller numbers than this.
    pub const SOCKETCALLS: i64 = 21;
    /// Added to the number that `ipc` has as its first argument: the call that is meant.
    pub const THROUGH_IPC: i64 = 0x1020;
    /// Calls that are made through `ipc` have smaller numbers than this.
    pub const IPC_CALLS: i64 = 25;

    /// Whose call a number is.
    pub fn of(arch: Arch, number: i64) -> Self {
        match arch {
            Arch::X86_64 if number & Self::I386_BIT != 0 => Self::I386,
            Arch::X86_64 if number & Self::X32_BIT != 0 => Self::X32,
            Arch::X86_64 | Arch::Aarch64 => Self::Native,
        }
    }

    /// How rows tell it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Native => "64",
            Self::I386 => "32",
            Self::X32 => "x32",
        }
    }

    /// The interface that rows tell so; the processor's own of other words.
    pub fn of_word(word: &str) -> Self {
        [Self::I386, Self::X32].into_iter().find(|abi| abi.word() == word).unwrap_or_default()
    }

    /// How strace calls programs that make such calls.
    pub fn mode(self) -> &'static str {
        match self {
            Self::Native => "64 bit",
            Self::I386 => "32 bit",
            Self::X32 => "x32",
        }
    }

    /// The bit in its numbers.
    pub(super) fn bit(self) -> i64 {
        match self {
            Self::Native => 0,
            Self::I386 => Self::I386_BIT,
            Self::X32 => Self::X32_BIT,
        }
    }

    /// The sizes in structures of the call of this number, without its bit.
    pub(super) fn layout(self, number: i64) -> StructureLayout {
        /// From here on i386 has only calls with times of 64 bits, the first of them `clock_gettime64`.
        const WIDE_TIMES: i64 = 403;
        match self {
            Self::Native => StructureLayout { word: 8, time: 8 },
            Self::I386 if (WIDE_TIMES..Self::THROUGH_SOCKETCALL).contains(&number) => {
                StructureLayout { word: 4, time: 8 }
            }
            Self::I386 => StructureLayout { word: 4, time: 4 },
            Self::X32 => StructureLayout { word: 4, time: 8 },
        }
    }
}
