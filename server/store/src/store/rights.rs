//! Who may read and change which captures, and the captures that somebody sees.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use bathyscope_capture::{CaptureId, SeriesId};

use super::{Store, StoreChange, StoreFuture};
use crate::{
    CaptureRecord, CaptureRight, GivenRight, LoginGroups, RightsObject, RunPlace, SeriesRun, SeriesSummary, Sight,
    SummaryPage, SummaryQuery, labels, listing, rights, runs,
};

/// What somebody sees of a store. Captures that they do not see are not there: nothing here tells them from those that there are not.
#[derive(Clone, Copy, Debug)]
pub struct SeenStore<'a> {
    store: &'a Store,
    sight: &'a Sight,
}

impl<'a> SeenStore<'a> {
    /// As [`Store::summaries`].
    ///
    /// # Errors
    /// The database's.
    pub fn summaries(self, query: &'a SummaryQuery) -> StoreFuture<'a, SummaryPage> {
        let Self { store, sight } = self;
        Box::pin(async move {
            let mut reader = store.database.reader().await?;
            let found = listing::summaries(&mut reader, (query, sight), store.database.ends()).await;
            store.database.done(found)
        })
    }

    /// As [`Store::capture`].
    ///
    /// # Errors
    /// [`crate::StoreError::NoCapture`], or the database's.
    pub fn capture(self, id: CaptureId) -> StoreFuture<'a, CaptureRecord> {
        Box::pin(async move {
            self.right(id).await?;
            self.store.capture(id).await
        })
    }

    /// What may be done with a capture, shown or deleted.
    ///
    /// # Errors
    /// [`crate::StoreError::NoCapture`], or the database's.
    pub fn right(self, id: CaptureId) -> StoreFuture<'a, CaptureRight> {
        let Self { store, sight } = self;
        Box::pin(async move {
            let right = rights::of_sight(&mut *store.database.reader().await?, id, sight).await;
            store.database.done(right)
        })
    }

    /// The captures that are there and not seen: for lists that are not made here.
    ///
    /// # Errors
    /// The database's.
    pub fn unseen(self) -> StoreFuture<'a, BTreeSet<CaptureId>> {
        let Self { store, sight } = self;
        Box::pin(async move {
            let unseen = rights::unseen(&mut *store.database.reader().await?, sight).await;
            store.database.done(unseen)
        })
    }

    /// As [`Store::tags`].
    ///
    /// # Errors
    /// The database's.
    pub fn tags(self) -> StoreFuture<'a, BTreeMap<String, u64>> {
        let Self { store, sight } = self;
        Box::pin(async move { store.database.done(labels::tags(&mut *store.database.reader().await?, sight).await) })
    }

    /// As [`Store::series_runs`].
    ///
    /// # Errors
    /// The database's.
    pub fn series_runs(self, series: SeriesId) -> StoreFuture<'a, Vec<SeriesRun>> {
        let Self { store, sight } = self;
        Box::pin(async move {
            let found = runs::of_series(&mut *store.database.reader().await?, series, sight).await;
            store.database.done(found)
        })
    }

    /// As [`Store::run_places`].
    ///
    /// # Errors
    /// The database's.
    pub fn run_places(self, ids: Vec<CaptureId>) -> StoreFuture<'a, HashMap<CaptureId, RunPlace>> {
        let Self { store, sight } = self;
        Box::pin(async move {
            let found = runs::places(&mut *store.database.reader().await?, &ids, sight).await;
            store.database.done(found)
        })
    }

    /// The series of each of these captures that is a run, with how many of its runs are seen: at most 20 are counted.
    ///
    /// # Errors
    /// The database's.
    pub fn run_counts(self, ids: Vec<CaptureId>) -> StoreFuture<'a, HashMap<CaptureId, (SeriesId, u64)>> {
        let Self { store, sight } = self;
        Box::pin(async move {
            let found = runs::run_counts(&mut *store.database.reader().await?, &ids, sight).await;
            store.database.done(found)
        })
    }

    /// As [`Store::series`].
    ///
    /// # Errors
    /// The database's.
    pub fn series(self) -> StoreFuture<'a, Vec<SeriesSummary>> {
        let Self { store, sight } = self;
        Box::pin(async move {
            let found = runs::summaries(&mut *store.database.reader().await?, sight).await;
            store.database.done(found)
        })
    }
}

