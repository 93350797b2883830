//! Constants and copies.

use crate::{
    expand::compute_unary,
    ir::{Body, End, Helper, IrBinaryOp, IrUnaryOp, Memory, Op, Operand, Position, Reg, Size, Test, Width},
};

/// How far a chain of copies is followed at a time.
const MAX_COPIES: usize = 16;

/// What is known of registers: a constant or another register of the same value.
struct RegisterValues {
    /// For registers that are assigned once in the whole body.
    global: Vec<Option<Operand>>,
    /// For registers that are assigned once: above so many low bits they are 0.
    bits: Vec<u8>,
    /// How often each register is assigned.
    assigned: Vec<u32>,
    /// Constants of the others, with the block that knows them.
    local: Vec<(usize, i64)>,
    /// The block that is being looked at, from 1.
    block: usize,
}

impl RegisterValues {
    fn new(body: &Body) -> Self {
        let registers = body.registers as usize;
        let mut assigned = vec![0_u32; registers];
        for target in body.blocks.iter().flat_map(|block| &block.ops).filter_map(Op::target) {
            if let Some(count) = assigned.get_mut(target.index()) {
                *count += 1;
            }
        }
        let (global, bits, local) = (vec![None; registers], vec![64; registers], vec![(0, 0); registers]);
        let mut known = Self { global, bits, assigned, local, block: 0 };
        for op in body.blocks.iter().flat_map(|block| &block.ops) {
            if let Op::Set { to, value } = op {
                known.learn_global(*to, *value);
            }
            if let (Some(to), Some(bits)) = (op.target(), result_bits(op))
                && known.once(to)
                && let Some(entry) = known.bits.get_mut(to.index())
            {
                *entry = bits;
            }
        }
        known
    }

    /// Parameters of functions are assigned by the call, so never by an operation.
    fn once(&self, reg: Reg) -> bool {
        self.assigned.get(reg.index()) == Some(&1)
    }

    /// A copy holds for ever if neither side is assigned again: the original is assigned before the copy on each path,
    /// so no path leads from a new original to a use without passing the copy.
    fn learn_global(&mut self, to: Reg, value: Operand) {
        let lasting = match value {
            Operand::Constant(_) => true,
            Operand::Reg(from) => self.assigned.get(from.index()).is_some_and(|count| *count <= 1),
        };
        if lasting
            && self.once(to)
            && let Some(entry) = self.global.get_mut(to.index())
        {
            *entry = Some(value);
        }
    }

    fn assign(&mut self, to: Reg, value: Option<i64>) {
        if let Some(entry) = self.local.get_mut(to.index()) {
            *entry = value.map_or((0, 0), |value| (self.block, value));
        }
    }

    fn resolve(&self, operand: Operand) -> Operand {
        let mut operand = operand;
        // A chain of copies ends: each step goes to a register that was assigned before.
        for _ in 0..MAX_COPIES {
            let Operand::Reg(reg) = operand else { return operand };
            match self.global.get(reg.index()).copied().flatten() {
                Some(next) => operand = next,
                None => break,
            }
        }
        match operand {
            Operand::Reg(reg) => match self.local.get(reg.index()) {
                Some((block, value)) if *block == self.block => Operand::Constant(*value),
                _ => operand,
            },
            Operand::Constant(_) => operand,
        }
    }

    fn memory(&self, memory: Memory) -> Memory {
        match memory {
            Memory::Pointer(reg, offset) => Memory::Pointer(self.register(reg), offset),
            Memory::Slot(..) | Memory::Context(_) => memory,
        }
    }

    fn register(&self, reg: Reg) -> Reg {
        match self.resolve(Operand::Reg(reg)) {
            Operand::Reg(reg) => reg,
            Operand::Constant(_) => reg,
        }
    }

    /// Whether the register is 0 above the low bytes.
    fn fits(&self, reg: Reg, size: Size) -> bool {
        self.bits.get(reg.index()).is_some_and(|bits| u32::from(*bits) <= size.bytes() * 8)
    }
}

