//! What rules have in common.

use std::{fmt::Debug, sync::Arc};

use bathyscope_capture::{Batch, ProcessChange, StreamSchema, StringId};

use crate::DerivationCounts;

/// What a rule needs of the capture that it works on, and where its rows go.
pub trait DerivationHost {
    /// The id of a text in the capture's strings, new or known.
    fn string_id(&mut self, text: &[u8]) -> StringId;

    /// The text with this id; none if there is none. Rules remember what they asked for as far as that is little.
    fn string(&mut self, id: StringId) -> Option<Vec<u8>>;

    /// Takes rows of the rule's stream `output`, an index into [`Rule::streams`]: 1 to
    /// [`bathyscope_capture::MAX_CHUNK_ROWS`], in order of time. A later batch may have rows from before this one's last:
    /// rows come when they end, and their time is when they began.
    fn rows(&mut self, output: usize, rows: Batch);
}

/// A stream that a rule reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleInput {
    /// The stream, by its index in the capture.
    pub stream: u16,
    /// The columns that it reads, ascending; the others may be empty in batches.
    pub columns: Vec<usize>,
}

/// A rule by which streams are computed from others.
///
/// Batches of its inputs are pushed as they come, and [`Rule::advance`] says until when all have come. What is held in between
/// is bounded by [`crate::MAX_HELD_ROWS`]: beyond that the earliest rows are looked at, and what comes after them from before
/// is counted and left out.
pub trait Rule: Debug + Send {
    /// The streams that it gives, with what their rows are and what they are made from.
    fn streams(&self) -> &[StreamSchema];

    /// The streams that it reads.
    fn inputs(&self) -> Vec<RuleInput>;

    /// Takes rows of an input, in order of time. Rows of other streams are not looked at.
    fn push(&mut self, stream: u16, rows: Arc<Batch>, host: &mut dyn DerivationHost);

    /// Takes what happened to processes, in order of time and before the rows that come after it. For rules that know threads
    /// by it.
    fn learn(&mut self, _change: &ProcessChange) {}

    /// Says that events of its inputs were lost between these moments, monotonic nanoseconds, before rows of that time are
    /// looked at. Rows that lie over it are marked.
    fn add_loss(&mut self, start_ns: u64, end_ns: u64);

    /// Says that no more rows come from before this moment, monotonic nanoseconds: looks at all that there are.
    fn advance(&mut self, complete_ns: u64, host: &mut dyn DerivationHost);

    /// Gives all rows that are complete to the host, although they do not fill a batch.
    fn flush(&mut self, host: &mut dyn DerivationHost);

    /// Looks at all rows that are left, closes what is open at the capture's end, and gives all rows to the host.
    fn finish(&mut self, end_ns: u64, host: &mut dyn DerivationHost);

    /// What it met so far.
    fn counts(&self) -> DerivationCounts;
}
