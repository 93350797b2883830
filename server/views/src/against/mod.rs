//! Two captures, or two parts of one, line by line: the same line is the one that is written the same, as numbers of texts,
//! processes and stacks are others in each capture.
//!
//! Views give each side as [`MatchedSide`]: numbers of each line by part of time. What a difference is worth follows from these as it
//! does for whole captures (see [`crate::chance`] and [`judge()`]).

mod lines;
mod number;
mod streams;
mod unasked;

pub(crate) use lines::{MatchedLine, MatchedLines, MatchedSide, name_of};
pub(crate) use number::{MatchedValue, parts};
pub(crate) use streams::same_stream_of;
pub use streams::{matching_stream, no_matching_stream, same_columns};
pub use unasked::{AskedOfBoth, UnaskedCount};

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
};

use crate::{
    ViewError,
    answers::{
        AgainstHistogram, AgainstKey, AgainstKind, AgainstLine, AgainstMeasure, AgainstTable, AgainstValue,
        DifferenceVerdict, MeasuredNumber, Normalised, OnlySide, Unit,
    },
    chance::{Draw, draws, judge},
};
use bathyscope_capture::{Display, ShownCell};
use number::Scales;

/// The most lines of a side that are told apart.
pub const MAX_AGAINST_LINES: usize = 1 << 14;
/// The most lines of an answer.
pub const MAX_AGAINST_TOLD: u32 = 1000;

/// By which number of a line lines are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AgainstBy {
    /// What is compared here.
    Here,
    /// The same there.
    There,
    /// How much more is here.
    Difference,
    /// How many times as much.
    Ratio,
}

impl AgainstBy {
    /// All, with their words.
    pub const ALL: [(&str, Self); 4] =
        [("here", Self::Here), ("there", Self::There), ("difference", Self::Difference), ("ratio", Self::Ratio)];
}

/// In which order lines are told, and how they are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AgainstQuery {
    /// By what amounts are compared.
    pub normalised: Normalised,
    /// By which of the measures lines are sorted.
    pub measure: usize,
    /// By what of it, and whether the greatest comes first; those that changed by more than chance and then most if it is none.
    pub by: Option<(AgainstBy, bool)>,
    /// How many lines are told, at most [`MAX_AGAINST_TOLD`].
    pub limit: u32,
}

