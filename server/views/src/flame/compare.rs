//! Two sets of stacks compared: a flame graph of one with what the other has in each node, and a table of functions that says
//! which differences are larger than chance.
//!
//! Chance is what sampling again would give: see [`crate::chance`]. The spread of the difference over draws of parts of time, and
//! at least that of independent samples, is its standard error.

use std::{collections::HashMap, sync::Arc};

use super::{FlameQuery, FoldedStacks, fold, fold::Path, fold_blocks, layout::id_of};
use crate::{
    Cancel, Source, TimeRange, ViewError,
    answers::{ComparedFunction, FlameDifference, LeftOutRows, NodeKind, Normalised, SampleUnit},
    chance::{BLOCKS, Draw, TABLE_CHANCE, deviations, draws, median, parts_of, spread, sum_of},
    hash::FNV1A_64,
};

/// The most functions of an answer.
const MAX_COMPARED: usize = 500;
/// The most captures that one is compared with.
pub const MAX_COMPARED_CAPTURES: usize = 15;

/// One side of a comparison.
#[derive(Clone, Debug)]
pub struct ComparedSide {
    folded: Arc<FoldedStacks>,
    functions: HashMap<String, FunctionBlocks>,
    /// All samples by part of time.
    blocks: Vec<u64>,
    span_ns: u64,
}

/// Samples of a function by part of time.
#[derive(Clone, Debug)]
struct FunctionBlocks {
    kind: NodeKind,
    own: Vec<u64>,
    total: u64,
}

impl ComparedSide {
    /// Reads one side: twice, once for the tree and once by parts of time.
    ///
    /// # Errors
    /// As [`fold()`].
    pub fn read(source: &dyn Source, query: &FlameQuery, cancel: &Cancel) -> Result<Self, ViewError> {
        let folded = fold(source, query, cancel)?;
        let all = TimeRange::of(source);
        let (start_ns, end_ns) = (query.range.start_ns.max(all.start_ns), query.range.end_ns.min(all.end_ns));
        let range = TimeRange { start_ns, end_ns };
        let blocked = fold_blocks(source, &FlameQuery { range, invert: false, ..query.clone() }, cancel)?;
        let (functions, blocks) = by_blocks(&blocked);
        Ok(Self { folded, functions, blocks, span_ns: range.span_ns() })
    }

    /// What the samples count.
    pub fn unit(&self) -> &'static str {
        self.folded.unit
    }

    fn total(&self) -> u64 {
        self.folded.total()
    }

    /// What a value of this side is divided by.
    fn measure(&self, normalised: Normalised) -> f64 {
        let whole = match normalised {
            Normalised::Total => self.total(),
            Normalised::Time => self.span_ns,
            Normalised::None => 1,
        };
        (whole as f64).max(1.0)
    }

    fn own(&self, name: &str) -> u64 {
        self.functions.get(name).map_or(0, |function| function.own.iter().sum())
    }

    fn total_of(&self, name: &str) -> u64 {
        self.functions.get(name).map_or(0, |function| function.total)
    }

    /// What values of each draw are divided by.
    fn drawn_measures(&self, draws: &[Draw], normalised: Normalised) -> Vec<f64> {
        let blocks = parts_of(&self.blocks);
        let one = |draw: &Draw| match normalised {
            Normalised::Total => sum_of(draw, &blocks).max(1.0),
            Normalised::Time | Normalised::None => self.measure(normalised),
        };
        draws.iter().map(one).collect()
    }

    /// The standard error of a function's own samples as they are normalised; `measures` are those of the draws.
    fn error(&self, name: &str, (draws, measures): (&[Draw], &[f64]), normalised: Normalised) -> f64 {
        let own = self.functions.get(name).map_or(&[][..], |function| function.own.as_slice());
        if own.iter().all(|samples| *samples == 0) {
            return self.independent_error(name, normalised);
        }
        let own = parts_of(own);
        let drawn = draws.iter().zip(measures).map(|(draw, measure)| sum_of(draw, &own) / measure);
        spread(&drawn.collect::<Vec<f64>>()).max(self.independent_error(name, normalised))
    }

    /// What it would be if each sample were independent of the others; 0 where samples count for more than one each, of which
    /// only the spread over parts tells how many they are.
    fn independent_error(&self, name: &str, normalised: Normalised) -> f64 {
        if self.folded.unit != SampleUnit::Samples.as_str() {
            return 0.0;
        }
        // One more, so that what was never seen has an error too.
        let own = self.own(name) as f64 + 1.0;
        let share = (own / (self.total() as f64 + 1.0)).min(1.0);
        let varies = if normalised == Normalised::Total { 1.0 - share } else { 1.0 };
        (own * varies).sqrt() / self.measure(normalised)
    }
}

