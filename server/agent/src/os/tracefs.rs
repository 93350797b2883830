//! Finding tracefs, or mounting it where it belongs, and opening its files by checked names.

use std::{
    fs::File,
    io::{self, Read as _},
    os::fd::{AsFd as _, OwnedFd},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use bathyscope_capture::TracepointName;
use bathyscope_catalog::dynamic::missing_dynamic_event;
use bathyscope_protocol::{AgentError, AgentErrorKind};
use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::{
    error::{failed, refused},
    needs::Need,
};

/// Where tracefs belongs.
const CANONICAL: &str = "/sys/kernel/tracing";
/// Where it also appears, through debugfs.
const THROUGH_DEBUGFS: &str = "/sys/kernel/debug/tracing";
const TRACEFS_MAGIC: u32 = 0x7472_6163;
/// The longest `format` file that is read; the kernel's longest have some 20 KiB.
const MAX_FORMAT_BYTES: u64 = 1 << 20;

/// tracefs, open.
#[derive(Debug)]
pub(crate) struct Tracefs {
    root: OwnedFd,
    path: PathBuf,
}

/// There is no such tracepoint, with what helps.
fn missing(doing: &str, tracepoint: &TracepointName) -> AgentError {
    let remedy = missing_dynamic_event(tracepoint.system(), tracepoint.name())
        .unwrap_or_else(|| "Look it up with `bathyscope list`; a module that has it may have to be loaded.".to_owned());
    failed(AgentErrorKind::NotFound, doing, "this kernel has no such tracepoint", &remedy)
}

fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
}

/// Whether this process may still mount it: once the filter of system calls holds, trying would end it.
static MAY_MOUNT: AtomicBool = AtomicBool::new(true);
/// Whether this process has mounted it.
static MOUNTED_HERE: AtomicBool = AtomicBool::new(false);

/// From now on tracefs is not mounted where it is missing.
pub(crate) fn stop_mounting() {
    MAY_MOUNT.store(false, Ordering::Relaxed);
}

/// Opens `path` if tracefs is mounted there.
fn open_if_tracefs(path: &str) -> io::Result<Option<OwnedFd>> {
    let directory = match open_directory(Path::new(path)) {
        Ok(directory) => directory,
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ENOTDIR)) => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_tracefs = rustix::fs::fstatfs(&directory)?.f_type as u32 == TRACEFS_MAGIC;
    Ok(is_tracefs.then_some(directory))
}

impl Tracefs {
    /// Finds tracefs; where it is not mounted, mounts it at `/sys/kernel/tracing`, where every distribution has it.
    pub(crate) fn find() -> Result<Self, AgentError> {
        let doing = "looking for tracefs";
        let mut trouble = None;
        for path in [CANONICAL, THROUGH_DEBUGFS] {
            match open_if_tracefs(path) {
                Ok(Some(root)) => return Ok(Self { root, path: path.into() }),
                Ok(None) => {}
                Err(error) => trouble = Some(error),
            }
        }
        if let Some(error) = trouble {
            return Err(refused(doing, &error, Need::Files));
        }
        if !Path::new(CANONICAL).is_dir() {
            let remedy = "Use a kernel that was built with CONFIG_TRACING, or mount sysfs at /sys.";
            return Err(failed(AgentErrorKind::Unsupported, doing, "this kernel has no /sys/kernel/tracing", remedy));
        }
        Self::mount()
    }

    fn mount() -> Result<Self, AgentError> {
        use rustix::mount::MountFlags;
        let doing = format!("mounting tracefs at {CANONICAL}");
        let remedy = format!("Mount it with `mount -t tracefs nodev {CANONICAL}`.");
        let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC | MountFlags::RELATIME;
        if !MAY_MOUNT.load(Ordering::Relaxed) {
            return Err(failed(AgentErrorKind::Denied, doing, "the agent mounts nothing after its start", remedy));
        }
        rustix::mount::mount("nodev", CANONICAL, "tracefs", flags, None)
            .map_err(|errno| refused(&doing, &errno.into(), &remedy))?;
        match open_if_tracefs(CANONICAL) {
            Ok(Some(root)) => {
                MOUNTED_HERE.store(true, Ordering::Relaxed);
                tracing::info!(path = CANONICAL, "mounted tracefs, which was not mounted");
                Ok(Self { root, path: CANONICAL.into() })
            }
            Ok(None) => Err(failed(AgentErrorKind::Internal, doing, "it did not appear", remedy)),
            Err(error) => Err(refused(doing, &error, remedy)),
        }
    }

    /// Finds tracefs where it is mounted already and may be used.
    pub(crate) fn find_mounted() -> Option<Self> {
        let open = |path: &str| {
            let root = open_if_tracefs(path).ok()??;
            Some(Self { root, path: path.into() })
        };
        [CANONICAL, THROUGH_DEBUGFS].into_iter().find_map(open)
    }

