//! Reads the condition of a trigger on rows. A filter of a view may be words to look for; of a trigger these would be a misspelt one
//! that never fires, so they are refused unless they stand in double quotes.

use bathyscope_capture::{FlightTrigger, Predicate, StreamSchema};
use bathyscope_catalog::closest;
use bathyscope_views::Filter;

/// What a trigger can be.
const FORMS: &str = "a trigger is a condition such as duration_ns > 100ms, on STREAM if CONDITION, exit NAME, \
                     pressure cpu|memory|io [some|full] > N% for TIME, at MINUTE HOUR DAY MONTH WEEKDAY [ZONE], \
                     or a text in double quotes, which fires at a row that has it";
/// Words with which triggers begin.
const WORDS: [&str; 4] = ["exit", "pressure", "at", "on"];
/// Words that others may use, and what they mean here.
const OTHER_WORDS: [(&str, &str); 7] = [
    ("cron", "at"),
    ("schedule", "at"),
    ("ends", "exit"),
    ("ended", "exit"),
    ("end", "exit"),
    ("stops", "exit"),
    ("psi", "pressure"),
];

/// The filter that a condition is.
///
/// # Errors
/// In words, if it is none that can be judged on a row.
pub(super) fn row_filter((condition, stream): (&str, &str), schemas: &[StreamSchema]) -> Result<Filter, String> {
    let condition = condition.trim();
    let with = |why: String, meant: Option<String>| match meant {
        Some(meant) => format!("{why}; did you mean `{meant}`?"),
        None => why,
    };
    let word = || other_word(condition).filter(|_| stream.is_empty());
    match Filter::parse(condition) {
        Ok(None) => Err("it is empty".to_owned()),
        Ok(Some(Filter::Substring(text))) if condition != format!("\"{text}\"") => {
            if condition.contains("has stack frame") {
                return Err("functions of stacks have no names yet while rows are in memory".to_owned());
            }
            let why = "nothing in it is compared, so that it would never fire".to_owned();
            let meant = word().or_else(|| compared((condition, stream), schemas));
            Err(format!("{}; {FORMS}", with(why, meant)))
        }
        Ok(Some(filter)) => Ok(filter),
        Err(error) => Err(with(error.to_string(), word())),
    }
}

/// The trigger that was probably meant, if its first word is a misspelt one.
fn other_word(condition: &str) -> Option<String> {
    let (word, rest) = condition.split_once(char::is_whitespace)?;
    let lower = word.to_ascii_lowercase();
    let other = OTHER_WORDS.iter().find(|(other, _)| *other == lower).map(|(_, word)| *word);
    let meant = format!("{} {}", other.or_else(|| closest(word, WORDS))?, rest.trim());
    meant.parse::<FlightTrigger>().is_ok_and(|trigger| trigger.validate().is_ok()).then_some(meant)
}

/// The condition that was probably meant, if its first word is a column.
fn compared((condition, stream): (&str, &str), schemas: &[StreamSchema]) -> Option<String> {
    let (word, rest) = condition.split_once(char::is_whitespace)?;
    let rest = rest.trim();
    let columns = schemas.iter().filter(|schema| stream.is_empty() || schema.name == stream);
    let columns = columns.flat_map(|schema| schema.columns.iter().map(|column| column.name.as_str()));
    let column = closest(word, columns)?;
    let forms = [format!("{column} > {rest}"), format!("{column} == \"{rest}\"")];
    let meant = forms.into_iter().find(|text| Predicate::parse(text).is_ok())?;
    Some(if stream.is_empty() { meant } else { format!("on {stream} if {meant}") })
}