fn result_bits(op: &Op) -> Option<u8> {
    let of_size = |size: Size| match size {
        Size::B1 => 8,
        Size::B2 => 16,
        Size::B4 => 32,
        Size::B8 => 64,
    };
    match op {
        Op::LoadContext { size, signed: false, .. }
        | Op::LoadSlot { size, signed: false, .. }
        | Op::Load { size, signed: false, .. }
        | Op::Extend { size, signed: false, .. } => Some(of_size(*size)),
        Op::Unary { op: IrUnaryOp::Swap16, .. } => Some(16),
        Op::Unary { op: IrUnaryOp::Swap32, .. } => Some(32),
        Op::Unary { op: IrUnaryOp::Negate | IrUnaryOp::Not, width: Width::W32, .. } => Some(32),
        Op::Binary { width: Width::W32, .. } => Some(32),
        Op::Binary { op: IrBinaryOp::Shr, right: Operand::Constant(distance @ 1..64), .. } => {
            u8::try_from(64 - distance).ok()
        }
        Op::Binary { op: IrBinaryOp::And, right: Operand::Constant(mask @ 0..), .. } => {
            u8::try_from(64 - mask.leading_zeros()).ok()
        }
        Op::Call { helper: Helper::GetSmpProcessorId | Helper::GetPrandomU32, .. } => Some(32),
        _ => None,
    }
}

/// Replaces registers whose value is known, computes what has constant operands, and decides branches on constants.
pub(crate) fn fold(body: &mut Body) -> bool {
    let mut known = RegisterValues::new(body);
    let mut changed = false;
    for block in &mut body.blocks {
        known.block += 1;
        for op in &mut block.ops {
            let new = fold_op(op, &known);
            if let Some(to) = new.target() {
                let value = match new {
                    Op::Set { value: Operand::Constant(value), .. } => Some(value),
                    _ => None,
                };
                known.assign(to, value);
            }
            if *op != new {
                *op = new;
                changed = true;
            }
        }
        let end = fold_end(&block.end, &known);
        if block.end != end {
            block.end = end;
            changed = true;
        }
    }
    changed
}

fn fold_op(op: &Op, known: &RegisterValues) -> Op {
    let mut op = op.clone();
    match &mut op {
        Op::Set { value, .. } | Op::StoreSlot { value, .. } => *value = known.resolve(*value),
        Op::Binary { to, op: operation, width, left, right } => {
            return fold_binary(*to, *operation, *width, *left, known.resolve(*right), known);
        }
        Op::Extend { to, from, size, signed } => match known.resolve(Operand::Reg(*from)) {
            Operand::Constant(value) => {
                return Op::Set { to: *to, value: Operand::Constant(extend(value, *size, *signed)) };
            }
            Operand::Reg(reg) if !*signed && known.fits(reg, *size) => {
                return Op::Set { to: *to, value: Operand::Reg(reg) };
            }
            Operand::Reg(reg) => *from = reg,
        },
        Op::Load { base, .. } => *base = known.register(*base),
        Op::Store { base, value, .. } => {
            *base = known.register(*base);
            *value = known.resolve(*value);
        }
        Op::Atomic { base, value, .. } => {
            *base = known.register(*base);
            *value = known.register(*value);
        }
        Op::CompareExchange { base, expected, value, .. } => {
            *base = known.register(*base);
            *expected = known.resolve(*expected);
            *value = known.register(*value);
        }
        Op::Unary { to, op: operation, width, from } => match known.resolve(Operand::Reg(*from)) {
            Operand::Constant(value) => {
                return Op::Set { to: *to, value: Operand::Constant(compute_unary(*operation, *width, value)) };
            }
            Operand::Reg(reg) => *from = reg,
        },
        Op::Untype { to, from } => match known.resolve(Operand::Reg(*from)) {
            value @ Operand::Constant(_) => return Op::Set { to: *to, value },
            Operand::Reg(reg) => *from = reg,
        },
        Op::Copy { to, from, .. } => {
            *to = known.memory(*to);
            *from = known.memory(*from);
        }
        Op::Zero { to, .. } => *to = known.memory(*to),
        Op::Call { arguments, .. } | Op::CallFunction { arguments, .. } => {
            arguments.iter_mut().for_each(|argument| *argument = known.resolve(*argument));
            if let Op::Call { to, helper: Helper::Loop, arguments } = &op
                && arguments.first() == Some(&Operand::Constant(0))
            {
                // The kernel's verifier trips over a callback that is never called.
                return to.map_or(Op::Position(Position::default()), |to| Op::Set { to, value: Operand::Constant(0) });
            }
        }
        Op::Position(_)
        | Op::ContextAddress { .. }
        | Op::SlotAddress { .. }
        | Op::MapAddress { .. }
        | Op::FunctionAddress { .. }
        | Op::ArrayValue { .. }
        | Op::GlobalAddress { .. }
        | Op::LoadContext { .. }
        | Op::LoadSlot { .. }
        | Op::StoreContext { .. } => {}
    }
    op
}

