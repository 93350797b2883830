//! What is known about a host: what it can do, and places in user space that a script's attach points mean.

use bathyscope_capture::ProgramData;
use serde::{Deserialize, Serialize};

use crate::{UsdtArgument, UserFile};

/// What the console found for one attach point of the script.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UserPlaces {
    /// The attach point's text, as in the script.
    pub point: String,
    /// The places; empty if there is none, then `trouble` says why.
    pub places: Vec<UserPlace>,
    /// Why there is none, with what would match: "no function `reedline` in /bin/bash; did you mean `readline`?"
    pub trouble: String,
    /// What is to be known before it is used, such as the cost of a single-stepped instruction.
    pub warnings: Vec<String>,
    /// The symbols that the script asks for with `uaddr()`, of the files of `places`; those that are not there are left out.
    #[serde(default)]
    pub symbols: Vec<UserSymbol>,
    /// What debug information says of variables at the places, where the script asks for `args` there.
    #[serde(default)]
    pub data: ProgramData,
    /// Why it says nothing, or not of all places; may be empty.
    #[serde(default)]
    pub data_missing: String,
}

/// A symbol of a file in user space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UserSymbol {
    /// The file's path, as in [`UserFile::path`].
    pub path: String,
    /// Its name.
    pub name: String,
    /// Its address in the file's own numbering.
    pub address: u64,
    /// Its size; 0 if not known.
    pub bytes: u64,
    /// Whether the file is loaded where its own numbering says, so that the address is that in every process.
    pub fixed: bool,
}

/// One place in user space.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct UserPlace {
    /// The file.
    pub file: UserFile,
    /// The place in it, in bytes of the file.
    pub offset: u64,
    /// The same place as an address in the file's own numbering.
    #[serde(default)]
    pub address: u64,
    /// The function or marker's name.
    pub symbol: String,
    /// For markers: the provider.
    pub provider: String,
    /// For markers: place of the semaphore in the file; 0 for none.
    pub semaphore: u64,
    /// For markers: the arguments.
    pub arguments: Vec<UsdtArgument>,
}

/// What the kernel and this host can do; found by trying.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Features {
    /// `major * 1000 + minor`: 6018.
    pub kernel: u32,
    /// `x86_64` or `aarch64`.
    pub architecture: Architecture,
    /// CPUs that may ever run, for loops over per-CPU values.
    pub possible_cpus: u32,
    /// Kernel functions can be probed.
    pub kprobe: bool,
    /// Many with one link.
    pub kprobe_multi: bool,
    /// Kernel functions through trampolines.
    pub fentry: bool,
    /// User code can be probed.
    pub uprobe: bool,
    /// Many with one link.
    pub uprobe_multi: bool,
    /// There is a performance monitoring unit.
    pub pmu: bool,
    /// Hardware breakpoints are accepted.
    pub watchpoint: bool,
    /// Programs may use BTF raw tracepoints.
    pub raw_tracepoint: bool,
    /// Iterators.
    pub iterator: bool,
    /// Programs may look into the current task by its type, which costs less than to ask helpers what is there.
    pub typed_task: bool,
    /// Lockdown: `none`, `integrity`, `confidentiality`.
    pub lockdown: String,
    /// Device and inode of the pid namespace in which process ids are meant, if not the initial one.
    pub pid_namespace: Option<(u64, u64)>,
}

/// A machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "named as the kernel names them")]
pub enum Architecture {
    X86_64,
    Aarch64,
}
