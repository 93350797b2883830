//! `perf_branch_entry`: what the CPU noted of a branch.

use super::field;

/// Names of kinds by their number; the first is that of no kind.
const KINDS: [&str; 15] = [
    "",
    "cond",
    "uncond",
    "ind",
    "call",
    "ind_call",
    "ret",
    "syscall",
    "sysret",
    "cond_call",
    "cond_ret",
    "eret",
    "irq",
    "serror",
    "no_tx",
];
/// The kind that says that a second number is meant.
const KIND_EXTENDED: u64 = 15;
const MORE_KINDS: [&str; 8] =
    ["fault_algn", "fault_data", "fault_inst", "arch_1", "arch_2", "arch_3", "arch_4", "arch_5"];
/// What became of a branch that was taken on speculation.
const SPECULATION: [&str; 4] = ["", "spec_wrong_path", "non_spec_correct_path", "spec_correct_path"];

/// The flags of one branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BranchFlags(pub u64);

impl BranchFlags {
    /// The CPU had foretold another way.
    pub const fn mispredicted(self) -> bool {
        field(self.0, 0, 1) != 0
    }

    /// The CPU had foretold this way. CPUs that do not tell set neither.
    pub const fn predicted(self) -> bool {
        field(self.0, 1, 1) != 0
    }

    /// It was in a transaction.
    pub const fn in_tx(self) -> bool {
        field(self.0, 2, 1) != 0
    }

    /// It ended a transaction without success.
    pub const fn abort(self) -> bool {
        field(self.0, 3, 1) != 0
    }

    /// Cycles since the branch before; zero where the CPU does not tell.
    pub const fn cycles(self) -> u64 {
        field(self.0, 4, 16)
    }

    /// What kind of branch it was, in the words of `perf`; empty where that was not saved.
    pub fn kind(self) -> &'static str {
        let name = |names: &[&'static str], number: u64| {
            usize::try_from(number).ok().and_then(|number| names.get(number)).copied().unwrap_or_default()
        };
        match field(self.0, 20, 4) {
            KIND_EXTENDED => name(&MORE_KINDS, field(self.0, 26, 4)),
            number => name(&KINDS, number),
        }
    }

    /// What became of speculation, in the words of `perf`; empty where the CPU does not tell.
    pub fn speculation(self) -> &'static str {
        usize::try_from(field(self.0, 24, 2)).ok().and_then(|it| SPECULATION.get(it)).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_told_apart() {
        let flags = BranchFlags(1 | 1 << 2 | 0x1234 << 4 | 5 << 20 | 3 << 24);
        assert_eq!((flags.mispredicted(), flags.predicted(), flags.in_tx(), flags.abort()), (true, false, true, false));
        assert_eq!((flags.cycles(), flags.kind(), flags.speculation()), (0x1234, "ind_call", "spec_correct_path"));
        let extended = |number: u64| BranchFlags(15 << 20 | number << 26).kind();
        assert_eq!((extended(0), extended(7), extended(8), extended(15)), ("fault_algn", "arch_5", "", ""));
        assert_eq!((BranchFlags(0).kind(), BranchFlags(14 << 20).kind()), ("", "no_tx"));
        let all = BranchFlags(u64::MAX);
        assert!(all.predicted() && all.abort());
        assert_eq!((all.cycles(), all.kind(), all.speculation()), (0xffff, "", "spec_correct_path"));
    }
}
