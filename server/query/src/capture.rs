//! A capture that can be queried.

use std::sync::Arc;

use bathyscope_capture::{ProcessChange, StreamTotals};
use bathyscope_views::Source;

/// A capture that can be queried: its source and what the source does not tell.
#[derive(Clone)]
pub struct Capture {
    /// Streams, chunks and dictionaries.
    pub source: Arc<dyn Source + Send + Sync>,
    /// The process history.
    pub processes: Arc<Vec<ProcessChange>>,
    /// The ledger's totals, one for each stream; those that are missing count as none.
    pub totals: Vec<StreamTotals>,
}

impl Capture {
    /// A capture of which only the source is known.
    pub fn new(source: Arc<dyn Source + Send + Sync>) -> Self {
        Self { source, processes: Arc::default(), totals: Vec::new() }
    }

    /// A guess of how many frames all stacks have together, for plans.
    pub(crate) fn usual_stack_rows(&self) -> usize {
        (self.source.dictionaries().last_stack() as usize).saturating_mul(USUAL_DEPTH)
    }
}

/// Frames of a usual stack.
const USUAL_DEPTH: usize = 16;
