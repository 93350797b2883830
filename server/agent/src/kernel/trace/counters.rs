//! Counters that tracefs keeps: what each CPU's buffer took and lost, and how often probes were hit.

/// Bytes of an event where none tells.
const USUAL_EVENT_BYTES: u64 = 32;
/// No event is longer than a page.
const MOST_EVENT_BYTES: u64 = 4096;

/// What one buffer, or all of them, took and lost, in events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stats {
    /// Written, whether read, unread or overwritten since.
    pub(crate) written: u64,
    /// Overwritten before they were read.
    pub(crate) overrun: u64,
    /// Never written, as the buffer was full or busy.
    pub(crate) dropped: u64,
    /// How many bytes an event takes on average, as far as the unread ones tell.
    pub(crate) each_bytes: u64,
}

impl Stats {
    /// Reads `per_cpu/cpuN/stats`; what is not there counts as 0.
    pub(crate) fn parse(text: &str) -> Self {
        let value = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.and_then(|digits| digits.trim().parse().ok()).unwrap_or(0_u64)
        };
        let (overrun, entries) = (value("overrun"), value("entries"));
        let written = entries.saturating_add(value("read events")).saturating_add(overrun);
        let dropped = value("dropped events").saturating_add(value("commit overrun"));
        let each_bytes = value("bytes").checked_div(entries).unwrap_or(USUAL_EVENT_BYTES).min(MOST_EVENT_BYTES);
        Self { written, overrun, dropped, each_bytes }
    }

    /// Both together.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self {
            written: self.written.saturating_add(other.written),
            overrun: self.overrun.saturating_add(other.overrun),
            dropped: self.dropped.saturating_add(other.dropped),
            each_bytes: self.each_bytes.max(other.each_bytes),
        }
    }
}

/// Hits of a probe, and hits that its handler missed.
pub(crate) type Hits = (u64, u64);

/// The hits of each event of `group`, by its name. `events` is the text of `kprobe_events` or `uprobe_events`, `profile`
/// that of `kprobe_profile` or `uprobe_profile`: a profile has the names without their groups, so that the lines are
/// told apart by their order, which both have.
pub(crate) fn hits(events: &str, profile: &str, group: &str) -> Vec<(String, Hits)> {
    let all = all_hits(events, profile).into_iter();
    all.filter(|(its_group, ..)| its_group == group).map(|(_, name, hits)| (name, hits)).collect()
}

/// The hits of all events, by group and name; see [`hits`].
pub(crate) fn all_hits(events: &str, profile: &str) -> Vec<(String, String, Hits)> {
    if events.lines().count() != profile.lines().count() {
        return Vec::new();
    }
    let of_line = |(event, counts): (&str, &str)| {
        let named = event.split(' ').next()?.split_once(':')?.1;
        let (its_group, name) = named.split_once('/')?;
        let words: Vec<&str> = counts.split_ascii_whitespace().collect();
        let at = words.iter().rposition(|word| *word == name)?;
        let number = |index: usize| words.get(index).and_then(|word| word.parse().ok());
        Some((its_group.to_owned(), name.to_owned(), (number(at + 1)?, number(at + 2).unwrap_or(0))))
    };
    events.lines().zip(profile.lines()).filter_map(of_line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_and_overwritten_was_written_too() {
        let text = "entries: 5\noverrun: 2\ncommit overrun: 1\nbytes: 900\noldest event ts:  1.0\n\
            now ts:   2.0\ndropped events: 3\nread events: 10\n";
        assert_eq!(Stats::parse(text), Stats { written: 17, overrun: 2, dropped: 4, each_bytes: 180 });
        assert_eq!(Stats::parse("entries: x"), Stats { each_bytes: USUAL_EVENT_BYTES, ..Stats::default() });
        let one = Stats { written: 1, overrun: 2, dropped: u64::MAX, each_bytes: 7 };
        assert_eq!(one.plus(one), Stats { written: 2, overrun: 4, dropped: u64::MAX, each_bytes: 7 });
    }

    #[test]
    fn hits_are_those_of_the_group_only() {
        let events = "p:theirs/x vfs_read\np:ours/x vfs_read\nr64:ours/y vfs_write\n";
        let profile = "  x    5    0\n  x    7    1\n  y   2  0\n";
        let expected = vec![("x".to_owned(), (7, 1)), ("y".to_owned(), (2, 0))];
        assert_eq!(hits(events, profile, "ours"), expected);
        assert_eq!(hits(events, "  x 5 0\n", "ours"), Vec::new(), "one was added in between");
        let files = hits("p:ours/u1 /bin/bash:0x30000 arg=%di\n", "  /bin/bash u1      12\n", "ours");
        assert_eq!(files, vec![("u1".to_owned(), (12, 0))]);
    }
}
