//! BPF programs, and where they are attached: those of others too, which are only looked at.

use serde::{Deserialize, Serialize};

/// A BPF program that the kernel has loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BpfProgram {
    /// Its number, by which `bpftool` knows it too.
    pub id: u32,
    /// `enum bpf_prog_type`.
    pub kind: u32,
    /// Its name, at most 15 bytes that whoever loaded it has chosen, made visible; may be empty.
    pub name: String,
    /// A digest of its instructions.
    pub tag: u64,
    /// When it was loaded, in nanoseconds since boot.
    pub loaded_ns: u64,
    /// The user who loaded it.
    pub uid: u32,
    /// Bytes of its instructions, as the verifier left them.
    pub bytes: u32,
    /// How many maps it uses.
    pub maps: u32,
    /// Nanoseconds that it ran while the kernel's statistics were on.
    pub run_time_ns: u64,
    /// How often it ran while they were on.
    pub run_count: u64,
    /// For a typed program: the number of the type information that its target is in; 0 for none.
    pub target_object: u32,
    /// For a typed program: the number of its target in there.
    pub target_type: u32,
    /// Whether this agent loaded it.
    pub ours: bool,
}

/// What holds a program where it is attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BpfLink {
    /// Its number.
    pub id: u32,
    /// The number of the program.
    pub program: u32,
    /// Where.
    pub place: BpfPlace,
}

/// Where a program is attached. Names and paths are what the kernel tells, made visible.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum BpfPlace {
    /// This kernel does not tell, or it is of another kind.
    Other {
        /// `enum bpf_link_type`.
        kind: u32,
    },
    /// At a raw tracepoint.
    RawTracepoint {
        /// Its name.
        name: String,
    },
    /// At what a typed program was loaded for: see [`BpfProgram::target_type`].
    Typed {
        /// `enum bpf_attach_type`.
        attach: u32,
    },
    /// At a control group.
    Cgroup {
        /// Its number.
        id: u64,
        /// `enum bpf_attach_type`.
        attach: u32,
    },
    /// At an iterator.
    Iterator {
        /// What it walks over.
        name: String,
    },
    /// At a network interface.
    Interface {
        /// Its number.
        index: u32,
    },
    /// At a network namespace.
    Namespace {
        /// Its inode.
        inode: u32,
    },
    /// At a function of the kernel.
    Kprobe {
        /// Its name; empty if the kernel does not tell.
        function: String,
        /// Bytes behind its begin.
        offset: u32,
        /// Whether where it returns.
        at_return: bool,
    },
    /// At functions of the kernel.
    Kprobes {
        /// How many.
        count: u32,
        /// Whether where they return.
        at_return: bool,
    },
    /// In a program's file.
    Uprobe {
        /// Its path.
        path: String,
        /// Where in the file.
        offset: u32,
        /// Whether where the function returns.
        at_return: bool,
    },
    /// At places of a program's file.
    Uprobes {
        /// Its path.
        path: String,
        /// How many.
        count: u32,
        /// Whether where the functions return.
        at_return: bool,
    },
    /// At a tracepoint.
    Tracepoint {
        /// Its name, without its system.
        name: String,
    },
    /// At an event of perf.
    PerfEvent {
        /// `enum perf_type_id`.
        kind: u32,
        /// Which, in the numbering of its kind.
        config: u64,
    },
}
