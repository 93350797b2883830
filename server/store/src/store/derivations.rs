//! Streams that are computed from others.

use bathyscope_capture::{CaptureId, EncodedChunk, ProcessChange, StreamSchema, StringId};

use super::{Store, StoreFuture};
use crate::{DerivationRecord, DerivationState, TrackChanges, TrackPlace, derivations, read, tracks};

impl Store {
    /// Makes room for streams that are computed from others of a capture: `rule` says how, and tells them from others. If the
    /// capture has ended nobody sees them before [`Store::finish_derivation`]; if it is being recorded they follow it, and are
    /// seen. Rows that the rule gave before are removed first.
    ///
    /// # Errors
    /// [`crate::StoreError::NoCapture`], [`crate::StoreError::Refused`] if the rule's streams
    /// are there or being computed, or there are too many; [`crate::StoreError::DiskFull`]; or the database's.
    pub fn begin_derivation(
        &self,
        id: CaptureId,
        rule: String,
        schemas: Vec<StreamSchema>,
    ) -> StoreFuture<'_, DerivationRecord> {
        Box::pin(async move {
            let asked = rule.clone();
            let leftover = self
                .database
                .write(move |writer| Box::pin(async move { derivations::leftover(writer, id, &asked).await }));
            if let Some(record) = leftover.await? {
                self.database.clear_derived(id, record).await?;
            }
            let begun = self
                .database
                .write(move |writer| Box::pin(async move { derivations::begin(writer, id, (&rule, &schemas)).await }));
            begun.await
        })
    }

    /// Adds chunks to the streams of a rule, and what is new of their tracks, by their place among these.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] if the rule's streams were removed meanwhile, [`crate::StoreError::NoCapture`],
    /// [`crate::StoreError::DiskFull`], or the database's.
    pub fn append_derived(
        &self,
        id: CaptureId,
        number: u16,
        chunks: Vec<(u16, EncodedChunk)>,
        tracks: Vec<TrackChanges>,
    ) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let rows = (chunks, tracks);
            self.database.write(move |writer| Box::pin(derivations::append(writer, (id, number), rows))).await
        })
    }

    /// Stores tracks of a recorded stream of a capture that has ended.
    ///
    /// # Errors
    /// [`crate::StoreError::Recording`], [`crate::StoreError::NoCapture`], [`crate::StoreError::Refused`] for a stream that there
    /// is not, [`crate::StoreError::DiskFull`], or the database's.
    pub fn put_tracks(&self, id: CaptureId, changes: TrackChanges) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.write(move |writer| Box::pin(async move { tracks::store(writer, id, &changes).await })).await
        })
    }

    /// The directories of tracks by stream, for `bathyscope_capture::TrackDirectory::decode`; of streams that have none, nothing.
    ///
    /// # Errors
    /// The database's.
    pub fn track_directories(&self, id: CaptureId) -> StoreFuture<'_, Vec<(u16, Vec<u8>)>> {
        Box::pin(async move { self.database.done(tracks::directories(&mut *self.database.reader().await?, id).await) })
    }

    /// Pages of a stream's tracks by their places, for `bathyscope_capture::TrackPage::decode`; those that there are.
    ///
    /// # Errors
    /// The database's.
    pub fn track_pages(
        &self,
        id: CaptureId,
        stream: u16,
        places: Vec<TrackPlace>,
    ) -> StoreFuture<'_, Vec<(TrackPlace, Vec<u8>)>> {
        Box::pin(async move {
            self.database.done(tracks::pages(&mut *self.database.reader().await?, id, stream, &places).await)
        })
    }

    /// The process history, in the order in which it was appended, without its first `after` changes.
    ///
    /// # Errors
    /// The database's.
    pub fn processes_after(&self, id: CaptureId, after: u64) -> StoreFuture<'_, Vec<ProcessChange>> {
        Box::pin(async move {
            self.database.done(read::processes(&mut *self.database.reader().await?, id, after, read::ALL).await)
        })
    }

    /// The ids of texts in the strings of a capture that has ended, each new or known.
    ///
    /// # Errors
    /// [`crate::StoreError::Recording`], [`crate::StoreError::NoCapture`], [`crate::StoreError::Refused`] for what is too long, or
    /// the database's.
    pub fn derived_string_ids(&self, id: CaptureId, texts: Vec<Vec<u8>>) -> StoreFuture<'_, Vec<StringId>> {
        Box::pin(async move {
            self.database.write(move |writer| Box::pin(derivations::string_ids(writer, id, texts))).await
        })
    }

    /// Says that the rows of a rule's streams are all there: they are shown from now on. `counts` is what it could not tell.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] if they were removed meanwhile, [`crate::StoreError::Recording`],
    /// [`crate::StoreError::NoCapture`], or the database's.
    pub fn finish_derivation(&self, id: CaptureId, number: u16, counts: String) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let done = self
                .database
                .write(move |writer| Box::pin(async move { derivations::finish(writer, (id, number), &counts).await }));
            done.await
        })
    }

    /// Hides the streams of a rule at once, and removes their rows in short steps; with a failure if they could not be computed.
    /// What was recorded stays as it is.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] if there is no such rule, [`crate::StoreError::NoCapture`], or the database's.
    pub fn remove_derivation(&self, id: CaptureId, number: u16, failure: Option<String>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let hidden = self.database.write(move |writer| {
                Box::pin(async move { derivations::hide(writer, (id, number), failure.as_deref()).await })
            });
            let record = hidden.await?;
            self.database.clear_derived(id, record).await
        })
    }

    /// Rules that the last process was applying when it ended.
    ///
    /// # Errors
    /// The database's.
    pub fn interrupted_derivations(&self) -> StoreFuture<'_, Vec<(CaptureId, DerivationRecord)>> {
        Box::pin(async move {
            let unfinished = derivations::unfinished(&mut *self.database.reader().await?).await;
            let mut unfinished = self.database.done(unfinished)?;
            unfinished.retain(|(_, record)| record.state == DerivationState::Computing);
            Ok(unfinished)
        })
    }
}
