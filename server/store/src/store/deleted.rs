//! Captures that can be restored.

use bathyscope_capture::CaptureId;

use super::{Store, StoreFuture};
use crate::{DeletedCapture, deleted};

impl Store {
    /// Deletes a capture of `time_unix_ns` in the name of `user`, so that it can be restored; where there is no room to keep it, for
    /// good, as [`Store::delete`] does. Says whether it can be restored.
    ///
    /// # Errors
    /// As [`Store::delete`].
    pub fn delete_restorably(&self, id: CaptureId, (time_unix_ns, user): (i64, String)) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let room = self.room();
            // One whose end waits for room is what takes it.
            if self.database.ends().has(id) || room.free_bytes < room.reserve_bytes {
                self.delete(id).await?;
                return Ok(false);
            }
            let hide = self
                .database
                .write(move |writer| Box::pin(async move { deleted::hide(writer, id, (time_unix_ns, &user)).await }));
            hide.await?;
            Ok(true)
        })
    }

    /// Deleted captures that can be restored, the one that was deleted first first.
    ///
    /// # Errors
    /// The database's.
    pub fn deleted(&self) -> StoreFuture<'_, Vec<DeletedCapture>> {
        Box::pin(async move { self.database.done(deleted::list(&mut *self.database.reader().await?).await) })
    }

    /// Shows a deleted capture again as it was; `false` if there is none of this id.
    ///
    /// # Errors
    /// The database's.
    pub fn restore(&self, id: CaptureId) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let restore = self.database.control(move |conn| Box::pin(async move { deleted::restore(conn, id).await }));
            let restored = restore.await?;
            self.database.wake_indexing();
            Ok(restored)
        })
    }

    /// Removes a deleted capture for good, as [`Store::delete`] does; `false` if there is none of this id.
    ///
    /// # Errors
    /// The database's.
    pub fn discard(&self, id: CaptureId) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let forget = self.database.control(move |conn| Box::pin(async move { deleted::forget(conn, id).await }));
            let is_there = forget.await?;
            if is_there {
                self.database.remove_marked(id).await?;
            }
            Ok(is_there)
        })
    }
}
