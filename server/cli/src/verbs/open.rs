//! Opening the database at a terminal, beside a running console or instead of it.

use std::{io::ErrorKind, path::Path};

use bathyscope_store::{Options, Store, StoreError};
use rustix::process::{Gid, Uid};

use crate::{
    Failure,
    config::DataArgs,
    launch::{DATABASE, Workplace},
};

/// Runs `work` with the database, for reading. A console may run on it meanwhile.
///
/// # Errors
/// If there is no database, or `work` fails.
pub(crate) fn reading<T>(
    data: &DataArgs,
    work: impl AsyncFnOnce(Store) -> Result<T, StoreError>,
) -> Result<T, Failure> {
    let dir = data.directory()?;
    has_database(&dir)?;
    Owner::of(&dir).become_it(&dir)?;
    super::runtime()?.block_on(async { finish(for_reading(&dir).await, work).await })
}

/// Goes on only where there is a database: what is read or changed is in none that would be made for it. Whoever may not look is told
/// so when it is opened.
///
/// # Errors
/// If there is none.
pub(crate) fn has_database(dir: &Path) -> Result<(), Failure> {
    match dir.join(DATABASE).symlink_metadata() {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            let failure = Failure::new(format!("there is no database in {}", dir.display()));
            Err(failure.remedy(
                "Name the directory with --data. `bathyscope serve` makes one, and so does `bathyscope record`.",
            ))
        }
        _ => Ok(()),
    }
}

/// Opens the database in `dir`, for reading only where another process has it open.
///
/// # Errors
/// As [`Store::open`] and [`Store::open_read_only`].
pub(crate) async fn for_reading(dir: &Path) -> Result<Store, StoreError> {
    match Store::open(dir, Options { now: bathyscope_recorder::boot_time(), ..Options::default() }).await {
        Err(StoreError::InUse { .. }) => Store::open_read_only(dir).await,
        opened => opened,
    }
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
    has_database(&dir)?;
    writing_as(Owner::of(&dir), &dir, work)
}

/// Runs `work` with the database in `dir` for itself, as its `owner`.
///
/// # Errors
/// As [`writing`].
pub(crate) fn writing_as<T>(
    owner: Owner,
    dir: &Path,
    work: impl AsyncFnOnce(Store) -> Result<T, StoreError>,
) -> Result<T, Failure> {
    owner.become_it(dir)?;
    super::runtime()?.block_on(async {
        finish(Store::open(dir, Options { now: bathyscope_recorder::boot_time(), ..Options::default() }).await, work)
            .await
    })
}

/// Runs `work` with the database of `place` for itself, without the rights of this process, as the user who owns the place.
///
/// # Errors
/// If a right remains, the database cannot be opened, or `work` fails.
pub(crate) fn changing<T>(
    place: &Workplace,
    work: impl AsyncFnOnce(&Store) -> Result<T, Failure>,
) -> Result<T, Failure> {
    place.give_up_rights()?;
    super::runtime()?.block_on(async {
        let options = Options { now: bathyscope_recorder::boot_time(), ..Options::default() };
        let store = Store::open(place.directory(), options).await;
        let store = store.map_err(|error| Failure::because("opening the database", error))?;
        let done = work(&store).await;
        store.close().await;
        done
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

/// Whom root becomes to use a directory: its owner, so that the files that are made there do not lock the console out. None
/// for whoever is not root, or root's own directory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Owner(Option<(u32, u32)>);

impl Owner {
    /// The owner of `dir`. What is wrong with the directory is said better by the store.
    pub(crate) fn of(dir: &Path) -> Self {
        use std::os::unix::fs::MetadataExt as _;

        let metadata = std::fs::metadata(dir).ok().filter(|_| rustix::process::geteuid().is_root());
        Self(metadata.map(|of_dir| (of_dir.uid(), of_dir.gid())).filter(|(uid, _)| *uid != 0))
    }

    /// User and group, if this process has to become somebody.
    pub(crate) const fn ids(self) -> Option<(u32, u32)> {
        self.0
    }

    /// Becomes the owner of `dir`, before any thread exists.
    fn become_it(self, dir: &Path) -> Result<(), Failure> {
        let Some((uid, gid)) = self.0 else { return Ok(()) };
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        let became = rustix::thread::set_thread_groups(&[])
            .and_then(|()| rustix::thread::set_thread_res_gid(gid, gid, gid))
            .and_then(|()| rustix::thread::set_thread_res_uid(uid, uid, uid));
        became.map_err(|error| Failure::because(format!("becoming the owner of {}", dir.display()), error))
    }
}
