//! The files of a store: where they are, who holds them, and how much room is left.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use crate::{Options, Reserve, Room, StoreError};

/// Only for the user who runs the console: captures hold what other people's processes did.
const MODE: u32 = 0o600;

/// The directory of a store and what is in it.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) dir: PathBuf,
    pub(crate) database: PathBuf,
    ballast: PathBuf,
    ballast_bytes: u64,
    reserve: Reserve,
    /// The files that were opened; none until then.
    opened: Mutex<Option<OpenedFiles>>,
}

/// Device and inode of a file.
type Identity = (u64, u64);

/// Which files the connections have open, whatever lies under their names later.
#[derive(Debug)]
struct OpenedFiles {
    database: Identity,
    /// The log, from when there is one.
    log: Option<Identity>,
}

impl Place {
    pub(crate) fn new(dir: &Path, options: &Options) -> Self {
        let total = rustix::fs::statvfs(dir).map_or(u64::MAX, |system| system.f_blocks.saturating_mul(system.f_frsize));
        Self {
            dir: dir.to_owned(),
            database: dir.join("bathyscope.db"),
            ballast: dir.join("bathyscope.ballast"),
            // On a small file system it would be most of it, and could never be taken again.
            ballast_bytes: options.ballast_bytes.min(total / 4),
            reserve: options.reserve,
            opened: Mutex::new(None),
        }
    }

    /// Notes which files are open now.
    pub(crate) fn note_opened(&self) {
        let database = identity(&self.database).ok().flatten();
        let opened = database.map(|database| OpenedFiles { database, log: identity(&self.log()).ok().flatten() });
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = opened;
    }

    /// Fails if the files that are open are not those that lie there: what is written goes nowhere then. What cannot be
    /// looked at is not taken for that.
    pub(crate) fn check_there(&self) -> Result<(), StoreError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(opened) = opened.as_mut() else { return Ok(()) };
        let gone = |path: &Path| StoreError::Gone { path: path.to_owned() };
        match identity(&self.database) {
            Ok(found) if found != Some(opened.database) => return Err(gone(&self.database)),
            _ => {}
        }
        let log = self.log();
        match (opened.log, identity(&log)) {
            (Some(known), Ok(found)) if found != Some(known) => Err(gone(&log)),
            (None, Ok(found)) => {
                opened.log = found;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn log(&self) -> PathBuf {
        PathBuf::from(format!("{}-wal", self.database.display()))
    }

    /// A file beside the database, for work that is not finished.
    pub(crate) fn temporary(&self, what: &str) -> PathBuf {
        self.dir.join(format!("{TEMPORARY}{what}"))
    }

    /// Removes what earlier processes of ours left unfinished. Only called under the lock.
    pub(crate) fn remove_leftovers(&self) {
        let Ok(entries) = fs::read_dir(&self.dir) else { return };
        for entry in entries.flatten() {
            let ours = entry.file_name().to_string_lossy().starts_with(TEMPORARY);
            if ours && let Err(error) = fs::remove_file(entry.path()) {
                tracing::warn!(path = %entry.path().display(), %error, "an unfinished file was left");
            }
        }
    }

    /// Free bytes for this user, and the bytes that appends leave free.
    pub(crate) fn space(&self) -> (u64, u64) {
        let Ok(system) = rustix::fs::statvfs(&self.dir) else { return (u64::MAX, 0) };
        let total = system.f_blocks.saturating_mul(system.f_frsize);
        let reserve = match self.reserve {
            Reserve::Share => (total / 20).min(1 << 30),
            Reserve::Bytes(bytes) => bytes,
        };
        (system.f_bavail.saturating_mul(system.f_frsize), reserve)
    }

    /// How much room there is.
    pub(crate) fn room(&self) -> Room {
        let log = self.log();
        let length = |path: &Path| fs::metadata(path).map_or(0, |file| file.len());
        let (free_bytes, reserve_bytes) = self.space();
        Room { database_bytes: length(&self.database) + length(&log), free_bytes, reserve_bytes }
    }

    /// Whether `bytes` more can be appended with the reserve and the ballast kept.
    pub(crate) fn has_room_for(&self, bytes: u64) -> Result<(), StoreError> {
        let (free_bytes, reserve) = self.space();
        let reserve_bytes = reserve.saturating_add(self.ballast_bytes.saturating_sub(self.ballast_held()));
        if free_bytes < reserve_bytes.saturating_add(bytes) {
            return Err(StoreError::DiskFull { free_bytes, reserve_bytes });
        }
        Ok(())
    }

    /// Whether room that should be set aside is not.
    pub(crate) fn lacks_ballast(&self) -> bool {
        self.ballast_held() < self.ballast_bytes
    }

    fn ballast_held(&self) -> u64 {
        fs::metadata(&self.ballast).map_or(0, |file| file.len())
    }

    /// Gives the ballast back to the disk; says whether there was any.
    pub(crate) fn drop_ballast(&self) -> bool {
        let held = self.ballast_held() > 0;
        held && File::options().write(true).open(&self.ballast).and_then(|file| file.set_len(0)).is_ok()
    }

    /// Takes ballast if there is none and enough room for it.
    pub(crate) fn take_ballast(&self) {
        if self.ballast_bytes == 0 || self.ballast_held() >= self.ballast_bytes {
            return;
        }
        let (free, reserve) = self.space();
        if free < reserve.saturating_add(self.ballast_bytes.saturating_mul(2)) {
            return;
        }
        if let Err(error) = self.fill_ballast() {
            // Only the comfort on a full disk is lost, so it is no reason not to work.
            tracing::warn!(path = %self.ballast.display(), %error, "no disk space could be reserved");
            self.drop_ballast();
        }
    }

    fn fill_ballast(&self) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(&self.ballast)?;
        let fallocate = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, self.ballast_bytes);
        if fallocate.is_err() {
            let zeros = [0; 1 << 16];
            let mut left = self.ballast_bytes;
            while left > 0 {
                let part = zeros.len().min(usize::try_from(left).unwrap_or(usize::MAX));
                file.write_all(zeros.get(..part).unwrap_or_default())?;
                left -= part as u64;
            }
        }
        Ok(())
    }
}

