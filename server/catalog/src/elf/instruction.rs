//! What a uprobe on an instruction costs.
//!
//! The kernel puts a breakpoint in the place of the instruction. Behind the probe it must execute what was there: a few
//! simple instructions it emulates; everything else it steps over, out of line, with a second exception, which costs some
//! twenty times as much (0.7 µs against 14 µs on the machines this was measured on).

use super::file::ElfFile;
use crate::constants::Arch;

const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];

/// What an instruction is, as far as it matters for a probe on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Instruction {
    /// One byte that does nothing.
    Nop,
    /// Five bytes that do nothing: from kernel 6.18 on the fastest place of all, before that stepped over.
    Nop5,
    /// Saves a register.
    Push,
    /// A jump, also a conditional one, to a fixed place.
    Jump,
    /// A call of a fixed place.
    Call,
    /// Anything else.
    Other,
    /// It is not in the file or not in code.
    Unknown,
}

impl Instruction {
    /// Whether all supported kernels emulate it: the cheap case.
    pub fn emulated(self) -> bool {
        matches!(self, Self::Nop | Self::Push | Self::Jump | Self::Call)
    }
}

/// What a function begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Size of a mark for targets of jumps (`endbr64`) that does nothing else; 0 if there is none.
    pub marker_bytes: u8,
    /// What follows it.
    pub instruction: Instruction,
}

impl Entry {
    /// How many bytes behind the function's first one a probe is cheap and sees the same registers and stack.
    pub fn skip(self) -> u64 {
        if self.instruction.emulated() { u64::from(self.marker_bytes) } else { 0 }
    }

    /// Whether a probe there is stepped over, so that every hit costs about 14 µs.
    pub fn stepped(self) -> bool {
        !self.instruction.emulated()
    }
}

impl ElfFile<'_> {
    /// What is at an offset of the file, such as that of a [`Symbol`](super::Symbol).
    pub fn entry(&self, offset: u64) -> Entry {
        let nothing = Entry { marker_bytes: 0, instruction: Instruction::Unknown };
        if !self.is_code(offset) {
            return nothing;
        }
        let (bytes, length) = self.bytes_at::<16>(offset);
        let bytes = bytes.get(..length).unwrap_or_default();
        match self.arch() {
            Arch::X86_64 => {
                let behind = bytes.strip_prefix(&ENDBR64);
                let marker_bytes = if behind.is_some() { 4 } else { 0 };
                Entry { marker_bytes, instruction: x86_64(behind.unwrap_or(bytes)) }
            }
            Arch::Aarch64 => Entry { instruction: aarch64(bytes), ..nothing },
        }
    }
}

fn x86_64(bytes: &[u8]) -> Instruction {
    match bytes {
        [] => Instruction::Unknown,
        [0x90, ..] => Instruction::Nop,
        [0x0f, 0x1f, 0x44, 0x00, 0x00, ..] => Instruction::Nop5,
        [0x50..=0x57, ..] | [0x41, 0x50..=0x57, ..] => Instruction::Push,
        [0xe8, _, _, _, _, ..] => Instruction::Call,
        [0xe9, _, _, _, _, ..] | [0xeb | 0x70..=0x7f, _, ..] | [0x0f, 0x80..=0x8f, _, _, _, _, ..] => Instruction::Jump,
        _ => Instruction::Other,
    }
}

fn aarch64(bytes: &[u8]) -> Instruction {
    let Some(word) = bytes.first_chunk::<4>().map(|word| u32::from_le_bytes(*word)) else {
        return Instruction::Unknown;
    };
    match word {
        // b; b.cond, cbz, cbnz, tbz, tbnz.
        _ if word >> 26 == 0x05 || word >> 24 == 0x54 || matches!(word >> 25 & 0x3f, 0x1a | 0x1b) => Instruction::Jump,
        _ if word >> 26 == 0x25 => Instruction::Call,
        _ => Instruction::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_bytes_tell_what_an_instruction_is() {
        let cases: [(&[u8], Instruction); 14] = [
            (&[0x55, 0x48], Instruction::Push),
            (&[0x41, 0x57], Instruction::Push),
            (&[0x41, 0x89], Instruction::Other),
            (&[0x90], Instruction::Nop),
            (&[0x66, 0x90], Instruction::Other),
            (&[0x0f, 0x1f, 0x44, 0, 0], Instruction::Nop5),
            (&[0x0f, 0x1f, 0x40, 0], Instruction::Other),
            (&[0xe8, 1, 2, 3, 4], Instruction::Call),
            (&[0xe8, 1], Instruction::Other),
            (&[0xeb, 5], Instruction::Jump),
            (&[0x74, 5], Instruction::Jump),
            (&[0x0f, 0x84, 1, 2, 3, 4], Instruction::Jump),
            (&[0x48, 0x83, 0xec, 8], Instruction::Other),
            (&[], Instruction::Unknown),
        ];
        for (bytes, expected) in cases {
            assert_eq!(x86_64(bytes), expected, "{bytes:02x?}");
        }
        let cases = [
            (0x1400_0002_u32, Instruction::Jump),
            (0x9400_0002, Instruction::Call),
            (0x5400_0040, Instruction::Jump),
            (0xb400_0040, Instruction::Jump),
            (0x3600_0040, Instruction::Jump),
            (0xa9bf_7bfd, Instruction::Other),
        ];
        for (word, expected) in cases {
            assert_eq!(aarch64(&word.to_le_bytes()), expected, "{word:08x}");
        }
        assert_eq!(aarch64(&[1, 2]), Instruction::Unknown);
    }

    #[test]
    fn a_mark_is_skipped_only_if_that_is_cheap() {
        let entry = |instruction| Entry { marker_bytes: 4, instruction };
        assert_eq!((entry(Instruction::Push).skip(), entry(Instruction::Push).stepped()), (4, false));
        assert_eq!((entry(Instruction::Other).skip(), entry(Instruction::Other).stepped()), (0, true));
    }
}
