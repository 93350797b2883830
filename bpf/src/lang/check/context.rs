//! What a probe's body finds: the kind of its attach points, its arguments, the registers.

use std::sync::Arc;

use bathyscope_catalog::{EventFormat, constants::X86_DEBUG_REGISTERS, types::TypeId};
use bathyscope_plan::{Architecture, ProgramType, Space, UsdtArgument};

use super::variables::ProgramVariables;
use crate::lang::hir::Context;

/// A kind of attach point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PointKind {
    Begin,
    End,
    Signal,
    Tracepoint,
    RawTracepoint,
    Kprobe,
    Kretprobe,
    Fentry,
    Fexit,
    Uprobe,
    Uretprobe,
    Usdt,
    Profile,
    Interval,
    Software,
    Hardware,
    Watchpoint,
    Iter,
}

impl PointKind {
    pub(super) fn of(provider: &str) -> Option<Self> {
        Some(match provider {
            "begin" => Self::Begin,
            "end" => Self::End,
            "self" => Self::Signal,
            "tracepoint" => Self::Tracepoint,
            "rawtracepoint" => Self::RawTracepoint,
            "kprobe" => Self::Kprobe,
            "kretprobe" => Self::Kretprobe,
            "fentry" => Self::Fentry,
            "fexit" => Self::Fexit,
            "uprobe" => Self::Uprobe,
            "uretprobe" => Self::Uretprobe,
            "usdt" => Self::Usdt,
            "profile" => Self::Profile,
            "interval" => Self::Interval,
            "software" => Self::Software,
            "hardware" => Self::Hardware,
            "watchpoint" => Self::Watchpoint,
            "iter" => Self::Iter,
            _ => return None,
        })
    }

    /// The provider's name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Begin => "begin",
            Self::End => "end",
            Self::Signal => "self",
            Self::Tracepoint => "tracepoint",
            Self::RawTracepoint => "rawtracepoint",
            Self::Kprobe => "kprobe",
            Self::Kretprobe => "kretprobe",
            Self::Fentry => "fentry",
            Self::Fexit => "fexit",
            Self::Uprobe => "uprobe",
            Self::Uretprobe => "uretprobe",
            Self::Usdt => "usdt",
            Self::Profile => "profile",
            Self::Interval => "interval",
            Self::Software => "software",
            Self::Hardware => "hardware",
            Self::Watchpoint => "watchpoint",
            Self::Iter => "iter",
        }
    }

    /// What `probetype` is there.
    pub(super) fn probe_type(self) -> &'static str {
        match self {
            Self::Begin | Self::End | Self::Signal => "special",
            other => other.name(),
        }
    }

    /// The type of its programs.
    pub(super) fn program(self) -> ProgramType {
        match self {
            Self::Begin | Self::End | Self::Signal => ProgramType::Run,
            Self::Tracepoint => ProgramType::Tracepoint,
            Self::RawTracepoint => ProgramType::RawTracepoint,
            Self::Kprobe | Self::Kretprobe => ProgramType::Kprobe,
            Self::Fentry => ProgramType::Fentry,
            Self::Fexit => ProgramType::Fexit,
            Self::Uprobe | Self::Uretprobe | Self::Usdt => ProgramType::Uprobe,
            Self::Profile | Self::Interval | Self::Software | Self::Hardware | Self::Watchpoint => {
                ProgramType::PerfEvent
            }
            Self::Iter => ProgramType::Iterator,
        }
    }

    pub(super) fn context(self) -> Context {
        match self {
            Self::Begin | Self::End | Self::Signal => Context::None,
            Self::Tracepoint => Context::Tracepoint,
            Self::RawTracepoint | Self::Fentry | Self::Fexit | Self::Iter => Context::Words,
            Self::Kprobe | Self::Kretprobe | Self::Uprobe | Self::Uretprobe | Self::Usdt => Context::Registers,
            Self::Profile | Self::Interval | Self::Software | Self::Hardware | Self::Watchpoint => Context::PerfEvent,
        }
    }

    /// Whether it is in code of user space.
    pub(super) fn is_user(self) -> bool {
        matches!(self, Self::Uprobe | Self::Uretprobe | Self::Usdt)
    }

    /// Whether each attach point is loaded by itself: the kernel ties such a program to one place when it is loaded.
    pub(super) fn is_tied(self) -> bool {
        matches!(self, Self::RawTracepoint | Self::Fentry | Self::Fexit | Self::Iter)
    }

    /// Whether there are registers of the place that was hit.
    pub(super) fn has_registers(self) -> bool {
        matches!(self.context(), Context::Registers | Context::PerfEvent)
    }
}

/// One 8-byte word of the context.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Word {
    pub(super) name: String,
    pub(super) ty: TypeId,
    pub(super) offset: u32,
}

/// What `args` is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Args {
    /// There is none; what to use instead.
    None(String),
    /// It cannot be known because the attach point does not exist: nothing is said about it any more.
    Unknown,
    /// A tracepoint's record.
    Format { format: Arc<EventFormat>, name: String, syscall: bool },
    /// Words of the context; for `iter` it is `ctx` that has them.
    Words { name: String, words: Vec<Word> },
    /// A marker's arguments.
    Usdt(Vec<UsdtArgument>),
    /// Variables of a program, by its debug information.
    Program(ProgramVariables),
}

/// What `retval` is.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Returned {
    /// There is none.
    None,
    Unknown,
    /// A register; of this type if known.
    Register(Option<TypeId>),
    /// A word of the context.
    Word(Word),
}

