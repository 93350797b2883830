//! The list of passes, and the function that runs them.

use crate::{
    code::{Code, CodeFunction},
    emit::{self, Emitted},
    error::CompileError,
    expand,
    ir::{Body, FunctionId, Op, Parameter, Program},
    optimise, registers,
    validate::validate,
};

/// Bytes of stack that a BPF program has, the functions it is in at one time included.
pub(crate) const STACK_BYTES: u32 = 512;
/// The kernel counts the stack of a program with functions in pieces of this.
const STACK_PIECE: u32 = 32;
/// The most functions that can be in each other, the program included.
const MAX_FRAMES: usize = 8;
/// How often the passes are repeated at most; each round that changes something makes work for the next.
const MAX_ROUNDS: usize = 4;

/// A pass over the IR.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    /// Changes the body of a program or function; tells whether it changed anything.
    pub run: fn(&mut Body) -> bool,
}

/// The passes between `validate` and `allocate`, in order: `validate` → `expand` → these, repeated → `allocate` →
/// `emit`. Each takes time in proportion to the program's length, so that long scripts compile as fast as short ones.
pub const PASSES: [Pass; 6] = [
    Pass { name: "order reachable blocks", run: optimise::order_blocks },
    Pass { name: "fold constants and copies", run: optimise::fold },
    Pass { name: "lead jumps on", run: optimise::thread_jumps },
    Pass { name: "join blocks", run: optimise::join_blocks },
    Pass { name: "reuse results", run: optimise::reuse },
    Pass { name: "drop unused results", run: optimise::drop_unused },
];

/// Compiles a program.
///
/// # Errors
/// If it is malformed, or too large for the kernel.
pub fn compile(program: &Program) -> Result<Code, CompileError> {
    compile_by(program, &optimise_all)
}

/// Compiles a program without [`PASSES`], for seeing what they change.
///
/// # Errors
/// As [`compile()`].
pub fn compile_plainly(program: &Program) -> Result<Code, CompileError> {
    compile_by(program, &|body| {
        optimise::order_blocks(body);
    })
}

fn compile_by(program: &Program, optimise: &dyn Fn(&mut Body)) -> Result<Code, CompileError> {
    validate(program)?;
    let mut linker = Linker { program, optimise, parts: Vec::new(), indexes: vec![None; program.functions.len()] };
    linker.add(&program.name, None, &program.body)?;
    let mut next = 0;
    // Functions are added as they are referred to; what nothing refers to is left out, as the kernel wants it.
    while let Some(part) = linker.parts.get(next) {
        let wanted: Vec<FunctionId> = part.emitted.functions.iter().map(|(_, function)| *function).collect();
        wanted.into_iter().try_for_each(|function| linker.require(function))?;
        next += 1;
    }
    linker.link()
}

/// Runs the passes over a body.
pub(crate) fn optimise_all(body: &mut Body) {
    for _ in 0..MAX_ROUNDS {
        // All of them run in each round, whether or not one before changed something.
        let changed = PASSES.map(|pass| (pass.run)(body));
        if !changed.contains(&true) {
            break;
        }
    }
    optimise::order_blocks(body);
}

struct CompiledFunction {
    name: String,
    parameters: usize,
    memory_bytes: Option<u32>,
    emitted: Emitted,
    reads_context: bool,
}

struct Linker<'a> {
    program: &'a Program,
    optimise: &'a dyn Fn(&mut Body),
    parts: Vec<CompiledFunction>,
    /// By function, its index among the parts.
    indexes: Vec<Option<usize>>,
}

