//! What tables and heat maps are compared with: the other side by the parameters of [`CompareParams`], and in which order lines are
//! told.
//!
//! One side is compared with one other: another capture, or another range or filter of the same. Streams of another capture are found
//! by their names, as their numbers are others there.

use bathyscope_views::{
    AgainstQuery, AgainstTable, AskedOfBoth, CallChoice, Cancel, Filter, HeatPair, MapShape, Normalised, PivotQuery,
    SideCalls, SideMap, TimeRange, UnaskedRows, ViewError, calls_against, groups_against, heat_pair, map_against,
    matching_stream, same_columns, syscalls_against,
};
use serde::Deserialize;

use crate::{
    CallsQuery, CaptureView, CompareParams, DistributionParams, PivotParams, SyscallParams, ViewQuery,
    asked::{as_source, asked_of_both, unasked},
    comparison::cautions_of_sides,
    names::split_names,
};

const DEFAULT_LINES: u32 = 200;

/// The parameters of a table beside those of its view and of the other side.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct AgainstParams {
    /// In which order lines are: the number of a measure, a full stop, and `here`, `there`, `difference` or `ratio`, with `-` before it
    /// for the greatest first. With a number alone, and if it is empty, those that changed by more than chance come first, and then
    /// those that changed most.
    pub lines_by: String,
    /// How many lines are told.
    pub lines: Option<u32>,
    /// Of calls of functions: names of functions with commas between them, whose calls are told that are directly within the last, from
    /// outermost calls on. Without it functions are told wherever they were called; if it is empty the outermost calls.
    pub way: Option<String>,
}

/// Two sides and how they are put together.
struct Sides<'a> {
    here: &'a CaptureView,
    there: &'a CaptureView,
    query: AgainstQuery,
}

impl AgainstParams {
    fn sides<'a>(
        &self,
        params: &CompareParams,
        here: &'a CaptureView,
        others: &'a [CaptureView],
    ) -> Result<Sides<'a>, ViewError> {
        let there = params.other(here, others)?;
        let normalised = match params.normalised.as_str() {
            // What lasted longer has more of all, so nothing else would say what changed.
            "" => Normalised::Time,
            _ => params.normalisation()?,
        };
        let (measure, by) = AgainstQuery::order(&self.lines_by)?;
        let query = AgainstQuery { normalised, measure, by, limit: self.lines.unwrap_or(DEFAULT_LINES) };
        Ok(Sides { here, there, query })
    }

    /// System calls of two sides.
    ///
    /// # Errors
    /// If a parameter cannot be read, a side has no system calls, or a view cannot be made.
    pub fn syscalls(
        &self,
        (params, query, calls): (&CompareParams, &ViewQuery, &SyscallParams),
        (here, others): (&CaptureView, &[CaptureView]),
        cancel: &Cancel,
    ) -> Result<AgainstTable, ViewError> {
        let sides = self.sides(params, here, others)?;
        let mut of_here = calls.query(query, here)?;
        of_here.range = here.recorded((query.start, query.end));
        let other = params.of_other(query);
        let mut of_there = calls.query(&other, sides.there).map_err(ViewError::of_other)?;
        of_there.range = sides.there.recorded((other.start, other.end));
        let both = sides.asked_of_both();
        let (one, two) = both.wrapped();
        let (one, two) = (as_source(here, one.as_ref()), as_source(sides.there, two.as_ref()));
        let table = syscalls_against((one, &of_here), (two, &of_there), &sides.query, cancel);
        let read = [(None, of_here.range, of_here.filter.as_ref()), (None, of_there.range, of_there.filter.as_ref())];
        both.told(sides.checked(table), read, cancel)
    }

    /// Groups of rows of two sides.
    ///
    /// # Errors
    /// If a parameter cannot be read, the other side has no such stream or columns, or a view cannot be made.
    pub fn groups(
        &self,
        (params, query): (&CompareParams, &PivotParams),
        (here, others): (&CaptureView, &[CaptureView]),
        cancel: &Cancel,
    ) -> Result<AgainstTable, ViewError> {
        let sides = self.sides(params, here, others)?;
        let of_here = PivotQuery { range: here.recorded((query.start, query.end)), ..query.query(here)? };
        let other = PivotParams {
            stream: matching_stream(here, query.stream, sides.there)?,
            start: params.with_start,
            end: params.with_end,
            filter: params.with_filter.clone().unwrap_or_else(|| query.filter.clone()),
            ..query.clone()
        };
        let range = sides.there.recorded((other.start, other.end));
        let of_there = PivotQuery { range, ..other.query(sides.there).map_err(ViewError::of_other)? };
        let both = sides.asked_of_both();
        let (one, two) = both.wrapped();
        let (one, two) = (as_source(here, one.as_ref()), as_source(sides.there, two.as_ref()));
        let table = groups_against((one, &of_here), (two, &of_there), &sides.query, cancel);
        let read = [
            (Some(of_here.stream), of_here.range, of_here.filter.as_ref()),
            (Some(of_there.stream), of_there.range, of_there.filter.as_ref()),
        ];
        both.told(sides.checked(table), read, cancel)
    }

    /// Functions that were called on two sides, or those directly within the way.
    ///
    /// # Errors
    /// If a parameter cannot be read, a side has no calls, or a view cannot be made.
    pub fn calls(
        &self,
        (params, query): (&CompareParams, &CallsQuery),
        (here, others): (&CaptureView, &[CaptureView]),
        cancel: &Cancel,
    ) -> Result<AgainstTable, ViewError> {
        let sides = self.sides(params, here, others)?;
        let other = CallsQuery {
            start: params.with_start,
            end: params.with_end,
            filter: params.with_filter.clone().unwrap_or_else(|| query.filter.clone()),
            ..query.clone()
        };
        let read = |view: &CaptureView, query: &CallsQuery| {
            let forest = view.calls(query.range(view), cancel)?;
            let choice = CallChoice::new(view, &forest, &query.calls(view)?, cancel)?;
            Ok::<_, ViewError>((forest, choice, view.recorded((query.start, query.end))))
        };
        let a = read(here, query)?;
        let b = read(sides.there, &other).map_err(ViewError::of_other)?;
        let of_here = SideCalls { source: here, forest: &a.0, choice: &a.1, range: a.2 };
        let of_there = SideCalls { source: sides.there, forest: &b.0, choice: &b.1, range: b.2 };
        let way = self.way.as_ref().map(|way| split_names(way));
        sides.checked(calls_against(of_here, of_there, way.as_deref(), &sides.query, cancel))
    }

    /// A map of two sides, whose shapes a script tells each.
    ///
    /// # Errors
    /// If a parameter cannot be read, the maps are not of one kind, or a view cannot be made.
    pub fn map(
        &self,
        (params, start, end): (&CompareParams, Option<i64>, Option<i64>),
        (here, of_here): (&CaptureView, &MapShape),
        (others, of_there): (&[CaptureView], &MapShape),
        cancel: &Cancel,
    ) -> Result<AgainstTable, ViewError> {
        let sides = self.sides(params, here, others)?;
        let one = SideMap { source: here, shape: of_here, range: here.recorded((start, end)) };
        let range = sides.there.recorded((params.with_start, params.with_end));
        let two = SideMap { source: sides.there, shape: of_there, range };
        sides.checked(map_against(one, two, &sides.query, cancel))
    }
}

