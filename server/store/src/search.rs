//! What is asked of the list of captures: words, conditions such as `tag:slow`, `-is:pinned` or `longer:10s`, and an order.
//!
//! A word with a colon whose beginning is no condition is a word as others are: names of events have colons.

use sqlx::{QueryBuilder, Sqlite};

use crate::{limits::cut, rows::sql};

/// The most of the text of a search that is used.
const QUERY_BYTES: usize = 256;

/// Which captures are listed, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryQuery {
    /// What all of them fulfil.
    pub conditions: Vec<SummaryCondition>,
    /// By what they are sorted; those that are alike newest first.
    pub sort: SummarySort,
    /// Whether the order is the other way round.
    pub reversed: bool,
    /// How many at most.
    pub limit: u32,
    /// How many of the first to leave out.
    pub offset: u32,
}

impl Default for SummaryQuery {
    fn default() -> Self {
        Self { conditions: Vec::new(), sort: SummarySort::Started, reversed: false, limit: 100, offset: 0 }
    }
}

/// A condition, or that it is not fulfilled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryCondition {
    /// Whether captures are wanted that do not fulfil it.
    pub negated: bool,
    /// What.
    pub test: SummaryTest,
}

/// What a capture can fulfil. Texts are in lower case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SummaryTest {
    /// Title, owner, host, method, target, tags, description or a note contain it.
    Word(String),
    /// It has this tag.
    Tag(String),
    /// The host's name is this.
    Host(String),
    /// This user started or imported it.
    Owner(String),
    /// It has a source of this kind.
    Method(String),
    /// A property.
    Is(SummaryProperty),
    /// It began before this moment, wall time in nanoseconds since 1970.
    OlderThan(i64),
    /// It lasts at least so long, in nanoseconds.
    Lasts(u64),
    /// It has at least so many bytes.
    Has(u64),
}

/// A property of captures that a search can ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryProperty {
    /// It is kept however old it is.
    Pinned,
    /// It is being recorded.
    Recording,
    /// It came with a file.
    Imported,
    /// Its events were made up.
    Simulated,
    /// It lost events, or may have.
    Lossy,
    /// It has a tag.
    Tagged,
    /// It has a note.
    Noted,
}

impl SummaryProperty {
    /// All, each with its name in searches.
    pub const ALL: [(&'static str, Self); 7] = [
        ("pinned", Self::Pinned),
        ("recording", Self::Recording),
        ("imported", Self::Imported),
        ("simulated", Self::Simulated),
        ("lossy", Self::Lossy),
        ("tagged", Self::Tagged),
        ("noted", Self::Noted),
    ];
}

/// By what captures are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummarySort {
    /// When they began, newest first.
    #[default]
    Started,
    /// How long they are, longest first.
    Duration,
    /// Rows, most first.
    Rows,
    /// Bytes, most first.
    Bytes,
    /// Lost events, most first.
    Lost,
    /// Title, `a` first.
    Title,
    /// Host, likewise.
    Host,
    /// Who started or imported it, likewise.
    Owner,
}

impl SummarySort {
    /// All, each with its name in addresses and on the command line.
    pub const ALL: [(&'static str, Self); 8] = [
        ("started", Self::Started),
        ("duration", Self::Duration),
        ("rows", Self::Rows),
        ("bytes", Self::Bytes),
        ("lost", Self::Lost),
        ("title", Self::Title),
        ("host", Self::Host),
        ("owner", Self::Owner),
    ];

    /// The sort that `text` names; with `-` before the name it is the other way round, which is said beside it.
    ///
    /// # Errors
    /// If there is none of this name.
    pub fn parse(text: &str) -> Result<(Self, bool), UnknownSortError> {
        let (reversed, name) = text.strip_prefix('-').map_or((false, text), |name| (true, name));
        let found = Self::ALL.iter().find(|(known, _)| *known == name);
        found.map(|(_, sort)| (*sort, reversed)).ok_or(UnknownSortError)
    }

    /// The expression, and the direction that is not reversed.
    fn expression(self) -> (&'static str, &'static str) {
        match self {
            Self::Started => ("started_unix_ns", "DESC"),
            Self::Duration => ("end_ns - start_ns", "DESC"),
            Self::Rows => ("row_count", "DESC"),
            Self::Bytes => ("size_bytes", "DESC"),
            Self::Lost => ("lost", "DESC"),
            Self::Title => ("title COLLATE NOCASE", "ASC"),
            Self::Host => ("host_name COLLATE NOCASE", "ASC"),
            Self::Owner => ("owner COLLATE NOCASE", "ASC"),
        }
    }
}

/// There is no sort of this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("one of {}", SummarySort::ALL.map(|(name, _)| name).join(", "))]
pub struct UnknownSortError;

/// A condition that says nothing which can be asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{condition}` asks for nothing: {remedy}")]
pub struct ParseSearchError {
    /// As it was written.
    pub condition: String,
    /// What can be written.
    pub remedy: String,
}

impl SummaryQuery {
    /// The search that `text` says: words and conditions with blanks between them, in double quotes where they have blanks
    /// themselves, with `-` before what shall not be. `now_unix_ns` is the wall time that ages are counted from.
    ///
    /// # Errors
    /// If a condition's value is none that it has.
    pub fn parse(text: &str, now_unix_ns: i64) -> Result<Self, ParseSearchError> {
        let words = split(cut(text, QUERY_BYTES));
        let conditions = words.iter().map(|word| condition(word, now_unix_ns)).collect::<Result<_, _>>()?;
        Ok(Self { conditions, ..Self::default() })
    }

