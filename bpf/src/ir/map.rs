//! Maps.

use bathyscope_plan::MapType;
use serde::{Deserialize, Serialize};

/// The kind of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MapKind {
    /// Keys to values.
    Hash,
    /// Values by index.
    Array,
    /// Keys to one value for each CPU.
    PerCpuHash,
    /// One value for each index and CPU. The fastest for counting: on new kernels the lookup is a few instructions.
    PerCpuArray,
    /// Keys to values; the one that was used longest ago gives way to a new one.
    LruHash,
    /// Keys to one value for each CPU; the one that was used longest ago gives way to a new one.
    LruPerCpuHash,
    /// Stacks by id. A value is as many 8-byte addresses as it has room for.
    StackTrace,
    /// A ring buffer shared by all CPUs.
    RingBuffer,
    /// One value at a constant address ([`super::Op::GlobalAddress`]): an array of one entry that programs reach without
    /// a lookup. What the kernel shows is an array.
    Global,
    /// As [`Self::Global`], but of given content that nobody can change ([`MapDefinition::content`]): texts for
    /// [`super::Helper::Strncmp`], tables.
    Constant,
}

impl From<MapType> for MapKind {
    fn from(kind: MapType) -> Self {
        match kind {
            MapType::Hash => Self::Hash,
            MapType::LruHash => Self::LruHash,
            MapType::PerCpuHash => Self::PerCpuHash,
            MapType::PerCpuLruHash => Self::LruPerCpuHash,
            MapType::Array => Self::Array,
            MapType::PerCpuArray => Self::PerCpuArray,
        }
    }
}

impl MapKind {
    /// The kernel's number (`enum bpf_map_type`).
    pub fn number(self) -> u32 {
        match self {
            Self::Hash => 1,
            Self::Array | Self::Global | Self::Constant => 2,
            Self::PerCpuHash => 5,
            Self::PerCpuArray => 6,
            Self::StackTrace => 7,
            Self::LruHash => 9,
            Self::LruPerCpuHash => 10,
            Self::RingBuffer => 27,
        }
    }

    /// Whether every CPU has values of its own.
    pub fn is_per_cpu(self) -> bool {
        matches!(self, Self::PerCpuHash | Self::PerCpuArray | Self::LruPerCpuHash)
    }

    /// Whether its keys are indexes.
    pub fn is_array(self) -> bool {
        matches!(self, Self::Array | Self::PerCpuArray | Self::Global | Self::Constant)
    }

    /// Whether its value has a constant address.
    pub fn is_global(self) -> bool {
        matches!(self, Self::Global | Self::Constant)
    }
}

/// A map. Maps of one name in one object are one map, and must be alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MapDefinition {
    /// Its name, unique among different maps of an object: letters, digits and `_`. The kernel keeps 15 characters.
    pub name: String,
    /// Its kind.
    pub kind: MapKind,
    /// Bytes of a key; 0 for a ring.
    pub key_bytes: u32,
    /// Bytes of a value; 0 for a ring.
    pub value_bytes: u32,
    /// The most entries; for a ring the bytes of its data area, a power of two and a multiple of the page.
    pub max_entries: u32,
    /// The kernel's flags (`BPF_F_…`): [`Self::NO_PREALLOC`].
    pub flags: u32,
    /// What a [`MapKind::Constant`] holds, or a [`MapKind::Global`] at first (empty: zeros); else empty.
    pub content: Vec<u8>,
}

impl MapDefinition {
    /// Entries of a hash are allocated when they are made, not all at once. Refused for LRU hashes.
    pub const NO_PREALLOC: u32 = 1;
    /// Programs cannot write.
    pub const READ_ONLY_PROGRAM: u32 = 1 << 7;

    /// A map without flags.
    pub fn new(name: impl Into<String>, kind: MapKind, key_bytes: u32, value_bytes: u32, max_entries: u32) -> Self {
        Self { name: name.into(), kind, key_bytes, value_bytes, max_entries, flags: 0, content: Vec::new() }
    }

    /// A ring buffer of `bytes` bytes: a power of two, at least a page.
    pub fn ring(name: impl Into<String>, bytes: u32) -> Self {
        Self::new(name, MapKind::RingBuffer, 0, 0, bytes)
    }

    /// A map of stacks of at most `depth` addresses.
    pub fn stacks(name: impl Into<String>, depth: u32, max_entries: u32) -> Self {
        Self::new(name, MapKind::StackTrace, 4, depth.saturating_mul(8), max_entries)
    }

    /// Memory of `bytes` bytes for each CPU, reached by [`super::Op::ArrayValue`] with index 0.
    pub fn scratch(name: impl Into<String>, bytes: u32) -> Self {
        Self::new(name, MapKind::PerCpuArray, 4, bytes, 1)
    }

    /// One value of `bytes` bytes at a constant address, zero at first.
    pub fn global(name: impl Into<String>, bytes: u32) -> Self {
        Self::new(name, MapKind::Global, 4, bytes, 1)
    }

    /// Content that does not change, at a constant address.
    pub fn constant(name: impl Into<String>, content: Vec<u8>) -> Self {
        let bytes = u32::try_from(content.len()).unwrap_or(u32::MAX);
        Self { content, ..Self::new(name, MapKind::Constant, 4, bytes, 1) }
    }

    /// With these flags.
    #[must_use]
    pub fn with_flags(self, flags: u32) -> Self {
        Self { flags, ..self }
    }

    /// The name under which the loader and the kernel know it: globals and constants are sections of the object, and
    /// are called by those.
    pub fn object_name(&self) -> String {
        match self.kind {
            MapKind::Global if self.content.is_empty() => format!(".bss.{}", self.name),
            MapKind::Global => format!(".data.{}", self.name),
            MapKind::Constant => format!(".rodata.{}", self.name),
            _ => self.name.clone(),
        }
    }
}
