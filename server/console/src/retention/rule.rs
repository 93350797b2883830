//! Which captures have to go. Pure: what time it is is told.

use std::fmt;

use bathyscope_capture::CaptureId;
use bathyscope_store::{DeletedCapture, RetainedCapture};

const DAY_NS: i64 = 86_400 * 1_000_000_000;

/// Until when a capture that was deleted at `deleted_unix_ns` can be restored, nanoseconds since 1970.
pub const fn restorable_until(deleted_unix_ns: i64) -> i64 {
    deleted_unix_ns.saturating_add(DAY_NS)
}

/// How long captures are kept; by default for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RetentionRule {
    /// The most days since a capture ended or was imported; none for any age.
    pub max_days: Option<u32>,
    /// The most bytes of all captures together, as [`RetainedCapture::size_bytes`] counts them; none for any size.
    pub max_bytes: Option<u64>,
}

/// Why a capture has to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is older than so many days.
    Age {
        /// The most days.
        max_days: u32,
    },
    /// It was the oldest when all captures together were too large.
    Size {
        /// What they had.
        total_bytes: u64,
        /// The most.
        max_bytes: u64,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Age { max_days: 1 } => f.write_str("it is older than 1 day"),
            Self::Age { max_days } => write!(f, "it is older than {max_days} days"),
            Self::Size { total_bytes, max_bytes } => {
                write!(f, "it was the oldest of captures with {total_bytes} bytes, of which {max_bytes} are kept")
            }
        }
    }
}

/// A capture that has to go, and why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Due {
    /// Which.
    pub id: CaptureId,
    /// Why.
    pub reason: Reason,
}

impl RetentionRule {
    /// Which deleted captures go for good at `now_unix_ns`: those whose day is over, and the oldest until there is room for all that
    /// is shown, which takes `shown_bytes`. On a full disk all do.
    pub fn discarded(
        &self,
        now_unix_ns: i64,
        deleted: &[DeletedCapture],
        (shown_bytes, is_full): (u64, bool),
    ) -> Vec<CaptureId> {
        let mut total_bytes: u128 = deleted.iter().map(|one| u128::from(one.size_bytes)).sum();
        total_bytes += u128::from(shown_bytes);
        let mut oldest: Vec<&DeletedCapture> = deleted.iter().collect();
        oldest.sort_by_key(|one| (one.deleted_unix_ns, one.id.bits()));
        let goes = |one: &&DeletedCapture| {
            let has_no_room = is_full || self.max_bytes.is_some_and(|most| total_bytes > u128::from(most));
            let goes = has_no_room || restorable_until(one.deleted_unix_ns) <= now_unix_ns;
            if goes {
                total_bytes -= u128::from(one.size_bytes);
            }
            goes
        };
        oldest.into_iter().filter(goes).map(|one| one.id).collect()
    }

    /// Whether nothing ever goes.
    pub const fn is_off(&self) -> bool {
        self.max_days.is_none() && self.max_bytes.is_none()
    }

    /// When a capture that ended or was imported at `since_unix_ns` goes by its age; none if it does not.
    pub fn kept_until(&self, since_unix_ns: i64, pinned: bool) -> Option<i64> {
        let days = self.max_days.filter(|_| !pinned)?;
        Some(since_unix_ns.saturating_add(DAY_NS.saturating_mul(i64::from(days))))
    }

    /// What has to go at `now_unix_ns`, in the order in which it goes: the oldest first.
    ///
    /// Never a capture that is recorded, pinned or `busy`. What is of a time that has not come, because a clock was wrong,
    /// has no age and counts as the newest. By size the newest that has ended stays even if it alone is too large: what
    /// somebody has just recorded is not gone before they have seen it.
    pub fn due(&self, now_unix_ns: i64, captures: &[RetainedCapture], busy: impl Fn(CaptureId) -> bool) -> Vec<Due> {
        let ended = captures.iter().filter(|one| !one.recording && !busy(one.id));
        let newest = ended.clone().filter(|one| one.since_unix_ns <= now_unix_ns).max_by_key(|one| order(one));
        let newest = newest.map(|one| one.id);
        let mut free: Vec<&RetainedCapture> = ended.filter(|one| !one.pinned).collect();
        free.sort_by_key(|one| order(one));
        let mut total_bytes: u128 = captures.iter().map(|one| u128::from(one.size_bytes)).sum();
        let mut due = Vec::new();
        let mut left = Vec::new();
        for one in free {
            match self.max_days.filter(|_| self.is_too_old(now_unix_ns, one)) {
                Some(max_days) => {
                    total_bytes -= u128::from(one.size_bytes);
                    due.push(Due { id: one.id, reason: Reason::Age { max_days } });
                }
                None => left.push(one),
            }
        }
        let Some(max_bytes) = self.max_bytes else { return due };
        for one in left.into_iter().filter(|one| Some(one.id) != newest) {
            if total_bytes <= u128::from(max_bytes) {
                break;
            }
            let told = u64::try_from(total_bytes).unwrap_or(u64::MAX);
            due.push(Due { id: one.id, reason: Reason::Size { total_bytes: told, max_bytes } });
            total_bytes -= u128::from(one.size_bytes);
        }
        due
    }

