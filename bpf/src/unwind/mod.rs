//! Finds the caller of a frame of user space in the kernel: what a process has mapped where, and what the rows of a file
//! ([`bathyscope_catalog::elf::Rule`]) say there.
//!
//! The kernel's helper for this (`bpf_find_vma`) takes the lock of the process's memory: it fails while anybody changes the
//! mappings, and where interrupts are off it works once for each run. So the tree of mappings is read as memory, which
//! needs no lock and works in every program. What is read so may be changing; a mapping counts only if it says itself that
//! it holds the address, and a wrong one costs the rest of one stack.
//!
//! Files are known by the address of their inode in the kernel, which is the same in every namespace and under every file
//! system that lies over others. Whoever fills the tables maps each file and runs [`register_program`], which looks the
//! mapping up as the walk does; while the file stays mapped its inode stays where it is.

mod mapping;
mod row;

pub(crate) use mapping::{Mapping, find_function, read_kernel, read_user};
pub use mapping::{REGISTERED_MAP, register_program};
pub(crate) use row::rule_at;

use bathyscope_catalog::types::{TypeKind, Types};

use crate::ir::{MapDefinition, MapKind};

/// The rows of all files, one file after the other: an array of [`CHUNK_ROWS`] rows in each value.
pub const ROWS_MAP: &str = "unwind_rows";
/// Which rows are those of a file: from the address of its inode to `u32` first row and `u32` number of rows.
pub const FILES_MAP: &str = "unwind_files";
/// Rows in one value of [`ROWS_MAP`].
pub const CHUNK_ROWS: u32 = 512;
/// The most rows of all files.
pub const MAX_ROWS: u32 = bathyscope_plan::MAX_UNWIND_ROWS;
/// The most files.
pub const MAX_FILES: u32 = bathyscope_plan::MAX_UNWIND_FILES;

/// Where things are in the kernel's structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "named as the structures and their members")]
pub struct MappingOffsets {
    pub task_mm: u32,
    /// The root of the tree, from `struct mm_struct` on.
    pub mm_root: u32,
    pub vma_start: u32,
    pub vma_end: u32,
    pub vma_flags: u32,
    pub vma_pgoff: u32,
    pub vma_file: u32,
    pub file_inode: u32,
    /// `pivot` in all kinds of nodes.
    pub node_pivot: u32,
    /// `slot` in `struct maple_range_64`.
    pub range_slot: u32,
    /// `slot` in `struct maple_arange_64`.
    pub arange_slot: u32,
}

impl MappingOffsets {
    /// As the kernel's types say; none if it keeps mappings in another way.
    pub fn of(types: &Types) -> Option<Self> {
        let offset = |of: &str, name: &str| {
            let of = types.find(TypeKind::Struct, of)?;
            u32::try_from(types.field(of, name)?.byte_offset()).ok()
        };
        let pivot = offset("maple_range_64", "pivot")?;
        let found = Self {
            task_mm: offset("task_struct", "mm")?,
            mm_root: offset("mm_struct", "mm_mt")? + offset("maple_tree", "ma_root")?,
            vma_start: offset("vm_area_struct", "vm_start")?,
            vma_end: offset("vm_area_struct", "vm_end")?,
            vma_flags: offset("vm_area_struct", "vm_flags")?,
            vma_pgoff: offset("vm_area_struct", "vm_pgoff")?,
            vma_file: offset("vm_area_struct", "vm_file")?,
            file_inode: offset("file", "f_inode")?,
            node_pivot: pivot,
            range_slot: offset("maple_range_64", "slot")?,
            arange_slot: offset("maple_arange_64", "slot")?,
        };
        (offset("maple_arange_64", "pivot")? == pivot && found.fits()).then_some(found)
    }

    /// Whether nodes are as large as they are read.
    fn fits(&self) -> bool {
        let inside = |first: u32, count: u32| first.saturating_add(8 * count) <= mapping::NODE_BYTES;
        inside(self.node_pivot, mapping::RANGE_PIVOTS)
            && inside(self.range_slot, mapping::MAX_SLOTS)
            && inside(self.arange_slot, mapping::MAX_SLOTS)
    }
}

/// What programs must know of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// Where things are in the kernel.
    pub offsets: MappingOffsets,
    /// Rows of all files.
    pub rows: u32,
    /// Files.
    pub files: u32,
}

impl Tables {
    /// The map [`ROWS_MAP`].
    pub fn rows_map(&self) -> MapDefinition {
        let chunks = self.rows.min(MAX_ROWS).div_ceil(CHUNK_ROWS).max(1);
        MapDefinition::new(ROWS_MAP, MapKind::Array, 4, CHUNK_ROWS * 8, chunks)
    }

    /// The map [`FILES_MAP`].
    pub fn files_map(&self) -> MapDefinition {
        MapDefinition::new(FILES_MAP, MapKind::Hash, 8, 8, self.files.clamp(1, MAX_FILES))
    }
}
