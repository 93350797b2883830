//! The directories of a run: one for the socket between the processes, one for captures.

use std::{
    fs,
    io::ErrorKind,
    os::unix::fs::{DirBuilderExt as _, MetadataExt as _, PermissionsExt as _, chown},
    path::{Path, PathBuf},
};

use super::Account;
use crate::Failure;

/// The database's file, by which a directory of captures is known.
const DATABASE: &str = "bathyscope.db";
/// The socket's file.
const SOCKET: &str = "agent.sock";

/// The longest path that a socket may have.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// A directory that only the console's user can enter. It is removed at the end.
#[derive(Debug)]
pub(super) struct RuntimeDirectory {
    path: PathBuf,
}

impl RuntimeDirectory {
    /// Makes it where such things belong, or, on a system that can only be read, in the directory of captures.
    pub(super) fn make(account: Option<&Account>, data: &Path) -> Result<Self, Failure> {
        let mut trouble = None;
        for base in bases().into_iter().chain([data.to_owned()]) {
            match make_below(&base, account) {
                Ok(path) => return Ok(Self { path }),
                Err(error) => trouble = Some((base, error)),
            }
        }
        let (base, error) = trouble.unwrap_or_else(|| (PathBuf::from("/run"), ErrorKind::NotFound.into()));
        Err(Failure::because(format!("making a directory below {}", base.display()), error))
    }

    /// Where the agent listens.
    pub(super) fn socket(&self) -> PathBuf {
        self.path.join(SOCKET)
    }
}

impl Drop for RuntimeDirectory {
    fn drop(&mut self) {
        // It belongs to the console's user, so it is only emptied of what is known: nothing is followed.
        let _gone = fs::remove_file(self.socket());
        let _not_empty = fs::remove_dir(&self.path);
    }
}

fn bases() -> Vec<PathBuf> {
    let mut bases = Vec::new();
    if rustix::process::geteuid().is_root() {
        bases.push(PathBuf::from("/run"));
    } else if let Some(own) = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute()) {
        bases.push(own);
    }
    // Safe in a directory that others can write, as the name is new, cannot be guessed, and is made exclusively.
    bases.push(PathBuf::from("/tmp"));
    bases
}

fn make_below(base: &Path, account: Option<&Account>) -> std::io::Result<PathBuf> {
    let mut random = [0_u8; 8];
    getrandom::fill(&mut random).map_err(std::io::Error::other)?;
    let path = base.join(format!("bathyscope-{:016x}", u64::from_le_bytes(random)));
    if path.join(SOCKET).as_os_str().len() > MAX_SOCKET_PATH_BYTES {
        return Err(ErrorKind::InvalidFilename.into());
    }
    fs::DirBuilder::new().mode(0o700).create(&path)?;
    if let Some(account) = account {
        chown(&path, Some(account.uid), Some(account.gid))?;
    }
    Ok(path)
}

/// Makes the directory of captures where it is missing and gives it to the console's user. One that is there already is
/// only given away if it is empty or holds captures: a mistyped path must not change the owner of anything else.
pub(crate) fn prepare_data(path: &Path, account: Option<&Account>) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let path = std::path::absolute(path).map_err(|error| Failure::because(format!("finding {shown}"), error))?;
    let doing = |error| {
        Failure::because(format!("making the directory {shown}"), error).remedy("Name another one with --data DIR.")
    };
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(doing)?;
    }
    match fs::DirBuilder::new().mode(0o700).create(&path) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(doing(error)),
    }
    let Some(account) = account else { return Ok(path) };
    let meta = fs::symlink_metadata(&path).map_err(doing)?;
    if !meta.is_dir() {
        return Err(Failure::new(format!("{shown} is not a directory")).remedy("Name another one with --data DIR."));
    }
    if meta.uid() == account.uid {
        return Ok(path);
    }
    if meta.uid() != 0 || !is_ours(&path).map_err(doing)? {
        let why = format!("{shown} belongs to another user than the console's (uid {})", account.uid);
        let remedy =
            format!("Run: chown -R {}:{} {shown}, or name another directory with --data.", account.uid, account.gid);
        return Err(Failure::new(why).remedy(remedy));
    }
    give_away(&path, account)
        .map_err(|error| Failure::because(format!("giving {shown} to the console's user"), error))?;
    Ok(path)
}

fn is_ours(path: &Path) -> std::io::Result<bool> {
    Ok(path.join(DATABASE).exists() || fs::read_dir(path)?.next().is_none())
}

/// Gives the directory and the regular files in it away: root may have used it without a console before.
fn give_away(path: &Path, account: &Account) -> std::io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let meta = entry.metadata()?;
        // A file with a second name may be anything.
        if meta.is_file() && meta.nlink() == 1 {
            chown(entry.path(), Some(account.uid), Some(account.gid))?;
        }
    }
    fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
    chown(path, Some(account.uid), Some(account.gid))
}

#[cfg(test)]
#[expect(clippy::print_stdout, reason = "what is skipped is told")]
mod tests {
    use super::*;

    #[test]
    fn a_directory_with_other_things_in_it_keeps_its_owner() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: owners of directories — root");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let account = Account { uid: 65534, gid: 65534 };
        let owner = |path: &Path| fs::metadata(path).unwrap().uid();
        fs::write(folder.path().join("other"), "x").unwrap();
        assert!(prepare_data(folder.path(), Some(&account)).is_err());
        assert_eq!(owner(folder.path()), 0);
        let new = folder.path().join("a/b");
        assert_eq!(prepare_data(&new, Some(&account)).unwrap(), new);
        assert_eq!((owner(&new), fs::metadata(&new).unwrap().mode() & 0o777), (65534, 0o700));
        let used = folder.path().join("used");
        fs::create_dir(&used).unwrap();
        fs::write(used.join(DATABASE), "").unwrap();
        prepare_data(&used, Some(&account)).unwrap();
        assert_eq!(owner(&used.join(DATABASE)), 65534);
    }

    #[test]
    fn a_runtime_directory_is_private_and_goes() {
        let directory = RuntimeDirectory::make(None, Path::new("/nowhere")).unwrap();
        let path = directory.path.clone();
        assert_eq!(fs::metadata(&path).unwrap().mode() & 0o777, 0o700);
        assert!(directory.socket().as_os_str().len() < 100, "a socket's address is short");
        drop(directory);
        assert!(!path.exists());
    }
}
