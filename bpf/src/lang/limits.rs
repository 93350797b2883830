//! What a script may be at most. All limits of the front end stand here.

/// Bytes of a script's text.
pub const MAX_SCRIPT_BYTES: usize = 64 * 1024;
/// How deep expressions and blocks may be nested; also how many operators one chain such as `a + b + …` may have.
pub const MAX_DEPTH: u32 = 256;
/// How high the tree may be after macros were put in. A tree that was parsed is never higher: blocks and the expression in
/// the innermost have [`MAX_DEPTH`] each.
pub const MAX_TREE_DEPTH: u32 = 2 * MAX_DEPTH;
/// Attach points of a script, as written: a wildcard is one.
pub const MAX_POINTS: usize = 64;
/// Bytes of one attach point.
pub const MAX_POINT_BYTES: usize = 4096;
/// Messages about one script; the rest is not reported.
pub const MAX_DIAGNOSTICS: usize = 20;
/// Fields of a record.
pub const MAX_FIELDS: usize = 256;
/// Pointers and arrays of one type.
pub const MAX_TYPE_SUFFIXES: usize = 16;
/// Conditions (`#if`) within each other.
pub const MAX_CONDITIONS: usize = 64;
/// Names made by `#define`.
pub const MAX_DEFINES: usize = 1024;
/// Nodes of the tree that macros and `#define` may add.
pub const MAX_EXPANDED_NODES: usize = 100_000;
/// Statements and expressions that `unroll` may make of a script, in all rounds of all of its blocks.
pub const MAX_UNROLLED_PARTS: u64 = 100_000;
/// Operations and blocks of one program before it becomes instructions.
pub const MAX_PROGRAM_OPS: usize = 300_000;
/// Those of all programs of a script.
pub const MAX_SCRIPT_OPS: usize = 4_000_000;
/// Macros and `#define`s within each other.
pub const MAX_EXPANSION_DEPTH: usize = 64;
/// Words given to a script after its name.
pub const MAX_PARAMETERS: usize = 256;
/// Bytes of one of them.
pub const MAX_PARAMETER_BYTES: usize = 16 * 1024;
