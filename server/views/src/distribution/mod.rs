//! How the values of a column are spread: histograms with percentiles, heat maps over time, offsets within a period, how busy CPUs
//! and devices were, and single rows.
//!
//! All go through the rows of a range that satisfy a filter, chunk by chunk, and keep counts only, so what they hold is bounded and
//! counts are exact. Where buckets of equal width are wanted, the least and the greatest value are looked for first; the extremes
//! that chunks tell are enough where all rows of them count. Heat maps look at a bounded number of rows and say where to go on, as
//! looking for rows does, so that a large capture is drawn in parts. What is not in a bucket is counted by the reason.

mod cells;
mod groups;
mod heat;
mod heat_pair;
mod histogram;
mod scale;
mod scatter;
mod utilisation;
mod values;

pub(crate) use groups::group_value;
pub use heat::{HEAT_ROWS, HeatAxis, HeatQuery, MAX_HEAT_COLUMNS, heat_map};
pub use heat_pair::heat_pair;
pub use histogram::{DistributionQuery, MAX_GROUPS, distribution};
pub use scale::{MAX_LINEAR_BUCKETS, MAX_LOG_BITS, ValueScale};
pub use scatter::{MAX_SCATTERED, ScatterQuery, scatter};
pub use utilisation::{MAX_UTILISED, UtilisationQuery, utilisation};
pub(crate) use values::{ChunkValues, ValueColumn, main_column};

use bathyscope_capture::ShownCell;

/// Which values count: from the first on, until before the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ValueLimits {
    /// The least value; none for any.
    pub low: Option<i128>,
    /// The first value that is too great; none for any.
    pub high: Option<i128>,
}

fn shown(value: i128) -> ShownCell {
    ShownCell::Number(value)
}
