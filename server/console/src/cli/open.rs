//! Opening the database at a terminal, beside a running console or instead of it.

use std::path::Path;

use bathyscope_store::{Options, Store, StoreError};
use rustix::process::{Gid, Uid};

use crate::{Failure, config::DataArgs};

/// Runs `work` with the database, for reading. A console may run on it meanwhile.
///
/// # Errors
/// If there is no database, or `work` fails.
pub(crate) fn reading<T>(
    data: &DataArgs,
    work: impl AsyncFnOnce(Store) -> Result<T, StoreError>,
) -> Result<T, Failure> {
    let dir = data.directory()?;
    become_owner(&dir)?;
    super::runtime()?.block_on(async {
        let opened = match Store::open(&dir, Options { now: crate::recorder::boot_time(), ..Options::default() }).await
        {
            Err(StoreError::InUse { .. }) => Store::open_read_only(&dir).await,
            opened => opened,
        };
        finish(opened, work).await
    })
}

/// Runs `work` with the database for itself.
///
/// # Errors
/// If there is no database, a console has it open, or `work` fails.
pub(crate) fn writing<T>(
    data: &DataArgs,
    work: impl AsyncFnOnce(Store) -> Result<T, StoreError>,
) -> Result<T, Failure> {
    let dir = data.directory()?;
    become_owner(&dir)?;
    super::runtime()?.block_on(async {
        finish(Store::open(&dir, Options { now: crate::recorder::boot_time(), ..Options::default() }).await, work).await
    })
}

async fn finish<T>(
    opened: Result<Store, StoreError>,
    work: impl AsyncFnOnce(Store) -> Result<T, StoreError>,
) -> Result<T, Failure> {
    let store = opened.map_err(|error| {
        let is_in_use = matches!(error, StoreError::InUse { .. });
        let failure = Failure::because("opening the database", error);
        let remedy = "A console runs on it: do this in the browser, or stop the console first.";
        if is_in_use { failure.remedy(remedy) } else { failure }
    })?;
    let done = work(store.clone()).await;
    store.close().await;
    done.map_err(|error| Failure::because("using the database", error))
}

/// Root becomes the directory's owner, before any thread exists, so that the files that are made there do not lock the
/// console out.
fn become_owner(dir: &Path) -> Result<(), Failure> {
    use std::os::unix::fs::MetadataExt as _;

    if !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    // What is wrong with the directory is said better by the store.
    let Ok(metadata) = std::fs::metadata(dir) else { return Ok(()) };
    if metadata.uid() == 0 {
        return Ok(());
    }
    let (uid, gid) = (Uid::from_raw(metadata.uid()), Gid::from_raw(metadata.gid()));
    let became = rustix::thread::set_thread_groups(&[])
        .and_then(|()| rustix::thread::set_thread_res_gid(gid, gid, gid))
        .and_then(|()| rustix::thread::set_thread_res_uid(uid, uid, uid));
    became.map_err(|error| Failure::because(format!("becoming the owner of {}", dir.display()), error))
}
