//! Types of values in a script, and how they lie in memory. Shared by the checker, the lowering, and (with the plan) by
//! whoever reads what programs left in rings and maps.
//!
//! A value is either *scalar* (it fits into a register: integers, pointers, symbols, times …) or *memory* (texts,
//! buffers, tuples, structs, arrays, addresses of networks). [`Type::is_scalar`] says which.

use serde::{Deserialize, Serialize};

/// A type.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Type {
    /// No value.
    None,
    /// 0 or 1, one byte.
    Bool,
    /// A number.
    Integer {
        /// 1, 2, 4 or 8.
        bytes: u8,
        /// Whether it has a sign.
        signed: bool,
    },
    /// A number with names.
    Enum {
        /// The C name without `enum`; empty if it has none.
        name: String,
        /// 1, 2, 4 or 8.
        bytes: u8,
        /// Whether it has a sign.
        signed: bool,
        /// Names of values, filled in by the checker where the value is shown.
        names: Vec<(i64, String)>,
    },
    /// Text of at most `bytes` bytes with its final NUL; in memory `bytes` bytes, NUL-terminated and (in keys) filled up
    /// with NULs.
    Text {
        /// Room.
        bytes: u32,
    },
    /// Bytes: in memory a `u32` length, then room for `bytes` bytes.
    Buffer {
        /// Room for content.
        bytes: u32,
    },
    /// An address, 8 bytes.
    Pointer {
        /// What is there.
        to: Box<Pointee>,
        /// In whose memory.
        space: Space,
    },
    /// A C struct or union by value.
    Struct(Box<StructType>),
    /// An array by value.
    Array {
        /// Of what.
        of: Box<Type>,
        /// How many.
        count: u32,
    },
    /// Values by position, each at its natural alignment (at most 8); the gaps are always zero.
    Tuple(Vec<Type>),
    /// Values by name, laid out as a tuple.
    Record(Vec<(String, Type)>),
    /// A stack: the 8-byte id of its body in the map [`crate::Plan::kernel_stacks`] or `user_stacks`. For a user stack
    /// 16 bytes: the id, then the `u32` process id, then 4 zero bytes.
    Stack {
        /// Whether of user space.
        user: bool,
        /// How it is shown.
        mode: StackMode,
        /// The most frames.
        frames: u16,
    },
    /// A number that is shown as something else; see each.
    Shown(Shown),
    /// What a map holds whose values are aggregated.
    Aggregate(Aggregation),
}

/// Numbers shown as something else.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shown {
    /// `ksym()`: an address, 8 bytes.
    KernelSymbol,
    /// `usym()`: 16 bytes: address, `u32` process id, 4 zero bytes.
    UserSymbol,
    /// `username`: a user id, 4 bytes.
    Username,
    /// `comm(pid)`: the id of a thread or process, 4 bytes.
    ProcessName,
    /// `strerror()`: 4 bytes.
    Strerror,
    /// `signal_name()`: 4 bytes.
    SignalName,
    /// `syscall_name()`: 8 bytes.
    SyscallName,
    /// `flag_names()`: 8 bytes.
    FlagNames {
        /// The set of names, as the tables of system calls call it.
        set: String,
    },
    /// `cgroup_path()`: the cgroup's id, 8 bytes, with the filter on hierarchies.
    CgroupPath {
        /// The second argument; empty for all.
        filter: String,
    },
    /// `strftime()`: monotonic (boot) nanoseconds, 8 bytes.
    Time {
        /// The format of strftime(3).
        format: String,
        /// Which clock.
        clock: Clock,
    },
    /// `probe`: 4 bytes, index in [`crate::Plan::probes`].
    Probe,
    /// `ntop()`: 20 bytes: `u32` address family, then 16 bytes of address in network order (4 used for IPv4).
    Inet,
    /// `macaddr()`: 6 bytes, with 2 zero bytes.
    Mac,
    /// `func`: an address in kernel or user space: 16 bytes as a user symbol, process id 0 for the kernel.
    Function,
    /// `usermode` and the like stay integers. `path()`: text that `bpf_d_path` wrote.
    Path {
        /// Room, with the NUL.
        bytes: u32,
    },
}

/// Which clock a time is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Clock {
    /// `nsecs`, `nsecs(monotonic)`.
    Monotonic,
    /// `nsecs(boot)`.
    Boot,
    /// `nsecs(tai)`.
    Tai,
}

