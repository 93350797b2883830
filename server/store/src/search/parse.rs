//! The text of a search → what it asks for.
//!
//! A word with a colon whose beginning is no condition is a word as others are: names of events have colons.

use super::{SummaryCondition, SummaryNumber, SummaryProperty, SummaryQuery, SummarySort, SummaryTest};
use crate::{CaptureState, limits::cut, model::SearchField};

/// The longest text of a search.
const QUERY_BYTES: usize = 1024;
/// The most words and conditions of one search.
const CONDITIONS: usize = 32;
/// Words of so few letters are whole ones: so many begin with one letter that it says nothing.
const SHORTEST_BEGINNING: usize = 2;

/// What stands before the colon of a condition, but for the names of fields.
const NAMES: [&str; 20] = [
    "tag", "host", "by", "owner", "method", "source", "state", "is", "older", "newer", "before", "after", "longer",
    "shorter", "larger", "smaller", "duration", "size", "rows", "lost",
];

/// A condition that says nothing which can be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{condition}` asks for nothing: {remedy}")]
pub struct ParseSearchError {
    /// As it was written.
    pub condition: String,
    /// What can be written.
    pub remedy: String,
}

/// A word of a search, as it was written.
#[derive(Debug, Default)]
struct Written {
    /// Without quotes.
    text: String,
    /// How many bytes of the text are before the first quote; none if there is none.
    quoted_at: Option<usize>,
}

impl Written {
    fn refused(&self, remedy: String) -> ParseSearchError {
        ParseSearchError { condition: self.text.clone(), remedy }
    }
}

pub(super) fn query(text: &str, now_unix_ns: i64) -> Result<SummaryQuery, ParseSearchError> {
    let too_much = |remedy: String| ParseSearchError { condition: format!("{}…", cut(text, 40)), remedy };
    if text.len() > QUERY_BYTES {
        return Err(too_much(format!("a search has at most {QUERY_BYTES} bytes, and this one {}", text.len())));
    }
    let words = split(text);
    if words.len() > CONDITIONS {
        return Err(too_much(format!(
            "a search has at most {CONDITIONS} words and conditions, and this one {}",
            words.len()
        )));
    }
    let mut query = SummaryQuery::default();
    for word in &words {
        match word.text.strip_prefix("sort:").filter(|_| word.quoted_at.is_none()) {
            Some(sort) => (query.sort, query.reversed) = sort_of(sort).map_err(|remedy| word.refused(remedy))?,
            None => query.conditions.push(condition(word, now_unix_ns)?),
        }
    }
    Ok(query)
}

/// All that may stand before a colon.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.into_iter().chain(SearchField::ALL.into_iter().map(|(.., word)| word)).chain(["sort"])
}

/// The first word with a colon whose beginning is no condition, as what is before the colon and what is behind it.
pub(super) fn unknown(text: &str) -> Option<(String, String)> {
    let written = split(text).into_iter().filter(|word| word.quoted_at.is_none());
    let mut parts = written.filter_map(|word| {
        let (name, value) = word.text.strip_prefix('-').unwrap_or(&word.text).split_once(':')?;
        Some((name.to_owned(), value.to_owned()))
    });
    parts.find(|(name, value)| {
        let known = names().any(|known| known == name.to_lowercase());
        !known && !name.is_empty() && !value.is_empty()
    })
}

fn sort_of(text: &str) -> Result<(SummarySort, bool), String> {
    SummarySort::parse(text).map_err(|error| format!("`sort:` is {error}, with - before it for the other way round"))
}

