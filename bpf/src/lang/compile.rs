//! The whole way: from a script's text to an object that a loader takes.

use super::{
    CheckOptions, ExpandOptions, LowerOptions, Lowered, TaskOffsets, ast, check, expand, hir, host::Host,
    lower::lower_within, parse, print,
};
use crate::{
    Code, CompileError, disassemble, ir, object,
    probe::TargetFilter,
    syscalls::CompatPlace,
    unwind::{MappingOffsets, Tables},
};
use bathyscope_catalog::types::TypeKind;
use bathyscope_plan::{Diagnostic, Plan, Span};

/// What the compiler is told beside the script.
#[derive(Clone, Debug)]
pub struct CompileOptions {
    /// The script's name, for messages and line information.
    pub name: String,
    /// Parameters and environment.
    pub expand: ExpandOptions,
    /// What is allowed.
    pub check: CheckOptions,
    /// Whose hits count.
    pub target: TargetFilter,
    /// Whether records carry the thread's name.
    pub comm: bool,
    /// Whether nobody keeps a ledger, or rows: then neither are hits counted, nor do records that only show something say
    /// when, where and by whom they were made.
    pub bare: bool,
    /// Bytes of the ring unless the script says: a power of two, at least a page.
    pub ring_bytes: u32,
    /// The first process of `-c` or `-p`, else 0.
    pub target_pid: u32,
    /// The monotonic time from which `elapsed` counts.
    pub begin_ns: u64,
    /// Rows and files of the tables for `dw_ustack`.
    pub unwind: (u32, u32),
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            name: "script".to_owned(),
            expand: ExpandOptions::default(),
            check: CheckOptions::default(),
            target: TargetFilter::System,
            comm: false,
            bare: false,
            ring_bytes: 4 << 20,
            target_pid: 0,
            begin_ns: 0,
            unwind: (0, 0),
        }
    }
}

/// A compiled script.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The object file.
    pub object: Vec<u8>,
    /// The programs in it, in the order of [`Plan::programs`].
    pub codes: Vec<Code>,
    /// What to know about them.
    pub plan: Plan,
    /// The script with everything replaced that its text alone decides.
    pub script: ast::Script,
    /// The checked script.
    pub checked: hir::TypedScript,
    /// The programs before the back end.
    pub programs: Vec<ir::Program>,
}

/// What [`Compiled::stage`] shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The tree as a script.
    Ast,
    /// The checked script.
    Types,
    /// The intermediate representation.
    Ir,
    /// The instructions.
    Bpf,
    /// The object file.
    Elf,
}

impl Stage {
    /// The stage of a name: `ast`, `types`, `ir`, `bpf`, `elf`.
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "ast" => Some(Self::Ast),
            "types" => Some(Self::Types),
            "ir" => Some(Self::Ir),
            "bpf" => Some(Self::Bpf),
            "elf" => Some(Self::Elf),
            _ => None,
        }
    }
}

impl Compiled {
    /// What the compiler made on its way; text, but for the object file. `text` is the script's.
    pub fn stage(&self, stage: Stage, text: &str) -> Vec<u8> {
        let joined = |parts: Vec<String>| parts.join("\n").into_bytes();
        match stage {
            Stage::Ast => print(&self.script, text).into_bytes(),
            Stage::Types => self.checked.to_string().into_bytes(),
            Stage::Ir => joined(self.programs.iter().map(ToString::to_string).collect()),
            Stage::Bpf => {
                joined(self.codes.iter().map(|code| format!("{}:\n{}", code.name, disassemble(code))).collect())
            }
            Stage::Elf => self.object.clone(),
        }
    }
}

/// Compiles a script.
///
/// # Errors
/// What is wrong with it, in the order of the text.
pub fn compile(text: &str, host: &dyn Host, options: &CompileOptions) -> Result<Compiled, Vec<Diagnostic>> {
    let expanded = expand(&parse(text)?, &options.expand)?;
    let checked = check(&expanded, text, host, &options.check)?;
    compile_checked(expanded.script, checked, &lower_options(text, host, options))
}

