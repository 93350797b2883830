//! When events are known to have been lost.

/// The most spans of time that are kept apart; with more of them neighbours are joined, with what lies between.
pub const MAX_LOSSES: usize = 4096;

/// Spans of time in which events were lost, in order and apart from each other.
#[derive(Clone, Debug, Default)]
pub(crate) struct Losses {
    spans: Vec<(u64, u64)>,
}

impl Losses {
    /// Adds a span, both ends included.
    pub(crate) fn add(&mut self, start_ns: u64, end_ns: u64) {
        let (start_ns, end_ns) = (start_ns.min(end_ns), end_ns.max(start_ns));
        let from = self.spans.partition_point(|(_, end)| *end < start_ns);
        let to = self.spans.partition_point(|(start, _)| *start <= end_ns).max(from);
        let touched = self.spans.get(from..to).unwrap_or_default();
        let first = touched.first().map_or(start_ns, |(start, _)| start_ns.min(*start));
        let last = touched.last().map_or(end_ns, |(_, end)| end_ns.max(*end));
        self.spans.splice(from..to, [(first, last)]);
        if self.spans.len() > MAX_LOSSES {
            self.join_halves();
        }
    }

    /// Joins neighbours two by two.
    fn join_halves(&mut self) {
        let joined = |pair: &[(u64, u64)]| Some((pair.first()?.0, pair.last()?.1));
        self.spans = self.spans.chunks(2).filter_map(joined).collect();
    }

    /// Whether something was lost between these moments, both included.
    pub(crate) fn overlap(&self, start_ns: u64, end_ns: u64) -> bool {
        // Nothing is lost nearly always.
        if self.spans.is_empty() {
            return false;
        }
        let at = self.spans.partition_point(|(_, end)| *end < start_ns);
        self.spans.get(at).is_some_and(|(start, _)| *start <= end_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_that_touch_are_one() {
        let mut losses = Losses::default();
        assert!(!losses.overlap(0, u64::MAX));
        for (start, end) in [(10, 20), (40, 30), (60, 70), (20, 30), (5, 5)] {
            losses.add(start, end);
        }
        assert_eq!(losses.spans, [(5, 5), (10, 40), (60, 70)]);
        let cases = [((0, 4), false), ((0, 5), true), ((41, 59), false), ((40, 41), true), ((71, 99), false)];
        for ((start, end), expected) in cases {
            assert_eq!(losses.overlap(start, end), expected, "{start} to {end}");
        }
        losses.add(0, 100);
        assert_eq!(losses.spans, [(0, 100)]);
    }

    #[test]
    fn many_spans_are_joined_and_none_is_forgotten() {
        let mut losses = Losses::default();
        for at in 0..100_000 {
            losses.add(at * 10, at * 10 + 1);
        }
        assert!(losses.spans.len() <= MAX_LOSSES);
        assert!((0..100_000).all(|at| losses.overlap(at * 10, at * 10)));
    }
}
