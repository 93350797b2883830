//! A compiled program: what the compiler gives, and what the loader takes.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{
    instruction::Instruction,
    ir::{MapDefinition, MapId, Position, ProgramKind, Source},
};

/// A function in a compiled program. The first is the program itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeFunction {
    /// Its name.
    pub name: String,
    /// The index of its first instruction.
    pub start: usize,
    /// The index after its last.
    pub end: usize,
    /// How many parameters it has; 1, the context, for the program itself.
    pub parameters: usize,
    /// Bytes of stack that it uses by itself.
    pub stack_bytes: u32,
    /// Of a function that the kernel verifies by itself ([`crate::ir::Parameter::MaybeValue`]): the bytes that its first
    /// parameter points to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u32>,
}

/// A compiled program. It is whole: its functions follow it, calls between them are resolved, and what is left to the
/// loader are the maps. It travels (as JSON) from the process that compiles to the one that loads.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Code {
    /// Its name.
    pub name: String,
    /// What it is attached to.
    pub kind: ProgramKind,
    /// The name of what a typed program is attached to; else empty.
    pub target: String,
    /// The maps it uses.
    pub maps: Vec<MapDefinition>,
    /// The instructions, those of the functions included.
    pub instructions: Vec<Instruction>,
    /// The program and its functions, in order.
    pub functions: Vec<CodeFunction>,
    /// Which instructions (by index) load the address of which map. `src` of the instruction tells whether it is the map
    /// (1) or its value (2), then `imm` of the next instruction is the offset; the loader puts the map's descriptor into
    /// `imm`.
    pub map_references: Vec<(usize, MapId)>,
    /// Which instructions (by index) refer to which function, by index in [`Self::functions`]. They are resolved.
    pub function_references: Vec<(usize, usize)>,
    /// Where instructions come from: each entry counts from this index on.
    pub positions: Vec<(usize, Position)>,
    /// Where the program comes from. It does not travel: whoever had the program compiled has the text.
    #[serde(skip)]
    pub source: Option<Arc<Source>>,
    /// Bytes of stack that it uses, its functions included.
    pub stack_bytes: u32,
    /// Whether it looks into its context, such as for the fields of a tracepoint; passing it to helpers is none of that.
    pub reads_context: bool,
}