/// How stacks are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StackMode {
    /// One `symbol+offset` a line.
    #[default]
    Bpftrace,
    /// `address symbol+offset (module)`.
    Perf,
    /// Addresses only.
    Raw,
    /// Build id and offset.
    BuildId,
}

/// In whose memory a pointer points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// The kernel's.
    Kernel,
    /// The current process's.
    User,
}

/// What a pointer points to.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pointee {
    /// Nothing known.
    Void,
    /// A type of the script.
    Type(Type),
    /// A C type, by its id in the checker's type space (of the catalogue), and its name for messages.
    C {
        /// Its id.
        id: u32,
        /// Its name: `struct task_struct`.
        name: String,
    },
}

/// A struct or union by value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StructType {
    /// `struct foo`.
    pub name: String,
    /// Its id in the checker's type space.
    pub id: u32,
    /// Its size.
    pub bytes: u32,
    /// In whose memory the pointers in it point.
    pub space: Space,
    /// Its members, only where it is shown or sent whole; anonymous ones have an empty name.
    pub fields: Vec<StructField>,
}

/// A member of a struct by value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct StructField {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub offset: u32,
    /// If it is a bit field: the first bit (from the lowest of the value at `offset`) and how many.
    pub bits: Option<(u8, u8)>,
    /// Its type.
    pub ty: Type,
}

/// What an aggregation keeps for each key and CPU.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Aggregation {
    /// `u64`.
    Count,
    /// `u64` or `i64`.
    Sum {
        /// Whether values have a sign.
        signed: bool,
    },
    /// The value, then a `u64` that is 1 once it is set.
    Min {
        /// Whether values have a sign.
        signed: bool,
    },
    /// As the minimum.
    Max {
        /// Whether values have a sign.
        signed: bool,
    },
    /// The total, then the `u64` count.
    Average {
        /// Whether values have a sign.
        signed: bool,
    },
    /// As the average; shown with count, average and total.
    Stats {
        /// Whether values have a sign.
        signed: bool,
    },
    /// `u64` buckets; which one: `tracers.md`'s rule with `bits` from 0 to 5.
    Hist {
        /// Bits of precision below the power of two.
        bits: u8,
    },
    /// `u64` buckets: one below `min`, `(max - min) / step` (rounded down), one for what is above these.
    LinearHist {
        /// Lowest value of the first full bucket.
        min: i64,
        /// First value of the last bucket.
        max: i64,
        /// Width of a bucket.
        step: u64,
    },
    /// For each slot three words: value, count (1 once set; of the last value the moment of it), and the number of the
    /// interval it belongs to.
    TimeSeries {
        /// Nanoseconds of one interval.
        interval_ns: u64,
        /// An interval begins where the monotonic time and this are a multiple of it: when it does on the wall clock.
        #[serde(default)]
        phase_ns: u64,
        /// How many intervals are kept.
        slots: u32,
        /// What is kept of an interval: `count` has no value.
        of: SeriesOf,
        /// Whether values have a sign.
        signed: bool,
    },
}

/// What a time series keeps of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "as the aggregations")]
pub enum SeriesOf {
    Last,
    Sum,
    Min,
    Max,
    Average,
}

/// The most buckets that lie side by side in one value; where there are more, the bucket's number (`u64`) is the last
/// part of the key and the value is one `u64`.
pub const MAX_DENSE_BUCKETS: u32 = 512;

/// What stands in place of a bucket's number in the key of an element that is no bucket, but says that there are some. Only
/// maps whose elements a script asks for as such have them.
pub const MARK_BUCKET: u64 = u64::MAX;

impl Aggregation {
    /// How many buckets, for histograms.
    pub fn buckets(&self) -> Option<u32> {
        match self {
            // 0 for negatives, 2^k small values one by one, then 2^k for each of the powers from 2^k to 2^63.
            Self::Hist { bits } => Some(1 + (1 << bits) + (64 - u32::from(*bits)) * (1 << bits)),
            Self::LinearHist { min, max, step } => {
                let span = max.abs_diff(*min);
                // What is above the last full bucket counts as above all.
                u32::try_from(span / (*step).max(1)).ok()?.checked_add(2)
            }
            _ => None,
        }
    }

    /// Whether the bucket's number is part of the key.
    pub fn is_sparse(&self) -> bool {
        self.buckets().is_some_and(|buckets| buckets > MAX_DENSE_BUCKETS)
    }

