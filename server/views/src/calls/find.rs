//! Where calls are in the tree, by their ids and by a search.

use super::{CallChoice, CallForest, forest::NONE, tree::line};
use crate::{
    Source,
    answers::{CallPlace, CallStep, FoundCall},
    hash::IdMap,
    needle::{Needle, shown},
};

/// The most places that are looked up at a time.
pub const MAX_PLACES: usize = 128;

/// The places of calls that the query shows, at most [`MAX_PLACES`]; what is not shown, or does not exist, is left out.
pub fn places(source: &dyn Source, forest: &CallForest, choice: &CallChoice, ids: &[u64]) -> Vec<CallPlace> {
    let indexes = ids.iter().take(MAX_PLACES).filter_map(|id| forest.index(*id));
    indexes.filter_map(|index| place(source, forest, choice, index)).collect()
}

fn place(source: &dyn Source, forest: &CallForest, choice: &CallChoice, index: u32) -> Option<CallPlace> {
    if !choice.is_shown(index) {
        return None;
    }
    let mut path = Vec::new();
    let mut at = index;
    while at != NONE {
        let parent = forest.call(at)?.parent;
        let before = choice.level(forest, (parent != NONE).then_some(parent)).take_while(|other| *other != at).count();
        path.push(CallStep { id: forest.id(at), index: before as u64 });
        at = parent;
    }
    path.reverse();
    Some(CallPlace { path, call: line(source, forest, choice, index)? })
}

/// The next call of the query whose function has `text`, after (or before, if `back`) the call `from`, or the first (last);
/// after the last comes the first.
pub fn find_call(
    source: &dyn Source,
    forest: &CallForest,
    choice: &CallChoice,
    text: &str,
    from: Option<u64>,
    back: bool,
) -> FoundCall {
    let needle = Needle::new(text);
    let mut known: IdMap<u32, bool> = IdMap::default();
    let mut has_text = |index: u32| {
        let Some(call) = forest.call(index).filter(|_| choice.is_hit(index)) else { return false };
        *known.entry(call.function).or_insert_with(|| {
            let name = source.dictionaries().text(call.function).map(shown).unwrap_or_default();
            needle.as_ref().is_some_and(|needle| needle.is_in(&name))
        })
    };
    let from = from.and_then(|id| forest.index(id));
    // Matches in order, and how many of them come before the given call or are it.
    let (mut matches, mut before, mut here) = (Vec::new(), 0, false);
    for index in forest.preorder() {
        let matched = has_text(index);
        if Some(index) == from {
            (before, here) = (matches.len(), matched);
        }
        if matched {
            matches.push(index);
        }
    }
    let count = matches.len();
    let next = match (from, back) {
        (None, false) => 0,
        (_, true) => {
            if before == 0 || from.is_none() {
                count.saturating_sub(1)
            } else {
                before - 1
            }
        }
        (Some(_), false) => {
            let next = before + usize::from(here);
            if next >= count { 0 } else { next }
        }
    };
    let place = matches.get(next).and_then(|index| place(source, forest, choice, *index));
    FoundCall { total: count as u64, number: if place.is_some() { next as u64 + 1 } else { 0 }, place }
}
