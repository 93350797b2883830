//! Blocks: where they lead, and in which order they are.

use super::fold::holds;
use crate::ir::{BasicBlock, BlockId, Body, End, Op, Operand, Reg};

/// How many empty blocks a jump is led through at a time.
const MAX_STEPS: usize = 32;
/// How far back from a block's end an assignment is looked for.
const MAX_LOOK_BACK: usize = 8;

/// Whether the block does nothing.
fn is_empty(block: &BasicBlock) -> bool {
    block.ops.iter().all(|op| matches!(op, Op::Position(_)))
}

/// Appends a block to its only predecessor. The blocks must be in order, so that no block is moved often.
pub(crate) fn join_blocks(body: &mut Body) -> bool {
    let mut predecessors = vec![0_u32; body.blocks.len()];
    for target in body.blocks.iter().flat_map(|block| block.end.targets()) {
        if let Some(count) = predecessors.get_mut(target.index()) {
            *count += 1;
        }
    }
    let mut joined = false;
    for index in 0..body.blocks.len() {
        while let Some(End::Jump(next)) = body.blocks.get(index).map(|block| block.end.clone()) {
            let only = predecessors.get(next.index()) == Some(&1);
            if !only || next.index() <= index {
                break;
            }
            let empty = BasicBlock { ops: Vec::new(), end: End::Return(Operand::Constant(0)) };
            let Some(next) = body.blocks.get_mut(next.index()).map(|next| std::mem::replace(next, empty)) else {
                break;
            };
            if let Some(block) = body.blocks.get_mut(index) {
                block.ops.extend(next.ops);
                block.end = next.end;
            }
            joined = true;
        }
    }
    joined
}

/// Leads jumps to empty blocks on to where those go. A block that sets a register and goes to one that only branches on
/// it goes where that would go: so a condition that was made a number to be tested becomes a branch again.
pub(crate) fn thread_jumps(body: &mut Body) -> bool {
    let through = |mut target: BlockId| {
        // Bounded, because empty blocks may form a ring.
        for _ in 0..MAX_STEPS {
            match body.blocks.get(target.index()) {
                Some(block @ BasicBlock { end: End::Jump(next), .. }) if is_empty(block) => target = *next,
                _ => break,
            }
        }
        target
    };
    let decided = |block: &BasicBlock, target: BlockId| {
        let next = body.blocks.get(target.index()).filter(|next| is_empty(next))?;
        match &next.end {
            End::Return(Operand::Constant(value)) => Some(End::Return(Operand::Constant(*value))),
            End::Branch { test, width, left, right: Operand::Constant(right), then, otherwise } => {
                let left = constant_at_end(block, *left)?;
                Some(End::Jump(through(if holds(*test, *width, left, *right) { *then } else { *otherwise })))
            }
            _ => None,
        }
    };
    let of_block = |block: &BasicBlock| match &block.end {
        End::Jump(target) => {
            let target = through(*target);
            decided(block, target).unwrap_or(End::Jump(target))
        }
        End::Branch { test, width, left, right, then, otherwise } => {
            let (then, otherwise) = (through(*then), through(*otherwise));
            if then == otherwise {
                End::Jump(then)
            } else {
                End::Branch { test: *test, width: *width, left: *left, right: *right, then, otherwise }
            }
        }
        End::Return(value) => End::Return(*value),
    };
    let ends: Vec<End> = body.blocks.iter().map(of_block).collect();
    let mut changed = false;
    for (block, end) in body.blocks.iter_mut().zip(ends) {
        if block.end != end {
            block.end = end;
            changed = true;
        }
    }
    changed
}

/// The constant that the register is set to last in the block.
fn constant_at_end(block: &BasicBlock, reg: Reg) -> Option<i64> {
    let last = block.ops.iter().rev().take(MAX_LOOK_BACK).find(|op| op.target() == Some(reg))?;
    match last {
        Op::Set { value: Operand::Constant(value), .. } => Some(*value),
        _ => None,
    }
}

/// Drops blocks that nothing leads to, and puts the others in an order in which a block comes after those that lead to
/// it (but for loops) and, where possible, right after the one that falls through to it.
pub(crate) fn order_blocks(body: &mut Body) -> bool {
    let order = reverse_postorder(body);
    if order.iter().enumerate().all(|(at, old)| at == *old) && order.len() == body.blocks.len() {
        return false;
    }
    let mut new_index = vec![None; body.blocks.len()];
    for (at, old) in order.iter().enumerate() {
        if let (Some(entry), Ok(at)) = (new_index.get_mut(*old), u32::try_from(at)) {
            *entry = Some(BlockId(at));
        }
    }
    let renamed = |target: BlockId| new_index.get(target.index()).copied().flatten().unwrap_or(target);
    let mut blocks = Vec::with_capacity(order.len());
    for old in order {
        let Some(block) = body.blocks.get(old) else { continue };
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
    body.blocks = blocks;
    true
}

fn reverse_postorder(body: &Body) -> Vec<usize> {
    let mut visited = vec![false; body.blocks.len()];
    let mut postorder = Vec::new();
    // Each entry: a block, and the targets that are still to be visited, the last one first.
    let mut path = vec![(0_usize, None::<Vec<BlockId>>)];
    while let Some((block, targets)) = path.last_mut() {
        let block = *block;
        let first_visit = targets.is_none();
        let pending = targets.get_or_insert_with(|| {
            let mut targets = body.blocks.get(block).map(|block| block.end.targets()).unwrap_or_default();
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
