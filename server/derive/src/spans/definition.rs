//! What a span is, and what that means for the streams of a capture.

use bathyscope_capture::{Batch, ColumnData, ColumnType, Predicate, PredicateError, StreamSchema};
use serde::{Deserialize, Serialize};

use super::{
    condition::{Condition, Misfit},
    open::SpanKey,
};
use crate::DerivationError;

/// The most columns of a key, and the most that are carried along.
pub const MAX_SPAN_COLUMNS: usize = 4;
/// The longest name of a span, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// From a row of one stream to a row of the same or another stream with the same key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// Its name, which its stream has.
    pub name: String,
    /// Where it begins.
    pub begin: SpanEdge,
    /// Where it ends. Of the same moment, begins come before ends of another stream; a row that is both first ends what was
    /// open before.
    pub end: SpanEdge,
    /// Which of several begins an end belongs to.
    pub pairing: SpanPairing,
    /// More columns of the begin, as far as they were recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub carried: Vec<String>,
}

/// Rows with which spans begin or end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SpanEdge {
    /// The stream's name.
    pub stream: String,
    /// The columns of the key. The first of the begin has to be equal to the first of the end, and so on: numbers by their
    /// value, texts by their bytes.
    pub key: Vec<String>,
    /// Which rows; all if there is none. Times are those of the monotonic clock.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "bathyscope_capture::predicate_text")]
    pub condition: Option<Predicate>,
}

/// Which of several open begins of a key an end belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SpanPairing {
    /// The last: spans contain others of their key, as calls do.
    Nested,
    /// The first: spans end in the order in which they began, as in a queue.
    Overlapping,
    /// There is only one at a time: a begin without an end is given up when the next comes. So a lost end makes no long span
    /// of two.
    Exclusive,
}

/// One edge of a span in the streams of a capture.
#[derive(Debug)]
pub(super) struct Edge {
    pub(super) stream: u16,
    pub(super) key: Vec<usize>,
    pub(super) condition: Condition,
}

impl Edge {
    /// The key of a row; none if a text of it is not there.
    pub(super) fn key_of(&self, rows: &Batch, row: usize) -> Option<SpanKey> {
        let mut key = SpanKey::default();
        for (at, column) in self.key.iter().enumerate() {
            match rows.columns.get(*column)? {
                ColumnData::U64(values) => key.set(at, *values.get(row)?, false),
                ColumnData::I64(values) => {
                    let value = *values.get(row)?;
                    key.set(at, value.cast_unsigned(), value < 0);
                }
                ColumnData::Id(ids) => key.set(at, ids.get(row).map(|id| u64::from(*id)).filter(|id| *id != 0)?, false),
            }
        }
        Some(key)
    }

    /// The columns that it reads.
    pub(super) fn columns(&self) -> impl Iterator<Item = usize> {
        self.key.iter().copied().chain(self.condition.columns())
    }
}

/// Both edges of a span among the streams of a capture.
pub(super) fn edges(span: &Span, streams: &[StreamSchema]) -> Result<(Edge, Edge), DerivationError> {
    let wrong = |what| Err(DerivationError::Span { name: span.name.chars().take(80).collect(), what });
    if span.name.is_empty() || span.name.len() > MAX_NAME_BYTES {
        return wrong("a name has 1 to 128 bytes");
    }
    if span.begin.key.len() != span.end.key.len() {
        return wrong("the key has as many columns at the begin as at the end");
    }
    if span.begin.key.is_empty() || span.begin.key.len().max(span.carried.len()) > MAX_SPAN_COLUMNS {
        return wrong("a key has 1 to 4 columns, and at most 4 more are carried along");
    }
    let (begin, end) = (edge(span, &span.begin, streams)?, edge(span, &span.end, streams)?);
    let is_text = |edge: &Edge, at: usize| {
        let schema = streams.get(usize::from(edge.stream));
        schema.and_then(|schema| schema.columns.get(at)).is_some_and(|column| column.ty == ColumnType::Text)
    };
    if begin.key.iter().zip(&end.key).any(|(first, second)| is_text(&begin, *first) != is_text(&end, *second)) {
        return wrong("a number and a text are never equal; choose columns of one type for the key");
    }
    Ok((begin, end))
}

fn edge(span: &Span, edge: &SpanEdge, streams: &[StreamSchema]) -> Result<Edge, DerivationError> {
    let found = (0_u16..).zip(streams).find(|(_, schema)| schema.name == edge.stream);
    let Some((stream, schema)) = found else {
        return Err(DerivationError::NoStream { rule: span.name.clone(), needed: edge.stream.clone() });
    };
    let no_column = |column: &str| DerivationError::NoColumn {
        rule: span.name.clone(),
        stream: edge.stream.clone(),
        column: column.to_owned(),
        as_what: "numbers or text",
    };
    let column = |name: &String| {
        let fits = |ty| ty != ColumnType::Stack;
        crate::column::typed(schema, name, fits).ok_or_else(|| no_column(name))
    };
    let key = edge.key.iter().map(column).collect::<Result<_, _>>()?;
    let condition = match &edge.condition {
        None => Condition::default(),
        Some(predicate) => {
            let unfit =
                |error| DerivationError::Condition { name: span.name.clone(), stream: edge.stream.clone(), error };
            let rows_only = |what| Err(PredicateError::RowsOnly { what });
            predicate.validate().and_then(|()| predicate.rows_only().map_or(Ok(()), rows_only)).map_err(&unfit)?;
            Condition::new(predicate, schema).map_err(|misfit| match misfit {
                Misfit::NoColumn(name) => no_column(&name),
                Misfit::Unit(error) => unfit(error),
            })?
        }
    };
    Ok(Edge { stream, key, condition })
}
