//! Checks a program for what the kernel's verifier would refuse, so that a fault in a lowering is reported in the
//! program's own terms, and before anything runs as root.
//!
//! It follows what every register holds along all paths: numbers, pointers of each kind, pointers that may be null
//! until a branch has excluded it; and whether a record of a ring is reserved, which must be submitted or discarded
//! before the end. It does not follow ranges of numbers, so it is no proof that the verifier accepts a program.

mod call;
mod held;
mod op;

use std::collections::BTreeSet;

use crate::{
    ir::{
        Body, End, Function, FunctionId, MapDefinition, MapId, MapKind, Op, Operand, Parameter, Program, Reg, Test,
        Width,
    },
    registers::Liveness,
};
use held::{Held, assigned, number, unite};

/// The most virtual registers of a body.
const MAX_REGISTERS: u32 = 1 << 20;
/// The most blocks of a body.
const MAX_BLOCKS: usize = 1 << 18;
/// The most parameters of a function.
const MAX_PARAMETERS: usize = 5;
/// The longest name of a program or map. The kernel keeps 15 characters.
const MAX_NAME_BYTES: usize = 64;
/// The longest name of a function; the kernel takes 127 characters with the program's before it.
const MAX_FUNCTION_NAME_BYTES: usize = 60;

/// A program that the kernel would refuse, or that would confuse the compiler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the program {program} is malformed in {}block {block}: {what}", function_words(function))]
pub struct Fault {
    /// The program.
    pub program: String,
    /// The function; none for the program itself.
    pub function: Option<String>,
    /// The block's index.
    pub block: usize,
    /// What is wrong.
    pub what: String,
}

fn function_words(function: &Option<String>) -> String {
    function.as_ref().map_or(String::new(), |name| format!("function {name}, "))
}

/// What the registers hold, and whether a record is reserved on the paths that lead here.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    /// By register; only those that are live, or assigned in this block, count.
    held: Vec<Held>,
    reserved: bool,
}

impl State {
    fn get(&self, reg: Reg) -> Held {
        self.held.get(reg.index()).copied().unwrap_or(Held::Nothing)
    }

    fn set(&mut self, reg: Reg, held: Held) {
        if let Some(entry) = self.held.get_mut(reg.index()) {
            *entry = held;
        }
    }
}

/// What is known where a block begins: what each register holds that is read later.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BlockEntry {
    held: Vec<(usize, Held)>,
    reserved: bool,
}

/// Checks one body.
struct BodyValidator<'a> {
    program: &'a Program,
    body: &'a Body,
    /// The function, unless it is the program itself.
    function: Option<&'a Function>,
}

/// Checks a program.
///
/// # Errors
/// The first fault.
pub fn validate(program: &Program) -> Result<(), Fault> {
    let fault = |function: Option<&Function>, block: usize, what: String| Fault {
        program: program.name.clone(),
        function: function.map(|function| function.name.clone()),
        block,
        what,
    };
    names(program).map_err(|what| fault(None, 0, what))?;
    let functions = program.functions.iter().map(|function| (&function.body, Some(function)));
    let bodies: Vec<_> = std::iter::once((&program.body, None)).chain(functions).collect();
    for (body, function) in &bodies {
        let validator = BodyValidator { program, body, function: *function };
        validator.frame().map_err(|what| fault(*function, 0, what))?;
    }
    acyclic(program).map_err(|what| fault(None, 0, what))?;
    for (body, function) in bodies {
        let validator = BodyValidator { program, body, function };
        validator.flow().map_err(|(block, what)| fault(function, block, what))?;
    }
    Ok(())
}

fn is_name(name: &str, most: usize) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    !name.is_empty() && name.len() <= most && name.bytes().all(allowed)
}

/// Names, sizes of maps, and parameters.
fn names(program: &Program) -> Result<(), String> {
    if !is_name(&program.name, MAX_NAME_BYTES) {
        return Err("its name is not one".to_owned());
    }
    if program.kind.has_target() == program.target.is_empty() {
        return Err("its target is missing, or its kind has none".to_owned());
    }
    let mut seen = BTreeSet::new();
    for (index, map) in program.maps.iter().enumerate() {
        if !is_name(&map.name, MAX_NAME_BYTES) || !sizes_fit(map) {
            return Err(format!("map {index} has no proper name or sizes"));
        }
        if !seen.insert(&map.name) {
            return Err(format!("map {index} has the name of another"));
        }
    }
    let mut seen = BTreeSet::new();
    for (index, function) in program.functions.iter().enumerate() {
        if !is_name(&function.name, MAX_FUNCTION_NAME_BYTES) || !seen.insert(&function.name) {
            return Err(format!("function {index} has no proper name, or that of another"));
        }
        parameters(program, function).map_err(|what| format!("function {index} {what}"))?;
    }
    Ok(())
}

