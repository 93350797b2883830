//! `dw_ustack`: takes the frames of user space by rows made of `.eh_frame`, for programs without frame pointers.
//!
//! One function of the program begins the walk, and the kernel calls back another for each frame. What they keep is in
//! scratch memory of the program's kind: where the walk is ([`crate::unwind::Mapping`] first), then the frames.

use super::{
    Result,
    nesting::CLAIM_BYTES,
    program::{Lower, Where},
    scratch::Piece,
};
use crate::{
    ir::{
        BlockId, FunctionId, Helper, IrBinaryOp, MapDefinition, MapId, Memory, Op, Parameter, Reg, Size, Test, Width,
    },
    unwind::{Mapping, Tables, find_function, read_kernel, read_user, rule_at},
};
use bathyscope_catalog::elf::Rule;
use bathyscope_plan::STACK_FRAMES;

/// The scratch memory of walks; other values never need so much of it.
pub(super) const WALK_CHUNK: u32 = 99;
/// Bytes of it.
pub(super) const WALK_BYTES: u32 = FRAMES.cast_unsigned() as u32 + STACK_FRAMES * 8 + 8;

// After the mapping: the registers of the frame, and how the walk stands.
const IP: i16 = 320;
const SP: i16 = 328;
const BP: i16 = 336;
/// How many frames there are.
const DEPTH: i16 = 344;
/// How many are wanted.
const LIMIT: i16 = 352;
/// What to take from `IP` to be in the instruction: an address of return is behind the call, maybe in another function.
const BACK: i16 = 360;
/// The frames, and room for the end.
const FRAMES: i16 = 384;
const _: () = assert!(Mapping::BYTES <= IP.cast_unsigned() as u32);

/// Bytes of `struct pt_regs`, and what is where in it.
const REGISTERS_BYTES: i64 = 168;
const REGISTERS: [(i16, i16); 3] = [(128, IP), (152, SP), (32, BP)];
const CODE_SEGMENT: i16 = 136;
/// The code segment of programs of 32 bits, whose frames are others.
const SEGMENT_32: i64 = 0x23;
/// What the kernel keeps of the interrupted registers in the frame of a signal, from the stack pointer on.
const SIGNAL_BP: u32 = 120;
const SIGNAL_SP: u32 = 160;
const SIGNAL_IP: u32 = 168;
/// Above these there is no user space.
const USER_BITS: i64 = 47;
/// Where `rbp` and the address of return are under the CFA of a function with a frame pointer.
const FRAME_POINTER: i64 = 16;

/// Told instead of a depth: there is a process, and its registers are not known.
const NO_REGISTERS: i64 = -1;