fn fold_binary(to: Reg, op: IrBinaryOp, width: Width, left: Reg, right: Operand, known: &RegisterValues) -> Op {
    let set = |value| Op::Set { to, value };
    let resolved = known.resolve(Operand::Reg(left));
    if let (Operand::Constant(a), Operand::Constant(b)) = (resolved, right) {
        return set(Operand::Constant(compute(op, width, a, b)));
    }
    let (left, right) = match (resolved, right) {
        (Operand::Constant(constant), Operand::Reg(reg)) if commutes(op) => (reg, Operand::Constant(constant)),
        (Operand::Reg(reg), right) => (reg, right),
        (Operand::Constant(_), right) => (left, right),
    };
    if let Operand::Constant(constant) = right
        && (constant == 0 || (width == Width::W32 && constant & 0xffff_ffff == 0))
    {
        // The kernel refuses divisions by the constant zero, though BPF says what they give.
        match op {
            IrBinaryOp::Div | IrBinaryOp::SignedDiv => return set(Operand::Constant(0)),
            IrBinaryOp::Mod | IrBinaryOp::SignedMod if width == Width::W64 => return set(Operand::Reg(left)),
            IrBinaryOp::Mod | IrBinaryOp::SignedMod => {
                return Op::Extend { to, from: left, size: Size::B4, signed: false };
            }
            _ => {}
        }
    }
    match right {
        Operand::Constant(constant) if width == Width::W64 => simplify(to, op, left, constant),
        _ => Op::Binary { to, op, width, left, right },
    }
}

fn commutes(op: IrBinaryOp) -> bool {
    matches!(op, IrBinaryOp::Add | IrBinaryOp::Mul | IrBinaryOp::And | IrBinaryOp::Or | IrBinaryOp::Xor)
}

/// An operation with a constant, or something cheaper that gives the same.
fn simplify(to: Reg, op: IrBinaryOp, left: Reg, constant: i64) -> Op {
    let neutral = match op {
        IrBinaryOp::Add | IrBinaryOp::Sub | IrBinaryOp::Or | IrBinaryOp::Xor => constant == 0,
        IrBinaryOp::Shl | IrBinaryOp::Shr | IrBinaryOp::Sar => constant == 0,
        IrBinaryOp::Mul | IrBinaryOp::Div | IrBinaryOp::SignedDiv => constant == 1,
        IrBinaryOp::And => constant == -1,
        IrBinaryOp::Mod | IrBinaryOp::SignedMod => false,
    };
    if neutral {
        return Op::Set { to, value: Operand::Reg(left) };
    }
    if constant == 0 && matches!(op, IrBinaryOp::And | IrBinaryOp::Mul) {
        return Op::Set { to, value: Operand::Constant(0) };
    }
    let binary = |op, constant| Op::Binary { to, op, width: Width::W64, left, right: Operand::Constant(constant) };
    let power = (constant > 0 && constant.count_ones() == 1).then(|| i64::from(constant.trailing_zeros()));
    match (op, power) {
        (IrBinaryOp::Mul, Some(power)) => binary(IrBinaryOp::Shl, power),
        (IrBinaryOp::Div, Some(power)) => binary(IrBinaryOp::Shr, power),
        (IrBinaryOp::Mod, Some(_)) => binary(IrBinaryOp::And, constant - 1),
        _ => binary(op, constant),
    }
}

fn fold_end(end: &End, known: &RegisterValues) -> End {
    match end {
        End::Jump(target) => End::Jump(*target),
        End::Return(value) => End::Return(known.resolve(*value)),
        End::Branch { test, width, left, right, then, otherwise } => {
            let (mut test, mut left, mut right) = (*test, *left, known.resolve(*right));
            match (known.resolve(Operand::Reg(left)), right) {
                (Operand::Constant(a), Operand::Constant(b)) => {
                    return End::Jump(if holds(test, *width, a, b) { *then } else { *otherwise });
                }
                (constant @ Operand::Constant(_), Operand::Reg(reg)) => {
                    (test, left, right) = (mirrored(test), reg, constant);
                }
                (Operand::Reg(reg), _) => left = reg,
            }
            if then == otherwise {
                return End::Jump(*then);
            }
            End::Branch { test, width: *width, left, right, then: *then, otherwise: *otherwise }
        }
    }
}

