//! A filter whose names are resolved, and how it judges rows: each distinct text and stack is looked at once.

use std::{collections::HashMap, sync::atomic::Ordering};

use bathyscope_capture::{
    Batch, ColumnData, ColumnStats, CompareOp, FrameId, Literal, Predicate, TextPattern, Value as FieldValue,
};

use crate::{
    Cancel, ChunkMeta, Dictionaries, frame_names,
    needle::{Needle, shown},
    source::relative,
};

/// What all parts of a filter read.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) dictionaries: &'a Dictionaries,
    pub(super) origin_ns: u64,
    pub(super) cancel: &'a Cancel,
}

/// A part of a filter.
pub(super) enum FilterNode {
    /// A column of numbers; moments are relative to the capture's start.
    Number {
        column: usize,
        time: bool,
        /// What is missing satisfies no comparison.
        zero_is_none: bool,
        test: NumberTest,
    },
    /// A column of text; the predicate is about it alone.
    Text {
        column: usize,
        compare: Predicate,
        memo: Memo,
    },
    /// A column of text and a regular expression.
    Pattern {
        column: usize,
        pattern: regex_lite::Regex,
        memo: Memo,
    },
    /// Columns of stacks and what a function of one is called.
    Frame {
        stacks: Vec<usize>,
        name: String,
        frames: HashMap<FrameId, bool>,
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

/// What is asked of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NumberTest {
    /// From the one to the other, both included.
    Within(i128, i128),
    Except(i128),
    /// Ascending.
    OneOf(Vec<i128>),
    AnyBit(u64),
}

impl NumberTest {
    /// What a comparison, a list or a pair of bounds asks; none if that is not of numbers.
    pub(super) fn new(predicate: &Predicate) -> Option<Self> {
        match predicate {
            Predicate::Compare { op: CompareOp::AnyBit, value: Literal::Number(mask), .. } => Some(Self::AnyBit(*mask)),
            Predicate::Compare { op, value, .. } => {
                let constant = value.number()?;
                Some(match op {
                    CompareOp::Eq => Self::Within(constant, constant),
                    CompareOp::Ne => Self::Except(constant),
                    CompareOp::Lt => Self::Within(i128::MIN, constant - 1),
                    CompareOp::Le => Self::Within(i128::MIN, constant),
                    CompareOp::Gt => Self::Within(constant + 1, i128::MAX),
                    CompareOp::Ge => Self::Within(constant, i128::MAX),
                    CompareOp::AnyBit | CompareOp::Matches | CompareOp::Contains | CompareOp::Regex => return None,
                })
            }
            Predicate::In { values, .. } => {
                let mut numbers: Vec<i128> = values.iter().map(Literal::number).collect::<Option<_>>()?;
                numbers.sort_unstable();
                Some(Self::OneOf(numbers))
            }
            Predicate::Between { low, high, .. } => Some(Self::Within(low.number()?, high.number()?)),
            Predicate::HasFrame { .. } | Predicate::Not(_) | Predicate::All(_) | Predicate::Any(_) => None,
        }
    }

    /// Any number holds.
    pub(super) const fn any() -> Self {
        Self::Within(i128::MIN, i128::MAX)
    }

    fn holds(&self, number: i128) -> bool {
        match self {
            Self::Within(low, high) => *low <= number && number <= *high,
            Self::Except(constant) => number != *constant,
            Self::OneOf(numbers) => numbers.binary_search(&number).is_ok(),
            Self::AnyBit(mask) => (number.cast_unsigned() as u64) & mask != 0,
        }
    }