    /// Bytes for each key and CPU.
    pub fn bytes(&self) -> u32 {
        match self {
            Self::Count | Self::Sum { .. } => 8,
            Self::Min { .. } | Self::Max { .. } | Self::Average { .. } | Self::Stats { .. } => 16,
            Self::Hist { .. } | Self::LinearHist { .. } if self.is_sparse() => 8,
            Self::Hist { .. } | Self::LinearHist { .. } => 8 * self.buckets().unwrap_or(1),
            Self::TimeSeries { slots, .. } => 24 * slots,
        }
    }
}

impl Type {
    /// An unsigned number of 8 bytes.
    pub const U64: Self = Self::Integer { bytes: 8, signed: false };
    /// A signed number of 8 bytes.
    pub const I64: Self = Self::Integer { bytes: 8, signed: true };

    /// Whether values are kept in a register.
    pub fn is_scalar(&self) -> bool {
        match self {
            Self::Bool | Self::Integer { .. } | Self::Enum { .. } | Self::Pointer { .. } => true,
            Self::Stack { user, .. } => !user,
            Self::Shown(shown) => {
                !matches!(shown, Shown::UserSymbol | Shown::Inet | Shown::Mac | Shown::Function | Shown::Path { .. })
            }
            _ => false,
        }
    }

    /// Whether a record of the ring carries it as its length and then its content, after everything of fixed size.
    pub fn has_length(&self) -> bool {
        matches!(self, Self::Text { .. } | Self::Buffer { .. } | Self::Shown(Shown::Path { .. }))
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> u32 {
        match self {
            Self::None => 0,
            Self::Bool => 1,
            Self::Integer { bytes, .. } | Self::Enum { bytes, .. } => u32::from(*bytes),
            Self::Text { bytes } => *bytes,
            Self::Buffer { bytes } => bytes.saturating_add(4),
            Self::Pointer { .. } => 8,
            Self::Struct(it) => it.bytes,
            Self::Array { of, count } => of.bytes().saturating_mul(*count),
            Self::Tuple(parts) => layout(parts.iter()).1,
            Self::Record(parts) => layout(parts.iter().map(|(_, ty)| ty)).1,
            Self::Stack { user, .. } => {
                if *user {
                    16
                } else {
                    8
                }
            }
            Self::Shown(shown) => shown.bytes(),
            Self::Aggregate(aggregation) => aggregation.bytes(),
        }
    }

    /// The alignment of a value in a tuple, key, or record of a ring: a power of two, at most 8.
    pub fn alignment(&self) -> u32 {
        match self {
            Self::Bool | Self::Text { .. } | Self::None => 1,
            Self::Integer { bytes, .. } | Self::Enum { bytes, .. } => u32::from(*bytes),
            Self::Buffer { .. } => 4,
            Self::Array { of, .. } => of.alignment(),
            Self::Tuple(parts) => parts.iter().map(Self::alignment).max().unwrap_or(1),
            Self::Record(parts) => parts.iter().map(|(_, ty)| ty.alignment()).max().unwrap_or(1),
            Self::Shown(shown) => match shown {
                Shown::Username
                | Shown::ProcessName
                | Shown::Strerror
                | Shown::SignalName
                | Shown::Probe
                | Shown::Inet => 4,
                Shown::Path { .. } => 1,
                _ => 8,
            },
            _ => 8,
        }
    }
}

impl Shown {
    fn bytes(&self) -> u32 {
        match self {
            Self::Username | Self::ProcessName | Self::Strerror | Self::SignalName | Self::Probe => 4,
            Self::KernelSymbol
            | Self::SyscallName
            | Self::FlagNames { .. }
            | Self::CgroupPath { .. }
            | Self::Time { .. }
            | Self::Mac => 8,
            Self::UserSymbol | Self::Function => 16,
            Self::Inet => 20,
            Self::Path { bytes } => *bytes,
        }
    }
}

/// Where each part lies, and how many bytes they take together, rounded up to the greatest alignment among them.
pub fn layout<'a>(parts: impl Iterator<Item = &'a Type>) -> (Vec<u32>, u32) {
    let (mut at, mut most, mut offsets) = (0_u32, 1, Vec::new());
    for part in parts {
        let alignment = part.alignment().max(1);
        most = most.max(alignment);
        at = at.next_multiple_of(alignment);
        offsets.push(at);
        at = at.saturating_add(part.bytes());
    }
    (offsets, at.checked_next_multiple_of(most).unwrap_or(u32::MAX))
}