fn sizes_fit(map: &MapDefinition) -> bool {
    let content = u32::try_from(map.content.len()).unwrap_or(u32::MAX);
    let sizes = match map.kind {
        MapKind::RingBuffer => map.key_bytes == 0 && map.value_bytes == 0,
        MapKind::StackTrace => map.key_bytes == 4 && map.value_bytes >= 8 && map.value_bytes.is_multiple_of(8),
        kind if kind.is_array() => map.key_bytes == 4 && map.value_bytes > 0,
        _ => map.key_bytes > 0 && map.value_bytes > 0,
    };
    let content = match map.kind {
        MapKind::Constant => content == map.value_bytes,
        MapKind::Global => content == 0 || content == map.value_bytes,
        _ => content == 0,
    };
    sizes && content && map.max_entries > 0 && (!map.kind.is_global() || map.max_entries == 1)
}

fn parameters(program: &Program, function: &Function) -> Result<(), String> {
    let all = &function.parameters;
    let contexts =
        all.iter().filter(|kind| matches!(kind, Parameter::Context | Parameter::Frame { context: Some(_), .. }));
    let in_frame = all.iter().any(|kind| matches!(kind, Parameter::Frame { context: Some(_), .. }));
    if all.len() > MAX_PARAMETERS - usize::from(in_frame) || contexts.count() > 1 {
        return Err("has too many parameters".to_owned());
    }
    for (index, parameter) in all.iter().enumerate() {
        let good = match parameter {
            Parameter::Number | Parameter::Context => true,
            Parameter::Frame { bytes, context } => {
                let fits = |at: &u32| at.is_multiple_of(8) && at.checked_add(8).is_some_and(|end| end <= *bytes);
                *bytes > 0 && context.as_ref().is_none_or(fits)
            }
            Parameter::Map(map) | Parameter::Key(map) | Parameter::Value(map) => {
                program.maps.get(map.index()).is_some()
            }
            Parameter::MaybeValue(map) => {
                let numbers = all.iter().skip(1).all(|other| *other == Parameter::Number);
                index == 0 && numbers && program.maps.get(map.index()).is_some()
            }
        };
        if !good {
            return Err(format!("has an impossible parameter: {parameter:?}"));
        }
    }
    if function.body.registers < u32::try_from(all.len()).unwrap_or(u32::MAX) {
        return Err("has fewer registers than parameters".to_owned());
    }
    Ok(())
}

/// Functions may not call each other in a ring: the kernel does not allow it.
fn acyclic(program: &Program) -> Result<(), String> {
    // 0 not seen, 1 being looked at, 2 done.
    let mut marks = vec![0_u8; program.functions.len()];
    for start in 0..program.functions.len() {
        let mut path = vec![(start, false)];
        while let Some((index, leaving)) = path.pop() {
            let Some(mark) = marks.get_mut(index) else { continue };
            if leaving {
                *mark = 2;
                continue;
            }
            if *mark != 0 {
                continue;
            }
            *mark = 1;
            path.push((index, true));
            let Some(function) = program.functions.get(index) else { continue };
            for callee in function.body.blocks.iter().flat_map(|block| &block.ops).filter_map(Op::function) {
                if marks.get(callee.index()) == Some(&1) {
                    return Err(format!("function {index} is in itself"));
                }
                path.push((callee.index(), false));
            }
        }
    }
    Ok(())
}

impl<'a> BodyValidator<'a> {
    /// Limits, and that everything named exists.
    fn frame(&self) -> Result<(), String> {
        let body = self.body;
        if body.blocks.is_empty() || body.blocks.len() > MAX_BLOCKS || body.registers > MAX_REGISTERS {
            return Err("it has no blocks, or too many blocks or registers".to_owned());
        }
        for block in &body.blocks {
            if block.end.targets().into_iter().any(|target| target.index() >= body.blocks.len()) {
                return Err("a block leads to one that does not exist".to_owned());
            }
            let mut known = true;
            for op in &block.ops {
                op.each_source(&mut |reg| known &= reg.0 < body.registers);
                known &= op.target().is_none_or(|reg| reg.0 < body.registers);
                op.function().map(|function| self.callee(function)).transpose()?;
            }
            if !known || block.end.sources().into_iter().any(|reg| reg.0 >= body.registers) {
                return Err("a register does not exist".to_owned());
            }
        }
        Ok(())
    }

