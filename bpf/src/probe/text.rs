//! Comparisons of text, in forms that the verifier of Linux 6.1 follows.
//!
//! Equality and prefixes compare words at constant places. A suffix is at a place that depends on the text's length: its
//! bounds are shown to the verifier by one unsigned comparison, and as the stack may only be read aligned, it is compared
//! byte by byte. A search is a loop with a constant bound, which the verifier walks through; the byte that decides
//! whether to look closer is tested by a branch and the others without one, because a branch for each would multiply the
//! paths.

use bathyscope_capture::{CompareOp, TextPattern};
use bathyscope_catalog::{ColumnSource, Operand as Named};

use super::{
    COMM_BYTES, DYNAMIC_TEXT_ROOM, USER_TEXT_ROOM,
    frame::{dynamic_text_address, largest_access, load_number},
};
use crate::ir::{BlockId, Builder, Helper, IrBinaryOp, Op, Operand, Reg, Size, SlotId, Test, Width};

/// Where text is that can be read at constant places.
#[derive(Clone, Copy)]
enum TextLocation {
    Context(u32),
    Slot(SlotId),
}

/// The stack that comparisons of text use.
pub(super) struct Texts {
    comm: Option<SlotId>,
    /// Room into which text is read, as large as the largest text; used by one comparison after the other.
    scratch: Option<SlotId>,
}

impl Texts {
    pub(super) fn new(comm: Option<SlotId>) -> Self {
        Self { comm, scratch: None }
    }

    /// Leads to `yes` if the text can be read and the comparison holds, else to `no`.
    pub(super) fn compare(
        &mut self,
        builder: &mut Builder,
        source: Named,
        op: CompareOp,
        wanted: &str,
        yes: BlockId,
        no: BlockId,
    ) {
        let (pattern, equal, unequal) = match op {
            CompareOp::Ne => (TextPattern::Exact(wanted), no, yes),
            CompareOp::Eq => (TextPattern::Exact(wanted), yes, no),
            CompareOp::Matches => (TextPattern::new(wanted), yes, no),
            CompareOp::Contains => (TextPattern::Contains(wanted), yes, no),
            _ => return builder.jump(no),
        };
        let bytes = pattern.text().as_bytes();
        match (pattern, source) {
            (TextPattern::Exact(_) | TextPattern::Prefix(_), _) => {
                let whole = matches!(pattern, TextPattern::Exact(_));
                if let Some((place, room)) = self.at_constant_place(builder, source, no) {
                    compare_start(builder, place, room, bytes, whole, equal, unequal);
                } else {
                    builder.jump(no);
                }
            }
            (TextPattern::Suffix(_) | TextPattern::Contains(_), _) => {
                let Some((slot, room, length)) = self.with_length(builder, source, no) else {
                    return builder.jump(no);
                };
                let count = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                if bytes.is_empty() {
                    builder.jump(yes);
                } else if count >= room {
                    builder.jump(no);
                } else if let TextPattern::Suffix(_) = pattern {
                    compare_end(builder, slot, room, length, bytes, yes, no);
                } else {
                    search(builder, slot, room, bytes, yes, no);
                }
            }
        }
    }

    /// The text at a place where words can be read, with how many bytes there are, of which the last may be text too
    /// (an array in the record) or is always a NUL at the latest.
    fn at_constant_place(&mut self, builder: &mut Builder, source: Named, no: BlockId) -> Option<(TextLocation, u32)> {
        match source {
            Named::Comm => Some((TextLocation::Slot(self.comm?), u32::from(COMM_BYTES))),
            Named::Field(ColumnSource::FixedText { offset, bytes }) => Some((TextLocation::Context(offset), bytes)),
            _ => self.with_length(builder, source, no).map(|(slot, room, _length)| (TextLocation::Slot(slot), room)),
        }
    }

    /// Reads the text into the scratch slot, with a NUL at its end; gives the slot, its room, and the text's length
    /// with the NUL. Leads to `no` if it cannot be read.
    fn with_length(&mut self, builder: &mut Builder, source: Named, no: BlockId) -> Option<(SlotId, u32, Reg)> {
        let (helper, room, from) = match source {
            Named::Comm => {
                let from = builder.slot_address(self.comm?);
                (Helper::ProbeReadKernelStr, u32::from(COMM_BYTES), from)
            }
            Named::Field(ColumnSource::FixedText { offset, bytes }) => {
                let from = builder.reg();
                builder.push(Op::ContextAddress { to: from, offset });
                // One more than the array has, so that text without a NUL is not cut.
                (Helper::ProbeReadKernelStr, bytes + 1, from)
            }
            Named::Field(ColumnSource::DynamicText { offset, relative }) => {
                let from = dynamic_text_address(builder, offset, relative);
                (Helper::ProbeReadKernelStr, u32::from(DYNAMIC_TEXT_ROOM), from)
            }
            Named::Field(ColumnSource::UserText { offset }) => {
                let from = load_number(builder, offset, 8, false);
                (Helper::ProbeReadUserStr, u32::from(USER_TEXT_ROOM), from)
            }
            _ => return None,
        };
        let slot = match self.scratch {
            Some(slot) => slot,
            None => builder.slot(room),
        };
        builder.enlarge(slot, room);
        self.scratch = Some(slot);
        let address = builder.slot_address(slot);
        let bytes = Operand::Constant(i64::from(room));
        let length = builder.call(helper, &[address.into(), bytes, from.into()]);
        let read = builder.block();
        builder.branch(Test::SignedLe, length, 0, no, read);
        builder.switch_to(read);
        Some((slot, room, length))
    }
}

