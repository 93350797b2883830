//! What people say of captures.

use std::collections::BTreeMap;

use bathyscope_capture::CaptureId;

use super::{Store, StoreFuture};
use crate::{CaptureLabels, LabelChange, Sight, labels};

impl Store {
    /// Adds and removes tags of a capture, or gives it another description; what is said of it now.
    ///
    /// # Errors
    /// [`crate::StoreError::NoCapture`], [`crate::StoreError::Refused`] for what is no tag or too much,
    /// [`crate::StoreError::DescriptionChanged`] if the description is not as it was seen, [`crate::StoreError::DiskFull`], or
    /// the database's.
    pub fn change_labels(&self, id: CaptureId, change: LabelChange) -> StoreFuture<'_, CaptureLabels> {
        Box::pin(async move { self.database.write(move |writer| Box::pin(labels::change(writer, id, change))).await })
    }

    /// What is said of a capture.
    ///
    /// # Errors
    /// [`crate::StoreError::NoCapture`], or the database's.
    pub fn labels(&self, id: CaptureId) -> StoreFuture<'_, CaptureLabels> {
        Box::pin(async move { self.database.done(labels::of_shown(&mut *self.database.reader().await?, id).await) })
    }

    /// How many captures have each tag.
    ///
    /// # Errors
    /// The database's.
    pub fn tags(&self) -> StoreFuture<'_, BTreeMap<String, u64>> {
        Box::pin(
            async move { self.database.done(labels::tags(&mut *self.database.reader().await?, &Sight::ALL).await) },
        )
    }
}
