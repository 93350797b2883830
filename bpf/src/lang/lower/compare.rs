//! Comparisons of values in memory, in forms that the verifier of Linux 6.1 follows: at constant places where one side is
//! constant, else in loops of a constant number of rounds, a word in each round.

use bathyscope_plan::{Shown, Type};

use super::{Result, program::Lower};
use crate::{
    ir::{BlockId, Helper, IrBinaryOp, IrUnaryOp, Memory, Op, Operand, Parameter, Reg, Size, Test, Width},
    lang::hir::{TypedExpr, TypedExprKind},
};

/// A byte of 1 in each byte of a word.
const ONES: i64 = 0x0101_0101_0101_0101;
/// The highest bit in each byte of a word.
const HIGHS: i64 = ONES << 7;

fn is_text(ty: &Type) -> bool {
    matches!(ty, Type::Text { .. } | Type::Shown(Shown::Path { .. }))
}

impl Lower<'_> {
    /// Ends the block: goes to `yes` if both are the same.
    pub(super) fn branch_same(
        &mut self,
        left: &TypedExpr,
        right: &TypedExpr,
        most: Option<u32>,
        yes: BlockId,
        no: BlockId,
    ) -> Result<()> {
        if is_text(&left.ty) {
            let most = most.unwrap_or(u32::MAX);
            return match (&left.kind, &right.kind) {
                (TypedExprKind::Text(a), TypedExprKind::Text(b)) => {
                    let cut = |text: &[u8]| text.iter().copied().take(most as usize).collect::<Vec<u8>>();
                    self.b.jump(if cut(a) == cut(b) { yes } else { no });
                    Ok(())
                }
                (TypedExprKind::Text(wanted), _) => self.branch_text(right, wanted, most, yes, no),
                (_, TypedExprKind::Text(wanted)) => self.branch_text(left, wanted, most, yes, no),
                _ => self.branch_texts(left, right, most, yes, no),
            };
        }
        if let Type::Buffer { .. } = left.ty {
            return self.branch_buffers(left, right, yes, no);
        }
        let bytes = left.ty.bytes().min(right.ty.bytes()).min(most.unwrap_or(u32::MAX));
        let a = self.place_outside_context(left)?;
        let b = self.place_outside_context(right)?;
        self.b.compare_memory(a, b, bytes, yes, no);
        Ok(())
    }

    /// Compares with a constant. No more is read than what can make a difference.
    fn branch_text(&mut self, text: &TypedExpr, wanted: &[u8], most: u32, yes: BlockId, no: BlockId) -> Result<()> {
        let mut wanted: Vec<u8> = wanted.iter().copied().take_while(|byte| *byte != 0).collect();
        if wanted.len() < most as usize {
            wanted.push(0);
        } else {
            wanted.truncate(most as usize);
        }
        let room = text.ty.bytes();
        let needed = u32::try_from(wanted.len()).unwrap_or(u32::MAX);
        if needed > room {
            self.b.jump(no);
            return Ok(());
        }
        let is_read = matches!(
            text.kind,
            TypedExprKind::ReadText { .. } | TypedExprKind::DynamicText { .. } | TypedExprKind::Read { .. }
        );
        let place = if is_read {
            // One byte more, since the last one is always a NUL.
            let room = (needed + 1).min(room);
            let place = self.temporary(room)?;
            self.read_text(text, place, room)?;
            place
        } else {
            self.place(text)?
        };
        self.b.compare_constant(place, &wanted, yes, no);
        Ok(())
    }

    fn branch_texts(
        &mut self,
        left: &TypedExpr,
        right: &TypedExpr,
        most: u32,
        yes: BlockId,
        no: BlockId,
    ) -> Result<()> {
        let a = self.word_place(left)?;
        let b = self.word_place(right)?;
        let bytes = left.ty.bytes().min(right.ty.bytes()).min(most);
        let (a, b) = (self.b.address_of(a), self.b.address_of(b));
        self.b.repeat(i64::from(bytes / 8), |builder, round| {
            let offset = builder.binary(IrBinaryOp::Shl, round.index, 3);
            let (a, b) = (builder.binary(IrBinaryOp::Add, a, offset), builder.binary(IrBinaryOp::Add, b, offset));
            let (a, b) = (builder.load(a, 0, Size::B8, false), builder.load(b, 0, Size::B8, false));
            let difference = builder.binary(IrBinaryOp::Xor, a, b);
            // The lowest bit of this is in the first byte of `a` that is NUL.
            let less = builder.binary(IrBinaryOp::Add, a, ONES.wrapping_neg());
            let inverted = builder.unary(IrUnaryOp::Not, a);
            let high = builder.binary(IrBinaryOp::And, less, inverted);
            let nul = builder.binary(IrBinaryOp::And, high, HIGHS);
            let (same, differs, both) = (builder.block(), builder.block(), builder.block());
            builder.branch(Test::Eq, difference, 0, same, differs);
            builder.switch_to(same);
            builder.branch(Test::Ne, nul, 0, yes, round.next);
            builder.switch_to(differs);
            builder.branch(Test::Eq, nul, 0, no, both);
            // Both end where `a` has a NUL before the first difference.
            builder.switch_to(both);
            let lowest = |builder: &mut crate::ir::Builder, value: Reg| {
                let negated = builder.unary(IrUnaryOp::Negate, value);
                builder.binary(IrBinaryOp::And, value, negated)
            };
            let (nul, difference) = (lowest(builder, nul), lowest(builder, difference));
            builder.branch(Test::Lt, nul, difference, yes, no);
        });
        let found = bytes / 8 * 8;
        for at in found..bytes {
            let at = i16::try_from(at).unwrap_or(i16::MAX);
            let (a, b) = (self.b.load(a, at, Size::B1, false), self.b.load(b, at, Size::B1, false));
            let (same, next) = (self.b.block(), self.b.block());
            self.b.branch(Test::Ne, a, b, no, same);
            self.b.switch_to(same);
            self.b.branch(Test::Eq, a, 0, yes, next);
            self.b.switch_to(next);
        }
        self.b.jump(yes);
        Ok(())
    }

    /// Where a text is, at a multiple of 8.
    fn word_place(&mut self, text: &TypedExpr) -> Result<Memory> {
        let place = self.place_outside_context(text)?;
        let aligned = match place {
            Memory::Slot(_, offset) => offset.is_multiple_of(8),
            Memory::Pointer(_, offset) => offset % 8 == 0,
            Memory::Context(_) => false,
        };
        if aligned {
            return Ok(place);
        }
        let to = self.temporary(text.ty.bytes())?;
        self.copy(to, place, text.ty.bytes());
        Ok(to)
    }

    fn branch_buffers(&mut self, left: &TypedExpr, right: &TypedExpr, yes: BlockId, no: BlockId) -> Result<()> {
        let a = self.place_outside_context(left)?;
        let b = self.place_outside_context(right)?;
        let length = self.b.load_memory(a, Size::B4, false);
        let other = self.b.load_memory(b, Size::B4, false);
        let same = self.b.block();
        self.b.branch(Test::Ne, length, other, no, same);
        self.b.switch_to(same);
        let most = left.ty.bytes().min(right.ty.bytes()).saturating_sub(4);
        let (a, b) = (self.b.address_of(a), self.b.address_of(b));
        self.b.repeat(i64::from(most), |builder, round| {
            let inside = builder.block();
            builder.branch(Test::Ge, round.index, length, yes, inside);
            builder.switch_to(inside);
            let (a, b) =
                (builder.binary(IrBinaryOp::Add, a, round.index), builder.binary(IrBinaryOp::Add, b, round.index));
            let (a, b) = (builder.load(a, 4, Size::B1, false), builder.load(b, 4, Size::B1, false));
            builder.branch(Test::Ne, a, b, no, round.next);
        });
        self.b.jump(yes);
        Ok(())
    }

    /// The difference of the first bytes that differ, or 0.
    pub(super) fn difference(&mut self, left: &TypedExpr, right: &TypedExpr, most: u32, text: bool) -> Result<Operand> {
        let (a, room_a) = self.content(left)?;
        let (b, room_b) = self.content(right)?;
        let rounds = i64::from(most.min(room_a).min(room_b));
        let (a, b) = (self.b.address_of(a), self.b.address_of(b));
        let result = self.b.set(0);
        let done = self.b.block();
        self.b.repeat(rounds, |builder, round| {
            let (a, b) =
                (builder.binary(IrBinaryOp::Add, a, round.index), builder.binary(IrBinaryOp::Add, b, round.index));
            let (a, b) = (builder.load(a, 0, Size::B1, false), builder.load(b, 0, Size::B1, false));
            let (same, differs) = (builder.block(), builder.block());
            builder.branch(Test::Eq, a, b, same, differs);
            builder.switch_to(differs);
            let (to, op, width, left, right) = (result, IrBinaryOp::Sub, Width::W64, a, b.into());
            builder.push(Op::Binary { to, op, width, left, right });
            builder.jump(done);
            builder.switch_to(same);
            if text {
                builder.branch(Test::Eq, a, 0, done, round.next);
            }
        });
        self.b.jump(done);
        self.b.switch_to(done);
        Ok(result.into())
    }

    /// Where the second text begins in the first, or -1.
    pub(super) fn find(&mut self, text: &TypedExpr, needle: &TypedExpr) -> Result<Operand> {
        match &needle.kind {
            TypedExprKind::Text(needle) => self.find_constant(text, needle),
            _ => self.find_text(text, needle),
        }
    }

    /// The byte that decides whether to look closer is tested by a branch and the others without one, because a branch
    /// for each would multiply the verifier's paths.
    fn find_constant(&mut self, text: &TypedExpr, needle: &[u8]) -> Result<Operand> {
        let place = self.place_outside_context(text)?;
        let needle: Vec<u8> = needle.iter().copied().take_while(|byte| *byte != 0).collect();
        let Some((first, others)) = needle.split_first() else { return Ok(Operand::Constant(0)) };
        let places = i64::from(text.ty.bytes()) - i64::try_from(needle.len()).unwrap_or(i64::MAX);
        if places < 1 {
            return Ok(Operand::Constant(-1));
        }
        let base = self.b.address_of(place);
        let result = self.b.set(-1);
        let done = self.b.block();
        self.b.repeat(places, |builder, round| {
            let place = builder.binary(IrBinaryOp::Add, base, round.index);
            let found = builder.load(place, 0, Size::B1, false);
            let (going, closer, yes) = (builder.block(), builder.block(), builder.block());
            builder.branch(Test::Eq, found, 0, done, going);
            builder.switch_to(going);
            builder.branch(Test::Eq, found, i64::from(*first), closer, round.next);
            builder.switch_to(closer);
            let mut difference = builder.set(0);
            for (byte, offset) in others.iter().zip(1_i16..) {
                let found = builder.load(place, offset, Size::B1, false);
                let other = builder.binary(IrBinaryOp::Xor, found, i64::from(*byte));
                difference = builder.binary(IrBinaryOp::Or, difference, other);
            }
            builder.branch(Test::Eq, difference, 0, yes, round.next);
            builder.switch_to(yes);
            builder.assign(result, round.index);
            builder.jump(done);
        });
        self.b.jump(done);
        self.b.switch_to(done);
        Ok(result.into())
    }

    /// A search in as many steps as it takes: each compares one byte, and goes on within the text that is looked for or
    /// begins again one further. It is a callback, since the verifier would walk through all steps of a loop.
    fn find_text(&mut self, text: &TypedExpr, needle: &TypedExpr) -> Result<Operand> {
        const MOST_STEPS: u32 = 1 << 20;
        let rooms = [text.ty.bytes(), needle.ty.bytes()];
        let pieces = [self.piece(rooms[0])?, self.piece(rooms[1])?];
        for (value, piece) in [text, needle].into_iter().zip(pieces) {
            let to = self.reach(super::program::Where::Scratch(piece));
            self.write(value, to, value.ty.bytes(), false)?;
        }
        // Where it began, how far it is there, and what was found.
        let bytes = 24 + self.claim_room();
        let frame = self.b.slot(bytes);
        let zero = self.forgotten(Operand::Constant(0));
        self.b.store_slot(frame, 0, Size::B8, zero);
        self.b.store_slot(frame, 8, Size::B8, zero);
        self.b.store_slot(frame, 16, Size::B8, -1);
        self.hand_over_claim(frame, 24);
        let parameters = [Parameter::Number, Parameter::Frame { bytes, context: None }];
        self.functions += 1;
        let name = format!("find_{}", self.functions);
        let (callback, registers) = self.b.begin_function(name, &parameters);
        let Some(state) = registers.get(1).copied() else { return self.error("a callback has no parameters") };
        let outer_claim = self.take_claim(Some(state), 24);
        self.write_find_step(pieces, rooms, state);
        self.claimed = outer_claim;
        self.b.end_function();
        let (callback, address) = (self.b.function_address(callback), self.b.slot_address(frame));
        let steps = i64::from(rooms[0].saturating_mul(rooms[1]).min(MOST_STEPS));
        self.b.call_only(Helper::Loop, &[steps.into(), callback.into(), address.into(), 0.into()]);
        Ok(self.b.load_slot(frame, 16, Size::B8, false).into())
    }

    fn write_find_step(&mut self, pieces: [super::scratch::Piece; 2], rooms: [u32; 2], state: Reg) {
        let [stop, outside, go_on] = [(); 3].map(|()| self.b.block());
        let begin = self.b.load(state, 0, Size::B8, false);
        let within = self.b.load(state, 8, Size::B8, false);
        let bounded = self.b.block();
        self.b.branch(Test::Ge, within, i64::from(rooms[1]), outside, bounded);
        self.b.switch_to(bounded);
        let needle = self.reach(super::program::Where::Scratch(pieces[1]));
        let needle = self.b.address_of(needle);
        let wanted = self.byte_at(needle, within);
        let (found, search) = (self.b.block(), self.b.block());
        self.b.branch(Test::Eq, wanted, 0, found, search);
        self.b.switch_to(found);
        self.b.store(state, 16, Size::B8, begin);
        self.b.jump(stop);
        self.b.switch_to(search);
        let at = self.b.binary(IrBinaryOp::Add, begin, within);
        let inside = self.b.block();
        self.b.branch(Test::Ge, at, i64::from(rooms[0]), outside, inside);
        self.b.switch_to(inside);
        let text = self.reach(super::program::Where::Scratch(pieces[0]));
        let text = self.b.address_of(text);
        let there = self.byte_at(text, at);
        let (same, differs, again) = (self.b.block(), self.b.block(), self.b.block());
        self.b.branch(Test::Eq, there, wanted, same, differs);
        self.b.switch_to(same);
        let further = self.b.binary(IrBinaryOp::Add, within, 1);
        let further = self.forgotten(further.into());
        self.b.store(state, 8, Size::B8, further);
        self.b.jump(go_on);
        self.b.switch_to(differs);
        self.b.branch(Test::Eq, there, 0, outside, again);
        self.b.switch_to(again);
        let next = self.b.binary(IrBinaryOp::Add, begin, 1);
        let (next, zero) = (self.forgotten(next.into()), self.forgotten(Operand::Constant(0)));
        self.b.store(state, 0, Size::B8, next);
        self.b.store(state, 8, Size::B8, zero);
        self.b.jump(go_on);
        self.b.switch_to(outside);
        self.b.jump(stop);
        self.b.switch_to(go_on);
        self.b.ret(0);
        self.b.switch_to(stop);
        self.b.ret(1);
    }
}