/// The words of a search; what stands in double quotes is part of one word, blanks too.
fn split(text: &str) -> Vec<Written> {
    let (mut words, mut word, mut quoted) = (Vec::new(), Written::default(), false);
    for c in text.chars() {
        match c {
            '"' => {
                quoted = !quoted;
                word.quoted_at.get_or_insert(word.text.len());
            }
            c if c.is_whitespace() && !quoted => words.push(std::mem::take(&mut word)),
            c => word.text.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.text.is_empty());
    words
}

fn condition(written: &Written, now_unix_ns: i64) -> Result<SummaryCondition, ParseSearchError> {
    let Written { text, quoted_at } = written;
    let (negated, rest) = match text.strip_prefix('-') {
        // In quotes it is part of the words.
        Some(rest) if !rest.is_empty() && *quoted_at != Some(0) => (true, rest),
        _ => (false, text.as_str()),
    };
    let before = text.len() - rest.len();
    let lower = rest.to_lowercase();
    let refused = |remedy: String| written.refused(remedy);
    let named = lower.split_once(':').filter(|(name, value)| {
        // A colon in quotes is part of the words.
        !value.is_empty() && quoted_at.is_none_or(|at| at > before + name.len())
    });
    let known = match named {
        Some((name, value)) => of_name(name, value, now_unix_ns).map_err(refused)?,
        None => None,
    };
    let (test, is_other) = match known {
        Some(known) => known,
        None => {
            let field = named.and_then(|(name, _)| SearchField::ALL.iter().find(|(.., word)| *word == name));
            let words = named.filter(|_| field.is_some()).map_or(lower.as_str(), |(_, value)| value);
            (words_of(field.map(|found| found.0), words, quoted_at.is_some()).map_err(refused)?, false)
        }
    };
    Ok(SummaryCondition { negated: negated != is_other, test })
}

fn words_of(field: Option<SearchField>, text: &str, is_quoted: bool) -> Result<SummaryTest, String> {
    if !text.chars().any(char::is_alphanumeric) {
        return Err("write a word with a letter or digit".to_owned());
    }
    // What is neither letter nor digit ends a word: one that ends so is whole, but for the star that says the contrary.
    let has_star = !is_quoted && text.ends_with('*');
    let text = if has_star { text.trim_end_matches('*') } else { text };
    let last = text.rsplit(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
    let begins = !is_quoted && (has_star || last.chars().count() >= SHORTEST_BEGINNING);
    Ok(SummaryTest::Words { field, text: text.to_owned(), begins })
}

/// What the condition of this name asks for, and whether that it is not so; none if there is no such condition.
fn of_name(name: &str, value: &str, now_unix_ns: i64) -> Result<Option<(SummaryTest, bool)>, String> {
    use SummaryNumber::{Duration, Lost, Rows, Size};
    let owned = value.to_owned();
    let moment = |age: u64| now_unix_ns.saturating_sub(i64::try_from(age).unwrap_or(i64::MAX));
    // What is not older is newer, and so on.
    Ok(Some(match name {
        "tag" => (SummaryTest::Tag(owned), false),
        "host" => (SummaryTest::Host(owned), false),
        "by" | "owner" => (SummaryTest::Owner(owned), false),
        "method" | "source" => (SummaryTest::Method(owned), false),
        "state" => (SummaryTest::State(state(value)?), false),
        "is" => (SummaryTest::Is(property(value)?), false),
        "older" => (SummaryTest::OlderThan(moment(duration_ns(value)?)), false),
        "newer" => (SummaryTest::OlderThan(moment(duration_ns(value)?)), true),
        "before" => (SummaryTest::OlderThan(date_unix_ns(value)?), false),
        "after" => (SummaryTest::OlderThan(date_unix_ns(value)?), true),
        "longer" => (SummaryTest::AtLeast(Duration, duration_ns(value)?), false),
        "shorter" => (SummaryTest::AtLeast(Duration, duration_ns(value)?), true),
        "larger" => (SummaryTest::AtLeast(Size, size_bytes(value)?), false),
        "smaller" => (SummaryTest::AtLeast(Size, size_bytes(value)?), true),
        "duration" => compared(Duration, value, duration_ns)?,
        "size" => compared(Size, value, size_bytes)?,
        "rows" => compared(Rows, value, count)?,
        "lost" => compared(Lost, value, count)?,
        "sort" => return Err("`sort:` has no contrary; write sort:-rows".to_owned()),
        _ => return Ok(None),
    }))
}

/// A number with `>`, `>=`, `<` or `<=` before it.
fn compared(
    number: SummaryNumber,
    text: &str,
    read: fn(&str) -> Result<u64, String>,
) -> Result<(SummaryTest, bool), String> {
    let least = |value: u64| SummaryTest::AtLeast(number, value);
    let next = |value: u64| SummaryTest::AtLeast(number, value.saturating_add(1));
    if let Some(value) = text.strip_prefix(">=") {
        Ok((least(read(value)?), false))
    } else if let Some(value) = text.strip_prefix("<=") {
        Ok((next(read(value)?), true))
    } else if let Some(value) = text.strip_prefix('>') {
        Ok((next(read(value)?), false))
    } else if let Some(value) = text.strip_prefix('<') {
        Ok((least(read(value)?), true))
    } else {
        // None is less than one; that it is just so much nobody asks.
        match read(text)? {
            0 => Ok((least(1), true)),
            _ => Err(format!("write a comparison, such as >{text} or <={text}")),
        }
    }
}

fn state(value: &str) -> Result<CaptureState, String> {
    let names = || CaptureState::ALL.map(CaptureState::as_str).join(", ");
    value.parse().map_err(|_unknown| format!("`state:` is one of {}", names()))
}

fn property(value: &str) -> Result<SummaryProperty, String> {
    let found = SummaryProperty::ALL.iter().find(|(known, _)| *known == value);
    let names = || SummaryProperty::ALL.map(|(name, _)| name).join(", ");
    found.map(|(_, property)| *property).ok_or_else(|| format!("`is:` is one of {}", names()))
}

/// A number with one of these units, all as whole multiples of the smallest.
fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, each) = units.iter().find(|(known, _)| *known == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*each)
}

