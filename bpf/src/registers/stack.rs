//! The stack: slots, and the virtual registers that did not fit into registers. What is never in use at the same time
//! shares a place.

use super::{Allocation, Interval, RegisterLocation, Spans, pointer_source, set, slot_of};
use crate::ir::{Body, Op};

/// What has a place on the stack while it is in use.
#[derive(Clone, Copy, Debug)]
struct StackObject {
    start: usize,
    end: usize,
    bytes: u32,
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    Slot(usize),
    Register(usize),
    KeyCell,
}

/// The offset from r10 of what ends `depth` bytes below it. Programs deeper than the stack are refused later.
fn below(depth: u32) -> i16 {
    i16::try_from(depth).map_or(i16::MIN, |depth| -depth)
}

pub(super) fn lay_out(
    body: &Body,
    spans: &Spans,
    mut places: Vec<RegisterLocation>,
    spilled: &[Interval],
) -> Allocation {
    let mut slots = vec![below(0); body.slots.len()];
    let mut key_cell = below(0);
    let registers = spilled.iter().map(|interval| {
        let (start, end) = (interval.start, interval.end);
        StackObject { start, end, bytes: 8, what: What::Register(interval.reg) }
    });
    let mut items: Vec<StackObject> = slot_items(body, spans).into_iter().chain(registers).collect();
    let needs_cell = |op: &Op| matches!(op, Op::ArrayValue { .. } | Op::CompareExchange { .. });
    if body.blocks.iter().flat_map(|block| &block.ops).any(needs_cell) {
        items.push(StackObject { start: 0, end: usize::MAX, bytes: 8, what: What::KeyCell });
    }
    items.sort_by_key(|item| item.start);
    let (places_of, stack_bytes) = pack(&items);
    for (item, depth) in items.iter().zip(places_of) {
        match item.what {
            What::Slot(slot) => {
                if let Some(entry) = slots.get_mut(slot) {
                    *entry = below(depth);
                }
            }
            What::Register(reg) => set(&mut places, reg, RegisterLocation::Stack(below(depth))),
            What::KeyCell => key_cell = below(depth),
        }
    }
    Allocation { places, slots, key_cell, stack_bytes }
}

/// Gives each item the shallowest place that is free while it is in use: the depth at which it ends. Also the depth of
/// all.
fn pack(items: &[StackObject]) -> (Vec<u32>, u32) {
    // In use: end of use, and from which depth to which, by depth.
    let mut active = Vec::<(usize, u32, u32)>::new();
    let mut deepest = 0;
    let depths = items.iter().map(|item| {
        active.retain(|(end, _, _)| *end >= item.start);
        let bytes = item.bytes.div_ceil(8).saturating_mul(8);
        let (mut from, mut at) = (0_u32, 0);
        for (_, start, end) in &active {
            if start - from >= bytes {
                break;
            }
            from = *end;
            at += 1;
        }
        let end = from.saturating_add(bytes);
        active.insert(at, (item.end, from, end));
        deepest = deepest.max(end);
        end
    });
    (depths.collect(), deepest)
}

/// The spans in which slots are in use: from the first mention to the last, or to the last use of a pointer into it,
/// and all of each loop that it is used in. Slots that one pointer may point to are in use together.
fn slot_items(body: &Body, spans: &Spans) -> Vec<StackObject> {
    let mut groups = Groups::of(body);
    let mut uses: Vec<(usize, usize)> = vec![(usize::MAX, 0); body.slots.len()];
    let mut extend = |slot: usize, start: usize, end: usize| {
        if let Some(span) = uses.get_mut(slot) {
            *span = (span.0.min(start), span.1.max(end));
        }
    };
    let mut at = 1;
    for block in &body.blocks {
        for op in block.ops.iter().filter(|op| !matches!(op, Op::Position(_))) {
            for slot in slot_of(op) {
                extend(groups.find(slot), 2 * at, 2 * at + 1);
            }
            at += 1;
        }
        at += 1;
    }
    for (reg, interval) in spans.all.iter().enumerate() {
        if let Some(slot) = groups.pointers.get(reg).copied().flatten()
            && interval.start <= interval.end
        {
            extend(groups.find(slot), interval.start, interval.end);
        }
    }
    let loops = super::Loops::of(body);
    let position = |block: usize| spans.blocks.get(block).copied().unwrap_or_default();
    // Inner loops close before outer ones, so one round is enough for those around each other.
    for (head, last) in &loops.spans {
        let (start, end) = (position(*head).0, position(*last).1);
        for span in &mut uses {
            if span.0 <= end && start <= span.1 {
                *span = (span.0.min(start), span.1.max(end));
            }
        }
    }
    let slots = body.slots.iter().enumerate();
    let items = slots.filter_map(|(slot, bytes)| {
        let (start, end) = uses.get(groups.find(slot)).copied()?;
        (start <= end).then_some(StackObject { start, end, bytes: *bytes, what: What::Slot(slot) })
    });
    items.collect()
}

/// Slots that one register may point to, joined.
struct Groups {
    parents: Vec<usize>,
    /// By register, a slot that it may point to.
    pointers: Vec<Option<usize>>,
}

impl Groups {
    fn of(body: &Body) -> Self {
        let (parents, pointers) = ((0..body.slots.len()).collect(), vec![None; body.registers as usize + 1]);
        let mut groups = Self { parents, pointers };
        let ops = || body.blocks.iter().flat_map(|block| &block.ops);
        for op in ops() {
            if let Op::SlotAddress { to, slot, .. } = op {
                groups.point(to.index(), slot.index());
            }
        }
        // A register is computed from another in the order of the operations but for loops.
        let mut changed = true;
        while changed {
            changed = false;
            for (to, from) in ops().filter_map(pointer_source) {
                if let Some(slot) = groups.pointers.get(from.index()).copied().flatten() {
                    changed |= groups.point(to.index(), slot);
                }
            }
        }
        groups
    }

    fn find(&mut self, mut slot: usize) -> usize {
        while let Some(parent) = self.parents.get(slot).copied()
            && parent != slot
        {
            let above = self.parents.get(parent).copied().unwrap_or(parent);
            if let Some(entry) = self.parents.get_mut(slot) {
                *entry = above;
            }
            slot = parent;
        }
        slot
    }

    /// Notes that a register may point to a slot; tells whether that is new.
    fn point(&mut self, reg: usize, slot: usize) -> bool {
        let Some(known) = self.pointers.get(reg).copied() else { return false };
        let slot = self.find(slot);
        match known {
            None => {
                if let Some(entry) = self.pointers.get_mut(reg) {
                    *entry = Some(slot);
                }
                true
            }
            Some(other) => {
                let other = self.find(other);
                if other == slot {
                    return false;
                }
                if let Some(parent) = self.parents.get_mut(slot) {
                    *parent = other;
                }
                true
            }
        }
    }
}
