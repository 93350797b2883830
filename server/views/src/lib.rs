//! Capture → what is drawn: pages of rows, rates, timelines, flame graphs and their SVG.
//!
//! Pure functions over a [`Source`]: the caller hands in chunk metadata and dictionaries and loads chunks when they are
//! asked for, so a view reads only the columns and the time range that it needs and never holds a whole capture. What
//! comes back is bounded by the screen (`width`, `limit`, node caps), never by the capture.
//!
//! Calls are synchronous and can take long: run them off the async runtime, and set the [`Cancel`] flag when nobody waits
//! any more; it is looked at once for each chunk. Moments in Rust types are absolute monotonic nanoseconds; moments in
//! serialised output are relative to [`Source::origin_ns`].
//!
//! It must not do I/O, know SQL or HTTP, or make HTML. Text from events leaves it only through
//! [`bathyscope_capture::visible`], except where a type says that it holds bytes.
#![forbid(unsafe_code)]

mod against;
mod answers;
mod calls;
mod cell;
mod chance;
mod colour;
mod counts;
mod dictionaries;
mod distribution;
mod error;
mod event_text;
mod facets;
mod filter;
mod find;
mod flame;
mod frame_names;
mod hash;
mod kept;
mod log_buckets;
mod maps;
mod measured;
mod memory;
mod narrow;
mod needle;
mod pivot;
mod processes;
mod range;
mod rate;
mod rows;
mod scan;
mod source;
mod svg;
mod timeline;
mod tracks;
mod unasked;
mod window;

