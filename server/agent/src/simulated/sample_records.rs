//! What made samples hold beside their stack: accesses to memory, and branches.

use bathyscope_capture::BranchFilter;
use bathyscope_catalog::perf_branches::branch_sample_type;

use super::world::{CODE_ADDRESS, Draw, FUNCTION_BYTES, FUNCTIONS, HEAP_ADDRESS, HEAP_BYTES, KERNEL_ADDRESS};

const SAMPLE_ADDR: u64 = 1 << 3;
const SAMPLE_BRANCH_STACK: u64 = 1 << 11;
const SAMPLE_DATA_SRC: u64 = 1 << 15;
const SAMPLE_WEIGHT_STRUCT: u64 = 1 << 24;

/// Branches of a sample; a CPU has 16 or 32.
const BRANCHES: u64 = 8;

/// Accesses as CPUs tell of them, with the cycles that they usually take: loads answered by each level, a load that was
/// blocked, stores, and one that tells nothing.
const ACCESSES: [(u64, u64); 8] = [
    (0x6810_0142, 5),
    (0x6810_0142, 7),
    // LFB, L2, L3 with a modified line elsewhere, local and remote memory.
    (LOAD | 0x12 << 5 | NO_SNOOP | TLB_HIT, 40),
    (LOAD | 0x22 << 5 | NO_SNOOP | TLB_HIT, 14),
    (LOAD | 0x42 << 5 | 16 << 19 | TLB_HIT | 1 << 40, 60),
    (LOAD | 0x82 << 5 | 8 << 19 | 0x24 << 26, 210),
    (LOAD | 0x102 << 5 | 8 << 19 | 0x24 << 26 | 4 << 40, 420),
    (4 | 0xa << 5 | 1 << 19 | 2 << 24 | TLB_HIT, 20),
];
const LOAD: u64 = 2;
const NO_SNOOP: u64 = 2 << 19;
const TLB_HIT: u64 = 0x1a << 26;
/// What the kernel writes where an event knows nothing of memory: nothing told in every part.
const DATA_SOURCE_UNKNOWN: u64 = 1 | 1 << 5 | 1 << 19 | 1 << 24 | 1 << 26 | 15 << 33;
/// One access in so many tells nothing.
const UNTOLD_SHARE: u64 = 16;

/// What is wanted of samples beside their stack.
#[derive(Clone, Debug)]
pub(super) struct Extras {
    pub(super) memory: bool,
    pub(super) branches: Vec<BranchFilter>,
}

/// What one sample holds of that, as words of its record.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// Behind the time.
    pub(super) address: Vec<u64>,
    /// Behind the stack.
    pub(super) branches: Vec<u64>,
    /// At the end.
    pub(super) access: Vec<u64>,
}

impl Extras {
    /// The bits that they add to `sample_type`.
    pub(super) fn sample_type(&self) -> u64 {
        let memory = if self.memory { SAMPLE_ADDR | SAMPLE_DATA_SRC | SAMPLE_WEIGHT_STRUCT } else { 0 };
        memory | if self.branches.is_empty() { 0 } else { SAMPLE_BRANCH_STACK }
    }

    /// `branch_sample_type`.
    pub(super) fn branch_sample_type(&self) -> u64 {
        branch_sample_type(&self.branches)
    }

    /// What a sample holds of them.
    pub(super) fn of(&self, draw: Draw) -> Parts {
        let mut parts = Parts::default();
        if self.memory {
            let (source, weight) = match draw.below(10, UNTOLD_SHARE) {
                0 => (DATA_SOURCE_UNKNOWN, 0),
                _ => draw.one_of(11, &ACCESSES).unwrap_or((DATA_SOURCE_UNKNOWN, 0)),
            };
            let weight = weight + draw.below(12, weight / 4 + 1);
            // Cycles until the data came, until the instruction began, until it retired.
            let weights = weight | (weight / 8) << 32 | (weight / 16) << 48;
            parts.address = vec![HEAP_ADDRESS + draw.below(13, HEAP_BYTES / 64) * 64];
            parts.access = vec![weights, source];
        }
        if !self.branches.is_empty() {
            parts.branches =
                std::iter::once(BRANCHES).chain((0..BRANCHES).flat_map(|i| self.branch(draw, i))).collect();
        }
        parts
    }

    /// From, to and flags of branch `index`, which leads from one function to another.
    fn branch(&self, draw: Draw, index: u64) -> [u64; 3] {
        let which = 20 + index * 8;
        let function = |which| draw.below(which, FUNCTIONS.len() as u64) * FUNCTION_BYTES;
        let in_kernel = !self.branches.contains(&BranchFilter::U) && draw.below(which, 4) == 0;
        let base = if in_kernel { KERNEL_ADDRESS } else { CODE_ADDRESS };
        let from = base + function(which + 1) + draw.below(which + 2, 4) * 16 + 12;
        let mispredicted = draw.below(which + 3, 10) == 0;
        let kind = if self.branches.contains(&BranchFilter::SaveType) { 1 + draw.below(which + 4, 6) } else { 0 };
        let flags = if mispredicted { 1 } else { 2 } | (1 + draw.below(which + 5, 40)) << 4 | kind << 20;
        [from, base + function(which + 6), flags]
    }
}
