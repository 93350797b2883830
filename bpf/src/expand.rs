//! Operations that BPF does not have, made of those that it has: moving memory, and signed division, which is an
//! instruction only from Linux 6.6 on.

use crate::ir::{Body, Helper, IrBinaryOp, IrUnaryOp, Memory, Op, Operand, Reg, Size, Width, moved, piece};

/// More bytes are copied by a helper than by loads and stores.
const MAX_UNROLLED_COPY: u32 = 256;
/// More bytes are cleared by a helper than by stores.
const MAX_UNROLLED_ZERO: u32 = 512;

/// Replaces what BPF does not have. Tells whether there was something.
pub(crate) fn expand(body: &mut Body) -> bool {
    let wide = |op: &Op| {
        matches!(
            op,
            Op::Copy { .. } | Op::Zero { .. } | Op::Binary { op: IrBinaryOp::SignedDiv | IrBinaryOp::SignedMod, .. }
        )
    };
    let mut changed = false;
    let mut registers = body.registers;
    for block in &mut body.blocks {
        if !block.ops.iter().any(wide) {
            continue;
        }
        changed = true;
        let mut out = Expansion { ops: Vec::with_capacity(block.ops.len() * 4), registers };
        for op in std::mem::take(&mut block.ops) {
            match op {
                Op::Copy { to, from, bytes } => out.copy(to, from, bytes),
                Op::Zero { to, bytes } => out.zero(to, bytes),
                Op::Binary { to, op: op @ (IrBinaryOp::SignedDiv | IrBinaryOp::SignedMod), width, left, right } => {
                    out.signed(to, op, width, left, right);
                }
                op => out.ops.push(op),
            }
        }
        registers = out.registers;
        block.ops = out.ops;
    }
    body.registers = registers;
    changed
}

struct Expansion {
    ops: Vec<Op>,
    registers: u32,
}

impl Expansion {
    fn reg(&mut self) -> Reg {
        self.registers += 1;
        Reg(self.registers - 1)
    }

    fn binary(&mut self, op: IrBinaryOp, left: Reg, right: impl Into<Operand>) -> Reg {
        let to = self.reg();
        self.ops.push(Op::Binary { to, op, width: Width::W64, left, right: right.into() });
        to
    }

    fn load(&mut self, from: Memory, size: Size) -> Reg {
        let to = self.reg();
        let signed = false;
        self.ops.push(match from {
            Memory::Slot(slot, offset) => Op::LoadSlot { to, slot, offset, size, signed },
            Memory::Pointer(base, offset) => Op::Load { to, base, offset, size, signed },
            Memory::Context(offset) => Op::LoadContext { to, offset, size, signed },
        });
        to
    }

    fn store(&mut self, to: Memory, size: Size, value: Operand) {
        match to {
            Memory::Slot(slot, offset) => self.ops.push(Op::StoreSlot { slot, offset, size, value }),
            Memory::Pointer(base, offset) => self.ops.push(Op::Store { base, offset, size, value }),
            // Validation refuses it.
            Memory::Context(_) => {}
        }
    }

    fn address(&mut self, place: Memory) -> Reg {
        let to = self.reg();
        match place {
            Memory::Slot(slot, offset) => self.ops.push(Op::SlotAddress { to, slot, offset }),
            Memory::Context(offset) => self.ops.push(Op::ContextAddress { to, offset }),
            Memory::Pointer(base, offset) => {
                let (op, width, right) = (IrBinaryOp::Add, Width::W64, Operand::Constant(i64::from(offset)));
                self.ops.push(Op::Binary { to, op, width, left: base, right });
            }
        }
        to
    }

    /// `probe_read_kernel`, which copies without a branch for each word and fills with zeros what it cannot read.
    fn read_kernel(&mut self, to: Memory, bytes: u32, from: Operand) {
        let to = self.address(to);
        let arguments = vec![to.into(), Operand::Constant(i64::from(bytes)), from];
        self.ops.push(Op::Call { to: None, helper: Helper::ProbeReadKernel, arguments });
    }