impl Store {
    /// What somebody sees who is no admin, by the name that they are logged in by.
    ///
    /// # Errors
    /// The database's.
    pub fn sight<'a>(&'a self, user: &'a str) -> StoreFuture<'a, Sight> {
        self.sight_in(user, None)
    }

    /// As [`Store::sight`], of somebody who is in these groups elsewhere.
    ///
    /// # Errors
    /// The database's.
    pub fn sight_in<'a>(&'a self, user: &'a str, groups: Option<&'a LoginGroups>) -> StoreFuture<'a, Sight> {
        Box::pin(async move {
            let found = rights::sight(&mut *self.database.reader().await?, user, groups).await;
            self.database.done(found)
        })
    }

    /// The captures as somebody sees them.
    pub const fn seen_by<'a>(&'a self, sight: &'a Sight) -> SeenStore<'a> {
        SeenStore { store: self, sight }
    }

    /// Who may read and change a capture by its own list; none if it has none. Its owner and admins are in no list.
    ///
    /// # Errors
    /// The database's.
    pub fn capture_rights(&self, id: CaptureId) -> StoreFuture<'_, Option<Vec<GivenRight>>> {
        Box::pin(async move { self.database.done(rights::of_capture(&mut *self.database.reader().await?, id).await) })
    }

    /// The lists of all tags that have one.
    ///
    /// # Errors
    /// The database's.
    pub fn tag_rights(&self) -> StoreFuture<'_, BTreeMap<String, Vec<GivenRight>>> {
        Box::pin(async move { self.database.done(rights::of_tags(&mut *self.database.reader().await?).await) })
    }

    /// Says who may read and change a capture, or what has a tag, beside owners and admins; with none, everybody may read it again.
    ///
    /// # Errors
    /// [`crate::StoreError::NoCapture`], [`crate::StoreError::Refused`] for what is too much or names nobody, or the database's.
    pub fn set_rights(&self, object: RightsObject, given: Option<Vec<GivenRight>>) -> StoreFuture<'_, ()> {
        self.changing_rights(move |conn| Box::pin(async move { rights::set(conn, &object, given.as_deref()).await }))
    }

    /// All groups of people.
    ///
    /// # Errors
    /// The database's.
    pub fn groups(&self) -> StoreFuture<'_, BTreeMap<String, Vec<String>>> {
        Box::pin(async move { self.database.done(rights::groups(&mut *self.database.reader().await?).await) })
    }

    /// Makes a group of these people, or makes it one of these and nobody else.
    ///
    /// # Errors
    /// [`crate::StoreError::Refused`] for what is too much or no name, or the database's.
    pub fn set_group(&self, name: String, people: Vec<String>) -> StoreFuture<'_, ()> {
        self.changing_rights(move |conn| Box::pin(async move { rights::set_group(conn, &name, &people).await }))
    }

    /// Removes a group and what was given to it; `false` if there is none of this name.
    ///
    /// # Errors
    /// The database's.
    pub fn remove_group(&self, name: String) -> StoreFuture<'_, bool> {
        self.changing_rights(move |conn| Box::pin(async move { rights::remove_group(conn, &name).await }))
    }

    fn changing_rights<T: Send + 'static>(
        &self,
        change: impl for<'c> FnOnce(&'c mut sqlx::SqliteConnection) -> crate::database::Change<'c, T> + Send + 'static,
    ) -> StoreFuture<'_, T> {
        Box::pin(async move {
            let done = self.database.control(change).await?;
            self.tell(StoreChange::Rights);
            Ok(done)
        })
    }
}
