//! Captures found and listed.

use bathyscope_capture::visible;
use bathyscope_console::{library::LibraryUser, wire};
use bathyscope_link::clock::wall_unix_ns;
use bathyscope_store::{
    CaptureSummary, FoundText, LibraryKind, SearchField, Store, StoreError, SummaryPage, SummaryQuery, SummarySort,
    Unsearched,
};

use super::{json_line, line};
use crate::{Failure, verbs::text};

/// The search that a kept one and words of the command line say together. A word that has blanks was in quotes.
fn searched(saved: &str, words: &[String]) -> Result<SummaryQuery, Failure> {
    let text =
        [saved.to_owned()].into_iter().chain(words.iter().map(|word| quoted(word))).collect::<Vec<_>>().join(" ");
    let asked = SummaryQuery::parse(&text, wall_unix_ns());
    asked.map_err(|error| Failure::because("searching captures", error))
}

/// A word as the search has it: with quotes around what has blanks, behind its condition and the sign that it shall not be.
fn quoted(word: &str) -> String {
    if !word.contains(char::is_whitespace) || word.contains('"') {
        return word.to_owned();
    }
    let (sign, rest) = word.strip_prefix('-').map_or(("", word), |rest| ("-", rest));
    match rest.split_once(':') {
        Some((name, value)) if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphabetic()) => {
            format!("{sign}{name}:\"{value}\"")
        }
        _ => format!("{sign}\"{rest}\""),
    }
}

/// The text of a search that is kept under this name.
async fn saved_search(store: &Store, name: &str) -> Result<Result<String, Failure>, StoreError> {
    let kept = store.kept_of(None, LibraryKind::Search).await?;
    Ok(match LibraryUser::TERMINAL.meant(name, &kept) {
        Some(found) => Ok(found.text.clone()),
        None => {
            let why = format!("there is no search `{}` in the library", visible(name.as_bytes()));
            Err(Failure::because("reading a saved search", why))
        }
    })
}

/// A place where words were found, with stars around them.
fn marked(found: &FoundText) -> String {
    let (mut out, mut at) = (String::new(), 0);
    for (begin, end) in &found.marks {
        let part = |from: usize, to: usize| found.text.get(from..to).unwrap_or_default();
        out.push_str(&format!("{}*{}*", part(at, *begin), part(*begin, *end)));
        at = *end;
    }
    out + found.text.get(at..).unwrap_or_default()
}

/// What a search did not look into; none if it looked into everything.
fn unsearched(Unsearched { captures, texts, cut }: Unsearched) -> Option<String> {
    let parts = [
        (captures, "captures are not indexed yet and were not searched"),
        (texts, "captures have texts of events that are not indexed yet"),
        (cut, "captures have more text than is searched (is:cut lists them)"),
    ];
    let told: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    (!told.is_empty()).then(|| told.join("; "))
}

/// The sort of this name, and whether it is the other way round.
pub(super) fn sort_of(text: &str) -> Result<(SummarySort, bool), String> {
    SummarySort::parse(text).map_err(|error| format!("it is {error}"))
}

/// What is listed, as it was asked for.
pub(super) struct ListRequest {
    pub(super) words: Vec<String>,
    pub(super) sort: Option<(SummarySort, bool)>,
    pub(super) saved: Option<String>,
    pub(super) limit: u32,
    pub(super) offset: u32,
}

impl ListRequest {
    /// The outer error is the database's.
    async fn query(self, store: &Store) -> Result<Result<SummaryQuery, Failure>, StoreError> {
        let saved = match &self.saved {
            None => String::new(),
            Some(name) => match saved_search(store, name).await? {
                Ok(text) => text,
                Err(failure) => return Ok(Err(failure)),
            },
        };
        Ok(searched(&saved, &self.words).map(|asked| {
            let (sort, reversed) = self.sort.unwrap_or((asked.sort, asked.reversed));
            SummaryQuery { sort, reversed, limit: self.limit, offset: self.offset, ..asked }
        }))
    }
}

/// Prints what is listed.
pub(super) async fn list(
    store: &Store,
    listed: ListRequest,
    json: bool,
) -> Result<Result<String, Failure>, StoreError> {
    let text = listed.words.join(" ");
    let query = match listed.query(store).await? {
        Ok(query) => query,
        Err(failure) => return Ok(Err(failure)),
    };
    Ok(Ok(list_page(store, (&query, &text), json).await?))
}