    /// Whether a number between `low` and `high` can satisfy it.
    pub(super) fn can_hold(&self, low: i128, high: i128) -> bool {
        match self {
            Self::Within(from, to) => *from <= high && *to >= low,
            Self::Except(constant) => low != *constant || high != *constant,
            Self::OneOf(numbers) => {
                numbers.get(numbers.partition_point(|number| *number < low)).is_some_and(|number| *number <= high)
            }
            Self::AnyBit(_) => true,
        }
    }
}

/// Answers by id: each distinct string or stack is looked at once.
#[derive(Default)]
pub(super) struct Memo(Vec<Option<bool>>);

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

/// Text that is looked for in functions' names.
pub(super) struct NeedleInFrames {
    pub(super) needle: Needle,
    pub(super) frames: HashMap<FrameId, bool>,
}

/// Whether a function in a stack has a name that is wanted; each frame is named once.
fn is_in_stack(
    dictionaries: &Dictionaries,
    frames: &mut HashMap<FrameId, bool>,
    stack: u32,
    wanted: impl Fn(&str) -> bool,
) -> bool {
    let mut in_frame = |frame: &FrameId| {
        let named = || frame_names(dictionaries, *frame).iter().any(|(name, _)| wanted(name));
        *frames.entry(*frame).or_insert_with(named)
    };
    dictionaries.stack(stack).is_some_and(|stack| stack.iter().any(&mut in_frame))
}

impl FilterNode {
    /// Whether a chunk with these extremes can have a row that satisfies it.
    pub(super) fn can_match(&self, chunk: &ChunkMeta) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.can_match(chunk)),
            Self::Any(parts) => parts.iter().any(|part| part.can_match(chunk)),
            Self::Number { column, time: false, test, .. } => match chunk.stats.get(*column) {
                Some(ColumnStats::U64(low, high)) => test.can_hold(i128::from(*low), i128::from(*high)),
                Some(ColumnStats::I64(low, high)) => test.can_hold(i128::from(*low), i128::from(*high)),
                Some(ColumnStats::None) | None => true,
            },
            _ => true,
        }
    }

    /// Whether a row satisfies it. Once `cancel` is set, the answer is of no worth any more.
    pub(super) fn matches(&mut self, batch: &Batch, row: usize, known: Known<'_>) -> bool {
        let dictionaries = known.dictionaries;
        match self {
            Self::Number { column, time, zero_is_none, test } => {
                let value = match batch.columns.get(*column) {
                    Some(ColumnData::U64(values)) => values.get(row).map(|value| match time {
                        true => i128::from(relative(known.origin_ns, *value)),
                        false => i128::from(*value),
                    }),
                    Some(ColumnData::I64(values)) => values.get(row).map(|value| i128::from(*value)),
                    _ => None,
                };
                value.is_some_and(|value| test.holds(value) && (value != 0 || !*zero_is_none))
            }
            Self::Text { column, compare, memo } => {
                let id = id_at(batch, *column, row);
                memo.get(id, || compare.eval(&mut |_field| dictionaries.text(id).map(FieldValue::Text)))
            }
            Self::Pattern { column, pattern, memo } => {
                let id = id_at(batch, *column, row);
                // A long text takes a while; who has gone need not be waited for.
                let found = || dictionaries.text(id).is_some_and(|bytes| pattern.is_match(&shown(bytes)));
                memo.get(id, || !known.cancel.load(Ordering::Relaxed) && found())
            }
            Self::Frame { stacks, name, frames, memo } => {
                let pattern = TextPattern::new(name);
                let wanted = |name: &str| pattern.matches(name.as_bytes());
                stacks.iter().any(|column| {
                    let id = id_at(batch, *column, row);
                    memo.get(id, || is_in_stack(dictionaries, frames, id, wanted))
                })
            }
            Self::Not(inner) => !inner.matches(batch, row, known),
            Self::All(parts) => parts.iter_mut().all(|part| part.matches(batch, row, known)),
            Self::Any(parts) => parts.iter_mut().any(|part| part.matches(batch, row, known)),
            Self::Substring { texts, stacks, memo, stack_memo, needle } => {
                let NeedleInFrames { needle, frames } = &mut **needle;
                let mut in_text = |column: &usize| {
                    let id = id_at(batch, *column, row);
                    memo.get(id, || dictionaries.text(id).is_some_and(|bytes| needle.is_in_bytes(bytes)))
                };
                if texts.iter().any(&mut in_text) {
                    return true;
                }
                stacks.iter().any(|column| {
                    let id = id_at(batch, *column, row);
                    stack_memo.get(id, || is_in_stack(dictionaries, frames, id, |name| needle.is_in(name)))
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
    fn extremes_rule_out_only_what_cannot_match() {
        let cases = [
            ("a == 5", true),
            ("a == 21", false),
            ("a == -1", false),
            ("a != 5", true),
            ("a < 5", false),
            ("a <= 5", true),
            ("a < 6", true),
            ("a <= 4", false),
            ("a > 20", false),
            ("a > 19", true),
            ("a >= 20", true),
            ("a >= 21", false),
            ("a & 64", true),
            ("a in (1, 30, 7)", true),
            ("a in (1, 30, 4)", false),
            ("a between 0 and 4", false),
            ("a between 20 and 30", true),
            ("a between 21 and 30", false),
            ("a between -1 and 100", true),
        ];
        let test = |text: &str| NumberTest::new(&Predicate::parse(text).unwrap()).unwrap();
        for (text, expected) in cases {
            assert_eq!(test(text).can_hold(5, 20), expected, "{text}");
        }
        assert!(!test("a != 5").can_hold(5, 5));
    }
}
