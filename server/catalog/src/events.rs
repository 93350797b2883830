//! The kernel's list of tracepoints, and the search in it.

use bathyscope_capture::TracepointName;

/// The most events that are read from the kernel's list.
pub const MAX_AVAILABLE_EVENTS: usize = 200_000;
/// The longest query that is compared; more of it is ignored.
const MAX_QUERY_BYTES: usize = 256;
/// The most words of a query; more are ignored.
const MAX_QUERY_WORDS: usize = 8;

/// Reads tracefs `available_events`: one `system:event` a line. Lines that are no names are left out, the rest is
/// sorted.
pub fn parse_available_events(bytes: &[u8]) -> Vec<TracepointName> {
    let lines = bytes.split(|byte| *byte == b'\n').filter_map(|line| std::str::from_utf8(line).ok());
    let mut names: Vec<_> = lines.filter_map(|line| line.trim().parse().ok()).take(MAX_AVAILABLE_EVENTS).collect();
    names.sort();
    names.dedup();
    names
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracepointMatches<'a> {
    /// How many names match.
    pub total: usize,
    /// The best of them, best first.
    pub best: Vec<&'a TracepointName>,
}

/// Searches for the names that match each word of `query`, in any case: first those that begin with it (the event's
/// name or the whole name), then those where a part does (`switch` in `sched_switch`), then those that contain it, then
/// those that have its letters in order. An empty query matches all.
pub fn search_tracepoints<'a>(names: &'a [TracepointName], query: &str, limit: usize) -> TracepointMatches<'a> {
    let query = query.get(..query.floor_char_boundary(MAX_QUERY_BYTES)).unwrap_or_default().to_ascii_lowercase();
    let words: Vec<&[u8]> = query.split_whitespace().take(MAX_QUERY_WORDS).map(str::as_bytes).collect();
    let mut text = Vec::new();
    let mut found = Vec::new();
    for (index, name) in names.iter().enumerate() {
        text.clear();
        text.extend(name.system().bytes().map(|byte| byte.to_ascii_lowercase()));
        text.push(b':');
        text.extend(name.name().bytes().map(|byte| byte.to_ascii_lowercase()));
        let event_at = name.system().len() + 1;
        let rank = words.iter().try_fold(0, |sum, word| rank(&text, event_at, word).map(|rank| sum + rank));
        if let Some(rank) = rank {
            let length = if words.is_empty() { 0 } else { text.len() };
            found.push((rank, length, index));
        }
    }
    let total = found.len();
    if limit < total {
        found.select_nth_unstable(limit);
        found.truncate(limit);
    }
    found.sort_unstable();
    TracepointMatches { total, best: found.iter().filter_map(|(_, _, index)| names.get(*index)).collect() }
}

/// How well `word` matches: less is better, `None` is not at all.
fn rank(text: &[u8], event_at: usize, word: &[u8]) -> Option<u32> {
    let event = text.get(event_at..).unwrap_or_default();
    if event == word || text == word {
        return Some(0);
    }
    if event.starts_with(word) {
        return Some(1);
    }
    if text.starts_with(word) {
        return Some(2);
    }
    let (mut contained, mut at) = (false, 0);
    while let Some(step) = position(text.get(at..).unwrap_or_default(), word) {
        contained = true;
        at += step;
        if at > 0 && text.get(at - 1).is_some_and(|byte| !byte.is_ascii_alphanumeric()) {
            return Some(3);
        }
        at += 1;
    }
    if contained {
        return Some(4);
    }
    let mut rest = word.iter();
    let mut wanted = rest.next();
    for byte in text {
        if wanted == Some(byte) {
            wanted = rest.next();
        }
    }
    wanted.is_none().then_some(5)
}

fn position(text: &[u8], word: &[u8]) -> Option<usize> {
    let first = word.first()?;
    let last = text.len().checked_sub(word.len())?;
    let mut at = 0;
    loop {
        at += text.get(at..=last)?.iter().position(|byte| byte == first)?;
        if text.get(at..at + word.len()) == Some(word) {
            return Some(at);
        }
        at += 1;
    }
}