    /// Adds the conditions to a statement that has `captures`, `retention` and, where there are some, `labels`.
    pub(crate) fn push_conditions(&self, builder: &mut QueryBuilder<Sqlite>) {
        for SummaryCondition { negated, test } in &self.conditions {
            builder.push(if *negated { " AND NOT (" } else { " AND (" });
            test.push(builder);
            builder.push(")");
        }
    }

    /// Adds the order.
    pub(crate) fn push_order(&self, builder: &mut QueryBuilder<Sqlite>) {
        let (expression, direction) = self.sort.expression();
        let direction = match (direction, self.reversed) {
            ("DESC", false) | ("ASC", true) => "DESC",
            _ => "ASC",
        };
        builder.push(format!(" ORDER BY {expression} {direction}, started_unix_ns DESC, id"));
    }
}

impl SummaryTest {
    fn push(&self, builder: &mut QueryBuilder<Sqlite>) {
        match self {
            Self::Word(word) => {
                builder.push("instr(captures.search, ").push_bind(word.clone());
                builder.push(") > 0 OR instr(coalesce(labels.search, ''), ").push_bind(word.clone()).push(") > 0");
            }
            Self::Tag(tag) => {
                builder.push("instr(coalesce(labels.tags, ''), ").push_bind(format!(" {tag} ")).push(") > 0");
            }
            Self::Host(host) => {
                builder.push("lower(host_name) = ").push_bind(host.clone());
            }
            Self::Owner(owner) => {
                builder.push("lower(owner) = ").push_bind(owner.clone());
            }
            Self::Method(method) => {
                builder.push("instr(' ' || replace(method, ',', ' ') || ' ', ");
                builder.push_bind(format!(" {method} ")).push(") > 0");
            }
            Self::Is(property) => {
                builder.push(match property {
                    SummaryProperty::Pinned => "pinned",
                    SummaryProperty::Recording => "state = 'recording'",
                    SummaryProperty::Imported => "origin = 'imported'",
                    SummaryProperty::Simulated => "simulated",
                    SummaryProperty::Lossy => {
                        "lost > 0 OR EXISTS (SELECT 1 FROM losses l WHERE l.capture_id = captures.id AND l.stage = 'interrupted')"
                    }
                    SummaryProperty::Tagged => "coalesce(labels.tags, '') <> ''",
                    SummaryProperty::Noted => "EXISTS (SELECT 1 FROM notes n WHERE n.capture_id = captures.id)",
                });
            }
            Self::OlderThan(unix_ns) => {
                builder.push("started_unix_ns < ").push_bind(*unix_ns);
            }
            Self::Lasts(ns) => {
                builder.push("end_ns - start_ns >= ").push_bind(sql(*ns));
            }
            Self::Has(bytes) => {
                builder.push("chunk_bytes + output_bytes + index_bytes + dictionary_bytes >= ").push_bind(sql(*bytes));
            }
        }
    }
}

/// The words of a search; what stands in double quotes is part of one word, blanks too.
fn split(text: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in text.chars() {
        match c {
            '"' => quoted = !quoted,
            c if c.is_whitespace() && !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

fn condition(text: &str, now_unix_ns: i64) -> Result<SummaryCondition, ParseSearchError> {
    let (negated, rest) = match text.strip_prefix('-') {
        Some(rest) if !rest.is_empty() => (true, rest),
        _ => (false, text),
    };
    let lower = rest.to_lowercase();
    let refused = |remedy: String| ParseSearchError { condition: text.to_owned(), remedy };
    let Some((name, value)) = lower.split_once(':').filter(|(_, value)| !value.is_empty()) else {
        return Ok(SummaryCondition { negated, test: SummaryTest::Word(lower) });
    };
    let owned = value.to_owned();
    let duration = || duration_ns(value).ok_or_else(|| refused("write a time such as 30s, 10m, 2h or 7d".to_owned()));
    let size = || size_bytes(value).ok_or_else(|| refused("write a size such as 100k, 20M or 1G".to_owned()));
    let moment = |age: u64| now_unix_ns.saturating_sub(i64::try_from(age).unwrap_or(i64::MAX));
    // What is not older is newer, and so on.
    let (test, is_other) = match name {
        "tag" => (SummaryTest::Tag(owned), false),
        "host" => (SummaryTest::Host(owned), false),
        "by" | "owner" => (SummaryTest::Owner(owned), false),
        "method" => (SummaryTest::Method(owned), false),
        "is" => {
            let found = SummaryProperty::ALL.iter().find(|(known, _)| *known == value);
            let names = || SummaryProperty::ALL.map(|(name, _)| name).join(", ");
            let (_, property) = found.ok_or_else(|| refused(format!("`is:` is one of {}", names())))?;
            (SummaryTest::Is(*property), false)
        }
        "older" => (SummaryTest::OlderThan(moment(duration()?)), false),
        "newer" => (SummaryTest::OlderThan(moment(duration()?)), true),
        "longer" => (SummaryTest::Lasts(duration()?), false),
        "shorter" => (SummaryTest::Lasts(duration()?), true),
        "larger" => (SummaryTest::Has(size()?), false),
        "smaller" => (SummaryTest::Has(size()?), true),
        _ => (SummaryTest::Word(lower.clone()), false),
    };
    Ok(SummaryCondition { negated: negated != is_other, test })
}

/// A number with one of these units, all as whole multiples of the smallest.
fn amount(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, each) = units.iter().find(|(known, _)| *known == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*each)
}

fn duration_ns(text: &str) -> Option<u64> {
    const SECOND: u64 = 1_000_000_000;
    let units =
        [("ms", SECOND / 1000), ("s", SECOND), ("m", 60 * SECOND), ("h", 3600 * SECOND), ("d", 86_400 * SECOND)];
    amount(text, &units)
}

fn size_bytes(text: &str) -> Option<u64> {
    amount(
        text,
        &[
            ("", 1),
            ("k", 1 << 10),
            ("m", 1 << 20),
            ("g", 1 << 30),
            ("kib", 1 << 10),
            ("mib", 1 << 20),
            ("gib", 1 << 30),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY_NS: i64 = 86_400_000_000_000;

    #[test]
    fn searches_are_words_and_conditions() {
        let is = |test: SummaryTest| SummaryCondition { negated: false, test };
        let not = |test: SummaryTest| SummaryCondition { negated: true, test };
        let word = |text: &str| SummaryTest::Word(text.to_owned());
        let cases: [(&str, Vec<SummaryCondition>); 13] = [
            ("", vec![]),
            ("  Slow   DISK ", vec![is(word("slow")), is(word("disk"))]),
            ("\"slow disk\" -Idle", vec![is(word("slow disk")), not(word("idle"))]),
            ("sched:sched_switch", vec![is(word("sched:sched_switch"))]),
            ("tag:", vec![is(word("tag:"))]),
            ("-", vec![is(word("-"))]),
            (
                "tag:Slow -tag:done",
                vec![is(SummaryTest::Tag("slow".to_owned())), not(SummaryTest::Tag("done".to_owned()))],
            ),
            (
                "host:Web1 by:ada owner:bob",
                vec![
                    is(SummaryTest::Host("web1".to_owned())),
                    is(SummaryTest::Owner("ada".to_owned())),
                    is(SummaryTest::Owner("bob".to_owned())),
                ],
            ),
            (
                "is:pinned -is:lossy",
                vec![is(SummaryTest::Is(SummaryProperty::Pinned)), not(SummaryTest::Is(SummaryProperty::Lossy))],
            ),
            ("older:2d", vec![is(SummaryTest::OlderThan(10 * DAY_NS - 2 * DAY_NS))]),
            (
                "newer:1d -newer:1d",
                vec![not(SummaryTest::OlderThan(9 * DAY_NS)), is(SummaryTest::OlderThan(9 * DAY_NS))],
            ),
            (
                "longer:10s shorter:2m",
                vec![is(SummaryTest::Lasts(10_000_000_000)), not(SummaryTest::Lasts(120_000_000_000))],
            ),
            ("larger:20M smaller:1GiB", vec![is(SummaryTest::Has(20 << 20)), not(SummaryTest::Has(1 << 30))]),
        ];
        for (text, conditions) in cases {
            assert_eq!(SummaryQuery::parse(text, 10 * DAY_NS).unwrap().conditions, conditions, "{text}");
        }
    }

    #[test]
    fn conditions_that_ask_for_nothing_are_refused_in_words() {
        for (text, words) in [
            ("is:late", "`is:` is one of pinned, recording"),
            ("older:yesterday", "such as 30s"),
            ("longer:10", "such as 30s"),
            ("longer:-1s", "such as 30s"),
            ("newer:99999999999999d", "such as 30s"),
            ("larger:many", "such as 100k"),
        ] {
            let refused = SummaryQuery::parse(text, 0).unwrap_err().to_string();
            assert!(refused.contains(words) && refused.contains(text), "{text}: {refused}");
        }
    }
}
