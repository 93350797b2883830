//! Calls of functions of two sides: by function, or by the way of names that leads to them, level by level.

use std::collections::HashMap;

use bathyscope_capture::{Display, ShownCell, StringId};

use super::{CallChoice, CallForest, Record, functions::quantile, tree::function_text};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    against::{
        AgainstHeads, AgainstQuery, MAX_AGAINST_LINES, MatchedLine, MatchedLines, MatchedSide, MatchedValue, against,
        parts,
    },
    answers::{AgainstKey, AgainstKind, AgainstMeasure, AgainstTable, Unit},
    chance::{Draw, block_of},
    hash::IdMap,
    scan::{lost_of, schema_of},
};

/// The most levels of a way.
pub const MAX_CALL_LEVELS: usize = 64;
/// How often it is looked whether somebody still waits, in calls.
const CALLS_AT_ONCE: usize = 1 << 16;
/// Numbers of a line, and what they are.
const MEASURES: [(&str, Unit, AgainstKind); 6] = [
    ("calls", Unit::Hits, AgainstKind::Amount),
    ("total", Unit::Nanoseconds, AgainstKind::Amount),
    ("self", Unit::Nanoseconds, AgainstKind::Amount),
    ("mean", Unit::Nanoseconds, AgainstKind::Mean),
    ("p99", Unit::Nanoseconds, AgainstKind::Level),
    ("longest", Unit::Nanoseconds, AgainstKind::Level),
];

/// The calls of one side.
#[derive(Clone, Copy)]
pub struct SideCalls<'a> {
    /// The capture.
    pub source: &'a dyn Source,
    /// Its calls.
    pub forest: &'a CallForest,
    /// Which of them.
    pub choice: &'a CallChoice,
    /// Of which time.
    pub range: TimeRange,
}

/// Sums of calls by part of time.
struct FunctionParts {
    calls: Box<Draw>,
    total: Box<Draw>,
    own: Box<Draw>,
    measured: Box<Draw>,
    squares: f64,
    durations: Vec<u64>,
    has_inner: bool,
}

impl FunctionParts {
    fn new() -> Self {
        let (calls, total, own, measured) = (parts(), parts(), parts(), parts());
        Self { calls, total, own, measured, squares: 0.0, durations: Vec::new(), has_inner: false }
    }

    fn add(&mut self, call: &Record, block: usize) {
        let add = |parts: &mut Draw, more: f64| {
            if let Some(sum) = parts.get_mut(block) {
                *sum += more;
            }
        };
        add(&mut self.calls, 1.0);
        if call.is_measured() {
            let duration = call.duration_ns() as f64;
            add(&mut self.total, duration);
            add(&mut self.own, call.own_ns() as f64);
            add(&mut self.measured, 1.0);
            self.squares += duration * duration;
            self.durations.push(call.duration_ns());
        }
    }

    /// In the order of [`MEASURES`].
    fn into_values(mut self) -> Vec<MatchedValue> {
        self.durations.sort_unstable();
        let longest = self.durations.last().map(|longest| *longest as f64);
        let p99 = longest.is_some().then(|| quantile(&self.durations, 99) as f64);
        vec![
            MatchedValue::Rows(self.calls),
            MatchedValue::Sum(self.total.clone(), false),
            MatchedValue::Sum(self.own, false),
            MatchedValue::Mean(self.total, self.measured, self.squares, false),
            MatchedValue::Level(p99),
            MatchedValue::Level(longest),
        ]
    }
}

/// Functions of two sides; with a way, those called directly by what it leads to from the outermost calls on.
///
/// # Errors
/// If the way or the query is out of its limits, or `cancel` was set.
pub fn calls_against(
    here: SideCalls<'_>,
    there: SideCalls<'_>,
    way: Option<&[String]>,
    query: &AgainstQuery,
    cancel: &Cancel,
) -> Result<AgainstTable, ViewError> {
    let levels = way.map_or(0, <[String]>::len) as u64;
    ViewError::within("the number of functions of a way", levels, 0, MAX_CALL_LEVELS as u64)?;
    let heads = AgainstHeads {
        keys: vec![AgainstKey { name: "function".to_owned(), display: Display::Text }],
        measures: MEASURES.into_iter().map(AgainstMeasure::named).collect(),
    };
    let sides = (side(here, way, cancel)?, side(there, way, cancel)?);
    against(heads, sides, query)
}

fn side(calls: SideCalls<'_>, way: Option<&[String]>, cancel: &Cancel) -> Result<MatchedSide, ViewError> {
    let SideCalls { source, forest, choice, range } = calls;
    let (mut found, mut whole): (IdMap<StringId, FunctionParts>, _) = (IdMap::default(), FunctionParts::new());
    let mut left_out = forest.left_out();
    let taken = match way {
        None => (0_u32..).zip(&forest.calls).map(|(index, _)| index).filter(|index| choice.is_hit(*index)).collect(),
        Some(way) => level(source, forest, choice, way),
    };
    for (at, index) in taken.into_iter().enumerate() {
        cancelled(at, cancel)?;
        let Some(call) = forest.call(index) else { continue };
        let is_hit = choice.is_hit(index);
        if found.len() >= MAX_AGAINST_LINES && !found.contains_key(&call.function) {
            left_out += u64::from(is_hit);
            continue;
        }
        let known = found.entry(call.function).or_insert_with(FunctionParts::new);
        if is_hit {
            known.add(call, block_of(range, call.start_ns));
        }
        known.has_inner |= way.is_some() && choice.level(forest, Some(index)).next().is_some();
    }
    // Shares are those of all calls, on every level.
    for (index, call) in (0_u32..).zip(&forest.calls).filter(|(index, _)| choice.is_hit(*index)) {
        cancelled(index as usize, cancel)?;
        whole.add(call, block_of(range, call.start_ns));
    }
    let mut lines = MatchedLines::default();
    for (function, parts) in found {
        let (key, has_inner) = (vec![ShownCell::Text(function_text(source, function))], parts.has_inner);
        lines.add(MatchedLine { key, has_inner, values: parts.into_values(), ..MatchedLine::default() });
    }
    let lost = lost_of(source, forest.stream, schema_of(source, forest.stream)?);
    let rows = whole.calls.iter().sum::<f64>() as u64;
    // Times of calls within each other are counted once in what all took.
    let own = MatchedValue::Sum(whole.own, false);
    let wholes = vec![Some(MatchedValue::Rows(whole.calls)), Some(own.clone()), Some(own)];
    let origin_ns = source.origin_ns();
    Ok(MatchedSide { origin_ns, range, rows, lost, left_out, lines, wholes, caution: None })
}

fn cancelled(at: usize, cancel: &Cancel) -> Result<(), ViewError> {
    let is_over = at.is_multiple_of(CALLS_AT_ONCE) && cancel.load(std::sync::atomic::Ordering::Relaxed);
    if is_over { Err(ViewError::Cancelled) } else { Ok(()) }
}

/// The calls directly within those that a way of names leads to.
fn level(source: &dyn Source, forest: &CallForest, choice: &CallChoice, way: &[String]) -> Vec<u32> {
    let mut calls: Vec<u32> = choice.level(forest, None).collect();
    for name in way {
        // Each name is looked at once.
        let mut is_named: HashMap<StringId, bool> = HashMap::new();
        calls.retain(|index| {
            let Some(call) = forest.call(*index) else { return false };
            *is_named.entry(call.function).or_insert_with(|| function_text(source, call.function) == *name)
        });
        calls = calls.iter().flat_map(|index| choice.level(forest, Some(*index))).collect();
    }
    calls
}
