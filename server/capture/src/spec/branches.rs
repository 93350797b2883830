//! Which branches come with samples.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A word of the filter of branches, as `perf record -j` takes it. Kinds add up; with none of them all branches
/// are meant, in the place and with what the other words say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BranchFilter {
    /// All branches.
    Any,
    /// Calls, also into the kernel.
    AnyCall,
    /// Returns, also from the kernel.
    AnyRet,
    /// Calls whose target is computed.
    IndCall,
    /// Jumps whose target is computed.
    IndJmp,
    /// Conditional ones.
    Cond,
    /// Calls whose target is fixed.
    Call,
    /// In user space. With none of `u`, `k` and `hv`, where the event is counted.
    U,
    /// In the kernel.
    K,
    /// In the hypervisor.
    Hv,
    /// In transactions.
    InTx,
    /// Outside of transactions.
    NoTx,
    /// Those that end a transaction without success.
    AbortTx,
    /// What kind of branch each is, where the CPU does not tell by itself.
    SaveType,
}

/// A word that no filter has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` selects no branches; {} do", BranchFilter::words())]
pub struct BranchFilterError {
    /// What was given, cut to 80 characters.
    word: String,
}

impl BranchFilter {
    /// All words.
    pub const ALL: [Self; 14] = [
        Self::Any,
        Self::AnyCall,
        Self::AnyRet,
        Self::IndCall,
        Self::IndJmp,
        Self::Cond,
        Self::Call,
        Self::U,
        Self::K,
        Self::Hv,
        Self::InTx,
        Self::NoTx,
        Self::AbortTx,
        Self::SaveType,
    ];

    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Any => "any",
            Self::AnyCall => "any_call",
            Self::AnyRet => "any_ret",
            Self::IndCall => "ind_call",
            Self::IndJmp => "ind_jmp",
            Self::Cond => "cond",
            Self::Call => "call",
            Self::U => "u",
            Self::K => "k",
            Self::Hv => "hv",
            Self::InTx => "in_tx",
            Self::NoTx => "no_tx",
            Self::AbortTx => "abort_tx",
            Self::SaveType => "save_type",
        }
    }

    /// Whether it says which branches, and not only where or what is noted of them.
    pub const fn is_kind(self) -> bool {
        !matches!(self, Self::U | Self::K | Self::Hv | Self::InTx | Self::NoTx | Self::SaveType)
    }

    fn words() -> String {
        Self::ALL.map(Self::word).join(", ")
    }
}

impl fmt::Display for BranchFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

impl FromStr for BranchFilter {
    type Err = BranchFilterError;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        let known = Self::ALL.into_iter().find(|known| known.word() == word);
        known.ok_or_else(|| BranchFilterError { word: word.chars().take(80).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_json() {
        for word in BranchFilter::ALL {
            assert_eq!(word.word().parse(), Ok(word));
            assert_eq!(serde_json::to_string(&word).unwrap(), format!("\"{word}\""));
        }
        let error = "anything".parse::<BranchFilter>().unwrap_err().to_string();
        assert!(error.starts_with("`anything` selects no branches; any, any_call,"), "{error}");
    }
}
