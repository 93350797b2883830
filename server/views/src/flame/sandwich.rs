//! One function between what calls it and what it calls, as speedscope and pprof show it.

use super::{FlameQuery, Transform, fold, transform::transformed};
use crate::{
    Cancel, Source, ViewError,
    answers::{GroupBy, Sandwich},
};

/// What calls `function` above, and what it calls below, both over the samples that have it. Where it calls itself, callees begin
/// at the outermost call and callers at the innermost. `by`, `invert` and `focus` do not count.
///
/// # Errors
/// As [`super::flame()`].
pub fn sandwich(
    source: &dyn Source,
    query: &FlameQuery,
    function: &str,
    cancel: &Cancel,
) -> Result<Sandwich, ViewError> {
    super::checked_width(query.width)?;
    let search = query.searched()?;
    let query = FlameQuery { by: GroupBy::None, invert: false, ..query.clone() };
    let folded = fold(source, &query, cancel)?;
    let half = |inverted: bool| {
        let focus = Transform::FocusFunction { name: function.to_owned(), inverted };
        let mut half = transformed(&folded, &[focus], inverted, cancel)?;
        half.keep_applied(folded.applied());
        Ok::<_, ViewError>(half.graph(None, search.as_ref(), query.width))
    };
    let (callers, callees) = (half(true)?, half(false)?);
    let own = folded.own_of(function);
    Ok(Sandwich { function: function.to_owned(), own, total: callees.total, callers, callees })
}