    /// A folder that stands for it.
    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> io::Result<Self> {
        Ok(Self { root: open_directory(path)?, path: path.into() })
    }

    /// Where it is mounted.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether this process mounted it.
    pub(crate) fn mounted_here(&self) -> bool {
        MOUNTED_HERE.load(Ordering::Relaxed)
    }

    /// Opens the file `name`, a path below tracefs that this program made, to read.
    pub(crate) fn open(&self, name: &str) -> io::Result<OwnedFd> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(self.root.as_fd(), name, flags, Mode::empty(), resolve)?)
    }

    /// Reads the short file `name`.
    pub(crate) fn read(&self, name: &str) -> io::Result<String> {
        let mut text = String::new();
        File::from(self.open(name)?).take(MAX_FORMAT_BYTES).read_to_string(&mut text)?;
        Ok(text)
    }

    /// Whether there is a file or folder `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        rustix::fs::statat(self.root.as_fd(), name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Opens the file `name` to read from without waiting.
    pub(crate) fn open_without_waiting(&self, name: &str) -> io::Result<OwnedFd> {
        self.open_to(name, OFlags::RDONLY | OFlags::NONBLOCK)
    }

    fn open_to(&self, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        Ok(rustix::fs::openat2(self.root.as_fd(), name, flags | OFlags::CLOEXEC, Mode::empty(), resolve)?)
    }

    /// Writes the file `name`, which must be of an instance of our own or in the journal. What holds a list is added to.
    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let file = self.open_to(name, OFlags::WRONLY)?;
        let written = rustix::io::write(&file, text.as_bytes())?;
        if written == text.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }

    /// Writes each of `lines` to the list `name`, which takes effect when all are written. Tells which line was refused.
    pub(crate) fn write_each(&self, name: &str, lines: &[String]) -> Result<(), (usize, io::Error)> {
        let file = self.open_to(name, OFlags::WRONLY).map_err(|error| (0, error))?;
        for (index, line) in lines.iter().enumerate() {
            // With its end: a name that is not ended is looked up only when the file is closed, where nobody hears of it.
            rustix::io::write(&file, format!("{line}\n").as_bytes()).map_err(|errno| (index, errno.into()))?;
        }
        Ok(())
    }

    /// Empties the list `name`.
    pub(crate) fn empty(&self, name: &str) -> io::Result<()> {
        self.open_to(name, OFlags::WRONLY | OFlags::TRUNC).map(drop)
    }

    /// Makes the instance `name`.
    pub(crate) fn make_instance(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(self.root.as_fd(), format!("instances/{name}"), Mode::from_raw_mode(0o700))?)
    }

    /// Removes the instance `name`.
    pub(crate) fn remove_instance(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(self.root.as_fd(), format!("instances/{name}"), rustix::fs::AtFlags::REMOVEDIR)?)
    }

    /// The names of all instances.
    pub(crate) fn instances(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.path.join("instances")).into_iter().flatten();
        entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
    }

    /// The names of all events of a group.
    pub(crate) fn events_of(&self, group: &str) -> Vec<String> {
        let entries = std::fs::read_dir(self.path.join("events").join(group)).into_iter().flatten();
        let folders = entries.filter_map(Result::ok).filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        folders.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    }

    /// Opens the `format` file of `tracepoint`.
    pub(crate) fn open_format(&self, tracepoint: &TracepointName) -> Result<OwnedFd, AgentError> {
        let name = format!("events/{}/{}/format", tracepoint.system(), tracepoint.name());
        self.open(&name).map_err(|error| {
            let doing = format!("opening the format of {tracepoint}");
            match error.raw_os_error() {
                Some(libc::ENOENT) => missing(&doing, tracepoint),
                _ => refused(doing, &error, Need::Files),
            }
        })
    }

    /// The number of `tracepoint` by which perf knows it.
    pub(crate) fn event_id(&self, tracepoint: &TracepointName) -> Result<u64, AgentError> {
        let doing = format!("looking for the tracepoint {tracepoint}");
        let text = self.read(&format!("events/{}/{}/id", tracepoint.system(), tracepoint.name()));
        let text = text.map_err(|error| match error.raw_os_error() {
            Some(libc::ENOENT) => missing(&doing, tracepoint),
            _ => refused(&doing, &error, Need::Files),
        })?;
        let wrong = || failed(AgentErrorKind::Internal, &doing, "its id is no number", "");
        text.trim().parse().map_err(|_error| wrong())
    }

    /// Reads the `format` file of `tracepoint`.
    pub(crate) fn read_format(&self, tracepoint: &TracepointName) -> Result<Vec<u8>, AgentError> {
        let file = self.open_format(tracepoint)?;
        let mut bytes = Vec::new();
        File::from(file)
            .take(MAX_FORMAT_BYTES)
            .read_to_end(&mut bytes)
            .map_err(|error| refused(format!("reading the format of {tracepoint}"), &error, ""))?;
        Ok(bytes)
    }
}
