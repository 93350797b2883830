//! What nobody needs.

use crate::{
    ir::{Body, Op},
    registers::Liveness,
};

/// Drops operations whose result nobody reads and that do nothing else, and writes into slots that nobody reads.
pub(crate) fn drop_unused(body: &mut Body) -> bool {
    let liveness = Liveness::of(body);
    let read = read_slots(body);
    // By register, the block (from 1) at whose present place it is live.
    let mut live = vec![0_usize; body.registers as usize + 1];
    let mut changed = false;
    for (index, block) in body.blocks.iter_mut().enumerate() {
        let here = index + 1;
        let mut mark = |reg: usize, value: usize| {
            if let Some(entry) = live.get_mut(reg) {
                *entry = value;
            }
        };
        liveness.after(index).for_each(|reg| mark(reg, here));
        block.end.sources().into_iter().for_each(|reg| mark(reg.index(), here));
        let mut kept = Vec::with_capacity(block.ops.len());
        while let Some(op) = block.ops.pop() {
            let needed = match &op {
                Op::StoreSlot { slot, .. } | Op::StoreContext { slot, .. } => read.get(slot.index()) == Some(&true),
                // A place that is followed by another at once.
                Op::Position(_) => !matches!(kept.last(), Some(Op::Position(_))),
                op if op.is_pure() => op.target().is_none_or(|to| live.get(to.index()) == Some(&here)),
                _ => true,
            };
            if !needed {
                changed = true;
                continue;
            }
            let mut mark = |reg: usize, value: usize| {
                if let Some(entry) = live.get_mut(reg) {
                    *entry = value;
                }
            };
            if let Some(to) = op.target() {
                mark(to.index(), 0);
            }
            op.each_source(&mut |reg| mark(reg.index(), here));
            kept.push(op);
        }
        kept.reverse();
        block.ops = kept;
    }
    changed
}

/// By slot, whether something is read from it or its address is used.
fn read_slots(body: &Body) -> Vec<bool> {
    let mut read = vec![false; body.slots.len()];
    for op in body.blocks.iter().flat_map(|block| &block.ops) {
        if let Op::LoadSlot { slot, .. } | Op::SlotAddress { slot, .. } = op
            && let Some(entry) = read.get_mut(slot.index())
        {
            *entry = true;
        }
    }
    read
}
