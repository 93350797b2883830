//! One program while it is written: its prologue, counters, memory, maps.

use std::collections::HashMap;

use bathyscope_plan::{COUNTER_WORDS, COUNTERS, Diagnostic, RING, Span, Type};

use super::{
    LowerOptions, Result,
    analysis::Analysis,
    calls::Calls,
    lines::Lines,
    nesting::nests,
    record::Layout,
    scratch::{CHUNK_BYTES, CLAIMED, Piece, Scratch},
    unwind::{WALK_BYTES, WALK_CHUNK},
};
use crate::{
    ir::{
        AtomicOp, BlockId, Builder, Helper, IrBinaryOp, MapDefinition, MapId, Memory, Op, Operand, ProgramKind, Reg,
        Size, SlotId, Source, Test, Width, moved,
    },
    lang::hir,
};

/// What is counted, by word of the program's entry in the counters.
#[derive(Clone, Copy, Debug)]
pub(super) enum ScriptCounter {
    Ran = 0,
    Filtered = 1,
    RingFull = 2,
    MapFull = 3,
    HelperFailed = 4,
    StackFailed = 5,
    Nested = 6,
}

/// Where a variable is while the program is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Home {
    Nowhere,
    Register(Reg),
    Memory(Where),
}

/// Memory that is reached anew from each function.
#[derive(Clone, Copy, Debug)]
pub(super) enum Where {
    Slot(SlotId),
    Frame(u32),
    Scratch(Piece),
}

/// A loop around what is being written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Around {
    /// An ordinary one.
    Loop { next: BlockId, after: BlockId },
    /// A callback, which ends with 0 to go on and 1 to stop.
    Callback,
}

/// What all programs of a script share.
#[derive(Debug)]
pub(super) struct Shared<'a> {
    pub script: &'a hir::TypedScript,
    pub options: &'a LowerOptions,
    pub lines: &'a Lines,
    pub source: std::sync::Arc<Source>,
    pub layouts: &'a [Layout],
    pub ring_bytes: u32,
    pub programs: u32,
    /// Larger values are kept off the stack.
    pub on_stack_limit: u32,
    /// For each map of the script, whether its elements need marks; see [`super::maps`].
    pub marked: Vec<bool>,
    /// Whether the script can end itself.
    pub exits: bool,
}

/// Which program.
#[derive(Clone, Debug)]
pub(super) struct Identity<'a> {
    pub name: String,
    pub kind: ProgramKind,
    /// Whether it is run by us and not hit by processes.
    pub is_filtered: bool,
    /// Whether it does nothing when the script has ended itself: all do but those of the beginning and the end.
    pub ends: bool,
    /// Its index.
    pub program: u32,
    /// Index of its first attach point.
    pub point: u32,
    /// Its attach points.
    pub points: Vec<&'a hir::ProbePoint>,
    /// Whether it asks for its cookie.
    pub cookie: bool,
    /// Whether it asks for the thread's name.
    pub shows_comm: bool,
    /// If it is attached to the tracepoint of all system calls: for which.
    pub calls: Option<Calls>,
}

/// A program.
#[derive(Debug)]
pub(super) struct Lower<'a> {
    pub b: Builder,
    pub shared: &'a Shared<'a>,
    pub probe: &'a hir::TypedProbe,
    pub id: Identity<'a>,
    pub analysis: &'a Analysis,
    maps: HashMap<String, MapId>,
    pub homes: Vec<Home>,
    pub scratch: Scratch,
    /// Whether each run claims its scratch memory: see [`super::nesting`].
    pub guarded: bool,
    /// Where the number of the claimed piece is, in this function.
    pub claimed: Option<Memory>,
    /// The frame: in the program a slot, in callbacks the address they got.
    pub frame: Option<Memory>,
    /// The loops around, in this function.
    pub around: Vec<Around>,
    /// 0 in the program itself, else the callback's number.
    pub function: u32,
    pub statement: Span,
    /// How many functions there are.
    pub functions: u32,
    pub kernel_stacks: bool,
    pub user_stacks: bool,
    /// The function that walks the user's stack, once there is one.
    pub walk: Option<crate::ir::FunctionId>,
}

/// The 8 bytes at a time that a number is stored in.
pub(super) fn size_of(bytes: u32) -> Size {
    Size::of(bytes).unwrap_or(Size::B8)
}

/// Whether a scalar's type has a sign.
pub(super) fn is_signed(ty: &Type) -> bool {
    match ty {
        Type::Integer { signed, .. } | Type::Enum { signed, .. } => *signed,
        Type::Shown(shown) => {
            matches!(shown, bathyscope_plan::Shown::Strerror | bathyscope_plan::Shown::SignalName)
        }
        _ => false,
    }
}

