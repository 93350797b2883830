//! What is asked of the list of captures: words, conditions such as `tag:slow`, `-is:pinned` or `lost:>0`, and an order.

mod parse;
mod sort;

use std::collections::BTreeSet;

use sqlx::{QueryBuilder, Sqlite};

pub use self::{
    parse::ParseSearchError,
    sort::{SummarySort, UnknownSortError},
};
use crate::{model::SearchField, rows::sql, terms::Endings, texts::EVERY};

/// Which captures are listed, and in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SummaryQuery {
    /// What all of them fulfil.
    pub conditions: Vec<SummaryCondition>,
    /// By what they are sorted; those that are alike newest first.
    pub sort: SummarySort,
    /// Whether the order is the other way round, of those that are alike too.
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
    /// It has these words one after the other.
    Words {
        /// In what; none for anything.
        field: Option<SearchField>,
        /// The words; what is neither letter nor digit parts them.
        text: String,
        /// Whether the last of them may go on: `ngin` finds `nginx`.
        begins: bool,
    },
    /// It has this tag.
    Tag(String),
    /// The host's name is this.
    Host(String),
    /// This user started or imported it.
    Owner(String),
    /// It has a source of this kind.
    Method(String),
    /// Its state is this.
    State(crate::CaptureState),
    /// A property.
    Is(SummaryProperty),
    /// It began before this moment, wall time in nanoseconds since 1970.
    OlderThan(i64),
    /// A number of it is at least this.
    AtLeast(SummaryNumber, u64),
}

/// A number that a search can compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummaryNumber {
    /// Nanoseconds from its start to its end.
    Duration,
    /// Its bytes.
    Size,
    /// Its rows.
    Rows,
    /// Events that it lost.
    Lost,
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
    /// Its events brought more text than searches look into.
    Cut,
}

impl SummaryProperty {
    /// All, each with its name in searches and what asks for it.
    pub const ALL: [(&'static str, Self); 8] = [
        ("pinned", Self::Pinned),
        ("recording", Self::Recording),
        ("imported", Self::Imported),
        ("simulated", Self::Simulated),
        ("lossy", Self::Lossy),
        ("tagged", Self::Tagged),
        ("noted", Self::Noted),
        ("cut", Self::Cut),
    ];

    const fn expression(self) -> &'static str {
        match self {
            Self::Pinned => "listed.pinned",
            Self::Recording => "listed.state = 'recording'",
            Self::Imported => "listed.origin = 'imported'",
            Self::Simulated => "listed.simulated",
            Self::Lossy => "listed.lost > 0 OR listed.lost_at_least",
            Self::Tagged => "listed.tags <> ''",
            Self::Noted => "listed.notes > 0",
            Self::Cut => "listed.left_out_bytes > 0",
        }
    }
}

impl SummaryQuery {
    /// The search that `text` says: words and conditions with blanks between them, in double quotes where they have blanks
    /// themselves or words are meant to their last letter, with `-` before what shall not be, and `sort:` before the name of an
    /// order. `now_unix_ns` is the wall time that ages are counted from.
    ///
    /// # Errors
    /// If a condition's value is none that it has, or a word has neither letter nor digit.
    pub fn parse(text: &str, now_unix_ns: i64) -> Result<Self, ParseSearchError> {
        parse::query(text, now_unix_ns)
    }