/// The same test with its sides exchanged.
fn mirrored(test: Test) -> Test {
    match test {
        Test::Eq | Test::Ne | Test::Bits => test,
        Test::Lt => Test::Gt,
        Test::Le => Test::Ge,
        Test::Gt => Test::Lt,
        Test::Ge => Test::Le,
        Test::SignedLt => Test::SignedGt,
        Test::SignedLe => Test::SignedGe,
        Test::SignedGt => Test::SignedLt,
        Test::SignedGe => Test::SignedLe,
    }
}

/// The low bytes of `value`, extended.
pub(crate) fn extend(value: i64, size: Size, signed: bool) -> i64 {
    let unused = 64 - size.bytes() * 8;
    if signed {
        value.wrapping_shl(unused).wrapping_shr(unused)
    } else {
        (value.cast_unsigned().wrapping_shl(unused)).wrapping_shr(unused).cast_signed()
    }
}

/// What the operation gives, as BPF defines it.
pub(crate) fn compute(op: IrBinaryOp, width: Width, a: i64, b: i64) -> i64 {
    let (a, b, bits) = match width {
        Width::W64 => (a, b, 64),
        Width::W32 => (extend(a, Size::B4, false), extend(b, Size::B4, false), 32),
    };
    let (ua, ub) = (a.cast_unsigned(), b.cast_unsigned());
    let distance = u32::try_from(ub % bits).unwrap_or(0);
    let signed = |value: i64| if width == Width::W32 { extend(value, Size::B4, true) } else { value };
    let result = match op {
        IrBinaryOp::Add => a.wrapping_add(b),
        IrBinaryOp::Sub => a.wrapping_sub(b),
        IrBinaryOp::Mul => a.wrapping_mul(b),
        IrBinaryOp::Div => ua.checked_div(ub).unwrap_or(0).cast_signed(),
        IrBinaryOp::Mod => ua.checked_rem(ub).unwrap_or(ua).cast_signed(),
        IrBinaryOp::SignedDiv if b == 0 => 0,
        IrBinaryOp::SignedMod if b == 0 => a,
        IrBinaryOp::SignedDiv => signed(a).wrapping_div(signed(b)),
        IrBinaryOp::SignedMod => signed(a).wrapping_rem(signed(b)),
        IrBinaryOp::And => a & b,
        IrBinaryOp::Or => a | b,
        IrBinaryOp::Xor => a ^ b,
        IrBinaryOp::Shl => a.wrapping_shl(distance),
        IrBinaryOp::Shr => ua.wrapping_shr(distance).cast_signed(),
        IrBinaryOp::Sar if width == Width::W32 => extend(a, Size::B4, true).wrapping_shr(distance),
        IrBinaryOp::Sar => a.wrapping_shr(distance),
    };
    match width {
        Width::W64 => result,
        Width::W32 => extend(result, Size::B4, false),
    }
}

/// Whether the test holds.
pub(crate) fn holds(test: Test, width: Width, a: i64, b: i64) -> bool {
    let signed = |value: i64| if width == Width::W32 { extend(value, Size::B4, true) } else { value };
    let unsigned =
        |value: i64| if width == Width::W32 { extend(value, Size::B4, false) } else { value }.cast_unsigned();
    match test {
        Test::Eq => unsigned(a) == unsigned(b),
        Test::Ne => unsigned(a) != unsigned(b),
        Test::Lt => unsigned(a) < unsigned(b),
        Test::Le => unsigned(a) <= unsigned(b),
        Test::Gt => unsigned(a) > unsigned(b),
        Test::Ge => unsigned(a) >= unsigned(b),
        Test::SignedLt => signed(a) < signed(b),
        Test::SignedLe => signed(a) <= signed(b),
        Test::SignedGt => signed(a) > signed(b),
        Test::SignedGe => signed(a) >= signed(b),
        Test::Bits => unsigned(a) & unsigned(b) != 0,
    }
}