impl<'a> Lower<'a> {
    pub(super) fn new(
        shared: &'a Shared<'a>,
        probe: &'a hir::TypedProbe,
        (id, guarded): (Identity<'a>, bool),
        analysis: &'a Analysis,
    ) -> Self {
        let mut b = Builder::new(id.name.clone(), id.kind);
        b.set_source(shared.source.clone());
        let homes = vec![Home::Nowhere; probe.locals.len()];
        let (maps, scratch) = (HashMap::new(), Scratch::default());
        let (frame, around, function, functions, statement) = (None, Vec::new(), 0, 0, probe.span);
        let (kernel_stacks, user_stacks, claimed) = (false, false, None);
        Self {
            b,
            shared,
            probe,
            id,
            analysis,
            maps,
            homes,
            scratch,
            guarded,
            claimed,
            frame,
            around,
            function,
            statement,
            functions,
            kernel_stacks,
            user_stacks,
            walk: None,
        }
    }

    pub(super) fn error<T>(&self, message: impl Into<String>) -> Result<T> {
        Err(Diagnostic::error(self.statement, message))
    }

    /// What follows comes from there.
    pub(super) fn at(&mut self, span: Span) {
        let (line, column) = self.shared.lines.at(span);
        self.b.at(line, column);
    }

    /// The map of this definition.
    pub(super) fn map(&mut self, definition: MapDefinition) -> MapId {
        if let Some(map) = self.maps.get(&definition.name) {
            return *map;
        }
        let name = definition.name.clone();
        let map = self.b.map(definition);
        self.maps.insert(name, map);
        map
    }

    /// A map of the script.
    pub(super) fn script_map(&mut self, id: hir::ScriptMapId) -> Result<(MapId, &'a bathyscope_plan::MapPlan)> {
        let Some(plan) = self.shared.script.maps.get(id.0 as usize) else {
            return self.error("the checked script names a map that it does not have");
        };
        let map = self.map(definition(plan, self.shared.options.possible_cpus));
        Ok((map, plan))
    }

    /// Adds one to what is counted for every hit.
    pub(super) fn count_hit(&mut self, counter: ScriptCounter) {
        let map = self.counters();
        let counters = self.b.array_value(map, self.id.program);
        self.add_to_counter(counters, counter);
    }

    /// Adds one to what is rarely counted. It asks for the counters anew, so that their address need not be kept in a
    /// register all the time.
    pub(super) fn count(&mut self, counter: ScriptCounter) {
        let map = self.counters();
        let key = self.b.slot(8);
        self.b.store_slot(key, 0, Size::B4, i64::from(self.id.program));
        let (map, key) = (self.b.map_address(map), self.b.slot_address(key));
        let counters = self.b.call(Helper::MapLookup, &[map.into(), key.into()]);
        let (there, join) = (self.b.block(), self.b.block());
        self.b.branch(Test::Eq, counters, 0, join, there);
        self.b.switch_to(there);
        self.add_to_counter(counters, counter);
        self.b.jump(join);
        self.b.switch_to(join);
    }

    fn counters(&mut self) -> MapId {
        use crate::ir::MapKind;
        let entries = self.shared.programs.max(1);
        self.map(MapDefinition::new(COUNTERS, MapKind::PerCpuArray, 4, COUNTER_WORDS * 8, entries))
    }

    fn add_to_counter(&mut self, counters: Reg, counter: ScriptCounter) {
        let offset = counter as i16 * 8;
        // The counters are this CPU's and this program's: only another run of it can come in between.
        if nests(self.id.kind) {
            let one = self.b.set(1);
            return self.b.atomic(AtomicOp::Add, Width::W64, counters, offset, one);
        }
        let before = self.b.load(counters, offset, Size::B8, false);
        let after = self.b.binary(IrBinaryOp::Add, before, 1);
        self.b.store(counters, offset, Size::B8, after);
    }

    /// Counts if the result of a helper is not 0.
    pub(super) fn count_unless_zero(&mut self, result: Reg, counter: ScriptCounter) {
        let (failed, go_on) = (self.b.block(), self.b.block());
        self.b.branch(Test::Ne, result, 0, failed, go_on);
        self.b.switch_to(failed);
        self.count(counter);
        self.b.jump(go_on);
        self.b.switch_to(go_on);
    }

    pub(super) fn ring(&mut self) -> Reg {
        let map = self.map(MapDefinition::ring(RING, self.shared.ring_bytes));
        self.b.map_address(map)
    }

    /// Zeros of at least so many bytes that nobody writes to.
    pub(super) fn zeros(&mut self, bytes: u32) -> Reg {
        let map = self.map(MapDefinition::constant(format!("zeros{bytes}"), vec![0; bytes as usize]));
        self.b.global_address(map, 0)
    }

    /// The address of the context.
    pub(super) fn context(&mut self) -> Reg {
        let to = self.b.reg();
        self.b.push(Op::ContextAddress { to, offset: 0 });
        to
    }

    /// tgid in the high half and thread in the low half, in the initial namespace.
    pub(super) fn pid_tgid(&mut self) -> Reg {
        self.b.call(Helper::GetCurrentPidTgid, &[])
    }

    /// Memory for a value until the end of the statement.
    pub(super) fn temporary(&mut self, bytes: u32) -> Result<Memory> {
        if bytes <= self.shared.on_stack_limit.max(8) {
            return Ok(Memory::Slot(self.b.slot(bytes.max(1).next_multiple_of(8)), 0));
        }
        let piece = self.piece(bytes)?;
        Ok(self.reach(Where::Scratch(piece)))
    }

    pub(super) fn piece(&mut self, bytes: u32) -> Result<Piece> {
        match self.scratch.take(bytes) {
            Some(piece) => Ok(piece),
            None => Err(Diagnostic::error(
                self.statement,
                format!("this needs {bytes} bytes of memory at once; there are {CHUNK_BYTES}"),
            )
            .hint("use shorter texts: str(p, n), buf(p, n), or a smaller max_strlen in the config block")),
        }
    }

    /// Memory as the function that is being written reaches it.
    pub(super) fn reach(&mut self, place: Where) -> Memory {
        match place {
            Where::Slot(slot) => Memory::Slot(slot, 0),
            Where::Frame(offset) => moved(self.frame.unwrap_or(Memory::Slot(SlotId(0), 0)), offset),
            Where::Scratch(piece) => self.reach_scratch(piece),
        }
    }

    /// Programs that the kernel never runs inside one another on one CPU share scratch memory, and those that claim a piece
    /// of it; others have their own. See [`super::nesting`].
    pub(super) fn scratch_name(&self, chunk: u32) -> String {
        use ProgramKind as K;
        let whose = match self.id.kind {
            K::Tracepoint | K::Kprobe | K::Kretprobe | K::KprobeMulti | K::KprobeSession | K::PerfEvent => {
                "scratch".to_owned()
            }
            K::Uprobe | K::Uretprobe | K::UprobeMulti => CLAIMED.to_owned(),
            K::RawTracepoint => "scratch_run".to_owned(),
            K::BtfTracepoint | K::Fentry | K::Fexit | K::Iterator => format!("scratch_{}", self.id.program),
        };
        if chunk == 0 { whose } else { format!("{whose}_{chunk}") }
    }

    /// The names of its scratch memory, with the bytes it needs.
    pub(super) fn scratch_needs(&self) -> Vec<(String, u32)> {
        let sizes = self.scratch.sizes().iter().zip(0..);
        let walk = self.walk.map(|_| (self.scratch_name(WALK_CHUNK), WALK_BYTES));
        sizes.map(|(bytes, chunk)| (self.scratch_name(chunk), *bytes)).chain(walk).collect()
    }

    pub(super) fn address(&mut self, memory: Memory) -> Reg {
        match memory {
            Memory::Pointer(reg, 0) => reg,
            other => self.b.address_of(other),
        }
    }

    pub(super) fn store(&mut self, to: Memory, size: Size, value: impl Into<Operand>) {
        match to {
            Memory::Slot(slot, offset) => self.b.store_slot(slot, offset, size, value),
            Memory::Pointer(base, offset) => self.b.store(base, offset, size, value),
            // Nothing is ever written to the context.
            Memory::Context(_) => {}
        }
    }

    /// An operand in a register.
    pub(super) fn in_register(&mut self, operand: Operand) -> Reg {
        match operand {
            Operand::Reg(reg) => reg,
            constant @ Operand::Constant(_) => self.b.set(constant),
        }
    }

    pub(super) fn binary(&mut self, op: IrBinaryOp, left: Operand, right: Operand) -> Reg {
        let left = self.in_register(left);
        self.b.binary(op, left, right)
    }

    /// Changes a register.
    pub(super) fn change_register(&mut self, to: Reg, op: IrBinaryOp, right: impl Into<Operand>) {
        let right = right.into();
        self.b.push(Op::Binary { to, op, width: Width::W64, left: to, right });
    }

    /// Ends the program from wherever it is.
    pub(super) fn finish(&mut self, result: Operand) {
        if self.function == 0 {
            return self.leave(result);
        }
        if let Some(frame) = self.frame {
            self.store(moved(frame, super::analysis::FRAME_RESULT), Size::B8, result);
            self.store(moved(frame, super::analysis::FRAME_RETURNED), Size::B8, Operand::Constant(1));
        }
        self.b.ret(1);
    }
}

/// More memory than this for a hash map is only allocated as it is needed.
const MAX_PREALLOCATED: u64 = 4 << 20;

/// How the kernel knows a map of the script.
fn definition(plan: &bathyscope_plan::MapPlan, cpus: u32) -> MapDefinition {
    use crate::ir::MapKind;
    let kind = MapKind::from(plan.kind);
    let definition = MapDefinition::new(&plan.object_name, kind, plan.key_bytes, plan.value_bytes, plan.max_entries);
    let each = if plan.is_per_cpu() { u64::from(cpus.max(1)) } else { 1 };
    let bytes = u64::from(plan.key_bytes) + u64::from(plan.value_bytes) * each;
    let is_hash = matches!(kind, MapKind::Hash | MapKind::PerCpuHash);
    if is_hash && bytes * u64::from(plan.max_entries) > MAX_PREALLOCATED {
        return definition.with_flags(MapDefinition::NO_PREALLOC);
    }
    definition
}
