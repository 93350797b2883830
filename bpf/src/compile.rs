use crate::{
    instruction::Instruction,
    ir::{MapDefinition, MapId, Program, ProgramKind},
    validate::Fault,
};

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
}

/// The passes.
pub const PASSES: [Pass; 0] = [];

/// Compiles a program.
///
/// # Errors
/// If it is malformed, or too large for the kernel.
pub fn compile(program: &Program) -> Result<Code, CompileError> {
    let _ = program;
    unimplemented!()
}
