//! The tree of the processes that are shown: their order, and the condition on rows of each with all that it started.

use std::collections::HashMap;

use bathyscope_capture::MAX_PREDICATE_BYTES;

use super::lives::Life;

/// The longest condition: others must have room beside it.
const MAX_FILTER_BYTES: usize = MAX_PREDICATE_BYTES / 2;
/// The most ids that conditions are made of, of all together: a chain of processes that each start one has many.
const MAX_FILTER_IDS: usize = 1 << 24;

/// All of them, each before those that it started, in the order of their start. Of those that were there before, as the first ones
/// are, those come first that used most, with what they started.
pub(super) fn in_order(all: &[Life], used: impl Fn(usize) -> (u64, u64)) -> Vec<usize> {
    let mut used: Vec<(u64, u64)> = (0..all.len()).map(used).collect();
    for (at, life) in all.iter().enumerate().rev() {
        let own = used.get(at).copied().unwrap_or_default();
        if let Some(above) = life.parent.and_then(|parent| used.get_mut(parent)) {
            *above = (above.0.saturating_add(own.0), above.1.saturating_add(own.1));
        }
    }
    let mut children: HashMap<usize, Vec<usize>> = HashMap::new();
    let mut roots = Vec::new();
    for (at, life) in all.iter().enumerate() {
        match life.parent {
            Some(parent) => children.entry(parent).or_default().push(at),
            None => roots.push(at),
        }
    }
    let was_there = |at: &usize| all.get(*at).is_some_and(|life| life.start_ns.is_none());
    let place = |at: &usize| (!was_there(at), std::cmp::Reverse(used.get(*at).copied().filter(|_| was_there(at))));
    roots.sort_by_key(|at| std::cmp::Reverse(used.get(*at).copied()));
    children.values_mut().for_each(|started| started.sort_by_key(place));
    let mut order = Vec::new();
    let mut waiting: Vec<usize> = roots.into_iter().rev().collect();
    while let Some(at) = waiting.pop() {
        order.push(at);
        waiting.extend(children.remove(&at).unwrap_or_default().into_iter().rev());
    }
    order
}

/// What is below each of the shown ones.
pub(super) struct Subtrees<'a> {
    all: &'a [Life],
    shown: &'a [usize],
    parents: Vec<Option<usize>>,
    depths: Vec<u32>,
    /// By place, how many of the shown ones are below it; they follow it.
    below: Vec<u32>,
    /// All processes, also those that are not shown, each before those that it started.
    order: &'a [usize],
    /// By process, its place in that order, and how many are below it.
    places: Vec<usize>,
    all_below: Vec<u32>,
    /// By id, how many processes had it.
    lives: HashMap<u32, usize>,
    /// All ids, sorted.
    pids: Vec<u32>,
    /// Of how many ids conditions may still be made.
    budget: usize,
}

impl<'a> Subtrees<'a> {
    /// `order` is that of all; the shown ones are in it.
    pub(super) fn of(all: &'a [Life], order: &'a [usize], shown: &'a [usize]) -> Self {
        let places: HashMap<usize, usize> = shown.iter().enumerate().map(|(place, at)| (*at, place)).collect();
        let parent = |at: &usize| all.get(*at)?.parent.and_then(|parent| places.get(&parent).copied());
        let parents: Vec<Option<usize>> = shown.iter().map(parent).collect();
        let mut depths: Vec<u32> = Vec::with_capacity(shown.len());
        for parent in &parents {
            depths.push(parent.and_then(|parent| depths.get(parent)).map_or(0, |depth| depth + 1));
        }
        let mut below = vec![0_u32; shown.len()];
        for place in (0..shown.len()).rev() {
            let own = below.get(place).copied().unwrap_or(0) + 1;
            if let Some(above) = parents.get(place).copied().flatten().and_then(|parent| below.get_mut(parent)) {
                *above += own;
            }
        }
        let (mut places, mut all_below) = (vec![0; all.len()], vec![0_u32; all.len()]);
        for (place, at) in order.iter().enumerate().rev() {
            let own = all_below.get(*at).copied().unwrap_or(0) + 1;
            let parent = all.get(*at).and_then(|life| life.parent);
            if let Some(above) = parent.and_then(|parent| all_below.get_mut(parent)) {
                *above += own;
            }
            if let Some(known) = places.get_mut(*at) {
                *known = place;
            }
        }
        let mut lives: HashMap<u32, usize> = HashMap::new();
        for life in all {
            *lives.entry(life.pid).or_default() += 1;
        }
        let mut pids: Vec<u32> = lives.keys().copied().collect();
        pids.sort_unstable();
        Self { all, shown, parents, depths, below, order, places, all_below, lives, pids, budget: MAX_FILTER_IDS }
    }

