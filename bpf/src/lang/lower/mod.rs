//! From the checked script to programs of the intermediate representation, and the plan of what they leave behind.
//!
//! Every program counts its hit, asks for the target and the predicate, and does what the body says. Numbers are in
//! virtual registers, other values are built where they are needed ([`memory`]): in stack slots, in scratch memory for each
//! CPU, in records. What goes wrong while it runs (a full ring or map, memory that cannot be read) is counted by program.

mod aggregate;
mod analysis;
mod arithmetic;
mod bucket;
mod builtin;
mod calls;
mod compare;
mod condition;
mod element;
mod lines;
mod loops;
mod maps;
mod memory;
mod nesting;
mod program;
mod programs;
mod prologue;
mod record;
mod scalar;
mod scratch;
mod stack;
mod statement;
mod text;
mod unwind;
mod walk;

use std::sync::Arc;

use bathyscope_plan::{Architecture, Diagnostic, Plan};

use super::hir;
use crate::{ir, probe::TargetFilter, syscalls::CompatPlace};

type Result<T> = std::result::Result<T, Diagnostic>;

/// What the programs must know besides the script.
#[derive(Clone, Debug)]
pub struct LowerOptions {
    /// The script's text and name, for lines.
    pub source: Arc<str>,
    /// The script's name.
    pub name: String,
    /// Whose hits count; probes that run in no process of their own (begin, end, intervals, iterators) are not filtered.
    pub target: TargetFilter,
    /// Whether records carry the thread's name.
    pub comm: bool,
    /// Whether nobody keeps a ledger, or rows: then hits go uncounted, and records that only show something do not say when,
    /// where and by whom they were made. For small bodies that is the dearest part of them.
    pub bare: bool,
    /// Bytes of the ring unless the script says: a power of two, at least a page.
    pub ring_bytes: u32,
    /// CPUs that may ever run.
    pub possible_cpus: u32,
    /// The machine.
    pub architecture: Architecture,
    /// Device and inode of the pid namespace in which the script means process ids, if not the initial one.
    pub pid_namespace: Option<(u64, u64)>,
    /// The first process of `-c` or `-p`, else 0.
    pub target_pid: u32,
    /// The monotonic time from which `elapsed` counts.
    pub begin_ns: u64,
    /// Where things are in `struct task_struct`, if the kernel's types are known.
    pub task: Option<TaskOffsets>,
    /// Whether programs may look into the current task by its type.
    pub typed_task: bool,
    /// Where the kernel tells calls of 32-bit programs, if its types are known.
    pub compat: Option<CompatPlace>,
    /// The tables for `dw_ustack`, if the kernel's types are known.
    pub unwind: Option<crate::unwind::Tables>,
    /// Address of the kernel's array `__per_cpu_offset`, if known.
    pub per_cpu_offset: Option<u64>,
}

/// Offsets in `struct task_struct`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as the members")]
pub struct TaskOffsets {
    pub comm: u32,
    pub tgid: u32,
    pub pid: u32,
    pub group_leader: u32,
    pub real_parent: u32,
}

/// A lowered script.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The programs, as [`Plan::programs`] lists them.
    pub programs: Vec<ir::Program>,
    /// What to know about them.
    pub plan: Plan,
    /// The probe that each program comes from.
    pub spans: Vec<bathyscope_plan::Span>,
}

impl LowerOptions {
    /// For a script of this text: everybody's hits on this kind of machine with one CPU.
    pub fn new(source: impl Into<Arc<str>>, architecture: Architecture) -> Self {
        Self {
            source: source.into(),
            name: "script".to_owned(),
            target: TargetFilter::System,
            comm: false,
            bare: false,
            ring_bytes: 1 << 20,
            possible_cpus: 1,
            architecture,
            pid_namespace: None,
            target_pid: 0,
            begin_ns: 0,
            task: None,
            typed_task: false,
            compat: None,
            unwind: None,
            per_cpu_offset: None,
        }
    }
}

/// Lowers a script.
///
/// # Errors
/// What cannot be made into programs that a kernel accepts, and what to change.
pub fn lower(script: &hir::TypedScript, options: &LowerOptions) -> std::result::Result<Lowered, Vec<Diagnostic>> {
    lower_within(script, options, script.config.on_stack_limit)
}

/// The same, keeping values of at most so many bytes on the stack, whatever the script says.
pub(super) fn lower_within(
    script: &hir::TypedScript,
    options: &LowerOptions,
    on_stack_limit: u32,
) -> std::result::Result<Lowered, Vec<Diagnostic>> {
    programs::lower(script, options, on_stack_limit)
}
