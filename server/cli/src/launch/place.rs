//! Where a verb keeps what it records: the directory of captures, or one of its own that goes in the end.
//!
//! Own directories lie in a runtime directory that only root, or the user, can change. Each has a lock, which the verb
//! holds for as long as it lives, however it ends: what nobody holds is removed by the next verb and by `cleanup`.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, chown},
    path::{Path, PathBuf},
};

use super::{Account, console_account, give_up_rights, prepare_data};
use crate::Failure;

/// How names of own directories begin.
const PREFIX: &str = "trace-";
/// How those begin that are still being made.
const UNFINISHED: &str = ".trace-";
/// The lock in an own directory.
const LOCK: &str = "lock";

/// Where a verb works, and as whom.
#[derive(Debug)]
pub(crate) struct Workplace {
    directory: PathBuf,
    account: Option<Account>,
    /// The lock of an own directory.
    own: Option<File>,
}

impl Workplace {
    /// The directory of captures `data`, or one of its own. To be called while the verb has its rights.
    ///
    /// # Errors
    /// If it cannot be made, or there is no user to work as.
    pub(crate) fn make(data: Option<&Path>) -> Result<Self, Failure> {
        let account = console_account(None, data)?;
        match data {
            Some(data) => Ok(Self { directory: prepare_data(data, account.as_ref())?, account, own: None }),
            None => Self::own_of(account),
        }
    }

    /// A directory of its own, as the user who can read the directory of captures `data`.
    ///
    /// # Errors
    /// As [`Workplace::make`].
    pub(crate) fn beside(data: &Path) -> Result<Self, Failure> {
        Self::own_of(console_account(None, Some(data))?)
    }

    fn own_of(account: Option<Account>) -> Result<Self, Failure> {
        remove_left(false);
        let (directory, lock) = make_own(account.as_ref())?;
        Ok(Self { directory, account, own: Some(lock) })
    }

    /// Where it is.
    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// The user who owns it, if that is another one than who started the verb.
    pub(crate) fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Gives up the rights of this process, as [`give_up_rights`], and becomes the user who owns it.
    ///
    /// # Errors
    /// As [`give_up_rights`].
    pub(crate) fn give_up_rights(&self) -> Result<(), Failure> {
        let account = self.account();
        give_up_rights(account.map(|account| account.uid), account.map(|account| account.gid))
    }

    /// Whether it is removed in the end.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// Where it is, if it is removed in the end.
    pub(crate) fn own_directory(&self) -> Option<&Path> {
        self.own.is_some().then_some(&self.directory)
    }
}

impl Drop for Workplace {
    /// Empties it. Only root can remove the directory itself from root's own, which the agent does when it ends.
    fn drop(&mut self) {
        if self.own.is_none() {
            return;
        }
        match fs::remove_dir_all(&self.directory) {
            Err(error) if self.account.is_none() && error.kind() != ErrorKind::NotFound => {
                tracing::warn!(%error, directory = %self.directory.display(), "a temporary directory was left behind");
            }
            Ok(()) | Err(_) => {}
        }
    }
}

/// The directories in which own ones are made, the best first.
fn bases() -> Vec<PathBuf> {
    let own = rustix::process::geteuid();
    let shared = PathBuf::from(format!("/tmp/bathyscope-{}", own.as_raw()));
    if own.is_root() {
        return vec![PathBuf::from("/run/bathyscope"), shared];
    }
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute());
    runtime.map(|path| path.join("bathyscope")).into_iter().chain([shared]).collect()
}

/// Makes a directory that nobody else can change, or checks that the one there is such. In one of root's, others reach
/// what they know the name of, as the verb itself does once it has no rights.
fn make_base(base: &Path) -> io::Result<()> {
    let own = rustix::process::geteuid();
    match DirBuilder::new().mode(if own.is_root() { 0o711 } else { 0o700 }).create(base) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    if is_safe(base)? { Ok(()) } else { Err(io::Error::new(ErrorKind::PermissionDenied, "others can change it")) }
}

fn is_safe(base: &Path) -> io::Result<bool> {
    let meta = fs::symlink_metadata(base)?;
    Ok(meta.is_dir() && meta.uid() == rustix::process::geteuid().as_raw() && meta.mode() & 0o022 == 0)
}

fn make_own(account: Option<&Account>) -> Result<(PathBuf, File), Failure> {
    let mut trouble = None;
    for base in bases() {
        match make_base(&base).and_then(|()| make_in(&base, account)) {
            Ok(made) => return Ok(made),
            Err(error) => trouble = Some((base, error)),
        }
    }
    let (base, error) = trouble.unwrap_or_else(|| (PathBuf::from("/run"), ErrorKind::NotFound.into()));
    Err(Failure::because(format!("making a temporary directory in {}", base.display()), error))
}

