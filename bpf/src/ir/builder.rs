//! Builds programs.

use std::sync::Arc;

use super::{
    AtomicOp, BasicBlock, BlockId, Body, End, Function, FunctionId, Helper, IrBinaryOp, IrUnaryOp, MapDefinition,
    MapId, Memory, Op, Operand, Parameter, Position, Program, ProgramKind, Reg, Size, SlotId, Source, Test, Width,
    moved, piece,
};

/// Comparisons of more bytes than this are loops.
const MAX_UNROLLED_COMPARE: u32 = 128;

/// A body that is being written.
#[derive(Debug, Default)]
struct Writing {
    function: Option<FunctionId>,
    body: Body,
    ended: Vec<bool>,
    /// The position that was written last into each block.
    positions: Vec<Position>,
    at: BlockId,
}

/// Builds a program block by block: first the program itself, and between [`Self::begin_function`] and
/// [`Self::end_function`] a function of it. Registers, blocks and slots belong to the body in which they were made; maps
/// and functions to the whole program.
#[derive(Debug)]
pub struct Builder {
    program: Program,
    writing: Writing,
    /// The bodies around the one that is being written.
    outer: Vec<Writing>,
    position: Position,
    /// Operations and blocks so far.
    size: usize,
}

/// A round of a loop.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Its number, from 0; not to be changed.
    pub index: Reg,
    /// Where to jump to for the next round.
    pub next: BlockId,
    /// Where to jump to for leaving the loop.
    pub after: BlockId,
}

fn index_of(length: usize) -> u32 {
    u32::try_from(length.saturating_sub(1)).unwrap_or(u32::MAX)
}

impl Builder {
    /// A program with one empty block, at which it stands.
    pub fn new(name: impl Into<String>, kind: ProgramKind) -> Self {
        let program = Program {
            name: name.into(),
            kind,
            target: String::new(),
            maps: Vec::new(),
            functions: Vec::new(),
            body: Body::default(),
            source: None,
        };
        let mut builder =
            Self { program, writing: Writing::default(), outer: Vec::new(), position: Position::default(), size: 0 };
        builder.writing.at = builder.block();
        builder
    }

    /// Operations and blocks so far, in all functions.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Sets the name of what a typed program is attached to.
    pub fn set_target(&mut self, target: impl Into<String>) {
        self.program.target = target.into();
    }

    /// Sets the text to which positions refer.
    pub fn set_source(&mut self, source: Arc<Source>) {
        self.program.source = Some(source);
    }

    /// What follows comes from there in the source; a line of 0 is no place.
    pub fn at(&mut self, line: u32, column: u32) {
        self.position = Position { line, column };
    }

    /// A new virtual register.
    pub fn reg(&mut self) -> Reg {
        let body = &mut self.writing.body;
        body.registers += 1;
        Reg(body.registers - 1)
    }

    /// A new block, which nothing leads to yet and which returns 0 until it is ended otherwise.
    pub fn block(&mut self) -> BlockId {
        let writing = &mut self.writing;
        self.size += 1;
        writing.body.blocks.push(BasicBlock { ops: Vec::new(), end: End::Return(Operand::Constant(0)) });
        writing.ended.push(false);
        writing.positions.push(Position::default());
        BlockId(index_of(writing.body.blocks.len()))
    }

    /// A new stack slot of `bytes` bytes.
    pub fn slot(&mut self, bytes: u32) -> SlotId {
        self.writing.body.slots.push(bytes);
        SlotId(index_of(self.writing.body.slots.len()))
    }

    /// Makes a slot at least `bytes` bytes large.
    pub fn enlarge(&mut self, slot: SlotId, bytes: u32) {
        if let Some(room) = self.writing.body.slots.get_mut(slot.index()) {
            *room = bytes.max(*room);
        }
    }

    /// A map; of one name there is only one, and asked for again it is the same.
    pub fn map(&mut self, map: MapDefinition) -> MapId {
        if let Some(known) = self.program.maps.iter().position(|known| *known == map) {
            return MapId(index_of(known + 1));
        }
        self.program.maps.push(map);
        MapId(index_of(self.program.maps.len()))
    }

    /// The maps so far.
    pub fn maps(&self) -> &[MapDefinition] {
        &self.program.maps
    }

