//! Which calls of a forest a view takes.

use super::forest::{CallForest, NONE, Record};
use crate::{Cancel, Filter, Source, TimeRange, ViewError, needle::shown, scan::Scan};

/// Which calls a view takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallQuery {
    /// Calls that touch this range.
    pub range: TimeRange,
    /// Calls whose rows satisfy it.
    pub filter: Option<Filter>,
    /// Calls that took longer, or are known to have.
    pub longer_ns: u64,
    /// Calls of this thread.
    pub tid: Option<u64>,
    /// Calls that ended on this CPU.
    pub cpu: Option<u64>,
    /// Calls of this function, by its whole name as it is shown.
    pub function: Option<String>,
}

impl Default for CallQuery {
    fn default() -> Self {
        Self { range: TimeRange::ALL, filter: None, longer_ns: 0, tid: None, cpu: None, function: None }
    }
}

/// The calls of a forest that a query takes, and those around them.
#[derive(Debug)]
pub struct CallChoice {
    pub(super) range: TimeRange,
    /// Whether it takes all calls of the forest that touch the range.
    pub(super) everything: bool,
    hits: Vec<bool>,
    shown: Vec<bool>,
    pub(super) count: u64,
}

impl CallChoice {
    /// Chooses.
    ///
    /// # Errors
    /// If the filter does not fit the calls, a chunk cannot be loaded, or `cancel` was set.
    pub fn new(
        source: &dyn Source,
        forest: &CallForest,
        query: &CallQuery,
        cancel: &Cancel,
    ) -> Result<Self, ViewError> {
        let mut hits = vec![true; forest.len()];
        if let Some(filter) = &query.filter {
            hits.fill(false);
            mark(source, forest, filter, &mut hits, cancel)?;
        }
        let function = |id| source.dictionaries().text(id).map(shown);
        let wanted = query.function.as_deref();
        let named = |call: &Record| wanted.is_none_or(|name| function(call.function).is_some_and(|text| text == name));
        for (hit, call) in hits.iter_mut().zip(&forest.calls) {
            let task = forest.task(call);
            *hit = *hit
                && call.overlaps(query.range)
                && call.duration_ns() >= query.longer_ns
                && query.tid.is_none_or(|tid| task.is_some_and(|task| task.tid == tid))
                && query.cpu.is_none_or(|cpu| u64::from(call.cpu) == cpu)
                && named(call);
        }
        let CallQuery { range, filter, longer_ns, tid, cpu, function } = query;
        let everything = filter.is_none() && *longer_ns == 0 && tid.is_none() && cpu.is_none() && function.is_none();
        Ok(Self::of(forest, *range, everything, hits))
    }

    fn of(forest: &CallForest, range: TimeRange, everything: bool, hits: Vec<bool>) -> Self {
        let mut shown = hits.clone();
        let mut count = 0;
        for (index, _) in hits.iter().enumerate().filter(|(_, hit)| **hit) {
            count += 1;
            let mut outer = forest.call(index as u32).map_or(NONE, |call| call.parent);
            while let Some(slot) = shown.get_mut(outer as usize).filter(|slot| !**slot) {
                *slot = true;
                outer = forest.call(outer).map_or(NONE, |call| call.parent);
            }
        }
        Self { range, everything, hits, shown, count }
    }

    /// Whether it takes the call.
    pub(crate) fn is_hit(&self, index: u32) -> bool {
        self.hits.get(index as usize).copied().unwrap_or(false)
    }

    /// Whether it takes the call or one within it.
    pub(crate) fn is_shown(&self, index: u32) -> bool {
        self.shown.get(index as usize).copied().unwrap_or(false)
    }

    /// The calls directly within one that are shown; the roots for none.
    pub(super) fn level<'a>(
        &'a self,
        forest: &'a CallForest,
        parent: Option<u32>,
    ) -> Box<dyn Iterator<Item = u32> + 'a> {
        match parent {
            None => Box::new(forest.roots.iter().copied().filter(|index| self.is_shown(*index))),
            Some(parent) => {
                Box::new(forest.children(parent).map(|(index, _)| index).filter(|index| self.is_shown(*index)))
            }
        }
    }
}

fn mark(
    source: &dyn Source,
    forest: &CallForest,
    filter: &Filter,
    hits: &mut [bool],
    cancel: &Cancel,
) -> Result<(), ViewError> {
    let mut scan = Scan::new(source, forest.stream, TimeRange::ALL, Some(filter), &[], cancel)?;
    let mut row = 0_u64;
    for (chunk, meta) in scan.chunks().iter().enumerate() {
        let last = row + u64::from(meta.rows);
        if last > forest.first_row && row < forest.first_row + forest.len() as u64 {
            scan.picked(chunk)?.for_each(|picked| {
                let index = (row + picked as u64).checked_sub(forest.first_row);
                let slot = index.and_then(|index| hits.get_mut(usize::try_from(index).ok()?));
                if let Some(slot) = slot {
                    *slot = true;
                }
            });
        }
        row = last;
    }
    Ok(())
}