    pub(super) fn parent(&self, place: usize) -> Option<usize> {
        self.parents.get(place).copied().flatten()
    }

    pub(super) fn depth(&self, place: usize) -> u32 {
        self.depths.get(place).copied().unwrap_or(0)
    }

    pub(super) fn descendants(&self, place: usize) -> u32 {
        self.below.get(place).copied().unwrap_or(0)
    }

    /// The condition on rows of a process and of all that it started, at any time, and whether another process had one of
    /// their ids.
    pub(super) fn filter(&mut self, place: usize) -> (String, bool) {
        let inside = self.shown.get(place).map_or(&[][..], |at| {
            let from = self.places.get(*at).copied().unwrap_or(0);
            let below = self.all_below.get(*at).copied().unwrap_or(0) as usize;
            self.order.get(from..=from + below).unwrap_or(&[])
        });
        let Some(budget) = self.budget.checked_sub(inside.len()) else { return (String::new(), false) };
        self.budget = budget;
        let mut own: Vec<u32> = inside.iter().filter_map(|at| self.all.get(*at)).map(|life| life.pid).collect();
        own.sort_unstable();
        own.dedup();
        let with_these: usize = own.iter().filter_map(|pid| self.lives.get(pid)).sum();
        (condition(&own, &self.pids), with_these > inside.len())
    }
}

/// The condition that holds for these ids and for no other of all; both are sorted. Empty where it would be too long.
fn condition(own: &[u32], all: &[u32]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = own;
    while let Some(first) = rest.first() {
        let from = all.partition_point(|pid| pid < first);
        let following = all.get(from..).unwrap_or(&[]);
        let run = rest.iter().zip(following).take_while(|(own, any)| own == any).count().max(1);
        let last = rest.get(run - 1).unwrap_or(first);
        parts.push(match run {
            1 => format!("pid == {first}"),
            2 => format!("pid == {first} || pid == {last}"),
            _ => format!("(pid >= {first} && pid <= {last})"),
        });
        rest = rest.get(run..).unwrap_or(&[]);
    }
    let text = parts.join(" || ");
    match parts.len() {
        _ if text.is_empty() || text.len() > MAX_FILTER_BYTES => String::new(),
        1 if !text.contains("||") => text,
        _ => format!("({text})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn conditions_have_ranges_where_no_other_process_is_between() {
        let all = [1, 5, 7, 8, 9, 12, 20, 21];
        for (own, text) in [
            (&[5][..], "pid == 5"),
            (&[7, 8], "(pid == 7 || pid == 8)"),
            (&[5, 7, 8, 9], "(pid >= 5 && pid <= 9)"),
            (&[5, 8, 9, 12, 21], "(pid == 5 || (pid >= 8 && pid <= 12) || pid == 21)"),
            (&[], ""),
        ] {
            assert_eq!(condition(own, &all), text, "{own:?}");
        }
        let many: Vec<u32> = (0..1000).map(|n| n * 2).collect();
        let all: Vec<u32> = (0..2000).collect();
        assert_eq!(condition(&many, &all), "", "too long");
    }
}