    /// Begins a function; gives it and the registers of its parameters. What follows is written into it, until
    /// [`Self::end_function`].
    pub fn begin_function(&mut self, name: impl Into<String>, parameters: &[Parameter]) -> (FunctionId, Vec<Reg>) {
        let (name, parameters) = (name.into(), parameters.to_vec());
        let count = parameters.len();
        self.program.functions.push(Function { name, parameters, body: Body::default() });
        let id = FunctionId(index_of(self.program.functions.len()));
        self.outer.push(std::mem::replace(&mut self.writing, Writing { function: Some(id), ..Writing::default() }));
        self.writing.at = self.block();
        (id, (0..count).map(|_| self.reg()).collect())
    }

    /// Ends the function and goes on where it was begun.
    pub fn end_function(&mut self) {
        let Some(outer) = self.outer.pop() else { return };
        let done = std::mem::replace(&mut self.writing, outer);
        if let Some(function) = done.function.and_then(|id| self.program.functions.get_mut(id.index())) {
            function.body = done.body;
        }
    }

    /// Goes on writing at `block`.
    pub fn switch_to(&mut self, block: BlockId) {
        self.writing.at = block;
    }

    /// The block at which it stands.
    pub fn here(&self) -> BlockId {
        self.writing.at
    }

    /// Whether the block at which it stands has its end.
    pub fn has_ended(&self) -> bool {
        self.writing.ended.get(self.writing.at.index()) == Some(&true)
    }

    fn note_position(&mut self) {
        let writing = &mut self.writing;
        let at = writing.at.index();
        if let (Some(block), Some(last)) = (writing.body.blocks.get_mut(at), writing.positions.get_mut(at))
            && *last != self.position
        {
            *last = self.position;
            block.ops.push(Op::Position(self.position));
        }
    }

    /// Appends an operation.
    pub fn push(&mut self, op: Op) {
        self.size += 1;
        self.note_position();
        if let Some(block) = self.writing.body.blocks.get_mut(self.writing.at.index()) {
            block.ops.push(op);
        }
    }

    /// Ends the block. The first end of a block counts.
    pub fn end(&mut self, end: End) {
        self.note_position();
        let writing = &mut self.writing;
        let at = writing.at.index();
        if let (Some(block), Some(ended @ false)) = (writing.body.blocks.get_mut(at), writing.ended.get_mut(at)) {
            block.end = end;
            *ended = true;
        }
    }

    /// A register set to `value`.
    pub fn set(&mut self, value: impl Into<Operand>) -> Reg {
        let to = self.reg();
        self.push(Op::Set { to, value: value.into() });
        to
    }

    /// Sets a register that there is.
    pub fn assign(&mut self, to: Reg, value: impl Into<Operand>) {
        self.push(Op::Set { to, value: value.into() });
    }

    /// The result of a 64-bit operation in a new register.
    pub fn binary(&mut self, op: IrBinaryOp, left: Reg, right: impl Into<Operand>) -> Reg {
        let to = self.reg();
        self.push(Op::Binary { to, op, width: Width::W64, left, right: right.into() });
        to
    }

    /// The result of a 64-bit operation in a new register.
    pub fn unary(&mut self, op: IrUnaryOp, from: Reg) -> Reg {
        let to = self.reg();
        self.push(Op::Unary { to, op, width: Width::W64, from });
        to
    }

    /// The low bytes of `from`, extended, in a new register.
    pub fn extend(&mut self, from: Reg, size: Size, signed: bool) -> Reg {
        let to = self.reg();
        self.push(Op::Extend { to, from, size, signed });
        to
    }

    /// The result of a helper in a new register.
    pub fn call(&mut self, helper: Helper, arguments: &[Operand]) -> Reg {
        let to = self.reg();
        self.push(Op::Call { to: Some(to), helper, arguments: arguments.to_vec() });
        to
    }

    /// A helper whose result is not needed.
    pub fn call_only(&mut self, helper: Helper, arguments: &[Operand]) {
        self.push(Op::Call { to: None, helper, arguments: arguments.to_vec() });
    }

    /// The result of a function of the program in a new register.
    pub fn call_function(&mut self, function: FunctionId, arguments: &[Operand]) -> Reg {
        let to = self.reg();
        self.push(Op::CallFunction { to: Some(to), function, arguments: arguments.to_vec() });
        to
    }

    /// A function, for a helper that calls it back.
    pub fn function_address(&mut self, function: FunctionId) -> Reg {
        let to = self.reg();
        self.push(Op::FunctionAddress { to, function });
        to
    }

    /// The address of a stack slot.
    pub fn slot_address(&mut self, slot: SlotId) -> Reg {
        let to = self.reg();
        self.push(Op::SlotAddress { to, slot, offset: 0 });
        to
    }

