//! Which view of a capture: the parameters of view addresses and of `export`, read once for all views.

use bathyscope_capture::StreamSchema;
use bathyscope_views::{
    ColoursBy, CountQuery, Filter, FlameQuery, Group, GroupBy, Lanes, MAX_COUNT_POINTS, MAX_PAGE_ROWS, Order,
    RateQuery, RowPairs, RowsQuery, Source, StackChartQuery, TimeRange, TimelineQuery, Transform, ViewError, Weight,
};
use serde::Deserialize;

use crate::names::{split_names, split_orders};

const DEFAULT_ROWS: u32 = 100;
const DEFAULT_BINS: u32 = 600;
const DEFAULT_WIDTH: u32 = 1200;
const DEFAULT_TRACKS: u32 = 200;
const DEFAULT_LANES: u32 = 32;

/// The parameters of all views; each takes what it knows. Times are nanoseconds relative to the capture's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ViewQuery {
    /// From when.
    pub start: Option<i64>,
    /// Until before when.
    pub end: Option<i64>,
    /// Which stream.
    pub stream: u16,
    /// A predicate, or text to look for.
    pub filter: String,
    /// Column to sort by.
    pub sort: Option<String>,
    /// `asc` or `desc`.
    pub order: Option<SortOrder>,
    /// Further columns to sort by with commas between them, with `-` before one whose greatest come first.
    pub then: String,
    /// Names of the columns in which rows are equal that are told of each other, with commas between them.
    pub pairs: Option<String>,
    /// Names of the columns that rows are told of the row before and the row after.
    pub neighbours: String,
    /// At how many places of a table its times are told.
    pub marks: Option<u32>,
    /// Rows before the page.
    pub offset: u64,
    /// Rows in the page.
    pub limit: Option<u32>,
    /// Bins of a rate.
    pub bins: Option<u32>,
    /// Pixels.
    pub width: Option<u32>,
    /// What a track is.
    pub group: Option<TrackGroup>,
    /// The most tracks.
    pub limit_tracks: Option<u32>,
    /// The node to fill the width with, 16 hexadecimal digits.
    pub focus: Option<String>,
    /// What is done with stacks of a flame graph, as [`bathyscope_views::Transform`] writes it.
    pub transforms: String,
    /// Text to look for in names, in any case; between two `/` a regular expression.
    pub search: Option<String>,
    /// 1 for callers above callees.
    pub invert: Option<u8>,
    /// The first level of a flame graph.
    pub by: Option<FirstLevel>,
    /// Whether the root of a flame graph is below (`flame`) or on top (`icicle`); on top if it is inverted and nothing is said.
    pub shape: Option<String>,
    /// What colours of frames tell: `kind`, `module` or `package`.
    pub colors: Option<String>,
    /// Only these streams of a timeline, with commas between them.
    pub streams: Option<String>,
    /// What is added up for stacks, as [`bathyscope_views::Weight`] reads it: `samples`, `nanoseconds`, `bytes`, `cpu_time`, rows
    /// (`@STREAM`) or a column (`COLUMN@STREAM`).
    pub unit: String,
    /// Only this process.
    pub pid: Option<u64>,
    /// Only this thread.
    pub tid: Option<u64>,
    /// What a lane of stacks in the order of time is.
    pub lanes: Option<WireLanes>,
    /// The most lanes.
    pub limit_lanes: Option<u32>,
}

/// The direction of a sorted table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SortOrder {
    /// The least first.
    Asc,
    /// The greatest first.
    Desc,
}

/// What a track is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrackGroup {
    /// A CPU.
    Cpu,
    /// A thread.
    Thread,
    /// An event that is counted.
    Counter,
    /// A stream.
    Stream,
}

/// What a lane is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireLanes {
    /// Threads.
    Thread,
    /// CPUs.
    Cpu,
}

impl From<WireLanes> for Lanes {
    fn from(lanes: WireLanes) -> Self {
        match lanes {
            WireLanes::Thread => Self::Thread,
            WireLanes::Cpu => Self::Cpu,
        }
    }
}

/// The first level of a flame graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FirstLevel {
    /// Processes.
    Process,
    /// Threads.
    Thread,
    /// Names of threads.
    Comm,
    /// CPUs.
    Cpu,
    /// Containers.
    Container,
    /// Streams of samples.
    Source,
    /// Functions.
    None,
}

impl From<FirstLevel> for GroupBy {
    fn from(level: FirstLevel) -> Self {
        match level {
            FirstLevel::Process => Self::Process,
            FirstLevel::Thread => Self::Thread,
            FirstLevel::Comm => Self::Comm,
            FirstLevel::Cpu => Self::Cpu,
            FirstLevel::Container => Self::Container,
            FirstLevel::Source => Self::Source,
            FirstLevel::None => Self::None,
        }
    }
}

impl ViewQuery {
    fn range(&self, source: &dyn Source) -> TimeRange {
        let all = TimeRange::of(source);
        let absolute = |relative: i64| source.origin_ns().saturating_add_signed(relative);
        TimeRange { start_ns: self.start.map_or(all.start_ns, absolute), end_ns: self.end.map_or(all.end_ns, absolute) }
    }

