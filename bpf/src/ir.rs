//! The intermediate representation: what the probe language and the capture programs are lowered to.
//!
//! A program is a list of basic blocks over any number of 64-bit virtual registers, which may be assigned more than
//! once. Memory is reached in four typed ways (context, stack slot, pointer, map), because the kernel's verifier treats
//! each by its own rules. Nothing here depends on BPF's eleven registers or its two-operand instructions.

use std::fmt;

/// A virtual register of 64 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reg(pub(crate) u32);

/// A basic block of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct BlockId(pub(crate) u32);

/// A piece of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SlotId(pub(crate) u32);

/// A map of a program, by its index in [`Program::maps`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MapId(pub(crate) u32);

impl Reg {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl BlockId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl SlotId {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

impl MapId {
    /// Its index in [`Program::maps`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a program is attached to; decides what its context is and what it may return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramKind {
    /// A tracepoint: the context is its record.
    Tracepoint,
    /// A perf event: returns 1 to keep the sample, 0 to drop it.
    PerfEvent,
}

impl ProgramKind {
    /// The section name by which loaders know the kind.
    pub fn section(self) -> &'static str {
        match self {
            Self::Tracepoint => "tracepoint",
            Self::PerfEvent => "perf_event",
        }
    }
}

/// The kind of a map, with the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Keys to values.
    Hash = 1,
    /// Values by index.
    Array = 2,
    /// Keys to one value for each CPU.
    PerCpuHash = 5,
    /// One value for each index and CPU.
    PerCpuArray = 6,
    /// A ring buffer shared by all CPUs.
    RingBuffer = 27,
}

/// A map. Maps of one name in one object are one map, and must be alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDefinition {
    /// Its name, unique among different maps of an object.
    pub name: String,
    /// Its kind.
    pub kind: MapKind,
    /// Bytes of a key; 0 for a ring.
    pub key_bytes: u32,
    /// Bytes of a value; 0 for a ring.
    pub value_bytes: u32,
    /// The most entries; for a ring the bytes of its data area, a power of two and a multiple of the page.
    pub max_entries: u32,
}

/// Bytes moved by a load or store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Size {
    /// One.
    B1,
    /// Two.
    B2,
    /// Four.
    B4,
    /// Eight.
    B8,
}

impl Size {
    /// How many bytes.
    pub fn bytes(self) -> u32 {
        match self {
            Self::B1 => 1,
            Self::B2 => 2,
            Self::B4 => 4,
            Self::B8 => 8,
        }
    }

    /// The size of `bytes` bytes: 1, 2, 4 or 8.
    pub fn of(bytes: u32) -> Option<Self> {
        match bytes {
            1 => Some(Self::B1),
            2 => Some(Self::B2),
            4 => Some(Self::B4),
            8 => Some(Self::B8),
            _ => None,
        }
    }
}

/// Whether an operation works on the low 32 bits (and clears the high ones of its result) or on all 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}

/// An operation on two numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BinaryOp {
    /// Sum, wrapping.
    Add,
    /// Difference, wrapping.
    Sub,
    /// Product, wrapping.
    Mul,
    /// Unsigned quotient; 0 where the divisor is 0.
    Div,
    /// Unsigned remainder; the dividend where the divisor is 0.
    Mod,
    /// Bits in both.
    And,
    /// Bits in either.
    Or,
    /// Bits in one.
    Xor,
    /// Shift to the left; only the low 5 or 6 bits of the distance count.
    Shl,
    /// Shift to the right, filling with zeros.
    Shr,
    /// Shift to the right, filling with the sign.
    Sar,
}

/// A comparison that a branch makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Unsigned less.
    Lt,
    /// Unsigned less or equal.
    Le,
    /// Unsigned greater.
    Gt,
    /// Unsigned greater or equal.
    Ge,
    /// Signed less.
    SignedLt,
    /// Signed less or equal.
    SignedLe,
    /// Signed greater.
    SignedGt,
    /// Signed greater or equal.
    SignedGe,
    /// Some bit is set in both.
    Bits,
}

/// A register or a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register.
    Reg(Reg),
    /// A constant of 64 bits.
    Constant(i64),
}

impl From<Reg> for Operand {
    fn from(reg: Reg) -> Self {
        Self::Reg(reg)
    }
}

impl From<i64> for Operand {
    fn from(value: i64) -> Self {
        Self::Constant(value)
    }
}