impl AgainstQuery {
    /// Reads an order: `1.difference`, or with `-` before it for the greatest first; the number is that of a measure, from 0.
    ///
    /// # Errors
    /// If it is none.
    pub fn order(text: &str) -> Result<(usize, Option<(AgainstBy, bool)>), ViewError> {
        let wrong = || ViewError::AgainstOrder(text.chars().take(80).collect());
        if text.is_empty() {
            return Ok((0, None));
        }
        let (descending, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let (measure, by) = rest.split_once('.').map_or((rest, None), |(measure, by)| (measure, Some(by)));
        let measure: u8 = measure.parse().map_err(|_no_number| wrong())?;
        let named = |by: &str| AgainstBy::ALL.iter().find(|(name, _)| *name == by).map(|(_, by)| (*by, descending));
        let by = by.map(|by| named(by).ok_or_else(wrong)).transpose()?;
        Ok((measure.into(), by))
    }
}

impl AgainstMeasure {
    /// One of views that have always the same.
    pub(crate) fn named((name, unit, kind): (&str, Unit, AgainstKind)) -> Self {
        let display = if unit == Unit::Nanoseconds { Display::DurationNs } else { Display::Decimal };
        Self { name: name.to_owned(), display, unit, kind }
    }
}

/// What tables of two sides are made of.
pub(crate) struct AgainstHeads {
    pub(crate) keys: Vec<AgainstKey>,
    pub(crate) measures: Vec<AgainstMeasure>,
}

/// Puts two sides together.
///
/// # Errors
/// If the query is out of its limits.
pub(crate) fn against(
    heads: AgainstHeads,
    (mut here, mut there): (MatchedSide, MatchedSide),
    query: &AgainstQuery,
) -> Result<AgainstTable, ViewError> {
    ViewError::within("the number of lines", query.limit.into(), 1, MAX_AGAINST_TOLD.into())?;
    let most = heads.measures.len().saturating_sub(1) as u64;
    ViewError::within("the number of the measure to sort by", query.measure as u64, 0, most)?;
    let cautions = cautions(&here, &there);
    let (of_here, of_there) = (here.lines.take(), there.lines.take());
    let scales = (Scales::of(&here, &of_here, query.normalised), Scales::of(&there, &of_there, query.normalised));
    let pairs = paired(of_here, of_there);
    let draws = draws();
    let kinds: Vec<AgainstKind> = heads.measures.iter().map(|measure| measure.kind).collect();
    let tests = pairs.len() * kinds.iter().filter(|kind| **kind != AgainstKind::Level).count();
    let comparing = Comparing { kinds: &kinds, sides: (&here, &there), scales: &scales, draws: &draws, tests };
    let mut lines: Vec<AgainstLine> = pairs.into_values().map(|pair| comparing.line(pair)).collect();
    let only = |which: OnlySide| lines.iter().filter(|line| line.only == Some(which)).count() as u64;
    let (only_here, only_there) = (only(OnlySide::Here), only(OnlySide::There));
    let is_changed = |line: &&AgainstLine| line.values.iter().any(is_beyond);
    let (compared, changed) = (lines.len() as u64, lines.iter().filter(is_changed).count() as u64);
    // Lines that are equal stay in the order of their names.
    lines.sort_by(|a, b| order(a, b, query));
    lines.truncate(query.limit as usize);
    Ok(AgainstTable {
        normalised: query.normalised,
        here: here.told(),
        there: there.told(),
        keys: heads.keys,
        measures: heads.measures,
        lines,
        compared,
        changed,
        only_here,
        only_there,
        cautions,
    })
}

/// A line here and the same there.
type MatchedPair = (Option<MatchedLine>, Option<MatchedLine>);

/// Lines of either side with those of the other, by how they are written.
fn paired(here: HashMap<String, MatchedLine>, there: HashMap<String, MatchedLine>) -> BTreeMap<String, MatchedPair> {
    let mut pairs: BTreeMap<String, MatchedPair> = BTreeMap::new();
    for (name, line) in here {
        pairs.entry(name).or_default().0 = Some(line);
    }
    for (name, line) in there {
        pairs.entry(name).or_default().1 = Some(line);
    }
    pairs
}

fn is_beyond(value: &AgainstValue) -> bool {
    value.verdict == DifferenceVerdict::BeyondChance
}

fn cautions(here: &MatchedSide, there: &MatchedSide) -> Vec<String> {
    let mut all = Vec::new();
    for (which, side) in [("here", here), ("there", there)] {
        if side.lost > 0 {
            all.push(format!(
                "{} rows were lost {which}: a difference that they can explain is not called one.",
                side.lost
            ));
        }
        if side.left_out > 0 {
            all.push(format!(
                "{} rows {which} are of further lines than {MAX_AGAINST_LINES}, which are not told apart.",
                side.left_out
            ));
        }
        if side.range.span_ns() == 0 {
            all.push(format!("The range {which} has no time in it."));
        }
        all.extend(side.caution.iter().map(|caution| format!("{caution} {which}.")));
    }
    all
}

struct Comparing<'a> {
    kinds: &'a [AgainstKind],
    sides: (&'a MatchedSide, &'a MatchedSide),
    scales: &'a (Scales, Scales),
    draws: &'a [Draw],
    tests: usize,
}

