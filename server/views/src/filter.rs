//! Which rows a view takes.

mod node;

use std::collections::HashMap;

use bathyscope_capture::{
    Batch, Column, ColumnType, CompareOp, Display, Literal, MAX_PREDICATE_BYTES, Predicate, PredicateError,
    StreamSchema,
};

use self::node::{FilterNode, Known, Memo, NeedleInFrames, NumberTest};
use crate::{
    Cancel, ChunkMeta, Source, ViewError,
    needle::{Needle, regular_expression},
};

/// Which rows a view takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Filter {
    /// Rows that satisfy a predicate over their columns. Names are resolved as in the kernel: a common column first,
    /// then the event's own field; `args.NAME` is always the event's own field. Times are relative to the capture's start.
    Predicate(Predicate),
    /// Rows with this text, in any case, in any text column as it is shown, or in a function's name in their stack.
    Substring(String),
}

impl Filter {
    /// Reads what a person typed: a predicate if it has an operator (`= < > ! & | ~`, or one of its words with what belongs
    /// after it), else text to look for. Text in double quotes is always looked for as it is. Nothing but blanks is no filter.
    ///
    /// # Errors
    /// If it has an operator and is not a predicate, or is too long.
    pub fn parse(text: &str) -> Result<Option<Self>, PredicateError> {
        let text = text.trim();
        if text.len() > MAX_PREDICATE_BYTES {
            return Err(PredicateError::TooLarge { what: "long", limit: MAX_PREDICATE_BYTES });
        }
        let quoted =
            text.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')).filter(|inner| !inner.contains('"'));
        if let Some(inner) = quoted {
            return Ok((!inner.is_empty()).then(|| Self::Substring(inner.to_owned())));
        }
        if text.contains(['=', '<', '>', '!', '&', '|', '~']) || has_words_of_condition(text) {
            return Predicate::parse(text).map(|predicate| Some(Self::Predicate(predicate)));
        }
        Ok((!text.is_empty()).then(|| Self::Substring(text.to_owned())))
    }
}

/// Whether a word of the predicate language stands before what it takes, so that `waits in line` is text.
fn has_words_of_condition(text: &str) -> bool {
    type Takes = fn(char) -> bool;
    let is_quote: Takes = |c| matches!(c, '"' | '\'');
    let words: [(&str, Takes); 5] = [
        ("in", |c| c == '('),
        ("between", |c| c.is_ascii_digit() || c == '-'),
        ("contains", is_quote),
        ("matches", is_quote),
        ("has stack frame", is_quote),
    ];
    words.iter().any(|(word, takes)| {
        text.match_indices(word).any(|(at, _)| {
            let (before, after) = (text.get(..at).unwrap_or(""), text.get(at + word.len()..).unwrap_or(""));
            let stands_alone = before.chars().next_back().is_none_or(|c| !c.is_alphanumeric() && c != '_');
            stands_alone && after.trim_start().starts_with(takes)
        })
    })
}

/// A filter with its names resolved for one stream, and what it learnt about strings and stacks so far.
pub(crate) struct Prepared<'a> {
    root: FilterNode,
    columns: Vec<usize>,
    known: Known<'a>,
}

/// The column that a predicate's name means.
fn resolve(schema: &StreamSchema, name: &str) -> Option<usize> {
    let common = StreamSchema::COMMON.len();
    match name.strip_prefix("args.") {
        None => schema.column(name),
        Some(own) => schema.column(name).or_else(|| {
            schema.column(own).filter(|index| {
                *index >= common && schema.columns.get(*index).is_some_and(|column| column.ty != ColumnType::Stack)
            })
        }),
    }
}

pub(crate) fn no_such_column(schema: &StreamSchema, name: &str) -> ViewError {
    let names: Vec<&str> = schema.columns.iter().map(|column| column.name.as_str()).collect();
    ViewError::NoSuchColumn { name: name.chars().take(80).collect(), available: names.join(", ") }
}

impl<'a> Prepared<'a> {
    /// Resolves the names of `filter` for one stream.
    pub(crate) fn new(
        source: &'a dyn Source,
        schema: &StreamSchema,
        filter: &Filter,
        cancel: &'a Cancel,
    ) -> Result<Self, ViewError> {
        Self::without(source, schema, (Some(filter), Vec::new()), cancel)
    }