fn word(bytes: &[u8]) -> i64 {
    let mut word = [0; 8];
    for (to, from) in word.iter_mut().zip(bytes) {
        *to = *from;
    }
    i64::from_le_bytes(word)
}

/// Compares the first bytes, and the NUL after them if the text must end there.
fn compare_start(
    builder: &mut Builder,
    place: TextLocation,
    room: u32,
    wanted: &[u8],
    whole: bool,
    yes: BlockId,
    no: BlockId,
) {
    let mut bytes = wanted.to_vec();
    let fills_array = bytes.len() == room as usize && matches!(place, TextLocation::Context(_));
    if whole && !fills_array {
        bytes.push(0);
    }
    if bytes.len() > room as usize {
        return builder.jump(no);
    }
    let mut rest = bytes.as_slice();
    let mut at = 0;
    let found = builder.reg();
    while !rest.is_empty() {
        let left = u32::try_from(rest.len()).unwrap_or(u32::MAX);
        let size = match place {
            TextLocation::Context(offset) => largest_access(&[offset + at], left),
            TextLocation::Slot(_) => largest_access(&[at], left),
        };
        builder.push(match place {
            TextLocation::Context(offset) => Op::LoadContext { to: found, offset: offset + at, size, signed: false },
            TextLocation::Slot(slot) => Op::LoadSlot { to: found, slot, offset: at, size, signed: false },
        });
        let (piece, after) = rest.split_at(size.bytes() as usize);
        let same = builder.block();
        builder.branch(Test::Ne, found, word(piece), no, same);
        builder.switch_to(same);
        rest = after;
        at += size.bytes();
    }
    builder.jump(yes);
}

/// Compares the last bytes before the NUL.
fn compare_end(builder: &mut Builder, slot: SlotId, room: u32, length: Reg, wanted: &[u8], yes: BlockId, no: BlockId) {
    let count = u32::try_from(wanted.len()).unwrap_or(u32::MAX);
    // A text that is too short gives a negative start, which is a large unsigned one.
    let start = builder.binary(IrBinaryOp::Sub, length, i64::from(count) + 1);
    let bounded = builder.block();
    builder.branch(Test::Gt, start, i64::from(room - 1 - count), no, bounded);
    builder.switch_to(bounded);
    let base = builder.slot_address(slot);
    let end = builder.binary(IrBinaryOp::Add, base, start);
    let found = builder.reg();
    for (byte, offset) in wanted.iter().zip(0_i16..) {
        builder.push(Op::Load { to: found, base: end, offset, size: Size::B1, signed: false });
        let same = builder.block();
        builder.branch(Test::Ne, found, i64::from(*byte), no, same);
        builder.switch_to(same);
    }
    builder.jump(yes);
}

/// Searches for bytes that contain no NUL.
fn search(builder: &mut Builder, slot: SlotId, room: u32, wanted: &[u8], yes: BlockId, no: BlockId) {
    let Some((first, others)) = wanted.split_first() else { return builder.jump(yes) };
    let count = u32::try_from(wanted.len()).unwrap_or(u32::MAX);
    let (head, unfinished, look_closer, next) = (builder.block(), builder.block(), builder.block(), builder.block());
    let at = builder.set(0);
    builder.jump(head);

    builder.switch_to(head);
    let base = builder.slot_address(slot);
    let place = builder.binary(IrBinaryOp::Add, base, at);
    let found = builder.reg();
    builder.push(Op::Load { to: found, base: place, offset: 0, size: Size::B1, signed: false });
    builder.branch(Test::Eq, found, 0, no, unfinished);
    builder.switch_to(unfinished);
    builder.branch(Test::Eq, found, i64::from(*first), look_closer, next);

    builder.switch_to(look_closer);
    let difference = builder.set(0);
    for (byte, offset) in others.iter().zip(1_i16..) {
        builder.push(Op::Load { to: found, base: place, offset, size: Size::B1, signed: false });
        let wide = |to, op, left, right| Op::Binary { to, op, width: Width::W64, left, right };
        builder.push(wide(found, IrBinaryOp::Xor, found, Operand::Constant(i64::from(*byte))));
        builder.push(wide(difference, IrBinaryOp::Or, difference, found.into()));
    }
    builder.branch(Test::Eq, difference, 0, yes, next);

    builder.switch_to(next);
    builder.push(Op::Binary { to: at, op: IrBinaryOp::Add, width: Width::W64, left: at, right: Operand::Constant(1) });
    // The last place at which all bytes are still inside, before the final NUL.
    builder.branch(Test::Gt, at, i64::from(room - 1 - count), no, head);
}
