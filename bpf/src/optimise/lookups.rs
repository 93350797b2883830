//! Lookups of one element of a map, again.
//!
//! A script asks for an element in its predicate and again in its body: `/@start[tid]/ { … nsecs - @start[tid] … }`. What was
//! found is still what would be found if nothing came between that changes a map, and a lookup in a hash is the dearest part
//! of most bodies. Another CPU may remove the element meanwhile; then the second lookup would have found nothing, where now the
//! value is read that was there a moment before, which the first lookup might as well have been late for.

use std::{collections::HashMap, fmt::Write as _};

use crate::ir::{Body, Helper, MapId, Op, Operand, Reg, SlotId};

/// How deep what a key is made of is looked at.
const MAX_DEPTH: u32 = 6;
/// The most writes of a key.
const MAX_WRITES: usize = 16;

/// Where an operation is: block, and index in it.
type OpIndex = (usize, usize);

/// A map's element, the same wherever it is the same text.
pub(super) type ElementKey = (MapId, String);

/// What is known of the lookups of a body.
#[derive(Default)]
pub(super) struct Lookups {
    /// Which element each asks for.
    elements: HashMap<OpIndex, ElementKey>,
}

impl Lookups {
    /// The lookups of a body whose keys are known. `once` are the registers that are assigned once. None of a body with loops,
    /// in which what stands behind may come before.
    pub(super) fn of(body: &Body, once: &impl Fn(Reg) -> bool) -> Self {
        let calls = |op: &Op| matches!(op, Op::Call { helper: Helper::MapLookup, .. });
        let count = body.blocks.iter().flat_map(|block| &block.ops).filter(|op| calls(op)).count();
        let goes_back = body
            .blocks
            .iter()
            .enumerate()
            .any(|(index, block)| block.end.targets().iter().any(|target| target.index() <= index));
        if count < 2 || goes_back {
            return Self::default();
        }
        let definitions = Definitions::of(body, once);
        let mut elements = HashMap::new();
        for (block, ops) in body.blocks.iter().map(|block| &block.ops).enumerate() {
            for (index, op) in ops.iter().enumerate().filter(|(_, op)| calls(op)) {
                if let Some(element) = definitions.element(op, (block, index)) {
                    elements.insert((block, index), element);
                }
            }
        }
        Self { elements }
    }

    /// Which element the lookup at a place asks for.
    pub(super) fn at(&self, place: OpIndex) -> Option<&ElementKey> {
        self.elements.get(&place)
    }
}

/// Whether what was found may not be found any more after this.
pub(super) fn changes_maps(op: &Op) -> bool {
    matches!(
        op,
        Op::CallFunction { .. }
            | Op::Call { helper: Helper::MapUpdate | Helper::MapDelete | Helper::ForEachMapElem | Helper::Loop, .. }
    )
}

/// How registers and slots come to be what they are.
struct Definitions<'a> {
    /// By register: what assigns it, if that is one operation.
    assigned: HashMap<Reg, &'a Op>,
    /// By slot: what writes to it. Only slots that nothing else can write to.
    writes: HashMap<SlotId, Vec<(OpIndex, &'a Op)>>,
}

impl<'a> Definitions<'a> {
    fn of(body: &'a Body, once: &impl Fn(Reg) -> bool) -> Self {
        let mut definitions = Self { assigned: HashMap::new(), writes: HashMap::new() };
        let mut slots = HashMap::<Reg, SlotId>::new();
        let mut unknown: Vec<SlotId> = Vec::new();
        for (block, ops) in body.blocks.iter().map(|block| &block.ops).enumerate() {
            for (index, op) in ops.iter().enumerate() {
                if let Some(to) = op.target().filter(|to| once(*to)) {
                    definitions.assigned.insert(to, op);
                }
                match op {
                    Op::SlotAddress { to, slot, .. } => {
                        slots.insert(*to, *slot);
                    }
                    Op::StoreSlot { slot, .. } => {
                        definitions.writes.entry(*slot).or_default().push(((block, index), op))
                    }
                    Op::StoreContext { slot, .. } => unknown.push(*slot),
                    _ => {}
                }
            }
        }
        // Whoever has an address may write there, but for the helpers that take keys and values.
        let only_reads =
            |op: &Op| matches!(op, Op::Call { helper: Helper::MapLookup | Helper::MapUpdate | Helper::MapDelete, .. });
        for op in body.blocks.iter().flat_map(|block| &block.ops).filter(|op| !only_reads(op)) {
            op.each_source(&mut |reg| unknown.extend(slots.get(&reg)));
        }
        for reg in body.blocks.iter().flat_map(|block| block.end.sources()) {
            unknown.extend(slots.get(&reg));
        }
        unknown.iter().for_each(|slot| {
            definitions.writes.remove(slot);
        });
        definitions
    }

    fn element(&self, op: &Op, (block, index): OpIndex) -> Option<ElementKey> {
        let Op::Call { arguments, .. } = op else { return None };
        let [map, key] = arguments.as_slice() else { return None };
        let Some(Op::MapAddress { map, .. }) = self.assigned.get(&map.reg()?) else { return None };
        let Some(Op::SlotAddress { slot, offset, .. }) = self.assigned.get(&key.reg()?) else { return None };
        let writes = self.writes.get(slot).filter(|writes| writes.len() <= MAX_WRITES)?;
        let mut text = String::new();
        let mut last = None;
        for (place, write) in writes {
            let Op::StoreSlot { offset: at, size, value, .. } = write else { return None };
            // Each part is written once, on the way here.
            if place.0 != block || place.1 >= index || last >= Some(*at) {
                return None;
            }
            last = Some(*at);
            // Writing to a String cannot fail.
            let _infallible = write!(text, "{at}:{size:?}=");
            self.describe(value, MAX_DEPTH, &mut text)?;
        }
        let _infallible = write!(text, "from {offset}");
        Some((*map, text))
    }

    /// Writes what a value is in terms of what cannot change; none if it is not known.
    fn describe(&self, value: &Operand, depth: u32, to: &mut String) -> Option<()> {
        let reg = match value {
            Operand::Constant(number) => {
                let _infallible = write!(to, "{number} ");
                return Some(());
            }
            Operand::Reg(reg) => *reg,
        };
        let depth = depth.checked_sub(1)?;
        match self.assigned.get(&reg)? {
            Op::Set { value, .. } => return self.describe(value, depth, to),
            Op::Extend { from, size, signed, .. } => {
                let _infallible = write!(to, "extend {size:?} {signed} ");
                return self.describe(&Operand::Reg(*from), depth, to);
            }
            Op::Binary { op, width, left, right, .. } => {
                let _infallible = write!(to, "{op:?} {width:?} ");
                self.describe(&Operand::Reg(*left), depth, to)?;
                return self.describe(right, depth, to);
            }
            Op::Call { helper, arguments, .. } if helper.is_constant() && arguments.is_empty() => {
                let _infallible = write!(to, "{} ", helper.name());
            }
            Op::LoadContext { offset, size, signed, .. } => {
                let _infallible = write!(to, "context {offset} {size:?} {signed} ");
            }
            // What is assigned once is the same wherever it is.
            _ => {
                let _infallible = write!(to, "{reg:?} ");
            }
        }
        Some(())
    }
}