/// Device and inode of what lies at a path; none if nothing does.
fn identity(path: &Path) -> io::Result<Option<Identity>> {
    match fs::metadata(path) {
        Ok(file) => Ok(Some((file.dev(), file.ino()))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// How the names of unfinished files begin.
const TEMPORARY: &str = "bathyscope.unfinished-";

/// A file that is removed again unless it is kept.
#[derive(Debug)]
pub(crate) struct Unfinished(Option<PathBuf>);

impl Unfinished {
    /// Makes an empty file that must not exist yet.
    pub(crate) fn create(path: PathBuf) -> Result<(Self, File), StoreError> {
        match OpenOptions::new().write(true).create_new(true).mode(MODE).open(&path) {
            Ok(file) => Ok((Self(Some(path)), file)),
            Err(source) => Err(StoreError::File { doing: "cannot create", path, source }),
        }
    }

    /// It is finished and has another name, or is to stay.
    pub(crate) fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            // Nothing can be done about it here; what lies in the data directory goes at the next start.
            let _left = fs::remove_file(path);
        }
    }
}

/// The lock on a data directory, held until it is dropped or the process ends in whatever way.
#[derive(Debug)]
pub(crate) struct DirectoryLock {
    _file: File,
}

impl DirectoryLock {
    /// Takes the lock. A lock file that a dead process left behind holds nobody up: the kernel let go of it.
    pub(crate) fn take(dir: &Path) -> Result<Self, StoreError> {
        if !dir.is_dir() {
            return Err(StoreError::NoDirectory { path: dir.to_owned() });
        }
        let path = dir.join("bathyscope.lock");
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(MODE).open(&path);
        let mut file = opened.map_err(|source| cannot_write(dir, source))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(StoreError::InUse { path: dir.to_owned(), owner: owner_of(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(StoreError::File { doing: "cannot lock", path, source }),
        }
        let owner = format!("process {}\n", std::process::id());
        // The words only help whoever is refused. On a full disk the lock holds without them.
        let _words = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(owner.as_bytes()));
        Ok(Self { _file: file })
    }
}

fn owner_of(file: &mut File) -> String {
    let mut text = String::new();
    let read = file.take(64).read_to_string(&mut text);
    let plain = |text: &str| text.strip_prefix("process ").is_some_and(|pid| pid.bytes().all(|b| b.is_ascii_digit()));
    match (read, text.trim()) {
        (Ok(_), text) if plain(text) => text.to_owned(),
        _ => "another process".to_owned(),
    }
}

/// Makes an empty database file that only this user can read, or checks that the one there can be written.
pub(crate) fn touch_database(path: &Path) -> Result<(), StoreError> {
    let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).mode(MODE).open(path);
    let file = opened.map_err(|source| cannot_write(path, source))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(()),
        Ok(_) => Err(StoreError::Damaged { path: path.to_owned(), why: "it is not a file".to_owned() }),
        Err(source) => Err(StoreError::File { doing: "cannot look at", path: path.to_owned(), source }),
    }
}

fn cannot_write(path: &Path, source: io::Error) -> StoreError {
    let path = path.to_owned();
    match source.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => StoreError::ReadOnly { path, source },
        io::ErrorKind::IsADirectory => StoreError::Damaged { path, why: "it is a directory".to_owned() },
        _ => StoreError::File { doing: "cannot open", path, source },
    }
}

/// Makes the names in a directory last.
pub(crate) fn sync_directory(dir: &Path) -> Result<(), StoreError> {
    let synced = File::open(dir).and_then(|file| file.sync_all());
    synced.map_err(|source| StoreError::File { doing: "cannot flush", path: dir.to_owned(), source })
}
