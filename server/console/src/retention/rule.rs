//! Which captures have to go. Pure: what time it is is told.

use std::{collections::BTreeSet, fmt};

use bathyscope_capture::CaptureId;
use bathyscope_store::{DeletedCapture, RetainedCapture};

use super::labels::{LabelRule, RuleSubject, Term, term};

const DAY_NS: i64 = 86_400 * 1_000_000_000;

/// Until when a capture that was deleted at `deleted_unix_ns` can be restored, nanoseconds since 1970.
pub const fn restorable_until(deleted_unix_ns: i64) -> i64 {
    deleted_unix_ns.saturating_add(DAY_NS)
}

/// How long captures are kept; by default for ever.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetentionRule {
    /// The most days since a capture ended or was imported; none for any age.
    pub max_days: Option<u32>,
    /// The most bytes of all captures together, as [`RetainedCapture::size_bytes`] counts them; none for any size.
    pub max_bytes: Option<u64>,
    /// How long captures of a tag or an owner are kept, in place of `max_days`; of several for one capture the longest.
    pub labels: Vec<LabelRule>,
}

/// Why a capture has to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It is older than so many days.
    Age {
        /// The most days.
        max_days: u32,
        /// Whose captures are kept so long, if that is not how long all are.
        subject: Option<RuleSubject>,
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
            Self::Age { max_days, subject } => {
                write!(f, "it is older than {max_days} {}", if *max_days == 1 { "day" } else { "days" })?;
                subject.as_ref().map_or(Ok(()), |subject| write!(f, ", which captures {subject} are kept"))
            }
            Self::Size { total_bytes, max_bytes } => {
                write!(f, "it was the oldest of captures with {total_bytes} bytes, of which {max_bytes} are kept")
            }
        }
    }
}

/// A capture that has to go, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Due {
    /// Which.
    pub id: CaptureId,
    /// Why.
    pub reason: Reason,
}

