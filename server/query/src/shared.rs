//! What all parts of one query share.

use std::sync::{
    Arc, Mutex, OnceLock, PoisonError,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use bathyscope_capture::Batch;
use bathyscope_views::{Cancel, ViewError};

use crate::{
    capture::Capture,
    index::TextIndex,
    members::Members,
    names::{self, TableInfo},
    stacks::StackRows,
};

/// Why a query was stopped.
#[derive(Debug)]
pub(crate) enum Stop {
    /// Nobody waits for it.
    Cancelled,
    /// It took too long.
    Time,
    /// It needed too much memory.
    Memory,
    /// The authorizer did not let it do something.
    Refused(String),
    /// A chunk could not be read.
    View(ViewError),
    /// The query cannot run in this way ([`RowMode`]): there are too many groups, or columns are not numbers.
    OtherMode,
}

/// What a row of a table is while a query runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowMode {
    /// All rows of a chunk or a group, which aggregates add up ([`crate::pushdown`]).
    Summed,
    /// A row; those come together that `group by` wants together.
    Grouped,
    /// A row.
    Single,
}

pub(crate) struct Shared {
    pub(crate) capture: Capture,
    pub(crate) tables: Vec<TableInfo>,
    stacks: OnceLock<StackRows>,
    pub(crate) cancel: Arc<Cancel>,
    pub(crate) mode: RowMode,
    /// What the present row stands for, if it is one for many.
    pub(crate) members: Mutex<Members>,
    pub(crate) stop: Mutex<Option<Stop>>,
    /// Rows that were looked at.
    pub(crate) rows: AtomicU64,
    /// Chunks that were decoded, and those that were passed over by their extremes.
    pub(crate) decoded: AtomicU64,
    pub(crate) skipped: AtomicU64,
    /// Bytes that functions and groups hold outside of SQLite.
    pub(crate) held: AtomicU64,
    pub(crate) stopped: AtomicBool,
    texts: OnceLock<TextIndex>,
}

impl Shared {
    pub(crate) fn new(capture: &Capture, cancel: Arc<Cancel>, mode: RowMode) -> Self {
        Self {
            capture: capture.clone(),
            tables: names::tables_of(capture, capture.usual_stack_rows()),
            stacks: OnceLock::new(),
            cancel,
            mode,
            members: Mutex::default(),
            stop: Mutex::default(),
            rows: AtomicU64::default(),
            decoded: AtomicU64::default(),
            skipped: AtomicU64::default(),
            held: AtomicU64::default(),
            stopped: AtomicBool::default(),
            texts: OnceLock::new(),
        }
    }

    /// Keeps why the query stops; the first reason counts.
    pub(crate) fn stop(&self, why: Stop) {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why);
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Ends what a table does, for a reason that [`Shared::take_stop`] tells.
    pub(crate) fn fail(&self, why: Stop) -> rusqlite::Error {
        self.stop(why);
        rusqlite::Error::ModuleError("stopped".to_owned())
    }

    pub(crate) fn take_stop(&self) -> Option<Stop> {
        self.stop.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Where the frames of stacks are, read when it is first needed.
    pub(crate) fn stacks(&self) -> &StackRows {
        self.stacks.get_or_init(|| StackRows::new(self.capture.source.dictionaries()))
    }

    /// The ids of texts.
    pub(crate) fn texts(&self) -> &TextIndex {
        self.texts.get_or_init(|| TextIndex::new(self.capture.source.dictionaries()))
    }

    /// Ends the query if something that rows refer to could not be loaded.
    pub(crate) fn check(&self) -> rusqlite::Result<()> {
        self.capture.source.dictionaries().check().map_err(|error| self.fail(Stop::View(error)))
    }

    /// A decoded chunk with the columns in `wanted`.
    pub(crate) fn batch(&self, stream: u16, chunk: usize, wanted: &[usize]) -> rusqlite::Result<Arc<Batch>> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(self.fail(Stop::Cancelled));
        }
        self.check()?;
        self.decoded.fetch_add(1, Ordering::Relaxed);
        let batch = self.capture.source.batch(stream, chunk, wanted);
        batch.map_err(|error| self.fail(Stop::View(error)))
    }
}
