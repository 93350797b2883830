//! Which view of a capture's calls: the parameters of their addresses and of `report --calls`.

use bathyscope_views::{
    CallQuery, ChartQuery, Filter, FunctionRank, FunctionsQuery, Lanes, MAX_CALL_PAGE, MAX_FUNCTION_PAGE, Part, Source,
    TimeRange, ViewError,
};
use serde::Deserialize;

use crate::view_query::WireLanes;

const DEFAULT_CALLS: u32 = 200;
const DEFAULT_WIDTH: u32 = 1200;
const DEFAULT_LANES: u32 = 32;

/// The parameters of all views of calls; each takes what it knows. Times are nanoseconds relative to the capture's start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CallsQuery {
    /// From when.
    pub start: Option<i64>,
    /// Until before when.
    pub end: Option<i64>,
    /// A predicate, or text to look for.
    pub filter: String,
    /// Only calls of at least so many nanoseconds.
    pub longer: u64,
    /// Only this thread.
    pub tid: Option<u64>,
    /// Only this CPU.
    pub cpu: Option<u64>,
    /// Only this function.
    pub function: Option<String>,
    /// The call whose inner calls are wanted; the outermost calls without it.
    pub parent: Option<u64>,
    /// Rows before the page.
    pub offset: u64,
    /// Rows in the page.
    pub limit: Option<u32>,
    /// Calls whose places are wanted: ids with dots between them.
    pub places: String,
    /// Text to look for in names of functions.
    pub search: String,
    /// The call after which to look.
    pub after: Option<u64>,
    /// 1 for looking before it.
    pub back: Option<u8>,
    /// Into what functions are divided.
    pub part: Option<WirePart>,
    /// What functions are ranked by.
    pub rank: Option<WireRank>,
    /// `asc` for the least first.
    pub order: Option<crate::view_query::SortOrder>,
    /// Pixels.
    pub width: Option<u32>,
    /// What a lane is.
    pub lanes: Option<WireLanes>,
    /// The most lanes.
    pub limit_lanes: Option<u32>,
}

/// Into what the calls of a function are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum WirePart {
    /// CPUs
    Cpu,
    /// Threads
    Thread,
    /// Interrupts
    Irq,
}

/// What functions are ranked by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
pub enum WireRank {
    /// Time in all calls
    #[default]
    Total,
    /// Time in calls and in none within
    #[serde(rename = "self")]
    #[value(name = "self")]
    Own,
    /// Number of calls
    Calls,
    /// Mean length
    Average,
    /// Median length
    Median,
    /// Length that 99 of 100 do not exceed
    P99,
    /// Longest call
    Longest,
    /// Name
    Name,
}

impl From<WireRank> for FunctionRank {
    fn from(rank: WireRank) -> Self {
        match rank {
            WireRank::Total => Self::Total,
            WireRank::Own => Self::Own,
            WireRank::Calls => Self::Calls,
            WireRank::Average => Self::Average,
            WireRank::Median => Self::Median,
            WireRank::P99 => Self::P99,
            WireRank::Longest => Self::Longest,
            WireRank::Name => Self::Name,
        }
    }
}

impl CallsQuery {
    /// The range.
    pub fn range(&self, source: &dyn Source) -> TimeRange {
        let all = TimeRange::of(source);
        let absolute = |relative: i64| source.origin_ns().saturating_add_signed(relative);
        TimeRange { start_ns: self.start.map_or(all.start_ns, absolute), end_ns: self.end.map_or(all.end_ns, absolute) }
    }

    /// Which calls.
    ///
    /// # Errors
    /// If the filter cannot be read.
    pub fn calls(&self, source: &dyn Source) -> Result<CallQuery, ViewError> {
        // Without a range all calls, those too that began before the first row.
        let whole = self.start.is_none() && self.end.is_none();
        Ok(CallQuery {
            range: if whole { TimeRange::ALL } else { self.range(source) },
            filter: Filter::parse(&self.filter)?,
            longer_ns: self.longer,
            tid: self.tid,
            cpu: self.cpu,
            function: self.function.clone().filter(|name| !name.is_empty()),
        })
    }

    /// Whether a chart of all calls by threads is asked for.
    pub fn is_everything_by_thread(&self) -> bool {
        let chosen = !self.filter.is_empty() || self.longer > 0 || self.tid.is_some() || self.cpu.is_some();
        let by_cpu = self.lanes == Some(WireLanes::Cpu);
        !chosen && !by_cpu && self.function.as_ref().is_none_or(String::is_empty)
    }

    /// The size of a page of calls.
    pub fn page_limit(&self) -> u32 {
        self.limit.unwrap_or(DEFAULT_CALLS).min(MAX_CALL_PAGE)
    }

    /// The calls whose places are wanted; what is no number is left out, so that an old link still shows something.
    pub fn wanted_places(&self) -> Vec<u64> {
        self.places.split('.').filter_map(|id| id.parse().ok()).collect()
    }

    /// As a ranking of functions.
    pub fn functions(&self) -> FunctionsQuery {
        FunctionsQuery {
            part: match self.part {
                None => Part::Whole,
                Some(WirePart::Cpu) => Part::Cpu,
                Some(WirePart::Thread) => Part::Thread,
                Some(WirePart::Irq) => Part::Irq,
            },
            rank: self.rank.unwrap_or_default().into(),
            ascending: self.order == Some(crate::view_query::SortOrder::Asc),
            search: self.search.clone(),
            offset: self.offset,
            limit: self.limit.unwrap_or(DEFAULT_CALLS).min(MAX_FUNCTION_PAGE),
        }
    }

    /// As a chart.
    pub fn chart(&self) -> ChartQuery {
        ChartQuery {
            width: self.width.unwrap_or(DEFAULT_WIDTH),
            lanes: self.lanes.map_or(Lanes::Thread, Lanes::from),
            limit_lanes: self.limit_lanes.unwrap_or(DEFAULT_LANES),
        }
    }
}