    fn is_too_old(&self, now_unix_ns: i64, one: &RetainedCapture) -> bool {
        self.kept_until(one.since_unix_ns, one.pinned).is_some_and(|until| until < now_unix_ns)
    }
}

/// Oldest first; the same captures in the same order, whatever order they came in.
const fn order(one: &RetainedCapture) -> (i64, u64) {
    (one.since_unix_ns, one.id.bits())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_800_000_000_000_000_000;

    /// A capture of `size` bytes that ended `days` ago.
    fn of(id: u64, days: i64, size_bytes: u64) -> RetainedCapture {
        let since_unix_ns = NOW.saturating_sub(days.saturating_mul(DAY_NS));
        RetainedCapture { id: CaptureId::from_bits(id), recording: false, pinned: false, since_unix_ns, size_bytes }
    }

    fn pinned(id: u64, days: i64, size_bytes: u64) -> RetainedCapture {
        RetainedCapture { pinned: true, ..of(id, days, size_bytes) }
    }

    fn recording(id: u64, days: i64, size_bytes: u64) -> RetainedCapture {
        RetainedCapture { recording: true, ..of(id, days, size_bytes) }
    }

    /// Those that go, in order; the capture 9 is busy.
    fn going(max_days: Option<u32>, max_bytes: Option<u64>, captures: &[RetainedCapture]) -> Vec<u64> {
        let rule = RetentionRule { max_days, max_bytes };
        let due = rule.due(NOW, captures, |id| id == CaptureId::from_bits(9));
        let mut turned = captures.to_vec();
        turned.reverse();
        assert_eq!(rule.due(NOW, &turned, |id| id == CaptureId::from_bits(9)), due, "the order does not matter");
        due.into_iter().map(|due| due.id.bits()).collect()
    }

    #[test]
    fn p39_deleted_captures_go_after_a_day_or_when_there_is_no_room() {
        let one = |id: u64, ago_ns: i64, size_bytes: u64| DeletedCapture {
            id: CaptureId::from_bits(id),
            title: String::new(),
            owner: String::new(),
            started_unix_ns: 0,
            size_bytes,
            deleted_unix_ns: NOW - ago_ns,
            deleted_by: String::new(),
        };
        // The last one is of a time that has not come.
        let deleted = [one(1, 10, 100), one(2, DAY_NS, 100), one(3, DAY_NS - 1, 100), one(4, -5 * DAY_NS, 100)];
        let gone = |now_unix_ns, max_bytes, shown_bytes, is_full| {
            let rule = RetentionRule { max_days: Some(1), max_bytes };
            let gone = rule.discarded(now_unix_ns, &deleted, (shown_bytes, is_full));
            gone.into_iter().map(CaptureId::bits).collect::<Vec<_>>()
        };
        assert_eq!(gone(NOW, None, 1 << 40, false), [2]);
        assert_eq!(gone(NOW + 1, None, 0, false), [2, 3]);
        assert_eq!(gone(i64::MIN, None, 0, false), [0_u64; 0], "it is not known what time it is");
        assert_eq!(gone(i64::MIN, Some(500), 100, false), [0_u64; 0]);
        assert_eq!(gone(i64::MIN, Some(499), 250, false), [2, 3], "the oldest first, as many as it takes");
        assert_eq!(gone(i64::MIN, Some(10), 250, false), [2, 3, 1, 4]);
        assert_eq!(gone(NOW, None, 0, true), [2, 3, 1, 4]);
    }

    #[test]
    fn p39_what_goes_and_what_stays() {
        type Case = (&'static str, Option<u32>, Option<u64>, Vec<RetainedCapture>, Vec<u64>);
        let three = || vec![of(1, 3, 10), of(2, 2, 10), of(3, 1, 10)];
        let cases: Vec<Case> = vec![
            ("no rule", None, None, three(), vec![]),
            ("nothing there", Some(1), Some(1), vec![], vec![]),
            ("by age, exactly a day old stays", Some(1), None, three(), vec![1, 2]),
            ("by age, all of them", Some(1), None, vec![of(1, 3, 10), of(2, 2, 10)], vec![1, 2]),
            ("by size, the oldest first", None, Some(15), three(), vec![1, 2]),
            ("by size, just fits", None, Some(30), three(), vec![]),
            ("by size, a byte too much", None, Some(29), three(), vec![1]),
            ("the newest stays though it is too large", None, Some(5), three(), vec![1, 2]),
            ("by age first, and then it fits", Some(2), Some(20), three(), vec![1]),
            ("by both", Some(2), Some(10), three(), vec![1, 2]),
            ("pinned stays, and counts", Some(1), Some(25), vec![pinned(1, 9, 20), of(2, 1, 4), of(3, 0, 4)], vec![2]),
            ("pinned alone is too large", None, Some(5), vec![pinned(1, 9, 20), of(2, 1, 4), of(3, 0, 4)], vec![2]),
            ("the newest is pinned", None, Some(5), vec![of(1, 2, 4), of(2, 1, 4), pinned(3, 0, 4)], vec![1, 2]),
            (
                "recorded stays, and counts",
                Some(1),
                Some(9),
                vec![recording(1, 9, 9), of(2, 1, 1), of(3, 0, 1)],
                vec![2],
            ),
            ("busy stays", Some(1), None, vec![of(9, 5, 1), of(2, 4, 1)], vec![2]),
            (
                "a recording one is not the newest that has ended",
                None,
                Some(5),
                vec![of(1, 1, 9), recording(2, 0, 1)],
                vec![],
            ),
        ];
        for (what, max_days, max_bytes, captures, expected) in cases {
            assert_eq!(going(max_days, max_bytes, &captures), expected, "{what}");
        }
    }

    #[test]
    fn p39_times_that_have_not_come_sort_and_break_nothing() {
        let future = |id, size| of(id, -3650, size);
        let end_of_time = |id, size| RetainedCapture { since_unix_ns: i64::MAX, ..of(id, 0, size) };
        let before_all = |id, size| RetainedCapture { since_unix_ns: i64::MIN, ..of(id, 0, size) };
        assert_eq!(going(Some(1), None, &[future(1, 9), of(2, 5, 9), end_of_time(3, 9)]), [2], "they have no age");
        // What was just recorded is the newest, not what pretends to be.
        assert_eq!(going(None, Some(10), &[future(1, 9), of(2, 0, 9), of(3, 5, 9)]), [3, 1]);
        assert_eq!(going(None, Some(10), &[future(1, 9), end_of_time(2, 9)]), [1]);
        assert_eq!(going(Some(1), Some(0), &[before_all(1, u64::MAX), of(2, 0, u64::MAX), of(3, 0, 1)]), [1, 2]);
        let rule = RetentionRule { max_days: Some(u32::MAX), max_bytes: None };
        assert_eq!(rule.kept_until(i64::MAX, false), Some(i64::MAX));
    }

    /// A wall clock that was an hour off while a capture was recorded moves its age by that hour, and nothing else.
    #[test]
    fn p32_an_hour_off_is_an_hour_of_age() {
        let rule = RetentionRule { max_days: Some(7), max_bytes: None };
        let hour_ns = DAY_NS / 24;
        let seven = of(1, 7, 1);
        for (off_ns, goes) in [(-hour_ns, true), (0, false), (hour_ns, false)] {
            let one = RetainedCapture { since_unix_ns: seven.since_unix_ns + off_ns, ..seven };
            assert_eq!(!rule.due(NOW, &[one], |_| false).is_empty(), goes, "{off_ns}");
            assert_eq!(rule.kept_until(one.since_unix_ns, false), Some(NOW + off_ns));
        }
        assert_eq!(rule.kept_until(NOW, true), None, "pinned");
    }

    #[test]
    fn reasons_are_told_in_words() {
        assert_eq!(Reason::Age { max_days: 7 }.to_string(), "it is older than 7 days");
        let size = Reason::Size { total_bytes: 30, max_bytes: 20 }.to_string();
        assert!(size.contains("30 bytes") && size.contains("20 are kept"), "{size}");
    }
}