    /// The same, without rows whose text in a column is one of these.
    pub(crate) fn without(
        source: &'a dyn Source,
        schema: &StreamSchema,
        (filter, texts): (Option<&Filter>, Vec<(usize, Predicate)>),
        cancel: &'a Cancel,
    ) -> Result<Self, ViewError> {
        let mut columns = Vec::new();
        let mut root = match filter {
            None => FilterNode::Everything,
            Some(Filter::Predicate(predicate)) => {
                predicate.validate()?;
                compile(schema, predicate, &mut columns)?
            }
            Some(Filter::Substring(text)) => substring(schema, text, &mut columns),
        };
        for (column, compare) in texts {
            columns.push(column);
            let text = FilterNode::Text { column, compare, memo: Memo::default() };
            root = FilterNode::All(vec![root, FilterNode::Not(Box::new(text))]);
        }
        columns.sort_unstable();
        columns.dedup();
        let known = Known { dictionaries: source.dictionaries(), origin_ns: source.origin_ns(), cancel };
        Ok(Self { root, columns, known })
    }

    /// The columns that it reads.
    pub(crate) fn columns(&self) -> &[usize] {
        &self.columns
    }

    /// Whether a chunk with these extremes can have a row that satisfies it.
    pub(crate) fn can_match(&self, chunk: &ChunkMeta) -> bool {
        self.root.can_match(chunk)
    }

    /// Whether a row satisfies it.
    pub(crate) fn matches(&mut self, batch: &Batch, row: usize) -> bool {
        self.root.matches(batch, row, self.known)
    }
}

fn of_type(schema: &StreamSchema, wanted: ColumnType) -> Vec<usize> {
    let typed = |(_, column): &(usize, &Column)| column.ty == wanted;
    schema.columns.iter().enumerate().filter(typed).map(|(index, _)| index).collect()
}

fn substring(schema: &StreamSchema, text: &str, columns: &mut Vec<usize>) -> FilterNode {
    let (texts, stacks) = (of_type(schema, ColumnType::Text), of_type(schema, ColumnType::Stack));
    let Some(needle) = Needle::new(text) else { return FilterNode::Everything };
    columns.extend(texts.iter().chain(&stacks));
    let needle = Box::new(NeedleInFrames { needle, frames: HashMap::new() });
    FilterNode::Substring { texts, stacks, memo: Memo::default(), stack_memo: Memo::default(), needle }
}

fn compile(schema: &StreamSchema, predicate: &Predicate, columns: &mut Vec<usize>) -> Result<FilterNode, ViewError> {
    let mut parts = |parts: &[Predicate]| -> Result<Vec<FilterNode>, ViewError> {
        parts.iter().map(|part| compile(schema, part, columns)).collect()
    };
    let (field, text) = match predicate {
        Predicate::Not(inner) => return Ok(FilterNode::Not(Box::new(compile(schema, inner, columns)?))),
        Predicate::All(all) => return parts(all).map(FilterNode::All),
        Predicate::Any(any) => return parts(any).map(FilterNode::Any),
        Predicate::HasFrame { name } => {
            let stacks = of_type(schema, ColumnType::Stack);
            if stacks.is_empty() {
                return Err(no_such_column(schema, "stack"));
            }
            columns.extend(&stacks);
            let (name, frames, memo) = (name.clone(), HashMap::new(), Memo::default());
            return Ok(FilterNode::Frame { stacks, name, frames, memo });
        }
        Predicate::Compare { field, op, value } => (field, value.is_text() || op.is_of_text()),
        Predicate::In { field, values } => (field, values.iter().any(Literal::is_text)),
        Predicate::Between { field, .. } => (field, false),
    };
    let index = resolve(schema, field).ok_or_else(|| no_such_column(schema, field))?;
    columns.push(index);
    let is_number = |column: &Column| matches!(column.ty, ColumnType::U64 | ColumnType::I64);
    if !text && schema.columns.get(index).is_some_and(is_number) {
        let plain = predicate.in_units(&mut |_field| schema.unit_of(index))?;
        return leaf(schema, index, text, &plain);
    }
    leaf(schema, index, text, predicate)
}

