//! Whose values are counted: the parameters of addresses of `facets`.

use bathyscope_capture::StreamSchema;
use bathyscope_views::{FacetsQuery, Filter, MAX_FACET_COLUMNS, MAX_FACET_TOLD, Source, TimeRange, ViewError};
use serde::Deserialize;

use crate::names::split_names;

const DEFAULT_VALUES: u32 = 10;

/// The parameters. Times are nanoseconds relative to the capture's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct FacetsParams {
    /// Which stream.
    pub stream: u16,
    /// From when.
    pub start: Option<i64>,
    /// Until before when.
    pub end: Option<i64>,
    /// A predicate, or text to look for.
    pub filter: String,
    /// Names of columns with commas between them; all but `time` if this is empty.
    pub columns: String,
    /// How many values of each are told.
    pub limit: Option<u32>,
    /// Only values with this text are told.
    pub search: String,
    /// How many rows are looked at, about; all if this is not given.
    pub rows: Option<u64>,
}

impl FacetsParams {
    /// As a count of values.
    ///
    /// # Errors
    /// If the filter cannot be read.
    pub fn query(&self, source: &dyn Source) -> Result<FacetsQuery, ViewError> {
        let all = TimeRange::of(source);
        let absolute = |relative: i64| source.origin_ns().saturating_add_signed(relative);
        let mut columns = split_names(&self.columns);
        if columns.is_empty() {
            let of_stream = source.streams().get(usize::from(self.stream));
            let names = of_stream.into_iter().flat_map(|schema| schema.columns.iter().skip(StreamSchema::TIME + 1));
            columns = names.map(|column| column.name.clone()).take(MAX_FACET_COLUMNS).collect();
        }
        Ok(FacetsQuery {
            stream: self.stream,
            range: TimeRange {
                start_ns: self.start.map_or(all.start_ns, absolute),
                end_ns: self.end.map_or(all.end_ns, absolute),
            },
            filter: Filter::parse(&self.filter)?,
            columns,
            limit: self.limit.unwrap_or(DEFAULT_VALUES).min(MAX_FACET_TOLD),
            search: self.search.clone(),
            budget_rows: self.rows.unwrap_or(u64::MAX),
        })
    }
}
