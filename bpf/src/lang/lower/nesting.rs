//! Runs that another run of the script's programs may come in between, on the same CPU.
//!
//! Which programs are concerned is the kernel's doing, the same from 6.1 on:
//!
//! - Tracepoint, kprobe (single, multi, session) and perf event programs run only if none of them runs on this CPU
//!   (`bpf_prog_active`), whatever interrupts them; the kernel counts what it leaves out. They share one piece of memory.
//! - Programs at raw tracepoints, fentry and fexit can be preempted and interrupted by others, but each has a guard of its
//!   own (`prog->active`): no second run of the same program begins on this CPU. They have a piece each. So have iterators,
//!   which only the agent runs, one at a time.
//! - `begin`, `end` and `self:signal` run with preemption off, one at a time.
//! - Programs at user functions and markers run in the thread that hit them with nothing but migration off. The scheduler
//!   may put any other thread on the CPU in between, which runs the same program or another, and they need not end in the
//!   reverse order: a counter of the depth would give away memory that is still in use.
//!
//! So a run of the last kind that needs scratch memory *claims* one of several pieces with one exchange, which nothing can
//! come in between, and gives it back wherever it ends. If all pieces are claimed, the hit is left out and counted. The
//! memory's first word says whether it is claimed; the kernel never ends a program midway, so no claim is left behind.

use super::{
    program::{Lower, ScriptCounter},
    scratch::{CHUNK_BYTES, MAX_PIECES, Piece},
};
use crate::ir::{
    AtomicOp, Builder, Helper, IrBinaryOp, MapDefinition, Memory, Operand, ProgramKind, Reg, Size, SlotId, Test, Width,
    moved,
};

/// Bytes of a claimed piece's number in memory that callbacks get.
pub(super) const CLAIM_BYTES: u32 = 8;

/// Whether another run of a program of this kind may come in between on the same CPU.
pub(super) fn nests(kind: ProgramKind) -> bool {
    matches!(kind, ProgramKind::Uprobe | ProgramKind::Uretprobe | ProgramKind::UprobeMulti)
}

impl Lower<'_> {
    /// Whether what is of this CPU may be changed by another program between two instructions of this one.
    pub(super) fn shares_cpu(&self) -> bool {
        use ProgramKind as K;
        match self.id.kind {
            kind if nests(kind) => true,
            // Never by the same program.
            K::BtfTracepoint | K::Fentry | K::Fexit | K::Iterator => self.shared.programs > 1,
            _ => false,
        }
    }

    /// Claims a piece of scratch memory, or counts the hit as left out and ends the program.
    pub(super) fn claim(&mut self) {
        let number = match self.frame {
            Some(frame) => moved(frame, self.analysis.frame_bytes),
            None => Memory::Slot(self.b.slot(CLAIM_BYTES), 0),
        };
        // The first to be taken: where the claim's word is.
        let word = self.scratch.take(8).unwrap_or(Piece { chunk: 0, offset: 0 });
        let [claimed, full] = [(); 2].map(|()| self.b.block());
        // The verifier must not tell the pieces apart, or it walks through the whole program for each of them.
        let first = self.opaque_zero();
        let map = self.map(MapDefinition::scratch(self.scratch_name(word.chunk), CHUNK_BYTES));
        self.b.repeat(i64::from(MAX_PIECES), |builder, round| {
            let index = builder.binary(IrBinaryOp::Add, first, round.index);
            store_number(builder, number, index);
            let (map, key) = (builder.map_address(map), builder.address_of(number));
            let piece = builder.call(Helper::MapLookup, &[map.into(), key.into()]);
            let there = builder.block();
            builder.branch(Test::Eq, piece, 0, full, there);
            builder.switch_to(there);
            let one = builder.set(1);
            let before = builder.atomic_fetch(AtomicOp::Exchange, Width::W64, piece, 0, one);
            builder.branch(Test::Eq, before, 0, claimed, round.next);
        });
        self.b.jump(full);
        self.b.switch_to(full);
        self.count(ScriptCounter::Nested);
        self.b.ret(0);
        self.b.switch_to(claimed);
        self.claimed = Some(number);
    }

    /// Gives the piece back.
    pub(super) fn release(&mut self) {
        if let Some(number) = self.claimed {
            let piece = self.claimed_piece(0, number);
            self.b.store(piece, 0, Size::B8, 0);
        }
    }

    /// Ends the program itself, not a callback.
    pub(super) fn leave(&mut self, result: impl Into<Operand>) {
        self.release();
        self.b.ret(result);
    }

    /// The claimed piece of one of the scratch arrays.
    pub(super) fn claimed_piece(&mut self, chunk: u32, number: Memory) -> Reg {
        let map = self.map(MapDefinition::scratch(self.scratch_name(chunk), CHUNK_BYTES));
        let piece = self.look_up(map, number);
        let (gone, there) = (self.b.block(), self.b.block());
        self.b.branch(Test::Eq, piece, 0, gone, there);
        // That cannot be: the arrays have the same number of pieces.
        self.b.switch_to(gone);
        self.b.ret(0);
        self.b.switch_to(there);
        piece
    }

    /// Room that the frame of a callback needs for the piece's number.
    pub(super) fn claim_room(&self) -> u32 {
        if self.guarded { CLAIM_BYTES } else { 0 }
    }

    /// Puts the piece's number into a frame that is made for a callback.
    pub(super) fn hand_over_claim(&mut self, frame: SlotId, offset: u32) {
        if let Some(number) = self.claimed {
            self.copy(Memory::Slot(frame, offset), number, CLAIM_BYTES);
        }
    }

    /// Within a callback: the number is in the frame that it got, at `offset`. Gives where it was before.
    pub(super) fn take_claim(&mut self, frame: Option<Reg>, offset: u32) -> Option<Memory> {
        let outer = self.claimed;
        if let (true, Some(frame)) = (self.guarded, frame) {
            self.claimed = Some(moved(Memory::Pointer(frame, 0), offset));
        }
        outer
    }

    /// Scratch memory as the function that is being written reaches it.
    pub(super) fn reach_scratch(&mut self, Piece { chunk, offset }: Piece) -> Memory {
        let base = match self.claimed {
            Some(number) => self.claimed_piece(chunk, number),
            None => {
                // The size is filled in at the end.
                let map = self.map(MapDefinition::scratch(self.scratch_name(chunk), CHUNK_BYTES));
                self.b.array_value(map, 0)
            }
        };
        Memory::Pointer(base, i16::try_from(offset).unwrap_or(i16::MAX))
    }
}

fn store_number(builder: &mut Builder, number: Memory, index: Reg) {
    match number {
        Memory::Slot(slot, offset) => builder.store_slot(slot, offset, Size::B8, index),
        Memory::Pointer(base, offset) => builder.store(base, offset, Size::B8, index),
        Memory::Context(_) => {}
    }
}
