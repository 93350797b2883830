//! How values are spread: the parameters of addresses of `distribution`.

use bathyscope_views::{
    DistributionQuery, Filter, HEAT_ROWS, HeatAxis, HeatQuery, MAX_GROUPS, ScatterQuery, Source, TimeRange,
    UtilisationQuery, ValueLimits, ValueScale, ViewError,
};
use serde::Deserialize;

const DEFAULT_BUCKETS: u32 = 60;
const DEFAULT_LOG_BITS: u8 = 2;
const DEFAULT_COLUMNS: u32 = 600;
const DEFAULT_OFFSETS: u32 = 50;
const SECOND_NS: u64 = 1_000_000_000;

/// The parameters. Times are nanoseconds relative to the capture's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct DistributionParams {
    /// Which stream.
    pub stream: u16,
    /// From when.
    pub start: Option<i64>,
    /// Until before when.
    pub end: Option<i64>,
    /// A predicate, or text to look for.
    pub filter: String,
    /// The column of numbers; the one that rows are about if it is empty.
    pub column: String,
    /// `log` or `linear`.
    pub scale: Option<ScaleName>,
    /// Buckets of a power of two, as bits; of a linear scale how many there are at most.
    pub steps: Option<u32>,
    /// The least value.
    pub low: Option<String>,
    /// The first value that is too great.
    pub high: Option<String>,
    /// The column whose most frequent values have a histogram each.
    pub by: String,
    /// How many of these.
    pub groups: Option<u32>,
    /// Columns of a picture.
    pub columns: Option<u32>,
    /// Of offsets: how long a period is, in nanoseconds.
    pub period: Option<u64>,
    /// Of offsets: into how many rows a period is divided.
    pub rows: Option<u32>,
    /// Where to go on: what an answer before this said.
    pub skip: u64,
}

/// How buckets are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScaleName {
    /// By powers of two.
    Log,
    /// Of equal width.
    Linear,
}

impl DistributionParams {
    fn range(&self, source: &dyn Source) -> TimeRange {
        let all = TimeRange::of(source);
        let absolute = |relative: i64| source.origin_ns().saturating_add_signed(relative);
        let end_ns = self.end.map_or(all.end_ns, absolute);
        TimeRange { start_ns: self.start.map_or(all.start_ns, absolute).min(end_ns), end_ns }
    }

    fn filter(&self) -> Result<Option<Filter>, ViewError> {
        Ok(Filter::parse(&self.filter)?)
    }

    fn scale(&self) -> ValueScale {
        match self.scale {
            None | Some(ScaleName::Log) => {
                ValueScale::Log(self.steps.map_or(DEFAULT_LOG_BITS, |bits| u8::try_from(bits).unwrap_or(u8::MAX)))
            }
            Some(ScaleName::Linear) => ValueScale::Linear(self.steps.unwrap_or(DEFAULT_BUCKETS)),
        }
    }

    fn limits(&self) -> Result<ValueLimits, ViewError> {
        let number = |text: &Option<String>| match text.as_deref() {
            None | Some("") => Ok(None),
            Some(text) => {
                let number = text.parse::<i64>().map(i128::from).or_else(|_| text.parse::<u64>().map(i128::from));
                number.map(Some).map_err(|_not_a_number| ViewError::ValueLimit(text.chars().take(80).collect()))
            }
        };
        Ok(ValueLimits { low: number(&self.low)?, high: number(&self.high)? })
    }

    /// As a histogram.
    ///
    /// # Errors
    /// If the filter or a limit cannot be read.
    pub fn histogram(&self, source: &dyn Source) -> Result<DistributionQuery, ViewError> {
        Ok(DistributionQuery {
            stream: self.stream,
            column: self.column.clone(),
            range: self.range(source),
            filter: self.filter()?,
            scale: self.scale(),
            limits: self.limits()?,
            by: Some(self.by.clone()).filter(|by| !by.is_empty()),
            groups: self.groups.unwrap_or(MAX_GROUPS),
        })
    }

    /// As a heat map: by time and value, or with a period by that and the offset in it.
    ///
    /// # Errors
    /// If the filter or a limit cannot be read.
    pub fn heat(&self, source: &dyn Source) -> Result<HeatQuery, ViewError> {
        let axis = match (self.period, self.rows) {
            (None, None) => {
                HeatAxis::Value { column: self.column.clone(), scale: self.scale(), limits: self.limits()? }
            }
            (period, rows) => {
                HeatAxis::Offset { period_ns: period.unwrap_or(SECOND_NS), rows: rows.unwrap_or(DEFAULT_OFFSETS) }
            }
        };
        Ok(HeatQuery {
            stream: self.stream,
            range: self.range(source),
            filter: self.filter()?,
            axis,
            columns: self.columns.unwrap_or(DEFAULT_COLUMNS),
            skip: self.skip,
            budget_rows: HEAT_ROWS,
        })
    }

    /// As how busy CPUs or devices were.
    ///
    /// # Errors
    /// If the filter cannot be read.
    pub fn utilisation(&self, source: &dyn Source) -> Result<UtilisationQuery, ViewError> {
        let columns = self.columns.unwrap_or(DEFAULT_COLUMNS);
        Ok(UtilisationQuery { stream: self.stream, range: self.range(source), filter: self.filter()?, columns })
    }

    /// As single rows.
    ///
    /// # Errors
    /// If the filter or a limit cannot be read.
    pub fn scatter(&self, source: &dyn Source) -> Result<ScatterQuery, ViewError> {
        let (range, filter, limits) = (self.range(source), self.filter()?, self.limits()?);
        Ok(ScatterQuery { stream: self.stream, column: self.column.clone(), range, filter, limits })
    }
}
