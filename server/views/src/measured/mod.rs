//! Numbers of captures with how sure they are: two captures beside each other, and key numbers that are followed over many runs.
//!
//! Every number has a standard error by [`crate::chance`], and at least that of rows that are independent of each other and that of
//! the buckets which percentiles are told by (1 %). What was lost widens it by itself: a number is known to be between what it would
//! be if all lost rows were least and if all were greatest.

mod compare;
mod keys;
mod spread;
mod stream;

pub use compare::{MAX_COMPARED_STREAMS, MeasuredSide, compare_captures};
pub use keys::{KeyWish, MAX_KEY_STREAMS, key_numbers};
