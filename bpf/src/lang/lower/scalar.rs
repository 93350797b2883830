//! Values in registers: numbers, pointers, and what is shown as something else. Each is extended to 64 bits by the sign
//! of its type, always.

use bathyscope_plan::{AttachPoint, Space, Type, UsdtPlace};

use super::{
    Result,
    program::{Home, Lower, ScriptCounter, Where, is_signed, size_of},
};
use crate::{
    ir::{BlockId, Helper, IrBinaryOp, IrUnaryOp, Memory, Op, Operand, ProgramKind, Reg, Size, Test, moved},
    lang::hir::{self, ArithmeticOp, Context, Countable, TypedExpr, TypedExprKind},
};

/// The first bytes of a tracepoint's record, which a program cannot read.
const HIDDEN_CONTEXT_BYTES: u32 = 8;

/// A constant as its type has it.
pub(super) fn normal(value: i64, ty: &Type) -> i64 {
    let unused = 64 - 8 * ty.bytes().clamp(1, 8);
    if is_signed(ty) { value << unused >> unused } else { (value.cast_unsigned() << unused >> unused).cast_signed() }
}

impl Lower<'_> {
    /// The value of an expression of a scalar type.
    pub(super) fn scalar(&mut self, expr: &TypedExpr) -> Result<Operand> {
        use TypedExprKind as K;
        Ok(match &expr.kind {
            K::Integer(value) => Operand::Constant(normal(*value, &expr.ty)),
            K::Local(local) => self.read_local(*local, &expr.ty),
            K::LocalStep { local, by, gives_old } => self.step_local(*local, *by, *gives_old),
            K::Map { map, key, read } => self.read_map(*map, key.as_deref(), *read, &expr.ty)?,
            K::HasKey { .. } | K::Compare { .. } | K::Same { .. } | K::Not(_) | K::And(..) | K::Or(..) => {
                self.truth_of(expr)?
            }
            K::AtomicStep { map, key, by, gives_old } => {
                self.step_map(*map, key.as_deref(), *by, Some(*gives_old))?.unwrap_or(Operand::Constant(0))
            }
            K::Length(Countable::Map(map)) => self.map_length(*map)?,
            K::Length(Countable::Stack(stack)) => self.stack_length(stack)?.into(),
            K::Context { offset } => self.load_from_context(*offset, &expr.ty)?,
            K::ContextAddress { offset } => {
                let to = self.b.reg();
                self.b.push(Op::ContextAddress { to, offset: *offset });
                self.untyped(to).into()
            }
            K::Register { offset } => {
                let whole = self.b.load_context(*offset, Size::B8, false);
                self.narrowed(whole.into(), &expr.ty)
            }
            K::StackArgument { index, space } => self.stack_argument(*index, *space, &expr.ty)?,
            K::UsdtArgument { index } => self.marker_argument(*index, &expr.ty)?,
            K::DynamicAddress { offset, relative } => self.dynamic_address(*offset, *relative).into(),
            K::Read { address, offset, space, bits } => self.read_scalar(address, *offset, *space, *bits, &expr.ty)?,
            K::Part { of, offset, bits } => self.part(of, *offset, *bits, &expr.ty)?,
            K::Element { of, index } => self.element(of, index, &expr.ty)?,
            K::Stack => self.kernel_stack(&expr.ty)?,
            K::Builtin(builtin) => self.builtin(*builtin, &expr.ty)?,
            K::Convert(of) => self.convert(of, &expr.ty)?,
            K::Unary { op, of } => {
                let from = self.scalar(of)?;
                let from = self.in_register(from);
                let op = match op {
                    hir::TypedUnaryOp::Negate => IrUnaryOp::Negate,
                    hir::TypedUnaryOp::Complement => IrUnaryOp::Not,
                };
                let to = self.b.unary(op, from);
                self.narrowed(to.into(), &expr.ty)
            }
            K::Binary { op, left, right } => {
                let left = self.scalar(left)?;
                let right = self.scalar(right)?;
                self.arithmetic(*op, left, right, &expr.ty)
            }
            K::Difference { left, right, most, text } => self.difference(left, right, *most, *text)?,
            K::Find { text, needle } => self.find(text, needle)?,
            K::TextLength(text) => self.text_length(text)?,
            K::Select { condition, then, otherwise } => self.select_scalar(condition, then, otherwise)?,
            K::Block(statements, value) => {
                self.statements(statements)?;
                self.scalar(value)?
            }
            K::AddressOf(of) => {
                let place = self.place(of)?;
                let address = self.b.address_of(place);
                self.untyped(address).into()
            }
            K::ByteSwap(of) => {
                let from = self.scalar(of)?;
                let from = self.in_register(from);
                let op = match expr.ty.bytes() {
                    2 => IrUnaryOp::Swap16,
                    4 => IrUnaryOp::Swap32,
                    _ => IrUnaryOp::Swap64,
                };
                let to = self.b.unary(op, from);
                self.narrowed(to.into(), &expr.ty)
            }
            K::Reinterpret(of) if of.ty.is_scalar() => {
                let value = self.scalar(of)?;
                self.narrowed(value, &expr.ty)
            }
            K::Reinterpret(of) => {
                let place = self.place(of)?;
                self.load(place, &expr.ty)
            }
            K::SocketCookie { address } => self.socket_cookie(address)?,
            K::PerCpuAddress { address, cpu } => self.per_cpu_address(address, cpu.as_deref())?,
            K::Text(_)
            | K::DynamicText { .. }
            | K::ReadText { .. }
            | K::ReadBuffer { .. }
            | K::BufferOf { .. }
            | K::WithProcess { .. }
            | K::Concat { .. }
            | K::UnwoundStack
            | K::Tuple(_)
            | K::Inet { .. }
            | K::Path { .. } => return self.error("the checked script uses a value in memory as a number"),
        })
    }

    pub(super) fn register(&mut self, expr: &TypedExpr) -> Result<Reg> {
        let value = self.scalar(expr)?;
        Ok(self.in_register(value))
    }

    /// A scalar that is in memory.
    pub(super) fn load(&mut self, from: Memory, ty: &Type) -> Operand {
        self.b.load_memory(from, size_of(ty.bytes()), is_signed(ty)).into()
    }

    /// The low bytes that the type has, extended as the type says.
    pub(super) fn narrowed(&mut self, value: Operand, ty: &Type) -> Operand {
        match (value, ty.bytes()) {
            (Operand::Constant(value), _) => Operand::Constant(normal(value, ty)),
            (Operand::Reg(reg), 1 | 2 | 4) => self.b.extend(reg, size_of(ty.bytes()), is_signed(ty)).into(),
            (reg, _) => reg,
        }
    }

    pub(super) fn untyped(&mut self, from: Reg) -> Reg {
        let to = self.b.reg();
        self.b.push(Op::Untype { to, from });
        to
    }

    fn convert(&mut self, of: &TypedExpr, ty: &Type) -> Result<Operand> {
        if *ty == Type::Bool && of.ty != Type::Bool {
            return self.truth_of(of);
        }
        if !of.ty.is_scalar() {
            let place = self.place(of)?;
            return Ok(self.load(place, ty));
        }
        let value = self.scalar(of)?;
        let (old, new) = (of.ty.bytes(), ty.bytes());
        let same = old == new && is_signed(&of.ty) == is_signed(ty);
        let wider = old < new && (!is_signed(&of.ty) || is_signed(ty));
        Ok(if same || wider { value } else { self.narrowed(value, ty) })
    }

    fn read_local(&mut self, local: hir::LocalId, ty: &Type) -> Operand {
        match self.homes.get(local.0 as usize).copied().unwrap_or(Home::Nowhere) {
            // A copy, since the variable may be set before the value is used.
            Home::Register(reg) => self.b.set(reg).into(),
            Home::Memory(place) => {
                let memory = self.reach(place);
                self.load(memory, ty)
            }
            Home::Nowhere => Operand::Constant(0),
        }
    }

    pub(super) fn set_local(&mut self, local: hir::LocalId, value: Operand) {
        let bytes = self.probe.locals.get(local.0 as usize).map_or(8, |local| local.ty.bytes());
        match self.homes.get(local.0 as usize).copied().unwrap_or(Home::Nowhere) {
            Home::Register(reg) => self.b.assign(reg, value),
            Home::Memory(place) => {
                let value = if matches!(place, Where::Frame(_)) { self.forgotten(value) } else { value };
                let memory = self.reach(place);
                self.store(memory, size_of(bytes), value);
            }
            Home::Nowhere => {}
        }
    }

    fn step_local(&mut self, local: hir::LocalId, by: i64, gives_old: bool) -> Operand {
        let ty = self.probe.locals.get(local.0 as usize).map_or(Type::I64, |local| local.ty.clone());
        let old = self.read_local(local, &ty);
        let sum = self.binary(IrBinaryOp::Add, old, by.into());
        let new = self.narrowed(sum.into(), &ty);
        self.set_local(local, new);
        if gives_old { old } else { new }
    }

    /// A scalar of the context.
    pub(super) fn load_from_context(&mut self, offset: u32, ty: &Type) -> Result<Operand> {
        let bytes = ty.bytes();
        let loaded = match self.probe.context {
            Context::None => return self.error("there is nothing to read at this probe"),
            Context::Tracepoint if offset < HIDDEN_CONTEXT_BYTES => {
                let to = self.b.reg();
                self.b.push(Op::ContextAddress { to, offset });
                return self.read_at(to.into(), 0, Space::Kernel, None, ty);
            }
            Context::Tracepoint if !offset.is_multiple_of(bytes.max(1)) => self.load_unaligned(offset, bytes),
            Context::Tracepoint => return Ok(self.load(Memory::Context(offset), ty)),
            Context::Words => {
                let word = self.b.load_context(offset, Size::B8, false);
                self.untyped(word)
            }
            Context::Registers | Context::PerfEvent => self.b.load_context(offset, Size::B8, false),
        };
        Ok(self.narrowed(loaded.into(), ty))
    }

    /// A number of the record that is not where its size wants it: the kernel only allows aligned accesses.
    fn load_unaligned(&mut self, offset: u32, bytes: u32) -> Reg {
        let step = [4, 2, 1].into_iter().find(|step| offset.is_multiple_of(*step)).unwrap_or(1);
        let mut number = self.b.load_context(offset, size_of(step), false);
        for at in (step..bytes).step_by(step as usize) {
            let next = self.b.load_context(offset + at, size_of(step), false);
            let shifted = self.b.binary(IrBinaryOp::Shl, next, i64::from(at * 8));
            number = self.b.binary(IrBinaryOp::Or, number, shifted);
        }
        number
    }

    fn stack_argument(&mut self, index: u32, space: Space, ty: &Type) -> Result<Operand> {
        use bathyscope_plan::Architecture;
        let (pointer, first) = match self.shared.options.architecture {
            // Below the arguments is the return address.
            Architecture::X86_64 => (152, 8),
            Architecture::Aarch64 => (248, 0),
        };
        let stack = self.b.load_context(pointer, Size::B8, false);
        self.read_at(stack.into(), first + 8 * i64::from(index), space, None, ty)
    }

    fn marker_argument(&mut self, index: u32, ty: &Type) -> Result<Operand> {
        let argument = self.id.points.first().and_then(|point| match &point.point {
            AttachPoint::Usdt { arguments, .. } => arguments.get(index as usize).cloned(),
            _ => None,
        });
        let Some(argument) = argument else {
            return self.error(format!("this USDT probe has no argument {index}"));
        };
        let its = Type::Integer { bytes: argument.bytes, signed: argument.signed };
        let value = match argument.place {
            UsdtPlace::Constant(value) => Operand::Constant(normal(value, &its)),
            UsdtPlace::Register { offset, shift } => {
                let whole = self.b.load_context(offset, Size::B8, false);
                let moved = self.b.binary(IrBinaryOp::Shr, whole, i64::from(shift));
                self.narrowed(moved.into(), &its)
            }
            UsdtPlace::Memory { base, index, scale, displacement } => {
                let mut address = self.b.load_context(base, Size::B8, false);
                if let Some(index) = index {
                    let index = self.b.load_context(index, Size::B8, false);
                    let scaled = self.b.binary(IrBinaryOp::Mul, index, i64::from(scale));
                    address = self.b.binary(IrBinaryOp::Add, address, scaled);
                }
                self.read_at(address.into(), displacement, Space::User, None, &its)?
            }
        };
        Ok(self.narrowed(value, ty))
    }

    /// The address of the content of a `__data_loc` field.
    pub(super) fn dynamic_address(&mut self, offset: u32, relative: bool) -> Reg {
        let loc = if offset.is_multiple_of(4) {
            self.b.load_context(offset, Size::B4, false)
        } else {
            self.load_unaligned(offset, 4)
        };
        let distance = self.b.binary(IrBinaryOp::And, loc, 0xffff);
        let base = self.b.reg();
        self.b.push(Op::ContextAddress { to: base, offset: if relative { offset + 4 } else { 0 } });
        self.b.binary(IrBinaryOp::Add, base, distance)
    }

    fn read_scalar(
        &mut self,
        address: &TypedExpr,
        offset: i64,
        space: Space,
        bits: Option<(u8, u8)>,
        ty: &Type,
    ) -> Result<Operand> {
        let address = self.scalar(address)?;
        self.read_at(address, offset, space, bits, ty)
    }

    /// A scalar behind an address; 0 if it cannot be read.
    pub(super) fn read_at(
        &mut self,
        address: Operand,
        offset: i64,
        space: Space,
        bits: Option<(u8, u8)>,
        ty: &Type,
    ) -> Result<Operand> {
        let slot = self.b.slot(8);
        let room = Memory::Slot(slot, 0);
        let bytes = bit_field_bytes(bits, ty);
        self.read_into(room, i64::from(bytes).into(), address, offset, space);
        Ok(self.load_bits(room, bits, ty))
    }

    /// Reads memory of the kernel or the process; zeros if it cannot be read, which is counted.
    pub(super) fn read_into(&mut self, to: Memory, bytes: Operand, address: Operand, offset: i64, space: Space) {
        let from = if offset == 0 { address } else { self.binary(IrBinaryOp::Add, address, offset.into()).into() };
        let room = self.address(to);
        let helper = match space {
            Space::Kernel => Helper::ProbeReadKernel,
            Space::User => Helper::ProbeReadUser,
        };
        let failed = self.b.call(helper, &[room.into(), bytes, from]);
        self.count_unless_zero(failed, ScriptCounter::HelperFailed);
    }

    /// A scalar in memory, or some bits of it.
    pub(super) fn load_bits(&mut self, from: Memory, bits: Option<(u8, u8)>, ty: &Type) -> Operand {
        let Some((first, count)) = bits else { return self.load(from, ty) };
        let whole = self.b.load_memory(from, size_of(bit_field_bytes(bits, ty)), false);
        let (first, count) = (i64::from(first), i64::from(count.clamp(1, 64)));
        let up = self.b.binary(IrBinaryOp::Shl, whole, (64 - first - count).max(0));
        let down = if is_signed(ty) { IrBinaryOp::Sar } else { IrBinaryOp::Shr };
        self.b.binary(down, up, 64 - count).into()
    }

    fn select_scalar(&mut self, condition: &TypedExpr, then: &TypedExpr, otherwise: &TypedExpr) -> Result<Operand> {
        let (yes, no, join) = (self.b.block(), self.b.block(), self.b.block());
        self.branch_on(condition, yes, no)?;
        let to = self.b.reg();
        for (block, value) in [(yes, then), (no, otherwise)] {
            self.b.switch_to(block);
            let value = self.scalar(value)?;
            self.b.assign(to, value);
            self.b.jump(join);
        }
        self.b.switch_to(join);
        Ok(to.into())
    }

    fn per_cpu_address(&mut self, address: &TypedExpr, cpu: Option<&TypedExpr>) -> Result<Operand> {
        let Some(offsets) = self.shared.options.per_cpu_offset else {
            return self.error("per-CPU variables cannot be found: this kernel does not tell where they are");
        };
        let cpu = match cpu {
            Some(cpu) => self.scalar(cpu)?,
            None => self.b.call(Helper::GetSmpProcessorId, &[]).into(),
        };
        let place = self.binary(IrBinaryOp::Mul, cpu, 8.into());
        let base = self.read_at(place.into(), offsets.cast_signed(), Space::Kernel, None, &Type::U64)?;
        let address = self.scalar(address)?;
        Ok(self.binary(IrBinaryOp::Add, base, address).into())
    }

    /// A pointer whose type the verifier knows, which some helpers insist on.
    ///
    /// Where a pointer on the way to it is null, the program goes to `null` instead: the verifier asks for it where the kernel
    /// may give none (what an iterator is at), and elsewhere there would be nothing to find.
    pub(super) fn typed(&mut self, expr: &TypedExpr, null: BlockId) -> Result<Reg> {
        let context = self.probe.context;
        match &expr.kind {
            TypedExprKind::Context { offset } if context == Context::Words => {
                let pointer = self.b.load_context(*offset, Size::B8, false);
                Ok(self.unless_null(pointer, null))
            }
            TypedExprKind::Builtin(hir::Builtin::CurrentTask) => Ok(self.b.call(Helper::GetCurrentTaskBtf, &[])),
            TypedExprKind::Convert(of) if of.ty.bytes() == 8 => self.typed(of, null),
            TypedExprKind::Binary { op: ArithmeticOp::Add, left, right } => {
                let TypedExprKind::Integer(by) = right.kind else { return self.untypable() };
                let base = self.typed(left, null)?;
                Ok(self.b.binary(IrBinaryOp::Add, base, by))
            }
            TypedExprKind::Read { address, offset, space: Space::Kernel, bits: None } => {
                let base = self.typed(address, null)?;
                let (Ok(offset), 8) = (i16::try_from(*offset), expr.ty.bytes()) else { return self.untypable() };
                let pointer = self.b.load(base, offset, Size::B8, false);
                Ok(self.unless_null(pointer, null))
            }
            _ => self.untypable(),
        }
    }

    /// The number of a socket; 0 where there is none.
    fn socket_cookie(&mut self, address: &TypedExpr) -> Result<Operand> {
        let (null, join) = (self.b.block(), self.b.block());
        let cookie = self.b.reg();
        let socket = self.typed(address, null)?;
        let told = self.b.call(Helper::GetSocketCookie, &[socket.into()]);
        self.b.assign(cookie, told);
        self.b.jump(join);
        self.b.switch_to(null);
        self.b.assign(cookie, 0);
        self.b.jump(join);
        self.b.switch_to(join);
        Ok(cookie.into())
    }

    fn unless_null(&mut self, pointer: Reg, null: BlockId) -> Reg {
        let there = self.b.block();
        self.b.branch(Test::Eq, pointer, 0, null, there);
        self.b.switch_to(there);
        pointer
    }

    fn untypable<T>(&self) -> Result<T> {
        self.error("the kernel must know the type of what this pointer points to").map_err(|error| {
            error.hint("start from an argument of fentry, fexit or rawtracepoint, or from curtask, without casts")
        })
    }

    /// Whether the program is at a place of user code.
    pub(super) fn is_user_probe(&self) -> bool {
        matches!(self.id.kind, ProgramKind::Uprobe | ProgramKind::Uretprobe | ProgramKind::UprobeMulti)
    }

    /// Some bytes of a value in memory.
    fn part(&mut self, of: &TypedExpr, offset: u32, bits: Option<(u8, u8)>, ty: &Type) -> Result<Operand> {
        if let TypedExprKind::Read { address, offset: base, space, bits: None } = &of.kind {
            return self.read_scalar(address, base.saturating_add(i64::from(offset)), *space, bits, ty);
        }
        let place = self.place(of)?;
        match place {
            Memory::Context(base) if bits.is_none() => self.load_from_context(base + offset, ty),
            _ => Ok(self.load_bits(moved(place, offset), bits, ty)),
        }
    }
}

/// How much to read for a bit field.
fn bit_field_bytes(bits: Option<(u8, u8)>, ty: &Type) -> u32 {
    let needed = bits.map_or(0, |(first, count)| (u32::from(first) + u32::from(count)).div_ceil(8).next_power_of_two());
    ty.bytes().max(needed).clamp(1, 8)
}
