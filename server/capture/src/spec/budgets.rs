//! What a capture may cost beside the time of its probes.

use serde::{Deserialize, Serialize};

use super::{SpecError, in_range};

/// The smallest budget of rows a second: fewer say nothing.
const MIN_BUDGET_ROWS_PER_S: u64 = 100;
/// The smallest budget of bytes a second.
const MIN_BUDGET_BYTES_PER_S: u64 = 64 << 10;
/// The largest budget of the agent's time: it has a few threads.
const MAX_BUDGET_AGENT_PERMILLE: u32 = 4000;
/// The smallest budget of the agent's memory: less it has with nothing to do.
const MIN_AGENT_BYTES: u64 = 64 << 20;
const MAX_RATE: u64 = 1 << 40;
/// What a capture may write in a second if nobody says: more than any console reads.
pub const USUAL_BUDGET_BYTES_PER_S: u64 = 128 << 20;
const USUAL_AGENT_PERMILLE: u32 = 500;
const USUAL_AGENT_BYTES: u64 = 1 << 30;

/// What a capture may cost beside the time of its probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Budgets {
    /// Rows that it may write in a second, over all streams and CPUs; none for as many as there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows_per_s: Option<u64>,
    /// Bytes of records that it may write in a second, over all streams and CPUs; none for [`USUAL_BUDGET_BYTES_PER_S`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bytes_per_s: Option<u64>,
    /// Share of one CPU, in thousandths, that the agent may use while it records.
    pub agent_cpu_permille: u32,
    /// Bytes of memory that the agent may hold while it records.
    pub agent_bytes: u64,
}

impl Default for Budgets {
    fn default() -> Self {
        Self {
            rows_per_s: None,
            bytes_per_s: None,
            agent_cpu_permille: USUAL_AGENT_PERMILLE,
            agent_bytes: USUAL_AGENT_BYTES,
        }
    }
}

impl Budgets {
    /// Whether nobody has chosen any of them.
    pub fn is_usual(&self) -> bool {
        *self == Self::default()
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// The first that is outside of its range.
    pub fn validate(&self) -> Result<(), SpecError> {
        if let Some(rows) = self.rows_per_s {
            in_range("the budget in rows a second", rows, MIN_BUDGET_ROWS_PER_S, MAX_RATE)?;
        }
        if let Some(bytes) = self.bytes_per_s {
            in_range("the budget in bytes a second", bytes, MIN_BUDGET_BYTES_PER_S, MAX_RATE)?;
        }
        let (permille, most) = (u64::from(self.agent_cpu_permille), u64::from(MAX_BUDGET_AGENT_PERMILLE));
        in_range("the budget of the agent's time in thousandths of a CPU", permille, 1, most)?;
        in_range("the budget of the agent's memory in bytes", self.agent_bytes, MIN_AGENT_BYTES, MAX_RATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_in_their_ranges_and_usual_ones_are_not_written() {
        let usual = Budgets::default();
        usual.validate().unwrap();
        for wrong in [
            Budgets { rows_per_s: Some(99), ..usual },
            Budgets { bytes_per_s: Some(1), ..usual },
            Budgets { agent_cpu_permille: 0, ..usual },
            Budgets { agent_bytes: 1 << 20, ..usual },
        ] {
            assert!(matches!(wrong.validate(), Err(SpecError::OutOfRange { .. })), "{wrong:?}");
        }
        let limits = crate::Limits { budgets: usual, ..crate::Limits::default() };
        assert!(!serde_json::to_string(&limits).unwrap().contains("budgets"));
        let few: crate::Limits = serde_json::from_str(r#"{"budgets":{"rows_per_s":500}}"#).unwrap();
        assert_eq!(few.budgets, Budgets { rows_per_s: Some(500), ..usual });
    }
}
