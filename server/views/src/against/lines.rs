//! The lines of one side, by how they are written.

use std::collections::HashMap;

use bathyscope_capture::ShownCell;

use super::{MAX_AGAINST_LINES, MatchedValue};
use crate::{TimeRange, answers::AgainstSide, source::relative};

/// A line of one side.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatchedLine {
    pub(crate) key: Vec<ShownCell>,
    /// The condition on its rows; empty where none can say it.
    pub(crate) filter: String,
    pub(crate) has_inner: bool,
    pub(crate) values: Vec<MatchedValue>,
    /// From which value until before which, and how many.
    pub(crate) buckets: Vec<(i128, i128, u64)>,
}

/// One side.
#[derive(Clone, Debug)]
pub(crate) struct MatchedSide {
    pub(crate) origin_ns: u64,
    pub(crate) range: TimeRange,
    pub(crate) rows: u64,
    pub(crate) lost: u64,
    pub(crate) left_out: u64,
    pub(crate) lines: MatchedLines,
    /// What amounts are shares of where that is not their sum over all lines.
    pub(crate) wholes: Vec<Option<MatchedValue>>,
    /// What should be known of it, without its last word and the full stop.
    pub(crate) caution: Option<String>,
}

impl MatchedSide {
    pub(crate) fn told(&self) -> AgainstSide {
        AgainstSide {
            start: relative(self.origin_ns, self.range.start_ns),
            end: relative(self.origin_ns, self.range.end_ns),
            rows: self.rows,
            lost: self.lost,
            left_out: self.left_out,
        }
    }
}

/// Lines by how their keys are written.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatchedLines {
    known: HashMap<String, MatchedLine>,
}

impl MatchedLines {
    /// Adds a line. What is written the same is the same line; gives whether there was room for it.
    pub(crate) fn add(&mut self, line: MatchedLine) -> bool {
        let name = name_of(&line.key);
        if let Some(known) = self.known.get_mut(&name) {
            known.has_inner |= line.has_inner;
            known.values.iter_mut().zip(line.values).for_each(|(sum, more)| sum.absorb(more));
            known.buckets.extend(line.buckets);
            // A condition of one of them is not that of all.
            if known.filter != line.filter {
                known.filter.clear();
            }
            return true;
        }
        let has_room = self.known.len() < MAX_AGAINST_LINES;
        if has_room {
            self.known.insert(name, line);
        }
        has_room
    }

    pub(crate) fn take(&mut self) -> HashMap<String, MatchedLine> {
        std::mem::take(&mut self.known)
    }
}

/// A key as text that differs where keys do: text of events is visible, so it has no NUL.
pub(crate) fn name_of(key: &[ShownCell]) -> String {
    let part = |cell: &ShownCell| match cell {
        ShownCell::Null => "-".to_owned(),
        ShownCell::Number(number) => format!("n{number}"),
        ShownCell::Real(number) => format!("r{number}"),
        ShownCell::Text(text) => format!("t{text}"),
        ShownCell::Stack { top, .. } => format!("s{top}"),
    };
    key.iter().map(part).collect::<Vec<_>>().join("\0")
}
