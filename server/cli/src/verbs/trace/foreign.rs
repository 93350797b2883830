//! Options of `bpftrace` that lead to another verb here.

use crate::verbs::foreign::Foreign;

/// All of them.
pub(in crate::verbs) const FOREIGN: &[Foreign] = &[
    Foreign::refused("-d", "Stages are shown by `bathyscope compile --emit`; a time is given with --duration."),
    Foreign::refused("--emit-elf", "Write `bathyscope compile --emit elf -o FILE`."),
    Foreign::refused("--emit-llvm", "There is no LLVM here; `bathyscope compile --emit bpf` shows the instructions."),
    Foreign::refused("--fmt", "`bathyscope compile --emit ast` shows a script as it was understood."),
];