/// A function of the kernel that programs may call, with the kernel's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// `(map, key)` → address of the value, or 0.
    MapLookup = 1,
    /// `(map, key, value, flags)` → 0 or a negative error.
    MapUpdate = 2,
    /// `(map, key)` → 0 or a negative error.
    MapDelete = 3,
    /// `()` → nanoseconds of the monotonic clock.
    KtimeGetNs = 5,
    /// `()` → the CPU.
    GetSmpProcessorId = 8,
    /// `()` → tgid in the high half, thread in the low half.
    GetCurrentPidTgid = 14,
    /// `(room, bytes)` → 0; the thread's name, filled up with NULs.
    GetCurrentComm = 16,
    /// `(room, bytes, user address)` → 0 or a negative error.
    ProbeReadUser = 112,
    /// `(room, bytes, kernel address)` → 0 or a negative error.
    ProbeReadKernel = 113,
    /// `(room, bytes, user address)` → length with the NUL, or a negative error.
    ProbeReadUserStr = 114,
    /// `(room, bytes, kernel address)` → length with the NUL, or a negative error.
    ProbeReadKernelStr = 115,
    /// `(ring, bytes, 0)` → address of a record, or 0. It must be submitted or discarded on every path.
    RingbufReserve = 131,
    /// `(record, flags)`.
    RingbufSubmit = 132,
    /// `(record, flags)`.
    RingbufDiscard = 133,
}

/// What a helper takes in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// A map that is no ring.
    Map,
    /// A ring.
    Ring,
    /// Initialised memory: a key or a value of the map before it.
    Memory,
    /// Memory that the helper fills; its constant number of bytes follows.
    Room,
    /// A constant number of bytes.
    Bytes,
    /// A constant number.
    Constant,
    /// Anything.
    Any,
    /// A reserved record.
    Record,
}

impl Helper {
    /// The kernel's number.
    pub fn number(self) -> i32 {
        self as i32
    }

    /// All of them.
    pub(crate) const ALL: [Self; 14] = [
        Self::MapLookup,
        Self::MapUpdate,
        Self::MapDelete,
        Self::KtimeGetNs,
        Self::GetSmpProcessorId,
        Self::GetCurrentPidTgid,
        Self::GetCurrentComm,
        Self::ProbeReadUser,
        Self::ProbeReadKernel,
        Self::ProbeReadUserStr,
        Self::ProbeReadKernelStr,
        Self::RingbufReserve,
        Self::RingbufSubmit,
        Self::RingbufDiscard,
    ];

    /// The kernel's name without `bpf_`.
    pub fn name(self) -> &'static str {
        match self {
            Self::MapLookup => "map_lookup_elem",
            Self::MapUpdate => "map_update_elem",
            Self::MapDelete => "map_delete_elem",
            Self::KtimeGetNs => "ktime_get_ns",
            Self::GetSmpProcessorId => "get_smp_processor_id",
            Self::GetCurrentPidTgid => "get_current_pid_tgid",
            Self::GetCurrentComm => "get_current_comm",
            Self::ProbeReadUser => "probe_read_user",
            Self::ProbeReadKernel => "probe_read_kernel",
            Self::ProbeReadUserStr => "probe_read_user_str",
            Self::ProbeReadKernelStr => "probe_read_kernel_str",
            Self::RingbufReserve => "ringbuf_reserve",
            Self::RingbufSubmit => "ringbuf_submit",
            Self::RingbufDiscard => "ringbuf_discard",
        }
    }

    pub(crate) fn arguments(self) -> &'static [Argument] {
        use Argument::{Any, Bytes, Constant, Map, Memory, Record, Ring, Room};
        match self {
            Self::MapLookup | Self::MapDelete => &[Map, Memory],
            Self::MapUpdate => &[Map, Memory, Memory, Constant],
            Self::KtimeGetNs | Self::GetSmpProcessorId | Self::GetCurrentPidTgid => &[],
            Self::GetCurrentComm => &[Room, Bytes],
            Self::ProbeReadUser | Self::ProbeReadKernel | Self::ProbeReadUserStr | Self::ProbeReadKernelStr => {
                &[Room, Bytes, Any]
            }
            Self::RingbufReserve => &[Ring, Constant, Constant],
            Self::RingbufSubmit | Self::RingbufDiscard => &[Record, Constant],
        }
    }

    /// Whether nothing but the result depends on the call, so that a call whose result is unused can go.
    pub(crate) fn is_pure(self) -> bool {
        matches!(self, Self::MapLookup | Self::KtimeGetNs | Self::GetSmpProcessorId | Self::GetCurrentPidTgid)
    }
}

