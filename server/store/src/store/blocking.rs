//! Reads for threads that may wait.

use tokio::runtime::Handle;

use super::{Store, StoreFuture};
use crate::StoreError;

/// A store for threads that may wait, such as those that make views: what was asked for is read when the call returns.
#[derive(Clone, Debug)]
pub struct BlockingStore {
    store: Store,
    runtime: Handle,
}

impl Store {
    /// The same store for threads that may wait.
    ///
    /// # Panics
    /// Outside of the runtime.
    pub fn blocking(&self) -> BlockingStore {
        BlockingStore { store: self.clone(), runtime: Handle::current() }
    }
}

impl BlockingStore {
    /// Waits for what `ask` reads. Never to be called on a thread of the runtime.
    ///
    /// # Errors
    /// Those of what was asked.
    pub fn read<T>(&self, ask: impl FnOnce(&Store) -> StoreFuture<'_, T>) -> Result<T, StoreError> {
        self.runtime.block_on(ask(&self.store))
    }
}