    /// A map, for a helper.
    pub fn map_address(&mut self, map: MapId) -> Reg {
        let to = self.reg();
        self.push(Op::MapAddress { to, map });
        to
    }

    /// The address of the value at a constant index of an array or per-CPU array, never null.
    pub fn array_value(&mut self, map: MapId, index: u32) -> Reg {
        let to = self.reg();
        self.push(Op::ArrayValue { to, map, index });
        to
    }

    /// The address of a byte in a global or constant.
    pub fn global_address(&mut self, map: MapId, offset: u32) -> Reg {
        let to = self.reg();
        self.push(Op::GlobalAddress { to, map, offset });
        to
    }

    /// What is in the context.
    pub fn load_context(&mut self, offset: u32, size: Size, signed: bool) -> Reg {
        let to = self.reg();
        self.push(Op::LoadContext { to, offset, size, signed });
        to
    }

    /// What is in a slot.
    pub fn load_slot(&mut self, slot: SlotId, offset: u32, size: Size, signed: bool) -> Reg {
        let to = self.reg();
        self.push(Op::LoadSlot { to, slot, offset, size, signed });
        to
    }

    /// What is behind a pointer.
    pub fn load(&mut self, base: Reg, offset: i16, size: Size, signed: bool) -> Reg {
        let to = self.reg();
        self.push(Op::Load { to, base, offset, size, signed });
        to
    }

    /// What is in memory.
    pub fn load_memory(&mut self, from: Memory, size: Size, signed: bool) -> Reg {
        match from {
            Memory::Slot(slot, offset) => self.load_slot(slot, offset, size, signed),
            Memory::Pointer(base, offset) => self.load(base, offset, size, signed),
            Memory::Context(offset) => self.load_context(offset, size, signed),
        }
    }

    /// Writes into a slot.
    pub fn store_slot(&mut self, slot: SlotId, offset: u32, size: Size, value: impl Into<Operand>) {
        self.push(Op::StoreSlot { slot, offset, size, value: value.into() });
    }

    /// Writes behind a pointer.
    pub fn store(&mut self, base: Reg, offset: i16, size: Size, value: impl Into<Operand>) {
        self.push(Op::Store { base, offset, size, value: value.into() });
    }

    /// Changes memory atomically without asking what was there.
    pub fn atomic(&mut self, op: AtomicOp, width: Width, base: Reg, offset: i16, value: Reg) {
        self.push(Op::Atomic { to: None, op, width, base, offset, value });
    }

    /// Changes memory atomically; gives what was there.
    pub fn atomic_fetch(&mut self, op: AtomicOp, width: Width, base: Reg, offset: i16, value: Reg) -> Reg {
        let to = self.reg();
        self.push(Op::Atomic { to: Some(to), op, width, base, offset, value });
        to
    }

    /// Copies memory.
    pub fn copy(&mut self, to: Memory, from: Memory, bytes: u32) {
        self.push(Op::Copy { to, from, bytes });
    }

    /// Fills memory with zeros.
    pub fn zero(&mut self, to: Memory, bytes: u32) {
        self.push(Op::Zero { to, bytes });
    }

    /// Ends the block with a jump.
    pub fn jump(&mut self, target: BlockId) {
        self.end(End::Jump(target));
    }

    /// Ends the block with a 64-bit comparison.
    pub fn branch(&mut self, test: Test, left: Reg, right: impl Into<Operand>, then: BlockId, otherwise: BlockId) {
        self.end(End::Branch { test, width: Width::W64, left, right: right.into(), then, otherwise });
    }

    /// Ends the block and the program or function.
    pub fn ret(&mut self, value: impl Into<Operand>) {
        self.end(End::Return(value.into()));
    }

    /// 1 where the test holds, else 0; stands at a new block then. A branch on it is led past it by the optimiser.
    pub fn boolean(&mut self, test: Test, width: Width, left: Reg, right: impl Into<Operand>) -> Reg {
        self.select(test, width, left, right, 1, 0)
    }

    /// `yes` where the test holds, else `no`; stands at a new block then.
    pub fn select(
        &mut self,
        test: Test,
        width: Width,
        left: Reg,
        right: impl Into<Operand>,
        yes: impl Into<Operand>,
        no: impl Into<Operand>,
    ) -> Reg {
        let (then, otherwise, join) = (self.block(), self.block(), self.block());
        self.end(End::Branch { test, width, left, right: right.into(), then, otherwise });
        let to = self.reg();
        for (block, value) in [(then, yes.into()), (otherwise, no.into())] {
            self.switch_to(block);
            self.assign(to, value);
            self.jump(join);
        }
        self.switch_to(join);
        to
    }

