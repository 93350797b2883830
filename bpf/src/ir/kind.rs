//! What a program is attached to.

use serde::{Deserialize, Serialize};

/// What a program is attached to; decides what its context is and what it may return.
///
/// The section name is what aya's loader knows the kind by. Where the kernel wants an `expected_attach_type` that aya
/// does not set (all the `multi` and `session` kinds of kernel functions), [`Self::expected_attach_type`] gives it, and
/// whoever loads the program passes it to `BPF_PROG_LOAD` itself, with [`crate::Code::instructions`] (whole: only the
/// descriptors of the maps are missing) and [`crate::type_info`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProgramKind {
    /// A tracepoint: the context is its record, of which the first 8 bytes are hidden.
    Tracepoint,
    /// A raw tracepoint: the context is an array of 8-byte arguments, all numbers. Programs that are run by
    /// `BPF_PROG_TEST_RUN` (`begin`, `end`, `self:signal`) are of this kind; they get the bytes passed to the test run.
    RawTracepoint,
    /// A raw tracepoint with types (`tp_btf`): the context is an array of 8-byte arguments; those that are pointers are
    /// known to the verifier as what they point to ([`super::Op::Untype`]). The target is the tracepoint's name.
    BtfTracepoint,
    /// The entry of a kernel function: the context is the registers (`struct pt_regs`).
    Kprobe,
    /// The return of a kernel function: the context is the registers.
    Kretprobe,
    /// A place in a user program: the context is its registers.
    Uprobe,
    /// The return of a function of a user program: the context is its registers.
    Uretprobe,
    /// The entry or return of many kernel functions at once (5.18): the context is the registers.
    KprobeMulti,
    /// The entry and the return of many kernel functions (6.10): the context is the registers. What is returned at the
    /// entry tells whether the program runs at the return: 0 yes, 1 no.
    KprobeSession,
    /// Many places in a user program at once (6.6): the context is its registers.
    UprobeMulti,
    /// A perf event: returns 1 to keep the sample, 0 to drop it. The context is `struct bpf_perf_event_data`.
    PerfEvent,
    /// The entry of a kernel function, by trampoline: the context is an array of 8-byte arguments, pointers of known
    /// type among them. The target is the function's name.
    Fentry,
    /// The return of a kernel function, by trampoline: after the arguments comes the result. The target is the
    /// function's name.
    Fexit,
    /// An iterator over things of the kernel: the context is an array of 8-byte pointers of known type. The target is
    /// the iterator's name (`task`, `task_file`, `task_vma`, `bpf_map`, …). Returns 0; 1 shows the item again.
    Iterator,
}

impl ProgramKind {
    /// The section name by which loaders know the kind.
    pub fn section(self) -> &'static str {
        match self {
            Self::Tracepoint => "tracepoint",
            Self::RawTracepoint => "raw_tp",
            Self::BtfTracepoint => "tp_btf",
            Self::Kprobe | Self::KprobeMulti | Self::KprobeSession => "kprobe",
            Self::Kretprobe => "kretprobe",
            Self::Uprobe | Self::UprobeMulti => "uprobe",
            Self::Uretprobe => "uretprobe",
            Self::PerfEvent => "perf_event",
            Self::Fentry => "fentry",
            Self::Fexit => "fexit",
            Self::Iterator => "iter",
        }
    }

    /// The kernel's number of the program type (`enum bpf_prog_type`).
    pub fn program_type(self) -> u32 {
        match self {
            Self::Kprobe
            | Self::Kretprobe
            | Self::Uprobe
            | Self::Uretprobe
            | Self::KprobeMulti
            | Self::KprobeSession
            | Self::UprobeMulti => 2,
            Self::Tracepoint => 5,
            Self::PerfEvent => 7,
            Self::RawTracepoint => 17,
            Self::BtfTracepoint | Self::Fentry | Self::Fexit | Self::Iterator => 26,
        }
    }

    /// The kernel's number of the attach type (`enum bpf_attach_type`) that must be given when the program is loaded; 0
    /// where none is. aya gives those of typed programs by itself, and none of the multi and session kinds.
    pub fn expected_attach_type(self) -> u32 {
        match self {
            Self::BtfTracepoint => 23,
            Self::Fentry => 24,
            Self::Fexit => 25,
            Self::Iterator => 28,
            Self::KprobeMulti => 42,
            Self::UprobeMulti => 48,
            Self::KprobeSession => 56,
            Self::Tracepoint
            | Self::RawTracepoint
            | Self::Kprobe
            | Self::Kretprobe
            | Self::Uprobe
            | Self::Uretprobe
            | Self::PerfEvent => 0,
        }
    }

    /// Whether the context is an array of 8-byte values, some of them pointers whose type the verifier knows.
    pub fn has_typed_context(self) -> bool {
        matches!(self, Self::BtfTracepoint | Self::Fentry | Self::Fexit | Self::Iterator)
    }

    /// Whether the program needs a target when it is loaded.
    pub fn has_target(self) -> bool {
        self.has_typed_context()
    }
}