    /// All that may stand before a colon in a search: names of conditions and of what is looked into.
    pub fn names() -> impl Iterator<Item = &'static str> {
        parse::names()
    }

    /// What is before and behind the colon of the first word that has one and is no condition: it is looked for as a word.
    pub fn unknown_name(text: &str) -> Option<(String, String)> {
        parse::unknown(text)
    }

    /// What the index of words is asked, in its own language, with whole words in the place of open ends where they are known; none
    /// if no words are asked for.
    pub(crate) fn words(&self, endings: &Endings) -> Option<String> {
        let words = |wanted: bool| {
            let chosen = self.conditions.iter().filter(move |condition| condition.negated != wanted);
            chosen.filter_map(|condition| condition.test.words(endings)).collect::<Vec<_>>()
        };
        let (all, none) = (words(true), words(false));
        let all = if all.is_empty() { format!("owner : \"{EVERY}\"") } else { all.join(" AND ") };
        match (self.has_words(), none.is_empty()) {
            (false, _) => None,
            (true, true) => Some(all),
            (true, false) => Some(format!("({all}) NOT ({})", none.join(" OR "))),
        }
    }

    /// The open ends that the index of words has to gather each time.
    pub(crate) fn open_ends(&self) -> BTreeSet<&str> {
        self.conditions.iter().filter_map(|condition| condition.test.open_end()).collect()
    }

    fn has_words(&self) -> bool {
        self.conditions.iter().any(|condition| condition.test.is_words())
    }

    /// Whether anything is asked for but words.
    pub(crate) fn has_others(&self) -> bool {
        self.conditions.iter().any(|condition| !condition.test.is_words())
    }

    /// Adds what is asked for but words to a statement that has `listed`.
    pub(crate) fn push_conditions(&self, builder: &mut QueryBuilder<Sqlite>) {
        for SummaryCondition { negated, test } in &self.conditions {
            if !test.is_words() {
                builder.push(if *negated { " AND NOT (" } else { " AND (" });
                test.push(builder);
                builder.push(")");
            }
        }
    }
}

impl SummaryTest {
    /// Whether the index of words is asked for it.
    const fn is_words(&self) -> bool {
        matches!(self, Self::Words { .. })
    }

    /// Its last word, if that may go on and no index is of beginnings of so many letters. What is not ASCII is left to the index of
    /// words, which knows how it is parted and folded.
    fn open_end(&self) -> Option<&str> {
        let Self::Words { text, begins: true, .. } = self else { return None };
        let last = text.rsplit(|c: char| !c.is_ascii_alphanumeric()).find(|part| !part.is_empty())?;
        (text.is_ascii() && !(2..=3).contains(&last.len())).then_some(last)
    }

    /// In the language of the index of words, if that is what it asks for.
    fn words(&self, endings: &Endings) -> Option<String> {
        let Self::Words { field, text, begins } = self else { return None };
        let column = field.map_or_else(String::new, |field| format!("{} : ", field.name()));
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\"").replace('\0', " "));
        let known = self.open_end().and_then(|end| Some((text.rfind(end)?, endings.get(end)?)));
        let any = match known {
            Some((at, words)) if !words.is_empty() => {
                let whole = words.iter().map(|word| quoted(&format!("{}{word}", &text[..at])));
                format!("({})", whole.collect::<Vec<_>>().join(" OR "))
            }
            _ if *begins => format!("{} *", quoted(text)),
            _ => quoted(text),
        };
        Some(format!("{column}{any}"))
    }

    fn push(&self, builder: &mut QueryBuilder<Sqlite>) {
        match self {
            // The index of words is asked for these.
            Self::Words { .. } => {
                builder.push("1");
            }
            Self::Tag(tag) => {
                builder.push("instr(listed.tags, ").push_bind(format!(" {tag} ")).push(") > 0");
            }
            Self::Host(host) => {
                builder.push("lower(listed.host_name) = ").push_bind(host.clone());
            }
            Self::Owner(owner) => {
                builder.push("lower(listed.owner) = ").push_bind(owner.clone());
            }
            Self::Method(method) => {
                builder.push("instr(' ' || replace(listed.method, ',', ' ') || ' ', ");
                builder.push_bind(format!(" {method} ")).push(") > 0");
            }
            Self::State(state) => {
                builder.push("listed.state = ").push_bind(state.as_str());
            }
            Self::Is(property) => {
                builder.push(property.expression());
            }
            Self::OlderThan(unix_ns) => {
                builder.push("listed.started_unix_ns < ").push_bind(*unix_ns);
            }
            Self::AtLeast(number, least) => {
                builder.push(match number {
                    SummaryNumber::Duration => "listed.duration_ns >= ",
                    SummaryNumber::Size => "listed.size_bytes >= ",
                    SummaryNumber::Rows => "listed.row_count >= ",
                    SummaryNumber::Lost => "listed.lost >= ",
                });
                builder.push_bind(sql((*least).min(i64::MAX as u64)));
            }
        }
    }
}
