use crate::ir::Program;

/// A program that the kernel would refuse, or that would crash the compiler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the program {program} is malformed at block {block}: {what}")]
pub struct Fault {
    /// The program.
    pub program: String,
    /// The block's index.
    pub block: usize,
    /// What is wrong.
    pub what: String,
}

/// Checks a program.
///
/// # Errors
/// The first fault.
pub fn validate(program: &Program) -> Result<(), Fault> {
    let _ = program;
    unimplemented!()
}
