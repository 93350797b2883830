//! Which registers hold a value that is still read, and which blocks are loops.
//!
//! Most registers live in one block only, and most others in few: liveness is a list for each edge of a block, not a set
//! over all registers, so that the work grows with the program's length and not with its square.

use crate::ir::{Body, Reg};

/// The register that stands for the context, after the body's own.
pub(crate) fn context_register(body: &Body) -> Reg {
    Reg(body.registers)
}

/// Where a register that holds a value between blocks is read before it is assigned, and where it is assigned.
#[derive(Debug, Default)]
struct Crossing {
    reads: Vec<usize>,
    assignments: Vec<usize>,
}

/// The registers that some block reads before it assigns them, each with its name.
fn crossing(body: &Body) -> Vec<(usize, Crossing)> {
    let context = context_register(body).index();
    let mut assigned_in = vec![usize::MAX; context + 1];
    let mut read_in = vec![usize::MAX; context + 1];
    let mut numbers = vec![usize::MAX; context + 1];
    let mut found = Vec::<(usize, Crossing)>::new();
    for (index, block) in body.blocks.iter().enumerate() {
        let mut read = |reg: usize, assigned_in: &[usize]| {
            if assigned_in.get(reg) == Some(&index) || read_in.get(reg).is_none_or(|last| *last == index) {
                return;
            }
            if let (Some(last), Some(number)) = (read_in.get_mut(reg), numbers.get_mut(reg)) {
                *last = index;
                if *number == usize::MAX {
                    *number = found.len();
                    found.push((reg, Crossing::default()));
                }
                if let Some((_, crossing)) = found.get_mut(*number) {
                    crossing.reads.push(index);
                }
            }
        };
        for op in &block.ops {
            op.each_source(&mut |reg| read(reg.index(), &assigned_in));
            if op.reads_context() {
                read(context, &assigned_in);
            }
            if let Some(entry) = op.target().and_then(|to| assigned_in.get_mut(to.index())) {
                *entry = index;
            }
        }
        block.end.sources().into_iter().for_each(|reg| read(reg.index(), &assigned_in));
    }
    for (index, block) in body.blocks.iter().enumerate() {
        for to in block.ops.iter().filter_map(crate::ir::Op::target) {
            let number = numbers.get(to.index()).copied().unwrap_or(usize::MAX);
            if let Some((_, crossing)) = found.get_mut(number)
                && crossing.assignments.last() != Some(&index)
            {
                crossing.assignments.push(index);
            }
        }
    }
    found
}

/// Which registers hold a value that is still read, at the edges of each block.
#[derive(Debug)]
pub(crate) struct Liveness {
    before: Vec<Vec<usize>>,
    after: Vec<Vec<usize>>,
}

impl Liveness {
    /// Follows each register back from where it is read to where it is assigned, so that the work is what is found.
    pub(crate) fn of(body: &Body) -> Self {
        let count = body.blocks.len();
        let mut predecessors = vec![Vec::new(); count];
        for (index, block) in body.blocks.iter().enumerate() {
            for target in block.end.targets() {
                if let Some(list) = predecessors.get_mut(target.index()) {
                    list.push(index);
                }
            }
        }
        let mut liveness = Self { before: vec![Vec::new(); count], after: vec![Vec::new(); count] };
        let mut assigned_by = vec![usize::MAX; count];
        for (name, crossing) in crossing(body) {
            for block in &crossing.assignments {
                if let Some(entry) = assigned_by.get_mut(*block) {
                    *entry = name;
                }
            }
            let mut pending = crossing.reads;
            while let Some(block) = pending.pop() {
                let Some(before) = liveness.before.get_mut(block).filter(|list| list.last() != Some(&name)) else {
                    continue;
                };
                before.push(name);
                for from in predecessors.get(block).into_iter().flatten() {
                    let Some(after) = liveness.after.get_mut(*from).filter(|list| list.last() != Some(&name)) else {
                        continue;
                    };
                    after.push(name);
                    if assigned_by.get(*from) != Some(&name) {
                        pending.push(*from);
                    }
                }
            }
        }
        liveness
    }

    /// The registers that are live where the block begins.
    pub(crate) fn before(&self, block: usize) -> impl Iterator<Item = usize> {
        self.before.get(block).into_iter().flatten().copied()
    }

    /// The registers that are live after the block's end.
    pub(crate) fn after(&self, block: usize) -> impl Iterator<Item = usize> {
        self.after.get(block).into_iter().flatten().copied()
    }
}

/// The loops of a body whose blocks are in order: each jump back closes one, of the blocks that lead to it without
/// passing its head.
#[derive(Debug)]
pub(crate) struct Loops {
    /// By block, the loops that it is in.
    of_block: Vec<Vec<usize>>,
    /// By loop, its head and the block that jumps back.
    pub spans: Vec<(usize, usize)>,
}

impl Loops {
    pub(crate) fn of(body: &Body) -> Self {
        let mut loops = Self { of_block: vec![Vec::new(); body.blocks.len()], spans: Vec::new() };
        for (index, block) in body.blocks.iter().enumerate() {
            let back = block.end.targets().into_iter().filter(|target| target.index() <= index);
            loops.spans.extend(back.map(|target| (target.index(), index)));
        }
        if loops.spans.is_empty() {
            return loops;
        }
        let mut predecessors = vec![Vec::new(); body.blocks.len()];
        for (index, block) in body.blocks.iter().enumerate() {
            for target in block.end.targets() {
                if let Some(list) = predecessors.get_mut(target.index()) {
                    list.push(index);
                }
            }
        }
        for (number, (head, last)) in loops.spans.iter().enumerate() {
            let mut pending = vec![*last, *head];
            while let Some(index) = pending.pop() {
                let Some(list) = loops.of_block.get_mut(index).filter(|list| list.last() != Some(&number)) else {
                    continue;
                };
                list.push(number);
                if index != *head {
                    pending.extend(predecessors.get(index).into_iter().flatten());
                }
            }
        }
        loops
    }

    /// How many loops the block is in.
    pub(crate) fn depth(&self, block: usize) -> usize {
        self.of_block.get(block).map_or(0, Vec::len)
    }

    /// Whether going from one block to another leaves a loop.
    pub(crate) fn is_left(&self, from: usize, to: usize) -> bool {
        let inside = self.of_block.get(to).map_or(&[][..], Vec::as_slice);
        self.of_block.get(from).is_some_and(|all| all.iter().any(|number| !inside.contains(number)))
    }
}
