//! Which rows a view takes.

use std::collections::HashMap;

use bathyscope_capture::{
    Batch, Column, ColumnData, ColumnStats, ColumnType, CompareOp, Display, FrameId, Literal, MAX_PREDICATE_BYTES,
    Predicate, PredicateError, StreamSchema, Value as FieldValue,
};

use crate::{ChunkMeta, Dictionaries, Source, ViewError, frame_names, needle::Needle, source::relative};

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
    /// Reads what a person typed: a predicate if it has an operator (`= < > ! & | ~`), else text to look for. Text in
    /// double quotes is always looked for as it is. Nothing but blanks is no filter.
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
        if text.contains(['=', '<', '>', '!', '&', '|', '~']) {
            return Predicate::parse(text).map(|predicate| Some(Self::Predicate(predicate)));
        }
        Ok((!text.is_empty()).then(|| Self::Substring(text.to_owned())))
    }
}

/// A filter with its names resolved for one stream, and what it learnt about strings and stacks so far.
pub(crate) struct Prepared<'a> {
    root: FilterNode,
    columns: Vec<usize>,
    dictionaries: &'a Dictionaries,
    origin_ns: u64,
}

enum FilterNode {
    /// A number column; the predicate is a single comparison.
    Number {
        column: usize,
        time: bool,
        compare: Predicate,
    },
    /// A text column.
    Text {
        column: usize,
        compare: Predicate,
        memo: Memo,
    },
    Not(Box<FilterNode>),
    All(Vec<FilterNode>),
    Any(Vec<FilterNode>),
    Substring {
        texts: Vec<usize>,
        stacks: Vec<usize>,
        memo: Memo,
        stack_memo: Memo,
        needle: Box<NeedleInFrames>,
    },
    /// An empty needle.
    Everything,
}

/// Answers by id: each distinct string or stack is looked at once.
#[derive(Default)]
struct Memo(Vec<Option<bool>>);

impl Memo {
    fn get(&mut self, id: u32, answer: impl FnOnce() -> bool) -> bool {
        let index = id as usize;
        if let Some(Some(known)) = self.0.get(index) {
            return *known;
        }
        let new = answer();
        // Ids of a damaged capture must not make this list huge.
        if index < 1 << 26 {
            if self.0.len() <= index {
                self.0.resize((index + 1).next_power_of_two(), None);
            }
            if let Some(slot) = self.0.get_mut(index) {
                *slot = Some(new);
            }
        }
        new
    }
}

struct NeedleInFrames {
    needle: Needle,
    frames: HashMap<FrameId, bool>,
}

impl NeedleInFrames {
    fn is_in_stack(&mut self, dictionaries: &Dictionaries, stack: u32) -> bool {
        let Self { needle, frames } = self;
        let mut in_frame = |frame: &FrameId| {
            let names = || frame_names(dictionaries, *frame).iter().any(|(name, _)| needle.is_in(name));
            *frames.entry(*frame).or_insert_with(names)
        };
        dictionaries.stack(stack).is_some_and(|stack| stack.iter().any(&mut in_frame))
    }
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
    pub(crate) fn new(source: &'a dyn Source, schema: &StreamSchema, filter: &Filter) -> Result<Self, ViewError> {
        let mut columns = Vec::new();
        let root = match filter {
            Filter::Predicate(predicate) => {
                predicate.validate()?;
                compile(schema, predicate, &mut columns)?
            }
            Filter::Substring(text) => substring(schema, text, &mut columns),
        };
        columns.sort_unstable();
        columns.dedup();
        Ok(Self { root, columns, dictionaries: source.dictionaries(), origin_ns: source.origin_ns() })
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
        self.root.matches(batch, row, self.dictionaries, self.origin_ns)
    }
}

fn substring(schema: &StreamSchema, text: &str, columns: &mut Vec<usize>) -> FilterNode {
    let of_type = |wanted: ColumnType| -> Vec<usize> {
        let typed = |(_, column): &(usize, &Column)| column.ty == wanted;
        schema.columns.iter().enumerate().filter(typed).map(|(index, _)| index).collect()
    };
    let (texts, stacks) = (of_type(ColumnType::Text), of_type(ColumnType::Stack));
    let Some(needle) = Needle::new(text) else { return FilterNode::Everything };
    columns.extend(texts.iter().chain(&stacks));
    let needle = Box::new(NeedleInFrames { needle, frames: HashMap::new() });
    FilterNode::Substring { texts, stacks, memo: Memo::default(), stack_memo: Memo::default(), needle }
}

fn compile(schema: &StreamSchema, predicate: &Predicate, columns: &mut Vec<usize>) -> Result<FilterNode, ViewError> {
    let mut parts = |parts: &[Predicate]| -> Result<Vec<FilterNode>, ViewError> {
        parts.iter().map(|part| compile(schema, part, columns)).collect()
    };
    match predicate {
        Predicate::Not(inner) => Ok(FilterNode::Not(Box::new(compile(schema, inner, columns)?))),
        Predicate::All(all) => parts(all).map(FilterNode::All),
        Predicate::Any(any) => parts(any).map(FilterNode::Any),
        Predicate::Compare { field, op, value } => {
            let found =
                resolve(schema, field).and_then(|index| schema.columns.get(index).map(|column| (index, column)));
            let (index, column) = found.ok_or_else(|| no_such_column(schema, field))?;
            columns.push(index);
            leaf(index, column, *op, value, predicate)
        }
    }
}

