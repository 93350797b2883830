//! Results that are there already.

use std::collections::HashMap;

use super::lookups::{ElementKey, Lookups, changes_maps};
use crate::ir::{Body, Helper, MapId, Op, Operand, Reg, Size};

/// What gives the same whenever it is asked in one run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Question {
    Call(Helper, Vec<Operand>),
    ArrayValue(MapId, u32),
    Context(u32, Size, bool),
    /// With how many changes of maps there are before it.
    Lookup(ElementKey, usize),
}

/// Replaces questions to the kernel that were asked before, on every path that leads here, by what was answered: who is
/// running, where an array's value is, where an element of a map is that nothing has changed since. Within a block, and as long as no call comes between, loads from the context too.
pub(crate) fn reuse(body: &mut Body) -> bool {
    let mut assigned = vec![0_u32; body.registers as usize];
    for to in body.blocks.iter().flat_map(|block| &block.ops).filter_map(Op::target) {
        if let Some(count) = assigned.get_mut(to.index()) {
            *count += 1;
        }
    }
    let once = |reg: Reg| assigned.get(reg.index()).is_some_and(|count| *count <= 1);
    let lookups = Lookups::of(body, &once);
    // By block, the changes of maps before it: where nothing jumps back, all that can come before stands before.
    let mut changes = Vec::with_capacity(body.blocks.len());
    let mut sum = 0;
    for block in &body.blocks {
        changes.push(sum);
        sum += block.ops.iter().filter(|op| changes_maps(op)).count();
    }
    let children = dominated(body);
    let mut changed = false;
    let mut answers = HashMap::<Question, Reg>::new();
    // A block to enter, or answers to forget on leaving one.
    enum Step {
        Enter(usize),
        Leave(Vec<Question>),
    }
    let mut steps = vec![Step::Enter(0)];
    while let Some(step) = steps.pop() {
        let index = match step {
            Step::Enter(index) => index,
            Step::Leave(learnt) => {
                learnt.iter().for_each(|question| {
                    answers.remove(question);
                });
                continue;
            }
        };
        let mut learnt = Vec::new();
        let mut loads = HashMap::<Question, Reg>::new();
        let mut changed_before = changes.get(index).copied().unwrap_or(0);
        let ops = body.blocks.get_mut(index).into_iter().flat_map(|block| &mut block.ops);
        for (at, op) in ops.enumerate() {
            let element = lookups.at((index, at)).cloned();
            let lookup = element.map(|element| Question::Lookup(element, changed_before));
            let asked = lookup.or_else(|| question(op, &once));
            changed_before += usize::from(changes_maps(op));
            if op.is_call() {
                loads.clear();
            }
            let (Some(question), Some(to)) = (asked, op.target()) else { continue };
            let known = if matches!(question, Question::Context(..)) { &mut loads } else { &mut answers };
            if let Some(answer) = known.get(&question) {
                *op = Op::Set { to, value: Operand::Reg(*answer) };
                changed = true;
            } else if once(to) {
                if !matches!(question, Question::Context(..)) {
                    learnt.push(question.clone());
                }
                known.insert(question, to);
            }
        }
        steps.push(Step::Leave(learnt));
        steps.extend(children.get(index).into_iter().flatten().map(|child| Step::Enter(*child)));
    }
    changed
}

fn question(op: &Op, once: &impl Fn(Reg) -> bool) -> Option<Question> {
    match op {
        Op::Call { helper, arguments, .. } if helper.is_constant() => {
            // The context is made anew for each helper, but is the same.
            let same = arguments.iter().all(|argument| argument.reg().is_none_or(once));
            same.then(|| Question::Call(*helper, arguments.clone()))
        }
        Op::ArrayValue { map, index, .. } => Some(Question::ArrayValue(*map, *index)),
        Op::LoadContext { offset, size, signed, .. } => Some(Question::Context(*offset, *size, *signed)),
        _ => None,
    }
}

/// By block, those whose next dominator it is: that are reached only through it. The blocks must be in order, so that
/// all that leads to a block comes before it but for jumps back. Where one jumps back into the middle of a loop, nothing
/// is said of any block.
fn dominated(body: &Body) -> Vec<Vec<usize>> {
    let count = body.blocks.len();
    let mut predecessors = vec![Vec::new(); count];
    for (index, block) in body.blocks.iter().enumerate() {
        for target in block.end.targets() {
            if let Some(list) = predecessors.get_mut(target.index()) {
                list.push(index);
            }
        }
    }
    let mut tree = Tree { nodes: Vec::with_capacity(count) };
    let mut children = vec![Vec::new(); count];
    for (index, list) in predecessors.iter().enumerate() {
        let before = list.iter().copied().filter(|block| *block < index);
        let dominator = before.reduce(|a, b| tree.common(a, b)).unwrap_or(0);
        tree.add(dominator);
        if let Some(list) = children.get_mut(dominator).filter(|_| index != 0) {
            list.push(index);
        }
    }
    let mut back = predecessors
        .iter()
        .enumerate()
        .flat_map(|(head, list)| list.iter().filter(move |last| **last >= head).map(move |last| (head, *last)));
    if back.any(|(head, last)| tree.common(head, last) != head) {
        return vec![Vec::new(); count];
    }
    children
}

/// A tree that grows at its leaves and finds the last common ancestor of two nodes in logarithmic time: each node knows
/// its parent and an ancestor some way up.
struct Tree {
    nodes: Vec<DominatorNode>,
}

#[derive(Clone, Copy, Default)]
struct DominatorNode {
    parent: usize,
    far: usize,
    depth: usize,
}

impl Tree {
    fn node(&self, index: usize) -> DominatorNode {
        self.nodes.get(index).copied().unwrap_or_default()
    }

    /// Adds the next node; the first is its own parent.
    fn add(&mut self, parent: usize) {
        if self.nodes.is_empty() {
            return self.nodes.push(DominatorNode::default());
        }
        let above = self.node(parent);
        let far = self.node(above.far);
        let balanced = above.depth - far.depth == far.depth - self.node(far.far).depth;
        let far = if balanced { far.far } else { parent };
        self.nodes.push(DominatorNode { parent, far, depth: above.depth + 1 });
    }

    fn common(&self, mut a: usize, mut b: usize) -> usize {
        if self.node(a).depth < self.node(b).depth {
            std::mem::swap(&mut a, &mut b);
        }
        let depth = self.node(b).depth;
        while self.node(a).depth > depth {
            let node = self.node(a);
            a = if self.node(node.far).depth >= depth { node.far } else { node.parent };
        }
        while a != b {
            let (left, right) = (self.node(a), self.node(b));
            (a, b) = if left.far == right.far { (left.parent, right.parent) } else { (left.far, right.far) };
        }
        a
    }
}
