//! Captures as runs of series, and marked moments.

use std::collections::HashMap;

use bathyscope_capture::{CaptureId, SeriesId};

use super::{Store, StoreFuture};
use crate::{MarkRecord, NewMark, PendingRun, RunNumbers, RunPlace, SeriesRun, SeriesSummary, Sight, marks, runs};

impl Store {
    /// Some captures that lack key numbers by this version of the rule, or of which it is not kept of which series they are; the
    /// newest first.
    ///
    /// # Errors
    /// The database's.
    pub fn pending_runs(&self, rule: u32) -> StoreFuture<'_, Vec<PendingRun>> {
        Box::pin(async move { self.database.done(runs::pending(&mut *self.database.reader().await?, rule).await) })
    }

    /// Keeps of which series a capture is, and its key numbers if they were computed. What is gone is left alone.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] if the numbers are too many, [`crate::StoreError::DiskFull`], or the database's.
    pub fn put_run(&self, id: CaptureId, series: SeriesId, numbers: Option<RunNumbers>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database
                .control(move |conn| Box::pin(async move { runs::put(conn, (id, series), numbers.as_ref()).await }))
                .await
        })
    }

    /// Keeps of which series a capture is that has just begun, and which one was run again by it.
    ///
    /// # Errors
    /// [`crate::StoreError::DiskFull`], or the database's.
    pub fn begin_run(&self, id: CaptureId, series: SeriesId, again_of: Option<CaptureId>) -> StoreFuture<'_, ()> {
        Box::pin(
            async move { self.database.control(move |conn| Box::pin(runs::begin(conn, (id, series), again_of))).await },
        )
    }

    /// Names the run with which later ones of a series are compared, or takes that back.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] if it is no run of the series, [`crate::StoreError::DiskFull`], or the database's.
    pub fn set_baseline(&self, series: SeriesId, baseline: Option<CaptureId>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(runs::set_baseline(conn, series, baseline))).await
        })
    }

    /// The runs of a series, the last first, at most 1000; none if there is no such series.
    ///
    /// # Errors
    /// The database's.
    pub fn series_runs(&self, series: SeriesId) -> StoreFuture<'_, Vec<SeriesRun>> {
        Box::pin(async move {
            self.database.done(runs::of_series(&mut *self.database.reader().await?, series, &Sight::ALL).await)
        })
    }

    /// Of which series captures are; those of which that is not known yet are left out.
    ///
    /// # Errors
    /// The database's.
    pub fn run_places(&self, ids: Vec<CaptureId>) -> StoreFuture<'_, HashMap<CaptureId, RunPlace>> {
        Box::pin(async move {
            self.database.done(runs::places(&mut *self.database.reader().await?, &ids, &Sight::ALL).await)
        })
    }

    /// Series with more than one run, the one with the last run first, at most 1000.
    ///
    /// # Errors
    /// The database's.
    pub fn series(&self) -> StoreFuture<'_, Vec<SeriesSummary>> {
        Box::pin(
            async move { self.database.done(runs::summaries(&mut *self.database.reader().await?, &Sight::ALL).await) },
        )
    }

    /// Keeps a marked moment; gives its number.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] for what is too long or where there are too many, [`crate::StoreError::DiskFull`], or the
    /// database's.
    pub fn add_mark(&self, new: NewMark) -> StoreFuture<'_, i64> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { marks::add(conn, &new).await })).await
        })
    }

    /// Marks from one moment until before another, in order of time.
    ///
    /// # Errors
    /// The database's.
    pub fn marks(&self, from_unix_ns: i64, until_unix_ns: i64) -> StoreFuture<'_, Vec<MarkRecord>> {
        Box::pin(async move {
            let range = (from_unix_ns, until_unix_ns);
            self.database.done(marks::list(&mut *self.database.reader().await?, range).await)
        })
    }

    /// The mark of this number; none if there is none.
    ///
    /// # Errors
    /// The database's.
    pub fn mark(&self, id: i64) -> StoreFuture<'_, Option<MarkRecord>> {
        Box::pin(async move { self.database.done(marks::one(&mut *self.database.reader().await?, id).await) })
    }

    /// Removes a mark; says whether there was one.
    ///
    /// # Errors
    /// The database's.
    pub fn remove_mark(&self, id: i64) -> StoreFuture<'_, bool> {
        Box::pin(async move { self.database.control(move |conn| Box::pin(marks::remove(conn, id))).await })
    }
}
