//! What people keep by name.

use super::{Store, StoreFuture};
use crate::{LibraryChange, LibraryEntry, LibraryItem, LibraryKind, LibraryVersion, NewLibraryItem, library};

impl Store {
    /// Keeps something that is new; gives its id.
    ///
    /// # Errors
    /// [`crate::StoreError::LibraryNameTaken`] if its owner has one of the name, or it is to be shared and another one is,
    /// [`crate::StoreError::Refused`] if it is too large or there are too many, [`crate::StoreError::DiskFull`], or the
    /// database's.
    pub fn keep(&self, new: NewLibraryItem) -> StoreFuture<'_, u32> {
        Box::pin(async move {
            self.database.write(move |writer| Box::pin(async move { library::put(writer, &new).await })).await
        })
    }

    /// Changes something that is `owner`'s; gives it as it is now.
    ///
    /// # Errors
    /// [`crate::StoreError::NoLibraryItem`] if it is not there or not `owner`'s, [`crate::StoreError::LibraryChanged`] if
    /// another version was seen, or as [`Store::keep`].
    pub fn change_kept(&self, id: u32, owner: String, change: LibraryChange) -> StoreFuture<'_, LibraryEntry> {
        Box::pin(async move {
            self.database
                .write(move |writer| Box::pin(async move { library::change(writer, (id, &owner), change).await }))
                .await
        })
    }

    /// Deletes something that is `owner`'s; says whether there was one. It can be brought back for 30 days. Works on a full disk.
    ///
    /// # Errors
    /// The database's.
    pub fn delete_kept(&self, id: u32, owner: String, at_unix_ns: i64) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let delete = self
                .database
                .control(move |conn| Box::pin(async move { library::delete(conn, (id, &owner), at_unix_ns).await }));
            delete.await
        })
    }

    /// Brings back what was deleted and is `owner`'s.
    ///
    /// # Errors
    /// [`crate::StoreError::NoLibraryItem`] if it is not there any more, or as [`Store::keep`].
    pub fn undelete_kept(&self, id: u32, owner: String) -> StoreFuture<'_, LibraryEntry> {
        Box::pin(async move {
            self.database
                .write(move |writer| Box::pin(async move { library::undelete(writer, (id, &owner)).await }))
                .await
        })
    }

    /// What `reader` may read (their own, and what is shared), or everything if that is none, by kind and name. With `deleted`, what
    /// is deleted and theirs.
    ///
    /// # Errors
    /// The database's.
    pub fn kept<'a>(
        &'a self,
        reader: Option<&'a str>,
        kind: Option<LibraryKind>,
        deleted: bool,
    ) -> StoreFuture<'a, Vec<LibraryEntry>> {
        Box::pin(async move {
            let listed = library::list(&mut *self.database.reader().await?, (reader, kind, deleted)).await;
            self.database.done(listed)
        })
    }

    /// What of one kind `reader` may read, or everything if that is none, with the texts.
    ///
    /// # Errors
    /// The database's.
    pub fn kept_of<'a>(&'a self, reader: Option<&'a str>, kind: LibraryKind) -> StoreFuture<'a, Vec<LibraryItem>> {
        Box::pin(
            async move { self.database.done(library::items(&mut *self.database.reader().await?, reader, kind).await) },
        )
    }

    /// The one of this id, also a deleted one, no matter whose; none if there is none.
    ///
    /// # Errors
    /// The database's.
    pub fn kept_item(&self, id: u32) -> StoreFuture<'_, Option<LibraryItem>> {
        Box::pin(async move { self.database.done(library::one(&mut *self.database.reader().await?, id).await) })
    }

    /// The texts that something had, the last one first: at most the last 100.
    ///
    /// # Errors
    /// The database's.
    pub fn kept_versions(&self, id: u32) -> StoreFuture<'_, Vec<LibraryVersion>> {
        Box::pin(async move { self.database.done(library::versions(&mut *self.database.reader().await?, id).await) })
    }
}
