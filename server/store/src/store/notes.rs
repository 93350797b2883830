//! Notes of people on captures.

use bathyscope_capture::{CaptureId, NoteContent, NoteId};

use super::{Store, StoreChange, StoreFuture};
use crate::{
    NoteChange, NoteRecord,
    notes::{self, ChangedNote},
};

impl Store {
    /// Writes a note on a capture.
    ///
    /// # Errors
    /// [`crate::StoreError::NoCapture`], [`crate::StoreError::NoNote`] if it answers none that there is,
    /// [`crate::StoreError::Refused`] for what cannot be kept or where there are too many, [`crate::StoreError::DiskFull`], or the
    /// database's.
    pub fn add_note(&self, id: CaptureId, note: NoteRecord) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.write(move |writer| Box::pin(async move { notes::add(writer, id, &note).await })).await?;
            self.tell(StoreChange::Notes(id));
            Ok(())
        })
    }

    /// Changes what a note says, if it still has the version that was seen; gives it as it is now.
    ///
    /// # Errors
    /// [`crate::StoreError::NoteChanged`] if it has another, [`crate::StoreError::NoNote`], or as [`Store::add_note`].
    pub fn change_note(
        &self,
        id: CaptureId,
        (note, version): (NoteId, u32),
        content: NoteContent,
        change: NoteChange,
    ) -> StoreFuture<'_, NoteRecord> {
        let changed = ChangedNote { id: note, version, content, change };
        Box::pin(async move {
            let changed = self.database.write(move |writer| Box::pin(notes::change(writer, id, changed))).await?;
            self.tell(StoreChange::Notes(id));
            Ok(changed)
        })
    }

    /// Resolves a note, or opens it again where `resolved` is none; gives it as it is now.
    ///
    /// # Errors
    /// [`crate::StoreError::NoNote`], [`crate::StoreError::Refused`] for an answer, or the database's.
    pub fn resolve_note(
        &self,
        id: CaptureId,
        note: NoteId,
        resolved: Option<NoteChange>,
    ) -> StoreFuture<'_, NoteRecord> {
        Box::pin(async move {
            let resolve = self.database.control(move |conn| Box::pin(notes::resolve(conn, id, (note, resolved))));
            let found = resolve.await?;
            self.tell(StoreChange::Notes(id));
            Ok(found)
        })
    }

    /// Removes a note with its answers; says whether there was one. Works on a full disk.
    ///
    /// # Errors
    /// [`crate::StoreError::NoCapture`], or the database's.
    pub fn remove_note(&self, id: CaptureId, note: NoteId) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let removed = self.database.control(move |conn| Box::pin(notes::remove(conn, id, note))).await?;
            self.tell(StoreChange::Notes(id));
            Ok(removed)
        })
    }

    /// The notes and answers of a capture as they are now, in order of their times; those without one first.
    ///
    /// # Errors
    /// [`crate::StoreError::NoCapture`], or the database's.
    pub fn notes(&self, id: CaptureId) -> StoreFuture<'_, Vec<NoteRecord>> {
        Box::pin(async move { self.database.done(notes::of_shown(&mut *self.database.reader().await?, id).await) })
    }

    /// The note of this id with all that it said before; none if there is none.
    ///
    /// # Errors
    /// [`crate::StoreError::NoCapture`], or the database's.
    pub fn note(&self, id: CaptureId, note: NoteId) -> StoreFuture<'_, Option<NoteRecord>> {
        Box::pin(async move { self.database.done(notes::whole(&mut *self.database.reader().await?, id, note).await) })
    }
}
