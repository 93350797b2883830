//! What is looked for in all of a capture: the parameters of addresses of `find`.

use bathyscope_views::{FIND_ROWS, Filter, FindQuery, FindStepQuery, FoundPlace, Source, TimeRange, ViewError};
use serde::Deserialize;

const DEFAULT_COLUMNS: u32 = 1024;

/// The parameters. Times are nanoseconds relative to the capture's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FindParams {
    /// Text, or a condition on columns.
    pub find: String,
    /// From when.
    pub start: Option<i64>,
    /// Until before when.
    pub end: Option<i64>,
    /// Into how many columns the range is divided.
    pub columns: Option<u32>,
    /// How long rows may be, in nanoseconds, that are marked in the range although their time is outside.
    pub reach: Option<u64>,
    /// From which length on, in nanoseconds, rows are told with their times; none are if this is not given.
    pub long: Option<u64>,
    /// Where to go on: what an answer before this said.
    pub skip: u64,
    /// From which moment the next row is looked for.
    pub from: Option<i64>,
    /// From which row at that moment: its stream,
    pub stream: Option<u16>,
    /// and its number there.
    pub row: Option<u64>,
    /// 1 for the row before.
    pub back: Option<u8>,
}

impl FindParams {
    fn filter(&self) -> Result<Filter, ViewError> {
        Filter::parse(&self.find)?.ok_or(ViewError::NothingToFind)
    }

    fn range(&self, source: &dyn Source) -> TimeRange {
        let all = TimeRange::of(source);
        let absolute = |relative: i64| source.origin_ns().saturating_add_signed(relative);
        let end_ns = self.end.map_or(all.end_ns, absolute);
        TimeRange { start_ns: self.start.map_or(all.start_ns, absolute).min(end_ns), end_ns }
    }

    /// As a search.
    ///
    /// # Errors
    /// If there is nothing to look for, or it cannot be read.
    pub fn search(&self, source: &dyn Source) -> Result<FindQuery, ViewError> {
        let columns = self.columns.unwrap_or(DEFAULT_COLUMNS);
        let (filter, range) = (self.filter()?, self.range(source));
        let (reach_ns, long_ns) = (self.reach.unwrap_or(0), self.long);
        Ok(FindQuery { filter, range, columns, reach_ns, long_ns, skip: self.skip, budget_rows: FIND_ROWS })
    }

    /// As a step from one row to the next.
    ///
    /// # Errors
    /// If there is nothing to look for, or it cannot be read.
    pub fn step(&self, source: &dyn Source) -> Result<FindStepQuery, ViewError> {
        let FindQuery { filter, range, columns, skip, budget_rows, .. } = self.search(source)?;
        let time_ns = source.origin_ns().saturating_add_signed(self.from.unwrap_or(i64::MIN));
        let from = FoundPlace { time_ns, row: self.stream.zip(self.row) };
        Ok(FindStepQuery { filter, from, back: self.back == Some(1), range, columns, skip, budget_rows })
    }
}
