//! Spans as people write them: `NAME: begin = STREAM on (COLUMN, …) if CONDITION, end = STREAM on (COLUMN, …), exclusive`.
//!
//! The condition and the last word are left out where every row counts and spans are nested; `, with COLUMN COLUMN` before that
//! word names columns of the begin that are carried along.

use std::{fmt, str::FromStr};

use bathyscope_capture::Predicate;

use super::definition::{Span, SpanEdge, SpanPairing};

const PAIRINGS: [(&str, SpanPairing); 3] =
    [("nested", SpanPairing::Nested), ("overlapping", SpanPairing::Overlapping), ("exclusive", SpanPairing::Exclusive)];

/// Why a text is no span.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{what}; a span is written `NAME: begin = STREAM on (COLUMN) [if CONDITION], end = STREAM on (COLUMN) [if CONDITION]`"
)]
pub struct SpanTextError {
    what: String,
}

fn wrong<T>(what: impl Into<String>) -> Result<T, SpanTextError> {
    Err(SpanTextError { what: what.into() })
}

impl FromStr for Span {
    type Err = SpanTextError;

    fn from_str(text: &str) -> Result<Self, SpanTextError> {
        let Some((name, rest)) = text.split_once(": begin") else {
            return wrong("there is no `NAME: begin = …`");
        };
        let mut parts = split_outside(rest, ',').into_iter().map(str::trim).peekable();
        let mut begin = parts.next().unwrap_or_default().to_owned();
        // Commas of a condition belong to it.
        while let Some(part) =
            parts.next_if(|part| part.strip_prefix("end").is_none_or(|rest| !rest.trim_start().starts_with('=')))
        {
            begin = format!("{begin}, {part}");
        }
        let Some(end) = parts.next() else { return wrong("there is no `, end = …`") };
        let (mut pairing, mut carried) = (SpanPairing::Nested, Vec::new());
        for part in parts {
            match (PAIRINGS.iter().find(|(word, _)| *word == part), part.strip_prefix("with ")) {
                (Some((_, found)), _) => pairing = *found,
                (None, Some(columns)) => carried.extend(columns.split_whitespace().map(str::to_owned)),
                (None, None) => {
                    return wrong(format!(
                        "`{part}` is none of `nested`, `overlapping`, `exclusive` and `with COLUMN`"
                    ));
                }
            }
        }
        let end = end.strip_prefix("end").unwrap_or(end);
        Ok(Self { name: name.trim().to_owned(), begin: edge(&begin)?, end: edge(end)?, pairing, carried })
    }
}

/// Splits at a character outside of quotes and parentheses.
fn split_outside(text: &str, at: char) -> Vec<&str> {
    let (mut depth, mut quoted, mut from, mut parts) = (0_u32, false, 0, Vec::new());
    for (place, c) in text.char_indices() {
        match c {
            '"' => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            _ if c == at && !quoted && depth == 0 => {
                parts.extend(text.get(from..place));
                from = place + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.extend(text.get(from..));
    parts
}

/// Reads `= STREAM on (COLUMN, …) if CONDITION`.
fn edge(text: &str) -> Result<SpanEdge, SpanTextError> {
    let text = text.trim();
    let Some(text) = text.strip_prefix('=') else { return wrong(format!("`=` is missing before `{text}`")) };
    let Some((stream, rest)) = text.split_once(" on ") else {
        return wrong(format!("` on (COLUMN)` is missing after `{}`", text.trim()));
    };
    let (key, condition) = rest.split_once(" if ").map_or((rest, None), |(key, condition)| (key, Some(condition)));
    let key = key.trim().trim_start_matches('(').trim_end_matches(')');
    let key: Vec<String> = key.split(',').map(|column| column.trim().to_owned()).collect();
    let condition = match condition {
        None => None,
        Some(text) => match Predicate::parse(text.trim()) {
            Ok(condition) => Some(condition),
            Err(error) => return wrong(format!("the condition `{}` cannot be read: {error}", text.trim())),
        },
    };
    Ok(SpanEdge { stream: stream.trim().to_owned(), key, condition })
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: begin = {}, end = {}", self.name, EdgeText(&self.begin), EdgeText(&self.end))?;
        if !self.carried.is_empty() {
            write!(f, ", with {}", self.carried.join(" "))?;
        }
        let word = PAIRINGS.iter().find(|(_, pairing)| *pairing == self.pairing && *pairing != SpanPairing::Nested);
        word.map_or(Ok(()), |(word, _)| write!(f, ", {word}"))
    }
}

struct EdgeText<'a>(&'a SpanEdge);

impl fmt::Display for EdgeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on ({})", self.0.stream, self.0.key.join(", "))?;
        self.0.condition.as_ref().map_or(Ok(()), |condition| write!(f, " if {condition}"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test says what it expects by panicking")]

    use super::*;

    #[test]
    fn spans_are_written_as_they_are_read() {
        let texts = [
            "requests: begin = block:block_rq_issue on (dev, sector), end = block:block_rq_complete on (dev, sector), exclusive",
            "a: begin = x on (tid), end = y on (tid)",
            r#"waits of "me": begin = x on (tid) if comm == "a, end = b" && (cpu == 1 || cpu == 2), end = y on (pid) if cpu != 3, with comm cpu, overlapping"#,
        ];
        for text in texts {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        let short: Span = "a: begin=x on tid , end =y on (tid ) , nested".parse().unwrap();
        assert_eq!(short, texts[1].parse().unwrap());
    }

    #[test]
    fn what_is_no_span_is_told_where() {
        let wrongs = [
            ("", "there is no `NAME: begin"),
            ("a: begin = x on (tid)", "there is no `, end"),
            ("a: begin x on (tid), end = y on (tid)", "`=` is missing before `x on (tid)`"),
            ("a: begin = x, end = y on (tid)", "` on (COLUMN)` is missing after `x`"),
            ("a: begin = x on (tid) if tid ==, end = y on (tid)", "the condition `tid ==` cannot be read"),
            ("a: begin = x on (tid), end = y on (tid), twice", "`twice` is none of"),
        ];
        for (text, expected) in wrongs {
            let error = text.parse::<Span>().unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("a span is written"), "{text}: {error}");
        }
    }
}
