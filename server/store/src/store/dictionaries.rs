//! Pages of dictionaries, for views that need few of many entries.

use bathyscope_capture::{CaptureId, Frame, FrameId, Packed, Symbol};

use super::{Store, StoreFuture};
use crate::{DictionaryEnds, packed};

impl Store {
    /// The largest ids of a capture's dictionaries; 0 where there is no entry, or no such capture.
    ///
    /// # Errors
    /// The database's.
    pub fn dictionary_ends(&self, id: CaptureId) -> StoreFuture<'_, DictionaryEnds> {
        Box::pin(async move { self.database.done(packed::ends(&mut *self.database.reader().await?, id).await) })
    }

    /// The strings with ids from `first` to `last`.
    ///
    /// # Errors
    /// [`crate::StoreError::Damaged`] if they are not as they were stored, or the database's.
    pub fn string_page(&self, id: CaptureId, first: u32, last: u32) -> StoreFuture<'_, Packed<u8>> {
        Box::pin(async move {
            self.database.done(packed::strings(&mut *self.database.reader().await?, id, (first, last)).await)
        })
    }

    /// The stacks with ids from `first` to `last`.
    ///
    /// # Errors
    /// [`crate::StoreError::Damaged`] if they are not as they were stored, or the database's.
    pub fn stack_page(&self, id: CaptureId, first: u32, last: u32) -> StoreFuture<'_, Packed<FrameId>> {
        Box::pin(async move {
            self.database.done(packed::stacks(&mut *self.database.reader().await?, id, (first, last)).await)
        })
    }

    /// The frames with ids from `first` to `last`, in order of ids.
    ///
    /// # Errors
    /// [`crate::StoreError::Damaged`] if they are not as they were stored, or the database's.
    pub fn frame_page(&self, id: CaptureId, first: FrameId, last: FrameId) -> StoreFuture<'_, Vec<(FrameId, Frame)>> {
        Box::pin(async move {
            self.database.done(packed::frames(&mut *self.database.reader().await?, id, (first, last)).await)
        })
    }

    /// The symbols of frames with ids from `first` to `last`, in order of ids. Frames without a name are left out.
    ///
    /// # Errors
    /// [`crate::StoreError::Damaged`] if they are not as they were stored, or the database's.
    pub fn symbol_page(&self, id: CaptureId, first: FrameId, last: FrameId) -> StoreFuture<'_, Vec<(FrameId, Symbol)>> {
        Box::pin(async move {
            self.database.done(packed::symbols(&mut *self.database.reader().await?, id, (first, last)).await)
        })
    }
}
