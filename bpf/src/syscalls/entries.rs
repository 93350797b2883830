//! Counting the entries of a folder that a call has given.

use bathyscope_capture::CallPlace;

use super::copy::Copier;
use crate::ir::{BlockId, Builder, FunctionId, Helper, IrBinaryOp, Parameter, Reg, Size, Test};

/// Where an entry has its length: the same in both kinds of entries.
const LENGTH_AT: i64 = 16;
/// The most entries that are counted: more than fit into the buffer of any C library.
const MOST: i64 = 4096;
/// The frame: where the next entry is, where the last one ends, how many there were.
const FRAME_BYTES: u32 = 24;
const NEXT: i16 = 0;
const END: i16 = 8;
const COUNT: i16 = 16;

/// The function that counts one entry.
pub(super) fn counter(b: &mut Builder) -> FunctionId {
    let parameters = [Parameter::Number, Parameter::Frame { bytes: FRAME_BYTES, context: None }];
    let (function, registers) = b.begin_function("count_entry", &parameters);
    if let [_, frame] = registers[..] {
        let (inside, stop, whole) = (b.block(), b.block(), b.block());
        let (next, end) = (b.load(frame, NEXT, Size::B8, false), b.load(frame, END, Size::B8, false));
        b.branch(Test::Lt, next, end, inside, stop);
        b.switch_to(inside);
        let slot = b.slot(8);
        b.store_slot(slot, 0, Size::B8, 0);
        let (room, from) = (b.slot_address(slot), b.binary(IrBinaryOp::Add, next, LENGTH_AT));
        b.call_only(Helper::ProbeReadUser, &[room.into(), 2.into(), from.into()]);
        let length = b.load_slot(slot, 0, Size::B2, false);
        b.branch(Test::Eq, length, 0, stop, whole);
        b.switch_to(whole);
        let after = b.binary(IrBinaryOp::Add, next, length);
        b.store(frame, NEXT, Size::B8, after);
        let count = b.load(frame, COUNT, Size::B8, false);
        let count = b.binary(IrBinaryOp::Add, count, 1);
        b.store(frame, COUNT, Size::B8, count);
        b.ret(0);
        b.switch_to(stop);
        b.ret(1);
    }
    b.end_function();
    function
}

impl Copier<'_> {
    /// Appends how many entries a folder has given, if all could be counted; goes to `done`.
    pub(super) fn entries(
        &self,
        b: &mut Builder,
        counter: FunctionId,
        state: Reg,
        [address, argument]: [Reg; 2],
        done: BlockId,
    ) {
        let frame = b.slot(FRAME_BYTES);
        let result = b.load(state, CallPlace::RESULT as i16, Size::B8, false);
        let end = b.binary(IrBinaryOp::Add, address, result);
        b.store_slot(frame, NEXT as u32, Size::B8, address);
        b.store_slot(frame, END as u32, Size::B8, end);
        b.store_slot(frame, COUNT as u32, Size::B8, 0);
        let (function, place) = (b.function_address(counter), b.slot_address(frame));
        b.call_only(Helper::Loop, &[MOST.into(), function.into(), place.into(), 0.into()]);
        let (next, end) =
            (b.load_slot(frame, NEXT as u32, Size::B8, false), b.load_slot(frame, END as u32, Size::B8, false));
        let all = b.block();
        b.branch(Test::Eq, next, end, all, done);
        b.switch_to(all);
        let count = b.load_slot(frame, COUNT as u32, Size::B8, false);
        let word = Self::word(b, argument, 0, true);
        self.number(b, state, [word, count], done);
    }
}
