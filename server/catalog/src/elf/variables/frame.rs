//! Where the frame of a function is at one of its instructions, from a register.

use gimli::{
    BaseAddresses, CfaRule, DebugFrame, EhFrame, EndianSlice, LittleEndian, UnwindContext, UnwindSection as _,
};

use super::super::{ElfFile, parameters::Bytes};

/// The largest table of frames that is read.
pub(super) const MAX_FRAME_BYTES: usize = 64 << 20;

/// A register and how far from it something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Based {
    pub(super) register: u8,
    pub(super) offset: i64,
}

/// The caller's stack pointer at an address (CFA), by `.eh_frame`; none if that does not tell it by a register.
pub(super) fn canonical_frame(program: &ElfFile<'_>, address: u64) -> Option<Based> {
    let section = program.section(b".eh_frame").filter(|section| section.bytes <= MAX_FRAME_BYTES as u64)?;
    let content = program.content(section, "its table of frames").ok()?;
    let mut frames = EhFrame::new(&content, LittleEndian);
    frames.set_address_size(8);
    let text = program.section(b".text").map_or(0, |text| text.address);
    let bases = BaseAddresses::default().set_eh_frame(section.address).set_text(text);
    let mut context = UnwindContext::new();
    let row = frames
        .unwind_info_for_address(&bases, &mut context, address, |frames, bases, at| frames.cie_from_offset(bases, at))
        .ok()?;
    based(row.cfa())
}

/// The same by `.debug_frame`, which files without `.eh_frame` have.
pub(super) fn debug_frame(content: &[u8], address: u64) -> Option<Based> {
    let mut frames = DebugFrame::from(EndianSlice::new(content, LittleEndian) as Bytes<'_>);
    frames.set_address_size(8);
    let bases = BaseAddresses::default();
    let mut context = UnwindContext::new();
    let row = frames
        .unwind_info_for_address(&bases, &mut context, address, |frames, bases, at| frames.cie_from_offset(bases, at))
        .ok()?;
    based(row.cfa())
}

fn based(rule: &CfaRule<usize>) -> Option<Based> {
    match rule {
        CfaRule::RegisterAndOffset { register, offset } => {
            Some(Based { register: u8::try_from(register.0).ok()?, offset: *offset })
        }
        CfaRule::Expression(_) => None,
    }
}
