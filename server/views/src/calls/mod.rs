//! Calls of functions, as `function_graph` records them: put together as trees, ranked by function, drawn over time, and
//! folded.
//!
//! A row is a call that ended, in the order of ends. [`CallForest::build`] nests rows by their depth, thread by thread; what
//! was lost is not made up: a call whose caller was not recorded is a root, one that lacks an end says so.

mod against;
mod chart;
mod choice;
mod find;
mod forest;
mod functions;
mod irqs;
mod overview;
mod tree;

pub use against::{MAX_CALL_LEVELS, SideCalls, calls_against};
pub use chart::{ChartQuery, MAX_CHART_BOXES, MAX_CHART_LANES, call_chart};
pub use choice::{CallChoice, CallQuery};
pub use find::{MAX_PLACES, find_call, places};
pub use forest::{CallForest, MAX_CALLS, calls_stream};
pub(crate) use forest::{NONE, Record};
pub use functions::{FunctionRank, FunctionsQuery, MAX_FUNCTION_PAGE, Part, rank_functions};
pub use overview::{call_overview, needs_overview};
pub use tree::{MAX_CALL_LINES, MAX_CALL_PAGE, all_call_lines, call_lines, call_page};
pub(crate) use tree::{comm_of, function_of};
