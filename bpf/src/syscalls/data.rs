//! What calls have read and written, as records of their own before that of the call: in pieces, as a call may move more than a
//! record holds.

use bathyscope_capture::Descriptors;
use bathyscope_capture::{CALL_HEADER_BYTES, CallFlags, CallPlace};

use super::{
    DATA_BYTES, MAX_DATA_BYTES, plan,
    programs::{ProgramWriter, SyscallCounter},
};
use crate::{
    ir::{BlockId, FunctionId, Helper, IrBinaryOp, MapDefinition, Parameter, Reg, Size, SlotId, Test, Width},
    probe::COMM_BYTES,
};

/// The name of the place where a piece is put together: a per-CPU array of one value.
const PIECES: &str = "sys_data";
/// What the function of a piece gets, each of 8 bytes: where the piece begins, how many bytes are left, how many came before,
/// which buffer it is, when the call began, and its number.
const FRAME_BYTES: u32 = 48;
const FROM: i16 = 0;
const LEFT: i16 = 8;
const OFFSET: i16 = 16;
const BUFFER: i16 = 24;
const START_NS: i16 = 32;
const NUMBER: i16 = 40;
/// How many buffers of a vector are looked at, as strace does with those that are in one page.
const BUFFERS: i64 = 64;
/// Where a `struct msghdr` has the address of its vector.
const MESSAGE_VECTOR: i64 = 16;

/// Where a frame has a number.
fn slot_at(place: i16) -> u32 {
    u32::from(place.unsigned_abs())
}

