//! Pages that people write on what they look for.

use super::{Store, StoreChange, StoreFuture};
use crate::{BlockRecord, HeadChange, InvestigationId, InvestigationRecord, PageChange, investigations as pages};

impl Store {
    /// Keeps a new investigation with its blocks in their order.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] for what is too large or where there are too many, [`crate::StoreError::DiskFull`], or the
    /// database's.
    pub fn add_investigation(&self, new: InvestigationRecord, blocks: Vec<BlockRecord>) -> StoreFuture<'_, ()> {
        let id = new.id;
        Box::pin(async move {
            let put =
                self.database.write(move |writer| Box::pin(async move { pages::put(writer, &new, &blocks).await }));
            put.await?;
            self.tell(StoreChange::Investigation(id));
            Ok(())
        })
    }

    /// The investigations, or those that were deleted, each with how many blocks it has; the one that was changed last first.
    ///
    /// # Errors
    /// The database's.
    pub fn investigations(&self, deleted: bool) -> StoreFuture<'_, Vec<(InvestigationRecord, u64)>> {
        Box::pin(async move { self.database.done(pages::list(&mut *self.database.reader().await?, deleted).await) })
    }

    /// The investigation of this id with its blocks in order; none if there is none, deleted or not.
    ///
    /// # Errors
    /// The database's.
    pub fn investigation(
        &self,
        id: InvestigationId,
    ) -> StoreFuture<'_, Option<(InvestigationRecord, Vec<BlockRecord>)>> {
        Box::pin(async move {
            let mut reader = self.database.reader().await?;
            let Some(head) = self.database.done(pages::one(&mut reader, id).await)? else { return Ok(None) };
            let blocks = self.database.done(pages::blocks(&mut reader, id).await)?;
            Ok(Some((head, blocks)))
        })
    }

    /// Changes title, state or conclusion, if they still have the version that was seen; gives the head as it is now.
    ///
    /// # Errors
    /// [`crate::StoreError::InvestigationChanged`], [`crate::StoreError::NoInvestigation`], or as [`Store::add_investigation`].
    pub fn change_investigation(
        &self,
        id: InvestigationId,
        seen: u32,
        (change, by): (HeadChange, PageChange),
    ) -> StoreFuture<'_, InvestigationRecord> {
        Box::pin(async move {
            let change =
                self.database.control(move |conn| Box::pin(pages::change_head(conn, (id, seen), (change, by))));
            let changed = change.await?;
            self.tell(StoreChange::Investigation(id));
            Ok(changed)
        })
    }

    /// Deletes an investigation at this wall time, so that it can be restored for 30 days, or restores it; says whether it was not
    /// so already. Works on a full disk.
    ///
    /// # Errors
    /// The database's.
    pub fn delete_investigation(&self, id: InvestigationId, deleted_unix_ns: Option<i64>) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let delete = self.database.control(move |conn| Box::pin(pages::set_deleted(conn, id, deleted_unix_ns)));
            let done = delete.await?;
            self.tell(StoreChange::Investigation(id));
            Ok(done)
        })
    }

    /// Adds a block before another one, or at the end.
    ///
    /// # Errors
    /// [`crate::StoreError::NoInvestigation`], or as [`Store::add_investigation`].
    pub fn add_block(
        &self,
        id: InvestigationId,
        new: BlockRecord,
        before: Option<InvestigationId>,
    ) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let put = self
                .database
                .write(move |writer| Box::pin(async move { pages::add_block(writer, id, (&new, before)).await }));
            put.await?;
            self.tell(StoreChange::Investigation(id));
            Ok(())
        })
    }

    /// Changes what a block says, if it still has the version that was seen; gives it as it is now.
    ///
    /// # Errors
    /// [`crate::StoreError::InvestigationChanged`], [`crate::StoreError::NoInvestigation`] if investigation or block are gone, or as
    /// [`Store::add_investigation`].
    pub fn change_block(
        &self,
        id: InvestigationId,
        (block, seen): (InvestigationId, u32),
        (content, by): (String, PageChange),
    ) -> StoreFuture<'_, BlockRecord> {
        Box::pin(async move {
            let change = self
                .database
                .write(move |writer| Box::pin(pages::change_block(writer, id, (block, seen), (content, by))));
            let changed = change.await?;
            self.tell(StoreChange::Investigation(id));
            Ok(changed)
        })
    }

    /// Moves a block before another one, or to the end.
    ///
    /// # Errors
    /// As [`Store::change_block`].
    pub fn move_block(
        &self,
        id: InvestigationId,
        (block, before): (InvestigationId, Option<InvestigationId>),
        by: PageChange,
    ) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let done = self.database.control(move |conn| Box::pin(pages::move_block(conn, id, (block, before), by)));
            done.await?;
            self.tell(StoreChange::Investigation(id));
            Ok(())
        })
    }

    /// Deletes a block, so that it can be restored at its place for 30 days, or restores it; says whether it was not so already.
    ///
    /// # Errors
    /// [`crate::StoreError::NoInvestigation`], or the database's.
    pub fn delete_block(
        &self,
        id: InvestigationId,
        (block, is_deleted): (InvestigationId, bool),
        by: PageChange,
    ) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            let delete = self
                .database
                .control(move |conn| Box::pin(pages::set_block_deleted(conn, (id, block), is_deleted, by)));
            let done = delete.await?;
            self.tell(StoreChange::Investigation(id));
            Ok(done)
        })
    }
}
