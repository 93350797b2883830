//! The passes over the IR. They are modest: what a lowering leaves behind on purpose (constants, copies, empty blocks,
//! unused loads) goes; nothing is moved, so that what the verifier could follow before, it can follow after.

use crate::{
    ir::{BinaryOp, Block, BlockId, End, Op, Operand, Program, Reg, Size, Test, Width},
    registers::Liveness,
};

/// What is known of registers: a constant or another register of the same value.
struct Known {
    /// For registers that are assigned once in the whole program.
    global: Vec<Option<Operand>>,
    /// How often each register is assigned.
    assigned: Vec<u32>,
    /// Constants of the others, as far as this block has come.
    local: Vec<(Reg, i64)>,
}

impl Known {
    fn new(program: &Program) -> Self {
        let mut assigned = vec![0_u32; program.registers as usize];
        for target in program.blocks.iter().flat_map(|block| &block.ops).filter_map(Op::target) {
            if let Some(count) = assigned.get_mut(target.index()) {
                *count += 1;
            }
        }
        let global = vec![None; assigned.len()];
        let mut known = Self { global, assigned, local: Vec::new() };
        for op in program.blocks.iter().flat_map(|block| &block.ops) {
            if let Op::Set { to, value } = op {
                known.learn_global(*to, *value);
            }
        }
        known
    }

    fn once(&self, reg: Reg) -> bool {
        self.assigned.get(reg.index()) == Some(&1)
    }

    /// A copy holds for ever if neither side is assigned again: the original is assigned before the copy on each path,
    /// so no path leads from a new original to a use without passing the copy.
    fn learn_global(&mut self, to: Reg, value: Operand) {
        let lasting = match value {
            Operand::Constant(_) => true,
            Operand::Reg(from) => self.once(from),
        };
        if lasting
            && self.once(to)
            && let Some(entry) = self.global.get_mut(to.index())
        {
            *entry = Some(value);
        }
    }

    fn assign(&mut self, to: Reg, value: Option<i64>) {
        self.local.retain(|(reg, _)| *reg != to);
        if let Some(value) = value {
            self.local.push((to, value));
        }
    }

    fn resolve(&self, operand: Operand) -> Operand {
        let mut operand = operand;
        // A chain of copies ends: each step goes to a register that was assigned before.
        for _ in 0..16 {
            let Operand::Reg(reg) = operand else { return operand };
            match self.global.get(reg.index()).copied().flatten() {
                Some(next) => operand = next,
                None => break,
            }
        }
        match operand {
            Operand::Reg(reg) => match self.local.iter().find(|(known, _)| *known == reg) {
                Some((_, value)) => Operand::Constant(*value),
                None => operand,
            },
            Operand::Constant(_) => operand,
        }
    }

    fn register(&self, reg: Reg) -> Reg {
        match self.resolve(Operand::Reg(reg)) {
            Operand::Reg(reg) => reg,
            Operand::Constant(_) => reg,
        }
    }
}

/// Replaces registers whose value is known, computes what has constant operands, and decides branches on constants.
pub(crate) fn fold(program: &mut Program) -> bool {
    let mut known = Known::new(program);
    let mut changed = false;
    for block in &mut program.blocks {
        known.local.clear();
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

fn fold_op(op: &Op, known: &Known) -> Op {
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
            Operand::Reg(reg) => *from = reg,
        },
        Op::Load { base, .. } => *base = known.register(*base),
        Op::Store { base, value, .. } => {
            *base = known.register(*base);
            *value = known.resolve(*value);
        }
        Op::AtomicAdd { base, value, .. } => {
            *base = known.register(*base);
            *value = known.register(*value);
        }
        Op::Call { arguments, .. } => {
            arguments.iter_mut().for_each(|argument| *argument = known.resolve(*argument));
        }
        Op::ContextAddress { .. }
        | Op::SlotAddress { .. }
        | Op::MapAddress { .. }
        | Op::LoadContext { .. }
        | Op::LoadSlot { .. } => {}
    }
    op
}