/// What a body finds at its attach points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Shape {
    pub(super) kind: PointKind,
    pub(super) args: Args,
    pub(super) returned: Returned,
    /// Where addresses point that say nothing themselves.
    pub(super) space: Space,
    /// The first attach point as written, for `uaddr` and messages.
    pub(super) point: String,
    /// In user space: the file's path and the place's address in the file's own numbering, of the first attach point.
    pub(super) place: Option<(String, u64)>,
    /// Whether it stands for attach points that do not exist.
    pub(super) unknown: bool,
}

impl Shape {
    pub(super) fn new(kind: PointKind, point: &str) -> Self {
        let instead = match kind {
            PointKind::Kprobe => "use `arg0`, `arg1`, …",
            PointKind::Uprobe => "use `arg0`, `arg1`, …; `args` needs the debug information of the program",
            PointKind::Usdt => "use `arg0`, `arg1`, …",
            PointKind::Kretprobe | PointKind::Uretprobe => {
                "at the return there is only `retval`; keep arguments in a map at the entry"
            }
            PointKind::Iter => "use `ctx`",
            _ => "",
        };
        Self {
            kind,
            args: Args::None(instead.to_owned()),
            returned: match kind {
                PointKind::Kretprobe | PointKind::Uretprobe => Returned::Register(None),
                _ => Returned::None,
            },
            space: if kind.is_user() { Space::User } else { Space::Kernel },
            point: point.to_owned(),
            place: None,
            unknown: false,
        }
    }

    /// For an attach point that does not exist: all of the body is checked that does not depend on it.
    pub(super) fn unknown(kind: PointKind, point: &str) -> Self {
        Self { args: Args::Unknown, returned: Returned::Unknown, unknown: true, ..Self::new(kind, point) }
    }
}

/// Registers by their names, with their offset in `pt_regs`.
pub(super) fn registers(architecture: Architecture) -> &'static [(&'static str, u32)] {
    match architecture {
        Architecture::X86_64 => &[
            ("r15", 0),
            ("r14", 8),
            ("r13", 16),
            ("r12", 24),
            ("bp", 32),
            ("bx", 40),
            ("r11", 48),
            ("r10", 56),
            ("r9", 64),
            ("r8", 72),
            ("ax", 80),
            ("cx", 88),
            ("dx", 96),
            ("si", 104),
            ("di", 112),
            ("orig_ax", 120),
            ("ip", 128),
            ("cs", 136),
            ("flags", 144),
            ("sp", 152),
            ("ss", 160),
        ],
        Architecture::Aarch64 => &[
            ("r0", 0),
            ("r1", 8),
            ("r2", 16),
            ("r3", 24),
            ("r4", 32),
            ("r5", 40),
            ("r6", 48),
            ("r7", 56),
            ("r8", 64),
            ("r9", 72),
            ("r10", 80),
            ("r11", 88),
            ("r12", 96),
            ("r13", 104),
            ("r14", 112),
            ("r15", 120),
            ("r16", 128),
            ("r17", 136),
            ("r18", 144),
            ("r19", 152),
            ("r20", 160),
            ("r21", 168),
            ("r22", 176),
            ("r23", 184),
            ("r24", 192),
            ("r25", 200),
            ("r26", 208),
            ("r27", 216),
            ("r28", 224),
            ("r29", 232),
            ("r30", 240),
            ("sp", 248),
            ("pc", 256),
            ("pstate", 264),
        ],
    }
}

/// The offset of a register in `pt_regs`. Names that debuggers use are known too.
pub(super) fn register(architecture: Architecture, name: &str) -> Option<u32> {
    let table = registers(architecture);
    let find = |name: &str| table.iter().find(|(known, _)| *known == name).map(|(_, offset)| *offset);
    find(name).or_else(|| match architecture {
        // rax … rip, as debuggers have them.
        Architecture::X86_64 => name.strip_prefix('r').and_then(find),
        Architecture::Aarch64 => match name {
            "ip" => Some(256),
            "lr" => find("r30"),
            "fp" => find("r29"),
            _ => name.strip_prefix('x').filter(|rest| rest.parse::<u8>().is_ok()).and_then(|n| find(&format!("r{n}"))),
        },
    })
}

/// The offset in `pt_regs` of the register that has a number in debug information; none if it is not saved there.
pub(super) fn debug_register(architecture: Architecture, number: u8) -> Option<u32> {
    let names: &[&str] = match architecture {
        Architecture::X86_64 => &X86_DEBUG_REGISTERS,
        // They are saved in the order of their numbers, the stack pointer behind them.
        Architecture::Aarch64 => return Some(u32::from(number) * 8).filter(|offset| *offset <= 248),
    };
    register(architecture, names.get(usize::from(number))?)
}

/// The offset in `pt_regs` of an argument that is passed in a register; none if it is on the stack.
pub(super) fn argument_register(architecture: Architecture, index: u32) -> Option<u32> {
    let offsets: &[u32] = match architecture {
        Architecture::X86_64 => &[112, 104, 96, 88, 72, 64],
        Architecture::Aarch64 => &[0, 8, 16, 24, 32, 40, 48, 56],
    };
    offsets.get(index as usize).copied()
}

/// The offset in `pt_regs` of the register that a function returns in.
pub(super) fn return_register(architecture: Architecture) -> u32 {
    match architecture {
        Architecture::X86_64 => 80,
        Architecture::Aarch64 => 0,
    }
}

/// The most arguments that `argN` reaches.
pub(super) const MAX_ARGUMENTS: u32 = 32;
