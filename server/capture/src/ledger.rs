//! Accounts for every event: `emitted = stored + not kept + the sum of losses` once a capture has ended.

use serde::{Deserialize, Serialize};

/// Where events were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LossStage {
    /// The probe was not run: by the kernel (recursion, or a kprobe's missed hit), or because there was no memory for one
    /// more run on a CPU where others had been preempted.
    KernelMissed,
    /// The guard let no more rows be written, because they cost too much.
    Limited,
    /// The ring buffer between kernel and console was full.
    RingFull,
    /// A map of a script was full and refused an update.
    MapFull,
    /// A stack could not be kept by a script.
    StackLost,
    /// A read or another helper of a script failed: what it should have given is empty or zero. Nothing is missing.
    HelperFailed,
    /// A record could not be decoded.
    Decode,
    /// The queue to the store was full or the store refused.
    Store,
    /// The console ended before it had read or stored them.
    Interrupted,
    /// They were in the memory of a flight recorder and left it: nothing was lost. What something fired for is in captures of its
    /// own.
    NotKept,
}

impl LossStage {
    /// Whether events are missing that were to be there.
    pub const fn is_lost(self) -> bool {
        !matches!(self, Self::HelperFailed | Self::NotKept)
    }

    /// The name that is kept and shown, such as `ring_full`; the same as in JSON.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::KernelMissed => "kernel_missed",
            Self::Limited => "limited",
            Self::RingFull => "ring_full",
            Self::MapFull => "map_full",
            Self::StackLost => "stack_lost",
            Self::HelperFailed => "helper_failed",
            Self::Decode => "decode",
            Self::Store => "store",
            Self::Interrupted => "interrupted",
            Self::NotKept => "not_kept",
        }
    }
}

/// How bad a loss is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing was lost.
    Info,
    /// Events were lost and counted.
    DataLoss,
    /// Something failed and how much was lost is not known exactly.
    Error,
}

/// One loss.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Loss {
    /// Which stream it belongs to, by index; none where it cannot be told.
    pub stream: Option<u16>,
    /// Where it happened.
    pub stage: LossStage,
    /// How many events.
    pub count: u64,
    /// The earliest moment it can have happened, monotonic nanoseconds.
    pub start_ns: u64,
    /// The latest moment it can have happened, monotonic nanoseconds.
    pub end_ns: u64,
}

impl Loss {
    /// How bad it is. What was lost to an interruption is never known exactly: its count is a lower bound, because what
    /// happened after the last reading was never counted.
    pub const fn severity(&self) -> Severity {
        match (self.stage, self.count) {
            (LossStage::Interrupted, _) => Severity::Error,
            (LossStage::HelperFailed | LossStage::NotKept, _) | (_, 0) => Severity::Info,
            _ => Severity::DataLoss,
        }
    }
}

/// The sums of one stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamTotals {
    /// How often the probe ran.
    pub hits: u64,
    /// Hits that the predicate or the target rejected in the kernel.
    pub filtered: u64,
    /// Hits that wanted to be recorded: `hits - filtered`.
    pub emitted: u64,
    /// Rows in stored chunks.
    pub stored: u64,
}

/// Totals and losses of a capture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// One for each stream.
    pub streams: Vec<StreamTotals>,
    /// Every loss, in the order in which they became known.
    pub losses: Vec<Loss>,
}

impl Ledger {
    /// All lost events of one stream.
    pub fn lost(&self, stream: u16) -> u64 {
        self.counted(stream, |stage| stage != LossStage::NotKept)
    }

    /// Rows of one stream that left the memory of a flight recorder.
    pub fn not_kept(&self, stream: u16) -> u64 {
        self.counted(stream, |stage| stage == LossStage::NotKept)
    }

    fn counted(&self, stream: u16, of: impl Fn(LossStage) -> bool) -> u64 {
        let counted = self.losses.iter().filter(|loss| loss.stream == Some(stream) && of(loss.stage));
        counted.map(|loss| loss.count).sum()
    }

    /// All lost events; values that could not be read, and rows that a flight recorder did not keep, are not among them.
    pub fn lost_total(&self) -> u64 {
        let lost = self.losses.iter().filter(|loss| loss.stage.is_lost());
        lost.map(|loss| loss.count).sum()
    }

    /// Whether more may have been lost than is counted: something broke off after the last reading of the counters.
    pub fn is_lower_bound(&self) -> bool {
        self.losses.iter().any(|loss| loss.severity() == Severity::Error)
    }

    /// Whether it is known that every event that reached the probes was recorded.
    pub fn lost_nothing(&self) -> bool {
        self.lost_total() == 0 && !self.is_lower_bound()
    }

    /// What was lost, for people: `nothing was lost`, `12 events were lost`, `at least 12 events were lost`, or that it is
    /// not known.
    pub fn lost_words(&self) -> String {
        match (self.lost_total(), self.is_lower_bound()) {
            (0, false) => "nothing was lost".to_owned(),
            (0, true) => "how many events were lost is not known: the recording broke off".to_owned(),
            (1, false) => "1 event was lost".to_owned(),
            (lost, false) => format!("{lost} events were lost"),
            (lost, true) => format!("at least {lost} events were lost: the recording broke off"),
        }
    }

    /// Emitted events that are neither stored, nor counted as lost or not kept, by stream: all zero once a capture has ended.
    pub fn in_flight(&self) -> Vec<i128> {
        let unaccounted = |(stream, totals): (usize, &StreamTotals)| {
            let lost = u16::try_from(stream).map_or(0, |stream| self.lost(stream) + self.not_kept(stream));
            i128::from(totals.emitted) - i128::from(totals.stored) - i128::from(lost)
        };
        self.streams.iter().enumerate().map(unaccounted).collect()
    }
}

/// What a running capture costs, for one stream, over the last interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Moment of the reading, monotonic nanoseconds.
    pub time_ns: u64,
    /// Hits per second.
    pub hits_per_s: f64,
    /// Nanoseconds in the probe for each hit, from the kernel's own statistics; none where it cannot be measured.
    pub ns_per_hit: Option<f64>,
    /// Share of one CPU used by the probe, in thousandths; none where it cannot be measured.
    pub cpu_permille: Option<f64>,
    /// Events lost so far.
    pub lost: u64,
    /// Once the capture has ended: until when everything was recorded, monotonic nanoseconds. What detaching takes is after it. None
    /// where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded_until_ns: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p73_nothing_lost_is_only_said_of_what_was_read_to_its_end() {
        let loss = |stage, count| Loss { stream: Some(0), stage, count, start_ns: 1, end_ns: 2 };
        let words = |losses: Vec<Loss>| Ledger { streams: Vec::new(), losses }.lost_words();
        assert_eq!(words(Vec::new()), "nothing was lost");
        assert!(Ledger::default().lost_nothing());
        assert_eq!(words(vec![loss(LossStage::RingFull, 1)]), "1 event was lost");
        assert_eq!(words(vec![loss(LossStage::HelperFailed, 9)]), "nothing was lost");
        let unknown = loss(LossStage::Interrupted, 0);
        assert!(words(vec![unknown.clone()]).contains("not known"));
        assert!(words(vec![loss(LossStage::RingFull, 7), unknown]).starts_with("at least 7 events were lost"));
    }
}