async fn list_page(store: &Store, (query, asked): (&SummaryQuery, &str), json: bool) -> Result<String, StoreError> {
    let page = store.summaries(query).await?;
    let (captures_bytes, _pinned) = store.sizes().await?;
    let database_bytes = store.room().database_bytes;
    if json {
        let items: Vec<_> = page.items.into_iter().map(wire::CaptureItem::from).collect();
        return Ok(json_line(&serde_json::json!({
            "total": page.total, "total_exceeded": page.total_exceeded, "items": items,
            "captures_bytes": captures_bytes, "database_bytes": database_bytes,
            "unsearched": page.unsearched.map(wire::Unsearched::from),
        })));
    }
    let mut out = String::new();
    for capture in &page.items {
        line(&mut out, format_args!("{}", summary(capture)));
        let elsewhere = |found: &&FoundText| !matches!(found.field, SearchField::Title | SearchField::Tags);
        for found in capture.found.iter().filter(elsewhere) {
            line(&mut out, format_args!("    {}: {}", found.field.name(), marked(found)));
        }
    }
    if let Some(told) = page.unsearched.and_then(unsearched) {
        line(&mut out, format_args!("{told}"));
    }
    if let Some(told) = behind(&page, query) {
        line(&mut out, format_args!("{told}"));
    }
    if page.total == 0 && !query.conditions.is_empty() {
        line(&mut out, format_args!("No match."));
        if let Some(hint) = wire::search_hint(asked) {
            line(&mut out, format_args!("{hint}"));
        }
    } else if page.total == 0 {
        line(&mut out, format_args!("No captures. Make one with `bathyscope trace`, or in the browser."));
    } else {
        let (captures, database) = (text::bytes(captures_bytes), text::bytes(database_bytes));
        line(&mut out, format_args!("all captures together have {captures}, the database {database}"));
    }
    Ok(out)
}

/// What is said of captures that are behind this page; nothing if there are none.
fn behind(page: &SummaryPage, query: &SummaryQuery) -> Option<String> {
    let next = u64::from(query.offset) + page.items.len() as u64;
    let more = match page.total.saturating_sub(next) {
        0 if !page.total_exceeded || page.items.is_empty() => return None,
        0 => "more".to_owned(),
        more if page.total_exceeded => format!("more than {more} more"),
        more => format!("{more} more"),
    };
    Some(format!("and {more}; --offset {next} lists the next"))
}

fn summary(capture: &CaptureSummary) -> String {
    let lost = match (capture.lost, capture.lost_at_least) {
        (0, false) => String::new(),
        (0, true) => ", lost unknown".to_owned(),
        (lost, false) => format!(", {} lost", text::count(lost)),
        (lost, true) => format!(", at least {} lost", text::count(lost)),
    };
    let pinned = if capture.pinned { "  pinned" } else { "" };
    let tags: String = capture.tags.iter().map(|tag| format!("  #{tag}")).collect();
    format!(
        "{}  {}  {:>9}  {:>8} rows{lost}  {:>9}  {}{pinned}  {}{tags}",
        capture.id,
        text::wall_time(capture.started_unix_ns),
        text::duration(capture.duration_ns),
        text::count(capture.rows),
        text::bytes(capture.size_bytes),
        capture.state,
        bathyscope_capture::shown(&capture.title),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_blanks_were_in_quotes() {
        for (word, expected) in [
            ("slow", "slow"),
            ("disk full", "\"disk full\""),
            ("-disk full", "-\"disk full\""),
            ("note:disk full", "note:\"disk full\""),
            ("-note:disk full", "-note:\"disk full\""),
            ("a-b: c", "\"a-b: c\""),
            ("note:\"a b\"", "note:\"a b\""),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn what_was_found_is_between_stars() {
        let found = FoundText {
            field: SearchField::Notes,
            text: "…the größe of it".to_owned(),
            marks: vec![(7, 14), (18, 20)],
        };
        assert_eq!(marked(&found), "…the *größe* of *it*");
        assert_eq!(unsearched(Unsearched::default()), None);
        let told = unsearched(Unsearched { captures: 0, texts: 2, cut: 1 }).unwrap_or_default();
        assert!(told.starts_with("2 captures have texts") && told.contains("; 1 captures"), "{told}");
    }
}