fn leaf(
    index: usize,
    column: &Column,
    op: CompareOp,
    value: &Literal,
    compare: &Predicate,
) -> Result<FilterNode, ViewError> {
    let text = matches!(value, Literal::Text(_)) || op == CompareOp::Matches;
    let mismatch = |is, wanted| Err(ViewError::Mismatch { field: column.name.clone(), is, wanted });
    match column.ty {
        ColumnType::Stack => mismatch("a stack", "compared; type part of a function's name alone to look in stacks"),
        ColumnType::Text if !text => mismatch("text", "compared with a number; put the text in double quotes"),
        ColumnType::U64 | ColumnType::I64 if text => mismatch("a number", "compared with text"),
        ColumnType::Text => Ok(FilterNode::Text { column: index, compare: compare.clone(), memo: Memo::default() }),
        ColumnType::U64 | ColumnType::I64 => {
            Ok(FilterNode::Number { column: index, time: column.display == Display::TimeNs, compare: compare.clone() })
        }
    }
}

/// Whether a number between `low` and `high` can satisfy the comparison.
fn between(low: i128, high: i128, op: CompareOp, value: &Literal) -> bool {
    let constant = match value {
        Literal::Negative(number) => i128::from(*number),
        Literal::Number(number) => i128::from(*number),
        Literal::Text(_) => return true,
    };
    match op {
        CompareOp::Eq => low <= constant && constant <= high,
        CompareOp::Ne => low != constant || high != constant,
        CompareOp::Lt => low < constant,
        CompareOp::Le => low <= constant,
        CompareOp::Gt => high > constant,
        CompareOp::Ge => high >= constant,
        CompareOp::AnyBit | CompareOp::Matches => true,
    }
}

impl FilterNode {
    fn can_match(&self, chunk: &ChunkMeta) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.can_match(chunk)),
            Self::Any(parts) => parts.iter().any(|part| part.can_match(chunk)),
            Self::Number { column, time: false, compare: Predicate::Compare { op, value, .. } } => {
                match chunk.stats.get(*column) {
                    Some(ColumnStats::U64(low, high)) => between(i128::from(*low), i128::from(*high), *op, value),
                    Some(ColumnStats::I64(low, high)) => between(i128::from(*low), i128::from(*high), *op, value),
                    Some(ColumnStats::None) | None => true,
                }
            }
            Self::Number { .. } | Self::Text { .. } | Self::Not(_) | Self::Substring { .. } | Self::Everything => true,
        }
    }

    fn matches(&mut self, batch: &Batch, row: usize, dictionaries: &Dictionaries, origin_ns: u64) -> bool {
        match self {
            Self::Number { column, time, compare } => {
                let value = match batch.columns.get(*column) {
                    Some(ColumnData::U64(values)) => values.get(row).map(|value| match time {
                        true => FieldValue::Signed(relative(origin_ns, *value)),
                        false => FieldValue::Unsigned(*value),
                    }),
                    Some(ColumnData::I64(values)) => values.get(row).map(|value| FieldValue::Signed(*value)),
                    _ => None,
                };
                compare.eval(&mut |_field| value)
            }
            Self::Text { column, compare, memo } => {
                let id = id_at(batch, *column, row);
                memo.get(id, || compare.eval(&mut |_field| dictionaries.text(id).map(FieldValue::Text)))
            }
            Self::Not(inner) => !inner.matches(batch, row, dictionaries, origin_ns),
            Self::All(parts) => parts.iter_mut().all(|part| part.matches(batch, row, dictionaries, origin_ns)),
            Self::Any(parts) => parts.iter_mut().any(|part| part.matches(batch, row, dictionaries, origin_ns)),
            Self::Substring { texts, stacks, memo, stack_memo, needle } => {
                let mut in_text = |column: &usize| {
                    let id = id_at(batch, *column, row);
                    memo.get(id, || dictionaries.text(id).is_some_and(|bytes| needle.needle.is_in_bytes(bytes)))
                };
                if texts.iter().any(&mut in_text) {
                    return true;
                }
                stacks.iter().any(|column| {
                    let id = id_at(batch, *column, row);
                    stack_memo.get(id, || needle.is_in_stack(dictionaries, id))
                })
            }
            Self::Everything => true,
        }
    }
}

fn id_at(batch: &Batch, column: usize, row: usize) -> u32 {
    batch.columns.get(column).and_then(|data| data.as_id().get(row)).copied().unwrap_or(0)
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
            ("pid == 4", Some(Filter::Predicate(Predicate::parse("pid == 4").unwrap()))),
        ];
        for (text, expected) in cases {
            assert_eq!(Filter::parse(text), Ok(expected), "{text:?}");
        }
        for bad in ["pid ==", "std::vector<int>", "&&", &"x".repeat(MAX_PREDICATE_BYTES + 1)] {
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

    #[test]
    fn extremes_rule_out_only_what_cannot_match() {
        let number = Literal::Number;
        let cases = [
            (CompareOp::Eq, number(5), true),
            (CompareOp::Eq, number(21), false),
            (CompareOp::Eq, Literal::Negative(-1), false),
            (CompareOp::Ne, number(5), true),
            (CompareOp::Lt, number(5), false),
            (CompareOp::Le, number(5), true),
            (CompareOp::Lt, number(6), true),
            (CompareOp::Le, number(4), false),
            (CompareOp::Gt, number(20), false),
            (CompareOp::Gt, number(19), true),
            (CompareOp::Ge, number(20), true),
            (CompareOp::Ge, number(21), false),
            (CompareOp::AnyBit, number(64), true),
        ];
        for (op, value, expected) in cases {
            assert_eq!(between(5, 20, op, &value), expected, "{op:?} {value:?}");
        }
        assert!(!between(5, 5, CompareOp::Ne, &number(5)));
    }
}