fn leaf(schema: &StreamSchema, index: usize, text: bool, predicate: &Predicate) -> Result<FilterNode, ViewError> {
    let Some(column) = schema.columns.get(index) else { return Err(no_such_column(schema, "")) };
    let mismatch = |is, wanted| Err(ViewError::Mismatch { field: column.name.clone(), is, wanted });
    match column.ty {
        ColumnType::Stack => mismatch(
            "a stack",
            "compared; write has stack frame \"name\", or part of a function's name alone to look in stacks",
        ),
        ColumnType::Text if !text => mismatch("text", "compared with a number; put the text in double quotes"),
        ColumnType::U64 | ColumnType::I64 if text => match predicate {
            // Of any column these are the rows that have a value.
            Predicate::Compare { op: CompareOp::Matches, value: Literal::Text(text), .. } if text == "*" => {
                let (test, zero_is_none) = (NumberTest::any(), schema.zero_is_none(index));
                Ok(FilterNode::Number { column: index, time: false, zero_is_none, test })
            }
            _ => mismatch("a number", "compared with text"),
        },
        ColumnType::Text => match predicate {
            Predicate::Compare { op: CompareOp::Regex, value: Literal::Text(text), .. } => Ok(FilterNode::Pattern {
                column: index,
                pattern: regular_expression(text, true)?,
                memo: Memo::default(),
            }),
            _ => Ok(FilterNode::Text { column: index, compare: predicate.clone(), memo: Memo::default() }),
        },
        ColumnType::U64 | ColumnType::I64 => {
            let time = column.display == Display::TimeNs;
            let test = NumberTest::new(predicate).map_or_else(|| mismatch_of_number(column), Ok)?;
            Ok(FilterNode::Number { column: index, time, zero_is_none: schema.zero_is_none(index), test })
        }
    }
}

fn mismatch_of_number(column: &Column) -> Result<NumberTest, ViewError> {
    Err(ViewError::Mismatch { field: column.name.clone(), is: "a number", wanted: "compared so" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_makes_a_predicate() {
        let plain = |text: &str| Some(Filter::Substring(text.to_owned()));
        let cases = [
            ("", None),
            ("  \t ", None),
            ("nginx", plain("nginx")),
            (" kworker/0:1 ", plain("kworker/0:1")),
            ("\"a == b\"", plain("a == b")),
            ("\"\"", None),
            ("waits in line", plain("waits in line")),
            ("it contains water", plain("it contains water")),
            ("has stack frames", plain("has stack frames")),
            ("join (x)", plain("join (x)")),
        ];
        for (text, expected) in cases {
            assert_eq!(Filter::parse(text), Ok(expected), "{text:?}");
        }
        let conditions = [
            "pid == 4",
            "pid in (4)",
            "pid not in(4, 5)",
            "pid between -4 and 5",
            "comm contains 'a'",
            "(comm matches \"a\")",
            "has stack frame \"a\"",
            "not has stack frame 'a'",
        ];
        for text in conditions {
            assert_eq!(Filter::parse(text), Ok(Some(Filter::Predicate(Predicate::parse(text).unwrap()))), "{text}");
        }
        for bad in ["pid in (x)", "pid ==", "std::vector<int>", "&&", &"x".repeat(MAX_PREDICATE_BYTES + 1)] {
            assert!(Filter::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn names_mean_common_columns_first() {
        let own = |name: &str| Column { name: name.to_owned(), ty: ColumnType::U64, display: Display::Decimal };
        let schema = StreamSchema::new("a:b", bathyscope_capture::StreamKind::Events, [own("args.pid"), own("prio")]);
        let cases = [
            ("pid", Some(StreamSchema::PID)),
            ("args.pid", Some(5)),
            ("prio", Some(6)),
            ("args.prio", Some(6)),
            ("args.tid", None),
            ("args.comm", None),
            ("nothing", None),
        ];
        for (name, expected) in cases {
            assert_eq!(resolve(&schema, name), expected, "{name}");
        }
    }
}
