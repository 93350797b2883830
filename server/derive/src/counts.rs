//! What a rule could not tell, and why.

use serde::{Deserialize, Serialize};

/// Something that a rule met and counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DerivationCount {
    /// On a CPU ran another thread than the one that was switched to: a switch between them was lost. (Or a thread that was
    /// not the first of its process called `execve` and took over the number of the first, which no switch tells.)
    OtherThreadRan,
    /// A thread ran that had been waiting or blocked: the switch to it was lost.
    RunWithoutSwitch,
    /// A thread ran on a CPU while it was last seen running on another: the switch away from it was lost.
    RunElsewhere,
    /// A blocked thread ran: its wake-up was lost.
    RunWithoutWakeup,
    /// A thread ran that had ended: the start of a new one of its number was lost.
    RunAfterEnd,
    /// A thread was woken that had been woken and had not run since: a run of it was lost.
    WokenTwice,
    /// A thread was woken or started that had ended, or started while another had its number: an end or a start was lost.
    StartUnseen,
    /// `sched_wakeup` came without the `sched_waking` before it: that was lost, and with it who woke the thread.
    WakeupWithoutWaking,
    /// A running thread was woken, which changes nothing. It happens, and nothing is missing.
    WakeupOfRunning,
    /// States of which the beginning is not known, because the thread was not seen before; there are no rows for them.
    BeginUnknown,
    /// States of which no part is certain, because what began or ended them was lost; there are no rows for them.
    EndUnknown,
    /// Threads that were forgotten because there were too many, with the state that they were in.
    ThreadsEvicted,
    /// Begins of spans without an end.
    UnmatchedBegin,
    /// Ends of spans without a begin.
    UnmatchedEnd,
    /// Begins that were forgotten because too many were open; their ends are unmatched.
    BeginsEvicted,
    /// Rows that came after later ones had been looked at; they were left out.
    LateRows,
    /// Rows without a value that is needed, or with one that cannot be; they were left out.
    UnusableRows,
}

impl DerivationCount {
    /// All of them.
    pub const ALL: [Self; 17] = [
        Self::OtherThreadRan,
        Self::RunWithoutSwitch,
        Self::RunElsewhere,
        Self::RunWithoutWakeup,
        Self::RunAfterEnd,
        Self::WokenTwice,
        Self::StartUnseen,
        Self::WakeupWithoutWaking,
        Self::WakeupOfRunning,
        Self::BeginUnknown,
        Self::EndUnknown,
        Self::ThreadsEvicted,
        Self::UnmatchedBegin,
        Self::UnmatchedEnd,
        Self::BeginsEvicted,
        Self::LateRows,
        Self::UnusableRows,
    ];

    /// Whether it proves that events are missing: they were lost before or while they were recorded, or the kernel did not report
    /// them, as some do of chosen processes. The ledger tells which: it counts all that reached the probes.
    pub const fn proves_loss(self) -> bool {
        matches!(
            self,
            Self::OtherThreadRan
                | Self::RunWithoutSwitch
                | Self::RunElsewhere
                | Self::RunWithoutWakeup
                | Self::RunAfterEnd
                | Self::WokenTwice
                | Self::StartUnseen
                | Self::WakeupWithoutWaking
        )
    }

    /// What was counted, for people, as what follows a number.
    pub const fn words(self) -> &'static str {
        match self {
            Self::OtherThreadRan => "runs of another thread than the one that was switched to: switches are missing",
            Self::RunWithoutSwitch => "runs of threads that waited or were blocked: the switches to them are missing",
            Self::RunElsewhere => "runs of threads that ran on another CPU: the switches away from them are missing",
            Self::RunWithoutWakeup => "runs of blocked threads: their wake-ups are missing",
            Self::RunAfterEnd => "runs of threads that had ended: starts of threads are missing",
            Self::WokenTwice => "wake-ups of threads that had been woken and had not run: their runs are missing",
            Self::StartUnseen => {
                "wake-ups that do not fit the life of their thread: starts or ends of threads are missing"
            }
            Self::WakeupWithoutWaking => "wake-ups of which nothing says who caused them",
            Self::WakeupOfRunning => "wake-ups of running threads, which change nothing",
            Self::BeginUnknown => "states left out because it is not known when they began",
            Self::EndUnknown => "states left out because what began or ended them is missing",
            Self::ThreadsEvicted => "threads forgotten with their state because there were too many",
            Self::UnmatchedBegin => "begins without an end",
            Self::UnmatchedEnd => "ends without a begin",
            Self::BeginsEvicted => "begins forgotten because too many were open",
            Self::LateRows => "rows left out because later ones had been looked at before",
            Self::UnusableRows => "rows left out because a value is missing or cannot be",
        }
    }
}

/// How often a rule met what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DerivationCounts([u64; DerivationCount::ALL.len()]);

impl DerivationCounts {
    /// How often it met this.
    pub fn get(&self, what: DerivationCount) -> u64 {
        self.0.get(what as usize).copied().unwrap_or(0)
    }

    /// What it met, and how often.
    pub fn iter(&self) -> impl Iterator<Item = (DerivationCount, u64)> + '_ {
        DerivationCount::ALL.into_iter().map(|what| (what, self.get(what))).filter(|(_, count)| *count > 0)
    }

    /// What is said where events are missing though the ledger counts none as lost.
    pub const NOT_REPORTED: &str =
        "every event that reached the probes was recorded, so the kernel did not report those that are missing";

    /// Whether something proves that events are missing.
    pub fn prove_loss(&self) -> bool {
        self.iter().any(|(what, _)| what.proves_loss())
    }

    pub(crate) fn add(&mut self, what: DerivationCount, more: u64) {
        if let Some(count) = self.0.get_mut(what as usize) {
            *count = count.saturating_add(more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_by_itself() {
        let mut counts = DerivationCounts::default();
        assert_eq!(counts.iter().count(), 0);
        for (at, what) in DerivationCount::ALL.into_iter().enumerate() {
            counts.add(what, at as u64 + 1);
        }
        let all: Vec<u64> = counts.iter().map(|(_, count)| count).collect();
        assert_eq!(all, (1..=17).collect::<Vec<_>>());
        counts.add(DerivationCount::LateRows, u64::MAX);
        assert_eq!(counts.get(DerivationCount::LateRows), u64::MAX);
    }
}
