//! What samples of perf tell beside their stack, in words: where the data of an access to memory came from
//! ([`MemoryWords`]), and what the CPU noted of a branch ([`BranchFlags`]). The words are those that `perf` uses.
//!
//! The numbers are the kernel's interface and the same on all hosts. Bits that are not known here are left out.

mod branches;
mod memory;

pub use branches::BranchFlags;
pub use memory::{MemoryWords, NOT_TOLD, has_data_source};

/// The bits of a field: `width` of them from `shift` on.
const fn field(word: u64, shift: u32, width: u32) -> u64 {
    (word >> shift) & ((1 << width) - 1)
}

/// The names of the bits that are set, with ` or ` between.
fn names(bits: u64, table: &[(u64, &'static str)]) -> String {
    let set: Vec<&str> = table.iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| *name).collect();
    set.join(" or ")
}
