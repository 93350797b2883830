//! The functions of sampled stacks as a table: how many samples were in a function itself, and how many in it or in what it
//! called; what `perf report -n` and `perf top` show.

use super::{FlameQuery, FoldedStacks, fold};
use crate::{
    Cancel, Source, ViewError,
    answers::{GroupBy, NodeKind, SampledFunction, SampledFunctions},
};

/// The most functions of an answer.
pub const MAX_FUNCTIONS: usize = 5000;

/// By what functions are ordered, the greatest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FunctionOrder {
    /// By their own samples.
    #[default]
    Own,
    /// By their samples with what they called.
    Total,
}

/// The functions of the samples that `query` asks for, of which `search` leaves those with the text in their names. `focus`,
/// `invert`, `by` and `width` do not count.
///
/// # Errors
/// As [`fold()`].
pub fn sampled_functions(
    source: &dyn Source,
    query: &FlameQuery,
    order: FunctionOrder,
    limit: usize,
    cancel: &Cancel,
) -> Result<SampledFunctions, ViewError> {
    let query = FlameQuery { by: GroupBy::None, invert: false, ..query.clone() };
    let folded = fold(source, &query, cancel)?;
    let mut functions = counted(&folded);
    if let Some(text) = query.search.as_deref().filter(|text| !text.is_empty()) {
        let wanted = text.to_lowercase();
        functions.retain(|function| function.name.to_lowercase().contains(&wanted));
    }
    let key = |function: &SampledFunction| match order {
        FunctionOrder::Own => (function.own, function.total),
        FunctionOrder::Total => (function.total, function.own),
    };
    functions.sort_by(|a, b| key(b).cmp(&key(a)).then_with(|| a.name.cmp(&b.name)));
    let total = functions.len();
    functions.truncate(limit.min(MAX_FUNCTIONS));
    let left_out = folded.left_out;
    Ok(SampledFunctions { unit: folded.unit, left_out, samples: folded.total(), total, functions })
}

/// One function with the last stack that it was counted for.
#[derive(Clone, Default)]
struct Sum {
    kind: Option<NodeKind>,
    own: u64,
    total: u64,
    /// From 1.
    last_stack: usize,
}

fn counted(folded: &FoldedStacks) -> Vec<SampledFunction> {
    let mut sums = vec![Sum::default(); folded.names().len()];
    for stack in 0..folded.len() {
        let path = folded.path(stack);
        for (depth, (name, kind)) in (0..path.len()).filter_map(|level| path.at(level)).enumerate() {
            let Some(sum) = sums.get_mut(name as usize) else { continue };
            sum.kind.get_or_insert(kind);
            if std::mem::replace(&mut sum.last_stack, stack + 1) != stack + 1 {
                sum.total += path.samples;
            }
            if depth + 1 == path.len() {
                sum.own += path.samples;
            }
        }
    }
    let named = (0_u32..).zip(sums).filter_map(|(name, sum)| {
        let Sum { kind, own, total, .. } = sum;
        Some(SampledFunction { name: folded.name(name).to_owned(), kind: kind?, own, total })
    });
    named.collect()
}
