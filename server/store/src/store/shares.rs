//! Links for people without a login.

use super::{Store, StoreFuture};
use crate::{NewShare, SharePreview, ShareRecord, ShareUse, TokenHash, shares};

impl Store {
    /// Makes a link. Who makes one looks first whether [`Store::shares_are_allowed`].
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] if it is too large, lives too short or too long, or its owner has too many; or the
    /// database's.
    pub fn add_share(&self, new: NewShare) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { shares::add(conn, &new).await })).await
        })
    }

    /// The links of `owner`, or all, that have not expired; the one that was made last first.
    ///
    /// # Errors
    /// The database's.
    pub fn shares<'a>(&'a self, owner: Option<&'a str>, now_unix_ns: i64) -> StoreFuture<'a, Vec<ShareRecord>> {
        Box::pin(async move {
            let listed = shares::list(&mut *self.database.reader().await?, owner, now_unix_ns).await;
            self.database.done(listed)
        })
    }

    /// The link of this id and token; none if there is none, it has expired, or the token is another one: nobody can tell which.
    ///
    /// # Errors
    /// The database's.
    pub fn share(&self, id: u64, token: TokenHash, now_unix_ns: i64) -> StoreFuture<'_, Option<ShareRecord>> {
        Box::pin(async move {
            let found = shares::find(&mut *self.database.reader().await?, (id, token), now_unix_ns).await;
            self.database.done(found)
        })
    }

    /// What is shown of the link of this id to whoever knows the id; none if there is none, it has expired, or has no preview.
    ///
    /// # Errors
    /// The database's.
    pub fn share_preview(&self, id: u64, now_unix_ns: i64) -> StoreFuture<'_, Option<SharePreview>> {
        Box::pin(async move {
            let found = shares::preview(&mut *self.database.reader().await?, id, now_unix_ns).await;
            self.database.done(found)
        })
    }

    /// Writes that links were used.
    ///
    /// # Errors
    /// The database's.
    pub fn note_share_uses(&self, uses: Vec<ShareUse>) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { shares::note_uses(conn, &uses).await })).await
        })
    }

    /// Revokes a link if it is `owner`'s, or whosever it is if that is none; gives what it was. Works on a full disk.
    ///
    /// # Errors
    /// The database's.
    pub fn revoke_share(&self, id: u64, owner: Option<String>) -> StoreFuture<'_, Option<ShareRecord>> {
        Box::pin(async move {
            let revoke = self
                .database
                .control(move |conn| Box::pin(async move { shares::revoke(conn, id, owner.as_deref()).await }));
            revoke.await
        })
    }

    /// Removes links that have expired; gives what they were, for the audit log.
    ///
    /// # Errors
    /// The database's.
    pub fn purge_shares(&self, now_unix_ns: i64) -> StoreFuture<'_, Vec<ShareRecord>> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { shares::purge(conn, now_unix_ns).await })).await
        })
    }

    /// Whether links for people without a login may be made and used here. Nobody has said so in a new database.
    ///
    /// # Errors
    /// The database's.
    pub fn shares_are_allowed(&self) -> StoreFuture<'_, bool> {
        Box::pin(async move { self.database.done(shares::are_allowed(&mut *self.database.reader().await?).await) })
    }

    /// Allows links for people without a login, or takes that back. Those that there are stay, and show nothing meanwhile.
    ///
    /// # Errors
    /// The database's.
    pub fn allow_shares(&self, allowed: bool) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.database.control(move |conn| Box::pin(async move { shares::allow(conn, allowed).await })).await
        })
    }
}
