//! Which branches the CPU is told to note, and what else stands beside them: the bits of
//! `perf_event_attr.branch_sample_type`, the same on all hosts.

use bathyscope_capture::BranchFilter;

/// The CPU's record is of calls that have not returned, for stacks.
pub const BRANCH_CALL_STACK: u64 = 1 << 11;
/// A number stands before the branches: where in the CPU's buffer the newest one is.
pub const BRANCH_HW_INDEX: u64 = 1 << 17;
/// For each branch a word with counters follows behind all of them.
pub const BRANCH_COUNTERS: u64 = 1 << 19;
const ANY: u64 = 1 << 3;

/// `perf_event_attr.branch_sample_type` for these words; zero for none.
///
/// Words that only say where, or what is noted, mean all branches.
pub fn branch_sample_type(filter: &[BranchFilter]) -> u64 {
    let bits = filter.iter().fold(0, |bits, word| bits | bit(*word));
    if filter.is_empty() || filter.iter().any(|word| word.is_kind()) { bits } else { bits | ANY }
}

const fn bit(word: BranchFilter) -> u64 {
    match word {
        BranchFilter::U => 1,
        BranchFilter::K => 1 << 1,
        BranchFilter::Hv => 1 << 2,
        BranchFilter::Any => ANY,
        BranchFilter::AnyCall => 1 << 4,
        BranchFilter::AnyRet => 1 << 5,
        BranchFilter::IndCall => 1 << 6,
        BranchFilter::AbortTx => 1 << 7,
        BranchFilter::InTx => 1 << 8,
        BranchFilter::NoTx => 1 << 9,
        BranchFilter::Cond => 1 << 10,
        BranchFilter::IndJmp => 1 << 12,
        BranchFilter::Call => 1 << 13,
        BranchFilter::SaveType => 1 << 16,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_filter_become_bits() {
        use BranchFilter as F;
        let cases: [(&[F], u64); 8] = [
            (&[], 0),
            (&[F::Any], 8),
            (&[F::U], 9),
            (&[F::InTx], 8 | 1 << 8),
            (&[F::AbortTx], 1 << 7),
            (&[F::U, F::SaveType], 8 | 1 | 1 << 16),
            (&[F::AnyCall, F::K], 16 | 2),
            (&F::ALL, 0x1_37ff),
        ];
        for (filter, expected) in cases {
            assert_eq!(branch_sample_type(filter), expected, "{filter:?}");
        }
    }
}
