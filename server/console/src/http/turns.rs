//! Turns for queries, one for each user at a time: one person's slow queries wait for each other and for nobody else's.
//!
//! Whoever asks waits first among the own queries, then among the users, first come first served. So each user has at
//! most one query that runs or waits for a place, and places go round.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::error::{ApiError, ErrorKind};

/// Queries at a time, each of another user; each may take a CPU for long and much memory.
const PLACES: usize = 4;
/// How long a query waits for the own ones before it, and then for a place.
const PATIENCE: Duration = Duration::from_secs(20);

/// Who may ask when. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct QueryTurns {
    places: Arc<Semaphore>,
    users: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
    patience: Duration,
}

/// A user's turn, until it is dropped.
#[derive(Debug)]
pub(super) struct QueryTurn {
    _own: OwnedSemaphorePermit,
    _place: OwnedSemaphorePermit,
}

impl Default for QueryTurns {
    fn default() -> Self {
        Self::new(PLACES, PATIENCE)
    }
}

impl QueryTurns {
    fn new(places: usize, patience: Duration) -> Self {
        Self { places: Arc::new(Semaphore::new(places)), users: Arc::default(), patience }
    }

    /// Waits for the turn of `user`.
    ///
    /// # Errors
    /// If the own queries before it, or those of many others, take too long.
    pub(super) async fn take(&self, user: &str) -> Result<QueryTurn, ApiError> {
        let busy = |why: &str| {
            ApiError::new(ErrorKind::Busy, "waiting for a turn", why).remedy("End a query, or try again in a moment.")
        };
        let own = self.within(self.of(user), || busy("your queries before it still run")).await?;
        let places = Arc::clone(&self.places);
        let place = self.within(places, || busy("the queries of too many others run")).await?;
        Ok(QueryTurn { _own: own, _place: place })
    }

    async fn within(
        &self,
        turns: Arc<Semaphore>,
        late: impl Fn() -> ApiError,
    ) -> Result<OwnedSemaphorePermit, ApiError> {
        let turn = tokio::time::timeout(self.patience, turns.acquire_owned()).await;
        turn.map_err(|_elapsed| late())?.map_err(|_closed| late())
    }

    fn of(&self, user: &str) -> Arc<Semaphore> {
        let mut users = self.users.lock().unwrap_or_else(PoisonError::into_inner);
        // Those whom nobody waits for, and of whom nothing runs: a permit holds its semaphore.
        users.retain(|_name, turns| Arc::strong_count(turns) > 1);
        Arc::clone(users.entry(user.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(1))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn p75_one_users_queries_wait_for_each_other_and_for_nobody_elses() {
        let turns = QueryTurns::new(2, Duration::from_millis(100));
        let first = turns.take("mallory").await.unwrap();
        let waiting: Vec<_> = (0..8)
            .map(|_| {
                let turns = turns.clone();
                tokio::spawn(async move { turns.take("mallory").await.is_ok() })
            })
            .collect();
        for user in ["ada", "bob", "carol"] {
            turns.take(user).await.unwrap();
        }
        for waiting in waiting {
            assert!(!waiting.await.unwrap(), "her own first query still runs");
        }
        drop(first);
        turns.take("mallory").await.unwrap();
        turns.take("ada").await.unwrap();
        assert_eq!(turns.users.lock().unwrap().len(), 1, "who has gone is forgotten");
    }
}