pub use against::{
    AgainstBy, AgainstQuery, AskedOfBoth, MAX_AGAINST_LINES, MAX_AGAINST_TOLD, UnaskedCount, matching_stream,
    no_matching_stream, same_columns,
};
pub use answers::{
    AgainstHistogram, AgainstKey, AgainstKind, AgainstLine, AgainstMeasure, AgainstSide, AgainstTable, AgainstValue,
    Annotation, AppliedTransform, At, BinnedList, Bucket, CallBoxes, CallChart, CallLine, CallPage, CallPlace,
    CallState, CallStep, CallThread, CaptureComparison, CodePlace, CodeRow, ColumnHead, ComparedColumn,
    ComparedFunction, ComparedName, ComparedNumber, ComparedStream, ComparedStreamSide, CountLine, CountView, Counted,
    CounterTrack, CounterValues, CriticalPath, Cut, Derived, DifferenceVerdict, Distribution, DistributionGroup, Facet,
    FacetBar, FacetValue, Facets, FlameDifference, FlameGraph, Flow, FlowKind, FlowWay, FoundCall, FoundHit,
    FoundInStream, FoundOnCpu, FoundOnTrack, FoundRows, FoundStep, FunctionRow, FunctionsPage, Group, GroupBy,
    HeatCells, HeatColumn, HeatMap, HeatPair, HeatView, HistogramView, IrqShare, KeyId, KeyNumber, KeyTotal, KeyWhat,
    Lane, Lanes, LeftOutRows, MapKind, MapTable, MeasuredNumber, NameTime, NodeId, NodeKind, Nodes, Normalised,
    OfferedWeight, OnlySide, ParseKeyIdError, ParseNodeIdError, ParsePlaceError, ParseTrackIdError, PathGap, PathKind,
    PathPart, PathRecorded, PathShare, PathStop, PathSum, PathThread, PathWait, PathWaited, Pivot, PivotColumn,
    PivotLine, PivotSeries, PlaceLine, ProcessLife, ProcessTree, RangeAmount, RangeAmounts, RangeCounter,
    RangeCounters, RangeDurations, RangeRest, RangeSlice, RangeSlices, RangeState, RangeThread, RangeThreads,
    RangeWait, RangeWaits, RangeWaker, RangeWakeups, Rate, RateLoss, RowFields, RowStack, RowTimes, RowsPage,
    SampleUnit, SampledFunction, SampledFunctions, Sandwich, Scatter, SeriesLine, SeriesView, ShownCode, ShownPiece,
    ShownTrack, ShownValues, SlicedStream, SourceLine, StackBoxes, StackChart, StackLane, StreamRate, SyscallError,
    SyscallLine, SyscallObject, SyscallTable, SyscallTimes, TIMELINE_MAGIC, TRACK_WINDOW_MAGIC, ThreadCall, Timeline,
    Track, TrackBins, TrackFlow, TrackFlows, TrackId, TrackLabel, TrackLine, TrackList, TrackMoment, TrackOf,
    TrackRowLine, TrackStream, TrackWindow, TrackedRow, Unit, Utilisation, UtilisedKey, ValueRange, WakeThread,
};
pub use calls::{
    CallChoice, CallForest, CallQuery, ChartQuery, FunctionRank, FunctionsQuery, MAX_CALL_LEVELS, MAX_CALL_LINES,
    MAX_CALL_PAGE, MAX_CALLS, MAX_CHART_BOXES, MAX_CHART_LANES, MAX_FUNCTION_PAGE, MAX_PLACES, Part, SideCalls,
    all_call_lines, call_chart, call_lines, call_overview, call_page, calls_against, calls_stream, find_call,
    needs_overview, places, rank_functions,
};
pub use cell::{RecordedCell, cells, heads, stack_cell};
pub use chance::judge;
pub use colour::{
    CATEGORIES, CATEGORY_SHADES, FRAME_SHADES, NameColours, ON_CATEGORY, ON_FRAME, ROOT_SHADE, SHADES, Shade,
};
pub use counts::{
    CountQuery, EventSum, MAX_COUNT_LINES, MAX_COUNT_POINTS, MAX_COUNT_SUMS, count_view, counted, derived, is_time,
};
pub use dictionaries::{
    Dictionaries, LastIds, LoadError, LoadPages, PAGE_IDS, Page, PageContent, PageKind, ProcessNames, Room, page_ids,
};
pub use distribution::{
    DistributionQuery, HEAT_ROWS, HeatAxis, HeatQuery, MAX_GROUPS, MAX_HEAT_COLUMNS, MAX_LINEAR_BUCKETS, MAX_LOG_BITS,
    MAX_SCATTERED, MAX_UTILISED, ScatterQuery, UtilisationQuery, ValueLimits, ValueScale, distribution, heat_map,
    heat_pair, scatter, utilisation,
};
pub use error::ViewError;
pub use event_text::EventText;
pub use facets::{FacetsQuery, MAX_FACET_COLUMNS, MAX_FACET_TOLD, MAX_FACET_VALUES, facets};
pub use filter::Filter;
pub use find::{FIND_ROWS, FindQuery, FindStepQuery, FoundPlace, MAX_FIND_COLUMNS, find, find_step};
pub use flame::{
    ChainNode, ChainOrder, CompareQuery, ComparedSide, FlameQuery, FoldedStack, FoldedStacks, FunctionOrder,
    FunctionSamples, Instruction, MATCH_BELOW, MATCH_SELF, MAX_CODE_ROWS, MAX_COMPARED_CAPTURES, MAX_FLAME_NODES,
    MAX_FLAME_WIDTH, MAX_FUNCTIONS, MAX_TRANSFORMS, ReportKey, ReportQuery, ReportRow, ReportValue, RowWeight,
    SampleReport, SampledPlace, StackChartQuery, Transform, Weight, annotate, call_flame, compare, flame, fold,
    function_samples, instructions, offered_weights, sample_report, sample_unit, sampled_functions, sampled_streams,
    sandwich, stack_chart,
};
pub use frame_names::frame_names;
pub use kept::KeptViews;
pub use maps::{
    MAX_MAP_KEYS, MAX_MAP_LINES, MAX_MAP_PAGE, MAX_MAP_SNAPSHOTS, MapShape, Period, SideMap, SnapshotInfo, TableQuery,
    heat, histogram, map_against, map_flame, map_table, series, snapshots,
};
pub use measured::{KeyWish, MAX_COMPARED_STREAMS, MAX_KEY_STREAMS, MeasuredSide, compare_captures, key_numbers};
pub use memory::MemorySource;
pub use narrow::{Narrowed, Scope};
pub use needle::NameSearch;
pub use pivot::{
    Aggregate, MAX_PIVOT_BINS, MAX_PIVOT_GROUPS, MAX_PIVOT_KEYS, MAX_PIVOT_LINES, MAX_PIVOT_VALUES, PIVOT_SERIES,
    PivotQuery, groups_against, pivot,
};
pub use processes::{MAX_PROCESSES, process_tree};
pub use range::{
    MAX_RANGE_LINES, MAX_WAKEUP_THREADS, RangeQuery, SyscallGroup, SyscallQuery, range_amounts, range_counters,
    range_slices, range_threads, range_waits, range_wakeups, syscall_table, syscalls_against,
};
pub use rate::{MAX_BINS, RateQuery, rate};
pub use rows::{
    MAX_PAGE_ROWS, MAX_PAIR_KEYS, MAX_PAIR_VALUES, MAX_SORT_COLUMNS, MAX_SORTED_ROWS, MAX_TIME_MARKS, Order, RowCursor,
    RowPairs, RowView, RowsQuery, SeenRows, page, row_times,
};
pub use source::{Cancel, ChunkMeta, DrawnPageMap, Source, TimeRange, TrackPageMap};
pub use svg::{ColoursBy, SvgOptions, package_of, svg};
pub use timeline::{MAX_TIMELINE_WIDTH, MAX_TRACKS, TimelineQuery, timeline};
pub use tracks::{
    CriticalPathQuery, MAX_PATH_PARTS, MAX_TICK_CHUNKS, MAX_WINDOW_TRACKS, PathOf, TickQuery, TrackMomentQuery,
    TrackWindowQuery, critical_path, tick_moment, track_list, track_moment, track_window,
};
pub use unasked::UnaskedRows;