impl Lower<'_> {
    fn walk_memory(&mut self) -> Reg {
        let memory = self.reach(Where::Scratch(Piece { chunk: WALK_CHUNK, offset: 0 }));
        self.address(memory)
    }

    /// The map in which [`Self::walk_memory`] is, as parameters of functions name it.
    fn walk_map(&mut self) -> MapId {
        let name = self.scratch_name(WALK_CHUNK);
        self.map(MapDefinition::scratch(name, super::scratch::CHUNK_BYTES))
    }

    /// Walks the user's stack. Gives where the frames are and their number, at most [`STACK_FRAMES`] or negative.
    pub(super) fn walk_user(&mut self, frames: u32) -> Result<(Memory, Reg)> {
        let Some(tables) = self.shared.options.unwind else {
            return self.error("the types of this kernel do not tell how it keeps what processes have mapped, so `dw_ustack` cannot find their files; use `ustack`");
        };
        let walk = match self.walk {
            Some(walk) => walk,
            None => self.write_walk(tables),
        };
        self.walk = Some(walk);
        let frame = self.b.slot(CLAIM_BYTES);
        self.b.store_slot(frame, 0, Size::B8, 0);
        self.hand_over_claim(frame, 0);
        let frame = self.b.slot_address(frame);
        let count = self.b.call_function(walk, &[i64::from(frames).into(), frame.into()]);
        let memory = self.walk_memory();
        Ok((Memory::Pointer(memory, FRAMES), count))
    }

    /// Writes the function that begins a walk; it takes the number of frames and gives how many there are.
    fn write_walk(&mut self, tables: Tables) -> FunctionId {
        let step = self.write_step(tables);
        let parameters = [Parameter::Number, Parameter::Frame { bytes: CLAIM_BYTES, context: None }];
        let (function, registers) = self.b.begin_function("walk_user", &parameters);
        if let [limit, frame] = registers[..] {
            let outer_claim = self.take_claim(Some(frame), 0);
            let (known, kernel, lost) = (self.b.block(), self.b.block(), self.b.block());
            let task = self.b.call(Helper::GetCurrentTask, &[]);
            let memory = read_kernel(&mut self.b, task, tables.offsets.task_mm);
            self.b.branch(Test::Ne, memory, 0, known, kernel);
            self.b.switch_to(kernel);
            self.b.ret(0);
            self.b.switch_to(lost);
            self.b.ret(NO_REGISTERS);
            self.b.switch_to(known);
            self.begin_walk(limit, lost);
            let step = self.b.function_address(step);
            let rounds = i64::from(STACK_FRAMES).into();
            self.b.call_only(Helper::Loop, &[rounds, step.into(), frame.into(), 0.into()]);
            let state = self.walk_memory();
            let depth = self.b.load(state, DEPTH, Size::B8, false);
            self.b.ret(depth);
            self.claimed = outer_claim;
        }
        self.b.end_function();
        function
    }

    /// Takes the registers with which the task left user space.
    fn begin_walk(&mut self, limit: Reg, lost: BlockId) {
        let state = self.walk_memory();
        let task = self.b.call(Helper::GetCurrentTaskBtf, &[]);
        let registers = self.b.call(Helper::TaskPtRegs, &[task.into()]);
        let room = self.b.binary(IrBinaryOp::Add, state, i64::from(Mapping::ROOM));
        let failed = self.b.call(Helper::ProbeReadKernel, &[room.into(), REGISTERS_BYTES.into(), registers.into()]);
        let (read, there) = (self.b.block(), self.b.block());
        self.b.branch(Test::Eq, failed, 0, read, lost);
        self.b.switch_to(read);
        for (from, to) in REGISTERS {
            let value = self.b.load(state, Mapping::ROOM + from, Size::B8, false);
            self.b.store(state, to, Size::B8, value);
        }
        for word in [Mapping::START, Mapping::END, Mapping::COUNT, DEPTH, BACK] {
            self.b.store(state, word, Size::B8, 0);
        }
        let segment = self.b.load(state, Mapping::ROOM + CODE_SEGMENT, Size::B8, false);
        let wanted = self.b.select(Test::Eq, Width::W64, segment, SEGMENT_32, 1, limit);
        self.b.store(state, LIMIT, Size::B8, wanted);
        let ip = self.b.load(state, IP, Size::B8, false);
        self.b.branch(Test::Ne, ip, 0, there, lost);
        self.b.switch_to(there);
    }

    /// Writes the callback that keeps a frame and goes to its caller.
    fn write_step(&mut self, tables: Tables) -> FunctionId {
        let (state_map, files) = (self.walk_map(), self.map(tables.files_map()));
        let rows = self.map(tables.rows_map());
        let find = find_function(&mut self.b, tables.offsets, [state_map, files], true);
        let parameters = [Parameter::Number, Parameter::Frame { bytes: CLAIM_BYTES, context: None }];
        let (function, registers) = self.b.begin_function("walk_step", &parameters);
        let outer_claim = self.take_claim(registers.last().copied(), 0);
        let state = self.walk_memory();
        let stop = self.b.block();
        let ip = self.b.load(state, IP, Size::B8, false);
        let back = self.b.load(state, BACK, Size::B8, false);
        let at = self.b.binary(IrBinaryOp::Sub, ip, back);
        self.find_mapping(state, at, find);
        self.keep_frame(state, ip, stop);
        let code = rule_at(&mut self.b, rows, state, at);
        self.go_to_caller(state, code, stop);
        self.b.switch_to(stop);
        self.b.ret(1);
        self.b.end_function();
        self.claimed = outer_claim;
        function
    }

    /// Keeps the frame's address, unless it is a caller that is no code: then the frame before was not understood. Stops
    /// after the last that is wanted.
    fn keep_frame(&mut self, state: Reg, ip: Reg, stop: BlockId) {
        let (room, more, caller, code) = (self.b.block(), self.b.block(), self.b.block(), self.b.block());
        let depth = self.b.load(state, DEPTH, Size::B8, false);
        self.b.branch(Test::Eq, depth, 0, code, caller);
        self.b.switch_to(caller);
        let end = self.b.load(state, Mapping::END, Size::B8, false);
        self.b.branch(Test::Eq, end, 0, stop, code);
        self.b.switch_to(code);
        self.b.branch(Test::Ge, depth, i64::from(STACK_FRAMES), stop, room);
        self.b.switch_to(room);
        let offset = self.b.binary(IrBinaryOp::Shl, depth, 3);
        let place = self.b.binary(IrBinaryOp::Add, state, offset);
        self.b.store(place, FRAMES, Size::B8, ip);
        let next = self.b.binary(IrBinaryOp::Add, depth, 1);
        self.b.store(state, DEPTH, Size::B8, next);
        let limit = self.b.load(state, LIMIT, Size::B8, false);
        self.b.branch(Test::Ge, next, limit, stop, more);
        self.b.switch_to(more);
    }

    /// Looks up what is mapped at an address, unless it is in the same mapping as the one before.
    fn find_mapping(&mut self, state: Reg, at: Reg, find: FunctionId) {
        let (search, inside, known) = (self.b.block(), self.b.block(), self.b.block());
        let start = self.b.load(state, Mapping::START, Size::B8, false);
        self.b.branch(Test::Lt, at, start, search, inside);
        self.b.switch_to(inside);
        let end = self.b.load(state, Mapping::END, Size::B8, false);
        self.b.branch(Test::Ge, at, end, search, known);
        self.b.switch_to(search);
        self.b.push(Op::CallFunction { to: None, function: find, arguments: vec![state.into(), at.into()] });
        self.b.jump(known);
        self.b.switch_to(known);
    }

    /// What is in the code of a rule: its kind, the offset of the CFA, that of `rbp` below it.
    fn fields(&mut self, code: Reg) -> [Reg; 3] {
        let [kind, offset, saved] = [(0, 0xff), (8, 0xffff), (24, 0xff)].map(|(shift, mask)| {
            let field = self.b.binary(IrBinaryOp::Shr, code, shift);
            self.b.binary(IrBinaryOp::And, field, mask)
        });
        self.change_register(offset, IrBinaryOp::Shl, 3);
        self.change_register(saved, IrBinaryOp::Shl, 3);
        [kind, offset, saved]
    }

    /// Replaces the registers by those of the caller and ends the callback, or goes to `stop`.
    fn go_to_caller(&mut self, state: Reg, code: Reg, stop: BlockId) {
        let [kind, offset, saved] = self.fields(code);
        let sp = self.b.load(state, SP, Size::B8, false);
        let bp = self.b.load(state, BP, Size::B8, false);
        let (cfa, saved_at) = (self.b.reg(), self.b.reg());
        let [stack, frame, unknown, aligned, signal, below, plain] = [(); 7].map(|()| self.b.block());
        self.by_kind(kind, [stack, frame, unknown, aligned, signal], stop);
        // Without a row the frame pointer is all there is.
        self.b.switch_to(unknown);
        self.b.assign(offset, FRAME_POINTER);
        self.b.assign(saved, FRAME_POINTER);
        self.b.jump(frame);
        for (block, base) in [(stack, sp), (frame, bp)] {
            self.b.switch_to(block);
            let sum = self.b.binary(IrBinaryOp::Add, base, offset);
            self.b.assign(cfa, sum);
            self.b.jump(below);
        }
        self.b.switch_to(aligned);
        let kept = self.b.binary(IrBinaryOp::Sub, bp, offset);
        let kept = read_user(&mut self.b, kept, 0);
        self.b.assign(cfa, kept);
        self.b.assign(saved_at, bp);
        self.b.jump(plain);
        self.b.switch_to(below);
        // The CFA is never so low that this is 0 with something saved.
        let place = self.b.binary(IrBinaryOp::Sub, cfa, saved);
        let place = self.b.select(Test::Ne, Width::W64, saved, 0, place, 0);
        self.b.assign(saved_at, place);
        self.b.jump(plain);
        self.b.switch_to(plain);
        self.call_frame(state, (sp, cfa, saved_at), stop);
        self.b.switch_to(signal);
        self.signal_frame(state, sp, stop);
    }

    /// Goes on by the kind of the rule.
    fn by_kind(&mut self, kind: Reg, [stack, frame, unknown, aligned, signal]: [BlockId; 5], stop: BlockId) {
        let kinds = [
            (Rule::STACK, stack),
            (Rule::FRAME, frame),
            (Rule::UNKNOWN, unknown),
            (Rule::ALIGNED, aligned),
            (Rule::SIGNAL, signal),
        ];
        for (code, block) in kinds {
            let other = self.b.block();
            self.b.branch(Test::Eq, kind, i64::from(code), block, other);
            self.b.switch_to(other);
        }
        self.b.jump(stop);
    }

    /// To the frame that called.
    fn call_frame(&mut self, state: Reg, (sp, cfa, saved_at): (Reg, Reg, Reg), stop: BlockId) {
        let (grows, returns, user, restore, done) =
            (self.b.block(), self.b.block(), self.b.block(), self.b.block(), self.b.block());
        // So a walk cannot go round in circles.
        self.b.branch(Test::Gt, cfa, sp, grows, stop);
        self.b.switch_to(grows);
        let slot = self.b.binary(IrBinaryOp::Sub, cfa, 8);
        let back = read_user(&mut self.b, slot, 0);
        self.b.branch(Test::Ne, back, 0, returns, stop);
        self.b.switch_to(returns);
        let high = self.b.binary(IrBinaryOp::Shr, back, USER_BITS);
        self.b.branch(Test::Eq, high, 0, user, stop);
        self.b.switch_to(user);
        self.b.store(state, IP, Size::B8, back);
        self.b.store(state, SP, Size::B8, cfa);
        self.b.store(state, BACK, Size::B8, 1);
        self.b.branch(Test::Ne, saved_at, 0, restore, done);
        self.b.switch_to(restore);
        let bp = read_user(&mut self.b, saved_at, 0);
        self.b.store(state, BP, Size::B8, bp);
        self.b.jump(done);
        self.b.switch_to(done);
        self.b.ret(0);
    }

    /// To what a signal interrupted, which may be on another stack.
    fn signal_frame(&mut self, state: Reg, sp: Reg, stop: BlockId) {
        let there = self.b.block();
        let ip = read_user(&mut self.b, sp, SIGNAL_IP);
        self.b.branch(Test::Ne, ip, 0, there, stop);
        self.b.switch_to(there);
        for (from, to) in [(SIGNAL_BP, BP), (SIGNAL_SP, SP)] {
            let value = read_user(&mut self.b, sp, from);
            self.b.store(state, to, Size::B8, value);
        }
        self.b.store(state, IP, Size::B8, ip);
        self.b.store(state, BACK, Size::B8, 0);
        self.b.ret(0);
    }
}