    fn callee(&self, function: FunctionId) -> Result<&'a Function, String> {
        let functions = &self.program.functions;
        functions.get(function.index()).ok_or_else(|| format!("function {} does not exist", function.0))
    }

    fn map(&self, map: MapId) -> Result<&'a MapDefinition, String> {
        self.program.maps.get(map.index()).ok_or_else(|| format!("map {} does not exist", map.0))
    }

    /// Follows all paths.
    fn flow(&self) -> Result<(), (usize, String)> {
        let liveness = Liveness::of(self.body);
        let live = |block: usize| liveness.before(block).filter(|reg| *reg < self.body.registers as usize);
        let mut entries: Vec<Option<BlockEntry>> = vec![None; self.body.blocks.len()];
        let mut state = State { held: vec![Held::Nothing; self.body.registers as usize], reserved: false };
        for (index, parameter) in self.function.into_iter().flat_map(|function| &function.parameters).enumerate() {
            if let Some(entry) = state.held.get_mut(index) {
                *entry = Held::of_parameter(*parameter);
            }
        }
        let mut pending = BTreeSet::from([0]);
        let first = live(0).map(|reg| (reg, state.held.get(reg).copied().unwrap_or(Held::Nothing))).collect();
        if let Some(entry) = entries.get_mut(0) {
            *entry = Some(BlockEntry { held: first, reserved: false });
        }
        while let Some(index) = pending.pop_first() {
            let (Some(Some(entry)), Some(block)) = (entries.get(index), self.body.blocks.get(index)) else { continue };
            for (reg, held) in &entry.held {
                if let Some(slot) = state.held.get_mut(*reg) {
                    *slot = *held;
                }
            }
            state.reserved = entry.reserved;
            for op in &block.ops {
                self.op(op, &mut state).map_err(|what| (index, what))?;
            }
            for (target, changes) in self.end(&block.end, &state).map_err(|what| (index, what))? {
                let held = |reg: usize| match changes.learnt {
                    Some((learnt, held)) if learnt.index() == reg => held,
                    _ => state.held.get(reg).copied().unwrap_or(Held::Nothing),
                };
                let incoming =
                    BlockEntry { held: live(target).map(|reg| (reg, held(reg))).collect(), reserved: changes.reserved };
                let Some(known) = entries.get_mut(target) else { continue };
                let merged = merge(known.as_ref(), incoming).map_err(|what| (target, what))?;
                if known.as_ref() != Some(&merged) {
                    *known = Some(merged);
                    pending.insert(target);
                }
            }
            // What was assigned here and is not read elsewhere must not be taken for assigned there.
            for to in block.ops.iter().filter_map(Op::target) {
                state.set(to, Held::Nothing);
            }
            entries.get(index).into_iter().flatten().flat_map(|entry| &entry.held).for_each(|(reg, _)| {
                if let Some(slot) = state.held.get_mut(*reg) {
                    *slot = Held::Nothing;
                }
            });
        }
        Ok(())
    }

    /// The blocks that follow, and what is known there beside what is known here.
    fn end(&self, end: &End, state: &State) -> Result<Vec<(usize, Changes)>, String> {
        let same = Changes { learnt: None, reserved: state.reserved };
        match end {
            End::Jump(target) => Ok(vec![(target.index(), same)]),
            End::Return(value) => {
                number(state, *value)?;
                if state.reserved {
                    return Err("a record is neither submitted nor discarded at the end".to_owned());
                }
                Ok(Vec::new())
            }
            End::Branch { test, width, left, right, then, otherwise } => {
                let (mut on_then, mut on_otherwise) = (same, same);
                match state.get(*left) {
                    Held::Number | Held::Typed => number(state, *right)?,
                    maybe @ (Held::MaybeValue(_) | Held::MaybeRecord(_)) => {
                        let (null, there) = match test {
                            Test::Eq => (&mut on_then, &mut on_otherwise),
                            Test::Ne => (&mut on_otherwise, &mut on_then),
                            _ => return Err("a pointer is compared otherwise than with null".to_owned()),
                        };
                        if *right != Operand::Constant(0) || *width != Width::W64 {
                            return Err("a pointer is compared with something else than null".to_owned());
                        }
                        null.learnt = Some((*left, Held::Number));
                        if let Held::MaybeValue(map) = maybe {
                            there.learnt = Some((*left, Held::Value(map, Some(0))));
                        } else if let Held::MaybeRecord(bytes) = maybe {
                            there.learnt = Some((*left, Held::Record(bytes, Some(0))));
                            null.reserved = false;
                        }
                    }
                    Held::Nothing => {
                        assigned(state, *left)?;
                    }
                    _ => return Err(format!("v{} is compared and is neither a number nor a new pointer", left.0)),
                }
                Ok(vec![(then.index(), on_then), (otherwise.index(), on_otherwise)])
            }
        }
    }
}

/// What is known after a branch.
#[derive(Clone, Copy)]
struct Changes {
    learnt: Option<(Reg, Held)>,
    reserved: bool,
}

fn merge(known: Option<&BlockEntry>, incoming: BlockEntry) -> Result<BlockEntry, String> {
    let Some(known) = known else { return Ok(incoming) };
    if known.reserved != incoming.reserved {
        return Err("a record is reserved on one path that leads here and not on another".to_owned());
    }
    let both = known.held.iter().zip(&incoming.held);
    let held = both.map(|((reg, a), (_, b))| (*reg, if a == b { *a } else { unite(*a, *b) })).collect();
    Ok(BlockEntry { held, reserved: known.reserved })
}
