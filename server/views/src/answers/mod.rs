//! What views answer, as the browser gets it: every type of this crate that becomes JSON, and nothing else.
//!
//! A thing has one name wherever it is a field: `start`, `end` and `time` are moments in nanoseconds since the capture's start,
//! `type` is what the values of a column are, `total` how many there are where only some are sent, `left_out` how many a limit
//! kept away. What is not known is `null` or left out.

mod against;
mod calls;
mod comparison;
mod counts;
mod critical_path;
mod distribution;
mod facets;
mod find;
mod flame;
mod flows;
mod maps;
mod pivot;
mod processes;
mod ranges;
mod rates;
mod rows;
mod stack_chart;
mod syscalls;
mod timeline;
mod tracks;

pub use against::{
    AgainstHistogram, AgainstKey, AgainstKind, AgainstLine, AgainstMeasure, AgainstSide, AgainstTable, AgainstValue,
    HeatPair, OnlySide,
};
pub use calls::{
    CallBoxes, CallChart, CallLine, CallPage, CallPlace, CallState, CallStep, CallThread, FoundCall, FunctionRow,
    FunctionsPage, IrqShare, Lane, Lanes,
};
pub use comparison::{
    CaptureComparison, ComparedColumn, ComparedName, ComparedNumber, ComparedStream, ComparedStreamSide,
    DifferenceVerdict, KeyNumber, KeyWhat, MeasuredNumber,
};
pub use counts::{CountLine, CountView, Counted, Derived, ValueRange};
pub use critical_path::{
    CriticalPath, PathGap, PathKind, PathPart, PathRecorded, PathShare, PathStop, PathSum, PathThread, PathWait,
    PathWaited,
};
pub use distribution::{
    Distribution, DistributionGroup, HeatCells, HeatMap, Scatter, ShownValues, Utilisation, UtilisedKey,
};
pub use facets::{Facet, FacetBar, FacetValue, Facets};
pub use find::{FoundHit, FoundInStream, FoundOnCpu, FoundOnTrack, FoundRows, FoundStep};
pub use flame::{
    Annotation, AppliedTransform, CodePlace, CodeRow, ComparedFunction, Cut, FlameDifference, FlameGraph, Flow,
    GroupBy, LeftOutRows, NodeId, NodeKind, Nodes, Normalised, OfferedWeight, ParseNodeIdError, ParsePlaceError,
    PlaceLine, SampleUnit, SampledFunction, SampledFunctions, Sandwich, ShownCode, SourceLine,
};
pub use flows::{FlowKind, FlowWay, ThreadCall, TrackFlow, TrackFlows};
pub use maps::{
    At, Bucket, HeatColumn, HeatView, HistogramView, KeyId, KeyTotal, MapKind, MapTable, ParseKeyIdError, SeriesLine,
    SeriesView, Unit,
};
pub use pivot::{Pivot, PivotColumn, PivotLine, PivotSeries};
pub use processes::{ProcessLife, ProcessTree};
pub use ranges::{
    RangeAmount, RangeAmounts, RangeCounter, RangeCounters, RangeDurations, RangeRest, RangeSlice, RangeSlices,
    RangeState, RangeThread, RangeThreads, RangeWait, RangeWaits, RangeWaker, RangeWakeups, SlicedStream, WakeThread,
};
pub use rates::{Rate, RateLoss, StreamRate};
pub use rows::{ColumnHead, RowTimes, RowsPage};
pub use stack_chart::{StackBoxes, StackChart, StackLane};
pub use syscalls::{SyscallError, SyscallLine, SyscallObject, SyscallTable, SyscallTimes};
pub use timeline::{CounterValues, Group, TIMELINE_MAGIC, Timeline, Track, TrackBins};
pub use tracks::{
    BinnedList, CounterTrack, NameTime, ParseTrackIdError, RowFields, RowStack, ShownPiece, ShownTrack,
    TRACK_WINDOW_MAGIC, TrackId, TrackLabel, TrackLine, TrackList, TrackMoment, TrackOf, TrackRowLine, TrackStream,
    TrackWindow, TrackedRow,
};