    fn copy(&mut self, to: Memory, from: Memory, bytes: u32) {
        if bytes > MAX_UNROLLED_COPY {
            let from = self.address(from);
            return self.read_kernel(to, bytes, from.into());
        }
        let mut done = 0;
        while let Some(size) = piece(&[to, from], done, (bytes - done) as usize) {
            let value = self.load(moved(from, done), size);
            self.store(moved(to, done), size, value.into());
            done += size.bytes();
        }
    }

    fn zero(&mut self, to: Memory, bytes: u32) {
        if bytes > MAX_UNROLLED_ZERO {
            return self.read_kernel(to, bytes, Operand::Constant(0));
        }
        let mut done = 0;
        while let Some(size) = piece(&[to], done, (bytes - done) as usize) {
            self.store(moved(to, done), size, Operand::Constant(0));
            done += size.bytes();
        }
    }

    /// All ones where the number is negative, and the number without its sign.
    fn magnitude(&mut self, number: Reg) -> (Reg, Reg) {
        let sign = self.binary(IrBinaryOp::Sar, number, 63);
        let turned = self.binary(IrBinaryOp::Xor, number, sign);
        (sign, self.binary(IrBinaryOp::Sub, turned, sign))
    }

    /// Divides without the signs, and puts the sign on afterwards: `(n ^ s) - s` is `n` or `-n`.
    fn signed(&mut self, to: Reg, op: IrBinaryOp, width: Width, left: Reg, right: Operand) {
        let narrow = |this: &mut Self, from: Reg| match width {
            Width::W64 => from,
            Width::W32 => {
                let wide = this.reg();
                this.ops.push(Op::Extend { to: wide, from, size: Size::B4, signed: true });
                wide
            }
        };
        let left = narrow(self, left);
        let (left_sign, left) = self.magnitude(left);
        let (right_sign, right) = match right {
            Operand::Constant(value) => {
                let value = if width == Width::W32 { low_half(value) } else { value };
                let sign = if value < 0 { -1 } else { 0 };
                (Operand::Constant(sign), Operand::Constant(value.unsigned_abs().cast_signed()))
            }
            Operand::Reg(reg) => {
                let reg = narrow(self, reg);
                let (sign, magnitude) = self.magnitude(reg);
                (sign.into(), magnitude.into())
            }
        };
        let sign = match (op, right_sign) {
            (IrBinaryOp::SignedMod, _) | (_, Operand::Constant(0)) => left_sign,
            (_, other) => self.binary(IrBinaryOp::Xor, left_sign, other),
        };
        let unsigned = if op == IrBinaryOp::SignedMod { IrBinaryOp::Mod } else { IrBinaryOp::Div };
        let result = self.binary(unsigned, left, right);
        let turned = self.binary(IrBinaryOp::Xor, result, sign);
        match width {
            Width::W64 => {
                self.ops.push(Op::Binary { to, op: IrBinaryOp::Sub, width, left: turned, right: sign.into() })
            }
            Width::W32 => {
                let result = self.binary(IrBinaryOp::Sub, turned, sign);
                self.ops.push(Op::Extend { to, from: result, size: Size::B4, signed: false });
            }
        }
    }
}

/// The low half as a signed number.
fn low_half(value: i64) -> i64 {
    let [a, b, c, d, ..] = value.to_le_bytes();
    i64::from(i32::from_le_bytes([a, b, c, d]))
}

/// What a unary operation gives.
pub(crate) fn compute_unary(op: IrUnaryOp, width: Width, from: i64) -> i64 {
    let value = from.cast_unsigned();
    let low = |value: u64| u32::try_from(value & 0xffff_ffff).unwrap_or(0);
    let result = match op {
        IrUnaryOp::Negate => from.wrapping_neg().cast_unsigned(),
        IrUnaryOp::Not => !value,
        IrUnaryOp::Swap16 => return i64::from(u16::try_from(value & 0xffff).unwrap_or(0).swap_bytes()),
        IrUnaryOp::Swap32 => return i64::from(low(value).swap_bytes()),
        IrUnaryOp::Swap64 => return from.swap_bytes(),
    };
    if width == Width::W32 { i64::from(low(result)) } else { result.cast_signed() }
}