/// One operation.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the operands that each variant's description names")]
pub enum Op {
    /// `to` becomes the value.
    Set { to: Reg, value: Operand },
    /// `to` becomes the result of the operation.
    Binary { to: Reg, op: BinaryOp, width: Width, left: Reg, right: Operand },
    /// `to` becomes the low bytes of `from`, extended by zeros or by the sign.
    Extend { to: Reg, from: Reg, size: Size, signed: bool },
    /// `to` becomes the address of the context plus the offset.
    ContextAddress { to: Reg, offset: u32 },
    /// `to` becomes the address of a byte of a stack slot.
    SlotAddress { to: Reg, slot: SlotId, offset: u32 },
    /// `to` becomes the map, for a helper.
    MapAddress { to: Reg, map: MapId },
    /// `to` becomes what is in the context at a constant offset.
    LoadContext { to: Reg, offset: u32, size: Size, signed: bool },
    /// `to` becomes what is in a stack slot at a constant offset.
    LoadSlot { to: Reg, slot: SlotId, offset: u32, size: Size, signed: bool },
    /// `to` becomes what is behind a pointer (into a map's value, a record, or a stack slot).
    Load { to: Reg, base: Reg, offset: i16, size: Size, signed: bool },
    /// Writes into a stack slot.
    StoreSlot { slot: SlotId, offset: u32, size: Size, value: Operand },
    /// Writes behind a pointer.
    Store { base: Reg, offset: i16, size: Size, value: Operand },
    /// Adds to the 8 bytes behind a pointer, atomically.
    AtomicAdd { base: Reg, offset: i16, value: Reg },
    /// Calls the kernel; `to` becomes the result.
    Call { to: Option<Reg>, helper: Helper, arguments: Vec<Operand> },
}

impl Op {
    /// The register it assigns.
    pub fn target(&self) -> Option<Reg> {
        match self {
            Self::Set { to, .. }
            | Self::Binary { to, .. }
            | Self::Extend { to, .. }
            | Self::ContextAddress { to, .. }
            | Self::SlotAddress { to, .. }
            | Self::MapAddress { to, .. }
            | Self::LoadContext { to, .. }
            | Self::LoadSlot { to, .. }
            | Self::Load { to, .. } => Some(*to),
            Self::Call { to, .. } => *to,
            Self::StoreSlot { .. } | Self::Store { .. } | Self::AtomicAdd { .. } => None,
        }
    }

    /// The registers that it reads.
    pub fn sources(&self) -> Vec<Reg> {
        let of = |operand: &Operand| match operand {
            Operand::Reg(reg) => Some(*reg),
            Operand::Constant(_) => None,
        };
        match self {
            Self::Set { value, .. } | Self::StoreSlot { value, .. } => of(value).into_iter().collect(),
            Self::Binary { left, right, .. } => [Some(*left), of(right)].into_iter().flatten().collect(),
            Self::Extend { from, .. } => vec![*from],
            Self::Load { base, .. } => vec![*base],
            Self::Store { base, value, .. } => [Some(*base), of(value)].into_iter().flatten().collect(),
            Self::AtomicAdd { base, value, .. } => vec![*base, *value],
            Self::Call { arguments, .. } => arguments.iter().filter_map(of).collect(),
            Self::ContextAddress { .. }
            | Self::SlotAddress { .. }
            | Self::MapAddress { .. }
            | Self::LoadContext { .. }
            | Self::LoadSlot { .. } => Vec::new(),
        }
    }
}

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the operands that each variant's description names")]
pub enum End {
    /// Goes on there.
    Jump(BlockId),
    /// Goes on at `then` if the test holds, else at `otherwise`.
    Branch { test: Test, width: Width, left: Reg, right: Operand, then: BlockId, otherwise: BlockId },
    /// Ends the program with this result.
    Return(Operand),
}

impl End {
    /// The blocks that may follow.
    pub fn targets(&self) -> Vec<BlockId> {
        match self {
            Self::Jump(target) => vec![*target],
            Self::Branch { then, otherwise, .. } => vec![*then, *otherwise],
            Self::Return(_) => Vec::new(),
        }
    }