fn duration_ns(text: &str) -> Result<u64, String> {
    const SECOND: u64 = 1_000_000_000;
    let units =
        [("ms", SECOND / 1000), ("s", SECOND), ("m", 60 * SECOND), ("h", 3600 * SECOND), ("d", 86_400 * SECOND)];
    amount(text, &units).ok_or_else(|| "write a time such as 30s, 10m, 2h or 7d".to_owned())
}

fn size_bytes(text: &str) -> Result<u64, String> {
    const K: u64 = 1 << 10;
    let units = [("", 1), ("k", K), ("m", K * K), ("g", K * K * K), ("kib", K), ("mib", K * K), ("gib", K * K * K)];
    amount(text, &units).ok_or_else(|| "write a size such as 100k, 20M or 1G".to_owned())
}

fn count(text: &str) -> Result<u64, String> {
    let units = [("", 1), ("k", 1000), ("m", 1_000_000), ("g", 1_000_000_000)];
    amount(text, &units).ok_or_else(|| "write a number such as 0, 500 or 20k".to_owned())
}

/// A date, with a time of day and a zone or without: nanoseconds since 1970.
fn date_unix_ns(text: &str) -> Result<i64, String> {
    let moment = text.parse::<jiff::Timestamp>().or_else(|_no_zone| {
        let utc = |time: jiff::civil::DateTime| time.to_zoned(jiff::tz::TimeZone::UTC).map(|zoned| zoned.timestamp());
        text.parse::<jiff::civil::DateTime>().and_then(utc)
    });
    let ns = moment.ok().and_then(|moment| i64::try_from(moment.as_nanosecond()).ok());
    ns.ok_or_else(|| "write a date such as 2026-11-28 or 2026-11-28T14:30+01:00; without a zone it is UTC".to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::{
        super::{SummaryNumber::*, SummaryQuery},
        *,
    };
    use crate::terms::Endings;

    const DAY_NS: i64 = 86_400_000_000_000;

    #[test]
    fn searches_are_words_and_conditions() {
        use SummaryTest::{AtLeast, Host, Is, Method, OlderThan, Owner, State, Tag};
        let is = |test: SummaryTest| SummaryCondition { negated: false, test };
        let not = |test: SummaryTest| SummaryCondition { negated: true, test };
        let words = |field, text: &str, begins| SummaryTest::Words { field, text: text.to_owned(), begins };
        let word = |text: &str| words(None, text, true);
        let whole = |text: &str| words(None, text, false);
        let tag = |text: &str| Tag(text.to_owned());
        let cases: [(&str, Vec<SummaryCondition>); 22] = [
            ("", vec![]),
            ("  Slow   DISK ", vec![is(word("slow")), is(word("disk"))]),
            ("\"slow disk\" -Idle", vec![is(whole("slow disk")), not(word("idle"))]),
            ("sched:sched_switch", vec![is(word("sched:sched_switch"))]),
            ("x ngin* x* \"x*\"", vec![is(whole("x")), is(word("ngin")), is(word("x")), is(whole("x*"))]),
            ("-\"slow disk\" \"-slow\"", vec![not(whole("slow disk")), is(whole("-slow"))]),
            ("tag: /usr/", vec![is(whole("tag:")), is(whole("/usr/"))]),
            (
                "note:Late -script:\"exit code\"",
                vec![
                    is(words(Some(SearchField::Notes), "late", true)),
                    not(words(Some(SearchField::Script), "exit code", false)),
                ],
            ),
            ("\"tag:slow\"", vec![is(whole("tag:slow"))]),
            ("tag:\"slow\"", vec![is(tag("slow"))]),
            ("tag:Slow -tag:done", vec![is(tag("slow")), not(tag("done"))]),
            (
                "host:Web1 by:ada owner:bob",
                vec![is(Host("web1".to_owned())), is(Owner("ada".to_owned())), is(Owner("bob".to_owned()))],
            ),
            ("source:profile state:failed", vec![is(Method("profile".to_owned())), is(State(CaptureState::Failed))]),
            ("is:pinned -is:lossy", vec![is(Is(SummaryProperty::Pinned)), not(Is(SummaryProperty::Lossy))]),
            ("older:2d", vec![is(OlderThan(10 * DAY_NS - 2 * DAY_NS))]),
            ("newer:1d -newer:1d", vec![not(OlderThan(9 * DAY_NS)), is(OlderThan(9 * DAY_NS))]),
            (
                "after:1970-01-03 before:1970-03-01T01:00+01:00",
                vec![not(OlderThan(2 * DAY_NS)), is(OlderThan(59 * DAY_NS))],
            ),
            ("before:2026-11-28T14:30", vec![is(OlderThan(1_795_876_200_000_000_000))]),
            (
                "longer:10s shorter:2m",
                vec![is(AtLeast(Duration, 10_000_000_000)), not(AtLeast(Duration, 120_000_000_000))],
            ),
            ("larger:20M smaller:1GiB", vec![is(AtLeast(Size, 20 << 20)), not(AtLeast(Size, 1 << 30))]),
            ("lost:>0 rows:>=2k lost:0", vec![is(AtLeast(Lost, 1)), is(AtLeast(Rows, 2000)), not(AtLeast(Lost, 1))]),
            ("size:<1k duration:<=1s", vec![not(AtLeast(Size, 1024)), not(AtLeast(Duration, 1_000_000_001))]),
        ];
        for (text, conditions) in cases {
            assert_eq!(SummaryQuery::parse(text, 10 * DAY_NS).unwrap().conditions, conditions, "{text}");
        }
    }

    #[test]
    fn a_name_that_is_no_condition_is_told() {
        for name in NAMES {
            assert!(!matches!(of_name(name, "x", 0), Ok(None)), "{name}");
        }
        for (text, name) in [
            ("slow titel:calls -x:y", Some(("titel", "calls"))),
            ("-Titel:Calls", Some(("Titel", "Calls"))),
            ("TAG:x title:y sort:rows is:pinned", None),
            ("\"titel:calls\" a: :b -", None),
        ] {
            let found = unknown(text);
            assert_eq!(found.as_ref().map(|(name, value)| (name.as_str(), value.as_str())), name, "{text}");
        }
    }

    #[test]
    fn a_search_says_how_it_is_sorted() {
        for (text, sort, reversed) in [
            ("slow", SummarySort::Started, false),
            ("sort:bytes slow", SummarySort::Bytes, false),
            ("sort:-size slow", SummarySort::Bytes, true),
            ("slow sort:-title", SummarySort::Title, true),
        ] {
            let query = SummaryQuery::parse(text, 0).unwrap();
            assert_eq!((query.sort, query.reversed), (sort, reversed), "{text}");
        }
    }

    #[test]
    fn words_are_asked_for_in_the_language_of_their_index() {
        for (text, asked) in [
            ("tag:slow", None),
            ("slow", Some("\"slow\" *")),
            ("slow note:disk -idle", Some("(\"slow\" * AND notes : \"disk\" *) NOT (\"idle\" *)")),
            ("-idle -\"a b\"", Some("(owner : \"\u{e000}\") NOT (\"idle\" * OR \"a b\")")),
            ("NEAR(a) OR title:x)", Some("\"near(a)\" AND \"or\" * AND title : \"x)\"")),
        ] {
            assert_eq!(SummaryQuery::parse(text, 0).unwrap().words(&Endings::new()).as_deref(), asked, "{text}");
        }
    }

    #[test]
    fn whole_words_are_asked_for_where_those_that_begin_so_are_known() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let known = [("slow", words(&["slow", "slower"])), ("disk", words(&["disks"])), ("idle", Vec::new())];
        let known: Endings = known.map(|(beginning, words)| (beginning.to_owned(), words)).into();
        for (text, asked) in [
            ("slow", "(\"slow\" OR \"slower\")"),
            ("\"slow\"", "\"slow\""),
            ("Note:slow/DISK -slow", "(notes : (\"slow/disks\")) NOT ((\"slow\" OR \"slower\"))"),
            ("idle other", "\"idle\" * AND \"other\" *"),
        ] {
            assert_eq!(SummaryQuery::parse(text, 0).unwrap().words(&known).as_deref(), Some(asked), "{text}");
        }
        for (text, ends) in [
            ("slow DISK \"idle\" tag:x a/b", vec!["disk", "slow"]),
            ("ab abc title:a/abcd", vec!["abcd"]),
            ("z\u{fc}rich x\u{301}abc", vec![]),
        ] {
            let query = SummaryQuery::parse(text, 0).unwrap();
            assert_eq!(query.open_ends().into_iter().collect::<Vec<_>>(), ends, "{text}");
        }
    }

    #[test]
    fn conditions_that_ask_for_nothing_are_refused_in_words() {
        let long = "x".repeat(1025);
        let many = "x ".repeat(33);
        for (text, words) in [
            ("is:late", "`is:` is one of pinned, recording"),
            ("state:late", "`state:` is one of recording, finished"),
            ("older:yesterday", "such as 30s"),
            ("longer:10", "such as 30s"),
            ("longer:-1s", "such as 30s"),
            ("newer:99999999999999d", "such as 30s"),
            ("larger:many", "such as 100k"),
            ("lost:>", "such as 0, 500"),
            ("lost:5", "such as >5"),
            ("before:soon", "such as 2026-11-28"),
            ("after:2026-02-30", "such as 2026-11-28"),
            ("after:9999-01-01", "such as 2026-11-28"),
            ("sort:age", "`sort:` is one of started"),
            ("-sort:rows", "`sort:` has no contrary"),
            ("-", "a letter or digit"),
            ("note:--", "a letter or digit"),
        ] {
            let refused = SummaryQuery::parse(text, 0).unwrap_err().to_string();
            assert!(refused.contains(words) && refused.contains(text), "{text}: {refused}");
        }
        for text in [long, many] {
            let refused = SummaryQuery::parse(&text, 0).unwrap_err().to_string();
            assert!(refused.contains("a search has at most"), "{refused}");
        }
    }
}
