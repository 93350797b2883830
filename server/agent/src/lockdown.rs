//! How far this kernel is locked down: the one place that knows, for the doctor, the lists and the compiler.

use std::{fs::File, io, io::Read as _, os::fd::OwnedFd, sync::OnceLock};

use rustix::{
    fs::{Mode, OFlags, openat},
    mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen},
};

/// Where the kernel tells it, if that file system is mounted.
const FILE: &str = "/sys/kernel/security/lockdown";
/// Its name in the file system.
const NAME: &str = "lockdown";
/// The most that it says.
const MOST_BYTES: u64 = 256;

/// What helps against it.
pub(crate) const REMEDY: &str =
    "Start the machine without `lockdown=` among the kernel's parameters and without Secure Boot.";

/// How far the kernel is locked down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Lockdown {
    /// Not at all, or it has no such thing.
    None,
    /// To a level: `integrity`, by which nobody may change the kernel, or `confidentiality`, by which nobody may read its
    /// memory either.
    Level(String),
    /// It cannot be read, and why.
    Unknown(String),
}

impl Lockdown {
    /// As it is now, which no start of a program changes: it can only grow, and is read once.
    pub(crate) fn of_this_kernel() -> &'static Self {
        static FOUND: OnceLock<Lockdown> = OnceLock::new();
        FOUND.get_or_init(look)
    }

    /// The level, or `none`; what is not known counts as none, as whatever it forbids is found by trying.
    pub(crate) fn level(&self) -> &str {
        match self {
            Self::Level(level) => level,
            Self::None | Self::Unknown(_) => "none",
        }
    }

    /// Whether the kernel's memory cannot be read by probes.
    pub(crate) fn hides_memory(&self) -> bool {
        self.level() == "confidentiality"
    }
}

fn look() -> Lockdown {
    let opened = match File::open(FILE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => open_unmounted(),
        opened => opened,
    };
    let read = opened.and_then(|file| {
        let mut text = String::new();
        file.take(MOST_BYTES).read_to_string(&mut text).map(|_bytes| text)
    });
    match read {
        Ok(text) => parse(&text),
        // The file system is there, and the kernel tells nothing in it.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Lockdown::None,
        Err(error) => Lockdown::Unknown(match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => {
                "securityfs is not mounted, and the agent may not mount it for itself to look".to_owned()
            }
            _ => format!("reading {FILE}: {error}"),
        }),
    }
}

/// The file, in a mount that only this process has and that nobody sees.
fn open_unmounted() -> io::Result<File> {
    let missing = |errno: rustix::io::Errno| match errno {
        // A kernel without it has no lockdown either.
        rustix::io::Errno::NODEV => io::Error::from(io::ErrorKind::NotFound),
        errno => io::Error::from(errno),
    };
    let context = fsopen("securityfs", FsOpenFlags::FSOPEN_CLOEXEC).map_err(missing)?;
    fsconfig_create(&context)?;
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY | MountAttrFlags::MOUNT_ATTR_NOSUID;
    let root: OwnedFd = fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)?;
    Ok(File::from(openat(&root, NAME, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?))
}

/// Reads `none [integrity] confidentiality`.
fn parse(text: &str) -> Lockdown {
    match text.split_once('[').and_then(|(_before, rest)| rest.split_once(']')) {
        Some(("none", _)) => Lockdown::None,
        Some((level, _)) => Lockdown::Level(level.to_owned()),
        None => Lockdown::Unknown(format!("the kernel marks no level in {FILE}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p27_a_lockdown_that_cannot_be_read_is_not_none() {
        let level = |level: &str| Lockdown::Level(level.to_owned());
        assert_eq!(parse("[none] integrity confidentiality\n"), Lockdown::None);
        assert_eq!(parse("none [integrity] confidentiality\n"), level("integrity"));
        assert!(parse("none integrity [confidentiality]\n").hides_memory());
        assert!(matches!(parse(""), Lockdown::Unknown(_)) && matches!(parse("none"), Lockdown::Unknown(_)));
        assert_eq!((level("integrity").level(), Lockdown::Unknown(String::new()).level()), ("integrity", "none"));
    }
}
