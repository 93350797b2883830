//! Stored captures as people read them: snapshots of a capture for views ([`CaptureView`]), the parameters of views as
//! addresses and options have them ([`ViewQuery`], [`CallsQuery`], [`TracksQuery`], [`FindParams`], [`DistributionParams`]), exports ([`export`]), and what scripts have printed
//! ([`script_view`]). What a share does not tell is removed here ([`Removal`]).
//!
//! Constraints: what is computed is in `views`, what is stored in `store`; here it is loaded, kept for a while within limits, and
//! put together. A snapshot is of the last stored chunk, whether the capture still runs or not. Work on a snapshot waits for the
//! database: it belongs on a thread that may wait. It must not know HTTP, SQL, or how captures are made.

#![forbid(unsafe_code)]

mod against_query;
mod asked;
mod call_forests;
mod calls_query;
mod compare_query;
mod comparison;
mod critical_path_query;
mod decoded;
mod dictionaries;
mod distribution_query;
pub mod export;
mod facets_query;
mod find_query;
mod kept_parts;
mod names;
mod pivot_query;
mod removal;
mod replay;
pub mod script_view;
mod syscalls_query;
mod tracks_query;
mod view_query;
mod view_source;

pub use against_query::AgainstParams;
pub use calls_query::{CallsQuery, WirePart, WireRank};
pub use compare_query::CompareParams;
pub use comparison::{
    ComparedCapture, ComparedCaptures, ComparedFact, ComparedFunctions, ComparedLoss, capture_key_numbers,
    compared_captures,
};
pub use critical_path_query::PathQuery;
pub use distribution_query::{DistributionParams, ScaleName};
pub use facets_query::FacetsParams;
pub use find_query::FindParams;
pub use pivot_query::PivotParams;
pub use removal::{ParseRemovedKindError, REMOVAL_KEY_BYTES, Removal, RemovedKind};
pub use syscalls_query::SyscallParams;
pub use tracks_query::{InstantQuery, TracksQuery};
pub use view_query::{FirstLevel, SortOrder, TrackGroup, ViewQuery, WireLanes};
pub use view_source::{CaptureCache, CaptureView};