impl Comparing<'_> {
    fn line(&self, (here, there): MatchedPair) -> AgainstLine {
        let only = match (&here, &there) {
            (Some(_), None) => Some(OnlySide::Here),
            (None, Some(_)) => Some(OnlySide::There),
            _ => None,
        };
        let value = |(at, kind): (usize, &AgainstKind)| {
            let of = |line: &Option<MatchedLine>| line.as_ref().and_then(|line| line.values.get(at)).cloned();
            self.value(*kind, at, (of(&here), of(&there)))
        };
        let values = self.kinds.iter().enumerate().map(value).collect();
        let histogram = histogram(here.as_ref(), there.as_ref());
        let has_inner = here.iter().chain(&there).any(|line| line.has_inner);
        let named = here.or(there);
        let (key, filter) = named.map(|line| (line.key, line.filter)).unwrap_or_default();
        AgainstLine { key, filter, only, has_inner, values, histogram }
    }

    fn value(
        &self,
        kind: AgainstKind,
        at: usize,
        (here, there): (Option<MatchedValue>, Option<MatchedValue>),
    ) -> AgainstValue {
        let raw = |value: &Option<MatchedValue>| match (value, kind) {
            (Some(value), _) => value.recorded(),
            // Where there is no line there is nothing of it.
            (None, AgainstKind::Amount) => Some(0.0),
            (None, _) => None,
        };
        let number =
            |value: &Option<MatchedValue>, other: &Option<MatchedValue>, side: &MatchedSide, scales: &Scales| {
                let empty = other.as_ref().map(MatchedValue::empty);
                let lost = side.lost.saturating_add(if value.is_none() { side.left_out } else { 0 });
                value.as_ref().or(empty.as_ref()).and_then(|value| value.number(lost, (scales, at), self.draws))
            };
        let a = number(&there, &here, self.sides.1, &self.scales.1);
        let b = number(&here, &there, self.sides.0, &self.scales.0);
        let judged = a.as_ref().zip(b.as_ref()).map(|(a, b)| judge(a, b, self.tests));
        let (difference, error, verdict) = match judged {
            Some((difference, _, _)) if kind == AgainstKind::Level => {
                (Some(difference), None, DifferenceVerdict::Untested)
            }
            Some((difference, error, verdict)) => (Some(difference), error, verdict),
            None => (None, None, DifferenceVerdict::Untested),
        };
        let by = |number: Option<MeasuredNumber>| number.map(|number| number.value);
        let (by_here, by_there) = (by(b), by(a));
        AgainstValue { here: raw(&here), there: raw(&there), by_here, by_there, difference, error, verdict }
    }
}

fn histogram(here: Option<&MatchedLine>, there: Option<&MatchedLine>) -> Option<AgainstHistogram> {
    let mut buckets: BTreeMap<(i128, i128), (u64, u64)> = BTreeMap::new();
    for (low, high, count) in here.into_iter().flat_map(|line| &line.buckets) {
        buckets.entry((*low, *high)).or_default().0 += count;
    }
    for (low, high, count) in there.into_iter().flat_map(|line| &line.buckets) {
        buckets.entry((*low, *high)).or_default().1 += count;
    }
    let mut told = AgainstHistogram::default();
    for ((low, high), (here, there)) in buckets {
        told.buckets.push((ShownCell::Number(low), ShownCell::Number(high)));
        told.here.push(here);
        told.there.push(there);
    }
    (!told.buckets.is_empty()).then_some(told)
}

fn order(a: &AgainstLine, b: &AgainstLine, query: &AgainstQuery) -> Ordering {
    let of = |line: &AgainstLine| line.values.get(query.measure).copied();
    let Some((by, descending)) = query.by else {
        let size = |line: &AgainstLine| {
            let difference = of(line).and_then(|value| value.difference).map_or(-1.0, f64::abs);
            (of(line).is_some_and(|value| is_beyond(&value)), difference)
        };
        let (a, b) = (size(a), size(b));
        return b.0.cmp(&a.0).then_with(|| b.1.total_cmp(&a.1));
    };
    let number = |line: &AgainstLine| {
        let value = of(line)?;
        match by {
            AgainstBy::Here => value.by_here,
            AgainstBy::There => value.by_there,
            AgainstBy::Difference => value.difference,
            AgainstBy::Ratio => ratio(&value),
        }
    };
    match (number(a), number(b)) {
        (Some(a), Some(b)) if descending => b.total_cmp(&a),
        (Some(a), Some(b)) => a.total_cmp(&b),
        // What has no such number is last.
        (a, b) => b.is_some().cmp(&a.is_some()),
    }
}

/// How many times as much is here; none where neither has any.
fn ratio(value: &AgainstValue) -> Option<f64> {
    match (value.by_here?, value.by_there?) {
        (0.0, 0.0) => None,
        (_, 0.0) => Some(f64::INFINITY),
        (here, there) => Some(here / there),
    }
}
