//! Stacks: each body is kept once, under the hash of its frames, which is the stack's value.

use bathyscope_plan::{KERNEL_STACKS, STACK_FRAMES, Type, USER_STACKS};

use super::{
    Result,
    program::{Lower, ScriptCounter},
};
use crate::{
    ir::{Helper, IrBinaryOp, MapDefinition, MapId, MapKind, Memory, Operand, Reg, Size, Test},
    lang::hir::TypedExpr,
};

/// Bytes of a body.
const BODY_BYTES: u32 = STACK_FRAMES * 8;
/// How many different stacks are kept.
const MAX_STACKS: u32 = 1 << 14;
/// Asks for the user's stack.
const USER_STACK: i64 = 1 << 8;
/// `-EFAULT`: there is none, such as the kernel's of a sample in a program. Of a thread of the kernel, the user's has 0 bytes.
/// Both are answers and no losses.
const NO_SUCH_STACK: i64 = -14;
/// An odd number with bits all over, so that each frame reaches all bits of the hash.
const MULTIPLIER: i64 = 0x9e37_79b9_7f4a_7c15_u64.cast_signed();

impl Lower<'_> {
    fn stacks(&mut self, user: bool) -> MapId {
        if user {
            self.user_stacks = true;
        } else {
            self.kernel_stacks = true;
        }
        let name = if user { USER_STACKS } else { KERNEL_STACKS };
        let definition = MapDefinition::new(name, MapKind::Hash, 8, BODY_BYTES, MAX_STACKS);
        self.map(definition.with_flags(MapDefinition::NO_PREALLOC))
    }

    pub(super) fn kernel_stack(&mut self, ty: &Type) -> Result<Operand> {
        Ok(self.stack_id(ty)?.into())
    }

    /// Takes a stack; gives the id of its body, or 0 if there is none.
    pub(super) fn stack_id(&mut self, ty: &Type) -> Result<Reg> {
        let Type::Stack { user, frames, .. } = ty else {
            return self.error("the checked script takes a stack that is none");
        };
        let frames = u32::from(*frames).clamp(1, STACK_FRAMES);
        // One frame more, for the end.
        let piece = self.piece(BODY_BYTES + 8)?;
        let body = self.reach(super::program::Where::Scratch(piece));
        let address = self.b.address_of(body);
        let context = self.context();
        let flags = if *user { USER_STACK } else { 0 };
        let arguments = [context.into(), address.into(), i64::from(frames * 8).into(), flags.into()];
        let bytes = self.b.call(Helper::GetStack, &arguments);
        let id = self.b.set(0);
        let [taken, missing, failed, join] = [(); 4].map(|()| self.b.block());
        self.b.branch(Test::SignedGt, bytes, 0, taken, missing);
        self.b.switch_to(missing);
        let odd = self.b.block();
        self.b.branch(Test::Eq, bytes, 0, join, odd);
        self.b.switch_to(odd);
        self.b.branch(Test::Eq, bytes, NO_SUCH_STACK, join, failed);
        self.b.switch_to(failed);
        self.count(ScriptCounter::StackFailed);
        self.b.jump(join);
        self.b.switch_to(taken);
        self.hash_frames(address, bytes, id);
        self.keep_body(*user, address, id);
        self.b.jump(join);
        self.b.switch_to(join);
        Ok(id)
    }

    /// As [`Self::stack_id`], for a stack that is walked by tables.
    pub(super) fn unwound_stack_id(&mut self, ty: &Type) -> Result<Reg> {
        let Type::Stack { frames, .. } = ty else {
            return self.error("the checked script takes a stack that is none");
        };
        let (body, count) = self.walk_user(u32::from(*frames).clamp(1, STACK_FRAMES))?;
        let id = self.b.set(0);
        let [some, missing, failed, join] = [(); 4].map(|()| self.b.block());
        self.b.branch(Test::Le, count, i64::from(STACK_FRAMES), some, failed);
        self.b.switch_to(failed);
        self.count(ScriptCounter::StackFailed);
        self.b.jump(join);
        self.b.switch_to(some);
        let taken = self.b.block();
        self.b.branch(Test::Eq, count, 0, missing, taken);
        self.b.switch_to(missing);
        self.b.jump(join);
        self.b.switch_to(taken);
        let bytes = self.b.binary(IrBinaryOp::Shl, count, 3);
        let address = self.b.address_of(body);
        self.hash_frames(address, bytes, id);
        self.keep_body(true, address, id);
        self.b.jump(join);
        self.b.switch_to(join);
        Ok(id)
    }

    fn hash_frames(&mut self, body: Reg, bytes: Reg, id: Reg) {
        let count = self.b.binary(IrBinaryOp::Shr, bytes, 3);
        let end = self.b.binary(IrBinaryOp::Add, body, bytes);
        self.b.store(end, 0, Size::B8, 0);
        let multiplier = self.b.set(MULTIPLIER);
        self.b.assign(id, count);
        // Two frames a round, each with a hash of its own: so one multiplication need not wait for the other. The zero
        // behind the last frame may be the second of a pair.
        let (other, index) = (self.b.set(0), self.b.set(0));
        let [head, inside, after] = [(); 3].map(|()| self.b.block());
        self.b.jump(head);
        self.b.switch_to(head);
        // In this order the verifier of 6.1 sees the end: it compares what it knows only in part with what it knows.
        self.b.branch(Test::Le, count, index, after, inside);
        self.b.switch_to(inside);
        let offset = self.b.binary(IrBinaryOp::Shl, index, 3);
        let place = self.b.binary(IrBinaryOp::Add, body, offset);
        for (lane, at) in [(id, 0), (other, 8)] {
            let frame = self.b.load(place, at, Size::B8, false);
            self.change_register(lane, IrBinaryOp::Xor, frame);
            self.change_register(lane, IrBinaryOp::Mul, multiplier);
        }
        self.change_register(index, IrBinaryOp::Add, 2);
        self.b.jump(head);
        self.b.switch_to(after);
        self.change_register(id, IrBinaryOp::Mul, multiplier);
        self.change_register(id, IrBinaryOp::Add, other);
        // The low bits have only seen low bits.
        let high = self.b.binary(IrBinaryOp::Shr, id, 32);
        self.change_register(id, IrBinaryOp::Xor, high);
    }

    /// Keeps the body unless it is there.
    fn keep_body(&mut self, user: bool, body: Reg, id: Reg) {
        let key = self.b.slot(8);
        self.b.store_slot(key, 0, Size::B8, id);
        let map = self.stacks(user);
        let address = self.b.map_address(map);
        let key = self.b.slot_address(key);
        let found = self.b.call(Helper::MapLookup, &[address.into(), key.into()]);
        let (new, join) = (self.b.block(), self.b.block());
        self.b.branch(Test::Eq, found, 0, new, join);
        self.b.switch_to(new);
        let address = self.b.map_address(map);
        let failed = self.b.call(Helper::MapUpdate, &[address.into(), key.into(), body.into(), 0.into()]);
        self.count_unless_zero(failed, ScriptCounter::StackFailed);
        self.b.jump(join);
        self.b.switch_to(join);
    }

    /// How many frames a stack has.
    pub(super) fn stack_length(&mut self, stack: &TypedExpr) -> Result<Reg> {
        let Type::Stack { user, .. } = stack.ty else {
            return self.error("the checked script asks for the length of a stack that is none");
        };
        let id = if user {
            let place = self.place(stack)?;
            self.b.load_memory(place, Size::B8, false)
        } else {
            self.register(stack)?
        };
        let key = self.b.slot(8);
        self.b.store_slot(key, 0, Size::B8, id);
        let map = self.stacks(user);
        let (map, key) = (self.b.map_address(map), self.b.slot_address(key));
        let body = self.b.call(Helper::MapLookup, &[map.into(), key.into()]);
        let count = self.b.set(0);
        let (there, done) = (self.b.block(), self.b.block());
        self.b.branch(Test::Eq, body, 0, done, there);
        self.b.switch_to(there);
        self.b.repeat(i64::from(STACK_FRAMES), |builder, round| {
            let offset = builder.binary(IrBinaryOp::Shl, round.index, 3);
            let place = builder.binary(IrBinaryOp::Add, body, offset);
            let frame = builder.load_memory(Memory::Pointer(place, 0), Size::B8, false);
            let more = builder.block();
            builder.branch(Test::Eq, frame, 0, done, more);
            builder.switch_to(more);
            let next = builder.binary(IrBinaryOp::Add, round.index, 1);
            builder.assign(count, next);
        });
        self.b.jump(done);
        self.b.switch_to(done);
        Ok(count)
    }
}