impl ProgramWriter<'_> {
    /// The function that gives the ring one piece; only to be written where data are asked for.
    pub(super) fn data_function(&mut self) -> Option<FunctionId> {
        if self.probe.data.is_none() {
            return None;
        }
        let map = self.b.map(MapDefinition::scratch(PIECES, CALL_HEADER_BYTES + DATA_BYTES));
        let parameters = [Parameter::Number, Parameter::Frame { bytes: FRAME_BYTES, context: None }];
        let (function, registers) = self.b.begin_function("tell_data", &parameters);
        let outside = self.counters;
        if let [_, frame] = registers[..] {
            self.counters = self.b.array_value(self.counters_map, 0);
            let room = self.b.array_value(map, 0);
            let (some, stop) = (self.b.block(), self.b.block());
            let left = self.b.load(frame, LEFT, Size::B8, false);
            self.b.branch(Test::Eq, left, 0, stop, some);
            self.b.switch_to(some);
            let most = i64::from(DATA_BYTES);
            let bytes = self.b.select(Test::Gt, Width::W64, left, most, most, left);
            self.piece(room, frame, bytes, stop);
            self.b.switch_to(stop);
            self.b.ret(1);
        }
        self.counters = outside;
        self.b.end_function();
        Some(function)
    }

    /// Copies a piece, gives it to the ring, and moves the frame on; ends the block.
    fn piece(&mut self, room: Reg, frame: Reg, bytes: Reg, stop: BlockId) {
        let (copied, fits, full, done) = (self.b.block(), self.b.block(), self.b.block(), self.b.block());
        // Read back, so that the verifier knows its limits.
        self.store(room, CallPlace::USED, Size::B4, bytes);
        let used = self.load(room, CallPlace::USED, Size::B4);
        self.b.branch(Test::Gt, used, i64::from(DATA_BYTES), stop, fits);
        self.b.switch_to(fits);
        let from = self.b.load(frame, FROM, Size::B8, false);
        let to = self.b.binary(IrBinaryOp::Add, room, i64::from(CALL_HEADER_BYTES));
        let read = self.b.call(Helper::ProbeReadUser, &[to.into(), used.into(), from.into()]);
        self.b.branch(Test::Eq, read, 0, copied, stop);
        self.b.switch_to(copied);
        let offset = self.b.load(frame, OFFSET, Size::B8, false);
        self.store(room, CallPlace::ARGUMENTS, Size::B8, offset);
        let buffer = self.b.load(frame, BUFFER, Size::B8, false);
        self.store(room, CallPlace::ARGUMENTS + 8, Size::B8, buffer);
        // The same moment as that of its call, before which it stands then wherever rows are in the order of time.
        let start = self.b.load(frame, START_NS, Size::B8, false);
        self.store(room, CallPlace::START_NS, Size::B8, start);
        let number = self.b.load(frame, NUMBER, Size::B8, false);
        self.store(room, CallPlace::NUMBER, Size::B4, number);
        self.store(room, CallPlace::DURATION_NS, Size::B8, 0);
        self.store(room, CallPlace::FLAGS, Size::B4, CallFlags::DATA);
        let pid_tgid = self.b.call(Helper::GetCurrentPidTgid, &[]);
        let tgid = self.b.binary(IrBinaryOp::Shr, pid_tgid, 32);
        self.store(room, CallPlace::PID, Size::B4, tgid);
        self.store(room, CallPlace::TID, Size::B4, pid_tgid);
        let cpu = self.b.call(Helper::GetSmpProcessorId, &[]);
        self.store(room, CallPlace::CPU, Size::B4, cpu);
        let comm = self.b.binary(IrBinaryOp::Add, room, i64::from(CallPlace::COMM));
        self.b.call_only(Helper::GetCurrentComm, &[comm.into(), i64::from(COMM_BYTES).into()]);
        for (place, sign) in [(FROM, IrBinaryOp::Add), (OFFSET, IrBinaryOp::Add), (LEFT, IrBinaryOp::Sub)] {
            let before = self.b.load(frame, place, Size::B8, false);
            let after = self.b.binary(sign, before, used);
            self.b.store(frame, place, Size::B8, after);
        }
        self.count(SyscallCounter::Hits);
        let bytes = self.b.binary(IrBinaryOp::Add, used, i64::from(CALL_HEADER_BYTES));
        self.put(room, bytes.into(), done, full);
        self.b.switch_to(full);
        self.count(SyscallCounter::RingFull);
        self.b.jump(stop);
        self.b.switch_to(done);
        self.b.ret(0);
    }

    /// Gives the ring what a call has read or written, if that is asked for.
    pub(super) fn tell_data(&mut self, function: FunctionId, state: Reg, flags: Reg, result: Reg) {
        let (moved, of_read, of_other, of_written) = (self.b.block(), self.b.block(), self.b.block(), self.b.block());
        let (wanted, done) = (self.b.block(), self.b.block());
        self.b.branch(Test::SignedGe, result, 1, moved, done);
        self.b.switch_to(moved);
        self.b.branch(Test::Bits, flags, plan::READS, of_read, of_other);
        self.b.switch_to(of_other);
        self.b.branch(Test::Bits, flags, plan::WRITES, of_written, done);
        let asked = self.probe.data.clone();
        self.b.switch_to(of_read);
        self.require_descriptor(state, &asked.read, wanted, done);
        self.b.switch_to(of_written);
        self.require_descriptor(state, &asked.write, wanted, done);
        self.b.switch_to(wanted);
        let frame = self.b.slot(FRAME_BYTES);
        let most = i64::from(MAX_DATA_BYTES);
        let left = self.b.select(Test::Gt, Width::W64, result, most, most, result);
        let start = self.load(state, CallPlace::START_NS, Size::B8);
        let number = self.load(state, CallPlace::NUMBER, Size::B4);
        self.b.store_slot(frame, slot_at(START_NS), Size::B8, start);
        self.b.store_slot(frame, slot_at(NUMBER), Size::B8, number);
        let address = self.load(state, CallPlace::ARGUMENTS + 8, Size::B8);
        let (plain, several) = (self.b.block(), self.b.block());
        self.b.branch(Test::Bits, flags, plan::VECTORED, several, plain);
        self.b.switch_to(plain);
        self.buffer(function, frame, [address, left], 0.into());
        self.b.jump(done);
        self.b.switch_to(several);
        self.buffers(function, frame, flags, [address, left]);
        self.b.jump(done);
        self.b.switch_to(done);
    }

    fn require_descriptor(&mut self, state: Reg, asked: &Descriptors, wanted: BlockId, done: BlockId) {
        match asked {
            Descriptors::None => self.b.jump(done),
            Descriptors::All => self.b.jump(wanted),
            Descriptors::Of(numbers) => {
                let fd = self.load(state, CallPlace::ARGUMENTS, Size::B4);
                for number in numbers {
                    let next = self.b.block();
                    self.b.branch(Test::Eq, fd, i64::from(*number), wanted, next);
                    self.b.switch_to(next);
                }
                self.b.jump(done);
            }
        }
    }

    /// One buffer, in pieces.
    fn buffer(&mut self, function: FunctionId, frame: SlotId, [address, left]: [Reg; 2], index: crate::ir::Operand) {
        self.b.store_slot(frame, slot_at(FROM), Size::B8, address);
        self.b.store_slot(frame, slot_at(LEFT), Size::B8, left);
        self.b.store_slot(frame, slot_at(OFFSET), Size::B8, 0);
        self.b.store_slot(frame, slot_at(BUFFER), Size::B8, index);
        let pieces = i64::from(MAX_DATA_BYTES / DATA_BYTES);
        let (function, place) = (self.b.function_address(function), self.b.slot_address(frame));
        self.b.call_only(Helper::Loop, &[pieces.into(), function.into(), place.into(), 0.into()]);
    }

    /// The buffers of a vector, or of the one of a message.
    fn buffers(&mut self, function: FunctionId, frame: SlotId, flags: Reg, [address, left]: [Reg; 2]) {
        let slot = self.b.slot(16);
        let (base, rest) = (self.b.reg(), self.b.reg());
        self.b.assign(base, address);
        self.b.assign(rest, left);
        let (message, ready) = (self.b.block(), self.b.block());
        self.b.branch(Test::Bits, flags, plan::OF_MESSAGE, message, ready);
        self.b.switch_to(message);
        self.b.store_slot(slot, 0, Size::B8, 0);
        let from = self.b.binary(IrBinaryOp::Add, address, MESSAGE_VECTOR);
        let room = self.b.slot_address(slot);
        self.b.call_only(Helper::ProbeReadUser, &[room.into(), 8.into(), from.into()]);
        let vector = self.b.load_slot(slot, 0, Size::B8, false);
        self.b.assign(base, vector);
        self.b.jump(ready);
        self.b.switch_to(ready);
        let index = self.b.set(0);
        let (head, inside, after) = (self.b.block(), self.b.block(), self.b.block());
        self.b.jump(head);
        self.b.switch_to(head);
        self.b.branch(Test::Lt, index, BUFFERS, inside, after);
        self.b.switch_to(inside);
        let some = self.b.block();
        self.b.branch(Test::Eq, rest, 0, after, some);
        self.b.switch_to(some);
        self.b.store_slot(slot, 0, Size::B8, 0);
        self.b.store_slot(slot, 8, Size::B8, 0);
        let offset = self.b.binary(IrBinaryOp::Shl, index, 4);
        let from = self.b.binary(IrBinaryOp::Add, base, offset);
        let room = self.b.slot_address(slot);
        self.b.call_only(Helper::ProbeReadUser, &[room.into(), 16.into(), from.into()]);
        let address = self.b.load_slot(slot, 0, Size::B8, false);
        let length = self.b.load_slot(slot, 8, Size::B8, false);
        let held = self.b.select(Test::Gt, Width::W64, length, rest, rest, length);
        self.buffer(function, frame, [address, held], index.into());
        let less = self.b.binary(IrBinaryOp::Sub, rest, held);
        self.b.assign(rest, less);
        let next = self.b.binary(IrBinaryOp::Add, index, 1);
        self.b.assign(index, next);
        self.b.jump(head);
        self.b.switch_to(after);
    }
}
