//! The directory of captures.

use std::{
    fs,
    io::ErrorKind,
    os::{
        fd::OwnedFd,
        unix::fs::{DirBuilderExt as _, MetadataExt as _},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, Dir, FileType, Gid, Mode, OFlags, Uid, chownat, fchmod, fchown, fstat, open, openat};

use super::{Account, account::may_give_away};
use crate::Failure;

/// The database's file, by which a directory of captures is known.
pub(crate) const DATABASE: &str = "bathyscope.db";
/// The file whose lock a process holds that works on a directory of captures.
pub(super) const LOCK: &str = "bathyscope.lock";

/// Makes the directory of captures where it is missing and gives it to the console's user. One that is there already is
/// only given away if it is empty or holds captures: a mistyped path must not change the owner of anything else.
pub(crate) fn prepare_data(path: &Path, account: Option<&Account>) -> Result<PathBuf, Failure> {
    let shown = path.display();
    let path = std::path::absolute(path).map_err(|error| Failure::because(format!("finding {shown}"), error))?;
    let doing = |error: std::io::Error| {
        let barred = if error.kind() == ErrorKind::PermissionDenied { barred(&path) } else { None };
        let failure = Failure::because(format!("making the directory {shown}"), error);
        let Some(barred) = barred else { return failure.remedy("Name another one with --data DIR.") };
        let uid = rustix::process::geteuid().as_raw();
        failure.remedy(format!(
            "The user that the console runs as (uid {uid}) may not enter {}. Name a directory with --data DIR that it can \
             reach, such as one below /var/lib.",
            barred.display()
        ))
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
    if !may_give_away(meta.uid()) || !is_ours(&path).map_err(doing)? {
        let why = format!("{shown} belongs to another user than the console's (uid {})", account.uid);
        let remedy =
            format!("Run: chown -R {}:{} {shown}, or name another directory with --data.", account.uid, account.gid);
        return Err(Failure::new(why).remedy(remedy));
    }
    give_away(&path, account)
        .map_err(|error| Failure::because(format!("giving {shown} to the console's user"), error))?;
    Ok(path)
}

/// The first directory on the way to `path` that this process may not enter.
fn barred(path: &Path) -> Option<PathBuf> {
    let mut ways: Vec<&Path> = path.ancestors().skip(1).collect();
    ways.reverse();
    // What is in a directory can be looked at where it may be entered, whether or not it is there.
    let may_enter = |way: &&Path| {
        let looked = fs::symlink_metadata(way.join("."));
        !looked.is_err_and(|error| error.kind() == ErrorKind::PermissionDenied)
    };
    ways.into_iter().find(|way| !may_enter(way)).map(Path::to_path_buf)
}

fn is_ours(path: &Path) -> std::io::Result<bool> {
    // The lock stays where somebody removed the database.
    Ok([DATABASE, LOCK].iter().any(|name| path.join(name).exists()) || fs::read_dir(path)?.next().is_none())
}

/// Gives the directory and its regular files to another user: root may have used it without a console before, or an
/// earlier console as another user. Whoever owns it now may change it meanwhile, so everything is looked at and given away
/// by its descriptor, no link is followed, and only what belongs to the directory's owner is given away: a file of
/// somebody else that has a second name here is not.
fn give_away(path: &Path, account: &Account) -> std::io::Result<()> {
    let directory = open(path, DIRECTORY, Mode::empty())?;
    let owner = fstat(&directory)?.st_uid;
    if !may_give_away(owner) {
        return Err(ErrorKind::PermissionDenied.into());
    }
    give_away_in(&directory, owner, account, MAX_DEPTH)
}

/// How a directory is opened that nobody may exchange meanwhile.
const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
/// How deep directories of short-lived files are at most.
const MAX_DEPTH: u32 = 4;

fn give_away_in(directory: &OwnedFd, owner: u32, account: &Account, depth: u32) -> std::io::Result<()> {
    let (uid, gid) = (Some(Uid::from_raw(account.uid)), Some(Gid::from_raw(account.gid)));
    // First the directory: what its old owner can do in it is over then, but for what was begun. Its mode is its owner's to
    // change, and a container has no right to change that of others.
    fchown(directory, Some(rustix::process::geteuid()), None)?;
    fchmod(directory, Mode::RWXU)?;
    fchown(directory, uid, gid)?;
    for entry in Dir::read_from(directory)? {
        let entry = entry?;
        if matches!(entry.file_name().to_bytes(), b"." | b"..") {
            continue;
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let Ok(file) = openat(directory, entry.file_name(), flags, Mode::empty()) else { continue };
        let found = fstat(&file)?;
        if found.st_uid != owner {
            continue;
        }
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile if found.st_nlink == 1 => chownat(&file, c"", uid, gid, AtFlags::EMPTY_PATH)?,
            FileType::Directory if depth > 0 => {
                let inner = openat(&file, c".", DIRECTORY, Mode::empty())?;
                give_away_in(&inner, owner, account, depth - 1)?;
            }
            _ => {}
        }
    }
    Ok(())
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
        // One that root has made for it.
        let empty = folder.path().join("empty");
        fs::create_dir(&empty).unwrap();
        prepare_data(&empty, Some(&account)).unwrap();
        assert_eq!((owner(&empty), fs::metadata(&empty).unwrap().mode() & 0o777), (65534, 0o700));
        let used = folder.path().join("used");
        fs::create_dir(&used).unwrap();
        fs::write(used.join(DATABASE), "").unwrap();
        prepare_data(&used, Some(&account)).unwrap();
        assert_eq!(owner(&used.join(DATABASE)), 65534);
    }

    /// What a user does who owned the directory before: links to files of others, under names of ours.
    #[test]
    fn p54_giving_a_directory_away_gives_no_file_of_others_away() {
        if !rustix::process::geteuid().is_root() {
            println!("SKIPPED: owners of directories — root");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let secret = folder.path().join("secret");
        fs::write(&secret, "x").unwrap();
        let used = folder.path().join("used");
        fs::create_dir(&used).unwrap();
        fs::write(used.join(DATABASE), "").unwrap();
        fs::hard_link(&secret, used.join("hard")).unwrap();
        std::os::unix::fs::symlink(&secret, used.join("soft")).unwrap();
        fs::write(used.join("other"), "").unwrap();
        fs::create_dir(used.join("short-lived")).unwrap();
        std::os::unix::fs::chown(used.join("short-lived"), Some(65_534), Some(65_534)).unwrap();
        for (path, uid) in [(used.clone(), 65_534), (used.join(DATABASE), 65_534), (used.join("other"), 4711)] {
            std::os::unix::fs::chown(path, Some(uid), Some(uid)).unwrap();
        }
        prepare_data(&used, Some(&Account { uid: 60_800, gid: 60_800 })).unwrap();
        let owner = |path: &Path| fs::symlink_metadata(path).unwrap().uid();
        assert_eq!((owner(&used), owner(&used.join(DATABASE))), (60_800, 60_800));
        assert_eq!(owner(&used.join("short-lived")), 60_800);
        assert_eq!((owner(&secret), owner(&used.join("soft")), owner(&used.join("other"))), (0, 0, 4711));
        // A person's directory is nobody else's.
        std::os::unix::fs::chown(&used, Some(4711), Some(4711)).unwrap();
        assert!(prepare_data(&used, Some(&Account { uid: 60_800, gid: 60_800 })).is_err());
    }
}
