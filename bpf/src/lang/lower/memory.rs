//! Values in memory: where they are, and how they are written to a destination.
//!
//! [`Lower::write`] builds a value at its destination, so that a text read for a record is read into the record. What is
//! *padded* has a NUL in every byte after a text's end and in every gap; keys and values of maps are.

use bathyscope_plan::{Shown, Space, Type, layout};

use super::{
    Result,
    analysis::is_padded,
    program::{Home, Lower, ScriptCounter, size_of},
    text::MAX_WHOLE_TEXT,
};
use crate::{
    ir::{Helper, IrBinaryOp, Memory, Op, Operand, Reg, Size, Test, moved},
    lang::hir::{self, Context, TypedExpr, TypedExprKind},
};

impl Lower<'_> {
    /// Where a value in memory is; if it is nowhere yet, it is written to temporary memory.
    pub(super) fn place(&mut self, expr: &TypedExpr) -> Result<Memory> {
        match &expr.kind {
            TypedExprKind::Local(local) => match self.homes.get(local.0 as usize).copied() {
                Some(Home::Memory(place)) => Ok(self.reach(place)),
                _ => self.temporary_of(expr),
            },
            // Numbers in the record may be read in place if they are aligned; the rest is left to the kernel.
            TypedExprKind::Context { offset } if self.probe.context == Context::Tracepoint && *offset >= 8 => {
                Ok(Memory::Context(*offset))
            }
            TypedExprKind::Part { of, offset, bits: None } if !matches!(of.kind, TypedExprKind::Read { .. }) => {
                Ok(moved(self.place(of)?, *offset))
            }
            TypedExprKind::Block(statements, value) => {
                self.statements(statements)?;
                self.place(value)
            }
            TypedExprKind::Reinterpret(of) | TypedExprKind::Convert(of)
                if !of.ty.is_scalar() && of.ty.bytes() >= expr.ty.bytes() =>
            {
                self.place(of)
            }
            _ => self.temporary_of(expr),
        }
    }

    fn temporary_of(&mut self, expr: &TypedExpr) -> Result<Memory> {
        let memory = self.temporary(expr.ty.bytes())?;
        // Short texts are copied whole later, and some count as padded wherever they are: nothing may be left unwritten.
        let padded = match expr.kind {
            TypedExprKind::Select { .. } | TypedExprKind::Block(..) => matches!(expr.ty, Type::Text { .. }),
            TypedExprKind::Concat { .. } => expr.ty.bytes() <= MAX_WHOLE_TEXT,
            _ => false,
        };
        self.write(expr, memory, expr.ty.bytes(), padded)?;
        Ok(memory)
    }

    /// As [`Self::place`], but not in the context, which can only be read at constant places.
    pub(super) fn place_outside_context(&mut self, expr: &TypedExpr) -> Result<Memory> {
        match self.place(expr)? {
            Memory::Context(offset) => {
                let to = self.temporary(expr.ty.bytes())?;
                self.copy_context(to, offset, expr.ty.bytes());
                Ok(to)
            }
            place => Ok(place),
        }
    }

    /// Writes the value into memory with `room` bytes. What is larger than the room is cut; a text smaller than the room
    /// leaves the rest as it is, unless `padded`.
    pub(super) fn write(&mut self, expr: &TypedExpr, to: Memory, room: u32, padded: bool) -> Result<()> {
        use TypedExprKind as K;
        if expr.ty.is_scalar() {
            let value = self.scalar(expr)?;
            self.store_scalar(to, room, value, &expr.ty, padded);
            return Ok(());
        }
        match &expr.kind {
            K::Block(statements, value) => {
                self.statements(statements)?;
                return self.write(value, to, room, padded);
            }
            K::Select { condition, then, otherwise } => {
                return self.write_either(condition, [then, otherwise], to, room, padded);
            }
            _ => {}
        }
        let bytes = expr.ty.bytes();
        match &expr.ty {
            Type::Text { .. } | Type::Shown(Shown::Path { .. }) => return self.write_text(expr, to, room, padded),
            Type::Buffer { .. } => return self.write_buffer(expr, to, room, padded),
            _ => {}
        }
        match &expr.kind {
            K::Tuple(parts) => self.write_tuple(parts, &expr.ty, to)?,
            K::Map { map, key, .. } => self.copy_element(*map, key.as_deref(), to, bytes)?,
            K::Read { address, offset, space, .. } => {
                let address = self.scalar(address)?;
                self.read_into(to, i64::from(bytes).into(), address, *offset, *space);
            }
            K::Stack => self.user_stack(&expr.ty, false, to)?,
            K::UnwoundStack => self.user_stack(&expr.ty, true, to)?,
            K::WithProcess { address } => {
                let address = self.scalar(address)?;
                self.write_with_process(address, &expr.ty, to);
            }
            K::Builtin(hir::Builtin::FunctionAddress) => {
                let address = self.function_address()?;
                self.write_with_process(address, &expr.ty, to);
            }
            K::Inet { family, address } => self.write_inet(family.as_deref(), address, to)?,
            K::Element { of, index } => self.write_element(of, index, to, bytes)?,
            K::Part { of, offset, bits: None } if let K::Read { address, offset: base, space, .. } = &of.kind => {
                let address = self.scalar(address)?;
                self.read_into(to, i64::from(bytes).into(), address, base.saturating_add(i64::from(*offset)), *space);
            }
            K::Reinterpret(of) | K::Convert(of) if of.ty.is_scalar() || of.ty.bytes() < bytes => {
                self.b.zero(to, bytes);
                self.write(of, to, bytes, true)?;
            }
            K::Context { offset } => self.write_context(*offset, to, bytes)?,
            K::Local(_) | K::Part { .. } | K::Reinterpret(_) | K::Convert(_) => {
                let from = self.place(expr)?;
                self.copy(to, from, bytes.min(room));
            }
            _ => return self.error("the checked script uses a number as a value in memory"),
        }
        if padded && room > bytes {
            self.b.zero(moved(to, bytes), room - bytes);
        }
        Ok(())
    }

    /// Stores a scalar; with `padded` also zeros up to the room.
    pub(super) fn store_scalar(&mut self, to: Memory, room: u32, value: Operand, ty: &Type, padded: bool) {
        let bytes = ty.bytes().clamp(1, 8);
        // Zeros above a number without sign come with it.
        let unsigned = !super::program::is_signed(ty) || matches!(value, Operand::Constant(0..));
        if padded && unsigned && room >= 8 && bytes < 8 && is_aligned(to) {
            self.store(to, Size::B8, value);
            if room > 8 {
                self.b.zero(moved(to, 8), room - 8);
            }
            return;
        }
        self.store(to, size_of(bytes), value);
        if padded && room > bytes {
            self.b.zero(moved(to, bytes), room - bytes);
        }
    }

    fn write_either(
        &mut self,
        condition: &TypedExpr,
        values: [&TypedExpr; 2],
        to: Memory,
        room: u32,
        padded: bool,
    ) -> Result<()> {
        let (yes, no, join) = (self.b.block(), self.b.block(), self.b.block());
        self.branch_on(condition, yes, no)?;
        for (block, value) in [yes, no].into_iter().zip(values) {
            self.b.switch_to(block);
            self.write(value, to, room, padded)?;
            self.b.jump(join);
        }
        self.b.switch_to(join);
        Ok(())
    }

    /// Parts are always padded, and so are the gaps between them.
    fn write_tuple(&mut self, parts: &[TypedExpr], ty: &Type, to: Memory) -> Result<()> {
        let types: Vec<&Type> = match ty {
            Type::Tuple(types) => types.iter().collect(),
            Type::Record(types) => types.iter().map(|(_, ty)| ty).collect(),
            _ => return self.error("the checked script gives a value without parts some"),
        };
        let (offsets, bytes) = layout(types.iter().copied());
        let ends = offsets.iter().skip(1).copied().chain([bytes]);
        for (((part, ty), offset), end) in parts.iter().zip(types).zip(&offsets).zip(ends) {
            let own = ty.bytes();
            self.write(part, moved(to, *offset), own, true)?;
            if end > offset + own {
                self.b.zero(moved(to, offset + own), end - offset - own);
            }
        }
        Ok(())
    }

    /// Copies memory of the program.
    pub(super) fn copy(&mut self, to: Memory, from: Memory, bytes: u32) {
        match from {
            Memory::Context(offset) => self.copy_context(to, offset, bytes),
            from if bytes > 0 => self.b.copy(to, from, bytes),
            _ => {}
        }
    }

    fn copy_context(&mut self, to: Memory, offset: u32, bytes: u32) {
        const MOST_LOADS: u32 = 64;
        if bytes <= MOST_LOADS && offset.is_multiple_of(4) {
            return self.b.copy(to, Memory::Context(offset), bytes);
        }
        let from = self.b.reg();
        self.b.push(Op::ContextAddress { to: from, offset });
        self.read_into(to, i64::from(bytes).into(), from.into(), 0, Space::Kernel);
    }

    /// A value of the context that is no number: the record of a tracepoint has it in place.
    fn write_context(&mut self, offset: u32, to: Memory, bytes: u32) -> Result<()> {
        match self.probe.context {
            Context::None => return self.error("there is nothing to read at this probe"),
            Context::Tracepoint if offset >= 8 => self.copy_context(to, offset, bytes),
            _ => {
                let from = self.b.reg();
                self.b.push(Op::ContextAddress { to: from, offset });
                self.read_into(to, i64::from(bytes).into(), from.into(), 0, Space::Kernel);
            }
        }
        Ok(())
    }

    /// An address and whose it is.
    fn write_with_process(&mut self, address: Operand, ty: &Type, to: Memory) {
        self.store(to, Size::B8, address);
        let kernel_only = *ty == Type::Shown(Shown::Function) && !self.is_user_probe();
        if kernel_only && self.probe.context != Context::PerfEvent {
            return self.store(moved(to, 8), Size::B8, Operand::Constant(0));
        }
        let pid_tgid = self.pid_tgid();
        let mut pid = self.b.binary(IrBinaryOp::Shr, pid_tgid, 32);
        if kernel_only {
            // What was interrupted may be either; addresses of the kernel are in the upper half.
            let address = self.in_register(address);
            pid = self.b.select(Test::SignedLt, crate::ir::Width::W64, address, 0, 0, pid);
        }
        self.store(moved(to, 8), Size::B8, pid);
    }

    fn write_inet(&mut self, family: Option<&TypedExpr>, address: &TypedExpr, to: Memory) -> Result<()> {
        const IPV4: i64 = 2;
        const IPV6: i64 = 10;
        let bytes = address.ty.bytes().min(16);
        let usual = if bytes > 4 { IPV6 } else { IPV4 };
        let family = family.map_or(Ok(Operand::Constant(usual)), |family| self.scalar(family))?;
        self.store(to, Size::B4, family);
        if address.ty.is_scalar() {
            let value = self.scalar(address)?;
            self.store(moved(to, 4), Size::B4, value);
            self.b.zero(moved(to, 8), 12);
            return Ok(());
        }
        self.write(address, moved(to, 4), bytes, false)?;
        if bytes < 16 {
            self.b.zero(moved(to, 4 + bytes), 16 - bytes);
        }
        Ok(())
    }

    /// `buf()`: the length, then the content.
    fn write_buffer(&mut self, expr: &TypedExpr, to: Memory, room: u32, padded: bool) -> Result<()> {
        let bytes = expr.ty.bytes().min(room);
        match &expr.kind {
            TypedExprKind::ReadBuffer { .. } => {
                if padded {
                    self.b.zero(to, room);
                }
                self.read_buffer(expr, to)?;
            }
            TypedExprKind::Map { map, key, .. } => {
                self.copy_element(*map, key.as_deref(), to, bytes)?;
                if padded && room > bytes {
                    self.b.zero(moved(to, bytes), room - bytes);
                }
            }
            TypedExprKind::BufferOf { of, length } => self.write_buffer_of(of, length.as_deref(), to, bytes)?,
            // A smaller buffer: what is missing is zeros.
            TypedExprKind::Convert(of) if matches!(of.ty, Type::Buffer { .. }) && of.ty.bytes() < bytes => {
                let own = of.ty.bytes();
                self.write(of, to, own, padded)?;
                self.b.zero(moved(to, own), bytes - own);
            }
            TypedExprKind::Convert(of) | TypedExprKind::Reinterpret(of) if of.ty.bytes() < bytes => {
                return self.error("the checked script makes a buffer of something smaller");
            }
            _ => {
                let from = self.place(expr)?;
                self.copy(to, from, bytes);
                if padded && room > bytes {
                    self.b.zero(moved(to, bytes), room - bytes);
                }
            }
        }
        Ok(())
    }

    /// A buffer with so many bytes, its length among them, of a value in memory of the program.
    fn write_buffer_of(&mut self, of: &TypedExpr, length: Option<&TypedExpr>, to: Memory, bytes: u32) -> Result<()> {
        let content = bytes.saturating_sub(4);
        let from = self.place_outside_context(of)?;
        let own = of.ty.bytes().min(content);
        self.copy(moved(to, 4), from, own);
        if content > own {
            self.b.zero(moved(to, 4 + own), content - own);
        }
        let length = match length {
            Some(length) => {
                let length = self.scalar(length)?;
                self.at_most(length, content.into())
            }
            None => Operand::Constant(content.into()),
        };
        self.store(to, Size::B4, length);
        Ok(())
    }

    /// Reads a buffer; gives how many bytes of content it has.
    pub(super) fn read_buffer(&mut self, expr: &TypedExpr, to: Memory) -> Result<Operand> {
        let (TypedExprKind::ReadBuffer { address, space, length }, Type::Buffer { bytes }) = (&expr.kind, &expr.ty)
        else {
            return self.error("the checked script reads a buffer that is none");
        };
        let most = i64::from(*bytes);
        let address = self.scalar(address)?;
        let length = match length {
            Some(length) => {
                let length = self.scalar(length)?;
                self.at_most(length, most)
            }
            None => Operand::Constant(most),
        };
        self.store(to, Size::B4, length);
        if length != Operand::Constant(0) {
            self.read_into(moved(to, 4), length, address, 0, *space);
        }
        Ok(length)
    }

    /// The smaller of a number without sign and a constant, so that the verifier sees it.
    pub(super) fn at_most(&mut self, value: Operand, most: i64) -> Operand {
        match value {
            Operand::Constant(value) if (0..=most).contains(&value) => Operand::Constant(value),
            Operand::Constant(_) => Operand::Constant(most),
            Operand::Reg(value) => {
                let (large, join) = (self.b.block(), self.b.block());
                let to = self.b.set(value);
                self.b.branch(Test::Gt, to, most, large, join);
                self.b.switch_to(large);
                self.b.assign(to, most);
                self.b.jump(join);
                self.b.switch_to(join);
                to.into()
            }
        }
    }

    /// Whether a text needs no more than a copy to be padded.
    pub(super) fn is_padded(&self, expr: &TypedExpr) -> bool {
        is_padded(expr, &self.analysis.locals)
    }

    pub(super) fn set_memory_local(&mut self, local: hir::LocalId, value: &TypedExpr) -> Result<()> {
        let Some(Home::Memory(place)) = self.homes.get(local.0 as usize).copied() else { return Ok(()) };
        let bytes = self.probe.locals.get(local.0 as usize).map_or(0, |local| local.ty.bytes());
        let padded = self.analysis.local(local).is_some_and(|known| known.padded) || value.ty.bytes() < bytes;
        let is_text = matches!(value.ty, Type::Text { .. } | Type::Buffer { .. });
        let to = self.reach(place);
        if mentions(value, local) {
            let whole = self.temporary(bytes)?;
            self.write(value, whole, bytes, padded && self.is_padded(value))?;
            self.copy(to, whole, bytes);
            return Ok(());
        }
        let padded = if is_text { padded && self.is_padded(value) } else { padded };
        self.write(value, to, bytes, padded)
    }

    /// The user's stack: the id of its body, and the process.
    fn user_stack(&mut self, ty: &Type, unwound: bool, to: Memory) -> Result<()> {
        let id = if unwound { self.unwound_stack_id(ty)? } else { self.stack_id(ty)? };
        self.store(to, Size::B8, id);
        let pid_tgid = self.pid_tgid();
        let pid = self.b.binary(IrBinaryOp::Shr, pid_tgid, 32);
        self.store(moved(to, 8), Size::B8, pid);
        Ok(())
    }

    /// Text that the kernel makes of a path; gives its length with the NUL, 1 if it failed or there is none.
    pub(super) fn read_path(&mut self, address: &TypedExpr, to: Memory, room: u32) -> Result<Reg> {
        let (null, join) = (self.b.block(), self.b.block());
        let path = self.typed(address, null)?;
        let place = self.address(to);
        let length = self.b.call(Helper::DPath, &[path.into(), place.into(), i64::from(room).into()]);
        let length = self.good_length(length, room, to);
        self.b.jump(join);
        self.b.switch_to(null);
        self.store(to, Size::B1, Operand::Constant(0));
        self.b.assign(length, 1);
        self.b.jump(join);
        self.b.switch_to(join);
        Ok(length)
    }

    /// The length that a helper gave if it is one, else 1 after writing an empty text.
    pub(super) fn good_length(&mut self, length: Reg, room: u32, text: Memory) -> Reg {
        let (failed, positive, join) = (self.b.block(), self.b.block(), self.b.block());
        let to = self.b.set(length);
        self.b.branch(Test::SignedLe, to, 0, failed, positive);
        self.b.switch_to(positive);
        self.b.branch(Test::Gt, to, i64::from(room), failed, join);
        self.b.switch_to(failed);
        self.count(ScriptCounter::HelperFailed);
        self.store(text, Size::B1, Operand::Constant(0));
        self.b.assign(to, 1);
        self.b.jump(join);
        self.b.switch_to(join);
        to
    }
}

/// Whether a value is made of a variable that it is about to replace.
fn mentions(expr: &TypedExpr, local: hir::LocalId) -> bool {
    super::walk::any_expression(expr, &mut |inner| matches!(inner.kind, TypedExprKind::Local(other) if other == local))
}

/// Whether the place is a multiple of 8.
fn is_aligned(place: Memory) -> bool {
    largest_at(place) == Size::B8
}

/// The largest word that may be at a place.
pub(super) fn largest_at(place: Memory) -> Size {
    let offset = match place {
        Memory::Slot(_, offset) | Memory::Context(offset) => offset,
        Memory::Pointer(_, offset) => u32::from(offset.unsigned_abs()),
    };
    let sizes = [Size::B8, Size::B4, Size::B2];
    sizes.into_iter().find(|size| offset.is_multiple_of(size.bytes())).unwrap_or(Size::B1)
}
