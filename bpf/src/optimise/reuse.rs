//! Results that are there already.

use std::collections::HashMap;

use crate::ir::{Body, Helper, MapId, Op, Operand, Reg, Size};

/// What gives the same whenever it is asked in one run.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Question {
    Call(Helper, Vec<Operand>),
    ArrayValue(MapId, u32),
    Context(u32, Size, bool),
}

/// Replaces questions to the kernel that were asked before, on every path that leads here, by what was answered: who is
/// running, where an array's value is. Within a block, and as long as no call comes between, loads from the context too.
pub(crate) fn reuse(body: &mut Body) -> bool {
    let mut assigned = vec![0_u32; body.registers as usize];
    for to in body.blocks.iter().flat_map(|block| &block.ops).filter_map(Op::target) {
        if let Some(count) = assigned.get_mut(to.index()) {
            *count += 1;
        }
    }
    let once = |reg: Reg| assigned.get(reg.index()).is_some_and(|count| *count <= 1);
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
        for op in body.blocks.get_mut(index).into_iter().flat_map(|block| &mut block.ops) {
            let asked = question(op, &once);
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

/// By block, those whose next dominator it is: that are reached only through it. The blocks must be in order.
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
    let mut dominator = vec![usize::MAX; count];
    if let Some(first) = dominator.first_mut() {
        *first = 0;
    }
    let of = |dominator: &[usize], block: usize| dominator.get(block).copied().unwrap_or(usize::MAX);
    let mut changed = true;
    while changed {
        changed = false;
        for (index, list) in predecessors.iter().enumerate().skip(1) {
            let known = list.iter().copied().filter(|block| of(&dominator, *block) != usize::MAX);
            let new = known.reduce(|mut a, mut b| {
                while a != b {
                    while a > b {
                        a = of(&dominator, a);
                    }
                    while b > a {
                        b = of(&dominator, b);
                    }
                }
                a
            });
            if let (Some(new), Some(entry)) = (new, dominator.get_mut(index))
                && *entry != new
            {
                *entry = new;
                changed = true;
            }
        }
    }
    let mut children = vec![Vec::new(); count];
    for (index, dominator) in dominator.into_iter().enumerate().skip(1) {
        if let Some(list) = children.get_mut(dominator) {
            list.push(index);
        }
    }
    children
}
