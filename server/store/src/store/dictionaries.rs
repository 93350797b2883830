//! Pages of dictionaries, for views that need few of many entries.

use bathyscope_capture::{CaptureId, Frame, FrameId, Packed, Symbol};

use super::Store;
use crate::{DictionaryEnds, StoreError, packed};

impl Store {
    /// The largest ids of a capture's dictionaries; 0 where there is no entry, or no such capture.
    ///
    /// # Errors
    /// The database's.
    pub async fn dictionary_ends(&self, id: CaptureId) -> Result<DictionaryEnds, StoreError> {
        self.done(packed::ends(&mut *self.reader().await?, id).await)
    }

    /// The strings with ids from `first` to `last`.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if they are not as they were stored, or the database's.
    pub async fn string_page(&self, id: CaptureId, first: u32, last: u32) -> Result<Packed<u8>, StoreError> {
        self.done(packed::strings(&mut *self.reader().await?, id, (first, last)).await)
    }

    /// The stacks with ids from `first` to `last`.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if they are not as they were stored, or the database's.
    pub async fn stack_page(&self, id: CaptureId, first: u32, last: u32) -> Result<Packed<FrameId>, StoreError> {
        self.done(packed::stacks(&mut *self.reader().await?, id, (first, last)).await)
    }

    /// The frames with ids from `first` to `last`, in order of ids.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if they are not as they were stored, or the database's.
    pub async fn frame_page(
        &self,
        id: CaptureId,
        first: FrameId,
        last: FrameId,
    ) -> Result<Vec<(FrameId, Frame)>, StoreError> {
        self.done(packed::frames(&mut *self.reader().await?, id, (first, last)).await)
    }

    /// The symbols of frames with ids from `first` to `last`, in order of ids. Frames without a name are left out.
    ///
    /// # Errors
    /// [`StoreError::Damaged`] if they are not as they were stored, or the database's.
    pub async fn symbol_page(
        &self,
        id: CaptureId,
        first: FrameId,
        last: FrameId,
    ) -> Result<Vec<(FrameId, Symbol)>, StoreError> {
        self.done(packed::symbols(&mut *self.reader().await?, id, (first, last)).await)
    }
}