/// Two sides without what only one of them asked for.
struct SidesOfBoth<'a> {
    here: &'a CaptureView,
    there: &'a CaptureView,
    unasked: Option<UnaskedRows>,
}

/// What was read of a side: a stream or all, from when to when, and which rows.
type ReadPart<'a> = (Option<u16>, TimeRange, Option<&'a Filter>);

impl SidesOfBoth<'_> {
    fn wrapped(&self) -> (Option<AskedOfBoth<'_>>, Option<AskedOfBoth<'_>>) {
        let of = |view| asked_of_both(view, self.unasked.as_ref());
        (of(self.here), of(self.there))
    }

    /// How many rows of either side were left out.
    fn told(
        &self,
        made: Result<AgainstTable, ViewError>,
        read: [ReadPart<'_>; 2],
        cancel: &Cancel,
    ) -> Result<AgainstTable, ViewError> {
        let mut table = made?;
        let Some(unasked) = &self.unasked else { return Ok(table) };
        let words = [("here", "was not asked for there"), ("there", "was not asked for here")];
        for ((view, (stream, range, filter)), (whose, other)) in
            [self.here, self.there].into_iter().zip(read).zip(words)
        {
            let count = unasked.count(view, stream, (range, filter), cancel)?;
            table.cautions.extend(count.sentence(whose, other));
        }
        Ok(table)
    }
}

impl<'a> Sides<'a> {
    fn asked_of_both(&self) -> SidesOfBoth<'a> {
        let unasked = unasked(self.here.record(), self.there.record());
        SidesOfBoth { here: self.here, there: self.there, unasked }
    }
}

impl Sides<'_> {
    /// What either side could not load makes the numbers wrong; how it was recorded may make them less than they seem.
    fn checked(&self, made: Result<AgainstTable, ViewError>) -> Result<AgainstTable, ViewError> {
        let mut table = self.there.checked(self.here.checked(made))?;
        table.cautions.extend(cautions_of_sides(self.here.record(), self.there.record()));
        Ok(table)
    }
}

impl CompareParams {
    /// The one other side.
    ///
    /// # Errors
    /// If there are several.
    pub fn other<'a>(&self, here: &'a CaptureView, others: &'a [CaptureView]) -> Result<&'a CaptureView, ViewError> {
        match others {
            [] => Ok(here),
            [other] => Ok(other),
            several => Err(ViewError::AgainstSeveral(several.len())),
        }
    }

    /// A query of the other side.
    pub(crate) fn of_other(&self, query: &ViewQuery) -> ViewQuery {
        ViewQuery {
            start: self.with_start,
            end: self.with_end,
            filter: self.with_filter.clone().unwrap_or_else(|| query.filter.clone()),
            ..query.clone()
        }
    }

    /// Heat maps of two sides.
    ///
    /// # Errors
    /// If a parameter cannot be read, the other side has no such stream or column, or a view cannot be made.
    pub fn heat(
        &self,
        query: &DistributionParams,
        (here, others): (&CaptureView, &[CaptureView]),
        cancel: &Cancel,
    ) -> Result<HeatPair, ViewError> {
        let there = self.other(here, others)?;
        let mut of_here = query.heat(here)?;
        of_here.range = here.recorded((query.start, query.end));
        let other = DistributionParams {
            stream: matching_stream(here, query.stream, there)?,
            start: self.with_start,
            end: self.with_end,
            filter: self.with_filter.clone().unwrap_or_else(|| query.filter.clone()),
            ..query.clone()
        };
        if !query.column.is_empty() {
            same_columns((here, query.stream), (there, other.stream), std::slice::from_ref(&query.column))?;
        }
        let mut of_there = other.heat(there).map_err(ViewError::of_other)?;
        of_there.range = there.recorded((other.start, other.end));
        there.checked(here.checked(heat_pair((here, &of_here), (there, &of_there), cancel)))
    }
}