impl ComparedSide {
    /// The functions with the most samples of their own, the most first: the share of all that each has, and its standard error.
    pub(crate) fn hottest(&self, most: usize) -> Vec<(String, f64, f64)> {
        let mut owns: Vec<(u64, &String)> = self.functions.keys().map(|name| (self.own(name), name)).collect();
        owns.retain(|(own, _)| *own > 0);
        owns.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let draws = draws();
        let measures = self.drawn_measures(&draws, Normalised::Total);
        let whole = self.measure(Normalised::Total);
        let share = |(own, name): &(u64, &String)| {
            let error = self.error(name, (&draws, &measures), Normalised::Total);
            ((*name).clone(), *own as f64 / whole, error)
        };
        owns.iter().take(most).map(share).collect()
    }
}

impl FunctionBlocks {
    fn new(kind: NodeKind) -> Self {
        Self { kind, own: vec![0; BLOCKS as usize], total: 0 }
    }
}

/// Samples of each function, and of all together, by part of time: the first level of stacks is the part.
fn by_blocks(blocked: &FoldedStacks) -> (HashMap<String, FunctionBlocks>, Vec<u64>) {
    let mut blocks = vec![0; BLOCKS as usize];
    let mut functions: Vec<Option<FunctionBlocks>> = vec![None; blocked.names().len()];
    // By function: the last stack that was added to its total, from 1.
    let mut last_stack = vec![0; blocked.names().len()];
    for index in 0..blocked.len() {
        let path = blocked.path(index);
        let Some((block, _)) = path.at(0) else { continue };
        let block = blocked.name(block).parse::<usize>().unwrap_or(0).min(BLOCKS as usize - 1);
        if let Some(all) = blocks.get_mut(block) {
            *all += path.samples;
        }
        for (level, (name, kind)) in (1..path.len()).filter_map(|level| Some((level, path.at(level)?))) {
            let places = (functions.get_mut(name as usize), last_stack.get_mut(name as usize));
            let (Some(function), Some(last)) = places else { continue };
            let function = function.get_or_insert_with(|| FunctionBlocks::new(kind));
            if std::mem::replace(last, index + 1) != index + 1 {
                function.total += path.samples;
            }
            if let Some(own) = function.own.get_mut(block).filter(|_| level + 1 == path.len()) {
                *own += path.samples;
            }
        }
    }
    let named =
        functions.into_iter().zip(blocked.names()).filter_map(|(function, name)| Some((name.clone(), function?)));
    (named.collect(), blocks)
}

/// How wide, and which node fills the width.
#[derive(Clone, Debug)]
pub struct CompareQuery {
    /// Of the side that is drawn.
    pub flame: FlameQuery,
    /// What values are compared by.
    pub normalised: Normalised,
}

/// Compares `shown`, whose widths are drawn, with `others`: with one, or with the median of several.
///
/// # Errors
/// If there is nothing to compare with, units differ, or the query is out of range.
pub fn compare(
    shown: &ComparedSide,
    others: &[ComparedSide],
    query: &CompareQuery,
) -> Result<FlameDifference, ViewError> {
    super::checked_width(query.flame.width)?;
    let search = query.flame.searched()?;
    if let Some(other) = others.iter().find(|other| other.unit() != shown.unit()) {
        return Err(ViewError::ComparedUnits { shown: shown.unit(), other: other.unit() });
    }
    let graph = shown.folded.graph(query.flame.focus, search.as_ref(), query.flame.width);
    let scales: Vec<f64> =
        others.iter().map(|other| shown.measure(query.normalised) / other.measure(query.normalised)).collect();
    let wanted: HashMap<u64, usize> = graph.nodes.id.iter().zip(0..).map(|(id, at)| (id.0, at)).collect();
    let values: Vec<Vec<u64>> = others.iter().map(|other| other.folded.values_of(&wanted)).collect();
    let at = |index: usize| {
        let scaled = values.iter().zip(&scales).map(|(values, scale)| {
            let value = values.get(index).copied().unwrap_or(0);
            value as f64 * scale
        });
        median(scaled.collect())
    };
    let other = (0..graph.nodes.id.len()).map(at).collect();
    let (functions, compared, significant) = functions(shown, (others, &scales), query.normalised);
    Ok(FlameDifference {
        graph,
        other,
        other_totals: others.iter().map(ComparedSide::total).collect(),
        other_left_out: left_out(others),
        scales,
        normalised: query.normalised,
        functions,
        compared,
        significant,
    })
}

