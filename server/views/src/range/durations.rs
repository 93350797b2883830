//! How long many rows took: count, sums, the longest, percentiles.
//!
//! Percentiles come from buckets of 64 to each power of two ([`LogBuckets`]).

use bathyscope_capture::TrackRow;

use crate::{answers::RangeDurations, log_buckets::LogBuckets, source::relative};

/// How long rows took.
#[derive(Clone, Debug, Default)]
pub(super) struct Durations {
    pub(super) count: u64,
    without: u64,
    /// Within the range.
    pub(super) time_ns: u64,
    sum_ns: u128,
    /// The longest, the first of equals; with the key of its track.
    pub(super) longest_ns: u64,
    pub(super) longest_begin_ns: u64,
    pub(super) longest_key: u64,
    buckets: LogBuckets,
}

impl Durations {
    pub(super) fn add(&mut self, row: &TrackRow, inside_ns: u64) {
        let duration_ns = row.entry.duration_ns();
        let begin_ns = row.entry.begin_ns;
        let is_longer = duration_ns > self.longest_ns
            || (duration_ns == self.longest_ns && begin_ns < self.longest_begin_ns)
            || self.count == self.without;
        if is_longer {
            (self.longest_ns, self.longest_begin_ns, self.longest_key) = (duration_ns, begin_ns, row.key);
        }
        self.count += 1;
        self.time_ns = self.time_ns.saturating_add(inside_ns);
        self.sum_ns += u128::from(duration_ns);
        self.buckets.add(duration_ns);
    }

    /// Adds a row of which nobody knows how long it took.
    pub(super) fn add_without(&mut self) {
        self.count += 1;
        self.without += 1;
    }

    /// As the browser gets it. Percentiles are not beyond the longest, of which the exact length is known.
    pub(super) fn answer(&self, origin_ns: u64) -> RangeDurations {
        let permille = |permille| self.buckets.permille(permille).min(self.longest_ns);
        RangeDurations {
            count: self.count,
            without: self.without,
            time: self.time_ns,
            mean: self.sum_ns as f64 / (self.count - self.without).max(1) as f64,
            p50: permille(500),
            p90: permille(900),
            p99: permille(990),
            longest: self.longest_ns,
            at: relative(origin_ns, self.longest_begin_ns),
            buckets: self.buckets.powers(),
        }
    }
}
