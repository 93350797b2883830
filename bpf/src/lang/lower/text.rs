//! Texts: reading them, writing them to a place, joining them.

use bathyscope_plan::{COMM_BYTES, Space, Type};

use super::{
    Result,
    program::{Lower, ScriptCounter},
};
use crate::{
    ir::{Helper, IrBinaryOp, MapDefinition, Memory, Op, Operand, Reg, Size, Test, moved, piece},
    lang::hir::{Builtin, TypedExpr, TypedExprKind},
};

/// Longer constants come from a map of constants.
const MAX_IMMEDIATE_TEXT: usize = 64;
/// Texts up to this are copied whole; of longer ones the kernel copies what there is.
pub(super) const MAX_WHOLE_TEXT: u32 = 64;

impl Lower<'_> {
    /// Writes a text into `room` bytes, cut to fit, with a NUL at its end; with `padded` all that follows is NULs too.
    pub(super) fn write_text(&mut self, expr: &TypedExpr, to: Memory, room: u32, padded: bool) -> Result<()> {
        let bytes = expr.ty.bytes();
        match &expr.kind {
            TypedExprKind::Text(text) => {
                let most = (room as usize).saturating_sub(1);
                let text = text.get(..most).unwrap_or(text);
                let end = if padded { room } else { u32::try_from(text.len()).unwrap_or(room).saturating_add(1) };
                self.write_constant(text, to, end);
                return Ok(());
            }
            TypedExprKind::Builtin(builtin @ (Builtin::Comm | Builtin::LeaderComm | Builtin::ParentComm))
                if room >= COMM_BYTES =>
            {
                self.write_comm(*builtin, to)?;
                if padded && room > COMM_BYTES {
                    self.b.zero(moved(to, COMM_BYTES), room - COMM_BYTES);
                }
                return Ok(());
            }
            TypedExprKind::Map { map, key, .. } if room >= bytes => {
                self.copy_element(*map, key.as_deref(), to, bytes)?;
                if padded && room > bytes {
                    self.b.zero(moved(to, bytes), room - bytes);
                }
                return Ok(());
            }
            TypedExprKind::Concat { left, right } => return self.write_concat(left, right, to, room, padded),
            TypedExprKind::Element { of, index } => {
                let own = bytes.min(room);
                self.write_element(of, index, to, own)?;
                self.terminate(to, own, room, padded);
                return Ok(());
            }
            TypedExprKind::Convert(of) if matches!(of.ty, Type::Text { .. }) => {
                return self.write_text(of, to, room, padded);
            }
            TypedExprKind::Reinterpret(of) | TypedExprKind::Convert(of) => {
                let own = of.ty.bytes().min(room);
                self.write(of, to, own, false)?;
                self.terminate(to, own, room, padded);
                return Ok(());
            }
            _ => {}
        }
        let in_memory = matches!(expr.kind, TypedExprKind::Local(_) | TypedExprKind::Part { .. });
        let whole = in_memory && room >= bytes && if padded { self.is_padded(expr) } else { bytes <= MAX_WHOLE_TEXT };
        if whole {
            let from = self.place(expr)?;
            if !matches!(from, Memory::Context(_)) {
                self.copy(to, from, bytes);
                if padded && room > bytes {
                    self.b.zero(moved(to, bytes), room - bytes);
                }
                return Ok(());
            }
        }
        if padded {
            self.b.zero(to, room);
        }
        self.read_text(expr, to, room.min(bytes.max(1)))?;
        Ok(())
    }

    /// Reads a text into `room` bytes; gives its length with the NUL, at least 1 and at most the room. A text that cannot
    /// be read is empty, and counted.
    pub(super) fn read_text(&mut self, expr: &TypedExpr, to: Memory, room: u32) -> Result<Operand> {
        use TypedExprKind as K;
        let (address, space, size) = match &expr.kind {
            K::Text(text) => {
                let most = (room as usize).saturating_sub(1);
                let text = text.get(..most).unwrap_or(text);
                let length = u32::try_from(text.len()).unwrap_or(room).saturating_add(1);
                self.write_constant(text, to, length);
                return Ok(Operand::Constant(length.into()));
            }
            K::ReadText { address, space, length } => {
                let address = self.scalar(address)?;
                let size = match length {
                    Some(length) => {
                        let length = self.scalar(length)?;
                        let length = self.at_most(length, i64::from(room) - 1);
                        // One more for the NUL.
                        match length {
                            Operand::Constant(length) => Operand::Constant(length + 1),
                            Operand::Reg(length) => self.b.binary(IrBinaryOp::Add, length, 1).into(),
                        }
                    }
                    None => Operand::Constant(room.into()),
                };
                (address, *space, size)
            }
            K::DynamicText { offset, relative } => {
                let address = self.dynamic_address(*offset, *relative);
                (address.into(), Space::Kernel, Operand::Constant(room.into()))
            }
            K::Read { address, offset, space, .. } => {
                let address = self.scalar(address)?;
                let address = self.binary(IrBinaryOp::Add, address, (*offset).into());
                (address.into(), *space, Operand::Constant(room.into()))
            }
            K::Path { address } => return Ok(self.read_path(address, to, room)?.into()),
            K::Block(statements, value) => {
                self.statements(statements)?;
                return self.read_text(value, to, room);
            }
            K::Select { condition, then, otherwise } => {
                return self.read_either(condition, [then, otherwise], to, room);
            }
            K::Context { offset } => {
                let address = self.b.reg();
                self.b.push(Op::ContextAddress { to: address, offset: *offset });
                (address.into(), Space::Kernel, Operand::Constant(room.into()))
            }
            K::Part { of, offset, bits: None } if let K::Read { address, offset: base, space, .. } = &of.kind => {
                let address = self.scalar(address)?;
                let address = self.binary(IrBinaryOp::Add, address, base.saturating_add(i64::from(*offset)).into());
                (address.into(), *space, Operand::Constant(room.into()))
            }
            K::Local(_)
            | K::Part { .. }
            | K::Concat { .. }
            | K::Map { .. }
            | K::Builtin(_)
            | K::Element { .. }
            | K::Reinterpret(_)
            | K::Convert(_) => {
                let place = self.place(expr)?;
                let address = self.b.address_of(place);
                (address.into(), Space::Kernel, Operand::Constant(room.into()))
            }
            _ => return self.error("the checked script uses something else as a text"),
        };
        Ok(self.read_string(to, size, room, address, space).into())
    }

    fn read_either(
        &mut self,
        condition: &TypedExpr,
        values: [&TypedExpr; 2],
        to: Memory,
        room: u32,
    ) -> Result<Operand> {
        let (yes, no, join) = (self.b.block(), self.b.block(), self.b.block());
        self.branch_on(condition, yes, no)?;
        let length = self.b.reg();
        for (block, value) in [yes, no].into_iter().zip(values) {
            self.b.switch_to(block);
            let read = self.read_text(value, to, room)?;
            self.b.assign(length, read);
            self.b.jump(join);
        }
        self.b.switch_to(join);
        Ok(length.into())
    }

    /// Reads up to a NUL; gives the length with it.
    fn read_string(&mut self, to: Memory, size: Operand, room: u32, address: Operand, space: Space) -> Reg {
        let place = self.address(to);
        let helper = match space {
            Space::Kernel => Helper::ProbeReadKernelStr,
            Space::User => Helper::ProbeReadUserStr,
        };
        let length = self.b.call(helper, &[place.into(), size, address]);
        // The kernel has written NULs where it failed. The verifier knows the upper bound of what it gives.
        let _bound = room;
        let (failed, join) = (self.b.block(), self.b.block());
        let to = self.b.set(length);
        self.b.branch(Test::SignedLe, to, 0, failed, join);
        self.b.switch_to(failed);
        self.count(ScriptCounter::HelperFailed);
        self.b.assign(to, 1);
        self.b.jump(join);
        self.b.switch_to(join);
        to
    }

    /// Ends what was copied with a NUL, and fills the rest if it is to be.
    fn terminate(&mut self, to: Memory, own: u32, room: u32, padded: bool) {
        if own == room {
            self.store(moved(to, room.saturating_sub(1)), Size::B1, Operand::Constant(0));
        } else {
            self.b.zero(moved(to, own), if padded { room - own } else { 1 });
        }
    }

    /// Writes a constant text and NULs up to `end`.
    pub(super) fn write_constant(&mut self, text: &[u8], to: Memory, end: u32) {
        if text.len() > MAX_IMMEDIATE_TEXT {
            let mut content = text.to_vec();
            content.resize(text.len() + 1, 0);
            let bytes = u32::try_from(content.len()).unwrap_or(end).min(end);
            let from = self.constant(content);
            self.b.copy(to, Memory::Pointer(from, 0), bytes);
            if end > bytes {
                self.b.zero(moved(to, bytes), end - bytes);
            }
            return;
        }
        let written = u32::try_from(text.len()).unwrap_or(0).saturating_add(1).min(end);
        let mut done = 0;
        while let Some(size) = piece(&[to], done, (written - done.min(written)) as usize) {
            let mut word = [0; 8];
            let rest = text.get(done as usize..).unwrap_or(&[]);
            word.iter_mut().zip(rest).take(size.bytes() as usize).for_each(|(to, from)| *to = *from);
            self.store(moved(to, done), size, Operand::Constant(i64::from_le_bytes(word)));
            done += size.bytes();
        }
        if end > written {
            self.b.zero(moved(to, written), end - written);
        }
    }

    /// The address of bytes that do not change.
    pub(super) fn constant(&mut self, content: Vec<u8>) -> Reg {
        // One map for each content of the script: the name tells it.
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for byte in &content {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
        let map = self.map(MapDefinition::constant(format!("text_{hash:016x}"), content));
        self.b.global_address(map, 0)
    }

    /// The name of a thread, 16 bytes, the rest NULs.
    pub(super) fn write_comm(&mut self, whose: Builtin, to: Memory) -> Result<()> {
        if whose == Builtin::Comm
            && let Some(task) = self.typed_task()
        {
            let current = self.b.call(Helper::GetCurrentTaskBtf, &[]);
            // The kernel fills it up with NULs whenever it is set. Behind a number of 4 bytes it is not where words of 8 may be.
            let size = super::memory::largest_at(to);
            for at in (0..COMM_BYTES).step_by(size.bytes() as usize) {
                let word = self.b.load(current, i16::try_from(task.comm + at).unwrap_or(i16::MAX), size, false);
                self.store(moved(to, at), size, word);
            }
            return Ok(());
        }
        if whose == Builtin::Comm {
            // Kernels before 6.5 leave what follows a short name as it was.
            self.b.zero(to, COMM_BYTES);
            let place = self.address(to);
            self.b.call_only(Helper::GetCurrentComm, &[place.into(), i64::from(COMM_BYTES).into()]);
            return Ok(());
        }
        let Some(task) = self.shared.options.task else {
            return self.error("this kernel does not tell where a task keeps its name");
        };
        let link = if whose == Builtin::LeaderComm { task.group_leader } else { task.real_parent };
        let current = self.b.call(Helper::GetCurrentTask, &[]);
        let other = self.read_at(current.into(), link.into(), Space::Kernel, None, &Type::U64)?;
        self.read_into(to, i64::from(COMM_BYTES).into(), other, task.comm.into(), Space::Kernel);
        Ok(())
    }

    /// The second text goes where the first one ends, which only memory off the stack allows; so both are put together
    /// there, with room for all of both.
    fn write_concat(&mut self, left: &TypedExpr, right: &TypedExpr, to: Memory, room: u32, padded: bool) -> Result<()> {
        let rooms = [left.ty.bytes().max(1), right.ty.bytes().max(1)];
        let piece = self.piece(rooms[0] + rooms[1])?;
        let whole = self.reach(super::program::Where::Scratch(piece));
        if padded {
            self.b.zero(to, room);
        }
        let length = self.read_text(left, whole, rooms[0])?;
        let base = self.b.address_of(whole);
        let end = match length {
            Operand::Constant(length) => self.b.binary(IrBinaryOp::Add, base, length - 1),
            Operand::Reg(length) => {
                let before = self.b.binary(IrBinaryOp::Sub, length, 1);
                self.b.binary(IrBinaryOp::Add, base, before)
            }
        };
        if let TypedExprKind::Text(text) = &right.kind {
            let mut content = text.clone();
            content.push(0);
            let from = self.constant(content);
            self.read_string(Memory::Pointer(end, 0), i64::from(rooms[1]).into(), rooms[1], from.into(), Space::Kernel);
        } else {
            self.read_text(right, Memory::Pointer(end, 0), rooms[1])?;
        }
        let whole = self.b.address_of(whole);
        self.read_string(to, i64::from(room.min(rooms[0] + rooms[1])).into(), room, whole.into(), Space::Kernel);
        Ok(())
    }

    /// The length of a text without its NUL.
    pub(super) fn text_length(&mut self, text: &TypedExpr) -> Result<Operand> {
        if let TypedExprKind::Text(text) = &text.kind {
            return Ok(Operand::Constant(i64::try_from(text.len()).unwrap_or(i64::MAX)));
        }
        let room = text.ty.bytes();
        let to = self.temporary(room)?;
        Ok(match self.read_text(text, to, room)? {
            Operand::Constant(length) => Operand::Constant(length - 1),
            Operand::Reg(length) => self.b.binary(IrBinaryOp::Sub, length, 1).into(),
        })
    }

    /// One byte behind an address in memory of the program.
    pub(super) fn byte_at(&mut self, base: Reg, index: Reg) -> Reg {
        let place = self.b.binary(IrBinaryOp::Add, base, index);
        self.b.load(place, 0, Size::B1, false)
    }

    /// Bytes of a value where text or content is compared: `(place, room)`.
    pub(super) fn content(&mut self, expr: &TypedExpr) -> Result<(Memory, u32)> {
        let place = self.place_outside_context(expr)?;
        Ok(match expr.ty {
            Type::Buffer { bytes } => (moved(place, 4), bytes),
            _ => (place, expr.ty.bytes()),
        })
    }
}