fn lower_options(text: &str, host: &dyn Host, options: &CompileOptions) -> LowerOptions {
    let features = host.features();
    LowerOptions {
        name: options.name.clone(),
        target: options.target,
        comm: options.comm,
        bare: options.bare,
        ring_bytes: options.ring_bytes,
        possible_cpus: features.possible_cpus,
        pid_namespace: features.pid_namespace,
        target_pid: options.target_pid,
        begin_ns: options.begin_ns,
        task: task_offsets(host),
        typed_task: features.typed_task,
        compat: CompatPlace::find(host.types()),
        unwind: text.contains("dw_ustack").then(|| MappingOffsets::of(host.types())).flatten().map(|offsets| {
            let (rows, files) = options.unwind;
            Tables { offsets, rows, files }
        }),
        per_cpu_offset: host.kernel_symbol("__per_cpu_offset"),
        ..LowerOptions::new(text, features.architecture)
    }
}

/// Where things are in the kernel's `struct task_struct`.
fn task_offsets(host: &dyn Host) -> Option<TaskOffsets> {
    let types = host.types();
    let task = types.find(TypeKind::Struct, "task_struct")?;
    let offset = |name| u32::try_from(types.field(task, name)?.byte_offset()).ok();
    Some(TaskOffsets {
        comm: offset("comm")?,
        tgid: offset("tgid")?,
        pid: offset("pid")?,
        group_leader: offset("group_leader")?,
        real_parent: offset("real_parent")?,
    })
}

/// Compiles a script that is checked; `script` is only kept.
///
/// # Errors
/// What cannot be made into programs that a kernel accepts.
pub fn compile_checked(
    script: ast::Script,
    checked: hir::TypedScript,
    options: &LowerOptions,
) -> Result<Compiled, Vec<Diagnostic>> {
    let limit = checked.config.on_stack_limit;
    let (lowered, codes) = match attempt(&checked, options, limit) {
        // What does not fit on the stack is kept off it.
        Err(Failure::Stack(_)) if limit > 0 => attempt(&checked, options, 0),
        other => other,
    }
    .map_err(|failure| match failure {
        Failure::Diagnostics(diagnostics) => diagnostics,
        Failure::Stack(diagnostic) => vec![*diagnostic],
    })?;
    let Lowered { programs, mut plan, .. } = lowered;
    plan.warnings.clone_from(&checked.warnings);
    let object = object(&codes.iter().collect::<Vec<_>>()).map_err(|error| {
        vec![Diagnostic::error(Span::default(), format!("the programs do not make an object file: {error}"))]
    })?;
    Ok(Compiled { object, codes, plan, script, checked, programs })
}

enum Failure {
    Diagnostics(Vec<Diagnostic>),
    /// A program needs more stack than there is.
    Stack(Box<Diagnostic>),
}

fn attempt(script: &hir::TypedScript, options: &LowerOptions, limit: u32) -> Result<(Lowered, Vec<Code>), Failure> {
    let lowered = lower_within(script, options, limit).map_err(Failure::Diagnostics)?;
    let mut codes = Vec::with_capacity(lowered.programs.len());
    for (program, span) in lowered.programs.iter().zip(&lowered.spans) {
        match crate::compile(program) {
            Ok(code) => codes.push(code),
            Err(error @ CompileError::Stack { .. }) => {
                return Err(Failure::Stack(Box::new(refused(*span, &error))));
            }
            Err(error) => return Err(Failure::Diagnostics(vec![refused(*span, &error)])),
        }
    }
    Ok((lowered, codes))
}

/// Why a probe cannot be a program, in terms of the script.
fn refused(probe: Span, error: &CompileError) -> Diagnostic {
    let (message, hint) = match error {
        CompileError::Stack { bytes, most, .. } => (
            format!("this probe needs {bytes} bytes of stack; a program has {most}"),
            "use fewer variables at the same time, or do parts of it in a second probe at the same place",
        ),
        CompileError::Length { instructions, .. } => (
            format!("this probe becomes {instructions} instructions, too many for one program"),
            "use a loop instead of `unroll`, or do parts of it in a second probe at the same place",
        ),
        CompileError::Frames { frames, most, .. } => (
            format!("the loops of this probe are {frames} deep in each other; the kernel allows {most}"),
            "nest fewer loops",
        ),
        other => {
            (format!("this probe cannot be compiled: {other}"), "this is a fault of the compiler; please report it")
        }
    };
    Diagnostic::error(probe, message).hint(hint)
}