/// What is left out of all of some sides together.
fn left_out(sides: &[ComparedSide]) -> LeftOutRows {
    let each = sides.iter().map(|side| side.folded.left_out);
    each.fold(LeftOutRows::default(), |sum, one| LeftOutRows {
        missing: sum.missing + one.missing,
        negative: sum.negative + one.negative,
    })
}

fn functions(
    shown: &ComparedSide,
    (others, scales): (&[ComparedSide], &[f64]),
    normalised: Normalised,
) -> (Vec<ComparedFunction>, usize, usize) {
    let mut names: Vec<&str> =
        others.iter().chain([shown]).flat_map(|side| side.functions.keys()).map(String::as_str).collect();
    names.sort_unstable();
    names.dedup();
    let has_own = |name: &&&str| shown.own(name) > 0 || others.iter().any(|other| other.own(name) > 0);
    let limit = deviations(TABLE_CHANCE / names.iter().filter(has_own).count().max(1) as f64);
    let draws = draws();
    let measured = |side: &ComparedSide| side.drawn_measures(&draws, normalised);
    let (shown_measures, other_measures) = (measured(shown), others.first().map_or(Vec::new(), measured));
    let mut all: Vec<ComparedFunction> = Vec::with_capacity(names.len());
    for name in &names {
        let kind =
            others.iter().chain([shown]).find_map(|side| side.functions.get(*name)).map(|function| function.kind);
        let owns: Vec<f64> = others.iter().zip(scales).map(|(other, scale)| other.own(name) as f64 * scale).collect();
        let totals = others.iter().zip(scales).map(|(other, scale)| other.total_of(name) as f64 * scale).collect();
        let (before, own) = (median(owns.clone()), shown.own(name));
        let difference = own as f64 - before;
        let measure = shown.measure(normalised);
        let error = {
            let mut variance = shown.error(name, (&draws, &shown_measures), normalised).powi(2);
            variance += match others {
                [other] => other.error(name, (&draws, &other_measures), normalised).powi(2),
                // Of several, how far they are from each other tells more than what is within one.
                _ => (spread(&owns) / measure).powi(2),
            };
            variance.sqrt() * measure
        };
        all.push(ComparedFunction {
            name: (*name).to_owned(),
            kind: kind.unwrap_or(NodeKind::Unresolved),
            own,
            total: shown.total_of(name),
            other_own: before,
            other_total: median(totals),
            difference,
            error,
            is_significant: error > 0.0 && difference.abs() > limit * error,
        });
    }
    let significant = all.iter().filter(|function| function.is_significant).count();
    let rank = |function: &ComparedFunction| (function.is_significant, function.difference.abs());
    all.sort_by(|a, b| {
        rank(b).partial_cmp(&rank(a)).unwrap_or(std::cmp::Ordering::Equal).then_with(|| a.name.cmp(&b.name))
    });
    let compared = all.len();
    all.truncate(MAX_COMPARED);
    (all, compared, significant)
}

impl FoldedStacks {
    /// Samples of nodes, by the places that `wanted` gives their ids.
    fn values_of(&self, wanted: &HashMap<u64, usize>) -> Vec<u64> {
        let mut values = vec![0; wanted.len()];
        // The open nodes, from the root on: their ids, and where their samples are added.
        let place = |id: u64| (id, wanted.get(&id).copied());
        let mut open: Vec<(u64, Option<usize>)> = vec![place(FNV1A_64)];
        let mut before = None;
        for index in 0..self.len() {
            let path = self.path(index);
            open.truncate(1 + before.map_or(0, |before: Path<'_>| before.common(&path)));
            while let Some((name, _)) = path.at(open.len() - 1) {
                let below = open.last().map_or(FNV1A_64, |(id, _)| *id);
                open.push(place(id_of(below, self.name(name))));
            }
            for at in open.iter().filter_map(|(_, at)| *at) {
                if let Some(value) = values.get_mut(at) {
                    *value += path.samples;
                }
            }
            before = Some(path);
        }
        values
    }
}