    /// A loop of a number of rounds that is a constant, or a register that the verifier knows to be small: it walks
    /// through every round, so a few hundred at most ([`Helper::Loop`] is for more). `body` writes what is done in a
    /// round; where it does not end its last block, the next round follows. Stands at the block after the loop then.
    pub fn repeat(&mut self, rounds: impl Into<Operand>, body: impl FnOnce(&mut Self, Round)) {
        let index = self.set(0);
        let (head, inside, next, after) = (self.block(), self.block(), self.block(), self.block());
        self.jump(head);
        self.switch_to(head);
        self.branch(Test::Lt, index, rounds, inside, after);
        self.switch_to(inside);
        body(self, Round { index, next, after });
        self.jump(next);
        self.switch_to(next);
        self.push(Op::Binary { to: index, op: IrBinaryOp::Add, width: Width::W64, left: index, right: 1.into() });
        self.jump(head);
        self.switch_to(after);
    }

    /// Ends the block: goes to `equal` where memory has these bytes, else to `different`. Memory is read in pieces as
    /// large as its alignment allows, and no further than the first difference.
    pub fn compare_constant(&mut self, memory: Memory, bytes: &[u8], equal: BlockId, different: BlockId) {
        let mut done = 0_u32;
        let mut rest = bytes;
        while let Some(size) = piece(&[memory], done, rest.len()) {
            let (piece, after) = rest.split_at(size.bytes() as usize);
            let mut word = [0; 8];
            word.iter_mut().zip(piece).for_each(|(to, from)| *to = *from);
            let width = if size == Size::B8 { Width::W64 } else { Width::W32 };
            let found = self.load_memory(moved(memory, done), size, false);
            let next = if after.is_empty() { equal } else { self.block() };
            let right = Operand::Constant(i64::from_le_bytes(word));
            self.end(End::Branch { test: Test::Ne, width, left: found, right, then: different, otherwise: next });
            self.switch_to(next);
            done += size.bytes();
            rest = after;
        }
        if bytes.is_empty() {
            self.jump(equal);
        }
    }

    /// Ends the block: goes to `equal` where both have the same `bytes` bytes, else to `different`. Many bytes are
    /// compared in a loop, for which neither may be in the context.
    pub fn compare_memory(&mut self, a: Memory, b: Memory, bytes: u32, equal: BlockId, different: BlockId) {
        let in_context = matches!(a, Memory::Context(_)) || matches!(b, Memory::Context(_));
        let mut done = 0;
        if bytes > MAX_UNROLLED_COMPARE && !in_context {
            done = bytes / 8 * 8;
            let (a, b) = (self.address_of(a), self.address_of(b));
            self.repeat(i64::from(bytes / 8), |builder, round| {
                let offset = builder.binary(IrBinaryOp::Shl, round.index, 3);
                let (a, b) = (builder.binary(IrBinaryOp::Add, a, offset), builder.binary(IrBinaryOp::Add, b, offset));
                let (left, right) = (builder.load(a, 0, Size::B8, false), builder.load(b, 0, Size::B8, false));
                let next = builder.block();
                builder.branch(Test::Ne, left, right, different, next);
                builder.switch_to(next);
            });
        }
        while let Some(size) = piece(&[a, b], done, bytes.saturating_sub(done) as usize) {
            let left = self.load_memory(moved(a, done), size, false);
            let right = self.load_memory(moved(b, done), size, false);
            let next = self.block();
            self.branch(Test::Ne, left, right, different, next);
            self.switch_to(next);
            done += size.bytes();
        }
        self.jump(equal);
    }

    /// The address of memory.
    pub fn address_of(&mut self, memory: Memory) -> Reg {
        let to = self.reg();
        match memory {
            Memory::Slot(slot, offset) => self.push(Op::SlotAddress { to, slot, offset }),
            Memory::Context(offset) => self.push(Op::ContextAddress { to, offset }),
            Memory::Pointer(reg, offset) => {
                let right = Operand::Constant(i64::from(offset));
                self.push(Op::Binary { to, op: IrBinaryOp::Add, width: Width::W64, left: reg, right });
            }
        }
        to
    }

    /// The program. Functions that were not ended are.
    pub fn finish(mut self) -> Program {
        while !self.outer.is_empty() {
            self.end_function();
        }
        self.program.body = self.writing.body;
        self.program
    }
}
