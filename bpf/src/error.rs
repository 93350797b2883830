//! Why a program cannot be compiled.

use crate::validate::Fault;

/// A program that cannot be compiled.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CompileError {
    /// It is malformed.
    #[error(transparent)]
    Fault(#[from] Fault),
    /// It needs more stack than there is.
    #[error(
        "the program {program} needs {bytes} bytes of stack; there are {most}: large values belong into scratch memory (a \
         per-CPU array)"
    )]
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
    /// Its functions are in each other too deep.
    #[error("the functions of the program {program} call each other {frames} deep; the kernel allows {most}")]
    Frames {
        /// The program.
        program: String,
        /// How deep.
        frames: usize,
        /// What the kernel allows.
        most: usize,
    },
}
