//! The list of passes, and the function that runs them.

use crate::{
    emit,
    instruction::Instruction,
    ir::{MapDefinition, MapId, Program, ProgramKind},
    optimise, registers,
    validate::{Fault, validate},
};

/// Bytes of stack that a BPF program has.
pub(crate) const STACK_BYTES: u32 = 512;
/// How often the passes are repeated at most; each round that changes something makes work for the next.
const MAX_ROUNDS: usize = 4;

/// A compiled program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Its name.
    pub name: String,
    /// What it is attached to.
    pub kind: ProgramKind,
    /// The maps it uses.
    pub maps: Vec<MapDefinition>,
    /// The instructions.
    pub instructions: Vec<Instruction>,
    /// Which instructions (by index) load the address of which map.
    pub map_references: Vec<(usize, MapId)>,
    /// Bytes of stack that it uses.
    pub stack_bytes: u32,
}

/// A program that cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// It is malformed.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// It needs more stack than there is.
    #[error("the program {program} needs {bytes} bytes of stack; there are {most}")]
    Stack {
        /// The program.
        program: String,
        /// What it needs.
        bytes: u32,
        /// What there is.
        most: u32,
    },
    /// It is too long.
    #[error("the program {program} has {instructions} instructions; a jump reaches {most} at most")]
    Length {
        /// The program.
        program: String,
        /// How many instructions.
        instructions: usize,
        /// How far a jump reaches.
        most: usize,
    },
}

/// A pass over the IR.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name.
    pub name: &'static str,
    /// Changes the program; tells whether it changed anything.
    pub run: fn(&mut Program) -> bool,
}

/// The passes between `validate` and `allocate`, in order: `validate` → these, repeated → `allocate` → `emit`.
pub const PASSES: [Pass; 4] = [
    Pass { name: "fold constants and copies", run: optimise::fold },
    Pass { name: "join blocks", run: optimise::join_blocks },
    Pass { name: "order reachable blocks", run: optimise::order_blocks },
    Pass { name: "drop unused results", run: optimise::drop_unused },
];

/// Compiles a program.
///
/// # Errors
/// If it is malformed, or too large for the kernel.
pub fn compile(program: &Program) -> Result<Code, CompileError> {
    validate(program)?;
    let mut program = program.clone();
    optimise_all(&mut program);
    let allocation = registers::allocate(&program);
    if allocation.stack_bytes > STACK_BYTES {
        return Err(CompileError::Stack { program: program.name, bytes: allocation.stack_bytes, most: STACK_BYTES });
    }
    emit::emit(&program, &allocation)
}

pub(crate) fn optimise_all(program: &mut Program) {
    for _ in 0..MAX_ROUNDS {
        // All of them run in each round, whether or not one before changed something.
        let changed = PASSES.map(|pass| (pass.run)(program));
        if !changed.contains(&true) {
            break;
        }
    }
}