impl Linker<'_> {
    fn add(&mut self, name: &str, parameters: Option<&[Parameter]>, body: &Body) -> Result<(), CompileError> {
        let mut body = body.clone();
        expand::expand(&mut body);
        (self.optimise)(&mut body);
        let allocation = registers::allocate(&body, parameters);
        if allocation.stack_bytes > STACK_BYTES {
            return Err(self.too_much_stack(allocation.stack_bytes));
        }
        let emitted = emit::emit(self.program, &body, parameters, &allocation)?;
        let is_read = |op: &Op| matches!(op, Op::LoadContext { .. } | Op::ContextAddress { .. });
        let reads_context = body.blocks.iter().flat_map(|block| &block.ops).any(is_read);
        let memory_bytes = match parameters.and_then(<[Parameter]>::first) {
            Some(Parameter::MaybeValue(map)) => self.program.maps.get(map.index()).map(|map| map.value_bytes),
            _ => None,
        };
        let (name, parameters) = (name.to_owned(), parameters.map_or(1, <[Parameter]>::len));
        self.parts.push(CompiledFunction { name, parameters, memory_bytes, emitted, reads_context });
        Ok(())
    }

    fn too_much_stack(&self, bytes: u32) -> CompileError {
        CompileError::Stack { program: self.program.name.clone(), bytes, most: STACK_BYTES }
    }

    fn require(&mut self, id: FunctionId) -> Result<(), CompileError> {
        let Some(entry) = self.indexes.get_mut(id.index()).filter(|entry| entry.is_none()) else { return Ok(()) };
        *entry = Some(self.parts.len());
        let Some(function) = self.program.functions.get(id.index()) else { return Ok(()) };
        let name = format!("{}_{}", self.program.name, function.name);
        self.add(&name, Some(&function.parameters), &function.body)
    }

    fn index(&self, function: FunctionId) -> usize {
        self.indexes.get(function.index()).copied().flatten().unwrap_or(0)
    }

    /// The stack and the frames of a part with what it calls. Parts call only later parts or earlier ones, never
    /// themselves: validation has refused rings.
    fn depth(&self, part: usize, known: &mut [Option<(u32, usize)>]) -> (u32, usize) {
        if let Some(Some(depth)) = known.get(part) {
            return *depth;
        }
        let Some(this) = self.parts.get(part) else { return (0, 0) };
        let callees: Vec<usize> = this.emitted.functions.iter().map(|(_, function)| self.index(*function)).collect();
        let deepest = callees.into_iter().map(|callee| self.depth(callee, known));
        let (stack, frames) = deepest.fold((0, 0), |(s, f), (stack, frames)| (s.max(stack), f.max(frames)));
        let own = this.emitted.stack_bytes.max(1).next_multiple_of(STACK_PIECE);
        let depth = (own.saturating_add(stack), frames + 1);
        if let Some(entry) = known.get_mut(part) {
            *entry = Some(depth);
        }
        depth
    }

    fn link(self) -> Result<Code, CompileError> {
        let (mut stack_bytes, frames) = self.depth(0, &mut vec![None; self.parts.len()]);
        if let [only] = &*self.parts {
            stack_bytes = only.emitted.stack_bytes;
        }
        if stack_bytes > STACK_BYTES {
            return Err(self.too_much_stack(stack_bytes));
        }
        if frames > MAX_FRAMES {
            return Err(CompileError::Frames { program: self.program.name.clone(), frames, most: MAX_FRAMES });
        }
        let program = self.program;
        let mut code = Code {
            name: program.name.clone(),
            kind: program.kind,
            target: program.target.clone(),
            maps: program.maps.clone(),
            instructions: Vec::new(),
            functions: Vec::new(),
            map_references: Vec::new(),
            function_references: Vec::new(),
            positions: Vec::new(),
            source: program.source.clone(),
            stack_bytes,
            reads_context: self.parts.iter().any(|part| part.reads_context),
        };
        for part in &self.parts {
            let start = code.instructions.len();
            let emitted = &part.emitted;
            code.instructions.extend_from_slice(&emitted.instructions);
            code.map_references.extend(emitted.maps.iter().map(|(at, map)| (start + at, *map)));
            let functions = emitted.functions.iter().map(|(at, function)| (start + at, self.index(*function)));
            code.function_references.extend(functions);
            code.positions.extend(emitted.positions.iter().map(|(at, position)| (start + at, *position)));
            let (name, parameters, end) = (part.name.clone(), part.parameters, code.instructions.len());
            let (stack_bytes, memory_bytes) = (emitted.stack_bytes, part.memory_bytes);
            code.functions.push(CodeFunction { name, start, end, parameters, stack_bytes, memory_bytes });
        }
        for (at, function) in &code.function_references {
            let start = code.functions.get(*function).map_or(0, |function| function.start);
            if let Some(instruction) = code.instructions.get_mut(*at) {
                // Calls and addresses count from the instruction after them; the address's second half does not count.
                instruction.imm = i32::try_from(start as i64 - *at as i64 - 1).unwrap_or(0);
            }
        }
        Ok(code)
    }
}