fn fold_binary(to: Reg, op: BinaryOp, width: Width, left: Reg, right: Operand, known: &Known) -> Op {
    let set = |value| Op::Set { to, value };
    let resolved = known.resolve(Operand::Reg(left));
    if let (Operand::Constant(a), Operand::Constant(b)) = (resolved, right) {
        return set(Operand::Constant(compute(op, width, a, b)));
    }
    let left = match resolved {
        Operand::Reg(reg) => reg,
        Operand::Constant(_) => left,
    };
    if width == Width::W64
        && let Operand::Constant(constant) = right
    {
        let neutral = match op {
            BinaryOp::Add | BinaryOp::Sub | BinaryOp::Or | BinaryOp::Xor => constant == 0,
            BinaryOp::Shl | BinaryOp::Shr | BinaryOp::Sar => constant == 0,
            BinaryOp::Mul | BinaryOp::Div => constant == 1,
            BinaryOp::And => constant == -1,
            BinaryOp::Mod => false,
        };
        if neutral {
            return set(Operand::Reg(left));
        }
        if constant == 0 && matches!(op, BinaryOp::And | BinaryOp::Mul) {
            return set(Operand::Constant(0));
        }
    }
    Op::Binary { to, op, width, left, right }
}

fn fold_end(end: &End, known: &Known) -> End {
    match end {
        End::Jump(target) => End::Jump(*target),
        End::Return(value) => End::Return(known.resolve(*value)),
        End::Branch { test, width, left, right, then, otherwise } => {
            let right = known.resolve(*right);
            let left = match (known.resolve(Operand::Reg(*left)), right) {
                (Operand::Constant(a), Operand::Constant(b)) => {
                    return End::Jump(if holds(*test, *width, a, b) { *then } else { *otherwise });
                }
                (Operand::Reg(reg), _) => reg,
                (Operand::Constant(_), Operand::Reg(_)) => *left,
            };
            if then == otherwise {
                return End::Jump(*then);
            }
            End::Branch { test: *test, width: *width, left, right, then: *then, otherwise: *otherwise }
        }
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
pub(crate) fn compute(op: BinaryOp, width: Width, a: i64, b: i64) -> i64 {
    let (a, b, bits) = match width {
        Width::W64 => (a, b, 64),
        Width::W32 => (extend(a, Size::B4, false), extend(b, Size::B4, false), 32),
    };
    let (ua, ub) = (a.cast_unsigned(), b.cast_unsigned());
    let distance = u32::try_from(ub % bits).unwrap_or(0);
    let result = match op {
        BinaryOp::Add => a.wrapping_add(b),
        BinaryOp::Sub => a.wrapping_sub(b),
        BinaryOp::Mul => a.wrapping_mul(b),
        BinaryOp::Div => ua.checked_div(ub).unwrap_or(0).cast_signed(),
        BinaryOp::Mod => ua.checked_rem(ub).unwrap_or(ua).cast_signed(),
        BinaryOp::And => a & b,
        BinaryOp::Or => a | b,
        BinaryOp::Xor => a ^ b,
        BinaryOp::Shl => a.wrapping_shl(distance),
        BinaryOp::Shr => ua.wrapping_shr(distance).cast_signed(),
        BinaryOp::Sar if width == Width::W32 => extend(a, Size::B4, true).wrapping_shr(distance),
        BinaryOp::Sar => a.wrapping_shr(distance),
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

/// Leads jumps to empty blocks on to where those go, and appends a block to its only predecessor.
pub(crate) fn join_blocks(program: &mut Program) -> bool {
    let threaded = thread_jumps(program);
    let mut predecessors = vec![0_u32; program.blocks.len()];
    for target in program.blocks.iter().flat_map(|block| block.end.targets()) {
        if let Some(count) = predecessors.get_mut(target.index()) {
            *count += 1;
        }
    }
    let mut joined = false;
    for index in 0..program.blocks.len() {
        while let Some(End::Jump(next)) = program.blocks.get(index).map(|block| block.end.clone()) {
            let only = predecessors.get(next.index()) == Some(&1);
            if !only || next.index() == 0 || next.index() == index {
                break;
            }
            let empty = Block { ops: Vec::new(), end: End::Return(Operand::Constant(0)) };
            let Some(next) = program.blocks.get_mut(next.index()).map(|next| std::mem::replace(next, empty)) else {
                break;
            };
            if let Some(block) = program.blocks.get_mut(index) {
                block.ops.extend(next.ops);
                block.end = next.end;
            }
            joined = true;
        }
    }
    threaded || joined
}

fn thread_jumps(program: &mut Program) -> bool {
    let through = |mut target: BlockId| {
        // Bounded, because empty blocks may form a ring.
        for _ in 0..program.blocks.len() {
            match program.blocks.get(target.index()) {
                Some(Block { ops, end: End::Jump(next) }) if ops.is_empty() => target = *next,
                _ => break,
            }
        }
        target
    };
    let returned = |target: BlockId| match program.blocks.get(target.index()) {
        Some(Block { ops, end: end @ End::Return(Operand::Constant(_)) }) if ops.is_empty() => Some(end.clone()),
        _ => None,
    };
    let ends: Vec<End> = program
        .blocks
        .iter()
        .map(|block| match &block.end {
            End::Jump(target) => returned(through(*target)).unwrap_or_else(|| End::Jump(through(*target))),
            End::Branch { test, width, left, right, then, otherwise } => {
                let (then, otherwise) = (through(*then), through(*otherwise));
                if then == otherwise {
                    End::Jump(then)
                } else {
                    End::Branch { test: *test, width: *width, left: *left, right: *right, then, otherwise }
                }
            }
            End::Return(value) => End::Return(*value),
        })
        .collect();
    let mut changed = false;
    for (block, end) in program.blocks.iter_mut().zip(ends) {
        if block.end != end {
            block.end = end;
            changed = true;
        }
    }
    changed
}

/// Drops blocks that nothing leads to, and puts the others in an order in which a block comes after those that lead to
/// it (but for loops) and, where possible, right after the one that falls through to it.
pub(crate) fn order_blocks(program: &mut Program) -> bool {
    let order = reverse_postorder(program);
    if order.iter().enumerate().all(|(at, old)| at == *old) && order.len() == program.blocks.len() {
        return false;
    }
    let mut new_index = vec![None; program.blocks.len()];
    for (at, old) in order.iter().enumerate() {
        if let (Some(entry), Ok(at)) = (new_index.get_mut(*old), u32::try_from(at)) {
            *entry = Some(BlockId(at));
        }
    }
    let renamed = |target: BlockId| new_index.get(target.index()).copied().flatten().unwrap_or(target);
    let mut blocks = Vec::with_capacity(order.len());
    for old in order {
        let Some(block) = program.blocks.get(old) else { continue };
        let mut block = block.clone();
        match &mut block.end {
            End::Jump(target) => *target = renamed(*target),
            End::Branch { then, otherwise, .. } => {
                *then = renamed(*then);
                *otherwise = renamed(*otherwise);
            }
            End::Return(_) => {}
        }
        blocks.push(block);
    }
    program.blocks = blocks;
    true
}

fn reverse_postorder(program: &Program) -> Vec<usize> {
    let mut visited = vec![false; program.blocks.len()];
    let mut postorder = Vec::new();
    // Each entry: a block, and the targets that are still to be visited, the last one first.
    let mut path = vec![(0_usize, None::<Vec<BlockId>>)];
    while let Some((block, targets)) = path.last_mut() {
        let block = *block;
        let first_visit = targets.is_none();
        let pending = targets.get_or_insert_with(|| {
            let mut targets = program.blocks.get(block).map(|block| block.end.targets()).unwrap_or_default();
            // `otherwise` is visited last and so comes right after the block.
            targets.reverse();
            targets
        });
        if first_visit && let Some(seen) = visited.get_mut(block) {
            *seen = true;
        }
        match pending.pop() {
            Some(next) if visited.get(next.index()) == Some(&false) => path.push((next.index(), None)),
            Some(_) => {}
            None => {
                postorder.push(block);
                path.pop();
            }
        }
    }
    postorder.reverse();
    postorder
}

/// Drops operations whose result nobody reads and that do nothing else.
pub(crate) fn drop_unused(program: &mut Program) -> bool {
    let liveness = Liveness::of(program);
    let mut changed = false;
    for (index, block) in program.blocks.iter_mut().enumerate() {
        let mut live = liveness.after(index);
        block.end.sources().into_iter().for_each(|reg| live.insert(reg.index()));
        let mut kept = Vec::with_capacity(block.ops.len());
        while let Some(op) = block.ops.pop() {
            let needed = op.target().is_none_or(|to| live.contains(to.index())) || !is_pure(&op);
            if !needed {
                changed = true;
                continue;
            }
            if let Some(to) = op.target() {
                live.remove(to.index());
            }
            op.sources().into_iter().for_each(|reg| live.insert(reg.index()));
            kept.push(op);
        }
        kept.reverse();
        block.ops = kept;
    }
    changed
}

fn is_pure(op: &Op) -> bool {
    match op {
        Op::Call { helper, .. } => helper.is_pure(),
        Op::StoreSlot { .. } | Op::Store { .. } | Op::AtomicAdd { .. } => false,
        Op::Set { .. }
        | Op::Binary { .. }
        | Op::Extend { .. }
        | Op::ContextAddress { .. }
        | Op::SlotAddress { .. }
        | Op::MapAddress { .. }
        | Op::LoadContext { .. }
        | Op::LoadSlot { .. }
        | Op::Load { .. } => true,
    }
}