fn make_in(base: &Path, account: Option<&Account>) -> io::Result<(PathBuf, File)> {
    let random = getrandom::u64().map_err(io::Error::other)?;
    let unfinished = base.join(format!("{UNFINISHED}{random:016x}"));
    DirBuilder::new().mode(0o700).create(&unfinished)?;
    let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(unfinished.join(LOCK))?;
    lock.try_lock().map_err(io::Error::from)?;
    if let Some(account) = account {
        chown(unfinished.join(LOCK), Some(account.uid), Some(account.gid))?;
        chown(&unfinished, Some(account.uid), Some(account.gid))?;
    }
    let directory = base.join(format!("{PREFIX}{random:016x}"));
    // Only now others may find it: before, its lock was not held.
    fs::rename(&unfinished, &directory)?;
    Ok((directory, lock))
}

/// An own directory that was left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LeftDirectory {
    /// Where.
    pub(crate) path: PathBuf,
    /// Why it is still there; none if it is gone, or was only looked for.
    pub(crate) trouble: Option<String>,
}

/// Finds the own directories that no verb works in any more and removes them, unless it is a `dry_run`.
pub(crate) fn remove_left(dry_run: bool) -> Vec<LeftDirectory> {
    bases().iter().filter(|base| is_safe(base).unwrap_or(false)).flat_map(|base| remove_in(base, dry_run)).collect()
}

fn remove_in(base: &Path, dry_run: bool) -> Vec<LeftDirectory> {
    let entries = fs::read_dir(base).into_iter().flatten().filter_map(Result::ok);
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        name.strip_prefix(PREFIX).is_some_and(|rest| rest.len() == 16 && rest.bytes().all(|b| b.is_ascii_hexdigit()))
    };
    let left = entries.map(|entry| entry.path()).filter(|path| is_ours(path) && !is_held(path));
    left.map(|path| {
        // Whoever owned it can do nothing in the directory above, and no link in it is followed.
        let removed = if dry_run { Ok(()) } else { fs::remove_dir_all(&path) };
        LeftDirectory { path, trouble: removed.err().map(|error| error.to_string()) }
    })
    .collect()
}

/// Whether a process holds its lock. The file may be anything: its owner has no rights, but could have put it there.
fn is_held(directory: &Path) -> bool {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc_flags());
    match options.open(directory.join(LOCK)) {
        Ok(file) => matches!(file.try_lock(), Err(TryLockError::WouldBlock)),
        // It has none any more: its verb has emptied it.
        Err(_) => false,
    }
}

/// Neither a link is followed, nor is anybody waited for at a pipe.
fn libc_flags() -> i32 {
    (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p56_what_nobody_holds_is_removed_and_nothing_else() {
        let base = tempfile::tempdir().unwrap();
        let (held, lock) = make_in(base.path(), None).unwrap();
        let (left, dropped) = make_in(base.path(), None).unwrap();
        fs::write(left.join("bathyscope.db"), "x").unwrap();
        drop(dropped);
        let emptied = base.path().join("trace-0123456789abcdef");
        let others = ["trace-x", "other", ".trace-0123456789abcdef", "trace-0123456789abcdeg"];
        fs::create_dir(&emptied).unwrap();
        for other in others {
            fs::create_dir(base.path().join(other)).unwrap();
        }
        let found = |dry_run| {
            let mut paths: Vec<PathBuf> = remove_in(base.path(), dry_run).into_iter().map(|left| left.path).collect();
            paths.sort_unstable();
            paths
        };
        let mut expected = vec![left.clone(), emptied.clone()];
        expected.sort_unstable();
        assert_eq!(found(true), expected);
        assert!(left.exists());
        assert_eq!(found(false), expected);
        assert!(!left.exists() && !emptied.exists() && held.exists());
        assert!(others.iter().all(|other| base.path().join(other).exists()));
        drop(lock);
        assert_eq!(found(false), [held]);
    }

    #[test]
    fn p56_a_directory_that_others_can_change_is_not_used() {
        let base = tempfile::tempdir().unwrap();
        let path = base.path().join("made");
        make_base(&path).unwrap();
        make_base(&path).unwrap();
        std::os::unix::fs::symlink(&path, base.path().join("link")).unwrap();
        assert!(make_base(&base.path().join("link")).is_err());
        fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o777)).unwrap();
        assert_eq!(make_base(&path).unwrap_err().kind(), ErrorKind::PermissionDenied);
    }
}
