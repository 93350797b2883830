//! Captures as other tools' files: folded stacks, CSV, lines of JSON, and the texts of `perf script`
//! and `trace-cmd report`, and of ftrace's calls; and pictures of few colours as PNG.
//!
//! Writers stream: they hold one chunk of rows at a time and a bounded cache of stacks' names. Hostile names cannot break
//! out of a field: text goes through [`bathyscope_capture::visible`] first, so no control character is left, and each
//! module says what its format needs beyond that. Moments are nanoseconds since the capture's start.
//!
//! It must not know where the bytes go (HTTP, file) or how captures are stored. Give it a buffered output.
#![forbid(unsafe_code)]

mod csv;
mod folded;
mod graph_text;
mod ndjson;
mod perf_report;
mod perf_script;
mod png;
mod stacks;
mod sysdig;
mod trace_report;

pub use csv::{write_csv, write_csv_text};
pub use folded::write_folded;
pub use graph_text::{GraphEnd, write_graph_text};
pub use ndjson::write_ndjson;
pub use perf_report::{
    ChainShape, DiffText, ReportText, last_part, write_perf_diff, write_perf_report, write_report_json,
};
pub use perf_script::write_perf_script;
pub use png::IndexedPicture;
pub use sysdig::{
    CallFacts, CallFilter, Field as CallField, MAX_LINE_BYTES, PastedFilter, SysdigError, SysdigFilter,
    parse_pasted_filter, parse_sysdig_filter,
};
pub use trace_report::{MAX_REPORT_CALLS, Reported, duration_mark, write_report_note, write_trace_report};
