//! `file-maker` (hidden): makes the files of `strace -ff -o FILE` where root's `strace` has given its rights up. It is started
//! with its end of a socket as standard input and the folder as standard output.

use std::{
    ffi::OsString,
    io::Error,
    os::fd::{AsFd as _, BorrowedFd, OwnedFd},
    process::ExitCode,
    time::Duration,
};

use bathyscope_protocol::Connection;
use clap::Args;
use rustix::{
    fs::{Mode, OFlags},
    io::Errno,
};
use serde::{Deserialize, Serialize};

use crate::{Failure, Outcome};

/// How long an answer may take: a disk may have to wake up.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(30);

/// What `strace` gives to it.
#[derive(Clone, Debug, Args)]
pub struct FileMakerArgs {
    /// The name of all files, before the dot and the thread's number
    #[arg(long, value_name = "NAME")]
    pub name: OsString,
    /// Keep what the files have
    #[arg(long)]
    pub append: bool,
    /// Process that started this one; this one ends with it
    #[arg(long, value_name = "PID")]
    pub parent: u32,
}

/// Asks for the file of a thread.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    tid: u64,
    /// Whether it was made before.
    again: bool,
}

/// What became of it: the number of the error, or 0 and the file beside it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MakerAnswer {
    errno: i32,
}

/// Gives up all rights but to write below the folder; then makes files until `strace` has ended.
///
/// # Errors
/// If other rights remain.
pub fn run(args: &FileMakerArgs) -> Outcome {
    let (socket, folder) = (std::io::stdin(), std::io::stdout());
    let taken = |fd: BorrowedFd<'_>| {
        fd.try_clone_to_owned().map_err(|error| Failure::because("taking what strace has given", error))
    };
    let (socket, folder) = (Connection::from(taken(socket.as_fd())?), taken(folder.as_fd())?);
    crate::launch::confine_to_folder(&folder, args.parent)?;
    while let Ok((Wish { tid, again }, _none)) = socket.receive::<Wish>(None) {
        let mut name = args.name.clone();
        name.push(format!(".{tid}"));
        let sent = match open_in(folder.as_fd(), &name, args.append || again) {
            Ok(file) => socket.send(&MakerAnswer { errno: 0 }, &[file.as_fd()], ANSWER_TIMEOUT),
            Err(errno) => socket.send(&MakerAnswer { errno: errno.raw_os_error() }, &[], ANSWER_TIMEOUT),
        };
        if sent.is_err() {
            break;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Opens a file of a folder to be written. A link there is not followed: others may have made it, and this may be root.
fn open_in(folder: BorrowedFd<'_>, name: &OsString, append: bool) -> Result<OwnedFd, Errno> {
    let how = if append { OFlags::APPEND } else { OFlags::TRUNC };
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NOCTTY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    rustix::fs::openat(folder, name, flags | how, Mode::from_raw_mode(0o666))
}

/// The end of `strace`.
#[derive(Debug)]
pub(super) struct FileMaker(Connection);

impl FileMaker {
    /// Starts one for files that are called `NAME.TID`. To be called while this process has its rights.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(folder: OwnedFd, name: &OsString, append: bool) -> Result<Self, Failure> {
        let failed = |error: Error| Failure::because("starting what makes the files of -ff", error);
        let (ours, theirs) = Connection::pair().map_err(|error| failed(Error::other(error)))?;
        let theirs = theirs.as_fd().try_clone_to_owned().map_err(failed)?;
        crate::launch::start_file_maker(theirs, folder, name, append).map_err(failed)?;
        Ok(Self(ours))
    }

    /// The file of a thread.
    ///
    /// # Errors
    /// If it cannot be made.
    pub(super) fn open(&self, tid: u64, again: bool) -> Result<std::fs::File, Error> {
        self.0.send(&Wish { tid, again }, &[], ANSWER_TIMEOUT).map_err(Error::other)?;
        let (MakerAnswer { errno }, files) =
            self.0.receive::<MakerAnswer>(Some(ANSWER_TIMEOUT)).map_err(Error::other)?;
        match (errno, files.into_iter().next()) {
            (0, Some(file)) => Ok(file.into()),
            (0, None) => Err(Error::other("the file was not handed over")),
            (errno, _) => Err(Error::from_raw_os_error(errno)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn files_are_made_in_the_folder_and_links_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("kept"), "kept").unwrap();
        std::os::unix::fs::symlink(path("kept"), path("calls.7")).unwrap();
        let directory = std::fs::File::open(folder.path()).unwrap();
        let open = |name: &str, append| open_in(directory.as_fd(), &OsString::from(name), append);
        assert_eq!(open("calls.7", false).unwrap_err(), Errno::LOOP);
        assert_eq!(std::fs::read_to_string(path("kept")).unwrap(), "kept");
        for (append, expected) in [(false, "x"), (true, "xx"), (false, "x")] {
            std::fs::File::from(open("calls.8", append).unwrap()).write_all(b"x").unwrap();
            assert_eq!(std::fs::read_to_string(path("calls.8")).unwrap(), expected);
        }
    }
}