/// A capture that goes some day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forecast {
    /// Which.
    pub capture: RetainedCapture,
    /// When it is too old, nanoseconds since 1970; none if it never is.
    pub goes_unix_ns: Option<i64>,
    /// Whose captures are kept so long, if that is not how long all are.
    pub subject: Option<RuleSubject>,
    /// By how many bytes all captures can grow before it goes; none if there is no rule of size.
    pub after_bytes: Option<u64>,
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
    pub fn is_off(&self) -> bool {
        self.max_days.is_none() && self.max_bytes.is_none() && self.labels.iter().all(|rule| rule.max_days.is_none())
    }

    /// The rule while it is not known what time it is: nothing goes by its age, and what is kept for ever is.
    pub(super) fn without_ages(&self) -> Self {
        // Days that never end: what is kept for some only is not what others say of all.
        let labels = self.labels.iter().filter(|rule| rule.max_days.is_none()).cloned().collect();
        Self { max_days: None, max_bytes: self.max_bytes, labels }
    }

    /// When a capture goes by its age that ended or was imported at `since_unix_ns`; none if it does not.
    pub fn kept_until(&self, since_unix_ns: i64, pinned: bool, of: (&str, &BTreeSet<String>)) -> Option<i64> {
        match term(&self.labels, self.max_days, of) {
            Term::Days(days, _) if !pinned => {
                Some(since_unix_ns.saturating_add(DAY_NS.saturating_mul(i64::from(days))))
            }
            _ => None,
        }
    }

    fn term<'r>(&'r self, one: &RetainedCapture) -> Term<'r> {
        if one.pinned { Term::Forever } else { term(&self.labels, self.max_days, (&one.owner, &one.tags)) }
    }

    /// Which captures go some day if nothing is done, the next first: by age in order of their times, then by size the oldest
    /// first. What is recorded or `busy` does not go as it is, and is left out.
    pub fn forecast(
        &self,
        now_unix_ns: i64,
        captures: Vec<RetainedCapture>,
        busy: impl Fn(CaptureId) -> bool,
    ) -> Vec<Forecast> {
        let total_bytes: u128 = captures.iter().map(|one| u128::from(one.size_bytes)).sum();
        let goes = |one: &RetainedCapture| !one.recording && !busy(one.id) && self.term(one) != Term::Forever;
        let mut free: Vec<RetainedCapture> = captures.into_iter().filter(goes).collect();
        free.sort_by_key(order);
        let (mut all, mut freed_bytes) = (Vec::with_capacity(free.len()), 0_u128);
        for capture in free {
            let subject = match self.term(&capture) {
                Term::Days(_, subject) => subject.cloned(),
                _ => None,
            };
            let goes_unix_ns = self.kept_until(capture.since_unix_ns, false, (&capture.owner, &capture.tags));
            // By then what is older and goes first has gone.
            let after = self.max_bytes.map(|most| (u128::from(most) + freed_bytes).saturating_sub(total_bytes));
            let after_bytes = after.map(|bytes| u64::try_from(bytes).unwrap_or(u64::MAX));
            freed_bytes += u128::from(capture.size_bytes);
            if goes_unix_ns.is_some() || after_bytes.is_some() {
                all.push(Forecast { capture, goes_unix_ns, subject, after_bytes });
            }
        }
        // What is too large already goes at once, whenever its age is over.
        let when = |one: &Forecast| match (one.goes_unix_ns, one.after_bytes) {
            (_, Some(0)) => now_unix_ns.min(one.goes_unix_ns.unwrap_or(i64::MAX)),
            (at, _) => at.unwrap_or(i64::MAX),
        };
        all.sort_by_key(|one| (when(one), one.after_bytes.unwrap_or(u64::MAX)));
        all
    }

    /// What has to go at `now_unix_ns`, in the order in which it goes: the oldest first.
    ///
    /// Never a capture that is recorded, pinned, kept for ever by its tag or owner, or `busy`. What is of a time that has not come, because a clock was wrong,
    /// has no age and counts as the newest. By size the newest that has ended stays even if it alone is too large: what
    /// somebody has just recorded is not gone before they have seen it.
    pub fn due(&self, now_unix_ns: i64, captures: &[RetainedCapture], busy: impl Fn(CaptureId) -> bool) -> Vec<Due> {
        let ended = captures.iter().filter(|one| !one.recording && !busy(one.id));
        let newest = ended.clone().filter(|one| one.since_unix_ns <= now_unix_ns).max_by_key(|one| order(one));
        let newest = newest.map(|one| one.id);
        let mut free: Vec<&RetainedCapture> = ended.filter(|one| self.term(one) != Term::Forever).collect();
        free.sort_by_key(|one| order(one));
        let mut total_bytes: u128 = captures.iter().map(|one| u128::from(one.size_bytes)).sum();
        let mut due = Vec::new();
        let mut left = Vec::new();
        for one in free {
            match self.term(one) {
                Term::Days(max_days, subject) if self.is_too_old(now_unix_ns, one) => {
                    total_bytes -= u128::from(one.size_bytes);
                    due.push(Due { id: one.id, reason: Reason::Age { max_days, subject: subject.cloned() } });
                }
                _ => left.push(one),
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
        let until = self.kept_until(one.since_unix_ns, one.pinned, (&one.owner, &one.tags));
        until.is_some_and(|until| until < now_unix_ns)
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
        let (title, owner, tags) = (String::new(), "ada".to_owned(), BTreeSet::new());
        let id = CaptureId::from_bits(id);
        RetainedCapture { id, title, owner, tags, recording: false, pinned: false, since_unix_ns, size_bytes }
    }

    fn pinned(id: u64, days: i64, size_bytes: u64) -> RetainedCapture {
        RetainedCapture { pinned: true, ..of(id, days, size_bytes) }
    }

    fn recording(id: u64, days: i64, size_bytes: u64) -> RetainedCapture {
        RetainedCapture { recording: true, ..of(id, days, size_bytes) }
    }

    /// Those that go, in order; the capture 9 is busy.
    fn going(max_days: Option<u32>, max_bytes: Option<u64>, captures: &[RetainedCapture]) -> Vec<u64> {
        let rule = RetentionRule { max_days, max_bytes, labels: Vec::new() };
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
            let rule = RetentionRule { max_days: Some(1), max_bytes, labels: Vec::new() };
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
        let rule = RetentionRule { max_days: Some(u32::MAX), ..RetentionRule::default() };
        assert_eq!(rule.kept_until(i64::MAX, false, ("", &BTreeSet::new())), Some(i64::MAX));
    }

    /// A wall clock that was an hour off while a capture was recorded moves its age by that hour, and nothing else.
    #[test]
    fn p32_an_hour_off_is_an_hour_of_age() {
        let rule = RetentionRule { max_days: Some(7), ..RetentionRule::default() };
        let nobody = BTreeSet::new();
        let hour_ns = DAY_NS / 24;
        let seven = of(1, 7, 1);
        for (off_ns, goes) in [(-hour_ns, true), (0, false), (hour_ns, false)] {
            let one = RetainedCapture { since_unix_ns: seven.since_unix_ns + off_ns, ..seven.clone() };
            assert_eq!(rule.kept_until(one.since_unix_ns, false, ("", &nobody)), Some(NOW + off_ns));
            assert_eq!(!rule.due(NOW, &[one], |_| false).is_empty(), goes, "{off_ns}");
        }
        assert_eq!(rule.kept_until(NOW, true, ("", &nobody)), None, "pinned");
    }

    /// A capture of this owner with this tag.
    fn labelled(one: RetainedCapture, owner: &str, tag: &str) -> RetainedCapture {
        RetainedCapture { owner: owner.to_owned(), tags: BTreeSet::from([tag.to_owned()]), ..one }
    }

    fn with_labels(max_days: Option<u32>, max_bytes: Option<u64>) -> RetentionRule {
        let labels = ["tag:slow=90d", "by:ci=3d", "tag:release=forever"];
        let labels = labels.iter().filter_map(|text| text.parse().ok()).collect();
        RetentionRule { max_days, max_bytes, labels }
    }

    #[test]
    fn p39_rules_of_tags_and_owners_hold_in_place_of_the_one_for_all() {
        let captures = [
            labelled(of(1, 40, 10), "ada", "x"),
            labelled(of(2, 40, 10), "ada", "slow"),
            labelled(of(3, 5, 10), "ci", "x"),
            labelled(of(4, 100, 10), "ci", "slow"),
            labelled(of(5, 4000, 10), "ci", "release"),
            labelled(of(6, 2, 10), "ci", "x"),
            labelled(of(7, 1, 10), "ada", "x"),
        ];
        let going = |rule: &RetentionRule| {
            rule.due(NOW, &captures, |_| false).into_iter().map(|due| due.id.bits()).collect::<Vec<_>>()
        };
        assert_eq!(going(&with_labels(Some(30), None)), [4, 1, 3]);
        assert_eq!(going(&with_labels(None, None)), [4, 3], "others have no age");
        assert_eq!(going(&with_labels(None, Some(20))), [4, 3, 1, 2, 6], "and what is kept for ever goes by no size");
        assert!(going(&with_labels(Some(30), None).without_ages()).is_empty());
        let only = RetentionRule { labels: with_labels(None, None).labels.split_off(2), ..RetentionRule::default() };
        assert!(only.is_off() && !with_labels(None, None).is_off());
    }

    #[test]
    fn what_goes_is_told_before_in_the_order_in_which_it_goes() {
        let captures = vec![
            labelled(of(1, 10, 10), "ada", "x"),
            labelled(of(2, 10, 10), "ada", "slow"),
            labelled(of(3, 2, 10), "ci", "x"),
            labelled(of(4, 100, 10), "ci", "slow"),
            labelled(of(5, 4000, 10), "ci", "release"),
            pinned(6, 50, 10),
            recording(7, 0, 10),
            of(9, 9, 10),
        ];
        let told = |rule: &RetentionRule| {
            let all = rule.forecast(NOW, captures.clone(), |id| id == CaptureId::from_bits(9));
            let days = |at: i64| (at - NOW) / DAY_NS;
            all.into_iter()
                .map(|one| (one.capture.id.bits(), one.goes_unix_ns.map(days), one.after_bytes))
                .collect::<Vec<_>>()
        };
        let by_age = [(4, Some(-10), None), (3, Some(1), None), (1, Some(20), None), (2, Some(80), None)];
        assert_eq!(told(&with_labels(Some(30), None)), by_age);
        let by_size = [(4, Some(-10), Some(15)), (3, Some(1), Some(45)), (2, Some(80), Some(35)), (1, None, Some(25))];
        assert_eq!(told(&with_labels(None, Some(95))), by_size);
        assert_eq!(told(&RetentionRule::default()), []);
        let rule = RetentionRule { max_bytes: Some(60), ..RetentionRule::default() };
        let first: Vec<_> = told(&rule).into_iter().map(|(id, _, after)| (id, after)).collect();
        assert_eq!(first, [(5, Some(0)), (4, Some(0)), (1, Some(0)), (2, Some(10)), (3, Some(20))]);
    }

    #[test]
    fn reasons_are_told_in_words() {
        let subject = RuleSubject::Tag("slow".to_owned());
        for (max_days, subject, text) in [
            (7, None, "it is older than 7 days"),
            (1, None, "it is older than 1 day"),
            (1, Some(subject), "it is older than 1 day, which captures tag:slow are kept"),
        ] {
            assert_eq!(Reason::Age { max_days, subject }.to_string(), text);
        }
        let size = Reason::Size { total_bytes: 30, max_bytes: 20 }.to_string();
        assert!(size.contains("30 bytes") && size.contains("20 are kept"), "{size}");
    }
}
