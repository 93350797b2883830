//! How rows are grouped: the parameters of addresses of `pivot`.

use bathyscope_views::{Aggregate, Filter, PivotQuery, Source, TimeRange, ViewError};
use serde::Deserialize;

use crate::{names::split_names, view_query::SortOrder};

const DEFAULT_LINES: u32 = 200;

/// The parameters. Times are nanoseconds relative to the capture's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PivotParams {
    /// Which stream.
    pub stream: u16,
    /// From when.
    pub start: Option<i64>,
    /// Until before when.
    pub end: Option<i64>,
    /// A predicate, or text to look for.
    pub filter: String,
    /// Names of the columns that rows are grouped by, with commas between them.
    pub by: String,
    /// What is told of each group: `count`, `sum:COLUMN`, `p99:COLUMN` and so on; `count` if this is empty.
    pub values: String,
    /// By which column of the answer lines are sorted, counted from 0; the first value if this is not given.
    pub sort: Option<u16>,
    /// `asc` or `desc`; the greatest first if this is not given.
    pub order: Option<SortOrder>,
    /// How many lines.
    pub limit: Option<u32>,
    /// In how many bins the first value of the first lines is told over time.
    pub bins: u32,
}

impl PivotParams {
    /// As groups of rows.
    ///
    /// # Errors
    /// If the filter or a value cannot be read.
    pub fn query(&self, source: &dyn Source) -> Result<PivotQuery, ViewError> {
        let all = TimeRange::of(source);
        let absolute = |relative: i64| source.origin_ns().saturating_add_signed(relative);
        let mut values =
            split_names(&self.values).iter().map(|text| Aggregate::parse(text)).collect::<Result<Vec<_>, _>>()?;
        if values.is_empty() {
            values.push(Aggregate::Count);
        }
        Ok(PivotQuery {
            stream: self.stream,
            range: TimeRange {
                start_ns: self.start.map_or(all.start_ns, absolute),
                end_ns: self.end.map_or(all.end_ns, absolute),
            },
            filter: Filter::parse(&self.filter)?,
            by: split_names(&self.by),
            values,
            sort: self.sort.map(usize::from),
            descending: self.order != Some(SortOrder::Asc),
            limit: self.limit.unwrap_or(DEFAULT_LINES),
            bins: self.bins,
        })
    }
}