    /// The registers that it reads.
    pub fn sources(&self) -> Vec<Reg> {
        match self {
            Self::Branch { left, right: Operand::Reg(right), .. } => vec![*left, *right],
            Self::Branch { left, .. } => vec![*left],
            Self::Return(Operand::Reg(reg)) => vec![*reg],
            Self::Return(Operand::Constant(_)) | Self::Jump(_) => Vec::new(),
        }
    }
}

/// Operations that run one after the other, and what comes then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The operations.
    pub ops: Vec<Op>,
    /// What comes then.
    pub end: End,
}

/// A program. The first block is where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// Its name: letters, digits and `_`; the kernel shows the first 15.
    pub name: String,
    /// What it is attached to.
    pub kind: ProgramKind,
    /// The maps it uses.
    pub maps: Vec<MapDefinition>,
    /// Bytes of each stack slot; each is aligned to 8.
    pub slots: Vec<u32>,
    /// The blocks.
    pub blocks: Vec<Block>,
    /// How many virtual registers there are.
    pub registers: u32,
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::print::program(self, f)
    }
}

/// Builds a program block by block.
#[derive(Debug)]
pub struct Builder {
    program: Program,
    ended: Vec<bool>,
    at: BlockId,
}

impl Builder {
    /// A program with one empty block, at which it stands.
    pub fn new(name: impl Into<String>, kind: ProgramKind) -> Self {
        let program =
            Program { name: name.into(), kind, maps: Vec::new(), slots: Vec::new(), blocks: Vec::new(), registers: 0 };
        let mut builder = Self { program, ended: Vec::new(), at: BlockId(0) };
        builder.at = builder.block();
        builder
    }

    /// A new virtual register.
    pub fn reg(&mut self) -> Reg {
        self.program.registers += 1;
        Reg(self.program.registers - 1)
    }

    /// A new block, which nothing leads to yet and which returns 0 until it is ended otherwise.
    pub fn block(&mut self) -> BlockId {
        self.program.blocks.push(Block { ops: Vec::new(), end: End::Return(Operand::Constant(0)) });
        self.ended.push(false);
        BlockId(u32::try_from(self.program.blocks.len() - 1).unwrap_or(u32::MAX))
    }

    /// A new stack slot of `bytes` bytes.
    pub fn slot(&mut self, bytes: u32) -> SlotId {
        self.program.slots.push(bytes);
        SlotId(u32::try_from(self.program.slots.len() - 1).unwrap_or(u32::MAX))
    }

    /// Makes a slot at least `bytes` bytes large.
    pub fn enlarge(&mut self, slot: SlotId, bytes: u32) {
        if let Some(room) = self.program.slots.get_mut(slot.index()) {
            *room = bytes.max(*room);
        }
    }

    /// A map; of one name there is only one.
    pub fn map(&mut self, map: MapDefinition) -> MapId {
        self.program.maps.push(map);
        MapId(u32::try_from(self.program.maps.len() - 1).unwrap_or(u32::MAX))
    }

    /// Goes on writing at `block`.
    pub fn switch_to(&mut self, block: BlockId) {
        self.at = block;
    }

    /// Appends an operation.
    pub fn push(&mut self, op: Op) {
        if let Some(block) = self.program.blocks.get_mut(self.at.index()) {
            block.ops.push(op);
        }
    }

    /// Ends the block. The first end of a block counts.
    pub fn end(&mut self, end: End) {
        let at = self.at.index();
        if let (Some(block), Some(ended @ false)) = (self.program.blocks.get_mut(at), self.ended.get_mut(at)) {
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

    /// The result of a 64-bit operation in a new register.
    pub fn binary(&mut self, op: BinaryOp, left: Reg, right: impl Into<Operand>) -> Reg {
        let to = self.reg();
        self.push(Op::Binary { to, op, width: Width::W64, left, right: right.into() });
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

    /// What is in the context.
    pub fn load_context(&mut self, offset: u32, size: Size, signed: bool) -> Reg {
        let to = self.reg();
        self.push(Op::LoadContext { to, offset, size, signed });
        to
    }

    /// Ends the block with a jump.
    pub fn jump(&mut self, target: BlockId) {
        self.end(End::Jump(target));
    }

    /// Ends the block with a 64-bit comparison.
    pub fn branch(&mut self, test: Test, left: Reg, right: impl Into<Operand>, then: BlockId, otherwise: BlockId) {
        self.end(End::Branch { test, width: Width::W64, left, right: right.into(), then, otherwise });
    }

    /// The program.
    pub fn finish(self) -> Program {
        self.program
    }
}