    fn parsed_filter(&self) -> Result<Option<Filter>, ViewError> {
        Ok(Filter::parse(&self.filter)?)
    }

    fn orders(&self) -> Vec<Order> {
        let descending = self.order == Some(SortOrder::Desc);
        let first = self.sort.as_ref().filter(|column| !column.is_empty());
        let further: Vec<Order> =
            split_orders(&self.then).into_iter().map(|(column, descending)| Order { column, descending }).collect();
        // Without a first column it is the time.
        let first = first.cloned().or_else(|| (!further.is_empty()).then(|| StreamSchema::COMMON[0].0.to_owned()));
        first.map(|column| Order { column, descending }).into_iter().chain(further).collect()
    }

    /// As a page of rows.
    ///
    /// # Errors
    /// If the filter cannot be read.
    pub fn rows(&self, source: &dyn Source) -> Result<RowsQuery, ViewError> {
        Ok(RowsQuery {
            stream: self.stream,
            range: self.range(source),
            filter: self.parsed_filter()?,
            order: self.orders(),
            pairs: self
                .pairs
                .as_ref()
                .map(|keys| RowPairs { keys: split_names(keys), values: split_names(&self.neighbours) }),
            offset: self.offset,
            limit: self.limit.unwrap_or(DEFAULT_ROWS).min(MAX_PAGE_ROWS),
        })
    }

    /// As a rate.
    ///
    /// # Errors
    /// If the filter cannot be read.
    pub fn rate(&self, source: &dyn Source) -> Result<RateQuery, ViewError> {
        let bins = self.bins.unwrap_or(DEFAULT_BINS);
        Ok(RateQuery { range: self.range(source), bins, filter: self.parsed_filter()? })
    }

    /// As sums and lines of counts.
    pub fn counts(&self, source: &dyn Source) -> CountQuery {
        CountQuery { range: self.range(source), points: self.bins.unwrap_or(DEFAULT_BINS).min(MAX_COUNT_POINTS) }
    }

    /// As a timeline.
    ///
    /// # Errors
    /// If the filter cannot be read.
    pub fn timeline(&self, source: &dyn Source) -> Result<TimelineQuery, ViewError> {
        Ok(TimelineQuery {
            range: self.range(source),
            width: self.width.unwrap_or(DEFAULT_WIDTH),
            group: match self.group {
                None | Some(TrackGroup::Cpu) => Group::Cpu,
                Some(TrackGroup::Thread) => Group::Thread,
                Some(TrackGroup::Counter) => Group::Counter,
                Some(TrackGroup::Stream) => Group::Stream,
            },
            filter: self.parsed_filter()?,
            limit_tracks: self.limit_tracks.unwrap_or(DEFAULT_TRACKS),
            streams: self.streams()?,
        })
    }

    fn streams(&self) -> Result<Option<Vec<u16>>, ViewError> {
        let number = |word: &str| word.parse().map_err(|_not_a_number| ViewError::StreamNumber(word.to_owned()));
        let list = |words: &String| words.split(',').filter(|word| !word.is_empty()).map(number).collect();
        self.streams.as_ref().map(list).transpose()
    }

    /// Whether the root of a flame graph is on top.
    pub fn is_down(&self) -> bool {
        match self.shape.as_deref() {
            Some("icicle") => true,
            Some("flame") => false,
            _ => self.invert == Some(1),
        }
    }

    /// What colours of frames tell.
    pub fn colours_by(&self) -> ColoursBy {
        match self.colors.as_deref() {
            Some("module") => ColoursBy::Module,
            Some("package") => ColoursBy::Package,
            _ => ColoursBy::Kind,
        }
    }

    /// What is drawn of a flame graph's samples in the order of time.
    pub fn stack_chart(&self) -> StackChartQuery {
        let lanes = self.lanes.map_or(Lanes::Thread, Lanes::from);
        StackChartQuery { lanes, limit_lanes: self.limit_lanes.unwrap_or(DEFAULT_LANES) }
    }

    /// As a flame graph.
    ///
    /// # Errors
    /// If the filter or a transform cannot be read, or the capture has no such weight.
    pub fn flame(&self, source: &dyn Source) -> Result<FlameQuery, ViewError> {
        Ok(FlameQuery {
            range: self.range(source),
            filter: self.parsed_filter()?,
            pid: self.pid,
            tid: self.tid,
            weight: Weight::named(&self.unit, source)?,
            by: self.by.map_or(GroupBy::Process, GroupBy::from),
            transforms: Transform::list(&self.transforms)?,
            invert: self.invert == Some(1),
            // A node that does not exist any more is the root: an old link still shows something.
            focus: self.focus.as_deref().and_then(|focus| focus.parse().ok()),
            search: self.search.clone().filter(|search| !search.is_empty()),
            width: self.width.unwrap_or(DEFAULT_WIDTH),
        })
    }
}
